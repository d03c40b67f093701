/* Upsampling (and downsampling) of images: nearest, linear, cubic, and the antialiased forms of the last two.
 *
 * Every method is separable: an output position along one dimension is a weighted sum of a few input positions, its taps. A
 * table of taps is made for each dimension, and the image is passed through the tables one dimension after the other. */
#include "kernels/ref/dense.h"
#include "ops/resample.h"

typedef enum method { NEAREST, NEAREST_EXACT, LINEAR, CUBIC, LINEAR_ANTIALIAS, CUBIC_ANTIALIAS } method;

typedef struct taps {
    size_t count;    /* taps of one output position; unused ones have weight 0 */
    int64_t *index;  /* (out, count) */
    double *weight;  /* (out, count) */
} taps;

/* Input positions for each output position. */
static double step_of(const fid_resample *r, size_t d) {
    if (r->align_corners) return r->out[d] > 1 ? (double)(r->in[d] - 1) / (double)(r->out[d] - 1) : 0;
    return r->scale[d] > 0 ? 1 / r->scale[d] : (double)r->in[d] / (double)r->out[d];
}

static int64_t clamp_index(int64_t index, int64_t size) { return index < 0 ? 0 : index >= size ? size - 1 : index; }

/* PyTorch computes the position in float32 (unless the image is float64): an image twice as large must pick the same elements. */
static void nearest_taps(const fid_resample *r, size_t d, bool exact, const taps *t) {
    bool wide = r->input->dtype == FID_FLOAT64;
    double step = step_of(r, d), shift = exact ? 0.5 : 0;
    for (int64_t i = 0; i < r->out[d]; i++) {
        double at = wide ? ((double)i + shift) * step : (double)(((float)i + (float)shift) * (float)step);
        t->index[i] = clamp_index((int64_t)fmin(floor(at), (double)(r->in[d] - 1)), r->in[d]);
        t->weight[i] = 1;
    }
}

/* Where output position i lies among the input positions. */
static double position(const fid_resample *r, double step, int64_t i) {
    return r->align_corners ? step * (double)i : step * ((double)i + 0.5) - 0.5;
}

static void linear_taps(const fid_resample *r, size_t d, const taps *t) {
    double step = step_of(r, d);
    for (int64_t i = 0; i < r->out[d]; i++) {
        double at = fmin(fmax(position(r, step, i), 0), (double)r->in[d]);
        int64_t first = clamp_index((int64_t)at, r->in[d]);
        double rest = fmin(at - (double)first, 1);
        t->index[2 * i] = first, t->weight[2 * i] = 1 - rest;
        t->index[2 * i + 1] = clamp_index(first + 1, r->in[d]), t->weight[2 * i + 1] = rest;
    }
}

