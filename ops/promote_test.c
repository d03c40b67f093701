/* Type promotion as torch.result_type does it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ops/promote.h"

static fid_value tensor_of(fid_tensor *tensor, fid_dtype dtype, uint8_t rank) {
    static int64_t ones[FID_MAX_RANK] = {1};
    *tensor = (fid_tensor){.sizes = ones, .strides = ones, .rank = rank, .dtype = (uint8_t)dtype};
    return fid_tensor_value(tensor);
}

static fid_dtype result(fid_value a, fid_value b) {
    fid_promotion promotion = fid_promotion_none();
    fid_promotion_add(&promotion, &a);
    fid_promotion_add(&promotion, &b);
    return fid_promotion_result(&promotion);
}

static void dimensions_outrank_their_absence(void **state) {
    (void)state;
    fid_tensor a, b;
    assert_int_equal(result(tensor_of(&a, FID_FLOAT16, 1), tensor_of(&b, FID_FLOAT32, 0)), FID_FLOAT16);
    assert_int_equal(result(tensor_of(&a, FID_FLOAT16, 1), tensor_of(&b, FID_FLOAT32, 1)), FID_FLOAT32);
    assert_int_equal(result(tensor_of(&a, FID_INT8, 1), tensor_of(&b, FID_INT64, 0)), FID_INT8);
}

/* A higher category wins from a lower class. */
static void categories_outrank_classes(void **state) {
    (void)state;
    fid_tensor a, b;
    assert_int_equal(result(tensor_of(&a, FID_INT32, 1), tensor_of(&b, FID_FLOAT64, 0)), FID_FLOAT64);
    assert_int_equal(result(tensor_of(&a, FID_INT32, 1), fid_double_value(0.5)), FID_FLOAT32);
    assert_int_equal(result(tensor_of(&a, FID_BOOL, 1), fid_int_value(2)), FID_INT64);
    assert_int_equal(result(tensor_of(&a, FID_BFLOAT16, 1), fid_double_value(0.5)), FID_BFLOAT16);
    assert_int_equal(result(tensor_of(&a, FID_FLOAT64, 1), tensor_of(&b, FID_COMPLEX64, 0)), FID_COMPLEX128);
}

static void absent_arguments_do_not_count(void **state) {
    (void)state;
    fid_tensor a;
    assert_int_equal(result(fid_none_value(), tensor_of(&a, FID_INT16, 2)), FID_INT16);
    assert_int_equal(result(fid_int_value(1), fid_bool_value(true)), FID_INT64);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dimensions_outrank_their_absence),
        cmocka_unit_test(categories_outrank_classes),
        cmocka_unit_test(absent_arguments_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
