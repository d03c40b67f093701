/* What else upstream's library lacks: whole numbers, bits of floats, norms of slices, batch norm in training, places of pools. */
#include "compiler/passes/portable_math.h"

static fidc_value *operand(fidc_rewriter *rw, uint32_t i) { return fidc_rw_cast(rw, fidc_rw_value(rw, i), (fid_dtype)fidc_rw_out(rw)->dtype); }

/* ---- Powers of two ---- */

static fid_status ldexp_rule(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    if (fid_dtype_is_complex((fid_dtype)out->dtype)) return fidc_rw_keep(rw);
    fidc_value *power = RW(rw, pow_Scalar, fidc_d(2), fidc_v(fidc_rw_cast(rw, fidc_rw_value(rw, 1), fidc_compute_dtype((fid_dtype)out->dtype))));
    return fm_become(rw, fm_mul(rw, fidc_rw_cast(rw, x, fidc_compute_dtype((fid_dtype)out->dtype)), power)); /* in PyTorch a product, too */
}

static fid_status logaddexp2(fidc_rewriter *rw) {
    fidc_value *a = operand(rw, 0), *b = operand(rw, 1);
    fidc_value *apart = fidc_rw_where(rw, fm_equals(rw, a, b), fidc_rw_scalar(rw, (fid_dtype)fidc_rw_out(rw)->dtype, fidc_d(0)), fm_sub(rw, a, b));
    fidc_value *power = RW(rw, pow_Scalar, fidc_d(2), fidc_v(fidc_rw_op1(rw, FID_OPID_neg, fm_abs(rw, apart))));
    fidc_value *tail = fm_mulc(rw, fidc_rw_op1(rw, FID_OPID_log1p, power), 1.4426950408889634074);
    return fidc_rw_become(rw, fm_add(rw, fidc_rw_op2(rw, FID_OPID_maximum, a, b), tail));
}

/* The sign of zero shows in its reciprocal; that of NaN in nothing that upstream computes, and counts as none. */
static fid_status signbit_rule(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    if (x->dtype == FID_BOOL) x = fidc_rw_cast(rw, x, FID_UINT8);
    fidc_value *below = fidc_rw_opn(rw, FID_OPID_lt_Scalar, x, fidc_i(0));
    if (!x || !fid_dtype_is_float((fid_dtype)x->dtype)) return fidc_rw_become(rw, below);
    fidc_value *negative_zero = fm_equals_number(rw, fm_recip(rw, x), -INFINITY);
    return fidc_rw_become(rw, fidc_rw_op2(rw, FID_OPID_logical_or, below, negative_zero));
}

/* In float64, where every smaller float is normal: log2 is near enough to be put right by one step. */
static fid_status frexp_rule(fidc_rewriter *rw) {
    fidc_value *x = fm_input(rw, 0), *exponent_out = rw->node->outputs[1];
    if (fidc_rw_out(rw)->dtype == FID_FLOAT64) return fidc_rw_keep(rw);
    fidc_value *odd = fidc_rw_op2(rw, FID_OPID_logical_or, fidc_rw_op1(rw, FID_OPID_isnan, x), fidc_rw_op1(rw, FID_OPID_isinf, x));
    odd = fidc_rw_op2(rw, FID_OPID_logical_or, odd, fm_equals_number(rw, x, 0));
    fidc_value *size = fidc_rw_where(rw, odd, fm_number(rw, 0.5), fm_abs(rw, x));
    fidc_value *exponent = fm_addc(rw, fidc_rw_op1(rw, FID_OPID_floor, fidc_rw_op1(rw, FID_OPID_log2, size)), 1);
    for (int step = 0; step < 2; step++) { /* up where the mantissa reaches 1, down where it is below a half */
        fidc_value *mantissa = fm_mul(rw, size, RW(rw, pow_Scalar, fidc_d(2), fidc_v(fidc_rw_op1(rw, FID_OPID_neg, exponent))));
        fidc_value *wrong = step ? fm_less(rw, mantissa, 0.5) : fidc_rw_opd(rw, FID_OPID_ge_Scalar, mantissa, 1);
        exponent = fidc_rw_where(rw, wrong, fm_addc(rw, exponent, step ? -1 : 1), exponent);
    }
    fidc_value *value = fm_mul(rw, x, RW(rw, pow_Scalar, fidc_d(2), fidc_v(fidc_rw_op1(rw, FID_OPID_neg, exponent))));
    value = fidc_rw_cast(rw, fidc_rw_where(rw, odd, x, value), (fid_dtype)fidc_rw_out(rw)->dtype);
    exponent = fidc_rw_cast(rw, fidc_rw_where(rw, odd, fm_number(rw, 0), exponent), (fid_dtype)exponent_out->dtype);
    return value && exponent ? fidc_rw_become_all(rw, (fidc_value *[]){value, exponent}, 2) : fidc_rw_become(rw, NULL);
}

