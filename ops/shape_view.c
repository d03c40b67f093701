/* Shapes of views: operators whose output holds the input's elements at other positions (view_copy, slice_copy, ...).
 * Outputs are row-major, as PyTorch's *_copy operators make them. */
#include "ops/parts.h"
#include "ops/shape.h"

#define TEXT_SIZE 160

static const fid_tensor *self_of(const fid_call *call) { return fid_arg_tensor(call, 0); }

/* An optional int argument, or `otherwise`. */
static int64_t int_or(const fid_call *call, uint32_t i, int64_t otherwise) {
    return fid_arg_is_none(call, i) ? otherwise : fid_arg_int(call, i);
}

static fid_status check_rank(const fid_call *call, size_t rank) {
    if (rank <= FID_MAX_RANK) return FID_OK;
    return fid_fail(call->sink, FID_NOT_SUPPORTED, "%s: the result has %zu dimensions, at most %d are possible", call->name, rank,
                    FID_MAX_RANK);
}

static fid_status need_outputs(const fid_call *call, size_t needed, size_t given) {
    if (needed == given) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the arguments give %zu tensors, the output list has %zu", call->name,
                    needed, given);
}

/* ---- Same elements in the same order ---- */

/* Replaces the one -1 of `meta->sizes` so that the sizes hold `count` elements; checks that they do. */
static fid_status infer_size(const fid_call *call, const fid_tensor *self, fid_meta *meta) {
    size_t count = fid_tensor_numel(self), known = 1, unknown = FID_MAX_RANK;
    bool fits = true;
    for (size_t i = 0; i < meta->rank && fits; i++) {
        if (meta->sizes[i] == -1 && unknown == FID_MAX_RANK) unknown = i;
        else fits = meta->sizes[i] >= 0 && fid_mul_size(known, (size_t)meta->sizes[i], &known);
    }
    if (fits && unknown < FID_MAX_RANK) {
        fits = known != 0 && count % known == 0;
        if (fits) meta->sizes[unknown] = (int64_t)(count / known);
    } else if (fits) {
        fits = known == count;
    }
    if (fits) return FID_OK;
    char from[TEXT_SIZE], to[TEXT_SIZE];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a tensor of shape %s cannot be viewed as %s", call->name,
                    fid_shape_text(self->sizes, self->rank, from, sizeof from),
                    fid_shape_text(meta->sizes, meta->rank, to, sizeof to));
}

fid_status fid_shape_view_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    size_t rank;
    const int64_t *sizes = fid_arg_ints(call, 1, &rank);
    FID_TRY(check_rank(call, rank));
    fid_meta_set(outs, (fid_dtype)self_of(call)->dtype, sizes, rank);
    return infer_size(call, self_of(call), outs);
}

fid_status fid_shape_unsqueeze_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *self = self_of(call);
    size_t rank = (size_t)self->rank + 1, dim;
    FID_TRY(check_rank(call, rank));
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), rank, &dim));
    int64_t sizes[FID_MAX_RANK];
    for (size_t i = 0; i < rank; i++) sizes[i] = i < dim ? self->sizes[i] : i == dim ? 1 : self->sizes[i - 1];
    fid_meta_set(outs, (fid_dtype)self->dtype, sizes, rank);
    return FID_OK;
}

/* Drops the dimensions of size one that `candidates` (a bit a dimension) names. */
static void squeeze(const fid_tensor *self, uint32_t candidates, fid_meta *out) {
    int64_t sizes[FID_MAX_RANK];
    size_t rank = 0;
    for (size_t i = 0; i < self->rank; i++) {
        if (self->sizes[i] != 1 || !(candidates >> i & 1)) sizes[rank++] = self->sizes[i];
    }
    fid_meta_set(out, (fid_dtype)self->dtype, sizes, rank);
}

fid_status fid_shape_squeeze_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    squeeze(self_of(call), UINT32_MAX, outs);
    return FID_OK;
}

/* Of both squeeze_copy.dim and squeeze_copy.dims. */
fid_status fid_shape_squeeze_copy_dims(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    size_t count, dim;
    const int64_t *dims = fid_arg_ints(call, 1, &count);
    uint32_t candidates = 0;
    for (size_t i = 0; i < count; i++) {
        FID_TRY(fid_wrap_dim(call, dims[i], self_of(call)->rank, &dim));
        candidates |= 1u << dim;
    }
    squeeze(self_of(call), candidates, outs);
    return FID_OK;
}

