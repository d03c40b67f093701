/* Fourier transforms and complex numbers of upstream's target. Its library transforms nothing and makes no complex number of real ones,
 * but a complex tensor lies in memory as pairs of real numbers do: pairs are computed, and the planner shows their memory as complex
 * numbers without an instruction. A transform is a product of real matrices, one dimension after another. */
#include "compiler/passes/rewrite.h"

enum { LONGEST = 1024 }; /* the matrices are the square of it */

typedef struct pair { fidc_value *re, *im; } pair;

static fidc_value *mul(fidc_rewriter *rw, fidc_value *a, fidc_value *b) { return fidc_rw_op2(rw, FID_OPID_mul_Tensor, a, b); }

/* ---- Pairs and complex tensors ---- */

static fidc_value *part_of(fidc_rewriter *rw, fidc_value *pairs, int64_t which) {
    return pairs ? RW(rw, select_copy_int, fidc_v(pairs), fidc_i(pairs->rank - 1), fidc_i(which)) : NULL;
}

/* A real tensor has no imaginary part. */
static pair parts(fidc_rewriter *rw, fidc_value *x) {
    if (!x || !fid_dtype_is_complex((fid_dtype)x->dtype)) return (pair){x, NULL};
    fidc_value *pairs = RW(rw, view_as_real_copy, fidc_v(x));
    return (pair){part_of(rw, pairs, 0), part_of(rw, pairs, 1)};
}

static fidc_value *joined(fidc_rewriter *rw, pair p) {
    if (!p.re || !p.im) return NULL;
    fidc_value *columns[] = {fidc_rw_unsqueeze(rw, p.re, p.re->rank), fidc_rw_unsqueeze(rw, p.im, p.im->rank)};
    if (!columns[0] || !columns[1]) return NULL;
    fidc_value *pairs = fidc_rw_cat(rw, columns, 2, p.re->rank);
    return pairs ? RW(rw, view_as_complex_copy, fidc_v(pairs)) : NULL;
}

static fid_status become_joined(fidc_rewriter *rw, pair p) { return fidc_rw_become(rw, joined(rw, p)); }

static fidc_value *broadcast(fidc_rewriter *rw, fidc_value *x) {
    fidc_value *out = fidc_rw_out(rw);
    return x && !fidc_rw_same_sizes(x, out->sizes, out->rank) ? fidc_rw_expand(rw, x, out->sizes, out->rank) : x;
}

static fid_dtype real_of(fid_dtype dtype) { return dtype == FID_COMPLEX128 ? FID_FLOAT64 : dtype == FID_COMPLEX64 ? FID_FLOAT32 : dtype; }
static bool is_known(fid_dtype complex_dtype) { return complex_dtype == FID_COMPLEX64 || complex_dtype == FID_COMPLEX128; }

static fid_status complex_rule(fidc_rewriter *rw) {
    if (!is_known((fid_dtype)fidc_rw_out(rw)->dtype)) return fidc_rw_keep(rw);
    return become_joined(rw, (pair){broadcast(rw, fidc_rw_value(rw, 0)), broadcast(rw, fidc_rw_value(rw, 1))});
}

static fid_status polar(fidc_rewriter *rw) {
    if (!is_known((fid_dtype)fidc_rw_out(rw)->dtype)) return fidc_rw_keep(rw);
    fidc_value *size = fidc_rw_value(rw, 0), *angle = fidc_rw_value(rw, 1);
    pair p = {mul(rw, size, fidc_rw_op1(rw, FID_OPID_cos, angle)), mul(rw, size, fidc_rw_op1(rw, FID_OPID_sin, angle))};
    return become_joined(rw, p);
}

static fid_status conjugate(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    if (!fid_dtype_is_complex((fid_dtype)x->dtype)) return fidc_rw_become(rw, x);
    if (!is_known((fid_dtype)x->dtype)) return fidc_rw_keep(rw);
    pair p = parts(rw, x);
    return become_joined(rw, (pair){p.re, fidc_rw_op1(rw, FID_OPID_neg, p.im)});
}

/* Pairs that were just shown as complex numbers. */
static fid_status view_as_real(fidc_rewriter *rw) {
    const fidc_value *x = fidc_rw_value(rw, 0);
    if (x->origin != FIDC_FROM_NODE || !fidc_is(x->producer, FID_OPID_view_as_complex_copy)) return fidc_rw_keep(rw);
    return fidc_rw_become(rw, fidc_value_of(&x->producer->args[0]));
}

