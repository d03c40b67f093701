/* Bessel functions and orthogonal polynomials of upstream's target, composed in float64: power series for small arguments, asymptotic
 * expansions for large ones; the modified functions of the second kind are integrals in between. */
#include "compiler/passes/portable_math.h"

#define PI 3.14159265358979323846
#define EULER_GAMMA 0.57721566490153286061

/* ---- Series in (x / 2)^2 ---- */

enum { MOST_TERMS = 64 };

typedef struct terms { double c[MOST_TERMS]; size_t count; } terms;

/* sign^k / (k! (k + order)!) times weight(k). */
static terms bessel_terms(size_t count, int order, double sign) {
    terms t = {{1}, count};
    for (size_t k = 1; k < count; k++) t.c[k] = t.c[k - 1] * sign / ((double)k * (double)(k + (size_t)order));
    return t;
}

/* The same with the harmonic numbers H(k) + H(k + order) less `shift`, as the second kind has them. */
static terms harmonic_terms(size_t count, int order, double sign, double shift) {
    terms t = bessel_terms(count, order, sign);
    double low = 0, high = order ? 1 : 0;
    for (size_t k = 0; k < count; k++) {
        if (k) low += 1.0 / (double)k, high += 1.0 / (double)(k + (size_t)order);
        t.c[k] *= low + high - shift;
    }
    return t;
}

static fidc_value *series(fidc_rewriter *rw, fidc_value *x, terms t) {
    fidc_value *half = fm_mulc(rw, x, 0.5);
    return fm_poly(rw, fm_mul(rw, half, half), t.c, t.count);
}

/* (x / 2)^order sum: J (sign -1) or I (sign 1) of order 0 or 1. */
static fidc_value *first_kind(fidc_rewriter *rw, fidc_value *x, int order, double sign, size_t count) {
    fidc_value *sum = series(rw, x, bessel_terms(count, order, sign));
    return order ? fm_mul(rw, sum, fm_mulc(rw, x, 0.5)) : sum;
}

/* ---- Hankel's expansions: a(k) = product of (4 order^2 - (2 i - 1)^2) over k! 8^k ---- */

static double hankel(double order, int k) {
    double a = 1;
    for (int i = 1; i <= k; i++) a *= (4 * order * order - (2.0 * i - 1) * (2.0 * i - 1)) / (8.0 * i);
    return a;
}

/* exp(-x) I (alternate) or exp(x) K, for large x. */
static fidc_value *scaled_far(fidc_rewriter *rw, fidc_value *x, double order, bool alternate) {
    double c[18];
    for (int k = 0; k < 18; k++) c[k] = hankel(order, k) * (alternate && k % 2 ? -1 : 1);
    fidc_value *inverse = fm_recip(rw, x);
    fidc_value *root = fm_sqrt(rw, fm_mulc(rw, inverse, alternate ? 0.5 / PI : PI / 2));
    return fm_mul(rw, root, fm_poly(rw, inverse, c, 18));
}

/* J (or Y) for large x: sqrt(2 / (pi x)) (P cos - Q sin), or (P sin + Q cos), of x - (order / 2 + 1 / 4) pi. */
static fidc_value *wave_far(fidc_rewriter *rw, fidc_value *x, int order, bool second) {
    double p[10], q[10];
    for (int k = 0; k < 10; k++) {
        p[k] = hankel(order, 2 * k) * (k % 2 ? -1 : 1);
        q[k] = hankel(order, 2 * k + 1) * (k % 2 ? -1 : 1);
    }
    fidc_value *inverse = fm_recip(rw, x), *square = fm_mul(rw, inverse, inverse), *angle = fm_addc(rw, x, -(order / 2.0 + 0.25) * PI);
    fidc_value *even = fm_poly(rw, square, p, 10), *odd = fm_mul(rw, inverse, fm_poly(rw, square, q, 10));
    fidc_value *sine = fidc_rw_op1(rw, FID_OPID_sin, angle), *cosine = fidc_rw_op1(rw, FID_OPID_cos, angle);
    fidc_value *sum = second ? fm_add(rw, fm_mul(rw, even, sine), fm_mul(rw, odd, cosine)) : fm_sub(rw, fm_mul(rw, even, cosine), fm_mul(rw, odd, sine));
    return fm_mul(rw, fm_sqrt(rw, fm_mulc(rw, inverse, 2 / PI)), sum);
}

