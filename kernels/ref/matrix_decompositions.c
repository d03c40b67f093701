/* Reference kernels of QR, singular values and eigenvalues, and of the matrix exponential. */
#include "kernels/ref/algebra.h"
#include "kernels/ref/dense.h"

static size_t size_of(const fid_tensor *t, size_t from_end) { return (size_t)t->sizes[t->rank - from_end]; }
static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* ---- QR ---- */

/* Columns [0, width) of Q, from reflectors in v (m, n). */
static void store_q(const fidk_batch *batch, const void *v, size_t m, size_t n, size_t count, const void *tau, void *q, size_t width) {
    batch->algebra->identity(q, m, width);
    batch->algebra->apply_reflectors(v, m, n, count, tau, false, q, width);
    fidk_batch_store(batch, fid_out_tensor(batch->call, 0), 2, FIDK_PLAIN, q);
}

static fid_status run_qr(fid_call *call) {
    const fid_tensor *a = fid_arg_tensor(call, 0), *q_out = fid_out_tensor(call, 0), *r_out = fid_out_tensor(call, 1);
    size_t m = size_of(a, 2), n = size_of(a, 1), k = least(m, n), rows = size_of(r_out, 2);
    bool has_q = q_out->rank == a->rank; /* mode "r" has none */
    fidk_batch batch;
    if (!fidk_batch_begin(&batch, call, a, 2)) return FID_OK;
    void *v = fidk_batch_numbers(&batch, m, n), *tau = fidk_batch_numbers(&batch, k, 1);
    void *q = fidk_batch_numbers(&batch, m, has_q ? rows : 0);
    FIDK_NEED(v);
    FIDK_NEED(tau);
    FIDK_NEED(q);
    do {
        fidk_batch_load(&batch, a, 2, FIDK_PLAIN, v);
        batch.algebra->reflect(v, m, n, tau);
        if (has_q) store_q(&batch, v, m, n, k, tau, q, rows);
        batch.algebra->keep_triangle(v, m, n, true, false);
        fidk_batch_store(&batch, r_out, 2, FIDK_PLAIN, v);
    } while (fidk_batch_next(&batch));
    return FID_OK;
}

static fid_status run_geqrf(fid_call *call) {
    const fid_tensor *a = fid_arg_tensor(call, 0);
    size_t m = size_of(a, 2), n = size_of(a, 1);
    fidk_batch batch;
    if (!fidk_batch_begin(&batch, call, a, 2)) return FID_OK;
    void *v = fidk_batch_numbers(&batch, m, n), *tau = fidk_batch_numbers(&batch, least(m, n), 1);
    FIDK_NEED(v);
    FIDK_NEED(tau);
    do {
        fidk_batch_load(&batch, a, 2, FIDK_PLAIN, v);
        batch.algebra->reflect(v, m, n, tau);
        fidk_batch_store(&batch, fid_out_tensor(call, 0), 2, FIDK_PLAIN, v);
        fidk_batch_store(&batch, fid_out_tensor(call, 1), 1, FIDK_PLAIN, tau);
    } while (fidk_batch_next(&batch));
    return FID_OK;
}

static fid_status run_householder_product(fid_call *call) {
    const fid_tensor *a = fid_arg_tensor(call, 0), *factors = fid_arg_tensor(call, 1);
    size_t m = size_of(a, 2), n = size_of(a, 1), count = size_of(factors, 1);
    fidk_batch batch;
    if (!fidk_batch_begin(&batch, call, a, 2)) return FID_OK;
    void *v = fidk_batch_numbers(&batch, m, n), *tau = fidk_batch_numbers(&batch, count, 1), *q = fidk_batch_numbers(&batch, m, n);
    FIDK_NEED(v);
    FIDK_NEED(tau);
    FIDK_NEED(q);
    do {
        fidk_batch_load(&batch, a, 2, FIDK_PLAIN, v);
        fidk_batch_load(&batch, factors, 1, FIDK_PLAIN, tau);
        store_q(&batch, v, m, n, count, tau, q, n);
    } while (fidk_batch_next(&batch));
    return FID_OK;
}

