/* Reading at places given by one index tensor: index_select, gather, take. */
#include "kernels/ref/accumulate.h"

static fid_status run_index_select(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *index = fid_arg_tensor(call, 2), *out = fid_out_tensor(call, 0);
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), self->rank, &dim));
    int64_t stride = index->rank ? index->strides[0] : 0, count = (int64_t)fid_tensor_numel(index), from;
    for (int64_t i = 0; i < count; i++) {
        FID_TRY(fidk_index_in(call, fidk_get_int(index, i * stride), self->rank ? self->sizes[dim] : 1, &from));
        fidk_box to = fidk_box_of(out), in = fidk_box_of(self);
        if (self->rank) {
            fidk_box_select(&to, dim, i);
            fidk_box_select(&in, dim, from);
        }
        fidk_box_copy(&to, &in);
    }
    return FID_OK;
}

static fid_status run_gather(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *index = fid_arg_tensor(call, 2), *out = fid_out_tensor(call, 0);
    size_t dim, size = fid_dtype_size((fid_dtype)self->dtype);
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), self->rank, &dim));
    fidk_walk walk;
    fidk_walk_begin(&walk, index->sizes, index->rank);
    fidk_walk_add(&walk, index);
    fidk_walk_add(&walk, out);
    FIDK_WALK(&walk) {
        int64_t at = 0, from;
        FID_TRY(fidk_index_in(call, fidk_get_int(index, walk.at[0]), self->rank ? self->sizes[dim] : 1, &from));
        for (size_t i = 0; i < self->rank; i++) at += (i == dim ? from : walk.index[i]) * self->strides[i];
        memcpy((uint8_t *)out->data + (size_t)walk.at[1] * size, (const uint8_t *)self->data + (size_t)at * size, size);
    }
    return FID_OK;
}

static fid_status run_take(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *index = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    int64_t count = (int64_t)fid_tensor_numel(self), from;
    size_t size = fid_dtype_size((fid_dtype)self->dtype);
    fidk_walk walk;
    fidk_walk_begin(&walk, index->sizes, index->rank);
    fidk_walk_add(&walk, index);
    fidk_walk_add(&walk, out);
    FIDK_WALK(&walk) {
        FID_TRY(fidk_index_in(call, fidk_get_int(index, walk.at[0]), count, &from));
        memcpy((uint8_t *)out->data + (size_t)walk.at[1] * size,
               (const uint8_t *)self->data + (size_t)fidk_flat_offset(self, from) * size, size);
    }
    return FID_OK;
}

/* put: writes at flat indices. */
static fid_status run_put(fid_call *call) {
    const fid_tensor *index = fid_arg_tensor(call, 1), *source = fid_arg_tensor(call, 2), *out = fid_out_tensor(call, 0);
    int64_t count = (int64_t)fid_tensor_numel(out), to;
    fid_dtype dtype = (fid_dtype)source->dtype;
    fidk_accumulator acc;
    fidk_copy(out, fid_arg_tensor(call, 0));
    FID_TRY(fidk_accumulator_begin(call, fid_arg_bool(call, 3) ? FIDK_ADD : FIDK_REPLACE, true, &acc));
    fidk_walk walk;
    fidk_walk_begin(&walk, index->sizes, index->rank);
    fidk_walk_add(&walk, index);
    for (int64_t i = 0; walk.left; fidk_walk_next(&walk), i++) {
        FID_TRY(fidk_index_in(call, fidk_get_int(index, walk.at[0]), count, &to));
        fidk_element element = fidk_load(dtype, source->data, fidk_flat_offset(source, i));
        fidk_accumulate(&acc, fidk_flat_offset(out, to), fidk_convert(element, dtype, (fid_dtype)out->dtype));
    }
    fidk_accumulator_end(&acc);
    return FID_OK;
}

static size_t put_bytes(const fid_call *call) { return fidk_accumulator_bytes(fid_arg_tensor(call, 0)); }

const fid_kernel fid_ref_index_select = {.run = run_index_select};
const fid_kernel fid_ref_gather = {.run = run_gather};
const fid_kernel fid_ref_take = {.run = run_take};
const fid_kernel fid_ref_put = {.run = run_put, .scratch_bytes = put_bytes};
