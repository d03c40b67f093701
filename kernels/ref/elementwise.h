/* The one loop of pointwise reference kernels: operands of any dtype and layout, broadcast, converted, computed, stored.
 *
 * An operator gives a function of one element. It sees its operands already converted to the compute dtype (its `form` says which
 * member of an element holds) and returns an element of the result dtype, which the loop converts to the output's. */
#ifndef FID_KERNELS_REF_ELEMENTWISE_H
#define FID_KERNELS_REF_ELEMENTWISE_H

#include "kernels/ref/elements.h"

#define FIDK_OPERANDS 4

typedef struct fidk_operand {
    const fid_tensor *tensor; /* NULL: a number */
    fidk_element number;      /* of dtype `as` */
    fid_dtype as;             /* what the function wants it as */
} fidk_operand;

typedef struct fidk_elementwise {
    fid_call *call;
    fid_dtype compute, result;
    fidk_form form;            /* of the compute dtype */
    fidk_operand operands[FIDK_OPERANDS];
    size_t count;
    fidk_element extra[3];     /* whatever the operator's function needs besides: bounds, factors */
    bool flag;                 /* the same */
    bool takes_complex;        /* the function knows complex operands; others are refused */
    const char *failure;       /* the function sets it when data does not allow a result: ends the loop */
} fidk_elementwise;

typedef fidk_element fidk_function(const fidk_element *in, fidk_elementwise *e);

/* Starts with compute and result dtype equal. */
fidk_elementwise fidk_elementwise_begin(fid_call *call, fid_dtype compute);
/* Adds argument `i`, a tensor or a number, converted to `as` for the function. */
void fidk_operand_add(fidk_elementwise *e, uint32_t i, fid_dtype as);
/* Computes output 0. */
fid_status fidk_elementwise_run(fidk_elementwise *e, fidk_function *function);

/* The usual calls. */
fid_status fidk_unary(fid_call *call, fidk_function *function);       /* dtype of argument 0 in and out */
fid_status fidk_unary_complex(fid_call *call, fidk_function *function); /* complex numbers as well */
fid_status fidk_unary_float(fid_call *call, fidk_function *function); /* integers become float32 first */
fid_status fidk_binary(fid_call *call, fidk_function *function);      /* arguments 0 and 1 in their promoted dtype */
fid_status fidk_binary_float(fid_call *call, fidk_function *function);

/* FID_INVALID_TYPE with a sentence: the operator does not know complex numbers. */
fid_status fidk_refuse_complex(const fid_call *call);

/* The dtype in which PyTorch computes with a dtype: float32 for the narrow floats, else itself. */
fid_dtype fidk_wide(fid_dtype dtype);

/* Wrapping int64 arithmetic. */
static inline int64_t fidk_wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int64_t fidk_wrap_sub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static inline int64_t fidk_wrap_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

/* NaN of either operand wins, as in torch.maximum. */
static inline double fidk_max(double a, double b) { return a > b || isnan(a) ? a : b; }
static inline double fidk_min(double a, double b) { return a < b || isnan(a) ? a : b; }
/* -1 as PyTorch compares a tensor of the dtype with it: the largest number of unsigned ones. */
static inline double fidk_minus_one(fid_dtype dtype) {
    fidk_element one = fidk_convert(fidk_int(-1), FID_INT64, dtype);
    return fidk_form_of(dtype) == FIDK_INTEGER ? (double)one.i : one.d;
}
/* a < b for integers of a dtype: uint64 compares without sign. */
static inline bool fidk_int_less(fid_dtype dtype, int64_t a, int64_t b) {
    return dtype == FID_UINT64 ? (uint64_t)a < (uint64_t)b : a < b;
}

/* Defines fid_ref_ID by a function that runs it. */
#define FIDK_KERNEL(id, call_expression)                                                                               \
    static fid_status run_##id(fid_call *call) { return call_expression; }                                             \
    const fid_kernel fid_ref_##id = {.run = run_##id};

/* Defines fid_ref_ID, a float function of one operand x or of two, a and b, given as an expression. */
#define FIDK_FLOAT_UNARY(id, expression)                                                                               \
    static fidk_element value_##id(const fidk_element *in, fidk_elementwise *e) {                                      \
        double x = in[0].d;                                                                                            \
        (void)e;                                                                                                       \
        return fidk_real(expression);                                                                                  \
    }                                                                                                                  \
    FIDK_KERNEL(id, fidk_unary_float(call, value_##id))

#define FIDK_FLOAT_BINARY(id, expression)                                                                              \
    static fidk_element value_##id(const fidk_element *in, fidk_elementwise *e) {                                      \
        double a = in[0].d, b = in[1].d;                                                                               \
        (void)e;                                                                                                       \
        return fidk_real(expression);                                                                                  \
    }                                                                                                                  \
    FIDK_KERNEL(id, fidk_binary_float(call, value_##id))

#endif
