/* Pointwise operators that upstream's portable kernels lack, by those that they have. */
#include "compiler/passes/rewrite.h"

static fidc_value *mul(fidc_rewriter *rw, fidc_value *a, fidc_value *b) { return fidc_rw_op2(rw, FID_OPID_mul_Tensor, a, b); }
static fidc_value *add(fidc_rewriter *rw, fidc_value *a, fidc_value *b) { return fidc_rw_op2(rw, FID_OPID_add_Tensor, a, b); }
static fidc_value *sub(fidc_rewriter *rw, fidc_value *a, fidc_value *b) { return fidc_rw_op2(rw, FID_OPID_sub_Tensor, a, b); }
static fidc_value *mulc(fidc_rewriter *rw, fidc_value *a, double c) { return fidc_rw_opn(rw, FID_OPID_mul_Scalar, a, fidc_d(c)); }
static fidc_value *addc(fidc_rewriter *rw, fidc_value *a, double c) { return fidc_rw_opn(rw, FID_OPID_add_Scalar, a, fidc_d(c)); }
/* Argument 0 in the dtype of the result: integer inputs of float functions. */
static fidc_value *input(fidc_rewriter *rw) { return fidc_rw_cast(rw, fidc_rw_value(rw, 0), (fid_dtype)fidc_rw_out(rw)->dtype); }
static fidc_value *clamp(fidc_rewriter *rw, fidc_value *x, fidc_arg low, fidc_arg high) {
    return x ? RW(rw, clamp, fidc_v(x), low, high) : NULL;
}

/* ---- Activations ---- */

static fid_status silu(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    return fidc_rw_become(rw, mul(rw, x, fidc_rw_op1(rw, FID_OPID_sigmoid, x)));
}

static fidc_value *ramp(fidc_rewriter *rw, fidc_value *x) { /* clamp(x + 3, 0, 6) / 6 */
    return fidc_rw_opn(rw, FID_OPID_div_Scalar, clamp(rw, addc(rw, x, 3), fidc_d(0), fidc_d(6)), fidc_d(6));
}

static fid_status hardsigmoid(fidc_rewriter *rw) { return fidc_rw_become(rw, ramp(rw, fidc_rw_value(rw, 0))); }

static fid_status hardswish(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    return fidc_rw_become(rw, mul(rw, x, ramp(rw, x)));
}

static fid_status relu6(fidc_rewriter *rw) { return fidc_rw_become(rw, clamp(rw, fidc_rw_value(rw, 0), fidc_i(0), fidc_i(6))); }

static fidc_value *softplus_of(fidc_rewriter *rw, fidc_value *x, double beta, double threshold) {
    fidc_value *scaled = beta == 1 ? x : mulc(rw, x, beta);
    fidc_value *soft = fidc_rw_op1(rw, FID_OPID_log1p, fidc_rw_op1(rw, FID_OPID_exp, scaled));
    if (beta != 1) soft = mulc(rw, soft, 1 / beta);
    return fidc_rw_where(rw, fidc_rw_opn(rw, FID_OPID_gt_Scalar, scaled, fidc_d(threshold)), x, soft); /* where exp would overflow, x itself is exact */
}

static fid_status softplus(fidc_rewriter *rw) {
    return fidc_rw_become(rw, softplus_of(rw, fidc_rw_value(rw, 0), fidc_rw_double(rw, 1, 1), fidc_rw_double(rw, 2, 20)));
}

static fid_status mish(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    return fidc_rw_become(rw, mul(rw, x, fidc_rw_op1(rw, FID_OPID_tanh, softplus_of(rw, x, 1, 20))));
}

/* min(x, 0) - log(1 + exp(-|x|)) */
static fid_status log_sigmoid(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    fidc_value *tail = fidc_rw_op1(rw, FID_OPID_log1p, fidc_rw_op1(rw, FID_OPID_exp, fidc_rw_op1(rw, FID_OPID_neg, fidc_rw_op1(rw, FID_OPID_abs, x))));
    return fidc_rw_become(rw, sub(rw, clamp(rw, x, fidc_none(), fidc_d(0)), tail));
}

static fidc_value *elu_of(fidc_rewriter *rw, double alpha, double scale, double input_scale) {
    return RW(rw, elu, fidc_rw_arg(rw, 0), fidc_d(alpha), fidc_d(scale), fidc_d(input_scale));
}

