/* Eigenvalues and singular values for one kind of number: reduction to a real tridiagonal or bidiagonal by reflectors, then plane
 * rotations (rotations.c). Comes after algebra_body.h. */

static void N(rotate)(void *matrix, size_t rows, size_t width, size_t i, size_t j, double c, double s) {
    NUMBER *a = matrix;
    for (size_t r = 0; r < rows; r++, a += width) {
        NUMBER x = a[i], y = a[j];
        a[i] = c * x + s * y;
        a[j] = c * y - s * x;
    }
}

static void N(swap_columns)(NUMBER *a, size_t rows, size_t width, size_t i, size_t j) {
    for (size_t r = 0; r < rows && a; r++, a += width) {
        NUMBER kept = a[i];
        a[i] = a[j];
        a[j] = kept;
    }
}

/* Selection sort, ascending or descending; columns of two matrices (NULL: none) move along. */
static void N(sort_values)(double *values, size_t n, bool descending, NUMBER *a, size_t rows, size_t width, NUMBER *b, size_t b_rows, size_t b_width) {
    for (size_t i = 0; i + 1 < n; i++) {
        size_t best = i;
        for (size_t j = i + 1; j < n; j++)
            if (descending ? values[j] > values[best] : values[j] < values[best]) best = j;
        if (best == i) continue;
        double kept = values[i];
        values[i] = values[best];
        values[best] = kept;
        N(swap_columns)(a, rows, width, i, best);
        N(swap_columns)(b, b_rows, b_width, i, best);
    }
}

/* ---- Eigenvalues of a Hermitian matrix ---- */

/* A = Q T Q^H: T's diagonal and the one beside it; reflector k, in column k, leaves the first k + 1 rows alone. */
static void N(tridiagonalize)(NUMBER *a, size_t n, double *d, double *e, NUMBER *tau) {
    for (size_t k = 0; k + 1 < n; k++) {
        NUMBER *v = a + (k + 1) * n + k, *rest = v + 1;
        size_t count = n - k - 1;
        tau[k] = N(make_reflector)(v, n, count);
        e[k] = PART(v[0]);
        N(reflect_rows)(v, n, count, CONJ(tau[k]), rest, n, count);
        N(reflect_columns)(v, n, count, tau[k], rest, n, count);
        d[k] = PART(a[k * n + k]);
    }
    if (n) d[n - 1] = PART(a[n * n - 1]);
}

static void N(reverse)(NUMBER *a, size_t count) {
    for (size_t i = 0; i < count / 2; i++) {
        NUMBER kept = a[i];
        a[i] = a[count - 1 - i];
        a[count - 1 - i] = kept;
    }
}

static void N(reverse_doubles)(double *a, size_t count) {
    for (size_t i = 0; i < count / 2; i++) {
        double kept = a[i];
        a[i] = a[count - 1 - i];
        a[count - 1 - i] = kept;
    }
}

static bool N(eigen)(void *matrix, size_t n, bool from_end, double epsilon, double *values, void *vectors, void *work) {
    NUMBER *a = matrix, *q = vectors, *tau = work;
    double *e = (double *)(tau + n);
    if (from_end) N(reverse)(a, n * n); /* both orders reversed: the last row is the first */
    N(tridiagonalize)(a, n, values, e, tau);
    if (q) N(identity)(q, n, n);
    for (size_t k = n < 2 ? 0 : n - 1; k-- > 0 && q;)
        N(reflect_rows)(a + (k + 1) * n + k, n, n - k - 1, tau[k], q + (k + 1) * n, n, n);
    if (from_end) {
        N(reverse_doubles)(values, n);
        N(reverse_doubles)(e, n ? n - 1 : 0);
        if (q) N(reverse)(q, n * n);
    }
    fidk_rotated columns = {q, n, n, N(rotate)};
    bool converged = fidk_tridiagonal_eigen(values, e, n, epsilon, &columns);
    N(sort_values)(values, n, false, q, n, n, NULL, 0, 0);
    return converged;
}

/* ---- Singular values ---- */

typedef struct N(bidiagonal) {
    NUMBER *left, *right; /* factors of the reflectors in columns, and of those in rows */
    double *d, *e;
} N(bidiagonal);

/* A (m, n) with m >= n is Q B P^H with an upper bidiagonal B. */
static void N(bidiagonalize)(NUMBER *a, size_t m, size_t n, const N(bidiagonal) *b) {
    for (size_t k = 0; k < n; k++) {
        NUMBER *column = a + k * n + k, *row = column + 1;
        b->left[k] = N(make_reflector)(column, n, m - k);
        b->d[k] = PART(column[0]);
        if (k + 1 == n) break;
        size_t count = n - k - 1;
        N(reflect_rows)(column, n, m - k, CONJ(b->left[k]), row, n, count);
        for (size_t j = 0; j < count; j++) row[j] = CONJ(row[j]);
        b->right[k] = N(make_reflector)(row, 1, count);
        b->e[k] = PART(row[0]);
        N(reflect_columns)(row, 1, count, b->right[k], row + n, n, m - k - 1);
    }
}

