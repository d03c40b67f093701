/* Tensors of any dtype and dim order as plain rows of double (or int64_t), in logical order.
 *
 * The reference kernels of this folder that compute (products, convolutions, norms, ...) read their inputs into scratch
 * with these functions, work in double over plain pointers, and round once when they store: so every float dtype has one
 * definition, and no inner loop holds a dtype switch. int64_t rows serve integer dtypes, where sums wrap as in C. */
#ifndef FIDK_REF_DENSE_H
#define FIDK_REF_DENSE_H

#include "ops/kernel.h"

/* Returns early when scratch is short. */
#define FIDK_NEED(pointer)                                                                                             \
    do {                                                                                                               \
        if (!(pointer)) return FID_OUT_OF_MEMORY;                                                                      \
    } while (0)

/* Element `offset + k * stride` (elements) for k in [0, count) as double. */
void fidk_load_row(const fid_tensor *tensor, int64_t offset, int64_t stride, size_t count, double *out_row);
/* Rounds to the tensor's dtype; integers are cut towards zero and saturate, NaN gives 0. */
void fidk_store_row(const fid_tensor *tensor, int64_t offset, int64_t stride, size_t count, const double *row);
/* The same for bool and integer dtypes, exactly; stores wrap. */
void fidk_load_row_int(const fid_tensor *tensor, int64_t offset, int64_t stride, size_t count, int64_t *out_row);
void fidk_store_row_int(const fid_tensor *tensor, int64_t offset, int64_t stride, size_t count, const int64_t *row);

/* Scratch for `count` numbers; never NULL for count 0, NULL when memory is short. */
double *fidk_doubles(fid_call *call, size_t count);
int64_t *fidk_ints(fid_call *call, size_t count);
/* Product of sizes in one go, for fidk_doubles; SIZE_MAX on overflow, which no scratch can serve. */
size_t fidk_product(const int64_t *sizes, size_t rank);

/* A view of a tensor with sizes and strides of the kernel's choice, row-major into `out`. */
void fidk_load_view(const fid_tensor *tensor, size_t rank, const int64_t *sizes, const int64_t *strides, double *out);
void fidk_store_view(const fid_tensor *tensor, size_t rank, const int64_t *sizes, const int64_t *strides, const double *values);

/* The whole tensor in logical order, as new scratch; NULL when memory is short. */
double *fidk_dense_load(fid_call *call, const fid_tensor *tensor);
/* An optional tensor of `count` elements: `absent` everywhere if it is NULL. */
double *fidk_dense_load_or(fid_call *call, const fid_tensor *tensor, size_t count, double absent);
void fidk_dense_store(const fid_tensor *tensor, const double *values);
void fidk_dense_store_int(const fid_tensor *tensor, const int64_t *values);

/* sum(a[i] * b[i]). Four partial sums, so that the definition is also quick enough to test whole models with. */
double fidk_dot(const double *a, const double *b, size_t count);

/* A counter over an index space: `index` starts at zeros; false after the last index. */
bool fidk_next_index(int64_t *index, const int64_t *sizes, size_t rank);
/* sum(index[d] * strides[d]). */
int64_t fidk_strided(const int64_t *index, const int64_t *strides, size_t rank);

#endif
