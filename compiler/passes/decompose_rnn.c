/* Recurrent layers as a chain of cells, for targets without a kernel for the whole layer. The input's share of the gates is one
 * product for all time steps; the rest is unrolled, so the length must be constant. */
#include "compiler/passes/rewrite.h"

typedef enum cell_kind { CELL_TANH, CELL_RELU, CELL_GRU, CELL_LSTM } cell_kind;

typedef struct cell_weights { fidc_value *input, *hidden, *input_bias, *hidden_bias, *projection; } cell_weights;
typedef struct cell_state { fidc_value *hidden, *cell; } cell_state;

/* ---- One step ---- */

static fidc_value *add(fidc_rewriter *rw, fidc_value *a, fidc_value *b) { return a && b ? RW(rw, add_Tensor, fidc_v(a), fidc_v(b)) : NULL; }
static fidc_value *mul(fidc_rewriter *rw, fidc_value *a, fidc_value *b) { return a && b ? RW(rw, mul_Tensor, fidc_v(a), fidc_v(b)) : NULL; }
static fidc_value *sigmoid(fidc_rewriter *rw, fidc_value *x) { return x ? RW(rw, sigmoid, fidc_v(x)) : NULL; }
static fidc_value *hyperbolic(fidc_rewriter *rw, fidc_value *x) { return x ? RW(rw, tanh, fidc_v(x)) : NULL; }

/* Equal parts of the last dimension; false on failure. */
static bool split_gates(fidc_rewriter *rw, fidc_value *x, size_t count, fidc_value **out) {
    int64_t sizes[4], width = x ? fidc_size(x, x->rank - 1u) / (int64_t)count : 0;
    if (!x) return false;
    for (size_t i = 0; i < count; i++) sizes[i] = width;
    fidc_arg args[] = {fidc_v(x), fidc_ints(rw->program, sizes, count), fidc_i(-1)};
    fidc_node *split = fidc_rw_emit_node(rw, FID_OPID_split_with_sizes_copy, args, 3, count);
    for (size_t i = 0; split && i < count; i++) out[i] = split->outputs[i];
    return split != NULL;
}

/* Gates: input, forget, cell, output. */
static cell_state lstm_step(fidc_rewriter *rw, fidc_value *from_input, fidc_value *from_hidden, cell_state state, const cell_weights *w) {
    fidc_value *gates[4];
    cell_state next = {NULL, NULL};
    if (!split_gates(rw, add(rw, from_input, from_hidden), 4, gates)) return next;
    fidc_value *kept = mul(rw, sigmoid(rw, gates[1]), state.cell);
    next.cell = add(rw, kept, mul(rw, sigmoid(rw, gates[0]), hyperbolic(rw, gates[2])));
    next.hidden = mul(rw, sigmoid(rw, gates[3]), hyperbolic(rw, next.cell));
    if (w->projection) next.hidden = fidc_rw_linear(rw, next.hidden, w->projection, NULL);
    return next;
}

/* Gates: reset, update, new. (1 - z) n + z h as n + z (h - n). */
static cell_state gru_step(fidc_rewriter *rw, fidc_value *from_input, fidc_value *from_hidden, cell_state state) {
    fidc_value *x[3], *h[3];
    cell_state next = {NULL, NULL};
    if (!split_gates(rw, from_input, 3, x) || !split_gates(rw, from_hidden, 3, h)) return next;
    fidc_value *reset = sigmoid(rw, add(rw, x[0], h[0])), *update = sigmoid(rw, add(rw, x[1], h[1]));
    fidc_value *fresh = hyperbolic(rw, add(rw, x[2], mul(rw, reset, h[2])));
    if (!fresh) return next;
    next.hidden = add(rw, fresh, mul(rw, update, RW(rw, sub_Tensor, fidc_v(state.hidden), fidc_v(fresh))));
    return next;
}

