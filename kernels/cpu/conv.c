/* Convolutions as matrix products: rows are output positions, columns output channels, k runs over (kernel position, channel).
 *
 * A kernel of one position with stride one reads the image as the matrix that it is. Others gather patches a block of rows at a
 * time, so the patch matrix never exists as a whole. */
#include "kernels/cpu/conv.h"

#include "kernels/cpu/pack_weights.h"
#include "kernels/cpu/windows.h"

static size_t product3(const int64_t *sizes) { return (size_t)(sizes[0] * sizes[1] * sizes[2]); }

void fidk_conv_set(fidk_conv *conv, const fid_convolution *from) {
    conv->window = from->window;
    conv->batch = (size_t)from->batch;
    conv->in_channels = (size_t)from->in_channels;
    conv->out_channels = (size_t)from->out_channels;
    conv->groups = (size_t)from->groups;
    conv->depthwise = fid_convolution_is_depthwise(from);
}

/* ---- Packing ---- */

size_t fidk_conv_packed_floats(const fid_convolution *conv) {
    size_t taps = product3(conv->window.kernel), groups = (size_t)conv->groups;
    if (fid_convolution_is_depthwise(conv)) return fidk_packed_floats(groups, taps);
    return groups * fidk_packed_floats((size_t)conv->out_channels / groups, taps * ((size_t)conv->in_channels / groups));
}

/* Offset of kernel position `tap` in the plain weight. */
static int64_t tap_offset(const fid_tensor *w, size_t tap) {
    int64_t at = 0;
    for (size_t d = w->rank; d-- > 2;) {
        at += (int64_t)(tap % (size_t)w->sizes[d]) * w->strides[d];
        tap /= (size_t)w->sizes[d];
    }
    return at;
}

/* One panel: output channels [first, first + columns). */
static float *pack_panel(const fid_convolution *conv, size_t first, size_t columns, size_t taps, size_t in, float *out) {
    const fid_tensor *w = conv->weight;
    for (size_t tap = 0; tap < taps; tap++) {
        const float *from = (const float *)w->data + (int64_t)first * w->strides[0] + tap_offset(w, tap);
        for (size_t c = 0; c < in; c++, out += FIDK_PANEL) {
            for (size_t j = 0; j < FIDK_PANEL; j++) out[j] = j < columns ? from[(int64_t)j * w->strides[0] + (int64_t)c * w->strides[1]] : 0;
        }
    }
    return out;
}

void fidk_conv_pack(const fid_convolution *conv, float *out_packed) {
    size_t taps = product3(conv->window.kernel), groups = (size_t)conv->groups, in = (size_t)conv->in_channels / groups;
    bool depthwise = fid_convolution_is_depthwise(conv);
    size_t columns = depthwise ? groups : (size_t)conv->out_channels / groups, repeats = depthwise ? 1 : groups;
    for (size_t g = 0; g < repeats; g++) {
        for (size_t n0 = 0; n0 < columns; n0 += FIDK_PANEL) {
            size_t left = columns - n0 < FIDK_PANEL ? columns - n0 : FIDK_PANEL;
            out_packed = pack_panel(conv, g * columns + n0, left, taps, in, out_packed);
        }
    }
}

/* ---- Patches ---- */

typedef struct patches {
    const fidk_conv *conv;
    size_t first_channel, channels; /* of the group */
} patches;

/* Floats [begin, end) of a line of `length` floats; what lies outside the line is 0. */
static void copy_clipped(const float *line, int64_t begin, int64_t end, int64_t length, float *out) {
    int64_t from = begin < 0 ? 0 : begin, to = end > length ? length : end;
    if (from >= to) {
        memset(out, 0, (size_t)(end - begin) * sizeof *out);
        return;
    }
    if (from > begin) memset(out, 0, (size_t)(from - begin) * sizeof *out);
    memcpy(out + (from - begin), line + from, (size_t)(to - from) * sizeof *out);
    if (to < end) memset(out + (to - begin), 0, (size_t)(end - to) * sizeof *out);
}

