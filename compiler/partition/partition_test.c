/* What a backend gets, and what is left in its place. The backend here takes a few operators; its blob is their names. */
#include "compiler/passes/pass_check.h"

#include "compiler/partition/partition.h"

static bool takes(const fidc_node *node) {
    return fidc_is(node, FID_OPID_neg) || fidc_is(node, FID_OPID_abs) || fidc_is(node, FID_OPID_add_Tensor) || fidc_is(node, FID_OPID_view_copy);
}

static bool is_move(const fidc_node *node) { return fidc_is(node, FID_OPID_view_copy); }

static fid_status lower(const fidc_part *part, fidc_delegate *out_delegate) {
    char *text = fidc_text(part->program, "");
    for (uint32_t i = 0; i < part->node_count; i++) text = fidc_text_format(part->program, "%s%s ", text, part->nodes[i]->op->name + 6);
    text = fidc_text_format(part->program, "%s%u->%u", text, part->input_count, part->output_count);
    out_delegate->blob = text;
    out_delegate->bytes = strlen(text) + 1;
    return FID_OK;
}

static const fidc_backend backend = {.target = "test", .name = "TestBackend", .takes = takes, .is_move = is_move, .lower = lower};

/* `blobs`: those of the first method's delegates, in order, with "; " between them. */
static void check(bool per_operator, const char *before, const char *after, const char *blobs) {
    char found[500] = "";
    pass_check c;
    pass_open(&c, before);
    pass_ok(&c, fidc_partition(c.program, &backend, per_operator));
    pass_expect(&c, after);
    for (const fidc_node *node = c.program->methods[0]->first; node; node = node->next) {
        if (!node->delegate) continue;
        assert_string_equal(node->delegate->backend, "TestBackend");
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", *found ? "; " : "", (const char *)node->delegate->blob);
    }
    assert_string_equal(found, blobs);
    pass_close(&c);
}

static void connected_nodes_become_one(void **state) {
    (void)state;
    check(false,
          "method forward(%x: f32[4], %y: f32[4]) {\n  %a: f32[4] = aten.neg(%x)\n  %b: f32[4] = aten.abs(%y)\n  %c: f32[4] = aten.add.Tensor(%a, %b, 1)\n"
          "  %d: f32[4] = aten.exp(%c)\n  return %d, %b\n}\n",
          "method forward(%x: f32[4], %y: f32[4]) {\n  %b: f32[4], %c: f32[4] = executorch.call_delegate([%x, %y])\n"
          "  %d: f32[4] = aten.exp(%c)\n  return %d, %b\n}\n",
          "neg abs add 2->2");
}

/* %a and %c could not be one: %b stands between them. */
static void nothing_waits_for_itself(void **state) {
    (void)state;
    check(false,
          "method forward(%x: f32[4]) {\n  %a: f32[4] = aten.neg(%x)\n  %b: f32[4] = aten.exp(%a)\n  %c: f32[4] = aten.add.Tensor(%a, %b, 1)\n"
          "  %d: f32[4] = aten.abs(%a)\n  %e: f32[4] = aten.add.Tensor(%d, %c, 1)\n  return %e\n}\n",
          "method forward(%x: f32[4]) {\n  %a: f32[4], %d: f32[4] = executorch.call_delegate([%x])\n  %b: f32[4] = aten.exp(%a)\n"
          "  %e: f32[4] = executorch.call_delegate([%a, %b, %d])\n  return %e\n}\n",
          "neg abs 1->2; add add 3->1");
}

static void states_are_inputs_and_weights_are_not(void **state) {
    (void)state;
    check(false,
          "method forward(%x: f32[4]) {\n  const %w: f32[4] = \"w\" {1, 2, 3, 4}\n  buffer %s: f32[4] = \"s\" {1, 2, 3, 4}\n"
          "  %a: f32[4] = aten.add.Tensor(%x, %w, 1)\n  %b: f32[4] = aten.add.Tensor(%s, %a, 1)\n  update %s <- %b\n  return %a\n}\n",
          "method forward(%x: f32[4]) {\n  buffer %s: f32[4] = \"s\" {1.0, 2.0, 3.0, 4.0}\n"
          "  %a: f32[4], %b: f32[4] = executorch.call_delegate([%x, %s])\n  update %s <- %b\n  return %a\n}\n",
          "add add 2->2");
}

