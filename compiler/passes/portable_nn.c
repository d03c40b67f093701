/* Layers that upstream's portable kernels lack, by those that they have: attention, norms, pools. */
#include "compiler/passes/rewrite.h"

/* ---- Attention ---- */

/* Rows may see columns up to their own index. */
static fidc_value *causal_mask(fidc_rewriter *rw, const fidc_expr *rows, const fidc_expr *columns) {
    fidc_value *row = RW(rw, arange_start_step, fidc_i(0), fidc_rw_expr(rw, rows), fidc_i(1), fidc_t(FID_INT64));
    fidc_value *column = RW(rw, arange_start_step, fidc_i(0), fidc_rw_expr(rw, columns), fidc_i(1), fidc_t(FID_INT64));
    return fidc_rw_op2(rw, FID_OPID_ge_Tensor, fidc_rw_unsqueeze(rw, row, 1), column);
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
    fidc_value *seen = fidc_rw_op1(rw, FID_OPID_logical_not, hidden);
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
    if (mask) scores = fidc_rw_op2(rw, FID_OPID_add_Tensor, scores, additive(rw, mask, dtype));
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
    fidc_value *squares = fidc_rw_op2(rw, FID_OPID_mul_Tensor, x, x);
    if (!squares) return fidc_rw_become(rw, NULL);
    fidc_value *mean = RW(rw, mean_dim, fidc_v(squares), fidc_ints(rw->program, dims, count), fidc_b(true));
    fidc_value *raised = RW(rw, add_Scalar, fidc_v(mean), fidc_d(fidc_rw_double(rw, 3, smallest_step(compute))));
    fidc_value *out = fidc_rw_op2(rw, FID_OPID_mul_Tensor, x, fidc_rw_op1(rw, FID_OPID_rsqrt, raised));
    if (weight) out = fidc_rw_op2(rw, FID_OPID_mul_Tensor, out, fidc_rw_cast(rw, weight, compute));
    return fidc_rw_become(rw, fidc_rw_cast(rw, out, dtype));
}

/* ---- Convolution of volumes ---- */

/* One depth of the kernel over all depths of the output: images of (batch * depth) by a two-dimensional convolution. */
static fidc_value *convolve_depth(fidc_rewriter *rw, fidc_value *x, fidc_value *weight, int64_t k, int64_t depth, const int64_t lists[4][3]) {
    int64_t start = k * lists[2][0], end = start + (depth - 1) * lists[0][0] + 1;
    fidc_value *slab = RW(rw, slice_copy_Tensor, fidc_v(x), fidc_i(2), fidc_i(start), fidc_i(end), fidc_i(lists[0][0]));
    slab = slab ? fidc_rw_permute(rw, slab, (int64_t[]){0, 2, 1, 3, 4}) : NULL;
    if (!slab) return NULL;
    const fidc_expr *images = fidc_expr_product(rw->program, slab->sizes, 2);
    fidc_value *flat = fidc_rw_view(rw, slab, (const fidc_expr *[]){images, slab->sizes[2], slab->sizes[3], slab->sizes[4]}, 4);
    fidc_value *plane = RW(rw, select_copy_int, fidc_v(weight), fidc_i(2), fidc_i(k));
    if (!flat || !plane) return NULL;
    return RW(rw, convolution, fidc_v(flat), fidc_v(plane), fidc_none(), fidc_ints(rw->program, lists[0] + 1, 2),
              fidc_ints(rw->program, lists[1] + 1, 2), fidc_ints(rw->program, lists[2] + 1, 2), fidc_b(false),
              fidc_ints(rw->program, lists[3] + 1, 2), fidc_rw_arg(rw, 8));
}

