/* Rarer operators that upstream's portable kernels lack, by those that they have. */
#include "compiler/passes/rewrite.h"

static fidc_value *mul(fidc_rewriter *rw, fidc_value *a, fidc_value *b) { return fidc_rw_op2(rw, FID_OPID_mul_Tensor, a, b); }
static fidc_value *add(fidc_rewriter *rw, fidc_value *a, fidc_value *b) { return fidc_rw_op2(rw, FID_OPID_add_Tensor, a, b); }
static fidc_value *sub(fidc_rewriter *rw, fidc_value *a, fidc_value *b) { return fidc_rw_op2(rw, FID_OPID_sub_Tensor, a, b); }
static fidc_value *operand(fidc_rewriter *rw, uint32_t i) { return fidc_rw_cast(rw, fidc_rw_value(rw, i), (fid_dtype)fidc_rw_out(rw)->dtype); }
static fidc_value *number(fidc_rewriter *rw, const fidc_value *like, double value) {
    return like ? fidc_rw_scalar(rw, (fid_dtype)like->dtype, fidc_d(value)) : NULL;
}

/* ---- Pointwise ---- */

/* 0 below zero, 1 above, `values` at zero */
static fid_status heaviside(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    fidc_value *step = fidc_rw_cast(rw, fidc_rw_opd(rw, FID_OPID_gt_Scalar, x, 0), (fid_dtype)x->dtype);
    return fidc_rw_become(rw, fidc_rw_where(rw, fidc_rw_opd(rw, FID_OPID_eq_Scalar, x, 0), fidc_rw_value(rw, 1), step));
}

/* equal, or |a - b| <= atol + rtol |b| with a finite difference; NaN equals NaN if asked for */
static fid_status isclose(fidc_rewriter *rw) {
    fidc_value *a = fidc_rw_value(rw, 0), *b = fidc_rw_value(rw, 1);
    if (a->dtype != b->dtype || a->dtype == FID_BOOL) return fidc_rw_become(rw, fidc_rw_op2(rw, FID_OPID_eq_Tensor, a, b));
    fidc_value *same = fidc_rw_op2(rw, FID_OPID_eq_Tensor, a, b);
    fidc_value *gap = fidc_rw_op1(rw, FID_OPID_abs, sub(rw, a, b));
    fidc_value *room = fidc_rw_opn(rw, FID_OPID_mul_Scalar, fidc_rw_op1(rw, FID_OPID_abs, b), fidc_rw_arg(rw, 2));
    room = fidc_rw_opn(rw, FID_OPID_add_Scalar, room, fidc_rw_arg(rw, 3));
    fidc_value *near = fidc_rw_op2(rw, FID_OPID_le_Tensor, gap, room);
    if (fid_dtype_is_float((fid_dtype)a->dtype)) {
        fidc_value *finite = fidc_rw_opd(rw, FID_OPID_lt_Scalar, gap, INFINITY);
        near = fidc_rw_op2(rw, FID_OPID_logical_and, near, finite);
        fidc_value *missing = fidc_rw_op2(rw, FID_OPID_logical_and, fidc_rw_op1(rw, FID_OPID_isnan, a), fidc_rw_op1(rw, FID_OPID_isnan, b));
        if (fidc_rw_bool(rw, 4, false)) near = fidc_rw_op2(rw, FID_OPID_logical_or, near, missing);
    }
    return fidc_rw_become(rw, fidc_rw_op2(rw, FID_OPID_logical_or, same, near));
}

static fid_status float_power(fidc_rewriter *rw) {
    fid_dtype dtype = (fid_dtype)fidc_rw_out(rw)->dtype;
    fidc_value *base = fidc_rw_value(rw, 0), *exponent = fidc_rw_value(rw, 1);
    if (fid_dtype_is_complex(dtype)) return fidc_rw_keep(rw);
    base = base ? fidc_rw_cast(rw, base, dtype) : fidc_rw_scalar(rw, dtype, fidc_rw_arg(rw, 0));
    exponent = exponent ? fidc_rw_cast(rw, exponent, dtype) : fidc_rw_scalar(rw, dtype, fidc_rw_arg(rw, 1));
    return fidc_rw_become(rw, fidc_rw_op2(rw, FID_OPID_pow_Tensor_Tensor, base, exponent));
}

