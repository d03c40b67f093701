/* Loops around the product tiles.
 *
 * A task owns a rectangle of c. Inside it, blocks of rows (as many as keep their part of a in the second-level cache) run over
 * parts of k (so that one panel of b stays in the first-level cache), then over panels of b, then over tiles. */
#include "kernels/cpu/gemm.h"

#define DEPTH_BLOCK 320     /* of k: two panels take 40 KiB */
#define BLOCK_FLOATS 98304  /* of a: 384 KiB */
#define ROW_PAD 16          /* floats after a gathered row: rows then fall into different cache sets */
#define LOAD_ROWS 4.0       /* rows that could be multiplied in the time that reading b takes */
#define SMALL_WORK 300000.0 /* operations below which a second thread costs more than it brings */

void fidk_parallel(const fid_threads *threads, void (*task)(void *context, size_t index), void *context, size_t count) {
    if (threads && threads->count > 1 && count > 1) threads->run(threads->self, task, context, count);
    else
        for (size_t i = 0; i < count; i++) task(context, i);
}

size_t fidk_worthwhile_threads(const fid_threads *threads, double operations) {
    size_t most = threads ? threads->count : 1;
    double want = operations / SMALL_WORK;
    return want < 1 ? 1 : want < (double)most ? (size_t)want : most;
}

static size_t round_up(size_t value, size_t step) { return (value + step - 1) / step * step; }
static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

typedef struct gemm_plan {
    size_t row_tasks, column_tasks;
    size_t depth_parts;
    size_t block_rows; /* most rows of a block */
    bool copies;       /* rows of a are gathered into scratch */
    size_t copy_stride;
    const fidk_gemm *gemm;
    float *scratch;
} gemm_plan;

/* Rows a multiple of 2 KiB apart share few cache sets. */
static bool rows_collide(const fidk_gemm *g) {
    return g->a_stride % 512 == 0 && g->m > 4 && g->n >= 128;
}

/* Splitting rows reads b once a task, splitting columns a, and gathers it once a task if it is gathered: split what costs less. */
static void plan_tasks(gemm_plan *plan) {
    const fidk_gemm *g = plan->gemm;
    /* Few rows take as long as some more: b must come from its cache either way. */
    size_t tasks = fidk_worthwhile_threads(g->threads, ((double)g->m + LOAD_ROWS) * (double)g->n * (double)g->k);
    size_t row_tiles = (g->m + g->tiles->product_rows - 1) / g->tiles->product_rows;
    size_t column_tiles = (g->n + g->tiles->product_columns - 1) / g->tiles->product_columns;
    if ((g->gather ? 3 * g->m : g->m) >= g->n && row_tiles >= smaller(tasks, column_tiles)) plan->row_tasks = smaller(tasks, row_tiles);
    else plan->column_tasks = smaller(tasks, column_tiles);
    if (!plan->row_tasks) plan->row_tasks = 1; /* no rows at all */
    if (!plan->column_tasks) plan->column_tasks = 1;
}

static gemm_plan plan_gemm(const fidk_gemm *g) {
    gemm_plan plan = {.gemm = g, .row_tasks = 1, .column_tasks = 1};
    size_t part;
    plan.depth_parts = g->k ? (g->k + DEPTH_BLOCK - 1) / DEPTH_BLOCK : 1;
    part = (g->k + plan.depth_parts - 1) / plan.depth_parts;
    plan.copies = g->gather || (!g->no_copies && rows_collide(g));
    plan.copy_stride = round_up(part, 16) + ROW_PAD;
    plan.block_rows = BLOCK_FLOATS / plan.copy_stride / g->tiles->product_rows * g->tiles->product_rows;
    if (plan.block_rows < g->tiles->product_rows) plan.block_rows = g->tiles->product_rows;
    plan_tasks(&plan);
    return plan;
}

/* Floats for gathered rows, and for the panels of a 16-bit b that a row of tiles reads. */
static size_t copy_floats(const gemm_plan *plan) { return plan->copies ? plan->block_rows * plan->copy_stride : 0; }

static size_t panel_floats(const gemm_plan *plan) {
    return plan->gemm->b_half ? round_up(plan->gemm->tiles->wide_columns, FIDK_PANEL) * round_up(plan->gemm->k / plan->depth_parts + 1, 16) : 0;
}

