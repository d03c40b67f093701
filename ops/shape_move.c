/* Shapes of operators that rearrange, repeat, pad and join tensors (cat, repeat, flip, constant_pad_nd, pixel_shuffle, ...). */
#include "ops/padding.h"
#include "ops/parts.h"
#include "ops/shape.h"

#define TEXT_SIZE 160

static const fid_tensor *self_of(const fid_call *call) { return fid_arg_tensor(call, 0); }

static fid_status too_large(const fid_call *call) {
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the result has more elements than can be counted", call->name);
}

static fid_status check_rank(const fid_call *call, size_t rank) {
    if (rank <= FID_MAX_RANK) return FID_OK;
    return fid_fail(call->sink, FID_NOT_SUPPORTED, "%s: the result has %zu dimensions, at most %d are possible", call->name, rank,
                    FID_MAX_RANK);
}

static fid_meta like_self(const fid_call *call) { return fid_meta_of(self_of(call)); }

/* ---- Joining ---- */

/* PyTorch lets cat take any number of tensors of shape [0] beside tensors of other ranks, and leaves them out. */
bool fid_cat_skips(const fid_tensor *tensor) { return tensor->rank == 1 && tensor->sizes[0] == 0; }

static fid_status promote_list(const fid_call *call, fid_dtype *out_dtype) {
    const fid_value *list = call->args[0];
    if (list->as.tensors.count == 0) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s takes at least one tensor", call->name);
    }
    fid_dtype dtype = (fid_dtype)list->as.tensors.items[0]->dtype;
    for (size_t i = 1; i < list->as.tensors.count && dtype != FID_DTYPE_NONE; i++) {
        dtype = fid_dtype_promote(dtype, (fid_dtype)list->as.tensors.items[i]->dtype);
    }
    if (dtype == FID_DTYPE_NONE) {
        return fid_fail(call->sink, FID_INVALID_TYPE, "%s: the tensors' dtypes have no common one", call->name);
    }
    *out_dtype = dtype;
    return FID_OK;
}

static fid_status cat_mismatch(const fid_call *call, const fid_meta *first, const fid_tensor *other, size_t i) {
    char a[TEXT_SIZE], b[TEXT_SIZE];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: tensor %zu has shape %s, which does not fit the shape %s before it",
                    call->name, i, fid_shape_text(other->sizes, other->rank, a, sizeof a),
                    fid_shape_text(first->sizes, first->rank, b, sizeof b));
}

static bool equal_but(const fid_meta *meta, const fid_tensor *tensor, size_t dim) {
    if (meta->rank != tensor->rank) return false;
    for (size_t i = 0; i < meta->rank; i++) {
        if (i != dim && meta->sizes[i] != tensor->sizes[i]) return false;
    }
    return true;
}

/* The result keeps a dim order that all tensors share. */
static void agree_on_order(fid_meta *meta, const fid_tensor *tensor) {
    if (memcmp(meta->dim_order, tensor->dim_order, meta->rank) == 0) return;
    for (uint8_t i = 0; i < meta->rank; i++) meta->dim_order[i] = i;
}

fid_status fid_shape_cat(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_value *list = call->args[0];
    fid_dtype dtype;
    FID_TRY(promote_list(call, &dtype));
    size_t first = 0, dim;
    while (first + 1 < list->as.tensors.count && fid_cat_skips(list->as.tensors.items[first])) first++;
    fid_meta meta = fid_meta_of(list->as.tensors.items[first]);
    if (meta.rank == 0) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: tensors without dimensions cannot be joined, stack them", call->name);
    }
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), meta.rank, &dim));
    for (size_t i = first + 1; i < list->as.tensors.count; i++) {
        const fid_tensor *tensor = list->as.tensors.items[i];
        if (fid_cat_skips(tensor)) continue;
        if (!equal_but(&meta, tensor, dim)) return cat_mismatch(call, &meta, tensor, i);
        agree_on_order(&meta, tensor);
        if (__builtin_add_overflow(meta.sizes[dim], tensor->sizes[dim], &meta.sizes[dim])) return too_large(call);
    }
    meta.dtype = (uint8_t)dtype;
    outs[0] = meta;
    return FID_OK;
}

fid_status fid_shape_stack(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_value *list = call->args[0];
    fid_dtype dtype;
    FID_TRY(promote_list(call, &dtype));
    fid_meta meta = fid_meta_of(list->as.tensors.items[0]);
    for (size_t i = 1; i < list->as.tensors.count; i++) {
        const fid_tensor *tensor = list->as.tensors.items[i];
        if (!equal_but(&meta, tensor, FID_MAX_RANK)) return cat_mismatch(call, &meta, tensor, i);
    }
    size_t rank = (size_t)meta.rank + 1, dim;
    FID_TRY(check_rank(call, rank));
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), rank, &dim));
    int64_t sizes[FID_MAX_RANK], count = (int64_t)list->as.tensors.count;
    for (size_t i = 0; i < rank; i++) sizes[i] = i < dim ? meta.sizes[i] : i == dim ? count : meta.sizes[i - 1];
    fid_meta_set(outs, dtype, sizes, rank);
    return FID_OK;
}

