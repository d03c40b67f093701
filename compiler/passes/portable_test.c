/* What upstream's target composes of upstream's operators, against the reference kernels: functions over their whole range, and what
 * 16-bit floats round. */
#include "compiler/passes/pass_check.h"

/* Within `tolerance` of the reference, relative to it beyond 1. */
static void same_numbers(const char *text, double tolerance) {
    static double before[PASS_MOST_NUMBERS], after[PASS_MOST_NUMBERS];
    size_t count = pass_numbers(text, false, before);
    assert_int_equal(pass_numbers(text, true, after), count);
    for (size_t i = 0; i < count; i++) {
        bool same = before[i] == after[i] || (isnan(before[i]) && isnan(after[i])) || fabs(before[i] - after[i]) <= tolerance * (1 + fabs(before[i]));
        if (!same) fail_msg("element %zu is %.17g, was %.17g in\n%s", i, after[i], before[i], text);
    }
}

/* ---- Functions of one number ---- */

#define EVERYWHERE "-1000, -40.5, -21, -12.25, -8.5, -8, -7.75, -3.5, -2.25, -2, -1, -0.75, -0.5, -0.25, -1e-8, 0, 1e-300, 1e-8, 0.1, " \
                   "0.25, 0.4, 0.5, 0.6, 0.75, 1, 1.0625, 1.5, 1.999, 2, 2.125, 3, 4.5, 6.75, 7.5, 8, 8.5, 11.9, 12, 12.125, 15, 19.9, 20, " \
                   "20.5, 24, 26, 33.5, 50, 87.5, 200.25, 690, 1e5, inf, -inf, nan"
enum { EVERYWHERE_COUNT = 54 };

static void functions_are_those_of_the_reference_kernels(void **state) {
    (void)state;
    static const char *const names[] = {
        "lgamma", "digamma", "erfc", "erfinv", "special_erfcx", "special_log_ndtr", "special_ndtri", "i0", "special_i0", "special_i0e", "special_i1",
        "special_i1e", "special_modified_bessel_i0", "special_modified_bessel_i1", "special_modified_bessel_k0", "special_modified_bessel_k1",
        "special_scaled_modified_bessel_k0", "special_scaled_modified_bessel_k1", "special_bessel_j0", "special_bessel_j1", "special_bessel_y0",
        "special_bessel_y1", "special_spherical_bessel_j0", "special_airy_ai"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char text[2048];
        snprintf(text, sizeof text, "method forward() {\n  const %%x: f64[%d] = \"x\" {%s}\n  %%a: f64[%d] = aten.%s(%%x)\n  return %%a\n}\n", EVERYWHERE_COUNT,
                 EVERYWHERE, EVERYWHERE_COUNT, names[i]);
        same_numbers(text, 1e-9);
    }
}

static void derivatives_of_the_gamma_function(void **state) {
    (void)state;
    static const int orders[] = {0, 1, 2, 3, 4, 9};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        char text[2048];
        snprintf(text, sizeof text, "method forward() {\n  const %%x: f64[8] = \"x\" {-3.75, -0.5, 0, 0.3, 1, 2.5, 11, 300}\n"
                 "  %%a: f64[8] = aten.polygamma(%d, %%x)\n  %%b: f64[8] = aten.mvlgamma(%%x, 3)\n  return %%a, %%b\n}\n", orders[i]);
        same_numbers(text, 1e-9);
    }
}

static void polynomials_of_every_small_degree(void **state) {
    (void)state;
    static const char *const names[] = {"chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
                                        "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
                                        "shifted_chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char text[2048];
        snprintf(text, sizeof text, "method forward() {\n  const %%x: f64[13, 1] = \"x\" {-3, -1.5, -1, -0.999, -0.5, 0, 0.25, 0.5, 0.99, 1, 1.25, 2, 7.5}\n"
                 "  const %%n: f64[12] = \"n\" {-2, -0.5, 0, 1, 2, 3, 4.75, 5, 7, 10, 13, 20}\n"
                 "  %%a: f64[13, 12] = aten.special_%s(%%x, %%n)\n  return %%a\n}\n", names[i]);
        same_numbers(text, 1e-9);
    }
}

