/* Losses by arithmetic that upstream's portable kernels have. Reductions: 0 none, 1 mean, 2 sum. */
#include "compiler/passes/rewrite.h"

static fidc_value *mul(fidc_rewriter *rw, fidc_value *a, fidc_value *b) { return fidc_rw_op2(rw, FID_OPID_mul_Tensor, a, b); }
static fidc_value *add(fidc_rewriter *rw, fidc_value *a, fidc_value *b) { return fidc_rw_op2(rw, FID_OPID_add_Tensor, a, b); }
static fidc_value *sub(fidc_rewriter *rw, fidc_value *a, fidc_value *b) { return fidc_rw_op2(rw, FID_OPID_sub_Tensor, a, b); }
static fidc_value *size_of(fidc_rewriter *rw, fidc_value *x) { return fidc_rw_op1(rw, FID_OPID_abs, x); }
static fidc_value *at_least(fidc_rewriter *rw, fidc_value *x, double low) {
    return x ? RW(rw, clamp, fidc_v(x), fidc_d(low), fidc_none()) : NULL;
}
/* Operand `i` in the dtype that the loss has. */
static fidc_value *operand(fidc_rewriter *rw, uint32_t i) { return fidc_rw_cast(rw, fidc_rw_value(rw, i), (fid_dtype)fidc_rw_out(rw)->dtype); }
static fid_status done(fidc_rewriter *rw, fidc_value *each, uint32_t reduction_arg) {
    return fidc_rw_become(rw, each ? fidc_rw_reduce_loss(rw, each, fidc_rw_int(rw, reduction_arg, 1)) : NULL);
}

/* ---- Distances ---- */

static fid_status l1_loss(fidc_rewriter *rw) { return done(rw, size_of(rw, sub(rw, operand(rw, 0), operand(rw, 1))), 2); }

/* Quadratic up to `limit`, linear beyond: 0.5 d^2 * curve, and slope * (d - limit / 2). */
static fidc_value *bent(fidc_rewriter *rw, fidc_value *distance, double limit, double curve, double slope) {
    fidc_value *near = fidc_rw_opd(rw, FID_OPID_mul_Scalar, mul(rw, distance, distance), 0.5 * curve);
    fidc_value *far = fidc_rw_opd(rw, FID_OPID_mul_Scalar, fidc_rw_opd(rw, FID_OPID_sub_Scalar, distance, limit / 2), slope);
    return fidc_rw_where(rw, fidc_rw_opd(rw, FID_OPID_lt_Scalar, distance, limit), near, far);
}

static fid_status smooth_l1_loss(fidc_rewriter *rw) {
    double beta = fidc_rw_double(rw, 3, 1);
    if (beta == 0) return l1_loss(rw);
    return done(rw, bent(rw, size_of(rw, sub(rw, operand(rw, 0), operand(rw, 1))), beta, 1 / beta, 1), 2);
}

static fid_status huber_loss(fidc_rewriter *rw) {
    double delta = fidc_rw_double(rw, 3, 1);
    return done(rw, bent(rw, size_of(rw, sub(rw, operand(rw, 0), operand(rw, 1))), delta, 1, delta), 2);
}

/* ---- Probabilities ---- */

/* -(t log p + (1 - t) log(1 - p)), logarithms not below -100 as PyTorch has it. */
static fid_status binary_cross_entropy(fidc_rewriter *rw) {
    fidc_value *p = operand(rw, 0), *t = operand(rw, 1);
    if (!p || !t) return fidc_rw_become(rw, NULL);
    fidc_value *yes = at_least(rw, fidc_rw_op1(rw, FID_OPID_log, p), -100);
    fidc_value *no = at_least(rw, fidc_rw_op1(rw, FID_OPID_log1p, fidc_rw_op1(rw, FID_OPID_neg, p)), -100);
    fidc_value *loss = sub(rw, mul(rw, fidc_rw_opd(rw, FID_OPID_sub_Scalar, t, 1), no), mul(rw, t, yes));
    if (fidc_rw_value(rw, 2)) loss = mul(rw, loss, operand(rw, 2));
    return done(rw, loss, 3);
}

