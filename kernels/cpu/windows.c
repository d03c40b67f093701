/* Windows that slide over channels-last images. */
#include "kernels/cpu/windows.h"

/* Positions of one kernel line, which starts at `line` (floats from the image's start). */
static size_t line_taps(const fid_window *w, size_t channels, int64_t x, int64_t line, uint32_t row, size_t count, int64_t *offsets, uint32_t *rows) {
    for (int64_t k = 0; k < w->kernel[2]; k++, x += w->dilation[2]) {
        if (x < 0 || x >= w->in[2]) continue;
        offsets[count] = line + x * (int64_t)channels;
        if (rows) rows[count] = row + (uint32_t)k;
        count++;
    }
    return count;
}

size_t fidk_window_taps(const fid_window *w, size_t channels, const int64_t *at, int64_t *offsets, uint32_t *rows) {
    size_t count = 0;
    uint32_t row = 0;
    int64_t x = at[2] * w->stride[2] - w->padding[2];
    for (int64_t i = 0; i < w->kernel[0]; i++) {
        int64_t z = at[0] * w->stride[0] - w->padding[0] + i * w->dilation[0];
        for (int64_t j = 0; j < w->kernel[1]; j++, row += (uint32_t)w->kernel[2]) {
            int64_t y = at[1] * w->stride[1] - w->padding[1] + j * w->dilation[1];
            if (z < 0 || y < 0 || z >= w->in[0] || y >= w->in[1]) continue;
            count = line_taps(w, channels, x, (z * w->in[1] + y) * w->in[2] * (int64_t)channels, row, count, offsets, rows);
        }
    }
    return count;
}

void fidk_window_middle(const fid_window *w, int64_t *out_begin, int64_t *out_end) {
    int64_t reach = (w->kernel[2] - 1) * w->dilation[2], room = w->in[2] + w->padding[2] - reach;
    int64_t begin = (w->padding[2] + w->stride[2] - 1) / w->stride[2], end = room > 0 ? (room - 1) / w->stride[2] + 1 : 0;
    if (begin < 0) begin = 0; /* the padding may be negative */
    *out_begin = begin < w->out[2] ? begin : w->out[2];
    *out_end = end < *out_begin ? *out_begin : end < w->out[2] ? end : w->out[2];
}