fid_status fid_shape_same_elements(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    outs[0] = fid_meta_of(self_of(call));
    return FID_OK;
}

fid_status fid_shape_view_as_real_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *self = self_of(call);
    if (!fid_dtype_is_complex((fid_dtype)self->dtype)) {
        return fid_fail(call->sink, FID_INVALID_TYPE, "%s takes a complex tensor, not %s", call->name,
                        fid_dtype_name((fid_dtype)self->dtype));
    }
    FID_TRY(check_rank(call, (size_t)self->rank + 1));
    int64_t sizes[FID_MAX_RANK];
    memcpy(sizes, self->sizes, self->rank * sizeof sizes[0]);
    sizes[self->rank] = 2;
    fid_meta_set(outs, self->dtype == FID_COMPLEX64 ? FID_FLOAT32 : FID_FLOAT64, sizes, (size_t)self->rank + 1);
    return FID_OK;
}

/* real and imag: of a tensor that is not complex, real is the tensor and imag an error. */
fid_status fid_shape_real(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *self = self_of(call);
    fid_dtype dtype = (fid_dtype)self->dtype;
    if (dtype == FID_COMPLEX64) dtype = FID_FLOAT32;
    else if (dtype == FID_COMPLEX128) dtype = FID_FLOAT64;
    fid_meta_set(outs, dtype, self->sizes, self->rank);
    return FID_OK;
}

fid_status fid_shape_imag(const fid_call *call, fid_meta *outs, size_t out_count) {
    if (fid_dtype_is_complex((fid_dtype)self_of(call)->dtype)) return fid_shape_real(call, outs, out_count);
    return fid_fail(call->sink, FID_INVALID_TYPE, "%s takes a complex tensor, not %s", call->name,
                    fid_dtype_name((fid_dtype)self_of(call)->dtype));
}

/* The same bytes as elements of another size: the last dimension grows or shrinks. */
fid_status fid_shape_view_dtype(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *self = self_of(call);
    fid_dtype dtype = (fid_dtype)fid_arg_int(call, 1);
    int64_t from = (int64_t)fid_dtype_size((fid_dtype)self->dtype), to = (int64_t)fid_dtype_size(dtype), bytes;
    fid_meta_set(outs, dtype, self->sizes, self->rank);
    if (from == to) return FID_OK;
    int64_t *last = &outs->sizes[self->rank ? self->rank - 1 : 0];
    if (to == 0 || self->rank == 0 || __builtin_mul_overflow(*last, from, &bytes) || bytes % to != 0) {
        char text[TEXT_SIZE];
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the last dimension of %s %s cannot be read as %s", call->name,
                        fid_dtype_name((fid_dtype)self->dtype), fid_shape_text(self->sizes, self->rank, text, sizeof text),
                        fid_dtype_name(dtype));
    }
    *last = bytes / to;
    return FID_OK;
}

fid_status fid_shape_view_as_complex_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *self = self_of(call);
    if (self->dtype != FID_FLOAT32 && self->dtype != FID_FLOAT64) {
        return fid_fail(call->sink, FID_INVALID_TYPE, "%s takes float32 or float64, not %s", call->name,
                        fid_dtype_name((fid_dtype)self->dtype));
    }
    if (self->rank == 0 || self->sizes[self->rank - 1] != 2) {
        char text[TEXT_SIZE];
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the last dimension must have size 2 (real, imaginary), the shape is %s",
                        call->name, fid_shape_text(self->sizes, self->rank, text, sizeof text));
    }
    fid_meta_set(outs, self->dtype == FID_FLOAT32 ? FID_COMPLEX64 : FID_COMPLEX128, self->sizes, (size_t)self->rank - 1);
    return FID_OK;
}

/* ---- Dimensions in another order ---- */

