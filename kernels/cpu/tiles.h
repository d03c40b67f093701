/* The inner loops of the fast kernels, one set for each instruction set, chosen at run time through a const table.
 *
 * The bodies (tile_*.h) are written once in a small vector vocabulary (vec_*.h) and compiled in one tiles_*.c for each
 * instruction set. Outer loops, threads, edges of images and the choice of the tile stay in the kernels, once. Nothing here reads
 * or writes outside the rows and columns it is told. */
#ifndef FID_KERNELS_CPU_TILES_H
#define FID_KERNELS_CPU_TILES_H

#include "ops/chain.h"
#include "ops/fused.h"
#include "ops/kernel.h"

/* Columns of one panel of a packed matrix, the same for every instruction set: see README.md. */
#define FIDK_PANEL FID_PANEL

/* c[r][j] = finish(sum over k of a[r][k] * b[k][j]), for `rows` (fixed by the function) and `columns` columns. */
typedef struct fidk_matmul {
    const float *a;   /* (rows, depth), row stride a_stride */
    size_t a_stride;  /* floats */
    const float *b;   /* element (k, j) lies at b[j / 16 * b_panel + k * b_row + j % 16] */
    size_t b_row;     /* floats; 16 in packed panels, the row stride of a plain matrix */
    size_t b_panel;   /* floats; depth * 16 in packed panels, 16 in a plain matrix */
    size_t depth;     /* k */
    float *c;         /* (rows, columns), row stride c_stride */
    size_t c_stride;  /* floats */
    size_t columns;   /* 1 to the table's product_columns (or wide_columns) */
    const float *scale; /* (columns), or NULL: multiplies the finished sum, before bias and add */
    const float *bias; /* (columns), or NULL */
    const float *add;  /* (rows, columns), row stride add_stride, or NULL; may be c */
    size_t add_stride;
    float low, high;   /* the result is clamped to these; -inf and inf leave it alone */
    bool hardswish;    /* of what was clamped */
    bool accumulate;   /* c already holds the sum over an earlier part of k */
    bool finish;       /* the last part of k: scale, bias, add and clamp are due */
    const float *fetch; /* (depth, 16) what later tiles read, brought into the second-level cache on the way; NULL: nothing */
} fidk_matmul;

typedef void (*fidk_matmul_tile)(const fidk_matmul *product);

/* y[r][j] = f(x[r][j]); x and y may be the same memory. */
typedef struct fidk_unary {
    const float *x;
    float *y;
    size_t x_stride, y_stride; /* floats from row to row */
    size_t rows, columns;
    float a, b; /* parameters, as in ops/chain.h */
} fidk_unary;

typedef void (*fidk_unary_tile)(const fidk_unary *unary);

/* y[r][j] = f(a[r][j], b[r][j]); y may be a or b. */
typedef struct fidk_binary {
    const float *a, *b;
    float *y;
    int64_t a_row, b_row, y_row; /* floats from row to row */
    size_t a_step, b_step;       /* floats from column to column: 1 or 0 */
    size_t rows, columns;
    float scale;
} fidk_binary;

typedef void (*fidk_binary_tile)(const fidk_binary *binary);

/* y[r][j] = condition[r][j] is not zero ? a[r][j] : b[r][j]; y may be any of them. Steps as in fidk_binary. */
typedef struct fidk_where {
    const float *condition, *a, *b;
    float *y;
    int64_t condition_row, a_row, b_row, y_row;
    size_t condition_step, a_step, b_step;
    size_t rows, columns;
} fidk_where;

/* Neighbouring output pixels of a depthwise convolution: out[p][c] = clamp(bias[c] + add[p][c] + sum over t of
 * in[p * in_step + offsets[t] + c] * weight(rows[t], c)). */
typedef struct fidk_depthwise {
    const float *in;
    size_t in_step;         /* floats from a pixel's input to the next one's */
    const int64_t *offsets; /* (taps), floats */
    const uint32_t *rows;   /* (taps), row of the weight panel */
    size_t taps;
    /* line_width 3 or 5: a tap is a whole line of the kernel instead, its positions tap_step floats and one row apart; in_step is
     * tap_step or twice it. Position 0 of pixel 0 lies `left` positions before the image, which has `columns`: what is outside is not read. */
    size_t line_width;
    size_t tap_step;
    int64_t left, columns;
    const float *weights;   /* weight (r, c) lies at weights[c / 16 * panel + r * 16 + c % 16] */
    size_t panel;
    const float *bias;      /* (channels), or NULL */
    const float *add;       /* as out, or NULL */
    float *out;
    size_t out_step;        /* floats from pixel to pixel */
    size_t pixels, channels;
    float low, high;
    bool hardswish; /* of what was clamped */
} fidk_depthwise;

