/* Reference kernels of orthogonal polynomials by their recurrences: value at x of degree n, 0 for a negative degree. */
#include "kernels/ref/elementwise.h"

/* P(0) = 1, P(1) = first, P(k + 1) = (a(k) x + b(k)) P(k) - c(k) P(k - 1), by the family. */
typedef enum family { CHEBYSHEV, HERMITE_PHYSICIST, HERMITE_PROBABILIST, LAGUERRE, LEGENDRE } family;

static double next(family which, double k, double x, double p, double before) {
    switch (which) {
    case HERMITE_PHYSICIST: return 2 * (x * p - k * before);
    case HERMITE_PROBABILIST: return x * p - k * before;
    case LAGUERRE: return ((2 * k + 1 - x) * p - k * before) / (k + 1);
    case LEGENDRE: return ((2 * k + 1) * x * p - k * before) / (k + 1);
    default: return 2 * x * p - before;
    }
}

static double polynomial(family which, double first, double x, double degree) {
    double n = trunc(degree), before = 1, p = first;
    if (!(n >= 0 && n < 9.2e18)) return 0; /* NaN and infinity become a negative degree in PyTorch */
    if (n > 1e6) return NAN; /* data must not decide how long a kernel runs */
    if (n == 0) return 1;
    for (double k = 1; k < n && !isnan(p); k++) {
        double after = next(which, k, x, p, before);
        before = p;
        p = after;
    }
    return p;
}

/* a is x, b the degree; the shifted ones are taken at 2 x - 1. */
#define POLYNOMIAL(name, which, first, at)                                                                             \
    FIDK_FLOAT_BINARY(special_##name, polynomial(which, first, at, b))                                                 \
    FIDK_FLOAT_BINARY(special_##name##_x_scalar, polynomial(which, first, at, b))                                      \
    FIDK_FLOAT_BINARY(special_##name##_n_scalar, polynomial(which, first, at, b))

POLYNOMIAL(chebyshev_polynomial_t, CHEBYSHEV, a, a)
POLYNOMIAL(chebyshev_polynomial_u, CHEBYSHEV, 2 * a, a)
POLYNOMIAL(chebyshev_polynomial_v, CHEBYSHEV, 2 * a - 1, a)
POLYNOMIAL(chebyshev_polynomial_w, CHEBYSHEV, 2 * a + 1, a)
POLYNOMIAL(shifted_chebyshev_polynomial_t, CHEBYSHEV, 2 * a - 1, 2 * a - 1)
POLYNOMIAL(shifted_chebyshev_polynomial_u, CHEBYSHEV, 4 * a - 2, 2 * a - 1)
POLYNOMIAL(shifted_chebyshev_polynomial_v, CHEBYSHEV, 4 * a - 3, 2 * a - 1)
POLYNOMIAL(shifted_chebyshev_polynomial_w, CHEBYSHEV, 4 * a - 1, 2 * a - 1)
POLYNOMIAL(hermite_polynomial_h, HERMITE_PHYSICIST, 2 * a, a)
POLYNOMIAL(hermite_polynomial_he, HERMITE_PROBABILIST, a, a)
POLYNOMIAL(laguerre_polynomial_l, LAGUERRE, 1 - a, a)
POLYNOMIAL(legendre_polynomial_p, LEGENDRE, a, a)