/* (1 - t) x + (1 + (w - 1) t) (log(1 + exp(-|x|)) + max(-x, 0)) */
static fid_status binary_cross_entropy_with_logits(fidc_rewriter *rw) {
    fidc_value *x = operand(rw, 0), *t = operand(rw, 1);
    if (!x || !t) return fidc_rw_become(rw, NULL);
    fidc_value *tail = fidc_rw_op1(rw, FID_OPID_log1p, fidc_rw_op1(rw, FID_OPID_exp, fidc_rw_op1(rw, FID_OPID_neg, size_of(rw, x))));
    fidc_value *soft = add(rw, tail, at_least(rw, fidc_rw_op1(rw, FID_OPID_neg, x), 0));
    if (fidc_rw_value(rw, 3)) {
        fidc_value *extra = fidc_rw_opd(rw, FID_OPID_sub_Scalar, operand(rw, 3), 1);
        soft = mul(rw, soft, fidc_rw_opd(rw, FID_OPID_add_Scalar, mul(rw, extra, t), 1));
    }
    fidc_value *loss = sub(rw, soft, mul(rw, fidc_rw_opd(rw, FID_OPID_sub_Scalar, t, 1), x));
    if (fidc_rw_value(rw, 2)) loss = mul(rw, loss, operand(rw, 2));
    return done(rw, loss, 4);
}

/* t (log t - x), 0 where t is 0; with logarithmic targets exp(t) (t - x). */
static fid_status kl_div(fidc_rewriter *rw) {
    fidc_value *x = operand(rw, 0), *t = operand(rw, 1);
    if (!x || !t) return fidc_rw_become(rw, NULL);
    if (fidc_rw_bool(rw, 3, false)) return done(rw, mul(rw, fidc_rw_op1(rw, FID_OPID_exp, t), sub(rw, t, x)), 2);
    fidc_value *zero = fidc_rw_scalar(rw, (fid_dtype)x->dtype, fidc_i(0));
    fidc_value *entropy = fidc_rw_where(rw, fidc_rw_opd(rw, FID_OPID_eq_Scalar, t, 0), zero, mul(rw, t, fidc_rw_op1(rw, FID_OPID_log, t)));
    return done(rw, sub(rw, entropy, mul(rw, t, x)), 2);
}

/* exp(x) - t x, or x - t log(x + eps); with the rest of Stirling's formula where t > 1 if asked for. */
static fid_status poisson_nll_loss(fidc_rewriter *rw) {
    fidc_value *x = operand(rw, 0), *t = operand(rw, 1);
    if (!x || !t) return fidc_rw_become(rw, NULL);
    fidc_value *log_x = fidc_rw_op1(rw, FID_OPID_log, fidc_rw_opn(rw, FID_OPID_add_Scalar, x, fidc_rw_arg(rw, 4)));
    fidc_value *loss = fidc_rw_bool(rw, 2, true) ? sub(rw, fidc_rw_op1(rw, FID_OPID_exp, x), mul(rw, t, x)) : sub(rw, x, mul(rw, t, log_x));
    if (fidc_rw_bool(rw, 3, false)) {
        fidc_value *root = fidc_rw_op1(rw, FID_OPID_log, fidc_rw_opd(rw, FID_OPID_mul_Scalar, t, 6.28318530717958647692));
        fidc_value *rest = add(rw, sub(rw, mul(rw, t, fidc_rw_op1(rw, FID_OPID_log, t)), t), fidc_rw_opd(rw, FID_OPID_mul_Scalar, root, 0.5));
        fidc_value *zero = fidc_rw_scalar(rw, (fid_dtype)x->dtype, fidc_i(0));
        loss = add(rw, loss, fidc_rw_where(rw, fidc_rw_opd(rw, FID_OPID_gt_Scalar, t, 1), rest, zero));
    }
    return done(rw, loss, 5);
}

/* ---- Margins ---- */

/* log(1 + exp(-t x)) */
static fid_status soft_margin_loss(fidc_rewriter *rw) {
    fidc_value *power = fidc_rw_op1(rw, FID_OPID_exp, fidc_rw_op1(rw, FID_OPID_neg, mul(rw, operand(rw, 0), operand(rw, 1))));
    return done(rw, fidc_rw_op1(rw, FID_OPID_log1p, power), 2);
}

/* x where t is 1, max(margin - x, 0) where it is -1 */
static fidc_value *hinge(fidc_rewriter *rw, fidc_value *same, fidc_value *other, fidc_value *t) {
    fidc_value *zero = same ? fidc_rw_scalar(rw, (fid_dtype)same->dtype, fidc_i(0)) : NULL;
    fidc_value *a = fidc_rw_where(rw, fidc_rw_opd(rw, FID_OPID_eq_Scalar, t, 1), same, zero);
    fidc_value *b = fidc_rw_where(rw, fidc_rw_opd(rw, FID_OPID_eq_Scalar, t, t->dtype == FID_UINT8 ? 255 : -1), other, zero); /* -1 as a byte */
    return add(rw, a, b);
}

