/* Rows of numbers out of tensors of any dtype and dim order, and back: see dense.h. */
#include "kernels/ref/dense.h"
#include "base/half.h"

/* dtype, storage type, to double, from double */
#define FLOAT_ROWS(X)                                                                                                  \
    X(FID_FLOAT32, float, (double)v, (float)v)                                                                         \
    X(FID_FLOAT64, double, v, v)                                                                                       \
    X(FID_FLOAT16, uint16_t, (double)fid_float_from_f16(v), fid_f16_from_double(v))                                    \
    X(FID_BFLOAT16, uint16_t, (double)fid_float_from_bf16(v), fid_bf16_from_float((float)v))                           \
    X(FID_FLOAT8_E4M3FN, uint8_t, (double)fid_float_from_f8e4m3fn(v), fid_f8e4m3fn_from_float((float)v))               \
    X(FID_FLOAT8_E5M2, uint8_t, (double)fid_float_from_f8e5m2(v), fid_f8e5m2_from_float((float)v))
/* dtype, storage type, smallest and largest value */
#define INTEGER_ROWS(X)                                                                                                \
    X(FID_UINT8, uint8_t, 0, UINT8_MAX)                                                                                \
    X(FID_INT8, int8_t, INT8_MIN, INT8_MAX)                                                                            \
    X(FID_INT16, int16_t, INT16_MIN, INT16_MAX)                                                                        \
    X(FID_INT32, int32_t, INT32_MIN, INT32_MAX)                                                                        \
    X(FID_INT64, int64_t, INT64_MIN, INT64_MAX)                                                                        \
    X(FID_BOOL, uint8_t, 0, 1)                                                                                         \
    X(FID_UINT16, uint16_t, 0, UINT16_MAX)                                                                             \
    X(FID_UINT32, uint32_t, 0, UINT32_MAX)                                                                             \
    X(FID_UINT64, uint64_t, 0, UINT64_MAX)

void fidk_load_row(const fid_tensor *tensor, int64_t offset, int64_t stride, size_t count, double *out_row) {
    if (count == 0) return;
    switch (tensor->dtype) {
#define LOAD_FLOAT(dtype, type, to_double, from_double)                                                                \
    case dtype: {                                                                                                      \
        const type *at = (const type *)tensor->data + offset;                                                          \
        for (size_t k = 0; k < count; k++) {                                                                           \
            type v = at[(int64_t)k * stride];                                                                          \
            out_row[k] = to_double;                                                                                    \
        }                                                                                                              \
        break;                                                                                                         \
    }
#define LOAD_INTEGER(dtype, type, least, most)                                                                         \
    case dtype: {                                                                                                      \
        const type *at = (const type *)tensor->data + offset;                                                          \
        for (size_t k = 0; k < count; k++) out_row[k] = (double)at[(int64_t)k * stride];                               \
        break;                                                                                                         \
    }
        FLOAT_ROWS(LOAD_FLOAT)
        INTEGER_ROWS(LOAD_INTEGER)
    }
}

void fidk_store_row(const fid_tensor *tensor, int64_t offset, int64_t stride, size_t count, const double *row) {
    if (count == 0) return;
    switch (tensor->dtype) {
#define STORE_FLOAT(dtype, type, to_double, from_double)                                                               \
    case dtype: {                                                                                                      \
        type *at = (type *)tensor->data + offset;                                                                      \
        for (size_t k = 0; k < count; k++) {                                                                           \
            double v = row[k];                                                                                         \
            at[(int64_t)k * stride] = from_double;                                                                     \
        }                                                                                                              \
        break;                                                                                                         \
    }
#define STORE_INTEGER(dtype, type, least, most)                                                                        \
    case dtype: {                                                                                                      \
        type *at = (type *)tensor->data + offset;                                                                      \
        for (size_t k = 0; k < count; k++) {                                                                           \
            double v = row[k];                                                                                         \
            at[(int64_t)k * stride] = v != v ? 0 : v <= (double)least ? least : v >= (double)most ? most : (type)v;    \
        }                                                                                                              \
        break;                                                                                                         \
    }
        FLOAT_ROWS(STORE_FLOAT)
        INTEGER_ROWS(STORE_INTEGER)
    }
}

void fidk_load_row_int(const fid_tensor *tensor, int64_t offset, int64_t stride, size_t count, int64_t *out_row) {
    if (count == 0) return;
    switch (tensor->dtype) {
#define LOAD_INT(dtype, type, least, most)                                                                             \
    case dtype: {                                                                                                      \
        const type *at = (const type *)tensor->data + offset;                                                          \
        for (size_t k = 0; k < count; k++) out_row[k] = (int64_t)at[(int64_t)k * stride];                              \
        break;                                                                                                         \
    }
        INTEGER_ROWS(LOAD_INT)
    }
}

