/* Tensors and values: what flows through a program, at run time and in the compiler. */
#ifndef FID_OPS_VALUE_H
#define FID_OPS_VALUE_H

#include "base/checked.h"
#include "base/dtype.h"
#include "base/status.h"

/* How far a tensor's sizes may move; numbers of upstream's TensorShapeDynamism. */
typedef enum fid_dynamism { FID_STATIC = 0, FID_DYNAMIC_BOUND = 1, FID_DYNAMIC_UNBOUND = 2 } fid_dynamism;

/* A dense tensor in some dim order. It owns nothing.
 *
 * Sizes, strides and dim_order have `rank` entries. `dim_order` lists dimensions from outermost to innermost in memory;
 * {0,1,2,3} is row-major, {0,2,3,1} is channels-last. Strides (elements) always follow from sizes and dim order
 * (fid_tensor_update_strides). In logical order, element (i0, i1, ...) lies at data + sum(i * stride) * element size. */
typedef struct fid_tensor {
    void *data;        /* NULL only while unbound or when empty */
    int64_t *sizes;    /* elements */
    int64_t *strides;  /* elements */
    uint8_t *dim_order;
    size_t capacity;   /* bytes at `data`: what a resize may use */
    uint8_t rank;
    uint8_t dtype;     /* fid_dtype */
    uint8_t dynamism;  /* fid_dynamism */
    uint8_t flags;     /* FID_TENSOR_CONSTANT: data is read-only and never changes */
} fid_tensor;

enum { FID_TENSOR_CONSTANT = 1 };

/* Kinds of value; numbers of upstream's runtime Tag. */
typedef enum fid_tag {
    FID_TAG_NONE = 0, FID_TAG_TENSOR = 1, FID_TAG_STRING = 2, FID_TAG_DOUBLE = 3, FID_TAG_INT = 4, FID_TAG_BOOL = 5,
    FID_TAG_BOOL_LIST = 6, FID_TAG_DOUBLE_LIST = 7, FID_TAG_INT_LIST = 8, FID_TAG_TENSOR_LIST = 9,
    FID_TAG_OPTIONAL_TENSOR_LIST = 11
} fid_tag;

/* A value. Pointers inside point to storage of whoever made the value. */
typedef struct fid_value {
    union {
        fid_tensor *tensor;
        double number;
        int64_t integer;
        bool boolean;
        struct { const char *text; size_t length; } string;
        struct { const bool *items; size_t count; } bools;
        struct { const double *items; size_t count; } doubles;
        struct { const int64_t *items; size_t count; } ints;
        struct { fid_tensor *const *items; size_t count; } tensors; /* items may be NULL in an optional list */
    } as;
    uint8_t tag; /* fid_tag */
} fid_value;

static inline fid_value fid_none_value(void) { return (fid_value){.tag = FID_TAG_NONE}; }
static inline fid_value fid_tensor_value(fid_tensor *t) { return (fid_value){.as.tensor = t, .tag = FID_TAG_TENSOR}; }
static inline fid_value fid_int_value(int64_t i) { return (fid_value){.as.integer = i, .tag = FID_TAG_INT}; }
static inline fid_value fid_double_value(double d) { return (fid_value){.as.number = d, .tag = FID_TAG_DOUBLE}; }
static inline fid_value fid_bool_value(bool b) { return (fid_value){.as.boolean = b, .tag = FID_TAG_BOOL}; }

/* Reading numbers loosely, as PyTorch's Scalar and upstream's EValue do: ints, doubles and bools stand for each other. */
static inline bool fid_value_is_number(const fid_value *v) {
    return v->tag == FID_TAG_INT || v->tag == FID_TAG_DOUBLE || v->tag == FID_TAG_BOOL;
}
static inline double fid_value_double(const fid_value *v) {
    return v->tag == FID_TAG_DOUBLE ? v->as.number : v->tag == FID_TAG_BOOL ? (double)v->as.boolean : (double)v->as.integer;
}
int64_t fid_value_int(const fid_value *v);   /* a double is cut towards zero; NaN and out of range give 0 */
static inline bool fid_value_bool(const fid_value *v) {
    return v->tag == FID_TAG_DOUBLE ? v->as.number != 0 : v->tag == FID_TAG_BOOL ? v->as.boolean : v->as.integer != 0;
}

/* Number of elements / bytes of the live sizes. Sizes were checked when they were set, so these do not overflow. */
size_t fid_tensor_numel(const fid_tensor *tensor);
size_t fid_tensor_bytes(const fid_tensor *tensor);

/* Recomputes strides from sizes and dim order. */
void fid_tensor_update_strides(fid_tensor *tensor);
/* Strides for given sizes and dim order (rank entries each). Zero sizes count as one, as in PyTorch. */
void fid_strides_of(const int64_t *sizes, const uint8_t *dim_order, size_t rank, int64_t *out_strides);

/* True if memory order equals logical order: dim order 0,1,2,... up to dimensions of size one. */
bool fid_tensor_is_contiguous(const fid_tensor *tensor);
/* True if both have equal sizes and every dimension of size over one has the same stride: element k in memory is the same
 * logical element in both. Pointwise kernels then run flat. */
bool fid_tensor_same_layout(const fid_tensor *a, const fid_tensor *b);

/* Sets live sizes and strides of an output. Fails with FID_INVALID_ARGUMENT or FID_NOT_SUPPORTED if the tensor is static and
 * the sizes differ, the rank differs, or the bytes exceed the capacity. */
fid_status fid_tensor_resize(const fid_sink *sink, fid_tensor *tensor, const int64_t *sizes, size_t rank);

/* True if dim_order is a permutation of 0..rank-1. */
bool fid_dim_order_valid(const uint8_t *dim_order, size_t rank);

#endif
