/* Repetition: of the whole tensor (repeat) and of each element (repeat_interleave). */
#include "kernels/ref/box.h"

/* Output dimension i is (repetition, size of self): one box with both as dimensions, the repetition with stride 0. */
static fid_status run_repeat(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    if (fid_tensor_numel(out) == 0) return FID_OK;
    fidk_walk walk;
    fidk_walk_begin(&walk, out->sizes, out->rank);
    fidk_walk_add(&walk, out);
    fidk_box from = fidk_box_of(self);
    size_t size = fid_dtype_size((fid_dtype)out->dtype), added = (size_t)(out->rank - self->rank);
    FIDK_WALK(&walk) {
        int64_t at = 0;
        for (size_t i = 0; i < from.rank; i++) at += walk.index[added + i] % from.sizes[i] * from.strides[i];
        memcpy((uint8_t *)out->data + (size_t)walk.at[0] * size, from.data + (size_t)at * size, size);
    }
    return FID_OK;
}

/* self, repeats, dim?: each index of the dimension (of the flattened tensor without one) `repeats` times in a row. */
static fid_status run_repeat_interleave_self_int(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    int64_t repeats = fid_arg_int(call, 1);
    fidk_box to = fidk_box_of(out), from = fidk_box_of(self);
    size_t dim = 0;
    if (repeats == 0) return FID_OK;
    if (fid_arg_is_none(call, 2) || self->rank == 0) {
        fidk_box_split(&to, 0, repeats);
        fidk_box_insert(&from, from.rank, repeats, 0);
        fidk_box_reshape(&to, &from);
        return FID_OK;
    }
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), self->rank, &dim));
    fidk_box_split(&to, dim, repeats);
    fidk_box_insert(&from, dim + 1, repeats, 0);
    fidk_box_copy(&to, &from);
    return FID_OK;
}

static fid_status count_repeats(fid_call *call, const fid_tensor *repeats, int64_t *out_total) {
    int64_t total = 0, count = (int64_t)fid_tensor_numel(repeats), stride = repeats->rank ? repeats->strides[0] : 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t times = fidk_get_int(repeats, i * stride);
        if (times < 0 || __builtin_add_overflow(total, times, &total)) {
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: repeats[%lld] is %lld, it must be at least 0", call->name,
                            (long long)i, (long long)times);
        }
    }
    *out_total = total;
    return FID_OK;
}

static fid_status check_output_size(fid_call *call, uint32_t arg, int64_t total) {
    if (fid_arg_is_none(call, arg) || fid_arg_int(call, arg) == total) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: output_size is %lld, the repeats add up to %lld", call->name,
                    (long long)fid_arg_int(call, arg), (long long)total);
}

/* repeats -> each index as often as its entry says. */
static fid_status run_repeat_interleave_Tensor(fid_call *call) {
    const fid_tensor *repeats = fid_arg_tensor(call, 0);
    fid_tensor *out = fid_out_tensor(call, 0);
    if (repeats->rank != 1) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: repeats has %d dimensions, expected 1", call->name, repeats->rank);
    }
    int64_t total, at = 0;
    FID_TRY(count_repeats(call, repeats, &total));
    FID_TRY(check_output_size(call, 1, total));
    FID_TRY(fid_call_resize(call, 0, &total, 1));
    for (int64_t i = 0; i < repeats->sizes[0]; i++) {
        for (int64_t k = fidk_get_int(repeats, i * repeats->strides[0]); k > 0; k--) fidk_set_int(out, at++ * out->strides[0], i);
    }
    return FID_OK;
}

/* One index of `dim`, repeated; a tensor to be flattened is walked in logical order instead. */
static void repeat_index(const fid_tensor *out, const fid_tensor *self, size_t dim, int64_t from_index, int64_t at, int64_t times) {
    for (int64_t k = 0; k < times; k++) {
        fidk_box to = fidk_box_of(out), from = fidk_box_of(self);
        fidk_box_select(&to, dim, at + k);
        fidk_box_select(&from, dim, from_index);
        fidk_box_copy(&to, &from);
    }
}

static void repeat_flat(const fid_tensor *out, const fid_tensor *self, const fid_tensor *repeats, int64_t repeat_stride) {
    fidk_walk walk;
    fidk_walk_begin(&walk, self->sizes, self->rank);
    fidk_walk_add(&walk, self);
    size_t size = fid_dtype_size((fid_dtype)self->dtype);
    int64_t at = 0, i = 0;
    FIDK_WALK(&walk) {
        for (int64_t k = fidk_get_int(repeats, i++ * repeat_stride); k > 0; k--, at++) {
            memcpy((uint8_t *)out->data + (size_t)(at * out->strides[0]) * size,
                   (const uint8_t *)self->data + (size_t)walk.at[0] * size, size);
        }
    }
}

/* self, repeats, dim?: like self_int with a number of repetitions for each index (or one for all). */
static fid_status run_repeat_interleave_self_Tensor(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *repeats = fid_arg_tensor(call, 1);
    fid_tensor *out = fid_out_tensor(call, 0);
    bool flat = fid_arg_is_none(call, 2) || self->rank == 0;
    size_t dim = 0;
    if (!flat) FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), self->rank, &dim));
    int64_t length = flat ? (int64_t)fid_tensor_numel(self) : self->sizes[dim], count = (int64_t)fid_tensor_numel(repeats), total;
    if (repeats->rank > 1 || (count != 1 && count != length)) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %lld repeats for %lld indices", call->name, (long long)count,
                        (long long)length);
    }
    FID_TRY(count_repeats(call, repeats, &total));
    if (count != length && __builtin_mul_overflow(total, length, &total)) return FID_INVALID_ARGUMENT;
    FID_TRY(check_output_size(call, 3, total));
    int64_t sizes[FID_MAX_RANK] = {total}, stride = repeats->rank && count == length ? repeats->strides[0] : 0, at = 0;
    for (size_t i = 0; i < self->rank && !flat; i++) sizes[i] = i == dim ? total : self->sizes[i];
    FID_TRY(fid_call_resize(call, 0, sizes, flat ? 1 : self->rank));
    if (flat) repeat_flat(out, self, repeats, stride);
    for (int64_t i = 0; i < length && !flat; i++) {
        int64_t times = fidk_get_int(repeats, i * stride);
        repeat_index(out, self, dim, i, at, times);
        at += times;
    }
    return FID_OK;
}

const fid_kernel fid_ref_repeat = {.run = run_repeat};
const fid_kernel fid_ref_repeat_interleave_self_int = {.run = run_repeat_interleave_self_int};
const fid_kernel fid_ref_repeat_interleave_Tensor = {.run = run_repeat_interleave_Tensor};
const fid_kernel fid_ref_repeat_interleave_self_Tensor = {.run = run_repeat_interleave_self_Tensor};
