/* Reference kernels of comparisons and logic: bool outputs. */
#include "kernels/ref/elementwise.h"

static fidk_element equal(const fidk_element *in, fidk_elementwise *e) {
    if (e->form == FIDK_INTEGER) return fidk_int(in[0].i == in[1].i);
    if (e->form == FIDK_REAL) return fidk_int(in[0].d == in[1].d);
    return fidk_int(in[0].c.re == in[1].c.re && in[0].c.im == in[1].c.im);
}

static fidk_element not_equal(const fidk_element *in, fidk_elementwise *e) { return fidk_int(!equal(in, e).i); }

static fid_status compare(fid_call *call, fidk_function *function) {
    fidk_elementwise e = fidk_elementwise_begin(call, fid_result_type(call, 0, 2));
    e.result = FID_BOOL;
    e.takes_complex = function == equal || function == not_equal;
    fidk_operand_add(&e, 0, e.compute);
    fidk_operand_add(&e, 1, e.compute);
    return fidk_elementwise_run(&e, function);
}

static fidk_element less(const fidk_element *in, fidk_elementwise *e) {
    return fidk_int(e->form == FIDK_REAL ? in[0].d < in[1].d : fidk_int_less(e->compute, in[0].i, in[1].i));
}

static fidk_element less_or_equal(const fidk_element *in, fidk_elementwise *e) {
    return fidk_int(e->form == FIDK_REAL ? in[0].d <= in[1].d : !fidk_int_less(e->compute, in[1].i, in[0].i));
}

static fidk_element greater(const fidk_element *in, fidk_elementwise *e) {
    return fidk_int(e->form == FIDK_REAL ? in[0].d > in[1].d : fidk_int_less(e->compute, in[1].i, in[0].i));
}

static fidk_element greater_or_equal(const fidk_element *in, fidk_elementwise *e) {
    return fidk_int(e->form == FIDK_REAL ? in[0].d >= in[1].d : !fidk_int_less(e->compute, in[0].i, in[1].i));
}

#define COMPARISON(id, function)                    \
    FIDK_KERNEL(id##_Tensor, compare(call, function)) \
    FIDK_KERNEL(id##_Scalar, compare(call, function))

COMPARISON(eq, equal)
COMPARISON(ne, not_equal)
COMPARISON(lt, less)
COMPARISON(le, less_or_equal)
COMPARISON(gt, greater)
COMPARISON(ge, greater_or_equal)

/* Each operand counts as true where it is not zero, in its own dtype: no promotion that could round it to zero. */
static fid_status logical(fid_call *call, uint32_t count, fidk_function *function) {
    fidk_elementwise e = fidk_elementwise_begin(call, FID_BOOL);
    for (uint32_t i = 0; i < count; i++) fidk_operand_add(&e, i, FID_BOOL);
    return fidk_elementwise_run(&e, function);
}

static fidk_element both(const fidk_element *in, fidk_elementwise *e) {
    (void)e;
    return fidk_int(in[0].i && in[1].i);
}
static fidk_element either(const fidk_element *in, fidk_elementwise *e) {
    (void)e;
    return fidk_int(in[0].i || in[1].i);
}
static fidk_element one_of(const fidk_element *in, fidk_elementwise *e) {
    (void)e;
    return fidk_int(in[0].i != in[1].i);
}
static fidk_element none(const fidk_element *in, fidk_elementwise *e) {
    (void)e;
    return fidk_int(!in[0].i);
}

FIDK_KERNEL(logical_and, logical(call, 2, both))
FIDK_KERNEL(logical_or, logical(call, 2, either))
FIDK_KERNEL(logical_xor, logical(call, 2, one_of))
FIDK_KERNEL(logical_not, logical(call, 1, none))

/* ---- Classes of floats: false for integers, except isfinite ---- */

static fid_status classify(fid_call *call, fidk_function *function) {
    fidk_elementwise e = fidk_elementwise_begin(call, (fid_dtype)fid_arg_tensor(call, 0)->dtype);
    e.result = FID_BOOL;
    fidk_operand_add(&e, 0, e.compute);
    return fidk_elementwise_run(&e, function);
}

#define FLOAT_CLASS(id, real, integer)                                                                                 \
    static fidk_element value_##id(const fidk_element *in, fidk_elementwise *e) {                                      \
        double x = in[0].d;                                                                                            \
        return fidk_int(e->form == FIDK_INTEGER ? (integer) : (real));                                                 \
    }                                                                                                                  \
    FIDK_KERNEL(id, classify(call, value_##id))

FLOAT_CLASS(isnan, isnan(x), 0)
FLOAT_CLASS(isinf, isinf(x), 0)
FLOAT_CLASS(isposinf, isinf(x) && x > 0, 0)
FLOAT_CLASS(isneginf, isinf(x) && x < 0, 0)
FLOAT_CLASS(isfinite, isfinite(x), 1)
FLOAT_CLASS(signbit, signbit(x), in[0].i < 0 && e->compute != FID_UINT64)
