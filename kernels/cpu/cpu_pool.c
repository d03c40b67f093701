/* Max and average pools of float32 images: fid::max_pool2d and aten::avg_pool2d. Images in logical order are turned in scratch. */
#include "kernels/cpu/windows.h"

typedef struct pool_work {
    const fidk_tiles *tiles;
    fid_window window;
    size_t batch, channels, lines, tasks;
    const float *in;
    float *out;
    bool largest, count_padding;
    int64_t divisor; /* 0: the number of positions */
    uint8_t *scratch;
    size_t task_bytes;
} pool_work;

/* Positions that an average divides by, in one dimension. */
static int64_t positions(const pool_work *w, size_t d, int64_t at) {
    int64_t begin = at * w->window.stride[d] - w->window.padding[d], end = begin + w->window.kernel[d];
    int64_t limit = w->window.in[d] + (w->count_padding ? w->window.padding[d] : 0);
    if (end > limit) end = limit;
    if (begin < 0 && !w->count_padding) begin = 0;
    return end - begin;
}

static void run_pixels(const pool_work *w, size_t line, int64_t x, int64_t pixels, int64_t *offsets) {
    const fid_window *window = &w->window;
    size_t lines = (size_t)(window->out[0] * window->out[1]), image = (size_t)(window->in[0] * window->in[1] * window->in[2]) * w->channels;
    int64_t at[3] = {(int64_t)(line % lines) / window->out[1], (int64_t)(line % lines) % window->out[1], x};
    int64_t divisor = w->divisor ? w->divisor : positions(w, 0, at[0]) * positions(w, 1, at[1]) * positions(w, 2, at[2]);
    fidk_pool pool = {.in = w->in + line / lines * image, .in_step = (size_t)window->stride[2] * w->channels, .offsets = offsets,
                      .taps = fidk_window_taps(window, w->channels, at, offsets, NULL),
                      .out = w->out + (line * (size_t)window->out[2] + (size_t)x) * w->channels, .out_step = w->channels,
                      .pixels = (size_t)pixels, .channels = w->channels, .scale = 1 / (float)divisor};
    if (w->largest) w->tiles->max_pool(&pool);
    else w->tiles->sum_pool(&pool);
}

static void run_task(void *context, size_t index) {
    const pool_work *w = context;
    int64_t begin, end, *offsets = (int64_t *)(w->scratch + index * w->task_bytes);
    size_t last = fidk_part_begin(w->lines, w->tasks, index + 1);
    fidk_window_middle(&w->window, &begin, &end);
    for (size_t line = fidk_part_begin(w->lines, w->tasks, index); line < last; line++) {
        for (int64_t x = 0; x < begin; x++) run_pixels(w, line, x, 1, offsets);
        if (begin < end) run_pixels(w, line, begin, end - begin, offsets);
        for (int64_t x = end; x < w->window.out[2]; x++) run_pixels(w, line, x, 1, offsets);
    }
}

static bool takes_image(const fid_tensor *t) {
    return t->rank == 4 && (fidk_plain_f32(t) || (t->dtype == FID_FLOAT32 && fid_is_channels_last(t->dim_order, t->rank)));
}

static fid_status prepare(fid_call *call) {
    return takes_image(fid_arg_tensor(call, 0)) && takes_image(fid_out_tensor(call, 0)) ? FID_OK : FID_NOT_SUPPORTED;
}

static size_t points(const int64_t *sizes) { return (size_t)(sizes[0] * sizes[1] * sizes[2]); }

static void plan_pool(const fid_call *call, const fid_pool *pool, pool_work *w) {
    w->tiles = fidk_tiles_for(call->cpu);
    w->window = pool->window;
    w->batch = (size_t)pool->input->sizes[0], w->channels = (size_t)pool->input->sizes[1];
    w->lines = w->batch * (size_t)(w->window.out[0] * w->window.out[1]);
    w->tasks = fidk_worthwhile_threads(call->threads, (double)fid_tensor_numel(fid_out_tensor(call, 0)) * (double)fidk_window_count(&w->window));
    if (w->tasks > w->lines) w->tasks = w->lines;
    w->task_bytes = fidk_window_count(&w->window) * sizeof(int64_t);
}

static fid_status run_pool(fid_call *call, const fid_pool *pool, pool_work *w) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    plan_pool(call, pool, w);
    if (fid_tensor_numel(out) == 0) return FID_OK;
    bool turn_in = fidk_plain_f32(pool->input), turn_out = fidk_plain_f32(out);
    w->scratch = fid_call_scratch(call, w->task_bytes * w->tasks);
    float *in = turn_in ? fid_call_scratch(call, fid_tensor_bytes(pool->input)) : pool->input->data;
    w->in = in;
    w->out = turn_out ? fid_call_scratch(call, fid_tensor_bytes(out)) : out->data;
    if (!w->scratch || !w->in || !w->out) return FID_OUT_OF_MEMORY;
    if (turn_in) fidk_transpose(w->tiles, call->threads, pool->input->data, w->batch, w->channels, points(w->window.in), in);
    fidk_parallel(call->threads, run_task, w, w->tasks);
    if (turn_out) fidk_transpose(w->tiles, call->threads, w->out, w->batch, points(w->window.out), w->channels, out->data);
    return FID_OK;
}

static size_t pool_bytes(const fid_call *call, const fid_pool *pool) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    pool_work w = {.largest = false};
    plan_pool(call, pool, &w);
    return fidk_scratch_piece(w.task_bytes * w.tasks) + (fidk_plain_f32(pool->input) ? fidk_scratch_piece(fid_tensor_bytes(pool->input)) : 0) +
           (fidk_plain_f32(out) ? fidk_scratch_piece(fid_tensor_bytes(out)) : 0);
}

static fid_status max_run(fid_call *call) {
    pool_work w = {.largest = true, .divisor = 1};
    fid_pool pool;
    FID_TRY(fid_max_pool_of(call, 2, &pool));
    return run_pool(call, &pool, &w);
}

static size_t max_bytes(const fid_call *call) {
    fid_pool pool;
    return fid_max_pool_of(call, 2, &pool) == FID_OK ? pool_bytes(call, &pool) : 0;
}

static fid_status avg_run(fid_call *call) {
    pool_work w = {.count_padding = fid_arg_bool(call, 5), .divisor = fid_arg_is_none(call, 6) ? 0 : fid_arg_int(call, 6)};
    fid_pool pool;
    FID_TRY(fid_avg_pool_of(call, 2, &pool));
    return run_pool(call, &pool, &w);
}

static size_t avg_bytes(const fid_call *call) {
    fid_pool pool;
    return fid_avg_pool_of(call, 2, &pool) == FID_OK ? pool_bytes(call, &pool) : 0;
}

const fid_kernel fid_cpu_fused_max_pool2d = {.prepare = prepare, .run = max_run, .scratch_bytes = max_bytes, .any_numbers = true};
const fid_kernel fid_cpu_avg_pool2d = {.prepare = prepare, .run = avg_run, .scratch_bytes = avg_bytes, .any_numbers = true};
