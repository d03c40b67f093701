/* The packed layout of weights (README.md): panels of 16 columns, each panel holding its 16 values of k = 0, then of k = 1, ...;
 * the last panel is filled up with zeros. */
#ifndef FID_KERNELS_CPU_PACK_WEIGHTS_H
#define FID_KERNELS_CPU_PACK_WEIGHTS_H

#include "kernels/cpu/tiles.h"

static inline size_t fidk_panels(size_t n) { return (n + FIDK_PANEL - 1) / FIDK_PANEL; }
static inline size_t fidk_packed_floats(size_t n, size_t k) { return fidk_panels(n) * FIDK_PANEL * k; }

/* From a matrix whose rows are the columns of the product, as linear layers store weights: w (n, k), row stride w_stride. */
void fidk_pack_rows(const float *w, size_t w_stride, size_t n, size_t k, float *out_packed);
/* From a plain matrix b (k, n), row stride b_stride. */
void fidk_pack_columns(const float *b, size_t b_stride, size_t n, size_t k, float *out_packed);
/* The same for 16-bit floats. */
void fidk_pack_half_rows(const uint16_t *w, size_t w_stride, size_t n, size_t k, uint16_t *out_packed);
void fidk_pack_half_columns(const uint16_t *b, size_t b_stride, size_t n, size_t k, uint16_t *out_packed);

/* From packed panels of float32 to pairs in bfloat16 (ops/fused.h), panel by panel; out_pairs: fidk_pair_words(panels, k) words. */
static inline size_t fidk_pair_words(size_t panels, size_t k) { return panels * (size_t)fid_pair_rows((int64_t)k) * FID_PAIR_COLUMNS; }
void fidk_pack_pairs(const float *packed, size_t panels, size_t k, uint16_t *out_pairs);

#endif
