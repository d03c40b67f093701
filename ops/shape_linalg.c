/* Shapes of linear algebra: matrices in the last two dimensions, batches before them. Outputs are row-major. */
#include "ops/shape.h"

static fid_status check_dtype(const fid_call *call, const fid_tensor *t) {
    bool known = t->dtype == FID_FLOAT32 || t->dtype == FID_FLOAT64 || fid_dtype_is_complex((fid_dtype)t->dtype);
    if (known) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_TYPE, "%s: needs float32, float64 or complex numbers, got %s", call->name,
                    fid_dtype_name((fid_dtype)t->dtype));
}

static fid_status check_matrix(const fid_call *call, const fid_tensor *t) {
    if (t->rank >= 2) return check_dtype(call, t);
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a matrix is expected, got a tensor of rank %u", call->name, t->rank);
}

static fid_status not_fitting(const fid_call *call, const fid_tensor *a, const fid_tensor *b) {
    char first[120], second[120];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the shapes %s and %s do not fit", call->name,
                    fid_shape_text(a->sizes, a->rank, first, sizeof first), fid_shape_text(b->sizes, b->rank, second, sizeof second));
}

static fid_status check_square(const fid_call *call, const fid_tensor *t) {
    FID_TRY(check_matrix(call, t));
    if (t->sizes[t->rank - 1] == t->sizes[t->rank - 2]) return FID_OK;
    char text[120];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: square matrices are expected, got %s", call->name,
                    fid_shape_text(t->sizes, t->rank, text, sizeof text));
}

static fid_status same_dtype(const fid_call *call, const fid_tensor *a, const fid_tensor *b) {
    if (a->dtype == b->dtype) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_TYPE, "%s: operands are %s and %s; they must be the same", call->name,
                    fid_dtype_name((fid_dtype)a->dtype), fid_dtype_name((fid_dtype)b->dtype));
}

static fid_dtype real_of(const fid_tensor *t) {
    return t->dtype == FID_COMPLEX64 ? FID_FLOAT32 : t->dtype == FID_COMPLEX128 ? FID_FLOAT64 : (fid_dtype)t->dtype;
}

/* The leading sizes of `t`, less its last `own`, followed by up to two sizes (-1: none). */
static void batch_of(fid_meta *meta, fid_dtype dtype, const fid_tensor *t, size_t own, int64_t m, int64_t n) {
    int64_t sizes[FID_MAX_RANK + 2];
    size_t rank = t->rank - own;
    memcpy(sizes, t->sizes, rank * sizeof *sizes);
    if (m >= 0) sizes[rank++] = m;
    if (n >= 0) sizes[rank++] = n;
    fid_meta_set(meta, dtype, sizes, rank);
}

static int64_t rows_of(const fid_tensor *t) { return t->sizes[t->rank - 2]; }
static int64_t columns_of(const fid_tensor *t) { return t->sizes[t->rank - 1]; }
static int64_t least(const fid_tensor *t) { return rows_of(t) < columns_of(t) ? rows_of(t) : columns_of(t); }

/* Leading dimensions of both broadcast, then (m, n). */
static fid_status broadcast_batches(const fid_call *call, const fid_tensor *a, const fid_tensor *b, int64_t m, int64_t n, fid_meta *out) {
    fid_tensor leading = *b;
    fid_meta meta = {.rank = 0};
    leading.rank = (uint8_t)(b->rank - 2);
    fid_meta_set(&meta, (fid_dtype)b->dtype, a->sizes, a->rank - 2u);
    FID_TRY(fid_meta_broadcast(call, &meta, &leading));
    meta.sizes[meta.rank] = m;
    meta.sizes[meta.rank + 1] = n;
    fid_meta_set(out, (fid_dtype)b->dtype, meta.sizes, meta.rank + 2u);
    return FID_OK;
}