/* Kernel positions of one line of the kernel, floats [begin, end) of (kernel width, channels), at input line `line` (NULL: padding). */
static void gather_line(const patches *p, const float *line, int64_t x, size_t begin, size_t end, float *out) {
    const fid_window *w = &p->conv->window;
    int64_t all = (int64_t)p->conv->in_channels, channels = (int64_t)p->channels;
    if (!line) {
        memset(out, 0, (end - begin) * sizeof *out);
        return;
    }
    if (w->dilation[2] == 1 && channels == all) {
        copy_clipped(line, x * all + (int64_t)begin, x * all + (int64_t)end, w->in[2] * all, out);
        return;
    }
    while (begin < end) {
        int64_t tap = (int64_t)begin / channels, c = (int64_t)begin % channels, column = x + tap * w->dilation[2];
        size_t count = (size_t)(channels - c) < end - begin ? (size_t)(channels - c) : end - begin;
        bool inside = column >= 0 && column < w->in[2];
        if (inside) memcpy(out, line + column * all + (int64_t)p->first_channel + c, count * sizeof *out);
        else memset(out, 0, count * sizeof *out);
        begin += count, out += count;
    }
}

/* The part of kernel line `line` in columns [k, k + depth) of the patch matrix, and where it starts in the image for output position
 * `at`; NULL for padding. */
typedef struct patch_line {
    const float *from;
    size_t begin, end;
} patch_line;

static patch_line line_of(const patches *p, size_t n, const int64_t *at, size_t line, size_t k, size_t depth) {
    const fid_window *w = &p->conv->window;
    size_t floats = (size_t)w->kernel[2] * p->channels, first = line * floats;
    int64_t z = at[0] * w->stride[0] - w->padding[0] + (int64_t)(line / (size_t)w->kernel[1]) * w->dilation[0];
    int64_t y = at[1] * w->stride[1] - w->padding[1] + (int64_t)(line % (size_t)w->kernel[1]) * w->dilation[1];
    bool inside = z >= 0 && z < w->in[0] && y >= 0 && y < w->in[1];
    const float *from = p->conv->input + (((int64_t)n * w->in[0] + z) * w->in[1] + y) * w->in[2] * (int64_t)p->conv->in_channels;
    return (patch_line){inside ? from : NULL, first < k ? k - first : 0, k + depth - first < floats ? k + depth - first : floats};
}

/* One row of the patch matrix, columns [k, k + depth). */
static void gather_patch(const patches *p, size_t n, const int64_t *at, size_t k, size_t depth, float *out) {
    const fid_window *w = &p->conv->window;
    size_t floats = (size_t)w->kernel[2] * p->channels;
    for (size_t line = k / floats; line * floats < k + depth; line++) {
        patch_line part = line_of(p, n, at, line, k, depth);
        gather_line(p, part.from, at[2] * w->stride[2] - w->padding[2], part.begin, part.end, out);
        out += part.end - part.begin;
    }
}

/* Neighbouring pixels whose whole kernel lies inside a line, if the kernel's lines are runs of memory; false if they are not. */
static bool gather_middle(const patches *p, size_t n, const int64_t *at, size_t pixels, size_t k, size_t depth, float *out, size_t out_stride) {
    const fid_window *w = &p->conv->window;
    size_t floats = (size_t)w->kernel[2] * p->channels, first = k / floats, all = p->conv->in_channels;
    fidk_patch tile = {.lines = (k + depth + floats - 1) / floats - first, .in_step = (size_t)w->stride[2] * all, .pixels = pixels, .out = out,
                       .out_stride = out_stride};
    if (tile.lines > FIDK_PATCH_LINES || (w->kernel[2] > 1 && (w->dilation[2] != 1 || p->channels != all))) return false;
    for (size_t i = 0; i < tile.lines; i++) {
        patch_line part = line_of(p, n, at, first + i, k, depth);
        int64_t x = at[2] * w->stride[2] - w->padding[2];
        tile.line[i] = part.from ? part.from + (size_t)x * all + p->first_channel + part.begin : NULL;
        tile.run[i] = part.end - part.begin;
    }
    p->conv->tiles->patch(&tile);
    return true;
}

