/* Data types of tensor elements, numbered as PyTorch's ScalarType and upstream's scalar_type.fbs. */
#ifndef FID_BASE_DTYPE_H
#define FID_BASE_DTYPE_H

#include "base/deps.h"

/* NAME, code, short name (text form), torch name, bytes of an element, C storage type */
#define FID_DTYPE_MAP(X)                                                       \
    X(UINT8, 0, "u8", "uint8", 1, uint8_t)                                     \
    X(INT8, 1, "i8", "int8", 1, int8_t)                                        \
    X(INT16, 2, "i16", "int16", 2, int16_t)                                    \
    X(INT32, 3, "i32", "int32", 4, int32_t)                                    \
    X(INT64, 4, "i64", "int64", 8, int64_t)                                    \
    X(FLOAT16, 5, "f16", "float16", 2, uint16_t)                               \
    X(FLOAT32, 6, "f32", "float32", 4, float)                                  \
    X(FLOAT64, 7, "f64", "float64", 8, double)                                 \
    X(COMPLEX64, 9, "c64", "complex64", 8, fid_complex64)                      \
    X(COMPLEX128, 10, "c128", "complex128", 16, fid_complex128)                \
    X(BOOL, 11, "b8", "bool", 1, uint8_t)                                      \
    X(BFLOAT16, 15, "bf16", "bfloat16", 2, uint16_t)                           \
    X(FLOAT8_E5M2, 23, "f8e5m2", "float8_e5m2", 1, uint8_t)                    \
    X(FLOAT8_E4M3FN, 24, "f8e4m3fn", "float8_e4m3fn", 1, uint8_t)              \
    X(UINT16, 27, "u16", "uint16", 2, uint16_t)                                \
    X(UINT32, 28, "u32", "uint32", 4, uint32_t)                                \
    X(UINT64, 29, "u64", "uint64", 8, uint64_t)

typedef struct fid_complex64 { float re, im; } fid_complex64;
typedef struct fid_complex128 { double re, im; } fid_complex128;

typedef enum fid_dtype {
#define FID_DTYPE_ENUM(NAME, code, short_name, torch, bytes, type) FID_##NAME = code,
    FID_DTYPE_MAP(FID_DTYPE_ENUM)
#undef FID_DTYPE_ENUM
    FID_DTYPE_NONE = 255
} fid_dtype;

/* Bytes of one element; 0 for a number that is no dtype of ours (use it as the validity check). */
size_t fid_dtype_size(fid_dtype dtype);
/* "float32"; "?" if unknown. */
const char *fid_dtype_name(fid_dtype dtype);
/* "f32"; "?" if unknown. */
const char *fid_dtype_short_name(fid_dtype dtype);
/* From either name; FID_DTYPE_NONE if unknown. */
fid_dtype fid_dtype_from_name(const char *name);

bool fid_dtype_is_float(fid_dtype dtype);   /* float16/32/64, bfloat16, float8 */
bool fid_dtype_is_integer(fid_dtype dtype); /* signed and unsigned, without bool */
bool fid_dtype_is_complex(fid_dtype dtype);

/* PyTorch's promotion of two dtypes (torch.promote_types); FID_DTYPE_NONE where PyTorch refuses. */
fid_dtype fid_dtype_promote(fid_dtype a, fid_dtype b);

#endif
