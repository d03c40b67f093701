/* fid::convolution: direct sums over the packed weights, or Winograd's algorithm where they are packed for it; in double, rounded once. */
#include "kernels/ref/dense.h"
#include "kernels/ref/winograd.h"

typedef struct work {
    fid_convolution conv;
    bool depthwise;
    int64_t group_in, group_out;
    double *input;  /* (batch, channels, points) in logical order */
    double *weight; /* packed */
    double *scale, *bias; /* (out_channels) */
    double *result; /* (batch, out_channels, out points): first what is added */
    double *sums;   /* as result */
} work;

/* The weight of output channel `o`, kernel position `tap`, channel `c` of its group. */
static double weight_at(const work *w, int64_t o, int64_t tap, int64_t c) {
    int64_t taps = (int64_t)fidk_product(w->conv.window.kernel, 3);
    int64_t column = w->depthwise ? o : o % w->group_out;
    int64_t panel = (w->depthwise ? 0 : o / w->group_out * fid_panels(w->group_out)) + column / FID_PANEL;
    int64_t rows = w->depthwise ? taps : taps * w->group_in, row = w->depthwise ? tap : tap * w->group_in + c;
    return w->weight[fid_packed_offset(fid_is_pairs(w->conv.weight), rows, panel, row, column % FID_PANEL)];
}

/* Sum of one output element over taps inside the input. */
static double sum_at(const work *w, int64_t n, int64_t o, const int64_t *at) {
    const fid_window *window = &w->conv.window;
    const double *image = w->input + (n * w->conv.in_channels + o / w->group_out * w->group_in) * (int64_t)fidk_product(window->in, 3);
    int64_t k[3] = {0, 0, 0}, tap = 0;
    double sum = 0;
    do {
        int64_t point = 0;
        bool inside = true;
        for (size_t d = 0; d < 3; d++) {
            int64_t in = at[d] * window->stride[d] - window->padding[d] + k[d] * window->dilation[d];
            inside = inside && in >= 0 && in < window->in[d];
            point = point * window->in[d] + in;
        }
        for (int64_t c = 0; inside && c < w->group_in; c++)
            sum += image[c * (int64_t)fidk_product(window->in, 3) + point] * weight_at(w, o, tap, c);
        tap++;
    } while (fidk_next_index(k, window->kernel, 3));
    return sum;
}

static fid_status sum_all(fid_call *call, work *w) {
    const int64_t *sizes = w->conv.window.out;
    FIDK_NEED(w->sums = fidk_doubles(call, fid_tensor_numel(fid_out_tensor(call, 0))));
    if (fid_winograd_tile(w->conv.weight)) {
        double *scratch;
        FIDK_NEED(scratch = fidk_doubles(call, fidk_winograd_doubles(&w->conv)));
        fidk_winograd_sums(&w->conv, w->input, w->weight, scratch, w->sums);
        return FID_OK;
    }
    double *sum = w->sums;
    for (int64_t n = 0; n < w->conv.batch; n++) {
        for (int64_t o = 0; o < w->conv.out_channels; o++) {
            int64_t at[3] = {0, 0, 0};
            do *sum++ = sum_at(w, n, o, at);
            while (fidk_next_index(at, sizes, 3));
        }
    }
    return FID_OK;
}

static fid_status run(fid_call *call) {
    work w;
    fid_activation activation;
    const fid_tensor *out = fid_out_tensor(call, 0);
    FID_TRY(fid_fused_convolution_of(call, &w.conv));
    FID_TRY(fid_fused_activation_of(call, FID_FUSED_CONVOLUTION_ACTIVATION, &activation));
    if (fid_tensor_numel(out) == 0) return FID_OK;
    w.depthwise = fid_convolution_is_depthwise(&w.conv);
    w.group_in = w.conv.in_channels / w.conv.groups;
    w.group_out = w.conv.out_channels / w.conv.groups;
    FIDK_NEED(w.input = fidk_dense_load(call, w.conv.input));
    FIDK_NEED(w.weight = fidk_dense_load(call, w.conv.weight));
    FIDK_NEED(w.scale = fidk_dense_load_or(call, fid_arg_tensor(call, FID_FUSED_CONVOLUTION_SCALE), (size_t)w.conv.out_channels, 1));
    FIDK_NEED(w.bias = fidk_dense_load_or(call, w.conv.bias, (size_t)w.conv.out_channels, 0));
    FIDK_NEED(w.result = fidk_dense_load_or(call, fid_arg_tensor(call, FID_FUSED_CONVOLUTION_ADD), fid_tensor_numel(out), 0));
    FID_TRY(sum_all(call, &w));
    size_t points = fidk_product(w.conv.window.out, 3), channels = (size_t)w.conv.out_channels;
    for (size_t i = 0; i < fid_tensor_numel(out); i++) {
        size_t o = i / points % channels;
        w.result[i] = fid_activation_apply(&activation, w.result[i] + w.bias[o] + w.scale[o] * w.sums[i]);
    }
    fidk_dense_store(out, w.result);
    return FID_OK;
}

const fid_kernel fid_ref_fused_convolution = {.run = run};
