/* Combining many values into places of an output (index_put, scatter_reduce, index_add, col2im). Halves are summed in double and
 * rounded once at the end. */
#ifndef FID_KERNELS_REF_ACCUMULATE_H
#define FID_KERNELS_REF_ACCUMULATE_H

#include "kernels/ref/box.h"

typedef enum fidk_combine {
    FIDK_REPLACE, /* the last one stays */
    FIDK_ADD,
    FIDK_MULTIPLY,
    FIDK_MEAN,
    FIDK_MAX,     /* NaN wins */
    FIDK_MIN,
} fidk_combine;

typedef struct fidk_accumulator {
    const fid_tensor *out; /* holds the starting values */
    fidk_combine combine;
    double *wide;          /* all elements in memory order, for halves; else NULL */
    int64_t *counts;       /* contributions so far, in memory order; NULL if nobody asks */
    bool include_start;    /* the starting value takes part; else the first contribution replaces it */
} fidk_accumulator;

/* Scratch bytes that fidk_accumulator_begin asks for, at most. */
size_t fidk_accumulator_bytes(const fid_tensor *out);
fid_status fidk_accumulator_begin(fid_call *call, fidk_combine combine, bool include_start, fidk_accumulator *out_accumulator);
/* Combines `element`, in the form and range of the output's dtype, into the element at `offset` (elements, in memory). */
void fidk_accumulate(fidk_accumulator *accumulator, int64_t offset, fidk_element element);
void fidk_accumulator_end(fidk_accumulator *accumulator);

/* An index from data: wraps a negative one; a sentence with the allowed range if it is outside of [-size, size). */
fid_status fidk_index_in(const fid_call *call, int64_t index, int64_t size, int64_t *out_index);

#endif
