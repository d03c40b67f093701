/* Shapes of operators that combine elements or whole tensors: combinations, cartesian_prod, block_diag, diagflat, diag_embed, unique_dim, and
 * indexing under a mask. */
#include "ops/indexing.h"
#include "ops/shape.h"

static const fid_tensor *self_of(const fid_call *call) { return fid_arg_tensor(call, 0); }

static fid_status too_large(const fid_call *call) {
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the result has more elements than can be counted", call->name);
}

static fid_status need_vector(const fid_call *call, const fid_tensor *tensor) {
    if (tensor->rank == 1) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s takes tensors of one dimension, not %d", call->name, tensor->rank);
}

/* How many choices of r among n: each step's product is divisible. False on overflow. */
static bool count_choices(int64_t n, int64_t r, int64_t *out_count) {
    int64_t count = 1;
    for (int64_t i = 1; i <= r; i++) {
        if (__builtin_mul_overflow(count, n - r + i, &count)) return false;
        count /= i;
    }
    *out_count = n < r ? 0 : count;
    return true;
}

/* self, r, with_replacement */
fid_status fid_shape_combinations(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    FID_TRY(need_vector(call, self_of(call)));
    int64_t n = self_of(call)->sizes[0], r = fid_arg_int(call, 1), count;
    if (r < 0 || r > INT32_MAX) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: r is %lld, it must be at least 0", call->name, (long long)r);
    }
    int64_t from = fid_arg_bool(call, 2) && n > 0 ? n + r - 1 : n;
    if (from < r) count = 0;
    else if (!count_choices(from, r, &count)) return too_large(call);
    if (r == 0) count = 0;
    fid_meta_set(outs, (fid_dtype)self_of(call)->dtype, (int64_t[2]){count, r}, r == 0 ? 1 : 2);
    return FID_OK;
}

/* Dtype that the tensors of argument 0 have in common. */
static fid_status common_dtype(const fid_call *call, fid_dtype *out_dtype) {
    const fid_value *list = call->args[0];
    if (list->as.tensors.count == 0) return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s takes at least one tensor", call->name);
    fid_dtype dtype = (fid_dtype)list->as.tensors.items[0]->dtype;
    for (size_t i = 1; i < list->as.tensors.count && dtype != FID_DTYPE_NONE; i++) {
        dtype = fid_dtype_promote(dtype, (fid_dtype)list->as.tensors.items[i]->dtype);
    }
    *out_dtype = dtype;
    return dtype != FID_DTYPE_NONE ? FID_OK
                                   : fid_fail(call->sink, FID_INVALID_TYPE, "%s: the tensors' dtypes have no common one", call->name);
}

fid_status fid_shape_cartesian_prod(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_value *list = call->args[0];
    fid_dtype dtype;
    FID_TRY(common_dtype(call, &dtype));
    int64_t sizes[2] = {1, (int64_t)list->as.tensors.count};
    for (size_t i = 0; i < list->as.tensors.count; i++) {
        FID_TRY(need_vector(call, list->as.tensors.items[i]));
        if (__builtin_mul_overflow(sizes[0], list->as.tensors.items[i]->sizes[0], &sizes[0])) return too_large(call);
    }
    fid_meta_set(outs, dtype, sizes, sizes[1] == 1 ? 1 : 2);
    return FID_OK;
}

/* Vectors count as rows, single elements as 1 x 1. */
fid_status fid_shape_block_diag(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_value *list = call->args[0];
    fid_dtype dtype;
    FID_TRY(common_dtype(call, &dtype));
    int64_t sizes[2] = {0, 0};
    for (size_t i = 0; i < list->as.tensors.count; i++) {
        const fid_tensor *tensor = list->as.tensors.items[i];
        if (tensor->rank > 2) {
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: tensor %zu has %d dimensions, at most 2 are allowed", call->name, i,
                            tensor->rank);
        }
        int64_t rows = tensor->rank == 2 ? tensor->sizes[0] : 1, columns = tensor->rank ? tensor->sizes[tensor->rank - 1] : 1;
        if (__builtin_add_overflow(sizes[0], rows, &sizes[0]) || __builtin_add_overflow(sizes[1], columns, &sizes[1])) {
            return too_large(call);
        }
    }
    fid_meta_set(outs, dtype, sizes, 2);
    return FID_OK;
}

/* self, offset: the flattened tensor on a diagonal. */
fid_status fid_shape_diagflat(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    int64_t offset = fid_arg_int(call, 1), side = (int64_t)fid_tensor_numel(self_of(call));
    if (offset == INT64_MIN || __builtin_add_overflow(side, offset < 0 ? -offset : offset, &side)) return too_large(call);
    fid_meta_set(outs, (fid_dtype)self_of(call)->dtype, (int64_t[2]){side, side}, 2);
    return FID_OK;
}