/* ---- Common divisors: as many of Euclid's steps as two Fibonacci numbers of the dtype take ---- */

static fidc_value *greatest_divisor(fidc_rewriter *rw, fidc_value *a, fidc_value *b) {
    fid_dtype dtype = (fid_dtype)fidc_rw_out(rw)->dtype;
    int steps = 13 * (int)fid_dtype_size(dtype) - (fid_dtype_size(dtype) > 1 ? 4 : 0);
    fidc_value *one = fidc_rw_scalar(rw, dtype, fidc_i(1)), *zero = fidc_rw_scalar(rw, dtype, fidc_i(0));
    for (int i = 0; i < steps && a && b; i++) {
        fidc_value *done = fidc_rw_opn(rw, FID_OPID_eq_Scalar, b, fidc_i(0));
        fidc_value *rest = fidc_rw_op2(rw, FID_OPID_remainder_Tensor, a, fidc_rw_where(rw, done, one, b));
        a = fidc_rw_where(rw, done, a, b);
        b = fidc_rw_where(rw, done, zero, rest);
    }
    return a;
}

static fidc_value *size_of(fidc_rewriter *rw, fidc_value *x) { return x && x->dtype == FID_UINT8 ? x : fm_abs(rw, x); }

static fid_status gcd(fidc_rewriter *rw) { return fidc_rw_become(rw, size_of(rw, greatest_divisor(rw, size_of(rw, operand(rw, 0)), size_of(rw, operand(rw, 1))))); }

static fid_status lcm(fidc_rewriter *rw) {
    fidc_value *a = operand(rw, 0), *b = operand(rw, 1), *divisor = greatest_divisor(rw, size_of(rw, a), size_of(rw, b));
    fid_dtype dtype = (fid_dtype)fidc_rw_out(rw)->dtype;
    fidc_value *none = fidc_rw_opn(rw, FID_OPID_eq_Scalar, divisor, fidc_i(0));
    fidc_value *safe = fidc_rw_where(rw, none, fidc_rw_scalar(rw, dtype, fidc_i(1)), divisor);
    fidc_value *product = fm_mul(rw, fidc_rw_op2(rw, FID_OPID_floor_divide, a, safe), b);
    return fidc_rw_become(rw, size_of(rw, fidc_rw_where(rw, none, fidc_rw_scalar(rw, dtype, fidc_i(0)), product)));
}

/* ---- Norms ---- */

static fid_status dist(fidc_rewriter *rw) {
    fidc_value *gap = fidc_rw_op2(rw, FID_OPID_sub_Tensor, operand(rw, 0), operand(rw, 1));
    return fidc_rw_become(rw, gap ? RW(rw, linalg_vector_norm, fidc_v(gap), fidc_rw_arg(rw, 2), fidc_none(), fidc_b(false)) : NULL);
}

/* What shortens slices of x along dim to a norm, (1, .., n, .., 1). */
static fidc_value *shortening(fidc_rewriter *rw, fidc_value *x, int64_t dim, fidc_arg p, double most) {
    int64_t dims[FID_MAX_RANK];
    size_t count = 0;
    for (int64_t d = 0; d < x->rank; d++) {
        if (d != dim) dims[count++] = d;
    }
    fidc_value *norm = RW(rw, linalg_vector_norm, fidc_v(x), p, fidc_ints(rw->program, dims, count), fidc_b(true));
    if (!norm) return NULL;
    fidc_value *one = fidc_rw_scalar(rw, (fid_dtype)norm->dtype, fidc_i(1)), *factor = fm_mulc(rw, fm_recip(rw, fm_addc(rw, norm, 1e-7)), most);
    return fidc_rw_where(rw, fidc_rw_opd(rw, FID_OPID_gt_Scalar, norm, most), factor, one);
}

static fid_status renorm(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    if (x->rank < 2 || fid_dtype_is_complex((fid_dtype)x->dtype)) return fidc_rw_keep(rw);
    return fidc_rw_become(rw, fm_mul(rw, x, shortening(rw, x, fidc_rw_dim(rw, 2, 0, x->rank), fidc_rw_arg(rw, 1), fidc_rw_double(rw, 3, 1))));
}

