/* Reference kernels that choose or mix: where, masked_fill, clamp, nan_to_num, lerp, addcmul, addcdiv. */
#include "kernels/ref/elementwise.h"

/* ---- Choosing by a mask ---- */

static fidk_element chosen(const fidk_element *in, fidk_elementwise *e) {
    (void)e;
    return in[0].i ? in[1] : in[2];
}

static fid_status choose(fid_call *call, fid_dtype compute, uint32_t mask, uint32_t if_true, uint32_t if_false) {
    fidk_elementwise e = fidk_elementwise_begin(call, compute);
    e.takes_complex = true;
    fidk_operand_add(&e, mask, FID_BOOL);
    fidk_operand_add(&e, if_true, compute);
    fidk_operand_add(&e, if_false, compute);
    return fidk_elementwise_run(&e, chosen);
}

#define WHERE(id) FIDK_KERNEL(id, choose(call, fid_result_type(call, 1, 2), 0, 1, 2))
#define MASKED_FILL(id) FIDK_KERNEL(id, choose(call, (fid_dtype)fid_arg_tensor(call, 0)->dtype, 1, 2, 0))

WHERE(where_self)
WHERE(where_ScalarOther)
WHERE(where_ScalarSelf)
WHERE(where_Scalar)
MASKED_FILL(masked_fill_Scalar)
MASKED_FILL(masked_fill_Tensor)

/* ---- Clamping: bounds are operands, each may be absent; the upper one wins where they cross ---- */

static fidk_element raised(fidk_element x, fidk_element low, const fidk_elementwise *e) {
    if (e->form == FIDK_REAL) return fidk_real(fidk_max(x.d, low.d));
    return fidk_int_less(e->compute, x.i, low.i) ? low : x;
}

static fidk_element lowered(fidk_element x, fidk_element high, const fidk_elementwise *e) {
    if (e->form == FIDK_REAL) return fidk_real(fidk_min(x.d, high.d));
    return fidk_int_less(e->compute, high.i, x.i) ? high : x;
}

static fidk_element clamp_low(const fidk_element *in, fidk_elementwise *e) { return raised(in[0], in[1], e); }
static fidk_element clamp_high(const fidk_element *in, fidk_elementwise *e) { return lowered(in[0], in[1], e); }
static fidk_element clamp_both(const fidk_element *in, fidk_elementwise *e) { return lowered(raised(in[0], in[1], e), in[2], e); }

static fid_status clamp_optional(fid_call *call) {
    bool low = !fid_arg_is_none(call, 1), high = !fid_arg_is_none(call, 2);
    fidk_elementwise e = fidk_elementwise_begin(call, fid_result_type(call, 0, 3));
    fidk_operand_add(&e, 0, e.compute);
    if (low) fidk_operand_add(&e, 1, e.compute);
    if (high) fidk_operand_add(&e, 2, e.compute);
    return fidk_elementwise_run(&e, low && high ? clamp_both : low ? clamp_low : clamp_high);
}

FIDK_KERNEL(clamp, clamp_optional(call))
FIDK_KERNEL(clamp_Tensor, clamp_optional(call))
FIDK_KERNEL(clamp_min, fidk_binary(call, clamp_low))
FIDK_KERNEL(clamp_min_Tensor, fidk_binary(call, clamp_low))
FIDK_KERNEL(clamp_max, fidk_binary(call, clamp_high))
FIDK_KERNEL(clamp_max_Tensor, fidk_binary(call, clamp_high))

/* ---- Replacing what is not finite ---- */

static fidk_element made_finite(const fidk_element *in, fidk_elementwise *e) {
    if (e->form == FIDK_INTEGER) return in[0];
    if (isnan(in[0].d)) return e->extra[0];
    return isinf(in[0].d) ? e->extra[in[0].d > 0 ? 1 : 2] : in[0];
}

static double largest_of(fid_dtype dtype) {
    switch (dtype) {
    case FID_FLOAT16: return 65504;
    case FID_BFLOAT16: return 0x1.fep127;
    case FID_FLOAT32: return 0x1.fffffep127;
    case FID_FLOAT8_E4M3FN: return 448;
    case FID_FLOAT8_E5M2: return 57344;
    default: return 0x1.fffffffffffffp1023;
    }
}

static fid_status run_nan_to_num(fid_call *call) {
    fidk_elementwise e = fidk_elementwise_begin(call, (fid_dtype)fid_arg_tensor(call, 0)->dtype);
    double largest = largest_of(e.compute);
    e.extra[0].d = fid_arg_is_none(call, 1) ? 0 : fid_arg_double(call, 1);
    e.extra[1].d = fid_arg_is_none(call, 2) ? largest : fid_arg_double(call, 2);
    e.extra[2].d = fid_arg_is_none(call, 3) ? -largest : fid_arg_double(call, 3);
    fidk_operand_add(&e, 0, e.compute);
    return fidk_elementwise_run(&e, made_finite);
}

const fid_kernel fid_ref_nan_to_num = {.run = run_nan_to_num};

/* ---- Mixing ---- */

/* From the nearer end, so that weight 1 gives `end` exactly. */
static fidk_element mixed(const fidk_element *in, fidk_elementwise *e) {
    double a = in[0].d, b = in[1].d, weight = in[2].d;
    (void)e;
    return fidk_real(fabs(weight) < 0.5 ? a + weight * (b - a) : b - (b - a) * (1 - weight));
}

static fid_status lerp(fid_call *call) {
    fidk_elementwise e = fidk_elementwise_begin(call, (fid_dtype)fid_arg_tensor(call, 0)->dtype);
    fidk_operand_add(&e, 0, e.compute);
    fidk_operand_add(&e, 1, e.compute);
    fidk_operand_add(&e, 2, fid_arg_tensor(call, 2) ? e.compute : fidk_wide(e.compute));
    return fidk_elementwise_run(&e, mixed);
}

FIDK_KERNEL(lerp_Scalar, lerp(call))
FIDK_KERNEL(lerp_Tensor, lerp(call))

static fidk_element plus_product(const fidk_element *in, fidk_elementwise *e) {
    if (e->form == FIDK_REAL) return fidk_real(in[0].d + e->extra[0].d * in[1].d * in[2].d);
    return fidk_int(fidk_wrap_add(in[0].i, fidk_wrap_mul(e->extra[0].i, fidk_wrap_mul(in[1].i, in[2].i))));
}

static fidk_element plus_quotient(const fidk_element *in, fidk_elementwise *e) {
    return fidk_real(in[0].d + e->extra[0].d * in[1].d / in[2].d);
}

static fid_status plus_scaled(fid_call *call, fidk_function *function) {
    fidk_elementwise e = fidk_elementwise_begin(call, fid_result_type(call, 0, 3));
    e.extra[0] = fidk_number(call->args[3], fidk_wide(e.compute));
    for (uint32_t i = 0; i < 3; i++) fidk_operand_add(&e, i, e.compute);
    return fidk_elementwise_run(&e, function);
}

FIDK_KERNEL(addcmul, plus_scaled(call, plus_product))
FIDK_KERNEL(addcdiv, plus_scaled(call, plus_quotient))
