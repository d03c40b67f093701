/* quantized_decomposed: q = clamp(round(x * (1 / scale)) + zero point) and x = (q - zero point) * scale, with pointwise rows. The order of
 * the steps and the dtype of each are PyTorch's, so that every rounding is the same. */
#include "compiler/passes/rewrite.h"

/* Scale and zero point of a call, broadcast against the tensor: tensors, or numbers where those are NULL. */
typedef struct qparams {
    fidc_value *scale, *zero_point;
    fidc_arg scale_number, zero_number;
} qparams;

static fid_dtype out_dtype(const fidc_rewriter *rw) { return (fid_dtype)fidc_rw_out(rw)->dtype; }
static fid_dtype dtype_of(const fidc_value *value) { return value ? (fid_dtype)value->dtype : FID_FLOAT32; }
static bool is_none(const fidc_arg *arg) { return arg->kind == FIDC_ARG_NONE; }

/* ---- Shapes of the parameters ---------------------------------------------------------------------------------------------------------- */

static qparams of_numbers(const fidc_rewriter *rw) {
    return (qparams){.scale_number = fidc_rw_arg(rw, 1), .zero_number = fidc_rw_arg(rw, 2)};
}

/* Of one element, [1] or []. */
static qparams of_one(fidc_rewriter *rw) {
    return (qparams){.scale = fidc_rw_view(rw, fidc_rw_value(rw, 1), NULL, 0), .zero_point = fidc_rw_view(rw, fidc_rw_value(rw, 2), NULL, 0)};
}

static qparams as_given(const fidc_rewriter *rw) { return (qparams){.scale = fidc_rw_value(rw, 1), .zero_point = fidc_rw_value(rw, 2)}; }

static fidc_value *along(fidc_rewriter *rw, fidc_value *vector, const fidc_value *x, int64_t axis) {
    const fidc_expr *sizes[FID_MAX_RANK];
    for (size_t d = 0; d < x->rank; d++) sizes[d] = fidc_expr_const(rw->program, 1);
    if (!vector || vector->rank != 1) return vector;
    sizes[axis] = vector->sizes[0];
    return fidc_rw_view(rw, vector, sizes, x->rank);
}

static qparams of_channels(fidc_rewriter *rw) {
    const fidc_value *x = fidc_rw_value(rw, 0);
    int64_t axis = fidc_rw_dim(rw, 3, 0, x->rank);
    return (qparams){.scale = along(rw, fidc_rw_value(rw, 1), x, axis), .zero_point = along(rw, fidc_rw_value(rw, 2), x, axis)};
}

/* [..., n] as [groups, size] or [groups, 1]. */
static fidc_value *grouped(fidc_rewriter *rw, fidc_value *value, int64_t size) {
    return value ? RW(rw, view_copy, fidc_v(value), fidc_ints(rw->program, (const int64_t[]){-1, size}, 2)) : NULL;
}

static qparams of_groups(fidc_rewriter *rw) {
    return (qparams){.scale = grouped(rw, fidc_rw_value(rw, 1), 1), .zero_point = grouped(rw, fidc_rw_value(rw, 2), 1)};
}

/* ---- The two steps --------------------------------------------------------------------------------------------------------------------- */

static fidc_value *times_inverse(fidc_rewriter *rw, fidc_value *x, const qparams *q) {
    if (!q->scale) return fidc_rw_opd(rw, FID_OPID_mul_Scalar, x, 1.0 / q->scale_number.as.number);
    return fidc_rw_op2(rw, FID_OPID_mul_Tensor, x, fidc_rw_cast(rw, fidc_rw_op1(rw, FID_OPID_reciprocal, q->scale), dtype_of(x)));
}

static fidc_value *add_zero(fidc_rewriter *rw, fidc_value *x, const qparams *q) {
    if (q->zero_point) return fidc_rw_op2(rw, FID_OPID_add_Tensor, x, fidc_rw_cast(rw, q->zero_point, dtype_of(x)));
    return is_none(&q->zero_number) ? x : fidc_rw_opn(rw, FID_OPID_add_Scalar, x, q->zero_number);
}

/* Float64 scales of channels and tokens compute in float64; one number does not. */
static fid_dtype computing(const qparams *q, bool one) { return q->scale && !one && dtype_of(q->scale) == FID_FLOAT64 ? FID_FLOAT64 : FID_FLOAT32; }

