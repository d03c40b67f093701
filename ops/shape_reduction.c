/* Shape functions of reductions, scans and softmax. */
#include "ops/reduction.h"
#include "ops/promote.h"
#include "ops/shape.h"

/* ---- Dimensions ---- */

fid_status fid_reduction_dims_of(const fid_call *call, uint32_t dims, uint32_t keepdim, fid_reduction_dims *out_dims) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    size_t count = 0;
    bool given = dims != FID_NO_ARG, literal = given && (dims & FID_LITERAL_DIMS);
    if (given) dims &= ~FID_LITERAL_DIMS;
    const int64_t *list = given ? fid_arg_ints(call, dims, &count) : NULL;
    bool every = count == 0 && !(literal && !fid_arg_is_none(call, dims));
    fid_reduction_dims result = {.keep = keepdim != FID_NO_ARG && fid_arg_bool(call, keepdim)};
    for (size_t d = 0; d < self->rank; d++) result.reduced[d] = every;
    for (size_t i = 0; i < count; i++) {
        size_t dim;
        FID_TRY(fid_wrap_dim(call, list[i], self->rank, &dim));
        if (result.reduced[dim]) {
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: dimension %zu is named twice", call->name, dim);
        }
        result.reduced[dim] = true;
    }
    *out_dims = result;
    return FID_OK;
}

fid_meta fid_meta_reduced(const fid_tensor *tensor, const fid_reduction_dims *dims, fid_dtype dtype) {
    fid_meta meta = {.dtype = (uint8_t)dtype};
    uint8_t new_number[FID_MAX_RANK];
    for (size_t d = 0; d < tensor->rank; d++) {
        if (dims->reduced[d] && !dims->keep) continue;
        new_number[d] = meta.rank;
        meta.sizes[meta.rank++] = dims->reduced[d] ? 1 : tensor->sizes[d];
    }
    for (size_t i = 0, at = 0; i < tensor->rank; i++) {
        uint8_t d = tensor->dim_order[i];
        if (!dims->reduced[d] || dims->keep) meta.dim_order[at++] = new_number[d];
    }
    return meta;
}

/* ---- Output dtypes ---- */

static fid_dtype self_dtype(const fid_call *call) { return (fid_dtype)fid_arg_tensor(call, 0)->dtype; }

/* Argument i if it is a dtype, else `otherwise`. */
static fid_dtype dtype_or(const fid_call *call, uint32_t i, fid_dtype otherwise) {
    return fid_arg_is_none(call, i) ? otherwise : (fid_dtype)fid_arg_int(call, i);
}

fid_dtype fid_sum_dtype(const fid_call *call, uint32_t i) {
    fid_dtype dtype = self_dtype(call);
    return dtype_or(call, i, dtype == FID_BOOL || fid_dtype_is_integer(dtype) ? FID_INT64 : dtype);
}

/* ---- Shape functions ---- */

static fid_status reduce(const fid_call *call, uint32_t dims, uint32_t keepdim, fid_dtype dtype, fid_meta *out) {
    fid_reduction_dims which;
    FID_TRY(fid_reduction_dims_of(call, dims, keepdim, &which));
    *out = fid_meta_reduced(fid_arg_tensor(call, 0), &which, dtype);
    return FID_OK;
}

/* An extreme of nothing does not exist. */
static fid_status refuse_empty(const fid_call *call, uint32_t dims) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    fid_reduction_dims which;
    FID_TRY(fid_reduction_dims_of(call, dims, FID_NO_ARG, &which));
    for (size_t d = 0; d < self->rank; d++) {
        if (which.reduced[d] && self->sizes[d] == 0) {
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: dimension %zu is empty and has no such element", call->name, d);
        }
    }
    return FID_OK;
}

static fid_status need_float(const fid_call *call, fid_dtype dtype) {
    if (fid_dtype_is_float(dtype) || fid_dtype_is_complex(dtype)) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_TYPE, "%s: needs a float dtype, got %s; give dtype or convert the input", call->name,
                    fid_dtype_name(dtype));
}

static fid_status need_real(const fid_call *call, fid_dtype dtype) {
    FID_TRY(need_float(call, dtype));
    if (!fid_dtype_is_complex(dtype)) return FID_OK;
    return fid_fail(call->sink, FID_NOT_SUPPORTED, "%s: complex numbers are not supported here", call->name);
}

#define SHAPE(name)                                                                        \
    fid_status fid_shape_##name(const fid_call *call, fid_meta *outs, size_t out_count) { \
        (void)out_count; /* as many as the row has results */

SHAPE(sum_all) return reduce(call, FID_NO_ARG, FID_NO_ARG, fid_sum_dtype(call, 1), outs);
}
SHAPE(sum_dims) return reduce(call, 1, 2, fid_sum_dtype(call, 3), outs);
}

SHAPE(mean_all)
    fid_dtype dtype = dtype_or(call, 1, self_dtype(call));
    FID_TRY(need_float(call, dtype));
    return reduce(call, FID_NO_ARG, FID_NO_ARG, dtype, outs);
}
SHAPE(mean_dims)
    fid_dtype dtype = dtype_or(call, 3, self_dtype(call));
    FID_TRY(need_float(call, dtype));
    return reduce(call, 1, 2, dtype, outs);
}

