/* The vector vocabulary of the tile bodies for SSE4.1, x86 before AVX2: 4 floats a vector, 16 registers, no fused multiply-add; see
 * vec_avx512.h. */
#ifndef FID_KERNELS_CPU_VEC_SSE4_H
#define FID_KERNELS_CPU_VEC_SSE4_H

#include <immintrin.h>

#include "base/deps.h"

#define VEC_NAME "sse4"
#define VEC_LANES 4
#define VEC_TABLE fidk_tiles_sse4
#define VEC_FUSED 0
#define VEC_GEMM_ROWS 2
#define VEC_GEMM_VECTORS 4
#define VEC_WIDE_ROWS 1
#define VEC_WIDE_VECTORS 8

typedef __m128 vec;
typedef __m128i veci;
typedef __m128i vecm; /* lanes 0 or all ones */

#define VEC_INLINE static inline __attribute__((always_inline, unused))

VEC_INLINE vecm vec_first(size_t n) { return _mm_cmpgt_epi32(_mm_set1_epi32((int)n), _mm_setr_epi32(0, 1, 2, 3)); }
VEC_INLINE vec vec_load(const float *p) { return _mm_loadu_ps(p); }
VEC_INLINE void vec_store(float *p, vec v) { _mm_storeu_ps(p, v); }
/* Masks of loads and stores are the lanes below some n (vec_first); nothing beyond them is touched. Fewer than 4 lanes are rare
 * enough for a call, which keeps the tiles small. */
static __attribute__((noinline, unused)) vec vec_load_few_(const float *p, vecm m) {
    int lanes = _mm_movemask_ps(_mm_castsi128_ps(m));
    if (!lanes) return _mm_setzero_ps();
    return _mm_setr_ps(p[0], lanes & 2 ? p[1] : 0, lanes & 4 ? p[2] : 0, 0);
}
static __attribute__((noinline, unused)) void vec_store_few_(float *p, vec v, vecm m) {
    int lanes = _mm_movemask_ps(_mm_castsi128_ps(m));
    if (lanes & 1) _mm_store_ss(p, v);
    if (lanes & 2) _mm_store_ss(p + 1, _mm_movehdup_ps(v));
    if (lanes & 4) _mm_store_ss(p + 2, _mm_movehl_ps(v, v));
}
/* To memory around the caches, where p is aligned to a vector; vec_settle orders it with what follows. */
#define VEC_STREAM 1
VEC_INLINE void vec_stream(float *p, vec v) { _mm_stream_ps(p, v); }
VEC_INLINE void vec_settle(void) { _mm_sfence(); }
VEC_INLINE vec vec_load_some(const float *p, vecm m) { return _mm_extract_epi32(m, 3) ? _mm_loadu_ps(p) : vec_load_few_(p, m); }
VEC_INLINE void vec_store_some(float *p, vec v, vecm m) {
    if (_mm_extract_epi32(m, 3)) _mm_storeu_ps(p, v);
    else vec_store_few_(p, v, m);
}
VEC_INLINE vec vec_set(float x) { return _mm_set1_ps(x); }
VEC_INLINE vec vec_add(vec a, vec b) { return _mm_add_ps(a, b); }
VEC_INLINE vec vec_sub(vec a, vec b) { return _mm_sub_ps(a, b); }
VEC_INLINE vec vec_mul(vec a, vec b) { return _mm_mul_ps(a, b); }
VEC_INLINE vec vec_div(vec a, vec b) { return _mm_div_ps(a, b); }
VEC_INLINE vec vec_sqrt(vec a) { return _mm_sqrt_ps(a); }
VEC_INLINE vec vec_fma(vec a, vec b, vec c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
VEC_INLINE vec vec_fnma(vec a, vec b, vec c) { return _mm_sub_ps(c, _mm_mul_ps(a, b)); }
VEC_INLINE vec vec_max(vec a, vec b) { return _mm_max_ps(a, b); }
VEC_INLINE vec vec_min(vec a, vec b) { return _mm_min_ps(a, b); }
VEC_INLINE vec vec_abs(vec a) { return _mm_andnot_ps(_mm_set1_ps(-0.0f), a); }
VEC_INLINE vec vec_neg(vec a) { return _mm_xor_ps(a, _mm_set1_ps(-0.0f)); }
VEC_INLINE vec vec_with_sign(vec a, vec b) { return _mm_or_ps(a, _mm_and_ps(b, _mm_set1_ps(-0.0f))); }
VEC_INLINE vecm vec_less(vec a, vec b) { return _mm_castps_si128(_mm_cmplt_ps(a, b)); }
VEC_INLINE vecm vec_equal(vec a, vec b) { return _mm_castps_si128(_mm_cmpeq_ps(a, b)); }
VEC_INLINE vecm vec_is_nan(vec a) { return _mm_castps_si128(_mm_cmpunord_ps(a, a)); }
VEC_INLINE vec vec_select(vecm m, vec yes, vec no) { return _mm_blendv_ps(no, yes, _mm_castsi128_ps(m)); }
VEC_INLINE vec vec_round(vec a) { return _mm_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
/* 2^n for n in [-126, 127] */
VEC_INLINE vec vec_power2_(veci n) { return _mm_castsi128_ps(_mm_slli_epi32(_mm_add_epi32(n, _mm_set1_epi32(127)), 23)); }
VEC_INLINE vec vec_scale2(vec a, vec n) {
    /* Two factors, so that results below the normal range come out right. */
    n = _mm_min_ps(_mm_set1_ps(252.0f), _mm_max_ps(_mm_set1_ps(-252.0f), n));
    veci whole = _mm_cvtps_epi32(n), half = _mm_srai_epi32(whole, 1);
    return _mm_mul_ps(_mm_mul_ps(a, vec_power2_(half)), vec_power2_(_mm_sub_epi32(whole, half)));
}
VEC_INLINE vec vec_exponent(vec a, vec *out_mantissa) {
    vecm tiny = vec_less(a, vec_set(0x1p-126f));
    veci bits = _mm_castps_si128(vec_select(tiny, vec_mul(a, vec_set(0x1p24f)), a));
    *out_mantissa = _mm_castsi128_ps(_mm_or_si128(_mm_and_si128(bits, _mm_set1_epi32(0x7fffff)), _mm_set1_epi32(0x3f800000)));
    vec exponent = _mm_cvtepi32_ps(_mm_sub_epi32(_mm_srli_epi32(bits, 23), _mm_set1_epi32(127)));
    return vec_select(tiny, vec_sub(exponent, vec_set(24.0f)), exponent);
}
VEC_INLINE float vec_sum(vec a) {
    a = _mm_add_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_add_ss(a, _mm_movehdup_ps(a)));
}
VEC_INLINE float vec_largest(vec a) {
    a = _mm_max_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_max_ss(a, _mm_movehdup_ps(a)));
}
/* Turns 4 vectors, the rows of a square, into its columns. */
VEC_INLINE void vec_transpose(vec *r) { _MM_TRANSPOSE4_PS(r[0], r[1], r[2], r[3]); }

#include "kernels/cpu/vec_half.h"

#endif
