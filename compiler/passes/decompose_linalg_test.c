/* Composites of linear algebra, seen in the numbers that they give: what must be an identity, or equal, is. */
#include "compiler/passes/pass_check.h"

static size_t numbers_of(const char *text, double *out) {
    pass_check c;
    pass_open(&c, text);
    pass_ok(&c, fidc_decompose(c.program, FIDC_TARGET_CPU));
    pass_ok(&c, fidc_check_supported(c.program, FIDC_TARGET_CPU));
    size_t count = pass_run(&c, out);
    pass_close(&c);
    return count;
}

static void assert_near(double got, double wanted) {
    if (!(fabs(got - wanted) < 2e-4 * (1 + fabs(wanted)))) fail_msg("%g, expected %g", got, wanted);
}

/* The program's only output is the identity of that size. */
static void gives_identity(size_t n, const char *text) {
    double numbers[64];
    assert_int_equal(numbers_of(text, numbers), n * n);
    for (size_t i = 0; i < n * n; i++) assert_near(numbers[i], i % (n + 1) == 0);
}

/* The program's outputs, of one number each, are equal. */
static void gives_equal(const char *text) {
    double numbers[8];
    size_t count = numbers_of(text, numbers);
    assert_true(count >= 2);
    for (size_t i = 1; i < count; i++) assert_near(numbers[i], numbers[0]);
}

static void a_matrix_times_its_inverse_is_the_identity(void **state) {
    (void)state;
    gives_identity(3, "method forward(%x: f32[3, 3]) {\n"
                      "  %i: f32[3, 3] = aten.linalg_inv(%x)\n"
                      "  %a: f32[3, 3] = aten.mm(%x, %i)\n"
                      "  return %a\n"
                      "}\n");
    gives_identity(3, "method forward(%x: f32[3, 3]) {\n"
                      "  %a: f32[3, 3] = aten.linalg_solve(%x, %x, False)\n"
                      "  return %a\n"
                      "}\n");
    gives_identity(3, "method forward(%x: f32[3, 3]) {\n"
                      "  %p: f32[3, 3] = aten.linalg_matrix_power(%x, 5)\n"
                      "  %n: f32[3, 3] = aten.matrix_power(%x, -5)\n"
                      "  %a: f32[3, 3] = aten.mm(%n, %p)\n"
                      "  return %a\n"
                      "}\n");
    gives_identity(4, "method forward(%x: f32[4, 4]) {\n"
                      "  %a: f32[4, 4] = aten.matrix_power(%x, 0)\n"
                      "  return %a\n"
                      "}\n");
}

static void a_pseudo_inverse_inverts_from_the_side_of_full_rank(void **state) {
    (void)state;
    gives_identity(3, "method forward(%x: f32[5, 3]) {\n"
                      "  %i: f32[3, 5] = aten.linalg_pinv.atol_rtol_float(%x, None, None, False)\n"
                      "  %a: f32[3, 3] = aten.mm(%i, %x)\n"
                      "  return %a\n"
                      "}\n");
    gives_identity(2, "method forward(%x: f32[2, 4]) {\n"
                      "  %i: f32[4, 2] = aten.pinverse(%x, 1e-15)\n"
                      "  %a: f32[2, 2] = aten.mm(%x, %i)\n"
                      "  return %a\n"
                      "}\n");
}

static void a_cholesky_factor_gives_its_matrix_back(void **state) {
    (void)state;
    gives_identity(3, "method forward(%x: f32[3, 4]) {\n"
                      "  %t: f32[4, 3] = aten.t(%x)\n"
                      "  %s: f32[3, 3] = aten.mm(%x, %t)\n"
                      "  %l: f32[3, 3] = aten.linalg_cholesky(%s, False)\n"
                      "  %i: f32[3, 3] = aten.cholesky_inverse(%l, False)\n"
                      "  %a: f32[3, 3] = aten.mm(%s, %i)\n"
                      "  return %a\n"
                      "}\n");
}

