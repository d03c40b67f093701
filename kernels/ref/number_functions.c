/* Reference kernels about numbers themselves: divisors, neighbours, mantissas, closeness, complex parts. */
#include "kernels/ref/elementwise.h"

/* ---- Divisors ---- */

static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint64_t size_of(const fidk_elementwise *e, int64_t n) { return n < 0 && e->compute != FID_UINT64 ? 0 - (uint64_t)n : (uint64_t)n; }

static fidk_element greatest_divisor(const fidk_element *in, fidk_elementwise *e) {
    return fidk_int((int64_t)common_divisor(size_of(e, in[0].i), size_of(e, in[1].i)));
}

static fidk_element least_multiple(const fidk_element *in, fidk_elementwise *e) {
    uint64_t a = size_of(e, in[0].i), b = size_of(e, in[1].i), divisor = common_divisor(a, b);
    int64_t multiple = divisor ? (int64_t)(a / divisor * b) : 0;
    return fidk_int(multiple < 0 && e->compute != FID_UINT64 ? fidk_wrap_sub(0, multiple) : multiple);
}

FIDK_KERNEL(gcd, fidk_binary(call, greatest_divisor))
FIDK_KERNEL(lcm, fidk_binary(call, least_multiple))

/* ---- Neighbours and mantissas ---- */

/* The next value of a 16-bit float towards another: one more or less in its bits. */
static double next_narrow(fid_dtype dtype, double from, double to) {
    uint16_t bits;
    fidk_store(dtype, &bits, 0, fidk_real(from));
    if (from == 0) bits = (uint16_t)(to > 0 ? 1 : 0x8001);
    else bits = (uint16_t)(bits + ((to > from) == (from > 0) ? 1 : -1));
    return fidk_load(dtype, &bits, 0).d;
}

static fidk_element next_after(const fidk_element *in, fidk_elementwise *e) {
    double from = in[0].d, to = in[1].d;
    if (isnan(from) || isnan(to) || from == to) return fidk_real(isnan(from) ? from : to);
    if (e->compute == FID_FLOAT32) return fidk_real(nextafterf((float)from, (float)to));
    return fidk_real(e->compute == FID_FLOAT64 ? nextafter(from, to) : next_narrow(e->compute, from, to));
}

FIDK_KERNEL(nextafter, fidk_binary(call, next_after))
FIDK_FLOAT_BINARY(ldexp_Tensor, a * exp2(b))

static fid_status run_frexp_Tensor(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *mantissa = fid_out_tensor(call, 0), *exponent = fid_out_tensor(call, 1);
    fidk_walk walk;
    fidk_walk_begin(&walk, self->sizes, self->rank);
    fidk_walk_add(&walk, self);
    fidk_walk_add(&walk, mantissa);
    fidk_walk_add(&walk, exponent);
    FIDK_WALK(&walk) {
        double x = fidk_get_real(self, walk.at[0]);
        int power = 0;
        fidk_set_real(mantissa, walk.at[1], isfinite(x) ? frexp(x, &power) : x);
        fidk_set_int(exponent, walk.at[2], power);
    }
    return FID_OK;
}
const fid_kernel fid_ref_frexp_Tensor = {.run = run_frexp_Tensor};

/* ---- Powers in double ---- */

static fidk_element double_power(const fidk_element *in, fidk_elementwise *e) {
    (void)e;
    return fidk_real(pow(in[0].d, in[1].d));
}

static fid_status float_power(fid_call *call) {
    fidk_elementwise e = fidk_elementwise_begin(call, FID_FLOAT64);
    fidk_operand_add(&e, 0, FID_FLOAT64);
    fidk_operand_add(&e, 1, FID_FLOAT64);
    return fidk_elementwise_run(&e, double_power);
}

FIDK_KERNEL(float_power_Tensor_Tensor, float_power(call))
FIDK_KERNEL(float_power_Tensor_Scalar, float_power(call))
FIDK_KERNEL(float_power_Scalar, float_power(call))

/* ---- Closeness: |a - b| <= atol + rtol |b|; extra[0] is rtol, extra[1] atol, flag: NaN equals NaN ---- */

