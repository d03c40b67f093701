/* Convolutions on channels-last images with packed weights. */
#ifndef FID_KERNELS_CPU_CONV_H
#define FID_KERNELS_CPU_CONV_H

#include "kernels/cpu/operand.h"

/* Sizes in the order depth, height, width as in fid_window; images are (batch, depth, height, width, channels) in memory. */
typedef struct fidk_conv {
    const fidk_tiles *tiles;
    const fid_threads *threads;
    fid_window window;
    size_t batch, in_channels, out_channels, groups;
    bool depthwise;       /* one filter a channel: weights are packed by channel */
    const float *input;   /* (batch, in..., in_channels) */
    const float *weights; /* packed: see ops/fused.h */
    const uint16_t *pairs; /* instead: in bfloat16 pairs; `cpu`: FID_CPU_ bits to choose their tiles */
    uint32_t cpu;
    size_t winograd; /* m: weights are for Winograd's F(m x m); 0: they are plain panels */
    const float *scale;   /* (out_channels) or NULL; not for depthwise */
    const float *bias;    /* (out_channels) or NULL */
    const float *add;     /* as out, or NULL */
    float *out;           /* (batch, out..., out_channels) */
    fid_activation activation;
    int64_t in_line, out_line; /* line of the image that `input`, `out` start with: 0 but for fidk_depthwise_band */
} fidk_conv;

void fidk_conv_set(fidk_conv *conv, const fid_convolution *from);
size_t fidk_conv_scratch_bytes(const fidk_conv *conv);
void fidk_conv_run(const fidk_conv *conv, void *scratch);

/* Packs a plain weight (out_channels, in_channels / groups, kernel...) of any strides. */
size_t fidk_conv_packed_floats(const fid_convolution *conv);
void fidk_conv_pack(const fid_convolution *conv, float *out_packed);

/* The same for Winograd's F(m x m), m 2 to 4; the plain weight is one of 3x3 in one group. Computed in double, rounded once. */
size_t fidk_winograd_packed_floats(const fid_convolution *conv, int64_t m);
void fidk_winograd_pack(const fid_convolution *conv, int64_t m, float *out_packed);

/* The part of scratch_bytes and run above for such weights. */
size_t fidk_winograd_scratch_bytes(const fidk_conv *conv);
void fidk_winograd_run(const fidk_conv *conv, void *scratch);

/* For kernels that mostly lie in the padding: is this such a convolution? */
bool fidk_taps_take(const fidk_conv *conv);
size_t fidk_taps_scratch_bytes(const fidk_conv *conv);
void fidk_taps_run(const fidk_conv *conv, void *scratch);

/* The depthwise part. */
size_t fidk_depthwise_scratch_bytes(const fidk_conv *conv);
void fidk_depthwise_run(const fidk_conv *conv, void *scratch);
/* Output lines [first, first + count) of one image, whose lines that they see are in memory; on this thread. `scratch`: the bytes that
 * fidk_depthwise_band_bytes names. */
size_t fidk_depthwise_band_bytes(const fidk_conv *conv);
void fidk_depthwise_band(const fidk_conv *conv, size_t first, size_t count, void *scratch);

#endif
