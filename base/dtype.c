/* Names, sizes and promotion of dtypes. */
#include "base/dtype.h"

typedef struct dtype_row {
    uint8_t code, bytes;
    const char *short_name, *name;
} dtype_row;

static const dtype_row rows[] = {
#define FID_DTYPE_ROW(NAME, code, short_name, torch, bytes, type) {code, bytes, short_name, torch},
    FID_DTYPE_MAP(FID_DTYPE_ROW)
#undef FID_DTYPE_ROW
};

static const dtype_row *find(fid_dtype dtype) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].code == dtype) return &rows[i];
    }
    return NULL;
}

size_t fid_dtype_size(fid_dtype dtype) {
    const dtype_row *row = find(dtype);
    return row ? row->bytes : 0;
}

const char *fid_dtype_name(fid_dtype dtype) {
    const dtype_row *row = find(dtype);
    return row ? row->name : "?";
}

const char *fid_dtype_short_name(fid_dtype dtype) {
    const dtype_row *row = find(dtype);
    return row ? row->short_name : "?";
}

fid_dtype fid_dtype_from_name(const char *name) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!strcmp(rows[i].name, name) || !strcmp(rows[i].short_name, name)) return (fid_dtype)rows[i].code;
    }
    return FID_DTYPE_NONE;
}

bool fid_dtype_is_float(fid_dtype dtype) {
    return dtype == FID_FLOAT16 || dtype == FID_FLOAT32 || dtype == FID_FLOAT64 || dtype == FID_BFLOAT16 ||
           dtype == FID_FLOAT8_E5M2 || dtype == FID_FLOAT8_E4M3FN;
}

bool fid_dtype_is_integer(fid_dtype dtype) {
    return dtype <= FID_INT64 || dtype == FID_UINT16 || dtype == FID_UINT32 || dtype == FID_UINT64;
}

bool fid_dtype_is_complex(fid_dtype dtype) { return dtype == FID_COMPLEX64 || dtype == FID_COMPLEX128; }

static bool is_wide_unsigned(fid_dtype d) { return d == FID_UINT16 || d == FID_UINT32 || d == FID_UINT64; }

static fid_dtype promote_integers(fid_dtype a, fid_dtype b) {
    /* torch knows no promotion of uint16/32/64 with another integer type. */
    if (is_wide_unsigned(a) || is_wide_unsigned(b)) return FID_DTYPE_NONE;
    if (a == FID_UINT8 || b == FID_UINT8) {
        fid_dtype other = a == FID_UINT8 ? b : a;
        return other == FID_INT8 ? FID_INT16 : other;
    }
    return a > b ? a : b;
}

static fid_dtype promote_floats(fid_dtype a, fid_dtype b) {
    bool small_a = fid_dtype_size(a) == 1, small_b = fid_dtype_size(b) == 1;
    if (small_a && small_b) return FID_DTYPE_NONE;
    if (small_a || small_b) return small_a ? b : a;
    if (a == FID_FLOAT64 || b == FID_FLOAT64) return FID_FLOAT64;
    return FID_FLOAT32; /* different half types, or one is float32 already */
}

static fid_dtype promote_complex(fid_dtype a, fid_dtype b) {
    bool wide = a == FID_COMPLEX128 || b == FID_COMPLEX128 || a == FID_FLOAT64 || b == FID_FLOAT64;
    return wide ? FID_COMPLEX128 : FID_COMPLEX64;
}

fid_dtype fid_dtype_promote(fid_dtype a, fid_dtype b) {
    if (a == b) return a;
    if (a == FID_BOOL) return b;
    if (b == FID_BOOL) return a;
    if (fid_dtype_is_complex(a) || fid_dtype_is_complex(b)) return promote_complex(a, b);
    bool float_a = fid_dtype_is_float(a), float_b = fid_dtype_is_float(b);
    if (float_a && float_b) return promote_floats(a, b);
    if (float_a || float_b) return float_a ? a : b;
    return promote_integers(a, b);
}
