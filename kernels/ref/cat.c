/* Joining tensors along a dimension: cat along an old one, stack along a new one. */
#include "kernels/ref/box.h"
#include "ops/padding.h"

static fid_status run_cat(fid_call *call) {
    const fid_value *list = call->args[0];
    const fid_tensor *out = fid_out_tensor(call, 0);
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), out->rank, &dim));
    int64_t at = 0;
    for (size_t i = 0; i < list->as.tensors.count; i++) {
        const fid_tensor *tensor = list->as.tensors.items[i];
        if (fid_cat_skips(tensor)) continue;
        fidk_box to = fidk_box_of(out), from = fidk_box_of(tensor);
        fidk_box_narrow(&to, dim, at, tensor->sizes[dim], 1);
        fidk_box_copy(&to, &from);
        at += tensor->sizes[dim];
    }
    return FID_OK;
}

static fid_status run_stack(fid_call *call) {
    const fid_value *list = call->args[0];
    const fid_tensor *out = fid_out_tensor(call, 0);
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), out->rank, &dim));
    for (size_t i = 0; i < list->as.tensors.count; i++) {
        fidk_box to = fidk_box_of(out), from = fidk_box_of(list->as.tensors.items[i]);
        fidk_box_select(&to, dim, (int64_t)i);
        fidk_box_copy(&to, &from);
    }
    return FID_OK;
}

const fid_kernel fid_ref_cat = {.run = run_cat};
const fid_kernel fid_ref_stack = {.run = run_stack};