/* A volume's convolution is the sum over the kernel's depth of convolutions of images. */
static fid_status convolution(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *weight = fidc_rw_value(rw, 1), *bias = fidc_rw_value(rw, 2), *out = fidc_rw_out(rw);
    int64_t lists[4][3]; /* stride, padding, dilation, output padding */
    if (weight->rank != 5) return fidc_rw_keep(rw);
    if (fidc_rw_bool(rw, 6, false)) return fidc_rw_refuse(rw, "upstream's portable library transposes convolutions of one and two dimensions only");
    const uint32_t places[4] = {3, 4, 5, 7};
    for (size_t i = 0; i < 4; i++) {
        if (!fidc_rw_ints_spread(rw, places[i], 3, i == 0 || i == 2, lists[i])) return fidc_rw_keep(rw);
    }
    int64_t depth = fidc_size(out, 2), kernel = fidc_size(weight, 2);
    if (depth < 0 || kernel < 1) return fidc_rw_keep(rw);
    int64_t pads[] = {0, 0, 0, 0, lists[1][0], lists[1][0]};
    if (lists[1][0]) x = RW(rw, constant_pad_nd, fidc_v(x), fidc_ints(rw->program, pads, 6), fidc_i(0));
    fidc_value *sum = NULL;
    for (int64_t k = 0; k < kernel && x; k++) {
        fidc_value *part = convolve_depth(rw, x, weight, k, depth, lists);
        sum = sum ? fidc_rw_op2(rw, FID_OPID_add_Tensor, sum, part) : part;
        if (!sum) return fidc_rw_become(rw, NULL);
    }
    if (bias && sum) {
        const fidc_expr *one = fidc_expr_const(rw->program, 1);
        sum = fidc_rw_op2(rw, FID_OPID_add_Tensor, sum, fidc_rw_view(rw, bias, (const fidc_expr *[]){bias->sizes[0], one, one}, 3));
    }
    const fidc_expr *sizes[] = {out->sizes[0], out->sizes[2], out->sizes[1], out->sizes[3], out->sizes[4]};
    sum = fidc_rw_view(rw, sum, sizes, 5);
    return fidc_rw_become(rw, sum ? fidc_rw_permute(rw, sum, (int64_t[]){0, 2, 1, 3, 4}) : NULL);
}

/* ---- Embedding bags ---- */

/* The bag of each index: how many offsets are not behind it, less one. */
static fidc_value *bag_of_index(fidc_rewriter *rw, const fidc_value *indices, fidc_value *offsets) {
    fidc_value *place = RW(rw, arange_start_step, fidc_i(0), fidc_rw_size(rw, indices, 0), fidc_i(1), fidc_t((fid_dtype)offsets->dtype));
    fidc_value *reached = fidc_rw_op2(rw, FID_OPID_ge_Tensor, fidc_rw_unsqueeze(rw, place, 1), offsets);
    int64_t last = 1;
    if (!reached) return NULL;
    fidc_value *count = RW(rw, sum_dim_IntList, fidc_v(reached), fidc_ints(rw->program, &last, 1), fidc_b(false), fidc_t(FID_INT64));
    return count ? RW(rw, sub_Scalar, fidc_v(count), fidc_i(1)) : NULL;
}

/* (bags, indices): which index lies in which bag and counts. */
static fidc_value *membership(fidc_rewriter *rw, fidc_value *indices, fidc_value *bag, const fidc_expr *bags, int64_t padding) {
    fidc_value *number = RW(rw, arange_start_step, fidc_i(0), fidc_rw_expr(rw, bags), fidc_i(1), fidc_t(FID_INT64));
    fidc_value *member = fidc_rw_op2(rw, FID_OPID_eq_Tensor, fidc_rw_unsqueeze(rw, number, 1), bag);
    if (padding < 0 || !member) return member;
    return fidc_rw_op2(rw, FID_OPID_logical_and, member, RW(rw, ne_Scalar, fidc_v(indices), fidc_i(padding)));
}

/* The largest row of each bag; zeros for an empty one. */
static fidc_value *bag_maximum(fidc_rewriter *rw, fidc_value *rows, fidc_value *member) {
    fid_dtype dtype = (fid_dtype)rows->dtype;
    int64_t second = 1;
    fidc_arg dims = fidc_ints(rw->program, &second, 1);
    fidc_value *column = fidc_rw_unsqueeze(rw, member, 2), *never = fidc_value_scalar(rw->graph, dtype, -INFINITY);
    if (!column || !never) return NULL;
    fidc_value *masked = RW(rw, where_self, fidc_v(column), fidc_v(rows), fidc_v(never));
    fidc_value *largest = masked ? RW(rw, amax, fidc_v(masked), dims, fidc_b(false)) : NULL;
    fidc_value *some = RW(rw, any_dims, fidc_v(member), dims, fidc_b(true)), *zero = fidc_value_scalar(rw->graph, dtype, 0);
    return some && largest && zero ? RW(rw, where_self, fidc_v(some), fidc_v(largest), fidc_v(zero)) : NULL;
}

