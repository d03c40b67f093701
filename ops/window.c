/* Geometry of convolutions and pools: see window.h. */
#include "ops/window.h"

bool fid_is_channels_last(const uint8_t *dim_order, size_t rank) {
    if (rank < 3 || dim_order[0] != 0 || dim_order[rank - 1] != 1) return false;
    for (size_t i = 1; i + 1 < rank; i++)
        if (dim_order[i] != i + 1) return false;
    return true;
}

void fid_meta_like_image(fid_meta *meta, const fid_tensor *input, const int64_t *sizes, size_t rank) {
    fid_meta_set(meta, (fid_dtype)input->dtype, sizes, rank);
    if (rank == input->rank && fid_is_channels_last(input->dim_order, rank)) memcpy(meta->dim_order, input->dim_order, rank);
}

fid_status fid_spatial_list(const fid_call *call, uint32_t i, size_t spatial, int64_t least, const int64_t *if_empty,
                            int64_t *out) {
    size_t count;
    const int64_t *items = fid_arg_ints(call, i, &count);
    if (count == 0 && if_empty) {
        memcpy(out, if_empty, 3 * sizeof out[0]);
        return FID_OK;
    }
    if (count != 1 && count != spatial) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: argument %u has %zu numbers, expected 1 or %zu", call->name,
                        (unsigned)i, count, spatial);
    }
    for (size_t d = 0; d < spatial; d++) {
        int64_t item = items[count == 1 ? 0 : d];
        if (item < least || item > INT32_MAX) {
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: argument %u holds %lld, expected %lld to 2147483647", call->name,
                            (unsigned)i, (long long)item, (long long)least);
        }
        out[3 - spatial + d] = item;
    }
    return FID_OK;
}

/* The window of a `spatial`-dimensional operator that moves over nothing in the missing dimensions. */
static void window_begin(fid_window *window, size_t spatial, const int64_t *in_sizes) {
    *window = (fid_window){.spatial = spatial};
    for (size_t d = 0; d < 3; d++) {
        window->kernel[d] = window->stride[d] = window->dilation[d] = window->in[d] = window->out[d] = 1;
        if (d + spatial >= 3) window->in[d] = in_sizes[d + spatial - 3];
    }
}

/* Input positions that a window covers, dilation * (kernel - 1) + 1; false on overflow. */
static bool window_reach(const fid_window *window, size_t d, int64_t *out) {
    int64_t reach;
    if (__builtin_mul_overflow(window->dilation[d], window->kernel[d] - 1, &reach)) return false;
    return !__builtin_add_overflow(reach, 1, out);
}

static fid_status window_too_large(const fid_call *call, const fid_window *window, size_t d) {
    return fid_fail(call->sink, FID_INVALID_ARGUMENT,
                    "%s: a kernel of %lld (dilation %lld) does not fit an input of %lld with padding %lld and %lld", call->name,
                    (long long)window->kernel[d], (long long)window->dilation[d], (long long)window->in[d],
                    (long long)window->padding[d], (long long)window->padding_end[d]);
}

/* ---- Convolution ---- */

static fid_status convolution_tensors(const fid_call *call, fid_convolution *out) {
    const fid_tensor *input = fid_arg_tensor(call, 0), *weight = fid_arg_tensor(call, 1), *bias = fid_arg_tensor(call, 2);
    *out = (fid_convolution){.input = input, .weight = weight, .bias = bias};
    if (weight->rank < 3 || weight->rank > 5 || input->rank > weight->rank || input->rank + 1 < weight->rank) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT,
                        "%s: input of rank %d with a weight of rank %d; a weight has rank 3 to 5 and the input the same (or one less: "
                        "no batch)", call->name, input->rank, weight->rank);
    }
    if (input->dtype != weight->dtype || (bias && bias->dtype != input->dtype)) {
        return fid_fail(call->sink, FID_INVALID_TYPE, "%s: input is %s, weight %s, bias %s; they must be the same", call->name,
                        fid_dtype_name((fid_dtype)input->dtype), fid_dtype_name((fid_dtype)weight->dtype),
                        bias ? fid_dtype_name((fid_dtype)bias->dtype) : "absent");
    }
    out->batched = input->rank == weight->rank;
    out->batch = out->batched ? input->sizes[0] : 1;
    out->in_channels = input->sizes[out->batched];
    window_begin(&out->window, weight->rank - 2u, input->sizes + out->batched + 1);
    for (size_t d = 2; d < weight->rank; d++) out->window.kernel[3 - weight->rank + d] = weight->sizes[d];
    return FID_OK;
}

