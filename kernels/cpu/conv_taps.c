/* Convolutions whose kernel lies in the padding for much of the image: dilated as wide as the image, as in pyramids of dilations.
 *
 * A product over whole patches would multiply all that padding. Here each kernel position (tap) is a product of its own, over the box of
 * outputs that see the image through it, added to the sums of that box; scale, bias, add and activation follow at the end. Threads share
 * output channels: weights are most of what such layers read. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/pack_weights.h"

#define MOST_SHARE 0.7     /* of multiplications that meet the image: above, one product over patches is faster */
#define LEAST_OUTPUTS 64   /* of an image: few rows cost their weights, whatever they multiply */
#define SUM_FLOATS 262144  /* of the sums at a time */

/* Outputs that see the image through one kernel position. */
typedef struct tap_box {
    const fidk_conv *conv;
    size_t image;
    int64_t tap[3], first[3], count[3];
} tap_box;

typedef struct tap_work {
    const fidk_conv *conv;
    size_t outputs;       /* of an image */
    size_t tasks, columns; /* output channels at a time */
    size_t gather_bytes, task_bytes;
    uint8_t *scratch;
} tap_work;

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Outputs [*first, *first + result) in dimension d whose kernel position `tap` lies in the image. */
static int64_t outputs_of(const fid_window *w, size_t d, int64_t tap, int64_t *first) {
    int64_t back = w->padding[d] - tap * w->dilation[d], room = w->in[d] - 1 + back;
    int64_t begin = back > 0 ? (back + w->stride[d] - 1) / w->stride[d] : 0, end = room < 0 ? 0 : room / w->stride[d] + 1;
    if (end > w->out[d]) end = w->out[d];
    *first = begin;
    return end > begin ? end - begin : 0;
}

bool fidk_taps_take(const fidk_conv *conv) {
    const fid_window *w = &conv->window;
    double share = 1, outputs = 1;
    if (conv->depthwise || conv->winograd || conv->pairs || conv->groups != 1) return false;
    for (size_t d = 0; d < 3; d++) {
        int64_t first, seen = 0;
        if (w->kernel[d] > 64) return false; /* no walk over endless kernels */
        for (int64_t tap = 0; tap < w->kernel[d]; tap++) seen += outputs_of(w, d, tap, &first);
        if (!w->out[d]) return false;
        share *= (double)seen / ((double)w->kernel[d] * (double)w->out[d]);
        outputs *= (double)w->out[d];
    }
    return share <= MOST_SHARE && outputs >= LEAST_OUTPUTS;
}

/* Rows of the product: inputs under the tap, output by output of the box. */
static void gather_box(const void *self, size_t row, size_t rows, size_t k, size_t depth, float *out, size_t out_stride) {
    const tap_box *b = self;
    const fid_window *w = &b->conv->window;
    for (size_t r = row; r < row + rows; r++, out += out_stride) {
        int64_t rest = (int64_t)r, at[3];
        for (size_t d = 3; d-- > 0; rest /= b->count[d])
            at[d] = (b->first[d] + rest % b->count[d]) * w->stride[d] - w->padding[d] + b->tap[d] * w->dilation[d];
        size_t pixel = (((size_t)at[0]) * (size_t)w->in[1] + (size_t)at[1]) * (size_t)w->in[2] + (size_t)at[2];
        pixel += b->image * (size_t)(w->in[0] * w->in[1] * w->in[2]);
        memcpy(out, b->conv->input + pixel * b->conv->in_channels + k, depth * sizeof *out);
    }
}

static fidk_gemm gemm_of(const fidk_conv *conv, size_t rows, size_t columns, const tap_box *box) {
    size_t taps = (size_t)(conv->window.kernel[0] * conv->window.kernel[1] * conv->window.kernel[2]);
    return (fidk_gemm){.tiles = conv->tiles, .m = rows, .n = columns, .k = conv->in_channels, .gather = gather_box, .gather_self = box, .b_row = FIDK_PANEL,
                       .b_panel = taps * conv->in_channels * FIDK_PANEL, .c_stride = columns};
}

static tap_work plan_taps(const fidk_conv *conv) {
    const int64_t *out = conv->window.out;
    tap_work w = {.conv = conv, .outputs = (size_t)(out[0] * out[1] * out[2])};
    size_t taps = (size_t)(conv->window.kernel[0] * conv->window.kernel[1] * conv->window.kernel[2]), panels = fidk_panels(conv->out_channels);
    double work = (double)(w.outputs * conv->batch) * (double)taps * (double)conv->in_channels * (double)conv->out_channels;
    w.tasks = smaller(fidk_worthwhile_threads(conv->threads, work * MOST_SHARE), panels);
    if (!w.tasks) w.tasks = 1;
    size_t most = SUM_FLOATS / w.outputs / FIDK_PANEL, wanted = (panels + w.tasks - 1) / w.tasks;
    if (most < 2) most = 2;
    w.columns = smaller(most, wanted) * FIDK_PANEL;
    fidk_gemm gemm = gemm_of(conv, w.outputs, w.columns, NULL);
    w.gather_bytes = fidk_scratch_piece(fidk_gemm_scratch_bytes(&gemm));
    w.task_bytes = w.gather_bytes + 2 * fidk_scratch_piece(w.outputs * w.columns * sizeof(float));
    return w;
}

