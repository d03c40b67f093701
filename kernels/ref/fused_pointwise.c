/* Reference kernel of fid::pointwise: element by element, each step rounded to float32. */
#include "kernels/ref/elements.h"
#include "ops/chain.h"

static double operand(const fid_operand *o, const double *inputs, const float *results, const double *numbers) {
    switch (o->from) {
    case FID_FROM_INPUT: return inputs[o->index];
    case FID_FROM_STEP: return (double)results[o->index];
    case FID_FROM_LISTED: return (double)(float)numbers[o->index];
    default: return (double)o->number;
    }
}

static float apply(const fid_step *step, const double *x) {
    switch (step->class) {
    case FID_STEP_UNARY: return (float)fid_unary_apply((fid_unary_kind)step->function, x[0], x[1], x[2]);
    case FID_STEP_BINARY: return (float)fid_binary_apply((fid_binary_kind)step->function, x[0], x[1], step->operand[2].from ? x[2] : 1);
    default: return (float)(x[0] != 0 ? x[1] : x[2]);
    }
}

static fid_status run(fid_call *call) {
    const fid_value *inputs = call->args[0];
    const double *numbers = call->args[2]->as.doubles.items;
    const fid_tensor *out = fid_out_tensor(call, 0);
    fid_chain chain;
    FID_TRY(fid_chain_of(call, &chain));
    fidk_walk walk;
    fidk_walk_begin(&walk, out->sizes, out->rank);
    size_t to = fidk_walk_add(&walk, out);
    FIDK_WALK(&walk) {
        double values[FID_CHAIN_INPUTS];
        float results[FID_CHAIN_STEPS];
        for (size_t i = 0; i < inputs->as.tensors.count; i++) {
            const fid_tensor *t = inputs->as.tensors.items[i];
            int64_t at = 0;
            for (size_t d = 0; d < t->rank; d++)
                if (t->sizes[d] != 1) at += walk.index[out->rank - t->rank + d] * t->strides[d];
            values[i] = fidk_get_real(t, at);
        }
        for (size_t s = 0; s < chain.count; s++) {
            double x[3];
            for (size_t i = 0; i < 3; i++) x[i] = operand(&chain.steps[s].operand[i], values, results, numbers);
            results[s] = apply(&chain.steps[s], x);
        }
        fidk_set_real(out, walk.at[to], (double)results[chain.count - 1]);
    }
    return FID_OK;
}

const fid_kernel fid_ref_fused_pointwise = {.run = run};
