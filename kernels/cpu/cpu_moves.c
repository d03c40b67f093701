/* More operators that only move elements: stack, unbind, repeat, roll, flip, pixel shuffles, rows by index. */
#include "kernels/cpu/copy_view.h"
#include "kernels/cpu/operand.h"
#include "ops/indexing.h"

#define KERNEL(id, prepare_function, run_function)                                                                     \
    const fid_kernel fid_cpu_##id = {.prepare = prepare_function, .run = run_function, .any_numbers = true};

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
    fidk_seen place;
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), out->rank, &dim));
    fidk_see(out, &place);
    fidk_drop_dimension(&place, dim);
    for (size_t i = 0; i < tensors->as.tensors.count; i++) {
        place.tensor.data = fidk_element_at(out, (int64_t)i * out->strides[dim]);
        fidk_copy_view(call, &place.tensor, tensors->as.tensors.items[i]->data, tensors->as.tensors.items[i]->strides);
    }
    return FID_OK;
}
KERNEL(stack, prepare_stack, run_stack)

static fid_status run_unbind(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    const fid_value *outs = call->args[call->output_index];
    fidk_seen part;
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), self->rank, &dim));
    fidk_see(self, &part);
    fidk_drop_dimension(&part, dim);
    for (size_t i = 0; i < outs->as.tensors.count; i++)
        fidk_copy_view(call, outs->as.tensors.items[i], fidk_element_at(self, (int64_t)i * self->strides[dim]), part.strides);
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
    fidk_seen to = {.tensor = *out};
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
static fid_status roll_pieces(const fid_call *call, const fid_tensor *self, const fidk_seen *to, const uint8_t *from, size_t i) {
    size_t count, shift_count, dim;
    const int64_t *shifts = fid_arg_ints(call, 1, &shift_count), *dims = fid_arg_ints(call, 2, &count);
    if (i == count) {
        fidk_copy_view(call, &to->tensor, from, self->strides);
        return FID_OK;
    }
    FID_TRY(fid_wrap_dim(call, dims[i], self->rank, &dim));
    int64_t size = to->sizes[dim], shift = size ? (shifts[i] % size + size) % size : 0;
    for (int half = 0; half < 2; half++) { /* the end of the input to the front of the output, the rest behind it */
        fidk_seen piece;
        fidk_see(&to->tensor, &piece);
        piece.sizes[dim] = half ? size - shift : shift;
        if (half) piece.tensor.data = fidk_element_at(&to->tensor, shift * to->strides[dim]);
        int64_t start = half ? 0 : (size - shift) * self->strides[dim];
        if (piece.sizes[dim] > 0)
            FID_TRY(roll_pieces(call, self, &piece, from + start * (int64_t)fid_dtype_size((fid_dtype)self->dtype), i + 1));
    }
    return FID_OK;
}