/* Memory that somebody else owns is copied first: what is shown has to be computed here. */
static fid_status view_as_complex(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    if (x->origin == FIDC_FROM_NODE && fidc_is(x->producer, FID_OPID_cat)) return fidc_rw_keep(rw);
    return is_known((fid_dtype)fidc_rw_out(rw)->dtype) ? become_joined(rw, (pair){part_of(rw, x, 0), part_of(rw, x, 1)}) : fidc_rw_keep(rw);
}

static fid_status angle(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    pair p = parts(rw, x);
    if (p.im) return fidc_rw_become(rw, fidc_rw_op2(rw, FID_OPID_atan2, p.im, p.re));
    fid_dtype dtype = (fid_dtype)fidc_rw_out(rw)->dtype;
    fidc_value *zero = fidc_rw_scalar(rw, dtype, fidc_d(0)), *pi = fidc_rw_scalar(rw, dtype, fidc_d(3.14159265358979323846));
    fidc_value *value = fidc_rw_where(rw, fidc_rw_opn(rw, FID_OPID_lt_Scalar, x, fidc_i(0)), pi, zero);
    if (fid_dtype_is_float((fid_dtype)x->dtype)) value = fidc_rw_where(rw, fidc_rw_op1(rw, FID_OPID_isnan, x), x, value);
    return fidc_rw_become(rw, value);
}

/* ---- Transforms: summed in float64, as PyTorch's libraries lose less than a plain sum of float32 ---- */

static pair wide(fidc_rewriter *rw, pair p) { return (pair){fidc_rw_cast(rw, p.re, FID_FLOAT64), fidc_rw_cast(rw, p.im, FID_FLOAT64)}; }

static fid_status become_spectrum(fidc_rewriter *rw, pair p) {
    fid_dtype dtype = real_of((fid_dtype)fidc_rw_out(rw)->dtype);
    return become_joined(rw, (pair){fidc_rw_cast(rw, p.re, dtype), fidc_rw_cast(rw, p.im, dtype)});
}

/* (rows, columns): scale * cos or sin of sign * 2 pi j k / length. */
static fidc_value *wave_matrix(fidc_rewriter *rw, int64_t rows, int64_t columns, int64_t length, double scale, bool sine) {
    size_t count = (size_t)(rows * columns);
    double *data = fid_arena_allocate_array(&rw->program->arena, count + 1, sizeof *data);
    if (!data) return NULL;
    for (int64_t j = 0; j < rows; j++) {
        for (int64_t k = 0; k < columns; k++) {
            double angle = 6.283185307179586476925 * (double)(j * k % length) / (double)length;
            data[j * columns + k] = scale * (sine ? sin(angle) : cos(angle));
        }
    }
    int64_t sizes[] = {rows, columns};
    return fidc_value_constant(rw->graph, NULL, FID_FLOAT64, sizes, 2, data, count * sizeof *data);
}

/* One dimension times a matrix. */
static fidc_value *along(fidc_rewriter *rw, fidc_value *x, int64_t dim, fidc_value *matrix) {
    fidc_value *moved = fidc_rw_transpose(rw, x, dim, -1);
    return moved && matrix ? fidc_rw_transpose(rw, fidc_rw_matmul(rw, moved, matrix), dim, -1) : NULL;
}

/* exp(-+ 2 pi i j k / n) over one dimension; `kept` of its results. */
static pair transform(fidc_rewriter *rw, pair p, int64_t dim, int64_t kept, double scale, bool forward) {
    int64_t length = fidc_size(p.re, (size_t)dim);
    fidc_value *cosines = wave_matrix(rw, length, kept, length, scale, false);
    fidc_value *sines = wave_matrix(rw, length, kept, length, forward ? -scale : scale, true);
    pair out = {along(rw, p.re, dim, cosines), along(rw, p.re, dim, sines)};
    if (!p.im) return out;
    out.re = fidc_rw_op2(rw, FID_OPID_sub_Tensor, out.re, along(rw, p.im, dim, sines));
    out.im = fidc_rw_op2(rw, FID_OPID_add_Tensor, out.im, along(rw, p.im, dim, cosines));
    return out;
}

typedef struct spectrum { int64_t dims[FID_MAX_RANK]; size_t count; double scale; } spectrum;

