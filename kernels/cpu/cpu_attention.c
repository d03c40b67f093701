/* aten::scaled_dot_product_attention without ever holding all scores: an online softmax over blocks of keys.
 *
 * A task takes a range of query rows of one head. It packs the head's keys into panels, then for each block of query rows goes over
 * blocks of keys: scores by a product tile, mask, softmax brought up to date, and the product with the values added to the result.
 * Tensors may have any dim order that keeps the last dimension innermost, so that heads need not be moved apart. */
#include "kernels/cpu/operand.h"
#include "kernels/cpu/pack_weights.h"
#include "ops/attention.h"

enum { QUERY_BLOCK = 56, KEY_BLOCK = 256, SCORE_STRIDE = KEY_BLOCK + 16 };

typedef struct attention_work {
    fid_attention a;
    fid_meta lead;
    const fid_tensor *out;
    const fidk_tiles *tiles;
    size_t heads, splits; /* tasks go over heads * splits of the query rows */
    size_t items, tasks;
    uint8_t *scratch;
    size_t task_bytes;
} attention_work;

/* One head of a tensor: rows of floats. */
typedef struct head_rows {
    float *data;
    size_t stride; /* floats from row to row */
} head_rows;

typedef struct attention_scratch {
    float *keys;    /* packed */
    float *queries; /* (QUERY_BLOCK, width), scaled */
    float *scores;  /* (QUERY_BLOCK, SCORE_STRIDE) */
    float largest[QUERY_BLOCK], sum[QUERY_BLOCK], factor[QUERY_BLOCK];
} attention_scratch;

typedef struct head_work {
    const attention_work *w;
    attention_scratch *s;
    head_rows query, key, value, out;
    const uint8_t *mask; /* NULL: none */
    int64_t mask_row, mask_column; /* elements */
} head_work;

/* Offset of leading index number `head` in a tensor whose leading dimensions broadcast; `share` query heads stand behind each head. */
static int64_t head_offset(const fid_tensor *t, const fid_meta *lead, size_t head, int64_t share) {
    size_t own = t->rank > 2 ? t->rank - 2u : 0;
    int64_t offset = 0;
    for (size_t d = lead->rank; d-- > 0;) {
        int64_t at = (int64_t)(head % (size_t)lead->sizes[d]);
        head /= (size_t)lead->sizes[d];
        if (d + own < lead->rank) continue;
        size_t dim = d + own - lead->rank;
        if (dim + 1 == own) at /= share;
        if (t->sizes[dim] != 1) offset += at * t->strides[dim];
    }
    return offset;
}

static head_rows head_of(const attention_work *w, const fid_tensor *t, size_t head, bool shared) {
    int64_t share = shared && w->a.grouped ? w->lead.sizes[w->lead.rank - 1] / t->sizes[t->rank - 3] : 1;
    return (head_rows){(float *)t->data + head_offset(t, &w->lead, head, share), (size_t)t->strides[t->rank - 2]};
}

static void pack_keys(const head_work *h) {
    const attention_work *w = h->w;
    size_t keys = (size_t)w->a.keys, width = (size_t)w->a.width;
    for (size_t k = 0; k < keys; k += FIDK_PANEL) {
        size_t rows = keys - k < FIDK_PANEL ? keys - k : FIDK_PANEL;
        float *panel = h->s->keys + k * width;
        if (rows < FIDK_PANEL) memset(panel, 0, width * FIDK_PANEL * sizeof *panel);
        fidk_turn turn = {.in = h->key.data + k * h->key.stride, .in_stride = h->key.stride, .out = panel, .out_stride = FIDK_PANEL,
                          .rows = rows, .columns = width};
        w->tiles->transpose(&turn);
    }
}

static void scale_queries(const head_work *h, size_t row, size_t rows) {
    size_t width = (size_t)h->w->a.width;
    float scale = (float)h->w->a.scale;
    fidk_binary times = {.a = h->query.data + row * h->query.stride, .a_row = (int64_t)h->query.stride, .a_step = 1, .b = &scale,
                         .y = h->s->queries, .y_row = (int64_t)width, .rows = rows, .columns = width};
    h->w->tiles->binary[FID_BINARY_MUL](&times);
}

/* Mask bytes are 0 or 1; where they lie side by side, eight that agree are one look, as they mostly do. */
static void hide_keys(const uint8_t *mask, int64_t step, float *scores, size_t keys) {
    uint64_t word;
    size_t j = 0;
    for (; step == 1 && j + sizeof word <= keys; j += sizeof word) {
        memcpy(&word, mask + j, sizeof word);
        if (word == 0x0101010101010101u) continue;
        for (size_t i = j; i < j + sizeof word; i++)
            if (!mask[i]) scores[i] = -INFINITY;
    }
    for (; j < keys; j++)
        if (!mask[(int64_t)j * step]) scores[j] = -INFINITY;
}

