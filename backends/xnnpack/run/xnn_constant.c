/* Datatypes: constants to float32, quantization to a grid, and what crosses the delegate's border. */
#include "backends/xnnpack/run/xnn_graph.h"
#include "base/half.h"

static size_t element_bytes(uint8_t datatype) {
#define CASE(NAME, code, text, bytes) case code: return bytes;
    switch (datatype) { FID_XNN_DATATYPES(CASE) }
    return 0;
}

static size_t numel(const fid_xnn_value *v) {
    size_t count = 1;
    for (size_t i = 0; i < v->rank; i++) count *= (size_t)v->dims[i]; /* checked when read */
    return count;
}

static bool is_nibbles(uint8_t datatype) { return datatype == FID_XNN_QCINT4 || datatype == FID_XNN_QBINT4; }

size_t fid_xnn_constant_bytes(const fid_xnn_value *v) {
    /* Rows of two numbers a byte, each from a byte on. */
    if (is_nibbles(v->datatype)) return (size_t)v->dims[0] * (((size_t)v->dims[1] + 1) / 2);
    return numel(v) * element_bytes(v->datatype);
}

static float scale_at(const fid_xnn_quant *q, size_t i) {
    float scale;
    memcpy(&scale, q->scales.data + 4 * i, 4);
    return scale;
}

static float group_scale_at(const fid_xnn_quant *q, size_t i) {
    uint16_t bits;
    memcpy(&bits, q->scales.data + 2 * i, 2);
    return fid_float_from_bf16(bits);
}

/* Two's complement of `bytes` bytes. */
static int32_t integer_at(const uint8_t *data, size_t bytes, size_t i) {
    int32_t wide;
    if (bytes == 1) return (int8_t)data[i];
    memcpy(&wide, data + 4 * i, 4);
    return wide;
}

static void nibbles_to_floats(const fid_xnn_value *v, float *to) {
    size_t rows = (size_t)v->dims[0], columns = (size_t)v->dims[1], row_bytes = (columns + 1) / 2;
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            int number = (v->data.data[i * row_bytes + j / 2] >> (j % 2 ? 4 : 0) & 15) - 8;
            float scale = v->datatype == FID_XNN_QCINT4 ? scale_at(&v->quant, i)
                                                        : group_scale_at(&v->quant, i * (columns / v->quant.group_size) + j / v->quant.group_size);
            to[i * columns + j] = (float)number * scale;
        }
    }
}

static void channels_to_floats(const fid_xnn_value *v, float *to) {
    size_t bytes = element_bytes(v->datatype), count = numel(v), inner = 1, channels = (size_t)v->dims[v->quant.channel_dim];
    for (size_t i = v->quant.channel_dim + 1u; i < v->rank; i++) inner *= (size_t)v->dims[i];
    for (size_t i = 0; i < count; i++) to[i] = (float)integer_at(v->data.data, bytes, i) * scale_at(&v->quant, i / inner % channels);
}

void fid_xnn_to_floats(const fid_xnn_value *v, const void *from, size_t count, float *to) {
    const uint8_t *bytes = from;
    uint16_t half;
    switch (v->datatype) {
    case FID_XNN_FP32: memcpy(to, from, count * sizeof *to); break;
    case FID_XNN_FP16: for (size_t i = 0; i < count; i++) memcpy(&half, bytes + 2 * i, 2), to[i] = fid_float_from_f16(half); break;
    case FID_XNN_BF16: for (size_t i = 0; i < count; i++) memcpy(&half, bytes + 2 * i, 2), to[i] = fid_float_from_bf16(half); break;
    case FID_XNN_QUINT8: for (size_t i = 0; i < count; i++) to[i] = (float)(bytes[i] - v->quant.zero_point) * v->quant.scale; break;
    default: /* QINT8, QINT32 */
        for (size_t i = 0; i < count; i++)
            to[i] = (float)((double)integer_at(bytes, element_bytes(v->datatype), i) - v->quant.zero_point) * v->quant.scale;
    }
}

static void constant_to_floats(const fid_xnn_value *v, float *to) {
    if (is_nibbles(v->datatype)) nibbles_to_floats(v, to);
    else if (v->quant.kind == FID_XNN_TAG_PerChannelQuant) channels_to_floats(v, to);
    else fid_xnn_to_floats(v, v->data.data, numel(v), to);
}

static bool is_in_place(const fid_xnn_value *v) { return v->datatype == FID_XNN_FP32 && (uintptr_t)v->data.data % sizeof(float) == 0; }

const float *fid_xnn_floats(fid_xnn_graph *graph, const fid_xnn_value *v, size_t *out_bytes) {
    *out_bytes = 0;
    if (is_in_place(v)) return (const float *)(const void *)v->data.data;
    size_t bytes = numel(v) * sizeof(float);
    float *floats = fid_allocate(graph->init.allocator, bytes);
    if (!floats) {
        (void)fid_fail(graph->sink, FID_OUT_OF_MEMORY, "no memory for %zu bytes of a weight", bytes);
        return NULL;
    }
    constant_to_floats(v, floats);
    *out_bytes = bytes ? bytes : 1;
    return floats;
}

