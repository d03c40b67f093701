/* Shape functions of ops/special.def: rarer operators whose outputs follow no common rule. */
#include "ops/promote.h"
#include "ops/reduction.h"
#include "ops/shape.h"

static fid_dtype self_dtype(const fid_call *call) { return (fid_dtype)fid_arg_tensor(call, 0)->dtype; }

static fid_dtype real_of(fid_dtype dtype) { return dtype == FID_COMPLEX64 ? FID_FLOAT32 : dtype == FID_COMPLEX128 ? FID_FLOAT64 : dtype; }

/* (int n, Tensor self) */
fid_status fid_shape_polygamma(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    *outs = fid_meta_of(fid_arg_tensor(call, 1));
    outs->dtype = (uint8_t)fid_dtype_to_float((fid_dtype)outs->dtype);
    return FID_OK;
}

fid_status fid_shape_float_power(const fid_call *call, fid_meta *outs, size_t out_count) {
    FID_TRY(fid_shape_binary_float(call, outs, out_count));
    outs->dtype = fid_dtype_is_complex((fid_dtype)outs->dtype) ? FID_COMPLEX128 : FID_FLOAT64;
    return FID_OK;
}

fid_status fid_shape_frexp(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count; /* two */
    if (!fid_dtype_is_float(self_dtype(call))) {
        return fid_fail(call->sink, FID_INVALID_TYPE, "%s: needs a float dtype, got %s", call->name, fid_dtype_name(self_dtype(call)));
    }
    outs[0] = outs[1] = fid_meta_of(fid_arg_tensor(call, 0));
    outs[1].dtype = FID_INT32;
    return FID_OK;
}

fid_status fid_shape_angle(const fid_call *call, fid_meta *outs, size_t out_count) {
    FID_TRY(fid_shape_abs(call, outs, out_count));
    outs->dtype = (uint8_t)fid_dtype_to_float((fid_dtype)outs->dtype);
    return FID_OK;
}

/* A complex number of two floats. */
fid_status fid_shape_complex(const fid_call *call, fid_meta *outs, size_t out_count) {
    FID_TRY(fid_shape_binary_arithmetic(call, outs, out_count));
    if (outs->dtype != FID_FLOAT32 && outs->dtype != FID_FLOAT64) {
        return fid_fail(call->sink, FID_INVALID_TYPE, "%s: the parts must be float32 or float64, they are %s", call->name,
                        fid_dtype_name((fid_dtype)outs->dtype));
    }
    outs->dtype = outs->dtype == FID_FLOAT32 ? FID_COMPLEX64 : FID_COMPLEX128;
    return FID_OK;
}

/* Both vectors make a matrix, into which self broadcasts. */
fid_status fid_shape_addr(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *vec1 = fid_arg_tensor(call, 1), *vec2 = fid_arg_tensor(call, 2);
    (void)out_count;
    if (vec1->rank != 1 || vec2->rank != 1) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: vectors are expected, got ranks %u and %u", call->name, vec1->rank,
                        vec2->rank);
    }
    int64_t sizes[2] = {vec1->sizes[0], vec2->sizes[0]};
    fid_meta_set(outs, fid_result_type(call, 0, 3), sizes, 2);
    FID_TRY(fid_meta_broadcast(call, outs, fid_arg_tensor(call, 0)));
    if (outs->rank == 2 && outs->sizes[0] == sizes[0] && outs->sizes[1] == sizes[1]) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: self does not broadcast into the outer product's shape", call->name);
}

fid_status fid_shape_trace(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_dtype dtype = self_dtype(call);
    if (fid_arg_tensor(call, 0)->rank != 2) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a matrix is expected, got rank %u", call->name, fid_arg_tensor(call, 0)->rank);
    }
    fid_meta_set(outs, fid_dtype_is_float(dtype) || fid_dtype_is_complex(dtype) ? dtype : FID_INT64, NULL, 0);
    return FID_OK;
}

