/* libFuzzer's door to the loader and the executor: opens a program from memory, loads and runs every method twice. The first byte of
 * an input chooses how (its bit 0: reference kernels only; bit 1: through a source instead of in place; bit 2: with a data file and
 * with buffers that methods share, and state goes out and in again); the rest is the file.
 * Memory is limited, so that a file cannot make the fuzzer swap, and a run that lasts is cancelled, as a damaged jump may loop for ever. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "format/ptd_write.h"
#include "include/fidibus.h"
#include "tests/fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- Runs that last ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static fid_method *running;
static int ticks;

static void *watch(void *argument) {
    for (;;) {
        nanosleep(&(struct timespec){0, 20000000}, NULL);
        pthread_mutex_lock(&mutex);
        if (running && ++ticks > 10) fid_method_cancel(running);
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}

static void watch_method(fid_method *method) {
    static pthread_t watcher;
    static bool started;
    if (!started) started = pthread_create(&watcher, NULL, watch, NULL) == 0;
    pthread_mutex_lock(&mutex);
    running = method;
    ticks = 0;
    pthread_mutex_unlock(&mutex);
}

/* ---- One file ---- */

static bool set_input(fid_method *method, size_t index) {
    fid_tensor_info info;
    if (fid_method_input_info(method, index, &info) != FID_OK) return false;
    if (info.bytes > 1 << 20) return false;
    uint8_t *zeros = calloc(1, info.bytes + 1);
    fid_tensor tensor = {.data = zeros, .sizes = (int64_t *)(uintptr_t)info.sizes, .rank = info.rank, .dtype = info.dtype};
    fid_input input = {.struct_size = sizeof input, .value = {.tag = info.tag}};
    if (info.tag == FID_TAG_TENSOR) input.value.as.tensor = &tensor;
    if (info.tag == FID_TAG_STRING) input.value.as.string.text = "";
    fid_status status = zeros ? fid_method_set_input(method, index, &input) : FID_OUT_OF_MEMORY;
    free(zeros);
    return status == FID_OK;
}

/* Reads every byte of every output, so that the sanitizers see where they lie. */
static volatile uint8_t sink_of_bytes;

static void read_outputs(const fid_method *method) {
    for (size_t i = 0; i < fid_method_output_count(method); i++) {
        const fid_value *value;
        if (fid_method_output(method, i, &value) != FID_OK || value->tag != FID_TAG_TENSOR) continue;
        const uint8_t *bytes = value->as.tensor->data;
        for (size_t b = 0; bytes && b < fid_tensor_bytes(value->as.tensor); b++) sink_of_bytes ^= bytes[b];
    }
}

/* ---- Data and state ---- */

typedef struct growing {
    _Alignas(64) uint8_t bytes[1 << 16];
    size_t size;
} growing;

static fid_status append(void *self, const void *data, size_t size) {
    growing *g = self;
    if (size > sizeof g->bytes - g->size) return FID_OUT_OF_RESOURCES;
    if (size) memcpy(g->bytes + g->size, data, size);
    g->size += size;
    return FID_OK;
}

/* What tests/golden/outside.pte wants: two vectors of three floats and a table of int64. */
static fid_data *open_weights(const fid_environment *environment) {
    static growing file;
    static const int32_t three[] = {3}, two_by_three[] = {2, 3};
    static const uint8_t order[] = {0, 1}, zeros[48];
    const fid_named_data entries[] = {
        {.key = "scale", .bytes = {zeros, 12}, .is_tensor = true, .dtype = FID_FLOAT32, .rank = 1, .sizes = three, .dim_order = order},
        {.key = "shift", .bytes = {zeros, 12}, .is_tensor = true, .dtype = FID_FLOAT32, .rank = 1, .sizes = three, .dim_order = order},
        {.key = "table", .bytes = {zeros, 48}, .is_tensor = true, .dtype = FID_INT64, .rank = 2, .sizes = two_by_three, .dim_order = order},
    };
    const fid_pte_sink destination = {append, &file};
    fid_data *data = NULL;
    file.size = 0;
    if (fid_ptd_write(environment->allocator, NULL, entries, 3, &destination, NULL) != FID_OK) return NULL;
    return fid_data_open_memory(environment, file.bytes, file.size, "weights", &data) == FID_OK ? data : NULL;
}

/* What was saved fits. */
static void save_and_restore(const fid_environment *environment, fid_method *method) {
    static growing file;
    fid_data *saved;
    file.size = 0;
    if (fid_method_state_save(method, append, &file) != FID_OK) return;
    if (fid_data_open_memory(environment, file.bytes, file.size, "state", &saved) != FID_OK) return;
    fid_status status = fid_method_state_restore(method, saved);
    if (status != FID_OK && status != FID_OUT_OF_MEMORY) __builtin_trap();
    fid_data_close(saved);
}

static void run_method(const fid_environment *environment, fid_program *program, const char *name, const fid_method_options *options) {
    fid_method *method;
    if (fid_method_load(program, name, options, &method) != FID_OK) return;
    watch_method(method);
    bool ready = true;
    for (int run = 0; run < 2 && ready; run++) {
        for (size_t i = 0; i < fid_method_input_count(method) && ready; i++) ready = set_input(method, i);
        ready = ready && fid_method_run(method) == FID_OK;
        if (ready) read_outputs(method);
        if (options->data_count) save_and_restore(environment, method);
    }
    watch_method(NULL);
    fid_method_unload(method);
}

static fid_status read_bytes(void *self, uint64_t offset, void *buffer, size_t size) {
    const fid_span *file = self;
    if (offset > file->size || size > file->size - offset) return FID_ACCESS_FAILED;
    memcpy(buffer, file->data + offset, size);
    return FID_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1 || size > 1 << 20) return 0;
    void *copy = NULL; /* aligned, and of exactly the size */
    if (posix_memalign(&copy, 64, size) != 0) return 0;
    memcpy(copy, data + 1, size - 1);
    fid_span file = fid_span_of(copy, size - 1);
    fid_environment environment = fid_environment_default(NULL);
    environment.allocator = fuzz_allocator();
    fid_source source = {read_bytes, &file, file.size};
    fid_method_options options = {.struct_size = sizeof options, .no_cpu_kernels = data[0] & 1};
    fid_program *program;
    fid_data *weights = data[0] & 4 ? open_weights(&environment) : NULL;
    fid_shared_state *shared = NULL;
    if (weights && fid_shared_state_create(&environment, &shared) == FID_OK) {
        options.data = &weights;
        options.data_count = 1;
        options.shared_state = shared;
    }
    fid_status status = data[0] & 2 ? fid_program_open_source(&environment, &source, &program)
                                    : fid_program_open_memory(&environment, file.data, file.size, &program);
    for (size_t i = 0; status == FID_OK && i < fid_program_method_count(program) && i < 4; i++) {
        run_method(&environment, program, fid_program_method_name(program, i), &options);
    }
    if (status == FID_OK) fid_program_close(program);
    fid_shared_state_release(shared);
    fid_data_close(weights);
    free(copy);
    if (fuzz_bytes_in_use) __builtin_trap(); /* something was not given back */
    return 0;
}
