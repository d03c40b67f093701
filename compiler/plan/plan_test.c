/* The planner against a model of memory: every node of random graphs is "run" on labels instead of numbers. A label says which
 * element of which value lies in a cell; each read must find the labels that the graph means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/plan/plan.h"
#include "include/fidibus.h"

/* ---- Running a plan on labels ------------------------------------------------------------------------------------------------ */

typedef struct machine {
    const fidc_graph *graph;
    const fidc_plan *plan;
    uint32_t *memory;    /* a label a cell of four bytes */
    uint32_t **meaning;  /* by value id: the labels of its elements, in logical order */
    uint32_t next_label;
} machine;

static size_t numel(const fidc_value *value) {
    size_t count = 1;
    for (size_t i = 0; i < value->rank; i++) count *= (size_t)fidc_size(value, i);
    return count;
}

static uint32_t *cells(const machine *m, const fidc_value *value) {
    uint64_t offset = m->plan->of[value->id].offset;
    return offset == FIDC_NOT_PLANNED ? NULL : m->memory + offset / 4;
}

static void check_content(const machine *m, const fidc_value *value) {
    const uint32_t *at = cells(m, value);
    if (value->type != FIDC_TENSOR || !at) return;
    for (size_t i = 0; i < numel(value); i++) {
        if (at[i] != m->meaning[value->id][i]) fail_msg("value %s was overwritten at element %zu", value->name, i);
    }
}

static void set_labels(machine *m, const fidc_value *value) {
    for (size_t i = 0; i < numel(value); i++) m->meaning[value->id][i] = m->next_label++;
}

static void store(machine *m, const fidc_value *value) {
    uint32_t *at = cells(m, value);
    if (at && numel(value)) memcpy(at, m->meaning[value->id], numel(value) * sizeof *at);
}

/* First element of an output within its node's input: all views of the test show consecutive elements. */
static size_t start_of(const fidc_node *node, uint32_t output) {
    size_t row = numel(node->outputs[output]);
    if (fidc_is(node, FID_OPID_slice_copy_Tensor)) return (size_t)node->args[2].as.integer * (row / (size_t)fidc_size(node->outputs[output], 0));
    if (fidc_is(node, FID_OPID_select_copy_int)) return (size_t)node->args[2].as.integer * row;
    if (fidc_is(node, FID_OPID_split_copy_Tensor) || fidc_is(node, FID_OPID_unbind_copy_int)) return output * row;
    return 0;
}

static void mean_transposed(machine *m, const fidc_value *in, const fidc_value *out) {
    size_t rows = (size_t)fidc_size(in, 0), columns = (size_t)fidc_size(in, 1);
    for (size_t i = 0; i < rows * columns; i++) m->meaning[out->id][i % columns * rows + i / columns] = m->meaning[in->id][i];
}

/* Rows of the parts, one after the other. */
static void mean_joined(machine *m, const fidc_node *node) {
    uint32_t *to = m->meaning[node->outputs[0]->id];
    for (uint32_t i = 0; i < node->args[0].as.list.count; i++) {
        const fidc_value *part = fidc_value_of(&node->args[0].as.list.items[i]);
        memcpy(to, m->meaning[part->id], numel(part) * sizeof *to);
        to += numel(part);
    }
}

static void mean_output(machine *m, const fidc_node *node, uint32_t output) {
    const fidc_value *out = node->outputs[output], *in = fidc_value_of(&node->args[0]);
    if (fidc_is(node, FID_OPID_cat)) mean_joined(m, node);
    else if (node->op->kind != FID_OP_VIEW) set_labels(m, out);
    else if (fidc_is(node, FID_OPID_permute_copy)) mean_transposed(m, in, out);
    else memcpy(m->meaning[out->id], m->meaning[in->id] + start_of(node, output), numel(out) * sizeof(uint32_t));
}

static bool ranges_meet(const machine *m, const fidc_value *a, const fidc_value *b) {
    uint64_t x = m->plan->of[a->id].offset, y = m->plan->of[b->id].offset;
    return x != FIDC_NOT_PLANNED && y != FIDC_NOT_PLANNED && x < y + numel(b) * 4 && y < x + numel(a) * 4;
}