/* ---- Places among equals ---- */

static void sorting_keeps_the_order_of_equals(void **state) {
    (void)state;
    same_numbers("method forward(%x: i64[5, 40], %b: b8[3, 9]) {\n  %a: i64[5, 40], %i: i64[5, 40] = aten.sort(%x, 1, True)\n"
                 "  %c: i64[5, 40], %j: i64[5, 40] = aten.sort.stable(%x, True, 0, False)\n  %d: b8[3, 9], %k: i64[3, 9] = aten.sort(%b, 1, False)\n"
                 "  return %a, %i, %c, %j, %d, %k\n}\n", 0);
    same_numbers("method forward(%x: i64[4, 9]) {\n  %a: i64[4], %i: i64[4] = aten.median.dim(%x, 1, False)\n"
                 "  %b: i64[1, 9], %j: i64[1, 9] = aten.mode(%x, 0, True)\n  %c: i64[] = aten.median(%x)\n  return %a, %i, %b, %j, %c\n}\n", 0);
    same_numbers("method forward() {\n  const %x: f32[2, 5] = \"x\" {1, nan, 0.5, nan, 3, nan, nan, nan, nan, nan}\n"
                 "  %a: f32[2], %i: i64[2] = aten.nanmedian.dim(%x, 1, False)\n  %b: f32[2], %j: i64[2] = aten.median.dim(%x, 1, False)\n"
                 "  return %a, %i, %b, %j\n}\n", 0);
}

static void places_in_a_sorted_sequence(void **state) {
    (void)state;
    same_numbers("method forward() {\n  const %s: f32[2, 4] = \"s\" {1, 2, 2, 3, -1, 0, 0, nan}\n  const %v: f32[2, 5] = \"v\" {0, 2, 2.5, 9, nan, -2, 0, 1, 5, nan}\n"
                 "  %a: i64[2, 5] = aten.searchsorted.Tensor(%s, %v, False, False, None, None)\n"
                 "  %b: i64[2, 5] = aten.searchsorted.Tensor(%s, %v, False, True, None, None)\n  return %a, %b\n}\n", 0);
    same_numbers("method forward(%v: i64[3, 4]) {\n  const %b: i64[3] = \"b\" {0, 2, 2}\n  %a: i64[3, 4] = aten.bucketize.Tensor(%v, %b, False, True)\n  return %a\n}\n", 0);
}

/* Which of equals is the k-th follows PyTorch's own algorithm; the value does not. */
static void no_place_is_given_that_is_another_than_eagers(void **state) {
    (void)state;
    pass_check c;
    pass_open(&c, "method forward(%x: i64[3, 7]) {\n  %a: i64[3], %i: i64[3] = aten.kthvalue(%x, 2, 1, False)\n  return %i\n}\n");
    pass_ok(&c, fidc_decompose(c.program, FIDC_TARGET_PORTABLE));
    assert_int_equal(fidc_check_supported(c.program, FIDC_TARGET_PORTABLE), FID_NOT_SUPPORTED);
    assert_non_null(strstr(c.message.text, "quickselect"));
    pass_close(&c);
    same_numbers("method forward(%x: i64[3, 7]) {\n  %a: i64[3], %i: i64[3] = aten.kthvalue(%x, 2, 1, False)\n  return %a\n}\n", 0);
}

/* ---- Scans, reductions by index, transforms ---- */

