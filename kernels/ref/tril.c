/* Triangles of matrices: tril and triu. */
#include "kernels/ref/box.h"

/* Keeps elements on one side of the diagonal (itself included), zeroes the others. */
static void keep_triangle(const fid_call *call, bool lower) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    int64_t diagonal = fid_arg_int(call, 1);
    size_t size = fid_dtype_size((fid_dtype)out->dtype);
    fidk_walk walk;
    fidk_walk_begin(&walk, out->sizes, out->rank);
    fidk_walk_add(&walk, out);
    fidk_walk_add(&walk, self);
    FIDK_WALK(&walk) {
        int64_t above = walk.index[walk.rank - 1] - walk.index[walk.rank - 2];
        uint8_t *to = (uint8_t *)out->data + (size_t)walk.at[0] * size;
        if (lower ? above <= diagonal : above >= diagonal) {
            memcpy(to, (const uint8_t *)self->data + (size_t)walk.at[1] * size, size);
        } else {
            memset(to, 0, size);
        }
    }
}

static fid_status run_tril(fid_call *call) {
    keep_triangle(call, true);
    return FID_OK;
}

static fid_status run_triu(fid_call *call) {
    keep_triangle(call, false);
    return FID_OK;
}

const fid_kernel fid_ref_tril = {.run = run_tril};
const fid_kernel fid_ref_triu = {.run = run_triu};
