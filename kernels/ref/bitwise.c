/* Reference kernels of bit operations and shifts on integers and bool. */
#include "kernels/ref/elementwise.h"

#define BITS(name, expression)                                                                                         \
    static fidk_element name##_of(const fidk_element *in, fidk_elementwise *e) {                                       \
        (void)e;                                                                                                       \
        return fidk_int(expression);                                                                                   \
    }                                                                                                                  \
    FIDK_KERNEL(bitwise_##name##_Tensor, fidk_binary(call, name##_of))                                                 \
    FIDK_KERNEL(bitwise_##name##_Scalar, fidk_binary(call, name##_of))                                                 \
    FIDK_KERNEL(bitwise_##name##_Scalar_Tensor, fidk_binary(call, name##_of))

BITS(and, in[0].i & in[1].i)
BITS(or, in[0].i | in[1].i)
BITS(xor, in[0].i ^ in[1].i)

static fidk_element inverted(const fidk_element *in, fidk_elementwise *e) {
    return fidk_int(e->compute == FID_BOOL ? !in[0].i : ~in[0].i);
}

FIDK_KERNEL(bitwise_not, fidk_unary(call, inverted))

static bool is_signed(fid_dtype dtype) {
    return dtype == FID_INT8 || dtype == FID_INT16 || dtype == FID_INT32 || dtype == FID_INT64;
}

/* A count that is negative or not below the width shifts every bit out. */
static bool shifts_all_out(const fidk_elementwise *e, int64_t count) {
    return (uint64_t)count >= 8 * fid_dtype_size(e->compute);
}

static fidk_element shifted_left(const fidk_element *in, fidk_elementwise *e) {
    return fidk_int(shifts_all_out(e, in[1].i) ? 0 : (int64_t)((uint64_t)in[0].i << in[1].i));
}

static fidk_element shifted_right(const fidk_element *in, fidk_elementwise *e) {
    bool negative = is_signed(e->compute) && in[0].i < 0;
    if (shifts_all_out(e, in[1].i)) return fidk_int(negative ? -1 : 0);
    uint64_t bits = negative ? ~(uint64_t)in[0].i : (uint64_t)in[0].i; /* >> of a negative number is not portable C */
    bits >>= in[1].i;
    return fidk_int((int64_t)(negative ? ~bits : bits));
}

FIDK_KERNEL(bitwise_left_shift_Tensor, fidk_binary(call, shifted_left))
FIDK_KERNEL(bitwise_left_shift_Tensor_Scalar, fidk_binary(call, shifted_left))
FIDK_KERNEL(bitwise_left_shift_Scalar_Tensor, fidk_binary(call, shifted_left))
FIDK_KERNEL(bitwise_right_shift_Tensor, fidk_binary(call, shifted_right))
FIDK_KERNEL(bitwise_right_shift_Tensor_Scalar, fidk_binary(call, shifted_right))
FIDK_KERNEL(bitwise_right_shift_Scalar_Tensor, fidk_binary(call, shifted_right))
