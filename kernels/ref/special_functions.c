/* Reference kernels of special functions: error functions, gamma functions, Bessel functions, the normal distribution. */
#include "kernels/ref/elementwise.h"

#define PI 3.14159265358979323846
#define SQRT_2 1.41421356237309504880

/* ---- The normal distribution and the error function ---- */

/* erfc(x) * exp(x * x) for x >= 25 by its asymptotic series, elsewhere directly. */
static double scaled_erfc(double x) {
    if (x < 25) return x < -26.7 ? INFINITY : exp(x * x) * erfc(x);
    double t = 1 / (2 * x * x);
    return (1 - t * (1 - 3 * t * (1 - 5 * t))) / (x * sqrt(PI));
}

static double normal_cdf(double x) { return 0.5 * erfc(-x / SQRT_2); }

static double log_normal_cdf(double x) {
    if (x > -1) return log1p(-0.5 * erfc(x / SQRT_2));
    return log(0.5 * scaled_erfc(-x / SQRT_2)) - 0.5 * x * x;
}

/* Quantile for 0 < p <= 0.5: a start that is good to a tenth, then Halley's steps on the logarithm of the distribution function. */
static double lower_quantile(double p) {
    double t = sqrt(-2 * log(p));
    double x = (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
    for (int i = 0; i < 4; i++) {
        double error = (normal_cdf(x) - p) * sqrt(2 * PI) * exp(0.5 * x * x);
        x -= error / (1 + 0.5 * x * error);
    }
    return x;
}

static double normal_quantile(double p) {
    if (isnan(p) || p < 0 || p > 1) return NAN;
    if (p == 0 || p == 1) return p == 0 ? -INFINITY : INFINITY;
    return p <= 0.5 ? lower_quantile(p) : -lower_quantile(1 - p);
}

static double erf_inverse(double y) {
    double size = fabs(y);
    if (isnan(y) || size > 1) return NAN;
    if (size > 0.5) return copysign(normal_quantile(0.5 * (1 - size)) / SQRT_2, y);
    double x = y * sqrt(PI) / 2;
    for (int i = 0; i < 5; i++) x -= (erf(x) - y) * sqrt(PI) / 2 * exp(x * x);
    return x;
}

/* ---- Gamma ---- */

/* Reflection for negative x, recurrence up to 10, then the asymptotic series. */
static double digamma_of(double x) {
    if (x == 0) return copysign(INFINITY, -x);
    double result = 0;
    if (x < 0) {
        if (x == floor(x)) return NAN;
        result = -PI / tan(PI * fmod(x, 1));
        x = 1 - x;
    }
    for (; x < 10; x++) result -= 1 / x;
    double t = 1 / (x * x);
    double series = t * (1.0 / 12 - t * (1.0 / 120 - t * (1.0 / 252 - t * (1.0 / 240 - t * (1.0 / 132 - t * 691.0 / 32760)))));
    return result + log(x) - 0.5 / x - series;
}

/* ---- Modified Bessel functions of the first kind, orders 0 and 1, times exp(-|x|) ---- */

static double bessel_small(double x, int order) {
    double quarter = x * x / 4, term = order ? x / 2 : 1, sum = 0;
    for (int k = 1; term > sum * 1e-17; k++) {
        sum += term;
        term *= quarter / ((double)k * (k + order));
    }
    return sum * exp(-x);
}

static double bessel_large(double x, int order) {
    double mu = 4.0 * order * order, term = 1, sum = 0;
    for (int k = 1; k < 20; k++) {
        sum += term;
        term *= -(mu - (2.0 * k - 1) * (2.0 * k - 1)) / (8 * k * x);
    }
    return sum / sqrt(2 * PI * x);
}

static double bessel_scaled(double x, int order) {
    double size = fabs(x);
    if (isnan(x)) return x;
    double value = size == 0 ? !order : isinf(size) ? 0 : size < 40 ? bessel_small(size, order) : bessel_large(size, order);
    return order && x < 0 ? -value : value;
}

static double bessel(double x, int order) {
    if (isinf(x)) return order ? x : INFINITY;
    return bessel_scaled(x, order) * exp(fabs(x));
}

static double entropy(double x) {
    if (isnan(x)) return x;
    return x > 0 ? -x * log(x) : x == 0 ? 0 : -INFINITY;
}

#define SPECIAL(id, expression)                                                                                        \
    static fidk_element value_##id(const fidk_element *in, fidk_elementwise *e) {                                      \
        double x = in[0].d;                                                                                            \
        (void)e;                                                                                                       \
        return fidk_real(expression);                                                                                  \
    }                                                                                                                  \
    FIDK_KERNEL(id, fidk_unary_float(call, value_##id))

SPECIAL(erf, erf(x))
SPECIAL(erfc, erfc(x))
SPECIAL(erfinv, erf_inverse(x))
SPECIAL(lgamma, lgamma(x))
SPECIAL(digamma, digamma_of(x))
SPECIAL(special_entr, entropy(x))
SPECIAL(i0, bessel(x, 0))
SPECIAL(special_i0, bessel(x, 0))
SPECIAL(special_i0e, bessel_scaled(x, 0))
SPECIAL(special_i1, bessel(x, 1))
SPECIAL(special_i1e, bessel_scaled(x, 1))
SPECIAL(special_ndtr, normal_cdf(x))
SPECIAL(special_ndtri, normal_quantile(x))
SPECIAL(special_log_ndtr, log_normal_cdf(x))
SPECIAL(special_erfcx, scaled_erfc(x))
