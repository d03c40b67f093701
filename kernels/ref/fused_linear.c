/* fid::linear: the product with packed weights, in double, rounded once. */
#include "kernels/ref/dense.h"
#include "ops/fused.h"

static fid_status run(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *weight = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    size_t features = (size_t)fid_arg_int(call, 4), depth = (size_t)self->sizes[self->rank - 1];
    size_t rows = features ? fid_tensor_numel(out) / features : 0;
    const bool pairs = fid_is_pairs(weight);
    double *a, *w, *bias, *sums;
    fid_activation activation;
    FID_TRY(fid_fused_activation_of(call, 5, &activation));
    FIDK_NEED(a = fidk_dense_load(call, self));
    FIDK_NEED(w = fidk_dense_load(call, weight));
    FIDK_NEED(bias = fidk_dense_load_or(call, fid_arg_tensor(call, 2), features, 0));
    FIDK_NEED(sums = fidk_dense_load_or(call, fid_arg_tensor(call, 3), rows * features, 0));
    for (size_t r = 0; r < rows; r++) {
        for (size_t n = 0; n < features; n++) {
            double sum = bias[n] + sums[r * features + n];
            for (size_t k = 0; k < depth; k++)
                sum += a[r * depth + k] * w[fid_packed_offset(pairs, (int64_t)depth, (int64_t)(n / FID_PANEL), (int64_t)k, (int64_t)(n % FID_PANEL))];
            sums[r * features + n] = fid_activation_apply(&activation, sum);
        }
    }
    fidk_dense_store(out, sums);
    return FID_OK;
}

const fid_kernel fid_ref_fused_linear = {.run = run};
