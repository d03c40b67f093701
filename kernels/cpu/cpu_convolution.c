/* fid::convolution and aten::convolution.
 *
 * The aten operator comes from programs without packed weights: a constant weight is packed once in prepare, and an image in
 * logical order is turned to channels-last in scratch and back. */
#include "kernels/cpu/conv_transposed.h"

static fid_status run_conv(fid_call *call, const fidk_conv *conv) {
    size_t bytes = fidk_conv_scratch_bytes(conv);
    void *scratch = bytes ? fid_call_scratch(call, bytes) : NULL;
    if (bytes && !scratch) return FID_OUT_OF_MEMORY;
    fidk_conv_run(conv, scratch);
    return FID_OK;
}

/* ---- fid::convolution ---- */

static bool is_channels_last_f32(const fid_tensor *tensor) {
    return !tensor || (fid_is_channels_last(tensor->dim_order, tensor->rank) && tensor->dtype == FID_FLOAT32);
}

/* The depthwise tile has no scale: nobody makes such a call, since scales of depthwise weights are folded into them. */
static bool takes_scale(const fid_call *call) {
    const fid_tensor *scale = fid_arg_tensor(call, FID_FUSED_CONVOLUTION_SCALE);
    fid_convolution from;
    return !scale || (fidk_plain_f32(scale) && fid_fused_convolution_of(call, &from) == FID_OK && !fid_convolution_is_depthwise(&from));
}

static fid_status fused_prepare(fid_call *call) {
    fid_activation activation;
    FID_TRY(fid_fused_activation_of(call, FID_FUSED_CONVOLUTION_ACTIVATION, &activation));
    bool takes = is_channels_last_f32(fid_arg_tensor(call, 0)) && is_channels_last_f32(fid_arg_tensor(call, FID_FUSED_CONVOLUTION_ADD)) &&
                 is_channels_last_f32(fid_out_tensor(call, 0)) && (fidk_plain_f32(fid_arg_tensor(call, 1)) || fid_is_pairs(fid_arg_tensor(call, 1))) &&
                 fidk_plain_f32(fid_arg_tensor(call, 2)) && takes_scale(call);
    return takes ? FID_OK : FID_NOT_SUPPORTED;
}

static fid_status fused_conv_of(const fid_call *call, fidk_conv *out) {
    fid_convolution from;
    FID_TRY(fid_fused_convolution_of(call, &from));
    *out = (fidk_conv){.tiles = fidk_tiles_for(call->cpu), .threads = call->threads, .input = from.input->data,
                       .weights = from.weight->data, .pairs = fid_is_pairs(from.weight) ? from.weight->data : NULL, .cpu = call->cpu,
                       .bias = fidk_floats(from.bias),
                       .scale = fidk_floats(fid_arg_tensor(call, FID_FUSED_CONVOLUTION_SCALE)),
                       .add = fidk_floats(fid_arg_tensor(call, FID_FUSED_CONVOLUTION_ADD)), .out = fid_out_tensor(call, 0)->data};
    fidk_conv_set(out, &from);
    out->winograd = (size_t)fid_winograd_tile(from.weight);
    return fid_fused_activation_of(call, FID_FUSED_CONVOLUTION_ACTIVATION, &out->activation);
}

static fid_status fused_run(fid_call *call) {
    fidk_conv conv;
    FID_TRY(fused_conv_of(call, &conv));
    return run_conv(call, &conv);
}

static size_t fused_bytes(const fid_call *call) {
    fidk_conv conv;
    return fused_conv_of(call, &conv) == FID_OK ? fidk_conv_scratch_bytes(&conv) : 0;
}

const fid_kernel fid_cpu_fused_convolution = {.prepare = fused_prepare, .run = fused_run, .scratch_bytes = fused_bytes};

/* ---- aten::convolution ---- */

typedef struct convolution_state {
    const float *packed; /* NULL: the weight is not constant */
} convolution_state;

static bool is_image(const fid_tensor *tensor) { return fidk_plain_f32(tensor) || is_channels_last_f32(tensor); }

static size_t packed_floats(const fid_convolution *from) {
    return from->transposed ? fidk_transposed_packed_floats(from) : fidk_conv_packed_floats(from);
}

static void pack(const fid_convolution *from, float *out) {
    if (from->transposed) fidk_transposed_pack(from, out);
    else fidk_conv_pack(from, out);
}

static fid_status convolution_prepare(fid_call *call) {
    fid_convolution from;
    FID_TRY(fid_convolution_of(call, &from));
    const int64_t *dilation = from.window.dilation;
    if (from.transposed && (dilation[0] != 1 || dilation[1] != 1 || dilation[2] != 1)) return FID_NOT_SUPPORTED;
    bool takes = is_image(from.input) && is_image(fid_out_tensor(call, 0)) && fidk_is_f32(from.weight) && fidk_plain_f32(from.bias);
    if (!takes || (!from.batched && !fidk_plain_f32(from.input))) return FID_NOT_SUPPORTED;
    convolution_state *state = fid_call_persist(call, sizeof *state);
    if (!state) return FID_OUT_OF_MEMORY;
    *state = (convolution_state){0};
    call->state = state;
    if (!fidk_is_constant(from.weight)) return FID_OK;
    float *packed = fid_call_persist(call, packed_floats(&from) * sizeof *packed + 1);
    if (!packed) return FID_OUT_OF_MEMORY;
    pack(&from, packed);
    state->packed = packed;
    return FID_OK;
}