static fidc_value *quantized(fidc_rewriter *rw, fidc_value *x, const qparams *q, bool one, bool round_last, fidc_arg low, fidc_arg high) {
    fidc_value *y = times_inverse(rw, fidc_rw_cast(rw, x, computing(q, one)), q);
    if (!round_last) y = fidc_rw_op1(rw, FID_OPID_round, y);
    y = add_zero(rw, y, q);
    if (round_last) y = fidc_rw_op1(rw, FID_OPID_round, y);
    return y ? RW(rw, clamp, fidc_v(y), low, high) : NULL;
}

static fidc_value *dequantized(fidc_rewriter *rw, fidc_value *x, const qparams *q, fid_dtype computed) {
    fidc_value *y = fidc_rw_cast(rw, x, computed);
    if (q->zero_point) y = fidc_rw_op2(rw, FID_OPID_sub_Tensor, y, fidc_rw_cast(rw, q->zero_point, computed));
    else if (!is_none(&q->zero_number)) y = fidc_rw_opn(rw, FID_OPID_sub_Scalar, y, q->zero_number);
    if (!q->scale) return fidc_rw_opn(rw, FID_OPID_mul_Scalar, y, q->scale_number);
    return fidc_rw_op2(rw, FID_OPID_mul_Tensor, y, fidc_rw_cast(rw, q->scale, computed));
}

/* Arguments `range` and the next hold the smallest and the largest quantized value. */
static fid_status quantize(fidc_rewriter *rw, qparams q, bool one, bool round_last, uint32_t range) {
    if (rw->failed) return fidc_rw_keep(rw);
    fidc_value *y = quantized(rw, fidc_rw_value(rw, 0), &q, one, round_last, fidc_rw_arg(rw, range), fidc_rw_arg(rw, range + 1));
    return fidc_rw_become(rw, fidc_rw_cast(rw, y, out_dtype(rw)));
}

static fid_status dequantize(fidc_rewriter *rw, qparams q, fid_dtype computed) {
    if (rw->failed) return fidc_rw_keep(rw);
    return fidc_rw_become(rw, fidc_rw_cast(rw, dequantized(rw, fidc_rw_value(rw, 0), &q, computed), out_dtype(rw)));
}

static fid_status quantize_tensor(fidc_rewriter *rw) { return quantize(rw, of_numbers(rw), true, false, 3); }
static fid_status quantize_tensor_one(fidc_rewriter *rw) { return quantize(rw, of_one(rw), true, false, 3); }
static fid_status quantize_channel(fidc_rewriter *rw) { return quantize(rw, of_channels(rw), false, false, 4); }
static fid_status quantize_token(fidc_rewriter *rw) { return quantize(rw, as_given(rw), false, true, 3); }
static fid_status dequantize_tensor(fidc_rewriter *rw) { return dequantize(rw, of_numbers(rw), out_dtype(rw)); }
static fid_status dequantize_tensor_one(fidc_rewriter *rw) { return dequantize(rw, of_one(rw), out_dtype(rw)); }

/* The range may be in tensors, whose numbers only running tells. */
static fid_status quantize_tensor_range(fidc_rewriter *rw) {
    qparams q = of_one(rw);
    fidc_value *y = quantized(rw, fidc_rw_value(rw, 0), &q, true, false, fidc_none(), fidc_d(INFINITY));
    fidc_value *low = fidc_rw_view(rw, fidc_rw_value(rw, 3), NULL, 0), *high = fidc_rw_view(rw, fidc_rw_value(rw, 4), NULL, 0);
    y = fidc_rw_op2(rw, FID_OPID_maximum, y, fidc_rw_cast(rw, low, FID_FLOAT32));
    y = fidc_rw_op2(rw, FID_OPID_minimum, y, fidc_rw_cast(rw, high, FID_FLOAT32));
    return fidc_rw_become(rw, fidc_rw_cast(rw, y, out_dtype(rw)));
}

static fid_status dequantize_channel(fidc_rewriter *rw) {
    qparams q = of_channels(rw);
    return dequantize(rw, q, computing(&q, false));
}

static fid_status dequantize_token(fidc_rewriter *rw) {
    qparams q = as_given(rw);
    return dequantize(rw, q, computing(&q, false));
}

/* ---- Groups ---------------------------------------------------------------------------------------------------------------------------- */

static fidc_value *ungrouped(fidc_rewriter *rw, fidc_value *value) {
    return fidc_rw_view(rw, fidc_rw_cast(rw, value, out_dtype(rw)), fidc_rw_out(rw)->sizes, fidc_rw_out(rw)->rank);
}

