/* Damaged programs end in a named error or in a run, never in a crash: run this under the sanitizers. */
#include "runtime/testing.h"

#include <pthread.h>
#include <time.h>

static const char *const programs[] = {"two_methods", "branch", "mapped", "accumulate", "pieces", "grow", "through"};
#define PROGRAM_COUNT (sizeof programs / sizeof programs[0])

/* A damaged jump can make a loop without end: this thread cancels a run that lasts. */
typedef struct watch {
    pthread_t thread;
    pthread_mutex_t mutex;
    fid_method *method;
    uint64_t since;
    bool stop;
} watch;

static uint64_t now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000u + (uint64_t)time.tv_nsec / 1000000u;
}

static void *watch_runs(void *argument) {
    watch *w = argument;
    for (bool stop = false; !stop;) {
        struct timespec pause = {0, 10000000};
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&w->mutex);
        if (w->method && now_ms() - w->since > 200) fid_method_cancel(w->method);
        stop = w->stop;
        pthread_mutex_unlock(&w->mutex);
    }
    return NULL;
}

static void watch_method(watch *w, fid_method *method) {
    pthread_mutex_lock(&w->mutex);
    w->method = method;
    w->since = now_ms();
    pthread_mutex_unlock(&w->mutex);
}

static bool set_inputs(fid_method *method) {
    for (size_t i = 0; i < fid_method_input_count(method); i++) {
        fid_tensor_info info;
        if (fid_method_input_info(method, i, &info) != FID_OK) return false;
        if (info.bytes > 1 << 20) return false;
        void *data = calloc(1, info.bytes + 1);
        fid_tensor tensor = {.data = data, .sizes = (int64_t *)(uintptr_t)info.sizes, .rank = info.rank, .dtype = info.dtype};
        fid_input input = {.struct_size = sizeof input, .value = {.tag = info.tag}};
        if (info.tag == FID_TAG_TENSOR) input.value.as.tensor = &tensor;
        if (info.tag == FID_TAG_INT) input.value.as.integer = 3; /* what "through" was made with */
        if (info.tag == FID_TAG_BOOL) input.value.as.boolean = true;
        if (info.tag == FID_TAG_STRING) input.value.as.string.text = "";
        fid_status status = fid_method_set_input(method, i, &input);
        free(data);
        if (status != FID_OK) return false;
    }
    return true;
}

static uint64_t touch(const fid_tensor *tensor) {
    uint64_t sum = 0;
    const uint8_t *bytes = tensor->data;
    for (size_t i = 0; bytes && i < fid_tensor_bytes(tensor); i++) sum += bytes[i];
    return sum;
}

/* Loads and runs every method, reads every byte of every output. Returns how far it came: 0 refused, 1 loaded, 2 ran. */
static int try_program(watch *w, const fid_environment *environment, const void *data, size_t size) {
    fid_program *program;
    int reached = 0;
    if (fid_program_open_memory(environment, data, size, &program) != FID_OK) return 0;
    for (size_t i = 0; i < fid_program_method_count(program); i++) {
        fid_method *method;
        if (fid_method_load(program, fid_program_method_name(program, i), NULL, &method) != FID_OK) continue;
        if (reached < 1) reached = 1;
        watch_method(w, method);
        for (int run = 0; run < 2 && set_inputs(method) && fid_method_run(method) == FID_OK; run++) {
            reached = 2;
            for (size_t k = 0; k < fid_method_output_count(method); k++) {
                const fid_value *value;
                if (fid_method_output(method, k, &value) == FID_OK && value->tag == FID_TAG_TENSOR) touch(value->as.tensor);
            }
        }
        watch_method(w, NULL);
        fid_method_unload(method);
    }
    fid_program_close(program);
    return reached;
}

static fid_message message;
static fid_environment environment;
static watch watcher;

static test_allocator memory; /* refuses what a damaged size asks for */

static int start(void **state) {
    (void)state;
    environment = fid_environment_default(&message);
    environment.allocator = (fid_allocator){test_resize, &memory};
    pthread_mutex_init(&watcher.mutex, NULL);
    return pthread_create(&watcher.thread, NULL, watch_runs, &watcher);
}

static int stop(void **state) {
    (void)state;
    pthread_mutex_lock(&watcher.mutex);
    watcher.stop = true;
    pthread_mutex_unlock(&watcher.mutex);
    return pthread_join(watcher.thread, NULL);
}

static void test_truncated_at_every_length(void **state) {
    (void)state;
    for (size_t i = 0; i < PROGRAM_COUNT; i++) {
        test_bytes whole = test_golden(programs[i]);
        assert_int_equal(try_program(&watcher, &environment, whole.data, whole.size), 2);
        for (size_t size = 0; size < whole.size; size++) {
            test_bytes part = test_bytes_copy(whole.data, size);
            message.text[0] = 0;
            /* The padding after the last segment is no loss; everything before is. */
            if (try_program(&watcher, &environment, part.data, part.size) == 0) assert_true(message.text[0] != 0);
            free(part.data);
        }
        free(whole.data);
    }
}

/* Exact results of a generator, so that a failure can be run again. */
static uint32_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void test_bytes_changed_at_random(void **state) {
    (void)state;
    const char *rounds_text = getenv("FIDIBUS_FLIPS");
    size_t rounds = rounds_text ? strtoull(rounds_text, NULL, 10) : 2000;
    size_t reached[3] = {0};
    uint64_t seed = 1;
    for (size_t i = 0; i < PROGRAM_COUNT; i++) {
        test_bytes whole = test_golden(programs[i]);
        for (size_t round = 0; round < rounds; round++) {
            test_bytes changed = test_bytes_copy(whole.data, whole.size);
            for (uint32_t flips = 1 + next_random(&seed) % 3; flips > 0; flips--) {
                changed.data[next_random(&seed) % changed.size] ^= (uint8_t)(1u << next_random(&seed) % 8);
            }
            reached[try_program(&watcher, &environment, changed.data, changed.size)]++;
            free(changed.data);
        }
        free(whole.data);
    }
    assert_true(reached[0] > 0 && reached[2] > 0);
}

static void test_every_byte_set_to_extremes(void **state) {
    (void)state;
    static const uint8_t values[] = {0x00, 0x7f, 0x80, 0xff};
    for (size_t i = 0; i < PROGRAM_COUNT; i++) {
        test_bytes whole = test_golden(programs[i]);
        for (size_t at = 0; at < whole.size; at++) {
            uint8_t kept = whole.data[at];
            for (size_t k = 0; k < sizeof values; k++) {
                whole.data[at] = values[k];
                try_program(&watcher, &environment, whole.data, whole.size);
            }
            whole.data[at] = kept;
        }
        free(whole.data);
    }
}

static void test_every_allocation_fails_once(void **state) {
    (void)state;
    for (size_t i = 0; i < PROGRAM_COUNT; i++) {
        test_bytes whole = test_golden(programs[i]);
        bool ran = false;
        for (size_t n = 1; !ran; n++) {
            test_allocator allocator = {.fail_at = n};
            fid_environment failing = environment;
            failing.allocator = (fid_allocator){test_resize, &allocator};
            ran = try_program(&watcher, &failing, whole.data, whole.size) == 2 && allocator.count < n;
            assert_int_equal(allocator.held, 0);
            assert_true(n < 1000);
        }
        free(whole.data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truncated_at_every_length),
        cmocka_unit_test(test_bytes_changed_at_random),
        cmocka_unit_test(test_every_byte_set_to_extremes),
        cmocka_unit_test(test_every_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
