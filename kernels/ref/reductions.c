/* Reference kernels of reductions: sums, products, means, extremes, truth, variances, norms. Floats accumulate in double. */
#include "kernels/ref/complex_math.h"
#include "kernels/ref/reduce.h"

/* The widest dtype of a form, in which the functions here return. */
static fid_dtype widest(fidk_form form) {
    return form == FIDK_REAL ? FID_FLOAT64 : form == FIDK_COMPLEX ? FID_COMPLEX128 : FID_INT64;
}

static fid_dtype self_dtype(const fid_call *call) { return (fid_dtype)fid_arg_tensor(call, 0)->dtype; }
static fid_dtype dtype_or_self(const fid_call *call, uint32_t i) {
    return fid_arg_is_none(call, i) ? self_dtype(call) : (fid_dtype)fid_arg_int(call, i);
}

/* ---- Sums ---- */

static fidk_element sum(const fidk_reduction *r) {
    fidk_element total = {.c = {0, 0}};
    fidk_walk inner = r->inner;
    FIDK_WALK(&inner) {
        fidk_element x = fidk_reduction_get(r, &inner);
        if (r->form == FIDK_INTEGER) total.i = fidk_wrap_add(total.i, x.i);
        if (r->form == FIDK_REAL) total.d += x.d;
        if (r->form == FIDK_COMPLEX) total.c = (fid_complex128){total.c.re + x.c.re, total.c.im + x.c.im};
    }
    return total;
}

static fidk_element mean(const fidk_reduction *r) {
    fidk_element total = sum(r);
    double n = (double)r->count;
    if (r->form == FIDK_COMPLEX) return (fidk_element){.c = {total.c.re / n, total.c.im / n}};
    return fidk_real(total.d / n);
}

static fidk_element product(const fidk_reduction *r);

static fid_status reduce(fid_call *call, uint32_t dims, uint32_t keepdim, fid_dtype as, fidk_reduce_function *function) {
    fidk_reduction r;
    if (fid_dtype_is_complex(as) && function != sum && function != mean && function != product) return fidk_refuse_complex(call);
    FID_TRY(fidk_reduction_begin(&r, call, dims, keepdim, as));
    fidk_reduction_run(&r, 0, widest(r.form), function);
    return FID_OK;
}

static fidk_element sum_without_nan(const fidk_reduction *r) {
    if (r->form != FIDK_REAL) return sum(r);
    double total = 0;
    fidk_walk inner = r->inner;
    FIDK_WALK(&inner) {
        double x = fidk_reduction_get(r, &inner).d;
        if (!isnan(x)) total += x;
    }
    return fidk_real(total);
}

static fidk_element product(const fidk_reduction *r) {
    fidk_element total = r->form == FIDK_REAL ? fidk_real(1) : r->form == FIDK_COMPLEX ? (fidk_element){.c = {1, 0}} : fidk_int(1);
    fidk_walk inner = r->inner;
    FIDK_WALK(&inner) {
        fidk_element x = fidk_reduction_get(r, &inner);
        if (r->form == FIDK_REAL) total.d *= x.d;
        else if (r->form == FIDK_COMPLEX) total.c = fidk_complex_mul(total.c, x.c);
        else total.i = fidk_wrap_mul(total.i, x.i);
    }
    return total;
}

static fidk_element mean_without_nan(const fidk_reduction *r) {
    double total = 0, count = 0;
    fidk_walk inner = r->inner;
    FIDK_WALK(&inner) {
        double x = fidk_reduction_get(r, &inner).d;
        if (isnan(x)) continue;
        total += x;
        count++;
    }
    return fidk_real(total / count);
}

