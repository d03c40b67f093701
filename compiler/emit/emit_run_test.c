/* What is emitted runs as the graph means: every method here is run by the interpreter, and by the runtime from the bytes of the
 * program, with and without shared memory. Both use the reference kernels, so results are equal to the bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/emit/emit.h"
#include "compiler/ir/interpret.h"
#include "include/fidibus.h"

#define MOST_INPUTS 4
#define ROUNDS 3

/* ---- Inputs ------------------------------------------------------------------------------------------------------------------------- */

typedef struct tensor {
    fid_tensor tensor;
    int64_t sizes[FID_MAX_RANK], strides[FID_MAX_RANK];
    uint8_t dim_order[FID_MAX_RANK];
    double data[512]; /* room for 4 KiB of any dtype */
} tensor;

static uint32_t random_state = 1;

static int random_digit(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return (int)(random_state >> 28) - 8;
}

static void fill_element(fid_dtype dtype, void *data, size_t i) {
    int digit = random_digit();
    if (dtype == FID_FLOAT32) ((float *)data)[i] = (float)digit;
    else if (dtype == FID_INT64) ((int64_t *)data)[i] = digit;
    else if (dtype == FID_BOOL) ((uint8_t *)data)[i] = digit > 0;
    else fail_msg("no random numbers of dtype %d", dtype);
}

/* Dynamic dimensions differ from round to round. */
static void make_input(const fidc_value *value, int round, tensor *t) {
    size_t count = 1;
    for (size_t i = 0; i < value->rank; i++) {
        int64_t size = fidc_size(value, i);
        t->sizes[i] = size >= 0 ? size : value->sizes[i]->low + round;
        t->dim_order[i] = (uint8_t)i;
        count *= (size_t)t->sizes[i];
    }
    assert_true(count * fid_dtype_size(value->dtype) <= sizeof t->data);
    for (size_t i = 0; i < count; i++) fill_element(value->dtype, t->data, i);
    t->tensor = (fid_tensor){.data = t->data, .sizes = t->sizes, .strides = t->strides, .dim_order = t->dim_order, .capacity = sizeof t->data,
                             .rank = value->rank, .dtype = value->dtype};
    fid_tensor_update_strides(&t->tensor);
}

/* ---- The program in the runtime -------------------------------------------------------------------------------------------------------- */

typedef struct bytes { uint8_t *data; size_t size; } bytes;

static fid_status append(void *self, const void *data, size_t size) {
    bytes *b = self;
    assert_true(b->size + size <= 1 << 20);
    memcpy(b->data + b->size, data, size);
    b->size += size;
    return FID_OK;
}

typedef struct instance {
    bytes file;
    fid_message message;
    fid_environment environment;
    fid_program *program;
    fid_method *method;
} instance;

static void open_instance(instance *x, const fidc_program *program, const fidc_plan_options *options) {
    const fidc_emit_options how = {.target = FIDC_TARGET_CPU};
    const fid_method_options reference = {.struct_size = sizeof reference, .no_cpu_kernels = true};
    const fidc_writer writer = {append, &x->file};
    fidc_plan plan;
    memset(x, 0, sizeof *x);
    x->file.data = aligned_alloc(64, 1 << 20);
    assert_int_equal(fidc_plan_graph(program->methods[0], options, &plan), FID_OK);
    assert_int_equal(fidc_emit(program, &plan, &how, &writer), FID_OK);
    x->environment = fid_environment_default(&x->message);
    fid_status status = fid_program_open_memory(&x->environment, x->file.data, x->file.size, &x->program);
    if (status == FID_OK) status = fid_method_load(x->program, "forward", &reference, &x->method);
    assert_string_equal(x->message.text, "");
    assert_int_equal(status, FID_OK);
}

static void run_instance(instance *x, const fidc_graph *graph, const tensor *inputs) {
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const fid_tensor *t = &inputs[i].tensor;
        assert_int_equal(fid_method_set_input_tensor(x->method, i, t->dtype, t->sizes, t->rank, t->data), FID_OK);
    }
    fid_status status = fid_method_run(x->method);
    assert_string_equal(x->message.text, "");
    assert_int_equal(status, FID_OK);
}

