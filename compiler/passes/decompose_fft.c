/* Fourier transforms: lengths, dimensions and norms of the many functions, into the three transforms that have a kernel:
 * real to complex, complex to real, complex to complex. */
#include "compiler/passes/rewrite.h"

/* What the kernels divide by. */
enum { SCALE_NONE = 0, SCALE_ROOT = 1, SCALE_COUNT = 2 };

/* "backward" divides the inverse, "forward" the forward transform, "ortho" both by the root. */
static int64_t scaling(const char *norm, bool forward) {
    if (norm && strcmp(norm, "ortho") == 0) return SCALE_ROOT;
    bool divides_forward = norm && strcmp(norm, "forward") == 0;
    return divides_forward == forward ? SCALE_COUNT : SCALE_NONE;
}

static fid_dtype real_of(fid_dtype dtype) {
    if (dtype == FID_COMPLEX64) return FID_FLOAT32;
    if (dtype == FID_COMPLEX128) return FID_FLOAT64;
    return fid_dtype_is_float(dtype) ? dtype : FID_FLOAT32;
}

static fidc_value *as_real(fidc_rewriter *rw, fidc_value *x) { return x ? fidc_rw_cast(rw, x, real_of((fid_dtype)x->dtype)) : NULL; }

static fidc_value *as_complex(fidc_rewriter *rw, fidc_value *x) {
    if (!x || fid_dtype_is_complex((fid_dtype)x->dtype)) return x;
    return fidc_rw_cast(rw, x, real_of((fid_dtype)x->dtype) == FID_FLOAT64 ? FID_COMPLEX128 : FID_COMPLEX64);
}

static fidc_value *conjugated(fidc_rewriter *rw, fidc_value *x) { return x ? RW(rw, conj_physical, fidc_v(x)) : NULL; }

/* ---- Dimensions and lengths ---- */

typedef struct transform {
    int64_t dims[FID_MAX_RANK], lengths[FID_MAX_RANK]; /* length -1: the input's own */
    size_t count;
    const char *norm;
} transform;

/* (x, n, dim, norm) */
static bool read_one(const fidc_rewriter *rw, transform *out) {
    const fidc_value *x = fidc_rw_value(rw, 0);
    *out = (transform){.count = 1, .norm = fidc_rw_string(rw, 3, NULL)};
    out->dims[0] = fidc_rw_dim(rw, 2, -1, x->rank);
    out->lengths[0] = fidc_rw_int(rw, 1, -1);
    return x->rank > 0;
}

/* (x, s, dim, norm): without dim the last ones, as many as s has, or all. */
static bool read_many(const fidc_rewriter *rw, transform *out) {
    const fidc_value *x = fidc_rw_value(rw, 0);
    size_t lengths, dims;
    *out = (transform){.norm = fidc_rw_string(rw, 3, NULL)};
    if (!fidc_rw_ints(rw, 1, out->lengths, &lengths) || !fidc_rw_ints(rw, 2, out->dims, &dims)) return false;
    bool has_lengths = !fidc_rw_is_none(rw, 1), has_dims = !fidc_rw_is_none(rw, 2);
    out->count = has_dims ? dims : has_lengths ? lengths : x->rank;
    if (out->count > x->rank || (has_lengths && has_dims && lengths != dims)) return false;
    for (size_t i = 0; i < out->count; i++) {
        if (!has_dims) out->dims[i] = (int64_t)(x->rank - out->count + i);
        if (!has_lengths) out->lengths[i] = -1;
        out->dims[i] = fidc_wrap(out->dims[i], x->rank);
    }
    return true;
}

/* A longer length pads with zeros, a shorter one cuts. */
static fidc_value *with_length(fidc_rewriter *rw, fidc_value *x, int64_t dim, int64_t length) {
    int64_t size = x ? fidc_size(x, (size_t)dim) : -1, pads[2 * FID_MAX_RANK] = {0};
    if (!x || length < 0 || length == size) return x;
    if (size >= 0 && length < size) return fidc_rw_slice(rw, x, dim, fidc_i(0), fidc_i(length));
    if (size < 0) return NULL;
    size_t from_end = x->rank - 1u - (size_t)dim;
    pads[2 * from_end + 1] = length - size;
    return RW(rw, constant_pad_nd, fidc_v(x), fidc_ints(rw->program, pads, 2 * (from_end + 1)), fidc_i(0));
}

static fidc_value *with_lengths(fidc_rewriter *rw, fidc_value *x, const transform *t) {
    for (size_t i = 0; i < t->count && x; i++) x = with_length(rw, x, t->dims[i], t->lengths[i]);
    return x;
}

/* ---- Kernels ---- */

static fidc_value *c2c(fidc_rewriter *rw, fidc_value *x, const transform *t, size_t count, bool forward) {
    if (!x || !count) return x;
    return RW(rw, _fft_c2c, fidc_v(x), fidc_ints(rw->program, t->dims, count), fidc_i(scaling(t->norm, forward)), fidc_b(forward));
}

