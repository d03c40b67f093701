/* Convolutions of 3x3 by Winograd's algorithm (ops/winograd.h).
 *
 * Tiles of m x m outputs, in all images, are the rows of (m + 2) * (m + 2) products, one a position: a block of tiles is transformed
 * (the part of scratch that should stay in the second-level cache), then for some panels of output channels at a time all positions are
 * multiplied and the sums transformed back with the epilogue. So weights are read once a block, and fetched while others are multiplied.
 *
 * Images with more values than weights are shared among threads by tiles, others by output channels. What a value is computed from is
 * the same in any case. */
#include "kernels/cpu/conv.h"

#include "kernels/cpu/pack_weights.h"

#define DEPTH 320            /* of a product: two panels take 40 KiB */
#define EXACT_DEPTH 32       /* for m > 2: sums of sums round less, and transforms back magnify what was rounded */
#define LEAST_FLOATS 131072  /* of transformed inputs: 512 KiB ... */
#define MOST_FLOATS 524288   /* ... and 2 MiB where weights, which every block reads again, are as large */
#define MOST_COLUMNS 256

typedef struct winograd_plan {
    const fidk_conv *conv;
    size_t m, positions;
    size_t across, down, tiles; /* tiles of a line, lines of tiles of an image, tiles of all images */
    size_t block;               /* most tiles of a block */
    size_t row, in_position;    /* transformed inputs: floats from tile to tile and from position to position */
    size_t columns, out_position; /* output channels at a time, floats of their sums at one position */
    size_t tile_tasks, column_tasks; /* one of them is 1 */
    float *zeros;  /* a pixel of padding */
    float *values; /* transformed inputs: (tile_tasks, positions * in_position) */
    float *sums;   /* (tasks, positions * out_position) */
    size_t first, end; /* tiles of the block that column tasks work on */
} winograd_plan;

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }
static size_t round_up(size_t value, size_t step) { return (value + step - 1) / step * step; }
/* An odd number of cache lines, so that positions fall into different sets. */
static size_t odd_lines(size_t floats) { return (round_up(floats, 16) / 16 | 1) * 16; }

static winograd_plan plan_winograd(const fidk_conv *conv) {
    const fid_window *w = &conv->window;
    winograd_plan p = {.conv = conv, .m = conv->winograd, .positions = (conv->winograd + 2) * (conv->winograd + 2), .tile_tasks = 1, .column_tasks = 1};
    p.across = ((size_t)w->out[2] + p.m - 1) / p.m;
    p.down = ((size_t)w->out[1] + p.m - 1) / p.m;
    p.tiles = conv->batch * p.across * p.down;
    p.row = round_up(conv->in_channels + !conv->in_channels, 16);
    if (p.row % 512 == 0) p.row += 16;
    size_t weights = conv->in_channels * conv->out_channels, values = p.tiles * conv->in_channels;
    size_t step = round_up(conv->tiles->product_columns, FIDK_PANEL), floats = smaller(MOST_FLOATS, p.positions * weights);
    size_t most = (floats < LEAST_FLOATS ? LEAST_FLOATS : floats) / p.positions / p.row, rows = conv->tiles->product_rows;
    if (most < rows) most = rows;
    size_t tasks = fidk_worthwhile_threads(conv->threads, (double)p.positions * (double)p.tiles * (double)weights);
    if (values >= weights) p.tile_tasks = smaller(tasks, (p.tiles + rows - 1) / rows);
    else p.column_tasks = smaller(tasks, fidk_panels(conv->out_channels));
    if (!p.tile_tasks) p.tile_tasks = 1;
    if (!p.column_tasks) p.column_tasks = 1;
    p.block = smaller(most, (p.tiles + p.tile_tasks - 1) / p.tile_tasks);
    p.in_position = odd_lines(p.block * p.row);
    /* Sums no larger than inputs, so that these are not driven out of the cache; many at a time, so that they are read less often. */
    p.columns = smaller(p.row, MOST_COLUMNS) / step * step;
    p.columns = smaller(p.columns < step ? step : p.columns, round_up(conv->out_channels, FIDK_PANEL));
    p.out_position = odd_lines(p.block * p.columns);
    return p;
}

static size_t values_of(const winograd_plan *p) { return p->positions * p->in_position; }
static size_t sums_of(const winograd_plan *p) { return p->positions * p->out_position; }

size_t fidk_winograd_scratch_bytes(const fidk_conv *conv) {
    winograd_plan p = plan_winograd(conv);
    return (p.row + p.tile_tasks * values_of(&p) + p.tile_tasks * p.column_tasks * sums_of(&p)) * sizeof(float);
}