static void moves_alone_are_left(void **state) {
    (void)state;
    check(false,
          "method forward(%x: f32[4]) {\n  %a: f32[2, 2] = aten.view_copy(%x, [2, 2])\n  %b: f32[2, 2] = aten.exp(%a)\n  %c: f32[4] = aten.view_copy(%b, [4])\n"
          "  %d: f32[4] = aten.neg(%c)\n  return %d\n}\n",
          "method forward(%x: f32[4]) {\n  %a: f32[2, 2] = aten.view_copy(%x, [2, 2])\n  %b: f32[2, 2] = aten.exp(%a)\n"
          "  %d: f32[4] = executorch.call_delegate([%b])\n  return %d\n}\n",
          "view_copy neg 1->1");
}

static void one_at_a_time(void **state) {
    (void)state;
    check(true, "method forward(%x: f32[4]) {\n  %a: f32[4] = aten.neg(%x)\n  %b: f32[4] = aten.abs(%a)\n  return %b\n}\n",
          "method forward(%x: f32[4]) {\n  %a: f32[4] = executorch.call_delegate([%x])\n  %b: f32[4] = executorch.call_delegate([%a])\n  return %b\n}\n",
          "neg 1->1; abs 1->1");
}

/* The first waits for the delegate, which stands where its last node stood; the second waits for the first. */
static void random_numbers_keep_their_order(void **state) {
    (void)state;
    check(false,
          "method forward(%x: f32[4], %y: f32[4]) {\n  %a: f32[4] = aten.neg(%x)\n  %r: f32[4] = aten.rand_like(%a, None, None, None, None, None)\n"
          "  %q: f32[4] = aten.rand_like(%y, None, None, None, None, None)\n  %b: f32[4] = aten.abs(%a)\n  return %b, %r, %q\n}\n",
          "method forward(%x: f32[4], %y: f32[4]) {\n  %a: f32[4], %b: f32[4] = executorch.call_delegate([%x])\n"
          "  %r: f32[4] = aten.rand_like(%a, None, None, None, None, None)\n  %q: f32[4] = aten.rand_like(%y, None, None, None, None, None)\n  return %b, %r, %q\n}\n",
          "neg abs 1->2");
}

/* The summary tells what stayed outside, the most frequent first, in sub-graphs too. */
static void outside_is_counted(void **state) {
    pass_check c;
    fidc_partition_summary summary;
    (void)state;
    pass_open(&c, "method forward(%p: b8[], %x: f32[4]) {\n  %t: f32[4] = aten.tanh(%x)\n"
                  "  %y: f32[4] = higher_order.cond(%p, [%t]) graph(%a: f32[4]) {\n    %b: f32[4] = aten.neg(%a)\n    %e: f32[4] = aten.exp(%b)\n    return %e\n"
                  "  } graph(%c: f32[4]) {\n    %d: f32[4] = aten.exp(%c)\n    return %d\n  }\n  return %y\n}\n");
    pass_ok(&c, fidc_partition(c.program, &backend, false));
    pass_ok(&c, fidc_partition_summarize(c.program, &summary));
    assert_int_equal(summary.delegates, 1);
    assert_int_equal(summary.delegated, 1);
    assert_string_equal(summary.outside_json, "[{\"operator\": \"aten::exp\", \"count\": 2}, {\"operator\": \"aten::tanh\", \"count\": 1}, "
                                              "{\"operator\": \"higher_order::cond\", \"count\": 1}]");
    free(summary.outside_json);
    pass_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connected_nodes_become_one), cmocka_unit_test(nothing_waits_for_itself), cmocka_unit_test(states_are_inputs_and_weights_are_not),
        cmocka_unit_test(moves_alone_are_left), cmocka_unit_test(one_at_a_time), cmocka_unit_test(random_numbers_keep_their_order),
        cmocka_unit_test(outside_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
