/* Losses, similarities and distances by the arithmetic that defines them. */
#include "compiler/passes/rewrite.h"


enum { REDUCE_NONE = 0, REDUCE_MEAN = 1, REDUCE_SUM = 2 };

/* ---- Negative log likelihood ---- */

/* A weight for each class, along dimension 1 (0 of a vector). */
static fidc_value *along_classes(fidc_rewriter *rw, fidc_value *weight, const fidc_value *like) {
    const fidc_expr *sizes[FID_MAX_RANK];
    if (!weight->rank) return weight;
    for (size_t d = 0; d < like->rank; d++) sizes[d] = fidc_expr_const(rw->program, 1);
    sizes[like->rank > 1 ? 1 : 0] = weight->sizes[0];
    return fidc_rw_view(rw, weight, sizes, like->rank);
}

/* (n, classes, d1, d2, ...) is viewed as images for the kernel of two dimensions. */
static fidc_value *likelihood(fidc_rewriter *rw, fidc_value *x, fidc_value *target, fidc_arg weight, int64_t reduction, fidc_arg ignore) {
    if (!x || !x->rank || (x->rank > 1 && target->rank + 1u != x->rank)) return NULL;
    fid_op_id op = x->rank <= 2 ? FID_OPID_nll_loss_forward : FID_OPID_nll_loss2d_forward;
    const fidc_expr *target_sizes[FID_MAX_RANK];
    size_t target_rank = target->rank;
    memcpy(target_sizes, target->sizes, target_rank * sizeof *target_sizes);
    if (x->rank > 2) {
        const fidc_expr *one = fidc_expr_const(rw->program, 1), *rest = fidc_expr_product(rw->program, x->sizes + 2, x->rank - 2u);
        x = fidc_rw_view(rw, x, (const fidc_expr *[]){x->sizes[0], x->sizes[1], one, rest}, 4);
        target = fidc_rw_view(rw, target, (const fidc_expr *[]){target->sizes[0], one, rest}, 3);
    }
    if (!x || !target) return NULL;
    fidc_value *loss = fidc_rw_emit(rw, op, (fidc_arg[]){fidc_v(x), fidc_v(target), weight, fidc_i(reduction), ignore}, 5);
    return reduction == REDUCE_NONE ? fidc_rw_view(rw, loss, target_sizes, target_rank) : loss;
}

static fid_status nll_loss_nd(fidc_rewriter *rw) {
    return fidc_rw_become(rw, likelihood(rw, fidc_rw_value(rw, 0), fidc_rw_value(rw, 1), fidc_rw_arg(rw, 2), fidc_rw_int(rw, 3, REDUCE_MEAN),
                                         fidc_rw_arg(rw, 4)));
}

/* Sum over classes of -target * log p, with the targets moved towards uniform by the smoothing. The mean is over samples. */
static fidc_value *soft_cross_entropy(fidc_rewriter *rw, fidc_value *log_p, fidc_value *target, fidc_value *weight, int64_t reduction, double smoothing) {
    size_t dim = log_p->rank > 1 ? 1 : 0;
    int64_t classes = fidc_size(log_p, dim), samples = 1;
    if (classes < 0) return NULL;
    if (smoothing > 0) target = fidc_rw_opd(rw, FID_OPID_add_Scalar, fidc_rw_opd(rw, FID_OPID_mul_Scalar, target, 1 - smoothing), smoothing / (double)classes);
    fidc_value *terms = fidc_rw_op2(rw, FID_OPID_mul_Tensor, log_p, target);
    if (weight) terms = fidc_rw_op2(rw, FID_OPID_mul_Tensor, terms, along_classes(rw, weight, log_p));
    fidc_value *each = fidc_rw_op1(rw, FID_OPID_neg, fidc_rw_sum_dim(rw, terms, (int64_t)dim, false));
    if (reduction == REDUCE_NONE || !each) return each;
    fidc_value *sum = fidc_rw_op1(rw, FID_OPID_sum, each);
    if (reduction == REDUCE_SUM) return sum;
    for (size_t d = 0; d < each->rank; d++) samples *= fidc_size(each, d);
    return samples > 0 ? fidc_rw_opd(rw, FID_OPID_div_Scalar, sum, (double)samples) : NULL;
}

/* The weight of each sample's class, 0 where the target is ignored: what a weighted mean divides by. */
static fidc_value *sample_weights(fidc_rewriter *rw, fidc_value *log_p, fidc_value *target, fidc_value *weight, int64_t ignore, fidc_value **out_kept) {
    fid_dtype dtype = (fid_dtype)log_p->dtype;
    fidc_value *kept = RW(rw, ne_Scalar, fidc_v(target), fidc_i(ignore));
    *out_kept = fidc_rw_cast(rw, kept, dtype);
    if (!weight || !kept) return *out_kept;
    fidc_value *zero = fidc_value_scalar(rw->graph, FID_INT64, 0);
    fidc_value *safe = zero ? RW(rw, where_self, fidc_v(kept), fidc_v(target), fidc_v(zero)) : NULL;
    if (!safe) return NULL;
    const fidc_expr *flat = fidc_expr_product(rw->program, safe->sizes, safe->rank);
    fidc_value *picked = RW(rw, index_select, fidc_v(weight), fidc_i(0), fidc_v(fidc_rw_view(rw, safe, &flat, 1)));
    return fidc_rw_op2(rw, FID_OPID_mul_Tensor, fidc_rw_view(rw, picked, target->sizes, target->rank), *out_kept);
}

