/* Indexing with tensors (index, index_put): the list of optional index tensors read and checked once, for shape functions and
 * kernels.
 *
 * The result of self[indices] has the dimensions of self that no index covers and, in place of the covered ones, the dimensions
 * of all index tensors broadcast together: at the first covered dimension if the covered ones are neighbours, else in front.
 * A mask (bool or uint8) covers as many dimensions as it has and stands for the list of its true positions. */
#ifndef FID_OPS_INDEXING_H
#define FID_OPS_INDEXING_H

#include "ops/kernel.h"

typedef struct fid_index_entry {
    const fid_tensor *tensor;
    size_t dim;     /* first dimension of self that it covers */
    size_t covers;  /* how many */
    bool mask;
} fid_index_entry;

typedef struct fid_indexing {
    fid_index_entry entries[FID_MAX_RANK];
    size_t count;
    int64_t sizes[FID_MAX_RANK]; /* of the index tensors broadcast together */
    size_t rank;
    uint16_t bound_dims;         /* bit i: sizes[i] is an upper bound, for it depends on a mask's data */
    size_t place;                /* where these dimensions stand in the result */
    uint8_t kept[FID_MAX_RANK];  /* dimensions of self that no index covers, in order */
    size_t kept_count;
} fid_indexing;

/* Reads the list at argument `list`. `true_counts`: number of true positions of each entry that is a mask, when they are known;
 * NULL: not known, their upper bound is taken. */
fid_status fid_indexing_of(const fid_call *call, uint32_t list, const int64_t *true_counts, fid_indexing *out);

/* Sizes of self[indices]. */
fid_status fid_indexing_result(const fid_call *call, const fid_indexing *indexing, fid_meta *out);

#endif
