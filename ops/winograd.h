/* Winograd's algorithm for kernels of 3x3: m x m outputs of a channel from (m + 2) x (m + 2) products instead of 9 m x m.
 *
 * With d the inputs that a tile of outputs sees and g the kernel, out = A' [(G g G') * (B' d B)] A, where * multiplies elements, and
 * the sum over input channels is taken between the brackets. Both sides are polynomials, evaluated at m + 1 points and infinity. Points
 * decide how much rounding is magnified: against sums in double over 64 to 512 channels, F(4x4) with 0, +-3/4, +-3/2 is off by 1.9 times
 * what direct sums in float32 are, with the usual 0, +-1, +-2 by 4.5 times; F(2x2) with 0, +-1 by 0.7 times, for its sums are shorter.
 *
 * The weights G g G' of element (i, j), i down and j across, are position i * (m + 2) + j of packed weights (ops/fused.h). */
#ifndef FID_OPS_WINOGRAD_H
#define FID_OPS_WINOGRAD_H

#include "base/deps.h"

#define FID_WINOGRAD_P 0.75 /* points of F(4x4): 0, P, -P, Q, -Q, infinity */
#define FID_WINOGRAD_Q 1.5

enum { FID_WINOGRAD_MOST = 6 }; /* rows of the largest tile */

typedef struct fid_winograd {
    double output[4][6]; /* A': (m, m + 2) */
    double kernel[6][3]; /* G: (m + 2, 3) */
    double input[6][6];  /* B': (m + 2, m + 2) */
} fid_winograd;

/* For m = 2 and m = 4. */
static inline const fid_winograd *fid_winograd_of(int64_t m) {
#define P FID_WINOGRAD_P
#define Q FID_WINOGRAD_Q
#define NP (2 * P * P * (P * P - Q * Q)) /* product of a point's distances to the others */
#define NQ (2 * Q * Q * (Q * Q - P * P))
    static const fid_winograd two = {
        .output = {{1, 1, 1, 0}, {0, 1, -1, 1}},
        .kernel = {{-1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
        .input = {{-1, 0, 1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, -1, 0, 1}},
    };
    static const fid_winograd four = {
        .output = {{1, 1, 1, 1, 1, 0}, {0, P, -P, Q, -Q, 0}, {0, P * P, P * P, Q * Q, Q * Q, 0}, {0, P * P * P, -P * P * P, Q * Q * Q, -Q * Q * Q, 1}},
        .kernel = {{1 / (P * P * Q * Q), 0, 0}, {1 / NP, P / NP, P * P / NP}, {1 / NP, -P / NP, P * P / NP},
                   {1 / NQ, Q / NQ, Q * Q / NQ}, {1 / NQ, -Q / NQ, Q * Q / NQ}, {0, 0, 1}},
        .input = {{P * P * Q * Q, 0, -P * P - Q * Q, 0, 1, 0}, {0, -P * Q * Q, -Q * Q, P, 1, 0}, {0, P * Q * Q, -Q * Q, -P, 1, 0},
                  {0, -Q * P * P, -P * P, Q, 1, 0}, {0, Q * P * P, -P * P, -Q, 1, 0}, {0, P * P * Q * Q, 0, -P * P - Q * Q, 0, 1}},
    };
    return m == 2 ? &two : &four;
#undef P
#undef Q
#undef NP
#undef NQ
}

#endif