static fid_status celu(fidc_rewriter *rw) {
    double alpha = fidc_rw_double(rw, 1, 1);
    return fidc_rw_become(rw, elu_of(rw, alpha, 1, 1 / alpha));
}

static fid_status selu(fidc_rewriter *rw) {
    return fidc_rw_become(rw, elu_of(rw, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1));
}

/* One weight a channel, channels in dimension 1. */
static fid_status prelu(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *weight = fidc_rw_value(rw, 1);
    const fidc_expr *sizes[FID_MAX_RANK];
    for (size_t d = 0; d < x->rank; d++) sizes[d] = fidc_expr_const(rw->program, 1);
    if (weight->rank == 1 && x->rank >= 2) sizes[1] = weight->sizes[0];
    weight = fidc_rw_view(rw, weight, sizes, x->rank);
    fidc_value *positive = fidc_rw_opn(rw, FID_OPID_gt_Scalar, x, fidc_i(0));
    return fidc_rw_become(rw, fidc_rw_where(rw, positive, x, mul(rw, weight, x)));
}

static fid_status hardshrink(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    fidc_value *inside = fidc_rw_opn(rw, FID_OPID_le_Scalar, fidc_rw_op1(rw, FID_OPID_abs, x), fidc_rw_arg(rw, 1));
    return fidc_rw_become(rw, fidc_rw_where(rw, inside, fidc_rw_scalar(rw, (fid_dtype)x->dtype, fidc_d(0)), x));
}

static fid_status softshrink(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    double lambda = fidc_rw_double(rw, 1, 0.5);
    return fidc_rw_become(rw, sub(rw, x, clamp(rw, x, fidc_d(-lambda), fidc_d(lambda))));
}

static fid_status threshold(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    fidc_value *low = fidc_rw_opn(rw, FID_OPID_le_Scalar, x, fidc_rw_arg(rw, 1));
    return fidc_rw_become(rw, fidc_rw_where(rw, low, fidc_rw_scalar(rw, (fid_dtype)x->dtype, fidc_rw_arg(rw, 2)), x));
}

/* ---- Arithmetic ---- */

static fid_status square(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_cast(rw, fidc_rw_value(rw, 0), (fid_dtype)fidc_rw_out(rw)->dtype);
    return fidc_rw_become(rw, mul(rw, x, x));
}

/* Upstream's fast kernel takes a fraction only where the tensor has a float dtype already. */
static fid_status add_number(fidc_rewriter *rw) {
    if (fidc_rw_value(rw, 0)->dtype == fidc_rw_out(rw)->dtype) return fidc_rw_keep(rw);
    return fidc_rw_become(rw, RW(rw, add_Scalar, fidc_v(input(rw)), fidc_rw_arg(rw, 1), fidc_rw_arg(rw, 2)));
}

static fid_status rsub_tensor(fidc_rewriter *rw) {
    return fidc_rw_become(rw, RW(rw, sub_Tensor, fidc_rw_arg(rw, 1), fidc_rw_arg(rw, 0), fidc_rw_arg(rw, 2)));
}

static fidc_value *times_value(fidc_rewriter *rw, fidc_value *x) {
    return fidc_rw_double(rw, 3, 1) == 1 ? x : fidc_rw_opn(rw, FID_OPID_mul_Scalar, x, fidc_rw_arg(rw, 3));
}

static fid_status addcmul(fidc_rewriter *rw) {
    fidc_value *product = times_value(rw, mul(rw, fidc_rw_value(rw, 1), fidc_rw_value(rw, 2)));
    return fidc_rw_become(rw, add(rw, fidc_rw_value(rw, 0), product));
}

static fid_status addcdiv(fidc_rewriter *rw) {
    fidc_value *quotient = times_value(rw, fidc_rw_op2(rw, FID_OPID_div_Tensor, fidc_rw_value(rw, 1), fidc_rw_value(rw, 2)));
    return fidc_rw_become(rw, add(rw, fidc_rw_value(rw, 0), quotient));
}

static fid_status lerp_number(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    return fidc_rw_become(rw, add(rw, x, fidc_rw_opn(rw, FID_OPID_mul_Scalar, sub(rw, fidc_rw_value(rw, 1), x), fidc_rw_arg(rw, 2))));
}

static fid_status lerp_tensor(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    return fidc_rw_become(rw, add(rw, x, mul(rw, sub(rw, fidc_rw_value(rw, 1), x), fidc_rw_value(rw, 2))));
}