static fid_status isreal(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    if (fid_dtype_is_complex((fid_dtype)x->dtype)) return fidc_rw_keep(rw);
    return fidc_rw_become(rw, fidc_rw_full(rw, x->sizes, x->rank, FID_BOOL, fidc_b(true)));
}

static fid_status zero(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    return fidc_rw_become(rw, fidc_rw_full(rw, x->sizes, x->rank, (fid_dtype)x->dtype, fidc_i(0)));
}

/* The normal distribution's integral: (1 + erf(x / sqrt 2)) / 2. */
static fid_status ndtr(fidc_rewriter *rw) {
    fidc_value *e = fidc_rw_op1(rw, FID_OPID_erf, fidc_rw_opd(rw, FID_OPID_mul_Scalar, operand(rw, 0), 0.70710678118654752440));
    return fidc_rw_become(rw, fidc_rw_opd(rw, FID_OPID_mul_Scalar, fidc_rw_opd(rw, FID_OPID_add_Scalar, e, 1), 0.5));
}

/* x log(1 + y), 0 where x is 0 and y is no NaN */
static fid_status xlog1py(fidc_rewriter *rw) {
    fidc_value *x = operand(rw, 0), *y = operand(rw, 1);
    fidc_value *product = mul(rw, x, fidc_rw_op1(rw, FID_OPID_log1p, y));
    fidc_value *calm = fidc_rw_where(rw, fidc_rw_opd(rw, FID_OPID_eq_Scalar, x, 0), number(rw, x, 0), product);
    return fidc_rw_become(rw, fidc_rw_where(rw, fidc_rw_op1(rw, FID_OPID_isnan, y), y, calm));
}

/* |a| with the sign of b, of whose zero division tells the sign */
static fid_status copysign_rule(fidc_rewriter *rw) {
    fid_dtype dtype = (fid_dtype)fidc_rw_out(rw)->dtype;
    fidc_value *b = fidc_rw_value(rw, 1);
    fidc_value *size = fidc_rw_op1(rw, FID_OPID_abs, operand(rw, 0));
    b = b ? fidc_rw_cast(rw, b, dtype) : fidc_rw_scalar(rw, dtype, fidc_rw_arg(rw, 1));
    fidc_value *at_zero = fidc_rw_opd(rw, FID_OPID_lt_Scalar, fidc_rw_op1(rw, FID_OPID_reciprocal, b), 0);
    fidc_value *negative = fidc_rw_where(rw, fidc_rw_opd(rw, FID_OPID_eq_Scalar, b, 0), at_zero, fidc_rw_opd(rw, FID_OPID_lt_Scalar, b, 0));
    return fidc_rw_become(rw, fidc_rw_where(rw, negative, fidc_rw_op1(rw, FID_OPID_neg, size), size));
}

/* ---- Triangles and diagonals ---- */

/* What tril of the next lower diagonal does not keep. */
static fid_status triu(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    fidc_value *ones = fidc_rw_full(rw, x->sizes + x->rank - 2, 2, FID_BOOL, fidc_b(true));
    fidc_value *below = ones ? RW(rw, tril, fidc_v(ones), fidc_i(fidc_rw_int(rw, 1, 0) - 1)) : NULL;
    return fidc_rw_become(rw, fidc_rw_where(rw, below, fidc_rw_scalar(rw, (fid_dtype)x->dtype, fidc_i(0)), x));
}

static fid_status trace(fidc_rewriter *rw) {
    fidc_value *diagonal = RW(rw, diagonal_copy, fidc_rw_arg(rw, 0));
    if (!diagonal) return fidc_rw_become(rw, NULL);
    return fidc_rw_become(rw, RW(rw, sum_dim_IntList, fidc_v(diagonal), fidc_list(rw->program, NULL, 0), fidc_b(false),
                                 fidc_t((fid_dtype)fidc_rw_out(rw)->dtype)));
}

static fid_status diagflat(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    fidc_value *flat = fidc_rw_view(rw, x, (const fidc_expr *[]){fidc_expr_product(rw->program, x->sizes, x->rank)}, 1);
    return fidc_rw_become(rw, flat ? RW(rw, diag_embed, fidc_v(flat), fidc_rw_arg(rw, 1), fidc_i(-2), fidc_i(-1)) : NULL);
}

