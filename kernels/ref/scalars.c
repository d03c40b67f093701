/* Reference kernels of numbers: symbolic sizes, the prims that compute with them, and the two prims on tensors.
 *
 * Integers and bools compute as integers, anything with a double as double. Quotients and remainders follow Python. */
#include "kernels/ref/elementwise.h"
#include "ops/shape.h"

static fid_status give(fid_call *call, fid_value value) {
    *call->args[call->output_index] = value;
    return FID_OK;
}

static fid_status give_int(fid_call *call, int64_t value) { return give(call, fid_int_value(value)); }
static fid_status give_double(fid_call *call, double value) { return give(call, fid_double_value(value)); }

static fid_status run_sym_size_int(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), self->rank, &dim));
    if (!self->rank) return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a tensor without dimensions has no size to ask for", call->name);
    return give_int(call, self->sizes[dim]);
}
const fid_kernel fid_ref_sym_size_int = {.run = run_sym_size_int};

FIDK_KERNEL(sym_numel, give_int(call, (int64_t)fid_tensor_numel(fid_arg_tensor(call, 0))))

static fid_status run__local_scalar_dense(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    if (fid_tensor_numel(self) != 1) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a tensor of %zu elements is not one number", call->name,
                        fid_tensor_numel(self));
    }
    if (self->dtype == FID_BOOL) return give(call, fid_bool_value(fidk_get_bool(self, 0)));
    return fid_dtype_is_float((fid_dtype)self->dtype) ? give_double(call, fidk_get_real(self, 0)) : give_int(call, fidk_get_int(self, 0));
}
const fid_kernel fid_ref__local_scalar_dense = {.run = run__local_scalar_dense};

/* ---- Two numbers ---- */

static bool is_double(const fid_call *call, uint32_t i) { return call->args[i]->tag == FID_TAG_DOUBLE; }
static bool both_integers(const fid_call *call) { return !is_double(call, 0) && !is_double(call, 1); }

/* Defines fid_ref_prim_NAME_Scalar: `integer` of m and n, or `real` of x and y. */
#define ALGEBRA(name, integer, real)                                                                                   \
    static fid_status run_prim_##name##_Scalar(fid_call *call) {                                                       \
        int64_t m = fid_arg_int(call, 0), n = fid_arg_int(call, 1);                                                    \
        double x = fid_arg_double(call, 0), y = fid_arg_double(call, 1);                                               \
        return both_integers(call) ? give_int(call, integer) : give_double(call, real);                                \
    }                                                                                                                  \
    const fid_kernel fid_ref_prim_##name##_Scalar = {.run = run_prim_##name##_Scalar};

ALGEBRA(add, fidk_wrap_add(m, n), x + y)
ALGEBRA(sub, fidk_wrap_sub(m, n), x - y)
ALGEBRA(mul, fidk_wrap_mul(m, n), x * y)
ALGEBRA(sym_max, m > n ? m : n, x > y ? x : y)
ALGEBRA(sym_min, m < n ? m : n, x < y ? x : y)

#define COMPARE(name, operator)                                                                                        \
    static fid_status run_prim_##name##_Scalar(fid_call *call) {                                                       \
        bool real = !both_integers(call);                                                                              \
        return give(call, fid_bool_value(real ? fid_arg_double(call, 0) operator fid_arg_double(call, 1)               \
                                              : fid_arg_int(call, 0) operator fid_arg_int(call, 1)));                  \
    }                                                                                                                  \
    const fid_kernel fid_ref_prim_##name##_Scalar = {.run = run_prim_##name##_Scalar};

COMPARE(eq, ==)
COMPARE(ne, !=)
COMPARE(lt, <)
COMPARE(le, <=)
COMPARE(gt, >)
COMPARE(ge, >=)

FIDK_KERNEL(prim_and_Scalar, give(call, fid_bool_value(fid_arg_bool(call, 0) && fid_arg_bool(call, 1))))
FIDK_KERNEL(prim_or_Scalar, give(call, fid_bool_value(fid_arg_bool(call, 0) || fid_arg_bool(call, 1))))

/* ---- Division ---- */

static fid_status refuse_zero(const fid_call *call) {
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: division by zero", call->name);
}

static double floor_quotient(double x, double y) {
    double remainder = fmod(x, y), q = (x - remainder) / y;
    if (remainder != 0 && (y < 0) != (remainder < 0)) q -= 1;
    return rint(q);
}

static fid_status floor_divide(fid_call *call) {
    if (fid_arg_double(call, 1) == 0) return refuse_zero(call);
    if (!both_integers(call)) return give_double(call, floor_quotient(fid_arg_double(call, 0), fid_arg_double(call, 1)));
    int64_t m = fid_arg_int(call, 0), n = fid_arg_int(call, 1);
    if (n == -1) return give_int(call, fidk_wrap_sub(0, m));
    return give_int(call, m / n - (m % n != 0 && (m < 0) != (n < 0)));
}

static fid_status modulo(fid_call *call) {
    if (fid_arg_double(call, 1) == 0) return refuse_zero(call);
    if (!both_integers(call)) {
        double y = fid_arg_double(call, 1), r = fmod(fid_arg_double(call, 0), y);
        return give_double(call, r != 0 && (r < 0) != (y < 0) ? r + y : r);
    }
    int64_t n = fid_arg_int(call, 1), r = n == -1 ? 0 : fid_arg_int(call, 0) % n;
    return give_int(call, r != 0 && (r < 0) != (n < 0) ? r + n : r);
}

