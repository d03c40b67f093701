/* More operators that only move elements: stack, unbind, repeat, roll, flip, pixel shuffles, rows by index. */
#include "kernels/cpu/copy_view.h"
#include "kernels/cpu/operand.h"
#include "ops/indexing.h"

#define KERNEL(id, prepare_function, run_function)                                                                     \
    const fid_kernel fid_cpu_##id = {.prepare = prepare_function, .run = run_function, .any_numbers = true};

static uint8_t *element_at(const fid_tensor *tensor, int64_t offset) {
    return (uint8_t *)tensor->data + offset * (int64_t)fid_dtype_size((fid_dtype)tensor->dtype);
}

/* A tensor seen with other dimensions. */
typedef struct seen_tensor {
    fid_tensor tensor;
    int64_t sizes[FID_MAX_RANK + 4], strides[FID_MAX_RANK + 4];
    uint8_t order[FID_MAX_RANK + 4];
} seen_tensor;

static void see(const fid_tensor *t, seen_tensor *out) {
    *out = (seen_tensor){.tensor = *t};
    memcpy(out->sizes, t->sizes, t->rank * sizeof *t->sizes);
    memcpy(out->strides, t->strides, t->rank * sizeof *t->strides);
    memcpy(out->order, t->dim_order, t->rank);
    out->tensor.sizes = out->sizes, out->tensor.strides = out->strides, out->tensor.dim_order = out->order;
}

/* Takes dimension `dim` away, at index 0 of it. */
static void drop_dimension(seen_tensor *s, size_t dim) {
    size_t rank = --s->tensor.rank, kept = 0;
    for (size_t i = 0; i <= rank; i++)
        if (s->order[i] != dim) s->order[kept++] = (uint8_t)(s->order[i] - (s->order[i] > dim));
    memmove(s->sizes + dim, s->sizes + dim + 1, (rank - dim) * sizeof *s->sizes);
    memmove(s->strides + dim, s->strides + dim + 1, (rank - dim) * sizeof *s->strides);
}

/* ---- stack, unbind ---- */

static fid_status prepare_stack(fid_call *call) {
    const fid_value *tensors = call->args[0];
    for (size_t i = 0; i < tensors->as.tensors.count; i++)
        if (tensors->as.tensors.items[i]->dtype != fid_out_tensor(call, 0)->dtype) return FID_NOT_SUPPORTED;
    return FID_OK;
}

static fid_status run_stack(fid_call *call) {
    const fid_value *tensors = call->args[0];
    const fid_tensor *out = fid_out_tensor(call, 0);
    seen_tensor place;
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), out->rank, &dim));
    see(out, &place);
    drop_dimension(&place, dim);
    for (size_t i = 0; i < tensors->as.tensors.count; i++) {
        place.tensor.data = element_at(out, (int64_t)i * out->strides[dim]);
        fidk_copy_view(call, &place.tensor, tensors->as.tensors.items[i]->data, tensors->as.tensors.items[i]->strides);
    }
    return FID_OK;
}
KERNEL(stack, prepare_stack, run_stack)

static fid_status run_unbind(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    const fid_value *outs = call->args[call->output_index];
    seen_tensor part;
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), self->rank, &dim));
    see(self, &part);
    drop_dimension(&part, dim);
    for (size_t i = 0; i < outs->as.tensors.count; i++)
        fidk_copy_view(call, outs->as.tensors.items[i], element_at(self, (int64_t)i * self->strides[dim]), part.strides);
    return FID_OK;
}
KERNEL(unbind_copy_int, NULL, run_unbind)

/* ---- repeat(self, repeats): each output dimension as (repetition, size of self) ---- */

static fid_status prepare_repeat(fid_call *call) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    for (size_t i = 0; i < out->rank; i++)
        if (out->dim_order[i] != i) return FID_NOT_SUPPORTED;
    return 2u * out->rank <= FID_MAX_RANK ? FID_OK : FID_NOT_SUPPORTED;
}

