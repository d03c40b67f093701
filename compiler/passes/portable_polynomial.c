/* Orthogonal polynomials of upstream's target, whose degree is a tensor: Chebyshev's four kinds by their closed forms, Hermite's by the
 * recurrence for every degree that PyTorch computes. In float64. */
#include "compiler/passes/portable_math.h"

/* ---- Degrees ---- */

/* PyTorch cuts degrees to whole numbers, and a degree that is none counts as negative. */
static fidc_value *degree(fidc_rewriter *rw) {
    fidc_value *n = fidc_rw_op1(rw, FID_OPID_trunc, fm_input(rw, 1)), *unfit = n ? fidc_rw_op1(rw, FID_OPID_isnan, n) : NULL;
    unfit = fidc_rw_op2(rw, FID_OPID_logical_or, unfit, fidc_rw_op1(rw, FID_OPID_isinf, n));
    return fidc_rw_where(rw, unfit, fm_number(rw, -1), n);
}

/* -1 for odd n, 1 for even n, both below zero. */
static fidc_value *sign_of(fidc_rewriter *rw, fidc_value *n) {
    fidc_value *odd = fidc_rw_opd(rw, FID_OPID_remainder_Scalar, n, 2);
    return fm_rsubc(rw, fm_mulc(rw, odd, 2), 1);
}

static fid_status finish(fidc_rewriter *rw, fidc_value *n, fidc_value *value) {
    return fm_become(rw, fidc_rw_where(rw, fm_less(rw, n, 0), fm_number(rw, 0), value));
}

/* ---- Chebyshev ---- */

/* The angle acos x inside [-1, 1], acosh |x| outside; functions of it are circular or hyperbolic, with the sign of x^n outside. */
typedef struct point { fidc_value *x, *n, *inside, *angle, *length, *sign; } point;

static point point_of(fidc_rewriter *rw, bool shifted) {
    point p = {.x = fm_input(rw, 0), .n = degree(rw)};
    if (shifted) p.x = fm_addc(rw, fm_mulc(rw, p.x, 2), -1);
    fidc_value *size = fm_abs(rw, p.x);
    p.inside = fm_less_equal(rw, size, 1);
    p.angle = fidc_rw_op1(rw, FID_OPID_acos, fm_clamp(rw, p.x, -1, 1));
    p.length = fidc_rw_op1(rw, FID_OPID_acosh, fm_clamp(rw, size, 1, INFINITY));
    p.sign = fidc_rw_where(rw, fm_less(rw, p.x, 0), sign_of(rw, p.n), fm_number(rw, 1));
    return p;
}

static fidc_value *times(fidc_rewriter *rw, fid_op_id function, fidc_value *angle, fidc_value *n, double more) {
    return fidc_rw_op1(rw, function, fm_mul(rw, angle, fm_addc(rw, n, more)));
}

/* f((n + more) angle) / f(below angle), the limit where the divisor vanishes. */
static fidc_value *quotient(fidc_rewriter *rw, fid_op_id function, fidc_value *angle, fidc_value *n, double more, double below, fidc_value *limit) {
    fidc_value *divisor = fidc_rw_op1(rw, function, fm_mulc(rw, angle, below));
    fidc_value *value = fm_div(rw, times(rw, function, angle, n, more), divisor);
    return limit ? fidc_rw_where(rw, fm_equals_number(rw, angle, 0), limit, value) : value;
}

static fidc_value *either(fidc_rewriter *rw, const point *p, fidc_value *inside, fidc_value *outside) {
    fidc_value *value = fidc_rw_where(rw, p->inside, inside, fm_mul(rw, outside, p->sign));
    return fidc_rw_where(rw, fidc_rw_op1(rw, FID_OPID_isnan, p->x), p->x, value);
}

static fid_status chebyshev_t(fidc_rewriter *rw, bool shifted) {
    point p = point_of(rw, shifted);
    fidc_value *value = either(rw, &p, times(rw, FID_OPID_cos, p.angle, p.n, 0), times(rw, FID_OPID_cosh, p.length, p.n, 0));
    return finish(rw, p.n, fidc_rw_where(rw, fm_equals_number(rw, p.n, 0), fm_number(rw, 1), value));
}

/* At -1 the angle is a rounded pi, whose sine is no zero: the value there is (-1)^n (n + 1). */
static fid_status chebyshev_u(fidc_rewriter *rw, bool shifted) {
    point p = point_of(rw, shifted);
    fidc_value *limit = fm_addc(rw, p.n, 1);
    fidc_value *inside = quotient(rw, FID_OPID_sin, p.angle, p.n, 1, 1, limit), *outside = quotient(rw, FID_OPID_sinh, p.length, p.n, 1, 1, limit);
    inside = fidc_rw_where(rw, fm_equals_number(rw, p.x, -1), fm_mul(rw, limit, sign_of(rw, p.n)), inside);
    return finish(rw, p.n, fidc_rw_where(rw, fm_equals_number(rw, p.n, 0), fm_number(rw, 1), either(rw, &p, inside, outside)));
}

