/* Instructions: one kernel call a node, with the arguments in the order of the schema, then the outputs, then what the out= form
 * returns (the outputs again). */
#include "compiler/emit/emit_internal.h"
#include "compiler/partition/partition.h"

static int32_t find_operator(fidc_method_emitter *m, const char *name, const char *overload) {
    const fid_pte_out_operator *operators = m->operators.items;
    for (size_t i = 0; i < m->operators.count; i++)
        if (strcmp(operators[i].name, name) == 0 && strcmp(operators[i].overload, overload) == 0) return (int32_t)i;
    fid_pte_out_operator *made = fidc_array_push(m->emitter, &m->operators);
    if (!made) return -1;
    *made = (fid_pte_out_operator){name, overload};
    return (int32_t)m->operators.count - 1;
}

bool fidc_call_begin(fidc_call *c, fidc_method_emitter *m, size_t capacity) {
    *c = (fidc_call){.m = m, .args = fidc_emit_allocate(m->emitter, capacity, sizeof *c->args), .capacity = capacity};
    return c->args != NULL;
}

void fidc_call_add(fidc_call *c, int32_t value) {
    if (c->count < c->capacity) c->args[c->count++] = value;
    else fidc_emit_fail(c->m->emitter, FID_INTERNAL);
}

void fidc_call_end(fidc_call *c, const char *name, const char *overload, const fidc_node *node) {
    fidc_emitter *emitter = c->m->emitter;
    fid_pte_out_instruction *made = fidc_array_push(emitter, &c->m->instructions);
    if (!made) return;
    *made = (fid_pte_out_instruction){.step = FID_PTE_OUT_KERNEL_CALL, .index = find_operator(c->m, name, overload), .args = c->args, .arg_count = c->count};
    fidc_debug_note(c->m, node);
    if (emitter->options->stack_traces && node) made->frames = fidc_emit_frames(emitter, node->source, &made->frame_count);
}

/* ---- Arguments and outputs ------------------------------------------------------------------------------------------------- */

/* dtype, layout, device and pin_memory stand together or not at all; out= forms leave all four out: the output tells. */
static bool is_option(const fid_schema_arg *arg) {
    return arg->type == FID_SCHEMA_LAYOUT || arg->type == FID_SCHEMA_DEVICE || (arg->type == FID_SCHEMA_DTYPE && arg->keyword_only) ||
           (arg->type == FID_SCHEMA_BOOL && arg->name.size == 10 && memcmp(arg->name.data, "pin_memory", 10) == 0);
}

static bool has_options(const fid_op *op) {
    fid_schema_cursor cursor = fid_schema_begin(op->schema);
    fid_schema_arg arg;
    uint32_t options = 0;
    while (fid_schema_next_arg(&cursor, &arg)) options += is_option(&arg);
    return options == 4 && op->kind != FID_OP_SCALAR && op->kind != FID_OP_EFFECT;
}

static void add_args(fidc_call *c, const fidc_node *node) {
    fid_schema_cursor cursor = fid_schema_begin(node->op->schema);
    fid_schema_arg schema;
    bool skip_options = has_options(node->op);
    for (uint32_t i = 0; i < node->arg_count && fid_schema_next_arg(&cursor, &schema); i++)
        if (!skip_options || !is_option(&schema)) fidc_call_add(c, fidc_emit_arg(c->m, &schema, &node->args[i]));
}

static bool gives_list(const fid_op *op) {
    fid_schema_cursor cursor = fid_schema_begin(op->schema);
    fid_schema_arg result;
    return fid_schema_next_result(&cursor, &result) && result.list;
}

static int32_t list_outputs(fidc_call *c, const fidc_node *node) {
    int32_t *items = fidc_emit_allocate(c->m->emitter, node->output_count, sizeof *items);
    for (uint32_t i = 0; items && i < node->output_count; i++) items[i] = fidc_emit_value(c->m, node->outputs[i]);
    return items ? fidc_emit_tensor_list(c->m, items, node->output_count) : -1;
}

