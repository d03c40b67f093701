/* Windows that slide over channels-last images. */
#include "kernels/cpu/windows.h"

/* Window positions [begin, end) in dimension d that lie inside the image, for output position `at`; found without a walk, since the
 * padding may be as large as a number gets. */
typedef struct reach {
    int64_t first; /* input position of window position 0 */
    int64_t begin, end;
} reach;

static reach reach_of(const fid_window *w, size_t d, int64_t at) {
    int64_t first = at * w->stride[d] - w->padding[d], step = w->dilation[d];
    int64_t begin = first < 0 ? (-first + step - 1) / step : 0, end = first < w->in[d] ? (w->in[d] - first - 1) / step + 1 : 0;
    return (reach){first, begin, end < w->kernel[d] ? end : w->kernel[d]};
}

size_t fidk_window_taps(const fid_window *w, size_t channels, const int64_t *at, int64_t *offsets, uint32_t *rows) {
    const reach z = reach_of(w, 0, at[0]), y = reach_of(w, 1, at[1]), x = reach_of(w, 2, at[2]);
    size_t count = 0;
    for (int64_t i = z.begin; i < z.end; i++) {
        for (int64_t j = y.begin; j < y.end; j++) {
            int64_t line = ((z.first + i * w->dilation[0]) * w->in[1] + y.first + j * w->dilation[1]) * w->in[2] + x.first;
            for (int64_t k = x.begin; k < x.end; k++, count++) {
                offsets[count] = (line + k * w->dilation[2]) * (int64_t)channels;
                if (rows) rows[count] = (uint32_t)((i * w->kernel[1] + j) * w->kernel[2] + k);
            }
        }
    }
    return count;
}

size_t fidk_window_lines(const fid_window *w, size_t channels, const int64_t *at, int64_t *offsets, uint32_t *rows) {
    const reach z = reach_of(w, 0, at[0]), y = reach_of(w, 1, at[1]), x = reach_of(w, 2, at[2]);
    size_t count = 0;
    for (int64_t i = z.begin; i < z.end; i++)
        for (int64_t j = y.begin; j < y.end; j++, count++) {
            offsets[count] = (((z.first + i * w->dilation[0]) * w->in[1] + y.first + j * w->dilation[1]) * w->in[2] + x.first) * (int64_t)channels;
            rows[count] = (uint32_t)((i * w->kernel[1] + j) * w->kernel[2]);
        }
    return count;
}

size_t fidk_window_count(const fid_window *w) {
    size_t count = 1;
    for (size_t d = 0; d < 3; d++) count *= (size_t)(w->kernel[d] < w->in[d] ? w->kernel[d] : w->in[d]);
    return count;
}

void fidk_window_middle(const fid_window *w, int64_t *out_begin, int64_t *out_end) {
    int64_t room = w->in[2] + w->padding[2] - (w->kernel[2] - 1) * w->dilation[2];
    int64_t begin = (w->padding[2] + w->stride[2] - 1) / w->stride[2], end = room > 0 ? (room - 1) / w->stride[2] + 1 : 0;
    if (begin < 0) begin = 0; /* the padding may be negative */
    *out_begin = begin < w->out[2] ? begin : w->out[2];
    *out_end = end < *out_begin ? *out_begin : end < w->out[2] ? end : w->out[2];
}