/* Turns a lower bidiagonal into an upper one. */
static void N(raise_bidiagonal)(double *d, double *e, size_t n, const fidk_rotated *left) {
    for (size_t i = 0; i + 1 < n; i++) {
        double c, s;
        d[i] = fidk_rotation(d[i], e[i], &c, &s);
        e[i] = s * d[i + 1];
        d[i + 1] *= c;
        if (left->columns) left->rotate(left->columns, left->rows, left->width, i, i + 1, c, s);
    }
}

/* B's values become positive: a sign goes to V, that of a single value to U. */
static void N(finish_svd)(double *d, size_t k, NUMBER *u, size_t m, size_t u_width, NUMBER *v, size_t n, size_t v_width) {
    for (size_t i = 0; i < k; i++) {
        if (d[i] > 0 || (d[i] == 0 && !signbit(d[i]))) continue;
        d[i] = -d[i];
        for (size_t r = 0; r < n && v && k > 1; r++) v[r * v_width + i] = -v[r * v_width + i];
        for (size_t r = 0; r < m && u && k == 1; r++) u[r * u_width] = -u[r * u_width];
    }
    N(sort_values)(d, k, true, u, m, u_width, v, n, v_width);
}

/* The bases that the reflectors make, into which rotations go later; only the first `rows` rows of the left one are filled. */
static void N(start_bases)(const NUMBER *reduced, size_t rows, size_t n, const N(bidiagonal) *b, const fidk_rotated *left,
                           const fidk_rotated *right) {
    N(apply_reflectors)(reduced, rows, n, n, b->left, false, left->columns, left->width);
    NUMBER *p = right->columns;
    for (size_t k = n < 2 ? 0 : n - 1; k-- > 0;) /* reflectors in rows: the first leaves row 0 alone */
        N(reflect_rows)(reduced + k * n + k + 1, 1, n - k - 1, b->right[k], p + (k + 1) * right->width, right->width, right->width);
}

/* m >= n. `flipped`: a is the adjoint of the caller's matrix, so that U and V have changed places and a square is reduced by rows.
 * A tall matrix becomes a triangle first, and a wide one gives a lower bidiagonal: which is which only decides signs, and is as in
 * the LAPACK that PyTorch has. */
static bool N(svd_tall)(NUMBER *a, size_t m, size_t n, size_t u_width, bool flipped, double epsilon, double *d,
                        NUMBER *u, NUMBER *v, NUMBER *work) {
    NUMBER *square = work, *first = square + n * n, *reduced = a;
    N(bidiagonal) b = {first + n, first + 2 * n, d, (double *)(first + 3 * n)};
    bool real = sizeof(NUMBER) == sizeof(double);
    bool tall = m > n && (real ? !flipped : m >= n * 17 / 9), turned = tall && flipped; /* turned: the triangle is as in the caller's matrix */
    size_t rows = tall ? n : m;
    if (tall) {
        N(reflect)(a, m, n, first);
        for (size_t i = 0; i < n * n; i++) square[i] = a[i];
        if (flipped) N(adjoint)(a, n, n, square);
        N(keep_triangle)(square, n, n, !flipped, false);
        reduced = square;
    }
    N(bidiagonalize)(reduced, rows, n, &b);
    fidk_rotated of_u = {u, rows, u_width, N(rotate)}, of_v = {v, n, n, N(rotate)};
    if (u) {
        N(identity)(u, m, u_width);
        N(identity)(v, n, n);
        N(start_bases)(reduced, rows, n, &b, turned ? &of_v : &of_u, turned ? &of_u : &of_v);
    }
    bool lower = flipped && !turned;
    if (lower) N(raise_bidiagonal)(d, b.e, n, &of_v);
    bool converged = fidk_bidiagonal_svd(d, b.e, n, epsilon, flipped ? &of_v : &of_u, flipped ? &of_u : &of_v);
    if (tall && u) N(apply_reflectors)(a, m, n, n, first, false, u, u_width);
    if (flipped) N(finish_svd)(d, n, v, n, n, u, m, u_width);
    else N(finish_svd)(d, n, u, m, u_width, v, n, n);
    return converged;
}

static bool N(svd)(void *matrix, size_t m, size_t n, bool full, double epsilon, double *values, void *u, void *v, void *scratch) {
    NUMBER *work = scratch;
    if (m >= n) return N(svd_tall)(matrix, m, n, full ? m : n, false, epsilon, values, u, v, work);
    N(adjoint)(matrix, m, n, work);
    return N(svd_tall)(work, n, m, full ? n : m, true, epsilon, values, v, u, work + m * n);
}

#define ALGEBRA_TABLE                                                                                                  \
    {.number = sizeof(NUMBER), .load = N(load), .store = N(store), .identity = N(identity), .scale = N(scale),         \
     .add = N(add), .product = N(product), .adjoint = N(adjoint), .transpose = N(transpose),                           \
     .swap_rows = N(swap_rows), .norm_one = N(norm_one), .keep_triangle = N(keep_triangle),                            \
     .make_hermitian = N(make_hermitian), .lu = N(lu), .determinant = N(determinant),                                  \
     .solve_triangle = N(solve_triangle), .cholesky = N(cholesky), .reflect = N(reflect),                              \
     .apply_reflectors = N(apply_reflectors), .eigen = N(eigen), .svd = N(svd)}
