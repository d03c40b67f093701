/* Products with weights of bfloat16 pairs.
 *
 * A task owns rows or columns of c. It rounds a block of its rows of a to bfloat16 in scratch, filled up with zeros to whole steps of k,
 * then goes over pairs of panels and over 32 rows each: sums of a block land in a small buffer, from which the float32 tile finishes
 * them into c: scale, bias, add, activation. */
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/pack_weights.h"

#define BLOCK_WORDS (192 * 1024) /* of a: 384 KiB */
#define GATHERED 8               /* rows gathered at a time */

static size_t round_up(size_t value, size_t step) { return (value + step - 1) / step * step; }
static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

typedef struct pairs_plan {
    const fidk_gemm *gemm;
    size_t row_tasks, column_tasks;
    size_t depth;      /* of k, a whole number of steps */
    size_t stride;     /* of rows in scratch, elements: steps away from one cache set */
    size_t block_rows; /* a multiple of 32 */
    uint8_t *scratch;
} pairs_plan;

static pairs_plan plan_pairs(const fidk_gemm *g) {
    pairs_plan plan = {.gemm = g, .row_tasks = 1, .column_tasks = 1, .depth = 2 * (size_t)fid_pair_rows((int64_t)g->k)};
    plan.stride = plan.depth + 32;
    plan.block_rows = BLOCK_WORDS / plan.stride / FIDK_PAIR_TILE * FIDK_PAIR_TILE;
    if (plan.block_rows < FIDK_PAIR_TILE) plan.block_rows = FIDK_PAIR_TILE;
    if (plan.block_rows > round_up(g->m, FIDK_PAIR_TILE)) plan.block_rows = round_up(g->m, FIDK_PAIR_TILE);
    size_t tasks = fidk_worthwhile_threads(g->threads, (double)g->m * (double)g->n * (double)g->k / 8);
    if (g->m >= 4 * FIDK_PAIR_TILE * tasks || g->m >= g->n) plan.row_tasks = smaller(tasks, (g->m + FIDK_PAIR_TILE - 1) / FIDK_PAIR_TILE);
    if (!plan.row_tasks) plan.row_tasks = 1;
    plan.column_tasks = smaller(tasks / plan.row_tasks, (g->n + 2 * FIDK_PANEL - 1) / (2 * FIDK_PANEL));
    if (!plan.column_tasks) plan.column_tasks = 1;
    return plan;
}

static size_t words_bytes(const pairs_plan *plan) { return plan->block_rows * plan->stride * sizeof(uint16_t); }
static size_t sums_bytes(void) { return FIDK_PAIR_TILE * FIDK_PAIR_TILE * sizeof(float); }
static size_t gather_bytes(const pairs_plan *plan) { return plan->gemm->gather ? GATHERED * round_up(plan->gemm->k, 16) * sizeof(float) : 0; }
static size_t task_bytes(const pairs_plan *plan) { return words_bytes(plan) + sums_bytes() + gather_bytes(plan); }

size_t fidk_gemm_pairs_scratch_bytes(const fidk_gemm *gemm) {
    pairs_plan plan = plan_pairs(gemm);
    return task_bytes(&plan) * plan.row_tasks * plan.column_tasks;
}

static void round_row(const pairs_plan *plan, const float *from, uint16_t *to) {
    const fidk_gemm *g = plan->gemm;
    g->tiles->to_half[1](from, to, g->k);
    memset(to + g->k, 0, (plan->depth - g->k) * sizeof *to);
}

/* Rows [row, row + rows) of a in bfloat16; zeros below them to whole tiles. */
static void round_rows(const pairs_plan *plan, size_t row, size_t rows, uint16_t *words, float *gathered) {
    const fidk_gemm *g = plan->gemm;
    size_t stride = round_up(g->k, 16);
    for (size_t r = 0; r < rows; r++) {
        if (g->gather && r % GATHERED == 0)
            g->gather(g->gather_self, row + r, smaller(GATHERED, rows - r), 0, g->k, gathered, stride);
        round_row(plan, g->gather ? gathered + r % GATHERED * stride : g->a + (row + r) * g->a_stride, words + r * plan->stride);
    }
    for (size_t r = rows; r < round_up(rows, FIDK_PAIR_TILE); r++) memset(words + r * plan->stride, 0, plan->depth * sizeof *words);
}

