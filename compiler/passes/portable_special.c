/* Special functions of upstream's target: gamma and its derivatives, the error function's relatives, orthogonal polynomials. (Bessel
 * functions: portable_bessel.c.)
 *
 * All are composed in float64, which upstream's pointwise kernels have, and rounded once: series and asymptotic expansions that are
 * good to 1e-12 or so. Where a formula holds on one side of a border only, its argument is kept on that side, so that what is thrown
 * away is finite. */
#include "compiler/passes/portable_math.h"

#define EULER_PI 3.14159265358979323846

/* ---- Gamma ---- */

/* (x - 1/2) log x - x + ..., for x >= 7. */
static fidc_value *stirling(fidc_rewriter *rw, fidc_value *x) {
    static const double series[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156};
    fidc_value *inverse = fm_recip(rw, x), *square = fm_mul(rw, inverse, inverse);
    fidc_value *main = fm_sub(rw, fm_mul(rw, fm_addc(rw, x, -0.5), fm_log(rw, x)), x);
    return fm_add(rw, fm_addc(rw, main, 0.91893853320467274178), fm_mul(rw, inverse, fm_poly(rw, square, series, 7)));
}

/* sin(pi x) by the distance to the nearest whole number, which is exact. */
static fidc_value *sine_of_pi(fidc_rewriter *rw, fidc_value *x) {
    fidc_value *near = fm_sub(rw, x, fidc_rw_op1(rw, FID_OPID_round, x));
    return fidc_rw_op1(rw, FID_OPID_sin, fm_mulc(rw, near, EULER_PI));
}

/* log |gamma(x)| */
static fidc_value *log_gamma(fidc_rewriter *rw, fidc_value *x) {
    fidc_value *left = fm_less(rw, x, 0.5), *z = fidc_rw_where(rw, left, fm_rsubc(rw, x, 1), x), *small = fm_less(rw, z, 8);
    fidc_value *low = fm_clamp(rw, z, 0.5, 8), *product = low;
    for (int k = 1; k < 7; k++) product = fm_mul(rw, product, fm_addc(rw, low, k));
    fidc_value *shifted = stirling(rw, fidc_rw_where(rw, small, fm_addc(rw, low, 7), z));
    fidc_value *positive = fm_sub(rw, shifted, fidc_rw_where(rw, small, fm_log(rw, product), fm_number(rw, 0)));
    fidc_value *mirrored = fm_rsubc(rw, fm_log(rw, fm_abs(rw, sine_of_pi(rw, x))), 1.14472988584940017414); /* log pi */
    fidc_value *all = fidc_rw_where(rw, left, fm_sub(rw, mirrored, positive), positive);
    return fidc_rw_where(rw, fidc_rw_op1(rw, FID_OPID_isinf, x), fm_number(rw, INFINITY), all);
}

static fid_status lgamma_rule(fidc_rewriter *rw) { return fm_become(rw, log_gamma(rw, fm_input(rw, 0))); }

static fid_status mvlgamma(fidc_rewriter *rw) {
    int64_t p = fidc_rw_int(rw, 1, -1);
    if (p < 1 || p > 64) return fidc_rw_keep(rw);
    fidc_value *x = fm_input(rw, 0), *total = log_gamma(rw, x);
    for (int64_t j = 1; j < p; j++) total = fm_add(rw, total, log_gamma(rw, fm_addc(rw, x, -0.5 * (double)j)));
    return fm_become(rw, fm_addc(rw, total, (double)(p * (p - 1)) / 4 * 1.14472988584940017414));
}

