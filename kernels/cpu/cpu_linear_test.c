/* Fast matrix products against their references. */
#include "kernels/cpu/kernel_testing.h"

#include "base/half.h"
#include "kernels/cpu/pack_weights.h"

static const struct {
    int64_t m, n, k;
} shapes[] = {{1, 1, 1}, {1, 33, 7}, {2, 64, 40}, {3, 100, 9}, {5, 16, 0}, {13, 17, 31}, {14, 32, 16}, {29, 48, 65}, {64, 96, 512},
              {197, 70, 641}, {0, 4, 3}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static fid_value *packed(fid_value *weight) {
    const fid_tensor *w = weight->as.tensor;
    size_t n = (size_t)w->sizes[0], k = (size_t)w->sizes[1];
    fid_value *result = FLOATS(ROW_MAJOR, 0, (int64_t)fidk_panels(n), (int64_t)k, FIDK_PANEL);
    fidk_pack_rows(w->data, k, n, k, result->as.tensor->data);
    return testing_constant(result);
}

static void linear_matches(void **state) {
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        for (int constant = 0; constant < 2; constant++) {
            fid_value *weight = FLOATS(ROW_MAJOR, 1, shapes[i].n, shapes[i].k);
            if (constant) testing_constant(weight);
            COMPARE(linear, 1, 1e-4, FLOATS(ROW_MAJOR, 1, shapes[i].m, shapes[i].k), weight, i % 2 ? FLOATS(ROW_MAJOR, 1, shapes[i].n) : NOTHING);
            testing_free();
        }
    }
}

static void fused_linear_matches(void **state) {
    (void)state;
    for (int kind = 0; kind < FID_ACTIVATION_COUNT; kind++) {
        for (size_t i = 0; i < SHAPES; i++) {
            const int64_t m = shapes[i].m, n = shapes[i].n, k = shapes[i].k;
            fid_value *name = testing_text(fid_activation_text((fid_activation_kind)kind));
            COMPARE(fused_linear, 1, 2e-4, FLOATS(ROW_MAJOR, 1, 1, m, k), packed(FLOATS(ROW_MAJOR, 1, n, k)), FLOATS(ROW_MAJOR, 1, n),
                    (i + (size_t)kind) % 2 ? FLOATS(ROW_MAJOR, 1, 1, m, n) : NOTHING, INT(n), name, DOUBLE(0.25), DOUBLE(1.5));
            testing_free();
        }
    }
}

/* The packed weight rounded to 16 bits. */
static fid_value *half_packed(fid_value *weight, fid_dtype dtype) {
    const fid_tensor *wide = packed(weight)->as.tensor;
    fid_tensor *half = testing_tensor(dtype, 3, wide->sizes, ROW_MAJOR);
    for (size_t i = 0; i < fid_tensor_numel(wide); i++) {
        float x = ((const float *)wide->data)[i];
        ((uint16_t *)half->data)[i] = dtype == FID_FLOAT16 ? fid_f16_from_float(x) : fid_bf16_from_float(x);
    }
    return testing_value(fid_tensor_value(half));
}

static void linear_takes_half_weights(void **state) {
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        for (int b = 0; b < 2; b++) {
            const int64_t m = shapes[i].m, n = shapes[i].n, k = shapes[i].k;
            COMPARE(fused_linear, 1, 2e-4, FLOATS(ROW_MAJOR, 1, m, k), half_packed(FLOATS(ROW_MAJOR, 1, n, k), b ? FID_BFLOAT16 : FID_FLOAT16),
                    FLOATS(ROW_MAJOR, 1, n), NOTHING, INT(n), testing_text("silu"), DOUBLE(0), DOUBLE(0));
            testing_free();
        }
    }
}

static void products_match(void **state) {
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        const int64_t m = shapes[i].m, n = shapes[i].n, k = shapes[i].k;
        COMPARE(mm, 1, 1e-4, FLOATS(ROW_MAJOR, 1, m, k), FLOATS(ROW_MAJOR, 1, k, n));
        COMPARE(mm, 1, 1e-4, FLOATS(ROW_MAJOR, 1, m, k), testing_constant(FLOATS(ROW_MAJOR, 1, k, n)));
        testing_free();
        COMPARE(bmm, 1, 1e-4, FLOATS(ROW_MAJOR, 1, 3, m, k), FLOATS(ROW_MAJOR, 1, 3, k, n));
        testing_free();
        COMPARE(matmul, 1, 1e-4, FLOATS(ROW_MAJOR, 1, 2, 1, m, k), FLOATS(ROW_MAJOR, 1, 3, k, n));
        COMPARE(matmul, 1, 1e-4, FLOATS(ROW_MAJOR, 1, 2, m, k), FLOATS(ROW_MAJOR, 1, k, n));
        COMPARE(matmul, 1, 1e-4, FLOATS(ROW_MAJOR, 1, m, k), FLOATS(ROW_MAJOR, 1, 2, k, n));
        testing_free();
        fid_value *addends[] = {FLOATS(ROW_MAJOR, 1, n), FLOATS(ROW_MAJOR, 1, m, n), FLOATS(ROW_MAJOR, 1, 1), FLOATS(ROW_MAJOR, 1, m, 1)};
        for (size_t a = 0; a < 4; a++)
            COMPARE(addmm, 1, 1e-4, addends[a], FLOATS(ROW_MAJOR, 1, m, k), FLOATS(ROW_MAJOR, 1, k, n), INT(1), DOUBLE(1));
        testing_free();
    }
}

static void not_a_number_reaches_the_result(void **state) {
    (void)state;
    fid_value *a = FLOATS(ROW_MAJOR, 1, 3, 8), *w = FLOATS(ROW_MAJOR, 1, 5, 8);
    ((float *)a->as.tensor->data)[9] = NAN;
    ((float *)a->as.tensor->data)[17] = INFINITY;
    COMPARE(fused_linear, 1, 1e-4, a, packed(w), NOTHING, NOTHING, INT(5), testing_text("relu"), DOUBLE(0), DOUBLE(0));
    COMPARE(fused_linear, 1, 1e-4, a, packed(w), NOTHING, NOTHING, INT(5), testing_text("clamp"), DOUBLE(-1), DOUBLE(6));
    testing_free();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_matches),
        cmocka_unit_test(fused_linear_matches),
        cmocka_unit_test(linear_takes_half_weights),
        cmocka_unit_test(products_match),
        cmocka_unit_test(not_a_number_reaches_the_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