FIDK_KERNEL(sum, reduce(call, FID_NO_ARG, FID_NO_ARG, fid_sum_dtype(call, 1), sum))
FIDK_KERNEL(sum_dim_IntList, reduce(call, 1, 2, fid_sum_dtype(call, 3), sum))
FIDK_KERNEL(nansum, reduce(call, 1, 2, fid_sum_dtype(call, 3), sum_without_nan))
FIDK_KERNEL(nanmean, reduce(call, 1, 2, dtype_or_self(call, 3), mean_without_nan))
FIDK_KERNEL(mean, reduce(call, FID_NO_ARG, FID_NO_ARG, dtype_or_self(call, 1), mean))
FIDK_KERNEL(mean_dim, reduce(call, 1, 2, dtype_or_self(call, 3), mean))
FIDK_KERNEL(prod, reduce(call, FID_NO_ARG, FID_NO_ARG, fid_sum_dtype(call, 1), product))
FIDK_KERNEL(prod_dim_int, reduce(call, 1, 2, fid_sum_dtype(call, 3), product))

/* ---- Truth and counts ---- */

static bool is_nonzero(const fidk_reduction *r, const fidk_walk *inner) {
    return fidk_convert(fidk_reduction_get(r, inner), r->as, FID_BOOL).i;
}

static fidk_element count_nonzero(const fidk_reduction *r) {
    int64_t count = 0;
    fidk_walk inner = r->inner;
    FIDK_WALK(&inner) count += is_nonzero(r, &inner);
    return fidk_int(count);
}

static fidk_element any(const fidk_reduction *r) { return fidk_int(count_nonzero(r).i > 0); }
static fidk_element all(const fidk_reduction *r) { return fidk_int(count_nonzero(r).i == r->count); }

static fid_status count(fid_call *call, uint32_t dims, uint32_t keepdim, fidk_reduce_function *function) {
    fidk_reduction r;
    FID_TRY(fidk_reduction_begin(&r, call, dims, keepdim, self_dtype(call)));
    fidk_reduction_run(&r, 0, FID_INT64, function);
    return FID_OK;
}

FIDK_KERNEL(any, count(call, FID_NO_ARG, FID_NO_ARG, any))
FIDK_KERNEL(any_dim, count(call, 1, 2, any))
FIDK_KERNEL(any_dims, count(call, 1 | FID_LITERAL_DIMS, 2, any))
FIDK_KERNEL(all, count(call, FID_NO_ARG, FID_NO_ARG, all))
FIDK_KERNEL(all_dim, count(call, 1, 2, all))
FIDK_KERNEL(all_dims, count(call, 1 | FID_LITERAL_DIMS, 2, all))
FIDK_KERNEL(count_nonzero, count(call, 1, FID_NO_ARG, count_nonzero))
FIDK_KERNEL(count_nonzero_dim_IntList, count(call, 1, FID_NO_ARG, count_nonzero))

/* ---- Exclusive or of all bits, floats as double ---- */

static fidk_element mixed_bits(const fidk_reduction *r) {
    uint64_t total = 0;
    fidk_walk inner = r->inner;
    FIDK_WALK(&inner) {
        fidk_element x = fidk_reduction_get(r, &inner);
        uint64_t bits = (uint64_t)x.i;
        if (r->form == FIDK_REAL) memcpy(&bits, &x.d, sizeof bits);
        total ^= bits;
    }
    return fidk_int((int64_t)total);
}

static fid_status run_hash_tensor(fid_call *call) {
    if (fid_arg_int(call, 3) != 0) return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the only mode is 0", call->name);
    return count(call, 1, 2, mixed_bits);
}
const fid_kernel fid_ref_hash_tensor = {.run = run_hash_tensor};

/* ---- Extremes: NaN wins, the first of equals counts ---- */

static bool beats(const fidk_reduction *r, fidk_element x, fidk_element best, bool largest) {
    if (r->form == FIDK_REAL) return !isnan(best.d) && (isnan(x.d) || (largest ? x.d > best.d : x.d < best.d));
    return largest ? fidk_int_less(r->as, best.i, x.i) : fidk_int_less(r->as, x.i, best.i);
}

/* The extreme, and in *out_index its position in logical order. */
static fidk_element extreme(const fidk_reduction *r, bool largest, int64_t *out_index) {
    fidk_walk inner = r->inner;
    fidk_element best = fidk_reduction_get(r, &inner);
    int64_t position = 0;
    *out_index = 0;
    FIDK_WALK(&inner) {
        fidk_element x = fidk_reduction_get(r, &inner);
        if (beats(r, x, best, largest)) {
            best = x;
            *out_index = position;
        }
        position++;
    }
    return best;
}