/* A node that really runs may write over an argument only element by element. */
static void check_writing(const machine *m, const fidc_node *node, const fidc_value *arg) {
    for (uint32_t i = 0; i < node->output_count; i++) {
        const fidc_value *out = node->outputs[i];
        if (!ranges_meet(m, out, arg)) continue;
        assert_int_equal(node->op->kind, FID_OP_POINTWISE);
        assert_true(m->plan->of[out->id].offset == m->plan->of[arg->id].offset && numel(out) == numel(arg));
    }
}

static void visit_args(const machine *m, const fidc_node *node, const fidc_arg *arg, bool elided) {
    const fidc_value *value = fidc_value_of(arg);
    if (value) {
        check_content(m, value);
        if (!elided) check_writing(m, node, value);
    }
    for (uint32_t i = 0; arg->kind == FIDC_ARG_LIST && i < arg->as.list.count; i++) visit_args(m, node, &arg->as.list.items[i], elided);
}

static void run_node(machine *m, const fidc_node *node) {
    bool elided = node->output_count && m->plan->of[node->outputs[0]->id].elided;
    for (uint32_t i = 0; i < node->arg_count; i++) visit_args(m, node, &node->args[i], elided);
    for (uint32_t i = 0; i < node->output_count; i++) mean_output(m, node, i);
    for (uint32_t i = 0; i < node->output_count && !elided; i++) store(m, node->outputs[i]);
    for (uint32_t i = 0; i < node->output_count; i++) check_content(m, node->outputs[i]); /* outputs do not overlap each other */
}

/* Outputs must stand before and after states are written back. */
static void run_graph(machine *m) {
    const fidc_graph *graph = m->graph;
    for (uint32_t i = 0; i < graph->value_count; i++) {
        const fidc_value *value = graph->values[i];
        if (value->origin == FIDC_FROM_NODE) continue;
        set_labels(m, value);
        store(m, value);
    }
    for (const fidc_node *node = graph->first; node; node = node->next) run_node(m, node);
    for (uint32_t i = 0; i < graph->mutation_count; i++) {
        const fidc_value *target = graph->mutations[i].target, *value = graph->mutations[i].value;
        check_content(m, value);
        memcpy(m->meaning[target->id], m->meaning[value->id], numel(value) * sizeof(uint32_t));
        store(m, target);
    }
    for (uint32_t i = 0; i < graph->output_count; i++) check_content(m, fidc_value_of(&graph->outputs[i]));
    for (uint32_t i = 0; i < graph->mutation_count; i++) check_content(m, graph->mutations[i].target);
}

static void check_plan(const fidc_graph *graph, const fidc_plan *plan) {
    machine m = {.graph = graph, .plan = plan, .next_label = 1};
    m.memory = calloc(plan->planned_bytes / 4 + 1, sizeof *m.memory);
    m.meaning = calloc(graph->value_count + 1, sizeof *m.meaning);
    for (uint32_t i = 0; i < graph->value_count; i++) {
        m.meaning[i] = calloc(numel(graph->values[i]) + 1, sizeof **m.meaning);
        if (plan->of[i].offset != FIDC_NOT_PLANNED) assert_true(plan->of[i].offset + plan->of[i].bytes <= plan->planned_bytes);
    }
    run_graph(&m);
    for (uint32_t i = 0; i < graph->value_count; i++) free(m.meaning[i]);
    free(m.meaning);
    free(m.memory);
}

/* ---- Random graphs ------------------------------------------------------------------------------------------------------------- */

static uint32_t random_state;

static uint32_t random_below(uint32_t count) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % count;
}

typedef struct pool { fidc_value *items[300]; uint32_t count; } pool;

static void keep(pool *p, fidc_value *value) {
    assert_non_null(value);
    if (p->count < 300) p->items[p->count++] = value;
}

static fidc_value *pick_wide(const pool *p, int64_t columns) {
    for (int i = 0; i < 20; i++) {
        fidc_value *value = p->items[random_below(p->count)];
        if (value->rank == 2 && fidc_size(value, 1) == columns) return value;
    }
    return NULL;
}

static fidc_value *pick(const pool *p) { return p->items[p->count - 1 - random_below(p->count < 12 ? p->count : 12)]; }

