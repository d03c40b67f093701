/* Matrix algorithms for one kind of number (number_real.h, number_complex.h): products, LU, Cholesky, triangles, reflectors. */

static void N(identity)(void *matrix, size_t m, size_t n) {
    NUMBER *a = matrix;
    for (size_t i = 0; i < m * n; i++) a[i] = 0;
    for (size_t i = 0; i < m && i < n; i++) a[i * n + i] = 1;
}

static void N(scale)(void *matrix, size_t count, double factor) {
    NUMBER *a = matrix;
    for (size_t i = 0; i < count; i++) a[i] *= factor;
}

static void N(add)(void *matrix, const void *other, size_t count, double factor) {
    NUMBER *a = matrix;
    const NUMBER *b = other;
    for (size_t i = 0; i < count; i++) a[i] += factor * b[i];
}

static void N(product)(const void *left, const void *right, size_t m, size_t k, size_t n, void *out) {
    const NUMBER *a = left, *b = right;
    NUMBER *c = out;
    for (size_t i = 0; i < m * n; i++) c[i] = 0;
    for (size_t i = 0; i < m; i++)
        for (size_t l = 0; l < k; l++) {
            NUMBER factor = a[i * k + l];
            for (size_t j = 0; j < n; j++) c[i * n + j] += factor * b[l * n + j];
        }
}

static void N(transpose)(const void *matrix, size_t m, size_t n, void *out) {
    const NUMBER *a = matrix;
    NUMBER *c = out;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) c[j * m + i] = a[i * n + j];
}

static void N(adjoint)(const void *matrix, size_t m, size_t n, void *out) {
    NUMBER *c = out;
    N(transpose)(matrix, m, n, out);
    for (size_t i = 0; i < m * n; i++) c[i] = CONJ(c[i]);
}

static void N(swap_rows)(void *matrix, size_t n, size_t i, size_t j) {
    NUMBER *a = matrix;
    for (size_t k = 0; k < n && i != j; k++) {
        NUMBER kept = a[i * n + k];
        a[i * n + k] = a[j * n + k];
        a[j * n + k] = kept;
    }
}

static double N(norm_one)(const void *matrix, size_t n) {
    const NUMBER *a = matrix;
    double norm = 0;
    for (size_t j = 0; j < n; j++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) sum += SIZE(a[i * n + j]);
        if (!(sum <= norm)) norm = sum; /* NaN stays */
    }
    return norm;
}

static void N(keep_triangle)(void *matrix, size_t m, size_t n, bool upper, bool unit) {
    NUMBER *a = matrix;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            if (upper ? j < i : j > i) a[i * n + j] = 0;
            if (i == j && unit) a[i * n + j] = 1;
        }
}

static void N(make_hermitian)(void *matrix, size_t n, bool upper) {
    NUMBER *a = matrix;
    for (size_t i = 0; i < n; i++) {
        a[i * n + i] = PART(a[i * n + i]);
        for (size_t j = 0; j < i; j++) {
            if (upper) a[i * n + j] = CONJ(a[j * n + i]);
            else a[j * n + i] = CONJ(a[i * n + j]);
        }
    }
}

/* ---- LU ---- */

static size_t N(largest_in_column)(const NUMBER *a, size_t m, size_t n, size_t k) {
    size_t best = k;
    for (size_t i = k + 1; i < m; i++)
        if (PIVOT_SIZE(a[i * n + k]) > PIVOT_SIZE(a[best * n + k])) best = i;
    return best;
}

static int64_t N(lu)(void *matrix, size_t m, size_t n, int64_t *pivots) {
    NUMBER *a = matrix;
    int64_t failure = 0;
    for (size_t k = 0; k < m && k < n; k++) {
        size_t pivot = N(largest_in_column)(a, m, n, k);
        pivots[k] = (int64_t)pivot;
        if (a[pivot * n + k] == 0) {
            if (!failure) failure = (int64_t)k + 1;
            continue;
        }
        N(swap_rows)(a, n, k, pivot);
        for (size_t i = k + 1; i < m; i++) {
            NUMBER factor = a[i * n + k] / a[k * n + k];
            a[i * n + k] = factor;
            for (size_t j = k + 1; j < n && factor != 0; j++) a[i * n + j] -= factor * a[k * n + j];
        }
    }
    return failure;
}

static void N(determinant)(const void *lu, size_t n, const int64_t *pivots, void *out_determinant, void *out_sign, double *out_log) {
    const NUMBER *a = lu;
    NUMBER determinant = 1, sign = 1;
    double log_size = 0;
    for (size_t i = 0; i < n; i++) {
        NUMBER x = a[i * n + i] * (pivots[i] != (int64_t)i ? -1.0 : 1.0);
        determinant *= x;
        sign = x == 0 ? (NUMBER)0 : sign * (x / SIZE(x));
        log_size += log(SIZE(x));
    }
    *(NUMBER *)out_determinant = determinant;
    *(NUMBER *)out_sign = sign;
    *out_log = log_size;
}

