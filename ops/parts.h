/* Which part of a tensor an operator names: read from a call's arguments and checked once, for shape functions and kernels.
 * All take the tensor from argument 0; `first_arg` is where the description starts. */
#ifndef FID_OPS_PARTS_H
#define FID_OPS_PARTS_H

#include "ops/kernel.h"

typedef struct fid_slice {
    size_t dim;
    int64_t start, count, step; /* elements of dimension `dim` */
} fid_slice;

/* Arguments dim, start?, end?, step: start and end as Python slices take them. */
fid_status fid_slice_bounds(const fid_call *call, uint32_t first_arg, fid_slice *out_slice);
/* Arguments 1, 2, 3: dim, start, length. */
fid_status fid_narrow_bounds(const fid_call *call, fid_slice *out_slice);
/* Arguments dim, index; the index may be negative. */
fid_status fid_select_index(const fid_call *call, uint32_t first_arg, size_t *out_dim, int64_t *out_index);

typedef struct fid_diagonal {
    size_t row_dim, column_dim;
    int64_t row, column, count; /* first element, number of elements */
} fid_diagonal;

/* Arguments offset, dim1, dim2. */
fid_status fid_diagonal_of(const fid_call *call, uint32_t first_arg, fid_diagonal *out);

/* Arguments size, stride, storage_offset?: fails if an element would lie outside the tensor's memory. */
fid_status fid_as_strided_check(const fid_call *call, uint32_t first_arg);

#endif
