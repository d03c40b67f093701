/* Reference kernels of two-operand arithmetic: sums, products, quotients with their rounding modes, remainders, powers. */
#include "kernels/ref/complex_math.h"
#include "kernels/ref/elementwise.h"

static const char division_by_zero[] = "an integer is divided by zero; PyTorch refuses that as well";

/* ---- Sums and products ---- */

static fidk_element add_scaled(const fidk_element *in, fidk_elementwise *e) {
    const fidk_element a = in[0], b = in[1], alpha = e->extra[0];
    if (e->form == FIDK_INTEGER) return fidk_int(fidk_wrap_add(a.i, fidk_wrap_mul(alpha.i, b.i)));
    if (e->form == FIDK_REAL) return fidk_real(a.d + alpha.d * b.d);
    return (fidk_element){.c = {a.c.re + alpha.c.re * b.c.re - alpha.c.im * b.c.im, a.c.im + alpha.c.re * b.c.im + alpha.c.im * b.c.re}};
}

static fidk_element product(const fidk_element *in, fidk_elementwise *e) {
    const fidk_element a = in[0], b = in[1];
    if (e->form == FIDK_INTEGER) return fidk_int(fidk_wrap_mul(a.i, b.i));
    if (e->form == FIDK_REAL) return fidk_real(a.d * b.d);
    return (fidk_element){.c = fidk_complex_mul(a.c, b.c)};
}

static fidk_element quotient(const fidk_element *in, fidk_elementwise *e) {
    const fidk_element a = in[0], b = in[1];
    if (e->form == FIDK_REAL) return fidk_real(a.d / b.d);
    return (fidk_element){.c = fidk_complex_div(a.c, b.c)};
}

/* PyTorch does not round a number or 0-d operand of a product or quotient to half precision before it computes; of a sum it does. */
static void add_wide_operand(fidk_elementwise *e, uint32_t i) {
    const fid_tensor *tensor = fid_arg_tensor(e->call, i);
    fidk_operand_add(e, i, tensor && tensor->rank ? e->compute : fidk_wide(e->compute));
}

static fid_status wide_binary(fid_call *call, fid_dtype compute, fidk_function *function) {
    fidk_elementwise e = fidk_elementwise_begin(call, compute);
    e.takes_complex = true;
    add_wide_operand(&e, 0);
    add_wide_operand(&e, 1);
    return fidk_elementwise_run(&e, function);
}

/* a + sign * alpha * b, where a and b are argument numbers. */
static fid_status scaled_sum(fid_call *call, uint32_t a, uint32_t b, int64_t sign) {
    fidk_elementwise e = fidk_elementwise_begin(call, fid_result_type(call, 0, 2));
    fid_value sign_value = fid_int_value(sign);
    fidk_element factors[2] = {fidk_number(call->args[2], fidk_wide(e.compute)), fidk_number(&sign_value, e.compute)};
    e.extra[0] = product(factors, &e);
    e.takes_complex = true;
    fidk_operand_add(&e, a, e.compute);
    fidk_operand_add(&e, b, e.compute);
    return fidk_elementwise_run(&e, add_scaled);
}

FIDK_KERNEL(add_Tensor, scaled_sum(call, 0, 1, 1))
FIDK_KERNEL(add_Scalar, scaled_sum(call, 0, 1, 1))
FIDK_KERNEL(sub_Tensor, scaled_sum(call, 0, 1, -1))
FIDK_KERNEL(sub_Scalar, scaled_sum(call, 0, 1, -1))
FIDK_KERNEL(rsub_Tensor, scaled_sum(call, 1, 0, -1))
FIDK_KERNEL(rsub_Scalar, scaled_sum(call, 1, 0, -1))
FIDK_KERNEL(mul_Tensor, wide_binary(call, fid_result_type(call, 0, 2), product))
FIDK_KERNEL(mul_Scalar, wide_binary(call, fid_result_type(call, 0, 2), product))

/* ---- Quotients ---- */

/* Rounded towards minus infinity or zero; no overflow for the lowest number divided by -1. */
static int64_t int_quotient(fid_dtype dtype, int64_t a, int64_t b, bool floor_it) {
    if (dtype == FID_UINT64) return (int64_t)((uint64_t)a / (uint64_t)b);
    if (b == -1) return fidk_wrap_sub(0, a);
    int64_t q = a / b;
    return q - (floor_it && a % b != 0 && (a < 0) != (b < 0));
}

/* floor(a / b) as Python's // has it: from the exact remainder, so that rounding of a / b cannot lift it to the next integer. */
static double real_floor_quotient(fid_dtype compute, double a, double b) {
    if (b == 0) return a / b;
    double remainder = fmod(a, b);
    double q = (a - remainder) / b;
    if (remainder != 0 && (b < 0) != (remainder < 0)) q -= 1;
    if (q == 0) return copysign(0, a / b);
    double floored = floor(fidk_round_to(fidk_wide(compute), q));
    return q - floored > 0.5 ? floored + 1 : floored;
}

