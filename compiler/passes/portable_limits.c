/* Where upstream's kernels take less than PyTorch's operators, or give other numbers: dtypes of indices, tensors without dimensions,
 * remainders of whole numbers, signs of NaN. */
#include "compiler/passes/portable_math.h"

/* ---- Remainders: upstream's are C's for whole numbers, and pass through float for floats ---- */

static fidc_value *differ(fidc_rewriter *rw, fidc_value *a, fidc_value *b) {
    return fidc_rw_op2(rw, FID_OPID_logical_xor, fidc_rw_opn(rw, FID_OPID_lt_Scalar, a, fidc_i(0)), fidc_rw_opn(rw, FID_OPID_lt_Scalar, b, fidc_i(0)));
}

static fidc_value *operand(fidc_rewriter *rw, uint32_t i, fid_dtype dtype) {
    fidc_value *value = fidc_rw_value(rw, i);
    return value ? fidc_rw_cast(rw, value, dtype) : fidc_rw_scalar(rw, dtype, fidc_rw_arg(rw, i));
}

/* C's remainder, and once the divisor more where it has the other sign. */
static fid_status remainder_rule(fidc_rewriter *rw) {
    fid_dtype dtype = (fid_dtype)fidc_rw_out(rw)->dtype;
    bool tensors = fidc_rw_value(rw, 0) && fidc_rw_value(rw, 1), by_number = fidc_is(rw->node, FID_OPID_remainder_Scalar);
    if (dtype == FID_UINT8 || dtype == FID_BOOL || fidc_compute_dtype(dtype) == FID_FLOAT32) {
        if (tensors || by_number) return fidc_rw_keep(rw);
        return fidc_rw_become(rw, fidc_rw_op2(rw, FID_OPID_remainder_Tensor, operand(rw, 0, dtype), operand(rw, 1, dtype)));
    }
    fidc_value *a = operand(rw, 0, dtype), *b = operand(rw, 1, dtype);
    fidc_value *rest = fidc_rw_op2(rw, FID_OPID_fmod_Tensor, a, b);
    fidc_value *more = fidc_rw_op2(rw, FID_OPID_logical_and, fidc_rw_opn(rw, FID_OPID_ne_Scalar, rest, fidc_i(0)), differ(rw, rest, b));
    return fidc_rw_become(rw, fidc_rw_where(rw, more, fm_add(rw, rest, b), rest));
}

/* The sign of NaN is 0 in PyTorch, NaN there. */
static fid_status sign_rule(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    if (!fid_dtype_is_float((fid_dtype)x->dtype)) return fidc_rw_keep(rw);
    fidc_value *above = fidc_rw_cast(rw, fidc_rw_opn(rw, FID_OPID_gt_Scalar, x, fidc_i(0)), (fid_dtype)x->dtype);
    return fidc_rw_become(rw, fm_sub(rw, above, fidc_rw_cast(rw, fidc_rw_opn(rw, FID_OPID_lt_Scalar, x, fidc_i(0)), (fid_dtype)x->dtype)));
}

/* ---- Dtypes ---- */

/* Argument `i` in another dtype, in its place. */
static fid_status recast(fidc_rewriter *rw, uint32_t i, fid_dtype dtype) {
    fidc_value *x = fidc_rw_value(rw, i);
    if (!x || x->dtype == dtype) return fidc_rw_keep(rw);
    fidc_value *cast = fidc_rw_cast(rw, x, dtype);
    if (cast) rw->node->args[i] = fidc_v(cast);
    return fidc_rw_keep(rw);
}

static fid_status index_64(fidc_rewriter *rw) { return recast(rw, 2, FID_INT64); }
static fid_status item_of_half(fidc_rewriter *rw) { return recast(rw, 0, fidc_compute_dtype((fid_dtype)fidc_rw_value(rw, 0)->dtype)); }

static fid_status logit_rule(fidc_rewriter *rw) {
    fid_dtype dtype = fidc_compute_dtype((fid_dtype)fidc_rw_out(rw)->dtype);
    if (dtype == fidc_rw_out(rw)->dtype) return fidc_rw_keep(rw);
    fidc_value *x = fidc_rw_cast(rw, fidc_rw_value(rw, 0), dtype);
    return fm_become(rw, x ? RW(rw, logit, fidc_v(x), fidc_rw_arg(rw, 1)) : NULL);
}

/* A whole number and a fraction: the tensor takes the result's dtype first. */
static fid_status with_fraction(fidc_rewriter *rw) { return recast(rw, 0, (fid_dtype)fidc_rw_out(rw)->dtype); }

