/* Reductions that upstream's portable kernels lack, by those that they have. */
#include "compiler/passes/rewrite.h"

/* reduce(x, dims, keepdim); dims NONE: all. */
static fidc_value *reduced(fidc_rewriter *rw, fid_op_id op, fidc_value *x, fidc_arg dims, fidc_arg keepdim) {
    return x ? fidc_rw_emit(rw, op, (fidc_arg[]){fidc_v(x), dims, keepdim}, 3) : NULL;
}

static fidc_value *summed(fidc_rewriter *rw, fidc_value *x, fidc_arg dims, fidc_arg keepdim, fid_dtype dtype) {
    return x ? RW(rw, sum_dim_IntList, fidc_v(x), dims, keepdim, fidc_t(dtype)) : NULL;
}

/* A dimension argument as a list; NONE stays. */
static fidc_arg as_dims(fidc_rewriter *rw, uint32_t i) {
    fidc_arg arg = fidc_rw_arg(rw, i);
    return arg.kind == FIDC_ARG_NONE || arg.kind == FIDC_ARG_LIST ? arg : fidc_list(rw->program, &arg, 1);
}

static fidc_arg no_dims(fidc_rewriter *rw) { return fidc_list(rw->program, NULL, 0); }

/* ---- Sums and truths ---- */

static fid_status sum_all(fidc_rewriter *rw) {
    return fidc_rw_become(rw, summed(rw, fidc_rw_value(rw, 0), no_dims(rw), fidc_b(false), (fid_dtype)fidc_rw_out(rw)->dtype));
}

/* Sums leading dimensions away and dimensions of size one to one. */
static fid_status sum_to_size(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    int64_t dims[FID_MAX_RANK];
    size_t count = 0, lead = x->rank - (size_t)out->rank;
    for (size_t d = 0; d < x->rank; d++) {
        if (d < lead || x->sizes[d] != out->sizes[d - lead]) dims[count++] = (int64_t)d;
    }
    if (!count) return fidc_rw_become(rw, fidc_rw_cast(rw, x, (fid_dtype)out->dtype));
    fidc_value *sum = summed(rw, x, fidc_ints(rw->program, dims, count), fidc_b(true), (fid_dtype)out->dtype);
    return fidc_rw_become(rw, fidc_rw_view(rw, sum, out->sizes, out->rank));
}

static fid_status nansum(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    if (fid_dtype_is_float((fid_dtype)x->dtype)) {
        fidc_value *zero = fidc_value_scalar(rw->graph, (fid_dtype)x->dtype, 0), *missing = fidc_rw_op1(rw, FID_OPID_isnan, x);
        if (!zero || !missing) return fidc_rw_become(rw, NULL);
        x = RW(rw, where_self, fidc_v(missing), fidc_v(zero), fidc_v(x));
    }
    return fidc_rw_become(rw, summed(rw, x, fidc_rw_arg(rw, 1), fidc_rw_arg(rw, 2), (fid_dtype)fidc_rw_out(rw)->dtype));
}

/* all(x) = not any(not x); the results are bool but for uint8, which keeps its dtype. */
static fidc_value *all_of(fidc_rewriter *rw, fidc_value *some) {
    return fidc_rw_cast(rw, fidc_rw_op1(rw, FID_OPID_logical_not, some), (fid_dtype)fidc_rw_out(rw)->dtype);
}

static fid_status all(fidc_rewriter *rw) {
    return fidc_rw_become(rw, all_of(rw, fidc_rw_op1(rw, FID_OPID_any, fidc_rw_op1(rw, FID_OPID_logical_not, fidc_rw_value(rw, 0)))));
}

static fid_status all_dims(fidc_rewriter *rw) {
    fidc_value *wrong = fidc_rw_op1(rw, FID_OPID_logical_not, fidc_rw_value(rw, 0));
    return fidc_rw_become(rw, all_of(rw, reduced(rw, FID_OPID_any_dims, wrong, as_dims(rw, 1), fidc_rw_arg(rw, 2))));
}

