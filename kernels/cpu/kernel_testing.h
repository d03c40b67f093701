/* For tests: builds tensors, runs an operator by its reference kernel and by its cpu kernel, and compares.
 *
 * Every tensor lies in a heap block of exactly its size, so that a sanitizer sees a kernel that leaves it. */
#ifndef FID_KERNELS_CPU_KERNEL_TESTING_H
#define FID_KERNELS_CPU_KERNEL_TESTING_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernels/cpu/tiles.h"

#include "ops/operator.h"

#include "platform/posix/cpu_detect.h"

#define TESTING static inline __attribute__((unused))

/* Under an emulator, which is a hundred times slower, sweeps keep every kernel, shape and dtype, and thin out what they repeat:
 * one number of threads beside one thread, one sample of a function in 16. */
#ifdef FID_TESTS_EMULATED
enum { TESTING_RUNS = 2, TESTING_SPARSE = 16 };
#else
enum { TESTING_RUNS = 3, TESTING_SPARSE = 1 };
#endif

/* Threads of each of TESTING_RUNS runs: 1, then 2 to 8 in turn from call to call. */
TESTING size_t testing_threads(size_t run) {
    static size_t turn;
    return run == 0 ? 1 : 2 + turn++ % 7;
}

/* ---- Tensors and values: they live until testing_free ---- */

typedef struct testing_pool {
    void *blocks[4096];
    size_t count;
} testing_pool;

TESTING testing_pool *testing_blocks(void) {
    static testing_pool pool;
    return &pool;
}

TESTING void *testing_allocate(size_t size) {
    testing_pool *pool = testing_blocks();
    void *block = NULL;
    assert_true(pool->count < 4096);
    if (posix_memalign(&block, 64, size ? size : 1) != 0) fail_msg("no memory for a test");
    if (!block) abort(); /* fail_msg does not return, which the compiler does not know */
    memset(block, 0xa5, size);
    return pool->blocks[pool->count++] = block;
}

TESTING void testing_free(void) {
    testing_pool *pool = testing_blocks();
    while (pool->count) free(pool->blocks[--pool->count]);
}

TESTING float testing_random(void) {
    static uint64_t state = 88172645463325252ull;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (float)(state % 20001) / 10000.0f - 1.0f; /* [-1, 1] */
}

typedef enum testing_order { ROW_MAJOR, CHANNELS_LAST } testing_order;

TESTING fid_tensor *testing_tensor(fid_dtype dtype, size_t rank, const int64_t *sizes, testing_order order) {
    fid_tensor *t = testing_allocate(sizeof *t);
    *t = (fid_tensor){.rank = (uint8_t)rank, .dtype = (uint8_t)dtype};
    t->sizes = testing_allocate((rank + 1) * sizeof *t->sizes);
    t->strides = testing_allocate((rank + 1) * sizeof *t->strides);
    t->dim_order = testing_allocate(rank + 1);
    for (size_t i = 0; i < rank; i++) t->sizes[i] = sizes[i], t->dim_order[i] = (uint8_t)i;
    if (order == CHANNELS_LAST && rank >= 3) {
        for (size_t i = 1; i + 1 < rank; i++) t->dim_order[i] = (uint8_t)(i + 1);
        t->dim_order[rank - 1] = 1;
    }
    fid_tensor_update_strides(t);
    t->capacity = fid_tensor_bytes(t);
    /* Aligned to one element only, at another distance from a cache line each time, ending where the block ends. */
    static size_t turn;
    size_t offset = fid_dtype_size(dtype) * (1 + turn++ % 7);
    t->data = (uint8_t *)testing_allocate(t->capacity + offset) + offset;
    return t;
}

/* float32 with random values in [-scale, scale]. */
TESTING fid_value *testing_value(fid_value value) {
    fid_value *v = testing_allocate(sizeof *v);
    *v = value;
    return v;
}
TESTING fid_value *testing_floats(size_t rank, const int64_t *sizes, testing_order order, float scale) {
    fid_tensor *t = testing_tensor(FID_FLOAT32, rank, sizes, order);
    for (size_t i = 0; i < fid_tensor_numel(t); i++) ((float *)t->data)[i] = scale * testing_random();
    return testing_value(fid_tensor_value(t));
}
TESTING fid_value *testing_constant(fid_value *v) {
    v->as.tensor->flags |= FID_TENSOR_CONSTANT;
    return v;
}
TESTING fid_value *testing_text(const char *text) {
    return testing_value((fid_value){.as.string = {text, strlen(text)}, .tag = FID_TAG_STRING});
}
TESTING fid_value *testing_ints(size_t count, const int64_t *items) {
    int64_t *copy = testing_allocate((count + 1) * sizeof *copy);
    if (count) memcpy(copy, items, count * sizeof *copy);
    return testing_value((fid_value){.as.ints = {copy, count}, .tag = FID_TAG_INT_LIST});
}
#define FLOATS(order, scale, ...)                                                                                      \
    testing_floats(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__}, order, scale)
