/* The vector vocabulary of the tile bodies for Arm's scalable vectors. A table is compiled for one length (-msve-vector-bits), since
 * tiles keep vectors in arrays, and chosen when the machine's vectors have that length; see vec_avx512.h. */
#ifndef FID_KERNELS_CPU_VEC_SVE_H
#define FID_KERNELS_CPU_VEC_SVE_H

#include <arm_sve.h>

#include "base/deps.h"

#define VEC_LANES (__ARM_FEATURE_SVE_BITS / 32)
#if __ARM_FEATURE_SVE_BITS == 256
#define VEC_NAME "sve256"
#define VEC_TABLE fidk_tiles_sve256
#else
#define VEC_NAME "sve512"
#define VEC_TABLE fidk_tiles_sve512
#endif
#define VEC_FUSED 1
/* As on AVX-512: 28 of 32 registers. */
#define VEC_GEMM_ROWS 14
#define VEC_GEMM_VECTORS 2
#define VEC_WIDE_ROWS 4
#define VEC_WIDE_VECTORS 4

typedef svfloat32_t vec __attribute__((arm_sve_vector_bits(__ARM_FEATURE_SVE_BITS)));
typedef svuint32_t veci __attribute__((arm_sve_vector_bits(__ARM_FEATURE_SVE_BITS)));
typedef svbool_t vecm __attribute__((arm_sve_vector_bits(__ARM_FEATURE_SVE_BITS)));

#define VEC_INLINE static inline __attribute__((always_inline, unused))
#define VEC_ALL svptrue_b32()

