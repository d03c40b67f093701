/* Reference kernels of the gamma function and its relatives: logarithm, derivatives, incomplete integrals, Hurwitz zeta. */
#include "kernels/ref/elementwise.h"

#define PI 3.14159265358979323846

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

/* sum over k >= 0 of (q + k)^-s for s > 1: terms up to q + k >= 10 directly, the rest by the Euler-Maclaurin formula. */
static double zeta(double s, double q) {
    static const double bernoulli[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000};
    if (s == 1) return INFINITY;
    if (s < 1) return NAN;
    if (q <= 0 && q == floor(q)) return INFINITY; /* before NaN in s, as in PyTorch */
    if (isnan(s) || isnan(q) || (q <= 0 && s != floor(s))) return NAN;
    if (isinf(s)) return q == 1 ? 1 : q < 1 ? INFINITY : NAN;
    if (q < -100000) q += -100000 - floor(q); /* what lies before counts less than float32 can tell */
    double sum = 0;
    for (; q < 10; q++) sum += pow(q, -s);
    double power = pow(q, -s);
    sum += q * power / (s - 1) + 0.5 * power;
    for (int j = 0; j < 6; j++) {
        power *= (s + 2 * j) / q;
        sum += bernoulli[j] * power;
        power *= (s + 2 * j + 1) / q;
    }
    return sum;
}

/* The n-th derivative of digamma. */
static double polygamma_of(double n, double x) {
    if (n == 0) return digamma_of(x);
    return (fmod(n, 2) == 0 ? -1 : 1) * tgamma(n + 1) * zeta(n + 1, x);
}

/* ---- Incomplete gamma functions, regularized ---- */

/* x^a e^-x / gamma(a), by logarithms. */
static double incomplete_factor(double a, double x) { return exp(a * log(x) - x - lgamma(a)); }

/* The lower one by its power series: good for x < a + 1. */
static double lower_series(double a, double x) {
    double term = 1 / a, sum = term;
    for (double k = 1; k < 20000 && term > sum * 1e-17; k++) sum += term *= x / (a + k);
    return sum * incomplete_factor(a, x);
}

/* The upper one by its continued fraction (Lentz): good for x >= a + 1. */
static double upper_fraction(double a, double x) {
    const double tiny = 1e-300;
    double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d;
    for (int i = 1; i < 20000; i++) {
        double an = -i * (i - a);
        b += 2;
        d = an * d + b;
        c = b + an / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-16) break;
    }
    return h * incomplete_factor(a, x);
}

/* Both for large a, where logarithms cancel: the leading terms of Temme's uniform expansion (DLMF 8.12.3 to 8.12.10), with an error below
 * a^-1.5. */
static double incomplete_large(double a, double x, bool upper) {
    const double pi = 3.14159265358979323846;
    double mu = (x - a) / a, half = mu - log1p(mu); /* eta^2 / 2 */
    if (fabs(mu) < 1e-3) half = mu * mu * (0.5 - mu * (1.0 / 3 - mu * (0.25 - mu * 0.2)));
    double eta = copysign(sqrt(2 * half), mu), first = fabs(mu) < 1e-3 ? -1.0 / 3 + eta / 12 : 1 / mu - 1 / eta;
    double rest = exp(-a * half) / sqrt(2 * pi * a) * first, at = eta * sqrt(a / 2);
    return upper ? 0.5 * erfc(at) + rest : 0.5 * erfc(-at) - rest;
}

static double incomplete(double a, double x, bool upper) {
    double lower;
    if (a < 0 || x < 0 || (a == 0 && !(x > 0)) || (isinf(a) && isinf(x))) return NAN;
    if (a == 0 || (isinf(x) && x > 0)) lower = 1; /* an end of one argument decides, even if the other is NaN, as in PyTorch */
    else if (x == 0 || isinf(a)) lower = 0;
    else if (isnan(a) || isnan(x)) return NAN;
    else if (a > 1e6) return incomplete_large(a, x, upper);
    else if (x < a + 1) lower = lower_series(a, x);
    else return upper ? upper_fraction(a, x) : 1 - upper_fraction(a, x);
    return upper ? 1 - lower : lower;
}

FIDK_FLOAT_UNARY(lgamma, lgamma(x))
FIDK_FLOAT_UNARY(digamma, digamma_of(x))
FIDK_FLOAT_BINARY(special_zeta, zeta(a, b))
FIDK_FLOAT_BINARY(special_zeta_self_scalar, zeta(a, b))
FIDK_FLOAT_BINARY(special_zeta_other_scalar, zeta(a, b))
FIDK_FLOAT_BINARY(igamma, incomplete(a, b, false))
FIDK_FLOAT_BINARY(igammac, incomplete(a, b, true))

/* ---- With an integer argument ---- */

static fid_status with_number(fid_call *call, uint32_t tensor, uint32_t number, fidk_function *function) {
    fidk_elementwise e = fidk_elementwise_begin(call, fid_dtype_to_float((fid_dtype)fid_arg_tensor(call, tensor)->dtype));
    e.extra[0].d = fid_arg_double(call, number);
    if (e.extra[0].d < 0 || e.extra[0].d > 100000) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the order is outside [0, 100000]", call->name);
    }
    fidk_operand_add(&e, tensor, e.compute);
    return fidk_elementwise_run(&e, function);
}

/* At the poles of trigamma PyTorch gives what the sine of a rounded multiple of pi leaves. */
static double trigamma_at_pole(fid_dtype dtype, double x) {
    double sine = fidk_wide(dtype) == FID_FLOAT32 ? (double)sinf((float)PI * (float)x) : sin(PI * x);
    return PI * PI / (sine * sine);
}

static fidk_element value_polygamma(const fidk_element *in, fidk_elementwise *e) {
    double n = e->extra[0].d, x = in[0].d;
    if (n == 1 && x < 0 && x == floor(x) && !isinf(x)) return fidk_real(trigamma_at_pole(e->compute, x));
    return fidk_real(polygamma_of(n, x));
}

/* The logarithm of the multivariate gamma function of dimension p. */
static fidk_element value_mvlgamma(const fidk_element *in, fidk_elementwise *e) {
    double p = e->extra[0].d, total = p * (p - 1) / 4 * log(PI);
    for (double j = 0; j < p; j++) total += lgamma(in[0].d - j / 2);
    return fidk_real(total);
}

FIDK_KERNEL(polygamma, with_number(call, 1, 0, value_polygamma))
FIDK_KERNEL(special_polygamma, with_number(call, 1, 0, value_polygamma))
FIDK_KERNEL(mvlgamma, with_number(call, 0, 1, value_mvlgamma))
