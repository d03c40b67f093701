/* Reference kernels of one-operand arithmetic and elementary functions. Float results are computed in double and rounded once. */
#include "kernels/ref/complex_math.h"
#include "kernels/ref/elementwise.h"

#define PI 3.14159265358979323846

/* ---- Integers stay integers ---- */

/* Defines fid_ref_ID: `real` of x for floats, `integer` of n for integers and bool. */
#define SAME_DTYPE(id, real, integer)                                                                                  \
    static fidk_element value_##id(const fidk_element *in, fidk_elementwise *e) {                                      \
        double x = in[0].d;                                                                                            \
        int64_t n = in[0].i;                                                                                           \
        (void)n; /* some rows have no use for it */                                                                    \
        return e->form == FIDK_REAL ? fidk_real(real) : fidk_int(integer);                                             \
    }                                                                                                                  \
    FIDK_KERNEL(id, fidk_unary(call, value_##id))

static bool negative(const fidk_elementwise *e, int64_t n) { return n < 0 && e->compute != FID_UINT64; }

SAME_DTYPE(sign, (x > 0) - (x < 0), negative(e, n) ? -1 : n != 0)
SAME_DTYPE(ceil, ceil(x), n)
SAME_DTYPE(floor, floor(x), n)
SAME_DTYPE(round, rint(x), n)
SAME_DTYPE(trunc, trunc(x), n)
SAME_DTYPE(frac, x - trunc(x), 0)
SAME_DTYPE(relu, x > 0 || isnan(x) ? x : 0, negative(e, n) ? 0 : n)

static fidk_element negated(const fidk_element *in, fidk_elementwise *e) {
    if (e->form == FIDK_COMPLEX) return (fidk_element){.c = {-in[0].c.re, -in[0].c.im}};
    return e->form == FIDK_REAL ? fidk_real(-in[0].d) : fidk_int(fidk_wrap_sub(0, in[0].i));
}

static fidk_element squared(const fidk_element *in, fidk_elementwise *e) {
    double re = in[0].c.re, im = in[0].c.im;
    if (e->form == FIDK_COMPLEX) return (fidk_element){.c = {re * re - im * im, 2 * re * im}};
    return e->form == FIDK_REAL ? fidk_real(in[0].d * in[0].d) : fidk_int(fidk_wrap_mul(in[0].i, in[0].i));
}

static fidk_element conjugate(const fidk_element *in, fidk_elementwise *e) {
    return e->form == FIDK_COMPLEX ? (fidk_element){.c = {in[0].c.re, -in[0].c.im}} : in[0];
}

/* The sign of a complex number is the number over its magnitude. */
static fidk_element direction(const fidk_element *in, fidk_elementwise *e) {
    if (e->form != FIDK_COMPLEX) return value_sign(in, e);
    double size = hypot(in[0].c.re, in[0].c.im);
    return size == 0 ? in[0] : (fidk_element){.c = {in[0].c.re / size, in[0].c.im / size}};
}

FIDK_KERNEL(neg, fidk_unary_complex(call, negated))
static fid_status run_square(fid_call *call) {
    fid_dtype dtype = (fid_dtype)fid_arg_tensor(call, 0)->dtype;
    fidk_elementwise e = fidk_elementwise_begin(call, dtype == FID_BOOL ? FID_INT64 : dtype);
    e.takes_complex = true;
    fidk_operand_add(&e, 0, e.compute);
    return fidk_elementwise_run(&e, squared);
}

const fid_kernel fid_ref_square = {.run = run_square};
FIDK_KERNEL(conj_physical, fidk_unary_complex(call, conjugate))
FIDK_KERNEL(sgn, fidk_unary_complex(call, direction))

static fidk_element magnitude(const fidk_element *in, fidk_elementwise *e) {
    if (e->form == FIDK_COMPLEX) return fidk_real(hypot(in[0].c.re, in[0].c.im));
    if (e->form == FIDK_REAL) return fidk_real(fabs(in[0].d));
    return fidk_int(negative(e, in[0].i) ? fidk_wrap_sub(0, in[0].i) : in[0].i);
}

static fid_status run_abs(fid_call *call) {
    fidk_elementwise e = fidk_elementwise_begin(call, (fid_dtype)fid_arg_tensor(call, 0)->dtype);
    e.takes_complex = true;
    if (e.compute == FID_COMPLEX64) e.result = FID_FLOAT32;
    if (e.compute == FID_COMPLEX128) e.result = FID_FLOAT64;
    fidk_operand_add(&e, 0, e.compute);
    return fidk_elementwise_run(&e, magnitude);
}

const fid_kernel fid_ref_abs = {.run = run_abs};

/* Rounds at a decimal place; the scaled value is rounded to the compute dtype first, as PyTorch's is. */
static fidk_element rounded_at(const fidk_element *in, fidk_elementwise *e) {
    if (e->form == FIDK_INTEGER) return in[0];
    double scale = e->extra[0].d, x = in[0].d;
    fid_dtype wide = fidk_wide(e->compute);
    if (e->flag) return fidk_real(rint(fidk_round_to(wide, x / scale)) * scale);
    return fidk_real(rint(fidk_round_to(wide, x * scale)) / scale);
}

static fid_status run_round_decimals(fid_call *call) {
    fidk_elementwise e = fidk_elementwise_begin(call, (fid_dtype)fid_arg_tensor(call, 0)->dtype);
    int64_t decimals = fid_arg_int(call, 1);
    e.flag = decimals < 0;
    e.extra[0].d = fidk_round_to(fidk_wide(e.compute), pow(10, fabs((double)decimals)));
    fidk_operand_add(&e, 0, e.compute);
    return fidk_elementwise_run(&e, rounded_at);
}

const fid_kernel fid_ref_round_decimals = {.run = run_round_decimals};

/* ---- Float functions, of complex numbers too: integers become float32 ---- */

/* Defines fid_ref_ID: `real` of x, `complex` of z. */
#define COMPLEX_UNARY(id, real, complex)                                                                               \
    static fidk_element value_##id(const fidk_element *in, fidk_elementwise *e) {                                      \
        double x = in[0].d;                                                                                            \
        fid_complex128 z = in[0].c;                                                                                    \
        return e->form == FIDK_COMPLEX ? (fidk_element){.c = complex} : fidk_real(real);                               \
    }                                                                                                                  \
    FIDK_KERNEL(id, float_or_complex(call, value_##id))

static fid_status float_or_complex(fid_call *call, fidk_function *function) {
    fid_dtype dtype = (fid_dtype)fid_arg_tensor(call, 0)->dtype;
    return fid_dtype_is_complex(dtype) ? fidk_unary_complex(call, function) : fidk_unary_float(call, function);
}

static fid_complex128 inverse(fid_complex128 z) { return fidk_complex_div(fidk_complex(1, 0), z); }
static fid_complex128 logistic(fid_complex128 z) {
    fid_complex128 power = fidk_complex_exp(fidk_complex(-z.re, -z.im));
    return inverse(fidk_complex(1 + power.re, power.im));
}

COMPLEX_UNARY(sqrt, sqrt(x), fidk_complex_sqrt(z))
COMPLEX_UNARY(rsqrt, 1 / sqrt(x), inverse(fidk_complex_sqrt(z)))
COMPLEX_UNARY(reciprocal, 1 / x, inverse(z))
COMPLEX_UNARY(exp, exp(x), fidk_complex_exp(z))
COMPLEX_UNARY(log, log(x), fidk_complex_log(z))
COMPLEX_UNARY(sin, sin(x), fidk_complex_turn_back(fidk_complex_sinh(fidk_complex_turn(z))))
COMPLEX_UNARY(cos, cos(x), fidk_complex_cosh(fidk_complex_turn(z)))
COMPLEX_UNARY(sinh, sinh(x), fidk_complex_sinh(z))
COMPLEX_UNARY(cosh, cosh(x), fidk_complex_cosh(z))
COMPLEX_UNARY(tanh, tanh(x), fidk_complex_tanh(z))
COMPLEX_UNARY(sigmoid, 1 / (1 + exp(-x)), logistic(z))

static fid_complex128 scaled(fid_complex128 z, double factor) { return fidk_complex(z.re * factor, z.im * factor); }
static fid_complex128 shifted(fid_complex128 z, double real) { return fidk_complex(z.re + real, z.im); }
static fid_complex128 sine(fid_complex128 z) { return fidk_complex_turn_back(fidk_complex_sinh(fidk_complex_turn(z))); }
static fid_complex128 sine_quotient(fid_complex128 z) {
    z = scaled(z, PI);
    return z.re == 0 && z.im == 0 ? fidk_complex(1, 0) : fidk_complex_div(sine(z), z);
}

#define LN2 0.693147180559945309417
#define LN10 2.30258509299404568402

COMPLEX_UNARY(exp2, exp2(x), fidk_complex_exp(scaled(z, LN2)))
COMPLEX_UNARY(expm1, expm1(x), shifted(fidk_complex_exp(z), -1))
COMPLEX_UNARY(log2, log2(x), scaled(fidk_complex_log(z), 1 / LN2))
COMPLEX_UNARY(log10, log10(x), scaled(fidk_complex_log(z), 1 / LN10))
COMPLEX_UNARY(log1p, log1p(x), fidk_complex_log(shifted(z, 1)))
COMPLEX_UNARY(tan, tan(x), fidk_complex_turn_back(fidk_complex_tanh(fidk_complex_turn(z))))
COMPLEX_UNARY(asin, asin(x), fidk_complex_turn_back(fidk_complex_asinh(fidk_complex_turn(z))))
COMPLEX_UNARY(acos, acos(x), fidk_complex_acos(z))
COMPLEX_UNARY(atan, atan(x), fidk_complex_turn_back(fidk_complex_atanh(fidk_complex_turn(z))))
COMPLEX_UNARY(asinh, asinh(x), fidk_complex_asinh(z))
COMPLEX_UNARY(acosh, acosh(x), fidk_complex_acosh(z))
COMPLEX_UNARY(atanh, atanh(x), fidk_complex_atanh(z))
COMPLEX_UNARY(sinc, x == 0 ? 1 : sin(PI * x) / (PI * x), sine_quotient(z))

/* ---- Float functions ---- */

FIDK_FLOAT_UNARY(deg2rad, x * (PI / 180))
FIDK_FLOAT_UNARY(rad2deg, x * (180 / PI))

static fidk_element log_odds(const fidk_element *in, fidk_elementwise *e) {
    double x = in[0].d, low = e->extra[0].d, high = 1 - low;
    if (e->flag) x = x < low ? low : x > high ? high : x;
    return fidk_real(log(x / (1 - x)));
}

static fid_status run_logit(fid_call *call) {
    fidk_elementwise e = fidk_elementwise_begin(call, fid_dtype_to_float((fid_dtype)fid_arg_tensor(call, 0)->dtype));
    e.flag = !fid_arg_is_none(call, 1);
    if (e.flag) e.extra[0].d = fid_arg_double(call, 1);
    fidk_operand_add(&e, 0, e.compute);
    return fidk_elementwise_run(&e, log_odds);
}

const fid_kernel fid_ref_logit = {.run = run_logit};