static size_t scratch_of_task(const gemm_plan *plan) { return copy_floats(plan) + panel_floats(plan); }

size_t fidk_gemm_scratch_bytes(const fidk_gemm *gemm) {
    if (gemm->b_pairs) return fidk_gemm_pairs_scratch_bytes(gemm);
    gemm_plan plan = plan_gemm(gemm);
    return scratch_of_task(&plan) * plan.row_tasks * plan.column_tasks * sizeof(float);
}

void fidk_set_activation(fidk_matmul *p, const fid_activation *activation) {
    p->low = -INFINITY, p->high = INFINITY;
    p->hardswish = activation->kind == FID_ACTIVATION_HARDSWISH;
    if (activation->kind == FID_ACTIVATION_RELU) p->low = 0;
    if (activation->kind == FID_ACTIVATION_CLAMP) p->low = (float)activation->a, p->high = (float)activation->b;
}

void fidk_activate_rest(const fidk_gemm *g, const fidk_matmul *p, size_t rows) {
    if (fidk_tile_applies(g->activation.kind)) return;
    fidk_unary unary = {.x = p->c, .y = p->c, .x_stride = p->c_stride, .y_stride = p->c_stride, .rows = rows,
                        .columns = p->columns, .a = (float)g->activation.a, .b = (float)g->activation.b};
    g->tiles->unary[g->activation.kind](&unary);
}

/* The panels that follow: the first tiles over a panel bring one each into the second-level cache, since weights of large layers come
 * from memory. */
typedef struct upcoming {
    const float *panel[2];
    size_t panels;
} upcoming;

/* All rows of a block against the columns of p, in tiles of nearly equal height. */
static void run_column(const fidk_gemm *g, const fidk_matmul *p, size_t rows, const fidk_matmul_tile *functions, size_t most, const upcoming *next) {
    size_t count = (rows + most - 1) / most;
    for (size_t i = 0; i < count; i++) {
        size_t begin = fidk_part_begin(rows, count, i), height = fidk_part_begin(rows, count, i + 1) - begin;
        fidk_matmul tile = *p;
        tile.fetch = i < next->panels ? next->panel[i] : NULL;
        tile.a += begin * p->a_stride;
        tile.c += begin * p->c_stride;
        if (p->add) tile.add += begin * p->add_stride;
        functions[height - 1](&tile);
        if (p->finish) fidk_activate_rest(g, &tile, height);
    }
}

/* Panels of a 16-bit b from column n on, rows [k, k + depth), as float32 in `panels`. */
static void widen_panels(const fidk_gemm *g, fidk_matmul *p, size_t n, size_t k, float *panels) {
    size_t count = (p->columns + FIDK_PANEL - 1) / FIDK_PANEL, floats = p->depth * FIDK_PANEL;
    for (size_t i = 0; i < count; i++)
        g->tiles->from_half[g->b_is_bf16](g->b_half + (n / FIDK_PANEL + i) * g->b_panel + k * FIDK_PANEL, panels + i * floats, floats);
    p->b = panels;
    p->b_panel = floats;
}

/* From column n on, if there is more than one tile of rows to fetch behind and panels are packed. */
static upcoming upcoming_of(const fidk_gemm *g, const fidk_matmul *base, size_t rows, size_t n, size_t n1) {
    upcoming next = {0};
    if (g->b_half || base->b_row != FIDK_PANEL || rows <= g->tiles->product_rows) return next;
    for (; next.panels < 2 && n < n1; n += FIDK_PANEL) next.panel[next.panels++] = base->b + n / FIDK_PANEL * base->b_panel;
    return next;
}

/* One block of rows, the part of k that starts at `k`, all columns [n0, n1) of the task. */
static void run_block(const fidk_gemm *g, fidk_matmul p, size_t rows, size_t k, size_t n0, size_t n1, float *panels) {
    const fidk_tiles *t = g->tiles;
    const fidk_matmul base = p;
    for (size_t n = n0; n < n1;) {
        bool wide = rows <= t->wide_rows && n1 - n > t->product_columns;
        p.columns = smaller(n1 - n, wide ? t->wide_columns : t->product_columns);
        if (g->b_half) widen_panels(g, &p, n, k, panels);
        else p.b = base.b + n / FIDK_PANEL * base.b_panel;
        p.c = base.c + n;
        if (base.scale) p.scale = base.scale + n;
        if (base.bias) p.bias = base.bias + n;
        if (base.add) p.add = base.add + n;
        upcoming next = upcoming_of(g, &base, rows, n + p.columns, n1);
        run_column(g, &p, rows, wide ? t->wide : t->product, wide ? t->wide_rows : t->product_rows, &next);
        n += p.columns;
    }
}

