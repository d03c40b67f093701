/* What the fast kernels ask about tensors before they take a call. */
#include "kernels/cpu/operand.h"

bool fidk_plain_f32(const fid_tensor *tensor) {
    if (!tensor) return true;
    for (size_t i = 0; i < tensor->rank; i++)
        if (tensor->dim_order[i] != i) return false;
    return tensor->dtype == FID_FLOAT32;
}

size_t fidk_count(const fid_tensor *tensor, size_t begin, size_t end) {
    size_t count = 1;
    for (size_t i = begin; i < end; i++) count *= (size_t)tensor->sizes[i];
    return count;
}

fid_status fidk_activation_of(const fid_call *call, uint32_t i, fid_activation *out) {
    out->kind = fid_activation_from_value(call->args[i]);
    out->a = fid_arg_double(call, i + 1);
    out->b = fid_arg_double(call, i + 2);
    if (out->kind != FID_ACTIVATION_COUNT) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: argument %u names no activation that this version knows", call->name,
                    (unsigned)i);
}