static fidc_value *pick_like(const pool *p, const fidc_value *like) {
    for (int i = 0; i < 20; i++) {
        fidc_value *value = p->items[random_below(p->count)];
        if (fidc_same_sizes(value, like)) return value;
    }
    return NULL;
}

static void add_node(fidc_graph *graph, pool *p, fid_op_id op, const fidc_arg *args, size_t count, size_t outputs) {
    fidc_node *node = fidc_node_create(graph, NULL, NULL, op, args, count, outputs);
    assert_non_null(node);
    for (uint32_t i = 0; i < node->output_count; i++) keep(p, node->outputs[i]);
}

static void add_random_node(fidc_graph *graph, pool *p) {
    fidc_program *program = graph->program;
    fidc_value *x = pick(p), *y;
    int64_t rows = x->rank ? fidc_size(x, 0) : 1;
    switch (x->rank < 2 ? random_below(3) : random_below(13)) {
    case 0: add_node(graph, p, FID_OPID_relu, (fidc_arg[]){fidc_v(x)}, 1, 0); break;
    case 1: if ((y = pick_like(p, x))) add_node(graph, p, FID_OPID_add_Tensor, (fidc_arg[]){fidc_v(x), fidc_v(y), fidc_i(1)}, 3, 0); break;
    case 2: add_node(graph, p, FID_OPID_unsqueeze_copy, (fidc_arg[]){fidc_v(x), fidc_i(0)}, 2, 0); break;
    case 3: add_node(graph, p, FID_OPID_view_copy, (fidc_arg[]){fidc_v(x), fidc_ints(program, (int64_t[]){fidc_size(x, 1), -1}, 2)}, 2, 0); break;
    case 4: add_node(graph, p, FID_OPID_slice_copy_Tensor, (fidc_arg[]){fidc_v(x), fidc_i(0), fidc_i(random_below((uint32_t)rows)), fidc_i(rows), fidc_i(1)}, 5, 0); break;
    case 5: add_node(graph, p, FID_OPID_select_copy_int, (fidc_arg[]){fidc_v(x), fidc_i(0), fidc_i(random_below((uint32_t)rows))}, 3, 0); break;
    case 6: if (rows % 2 == 0) add_node(graph, p, FID_OPID_split_copy_Tensor, (fidc_arg[]){fidc_v(x), fidc_i(rows / 2), fidc_i(0)}, 3, 2); break;
    case 7: if (x->rank == 2) add_node(graph, p, FID_OPID_permute_copy, (fidc_arg[]){fidc_v(x), fidc_ints(program, (int64_t[]){1, 0}, 2)}, 2, 0); break;
    case 8: add_node(graph, p, FID_OPID_sigmoid, (fidc_arg[]){fidc_v(x)}, 1, 0); break;
    case 9:
    case 10: /* relu makes a part with memory of its own */
        if (x->rank != 2 || !(y = pick_wide(p, fidc_size(x, 1))) || numel(x) + numel(y) > 500) break;
        y = fidc_result(fidc_node_create(graph, NULL, NULL, FID_OPID_relu, (fidc_arg[]){fidc_v(y)}, 1, 0));
        keep(p, y);
        add_node(graph, p, FID_OPID_cat, (fidc_arg[]){fidc_values(program, (fidc_value *[]){x, y}, 2), fidc_i(0)}, 2, 0);
        break;
    default: add_node(graph, p, FID_OPID_unbind_copy_int, (fidc_arg[]){fidc_v(x), fidc_i(0)}, 2, (size_t)rows); break;
    }
}

static fidc_value *new_input(fidc_graph *graph, int64_t rows, int64_t columns) {
    const fidc_expr *sizes[] = {fidc_expr_const(graph->program, rows), fidc_expr_const(graph->program, columns)};
    return fidc_value_tensor(graph, NULL, FID_FLOAT32, sizes, 2);
}

static void add_mutation(fidc_graph *graph, fidc_value *target, fidc_value *value) {
    fidc_mutation *mutations = fidc_allocate(graph->program, (graph->mutation_count + 1) * sizeof *mutations);
    if (graph->mutation_count) memcpy(mutations, graph->mutations, graph->mutation_count * sizeof *mutations);
    mutations[graph->mutation_count++] = (fidc_mutation){target, value};
    graph->mutations = mutations;
}