static fid_status clamp_min(fidc_rewriter *rw) { return fidc_rw_become(rw, RW(rw, clamp, fidc_rw_arg(rw, 0), fidc_rw_arg(rw, 1), fidc_none())); }
static fid_status clamp_max(fidc_rewriter *rw) { return fidc_rw_become(rw, RW(rw, clamp, fidc_rw_arg(rw, 0), fidc_none(), fidc_rw_arg(rw, 1))); }
static fid_status to_maximum(fidc_rewriter *rw) { return fidc_rw_rename(rw, FID_OPID_maximum); }
static fid_status to_minimum(fidc_rewriter *rw) { return fidc_rw_rename(rw, FID_OPID_minimum); }
static fid_status to_sign(fidc_rewriter *rw) { return fidc_rw_rename(rw, FID_OPID_sign); }

/* fmax and fmin take the other operand where one is NaN. */
static fid_status without_nan(fidc_rewriter *rw, fid_op_id op) {
    fid_dtype dtype = (fid_dtype)fidc_rw_out(rw)->dtype;
    fidc_value *a = fidc_rw_cast(rw, fidc_rw_value(rw, 0), dtype), *b = fidc_rw_cast(rw, fidc_rw_value(rw, 1), dtype);
    if (!fid_dtype_is_float(dtype)) return fidc_rw_become(rw, fidc_rw_op2(rw, op, a, b));
    fidc_value *both = fidc_rw_op2(rw, op, a, b);
    fidc_value *but_b = fidc_rw_where(rw, fidc_rw_op1(rw, FID_OPID_isnan, b), a, both);
    return fidc_rw_become(rw, fidc_rw_where(rw, fidc_rw_op1(rw, FID_OPID_isnan, a), b, but_b));
}

static fid_status fmax_rule(fidc_rewriter *rw) { return without_nan(rw, FID_OPID_maximum); }
static fid_status fmin_rule(fidc_rewriter *rw) { return without_nan(rw, FID_OPID_minimum); }

static fid_status frac(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    return fidc_rw_become(rw, sub(rw, x, fidc_rw_op1(rw, FID_OPID_trunc, x)));
}

static fid_status round_decimals(fidc_rewriter *rw) {
    double factor = pow(10, (double)fidc_rw_int(rw, 1, 0));
    fidc_value *rounded = fidc_rw_op1(rw, FID_OPID_round, mulc(rw, fidc_rw_value(rw, 0), factor));
    return fidc_rw_become(rw, fidc_rw_opn(rw, FID_OPID_div_Scalar, rounded, fidc_d(factor)));
}

/* op(tensor, number) for operators that upstream has for two tensors only. */
static fid_status number_as_tensor(fidc_rewriter *rw, fid_op_id op, uint32_t number_arg) {
    fidc_value *x = fidc_rw_value(rw, 1 - number_arg);
    fidc_arg number = fidc_rw_arg(rw, number_arg);
    fidc_value *constant = fidc_rw_scalar(rw, fidc_promote_number((fid_dtype)x->dtype, number), number);
    return fidc_rw_become(rw, number_arg ? fidc_rw_op2(rw, op, x, constant) : fidc_rw_op2(rw, op, constant, x));
}

static fid_status floor_divide_number(fidc_rewriter *rw) { return number_as_tensor(rw, FID_OPID_floor_divide, 1); }
static fid_status remainder_of_number(fidc_rewriter *rw) { return number_as_tensor(rw, FID_OPID_remainder_Tensor, 0); }
static fid_status and_of_number(fidc_rewriter *rw) { return number_as_tensor(rw, FID_OPID_bitwise_and_Tensor, 0); }
static fid_status or_of_number(fidc_rewriter *rw) { return number_as_tensor(rw, FID_OPID_bitwise_or_Tensor, 0); }
static fid_status xor_of_number(fidc_rewriter *rw) { return number_as_tensor(rw, FID_OPID_bitwise_xor_Tensor, 0); }
static fid_status left_shift_of_number(fidc_rewriter *rw) { return number_as_tensor(rw, FID_OPID_bitwise_left_shift_Tensor, 0); }
static fid_status right_shift_of_number(fidc_rewriter *rw) { return number_as_tensor(rw, FID_OPID_bitwise_right_shift_Tensor, 0); }

/* ---- Functions ---- */

static fid_status exp2_rule(fidc_rewriter *rw) {
    fidc_value *x = input(rw);
    return fidc_rw_become(rw, RW(rw, pow_Scalar, fidc_d(2), fidc_v(x)));
}

