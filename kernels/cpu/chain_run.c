/* Steps over tensors.
 *
 * The index space is cut into blocks of at most BLOCK elements that stay in the first-level cache. In each, inputs in float32 that lie
 * near are read where they are, others are converted into a slot; steps run by the tiles from slot to slot, and the last one writes into
 * the output itself where that is float32. A slot is free again after the last step that reads it. */
#include "kernels/cpu/chain_run.h"

#include "base/half.h"

#define STREAM_BYTES ((size_t)32 << 20) /* results from here on go around the caches */
#define BLOCK 1024 /* elements */
#define SLOTS (FID_CHAIN_INPUTS + FID_CHAIN_STEPS)

/* Where the elements of a source lie for a block: step 0 stands still. */
typedef struct source {
    const float *data;
    int64_t row;
    size_t step;
} source;

typedef struct chain_work {
    const fidk_chain *chain;
    const fidk_tiles *tiles;
    float *scratch;
    size_t slots;                    /* a task's */
    uint8_t slot_of_input[FID_CHAIN_INPUTS], slot_of_step[FID_CHAIN_STEPS];
    uint8_t operand_of[FID_CHAIN_INPUTS]; /* in the loops */
    float numbers[FID_CHAIN_STEPS][3];
} chain_work;

/* ---- Slots ---- */

static bool reads_step(const fid_step *step, size_t index) {
    for (size_t i = 0; i < fid_step_sources(step); i++)
        if (step->operand[i].from == FID_FROM_STEP && step->operand[i].index == index) return true;
    return false;
}

/* The last step that reads step `index`. */
static size_t last_reader(const fidk_chain *chain, size_t index) {
    size_t last = index;
    for (size_t s = index + 1; s < chain->count; s++)
        if (reads_step(&chain->steps[s], index)) last = s;
    return last;
}

/* Every input has a slot of its own; steps share the others, and may write over what they read last. */
static size_t plan_slots(const fidk_chain *chain, uint8_t *of_input, uint8_t *of_step) {
    size_t free_after[SLOTS], count = chain->input_count;
    for (size_t i = 0; i < chain->input_count; i++) of_input[i] = (uint8_t)i, free_after[i] = SIZE_MAX;
    for (size_t s = 0; s < chain->count; s++) {
        size_t slot = 0;
        while (slot < count && free_after[slot] > s) slot++;
        if (slot == count) count++;
        of_step[s] = (uint8_t)slot;
        free_after[slot] = last_reader(chain, s);
    }
    return count;
}

/* ---- Conversion ---- */

#define GATHER(type, expression)                                                                                       \
    for (size_t i = 0; i < count; i++) {                                                                               \
        const type x = ((const type *)from)[(int64_t)i * step];                                                        \
        out[i] = expression;                                                                                           \
    }                                                                                                                  \
    break

static void load_row(const fidk_tiles *tiles, fid_dtype dtype, const void *from, int64_t step, size_t count, float *out) {
    if (step == 1 && (dtype == FID_FLOAT16 || dtype == FID_BFLOAT16)) {
        tiles->from_half[dtype == FID_BFLOAT16](from, out, count);
        return;
    }
    switch (dtype) {
    case FID_FLOAT32: GATHER(float, x);
    case FID_FLOAT16: GATHER(uint16_t, fid_float_from_f16(x));
    case FID_BFLOAT16: GATHER(uint16_t, fid_float_from_bf16(x));
    case FID_BOOL: GATHER(uint8_t, x != 0);
    case FID_UINT8: GATHER(uint8_t, x);
    case FID_INT8: GATHER(int8_t, x);
    case FID_INT16: GATHER(int16_t, x);
    case FID_INT32: GATHER(int32_t, (float)x);
    default: GATHER(int64_t, (float)x);
    }
}

#define SCATTER(type, expression)                                                                                      \
    for (size_t i = 0; i < count; i++) {                                                                               \
        const float x = from[i];                                                                                       \
        ((type *)to)[(int64_t)i * step] = expression;                                                                  \
    }                                                                                                                  \
    break