/* Groups, and the channels that follow from them. */
static fid_status convolution_channels(const fid_call *call, uint32_t groups_arg, fid_convolution *out) {
    const int64_t *weight = out->weight->sizes, groups = fid_arg_int(call, groups_arg);
    if (groups < 1) return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %lld groups", call->name, (long long)groups);
    bool overflow = false;
    int64_t needed = weight[0];
    if (out->transposed) overflow = __builtin_mul_overflow(weight[1], groups, &out->out_channels);
    else overflow = __builtin_mul_overflow(weight[1], groups, &needed), out->out_channels = weight[0];
    if (overflow || needed != out->in_channels || needed % groups != 0 || out->out_channels % groups != 0) {
        char text[120];
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: an input of %lld channels does not fit a weight of shape %s in %lld groups",
                        call->name, (long long)out->in_channels, fid_shape_text(weight, out->weight->rank, text, sizeof text),
                        (long long)groups);
    }
    if (out->bias && (out->bias->rank != 1 || out->bias->sizes[0] != out->out_channels)) {
        char text[120];
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: bias of shape %s for %lld output channels", call->name,
                        fid_shape_text(out->bias->sizes, out->bias->rank, text, sizeof text), (long long)out->out_channels);
    }
    out->groups = groups;
    return FID_OK;
}

static fid_status convolution_out_sizes(const fid_call *call, fid_window *window) {
    for (size_t d = 3 - window->spatial; d < 3; d++) {
        int64_t reach, room;
        bool overflow = !window_reach(window, d, &reach) ||
                        __builtin_add_overflow(window->in[d], window->padding[d] + window->padding_end[d], &room);
        if (overflow || window->kernel[d] < 1 || room < reach) return window_too_large(call, window, d);
        window->out[d] = (room - reach) / window->stride[d] + 1;
    }
    return FID_OK;
}

/* The inverse relation; `padding_end` is not used. */
static fid_status transposed_out_sizes(const fid_call *call, fid_window *window, const int64_t *output_padding) {
    for (size_t d = 3 - window->spatial; d < 3; d++) {
        int64_t reach, size;
        bool overflow = !window_reach(window, d, &reach) ||
                        __builtin_mul_overflow(window->in[d] - 1, window->stride[d], &size) ||
                        __builtin_add_overflow(size, reach + output_padding[d] - 2 * window->padding[d], &size);
        if (overflow || window->kernel[d] < 1 || size < 0) return window_too_large(call, window, d);
        if (output_padding[d] >= window->stride[d] && output_padding[d] >= window->dilation[d]) {
            return fid_fail(call->sink, FID_INVALID_ARGUMENT,
                            "%s: output padding %lld must be less than stride %lld or dilation %lld", call->name,
                            (long long)output_padding[d], (long long)window->stride[d], (long long)window->dilation[d]);
        }
        window->out[d] = size;
    }
    return FID_OK;
}

static const int64_t ones[3] = {1, 1, 1}, zeros[3] = {0, 0, 0};

/* Argument 4 of conv*d: numbers, or "same" or "valid". Dilation is known already. */
static fid_status convolution_padding(const fid_call *call, fid_window *window) {
    const fid_value *value = call->args[4];
    if (value->tag != FID_TAG_STRING) {
        FID_TRY(fid_spatial_list(call, 4, window->spatial, 0, zeros, window->padding));
        memcpy(window->padding_end, window->padding, sizeof window->padding);
        return FID_OK;
    }
    bool same = value->as.string.length == 4 && memcmp(value->as.string.text, "same", 4) == 0;
    if (!same && (value->as.string.length != 5 || memcmp(value->as.string.text, "valid", 5) != 0)) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: padding is \"%.*s\", expected same or valid", call->name,
                        (int)value->as.string.length, value->as.string.text);
    }
    for (size_t d = 0; same && d < 3; d++) {
        int64_t reach;
        if (!window_reach(window, d, &reach)) return window_too_large(call, window, d);
        if (window->stride[d] != 1) {
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: padding \"same\" needs stride 1, not %lld", call->name,
                            (long long)window->stride[d]);
        }
        window->padding[d] = (reach - 1) / 2;
        window->padding_end[d] = reach - 1 - window->padding[d];
    }
    return FID_OK;
}

fid_status fid_conv_nd_of(const fid_call *call, fid_convolution *out) {
    FID_TRY(convolution_tensors(call, out));
    fid_window *window = &out->window;
    FID_TRY(convolution_channels(call, 6, out));
    FID_TRY(fid_spatial_list(call, 3, window->spatial, 1, ones, window->stride));
    FID_TRY(fid_spatial_list(call, 5, window->spatial, 1, ones, window->dilation));
    FID_TRY(convolution_padding(call, window));
    return convolution_out_sizes(call, window);
}

fid_status fid_conv_transpose_nd_of(const fid_call *call, fid_convolution *out) {
    FID_TRY(convolution_tensors(call, out));
    fid_window *window = &out->window;
    int64_t output_padding[3] = {0, 0, 0};
    out->transposed = true;
    FID_TRY(convolution_channels(call, 6, out));
    FID_TRY(fid_spatial_list(call, 3, window->spatial, 1, ones, window->stride));
    FID_TRY(fid_spatial_list(call, 4, window->spatial, 0, zeros, window->padding));
    FID_TRY(fid_spatial_list(call, 5, window->spatial, 0, zeros, output_padding));
    FID_TRY(fid_spatial_list(call, 7, window->spatial, 1, ones, window->dilation));
    return transposed_out_sizes(call, window, output_padding);
}