FIDK_KERNEL(prim_floordiv_Scalar, floor_divide(call))
FIDK_KERNEL(prim_floordiv_int, floor_divide(call))
FIDK_KERNEL(prim_mod_Scalar, modulo(call))
FIDK_KERNEL(prim_mod_int, modulo(call))

static fid_status run_prim_truediv_Scalar(fid_call *call) {
    if (fid_arg_double(call, 1) == 0) return refuse_zero(call);
    return give_double(call, fid_arg_double(call, 0) / fid_arg_double(call, 1));
}
const fid_kernel fid_ref_prim_truediv_Scalar = {.run = run_prim_truediv_Scalar};

static fid_status run_prim_pow_Scalar(fid_call *call) {
    if (!both_integers(call) || fid_arg_int(call, 1) < 0) {
        return give_double(call, pow(fid_arg_double(call, 0), fid_arg_double(call, 1)));
    }
    int64_t base = fid_arg_int(call, 0), result = 1;
    for (int64_t exponent = fid_arg_int(call, 1); exponent; exponent >>= 1, base = fidk_wrap_mul(base, base)) {
        if (exponent & 1) result = fidk_wrap_mul(result, base);
    }
    return give_int(call, result);
}
const fid_kernel fid_ref_prim_pow_Scalar = {.run = run_prim_pow_Scalar};

/* ---- One number ---- */

static fid_status rounded(fid_call *call, double value) {
    fid_value number = fid_double_value(value);
    return is_double(call, 0) ? give_int(call, fid_value_int(&number)) : give_int(call, fid_arg_int(call, 0));
}

FIDK_KERNEL(prim_ceil_Scalar, rounded(call, ceil(fid_arg_double(call, 0))))
FIDK_KERNEL(prim_floor_Scalar, rounded(call, floor(fid_arg_double(call, 0))))
FIDK_KERNEL(prim_round_Scalar, rounded(call, rint(fid_arg_double(call, 0))))
FIDK_KERNEL(prim_trunc_Scalar, rounded(call, trunc(fid_arg_double(call, 0))))
FIDK_KERNEL(prim_sym_int_Scalar, give_int(call, fid_arg_int(call, 0)))
FIDK_KERNEL(prim_sym_float_Scalar, give_double(call, fid_arg_double(call, 0)))
FIDK_KERNEL(prim_sym_sqrt_Scalar, give_double(call, sqrt(fid_arg_double(call, 0))))
FIDK_KERNEL(prim_sym_not_Scalar, give(call, fid_bool_value(!fid_arg_bool(call, 0))))
FIDK_KERNEL(prim_sym_ite_Scalar, give(call, *call->args[fid_arg_bool(call, 0) ? 1 : 2]))
FIDK_KERNEL(prim_neg_Scalar, is_double(call, 0) ? give_double(call, -fid_arg_double(call, 0))
                                                : give_int(call, fidk_wrap_sub(0, fid_arg_int(call, 0))))

/* ---- On tensors ---- */

/* The output stands on the input's memory: nothing is copied. */
static fid_status run_et_view(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    fid_tensor *out = fid_out_tensor(call, 0);
    fid_meta meta = {0};
    FID_TRY(fid_shape_view_copy(call, &meta, 1));
    out->data = self->data;
    out->capacity = self->capacity;
    return fid_tensor_resize(call->sink, out, meta.sizes, meta.rank);
}
const fid_kernel fid_ref_et_view = {.run = run_et_view};

static bool fits_slice(const fid_tensor *to, const fid_tensor *from) {
    if (to->rank != from->rank + 1 || to->dtype != from->dtype || !fid_tensor_is_contiguous(from)) return false;
    return memcmp(to->sizes + 1, from->sizes, from->rank * sizeof from->sizes[0]) == 0;
}

/* copy_to[index] = copy_from, where copy_to grows to index + 1 if it may: what a map over a tensor's first dimension collects. */
static fid_status run_et_copy_index_tensor(fid_call *call) {
    fid_tensor *to = fid_arg_tensor(call, 0);
    const fid_tensor *from = fid_arg_tensor(call, 1);
    int64_t index = fid_arg_int(call, 2), sizes[FID_MAX_RANK];
    if (!fits_slice(to, from) || index < 0 || index == INT64_MAX) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the tensor is no slice %lld of the other", call->name, (long long)index);
    }
    memcpy(sizes, to->sizes, to->rank * sizeof sizes[0]);
    sizes[0] = index + 1;
    if (to->dynamism != FID_STATIC) FID_TRY(fid_tensor_resize(call->sink, to, sizes, to->rank));
    size_t bytes = fid_tensor_bytes(from);
    if (index >= to->sizes[0]) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: index %lld is outside the %lld slices", call->name, (long long)index,
                        (long long)to->sizes[0]);
    }
    if (bytes) memcpy((uint8_t *)to->data + (size_t)index * bytes, from->data, bytes);
    return FID_OK;
}
const fid_kernel fid_ref_et_copy_index_tensor = {.run = run_et_copy_index_tensor};
