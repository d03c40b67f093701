/* Operators that only move elements: copies, views made real, permutations, slices, concatenations, constant padding. */
#include "kernels/cpu/copy_view.h"
#include "kernels/cpu/operand.h"
#include "ops/padding.h"
#include "ops/parts.h"

static fid_status prepare_same_dtype(fid_call *call) {
    return fid_arg_tensor(call, 0)->dtype == fid_out_tensor(call, 0)->dtype ? FID_OK : FID_NOT_SUPPORTED;
}

#define KERNEL(id, prepare_function, run_function)                                                                     \
    const fid_kernel fid_cpu_##id = {.prepare = prepare_function, .run = run_function, .any_numbers = true};

static const uint8_t *bytes_at(const fid_tensor *tensor, int64_t element) {
    return (const uint8_t *)tensor->data + element * (int64_t)fid_dtype_size((fid_dtype)tensor->dtype);
}

/* ---- The same shape in another order ---- */

static fid_status run_clone(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    if (fid_tensor_same_layout(self, out)) {
        if (out->data != self->data && fid_tensor_numel(out)) memcpy(out->data, self->data, fid_tensor_bytes(out));
    } else fidk_copy_view(call, out, self->data, self->strides);
    return FID_OK;
}
KERNEL(clone, prepare_same_dtype, run_clone)
KERNEL(_clone_dim_order, prepare_same_dtype, run_clone)
KERNEL(_to_dim_order_copy, prepare_same_dtype, run_clone)

/* ---- _to_copy: also between dtypes, where both lie alike ---- */

typedef struct cast_work {
    const fidk_tiles *tiles;
    const uint8_t *x;
    uint8_t *y;
    size_t count, parts;
    fid_dtype from, to;
} cast_work;

static bool is_half(fid_dtype dtype) { return dtype == FID_FLOAT16 || dtype == FID_BFLOAT16; }

/* A float outside of an integer's range gives its lowest number, as x86 does. */
static int64_t cut_64(float x) { return x >= -0x1p63f && x < 0x1p63f ? (int64_t)x : INT64_MIN; }
static int32_t cut_32(float x) { return x >= -0x1p31f && x < 0x1p31f ? (int32_t)x : INT32_MIN; }

#define CAST(from_type, to_type, expression)                                                                           \
    for (size_t i = begin; i < end; i++) {                                                                             \
        const from_type x = ((const from_type *)from)[i];                                                              \
        ((to_type *)to)[i] = (to_type)(expression);                                                                    \
    }                                                                                                                  \
    break

#define CAST_TO(from_type, value, to_64, to_32)                                                                               \
    switch (w->to) {                                                                                                   \
    case FID_FLOAT32: CAST(from_type, float, value);                                                                   \
    case FID_INT64: CAST(from_type, int64_t, to_64);                                                                   \
    case FID_INT32: CAST(from_type, int32_t, to_32);                                                                   \
    default: CAST(from_type, uint8_t, x != 0); /* bool */                                                              \
    }                                                                                                                  \
    break

static void cast_numbers(const cast_work *w, size_t begin, size_t end) {
    const void *from = w->x;
    void *to = w->y;
    switch (w->from) {
    case FID_INT64: CAST_TO(int64_t, x, x, x);
    case FID_INT32: CAST_TO(int32_t, x, x, x);
    case FID_FLOAT32: CAST_TO(float, x, cut_64(x), cut_32(x));
    case FID_BOOL: CAST_TO(uint8_t, x != 0, x != 0, x != 0);
    default: CAST_TO(uint8_t, x, x, x);
    }
}

static void cast_part(void *context, size_t index) {
    const cast_work *w = context;
    size_t begin = fidk_part_begin(w->count, w->parts, index), end = fidk_part_begin(w->count, w->parts, index + 1);
    const uint16_t *half = (const uint16_t *)(const void *)w->x;
    if (is_half(w->from)) w->tiles->from_half[w->from == FID_BFLOAT16](half + begin, (float *)(void *)w->y + begin, end - begin);
    else if (is_half(w->to))
        w->tiles->to_half[w->to == FID_BFLOAT16]((const float *)(const void *)w->x + begin, (uint16_t *)(void *)w->y + begin, end - begin);
    else cast_numbers(w, begin, end);
}

static bool is_number(fid_dtype dtype) {
    return dtype == FID_FLOAT32 || dtype == FID_INT64 || dtype == FID_INT32 || dtype == FID_BOOL;
}

static bool casts(fid_dtype from, fid_dtype to) {
    if (is_half(from)) return to == FID_FLOAT32;
    if (is_half(to)) return from == FID_FLOAT32;
    return is_number(to) && (is_number(from) || from == FID_UINT8);
}