fid_status fid_shape_permute_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *self = self_of(call);
    size_t count, dim;
    const int64_t *dims = fid_arg_ints(call, 1, &count);
    int64_t sizes[FID_MAX_RANK];
    uint32_t seen = 0;
    for (size_t i = 0; i < count && count == self->rank; i++) {
        FID_TRY(fid_wrap_dim(call, dims[i], self->rank, &dim));
        seen |= 1u << dim;
        sizes[i] = self->sizes[dim];
    }
    if (count != self->rank || seen != (1u << count) - 1) {
        char text[TEXT_SIZE];
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %s does not name each of the %d dimensions once", call->name,
                        fid_shape_text(dims, count, text, sizeof text), self->rank);
    }
    fid_meta_set(outs, (fid_dtype)self->dtype, sizes, count);
    return FID_OK;
}

static void swap_dims(const fid_tensor *self, size_t a, size_t b, fid_meta *out) {
    fid_meta_set(out, (fid_dtype)self->dtype, self->sizes, self->rank);
    if (self->rank == 0) return;
    out->sizes[a] = self->sizes[b];
    out->sizes[b] = self->sizes[a];
}

fid_status fid_shape_transpose_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    size_t a, b;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), self_of(call)->rank, &a));
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), self_of(call)->rank, &b));
    swap_dims(self_of(call), a, b, outs);
    return FID_OK;
}

fid_status fid_shape_t_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *self = self_of(call);
    if (self->rank > 2) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s takes a tensor of at most 2 dimensions, not %d", call->name, self->rank);
    }
    swap_dims(self, 0, self->rank == 2, outs);
    return FID_OK;
}

/* ---- Parts ---- */

fid_status fid_shape_expand_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *self = self_of(call);
    size_t rank;
    const int64_t *wanted = fid_arg_ints(call, 1, &rank);
    FID_TRY(check_rank(call, rank));
    int64_t sizes[FID_MAX_RANK];
    bool fits = rank >= self->rank;
    for (size_t i = 0; i < rank && fits; i++) {
        size_t added = rank - self->rank;
        int64_t have = i < added ? 1 : self->sizes[i - added];
        sizes[i] = wanted[i] == -1 && i >= added ? have : wanted[i];
        fits = sizes[i] >= 0 && (have == 1 || have == sizes[i]);
    }
    if (!fits) {
        char from[TEXT_SIZE], to[TEXT_SIZE];
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a tensor of shape %s cannot be expanded to %s", call->name,
                        fid_shape_text(self->sizes, self->rank, from, sizeof from), fid_shape_text(wanted, rank, to, sizeof to));
    }
    fid_meta_set(outs, (fid_dtype)self->dtype, sizes, rank);
    return FID_OK;
}

/* A dimension to take part of: needs at least one. */
static fid_status part_dim(const fid_call *call, int64_t dim, size_t *out_dim) {
    if (self_of(call)->rank == 0) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a tensor without dimensions has no parts", call->name);
    }
    return fid_wrap_dim(call, dim, self_of(call)->rank, out_dim);
}

static int64_t clamp_to_size(int64_t at, int64_t size) {
    if (at < 0) at = at < -size ? 0 : at + size;
    return at > size ? size : at;
}

fid_status fid_slice_bounds(const fid_call *call, uint32_t first_arg, fid_slice *out_slice) {
    const fid_tensor *self = self_of(call);
    FID_TRY(part_dim(call, fid_arg_int(call, first_arg), &out_slice->dim));
    int64_t size = self->sizes[out_slice->dim];
    out_slice->start = clamp_to_size(int_or(call, first_arg + 1, 0), size);
    int64_t end = clamp_to_size(int_or(call, first_arg + 2, INT64_MAX), size);
    out_slice->step = fid_arg_int(call, first_arg + 3);
    if (out_slice->step < 1) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the step is %lld, it must be at least 1", call->name,
                        (long long)out_slice->step);
    }
    int64_t span = end > out_slice->start ? end - out_slice->start : 0;
    out_slice->count = span / out_slice->step + (span % out_slice->step != 0);
    return FID_OK;
}

static void set_without(const fid_tensor *self, size_t dim, fid_meta *out) {
    int64_t sizes[FID_MAX_RANK];
    for (size_t i = 0; i + 1 < self->rank; i++) sizes[i] = self->sizes[i < dim ? i : i + 1];
    fid_meta_set(out, (fid_dtype)self->dtype, sizes, (size_t)self->rank - 1);
}

