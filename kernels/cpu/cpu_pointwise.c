/* Pointwise operators as steps (ops/chain.def), and fid::pointwise, which carries its own.
 *
 * Steps compute in float32: kernels take calls whose elements float32 holds exactly. Whole numbers among themselves are for
 * cpu_whole.c. */
#include "kernels/cpu/chain_run.h"
#include "kernels/cpu/operand.h"
#include "kernels/cpu/whole.h"

static bool is_narrow_float(uint8_t dtype) { return dtype == FID_FLOAT16 || dtype == FID_BFLOAT16; }
static bool is_real_float(uint8_t dtype) { return dtype == FID_FLOAT32 || is_narrow_float(dtype); }
static bool is_wide_whole(uint8_t dtype) { return dtype == FID_INT32 || dtype == FID_INT64; }

/* What a call's tensors are, in the order in which PyTorch would promote them. */
typedef struct survey {
    uint32_t floats, narrow, wide_wholes, wholes, numbers; /* bools are none of them */
    uint8_t float_dtype;
    bool mixed; /* floats of several dtypes */
} survey;

static survey survey_of(const fidk_chain *chain) {
    survey s = {0};
    for (size_t i = 0; i < chain->input_count; i++) {
        const fid_tensor *t = chain->inputs[i];
        if (!t) {
            s.numbers += !chain->absent[i];
            continue;
        }
        if (is_real_float(t->dtype)) {
            s.mixed = s.mixed || (s.floats && s.float_dtype != t->dtype);
            s.floats++, s.float_dtype = t->dtype;
        } else if (is_wide_whole(t->dtype)) s.wide_wholes++;
        else if (t->dtype != FID_BOOL) s.wholes++;
        s.narrow += is_narrow_float(t->dtype);
    }
    return s;
}

/* float32 stands for all that the operator computes with: floats of one kind, whole numbers that they turn into floats, truth values. */
static bool computes_in_float(const fidk_chain *chain, const fid_tensor *out) {
    survey s = survey_of(chain);
    bool truth = fid_step_is_truth(&chain->steps[chain->count - 1]);
    if (s.mixed || !fidk_chain_takes(chain, out)) return false;
    if (out->dtype == FID_BOOL && truth) {
        if (s.floats) return !s.wide_wholes && !s.wholes && !(s.narrow && s.numbers); /* a number is rounded to a narrow dtype first */
        return !s.wide_wholes && !(s.numbers && s.wholes);
    }
    if (truth) return false;
    uint8_t function = chain->steps[0].function;
    bool remainder = chain->steps[0].class == FID_STEP_BINARY && (function == FID_BINARY_FMOD || function == FID_BINARY_REMAINDER);
    if (remainder && s.narrow && s.numbers) return false; /* the number is rounded first as well */
    if (is_narrow_float(out->dtype)) return s.floats && s.float_dtype == out->dtype && !s.wholes && !s.wide_wholes;
    return out->dtype == FID_FLOAT32;
}

/* ---- Rows of ops/chain.def ---- */

enum { ARGUMENTS = 4 }; /* at most, before the outputs */

static fidk_chain chain_of(const fid_call *call, const fid_step *steps, size_t count) {
    fidk_chain chain = {.steps = steps, .count = count};
    fidk_chain_from_call(call, call->output_index < ARGUMENTS ? call->output_index : ARGUMENTS, &chain);
    return chain;
}

/* Whole numbers and truth values among themselves need no way through floats. */
static bool computes_in_wholes(const fid_call *call, const fid_step *steps, size_t count) {
    return count == 1 && !is_real_float(fid_out_tensor(call, 0)->dtype) && fidk_whole_takes(call, &steps[0]);
}

static fid_status prepare_steps(const fid_call *call, const fid_step *steps, size_t count) {
    fidk_chain chain = chain_of(call, steps, count);
    bool takes = computes_in_wholes(call, steps, count) || computes_in_float(&chain, fid_out_tensor(call, 0));
    return takes || (count == 1 && fidk_whole_takes(call, &steps[0])) ? FID_OK : FID_NOT_SUPPORTED;
}

static fid_status run_steps(fid_call *call, const fid_step *steps, size_t count) {
    fidk_chain chain = chain_of(call, steps, count);
    const fid_tensor *out = fid_out_tensor(call, 0);
    bool floats = !computes_in_wholes(call, steps, count) && computes_in_float(&chain, out);
    return floats ? fidk_chain_run(call, &chain, out) : fidk_whole_run(call, &steps[0]);
}

static size_t bytes_of_steps(const fid_call *call, const fid_step *steps, size_t count) {
    fidk_chain chain = chain_of(call, steps, count);
    return fidk_chain_scratch_bytes(&chain, call->threads);
}