static void close_instance(instance *x) {
    fid_method_unload(x->method);
    fid_program_close(x->program);
    free(x->file.data);
}

/* ---- Comparing --------------------------------------------------------------------------------------------------------------------------- */

static void check_tensor(const fid_tensor *expected, const fid_tensor *given) {
    static uint8_t a[4096], b[4096];
    assert_int_equal(expected->dtype, given->dtype);
    assert_int_equal(expected->rank, given->rank);
    for (size_t i = 0; i < expected->rank; i++) assert_int_equal(expected->sizes[i], given->sizes[i]);
    assert_true(fid_tensor_bytes(expected) <= sizeof a);
    fidc_tensor_to_logical(expected, a);
    fidc_tensor_to_logical(given, b);
    assert_memory_equal(a, b, fid_tensor_bytes(expected));
}

static void check_outputs(const fidc_interpreter *interpreter, const fidc_graph *graph, const instance *x) {
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const fid_value *given, *expected = fidc_interpreter_output(interpreter, i);
        assert_int_equal(fid_method_output(x->method, i, &given), FID_OK);
        if (expected->tag == FID_TAG_TENSOR) check_tensor(expected->as.tensor, given->as.tensor);
        else assert_true(fid_value_double(expected) == fid_value_double(given));
    }
}

static void run_both(fidc_program *program, const fidc_plan_options *options) {
    static tensor inputs[MOST_INPUTS];
    const fidc_graph *graph = program->methods[0];
    fid_value values[MOST_INPUTS];
    fidc_interpreter *interpreter;
    instance x;
    open_instance(&x, program, options);
    assert_int_equal(fidc_interpreter_create(graph, NULL, &interpreter), FID_OK);
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < graph->input_count; i++) {
            make_input(graph->inputs[i], round, &inputs[i]);
            values[i] = fid_tensor_value(&inputs[i].tensor);
        }
        run_instance(&x, graph, inputs); /* before the interpreter, which writes inputs that the method changes */
        assert_int_equal(fidc_interpreter_run(interpreter, values, graph->input_count), FID_OK);
        check_outputs(interpreter, graph, &x);
    }
    fidc_interpreter_destroy(interpreter);
    close_instance(&x);
}

static void check(const char *text) {
    fid_message message = {0};
    fid_sink sink = fid_message_sink(&message);
    for (unsigned kind = 0; kind < 5; kind++) {
        fidc_program *program;
        const fidc_plan_options options = {.alignment = 64, .alias_views = kind != 1, .in_place = kind != 4, .no_reuse = kind == 2, .plan_inputs = kind != 3, .plan_outputs = true};
        assert_int_equal(fidc_program_create(fid_environment_default(NULL).allocator, &sink, &fid_builtin_ops, &program), FID_OK);
        fid_status status = fidc_parse(program, text, strlen(text));
        assert_string_equal(message.text, "");
        assert_int_equal(status, FID_OK);
        assert_int_equal(fidc_plan_protect(program->methods[0]), FID_OK);
        run_both(program, &options);
        fidc_program_destroy(program);
    }
}

/* ---- Methods ------------------------------------------------------------------------------------------------------------------------------- */

static void views_and_results_in_place(void **state) {
    (void)state;
    check("method forward(%x: f32[4, 6], %y: f32[6]) {\n"
          "  %a: f32[4, 6] = aten.relu(%x)\n"
          "  %top: f32[2, 6], %bottom: f32[2, 6] = aten.split_copy.Tensor(%a, 2, 0)\n"
          "  %b: f32[2, 6] = aten.neg(%top)\n"
          "  %row: f32[6] = aten.select_copy.int(%bottom, 0, 1)\n"
          "  %c: f32[6] = aten.add.Tensor(%row, %y, 1)\n"
          "  %d: f32[2, 6] = aten.mul.Tensor(%b, %c)\n"
          "  %e: f32[3, 4] = aten.view_copy(%d, [3, 4])\n"
          "  %f: f32[3, 4] = aten.abs(%e)\n"
          "  %g: f32[4, 3] = aten.permute_copy(%f, [1, 0])\n"
          "  %h: f32[1, 4, 3] = aten.unsqueeze_copy(%g, 0)\n"
          "  return %h, %e, %a, %bottom\n}\n");
}

