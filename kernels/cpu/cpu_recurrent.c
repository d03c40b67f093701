/* lstm, gru, rnn_tanh and rnn_relu layers of float32.
 *
 * For each layer and direction one product takes all time steps through the input weights; then each step adds the product of the
 * state before it with the hidden weights, and a tile turns the gate sums into the new state, which is written where the layer's
 * output wants it and read from there by the next step. The weights of fid:: rows are packed by the compiler; constant ones of aten::
 * rows are packed once in prepare. */
#include "kernels/cpu/operand.h"
#include "kernels/cpu/pack_weights.h"
#include "ops/recurrent.h"

typedef struct packed_cell {
    const float *input, *hidden;           /* packed (in, gates), (width, gates) */
    const float *input_bias, *hidden_bias; /* (gates), or NULL */
} packed_cell;

typedef struct recurrent_state {
    packed_cell *cells; /* (layers * directions); NULL: weights are packed already, or not constant */
} recurrent_state;

typedef struct layer_work {
    fid_call *call;
    const fid_recurrent *r;
    const fidk_tiles *tiles;
    size_t width, gates, rows; /* gates: numbers a step; rows: length * batch */
    float *sums;               /* (rows, gates) */
    float *hidden_sums;        /* GRU: (batch, gates) */
} layer_work;

static size_t aligned(size_t floats) { return (floats * sizeof(float) + 63) / 64 * 64; }

/* ---- Weights ---- */

static bool is_packed(const fid_cell_weights *w) { return w->input->rank == 3; }

static size_t cell_bytes(const fid_recurrent *r, size_t in) {
    size_t gates = (size_t)(r->hidden_width * fid_recurrent_gates(r->kind));
    return aligned(fidk_packed_floats(gates, in)) + aligned(fidk_packed_floats(gates, (size_t)r->hidden_width));
}

/* `memory`: cell_bytes for weights that are not packed, or NULL. */
static packed_cell pack_cell(const fid_recurrent *r, const fid_cell_weights *w, uint8_t *memory) {
    size_t gates = (size_t)(r->hidden_width * fid_recurrent_gates(r->kind)), in = (size_t)w->input->sizes[1], width = (size_t)r->hidden_width;
    packed_cell cell = {w->input->data, w->hidden->data, fidk_floats(w->input_bias), fidk_floats(w->hidden_bias)};
    if (!memory) return cell;
    float *input = (float *)(void *)memory, *hidden = (float *)(void *)(memory + aligned(fidk_packed_floats(gates, in)));
    fidk_pack_rows(w->input->data, in, gates, in, input);
    fidk_pack_rows(w->hidden->data, width, gates, width, hidden);
    cell.input = input;
    cell.hidden = hidden;
    return cell;
}

static fid_status prepare_kind(fid_call *call, fid_recurrent_kind kind) {
    fid_recurrent r;
    FID_TRY(fid_recurrent_of(call, kind, &r));
    bool takes = fidk_plain_f32(r.input) && fidk_plain_f32(r.hidden) && fidk_plain_f32(r.cell) && r.out == r.hidden_width, constant = true;
    for (uint32_t i = call->output_index; i < call->arg_count; i++) takes = takes && fidk_plain_f32(call->args[i]->as.tensor);
    const fid_value *params = call->args[2];
    for (size_t i = 0; i < params->as.tensors.count; i++) {
        takes = takes && fidk_plain_f32(params->as.tensors.items[i]);
        constant = constant && fidk_is_constant(params->as.tensors.items[i]);
    }
    if (!takes) return FID_NOT_SUPPORTED;
    size_t count = (size_t)(r.layers * r.directions);
    recurrent_state *state = fid_call_persist(call, sizeof *state);
    if (!state) return FID_OUT_OF_MEMORY;
    *state = (recurrent_state){NULL};
    call->state = state;
    fid_cell_weights first = fid_recurrent_weights(call, &r, 0, 0);
    if (!constant || is_packed(&first)) return FID_OK;
    state->cells = fid_call_persist(call, count * sizeof *state->cells);
    if (!state->cells) return FID_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) {
        fid_cell_weights w = fid_recurrent_weights(call, &r, (int64_t)i / r.directions, (int64_t)i % r.directions);
        uint8_t *memory = fid_call_persist(call, cell_bytes(&r, (size_t)w.input->sizes[1]));
        if (!memory) return FID_OUT_OF_MEMORY;
        state->cells[i] = pack_cell(&r, &w, memory);
    }
    return FID_OK;
}

/* ---- Steps ---- */