static fid_status quantize_group(fidc_rewriter *rw) {
    qparams q = of_groups(rw);
    fidc_value *x = grouped(rw, fidc_rw_value(rw, 0), fidc_rw_int(rw, 6, 1));
    return fidc_rw_become(rw, ungrouped(rw, quantized(rw, x, &q, false, true, fidc_rw_arg(rw, 3), fidc_rw_arg(rw, 4))));
}

static fid_status dequantize_group(fidc_rewriter *rw) {
    qparams q = of_groups(rw);
    fidc_value *x = grouped(rw, fidc_rw_value(rw, 0), fidc_rw_int(rw, 6, 1));
    return fidc_rw_become(rw, ungrouped(rw, dequantized(rw, x, &q, computing(&q, false))));
}

static fid_status fake_quantize(fidc_rewriter *rw) {
    qparams q = of_channels(rw);
    q.scale = fidc_rw_cast(rw, q.scale, FID_FLOAT32);
    fidc_value *y = quantized(rw, fidc_rw_value(rw, 0), &q, false, false, fidc_rw_arg(rw, 4), fidc_rw_arg(rw, 5));
    return fidc_rw_become(rw, dequantized(rw, y, &q, FID_FLOAT32));
}

static fid_status convert(fidc_rewriter *rw) { return fidc_rw_become(rw, fidc_rw_cast(rw, fidc_rw_value(rw, 0), out_dtype(rw))); }

/* ---- Choosing parameters ----------------------------------------------------------------------------------------------------------------- */

static fidc_value *extreme(fidc_rewriter *rw, fid_op_id op, bool rows) {
    fidc_arg dims = rows ? fidc_ints(rw->program, (const int64_t[]){-1}, 1) : fidc_ints(rw->program, NULL, 0);
    return fidc_rw_emit(rw, op, (const fidc_arg[]){fidc_v(fidc_rw_value(rw, 0)), dims, fidc_b(rows)}, 3);
}

static fidc_value *bounded(fidc_rewriter *rw, fidc_value *x, fidc_arg low, fidc_arg high) { return x ? RW(rw, clamp, fidc_v(x), low, high) : NULL; }
static fidc_value *negated(fidc_rewriter *rw, fidc_value *x) { return fidc_rw_op1(rw, FID_OPID_neg, x); }

/* The results in the dtypes and shapes that the archive gives them. */
static fid_status chosen(fidc_rewriter *rw, fidc_value *scale, fidc_value *zero_point) {
    fidc_value *values[2] = {scale, zero_point};
    for (uint32_t i = 0; i < 2; i++) {
        const fidc_value *out = rw->node->outputs[i];
        values[i] = fidc_rw_view(rw, fidc_rw_cast(rw, values[i], (fid_dtype)out->dtype), out->sizes, out->rank);
    }
    return fidc_rw_become_all(rw, values, 2);
}

/* The smallest scale and the range are numbers of the call. */
static fidc_value *above_eps(fidc_rewriter *rw, fidc_value *scale) {
    return bounded(rw, fidc_rw_cast(rw, scale, FID_FLOAT32), fidc_d((float)fidc_rw_double(rw, 3, 0)), fidc_none());
}

static fid_status choose_affine(fidc_rewriter *rw) {
    int64_t low = fidc_rw_int(rw, 1, -128), high = fidc_rw_int(rw, 2, 127);
    fidc_value *least = bounded(rw, extreme(rw, FID_OPID_amin, false), fidc_none(), fidc_d(0));
    fidc_value *most = bounded(rw, extreme(rw, FID_OPID_amax, false), fidc_d(0), fidc_none());
    fidc_value *range = fidc_rw_op2(rw, FID_OPID_sub_Tensor, most, least);
    fidc_value *scale = above_eps(rw, fidc_rw_opd(rw, FID_OPID_div_Scalar, range, (double)(high - low)));
    fidc_value *steps = fidc_rw_op1(rw, FID_OPID_round, fidc_rw_op2(rw, FID_OPID_div_Tensor, fidc_rw_cast(rw, least, FID_FLOAT32), scale));
    fidc_value *zero_point = fidc_rw_opd(rw, FID_OPID_add_Scalar, negated(rw, steps), (double)low);
    return chosen(rw, scale, bounded(rw, zero_point, fidc_d((double)low), fidc_d((double)high)));
}

