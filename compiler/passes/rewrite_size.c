/* Sizes as arguments: constants where they are known, else numbers that the graph computes from tensors it has. */
#include "compiler/passes/rewrite.h"

/* A value that stands before the rewriter's node and whose number is `expr`. */
static fidc_value *find_number(const fidc_rewriter *rw, const fidc_expr *expr) {
    const fidc_node *node = rw->node ? rw->node->previous : rw->graph->last;
    for (; node; node = node->previous) {
        for (uint32_t i = 0; i < node->output_count; i++) {
            if (node->outputs[i]->type == FIDC_INT && node->outputs[i]->number == expr) return fidc_resolve(node->outputs[i]);
        }
    }
    for (uint32_t i = 0; i < rw->graph->input_count; i++) {
        fidc_value *input = rw->graph->inputs[i];
        if (input->type == FIDC_INT && input->number == expr) return input;
    }
    return NULL;
}

/* A tensor with a dimension of that size. */
static fidc_value *with_dimension(fidc_value *value, const fidc_expr *expr, size_t *out_dim) {
    if (!value || value->type != FIDC_TENSOR) return NULL;
    for (size_t d = 0; d < value->rank; d++) {
        if (value->sizes[d] == expr) {
            *out_dim = d;
            return value;
        }
    }
    return NULL;
}

static fidc_value *find_tensor(const fidc_rewriter *rw, const fidc_expr *expr, size_t *out_dim) {
    fidc_value *found = NULL;
    for (uint32_t i = 0; rw->node && i < rw->node->arg_count && !found; i++) {
        found = with_dimension(fidc_value_of(&rw->node->args[i]), expr, out_dim);
    }
    for (uint32_t i = 0; i < rw->graph->input_count && !found; i++) found = with_dimension(rw->graph->inputs[i], expr, out_dim);
    const fidc_node *node = rw->node ? rw->node->previous : rw->graph->last;
    for (; node && !found; node = node->previous) {
        for (uint32_t i = 0; i < node->output_count && !found; i++) found = with_dimension(fidc_resolve(node->outputs[i]), expr, out_dim);
    }
    return found;
}

static const struct { uint8_t kind; fid_op_id op; } number_ops[] = {
    {FIDC_EXPR_ADD, FID_OPID_prim_add_Scalar},           {FIDC_EXPR_MUL, FID_OPID_prim_mul_Scalar},
    {FIDC_EXPR_FLOORDIV, FID_OPID_prim_floordiv_Scalar}, {FIDC_EXPR_MOD, FID_OPID_prim_mod_Scalar},
    {FIDC_EXPR_MAX, FID_OPID_prim_sym_max_Scalar},       {FIDC_EXPR_MIN, FID_OPID_prim_sym_min_Scalar},
};

static fidc_arg computed(fidc_rewriter *rw, fid_op_id op, fidc_arg a, fidc_arg b, const fidc_expr *expr) {
    if (a.kind == FIDC_ARG_NONE || b.kind == FIDC_ARG_NONE) return fidc_none();
    fidc_value *value = fidc_rw_emit(rw, op, (fidc_arg[]){a, b}, 2);
    if (value) value->number = expr;
    return fidc_v(value);
}

/* ceil(a / b) = (a + b - 1) // b for a positive constant b, the only kind that sizes have. */
static fidc_arg ceil_division(fidc_rewriter *rw, const fidc_expr *expr) {
    if (!fidc_expr_is_const(expr->b)) return fidc_none();
    const fidc_expr *raised = fidc_expr_binary(rw->program, FIDC_EXPR_ADD, expr->a, fidc_expr_const(rw->program, expr->b->constant - 1));
    return computed(rw, FID_OPID_prim_floordiv_Scalar, fidc_rw_expr(rw, raised), fidc_i(expr->b->constant), expr);
}

static fidc_arg compute_number(fidc_rewriter *rw, const fidc_expr *expr) {
    if (expr->kind == FIDC_EXPR_CEILDIV) return ceil_division(rw, expr);
    for (size_t i = 0; i < sizeof number_ops / sizeof number_ops[0]; i++) {
        if (number_ops[i].kind == expr->kind) {
            return computed(rw, number_ops[i].op, fidc_rw_expr(rw, expr->a), fidc_rw_expr(rw, expr->b), expr);
        }
    }
    return fidc_none();
}

