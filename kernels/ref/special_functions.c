/* Reference kernels of the error function and the normal distribution. */
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

static double entropy(double x) {
    if (isnan(x)) return x;
    return x > 0 ? -x * log(x) : x == 0 ? 0 : -INFINITY;
}

FIDK_FLOAT_UNARY(erf, erf(x))
FIDK_FLOAT_UNARY(erfc, erfc(x))
FIDK_FLOAT_UNARY(erfinv, erf_inverse(x))
FIDK_FLOAT_UNARY(special_entr, entropy(x))
FIDK_FLOAT_UNARY(special_ndtr, normal_cdf(x))
FIDK_FLOAT_UNARY(special_ndtri, normal_quantile(x))
FIDK_FLOAT_UNARY(special_log_ndtr, log_normal_cdf(x))
FIDK_FLOAT_UNARY(special_erfcx, scaled_erfc(x))
