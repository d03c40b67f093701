/* Functions of one element on float32 tensors whose input and output lie alike: one flat loop over memory. */
#include "kernels/cpu/operand.h"

#define PIECE 4096 /* elements a task takes at least */

typedef struct unary_work {
    fidk_unary unary;
    fidk_unary_tile tile;
    size_t count, parts;
} unary_work;

static void run_part(void *context, size_t index) {
    const unary_work *w = context;
    size_t begin = fidk_part_begin(w->count, w->parts, index), end = fidk_part_begin(w->count, w->parts, index + 1);
    fidk_unary part = w->unary;
    part.x += begin;
    part.y += begin;
    part.rows = 1;
    part.columns = end - begin;
    w->tile(&part);
}

/* Multiply-adds that one element of a function stands for, roughly. */
static double cost_of(fidk_unary_kind kind) {
    switch (kind) {
    case FIDK_UNARY_RELU: case FIDK_UNARY_CLAMP: case FIDK_UNARY_ABS: case FIDK_UNARY_NEG: case FIDK_UNARY_SQUARE:
    case FIDK_UNARY_HARDSWISH: case FIDK_UNARY_HARDSIGMOID: case FIDK_UNARY_LEAKY_RELU: return 8;
    default: return 40;
    }
}

static fid_status run_unary(fid_call *call, fidk_unary_kind kind, double a, double b) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    unary_work w = {.unary = {.x = self->data, .y = fid_out_tensor(call, 0)->data, .a = (float)a, .b = (float)b},
                    .tile = fidk_tiles_for(call->cpu)->unary[kind], .count = fid_tensor_numel(self)};
    w.parts = fidk_worthwhile_threads(call->threads, (double)w.count * cost_of(kind));
    if (w.parts > w.count / PIECE) w.parts = w.count / PIECE ? w.count / PIECE : 1;
    fidk_parallel(call->threads, run_part, &w, w.parts);
    return FID_OK;
}

static fid_status prepare(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    bool takes = self->dtype == FID_FLOAT32 && out->dtype == FID_FLOAT32 && self->rank == out->rank &&
                 memcmp(self->dim_order, out->dim_order, self->rank) == 0;
    return takes ? FID_OK : FID_NOT_SUPPORTED;
}

#define DEFINE_KERNEL(id, KIND)                                                                                        \
    static fid_status id##_run(fid_call *call) { return run_unary(call, FIDK_UNARY_##KIND, 0, 0); }                    \
    const fid_kernel fid_cpu_##id = {.prepare = prepare, .run = id##_run, .any_numbers = true};

DEFINE_KERNEL(relu, RELU)
DEFINE_KERNEL(sigmoid, SIGMOID)
DEFINE_KERNEL(hardsigmoid, HARDSIGMOID)
DEFINE_KERNEL(hardswish, HARDSWISH)
DEFINE_KERNEL(silu, SILU)
DEFINE_KERNEL(tanh, TANH)
DEFINE_KERNEL(exp, EXP)
DEFINE_KERNEL(erf, ERF)
DEFINE_KERNEL(sqrt, SQRT)
DEFINE_KERNEL(rsqrt, RSQRT)
DEFINE_KERNEL(reciprocal, RECIPROCAL)
DEFINE_KERNEL(abs, ABS)
DEFINE_KERNEL(neg, NEG)
DEFINE_KERNEL(square, SQUARE)

/* ---- With parameters ---- */

static double number_or(const fid_call *call, uint32_t i, double absent) {
    return fid_arg_is_none(call, i) ? absent : fid_arg_double(call, i);
}

static fid_status hardtanh_run(fid_call *call) {
    return run_unary(call, FIDK_UNARY_CLAMP, fid_arg_double(call, 1), fid_arg_double(call, 2));
}
const fid_kernel fid_cpu_hardtanh = {.prepare = prepare, .run = hardtanh_run, .any_numbers = true};

static fid_status clamp_run(fid_call *call) {
    return run_unary(call, FIDK_UNARY_CLAMP, number_or(call, 1, -INFINITY), number_or(call, 2, INFINITY));
}
const fid_kernel fid_cpu_clamp = {.prepare = prepare, .run = clamp_run, .any_numbers = true};

static fid_status clamp_min_run(fid_call *call) { return run_unary(call, FIDK_UNARY_CLAMP, fid_arg_double(call, 1), INFINITY); }
const fid_kernel fid_cpu_clamp_min = {.prepare = prepare, .run = clamp_min_run, .any_numbers = true};

static fid_status clamp_max_run(fid_call *call) { return run_unary(call, FIDK_UNARY_CLAMP, -INFINITY, fid_arg_double(call, 1)); }
const fid_kernel fid_cpu_clamp_max = {.prepare = prepare, .run = clamp_max_run, .any_numbers = true};

static fid_status leaky_relu_run(fid_call *call) { return run_unary(call, FIDK_UNARY_LEAKY_RELU, fid_arg_double(call, 1), 0); }
const fid_kernel fid_cpu_leaky_relu = {.prepare = prepare, .run = leaky_relu_run, .any_numbers = true};

static fid_status elu_prepare(fid_call *call) {
    return fid_arg_double(call, 2) == 1 && fid_arg_double(call, 3) == 1 ? prepare(call) : FID_NOT_SUPPORTED;
}
static fid_status elu_run(fid_call *call) { return run_unary(call, FIDK_UNARY_ELU, fid_arg_double(call, 1), 0); }
const fid_kernel fid_cpu_elu = {.prepare = elu_prepare, .run = elu_run};

static fid_status gelu_run(fid_call *call) {
    const fid_value *form = call->args[1];
    bool by_tanh = form->tag == FID_TAG_STRING && form->as.string.length == 4 && memcmp(form->as.string.text, "tanh", 4) == 0;
    return run_unary(call, by_tanh ? FIDK_UNARY_GELU_TANH : FIDK_UNARY_GELU, 0, 0);
}
const fid_kernel fid_cpu_gelu = {.prepare = prepare, .run = gelu_run, .any_numbers = true};

/* The powers that are other functions. */
static fidk_unary_kind power_kind(double exponent) {
    if (exponent == 2) return FIDK_UNARY_SQUARE;
    return exponent == -1 ? FIDK_UNARY_RECIPROCAL : FIDK_UNARY_COUNT;
}

static fid_status pow_prepare(fid_call *call) {
    return power_kind(fid_arg_double(call, 1)) == FIDK_UNARY_COUNT ? FID_NOT_SUPPORTED : prepare(call);
}
static fid_status pow_run(fid_call *call) {
    extern const fid_kernel fid_ref_pow_Tensor_Scalar;
    fidk_unary_kind kind = power_kind(fid_arg_double(call, 1));
    /* An exponent that the program computes may have changed since load. */
    return kind == FIDK_UNARY_COUNT ? fid_ref_pow_Tensor_Scalar.run(call) : run_unary(call, kind, 0, 0);
}
const fid_kernel fid_cpu_pow_Tensor_Scalar = {.prepare = pow_prepare, .run = pow_run};
