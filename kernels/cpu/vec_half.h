/* Words between 16-bit floats and vectors for instruction sets that have no such conversion: integer arithmetic on whole vectors,
 * in the vector notation of gcc and clang. Rounds to nearest even; a NaN stays one. Included by a vec_*.h that defines vec. */
#ifndef FID_KERNELS_CPU_VEC_HALF_H
#define FID_KERNELS_CPU_VEC_HALF_H

typedef uint32_t half_wide __attribute__((vector_size(4 * VEC_LANES)));
typedef float half_float __attribute__((vector_size(4 * VEC_LANES)));
typedef uint16_t half_narrow __attribute__((vector_size(2 * VEC_LANES)));

VEC_INLINE half_wide half_load_(const uint16_t *p) {
    half_narrow narrow;
    memcpy(&narrow, p, sizeof narrow);
    return __builtin_convertvector(narrow, half_wide);
}
VEC_INLINE void half_store_(uint16_t *p, half_wide v) {
    half_narrow narrow = __builtin_convertvector(v, half_narrow);
    memcpy(p, &narrow, sizeof narrow);
}
VEC_INLINE half_wide half_select_(half_wide mask, half_wide yes, half_wide no) { return (yes & mask) | (no & ~mask); }

VEC_INLINE vec vec_load_f16(const uint16_t *p) {
    /* The exponent moves by a multiplication, which is exact and brings subnormal numbers along. */
    half_wide bits = half_load_(p), size = bits & 0x7fff;
    half_wide value = (half_wide)((half_float)(size << 13) * 0x1p112f);
    half_wide beyond = (half_wide)(size > 0x7bff) & 0x7f800000; /* infinity or NaN */
    half_wide quiet = (half_wide)(size > 0x7c00) & 0x400000;
    return (vec)(value | beyond | quiet | (bits & 0x8000) << 16);
}
VEC_INLINE vec vec_load_bf16(const uint16_t *p) { return (vec)(half_load_(p) << 16); }
VEC_INLINE void vec_store_f16(uint16_t *p, vec v) {
    half_wide bits = (half_wide)v, size = bits & 0x7fffffff;
    half_wide normal = (size + 0xfff + ((size >> 13) & 1) - (112u << 23)) >> 13; /* carries into the exponent, up to infinity */
    half_wide small = (half_wide)((half_float)size + 0.5f) - 0x3f000000; /* 0.5 counts in units of float16's smallest number */
    half_wide nan = 0x7e00 | (size >> 13 & 0x3ff);
    half_wide result = half_select_((half_wide)(size < 0x38800000), small, normal);
    result = half_select_((half_wide)(size >= 0x47800000), (half_wide){0} + 0x7c00, result);
    result = half_select_((half_wide)(size > 0x7f800000), nan, result);
    half_store_(p, result | (bits >> 16 & 0x8000));
}
VEC_INLINE void vec_store_bf16(uint16_t *p, vec v) {
    half_wide bits = (half_wide)v, top = bits >> 16;
    half_wide rounded = (bits + 0x7fff + (top & 1)) >> 16, nan = (half_wide)((bits & 0x7fffffff) > 0x7f800000);
    half_store_(p, half_select_(nan, top | 0x40, rounded));
}

#endif
