/* Implicit QR iterations on real tridiagonals and bidiagonals by plane rotations, which go into the columns of the bases, too.
 *
 * Both walk a block of the matrix towards its smaller end ("chasing the bulge"): upwards or downwards, whichever end is larger.
 * One direction is the mirror image of the other, so positions are written as `at + dir`. Conventions are LAPACK's (steqr, bdsqr),
 * because they decide the signs of vectors. */
#include "kernels/ref/algebra.h"

#define TINY 0x1p-1022
#define MOST_SWEEPS 30 /* a value */

double fidk_rotation(double f, double g, double *c, double *s) {
    if (g == 0) return *c = 1, *s = 0, f;
    if (f == 0) return *c = 0, *s = copysign(1, g), fabs(g);
    double size = hypot(f, g), r = copysign(size, f);
    *c = fabs(f) / size;
    *s = g / r;
    return r;
}

/* The same, but positive c only where f is the larger: the form that eigenvalue iterations of LAPACK have. */
static double eigen_rotation(double f, double g, double *c, double *s) {
    if (g == 0) return *c = 1, *s = 0, f;
    if (f == 0) return *c = 0, *s = 1, g;
    double r = hypot(f, g);
    if (fabs(f) > fabs(g) && f < 0) r = -r;
    *c = f / r;
    *s = g / r;
    return r;
}

static void turn(const fidk_rotated *v, size_t i, size_t j, double c, double s) {
    if (v->columns) v->rotate(v->columns, v->rows, v->width, i, j, c, s);
}

/* NaN passes every test of convergence or none: such matrices are refused before. */
static bool has_nan(const double *d, const double *e, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (isnan(d[i]) || (i + 1 < n && isnan(e[i]))) return true;
    return false;
}

/* ---- Tridiagonals ---- */

typedef struct tridiagonal {
    double *d, *e; /* e[i] lies between d[i] and d[i + 1] */
    const fidk_rotated *vectors;
    double epsilon;
} tridiagonal;

/* Index of what lies between i and i + dir. */
static size_t between(size_t i, ptrdiff_t dir) { return dir > 0 ? i : i - 1; }

/* Eigenvalues of [a b; b c]: the one of larger magnitude, the other, and the unit vector (cs, sn) of the first. */
static void two_by_two(double a, double b, double c, double *large, double *small, double *cs, double *sn) {
    double sum = a + c, difference = a - c, root = hypot(difference, 2 * b), big = fabs(a) > fabs(c) ? a : c, other = big == a ? c : a;
    double sign = sum < 0 ? -1 : 1;
    *large = (sum + sign * root) / 2;
    *small = sum == 0 ? -root / 2 : (big / *large) * other - (b / *large) * b;
    double side = difference >= 0 ? 1 : -1, x = difference + side * root;
    if (fabs(x) > fabs(2 * b)) {
        double ratio = -2 * b / x;
        *sn = 1 / sqrt(1 + ratio * ratio);
        *cs = ratio * *sn;
    } else if (b == 0) {
        *cs = 1, *sn = 0;
    } else {
        double ratio = -x / (2 * b);
        *cs = 1 / sqrt(1 + ratio * ratio);
        *sn = ratio * *cs;
    }
    if (sign == side) {
        double kept = *cs;
        *cs = -*sn;
        *sn = kept;
    }
}

/* One sweep with Wilkinson's shift over the block from `l`, where a value comes out, to `m`. */
static void sweep_tridiagonal(const tridiagonal *t, size_t l, size_t m, ptrdiff_t dir) {
    double *d = t->d, *e = t->e, p = d[l], near = e[between(l, dir)];
    double g = (d[l + (size_t)dir] - p) / (2 * near), r = hypot(g, 1), c = 1, s = 1;
    g = d[m] - p + near / (g + copysign(r, g));
    p = 0;
    for (size_t next = m; next != l; next -= (size_t)dir) {
        size_t i = next - (size_t)dir, link = between(i, dir);
        double f = s * e[link], b = c * e[link];
        r = eigen_rotation(g, f, &c, &s);
        if (next != m) e[between(next, dir)] = r;
        g = d[next] - p;
        r = (d[i] - g) * s + 2 * c * b;
        p = s * r;
        d[next] = g + p;
        g = c * r - b;
        turn(t->vectors, next, i, c, s);
    }
    d[l] -= p;
    e[between(l, dir)] = g;
}