/* Sums are a product with the membership matrix, which also counts for the mean. */
static fidc_value *bag_sum(fidc_rewriter *rw, fidc_value *rows, fidc_value *member, bool mean) {
    fid_dtype dtype = (fid_dtype)rows->dtype;
    fidc_value *weights = fidc_rw_cast(rw, member, dtype);
    fidc_value *sum = fidc_rw_op2(rw, FID_OPID_mm, weights, rows);
    int64_t last = 1;
    if (!mean || !sum) return sum;
    fidc_value *count = RW(rw, sum_dim_IntList, fidc_v(weights), fidc_ints(rw->program, &last, 1), fidc_b(true), fidc_t(dtype));
    count = count ? RW(rw, clamp, fidc_v(count), fidc_d(1), fidc_none()) : NULL;
    return fidc_rw_op2(rw, FID_OPID_div_Tensor, sum, count);
}

/* Arguments (weight, indices, offsets, scale_grad, mode, sparse, per_sample_weights, include_last_offset, padding_idx). */
static fid_status embedding_bag(fidc_rewriter *rw) {
    fidc_value *indices = fidc_rw_value(rw, 1), *offsets = fidc_rw_value(rw, 2), *scales = fidc_rw_value(rw, 6), *out = fidc_rw_out(rw);
    for (uint32_t i = 1; i < rw->node->output_count; i++) {
        if (fidc_rw_is_used(rw, i)) return fidc_rw_keep(rw);
    }
    int64_t mode = fidc_rw_int(rw, 4, 0);
    if (fidc_rw_bool(rw, 7, false)) offsets = fidc_rw_slice(rw, offsets, 0, fidc_i(0), fidc_i(-1));
    fidc_value *rows = RW(rw, embedding, fidc_rw_arg(rw, 0), fidc_v(indices)), *bag = offsets ? bag_of_index(rw, indices, offsets) : NULL;
    if (!rows || !bag) return fidc_rw_become(rw, NULL);
    if (scales) rows = fidc_rw_op2(rw, FID_OPID_mul_Tensor, rows, fidc_rw_unsqueeze(rw, scales, 1));
    fidc_value *member = membership(rw, indices, bag, out->sizes[0], fidc_rw_int(rw, 8, -1));
    if (!rows || !member) return fidc_rw_become(rw, NULL);
    return fidc_rw_become(rw, mode == 2 ? bag_maximum(rw, rows, member) : bag_sum(rw, rows, member, mode == 1));
}

static const fidc_rule_row rows[] = {
    {FID_OPID_convolution, convolution},
    {FID_OPID_embedding_bag, embedding_bag},
    {FID_OPID_embedding_bag_padding_idx, embedding_bag},
    {FID_OPID__embedding_bag, embedding_bag},
    {FID_OPID__embedding_bag_forward_only, embedding_bag},
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
    fidc_rules_add_portable_loss(rules);
    fidc_rules_add_portable_composite(rules);
    fidc_rules_add_portable_image(rules);
    fidc_rules_add_portable_pool(rules);
    fidc_rules_add_portable_move(rules);
    fidc_rules_add_portable_sort(rules);
    fidc_rules_add_portable_special(rules);
    fidc_rules_add_portable_bessel(rules);
    fidc_rules_add_portable_polynomial(rules);
    fidc_rules_add_portable_scan(rules);
    fidc_rules_add_portable_scatter(rules);
    fidc_rules_add_portable_fft(rules);
    fidc_rules_add_portable_rest(rules);
    fidc_rules_add_portable_limits(rules);
    fidc_rules_add_portable_rnn(rules);
}
