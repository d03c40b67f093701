/* Norms whose parameters belong to channels: batch norm with given statistics, group norm. */
#include "kernels/cpu/loops.h"
#include "kernels/cpu/operand.h"

/* y = x * scale + shift, the two last broadcast. */
static void affine_block(const void *context, const fidk_loops *block) {
    const fidk_tiles *tiles = context;
    for (int64_t r = 0; r < block->sizes[0]; r++) {
        const float *operand[4];
        for (size_t i = 0; i < 4; i++) operand[i] = (const float *)block->data[i] + r * block->strides[i][0];
        float *y = (float *)block->data[0] + r * block->strides[0][0];
        fidk_binary times = {.a = operand[1], .b = operand[2], .y = y, .a_step = 1, .b_step = block->strides[2][1] != 0, .rows = 1,
                             .columns = (size_t)block->sizes[1], .scale = 1};
        fidk_binary plus = {.a = y, .b = operand[3], .y = y, .a_step = 1, .b_step = times.b_step, .rows = 1, .columns = times.columns, .scale = 1};
        tiles->binary[FID_BINARY_MUL](&times);
        tiles->binary[FID_BINARY_ADD](&plus);
    }
}

/* `scale` and `shift` have one value a channel, or one a batch item and channel if `item_stride` is not 0. */
static void run_affine(const fid_call *call, const fid_tensor *x, const float *scale, const float *shift, int64_t item_stride) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    int64_t strides[FID_MAX_RANK] = {item_stride, 1};
    fidk_loops loops;
    fidk_loops_begin(&loops, out);
    fidk_loops_add(&loops, x, out);
    fidk_loops_add_strides(&loops, out, (void *)(uintptr_t)scale, sizeof *scale, strides);
    fidk_loops_add_strides(&loops, out, (void *)(uintptr_t)shift, sizeof *shift, strides);
    fidk_loops_merge(&loops);
    fidk_loops_run(&loops, call->threads, (double)fid_tensor_numel(out) * 10, affine_block, fidk_tiles_for(call->cpu));
}

static bool same_order(const fid_tensor *a, const fid_tensor *b) {
    return a->dtype == FID_FLOAT32 && b->dtype == FID_FLOAT32 && a->rank == b->rank && a->rank >= 2 &&
           memcmp(a->dim_order, b->dim_order, a->rank) == 0 && (fidk_plain_f32(a) || fid_is_channels_last(a->dim_order, a->rank));
}

/* ---- _native_batch_norm_legit_no_training(input, weight?, bias?, running_mean, running_var, momentum, eps) ---- */

static fid_status batch_norm_prepare(fid_call *call) {
    bool takes = same_order(fid_arg_tensor(call, 0), fid_out_tensor(call, 0));
    for (uint32_t i = 1; i < 5; i++) takes = takes && fidk_plain_f32(fid_arg_tensor(call, i));
    return takes ? FID_OK : FID_NOT_SUPPORTED;
}

static fid_status batch_norm_run(fid_call *call) {
    const fid_tensor *x = fid_arg_tensor(call, 0);
    const float *weight = fidk_floats(fid_arg_tensor(call, 1)), *bias = fidk_floats(fid_arg_tensor(call, 2));
    const float *mean = fid_arg_tensor(call, 3)->data, *variance = fid_arg_tensor(call, 4)->data;
    size_t channels = (size_t)x->sizes[1];
    float *scale = fid_call_scratch(call, 2 * channels * sizeof *scale + 1), *shift = scale + channels;
    double eps = fid_arg_double(call, 6);
    if (!scale) return FID_OUT_OF_MEMORY;
    for (size_t c = 0; c < channels; c++) {
        double factor = (weight ? (double)weight[c] : 1) / sqrt((double)variance[c] + eps);
        scale[c] = (float)factor;
        shift[c] = (float)((bias ? (double)bias[c] : 0) - (double)mean[c] * factor);
    }
    run_affine(call, x, scale, shift, 0);
    return FID_OK;
}

static size_t batch_norm_bytes(const fid_call *call) { return 2 * (size_t)fid_arg_tensor(call, 0)->sizes[1] * sizeof(float) + 1; }

const fid_kernel fid_cpu__native_batch_norm_legit_no_training = {.prepare = batch_norm_prepare, .run = batch_norm_run,
                                                                 .scratch_bytes = batch_norm_bytes, .any_numbers = true};

/* ---- native_group_norm(input, weight?, bias?, N, C, HxW, group, eps) -> output, mean, rstd ---- */

