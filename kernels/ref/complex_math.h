/* Elementary functions of complex numbers, principal values. */
#ifndef FID_KERNELS_REF_COMPLEX_MATH_H
#define FID_KERNELS_REF_COMPLEX_MATH_H

#include "base/dtype.h"

fid_complex128 fidk_complex_exp(fid_complex128 z);
fid_complex128 fidk_complex_log(fid_complex128 z);
fid_complex128 fidk_complex_sqrt(fid_complex128 z);
fid_complex128 fidk_complex_pow(fid_complex128 base, fid_complex128 exponent);
fid_complex128 fidk_complex_mul(fid_complex128 a, fid_complex128 b);
fid_complex128 fidk_complex_div(fid_complex128 a, fid_complex128 b);
fid_complex128 fidk_complex_sinh(fid_complex128 z);
fid_complex128 fidk_complex_cosh(fid_complex128 z);
fid_complex128 fidk_complex_tanh(fid_complex128 z);
/* log(exp(a) + exp(b)); the imaginary part is that of the operand with the larger real part, changed by what the other adds. */
fid_complex128 fidk_complex_log_add(fid_complex128 a, fid_complex128 b);
fid_complex128 fidk_complex_asinh(fid_complex128 z);
fid_complex128 fidk_complex_acos(fid_complex128 z);
fid_complex128 fidk_complex_acosh(fid_complex128 z);
fid_complex128 fidk_complex_atanh(fid_complex128 z);

static inline fid_complex128 fidk_complex(double re, double im) { return (fid_complex128){re, im}; }
/* i z and -i z: sines are hyperbolic sines turned. */
static inline fid_complex128 fidk_complex_turn(fid_complex128 z) { return fidk_complex(-z.im, z.re); }
static inline fid_complex128 fidk_complex_turn_back(fid_complex128 z) { return fidk_complex(z.im, -z.re); }

#endif