void fidk_store_row_int(const fid_tensor *tensor, int64_t offset, int64_t stride, size_t count, const int64_t *row) {
    if (count == 0) return;
    if (tensor->dtype == FID_BOOL) {
        uint8_t *at = (uint8_t *)tensor->data + offset;
        for (size_t k = 0; k < count; k++) at[(int64_t)k * stride] = row[k] != 0;
        return;
    }
    switch (tensor->dtype) {
#define STORE_INT(dtype, type, least, most)                                                                            \
    case dtype: {                                                                                                      \
        type *at = (type *)tensor->data + offset;                                                                      \
        for (size_t k = 0; k < count; k++) at[(int64_t)k * stride] = (type)row[k];                                     \
        break;                                                                                                         \
    }
        INTEGER_ROWS(STORE_INT)
    }
}

double *fidk_doubles(fid_call *call, size_t count) {
    size_t bytes;
    return fid_mul_size(count ? count : 1, sizeof(double), &bytes) ? fid_call_scratch(call, bytes) : NULL;
}

int64_t *fidk_ints(fid_call *call, size_t count) {
    size_t bytes;
    return fid_mul_size(count ? count : 1, sizeof(int64_t), &bytes) ? fid_call_scratch(call, bytes) : NULL;
}

size_t fidk_product(const int64_t *sizes, size_t rank) {
    size_t product;
    return fid_mul_sizes(sizes, rank, &product) ? product : SIZE_MAX;
}

bool fidk_next_index(int64_t *index, const int64_t *sizes, size_t rank) {
    for (size_t d = rank; d-- > 0;) {
        if (++index[d] < sizes[d]) return true;
        index[d] = 0;
    }
    return false;
}

int64_t fidk_strided(const int64_t *index, const int64_t *strides, size_t rank) {
    int64_t offset = 0;
    for (size_t d = 0; d < rank; d++) offset += index[d] * strides[d];
    return offset;
}

void fidk_load_view(const fid_tensor *tensor, size_t rank, const int64_t *sizes, const int64_t *strides, double *out) {
    int64_t index[FID_MAX_RANK] = {0};
    if (rank == 0) {
        fidk_load_row(tensor, 0, 1, 1, out);
        return;
    }
    if (fidk_product(sizes, rank) == 0) return;
    size_t row = (size_t)sizes[rank - 1];
    do {
        fidk_load_row(tensor, fidk_strided(index, strides, rank - 1), strides[rank - 1], row, out);
        out += row;
    } while (fidk_next_index(index, sizes, rank - 1));
}

void fidk_store_view(const fid_tensor *tensor, size_t rank, const int64_t *sizes, const int64_t *strides, const double *values) {
    int64_t index[FID_MAX_RANK] = {0};
    if (rank == 0) {
        fidk_store_row(tensor, 0, 1, 1, values);
        return;
    }
    if (fidk_product(sizes, rank) == 0) return;
    size_t row = (size_t)sizes[rank - 1];
    do {
        fidk_store_row(tensor, fidk_strided(index, strides, rank - 1), strides[rank - 1], row, values);
        values += row;
    } while (fidk_next_index(index, sizes, rank - 1));
}

double *fidk_dense_load(fid_call *call, const fid_tensor *tensor) {
    double *values = fidk_doubles(call, fid_tensor_numel(tensor));
    if (values) fidk_load_view(tensor, tensor->rank, tensor->sizes, tensor->strides, values);
    return values;
}

double *fidk_dense_load_or(fid_call *call, const fid_tensor *tensor, size_t count, double absent) {
    if (tensor) return fidk_dense_load(call, tensor);
    double *values = fidk_doubles(call, count);
    for (size_t i = 0; values && i < count; i++) values[i] = absent;
    return values;
}

void fidk_dense_store(const fid_tensor *tensor, const double *values) {
    fidk_store_view(tensor, tensor->rank, tensor->sizes, tensor->strides, values);
}

void fidk_dense_store_int(const fid_tensor *tensor, const int64_t *values) {
    int64_t index[FID_MAX_RANK] = {0};
    if (fid_tensor_numel(tensor) == 0) return;
    do {
        fidk_store_row_int(tensor, fidk_strided(index, tensor->strides, tensor->rank), 1, 1, values++);
    } while (fidk_next_index(index, tensor->sizes, tensor->rank));
}

double fidk_dot(const double *a, const double *b, size_t count) {
    double sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        sum0 += a[i] * b[i];
        sum1 += a[i + 1] * b[i + 1];
        sum2 += a[i + 2] * b[i + 2];
        sum3 += a[i + 3] * b[i + 3];
    }
    for (; i < count; i++) sum0 += a[i] * b[i];
    return (sum0 + sum1) + (sum2 + sum3);
}
