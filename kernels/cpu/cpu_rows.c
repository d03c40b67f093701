/* Softmax and the norms over last dimensions: rows of float32, spread over the threads. */
#include "kernels/cpu/operand.h"

/* Rows [begin, end) go to one task. */
typedef void (*row_range)(const void *context, size_t begin, size_t end);

typedef struct row_work {
    row_range range;
    const void *context;
    size_t rows, parts;
} row_work;

static void run_part(void *context, size_t index) {
    const row_work *w = context;
    w->range(w->context, fidk_part_begin(w->rows, w->parts, index), fidk_part_begin(w->rows, w->parts, index + 1));
}

static void run_rows(const fid_call *call, size_t rows, size_t columns, row_range range, const void *context) {
    row_work w = {range, context, rows, fidk_worthwhile_threads(call->threads, (double)rows * (double)columns * 30)};
    if (w.parts > rows) w.parts = rows ? rows : 1;
    if (columns) fidk_parallel(call->threads, run_part, &w, w.parts);
}

/* Dimensions [dim, rank) as columns. */
static size_t columns_from(const fid_tensor *tensor, size_t dim) { return fidk_count(tensor, dim, tensor->rank); }

/* ---- _softmax(self, dim, half_to_float), softmax.int(self, dim, dtype), and their logarithms ---- */

typedef struct softmax_work {
    const fidk_tiles *tiles;
    fidk_rows rows;
} softmax_work;

static void softmax_range(const void *context, size_t begin, size_t end) {
    const softmax_work *w = context;
    fidk_rows part = w->rows;
    part.x += begin * part.x_stride;
    part.y += begin * part.y_stride;
    part.rows = end - begin;
    w->tiles->softmax(&part);
}

/* Takes softmax over the last dimension, or over one that turning makes the last. */
static fid_status softmax_prepare(fid_call *call) {
    bool takes = fidk_plain_f32(fid_arg_tensor(call, 0)) && fidk_plain_f32(fid_out_tensor(call, 0)) && fid_arg_tensor(call, 0)->rank > 0;
    return takes ? FID_OK : FID_NOT_SUPPORTED;
}

static fid_status softmax_along(fid_call *call, size_t dim, bool logarithm) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    size_t columns = (size_t)self->sizes[dim], inner = fidk_count(self, dim + 1, self->rank), outer = fidk_count(self, 0, dim);
    softmax_work w = {fidk_tiles_for(call->cpu), {.x = self->data, .y = fid_out_tensor(call, 0)->data, .x_stride = columns,
                                                  .y_stride = columns, .columns = columns, .logarithm = logarithm}};
    float *turned = NULL, *result = w.rows.y;
    if (!fid_tensor_numel(self)) return FID_OK;
    if (inner > 1) {
        if (!(turned = fid_call_scratch(call, fid_tensor_bytes(self)))) return FID_OUT_OF_MEMORY;
        fidk_transpose(w.tiles, call->threads, w.rows.x, outer, columns, inner, turned);
        w.rows.x = w.rows.y = turned;
    }
    run_rows(call, outer * inner, columns, softmax_range, &w);
    if (turned) fidk_transpose(w.tiles, call->threads, turned, outer, inner, columns, result);
    return FID_OK;
}

static fid_status softmax_run(fid_call *call) {
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), fid_arg_tensor(call, 0)->rank, &dim));
    return softmax_along(call, dim, false);
}

static fid_status log_softmax_run(fid_call *call) {
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), fid_arg_tensor(call, 0)->rank, &dim));
    return softmax_along(call, dim, true);
}

/* Room for a tensor that is turned; over the last dimension none is. */
static size_t softmax_bytes(const fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    int64_t dim = fid_arg_int(call, 1);
    return dim == -1 || dim + 1 == self->rank ? 0 : fid_tensor_bytes(self);
}

const fid_kernel fid_cpu__softmax = {.prepare = softmax_prepare, .run = softmax_run, .scratch_bytes = softmax_bytes, .any_numbers = true};
const fid_kernel fid_cpu__log_softmax = {.prepare = softmax_prepare, .run = log_softmax_run, .scratch_bytes = softmax_bytes, .any_numbers = true};
const fid_kernel fid_cpu_softmax_int = {.prepare = softmax_prepare, .run = softmax_run, .scratch_bytes = softmax_bytes, .any_numbers = true};
const fid_kernel fid_cpu_log_softmax_int = {.prepare = softmax_prepare, .run = log_softmax_run, .scratch_bytes = softmax_bytes, .any_numbers = true};

/* ---- layer_norm, native_layer_norm, rms_norm(input, normalized_shape, weight, [bias,] eps) ---- */

typedef struct norm_work {
    const fidk_tiles *tiles;
    fidk_norm norm;
} norm_work;

static void norm_range(const void *context, size_t begin, size_t end) {
    const norm_work *w = context;
    fidk_norm part = w->norm;
    part.x += begin * part.columns;
    part.y += begin * part.columns;
    if (part.mean) part.mean += begin;
    if (part.factor) part.factor += begin;
    part.rows = end - begin;
    w->tiles->norm(&part);
}

static fid_status norm_prepare(fid_call *call) {
    uint32_t last = call->output_index;
    for (uint32_t i = 0; i < call->arg_count; i++)
        if ((i < last ? call->args[i]->tag == FID_TAG_TENSOR : true) && !fidk_plain_f32(fid_arg_tensor(call, i))) return FID_NOT_SUPPORTED;
    return FID_OK;
}

static fid_status run_norm(fid_call *call, norm_work *w) {
    const fid_tensor *input = fid_arg_tensor(call, 0);
    size_t count;
    fid_arg_ints(call, 1, &count);
    w->tiles = fidk_tiles_for(call->cpu);
    w->norm.x = input->data;
    w->norm.y = fid_out_tensor(call, 0)->data;
    w->norm.weight = fidk_floats(fid_arg_tensor(call, 2));
    w->norm.columns = columns_from(input, input->rank - count);
    run_rows(call, fidk_count(input, 0, input->rank - count), w->norm.columns, norm_range, w);
    return FID_OK;
}

static fid_status layer_norm_run(fid_call *call) {
    norm_work w = {.norm = {.bias = fidk_floats(fid_arg_tensor(call, 3)), .eps = (float)fid_arg_double(call, 4), .centred = true}};
    if (call->arg_count - call->output_index == 3) {
        w.norm.mean = fid_out_tensor(call, 1)->data;
        w.norm.factor = fid_out_tensor(call, 2)->data;
    }
    return run_norm(call, &w);
}

/* Without eps PyTorch takes the distance from 1 to the next float. */
static fid_status rms_norm_run(fid_call *call) {
    norm_work w = {.norm = {.eps = fid_arg_is_none(call, 3) ? 0x1p-23f : (float)fid_arg_double(call, 3)}};
    return run_norm(call, &w);
}

const fid_kernel fid_cpu_layer_norm = {.prepare = norm_prepare, .run = layer_norm_run, .any_numbers = true};
const fid_kernel fid_cpu_native_layer_norm = {.prepare = norm_prepare, .run = layer_norm_run, .any_numbers = true};
const fid_kernel fid_cpu_rms_norm = {.prepare = norm_prepare, .run = rms_norm_run, .any_numbers = true};