static fidk_element floor_quotient(const fidk_element *in, fidk_elementwise *e) {
    if (e->form == FIDK_REAL) return fidk_real(real_floor_quotient(e->compute, in[0].d, in[1].d));
    if (in[1].i == 0) e->failure = division_by_zero;
    return fidk_int(in[1].i ? int_quotient(e->compute, in[0].i, in[1].i, true) : 0);
}

static fidk_element trunc_quotient(const fidk_element *in, fidk_elementwise *e) {
    if (e->form == FIDK_REAL) return fidk_real(trunc(fidk_round_to(fidk_wide(e->compute), in[0].d / in[1].d)));
    if (in[1].i == 0) e->failure = division_by_zero;
    return fidk_int(in[1].i ? int_quotient(e->compute, in[0].i, in[1].i, false) : 0);
}

FIDK_KERNEL(div_Tensor, wide_binary(call, fid_dtype_to_float(fid_result_type(call, 0, 2)), quotient))
FIDK_KERNEL(div_Scalar, wide_binary(call, fid_dtype_to_float(fid_result_type(call, 0, 2)), quotient))

static bool mode_is(const fid_value *mode, const char *text) {
    return mode->tag == FID_TAG_STRING && mode->as.string.length == strlen(text) &&
           memcmp(mode->as.string.text, text, strlen(text)) == 0;
}

static fid_status div_with_mode(fid_call *call) {
    const fid_value *mode = call->args[2];
    if (mode->tag == FID_TAG_NONE) return run_div_Tensor(call);
    if (mode_is(mode, "floor")) return fidk_binary(call, floor_quotient);
    if (mode_is(mode, "trunc")) return fidk_binary(call, trunc_quotient);
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the rounding mode must be None, 'floor' or 'trunc'", call->name);
}

FIDK_KERNEL(div_Tensor_mode, div_with_mode(call))
FIDK_KERNEL(div_Scalar_mode, div_with_mode(call))
FIDK_KERNEL(floor_divide, fidk_binary(call, floor_quotient))
FIDK_KERNEL(floor_divide_Scalar, fidk_binary(call, floor_quotient))

/* ---- Remainders ---- */

static int64_t int_remainder(fid_dtype dtype, int64_t a, int64_t b, bool sign_of_divisor) {
    if (dtype == FID_UINT64) return (int64_t)((uint64_t)a % (uint64_t)b);
    if (b == -1) return 0;
    int64_t r = a % b;
    return sign_of_divisor && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static fidk_element remainder_of(const fidk_element *in, fidk_elementwise *e) {
    if (e->form == FIDK_REAL) {
        double a = in[0].d, b = in[1].d, r = fmod(a, b);
        return fidk_real(r != 0 && (b < 0) != (r < 0) ? r + b : r);
    }
    if (in[1].i == 0) e->failure = division_by_zero;
    return fidk_int(in[1].i ? int_remainder(e->compute, in[0].i, in[1].i, true) : 0);
}

static fidk_element fmod_of(const fidk_element *in, fidk_elementwise *e) {
    if (e->form == FIDK_REAL) return fidk_real(fmod(in[0].d, in[1].d));
    if (in[1].i == 0) e->failure = division_by_zero;
    return fidk_int(in[1].i ? int_remainder(e->compute, in[0].i, in[1].i, false) : 0);
}

FIDK_KERNEL(remainder_Tensor, fidk_binary(call, remainder_of))
FIDK_KERNEL(remainder_Scalar, fidk_binary(call, remainder_of))
FIDK_KERNEL(remainder_Scalar_Tensor, fidk_binary(call, remainder_of))
FIDK_KERNEL(fmod_Tensor, fidk_binary(call, fmod_of))
FIDK_KERNEL(fmod_Scalar, fidk_binary(call, fmod_of))

/* ---- Powers ---- */

static int64_t int_power(int64_t base, int64_t exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    int64_t result = 1;
    for (; exponent; exponent >>= 1, base = fidk_wrap_mul(base, base)) {
        if (exponent & 1) result = fidk_wrap_mul(result, base);
    }
    return result;
}

static fidk_element power(const fidk_element *in, fidk_elementwise *e) {
    if (e->form == FIDK_REAL) return fidk_real(pow(in[0].d, in[1].d));
    if (e->form == FIDK_COMPLEX) return (fidk_element){.c = fidk_complex_pow(in[0].c, in[1].c)};
    return fidk_int(int_power(in[0].i, in[1].i));
}

static fid_status raise(fid_call *call) {
    fidk_elementwise e = fidk_elementwise_begin(call, fid_result_type(call, 0, 2));
    e.takes_complex = true;
    fidk_operand_add(&e, 0, e.compute);
    fidk_operand_add(&e, 1, e.compute);
    return fidk_elementwise_run(&e, power);
}

static fid_status power_by_number(fid_call *call) {
    if (fid_dtype_is_integer(fid_result_type(call, 0, 2)) && fid_arg_int(call, 1) < 0) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: an integer tensor has no negative integer power; convert it to float",
                        call->name);
    }
    return raise(call);
}