static fidk_element largest(const fidk_reduction *r) {
    int64_t index;
    return extreme(r, true, &index);
}
static fidk_element smallest(const fidk_reduction *r) {
    int64_t index;
    return extreme(r, false, &index);
}
static fidk_element index_of_largest(const fidk_reduction *r) {
    int64_t index;
    extreme(r, true, &index);
    return fidk_int(index);
}
static fidk_element index_of_smallest(const fidk_reduction *r) {
    int64_t index;
    extreme(r, false, &index);
    return fidk_int(index);
}

/* First function to output 0, second, if any, to output 1. `index_output`: that one holds positions. */
static fid_status extremes(fid_call *call, uint32_t dims, uint32_t keepdim, fidk_reduce_function *first, fidk_reduce_function *second,
                           uint32_t index_output) {
    fidk_reduction r;
    if (fid_dtype_is_complex(self_dtype(call))) return fidk_refuse_complex(call);
    FID_TRY(fidk_reduction_begin(&r, call, dims, keepdim, self_dtype(call)));
    fidk_reduction_run(&r, 0, index_output == 0 ? FID_INT64 : r.as, first);
    if (second) fidk_reduction_run(&r, 1, index_output == 1 ? FID_INT64 : r.as, second);
    return FID_OK;
}

enum { NO_INDEX = 2 };

FIDK_KERNEL(max, extremes(call, FID_NO_ARG, FID_NO_ARG, largest, NULL, NO_INDEX))
FIDK_KERNEL(min, extremes(call, FID_NO_ARG, FID_NO_ARG, smallest, NULL, NO_INDEX))
FIDK_KERNEL(amax, extremes(call, 1, 2, largest, NULL, NO_INDEX))
FIDK_KERNEL(amin, extremes(call, 1, 2, smallest, NULL, NO_INDEX))
FIDK_KERNEL(aminmax, extremes(call, 1, 2, smallest, largest, NO_INDEX))
FIDK_KERNEL(max_dim, extremes(call, 1, 2, largest, index_of_largest, 1))
FIDK_KERNEL(min_dim, extremes(call, 1, 2, smallest, index_of_smallest, 1))
FIDK_KERNEL(argmax, extremes(call, 1, 2, index_of_largest, NULL, 0))
FIDK_KERNEL(argmin, extremes(call, 1, 2, index_of_smallest, NULL, 0))

/* ---- Variances: two passes ---- */

static fidk_element variance(const fidk_reduction *r) {
    double center = mean(r).d, total = 0, divisor = (double)r->count - r->number;
    fidk_walk inner = r->inner;
    FIDK_WALK(&inner) {
        double distance = fidk_reduction_get(r, &inner).d - center;
        total += distance * distance;
    }
    return fidk_real(total / (divisor > 0 ? divisor : 0));
}

static fidk_element deviation(const fidk_reduction *r) { return fidk_real(sqrt(variance(r).d)); }

static fid_status spread(fid_call *call, uint32_t dims, uint32_t keepdim, double correction, fidk_reduce_function *function) {
    fidk_reduction r;
    if (fid_dtype_is_complex(self_dtype(call))) return fidk_refuse_complex(call);
    FID_TRY(fidk_reduction_begin(&r, call, dims, keepdim, self_dtype(call)));
    r.number = correction;
    fidk_reduction_run(&r, 0, FID_FLOAT64, function);
    if (call->output_index + 1 < call->arg_count) fidk_reduction_run(&r, 1, FID_FLOAT64, mean);
    return FID_OK;
}

static double correction_arg(const fid_call *call) { return fid_arg_is_none(call, 2) ? 1 : fid_arg_double(call, 2); }

