/* Complex operands taken apart: what a program computes must equal the same written with real tensors by hand. */
#include "compiler/passes/pass_check.h"

/* The program's two outputs hold the same numbers. */
static void computes_the_same_twice(fidc_target target, const char *text) {
    static double numbers[4096];
    pass_check c;
    pass_open(&c, text);
    pass_ok(&c, fidc_decompose(c.program, target));
    pass_ok(&c, fidc_check_supported(c.program, FIDC_TARGET_CPU));
    size_t count = pass_run(&c, numbers);
    assert_true(count && count % 2 == 0);
    for (size_t i = 0; i < count / 2; i++) {
        double got = numbers[i], wanted = numbers[count / 2 + i];
        if (!(fabs(got - wanted) <= 1e-4 * (1 + fabs(wanted)))) fail_msg("number %zu is %g, expected %g", i, got, wanted);
    }
    pass_close(&c);
}

/* (a + ib)(c + id) = ac - bd + i (ad + bc): %p, as pairs, against %q. */
#define PARTS                                                                                                          \
    "  %x: c64[2, 3] = aten.complex(%a, %b)\n"                                                                         \
    "  %y: c64[3, 2] = aten.complex(%c, %d)\n"
#define BY_HAND                                                                                                        \
    "  %ac: f32[2, 2] = aten.mm(%a, %c)\n"                                                                             \
    "  %bd: f32[2, 2] = aten.mm(%b, %d)\n"                                                                             \
    "  %ad: f32[2, 2] = aten.mm(%a, %d)\n"                                                                             \
    "  %bc: f32[2, 2] = aten.mm(%b, %c)\n"                                                                             \
    "  %re: f32[2, 2] = aten.sub.Tensor(%ac, %bd, 1)\n"                                                                \
    "  %im: f32[2, 2] = aten.add.Tensor(%ad, %bc, 1)\n"                                                                \
    "  %z: c64[2, 2] = aten.complex(%re, %im)\n"                                                                       \
    "  %q: f32[2, 2, 2] = aten.view_as_real(%z)\n"                                                                     \
    "  return %p, %q\n"                                                                                                \
    "}\n"
#define METHOD "method forward(%a: f32[2, 3], %b: f32[2, 3], %c: f32[3, 2], %d: f32[3, 2]) {\n"

static void products_equal_their_parts(void **state) {
    (void)state;
    static const char *const products[] = {
        "  %m: c64[2, 2] = aten.mm(%x, %y)\n",
        "  %m: c64[2, 2] = aten.matmul(%x, %y)\n",
        "  %yt: c64[2, 3] = aten.t(%y)\n"
        "  %m: c64[2, 2] = aten.linear(%x, %yt, None)\n",
        "  %xh: c64[3, 2] = aten.mH(%x)\n" /* the adjoint of the adjoint */
        "  %yh: c64[2, 3] = aten.mH(%y)\n"
        "  %t: c64[2, 2] = aten.mm(%yh, %xh)\n"
        "  %m: c64[2, 2] = aten.mH(%t)\n",
        "  %m: c64[2, 2] = aten.einsum(\"ij,jk->ik\", [%x, %y], None)\n",
    };
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++) {
        char text[4000];
        strcpy(text, METHOD PARTS);
        strcat(text, products[i]);
        strcat(text, "  %p: f32[2, 2, 2] = aten.view_as_real(%m)\n" BY_HAND);
        computes_the_same_twice(FIDC_TARGET_CPU, text);
        computes_the_same_twice(FIDC_TARGET_PORTABLE, text);
    }
}

static void a_conjugated_product_is_real_of_a_vector_with_itself(void **state) {
    (void)state;
    computes_the_same_twice(FIDC_TARGET_CPU,
                            "method forward(%a: f32[5], %b: f32[5]) {\n"
                            "  %x: c64[5] = aten.complex(%a, %b)\n"
                            "  %d: c64[] = aten.vdot(%x, %x)\n"
                            "  %p: f32[2] = aten.view_as_real(%d)\n"
                            "  %aa: f32[] = aten.dot(%a, %a)\n"
                            "  %bb: f32[] = aten.dot(%b, %b)\n"
                            "  %re: f32[] = aten.add.Tensor(%aa, %bb, 1)\n"
                            "  %im: f32[] = aten.sub.Tensor(%aa, %aa, 1)\n"
                            "  %z: c64[] = aten.complex(%re, %im)\n"
                            "  %q: f32[2] = aten.view_as_real(%z)\n"
                            "  return %p, %q\n"
                            "}\n");
}

static void variances_of_the_parts_add_up(void **state) {
    (void)state;
    computes_the_same_twice(FIDC_TARGET_CPU,
                            "method forward(%a: f32[7], %b: f32[7]) {\n"
                            "  %x: c64[7] = aten.complex(%a, %b)\n"
                            "  %p: f32[] = aten.var(%x, True)\n"
                            "  %va: f32[] = aten.var(%a, True)\n"
                            "  %vb: f32[] = aten.var(%b, True)\n"
                            "  %q: f32[] = aten.add.Tensor(%va, %vb, 1)\n"
                            "  return %p, %q\n"
                            "}\n");
}

/* Frames with half overlap: the inverse gives the signal between the first and the last half frame. */
static void a_signal_comes_back_from_its_frames(void **state) {
    (void)state;
    computes_the_same_twice(FIDC_TARGET_CPU,
                            "method forward(%x: f32[2, 32]) {\n"
                            "  %s: c64[2, 5, 7] = aten.stft(%x, 8, 4, None, None, False, None, True, None)\n"
                            "  %p: f32[2, 24] = aten.istft(%s, 8, 4, None, None, True, False, None, None, False)\n"
                            "  %q: f32[2, 24] = aten.slice_copy.Tensor(%x, 1, 4, 28, 1)\n"
                            "  return %p, %q\n"
                            "}\n");
}

static void what_takes_no_complex_numbers_is_refused(void **state) {
    (void)state;
    pass_check c;
    pass_open(&c, "method forward(%x: c64[2, 3]) {\n"
                  "  %a: c64[2, 3] = aten.hardswish(%x)\n"
                  "  return %a\n"
                  "}\n");
    pass_ok(&c, fidc_decompose(c.program, FIDC_TARGET_CPU));
    assert_int_equal(fidc_check_supported(c.program, FIDC_TARGET_CPU), FID_NOT_SUPPORTED);
    assert_non_null(strstr(c.message.text, "view_as_real"));
    pass_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_equal_their_parts),
        cmocka_unit_test(a_conjugated_product_is_real_of_a_vector_with_itself),
        cmocka_unit_test(variances_of_the_parts_add_up),
        cmocka_unit_test(a_signal_comes_back_from_its_frames),
        cmocka_unit_test(what_takes_no_complex_numbers_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