static fid_status deg2rad(fidc_rewriter *rw) { return fidc_rw_become(rw, mulc(rw, input(rw), 0.017453292519943295769)); }
static fid_status rad2deg(fidc_rewriter *rw) { return fidc_rw_become(rw, mulc(rw, input(rw), 57.29577951308232087680)); }

static fid_status hypot_rule(fidc_rewriter *rw) {
    fid_dtype dtype = (fid_dtype)fidc_rw_out(rw)->dtype;
    fidc_value *a = fidc_rw_cast(rw, fidc_rw_value(rw, 0), dtype), *b = fidc_rw_cast(rw, fidc_rw_value(rw, 1), dtype);
    fidc_value *root = fidc_rw_op1(rw, FID_OPID_sqrt, add(rw, mul(rw, a, a), mul(rw, b, b)));
    fidc_value *endless = fidc_rw_op2(rw, FID_OPID_logical_or, fidc_rw_op1(rw, FID_OPID_isinf, a), fidc_rw_op1(rw, FID_OPID_isinf, b));
    return fidc_rw_become(rw, fidc_rw_where(rw, endless, fidc_rw_scalar(rw, dtype, fidc_d(INFINITY)), root)); /* even beside a NaN */
}

/* max + log(1 + exp(-|a - b|)); equal infinities have no gap, which their difference would not tell */
static fid_status logaddexp(fidc_rewriter *rw) {
    fid_dtype dtype = (fid_dtype)fidc_rw_out(rw)->dtype;
    fidc_value *a = fidc_rw_cast(rw, fidc_rw_value(rw, 0), dtype), *b = fidc_rw_cast(rw, fidc_rw_value(rw, 1), dtype);
    fidc_value *apart = fidc_rw_where(rw, fidc_rw_op2(rw, FID_OPID_eq_Tensor, a, b), fidc_rw_scalar(rw, dtype, fidc_d(0)), sub(rw, a, b));
    fidc_value *gap = fidc_rw_op1(rw, FID_OPID_neg, fidc_rw_op1(rw, FID_OPID_abs, apart));
    fidc_value *tail = fidc_rw_op1(rw, FID_OPID_log1p, fidc_rw_op1(rw, FID_OPID_exp, gap));
    return fidc_rw_become(rw, add(rw, fidc_rw_op2(rw, FID_OPID_maximum, a, b), tail));
}

/* sin(pi x) / (pi x), 1 at 0 */
static fid_status sinc(fidc_rewriter *rw) {
    fidc_value *x = input(rw), *angle = mulc(rw, x, 3.14159265358979323846);
    fidc_value *ratio = fidc_rw_op2(rw, FID_OPID_div_Tensor, fidc_rw_op1(rw, FID_OPID_sin, angle), angle);
    fidc_value *at_zero = fidc_rw_opn(rw, FID_OPID_eq_Scalar, x, fidc_i(0));
    return fidc_rw_become(rw, fidc_rw_where(rw, at_zero, fidc_rw_scalar(rw, (fid_dtype)fidc_rw_out(rw)->dtype, fidc_d(1)), ratio));
}

/* -x log x; 0 at 0; -inf below */
static fid_status entr(fidc_rewriter *rw) {
    fid_dtype dtype = (fid_dtype)fidc_rw_out(rw)->dtype;
    fidc_value *x = input(rw);
    fidc_value *product = fidc_rw_op1(rw, FID_OPID_neg, mul(rw, x, fidc_rw_op1(rw, FID_OPID_log, x)));
    fidc_value *at_zero = fidc_rw_where(rw, fidc_rw_opn(rw, FID_OPID_eq_Scalar, x, fidc_i(0)), fidc_rw_scalar(rw, dtype, fidc_d(0)), product);
    fidc_value *below = fidc_rw_opn(rw, FID_OPID_lt_Scalar, x, fidc_i(0));
    return fidc_rw_become(rw, fidc_rw_where(rw, below, fidc_rw_scalar(rw, dtype, fidc_d(-INFINITY)), at_zero));
}