/* V is cos((n + 1/2) a) / cos(a / 2), W the same of sines; outside, the one becomes the other below -1. */
static fid_status chebyshev_half(fidc_rewriter *rw, bool shifted, bool w) {
    point p = point_of(rw, shifted);
    fidc_value *limit = fm_addc(rw, fm_mulc(rw, p.n, 2), 1);
    fidc_value *even = quotient(rw, FID_OPID_cosh, p.length, p.n, 0.5, 0.5, NULL), *odd = quotient(rw, FID_OPID_sinh, p.length, p.n, 0.5, 0.5, limit);
    fidc_value *inside = quotient(rw, w ? FID_OPID_sin : FID_OPID_cos, p.angle, p.n, 0.5, 0.5, w ? limit : NULL);
    if (!w) inside = fidc_rw_where(rw, fm_equals_number(rw, p.x, -1), fm_mul(rw, limit, sign_of(rw, p.n)), inside);
    fidc_value *outside = fidc_rw_where(rw, fm_less(rw, p.x, 0), w ? even : odd, w ? odd : even);
    return finish(rw, p.n, fidc_rw_where(rw, fm_equals_number(rw, p.n, 0), fm_number(rw, 1), either(rw, &p, inside, outside)));
}

static fid_status chebyshev_t_plain(fidc_rewriter *rw) { return chebyshev_t(rw, false); }
static fid_status chebyshev_t_shifted(fidc_rewriter *rw) { return chebyshev_t(rw, true); }
static fid_status chebyshev_u_plain(fidc_rewriter *rw) { return chebyshev_u(rw, false); }
static fid_status chebyshev_u_shifted(fidc_rewriter *rw) { return chebyshev_u(rw, true); }
static fid_status chebyshev_v_plain(fidc_rewriter *rw) { return chebyshev_half(rw, false, false); }
static fid_status chebyshev_v_shifted(fidc_rewriter *rw) { return chebyshev_half(rw, true, false); }
static fid_status chebyshev_w_plain(fidc_rewriter *rw) { return chebyshev_half(rw, false, true); }
static fid_status chebyshev_w_shifted(fidc_rewriter *rw) { return chebyshev_half(rw, true, true); }

/* ---- Hermite: P(k + 1) = factor (x P(k) - k P(k - 1)) ---- */

/* Beyond these degrees PyTorch gives NaN. */
static int highest_degree(const fidc_rewriter *rw) { return fidc_rw_out(rw)->dtype == FID_FLOAT64 ? 512 : 128; }

static fid_status hermite(fidc_rewriter *rw, double factor) {
    fidc_value *x = fm_input(rw, 0), *n = degree(rw), *before = fm_number(rw, 1), *p = fm_mulc(rw, x, factor);
    fidc_value *value = fidc_rw_where(rw, fm_equals_number(rw, n, 0), before, p);
    for (int k = 1; k < highest_degree(rw); k++) {
        fidc_value *after = fm_mulc(rw, fm_sub(rw, fm_mul(rw, x, p), fm_mulc(rw, before, k)), factor);
        before = p;
        p = after;
        value = fidc_rw_where(rw, fm_equals_number(rw, n, k + 1), p, value);
    }
    fidc_value *above = fidc_rw_opd(rw, FID_OPID_gt_Scalar, n, highest_degree(rw));
    return finish(rw, n, fidc_rw_where(rw, above, fm_number(rw, NAN), value));
}

static fid_status hermite_h(fidc_rewriter *rw) { return hermite(rw, 2); }
static fid_status hermite_he(fidc_rewriter *rw) { return hermite(rw, 1); }

/* The degree or the place may be a number. */
#define FORMS(name, rule)                                                                                              \
    {FID_OPID_special_##name, rule}, {FID_OPID_special_##name##_x_scalar, rule}, {FID_OPID_special_##name##_n_scalar, rule}
static const fidc_rule_row rows[] = {
    FORMS(chebyshev_polynomial_t, chebyshev_t_plain),
    FORMS(chebyshev_polynomial_u, chebyshev_u_plain),
    FORMS(chebyshev_polynomial_v, chebyshev_v_plain),
    FORMS(chebyshev_polynomial_w, chebyshev_w_plain),
    FORMS(shifted_chebyshev_polynomial_t, chebyshev_t_shifted),
    FORMS(shifted_chebyshev_polynomial_u, chebyshev_u_shifted),
    FORMS(shifted_chebyshev_polynomial_v, chebyshev_v_shifted),
    FORMS(shifted_chebyshev_polynomial_w, chebyshev_w_shifted),
    FORMS(hermite_polynomial_h, hermite_h),
    FORMS(hermite_polynomial_he, hermite_he),
};

void fidc_rules_add_portable_polynomial(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