static fid_status count_nonzero(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    fidc_value *counted = RW(rw, ne_Scalar, fidc_v(x), fidc_i(0));
    return fidc_rw_become(rw, summed(rw, counted, as_dims(rw, 1), fidc_b(false), FID_INT64));
}

/* Of a single number: itself. */
static fid_status cumsum(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    return x->rank ? fidc_rw_keep(rw) : fidc_rw_become(rw, fidc_rw_cast(rw, x, (fid_dtype)fidc_rw_out(rw)->dtype));
}

/* ---- Extremes ---- */

static fid_status aminmax(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    fidc_arg dims = fidc_rw_is_none(rw, 1) ? no_dims(rw) : as_dims(rw, 1);
    fidc_value *low = reduced(rw, FID_OPID_amin, x, dims, fidc_rw_arg(rw, 2)), *high = reduced(rw, FID_OPID_amax, x, dims, fidc_rw_arg(rw, 2));
    return fidc_rw_become_all(rw, (fidc_value *[]){low, high}, 2);
}

/* ---- Variance ---- */

static fidc_value *variance(fidc_rewriter *rw, fidc_arg dims, fidc_arg correction, fidc_arg keepdim) {
    return RW(rw, var_correction, fidc_rw_arg(rw, 0), dims, correction, keepdim);
}

static fidc_arg correction_of_unbiased(fidc_rewriter *rw, uint32_t i) { return fidc_i(fidc_rw_bool(rw, i, true) ? 1 : 0); }

static fid_status var_all(fidc_rewriter *rw) {
    return fidc_rw_become(rw, variance(rw, fidc_none(), correction_of_unbiased(rw, 1), fidc_b(false)));
}

static fid_status var_dim(fidc_rewriter *rw) {
    return fidc_rw_become(rw, variance(rw, fidc_rw_arg(rw, 1), correction_of_unbiased(rw, 2), fidc_rw_arg(rw, 3)));
}

static fid_status std_all(fidc_rewriter *rw) {
    return fidc_rw_become(rw, fidc_rw_op1(rw, FID_OPID_sqrt, variance(rw, fidc_none(), correction_of_unbiased(rw, 1), fidc_b(false))));
}

static fid_status std_dim(fidc_rewriter *rw) {
    return fidc_rw_become(rw, fidc_rw_op1(rw, FID_OPID_sqrt, variance(rw, fidc_rw_arg(rw, 1), correction_of_unbiased(rw, 2), fidc_rw_arg(rw, 3))));
}

static fid_status std_correction(fidc_rewriter *rw) {
    return fidc_rw_become(rw, fidc_rw_op1(rw, FID_OPID_sqrt, variance(rw, fidc_rw_arg(rw, 1), fidc_rw_arg(rw, 2), fidc_rw_arg(rw, 3))));
}

/* var_mean and std_mean; `root` for the latter. */
static fid_status with_mean(fidc_rewriter *rw, fidc_arg dims, fidc_arg correction, fidc_arg keepdim, bool root) {
    fidc_value *spread = variance(rw, dims, correction, keepdim);
    if (root) spread = fidc_rw_op1(rw, FID_OPID_sqrt, spread);
    fidc_value *mean = reduced(rw, FID_OPID_mean_dim, fidc_rw_value(rw, 0), dims, keepdim);
    return fidc_rw_become_all(rw, (fidc_value *[]){spread, mean}, 2);
}