/* x log y, 0 where x is 0 and y is no NaN */
static fid_status xlogy(fidc_rewriter *rw) {
    fid_dtype dtype = (fid_dtype)fidc_rw_out(rw)->dtype;
    fidc_value *x = fidc_rw_cast(rw, fidc_rw_value(rw, 0), dtype), *y = fidc_rw_cast(rw, fidc_rw_value(rw, 1), dtype);
    fidc_value *product = mul(rw, x, fidc_rw_op1(rw, FID_OPID_log, y));
    fidc_value *zero = fidc_rw_where(rw, fidc_rw_opn(rw, FID_OPID_eq_Scalar, x, fidc_i(0)), fidc_rw_scalar(rw, dtype, fidc_d(0)), product);
    return fidc_rw_become(rw, fidc_rw_where(rw, fidc_rw_op1(rw, FID_OPID_isnan, y), y, zero));
}

/* ---- Tests ---- */

static fid_status is_finite(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    fidc_value *outside = fidc_rw_op2(rw, FID_OPID_logical_or, fidc_rw_op1(rw, FID_OPID_isnan, x), fidc_rw_op1(rw, FID_OPID_isinf, x));
    return fidc_rw_become(rw, fidc_rw_op1(rw, FID_OPID_logical_not, outside));
}

static fid_status equals(fidc_rewriter *rw, double number) {
    return fidc_rw_become(rw, fidc_rw_opn(rw, FID_OPID_eq_Scalar, fidc_rw_value(rw, 0), fidc_d(number)));
}

static fid_status is_positive_infinity(fidc_rewriter *rw) { return equals(rw, INFINITY); }
static fid_status is_negative_infinity(fidc_rewriter *rw) { return equals(rw, -INFINITY); }

static double largest(fid_dtype dtype) {
    if (dtype == FID_FLOAT16) return 65504;
    if (dtype == FID_BFLOAT16) return 3.3895313892515355e38;
    return dtype == FID_FLOAT64 ? 1.7976931348623157e308 : 3.4028234663852886e38;
}

static fid_status nan_to_num(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = x;
    fid_dtype dtype = (fid_dtype)x->dtype;
    if (!fid_dtype_is_float(dtype)) return fidc_rw_become(rw, x);
    out = fidc_rw_where(rw, fidc_rw_op1(rw, FID_OPID_isnan, x), fidc_rw_scalar(rw, dtype, fidc_d(fidc_rw_double(rw, 1, 0))), out);
    fidc_value *high = fidc_rw_opn(rw, FID_OPID_eq_Scalar, x, fidc_d(INFINITY)), *low = fidc_rw_opn(rw, FID_OPID_eq_Scalar, x, fidc_d(-INFINITY));
    out = fidc_rw_where(rw, high, fidc_rw_scalar(rw, dtype, fidc_d(fidc_rw_double(rw, 2, largest(dtype)))), out);
    return fidc_rw_become(rw, fidc_rw_where(rw, low, fidc_rw_scalar(rw, dtype, fidc_d(fidc_rw_double(rw, 3, -largest(dtype)))), out));
}

/* ---- Selection ---- */

/* where with numbers: each becomes a tensor in the dtype of the result. */
static fid_status where_numbers(fidc_rewriter *rw) {
    fid_dtype dtype = (fid_dtype)fidc_rw_out(rw)->dtype;
    fidc_value *sides[2];
    for (uint32_t i = 0; i < 2; i++) {
        fidc_value *tensor = fidc_rw_value(rw, i + 1);
        sides[i] = tensor ? fidc_rw_cast(rw, tensor, dtype) : fidc_rw_scalar(rw, dtype, fidc_rw_arg(rw, i + 1));
    }
    return fidc_rw_become(rw, fidc_rw_where(rw, fidc_rw_value(rw, 0), sides[0], sides[1]));
}

static fid_status masked_fill_tensor(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *number = fidc_rw_cast(rw, fidc_rw_value(rw, 2), (fid_dtype)x->dtype);
    return fidc_rw_become(rw, fidc_rw_where(rw, fidc_rw_value(rw, 1), number, x));
}

/* ---- Copies with a dtype are dim-order operators in upstream's programs ---- */

/* A real number has no imaginary part; of a complex one the real part stays. */
static fid_status complex_copy(fidc_rewriter *rw, fidc_value *x, const fidc_value *out) {
    fid_dtype part = out->dtype == FID_COMPLEX128 ? FID_FLOAT64 : FID_FLOAT32;
    bool from_complex = fid_dtype_is_complex((fid_dtype)x->dtype), to_complex = fid_dtype_is_complex((fid_dtype)out->dtype);
    if (from_complex && to_complex) return fidc_rw_keep(rw);
    if (from_complex) return fidc_rw_become(rw, fidc_rw_cast(rw, RW(rw, real, fidc_v(x)), (fid_dtype)out->dtype));
    fidc_value *zeros = fidc_rw_full(rw, x->sizes, x->rank, part, fidc_i(0));
    return fidc_rw_become(rw, fidc_rw_op2(rw, FID_OPID_complex, fidc_rw_cast(rw, x, part), zeros));
}