static bool read_spectrum(const fidc_rewriter *rw, const fidc_value *x, int64_t last_length, spectrum *s) {
    int64_t normalization = fidc_rw_int(rw, 2, 0);
    double points = 1;
    if (!fidc_rw_ints(rw, 1, s->dims, &s->count) || !s->count) return false;
    for (size_t i = 0; i < s->count; i++) {
        s->dims[i] = fidc_wrap(s->dims[i], x->rank);
        int64_t length = i + 1 == s->count && last_length > 0 ? last_length : x->rank ? fidc_size(x, (size_t)s->dims[i]) : -1;
        if (length < 1 || length > LONGEST) return false;
        points *= (double)length;
    }
    s->scale = normalization == 0 ? 1 : normalization == 1 ? 1 / sqrt(points) : 1 / points;
    return true;
}

static fid_status c2c(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    spectrum s;
    if (!is_known((fid_dtype)x->dtype) || !read_spectrum(rw, x, 0, &s)) return fidc_rw_keep(rw);
    pair p = wide(rw, parts(rw, x));
    for (size_t i = 0; i < s.count && p.re && p.im; i++) {
        p = transform(rw, p, s.dims[i], fidc_size(x, (size_t)s.dims[i]), i ? 1 : s.scale, fidc_rw_bool(rw, 3, true));
    }
    return become_spectrum(rw, p);
}

/* The last dimension first: half of it says all. */
static fid_status r2c(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    spectrum s;
    if (!is_known((fid_dtype)out->dtype) || real_of((fid_dtype)out->dtype) != x->dtype || !read_spectrum(rw, x, 0, &s)) return fidc_rw_keep(rw);
    pair p = wide(rw, (pair){x, NULL});
    for (size_t i = s.count; i-- > 0 && p.re;) {
        bool last = i + 1 == s.count;
        p = transform(rw, p, s.dims[i], fidc_size(last ? out : x, (size_t)s.dims[i]), last ? s.scale : 1, true);
    }
    return become_spectrum(rw, p);
}

/* Every frequency of the half counts twice, but the first and, of an even length, the last. */
static void weigh(fidc_rewriter *rw, fidc_value **inout_matrix, int64_t length) {
    int64_t half = length / 2 + 1, sizes[] = {half, 1};
    double *weights = fid_arena_allocate_array(&rw->program->arena, (size_t)half, sizeof *weights);
    if (!weights) { *inout_matrix = NULL; return; }
    for (int64_t k = 0; k < half; k++) weights[k] = k == 0 || 2 * k == length ? 1 : 2;
    fidc_value *column = fidc_value_constant(rw->graph, NULL, FID_FLOAT64, sizes, 2, weights, (size_t)half * sizeof *weights);
    *inout_matrix = mul(rw, *inout_matrix, column);
}

static fid_status c2r(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    int64_t length = fidc_rw_int(rw, 3, -1);
    spectrum s;
    if (!is_known((fid_dtype)x->dtype) || !read_spectrum(rw, x, length, &s) || fidc_size(x, (size_t)s.dims[s.count - 1]) != length / 2 + 1) return fidc_rw_keep(rw);
    pair p = wide(rw, parts(rw, x));
    for (size_t i = 0; i + 1 < s.count && p.re && p.im; i++) p = transform(rw, p, s.dims[i], fidc_size(x, (size_t)s.dims[i]), 1, false);
    if (!p.re || !p.im) return fidc_rw_become(rw, NULL);
    fidc_value *cosines = wave_matrix(rw, length / 2 + 1, length, length, s.scale, false);
    fidc_value *sines = wave_matrix(rw, length / 2 + 1, length, length, s.scale, true);
    weigh(rw, &cosines, length);
    weigh(rw, &sines, length);
    int64_t dim = s.dims[s.count - 1];
    fidc_value *sum = fidc_rw_op2(rw, FID_OPID_sub_Tensor, along(rw, p.re, dim, cosines), along(rw, p.im, dim, sines));
    return fidc_rw_become(rw, fidc_rw_cast(rw, sum, (fid_dtype)fidc_rw_out(rw)->dtype));
}

static const fidc_rule_row rows[] = {
    {FID_OPID_complex, complex_rule},
    {FID_OPID_polar, polar},
    {FID_OPID_conj_physical, conjugate},
    {FID_OPID__conj_physical, conjugate},
    {FID_OPID_view_as_real_copy, view_as_real},
    {FID_OPID_view_as_complex_copy, view_as_complex},
    {FID_OPID_angle, angle},
    {FID_OPID__fft_c2c, c2c},
    {FID_OPID__fft_r2c, r2c},
    {FID_OPID__fft_c2r, c2r},
};

void fidc_rules_add_portable_fft(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