#define INTS(...) testing_ints(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})
#define INT(i) testing_value(fid_int_value(i))
#define DOUBLE(d) testing_value(fid_double_value(d))
#define BOOL(b) testing_value(fid_bool_value(b))
#define NOTHING testing_value(fid_none_value())

/* ---- Running ---- */

/* Scratch that counts what is taken, for comparison with what the kernel announced. */
TESTING size_t *testing_taken(void) {
    static size_t taken;
    return &taken;
}

TESTING void *testing_take(struct fid_scratch *self, size_t bytes) {
    (void)self;
    *testing_taken() += (bytes + 63) / 64 * 64;
    return testing_allocate(bytes);
}

/* Outputs in logical order, whatever the row's shape function says: what a compiler may ask of a kernel that writes either. */
TESTING bool *testing_plain_outputs(void) {
    static bool plain;
    return &plain;
}

typedef struct testing_job {
    void (*task)(void *context, size_t index);
    void *context;
    size_t begin, end;
} testing_job;

TESTING void *testing_thread(void *argument) {
    testing_job *job = argument;
    for (size_t i = job->begin; i < job->end; i++) job->task(job->context, i);
    return NULL;
}

TESTING void testing_run_threads(void *self, void (*task)(void *context, size_t index), void *context, size_t count) {
    size_t threads = *(const size_t *)self;
    pthread_t handles[8];
    testing_job jobs[8];
    for (size_t i = 0; i < threads; i++) {
        jobs[i] = (testing_job){task, context, count * i / threads, count * (i + 1) / threads};
        assert_int_equal(pthread_create(&handles[i], NULL, testing_thread, &jobs[i]), 0);
    }
    for (size_t i = 0; i < threads; i++) pthread_join(handles[i], NULL);
}

TESTING void testing_print(void *self, fid_status status, const char *sentence) {
    (void)self;
    print_message("status %d: %s\n", (int)status, sentence);
}

TESTING fid_tensor *testing_like(const fid_meta *meta) {
    fid_tensor *t = testing_tensor((fid_dtype)meta->dtype, meta->rank, meta->sizes, ROW_MAJOR);
    if (!*testing_plain_outputs()) memcpy(t->dim_order, meta->dim_order, t->rank);
    fid_tensor_update_strides(t);
    return t;
}

/* One value for each result of the schema, side by side; `outputs` tensors in all, those of a list in one value. */
TESTING size_t testing_make_outputs(const fid_op *op, const fid_meta *metas, size_t outputs, fid_value **out_values) {
    fid_schema_cursor cursor = fid_schema_begin(op->schema);
    fid_schema_arg result;
    while (fid_schema_next_arg(&cursor, &result)) {}
    if (fid_schema_next_result(&cursor, &result) && result.list) {
        fid_tensor **items = testing_allocate(outputs * sizeof *items);
        for (size_t i = 0; i < outputs; i++) items[i] = testing_like(&metas[i]);
        out_values[0] = testing_value((fid_value){.as.tensors = {items, outputs}, .tag = FID_TAG_TENSOR_LIST});
        return 1;
    }
    fid_value *values = testing_allocate((outputs + 1) * sizeof *values);
    for (size_t i = 0; i < outputs; i++) {
        values[i] = fid_tensor_value(testing_like(&metas[i]));
        out_values[i] = &values[i];
    }
    return outputs;
}

TESTING void testing_ignore(void *self, fid_status status, const char *sentence) { (void)self, (void)status, (void)sentence; }

/* Whether the row takes these inputs at all. */
TESTING bool testing_fits(const fid_op *op, size_t arg_count, fid_value *const *inputs, size_t outputs) {
    static const fid_sink sink = {testing_ignore, NULL};
    fid_meta metas[8] = {0};
    fid_call call = {.name = op->name, .args = inputs, .arg_count = (uint32_t)arg_count, .output_index = (uint32_t)arg_count, .sink = &sink};
    return op->shape(&call, metas, outputs) == FID_OK;
}

