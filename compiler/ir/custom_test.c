/* Schema text of the user's own operators, and what programs with them look like. */
#include "compiler/ir/custom.h"

#include "compiler/passes/pass_check.h"

static fidc_program *open_program(fid_message *message, fid_sink *sink) {
    fidc_program *program;
    *message = (fid_message){0};
    *sink = fid_message_sink(message);
    assert_int_equal(fidc_program_create(fid_environment_default(NULL).allocator, sink, &fid_builtin_ops, &program), FID_OK);
    return program;
}

static void schemas_are_lines_with_comments(void **state) {
    (void)state;
    fid_message message;
    fid_sink sink;
    fidc_program *program = open_program(&message, &sink);
    const char *text = "# what our runtime brings\n\nmylib::twist(Tensor x, int by=1) -> Tensor\r\n"
                       "  mylib::twist.list(Tensor(a)[] x, *, SymInt[2] by=[1, 2], str? mode=None) -> (Tensor low, Tensor(a) high)  # two\n"
                       "mylib::log(Tensor x) -> ()\nmylib::count(Tensor x) -> SymInt";
    if (fidc_custom_declare(program, text, "ops.txt") != FID_OK) fail_msg("%s", message.text);
    assert_int_equal(program->declared_count, 4);
    const fid_op *twist = fidc_custom_find(program, "mylib::twist", ""), *list = fidc_custom_find(program, "mylib::twist", "list");
    assert_string_equal(twist->out, "out");
    assert_string_equal(list->out, "list_out");
    assert_string_equal(list->schema, "(Tensor[] x, *, SymInt[2] by=[1, 2], str? mode=None) -> (Tensor low, Tensor high)");
    assert_int_equal(fidc_custom_find(program, "mylib::log", "")->kind, FID_OP_EFFECT);
    assert_int_equal(fidc_custom_find(program, "mylib::count", "")->kind, FID_OP_SCALAR);
    assert_null(fidc_custom_find(program, "mylib::twist", "other"));
    assert_true(fidc_custom_is_declared(program, twist));
    assert_false(fidc_custom_is_declared(program, &fid_builtin_ops.ops[0]));
    assert_int_equal(fidc_op_id(program, twist), FID_OP_COUNT);
    fidc_program_destroy(program);
}

static void bad_schemas_are_refused_by_line(void **state) {
    (void)state;
    static const struct { const char *text, *sentence; } bad[] = {
        {"\nmylib.twist(Tensor x) -> Tensor", "ops.txt, line 2: expected \"namespace::name(Tensor x, int n=1) -> Tensor\""},
        {"mylib::twist", "line 1: expected"},
        {"mylib::twist(Tensor x)", "the schema of mylib::twist is not understood"},
        {"mylib::twist(Tensr x) -> Tensor", "is not understood"},
        {"mylib::twist(Tensor x, int) -> Tensor", "is not understood"},
        {"mylib::twist(Tensor x, complex y) -> Tensor", "is not understood"},
        {"mylib::twist(Tensor x) -> Tenso", "is not understood"},
        {"mylib::twist(Tensor x) -> (Tensor, Tenso)", "is not understood"},
        {"mylib::twist(Tensor(a!) x) -> Tensor", "writes an argument"},
        {"aten::relu(Tensor x) -> Tensor", "aten::relu is there already"},
        {"mylib::a(Tensor x) -> Tensor\nmylib::a(Tensor x) -> Tensor", "line 2: mylib::a is there already"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        fid_message message;
        fid_sink sink;
        fidc_program *program = open_program(&message, &sink);
        assert_int_not_equal(fidc_custom_declare(program, bad[i].text, "ops.txt"), FID_OK);
        if (!strstr(message.text, bad[i].sentence)) fail_msg("'%s' is not in '%s'", bad[i].sentence, message.text);
        fidc_program_destroy(program);
    }
}

static void files_that_are_no_text_are_refused(void **state) {
    (void)state;
    fid_message message;
    fid_sink sink;
    fidc_program *program = open_program(&message, &sink);
    assert_int_equal(fidc_custom_read(program, "/nowhere/ops.txt"), FID_ACCESS_FAILED);
    assert_int_equal(fidc_custom_read(program, "/dev/zero"), FID_INVALID_ARGUMENT);
    fidc_program_destroy(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemas_are_lines_with_comments),
        cmocka_unit_test(bad_schemas_are_refused_by_line),
        cmocka_unit_test(files_that_are_no_text_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
