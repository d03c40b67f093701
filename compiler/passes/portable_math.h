/* Arithmetic of rules that compose functions in float64: short names for nodes, NULL in, NULL out. */
#ifndef FIDC_PORTABLE_MATH_H
#define FIDC_PORTABLE_MATH_H

#include "compiler/passes/rewrite.h"

static inline fidc_value *fm_mul(fidc_rewriter *rw, fidc_value *a, fidc_value *b) { return fidc_rw_op2(rw, FID_OPID_mul_Tensor, a, b); }
static inline fidc_value *fm_add(fidc_rewriter *rw, fidc_value *a, fidc_value *b) { return fidc_rw_op2(rw, FID_OPID_add_Tensor, a, b); }
static inline fidc_value *fm_sub(fidc_rewriter *rw, fidc_value *a, fidc_value *b) { return fidc_rw_op2(rw, FID_OPID_sub_Tensor, a, b); }
static inline fidc_value *fm_div(fidc_rewriter *rw, fidc_value *a, fidc_value *b) { return fidc_rw_op2(rw, FID_OPID_div_Tensor, a, b); }
static inline fidc_value *fm_mulc(fidc_rewriter *rw, fidc_value *a, double c) { return fidc_rw_opd(rw, FID_OPID_mul_Scalar, a, c); }
static inline fidc_value *fm_addc(fidc_rewriter *rw, fidc_value *a, double c) { return c == 0 ? a : fidc_rw_opd(rw, FID_OPID_add_Scalar, a, c); }
/* c - a */
static inline fidc_value *fm_rsubc(fidc_rewriter *rw, fidc_value *a, double c) { return fidc_rw_opd(rw, FID_OPID_rsub_Scalar, a, c); }
static inline fidc_value *fm_recip(fidc_rewriter *rw, fidc_value *a) { return fidc_rw_op1(rw, FID_OPID_reciprocal, a); }
static inline fidc_value *fm_abs(fidc_rewriter *rw, fidc_value *a) { return fidc_rw_op1(rw, FID_OPID_abs, a); }
static inline fidc_value *fm_exp(fidc_rewriter *rw, fidc_value *a) { return fidc_rw_op1(rw, FID_OPID_exp, a); }
static inline fidc_value *fm_log(fidc_rewriter *rw, fidc_value *a) { return fidc_rw_op1(rw, FID_OPID_log, a); }
static inline fidc_value *fm_sqrt(fidc_rewriter *rw, fidc_value *a) { return fidc_rw_op1(rw, FID_OPID_sqrt, a); }
static inline fidc_value *fm_less(fidc_rewriter *rw, fidc_value *a, double c) { return fidc_rw_opd(rw, FID_OPID_lt_Scalar, a, c); }
static inline fidc_value *fm_less_equal(fidc_rewriter *rw, fidc_value *a, double c) { return fidc_rw_opd(rw, FID_OPID_le_Scalar, a, c); }
static inline fidc_value *fm_equals_number(fidc_rewriter *rw, fidc_value *a, double c) { return fidc_rw_opd(rw, FID_OPID_eq_Scalar, a, c); }
static inline fidc_value *fm_equals(fidc_rewriter *rw, fidc_value *a, fidc_value *b) { return fidc_rw_op2(rw, FID_OPID_eq_Tensor, a, b); }
static inline fidc_value *fm_number(fidc_rewriter *rw, double c) { return fidc_rw_scalar(rw, FID_FLOAT64, fidc_d(c)); }
static inline fidc_value *fm_clamp(fidc_rewriter *rw, fidc_value *a, double low, double high) {
    return a ? RW(rw, clamp, fidc_v(a), low > -INFINITY ? fidc_d(low) : fidc_none(), high < INFINITY ? fidc_d(high) : fidc_none()) : NULL;
}
static inline fidc_value *fm_power(fidc_rewriter *rw, fidc_value *a, double exponent) {
    return a ? RW(rw, pow_Tensor_Scalar, fidc_v(a), fidc_d(exponent)) : NULL;
}

/* c[0] + c[1] x + ... */
static inline fidc_value *fm_poly(fidc_rewriter *rw, fidc_value *x, const double *c, size_t count) {
    fidc_value *sum = fm_mulc(rw, x, c[count - 1]);
    for (size_t i = count - 1; i-- > 1;) sum = fm_mul(rw, fm_addc(rw, sum, c[i]), x);
    return fm_addc(rw, sum, c[0]);
}

/* Argument i, a tensor or a number, in float64. */
static inline fidc_value *fm_input(fidc_rewriter *rw, uint32_t i) {
    fidc_value *value = fidc_rw_value(rw, i);
    return value ? fidc_rw_cast(rw, value, FID_FLOAT64) : fidc_rw_scalar(rw, FID_FLOAT64, fidc_rw_arg(rw, i));
}

/* The result in the dtype of the node's. */
static inline fid_status fm_become(fidc_rewriter *rw, fidc_value *value) {
    return fidc_rw_become(rw, fidc_rw_cast(rw, value, (fid_dtype)fidc_rw_out(rw)->dtype));
}

#endif
