/* Different elements: unique (in sorted order) and unique_consecutive (of neighbours), with inverse and counts. */
#include "kernels/ref/order.h"

/* All elements in logical order, with their places. */
static void list_elements(const fid_tensor *self, fidk_ranked *items) {
    fidk_walk walk;
    fidk_walk_begin(&walk, self->sizes, self->rank);
    fidk_walk_add(&walk, self);
    for (int64_t i = 0; walk.left; fidk_walk_next(&walk), i++) {
        items[i] = (fidk_ranked){fidk_order_key((fid_dtype)self->dtype, self->data, walk.at[0]), i};
    }
}

/* NaN equals nothing, itself included. */
static bool starts_group(const fid_tensor *self, const fidk_ranked *items, size_t i) {
    bool nan = fid_dtype_is_float((fid_dtype)self->dtype) && items[i].key == INT64_MAX;
    return i == 0 || nan || items[i].key != items[i - 1].key;
}

static int64_t count_groups(const fid_tensor *self, const fidk_ranked *items, size_t count) {
    int64_t groups = 0;
    for (size_t i = 0; i < count; i++) groups += starts_group(self, items, i);
    return groups;
}

static fid_status resize_outputs(fid_call *call, int64_t groups, bool inverse, bool counts) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    int64_t none = 0;
    FID_TRY(fid_tensor_resize(call->sink, fid_out_tensor(call, 0), &groups, 1));
    FID_TRY(fid_tensor_resize(call->sink, fid_out_tensor(call, 1), inverse ? self->sizes : &none, inverse ? self->rank : 1));
    return fid_tensor_resize(call->sink, fid_out_tensor(call, 2), counts ? &groups : &none, 1);
}

/* Numbers the groups of equal neighbours in `items` and writes what is asked for. */
static fid_status write_groups(fid_call *call, const fidk_ranked *items, bool inverse, bool counts) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *values = fid_out_tensor(call, 0), *places = fid_out_tensor(call, 1);
    const fid_tensor *numbers = fid_out_tensor(call, 2);
    size_t count = fid_tensor_numel(self), size = fid_dtype_size((fid_dtype)self->dtype);
    FID_TRY(resize_outputs(call, count_groups(self, items, count), inverse, counts));
    int64_t group = -1, members = 0;
    for (size_t i = 0; i < count; i++) {
        if (starts_group(self, items, i)) {
            group++;
            members = 0;
            memcpy((uint8_t *)values->data + (size_t)(group * values->strides[0]) * size,
                   (const uint8_t *)self->data + (size_t)fidk_flat_offset(self, items[i].index) * size, size);
        }
        members++;
        if (inverse) fidk_set_int(places, fidk_flat_offset(places, items[i].index), group);
        if (counts) fidk_set_int(numbers, group * numbers->strides[0], members);
    }
    return FID_OK;
}

static fid_status find_groups(fid_call *call, bool sorted, bool inverse, bool counts) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    size_t count = fid_tensor_numel(self);
    FID_TRY(fidk_need_order(call, self));
    fidk_ranked *items = fid_call_scratch(call, 2 * count * sizeof *items + 1);
    if (!items) return FID_OUT_OF_MEMORY;
    list_elements(self, items);
    if (sorted) fidk_sort_ranked(items, items + count, count, false);
    return write_groups(call, items, inverse, counts);
}

/* self, sorted, return_inverse, return_counts: always sorted. */
static fid_status run__unique2(fid_call *call) { return find_groups(call, true, fid_arg_bool(call, 2), fid_arg_bool(call, 3)); }

/* self, return_inverse, return_counts, dim?: of the flattened tensor, or of slices. */
static fid_status run_unique_consecutive(fid_call *call) {
    bool flat = fid_arg_is_none(call, 3) || (fid_arg_tensor(call, 0)->rank == 1 && fid_arg_int(call, 3) == 0);
    if (!flat) return fidk_unique_slices(call, fid_arg_int(call, 3), true);
    return find_groups(call, false, fid_arg_bool(call, 1), fid_arg_bool(call, 2));
}

static size_t unique_bytes(const fid_call *call) { return 2 * fid_tensor_numel(fid_arg_tensor(call, 0)) * sizeof(fidk_ranked) + 1; }

const fid_kernel fid_ref__unique2 = {.run = run__unique2, .scratch_bytes = unique_bytes};
const fid_kernel fid_ref_unique_consecutive = {.run = run_unique_consecutive, .scratch_bytes = unique_bytes};
