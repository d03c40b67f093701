/* Element-wise operators: one node each, in the layout that their operands have. */
#include <math.h>

#include "backends/xnnpack/compile/xnn_lower.h"

/* ---- One operand ---- */

static void unary_ids(fidc_xnn_lowering *l, const fidc_rewriter *rw, uint32_t *out_input, uint32_t *out_output) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_xnn_result(rw);
    fidc_xnn_layout layout = fidc_xnn_choose(&x, 1, out);
    *out_input = fidc_xnn_read(l, x, layout);
    *out_output = fidc_xnn_write(l, out, layout);
}

static void lower_unary(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    uint32_t input, output;
    unary_ids(l, rw, &input, &output);
    fidc_xnn_node *node = fidc_xnn_begin(l, rw, row->type);
    fidc_xnn_set(node, FID_XNN_Unary_input_id, input);
    fidc_xnn_set(node, FID_XNN_Unary_output_id, output);
}

static bool takes_unary(const fidc_rewriter *rw) {
    const fidc_value *x = fidc_rw_value(rw, 0);
    return fidc_xnn_fits(x) && !fidc_is_constant(x);
}

static bool takes_gelu(const fidc_rewriter *rw) { return takes_unary(rw) && strcmp(fidc_rw_string(rw, 1, ""), "none") == 0; }

static bool takes_square(const fidc_rewriter *rw) { return takes_unary(rw) && fidc_rw_double(rw, 1, 0) == 2; }

static bool takes_leaky(const fidc_rewriter *rw) { return takes_unary(rw) && isnormal((float)fidc_rw_double(rw, 1, 0)); }

static void lower_leaky(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    uint32_t input, output;
    unary_ids(l, rw, &input, &output);
    fidc_xnn_node *node = fidc_xnn_begin(l, rw, row->type);
    fidc_xnn_set_float(node, FID_XNN_LeakyReLU_negative_slope, (float)fidc_rw_double(rw, 1, 0));
    fidc_xnn_set(node, FID_XNN_LeakyReLU_input_id, input);
    fidc_xnn_set(node, FID_XNN_LeakyReLU_output_id, output);
}

/* elu(self, alpha, scale, input_scale) */
static bool takes_elu(const fidc_rewriter *rw) {
    double alpha = fidc_rw_double(rw, 1, 1);
    return takes_unary(rw) && alpha > 0 && isnormal((float)alpha) && fidc_rw_double(rw, 2, 1) == 1 && fidc_rw_double(rw, 3, 1) == 1;
}

static void lower_elu(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    uint32_t input, output;
    unary_ids(l, rw, &input, &output);
    fidc_xnn_node *node = fidc_xnn_begin(l, rw, row->type);
    fidc_xnn_set_float(node, FID_XNN_ELU_alpha, (float)fidc_rw_double(rw, 1, 1));
    fidc_xnn_set(node, FID_XNN_ELU_input_id, input);
    fidc_xnn_set(node, FID_XNN_ELU_output_id, output);
}

/* ---- Clamps ---- */

static bool bound(const fidc_rewriter *rw, uint32_t arg, double otherwise, float *out) {
    fidc_arg given = fidc_rw_arg(rw, arg);
    double number = given.kind == FIDC_ARG_NONE ? otherwise : fidc_rw_double(rw, arg, NAN);
    *out = (float)number;
    return !isnan(number);
}

bool fidc_xnn_clamp_of(const fidc_rewriter *rw, float *out_low, float *out_high) {
    bool known = true;
    *out_low = 0;
    *out_high = INFINITY;
    if (fidc_is(rw->node, FID_OPID_relu)) return true;
    if (fidc_is(rw->node, FID_OPID_relu6)) *out_high = 6;
    else known = bound(rw, 1, (double)-INFINITY, out_low) && bound(rw, 2, (double)INFINITY, out_high);
    return known && *out_low < *out_high;
}

static bool takes_clamp(const fidc_rewriter *rw) {
    float low, high;
    return takes_unary(rw) && fidc_xnn_clamp_of(rw, &low, &high);
}

static void lower_clamp(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    uint32_t input, output;
    unary_ids(l, rw, &input, &output);
    fidc_xnn_node *node = fidc_xnn_begin(l, rw, row->type);
    fidc_xnn_set(node, FID_XNN_Unary_input_id, input);
    fidc_xnn_set(node, FID_XNN_Unary_output_id, output);
    if (node) node->clamped = fidc_xnn_clamp_of(rw, &node->low, &node->high);
}

/* ---- Two operands ---- */

static bool is_number(fidc_arg arg) { return arg.kind == FIDC_ARG_INT || arg.kind == FIDC_ARG_DOUBLE; }

static bool takes_operand(const fidc_rewriter *rw, uint32_t i) {
    return is_number(fidc_rw_arg(rw, i)) || fidc_xnn_fits(fidc_rw_value(rw, i));
}

/* Both are of float32, and only running tells at least one. */
static bool takes_binary(const fidc_rewriter *rw) {
    const fidc_value *a = fidc_rw_value(rw, 0), *b = fidc_rw_value(rw, 1);
    bool runs = (a && !fidc_is_constant(a)) || (b && !fidc_is_constant(b));
    return runs && takes_operand(rw, 0) && takes_operand(rw, 1);
}

