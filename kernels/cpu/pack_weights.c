/* Packing of weight matrices into panels. */
#include "kernels/cpu/pack_weights.h"

void fidk_pack_rows(const float *w, size_t w_stride, size_t n, size_t k, float *out_packed) {
    for (size_t n0 = 0; n0 < n; n0 += FIDK_PANEL, out_packed += FIDK_PANEL * k) {
        size_t columns = n - n0 < FIDK_PANEL ? n - n0 : FIDK_PANEL;
        if (columns < FIDK_PANEL) memset(out_packed, 0, FIDK_PANEL * k * sizeof *out_packed);
        for (size_t j = 0; j < columns; j++) {
            const float *row = w + (n0 + j) * w_stride;
            for (size_t i = 0; i < k; i++) out_packed[i * FIDK_PANEL + j] = row[i];
        }
    }
}

void fidk_pack_columns(const float *b, size_t b_stride, size_t n, size_t k, float *out_packed) {
    for (size_t n0 = 0; n0 < n; n0 += FIDK_PANEL, out_packed += FIDK_PANEL * k) {
        size_t columns = n - n0 < FIDK_PANEL ? n - n0 : FIDK_PANEL;
        for (size_t i = 0; i < k; i++) {
            memcpy(out_packed + i * FIDK_PANEL, b + i * b_stride + n0, columns * sizeof *b);
            for (size_t j = columns; j < FIDK_PANEL; j++) out_packed[i * FIDK_PANEL + j] = 0;
        }
    }
}