static fid_status floats_only(fidc_rewriter *rw) {
    if (fid_dtype_is_float((fid_dtype)fidc_rw_value(rw, 0)->dtype)) return fidc_rw_keep(rw);
    return fidc_rw_refuse(rw, "images of bytes are resampled with 16-bit weights, which upstream's kernels do not have; convert to a float dtype");
}

/* ---- Tensors without dimensions or elements ---- */

static fidc_value *row_of_one(fidc_rewriter *rw, fidc_value *x) {
    return fidc_rw_view(rw, x, (const fidc_expr *[]){fidc_expr_const(rw->program, 1)}, 1);
}

/* A reduction of a number along its dimension 0: upstream looks for the dimension. */
static fid_status reduce_number(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    fidc_arg args[8];
    if (x->rank || rw->node->arg_count > 8) return fidc_rw_keep(rw);
    memcpy(args, rw->node->args, rw->node->arg_count * sizeof *args);
    args[0] = fidc_v(row_of_one(rw, x));
    args[1] = args[1].kind == FIDC_ARG_LIST || args[1].kind == FIDC_ARG_NONE ? fidc_ints(rw->program, (int64_t[]){0}, 1) : fidc_i(0);
    fidc_value *reduced = fidc_rw_emit(rw, fidc_op_id(rw->program, rw->node->op), args, rw->node->arg_count);
    return fidc_rw_become(rw, reduced && reduced->rank ? fidc_rw_view(rw, reduced, NULL, 0) : reduced);
}

/* The extreme of no elements is asked of no result: an empty tensor. */
static fid_status extreme(fidc_rewriter *rw) {
    const fidc_value *x = fidc_rw_value(rw, 0);
    fidc_value *out = fidc_rw_out(rw);
    for (size_t d = 0; d < out->rank; d++) {
        if (fidc_size(out, d) == 0) return fidc_rw_become(rw, fidc_rw_full(rw, out->sizes, out->rank, (fid_dtype)out->dtype, fidc_i(0)));
    }
    return x->rank ? fidc_rw_keep(rw) : reduce_number(rw);
}

static fid_status unfold_number(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    if (x->rank) return fidc_rw_keep(rw);
    return fidc_rw_become(rw, fidc_rw_view(rw, x, fidc_rw_out(rw)->sizes, fidc_rw_out(rw)->rank));
}

/* Upstream's narrow_copy takes no dimension or start from the end. */
static fid_status narrow_copy(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    int64_t dim = fidc_rw_dim(rw, 1, 0, x->rank), start = fidc_rw_int(rw, 2, -1), length = fidc_rw_int(rw, 3, -1), size = x->rank ? fidc_size(x, (size_t)dim) : -1;
    if (fidc_rw_arg(rw, 2).kind != FIDC_ARG_INT || fidc_rw_arg(rw, 3).kind != FIDC_ARG_INT || length < 0) return fidc_rw_keep(rw);
    if (start < 0 && size < 0) return fidc_rw_keep(rw);
    if (start < 0) start += size;
    return fidc_rw_become(rw, fidc_rw_slice(rw, x, dim, fidc_i(start), fidc_i(start + length)));
}

static const fidc_rule_row rows[] = {
    {FID_OPID_remainder_Tensor, remainder_rule},
    {FID_OPID_remainder_Scalar, remainder_rule},
    {FID_OPID_sign, sign_rule},
    {FID_OPID_gather, index_64},
    {FID_OPID_scatter_src, index_64},
    {FID_OPID_scatter_value, index_64},
    {FID_OPID_scatter_add, index_64},
    {FID_OPID__local_scalar_dense, item_of_half},
    {FID_OPID_logit, logit_rule},
    {FID_OPID_sub_Scalar, with_fraction},
    {FID_OPID_upsample_bilinear2d_vec, floats_only},
    {FID_OPID__upsample_bilinear2d_aa, floats_only},
    {FID_OPID_sum_dim_IntList, reduce_number},
    {FID_OPID_mean_dim, reduce_number},
    {FID_OPID_any_dim, reduce_number},
    {FID_OPID_any_dims, reduce_number},
    {FID_OPID_var_correction, reduce_number},
    {FID_OPID_amax, extreme},
    {FID_OPID_amin, extreme},
    {FID_OPID_unfold_copy, unfold_number},
    {FID_OPID_narrow_copy, narrow_copy},
};

void fidc_rules_add_portable_limits(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
