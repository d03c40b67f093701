/* The list of what a target has no kernel for. */
#include "compiler/passes/pass_check.h"

/* The whole sentence, which may be longer than a message. */
static char told[8192];
static void keep(void *self, fid_status status, const char *sentence) {
    (void)self;
    (void)status;
    snprintf(told, sizeof told, "%s", sentence);
}

static fid_status check(const char *text, fidc_target target, const char *source) {
    pass_check c;
    fid_sink sink = {keep, NULL};
    pass_open(&c, text);
    c.program->sink = &sink;
    told[0] = 0;
    for (fidc_node *node = c.program->methods[0]->first; node && source; node = node->next) node->source = source;
    fid_status status = fidc_check_supported(c.program, target);
    pass_close(&c);
    return status;
}

static const char *const two_missing = "method forward(%x: f32[2, 3]) {\n"
                                       "  %a: f32[2, 3] = aten.erfinv(%x)\n"
                                       "  %b: f32[2, 3] = aten.relu(%a)\n"
                                       "  %c: f32[2, 3] = aten.lgamma(%b)\n"
                                       "  return %c\n"
                                       "}\n";

static void every_missing_kernel_is_told_at_once(void **state) {
    (void)state;
    const char *source = "File \"model.py\", line 9, in forward\n    return f(x)\n";
    assert_int_equal(check(two_missing, FIDC_TARGET_PORTABLE, source), FID_OPERATOR_MISSING);
    assert_non_null(strstr(told, "2 calls of the program have no kernel in upstream's portable library"));
    assert_non_null(strstr(told, "aten::erfinv 'a' at model.py:9: return f(x), on float32 [2, 3]"));
    assert_non_null(strstr(told, "aten::lgamma 'c' at model.py:9"));
    assert_non_null(strstr(told, "compile without --target portable"));
}

static void the_cpu_has_them(void **state) {
    (void)state;
    assert_int_equal(check(two_missing, FIDC_TARGET_CPU, NULL), FID_OK);
    assert_string_equal(told, "");
}

static void a_training_operator_has_no_kernel_anywhere(void **state) {
    (void)state;
    const char *text = "method forward(%x: f32[2]) {\n  %a: f32[2] = aten.dropout(%x, 0.5, False)\n  return %a\n}\n";
    assert_int_equal(check(text, FIDC_TARGET_CPU, NULL), FID_OPERATOR_MISSING);
    assert_non_null(strstr(told, "1 call of the program has no kernel: aten::dropout 'a', on float32 [2]"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_missing_kernel_is_told_at_once),
        cmocka_unit_test(the_cpu_has_them),
        cmocka_unit_test(a_training_operator_has_no_kernel_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
