/* Winograd's algorithm for kernels of 3x3: m x m outputs of a channel from (m + 2) x (m + 2) products instead of 9 m x m.
 *
 * With d the inputs that a tile of outputs sees and g the kernel, out = A' [(G g G') * (B' d B)] A, where * multiplies elements, and
 * the sum over input channels is taken between the brackets. Both sides are polynomials, evaluated at m + 1 points and infinity; the points
 * decide how much rounding is magnified. F(2x2) takes 0, +-1; F(3x3) +-7/16, +-5/4; F(4x4) 0, +-5/8, +-3/2 (the usual 0, +-1, +-2 would be off
 * twice as much). Against sums in double, as multiples of what direct sums in float32 are off, over images and kernels at random, with sums
 * over channels in parts of 32:
 *
 *     channels   16    32    64    128   256
 *     F(2x2)     1.0   0.7   0.6   0.4   0.3
 *     F(3x3)     1.5   1.4   1.0   0.7   0.5
 *     F(4x4)     2.2   2.1   1.7   1.1   0.9
 *
 * The weights G g G' of element (i, j), i down and j across, are position i * (m + 2) + j of packed weights (ops/fused.h). */
#ifndef FID_OPS_WINOGRAD_H
#define FID_OPS_WINOGRAD_H

#include "base/deps.h"

/* Points, exact in float32. */
#define FID_WINOGRAD3_P 0.4375
#define FID_WINOGRAD3_Q 1.25
#define FID_WINOGRAD4_P 0.625
#define FID_WINOGRAD4_Q 1.5

enum { FID_WINOGRAD_LEAST = 2, FID_WINOGRAD_MOST = 4, FID_WINOGRAD_LINE = FID_WINOGRAD_MOST + 2 }; /* m; numbers of a line of the largest tile */

typedef struct fid_winograd {
    double output[FID_WINOGRAD_MOST][FID_WINOGRAD_LINE]; /* A': (m, m + 2) */
    double kernel[FID_WINOGRAD_LINE][3];                 /* G: (m + 2, 3) */
    double input[FID_WINOGRAD_LINE][FID_WINOGRAD_LINE];  /* B': (m + 2, m + 2) */
} fid_winograd;

/* For m = 2, 3 and 4. Rows of G are divided by the product of a point's distances to the others. */
static inline const fid_winograd *fid_winograd_of(int64_t m) {
    static const fid_winograd two = {
        .output = {{1, 1, 1, 0}, {0, 1, -1, 1}},
        .kernel = {{-1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
        .input = {{-1, 0, 1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, -1, 0, 1}},
    };
#define P FID_WINOGRAD3_P
#define Q FID_WINOGRAD3_Q
#define DISTANCES(a, b) (2 * a * (a * a - b * b))
    static const fid_winograd three = {
        .output = {{1, 1, 1, 1, 0}, {P, -P, Q, -Q, 0}, {P * P, P * P, Q * Q, Q * Q, 1}},
        .kernel = {{1 / DISTANCES(P, Q), P / DISTANCES(P, Q), P * P / DISTANCES(P, Q)}, {-1 / DISTANCES(P, Q), P / DISTANCES(P, Q), -P * P / DISTANCES(P, Q)},
                   {1 / DISTANCES(Q, P), Q / DISTANCES(Q, P), Q * Q / DISTANCES(Q, P)}, {-1 / DISTANCES(Q, P), Q / DISTANCES(Q, P), -Q * Q / DISTANCES(Q, P)},
                   {0, 0, 1}},
        .input = {{-P * Q * Q, -Q * Q, P, 1, 0}, {P * Q * Q, -Q * Q, -P, 1, 0}, {-Q * P * P, -P * P, Q, 1, 0}, {Q * P * P, -P * P, -Q, 1, 0},
                  {P * P * Q * Q, 0, -P * P - Q * Q, 0, 1}},
    };
#undef P
#undef Q
#undef DISTANCES
#define P FID_WINOGRAD4_P
#define Q FID_WINOGRAD4_Q
#define DISTANCES(a, b) (2 * a * a * (a * a - b * b))
    static const fid_winograd four = {
        .output = {{1, 1, 1, 1, 1, 0}, {0, P, -P, Q, -Q, 0}, {0, P * P, P * P, Q * Q, Q * Q, 0}, {0, P * P * P, -P * P * P, Q * Q * Q, -Q * Q * Q, 1}},
        .kernel = {{1 / (P * P * Q * Q), 0, 0},
                   {1 / DISTANCES(P, Q), P / DISTANCES(P, Q), P * P / DISTANCES(P, Q)}, {1 / DISTANCES(P, Q), -P / DISTANCES(P, Q), P * P / DISTANCES(P, Q)},
                   {1 / DISTANCES(Q, P), Q / DISTANCES(Q, P), Q * Q / DISTANCES(Q, P)}, {1 / DISTANCES(Q, P), -Q / DISTANCES(Q, P), Q * Q / DISTANCES(Q, P)},
                   {0, 0, 1}},
        .input = {{P * P * Q * Q, 0, -P * P - Q * Q, 0, 1, 0}, {0, -P * Q * Q, -Q * Q, P, 1, 0}, {0, P * Q * Q, -Q * Q, -P, 1, 0},
                  {0, -Q * P * P, -P * P, Q, 1, 0}, {0, Q * P * P, -P * P, -Q, 1, 0}, {0, P * P * Q * Q, 0, -P * P - Q * Q, 0, 1}},
    };
#undef P
#undef Q
#undef DISTANCES
    return m == 2 ? &two : m == 3 ? &three : &four;
}

#endif