static fid_status choose_symmetric(fidc_rewriter *rw) {
    int64_t low = fidc_rw_int(rw, 1, -128), high = fidc_rw_int(rw, 2, 127);
    fidc_arg dtype = fidc_rw_arg(rw, 4);
    fidc_value *least = negated(rw, bounded(rw, extreme(rw, FID_OPID_amin, false), fidc_none(), fidc_d(0)));
    fidc_value *most = fidc_rw_op2(rw, FID_OPID_maximum, least, bounded(rw, extreme(rw, FID_OPID_amax, false), fidc_d(0), fidc_none()));
    fidc_value *scale = above_eps(rw, fidc_rw_opd(rw, FID_OPID_div_Scalar, most, (double)(high - low) / 2));
    bool middle = dtype.kind == FIDC_ARG_DTYPE && dtype.as.integer == FID_UINT8;
    return chosen(rw, scale, fidc_rw_scalar(rw, FID_INT64, fidc_i(middle ? 128 : 0)));
}

static fid_status choose_rows(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    fidc_value *largest = fidc_rw_op2(rw, FID_OPID_maximum, extreme(rw, FID_OPID_amax, true), negated(rw, extreme(rw, FID_OPID_amin, true)));
    if (dtype_of(x) == FID_FLOAT16) largest = fidc_rw_cast(rw, largest, FID_FLOAT32);
    fidc_value *scale = fidc_rw_opd(rw, FID_OPID_div_Scalar, bounded(rw, largest, fidc_d(1e-5), fidc_none()), 127);
    const fidc_value *zeros = rw->node->outputs[1];
    return chosen(rw, scale, fidc_rw_full(rw, zeros->sizes, zeros->rank, (fid_dtype)zeros->dtype, fidc_i(0)));
}

/* The end of the range whose error is larger decides the zero point. */
static fid_status choose_rows_affine(fidc_rewriter *rw) {
    fidc_value *least = bounded(rw, extreme(rw, FID_OPID_amin, true), fidc_none(), fidc_d(0));
    fidc_value *most = bounded(rw, extreme(rw, FID_OPID_amax, true), fidc_d(0), fidc_none());
    fidc_value *scale = fidc_rw_opd(rw, FID_OPID_div_Scalar, fidc_rw_op2(rw, FID_OPID_sub_Tensor, most, least), 255);
    scale = bounded(rw, scale, fidc_d(1.1920928955078125e-07), fidc_none());
    fidc_value *low = fidc_rw_op2(rw, FID_OPID_div_Tensor, least, scale), *high = fidc_rw_op2(rw, FID_OPID_div_Tensor, most, scale);
    fidc_value *error = fidc_rw_op2(rw, FID_OPID_add_Tensor, fidc_rw_opd(rw, FID_OPID_add_Scalar, low, -128), fidc_rw_opd(rw, FID_OPID_add_Scalar, high, 127));
    fidc_value *from_low = fidc_rw_opd(rw, FID_OPID_add_Scalar, negated(rw, low), -128);
    fidc_value *from_high = fidc_rw_opd(rw, FID_OPID_add_Scalar, negated(rw, high), 127);
    fidc_value *zero_point = fidc_rw_where(rw, fidc_rw_opn(rw, FID_OPID_gt_Scalar, error, fidc_i(0)), from_low, from_high);
    return chosen(rw, scale, fidc_rw_op1(rw, FID_OPID_round, bounded(rw, zero_point, fidc_d(-128), fidc_d(127))));
}

static const fidc_rule_row rows[] = {
    {FID_OPID_quantize_per_tensor, quantize_tensor},
    {FID_OPID_quantize_per_tensor_tensor, quantize_tensor_one},
    {FID_OPID_quantize_per_tensor_tensor2, quantize_tensor_range},
    {FID_OPID_dequantize_per_tensor, dequantize_tensor},
    {FID_OPID_dequantize_per_tensor_tensor, dequantize_tensor_one},
    {FID_OPID_dequantize_per_tensor_tensor2, dequantize_tensor_one},
    {FID_OPID_quantize_per_channel, quantize_channel},
    {FID_OPID_dequantize_per_channel, dequantize_channel},
    {FID_OPID_quantize_per_channel_group, quantize_group},
    {FID_OPID_dequantize_per_channel_group, dequantize_group},
    {FID_OPID_quantize_per_token, quantize_token},
    {FID_OPID_dequantize_per_token, dequantize_token},
    {FID_OPID_choose_qparams_tensor, choose_affine},
    {FID_OPID_choose_qparams_symmetric_tensor, choose_symmetric},
    {FID_OPID_choose_qparams_per_token, choose_rows},
    {FID_OPID_choose_qparams_per_token_asymmetric, choose_rows_affine},
    {FID_OPID__choose_qparams_per_token_asymmetric_impl, choose_rows_affine},
    {FID_OPID_fake_quant_per_channel, fake_quantize},
    {FID_OPID_convert_element_type_no_fuse, convert},
};

void fidc_rules_add_quantized(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