fid_status fid_shape_dist(const fid_call *call, fid_meta *outs, size_t out_count) {
    FID_TRY(fid_shape_binary_float(call, outs, out_count));
    fid_meta_set(outs, real_of((fid_dtype)outs->dtype), NULL, 0);
    return FID_OK;
}

fid_status fid_shape_renorm(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    size_t dim;
    (void)out_count;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), self->rank, &dim));
    if (self->rank < 2 || !(fid_dtype_is_float(self_dtype(call)) || fid_dtype_is_complex(self_dtype(call)))) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a float tensor of at least two dimensions is expected", call->name);
    }
    *outs = fid_meta_of(self);
    return FID_OK;
}

fid_status fid_shape_hash_tensor(const fid_call *call, fid_meta *outs, size_t out_count) {
    FID_TRY(fid_shape_extreme_index(call, outs, out_count));
    outs->dtype = FID_UINT64;
    return FID_OK;
}

fid_status fid_shape_sum_to_size(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    size_t count;
    const int64_t *sizes = fid_arg_ints(call, 1, &count);
    bool fits = count <= self->rank, sums = count < self->rank || count == 0;
    (void)out_count;
    for (size_t d = 0; fits && d < count; d++) {
        fits = sizes[d] == 1 || sizes[d] == self->sizes[self->rank - count + d];
        sums |= sizes[d] != self->sizes[self->rank - count + d];
    }
    if (!fits) {
        char from[120], to[120];
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the shape %s does not sum up to %s", call->name,
                        fid_shape_text(self->sizes, self->rank, from, sizeof from), fid_shape_text(sizes, count, to, sizeof to));
    }
    bool widens = sums && !fid_dtype_is_float(self_dtype(call)) && !fid_dtype_is_complex(self_dtype(call)); /* whole numbers are summed in int64; without a sum nothing changes */
    fid_meta_set(outs, widens ? FID_INT64 : self_dtype(call), sizes, count);
    return FID_OK;
}

/* ---- Losses of elements: how many tensors broadcast, which argument is the reduction (0: none) ---- */

static fid_status element_loss(const fid_call *call, uint32_t tensors, uint32_t reduction, fid_meta *out) {
    fid_meta meta = {0};
    for (uint32_t i = 0; i < tensors; i++) {
        if (fid_arg_tensor(call, i)) FID_TRY(fid_meta_broadcast(call, &meta, fid_arg_tensor(call, i)));
    }
    int64_t how = fid_arg_int(call, reduction);
    if (how < 0 || how > 2) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: reduction %lld, expected 0 (none), 1 (mean) or 2 (sum)", call->name,
                        (long long)how);
    }
    fid_meta_set(&meta, real_of(fid_result_type(call, 0, tensors)), meta.sizes, how == 0 ? meta.rank : 0);
    *out = meta;
    return FID_OK;
}

#define LOSS(name, tensors, reduction)                                                        \
    fid_status fid_shape_##name(const fid_call *call, fid_meta *outs, size_t out_count) {     \
        (void)out_count; /* one */                                                            \
        return element_loss(call, tensors, reduction, outs);                                  \
    }

LOSS(pointwise_loss, 2, 2)
LOSS(weighted_loss, 3, 3)
LOSS(twice_weighted_loss, 4, 4)
/* A margin or an exponential makes whole numbers floats. */
#define FLOAT_LOSS(name, tensors, reduction)                                                  \
    fid_status fid_shape_##name(const fid_call *call, fid_meta *outs, size_t out_count) {     \
        (void)out_count; /* one */                                                            \
        FID_TRY(element_loss(call, tensors, reduction, outs));                                \
        outs->dtype = (uint8_t)fid_dtype_to_float((fid_dtype)outs->dtype);                    \
        return FID_OK;                                                                        \
    }

FLOAT_LOSS(margin_loss, 2, 3)
FLOAT_LOSS(ranking_loss, 3, 4)
FLOAT_LOSS(poisson_loss, 2, 5)

