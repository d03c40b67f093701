/* Dense linear algebra of double and double complex matrices: what the kernels of decompositions and solvers are made of.
 *
 * A matrix is row-major and dense. Every algorithm is written once (algebra_body.h, spectral_body.h), compiled for both kinds
 * of number, and reached through a table, so that a kernel is written once too. All are the textbook's unblocked forms, with
 * LAPACK's conventions where a result is not unique: pivots, signs of reflectors, order and signs of eigenvectors. */
#ifndef FIDK_REF_ALGEBRA_H
#define FIDK_REF_ALGEBRA_H

#include "ops/kernel.h"

typedef struct fidk_algebra {
    size_t number; /* bytes of a number: 8 or 16 */

    /* Element (i, j) at offset + i * row + j * column, in elements of the tensor; conjugated if asked. */
    void (*load)(const fid_tensor *t, int64_t offset, int64_t row, int64_t column, size_t m, size_t n, bool conjugate, void *out);
    void (*store)(const fid_tensor *t, int64_t offset, int64_t row, int64_t column, size_t m, size_t n, bool conjugate, const void *a);

    void (*identity)(void *a, size_t m, size_t n);
    void (*scale)(void *a, size_t count, double factor);
    void (*add)(void *a, const void *b, size_t count, double factor); /* a += factor * b */
    void (*product)(const void *a, const void *b, size_t m, size_t k, size_t n, void *out);
    void (*adjoint)(const void *a, size_t m, size_t n, void *out);
    void (*transpose)(const void *a, size_t m, size_t n, void *out);
    void (*swap_rows)(void *a, size_t n, size_t i, size_t j);
    double (*norm_one)(const void *a, size_t n);                      /* largest sum of magnitudes of a column of (n, n) */
    void (*keep_triangle)(void *a, size_t m, size_t n, bool upper, bool unit); /* zeros elsewhere; ones on the diagonal if unit */

    void (*make_hermitian)(void *a, size_t n, bool upper); /* from one triangle; the diagonal becomes real */

    /* P A = L U in place with partial pivoting: row i was exchanged with row pivots[i]. Returns the position, from 1, of the first
     * zero pivot; 0: none. */
    int64_t (*lu)(void *a, size_t m, size_t n, int64_t *pivots);
    /* Sign (of magnitude one) and logarithm of the magnitude of a determinant, and the determinant, from its LU. */
    void (*determinant)(const void *lu, size_t n, const int64_t *pivots, void *out_determinant, void *out_sign, double *out_log);
    /* b (n, columns) := inverse of the triangle of t (n, n) times b. */
    void (*solve_triangle)(const void *t, size_t n, bool upper, bool unit, void *b, size_t columns);
    /* A = L L^H from the lower triangle, in place; what is above stays. Returns the order, from 1, of the first leading minor
     * that is not positive; 0: none. */
    int64_t (*cholesky)(void *a, size_t n);

    /* A (m, n) = Q R: R on and above the diagonal, reflectors below it, their factors in tau (min(m, n)). */
    void (*reflect)(void *a, size_t m, size_t n, void *tau);
    /* c (m, columns) := Q c or Q^H c, where Q are the first `count` reflectors in columns of v (m, width). */
    void (*apply_reflectors)(const void *v, size_t m, size_t width, size_t count, const void *tau, bool adjoint, void *c, size_t columns);

    /* Hermitian a (n, n), destroyed: eigenvalues ascending, eigenvectors in columns (NULL: not wanted). `from_end`: reduces from
     * the last row, as LAPACK does for an upper triangle. work: 2 n numbers. False: no convergence. */
    bool (*eigen)(void *a, size_t n, bool from_end, double epsilon, double *values, void *vectors, void *work);
    /* a (m, n) = U S V^H, destroyed; k = min(m, n) values descending; U (m, m or k) and V (n, n or k), both NULL if not wanted.
     * work: fidk_svd_work numbers. False: no convergence. */
    bool (*svd)(void *a, size_t m, size_t n, bool full, double epsilon, double *values, void *u, void *v, void *work);
} fidk_algebra;

extern const fidk_algebra fidk_algebra_real, fidk_algebra_complex;
static inline const fidk_algebra *fidk_algebra_of(fid_dtype dtype) {
    return fid_dtype_is_complex(dtype) ? &fidk_algebra_complex : &fidk_algebra_real;
}
/* Numbers of scratch that svd needs; SIZE_MAX if no memory holds them. */
size_t fidk_svd_work(size_t m, size_t n);

/* ---- Batches: the leading dimensions of a call's tensors ---- */

typedef struct fidk_batch {
    fid_call *call;
    const fidk_algebra *algebra;
    const int64_t *sizes;
    size_t rank;
    int64_t index[FID_MAX_RANK];
} fidk_batch;

enum { FIDK_PLAIN = 0, FIDK_TRANSPOSED = 1, FIDK_CONJUGATED = 2, FIDK_ADJOINT = 3 };

/* The leading dimensions of `shape`, which has `own` dimensions (0, 1 or 2) of its own behind them. False: there is no batch. */
bool fidk_batch_begin(fidk_batch *batch, fid_call *call, const fid_tensor *shape, size_t own);
bool fidk_batch_next(fidk_batch *batch);
/* Scratch for `a` times `b` numbers of the batch's algebra, at least one; NULL when memory is short. */
void *fidk_batch_numbers(const fidk_batch *batch, size_t a, size_t b);
double *fidk_batch_doubles(const fidk_batch *batch, size_t count);
/* A tensor's last `own` dimensions at the present place, as a matrix (a vector is a column): leading dimensions of size one, and
 * absent ones, serve every place. The numbers are those of the algebra; the flags say how the tensor holds them. */
void fidk_batch_load(const fidk_batch *batch, const fid_tensor *t, size_t own, int flags, void *out);
void fidk_batch_store(const fidk_batch *batch, const fid_tensor *t, size_t own, int flags, const void *values);
void fidk_batch_store_real(const fidk_batch *batch, const fid_tensor *t, size_t own, const double *values);
/* Pivots of tensors count from one. */
void fidk_batch_store_ints(const fidk_batch *batch, const fid_tensor *t, size_t own, const int64_t *values, int64_t add);
fid_status fidk_batch_load_pivots(const fidk_batch *batch, const fid_tensor *t, size_t rows, int64_t *out);

/* Rows of a matrix exchanged as LU has it, in order or back. */
void fidk_apply_pivots(const fidk_algebra *algebra, void *a, size_t columns, const int64_t *pivots, size_t count, bool back);

/* ---- Plane rotations on real bidiagonals and tridiagonals (rotations.c) ---- */

/* Columns i and j of a (rows, width), x and y: c x + s y and c y - s x. */
typedef void fidk_rotate(void *a, size_t rows, size_t width, size_t i, size_t j, double c, double s);
typedef struct fidk_rotated { void *columns; size_t rows, width; fidk_rotate *rotate; } fidk_rotated; /* columns NULL: none */

/* c and s with c f + s g = r and c g - s f = 0; returns r. */
double fidk_rotation(double f, double g, double *c, double *s);
/* Eigenvalues of the tridiagonal (d, e), unsorted, in d; e is destroyed. */
bool fidk_tridiagonal_eigen(double *d, double *e, size_t n, double epsilon, const fidk_rotated *vectors);
/* Singular values of the upper bidiagonal (d, e), of any sign, unsorted, in d; e is destroyed. */
bool fidk_bidiagonal_svd(double *d, double *e, size_t n, double epsilon, const fidk_rotated *left, const fidk_rotated *right);

#endif
