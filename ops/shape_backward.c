/* Shapes of gradients: each has the shape of what it is the gradient of. */
#include "ops/shape.h"
#include "ops/window.h"

#define TEXT_SIZE 160

static fid_status mismatch(const fid_call *call, const fid_tensor *grad, const fid_tensor *input) {
    char a[TEXT_SIZE], b[TEXT_SIZE];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a gradient of shape %s does not belong to the input of shape %s", call->name,
                    fid_shape_text(grad->sizes, grad->rank, a, sizeof a), fid_shape_text(input->sizes, input->rank, b, sizeof b));
}

/* grad_output, input, weight, bias_sizes?, stride, padding, dilation, transposed, output_padding, groups, output_mask.
 * Gradients that output_mask does not ask for are zeros. */
fid_status fid_shape_convolution_backward(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *grad = fid_arg_tensor(call, 0), *input = fid_arg_tensor(call, 1), *weight = fid_arg_tensor(call, 2);
    int64_t groups = fid_arg_int(call, 9);
    bool transposed = fid_arg_bool(call, 7);
    bool fits = input->rank >= 3 && input->rank <= 5 && grad->rank == input->rank && weight->rank == input->rank && groups >= 1;
    fits = fits && grad->sizes[0] == input->sizes[0] && input->sizes[1] % groups == 0 && grad->sizes[1] % groups == 0;
    if (fits) {
        int64_t own = transposed ? input->sizes[1] : grad->sizes[1], other = transposed ? grad->sizes[1] : input->sizes[1];
        fits = weight->sizes[0] == own && weight->sizes[1] == other / groups;
    }
    if (!fits) return mismatch(call, grad, input);
    fid_dtype dtype = (fid_dtype)grad->dtype;
    if (!fid_dtype_is_float(dtype) || input->dtype != grad->dtype || weight->dtype != grad->dtype) {
        return fid_fail(call->sink, FID_INVALID_TYPE, "%s takes float tensors of one dtype", call->name);
    }
    outs[0] = fid_meta_of(input);
    outs[1] = fid_meta_of(weight);
    fid_meta_set(&outs[2], dtype, &grad->sizes[1], 1);
    return FID_OK;
}

/* grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices */
fid_status fid_shape_max_pool2d_backward(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *grad = fid_arg_tensor(call, 0), *self = fid_arg_tensor(call, 1), *indices = fid_arg_tensor(call, 7);
    bool fits = (self->rank == 3 || self->rank == 4) && grad->rank == self->rank && indices->rank == self->rank;
    for (size_t i = 0; i < self->rank && fits; i++) {
        fits = grad->sizes[i] == indices->sizes[i] && (i + 2 >= self->rank || grad->sizes[i] == self->sizes[i]);
    }
    if (!fits) return mismatch(call, grad, self);
    if (indices->dtype != FID_INT64) {
        return fid_fail(call->sink, FID_INVALID_TYPE, "%s: the indices have dtype %s, expected int64", call->name,
                        fid_dtype_name((fid_dtype)indices->dtype));
    }
    outs[0] = fid_meta_of(self);
    return FID_OK;
}

/* grad_output, self: images of the same planes. */
static fid_status average(const fid_call *call, fid_meta *out) {
    const fid_tensor *grad = fid_arg_tensor(call, 0), *self = fid_arg_tensor(call, 1);
    bool fits = (self->rank == 3 || self->rank == 4) && grad->rank == self->rank && fid_dtype_is_float((fid_dtype)self->dtype);
    for (size_t i = 0; fits && i + 2 < self->rank; i++) fits = grad->sizes[i] == self->sizes[i];
    if (!fits || grad->dtype != self->dtype) return mismatch(call, grad, self);
    *out = fid_meta_of(self);
    return FID_OK;
}

fid_status fid_shape_adaptive_avg_pool2d_backward(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *grad = fid_arg_tensor(call, 0);
    FID_TRY(average(call, outs));
    bool some = grad->sizes[grad->rank - 1] > 0 && grad->sizes[grad->rank - 2] > 0;
    return some ? FID_OK : mismatch(call, grad, fid_arg_tensor(call, 1));
}

/* grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override?: grad_output must be as large as the
 * pool's result, or windows would start outside. */
