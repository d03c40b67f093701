/* Padding of tensors as operators describe it: read and checked once, for shape functions and kernels. */
#ifndef FID_OPS_PADDING_H
#define FID_OPS_PADDING_H

#include "ops/kernel.h"

/* Elements added at both ends of each dimension; negative ones are taken away. */
typedef struct fid_padding {
    int64_t before[FID_MAX_RANK], after[FID_MAX_RANK];
    size_t dims; /* how many of the last dimensions the arguments name */
} fid_padding;

/* Arguments self, pad: pads from the last dimension backwards, as constant_pad_nd and the other *_pad operators take them. */
fid_status fid_padding_of(const fid_call *call, fid_padding *out);

/* Index in an input of `size` for position `at` of it, which may lie outside: mirrored without repeating the edge, or held at the edge. */
static inline int64_t fid_padding_source(int64_t at, int64_t size, bool reflect) {
    if (at < 0) return reflect ? -at : 0;
    if (at >= size) return reflect ? 2 * (size - 1) - at : size - 1;
    return at;
}

/* True for a tensor that cat leaves out: of shape [0], whatever the ranks of the others. */
bool fid_cat_skips(const fid_tensor *tensor);

#endif