/* Floats of scratch, aligned; NULL when memory is short. */
static float *scratch_floats(fid_call *call, size_t count) { return fid_call_scratch(call, count * sizeof(float) + 1); }

static bool in_logical_order(const fid_tensor *tensor) { return !fid_is_channels_last(tensor->dim_order, tensor->rank); }

/* Is this image, of `channels` and a size, turned? */
static bool is_turned(const fid_tensor *image, size_t channels, const int64_t *sizes) {
    return in_logical_order(image) && channels > 1 && sizes[0] * sizes[1] * sizes[2] > 1;
}

static size_t image_floats(const fidk_conv *conv, size_t channels, const int64_t *sizes) {
    return conv->batch * channels * (size_t)(sizes[0] * sizes[1] * sizes[2]);
}

static fid_status convolution_of(const fid_call *call, fid_convolution *from, fidk_conv *out) {
    const convolution_state *state = call->state;
    FID_TRY(fid_convolution_of(call, from));
    *out = (fidk_conv){.tiles = fidk_tiles_for(call->cpu), .threads = call->threads, .input = from->input->data,
                       .weights = state->packed, .bias = fidk_floats(from->bias)};
    fidk_conv_set(out, from);
    if (from->transposed) out->depthwise = from->groups > 1 && from->groups == from->in_channels && from->groups == from->out_channels;
    return FID_OK;
}

/* Runs on a channels-last input, into the output or, if that lies in logical order, into scratch and from there. */
static fid_status run_and_turn(fid_call *call, const fid_convolution *from, fidk_conv *conv) {
    fid_tensor *out = fid_out_tensor(call, 0);
    const int64_t *sizes = conv->window.out;
    bool turn = is_turned(out, conv->out_channels, sizes);
    conv->out = turn ? scratch_floats(call, image_floats(conv, conv->out_channels, sizes)) : out->data;
    if (!conv->out) return FID_OUT_OF_MEMORY;
    FID_TRY(from->transposed ? fidk_transposed_run(call, from, conv) : run_conv(call, conv));
    size_t points = (size_t)(sizes[0] * sizes[1] * sizes[2]);
    if (turn) fidk_transpose(conv->tiles, conv->threads, conv->out, conv->batch, points, conv->out_channels, out->data);
    return FID_OK;
}

static fid_status convolution_run(fid_call *call) {
    fid_convolution from;
    fidk_conv conv;
    FID_TRY(convolution_of(call, &from, &conv));
    if (fid_tensor_numel(fid_out_tensor(call, 0)) == 0) return FID_OK;
    if (!conv.weights) {
        float *packed = scratch_floats(call, packed_floats(&from));
        if (!packed) return FID_OUT_OF_MEMORY;
        pack(&from, packed);
        conv.weights = packed;
    }
    const int64_t *sizes = conv.window.in;
    if (is_turned(from.input, conv.in_channels, sizes)) {
        float *turned = scratch_floats(call, image_floats(&conv, conv.in_channels, sizes));
        if (!turned) return FID_OUT_OF_MEMORY;
        fidk_transpose(conv.tiles, conv.threads, conv.input, conv.batch, conv.in_channels, (size_t)(sizes[0] * sizes[1] * sizes[2]), turned);
        conv.input = turned;
    }
    return run_and_turn(call, &from, &conv);
}

static size_t convolution_bytes(const fid_call *call) {
    fid_convolution from;
    fidk_conv conv;
    if (convolution_of(call, &from, &conv) != FID_OK) return 0;
    const fid_window *w = &conv.window;
    size_t bytes = conv.weights ? 0 : fidk_scratch_piece(packed_floats(&from) * sizeof(float) + 1);
    if (is_turned(from.input, conv.in_channels, w->in)) bytes += fidk_scratch_piece(image_floats(&conv, conv.in_channels, w->in) * sizeof(float) + 1);
    if (is_turned(fid_out_tensor(call, 0), conv.out_channels, w->out))
        bytes += fidk_scratch_piece(image_floats(&conv, conv.out_channels, w->out) * sizeof(float) + 1);
    return bytes + (from.transposed ? fidk_transposed_scratch_bytes(&from, &conv) : fidk_scratch_piece(fidk_conv_scratch_bytes(&conv)));
}

const fid_kernel fid_cpu_convolution = {.prepare = convolution_prepare, .run = convolution_run, .scratch_bytes = convolution_bytes};