static fid_status var_mean(fidc_rewriter *rw) { return with_mean(rw, fidc_none(), correction_of_unbiased(rw, 1), fidc_b(false), false); }
static fid_status std_mean(fidc_rewriter *rw) { return with_mean(rw, fidc_none(), correction_of_unbiased(rw, 1), fidc_b(false), true); }
static fid_status var_mean_dim(fidc_rewriter *rw) {
    return with_mean(rw, fidc_rw_arg(rw, 1), correction_of_unbiased(rw, 2), fidc_rw_arg(rw, 3), false);
}
static fid_status std_mean_dim(fidc_rewriter *rw) {
    return with_mean(rw, fidc_rw_arg(rw, 1), correction_of_unbiased(rw, 2), fidc_rw_arg(rw, 3), true);
}
static fid_status var_mean_correction(fidc_rewriter *rw) {
    return with_mean(rw, fidc_rw_arg(rw, 1), fidc_rw_arg(rw, 2), fidc_rw_arg(rw, 3), false);
}
static fid_status std_mean_correction(fidc_rewriter *rw) {
    return with_mean(rw, fidc_rw_arg(rw, 1), fidc_rw_arg(rw, 2), fidc_rw_arg(rw, 3), true);
}

/* ---- Norms and losses ---- */

/* The p-norm over dims: sum(|x|^p)^(1/p), with the cases that need no power. */
static fidc_value *vector_norm(fidc_rewriter *rw, fidc_value *x, double p, fidc_arg dims, fidc_arg keepdim, fid_dtype dtype) {
    x = fidc_rw_cast(rw, x, dtype);
    if (!x) return NULL;
    if (dims.kind == FIDC_ARG_NONE) dims = no_dims(rw);
    if (isinf(p)) return reduced(rw, p > 0 ? FID_OPID_amax : FID_OPID_amin, fidc_rw_op1(rw, FID_OPID_abs, x), dims, keepdim);
    if (p == 0) return summed(rw, fidc_rw_cast(rw, RW(rw, ne_Scalar, fidc_v(x), fidc_i(0)), dtype), dims, keepdim, dtype);
    if (p == 1) return summed(rw, fidc_rw_op1(rw, FID_OPID_abs, x), dims, keepdim, dtype);
    if (p == 2) return fidc_rw_op1(rw, FID_OPID_sqrt, summed(rw, fidc_rw_op2(rw, FID_OPID_mul_Tensor, x, x), dims, keepdim, dtype));
    fidc_value *size = fidc_rw_op1(rw, FID_OPID_abs, x);
    if (!size) return NULL;
    fidc_value *sum = summed(rw, RW(rw, pow_Tensor_Scalar, fidc_v(size), fidc_d(p)), dims, keepdim, dtype);
    return sum ? RW(rw, pow_Tensor_Scalar, fidc_v(sum), fidc_d(1 / p)) : NULL;
}

static fid_status linalg_vector_norm(fidc_rewriter *rw) {
    return fidc_rw_become(rw, vector_norm(rw, fidc_rw_value(rw, 0), fidc_rw_double(rw, 1, 2), fidc_rw_arg(rw, 2), fidc_rw_arg(rw, 3),
                                          (fid_dtype)fidc_rw_out(rw)->dtype));
}

static fid_status norm_all(fidc_rewriter *rw) {
    return fidc_rw_become(rw, vector_norm(rw, fidc_rw_value(rw, 0), fidc_rw_double(rw, 1, 2), fidc_none(), fidc_b(false),
                                          (fid_dtype)fidc_rw_out(rw)->dtype));
}

static fidc_value *empty_logsumexp(fidc_rewriter *rw) {
    fidc_value *out = fidc_rw_out(rw);
    return fidc_rw_full(rw, out->sizes, out->rank, (fid_dtype)out->dtype, fidc_d(-INFINITY));
}

