/* Shapes of tensors made from arguments alone (full, arange, eye, ...) and of those that take another's shape (full_like, copy). */
#include "ops/promote.h"
#include "ops/sequence.h"
#include "ops/shape.h"

/* Sets a row-major result after checking the sizes. */
static fid_status set_sizes(const fid_call *call, fid_meta *out, fid_dtype dtype, const int64_t *sizes, size_t rank) {
    size_t count;
    if (rank > FID_MAX_RANK) {
        return fid_fail(call->sink, FID_NOT_SUPPORTED, "%s: the result has %zu dimensions, at most %d are possible", call->name, rank,
                        FID_MAX_RANK);
    }
    if (fid_dtype_size(dtype) == 0 || !fid_mul_sizes(sizes, rank, &count) || !fid_mul_size(count, fid_dtype_size(dtype), &count)) {
        char text[160];
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %s is no possible shape of %s", call->name,
                        fid_shape_text(sizes, rank, text, sizeof text), fid_dtype_name(dtype));
    }
    fid_meta_set(out, dtype, sizes, rank);
    return FID_OK;
}

static fid_status set_from_list(const fid_call *call, uint32_t list, fid_meta *out, fid_dtype dtype) {
    size_t rank;
    const int64_t *sizes = fid_arg_ints(call, list, &rank);
    return set_sizes(call, out, dtype, sizes, rank);
}

/* dtype of a number without one: PyTorch's defaults. */
static fid_dtype number_dtype(const fid_value *value) {
    return value->tag == FID_TAG_BOOL ? FID_BOOL : value->tag == FID_TAG_INT ? FID_INT64 : FID_FLOAT32;
}

/* Memory formats by PyTorch's numbers: 0 contiguous, 1 preserve, 2 channels last, 3 channels last 3d. */
static fid_status apply_memory_format(const fid_call *call, uint32_t i, fid_meta *meta) {
    if (i >= call->output_index || fid_arg_is_none(call, i)) return FID_OK;
    int64_t format = fid_arg_int(call, i);
    if (format == 1) return FID_OK;
    if (format != 0 && !(format == 2 && meta->rank == 4) && !(format == 3 && meta->rank == 5)) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: memory format %lld does not fit a tensor of %d dimensions", call->name,
                        (long long)format, meta->rank);
    }
    for (uint8_t k = 0; k < meta->rank; k++) meta->dim_order[k] = k;
    if (format == 0) return FID_OK;
    for (uint8_t k = 1; k + 1 < meta->rank; k++) meta->dim_order[k] = (uint8_t)(k + 1);
    meta->dim_order[meta->rank - 1] = 1;
    return FID_OK;
}

/* Where argument `i` of the functional form, which has `inputs` arguments, lies in this call: the out= form leaves out the four
 * options before it. */
static uint32_t after_options(const fid_call *call, uint32_t i, uint32_t inputs) {
    return call->output_index == inputs ? i : i - 4;
}

/* ---- One value everywhere ---- */

fid_status fid_shape_full(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return set_from_list(call, 0, outs, fid_option_dtype(call, 2, 6, number_dtype(call->args[1])));
}

/* zeros and ones. */
fid_status fid_shape_zeros(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return set_from_list(call, 0, outs, fid_option_dtype(call, 1, 5, FID_FLOAT32));
}

fid_status fid_shape_empty(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    FID_TRY(set_from_list(call, 0, outs, fid_option_dtype(call, 1, 6, FID_FLOAT32)));
    return apply_memory_format(call, after_options(call, 5, 6), outs);
}

fid_status fid_shape_full_like(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    outs[0] = fid_meta_of(fid_arg_tensor(call, 0));
    outs->dtype = (uint8_t)fid_option_dtype(call, 2, 7, (fid_dtype)outs->dtype);
    return apply_memory_format(call, after_options(call, 6, 7), outs);
}

/* zeros_like, ones_like, empty_like and the random ones. */
fid_status fid_shape_zeros_like(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    outs[0] = fid_meta_of(fid_arg_tensor(call, 0));
    outs->dtype = (uint8_t)fid_option_dtype(call, 1, 6, (fid_dtype)outs->dtype);
    return apply_memory_format(call, after_options(call, 5, 6), outs);
}

fid_status fid_shape_new_full(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return set_from_list(call, 1, outs, fid_option_dtype(call, 3, 7, (fid_dtype)fid_arg_tensor(call, 0)->dtype));
}

/* new_zeros, new_ones, new_empty. */
fid_status fid_shape_new_zeros(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return set_from_list(call, 1, outs, fid_option_dtype(call, 2, 6, (fid_dtype)fid_arg_tensor(call, 0)->dtype));
}

fid_status fid_shape_scalar_tensor(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_meta_set(outs, fid_option_dtype(call, 1, 5, FID_FLOAT32), NULL, 0);
    return FID_OK;
}

/* ---- Other memory orders ---- */

