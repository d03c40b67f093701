/* Discrete Fourier transforms of any length in double: _fft_c2c, _fft_r2c, _fft_c2r.
 *
 * A length n = p m with the smallest prime factor p takes p transforms of length m and combines them, so that lengths with
 * small factors are quick and a prime length is the plain sum. */
#include "kernels/ref/elements.h"

typedef fid_complex128 complex_number;

typedef struct plan {
    size_t length;
    complex_number *roots;   /* (length): exp(sign * 2 pi i k / length) */
    complex_number *row;     /* (length): input of one transform */
    complex_number *result;  /* (length) */
    complex_number *combine; /* (length): p values while combining */
} plan;

static complex_number *complexes(fid_call *call, size_t count) {
    size_t bytes;
    return fid_mul_size(count ? count : 1, sizeof(complex_number), &bytes) ? fid_call_scratch(call, bytes) : NULL;
}

static fid_status plan_begin(fid_call *call, plan *p, size_t length, bool forward) {
    p->length = length;
    p->roots = complexes(call, length), p->row = complexes(call, length);
    p->result = complexes(call, length), p->combine = complexes(call, length);
    if (!p->roots || !p->row || !p->result || !p->combine) return FID_OUT_OF_MEMORY;
    for (size_t k = 0; k < length; k++) {
        double angle = 6.283185307179586476925 * (double)k / (double)length;
        p->roots[k] = (complex_number){cos(angle), forward ? -sin(angle) : sin(angle)};
    }
    return FID_OK;
}

static size_t smallest_factor(size_t n) {
    for (size_t p = 2; p * p <= n; p++)
        if (n % p == 0) return p;
    return n;
}

static void multiply_add(complex_number *sum, complex_number a, complex_number b) {
    sum->re += a.re * b.re - a.im * b.im;
    sum->im += a.re * b.im + a.im * b.re;
}

/* out[k] = sum over j of in[j * stride] * root(j k) for a length n that divides the plan's. Depth: number of factors of n. */
static void transform(const plan *p, const complex_number *in, size_t stride, size_t n, complex_number *out) {
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    size_t factor = smallest_factor(n), part = n / factor, step = p->length / n;
    for (size_t j = 0; j < factor; j++) transform(p, in + j * stride, stride * factor, part, out + j * part);
    for (size_t k = 0; k < part; k++) {
        for (size_t j = 0; j < factor; j++) p->combine[j] = out[j * part + k];
        for (size_t q = 0; q < factor; q++) {
            complex_number sum = {0, 0};
            for (size_t j = 0; j < factor; j++) multiply_add(&sum, p->combine[j], p->roots[(j * (k + q * part)) % n * step]);
            out[q * part + k] = sum;
        }
    }
}

/* ---- Whole arrays: dense, row-major, complex ---- */

typedef struct spectrum {
    complex_number *values;
    int64_t sizes[FID_MAX_RANK];
    size_t rank;
} spectrum;

static size_t count_of(const int64_t *sizes, size_t rank) {
    size_t count = 1;
    for (size_t d = 0; d < rank; d++) count *= (size_t)sizes[d];
    return count;
}

static fid_status load(fid_call *call, const fid_tensor *t, spectrum *s) {
    fidk_walk walk;
    s->rank = t->rank;
    memcpy(s->sizes, t->sizes, t->rank * sizeof s->sizes[0]);
    if (!(s->values = complexes(call, fid_tensor_numel(t)))) return FID_OUT_OF_MEMORY;
    bool complex = fid_dtype_is_complex((fid_dtype)t->dtype);
    fidk_walk_begin(&walk, t->sizes, t->rank);
    size_t operand = fidk_walk_add(&walk, t);
    complex_number *at = s->values;
    FIDK_WALK(&walk) {
        fidk_element e = fidk_load((fid_dtype)t->dtype, t->data, walk.at[operand]);
        *at++ = complex ? e.c : (complex_number){e.d, 0};
    }
    return FID_OK;
}

/* Transforms along dimension d in place. */
static fid_status transform_dim(fid_call *call, spectrum *s, size_t d, bool forward) {
    size_t n = (size_t)s->sizes[d], outer = count_of(s->sizes, d), inner = count_of(s->sizes + d + 1, s->rank - d - 1);
    plan p;
    FID_TRY(plan_begin(call, &p, n, forward));
    for (size_t i = 0; i < outer * inner; i++) {
        complex_number *line = s->values + i / inner * n * inner + i % inner;
        for (size_t k = 0; k < n; k++) p.row[k] = line[k * inner];
        transform(&p, p.row, 1, n, p.result);
        for (size_t k = 0; k < n; k++) line[k * inner] = p.result[k];
    }
    return FID_OK;
}

