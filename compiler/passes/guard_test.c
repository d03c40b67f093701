/* What is checked of the sizes of inputs before a method runs. */
#include "compiler/passes/pass_check.h"

#define BODY "  %y: f32[s0, 4] = aten.relu(%x)\n  return %y\n}\n"

static void expect(const char *text, const char *wanted) {
    pass_check c;
    pass_open(&c, text);
    pass_ok(&c, fidc_guard(c.program));
    pass_expect(&c, wanted);
    pass_close(&c);
}

static void bounds_that_a_program_cannot_carry_are_checked(void **state) {
    (void)state;
    expect("symbol s0 in [3, 9] hint 5\nmethod forward(%x: f32[s0, 4]) {\n" BODY,
           "symbol s0 in [3, 9] hint 5\nmethod forward(%x: f32[s0, 4]) {\n"
           "  fid.check_size(0, 0, 3, 9, 1, 0, %x, 0, 0, None)\n"
           "  fid.check_size(0, 1, 4, 4, 1, 0, %x, 0, 0, None)\n" BODY);
}

/* Export takes 2 for "neither 0 nor 1". */
static void a_lower_bound_of_two_promises_nothing(void **state) {
    (void)state;
    expect("symbol s0 in [2, 9] hint 5\nmethod forward(%x: f32[s0, 4]) {\n" BODY,
           "symbol s0 in [2, 9] hint 5\nmethod forward(%x: f32[s0, 4]) {\n"
           "  fid.check_size(0, 1, 4, 4, 1, 0, %x, 0, 0, None)\n" BODY);
}

static void sizes_that_follow_from_others_are_compared(void **state) {
    (void)state;
    const char *body = "  %a: f32[s0] = aten.relu(%x)\n  return %a\n}\n";
    char text[1000], wanted[2000];
    snprintf(text, sizeof text, "symbol s0 in [0, 9] hint 5\nmethod forward(%%x: f32[s0], %%y: f32[s0], %%z: f32[(s0*2 + 1)], %%w: f32[FloorDiv(s0, 2)]) {\n%s", body);
    snprintf(wanted, sizeof wanted, "symbol s0 in [0, 9] hint 5\nmethod forward(%%x: f32[s0], %%y: f32[s0], %%z: f32[(s0*2 + 1)], %%w: f32[FloorDiv(s0, 2)]) {\n"
                                    "  fid.check_size(1, 0, 0, 9, 1, 0, %%y, 0, 0, %%x)\n"
                                    "  fid.check_size(2, 0, 0, 19, 2, 1, %%z, 0, 0, %%x)\n%s", body);
    expect(text, wanted);
    expect("symbol s0 in [0, 9] hint 5\nmethod forward(%x: f32[s0*2]) {\n  %a: f32[s0*2] = aten.relu(%x)\n  return %a\n}\n",
           "symbol s0 in [0, 9] hint 5\nmethod forward(%x: f32[s0*2]) {\n  fid.check_size(0, 0, 0, 18, 2, 0, %x, 0, 0, None)\n"
           "  %a: f32[s0*2] = aten.relu(%x)\n  return %a\n}\n");
}

static void fixed_sizes_alone_need_no_check(void **state) {
    (void)state;
    const char *text = "method forward(%x: f32[2, 4]) {\n  %y: f32[2, 4] = aten.relu(%x)\n  return %y\n}\n";
    expect(text, text);
}

/* ---- The kernel ---- */

static fid_status run(const char *text, const int64_t *sizes, size_t rank, fid_message *message) {
    fid_sink sink = fid_message_sink(message);
    fidc_program *program;
    fidc_interpreter *interpreter;
    float data[64] = {0};
    int64_t own[2] = {sizes[0], rank > 1 ? sizes[1] : 0}, strides[2];
    uint8_t order[2] = {0, 1};
    fid_tensor tensor = {.data = data, .sizes = own, .strides = strides, .dim_order = order, .rank = (uint8_t)rank, .dtype = FID_FLOAT32, .capacity = sizeof data};
    fid_tensor_update_strides(&tensor);
    fid_value input = fid_tensor_value(&tensor);
    *message = (fid_message){0};
    assert_int_equal(fidc_program_create(fid_environment_default(NULL).allocator, &sink, &fid_builtin_ops, &program), FID_OK);
    if (fidc_parse(program, text, strlen(text)) != FID_OK || fidc_guard(program) != FID_OK) fail_msg("%s", message->text);
    assert_int_equal(fidc_interpreter_create(program->methods[0], NULL, &interpreter), FID_OK);
    fid_status status = fidc_interpreter_run(interpreter, &input, 1);
    fidc_interpreter_destroy(interpreter);
    fidc_program_destroy(program);
    return status;
}

static void wrong_sizes_are_named(void **state) {
    (void)state;
    const char *bounded = "symbol s0 in [3, 9] hint 5\nmethod forward(%x: f32[s0, 4]) {\n" BODY;
    const char *even = "symbol s0 in [0, inf] hint 5\nmethod forward(%x: f32[(2*s0 + 1)]) {\n  %y: f32[(2*s0 + 1)] = aten.relu(%x)\n  return %y\n}\n";
    const char *least = "symbol s0 in [5, inf] hint 6\nmethod forward(%x: f32[s0]) {\n  %y: f32[s0] = aten.relu(%x)\n  return %y\n}\n";
    fid_message message;
    static const struct { int64_t sizes[2]; const char *sentence; } wrong[] = {
        {{2, 4}, "input 0 has size 2 in dimension 0, the method takes 3 to 9"},
        {{10, 4}, "input 0 has size 10 in dimension 0, the method takes 3 to 9"},
        {{5, 3}, "input 0 has size 3 in dimension 1, the method takes 4"},
    };
    assert_int_equal(run(bounded, (const int64_t[]){3, 4}, 2, &message), FID_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(run(bounded, wrong[i].sizes, 2, &message), FID_INVALID_ARGUMENT);
        if (!strstr(message.text, wrong[i].sentence)) fail_msg("'%s' is not in '%s'", wrong[i].sentence, message.text);
    }
    assert_int_equal(run(even, (const int64_t[]){7}, 1, &message), FID_OK);
    assert_int_equal(run(even, (const int64_t[]){8}, 1, &message), FID_INVALID_ARGUMENT);
    assert_non_null(strstr(message.text, "the method takes multiples of 2, plus 1"));
    assert_int_equal(run(least, (const int64_t[]){4}, 1, &message), FID_INVALID_ARGUMENT);
    assert_non_null(strstr(message.text, "input 0 has size 4 in dimension 0, the method takes at least 5"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_that_a_program_cannot_carry_are_checked),
        cmocka_unit_test(a_lower_bound_of_two_promises_nothing),
        cmocka_unit_test(sizes_that_follow_from_others_are_compared),
        cmocka_unit_test(fixed_sizes_alone_need_no_check),
        cmocka_unit_test(wrong_sizes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