/* Row of (time, batch item) in sequences, whichever comes first. */
static size_t row_of(const fid_recurrent *r, size_t t, size_t b) {
    return r->batch_first ? b * (size_t)r->length + t : t * (size_t)r->batch + b;
}

typedef struct sequence {
    float *data;
    size_t width; /* floats a row */
} sequence;

/* sums += before * hidden weights, for all batch items of one time. */
static void add_hidden(const layer_work *w, const packed_cell *cell, const float *before, size_t before_stride, float *sums, size_t sums_stride) {
    bool gru = w->r->kind == FID_GRU;
    fidk_gemm gemm = {.tiles = w->tiles, .threads = w->call->threads, .m = (size_t)w->r->batch, .n = w->gates, .k = w->width, .a = before,
                      .a_stride = before_stride, .c = gru ? w->hidden_sums : sums, .c_stride = gru ? w->gates : sums_stride,
                      .bias = cell->hidden_bias, .add = gru ? NULL : sums, .add_stride = sums_stride, .no_copies = true};
    if (w->r->kind == FID_RNN_TANH) gemm.activation.kind = FID_ACTIVATION_TANH;
    if (w->r->kind == FID_RNN_RELU) gemm.activation.kind = FID_ACTIVATION_RELU;
    fidk_gemm_set_packed(&gemm, cell->hidden);
    fidk_gemm_run(&gemm, NULL);
}

static void run_step(const layer_work *w, const packed_cell *cell, const float *before, size_t before_stride, float *sums, size_t sums_stride,
                     float *hidden, size_t hidden_stride, float *cell_state) {
    add_hidden(w, cell, before, before_stride, sums, sums_stride);
    fidk_gates gates = {.gates = sums, .gates_stride = sums_stride, .hidden_gates = w->hidden_sums, .before = before,
                        .before_stride = before_stride, .cell = cell_state, .hidden = hidden, .hidden_stride = hidden_stride,
                        .rows = (size_t)w->r->batch, .width = w->width};
    if (w->r->kind == FID_LSTM) w->tiles->lstm(&gates);
    else if (w->r->kind == FID_GRU) w->tiles->gru(&gates);
    else
        for (size_t b = 0; b < gates.rows; b++) memcpy(hidden + b * hidden_stride, sums + b * sums_stride, w->width * sizeof *hidden);
}

/* All steps of one direction: x (rows, in) to columns [direction * width, ...) of y. `state` starts as the first hidden state and ends
 * as the last; so does `cell_state`. */
static void run_direction(const layer_work *w, const packed_cell *cell, size_t in, bool backward, sequence x, sequence y, float *state,
                          float *cell_state) {
    const fid_recurrent *r = w->r;
    size_t length = (size_t)r->length, batch_rows = r->batch_first ? length : 1;
    fidk_gemm gemm = {.tiles = w->tiles, .threads = w->call->threads, .m = w->rows, .n = w->gates, .k = in, .a = x.data, .a_stride = x.width,
                      .c = w->sums, .c_stride = w->gates, .bias = cell->input_bias, .no_copies = true};
    fidk_gemm_set_packed(&gemm, cell->input);
    fidk_gemm_run(&gemm, NULL);
    const float *before = state;
    size_t before_stride = w->width;
    for (size_t i = 0; i < length; i++) {
        size_t row = row_of(r, backward ? length - 1 - i : i, 0);
        float *hidden = y.data + row * y.width + (backward ? w->width : 0);
        run_step(w, cell, before, before_stride, w->sums + row * w->gates, batch_rows * w->gates, hidden, batch_rows * y.width, cell_state);
        before = hidden;
        before_stride = batch_rows * y.width;
    }
    for (size_t b = 0; b < (size_t)r->batch && length; b++) memcpy(state + b * w->width, before + b * before_stride, w->width * sizeof *state);
}

static fid_status begin_work(layer_work *w, fid_call *call, const fid_recurrent *r) {
    *w = (layer_work){.call = call, .r = r, .tiles = fidk_tiles_for(call->cpu), .width = (size_t)r->hidden_width,
                      .rows = (size_t)(r->length * r->batch)};
    w->gates = w->width * (size_t)fid_recurrent_gates(r->kind);
    w->sums = fid_call_scratch(call, w->rows * w->gates * sizeof(float) + 1);
    w->hidden_sums = fid_call_scratch(call, (size_t)r->batch * w->gates * sizeof(float) + 1);
    return w->sums && w->hidden_sums ? FID_OK : FID_OUT_OF_MEMORY;
}

