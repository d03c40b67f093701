/* The list of what a target has no kernel for. */
#include "compiler/ir/custom.h"
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
    assert_string_equal(told, "2 things that the model needs are not supported:\n"
                              "  aten::erfinv 'a': upstream's portable library has no kernel for it, on float32 [2, 3] at model.py:9: return f(x)\n"
                              "  aten::lgamma 'c': upstream's portable library has no kernel for it, on float32 [2, 3] at model.py:9: return f(x)\n"
                              "  -> the cpu target has it: compile without --target portable");
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
    assert_non_null(strstr(told, "1 thing that the model needs is not supported:\n  aten::dropout 'a': no kernel computes it, on float32 [2]"));
}

/* ---- Several kinds in one report ---- */

static void everything_that_is_wrong_stands_in_one_list(void **state) {
    (void)state;
    const char *text = "symbol s0 in [2, 64] hint 8\n"
                       "method forward(%x: f32[s0, 2], %n: i64[3]) {\n"
                       "  %a: f32[s0, 2] = aten.dropout(%x, 0.5, True)\n"
                       "  %b: f32[s0, 2] = mine.twist(%a, %n)\n"
                       "  %c: f32[s0, 2] = mine.twist(%b, %n)\n"
                       "  %d: f32[s0, 2] = aten.igamma(%c, %c)\n"
                       "  return %d\n"
                       "}\n";
    fid_message message;
    fid_sink sink = fid_message_sink(&message), keeper = {keep, NULL};
    fidc_program *program;
    assert_int_equal(fidc_program_create(fid_environment_default(NULL).allocator, &sink, &fid_builtin_ops, &program), FID_OK);
    assert_int_equal(fidc_custom_declare(program, "mine::twist(Tensor x, Tensor n) -> Tensor", "here"), FID_OK);
    if (fidc_parse(program, text, strlen(text)) != FID_OK) fail_msg("%s", message.text);
    program->declared_count = 0; /* known to the parser, unknown from here on */
    assert_int_equal(fidc_decompose(program, FIDC_TARGET_PORTABLE), FID_OK);
    program->sink = &keeper;
    assert_int_equal(fidc_check_supported(program, FIDC_TARGET_PORTABLE), FID_NOT_SUPPORTED);
    assert_non_null(strstr(told, "3 things that the model needs are not supported:"));
    assert_non_null(strstr(told, "aten::dropout 'a': dropout in training mode; export the model after model.eval(), on float32 [s0, 2]"));
    assert_non_null(strstr(told, "mine::twist 'b': the operator is not known, 2 calls, the first on float32 [s0, 2], int64 [3]"));
    assert_non_null(strstr(told, "aten::igamma 'd': upstream's portable library has no kernel for it"));
    fidc_program_destroy(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_missing_kernel_is_told_at_once),
        cmocka_unit_test(the_cpu_has_them),
        cmocka_unit_test(a_training_operator_has_no_kernel_anywhere),
        cmocka_unit_test(everything_that_is_wrong_stands_in_one_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
