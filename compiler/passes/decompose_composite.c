/* Second names of operators, and small composites (ops/composite.def). */
#include "compiler/passes/rewrite.h"

/* ---- Second names ---- */

typedef struct second_name { fid_op_id name, means; } second_name;

static const second_name second_names[] = {
    {FID_OPID_multiply_Tensor, FID_OPID_mul_Tensor},
    {FID_OPID_multiply_Scalar, FID_OPID_mul_Scalar},
    {FID_OPID_divide_Tensor, FID_OPID_div_Tensor},
    {FID_OPID_divide_Scalar, FID_OPID_div_Scalar},
    {FID_OPID_true_divide_Tensor, FID_OPID_div_Tensor},
    {FID_OPID_true_divide_Scalar, FID_OPID_div_Scalar},
    {FID_OPID_subtract_Tensor, FID_OPID_sub_Tensor},
    {FID_OPID_subtract_Scalar, FID_OPID_sub_Scalar},
    {FID_OPID_negative, FID_OPID_neg},
    {FID_OPID_absolute, FID_OPID_abs},
    {FID_OPID_clip, FID_OPID_clamp},
    {FID_OPID_clip_Tensor, FID_OPID_clamp_Tensor},
    {FID_OPID_fix, FID_OPID_trunc},
    {FID_OPID_greater_Tensor, FID_OPID_gt_Tensor},
    {FID_OPID_greater_Scalar, FID_OPID_gt_Scalar},
    {FID_OPID_greater_equal_Tensor, FID_OPID_ge_Tensor},
    {FID_OPID_greater_equal_Scalar, FID_OPID_ge_Scalar},
    {FID_OPID_less_Tensor, FID_OPID_lt_Tensor},
    {FID_OPID_less_Scalar, FID_OPID_lt_Scalar},
    {FID_OPID_less_equal_Tensor, FID_OPID_le_Tensor},
    {FID_OPID_less_equal_Scalar, FID_OPID_le_Scalar},
    {FID_OPID_not_equal_Tensor, FID_OPID_ne_Tensor},
    {FID_OPID_not_equal_Scalar, FID_OPID_ne_Scalar},
    {FID_OPID_arccos, FID_OPID_acos},
    {FID_OPID_arcsin, FID_OPID_asin},
    {FID_OPID_arctan, FID_OPID_atan},
    {FID_OPID_arctan2, FID_OPID_atan2},
    {FID_OPID_arccosh, FID_OPID_acosh},
    {FID_OPID_arcsinh, FID_OPID_asinh},
    {FID_OPID_arctanh, FID_OPID_atanh},
    {FID_OPID_special_expit, FID_OPID_sigmoid},
    {FID_OPID_special_erf, FID_OPID_erf},
    {FID_OPID_special_erfc, FID_OPID_erfc},
    {FID_OPID_special_erfinv, FID_OPID_erfinv},
    {FID_OPID_special_exp2, FID_OPID_exp2},
    {FID_OPID_special_expm1, FID_OPID_expm1},
    {FID_OPID_special_log1p, FID_OPID_log1p},
    {FID_OPID_special_sinc, FID_OPID_sinc},
    {FID_OPID_special_gammaln, FID_OPID_lgamma},
    {FID_OPID_special_digamma, FID_OPID_digamma},
    {FID_OPID_special_psi, FID_OPID_digamma},
    {FID_OPID_special_logit, FID_OPID_logit},
    {FID_OPID_special_xlogy, FID_OPID_xlogy_Tensor},
    {FID_OPID_special_logsumexp, FID_OPID_logsumexp},
    {FID_OPID_special_softmax, FID_OPID_softmax_int},
    {FID_OPID_special_log_softmax, FID_OPID_log_softmax_int},
    {FID_OPID_ger, FID_OPID_outer},
    {FID_OPID_special_i0, FID_OPID_i0},
    {FID_OPID_concat, FID_OPID_cat},
    {FID_OPID_concatenate, FID_OPID_cat},
    {FID_OPID_native_channel_shuffle, FID_OPID_channel_shuffle},
    {FID_OPID_argwhere, FID_OPID_nonzero},
    {FID_OPID__unsafe_index_Tensor, FID_OPID_index_Tensor},
    {FID_OPID__unsafe_index_put, FID_OPID_index_put},
    {FID_OPID__is_all_true, FID_OPID_all},
    {FID_OPID__is_any_true, FID_OPID_any},
};

static fid_status by_first_name(fidc_rewriter *rw) {
    fid_op_id name = (fid_op_id)(rw->node->op - rw->program->ops->ops);
    for (size_t i = 0; i < sizeof second_names / sizeof second_names[0]; i++) {
        if (second_names[i].name == name) return fidc_rw_rename(rw, second_names[i].means);
    }
    return fidc_rw_keep(rw);
}

/* ---- Composites ---- */

