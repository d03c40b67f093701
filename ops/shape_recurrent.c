/* Recurrent layers and cells: reading and checking their arguments (recurrent.h), and the shapes of their results. */
#include "ops/fused.h"
#include "ops/recurrent.h"
#include "ops/shape.h"

static fid_status expect_shape(const fid_call *call, const char *name, const fid_tensor *t, size_t rank, const int64_t *sizes) {
    bool fits = t && t->rank == rank;
    for (size_t d = 0; fits && d < rank; d++) fits = t->sizes[d] == sizes[d];
    if (fits && t->dtype == fid_arg_tensor(call, 0)->dtype) return FID_OK;
    char text[80], want[80];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %s is %s %s, expected shape %s in the dtype of the input", call->name, name,
                    t ? fid_dtype_name((fid_dtype)t->dtype) : "absent",
                    fid_shape_text(t ? t->sizes : sizes, t ? t->rank : 0, text, sizeof text),
                    fid_shape_text(sizes, rank, want, sizeof want));
}

static fid_status mixed_weights(const fid_call *call) {
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: some weights are packed and others are not", call->name);
}

/* A weight of `rows` rows, as it is or in panels. */
static fid_status expect_weight(const fid_call *call, const char *name, const fid_tensor *t, int64_t rows, int64_t columns) {
    if (t && t->rank == 3) return expect_shape(call, name, t, 3, (int64_t[]){fid_panels(rows), columns, FID_PANEL});
    return expect_shape(call, name, t, 2, (int64_t[]){rows, columns});
}

static fid_status check_weights(const fid_call *call, const fid_recurrent *r, const fid_cell_weights *w, int64_t in) {
    int64_t rows;
    if (__builtin_mul_overflow(r->hidden_width, fid_recurrent_gates(r->kind), &rows))
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the hidden state is too wide", call->name);
    FID_TRY(expect_weight(call, "the input weight", w->input, rows, in));
    FID_TRY(expect_weight(call, "the hidden weight", w->hidden, rows, r->out));
    if (w->input->rank != w->hidden->rank) return mixed_weights(call);
    if (w->input_bias) FID_TRY(expect_shape(call, "the input bias", w->input_bias, 1, &rows));
    if (w->hidden_bias) FID_TRY(expect_shape(call, "the hidden bias", w->hidden_bias, 1, &rows));
    if (r->out == r->hidden_width) return FID_OK;
    return expect_shape(call, "the projection", w->projection, 2, (int64_t[]){r->out, r->hidden_width});
}

/* hx, argument 1: hidden (and cell) state of the given rank. */
static fid_status read_state(const fid_call *call, size_t rank, fid_recurrent *r) {
    r->hidden = fid_arg_tensor(call, 1);
    if (r->kind == FID_LSTM) {
        if (call->args[1]->as.tensors.count != 2)
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the state has %zu tensors, expected 2", call->name,
                            call->args[1]->as.tensors.count);
        r->hidden = call->args[1]->as.tensors.items[0];
        r->cell = call->args[1]->as.tensors.items[1];
    }
    if (r->hidden->rank != rank || (r->cell && r->cell->rank != rank))
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the state has rank %d, expected %zu", call->name, r->hidden->rank, rank);
    r->out = r->hidden->sizes[rank - 1];
    r->hidden_width = r->cell ? r->cell->sizes[rank - 1] : r->out;
    return FID_OK;
}

static int64_t params_per_cell(const fid_recurrent *r) {
    return 2 + (r->has_biases ? 2 : 0) + (r->out != r->hidden_width ? 1 : 0);
}

fid_cell_weights fid_recurrent_weights(const fid_call *call, const fid_recurrent *r, int64_t layer, int64_t direction) {
    fid_tensor *const *items = call->args[2]->as.tensors.items + (layer * r->directions + direction) * params_per_cell(r);
    fid_cell_weights w = {.input = items[0], .hidden = items[1]};
    if (r->has_biases) w.input_bias = items[2], w.hidden_bias = items[3];
    if (r->out != r->hidden_width) w.projection = items[r->has_biases ? 4 : 2];
    return w;
}

static fid_status check_layers(const fid_call *call, const fid_recurrent *r) {
    int64_t cells = 0, given = (int64_t)call->args[2]->as.tensors.count;
    if (r->layers < 1 || r->layers > given || (cells = r->layers * r->directions) * params_per_cell(r) != given)
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %lld layers in %lld directions do not go with %lld parameters",
                        call->name, (long long)r->layers, (long long)r->directions, (long long)given);
    FID_TRY(expect_shape(call, "the hidden state", r->hidden, 3, (int64_t[]){cells, r->batch, r->out}));
    if (r->cell) FID_TRY(expect_shape(call, "the cell state", r->cell, 3, (int64_t[]){cells, r->batch, r->hidden_width}));
    for (int64_t i = 0; i < cells; i++) {
        fid_cell_weights w = fid_recurrent_weights(call, r, i / r->directions, i % r->directions);
        FID_TRY(check_weights(call, r, &w, i < r->directions ? r->in : r->out * r->directions));
        if (w.input->rank != call->args[2]->as.tensors.items[0]->rank) return mixed_weights(call);
    }
    return FID_OK;
}