static bool is_split(const tridiagonal *t, size_t i, ptrdiff_t dir) {
    double link = fabs(t->e[between(i, dir)]);
    return link * link <= t->epsilon * t->epsilon * fabs(t->d[i]) * fabs(t->d[i + (size_t)dir]) + TINY;
}

/* Takes the values of one unreduced block, from end `l` to end `last`. False: too many sweeps. */
static bool take_block(const tridiagonal *t, size_t l, size_t last, size_t *sweeps) {
    ptrdiff_t dir = last > l ? 1 : -1;
    for (size_t left = (last > l ? last - l : l - last) + 1; left > 0;) {
        size_t m = l;
        while (m != last && !is_split(t, m, dir)) m += (size_t)dir;
        if (m != last) t->e[between(m, dir)] = 0;
        if (m == l) {
            l += (size_t)dir, left--;
        } else if (m == l + (size_t)dir) {
            size_t low = l < m ? l : m;
            double large, small, c, s;
            two_by_two(t->d[low], t->e[low], t->d[low + 1], &large, &small, &c, &s);
            turn(t->vectors, low, low + 1, c, s);
            t->d[low] = large, t->d[low + 1] = small, t->e[low] = 0;
            l += 2 * (size_t)dir, left -= 2;
        } else {
            if ((*sweeps)-- == 0) return false;
            sweep_tridiagonal(t, l, m, dir);
        }
    }
    return true;
}

bool fidk_tridiagonal_eigen(double *d, double *e, size_t n, double epsilon, const fidk_rotated *vectors) {
    tridiagonal t = {d, e, vectors, epsilon};
    if (has_nan(d, e, n)) return false;
    size_t sweeps = MOST_SWEEPS * n;
    for (size_t first = 0, last; first < n; first = last + 1) {
        last = first;
        while (last + 1 < n && fabs(e[last]) > sqrt(fabs(d[last])) * sqrt(fabs(d[last + 1])) * epsilon) last++;
        bool from_end = fabs(d[last]) < fabs(d[first]);
        if (first != last && !take_block(&t, from_end ? last : first, from_end ? first : last, &sweeps)) return false;
    }
    return true;
}

/* ---- Bidiagonals ---- */

/* Singular values of [f g; 0 h]: *large and *small with signs, so that (cl, sl) and (cr, sr) are their left and right vectors. */
static void triangle_svd(double f, double g, double h, double *small, double *large, double *sr, double *cr, double *sl, double *cl) {
    bool swapped = fabs(h) > fabs(f);
    double ft = swapped ? h : f, ht = swapped ? f : h, fa = fabs(ft), ha = fabs(ht), ga = fabs(g);
    double left_c = 1, left_s = 0, right_c = 1, right_s = 0;
    char leading = swapped ? 'h' : 'f'; /* which entry decides the sign */
    if (ga == 0) {
        *small = ha, *large = fa;
    } else if (ga > fa && fa / ga < 0x1p-53) { /* g is all that counts */
        leading = 'g';
        *large = ga;
        *small = ha > 1 ? fa / (ga / ha) : fa / ga * ha;
        left_s = ht / g, right_s = 1, right_c = ft / g;
    } else {
        if (ga > fa) leading = 'g';
        double d = fa - ha, l = d == fa ? 1 : d / fa, m = g / ft, t = 2 - l;
        double s = sqrt(t * t + m * m), r = l == 0 ? fabs(m) : sqrt(l * l + m * m), a = (s + r) / 2;
        *small = ha / a, *large = fa * a;
        if (m * m == 0) t = l == 0 ? copysign(2, ft) * copysign(1, g) : g / copysign(d, ft) + m / t;
        else t = (m / (s + t) + m / (r + l)) * (1 + a);
        l = sqrt(t * t + 4);
        right_c = 2 / l, right_s = t / l;
        left_c = (right_c + right_s * m) / a;
        left_s = ht / ft * right_s / a;
    }
    *cl = swapped ? right_s : left_c, *sl = swapped ? right_c : left_s;
    *cr = swapped ? left_s : right_c, *sr = swapped ? left_c : right_s;
    double sign = leading == 'f'   ? copysign(1, *cr) * copysign(1, *cl) * copysign(1, f)
                  : leading == 'g' ? copysign(1, *sr) * copysign(1, *cl) * copysign(1, g)
                                   : copysign(1, *sr) * copysign(1, *sl) * copysign(1, h);
    *large = copysign(*large, sign);
    *small = copysign(*small, sign * copysign(1, f) * copysign(1, h));
}