/* Neighbouring output pixels of a pool: out[p][c] = largest over t of in[p * in_step + offsets[t] + c], or scale * their sum. */
typedef struct fidk_pool {
    const float *in;
    size_t in_step;
    const int64_t *offsets; /* (taps) */
    size_t taps;
    float *out;
    size_t out_step;
    size_t pixels, channels;
    float scale;
} fidk_pool;

/* One tile of a Winograd convolution (ops/winograd.h) into its values at all positions: position p lies at out + p * position. */
typedef struct fidk_winograd_in {
    const float *pixel[FID_WINOGRAD_LINE * FID_WINOGRAD_LINE]; /* the (m + 2) * (m + 2) pixels that the tile sees, `channels` floats each */
    float *out;             /* (channels) */
    size_t position;        /* floats */
    size_t channels;
} fidk_winograd_in;

/* And sums at all positions into a tile of outputs: clamp(value * scale + bias + add). */
typedef struct fidk_winograd_out {
    const float *in; /* position p: in + p * position, (channels) */
    size_t position;
    const float *scale, *bias; /* (channels), or NULL */
    const float *add;          /* as out, or NULL */
    float *out;
    size_t line, pixel;    /* floats from line to line, from pixel to pixel */
    size_t lines, columns; /* of the tile that lie in the image: at most m */
    size_t channels;
    float low, high;
} fidk_winograd_out;

/* Rows of a patch matrix for neighbouring pixels: row p is the lines in turn, `run[l]` floats from line[l] + p * in_step. */
enum { FIDK_PATCH_LINES = 16 };
typedef struct fidk_patch {
    const float *line[FIDK_PATCH_LINES]; /* NULL: zeros */
    size_t run[FIDK_PATCH_LINES];
    size_t lines, in_step, pixels;
    float *out;
    size_t out_stride;
} fidk_patch;

/* y[j] = sum over t of weights[t] * rows[t][j] */
typedef struct fidk_blend {
    const float *rows[4];
    float weights[4];
    size_t taps;
    float *y;
    size_t columns;
} fidk_blend;

/* Rows of x into rows of y (softmax), or into numbers (sums). */
typedef struct fidk_rows {
    const float *x;
    float *y;
    size_t x_stride, y_stride; /* floats from row to row */
    size_t rows, columns;
    float scale;    /* of sums */
    float shift;    /* of sums, if `squares`: the sum is of (x - shift)^2 */
    bool squares;
    bool logarithm; /* of softmax */
} fidk_rows;

/* One block of columns of an online softmax: scores become exp(score - largest so far), `sum` and `largest` are brought up to
 * date, and `factor` is what results of earlier blocks must be multiplied with. Start: largest -INFINITY, sum 0. */
typedef struct fidk_online {
    float *scores; /* (rows, columns), row stride `stride` */
    size_t stride, rows, columns;
    float *largest, *sum, *factor; /* (rows) */
} fidk_online;

/* y = (x - mean) / sqrt(variance + eps) * weight + bias for each row; without `centred` the mean counts as 0. */
typedef struct fidk_norm {
    const float *x; /* (rows, columns), dense */
    float *y;
    const float *weight, *bias; /* (columns), or NULL */
    float *mean, *factor;       /* (rows): what was used, or NULL */
    size_t rows, columns;
    float eps;
    bool centred;
} fidk_norm;

/* Gate sums of a recurrent cell into its new state; gates lie one after the other in a row, `width` each. */
typedef struct fidk_gates {
    const float *gates;        /* LSTM (rows, 4 * width): input, forget, candidate, output. GRU (rows, 3 * width), from the input */
    size_t gates_stride;
    const float *hidden_gates; /* GRU: (rows, 3 * width), dense, from the state */
    const float *before;       /* GRU: state before, (rows, width) */
    size_t before_stride;
    float *cell;               /* LSTM: (rows, width), dense, replaced */
    float *hidden;             /* new state, (rows, width) */
    size_t hidden_stride;
    size_t rows, width;
} fidk_gates;