/* Dimension d with `size` positions: those beyond the present half are the conjugates of their mirror images. */
static fid_status mirror_dim(fid_call *call, spectrum *s, size_t d, size_t size) {
    size_t half = (size_t)s->sizes[d], outer = count_of(s->sizes, d), inner = count_of(s->sizes + d + 1, s->rank - d - 1);
    const complex_number *from = s->values;
    size_t total;
    if (!fid_mul_size(outer * inner, size, &total) || !(s->values = complexes(call, total))) return FID_OUT_OF_MEMORY;
    for (size_t i = 0; i < outer * inner; i++)
        for (size_t k = 0; k < size; k++) {
            bool mirrored = k > size / 2;
            size_t source = mirrored ? size - k : k;
            complex_number value = from[(i / inner * half + source) * inner + i % inner];
            if (mirrored) value.im = -value.im;
            s->values[(i / inner * size + k) * inner + i % inner] = value;
        }
    s->sizes[d] = (int64_t)size;
    return FID_OK;
}

/* The leading part of the array that the output holds, scaled. */
static void store(const spectrum *s, const fid_tensor *out, double scale) {
    int64_t strides[FID_MAX_RANK], step = 1;
    for (size_t d = s->rank; d-- > 0; step *= s->sizes[d]) strides[d] = step;
    bool complex = fid_dtype_is_complex((fid_dtype)out->dtype);
    fidk_walk walk;
    fidk_walk_begin(&walk, out->sizes, out->rank);
    size_t to = fidk_walk_add(&walk, out), from = fidk_walk_add_strides(&walk, strides);
    FIDK_WALK(&walk) {
        complex_number value = s->values[walk.at[from]];
        fidk_element e = {.c = {value.re * scale, value.im * scale}};
        fidk_store((fid_dtype)out->dtype, out->data, walk.at[to], complex ? e : fidk_real(value.re * scale));
    }
}

/* Transforms along all dims of argument 1 but the last `skip`, and gives the last one. */
static fid_status transform_dims(fid_call *call, spectrum *s, size_t skip, bool forward, size_t *out_last) {
    size_t count;
    const int64_t *dims = fid_arg_ints(call, 1, &count);
    *out_last = 0;
    for (size_t i = 0; i < count; i++) {
        FID_TRY(fid_wrap_dim(call, dims[i], s->rank, out_last));
        if (i + skip < count) FID_TRY(transform_dim(call, s, *out_last, forward));
    }
    return FID_OK;
}

/* Argument 2: 0 no scaling, 1 by the root of the number of elements of the transformed dims, 2 by their number. */
static double scale_of(const fid_call *call, const spectrum *s) {
    size_t count, dim = 0;
    const int64_t *dims = fid_arg_ints(call, 1, &count);
    double elements = 1;
    for (size_t i = 0; i < count; i++) {
        dim = (size_t)(dims[i] < 0 ? dims[i] + (int64_t)s->rank : dims[i]);
        elements *= (double)s->sizes[dim];
    }
    int64_t normalization = fid_arg_int(call, 2);
    return normalization == 0 ? 1 : normalization == 1 ? 1 / sqrt(elements) : 1 / elements;
}

static fid_status run_forward(fid_call *call, bool forward) {
    spectrum s;
    size_t last;
    if (fid_tensor_numel(fid_out_tensor(call, 0)) == 0) return FID_OK;
    FID_TRY(load(call, fid_arg_tensor(call, 0), &s));
    FID_TRY(transform_dims(call, &s, 0, forward, &last));
    store(&s, fid_out_tensor(call, 0), scale_of(call, &s));
    return FID_OK;
}

static fid_status run_c2c(fid_call *call) { return run_forward(call, fid_arg_bool(call, 3)); }
static fid_status run_r2c(fid_call *call) { return run_forward(call, true); }

static fid_status run_c2r(fid_call *call) {
    spectrum s;
    size_t last;
    if (fid_tensor_numel(fid_out_tensor(call, 0)) == 0) return FID_OK;
    FID_TRY(load(call, fid_arg_tensor(call, 0), &s));
    FID_TRY(transform_dims(call, &s, 1, false, &last));
    FID_TRY(mirror_dim(call, &s, last, (size_t)fid_arg_int(call, 3)));
    FID_TRY(transform_dim(call, &s, last, false));
    store(&s, fid_out_tensor(call, 0), scale_of(call, &s));
    return FID_OK;
}

const fid_kernel fid_ref__fft_r2c = {.run = run_r2c};
const fid_kernel fid_ref__fft_c2r = {.run = run_c2r};
const fid_kernel fid_ref__fft_c2c = {.run = run_c2c};