static cell_state step(fidc_rewriter *rw, cell_kind kind, fidc_value *from_input, cell_state state, const cell_weights *w) {
    fidc_value *from_hidden = fidc_rw_linear(rw, state.hidden, w->hidden, w->hidden_bias);
    if (kind == CELL_LSTM) return lstm_step(rw, from_input, from_hidden, state, w);
    if (kind == CELL_GRU) return gru_step(rw, from_input, from_hidden, state);
    fidc_value *sum = add(rw, from_input, from_hidden);
    return (cell_state){kind == CELL_TANH ? hyperbolic(rw, sum) : sum ? RW(rw, relu, fidc_v(sum)) : NULL, NULL};
}

/* ---- Layers ---- */

typedef struct layer_call {
    cell_kind kind;
    const fidc_arg *params;
    size_t params_per_cell;
    bool has_biases, has_projection;
    int64_t length, directions;
    fidc_value *hidden, *cell;    /* initial states, (layers * directions, batch, width) */
    fidc_value *last_hidden[64], *last_cell[64];
} layer_call;

static cell_weights weights_of(const layer_call *c, int64_t index) {
    const fidc_arg *items = c->params + (size_t)index * c->params_per_cell;
    cell_weights w = {.input = fidc_value_of(&items[0]), .hidden = fidc_value_of(&items[1])};
    if (c->has_biases) w.input_bias = fidc_value_of(&items[2]), w.hidden_bias = fidc_value_of(&items[3]);
    if (c->has_projection) w.projection = fidc_value_of(&items[c->has_biases ? 4 : 2]);
    return w;
}

static fidc_value *pick(fidc_rewriter *rw, fidc_value *x, int64_t index) {
    return x ? RW(rw, select_copy_int, fidc_v(x), fidc_i(0), fidc_i(index)) : NULL;
}

/* One direction of one layer over x (length, batch, in): (length, batch, out). */
static fidc_value *run_direction(fidc_rewriter *rw, layer_call *c, fidc_value *x, int64_t index, bool backward) {
    cell_weights w = weights_of(c, index);
    fidc_value *from_input = fidc_rw_linear(rw, x, w.input, w.input_bias);
    cell_state state = {pick(rw, c->hidden, index), pick(rw, c->cell, index)};
    fidc_value **steps = fidc_allocate(rw->program, (size_t)c->length * sizeof *steps);
    if (!steps) return NULL;
    for (int64_t i = 0; i < c->length; i++) {
        int64_t t = backward ? c->length - 1 - i : i;
        state = step(rw, c->kind, pick(rw, from_input, t), state, &w);
        steps[t] = fidc_rw_unsqueeze(rw, state.hidden, 0);
        if (!steps[t]) return NULL;
    }
    c->last_hidden[index] = fidc_rw_unsqueeze(rw, state.hidden, 0);
    if (c->cell) c->last_cell[index] = fidc_rw_unsqueeze(rw, state.cell, 0);
    return fidc_rw_cat(rw, steps, (size_t)c->length, 0);
}

static fidc_value *run_layers(fidc_rewriter *rw, layer_call *c, fidc_value *x, int64_t layers) {
    for (int64_t layer = 0; layer < layers && x; layer++) {
        fidc_value *sides[2] = {NULL, NULL};
        for (int64_t d = 0; d < c->directions; d++) {
            sides[d] = run_direction(rw, c, x, layer * c->directions + d, d == 1);
            if (!sides[d]) return NULL;
        }
        x = fidc_rw_cat(rw, sides, (size_t)c->directions, -1);
    }
    return x;
}

/* Arguments (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first). */
static bool read_layers(fidc_rewriter *rw, cell_kind kind, layer_call *c, fidc_value *x) {
    size_t states, params;
    const fidc_arg *hx = fidc_rw_items(rw, 1, &states);
    int64_t layers = fidc_rw_int(rw, 4, 1);
    *c = (layer_call){.kind = kind, .has_biases = fidc_rw_bool(rw, 3, true), .directions = fidc_rw_bool(rw, 7, false) ? 2 : 1};
    c->params = fidc_rw_items(rw, 2, &params);
    c->hidden = fidc_value_of(&hx[0]);
    if (kind == CELL_LSTM) c->cell = fidc_value_of(&hx[1]);
    if (layers < 1 || layers * c->directions > 64 || !params || params % (size_t)(layers * c->directions)) return false;
    c->params_per_cell = params / (size_t)(layers * c->directions);
    c->has_projection = c->params_per_cell == (c->has_biases ? 5u : 3u);
    c->length = fidc_size(x, 0);
    return c->length > 0;
}

