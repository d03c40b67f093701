/* Batches of matrices in tensors; see algebra.h. */
#include "kernels/ref/algebra.h"
#include "kernels/ref/dense.h"

size_t fidk_svd_work(size_t m, size_t n) {
    size_t k = m < n ? m : n, square, copy = 0, total;
    bool fits = fid_mul_size(k, k, &square) && fid_mul_size(k, 4, &total) && fid_add_size(square, total, &total) &&
                (m >= n || fid_mul_size(m, n, &copy)) && fid_add_size(total, copy, &total);
    return fits ? total : SIZE_MAX;
}

bool fidk_batch_begin(fidk_batch *batch, fid_call *call, const fid_tensor *shape, size_t own) {
    *batch = (fidk_batch){.call = call, .algebra = fidk_algebra_of((fid_dtype)fid_arg_tensor(call, 0)->dtype), .sizes = shape->sizes,
                          .rank = shape->rank - own};
    return fidk_product(shape->sizes, batch->rank) != 0;
}

bool fidk_batch_next(fidk_batch *batch) { return fidk_next_index(batch->index, batch->sizes, batch->rank); }

void *fidk_batch_numbers(const fidk_batch *batch, size_t a, size_t b) {
    size_t bytes;
    if (a == 0 || b == 0) a = b = 1;
    bool fits = fid_mul_size(a, b, &bytes) && fid_mul_size(bytes, batch->algebra->number, &bytes);
    return fits ? fid_call_scratch(batch->call, bytes) : NULL;
}

double *fidk_batch_doubles(const fidk_batch *batch, size_t count) { return fidk_doubles(batch->call, count); }

static int64_t offset_of(const fidk_batch *batch, const fid_tensor *t, size_t own) {
    size_t lead = t->rank - own;
    int64_t offset = 0;
    for (size_t d = 0; d < lead; d++)
        if (t->sizes[d] != 1) offset += batch->index[batch->rank - lead + d] * t->strides[d];
    return offset;
}

/* Sizes and strides of the tensor's own dimensions: a vector is a column. */
typedef struct window { size_t m, n; int64_t row, column; } window;
static window window_of(const fid_tensor *t, size_t own, bool transposed) {
    window w = {1, 1, 0, 0};
    if (own >= 1) w.m = (size_t)t->sizes[t->rank - own], w.row = t->strides[t->rank - own];
    if (own == 2) w.n = (size_t)t->sizes[t->rank - 1], w.column = t->strides[t->rank - 1];
    return transposed ? (window){w.n, w.m, w.column, w.row} : w;
}

void fidk_batch_load(const fidk_batch *batch, const fid_tensor *t, size_t own, int flags, void *out) {
    window w = window_of(t, own, flags & FIDK_TRANSPOSED);
    batch->algebra->load(t, offset_of(batch, t, own), w.row, w.column, w.m, w.n, (flags & FIDK_CONJUGATED) != 0, out);
}

void fidk_batch_store(const fidk_batch *batch, const fid_tensor *t, size_t own, int flags, const void *values) {
    window w = window_of(t, own, flags & FIDK_TRANSPOSED);
    batch->algebra->store(t, offset_of(batch, t, own), w.row, w.column, w.m, w.n, (flags & FIDK_CONJUGATED) != 0, values);
}

void fidk_batch_store_real(const fidk_batch *batch, const fid_tensor *t, size_t own, const double *values) {
    window w = window_of(t, own, false);
    fidk_algebra_real.store(t, offset_of(batch, t, own), w.row, w.column, w.m, w.n, false, values);
}

void fidk_batch_store_ints(const fidk_batch *batch, const fid_tensor *t, size_t own, const int64_t *values, int64_t add) {
    window w = window_of(t, own, false);
    int64_t offset = offset_of(batch, t, own);
    for (size_t i = 0; i < w.m; i++) {
        int64_t value = values[i] + add;
        fidk_store_row_int(t, offset + (int64_t)i * w.row, 1, 1, &value);
    }
}

fid_status fidk_batch_load_pivots(const fidk_batch *batch, const fid_tensor *t, size_t rows, int64_t *out) {
    window w = window_of(t, 1, false);
    fidk_load_row_int(t, offset_of(batch, t, 1), w.row, w.m, out);
    for (size_t i = 0; i < w.m; i++) {
        if (out[i] < 1 || out[i] > (int64_t)rows) {
            return fid_fail(batch->call->sink, FID_INVALID_ARGUMENT, "%s: pivot %lld names no row of %zu", batch->call->name, (long long)out[i], rows);
        }
        out[i]--;
    }
    return FID_OK;
}

void fidk_apply_pivots(const fidk_algebra *algebra, void *a, size_t columns, const int64_t *pivots, size_t count, bool back) {
    for (size_t step = 0; step < count; step++) {
        size_t i = back ? count - 1 - step : step;
        algebra->swap_rows(a, columns, i, (size_t)pivots[i]);
    }
}