static void the_rest_is_that_of_the_reference_kernels(void **state) {
    (void)state;
    static const char *const programs[] = {
        "method forward(%x: f32[3, 7], %i: i64[3, 7]) {\n  %a: f32[3, 7] = aten.cumprod(%x, 1, None)\n  %b: f32[3, 7], %p: i64[3, 7] = aten.cummax(%x, 1)\n"
        "  %c: i64[3, 7], %q: i64[3, 7] = aten.cummin(%i, 0)\n  %d: f32[3, 7] = aten.logcumsumexp(%x, 1)\n  return %a, %b, %p, %c, %q, %d\n}\n",
        "method forward(%x: i64[6, 4], %i: i64[3, 2], %s: i64[3, 2]) {\n  %a: i64[6, 4] = aten.scatter_reduce.two(%x, 0, %i, %s, \"amax\", True)\n"
        "  %b: i64[6, 4] = aten.scatter_reduce.two(%x, 0, %i, %s, \"prod\", False)\n  %c: i64[6, 4] = aten.scatter_reduce.two(%x, 0, %i, %s, \"mean\", True)\n"
        "  %d: i64[6, 4] = aten.scatter.reduce(%x, 0, %i, %s, \"multiply\")\n  return %a, %b, %c, %d\n}\n",
        "method forward(%x: f32[5, 3], %i: i64[4], %s: f32[4, 3]) {\n  %a: f32[5, 3] = aten.index_reduce(%x, 0, %i, %s, \"amin\", False)\n"
        "  %b: f32[5, 3] = aten.index_reduce(%x, 0, %i, %s, \"mean\", True)\n  return %a, %b\n}\n",
        "method forward(%x: f32[4, 5]) {\n  %a: f32[4, 5] = aten.renorm(%x, 2, 0, 1)\n  %b: b8[4, 5] = aten.signbit(%x)\n  %c: f32[4, 5] = aten.logaddexp2(%x, %a)\n"
        "  %d: f32[4, 5] = aten.ldexp.Tensor(%x, %a)\n  %e: f32[4, 5], %n: i32[4, 5] = aten.frexp.Tensor(%x)\n  %f: f32[] = aten.dist(%x, %a, 3)\n"
        "  return %a, %b, %c, %d, %e, %n, %f\n}\n",
        "method forward() {\n  const %a: i64[7] = \"a\" {12, -18, 0, 7, 0, 144, 1000000007}\n  const %b: i64[7] = \"b\" {18, 12, 5, 0, 0, -89, 998244353}\n"
        "  %g: i64[7] = aten.gcd(%a, %b)\n  %l: i64[7] = aten.lcm(%a, %b)\n  %r: i64[7] = aten.remainder.Scalar(%a, -5)\n  return %g, %l, %r\n}\n",
        "method forward(%x: f32[1, 2, 5, 6]) {\n  %a: f32[1, 2, 3, 4], %i: i64[1, 2, 3, 4] = aten.adaptive_max_pool2d(%x, [3, 4])\n  return %a, %i\n}\n",
        "method forward(%x: f32[1, 2, 5, 6, 4]) {\n  %a: f32[1, 2, 3, 3, 2], %i: i64[1, 2, 3, 3, 2] = aten.max_pool3d_with_indices(%x, [3, 2, 2], [2, 2, 2], "
        "[1, 0, 0], [1, 1, 1], False)\n  return %a, %i\n}\n",
        "method forward(%x: f32[3, 10]) {\n  %a: c64[3, 6] = aten._fft_r2c(%x, [1], 0, True)\n  %b: c64[3, 6] = aten._fft_c2c(%a, [0, 1], 1, False)\n"
        "  %c: f32[3, 11] = aten._fft_c2r(%b, [1], 2, 11)\n  %d: f32[3, 6, 2] = aten.view_as_real_copy(%a)\n  return %c, %d\n}\n",
        "method forward(%x: f32[3, 4, 5], %w: f32[4], %m: f32[4], %v: f32[4]) {\n  %a: f32[3, 4, 5], %b: f32[4], %c: f32[4], %d: f32[4], %e: f32[4] = "
        "aten._native_batch_norm_legit_functional(%x, %w, None, %m, %v, True, 0.3, 1e-05)\n  return %a, %b, %c, %d, %e\n}\n",
        "method forward(%x: f32[12], %s: f32[2, 3]) {\n  %a: f32[12] = aten.as_strided_scatter(%x, %s, [2, 3], [5, 2], 1)\n  return %a\n}\n",
    };
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) same_numbers(programs[i], 2e-5);
}

/* ---- 16 bits ---- */