fid_status fid_shape_square(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *a = fid_arg_tensor(call, 0);
    (void)out_count;
    FID_TRY(check_square(call, a));
    fid_meta_set(outs, (fid_dtype)a->dtype, a->sizes, a->rank);
    return FID_OK;
}

/* Half precision is allowed here. */
fid_status fid_shape_square_exp(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *a = fid_arg_tensor(call, 0);
    if (a->dtype != FID_FLOAT16 && a->dtype != FID_BFLOAT16) return fid_shape_square(call, outs, out_count);
    if (a->rank < 2 || rows_of(a) != columns_of(a)) return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: square matrices are expected", call->name);
    fid_meta_set(outs, (fid_dtype)a->dtype, a->sizes, a->rank);
    return FID_OK;
}

fid_status fid_shape_square_info(const fid_call *call, fid_meta *outs, size_t out_count) {
    FID_TRY(fid_shape_square(call, outs, out_count));
    batch_of(&outs[1], FID_INT32, fid_arg_tensor(call, 0), 2, -1, -1);
    return FID_OK;
}

/* ---- LU ---- */

fid_status fid_shape_lu_factor(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *a = fid_arg_tensor(call, 0);
    (void)out_count; /* three */
    FID_TRY(check_matrix(call, a));
    batch_of(&outs[0], (fid_dtype)a->dtype, a, 0, -1, -1);
    batch_of(&outs[1], FID_INT32, a, 2, least(a), -1);
    batch_of(&outs[2], FID_INT32, a, 2, -1, -1);
    return FID_OK;
}

static void plu(const fid_tensor *a, fid_meta *outs) {
    fid_dtype dtype = (fid_dtype)a->dtype;
    batch_of(&outs[0], dtype, a, 2, rows_of(a), rows_of(a));
    batch_of(&outs[1], dtype, a, 2, rows_of(a), least(a));
    batch_of(&outs[2], dtype, a, 2, least(a), columns_of(a));
}

fid_status fid_shape_linalg_lu(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count; /* three */
    FID_TRY(check_matrix(call, fid_arg_tensor(call, 0)));
    plu(fid_arg_tensor(call, 0), outs);
    return FID_OK;
}

static fid_status check_pivots(const fid_call *call, const fid_tensor *lu, const fid_tensor *pivots) {
    bool fits = pivots->dtype == FID_INT32 && pivots->rank + 1 == lu->rank && pivots->sizes[pivots->rank - 1] == least(lu);
    for (size_t d = 0; fits && d + 2 < lu->rank; d++) fits = pivots->sizes[d] == lu->sizes[d];
    return fits ? FID_OK : not_fitting(call, lu, pivots);
}

fid_status fid_shape_lu_unpack(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *lu = fid_arg_tensor(call, 0), *pivots = fid_arg_tensor(call, 1);
    int64_t none = 0;
    (void)out_count; /* three */
    FID_TRY(check_matrix(call, lu));
    if (fid_arg_bool(call, 3)) FID_TRY(check_pivots(call, lu, pivots));
    plu(lu, outs);
    if (!fid_arg_bool(call, 3)) fid_meta_set(&outs[0], (fid_dtype)lu->dtype, &none, 1);
    if (!fid_arg_bool(call, 2)) fid_meta_set(&outs[1], (fid_dtype)lu->dtype, &none, 1), fid_meta_set(&outs[2], (fid_dtype)lu->dtype, &none, 1);
    return FID_OK;
}

/* A (n, n) with B of n rows, or of n columns when A stands at the right. */
static fid_status system_of(const fid_call *call, const fid_tensor *a, const fid_tensor *b, bool left, fid_meta *out) {
    FID_TRY(check_square(call, a));
    FID_TRY(check_matrix(call, b));
    FID_TRY(same_dtype(call, a, b));
    if ((left ? rows_of(b) : columns_of(b)) != columns_of(a)) return not_fitting(call, a, b);
    return broadcast_batches(call, a, b, rows_of(b), columns_of(b), out);
}