static fidc_value *new_state(fidc_graph *graph, int64_t rows, int64_t columns) {
    fidc_value *state = fidc_value_constant(graph, NULL, FID_FLOAT32, (int64_t[]){rows, columns}, 2, fidc_allocate(graph->program, 4096), (size_t)(rows * columns) * 4);
    ((fidc_constant *)(uintptr_t)state->constant)->is_mutable = true;
    return state;
}

static fidc_graph *random_graph(fidc_program *program, uint32_t nodes) {
    fidc_graph *graph = fidc_graph_create(program, "forward");
    pool p = {.count = 0};
    graph->inputs = fidc_allocate(program, 2 * sizeof *graph->inputs);
    for (uint32_t i = 0; i < 2; i++) keep(&p, graph->inputs[graph->input_count++] = new_input(graph, 2 + 2 * random_below(4), 1 + random_below(9)));
    fidc_value *states[2] = {new_state(graph, 4, 6), new_state(graph, 4, 6)};
    keep(&p, states[0]);
    keep(&p, states[1]);
    for (uint32_t i = 0; i < nodes; i++) add_random_node(graph, &p);
    for (int i = 0; i < 2; i++) {
        fidc_value *value = pick_like(&p, states[i]);
        if (value) add_mutation(graph, states[i], value);
    }
    graph->outputs = fidc_allocate(program, 3 * sizeof *graph->outputs);
    for (uint32_t i = 0; i < 3; i++) graph->outputs[graph->output_count++] = fidc_v(pick(&p));
    assert_int_equal(fidc_plan_protect(graph), FID_OK);
    return graph;
}

static fidc_program *new_program(const fid_sink *sink) {
    fidc_program *program;
    assert_int_equal(fidc_program_create(fid_environment_default(NULL).allocator, sink, &fid_builtin_ops, &program), FID_OK);
    return program;
}

static void random_graphs_keep_every_value_until_its_last_read(void **state) {
    (void)state;
    fid_message message = {0};
    fid_sink sink = fid_message_sink(&message);
    for (uint32_t seed = 0; seed < 300; seed++) {
        random_state = seed * 7919 + 1;
        fidc_program *program = new_program(&sink);
        fidc_graph *graph = random_graph(program, 5 + random_below(60));
        for (unsigned kind = 0; kind < 8; kind++) {
            fidc_plan_options options = {.alignment = kind & 1 ? 64 : 16, .alias_views = kind & 2, .in_place = kind & 1, .no_reuse = kind == 4, .plan_inputs = kind != 7, .plan_outputs = kind != 6};
            fidc_plan plan;
            assert_int_equal(fidc_plan_graph(graph, &options, &plan), FID_OK);
            check_plan(graph, &plan);
            assert_true(options.no_reuse || plan.planned_bytes >= plan.bound_bytes);
        }
        fidc_program_destroy(program);
    }
}

/* ---- What must be spared ---------------------------------------------------------------------------------------------------------- */

static fidc_program *parsed(const char *text, const fid_sink *sink) {
    fidc_program *program = new_program(sink);
    assert_int_equal(fidc_parse(program, text, strlen(text)), FID_OK);
    assert_int_equal(fidc_plan_protect(program->methods[0]), FID_OK);
    return program;
}

static fidc_plan plan_of(fidc_program *program) {
    const fidc_plan_options options = {.alignment = 64, .alias_views = true, .in_place = true, .plan_inputs = true, .plan_outputs = true};
    fidc_plan plan;
    assert_int_equal(fidc_plan_graph(program->methods[0], &options, &plan), FID_OK);
    return plan;
}

static const fidc_placement *place(const fidc_program *program, const fidc_plan *plan, const char *name) {
    const fidc_graph *graph = program->methods[0];
    for (uint32_t i = 0; i < graph->value_count; i++)
        if (strcmp(graph->values[i]->name, name) == 0) return &plan->of[i];
    fail_msg("no value %s", name);
    return NULL;
}