/* Slices along a dimension, their inverse and counts; upper bound: all slices differ. */
static fid_status shape_unique_dim(const fid_call *call, int64_t dim_arg, bool inverse, bool counts, fid_meta *outs) {
    const fid_tensor *self = self_of(call);
    size_t dim;
    FID_TRY(fid_wrap_dim(call, dim_arg, self->rank, &dim));
    int64_t length = self->rank ? self->sizes[dim] : 1, none = 0;
    fid_meta_set(&outs[0], (fid_dtype)self->dtype, self->sizes, self->rank);
    fid_meta_set(&outs[1], FID_INT64, inverse ? &length : &none, 1);
    fid_meta_set(&outs[2], FID_INT64, counts ? &length : &none, 1);
    outs[0].bound_dims = (uint16_t)(self->rank ? 1u << dim : 0);
    outs[2].bound_dims = counts;
    return FID_OK;
}

/* self, dim, sorted, return_inverse, return_counts: PyTorch gives both whether asked for or not. */
fid_status fid_shape_unique_dim(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return shape_unique_dim(call, fid_arg_int(call, 1), true, true, outs);
}

/* self, dim, return_inverse, return_counts */
fid_status fid_shape_unique_dim_consecutive(const fid_call *call, fid_meta *outs, size_t out_count) {
    return fid_shape_unique_dim(call, outs, out_count);
}

/* Values, inverse, counts; upper bound: all elements differ. */
static fid_status shape_unique(const fid_tensor *self, bool inverse, bool counts, fid_meta *outs) {
    int64_t all = (int64_t)fid_tensor_numel(self), none = 0;
    fid_meta_set(&outs[0], (fid_dtype)self->dtype, &all, 1);
    if (inverse) fid_meta_set(&outs[1], FID_INT64, self->sizes, self->rank);
    else fid_meta_set(&outs[1], FID_INT64, &none, 1);
    fid_meta_set(&outs[2], FID_INT64, counts ? &all : &none, 1);
    outs[0].bound_dims = 1;
    outs[2].bound_dims = counts;
    return FID_OK;
}

/* self, sorted, return_inverse, return_counts */
fid_status fid_shape_unique2(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return shape_unique(self_of(call), fid_arg_bool(call, 2), fid_arg_bool(call, 3), outs);
}

/* self, return_inverse, return_counts, dim?: of the flattened tensor, or, with a dimension, of its slices; then PyTorch gives inverse and
 * counts, asked for or not. The only dimension of a vector counts as no dimension if it is named as 0. */
fid_status fid_shape_unique_consecutive(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    bool flat = fid_arg_is_none(call, 3) || (self_of(call)->rank == 1 && fid_arg_int(call, 3) == 0);
    if (!flat) return shape_unique_dim(call, fid_arg_int(call, 3), true, true, outs);
    return shape_unique(self_of(call), fid_arg_bool(call, 1), fid_arg_bool(call, 2), outs);
}

/* self, mask, indices, fill */
fid_status fid_shape_unsafe_masked_index(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_indexing indexing;
    FID_TRY(fid_indexing_of(call, 2, NULL, &indexing));
    FID_TRY(fid_indexing_result(call, &indexing, outs));
    fid_meta both = outs[0];
    FID_TRY(fid_meta_broadcast(call, &both, fid_arg_tensor(call, 1)));
    if (both.rank == outs->rank && memcmp(both.sizes, outs->sizes, both.rank * sizeof both.sizes[0]) == 0) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the mask does not fit the indexed shape", call->name);
}

/* self, offset, dim1, dim2: the last dimension becomes the diagonal of two new ones. */
fid_status fid_shape_diag_embed(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *self = self_of(call);
    size_t rank = (size_t)self->rank + 1, row, column;
    int64_t offset = fid_arg_int(call, 1), side;
    if (self->rank == 0 || rank > FID_MAX_RANK) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s takes 1 to %d dimensions, not %d", call->name, FID_MAX_RANK - 1, self->rank);
    }
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), rank, &row));
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 3), rank, &column));
    if (row == column) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a diagonal needs two different dimensions, not twice %zu", call->name, row);
    }
    if (offset == INT64_MIN || __builtin_add_overflow(self->sizes[self->rank - 1], offset < 0 ? -offset : offset, &side)) {
        return too_large(call);
    }
    int64_t sizes[FID_MAX_RANK];
    for (size_t i = 0, from = 0; i < rank; i++) sizes[i] = i == row || i == column ? side : self->sizes[from++];
    fid_meta_set(outs, (fid_dtype)self->dtype, sizes, rank);
    return FID_OK;
}
