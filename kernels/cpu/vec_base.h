/* The vector vocabulary of the tile bodies for every other machine: 4 floats a vector, in the vector notation that gcc and
 * clang compile for whatever the target has (SSE2, plain registers); see vec_avx512.h. */
#ifndef FID_KERNELS_CPU_VEC_BASE_H
#define FID_KERNELS_CPU_VEC_BASE_H

#include "base/deps.h"

#define VEC_NAME "scalar"
#define VEC_LANES 4
#define VEC_TABLE fidk_tiles_scalar
#define VEC_FUSED 0 /* vec_fma rounds twice, or once: as the compiler likes */
#define VEC_GEMM_ROWS 2
#define VEC_GEMM_VECTORS 4
#define VEC_WIDE_ROWS 1
#define VEC_WIDE_VECTORS 8

typedef float vec __attribute__((vector_size(16)));
typedef int32_t veci __attribute__((vector_size(16)));
typedef veci vecm; /* lanes 0 or -1 */

#define VEC_INLINE static inline __attribute__((always_inline, unused))

VEC_INLINE vecm vec_first(size_t n) { return (veci){0, 1, 2, 3} < (int32_t)n; }
VEC_INLINE vec vec_load(const float *p) {
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}
VEC_INLINE void vec_store(float *p, vec v) { memcpy(p, &v, sizeof v); }
VEC_INLINE vec vec_load_some(const float *p, vecm m) {
    vec v = {0, 0, 0, 0};
    for (int i = 0; i < VEC_LANES; i++)
        if (m[i]) v[i] = p[i];
    return v;
}
VEC_INLINE void vec_store_some(float *p, vec v, vecm m) {
    for (int i = 0; i < VEC_LANES; i++)
        if (m[i]) p[i] = v[i];
}
VEC_INLINE vec vec_set(float x) { return (vec){x, x, x, x}; }
VEC_INLINE vec vec_add(vec a, vec b) { return a + b; }
VEC_INLINE vec vec_sub(vec a, vec b) { return a - b; }
VEC_INLINE vec vec_mul(vec a, vec b) { return a * b; }
VEC_INLINE vec vec_div(vec a, vec b) { return a / b; }
VEC_INLINE vec vec_sqrt(vec a) {
    for (int i = 0; i < VEC_LANES; i++) a[i] = sqrtf(a[i]);
    return a;
}
VEC_INLINE vec vec_fma(vec a, vec b, vec c) { return a * b + c; }
VEC_INLINE vec vec_fnma(vec a, vec b, vec c) { return c - a * b; }
VEC_INLINE vec vec_select(vecm m, vec yes, vec no) { return (vec)(((veci)yes & m) | ((veci)no & ~m)); }
VEC_INLINE vec vec_max(vec a, vec b) { return vec_select(a > b, a, b); }
VEC_INLINE vec vec_min(vec a, vec b) { return vec_select(a < b, a, b); }
VEC_INLINE vec vec_abs(vec a) { return (vec)((veci)a & 0x7fffffff); }
VEC_INLINE vec vec_neg(vec a) { return -a; }
VEC_INLINE vec vec_with_sign(vec a, vec b) { return (vec)((veci)a | ((veci)b & (veci)vec_set(-0.0f))); }
VEC_INLINE vecm vec_less(vec a, vec b) { return a < b; }
VEC_INLINE vecm vec_equal(vec a, vec b) { return a == b; }
VEC_INLINE vecm vec_is_nan(vec a) { return a != a; }
VEC_INLINE vec vec_round(vec a) {
    /* Adding and taking away 2^23 rounds to even; larger values are whole already, and NaN stays. */
    vec magic = vec_set(8388608.0f), size = vec_abs(a), rounded = (size + magic) - magic;
    return vec_select(size < magic, vec_with_sign(rounded, a), a);
}
VEC_INLINE vec vec_scale2(vec a, vec n) {
    n = vec_min(vec_set(252.0f), vec_max(vec_set(-252.0f), n));
    n = vec_select(vec_is_nan(n), vec_set(0.0f), n); /* a NaN has no int; a is NaN then as well */
    veci whole = __builtin_convertvector(n, veci), half = whole >> 1;
    return a * (vec)((half + 127) << 23) * (vec)((whole - half + 127) << 23);
}
VEC_INLINE vec vec_exponent(vec a, vec *out_mantissa) {
    vecm tiny = a < vec_set(0x1p-126f);
    a = vec_select(tiny, a * 0x1p24f, a);
    veci bits = (veci)a;
    *out_mantissa = (vec)((bits & 0x7fffff) | 0x3f800000);
    return __builtin_convertvector((bits >> 23) - 127, vec) - vec_select(tiny, vec_set(24.0f), vec_set(0.0f));
}
VEC_INLINE float vec_sum(vec a) { return (a[0] + a[2]) + (a[1] + a[3]); }
VEC_INLINE float vec_largest(vec a) {
    float x = a[0] > a[2] ? a[0] : a[2], y = a[1] > a[3] ? a[1] : a[3];
    return x > y ? x : y;
}
/* Turns 4 vectors, the rows of a square, into its columns. */
VEC_INLINE void vec_transpose(vec *r) {
    vec a = r[0], b = r[1], c = r[2], d = r[3];
    for (int i = 0; i < VEC_LANES; i++) r[i] = (vec){a[i], b[i], c[i], d[i]};
}
#include "kernels/cpu/vec_half.h"

#endif
