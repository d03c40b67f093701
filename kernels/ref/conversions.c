/* Reference kernels that copy elements, converting dtype and dim order on the way. */
#include "kernels/ref/elementwise.h"

static fid_status copy_self(fid_call *call) {
    const fid_tensor *source = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    fid_dtype from = (fid_dtype)source->dtype, to = (fid_dtype)out->dtype;
    fidk_walk walk;
    fidk_walk_begin(&walk, out->sizes, out->rank);
    fidk_walk_add(&walk, source);
    fidk_walk_add(&walk, out);
    FIDK_WALK(&walk) {
        fidk_element element = fidk_load(from, source->data, walk.at[0]);
        fidk_store(to, out->data, walk.at[1], from == to ? element : fidk_convert(element, from, to));
    }
    return FID_OK;
}

FIDK_KERNEL(_to_copy, copy_self(call))
FIDK_KERNEL(clone, copy_self(call))
FIDK_KERNEL(_to_dim_order_copy, copy_self(call))
FIDK_KERNEL(_clone_dim_order, copy_self(call))

static fid_status run_zero(fid_call *call) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    if (out->data) memset(out->data, 0, fid_tensor_bytes(out));
    return FID_OK;
}
const fid_kernel fid_ref_zero = {.run = run_zero};
