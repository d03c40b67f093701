/* Different slices along a dimension: compared element by element, in row-major order of the slice. */
#include "kernels/ref/order.h"

/* Index `at` of dimension `dim`. */
static fidk_box slice_at(const fid_tensor *tensor, size_t dim, int64_t at) {
    fidk_box box = fidk_box_of(tensor);
    if (box.rank) fidk_box_select(&box, dim, at);
    return box;
}

/* <0, 0, >0 as the first element that differs. */
static int compare_slices(const fid_tensor *self, size_t dim, int64_t a, int64_t b) {
    fidk_box left = slice_at(self, dim, a), right = slice_at(self, dim, b);
    fidk_walk walk;
    fidk_walk_begin(&walk, left.sizes, left.rank);
    fidk_walk_add_strides(&walk, left.strides);
    FIDK_WALK(&walk) {
        int64_t x = fidk_order_key(left.dtype, left.data, walk.at[0]), y = fidk_order_key(right.dtype, right.data, walk.at[0]);
        if (x != y) return x < y ? -1 : 1;
    }
    return 0;
}

/* Stable insertion into rising order: slices are few, comparing them is what costs. */
static void sort_slices(const fid_tensor *self, size_t dim, int64_t *order, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        int64_t low = 0, high = i;
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (compare_slices(self, dim, order[middle], i) <= 0) low = middle + 1;
            else high = middle;
        }
        memmove(order + low + 1, order + low, (size_t)(i - low) * sizeof *order);
        order[low] = i;
    }
}

static fid_status resize_outputs(fid_call *call, size_t dim, int64_t groups) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    int64_t sizes[FID_MAX_RANK];
    memcpy(sizes, self->sizes, self->rank * sizeof sizes[0]);
    if (self->rank) sizes[dim] = groups;
    FID_TRY(fid_tensor_resize(call->sink, fid_out_tensor(call, 0), sizes, self->rank));
    return fid_tensor_resize(call->sink, fid_out_tensor(call, 2), &groups, 1);
}

fid_status fidk_unique_slices(fid_call *call, int64_t dim_arg, bool neighbours) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *inverse = fid_out_tensor(call, 1), *counts = fid_out_tensor(call, 2);
    size_t dim;
    FID_TRY(fidk_need_order(call, self));
    FID_TRY(fid_wrap_dim(call, dim_arg, self->rank, &dim));
    int64_t count = self->rank ? self->sizes[dim] : 1, groups = 0;
    int64_t *order = fid_call_scratch(call, ((size_t)count + 1) * sizeof *order);
    if (!order) return FID_OUT_OF_MEMORY;
    if (!neighbours) sort_slices(self, dim, order, count);
    for (int64_t i = 0; i < count && neighbours; i++) order[i] = i;
    for (int64_t i = 0; i < count; i++) groups += i == 0 || compare_slices(self, dim, order[i - 1], order[i]) != 0;
    FID_TRY(resize_outputs(call, dim, groups));
    int64_t group = -1, members = 0;
    for (int64_t i = 0; i < count; i++) {
        if (i == 0 || compare_slices(self, dim, order[i - 1], order[i]) != 0) {
            fidk_box to = slice_at(fid_out_tensor(call, 0), dim, ++group), from = slice_at(self, dim, order[i]);
            fidk_box_copy(&to, &from);
            members = 0;
        }
        fidk_set_int(inverse, order[i] * inverse->strides[0], group);
        fidk_set_int(counts, group * counts->strides[0], ++members);
    }
    return FID_OK;
}

/* self, dim, ...: what is asked for is given anyway. */
static fid_status run_unique_dim(fid_call *call) { return fidk_unique_slices(call, fid_arg_int(call, 1), false); }
static fid_status run_unique_dim_consecutive(fid_call *call) { return fidk_unique_slices(call, fid_arg_int(call, 1), true); }

static size_t unique_dim_bytes(const fid_call *call) { return (fid_tensor_numel(fid_arg_tensor(call, 0)) + 2) * sizeof(int64_t); }

const fid_kernel fid_ref_unique_dim = {.run = run_unique_dim, .scratch_bytes = unique_dim_bytes};
const fid_kernel fid_ref_unique_dim_consecutive = {.run = run_unique_dim_consecutive, .scratch_bytes = unique_dim_bytes};