/* Of 0 it is the infinity that -1 / x says; of negative whole numbers it is none. */
static fidc_value *digamma_of(fidc_rewriter *rw, fidc_value *x) {
    static const double series[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
    fidc_value *left = fm_less(rw, x, 0), *z = fidc_rw_where(rw, left, fm_rsubc(rw, x, 1), x), *sum = fm_number(rw, 0);
    for (int k = 0; k < 9; k++) sum = fm_add(rw, sum, fm_recip(rw, fm_addc(rw, z, k)));
    fidc_value *w = fm_addc(rw, z, 9), *inverse = fm_recip(rw, w), *square = fm_mul(rw, inverse, inverse);
    fidc_value *far = fm_sub(rw, fm_log(rw, w), fm_mulc(rw, inverse, 0.5));
    far = fm_sub(rw, fm_sub(rw, far, fm_mul(rw, square, fm_poly(rw, square, series, 7))), sum);
    fidc_value *near = fm_mulc(rw, fm_sub(rw, x, fidc_rw_op1(rw, FID_OPID_round, x)), EULER_PI);
    fidc_value *cotangent = fm_div(rw, fidc_rw_op1(rw, FID_OPID_cos, near), fidc_rw_op1(rw, FID_OPID_sin, near));
    fidc_value *all = fidc_rw_where(rw, left, fm_sub(rw, far, fm_mulc(rw, cotangent, EULER_PI)), far);
    fidc_value *pole = fidc_rw_op2(rw, FID_OPID_logical_and, left, fm_equals(rw, fidc_rw_op1(rw, FID_OPID_floor, x), x));
    all = fidc_rw_where(rw, pole, fm_number(rw, NAN), all);
    return fidc_rw_where(rw, fm_equals_number(rw, x, 0), fidc_rw_op1(rw, FID_OPID_neg, fm_recip(rw, x)), all);
}

static fid_status digamma_rule(fidc_rewriter *rw) { return fm_become(rw, digamma_of(rw, fm_input(rw, 0))); }

/* The Hurwitz zeta function of a constant s > 1, for q >= 1/2: ten terms, the rest by the Euler-Maclaurin formula. */
static fidc_value *zeta_of(fidc_rewriter *rw, double s, fidc_value *q) {
    static const double bernoulli[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000};
    fidc_value *sum = fm_power(rw, q, -s);
    for (int k = 1; k < 10; k++) sum = fm_add(rw, sum, fm_power(rw, fm_addc(rw, q, k), -s));
    fidc_value *w = fm_addc(rw, q, 10), *power = fm_power(rw, w, -s), *inverse = fm_recip(rw, w);
    sum = fm_add(rw, sum, fm_mul(rw, power, fm_addc(rw, fm_mulc(rw, w, 1 / (s - 1)), 0.5)));
    double rising[6], product = s;
    for (int j = 0; j < 6; j++) {
        rising[j] = bernoulli[j] * product;
        product *= (s + 2 * j + 1) * (s + 2 * j + 2);
    }
    return fm_add(rw, sum, fm_mul(rw, fm_mul(rw, power, inverse), fm_poly(rw, fm_mul(rw, inverse, inverse), rising, 6)));
}

/* The n-th derivative of cot(pi x) over pi^n, a polynomial in the cotangent c: Q' (-(1 + c^2)). */
static fidc_value *cotangent_derivative(fidc_rewriter *rw, fidc_value *x, int n) {
    double q[40] = {0, 1}, next[40];
    for (int k = 0; k < n; k++) {
        memset(next, 0, sizeof next);
        for (int i = 1; i <= k + 1; i++) {
            next[i - 1] -= i * q[i];
            next[i + 1] -= i * q[i];
        }
        memcpy(q, next, sizeof q);
    }
    fidc_value *near = fm_mulc(rw, fm_sub(rw, x, fidc_rw_op1(rw, FID_OPID_round, x)), EULER_PI);
    return fm_poly(rw, fm_div(rw, fidc_rw_op1(rw, FID_OPID_cos, near), fidc_rw_op1(rw, FID_OPID_sin, near)), q, (size_t)n + 2);
}

/* At negative whole numbers PyTorch's trigamma divides by what the sine of a rounded multiple of pi leaves. */
static fidc_value *trigamma_poles(fidc_rewriter *rw) {
    fid_dtype dtype = fidc_compute_dtype((fid_dtype)fidc_rw_out(rw)->dtype);
    fidc_value *angle = fidc_rw_opd(rw, FID_OPID_mul_Scalar, fidc_rw_cast(rw, fidc_rw_value(rw, 1), dtype), dtype == FID_FLOAT32 ? (double)(float)EULER_PI : EULER_PI);
    fidc_value *sine = fidc_rw_cast(rw, fidc_rw_op1(rw, FID_OPID_sin, angle), FID_FLOAT64);
    return fm_mulc(rw, fm_recip(rw, fm_mul(rw, sine, sine)), EULER_PI * EULER_PI);
}

#define HIGHEST_DERIVATIVE 30

static fid_status polygamma(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_cast(rw, fidc_rw_value(rw, 1), FID_FLOAT64);
    int64_t n = fidc_rw_int(rw, 0, -1);
    if (n == 0) return fm_become(rw, digamma_of(rw, x));
    if (n < 0 || n > HIGHEST_DERIVATIVE) return fidc_rw_refuse(rw, "derivatives of digamma above the 30th are not composed of upstream's kernels");
    double sign = n % 2 ? 1 : -1, factorial = 1, power = EULER_PI;
    for (int k = 1; k <= n; k++) {
        factorial *= k;
        power *= EULER_PI;
    }
    fidc_value *left = fm_less(rw, x, 0.5), *z = fidc_rw_where(rw, left, fm_rsubc(rw, x, 1), x);
    fidc_value *right = fm_mulc(rw, zeta_of(rw, (double)n + 1, z), sign * factorial);
    fidc_value *mirrored = fm_sub(rw, fm_mulc(rw, right, -sign), fm_mulc(rw, cotangent_derivative(rw, x, (int)n), power));
    fidc_value *all = fidc_rw_where(rw, left, mirrored, right);
    fidc_value *whole = fidc_rw_op2(rw, FID_OPID_logical_and, fm_equals(rw, fidc_rw_op1(rw, FID_OPID_floor, x), x), fm_less(rw, x, 0.5));
    all = fidc_rw_where(rw, whole, fm_number(rw, sign * INFINITY), all);
    if (n != 1) return fm_become(rw, all);
    fidc_value *negative = fidc_rw_op2(rw, FID_OPID_logical_and, whole, fm_less(rw, x, 0));
    negative = fidc_rw_op2(rw, FID_OPID_logical_and, negative, fidc_rw_op1(rw, FID_OPID_logical_not, fidc_rw_op1(rw, FID_OPID_isinf, x)));
    return fm_become(rw, fidc_rw_where(rw, negative, trigamma_poles(rw), all));
}

/* ---- The error function's relatives ---- */

/* exp(x^2) erfc(x) for x >= 2 by its continued fraction. */
static fidc_value *scaled_tail(fidc_rewriter *rw, fidc_value *x) {
    fidc_value *fraction = x;
    for (int k = 44; k > 0; k--) fraction = fm_add(rw, x, fidc_rw_opd(rw, FID_OPID_mul_Scalar, fm_recip(rw, fraction), 0.5 * k));
    return fm_mulc(rw, fm_recip(rw, fraction), 0.56418958354775628695); /* 1 / sqrt(pi) */
}

static fidc_value *square_power(fidc_rewriter *rw, fidc_value *x, double factor) { return fm_exp(rw, fm_mulc(rw, fm_mul(rw, x, x), factor)); }
static fidc_value *one_less_erf(fidc_rewriter *rw, fidc_value *x) { return fm_rsubc(rw, fidc_rw_op1(rw, FID_OPID_erf, x), 1); }

static fidc_value *erfcx_of(fidc_rewriter *rw, fidc_value *x) {
    fidc_value *low = fm_clamp(rw, x, -INFINITY, 2), *high = fm_clamp(rw, x, 2, INFINITY);
    fidc_value *near = fm_mul(rw, square_power(rw, low, 1), one_less_erf(rw, low));
    return fidc_rw_where(rw, fm_less(rw, x, 2), near, scaled_tail(rw, high));
}

static fidc_value *erfc_of(fidc_rewriter *rw, fidc_value *x) {
    fidc_value *high = fm_clamp(rw, x, 2, INFINITY);
    return fidc_rw_where(rw, fm_less(rw, x, 2), one_less_erf(rw, x), fm_mul(rw, square_power(rw, high, -1), scaled_tail(rw, high)));
}

static fid_status erfcx(fidc_rewriter *rw) {
    fidc_value *x = fm_input(rw, 0), *value = erfcx_of(rw, x);
    return fm_become(rw, fidc_rw_where(rw, fidc_rw_op1(rw, FID_OPID_isnan, x), x, value));
}

static fid_status erfc_rule(fidc_rewriter *rw) {
    fidc_value *x = fm_input(rw, 0), *value = erfc_of(rw, x);
    return fm_become(rw, fidc_rw_where(rw, fidc_rw_op1(rw, FID_OPID_isnan, x), x, value));
}

#define ROOT_HALF 0.70710678118654752440

/* Above -1 by the logarithm of one less the other side, below by the scaled tail. */
static fid_status log_ndtr(fidc_rewriter *rw) {
    fidc_value *x = fm_input(rw, 0), *low = fm_clamp(rw, x, -INFINITY, -1);
    fidc_value *right = fidc_rw_op1(rw, FID_OPID_log1p, fm_mulc(rw, erfc_of(rw, fm_mulc(rw, x, ROOT_HALF)), -0.5));
    fidc_value *left = fm_log(rw, fm_mulc(rw, erfcx_of(rw, fm_mulc(rw, low, -ROOT_HALF)), 0.5));
    left = fm_sub(rw, left, fm_mulc(rw, fm_mul(rw, low, low), 0.5));
    fidc_value *value = fidc_rw_where(rw, fidc_rw_opd(rw, FID_OPID_gt_Scalar, x, -1), right, left);
    return fm_become(rw, fidc_rw_where(rw, fidc_rw_op1(rw, FID_OPID_isnan, x), x, value));
}

/* Quotients of polynomials for the normal quantile, by M. J. Wichura (1988): near the middle, in q = p - 1/2; in the tails, in
 * r = sqrt(-log p) less 1.6 or less 5. */
static const double middle_top[] = {3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
                                    45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727};
static const double middle_bottom[] = {1, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077,
                                       21213.794301586595867, 39307.895800092710610, 28729.085735721942674, 5226.4952788528545610};
static const double tail_top[] = {1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
                                  1.27045825245236838258, 0.241780725177450611770, 0.0227238449892691845833, 0.000774545014278341407640};
static const double tail_bottom[] = {1, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550,
                                     0.148103976427480074590, 0.0151986665636164571966, 0.000547593808499534494600, 1.05075007164441684324e-9};
static const double far_top[] = {6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 0.296560571828504891230,
                                 0.0265321895265761230930, 0.00124266094738807843860, 2.71155556874348757815e-5, 2.01033439929228813265e-7};
static const double far_bottom[] = {1, 0.599832206555887937690, 0.136929880922735805310, 0.0148753612908506148525,
                                    0.000786869131145613259100, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15};

static fidc_value *ratio(fidc_rewriter *rw, fidc_value *x, const double *top, const double *bottom) {
    return fm_div(rw, fm_poly(rw, x, top, 8), fm_poly(rw, x, bottom, 8));
}

/* q: distance from the middle; tail: probability beyond, on its side. */
static fidc_value *quantile_of(fidc_rewriter *rw, fidc_value *q, fidc_value *tail) {
    fidc_value *size = fm_abs(rw, q), *inner = fm_rsubc(rw, fm_mul(rw, q, q), 0.180625);
    fidc_value *middle = fm_mul(rw, q, ratio(rw, inner, middle_top, middle_bottom));
    fidc_value *depth = fidc_rw_op1(rw, FID_OPID_sqrt, fidc_rw_op1(rw, FID_OPID_neg, fm_log(rw, tail)));
    fidc_value *near = ratio(rw, fm_addc(rw, fm_clamp(rw, depth, 0, 5), -1.6), tail_top, tail_bottom);
    fidc_value *far = ratio(rw, fm_addc(rw, fm_clamp(rw, depth, 5, 30), -5), far_top, far_bottom);
    fidc_value *outer = fm_mul(rw, fidc_rw_where(rw, fm_less(rw, depth, 5), near, far), fidc_rw_op1(rw, FID_OPID_sign, q));
    fidc_value *value = fidc_rw_where(rw, fm_less(rw, size, 0.425), middle, outer);
    fidc_value *end = fm_mulc(rw, fidc_rw_op1(rw, FID_OPID_sign, q), INFINITY);
    value = fidc_rw_where(rw, fm_equals_number(rw, tail, 0), end, value);
    return fidc_rw_where(rw, fidc_rw_opd(rw, FID_OPID_ge_Scalar, tail, 0), value, fm_number(rw, NAN)); /* NaN is not */
}

static fid_status ndtri(fidc_rewriter *rw) {
    fidc_value *p = fm_input(rw, 0), *tail = fidc_rw_op2(rw, FID_OPID_minimum, p, fm_rsubc(rw, p, 1));
    return fm_become(rw, quantile_of(rw, fm_addc(rw, p, -0.5), tail));
}

static fid_status erfinv(fidc_rewriter *rw) {
    fidc_value *y = fm_input(rw, 0), *tail = fm_mulc(rw, fm_rsubc(rw, fm_abs(rw, y), 1), 0.5);
    return fm_become(rw, fm_mulc(rw, quantile_of(rw, fm_mulc(rw, y, 0.5), tail), ROOT_HALF));
}

static const fidc_rule_row rows[] = {
    {FID_OPID_lgamma, lgamma_rule},
    {FID_OPID_digamma, digamma_rule},
    {FID_OPID_polygamma, polygamma},
    {FID_OPID_special_polygamma, polygamma},
    {FID_OPID_mvlgamma, mvlgamma},
    {FID_OPID_erfc, erfc_rule},
    {FID_OPID_special_erfcx, erfcx},
    {FID_OPID_special_log_ndtr, log_ndtr},
    {FID_OPID_special_ndtri, ndtri},
    {FID_OPID_erfinv, erfinv},
};

void fidc_rules_add_portable_special(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