fid_status fid_shape_lu_solve(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *lu = fid_arg_tensor(call, 0);
    (void)out_count;
    FID_TRY(system_of(call, lu, fid_arg_tensor(call, 2), fid_arg_bool(call, 3), outs));
    return check_pivots(call, lu, fid_arg_tensor(call, 1));
}

/* B is one vector for each matrix: PyTorch's rule. */
static bool is_vector(const fid_tensor *a, const fid_tensor *b) {
    bool same = b->rank + 1 == a->rank;
    for (size_t d = 0; same && d < b->rank; d++) same = a->sizes[d] == b->sizes[d];
    return b->rank == 1 || same;
}

fid_status fid_shape_linalg_solve(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *a = fid_arg_tensor(call, 0), *b = fid_arg_tensor(call, 1);
    (void)out_count; /* four */
    FID_TRY(check_square(call, a));
    FID_TRY(same_dtype(call, a, b));
    if (is_vector(a, b)) {
        if (!fid_arg_bool(call, 2) || b->sizes[b->rank - 1] != columns_of(a)) return not_fitting(call, a, b);
        batch_of(&outs[0], (fid_dtype)b->dtype, a, 2, columns_of(a), -1);
    } else {
        FID_TRY(system_of(call, a, b, fid_arg_bool(call, 2), outs));
    }
    batch_of(&outs[1], (fid_dtype)a->dtype, a, 0, -1, -1);
    batch_of(&outs[2], FID_INT32, a, 1, -1, -1);
    batch_of(&outs[3], FID_INT32, a, 2, -1, -1);
    return FID_OK;
}

static fid_status determinant(const fid_call *call, bool logarithm, fid_meta *outs) {
    const fid_tensor *a = fid_arg_tensor(call, 0);
    FID_TRY(check_square(call, a));
    batch_of(outs++, (fid_dtype)a->dtype, a, 2, -1, -1);
    if (logarithm) batch_of(outs++, real_of(a), a, 2, -1, -1);
    batch_of(outs++, (fid_dtype)a->dtype, a, 0, -1, -1);
    batch_of(outs, FID_INT32, a, 1, -1, -1);
    return FID_OK;
}

fid_status fid_shape_linalg_det(const fid_call *call, fid_meta *outs, size_t out_count) { return (void)out_count, determinant(call, false, outs); }
fid_status fid_shape_linalg_slogdet(const fid_call *call, fid_meta *outs, size_t out_count) { return (void)out_count, determinant(call, true, outs); }

/* ---- Triangles ---- */

fid_status fid_shape_solve_triangular(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return system_of(call, fid_arg_tensor(call, 0), fid_arg_tensor(call, 1), fid_arg_bool(call, 3), outs);
}

fid_status fid_shape_cholesky_solve(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return system_of(call, fid_arg_tensor(call, 1), fid_arg_tensor(call, 0), true, outs);
}

fid_status fid_shape_triangular_solve(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *b = fid_arg_tensor(call, 0), *a = fid_arg_tensor(call, 1);
    (void)out_count; /* two */
    FID_TRY(system_of(call, a, b, true, outs));
    return broadcast_batches(call, a, b, rows_of(a), columns_of(a), &outs[1]);
}

/* ---- Decompositions ---- */

static bool text_is(const fid_value *value, const char *text) {
    return value->tag == FID_TAG_STRING && value->as.string.length == strlen(text) && memcmp(value->as.string.text, text, strlen(text)) == 0;
}

fid_status fid_shape_linalg_qr(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *a = fid_arg_tensor(call, 0);
    bool complete = text_is(call->args[1], "complete"), only_r = text_is(call->args[1], "r");
    (void)out_count; /* two */
    FID_TRY(check_matrix(call, a));
    if (!complete && !only_r && !text_is(call->args[1], "reduced")) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the mode must be 'reduced', 'complete' or 'r'", call->name);
    }
    int64_t width = complete ? rows_of(a) : least(a), none = 0;
    batch_of(&outs[0], (fid_dtype)a->dtype, a, 2, rows_of(a), width);
    if (only_r) fid_meta_set(&outs[0], (fid_dtype)a->dtype, &none, 1);
    batch_of(&outs[1], (fid_dtype)a->dtype, a, 2, width, columns_of(a));
    return FID_OK;
}

