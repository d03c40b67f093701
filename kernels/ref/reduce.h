/* The two loops of a reduction: over the outputs' elements, and inside over the elements that each of them sums up. */
#ifndef FID_KERNELS_REF_REDUCE_H
#define FID_KERNELS_REF_REDUCE_H

#include "kernels/ref/elementwise.h"
#include "ops/reduction.h"

typedef struct fidk_reduction {
    fid_call *call;
    const fid_tensor *in;
    fid_dtype as;    /* elements are converted to it when read */
    fidk_form form;  /* of `as` */
    fidk_walk outer; /* at[0]: input offset of the first element; at[1 + k]: offset in output k */
    fidk_walk inner; /* a walk at its start over one output's elements; at[0] is relative to outer.at[0] */
    int64_t count;   /* elements per output */
    double number;   /* an argument for the function: correction, order of a norm */
} fidk_reduction;

/* `dims` and `keepdim` are argument numbers as for fid_reduction_dims_of. */
fid_status fidk_reduction_begin(fidk_reduction *reduction, fid_call *call, uint32_t dims, uint32_t keepdim, fid_dtype as);
/* The same with the dimensions and outputs given; an output has the shape of the kept (or kept as 1) dimensions. */
void fidk_reduction_start(fidk_reduction *reduction, const fid_tensor *in, const fid_reduction_dims *dims, fid_dtype as,
                          const fid_tensor *const *outs, size_t out_count);
/* The input element at the present place of `inner`. */
fidk_element fidk_reduction_get(const fidk_reduction *reduction, const fidk_walk *inner);

/* Computes every element of output `k` from its elements; the result is of dtype `result` before it is stored. */
typedef fidk_element fidk_reduce_function(const fidk_reduction *reduction);
void fidk_reduction_run(fidk_reduction *reduction, uint32_t k, fid_dtype result, fidk_reduce_function *function);

#endif
