/* The interpreter on small graphs: state between runs, list results, live sizes, control flow, faults. */
#include "compiler/passes/pass_check.h"

static double numbers[PASS_MOST_NUMBERS];

static size_t run_text(const char *text) {
    pass_check c;
    pass_open(&c, text);
    size_t count = pass_run(&c, numbers);
    pass_close(&c);
    return count;
}

static void results_of_a_split_are_several_values(void **state) {
    (void)state;
    size_t count = run_text("method forward() {\n"
                            "  const %x: f32[3] = \"x\" {1, 2, 3}\n"
                            "  %a: f32[1], %b: f32[2] = aten.split_with_sizes_copy(%x, [1, 2], 0)\n"
                            "  return %b, %a\n"
                            "}\n");
    assert_int_equal(count, 3);
    assert_true(numbers[0] == 2 && numbers[1] == 3 && numbers[2] == 1);
}

static fidc_interpreter *interpreter_of(pass_check *c) {
    fidc_interpreter *interpreter;
    pass_ok(c, fidc_interpreter_create(c->program->methods[0], NULL, &interpreter));
    return interpreter;
}

static float first_element(const fidc_interpreter *interpreter) {
    return *(const float *)fidc_interpreter_output(interpreter, 0)->as.tensor->data;
}

static void a_buffer_keeps_what_a_run_left(void **state) {
    (void)state;
    pass_check c;
    pass_open(&c, "method forward() {\n"
                  "  buffer %n: f32[1] = \"n\" {10}\n"
                  "  %a: f32[1] = aten.add.Scalar(%n, 1, 1)\n"
                  "  update %n <- %a\n"
                  "  return %a\n"
                  "}\n");
    fidc_interpreter *interpreter = interpreter_of(&c);
    for (int run = 1; run <= 3; run++) {
        pass_ok(&c, fidc_interpreter_run(interpreter, NULL, 0));
        assert_float_equal(first_element(interpreter), 10 + run, 0);
    }
    fidc_interpreter_destroy(interpreter);
    pass_close(&c);
}

static void sizes_are_the_live_ones(void **state) {
    (void)state;
    pass_check c;
    static pass_tensor storage;
    uint32_t seed = 1;
    pass_open(&c, "symbol s0 in [1, 8] hint 2\n"
                  "method forward(%x: f32[s0]) {\n"
                  "  %n: int(s0) = aten.sym_size.int(%x, 0)\n"
                  "  %a: f32[s0] = aten.full([%n], 3, dtype.f32, None, None, None)\n"
                  "  return %a\n"
                  "}\n");
    fid_value input = pass_input(c.program->methods[0]->inputs[0], &storage, &seed);
    storage.tensor.sizes[0] = 5;
    fidc_interpreter *interpreter = interpreter_of(&c);
    pass_ok(&c, fidc_interpreter_run(interpreter, &input, 1));
    assert_int_equal(fidc_interpreter_output(interpreter, 0)->as.tensor->sizes[0], 5);
    fidc_interpreter_destroy(interpreter);
    pass_close(&c);
}

static void count_outputs(void *self, const fidc_node *node, uint32_t output, const fid_value *value) {
    (void)node;
    (void)output;
    assert_int_equal(value->tag, FID_TAG_TENSOR);
    ++*(int *)self;
}

static void an_observer_sees_every_node(void **state) {
    (void)state;
    pass_check c;
    int seen = 0;
    fidc_interpreter *interpreter;
    fidc_interpreter_options options = {.observer = {count_outputs, &seen}};
    pass_open(&c, "method forward() {\n"
                  "  const %x: f32[2] = \"x\" {1, 2}\n"
                  "  %a: f32[2] = aten.neg(%x)\n"
                  "  %b: f32[2] = aten.abs(%a)\n"
                  "  return %b\n"
                  "}\n");
    pass_ok(&c, fidc_interpreter_create(c.program->methods[0], &options, &interpreter));
    pass_ok(&c, fidc_interpreter_run(interpreter, NULL, 0));
    assert_int_equal(seen, 2);
    fidc_interpreter_destroy(interpreter);
    pass_close(&c);
}

static void a_fault_names_the_node(void **state) {
    (void)state;
    pass_check c;
    pass_open(&c, "method forward() {\n"
                  "  const %w: f32[2, 1] = \"w\" {1, 2}\n"
                  "  const %i: i64[1] = \"i\" {7}\n"
                  "  %a: f32[1, 1] = aten.embedding(%w, %i, -1, False, False)\n"
                  "  return %a\n"
                  "}\n");
    fidc_interpreter *interpreter = interpreter_of(&c);
    assert_int_not_equal(fidc_interpreter_run(interpreter, NULL, 0), FID_OK);
    assert_non_null(strstr(c.message.text, "while running aten::embedding 'a'"));
    fidc_interpreter_destroy(interpreter);
    pass_close(&c);
}

static void an_input_of_another_kind_is_refused(void **state) {
    (void)state;
    pass_check c;
    pass_open(&c, "method forward(%x: f32[2]) {\n  return %x\n}\n");
    fidc_interpreter *interpreter = interpreter_of(&c);
    fid_value number = fid_int_value(1);
    assert_int_equal(fidc_interpreter_run(interpreter, &number, 1), FID_INVALID_ARGUMENT);
    assert_non_null(strstr(c.message.text, "float32 tensor of rank 1"));
    fidc_interpreter_destroy(interpreter);
    pass_close(&c);
}

static void a_condition_picks_a_branch(void **state) {
    (void)state;
    for (int truth = 0; truth < 2; truth++) {
        char text[600];
        snprintf(text, sizeof text,
                 "method forward() {\n"
                 "  const %%c: b8[] = \"c\" {%d}\n"
                 "  const %%x: f32[2] = \"x\" {1, -2}\n"
                 "  %%y: f32[2] = higher_order.cond(%%c, [%%x])\n"
                 "    graph (%%a: f32[2]) {\n      %%b: f32[2] = aten.neg(%%a)\n      return %%b\n    }\n"
                 "    graph (%%d: f32[2]) {\n      %%e: f32[2] = aten.abs(%%d)\n      return %%e\n    }\n"
                 "  return %%y\n"
                 "}\n",
                 truth);
        assert_int_equal(run_text(text), 2);
        assert_true(numbers[0] == (truth ? -1 : 1) && numbers[1] == 2);
    }
}

static void a_loop_runs_while_its_condition_holds(void **state) {
    (void)state;
    assert_int_equal(run_text("method forward() {\n"
                              "  const %x: f32[] = \"x\" {1}\n"
                              "  %y: f32[] = higher_order.while_loop([%x], [])\n"
                              "    graph (%a: f32[]) {\n      %b: b8[] = aten.lt.Scalar(%a, 100)\n      return %b\n    }\n"
                              "    graph (%c: f32[]) {\n      %d: f32[] = aten.mul.Scalar(%c, 3)\n      return %d\n    }\n"
                              "  return %y\n"
                              "}\n"),
                     1);
    assert_float_equal(numbers[0], 243, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_of_a_split_are_several_values), cmocka_unit_test(a_buffer_keeps_what_a_run_left),
        cmocka_unit_test(sizes_are_the_live_ones),               cmocka_unit_test(an_observer_sees_every_node),
        cmocka_unit_test(a_fault_names_the_node),                cmocka_unit_test(an_input_of_another_kind_is_refused),
        cmocka_unit_test(a_condition_picks_a_branch),            cmocka_unit_test(a_loop_runs_while_its_condition_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
