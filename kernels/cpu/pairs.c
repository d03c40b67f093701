/* The choice of an instruction set for pairs, and the form for any. */
#include "kernels/cpu/pairs.h"

typedef float four __attribute__((vector_size(16)));
typedef uint32_t four_words __attribute__((vector_size(16)));

/* One row, four columns. */
static four dot(const uint16_t *a, const uint16_t *b, size_t depth) {
    four sum = {0, 0, 0, 0};
    for (size_t k = 0; k < depth; k++) {
        four_words pairs;
        union { uint32_t word; float number; } first = {.word = (uint32_t)a[2 * k] << 16}, second = {.word = (uint32_t)a[2 * k + 1] << 16};
        memcpy(&pairs, b + k * FID_PAIR_COLUMNS, sizeof pairs);
        sum += (four)(pairs << 16) * first.number; /* little-endian: the even row lies in the low half */
        sum += (four)(pairs & 0xffff0000u) * second.number;
    }
    return sum;
}

static void plain_block(const fidk_pair_block *t) {
    for (size_t p = 0; p < t->panels; p++)
        for (size_t r = 0; r < t->rows; r++)
            for (size_t j = 0; j < FID_PANEL; j += 4) {
                four sum = dot(t->a + r * t->a_stride, t->b + p * t->b_panel + 2 * j, t->depth);
                memcpy(t->c + r * FIDK_PAIR_TILE + p * FID_PANEL + j, &sum, sizeof sum);
            }
}

const fidk_pair_tiles fidk_pair_tiles_plain = {"plain", NULL, NULL, plain_block};

const fidk_pair_tiles *fidk_pair_tiles_for(uint32_t cpu) {
#if defined(__x86_64__)
    if ((cpu & FID_CPU_AMX_BF16) && (cpu & FID_CPU_AVX512)) return &fidk_pair_tiles_amx;
    if ((cpu & FID_CPU_AVX512_BF16) && (cpu & FID_CPU_AVX512)) return &fidk_pair_tiles_bf16;
#endif
    (void)cpu;
    return &fidk_pair_tiles_plain;
}