/* The smaller singular value of [f g; 0 h]. */
static double smaller_value(double f, double g, double h) {
    double low = fabs(f) < fabs(h) ? fabs(f) : fabs(h), high = fabs(f) < fabs(h) ? fabs(h) : fabs(f);
    if (low == 0) return 0;
    double a = 1 + low / high, b = (high - low) / high, c = fabs(g) / high;
    return 2 * low / (sqrt(a * a + c * c) + sqrt(b * b + c * c));
}

typedef struct bidiagonal {
    double *d, *e;
    const fidk_rotated *near, *far; /* near: turned first in a step; right vectors downwards, left ones upwards */
} bidiagonal;

/* One sweep without shift, which loses no digit of small values; from `first` to `last`. */
static void sweep_zero_shift(const bidiagonal *b, size_t first, size_t last, ptrdiff_t dir) {
    double c = 1, old_c = 1, s = 0, old_s = 0;
    for (size_t i = first; i != last; i += (size_t)dir) {
        size_t next = i + (size_t)dir;
        double r = fidk_rotation(b->d[i] * c, b->e[between(i, dir)], &c, &s);
        if (i != first) b->e[between(i - (size_t)dir, dir)] = old_s * r;
        b->d[i] = fidk_rotation(old_c * r, b->d[next] * s, &old_c, &old_s);
        turn(b->near, i, next, c, s);
        turn(b->far, i, next, old_c, old_s);
    }
    double h = b->d[last] * c;
    b->d[last] = h * old_c;
    b->e[between(last - (size_t)dir, dir)] = h * old_s;
}

static void sweep_shifted(const bidiagonal *b, size_t first, size_t last, ptrdiff_t dir, double shift) {
    double *d = b->d, *e = b->e, c, s;
    double f = (fabs(d[first]) - shift) * (copysign(1, d[first]) + shift / d[first]), g = e[between(first, dir)];
    for (size_t i = first; i != last; i += (size_t)dir) {
        size_t next = i + (size_t)dir, link = between(i, dir);
        double r = fidk_rotation(f, g, &c, &s);
        if (i != first) e[between(i - (size_t)dir, dir)] = r;
        f = c * d[i] + s * e[link];
        e[link] = c * e[link] - s * d[i];
        g = s * d[next];
        d[next] *= c;
        turn(b->near, i, next, c, s);
        d[i] = fidk_rotation(f, g, &c, &s);
        f = c * e[link] + s * d[next];
        d[next] = c * d[next] - s * e[link];
        if (next != last) {
            g = s * e[between(next, dir)];
            e[between(next, dir)] *= c;
        }
        turn(b->far, i, next, c, s);
    }
    e[between(last - (size_t)dir, dir)] = f;
}

/* Cuts the block where an entry beside the diagonal counts for nothing. *out_least: a bound for its smallest value. */
static bool cut(const bidiagonal *b, size_t first, size_t last, ptrdiff_t dir, double tolerance, double *out_least) {
    size_t at_end = between(last - (size_t)dir, dir);
    if (fabs(b->e[at_end]) <= tolerance * fabs(b->d[last])) return b->e[at_end] = 0, true;
    double size = fabs(b->d[first]);
    *out_least = size;
    for (size_t i = first; i != last; i += (size_t)dir) {
        double *link = &b->e[between(i, dir)];
        if (fabs(*link) <= tolerance * size) return *link = 0, true;
        size = fabs(b->d[i + (size_t)dir]) * (size / (size + fabs(*link)));
        if (size < *out_least) *out_least = size;
    }
    return false;
}