/* Adds the mask to a row of scores for keys [key, key + keys). */
static void add_mask(const head_work *h, float *scores, int64_t row, int64_t key, size_t keys) {
    int64_t at = row * h->mask_row + key * h->mask_column;
    if (h->w->a.mask->dtype == FID_BOOL) {
        hide_keys(h->mask + at, h->mask_column, scores, keys);
        return;
    }
    fidk_binary plus = {.a = scores, .a_step = 1, .b = (const float *)h->mask + at, .b_step = (size_t)h->mask_column, .y = scores, .rows = 1,
                        .columns = keys, .scale = 1};
    if (h->mask_column == 0 || h->mask_column == 1) h->w->tiles->binary[FID_BINARY_ADD](&plus);
    else
        for (size_t j = 0; j < keys; j++) scores[j] += plus.b[(int64_t)j * h->mask_column];
}

static void mask_scores(const head_work *h, size_t row, size_t rows, size_t key, size_t keys) {
    for (size_t r = 0; r < rows; r++) {
        float *scores = h->s->scores + r * SCORE_STRIDE;
        if (h->mask) add_mask(h, scores, (int64_t)(row + r), (int64_t)key, keys);
        for (size_t j = row + r + 1 > key ? row + r + 1 - key : 0; h->w->a.causal && j < keys; j++) scores[j] = -INFINITY;
    }
}

/* Multiplies rows of the result by factors, or by one over them. */
static void scale_result(const head_work *h, size_t row, size_t rows, const float *factor, bool divide) {
    size_t width = (size_t)h->w->a.value_width;
    for (size_t r = 0; r < rows; r++) {
        float *out = h->out.data + (row + r) * h->out.stride;
        float by = divide ? (factor[r] == 0 ? 0 : 1 / factor[r]) : factor[r];
        fidk_binary times = {.a = out, .a_step = 1, .b = &by, .y = out, .rows = 1, .columns = width};
        h->w->tiles->binary[FID_BINARY_MUL](&times);
    }
}

static void attend_keys(const head_work *h, size_t row, size_t rows, size_t key, size_t keys) {
    const attention_work *w = h->w;
    attention_scratch *s = h->s;
    size_t width = (size_t)w->a.width, value_width = (size_t)w->a.value_width;
    fidk_gemm scores = {.tiles = w->tiles, .m = rows, .n = keys, .k = width, .a = s->queries, .a_stride = width, .c = s->scores,
                        .c_stride = SCORE_STRIDE, .b = s->keys + key * width, .b_row = FIDK_PANEL, .b_panel = FIDK_PANEL * width,
                        .no_copies = true};
    fidk_gemm_run(&scores, NULL);
    if (h->mask || w->a.causal) mask_scores(h, row, rows, key, keys);
    fidk_online online = {s->scores, SCORE_STRIDE, rows, keys, s->largest, s->sum, s->factor};
    w->tiles->online(&online);
    float *out = h->out.data + row * h->out.stride;
    if (key) scale_result(h, row, rows, s->factor, false);
    fidk_gemm result = {.tiles = w->tiles, .m = rows, .n = value_width, .k = keys, .a = s->scores, .a_stride = SCORE_STRIDE,
                        .b = h->value.data + key * h->value.stride, .b_row = h->value.stride, .b_panel = FIDK_PANEL, .c = out,
                        .c_stride = h->out.stride, .add = key ? out : NULL, .add_stride = h->out.stride, .no_copies = true};
    fidk_gemm_run(&result, NULL);
}

static void attend_rows(const head_work *h, size_t row, size_t rows) {
    const fid_attention *a = &h->w->a;
    size_t keys = (size_t)a->keys;
    if (a->causal && row + rows < keys) keys = row + rows; /* the last row sees no further */
    for (size_t r = 0; r < rows; r++) h->s->largest[r] = -INFINITY, h->s->sum[r] = 0;
    scale_queries(h, row, rows);
    for (size_t key = 0; key < keys; key += KEY_BLOCK) attend_keys(h, row, rows, key, keys - key < KEY_BLOCK ? keys - key : KEY_BLOCK);
    scale_result(h, row, rows, h->s->sum, true);
}

