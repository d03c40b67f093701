/* Order within dimensions: flip and roll. */
#include "kernels/ref/box.h"

static fid_status run_flip(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    size_t count, dim;
    const int64_t *dims = fid_arg_ints(call, 1, &count);
    fidk_box to = fidk_box_of(fid_out_tensor(call, 0)), from = fidk_box_of(self);
    for (size_t i = 0; i < count; i++) {
        FID_TRY(fid_wrap_dim(call, dims[i], self->rank, &dim));
        if (self->rank) fidk_box_narrow(&from, dim, self->sizes[dim] - 1, self->sizes[dim], -1);
    }
    fidk_box_copy(&to, &from);
    return FID_OK;
}

/* 0 <= result < size, for a shift of any sign. */
static int64_t wrap_shift(int64_t shift, int64_t size) {
    int64_t rest = size ? shift % size : 0;
    return rest < 0 ? rest + size : rest;
}

/* Without dimensions the tensor is rolled as one sequence. */
static void roll_flat(const fid_tensor *out, const fid_tensor *self, int64_t shift) {
    int64_t count = (int64_t)fid_tensor_numel(self), start = wrap_shift(-shift, count);
    size_t size = fid_dtype_size((fid_dtype)self->dtype);
    fidk_walk read, write;
    fidk_walk_begin(&read, self->sizes, self->rank);
    fidk_walk_add(&read, self);
    for (int64_t i = 0; i < start; i++) fidk_walk_next(&read);
    fidk_walk_begin(&write, out->sizes, out->rank);
    fidk_walk_add(&write, out);
    FIDK_WALK(&write) {
        memcpy((uint8_t *)out->data + (size_t)write.at[0] * size, (const uint8_t *)self->data + (size_t)read.at[0] * size, size);
        fidk_walk_next(&read);
        if (!read.left) {
            fidk_walk_begin(&read, self->sizes, self->rank);
            fidk_walk_add(&read, self);
        }
    }
}

static fid_status run_roll(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    size_t count, shift_count, dim;
    const int64_t *shifts = fid_arg_ints(call, 1, &shift_count), *dims = fid_arg_ints(call, 2, &count);
    if (fid_tensor_numel(self) == 0) return FID_OK;
    if (count == 0) {
        roll_flat(out, self, shifts[0]);
        return FID_OK;
    }
    int64_t offset[FID_MAX_RANK] = {0};
    for (size_t i = 0; i < count; i++) {
        FID_TRY(fid_wrap_dim(call, dims[i], self->rank, &dim));
        if (self->rank) offset[dim] = wrap_shift(offset[dim] - wrap_shift(shifts[i], self->sizes[dim]), self->sizes[dim]);
    }
    size_t size = fid_dtype_size((fid_dtype)self->dtype);
    fidk_walk walk;
    fidk_walk_begin(&walk, out->sizes, out->rank);
    fidk_walk_add(&walk, out);
    FIDK_WALK(&walk) {
        int64_t at = 0;
        for (size_t i = 0; i < walk.rank; i++) at += (walk.index[i] + offset[i]) % self->sizes[i] * self->strides[i];
        memcpy((uint8_t *)out->data + (size_t)walk.at[0] * size, (const uint8_t *)self->data + (size_t)at * size, size);
    }
    return FID_OK;
}

const fid_kernel fid_ref_flip = {.run = run_flip};
const fid_kernel fid_ref_roll = {.run = run_roll};
