/* Geometry of convolutions and pools, read from a call's arguments and checked once, for shape functions and kernels.
 *
 * Spatial values are right-aligned in arrays of three (depth, height, width): a 2-d operator has size 1, kernel 1, stride 1,
 * padding 0 and dilation 1 at index 0. So kernels have one loop nest for one, two and three dimensions. */
#ifndef FID_OPS_WINDOW_H
#define FID_OPS_WINDOW_H

#include "ops/kernel.h"

typedef struct fid_window {
    size_t spatial; /* 1, 2 or 3 */
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3];
    int64_t padding[3];     /* before the first element */
    int64_t padding_end[3]; /* after the last one; differs from `padding` for padding="same" only */
} fid_window;

typedef struct fid_convolution {
    const fid_tensor *input, *weight, *bias; /* bias may be NULL */
    bool batched, transposed;                /* not batched: the input is (channels, spatial...) */
    int64_t batch, in_channels, out_channels, groups;
    fid_window window;
} fid_convolution;

/* convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups). */
fid_status fid_convolution_of(const fid_call *call, fid_convolution *out);
/* conv1d, conv2d, conv3d(input, weight, bias, stride, padding, dilation, groups); padding may be "same" or "valid". */
fid_status fid_conv_nd_of(const fid_call *call, fid_convolution *out);
/* conv_transpose1d and so on(input, weight, bias, stride, padding, output_padding, groups, dilation). */
fid_status fid_conv_transpose_nd_of(const fid_call *call, fid_convolution *out);

typedef struct fid_pool {
    const fid_tensor *input;
    bool batched;
    int64_t planes; /* batch * channels */
    fid_window window;
} fid_pool;

/* max_pool*(self, kernel_size, stride, padding, dilation, ceil_mode). */
fid_status fid_max_pool_of(const fid_call *call, size_t spatial, fid_pool *out);
/* avg_pool*(self, kernel_size, stride, padding, ceil_mode, ...). */
fid_status fid_avg_pool_of(const fid_call *call, size_t spatial, fid_pool *out);
/* adaptive_*_pool*(self, output_size): only `in` and `out` of the window count. */
fid_status fid_adaptive_pool_of(const fid_call *call, size_t spatial, fid_pool *out);

/* Argument `i`, a list of ints for `spatial` dimensions, right-aligned: one number stands for all, an empty list or NONE
 * for `if_empty` (NULL: not allowed). Every number must lie in [least, INT32_MAX]. */
fid_status fid_spatial_list(const fid_call *call, uint32_t i, size_t spatial, int64_t least, const int64_t *if_empty,
                            int64_t *out);

/* The meta of an image-like result: `sizes` with the input's dtype, in the input's channels-last order if it has one. */
void fid_meta_like_image(fid_meta *meta, const fid_tensor *input, const int64_t *sizes, size_t rank);
/* True if dim_order is 0, 2, 3, ..., 1. */
bool fid_is_channels_last(const uint8_t *dim_order, size_t rank);

#endif
