/* Copying between tensors of any strides: what views, permutations, slices, concatenations and layout conversions come down to. */
#ifndef FID_KERNELS_CPU_COPY_VIEW_H
#define FID_KERNELS_CPU_COPY_VIEW_H

#include "kernels/cpu/loops.h"

/* Copies `out`'s index space from `in`: element i of out comes from data + sum(i * strides) (elements, one stride for each dimension
 * of out; 0 repeats). Elements are 1, 2, 4, 8 or 16 bytes. Runs of elements go by memcpy, exchanged dimensions by squares. */
void fidk_copy_view(const fid_call *call, const fid_tensor *out, const void *in, const int64_t *strides);

#endif
