/* Fast pools, upsampling and reductions against their references, in both orders of images. */
#include "kernels/cpu/kernel_testing.h"

static void pools_match(void **state) {
    (void)state;
    for (int o = 0; o < 2; o++) {
        testing_order order = (testing_order)o;
        COMPARE(fused_max_pool2d, 1, 0, FLOATS(order, 1, 2, 19, 9, 11), INTS(3, 3), INTS(2, 2), INTS(1, 1), INTS(1, 1), BOOL(false));
        COMPARE(fused_max_pool2d, 1, 0, FLOATS(order, 1, 1, 35, 13, 11), INTS(5), INTS(1), INTS(2), INTS(1), BOOL(false));
        COMPARE(fused_max_pool2d, 1, 0, FLOATS(order, 1, 1, 3, 12, 7), INTS(2, 3), INTS(2, 1), INTS(0, 1), INTS(2, 2), BOOL(true));
        COMPARE(avg_pool2d, 1, 1e-6, FLOATS(order, 1, 2, 19, 9, 11), INTS(3, 3), INTS(2, 2), INTS(1, 1), BOOL(false), BOOL(true), NOTHING);
        COMPARE(avg_pool2d, 1, 1e-6, FLOATS(order, 1, 2, 19, 9, 11), INTS(3, 3), INTS(2, 2), INTS(1, 1), BOOL(true), BOOL(false), NOTHING);
        COMPARE(avg_pool2d, 1, 1e-6, FLOATS(order, 1, 2, 19, 9, 11), INTS(3, 2), INTS(2, 2), INTS(1, 0), BOOL(true), BOOL(true), NOTHING);
        COMPARE(avg_pool2d, 1, 1e-6, FLOATS(order, 1, 2, 40, 9, 11), INTS(3, 2), INTS(2, 2), INTS(1, 0), BOOL(true), BOOL(true), INT(5));
        testing_free();
    }
}

/* Found at once however large the numbers are: a program may hold any. */
static void windows_may_be_far_larger_than_images(void **state) {
    (void)state;
    COMPARE(fused_max_pool2d, 1, 0, FLOATS(CHANNELS_LAST, 1, 1, 3, 5, 6), INTS(1 << 29, 3), INTS(2, 2), INTS(1 << 28, 1), INTS(1, 1), BOOL(false));
    COMPARE(avg_pool2d, 1, 1e-6, FLOATS(CHANNELS_LAST, 1, 1, 3, 5, 6), INTS(1 << 29, 3), INTS(1 << 30, 2), INTS(1 << 28, 1), BOOL(false), BOOL(false),
            NOTHING);
    testing_free();
}

static void max_pool_keeps_what_is_not_a_number(void **state) {
    (void)state;
    fid_value *x = FLOATS(CHANNELS_LAST, 1, 1, 17, 6, 6);
    for (int i = 0; i < 6 * 6 * 17; i += 29) ((float *)x->as.tensor->data)[i] = i % 2 ? NAN : -INFINITY;
    COMPARE(fused_max_pool2d, 1, 0, x, INTS(3, 3), INTS(1, 1), INTS(1, 1), INTS(1, 1), BOOL(false));
    testing_free();
}

static void upsampling_matches(void **state) {
    (void)state;
    for (int o = 0; o < 3; o++) { /* logical order, channels-last, channels-last to logical order */
        testing_order order = o == 0 ? ROW_MAJOR : CHANNELS_LAST;
        *testing_plain_outputs() = o == 2;
        COMPARE(upsample_bilinear2d, 1, 1e-6, FLOATS(order, 1, 2, 21, 5, 7), INTS(13, 20), BOOL(false), NOTHING, NOTHING);
        COMPARE(upsample_bilinear2d, 1, 1e-6, FLOATS(order, 1, 1, 33, 5, 7), INTS(3, 20), BOOL(true), NOTHING, NOTHING);
        COMPARE(upsample_bilinear2d_vec, 1, 1e-6, FLOATS(order, 1, 1, 3, 1, 1), INTS(4, 5), BOOL(false), NOTHING);
        COMPARE(upsample_nearest2d, 1, 0, FLOATS(order, 1, 2, 21, 5, 7), INTS(13, 20), NOTHING, NOTHING);
        COMPARE(upsample_nearest2d_vec, 1, 0, FLOATS(order, 1, 2, 1, 5, 7), INTS(10, 14), NOTHING);
        testing_free();
    }
    *testing_plain_outputs() = false;
}

static void reductions_match(void **state) {
    (void)state;
    for (int keep = 0; keep < 2; keep++) {
        COMPARE(mean_dim, 1, 1e-6, FLOATS(CHANNELS_LAST, 1, 2, 35, 7, 9), INTS(2, 3), BOOL(keep), NOTHING);
        COMPARE(mean_dim, 1, 1e-6, FLOATS(ROW_MAJOR, 1, 2, 35, 7, 9), INTS(-1, -2), BOOL(keep), NOTHING);
        COMPARE(mean_dim, 1, 1e-6, FLOATS(ROW_MAJOR, 1, 5, 3000), INTS(1), BOOL(keep), NOTHING);
        COMPARE(mean_dim, 1, 1e-6, FLOATS(ROW_MAJOR, 1, 500, 40), INTS(0), BOOL(keep), NOTHING);
        COMPARE(sum_dim_IntList, 1, 1e-5, FLOATS(ROW_MAJOR, 1, 3, 50, 40), INTS(1), BOOL(keep), NOTHING);
        COMPARE(sum_dim_IntList, 1, 1e-5, FLOATS(ROW_MAJOR, 1, 3, 50, 40), INTS(0, 1, 2), BOOL(keep), NOTHING);
        COMPARE(linalg_vector_norm, 1, 1e-6, FLOATS(ROW_MAJOR, 1, 3, 5, 41), INT(2), INTS(2), BOOL(keep), NOTHING);
        COMPARE(linalg_vector_norm, 1, 1e-6, FLOATS(ROW_MAJOR, 1, 3, 41, 5), DOUBLE(2), INTS(1, -1), BOOL(keep), NOTHING);
        testing_free();
    }
    for (int64_t n = 0; n < 9000; n = 3 * n + 1) {
        COMPARE(sum, 1, 1e-5, FLOATS(ROW_MAJOR, 1, n), NOTHING);
        COMPARE(cumsum, 1, 1e-5, FLOATS(ROW_MAJOR, 1, 3, n), INT(1), NOTHING);
        COMPARE(cumsum, 1, 1e-5, FLOATS(ROW_MAJOR, 1, n, 5), INT(0), NOTHING);
        COMPARE(mean, 1, 1e-6, FLOATS(ROW_MAJOR, 1, n, 3), NOTHING);
        testing_free();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pools_match),
        cmocka_unit_test(windows_may_be_far_larger_than_images),
        cmocka_unit_test(max_pool_keeps_what_is_not_a_number),
        cmocka_unit_test(upsampling_matches),
        cmocka_unit_test(reductions_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