fid_status fid_shape_geqrf(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *a = fid_arg_tensor(call, 0);
    (void)out_count; /* two */
    FID_TRY(check_matrix(call, a));
    batch_of(&outs[0], (fid_dtype)a->dtype, a, 0, -1, -1);
    batch_of(&outs[1], (fid_dtype)a->dtype, a, 2, least(a), -1);
    return FID_OK;
}

/* Reflectors in columns of v (m, n) with their factors: at most one for each column. */
static fid_status check_reflectors(const fid_call *call, const fid_tensor *v, const fid_tensor *tau) {
    FID_TRY(check_matrix(call, v));
    FID_TRY(same_dtype(call, v, tau));
    bool fits = tau->rank + 1 == v->rank && tau->sizes[tau->rank - 1] <= columns_of(v) && tau->sizes[tau->rank - 1] <= rows_of(v);
    for (size_t d = 0; fits && d + 2 < v->rank; d++) fits = tau->sizes[d] == v->sizes[d];
    return fits ? FID_OK : not_fitting(call, v, tau);
}

fid_status fid_shape_householder_product(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *v = fid_arg_tensor(call, 0);
    (void)out_count;
    FID_TRY(check_reflectors(call, v, fid_arg_tensor(call, 1)));
    if (rows_of(v) < columns_of(v)) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: needs at least as many rows as columns", call->name);
    }
    fid_meta_set(outs, (fid_dtype)v->dtype, v->sizes, v->rank);
    return FID_OK;
}

fid_status fid_shape_ormqr(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *v = fid_arg_tensor(call, 0), *c = fid_arg_tensor(call, 2);
    (void)out_count;
    FID_TRY(check_reflectors(call, v, fid_arg_tensor(call, 1)));
    FID_TRY(check_matrix(call, c));
    FID_TRY(same_dtype(call, v, c));
    bool fits = c->rank == v->rank && (fid_arg_bool(call, 3) ? rows_of(c) : columns_of(c)) == rows_of(v);
    for (size_t d = 0; fits && d + 2 < v->rank; d++) fits = c->sizes[d] == v->sizes[d];
    if (!fits) return not_fitting(call, v, c);
    fid_meta_set(outs, (fid_dtype)c->dtype, c->sizes, c->rank);
    return FID_OK;
}

fid_status fid_shape_linalg_svd(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *a = fid_arg_tensor(call, 0);
    fid_dtype dtype = (fid_dtype)a->dtype;
    int64_t none = 0;
    (void)out_count; /* three */
    FID_TRY(check_matrix(call, a));
    bool full = fid_arg_bool(call, 1);
    batch_of(&outs[0], dtype, a, 2, rows_of(a), full ? rows_of(a) : least(a));
    batch_of(&outs[1], real_of(a), a, 2, least(a), -1);
    batch_of(&outs[2], dtype, a, 2, full ? columns_of(a) : least(a), columns_of(a));
    if (!fid_arg_bool(call, 2)) fid_meta_set(&outs[0], dtype, &none, 1), fid_meta_set(&outs[2], dtype, &none, 1);
    return FID_OK;
}

fid_status fid_shape_linalg_eigh(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *a = fid_arg_tensor(call, 0);
    int64_t none = 0;
    (void)out_count; /* two */
    FID_TRY(check_square(call, a));
    batch_of(&outs[0], real_of(a), a, 1, -1, -1);
    batch_of(&outs[1], (fid_dtype)a->dtype, a, 0, -1, -1);
    if (!fid_arg_bool(call, 2)) fid_meta_set(&outs[1], (fid_dtype)a->dtype, &none, 1);
    return FID_OK;
}
