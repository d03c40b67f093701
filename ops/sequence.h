/* Sequences and triangles as operators describe them: read and checked once, for shape functions and kernels. */
#ifndef FID_OPS_SEQUENCE_H
#define FID_OPS_SEQUENCE_H

#include "ops/kernel.h"

typedef struct fid_arange {
    fid_value start, end, step;
    bool whole;    /* all three are ints or bools, or are cut to ints because the output is int64 */
    int64_t count; /* elements */
} fid_arange;

/* Arguments end (numbers = 1), start and end (2) or start, end and step (3). */
fid_status fid_arange_of(const fid_call *call, uint32_t numbers, fid_arange *out);
/* dtype of the output: argument, output tensor or PyTorch's default. */
fid_dtype fid_arange_dtype(const fid_call *call, uint32_t numbers);

/* How many of the `columns` elements of a row lie on or below the diagonal `offset`. */
int64_t fid_tril_row_length(int64_t row, int64_t columns, int64_t offset);

#endif