FIDK_KERNEL(pow_Tensor_Tensor, raise(call))
FIDK_KERNEL(pow_Tensor_Scalar, power_by_number(call))
FIDK_KERNEL(pow_Scalar, raise(call))

/* ---- Extremes ---- */

static fidk_element larger(const fidk_element *in, fidk_elementwise *e) {
    if (e->form == FIDK_REAL) return fidk_real(fidk_max(in[0].d, in[1].d));
    return fidk_int_less(e->compute, in[0].i, in[1].i) ? in[1] : in[0];
}

static fidk_element smaller(const fidk_element *in, fidk_elementwise *e) {
    if (e->form == FIDK_REAL) return fidk_real(fidk_min(in[0].d, in[1].d));
    return fidk_int_less(e->compute, in[1].i, in[0].i) ? in[1] : in[0];
}

static fidk_element larger_number(const fidk_element *in, fidk_elementwise *e) {
    return e->form == FIDK_REAL ? fidk_real(fmax(in[0].d, in[1].d)) : larger(in, e);
}

static fidk_element smaller_number(const fidk_element *in, fidk_elementwise *e) {
    return e->form == FIDK_REAL ? fidk_real(fmin(in[0].d, in[1].d)) : smaller(in, e);
}

FIDK_KERNEL(maximum, fidk_binary(call, larger))
FIDK_KERNEL(minimum, fidk_binary(call, smaller))
FIDK_KERNEL(max_other, fidk_binary(call, larger))
FIDK_KERNEL(min_other, fidk_binary(call, smaller))
FIDK_KERNEL(fmax, fidk_binary(call, larger_number))
FIDK_KERNEL(fmin, fidk_binary(call, smaller_number))

/* ---- Float functions of two operands ---- */

static double log_add(double a, double b, double unit) { /* unit: the logarithm of the base */
    if (isinf(a) && a == b) return a;
    return (a > b ? a : b) + log1p(exp(-fabs(a - b) * unit)) / unit;
}

static double x_times_log(double x, double y) { return isnan(y) ? y : x == 0 ? 0 : x * log(y); }
static double x_times_log1p(double x, double y) { return isnan(y) ? y : x == 0 ? 0 : x * log1p(y); }

FIDK_FLOAT_BINARY(atan2, atan2(a, b))
FIDK_FLOAT_BINARY(hypot, hypot(a, b))
FIDK_FLOAT_BINARY(copysign_Tensor, copysign(a, b))
FIDK_FLOAT_BINARY(copysign_Scalar, copysign(a, b))

static fidk_element log_added(const fidk_element *in, fidk_elementwise *e) {
    if (e->form == FIDK_COMPLEX) return (fidk_element){.c = fidk_complex_log_add(in[0].c, in[1].c)};
    return fidk_real(log_add(in[0].d, in[1].d, 1));
}

static fid_status run_logaddexp(fid_call *call) {
    fidk_elementwise e = fidk_elementwise_begin(call, fid_dtype_to_float(fid_result_type(call, 0, 2)));
    e.takes_complex = true;
    fidk_operand_add(&e, 0, e.compute);
    fidk_operand_add(&e, 1, e.compute);
    return fidk_elementwise_run(&e, log_added);
}

const fid_kernel fid_ref_logaddexp = {.run = run_logaddexp};
FIDK_FLOAT_BINARY(logaddexp2, log_add(a, b, 0.693147180559945309417))
FIDK_FLOAT_BINARY(xlogy_Tensor, x_times_log(a, b))
FIDK_FLOAT_BINARY(xlogy_Scalar_Self, x_times_log(a, b))
FIDK_FLOAT_BINARY(xlogy_Scalar_Other, x_times_log(a, b))
FIDK_FLOAT_BINARY(special_xlog1py, x_times_log1p(a, b))

static fidk_element step(const fidk_element *in, fidk_elementwise *e) {
    if (e->form == FIDK_REAL) return in[0].d == 0 ? in[1] : fidk_real(in[0].d > 0);
    return in[0].i == 0 ? in[1] : fidk_int(in[0].i > 0);
}

FIDK_KERNEL(heaviside, fidk_binary(call, step))
