/* Packing of weight matrices into panels. */
#include "kernels/cpu/pack_weights.h"

#include "base/half.h"

#define PACK_DEPTH 64 /* of k at a time: that part of a panel stays in the first-level cache while its columns are written */
#define PACK_PANELS 4 /* side by side: a row of the matrix is read in longer runs */

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

#define DEFINE_PACK_ROWS(function, type)                                                                               \
    void function(const type *w, size_t w_stride, size_t n, size_t k, type *out_packed) {                              \
        for (size_t n0 = 0; n0 < n; n0 += FIDK_PANEL, out_packed += FIDK_PANEL * k) {                                  \
            size_t columns = smaller(n - n0, FIDK_PANEL);                                                              \
            if (columns < FIDK_PANEL) memset(out_packed, 0, FIDK_PANEL * k * sizeof *out_packed);                      \
            for (size_t begin = 0; begin < k; begin += PACK_DEPTH)                                                     \
                for (size_t j = 0; j < columns; j++)                                                                   \
                    for (size_t i = begin; i < smaller(k, begin + PACK_DEPTH); i++)                                    \
                        out_packed[i * FIDK_PANEL + j] = w[(n0 + j) * w_stride + i];                                   \
        }                                                                                                              \
    }

#define DEFINE_PACK_COLUMNS(function, type)                                                                            \
    static void function##_row(const type *b, size_t columns, size_t k, type *out) {                                   \
        size_t whole = columns / FIDK_PANEL, rest = columns % FIDK_PANEL;                                              \
        for (size_t p = 0; p < whole; p++) memcpy(out + p * FIDK_PANEL * k, b + p * FIDK_PANEL, FIDK_PANEL * sizeof *b); \
        if (!rest) return;                                                                                             \
        memcpy(out + whole * FIDK_PANEL * k, b + whole * FIDK_PANEL, rest * sizeof *b);                                \
        memset(out + whole * FIDK_PANEL * k + rest, 0, (FIDK_PANEL - rest) * sizeof *b);                               \
    }                                                                                                                  \
    void function(const type *b, size_t b_stride, size_t n, size_t k, type *out_packed) {                              \
        for (size_t n0 = 0; n0 < n; n0 += PACK_PANELS * FIDK_PANEL)                                                    \
            for (size_t i = 0; i < k; i++)                                                                             \
                function##_row(b + i * b_stride + n0, smaller(n - n0, PACK_PANELS * FIDK_PANEL), k, out_packed + n0 * k + i * FIDK_PANEL); \
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
