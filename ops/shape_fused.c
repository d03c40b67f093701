/* Shapes of our fused operators. */
#include "ops/chain.h"
#include "ops/fused.h"
#include "ops/shape.h"

static fid_status check_add(const fid_call *call, uint32_t i, const fid_meta *out) {
    const fid_tensor *add = fid_arg_tensor(call, i);
    if (!add || (add->rank == out->rank && memcmp(add->sizes, out->sizes, out->rank * sizeof out->sizes[0]) == 0)) return FID_OK;
    char given[120], expected[120];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: what is added has shape %s, the result %s", call->name,
                    fid_shape_text(add->sizes, add->rank, given, sizeof given),
                    fid_shape_text(out->sizes, out->rank, expected, sizeof expected));
}

static fid_status check_bias(const fid_call *call, uint32_t i, int64_t features) {
    const fid_tensor *bias = fid_arg_tensor(call, i);
    if (!bias || (bias->rank == 1 && bias->sizes[0] == features)) return FID_OK;
    char text[120];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: bias of shape %s for %lld features", call->name,
                    fid_shape_text(bias->sizes, bias->rank, text, sizeof text), (long long)features);
}

fid_status fid_shape_fused_linear(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *weight = fid_arg_tensor(call, 1);
    int64_t features = fid_arg_int(call, 4);
    (void)out_count;
    bool pairs = fid_is_pairs(weight);
    bool fits = self->rank >= 1 && weight->rank == 3 && weight->sizes[2] == (pairs ? FID_PAIR_COLUMNS : FID_PANEL) && features >= 0;
    if (fits) {
        int64_t depth = self->sizes[self->rank - 1];
        fits = weight->sizes[0] == fid_panels(features) && weight->sizes[1] == (pairs ? fid_pair_rows(depth) : depth);
    }
    if (!fits) {
        char given[120], packed[120];
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: an input of shape %s does not fit packed weights of shape %s for %lld features",
                        call->name, fid_shape_text(self->sizes, self->rank, given, sizeof given),
                        fid_shape_text(weight->sizes, weight->rank, packed, sizeof packed), (long long)features);
    }
    fid_meta_set(outs, (fid_dtype)self->dtype, self->sizes, self->rank);
    outs->sizes[self->rank - 1] = features;
    FID_TRY(check_bias(call, 2, features));
    return check_add(call, 3, outs);
}

fid_status fid_shape_fused_convolution(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_convolution c;
    int64_t sizes[5];
    FID_TRY(fid_fused_convolution_of(call, &c));
    size_t rank = c.input->rank;
    sizes[0] = c.batch, sizes[1] = c.out_channels;
    for (size_t d = 2; d < rank; d++) sizes[d] = c.window.out[d + 3 - rank];
    fid_meta_set(outs, (fid_dtype)c.input->dtype, sizes, rank);
    for (size_t i = 1; i + 1 < rank; i++) outs->dim_order[i] = (uint8_t)(i + 1);
    outs->dim_order[rank - 1] = 1;
    FID_TRY(check_bias(call, 2, c.out_channels));
    return check_add(call, FID_FUSED_CONVOLUTION_ADD, outs);
}

fid_status fid_shape_fused_separable(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_separable s;
    FID_TRY(fid_separable_of(call, &s));
    const int64_t *out = s.depthwise.window.out;
    fid_meta_set(outs, (fid_dtype)s.depthwise.input->dtype, (int64_t[]){s.depthwise.batch, s.out_channels, out[1], out[2]}, 4);
    memcpy(outs->dim_order, (uint8_t[]){0, 2, 3, 1}, 4);
    FID_TRY(check_bias(call, 2, s.depthwise.groups));
    FID_TRY(check_bias(call, 8, s.depthwise.groups));
    FID_TRY(check_bias(call, 17, s.out_channels));
    return check_add(call, FID_SEPARABLE_ADD, outs);
}

/* As pointwise operators: the output lies as the first input of its very shape does; without one, as the first of full rank. */
fid_status fid_shape_fused_pointwise(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_value *inputs = call->args[0];
    const fid_tensor *model = NULL;
    fid_chain chain;
    fid_meta meta = {0};
    (void)out_count;
    FID_TRY(fid_chain_of(call, &chain));
    for (size_t i = 0; i < inputs->as.tensors.count; i++) FID_TRY(fid_meta_broadcast(call, &meta, inputs->as.tensors.items[i]));
    for (size_t i = inputs->as.tensors.count; i-- > 0;) {
        const fid_tensor *t = inputs->as.tensors.items[i];
        bool same = t->rank == meta.rank && memcmp(t->sizes, meta.sizes, meta.rank * sizeof meta.sizes[0]) == 0;
        if (same || (t->rank == meta.rank && (!model || memcmp(model->sizes, meta.sizes, meta.rank * sizeof meta.sizes[0]) != 0))) model = t;
    }
    for (uint8_t d = 0; d < meta.rank; d++) meta.dim_order[d] = model ? model->dim_order[d] : d;
    meta.dtype = fid_step_is_truth(&chain.steps[chain.count - 1]) ? FID_BOOL : FID_FLOAT32;
    *outs = meta;
    return FID_OK;
}