size_t fidk_taps_scratch_bytes(const fidk_conv *conv) {
    tap_work w = plan_taps(conv);
    return w.tasks * w.task_bytes;
}

/* Adds the rows of a product over `box` to the sums of its outputs. */
static void add_box(const fidk_conv *conv, const tap_box *b, const float *product, size_t columns, float *sums) {
    const int64_t *out = conv->window.out;
    for (int64_t z = 0; z < b->count[0]; z++)
        for (int64_t y = 0; y < b->count[1]; y++) {
            size_t at = (size_t)(((b->first[0] + z) * out[1] + b->first[1] + y) * out[2] + b->first[2]), count = (size_t)b->count[2] * columns;
            fidk_binary add = {.a = sums + at * columns, .b = product, .y = sums + at * columns, .a_step = 1, .b_step = 1, .rows = 1,
                               .columns = count, .scale = 1};
            conv->tiles->binary[FID_BINARY_ADD](&add);
            product += count;
        }
}

/* y = y (operation) b, with rows of b `b_row` floats apart. */
static void apply(const fidk_conv *conv, fid_binary_kind kind, size_t rows, size_t columns, const float *b, size_t b_row, float *y) {
    fidk_binary step = {.a = y, .b = b, .y = y, .a_row = (int64_t)columns, .b_row = (int64_t)b_row, .y_row = (int64_t)columns, .a_step = 1, .b_step = 1,
                        .rows = rows, .columns = columns, .scale = 1};
    conv->tiles->binary[kind](&step);
}

/* Sums of an image, output channels [n, n + columns), to the output. */
static void finish(const tap_work *w, size_t image, size_t n, size_t columns, float *sums) {
    const fidk_conv *conv = w->conv;
    size_t stride = conv->out_channels, offset = image * w->outputs * stride + n;
    if (conv->scale) apply(conv, FID_BINARY_MUL, w->outputs, columns, conv->scale + n, 0, sums);
    if (conv->bias) apply(conv, FID_BINARY_ADD, w->outputs, columns, conv->bias + n, 0, sums);
    if (conv->add) apply(conv, FID_BINARY_ADD, w->outputs, columns, conv->add + offset, stride, sums);
    fidk_unary activate = {.x = sums, .y = conv->out + offset, .x_stride = columns, .y_stride = stride, .rows = w->outputs, .columns = columns,
                           .a = (float)conv->activation.a, .b = (float)conv->activation.b};
    conv->tiles->unary[conv->activation.kind](&activate);
}

static void run_image(const tap_work *w, size_t image, size_t n, size_t columns, uint8_t *scratch) {
    const fidk_conv *conv = w->conv;
    const int64_t *kernel = conv->window.kernel;
    float *sums = (float *)(scratch + w->gather_bytes), *product = sums + fidk_scratch_piece(w->outputs * w->columns * sizeof(float)) / sizeof(float);
    size_t panel = (size_t)(kernel[0] * kernel[1] * kernel[2]) * conv->in_channels * FIDK_PANEL, tap = 0;
    tap_box b = {.conv = conv, .image = image};
    memset(sums, 0, w->outputs * columns * sizeof *sums);
    for (b.tap[0] = 0; b.tap[0] < kernel[0]; b.tap[0]++)
        for (b.tap[1] = 0; b.tap[1] < kernel[1]; b.tap[1]++)
            for (b.tap[2] = 0; b.tap[2] < kernel[2]; b.tap[2]++, tap++) {
                size_t rows = 1;
                for (size_t d = 0; d < 3; d++) rows *= (size_t)(b.count[d] = outputs_of(&conv->window, d, b.tap[d], &b.first[d]));
                if (!rows) continue;
                fidk_gemm gemm = gemm_of(conv, rows, columns, &b);
                gemm.b = conv->weights + n / FIDK_PANEL * panel + tap * conv->in_channels * FIDK_PANEL;
                gemm.c = product;
                fidk_gemm_run(&gemm, scratch);
                add_box(conv, &b, product, columns, sums);
            }
    finish(w, image, n, columns, sums);
}

static void run_task(void *context, size_t index) {
    const tap_work *w = context;
    size_t panels = fidk_panels(w->conv->out_channels), n = fidk_part_begin(panels, w->tasks, index) * FIDK_PANEL;
    size_t end = smaller(fidk_part_begin(panels, w->tasks, index + 1) * FIDK_PANEL, w->conv->out_channels);
    for (; n < end; n += w->columns)
        for (size_t image = 0; image < w->conv->batch; image++)
            run_image(w, image, n, smaller(w->columns, end - n), w->scratch + index * w->task_bytes);
}

void fidk_taps_run(const fidk_conv *conv, void *scratch) {
    tap_work w = plan_taps(conv);
    w.scratch = scratch;
    fidk_parallel(conv->threads, run_task, &w, w.tasks);
}