static void a_result_does_not_overwrite_what_it_reads_elsewhere(void **state) {
    (void)state;
    check("method forward(%x: f32[3, 2]) {\n"
          "  %a: f32[3, 2] = aten.relu(%x)\n"
          "  %row: f32[2] = aten.select_copy.int(%a, 0, 0)\n"
          "  %b: f32[3, 2] = aten.sub.Tensor(%a, %row, 1)\n"
          "  %first: f32[1, 2] = aten.slice_copy.Tensor(%b, 0, 0, 1, 1)\n"
          "  %c: f32[3, 2] = aten.add.Tensor(%first, %b, 1)\n"
          "  return %c\n}\n");
}

static void views_of_inputs(void **state) {
    (void)state;
    check("method forward(%x: f32[4, 6]) {\n"
          "  %v: f32[24] = aten.view_copy(%x, [24])\n"
          "  %s: f32[2, 6] = aten.slice_copy.Tensor(%x, 0, 1, 3, 1)\n"
          "  %a: f32[24] = aten.neg(%v)\n"
          "  %b: f32[2, 6] = aten.abs(%s)\n"
          "  return %a, %b, %v\n}\n");
}

static void views_of_dynamic_size(void **state) {
    (void)state;
    check("symbol s0 in [2, 9] hint 4\n"
          "method forward(%x: f32[s0, 6]) {\n"
          "  %a: f32[s0, 6] = aten.relu(%x)\n"
          "  %u: f32[1, s0, 6] = aten.unsqueeze_copy(%a, 0)\n"
          "  %b: f32[1, s0, 6] = aten.neg(%u)\n"
          "  %v: f32[2*s0, 3] = aten.view_copy(%b, [-1, 3])\n"
          "  %n: int(s0) = aten.sym_size.int(%x, 0)\n"
          "  %w: f32[s0, 2, 3] = aten.view_copy(%v, [%n, 2, 3])\n"
          "  %c: f32[s0, 2, 3] = aten.abs(%w)\n"
          "  return %c, %a, %n\n}\n");
}

static void sizes_without_a_bound(void **state) {
    (void)state;
    check("symbol s0 in [2, inf] hint 4\n"
          "method forward(%x: f32[s0, 6]) {\n"
          "  %a: f32[s0, 6] = aten.relu(%x)\n"
          "  %v: f32[2*s0, 3] = aten.view_copy(%a, [-1, 3])\n"
          "  %b: f32[2*s0, 3] = aten.neg(%v)\n"
          "  %m: f32[3] = aten.sum.dim_IntList(%b, [0])\n"
          "  %c: f32[3] = aten.abs(%m)\n"
          "  return %b, %c\n}\n");
}

static void states_accumulate(void **state) {
    (void)state;
    check("method forward(%x: f32[2, 3]) {\n"
          "  buffer %sum: f32[2, 3] = \"sum\" {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}\n"
          "  buffer %last: f32[2, 3] = \"last\" {0.0, 0.0, 0.0, 0.0, 0.0, 0.0}\n"
          "  %next: f32[2, 3] = aten.add.Tensor(%sum, %x, 1)\n"
          "  update %sum <- %next\n"
          "  update %last <- %sum\n"
          "  return %last, %next\n}\n");
}

static void states_change_places(void **state) {
    (void)state;
    check("method forward(%x: f32[3]) {\n"
          "  buffer %a: f32[3] = \"a\" {1.0, 2.0, 3.0}\n"
          "  buffer %b: f32[3] = \"b\" {4.0, 5.0, 6.0}\n"
          "  %y: f32[3] = aten.add.Tensor(%a, %x, 1)\n"
          "  update %a <- %b\n"
          "  update %b <- %a\n"
          "  return %y, %a, %b\n}\n");
}