/* Each matrix padded with zeros to the whole width, all below each other. */
static fid_status block_diag(fidc_rewriter *rw) {
    size_t count;
    const fidc_arg *items = fidc_rw_items(rw, 0, &count);
    fidc_value *blocks[64], *out = fidc_rw_out(rw);
    int64_t before = 0, width = fidc_size(out, 1);
    if (count > 64 || width < 0) return fidc_rw_keep(rw);
    for (size_t i = 0; i < count; i++) {
        fidc_value *x = fidc_rw_cast(rw, fidc_value_of(&items[i]), (fid_dtype)out->dtype);
        while (x && x->rank < 2) x = fidc_rw_unsqueeze(rw, x, 0);
        int64_t own = x ? fidc_size(x, 1) : -1;
        if (own < 0) return fidc_rw_keep(rw);
        int64_t pads[] = {before, width - before - own};
        blocks[i] = RW(rw, constant_pad_nd, fidc_v(x), fidc_ints(rw->program, pads, 2), fidc_i(0));
        before += own;
    }
    return fidc_rw_become(rw, fidc_rw_cat(rw, blocks, count, 0));
}

/* Column i repeats each of its numbers for all combinations of the later ones. */
static fid_status cartesian_prod(fidc_rewriter *rw) {
    size_t count;
    const fidc_arg *items = fidc_rw_items(rw, 0, &count);
    fidc_value *columns[FID_MAX_RANK];
    const fidc_expr *grid[FID_MAX_RANK];
    if (count == 1) return fidc_rw_become(rw, fidc_value_of(&items[0]));
    if (count > FID_MAX_RANK) return fidc_rw_keep(rw);
    for (size_t i = 0; i < count; i++) grid[i] = fidc_value_of(&items[i])->rank ? fidc_value_of(&items[i])->sizes[0] : fidc_expr_const(rw->program, 1);
    for (size_t i = 0; i < count; i++) {
        const fidc_expr *own[FID_MAX_RANK];
        for (size_t d = 0; d < count; d++) own[d] = d == i ? grid[i] : fidc_expr_const(rw->program, 1);
        fidc_value *wide = fidc_rw_expand(rw, fidc_rw_view(rw, fidc_value_of(&items[i]), own, count), grid, count);
        columns[i] = fidc_rw_view(rw, wide, (const fidc_expr *[]){fidc_expr_product(rw->program, grid, count), fidc_expr_const(rw->program, 1)}, 2);
        if (!columns[i]) return fidc_rw_become(rw, NULL);
    }
    return fidc_rw_become(rw, fidc_rw_cat(rw, columns, count, 1));
}

/* ---- Products ---- */

/* Components (1, 2, 0) and (2, 0, 1) of both along a dimension of three. */
static fid_status cross_in(fidc_rewriter *rw, int64_t dim) {
    fidc_value *out = fidc_rw_out(rw), *turned[2][2];
    if (dim < 0) return fidc_rw_keep(rw);
    for (uint32_t i = 0; i < 2; i++) {
        fidc_value *x = fidc_rw_expand(rw, operand(rw, i), out->sizes, out->rank);
        for (int64_t by = 1; by <= 2; by++) {
            fidc_value *head = fidc_rw_slice(rw, x, dim, fidc_i(by), fidc_none()), *tail = fidc_rw_slice(rw, x, dim, fidc_i(0), fidc_i(by));
            if (!head || !tail) return fidc_rw_become(rw, NULL);
            turned[i][by - 1] = fidc_rw_cat(rw, (fidc_value *[]){head, tail}, 2, dim);
        }
    }
    return fidc_rw_become(rw, sub(rw, mul(rw, turned[0][0], turned[1][1]), mul(rw, turned[0][1], turned[1][0])));
}

static fid_status linalg_cross(fidc_rewriter *rw) { return cross_in(rw, fidc_rw_dim(rw, 2, -1, fidc_rw_out(rw)->rank)); }

