/* Random kernels: range, mean and deviation, runs that go on, loads that start anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/half.h"
#include "ops/operator.h"

extern const fid_kernel fid_ref_rand, fid_ref_randn, fid_ref_native_dropout;

#define COUNT 4000

static uint64_t persisted;

static void *persist(fid_scratch *self, size_t bytes) {
    (void)self;
    assert_true(bytes <= sizeof persisted);
    return &persisted;
}

typedef struct tensor {
    fid_tensor base;
    int64_t size, stride;
    uint8_t order;
    float data[COUNT];
} tensor;

static fid_value vector(tensor *t, fid_dtype dtype) {
    *t = (tensor){.size = COUNT, .stride = 1};
    t->base = (fid_tensor){.data = t->data, .sizes = &t->size, .strides = &t->stride, .dim_order = &t->order, .rank = 1, .dtype = (uint8_t)dtype};
    return fid_tensor_value(&t->base);
}

static void start(const fid_kernel *kernel, fid_call *call) {
    static fid_scratch memory = {persist, NULL, NULL};
    call->memory = &memory;
    assert_int_equal(kernel->prepare(call), FID_OK);
}

static double mean_of(const float *data, double power) {
    double sum = 0;
    for (size_t i = 0; i < COUNT; i++) sum += pow(data[i], power);
    return sum / COUNT;
}

static void uniform_numbers_fill_the_unit_interval(void **state) {
    (void)state;
    tensor t;
    fid_value size = fid_none_value(), out = vector(&t, FID_FLOAT32), *args[] = {&size, &out};
    fid_call call = {.name = "aten::rand.out", .args = args, .arg_count = 2, .output_index = 1};
    start(&fid_ref_rand, &call);
    assert_int_equal(fid_ref_rand.run(&call), FID_OK);
    for (size_t i = 0; i < COUNT; i++) assert_true(t.data[i] >= 0 && t.data[i] < 1);
    assert_true(fabs(mean_of(t.data, 1) - 0.5) < 0.02);
    assert_true(fabs(mean_of(t.data, 2) - 1.0 / 3) < 0.02);
}

static void a_half_is_never_rounded_up_to_one(void **state) {
    (void)state;
    tensor t;
    fid_value size = fid_none_value(), out = vector(&t, FID_BFLOAT16), *args[] = {&size, &out};
    fid_call call = {.name = "aten::rand.out", .args = args, .arg_count = 2, .output_index = 1};
    start(&fid_ref_rand, &call);
    assert_int_equal(fid_ref_rand.run(&call), FID_OK);
    const uint16_t *halves = t.base.data;
    for (size_t i = 0; i < COUNT; i++) assert_true(fid_float_from_bf16(halves[i]) < 1);
}

static void runs_go_on_and_loads_start_anew(void **state) {
    (void)state;
    tensor t;
    float first[COUNT];
    fid_value size = fid_none_value(), out = vector(&t, FID_FLOAT32), *args[] = {&size, &out};
    fid_call call = {.name = "aten::randn.out", .args = args, .arg_count = 2, .output_index = 1};
    start(&fid_ref_randn, &call);
    assert_int_equal(fid_ref_randn.run(&call), FID_OK);
    memcpy(first, t.data, sizeof first);
    assert_true(fabs(mean_of(first, 1)) < 0.05);
    assert_true(fabs(mean_of(first, 2) - 1) < 0.1);
    assert_int_equal(fid_ref_randn.run(&call), FID_OK);
    assert_memory_not_equal(first, t.data, sizeof first);
    start(&fid_ref_randn, &call);
    assert_int_equal(fid_ref_randn.run(&call), FID_OK);
    assert_memory_equal(first, t.data, sizeof first);
}

static void dropout_keeps_the_mean_and_says_what_it_kept(void **state) {
    (void)state;
    tensor in, out, mask;
    fid_value x = vector(&in, FID_FLOAT32), y = vector(&out, FID_FLOAT32), kept = vector(&mask, FID_BOOL);
    fid_value p = fid_double_value(0.25), train = fid_bool_value(true), *args[] = {&x, &p, &train, &y, &kept};
    for (size_t i = 0; i < COUNT; i++) in.data[i] = 3;
    fid_call call = {.name = "aten::native_dropout.out", .args = args, .arg_count = 5, .output_index = 3};
    start(&fid_ref_native_dropout, &call);
    assert_int_equal(fid_ref_native_dropout.run(&call), FID_OK);
    const uint8_t *bits = mask.base.data;
    for (size_t i = 0; i < COUNT; i++) assert_true(out.data[i] == (bits[i] ? 4.0f : 0.0f));
    assert_true(fabs(mean_of(out.data, 1) - 3) < 0.1);
    train = fid_bool_value(false);
    assert_int_equal(fid_ref_native_dropout.run(&call), FID_OK);
    for (size_t i = 0; i < COUNT; i++) assert_true(out.data[i] == 3 && bits[i] == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_numbers_fill_the_unit_interval),
        cmocka_unit_test(a_half_is_never_rounded_up_to_one),
        cmocka_unit_test(runs_go_on_and_loads_start_anew),
        cmocka_unit_test(dropout_keeps_the_mean_and_says_what_it_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
