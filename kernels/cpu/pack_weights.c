/* Packing of weight matrices into panels. */
#include "kernels/cpu/pack_weights.h"

#include "base/half.h"

#define DEFINE_PACK_ROWS(function, type)                                                                               \
    void function(const type *w, size_t w_stride, size_t n, size_t k, type *out_packed) {                              \
        for (size_t n0 = 0; n0 < n; n0 += FIDK_PANEL, out_packed += FIDK_PANEL * k) {                                  \
            size_t columns = n - n0 < FIDK_PANEL ? n - n0 : FIDK_PANEL;                                                \
            if (columns < FIDK_PANEL) memset(out_packed, 0, FIDK_PANEL * k * sizeof *out_packed);                      \
            for (size_t j = 0; j < columns; j++) {                                                                     \
                const type *row = w + (n0 + j) * w_stride;                                                             \
                for (size_t i = 0; i < k; i++) out_packed[i * FIDK_PANEL + j] = row[i];                                \
            }                                                                                                          \
        }                                                                                                              \
    }

#define DEFINE_PACK_COLUMNS(function, type)                                                                            \
    void function(const type *b, size_t b_stride, size_t n, size_t k, type *out_packed) {                              \
        for (size_t n0 = 0; n0 < n; n0 += FIDK_PANEL, out_packed += FIDK_PANEL * k) {                                  \
            size_t columns = n - n0 < FIDK_PANEL ? n - n0 : FIDK_PANEL;                                                \
            for (size_t i = 0; i < k; i++) {                                                                           \
                memcpy(out_packed + i * FIDK_PANEL, b + i * b_stride + n0, columns * sizeof *b);                       \
                for (size_t j = columns; j < FIDK_PANEL; j++) out_packed[i * FIDK_PANEL + j] = 0;                      \
            }                                                                                                          \
        }                                                                                                              \
    }

DEFINE_PACK_ROWS(fidk_pack_rows, float)
DEFINE_PACK_ROWS(fidk_pack_half_rows, uint16_t)
DEFINE_PACK_COLUMNS(fidk_pack_columns, float)
DEFINE_PACK_COLUMNS(fidk_pack_half_columns, uint16_t)

void fidk_pack_pairs(const float *packed, size_t panels, size_t k, uint16_t *out_pairs) {
    memset(out_pairs, 0, fidk_pair_words(panels, k) * sizeof *out_pairs);
    for (size_t p = 0; p < panels; p++)
        for (size_t i = 0; i < k; i++)
            for (size_t j = 0; j < FIDK_PANEL; j++)
                out_pairs[fid_packed_offset(true, (int64_t)k, (int64_t)p, (int64_t)i, (int64_t)j)] = fid_bf16_from_float(packed[(p * k + i) * FIDK_PANEL + j]);
}