/* Without a dimension the first of three. */
static fid_status cross(fidc_rewriter *rw) {
    const fidc_value *out = fidc_rw_out(rw);
    if (!fidc_rw_is_none(rw, 2)) return cross_in(rw, fidc_rw_dim(rw, 2, -1, out->rank));
    for (size_t d = 0; d < out->rank; d++) {
        if (fidc_size(out, d) == 3) return cross_in(rw, (int64_t)d);
    }
    return fidc_rw_keep(rw);
}

static fid_status vecdot(fidc_rewriter *rw) { return fidc_rw_become(rw, fidc_rw_sum_dim(rw, mul(rw, operand(rw, 0), operand(rw, 1)), fidc_rw_int(rw, 2, -1), false)); }

/* (a0, 1, a1, 1, ...) times (1, b0, 1, b1, ...), pairs of dimensions merged. */
static fid_status kron(fidc_rewriter *rw) {
    fidc_value *sides[2] = {operand(rw, 0), operand(rw, 1)}, *out = fidc_rw_out(rw);
    if (!sides[0] || !sides[1] || 2u * out->rank > FID_MAX_RANK) return fidc_rw_keep(rw);
    for (size_t s = 0; s < 2; s++) {
        const fidc_expr *sizes[2 * FID_MAX_RANK];
        size_t lead = out->rank - (size_t)sides[s]->rank;
        for (size_t d = 0; d < out->rank; d++) {
            sizes[2 * d + s] = d < lead ? fidc_expr_const(rw->program, 1) : sides[s]->sizes[d - lead];
            sizes[2 * d + 1 - s] = fidc_expr_const(rw->program, 1);
        }
        sides[s] = fidc_rw_view(rw, sides[s], sizes, 2u * out->rank);
    }
    return fidc_rw_become(rw, fidc_rw_view(rw, mul(rw, sides[0], sides[1]), out->sizes, out->rank));
}

/* ---- Integrals by trapezoids ---- */

/* Half the sum of neighbours times their distance: from a tensor of places, or one number. */
static fidc_value *trapezoids(fidc_rewriter *rw, bool by_tensor, int64_t *out_dim) {
    fidc_value *y = fidc_rw_value(rw, 0), *x = by_tensor ? fidc_rw_value(rw, 1) : NULL;
    int64_t dim = fidc_rw_dim(rw, 2, -1, y->rank);
    *out_dim = dim;
    if (!y->rank) return NULL;
    fidc_value *pair = add(rw, fidc_rw_slice(rw, y, dim, fidc_i(1), fidc_none()), fidc_rw_slice(rw, y, dim, fidc_i(0), fidc_i(-1)));
    if (!by_tensor) return fidc_rw_opd(rw, FID_OPID_mul_Scalar, pair, fidc_rw_double(rw, 1, 1) / 2);
    if (x->rank == 1 && y->rank > 1) {
        const fidc_expr *sizes[FID_MAX_RANK];
        for (size_t d = 0; d < y->rank; d++) sizes[d] = (int64_t)d == dim ? x->sizes[0] : fidc_expr_const(rw->program, 1);
        x = fidc_rw_view(rw, x, sizes, y->rank);
    }
    if (!x || x->rank != y->rank) return NULL;
    fidc_value *gap = sub(rw, fidc_rw_slice(rw, x, dim, fidc_i(1), fidc_none()), fidc_rw_slice(rw, x, dim, fidc_i(0), fidc_i(-1)));
    return fidc_rw_opd(rw, FID_OPID_mul_Scalar, mul(rw, pair, gap), 0.5);
}

static fid_status trapezoid_by(fidc_rewriter *rw, bool by_tensor, bool cumulative) {
    int64_t dim;
    if (!fidc_rw_value(rw, 0)->rank) return fidc_rw_keep(rw);
    fidc_value *parts = trapezoids(rw, by_tensor, &dim);
    if (!parts) return fidc_rw_become(rw, NULL);
    return fidc_rw_become(rw, cumulative ? RW(rw, cumsum, fidc_v(parts), fidc_i(dim)) : fidc_rw_sum_dim(rw, parts, dim, false));
}

