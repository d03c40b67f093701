/* PyTorch's type promotion over the arguments of a call: what torch.result_type gives. */
#ifndef FID_OPS_PROMOTE_H
#define FID_OPS_PROMOTE_H

#include "ops/kernel.h"

/* Collects dtypes in three classes of falling priority: tensors with dimensions, tensors without, plain numbers. A class decides
 * only if a higher one is of a lower category (bool < integer < float < complex). Start from fid_promotion_none(). */
typedef struct fid_promotion {
    fid_dtype dimensioned, zero_dim, number; /* FID_DTYPE_NONE: nothing of the class yet */
} fid_promotion;

static inline fid_promotion fid_promotion_none(void) {
    return (fid_promotion){FID_DTYPE_NONE, FID_DTYPE_NONE, FID_DTYPE_NONE};
}
/* Adds a tensor or a number; anything else (an absent optional argument) is passed over. */
void fid_promotion_add(fid_promotion *promotion, const fid_value *value);
fid_dtype fid_promotion_result(const fid_promotion *promotion);

/* torch.result_type of the arguments [first, first + count) of a call. FID_DTYPE_NONE if PyTorch refuses the mix. */
fid_dtype fid_result_type(const fid_call *call, uint32_t first, uint32_t count);

/* dtype of the output of an operator with tensor options: argument `i` if the call has the functional form, which has `inputs`
 * arguments, else the dtype of the output tensor, since the out= form has no options. `otherwise` if neither tells. */
fid_dtype fid_option_dtype(const fid_call *call, uint32_t i, uint32_t inputs, fid_dtype otherwise);

/* dtype if it is floating or complex, else float32, PyTorch's default. */
static inline fid_dtype fid_dtype_to_float(fid_dtype dtype) {
    return fid_dtype_is_float(dtype) || fid_dtype_is_complex(dtype) ? dtype : FID_FLOAT32;
}

#endif