static fidc_value *r2c_last(fidc_rewriter *rw, fidc_value *x, const transform *t, bool forward) {
    fidc_arg last = fidc_ints(rw->program, &t->dims[t->count - 1], 1);
    return x ? RW(rw, _fft_r2c, fidc_v(x), last, fidc_i(scaling(t->norm, forward)), fidc_b(true)) : NULL;
}

static fidc_value *c2r_last(fidc_rewriter *rw, fidc_value *x, const transform *t, int64_t length, bool forward) {
    fidc_arg last = fidc_ints(rw->program, &t->dims[t->count - 1], 1);
    return x ? RW(rw, _fft_c2r, fidc_v(x), last, fidc_i(scaling(t->norm, forward)), fidc_i(length)) : NULL;
}

/* ---- Functions ---- */

static fid_status complex_transform(fidc_rewriter *rw, bool known, const transform *t, bool forward) {
    if (!known) return fidc_rw_refuse(rw, "lengths and dimensions must be constant");
    fidc_value *x = as_complex(rw, with_lengths(rw, fidc_rw_value(rw, 0), t));
    return fidc_rw_become(rw, c2c(rw, x, t, t->count, forward));
}

/* Real input: half of the last dimension's spectrum, then the other dimensions in full. `conjugate` for the inverse. */
static fid_status half_spectrum(fidc_rewriter *rw, bool known, const transform *t, bool conjugate) {
    if (!known || !t->count) return fidc_rw_refuse(rw, "lengths and dimensions must be constant");
    fidc_value *x = r2c_last(rw, with_lengths(rw, as_real(rw, fidc_rw_value(rw, 0)), t), t, !conjugate);
    if (conjugate) x = conjugated(rw, x);
    return fidc_rw_become(rw, c2c(rw, x, t, t->count - 1, !conjugate));
}

/* Back to real numbers: the last dimension's length is that of the output. `conjugate` for the forward (Hermitian) transform. */
static fid_status from_half_spectrum(fidc_rewriter *rw, bool known, const transform *t, bool conjugate) {
    fidc_value *x = fidc_rw_value(rw, 0);
    if (!known || !t->count || fidc_rw_out(rw)->rank != x->rank) return fidc_rw_refuse(rw, "lengths and dimensions must be constant");
    size_t last = t->count - 1;
    int64_t length = fidc_size(fidc_rw_out(rw), (size_t)t->dims[last]);
    if (length < 0) return fidc_rw_refuse(rw, "the output's length must be constant");
    transform half = *t;
    half.lengths[last] = length / 2 + 1;
    x = c2c(rw, as_complex(rw, with_lengths(rw, x, &half)), t, last, conjugate);
    if (conjugate) x = conjugated(rw, x);
    return fidc_rw_become(rw, c2r_last(rw, x, t, length, conjugate));
}

#define FFT_RULES(suffix, read)                                                                                        \
    static fid_status fft##suffix(fidc_rewriter *rw) { transform t; bool k = read(rw, &t); return complex_transform(rw, k, &t, true); }        \
    static fid_status ifft##suffix(fidc_rewriter *rw) { transform t; bool k = read(rw, &t); return complex_transform(rw, k, &t, false); }      \
    static fid_status rfft##suffix(fidc_rewriter *rw) { transform t; bool k = read(rw, &t); return half_spectrum(rw, k, &t, false); }          \
    static fid_status ihfft##suffix(fidc_rewriter *rw) { transform t; bool k = read(rw, &t); return half_spectrum(rw, k, &t, true); }          \
    static fid_status irfft##suffix(fidc_rewriter *rw) { transform t; bool k = read(rw, &t); return from_half_spectrum(rw, k, &t, false); }    \
    static fid_status hfft##suffix(fidc_rewriter *rw) { transform t; bool k = read(rw, &t); return from_half_spectrum(rw, k, &t, true); }
FFT_RULES(_one, read_one)
FFT_RULES(_many, read_many)

static const fidc_rule_row rows[] = {
    {FID_OPID_fft_fft, fft_one},       {FID_OPID_fft_ifft, ifft_one},     {FID_OPID_fft_rfft, rfft_one},
    {FID_OPID_fft_irfft, irfft_one},   {FID_OPID_fft_hfft, hfft_one},     {FID_OPID_fft_ihfft, ihfft_one},
    {FID_OPID_fft_fft2, fft_many},     {FID_OPID_fft_ifft2, ifft_many},   {FID_OPID_fft_rfft2, rfft_many},
    {FID_OPID_fft_irfft2, irfft_many}, {FID_OPID_fft_hfft2, hfft_many},   {FID_OPID_fft_ihfft2, ihfft_many},
    {FID_OPID_fft_fftn, fft_many},     {FID_OPID_fft_ifftn, ifft_many},   {FID_OPID_fft_rfftn, rfft_many},
    {FID_OPID_fft_irfftn, irfft_many}, {FID_OPID_fft_hfftn, hfft_many},   {FID_OPID_fft_ihfftn, ihfft_many},
};

void fidc_rules_add_fft(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