/* out[c][r] = in[r][c] */
typedef struct fidk_turn {
    const float *in;
    float *out;
    size_t in_stride, out_stride; /* floats */
    size_t rows, columns;         /* of in */
} fidk_turn;

typedef struct fidk_tiles {
    const char *name;
    uint32_t lanes;           /* floats of a vector */
    uint32_t product_rows;    /* most rows of a product tile */
    uint32_t product_columns; /* 16 or 32 */
    uint32_t wide_rows;       /* most rows of a wide tile: few rows, many columns */
    uint32_t wide_columns;
    const fidk_matmul_tile *product; /* by rows - 1 */
    const fidk_matmul_tile *wide;    /* by rows - 1 */
    const fidk_unary_tile *unary;     /* by fid_unary_kind */
    const fidk_binary_tile *binary;   /* by fid_binary_kind */
    void (*where)(const fidk_where *where);
    void (*depthwise)(const fidk_depthwise *depthwise);
    void (*patch)(const fidk_patch *patch);
    void (*winograd_in[3])(const fidk_winograd_in *tile);   /* by m - 2 */
    void (*winograd_out[3])(const fidk_winograd_out *tile);
    void (*max_pool)(const fidk_pool *pool);
    void (*sum_pool)(const fidk_pool *pool);
    void (*blend)(const fidk_blend *blend);
    void (*transpose)(const fidk_turn *turn);
    void (*stream)(const float *x, float *y, size_t count); /* y = x around the caches, if the machine has a way; then settle */
    void (*settle)(void); /* once a task, after the last stream */
    void (*softmax)(const fidk_rows *rows);
    void (*online)(const fidk_online *online);
    void (*sum_rows)(const fidk_rows *rows);    /* y[r * y_stride] = scale * sum of row r */
    void (*sum_columns)(const fidk_rows *rows); /* y[j] = scale * sum of column j */
    void (*norm)(const fidk_norm *norm);
    void (*from_half[2])(const uint16_t *x, float *y, size_t count); /* float16, bfloat16 */
    void (*to_half[2])(const float *x, uint16_t *y, size_t count);
    void (*lstm)(const fidk_gates *gates);
    void (*gru)(const fidk_gates *gates);
    float (*peak)(size_t rounds);                /* roof.c: arithmetic only */
    float (*read)(const float *x, size_t count); /* roof.c: memory only */
} fidk_tiles;

/* The sets that this library was built with, fastest first: name, and the FID_CPU_ bits that a machine must have for it. One list
 * for each architecture; `scalar` is portable C and stands in where the baseline has no vocabulary of its own. */
#if defined(__x86_64__)
#define FIDK_TILES_MAP(X) X(avx512, FID_CPU_AVX512) X(avx2, FID_CPU_AVX2_FMA) X(sse4, FID_CPU_SSE4) X(scalar, 0)
#elif defined(__aarch64__)
#define FIDK_TILES_MAP(X) X(sve512, FID_CPU_SVE_512) X(sve256, FID_CPU_SVE_256) X(neon, 0)
#elif defined(__riscv) && __riscv_xlen == 64 && defined(__clang__)
#define FIDK_TILES_MAP(X) X(rvv256, FID_CPU_RVV_256) X(rvv128, FID_CPU_RVV) X(scalar, 0)
#elif defined(__wasm_simd128__)
#define FIDK_TILES_MAP(X) X(wasm, 0)
#else
#define FIDK_TILES_MAP(X) X(scalar, 0)
#endif

#define FIDK_TILES_DECLARE(name, needs) extern const fidk_tiles fidk_tiles_##name;
FIDK_TILES_MAP(FIDK_TILES_DECLARE)
#undef FIDK_TILES_DECLARE

/* The i-th set of the list, or NULL after the last one; *out_needs: its FID_CPU_ bits. */
const fidk_tiles *fidk_tiles_at(size_t i, uint32_t *out_needs);
/* The fastest set that `cpu` (FID_CPU_ bits) can run. */
const fidk_tiles *fidk_tiles_for(uint32_t cpu);

#endif
