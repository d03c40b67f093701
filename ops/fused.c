/* Arguments of our fused operators. */
#include "ops/fused.h"

fid_status fid_fused_activation_of(const fid_call *call, uint32_t i, fid_activation *out) {
    *out = (fid_activation){fid_activation_from_value(call->args[i]), fid_arg_double(call, i + 1), fid_arg_double(call, i + 2)};
    if (out->kind != FID_ACTIVATION_COUNT) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: argument %u names no activation that this version knows", call->name,
                    (unsigned)i);
}

/* Both halves of `padding`, argument `i`. */
static fid_status read_padding(const fid_call *call, uint32_t i, fid_window *window) {
    size_t count, spatial = window->spatial;
    const int64_t *items = fid_arg_ints(call, i, &count);
    if (count != 2 * spatial)
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: padding has %zu numbers, expected %zu", call->name, count, 2 * spatial);
    for (size_t d = 0; d < spatial; d++) {
        window->padding[3 - spatial + d] = items[d];
        window->padding_end[3 - spatial + d] = items[spatial + d];
        if (items[d] < 0 || items[spatial + d] < 0 || items[d] > INT32_MAX || items[spatial + d] > INT32_MAX)
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: padding must lie in 0 to 2147483647", call->name);
    }
    return FID_OK;
}

static fid_status out_sizes(const fid_call *call, fid_window *w) {
    for (size_t d = 3 - w->spatial; d < 3; d++) {
        int64_t reach, room = w->in[d] + w->padding[d] + w->padding_end[d]; /* each summand is far below the limit */
        if (w->kernel[d] < 1 || __builtin_mul_overflow(w->dilation[d], w->kernel[d] - 1, &reach) || room <= reach)
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a kernel of %lld (dilation %lld) does not fit an input of %lld with padding",
                            call->name, (long long)w->kernel[d], (long long)w->dilation[d], (long long)w->in[d]);
        w->out[d] = (room - reach - 1) / w->stride[d] + 1;
    }
    return FID_OK;
}

/* Does this convolution have weights for Winograd's algorithm, of the right shape? */
static bool fits_winograd(const fid_convolution *c) {
    const fid_window *w = &c->window;
    const int64_t *sizes = c->weight->sizes;
    bool fits = fid_winograd_tile(c->weight) && w->spatial == 2 && c->groups == 1 && c->out_channels >= 0 && c->weight->dtype == c->input->dtype;
    for (size_t d = 1; d < 3; d++) fits = fits && w->kernel[d] == 3 && w->stride[d] == 1 && w->dilation[d] == 1;
    return fits && sizes[0] == fid_panels(c->out_channels) && sizes[2] == c->in_channels && sizes[3] == FID_PANEL;
}

/* Channels, groups and the shape of the packed weight. */
static fid_status check_weight(const fid_call *call, const fid_convolution *c) {
    int64_t rows = 1, panels = 0;
    bool fits = c->groups >= 1 && c->out_channels >= 0 && c->in_channels % c->groups == 0 && c->out_channels % c->groups == 0;
    for (size_t d = 0; d < 3; d++) fits = fits && !__builtin_mul_overflow(rows, c->window.kernel[d], &rows);
    if (fits && fid_convolution_is_depthwise(c)) panels = fid_panels(c->out_channels);
    else if (fits) {
        fits = !__builtin_mul_overflow(rows, c->in_channels / c->groups, &rows) &&
               !__builtin_mul_overflow(c->groups, fid_panels(c->out_channels / c->groups), &panels);
    }
    const int64_t *sizes = c->weight->sizes;
    bool pairs = c->input->dtype == FID_FLOAT32 && fid_is_pairs(c->weight) && !fid_convolution_is_depthwise(c);
    fits = fits && c->weight->rank == 3 && sizes[0] == panels && sizes[1] == (pairs ? fid_pair_rows(rows) : rows) &&
           sizes[2] == (pairs ? FID_PAIR_COLUMNS : FID_PANEL) && (pairs || c->weight->dtype == c->input->dtype);
    if (fits || fits_winograd(c)) return FID_OK;
    char text[120];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT,
                    "%s: %lld input and %lld output channels in %lld groups do not fit packed weights of shape %s", call->name,
                    (long long)c->in_channels, (long long)c->out_channels, (long long)c->groups,
                    fid_shape_text(sizes, c->weight->rank, text, sizeof text));
}

