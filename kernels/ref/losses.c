/* Reference kernels of losses of single elements: a function of prediction, target and weights, then none, mean or sum of it. */
#include "kernels/ref/elementwise.h"

/* What a loss sees of one element. */
typedef struct loss_inputs {
    double x[FIDK_OPERANDS]; /* tensor arguments in order; an absent one is 1 */
    double p;                /* beta, delta, margin, ... */
    bool a, b;               /* switches */
    fid_dtype dtype;         /* of the tensors together */
    double eps;
} loss_inputs;

typedef double loss_function(const loss_inputs *in);

typedef struct loss {
    fid_call *call;
    const fid_tensor *tensors[FIDK_OPERANDS];
    size_t count;
    loss_inputs in;
} loss;

static loss loss_begin(fid_call *call, uint32_t tensors) {
    loss l = {.call = call, .count = tensors};
    for (uint32_t i = 0; i < tensors; i++) l.tensors[i] = fid_arg_tensor(call, i);
    return l;
}

static size_t add_tensors(const loss *l, fidk_walk *walk, size_t *places) {
    for (size_t k = 0; k < l->count; k++) places[k] = l->tensors[k] ? fidk_walk_add(walk, l->tensors[k]) : SIZE_MAX;
    return walk->operands;
}

static double value_at(loss *l, const fidk_walk *walk, const size_t *places, loss_function *function) {
    for (size_t k = 0; k < l->count; k++) l->in.x[k] = l->tensors[k] ? fidk_get_real(l->tensors[k], walk->at[places[k]]) : 1;
    return function(&l->in);
}

/* reduction: 0 none, 1 mean, 2 sum. */
static fid_status loss_run(loss *l, int64_t reduction, loss_function *function) {
    const fid_tensor *out = fid_out_tensor(l->call, 0);
    fid_meta both = {0};
    if (fid_dtype_is_complex((fid_dtype)out->dtype)) return fidk_refuse_complex(l->call);
    size_t places[FIDK_OPERANDS];
    double total = 0;
    for (size_t k = 0; k < l->count; k++) {
        if (l->tensors[k]) FID_TRY(fid_meta_broadcast(l->call, &both, l->tensors[k]));
    }
    fidk_walk walk;
    fidk_walk_begin(&walk, both.sizes, both.rank);
    double n = (double)walk.left;
    size_t out_place = add_tensors(l, &walk, places);
    if (reduction == 0) fidk_walk_add(&walk, out);
    FIDK_WALK(&walk) {
        double value = value_at(l, &walk, places, function);
        if (reduction == 0) fidk_set_real(out, walk.at[out_place], value);
        total += value;
    }
    if (reduction) fidk_set_real(out, 0, reduction == 1 ? total / n : total);
    return FID_OK;
}

/* Defines fid_ref_ID: `tensors` operands first, the reduction in argument `reduction`, `setup` fills l.in. */
#define LOSS(id, count_, reduction, setup, expression)                                                                 \
    static double value_##id(const loss_inputs *in) {                                                                  \
        double x = in->x[0], t = in->x[1];                                                                             \
        (void)x, (void)t;                                                                                              \
        return expression;                                                                                             \
    }                                                                                                                  \
    static fid_status run_##id(fid_call *call) {                                                                       \
        loss l = loss_begin(call, count_);                                                                             \
        setup;                                                                                                         \
        return loss_run(&l, fid_arg_int(call, reduction), value_##id);                                                 \
    }                                                                                                                  \
    const fid_kernel fid_ref_##id = {.run = run_##id};

static double smooth_l1(double distance, double beta) {
    return distance < beta ? 0.5 * distance * distance / beta : distance - 0.5 * beta;
}
static double huber(double distance, double delta) {
    return distance <= delta ? 0.5 * distance * distance : delta * (distance - 0.5 * delta);
}
static double cross_entropy(double x, double t) { return (t - 1) * fidk_max(log1p(-x), -100) - t * fidk_max(log(x), -100); }
static double logits_entropy(double x, double t, double positive_weight) {
    double softplus = log1p(exp(-fabs(x))) + (x < 0 ? -x : 0);
    return (1 - t) * x + ((positive_weight - 1) * t + 1) * softplus;
}
static double divergence(double x, double t, bool log_target) {
    if (log_target) return exp(t) * (t - x);
    return (isnan(t) ? t : t == 0 ? 0 : t * log(t)) - t * x;
}
static double hinge(double x, double t, double margin, double minus_one) {
    return (t != 1 ? fidk_max(margin - x, 0) : 0) + (t != minus_one ? x : 0);
}
static double poisson(double x, double t, bool log_input, bool full, double eps) {
    double value = log_input ? exp(x) - t * x : x - t * log(x + eps);
    return full && t > 1 ? value + t * log(t) - t + 0.5 * log(2 * 3.14159265358979323846 * t) : value;
}

LOSS(mse_loss, 2, 2, (void)0, (x - t) * (x - t))
LOSS(l1_loss, 2, 2, (void)0, fabs(x - t))
LOSS(smooth_l1_loss, 2, 2, l.in.p = fid_arg_double(call, 3), smooth_l1(fabs(x - t), in->p))
LOSS(huber_loss, 2, 2, l.in.p = fid_arg_double(call, 3), huber(fabs(x - t), in->p))
LOSS(binary_cross_entropy, 3, 3, (void)0, in->x[2] * cross_entropy(x, t))
LOSS(binary_cross_entropy_with_logits, 4, 4, (void)0, in->x[2] * logits_entropy(x, t, in->x[3]))
LOSS(kl_div, 2, 2, l.in.a = fid_arg_bool(call, 3), divergence(x, t, in->a))
LOSS(soft_margin_loss, 2, 2, (void)0, log1p(exp(-t * x)))
LOSS(hinge_embedding_loss, 2, 3, (l.in.p = fid_arg_double(call, 2), l.in.eps = fidk_minus_one((fid_dtype)fid_arg_tensor(call, 1)->dtype)),
     hinge(x, t, in->p, in->eps))
/* Whole numbers wrap before the margin is added. */
static double signed_gap(const loss_inputs *in) {
    double gap = -in->x[2] * (in->x[0] - in->x[1]);
    bool whole = !fid_dtype_is_float(in->dtype) && fabs(gap) < 9.2e18;
    return whole ? (double)fidk_convert(fidk_int((int64_t)gap), FID_INT64, in->dtype).i : gap;
}
LOSS(margin_ranking_loss, 3, 4, (l.in.p = fid_arg_double(call, 3), l.in.dtype = fid_result_type(call, 0, 3)), fidk_max(signed_gap(in) + in->p, 0))
LOSS(poisson_nll_loss, 2, 5,
     (l.in.a = fid_arg_bool(call, 2), l.in.b = fid_arg_bool(call, 3), l.in.eps = fid_arg_double(call, 4)),
     poisson(x, t, in->a, in->b, in->eps))