/* Losses between vectors of the last dimension; `inputs` tensors broadcast. */
static fid_status vector_loss(const fid_call *call, uint32_t inputs, uint32_t reduction, fid_meta *out) {
    FID_TRY(element_loss(call, inputs, reduction, out));
    out->dtype = (uint8_t)fid_dtype_to_float((fid_dtype)out->dtype);
    if (out->rank) out->rank--;
    return FID_OK;
}

fid_status fid_shape_cosine_embedding_loss(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *input = fid_arg_tensor(call, 0), *target = fid_arg_tensor(call, 2);
    (void)out_count;
    if (target->rank > 1 || input->rank != target->rank + 1 || (target->rank && target->sizes[0] != input->sizes[0])) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: one target for each vector is expected: inputs (N, D) with (N), or (D) with a "
                        "0-d target", call->name);
    }
    return vector_loss(call, 2, 4, outs);
}

fid_status fid_shape_triplet_margin_loss(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return vector_loss(call, 3, 7, outs);
}

/* ---- Along a dimension ---- */

/* y, and x as a vector along `dim` or of a shape that broadcasts to y's. */
static fid_status check_places(const fid_call *call, size_t dim) {
    const fid_tensor *y = fid_arg_tensor(call, 0), *x = fid_arg_tensor(call, 1);
    bool fits = x->rank >= 1 && x->rank <= y->rank && x->sizes[x->rank == 1 ? 0 : dim - (y->rank - x->rank)] == y->sizes[dim];
    for (size_t d = 0; x->rank > 1 && fits && d < x->rank; d++) {
        fits = x->sizes[d] == 1 || x->sizes[d] == y->sizes[y->rank - x->rank + d];
    }
    if (fits) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: x must be a vector along dimension %zu or broadcast to the shape of y", call->name,
                    dim);
}

static fid_status trapezoid(const fid_call *call, bool has_x, bool cumulative, fid_meta *out) {
    const fid_tensor *y = fid_arg_tensor(call, 0);
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), y->rank, &dim));
    if (!y->rank) return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: y has no dimension to integrate along", call->name);
    if (has_x && fid_arg_tensor(call, 1)->rank > 1 && dim < (size_t)(y->rank - fid_arg_tensor(call, 1)->rank)) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: x has no dimension %zu of y", call->name, dim);
    }
    if (has_x) FID_TRY(check_places(call, dim));
    fid_dtype dtype = fid_dtype_to_float(fid_result_type(call, 0, 2));
    fid_reduction_dims which = {.keep = cumulative};
    which.reduced[dim] = true;
    *out = fid_meta_reduced(y, &which, dtype);
    if (cumulative) out->sizes[dim] = y->sizes[dim] ? y->sizes[dim] - 1 : 0;
    return FID_OK;
}

#define TRAPEZOID(name, has_x, cumulative)                                                    \
    fid_status fid_shape_##name(const fid_call *call, fid_meta *outs, size_t out_count) {     \
        (void)out_count; /* one */                                                            \
        return trapezoid(call, has_x, cumulative, outs);                                      \
    }

TRAPEZOID(trapezoid_x, true, false)
TRAPEZOID(trapezoid_dx, false, false)
TRAPEZOID(cumulative_trapezoid_x, true, true)
TRAPEZOID(cumulative_trapezoid_dx, false, true)

/* The dimension of q, if it has one, comes first. */
fid_status fid_shape_quantile(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *q = fid_arg_tensor(call, 1);
    fid_reduction_dims which;
    (void)out_count;
    FID_TRY(fid_reduction_dims_of(call, 2, 3, &which));
    fid_meta reduced = fid_meta_reduced(self, &which, self_dtype(call));
    if ((self->dtype != FID_FLOAT32 && self->dtype != FID_FLOAT64) || fid_tensor_numel(self) == 0 || (q && q->rank > 1) ||
        reduced.rank == FID_MAX_RANK) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a float32 or float64 tensor with elements and at most a list of q are expected",
                        call->name);
    }
    fid_meta_set(outs, self_dtype(call), reduced.sizes, reduced.rank);
    if (!q || !q->rank) return FID_OK;
    int64_t sizes[FID_MAX_RANK] = {q->sizes[0]};
    memcpy(sizes + 1, reduced.sizes, reduced.rank * sizeof sizes[0]);
    fid_meta_set(outs, self_dtype(call), sizes, reduced.rank + 1u);
    return FID_OK;
}

