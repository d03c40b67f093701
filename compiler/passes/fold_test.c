/* Constant folding and sharing: what is computed at compile time, and what is better left. */
#include "compiler/passes/pass_check.h"

static void becomes(fid_status (*pass)(fidc_program *program), const char *before, const char *after) {
    pass_check c;
    pass_open(&c, before);
    pass_ok(&c, pass(c.program));
    pass_expect(&c, after);
    pass_close(&c);
}

static void what_depends_on_constants_is_a_constant(void **state) {
    (void)state;
    becomes(fidc_fold,
            "method forward(%x: f32[2]) {\n"
            "  const %w: f32[2] = \"w\" {1, 2}\n"
            "  %a: f32[2] = aten.mul.Scalar(%w, 3)\n"
            "  %b: f32[2] = aten.add.Scalar(%a, 1, 1)\n"
            "  %c: f32[2] = aten.add.Tensor(%x, %b, 1)\n"
            "  return %c\n"
            "}\n",
            "method forward(%x: f32[2]) {\n"
            "  const %_0: f32[2] = \"_0\" {4.0, 7.0}\n"
            "  %c: f32[2] = aten.add.Tensor(%x, %_0, 1)\n"
            "  return %c\n"
            "}\n");
}

static void a_buffer_that_changes_is_not_folded(void **state) {
    (void)state;
    const char *text = "method forward(%x: f32[2]) {\n"
                       "  buffer %s: f32[2] = \"s\" {1.0, 2.0}\n"
                       "  %a: f32[2] = aten.neg(%s)\n"
                       "  update %s <- %a\n"
                       "  return %a\n"
                       "}\n";
    becomes(fidc_fold, text, text);
}

static void random_numbers_are_drawn_at_run_time(void **state) {
    (void)state;
    const char *text = "method forward() {\n  %a: f32[2] = aten.rand([2], None, None, None, None)\n  return %a\n}\n";
    becomes(fidc_fold, text, text);
}

static void a_large_creation_stays_a_call(void **state) {
    (void)state;
    const char *text = "method forward() {\n  %a: i64[1000000] = aten.arange.start_step(0, 1000000, 1, dtype.i64, None, None, None)\n  return %a\n}\n";
    becomes(fidc_fold, text, text);
}

/* Else the program would hold it twice: as a table for the embedding and transposed for the product. */
static void a_large_weight_with_another_reader_is_not_copied(void **state) {
    (void)state;
    const char *text = "method forward(%i: i64[1], %x: f32[1, 512]) {\n"
                       "  const %w: f32[1024, 512] = \"w\"\n"
                       "  %t: f32[512, 1024] = aten.permute_copy(%w, [1, 0])\n"
                       "  %a: f32[1, 1024] = aten.mm(%x, %t)\n"
                       "  %e: f32[1, 512] = aten.embedding(%w, %i, -1, False, False)\n"
                       "  return %a, %e\n"
                       "}\n";
    becomes(fidc_fold, text, text);
}

static void equal_constants_are_one(void **state) {
    (void)state;
    becomes(fidc_fold,
            "method forward(%x: f32[2]) {\n"
            "  const %u: f32[2] = \"u\" {1, 2}\n"
            "  const %v: f32[2] = \"v\" {1, 2}\n"
            "  %a: f32[2] = aten.add.Tensor(%x, %u, 1)\n"
            "  %b: f32[2] = aten.add.Tensor(%a, %v, 1)\n"
            "  return %b\n"
            "}\n",
            "method forward(%x: f32[2]) {\n"
            "  const %u: f32[2] = \"u\" {1.0, 2.0}\n"
            "  %a: f32[2] = aten.add.Tensor(%x, %u, 1)\n"
            "  %b: f32[2] = aten.add.Tensor(%a, %u, 1)\n"
            "  return %b\n"
            "}\n");
}

static void a_known_number_stands_in_the_argument(void **state) {
    (void)state;
    becomes(fidc_fold,
            "method forward(%x: f32[6]) {\n"
            "  const %n: i64[] = \"n\" {3}\n"
            "  %k: int(3) = aten._local_scalar_dense(%n)\n"
            "  %a: f32[3] = aten.slice_copy.Tensor(%x, 0, 0, %k, 1)\n"
            "  return %a\n"
            "}\n",
            "method forward(%x: f32[6]) {\n"
            "  %a: f32[3] = aten.slice_copy.Tensor(%x, 0, 0, 3, 1)\n"
            "  return %a\n"
            "}\n");
}