typedef struct group_work {
    const fidk_tiles *tiles;
    const float *x;
    size_t items, channels, points, groups;
    bool last;    /* channels-last */
    float *sums;  /* (items, channels): scratch */
    float *mean, *factor; /* (items, groups) */
    float eps;
    size_t tasks;
} group_work;

static fidk_rows rows_of(const group_work *w, size_t item, size_t channel, size_t channels) {
    const float *x = w->x + item * w->channels * w->points;
    if (w->last) return (fidk_rows){.x = x + channel, .x_stride = w->channels, .rows = w->points, .columns = channels, .scale = 1};
    return (fidk_rows){.x = x + channel * w->points, .x_stride = w->points, .rows = channels, .columns = w->points, .y_stride = 1, .scale = 1};
}

/* Sum of x, or of (x - shift)^2, over a group. */
static double sum_group(const group_work *w, size_t item, size_t group, float shift, bool squares) {
    size_t width = w->channels / w->groups, first = group * width;
    fidk_rows rows = rows_of(w, item, first, width);
    double sum = 0;
    rows.y = w->sums + item * w->channels + first;
    rows.shift = shift, rows.squares = squares;
    if (w->last) w->tiles->sum_columns(&rows);
    else w->tiles->sum_rows(&rows);
    for (size_t c = 0; c < width; c++) sum += rows.y[c];
    return sum;
}

static void measure_part(void *context, size_t index) {
    const group_work *w = context;
    size_t all = w->items * w->groups, end = fidk_part_begin(all, w->tasks, index + 1);
    double count = (double)(w->channels / w->groups) * (double)w->points;
    for (size_t i = fidk_part_begin(all, w->tasks, index); i < end; i++) {
        double mean = sum_group(w, i / w->groups, i % w->groups, 0, false) / count;
        double variance = sum_group(w, i / w->groups, i % w->groups, (float)mean, true) / count;
        w->mean[i] = (float)mean;
        w->factor[i] = (float)(1 / sqrt(variance + (double)w->eps));
    }
}

static fid_status group_norm_prepare(fid_call *call) {
    bool takes = same_order(fid_arg_tensor(call, 0), fid_out_tensor(call, 0)) && fidk_plain_f32(fid_arg_tensor(call, 1)) &&
                 fidk_plain_f32(fid_arg_tensor(call, 2)) && fidk_plain_f32(fid_out_tensor(call, 1)) && fidk_plain_f32(fid_out_tensor(call, 2));
    return takes ? FID_OK : FID_NOT_SUPPORTED;
}

/* Scale and shift of each item and channel from the statistics of its group. */
static void spread(const group_work *w, const float *weight, const float *bias, float *scale, float *shift) {
    for (size_t i = 0; i < w->items * w->channels; i++) {
        size_t c = i % w->channels, g = i / w->channels * w->groups + c / (w->channels / w->groups);
        scale[i] = w->factor[g] * (weight ? weight[c] : 1);
        shift[i] = (bias ? bias[c] : 0) - w->mean[g] * scale[i];
    }
}

static fid_status group_norm_run(fid_call *call) {
    const fid_tensor *x = fid_arg_tensor(call, 0);
    group_work w = {.tiles = fidk_tiles_for(call->cpu), .x = x->data, .items = (size_t)x->sizes[0], .channels = (size_t)x->sizes[1],
                    .points = fidk_count(x, 2, x->rank), .groups = (size_t)fid_arg_int(call, 6), .eps = (float)fid_arg_double(call, 7),
                    .last = !fidk_plain_f32(x), .mean = fid_out_tensor(call, 1)->data, .factor = fid_out_tensor(call, 2)->data};
    size_t count = w.items * w.channels;
    float *scale = fid_call_scratch(call, 3 * count * sizeof *scale + 1);
    if (!scale) return FID_OUT_OF_MEMORY;
    w.sums = scale + 2 * count;
    w.tasks = fidk_worthwhile_threads(call->threads, (double)fid_tensor_numel(x) * 4);
    if (w.items != 0 && w.groups != 0) fidk_parallel(call->threads, measure_part, &w, w.tasks);
    if (fid_tensor_numel(x) == 0) return FID_OK;
    spread(&w, fidk_floats(fid_arg_tensor(call, 1)), fidk_floats(fid_arg_tensor(call, 2)), scale, scale + count);
    run_affine(call, x, scale, scale + count, (int64_t)w.channels);
    return FID_OK;
}

static size_t group_norm_bytes(const fid_call *call) { return 3 * fidk_count(fid_arg_tensor(call, 0), 0, 2) * sizeof(float) + 1; }

const fid_kernel fid_cpu_native_group_norm = {.prepare = group_norm_prepare, .run = group_norm_run, .scratch_bytes = group_norm_bytes,
                                              .any_numbers = true};