/* The result's kind is the archive's: the row says no more than Scalar. */
static fid_status item(fidc_rewriter *rw) {
    const fidc_value *old_value = fidc_rw_out(rw);
    const fid_op *op = &rw->program->ops->ops[FID_OPID__local_scalar_dense];
    fidc_node *made = fidc_node_create_raw(rw->graph, rw->node, op, rw->node->args, rw->node->arg_count);
    fidc_value *out = made ? fidc_node_add_output(made, NULL, (fidc_type)old_value->type) : NULL;
    if (!out) return FID_OUT_OF_MEMORY;
    out->number = old_value->number;
    made->source = rw->node->source;
    made->module = rw->node->module;
    return fidc_rw_become(rw, out);
}

/* x[1:] - x[:-1], n times; of bools, whether they differ. */
static fid_status diff(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *parts[3];
    int64_t dim = fidc_rw_dim(rw, 2, -1, x->rank);
    size_t count = 0;
    if (fidc_rw_int(rw, 1, 1) == 0) return fidc_rw_become(rw, x); /* not even joined, as PyTorch has it */
    if (fidc_rw_value(rw, 3)) parts[count++] = fidc_rw_value(rw, 3);
    parts[count++] = x;
    if (fidc_rw_value(rw, 4)) parts[count++] = fidc_rw_value(rw, 4);
    x = fidc_rw_cat(rw, parts, count, dim);
    for (int64_t n = fidc_rw_int(rw, 1, 1); n > 0 && x; n--) {
        fidc_value *later = fidc_rw_slice(rw, x, dim, fidc_i(1), fidc_none());
        fidc_value *earlier = fidc_rw_slice(rw, x, dim, fidc_i(0), fidc_i(-1));
        x = fidc_rw_op2(rw, x->dtype == FID_BOOL ? FID_OPID_logical_xor : FID_OPID_sub_Tensor, later, earlier);
    }
    return fidc_rw_become(rw, x);
}

/* v * g / |v|, the norm over every dimension but dim. */
static fid_status weight_norm(fidc_rewriter *rw) {
    fidc_value *v = fidc_rw_value(rw, 0), *g = fidc_rw_value(rw, 1);
    int64_t dim = fidc_rw_dim(rw, 2, 0, v->rank), dims[FID_MAX_RANK];
    size_t count = 0;
    for (int64_t d = 0; d < v->rank; d++) {
        if (d != dim) dims[count++] = d;
    }
    fidc_value *norm = RW(rw, linalg_vector_norm, fidc_v(v), fidc_d(2), fidc_ints(rw->program, dims, count), fidc_b(true));
    return fidc_rw_become(rw, fidc_rw_op2(rw, FID_OPID_mul_Tensor, v, fidc_rw_op2(rw, FID_OPID_div_Tensor, g, norm)));
}

/* softmax, and zeros in rows that are -inf throughout. */
static fid_status safe_softmax(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_cast(rw, fidc_rw_value(rw, 0), (fid_dtype)fidc_rw_out(rw)->dtype);
    if (!x) return fidc_rw_become(rw, NULL);
    fidc_value *weights = RW(rw, _softmax, fidc_v(x), fidc_rw_arg(rw, 1), fidc_b(false));
    fidc_value *seen = fidc_rw_op1(rw, FID_OPID_logical_not, RW(rw, eq_Scalar, fidc_v(x), fidc_d(-INFINITY)));
    int64_t dim = fidc_rw_int(rw, 1, -1);
    fidc_value *zero = fidc_value_scalar(rw->graph, (fid_dtype)x->dtype, 0);
    if (!seen || !zero) return fidc_rw_become(rw, NULL);
    seen = RW(rw, any_dims, fidc_v(seen), fidc_ints(rw->program, &dim, 1), fidc_b(true));
    return fidc_rw_become(rw, RW(rw, where_self, fidc_v(seen), fidc_v(weights), fidc_v(zero)));
}

static fid_status inner(fidc_rewriter *rw) {
    fidc_value *a = fidc_rw_value(rw, 0), *b = fidc_rw_value(rw, 1);
    if (!a->rank || !b->rank) return fidc_rw_become(rw, fidc_rw_op2(rw, FID_OPID_mul_Tensor, a, b));
    if (b->rank > 2) return fidc_rw_keep(rw);
    return fidc_rw_become(rw, fidc_rw_op2(rw, FID_OPID_matmul, a, b->rank == 2 ? fidc_rw_transpose(rw, b, 0, 1) : b));
}

/* Real numbers are their own conjugates. */
static fid_status conj_physical(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    return fid_dtype_is_complex((fid_dtype)x->dtype) ? fidc_rw_keep(rw) : fidc_rw_become(rw, x);
}

static const fidc_rule_row rows[] = {
    {FID_OPID_conj_physical, conj_physical},
    {FID_OPID_item, item},
    {FID_OPID_diff, diff},
    {FID_OPID__weight_norm, weight_norm},
    {FID_OPID__safe_softmax, safe_softmax},
    {FID_OPID_inner, inner},
};

void fidc_rules_add_composite(fidc_rules *rules) {
    for (size_t i = 0; i < sizeof second_names / sizeof second_names[0]; i++) {
        fidc_rule_row row = {second_names[i].name, by_first_name};
        fidc_rules_add(rules, &row, 1);
    }
    fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]);
}
