/* fid::separable_convolution, a band of lines at a time.
 *
 * For a band of output lines the lines of the expanded image that they see are computed into a buffer, the depthwise kernel runs over
 * them into another, and the projection reads that: both buffers stay in the second-level cache, where whole images between the three
 * convolutions would not. Expanded lines that the next band sees as well are kept. */
#include "kernels/cpu/conv.h"

#define EXPANDED_FLOATS 131072 /* of the buffer of expanded lines: 512 KiB */
#define HIDDEN_FLOATS 65536    /* of the buffer behind the depthwise kernel */

typedef struct separable_work {
    fid_separable s;
    const fidk_tiles *tiles;
    const float *in;
    float *out;
    fidk_conv depthwise; /* but for input and out */
    size_t hidden, in_line, expanded_line, hidden_line, out_line; /* channels; floats of a line of each image */
    size_t band;         /* output lines at a time */
    size_t lines, tasks; /* of all images */
    uint8_t *scratch;
    size_t expanded_bytes, hidden_bytes, task_bytes;
} separable_work;

/* What one task has in its buffers. */
typedef struct band_state {
    float *expanded, *hidden;
    void *taps;
    size_t image;
    int64_t first, end; /* lines of `image` in `expanded` */
} band_state;

/* Lines from the first to the last that `band` output lines see, as far as they can lie in the image. */
static size_t lines_under(const fid_window *w, size_t band) {
    size_t lines = (band - 1) * (size_t)w->stride[1] + (size_t)((w->kernel[1] - 1) * w->dilation[1]) + 1;
    return lines < (size_t)w->in[1] ? lines : (size_t)w->in[1];
}

/* Bytes of `lines` lines of `floats`, aligned; false if there is no such number. */
static bool line_bytes(size_t lines, size_t floats, size_t *out) {
    return fid_mul_size(lines, floats, out) && fid_mul_size(*out, sizeof(float), out) && fid_align_size(*out, 64, out);
}

static fid_status plan_bands(separable_work *w, const fid_threads *threads) {
    const fid_window *window = &w->depthwise.window;
    size_t height = (size_t)window->out[1];
    w->hidden = w->depthwise.in_channels;
    w->in_line = (size_t)(window->in[2] * w->s.in_channels);
    w->expanded_line = (size_t)window->in[2] * w->hidden;
    w->hidden_line = (size_t)window->out[2] * w->hidden;
    w->out_line = (size_t)(window->out[2] * w->s.out_channels);
    w->lines = (size_t)w->s.depthwise.batch * height;
    double per_line = (double)w->expanded_line * (double)w->s.in_channels + (double)w->hidden_line * (double)w->s.out_channels;
    w->tasks = fidk_worthwhile_threads(threads, (double)w->lines * per_line);
    if (w->tasks > w->lines) w->tasks = w->lines ? w->lines : 1;
    w->band = 1;
    while (w->band < height && (lines_under(window, w->band + 1) <= EXPANDED_FLOATS / (w->expanded_line + 1) || !w->s.expand_weight) &&
           w->band + 1 <= HIDDEN_FLOATS / (w->hidden_line + 1))
        w->band++;
    size_t lines = w->s.expand_weight ? lines_under(window, w->band) : 0, *bytes = &w->task_bytes;
    bool fits = line_bytes(lines, w->expanded_line, &w->expanded_bytes) && line_bytes(w->band, w->hidden_line, &w->hidden_bytes) &&
                fid_add_size(w->expanded_bytes, w->hidden_bytes, bytes) &&
                fid_add_size(*bytes, fidk_depthwise_band_bytes(&w->depthwise), bytes) && *bytes <= SIZE_MAX / w->tasks;
    return fits ? FID_OK : FID_OUT_OF_MEMORY;
}

static const float *floats_of(const fid_tensor *t) { return t ? t->data : NULL; }

/* Expanded lines [first, end) of an image to `out`. */
static void expand(const separable_work *w, size_t image, int64_t first, int64_t end, float *out) {
    const fid_window *window = &w->depthwise.window;
    size_t channels = (size_t)w->s.in_channels;
    fidk_gemm gemm = {.tiles = w->tiles, .m = (size_t)((end - first) * window->in[2]), .n = w->hidden, .k = channels,
                      .a = w->in + (image * (size_t)window->in[1] + (size_t)first) * w->in_line, .a_stride = channels, .c = out,
                      .c_stride = w->hidden, .bias = floats_of(w->s.expand_bias), .activation = w->s.expand_activation, .no_copies = true};
    fidk_gemm_set_packed(&gemm, w->s.expand_weight->data);
    fidk_gemm_run(&gemm, NULL);
}

/* Makes the expanded lines [first, end) of an image the content of the buffer. */
static void fill_expanded(const separable_work *w, band_state *b, size_t image, int64_t first, int64_t end) {
    int64_t kept = 0;
    if (b->image == image && first >= b->first && first < b->end) {
        kept = b->end - first;
        memmove(b->expanded, b->expanded + (size_t)(first - b->first) * w->expanded_line, (size_t)kept * w->expanded_line * sizeof(float));
    }
    if (first + kept < end) expand(w, image, first + kept, end, b->expanded + (size_t)kept * w->expanded_line);
    b->image = image, b->first = first, b->end = end;
}

