/* Control flow as jumps: branches and bodies stand in the method's one list of instructions.
 *
 *   cond: jump to 1 if not pred; first branch; move results; jump to 2; 1: second branch; move results; 2:
 *   while_loop: copy operands to results; 1: condition; jump to 2 if not; body; copy results; jump to 1; 2:
 *   map, scan: copy carry; 1: take row k of each stack; body; put result row k; copy carry; k + 1; jump to 1 if k is not the length; k = 0 */
#include "compiler/emit/emit_internal.h"

static const fid_schema_arg any = {.type = FID_SCHEMA_SCALAR};

static int32_t emit_bool(fidc_method_emitter *m, bool boolean) {
    return fidc_emit_literal(m, &(fid_pte_out_value){.kind = FID_PTE_OUT_BOOL, .as.boolean = boolean});
}

/* ---- Instructions ------------------------------------------------------------------------------------------------------------- */

static int32_t here(const fidc_method_emitter *m) { return (int32_t)m->instructions.count; }

static void emit_step(fidc_method_emitter *m, fid_pte_out_step step, int32_t index, int32_t target) {
    fid_pte_out_instruction *made = fidc_array_push(m->emitter, &m->instructions);
    if (made) *made = (fid_pte_out_instruction){.step = (uint8_t)step, .index = index, .target = target};
}

/* A jump whose target is filled in later; its place. */
static int32_t emit_jump(fidc_method_emitter *m, int32_t condition) {
    emit_step(m, FID_PTE_OUT_JUMP_FALSE_CALL, condition, 0);
    return here(m) - 1;
}

static void land(fidc_method_emitter *m, int32_t jump) {
    if (m->emitter->status == FID_OK) ((fid_pte_out_instruction *)m->instructions.items)[jump].target = here(m);
}

/* Calls of numbers: NAME(a, b) gives result. */
static void emit_prim(fidc_method_emitter *m, const fidc_node *node, const char *name, int32_t a, int32_t b, int32_t result) {
    fidc_call c;
    if (!fidc_call_begin(&c, m, 3)) return;
    fidc_call_add(&c, a);
    fidc_call_add(&c, b);
    fidc_call_add(&c, result);
    fidc_call_end(&c, name, "Scalar", node);
}

/* ---- Operands and results ----------------------------------------------------------------------------------------------------------- */

/* Inputs of a sub-graph are the values that they are bound to; rows get entries of their own when first asked for. */
static void bind_inputs(fidc_method_emitter *m, const fidc_node *node, const fidc_graph *graph) {
    for (uint32_t i = 0; i < graph->input_count; i++) {
        fidc_binding binding = fidc_control_binding(node, i);
        int32_t *index = &m->index_of[fidc_plan_index(graph->inputs[i])];
        if (binding.carry) *index = fidc_emit_value(m, binding.carry);
        else if (!binding.stack && binding.arg) *index = fidc_emit_arg(m, &any, binding.arg);
    }
}

static bool fits_copy(const fidc_value *value) { return value->type == FIDC_TENSOR && fidc_sizes_static(value); }

/* Gives a result to one of the node's: tensors of fixed sizes are copied in loops, everything else is moved. */
static void hand_over(fidc_method_emitter *m, const fidc_node *node, const fidc_arg *from, const fidc_value *to, bool in_loop) {
    int32_t source = fidc_emit_arg(m, &any, from), target = fidc_emit_value(m, to);
    if (source == target) return;
    if (in_loop && fits_copy(to)) fidc_emit_copy(m, source, target, node);
    else emit_step(m, FID_PTE_OUT_MOVE_CALL, source, target);
}

static void hand_over_all(fidc_method_emitter *m, const fidc_node *node, const fidc_arg *from, uint32_t count, bool in_loop) {
    for (uint32_t i = 0; i < count && i < node->output_count; i++) hand_over(m, node, &from[i], node->outputs[i], in_loop);
}

static void emit_sub_graph(fidc_method_emitter *m, const fidc_node *node, const fidc_graph *graph) {
    bind_inputs(m, node, graph);
    fidc_emit_graph(m, graph);
}

/* ---- cond, while_loop ------------------------------------------------------------------------------------------------------------------ */

static void emit_cond(fidc_method_emitter *m, const fidc_node *node) {
    const fid_schema_arg truth = {.type = FID_SCHEMA_BOOL};
    const fidc_graph *yes = node->graphs[0], *no = node->graphs[1];
    for (uint32_t i = 0; i < node->output_count; i++) fidc_emit_value(m, node->outputs[i]);
    int32_t to_no = emit_jump(m, fidc_emit_arg(m, &truth, &node->args[0]));
    emit_sub_graph(m, node, yes);
    hand_over_all(m, node, yes->outputs, yes->output_count, false);
    int32_t to_end = emit_jump(m, emit_bool(m, false));
    land(m, to_no);
    emit_sub_graph(m, node, no);
    hand_over_all(m, node, no->outputs, no->output_count, false);
    land(m, to_end);
}

