/* Reference kernels of activation functions. */
#include "kernels/ref/elementwise.h"

/* The function finds its number arguments, as doubles rounded to the compute precision, in extra[0..2]. */
static fid_status activation(fid_call *call, uint32_t numbers, fidk_function *function) {
    fidk_elementwise e = fidk_elementwise_begin(call, (fid_dtype)fid_arg_tensor(call, 0)->dtype);
    for (uint32_t i = 0; i < numbers; i++) {
        e.extra[i].d = fidk_round_to(fidk_wide(e.compute), fid_arg_double(call, 1 + i));
    }
    fidk_operand_add(&e, 0, e.compute);
    return fidk_elementwise_run(&e, function);
}

/* `expression` of x with numbers p, q, r. */
#define ACTIVATION(id, numbers, expression)                                                                            \
    static fidk_element value_##id(const fidk_element *in, fidk_elementwise *e) {                                      \
        double x = in[0].d, p = e->extra[0].d, q = e->extra[1].d, r = e->extra[2].d;                                   \
        (void)p, (void)q, (void)r;                                                                                     \
        return fidk_real(expression);                                                                                  \
    }                                                                                                                  \
    FIDK_KERNEL(id, activation(call, numbers, value_##id))

static double between(double x, double low, double high) { return fidk_min(fidk_max(x, low), high); }
static double sigmoid_of(double x) { return 1 / (1 + exp(-x)); }
static double softplus_of(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }
static double elu_of(double x, double alpha, double scale, double input_scale) {
    return x <= 0 ? expm1(x * input_scale) * alpha * scale : x * scale;
}

ACTIVATION(hardsigmoid, 0, between(x + 3, 0, 6) / 6)
ACTIVATION(hardswish, 0, x * between(x + 3, 0, 6) / 6)
ACTIVATION(silu, 0, x * sigmoid_of(x))
ACTIVATION(mish, 0, x * tanh(softplus_of(x)))
ACTIVATION(log_sigmoid, 0, -softplus_of(-x))
ACTIVATION(elu, 3, elu_of(x, p, q, r))
ACTIVATION(celu, 1, elu_of(x, p, 1, 1 / p))
ACTIVATION(selu, 0, elu_of(x, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1))
ACTIVATION(leaky_relu, 1, x > 0 ? x : x * p)
ACTIVATION(softplus, 2, x * p > q ? x : softplus_of(x * p) / p)
ACTIVATION(softshrink, 1, x > p ? x - p : x < -p ? x + p : x * 0)
ACTIVATION(hardshrink, 1, x >= -p && x <= p ? 0 : x)

/* ---- Those that integers have as well ---- */

static fidk_element clamped(const fidk_element *in, fidk_elementwise *e) {
    if (e->form == FIDK_REAL) return fidk_real(between(in[0].d, e->extra[0].d, e->extra[1].d));
    fidk_element low = e->extra[0], high = e->extra[1];
    fidk_element raised = fidk_int_less(e->compute, in[0].i, low.i) ? low : in[0];
    return fidk_int_less(e->compute, high.i, raised.i) ? high : raised;
}

static fid_status clamp_between(fid_call *call, const fid_value *low, const fid_value *high) {
    fidk_elementwise e = fidk_elementwise_begin(call, (fid_dtype)fid_arg_tensor(call, 0)->dtype);
    e.extra[0] = fidk_number(low, e.compute);
    e.extra[1] = fidk_number(high, e.compute);
    fidk_operand_add(&e, 0, e.compute);
    return fidk_elementwise_run(&e, clamped);
}

static fid_status run_relu6(fid_call *call) {
    fid_value low = fid_int_value(0), high = fid_int_value(6);
    return clamp_between(call, &low, &high);
}

const fid_kernel fid_ref_relu6 = {.run = run_relu6};
FIDK_KERNEL(hardtanh, clamp_between(call, call->args[1], call->args[2]))

static fidk_element above_threshold(const fidk_element *in, fidk_elementwise *e) {
    bool replaced = e->form == FIDK_REAL ? in[0].d <= e->extra[0].d : !fidk_int_less(e->compute, e->extra[0].i, in[0].i);
    return replaced ? e->extra[1] : in[0];
}

static fid_status run_threshold(fid_call *call) {
    fidk_elementwise e = fidk_elementwise_begin(call, (fid_dtype)fid_arg_tensor(call, 0)->dtype);
    e.extra[0] = fidk_number(call->args[1], e.compute);
    e.extra[1] = fidk_number(call->args[2], e.compute);
    fidk_operand_add(&e, 0, e.compute);
    return fidk_elementwise_run(&e, above_threshold);
}

const fid_kernel fid_ref_threshold = {.run = run_threshold};

/* ---- GELU: exact with the error function, or by tanh ---- */

static fidk_element gelu_exact(const fidk_element *in, fidk_elementwise *e) {
    (void)e;
    return fidk_real(0.5 * in[0].d * erfc(-in[0].d * 0.70710678118654752440));
}

static fidk_element gelu_tanh(const fidk_element *in, fidk_elementwise *e) {
    double x = in[0].d, inner = 0.79788456080286535588 * (x + 0.044715 * x * x * x);
    (void)e;
    return fidk_real(0.5 * x * (1 + tanh(inner)));
}

static fid_status run_gelu(fid_call *call) {
    const fid_value *way = call->args[1];
    bool is_text = way->tag == FID_TAG_STRING && way->as.string.length == 4;
    if (is_text && memcmp(way->as.string.text, "none", 4) == 0) return activation(call, 0, gelu_exact);
    if (is_text && memcmp(way->as.string.text, "tanh", 4) == 0) return activation(call, 0, gelu_tanh);
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: approximate must be 'none' or 'tanh'", call->name);
}

const fid_kernel fid_ref_gelu = {.run = run_gelu};

/* ---- With weights, or with halves ---- */

/* One slope for all, or one for each channel (dimension 1). */
static fid_status run_prelu(fid_call *call) {
    const fid_tensor *x = fid_arg_tensor(call, 0), *weight = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    int64_t step = fid_tensor_numel(weight) == 1 || weight->rank == 0 ? 0 : weight->strides[weight->rank - 1];
    fidk_walk walk;
    fidk_walk_begin(&walk, out->sizes, out->rank);
    fidk_walk_add(&walk, x);
    fidk_walk_add(&walk, out);
    FIDK_WALK(&walk) {
        int64_t channel = x->rank > 1 ? walk.index[1] : x->rank == 1 ? walk.index[0] : 0;
        double value = fidk_get_real(x, walk.at[0]);
        double slope = fidk_get_real(weight, x->rank > 1 ? channel * step : 0);
        fidk_set_real(out, walk.at[1], value > 0 ? value : value * slope);
    }
    return FID_OK;
}

const fid_kernel fid_ref_prelu = {.run = run_prelu};

static fid_status run_glu(fid_call *call) {
    const fid_tensor *x = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), x->rank, &dim));
    int64_t to_gate = out->sizes[dim] * x->strides[dim];
    fidk_walk walk;
    fidk_walk_begin(&walk, out->sizes, out->rank);
    fidk_walk_add_strides(&walk, x->strides);
    fidk_walk_add(&walk, out);
    FIDK_WALK(&walk) {
        double gate = fidk_get_real(x, walk.at[0] + to_gate);
        fidk_set_real(out, walk.at[1], fidk_get_real(x, walk.at[0]) * sigmoid_of(gate));
    }
    return FID_OK;
}

const fid_kernel fid_ref_glu = {.run = run_glu};
