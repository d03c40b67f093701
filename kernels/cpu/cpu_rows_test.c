/* Fast softmax, norms and attention against their references. */
#include "kernels/cpu/kernel_testing.h"

static void softmax_matches(void **state) {
    (void)state;
    for (int64_t n = 1; n < 70; n += 9) {
        COMPARE(_softmax, 1, 2e-6, FLOATS(ROW_MAJOR, 9, 5, 3, n), INT(-1), BOOL(false));
        COMPARE(_softmax, 1, 2e-6, FLOATS(ROW_MAJOR, 9, 5, n, 3), INT(1), BOOL(false));
        COMPARE(_log_softmax, 1, 2e-6, FLOATS(ROW_MAJOR, 9, 15, n), INT(1), BOOL(false));
        COMPARE(log_softmax_int, 1, 2e-6, FLOATS(ROW_MAJOR, 90, 5, n), INT(-1), NOTHING);
        COMPARE(softmax_int, 1, 2e-6, FLOATS(ROW_MAJOR, 90, n, 15), INT(0), NOTHING);
        testing_free();
    }
    COMPARE(_softmax, 1, 2e-6, FLOATS(ROW_MAJOR, 90, 300, 1001), INT(1), BOOL(false));
    testing_free();
}

static void softmax_of_special_rows(void **state) {
    (void)state;
    fid_value *x = FLOATS(ROW_MAJOR, 1, 4, 19);
    float *data = x->as.tensor->data;
    for (int i = 0; i < 19; i++) data[i] = -INFINITY;
    data[19 + 3] = NAN, data[38 + 18] = INFINITY, data[57 + 2] = -INFINITY;
    COMPARE(_softmax, 1, 2e-6, x, INT(1), BOOL(false));
    testing_free();
}

static void norms_match(void **state) {
    (void)state;
    for (int64_t n = 1; n < 90; n += 11) {
        COMPARE(layer_norm, 1, 4e-6, FLOATS(ROW_MAJOR, 3, 5, 3, n), INTS(n), FLOATS(ROW_MAJOR, 1, n), FLOATS(ROW_MAJOR, 1, n), DOUBLE(1e-5), BOOL(false));
        COMPARE(native_layer_norm, 3, 4e-6, FLOATS(ROW_MAJOR, 3, 5, 3, n), INTS(3, n), NOTHING, NOTHING, DOUBLE(1e-5));
        COMPARE(rms_norm, 1, 4e-6, FLOATS(ROW_MAJOR, 3, 15, n), INTS(n), FLOATS(ROW_MAJOR, 1, n), NOTHING);
        testing_free();
    }
    COMPARE(layer_norm, 1, 4e-6, FLOATS(ROW_MAJOR, 3, 150, 1500), INTS(1500), NOTHING, NOTHING, DOUBLE(1e-5), BOOL(false));
    testing_free();
}

static void channel_norms_match(void **state) {
    (void)state;
    for (int o = 0; o < 2; o++) {
        testing_order order = (testing_order)o;
        fid_value *variance = FLOATS(ROW_MAJOR, 1, 36);
        for (int i = 0; i < 36; i++) ((float *)variance->as.tensor->data)[i] = 0.1f + (float)i;
        COMPARE(_native_batch_norm_legit_no_training, 3, 4e-6, FLOATS(order, 3, 2, 36, 7, 5), FLOATS(ROW_MAJOR, 1, 36), FLOATS(ROW_MAJOR, 1, 36),
                FLOATS(ROW_MAJOR, 1, 36), variance, DOUBLE(0.1), DOUBLE(1e-5));
        COMPARE(_native_batch_norm_legit_no_training, 3, 4e-6, FLOATS(ROW_MAJOR, 3, 5, 36), NOTHING, NOTHING, FLOATS(ROW_MAJOR, 1, 36), variance,
                DOUBLE(0.1), DOUBLE(1e-5));
        COMPARE(native_group_norm, 3, 4e-6, FLOATS(order, 3, 2, 36, 7, 50), FLOATS(ROW_MAJOR, 1, 36), FLOATS(ROW_MAJOR, 1, 36), INT(2), INT(36),
                INT(350), INT(3), DOUBLE(1e-5));
        COMPARE(native_group_norm, 3, 4e-6, FLOATS(order, 3, 2, 36, 7, 5), NOTHING, NOTHING, INT(2), INT(36), INT(35), INT(36), DOUBLE(1e-5));
        testing_free();
    }
}