/* ---- Lookups and products ---- */

fid_status fid_shape_isin(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *elements = fid_arg_tensor(call, 0);
    (void)out_count;
    if (elements) *outs = fid_meta_of(elements);
    else fid_meta_set(outs, FID_BOOL, NULL, 0);
    outs->dtype = FID_BOOL;
    return FID_OK;
}

fid_status fid_shape_histc(const fid_call *call, fid_meta *outs, size_t out_count) {
    int64_t bins = fid_arg_int(call, 1);
    (void)out_count;
    if (bins <= 0 || !fid_dtype_is_float(self_dtype(call))) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a float tensor and a positive number of bins are expected", call->name);
    }
    fid_meta_set(outs, self_dtype(call), &bins, 1);
    return FID_OK;
}

fid_status fid_shape_kron(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *a = fid_arg_tensor(call, 0), *b = fid_arg_tensor(call, 1);
    size_t rank = a->rank > b->rank ? a->rank : b->rank;
    int64_t sizes[FID_MAX_RANK];
    (void)out_count;
    for (size_t d = 0; d < rank; d++) {
        size_t back = rank - d;
        int64_t m = back <= a->rank ? a->sizes[a->rank - back] : 1, n = back <= b->rank ? b->sizes[b->rank - back] : 1;
        if (__builtin_mul_overflow(m, n, &sizes[d])) {
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the product is too large", call->name);
        }
    }
    fid_meta_set(outs, fid_result_type(call, 0, 2), sizes, rank);
    return FID_OK;
}

fid_status fid_shape_linalg_vecdot(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *x = fid_arg_tensor(call, 0);
    fid_meta both = fid_meta_of(x);
    size_t dim;
    (void)out_count;
    FID_TRY(fid_meta_broadcast(call, &both, fid_arg_tensor(call, 1)));
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), both.rank, &dim));
    if (!both.rank || !(fid_dtype_is_float(self_dtype(call)) || fid_dtype_is_complex(self_dtype(call)))) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: float vectors are expected", call->name);
    }
    memmove(both.sizes + dim, both.sizes + dim + 1, (both.rank - dim - 1) * sizeof both.sizes[0]);
    fid_meta_set(outs, fid_result_type(call, 0, 2), both.sizes, both.rank - 1u);
    return FID_OK;
}

/* Powers along a new dimension: as many as asked for, else as the vector is long. Integers stay integers of 64 bits. */
fid_status fid_shape_linalg_vander(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *x = fid_arg_tensor(call, 0);
    fid_dtype dtype = self_dtype(call);
    int64_t sizes[FID_MAX_RANK];
    (void)out_count;
    bool fits = (x->rank >= 1 || !fid_arg_is_none(call, 1)) && x->rank < FID_MAX_RANK && dtype != FID_BOOL;
    int64_t count = !fits ? 0 : fid_arg_is_none(call, 1) ? x->sizes[x->rank - 1] : fid_arg_int(call, 1);
    if (!fits || (!fid_arg_is_none(call, 1) && count < 2)) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: vectors of numbers and at least two powers are expected", call->name);
    }
    memcpy(sizes, x->sizes, x->rank * sizeof sizes[0]);
    size_t lead = x->rank ? x->rank : 1; /* a number is a vector of one */
    if (!x->rank) sizes[0] = 1;
    sizes[lead] = count;
    fid_meta_set(outs, fid_dtype_is_float(dtype) || fid_dtype_is_complex(dtype) ? dtype : FID_INT64, sizes, lead + 1);
    return FID_OK;
}