/* ---- Transforms ---- */

/* Image, and first output line and column, of a tile. */
typedef struct tile_place {
    size_t image, y, x;
} tile_place;

static tile_place place_of(const winograd_plan *p, size_t tile) {
    return (tile_place){tile / p->across / p->down, tile / p->across % p->down * p->m, tile % p->across * p->m};
}

static void transform_tile(const winograd_plan *p, size_t tile, float *out) {
    const fid_window *w = &p->conv->window;
    const size_t channels = p->conv->in_channels;
    const int64_t n = (int64_t)p->m + 2;
    fidk_winograd_in t = {.out = out, .position = p->in_position, .channels = channels};
    tile_place at = place_of(p, tile);
    int64_t y = (int64_t)at.y - w->padding[1], x = (int64_t)at.x - w->padding[2];
    const float *image = p->conv->input + at.image * (size_t)(w->in[1] * w->in[2]) * channels;
    const float **pixel = t.pixel;
    for (int64_t i = y; i < y + n; i++)
        for (int64_t j = x; j < x + n; j++) {
            bool inside = i >= 0 && i < w->in[1] && j >= 0 && j < w->in[2];
            *pixel++ = inside ? image + (size_t)(i * w->in[2] + j) * channels : p->zeros;
        }
    p->conv->tiles->winograd_in[p->m - FID_WINOGRAD_LEAST](&t);
}

/* Activations that the tile does not apply as a clamp. */
static void activate_rest(const fidk_conv *conv, const fidk_winograd_out *t) {
    const fid_activation *f = &conv->activation;
    if (f->kind == FID_ACTIVATION_NONE || f->kind == FID_ACTIVATION_RELU || f->kind == FID_ACTIVATION_CLAMP) return;
    for (size_t i = 0; i < t->lines; i++) {
        float *at = t->out + i * t->line;
        fidk_unary unary = {.x = at, .y = at, .x_stride = t->pixel, .y_stride = t->pixel, .rows = t->columns, .columns = t->channels,
                            .a = (float)f->a, .b = (float)f->b};
        conv->tiles->unary[f->kind](&unary);
    }
}

/* Output channels [n, n + columns) of a tile from its sums. */
static void finish_tile(const winograd_plan *p, size_t tile, const float *sums, size_t n, size_t columns) {
    const fidk_conv *conv = p->conv;
    const int64_t *out = conv->window.out;
    tile_place at = place_of(p, tile);
    size_t offset = ((at.image * (size_t)out[1] + at.y) * (size_t)out[2] + at.x) * conv->out_channels + n;
    fidk_matmul clamp;
    fidk_set_activation(&clamp, &conv->activation);
    fidk_winograd_out t = {.in = sums, .position = p->out_position, .scale = conv->scale ? conv->scale + n : NULL,
                           .bias = conv->bias ? conv->bias + n : NULL, .add = conv->add ? conv->add + offset : NULL, .out = conv->out + offset,
                           .line = (size_t)out[2] * conv->out_channels, .pixel = conv->out_channels, .lines = smaller(p->m, (size_t)out[1] - at.y),
                           .columns = smaller(p->m, (size_t)out[2] - at.x), .channels = columns, .low = clamp.low, .high = clamp.high};
    conv->tiles->winograd_out[p->m - FID_WINOGRAD_LEAST](&t);
    activate_rest(conv, &t);
}

/* ---- Blocks ---- */

/* Tiles [begin, end) of a block that starts at `first`. */
static void transform_tiles(const winograd_plan *p, size_t first, size_t begin, size_t end, float *values) {
    for (size_t i = begin; i < end; i++) transform_tile(p, i, values + (i - first) * p->row);
}

/* sums (count, columns) = values (count, in_channels) * panels at one position, k in parts; meanwhile the panels at `next` are fetched. These
 * products are small: a plan for each would take longer than it saves. */
