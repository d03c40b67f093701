/* What masks choose: masked_select, masked_scatter, nonzero. */
#include "kernels/ref/box.h"

/* A walk over self and mask broadcast together: operand 0 is self, 1 the mask. */
static fid_status begin_masked(const fid_call *call, fidk_walk *walk) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *mask = fid_arg_tensor(call, 1);
    fid_meta both = fid_meta_of(self);
    FID_TRY(fid_meta_broadcast(call, &both, mask));
    fidk_walk_begin(walk, both.sizes, both.rank);
    fidk_walk_add(walk, self);
    fidk_walk_add(walk, mask);
    return FID_OK;
}

static fid_status run_masked_select(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *mask = fid_arg_tensor(call, 1);
    fid_tensor *out = fid_out_tensor(call, 0);
    size_t size = fid_dtype_size((fid_dtype)self->dtype);
    int64_t count = 0, at = 0;
    fidk_walk walk;
    FID_TRY(begin_masked(call, &walk));
    FIDK_WALK(&walk) count += fidk_get_bool(mask, walk.at[1]);
    FID_TRY(fid_tensor_resize(call->sink, out, &count, 1));
    FID_TRY(begin_masked(call, &walk));
    FIDK_WALK(&walk) {
        if (!fidk_get_bool(mask, walk.at[1])) continue;
        memcpy((uint8_t *)out->data + (size_t)(at++ * out->strides[0]) * size,
               (const uint8_t *)self->data + (size_t)walk.at[0] * size, size);
    }
    return FID_OK;
}

/* Places where the mask is true take the source's elements, one after the other. */
static fid_status run_masked_scatter(fid_call *call) {
    const fid_tensor *mask = fid_arg_tensor(call, 1), *source = fid_arg_tensor(call, 2), *out = fid_out_tensor(call, 0);
    size_t size = fid_dtype_size((fid_dtype)out->dtype);
    fidk_box to = fidk_box_of(out), from = fidk_box_of(fid_arg_tensor(call, 0));
    fidk_box_expand(&from, out->sizes, out->rank);
    fidk_box_copy(&to, &from);
    fidk_walk walk, read;
    fidk_walk_begin(&walk, out->sizes, out->rank);
    fidk_walk_add(&walk, out);
    fidk_walk_add(&walk, mask);
    fidk_walk_begin(&read, source->sizes, source->rank);
    fidk_walk_add(&read, source);
    FIDK_WALK(&walk) {
        if (!fidk_get_bool(mask, walk.at[1])) continue;
        if (!read.left) {
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the mask chooses more than the %zu elements of the source",
                            call->name, fid_tensor_numel(source));
        }
        memcpy((uint8_t *)out->data + (size_t)walk.at[0] * size, (const uint8_t *)source->data + (size_t)read.at[0] * size, size);
        fidk_walk_next(&read);
    }
    return FID_OK;
}

/* Writes the indices of at most `limit` nonzero elements, a row for each, and returns how many there are. */
static int64_t list_nonzero(const fid_tensor *self, const fid_tensor *out, int64_t limit) {
    int64_t count = 0;
    fidk_walk walk;
    fidk_walk_begin(&walk, self->sizes, self->rank);
    fidk_walk_add(&walk, self);
    FIDK_WALK(&walk) {
        if (!fidk_get_bool(self, walk.at[0])) continue;
        for (size_t i = 0; i < self->rank && count < limit; i++) {
            fidk_set_int(out, count * out->strides[0] + (int64_t)i * out->strides[1], walk.index[i]);
        }
        count++;
    }
    return count;
}

static fid_status run_nonzero(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    fid_tensor *out = fid_out_tensor(call, 0);
    int64_t sizes[2] = {list_nonzero(self, out, 0), self->rank};
    FID_TRY(fid_tensor_resize(call->sink, out, sizes, 2));
    list_nonzero(self, out, sizes[0]);
    return FID_OK;
}

/* self, size, fill_value: exactly `size` rows. */
static fid_status run_nonzero_static(fid_call *call) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    fidk_fill(out, fidk_number(call->args[2], FID_INT64));
    list_nonzero(fid_arg_tensor(call, 0), out, out->sizes[0]);
    return FID_OK;
}

const fid_kernel fid_ref_masked_select = {.run = run_masked_select};
const fid_kernel fid_ref_masked_scatter = {.run = run_masked_scatter};
const fid_kernel fid_ref_nonzero = {.run = run_nonzero};
const fid_kernel fid_ref_nonzero_static = {.run = run_nonzero_static};