static fid_status run_roll(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    fidk_seen to;
    if (fid_tensor_numel(out) == 0) return FID_OK;
    fidk_see(out, &to);
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
    fidk_seen seen = {.tensor = *out, .order = {0, 1, 2, 3, 4, 5}};
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

/* ---- Look-ups: index.Tensor(self, indices) by neighbouring tensors of whole numbers, index_select, embedding ---- */

static bool is_plain(const fid_tensor *t) {
    for (size_t i = 0; i < t->rank; i++)
        if (t->dim_order[i] != i) return false;
    return true;
}

static bool is_index(const fid_tensor *t) { return is_plain(t) && (t->dtype == FID_INT64 || t->dtype == FID_INT32); }

static int64_t index_at(const fid_tensor *index, size_t i) {
    return index->dtype == FID_INT64 ? ((const int64_t *)index->data)[i] : ((const int32_t *)index->data)[i];
}

/* Neighbouring dimensions [dim, dim + count) of self (outer, covered..., row), looked up at `places` places. */
typedef struct lookup {
    const fid_tensor *self, *indices[FID_MAX_RANK];
    size_t dim, count;
    bool negative; /* -1 is the last */
    const int64_t *sizes; /* of the indices broadcast together */
    size_t rank, places;
} lookup;

/* Where place `place` of the broadcast sizes lies in an index tensor. */
static size_t offset_in(const lookup *l, const fid_tensor *index, size_t place) {
    int64_t at = 0;
    for (size_t d = l->rank; d-- > 0;) {
        size_t coordinate = place % (size_t)l->sizes[d], back = l->rank - d;
        place /= (size_t)l->sizes[d];
        if (back <= index->rank && index->sizes[index->rank - back] != 1) at += (int64_t)coordinate * index->strides[index->rank - back];
    }
    return (size_t)at;
}

static fid_status row_at(const fid_call *call, const lookup *l, size_t place, size_t *out_row) {
    *out_row = 0;
    for (size_t i = 0; i < l->count; i++) {
        const fid_tensor *index = l->indices[i];
        const int64_t size = l->self->sizes[l->dim + i];
        int64_t at = index_at(index, fid_tensor_numel(index) == l->places ? place : offset_in(l, index, place));
        if (at < (l->negative ? -size : 0) || at >= size)
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: index %lld is outside of dimension %zu of size %lld", call->name,
                            (long long)at, l->dim + i, (long long)size);
        *out_row = *out_row * (size_t)size + (size_t)(at < 0 ? at + size : at);
    }
    return FID_OK;
}

static fid_status look_up(const fid_call *call, const lookup *l) {
    const fid_tensor *self = l->self, *out = fid_out_tensor(call, 0);
    size_t outer = fidk_count(self, 0, l->dim), rows = fidk_count(self, l->dim, l->dim + l->count), row;
    size_t bytes = fidk_count(self, l->dim + l->count, self->rank) * fid_dtype_size((fid_dtype)self->dtype);
    for (size_t i = 0; i < l->places; i++) {
        FID_TRY(row_at(call, l, i, &row));
        for (size_t o = 0; o < outer && bytes; o++)
            memcpy((uint8_t *)out->data + (o * l->places + i) * bytes, (const uint8_t *)self->data + (o * rows + row) * bytes, bytes);
    }
    return FID_OK;
}

static fid_status lookup_of(const fid_call *call, fid_indexing *indexing, lookup *out) {
    FID_TRY(fid_indexing_of(call, 1, NULL, indexing));
    *out = (lookup){.self = fid_arg_tensor(call, 0), .dim = indexing->entries[0].dim, .count = indexing->count, .negative = true,
                    .sizes = indexing->sizes, .rank = indexing->rank, .places = 1};
    for (size_t i = 0; i < indexing->count; i++) out->indices[i] = indexing->entries[i].tensor;
    for (size_t d = 0; d < indexing->rank; d++) out->places *= (size_t)indexing->sizes[d];
    return FID_OK;
}

static fid_status prepare_index(fid_call *call) {
    fid_indexing indexing;
    lookup l;
    FID_TRY(lookup_of(call, &indexing, &l));
    bool takes = l.count > 0 && is_plain(l.self) && is_plain(fid_out_tensor(call, 0));
    for (size_t i = 0; i < l.count; i++)
        takes = takes && !indexing.entries[i].mask && is_index(l.indices[i]) && indexing.entries[i].dim == l.dim + i;
    return takes ? FID_OK : FID_NOT_SUPPORTED;
}

static fid_status run_index(fid_call *call) {
    fid_indexing indexing;
    lookup l;
    FID_TRY(lookup_of(call, &indexing, &l));
    return look_up(call, &l);
}
KERNEL(index_Tensor, prepare_index, run_index)

/* By one tensor, in its own order. */
static fid_status look_up_by(const fid_call *call, const fid_tensor *index, size_t dim) {
    lookup l = {.self = fid_arg_tensor(call, 0), .indices = {index}, .dim = dim, .count = 1, .places = fid_tensor_numel(index)};
    return look_up(call, &l);
}