static void attend_item(const attention_work *w, attention_scratch *s, size_t item, const float **inout_packed) {
    size_t head = item / w->splits, split = item % w->splits;
    size_t begin = fidk_part_begin((size_t)w->a.queries, w->splits, split), end = fidk_part_begin((size_t)w->a.queries, w->splits, split + 1);
    const fid_tensor *mask = w->a.mask;
    head_work h = {.w = w, .s = s, .query = head_of(w, w->a.query, head, false), .key = head_of(w, w->a.key, head, true),
                   .value = head_of(w, w->a.value, head, true), .out = head_of(w, w->out, head, false)};
    if (mask) {
        h.mask = (const uint8_t *)mask->data + head_offset(mask, &w->lead, head, 1) * (int64_t)fid_dtype_size((fid_dtype)mask->dtype);
        h.mask_row = mask->rank >= 2 && mask->sizes[mask->rank - 2] != 1 ? mask->strides[mask->rank - 2] : 0;
        h.mask_column = mask->rank >= 1 && mask->sizes[mask->rank - 1] != 1 ? mask->strides[mask->rank - 1] : 0;
    }
    if (*inout_packed != h.key.data) pack_keys(&h); /* query heads that share keys come one after the other */
    *inout_packed = h.key.data;
    for (size_t row = begin; row < end; row += QUERY_BLOCK) attend_rows(&h, row, end - row < QUERY_BLOCK ? end - row : QUERY_BLOCK);
}

static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

static void attention_task(void *context, size_t index) {
    const attention_work *w = context;
    uint8_t *at = w->scratch + index * w->task_bytes;
    attention_scratch *s = (attention_scratch *)at;
    size_t end = fidk_part_begin(w->items, w->tasks, index + 1);
    const float *packed = NULL;
    at += aligned(sizeof *s);
    s->queries = (float *)at;
    at += aligned(QUERY_BLOCK * (size_t)w->a.width * sizeof(float));
    s->scores = (float *)at;
    s->keys = (float *)(at + aligned(QUERY_BLOCK * SCORE_STRIDE * sizeof(float)));
    for (size_t i = fidk_part_begin(w->items, w->tasks, index); i < end; i++) attend_item(w, s, i, &packed);
}

static void plan_tasks(attention_work *w, const fid_threads *threads) {
    size_t width = (size_t)w->a.width, keys = (size_t)w->a.keys;
    w->heads = 1;
    for (size_t d = 0; d < w->lead.rank; d++) w->heads *= (size_t)w->lead.sizes[d];
    w->tasks = fidk_worthwhile_threads(threads, 2.0 * (double)w->heads * (double)w->a.queries * (double)keys * (double)width);
    w->splits = w->heads && w->heads < w->tasks ? (w->tasks + w->heads - 1) / w->heads : 1;
    w->items = w->heads * w->splits;
    if (w->items < w->tasks) w->tasks = w->items ? w->items : 1;
    w->task_bytes = aligned(sizeof(attention_scratch)) + aligned(QUERY_BLOCK * width * sizeof(float)) +
                    aligned(QUERY_BLOCK * SCORE_STRIDE * sizeof(float)) + aligned(fidk_packed_floats(keys, width) * sizeof(float));
}

/* float32 with the last dimension innermost. */
static bool has_rows(const fid_tensor *t) { return t->dtype == FID_FLOAT32 && t->rank >= 2 && t->dim_order[t->rank - 1] == t->rank - 1; }

static fid_status attention_prepare(fid_call *call) {
    const fid_tensor *mask = fid_arg_tensor(call, 3);
    bool takes = has_rows(fid_arg_tensor(call, 0)) && has_rows(fid_arg_tensor(call, 1)) && has_rows(fid_arg_tensor(call, 2)) &&
                 has_rows(fid_out_tensor(call, 0)) && (!mask || mask->dtype == FID_FLOAT32 || mask->dtype == FID_BOOL);
    return takes ? FID_OK : FID_NOT_SUPPORTED;
}

static fid_status attention_of(const fid_call *call, attention_work *w) {
    *w = (attention_work){.out = fid_out_tensor(call, 0), .tiles = fidk_tiles_for(call->cpu)};
    FID_TRY(fid_attention_of(call, &w->a, &w->lead));
    plan_tasks(w, call->threads);
    return FID_OK;
}

static fid_status attention_run(fid_call *call) {
    attention_work w;
    FID_TRY(attention_of(call, &w));
    if (fid_tensor_numel(w.out) == 0) return FID_OK;
    w.scratch = fid_call_scratch(call, w.task_bytes * w.tasks);
    if (!w.scratch) return FID_OUT_OF_MEMORY;
    fidk_parallel(call->threads, attention_task, &w, w.tasks);
    return FID_OK;
}

static size_t attention_bytes(const fid_call *call) {
    attention_work w;
    return attention_of(call, &w) == FID_OK ? w.task_bytes * w.tasks : 0;
}

const fid_kernel fid_cpu_scaled_dot_product_attention = {.prepare = attention_prepare, .run = attention_run, .scratch_bytes = attention_bytes,
                                                         .any_numbers = true};