static void a_chain_of_pointwise_operators_uses_one_block(void **state) {
    (void)state;
    fid_message message = {0};
    fid_sink sink = fid_message_sink(&message);
    fidc_program *program = parsed("method forward(%x: f32[16, 16]) {\n"
                                   "  %a: f32[16, 16] = aten.relu(%x)\n"
                                   "  %b: f32[16, 16] = aten.sigmoid(%a)\n"
                                   "  %c: f32[4, 64] = aten.view_copy(%b, [4, 64])\n"
                                   "  %d: f32[4, 64] = aten.relu(%c)\n"
                                   "  return %d\n}\n", &sink);
    fidc_plan plan = plan_of(program);
    assert_int_equal(plan.bound_bytes, 2048); /* input and output at the first node: an output never lies over an input */
    assert_int_equal(plan.planned_bytes, 2048);
    assert_true(place(program, &plan, "c")->elided);
    assert_int_equal(place(program, &plan, "a")->offset, place(program, &plan, "b")->offset);
    fidc_program_destroy(program);
}

/* Only one branch runs: its result lies where the cond's does, and results that both read or hand through keep their own place. */
static void results_of_branches_share_one_place(void **state) {
    (void)state;
    fid_message message = {0};
    fid_sink sink = fid_message_sink(&message);
    fidc_program *program = parsed("method forward(%x: f32[16], %p: b8[]) {\n"
                                   "  %r: f32[16], %s: f32[16] = higher_order.cond(%p, [%x]) graph(%x: f32[16]) {\n"
                                   "    %a: f32[16] = aten.cumsum(%x, 0)\n"
                                   "    return %a, %x\n  } graph(%x: f32[16]) {\n"
                                   "    %b: f32[16] = aten.cumsum(%x, 0)\n"
                                   "    %c: f32[16] = aten.cumsum(%b, 0)\n"
                                   "    return %b, %c\n  }\n"
                                   "  return %r, %s\n}\n", &sink);
    fidc_plan plan = plan_of(program);
    assert_int_equal(plan.planned_bytes, 3 * 64 + 1); /* x, r, s, and p behind them */
    assert_int_equal(plan.planned_bytes, plan.bound_bytes);
    fidc_program_destroy(program);
}

static void parts_along_the_outermost_dimension_are_no_copies(void **state) {
    (void)state;
    fid_message message = {0};
    fid_sink sink = fid_message_sink(&message);
    fidc_program *program = parsed("method forward(%x: f32[4, 8]) {\n"
                                   "  %a: f32[4, 8] = aten.relu(%x)\n"
                                   "  %rows: f32[2, 8] = aten.slice_copy.Tensor(%a, 0, 1, 3, 1)\n"
                                   "  %columns: f32[4, 2] = aten.slice_copy.Tensor(%a, 1, 1, 3, 1)\n"
                                   "  %b: f32[2, 8] = aten.sigmoid(%rows)\n"
                                   "  %c: f32[4, 2] = aten.sigmoid(%columns)\n"
                                   "  return %b, %c\n}\n", &sink);
    fidc_plan plan = plan_of(program);
    assert_true(place(program, &plan, "rows")->elided);
    assert_int_equal(place(program, &plan, "rows")->offset, place(program, &plan, "a")->offset + 32);
    assert_false(place(program, &plan, "columns")->elided);
    fidc_program_destroy(program);
}

static void parts_of_a_concatenation_are_computed_in_place(void **state) {
    (void)state;
    fid_message message = {0};
    fid_sink sink = fid_message_sink(&message);
    fidc_program *program = parsed("method forward(%x: f32[1, 4, 16], %y: f32[1, 4, 16]) {\n"
                                   "  %a: f32[1, 4, 16] = aten.flip(%x, [1])\n"
                                   "  %b: f32[1, 4, 16] = aten.flip(%y, [1])\n"
                                   "  %c: f32[1, 8, 16] = aten.cat([%a, %b], 1)\n"
                                   "  %d: f32[1, 4, 32] = aten.cat([%a, %b], 2)\n"
                                   "  return %c, %d\n}\n", &sink);
    fidc_plan plan = plan_of(program);
    assert_true(place(program, &plan, "c")->elided);
    assert_int_equal(place(program, &plan, "a")->offset, place(program, &plan, "c")->offset);
    assert_int_equal(place(program, &plan, "b")->offset, place(program, &plan, "c")->offset + 256);
    assert_false(place(program, &plan, "d")->elided);
    fidc_program_destroy(program);
}