/* ---- The modified ones of the first kind ---- */

static fidc_value *scaled_modified(fidc_rewriter *rw, fidc_value *x, int order) {
    fidc_value *size = fm_abs(rw, x), *low = fm_clamp(rw, size, -INFINITY, 20), *high = fm_clamp(rw, size, 20, INFINITY);
    fidc_value *near = fm_mul(rw, first_kind(rw, low, order, 1, 50), fm_exp(rw, fidc_rw_op1(rw, FID_OPID_neg, low)));
    fidc_value *value = fidc_rw_where(rw, fm_less(rw, size, 20), near, scaled_far(rw, high, order, true));
    if (order) value = fm_mul(rw, value, fidc_rw_op1(rw, FID_OPID_sign, x));
    return fidc_rw_where(rw, fidc_rw_op1(rw, FID_OPID_isnan, x), x, value);
}

/* Of infinity PyTorch gives NaN for the functions that are not scaled. */
static fid_status finite_only(fidc_rewriter *rw, fidc_value *x, fidc_value *value) {
    return fm_become(rw, fidc_rw_where(rw, fidc_rw_op1(rw, FID_OPID_isinf, x), fm_number(rw, NAN), value));
}

static fid_status modified(fidc_rewriter *rw, int order) {
    fidc_value *x = fm_input(rw, 0);
    return finite_only(rw, x, fm_mul(rw, scaled_modified(rw, x, order), fm_exp(rw, fm_abs(rw, x))));
}

static fid_status i0(fidc_rewriter *rw) { return modified(rw, 0); }
static fid_status i1(fidc_rewriter *rw) { return modified(rw, 1); }
static fid_status i0e(fidc_rewriter *rw) { return fm_become(rw, scaled_modified(rw, fm_input(rw, 0), 0)); }
static fid_status i1e(fidc_rewriter *rw) { return fm_become(rw, scaled_modified(rw, fm_input(rw, 0), 1)); }

/* ---- The modified ones of the second kind, times exp(x) ---- */

/* For x <= 2: with the logarithm and harmonic numbers. */
static fidc_value *second_near(fidc_rewriter *rw, fidc_value *x, int order) {
    fidc_value *log_half = fm_log(rw, fm_mulc(rw, x, 0.5)), *first = first_kind(rw, x, order, 1, 20), *value;
    fidc_value *sum = series(rw, x, harmonic_terms(20, order, 1, 2 * EULER_GAMMA));
    if (order == 0) {
        value = fm_sub(rw, fm_mulc(rw, sum, 0.5), fm_mul(rw, log_half, first));
    } else {
        value = fm_add(rw, fm_mul(rw, log_half, first), fm_recip(rw, x));
        value = fm_sub(rw, value, fm_mul(rw, fm_mulc(rw, x, 0.25), sum));
    }
    return fm_mul(rw, value, fm_exp(rw, x));
}

/* For 0.6 < x < 20: the integral of exp(-x (cosh t - 1)) cosh(order t) over t >= 0 by the trapezoidal rule, which is exact here. */
static fidc_value *second_middle(fidc_rewriter *rw, fidc_value *x, double order) {
    const double step = 1.0 / 8;
    fidc_value *sum = fm_number(rw, 0.5 * step);
    for (int i = 1; i * step < 5.2; i++) {
        fidc_value *power = fm_exp(rw, fm_mulc(rw, x, 1 - cosh(i * step)));
        sum = fm_add(rw, sum, fm_mulc(rw, power, step * cosh(order * i * step)));
    }
    return sum;
}

static fidc_value *scaled_second(fidc_rewriter *rw, fidc_value *x, int order) {
    fidc_value *low = fm_clamp(rw, x, -INFINITY, 2), *middle = fm_clamp(rw, x, 2, 20), *high = fm_clamp(rw, x, 20, INFINITY);
    fidc_value *value = fidc_rw_where(rw, fm_less(rw, x, 20), second_middle(rw, middle, order), scaled_far(rw, high, order, false));
    value = fidc_rw_where(rw, fm_less(rw, x, 2), second_near(rw, low, order), value);
    value = fidc_rw_where(rw, fm_equals_number(rw, x, 0), fm_number(rw, INFINITY), value);
    return fidc_rw_where(rw, fidc_rw_opd(rw, FID_OPID_ge_Scalar, x, 0), value, fm_number(rw, NAN));
}

