/* Bodies of the tiles between 16-bit floats and float32. The last elements go through a small buffer. */

#define DEFINE_HALF(name)                                                                                              \
    static void from_##name##_tile(const uint16_t *x, float *y, size_t count) {                                        \
        uint16_t rest[VEC_LANES] = {0};                                                                                \
        size_t i = 0;                                                                                                  \
        for (; i + VEC_LANES <= count; i += VEC_LANES) vec_store(y + i, vec_load_##name(x + i));                       \
        if (i == count) return;                                                                                        \
        memcpy(rest, x + i, (count - i) * sizeof *x);                                                                  \
        vec_store_some(y + i, vec_load_##name(rest), vec_first(count - i));                                            \
    }                                                                                                                  \
    static void to_##name##_tile(const float *x, uint16_t *y, size_t count) {                                          \
        uint16_t rest[VEC_LANES];                                                                                      \
        size_t i = 0;                                                                                                  \
        for (; i + VEC_LANES <= count; i += VEC_LANES) vec_store_##name(y + i, vec_load(x + i));                       \
        if (i == count) return;                                                                                        \
        vec_store_##name(rest, vec_load_some(x + i, vec_first(count - i)));                                            \
        memcpy(y + i, rest, (count - i) * sizeof *y);                                                                  \
    }
DEFINE_HALF(f16)
DEFINE_HALF(bf16)