/* Pixels from `at` to the end of its line, at most `rows`: the edges one by one. Returns how many. */
static size_t gather_span(const patches *p, size_t n, int64_t *at, size_t rows, size_t k, size_t depth, float *out, size_t out_stride) {
    int64_t begin, end;
    fidk_window_middle(&p->conv->window, &begin, &end);
    if (at[2] >= begin && at[2] < end) {
        size_t pixels = (size_t)(end - at[2]) < rows ? (size_t)(end - at[2]) : rows;
        if (gather_middle(p, n, at, pixels, k, depth, out, out_stride)) return pixels;
    }
    gather_patch(p, n, at, k, depth, out);
    return 1;
}

static void gather_patches(const void *self, size_t row, size_t rows, size_t k, size_t depth, float *out, size_t out_stride) {
    const patches *p = self;
    const int64_t *sizes = p->conv->window.out;
    size_t rest = row;
    int64_t at[3];
    for (size_t d = 3; d-- > 0;) {
        at[d] = (int64_t)(rest % (size_t)sizes[d]);
        rest /= (size_t)sizes[d];
    }
    while (rows) {
        size_t done = gather_span(p, rest, at, rows, k, depth, out, out_stride);
        out += done * out_stride;
        rows -= done;
        if ((at[2] += (int64_t)done) < sizes[2]) continue;
        at[2] = 0;
        if (++at[1] < sizes[1]) continue;
        at[1] = 0;
        if (++at[0] < sizes[0]) continue;
        at[0] = 0;
        rest++;
    }
}

/* ---- Products ---- */

/* The rows of the product are the pixels of the input. A phase of a transposed convolution may have more outputs than inputs. */
static bool is_pointwise(const fidk_conv *conv) {
    const fid_window *w = &conv->window;
    for (size_t d = 0; d < 3; d++)
        if (w->kernel[d] != 1 || w->stride[d] != 1 || w->padding[d] || w->padding_end[d] || w->in[d] != w->out[d]) return false;
    return true;
}

/* Memory that is not there yet stays so: scratch is also asked for before tensors have a place. */
static const float *group_part(const float *all, size_t offset) { return all ? all + offset : NULL; }

static fidk_gemm gemm_of_group(const fidk_conv *conv, size_t group, patches *p) {
    size_t in = conv->in_channels / conv->groups, out = conv->out_channels / conv->groups;
    fidk_gemm gemm = {.tiles = conv->tiles, .threads = conv->threads, .m = conv->batch * product3(conv->window.out), .n = out,
                      .k = in * product3(conv->window.kernel), .c = conv->out ? conv->out + group * out : NULL, .c_stride = conv->out_channels,
                      .scale = group_part(conv->scale, group * out), .bias = group_part(conv->bias, group * out), .add = group_part(conv->add, group * out),
                      .add_stride = conv->out_channels, .activation = conv->activation};
    if (conv->pairs) fidk_gemm_set_pairs(&gemm, conv->pairs + group * fidk_pair_words(fidk_panels(out), gemm.k), conv->cpu);
    else fidk_gemm_set_packed(&gemm, conv->weights + group * fidk_packed_floats(out, gemm.k));
    if (is_pointwise(conv)) {
        gemm.a = group_part(conv->input, group * in);
        gemm.a_stride = conv->in_channels;
    } else {
        *p = (patches){conv, group * in, in};
        gemm.gather = gather_patches;
        gemm.gather_self = p;
    }
    return gemm;
}

size_t fidk_conv_scratch_bytes(const fidk_conv *conv) {
    patches p;
    if (conv->depthwise) return fidk_depthwise_scratch_bytes(conv);
    if (conv->winograd) return fidk_winograd_scratch_bytes(conv);
    if (fidk_taps_take(conv)) return fidk_taps_scratch_bytes(conv);
    fidk_gemm gemm = gemm_of_group(conv, 0, &p);
    return fidk_gemm_scratch_bytes(&gemm);
}

void fidk_conv_run(const fidk_conv *conv, void *scratch) {
    if (conv->depthwise) {
        fidk_depthwise_run(conv, scratch);
        return;
    }
    if (conv->winograd) {
        fidk_winograd_run(conv, scratch);
        return;
    }
    if (fidk_taps_take(conv)) {
        fidk_taps_run(conv, scratch);
        return;
    }
    for (size_t g = 0; g < conv->groups; g++) {
        patches p;
        fidk_gemm gemm = gemm_of_group(conv, g, &p);
        fidk_gemm_run(&gemm, scratch);
    }
}
