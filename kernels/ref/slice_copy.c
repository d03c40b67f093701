/* Parts of a tensor: slice, narrow, select, split, unbind, diagonal. */
#include "kernels/ref/box.h"

static void copy_part(const fid_tensor *out, const fid_tensor *self, const fid_slice *slice) {
    fidk_box to = fidk_box_of(out), from = fidk_box_of(self);
    fidk_box_narrow(&from, slice->dim, slice->start, slice->count, slice->step);
    fidk_box_copy(&to, &from);
}

static fid_status run_slice_copy_Tensor(fid_call *call) {
    fid_slice slice;
    FID_TRY(fid_slice_bounds(call, 1, &slice));
    copy_part(fid_out_tensor(call, 0), fid_arg_tensor(call, 0), &slice);
    return FID_OK;
}

static fid_status run_narrow_copy(fid_call *call) {
    fid_slice slice;
    FID_TRY(fid_narrow_bounds(call, &slice));
    copy_part(fid_out_tensor(call, 0), fid_arg_tensor(call, 0), &slice);
    return FID_OK;
}

static void copy_selected(const fid_tensor *out, const fid_tensor *self, size_t dim, int64_t index) {
    fidk_box to = fidk_box_of(out), from = fidk_box_of(self);
    fidk_box_select(&from, dim, index);
    fidk_box_copy(&to, &from);
}

static fid_status run_select_copy_int(fid_call *call) {
    size_t dim;
    int64_t index;
    FID_TRY(fid_select_index(call, 1, &dim, &index));
    copy_selected(fid_out_tensor(call, 0), fid_arg_tensor(call, 0), dim, index);
    return FID_OK;
}

static fid_status run_unbind_copy_int(fid_call *call) {
    const fid_value *outs = call->args[call->output_index];
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), fid_arg_tensor(call, 0)->rank, &dim));
    for (size_t i = 0; i < outs->as.tensors.count; i++) {
        copy_selected(outs->as.tensors.items[i], fid_arg_tensor(call, 0), dim, (int64_t)i);
    }
    return FID_OK;
}

/* The sizes of the outputs say where each part ends. */
static fid_status run_split_copy(fid_call *call) {
    const fid_value *outs = call->args[call->output_index];
    fid_slice slice = {.step = 1};
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), fid_arg_tensor(call, 0)->rank, &slice.dim));
    for (size_t i = 0; i < outs->as.tensors.count; i++) {
        const fid_tensor *out = outs->as.tensors.items[i];
        slice.count = out->sizes[slice.dim];
        copy_part(out, fid_arg_tensor(call, 0), &slice);
        slice.start += slice.count;
    }
    return FID_OK;
}

static fid_status run_diagonal_copy(fid_call *call) {
    fid_diagonal diagonal;
    FID_TRY(fid_diagonal_of(call, 1, &diagonal));
    fidk_box to = fidk_box_of(fid_out_tensor(call, 0)), from = fidk_box_of(fid_arg_tensor(call, 0));
    fidk_box_diagonal(&from, &diagonal);
    fidk_box_copy(&to, &from);
    return FID_OK;
}

const fid_kernel fid_ref_slice_copy_Tensor = {.run = run_slice_copy_Tensor};
const fid_kernel fid_ref_narrow_copy = {.run = run_narrow_copy};
const fid_kernel fid_ref_select_copy_int = {.run = run_select_copy_int};
const fid_kernel fid_ref_unbind_copy_int = {.run = run_unbind_copy_int};
const fid_kernel fid_ref_split_copy_Tensor = {.run = run_split_copy};
const fid_kernel fid_ref_split_with_sizes_copy = {.run = run_split_copy};
const fid_kernel fid_ref_diagonal_copy = {.run = run_diagonal_copy};