/* log(sum(exp(x - m))) + m; where the maximum is infinite it is taken as 0, which keeps inf - inf out. */
static fid_status logsumexp(fidc_rewriter *rw) {
    fid_dtype dtype = (fid_dtype)fidc_rw_out(rw)->dtype;
    fidc_value *x = fidc_rw_cast(rw, fidc_rw_value(rw, 0), dtype), *zero = fidc_value_scalar(rw->graph, dtype, 0);
    for (size_t d = 0; d < fidc_rw_value(rw, 0)->rank; d++) { /* no largest of none: the logarithm of an empty sum */
        if (fidc_size(fidc_rw_value(rw, 0), d) == 0) return fidc_rw_become(rw, empty_logsumexp(rw));
    }
    fidc_value *high = reduced(rw, FID_OPID_amax, x, fidc_rw_arg(rw, 1), fidc_b(true));
    fidc_value *endless = fidc_rw_op1(rw, FID_OPID_isinf, high);
    if (!endless || !zero) return fidc_rw_become(rw, NULL);
    high = RW(rw, where_self, fidc_v(endless), fidc_v(zero), fidc_v(high));
    fidc_value *powers = fidc_rw_op1(rw, FID_OPID_exp, fidc_rw_op2(rw, FID_OPID_sub_Tensor, x, high));
    fidc_value *out = fidc_rw_op1(rw, FID_OPID_log, summed(rw, powers, fidc_rw_arg(rw, 1), fidc_b(true), dtype));
    out = fidc_rw_op2(rw, FID_OPID_add_Tensor, out, high);
    if (!fidc_rw_bool(rw, 2, false)) out = fidc_rw_view(rw, out, fidc_rw_out(rw)->sizes, fidc_rw_out(rw)->rank);
    return fidc_rw_become(rw, out);
}

/* reduction: 0 none, 1 mean, 2 sum */
static fid_status mse_loss(fidc_rewriter *rw) {
    fidc_value *gap = fidc_rw_op2(rw, FID_OPID_sub_Tensor, fidc_rw_value(rw, 0), fidc_rw_value(rw, 1));
    fidc_value *squares = fidc_rw_op2(rw, FID_OPID_mul_Tensor, gap, gap);
    int64_t reduction = fidc_rw_int(rw, 2, 1);
    if (reduction == 0 || !squares) return fidc_rw_become(rw, squares);
    if (reduction == 1) return fidc_rw_become(rw, fidc_rw_op1(rw, FID_OPID_mean, squares));
    return fidc_rw_become(rw, summed(rw, squares, no_dims(rw), fidc_b(false), (fid_dtype)squares->dtype));
}

static const fidc_rule_row rows[] = {
    {FID_OPID_sum, sum_all},
    {FID_OPID_cumsum, cumsum},
    {FID_OPID_nansum, nansum},
    {FID_OPID_sum_to_size, sum_to_size},
    {FID_OPID_all, all},
    {FID_OPID_all_dim, all_dims},
    {FID_OPID_all_dims, all_dims},
    {FID_OPID_count_nonzero, count_nonzero},
    {FID_OPID_count_nonzero_dim_IntList, count_nonzero},
    {FID_OPID_aminmax, aminmax},
    {FID_OPID_var, var_all},
    {FID_OPID_var_dim, var_dim},
    {FID_OPID_std, std_all},
    {FID_OPID_std_dim, std_dim},
    {FID_OPID_std_correction, std_correction},
    {FID_OPID_var_mean, var_mean},
    {FID_OPID_var_mean_dim, var_mean_dim},
    {FID_OPID_var_mean_correction, var_mean_correction},
    {FID_OPID_std_mean, std_mean},
    {FID_OPID_std_mean_dim, std_mean_dim},
    {FID_OPID_std_mean_correction, std_mean_correction},
    {FID_OPID_linalg_vector_norm, linalg_vector_norm},
    {FID_OPID_norm_Scalar, norm_all},
    {FID_OPID_norm_ScalarOpt_dim, linalg_vector_norm},
    {FID_OPID_norm_ScalarOpt_dim_dtype, linalg_vector_norm},
    {FID_OPID_logsumexp, logsumexp},
    {FID_OPID_mse_loss, mse_loss},
};

void fidc_rules_add_portable_reduction(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
