/* Reference kernels that solve systems of equations by LU, and what comes out of LU: inverses, determinants. */
#include "kernels/ref/algebra.h"
#include "kernels/ref/dense.h"

static fid_status singular(const fid_call *call, int64_t position) {
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a matrix is singular: the diagonal element %lld is zero after elimination",
                    call->name, (long long)position);
}

/* An LU decomposition in scratch. */
typedef struct factors {
    size_t m, n, k;      /* k = min(m, n) pivots */
    void *lu, *adjoint;  /* adjoint: only where a system is solved with A^H */
    int64_t *pivots, info;
} factors;

static fid_status factors_begin(const fidk_batch *batch, const fid_tensor *a, bool adjoint, factors *f) {
    *f = (factors){.m = (size_t)a->sizes[a->rank - 2], .n = (size_t)a->sizes[a->rank - 1]};
    f->k = f->m < f->n ? f->m : f->n;
    FIDK_NEED(f->lu = fidk_batch_numbers(batch, f->m, f->n));
    FIDK_NEED(f->pivots = fidk_ints(batch->call, f->k));
    if (adjoint) FIDK_NEED(f->adjoint = fidk_batch_numbers(batch, f->m, f->n));
    return FID_OK;
}

static void factorize(const fidk_batch *batch, const fid_tensor *a, factors *f) {
    fidk_batch_load(batch, a, 2, FIDK_PLAIN, f->lu);
    f->info = batch->algebra->lu(f->lu, f->m, f->n, f->pivots);
}

/* b (n, columns) := inverse of A, or of A^H, times b. */
static void solve(const fidk_batch *batch, const factors *f, bool adjoint, void *b, size_t columns) {
    const fidk_algebra *algebra = batch->algebra;
    if (!adjoint) {
        fidk_apply_pivots(algebra, b, columns, f->pivots, f->k, false);
        algebra->solve_triangle(f->lu, f->n, false, true, b, columns);
        algebra->solve_triangle(f->lu, f->n, true, false, b, columns);
        return;
    }
    algebra->adjoint(f->lu, f->n, f->n, f->adjoint);
    algebra->solve_triangle(f->adjoint, f->n, false, false, b, columns);
    algebra->solve_triangle(f->adjoint, f->n, true, true, b, columns);
    fidk_apply_pivots(algebra, b, columns, f->pivots, f->k, true);
}

/* Outputs `lu`, `pivots` and `info` of a call, each of which may be absent. */
static void store_factors(const fidk_batch *batch, const factors *f, const fid_tensor *lu, const fid_tensor *pivots, const fid_tensor *info) {
    if (lu) fidk_batch_store(batch, lu, 2, FIDK_PLAIN, f->lu);
    if (pivots) fidk_batch_store_ints(batch, pivots, 1, f->pivots, 1);
    if (info) fidk_batch_store_ints(batch, info, 0, &f->info, 0);
}

static fid_status run_inv(fid_call *call) {
    const fid_tensor *a = fid_arg_tensor(call, 0);
    fidk_batch batch;
    factors f;
    if (!fidk_batch_begin(&batch, call, a, 2)) return FID_OK;
    FID_TRY(factors_begin(&batch, a, false, &f));
    void *inverse = fidk_batch_numbers(&batch, f.n, f.n);
    FIDK_NEED(inverse);
    do {
        factorize(&batch, a, &f);
        if (f.info && fid_arg_bool(call, 1)) return singular(call, f.info);
        batch.algebra->identity(inverse, f.n, f.n);
        solve(&batch, &f, false, inverse, f.n);
        fidk_batch_store(&batch, fid_out_tensor(call, 0), 2, FIDK_PLAIN, inverse);
        store_factors(&batch, &f, NULL, NULL, fid_out_tensor(call, 1));
    } while (fidk_batch_next(&batch));
    return FID_OK;
}

