/* Shapes of losses over classes. */
#include "ops/shape.h"

/* (self, target, weight?, reduction, ignore_index): class scores (N, C), (C) or (N, C, H, W), and class numbers without C. */
static fid_status nll_loss(const fid_call *call, bool planes, fid_meta *outs, size_t out_count) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *target = fid_arg_tensor(call, 1), *weight = fid_arg_tensor(call, 2);
    size_t rank = self->rank, at = rank == 1 ? 0 : 1;
    int64_t reduction = fid_arg_int(call, 3);
    bool fits = (planes ? rank == 4 : rank == 1 || rank == 2) && target->rank + 1u == rank;
    for (size_t d = 0; fits && d < target->rank; d++) fits = target->sizes[d] == self->sizes[d < at ? d : d + 1];
    if (!fits || (weight && (weight->rank != 1 || weight->sizes[0] != self->sizes[at]))) {
        char text[120], other[120];
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: scores of shape %s do not go with targets of shape %s or the class weights",
                        call->name, fid_shape_text(self->sizes, rank, text, sizeof text),
                        fid_shape_text(target->sizes, target->rank, other, sizeof other));
    }
    if (!fid_dtype_is_float((fid_dtype)self->dtype) || !fid_dtype_is_integer((fid_dtype)target->dtype))
        return fid_fail(call->sink, FID_INVALID_TYPE, "%s: scores must be float and targets integer", call->name);
    if (reduction < 0 || reduction > 2)
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: reduction %lld, expected 0 to 2", call->name, (long long)reduction);
    fid_meta_set(&outs[0], (fid_dtype)self->dtype, target->sizes, reduction == 0 ? target->rank : 0);
    if (out_count > 1) fid_meta_set(&outs[1], (fid_dtype)self->dtype, NULL, 0);
    return FID_OK;
}

fid_status fid_shape_nll_loss(const fid_call *call, fid_meta *outs, size_t out_count) { return nll_loss(call, false, outs, out_count); }
fid_status fid_shape_nll_loss2d(const fid_call *call, fid_meta *outs, size_t out_count) { return nll_loss(call, true, outs, out_count); }
