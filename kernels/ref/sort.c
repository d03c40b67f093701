/* Sorting along a dimension, always stable. */
#include "kernels/ref/order.h"

int64_t fidk_order_key(fid_dtype dtype, const void *data, int64_t index) {
    fidk_element element = fidk_load(dtype, data, index);
    if (dtype == FID_UINT64) return element.i ^ INT64_MIN;
    if (!fid_dtype_is_float(dtype)) return element.i;
    if (isnan(element.d)) return INT64_MAX;
    int64_t bits;
    double value = element.d == 0 ? 0 : element.d;
    memcpy(&bits, &value, sizeof bits);
    return bits < 0 ? bits ^ INT64_MAX : bits;
}

fid_status fidk_need_order(const fid_call *call, const fid_tensor *tensor) {
    if (!fid_dtype_is_complex((fid_dtype)tensor->dtype)) return FID_OK;
    return fid_fail(call->sink, FID_NOT_SUPPORTED, "%s: complex numbers have no order", call->name);
}

static void merge(fidk_ranked *to, const fidk_ranked *a, size_t a_count, const fidk_ranked *b, size_t b_count, bool descending) {
    while (a_count && b_count) {
        bool take_b = descending ? b->key > a->key : b->key < a->key;
        *to++ = take_b ? *b++ : *a++;
        if (take_b) b_count--;
        else a_count--;
    }
    memcpy(to, a_count ? a : b, (a_count + b_count) * sizeof *to);
}

void fidk_sort_ranked(fidk_ranked *items, fidk_ranked *spare, size_t count, bool descending) {
    for (size_t run = 1; run < count; run *= 2) {
        for (size_t at = 0; at < count; at += 2 * run) {
            size_t left = count - at, first = left < run ? left : run, second = left - first < run ? left - first : run;
            merge(spare + at, items + at, first, items + at + first, second, descending);
        }
        memcpy(items, spare, count * sizeof *items);
    }
}

/* One line along the sorted dimension. */
typedef struct line {
    const fid_tensor *self, *values, *indices;
    int64_t self_at, values_at, indices_at; /* offsets of the line's first element */
    int64_t self_stride, values_stride, indices_stride;
    int64_t length;
} line;

static void sort_line(const line *l, fidk_ranked *items, bool descending) {
    fid_dtype dtype = (fid_dtype)l->self->dtype;
    size_t size = fid_dtype_size(dtype);
    for (int64_t i = 0; i < l->length; i++) {
        items[i] = (fidk_ranked){fidk_order_key(dtype, l->self->data, l->self_at + i * l->self_stride), i};
    }
    fidk_sort_ranked(items, items + l->length, (size_t)l->length, descending);
    for (int64_t i = 0; i < l->length; i++) {
        int64_t from = l->self_at + items[i].index * l->self_stride;
        memcpy((uint8_t *)l->values->data + (size_t)(l->values_at + i * l->values_stride) * size,
               (const uint8_t *)l->self->data + (size_t)from * size, size);
        fidk_set_int(l->indices, l->indices_at + i * l->indices_stride, items[i].index);
    }
}

static size_t line_length(const fid_tensor *self, size_t dim) { return self->rank ? (size_t)self->sizes[dim] : 1; }

static fid_status sort_along(fid_call *call, int64_t dim_arg, bool descending) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *values = fid_out_tensor(call, 0), *indices = fid_out_tensor(call, 1);
    size_t dim;
    FID_TRY(fidk_need_order(call, self));
    FID_TRY(fid_wrap_dim(call, dim_arg, self->rank, &dim));
    size_t length = line_length(self, dim);
    if (fid_tensor_numel(values) == 0) return FID_OK;
    fidk_ranked *items = fid_call_scratch(call, 2 * length * sizeof *items);
    if (!items) return FID_OUT_OF_MEMORY;
    line l = {.self = self, .values = values, .indices = indices, .length = (int64_t)length};
    int64_t sizes[FID_MAX_RANK];
    memcpy(sizes, self->sizes, self->rank * sizeof sizes[0]);
    if (self->rank) {
        sizes[dim] = 1;
        l.self_stride = self->strides[dim];
        l.values_stride = values->strides[dim];
        l.indices_stride = indices->strides[dim];
    }
    fidk_walk walk;
    fidk_walk_begin(&walk, sizes, self->rank);
    fidk_walk_add_strides(&walk, self->strides);
    fidk_walk_add_strides(&walk, values->strides);
    fidk_walk_add_strides(&walk, indices->strides);
    FIDK_WALK(&walk) {
        l.self_at = walk.at[0];
        l.values_at = walk.at[1];
        l.indices_at = walk.at[2];
        sort_line(&l, items, descending);
    }
    return FID_OK;
}

static fid_status run_sort(fid_call *call) { return sort_along(call, fid_arg_int(call, 1), fid_arg_bool(call, 2)); }
static fid_status run_sort_stable(fid_call *call) { return sort_along(call, fid_arg_int(call, 2), fid_arg_bool(call, 3)); }

/* The longest dimension bounds the scratch of a line. */
static size_t sort_bytes(const fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    size_t longest = 1;
    for (size_t i = 0; i < self->rank; i++) longest = (size_t)self->sizes[i] > longest ? (size_t)self->sizes[i] : longest;
    return 2 * longest * sizeof(fidk_ranked);
}

const fid_kernel fid_ref_sort = {.run = run_sort, .scratch_bytes = sort_bytes};
const fid_kernel fid_ref_sort_stable = {.run = run_sort_stable, .scratch_bytes = sort_bytes};
