/* Gradients that programs for training call: of convolutions and of max pooling. Sums run in double and are rounded once. */
#include "kernels/ref/accumulate.h"
#include "kernels/ref/dense.h"
#include "ops/window.h"

/* A convolution pairs an anchor (an output position; of a transposed one an input position) with the position that it reaches through
 * kernel position k: anchor * stride - padding + k * dilation. Sizes are depth, height, width. */
typedef struct gradient {
    bool transposed;
    int64_t batch, groups, group_in, group_out;
    int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
    int64_t in_points, out_points, taps;
    const double *grad, *input, *weight;
    double *grad_input, *grad_weight, *grad_bias;
} gradient;

static void spatial_sizes(const fid_tensor *tensor, int64_t *sizes) {
    size_t spatial = (size_t)tensor->rank - 2;
    for (size_t d = 0; d < 3; d++) sizes[d] = d + spatial >= 3 ? tensor->sizes[2 + d + spatial - 3] : 1;
}

static fid_status read_gradient(fid_call *call, gradient *g) {
    const fid_tensor *grad = fid_arg_tensor(call, 0), *input = fid_arg_tensor(call, 1), *weight = fid_arg_tensor(call, 2);
    size_t spatial = (size_t)input->rank - 2;
    *g = (gradient){.transposed = fid_arg_bool(call, 7), .batch = input->sizes[0], .groups = fid_arg_int(call, 9)};
    for (size_t d = 0; d < 3; d++) g->stride[d] = g->dilation[d] = 1;
    FID_TRY(fid_spatial_list(call, 4, spatial, 1, NULL, g->stride));
    FID_TRY(fid_spatial_list(call, 5, spatial, 0, NULL, g->padding));
    FID_TRY(fid_spatial_list(call, 6, spatial, 1, NULL, g->dilation));
    g->group_in = input->sizes[1] / g->groups;
    g->group_out = grad->sizes[1] / g->groups;
    spatial_sizes(input, g->in);
    spatial_sizes(grad, g->out);
    spatial_sizes(weight, g->kernel);
    g->in_points = g->in[0] * g->in[1] * g->in[2];
    g->out_points = g->out[0] * g->out[1] * g->out[2];
    g->taps = g->kernel[0] * g->kernel[1] * g->kernel[2];
    g->grad = fidk_dense_load(call, grad);
    g->input = fidk_dense_load(call, input);
    g->weight = fidk_dense_load(call, weight);
    g->grad_input = fidk_doubles(call, fid_tensor_numel(input));
    g->grad_weight = fidk_doubles(call, fid_tensor_numel(weight));
    g->grad_bias = fidk_doubles(call, (size_t)grad->sizes[1]);
    FIDK_NEED(g->grad && g->input && g->weight && g->grad_input && g->grad_weight && g->grad_bias);
    memset(g->grad_input, 0, fid_tensor_numel(input) * sizeof(double));
    memset(g->grad_weight, 0, fid_tensor_numel(weight) * sizeof(double));
    memset(g->grad_bias, 0, (size_t)grad->sizes[1] * sizeof(double));
    return FID_OK;
}

/* Flat position that an anchor reaches through a kernel position; -1 outside. */
static int64_t reached(const gradient *g, const int64_t *anchor, const int64_t *tap) {
    const int64_t *sizes = g->transposed ? g->out : g->in;
    int64_t flat = 0;
    for (size_t d = 0; d < 3; d++) {
        int64_t at = anchor[d] * g->stride[d] - g->padding[d] + tap[d] * g->dilation[d];
        if (at < 0 || at >= sizes[d]) return -1;
        flat = flat * sizes[d] + at;
    }
    return flat;
}

/* All pairs of channels of one batch item and group, for one pair of positions. */
static void add_pair(gradient *g, int64_t item, int64_t group, int64_t in_at, int64_t out_at, int64_t tap) {
    for (int64_t i = 0; i < g->group_in; i++) {
        int64_t in_channel = group * g->group_in + i, in = (item * g->groups * g->group_in + in_channel) * g->in_points + in_at;
        for (int64_t o = 0; o < g->group_out; o++) {
            int64_t out_channel = group * g->group_out + o;
            int64_t out = (item * g->groups * g->group_out + out_channel) * g->out_points + out_at;
            int64_t w = g->transposed ? (in_channel * g->group_out + o) * g->taps + tap : (out_channel * g->group_in + i) * g->taps + tap;
            g->grad_input[in] += g->grad[out] * g->weight[w];
            g->grad_weight[w] += g->grad[out] * g->input[in];
        }
    }
}