/* A block's sums into c, by the tile's epilogue. */
static void finish_block(const fidk_gemm *g, const float *sums, size_t row, size_t rows, size_t n, size_t columns) {
    const fidk_tiles *t = g->tiles;
    for (size_t r = 0; r < rows; r += t->product_rows)
        for (size_t j = 0; j < columns; j += t->product_columns) {
            size_t height = smaller(rows - r, t->product_rows), width = smaller(columns - j, t->product_columns);
            fidk_matmul p = {.c = g->c + (row + r) * g->c_stride + n + j, .c_stride = g->c_stride, .columns = width, .accumulate = true, .finish = true,
                             .scale = g->scale ? g->scale + n + j : NULL, .bias = g->bias ? g->bias + n + j : NULL,
                             .add = g->add ? g->add + (row + r) * g->add_stride + n + j : NULL, .add_stride = g->add_stride};
            for (size_t i = 0; i < height; i++) memcpy(p.c + i * p.c_stride, sums + (r + i) * FIDK_PAIR_TILE + j, width * sizeof *sums);
            fidk_set_activation(&p, &g->activation);
            t->product[height - 1](&p);
            fidk_activate_rest(g, &p, height);
        }
}

/* All columns [n0, n1) for the rows in `words`. */
static void run_columns(const pairs_plan *plan, const uint16_t *words, float *sums, size_t row, size_t rows, size_t n0, size_t n1) {
    const fidk_gemm *g = plan->gemm;
    size_t panel_words = plan->depth / 2 * FID_PAIR_COLUMNS;
    for (size_t n = n0; n < n1; n += FIDK_PAIR_TILE) {
        size_t columns = smaller(n1 - n, FIDK_PAIR_TILE);
        for (size_t r = 0; r < rows; r += FIDK_PAIR_TILE) {
            fidk_pair_block block = {.a = words + r * plan->stride, .a_stride = plan->stride, .b = g->b_pairs + n / FIDK_PANEL * panel_words,
                                     .b_panel = panel_words, .depth = plan->depth / 2, .rows = smaller(rows - r, FIDK_PAIR_TILE),
                                     .panels = columns > FIDK_PANEL ? 2 : 1, .c = sums};
            g->pairs->block(&block);
            finish_block(g, sums, row + r, block.rows, n, columns);
        }
    }
}

static void run_task(void *context, size_t index) {
    const pairs_plan *plan = context;
    const fidk_gemm *g = plan->gemm;
    fidk_gemm_part part = fidk_gemm_part_of(g, plan->row_tasks, plan->column_tasks, index, FIDK_PAIR_TILE, FIDK_PAIR_TILE);
    uint8_t *scratch = plan->scratch + index * task_bytes(plan);
    uint16_t *words = (uint16_t *)(void *)scratch;
    float *sums = (float *)(void *)(scratch + words_bytes(plan)), *gathered = sums + FIDK_PAIR_TILE * FIDK_PAIR_TILE;
    if (g->pairs->begin) g->pairs->begin();
    for (size_t row = part.m0; row < part.m1; row += plan->block_rows) {
        size_t rows = smaller(part.m1 - row, plan->block_rows);
        round_rows(plan, row, rows, words, gathered);
        run_columns(plan, words, sums, row, rows, part.n0, part.n1);
    }
    if (g->pairs->end) g->pairs->end();
}

void fidk_gemm_pairs_run(const fidk_gemm *gemm, void *scratch) {
    pairs_plan plan = plan_pairs(gemm);
    plan.scratch = scratch;
    fidk_parallel(gemm->threads, run_task, &plan, plan.row_tasks * plan.column_tasks);
}
