/* fid::linear: the product with packed weights, in double, rounded once. */
#include "kernels/ref/fused.h"

enum { PANEL = 16 };

fid_status fidk_fused_activation(const fid_call *call, uint32_t i, fid_activation *out) {
    *out = (fid_activation){fid_activation_from_value(call->args[i]), fid_arg_double(call, i + 1), fid_arg_double(call, i + 2)};
    if (out->kind != FID_ACTIVATION_COUNT) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: argument %u names no activation that this version knows", call->name,
                    (unsigned)i);
}

static fid_status run(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *weight = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    size_t features = (size_t)fid_arg_int(call, 4), depth = (size_t)self->sizes[self->rank - 1];
    size_t rows = features ? fid_tensor_numel(out) / features : 0;
    double *a, *w, *bias, *sums;
    fid_activation activation;
    FID_TRY(fidk_fused_activation(call, 5, &activation));
    FIDK_NEED(a = fidk_dense_load(call, self));
    FIDK_NEED(w = fidk_dense_load(call, weight));
    FIDK_NEED(bias = fidk_dense_load_or(call, fid_arg_tensor(call, 2), features, 0));
    FIDK_NEED(sums = fidk_dense_load_or(call, fid_arg_tensor(call, 3), rows * features, 0));
    for (size_t r = 0; r < rows; r++) {
        for (size_t n = 0; n < features; n++) {
            const double *panel = w + n / PANEL * PANEL * depth + n % PANEL;
            double sum = bias[n] + sums[r * features + n];
            for (size_t k = 0; k < depth; k++) sum += a[r * depth + k] * panel[k * PANEL];
            sums[r * features + n] = fid_activation_apply(&activation, sum);
        }
    }
    fidk_dense_store(out, sums);
    return FID_OK;
}

const fid_kernel fid_ref_fused_linear = {.run = run};
