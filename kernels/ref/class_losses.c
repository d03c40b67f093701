/* Margin losses over classes, and rows of a table shortened to a norm. */
#include "kernels/ref/dense.h"
#include "kernels/ref/elements.h"

typedef struct scores {
    double *values;   /* (items, classes) */
    int64_t *targets; /* in logical order */
    size_t items, classes;
    double *losses;   /* (items) */
} scores;

static fid_status scores_begin(fid_call *call, scores *s) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *target = fid_arg_tensor(call, 1);
    s->items = self->rank == 2 ? (size_t)self->sizes[0] : 1;
    s->classes = self->rank ? (size_t)self->sizes[self->rank - 1] : 1;
    FIDK_NEED(s->values = fidk_dense_load(call, self));
    FIDK_NEED(s->targets = fidk_ints(call, fid_tensor_numel(target)));
    FIDK_NEED(s->losses = fidk_doubles(call, s->items));
    fidk_walk walk;
    fidk_walk_begin(&walk, target->sizes, target->rank);
    fidk_walk_add(&walk, target);
    for (size_t i = 0; walk.left; fidk_walk_next(&walk), i++) s->targets[i] = fidk_get_int(target, walk.at[0]);
    return FID_OK;
}

static fid_status check_target(const fid_call *call, const scores *s, int64_t target) {
    if (target >= 0 && target < (int64_t)s->classes) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: target %lld is none of %zu classes", call->name, (long long)target, s->classes);
}

/* reduction: 0 none, 1 mean, 2 sum */
static fid_status scores_end(fid_call *call, const scores *s, int64_t reduction) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    double total = 0;
    for (size_t i = 0; i < s->items; i++) total += s->losses[i];
    if (reduction == 1) total /= (double)s->items;
    fidk_dense_store(out, out->rank ? s->losses : &total);
    return FID_OK;
}

/* ---- multi_margin_loss(self, target, p, margin, weight?, reduction) ---- */

static fid_status run_multi_margin_loss(fid_call *call) {
    double p = fid_arg_double(call, 2), margin = fid_arg_double(call, 3), *weights;
    scores s;
    FID_TRY(scores_begin(call, &s));
    FIDK_NEED(weights = fidk_dense_load_or(call, fid_arg_tensor(call, 4), s.classes, 1));
    for (size_t i = 0; i < s.items; i++) {
        const double *row = s.values + i * s.classes;
        int64_t target = s.targets[i];
        double sum = 0;
        FID_TRY(check_target(call, &s, target));
        for (size_t j = 0; j < s.classes; j++) {
            double gap = margin - row[target] + row[j];
            if ((int64_t)j != target && gap > 0) sum += weights[target] * (p == 1 ? gap : gap * gap);
        }
        s.losses[i] = sum / (double)s.classes;
    }
    return scores_end(call, &s, fid_arg_int(call, 5));
}
const fid_kernel fid_ref_multi_margin_loss = {.run = run_multi_margin_loss};

/* ---- multilabel_margin_loss(self, target, reduction): a row's targets end at the first -1 ---- */

static bool is_target(const int64_t *targets, size_t count, int64_t class) {
    for (size_t i = 0; i < count && targets[i] >= 0; i++) {
        if (targets[i] == class) return true;
    }
    return false;
}

static fid_status run_multilabel_margin_loss(fid_call *call) {
    scores s;
    FID_TRY(scores_begin(call, &s));
    for (size_t i = 0; i < s.items; i++) {
        const double *row = s.values + i * s.classes;
        const int64_t *targets = s.targets + i * s.classes;
        double sum = 0;
        for (size_t t = 0; t < s.classes && targets[t] >= 0; t++) {
            FID_TRY(check_target(call, &s, targets[t]));
            for (size_t j = 0; j < s.classes; j++) {
                if (!is_target(targets, s.classes, (int64_t)j)) sum += fmax(0, 1 - row[targets[t]] + row[j]);
            }
        }
        s.losses[i] = sum / (double)s.classes;
    }
    return scores_end(call, &s, fid_arg_int(call, 2));
}
const fid_kernel fid_ref_multilabel_margin_loss = {.run = run_multilabel_margin_loss};

/* ---- embedding_renorm(self, indices, max_norm, norm_type) ---- */

static double row_norm(const double *row, size_t size, double p) {
    double total = 0;
    for (size_t j = 0; j < size; j++) {
        double x = fabs(row[j]);
        total = isinf(p) ? fmax(total, x) : total + (p == 0 ? x != 0 : pow(x, p));
    }
    return isinf(p) || p == 0 ? total : pow(total, 1 / p);
}

static fid_status run_embedding_renorm(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *indices = fid_arg_tensor(call, 1);
    double limit = fid_arg_double(call, 2), p = fid_arg_double(call, 3), *values;
    size_t rows = (size_t)self->sizes[0], size = (size_t)self->sizes[1];
    uint8_t *done = fid_call_scratch(call, rows + 1);
    FIDK_NEED(done);
    FIDK_NEED(values = fidk_dense_load(call, self));
    memset(done, 0, rows);
    fidk_walk walk;
    fidk_walk_begin(&walk, indices->sizes, indices->rank);
    fidk_walk_add(&walk, indices);
    FIDK_WALK(&walk) {
        int64_t row = fidk_get_int(indices, walk.at[0]);
        if (row < 0 || row >= (int64_t)rows) {
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: index %lld is outside of [0, %zu)", call->name, (long long)row, rows);
        }
        double norm = row_norm(values + (size_t)row * size, size, p);
        if (done[row] || norm <= limit) continue;
        done[row] = 1;
        for (size_t j = 0; j < size; j++) values[(size_t)row * size + j] *= limit / (norm + 1e-7);
    }
    fidk_dense_store(fid_out_tensor(call, 0), values);
    return FID_OK;
}
const fid_kernel fid_ref_embedding_renorm = {.run = run_embedding_renorm};