static double choose_shift(const bidiagonal *b, size_t first, size_t last, ptrdiff_t dir, double share, size_t n, double tolerance, double epsilon) {
    if ((double)n * tolerance * share <= (0.01 * tolerance > epsilon ? 0.01 * tolerance : epsilon)) return 0;
    size_t before = last - (size_t)dir;
    double shift = dir > 0 ? smaller_value(b->d[before], b->e[between(before, dir)], b->d[last])
                           : smaller_value(b->d[last], b->e[between(before, dir)], b->d[before]);
    double ratio = shift / fabs(b->d[first]);
    return fabs(b->d[first]) > 0 && ratio * ratio < epsilon ? 0 : shift;
}

/* Below this an entry beside the diagonal is zero. */
static double threshold(const double *d, const double *e, size_t n, double tolerance) {
    double size = fabs(d[0]), least = size;
    for (size_t i = 1; i < n && least != 0; i++) {
        size = fabs(d[i]) * (size / (size + fabs(e[i - 1])));
        if (size < least) least = size;
    }
    double relative = tolerance * least / sqrt((double)n), smallest = 6.0 * (double)n * (double)n * TINY;
    return relative > smallest ? relative : smallest;
}

/* The block that ends at `m`: its first index; *out_top is its largest entry. e before it is zero then. */
static size_t block_start(double *d, double *e, size_t m, double zero, double *out_top) {
    double top = fabs(d[m]);
    size_t at = m;
    for (; at > 0; at--) {
        double side = fabs(e[at - 1]), size = fabs(d[at - 1]);
        if (side <= zero) {
            e[at - 1] = 0;
            break;
        }
        if (size > top) top = size;
        if (side > top) top = side;
    }
    *out_top = top;
    return at;
}

bool fidk_bidiagonal_svd(double *d, double *e, size_t n, double epsilon, const fidk_rotated *left, const fidk_rotated *right) {
    if (has_nan(d, e, n)) return false;
    if (n == 0) return true;
    double factor = pow(epsilon, -0.125), tolerance = (factor < 10 ? 10 : factor) * epsilon, zero = threshold(d, e, n, tolerance), top, least = 0;
    size_t sweeps = MOST_SWEEPS * n * n + MOST_SWEEPS, old_low = n, old_high = 0;
    bool down = true;
    for (size_t m = n - 1; m > 0;) {
        size_t low = block_start(d, e, m, zero, &top);
        if (low == m) {
            m--;
            continue;
        }
        if (low + 1 == m) {
            double small, large, sr, cr, sl, cl;
            triangle_svd(d[low], e[low], d[m], &small, &large, &sr, &cr, &sl, &cl);
            d[low] = large, d[m] = small, e[low] = 0;
            turn(right, low, m, cr, sr);
            turn(left, low, m, cl, sl);
            m = low ? low - 1 : 0;
            continue;
        }
        if (sweeps-- == 0) return false;
        if (low > old_high || m < old_low) down = fabs(d[low]) >= fabs(d[m]);
        bidiagonal b = {d, e, down ? right : left, down ? left : right};
        ptrdiff_t dir = down ? 1 : -1;
        size_t first = down ? low : m, last = down ? m : low;
        if (cut(&b, first, last, dir, tolerance, &least)) continue;
        old_low = low, old_high = m;
        double shift = choose_shift(&b, first, last, dir, least / top, n, tolerance, epsilon);
        if (shift == 0) sweep_zero_shift(&b, first, last, dir);
        else sweep_shifted(&b, first, last, dir, shift);
        double *end = &e[between(last - (size_t)dir, dir)];
        if (fabs(*end) <= zero) *end = 0;
    }
    return true;
}