/* Only rows that an index names. */
static fid_status embedding_renorm(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *index = fidc_rw_value(rw, 1);
    if (x->rank != 2 || fidc_size(x, 0) < 0) return fidc_rw_keep(rw);
    fidc_value *factor = shortening(rw, x, 0, fidc_rw_arg(rw, 3), fidc_rw_double(rw, 2, 1));
    fidc_value *rows = RW(rw, arange_start_step, fidc_i(0), fidc_i(fidc_size(x, 0)), fidc_i(1), fidc_t(FID_INT64));
    index = fidc_rw_view(rw, index, (const fidc_expr *[]){fidc_expr_product(rw->program, index->sizes, index->rank)}, 1);
    fidc_value *named = fidc_rw_op2(rw, FID_OPID_eq_Tensor, fidc_rw_unsqueeze(rw, rows, 1), index);
    if (!named || !factor) return fidc_rw_become(rw, NULL);
    named = RW(rw, any_dims, fidc_v(named), fidc_ints(rw->program, (int64_t[]){1}, 1), fidc_b(true));
    return fidc_rw_become(rw, fidc_rw_where(rw, named, fm_mul(rw, x, factor), x));
}

/* ---- Batch norm with the running statistics as results ---- */

typedef struct statistics { fidc_value *mean, *var; } statistics;

/* Per channel, channels in dimension 1, var of the population. */
static statistics measure(fidc_rewriter *rw, fidc_value *x) {
    int64_t dims[FID_MAX_RANK];
    size_t count = 0;
    for (int64_t d = 0; d < x->rank; d++) {
        if (d != 1) dims[count++] = d;
    }
    fidc_arg over = fidc_ints(rw->program, dims, count);
    return (statistics){RW(rw, mean_dim, fidc_v(x), over, fidc_b(false)), RW(rw, var_correction, fidc_v(x), over, fidc_i(0), fidc_b(false))};
}

/* running + momentum (seen - running) */
static fidc_value *moved(fidc_rewriter *rw, uint32_t running_arg, fidc_value *seen, double momentum) {
    fidc_value *running = fidc_rw_value(rw, running_arg), *kept = fm_mulc(rw, running, 1 - momentum);
    return fm_add(rw, kept, fm_mulc(rw, fidc_rw_cast(rw, seen, (fid_dtype)running->dtype), momentum));
}

static fidc_value *per_channel(fidc_rewriter *rw, fidc_value *x, fidc_value *each) {
    const fidc_expr *sizes[FID_MAX_RANK];
    for (size_t d = 0; d < x->rank; d++) sizes[d] = d == 1 ? x->sizes[1] : fidc_expr_const(rw->program, 1);
    return each ? fidc_rw_view(rw, each, sizes, x->rank) : NULL;
}

static fid_status batch_norm_functional(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *weight = fidc_rw_value(rw, 1), *bias = fidc_rw_value(rw, 2);
    int64_t count = 1;
    for (size_t d = 0; d < x->rank; d++) count *= d == 1 ? 1 : fidc_size(x, d);
    if (x->rank < 2 || !fidc_sizes_static(x) || count < 2 || !fidc_rw_bool(rw, 5, false)) return fidc_rw_keep(rw);
    statistics s = measure(rw, x);
    double momentum = fidc_rw_double(rw, 6, 0.1);
    fidc_value *invstd = fidc_rw_op1(rw, FID_OPID_rsqrt, fm_addc(rw, s.var, fidc_rw_double(rw, 7, 1e-5)));
    fidc_value *y = fm_mul(rw, fm_sub(rw, x, per_channel(rw, x, s.mean)), per_channel(rw, x, invstd));
    if (weight) y = fm_mul(rw, y, per_channel(rw, x, fidc_rw_cast(rw, weight, (fid_dtype)x->dtype)));
    if (bias) y = fm_add(rw, y, per_channel(rw, x, fidc_rw_cast(rw, bias, (fid_dtype)x->dtype)));
    fidc_value *sample = fm_mulc(rw, s.var, (double)count / (double)(count - 1));
    fidc_value *results[] = {y, s.mean, invstd, moved(rw, 3, s.mean, momentum), moved(rw, 4, sample, momentum)};
    for (size_t i = 0; i < 5; i++) {
        results[i] = fidc_rw_cast(rw, results[i], (fid_dtype)rw->node->outputs[i]->dtype);
        if (!results[i]) return fidc_rw_become(rw, NULL);
    }
    return fidc_rw_become_all(rw, results, 5);
}

static const fidc_rule_row rows[] = {
    {FID_OPID_ldexp_Tensor, ldexp_rule},
    {FID_OPID_logaddexp2, logaddexp2},
    {FID_OPID_signbit, signbit_rule},
    {FID_OPID_frexp_Tensor, frexp_rule},
    {FID_OPID_gcd, gcd},
    {FID_OPID_lcm, lcm},
    {FID_OPID_dist, dist},
    {FID_OPID_renorm, renorm},
    {FID_OPID_embedding_renorm, embedding_renorm},
    {FID_OPID__native_batch_norm_legit_functional, batch_norm_functional},
};

void fidc_rules_add_portable_rest(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