static fid_value *heads_inside(fid_value *v) {
    fid_tensor *t = v->as.tensor;
    t->dim_order[1] = 2, t->dim_order[2] = 1;
    fid_tensor_update_strides(t);
    return v;
}

static fid_value *bool_mask(int64_t rows, int64_t columns) {
    fid_tensor *t = testing_tensor(FID_BOOL, 2, (int64_t[]){rows, columns}, ROW_MAJOR);
    for (int64_t i = 0; i < rows * columns; i++) ((uint8_t *)t->data)[i] = testing_random() > -0.3f;
    memset(t->data, 0, (size_t)columns); /* the first row sees nothing */
    return testing_value(fid_tensor_value(t));
}

#define ATTEND(q, k, v, mask, causal, grouped)                                                                         \
    COMPARE(scaled_dot_product_attention, 1, 5e-6, q, k, v, mask, DOUBLE(0), BOOL(causal), NOTHING, BOOL(grouped));    \
    testing_free()
#define FLOATS4(...) FLOATS(ROW_MAJOR, 2, __VA_ARGS__)

static void attention_matches(void **state) {
    (void)state;
    ATTEND(FLOATS4(1, 2, 7, 16), FLOATS4(1, 2, 9, 16), FLOATS4(1, 2, 9, 20), NOTHING, false, false);
    ATTEND(FLOATS4(2, 3, 61, 33), FLOATS4(2, 3, 300, 33), FLOATS4(2, 3, 300, 40), NOTHING, false, false);
    ATTEND(FLOATS4(1, 1, 300, 64), FLOATS4(1, 1, 300, 64), FLOATS4(1, 1, 300, 64), NOTHING, true, false);
    ATTEND(FLOATS4(1, 2, 3, 8), FLOATS4(1, 2, 600, 8), FLOATS4(1, 2, 600, 8), NOTHING, true, false);
    ATTEND(FLOATS4(1, 4, 20, 16), FLOATS4(1, 2, 20, 16), FLOATS4(1, 2, 20, 16), NOTHING, true, true);
    ATTEND(FLOATS4(1, 4, 20, 16), FLOATS4(1, 4, 270, 16), FLOATS4(1, 4, 270, 16), bool_mask(20, 270), false, false);
    ATTEND(FLOATS4(1, 4, 20, 16), FLOATS4(1, 4, 270, 16), FLOATS4(1, 4, 270, 16), bool_mask(1, 270), false, false);
    ATTEND(FLOATS4(2, 4, 20, 16), FLOATS4(2, 4, 27, 16), FLOATS4(2, 4, 27, 16), FLOATS4(2, 1, 20, 27), false, false);
    ATTEND(FLOATS4(2, 4, 20, 16), FLOATS4(2, 4, 27, 16), FLOATS4(2, 4, 27, 16), FLOATS4(2, 1, 1, 27), false, false);
    ATTEND(FLOATS4(5, 16), FLOATS4(9, 16), FLOATS4(9, 8), NOTHING, false, false);
    ATTEND(heads_inside(FLOATS4(1, 4, 70, 32)), heads_inside(FLOATS4(1, 4, 70, 32)), FLOATS4(1, 4, 70, 32), NOTHING, false, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_matches),
        cmocka_unit_test(softmax_of_special_rows),
        cmocka_unit_test(norms_match),
        cmocka_unit_test(channel_norms_match),
        cmocka_unit_test(attention_matches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