static void multiply_panels(const winograd_plan *p, size_t count, const float *values, const float *panels, const float *next, size_t columns, float *sums) {
    const fidk_tiles *t = p->conv->tiles;
    size_t k = p->conv->in_channels, depth = p->m > 2 ? EXACT_DEPTH : DEPTH, parts = k ? (k + depth - 1) / depth : 1;
    size_t tiles = (count + t->product_rows - 1) / t->product_rows;
    fidk_matmul product = {.a_stride = p->row, .b_row = FIDK_PANEL, .b_panel = p->positions * k * FIDK_PANEL, .c_stride = p->columns, .columns = columns};
    for (size_t part = 0; part < parts; part++) {
        size_t first = fidk_part_begin(k, parts, part);
        product.depth = fidk_part_begin(k, parts, part + 1) - first;
        product.b = panels + first * FIDK_PANEL;
        product.accumulate = part > 0;
        for (size_t i = 0; i < tiles; i++) {
            size_t row = fidk_part_begin(count, tiles, i), rows = fidk_part_begin(count, tiles, i + 1) - row;
            product.a = values + row * p->row + first;
            product.c = sums + row * p->columns;
            product.fetch = i < fidk_panels(columns) ? next + i * product.b_panel + first * FIDK_PANEL : NULL;
            t->product[rows - 1](&product);
        }
    }
}

/* Output channels from panel `panel` on, at one position. */
static void multiply_position(const winograd_plan *p, size_t count, size_t position, size_t panel, size_t columns, const float *values, float *sums) {
    size_t step = round_up(p->conv->tiles->product_columns, FIDK_PANEL), floats = p->conv->in_channels * FIDK_PANEL;
    const float *panels = p->conv->weights + (panel * p->positions + position) * floats, *following = position + 1 < p->positions ? panels + floats : panels;
    for (size_t n = 0; n < columns; n += step) {
        size_t now = smaller(step, columns - n), at = n / FIDK_PANEL * p->positions * floats;
        multiply_panels(p, count, values, panels + at, following + at, now, sums + n);
    }
}

/* Panels [panel, last) of output channels for `count` tiles from `first` on. */
static void multiply(const winograd_plan *p, size_t first, size_t count, size_t panel, size_t last, const float *values, float *sums) {
    for (; panel < last; panel += p->columns / FIDK_PANEL) {
        size_t n = panel * FIDK_PANEL, columns = smaller(smaller(p->columns, (last - panel) * FIDK_PANEL), p->conv->out_channels - n);
        for (size_t i = 0; i < p->positions; i++)
            multiply_position(p, count, i, panel, columns, values + i * p->in_position, sums + i * p->out_position);
        for (size_t i = 0; i < count; i++) finish_tile(p, first + i, sums + i * p->columns, n, columns);
    }
}

static size_t block_begin(const winograd_plan *p, size_t begin, size_t end, size_t i) {
    return begin + fidk_part_begin(end - begin, (end - begin + p->block - 1) / p->block, i);
}

static void run_tiles(void *context, size_t index) {
    const winograd_plan *p = context;
    size_t begin = fidk_part_begin(p->tiles, p->tile_tasks, index), end = fidk_part_begin(p->tiles, p->tile_tasks, index + 1);
    float *values = p->values + index * values_of(p), *sums = p->sums + index * sums_of(p);
    for (size_t i = 0, first; (first = block_begin(p, begin, end, i)) < end; i++) {
        size_t after = block_begin(p, begin, end, i + 1);
        transform_tiles(p, first, first, after, values);
        multiply(p, first, after - first, 0, fidk_panels(p->conv->out_channels), values, sums);
    }
}

static void run_part_of_transform(void *context, size_t index) {
    const winograd_plan *p = context;
    size_t count = p->end - p->first;
    transform_tiles(p, p->first, p->first + fidk_part_begin(count, p->column_tasks, index),
                    p->first + fidk_part_begin(count, p->column_tasks, index + 1), p->values);
}

static void run_columns(void *context, size_t index) {
    const winograd_plan *p = context;
    size_t panels = fidk_panels(p->conv->out_channels);
    multiply(p, p->first, p->end - p->first, fidk_part_begin(panels, p->column_tasks, index), fidk_part_begin(panels, p->column_tasks, index + 1),
             p->values, p->sums + index * sums_of(p));
}

void fidk_winograd_run(const fidk_conv *conv, void *scratch) {
    winograd_plan p = plan_winograd(conv);
    if (!p.tiles || !conv->out_channels) return;
    p.zeros = scratch;
    p.values = p.zeros + p.row;
    p.sums = p.values + p.tile_tasks * values_of(&p);
    memset(p.zeros, 0, p.row * sizeof *p.zeros);
    if (p.column_tasks == 1) {
        fidk_parallel(conv->threads, run_tiles, &p, p.tile_tasks);
        return;
    }
    for (size_t i = 0; (p.first = block_begin(&p, 0, p.tiles, i)) < p.tiles; i++) {
        p.end = block_begin(&p, 0, p.tiles, i + 1);
        fidk_parallel(conv->threads, run_part_of_transform, &p, p.column_tasks);
        fidk_parallel(conv->threads, run_columns, &p, p.column_tasks);
    }
}
