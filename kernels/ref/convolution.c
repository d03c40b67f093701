/* aten::convolution in one, two and three dimensions, plain and transposed.
 *
 * Each output position gathers its patch of the input (zeros where the window leaves it) and takes the dot product with every
 * filter: out[n, o, p] = bias[o] + sum over c, k of patch[c, k] * filter[o][c, k]. A transposed convolution is the same with
 * another patch: output p sees input i through kernel position k where i * stride - padding + k * dilation = p. */
#include "kernels/ref/dense.h"
#include "ops/window.h"

enum { PATCHES = 16 }; /* output positions that share one pass over the filters, which are often larger than the cache */

typedef struct work {
    fid_convolution conv;
    int64_t group_in, group_out;    /* channels of one group */
    size_t in_points, out_points, taps; /* positions of input, output, kernel */
    double *filters;                /* (out_channels, group_in, taps) */
    double *image;                  /* (in_channels, in_points) of one batch item */
    double *patches;                /* (PATCHES, group_in, taps) */
    double *result;                 /* (out_channels, out_points) of one batch item */
    double *bias;                   /* (out_channels) */
} work;

/* Filters with the output channel first: a transposed weight is (in_channels, group_out, kernel...). */
static void load_filters(work *w) {
    const fid_tensor *weight = w->conv.weight;
    size_t spatial = w->conv.window.spatial;
    int64_t sizes[6], strides[6];
    sizes[0] = w->conv.groups, sizes[1] = w->group_out, sizes[2] = w->group_in;
    memcpy(sizes + 3, weight->sizes + 2, spatial * sizeof sizes[0]);
    memcpy(strides + 3, weight->strides + 2, spatial * sizeof sizes[0]);
    strides[0] = weight->strides[0] * (w->conv.transposed ? w->group_in : w->group_out);
    strides[1] = weight->strides[w->conv.transposed];
    strides[2] = weight->strides[!w->conv.transposed];
    fidk_load_view(weight, 3 + spatial, sizes, strides, w->filters);
}

/* The input position that output position `out` sees through kernel position `k` in dimension d; -1 for padding. */
static int64_t source(const work *w, size_t d, int64_t out, int64_t k) {
    const fid_window *window = &w->conv.window;
    if (!w->conv.transposed) {
        int64_t in = out * window->stride[d] + k * window->dilation[d] - window->padding[d];
        return in < window->in[d] ? in : -1;
    }
    int64_t shifted = out + window->padding[d] - k * window->dilation[d];
    if (shifted < 0 || shifted % window->stride[d] != 0) return -1;
    return shifted / window->stride[d] < window->in[d] ? shifted / window->stride[d] : -1;
}

/* The patch that output position `at` sees in the channels of `group`. */
static void gather_patch(const work *w, int64_t group, const int64_t *at, double *patch) {
    const fid_window *window = &w->conv.window;
    const double *image = w->image + (size_t)(group * w->group_in) * w->in_points;
    int64_t k[3] = {0, 0, 0};
    for (size_t tap = 0; tap < w->taps; tap++, fidk_next_index(k, window->kernel, 3)) {
        int64_t depth = source(w, 0, at[0], k[0]), row = source(w, 1, at[1], k[1]), column = source(w, 2, at[2], k[2]);
        bool inside = depth >= 0 && row >= 0 && column >= 0;
        size_t point = inside ? (size_t)((depth * window->in[1] + row) * window->in[2] + column) : 0;
        for (int64_t c = 0; c < w->group_in; c++)
            patch[(size_t)c * w->taps + tap] = inside ? image[(size_t)c * w->in_points + point] : 0;
    }
}

/* One group at `count` output positions from `point` on, whose index is `at`. */
static void convolve_block(const work *w, int64_t group, size_t point, const int64_t *at, size_t count) {
    size_t row = (size_t)w->group_in * w->taps;
    int64_t moving[3] = {at[0], at[1], at[2]};
    for (size_t i = 0; i < count; i++, fidk_next_index(moving, w->conv.window.out, 3))
        gather_patch(w, group, moving, w->patches + i * row);
    for (int64_t o = group * w->group_out; o < (group + 1) * w->group_out; o++)
        for (size_t i = 0; i < count; i++)
            w->result[(size_t)o * w->out_points + point + i] = w->bias[o] + fidk_dot(w->patches + i * row, w->filters + (size_t)o * row, row);
}

static void convolve_item(const work *w) {
    int64_t at[3] = {0, 0, 0};
    for (size_t point = 0; point < w->out_points; point += PATCHES) {
        size_t count = w->out_points - point < PATCHES ? w->out_points - point : PATCHES;
        for (int64_t group = 0; group < w->conv.groups; group++) convolve_block(w, group, point, at, count);
        for (size_t i = 0; i < count; i++) fidk_next_index(at, w->conv.window.out, 3);
    }
}

static fid_status allocate(fid_call *call, work *w) {
    const fid_convolution *conv = &w->conv;
    w->in_points = fidk_product(conv->window.in, 3);
    w->out_points = fidk_product(conv->window.out, 3);
    w->taps = fidk_product(conv->window.kernel, 3);
    FIDK_NEED(w->filters = fidk_doubles(call, fid_tensor_numel(conv->weight)));
    FIDK_NEED(w->image = fidk_doubles(call, (size_t)conv->in_channels * w->in_points));
    FIDK_NEED(w->patches = fidk_doubles(call, fidk_product((int64_t[]){PATCHES, w->group_in, (int64_t)w->taps}, 3)));
    FIDK_NEED(w->result = fidk_doubles(call, (size_t)conv->out_channels * w->out_points));
    FIDK_NEED(w->bias = fidk_dense_load_or(call, conv->bias, (size_t)conv->out_channels, 0));
    return FID_OK;
}

static fid_status run(fid_call *call) {
    work w;
    FID_TRY(fid_convolution_of(call, &w.conv));
    fid_tensor image = *w.conv.input, result = *fid_out_tensor(call, 0);
    if (fid_tensor_numel(&result) == 0) return FID_OK;
    w.group_in = w.conv.in_channels / w.conv.groups;
    w.group_out = w.conv.out_channels / w.conv.groups;
    FID_TRY(allocate(call, &w));
    load_filters(&w);
    size_t lead = w.conv.batched, rank = w.conv.window.spatial + 1;
    size_t image_step = lead ? (size_t)image.strides[0] * fid_dtype_size((fid_dtype)image.dtype) : 0;
    size_t result_step = lead ? (size_t)result.strides[0] * fid_dtype_size((fid_dtype)result.dtype) : 0;
    for (int64_t n = 0; n < w.conv.batch; n++) {
        fidk_load_view(&image, rank, image.sizes + lead, image.strides + lead, w.image);
        convolve_item(&w);
        fidk_store_view(&result, rank, result.sizes + lead, result.strides + lead, w.result);
        image.data = (uint8_t *)image.data + image_step;
        result.data = (uint8_t *)result.data + result_step;
    }
    return FID_OK;
}

const fid_kernel fid_ref_convolution = {.run = run};
