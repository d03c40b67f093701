/* Shapes of gradients: each has the shape of what it is the gradient of. */
#include "ops/shape.h"

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
