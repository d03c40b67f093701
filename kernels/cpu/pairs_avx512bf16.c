/* Pairs with AVX512-BF16: 8 rows by 2 panels stay in 16 registers. */
#if defined(__x86_64__)
#include "kernels/cpu/pairs.h"

#include <immintrin.h>

enum { ROWS = 8 };

/* Words stay whole numbers up to the product. */
static inline __attribute__((always_inline)) __m512 dot(__m512 sum, __m512i a, __m512i b) {
    return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}

static inline __attribute__((always_inline)) __m512i spread(const uint16_t *p) {
    int32_t pair;
    memcpy(&pair, p, sizeof pair);
    __m512i all = _mm512_set1_epi32(pair);
    __asm__("" : "+v"(all)); /* clang 16 dies of turning it into 32 values of bfloat16 */
    return all;
}

static inline __attribute__((always_inline)) void eight_rows(const fidk_pair_block *t, size_t row, const int panels) {
    __m512 sum[ROWS][2];
    const uint16_t *a = t->a + row * t->a_stride;
    for (int r = 0; r < ROWS; r++) sum[r][0] = sum[r][1] = _mm512_setzero_ps();
    for (size_t k = 0; k < t->depth; k++) {
        __m512i first = _mm512_loadu_si512(t->b + k * FID_PAIR_COLUMNS), second = first;
        if (panels == 2) second = _mm512_loadu_si512(t->b + t->b_panel + k * FID_PAIR_COLUMNS);
        _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++) {
            __m512i pair = spread(a + (size_t)r * t->a_stride + 2 * k);
            sum[r][0] = dot(sum[r][0], pair, first);
            if (panels == 2) sum[r][1] = dot(sum[r][1], pair, second);
        }
    }
    for (int r = 0; r < ROWS; r++) {
        float *c = t->c + (row + (size_t)r) * FIDK_PAIR_TILE;
        _mm512_storeu_ps(c, sum[r][0]);
        if (panels == 2) _mm512_storeu_ps(c + FID_PANEL, sum[r][1]);
    }
}

static void block(const fidk_pair_block *t) {
    for (size_t row = 0; row < t->rows; row += ROWS) {
        if (t->panels == 2) eight_rows(t, row, 2);
        else eight_rows(t, row, 1);
    }
}

const fidk_pair_tiles fidk_pair_tiles_bf16 = {"avx512_bf16", NULL, NULL, block};
#else
typedef int fidk_no_pairs_avx512bf16; /* an empty translation unit is not C */
#endif