/* ---- Repeating ---- */

fid_status fid_shape_repeat(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *self = self_of(call);
    size_t rank, product = 1;
    const int64_t *repeats = fid_arg_ints(call, 1, &rank);
    FID_TRY(check_rank(call, rank));
    int64_t sizes[FID_MAX_RANK];
    bool fits = rank >= self->rank;
    for (size_t i = 0; i < rank && fits; i++) {
        int64_t have = i + self->rank < rank ? 1 : self->sizes[i + self->rank - rank];
        fits = repeats[i] >= 0 && !__builtin_mul_overflow(have, repeats[i], &sizes[i]);
    }
    if (!fits || !fid_mul_sizes(sizes, rank, &product)) {
        char text[TEXT_SIZE];
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %s is no list of repetitions for a tensor of %d dimensions", call->name,
                        fid_shape_text(repeats, rank, text, sizeof text), self->rank);
    }
    fid_meta_set(outs, (fid_dtype)self->dtype, sizes, rank);
    return FID_OK;
}

/* self, repeats, dim?: the tensor is flattened if no dimension is given. */
fid_status fid_shape_repeat_interleave_int(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *self = self_of(call);
    int64_t repeats = fid_arg_int(call, 1), flat = (int64_t)fid_tensor_numel(self);
    size_t dim = 0;
    if (fid_arg_is_none(call, 2) || self->rank == 0) fid_meta_set(outs, (fid_dtype)self->dtype, &flat, 1);
    else {
        FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), self->rank, &dim));
        fid_meta_set(outs, (fid_dtype)self->dtype, self->sizes, self->rank);
    }
    if (repeats >= 0 && !__builtin_mul_overflow(outs->sizes[dim], repeats, &outs->sizes[dim])) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: elements cannot be repeated %lld times", call->name, (long long)repeats);
}

/* ---- Same shape ---- */

/* Operators of one tensor whose result has its shape, dtype and dim order. */
fid_status fid_shape_like_self(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    outs[0] = like_self(call);
    return FID_OK;
}

fid_status fid_shape_flip(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    size_t count, dim;
    const int64_t *dims = fid_arg_ints(call, 1, &count);
    uint32_t seen = 0;
    for (size_t i = 0; i < count; i++) {
        FID_TRY(fid_wrap_dim(call, dims[i], self_of(call)->rank, &dim));
        if (seen >> dim & 1) {
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: dimension %zu is named twice", call->name, dim);
        }
        seen |= 1u << dim;
    }
    outs[0] = like_self(call);
    return FID_OK;
}

fid_status fid_shape_roll(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    size_t shift_count, count, dim;
    fid_arg_ints(call, 1, &shift_count);
    const int64_t *dims = fid_arg_ints(call, 2, &count);
    if (count ? count != shift_count : shift_count != 1) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %zu shifts for %zu dimensions (without dimensions: one shift)",
                        call->name, shift_count, count);
    }
    for (size_t i = 0; i < count; i++) FID_TRY(fid_wrap_dim(call, dims[i], self_of(call)->rank, &dim));
    outs[0] = like_self(call);
    return FID_OK;
}

fid_status fid_shape_tril(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    if (self_of(call)->rank < 2) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s takes a tensor of at least 2 dimensions, not %d", call->name,
                        self_of(call)->rank);
    }
    outs[0] = like_self(call);
    return FID_OK;
}

/* ---- Scattering views ---- */

static fid_status need_source(const fid_call *call, const int64_t *sizes, size_t rank) {
    const fid_tensor *src = fid_arg_tensor(call, 1);
    if (src->rank == rank && memcmp(src->sizes, sizes, rank * sizeof *sizes) == 0) return FID_OK;
    char want[TEXT_SIZE], have[TEXT_SIZE];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the source has shape %s, the place for it %s", call->name,
                    fid_shape_text(src->sizes, src->rank, have, sizeof have), fid_shape_text(sizes, rank, want, sizeof want));
}

fid_status fid_shape_slice_scatter(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_slice slice;
    FID_TRY(fid_slice_bounds(call, 2, &slice));
    outs[0] = like_self(call);
    int64_t sizes[FID_MAX_RANK];
    memcpy(sizes, outs->sizes, sizeof sizes);
    sizes[slice.dim] = slice.count;
    return need_source(call, sizes, outs->rank);
}