static void set_with_size(const fid_tensor *self, size_t dim, int64_t size, fid_meta *out) {
    fid_meta_set(out, (fid_dtype)self->dtype, self->sizes, self->rank);
    out->sizes[dim] = size;
}

fid_status fid_shape_slice_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_slice slice;
    FID_TRY(fid_slice_bounds(call, 1, &slice));
    set_with_size(self_of(call), slice.dim, slice.count, outs);
    return FID_OK;
}

fid_status fid_select_index(const fid_call *call, uint32_t first_arg, size_t *out_dim, int64_t *out_index) {
    FID_TRY(part_dim(call, fid_arg_int(call, first_arg), out_dim));
    int64_t size = self_of(call)->sizes[*out_dim], index = fid_arg_int(call, first_arg + 1);
    if (index < -size || index >= size) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: index %lld is outside [%lld, %lld] of dimension %zu", call->name,
                        (long long)index, (long long)-size, (long long)size - 1, *out_dim);
    }
    *out_index = index < 0 ? index + size : index;
    return FID_OK;
}

fid_status fid_shape_select_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    size_t dim;
    int64_t index;
    FID_TRY(fid_select_index(call, 1, &dim, &index));
    set_without(self_of(call), dim, outs);
    return FID_OK;
}

fid_status fid_narrow_bounds(const fid_call *call, fid_slice *out_slice) {
    FID_TRY(part_dim(call, fid_arg_int(call, 1), &out_slice->dim));
    int64_t size = self_of(call)->sizes[out_slice->dim], start = fid_arg_int(call, 2), length = fid_arg_int(call, 3);
    if (start < 0 && start >= -size) start += size;
    if (start < 0 || start > size || length < 0 || length > size - start) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %lld elements from %lld on do not fit dimension %zu of size %lld",
                        call->name, (long long)length, (long long)fid_arg_int(call, 2), out_slice->dim, (long long)size);
    }
    out_slice->start = start;
    out_slice->count = length;
    out_slice->step = 1;
    return FID_OK;
}

fid_status fid_shape_narrow_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_slice slice;
    FID_TRY(fid_narrow_bounds(call, &slice));
    set_with_size(self_of(call), slice.dim, slice.count, outs);
    return FID_OK;
}

/* Equal parts, the last one maybe smaller. */
fid_status fid_shape_split_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    size_t dim;
    FID_TRY(part_dim(call, fid_arg_int(call, 2), &dim));
    int64_t size = self_of(call)->sizes[dim], part = fid_arg_int(call, 1);
    if (part < 0 || (part == 0 && size != 0)) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: dimension %zu of size %lld cannot be split into parts of %lld",
                        call->name, dim, (long long)size, (long long)part);
    }
    size_t count = part == 0 || size == 0 ? 1 : (size_t)((size - 1) / part + 1);
    FID_TRY(need_outputs(call, count, out_count));
    for (size_t i = 0; i < count; i++) {
        int64_t left = size - (int64_t)i * part;
        set_with_size(self_of(call), dim, left < part ? left : part, &outs[i]);
    }
    return FID_OK;
}

fid_status fid_shape_split_with_sizes_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    size_t dim, count;
    FID_TRY(part_dim(call, fid_arg_int(call, 2), &dim));
    const int64_t *parts = fid_arg_ints(call, 1, &count);
    FID_TRY(need_outputs(call, count, out_count));
    int64_t left = self_of(call)->sizes[dim];
    bool fits = true;
    for (size_t i = 0; i < count && fits; i++) {
        fits = parts[i] >= 0 && parts[i] <= left;
        if (!fits) break;
        left -= parts[i];
        set_with_size(self_of(call), dim, parts[i], &outs[i]);
    }
    if (fits && left == 0) return FID_OK;
    char text[TEXT_SIZE];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the parts %s do not add up to the size %lld of dimension %zu", call->name,
                    fid_shape_text(parts, count, text, sizeof text), (long long)self_of(call)->sizes[dim], dim);
}

fid_status fid_shape_unbind_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    size_t dim;
    FID_TRY(part_dim(call, fid_arg_int(call, 1), &dim));
    FID_TRY(need_outputs(call, (size_t)self_of(call)->sizes[dim], out_count));
    for (size_t i = 0; i < out_count; i++) set_without(self_of(call), dim, &outs[i]);
    return FID_OK;
}

