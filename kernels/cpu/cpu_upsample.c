/* Nearest and bilinear upsampling of float32 images: each output pixel blends one or four input pixels, channels side by side. An input
 * in logical order is turned in scratch, an output line by line. */
#include "kernels/cpu/windows.h"
#include "ops/resample.h"

/* The two input positions of an output position in one dimension; nearest: both the same. */
typedef struct axis_taps {
    int64_t first, second;
    float rest; /* weight of the second */
} axis_taps;

typedef struct upsample_work {
    const fidk_tiles *tiles;
    const float *in;
    float *out;
    size_t batch, channels, in_height, in_width, out_height, out_width, tasks;
    const axis_taps *rows, *columns; /* (out_height), (out_width) */
    float *lines;                    /* a line (out_width, channels) for each task if the output lies in logical order, or NULL */
    bool nearest;
} upsample_work;

static double step_of(const fid_resample *r, size_t d, bool nearest) {
    if (fid_resample_by_size(r, d, nearest) && !r->align_corners) return (double)r->in[d] / (double)r->out[d];
    if (r->align_corners) return r->out[d] > 1 ? (double)(r->in[d] - 1) / (double)(r->out[d] - 1) : 0;
    return r->scale[d] > 0 ? 1 / r->scale[d] : (double)r->in[d] / (double)r->out[d];
}

static int64_t limit(int64_t index, int64_t size) { return index < 0 ? 0 : index >= size ? size - 1 : index; }

/* The position is computed in float32, as PyTorch does: an image twice as large must pick the same elements. */
static void nearest_taps(const fid_resample *r, size_t d, axis_taps *taps) {
    float step = (float)step_of(r, d, true);
    for (int64_t i = 0; i < r->out[d]; i++) {
        int64_t at = limit((int64_t)fminf(floorf((float)i * step), (float)(r->in[d] - 1)), r->in[d]);
        taps[i] = (axis_taps){at, at, 0};
    }
}

static void linear_taps(const fid_resample *r, size_t d, axis_taps *taps) {
    double step = step_of(r, d, false);
    for (int64_t i = 0; i < r->out[d]; i++) {
        double at = r->align_corners ? step * (double)i : step * ((double)i + 0.5) - 0.5;
        at = fmin(fmax(at, 0), (double)r->in[d]);
        int64_t first = limit((int64_t)at, r->in[d]);
        taps[i] = (axis_taps){first, limit(first + 1, r->in[d]), (float)fmin(at - (double)first, 1)};
    }
}

static void blend_line(const upsample_work *w, const float *image, const axis_taps *row, float *out) {
    const float *above = image + (size_t)row->first * w->in_width * w->channels, *below = image + (size_t)row->second * w->in_width * w->channels;
    for (size_t x = 0; x < w->out_width; x++, out += w->channels) {
        const axis_taps *column = &w->columns[x];
        size_t left = (size_t)column->first * w->channels, right = (size_t)column->second * w->channels;
        if (w->nearest) {
            memcpy(out, above + left, w->channels * sizeof *out);
            continue;
        }
        float v = row->rest, h = column->rest;
        fidk_blend blend = {.rows = {above + left, above + right, below + left, below + right},
                            .weights = {(1 - v) * (1 - h), (1 - v) * h, v * (1 - h), v * h}, .taps = 4, .y = out, .columns = w->channels};
        w->tiles->blend(&blend);
    }
}

/* A line of pixels to its places in the planes of its image. */
static void turn_line(const upsample_work *w, const float *line, size_t image, size_t y) {
    size_t plane = w->out_height * w->out_width;
    fidk_turn turn = {.in = line, .in_stride = w->channels, .out = w->out + image * w->channels * plane + y * w->out_width, .out_stride = plane,
                      .rows = w->out_width, .columns = w->channels};
    w->tiles->transpose(&turn);
}

static void run_task(void *context, size_t index) {
    const upsample_work *w = context;
    size_t lines = w->batch * w->out_height, end = fidk_part_begin(lines, w->tasks, index + 1), floats = w->out_width * w->channels;
    for (size_t line = fidk_part_begin(lines, w->tasks, index); line < end; line++) {
        const float *image = w->in + line / w->out_height * w->in_height * w->in_width * w->channels;
        float *out = w->lines ? w->lines + index * floats : w->out + line * floats;
        blend_line(w, image, &w->rows[line % w->out_height], out);
        if (w->lines) turn_line(w, out, line / w->out_height, line % w->out_height);
    }
}