static fid_status cell_of(fid_call *call, const fid_recurrent *r, int64_t i, packed_cell *out, size_t *out_in) {
    const recurrent_state *state = call->state;
    fid_cell_weights weights = fid_recurrent_weights(call, r, i / r->directions, i % r->directions);
    *out_in = (size_t)weights.input->sizes[1];
    if (state->cells) {
        *out = state->cells[i];
        return FID_OK;
    }
    uint8_t *memory = is_packed(&weights) ? NULL : fid_call_scratch(call, cell_bytes(r, *out_in));
    if (!memory && !is_packed(&weights)) return FID_OUT_OF_MEMORY;
    *out = pack_cell(r, &weights, memory);
    return FID_OK;
}

/* Layers write to the output and to scratch in turn, so that the last one writes to the output. */
static fid_status run_layers(fid_call *call, const fid_recurrent *r) {
    layer_work w;
    FID_TRY(begin_work(&w, call, r));
    size_t y_width = w.width * (size_t)r->directions, state_floats = (size_t)r->batch * w.width;
    float *other = r->layers > 1 ? fid_call_scratch(call, w.rows * y_width * sizeof(float) + 1) : NULL;
    float *out = fid_out_tensor(call, 0)->data, *hidden = fid_out_tensor(call, 1)->data;
    float *cell_state = r->cell ? fid_out_tensor(call, 2)->data : NULL;
    if (r->layers > 1 && !other) return FID_OUT_OF_MEMORY;
    memcpy(hidden, r->hidden->data, fid_tensor_bytes(r->hidden));
    if (cell_state) memcpy(cell_state, r->cell->data, fid_tensor_bytes(r->cell));
    sequence x = {r->input->data, (size_t)r->in};
    for (int64_t layer = 0; layer < r->layers; layer++) {
        sequence y = {(r->layers - layer) % 2 ? out : other, y_width};
        for (int64_t direction = 0; direction < r->directions; direction++) {
            size_t i = (size_t)(layer * r->directions + direction), in;
            packed_cell cell;
            FID_TRY(cell_of(call, r, (int64_t)i, &cell, &in));
            run_direction(&w, &cell, in, direction, x, y, hidden + i * state_floats, cell_state ? cell_state + i * state_floats : NULL);
        }
        x = y;
    }
    return FID_OK;
}

static fid_status run_kind(fid_call *call, fid_recurrent_kind kind) {
    fid_recurrent r;
    FID_TRY(fid_recurrent_of(call, kind, &r));
    return run_layers(call, &r);
}

/* As begin_work, run_layers and cell_of take it. */
static size_t bytes_of(const fid_call *call, fid_recurrent_kind kind) {
    const recurrent_state *state = call->state;
    fid_recurrent r;
    if (fid_recurrent_of(call, kind, &r) != FID_OK) return 0;
    size_t gates = (size_t)(r.hidden_width * fid_recurrent_gates(kind)), rows = (size_t)(r.length * r.batch);
    size_t bytes = fidk_scratch_piece(rows * gates * sizeof(float) + 1) + fidk_scratch_piece((size_t)r.batch * gates * sizeof(float) + 1);
    if (r.layers > 1) bytes += fidk_scratch_piece(rows * (size_t)(r.hidden_width * r.directions) * sizeof(float) + 1);
    fid_cell_weights first = fid_recurrent_weights(call, &r, 0, 0);
    for (int64_t i = 0; !state->cells && !is_packed(&first) && i < r.layers * r.directions; i++)
        bytes += cell_bytes(&r, (size_t)(i < r.directions ? r.in : r.hidden_width * r.directions));
    return bytes;
}

#define DEFINE_KERNELS(name, kind)                                                                                     \
    static fid_status name##_prepare(fid_call *call) { return prepare_kind(call, kind); }                             \
    static fid_status name##_run(fid_call *call) { return run_kind(call, kind); }                                     \
    static size_t name##_bytes(const fid_call *call) { return bytes_of(call, kind); }                                  \
    const fid_kernel fid_cpu_##name##_input = {.prepare = name##_prepare, .run = name##_run, .scratch_bytes = name##_bytes}; \
    const fid_kernel fid_cpu_fused_##name = {.prepare = name##_prepare, .run = name##_run, .scratch_bytes = name##_bytes};

DEFINE_KERNELS(lstm, FID_LSTM)
DEFINE_KERNELS(gru, FID_GRU)
DEFINE_KERNELS(rnn_tanh, FID_RNN_TANH)
DEFINE_KERNELS(rnn_relu, FID_RNN_RELU)