/* out= forms: each output and then what is returned: the one output again, or all as a list. A list result is one argument. */
static void add_outputs(fidc_call *c, const fidc_node *node) {
    if (gives_list(node->op)) {
        int32_t list = list_outputs(c, node);
        fidc_call_add(c, list);
        fidc_call_add(c, list);
        return;
    }
    for (uint32_t i = 0; i < node->output_count; i++) fidc_call_add(c, fidc_emit_value(c->m, node->outputs[i]));
    if (node->output_count == 1) fidc_call_add(c, fidc_emit_value(c->m, node->outputs[0]));
    if (node->output_count > 1) fidc_call_add(c, list_outputs(c, node));
}

/* ---- Nodes ----------------------------------------------------------------------------------------------------------------- */

static void emit_scalar(fidc_method_emitter *m, const fidc_node *node) {
    fidc_call c;
    if (!fidc_call_begin(&c, m, (size_t)node->arg_count + node->output_count)) return;
    add_args(&c, node);
    for (uint32_t i = 0; i < node->output_count; i++) fidc_call_add(&c, fidc_emit_value(m, node->outputs[i]));
    fidc_call_end(&c, node->op->name, node->op->out, node);
}

/* An effect returns the argument that it changed, if it returns something. */
static void emit_effect(fidc_method_emitter *m, const fidc_node *node) {
    fidc_call c;
    if (!fidc_call_begin(&c, m, (size_t)node->arg_count + 1)) return;
    add_args(&c, node);
    fid_schema_cursor cursor = fid_schema_begin(node->op->schema);
    fid_schema_arg result;
    if (c.count && fid_schema_next_result(&cursor, &result)) {
        int32_t changed = c.args[0];
        fidc_call_add(&c, changed);
        for (uint32_t i = 0; i < node->output_count; i++) m->index_of[fidc_plan_index(node->outputs[i])] = changed;
    }
    fidc_call_end(&c, node->op->name, node->op->out, node);
}

static void emit_kernel(fidc_method_emitter *m, const fidc_node *node) {
    fidc_call c;
    if (!fidc_call_begin(&c, m, (size_t)node->arg_count + node->output_count + 2)) return;
    add_args(&c, node);
    add_outputs(&c, node);
    fidc_call_end(&c, node->op->name, node->op->out, node);
}

/* True for a view that the planner left to the runtime to bind: its memory is its input's, but the node is not elided. */
static bool is_bound_view(const fidc_method_emitter *m, const fidc_node *node) {
    const fidc_value *in = node->op->kind == FID_OP_VIEW && node->output_count == 1 ? fidc_value_of(&node->args[0]) : NULL;
    const fidc_placement *out = in ? &m->plan->of[fidc_plan_index(node->outputs[0])] : NULL;
    return in && !out->elided && out->base != node->outputs[0] && out->base == m->plan->of[fidc_plan_index(in)].base;
}

/* The sizes of a bound view: view_copy's own, else the output's, where -1 stands for the one that is dynamic. */
static int32_t emit_view_sizes(fidc_method_emitter *m, const fidc_node *node) {
    const fidc_value *out = node->outputs[0];
    const fid_schema_arg ints = {.type = FID_SCHEMA_INT, .list = true};
    if (fidc_is(node, FID_OPID_view_copy)) return fidc_emit_arg(m, &ints, &node->args[1]);
    int64_t *items = fidc_emit_allocate(m->emitter, out->rank, sizeof *items);
    for (size_t i = 0; items && i < out->rank; i++) items[i] = fidc_emit_int(m, fidc_size(out, i));
    return items ? fidc_emit_literal(m, &(fid_pte_out_value){.kind = FID_PTE_OUT_INT_LIST, .as.ints = {items, out->rank}}) : -1;
}

static void emit_bound_view(fidc_method_emitter *m, const fidc_node *node) {
    fidc_call c;
    if (!fidc_call_begin(&c, m, 3)) return;
    fidc_call_add(&c, fidc_emit_value(m, fidc_value_of(&node->args[0])));
    fidc_call_add(&c, emit_view_sizes(m, node));
    fidc_call_add(&c, fidc_emit_value(m, node->outputs[0]));
    fidc_call_end(&c, "executorch_prim::et_view", "default", node);
}