/* (1 - s) nll + s / classes * sum over classes of -w log p, both divided by the weight of the samples for a mean. */
static fidc_value *smooth_cross_entropy(fidc_rewriter *rw, fidc_value *log_p, fidc_value *target, int64_t reduction, double smoothing) {
    fidc_value *weight = fidc_rw_value(rw, 2), *kept, *uniform = log_p;
    size_t dim = log_p->rank > 1 ? 1 : 0;
    int64_t classes = fidc_size(log_p, dim);
    fidc_value *share = sample_weights(rw, log_p, target, weight, fidc_rw_int(rw, 4, -100), &kept);
    if (!share || classes <= 0) return NULL;
    if (weight) uniform = fidc_rw_op2(rw, FID_OPID_mul_Tensor, log_p, along_classes(rw, weight, log_p));
    uniform = fidc_rw_op2(rw, FID_OPID_mul_Tensor, fidc_rw_op1(rw, FID_OPID_neg, fidc_rw_sum_dim(rw, uniform, (int64_t)dim, false)), kept);
    fidc_value *nll = likelihood(rw, log_p, target, fidc_rw_arg(rw, 2), reduction, fidc_rw_arg(rw, 4));
    if (reduction != REDUCE_NONE) uniform = fidc_rw_op1(rw, FID_OPID_sum, uniform);
    if (reduction == REDUCE_MEAN) uniform = fidc_rw_op2(rw, FID_OPID_div_Tensor, uniform, fidc_rw_op1(rw, FID_OPID_sum, share));
    return fidc_rw_op2(rw, FID_OPID_add_Tensor, fidc_rw_opd(rw, FID_OPID_mul_Scalar, nll, 1 - smoothing),
               fidc_rw_opd(rw, FID_OPID_mul_Scalar, uniform, smoothing / (double)classes));
}

static fid_status cross_entropy(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *target = fidc_rw_value(rw, 1);
    int64_t reduction = fidc_rw_int(rw, 3, REDUCE_MEAN);
    double smoothing = fidc_rw_double(rw, 5, 0);
    if (!x->rank) return fidc_rw_keep(rw);
    fidc_value *log_p = RW(rw, _log_softmax, fidc_v(x), fidc_i(x->rank > 1 ? 1 : 0), fidc_b(false));
    if (!log_p) return fidc_rw_become(rw, NULL);
    if (fid_dtype_is_float((fid_dtype)target->dtype)) {
        return fidc_rw_become(rw, soft_cross_entropy(rw, log_p, target, fidc_rw_value(rw, 2), reduction, smoothing));
    }
    if (smoothing > 0) return fidc_rw_become(rw, smooth_cross_entropy(rw, log_p, target, reduction, smoothing));
    return fidc_rw_become(rw, likelihood(rw, log_p, target, fidc_rw_arg(rw, 2), reduction, fidc_rw_arg(rw, 4)));
}

/* ---- Similarity and distance ---- */

/* Each operand over its length, which counts at least eps. */
static fidc_value *normalized(fidc_rewriter *rw, fidc_value *x, int64_t dim, double eps) {
    fidc_value *norm = x ? RW(rw, linalg_vector_norm, fidc_v(x), fidc_d(2), fidc_ints(rw->program, &dim, 1), fidc_b(true)) : NULL;
    return fidc_rw_op2(rw, FID_OPID_div_Tensor, x, fidc_rw_opd(rw, FID_OPID_clamp_min, norm, eps));
}

static fid_status cosine_similarity(fidc_rewriter *rw) {
    fid_dtype dtype = (fid_dtype)fidc_rw_out(rw)->dtype;
    fidc_value *a = fidc_rw_cast(rw, fidc_rw_value(rw, 0), dtype), *b = fidc_rw_cast(rw, fidc_rw_value(rw, 1), dtype);
    size_t rank = fidc_rw_out(rw)->rank + 1u;
    double eps = fidc_rw_double(rw, 3, 1e-8);
    int64_t dim = fidc_rw_dim(rw, 2, 1, rank) - (int64_t)rank; /* from the end: the operands may have other ranks */
    if (!a || !b || -dim > a->rank || -dim > b->rank) return fidc_rw_keep(rw);
    fidc_value *product = fidc_rw_op2(rw, FID_OPID_mul_Tensor, normalized(rw, a, dim, eps), normalized(rw, b, dim, eps));
    return fidc_rw_become(rw, fidc_rw_sum_dim(rw, product, dim, false));
}

/* |a - b + eps| of order p over the last dimension. */
static fid_status pairwise_distance(fidc_rewriter *rw) {
    fidc_value *gap = fidc_rw_op2(rw, FID_OPID_sub_Tensor, fidc_rw_value(rw, 0), fidc_rw_value(rw, 1));
    int64_t last = -1;
    gap = fidc_rw_opd(rw, FID_OPID_add_Scalar, gap, fidc_rw_double(rw, 3, 1e-6));
    if (!gap) return fidc_rw_become(rw, NULL);
    return fidc_rw_become(rw, RW(rw, linalg_vector_norm, fidc_v(gap), fidc_rw_arg(rw, 2), fidc_ints(rw->program, &last, 1), fidc_rw_arg(rw, 4)));
}

static fid_status cdist(fidc_rewriter *rw) { return fidc_rw_rename(rw, FID_OPID__cdist_forward); }
static fid_status pdist(fidc_rewriter *rw) { return fidc_rw_rename(rw, FID_OPID__pdist_forward); }

static const fidc_rule_row rows[] = {
    {FID_OPID_nll_loss_nd, nll_loss_nd},
    {FID_OPID_cross_entropy_loss, cross_entropy},
    {FID_OPID_cosine_similarity, cosine_similarity},
    {FID_OPID_pairwise_distance, pairwise_distance},
    {FID_OPID_cdist, cdist},
    {FID_OPID_pdist, pdist},
};

void fidc_rules_add_loss(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
