/* Reference kernels of Bessel functions of orders 0 and 1 and of the Airy function. */
#include "kernels/ref/elementwise.h"

#define PI 3.14159265358979323846

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
    return bessel_scaled(x, order) * exp(fabs(x));
}

/* ---- Second kind, modified: the integral of exp(-x (cosh t - 1)) cosh(order t) over t >= 0, which is K_order(x) exp(x).
 * The trapezoidal rule is exact to rounding, since the integrand falls doubly exponentially. ---- */

static double second_kind_scaled(double x, double order) {
    if (x == 0) return INFINITY;
    if (!(x > 0)) return NAN;
    if (isinf(x)) return 0;
    const double step = x > 64 ? 0.25 / sqrt(x) : 1.0 / 32; /* the integrand is as narrow as 1 / sqrt(x) */
    double sum = 0.5;
    for (int i = 1;; i++) {
        double t = i * step, term = exp(-x * (cosh(t) - 1)) * cosh(order * t);
        if (!isnan(term)) sum += term;
        if (!(term >= sum * 1e-18)) return sum * step; /* an overflow ends it as well */
    }
}

static double second_kind(double x, double order) { return second_kind_scaled(x, order) * exp(-x); }

/* ---- Airy's function Ai ---- */

/* Maclaurin series, for x between -8 and 1: two solutions of y'' = x y, weighted by Ai(0) and Ai'(0). */
static double airy_series(double x) {
    double f = 1, g = x, f_term = 1, g_term = x, cube = x * x * x;
    for (int k = 1; k < 120; k++) {
        f_term *= cube / ((3.0 * k - 1) * (3.0 * k));
        g_term *= cube / ((3.0 * k) * (3.0 * k + 1));
        f += f_term;
        g += g_term;
    }
    return 0.355028053887817239260 * f - 0.258819403792806798405 * g;
}

/* Asymptotic series for x < -8. */
static double airy_oscillating(double x) {
    double z = -x, zeta = 2.0 / 3 * z * sqrt(z), term = 1, even = 0, odd = 0;
    for (int k = 0; k < 12; k++) {
        double sign = k & 2 ? -1 : 1;
        if (k & 1) odd += sign * term;
        else even += sign * term;
        term *= (6.0 * k + 1) * (6.0 * k + 5) / (72.0 * (k + 1) * zeta);
    }
    return (sin(zeta + PI / 4) * even - cos(zeta + PI / 4) * odd) / (sqrt(PI) * sqrt(sqrt(z)));
}

static double airy(double x) {
    if (isnan(x) || isinf(x)) return NAN;
    if (x <= 1) return x < -8 ? airy_oscillating(x) : airy_series(x);
    double zeta = 2.0 / 3 * x * sqrt(x);
    return sqrt(x / 3) / PI * second_kind(zeta, 1.0 / 3);
}

static double finite_or_nan(double x, double value) { return isinf(x) ? NAN : value; }

static double spherical(double x) { return x == 0 ? 1 : isinf(x) ? 0 : sin(x) / x; }

FIDK_FLOAT_UNARY(i0, finite_or_nan(x, bessel(x, 0)))
FIDK_FLOAT_UNARY(special_i0, finite_or_nan(x, bessel(x, 0)))
FIDK_FLOAT_UNARY(special_i0e, bessel_scaled(x, 0))
FIDK_FLOAT_UNARY(special_i1, finite_or_nan(x, bessel(x, 1)))
FIDK_FLOAT_UNARY(special_i1e, bessel_scaled(x, 1))
FIDK_FLOAT_UNARY(special_modified_bessel_i0, finite_or_nan(x, bessel(x, 0)))
FIDK_FLOAT_UNARY(special_modified_bessel_i1, finite_or_nan(x, bessel(x, 1)))
FIDK_FLOAT_UNARY(special_modified_bessel_k0, second_kind(x, 0))
FIDK_FLOAT_UNARY(special_modified_bessel_k1, second_kind(x, 1))
FIDK_FLOAT_UNARY(special_scaled_modified_bessel_k0, second_kind_scaled(x, 0))
FIDK_FLOAT_UNARY(special_scaled_modified_bessel_k1, second_kind_scaled(x, 1))
FIDK_FLOAT_UNARY(special_bessel_j0, finite_or_nan(x, j0(x)))
FIDK_FLOAT_UNARY(special_bessel_j1, finite_or_nan(x, j1(x)))
FIDK_FLOAT_UNARY(special_bessel_y0, finite_or_nan(x, x < 0 ? NAN : y0(x)))
FIDK_FLOAT_UNARY(special_bessel_y1, finite_or_nan(x, x < 0 ? NAN : y1(x)))
FIDK_FLOAT_UNARY(special_spherical_bessel_j0, spherical(x))
FIDK_FLOAT_UNARY(special_airy_ai, airy(x))