static void fill_copy(const gemm_plan *plan, float *copy, size_t row, size_t rows, size_t k, size_t depth) {
    const fidk_gemm *g = plan->gemm;
    if (g->gather) {
        g->gather(g->gather_self, row, rows, k, depth, copy, plan->copy_stride);
        return;
    }
    for (size_t r = 0; r < rows; r++)
        memcpy(copy + r * plan->copy_stride, g->a + (row + r) * g->a_stride + k, depth * sizeof *copy);
}

static void run_rows(const gemm_plan *plan, float *copy, size_t row, size_t rows, size_t n0, size_t n1) {
    const fidk_gemm *g = plan->gemm;
    float *panels = g->b_half ? copy + copy_floats(plan) : NULL;
    for (size_t i = 0; i < plan->depth_parts; i++) {
        size_t k = fidk_part_begin(g->k, plan->depth_parts, i);
        fidk_matmul p = {.b = g->b_half ? NULL : g->b + k * g->b_row, .b_row = g->b_row, .b_panel = g->b_panel,
                          .depth = fidk_part_begin(g->k, plan->depth_parts, i + 1) - k,
                          .c = g->c + row * g->c_stride, .c_stride = g->c_stride, .scale = g->scale, .bias = g->bias,
                          .accumulate = i > 0, .finish = i + 1 == plan->depth_parts};
        p.add = g->add && p.finish ? g->add + row * g->add_stride : NULL;
        p.add_stride = g->add_stride;
        p.a = plan->copies ? copy : g->a + row * g->a_stride + k;
        p.a_stride = plan->copies ? plan->copy_stride : g->a_stride;
        fidk_set_activation(&p, &g->activation);
        if (plan->copies && p.depth) fill_copy(plan, copy, row, rows, k, p.depth);
        run_block(g, p, rows, k, n0, n1, panels);
    }
}

/* Where part `i` of `parts` of [0, size) begins, in whole steps. */
static size_t step_begin(size_t size, size_t step, size_t parts, size_t i) {
    return smaller(fidk_part_begin((size + step - 1) / step, parts, i) * step, size);
}

fidk_gemm_part fidk_gemm_part_of(const fidk_gemm *g, size_t row_tasks, size_t column_tasks, size_t index, size_t tile_rows, size_t tile_columns) {
    size_t row = index / column_tasks, column = index % column_tasks;
    return (fidk_gemm_part){step_begin(g->m, tile_rows, row_tasks, row), step_begin(g->m, tile_rows, row_tasks, row + 1),
                            step_begin(g->n, tile_columns, column_tasks, column), step_begin(g->n, tile_columns, column_tasks, column + 1)};
}

static void run_task(void *context, size_t index) {
    const gemm_plan *plan = context;
    const fidk_gemm *g = plan->gemm;
    fidk_gemm_part part = fidk_gemm_part_of(g, plan->row_tasks, plan->column_tasks, index, g->tiles->product_rows, g->tiles->product_columns);
    size_t m0 = part.m0, m1 = part.m1;
    size_t blocks = (m1 - m0 + plan->block_rows - 1) / plan->block_rows;
    float *copy = scratch_of_task(plan) ? plan->scratch + index * scratch_of_task(plan) : NULL;
    for (size_t i = 0; i < blocks; i++) {
        size_t row = m0 + fidk_part_begin(m1 - m0, blocks, i), end = m0 + fidk_part_begin(m1 - m0, blocks, i + 1);
        run_rows(plan, copy, row, end - row, part.n0, part.n1);
    }
}

void fidk_gemm_run(const fidk_gemm *gemm, void *scratch) {
    if (!gemm->m || !gemm->n) return;
    if (gemm->b_pairs) {
        fidk_gemm_pairs_run(gemm, scratch);
        return;
    }
    gemm_plan plan = plan_gemm(gemm);
    plan.scratch = scratch;
    fidk_parallel(gemm->threads, run_task, &plan, plan.row_tasks * plan.column_tasks);
}
