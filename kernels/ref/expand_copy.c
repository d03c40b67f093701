/* Copies whose reads overlap: expand and unfold. */
#include "kernels/ref/box.h"

static fid_status run_expand_copy(fid_call *call) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    fidk_box to = fidk_box_of(out), from = fidk_box_of(fid_arg_tensor(call, 0));
    fidk_box_expand(&from, out->sizes, out->rank);
    fidk_box_copy(&to, &from);
    return FID_OK;
}

static fid_status run_unfold_copy(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), self->rank, &dim));
    fidk_box to = fidk_box_of(out), from = fidk_box_of(self);
    int64_t stride = self->rank ? self->strides[dim] : 1;
    if (self->rank) fidk_box_narrow(&from, dim, 0, out->sizes[dim], fid_arg_int(call, 3));
    fidk_box_insert(&from, from.rank, fid_arg_int(call, 2), stride);
    fidk_box_copy(&to, &from);
    return FID_OK;
}

const fid_kernel fid_ref_expand_copy = {.run = run_expand_copy};
const fid_kernel fid_ref_unfold_copy = {.run = run_unfold_copy};