static void a_view_of_a_state_is_read_before_it_changes(void **state) {
    (void)state;
    check("method forward(%x: f32[4]) {\n"
          "  buffer %s: f32[2, 2] = \"s\" {1.0, 2.0, 3.0, 4.0}\n"
          "  %flat: f32[4] = aten.view_copy(%s, [4])\n"
          "  %y: f32[4] = aten.add.Tensor(%flat, %x, 1)\n"
          "  %next: f32[2, 2] = aten.view_copy(%y, [2, 2])\n"
          "  %row: f32[2] = aten.select_copy.int(%s, 0, 1)\n"
          "  %z: f32[2] = aten.neg(%row)\n"
          "  update %s <- %next\n"
          "  return %z, %flat, %row\n}\n");
}

static void branches(void **state) {
    (void)state;
    check("method forward(%x: f32[2, 2], %y: f32[2, 2]) {\n"
          "  %sum: f32[] = aten.sum(%x)\n"
          "  %c: b8[] = aten.gt.Scalar(%sum, 0)\n"
          "  %a: f32[2, 2] = aten.relu(%y)\n"
          "  %r: f32[2, 2], %q: f32[4] = higher_order.cond(%c, [%x, %a])\n"
          "    graph (%p1: f32[2, 2], %p2: f32[2, 2]) {\n"
          "      %t1: f32[2, 2] = aten.add.Tensor(%p1, %p2, 1)\n"
          "      %t2: f32[4] = aten.view_copy(%p1, [4])\n"
          "      return %t1, %t2\n    }\n"
          "    graph (%q1: f32[2, 2], %q2: f32[2, 2]) {\n"
          "      %u1: f32[2, 2] = aten.neg(%q2)\n"
          "      %u2: f32[4] = aten.view_copy(%u1, [4])\n"
          "      return %q1, %u2\n    }\n"
          "  %z: f32[2, 2] = aten.abs(%r)\n"
          "  return %z, %q, %a\n}\n");
}

static void a_branch_in_a_loop(void **state) {
    (void)state;
    check("method forward(%x: f32[2]) {\n"
          "  const %zero: i64[] = \"zero\" {0}\n"
          "  const %one: f32[2] = \"one\" {1.0, 0.5}\n"
          "  %n: i64[], %y: f32[2], %z: f32[2] = higher_order.while_loop([%zero, %x, %one], [])\n"
          "    graph (%n1: i64[], %y1: f32[2], %z1: f32[2]) {\n"
          "      %go: b8[] = aten.lt.Scalar(%n1, 5)\n"
          "      return %go\n    }\n"
          "    graph (%n2: i64[], %y2: f32[2], %z2: f32[2]) {\n"
          "      %next: i64[] = aten.add.Scalar(%n2, 1, 1)\n"
          "      %early: b8[] = aten.lt.Scalar(%n2, 2)\n"
          "      %w: f32[2] = higher_order.cond(%early, [%y2, %z2])\n"
          "        graph (%c1: f32[2], %c2: f32[2]) {\n"
          "          %d1: f32[2] = aten.add.Tensor(%c1, %c2, 1)\n"
          "          return %d1\n        }\n"
          "        graph (%e1: f32[2], %e2: f32[2]) {\n"
          "          %f1: f32[2] = aten.sub.Tensor(%e1, %e2, 2)\n"
          "          %f2: f32[2] = aten.neg(%f1)\n"
          "          return %f2\n        }\n"
          "      return %next, %z2, %w\n    }\n"
          "  %r: f32[2] = aten.relu(%y)\n"
          "  return %n, %r, %z\n}\n");
}

static void operands_live_until_their_branch_has_read_them(void **state) {
    (void)state;
    check("method forward(%x: f32[4]) {\n"
          "  %sum: f32[] = aten.sum(%x)\n"
          "  %c: b8[] = aten.gt.Scalar(%sum, 0)\n"
          "  %a: f32[4] = aten.relu(%x)\n"
          "  %b: f32[4] = aten.neg(%x)\n"
          "  %r: f32[4] = higher_order.cond(%c, [%a, %b])\n"
          "    graph (%p1: f32[4], %p2: f32[4]) {\n"
          "      %t1: f32[4] = aten.flip(%p1, [0])\n"
          "      %t2: f32[4] = aten.flip(%t1, [0])\n"
          "      %t3: f32[4] = aten.flip(%t2, [0])\n"
          "      %t4: f32[4] = aten.add.Tensor(%t3, %p2, 2)\n"
          "      return %t4\n    }\n"
          "    graph (%q1: f32[4], %q2: f32[4]) {\n"
          "      %u1: f32[4] = aten.flip(%q2, [0])\n"
          "      %u2: f32[4] = aten.flip(%u1, [0])\n"
          "      %u3: f32[4] = aten.flip(%u2, [0])\n"
          "      %u4: f32[4] = aten.add.Tensor(%u3, %q1, 3)\n"
          "      return %u4\n    }\n"
          "  return %r\n}\n");
}