fid_status fid_shape_select_scatter(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    size_t dim;
    int64_t index, sizes[FID_MAX_RANK];
    FID_TRY(fid_select_index(call, 2, &dim, &index));
    outs[0] = like_self(call);
    for (size_t i = 0; i + 1 < outs->rank; i++) sizes[i] = outs->sizes[i < dim ? i : i + 1];
    return need_source(call, sizes, (size_t)outs->rank - 1);
}

fid_status fid_shape_diagonal_scatter(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_diagonal diagonal;
    FID_TRY(fid_diagonal_of(call, 2, &diagonal));
    outs[0] = like_self(call);
    int64_t sizes[FID_MAX_RANK];
    size_t rank = 0;
    for (size_t i = 0; i < outs->rank; i++) {
        if (i != diagonal.row_dim && i != diagonal.column_dim) sizes[rank++] = outs->sizes[i];
    }
    sizes[rank++] = diagonal.count;
    return need_source(call, sizes, rank);
}

fid_status fid_shape_as_strided_scatter(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    FID_TRY(fid_as_strided_check(call, 2));
    size_t rank;
    const int64_t *sizes = fid_arg_ints(call, 2, &rank);
    outs[0] = like_self(call);
    return need_source(call, sizes, rank);
}

/* ---- Padding ---- */

/* Padding lists run from the last dimension backwards: left, right, top, bottom, ... */
fid_status fid_padding_of(const fid_call *call, fid_padding *out) {
    const fid_tensor *self = self_of(call);
    size_t count;
    const int64_t *pads = fid_arg_ints(call, 1, &count);
    if (count % 2 != 0 || count / 2 > self->rank) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %zu numbers are no padding for a tensor of %d dimensions", call->name,
                        count, self->rank);
    }
    *out = (fid_padding){.dims = count / 2};
    for (size_t i = 0; i < count / 2; i++) {
        size_t dim = self->rank - 1 - i;
        out->before[dim] = pads[2 * i];
        out->after[dim] = pads[2 * i + 1];
        if (pads[2 * i] < -INT32_MAX || pads[2 * i] > INT32_MAX || pads[2 * i + 1] < -INT32_MAX || pads[2 * i + 1] > INT32_MAX) {
            return too_large(call);
        }
    }
    return FID_OK;
}

static fid_status pad_sizes(const fid_call *call, const fid_padding *padding, fid_meta *meta) {
    *meta = like_self(call);
    for (size_t i = 0; i < meta->rank; i++) {
        int64_t size = meta->sizes[i];
        if (__builtin_add_overflow(size, padding->before[i] + padding->after[i], &meta->sizes[i])) return too_large(call);
        if (meta->sizes[i] < 0) {
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: padding %lld and %lld leave nothing of dimension %zu of size %lld",
                            call->name, (long long)padding->before[i], (long long)padding->after[i], i, (long long)size);
        }
    }
    return FID_OK;
}

fid_status fid_shape_constant_pad_nd(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_padding padding;
    FID_TRY(fid_padding_of(call, &padding));
    return pad_sizes(call, &padding, outs);
}

/* reflection: a pad may not reach as far as the dimension's size, for it mirrors without the edge. replication: any, but there
 * must be an edge to repeat. */
static fid_status shape_edge_pad(const fid_call *call, size_t dims, bool reflect, fid_meta *out) {
    const fid_tensor *self = self_of(call);
    fid_padding padding;
    FID_TRY(fid_padding_of(call, &padding));
    if (padding.dims != dims || self->rank < dims + 1 || self->rank > dims + 2) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s takes a tensor of %zu or %zu dimensions and %zu pads, not %d and %zu",
                        call->name, dims + 1, dims + 2, 2 * dims, self->rank, 2 * padding.dims);
    }
    for (size_t i = self->rank - dims; i < self->rank; i++) {
        int64_t size = self->sizes[i], before = padding.before[i], after = padding.after[i];
        if (size > 0 && (!reflect || (before < size && after < size))) continue;
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: dimension %zu of size %lld is too small for pads of %lld and %lld",
                        call->name, i, (long long)size, (long long)before, (long long)after);
    }
    return pad_sizes(call, &padding, out);
}

fid_status fid_shape_reflection_pad1d(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return shape_edge_pad(call, 1, true, outs);
}

fid_status fid_shape_reflection_pad2d(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return shape_edge_pad(call, 2, true, outs);
}

fid_status fid_shape_reflection_pad3d(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return shape_edge_pad(call, 3, true, outs);
}

fid_status fid_shape_replication_pad1d(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return shape_edge_pad(call, 1, false, outs);
}

fid_status fid_shape_replication_pad2d(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return shape_edge_pad(call, 2, false, outs);
}

fid_status fid_shape_replication_pad3d(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return shape_edge_pad(call, 3, false, outs);
}