static fid_status second(fidc_rewriter *rw, int order, bool scaled) {
    fidc_value *x = fm_input(rw, 0), *value = scaled_second(rw, x, order);
    return fm_become(rw, scaled ? value : fm_mul(rw, value, fm_exp(rw, fidc_rw_op1(rw, FID_OPID_neg, x))));
}

static fid_status k0(fidc_rewriter *rw) { return second(rw, 0, false); }
static fid_status k1(fidc_rewriter *rw) { return second(rw, 1, false); }
static fid_status k0e(fidc_rewriter *rw) { return second(rw, 0, true); }
static fid_status k1e(fidc_rewriter *rw) { return second(rw, 1, true); }

/* ---- The ordinary ones ---- */

#define WAVES_FROM 12.0

static fidc_value *wave(fidc_rewriter *rw, fidc_value *x, int order) {
    fidc_value *size = fm_abs(rw, x), *low = fm_clamp(rw, size, -INFINITY, WAVES_FROM), *high = fm_clamp(rw, size, WAVES_FROM, INFINITY);
    fidc_value *value = fidc_rw_where(rw, fm_less(rw, size, WAVES_FROM), first_kind(rw, low, order, -1, 36), wave_far(rw, high, order, false));
    return order ? fm_mul(rw, value, fidc_rw_op1(rw, FID_OPID_sign, x)) : value;
}

static fid_status bessel_j(fidc_rewriter *rw, int order) {
    fidc_value *x = fm_input(rw, 0), *value = wave(rw, x, order);
    return finite_only(rw, x, fidc_rw_where(rw, fidc_rw_op1(rw, FID_OPID_isnan, x), x, value));
}

static fid_status bessel_y(fidc_rewriter *rw, int order) {
    fidc_value *x = fm_input(rw, 0), *low = fm_clamp(rw, x, -INFINITY, WAVES_FROM), *high = fm_clamp(rw, x, WAVES_FROM, INFINITY);
    fidc_value *log_half = fm_log(rw, fm_mulc(rw, low, 0.5)), *first = first_kind(rw, low, order, -1, 36);
    fidc_value *near = fm_mul(rw, log_half, first), *sum = series(rw, low, harmonic_terms(36, order, -1, 2 * EULER_GAMMA));
    if (order) near = fm_sub(rw, fm_sub(rw, near, fm_recip(rw, low)), fm_mul(rw, fm_mulc(rw, low, 0.25), sum));
    else near = fm_sub(rw, near, fm_mulc(rw, sum, 0.5));
    fidc_value *value = fidc_rw_where(rw, fm_less(rw, x, WAVES_FROM), fm_mulc(rw, near, 2 / PI), wave_far(rw, high, order, true));
    value = fidc_rw_where(rw, fm_equals_number(rw, x, 0), fm_number(rw, -INFINITY), value);
    return finite_only(rw, x, fidc_rw_where(rw, fidc_rw_opd(rw, FID_OPID_ge_Scalar, x, 0), value, fm_number(rw, NAN)));
}

static fid_status j0_rule(fidc_rewriter *rw) { return bessel_j(rw, 0); }
static fid_status j1_rule(fidc_rewriter *rw) { return bessel_j(rw, 1); }
static fid_status y0_rule(fidc_rewriter *rw) { return bessel_y(rw, 0); }
static fid_status y1_rule(fidc_rewriter *rw) { return bessel_y(rw, 1); }

static fid_status spherical_j0(fidc_rewriter *rw) {
    fidc_value *x = fm_input(rw, 0), *value = fm_div(rw, fidc_rw_op1(rw, FID_OPID_sin, x), x);
    value = fidc_rw_where(rw, fm_equals_number(rw, x, 0), fm_number(rw, 1), value);
    return fm_become(rw, fidc_rw_where(rw, fidc_rw_op1(rw, FID_OPID_isinf, x), fm_number(rw, 0), value));
}

/* ---- Airy's function ---- */

/* Between -8 and 1: the two power series in x^3, weighted by Ai(0) and Ai'(0). */
static fidc_value *airy_near(fidc_rewriter *rw, fidc_value *x) {
    double f[MOST_TERMS] = {0.355028053887817239260}, g[MOST_TERMS] = {-0.258819403792806798405};
    for (int k = 1; k < MOST_TERMS; k++) {
        f[k] = f[k - 1] / ((3.0 * k - 1) * (3.0 * k));
        g[k] = g[k - 1] / ((3.0 * k) * (3.0 * k + 1));
    }
    fidc_value *cube = fm_mul(rw, fm_mul(rw, x, x), x);
    return fm_add(rw, fm_poly(rw, cube, f, MOST_TERMS), fm_mul(rw, x, fm_poly(rw, cube, g, MOST_TERMS)));
}

