/* Order of elements: NaN after every number, as PyTorch sorts. */
#ifndef FID_KERNELS_REF_ORDER_H
#define FID_KERNELS_REF_ORDER_H

#include "kernels/ref/box.h"

/* An integer that orders as the element does: equal elements (also -0 and 0) have equal keys. Not for complex dtypes. */
int64_t fidk_order_key(fid_dtype dtype, const void *data, int64_t index);

typedef struct fidk_ranked { int64_t key, index; } fidk_ranked;

/* Stable merge sort by key; `spare` has room for as many. */
void fidk_sort_ranked(fidk_ranked *items, fidk_ranked *spare, size_t count, bool descending);

/* Different slices of argument 0 along `dim`, into outputs 0 to 2: all that differ, in order, or runs of equal neighbours. (unique_dim.c) */
fid_status fidk_unique_slices(fid_call *call, int64_t dim, bool neighbours);

fid_status fidk_need_order(const fid_call *call, const fid_tensor *tensor);

#endif