static fid_status recurrent(fidc_rewriter *rw, cell_kind kind) {
    bool batch_first = fidc_rw_bool(rw, 8, false);
    fidc_value *x = fidc_rw_value(rw, 0);
    if (batch_first) x = fidc_rw_transpose(rw, x, 0, 1);
    layer_call *c = fidc_allocate(rw->program, sizeof *c);
    if (!c || !x) return FID_OUT_OF_MEMORY;
    int64_t layers = fidc_rw_int(rw, 4, 1);
    if (!read_layers(rw, kind, c, x)) return fidc_rw_keep(rw); /* unknown length: reported as unsupported */
    fidc_value *out = run_layers(rw, c, x, layers);
    size_t cells = (size_t)(layers * c->directions);
    if (!out) return fidc_rw_become(rw, NULL);
    fidc_value *results[3] = {batch_first ? fidc_rw_transpose(rw, out, 0, 1) : out, fidc_rw_cat(rw, c->last_hidden, cells, 0), NULL};
    if (kind == CELL_LSTM) results[2] = fidc_rw_cat(rw, c->last_cell, cells, 0);
    return fidc_rw_become_all(rw, results, rw->node->output_count);
}

static fid_status lstm(fidc_rewriter *rw) { return recurrent(rw, CELL_LSTM); }
static fid_status gru(fidc_rewriter *rw) { return recurrent(rw, CELL_GRU); }
static fid_status rnn_tanh(fidc_rewriter *rw) { return recurrent(rw, CELL_TANH); }
static fid_status rnn_relu(fidc_rewriter *rw) { return recurrent(rw, CELL_RELU); }

/* ---- Cells: (input, hx, w_ih, w_hh, b_ih?, b_hh?) ---- */

static fid_status single_cell(fidc_rewriter *rw, cell_kind kind) {
    size_t states;
    const fidc_arg *hx = fidc_rw_items(rw, 1, &states);
    cell_weights w = {fidc_rw_value(rw, 2), fidc_rw_value(rw, 3), fidc_rw_value(rw, 4), fidc_rw_value(rw, 5), NULL};
    cell_state state = {fidc_value_of(&hx[0]), kind == CELL_LSTM ? fidc_value_of(&hx[1]) : NULL};
    state = step(rw, kind, fidc_rw_linear(rw, fidc_rw_value(rw, 0), w.input, w.input_bias), state, &w);
    if (!state.hidden) return fidc_rw_become(rw, NULL);
    return fidc_rw_become_all(rw, (fidc_value *[]){state.hidden, state.cell}, rw->node->output_count);
}

static fid_status lstm_cell(fidc_rewriter *rw) { return single_cell(rw, CELL_LSTM); }
static fid_status gru_cell(fidc_rewriter *rw) { return single_cell(rw, CELL_GRU); }
static fid_status rnn_tanh_cell(fidc_rewriter *rw) { return single_cell(rw, CELL_TANH); }
static fid_status rnn_relu_cell(fidc_rewriter *rw) { return single_cell(rw, CELL_RELU); }

static const fidc_rule_row rows[] = {
    {FID_OPID_lstm_input, lstm},
    {FID_OPID_gru_input, gru},
    {FID_OPID_rnn_tanh_input, rnn_tanh},
    {FID_OPID_rnn_relu_input, rnn_relu},
    {FID_OPID_lstm_cell, lstm_cell},
    {FID_OPID_gru_cell, gru_cell},
    {FID_OPID_rnn_tanh_cell, rnn_tanh_cell},
    {FID_OPID_rnn_relu_cell, rnn_relu_cell},
};

void fidc_rules_add_portable_rnn(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