static bool takes_image(const fid_tensor *t) {
    return t->rank == 4 && (fidk_plain_f32(t) || (t->dtype == FID_FLOAT32 && fid_is_channels_last(t->dim_order, t->rank)));
}

static fid_status prepare(fid_call *call) {
    return takes_image(fid_arg_tensor(call, 0)) && takes_image(fid_out_tensor(call, 0)) ? FID_OK : FID_NOT_SUPPORTED;
}

static fid_status make_taps(fid_call *call, const fid_resample *r, upsample_work *w) {
    axis_taps *taps = fid_call_scratch(call, (w->out_height + w->out_width) * sizeof *taps);
    if (!taps) return FID_OUT_OF_MEMORY;
    void (*fill)(const fid_resample *r, size_t d, axis_taps *taps) = w->nearest ? nearest_taps : linear_taps;
    fill(r, 0, taps);
    fill(r, 1, taps + w->out_height);
    w->rows = taps;
    w->columns = taps + w->out_height;
    return FID_OK;
}

static bool is_turned(const fid_tensor *image) { return fidk_plain_f32(image) && image->sizes[1] > 1; }
static size_t line_bytes(const fid_tensor *out) { return (size_t)(out->sizes[1] * out->sizes[3]) * sizeof(float); }
static size_t tasks_of(const fid_call *call, const fid_tensor *out) { return fidk_worthwhile_threads(call->threads, (double)fid_tensor_numel(out) * 10); }

static fid_status run_upsample(fid_call *call, fid_resample_form form, bool nearest) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    fid_resample r;
    FID_TRY(fid_resample_of(call, form, &r));
    if (fid_tensor_numel(out) == 0) return FID_OK;
    upsample_work w = {.tiles = fidk_tiles_for(call->cpu), .in = self->data, .out = out->data, .batch = (size_t)self->sizes[0],
                       .channels = (size_t)self->sizes[1], .in_height = (size_t)r.in[0], .in_width = (size_t)r.in[1],
                       .out_height = (size_t)r.out[0], .out_width = (size_t)r.out[1], .nearest = nearest};
    FID_TRY(make_taps(call, &r, &w));
    w.tasks = tasks_of(call, out);
    bool turn_in = is_turned(self), turn_out = is_turned(out);
    float *turned = turn_in ? fid_call_scratch(call, fid_tensor_bytes(self)) : NULL;
    if (turn_out) w.lines = fid_call_scratch(call, w.tasks * line_bytes(out));
    if ((turn_out && !w.lines) || (turn_in && !turned)) return FID_OUT_OF_MEMORY;
    if (turn_in) {
        fidk_transpose(w.tiles, call->threads, w.in, w.batch, w.channels, w.in_height * w.in_width, turned);
        w.in = turned;
    }
    fidk_parallel(call->threads, run_task, &w, w.tasks);
    return FID_OK;
}

/* As run_upsample takes it: the taps, the turned input, lines of output before they are turned. */
static size_t scratch_bytes(const fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    size_t taps = (size_t)(out->sizes[2] + out->sizes[3]) * sizeof(axis_taps);
    return fidk_scratch_piece(taps) + (is_turned(self) ? fidk_scratch_piece(fid_tensor_bytes(self)) : 0) +
           (is_turned(out) ? fidk_scratch_piece(tasks_of(call, out) * line_bytes(out)) : 0);
}

#define DEFINE_KERNELS(id, align, nearest)                                                                             \
    static fid_status id##_run(fid_call *call) { return run_upsample(call, (fid_resample_form){2, align, false}, nearest); } \
    static fid_status id##_vec_run(fid_call *call) { return run_upsample(call, (fid_resample_form){2, align, true}, nearest); } \
    const fid_kernel fid_cpu_##id = {.prepare = prepare, .run = id##_run, .scratch_bytes = scratch_bytes, .any_numbers = true};                                             \
    const fid_kernel fid_cpu_##id##_vec = {.prepare = prepare, .run = id##_vec_run, .scratch_bytes = scratch_bytes, .any_numbers = true};

DEFINE_KERNELS(upsample_nearest2d, false, true)
DEFINE_KERNELS(upsample_bilinear2d, true, false)
