/* The thread pool: every index once, any number of threads, nested and shared use. */
#include "platform/posix/threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "include/fidibus.h"
#include "platform/posix/cpu_detect.h"

#define COUNT 1000

typedef struct job {
    uint32_t seen[COUNT];
    const fid_threads *threads;
} job;

static void mark(void *context, size_t index) { __atomic_add_fetch(&((job *)context)->seen[index], 1, __ATOMIC_RELAXED); }

static void expect_each_once(const job *j, size_t count) {
    for (size_t i = 0; i < COUNT; i++) assert_int_equal(j->seen[i], i < count);
}

static fid_threads *create(uint32_t count) {
    fid_threads *threads;
    assert_int_equal(fid_threads_create(fid_environment_default(NULL).allocator, count, &threads), FID_OK);
    return threads;
}

static void test_each_index_once(void **state) {
    (void)state;
    static const uint32_t counts[] = {1, 2, 3, 8, 64};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        fid_threads *threads = create(counts[i]);
        assert_int_equal(threads->count, counts[i]);
        for (size_t count = 0; count <= COUNT; count = count * 3 + 1) {
            job j = {.threads = threads};
            threads->run(threads->self, mark, &j, count);
            expect_each_once(&j, count);
        }
        fid_threads_destroy(threads);
    }
}

static void nest(void *context, size_t index) {
    const job *j = context;
    if (index == 0) j->threads->run(j->threads->self, mark, context, COUNT);
}

static void test_nested_runs_are_serial(void **state) {
    (void)state;
    fid_threads *threads = create(4);
    job j = {.threads = threads};
    threads->run(threads->self, nest, &j, 16);
    expect_each_once(&j, COUNT);
    fid_threads_destroy(threads);
}

static void *use(void *argument) {
    const fid_threads *threads = argument;
    for (int round = 0; round < 50; round++) {
        job j = {.threads = threads};
        threads->run(threads->self, mark, &j, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            if (j.seen[i] != 1) return NULL;
        }
    }
    return argument;
}

static void test_one_pool_for_several_callers(void **state) {
    (void)state;
    fid_threads *threads = create(3);
    pthread_t callers[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&callers[i], NULL, use, threads), 0);
    for (int i = 0; i < 4; i++) {
        void *right;
        pthread_join(callers[i], &right);
        assert_non_null(right);
    }
    fid_threads_destroy(threads);
}

static void test_counts_outside_the_range(void **state) {
    (void)state;
    fid_threads *all = create(0), *many = create(1000);
    assert_int_equal(all->count, fid_processor_count() > FID_THREADS_MAX ? FID_THREADS_MAX : fid_processor_count());
    assert_int_equal(many->count, FID_THREADS_MAX);
    fid_threads_destroy(all);
    fid_threads_destroy(many);
    fid_threads_destroy(NULL);
}

static void test_wide_instructions_come_with_narrow_ones(void **state) {
    (void)state;
    uint32_t cpu = fid_cpu_detect();
    if (cpu & (FID_CPU_AVX512 | FID_CPU_AVX512_VNNI | FID_CPU_AVX512_BF16)) assert_true(cpu & FID_CPU_AVX2_FMA);
    if (cpu & FID_CPU_AVX512_VNNI) assert_true(cpu & FID_CPU_AVX512);
    assert_int_equal(cpu, fid_cpu_detect());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_index_once),
        cmocka_unit_test(test_nested_runs_are_serial),
        cmocka_unit_test(test_one_pool_for_several_callers),
        cmocka_unit_test(test_counts_outside_the_range),
        cmocka_unit_test(test_wide_instructions_come_with_narrow_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
