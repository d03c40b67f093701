/* Small float formats. float16: IEEE 754 binary16. float8: the OCP 8-bit formats as PyTorch has them. */
#include "base/half.h"

float fid_float_from_f16(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u, mantissa = bits & 0x3ffu;
    if (exponent == 31) return fid_float_from_bits(sign | 0x7f800000u | (mantissa << 13) | (mantissa ? 0x400000u : 0));
    if (exponent) return fid_float_from_bits(sign | ((exponent + 112) << 23) | (mantissa << 13));
    float value = (float)mantissa * (1.0f / 16777216.0f); /* subnormal: mantissa * 2^-24 */
    return sign ? -value : value;
}

/* Rounds a positive finite float to `mantissa_bits` with the given smallest exponent; returns the packed magnitude. */
static uint32_t round_magnitude(uint32_t magnitude, int mantissa_bits, int bias) {
    int exponent = (int)(magnitude >> 23) - 127;
    uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    if (magnitude < 0x800000u) return 0; /* float32 subnormals are far below every small format */
    int drop = 23 - mantissa_bits;
    int below = 1 - bias - exponent;     /* how far below the smallest normal exponent */
    if (below > 0) drop += below;
    if (drop > 24) return 0;
    uint32_t kept = mantissa >> drop, rest = mantissa & ((1u << drop) - 1), half = 1u << (drop - 1);
    kept += rest > half || (rest == half && (kept & 1));
    /* The hidden bit adds one to the exponent field by itself, as a carry does. */
    return below > 0 ? kept : kept + ((uint32_t)(exponent + bias - 1) << mantissa_bits);
}

uint16_t fid_f16_from_float(float value) {
    uint32_t bits = fid_float_bits(value), magnitude = bits & 0x7fffffffu;
    uint16_t sign = (uint16_t)((bits >> 16) & 0x8000u);
    if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
    if (magnitude >= 0x47800000u) return (uint16_t)(sign | 0x7c00u); /* 65536 and more, and infinity */
    return (uint16_t)(sign | round_magnitude(magnitude, 10, 15));
}

float fid_float_from_f8e4m3fn(uint8_t bits) {
    uint32_t exponent = (bits >> 3) & 15u, mantissa = bits & 7u;
    float value;
    if ((bits & 0x7f) == 0x7f) value = fid_float_from_bits(0x7fc00000u);
    else if (exponent) value = fid_float_from_bits(((exponent + 120) << 23) | (mantissa << 20));
    else value = (float)mantissa * (1.0f / 512.0f);
    return bits & 0x80 ? -value : value;
}

uint8_t fid_f8e4m3fn_from_float(float value) {
    uint32_t bits = fid_float_bits(value), magnitude = bits & 0x7fffffffu;
    uint8_t sign = (uint8_t)((bits >> 24) & 0x80u);
    if (magnitude >= 0x43f00000u) return (uint8_t)(sign | 0x7f); /* 480 and more has no finite value: NaN */
    return (uint8_t)(sign | round_magnitude(magnitude, 3, 7));
}

float fid_float_from_f8e5m2(uint8_t bits) { return fid_float_from_f16((uint16_t)(bits << 8)); }

uint8_t fid_f8e5m2_from_float(float value) {
    uint32_t bits = fid_float_bits(value), magnitude = bits & 0x7fffffffu;
    uint8_t sign = (uint8_t)((bits >> 24) & 0x80u);
    if (magnitude > 0x7f800000u) return (uint8_t)(sign | 0x7f);
    if (magnitude >= 0x47800000u) return (uint8_t)(sign | 0x7c);
    return (uint8_t)(sign | round_magnitude(magnitude, 2, 15));
}