static void emit_while(fidc_method_emitter *m, const fidc_node *node) {
    const fidc_graph *condition = node->graphs[0], *body = node->graphs[1];
    hand_over_all(m, node, node->args[0].as.list.items, fidc_control_carries(node), true);
    int32_t start = here(m);
    emit_sub_graph(m, node, condition);
    int32_t to_end = emit_jump(m, fidc_emit_arg(m, &any, &condition->outputs[0]));
    emit_sub_graph(m, node, body);
    hand_over_all(m, node, body->outputs, body->output_count, true);
    emit_step(m, FID_PTE_OUT_JUMP_FALSE_CALL, emit_bool(m, false), start);
    land(m, to_end);
}

/* ---- map, scan -------------------------------------------------------------------------------------------------------------------------- */

/* row = stack[k] */
static void take_row(fidc_method_emitter *m, const fidc_node *node, const fidc_value *stack, const fidc_value *row, int32_t k) {
    fidc_call c;
    if (!fidc_call_begin(&c, m, 5)) return;
    fidc_call_add(&c, fidc_emit_value(m, stack));
    fidc_call_add(&c, fidc_emit_int(m, 0));
    fidc_call_add(&c, k);
    fidc_call_add(&c, fidc_emit_value(m, row));
    fidc_call_add(&c, fidc_emit_value(m, row));
    fidc_call_end(&c, "aten::select_copy", "int_out", node);
}

/* stack[k] = row: the stack grows by a row in every round, so its sizes are dynamic. */
static void put_row(fidc_method_emitter *m, const fidc_node *node, const fidc_arg *row, const fidc_value *stack, int32_t k) {
    int32_t target = fidc_emit_value(m, stack);
    fidc_call c;
    if (target < 0 || !fidc_call_begin(&c, m, 3)) return;
    fid_pte_out_tensor *tensor = &((fid_pte_out_value *)m->values.items)[target].as.tensor;
    if (tensor->dynamism == FID_STATIC) tensor->dynamism = FID_DYNAMIC_BOUND;
    fidc_call_add(&c, target);
    fidc_call_add(&c, fidc_emit_arg(m, &any, row));
    fidc_call_add(&c, k);
    fidc_call_end(&c, "executorch_prim::et_copy_index", "tensor", node);
}

static const fidc_value *first_stack(const fidc_node *node) {
    for (uint32_t i = 0; i < node->graphs[0]->input_count; i++) {
        const fidc_value *stack = fidc_control_binding(node, i).stack;
        if (stack) return stack;
    }
    return NULL;
}

static void emit_length(fidc_method_emitter *m, const fidc_node *node, const fidc_value *stack, int32_t length) {
    fidc_call c;
    if (!fidc_call_begin(&c, m, 3)) return;
    fidc_call_add(&c, fidc_emit_value(m, stack));
    fidc_call_add(&c, fidc_emit_int(m, 0));
    fidc_call_add(&c, length);
    fidc_call_end(&c, "aten::sym_size", "int", node);
}

static void emit_round(fidc_method_emitter *m, const fidc_node *node, int32_t k) {
    const fidc_graph *body = node->graphs[0];
    uint32_t carries = fidc_control_carries(node);
    for (uint32_t i = 0; i < body->input_count; i++) {
        const fidc_value *stack = fidc_control_binding(node, i).stack;
        if (stack) take_row(m, node, stack, body->inputs[i], k);
    }
    emit_sub_graph(m, node, body);
    for (uint32_t i = carries; i < body->output_count && i < node->output_count; i++) put_row(m, node, &body->outputs[i], node->outputs[i], k);
    hand_over_all(m, node, body->outputs, carries, true);
}

static void emit_rows(fidc_method_emitter *m, const fidc_node *node) {
    const fidc_value *stack = first_stack(node);
    if (!stack) {
        fidc_emit_fail(m->emitter, fid_fail(m->emitter->sink, FID_NOT_SUPPORTED, "%s: there is nothing to map over", fidc_where(node)));
        return;
    }
    int32_t k = fidc_emit_own(m, &(fid_pte_out_value){.kind = FID_PTE_OUT_INT});
    int32_t length = fidc_emit_own(m, &(fid_pte_out_value){.kind = FID_PTE_OUT_INT});
    int32_t done = fidc_emit_own(m, &(fid_pte_out_value){.kind = FID_PTE_OUT_BOOL});
    emit_length(m, node, stack, length);
    if (fidc_control_of(node) == FIDC_SCAN) hand_over_all(m, node, node->args[0].as.list.items, fidc_control_carries(node), true);
    int32_t start = here(m);
    emit_round(m, node, k);
    emit_prim(m, node, "executorch_prim::add", k, fidc_emit_int(m, 1), k);
    emit_prim(m, node, "executorch_prim::eq", k, length, done);
    emit_step(m, FID_PTE_OUT_JUMP_FALSE_CALL, done, start);
    emit_prim(m, node, "executorch_prim::sub", k, length, k);
}

void fidc_emit_control(fidc_method_emitter *m, const fidc_node *node) {
    switch (fidc_control_of(node)) {
    case FIDC_COND: emit_cond(m, node); return;
    case FIDC_WHILE: emit_while(m, node); return;
    case FIDC_MAP:
    case FIDC_SCAN: emit_rows(m, node); return;
    default: fidc_emit_fail(m->emitter, FID_INTERNAL); return;
    }
}
