/* Shapes of distances between vectors, and of cross products. */
#include "ops/shape.h"

static fid_status need_float(const fid_call *call, const fid_tensor *t) {
    if (fid_dtype_is_float((fid_dtype)t->dtype)) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_TYPE, "%s: %s input, expected a float dtype", call->name, fid_dtype_name((fid_dtype)t->dtype));
}

static fid_status do_not_fit(const fid_call *call, const fid_tensor *a, const fid_tensor *b) {
    char left[120], right[120];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: shapes %s and %s do not fit each other", call->name,
                    fid_shape_text(a->sizes, a->rank, left, sizeof left), fid_shape_text(b->sizes, b->rank, right, sizeof right));
}

/* (..., P, M) and (..., R, M) -> (..., P, R) with broadcast leading dimensions. */
fid_status fid_shape_cdist(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *a = fid_arg_tensor(call, 0), *b = fid_arg_tensor(call, 1);
    (void)out_count;
    FID_TRY(need_float(call, a));
    if (a->rank < 2 || b->rank < 2 || a->dtype != b->dtype || a->sizes[a->rank - 1] != b->sizes[b->rank - 1]) return do_not_fit(call, a, b);
    if (!(fid_arg_double(call, 2) >= 0))
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: p is %g, expected at least 0", call->name, fid_arg_double(call, 2));
    fid_meta lead;
    fid_tensor other = *b;
    other.rank = (uint8_t)(b->rank - 2);
    fid_meta_set(&lead, (fid_dtype)a->dtype, a->sizes, a->rank - 2u);
    FID_TRY(fid_meta_broadcast(call, &lead, &other));
    lead.sizes[lead.rank] = a->sizes[a->rank - 2], lead.sizes[lead.rank + 1] = b->sizes[b->rank - 2];
    fid_meta_set(outs, (fid_dtype)a->dtype, lead.sizes, lead.rank + 2u);
    return FID_OK;
}

/* (N, M) -> (N * (N - 1) / 2). */
fid_status fid_shape_pdist(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    (void)out_count;
    FID_TRY(need_float(call, self));
    if (self->rank != 2) return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: input of rank %d, expected 2", call->name, self->rank);
    if (!(fid_arg_double(call, 1) >= 0))
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: p is %g, expected at least 0", call->name, fid_arg_double(call, 1));
    int64_t n = self->sizes[0], pairs;
    if (n > INT32_MAX) return fid_fail(call->sink, FID_NOT_SUPPORTED, "%s: too many rows", call->name);
    pairs = n > 1 ? n * (n - 1) / 2 : 0;
    fid_meta_set(outs, (fid_dtype)self->dtype, &pairs, 1);
    return FID_OK;
}

static fid_status cross_shape(const fid_call *call, size_t dim, fid_meta *outs) {
    const fid_tensor *a = fid_arg_tensor(call, 0), *b = fid_arg_tensor(call, 1);
    fid_dtype dtype = fid_dtype_promote((fid_dtype)a->dtype, (fid_dtype)b->dtype);
    if (a->rank != b->rank || dtype == FID_DTYPE_NONE || a->sizes[dim] != 3 || b->sizes[dim] != 3) return do_not_fit(call, a, b);
    fid_meta_set(outs, dtype, a->sizes, a->rank);
    return fid_meta_broadcast(call, outs, b);
}

fid_status fid_shape_linalg_cross(const fid_call *call, fid_meta *outs, size_t out_count) {
    size_t dim;
    (void)out_count;
    if (fid_arg_tensor(call, 0)->rank == 0) return do_not_fit(call, fid_arg_tensor(call, 0), fid_arg_tensor(call, 1));
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), fid_arg_tensor(call, 0)->rank, &dim));
    return cross_shape(call, dim, outs);
}

/* Without a dim, the first of size 3. */
fid_status fid_shape_cross(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *a = fid_arg_tensor(call, 0);
    if (!fid_arg_is_none(call, 2)) return fid_shape_linalg_cross(call, outs, out_count);
    for (size_t d = 0; d < a->rank; d++)
        if (a->sizes[d] == 3) return cross_shape(call, d, outs);
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: no dimension has size 3", call->name);
}
