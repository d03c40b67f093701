/* The vector vocabulary of the tile bodies for WebAssembly's 128-bit vectors: 4 floats a vector, no fused multiply-add, and engines
 * that map it to 16 registers; see vec_avx512.h. */
#ifndef FID_KERNELS_CPU_VEC_WASM_H
#define FID_KERNELS_CPU_VEC_WASM_H

#include <wasm_simd128.h>

#include "base/deps.h"

#define VEC_NAME "wasm"
#define VEC_LANES 4
#define VEC_TABLE fidk_tiles_wasm
#define VEC_FUSED 0
#define VEC_GEMM_ROWS 2
#define VEC_GEMM_VECTORS 4
#define VEC_WIDE_ROWS 1
#define VEC_WIDE_VECTORS 8

typedef v128_t vec;
typedef v128_t veci;
typedef v128_t vecm; /* lanes 0 or all ones */

#define VEC_INLINE static inline __attribute__((always_inline, unused))

VEC_INLINE vecm vec_first(size_t n) { return wasm_i32x4_lt(wasm_i32x4_const(0, 1, 2, 3), wasm_i32x4_splat((int32_t)n)); }
VEC_INLINE vec vec_load(const float *p) { return wasm_v128_load(p); }
VEC_INLINE void vec_store(float *p, vec v) { wasm_v128_store(p, v); }
/* Masks of loads and stores are the lanes below some n (vec_first); nothing beyond them is touched. Fewer than 4 lanes are rare
 * enough for a call, which keeps the tiles small. */