/* As many as the reference rounds: half of the last place. */
static void a_call_rounds_once(void **state) {
    (void)state;
    static const char *const calls[] = {"sinc(%h)", "lerp.Tensor(%h, %g, %h)", "addcdiv(%h, %g, %h, 0.7)", "logaddexp(%h, %g)", "mish(%h)",
                                        "huber_loss(%h, %g, 0, 0.5)", "hypot(%h, %g)", "special_entr(%h)", "erfc(%h)"};
    static const char *const dtypes[] = {"f16", "bf16"};
    for (size_t d = 0; d < 2; d++) {
        for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
            char text[1024];
            snprintf(text, sizeof text, "method forward(%%x: f32[40], %%y: f32[40]) {\n  %%h: %s[40] = aten._to_copy(%%x, dtype.%s, None, None, None, False, None)\n"
                     "  %%g: %s[40] = aten._to_copy(%%y, dtype.%s, None, None, None, False, None)\n  %%a: %s[40] = aten.%s\n"
                     "  %%b: f32[40] = aten._to_copy(%%a, dtype.f32, None, None, None, False, None)\n  return %%b\n}\n",
                     dtypes[d], dtypes[d], dtypes[d], dtypes[d], dtypes[d], calls[i]);
            same_numbers(text, d ? 1.0 / 256 : 1.0 / 2048);
        }
    }
}

/* A mean of 64 in 8 or 11 bits is far from the mean: what is subtracted inside is not what leaves. */
static void what_leaves_a_call_is_not_rounded_inside_it(void **state) {
    (void)state;
    static const char *const dtypes[] = {"f16", "bf16"};
    for (size_t d = 0; d < 2; d++) {
        char text[2048];
        const char *t = dtypes[d];
        snprintf(text, sizeof text, "method forward(%%x: f32[3, 4, 5], %%w: f32[4]) {\n  %%y: f32[3, 4, 5] = aten.add.Scalar(%%x, 64, 1)\n"
                 "  %%h: %s[3, 4, 5] = aten._to_copy(%%y, dtype.%s, None, None, None, False, None)\n"
                 "  %%g: %s[4] = aten._to_copy(%%w, dtype.%s, None, None, None, False, None)\n"
                 "  %%a: %s[3, 4, 5], %%b: %s[4], %%c: %s[4], %%d: %s[4], %%e: %s[4] = "
                 "aten._native_batch_norm_legit_functional(%%h, %%g, None, %%g, %%g, True, 0.3, 1e-05)\n"
                 "  %%i: f32[3, 4, 5] = aten._to_copy(%%a, dtype.f32, None, None, None, False, None)\n"
                 "  %%j: f32[4] = aten._to_copy(%%b, dtype.f32, None, None, None, False, None)\n  return %%i, %%j\n}\n", t, t, t, t, t, t, t, t, t);
        same_numbers(text, d ? 1.0 / 256 : 1.0 / 2048);
    }
}

static void a_call_of_one_operator_stays_in_its_dtype(void **state) {
    (void)state;
    pass_check c;
    const char *text = "method forward(%x: f16[4], %y: f16[4]) {\n  %a: f16[4] = aten.mul.Tensor(%x, %y)\n  %b: f16[4] = aten.add.Tensor(%a, %y, 1)\n  return %b\n}\n";
    pass_open(&c, text);
    pass_ok(&c, fidc_decompose(c.program, FIDC_TARGET_PORTABLE));
    pass_ok(&c, fidc_round_once(c.program));
    pass_expect(&c, text);
    pass_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_those_of_the_reference_kernels),
        cmocka_unit_test(derivatives_of_the_gamma_function),
        cmocka_unit_test(polynomials_of_every_small_degree),
        cmocka_unit_test(sorting_keeps_the_order_of_equals),
        cmocka_unit_test(places_in_a_sorted_sequence),
        cmocka_unit_test(no_place_is_given_that_is_another_than_eagers),
        cmocka_unit_test(the_rest_is_that_of_the_reference_kernels),
        cmocka_unit_test(a_call_rounds_once),
        cmocka_unit_test(what_leaves_a_call_is_not_rounded_inside_it),
        cmocka_unit_test(a_call_of_one_operator_stays_in_its_dtype),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
