/* PyTorch's type promotion over the arguments of a call. */
#include "ops/promote.h"

static fid_dtype promote_known(fid_dtype a, fid_dtype b) {
    if (a == FID_DTYPE_NONE) return b;
    if (b == FID_DTYPE_NONE) return a;
    return fid_dtype_promote(a, b);
}

static fid_dtype number_dtype(const fid_value *value) {
    return value->tag == FID_TAG_DOUBLE ? FID_FLOAT32 : value->tag == FID_TAG_INT ? FID_INT64 : FID_BOOL;
}

void fid_promotion_add(fid_promotion *promotion, const fid_value *value) {
    if (fid_value_is_number(value)) {
        promotion->number = promote_known(promotion->number, number_dtype(value));
    } else if (value->tag == FID_TAG_TENSOR && value->as.tensor) {
        const fid_tensor *tensor = value->as.tensor;
        fid_dtype *of_class = tensor->rank ? &promotion->dimensioned : &promotion->zero_dim;
        *of_class = promote_known(*of_class, (fid_dtype)tensor->dtype);
    }
}

static int category(fid_dtype dtype) {
    if (dtype == FID_DTYPE_NONE) return -1;
    return fid_dtype_is_complex(dtype) ? 3 : fid_dtype_is_float(dtype) ? 2 : fid_dtype_is_integer(dtype) ? 1 : 0;
}

static fid_dtype complex_of(fid_dtype dtype) { return dtype == FID_FLOAT64 ? FID_COMPLEX128 : FID_COMPLEX64; }

/* The higher class stands unless the lower one is of a higher category. */
static fid_dtype combine(fid_dtype higher, fid_dtype lower) {
    if (category(lower) <= category(higher)) return higher;
    if (category(higher) == 2) return complex_of(higher);
    return promote_known(higher, lower);
}

fid_dtype fid_promotion_result(const fid_promotion *promotion) {
    return combine(promotion->dimensioned, combine(promotion->zero_dim, promotion->number));
}

fid_dtype fid_result_type(const fid_call *call, uint32_t first, uint32_t count) {
    fid_promotion promotion = fid_promotion_none();
    for (uint32_t i = first; i < first + count; i++) fid_promotion_add(&promotion, call->args[i]);
    return fid_promotion_result(&promotion);
}

fid_dtype fid_option_dtype(const fid_call *call, uint32_t i, uint32_t inputs, fid_dtype otherwise) {
    if (call->output_index == inputs) return fid_arg_is_none(call, i) ? otherwise : (fid_dtype)fid_arg_int(call, i);
    const fid_tensor *out = call->arg_count > call->output_index ? fid_out_tensor(call, 0) : NULL;
    return out ? (fid_dtype)out->dtype : otherwise;
}
