/* What a recurrent layer's call asks for, checked once, for shape functions and kernels. */
#ifndef FID_OPS_RECURRENT_H
#define FID_OPS_RECURRENT_H

#include "ops/kernel.h"

/* Number of gates in the weights: RNN 1, GRU 3 (reset, update, new), LSTM 4 (input, forget, cell, output). */
typedef enum fid_recurrent_kind { FID_RNN_TANH, FID_RNN_RELU, FID_GRU, FID_LSTM } fid_recurrent_kind;

static inline int64_t fid_recurrent_gates(fid_recurrent_kind kind) { return kind == FID_LSTM ? 4 : kind == FID_GRU ? 3 : 1; }

/* A cell's weights: (gates * hidden, in), (gates * hidden, out), (gates * hidden) twice, (out, hidden). Absent: NULL. In fid:: rows the
 * first two of all cells are in panels (kernels/cpu/README.md): (panels, in, 16), (panels, out, 16). */
typedef struct fid_cell_weights {
    const fid_tensor *input, *hidden, *input_bias, *hidden_bias, *projection;
} fid_cell_weights;

typedef struct fid_recurrent {
    fid_recurrent_kind kind;
    const fid_tensor *input;  /* (length, batch, in), or (batch, length, in) if batch_first */
    const fid_tensor *hidden; /* (layers * directions, batch, out) */
    const fid_tensor *cell;   /* (layers * directions, batch, hidden); LSTM only, else NULL */
    int64_t layers, directions, length, batch;
    int64_t in, hidden_width, out; /* out differs from hidden_width only with a projection */
    bool batch_first, has_biases;
} fid_recurrent;

/* Arguments (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first); hx is a tensor, or for an
 * LSTM a list of two. Checks the shape of every parameter. */
fid_status fid_recurrent_of(const fid_call *call, fid_recurrent_kind kind, fid_recurrent *out);
/* The weights of one layer and direction of a checked call. */
fid_cell_weights fid_recurrent_weights(const fid_call *call, const fid_recurrent *r, int64_t layer, int64_t direction);

/* One step: arguments (input, hx, w_ih, w_hh, b_ih?, b_hh?) as a recurrent call of length 1 with `input` (batch, in). */
fid_status fid_recurrent_cell_of(const fid_call *call, fid_recurrent_kind kind, fid_recurrent *out, fid_cell_weights *out_weights);

#endif