static fid_status prepare_select(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    bool takes = self->rank > 0 && is_plain(self) && is_plain(fid_out_tensor(call, 0)) && is_index(fid_arg_tensor(call, 2));
    return takes ? FID_OK : FID_NOT_SUPPORTED;
}

static fid_status run_select(fid_call *call) {
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), fid_arg_tensor(call, 0)->rank, &dim));
    return look_up_by(call, fid_arg_tensor(call, 2), dim);
}
KERNEL(index_select, prepare_select, run_select)

static fid_status prepare_embedding(fid_call *call) {
    bool takes = is_plain(fid_arg_tensor(call, 0)) && is_plain(fid_out_tensor(call, 0)) && is_index(fid_arg_tensor(call, 1));
    return takes ? FID_OK : FID_NOT_SUPPORTED;
}
static fid_status run_embedding(fid_call *call) { return look_up_by(call, fid_arg_tensor(call, 1), 0); }
KERNEL(embedding, prepare_embedding, run_embedding)

/* ---- gather(self, dim, index): out[.., i, ..] = self[.., index[.., i, ..], ..] ---- */

static fid_status prepare_gather(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    bool takes = self->rank > 0 && self->rank == fid_arg_tensor(call, 2)->rank && is_plain(self) && is_plain(fid_out_tensor(call, 0)) &&
                 is_index(fid_arg_tensor(call, 2));
    return takes ? FID_OK : FID_NOT_SUPPORTED;
}

#define GATHER_RUN(type)                                                                                               \
    for (size_t i = 0; i < inner; i++) {                                                                               \
        int64_t from = index_at(index, at + i);                                                                        \
        if (from < 0 || from >= size) return outside(call, from, dim, size);                                           \
        ((type *)out->data)[at + i] = ((const type *)self->data)[base + from * self->strides[dim] + (int64_t)i];       \
    }                                                                                                                  \
    break

static fid_status outside(const fid_call *call, int64_t index, size_t dim, int64_t size) {
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: index %lld is outside of dimension %zu of size %lld", call->name,
                    (long long)index, dim, (long long)size);
}

/* `inner` neighbouring places; `base`: their first element of self at index 0. */
static fid_status gather_line(const fid_call *call, size_t dim, size_t at, int64_t base, size_t inner) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *index = fid_arg_tensor(call, 2), *out = fid_out_tensor(call, 0);
    const int64_t size = self->sizes[dim];
    switch (fid_dtype_size((fid_dtype)self->dtype)) {
    case 1: GATHER_RUN(uint8_t);
    case 2: GATHER_RUN(uint16_t);
    case 4: GATHER_RUN(uint32_t);
    case 8: GATHER_RUN(uint64_t);
    default: GATHER_RUN(fid_complex128);
    }
    return FID_OK;
}

static fid_status run_gather(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *index = fid_arg_tensor(call, 2);
    int64_t place[FID_MAX_RANK] = {0};
    size_t dim, last = self->rank - 1u, count = fid_tensor_numel(index);
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), self->rank, &dim));
    for (size_t at = 0; at < count;) {
        int64_t base = 0;
        size_t inner = (size_t)index->sizes[last];
        for (size_t d = 0; d <= last; d++)
            if (d != dim) base += place[d] * self->strides[d];
        /* Along the last dimension the base stands still: element i reads at its own index. */
        if (dim == last) {
            for (size_t i = 0; i < inner; i++) FID_TRY(gather_line(call, dim, at + i, base, 1));
        } else FID_TRY(gather_line(call, dim, at, base, inner));
        at += inner;
        for (size_t d = last; d-- > 0;) {
            if (++place[d] < index->sizes[d]) break;
            place[d] = 0;
        }
    }
    return FID_OK;
}
KERNEL(gather, prepare_gather, run_gather)
