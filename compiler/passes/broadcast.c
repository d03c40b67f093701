/* An operand that is expanded for an operator which broadcasts anyway need not be: the copy goes, and its memory traffic with it. */
#include "compiler/passes/rewrite.h"

static bool is_expansion(const fidc_value *value) {
    return value && value->type == FIDC_TENSOR && value->origin == FIDC_FROM_NODE && fidc_is(value->producer, FID_OPID_expand_copy);
}

/* Widens `sizes` (rank entries, from the right) by a value's sizes; false if they do not go together for sure. */
static bool widen(const fidc_value *value, const fidc_expr **sizes, size_t rank, const fidc_expr *one) {
    if (value->rank > rank) return false;
    for (size_t i = 0; i < value->rank; i++) {
        const fidc_expr **size = &sizes[rank - 1 - i], *own = value->sizes[value->rank - 1 - i];
        if (*size == one) *size = own;
        else if (own != one && own != *size) return false;
    }
    return true;
}

/* True if the call gives the same shape with `source` for argument `at`. */
static bool same_shape_with(const fidc_node *node, uint32_t at, const fidc_value *source) {
    const fidc_value *out = node->outputs[0];
    const fidc_expr *one = fidc_expr_const(node->graph->program, 1), *sizes[FID_MAX_RANK];
    bool full_rank = false;
    for (size_t d = 0; d < out->rank; d++) sizes[d] = one;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        const fidc_value *value = i == at ? source : fidc_value_of(&node->args[i]);
        if (!value || value->type != FIDC_TENSOR) continue;
        if (!widen(value, sizes, out->rank, one)) return false;
        full_rank = full_rank || value->rank == out->rank;
    }
    for (size_t d = 0; d < out->rank; d++) {
        if (sizes[d] != out->sizes[d]) return false;
    }
    return full_rank;
}

/* A tensor without dimensions counts less than others when dtypes are promoted. */
static bool keeps_dtype(const fidc_node *node, const fidc_value *source) {
    for (uint32_t i = 0; source->rank == 0 && i < node->arg_count; i++) {
        const fidc_value *value = fidc_value_of(&node->args[i]);
        if (value && value->type == FIDC_TENSOR && value->dtype != source->dtype) return false;
    }
    return true;
}

static void drop_expansions(fidc_node *node) {
    for (uint32_t i = 0; i < node->arg_count; i++) {
        const fidc_value *expanded = fidc_value_of(&node->args[i]);
        if (!is_expansion(expanded)) continue;
        fidc_value *source = fidc_value_of(&expanded->producer->args[0]);
        if (keeps_dtype(node, source) && same_shape_with(node, i, source)) node->args[i].as.value = source;
    }
}

void fidc_drop_expansions(fidc_graph *graph) {
    for (fidc_node *node = graph->first; node; node = node->next) {
        for (uint32_t i = 0; i < node->graph_count; i++) fidc_drop_expansions(node->graphs[i]);
        if (node->op->kind == FID_OP_POINTWISE && node->output_count == 1) drop_expansions(node);
    }
    fidc_graph_clean(graph);
}