static void project(const separable_work *w, size_t line, size_t lines, const float *hidden) {
    size_t width = (size_t)w->depthwise.window.out[2], channels = (size_t)w->s.out_channels;
    float *out = w->out + line * w->out_line;
    const float *add = floats_of(w->s.add);
    fidk_gemm gemm = {.tiles = w->tiles, .m = lines * width, .n = channels, .k = w->hidden, .a = hidden, .a_stride = w->hidden, .c = out,
                      .c_stride = channels, .bias = floats_of(w->s.project_bias), .add = add ? add + line * w->out_line : NULL,
                      .add_stride = channels, .activation = w->s.project_activation, .no_copies = true};
    fidk_gemm_set_packed(&gemm, w->s.project_weight->data);
    fidk_gemm_run(&gemm, NULL);
}

/* Output lines [y, y + lines) of one image. */
static void run_band(const separable_work *w, band_state *b, size_t image, size_t y, size_t lines) {
    const fid_window *window = &w->depthwise.window;
    int64_t first = (int64_t)y * window->stride[1] - window->padding[1];
    int64_t end = first + (int64_t)(lines - 1) * window->stride[1] + (window->kernel[1] - 1) * window->dilation[1] + 1;
    fidk_conv depthwise = w->depthwise;
    if (first < 0) first = 0;
    if (end > window->in[1]) end = window->in[1];
    if (end < first) end = first;
    if (w->s.expand_weight) {
        fill_expanded(w, b, image, first, end);
        depthwise.input = b->expanded;
        depthwise.in_line = first;
    } else depthwise.input = w->in + image * (size_t)window->in[1] * w->in_line;
    depthwise.out = b->hidden;
    depthwise.out_line = (int64_t)y;
    fidk_depthwise_band(&depthwise, y, lines, b->taps);
    project(w, image * (size_t)window->out[1] + y, lines, b->hidden);
}

static void run_task(void *context, size_t index) {
    const separable_work *w = context;
    size_t height = (size_t)w->depthwise.window.out[1], line = fidk_part_begin(w->lines, w->tasks, index);
    size_t end = fidk_part_begin(w->lines, w->tasks, index + 1);
    uint8_t *scratch = w->scratch + index * w->task_bytes;
    band_state b = {.expanded = (float *)scratch, .hidden = (float *)(scratch + w->expanded_bytes),
                    .taps = scratch + w->expanded_bytes + w->hidden_bytes, .image = SIZE_MAX};
    while (line < end) {
        size_t y = line % height, lines = end - line;
        if (lines > height - y) lines = height - y;
        if (lines > w->band) lines = w->band;
        run_band(w, &b, line / height, y, lines);
        line += lines;
    }
}

static bool is_image(const fid_tensor *t) {
    return !t || (t->dtype == FID_FLOAT32 && fid_is_channels_last(t->dim_order, t->rank));
}

static fid_status prepare(fid_call *call) {
    static const uint32_t plain[] = {1, 2, 7, 8, 16, 17};
    fid_separable s;
    FID_TRY(fid_separable_of(call, &s));
    bool takes = is_image(s.depthwise.input) && is_image(s.add) && is_image(fid_out_tensor(call, 0));
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) takes = takes && fidk_plain_f32(fid_arg_tensor(call, plain[i]));
    return takes ? FID_OK : FID_NOT_SUPPORTED;
}

static fid_status work_of(const fid_call *call, separable_work *w) {
    *w = (separable_work){.tiles = fidk_tiles_for(call->cpu), .in = fid_arg_tensor(call, 0)->data, .out = fid_out_tensor(call, 0)->data};
    FID_TRY(fid_separable_of(call, &w->s));
    w->depthwise = (fidk_conv){.tiles = w->tiles, .weights = w->s.depthwise.weight->data, .bias = floats_of(w->s.depthwise.bias),
                               .activation = w->s.activation};
    fidk_conv_set(&w->depthwise, &w->s.depthwise);
    w->depthwise.batch = 1;
    return plan_bands(w, call->threads);
}

static fid_status run(fid_call *call) {
    separable_work w;
    FID_TRY(work_of(call, &w));
    if (fid_tensor_numel(fid_out_tensor(call, 0)) == 0) return FID_OK;
    w.scratch = fid_call_scratch(call, w.task_bytes * w.tasks);
    if (!w.scratch) return FID_OUT_OF_MEMORY;
    fidk_parallel(call->threads, run_task, &w, w.tasks);
    return FID_OK;
}

static size_t scratch_bytes(const fid_call *call) {
    separable_work w;
    return work_of(call, &w) == FID_OK ? w.task_bytes * w.tasks : 0;
}

const fid_kernel fid_cpu_fused_separable = {.prepare = prepare, .run = run, .scratch_bytes = scratch_bytes};