static fid_status to_copy(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    int64_t order[FID_MAX_RANK];
    if (x->dtype == out->dtype) return fidc_rw_become(rw, x);
    if (fid_dtype_is_complex((fid_dtype)out->dtype) || fid_dtype_is_complex((fid_dtype)x->dtype)) return complex_copy(rw, x, out);
    for (uint8_t d = 0; d < x->rank; d++) order[d] = d;
    return fidc_rw_become(rw, RW(rw, _to_dim_order_copy, fidc_v(x), fidc_t((fid_dtype)out->dtype), fidc_none(), fidc_none(), fidc_none(),
                                 fidc_b(false), fidc_ints(rw->program, order, x->rank)));
}

static const fidc_rule_row rows[] = {
    {FID_OPID_silu, silu},
    {FID_OPID_hardsigmoid, hardsigmoid},
    {FID_OPID_hardswish, hardswish},
    {FID_OPID_relu6, relu6},
    {FID_OPID_softplus, softplus},
    {FID_OPID_mish, mish},
    {FID_OPID_log_sigmoid, log_sigmoid},
    {FID_OPID_celu, celu},
    {FID_OPID_selu, selu},
    {FID_OPID_prelu, prelu},
    {FID_OPID_hardshrink, hardshrink},
    {FID_OPID_softshrink, softshrink},
    {FID_OPID_threshold, threshold},
    {FID_OPID_square, square},
    {FID_OPID_add_Scalar, add_number},
    {FID_OPID_rsub_Tensor, rsub_tensor},
    {FID_OPID_addcmul, addcmul},
    {FID_OPID_addcdiv, addcdiv},
    {FID_OPID_lerp_Scalar, lerp_number},
    {FID_OPID_lerp_Tensor, lerp_tensor},
    {FID_OPID_clamp_min, clamp_min},
    {FID_OPID_clamp_max, clamp_max},
    {FID_OPID_clamp_min_Tensor, to_maximum},
    {FID_OPID_clamp_max_Tensor, to_minimum},
    {FID_OPID_max_other, to_maximum},
    {FID_OPID_min_other, to_minimum},
    {FID_OPID_sgn, to_sign},
    {FID_OPID_fmax, fmax_rule},
    {FID_OPID_fmin, fmin_rule},
    {FID_OPID_frac, frac},
    {FID_OPID_round_decimals, round_decimals},
    {FID_OPID_floor_divide_Scalar, floor_divide_number},
    {FID_OPID_remainder_Scalar_Tensor, remainder_of_number},
    {FID_OPID_bitwise_and_Scalar_Tensor, and_of_number},
    {FID_OPID_bitwise_or_Scalar_Tensor, or_of_number},
    {FID_OPID_bitwise_xor_Scalar_Tensor, xor_of_number},
    {FID_OPID_bitwise_left_shift_Scalar_Tensor, left_shift_of_number},
    {FID_OPID_bitwise_right_shift_Scalar_Tensor, right_shift_of_number},
    {FID_OPID_exp2, exp2_rule},
    {FID_OPID_deg2rad, deg2rad},
    {FID_OPID_rad2deg, rad2deg},
    {FID_OPID_hypot, hypot_rule},
    {FID_OPID_logaddexp, logaddexp},
    {FID_OPID_sinc, sinc},
    {FID_OPID_special_entr, entr},
    {FID_OPID_xlogy_Tensor, xlogy},
    {FID_OPID_isfinite, is_finite},
    {FID_OPID_isposinf, is_positive_infinity},
    {FID_OPID_isneginf, is_negative_infinity},
    {FID_OPID_nan_to_num, nan_to_num},
    {FID_OPID_where_ScalarOther, where_numbers},
    {FID_OPID_where_ScalarSelf, where_numbers},
    {FID_OPID_where_Scalar, where_numbers},
    {FID_OPID_masked_fill_Tensor, masked_fill_tensor},
    {FID_OPID__to_copy, to_copy},
};

void fidc_rules_add_portable_pointwise(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
