/* Views that keep the logical order of elements: view, squeeze, unsqueeze, alias, and reading complex numbers as pairs. */
#include "kernels/ref/box.h"

static fid_status run_view_copy(fid_call *call) {
    fidk_reshape(fid_out_tensor(call, 0), fid_arg_tensor(call, 0));
    return FID_OK;
}

const fid_kernel fid_ref_view_copy = {.run = run_view_copy};
const fid_kernel fid_ref_unsqueeze_copy = {.run = run_view_copy};
const fid_kernel fid_ref_squeeze_copy = {.run = run_view_copy};
const fid_kernel fid_ref_squeeze_copy_dim = {.run = run_view_copy};
const fid_kernel fid_ref_squeeze_copy_dims = {.run = run_view_copy};
const fid_kernel fid_ref_alias_copy = {.run = run_view_copy};
const fid_kernel fid_ref_detach_copy = {.run = run_view_copy};
const fid_kernel fid_ref_lift_fresh_copy = {.run = run_view_copy};

/* A complex tensor as one of its parts' dtype, with a last dimension for real and imaginary part. */
static fidk_box as_pairs(const fid_tensor *tensor, fid_dtype part) {
    fidk_box box = fidk_box_of(tensor);
    for (size_t i = 0; i < box.rank; i++) box.strides[i] *= 2;
    fidk_box_insert(&box, box.rank, 2, 1);
    box.dtype = part;
    return box;
}

static fid_status run_view_as_real_copy(fid_call *call) {
    fidk_box to = fidk_box_of(fid_out_tensor(call, 0)), from = as_pairs(fid_arg_tensor(call, 0), to.dtype);
    fidk_box_copy(&to, &from);
    return FID_OK;
}

static fid_status run_view_as_complex_copy(fid_call *call) {
    fidk_box from = fidk_box_of(fid_arg_tensor(call, 0)), to = as_pairs(fid_out_tensor(call, 0), from.dtype);
    fidk_box_copy(&to, &from);
    return FID_OK;
}

const fid_kernel fid_ref_view_as_real_copy = {.run = run_view_as_real_copy};
const fid_kernel fid_ref_view_as_complex_copy = {.run = run_view_as_complex_copy};
