/* Transposed convolutions as plain ones.
 *
 * With stride s, the output positions of one remainder modulo s (a phase) see every s-th kernel position, in reverse, over neighbouring
 * input positions: a plain convolution of stride one. Each phase, one for each combination of remainders, has its own packed weights; its
 * result is computed dense and copied to its places. Phases that see no kernel position hold the bias. Dilated kernels are left to the
 * reference. */
#include "kernels/cpu/conv_transposed.h"

#include "kernels/cpu/copy_view.h"
#include "kernels/cpu/pack_weights.h"

typedef struct phase {
    int64_t rest[3];          /* first output position */
    int64_t taps[3], last[3]; /* kernel positions that it sees, and the largest of them: last, last - stride, ... */
    int64_t padding[3];       /* may be negative: positions at the input's start that are not seen */
    int64_t count[3];         /* output positions */
    bool empty;               /* no output at the present size */
} phase;

/* Phases that see kernel positions: those of kernel position `first` up to the stride. */
static int64_t firsts(const fid_window *w, size_t d) { return w->kernel[d] < w->stride[d] ? w->kernel[d] : w->stride[d]; }

static size_t phase_count(const fid_window *w) { return (size_t)(firsts(w, 0) * firsts(w, 1) * firsts(w, 2)); }

static phase phase_of(const fid_window *w, size_t index) {
    phase p = {.empty = false};
    for (size_t d = 3; d-- > 0;) {
        int64_t stride = w->stride[d], first = (int64_t)(index % (size_t)firsts(w, d));
        index /= (size_t)firsts(w, d);
        p.rest[d] = ((first - w->padding[d]) % stride + stride) % stride;
        p.taps[d] = (w->kernel[d] - 1 - first) / stride + 1;
        p.last[d] = first + (p.taps[d] - 1) * stride;
        p.padding[d] = (p.last[d] - p.rest[d] - w->padding[d]) / stride;
        p.count[d] = p.rest[d] < w->out[d] ? (w->out[d] - p.rest[d] - 1) / stride + 1 : 0;
        p.empty = p.empty || !p.count[d];
    }
    return p;
}

/* The phase as a plain convolution whose weight is a view of the plain weight; `group` of it unless depthwise. */
typedef struct phase_weight {
    fid_convolution conv;
    fid_tensor view;
    int64_t sizes[5], strides[5];
} phase_weight;

static bool is_depthwise(const fid_convolution *conv) {
    return conv->groups > 1 && conv->groups == conv->in_channels && conv->groups == conv->out_channels;
}

static void view_weight(const fid_convolution *from, const phase *p, int64_t group, phase_weight *out) {
    const fid_tensor *w = from->weight;
    int64_t in = from->in_channels / from->groups, at = group * in * w->strides[0];
    bool depthwise = is_depthwise(from);
    out->conv = (fid_convolution){.weight = &out->view, .groups = depthwise ? from->groups : 1,
                                  .in_channels = depthwise ? from->in_channels : in,
                                  .out_channels = depthwise ? from->out_channels : from->out_channels / from->groups};
    out->sizes[0] = out->conv.out_channels, out->sizes[1] = depthwise ? 1 : in;
    out->strides[0] = depthwise ? w->strides[0] : w->strides[1], out->strides[1] = w->strides[0];
    for (size_t d = 0; d < 3; d++) out->conv.window.kernel[d] = p->taps[d];
    for (size_t i = 2; i < w->rank; i++) {
        size_t d = i + 3 - w->rank;
        out->sizes[i] = p->taps[d];
        out->strides[i] = -from->window.stride[d] * w->strides[i];
        at += p->last[d] * w->strides[i];
    }
    out->view = (fid_tensor){.data = (float *)w->data + at, .sizes = out->sizes, .strides = out->strides, .rank = w->rank, .dtype = FID_FLOAT32};
}

static size_t phase_floats(const fid_convolution *conv, const phase *p) {
    phase_weight weight;
    view_weight(conv, p, 0, &weight);
    return fidk_conv_packed_floats(&weight.conv) * (is_depthwise(conv) ? 1 : (size_t)conv->groups);
}

size_t fidk_transposed_packed_floats(const fid_convolution *conv) {
    size_t floats = 0;
    for (size_t i = 0; i < phase_count(&conv->window); i++) {
        phase p = phase_of(&conv->window, i);
        floats += phase_floats(conv, &p);
    }
    return floats;
}

void fidk_transposed_pack(const fid_convolution *conv, float *out_packed) {
    int64_t groups = is_depthwise(conv) ? 1 : conv->groups;
    for (size_t i = 0; i < phase_count(&conv->window); i++) {
        phase p = phase_of(&conv->window, i);
        for (int64_t g = 0; g < groups; g++) {
            phase_weight weight;
            view_weight(conv, &p, g, &weight);
            fidk_conv_pack(&weight.conv, out_packed);
            out_packed += fidk_conv_packed_floats(&weight.conv);
        }
    }
}