static fid_status set_dim_order(const fid_call *call, uint32_t list, fid_meta *out) {
    size_t count;
    const int64_t *order = fid_arg_ints(call, list, &count);
    bool fits = count == out->rank;
    for (size_t i = 0; i < count && fits; i++) {
        fits = order[i] >= 0 && order[i] < out->rank;
        if (fits) out->dim_order[i] = (uint8_t)order[i];
    }
    if (fits && fid_dim_order_valid(out->dim_order, out->rank)) return FID_OK;
    char text[160];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %s is no dim order of %d dimensions", call->name,
                    fid_shape_text(order, count, text, sizeof text), out->rank);
}

fid_status fid_shape_empty_dim_order(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    FID_TRY(set_from_list(call, 0, outs, fid_option_dtype(call, 1, 6, FID_FLOAT32)));
    uint32_t order = after_options(call, 5, 6);
    return fid_arg_is_none(call, order) ? FID_OK : set_dim_order(call, order, outs);
}

fid_status fid_shape_empty_permuted(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    FID_TRY(set_from_list(call, 0, outs, fid_option_dtype(call, 2, 6, FID_FLOAT32)));
    return set_dim_order(call, 1, outs);
}

/* Dimensions by falling stride; strides with gaps or overlaps are made dense. */
fid_status fid_shape_empty_strided(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    FID_TRY(set_from_list(call, 0, outs, fid_option_dtype(call, 2, 6, FID_FLOAT32)));
    size_t count;
    const int64_t *strides = fid_arg_ints(call, 1, &count);
    if (count != outs->rank) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %d sizes but %zu strides", call->name, outs->rank, count);
    }
    for (size_t i = 1; i < count; i++) {
        uint8_t dim = outs->dim_order[i];
        size_t k = i;
        for (; k > 0 && strides[outs->dim_order[k - 1]] < strides[dim]; k--) outs->dim_order[k] = outs->dim_order[k - 1];
        outs->dim_order[k] = dim;
    }
    return FID_OK;
}

/* ---- Sequences ---- */

static fid_status arange_count(const fid_call *call, const fid_arange *range, int64_t *out_count) {
    double start = fid_value_double(&range->start), end = fid_value_double(&range->end), step = fid_value_double(&range->step);
    if (range->whole) {
        int64_t a = fid_value_int(&range->start), b = fid_value_int(&range->end), s = fid_value_int(&range->step), span;
        if (s != 0 && !__builtin_sub_overflow(b, a, &span) && (span == 0 || (span > 0) == (s > 0))) {
            *out_count = span / s + (span % s != 0);
            return FID_OK;
        }
    } else if (isfinite(start) && isfinite(end) && step != 0 && (end == start || (end > start) == (step > 0))) {
        double count = ceil((end - start) / step);
        if (count < 9e18) {
            *out_count = (int64_t)count;
            return FID_OK;
        }
    }
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: no sequence leads from %g to %g with step %g", call->name, start, end, step);
}

static bool is_whole(const fid_value *value) { return value->tag != FID_TAG_DOUBLE; }

static void read_arange(const fid_call *call, uint32_t numbers, fid_arange *out) {
    out->start = numbers == 1 ? fid_int_value(0) : *call->args[0];
    out->end = *call->args[numbers == 1 ? 0 : 1];
    out->step = numbers == 3 ? *call->args[2] : fid_int_value(1);
    out->whole = is_whole(&out->start) && is_whole(&out->end) && is_whole(&out->step);
}

fid_dtype fid_arange_dtype(const fid_call *call, uint32_t numbers) {
    fid_arange range;
    read_arange(call, numbers, &range);
    return fid_option_dtype(call, numbers, numbers + 4, range.whole ? FID_INT64 : FID_FLOAT32);
}

fid_status fid_arange_of(const fid_call *call, uint32_t numbers, fid_arange *out) {
    read_arange(call, numbers, out);
    out->whole = out->whole || fid_arange_dtype(call, numbers) == FID_INT64;
    return arange_count(call, out, &out->count);
}

static fid_status shape_arange(const fid_call *call, uint32_t numbers, fid_meta *out) {
    fid_arange range;
    FID_TRY(fid_arange_of(call, numbers, &range));
    return set_sizes(call, out, fid_arange_dtype(call, numbers), &range.count, 1);
}

fid_status fid_shape_arange(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return shape_arange(call, 1, outs);
}

fid_status fid_shape_arange_start(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return shape_arange(call, 2, outs);
}

fid_status fid_shape_arange_start_step(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return shape_arange(call, 3, outs);
}

/* linspace: start, end, steps, then options. */
fid_status fid_shape_linspace(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    int64_t steps = fid_arg_int(call, 2);
    return set_sizes(call, outs, fid_option_dtype(call, 3, 7, FID_FLOAT32), &steps, 1);
}

/* logspace: start, end, steps, base, then options. */
fid_status fid_shape_logspace(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    int64_t steps = fid_arg_int(call, 2);
    return set_sizes(call, outs, fid_option_dtype(call, 4, 8, FID_FLOAT32), &steps, 1);
}