static fid_status trapezoid_x(fidc_rewriter *rw) { return trapezoid_by(rw, true, false); }
static fid_status trapezoid_dx(fidc_rewriter *rw) { return trapezoid_by(rw, false, false); }
static fid_status cumulative_trapezoid_x(fidc_rewriter *rw) { return trapezoid_by(rw, true, true); }
static fid_status cumulative_trapezoid_dx(fidc_rewriter *rw) { return trapezoid_by(rw, false, true); }

/* ---- Selecting ---- */

/* By place in the flat tensor. */
static fid_status take(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *index = fidc_rw_value(rw, 1);
    fidc_value *flat = fidc_rw_view(rw, x, (const fidc_expr *[]){fidc_expr_product(rw->program, x->sizes, x->rank)}, 1);
    return fidc_rw_become(rw, flat ? RW(rw, index_Tensor, fidc_v(flat), fidc_values(rw->program, &index, 1)) : NULL);
}

/* Indices outside are brought into range where the mask hides them; what is hidden is filled. */
static fid_status masked_index(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *mask = fidc_rw_value(rw, 1);
    size_t count;
    const fidc_arg *items = fidc_rw_items(rw, 2, &count);
    fidc_arg safe[FID_MAX_RANK];
    if (count > x->rank) return fidc_rw_keep(rw);
    for (size_t i = 0; i < count; i++) {
        fidc_value *index = fidc_value_of(&items[i]);
        safe[i] = fidc_none();
        if (!index) continue;
        if (fidc_size(x, i) < 1) return fidc_rw_keep(rw);
        safe[i] = fidc_v(RW(rw, clamp, fidc_v(index), fidc_i(0), fidc_i(fidc_size(x, i) - 1)));
    }
    fidc_value *picked = RW(rw, index_Tensor, fidc_v(x), fidc_list(rw->program, safe, count));
    return fidc_rw_become(rw, fidc_rw_where(rw, mask, picked, fidc_rw_scalar(rw, (fid_dtype)x->dtype, fidc_rw_arg(rw, 3))));
}

/* Whether any test element equals each element. */
static fid_status isin_tensors(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *tests = fidc_rw_value(rw, 1);
    if (x->rank == FID_MAX_RANK) return fidc_rw_keep(rw);
    tests = fidc_rw_view(rw, tests, (const fidc_expr *[]){fidc_expr_product(rw->program, tests->sizes, tests->rank)}, 1);
    fidc_value *equal = fidc_rw_op2(rw, FID_OPID_eq_Tensor, fidc_rw_unsqueeze(rw, x, x->rank), tests);
    int64_t last = -1;
    fidc_value *found = equal ? RW(rw, any_dims, fidc_v(equal), fidc_ints(rw->program, &last, 1), fidc_b(false)) : NULL;
    return fidc_rw_become(rw, fidc_rw_bool(rw, 3, false) ? fidc_rw_op1(rw, FID_OPID_logical_not, found) : found);
}

static fid_status isin_number(fidc_rewriter *rw) {
    fid_op_id op = fidc_rw_bool(rw, 3, false) ? FID_OPID_ne_Scalar : FID_OPID_eq_Scalar;
    return fidc_rw_become(rw, fidc_rw_opn(rw, op, fidc_rw_value(rw, 0), fidc_rw_arg(rw, 1)));
}

/* The mean of what is no NaN. */
static fid_status nanmean(fidc_rewriter *rw) {
    fidc_value *x = operand(rw, 0);
    fidc_arg dims = fidc_rw_arg(rw, 1);
    bool keepdim = fidc_rw_bool(rw, 2, false);
    fidc_value *missing = fidc_rw_op1(rw, FID_OPID_isnan, x);
    fidc_value *sum = fidc_rw_sum(rw, fidc_rw_where(rw, missing, number(rw, x, 0), x), dims, keepdim);
    fidc_value *there = fidc_rw_op1(rw, FID_OPID_logical_not, missing);
    if (!x || !there) return fidc_rw_become(rw, NULL);
    return fidc_rw_become(rw, fidc_rw_op2(rw, FID_OPID_div_Tensor, sum, fidc_rw_sum(rw, fidc_rw_cast(rw, there, (fid_dtype)x->dtype), dims, keepdim)));
}