static fid_status prepare_to(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    if (self->dtype == out->dtype) return FID_OK;
    bool takes = casts((fid_dtype)self->dtype, (fid_dtype)out->dtype) && memcmp(self->dim_order, out->dim_order, self->rank) == 0;
    return takes ? FID_OK : FID_NOT_SUPPORTED;
}

static fid_status run_to(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    if (self->dtype == out->dtype) return run_clone(call);
    cast_work w = {fidk_tiles_for(call->cpu), self->data, out->data, fid_tensor_numel(self), 1, (fid_dtype)self->dtype, (fid_dtype)out->dtype};
    w.parts = fidk_worthwhile_threads(call->threads, (double)w.count * 8);
    fidk_parallel(call->threads, cast_part, &w, w.parts);
    return FID_OK;
}
KERNEL(_to_copy, prepare_to, run_to)

/* ---- Another shape, the same logical order of elements ---- */

/* One side must lie in logical order: it is then seen with the other's shape. */
static fid_status prepare_view(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    bool self_plain = true, out_plain = true;
    for (size_t i = 0; i < self->rank; i++) self_plain = self_plain && self->dim_order[i] == i;
    for (size_t i = 0; i < out->rank; i++) out_plain = out_plain && out->dim_order[i] == i;
    return self->dtype == out->dtype && (self_plain || out_plain) ? FID_OK : FID_NOT_SUPPORTED;
}

static fid_status run_view(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    int64_t strides[FID_MAX_RANK];
    uint8_t order[FID_MAX_RANK];
    if (fid_tensor_is_contiguous(self) && fid_tensor_is_contiguous(out)) {
        if (out->data != self->data && fid_tensor_numel(out)) memcpy(out->data, self->data, fid_tensor_bytes(out));
        return FID_OK;
    }
    for (uint8_t i = 0; i < FID_MAX_RANK; i++) order[i] = i;
    if (fid_tensor_is_contiguous(out)) {
        fid_tensor seen = *self; /* out with the input's shape */
        fid_strides_of(self->sizes, order, self->rank, strides);
        seen.data = out->data, seen.strides = strides, seen.dim_order = order;
        fidk_copy_view(call, &seen, self->data, self->strides);
    } else {
        fid_strides_of(out->sizes, order, out->rank, strides);
        fidk_copy_view(call, out, self->data, strides);
    }
    return FID_OK;
}
KERNEL(view_copy, prepare_view, run_view)
KERNEL(unsqueeze_copy, prepare_view, run_view)
KERNEL(squeeze_copy_dims, prepare_view, run_view)

/* ---- Permutation, expansion ---- */

static fid_status run_permute(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    int64_t strides[FID_MAX_RANK];
    size_t count, dim;
    const int64_t *dims = fid_arg_ints(call, 1, &count);
    for (size_t i = 0; i < out->rank; i++) {
        FID_TRY(fid_wrap_dim(call, dims[i], self->rank, &dim));
        strides[i] = self->strides[dim];
    }
    fidk_copy_view(call, out, self->data, strides);
    return FID_OK;
}
KERNEL(permute_copy, prepare_same_dtype, run_permute)

static fid_status run_transpose(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    int64_t strides[FID_MAX_RANK];
    size_t a, b;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), self->rank, &a));
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), self->rank, &b));
    for (size_t i = 0; i < self->rank; i++) strides[i] = self->strides[i == a ? b : i == b ? a : i];
    fidk_copy_view(call, out, self->data, strides);
    return FID_OK;
}
KERNEL(transpose_copy_int, prepare_same_dtype, run_transpose)

static fid_status run_t(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    int64_t strides[2] = {self->rank ? self->strides[self->rank - 1] : 0, self->strides[0]};
    fidk_copy_view(call, out, self->data, strides);
    return FID_OK;
}
KERNEL(t_copy, prepare_same_dtype, run_t)

static fid_status run_expand(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    int64_t strides[FID_MAX_RANK];
    for (size_t i = 0; i < out->rank; i++) {
        size_t back = out->rank - i;
        strides[i] = back <= self->rank && self->sizes[self->rank - back] != 1 ? self->strides[self->rank - back] : 0;
    }
    fidk_copy_view(call, out, self->data, strides);
    return FID_OK;
}
KERNEL(expand_copy, prepare_same_dtype, run_expand)

/* ---- Parts ---- */

static void copy_slice(const fid_call *call, const fid_tensor *out, const fid_tensor *self, const fid_slice *slice) {
    int64_t strides[FID_MAX_RANK];
    for (size_t i = 0; i < self->rank; i++) strides[i] = self->strides[i] * (i == slice->dim ? slice->step : 1);
    fidk_copy_view(call, out, bytes_at(self, slice->start * self->strides[slice->dim]), strides);
}