/* C Q is the adjoint of Q^H C^H. */
static fid_status run_ormqr(fid_call *call) {
    const fid_tensor *a = fid_arg_tensor(call, 0), *factors = fid_arg_tensor(call, 1), *c = fid_arg_tensor(call, 2);
    bool left = fid_arg_bool(call, 3), adjoint = fid_arg_bool(call, 4) == left;
    int flags = left ? FIDK_PLAIN : FIDK_ADJOINT;
    size_t m = size_of(a, 2), n = size_of(a, 1), count = size_of(factors, 1), columns = size_of(c, left ? 1 : 2);
    fidk_batch batch;
    if (!fidk_batch_begin(&batch, call, a, 2)) return FID_OK;
    void *v = fidk_batch_numbers(&batch, m, n), *tau = fidk_batch_numbers(&batch, count, 1), *x = fidk_batch_numbers(&batch, m, columns);
    FIDK_NEED(v);
    FIDK_NEED(tau);
    FIDK_NEED(x);
    do {
        fidk_batch_load(&batch, a, 2, FIDK_PLAIN, v);
        fidk_batch_load(&batch, factors, 1, FIDK_PLAIN, tau);
        fidk_batch_load(&batch, c, 2, flags, x);
        batch.algebra->apply_reflectors(v, m, n, count, tau, adjoint, x, columns);
        fidk_batch_store(&batch, fid_out_tensor(call, 0), 2, flags, x);
    } while (fidk_batch_next(&batch));
    return FID_OK;
}

const fid_kernel fid_ref_linalg_qr = {.run = run_qr};
const fid_kernel fid_ref_geqrf = {.run = run_geqrf};
const fid_kernel fid_ref_linalg_householder_product = {.run = run_householder_product};
const fid_kernel fid_ref_ormqr = {.run = run_ormqr};

/* ---- Singular values and eigenvalues ---- */

static fid_status no_convergence(const fid_call *call) {
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: no convergence: a matrix holds NaN or infinity, or is out of range", call->name);
}

/* Iterations end where the dtype sees no difference: so their number, on which signs depend, is that of a computation in it. */
static double epsilon_of(const fid_tensor *t) { return t->dtype == FID_FLOAT64 || t->dtype == FID_COMPLEX128 ? 0x1p-53 : 0x1p-24; }

static fid_status run_svd(fid_call *call) {
    const fid_tensor *a = fid_arg_tensor(call, 0);
    bool full = fid_arg_bool(call, 1), vectors = fid_arg_bool(call, 2);
    size_t m = size_of(a, 2), n = size_of(a, 1), k = least(m, n);
    fidk_batch batch;
    if (!fidk_batch_begin(&batch, call, a, 2)) return FID_OK;
    void *matrix = fidk_batch_numbers(&batch, m, n), *work = fidk_batch_numbers(&batch, fidk_svd_work(m, n), 1), *u = NULL, *v = NULL;
    double *values = fidk_batch_doubles(&batch, k);
    FIDK_NEED(matrix);
    FIDK_NEED(work);
    FIDK_NEED(values);
    if (vectors) {
        FIDK_NEED(u = fidk_batch_numbers(&batch, m, full ? m : k));
        FIDK_NEED(v = fidk_batch_numbers(&batch, n, full ? n : k));
    }
    do {
        fidk_batch_load(&batch, a, 2, FIDK_PLAIN, matrix);
        if (!batch.algebra->svd(matrix, m, n, full, epsilon_of(a), values, u, v, work)) return no_convergence(call);
        fidk_batch_store_real(&batch, fid_out_tensor(call, 1), 1, values);
        if (!vectors) continue;
        fidk_batch_store(&batch, fid_out_tensor(call, 0), 2, FIDK_PLAIN, u);
        fidk_batch_store(&batch, fid_out_tensor(call, 2), 2, FIDK_ADJOINT, v);
    } while (fidk_batch_next(&batch));
    return FID_OK;
}

