/* Elements and walks: conversions at their edges, order and offsets of visits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/ref/elements.h"

static int64_t int_of(double value, fid_dtype to) { return fidk_convert(fidk_real(value), FID_FLOAT64, to).i; }

/* A float outside of the range gives what x86 gives, wrapped. */
static void floats_become_integers(void **state) {
    (void)state;
    assert_int_equal(int_of(-1.9, FID_INT32), -1);
    assert_int_equal(int_of(300.7, FID_UINT8), 44);
    assert_int_equal(int_of(-1, FID_UINT8), 255);
    assert_int_equal(int_of(200, FID_INT8), -56);
    assert_int_equal(int_of(3e9, FID_INT32), INT32_MIN);
    assert_int_equal(int_of(NAN, FID_INT64), INT64_MIN);
    assert_int_equal(int_of(1e300, FID_INT64), INT64_MIN);
    assert_int_equal(int_of(NAN, FID_BOOL), 1);
    assert_int_equal(int_of(-0.0, FID_BOOL), 0);
    assert_true((uint64_t)int_of(0x1p63, FID_UINT64) == UINT64_C(1) << 63);
}

static void integers_wrap_and_round_once(void **state) {
    (void)state;
    assert_int_equal(fidk_convert(fidk_int(257), FID_INT64, FID_UINT8).i, 1);
    assert_int_equal(fidk_convert(fidk_int(128), FID_INT64, FID_INT8).i, -128);
    assert_int_equal(fidk_convert(fidk_int(256), FID_INT64, FID_BOOL).i, 1);
    /* By way of double, 2^54 + 2^30 + 1 would lose its last bit and then round down. */
    int64_t just_above_half = (INT64_C(1) << 54) + (INT64_C(1) << 30) + 1;
    assert_true(fidk_convert(fidk_int(just_above_half), FID_INT64, FID_FLOAT32).d == 0x1.000002p54);
    assert_true(fidk_convert(fidk_int(-1), FID_UINT64, FID_FLOAT64).d == 0x1p64);
}

static void narrow_floats_round_to_even(void **state) {
    (void)state;
    assert_true(fidk_round_to(FID_BFLOAT16, 1 + 0x1p-8) == 1);
    assert_true(fidk_round_to(FID_BFLOAT16, 1 + 3 * 0x1p-8) == 1 + 0x1p-6);
    assert_true(fidk_round_to(FID_FLOAT16, 65520) == INFINITY);
    assert_true(fidk_round_to(FID_FLOAT64, 0.1) == 0.1);
    assert_true(isnan(fidk_round_to(FID_FLOAT16, NAN)));
}

/* What is stored is loaded, in every dtype. */
static void elements_survive_memory(void **state) {
    (void)state;
    static const fid_dtype dtypes[] = {
#define DTYPE(NAME, ...) FID_##NAME,
        FID_DTYPE_MAP(DTYPE)
#undef DTYPE
    };
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        uint8_t memory[64] = {0};
        fid_value one = fid_int_value(1);
        fidk_store(dtypes[i], memory, 2, fidk_number(&one, dtypes[i]));
        fidk_element element = fidk_convert(fidk_load(dtypes[i], memory, 2), dtypes[i], FID_INT64);
        assert_int_equal(element.i, 1);
        assert_int_equal(fidk_convert(fidk_load(dtypes[i], memory, 1), dtypes[i], FID_INT64).i, 0);
    }
}

/* A walk over [2, 3] with an operand of shape [3] and one that is stored column by column. */
static void walks_broadcast_and_follow_strides(void **state) {
    (void)state;
    int64_t space[] = {2, 3}, row_sizes[] = {3}, row_strides[] = {1};
    fid_tensor row = {.sizes = row_sizes, .strides = row_strides, .rank = 1};
    static const int64_t rows[] = {0, 1, 2, 0, 1, 2}, columns[] = {0, 2, 4, 1, 3, 5};
    fidk_walk walk;
    size_t visits = 0;
    fidk_walk_begin(&walk, space, 2);
    fidk_walk_add(&walk, &row);
    fidk_walk_add_strides(&walk, (int64_t[]){1, 2});
    FIDK_WALK(&walk) {
        assert_int_equal(walk.at[0], rows[visits]);
        assert_int_equal(walk.at[1], columns[visits]);
        visits++;
    }
    assert_int_equal(visits, 6);
}

static void walks_over_nothing_and_over_one(void **state) {
    (void)state;
    fidk_walk walk;
    size_t visits = 0;
    fidk_walk_begin(&walk, (int64_t[]){3, 0, 2}, 3);
    FIDK_WALK(&walk) visits++;
    assert_int_equal(visits, 0);
    fidk_walk_begin(&walk, NULL, 0);
    FIDK_WALK(&walk) visits++;
    assert_int_equal(visits, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_become_integers),
        cmocka_unit_test(integers_wrap_and_round_once),
        cmocka_unit_test(narrow_floats_round_to_even),
        cmocka_unit_test(elements_survive_memory),
        cmocka_unit_test(walks_broadcast_and_follow_strides),
        cmocka_unit_test(walks_over_nothing_and_over_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
