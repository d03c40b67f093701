/* The vector vocabulary of the tile bodies for 64-bit Arm: 4 floats a vector, 32 registers, fused multiply-add and float16
 * conversions in the baseline; see vec_avx512.h. */
#ifndef FID_KERNELS_CPU_VEC_NEON_H
#define FID_KERNELS_CPU_VEC_NEON_H

#include <arm_neon.h>

#include "base/deps.h"

#define VEC_NAME "neon"
#define VEC_LANES 4
#define VEC_TABLE fidk_tiles_neon
#define VEC_FUSED 1
/* 6 rows by 4 vectors are 24 sums; 4 vectors of b and the broadcasts take the rest of 32 registers. */
#define VEC_GEMM_ROWS 6
#define VEC_GEMM_VECTORS 4
#define VEC_WIDE_ROWS 2
#define VEC_WIDE_VECTORS 8

typedef float32x4_t vec;
typedef int32x4_t veci;
typedef uint32x4_t vecm; /* lanes 0 or all ones */

#define VEC_INLINE static inline __attribute__((always_inline, unused))

VEC_INLINE vecm vec_first(size_t n) {
    const uint32x4_t lane = {0, 1, 2, 3};
    return vcltq_u32(lane, vdupq_n_u32((uint32_t)n));
}
VEC_INLINE vec vec_load(const float *p) { return vld1q_f32(p); }
VEC_INLINE void vec_store(float *p, vec v) { vst1q_f32(p, v); }
/* Masks of loads and stores are the lanes below some n (vec_first); nothing beyond them is touched. Fewer than 4 lanes are rare
 * enough for a call, which keeps the tiles small. */