static fid_status hinge_embedding_loss(fidc_rewriter *rw) {
    fidc_value *x = operand(rw, 0), *t = operand(rw, 1);
    fidc_value *other = at_least(rw, fidc_rw_opn(rw, FID_OPID_rsub_Scalar, x, fidc_rw_arg(rw, 2)), 0);
    if (!x || !t) return fidc_rw_become(rw, NULL);
    /* Unlike cosine_embedding_loss it counts targets that are neither: both parts apply where t is not the other's number. */
    fidc_value *zero = fidc_rw_scalar(rw, (fid_dtype)x->dtype, fidc_i(0));
    fidc_value *a = fidc_rw_where(rw, fidc_rw_opd(rw, FID_OPID_ne_Scalar, t, 1), other, zero);
    fidc_value *b = fidc_rw_where(rw, fidc_rw_opd(rw, FID_OPID_ne_Scalar, t, -1), x, zero);
    return done(rw, add(rw, a, b), 3);
}

/* Differences and products of whole numbers wrap in their own dtype before the margin makes them fractions, as in PyTorch. */
static fid_status margin_ranking_loss(fidc_rewriter *rw) {
    fidc_value *apart = sub(rw, fidc_rw_value(rw, 0), fidc_rw_value(rw, 1));
    fidc_value *gap = mul(rw, fidc_rw_op1(rw, FID_OPID_neg, fidc_rw_value(rw, 2)), apart);
    gap = fidc_rw_cast(rw, gap, (fid_dtype)fidc_rw_out(rw)->dtype);
    return done(rw, at_least(rw, fidc_rw_opn(rw, FID_OPID_add_Scalar, gap, fidc_rw_arg(rw, 3)), 0), 4);
}

/* Products of whole numbers wrap in their own dtype, their sum does not. */
static fidc_value *product_sum(fidc_rewriter *rw, fidc_value *a, fidc_value *b, int64_t dim) {
    fidc_value *product = mul(rw, a, b);
    if (!product) return NULL;
    fid_dtype dtype = fid_dtype_is_float((fid_dtype)product->dtype) ? (fid_dtype)product->dtype : FID_INT64;
    fidc_value *sum = RW(rw, sum_dim_IntList, fidc_v(product), fidc_ints(rw->program, &dim, 1), fidc_b(false), fidc_t(dtype));
    return fidc_rw_cast(rw, sum, (fid_dtype)fidc_rw_out(rw)->dtype);
}

/* a . b / (|a| |b|) with PyTorch's small number for this loss */
static fid_status cosine_embedding_loss(fidc_rewriter *rw) {
    fidc_value *a = fidc_rw_value(rw, 0), *b = fidc_rw_value(rw, 1), *t = fidc_rw_value(rw, 2);
    if (!a->rank || !b->rank) return fidc_rw_keep(rw);
    int64_t dim = t->rank == 0 ? -1 : 1 - (int64_t)a->rank;
    fidc_value *lengths[2] = {a, b};
    for (size_t i = 0; i < 2; i++) lengths[i] = fidc_rw_opd(rw, FID_OPID_add_Scalar, product_sum(rw, lengths[i], lengths[i], dim), 1e-12);
    fidc_value *root = fidc_rw_op1(rw, FID_OPID_sqrt, mul(rw, lengths[0], lengths[1]));
    fidc_value *cosine = fidc_rw_op2(rw, FID_OPID_div_Tensor, product_sum(rw, a, b, dim), root);
    fidc_value *far = at_least(rw, fidc_rw_opn(rw, FID_OPID_sub_Scalar, cosine, fidc_rw_arg(rw, 3)), 0);
    return done(rw, hinge(rw, cosine ? RW(rw, rsub_Scalar, fidc_v(cosine), fidc_i(1)) : NULL, far, t), 4);
}

static fidc_value *distance(fidc_rewriter *rw, fidc_value *a, fidc_value *b) {
    fidc_value *gap = fidc_rw_cast(rw, sub(rw, a, b), (fid_dtype)fidc_rw_out(rw)->dtype); /* whole numbers wrapped before */
    gap = fidc_rw_opn(rw, FID_OPID_add_Scalar, gap, fidc_rw_arg(rw, 5));
    int64_t last = -1;
    return gap ? RW(rw, linalg_vector_norm, fidc_v(gap), fidc_rw_arg(rw, 4), fidc_ints(rw->program, &last, 1), fidc_b(false)) : NULL;
}