static fidk_element close_to(const fidk_element *in, fidk_elementwise *e) {
    double a = in[0].d, b = in[1].d, distance = fabs(a - b);
    if (a == b || (e->flag && isnan(a) && isnan(b))) return fidk_int(1);
    return fidk_int(isfinite(distance) && distance <= e->extra[1].d + e->extra[0].d * fabs(b));
}

static fidk_element complex_close_to(const fidk_element *in, fidk_elementwise *e) {
    fid_complex128 a = in[0].c, b = in[1].c;
    bool both_nan = (isnan(a.re) || isnan(a.im)) && (isnan(b.re) || isnan(b.im));
    if ((a.re == b.re && a.im == b.im) || (e->flag && both_nan)) return fidk_int(1);
    double distance = hypot(a.re - b.re, a.im - b.im);
    return fidk_int(isfinite(distance) && distance <= e->extra[1].d + e->extra[0].d * hypot(b.re, b.im));
}

static fid_status run_isclose(fid_call *call) {
    bool complex = fid_dtype_is_complex(fid_result_type(call, 0, 2));
    fid_dtype compute = complex ? FID_COMPLEX128 : FID_FLOAT64;
    fidk_elementwise e = fidk_elementwise_begin(call, compute);
    e.result = FID_BOOL;
    e.takes_complex = true;
    e.extra[0].d = fid_arg_double(call, 2);
    e.extra[1].d = fid_arg_double(call, 3);
    e.flag = fid_arg_bool(call, 4);
    fidk_operand_add(&e, 0, compute);
    fidk_operand_add(&e, 1, compute);
    return fidk_elementwise_run(&e, complex ? complex_close_to : close_to);
}
const fid_kernel fid_ref_isclose = {.run = run_isclose};

/* ---- Complex numbers ---- */

static fid_status unary_to(fid_call *call, fid_dtype compute, fid_dtype result, fidk_function *function) {
    fidk_elementwise e = fidk_elementwise_begin(call, compute);
    e.result = result;
    e.takes_complex = true;
    fidk_operand_add(&e, 0, compute);
    return fidk_elementwise_run(&e, function);
}

static fid_dtype self_dtype(const fid_call *call) { return (fid_dtype)fid_arg_tensor(call, 0)->dtype; }

static fidk_element without_imaginary(const fidk_element *in, fidk_elementwise *e) {
    return fidk_int(e->form != FIDK_COMPLEX || in[0].c.im == 0);
}
FIDK_KERNEL(isreal, unary_to(call, self_dtype(call), FID_BOOL, without_imaginary))

static fidk_element angle_of(const fidk_element *in, fidk_elementwise *e) {
    if (e->form == FIDK_COMPLEX) return fidk_real(atan2(in[0].c.im, in[0].c.re));
    return fidk_real(isnan(in[0].d) ? in[0].d : in[0].d < 0 ? 3.14159265358979323846 : 0);
}

static fid_status run_angle(fid_call *call) {
    fid_dtype compute = fid_dtype_to_float(self_dtype(call));
    return unary_to(call, compute, (fid_dtype)fid_out_tensor(call, 0)->dtype, angle_of);
}
const fid_kernel fid_ref_angle = {.run = run_angle};

static fidk_element from_parts(const fidk_element *in, fidk_elementwise *e) {
    (void)e;
    return (fidk_element){.c = {in[0].d, in[1].d}};
}

static fidk_element from_polar(const fidk_element *in, fidk_elementwise *e) {
    (void)e;
    return (fidk_element){.c = {in[0].d * cos(in[1].d), in[0].d * sin(in[1].d)}};
}

static fid_status make_complex(fid_call *call, fidk_function *function) {
    fidk_elementwise e = fidk_elementwise_begin(call, fid_result_type(call, 0, 2));
    e.result = (fid_dtype)fid_out_tensor(call, 0)->dtype;
    fidk_operand_add(&e, 0, e.compute);
    fidk_operand_add(&e, 1, e.compute);
    return fidk_elementwise_run(&e, function);
}

FIDK_KERNEL(complex, make_complex(call, from_parts))
FIDK_KERNEL(polar, make_complex(call, from_polar))
