/* Shapes of normalizations: the input's shape, and the statistics that the native_* forms give beside. */
#include "ops/shape.h"
#include "ops/window.h"

static fid_status bad_parameter(const fid_call *call, const char *name, const fid_tensor *t, int64_t channels) {
    char text[120];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %s has shape %s, expected %lld values", call->name, name,
                    fid_shape_text(t->sizes, t->rank, text, sizeof text), (long long)channels);
}

/* weight, bias and the like: absent, or one value a channel. */
static fid_status channel_parameter(const fid_call *call, const char *name, const fid_tensor *t, int64_t channels) {
    if (!t || (t->rank == 1 && t->sizes[0] == channels)) return FID_OK;
    return bad_parameter(call, name, t, channels);
}

/* normalized_shape, argument 1, must be the tail of the input's shape; gives the number of dimensions before it. */
static fid_status normalized_tail(const fid_call *call, const fid_tensor *input, size_t *out_lead) {
    size_t count;
    const int64_t *shape = fid_arg_ints(call, 1, &count);
    bool fits = count >= 1 && count <= input->rank;
    for (size_t d = 0; fits && d < count; d++) fits = shape[d] == input->sizes[input->rank - count + d];
    if (!fits) {
        char text[120], want[120];
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: an input of shape %s does not end in the normalized shape %s",
                        call->name, fid_shape_text(input->sizes, input->rank, text, sizeof text),
                        fid_shape_text(shape, count < FID_MAX_RANK ? count : FID_MAX_RANK, want, sizeof want));
    }
    *out_lead = input->rank - count;
    return FID_OK;
}

static fid_status tail_parameter(const fid_call *call, const char *name, const fid_tensor *t, const fid_tensor *input, size_t lead) {
    if (!t) return FID_OK;
    bool fits = t->rank == input->rank - lead;
    for (size_t d = 0; fits && d < t->rank; d++) fits = t->sizes[d] == input->sizes[lead + d];
    if (fits) return FID_OK;
    size_t count = 1;
    fid_mul_sizes(input->sizes + lead, input->rank - lead, &count);
    return bad_parameter(call, name, t, (int64_t)count);
}

/* The statistics of layer norms: 1 in the normalized dimensions. */
static void tail_statistics(const fid_tensor *input, size_t lead, fid_dtype dtype, fid_meta *out) {
    fid_meta_set(out, dtype, input->sizes, input->rank);
    for (size_t d = lead; d < input->rank; d++) out->sizes[d] = 1;
}

fid_status fid_shape_layer_norm(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *input = fid_arg_tensor(call, 0);
    size_t lead;
    FID_TRY(normalized_tail(call, input, &lead));
    FID_TRY(tail_parameter(call, "weight", fid_arg_tensor(call, 2), input, lead));
    FID_TRY(tail_parameter(call, "bias", fid_arg_tensor(call, 3), input, lead));
    fid_meta_set(&outs[0], (fid_dtype)input->dtype, input->sizes, input->rank);
    for (size_t i = 1; i < out_count; i++) tail_statistics(input, lead, (fid_dtype)input->dtype, &outs[i]);
    return FID_OK;
}

fid_status fid_shape_rms_norm(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *input = fid_arg_tensor(call, 0);
    size_t lead;
    FID_TRY(normalized_tail(call, input, &lead));
    FID_TRY(tail_parameter(call, "weight", fid_arg_tensor(call, 2), input, lead));
    fid_meta_set(&outs[0], (fid_dtype)input->dtype, input->sizes, input->rank);
    fid_dtype statistics = input->dtype == FID_FLOAT64 ? FID_FLOAT64 : FID_FLOAT32;
    if (out_count > 1) tail_statistics(input, lead, statistics, &outs[1]);
    return FID_OK;
}

/* Checks parameters at args 1.. (weight, bias, and with `running` the running mean and variance) and sets the metas;
 * `saved` is the size of the two statistics. */
static fid_status batch_norm(const fid_call *call, bool running, bool saves, fid_meta *outs, size_t out_count) {
    static const char *const names[] = {"weight", "bias", "running_mean", "running_var"};
    const fid_tensor *input = fid_arg_tensor(call, 0);
    bool nothing = input->rank == 1 && input->sizes[0] == 0; /* PyTorch lets a vector without elements pass */
    if (input->rank < 2 && !nothing)
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: input of rank %d, expected at least 2", call->name, input->rank);
    int64_t channels = input->sizes[nothing ? 0 : 1];
    for (uint32_t i = 0; i < (running ? 4 : 2); i++)
        FID_TRY(channel_parameter(call, names[i], fid_arg_tensor(call, 1 + i), channels));
    fid_meta_like_image(&outs[0], input, input->sizes, input->rank);
    for (size_t i = 1; i < out_count; i++) fid_meta_set(&outs[i], (fid_dtype)input->dtype, saves ? &channels : (int64_t[]){0}, 1);
    return FID_OK;
}