/* start + (end - start) * i / (steps - 1), with ends in tensors */
static fidc_value *spaced(fidc_rewriter *rw) {
    fid_dtype dtype = (fid_dtype)fidc_rw_out(rw)->dtype, compute = fid_dtype_is_float(dtype) ? dtype : FID_FLOAT32;
    int64_t steps = fidc_rw_int(rw, 2, -1);
    fidc_value *ends[2];
    for (uint32_t i = 0; i < 2; i++) {
        fidc_value *tensor = fidc_rw_value(rw, i);
        ends[i] = tensor ? fidc_rw_cast(rw, tensor, compute) : fidc_rw_scalar(rw, compute, fidc_rw_arg(rw, i));
    }
    fidc_value *index = RW(rw, arange_start_step, fidc_i(0), fidc_i(steps), fidc_i(1), fidc_t(compute));
    fidc_value *part = fidc_rw_opd(rw, FID_OPID_div_Scalar, index, steps > 1 ? (double)(steps - 1) : 1);
    return add(rw, mul(rw, part, sub(rw, ends[1], ends[0])), ends[0]);
}

static fid_status linspace(fidc_rewriter *rw) {
    if (fidc_rw_int(rw, 2, -1) < 0) return fidc_rw_keep(rw);
    return fidc_rw_become(rw, fidc_rw_cast(rw, spaced(rw), (fid_dtype)fidc_rw_out(rw)->dtype));
}

static fid_status logspace(fidc_rewriter *rw) {
    fidc_value *exponent = fidc_rw_int(rw, 2, -1) < 0 ? NULL : spaced(rw);
    if (!exponent) return fidc_rw_keep(rw);
    fidc_value *power = RW(rw, pow_Scalar, fidc_rw_is_none(rw, 3) ? fidc_d(10) : fidc_rw_arg(rw, 3), fidc_v(exponent));
    return fidc_rw_become(rw, fidc_rw_cast(rw, power, (fid_dtype)fidc_rw_out(rw)->dtype));
}

static const fidc_rule_row rows[] = {
    {FID_OPID_heaviside, heaviside},
    {FID_OPID_isclose, isclose},
    {FID_OPID_float_power_Tensor_Tensor, float_power},
    {FID_OPID_float_power_Tensor_Scalar, float_power},
    {FID_OPID_float_power_Scalar, float_power},
    {FID_OPID_isreal, isreal},
    {FID_OPID_zero, zero},
    {FID_OPID_special_ndtr, ndtr},
    {FID_OPID_special_xlog1py, xlog1py},
    {FID_OPID_copysign_Tensor, copysign_rule},
    {FID_OPID_copysign_Scalar, copysign_rule},
    {FID_OPID_triu, triu},
    {FID_OPID_trace, trace},
    {FID_OPID_diagflat, diagflat},
    {FID_OPID_block_diag, block_diag},
    {FID_OPID_cartesian_prod, cartesian_prod},
    {FID_OPID_cross, cross},
    {FID_OPID_linalg_cross, linalg_cross},
    {FID_OPID_linalg_vecdot, vecdot},
    {FID_OPID_kron, kron},
    {FID_OPID_trapezoid_x, trapezoid_x},
    {FID_OPID_trapezoid_dx, trapezoid_dx},
    {FID_OPID_trapz_x, trapezoid_x},
    {FID_OPID_trapz_dx, trapezoid_dx},
    {FID_OPID_cumulative_trapezoid_x, cumulative_trapezoid_x},
    {FID_OPID_cumulative_trapezoid_dx, cumulative_trapezoid_dx},
    {FID_OPID_take, take},
    {FID_OPID__unsafe_masked_index, masked_index},
    {FID_OPID_isin_Tensor_Tensor, isin_tensors},
    {FID_OPID_isin_Tensor_Scalar, isin_number},
    {FID_OPID_nanmean, nanmean},
    {FID_OPID_linspace_Tensor_Tensor, linspace},
    {FID_OPID_linspace_Tensor_Scalar, linspace},
    {FID_OPID_linspace_Scalar_Tensor, linspace},
    {FID_OPID_logspace_Tensor_Tensor, logspace},
    {FID_OPID_logspace_Tensor_Scalar, logspace},
    {FID_OPID_logspace_Scalar_Tensor, logspace},
};

void fidc_rules_add_portable_composite(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
