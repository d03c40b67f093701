/* Boxes: strided windows into a tensor's memory. Every operator that only moves elements is a few box steps (narrow, select,
 * swap, split a dimension) on its input or output and one copy. */
#ifndef FID_KERNELS_REF_BOX_H
#define FID_KERNELS_REF_BOX_H

#include "kernels/ref/elements.h"
#include "ops/parts.h"

#define FIDK_BOX_RANK (FID_MAX_RANK + 4) /* rearrangements such as pixel_shuffle split dimensions first */

typedef struct fidk_box {
    uint8_t *data;                   /* the element at index 0, 0, ... */
    int64_t sizes[FIDK_BOX_RANK];
    int64_t strides[FIDK_BOX_RANK];  /* elements; 0 repeats, negative runs backwards */
    size_t rank;
    fid_dtype dtype;
} fidk_box;

fidk_box fidk_box_of(const fid_tensor *tensor);

/* Keeps `size` indices of a dimension: start, start + step, ...; step may be negative. Callers have checked the range. */
void fidk_box_narrow(fidk_box *box, size_t dim, int64_t start, int64_t size, int64_t step);
/* Fixes the index of a dimension and drops it. */
void fidk_box_select(fidk_box *box, size_t dim, int64_t index);
void fidk_box_swap(fidk_box *box, size_t a, size_t b);
/* Puts a dimension in front of `dim`. */
void fidk_box_insert(fidk_box *box, size_t dim, int64_t size, int64_t stride);
/* Splits a dimension into an outer one and an inner one of size `inner`, which divides it. */
void fidk_box_split(fidk_box *box, size_t dim, int64_t inner);
/* Moves dimension `from` to place `to`, the others keep their order. */
void fidk_box_move(fidk_box *box, size_t from, size_t to);
/* Broadcasts to sizes that the shape fits (checked by the caller). */
void fidk_box_expand(fidk_box *box, const int64_t *sizes, size_t rank);

/* Drops the two dimensions of a diagonal and appends one that runs along it. */
void fidk_box_diagonal(fidk_box *box, const fid_diagonal *diagonal);
/* Copies between boxes of equal sizes that do not overlap; converts if the dtypes differ. */
void fidk_box_copy(const fidk_box *to, const fidk_box *from);
/* Copies in logical order between boxes of equal numbers of elements. */
void fidk_box_reshape(const fidk_box *to, const fidk_box *from);
void fidk_box_fill(const fidk_box *box, fidk_element value);

/* Offset of element number `flat` in logical row-major order. */
int64_t fidk_flat_offset(const fid_tensor *tensor, int64_t flat);

/* Whole tensors: out = in (same shape), out = in (same count, logical order), out = a number. */
void fidk_copy(const fid_tensor *out, const fid_tensor *in);
void fidk_reshape(const fid_tensor *out, const fid_tensor *in);
void fidk_fill(const fid_tensor *out, fidk_element value);

#endif
