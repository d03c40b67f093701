/* float16 and bfloat16 to and from float32, rounding to nearest even, NaN stays NaN. Plain C: the definition. */
#ifndef FID_BASE_HALF_H
#define FID_BASE_HALF_H

#include "base/deps.h"

static inline float fid_float_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t fid_float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float fid_float_from_bf16(uint16_t bits) { return fid_float_from_bits((uint32_t)bits << 16); }

static inline uint16_t fid_bf16_from_float(float value) {
    uint32_t bits = fid_float_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((bits >> 16) | 0x40u);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float fid_float_from_f16(uint16_t bits);
uint16_t fid_f16_from_float(float value);
/* From double in one rounding, as PyTorch stores a double scalar into half it rounds by way of float. */
static inline uint16_t fid_f16_from_double(double value) { return fid_f16_from_float((float)value); }

float fid_float_from_f8e4m3fn(uint8_t bits);
uint8_t fid_f8e4m3fn_from_float(float value);
float fid_float_from_f8e5m2(uint8_t bits);
uint8_t fid_f8e5m2_from_float(float value);

#endif