/* ---- Windows and diagonals ---- */

fid_status fid_diagonal_of(const fid_call *call, uint32_t first_arg, fid_diagonal *out) {
    const fid_tensor *self = self_of(call);
    int64_t offset = fid_arg_int(call, first_arg);
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, first_arg + 1), self->rank, &out->row_dim));
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, first_arg + 2), self->rank, &out->column_dim));
    if (self->rank < 2 || out->row_dim == out->column_dim) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a diagonal needs two different dimensions, not %zu and %zu of %d",
                        call->name, out->row_dim, out->column_dim, self->rank);
    }
    int64_t rows = self->sizes[out->row_dim], columns = self->sizes[out->column_dim];
    out->row = offset < 0 ? (offset < -rows ? rows : -offset) : 0;
    out->column = offset > 0 ? (offset > columns ? columns : offset) : 0;
    int64_t below = rows - out->row, right = columns - out->column;
    out->count = below < right ? below : right;
    return FID_OK;
}

fid_status fid_shape_diagonal_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *self = self_of(call);
    fid_diagonal diagonal;
    FID_TRY(fid_diagonal_of(call, 1, &diagonal));
    int64_t sizes[FID_MAX_RANK];
    size_t rank = 0;
    for (size_t i = 0; i < self->rank; i++) {
        if (i != diagonal.row_dim && i != diagonal.column_dim) sizes[rank++] = self->sizes[i];
    }
    sizes[rank++] = diagonal.count;
    fid_meta_set(outs, (fid_dtype)self->dtype, sizes, rank);
    return FID_OK;
}

/* Checks that every element of the strided window lies in the input's memory. */
fid_status fid_as_strided_check(const fid_call *call, uint32_t first_arg) {
    size_t rank, stride_count, top = (size_t)int_or(call, first_arg + 2, 0), step, count = fid_tensor_numel(self_of(call));
    const int64_t *sizes = fid_arg_ints(call, first_arg, &rank), *strides = fid_arg_ints(call, first_arg + 1, &stride_count);
    FID_TRY(check_rank(call, rank));
    if (rank != stride_count) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %zu sizes but %zu strides", call->name, rank, stride_count);
    }
    bool fits = int_or(call, first_arg + 2, 0) >= 0, empty = false;
    for (size_t i = 0; i < rank && fits; i++) {
        fits = sizes[i] >= 0 && strides[i] >= 0;
        if (fits && sizes[i] == 0) empty = true;
        else if (fits) fits = fid_mul_size((size_t)(sizes[i] - 1), (size_t)strides[i], &step) && fid_add_size(top, step, &top);
    }
    if (fits && (empty || top < count)) return FID_OK;
    char size_text[TEXT_SIZE], stride_text[TEXT_SIZE];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT,
                    "%s: sizes %s with strides %s from element %lld on reach outside the %zu elements of the input", call->name,
                    fid_shape_text(sizes, rank, size_text, sizeof size_text),
                    fid_shape_text(strides, rank, stride_text, sizeof stride_text), (long long)int_or(call, first_arg + 2, 0), count);
}

fid_status fid_shape_as_strided_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    FID_TRY(fid_as_strided_check(call, 1));
    size_t rank;
    const int64_t *sizes = fid_arg_ints(call, 1, &rank);
    fid_meta_set(outs, (fid_dtype)self_of(call)->dtype, sizes, rank);
    return FID_OK;
}

fid_status fid_shape_unfold_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *self = self_of(call);
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), self->rank, &dim));
    FID_TRY(check_rank(call, (size_t)self->rank + 1));
    int64_t size = fid_arg_int(call, 2), step = fid_arg_int(call, 3), length = self->rank ? self->sizes[dim] : 1;
    if (size < 0 || size > length || step < 1) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: windows of %lld with step %lld do not fit dimension %zu of size %lld",
                        call->name, (long long)size, (long long)step, dim, (long long)length);
    }
    int64_t sizes[FID_MAX_RANK];
    memcpy(sizes, self->sizes, self->rank * sizeof sizes[0]);
    if (self->rank) sizes[dim] = (length - size) / step + 1;
    sizes[self->rank] = size;
    fid_meta_set(outs, (fid_dtype)self->dtype, sizes, (size_t)self->rank + 1);
    return FID_OK;
}