static void add_item(gradient *g, int64_t item, int64_t group) {
    int64_t anchor[3] = {0}, anchor_at = 0;
    const int64_t *anchors = g->transposed ? g->in : g->out;
    if ((g->transposed ? g->in_points : g->out_points) == 0 || g->taps == 0) return;
    do {
        int64_t tap[3] = {0}, tap_at = 0;
        do {
            int64_t other = reached(g, anchor, tap);
            if (other >= 0) add_pair(g, item, group, g->transposed ? anchor_at : other, g->transposed ? other : anchor_at, tap_at);
            tap_at++;
        } while (fidk_next_index(tap, g->kernel, 3));
        anchor_at++;
    } while (fidk_next_index(anchor, anchors, 3));
}

static void add_bias(gradient *g) {
    int64_t channels = g->groups * g->group_out;
    for (int64_t k = 0; k < g->batch * channels; k++) {
        for (int64_t p = 0; p < g->out_points; p++) g->grad_bias[k % channels] += g->grad[k * g->out_points + p];
    }
}

static fid_status run_convolution_backward(fid_call *call) {
    const fid_value *mask = call->args[10];
    const double *results[3];
    gradient g;
    FID_TRY(read_gradient(call, &g));
    for (int64_t item = 0; item < g.batch; item++) {
        for (int64_t group = 0; group < g.groups; group++) add_item(&g, item, group);
    }
    add_bias(&g);
    results[0] = g.grad_input, results[1] = g.grad_weight, results[2] = g.grad_bias;
    for (uint32_t i = 0; i < 3; i++) {
        const fid_tensor *out = fid_out_tensor(call, i);
        if (!out) continue;
        if (i < mask->as.bools.count && mask->as.bools.items[i]) fidk_dense_store(out, results[i]);
        else fidk_fill(out, fidk_real(0));
    }
    return FID_OK;
}

static size_t convolution_backward_bytes(const fid_call *call) {
    size_t count = 2 * (fid_tensor_numel(fid_arg_tensor(call, 1)) + fid_tensor_numel(fid_arg_tensor(call, 2)));
    return (count + fid_tensor_numel(fid_arg_tensor(call, 0)) + (size_t)fid_arg_tensor(call, 0)->sizes[1]) * sizeof(double) + 6 * 64;
}

/* Each gradient goes to the element that was the largest of its window. */
static fid_status run_max_pool2d_with_indices_backward(fid_call *call) {
    const fid_tensor *grad = fid_arg_tensor(call, 0), *indices = fid_arg_tensor(call, 7), *out = fid_out_tensor(call, 0);
    fid_dtype dtype = (fid_dtype)out->dtype;
    size_t row = (size_t)out->rank - 2, column = (size_t)out->rank - 1;
    int64_t width = out->sizes[column], plane = out->sizes[row] * width, place;
    fidk_accumulator acc;
    size_t bytes = fid_tensor_bytes(out);
    if (bytes) memset(out->data, 0, bytes);
    FID_TRY(fidk_accumulator_begin(call, FIDK_ADD, true, &acc));
    fidk_walk walk;
    fidk_walk_begin(&walk, grad->sizes, grad->rank);
    fidk_walk_add(&walk, grad);
    fidk_walk_add(&walk, indices);
    FIDK_WALK(&walk) {
        FID_TRY(fidk_index_in(call, fidk_get_int(indices, walk.at[1]), plane, &place));
        int64_t at = place / width * out->strides[row] + place % width * out->strides[column];
        for (size_t i = 0; i < row; i++) at += walk.index[i] * out->strides[i];
        fidk_element element = fidk_load((fid_dtype)grad->dtype, grad->data, walk.at[0]);
        fidk_accumulate(&acc, at, fidk_convert(element, (fid_dtype)grad->dtype, dtype));
    }
    fidk_accumulator_end(&acc);
    return FID_OK;
}

static size_t max_pool_backward_bytes(const fid_call *call) { return fidk_accumulator_bytes(fid_arg_tensor(call, 1)); }

const fid_kernel fid_ref_convolution_backward = {.run = run_convolution_backward, .scratch_bytes = convolution_backward_bytes};
const fid_kernel fid_ref_max_pool2d_with_indices_backward = {.run = run_max_pool2d_with_indices_backward,
                                                             .scratch_bytes = max_pool_backward_bytes};