static fid_status run_eigh(fid_call *call) {
    const fid_tensor *a = fid_arg_tensor(call, 0);
    const fid_value *triangle = call->args[1];
    bool upper = triangle->tag == FID_TAG_STRING && triangle->as.string.length && (triangle->as.string.text[0] | 32) == 'u';
    bool wanted = fid_arg_bool(call, 2);
    size_t n = size_of(a, 1);
    fidk_batch batch;
    if (!fidk_batch_begin(&batch, call, a, 2)) return FID_OK;
    void *matrix = fidk_batch_numbers(&batch, n, n), *work = fidk_batch_numbers(&batch, n, 2), *vectors = NULL;
    double *values = fidk_batch_doubles(&batch, n);
    FIDK_NEED(matrix);
    FIDK_NEED(work);
    FIDK_NEED(values);
    if (wanted) FIDK_NEED(vectors = fidk_batch_numbers(&batch, n, n));
    do {
        fidk_batch_load(&batch, a, 2, FIDK_PLAIN, matrix);
        batch.algebra->make_hermitian(matrix, n, upper);
        if (!batch.algebra->eigen(matrix, n, upper, epsilon_of(a), values, vectors, work)) return no_convergence(call);
        fidk_batch_store_real(&batch, fid_out_tensor(call, 0), 1, values);
        if (wanted) fidk_batch_store(&batch, fid_out_tensor(call, 1), 2, FIDK_PLAIN, vectors);
    } while (fidk_batch_next(&batch));
    return FID_OK;
}

const fid_kernel fid_ref__linalg_svd = {.run = run_svd};
const fid_kernel fid_ref__linalg_eigh = {.run = run_eigh};

/* ---- Matrix exponential ---- */

#define TERMS 20 /* with a norm of at most 1/2 the rest is below 1e-25 */

/* exp(A) = exp(A / 2^s)^(2^s), the inner one by its series; `sum` gets the result, which lies in one of the two rooms. */
static void *exponential(const fidk_algebra *algebra, void *a, size_t n, void *sum, void *room) {
    int halvings = 0;
    for (double norm = algebra->norm_one(a, n); norm > 0.5 && halvings < 1100; norm /= 2) halvings++;
    algebra->scale(a, n * n, ldexp(1, -halvings));
    algebra->identity(sum, n, n);
    for (int term = TERMS; term > 0; term--) { /* 1 + A / term (...) */
        algebra->product(a, sum, n, n, n, room);
        algebra->identity(sum, n, n);
        algebra->add(sum, room, n * n, 1.0 / term);
    }
    for (; halvings > 0; halvings--) {
        algebra->product(sum, sum, n, n, n, room);
        void *kept = sum;
        sum = room;
        room = kept;
    }
    return sum;
}

static fid_status run_matrix_exp(fid_call *call) {
    const fid_tensor *a = fid_arg_tensor(call, 0);
    size_t n = size_of(a, 1);
    fidk_batch batch;
    if (!fidk_batch_begin(&batch, call, a, 2)) return FID_OK;
    void *matrix = fidk_batch_numbers(&batch, n, n), *sum = fidk_batch_numbers(&batch, n, n), *room = fidk_batch_numbers(&batch, n, n);
    FIDK_NEED(matrix);
    FIDK_NEED(sum);
    FIDK_NEED(room);
    do {
        fidk_batch_load(&batch, a, 2, FIDK_PLAIN, matrix);
        fidk_batch_store(&batch, fid_out_tensor(call, 0), 2, FIDK_PLAIN, exponential(batch.algebra, matrix, n, sum, room));
    } while (fidk_batch_next(&batch));
    return FID_OK;
}

const fid_kernel fid_ref_linalg_matrix_exp = {.run = run_matrix_exp};