const float *fid_xnn_floats_kept(fid_xnn_graph *graph, const fid_xnn_value *v) {
    if (is_in_place(v)) return (const float *)(const void *)v->data.data;
    float *floats = fid_xnn_persist(graph, numel(v), sizeof *floats);
    if (floats) constant_to_floats(v, floats);
    return floats;
}

/* ---- The grid ---- */

typedef struct grid {
    float scale, inverse;
    int32_t zero_point, low, high;
} grid;

/* The integer of a real number: rounded to the nearest, ties to even; NaN gives the lowest. */
static float round_to_grid(const grid *g, float x) {
    float number = rintf(x * g->inverse) + (float)g->zero_point;
    if (!(number >= (float)g->low)) number = (float)g->low;
    return number > (float)g->high ? (float)g->high : number;
}

static grid grid_of(uint8_t datatype, const fid_xnn_quant *q) {
    bool is_unsigned = datatype == FID_XNN_QUINT8;
    return (grid){q->scale, 1 / q->scale, q->zero_point, is_unsigned ? 0 : -128, is_unsigned ? 255 : 127};
}

void fid_xnn_from_floats(const fid_xnn_value *v, const float *from, size_t count, void *to) {
    uint8_t *bytes = to;
    grid g = grid_of(v->datatype, &v->quant);
    for (size_t i = 0; i < count; i++) {
        uint16_t half = v->datatype == FID_XNN_BF16 ? fid_bf16_from_float(from[i]) : v->datatype == FID_XNN_FP16 ? fid_f16_from_float(from[i]) : 0;
        if (v->quant.kind) bytes[i] = (uint8_t)(int)round_to_grid(&g, from[i]);
        else memcpy(bytes + 2 * i, &half, 2);
    }
}

/* quantize(self, scale, zero_point, unsigned): the real number that the nearest integer stands for. */
static fid_status quantize_run(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    fid_xnn_quant q = {.scale = (float)fid_arg_double(call, 1), .zero_point = (int32_t)fid_arg_int(call, 2)};
    grid g = grid_of(fid_arg_bool(call, 3) ? FID_XNN_QUINT8 : FID_XNN_QINT8, &q);
    const float *from = self->data;
    float *to = fid_out_tensor(call, 0)->data;
    for (size_t i = 0, count = fid_tensor_numel(self); i < count; i++) to[i] = (round_to_grid(&g, from[i]) - (float)g.zero_point) * g.scale;
    return FID_OK;
}

/* The grid of a row: from its extremes and zero, over the 256 integers; zero is on the grid. */
static grid grid_of_row(const float *row, size_t count) {
    float low = 0, high = 0;
    for (size_t i = 0; i < count; i++) low = row[i] < low ? row[i] : low, high = row[i] > high ? row[i] : high;
    grid g = {.scale = 1, .inverse = 1, .low = -128, .high = 127};
    if (low < high) {
        g.inverse = 255 / (high - low);
        g.scale = 1 / g.inverse;
    }
    float scaled_low = low * g.inverse, scaled_high = high * g.inverse;
    float zero = scaled_low - 128 + scaled_high + 127 > 0 ? -128 - scaled_low : 127 - scaled_high;
    zero = rintf(zero);
    g.zero_point = zero < -128 ? -128 : zero > 127 ? 127 : (int32_t)zero;
    return g;
}

/* quantize_rows(self, dims): the last `dims` dimensions are a row. */
static fid_status quantize_rows_run(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    size_t length = 1, dims = (size_t)fid_arg_int(call, 1), count = fid_tensor_numel(self);
    for (size_t i = self->rank - dims; i < self->rank; i++) length *= (size_t)self->sizes[i];
    const float *from = self->data;
    float *to = fid_out_tensor(call, 0)->data;
    for (size_t row = 0; row < count; row += length) {
        grid g = grid_of_row(from + row, length);
        for (size_t i = row; i < row + length; i++) to[i] = (round_to_grid(&g, from[i]) - (float)g.zero_point) * g.scale;
    }
    return FID_OK;
}

static fid_status same_shape(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    *outs = fid_meta_of(fid_arg_tensor(call, 0));
    return FID_OK;
}

static const fid_kernel quantize_kernel = {.run = quantize_run}, quantize_rows_kernel = {.run = quantize_rows_run};
const fid_op fid_xnn_quantize = {.name = "xnnpack::quantize", .shape = same_shape, .reference = &quantize_kernel, .kind = FID_OP_POINTWISE};
const fid_op fid_xnn_quantize_rows = {.name = "xnnpack::quantize_rows", .shape = same_shape, .reference = &quantize_rows_kernel, .kind = FID_OP_COMPUTE};