static __attribute__((noinline, unused)) vec vec_load_few_(const float *p, vecm m) {
    vec v = wasm_f32x4_const(0, 0, 0, 0);
    if (wasm_i32x4_extract_lane(m, 0)) v = wasm_v128_load32_lane(p, v, 0);
    if (wasm_i32x4_extract_lane(m, 1)) v = wasm_v128_load32_lane(p + 1, v, 1);
    if (wasm_i32x4_extract_lane(m, 2)) v = wasm_v128_load32_lane(p + 2, v, 2);
    return v;
}
static __attribute__((noinline, unused)) void vec_store_few_(float *p, vec v, vecm m) {
    if (wasm_i32x4_extract_lane(m, 0)) wasm_v128_store32_lane(p, v, 0);
    if (wasm_i32x4_extract_lane(m, 1)) wasm_v128_store32_lane(p + 1, v, 1);
    if (wasm_i32x4_extract_lane(m, 2)) wasm_v128_store32_lane(p + 2, v, 2);
}
VEC_INLINE vec vec_load_some(const float *p, vecm m) {
    return wasm_i32x4_extract_lane(m, 3) ? wasm_v128_load(p) : vec_load_few_(p, m);
}
VEC_INLINE void vec_store_some(float *p, vec v, vecm m) {
    if (wasm_i32x4_extract_lane(m, 3)) wasm_v128_store(p, v);
    else vec_store_few_(p, v, m);
}
VEC_INLINE vec vec_set(float x) { return wasm_f32x4_splat(x); }
VEC_INLINE vec vec_add(vec a, vec b) { return wasm_f32x4_add(a, b); }
VEC_INLINE vec vec_sub(vec a, vec b) { return wasm_f32x4_sub(a, b); }
VEC_INLINE vec vec_mul(vec a, vec b) { return wasm_f32x4_mul(a, b); }
VEC_INLINE vec vec_div(vec a, vec b) { return wasm_f32x4_div(a, b); }
VEC_INLINE vec vec_sqrt(vec a) { return wasm_f32x4_sqrt(a); }
VEC_INLINE vec vec_fma(vec a, vec b, vec c) { return wasm_f32x4_add(wasm_f32x4_mul(a, b), c); }
VEC_INLINE vec vec_fnma(vec a, vec b, vec c) { return wasm_f32x4_sub(c, wasm_f32x4_mul(a, b)); }
/* pmax(x, y) is x < y ? y : x */
VEC_INLINE vec vec_max(vec a, vec b) { return wasm_f32x4_pmax(b, a); }
VEC_INLINE vec vec_min(vec a, vec b) { return wasm_f32x4_pmin(b, a); }
VEC_INLINE vec vec_abs(vec a) { return wasm_f32x4_abs(a); }
VEC_INLINE vec vec_neg(vec a) { return wasm_f32x4_neg(a); }
VEC_INLINE vec vec_with_sign(vec a, vec b) { return wasm_v128_bitselect(b, a, wasm_f32x4_const_splat(-0.0f)); }
VEC_INLINE vecm vec_less(vec a, vec b) { return wasm_f32x4_lt(a, b); }
VEC_INLINE vecm vec_equal(vec a, vec b) { return wasm_f32x4_eq(a, b); }
VEC_INLINE vecm vec_is_nan(vec a) { return wasm_f32x4_ne(a, a); }
VEC_INLINE vec vec_select(vecm m, vec yes, vec no) { return wasm_v128_bitselect(yes, no, m); }
VEC_INLINE vec vec_round(vec a) { return wasm_f32x4_nearest(a); }
/* 2^n for n in [-126, 127] */
VEC_INLINE vec vec_power2_(veci n) { return wasm_i32x4_shl(wasm_i32x4_add(n, wasm_i32x4_const_splat(127)), 23); }
VEC_INLINE vec vec_scale2(vec a, vec n) {
    /* Two factors, so that results below the normal range come out right. The conversion takes NaN to 0. */
    n = vec_min(vec_set(252.0f), vec_max(vec_set(-252.0f), n));
    veci whole = wasm_i32x4_trunc_sat_f32x4(n), half = wasm_i32x4_shr(whole, 1);
    return vec_mul(vec_mul(a, vec_power2_(half)), vec_power2_(wasm_i32x4_sub(whole, half)));
}
VEC_INLINE vec vec_exponent(vec a, vec *out_mantissa) {
    vecm tiny = vec_less(a, vec_set(0x1p-126f));
    veci bits = vec_select(tiny, vec_mul(a, vec_set(0x1p24f)), a);
    *out_mantissa = wasm_v128_or(wasm_v128_and(bits, wasm_i32x4_const_splat(0x7fffff)), wasm_i32x4_const_splat(0x3f800000));
    vec exponent = wasm_f32x4_convert_i32x4(wasm_i32x4_sub(wasm_u32x4_shr(bits, 23), wasm_i32x4_const_splat(127)));
    return vec_select(tiny, vec_sub(exponent, vec_set(24.0f)), exponent);
}
VEC_INLINE float vec_sum(vec a) {
    vec x = vec_add(a, wasm_i32x4_shuffle(a, a, 2, 3, 0, 1));
    return wasm_f32x4_extract_lane(x, 0) + wasm_f32x4_extract_lane(x, 1);
}
VEC_INLINE float vec_largest(vec a) {
    vec x = vec_max(a, wasm_i32x4_shuffle(a, a, 2, 3, 0, 1));
    float u = wasm_f32x4_extract_lane(x, 0), v = wasm_f32x4_extract_lane(x, 1);
    return u > v ? u : v;
}
/* Turns 4 vectors, the rows of a square, into its columns. */
VEC_INLINE void vec_transpose(vec *r) {
    vec a = wasm_i32x4_shuffle(r[0], r[2], 0, 4, 1, 5), b = wasm_i32x4_shuffle(r[0], r[2], 2, 6, 3, 7);
    vec c = wasm_i32x4_shuffle(r[1], r[3], 0, 4, 1, 5), d = wasm_i32x4_shuffle(r[1], r[3], 2, 6, 3, 7);
    r[0] = wasm_i32x4_shuffle(a, c, 0, 4, 1, 5), r[1] = wasm_i32x4_shuffle(a, c, 2, 6, 3, 7);
    r[2] = wasm_i32x4_shuffle(b, d, 0, 4, 1, 5), r[3] = wasm_i32x4_shuffle(b, d, 2, 6, 3, 7);
}

#include "kernels/cpu/vec_half.h"

#endif
