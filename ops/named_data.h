/* A piece of data under a name: how weights that lie outside a program are found. */
#ifndef FID_OPS_NAMED_DATA_H
#define FID_OPS_NAMED_DATA_H

#include "base/dtype.h"
#include "base/span.h"

/* Everything points into storage of whoever gave the entry. A tensor's bytes lie densely in its dim order, and are as many as its
 * sizes say; without a tensor's layout, dtype and rank are 0 and the bytes are whatever the reader of that key expects. */
typedef struct fid_named_data {
    const char *key;
    fid_span bytes;
    bool is_tensor;
    uint8_t dtype, rank;      /* fid_dtype */
    const int32_t *sizes;     /* rank entries */
    const uint8_t *dim_order; /* rank entries, a permutation */
} fid_named_data;

#endif