#define SPREAD(id, function)                                                                              \
    FIDK_KERNEL(id, spread(call, FID_NO_ARG, FID_NO_ARG, fid_arg_bool(call, 1), function))                \
    FIDK_KERNEL(id##_dim, spread(call, 1, 3, fid_arg_bool(call, 2), function))                            \
    FIDK_KERNEL(id##_correction, spread(call, 1, 3, correction_arg(call), function))

SPREAD(var, variance)
SPREAD(std, deviation)
SPREAD(var_mean, variance)
SPREAD(std_mean, deviation)

/* ---- Logarithm of a sum of exponentials ---- */

static fidk_element log_sum_exp(const fidk_reduction *r) {
    if (r->count == 0) return fidk_real(-INFINITY);
    double top = largest(r).d, total = 0;
    if (isinf(top)) return top < 0 ? fidk_real(top) : fidk_real(INFINITY);
    fidk_walk inner = r->inner;
    FIDK_WALK(&inner) total += exp(fidk_reduction_get(r, &inner).d - top);
    return fidk_real(top + log(total));
}

FIDK_KERNEL(logsumexp, reduce(call, 1, 2, fid_dtype_to_float(self_dtype(call)), log_sum_exp))

/* ---- Norms of order r->number ---- */

static double size_of(const fidk_reduction *r, const fidk_walk *inner) {
    fidk_element x = fidk_reduction_get(r, inner);
    return r->form == FIDK_COMPLEX ? hypot(x.c.re, x.c.im) : fabs(x.d);
}

static fidk_element extreme_norm(const fidk_reduction *r) {
    bool most = r->number > 0;
    double best = most ? 0 : INFINITY;
    fidk_walk inner = r->inner;
    FIDK_WALK(&inner) best = most ? fidk_max(best, size_of(r, &inner)) : fidk_min(best, size_of(r, &inner));
    return fidk_real(best);
}

static fidk_element norm(const fidk_reduction *r) {
    if (isinf(r->number)) return extreme_norm(r);
    double total = 0, p = r->number;
    fidk_walk inner = r->inner;
    FIDK_WALK(&inner) {
        double x = size_of(r, &inner);
        total += p == 0 ? x != 0 : p == 1 ? x : p == 2 ? x * x : pow(x, p);
    }
    return fidk_real(p == 0 || p == 1 ? total : p == 2 ? sqrt(total) : pow(total, 1 / p));
}

static fid_status norm_of(fid_call *call, uint32_t dims, uint32_t keepdim, fid_dtype as) {
    fidk_reduction r;
    FID_TRY(fidk_reduction_begin(&r, call, dims, keepdim, as));
    r.number = fid_arg_is_none(call, 1) ? 2 : fid_arg_double(call, 1);
    fidk_reduction_run(&r, 0, FID_FLOAT64, norm);
    return FID_OK;
}

FIDK_KERNEL(linalg_vector_norm, norm_of(call, 2, 3, dtype_or_self(call, 4)))
FIDK_KERNEL(norm_Scalar, norm_of(call, FID_NO_ARG, FID_NO_ARG, self_dtype(call)))
FIDK_KERNEL(norm_ScalarOpt_dim, norm_of(call, 2, 3, self_dtype(call)))
FIDK_KERNEL(norm_ScalarOpt_dim_dtype, norm_of(call, 2, 3, dtype_or_self(call, 4)))

/* ---- Summed until the shape is `size`, which would broadcast to the input's ---- */

static fid_status run_sum_to_size(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    size_t added = self->rank - out->rank;
    fidk_reduction r = {.call = call, .in = self, .as = self_dtype(call), .form = fidk_form_of(self_dtype(call))};
    int64_t sizes[FID_MAX_RANK], strides[FID_MAX_RANK] = {0};
    for (size_t d = 0; d < self->rank; d++) sizes[d] = d >= added && out->sizes[d - added] == self->sizes[d] ? 1 : self->sizes[d];
    fidk_walk_begin(&r.inner, sizes, self->rank);
    fidk_walk_add_strides(&r.inner, self->strides);
    for (size_t d = 0; d < out->rank; d++) strides[d] = sizes[d + added] == 1 ? self->strides[d + added] : 0;
    fidk_walk_begin(&r.outer, out->sizes, out->rank);
    fidk_walk_add_strides(&r.outer, strides);
    fidk_walk_add_strides(&r.outer, out->strides);
    fidk_reduction_run(&r, 0, widest(r.form), sum);
    return FID_OK;
}
const fid_kernel fid_ref_sum_to_size = {.run = run_sum_to_size};
