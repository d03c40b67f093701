/* Depthwise convolution: each channel has its own filter, channels are the vector's lanes.
 *
 * Kernels three or five positions wide go over a line of output as a whole: the tile passes over what lies in the padding. For others a
 * line is split into the left edge, the middle, where the whole kernel lies inside the image, and the right edge; a tile gets the kernel
 * positions that lie inside as offsets, so that it never sees padding. */
#include "kernels/cpu/conv.h"

#include "kernels/cpu/pack_weights.h"
#include "kernels/cpu/windows.h"

#define CACHE_FLOATS 6144  /* 24 KiB */
#define LARGE_IMAGE 262144 /* floats */

typedef struct line_work {
    const fidk_conv *conv;
    size_t lines, parts; /* tasks go over lines and parts of the channels */
    uint8_t *scratch;
} line_work;

/* Rows of a weight panel. */
static size_t taps_of(const fidk_conv *conv) {
    return (size_t)(conv->window.kernel[0] * conv->window.kernel[1] * conv->window.kernel[2]);
}

static size_t task_bytes(const fidk_conv *conv) {
    return (taps_of(conv) * (sizeof(int64_t) + sizeof(uint32_t)) + 63) / 64 * 64;
}

static line_work plan_lines(const fidk_conv *conv) {
    const int64_t *out = conv->window.out;
    double work = (double)conv->batch * (double)(out[0] * out[1] * out[2]) * (double)conv->out_channels * (double)taps_of(conv);
    size_t threads = fidk_worthwhile_threads(conv->threads, work / 8), panels = fidk_panels(conv->out_channels);
    line_work w = {.conv = conv, .lines = conv->batch * (size_t)(out[0] * out[1]), .parts = 1};
    if (w.lines < 4 * threads && threads > 1) w.parts = panels < threads ? panels : threads;
    return w;
}

/* One task for each thread, over lines or over channels. */
static size_t task_count(const line_work *w) {
    if (w->parts > 1) return w->parts;
    size_t threads = w->conv->threads ? w->conv->threads->count : 1;
    return w->lines < threads ? w->lines : threads;
}

size_t fidk_depthwise_scratch_bytes(const fidk_conv *conv) {
    line_work w = plan_lines(conv);
    return task_count(&w) * task_bytes(conv);
}

typedef struct line_part {
    size_t channel, channels; /* of this task */
    int64_t *offsets;
    uint32_t *rows;
} line_part;

/* Does the tile take the kernel line by line? With a dilated kernel every dilation-th pixel of a line shares inputs. Padding and dilation
 * may be as large as a number gets; within the image's size all that is computed of them stays small. */
static bool takes_lines(const fid_window *w) {
    bool near = w->padding[2] >= 0 && w->padding[2] <= w->in[2] && w->dilation[2] <= w->in[2];
    return near && (w->kernel[2] == 3 || w->kernel[2] == 5) && (w->stride[2] == 1 || (w->stride[2] == 2 && w->dilation[2] == 1));
}

/* a / b rounded up, for b > 0 */
static int64_t divide_up(int64_t a, int64_t b) { return a > 0 ? (a - 1) / b + 1 : -(-a / b); }

/* Whole lines of the kernel for output columns from at[2] on: positions are `dilation` columns of the image apart. */
static void set_lines(const fidk_conv *conv, const int64_t *at, const line_part *part, fidk_depthwise *tile) {
    const fid_window *w = &conv->window;
    int64_t first = at[2] * w->stride[2] - w->padding[2], step = w->dilation[2];
    tile->taps = fidk_window_lines(w, conv->in_channels, at, part->offsets, part->rows);
    tile->line_width = (size_t)w->kernel[2];
    tile->tap_step = (size_t)step * conv->in_channels;
    tile->left = divide_up(-first, step);
    tile->columns = divide_up(w->in[2] - first, step) - tile->left;
}