static void carried_values_change_places_through_views(void **state) {
    (void)state;
    check("method forward(%x: f32[2, 2], %y: f32[4]) {\n"
          "  const %zero: i64[] = \"zero\" {0}\n"
          "  %n: i64[], %a: f32[2, 2], %b: f32[4] = higher_order.while_loop([%zero, %x, %y], [])\n"
          "    graph (%n1: i64[], %a1: f32[2, 2], %b1: f32[4]) {\n"
          "      %go: b8[] = aten.lt.Scalar(%n1, 3)\n"
          "      return %go\n    }\n"
          "    graph (%n2: i64[], %a2: f32[2, 2], %b2: f32[4]) {\n"
          "      %next: i64[] = aten.add.Scalar(%n2, 1, 1)\n"
          "      %va: f32[4] = aten.view_copy(%a2, [4])\n"
          "      %vb: f32[2, 2] = aten.view_copy(%b2, [2, 2])\n"
          "      return %next, %vb, %va\n    }\n"
          "  return %n, %a, %b\n}\n");
}

static void rows_are_scanned_with_a_carry(void **state) {
    (void)state;
    check("method forward(%x: f32[3, 2], %init: f32[2]) {\n"
          "  %a: f32[3, 2] = aten.relu(%x)\n"
          "  %last: f32[2], %old: f32[3, 2], %new: f32[3, 2] = higher_order.scan([%init], [%a], [%x])\n"
          "    graph (%carry: f32[2], %row: f32[2], %all: f32[3, 2]) {\n"
          "      %s: f32[2] = aten.sum.dim_IntList(%all, [0])\n"
          "      %t: f32[2] = aten.add.Tensor(%row, %s, 1)\n"
          "      %next: f32[2] = aten.add.Tensor(%carry, %t, 1)\n"
          "      return %next, %carry, %next\n    }\n"
          "  %b: f32[3, 2] = aten.neg(%new)\n"
          "  return %last, %old, %b, %a\n}\n");
}

static void rows_are_mapped(void **state) {
    (void)state;
    check("method forward(%x: f32[4, 3], %y: f32[3]) {\n"
          "  %z: f32[4, 3] = higher_order.map_impl([%x], [%y])\n"
          "    graph (%row: f32[3], %b: f32[3]) {\n"
          "      %t: f32[3] = aten.mul.Tensor(%row, %b)\n"
          "      %u: f32[3] = aten.neg(%t)\n"
          "      return %u\n    }\n"
          "  %w: f32[2, 6] = aten.view_copy(%z, [2, 6])\n"
          "  %v: f32[2, 6] = aten.abs(%w)\n"
          "  return %v\n}\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_and_results_in_place),
        cmocka_unit_test(a_result_does_not_overwrite_what_it_reads_elsewhere),
        cmocka_unit_test(views_of_inputs),
        cmocka_unit_test(views_of_dynamic_size),
        cmocka_unit_test(sizes_without_a_bound),
        cmocka_unit_test(states_accumulate),
        cmocka_unit_test(states_change_places),
        cmocka_unit_test(a_view_of_a_state_is_read_before_it_changes),
        cmocka_unit_test(branches),
        cmocka_unit_test(operands_live_until_their_branch_has_read_them),
        cmocka_unit_test(a_branch_in_a_loop),
        cmocka_unit_test(carried_values_change_places_through_views),
        cmocka_unit_test(rows_are_scanned_with_a_carry),
        cmocka_unit_test(rows_are_mapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
