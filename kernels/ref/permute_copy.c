/* Dimensions in another order: permute, transpose, t. */
#include "kernels/ref/box.h"

static fid_status run_permute_copy(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    size_t count, dim;
    const int64_t *dims = fid_arg_ints(call, 1, &count);
    fidk_box to = fidk_box_of(fid_out_tensor(call, 0)), from = fidk_box_of(self);
    for (size_t i = 0; i < count; i++) {
        FID_TRY(fid_wrap_dim(call, dims[i], self->rank, &dim));
        from.sizes[i] = self->sizes[dim];
        from.strides[i] = self->strides[dim];
    }
    fidk_box_copy(&to, &from);
    return FID_OK;
}

static void copy_swapped(fid_call *call, size_t a, size_t b) {
    fidk_box to = fidk_box_of(fid_out_tensor(call, 0)), from = fidk_box_of(fid_arg_tensor(call, 0));
    if (from.rank > 0) fidk_box_swap(&from, a, b);
    fidk_box_copy(&to, &from);
}

static fid_status run_transpose_copy_int(fid_call *call) {
    size_t a, b, rank = fid_arg_tensor(call, 0)->rank;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), rank, &a));
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), rank, &b));
    copy_swapped(call, a, b);
    return FID_OK;
}

static fid_status run_t_copy(fid_call *call) {
    copy_swapped(call, 0, fid_arg_tensor(call, 0)->rank == 2);
    return FID_OK;
}

const fid_kernel fid_ref_permute_copy = {.run = run_permute_copy};
const fid_kernel fid_ref_transpose_copy_int = {.run = run_transpose_copy_int};
const fid_kernel fid_ref_t_copy = {.run = run_t_copy};