fidc_arg fidc_rw_expr(fidc_rewriter *rw, const fidc_expr *expr) {
    if (!expr) return fidc_none();
    if (fidc_expr_is_const(expr)) return fidc_i(expr->constant);
    fidc_value *number = find_number(rw, expr);
    if (number) return fidc_v(number);
    size_t dim = 0;
    fidc_value *tensor = find_tensor(rw, expr, &dim);
    if (tensor) {
        number = RW(rw, sym_size_int, fidc_v(tensor), fidc_i((int64_t)dim));
        if (number) number->number = expr;
        return fidc_v(number);
    }
    fidc_arg made = compute_number(rw, expr);
    if (made.kind == FIDC_ARG_NONE && !rw->failed) {
        char text[200];
        fidc_expr_print(expr, text, sizeof text);
        fid_fail(rw->program->sink, FID_NOT_SUPPORTED, "no value in the graph tells the size %s", text);
        rw->failed = true;
    }
    return made;
}

fidc_arg fidc_rw_size(fidc_rewriter *rw, const fidc_value *value, size_t dim) {
    if (!value || dim >= value->rank) return fidc_none();
    if (fidc_expr_is_const(value->sizes[dim])) return fidc_i(value->sizes[dim]->constant);
    fidc_value *number = find_number(rw, value->sizes[dim]);
    if (number) return fidc_v(number);
    number = RW(rw, sym_size_int, fidc_v((fidc_value *)(uintptr_t)value), fidc_i((int64_t)dim));
    if (number) number->number = value->sizes[dim];
    return fidc_v(number);
}

fidc_arg fidc_rw_shape(fidc_rewriter *rw, const fidc_expr *const *sizes, size_t rank, bool infer) {
    fidc_arg items[FID_MAX_RANK];
    size_t unknown = rank; /* the dimension that -1 stands for */
    bool zero = false;
    for (size_t i = 0; i < rank; i++) {
        if (!fidc_expr_is_const(sizes[i])) unknown = i;
        else zero = zero || sizes[i]->constant == 0;
    }
    for (size_t i = 0; i < rank; i++) items[i] = infer && !zero && i == unknown ? fidc_i(-1) : fidc_rw_expr(rw, sizes[i]);
    return fidc_list(rw->program, items, rank);
}

const fidc_expr *fidc_expr_product(fidc_program *program, const fidc_expr *const *sizes, size_t count) {
    const fidc_expr *product = fidc_expr_const(program, 1);
    for (size_t i = 0; i < count; i++) product = fidc_expr_binary(program, FIDC_EXPR_MUL, product, sizes[i]);
    return product;
}

bool fidc_rw_same_sizes(const fidc_value *value, const fidc_expr *const *sizes, size_t rank) {
    if (value->rank != rank) return false;
    for (size_t i = 0; i < rank; i++) {
        if (value->sizes[i] != sizes[i]) return false;
    }
    return true;
}

/* What was asked for is what the value has: inference may know less about a product of symbols. */
static fidc_value *with_sizes(fidc_value *value, const fidc_expr *const *sizes) {
    for (size_t i = 0; value && i < value->rank; i++) value->sizes[i] = sizes[i];
    return value;
}

fidc_value *fidc_rw_view(fidc_rewriter *rw, fidc_value *value, const fidc_expr *const *sizes, size_t rank) {
    if (!value || fidc_rw_same_sizes(value, sizes, rank)) return value;
    return with_sizes(RW(rw, view_copy, fidc_v(value), fidc_rw_shape(rw, sizes, rank, true)), sizes);
}

fidc_value *fidc_rw_expand(fidc_rewriter *rw, fidc_value *value, const fidc_expr *const *sizes, size_t rank) {
    if (!value || fidc_rw_same_sizes(value, sizes, rank)) return value;
    fidc_arg items[FID_MAX_RANK];
    size_t lead = rank - value->rank;
    for (size_t i = 0; i < rank; i++) {
        bool kept = i >= lead && value->sizes[i - lead] == sizes[i];
        items[i] = kept ? fidc_i(-1) : fidc_rw_expr(rw, sizes[i]);
    }
    return with_sizes(RW(rw, expand_copy, fidc_v(value), fidc_list(rw->program, items, rank)), sizes);
}
