/* Winograd's algorithm as it is written down: for each tile of outputs the inputs are transformed, multiplied with the weights of each
 * position, summed over channels and transformed back, in double. */
#include "kernels/ref/winograd.h"

typedef struct tile {
    const fid_convolution *conv;
    const fid_winograd *by;
    int64_t m, n, y, x; /* first output line and column */
} tile;

size_t fidk_winograd_doubles(const fid_convolution *conv) { return (size_t)(conv->in_channels * fid_winograd_positions(fid_winograd_tile(conv->weight))); }

/* out (rows, rows) = by (rows, count) * d (count, count) * by' */
static void transform(const double *by, int64_t stride, int64_t rows, int64_t count, double (*d)[FID_WINOGRAD_LINE], double *out) {
    double half[FID_WINOGRAD_LINE][FID_WINOGRAD_LINE];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t x = 0; x < count; x++) {
            half[i][x] = 0;
            for (int64_t y = 0; y < count; y++) half[i][x] += by[i * stride + y] * d[y][x];
        }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < rows; j++) {
            out[i * rows + j] = 0;
            for (int64_t x = 0; x < count; x++) out[i * rows + j] += half[i][x] * by[j * stride + x];
        }
}

/* What the tile sees of one channel's image, transformed. */
static void transform_input(const tile *t, const double *image, double *out) {
    const fid_window *w = &t->conv->window;
    double d[FID_WINOGRAD_LINE][FID_WINOGRAD_LINE];
    for (int64_t i = 0; i < t->n; i++)
        for (int64_t j = 0; j < t->n; j++) {
            int64_t y = t->y - w->padding[1] + i, x = t->x - w->padding[2] + j;
            d[i][j] = y >= 0 && y < w->in[1] && x >= 0 && x < w->in[2] ? image[y * w->in[2] + x] : 0;
        }
    transform(&t->by->input[0][0], FID_WINOGRAD_LINE, t->n, t->n, d, out);
}

/* Output channel `o` of the tile, as far as it lies in `image`. */
static void sum_channel(const tile *t, const double *values, const double *weight, int64_t o, double *image) {
    int64_t channels = t->conv->in_channels, positions = t->n * t->n;
    const int64_t *out = t->conv->window.out;
    double d[FID_WINOGRAD_LINE][FID_WINOGRAD_LINE], result[FID_WINOGRAD_MOST * FID_WINOGRAD_MOST];
    for (int64_t p = 0; p < positions; p++) {
        const double *row = weight + (o / FID_PANEL * positions + p) * channels * FID_PANEL + o % FID_PANEL;
        double sum = 0;
        for (int64_t c = 0; c < channels; c++) sum += values[c * positions + p] * row[c * FID_PANEL];
        d[p / t->n][p % t->n] = sum;
    }
    transform(&t->by->output[0][0], FID_WINOGRAD_LINE, t->m, t->n, d, result);
    for (int64_t i = 0; i < t->m && t->y + i < out[1]; i++)
        for (int64_t j = 0; j < t->m && t->x + j < out[2]; j++) image[(t->y + i) * out[2] + t->x + j] = result[i * t->m + j];
}

void fidk_winograd_sums(const fid_convolution *conv, const double *input, const double *weight, double *scratch, double *out_sums) {
    const fid_window *w = &conv->window;
    int64_t m = fid_winograd_tile(conv->weight), points = w->in[1] * w->in[2], out_points = w->out[1] * w->out[2];
    tile t = {.conv = conv, .by = fid_winograd_of(m), .m = m, .n = m + 2};
    for (int64_t image = 0; image < conv->batch; image++)
        for (t.y = 0; t.y < w->out[1]; t.y += m)
            for (t.x = 0; t.x < w->out[2]; t.x += m) {
                for (int64_t c = 0; c < conv->in_channels; c++)
                    transform_input(&t, input + (image * conv->in_channels + c) * points, scratch + c * t.n * t.n);
                for (int64_t o = 0; o < conv->out_channels; o++)
                    sum_channel(&t, scratch, weight, o, out_sums + (image * conv->out_channels + o) * out_points);
            }
}