static bool takes_sum(const fidc_rewriter *rw) { return takes_binary(rw) && fidc_rw_double(rw, 2, 1) == 1; }

static uint32_t operand_id(fidc_xnn_lowering *l, const fidc_rewriter *rw, uint32_t i, fidc_xnn_layout layout) {
    fidc_value *value = fidc_rw_value(rw, i);
    return value ? fidc_xnn_operand(l, value, layout) : fidc_xnn_number(l, (float)fidc_rw_double(rw, i, 0));
}

static void lower_binary(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    fidc_value *operands[] = {fidc_rw_value(rw, 0), fidc_rw_value(rw, 1)}, *out = fidc_xnn_result(rw);
    fidc_xnn_layout layout = fidc_xnn_choose(operands, 2, out);
    uint32_t a = operand_id(l, rw, 0, layout), b = operand_id(l, rw, 1, layout), output = fidc_xnn_write(l, out, layout);
    fidc_xnn_node *node = fidc_xnn_begin(l, rw, row->type);
    fidc_xnn_set(node, FID_XNN_Binary_input1_id, a);
    fidc_xnn_set(node, FID_XNN_Binary_input2_id, b);
    fidc_xnn_set(node, FID_XNN_Binary_output_id, output);
}

static const fidc_xnn_row rows[] = {
    {FID_OPID_abs, FID_XNN_Abs, 0, takes_unary, lower_unary},
    {FID_OPID_neg, FID_XNN_Negate, 0, takes_unary, lower_unary},
    {FID_OPID_exp, FID_XNN_Exp, 0, takes_unary, lower_unary},
    {FID_OPID_log, FID_XNN_Log, 0, takes_unary, lower_unary},
    {FID_OPID_sqrt, FID_XNN_SquareRoot, 0, takes_unary, lower_unary},
    {FID_OPID_rsqrt, FID_XNN_ReciprocalSquareRoot, 0, takes_unary, lower_unary},
    {FID_OPID_floor, FID_XNN_Floor, 0, takes_unary, lower_unary},
    {FID_OPID_ceil, FID_XNN_Ceiling, 0, takes_unary, lower_unary},
    {FID_OPID_sin, FID_XNN_Sin, 0, takes_unary, lower_unary},
    {FID_OPID_cos, FID_XNN_Cos, 0, takes_unary, lower_unary},
    {FID_OPID_tanh, FID_XNN_Tanh, 0, takes_unary, lower_unary},
    {FID_OPID_sigmoid, FID_XNN_Sigmoid, 0, takes_unary, lower_unary},
    {FID_OPID_hardswish, FID_XNN_Hardswish, 0, takes_unary, lower_unary},
    {FID_OPID_gelu, FID_XNN_Gelu, 0, takes_gelu, lower_unary},
    {FID_OPID_square, FID_XNN_Square, 0, takes_unary, lower_unary},
    {FID_OPID_pow_Tensor_Scalar, FID_XNN_Square, 0, takes_square, lower_unary},
    {FID_OPID_leaky_relu, FID_XNN_LeakyReLU, 0, takes_leaky, lower_leaky},
    {FID_OPID_elu, FID_XNN_ELU, 0, takes_elu, lower_elu},
    {FID_OPID_relu, FID_XNN_Clamp, FIDC_XNN_IS_CLAMP, takes_clamp, lower_clamp},
    {FID_OPID_relu6, FID_XNN_Clamp, FIDC_XNN_IS_CLAMP, takes_clamp, lower_clamp},
    {FID_OPID_hardtanh, FID_XNN_Clamp, FIDC_XNN_IS_CLAMP, takes_clamp, lower_clamp},
    {FID_OPID_clamp, FID_XNN_Clamp, FIDC_XNN_IS_CLAMP, takes_clamp, lower_clamp},
    {FID_OPID_add_Tensor, FID_XNN_Add, FIDC_XNN_CLAMPS, takes_sum, lower_binary},
    {FID_OPID_add_Scalar, FID_XNN_Add, FIDC_XNN_CLAMPS, takes_sum, lower_binary},
    {FID_OPID_sub_Tensor, FID_XNN_Subtract, FIDC_XNN_CLAMPS, takes_sum, lower_binary},
    {FID_OPID_sub_Scalar, FID_XNN_Subtract, FIDC_XNN_CLAMPS, takes_sum, lower_binary},
    {FID_OPID_mul_Tensor, FID_XNN_Multiply, FIDC_XNN_CLAMPS, takes_binary, lower_binary},
    {FID_OPID_mul_Scalar, FID_XNN_Multiply, FIDC_XNN_CLAMPS, takes_binary, lower_binary},
    {FID_OPID_div_Tensor, FID_XNN_Div, 0, takes_binary, lower_binary},
    {FID_OPID_div_Scalar, FID_XNN_Div, 0, takes_binary, lower_binary},
    {FID_OPID_maximum, FID_XNN_Maximum, 0, takes_binary, lower_binary},
    {FID_OPID_minimum, FID_XNN_Minimum, 0, takes_binary, lower_binary},
};
const fidc_xnn_rows fidc_xnn_pointwise = {rows, sizeof rows / sizeof *rows};