fid_status fid_shape_avg_pool2d_backward(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *grad = fid_arg_tensor(call, 0), *self = fid_arg_tensor(call, 1);
    int64_t kernel[3], stride[3], padding[3]; /* of the last three dimensions */
    FID_TRY(average(call, outs));
    FID_TRY(fid_spatial_list(call, 2, 2, 1, NULL, kernel));
    FID_TRY(fid_spatial_list(call, 3, 2, 1, kernel, stride));
    FID_TRY(fid_spatial_list(call, 4, 2, 0, NULL, padding));
    for (size_t d = 0; d < 2; d++) {
        int64_t in = self->sizes[self->rank - 2u + d], size = grad->sizes[self->rank - 2u + d];
        if (in < 1 || padding[d + 1] > kernel[d + 1] / 2 || size < 1 || (size - 1) > (in + padding[d + 1] - 1) / stride[d + 1]) return mismatch(call, grad, self);
    }
    if (fid_arg_is_none(call, 7) || fid_arg_int(call, 7) != 0) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the divisor is zero", call->name);
}

static fid_status need_mask(const fid_call *call, uint32_t i) {
    if (call->args[i]->tag == FID_TAG_BOOL_LIST && call->args[i]->as.bools.count == 3) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the output mask must be three bools", call->name);
}

static bool like(const fid_tensor *a, const fid_tensor *b) {
    return a->dtype == b->dtype && a->rank == b->rank && memcmp(a->sizes, b->sizes, a->rank * sizeof a->sizes[0]) == 0;
}

/* grad_out, input, normalized_shape, mean, rstd, weight?, bias?, output_mask */
fid_status fid_shape_layer_norm_backward(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count; /* three */
    const fid_tensor *grad = fid_arg_tensor(call, 0), *input = fid_arg_tensor(call, 1);
    size_t count, leading = 1;
    const int64_t *shape = fid_arg_ints(call, 2, &count);
    bool fits = like(grad, input) && fid_dtype_is_float((fid_dtype)input->dtype) && count >= 1 && count <= input->rank;
    for (size_t d = 0; fits && d < count; d++) fits = shape[d] == input->sizes[input->rank - count + d];
    for (size_t d = 0; fits && d < input->rank - count; d++) leading *= (size_t)input->sizes[d];
    for (uint32_t i = 3; fits && i < 5; i++) fits = fid_tensor_numel(fid_arg_tensor(call, i)) == leading;
    if (!fits) return mismatch(call, grad, input);
    FID_TRY(need_mask(call, 7));
    outs[0] = fid_meta_of(input);
    fid_meta_set(&outs[1], (fid_dtype)input->dtype, shape, count);
    outs[2] = outs[1];
    const fid_tensor *weight = fid_arg_tensor(call, 5);
    return !weight || fid_tensor_numel(weight) * leading == fid_tensor_numel(input) || !leading ? FID_OK : mismatch(call, weight, input);
}

/* grad_out, input, mean, rstd, weight?, N, C, HxW, group, output_mask */
fid_status fid_shape_group_norm_backward(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count; /* three */
    const fid_tensor *grad = fid_arg_tensor(call, 0), *input = fid_arg_tensor(call, 1), *weight = fid_arg_tensor(call, 4);
    int64_t sizes[3] = {fid_arg_int(call, 5), fid_arg_int(call, 6), fid_arg_int(call, 7)}, groups = fid_arg_int(call, 8);
    size_t all;
    bool fits = like(grad, input) && fid_dtype_is_float((fid_dtype)input->dtype) && sizes[0] >= 0 && sizes[1] >= 1 && sizes[2] >= 1;
    fits = fits && fid_mul_sizes(sizes, 3, &all) && all == fid_tensor_numel(input) && groups >= 1 && sizes[1] % groups == 0;
    for (uint32_t i = 2; fits && i < 4; i++) fits = fid_tensor_numel(fid_arg_tensor(call, i)) == (size_t)(sizes[0] * groups);
    if (!fits || (weight && fid_tensor_numel(weight) != (size_t)sizes[1])) return mismatch(call, grad, input);
    FID_TRY(need_mask(call, 9));
    outs[0] = fid_meta_of(input);
    fid_meta_set(&outs[1], (fid_dtype)input->dtype, &sizes[1], 1);
    outs[2] = outs[1];
    return FID_OK;
}

/* grad_output, indices, num_weights, padding_idx, scale_grad_by_freq */
fid_status fid_shape_embedding_dense_backward(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *grad = fid_arg_tensor(call, 0), *indices = fid_arg_tensor(call, 1);
    int64_t rows = fid_arg_int(call, 2);
    bool fits = rows >= 0 && grad->rank == indices->rank + 1 && fid_dtype_is_integer((fid_dtype)indices->dtype);
    for (size_t d = 0; fits && d < indices->rank; d++) fits = grad->sizes[d] == indices->sizes[d];
    if (!fits || !fid_dtype_is_float((fid_dtype)grad->dtype)) return mismatch(call, grad, indices);
    fid_meta_set(outs, (fid_dtype)grad->dtype, (int64_t[]){rows, grad->sizes[grad->rank - 1]}, 2);
    return FID_OK;
}