/* Kernel, stride, padding and dilation at arguments i to i + 3, and what follows from them for `self`. */
static fid_status read_window(const fid_call *call, uint32_t i, const fid_tensor *self, fid_window *w) {
    static const int64_t ones[3] = {1, 1, 1};
    w->spatial = self->rank - 2u;
    for (size_t d = 0; d < 3; d++) w->in[d] = w->out[d] = w->kernel[d] = w->stride[d] = w->dilation[d] = 1;
    for (size_t d = 3 - w->spatial; d < 3; d++) w->in[d] = self->sizes[self->rank - 3u + d];
    FID_TRY(fid_spatial_list(call, i, w->spatial, 1, NULL, w->kernel));
    FID_TRY(fid_spatial_list(call, i + 1, w->spatial, 1, ones, w->stride));
    FID_TRY(read_padding(call, i + 2, w));
    FID_TRY(fid_spatial_list(call, i + 3, w->spatial, 1, ones, w->dilation));
    return out_sizes(call, w);
}

fid_status fid_fused_convolution_of(const fid_call *call, fid_convolution *out) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    *out = (fid_convolution){.input = self, .weight = fid_arg_tensor(call, 1), .bias = fid_arg_tensor(call, 2), .batched = true,
                             .out_channels = fid_arg_int(call, 4), .groups = fid_arg_int(call, 9)};
    if (self->rank < 3 || self->rank > 5)
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: input of rank %d, expected 3 to 5", call->name, self->rank);
    out->batch = self->sizes[0];
    out->in_channels = self->sizes[1];
    FID_TRY(read_window(call, 5, self, &out->window));
    return check_weight(call, out);
}

/* ---- fid::separable_convolution ---- */

/* A pointwise weight from k to n channels. */
static fid_status check_pointwise(const fid_call *call, const fid_tensor *weight, int64_t k, int64_t n) {
    bool fits = n >= 0 && weight->rank == 3 && weight->sizes[0] == fid_panels(n) && weight->sizes[1] == k && weight->sizes[2] == FID_PANEL;
    if (fits) return FID_OK;
    char text[120];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: packed weights of shape %s do not lead from %lld to %lld channels", call->name,
                    fid_shape_text(weight->sizes, weight->rank, text, sizeof text), (long long)k, (long long)n);
}

fid_status fid_separable_of(const fid_call *call, fid_separable *out) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    int64_t hidden = fid_arg_int(call, 3);
    *out = (fid_separable){.expand_weight = fid_arg_tensor(call, 1), .expand_bias = fid_arg_tensor(call, 2),
                           .project_weight = fid_arg_tensor(call, 16), .project_bias = fid_arg_tensor(call, 17),
                           .add = fid_arg_tensor(call, FID_SEPARABLE_ADD), .out_channels = fid_arg_int(call, 19)};
    if (self->rank != 4 || hidden < 2)
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: input of rank %d and %lld hidden channels, expected 4 and at least 2", call->name,
                        self->rank, (long long)hidden);
    fid_convolution *d = &out->depthwise;
    *d = (fid_convolution){.input = self, .weight = fid_arg_tensor(call, 7), .bias = fid_arg_tensor(call, 8), .batched = true,
                           .batch = self->sizes[0], .in_channels = hidden, .out_channels = hidden, .groups = hidden};
    out->in_channels = self->sizes[1];
    FID_TRY(read_window(call, 9, self, &d->window));
    FID_TRY(check_weight(call, d));
    if (out->expand_weight) FID_TRY(check_pointwise(call, out->expand_weight, out->in_channels, hidden));
    else if (out->in_channels != hidden)
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %lld channels for a depthwise kernel of %lld", call->name,
                        (long long)out->in_channels, (long long)hidden);
    FID_TRY(check_pointwise(call, out->project_weight, hidden, out->out_channels));
    FID_TRY(fid_fused_activation_of(call, 4, &out->expand_activation));
    FID_TRY(fid_fused_activation_of(call, 13, &out->activation));
    return fid_fused_activation_of(call, 20, &out->project_activation);
}
