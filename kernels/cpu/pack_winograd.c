/* Weights of 3x3 convolutions for Winograd's algorithm: [panels, positions, in_channels, 16], see ops/fused.h. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/pack_weights.h"

size_t fidk_winograd_packed_floats(const fid_convolution *conv, int64_t m) {
    return fidk_packed_floats((size_t)conv->out_channels, (size_t)(fid_winograd_positions(m) * conv->in_channels));
}

/* G g G' of the filter at `from`, each position `step` floats behind the one before. */
static void transform_filter(const fid_winograd *by, int64_t n, const float *from, int64_t line, int64_t column, size_t step, float *out) {
    double half[FID_WINOGRAD_LINE][3];
    for (int64_t i = 0; i < n; i++)
        for (int64_t x = 0; x < 3; x++) {
            half[i][x] = 0;
            for (int64_t y = 0; y < 3; y++) half[i][x] += by->kernel[i][y] * (double)from[y * line + x * column];
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++, out += step)
            *out = (float)(half[i][0] * by->kernel[j][0] + half[i][1] * by->kernel[j][1] + half[i][2] * by->kernel[j][2]);
}

void fidk_winograd_pack(const fid_convolution *conv, int64_t m, float *out_packed) {
    const fid_tensor *w = conv->weight;
    int64_t n = m + 2, in = conv->in_channels, panel = n * n * in * FIDK_PANEL;
    memset(out_packed, 0, fidk_winograd_packed_floats(conv, m) * sizeof *out_packed);
    for (int64_t o = 0; o < conv->out_channels; o++)
        for (int64_t c = 0; c < in; c++) {
            const float *from = (const float *)w->data + o * w->strides[0] + c * w->strides[1];
            float *to = out_packed + o / FIDK_PANEL * panel + c * FIDK_PANEL + o % FIDK_PANEL;
            transform_filter(fid_winograd_of(m), n, from, w->strides[2], w->strides[3], (size_t)in * FIDK_PANEL, to);
        }
}
