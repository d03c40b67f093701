/* One program of convolutions, eight threads with methods of their own and two sizes in turn, while another thread loads and unloads the
 * same file: the same bits from all of them. Run this under the thread sanitizer. */
#include <pthread.h>
#include <stdatomic.h>

#include "include/fidibus.h"
#include "platform/posix/threads.h"
#include "tests/cli.h"

#define THREADS 8
#define ROUNDS 200
#define MOST (3 * 40 * 40)

static const int64_t sides[2][2] = {{16, 24}, {40, 9}};

static fid_status compute(fid_method *method, size_t which, float out[4]) {
    static const size_t bytes = 4 * sizeof(float);
    float x[MOST];
    const int64_t sizes[] = {1, 3, sides[which][0], sides[which][1]};
    const fid_value *value;
    for (size_t i = 0; i < (size_t)(3 * sizes[2] * sizes[3]); i++) x[i] = (float)(i % 17) - 8;
    FID_TRY(fid_method_set_input_tensor(method, 0, FID_FLOAT32, sizes, 4, x));
    FID_TRY(fid_method_run(method));
    FID_TRY(fid_method_output(method, 0, &value));
    memcpy(out, value->as.tensor->data, bytes);
    return FID_OK;
}

typedef struct worker {
    fid_program *program;
    const fid_threads *pool;
    const float (*expected)[4];
    const char *path;
    atomic_bool *stop;
    bool right;
} worker;

static void *work(void *argument) {
    worker *w = argument;
    fid_method_options options = {.struct_size = sizeof options, .threads = w->pool};
    fid_method *method;
    w->right = fid_method_load(w->program, "forward", &options, &method) == FID_OK;
    for (size_t i = 0; w->right && i < ROUNDS; i++) {
        float out[4];
        w->right = compute(method, i % 2, out) == FID_OK && memcmp(out, w->expected[i % 2], sizeof out) == 0;
    }
    if (w->right) fid_method_unload(method);
    return NULL;
}

static void *load_and_unload(void *argument) {
    worker *w = argument;
    fid_environment environment = fid_environment_default(NULL);
    w->right = true;
    while (w->right && !atomic_load(w->stop)) {
        fid_program *program;
        fid_method *method;
        w->right = fid_program_open_file(&environment, w->path, &program) == FID_OK;
        if (!w->right) break;
        w->right = fid_method_load(program, "forward", NULL, &method) == FID_OK;
        if (w->right) fid_method_unload(method);
        fid_program_close(program);
    }
    return NULL;
}

static void share(fid_program *program, const fid_threads *pool, const char *path, const float (*expected)[4]) {
    worker workers[THREADS + 1];
    pthread_t threads[THREADS + 1];
    atomic_bool stop = false;
    for (int i = 0; i <= THREADS; i++) {
        workers[i] = (worker){program, pool, expected, path, &stop, false};
        assert_int_equal(pthread_create(&threads[i], NULL, i < THREADS ? work : load_and_unload, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    atomic_store(&stop, true);
    pthread_join(threads[THREADS], NULL);
    for (int i = 0; i <= THREADS; i++) assert_true(workers[i].right);
}

static void test_threads_share_convolutions(void **state) {
    (void)state;
    static const char *const targets[] = {"cpu", "portable"};
    for (size_t t = 0; t < 2; t++) {
        fid_environment environment = fid_environment_default(NULL);
        fid_program *program;
        fid_method *method;
        fid_threads *pool;
        float expected[2][4];
        cli_ok("compile %sconvolutions.pt2 -o %s.pte --target %s", CLI_ARCHIVES, targets[t], targets[t]);
        char path[16];
        snprintf(path, sizeof path, "%s.pte", targets[t]);
        assert_int_equal(fid_threads_create(environment.allocator, 3, &pool), FID_OK);
        assert_int_equal(fid_program_open_file(&environment, path, &program), FID_OK);
        assert_int_equal(fid_method_load(program, "forward", NULL, &method), FID_OK);
        for (size_t i = 0; i < 2; i++) assert_int_equal(compute(method, i, expected[i]), FID_OK);
        fid_method_unload(method);
        share(program, NULL, path, expected);
        share(program, pool, path, expected); /* one pool for all methods */
        fid_program_close(program);
        fid_threads_destroy(pool);
    }
}

static int enter(void **state) {
    (void)state;
    return cli_enter("cli_share");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads_share_convolutions)};
    return cmocka_run_group_tests(tests, enter, NULL);
}
