/* Arguments of our fused operators, read from a call and checked once, for shape functions and kernels. */
#ifndef FID_OPS_FUSED_H
#define FID_OPS_FUSED_H

#include "ops/activation.h"
#include "ops/window.h"
#include "ops/winograd.h"

/* Columns of one panel of packed weights: kernels/cpu/README.md. */
#define FID_PANEL 16
static inline int64_t fid_panels(int64_t columns) { return columns / FID_PANEL + (columns % FID_PANEL != 0); }

/* Weights in bfloat16 for dot products of pairs (kernels/cpu/README.md): [panels, fid_pair_rows(k), 32], rows 2 i and 2 i + 1 side by side,
 * filled up with zeros to a whole number of 32 rows. */
#define FID_PAIR_COLUMNS (2 * FID_PANEL)
static inline int64_t fid_pair_rows(int64_t k) { return (k / 32 + (k % 32 != 0)) * 16; }
static inline bool fid_is_pairs(const fid_tensor *weight) {
    return weight->dtype == FID_BFLOAT16 && weight->rank == 3 && weight->sizes[2] == FID_PAIR_COLUMNS;
}
/* Weights of a convolution by Winograd's algorithm, F(m x m) (ops/winograd.h): [panels, positions, in_channels, 16], float32, for kernels of
 * 3x3 with stride 1, dilation 1 and one group. The number of positions tells m: 16 for 2, 25 for 3, 36 for 4. 0: the weights are others. */
static inline int64_t fid_winograd_positions(int64_t m) { return (m + 2) * (m + 2); }
static inline int64_t fid_winograd_tile(const fid_tensor *weight) {
    for (int64_t m = FID_WINOGRAD_LEAST; m <= FID_WINOGRAD_MOST; m++)
        if (weight->rank == 4 && weight->sizes[1] == fid_winograd_positions(m)) return m;
    return 0;
}
/* Element (row, column) of panel `panel` of `rows` rows, in elements. */
static inline int64_t fid_packed_offset(bool pairs, int64_t rows, int64_t panel, int64_t row, int64_t column) {
    if (pairs) return (panel * fid_pair_rows(rows) + row / 2) * FID_PAIR_COLUMNS + column * 2 + row % 2;
    return (panel * rows + row) * FID_PANEL + column;
}

/* The activation of arguments i (name), i + 1 and i + 2. */
fid_status fid_fused_activation_of(const fid_call *call, uint32_t i, fid_activation *out);

/* fid::convolution(self, weight, bias, add, out_channels, kernel, stride, padding, dilation, groups, activation, a, b, scale).
 * `padding` has the numbers before each spatial dimension, then those after each. */
enum { FID_FUSED_CONVOLUTION_ADD = 3, FID_FUSED_CONVOLUTION_ACTIVATION = 10, FID_FUSED_CONVOLUTION_SCALE = 13 };
fid_status fid_fused_convolution_of(const fid_call *call, fid_convolution *out);
/* One filter a channel: its weight is packed as [panels(channels), taps, 16]; else [groups * panels(out / groups), taps * in / groups, 16]. */
static inline bool fid_convolution_is_depthwise(const fid_convolution *c) {
    return !c->transposed && c->groups == c->in_channels && c->groups == c->out_channels && c->groups > 1;
}

/* fid::separable_convolution(self, expand_weight?, expand_bias?, hidden, expand_activation, a, b, weight, bias?, kernel, stride, padding,
 * dilation, activation, a, b, project_weight, project_bias?, add?, out_channels, project_activation, a, b): a pointwise convolution to
 * `hidden` channels (none if expand_weight is absent), a depthwise one, and a pointwise one, each as fid::convolution. */
enum { FID_SEPARABLE_ADD = 18 };
typedef struct fid_separable {
    fid_convolution depthwise; /* input: self, whatever its channels; in_channels = out_channels = groups = hidden */
    const fid_tensor *expand_weight, *expand_bias, *project_weight, *project_bias, *add;
    int64_t in_channels, out_channels;
    fid_activation expand_activation, activation, project_activation;
} fid_separable;
fid_status fid_separable_of(const fid_call *call, fid_separable *out);

#endif