/* ---- Sharing ---- */

static void equal_calls_are_one_and_so_are_calls_on_them(void **state) {
    (void)state;
    becomes(fidc_share,
            "method forward(%x: f32[2]) {\n"
            "  %a: f32[2] = aten.neg(%x)\n"
            "  %b: f32[2] = aten.neg(%x)\n"
            "  %c: f32[2] = aten.abs(%a)\n"
            "  %d: f32[2] = aten.abs(%b)\n"
            "  return %c, %d\n"
            "}\n",
            "method forward(%x: f32[2]) {\n"
            "  %a: f32[2] = aten.neg(%x)\n"
            "  %c: f32[2] = aten.abs(%a)\n"
            "  return %c, %c\n"
            "}\n");
}

static void other_arguments_are_another_call(void **state) {
    (void)state;
    const char *text = "method forward(%x: f32[2, 2]) {\n"
                       "  %a: f32[2] = aten.sum.dim_IntList(%x, [0], False, None)\n"
                       "  %b: f32[2] = aten.sum.dim_IntList(%x, [1], False, None)\n"
                       "  %c: f32[2] = aten.add.Scalar(%a, 0.0, 1)\n"
                       "  %d: f32[2] = aten.add.Scalar(%a, -0.0, 1)\n"
                       "  return %a, %b, %c, %d\n"
                       "}\n";
    becomes(fidc_share, text, text);
}

static void each_draw_is_its_own(void **state) {
    (void)state;
    const char *text = "method forward() {\n"
                       "  %a: f32[2] = aten.rand([2], None, None, None, None)\n"
                       "  %b: f32[2] = aten.rand([2], None, None, None, None)\n"
                       "  return %a, %b\n"
                       "}\n";
    becomes(fidc_share, text, text);
}

/* Forty layers of one mask: what is wider than its source is made again for the last; what is not is shared at any distance. */
static void a_wide_result_is_not_kept_for_a_far_reader(void **state) {
    (void)state;
    char text[8192];
    size_t at = (size_t)snprintf(text, sizeof text, "method forward(%%m: b8[4], %%x: f32[4]) {\n"
                                 "  %%w: f32[4] = aten._to_copy(%%m, dtype.f32, None, None, None, False, None)\n"
                                 "  %%n: b8[4] = aten.logical_not(%%m)\n  %%y0: f32[4] = aten.add.Tensor(%%x, %%w, 1)\n");
    for (int i = 0; i < 40; i++) at += (size_t)snprintf(text + at, sizeof text - at, "  %%y%d: f32[4] = aten.sin(%%y%d)\n", i + 1, i);
    snprintf(text + at, sizeof text - at, "  %%w2: f32[4] = aten._to_copy(%%m, dtype.f32, None, None, None, False, None)\n"
             "  %%w3: f32[4] = aten._to_copy(%%m, dtype.f32, None, None, None, False, None)\n  %%n2: b8[4] = aten.logical_not(%%m)\n"
             "  return %%y40, %%w2, %%w3, %%n, %%n2\n}\n");
    pass_check c;
    pass_open(&c, text);
    pass_ok(&c, fidc_share(c.program));
    const fidc_graph *graph = c.program->methods[0];
    const fidc_value *first = graph->first->outputs[0], *second = fidc_value_of(&graph->outputs[1]);
    assert_ptr_not_equal(second, first);
    assert_ptr_equal(fidc_value_of(&graph->outputs[2]), second);
    assert_ptr_equal(fidc_value_of(&graph->outputs[3]), fidc_value_of(&graph->outputs[4]));
    pass_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_depends_on_constants_is_a_constant),
        cmocka_unit_test(a_buffer_that_changes_is_not_folded),
        cmocka_unit_test(random_numbers_are_drawn_at_run_time),
        cmocka_unit_test(a_large_creation_stays_a_call),
        cmocka_unit_test(a_large_weight_with_another_reader_is_not_copied),
        cmocka_unit_test(equal_constants_are_one),
        cmocka_unit_test(a_known_number_stands_in_the_argument),
        cmocka_unit_test(equal_calls_are_one_and_so_are_calls_on_them),
        cmocka_unit_test(other_arguments_are_another_call),
        cmocka_unit_test(each_draw_is_its_own),
        cmocka_unit_test(a_wide_result_is_not_kept_for_a_far_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