static fid_status run_repeat(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    size_t added = (size_t)(out->rank - self->rank);
    int64_t strides[FID_MAX_RANK + 4];
    seen_tensor to = {.tensor = *out};
    for (size_t i = 0; i < out->rank; i++) {
        int64_t size = i < added ? 1 : self->sizes[i - added];
        if (size == 0) return FID_OK; /* nothing to repeat */
        to.sizes[2 * i] = out->sizes[i] / size, to.sizes[2 * i + 1] = size;
        to.strides[2 * i] = out->strides[i] * size, to.strides[2 * i + 1] = out->strides[i];
        strides[2 * i] = 0, strides[2 * i + 1] = i < added ? 0 : self->strides[i - added];
        to.order[2 * i] = (uint8_t)(2 * i), to.order[2 * i + 1] = (uint8_t)(2 * i + 1);
    }
    to.tensor.rank = (uint8_t)(2 * out->rank);
    to.tensor.sizes = to.sizes, to.tensor.strides = to.strides, to.tensor.dim_order = to.order;
    fidk_copy_view(call, &to.tensor, self->data, strides);
    return FID_OK;
}
KERNEL(repeat, prepare_repeat, run_repeat)

/* ---- roll(self, shifts, dims): two pieces a dimension ---- */

static fid_status prepare_roll(fid_call *call) {
    size_t count, rank = fid_arg_tensor(call, 0)->rank, dim;
    const int64_t *dims = fid_arg_ints(call, 2, &count);
    uint32_t seen = 0; /* a dimension that is named twice is for the reference kernel */
    for (size_t i = 0; i < count; i++) {
        FID_TRY(fid_wrap_dim(call, dims[i], rank, &dim));
        if (seen >> dim & 1) return FID_NOT_SUPPORTED;
        seen |= 1u << dim;
    }
    return count >= 1 && count <= 4 ? FID_OK : FID_NOT_SUPPORTED;
}

/* The pieces of dimension number `i` of the list, then of those after it. */
static fid_status roll_pieces(const fid_call *call, const fid_tensor *self, const seen_tensor *to, const uint8_t *from, size_t i) {
    size_t count, shift_count, dim;
    const int64_t *shifts = fid_arg_ints(call, 1, &shift_count), *dims = fid_arg_ints(call, 2, &count);
    if (i == count) {
        fidk_copy_view(call, &to->tensor, from, self->strides);
        return FID_OK;
    }
    FID_TRY(fid_wrap_dim(call, dims[i], self->rank, &dim));
    int64_t size = to->sizes[dim], shift = size ? (shifts[i] % size + size) % size : 0;
    for (int half = 0; half < 2; half++) { /* the end of the input to the front of the output, the rest behind it */
        seen_tensor piece;
        see(&to->tensor, &piece);
        piece.sizes[dim] = half ? size - shift : shift;
        if (half) piece.tensor.data = element_at(&to->tensor, shift * to->strides[dim]);
        int64_t start = half ? 0 : (size - shift) * self->strides[dim];
        if (piece.sizes[dim] > 0)
            FID_TRY(roll_pieces(call, self, &piece, from + start * (int64_t)fid_dtype_size((fid_dtype)self->dtype), i + 1));
    }
    return FID_OK;
}

static fid_status run_roll(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    seen_tensor to;
    if (fid_tensor_numel(out) == 0) return FID_OK;
    see(out, &to);
    return roll_pieces(call, self, &to, self->data, 0);
}
KERNEL(roll, prepare_roll, run_roll)

/* ---- pixel_shuffle, pixel_unshuffle of images of rank 4 ---- */

static fid_status prepare_pixels(fid_call *call) {
    return fid_arg_tensor(call, 0)->rank == 4 && fid_out_tensor(call, 0)->rank == 4 ? FID_OK : FID_NOT_SUPPORTED;
}

/* The wide image as (batch, channels, height, row in block, width, column in block). */
static void see_blocks(const fid_tensor *wide, int64_t r, int64_t *sizes, int64_t *strides) {
    const int64_t s[6] = {wide->sizes[0], wide->sizes[1], wide->sizes[2] / r, r, wide->sizes[3] / r, r};
    const int64_t t[6] = {wide->strides[0], wide->strides[1], wide->strides[2] * r, wide->strides[2], wide->strides[3] * r, wide->strides[3]};
    memcpy(sizes, s, sizeof s);
    memcpy(strides, t, sizeof t);
}

/* The dense image, whose channels hold the blocks, with the same dimensions. */
static void see_channels(const fid_tensor *dense, int64_t r, int64_t *strides) {
    const int64_t t[6] = {dense->strides[0], dense->strides[1] * r * r, dense->strides[2], dense->strides[1] * r, dense->strides[3], dense->strides[1]};
    memcpy(strides, t, sizeof t);
}

