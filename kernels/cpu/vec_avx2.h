/* The vector vocabulary of the tile bodies for AVX2 with FMA: 8 floats a vector; see vec_avx512.h. */
#ifndef FID_KERNELS_CPU_VEC_AVX2_H
#define FID_KERNELS_CPU_VEC_AVX2_H

#include <immintrin.h>

#include "base/deps.h"

#define VEC_NAME "avx2"
#define VEC_LANES 8
#define VEC_TABLE fidk_tiles_avx2
#define VEC_FUSED 1 /* vec_fma rounds once */
#define VEC_GEMM_ROWS 6
#define VEC_GEMM_VECTORS 2
#define VEC_WIDE_ROWS 2
#define VEC_WIDE_VECTORS 4

typedef __m256 vec;
typedef __m256i veci;
typedef __m256i vecm;

#define VEC_INLINE static inline __attribute__((always_inline, unused))

VEC_INLINE vecm vec_first(size_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
VEC_INLINE vec vec_load(const float *p) { return _mm256_loadu_ps(p); }
VEC_INLINE void vec_store(float *p, vec v) { _mm256_storeu_ps(p, v); }
/* To memory around the caches, where p is aligned to a vector; vec_settle orders it with what follows. */
#define VEC_STREAM 1
VEC_INLINE void vec_stream(float *p, vec v) { _mm256_stream_ps(p, v); }
VEC_INLINE void vec_settle(void) { _mm_sfence(); }
VEC_INLINE vec vec_load_some(const float *p, vecm m) { return _mm256_maskload_ps(p, m); }
VEC_INLINE void vec_store_some(float *p, vec v, vecm m) { _mm256_maskstore_ps(p, m, v); }
VEC_INLINE vec vec_set(float x) { return _mm256_set1_ps(x); }
VEC_INLINE vec vec_add(vec a, vec b) { return _mm256_add_ps(a, b); }
VEC_INLINE vec vec_sub(vec a, vec b) { return _mm256_sub_ps(a, b); }
VEC_INLINE vec vec_mul(vec a, vec b) { return _mm256_mul_ps(a, b); }
VEC_INLINE vec vec_div(vec a, vec b) { return _mm256_div_ps(a, b); }
VEC_INLINE vec vec_sqrt(vec a) { return _mm256_sqrt_ps(a); }
VEC_INLINE vec vec_fma(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
VEC_INLINE vec vec_fnma(vec a, vec b, vec c) { return _mm256_fnmadd_ps(a, b, c); }
VEC_INLINE vec vec_max(vec a, vec b) { return _mm256_max_ps(a, b); }
VEC_INLINE vec vec_min(vec a, vec b) { return _mm256_min_ps(a, b); }
VEC_INLINE vec vec_abs(vec a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
VEC_INLINE vec vec_neg(vec a) { return _mm256_xor_ps(a, _mm256_set1_ps(-0.0f)); }
VEC_INLINE vec vec_with_sign(vec a, vec b) { return _mm256_or_ps(a, _mm256_and_ps(b, _mm256_set1_ps(-0.0f))); }
VEC_INLINE vecm vec_less(vec a, vec b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LT_OQ)); }
VEC_INLINE vecm vec_equal(vec a, vec b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_EQ_OQ)); }
VEC_INLINE vecm vec_is_nan(vec a) { return _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q)); }
VEC_INLINE vec vec_select(vecm m, vec yes, vec no) { return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(m)); }
VEC_INLINE vec vec_round(vec a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
/* 2^n for n in [-126, 127] */
VEC_INLINE vec vec_power2_(__m256i n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}
VEC_INLINE vec vec_scale2(vec a, vec n) {
    /* Two factors, so that results below the normal range come out right. */
    n = _mm256_min_ps(_mm256_set1_ps(252.0f), _mm256_max_ps(_mm256_set1_ps(-252.0f), n));
    __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
    return _mm256_mul_ps(_mm256_mul_ps(a, vec_power2_(half)), vec_power2_(_mm256_sub_epi32(whole, half)));
}
VEC_INLINE vec vec_exponent(vec a, vec *out_mantissa) {
    __m256 tiny = _mm256_cmp_ps(a, _mm256_set1_ps(0x1p-126f), _CMP_LT_OQ);
    a = _mm256_blendv_ps(a, _mm256_mul_ps(a, _mm256_set1_ps(0x1p24f)), tiny);
    __m256i bits = _mm256_castps_si256(a), one = _mm256_castps_si256(_mm256_set1_ps(1.0f));
    *out_mantissa = _mm256_castsi256_ps(_mm256_or_si256(_mm256_and_si256(bits, _mm256_set1_epi32(0x7fffff)), one));
    vec exponent = _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_srli_epi32(bits, 23), _mm256_set1_epi32(127)));
    return _mm256_sub_ps(exponent, _mm256_and_ps(tiny, _mm256_set1_ps(24.0f)));
}
VEC_INLINE __m128 vec_fold_(vec a, bool largest) {
    __m128 low = _mm256_castps256_ps128(a), high = _mm256_extractf128_ps(a, 1);
    return largest ? _mm_max_ps(low, high) : _mm_add_ps(low, high);
}
VEC_INLINE float vec_sum(vec a) {
    __m128 x = vec_fold_(a, false);
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
VEC_INLINE float vec_largest(vec a) {
    __m128 x = vec_fold_(a, true);
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}
/* Turns 8 vectors, the rows of a square, into its columns. */
VEC_INLINE void vec_transpose(vec *r) {
    __m256 pairs[8], quads[8];
    for (int i = 0; i < 8; i += 2) {
        pairs[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        pairs[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        quads[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
        quads[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
        quads[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
        quads[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
    }
    for (int c = 0; c < 4; c++) {
        r[c] = _mm256_permute2f128_ps(quads[c], quads[4 + c], 0x20);
        r[4 + c] = _mm256_permute2f128_ps(quads[c], quads[4 + c], 0x31);
    }
}
/* 16-bit floats, VEC_LANES of them. */
VEC_INLINE vec vec_load_f16(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p)); }
VEC_INLINE vec vec_load_bf16(const uint16_t *p) {
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
VEC_INLINE void vec_store_f16(uint16_t *p, vec v) {
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
VEC_INLINE void vec_store_bf16(uint16_t *p, vec v) {
    __m256i bits = _mm256_castps_si256(v), top = _mm256_srli_epi32(bits, 16);
    __m256i even = _mm256_add_epi32(_mm256_set1_epi32(0x7fff), _mm256_and_si256(top, _mm256_set1_epi32(1)));
    __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, even), 16);
    rounded = _mm256_blendv_epi8(rounded, _mm256_or_si256(top, _mm256_set1_epi32(0x40)), vec_is_nan(v)); /* a NaN stays one */
    __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(rounded, rounded), 0x08);
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_castsi256_si128(packed));
}

#endif
