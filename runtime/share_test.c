/* One program, many threads, each with methods of its own: the same answers, bit for bit. Run this under the thread sanitizer. */
#include "runtime/testing.h"

#include <pthread.h>

#include "platform/posix/threads.h"

#define THREADS 4
#define ROUNDS 25

typedef struct worker {
    fid_program *program;
    const fid_threads *pool;
    float expected[9];
    bool right;
} worker;

static fid_status compute(fid_program *program, const fid_threads *pool, float *out) {
    static const float x[12] = {1, -2, 3, -4, 5, 6, -7, 8, 9, 10, 11, -12};
    static const int64_t sizes[] = {3, 4};
    fid_method_options options = {.struct_size = sizeof options, .threads = pool};
    fid_method *method;
    const fid_value *value;
    FID_TRY(fid_method_load(program, "forward", &options, &method));
    fid_status status = FID_OK;
    for (int i = 0; i < 3 && status == FID_OK; i++) {
        status = fid_method_set_input_tensor(method, 0, FID_FLOAT32, sizes, 2, x);
        if (status == FID_OK) status = fid_method_run(method);
    }
    if (status == FID_OK) status = fid_method_output(method, 0, &value);
    if (status == FID_OK) memcpy(out, value->as.tensor->data, 9 * sizeof *out);
    fid_method_unload(method);
    return status;
}

static void *work(void *argument) {
    worker *w = argument;
    w->right = true;
    for (int i = 0; i < ROUNDS; i++) {
        float out[9];
        if (compute(w->program, w->pool, out) != FID_OK || memcmp(out, w->expected, sizeof out) != 0) w->right = false;
    }
    return NULL;
}

static fid_status read_bytes(void *self, uint64_t offset, void *buffer, size_t size) {
    const test_bytes *bytes = self;
    if (offset > bytes->size || size > bytes->size - offset) return FID_ACCESS_FAILED;
    memcpy(buffer, bytes->data + offset, size);
    return FID_OK;
}

static void share(fid_program *program, const fid_threads *pool, const float *expected) {
    worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.program = program, .pool = pool};
        memcpy(workers[i].expected, expected, sizeof workers[i].expected);
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(workers[i].right);
    }
}

static void test_threads_share_a_program(void **state) {
    (void)state;
    test_bytes bytes = test_golden("two_methods");
    fid_environment environment = fid_environment_default(NULL);
    fid_source source = {read_bytes, &bytes, bytes.size};
    fid_program *program;
    fid_threads *pool;
    assert_int_equal(fid_threads_create(environment.allocator, 3, &pool), FID_OK);
    assert_int_equal(fid_program_open_memory(&environment, bytes.data, bytes.size, &program), FID_OK);
    float expected[9];
    assert_int_equal(compute(program, NULL, expected), FID_OK);
    share(program, NULL, expected);
    share(program, pool, expected); /* one pool for all methods */
    fid_program_close(program);
    assert_int_equal(fid_program_open_source(&environment, &source, &program), FID_OK);
    share(program, NULL, expected); /* segments are read once, by whoever comes first */
    fid_program_close(program);
    fid_threads_destroy(pool);
    free(bytes.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads_share_a_program)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
