/* Reference kernels of triangular systems and of Cholesky decompositions. */
#include "kernels/ref/algebra.h"
#include "kernels/ref/dense.h"

static size_t size_of(const fid_tensor *t, size_t from_end) { return (size_t)t->sizes[t->rank - from_end]; }

/* ---- Triangular systems ---- */

/* X A = B is A^T X^T = B^T: a transposed lower triangle is an upper one. */
static fid_status run_solve_triangular(fid_call *call) {
    const fid_tensor *a = fid_arg_tensor(call, 0), *b = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    bool left = fid_arg_bool(call, 3), upper = fid_arg_bool(call, 2) == left;
    int flags = left ? FIDK_PLAIN : FIDK_TRANSPOSED;
    size_t n = size_of(a, 1), columns = size_of(out, left ? 1 : 2);
    fidk_batch batch;
    if (!fid_tensor_numel(out) || !fidk_batch_begin(&batch, call, out, 2)) return FID_OK;
    void *triangle = fidk_batch_numbers(&batch, n, n), *x = fidk_batch_numbers(&batch, n, columns);
    FIDK_NEED(triangle);
    FIDK_NEED(x);
    do {
        fidk_batch_load(&batch, a, 2, flags, triangle);
        fidk_batch_load(&batch, b, 2, flags, x);
        batch.algebra->solve_triangle(triangle, n, upper, fid_arg_bool(call, 4), x, columns);
        fidk_batch_store(&batch, out, 2, flags, x);
    } while (fidk_batch_next(&batch));
    return FID_OK;
}

/* (B, A, upper, transpose, unitriangular): the second output is A, spread over the batch. */
static fid_status run_triangular_solve(fid_call *call) {
    const fid_tensor *b = fid_arg_tensor(call, 0), *a = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    bool transpose = fid_arg_bool(call, 3), upper = fid_arg_bool(call, 2) != transpose;
    size_t n = size_of(a, 1), columns = size_of(out, 1);
    fidk_batch batch;
    if (!fidk_batch_begin(&batch, call, out, 2)) return FID_OK;
    void *triangle = fidk_batch_numbers(&batch, n, n), *x = fidk_batch_numbers(&batch, n, columns);
    FIDK_NEED(triangle);
    FIDK_NEED(x);
    do {
        fidk_batch_load(&batch, a, 2, FIDK_PLAIN, triangle);
        fidk_batch_store(&batch, fid_out_tensor(call, 1), 2, FIDK_PLAIN, triangle);
        fidk_batch_load(&batch, a, 2, transpose ? FIDK_TRANSPOSED : FIDK_PLAIN, triangle);
        fidk_batch_load(&batch, b, 2, FIDK_PLAIN, x);
        batch.algebra->solve_triangle(triangle, n, upper, fid_arg_bool(call, 4), x, columns);
        fidk_batch_store(&batch, out, 2, FIDK_PLAIN, x);
    } while (fidk_batch_next(&batch));
    return FID_OK;
}

/* ---- Cholesky: an upper triangle U is L^H ---- */

static fid_status decompose(fid_call *call, bool check, const fid_tensor *info) {
    const fid_tensor *a = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    int flags = fid_arg_bool(call, 1) ? FIDK_ADJOINT : FIDK_PLAIN;
    size_t n = size_of(a, 1);
    fidk_batch batch;
    if (!fidk_batch_begin(&batch, call, a, 2)) return FID_OK;
    void *l = fidk_batch_numbers(&batch, n, n);
    FIDK_NEED(l);
    do {
        fidk_batch_load(&batch, a, 2, flags, l);
        int64_t minor = batch.algebra->cholesky(l, n);
        if (minor && check) {
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a matrix is not positive-definite: its leading minor of order %lld is not",
                            call->name, (long long)minor);
        }
        batch.algebra->keep_triangle(l, n, n, false, false);
        fidk_batch_store(&batch, out, 2, flags, l);
        if (info) fidk_batch_store_ints(&batch, info, 0, &minor, 0);
    } while (fidk_batch_next(&batch));
    return FID_OK;
}

static fid_status run_cholesky_ex(fid_call *call) { return decompose(call, fid_arg_bool(call, 2), fid_out_tensor(call, 1)); }
static fid_status run_cholesky(fid_call *call) { return decompose(call, true, NULL); }

/* L L^H X = B. */
static void solve_twice(const fidk_batch *batch, const void *l, void *adjoint, size_t n, void *x, size_t columns) {
    batch->algebra->solve_triangle(l, n, false, false, x, columns);
    batch->algebra->adjoint(l, n, n, adjoint);
    batch->algebra->solve_triangle(adjoint, n, true, false, x, columns);
}

/* `b` NULL: the identity, which gives the inverse. */
static fid_status solve_with(fid_call *call, const fid_tensor *triangle, const fid_tensor *b) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    int flags = fid_arg_bool(call, b ? 2 : 1) ? FIDK_ADJOINT : FIDK_PLAIN;
    size_t n = size_of(triangle, 1), columns = size_of(out, 1);
    fidk_batch batch;
    if (!fidk_batch_begin(&batch, call, out, 2)) return FID_OK;
    void *l = fidk_batch_numbers(&batch, n, n), *adjoint = fidk_batch_numbers(&batch, n, n), *x = fidk_batch_numbers(&batch, n, columns);
    FIDK_NEED(l);
    FIDK_NEED(adjoint);
    FIDK_NEED(x);
    do {
        fidk_batch_load(&batch, triangle, 2, flags, l);
        if (b) fidk_batch_load(&batch, b, 2, FIDK_PLAIN, x);
        else batch.algebra->identity(x, n, n);
        solve_twice(&batch, l, adjoint, n, x, columns);
        fidk_batch_store(&batch, out, 2, FIDK_PLAIN, x);
    } while (fidk_batch_next(&batch));
    return FID_OK;
}

static fid_status run_cholesky_solve(fid_call *call) { return solve_with(call, fid_arg_tensor(call, 1), fid_arg_tensor(call, 0)); }
static fid_status run_cholesky_inverse(fid_call *call) { return solve_with(call, fid_arg_tensor(call, 0), NULL); }

const fid_kernel fid_ref_linalg_solve_triangular = {.run = run_solve_triangular};
const fid_kernel fid_ref_triangular_solve = {.run = run_triangular_solve};
const fid_kernel fid_ref_linalg_cholesky_ex = {.run = run_cholesky_ex};
const fid_kernel fid_ref_cholesky = {.run = run_cholesky};
const fid_kernel fid_ref_cholesky_solve = {.run = run_cholesky_solve};
const fid_kernel fid_ref_cholesky_inverse = {.run = run_cholesky_inverse};
