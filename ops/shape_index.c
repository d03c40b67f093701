/* Shapes of operators that read or write at places given by other tensors (index, gather, scatter, masked_select, ...). */
#include "ops/indexing.h"
#include "ops/promote.h"
#include "ops/shape.h"

#define TEXT_SIZE 160

static const fid_tensor *self_of(const fid_call *call) { return fid_arg_tensor(call, 0); }

static fid_status need_index_dtype(const fid_call *call, const fid_tensor *index) {
    if (index->dtype == FID_INT64 || index->dtype == FID_INT32 || fid_tensor_numel(index) == 0) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_TYPE, "%s: the index has dtype %s, expected int64 or int32", call->name,
                    fid_dtype_name((fid_dtype)index->dtype));
}

/* ---- Lists of index tensors ---- */

fid_status fid_shape_index(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_indexing indexing;
    FID_TRY(fid_indexing_of(call, 1, NULL, &indexing));
    return fid_indexing_result(call, &indexing, outs);
}

fid_status fid_shape_index_put(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_indexing indexing;
    FID_TRY(fid_indexing_of(call, 1, NULL, &indexing));
    outs[0] = fid_meta_of(self_of(call));
    return FID_OK;
}

/* ---- One index for a dimension ---- */

static fid_status vector_index(const fid_call *call, size_t *out_dim, int64_t *out_count) {
    const fid_tensor *index = fid_arg_tensor(call, 2);
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), self_of(call)->rank, out_dim));
    FID_TRY(need_index_dtype(call, index));
    *out_count = index->rank ? index->sizes[0] : 1;
    if (index->rank <= 1) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the index has %d dimensions, at most one is allowed", call->name,
                    index->rank);
}

fid_status fid_shape_index_select(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    size_t dim;
    int64_t count;
    FID_TRY(vector_index(call, &dim, &count));
    fid_meta_set(outs, (fid_dtype)self_of(call)->dtype, self_of(call)->sizes, self_of(call)->rank);
    if (outs->rank) outs->sizes[dim] = count;
    else if (count != 1) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a tensor without dimensions takes one index, not %lld", call->name,
                        (long long)count);
    }
    return FID_OK;
}

/* index_fill: any value for the places of the index. */
fid_status fid_shape_index_fill(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    size_t dim;
    int64_t count;
    FID_TRY(vector_index(call, &dim, &count));
    outs[0] = fid_meta_of(self_of(call));
    const fid_tensor *value = fid_arg_tensor(call, 3);
    if (!value || value->rank == 0) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the value has %d dimensions, it must be a single number", call->name,
                    value->rank);
}

/* index_add, index_copy, index_reduce: the source has the shape of self with as many indices in `dim` as the index has. */
fid_status fid_shape_index_add(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *source = fid_arg_tensor(call, 3);
    size_t dim;
    int64_t count;
    FID_TRY(vector_index(call, &dim, &count));
    outs[0] = fid_meta_of(self_of(call));
    bool fits = source->rank == outs->rank || (source->rank <= 1 && outs->rank <= 1);
    for (size_t i = 0; i < outs->rank && i < source->rank && fits; i++) {
        fits = source->sizes[i] == (i == dim ? count : outs->sizes[i]);
    }
    if (fits && source->rank == 0) fits = count == 1;
    if (fits) return FID_OK;
    char text[TEXT_SIZE], source_text[TEXT_SIZE];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a source of shape %s does not fit %lld indices in dimension %zu of %s",
                    call->name, fid_shape_text(source->sizes, source->rank, source_text, sizeof source_text), (long long)count, dim,
                    fid_shape_text(outs->sizes, outs->rank, text, sizeof text));
}

/* ---- An index for every element ---- */

/* True if `index` reaches over no more than `tensor` in every dimension but `except`; tensors without dimensions count as [1]. */
static bool reaches_within(const fid_tensor *index, const fid_tensor *tensor, size_t except) {
    size_t index_rank = index->rank ? index->rank : 1, rank = tensor->rank ? tensor->rank : 1;
    if (fid_tensor_numel(index) == 0) return true;
    if (index_rank != rank) return false;
    for (size_t i = 0; i < rank; i++) {
        int64_t reach = index->rank ? index->sizes[i] : 1, size = tensor->rank ? tensor->sizes[i] : 1;
        if (i != except && reach > size) return false;
    }
    return true;
}

static fid_status index_mismatch(const fid_call *call, const char *what, const fid_tensor *tensor) {
    const fid_tensor *index = fid_arg_tensor(call, 2);
    char text[TEXT_SIZE], index_text[TEXT_SIZE];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: an index of shape %s reaches outside of %s of shape %s", call->name,
                    fid_shape_text(index->sizes, index->rank, index_text, sizeof index_text), what,
                    fid_shape_text(tensor->sizes, tensor->rank, text, sizeof text));
}

static fid_status check_element_index(const fid_call *call) {
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), self_of(call)->rank, &dim));
    FID_TRY(need_index_dtype(call, fid_arg_tensor(call, 2)));
    return reaches_within(fid_arg_tensor(call, 2), self_of(call), dim) ? FID_OK : index_mismatch(call, "self", self_of(call));
}

fid_status fid_shape_gather(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *index = fid_arg_tensor(call, 2);
    FID_TRY(check_element_index(call));
    fid_meta_set(outs, (fid_dtype)self_of(call)->dtype, index->sizes, index->rank);
    return FID_OK;
}