static bool is_elided(const fidc_method_emitter *m, const fidc_node *node) {
    for (uint32_t i = 0; i < node->output_count; i++)
        if (!m->plan->of[fidc_plan_index(node->outputs[i])].elided) return false;
    return node->output_count > 0;
}

/* ---- Delegates ---- */

static int32_t add_delegate(fidc_method_emitter *m, const fidc_delegate *delegate) {
    fid_pte_out_piece *blob = fidc_array_push(m->emitter, &m->emitter->blobs);
    fid_pte_out_delegate *made = blob ? fidc_array_push(m->emitter, &m->delegates) : NULL;
    if (!made) return -1;
    *blob = (fid_pte_out_piece){delegate->blob, 0, delegate->bytes};
    *made = (fid_pte_out_delegate){.backend = delegate->backend, .segment_index = (uint32_t)m->emitter->blobs.count - 1};
    return (int32_t)m->delegates.count - 1;
}

/* Inputs and then outputs; nothing is said twice. */
static void emit_delegate(fidc_method_emitter *m, const fidc_node *node) {
    const fidc_arg *inputs = &node->args[0];
    int32_t *args = fidc_emit_allocate(m->emitter, (size_t)inputs->as.list.count + node->output_count, sizeof *args);
    size_t count = 0;
    for (uint32_t i = 0; args && i < inputs->as.list.count; i++) args[count++] = fidc_emit_value(m, fidc_value_of(&inputs->as.list.items[i]));
    for (uint32_t i = 0; args && i < node->output_count; i++) args[count++] = fidc_emit_value(m, node->outputs[i]);
    int32_t index = add_delegate(m, node->delegate);
    fid_pte_out_instruction *made = args && index >= 0 ? fidc_array_push(m->emitter, &m->instructions) : NULL;
    if (!made) return;
    *made = (fid_pte_out_instruction){.step = FID_PTE_OUT_DELEGATE_CALL, .index = index, .args = args, .arg_count = count};
    fidc_debug_note(m, node);
    if (m->emitter->options->stack_traces) made->frames = fidc_emit_frames(m->emitter, node->source, &made->frame_count);
}

static void emit_node(fidc_method_emitter *m, const fidc_node *node) {
    if (is_elided(m, node)) return;
    if (node->delegate) {
        emit_delegate(m, node);
        return;
    }
    if (node->graph_count) fidc_emit_control(m, node);
    else if (is_bound_view(m, node)) emit_bound_view(m, node);
    else if (node->op->kind == FID_OP_SCALAR) emit_scalar(m, node);
    else if (node->op->kind == FID_OP_EFFECT) emit_effect(m, node);
    else emit_kernel(m, node);
}

void fidc_emit_graph(fidc_method_emitter *m, const fidc_graph *graph) {
    for (const fidc_node *node = graph->first; node && m->emitter->status == FID_OK; node = node->next) emit_node(m, node);
}

/* ---- Write-back of states ----------------------------------------------------------------------------------------------------- */

void fidc_emit_copy(fidc_method_emitter *m, int32_t from, int32_t to, const fidc_node *node) {
    fidc_call c;
    if (!fidc_call_begin(&c, m, 4)) return;
    fidc_call_add(&c, to);
    fidc_call_add(&c, from);
    fidc_call_add(&c, fidc_emit_literal(m, &(fid_pte_out_value){.kind = FID_PTE_OUT_BOOL, .as.boolean = false}));
    fidc_call_add(&c, to);
    fidc_call_end(&c, "aten::copy_", "", node);
}

static void emit_write_back(fidc_method_emitter *m, const fidc_mutation *mutation) {
    const fidc_value *value = fidc_resolve(mutation->value), *target = mutation->target;
    if (value == target || m->plan->of[fidc_plan_index(value)].base == target) return; /* computed in place */
    fidc_emit_copy(m, fidc_emit_value(m, value), fidc_emit_value(m, target), NULL);
}

fid_status fidc_emit_nodes(fidc_method_emitter *m) {
    fidc_emit_graph(m, m->graph);
    for (uint32_t i = 0; i < m->graph->mutation_count; i++) emit_write_back(m, &m->graph->mutations[i]);
    return m->emitter->status;
}
