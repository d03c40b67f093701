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

/* log(z + sqrt(z z + 1)), from the side where the two do not cancel. */
fid_complex128 fidk_complex_asinh(fid_complex128 z) {
    if (signbit(z.re)) {
        z = fidk_complex_asinh(fidk_complex(-z.re, -z.im));
        return fidk_complex(-z.re, -z.im);
    }
    /* sqrt(1 + i z) sqrt(1 - i z) has its cuts where asinh has them */
    fid_complex128 root = fidk_complex_mul(fidk_complex_sqrt(fidk_complex(1 - z.im, z.re)), fidk_complex_sqrt(fidk_complex(1 + z.im, -z.re)));
    return fidk_complex_log(fidk_complex(z.re + root.re, z.im + root.im));
}

fid_complex128 fidk_complex_acos(fid_complex128 z) {
    fid_complex128 sine = fidk_complex_turn_back(fidk_complex_asinh(fidk_complex_turn(z)));
    return fidk_complex(1.57079632679489661923 - sine.re, -sine.im);
}

/* log(z + sqrt(z + 1) sqrt(z - 1)) */
fid_complex128 fidk_complex_acosh(fid_complex128 z) {
    fid_complex128 root = fidk_complex_mul(fidk_complex_sqrt(fidk_complex(z.re + 1, z.im)), fidk_complex_sqrt(fidk_complex(z.re - 1, z.im)));
    return fidk_complex_log(fidk_complex(z.re + root.re, z.im + root.im));
}

/* (log(1 + z) - log(1 - z)) / 2 */
fid_complex128 fidk_complex_atanh(fid_complex128 z) {
    fid_complex128 above = fidk_complex_log(fidk_complex(1 + z.re, z.im)), below = fidk_complex_log(fidk_complex(1 - z.re, -z.im));
    return fidk_complex((above.re - below.re) / 2, (above.im - below.im) / 2);
}

fid_complex128 fidk_complex_log_add(fid_complex128 a, fid_complex128 b) {
    fid_complex128 high = a.re > b.re || isnan(a.re) ? a : b, low = a.re > b.re || isnan(a.re) ? b : a;
    if (isinf(high.re) && high.re < 0) return high;
    fid_complex128 power = fidk_complex_exp(fidk_complex(low.re - high.re, low.im - high.im)), change = fidk_complex_log(fidk_complex(1 + power.re, power.im));
    return fidk_complex(high.re + change.re, high.im + change.im);
}