static void N(solve_triangle)(const void *triangle, size_t n, bool upper, bool unit, void *right, size_t columns) {
    const NUMBER *t = triangle;
    NUMBER *b = right;
    for (size_t step = 0; step < n; step++) {
        size_t i = upper ? n - 1 - step : step;
        for (size_t j = upper ? i + 1 : 0; j < (upper ? n : i); j++)
            for (size_t c = 0; c < columns; c++) b[i * columns + c] -= t[i * n + j] * b[j * columns + c];
        for (size_t c = 0; c < columns && !unit; c++) b[i * columns + c] /= t[i * n + i];
    }
}

static int64_t N(cholesky)(void *matrix, size_t n) {
    NUMBER *a = matrix;
    for (size_t j = 0; j < n; j++) {
        double left = PART(a[j * n + j]);
        for (size_t k = 0; k < j; k++) left -= PART(a[j * n + k] * CONJ(a[j * n + k]));
        if (!(left > 0)) return (int64_t)j + 1;
        double root = sqrt(left);
        a[j * n + j] = root;
        for (size_t i = j + 1; i < n; i++) {
            NUMBER sum = a[i * n + j];
            for (size_t k = 0; k < j; k++) sum -= a[i * n + k] * CONJ(a[j * n + k]);
            a[i * n + j] = sum / root;
        }
    }
    return 0;
}

/* ---- Reflectors H = 1 - tau v v^H with v[0] = 1 ---- */

/* H with H^H x = (beta, 0, ...): x[0] becomes the real number beta, the rest v; returns tau. Elements stand `step` apart. */
static NUMBER N(make_reflector)(NUMBER *x, size_t step, size_t count) {
    double tail = 0, size;
    for (size_t i = 1; i < count; i++) tail = hypot(tail, SIZE(x[i * step]));
    if (tail == 0 && IS_REAL(x[0])) return 0;
    NUMBER alpha = x[0];
    size = hypot(SIZE(alpha), tail);
    double beta = PART(alpha) >= 0 ? -size : size;
    for (size_t i = 1; i < count; i++) x[i * step] /= alpha - beta;
    x[0] = beta;
    return (beta - alpha) / beta;
}

/* c (count, columns), rows `width` apart: c := c - tau v (v^H c). */
static void N(reflect_rows)(const NUMBER *v, size_t step, size_t count, NUMBER tau, NUMBER *c, size_t width, size_t columns) {
    for (size_t j = 0; j < columns && tau != 0; j++) {
        NUMBER sum = c[j];
        for (size_t i = 1; i < count; i++) sum += CONJ(v[i * step]) * c[i * width + j];
        sum *= tau;
        c[j] -= sum;
        for (size_t i = 1; i < count; i++) c[i * width + j] -= v[i * step] * sum;
    }
}

/* c (rows, count): c := c - (c v) tau v^H. */
static void N(reflect_columns)(const NUMBER *v, size_t step, size_t count, NUMBER tau, NUMBER *c, size_t width, size_t rows) {
    for (size_t i = 0; i < rows && tau != 0; i++) {
        NUMBER *row = c + i * width, sum = row[0];
        for (size_t j = 1; j < count; j++) sum += row[j] * v[j * step];
        sum *= tau;
        row[0] -= sum;
        for (size_t j = 1; j < count; j++) row[j] -= sum * CONJ(v[j * step]);
    }
}

static void N(reflect)(void *matrix, size_t m, size_t n, void *factors) {
    NUMBER *a = matrix, *tau = factors;
    for (size_t k = 0; k < m && k < n; k++) {
        tau[k] = N(make_reflector)(a + k * n + k, n, m - k);
        if (k + 1 < n) N(reflect_rows)(a + k * n + k, n, m - k, CONJ(tau[k]), a + k * n + k + 1, n, n - k - 1);
    }
}

static void N(apply_reflectors)(const void *vectors, size_t m, size_t width, size_t count, const void *factors, bool adjoint, void *matrix,
                                size_t columns) {
    const NUMBER *v = vectors, *tau = factors;
    NUMBER *c = matrix;
    for (size_t step = 0; step < count; step++) {
        size_t k = adjoint ? step : count - 1 - step;
        N(reflect_rows)(v + k * width + k, width, m - k, adjoint ? CONJ(tau[k]) : tau[k], c + k * columns, columns, columns);
    }
}