#include "ops/chain_words.h"
#define COUNT(array) (sizeof(array) / sizeof *(array))
#define CHAIN(id, ...)                                                                                                 \
    static const fid_step steps_##id[] = {__VA_ARGS__};                                                                \
    static fid_status prepare_##id(fid_call *call) { return prepare_steps(call, steps_##id, COUNT(steps_##id)); }      \
    static fid_status run_##id(fid_call *call) { return run_steps(call, steps_##id, COUNT(steps_##id)); }              \
    static size_t bytes_##id(const fid_call *call) { return bytes_of_steps(call, steps_##id, COUNT(steps_##id)); }     \
    const fid_kernel fid_cpu_##id = {.prepare = prepare_##id, .run = run_##id, .scratch_bytes = bytes_##id, .any_numbers = true};
#include "ops/chain.def"

/* ---- Bitwise operators on truth values, where they are logic ---- */

#define TRUTHS(id, ...)                                                                                                \
    static const fid_step steps_##id[] = {__VA_ARGS__};                                                                \
    static fid_status prepare_##id(fid_call *call) {                                                                   \
        bool truths = fid_out_tensor(call, 0)->dtype == FID_BOOL;                                                      \
        return truths ? prepare_steps(call, steps_##id, COUNT(steps_##id)) : FID_NOT_SUPPORTED;                        \
    }                                                                                                                  \
    static fid_status run_##id(fid_call *call) { return run_steps(call, steps_##id, COUNT(steps_##id)); }              \
    static size_t bytes_##id(const fid_call *call) { return bytes_of_steps(call, steps_##id, COUNT(steps_##id)); }     \
    const fid_kernel fid_cpu_##id = {.prepare = prepare_##id, .run = run_##id, .scratch_bytes = bytes_##id, .any_numbers = true};
TRUTHS(bitwise_and_Tensor, B(AND, A(0), A(1)))
TRUTHS(bitwise_or_Tensor, B(OR, A(0), A(1)))
TRUTHS(bitwise_xor_Tensor, B(XOR, A(0), A(1)))
TRUTHS(bitwise_not, U(NOT, A(0)))

/* ---- Operators whose steps depend on their arguments ---- */

static fid_step gelu_step(const fid_call *call) {
    const fid_value *form = call->args[1];
    bool by_tanh = form->tag == FID_TAG_STRING && form->as.string.length == 4 && memcmp(form->as.string.text, "tanh", 4) == 0;
    return (fid_step){FID_STEP_UNARY, by_tanh ? FID_UNARY_GELU_TANH : FID_UNARY_GELU, {A(0)}};
}

/* Powers that are other functions. */
static fid_step pow_step(const fid_call *call) {
    double exponent = fid_arg_double(call, 1);
    uint8_t function = exponent == 2 ? FID_UNARY_SQUARE : exponent == 3 ? FID_UNARY_CUBE : exponent == -1 ? FID_UNARY_RECIPROCAL : FID_UNARY_COUNT;
    if (function != FID_UNARY_COUNT) return (fid_step){FID_STEP_UNARY, function, {A(0)}};
    return (fid_step){FID_STEP_BINARY, FID_BINARY_POW, {A(0), A(1)}};
}

/* elu(self, alpha, scale, input_scale) */
static fid_step elu_step(const fid_call *call) {
    (void)call;
    return (fid_step){FID_STEP_UNARY, FID_UNARY_ELU, {A(0), A(1)}};
}

#define DEFINE_CHOSEN(id, step)                                                                                        \
    static fid_status prepare_##id(fid_call *call) {                                                                   \
        const fid_step chosen = step(call);                                                                            \
        return prepare_steps(call, &chosen, 1);                                                                        \
    }                                                                                                                  \
    static fid_status run_##id(fid_call *call) {                                                                       \
        const fid_step chosen = step(call);                                                                            \
        return run_steps(call, &chosen, 1);                                                                            \
    }                                                                                                                  \
    static size_t bytes_##id(const fid_call *call) {                                                                   \
        const fid_step chosen = step(call);                                                                            \
        return bytes_of_steps(call, &chosen, 1);                                                                       \
    }
DEFINE_CHOSEN(gelu, gelu_step)
const fid_kernel fid_cpu_gelu = {.prepare = prepare_gelu, .run = run_gelu, .scratch_bytes = bytes_gelu, .any_numbers = true};
DEFINE_CHOSEN(pow_Tensor_Scalar, pow_step)
const fid_kernel fid_cpu_pow_Tensor_Scalar = {
    .prepare = prepare_pow_Tensor_Scalar, .run = run_pow_Tensor_Scalar, .scratch_bytes = bytes_pow_Tensor_Scalar, .any_numbers = true};
DEFINE_CHOSEN(elu, elu_step)
static fid_status prepare_plain_elu(fid_call *call) {
    return fid_arg_double(call, 2) == 1 && fid_arg_double(call, 3) == 1 ? prepare_elu(call) : FID_NOT_SUPPORTED;
}
const fid_kernel fid_cpu_elu = {.prepare = prepare_plain_elu, .run = run_elu, .scratch_bytes = bytes_elu};

