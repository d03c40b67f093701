/* Layers that upstream's portable kernels lack, by those that they have: attention, norms, pools. */
#include "compiler/passes/rewrite.h"

static fidc_value *op1(fidc_rewriter *rw, fid_op_id op, fidc_value *x) { return x ? fidc_rw_emit(rw, op, (fidc_arg[]){fidc_v(x)}, 1) : NULL; }
static fidc_value *op2(fidc_rewriter *rw, fid_op_id op, fidc_value *a, fidc_value *b) {
    return a && b ? fidc_rw_emit(rw, op, (fidc_arg[]){fidc_v(a), fidc_v(b)}, 2) : NULL;
}

/* ---- Attention ---- */

/* Rows may see columns up to their own index. */
static fidc_value *causal_mask(fidc_rewriter *rw, const fidc_expr *rows, const fidc_expr *columns) {
    fidc_value *row = RW(rw, arange_start_step, fidc_i(0), fidc_rw_expr(rw, rows), fidc_i(1), fidc_t(FID_INT64));
    fidc_value *column = RW(rw, arange_start_step, fidc_i(0), fidc_rw_expr(rw, columns), fidc_i(1), fidc_t(FID_INT64));
    return op2(rw, FID_OPID_ge_Tensor, fidc_rw_unsqueeze(rw, row, 1), column);
}

/* A bool mask becomes 0 and -inf. */
static fidc_value *additive(fidc_rewriter *rw, fidc_value *mask, fid_dtype dtype) {
    if (!mask || mask->dtype != FID_BOOL) return fidc_rw_cast(rw, mask, dtype);
    fidc_value *zero = fidc_value_scalar(rw->graph, dtype, 0), *never = fidc_value_scalar(rw->graph, dtype, -INFINITY);
    return zero && never ? RW(rw, where_self, fidc_v(mask), fidc_v(zero), fidc_v(never)) : NULL;
}

static fidc_value *softmax_rows(fidc_rewriter *rw, fidc_value *scores) {
    return scores ? RW(rw, _softmax, fidc_v(scores), fidc_i(-1), fidc_b(false)) : NULL;
}

/* A row that sees nothing attends to nothing: PyTorch gives zeros there, a plain softmax NaN. */
static fidc_value *softmax_seen(fidc_rewriter *rw, fidc_value *scores) {
    fidc_value *weights = softmax_rows(rw, scores);
    if (!weights) return NULL;
    fidc_value *hidden = RW(rw, eq_Scalar, fidc_v(scores), fidc_d(-INFINITY));
    int64_t last = -1;
    fidc_value *seen = op1(rw, FID_OPID_logical_not, hidden);
    if (!seen) return NULL;
    seen = RW(rw, any_dims, fidc_v(seen), fidc_ints(rw->program, &last, 1), fidc_b(true));
    fidc_value *zero = fidc_value_scalar(rw->graph, (fid_dtype)scores->dtype, 0);
    return seen && zero ? RW(rw, where_self, fidc_v(seen), fidc_v(weights), fidc_v(zero)) : NULL;
}

/* Each key head serves several query heads, which are neighbours. */
static fidc_value *repeat_heads(fidc_rewriter *rw, fidc_value *x, const fidc_value *query) {
    size_t heads_dim = x->rank - 3u;
    int64_t heads = fidc_size(x, heads_dim), wanted = fidc_size(query, query->rank - 3u);
    if (heads <= 0 || wanted % heads || heads == wanted) return x;
    const fidc_expr *sizes[FID_MAX_RANK + 1], *flat[FID_MAX_RANK];
    memcpy(flat, x->sizes, x->rank * sizeof *flat);
    flat[heads_dim] = query->sizes[query->rank - 3u];
    memcpy(sizes, x->sizes, (heads_dim + 1) * sizeof *sizes);
    sizes[heads_dim + 1] = fidc_expr_const(rw->program, wanted / heads);
    memcpy(sizes + heads_dim + 2, x->sizes + heads_dim + 1, 2 * sizeof *sizes);
    fidc_value *apart = fidc_rw_unsqueeze(rw, x, (int64_t)heads_dim + 1);
    return fidc_rw_view(rw, fidc_rw_expand(rw, apart, sizes, x->rank + 1u), flat, x->rank);
}

/* Arguments (query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa). The scale goes to query and key in equal
 * parts, which keeps half-precision products in range, as PyTorch does. */