/* (input, weight?, bias?, running_mean, running_var, momentum, eps) */
fid_status fid_shape_batch_norm_no_training(const fid_call *call, fid_meta *outs, size_t out_count) {
    return batch_norm(call, true, false, outs, out_count);
}

/* (input, weight?, bias?, running_mean?, running_var?, training, momentum, eps, ...) */
fid_status fid_shape_batch_norm(const fid_call *call, fid_meta *outs, size_t out_count) {
    return batch_norm(call, true, fid_arg_bool(call, 5), outs, out_count);
}

/* (input, weight?, bias?, training, momentum, eps) */
fid_status fid_shape_batch_norm_no_stats(const fid_call *call, fid_meta *outs, size_t out_count) {
    return batch_norm(call, false, fid_arg_bool(call, 3), outs, out_count);
}

/* (input, weight?, bias?, running_mean, running_var, momentum, eps): in training; a fourth result is of no use here and empty. */
fid_status fid_shape_batch_norm_with_update(const fid_call *call, fid_meta *outs, size_t out_count) {
    FID_TRY(batch_norm(call, true, true, outs, out_count));
    if (out_count > 3) fid_meta_set(&outs[3], FID_UINT8, (int64_t[]){0}, 1);
    return FID_OK;
}

/* As before, with the new running mean and variance as outputs 3 and 4. */
fid_status fid_shape_batch_norm_functional(const fid_call *call, fid_meta *outs, size_t out_count) {
    FID_TRY(batch_norm(call, true, fid_arg_bool(call, 5), outs, out_count));
    for (size_t i = 3; i < out_count; i++) outs[i] = fid_meta_of(fid_arg_tensor(call, (uint32_t)i));
    return FID_OK;
}

static fid_status check_groups(const fid_call *call, int64_t channels, int64_t groups) {
    if (groups >= 1 && channels % groups == 0) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %lld channels do not divide into %lld groups", call->name,
                    (long long)channels, (long long)groups);
}

/* (input, num_groups, weight?, bias?, eps, cudnn_enabled) */
fid_status fid_shape_group_norm(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *input = fid_arg_tensor(call, 0);
    (void)out_count;
    if (input->rank < 2)
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: input of rank %d, expected at least 2", call->name, input->rank);
    FID_TRY(check_groups(call, input->sizes[1], fid_arg_int(call, 1)));
    FID_TRY(channel_parameter(call, "weight", fid_arg_tensor(call, 2), input->sizes[1]));
    FID_TRY(channel_parameter(call, "bias", fid_arg_tensor(call, 3), input->sizes[1]));
    fid_meta_like_image(&outs[0], input, input->sizes, input->rank);
    return FID_OK;
}

/* (input, weight?, bias?, N, C, HxW, group, eps) */
fid_status fid_shape_native_group_norm(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *input = fid_arg_tensor(call, 0);
    int64_t sizes[3] = {fid_arg_int(call, 3), fid_arg_int(call, 4), fid_arg_int(call, 5)}, groups = fid_arg_int(call, 6);
    size_t count;
    if (input->rank < 2 || input->sizes[0] != sizes[0] || input->sizes[1] != sizes[1] || !fid_mul_sizes(sizes, 3, &count) ||
        count != fid_tensor_numel(input)) {
        char text[120];
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: an input of shape %s is not %lld x %lld x %lld", call->name,
                        fid_shape_text(input->sizes, input->rank, text, sizeof text), (long long)sizes[0], (long long)sizes[1],
                        (long long)sizes[2]);
    }
    FID_TRY(check_groups(call, sizes[1], groups));
    FID_TRY(channel_parameter(call, "weight", fid_arg_tensor(call, 1), sizes[1]));
    FID_TRY(channel_parameter(call, "bias", fid_arg_tensor(call, 2), sizes[1]));
    fid_meta_like_image(&outs[0], input, input->sizes, input->rank);
    for (size_t i = 1; i < out_count; i++) fid_meta_set(&outs[i], (fid_dtype)input->dtype, (int64_t[]){sizes[0], groups}, 2);
    return FID_OK;
}