fid_status fid_convolution_of(const fid_call *call, fid_convolution *out) {
    FID_TRY(convolution_tensors(call, out));
    fid_window *window = &out->window;
    int64_t output_padding[3] = {0, 0, 0};
    out->transposed = fid_arg_bool(call, 6);
    FID_TRY(convolution_channels(call, 8, out));
    FID_TRY(fid_spatial_list(call, 3, window->spatial, 1, ones, window->stride));
    FID_TRY(fid_spatial_list(call, 4, window->spatial, 0, zeros, window->padding));
    FID_TRY(fid_spatial_list(call, 5, window->spatial, 1, ones, window->dilation));
    FID_TRY(fid_spatial_list(call, 7, window->spatial, 0, zeros, output_padding));
    memcpy(window->padding_end, window->padding, sizeof window->padding);
    return out->transposed ? transposed_out_sizes(call, window, output_padding) : convolution_out_sizes(call, window);
}

/* ---- Pools ---- */

static fid_status pool_tensor(const fid_call *call, size_t spatial, fid_pool *out) {
    const fid_tensor *input = fid_arg_tensor(call, 0);
    if (input->rank != spatial + 1 && input->rank != spatial + 2) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: input of rank %d, expected %zu or %zu", call->name, input->rank,
                        spatial + 1, spatial + 2);
    }
    *out = (fid_pool){.input = input, .batched = input->rank == spatial + 2, .planes = 1};
    for (size_t d = 0; d + spatial < input->rank; d++) {
        if (__builtin_mul_overflow(out->planes, input->sizes[d], &out->planes))
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the input has too many planes", call->name);
    }
    window_begin(&out->window, spatial, input->sizes + input->rank - spatial);
    return FID_OK;
}

/* Every window but those at the padded end lies inside; a last window that `ceil_mode` adds must start inside the input or
 * its left padding. */
static fid_status pool_out_sizes(const fid_call *call, fid_window *window, bool ceil_mode) {
    for (size_t d = 3 - window->spatial; d < 3; d++) {
        int64_t reach, room, padding = window->padding[d], stride = window->stride[d];
        bool overflow = !window_reach(window, d, &reach) || __builtin_add_overflow(window->in[d], 2 * padding, &room);
        int64_t span = window->spatial == 1 ? reach : window->kernel[d]; /* PyTorch counts dilation in one dimension only */
        if (!overflow && padding > span / 2) {
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: padding %lld is more than half of the kernel %lld", call->name,
                            (long long)padding, (long long)window->kernel[d]);
        }
        if (overflow || window->in[d] < 1) return window_too_large(call, window, d);
        room -= reach;
        if (ceil_mode) room += stride - 1;
        if (room < 0) return window_too_large(call, window, d);
        window->out[d] = room / stride + 1;
        if (ceil_mode && (window->out[d] - 1) * stride >= window->in[d] + padding) window->out[d]--;
        if (window->out[d] < 1) return window_too_large(call, window, d);
    }
    return FID_OK;
}

static fid_status pool_lists(const fid_call *call, fid_window *window) {
    FID_TRY(fid_spatial_list(call, 1, window->spatial, 1, NULL, window->kernel));
    FID_TRY(fid_spatial_list(call, 2, window->spatial, 1, window->kernel, window->stride));
    FID_TRY(fid_spatial_list(call, 3, window->spatial, 0, zeros, window->padding));
    memcpy(window->padding_end, window->padding, sizeof window->padding);
    return FID_OK;
}

fid_status fid_max_pool_of(const fid_call *call, size_t spatial, fid_pool *out) {
    FID_TRY(pool_tensor(call, spatial, out));
    FID_TRY(pool_lists(call, &out->window));
    FID_TRY(fid_spatial_list(call, 4, spatial, 1, ones, out->window.dilation));
    return pool_out_sizes(call, &out->window, fid_arg_bool(call, 5));
}

fid_status fid_avg_pool_of(const fid_call *call, size_t spatial, fid_pool *out) {
    FID_TRY(pool_tensor(call, spatial, out));
    FID_TRY(pool_lists(call, &out->window));
    return pool_out_sizes(call, &out->window, fid_arg_bool(call, 4));
}

fid_status fid_adaptive_pool_of(const fid_call *call, size_t spatial, fid_pool *out) {
    FID_TRY(pool_tensor(call, spatial, out));
    for (size_t d = 3 - spatial; d < 3; d++) {
        if (out->window.in[d] < 1) return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the input is empty", call->name);
    }
    return fid_spatial_list(call, 1, spatial, 0, NULL, out->window.out);
}
