/* Reductions of runs along an axis whose lengths or offsets are data: segment_reduce(data, reduce, lengths?, indices?, offsets?, axis,
 * unsafe, initial?). Dimensions before the axis have runs of their own. */
#include "kernels/ref/dense.h"
#include "kernels/ref/elementwise.h"

typedef enum reduction { SUM, MEAN, MAX, MIN, PROD } reduction;

typedef struct segments {
    reduction how;
    double initial;
    bool has_initial;
    size_t outer, length, inner; /* data as (outer, length, inner) */
    size_t count;                /* segments along the axis */
    const double *data;
    double *out;                 /* (outer, count, inner) */
} segments;

static bool read_reduction(const fid_value *text, reduction *out) {
    static const char *const names[] = {[SUM] = "sum", [MEAN] = "mean", [MAX] = "max", [MIN] = "min", [PROD] = "prod"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t length = strlen(names[i]);
        if (text->tag != FID_TAG_STRING || text->as.string.length != length || memcmp(text->as.string.text, names[i], length) != 0) continue;
        *out = (reduction)i;
        return true;
    }
    return false;
}

static double combine(reduction how, double a, double b) {
    switch (how) {
    case MAX: return fidk_max(a, b);
    case MIN: return fidk_min(a, b);
    case PROD: return a * b;
    default: return a + b;
    }
}

/* Elements [start, end) of every inner column. */
static void reduce_segment(const segments *s, size_t outer, size_t segment, int64_t start, int64_t end) {
    for (size_t k = 0; k < s->inner; k++) {
        double value = s->initial;
        for (int64_t i = start; i < end; i++) value = combine(s->how, value, s->data[(outer * s->length + (size_t)i) * s->inner + k]);
        if (s->how == MEAN && end > start) value /= (double)(end - start);
        else if (s->how == MEAN && !s->has_initial) value = (double)NAN;
        s->out[(outer * s->count + segment) * s->inner + k] = value;
    }
}

static fid_status check_segment(const fid_call *call, const segments *s, size_t segment, int64_t start, int64_t end) {
    if (start >= 0 && end >= start && end <= (int64_t)s->length) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: segment %zu would be [%lld, %lld) of %zu elements", call->name, segment,
                    (long long)start, (long long)end, s->length);
}

/* `given` holds lengths, or offsets, of which there is one more than segments. */
static fid_status reduce_all(const fid_call *call, const segments *s, const int64_t *given, bool by_length) {
    for (size_t o = 0; o < s->outer; o++) {
        const int64_t *row = given + o * (s->count + !by_length);
        int64_t start = 0, end;
        for (size_t i = 0; i < s->count; i++, start = end) {
            if (!by_length) start = row[i], end = row[i + 1];
            else if (__builtin_add_overflow(start, row[i], &end)) end = -1;
            FID_TRY(check_segment(call, s, i, start, end));
            reduce_segment(s, o, i, start, end);
        }
    }
    return FID_OK;
}

static fid_status run(fid_call *call) {
    static const double start[] = {[SUM] = 0, [MEAN] = 0, [MAX] = -INFINITY, [MIN] = INFINITY, [PROD] = 1};
    const fid_tensor *data = fid_arg_tensor(call, 0), *lengths = fid_arg_tensor(call, 2), *out = fid_out_tensor(call, 0);
    const fid_tensor *given = lengths ? lengths : fid_arg_tensor(call, 4);
    segments s = {.has_initial = !fid_arg_is_none(call, 7)};
    size_t axis;
    if (!read_reduction(call->args[1], &s.how)) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the reduction must be sum, mean, max, min or prod", call->name);
    }
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 5), data->rank, &axis));
    s.initial = s.has_initial ? fid_arg_double(call, 7) : start[s.how];
    s.outer = fidk_product(data->sizes, axis), s.inner = fidk_product(data->sizes + axis + 1, data->rank - axis - 1);
    s.length = (size_t)data->sizes[axis], s.count = (size_t)out->sizes[axis];
    int64_t *numbers;
    FIDK_NEED(s.data = fidk_dense_load(call, data));
    FIDK_NEED(s.out = fidk_doubles(call, fid_tensor_numel(out)));
    FIDK_NEED(numbers = fidk_ints(call, fid_tensor_numel(given)));
    fidk_walk walk;
    fidk_walk_begin(&walk, given->sizes, given->rank);
    fidk_walk_add(&walk, given);
    for (size_t i = 0; walk.left; fidk_walk_next(&walk), i++) numbers[i] = fidk_get_int(given, walk.at[0]);
    FID_TRY(reduce_all(call, &s, numbers, lengths != NULL));
    fidk_dense_store(out, s.out);
    return FID_OK;
}

const fid_kernel fid_ref_segment_reduce = {.run = run};
