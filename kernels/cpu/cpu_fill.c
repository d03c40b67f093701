/* Tensors of one number (full, full_like), and any over the last dimension of truth values: what written-out attention with masks makes
 * much of. */
#include "kernels/cpu/operand.h"

/* ---- full ---- */

/* The bytes of the number in the output's dtype; 0: a dtype that the reference kernel converts to. */
static size_t pattern_of(const fid_value *number, uint8_t dtype, uint8_t *out) {
    float real = (float)fid_value_double(number);
    int64_t whole = number->tag == FID_TAG_DOUBLE ? 0 : fid_value_int(number);
    bool truth = fid_value_bool(number), exact = number->tag != FID_TAG_DOUBLE;
    switch (dtype) {
    case FID_FLOAT32: memcpy(out, &real, 4); return 4;
    case FID_BOOL: *out = truth; return 1;
    case FID_INT64: memcpy(out, &whole, 8); return exact ? 8 : 0;
    default: return 0;
    }
}

static fid_status full_prepare(fid_call *call) {
    uint8_t pattern[8];
    return pattern_of(call->args[1], fid_out_tensor(call, 0)->dtype, pattern) ? FID_OK : FID_NOT_SUPPORTED;
}

/* Tensors are dense: the order of dimensions does not matter. */
static fid_status full_run(fid_call *call) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    uint8_t pattern[8], *to = out->data;
    size_t size = pattern_of(call->args[1], out->dtype, pattern), count = fid_tensor_numel(out);
    if (size == 1) {
        if (count) memset(to, pattern[0], count);
        return FID_OK;
    }
    if (size == 4) for (size_t i = 0; i < count; i++) memcpy(to + 4 * i, pattern, 4);
    else for (size_t i = 0; i < count; i++) memcpy(to + 8 * i, pattern, 8);
    return FID_OK;
}

const fid_kernel fid_cpu_full = {.prepare = full_prepare, .run = full_run};
const fid_kernel fid_cpu_full_like = {.prepare = full_prepare, .run = full_run};

/* ---- any(self, dim, keepdim) ---- */

typedef struct any_work {
    const uint8_t *x;
    uint8_t *y;
    size_t rows, length, parts;
} any_work;

static bool is_plain_bool(const fid_tensor *t) {
    for (uint8_t i = 0; i < t->rank; i++)
        if (t->dim_order[i] != i) return false;
    return t->dtype == FID_BOOL && t->rank > 0;
}

static fid_status any_prepare(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    size_t dim;
    if (!is_plain_bool(self) || out->dtype != FID_BOOL) return FID_NOT_SUPPORTED;
    for (uint8_t i = 0; i < out->rank; i++)
        if (out->dim_order[i] != i) return FID_NOT_SUPPORTED;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), self->rank, &dim));
    return dim + 1 == self->rank ? FID_OK : FID_NOT_SUPPORTED;
}

static bool any_of(const uint8_t *x, size_t count) {
    uint64_t seen = 0, word;
    size_t i = 0;
    for (; i + 8 <= count; i += 8) memcpy(&word, x + i, 8), seen |= word;
    for (; i < count; i++) seen |= x[i];
    return seen != 0;
}

static void any_part(void *context, size_t index) {
    const any_work *w = context;
    size_t end = fidk_part_begin(w->rows, w->parts, index + 1);
    for (size_t row = fidk_part_begin(w->rows, w->parts, index); row < end; row++) w->y[row] = any_of(w->x + row * w->length, w->length);
}

static fid_status any_run(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    any_work w = {.x = self->data, .y = out->data, .rows = fid_tensor_numel(out), .length = (size_t)self->sizes[self->rank - 1]};
    w.parts = fidk_worthwhile_threads(call->threads, (double)w.rows * (double)w.length / 4);
    fidk_parallel(call->threads, any_part, &w, w.parts);
    return FID_OK;
}

const fid_kernel fid_cpu_any_dim = {.prepare = any_prepare, .run = any_run};
