/* The vector vocabulary of the tile bodies for RISC-V's vector extension. Tiles keep vectors in arrays, so a table is compiled for
 * vectors of a fixed length: 128 bits, which every V machine holds in one register, or 256, for those whose registers are that long
 * (-march=..._zvl256b). It is written in clang's vector notation, which clang turns into vector instructions; see vec_avx512.h. */
#ifndef FID_KERNELS_CPU_VEC_RVV_H
#define FID_KERNELS_CPU_VEC_RVV_H

#include <riscv_vector.h>

#include "base/deps.h"

#if __riscv_v_min_vlen >= 256
#define VEC_NAME "rvv256"
#define VEC_LANES 8
#define VEC_TABLE fidk_tiles_rvv256
#define VEC_GEMM_ROWS 14
#define VEC_GEMM_VECTORS 2
#define VEC_WIDE_ROWS 4
#define VEC_WIDE_VECTORS 4
#else
#define VEC_NAME "rvv128"
#define VEC_LANES 4
#define VEC_TABLE fidk_tiles_rvv128
#define VEC_GEMM_ROWS 6
#define VEC_GEMM_VECTORS 4
#define VEC_WIDE_ROWS 2
#define VEC_WIDE_VECTORS 8
#endif
#define VEC_FUSED 1

typedef float vec __attribute__((vector_size(4 * VEC_LANES)));
typedef int32_t veci __attribute__((vector_size(4 * VEC_LANES)));
typedef veci vecm; /* lanes 0 or -1 */

#define VEC_INLINE static inline __attribute__((always_inline, unused))

VEC_INLINE vecm vec_first(size_t n) {
#if VEC_LANES == 8
    return (veci){0, 1, 2, 3, 4, 5, 6, 7} < (int32_t)n;
#else
    return (veci){0, 1, 2, 3} < (int32_t)n;
#endif
}
VEC_INLINE vec vec_load(const float *p) {
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}
VEC_INLINE void vec_store(float *p, vec v) { memcpy(p, &v, sizeof v); }
/* Masks of loads and stores are the lanes below some n (vec_first); nothing beyond them is touched. Fewer than all lanes are rare
 * enough for a call, which keeps the tiles small. */
static __attribute__((noinline, unused)) vec vec_load_few_(const float *p, vecm m) {
    vec v = {0};
    for (int i = 0; i < VEC_LANES; i++)
        if (m[i]) v[i] = p[i];
    return v;
}
static __attribute__((noinline, unused)) void vec_store_few_(float *p, vec v, vecm m) {
    for (int i = 0; i < VEC_LANES; i++)
        if (m[i]) p[i] = v[i];
}
VEC_INLINE vec vec_load_some(const float *p, vecm m) { return m[VEC_LANES - 1] ? vec_load(p) : vec_load_few_(p, m); }
VEC_INLINE void vec_store_some(float *p, vec v, vecm m) {
    if (m[VEC_LANES - 1]) vec_store(p, v);
    else vec_store_few_(p, v, m);
}
VEC_INLINE vec vec_set(float x) { return (vec){0} + x; }
VEC_INLINE vec vec_add(vec a, vec b) { return a + b; }
VEC_INLINE vec vec_sub(vec a, vec b) { return a - b; }
VEC_INLINE vec vec_mul(vec a, vec b) { return a * b; }
VEC_INLINE vec vec_div(vec a, vec b) { return a / b; }
VEC_INLINE vec vec_sqrt(vec a) {
    float lanes[VEC_LANES];
    vec_store(lanes, a);
    __riscv_vse32_v_f32m1(lanes, __riscv_vfsqrt_v_f32m1(__riscv_vle32_v_f32m1(lanes, VEC_LANES), VEC_LANES), VEC_LANES);
    return vec_load(lanes);
}
VEC_INLINE vec vec_fma(vec a, vec b, vec c) {
#pragma clang fp contract(fast)
    return a * b + c;
}
VEC_INLINE vec vec_fnma(vec a, vec b, vec c) {
#pragma clang fp contract(fast)
    return c - a * b;
}
VEC_INLINE vec vec_select(vecm m, vec yes, vec no) { return (vec)(((veci)yes & m) | ((veci)no & ~m)); }
VEC_INLINE vec vec_max(vec a, vec b) { return vec_select(a > b, a, b); }
VEC_INLINE vec vec_min(vec a, vec b) { return vec_select(a < b, a, b); }
VEC_INLINE vec vec_abs(vec a) { return __builtin_elementwise_abs(a); }
VEC_INLINE vec vec_neg(vec a) { return -a; }
VEC_INLINE vec vec_with_sign(vec a, vec b) { return (vec)((veci)a | ((veci)b & (veci)vec_set(-0.0f))); }
VEC_INLINE vecm vec_less(vec a, vec b) { return a < b; }
VEC_INLINE vecm vec_equal(vec a, vec b) { return a == b; }
VEC_INLINE vecm vec_is_nan(vec a) { return a != a; }
VEC_INLINE vec vec_round(vec a) { return __builtin_elementwise_roundeven(a); }
VEC_INLINE vec vec_scale2(vec a, vec n) {
    /* Two factors, so that results below the normal range come out right. A NaN has no int; a is NaN then as well. */
    n = vec_min(vec_set(252.0f), vec_max(vec_set(-252.0f), n));
    n = vec_select(vec_is_nan(n), vec_set(0.0f), n);
    veci whole = __builtin_convertvector(n, veci), half = whole >> 1;
    return a * (vec)((half + 127) << 23) * (vec)((whole - half + 127) << 23);
}
VEC_INLINE vec vec_exponent(vec a, vec *out_mantissa) {
    vecm tiny = a < vec_set(0x1p-126f);
    veci bits = (veci)vec_select(tiny, a * 0x1p24f, a);
    *out_mantissa = (vec)((bits & 0x7fffff) | 0x3f800000);
    return __builtin_convertvector((bits >> 23) - 127, vec) - vec_select(tiny, vec_set(24.0f), vec_set(0.0f));
}
VEC_INLINE float vec_sum(vec a) {
    float sum = 0;
    for (int i = 0; i < VEC_LANES; i++) sum += a[i];
    return sum;
}
VEC_INLINE float vec_largest(vec a) {
    float largest = a[0];
    for (int i = 1; i < VEC_LANES; i++) largest = a[i] > largest ? a[i] : largest;
    return largest;
}
/* Turns VEC_LANES vectors, the rows of a square, into its columns: a strided load each. */
VEC_INLINE void vec_transpose(vec *r) {
    float square[VEC_LANES][VEC_LANES];
    for (int i = 0; i < VEC_LANES; i++) vec_store(square[i], r[i]);
    for (int i = 0; i < VEC_LANES; i++) {
        float column[VEC_LANES];
        vfloat32m1_t loaded = __riscv_vlse32_v_f32m1(&square[0][i], sizeof square[0], VEC_LANES);
        __riscv_vse32_v_f32m1(column, loaded, VEC_LANES);
        r[i] = vec_load(column);
    }
}

#include "kernels/cpu/vec_half.h"

#endif