fid_status fid_recurrent_of(const fid_call *call, fid_recurrent_kind kind, fid_recurrent *out) {
    const fid_tensor *input = fid_arg_tensor(call, 0);
    *out = (fid_recurrent){.kind = kind, .input = input, .has_biases = fid_arg_bool(call, 3), .layers = fid_arg_int(call, 4),
                           .directions = 1 + fid_arg_bool(call, 7), .batch_first = fid_arg_bool(call, 8)};
    if (input->rank != 3)
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: input of rank %d, expected 3", call->name, input->rank);
    if (fid_arg_double(call, 5) != 0 && fid_arg_bool(call, 6))
        return fid_fail(call->sink, FID_NOT_SUPPORTED, "%s: dropout; export the model in eval mode", call->name);
    out->batch = input->sizes[!out->batch_first], out->length = input->sizes[out->batch_first], out->in = input->sizes[2];
    FID_TRY(read_state(call, 3, out));
    return check_layers(call, out);
}

fid_status fid_recurrent_cell_of(const fid_call *call, fid_recurrent_kind kind, fid_recurrent *out, fid_cell_weights *out_weights) {
    const fid_tensor *input = fid_arg_tensor(call, 0);
    *out = (fid_recurrent){.kind = kind, .input = input, .layers = 1, .directions = 1, .length = 1};
    *out_weights = (fid_cell_weights){.input = fid_arg_tensor(call, 2), .hidden = fid_arg_tensor(call, 3),
                                      .input_bias = fid_arg_tensor(call, 4), .hidden_bias = fid_arg_tensor(call, 5)};
    if (input->rank != 2)
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: input of rank %d, expected 2", call->name, input->rank);
    out->batch = input->sizes[0], out->in = input->sizes[1];
    FID_TRY(read_state(call, 2, out));
    FID_TRY(expect_shape(call, "the hidden state", out->hidden, 2, (int64_t[]){out->batch, out->out}));
    if (out->cell) FID_TRY(expect_shape(call, "the cell state", out->cell, 2, (int64_t[]){out->batch, out->out}));
    return check_weights(call, out, out_weights, out->in);
}

static fid_status layers_shape(const fid_call *call, fid_recurrent_kind kind, fid_meta *outs, size_t out_count) {
    fid_recurrent r;
    FID_TRY(fid_recurrent_of(call, kind, &r));
    fid_dtype dtype = (fid_dtype)r.input->dtype;
    fid_meta_set(&outs[0], dtype, (int64_t[]){r.input->sizes[0], r.input->sizes[1], r.out * r.directions}, 3);
    fid_meta_set(&outs[1], dtype, r.hidden->sizes, 3);
    if (r.cell && out_count > 2) fid_meta_set(&outs[2], dtype, r.cell->sizes, 3);
    return FID_OK;
}

static fid_status cell_shape(const fid_call *call, fid_recurrent_kind kind, fid_meta *outs, size_t out_count) {
    fid_recurrent r;
    fid_cell_weights weights;
    FID_TRY(fid_recurrent_cell_of(call, kind, &r, &weights));
    for (size_t i = 0; i < out_count; i++) fid_meta_set(&outs[i], (fid_dtype)r.input->dtype, r.hidden->sizes, 2);
    return FID_OK;
}

fid_status fid_shape_lstm(const fid_call *call, fid_meta *outs, size_t out_count) { return layers_shape(call, FID_LSTM, outs, out_count); }
fid_status fid_shape_gru(const fid_call *call, fid_meta *outs, size_t out_count) { return layers_shape(call, FID_GRU, outs, out_count); }
fid_status fid_shape_rnn(const fid_call *call, fid_meta *outs, size_t out_count) { return layers_shape(call, FID_RNN_TANH, outs, out_count); }
fid_status fid_shape_lstm_cell(const fid_call *call, fid_meta *outs, size_t out_count) { return cell_shape(call, FID_LSTM, outs, out_count); }
fid_status fid_shape_gru_cell(const fid_call *call, fid_meta *outs, size_t out_count) { return cell_shape(call, FID_GRU, outs, out_count); }
fid_status fid_shape_rnn_cell(const fid_call *call, fid_meta *outs, size_t out_count) { return cell_shape(call, FID_RNN_TANH, outs, out_count); }
