/* Shape functions of ops/special.def: rarer operators whose outputs follow no common rule. */
#include "ops/promote.h"
#include "ops/reduction.h"
#include "ops/shape.h"

static fid_dtype self_dtype(const fid_call *call) { return (fid_dtype)fid_arg_tensor(call, 0)->dtype; }

/* (int n, Tensor self) */
fid_status fid_shape_polygamma(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    *outs = fid_meta_of(fid_arg_tensor(call, 1));
    outs->dtype = (uint8_t)fid_dtype_to_float((fid_dtype)outs->dtype);
    return FID_OK;
}

fid_status fid_shape_float_power(const fid_call *call, fid_meta *outs, size_t out_count) {
    FID_TRY(fid_shape_binary_float(call, outs, out_count));
    if (fid_dtype_is_complex((fid_dtype)outs->dtype)) {
        return fid_fail(call->sink, FID_NOT_SUPPORTED, "%s: complex numbers are not supported", call->name);
    }
    outs->dtype = FID_FLOAT64;
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
    fid_meta_set(outs, (fid_dtype)outs->dtype, NULL, 0);
    return FID_OK;
}

fid_status fid_shape_renorm(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    size_t dim;
    (void)out_count;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), self->rank, &dim));
    if (self->rank < 2 || !fid_dtype_is_float(self_dtype(call))) {
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
    bool fits = count <= self->rank;
    (void)out_count;
    for (size_t d = 0; fits && d < count; d++) fits = sizes[d] == 1 || sizes[d] == self->sizes[self->rank - count + d];
    if (!fits) {
        char from[120], to[120];
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the shape %s does not sum up to %s", call->name,
                        fid_shape_text(self->sizes, self->rank, from, sizeof from), fid_shape_text(sizes, count, to, sizeof to));
    }
    fid_meta_set(outs, self_dtype(call), sizes, count);
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
    fid_meta_set(&meta, fid_result_type(call, 0, tensors), meta.sizes, how == 0 ? meta.rank : 0);
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
LOSS(margin_loss, 2, 3)
LOSS(ranking_loss, 3, 4)
LOSS(poisson_loss, 2, 5)
