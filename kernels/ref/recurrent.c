/* Recurrent layers (lstm, gru, rnn_tanh, rnn_relu: layers, both directions, projections) and single cells. */
#include "kernels/ref/dense.h"
#include "ops/fused.h"
#include "ops/recurrent.h"

/* One cell in double. Buffers are sized for the widest layer and refilled for each. */
typedef struct cell {
    fid_recurrent r;
    size_t in, hidden, out, rows;                      /* rows: gates * hidden */
    bool projected;
    double *w_input, *w_hidden, *b_input, *b_hidden, *w_out;
    double *from_input, *from_hidden, *next;           /* (rows), (rows), (hidden) */
} cell;

static fid_status cell_begin(fid_call *call, cell *c, size_t widest_input) {
    c->hidden = (size_t)c->r.hidden_width, c->out = (size_t)c->r.out;
    c->rows = c->hidden * (size_t)fid_recurrent_gates(c->r.kind);
    c->projected = c->out != c->hidden;
    size_t whole = (size_t)fid_panels((int64_t)c->rows) * FID_PANEL; /* panels are whole */
    FIDK_NEED(c->w_input = fidk_doubles(call, whole * widest_input));
    FIDK_NEED(c->w_hidden = fidk_doubles(call, whole * c->out));
    FIDK_NEED(c->b_input = fidk_doubles(call, c->rows));
    FIDK_NEED(c->b_hidden = fidk_doubles(call, c->rows));
    FIDK_NEED(c->w_out = fidk_doubles(call, c->projected ? c->out * c->hidden : 0));
    FIDK_NEED(c->from_input = fidk_doubles(call, c->rows));
    FIDK_NEED(c->from_hidden = fidk_doubles(call, c->rows));
    FIDK_NEED(c->next = fidk_doubles(call, c->hidden));
    return FID_OK;
}

static void load_or_zero(const fid_tensor *t, size_t count, double *out) {
    if (t) fidk_load_view(t, t->rank, t->sizes, t->strides, out);
    for (size_t i = 0; !t && i < count; i++) out[i] = 0;
}

/* A matrix, as it is or in panels: (panels, columns, 16) read panel by panel, then row by row. */
static void load_matrix(const fid_tensor *t, double *out) {
    if (t->rank == 3) fidk_load_view(t, 3, (int64_t[]){t->sizes[0], t->sizes[2], t->sizes[1]}, (int64_t[]){t->strides[0], t->strides[2], t->strides[1]}, out);
    else fidk_load_view(t, t->rank, t->sizes, t->strides, out);
}