SHAPE(extreme_all)
    FID_TRY(refuse_empty(call, FID_NO_ARG));
    return reduce(call, FID_NO_ARG, FID_NO_ARG, self_dtype(call), outs);
}
SHAPE(median_all) return reduce(call, FID_NO_ARG, FID_NO_ARG, self_dtype(call), outs);
}
SHAPE(extreme_dims)
    FID_TRY(refuse_empty(call, 1));
    return reduce(call, 1, 2, self_dtype(call), outs);
}
SHAPE(extreme_index)
    FID_TRY(refuse_empty(call, 1));
    return reduce(call, 1, 2, FID_INT64, outs);
}

static fid_status value_and_index(const fid_call *call, uint32_t dim, uint32_t keepdim, fid_meta *outs) {
    FID_TRY(refuse_empty(call, dim));
    FID_TRY(reduce(call, dim, keepdim, self_dtype(call), &outs[0]));
    return reduce(call, dim, keepdim, FID_INT64, &outs[1]);
}
SHAPE(extreme_with_index) return value_and_index(call, 1, 2, outs);
}

SHAPE(kthvalue)
    const fid_tensor *self = fid_arg_tensor(call, 0);
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), self->rank, &dim));
    int64_t k = fid_arg_int(call, 1), size = self->rank ? self->sizes[dim] : 1;
    if (k < 1 || k > size) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: k is %lld, dimension %zu has %lld elements", call->name, (long long)k, dim,
                        (long long)size);
    }
    return value_and_index(call, 2, 3, outs);
}

SHAPE(aminmax)
    FID_TRY(refuse_empty(call, 1));
    FID_TRY(reduce(call, 1, 2, self_dtype(call), &outs[0]));
    outs[1] = outs[0];
    return FID_OK;
}

/* PyTorch keeps uint8 where everything else gives bool. */
static fid_dtype truth_dtype(const fid_call *call) { return self_dtype(call) == FID_UINT8 ? FID_UINT8 : FID_BOOL; }

SHAPE(truth_all) return reduce(call, FID_NO_ARG, FID_NO_ARG, truth_dtype(call), outs);
}
SHAPE(truth_dim) return reduce(call, 1, 2, truth_dtype(call), outs);
}
SHAPE(truth_dims) return reduce(call, 1 | FID_LITERAL_DIMS, 2, truth_dtype(call), outs);
}
SHAPE(count_dims) return reduce(call, 1, FID_NO_ARG, FID_INT64, outs);
}

/* Norms and variances of complex numbers are real. */
static fid_dtype norm_dtype(fid_dtype dtype) {
    return dtype == FID_COMPLEX64 ? FID_FLOAT32 : dtype == FID_COMPLEX128 ? FID_FLOAT64 : dtype;
}

static fid_status variance(const fid_call *call, uint32_t dims, uint32_t keepdim, fid_meta *outs, size_t out_count) {
    FID_TRY(need_float(call, self_dtype(call)));
    for (size_t i = 0; i < out_count; i++) FID_TRY(reduce(call, dims, keepdim, i ? self_dtype(call) : norm_dtype(self_dtype(call)), &outs[i]));
    return FID_OK;
}
SHAPE(variance_all) return variance(call, FID_NO_ARG, FID_NO_ARG, outs, out_count);
}
SHAPE(variance_dims) return variance(call, 1, 3, outs, out_count);
}

SHAPE(logsumexp) return reduce(call, 1, 2, fid_dtype_to_float(self_dtype(call)), outs);
}


SHAPE(vector_norm)
    FID_TRY(need_float(call, self_dtype(call)));
    return reduce(call, 2, 3, norm_dtype(dtype_or(call, 4, self_dtype(call))), outs);
}
SHAPE(norm_all)
    FID_TRY(need_float(call, self_dtype(call)));
    return reduce(call, FID_NO_ARG, FID_NO_ARG, norm_dtype(self_dtype(call)), outs);
}
SHAPE(norm_dims)
    FID_TRY(need_float(call, self_dtype(call)));
    return reduce(call, 2, 3, norm_dtype(self_dtype(call)), outs);
}
SHAPE(norm_dims_dtype) return reduce(call, 2, 3, norm_dtype(dtype_or(call, 4, self_dtype(call))), outs);
}

/* ---- One dimension worked through, the shape kept ---- */

static fid_status along(const fid_call *call, fid_dtype dtype, fid_meta *out) {
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), fid_arg_tensor(call, 0)->rank, &dim));
    *out = fid_meta_of(fid_arg_tensor(call, 0));
    out->dtype = (uint8_t)dtype;
    return FID_OK;
}

SHAPE(cumulative_sum) return along(call, fid_sum_dtype(call, 2), outs);
}
SHAPE(cumulative) return along(call, self_dtype(call), outs);
}
SHAPE(cumulative_with_index)
    FID_TRY(along(call, self_dtype(call), &outs[0]));
    return along(call, FID_INT64, &outs[1]);
}

/* Argument 2 is half_to_float: float16 in, float32 out. */
SHAPE(softmax)
    FID_TRY(need_real(call, self_dtype(call)));
    return along(call, fid_arg_bool(call, 2) && self_dtype(call) == FID_FLOAT16 ? FID_FLOAT32 : self_dtype(call), outs);
}
SHAPE(softmax_dtype)
    FID_TRY(need_real(call, dtype_or(call, 2, self_dtype(call))));
    return along(call, dtype_or(call, 2, self_dtype(call)), outs);
}
