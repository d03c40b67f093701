/* fid::max_pool2d: aten::max_pool2d_with_indices whose second result goes to scratch. */
#include "kernels/ref/dense.h"

static fid_status run(fid_call *call) {
    extern const fid_kernel fid_ref_max_pool2d_with_indices;
    fid_tensor indices = *fid_out_tensor(call, 0);
    fid_value value = fid_tensor_value(&indices), *args[8];
    fid_call both = *call;
    indices.dtype = FID_INT64;
    FIDK_NEED(indices.data = fidk_ints(call, fid_tensor_numel(&indices)));
    memcpy(args, call->args, call->arg_count * sizeof *args);
    args[call->arg_count] = &value;
    both.args = args;
    both.arg_count = call->arg_count + 1;
    return fid_ref_max_pool2d_with_indices.run(&both);
}

const fid_kernel fid_ref_fused_max_pool2d = {.run = run};