static __attribute__((noinline, unused)) vec vec_load_few_(const float *p, vecm m) {
    vec v = vdupq_n_f32(0);
    if (vgetq_lane_u32(m, 0)) v = vld1q_lane_f32(p, v, 0);
    if (vgetq_lane_u32(m, 1)) v = vld1q_lane_f32(p + 1, v, 1);
    if (vgetq_lane_u32(m, 2)) v = vld1q_lane_f32(p + 2, v, 2);
    return v;
}
static __attribute__((noinline, unused)) void vec_store_few_(float *p, vec v, vecm m) {
    if (vgetq_lane_u32(m, 0)) vst1q_lane_f32(p, v, 0);
    if (vgetq_lane_u32(m, 1)) vst1q_lane_f32(p + 1, v, 1);
    if (vgetq_lane_u32(m, 2)) vst1q_lane_f32(p + 2, v, 2);
}
VEC_INLINE vec vec_load_some(const float *p, vecm m) { return vgetq_lane_u32(m, 3) ? vld1q_f32(p) : vec_load_few_(p, m); }
VEC_INLINE void vec_store_some(float *p, vec v, vecm m) {
    if (vgetq_lane_u32(m, 3)) vst1q_f32(p, v);
    else vec_store_few_(p, v, m);
}
VEC_INLINE vec vec_set(float x) { return vdupq_n_f32(x); }
VEC_INLINE vec vec_add(vec a, vec b) { return vaddq_f32(a, b); }
VEC_INLINE vec vec_sub(vec a, vec b) { return vsubq_f32(a, b); }
VEC_INLINE vec vec_mul(vec a, vec b) { return vmulq_f32(a, b); }
VEC_INLINE vec vec_div(vec a, vec b) { return vdivq_f32(a, b); }
VEC_INLINE vec vec_sqrt(vec a) { return vsqrtq_f32(a); }
VEC_INLINE vec vec_fma(vec a, vec b, vec c) { return vfmaq_f32(c, a, b); }
VEC_INLINE vec vec_fnma(vec a, vec b, vec c) { return vfmsq_f32(c, a, b); }
/* vmaxq_f32 would give NaN for one in either; the vocabulary promises b. */
VEC_INLINE vec vec_max(vec a, vec b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
VEC_INLINE vec vec_min(vec a, vec b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
VEC_INLINE vec vec_abs(vec a) { return vabsq_f32(a); }
VEC_INLINE vec vec_neg(vec a) { return vnegq_f32(a); }
VEC_INLINE vec vec_with_sign(vec a, vec b) { return vbslq_f32(vdupq_n_u32(0x80000000u), b, a); }
VEC_INLINE vecm vec_less(vec a, vec b) { return vcltq_f32(a, b); }
VEC_INLINE vecm vec_equal(vec a, vec b) { return vceqq_f32(a, b); }
VEC_INLINE vecm vec_is_nan(vec a) { return vmvnq_u32(vceqq_f32(a, a)); }
VEC_INLINE vec vec_select(vecm m, vec yes, vec no) { return vbslq_f32(m, yes, no); }
VEC_INLINE vec vec_round(vec a) { return vrndnq_f32(a); }
/* 2^n for n in [-126, 127] */
VEC_INLINE vec vec_power2_(veci n) { return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23)); }
VEC_INLINE vec vec_scale2(vec a, vec n) {
    /* Two factors, so that results below the normal range come out right. The conversion takes NaN to 0. */
    n = vec_min(vec_set(252.0f), vec_max(vec_set(-252.0f), n));
    veci whole = vcvtnq_s32_f32(n), half = vshrq_n_s32(whole, 1);
    return vmulq_f32(vmulq_f32(a, vec_power2_(half)), vec_power2_(vsubq_s32(whole, half)));
}
VEC_INLINE vec vec_exponent(vec a, vec *out_mantissa) {
    vecm tiny = vcltq_f32(a, vdupq_n_f32(0x1p-126f));
    uint32x4_t bits = vreinterpretq_u32_f32(vbslq_f32(tiny, vmulq_n_f32(a, 0x1p24f), a));
    *out_mantissa = vreinterpretq_f32_u32(vorrq_u32(vandq_u32(bits, vdupq_n_u32(0x7fffff)), vdupq_n_u32(0x3f800000)));
    vec exponent = vcvtq_f32_s32(vsubq_s32(vreinterpretq_s32_u32(vshrq_n_u32(bits, 23)), vdupq_n_s32(127)));
    return vbslq_f32(tiny, vsubq_f32(exponent, vdupq_n_f32(24.0f)), exponent);
}
VEC_INLINE float vec_sum(vec a) {
    float32x2_t x = vadd_f32(vget_low_f32(a), vget_high_f32(a));
    return vget_lane_f32(x, 0) + vget_lane_f32(x, 1);
}
VEC_INLINE float vec_largest(vec a) {
    vec x = vec_max(a, vextq_f32(a, a, 2));
    float u = vgetq_lane_f32(x, 0), v = vgetq_lane_f32(x, 1);
    return u > v ? u : v;
}
/* Turns 4 vectors, the rows of a square, into its columns. */
VEC_INLINE void vec_transpose(vec *r) {
    vec a = vzip1q_f32(r[0], r[2]), b = vzip2q_f32(r[0], r[2]), c = vzip1q_f32(r[1], r[3]), d = vzip2q_f32(r[1], r[3]);
    r[0] = vzip1q_f32(a, c), r[1] = vzip2q_f32(a, c), r[2] = vzip1q_f32(b, d), r[3] = vzip2q_f32(b, d);
}
/* p[3 * i], p[3 * i + 1], p[3 * i + 2] = a[i], b[i], c[i]: pixels of three planes. */
#define VEC_STORE3 1
VEC_INLINE void vec_store3(float *p, vec a, vec b, vec c) { vst3q_f32(p, (float32x4x3_t){{a, b, c}}); }
/* 16-bit floats, VEC_LANES of them. */
VEC_INLINE vec vec_load_f16(const uint16_t *p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
VEC_INLINE vec vec_load_bf16(const uint16_t *p) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16)); }
VEC_INLINE void vec_store_f16(uint16_t *p, vec v) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v))); }
VEC_INLINE void vec_store_bf16(uint16_t *p, vec v) {
    uint32x4_t bits = vreinterpretq_u32_f32(v), top = vshrq_n_u32(bits, 16);
    uint32x4_t even = vaddq_u32(vdupq_n_u32(0x7fff), vandq_u32(top, vdupq_n_u32(1)));
    uint32x4_t rounded = vshrq_n_u32(vaddq_u32(bits, even), 16);
    rounded = vbslq_u32(vec_is_nan(v), vorrq_u32(top, vdupq_n_u32(0x40)), rounded); /* a NaN stays one */
    vst1_u16(p, vmovn_u32(rounded));
}

#endif
