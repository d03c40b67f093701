/* Accuracy of the vectors' elementary functions: over floats of every size, on every instruction set of this machine. */
#include "base/half.h"
#include "kernels/cpu/kernel_testing.h"

enum { COUNT = 4096 };

typedef double (*exact_function)(double x);

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double silu(double x) { return x / (1 + exp(-x)); }
static double elu(double x) { return x > 0 ? x : expm1(x); }
static double rsqrt(double x) { return 1 / sqrt(x); }
static double softplus(double x) { return x > 20 ? x : log1p(exp(x)); }
static double log_sigmoid(double x) { return (x < 0 ? x : 0) - log1p(exp(-fabs(x))); }
static double mish(double x) { return x * tanh(softplus(x)); }

/* Distance in units of the last place of the exact value; results below the normal range count by its smallest unit. */
static double ulps(float got, double exact) {
    float rounded = (float)exact;
    if (got == rounded || (got != got && exact != exact)) return 0;
    if (fabs((double)got - exact) < 1e-42) return 0; /* far below the smallest normal number */
    if (got != got || exact != exact) return INFINITY;
    if (isinf(rounded) || isinf(got)) return fabs(exact) > 3.4028e38 && fabs((double)got) > 3.4028e38 ? 1 : INFINITY;
    int exponent;
    frexp(exact, &exponent);
    return fabs((double)got - exact) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

static double worst_of(const fidk_tiles *tiles, fid_unary_kind kind, exact_function exact, float *out_where) {
    static float x[COUNT], y[COUNT];
    double worst = 0;
    for (uint64_t bits = 0; bits < (1ull << 32); bits += COUNT * 2003ull * TESTING_SPARSE) {
        for (size_t i = 0; i < COUNT; i++) {
            uint32_t b = (uint32_t)(bits + i * 2003);
            memcpy(&x[i], &b, 4);
        }
        fidk_unary u = {.x = x, .y = y, .rows = 1, .columns = COUNT, .a = 1, .b = 20};
        tiles->unary[kind](&u);
        for (size_t i = 0; i < COUNT; i++) {
            double off = ulps(y[i], exact(x[i]));
            if (off > worst) worst = off, *out_where = x[i];
        }
    }
    return worst;
}

static void functions_are_accurate(void **state) {
    static const struct {
        const char *name;
        fid_unary_kind kind;
        exact_function exact;
        double most;
    } functions[] = {
        {"exp", FID_UNARY_EXP, exp, 2},
        {"exp2", FID_UNARY_EXP2, exp2, 2},
        {"expm1", FID_UNARY_EXPM1, expm1, 2},
        {"log", FID_UNARY_LOG, log, 2},
        {"log2", FID_UNARY_LOG2, log2, 2},
        {"log10", FID_UNARY_LOG10, log10, 2},
        {"log1p", FID_UNARY_LOG1P, log1p, 2},
        {"sin", FID_UNARY_SIN, sin, 2},
        {"cos", FID_UNARY_COS, cos, 2},
        {"erf", FID_UNARY_ERF, erf, 2},
        {"tanh", FID_UNARY_TANH, tanh, 2},
        {"sigmoid", FID_UNARY_SIGMOID, sigmoid, 2},
        {"silu", FID_UNARY_SILU, silu, 2.2}, /* 1.6 with fused products */
        {"elu", FID_UNARY_ELU, elu, 2},
        {"softplus", FID_UNARY_SOFTPLUS, softplus, 2},
        {"log_sigmoid", FID_UNARY_LOG_SIGMOID, log_sigmoid, 2},
        {"mish", FID_UNARY_MISH, mish, 4}, /* a product of four roundings */
        {"floor", FID_UNARY_FLOOR, floor, 0},
        {"ceil", FID_UNARY_CEIL, ceil, 0},
        {"trunc", FID_UNARY_TRUNC, trunc, 0},
        {"round", FID_UNARY_ROUND, rint, 0},
        {"rsqrt", FID_UNARY_RSQRT, rsqrt, 1.5},
        {"sqrt", FID_UNARY_SQRT, sqrt, 0.5},
    };
    const fidk_tiles *tiles;
    uint32_t needs;
    bool failed = false;
    (void)state;
    for (size_t s = 0; (tiles = fidk_tiles_at(s, &needs)); s++) {
        if (needs & ~fid_cpu_detect()) continue;
        for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
            float where = 0;
            double worst = worst_of(tiles, functions[f].kind, functions[f].exact, &where);
            print_message("%s %s: %.2f ulp at %g\n", tiles->name, functions[f].name, worst, (double)where);
            if (worst > functions[f].most) failed = true;
        }
    }
    assert_false(failed);
}

/* ---- 16-bit floats, against base/half.h ---- */

static bool same_float(float a, float b) { return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }

static void expect_widened(const fidk_tiles *tiles, int which) {
    static uint16_t x[1 << 16];
    static float y[1 << 16];
    for (size_t i = 0; i < 1 << 16; i++) x[i] = (uint16_t)i;
    tiles->from_half[which](x, y, 1 << 16);
    for (size_t i = 0; i < 1 << 16; i++) {
        float right = which ? fid_float_from_bf16(x[i]) : fid_float_from_f16(x[i]);
        if (!same_float(y[i], right)) fail_msg("%s: %s 0x%zx gives %g, not %g", tiles->name, which ? "bf16" : "f16", i, (double)y[i], (double)right);
    }
}

static void expect_narrowed(const fidk_tiles *tiles, int which, const float *x, size_t count) {
    static uint16_t y[COUNT];
    tiles->to_half[which](x, y, count);
    for (size_t i = 0; i < count; i++) {
        uint16_t right = which ? fid_bf16_from_float(x[i]) : fid_f16_from_float(x[i]);
        bool nan = x[i] != x[i] && (y[i] & 0x7fff) > (which ? 0x7f80 : 0x7c00);
        if (y[i] != right && !nan) fail_msg("%s: %s of %a is 0x%x, not 0x%x", tiles->name, which ? "bf16" : "f16", (double)x[i], y[i], right);
    }
}

/* Floats of every size, and those next to where float16 and bfloat16 round the other way. */
static void expect_all_narrowed(const fidk_tiles *tiles, int which) {
    static float x[COUNT];
    for (uint64_t bits = 0; bits < (1ull << 32); bits += COUNT * 2003ull * TESTING_SPARSE) {
        for (size_t i = 0; i < COUNT; i++) x[i] = fid_float_from_bits((uint32_t)(bits + i * 2003));
        expect_narrowed(tiles, which, x, COUNT);
    }
    for (uint32_t h = 0; h < 1 << 16; h++) {
        uint32_t middle = fid_float_bits(which ? fid_float_from_bf16((uint16_t)h) : fid_float_from_f16((uint16_t)h)) + (which ? 0x8000 : 0x1000);
        for (uint32_t i = 0; i < 3; i++) x[h % 1024 * 3 + i] = fid_float_from_bits(middle + i - 1);
        if (h % 1024 == 1023) expect_narrowed(tiles, which, x, 3 * 1024 - 1); /* an odd length */
    }
}

static void halves_convert_as_the_reference(void **state) {
    const fidk_tiles *tiles;
    uint32_t needs;
    (void)state;
    for (size_t s = 0; (tiles = fidk_tiles_at(s, &needs)); s++) {
        if (needs & ~fid_cpu_detect()) continue;
        for (int which = 0; which < 2; which++) {
            expect_widened(tiles, which);
            expect_all_narrowed(tiles, which);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(halves_convert_as_the_reference), cmocka_unit_test(functions_are_accurate)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