/* X A = B is A^H X^H = B^H. */
static fid_status run_solve(fid_call *call) {
    const fid_tensor *a = fid_arg_tensor(call, 0), *b = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    bool left = fid_arg_bool(call, 2);
    size_t own = out->rank + 1u == a->rank ? 1 : 2; /* a vector for each matrix, or matrices */
    int flags = left ? FIDK_PLAIN : FIDK_ADJOINT;
    fidk_batch batch;
    factors f;
    if (fidk_batch_begin(&batch, call, a, 2)) {
        FID_TRY(factors_begin(&batch, a, false, &f));
        do {
            factorize(&batch, a, &f);
            if (f.info && fid_arg_bool(call, 3)) return singular(call, f.info);
            store_factors(&batch, &f, fid_out_tensor(call, 1), fid_out_tensor(call, 2), fid_out_tensor(call, 3));
        } while (fidk_batch_next(&batch));
    }
    if (!fid_tensor_numel(out) || !fidk_batch_begin(&batch, call, out, own)) return FID_OK;
    FID_TRY(factors_begin(&batch, a, !left, &f));
    size_t columns = own == 1 ? 1 : (size_t)out->sizes[out->rank - (left ? 1 : 2)];
    void *x = fidk_batch_numbers(&batch, f.n, columns);
    FIDK_NEED(x);
    do {
        factorize(&batch, a, &f);
        fidk_batch_load(&batch, b, own, flags, x);
        solve(&batch, &f, !left, x, columns);
        fidk_batch_store(&batch, out, own, flags, x);
    } while (fidk_batch_next(&batch));
    return FID_OK;
}

/* X A^H = B is A X^H = B^H. */
static fid_status run_lu_solve(fid_call *call) {
    const fid_tensor *lu = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    bool left = fid_arg_bool(call, 3), adjoint = fid_arg_bool(call, 4) == left; /* of the system as it is solved */
    int flags = left ? FIDK_PLAIN : FIDK_ADJOINT;
    fidk_batch batch;
    factors f;
    if (!fid_tensor_numel(out) || !fidk_batch_begin(&batch, call, out, 2)) return FID_OK;
    FID_TRY(factors_begin(&batch, lu, true, &f));
    size_t columns = (size_t)out->sizes[out->rank - (left ? 1 : 2)];
    void *x = fidk_batch_numbers(&batch, f.n, columns);
    FIDK_NEED(x);
    do {
        fidk_batch_load(&batch, lu, 2, FIDK_PLAIN, f.lu);
        FID_TRY(fidk_batch_load_pivots(&batch, fid_arg_tensor(call, 1), f.n, f.pivots));
        fidk_batch_load(&batch, fid_arg_tensor(call, 2), 2, flags, x);
        solve(&batch, &f, adjoint, x, columns);
        fidk_batch_store(&batch, out, 2, flags, x);
    } while (fidk_batch_next(&batch));
    return FID_OK;
}

static fid_status run_lu_factor(fid_call *call) {
    const fid_tensor *a = fid_arg_tensor(call, 0);
    fidk_batch batch;
    factors f;
    if (!fid_arg_bool(call, 1)) return fid_fail(call->sink, FID_NOT_SUPPORTED, "%s: LU without pivoting is refused, as PyTorch's CPU does", call->name);
    if (!fidk_batch_begin(&batch, call, a, 2)) return FID_OK;
    FID_TRY(factors_begin(&batch, a, false, &f));
    do {
        factorize(&batch, a, &f);
        if (f.info && fid_arg_bool(call, 2)) return singular(call, f.info);
        store_factors(&batch, &f, fid_out_tensor(call, 0), fid_out_tensor(call, 1), fid_out_tensor(call, 2));
    } while (fidk_batch_next(&batch));
    return FID_OK;
}

/* ---- P, L, U ---- */

/* Columns [0, k) of L, rows [0, k) of U; `room` holds as much as the matrix. */
static void store_triangles(const fidk_batch *batch, const factors *f, void *room) {
    const fidk_algebra *algebra = batch->algebra;
    size_t bytes = algebra->number;
    for (size_t i = 0; i < f->m; i++) /* cut to k columns */
        memcpy((char *)room + i * f->k * bytes, (const char *)f->lu + i * f->n * bytes, f->k * bytes);
    algebra->keep_triangle(room, f->m, f->k, false, true);
    fidk_batch_store(batch, fid_out_tensor(batch->call, 1), 2, FIDK_PLAIN, room);
    memcpy(room, f->lu, f->k * f->n * bytes);
    algebra->keep_triangle(room, f->k, f->n, true, false);
    fidk_batch_store(batch, fid_out_tensor(batch->call, 2), 2, FIDK_PLAIN, room);
}

