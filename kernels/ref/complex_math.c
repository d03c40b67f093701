/* Elementary functions of complex numbers. */
#include "kernels/ref/complex_math.h"

fid_complex128 fidk_complex_exp(fid_complex128 z) {
    double size = exp(z.re);
    return z.im == 0 ? fidk_complex(size, 0) : fidk_complex(size * cos(z.im), size * sin(z.im));
}

fid_complex128 fidk_complex_log(fid_complex128 z) { return fidk_complex(log(hypot(z.re, z.im)), atan2(z.im, z.re)); }

fid_complex128 fidk_complex_sqrt(fid_complex128 z) {
    double size = hypot(z.re, z.im), far = sqrt((size + fabs(z.re)) / 2), near = far == 0 ? 0 : fabs(z.im) / (2 * far);
    return z.re >= 0 ? fidk_complex(far, copysign(near, z.im)) : fidk_complex(near, copysign(far, z.im));
}

fid_complex128 fidk_complex_mul(fid_complex128 a, fid_complex128 b) {
    return fidk_complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}

fid_complex128 fidk_complex_div(fid_complex128 a, fid_complex128 b) {
    double norm = b.re * b.re + b.im * b.im;
    return fidk_complex((a.re * b.re + a.im * b.im) / norm, (a.im * b.re - a.re * b.im) / norm);
}

fid_complex128 fidk_complex_pow(fid_complex128 base, fid_complex128 exponent) {
    if (base.re == 0 && base.im == 0) return exponent.re == 0 && exponent.im == 0 ? fidk_complex(1, 0) : fidk_complex(0, 0);
    return fidk_complex_exp(fidk_complex_mul(exponent, fidk_complex_log(base)));
}

fid_complex128 fidk_complex_sinh(fid_complex128 z) { return fidk_complex(sinh(z.re) * cos(z.im), cosh(z.re) * sin(z.im)); }
fid_complex128 fidk_complex_cosh(fid_complex128 z) { return fidk_complex(cosh(z.re) * cos(z.im), sinh(z.re) * sin(z.im)); }

/* Far out the hyperbolic functions overflow, where the quotient is one but for what rounding hides. */
fid_complex128 fidk_complex_tanh(fid_complex128 z) {
    if (fabs(z.re) > 300) return fidk_complex(copysign(1, z.re), copysign(0, sin(2 * z.im)));
    double divisor = cosh(2 * z.re) + cos(2 * z.im);
    return fidk_complex(sinh(2 * z.re) / divisor, sin(2 * z.im) / divisor);
}