VEC_INLINE vecm vec_first(size_t n) { return svwhilelt_b32_u64(0, n); }
VEC_INLINE vec vec_load(const float *p) { return svld1_f32(VEC_ALL, p); }
VEC_INLINE void vec_store(float *p, vec v) { svst1_f32(VEC_ALL, p, v); }
VEC_INLINE vec vec_load_some(const float *p, vecm m) { return svld1_f32(m, p); }
VEC_INLINE void vec_store_some(float *p, vec v, vecm m) { svst1_f32(m, p, v); }
VEC_INLINE vec vec_set(float x) { return svdup_n_f32(x); }
VEC_INLINE vec vec_add(vec a, vec b) { return svadd_f32_x(VEC_ALL, a, b); }
VEC_INLINE vec vec_sub(vec a, vec b) { return svsub_f32_x(VEC_ALL, a, b); }
VEC_INLINE vec vec_mul(vec a, vec b) { return svmul_f32_x(VEC_ALL, a, b); }
VEC_INLINE vec vec_div(vec a, vec b) { return svdiv_f32_x(VEC_ALL, a, b); }
VEC_INLINE vec vec_sqrt(vec a) { return svsqrt_f32_x(VEC_ALL, a); }
VEC_INLINE vec vec_fma(vec a, vec b, vec c) { return svmla_f32_x(VEC_ALL, c, a, b); }
VEC_INLINE vec vec_fnma(vec a, vec b, vec c) { return svmls_f32_x(VEC_ALL, c, a, b); }
/* svmax would give NaN for one in either; the vocabulary promises b. */
VEC_INLINE vec vec_max(vec a, vec b) { return svsel_f32(svcmpgt_f32(VEC_ALL, a, b), a, b); }
VEC_INLINE vec vec_min(vec a, vec b) { return svsel_f32(svcmplt_f32(VEC_ALL, a, b), a, b); }
VEC_INLINE vec vec_abs(vec a) { return svabs_f32_x(VEC_ALL, a); }
VEC_INLINE vec vec_neg(vec a) { return svneg_f32_x(VEC_ALL, a); }
VEC_INLINE vec vec_with_sign(vec a, vec b) {
    veci sign = svand_n_u32_x(VEC_ALL, svreinterpret_u32_f32(b), 0x80000000u);
    return svreinterpret_f32_u32(svorr_u32_x(VEC_ALL, svreinterpret_u32_f32(a), sign));
}
VEC_INLINE vecm vec_less(vec a, vec b) { return svcmplt_f32(VEC_ALL, a, b); }
VEC_INLINE vecm vec_equal(vec a, vec b) { return svcmpeq_f32(VEC_ALL, a, b); }
VEC_INLINE vecm vec_is_nan(vec a) { return svcmpuo_f32(VEC_ALL, a, a); }
VEC_INLINE vec vec_select(vecm m, vec yes, vec no) { return svsel_f32(m, yes, no); }
VEC_INLINE vec vec_round(vec a) { return svrintn_f32_x(VEC_ALL, a); }
/* The conversion saturates and takes NaN to 0. */
VEC_INLINE vec vec_scale2(vec a, vec n) { return svscale_f32_x(VEC_ALL, a, svcvt_s32_f32_x(VEC_ALL, n)); }
VEC_INLINE vec vec_exponent(vec a, vec *out_mantissa) {
    vecm tiny = svcmplt_n_f32(VEC_ALL, a, 0x1p-126f);
    veci bits = svreinterpret_u32_f32(svmul_n_f32_m(tiny, a, 0x1p24f));
    *out_mantissa = svreinterpret_f32_u32(svorr_n_u32_x(VEC_ALL, svand_n_u32_x(VEC_ALL, bits, 0x7fffff), 0x3f800000));
    svint32_t exponent = svsub_n_s32_x(VEC_ALL, svreinterpret_s32_u32(svlsr_n_u32_x(VEC_ALL, bits, 23)), 127);
    return svcvt_f32_s32_x(VEC_ALL, svsub_n_s32_m(tiny, exponent, 24));
}
VEC_INLINE float vec_sum(vec a) { return svaddv_f32(VEC_ALL, a); }
VEC_INLINE float vec_largest(vec a) { return svmaxnmv_f32(VEC_ALL, a); }
/* Turns VEC_LANES vectors, the rows of a square, into its columns: each pass shuffles the upper half of the rows into the lower. */
VEC_INLINE void vec_transpose(vec *r) {
    for (int pass = 1; pass < VEC_LANES; pass *= 2) {
        vec s[VEC_LANES];
        for (int i = 0; i < VEC_LANES / 2; i++) {
            s[2 * i] = svzip1_f32(r[i], r[i + VEC_LANES / 2]);
            s[2 * i + 1] = svzip2_f32(r[i], r[i + VEC_LANES / 2]);
        }
        for (int i = 0; i < VEC_LANES; i++) r[i] = s[i];
    }
}
/* 16-bit floats, VEC_LANES of them: they travel in the low halves of 32-bit lanes. */
VEC_INLINE vec vec_load_f16(const uint16_t *p) { return svcvt_f32_f16_x(VEC_ALL, svreinterpret_f16_u32(svld1uh_u32(VEC_ALL, p))); }
VEC_INLINE vec vec_load_bf16(const uint16_t *p) {
    return svreinterpret_f32_u32(svlsl_n_u32_x(VEC_ALL, svld1uh_u32(VEC_ALL, p), 16));
}
VEC_INLINE void vec_store_f16(uint16_t *p, vec v) {
    svst1h_u32(VEC_ALL, p, svreinterpret_u32_f16(svcvt_f16_f32_x(VEC_ALL, v)));
}
VEC_INLINE void vec_store_bf16(uint16_t *p, vec v) {
    veci bits = svreinterpret_u32_f32(v), top = svlsr_n_u32_x(VEC_ALL, bits, 16);
    veci even = svadd_n_u32_x(VEC_ALL, svand_n_u32_x(VEC_ALL, top, 1), 0x7fff);
    veci rounded = svlsr_n_u32_x(VEC_ALL, svadd_u32_x(VEC_ALL, bits, even), 16);
    veci nan = svorr_n_u32_x(VEC_ALL, top, 0x40);
    svst1h_u32(VEC_ALL, p, svsel_u32(vec_is_nan(v), nan, rounded));
}

#endif
