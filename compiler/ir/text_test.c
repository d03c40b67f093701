/* The text form: what is printed parses to the same, and faults name their line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/ir/ir.h"
#include "include/fidibus.h"

static fidc_program *parse(const char *text, fid_message *message, fid_sink *sink, fid_status *status) {
    fidc_program *program;
    *sink = fid_message_sink(message);
    assert_int_equal(fidc_program_create(fid_environment_default(NULL).allocator, sink, &fid_builtin_ops, &program), FID_OK);
    *status = fidc_parse(program, text, strlen(text));
    return program;
}

static void print_is_the_inverse_of_parse(void **state) {
    (void)state;
    const char *text =
        "symbol s0 in [2, 64] hint 8\n"
        "method forward(%x: f32[s0, 3], %n: int(s0)) {\n"
        "  const %w: f32[3] = \"layer.weight\" {1.0, -0.5, inf}\n"
        "  buffer %state: i64[1] = \"state\" {7}\n"
        "  %y: f32[s0, 3] = aten.add.Tensor(%x, %w, 1)\n"
        "  %z: f32[s0, 3] = aten.add.Tensor(%y, %x, 2.5)\n"
        "  update %state <- %state\n"
        "  return %z, None, 3\n"
        "}\n";
    fid_message message;
    fid_sink sink;
    fid_status status;
    fidc_program *program = parse(text, &message, &sink, &status);
    char *printed;
    assert_string_equal(message.text, "");
    assert_int_equal(status, FID_OK);
    assert_int_equal(fidc_verify(program), FID_OK);
    assert_int_equal(fidc_print(program, &printed), FID_OK);
    assert_string_equal(printed, text);
    fidc_program_destroy(program);
}

static void a_fault_names_its_line(void **state) {
    (void)state;
    fid_message message;
    fid_sink sink;
    fid_status status;
    fidc_program *program = parse("method forward(%x: f32[2]) {\n  %y: f32[2] = aten.nonsense(%x)\n  return %y\n}\n", &message, &sink, &status);
    assert_int_equal(status, FID_INVALID_ARGUMENT);
    assert_non_null(strstr(message.text, "line 2"));
    fidc_program_destroy(program);
}

static void the_verifier_names_both_shapes(void **state) {
    (void)state;
    fid_message message;
    fid_sink sink;
    fid_status status;
    fidc_program *program =
        parse("method forward(%x: f32[2], %y: f32[2]) {\n  %z: f32[3] = aten.add.Tensor(%x, %y, 1)\n  return %z\n}\n", &message, &sink, &status);
    assert_int_equal(status, FID_OK);
    assert_int_equal(fidc_verify(program), FID_INVALID_PROGRAM);
    assert_non_null(strstr(message.text, "f32[3] in the graph and f32[2] by the operator table"));
    fidc_program_destroy(program);
}

static void inference_finds_symbolic_sizes(void **state) {
    (void)state;
    fid_message message;
    fid_sink sink;
    fid_status status;
    fidc_program *program = parse("symbol s0 in [2, 64] hint 8\nmethod forward(%x: f32[s0, 1], %y: f32[3]) {\n  return %x\n}\n", &message, &sink, &status);
    assert_int_equal(status, FID_OK);
    fidc_graph *graph = program->methods[0];
    fidc_arg args[] = {fidc_v(graph->inputs[0]), fidc_v(graph->inputs[1])};
    fidc_value *sum = fidc_result(fidc_node_create(graph, NULL, NULL, FID_OPID_add_Tensor, args, 2, 0));
    assert_non_null(sum);
    assert_ptr_equal(sum->sizes[0], graph->inputs[0]->sizes[0]);
    assert_int_equal(fidc_size(sum, 1), 3);
    fidc_program_destroy(program);
}

static void expressions_fold_and_compare(void **state) {
    (void)state;
    fid_message message;
    fid_sink sink;
    fid_status status;
    fidc_program *program = parse("symbol s0 in [2, 64] hint 8\n", &message, &sink, &status);
    assert_ptr_equal(fidc_expr_parse(program, "2*s0 + 1"), fidc_expr_parse(program, "1 + s0*2"));
    assert_int_equal(fidc_expr_parse(program, "(s0 + 7)//8")->high, 8);
    static const char *const endless[] = {"n", "n - 1", "n + 5", "2*n", "n//2", "(n + 1)//2 - 1", "n*n", "n*s0", "Max(n, 3)", "n**2"};
    for (size_t i = 0; i < sizeof endless / sizeof endless[0]; i++) assert_true(fidc_expr_parse(program, endless[i])->high == FIDC_UNBOUNDED);
    assert_int_equal(fidc_expr_parse(program, "Min(n, 3)")->high, 3);
    assert_int_equal(fidc_expr_parse(program, "Mod(n, 8)")->high, 7);
    assert_int_equal(fidc_expr_parse(program, "0 - n")->high, 0);
    assert_int_equal(fidc_expr_at(fidc_expr_parse(program, "Max(1, s0 - 4)"), FIDC_AT_HINT), 4);
    assert_int_equal(fidc_expr_parse(program, "3*4 - 2")->constant, 10);
    assert_null(fidc_expr_parse(program, "s0 +"));
    fidc_program_destroy(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(print_is_the_inverse_of_parse), cmocka_unit_test(a_fault_names_its_line),
        cmocka_unit_test(the_verifier_names_both_shapes), cmocka_unit_test(inference_finds_symbolic_sizes),
        cmocka_unit_test(expressions_fold_and_compare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
