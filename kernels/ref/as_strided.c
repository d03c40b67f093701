/* Windows with strides of one's own: as_strided_copy and as_strided_scatter.
 *
 * Strides and offset count elements in row-major order, whatever the tensor's dim order: so a layout that the compiler chose does
 * not change what a program means. */
#include "kernels/ref/box.h"

/* A walk over the window whose operand 0 is the position in row-major order, `offset` not counted. */
static int64_t begin_window(const fid_call *call, uint32_t first_arg, fidk_walk *walk) {
    size_t rank, stride_count;
    const int64_t *sizes = fid_arg_ints(call, first_arg, &rank), *strides = fid_arg_ints(call, first_arg + 1, &stride_count);
    fidk_walk_begin(walk, sizes, rank);
    fidk_walk_add_strides(walk, strides);
    return fid_arg_is_none(call, first_arg + 2) ? 0 : fid_arg_int(call, first_arg + 2);
}

static void copy_one(const fid_tensor *to, int64_t to_at, const fid_tensor *from, int64_t from_at) {
    size_t size = fid_dtype_size((fid_dtype)to->dtype);
    memcpy((uint8_t *)to->data + (size_t)to_at * size, (const uint8_t *)from->data + (size_t)from_at * size, size);
}

static fid_status run_as_strided_copy(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    fidk_walk walk;
    FID_TRY(fid_as_strided_check(call, 1));
    int64_t offset = begin_window(call, 1, &walk);
    fidk_walk_add(&walk, out);
    FIDK_WALK(&walk) copy_one(out, walk.at[1], self, fidk_flat_offset(self, offset + walk.at[0]));
    return FID_OK;
}

static fid_status run_as_strided_scatter(fid_call *call) {
    const fid_tensor *src = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    fidk_walk walk;
    FID_TRY(fid_as_strided_check(call, 2));
    fidk_copy(out, fid_arg_tensor(call, 0));
    int64_t offset = begin_window(call, 2, &walk);
    fidk_walk_add(&walk, src);
    FIDK_WALK(&walk) copy_one(out, fidk_flat_offset(out, offset + walk.at[0]), src, walk.at[1]);
    return FID_OK;
}

const fid_kernel fid_ref_as_strided_copy = {.run = run_as_strided_copy};
const fid_kernel fid_ref_as_strided_scatter = {.run = run_as_strided_scatter};