static fid_status run_slice(fid_call *call) {
    fid_slice slice;
    FID_TRY(fid_slice_bounds(call, 1, &slice));
    if (slice.count > 0) copy_slice(call, fid_out_tensor(call, 0), fid_arg_tensor(call, 0), &slice);
    return FID_OK;
}
KERNEL(slice_copy_Tensor, prepare_same_dtype, run_slice)

static void copy_selected(const fid_call *call, const fid_tensor *out, const fid_tensor *self, size_t dim, int64_t index) {
    int64_t strides[FID_MAX_RANK];
    for (size_t i = 0; i < out->rank; i++) strides[i] = self->strides[i < dim ? i : i + 1];
    fidk_copy_view(call, out, bytes_at(self, index * self->strides[dim]), strides);
}

static fid_status run_select(fid_call *call) {
    size_t dim;
    int64_t index;
    FID_TRY(fid_select_index(call, 1, &dim, &index));
    copy_selected(call, fid_out_tensor(call, 0), fid_arg_tensor(call, 0), dim, index);
    return FID_OK;
}
KERNEL(select_copy_int, prepare_same_dtype, run_select)

static fid_status run_split(fid_call *call) {
    const fid_value *outs = call->args[call->output_index];
    fid_slice slice = {.step = 1};
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), fid_arg_tensor(call, 0)->rank, &slice.dim));
    for (size_t i = 0; i < outs->as.tensors.count; i++) {
        slice.count = outs->as.tensors.items[i]->sizes[slice.dim];
        if (slice.count > 0) copy_slice(call, outs->as.tensors.items[i], fid_arg_tensor(call, 0), &slice);
        slice.start += slice.count;
    }
    return FID_OK;
}
KERNEL(split_copy_Tensor, NULL, run_split)
KERNEL(split_with_sizes_copy, NULL, run_split)

/* ---- Concatenation and padding ---- */

/* Each tensor into its place of the output. */
static fid_status prepare_cat(fid_call *call) {
    const fid_value *tensors = call->args[0];
    for (size_t i = 0; i < tensors->as.tensors.count; i++)
        if (tensors->as.tensors.items[i]->dtype != fid_out_tensor(call, 0)->dtype) return FID_NOT_SUPPORTED;
    return FID_OK;
}

static fid_status run_cat(fid_call *call) {
    const fid_value *tensors = call->args[0];
    fid_tensor place = *fid_out_tensor(call, 0);
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), place.rank, &dim));
    for (size_t i = 0; i < tensors->as.tensors.count; i++) {
        const fid_tensor *part = tensors->as.tensors.items[i];
        if (fid_cat_skips(part)) continue;
        place.sizes = part->sizes;
        fidk_copy_view(call, &place, part->data, part->strides);
        place.data = (uint8_t *)(uintptr_t)bytes_at(&place, part->sizes[dim] * place.strides[dim]);
    }
    return FID_OK;
}
KERNEL(cat, prepare_cat, run_cat)

/* constant_pad_nd(self, pad, value) of float32: fills, then copies; negative padding is left to the reference. */
static fid_status prepare_pad(fid_call *call) {
    return fidk_is_f32(fid_arg_tensor(call, 0)) && fidk_is_f32(fid_out_tensor(call, 0)) ? FID_OK : FID_NOT_SUPPORTED;
}

static bool takes_away(const fid_padding *padding, size_t rank) {
    for (size_t i = 0; i < rank; i++)
        if (padding->before[i] < 0 || padding->after[i] < 0) return true;
    return false;
}

static fid_status run_pad(fid_call *call) {
    extern const fid_kernel fid_ref_constant_pad_nd;
    const fid_tensor *self = fid_arg_tensor(call, 0);
    fid_tensor place = *fid_out_tensor(call, 0);
    fid_padding padding;
    float value = fid_arg_is_none(call, 2) ? 0 : (float)fid_arg_double(call, 2);
    FID_TRY(fid_padding_of(call, &padding));
    if (takes_away(&padding, self->rank)) return fid_ref_constant_pad_nd.run(call);
    if (fid_tensor_numel(&place) == 0) return FID_OK;
    fidk_copy_view(call, &place, &value, (int64_t[FID_MAX_RANK]){0});
    int64_t at = 0;
    for (size_t i = 0; i < self->rank; i++) at += padding.before[i] * place.strides[i];
    place.sizes = self->sizes;
    place.data = (float *)place.data + at;
    if (fid_tensor_numel(self)) fidk_copy_view(call, &place, self->data, self->strides);
    return FID_OK;
}
KERNEL(constant_pad_nd, prepare_pad, run_pad)