static void store_permutation(const fidk_batch *batch, const factors *f, void *square) {
    batch->algebra->identity(square, f->m, f->m);
    fidk_apply_pivots(batch->algebra, square, f->m, f->pivots, f->k, true);
    fidk_batch_store(batch, fid_out_tensor(batch->call, 0), 2, FIDK_PLAIN, square);
}

static fid_status run_unpack(fid_call *call, bool factor, bool data, bool permutation) {
    const fid_tensor *a = fid_arg_tensor(call, 0);
    fidk_batch batch;
    factors f;
    if (!fidk_batch_begin(&batch, call, a, 2)) return FID_OK;
    FID_TRY(factors_begin(&batch, a, false, &f));
    void *room = fidk_batch_numbers(&batch, f.m, f.n), *square = fidk_batch_numbers(&batch, f.m, f.m);
    FIDK_NEED(room);
    FIDK_NEED(square);
    do {
        if (factor) factorize(&batch, a, &f);
        else fidk_batch_load(&batch, a, 2, FIDK_PLAIN, f.lu);
        if (!factor && permutation) FID_TRY(fidk_batch_load_pivots(&batch, fid_arg_tensor(call, 1), f.m, f.pivots));
        if (data) store_triangles(&batch, &f, room);
        if (permutation) store_permutation(&batch, &f, square);
    } while (fidk_batch_next(&batch));
    return FID_OK;
}

static fid_status run_lu(fid_call *call) {
    if (!fid_arg_bool(call, 1)) return fid_fail(call->sink, FID_NOT_SUPPORTED, "%s: LU without pivoting is refused, as PyTorch's CPU does", call->name);
    return run_unpack(call, true, true, true);
}
static fid_status run_lu_unpack(fid_call *call) { return run_unpack(call, false, fid_arg_bool(call, 2), fid_arg_bool(call, 3)); }

/* ---- Determinants ---- */

static fid_status run_determinant(fid_call *call, bool logarithm) {
    const fid_tensor *a = fid_arg_tensor(call, 0);
    fidk_batch batch;
    factors f;
    double log_size;
    if (!fidk_batch_begin(&batch, call, a, 2)) return FID_OK;
    FID_TRY(factors_begin(&batch, a, false, &f));
    void *determinant = fidk_batch_numbers(&batch, 1, 1), *sign = fidk_batch_numbers(&batch, 1, 1);
    FIDK_NEED(determinant);
    FIDK_NEED(sign);
    do {
        factorize(&batch, a, &f);
        batch.algebra->determinant(f.lu, f.n, f.pivots, determinant, sign, &log_size);
        fidk_batch_store(&batch, fid_out_tensor(call, 0), 0, FIDK_PLAIN, logarithm ? sign : determinant);
        if (logarithm) fidk_batch_store_real(&batch, fid_out_tensor(call, 1), 0, &log_size);
        uint32_t next = logarithm ? 2 : 1;
        store_factors(&batch, &f, fid_out_tensor(call, next), fid_out_tensor(call, next + 1), NULL);
    } while (fidk_batch_next(&batch));
    return FID_OK;
}

static fid_status run_det(fid_call *call) { return run_determinant(call, false); }
static fid_status run_slogdet(fid_call *call) { return run_determinant(call, true); }

const fid_kernel fid_ref_linalg_inv_ex = {.run = run_inv};
const fid_kernel fid_ref__linalg_solve_ex = {.run = run_solve};
const fid_kernel fid_ref_linalg_lu_solve = {.run = run_lu_solve};
const fid_kernel fid_ref_linalg_lu_factor_ex = {.run = run_lu_factor};
const fid_kernel fid_ref_linalg_lu = {.run = run_lu};
const fid_kernel fid_ref_lu_unpack = {.run = run_lu_unpack};
const fid_kernel fid_ref__linalg_det = {.run = run_det};
const fid_kernel fid_ref__linalg_slogdet = {.run = run_slogdet};
