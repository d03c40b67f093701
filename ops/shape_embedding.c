/* Shapes of table look-ups. */
#include "ops/shape.h"

static fid_status need_table(const fid_call *call, const fid_tensor *weight, const fid_tensor *indices) {
    if (weight->rank != 2) return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the table has rank %d, expected 2", call->name, weight->rank);
    if (indices->dtype != FID_INT32 && indices->dtype != FID_INT64)
        return fid_fail(call->sink, FID_INVALID_TYPE, "%s: indices are %s, expected int32 or int64", call->name,
                        fid_dtype_name((fid_dtype)indices->dtype));
    return FID_OK;
}

fid_status fid_shape_embedding(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *weight = fid_arg_tensor(call, 0), *indices = fid_arg_tensor(call, 1);
    (void)out_count;
    FID_TRY(need_table(call, weight, indices));
    if (indices->rank >= FID_MAX_RANK) return fid_fail(call->sink, FID_NOT_SUPPORTED, "%s: indices have too many dimensions", call->name);
    fid_meta_set(outs, (fid_dtype)weight->dtype, indices->sizes, indices->rank);
    outs->dim_order[indices->rank] = indices->rank;
    outs->sizes[outs->rank++] = weight->sizes[1];
    return FID_OK;
}

/* (weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx) gives
 * bags (bags, width) and the bookkeeping that only a backward pass reads. */
static fid_status embedding_bag(const fid_call *call, bool counts_last, bool negative_pads, fid_meta *outs, size_t out_count) {
    const fid_tensor *weight = fid_arg_tensor(call, 0), *indices = fid_arg_tensor(call, 1), *offsets = fid_arg_tensor(call, 2);
    FID_TRY(need_table(call, weight, indices));
    int64_t mode = fid_arg_int(call, 4), last = fid_arg_bool(call, 7);
    if (indices->rank != 1 || offsets->rank != 1 || offsets->sizes[0] < last || !fid_dtype_is_integer((fid_dtype)offsets->dtype))
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: indices and offsets must be vectors of integers", call->name);
    if (mode < 0 || mode > 2) return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: mode %lld, expected 0 to 2", call->name, (long long)mode);
    const fid_tensor *scales = fid_arg_tensor(call, 6);
    if (scales && (mode != 0 || scales->rank != 1 || scales->sizes[0] != indices->sizes[0]))
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: per_sample_weights need mode sum and one weight an index", call->name);
    int64_t bags[2] = {offsets->sizes[0] - last, weight->sizes[1]};
    fid_meta_set(&outs[0], (fid_dtype)weight->dtype, bags, 2);
    if (out_count < 4) return FID_OK;
    /* A plain sum of narrow floats needs no list of bags. */
    bool padded = call->output_index > 8 && !fid_arg_is_none(call, 8) && (negative_pads || fid_arg_int(call, 8) >= 0);
    bool listed = mode != 0 || padded || weight->dtype == FID_FLOAT64;
    fid_meta_set(&outs[1], FID_INT64, listed ? indices->sizes : (int64_t[]){0}, 1);
    fid_meta_set(&outs[2], FID_INT64, counts_last ? offsets->sizes : bags, 1);
    fid_meta_set(&outs[3], FID_INT64, bags, mode == 2 ? 2 : 1);
    return FID_OK;
}

fid_status fid_shape__embedding_bag(const fid_call *call, fid_meta *outs, size_t out_count) {
    return embedding_bag(call, false, false, outs, out_count);
}

fid_status fid_shape__embedding_bag_forward_only(const fid_call *call, fid_meta *outs, size_t out_count) {
    return embedding_bag(call, true, false, outs, out_count);
}

/* The outer forms count a last offset as a bag in their third result, and a negative index of the padding counts from the end. */
fid_status fid_shape_embedding_bag(const fid_call *call, fid_meta *outs, size_t out_count) {
    return embedding_bag(call, true, true, outs, out_count);
}
