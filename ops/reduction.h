/* Which dimensions a call reduces: shared by shape functions and kernels of reductions. */
#ifndef FID_OPS_REDUCTION_H
#define FID_OPS_REDUCTION_H

#include "ops/kernel.h"

#define FID_NO_ARG UINT32_MAX
#define FID_LITERAL_DIMS 0x80000000u /* added to an argument number: an empty list there reduces nothing (any.dims, all.dims) */

typedef struct fid_reduction_dims {
    bool reduced[FID_MAX_RANK];
    bool keep; /* reduced dimensions stay with size 1 */
} fid_reduction_dims;

/* Reads a dimension or list of them from argument `dims` and the flag from argument `keepdim`. FID_NO_ARG: the operator has no such
 * argument. No dimensions at all (no argument, None, an empty list) means every dimension. Sentence on a bad or repeated one. */
fid_status fid_reduction_dims_of(const fid_call *call, uint32_t dims, uint32_t keepdim, fid_reduction_dims *out_dims);

/* Meta of `tensor` with the dimensions reduced; the dim order of those that stay is kept. */
fid_meta fid_meta_reduced(const fid_tensor *tensor, const fid_reduction_dims *dims, fid_dtype dtype);

/* dtype in which sum, prod and their like compute and return: argument `i` if given, else int64 for integers and bool. */
fid_dtype fid_sum_dtype(const fid_call *call, uint32_t i);

#endif