/* Runs kernel(args..., outputs...) where outputs are made from the row's shape function. False: the kernel declined. */
TESTING bool testing_run_all(const fid_op *op, const fid_kernel *kernel, size_t arg_count, fid_value *const *inputs, size_t outputs, uint32_t cpu,
                             size_t threads, fid_value **out_values) {
    static const fid_sink sink = {testing_print, NULL};
    struct fid_scratch memory = {testing_take, testing_take, NULL};
    fid_threads pool = {testing_run_threads, &threads, (uint32_t)threads};
    fid_value *args[32];
    fid_meta metas[8] = {0};
    fid_call call = {.name = op->name, .args = args, .arg_count = (uint32_t)(arg_count + outputs), .output_index = (uint32_t)arg_count,
                     .sink = &sink, .threads = threads > 1 ? &pool : NULL, .cpu = cpu, .memory = &memory};
    memcpy(args, inputs, arg_count * sizeof *args);
    assert_int_equal(op->shape(&call, metas, outputs), FID_OK);
    call.arg_count = (uint32_t)(arg_count + testing_make_outputs(op, metas, outputs, args + arg_count));
    fid_status status = kernel->prepare ? kernel->prepare(&call) : FID_OK;
    if (status == FID_NOT_SUPPORTED) return false;
    assert_int_equal(status, FID_OK);
    size_t announced = kernel->scratch_bytes ? kernel->scratch_bytes(&call) : 0;
    *testing_taken() = 0;
    assert_int_equal(kernel->run(&call), FID_OK);
    if (kernel != op->reference) assert_true(*testing_taken() <= (announced + 63) / 64 * 64); /* so that a run allocates nothing */
    *out_values = args[arg_count];
    return true;
}

/* Tensor i of what testing_run_all gave: of a list, or of values that stand one after the other. */
TESTING fid_tensor *testing_output(const fid_value *values, size_t i) {
    return values->tag == FID_TAG_TENSOR_LIST ? values->as.tensors.items[i] : values[i].as.tensor;
}

/* Output 0 alone; NULL if the kernel declined. */
TESTING fid_tensor *testing_run(const fid_op *op, const fid_kernel *kernel, size_t arg_count, fid_value *const *inputs, size_t outputs,
                                uint32_t cpu, size_t threads, bool *out_declined) {
    fid_value *values;
    bool ran = testing_run_all(op, kernel, arg_count, inputs, outputs, cpu, threads, &values);
    if (out_declined) *out_declined = !ran;
    return ran ? testing_output(values, 0) : NULL;
}

/* Largest |a - b| / (1 + |b|); a NaN, or an infinity, must stand on both sides. */
TESTING double testing_distance(const fid_tensor *a, const fid_tensor *b) {
    double largest = 0;
    assert_true(fid_tensor_same_layout(a, b));
    for (size_t i = 0; i < fid_tensor_numel(a); i++) {
        double x = ((const float *)a->data)[i], y = ((const float *)b->data)[i];
        if ((x != x && y != y) || x == y) continue;
        double distance = fabs(x - y) / (1 + fabs(y));
        if (!(distance <= largest)) largest = distance != distance ? INFINITY : distance;
    }
    return largest;
}

/* Reference against cpu kernel: every instruction set of this machine, and bit-equal results with 1 and up to 8 threads. */
TESTING void testing_compare(fid_op_id id, size_t arg_count, fid_value *const *inputs, size_t outputs, double tolerance) {
    const fid_op *op = &fid_builtin_ops.ops[id];
    const fidk_tiles *tiles;
    uint32_t needs;
    fid_value *right, *fast, *serial = NULL;
    testing_run_all(op, op->reference, arg_count, inputs, outputs, 0, 1, &right);
    for (size_t s = 0; (tiles = fidk_tiles_at(s, &needs)); s++) {
        if (needs & ~fid_cpu_detect()) continue;
        for (size_t run = 0; run < TESTING_RUNS; run++) {
            size_t threads = testing_threads(run);
            if (!testing_run_all(op, op->cpu, arg_count, inputs, outputs, needs, threads, &fast)) fail_msg("%s: declined", op->name);
            if (run == 0) serial = fast;
            for (size_t i = 0; i < outputs; i++) {
                const fid_tensor *got = testing_output(fast, i), *first = testing_output(serial, i);
                double distance = testing_distance(got, testing_output(right, i));
                if (!(distance <= tolerance)) fail_msg("%s: %s, %zu threads: output %zu is off by %g", op->name, tiles->name, threads, i, distance);
                assert_memory_equal(first->data, got->data, fid_tensor_bytes(first));
            }
        }
    }
}
#define COMPARE(id, outputs, tolerance, ...)                                                                           \
    testing_compare(FID_OPID_##id, sizeof((fid_value *[]){__VA_ARGS__}) / sizeof(fid_value *), (fid_value *[]){__VA_ARGS__}, outputs, tolerance)

#endif