/* ---- Matrices ---- */

fid_status fid_shape_eye(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    int64_t sizes[2] = {fid_arg_int(call, 0), fid_arg_int(call, 0)};
    return set_sizes(call, outs, fid_option_dtype(call, 1, 5, FID_FLOAT32), sizes, 2);
}

fid_status fid_shape_eye_m(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    int64_t sizes[2] = {fid_arg_int(call, 0), fid_arg_int(call, 1)};
    return set_sizes(call, outs, fid_option_dtype(call, 2, 6, FID_FLOAT32), sizes, 2);
}

/* ---- Windows of signals: a length and up to three numbers ---- */

static fid_status window_shape(const fid_call *call, fid_meta *outs, uint32_t numbers) {
    int64_t length = fid_arg_int(call, 0);
    return set_sizes(call, outs, fid_option_dtype(call, numbers, numbers + 4, FID_FLOAT32), &length, 1);
}

#define WINDOW_SHAPE(numbers)                                                                                          \
    fid_status fid_shape_window##numbers(const fid_call *call, fid_meta *outs, size_t out_count) {                     \
        (void)out_count;                                                                                               \
        return window_shape(call, outs, numbers);                                                                      \
    }
WINDOW_SHAPE(1)
WINDOW_SHAPE(2)
WINDOW_SHAPE(3)
WINDOW_SHAPE(4)

int64_t fid_tril_row_length(int64_t row, int64_t columns, int64_t offset) {
    int64_t length = row + offset + 1;
    return length < 0 ? 0 : length > columns ? columns : length;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high) { return value < low ? low : value > high ? high : value; }

/* Elements on or below a diagonal: rows that it cuts, then whole rows. */
static int64_t count_below(int64_t rows, int64_t columns, int64_t offset) {
    int64_t first = clamp(-offset, 0, rows), whole = clamp(columns - offset - 1, first, rows), cut = whole - first;
    return cut * (first + offset + 1) + cut * (cut - 1) / 2 + (rows - whole) * columns;
}

static fid_status shape_triangle(const fid_call *call, bool lower, fid_meta *out) {
    int64_t rows = fid_arg_int(call, 0), columns = fid_arg_int(call, 1), offset = fid_arg_int(call, 2);
    const int64_t limit = INT32_MAX;
    if (rows < 0 || columns < 0 || rows > limit || columns > limit || offset < -limit || offset > limit) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %lld rows, %lld columns and diagonal %lld are no triangle", call->name,
                        (long long)rows, (long long)columns, (long long)offset);
    }
    int64_t below = count_below(rows, columns, lower ? offset : offset - 1), count = lower ? below : rows * columns - below;
    return set_sizes(call, out, fid_option_dtype(call, 3, 7, FID_INT64), (int64_t[2]){2, count}, 2);
}

fid_status fid_shape_tril_indices(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return shape_triangle(call, true, outs);
}

fid_status fid_shape_triu_indices(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return shape_triangle(call, false, outs);
}

/* ---- Another's shape ---- */

fid_status fid_shape_fill(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    outs[0] = fid_meta_of(fid_arg_tensor(call, 0));
    return FID_OK;
}

fid_status fid_shape_fill_Tensor(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *value = fid_arg_tensor(call, 1);
    outs[0] = fid_meta_of(fid_arg_tensor(call, 0));
    if (value->rank == 0) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the value has %d dimensions, it must be a single number", call->name,
                    value->rank);
}

fid_status fid_shape_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *self = fid_arg_tensor(call, 0);
    fid_meta both = fid_meta_of(self);
    FID_TRY(fid_meta_broadcast(call, &both, fid_arg_tensor(call, 1)));
    outs[0] = fid_meta_of(self);
    if (both.rank == self->rank && memcmp(both.sizes, self->sizes, self->rank * sizeof both.sizes[0]) == 0) return FID_OK;
    char from[160], to[160];
    const fid_tensor *src = fid_arg_tensor(call, 1);
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a tensor of shape %s does not fit into %s", call->name,
                    fid_shape_text(src->sizes, src->rank, from, sizeof from), fid_shape_text(self->sizes, self->rank, to, sizeof to));
}

/* ---- Random ---- */

/* input, p, train?: the tensor and a mask of what was kept. */
fid_status fid_shape_native_dropout(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *input = fid_arg_tensor(call, 0);
    double p = fid_arg_double(call, 1);
    if (!(p >= 0 && p <= 1)) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: p is %g, it must lie in [0, 1]", call->name, p);
    }
    if (!fid_dtype_is_float((fid_dtype)input->dtype)) {
        return fid_fail(call->sink, FID_INVALID_TYPE, "%s takes a float tensor, not %s", call->name,
                        fid_dtype_name((fid_dtype)input->dtype));
    }
    outs[0] = outs[1] = fid_meta_of(input);
    outs[1].dtype = FID_BOOL;
    return FID_OK;
}