static void load_weights(cell *c, const fid_cell_weights *w) {
    c->in = (size_t)w->input->sizes[1];
    load_matrix(w->input, c->w_input);
    load_matrix(w->hidden, c->w_hidden);
    load_or_zero(w->input_bias, c->rows, c->b_input);
    load_or_zero(w->hidden_bias, c->rows, c->b_hidden);
    if (c->projected) load_or_zero(w->projection, 0, c->w_out);
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* The new hidden value of unit i from the sums in from_input and from_hidden; an LSTM's cell state moves along. */
static double unit(const cell *c, size_t i, double hidden, double *cell_state) {
    const double *x = c->from_input, *h = c->from_hidden;
    size_t n = c->hidden;
    switch (c->r.kind) {
    case FID_RNN_TANH: return tanh(x[i] + h[i]);
    case FID_RNN_RELU: return x[i] + h[i] < 0 ? 0 : x[i] + h[i];
    case FID_GRU: {
        double reset = sigmoid(x[i] + h[i]), update = sigmoid(x[n + i] + h[n + i]);
        double candidate = tanh(x[2 * n + i] + reset * h[2 * n + i]);
        return candidate + update * (hidden - candidate);
    }
    case FID_LSTM: {
        double input = sigmoid(x[i] + h[i]), forget = sigmoid(x[n + i] + h[n + i]);
        double candidate = tanh(x[2 * n + i] + h[2 * n + i]), output = sigmoid(x[3 * n + i] + h[3 * n + i]);
        *cell_state = forget * *cell_state + input * candidate;
        return output * tanh(*cell_state);
    }
    }
    return 0;
}

/* One step of one batch item: hidden (out) and cell_state (hidden) are replaced. */
static void step(const cell *c, const double *x, double *hidden, double *cell_state) {
    for (size_t i = 0; i < c->rows; i++) {
        c->from_input[i] = c->b_input[i] + fidk_dot(c->w_input + i * c->in, x, c->in);
        c->from_hidden[i] = c->b_hidden[i] + fidk_dot(c->w_hidden + i * c->out, hidden, c->out);
    }
    for (size_t i = 0; i < c->hidden; i++) c->next[i] = unit(c, i, c->projected ? 0 : hidden[i], cell_state + i);
    for (size_t i = 0; i < c->out; i++)
        hidden[i] = c->projected ? fidk_dot(c->w_out + i * c->hidden, c->next, c->hidden) : c->next[i];
}

/* All time steps of one layer in one direction: x (length, batch, in) to the direction's part of y (length, batch, out * directions). */
static void run_direction(const cell *c, int64_t direction, const double *x, double *y, double *hidden, double *cell_state) {
    size_t length = (size_t)c->r.length, batch = (size_t)c->r.batch, width = c->out * (size_t)c->r.directions;
    for (size_t n = 0; n < length; n++) {
        size_t t = direction ? length - 1 - n : n;
        for (size_t b = 0; b < batch; b++) {
            step(c, x + (t * batch + b) * c->in, hidden + b * c->out, cell_state + b * c->hidden);
            memcpy(y + (t * batch + b) * width + (size_t)direction * c->out, hidden + b * c->out, c->out * sizeof *y);
        }
    }
}

/* Sizes and strides of a (length, batch, width) view of input or output. */
static void sequence_view(const cell *c, const fid_tensor *t, int64_t *sizes, int64_t *strides) {
    size_t time = c->r.batch_first;
    sizes[0] = t->sizes[time], sizes[1] = t->sizes[!time], sizes[2] = t->sizes[2];
    strides[0] = t->strides[time], strides[1] = t->strides[!time], strides[2] = t->strides[2];
}

static fid_status run_layers(fid_call *call, fid_recurrent_kind kind) {
    cell c;
    FID_TRY(fid_recurrent_of(call, kind, &c.r));
    size_t layer_width = (size_t)(c.r.out * c.r.directions), in = (size_t)c.r.in;
    size_t widest = in > layer_width ? in : layer_width, steps = (size_t)(c.r.length * c.r.batch);
    int64_t sizes[3], strides[3];
    double *x, *y, *hidden, *state;
    FID_TRY(cell_begin(call, &c, widest));
    FIDK_NEED(x = fidk_doubles(call, steps * widest));
    FIDK_NEED(y = fidk_doubles(call, steps * widest));
    FIDK_NEED(hidden = fidk_dense_load(call, c.r.hidden));
    FIDK_NEED(state = fidk_dense_load_or(call, c.r.cell, (size_t)c.r.batch * c.hidden, 0));
    sequence_view(&c, c.r.input, sizes, strides);
    fidk_load_view(c.r.input, 3, sizes, strides, x);
    for (int64_t i = 0; i < c.r.layers * c.r.directions; i++) {
        fid_cell_weights weights = fid_recurrent_weights(call, &c.r, i / c.r.directions, i % c.r.directions);
        size_t at = (size_t)(i * c.r.batch);
        load_weights(&c, &weights);
        run_direction(&c, i % c.r.directions, x, y, hidden + at * c.out, c.r.cell ? state + at * c.hidden : state);
        if (i % c.r.directions == c.r.directions - 1) memcpy(x, y, steps * layer_width * sizeof *x);
    }
    sequence_view(&c, fid_out_tensor(call, 0), sizes, strides);
    fidk_store_view(fid_out_tensor(call, 0), 3, sizes, strides, x);
    fidk_dense_store(fid_out_tensor(call, 1), hidden);
    if (c.r.cell) fidk_dense_store(fid_out_tensor(call, 2), state);
    return FID_OK;
}

static fid_status run_cell(fid_call *call, fid_recurrent_kind kind) {
    cell c;
    fid_cell_weights weights;
    double *x, *hidden, *state;
    FID_TRY(fid_recurrent_cell_of(call, kind, &c.r, &weights));
    FID_TRY(cell_begin(call, &c, (size_t)c.r.in));
    load_weights(&c, &weights);
    FIDK_NEED(x = fidk_dense_load(call, c.r.input));
    FIDK_NEED(hidden = fidk_dense_load(call, c.r.hidden));
    FIDK_NEED(state = fidk_dense_load_or(call, c.r.cell, (size_t)c.r.batch * c.hidden, 0));
    for (size_t b = 0; b < (size_t)c.r.batch; b++) step(&c, x + b * c.in, hidden + b * c.out, state + b * c.hidden);
    fidk_dense_store(fid_out_tensor(call, 0), hidden);
    if (c.r.cell) fidk_dense_store(fid_out_tensor(call, 1), state);
    return FID_OK;
}

static fid_status lstm(fid_call *call) { return run_layers(call, FID_LSTM); }
static fid_status gru(fid_call *call) { return run_layers(call, FID_GRU); }
static fid_status rnn_tanh(fid_call *call) { return run_layers(call, FID_RNN_TANH); }
static fid_status rnn_relu(fid_call *call) { return run_layers(call, FID_RNN_RELU); }
static fid_status lstm_cell(fid_call *call) { return run_cell(call, FID_LSTM); }
static fid_status gru_cell(fid_call *call) { return run_cell(call, FID_GRU); }
static fid_status rnn_tanh_cell(fid_call *call) { return run_cell(call, FID_RNN_TANH); }
static fid_status rnn_relu_cell(fid_call *call) { return run_cell(call, FID_RNN_RELU); }

const fid_kernel fid_ref_lstm_input = {.run = lstm};
const fid_kernel fid_ref_fused_lstm = {.run = lstm};
const fid_kernel fid_ref_gru_input = {.run = gru};
const fid_kernel fid_ref_fused_gru = {.run = gru};
const fid_kernel fid_ref_rnn_tanh_input = {.run = rnn_tanh};
const fid_kernel fid_ref_fused_rnn_tanh = {.run = rnn_tanh};
const fid_kernel fid_ref_rnn_relu_input = {.run = rnn_relu};
const fid_kernel fid_ref_fused_rnn_relu = {.run = rnn_relu};
const fid_kernel fid_ref_lstm_cell = {.run = lstm_cell};
const fid_kernel fid_ref_gru_cell = {.run = gru_cell};
const fid_kernel fid_ref_rnn_tanh_cell = {.run = rnn_tanh_cell};
const fid_kernel fid_ref_rnn_relu_cell = {.run = rnn_relu_cell};
