/* The vector vocabulary of the tile bodies (tile_*.h) for AVX-512: 16 floats a vector, masks in mask registers.
 * vec_avx2.h and vec_base.h define the same names; a tile body is compiled once for each. */
#ifndef FID_KERNELS_CPU_VEC_AVX512_H
#define FID_KERNELS_CPU_VEC_AVX512_H

#include <immintrin.h>

#include "base/deps.h"

#define VEC_NAME "avx512"
#define VEC_LANES 16
#define VEC_TABLE fidk_tiles_avx512
#define VEC_FUSED 1 /* vec_fma rounds once */
/* A product tile: 14 rows by 2 vectors fill 28 of 32 registers. A wide tile feeds few rows from many columns. */
#define VEC_GEMM_ROWS 14
#define VEC_GEMM_VECTORS 2
#define VEC_WIDE_ROWS 4
#define VEC_WIDE_VECTORS 4

typedef __m512 vec;
typedef __m512i veci;
typedef __mmask16 vecm;

#define VEC_INLINE static inline __attribute__((always_inline, unused))

/* Lanes below n, n in [0, 16]. */
VEC_INLINE vecm vec_first(size_t n) { return (vecm)((1u << n) - 1u); }
VEC_INLINE vec vec_load(const float *p) { return _mm512_loadu_ps(p); }
VEC_INLINE void vec_store(float *p, vec v) { _mm512_storeu_ps(p, v); }
/* To memory around the caches, where p is aligned to a vector; vec_settle orders it with what follows. */
#define VEC_STREAM 1
VEC_INLINE void vec_stream(float *p, vec v) { _mm512_stream_ps(p, v); }
VEC_INLINE void vec_settle(void) { _mm_sfence(); }
VEC_INLINE vec vec_load_some(const float *p, vecm m) { return _mm512_maskz_loadu_ps(m, p); } /* other lanes 0, not read */
VEC_INLINE void vec_store_some(float *p, vec v, vecm m) { _mm512_mask_storeu_ps(p, m, v); }
VEC_INLINE vec vec_set(float x) { return _mm512_set1_ps(x); }
VEC_INLINE vec vec_add(vec a, vec b) { return _mm512_add_ps(a, b); }
VEC_INLINE vec vec_sub(vec a, vec b) { return _mm512_sub_ps(a, b); }
VEC_INLINE vec vec_mul(vec a, vec b) { return _mm512_mul_ps(a, b); }
VEC_INLINE vec vec_div(vec a, vec b) { return _mm512_div_ps(a, b); }
VEC_INLINE vec vec_sqrt(vec a) { return _mm512_sqrt_ps(a); }
VEC_INLINE vec vec_fma(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }   /* a * b + c */
VEC_INLINE vec vec_fnma(vec a, vec b, vec c) { return _mm512_fnmadd_ps(a, b, c); } /* c - a * b */
/* NaN in either gives b: keep the value that may be NaN second. */
VEC_INLINE vec vec_max(vec a, vec b) { return _mm512_max_ps(a, b); }
VEC_INLINE vec vec_min(vec a, vec b) { return _mm512_min_ps(a, b); }
VEC_INLINE vec vec_abs(vec a) { return _mm512_abs_ps(a); }
VEC_INLINE vec vec_neg(vec a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f)); }
/* magnitude of a, sign of b; a is not negative */
VEC_INLINE vec vec_with_sign(vec a, vec b) { return _mm512_or_ps(a, _mm512_and_ps(b, _mm512_set1_ps(-0.0f))); }
VEC_INLINE vecm vec_less(vec a, vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
VEC_INLINE vecm vec_equal(vec a, vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
VEC_INLINE vecm vec_is_nan(vec a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
VEC_INLINE vec vec_select(vecm m, vec yes, vec no) { return _mm512_mask_blend_ps(m, no, yes); }
VEC_INLINE vec vec_round(vec a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
/* a * 2^n for whole n of any size, rounded once */
VEC_INLINE vec vec_scale2(vec a, vec n) { return _mm512_scalef_ps(a, n); }
/* a = mantissa * 2^exponent with the mantissa in [1, 2), for finite a above 0, subnormal ones too; anything for others */
VEC_INLINE vec vec_exponent(vec a, vec *out_mantissa) {
    *out_mantissa = _mm512_getmant_ps(a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
    return _mm512_getexp_ps(a);
}
VEC_INLINE float vec_sum(vec a) { return _mm512_reduce_add_ps(a); }
VEC_INLINE float vec_largest(vec a) { return _mm512_reduce_max_ps(a); }
/* Turns 16 vectors, the rows of a square, into its columns. */
VEC_INLINE void vec_transpose(vec *r) {
    __m512 pairs[16];
    for (int i = 0; i < 16; i += 2) {
        pairs[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        pairs[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        r[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(pairs[i]), _mm512_castps_pd(pairs[i + 2])));
        r[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(pairs[i]), _mm512_castps_pd(pairs[i + 2])));
        r[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(pairs[i + 1]), _mm512_castps_pd(pairs[i + 3])));
        r[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(pairs[i + 1]), _mm512_castps_pd(pairs[i + 3])));
    }
    /* r[4 * g + c] holds columns c, c + 4, c + 8, c + 12 (one each 128 bits) of rows 4 * g to 4 * g + 3. */
    for (int c = 0; c < 4; c++) {
        __m512 low = _mm512_shuffle_f32x4(r[c], r[4 + c], 0x88), high = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0x88);
        __m512 low_odd = _mm512_shuffle_f32x4(r[c], r[4 + c], 0xdd), high_odd = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0xdd);
        pairs[c] = _mm512_shuffle_f32x4(low, high, 0x88);
        pairs[8 + c] = _mm512_shuffle_f32x4(low, high, 0xdd);
        pairs[4 + c] = _mm512_shuffle_f32x4(low_odd, high_odd, 0x88);
        pairs[12 + c] = _mm512_shuffle_f32x4(low_odd, high_odd, 0xdd);
    }
    for (int i = 0; i < 16; i++) r[i] = pairs[i];
}
/* p[3 * i], p[3 * i + 1], p[3 * i + 2] = a[i], b[i], c[i]: pixels of three planes. */
#define VEC_STORE3 1
VEC_INLINE void vec_store3(float *p, vec a, vec b, vec c) {
    /* For each 16 of the 48: where a (from 0) and b (from 16) come from, then what stays and where c (from 16) comes from. */
    static const int32_t from[6][16] = {
        {0, 16, 0, 1, 17, 0, 2, 18, 0, 3, 19, 0, 4, 20, 0, 5},
        {0, 1, 16, 3, 4, 17, 6, 7, 18, 9, 10, 19, 12, 13, 20, 15},
        {21, 0, 6, 22, 0, 7, 23, 0, 8, 24, 0, 9, 25, 0, 10, 26},
        {0, 21, 2, 3, 22, 5, 6, 23, 8, 9, 24, 11, 12, 25, 14, 15},
        {0, 11, 27, 0, 12, 28, 0, 13, 29, 0, 14, 30, 0, 15, 31, 0},
        {26, 1, 2, 27, 4, 5, 28, 7, 8, 29, 10, 11, 30, 13, 14, 31},
    };
    for (int i = 0; i < 3; i++) {
        __m512 ab = _mm512_permutex2var_ps(a, _mm512_loadu_si512(from[2 * i]), b);
        _mm512_storeu_ps(p + 16 * i, _mm512_permutex2var_ps(ab, _mm512_loadu_si512(from[2 * i + 1]), c));
    }
}
/* 16-bit floats, VEC_LANES of them. */
VEC_INLINE vec vec_load_f16(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p)); }
VEC_INLINE vec vec_load_bf16(const uint16_t *p) {
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}
VEC_INLINE void vec_store_f16(uint16_t *p, vec v) {
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
VEC_INLINE void vec_store_bf16(uint16_t *p, vec v) {
    __m512i bits = _mm512_castps_si512(v), top = _mm512_srli_epi32(bits, 16);
    __m512i even = _mm512_add_epi32(_mm512_set1_epi32(0x7fff), _mm512_and_si512(top, _mm512_set1_epi32(1)));
    __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, even), 16);
    rounded = _mm512_mask_or_epi32(rounded, vec_is_nan(v), top, _mm512_set1_epi32(0x40)); /* a NaN stays one */
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtepi32_epi16(rounded));
}

#endif