static fid_status triplet_margin_loss(fidc_rewriter *rw) {
    fidc_value *anchor = fidc_rw_value(rw, 0), *positive = fidc_rw_value(rw, 1), *negative = fidc_rw_value(rw, 2);
    fidc_value *near = distance(rw, anchor, positive), *far = distance(rw, anchor, negative);
    if (fidc_rw_bool(rw, 6, false)) far = fidc_rw_op2(rw, FID_OPID_minimum, far, distance(rw, positive, negative));
    fidc_value *gap = fidc_rw_opn(rw, FID_OPID_add_Scalar, sub(rw, near, far), fidc_rw_arg(rw, 3));
    return done(rw, at_least(rw, gap, 0), 7);
}

/* ---- Negative log likelihood ---- */

/* Classes lie in dimension 1 (0 of a vector). Picked by gather; an ignored target picks class 0 and counts nothing. */
static fid_status nll_loss(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *target = fidc_rw_value(rw, 1), *weight = fidc_rw_value(rw, 2);
    fid_dtype dtype = (fid_dtype)x->dtype;
    int64_t dim = x->rank > 1 ? 1 : 0, reduction = fidc_rw_int(rw, 3, 1);
    const fidc_expr *sizes[FID_MAX_RANK];
    memcpy(sizes, target->sizes, target->rank * sizeof *sizes);
    fidc_value *kept = RW(rw, ne_Scalar, fidc_v(target), fidc_rw_arg(rw, 4)), *zero = fidc_value_scalar(rw->graph, FID_INT64, 0);
    fidc_value *safe = fidc_rw_where(rw, kept, target, zero);
    if (!safe) return fidc_rw_become(rw, NULL);
    if (x->rank == 1 && target->rank == 1) safe = fidc_rw_squeeze(rw, safe, 0);
    fidc_value *picked = RW(rw, gather, fidc_v(x), fidc_i(dim), fidc_v(fidc_rw_unsqueeze(rw, safe, dim)));
    picked = fidc_rw_op1(rw, FID_OPID_neg, fidc_rw_view(rw, picked, sizes, target->rank));
    fidc_value *share = fidc_rw_cast(rw, kept, dtype);
    if (weight && share) {
        const fidc_expr *flat = fidc_expr_product(rw->program, safe->sizes, safe->rank);
        fidc_value *chosen = RW(rw, index_select, fidc_v(weight), fidc_i(0), fidc_v(fidc_rw_view(rw, safe, &flat, 1)));
        share = mul(rw, share, fidc_rw_view(rw, chosen, sizes, target->rank));
    }
    fidc_value *none = fidc_value_scalar(rw->graph, dtype, 0), *each = fidc_rw_where(rw, kept, mul(rw, picked, share), none);
    fidc_value *total = fidc_rw_sum(rw, share, fidc_none(), false);
    if (reduction == 0) return fidc_rw_become_all(rw, (fidc_value *[]){each, none}, 2);
    fidc_value *loss = fidc_rw_sum(rw, each, fidc_none(), false);
    if (reduction == 1) loss = fidc_rw_op2(rw, FID_OPID_div_Tensor, loss, total);
    if (!loss || !total) return fidc_rw_become(rw, NULL);
    return fidc_rw_become_all(rw, (fidc_value *[]){loss, total}, 2);
}

static const fidc_rule_row rows[] = {
    {FID_OPID_l1_loss, l1_loss},
    {FID_OPID_smooth_l1_loss, smooth_l1_loss},
    {FID_OPID_huber_loss, huber_loss},
    {FID_OPID_binary_cross_entropy, binary_cross_entropy},
    {FID_OPID_binary_cross_entropy_with_logits, binary_cross_entropy_with_logits},
    {FID_OPID_kl_div, kl_div},
    {FID_OPID_poisson_nll_loss, poisson_nll_loss},
    {FID_OPID_soft_margin_loss, soft_margin_loss},
    {FID_OPID_hinge_embedding_loss, hinge_embedding_loss},
    {FID_OPID_margin_ranking_loss, margin_ranking_loss},
    {FID_OPID_cosine_embedding_loss, cosine_embedding_loss},
    {FID_OPID_triplet_margin_loss, triplet_margin_loss},
    {FID_OPID_nll_loss_forward, nll_loss},
    {FID_OPID_nll_loss2d_forward, nll_loss},
};

void fidc_rules_add_portable_loss(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
