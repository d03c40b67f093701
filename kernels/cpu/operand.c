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