/* Output columns x, x + step, ...: `pixels` of them. */
static void run_pixels(const fidk_conv *conv, size_t line, int64_t x, int64_t step, int64_t pixels, const line_part *part) {
    const fid_window *w = &conv->window;
    size_t lines = (size_t)(w->out[0] * w->out[1]), image = (size_t)(w->in[0] * w->in[1] * w->in[2]) * conv->in_channels;
    int64_t at[3] = {(int64_t)(line % lines) / w->out[1], (int64_t)(line % lines) % w->out[1], x};
    size_t out = ((line - (size_t)conv->out_line) * (size_t)w->out[2] + (size_t)x) * conv->out_channels + part->channel;
    int64_t before = conv->in_line * w->in[2] * (int64_t)conv->in_channels; /* floats of the image that are not in memory */
    fidk_depthwise tile = {
        .offsets = part->offsets, .rows = part->rows,
        .in = conv->input + line / lines * image + part->channel, .in_step = (size_t)(step * w->stride[2]) * conv->in_channels,
        .weights = conv->weights + part->channel * taps_of(conv), .panel = taps_of(conv) * FIDK_PANEL,
        .bias = conv->bias ? conv->bias + part->channel : NULL, .add = conv->add ? conv->add + out : NULL, .out = conv->out + out,
        .out_step = (size_t)step * conv->out_channels, .pixels = (size_t)pixels, .channels = part->channels, .low = -INFINITY, .high = INFINITY};
    if (takes_lines(w)) set_lines(conv, at, part, &tile);
    else tile.taps = fidk_window_taps(w, conv->in_channels, at, part->offsets, part->rows);
    const fid_activation *f = &conv->activation;
    if (f->kind == FID_ACTIVATION_RELU) tile.low = 0;
    if (f->kind == FID_ACTIVATION_CLAMP) tile.low = (float)f->a, tile.high = (float)f->b;
    tile.hardswish = f->kind == FID_ACTIVATION_HARDSWISH;
    for (size_t t = 0; before && t < tile.taps; t++) part->offsets[t] -= before;
    conv->tiles->depthwise(&tile);
    if (fidk_tile_applies(f->kind)) return;
    fidk_unary unary = {.x = tile.out, .y = tile.out, .x_stride = tile.out_step, .y_stride = tile.out_step, .rows = tile.pixels,
                        .columns = tile.channels, .a = (float)f->a, .b = (float)f->b};
    conv->tiles->unary[f->kind](&unary);
}

static void run_line(const fidk_conv *conv, size_t line, const line_part *part) {
    const fid_window *w = &conv->window;
    int64_t begin, end;
    if (takes_lines(w)) {
        const int64_t step = w->dilation[2];
        for (int64_t x = 0; x < step && x < w->out[2]; x++) run_pixels(conv, line, x, step, divide_up(w->out[2] - x, step), part);
        return;
    }
    fidk_window_middle(w, &begin, &end);
    for (int64_t x = 0; x < begin; x++) run_pixels(conv, line, x, 1, 1, part);
    if (begin < end) run_pixels(conv, line, begin, 1, end - begin, part);
    for (int64_t x = end; x < w->out[2]; x++) run_pixels(conv, line, x, 1, 1, part);
}

/* Channels to take through all lines of a task before the next: the lines under the kernel then stay in the first-level cache. An
 * image that does not stay in the second level is read once, in whole lines. */
static size_t chunk_of(const fidk_conv *conv, size_t image_floats) {
    size_t floats = (size_t)(conv->window.kernel[0] * conv->window.kernel[1] * conv->window.in[2]);
    size_t chunk = floats ? CACHE_FLOATS / floats / FIDK_PANEL * FIDK_PANEL : FIDK_PANEL;
    if (image_floats > LARGE_IMAGE) return conv->in_channels;
    return chunk < 2 * FIDK_PANEL ? 2 * FIDK_PANEL : chunk;
}

/* Lines [line, end), channels [channel, last) in chunks. */
static void run_lines(const fidk_conv *conv, size_t line, size_t end, size_t channel, size_t last, size_t chunk, void *scratch) {
    line_part part = {.offsets = scratch};
    part.rows = (uint32_t *)(part.offsets + taps_of(conv));
    for (; channel < last; channel += chunk) {
        part.channel = channel;
        part.channels = last - channel < chunk ? last - channel : chunk;
        for (size_t l = line; l < end; l++) run_line(conv, l, &part);
    }
}

static void run_task(void *context, size_t index) {
    const line_work *w = context;
    const fidk_conv *conv = w->conv;
    size_t panels = fidk_panels(conv->out_channels), channel = 0, last = conv->out_channels, line = 0, end = w->lines, tasks = task_count(w);
    if (w->parts > 1) {
        channel = fidk_part_begin(panels, w->parts, index) * FIDK_PANEL;
        last = fidk_part_begin(panels, w->parts, index + 1) * FIDK_PANEL;
        if (last > conv->out_channels) last = conv->out_channels;
    } else {
        line = fidk_part_begin(w->lines, tasks, index);
        end = fidk_part_begin(w->lines, tasks, index + 1);
    }
    const int64_t *in = conv->window.in;
    size_t chunk = chunk_of(conv, (size_t)(in[0] * in[1] * in[2]) * conv->in_channels);
    run_lines(conv, line, end, channel, last, chunk, w->scratch + index * task_bytes(conv));
}

size_t fidk_depthwise_band_bytes(const fidk_conv *conv) { return task_bytes(conv); }

void fidk_depthwise_band(const fidk_conv *conv, size_t first, size_t count, void *scratch) {
    run_lines(conv, first, first + count, 0, conv->out_channels, chunk_of(conv, 0), scratch);
}

void fidk_depthwise_run(const fidk_conv *conv, void *scratch) {
    line_work w = plan_lines(conv);
    w.scratch = scratch;
    fidk_parallel(conv->threads, run_task, &w, task_count(&w));
}