static void store_row(const fidk_tiles *tiles, fid_dtype dtype, const float *from, size_t count, void *to, int64_t step) {
    if (step == 1 && (dtype == FID_FLOAT16 || dtype == FID_BFLOAT16)) {
        tiles->to_half[dtype == FID_BFLOAT16](from, to, count);
        return;
    }
    switch (dtype) {
    case FID_FLOAT32: SCATTER(float, x);
    case FID_FLOAT16: SCATTER(uint16_t, fid_f16_from_float(x));
    case FID_BFLOAT16: SCATTER(uint16_t, fid_bf16_from_float(x));
    default: SCATTER(uint8_t, x != 0); /* bool */
    }
}

/* ---- One block ---- */

typedef struct cell {
    const chain_work *w;
    const fidk_loops *loops;
    float *slots;
    bool direct; /* the last step writes into the output */
    size_t row, column, rows, columns; /* of the piece */
    source inputs[FID_CHAIN_INPUTS], steps[FID_CHAIN_STEPS];
} cell;

static uint8_t *at(const fidk_loops *loops, size_t operand, size_t row, size_t column) {
    int64_t offset = (int64_t)row * loops->strides[operand][0] + (int64_t)column * loops->strides[operand][1];
    return loops->data[operand] + offset * (int64_t)loops->element[operand];
}

static float *slot(const cell *c, size_t index) { return c->slots + index * BLOCK; }

static source load_input(const cell *c, size_t input) {
    const fid_tensor *tensor = c->w->chain->inputs[input];
    size_t operand = c->w->operand_of[input];
    int64_t row = c->loops->strides[operand][0], step = c->columns == 1 ? 0 : c->loops->strides[operand][1];
    if (tensor->dtype == FID_FLOAT32 && (step == 0 || step == 1)) {
        return (source){(const float *)(const void *)at(c->loops, operand, c->row, c->column), row, (size_t)step};
    }
    float *to = slot(c, c->w->slot_of_input[input]);
    size_t count = step ? c->columns : 1, rows = row ? c->rows : 1;
    if (row == (int64_t)count && step == 1) count *= rows, rows = 1; /* dense */
    for (size_t r = 0; r < rows; r++)
        load_row(c->w->tiles, (fid_dtype)tensor->dtype, at(c->loops, operand, c->row + r, c->column), step, count, to + r * count);
    return (source){to, !row ? 0 : step ? (int64_t)c->columns : 1, step != 0};
}

static source source_of(const cell *c, size_t step, size_t i) {
    const fid_operand *o = &c->w->chain->steps[step].operand[i];
    if (o->from == FID_FROM_STEP) return c->steps[o->index];
    if (o->from == FID_FROM_INPUT && c->w->chain->inputs[o->index]) return c->inputs[o->index];
    return (source){&c->w->numbers[step][i], 0, 0};
}

/* A source that stands still in a row, written out. */
static source spread(const cell *c, source from, float *to) {
    for (size_t r = 0; r < c->rows; r++)
        for (size_t i = 0; i < c->columns; i++) to[r * c->columns + i] = from.data[(int64_t)r * from.row];
    return (source){to, (int64_t)c->columns, 1};
}

static void run_unary(const cell *c, size_t s, float *y, size_t y_row) {
    const chain_work *w = c->w;
    source x = source_of(c, s, 0);
    if (!x.step && c->columns > 1) x = spread(c, x, slot(c, w->slot_of_step[s]));
    fidk_unary tile = {.x = x.data, .y = y, .x_stride = (size_t)x.row, .y_stride = y_row, .rows = c->rows, .columns = c->columns,
                       .a = w->numbers[s][1], .b = w->numbers[s][2]};
    if (tile.x_stride == c->columns && y_row == c->columns) tile.columns *= tile.rows, tile.rows = 1;
    w->tiles->unary[w->chain->steps[s].function](&tile);
}

static bool is_dense(const cell *c, const source *s) { return (s->step && s->row == (int64_t)c->columns) || (!s->step && !s->row); }

static void run_binary(const cell *c, size_t s, float *y, size_t y_row) {
    const chain_work *w = c->w;
    source a = source_of(c, s, 0), b = source_of(c, s, 1);
    fidk_binary tile = {.a = a.data, .b = b.data, .y = y, .a_row = a.row, .b_row = b.row, .y_row = (int64_t)y_row, .a_step = a.step,
                        .b_step = b.step, .rows = c->rows, .columns = c->columns, .scale = w->numbers[s][2]};
    if (is_dense(c, &a) && is_dense(c, &b) && y_row == c->columns) tile.columns *= tile.rows, tile.rows = 1;
    w->tiles->binary[w->chain->steps[s].function](&tile);
}