/* prelu(self, weight): one slope, or one for each channel, which stand along dimension 1. */
typedef struct prelu_view {
    fid_tensor weight;
    int64_t sizes[FID_MAX_RANK], strides[FID_MAX_RANK];
} prelu_view;

static const fid_step prelu_step = B(PRELU, A(0), A(1));

static fidk_chain prelu_of(const fid_call *call, prelu_view *view) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *weight = fid_arg_tensor(call, 1);
    bool channels = fid_tensor_numel(weight) > 1;
    *view = (prelu_view){.weight = *weight};
    for (size_t i = 0; i < self->rank; i++) view->sizes[i] = channels && i == 1 ? self->sizes[1] : 1, view->strides[i] = i == 1;
    view->weight.sizes = view->sizes, view->weight.strides = view->strides, view->weight.rank = self->rank;
    return (fidk_chain){.steps = &prelu_step, .count = 1, .inputs = {self, &view->weight}, .input_count = 2};
}

static fid_status prelu_prepare(fid_call *call) {
    prelu_view view;
    fidk_chain chain = prelu_of(call, &view);
    return computes_in_float(&chain, fid_out_tensor(call, 0)) ? FID_OK : FID_NOT_SUPPORTED;
}
static fid_status prelu_run(fid_call *call) {
    prelu_view view;
    fidk_chain chain = prelu_of(call, &view);
    return fidk_chain_run(call, &chain, fid_out_tensor(call, 0));
}
static size_t prelu_bytes(const fid_call *call) {
    prelu_view view;
    fidk_chain chain = prelu_of(call, &view);
    return fidk_chain_scratch_bytes(&chain, call->threads);
}
const fid_kernel fid_cpu_prelu = {.prepare = prelu_prepare, .run = prelu_run, .scratch_bytes = prelu_bytes, .any_numbers = true};

/* glu(self, dim): the first half times the sigmoid of the second. */
typedef struct glu_view {
    fid_tensor halves[2];
} glu_view;

static const fid_step glu_step = B(GATE, A(0), A(1));

static fid_status glu_of(const fid_call *call, glu_view *view, fidk_chain *chain) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), self->rank, &dim));
    for (size_t i = 0; i < 2; i++) {
        view->halves[i] = *self;
        view->halves[i].sizes = out->sizes;
    }
    if (self->data)
        view->halves[1].data = (uint8_t *)self->data + out->sizes[dim] * self->strides[dim] * (int64_t)fid_dtype_size((fid_dtype)self->dtype);
    *chain = (fidk_chain){.steps = &glu_step, .count = 1, .inputs = {&view->halves[0], &view->halves[1]}, .input_count = 2};
    return FID_OK;
}

static fid_status glu_prepare(fid_call *call) {
    glu_view view;
    fidk_chain chain;
    FID_TRY(glu_of(call, &view, &chain));
    return computes_in_float(&chain, fid_out_tensor(call, 0)) ? FID_OK : FID_NOT_SUPPORTED;
}
static fid_status glu_run(fid_call *call) {
    glu_view view;
    fidk_chain chain;
    FID_TRY(glu_of(call, &view, &chain));
    return fidk_chain_run(call, &chain, fid_out_tensor(call, 0));
}
static size_t glu_bytes(const fid_call *call) {
    glu_view view;
    fidk_chain chain;
    return glu_of(call, &view, &chain) == FID_OK ? fidk_chain_scratch_bytes(&chain, call->threads) : 0;
}
const fid_kernel fid_cpu_glu = {.prepare = glu_prepare, .run = glu_run, .scratch_bytes = glu_bytes};

/* ---- fid::pointwise(inputs, steps, numbers) ---- */

static fid_status pointwise_of(const fid_call *call, fid_chain *steps, fidk_chain *chain) {
    const fid_value *inputs = call->args[0];
    FID_TRY(fid_chain_of(call, steps));
    *chain = (fidk_chain){.steps = steps->steps, .count = steps->count, .input_count = inputs->as.tensors.count, .listed = call->args[2]->as.doubles.items};
    for (size_t i = 0; i < chain->input_count; i++) chain->inputs[i] = inputs->as.tensors.items[i];
    return FID_OK;
}

static fid_status pointwise_run(fid_call *call) {
    fid_chain steps;
    fidk_chain chain;
    FID_TRY(pointwise_of(call, &steps, &chain));
    return fidk_chain_run(call, &chain, fid_out_tensor(call, 0));
}

static size_t pointwise_bytes(const fid_call *call) {
    fid_chain steps;
    fidk_chain chain;
    return pointwise_of(call, &steps, &chain) == FID_OK ? fidk_chain_scratch_bytes(&chain, call->threads) : 0;
}

const fid_kernel fid_cpu_fused_pointwise = {.run = pointwise_run, .scratch_bytes = pointwise_bytes, .any_numbers = true};