static void copy_pixels(const fid_call *call, const fid_tensor *out, const int64_t *sizes, const int64_t *to, const void *in, const int64_t *from) {
    seen_tensor seen = {.tensor = *out, .order = {0, 1, 2, 3, 4, 5}};
    memcpy(seen.sizes, sizes, 6 * sizeof *sizes);
    memcpy(seen.strides, to, 6 * sizeof *to);
    seen.tensor.rank = 6;
    seen.tensor.sizes = seen.sizes, seen.tensor.strides = seen.strides, seen.tensor.dim_order = seen.order;
    fidk_copy_view(call, &seen.tensor, in, from);
}

static fid_status run_pixel_shuffle(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    int64_t sizes[6], to[6], from[6];
    see_blocks(out, fid_arg_int(call, 1), sizes, to);
    see_channels(self, fid_arg_int(call, 1), from);
    copy_pixels(call, out, sizes, to, self->data, from);
    return FID_OK;
}
KERNEL(pixel_shuffle, prepare_pixels, run_pixel_shuffle)

static fid_status run_pixel_unshuffle(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    int64_t sizes[6], to[6], from[6];
    see_blocks(self, fid_arg_int(call, 1), sizes, from);
    see_channels(out, fid_arg_int(call, 1), to);
    copy_pixels(call, out, sizes, to, self->data, from);
    return FID_OK;
}
KERNEL(pixel_unshuffle, prepare_pixels, run_pixel_unshuffle)

/* ---- index.Tensor(self, indices) with one tensor of whole numbers, and index_select ---- */

static bool is_plain(const fid_tensor *t) {
    for (size_t i = 0; i < t->rank; i++)
        if (t->dim_order[i] != i) return false;
    return true;
}

static int64_t index_at(const fid_tensor *index, size_t i) {
    return index->dtype == FID_INT64 ? ((const int64_t *)index->data)[i] : ((const int32_t *)index->data)[i];
}

static fid_status prepare_rows(const fid_call *call, const fid_tensor *index) {
    bool takes = is_plain(fid_arg_tensor(call, 0)) && is_plain(fid_out_tensor(call, 0)) && is_plain(index) &&
                 (index->dtype == FID_INT64 || index->dtype == FID_INT32);
    return takes ? FID_OK : FID_NOT_SUPPORTED;
}

/* out (outer, indices, row) from self (outer, size, row) */
static fid_status copy_rows(const fid_call *call, const fid_tensor *index, size_t dim, bool negative) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    size_t outer = fidk_count(self, 0, dim), bytes = fidk_count(self, dim + 1, self->rank) * fid_dtype_size((fid_dtype)self->dtype);
    size_t count = fid_tensor_numel(index);
    const int64_t size = self->sizes[dim];
    for (size_t i = 0; i < count; i++) {
        int64_t row = index_at(index, i);
        if (row < (negative ? -size : 0) || row >= size)
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: index %lld is outside of dimension %zu of size %lld", call->name,
                            (long long)row, dim, (long long)size);
        if (row < 0) row += size;
        for (size_t o = 0; o < outer; o++)
            memcpy((uint8_t *)out->data + (o * count + i) * bytes, (const uint8_t *)self->data + (o * (size_t)size + (size_t)row) * bytes, bytes);
    }
    return FID_OK;
}

static fid_status prepare_index(fid_call *call) {
    fid_indexing indexing;
    FID_TRY(fid_indexing_of(call, 1, NULL, &indexing));
    if (indexing.count != 1 || indexing.entries[0].mask) return FID_NOT_SUPPORTED;
    return prepare_rows(call, indexing.entries[0].tensor);
}

static fid_status run_index(fid_call *call) {
    fid_indexing indexing;
    FID_TRY(fid_indexing_of(call, 1, NULL, &indexing));
    return copy_rows(call, indexing.entries[0].tensor, indexing.entries[0].dim, true);
}
KERNEL(index_Tensor, prepare_index, run_index)

static fid_status prepare_select(fid_call *call) {
    if (fid_arg_tensor(call, 0)->rank == 0) return FID_NOT_SUPPORTED;
    return prepare_rows(call, fid_arg_tensor(call, 2));
}

static fid_status run_select(fid_call *call) {
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), fid_arg_tensor(call, 0)->rank, &dim));
    return copy_rows(call, fid_arg_tensor(call, 2), dim, false);
}
KERNEL(index_select, prepare_select, run_select)
