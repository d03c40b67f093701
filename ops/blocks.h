/* Sliding blocks of an image (im2col, col2im): read from a call's arguments and checked once, for shape functions and kernels. */
#ifndef FID_OPS_BLOCKS_H
#define FID_OPS_BLOCKS_H

#include "ops/kernel.h"

/* Pairs are height, width. */
typedef struct fid_blocks {
    bool batched; /* not batched: the tensors lack the batch dimension */
    int64_t batch, channels;
    int64_t image[2], kernel[2], dilation[2], padding[2], stride[2];
    int64_t count[2]; /* blocks */
} fid_blocks;

/* im2col(self, kernel_size, dilation, padding, stride) */
fid_status fid_im2col_of(const fid_call *call, fid_blocks *out);
/* col2im(self, output_size, kernel_size, dilation, padding, stride) */
fid_status fid_col2im_of(const fid_call *call, fid_blocks *out);

#endif