/* Keys' cubic kernel at distance x. */
static double cubic_weight(double x, double a) {
    x = fabs(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static void cubic_taps(const fid_resample *r, size_t d, const taps *t) {
    double step = step_of(r, d);
    for (int64_t i = 0; i < r->out[d]; i++) {
        double at = fmin(fmax(position(r, step, i), -2), (double)r->in[d] + 2), first = floor(at);
        for (int64_t j = 0; j < 4; j++) {
            t->index[4 * i + j] = clamp_index((int64_t)first + j - 1, r->in[d]);
            t->weight[4 * i + j] = cubic_weight(at - (first + (double)(j - 1)), -0.75);
        }
    }
}

static double antialias_weight(method m, double x) {
    if (m == CUBIC_ANTIALIAS) return cubic_weight(x, -0.5);
    return fabs(x) < 1 ? 1 - fabs(x) : 0;
}

/* Half the width of the filter in input positions: it grows with the step when the image shrinks. */
static double antialias_reach(const fid_resample *r, size_t d, method m) {
    return (m == CUBIC_ANTIALIAS ? 2 : 1) * fmax(step_of(r, d), 1);
}

static void antialias_taps(const fid_resample *r, size_t d, method m, const taps *t) {
    double step = step_of(r, d), reach = antialias_reach(r, d, m), shrink = 1 / fmax(step, 1), in = (double)r->in[d];
    for (int64_t i = 0; i < r->out[d]; i++) {
        double center = step * ((double)i + 0.5), total = 0, *weight = t->weight + (size_t)i * t->count;
        double first = floor(fmin(fmax(center - reach + 0.5, 0), in)), end = floor(fmin(fmax(center + reach + 0.5, 0), in));
        for (size_t j = 0; j < t->count; j++) {
            double at = first + (double)j;
            weight[j] = at < end ? antialias_weight(m, (at - center + 0.5) * shrink) : 0;
            t->index[(size_t)i * t->count + j] = clamp_index((int64_t)at, r->in[d]);
            total += weight[j];
        }
        for (size_t j = 0; j < t->count && total != 0; j++) weight[j] /= total;
    }
}

/* Each output position is input position i / repeat. */
static void copy_taps(const fid_resample *r, size_t d, int64_t repeat, taps *t) {
    t->count = 1;
    for (int64_t i = 0; i < r->out[d]; i++) t->index[i] = i / repeat, t->weight[i] = 1;
}

/* How often each input position repeats where fid_resample_by_size holds: linear and antialiased methods have that rule, nearest in
 * two dimensions too. 0: there is no such rule for the dimension. */
static int64_t plain_repeat(const fid_resample *r, size_t d, method m) {
    bool has_rule = m == LINEAR || m >= LINEAR_ANTIALIAS || (m == NEAREST && r->spatial == 2);
    return has_rule && r->in[d] && fid_resample_by_size(r, d, m == NEAREST) ? r->out[d] / r->in[d] : 0;
}

static fid_status make_taps(fid_call *call, const fid_resample *r, size_t d, method m, taps *t) {
    static const uint8_t counts[] = {[NEAREST] = 1, [NEAREST_EXACT] = 1, [LINEAR] = 2, [CUBIC] = 4, [CUBIC_ANTIALIAS] = 0};
    t->count = counts[m];
    if (m >= LINEAR_ANTIALIAS) t->count = (size_t)fmin(ceil(antialias_reach(r, d, m)) * 2 + 1, (double)r->in[d]);
    size_t total = fidk_product((int64_t[]){r->out[d], (int64_t)t->count}, 2);
    FIDK_NEED(t->index = fidk_ints(call, total));
    FIDK_NEED(t->weight = fidk_doubles(call, total));
    int64_t repeat = plain_repeat(r, d, m);
    if (repeat) copy_taps(r, d, repeat, t);
    else if (m <= NEAREST_EXACT) nearest_taps(r, d, m == NEAREST_EXACT, t);
    else if (m == LINEAR) linear_taps(r, d, t);
    else if (m == CUBIC) cubic_taps(r, d, t);
    else antialias_taps(r, d, m, t);
    return FID_OK;
}

/* One dimension of (outer, in, inner) to (outer, out, inner). */
static void resample_dim(const taps *t, size_t outer, size_t in, size_t out, size_t inner, const double *from, double *to) {
    for (size_t o = 0; o < outer; o++)
        for (size_t i = 0; i < out; i++) {
            double *row = to + (o * out + i) * inner;
            for (size_t k = 0; k < inner; k++) row[k] = 0;
            for (size_t j = 0; j < t->count; j++) {
                double weight = t->weight[i * t->count + j];
                const double *source = from + (o * in + (size_t)t->index[i * t->count + j]) * inner;
                for (size_t k = 0; k < inner && weight != 0; k++) row[k] += weight * source[k];
            }
        }
}

/* ---- Images of bytes: weights of 16 bits, rounded to a byte after each dimension, as PyTorch has it ---- */

static bool in_bytes(const fid_resample *r, method m) { return r->input->dtype == FID_UINT8 && r->spatial == 2 && m >= LINEAR; }

/* Taps beyond the border were clamped onto it: one tap for each input position, so that each is rounded once. */
static void merge_taps(const taps *t, size_t out) {
    for (size_t i = 0; i < out; i++) {
        const int64_t *index = t->index + i * t->count;
        double *weight = t->weight + i * t->count;
        for (size_t j = 1; j < t->count; j++)
            for (size_t k = 0; k < j; k++)
                if (index[j] == index[k]) weight[k] += weight[j], weight[j] = 0;
    }
}

/* Weights become whole numbers of 2^-bits, as many bits as the largest leaves below 2^15. Returns 2^bits. */
static double quantize_taps(const taps *t, size_t out) {
    double largest = 0, one = 1;
    merge_taps(t, out);
    for (size_t i = 0; i < out * t->count; i++) largest = fmax(largest, t->weight[i]);
    for (int bits = 0; bits < 22 && floor(0.5 + largest * one * 2) < 32768; bits++) one *= 2;
    for (size_t i = 0; i < out * t->count; i++) t->weight[i] = trunc(t->weight[i] * one + (t->weight[i] < 0 ? -0.5 : 0.5));
    return one;
}

static void round_bytes(double *values, size_t count, double one) {
    for (size_t i = 0; i < count; i++) values[i] = fmin(fmax(floor((values[i] + one / 2) / one), 0), 255);
}

static fid_status upsample(fid_call *call, fid_resample_form form, method m) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    fid_resample r;
    FID_TRY(fid_resample_of(call, form, &r));
    if (fid_tensor_numel(out) == 0) return FID_OK;
    double *values;
    int64_t sizes[5];
    FIDK_NEED(values = fidk_dense_load(call, r.input));
    memcpy(sizes, r.input->sizes, (r.spatial + 2) * sizeof sizes[0]);
    for (size_t d = r.spatial; d-- > 0;) {
        taps t;
        double *to;
        FID_TRY(make_taps(call, &r, d, m, &t));
        sizes[d + 2] = r.out[d];
        FIDK_NEED(to = fidk_doubles(call, fidk_product(sizes, r.spatial + 2)));
        double one = in_bytes(&r, m) ? quantize_taps(&t, (size_t)r.out[d]) : 0;
        resample_dim(&t, fidk_product(sizes, d + 2), (size_t)r.in[d], (size_t)r.out[d],
                     fidk_product(sizes + d + 3, r.spatial - d - 1), values, to);
        if (one != 0) round_bytes(to, fidk_product(sizes, r.spatial + 2), one);
        values = to;
    }
    bool round = !fid_dtype_is_float((fid_dtype)out->dtype);
    for (size_t i = 0; round && i < fid_tensor_numel(out); i++) values[i] = nearbyint(values[i]);
    fidk_dense_store(out, values);
    return FID_OK;
}

/* row, spatial dimensions, align_corners argument, method: each as `row` and `row_vec` */
#define UPSAMPLE_ROWS(X)                                                                                               \
    X(upsample_nearest1d, 1, false, NEAREST)                                                                           \
    X(upsample_nearest2d, 2, false, NEAREST)                                                                           \
    X(upsample_nearest3d, 3, false, NEAREST)                                                                           \
    X(_upsample_nearest_exact1d, 1, false, NEAREST_EXACT)                                                              \
    X(_upsample_nearest_exact2d, 2, false, NEAREST_EXACT)                                                              \
    X(_upsample_nearest_exact3d, 3, false, NEAREST_EXACT)                                                              \
    X(upsample_linear1d, 1, true, LINEAR)                                                                              \
    X(upsample_bilinear2d, 2, true, LINEAR)                                                                            \
    X(upsample_trilinear3d, 3, true, LINEAR)                                                                           \
    X(upsample_bicubic2d, 2, true, CUBIC)                                                                              \
    X(_upsample_bilinear2d_aa, 2, true, LINEAR_ANTIALIAS)                                                              \
    X(_upsample_bicubic2d_aa, 2, true, CUBIC_ANTIALIAS)
#define UPSAMPLE_KERNELS(id, spatial, align, method)                                                                   \
    static fid_status run_##id(fid_call *call) { return upsample(call, (fid_resample_form){spatial, align, false}, method); } \
    static fid_status run_##id##_vec(fid_call *call) { return upsample(call, (fid_resample_form){spatial, align, true}, method); } \
    const fid_kernel fid_ref_##id = {.run = run_##id};                                                                 \
    const fid_kernel fid_ref_##id##_vec = {.run = run_##id##_vec};
UPSAMPLE_ROWS(UPSAMPLE_KERNELS)