static void run_where(const cell *c, size_t s, float *y, size_t y_row) {
    source x = source_of(c, s, 0), a = source_of(c, s, 1), b = source_of(c, s, 2);
    fidk_where tile = {.condition = x.data, .a = a.data, .b = b.data, .y = y, .condition_row = x.row, .a_row = a.row, .b_row = b.row,
                       .y_row = (int64_t)y_row, .condition_step = x.step, .a_step = a.step, .b_step = b.step, .rows = c->rows,
                       .columns = c->columns};
    if (is_dense(c, &x) && is_dense(c, &a) && is_dense(c, &b) && y_row == c->columns) tile.columns *= tile.rows, tile.rows = 1;
    c->w->tiles->where(&tile);
}

static void run_steps(cell *c) {
    const chain_work *w = c->w;
    const fidk_chain *chain = w->chain;
    const fidk_loops *loops = c->loops;
    for (size_t i = 0; i < chain->input_count; i++)
        if (chain->inputs[i]) c->inputs[i] = load_input(c, i);
    for (size_t s = 0; s < chain->count; s++) {
        bool last = s + 1 == chain->count;
        float *y = last && c->direct ? (float *)(void *)at(loops, 0, c->row, c->column) : slot(c, w->slot_of_step[s]);
        size_t y_row = last && c->direct ? (size_t)loops->strides[0][0] : c->columns;
        uint8_t class = chain->steps[s].class;
        (class == FID_STEP_UNARY ? run_unary : class == FID_STEP_BINARY ? run_binary : run_where)(c, s, y, y_row);
        c->steps[s] = (source){y, (int64_t)y_row, 1};
    }
}

static void store_block(const cell *c, const fid_tensor *out) {
    const float *from = c->steps[c->w->chain->count - 1].data;
    const fidk_loops *loops = c->loops;
    for (size_t r = 0; r < c->rows; r++)
        store_row(c->w->tiles, (fid_dtype)out->dtype, from + r * c->columns, c->columns, at(loops, 0, c->row + r, c->column), loops->strides[0][1]);
}

typedef struct run_context {
    chain_work work;
    const fid_tensor *out;
} run_context;

/* Around the caches, for results too large for them: a store would first read what it overwrites. */
static void stream_block(const cell *c) {
    const float *from = c->steps[c->w->chain->count - 1].data;
    for (size_t r = 0; r < c->rows; r++)
        c->w->tiles->stream(from + r * c->columns, (float *)(void *)at(c->loops, 0, c->row + r, c->column), c->columns);
}

static void run_piece(const void *context, const fidk_loops *piece) {
    const run_context *run = context;
    const chain_work *w = &run->work;
    size_t all_rows = (size_t)piece->sizes[0], all_columns = (size_t)piece->sizes[1];
    size_t columns = all_columns < BLOCK ? all_columns : BLOCK, rows = BLOCK / columns;
    bool direct = piece->element[0] == sizeof(float) && (piece->strides[0][1] == 1 || all_columns == 1);
    bool streams = direct && fid_tensor_bytes(run->out) >= STREAM_BYTES;
    direct = direct && !streams;
    for (size_t r = 0; r < all_rows; r += rows)
        for (size_t j = 0; j < all_columns; j += columns) {
            cell c = {.w = w, .loops = piece, .slots = w->scratch + piece->task * w->slots * BLOCK, .direct = direct, .row = r, .column = j,
                      .rows = all_rows - r < rows ? all_rows - r : rows, .columns = all_columns - j < columns ? all_columns - j : columns};
            run_steps(&c);
            if (streams) stream_block(&c);
            else if (!direct) store_block(&c, run->out);
        }
    if (streams) w->tiles->settle();
}

/* ---- The call ---- */