static fid_status attention(fidc_rewriter *rw) {
    fidc_value *q = fidc_rw_value(rw, 0), *k = fidc_rw_value(rw, 1), *v = fidc_rw_value(rw, 2), *mask = fidc_rw_value(rw, 3);
    fid_dtype dtype = (fid_dtype)q->dtype;
    int64_t width = fidc_size(q, q->rank - 1u);
    double scale = fidc_rw_double(rw, 6, width > 0 ? 1 / sqrt((double)width) : 0);
    if (scale == 0 && fidc_rw_is_none(rw, 6)) return fidc_rw_refuse(rw, "the width of the heads must be constant");
    if (fidc_rw_bool(rw, 7, false)) {
        k = repeat_heads(rw, k, q);
        v = repeat_heads(rw, v, q);
    }
    bool masked = mask != NULL;
    if (fidc_rw_bool(rw, 5, false)) mask = causal_mask(rw, q->sizes[q->rank - 2u], k->sizes[k->rank - 2u]);
    fidc_value *scaled_q = RW(rw, mul_Scalar, fidc_v(q), fidc_d(sqrt(fabs(scale)) * (scale < 0 ? -1 : 1)));
    fidc_value *scaled_k = RW(rw, mul_Scalar, fidc_v(k), fidc_d(sqrt(fabs(scale))));
    fidc_value *scores = fidc_rw_matmul(rw, scaled_q, fidc_rw_transpose(rw, scaled_k, -2, -1));
    if (mask) scores = op2(rw, FID_OPID_add_Tensor, scores, additive(rw, mask, dtype));
    return fidc_rw_become(rw, fidc_rw_matmul(rw, masked ? softmax_seen(rw, scores) : softmax_rows(rw, scores), v));
}

/* ---- Norms ---- */

static fid_status layer_norm(fidc_rewriter *rw) {
    return fidc_rw_become(rw, RW(rw, native_layer_norm, fidc_rw_arg(rw, 0), fidc_rw_arg(rw, 1), fidc_rw_arg(rw, 2), fidc_rw_arg(rw, 3),
                                 fidc_rw_arg(rw, 4)));
}

static double smallest_step(fid_dtype dtype) {
    if (dtype == FID_FLOAT64) return 2.220446049250313e-16;
    return 1.1920928955078125e-07; /* half types compute in float32 */
}

/* x / sqrt(mean(x^2) + eps) * weight over the last dimensions, in float32 for half types. */
static fid_status rms_norm(fidc_rewriter *rw) {
    fidc_value *input = fidc_rw_value(rw, 0), *weight = fidc_rw_value(rw, 2);
    fid_dtype dtype = (fid_dtype)input->dtype, compute = fidc_compute_dtype(dtype);
    fidc_value *x = fidc_rw_cast(rw, input, compute);
    size_t count;
    int64_t dims[FID_MAX_RANK];
    fidc_rw_items(rw, 1, &count);
    for (size_t i = 0; i < count && i < FID_MAX_RANK; i++) dims[i] = (int64_t)(input->rank - count + i);
    fidc_value *squares = op2(rw, FID_OPID_mul_Tensor, x, x);
    if (!squares) return fidc_rw_become(rw, NULL);
    fidc_value *mean = RW(rw, mean_dim, fidc_v(squares), fidc_ints(rw->program, dims, count), fidc_b(true));
    fidc_value *raised = RW(rw, add_Scalar, fidc_v(mean), fidc_d(fidc_rw_double(rw, 3, smallest_step(compute))));
    fidc_value *out = op2(rw, FID_OPID_mul_Tensor, x, op1(rw, FID_OPID_rsqrt, raised));
    if (weight) out = op2(rw, FID_OPID_mul_Tensor, out, fidc_rw_cast(rw, weight, compute));
    return fidc_rw_become(rw, fidc_rw_cast(rw, out, dtype));
}

static const fidc_rule_row rows[] = {
    {FID_OPID_scaled_dot_product_attention, attention},
    {FID_OPID_layer_norm, layer_norm},
    {FID_OPID_rms_norm, rms_norm},
};

void fidc_rules_add_portable_nn(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }

void fidc_rules_add_portable(fidc_rules *rules) {
    fidc_rules_add_portable_pointwise(rules);
    fidc_rules_add_portable_reduction(rules);
    fidc_rules_add_portable_product(rules);
    fidc_rules_add_portable_nn(rules);
    fidc_rules_add_portable_image(rules);
    fidc_rules_add_portable_pool(rules);
    fidc_rules_add_portable_move(rules);
    fidc_rules_add_portable_rnn(rules);
}