/* scatter and its relatives with a number as source. */
fid_status fid_shape_scatter_value(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    FID_TRY(check_element_index(call));
    outs[0] = fid_meta_of(self_of(call));
    return FID_OK;
}

/* ... and with a tensor as source. */
fid_status fid_shape_scatter(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *src = fid_arg_tensor(call, 3);
    FID_TRY(fid_shape_scatter_value(call, outs, out_count));
    return reaches_within(fid_arg_tensor(call, 2), src, FID_MAX_RANK) ? FID_OK : index_mismatch(call, "the source", src);
}

fid_status fid_shape_take(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *index = fid_arg_tensor(call, 1);
    FID_TRY(need_index_dtype(call, index));
    fid_meta_set(outs, (fid_dtype)self_of(call)->dtype, index->sizes, index->rank);
    return FID_OK;
}

fid_status fid_shape_put(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *index = fid_arg_tensor(call, 1), *source = fid_arg_tensor(call, 2);
    FID_TRY(need_index_dtype(call, index));
    outs[0] = fid_meta_of(self_of(call));
    if (fid_tensor_numel(index) == fid_tensor_numel(source)) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %zu indices for %zu elements", call->name, fid_tensor_numel(index),
                    fid_tensor_numel(source));
}

/* ---- Masks ---- */

static fid_status need_mask(const fid_call *call, const fid_tensor *mask) {
    if (mask->dtype == FID_BOOL || mask->dtype == FID_UINT8) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_TYPE, "%s: the mask has dtype %s, expected bool", call->name,
                    fid_dtype_name((fid_dtype)mask->dtype));
}

fid_status fid_shape_masked_scatter(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    FID_TRY(need_mask(call, fid_arg_tensor(call, 1)));
    outs[0] = fid_meta_of(self_of(call));
    return fid_meta_broadcast(call, outs, fid_arg_tensor(call, 1));
}

/* Upper bound: every element. */
fid_status fid_shape_masked_select(const fid_call *call, fid_meta *outs, size_t out_count) {
    fid_meta both;
    FID_TRY(fid_shape_masked_scatter(call, &both, out_count));
    size_t count;
    if (!fid_mul_sizes(both.sizes, both.rank, &count)) return FID_INVALID_ARGUMENT;
    fid_meta_set(outs, (fid_dtype)self_of(call)->dtype, (int64_t[1]){(int64_t)count}, 1);
    outs->bound_dims = 1;
    return FID_OK;
}

/* Upper bound: every element. */
fid_status fid_shape_nonzero(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    int64_t sizes[2] = {(int64_t)fid_tensor_numel(self_of(call)), self_of(call)->rank};
    fid_meta_set(outs, FID_INT64, sizes, 2);
    outs->bound_dims = 1;
    return FID_OK;
}

fid_status fid_shape_nonzero_static(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    int64_t sizes[2] = {fid_arg_int(call, 1), self_of(call)->rank};
    if (sizes[0] < 0) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: size is %lld, it must be at least 0", call->name, (long long)sizes[0]);
    }
    fid_meta_set(outs, FID_INT64, sizes, 2);
    return FID_OK;
}

/* ---- Order ---- */

fid_status fid_shape_sort(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    outs[0] = outs[1] = fid_meta_of(self_of(call));
    outs[1].dtype = FID_INT64;
    return FID_OK;
}

fid_status fid_shape_topk(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *self = self_of(call);
    size_t dim;
    int64_t k = fid_arg_int(call, 1);
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), self->rank, &dim));
    int64_t size = self->rank ? self->sizes[dim] : 1;
    if (k < 0 || k > size) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: k is %lld, dimension %zu has size %lld", call->name, (long long)k,
                        dim, (long long)size);
    }
    fid_meta_set(outs, (fid_dtype)self->dtype, self->sizes, self->rank);
    if (self->rank) outs->sizes[dim] = k;
    outs[1] = outs[0];
    outs[1].dtype = FID_INT64;
    return FID_OK;
}

static fid_dtype position_dtype(const fid_call *call) { return fid_arg_bool(call, 2) ? FID_INT32 : FID_INT64; }

/* sorted_sequence, self, out_int32, right, side, sorter: a position for each element of self. */
fid_status fid_shape_searchsorted(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *sequence = self_of(call), *values = fid_arg_tensor(call, 1), *sorter = fid_arg_tensor(call, 5);
    size_t values_rank = values ? values->rank : 0;
    bool fits = sequence->rank >= 1 && (sequence->rank == 1 || values_rank == sequence->rank);
    for (size_t i = 0; i + 1 < sequence->rank && fits; i++) fits = sequence->sizes[i] == values->sizes[i];
    if (!fits || (sorter && (sorter->rank != sequence->rank ||
                             memcmp(sorter->sizes, sequence->sizes, sorter->rank * sizeof sorter->sizes[0]) != 0))) {
        char text[TEXT_SIZE];
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: sequences of shape %s do not fit the values or the sorter", call->name,
                        fid_shape_text(sequence->sizes, sequence->rank, text, sizeof text));
    }
    fid_meta_set(outs, position_dtype(call), values ? values->sizes : NULL, values_rank);
    return FID_OK;
}

/* self, boundaries, out_int32, right */
fid_status fid_shape_bucketize(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *values = fid_arg_tensor(call, 0), *boundaries = fid_arg_tensor(call, 1);
    if (boundaries->rank != 1) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the boundaries have %d dimensions, expected one", call->name,
                        boundaries->rank);
    }
    fid_meta_set(outs, position_dtype(call), values ? values->sizes : NULL, values ? values->rank : 0);
    return FID_OK;
}