void fidk_chain_from_call(const fid_call *call, size_t arguments, fidk_chain *out) {
    out->input_count = arguments;
    for (uint32_t i = 0; i < arguments; i++) {
        const fid_value *value = call->args[i];
        out->inputs[i] = value->tag == FID_TAG_TENSOR ? value->as.tensor : NULL;
        out->absent[i] = value->tag == FID_TAG_NONE;
        out->numbers[i] = fid_value_is_number(value) ? (float)fid_value_double(value) : 0;
    }
}

static bool converts(fid_dtype dtype) {
    return dtype == FID_FLOAT32 || dtype == FID_FLOAT16 || dtype == FID_BFLOAT16 || dtype == FID_BOOL || dtype == FID_UINT8 ||
           dtype == FID_INT8 || dtype == FID_INT16 || dtype == FID_INT32 || dtype == FID_INT64;
}

bool fidk_chain_takes(const fidk_chain *chain, const fid_tensor *out) {
    for (size_t i = 0; i < chain->input_count; i++)
        if (chain->inputs[i] && !converts((fid_dtype)chain->inputs[i]->dtype)) return false;
    return out->dtype == FID_FLOAT32 || out->dtype == FID_FLOAT16 || out->dtype == FID_BFLOAT16 || out->dtype == FID_BOOL;
}

static size_t slot_count(const fidk_chain *chain) {
    uint8_t of_input[FID_CHAIN_INPUTS], of_step[FID_CHAIN_STEPS];
    return plan_slots(chain, of_input, of_step);
}

size_t fidk_chain_scratch_bytes(const fidk_chain *chain, const fid_threads *threads) {
    return (threads ? threads->count : 1) * slot_count(chain) * BLOCK * sizeof(float);
}

/* Multiply-adds that an element of a step stands for, roughly. */
static double cost_of(const fid_step *step) {
    if (step->class != FID_STEP_UNARY) return step->function == FID_BINARY_POW || step->function == FID_BINARY_FMOD ? 60 : 8;
    switch (step->function) {
    case FID_UNARY_RELU: case FID_UNARY_CLAMP: case FID_UNARY_ABS: case FID_UNARY_NEG: case FID_UNARY_SQUARE: case FID_UNARY_NOT:
    case FID_UNARY_HARDSWISH: case FID_UNARY_HARDSIGMOID: case FID_UNARY_LEAKY_RELU: case FID_UNARY_NONE: return 8;
    default: return 40;
    }
}

static float number_of(const fidk_chain *chain, const fid_operand *o) {
    switch (o->from) {
    case FID_FROM_INPUT: return chain->absent[o->index] ? o->number : chain->numbers[o->index];
    case FID_FROM_LISTED: return (float)chain->listed[o->index];
    default: return o->number;
    }
}

fid_status fidk_chain_run(fid_call *call, const fidk_chain *chain, const fid_tensor *out) {
    run_context run = {.work = {.chain = chain, .tiles = fidk_tiles_for(call->cpu)}, .out = out};
    chain_work *w = &run.work;
    double operations = 0;
    fidk_loops loops;
    if (fid_tensor_numel(out) == 0) return FID_OK;
    fidk_loops_begin(&loops, out);
    for (size_t i = 0; i < chain->input_count; i++) {
        if (!chain->inputs[i]) continue;
        w->operand_of[i] = (uint8_t)loops.operands;
        fidk_loops_add(&loops, chain->inputs[i], out);
    }
    fidk_loops_merge(&loops);
    w->slots = plan_slots(chain, w->slot_of_input, w->slot_of_step);
    for (size_t s = 0; s < chain->count; s++) {
        operations += cost_of(&chain->steps[s]);
        for (size_t i = 0; i < 3; i++) w->numbers[s][i] = number_of(chain, &chain->steps[s].operand[i]);
        /* Without a third operand, ADD and SUB take the second as it is. */
        if (chain->steps[s].class == FID_STEP_BINARY && chain->steps[s].operand[2].from == FID_FROM_NOTHING) w->numbers[s][2] = 1;
    }
    w->scratch = fid_call_scratch(call, fidk_chain_scratch_bytes(chain, call->threads));
    if (!w->scratch) return FID_OUT_OF_MEMORY;
    fidk_loops_run(&loops, call->threads, (double)fid_tensor_numel(out) * operations, run_piece, &run);
    return FID_OK;
}