/* Below -8. */
static fidc_value *airy_wave(fidc_rewriter *rw, fidc_value *x) {
    double even[6], odd[6], u = 1;
    for (int k = 0; k < 12; k++) {
        *(k % 2 ? &odd[k / 2] : &even[k / 2]) = u * (k & 2 ? -1 : 1);
        u *= (6.0 * k + 1) * (6.0 * k + 5) / (72.0 * (k + 1));
    }
    fidc_value *z = fidc_rw_op1(rw, FID_OPID_neg, x), *root = fm_sqrt(rw, z), *zeta = fm_mulc(rw, fm_mul(rw, z, root), 2.0 / 3);
    fidc_value *inverse = fm_recip(rw, zeta), *square = fm_mul(rw, inverse, inverse), *angle = fm_addc(rw, zeta, PI / 4);
    fidc_value *value = fm_mul(rw, fidc_rw_op1(rw, FID_OPID_sin, angle), fm_poly(rw, square, even, 6));
    fidc_value *other = fm_mul(rw, fidc_rw_op1(rw, FID_OPID_cos, angle), fm_mul(rw, inverse, fm_poly(rw, square, odd, 6)));
    return fm_div(rw, fm_sub(rw, value, other), fm_mulc(rw, fm_sqrt(rw, root), sqrt(PI)));
}

/* Above 1: sqrt(x / 3) / pi K(1/3, 2/3 x^(3/2)). */
static fidc_value *airy_decay(fidc_rewriter *rw, fidc_value *x) {
    fidc_value *zeta = fm_mulc(rw, fm_mul(rw, x, fm_sqrt(rw, x)), 2.0 / 3);
    fidc_value *middle = second_middle(rw, fm_clamp(rw, zeta, -INFINITY, 20), 1.0 / 3), *far = scaled_far(rw, fm_clamp(rw, zeta, 20, INFINITY), 1.0 / 3, false);
    fidc_value *scaled = fidc_rw_where(rw, fm_less(rw, zeta, 20), middle, far);
    fidc_value *factor = fm_mulc(rw, fm_sqrt(rw, fm_mulc(rw, x, 1.0 / 3)), 1 / PI);
    return fm_mul(rw, fm_mul(rw, factor, scaled), fm_exp(rw, fidc_rw_op1(rw, FID_OPID_neg, zeta)));
}

static fid_status airy(fidc_rewriter *rw) {
    fidc_value *x = fm_input(rw, 0);
    fidc_value *right = fidc_rw_where(rw, fm_less_equal(rw, x, 1), airy_near(rw, fm_clamp(rw, x, -8, 1)), airy_decay(rw, fm_clamp(rw, x, 1, INFINITY)));
    fidc_value *value = fidc_rw_where(rw, fm_less(rw, x, -8), airy_wave(rw, fm_clamp(rw, x, -INFINITY, -8)), right);
    return finite_only(rw, x, fidc_rw_where(rw, fidc_rw_op1(rw, FID_OPID_isnan, x), x, value));
}

static const fidc_rule_row rows[] = {
    {FID_OPID_i0, i0},
    {FID_OPID_special_i0, i0},
    {FID_OPID_special_i0e, i0e},
    {FID_OPID_special_i1, i1},
    {FID_OPID_special_i1e, i1e},
    {FID_OPID_special_modified_bessel_i0, i0},
    {FID_OPID_special_modified_bessel_i1, i1},
    {FID_OPID_special_modified_bessel_k0, k0},
    {FID_OPID_special_modified_bessel_k1, k1},
    {FID_OPID_special_scaled_modified_bessel_k0, k0e},
    {FID_OPID_special_scaled_modified_bessel_k1, k1e},
    {FID_OPID_special_bessel_j0, j0_rule},
    {FID_OPID_special_bessel_j1, j1_rule},
    {FID_OPID_special_bessel_y0, y0_rule},
    {FID_OPID_special_bessel_y1, y1_rule},
    {FID_OPID_special_spherical_bessel_j0, spherical_j0},
    {FID_OPID_special_airy_ai, airy},
};

void fidc_rules_add_portable_bessel(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
