/* Copying between tensors of any strides: what views, permutations, slices, concatenations and layout conversions come down to. */
#ifndef FID_KERNELS_CPU_COPY_VIEW_H
#define FID_KERNELS_CPU_COPY_VIEW_H

#include "kernels/cpu/loops.h"

/* Copies `out`'s index space from `in`: element i of out comes from data + sum(i * strides) (elements, one stride for each dimension
 * of out; 0 repeats). Elements are 1, 2, 4, 8 or 16 bytes. Runs of elements go by memcpy, exchanged dimensions by squares. */
void fidk_copy_view(const fid_call *call, const fid_tensor *out, const void *in, const int64_t *strides);

/* A tensor seen with other dimensions: a part of it as `out` or input of fidk_copy_view. */
typedef struct fidk_seen {
    fid_tensor tensor;
    int64_t sizes[FID_MAX_RANK + 4], strides[FID_MAX_RANK + 4];
    uint8_t order[FID_MAX_RANK + 4];
} fidk_seen;

void fidk_see(const fid_tensor *tensor, fidk_seen *out);
/* Takes dimension `dim` away, at index 0 of it. */
void fidk_drop_dimension(fidk_seen *seen, size_t dim);
/* The element `offset` elements after the first. */
static inline uint8_t *fidk_element_at(const fid_tensor *tensor, int64_t offset) {
    return (uint8_t *)tensor->data + offset * (int64_t)fid_dtype_size((fid_dtype)tensor->dtype);
}

#endif
