/* Tensors of one value: full, zeros, ones, empty, scalar_tensor, fill and their relatives. */
#include "kernels/ref/box.h"

static fid_status fill_with(fid_call *call, const fid_value *number) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    fidk_fill(out, fidk_number(number, (fid_dtype)out->dtype));
    return FID_OK;
}

static fid_status run_full(fid_call *call) { return fill_with(call, call->args[1]); }
static fid_status run_scalar_tensor(fid_call *call) { return fill_with(call, call->args[0]); }
static fid_status run_new_full(fid_call *call) { return fill_with(call, call->args[2]); }

static fid_status run_ones(fid_call *call) {
    const fid_value one = fid_int_value(1);
    return fill_with(call, &one);
}

/* All-zero bytes are the number zero in every dtype. What `empty` holds is not defined; zeros make runs repeatable. */
static fid_status run_zeros(fid_call *call) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    size_t bytes = fid_tensor_bytes(out);
    if (bytes) memset(out->data, 0, bytes);
    return FID_OK;
}

static fid_status run_fill_Tensor(fid_call *call) {
    const fid_tensor *value = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    fidk_box to = fidk_box_of(out), from = fidk_box_of(value);
    fidk_box_expand(&from, out->sizes, out->rank);
    fidk_box_copy(&to, &from);
    return FID_OK;
}

const fid_kernel fid_ref_full = {.run = run_full};
const fid_kernel fid_ref_full_like = {.run = run_full};
const fid_kernel fid_ref_fill_Scalar = {.run = run_full};
const fid_kernel fid_ref_new_full = {.run = run_new_full};
const fid_kernel fid_ref_scalar_tensor = {.run = run_scalar_tensor};
const fid_kernel fid_ref_fill_Tensor = {.run = run_fill_Tensor};
const fid_kernel fid_ref_ones = {.run = run_ones};
const fid_kernel fid_ref_ones_like = {.run = run_ones};
const fid_kernel fid_ref_new_ones = {.run = run_ones};
const fid_kernel fid_ref_zeros = {.run = run_zeros};
const fid_kernel fid_ref_zeros_like = {.run = run_zeros};
const fid_kernel fid_ref_new_zeros = {.run = run_zeros};
const fid_kernel fid_ref_empty_memory_format = {.run = run_zeros};
const fid_kernel fid_ref_empty_like = {.run = run_zeros};
const fid_kernel fid_ref_new_empty = {.run = run_zeros};
const fid_kernel fid_ref_empty_strided = {.run = run_zeros};
const fid_kernel fid_ref_empty_permuted = {.run = run_zeros};
const fid_kernel fid_ref__empty_dim_order = {.run = run_zeros};