static void determinants_agree(void **state) {
    (void)state;
    gives_equal("method forward(%x: f32[4, 4]) {\n"
                "  %d: f32[] = aten.det(%x)\n"
                "  %s: f32[], %l: f32[] = aten.linalg_slogdet(%x)\n"
                "  %e: f32[] = aten.exp(%l)\n"
                "  %p: f32[] = aten.mul.Tensor(%s, %e)\n"
                "  return %d, %p\n"
                "}\n");
    gives_equal("method forward(%x: f32[3, 3]) {\n" /* of a square, which is not negative */
                "  %q: f32[3, 3] = aten.mm(%x, %x)\n"
                "  %l: f32[] = aten.logdet(%q)\n"
                "  %d: f32[] = aten.linalg_det(%q)\n"
                "  %e: f32[] = aten.log(%d)\n"
                "  return %l, %e\n"
                "}\n");
}

static void norms_agree_with_singular_values(void **state) {
    (void)state;
    gives_equal("method forward(%x: f32[4, 3]) {\n"
                "  %s: f32[3] = aten.linalg_svdvals(%x, None)\n"
                "  %n: f32[] = aten.sum(%s, None)\n"
                "  %a: f32[] = aten.linalg_matrix_norm.str_ord(%x, \"nuc\", [-2, -1], False, None)\n"
                "  %b: f32[] = aten.nuclear_norm(%x, False)\n"
                "  %c: f32[] = aten.linalg_norm.ord_str(%x, \"nuc\", None, False, None)\n"
                "  return %n, %a, %b, %c\n"
                "}\n");
    gives_equal("method forward(%x: f32[3, 4]) {\n"
                "  %s: f32[3] = aten.linalg_svdvals(%x, None)\n"
                "  %n: f32[] = aten.amax(%s, [0], False)\n"
                "  %a: f32[] = aten.linalg_matrix_norm(%x, 2, [-2, -1], False, None)\n"
                "  %b: f32[] = aten.linalg_norm(%x, 2, None, False, None)\n"
                "  return %n, %a, %b\n"
                "}\n");
    gives_equal("method forward(%x: f32[3, 3]) {\n"
                "  %i: f32[3, 3] = aten.inverse(%x)\n"
                "  %a: f32[] = aten.linalg_matrix_norm(%x, 2, [-2, -1], False, None)\n"
                "  %b: f32[] = aten.linalg_matrix_norm(%i, 2, [-2, -1], False, None)\n"
                "  %p: f32[] = aten.mul.Tensor(%a, %b)\n"
                "  %c: f32[] = aten.linalg_cond(%x, None)\n"
                "  return %p, %c\n"
                "}\n");
}

static void a_rank_counts_what_is_above_the_tolerance(void **state) {
    (void)state;
    double rank;
    const char *text = "method forward(%x: f32[5, 2], %y: f32[2, 4]) {\n"
                       "  %p: f32[5, 4] = aten.mm(%x, %y)\n"
                       "  %r: i64[] = aten.linalg_matrix_rank.atol_rtol_float(%p, None, 0.0001, False)\n"
                       "  return %r\n"
                       "}\n";
    assert_int_equal(numbers_of(text, &rank), 1);
    assert_true(rank == 2);
}

static void what_has_no_kernel_is_refused_with_the_reason(void **state) {
    (void)state;
    pass_check c;
    pass_open(&c, "method forward(%x: f32[3, 3]) {\n"
                  "  %a: c64[3] = aten.linalg_eigvals(%x)\n"
                  "  return %a\n"
                  "}\n");
    pass_ok(&c, fidc_decompose(c.program, FIDC_TARGET_CPU));
    assert_int_equal(fidc_check_supported(c.program, FIDC_TARGET_CPU), FID_NOT_SUPPORTED);
    assert_non_null(strstr(c.message.text, "not Hermitian"));
    pass_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matrix_times_its_inverse_is_the_identity),
        cmocka_unit_test(a_pseudo_inverse_inverts_from_the_side_of_full_rank),
        cmocka_unit_test(a_cholesky_factor_gives_its_matrix_back),
        cmocka_unit_test(determinants_agree),
        cmocka_unit_test(norms_agree_with_singular_values),
        cmocka_unit_test(a_rank_counts_what_is_above_the_tolerance),
        cmocka_unit_test(what_has_no_kernel_is_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