static void outputs_never_show_inputs(void **state) {
    (void)state;
    fid_message message = {0};
    fid_sink sink = fid_message_sink(&message);
    fidc_program *program = parsed("method forward(%x: f32[4, 8]) {\n"
                                   "  %y: f32[8, 4] = aten.view_copy(%x, [8, 4])\n"
                                   "  return %y\n}\n", &sink);
    fidc_plan plan = plan_of(program);
    assert_false(place(program, &plan, "y")->elided);
    assert_int_not_equal(place(program, &plan, "y")->offset, place(program, &plan, "x")->offset);
    fidc_program_destroy(program);
}

static void a_state_is_updated_in_its_own_memory(void **state) {
    (void)state;
    fid_message message = {0};
    fid_sink sink = fid_message_sink(&message);
    fidc_program *program = parsed("method forward(%x: f32[64]) {\n"
                                   "  buffer %sum: f32[64] = \"sum\"\n"
                                   "  %next: f32[64] = aten.add.Tensor(%sum, %x, 1)\n"
                                   "  update %sum <- %next\n"
                                   "  return %x\n}\n", &sink);
    fidc_plan plan = plan_of(program);
    assert_int_equal(place(program, &plan, "next")->offset, place(program, &plan, "sum")->offset);
    fidc_program_destroy(program);
}

static void an_output_with_the_old_state_is_a_copy(void **state) {
    (void)state;
    fid_message message = {0};
    fid_sink sink = fid_message_sink(&message);
    fidc_program *program = parsed("method forward(%x: f32[64]) {\n"
                                   "  buffer %last: f32[64] = \"last\"\n"
                                   "  update %last <- %x\n"
                                   "  return %last\n}\n", &sink);
    const fidc_value *output = fidc_value_of(&program->methods[0]->outputs[0]);
    assert_true(fidc_is(output->producer, FID_OPID_clone));
    fidc_program_destroy(program);
}

/* 3 and 5 floats at the same time: 64 + 12 bytes, if the smaller one ends the memory; a state of 3 floats lies behind both. */
static void the_block_that_ends_last_needs_no_padding(void **state) {
    (void)state;
    static const struct { const char *text; uint64_t bytes; } cases[] = {
        {"method forward(%x: f32[5]) {\n  %a: f32[3] = aten.slice_copy.Tensor(%x, 0, 0, 3, 1)\n  %b: f32[3] = aten.cumsum(%a, 0)\n"
         "  %c: f32[5] = aten.cumsum(%x, 0)\n  return %b, %c\n}\n", 64 + 64 + 12},
        {"method forward(%x: f32[5]) {\n  buffer %last: f32[3] = \"last\"\n  %a: f32[5] = aten.cumsum(%x, 0)\n"
         "  %b: f32[3] = aten.slice_copy.Tensor(%a, 0, 0, 3, 1)\n  update %last <- %b\n  return %a\n}\n", 64 + 64 + 12},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fid_message message = {0};
        fid_sink sink = fid_message_sink(&message);
        fidc_program *program = parsed(cases[i].text, &sink);
        fidc_plan plan = plan_of(program);
        assert_int_equal(plan.planned_bytes, plan.bound_bytes);
        assert_int_equal(plan.planned_bytes, cases[i].bytes);
        fidc_program_destroy(program);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_block_that_ends_last_needs_no_padding),
        cmocka_unit_test(random_graphs_keep_every_value_until_its_last_read),
        cmocka_unit_test(a_chain_of_pointwise_operators_uses_one_block),
        cmocka_unit_test(results_of_branches_share_one_place),
        cmocka_unit_test(parts_along_the_outermost_dimension_are_no_copies),
        cmocka_unit_test(parts_of_a_concatenation_are_computed_in_place),
        cmocka_unit_test(outputs_never_show_inputs),
        cmocka_unit_test(a_state_is_updated_in_its_own_memory),
        cmocka_unit_test(an_output_with_the_old_state_is_a_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