/* An image (batch, depth, height, width, channels) in memory as a tensor of rank 5. */
typedef struct image_view {
    fid_tensor tensor;
    int64_t sizes[5], strides[5];
    uint8_t order[5];
} image_view;

/* The places of a phase in the output. */
static void view_places(const fidk_conv *conv, const phase *p, image_view *out) {
    const fid_window *w = &conv->window;
    int64_t step = (int64_t)conv->out_channels, at = 0;
    *out = (image_view){.sizes = {(int64_t)conv->batch, p->count[0], p->count[1], p->count[2], step}, .order = {0, 1, 2, 3, 4}};
    out->strides[4] = 1;
    for (size_t d = 3; d-- > 0;) {
        out->strides[d + 1] = step * w->stride[d];
        at += p->rest[d] * step;
        step *= w->out[d];
    }
    out->strides[0] = step;
    out->tensor = (fid_tensor){.data = conv->out + at, .sizes = out->sizes, .strides = out->strides, .dim_order = out->order, .rank = 5,
                               .dtype = FID_FLOAT32};
}

/* The whole output as the bias, for the positions that no kernel position reaches. */
static void fill_bias(const fid_call *call, const fidk_conv *conv) {
    static const float zero = 0;
    int64_t sizes[2] = {(int64_t)conv->batch * conv->window.out[0] * conv->window.out[1] * conv->window.out[2], (int64_t)conv->out_channels};
    int64_t strides[2] = {sizes[1], 1}, from[2] = {0, conv->bias ? 1 : 0};
    uint8_t order[2] = {0, 1};
    fid_tensor out = {.data = conv->out, .sizes = sizes, .strides = strides, .dim_order = order, .rank = 2, .dtype = FID_FLOAT32};
    fidk_copy_view(call, &out, conv->bias ? conv->bias : &zero, from);
}

/* The phase as a plain convolution. */
static fidk_conv plain_of(const fidk_conv *conv, const phase *p) {
    fidk_conv plain = *conv;
    for (size_t d = 0; d < 3; d++) {
        plain.window.out[d] = p->count[d], plain.window.kernel[d] = p->taps[d], plain.window.padding[d] = p->padding[d];
        plain.window.stride[d] = 1;
    }
    return plain;
}

static void run_phase(const fid_call *call, const fidk_conv *conv, const phase *p, const float *weights, float *result, void *scratch) {
    image_view places;
    int64_t strides[5] = {0, 0, 0, 0, 1};
    fidk_conv plain = plain_of(conv, p);
    plain.weights = weights;
    plain.out = result;
    fidk_conv_run(&plain, scratch);
    view_places(conv, p, &places);
    for (size_t i = 4; i-- > 0;) strides[i] = strides[i + 1] * places.sizes[i + 1];
    fidk_copy_view(call, &places.tensor, result, strides);
}

/* What the largest phase needs: floats of its result, bytes of its scratch. */
static void largest_phase(const fid_convolution *from, const fidk_conv *conv, size_t *out_floats, size_t *out_bytes) {
    *out_floats = *out_bytes = 0;
    for (size_t i = 0; i < phase_count(&from->window); i++) {
        phase p = phase_of(&from->window, i);
        fidk_conv plain = plain_of(conv, &p);
        size_t floats = (size_t)(p.count[0] * p.count[1] * p.count[2]) * conv->batch * conv->out_channels;
        size_t bytes = p.empty ? 0 : fidk_conv_scratch_bytes(&plain);
        if (floats > *out_floats) *out_floats = floats;
        if (bytes > *out_bytes) *out_bytes = bytes;
    }
}

size_t fidk_transposed_scratch_bytes(const fid_convolution *from, const fidk_conv *conv) {
    size_t floats, bytes;
    largest_phase(from, conv, &floats, &bytes);
    return fidk_scratch_piece(floats * sizeof(float) + 1) + fidk_scratch_piece(bytes + 1);
}

fid_status fidk_transposed_run(fid_call *call, const fid_convolution *from, const fidk_conv *conv) {
    size_t floats, bytes;
    const float *weights = conv->weights;
    largest_phase(from, conv, &floats, &bytes);
    float *result = fid_call_scratch(call, floats * sizeof *result + 1);
    void *scratch = fid_call_scratch(call, bytes + 1);
    if (!result || !scratch) return FID_OUT_OF_MEMORY;
    for (size_t d = 0, filled = 0; d < 3 && !filled; d++)
        if ((filled = from->window.kernel[d] < from->window.stride[d])) fill_bias(call, conv);
    for (size_t i = 0; i < phase_count(&from->window); i++) {
        phase p = phase_of(&from->window, i);
        if (!p.empty) run_phase(call, conv, &p, weights, result, scratch);
        weights += phase_floats(from, &p);
    }
    return FID_OK;
}
