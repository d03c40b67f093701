/* Matrix products: blocking, threads and epilogues over the product tiles. */
#ifndef FID_KERNELS_CPU_GEMM_H
#define FID_KERNELS_CPU_GEMM_H

#include "kernels/cpu/pairs.h"
#include "kernels/cpu/tiles.h"

/* Rows of a that are not rows of one matrix (patches of an image): writes rows [row, row + rows), columns [k, k + depth) of
 * a to `out`, whose rows are out_stride floats apart. Called from several threads at once. */
typedef void (*fidk_gather)(const void *self, size_t row, size_t rows, size_t k, size_t depth, float *out, size_t out_stride);

/* c (m, n) = activation(a (m, k) * b (k, n) * scale (n) + bias (n) + add (m, n)). Each sum runs over k in order, in parts of at most
 * fidk_gemm_depth: the same for every instruction set with fused multiply-add and for every number of threads. */
typedef struct fidk_gemm {
    const fidk_tiles *tiles;
    const fid_threads *threads; /* NULL: serial */
    size_t m, n, k;
    const float *a;
    size_t a_stride;
    fidk_gather gather; /* instead of a; NULL: none */
    const void *gather_self;
    const float *b;
    size_t b_row, b_panel; /* see fidk_matmul */
    const uint16_t *b_half; /* instead of b: packed in float16, or bfloat16 if b_is_bf16 */
    bool b_is_bf16;
    const uint16_t *b_pairs; /* instead of b: pairs in bfloat16; rows of a are rounded to bfloat16 as well */
    const fidk_pair_tiles *pairs; /* with b_pairs */
    float *c;
    size_t c_stride;
    const float *scale; /* NULL: none */
    const float *bias; /* NULL: none */
    const float *add;  /* NULL: none; may be c, row for row */
    size_t add_stride;
    fid_activation activation;
    bool no_copies; /* rows of a are read where they lie, even if their stride is unlucky: no scratch */
} fidk_gemm;

/* Bytes of scratch that fidk_gemm_run wants; 0 for most products of plain matrices. */
size_t fidk_gemm_scratch_bytes(const fidk_gemm *gemm);
/* `scratch`: that many bytes, aligned to 64. */
void fidk_gemm_run(const fidk_gemm *gemm, void *scratch);

/* Behind them, for pairs: gemm_pairs.c. */
size_t fidk_gemm_pairs_scratch_bytes(const fidk_gemm *gemm);
void fidk_gemm_pairs_run(const fidk_gemm *gemm, void *scratch);
/* Rows [m0, m1) and columns [n0, n1) of c that task `index` of row_tasks * column_tasks owns; they begin at multiples of a tile's size. */
typedef struct fidk_gemm_part {
    size_t m0, m1, n0, n1;
} fidk_gemm_part;
fidk_gemm_part fidk_gemm_part_of(const fidk_gemm *gemm, size_t row_tasks, size_t column_tasks, size_t index, size_t tile_rows, size_t tile_columns);
/* What product and depthwise tiles apply themselves; the others follow in a second look at what was written. */
static inline bool fidk_tile_applies(fid_activation_kind kind) {
    return kind == FID_ACTIVATION_NONE || kind == FID_ACTIVATION_RELU || kind == FID_ACTIVATION_CLAMP || kind == FID_ACTIVATION_HARDSWISH;
}
/* What the product tile applies in its ending, and what of an activation is left for afterwards. */
void fidk_set_activation(fidk_matmul *product, const fid_activation *activation);
void fidk_activate_rest(const fidk_gemm *gemm, const fidk_matmul *product, size_t rows);

/* Sets b, b_row and b_panel for a matrix that fidk_pack_* packed. */
static inline void fidk_gemm_set_packed(fidk_gemm *gemm, const float *packed) {
    gemm->b = packed;
    gemm->b_row = FIDK_PANEL;
    gemm->b_panel = FIDK_PANEL * gemm->k;
}

/* Panel `panel` of weights as pairs. */
static inline void fidk_gemm_set_pairs(fidk_gemm *gemm, const uint16_t *pairs, uint32_t cpu) {
    gemm->b_pairs = pairs;
    gemm->pairs = fidk_pair_tiles_for(cpu);
}

/* The same for packed weights of float32, float16 or bfloat16, alone or in pairs. */
static inline void fidk_gemm_set_packed_tensor(fidk_gemm *gemm, const fid_tensor *packed, uint32_t cpu) {
    if (fid_is_pairs(packed)) {
        fidk_gemm_set_pairs(gemm, packed->data, cpu);
        return;
    }
    fidk_gemm_set_packed(gemm, packed->data);
    if (packed->dtype != FID_FLOAT32) gemm->b_half = packed->data;
    gemm->b_is_bf16 = packed->dtype == FID_BFLOAT16;
}

/* Runs task(context, i) for i in [0, count) on the threads; serially without any. */
void fidk_parallel(const fid_threads *threads, void (*task)(void *context, size_t index), void *context, size_t count);
/* The i-th of `parts` nearly equal parts of [0, total). */
static inline size_t fidk_part_begin(size_t total, size_t parts, size_t i) {
    return total / parts * i + (total % parts < i ? total % parts : i);
}
/* Threads worth using for work of about `operations` multiply-adds or moved floats. */
size_t fidk_worthwhile_threads(const fid_threads *threads, double operations);

/* out[b][c][r] = in[b][r][c], dense. */
void fidk_transpose(const fidk_tiles *tiles, const fid_threads *threads, const float *in, size_t batch, size_t rows, size_t columns,
                    float *out);

#endif
