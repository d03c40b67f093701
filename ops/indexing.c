/* Reading index lists: see indexing.h. */
#include "ops/indexing.h"

#define UNKNOWN (-1) /* size of a mask's list of positions before its data are known */

static bool is_mask(const fid_tensor *tensor) { return tensor->dtype == FID_BOOL || tensor->dtype == FID_UINT8; }

static fid_status check_entry(const fid_call *call, const fid_tensor *self, const fid_index_entry *entry) {
    if (!entry->mask && entry->tensor->dtype != FID_INT64 && entry->tensor->dtype != FID_INT32) {
        return fid_fail(call->sink, FID_INVALID_TYPE, "%s: an index has dtype %s, expected int64, int32 or bool", call->name,
                        fid_dtype_name((fid_dtype)entry->tensor->dtype));
    }
    bool fits = entry->covers > 0 && entry->dim + entry->covers <= self->rank;
    for (size_t i = 0; i < entry->covers && fits && entry->mask; i++) {
        fits = entry->tensor->sizes[i] == self->sizes[entry->dim + i];
    }
    if (fits) return FID_OK;
    char text[160], index_text[160];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %s of shape %s at dimension %zu does not fit a tensor of shape %s",
                    call->name, entry->mask ? "a mask" : "an index",
                    fid_shape_text(entry->tensor->sizes, entry->tensor->rank, index_text, sizeof index_text), entry->dim,
                    fid_shape_text(self->sizes, self->rank, text, sizeof text));
}

static fid_status read_entries(const fid_call *call, const fid_value *list, fid_indexing *out) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    size_t dim = 0;
    for (size_t i = 0; i < list->as.tensors.count; i++) {
        const fid_tensor *tensor = list->as.tensors.items[i];
        fid_index_entry entry = {.tensor = tensor, .dim = dim, .covers = 1};
        if (tensor && is_mask(tensor)) {
            entry.mask = true;
            entry.covers = tensor->rank;
        }
        if (tensor) {
            FID_TRY(check_entry(call, self, &entry));
            out->entries[out->count++] = entry;
        }
        dim += entry.covers;
    }
    if (dim <= self->rank) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: indices for %zu dimensions, the tensor has %d", call->name, dim,
                    self->rank);
}

/* One size broadcast with another; UNKNOWN gives way to any size but one. */
static bool broadcast_size(int64_t *inout_size, int64_t other) {
    if (*inout_size == other || other == 1) return true;
    if (*inout_size == 1) *inout_size = other;
    else if (*inout_size == UNKNOWN) *inout_size = other;
    else return other == UNKNOWN;
    return true;
}

static bool broadcast_entry(fid_indexing *out, const int64_t *sizes, size_t rank) {
    while (out->rank < rank) {
        memmove(out->sizes + 1, out->sizes, out->rank * sizeof out->sizes[0]);
        out->sizes[0] = 1;
        out->rank++;
    }
    for (size_t i = 0; i < rank; i++) {
        if (!broadcast_size(&out->sizes[out->rank - rank + i], sizes[i])) return false;
    }
    return true;
}

static fid_status broadcast(const fid_call *call, const int64_t *true_counts, fid_indexing *out) {
    int64_t bound = INT64_MAX;
    for (size_t i = 0; i < out->count; i++) {
        const fid_index_entry *entry = &out->entries[i];
        int64_t positions = true_counts ? true_counts[i] : UNKNOWN, all = (int64_t)fid_tensor_numel(entry->tensor);
        if (entry->mask && all < bound) bound = all;
        bool fits = entry->mask ? broadcast_entry(out, &positions, 1) : broadcast_entry(out, entry->tensor->sizes, entry->tensor->rank);
        if (!fits) {
            char text[160];
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: index %zu does not broadcast with those before it, of shape %s",
                            call->name, i, fid_shape_text(out->sizes, out->rank, text, sizeof text));
        }
    }
    for (size_t i = 0; i < out->rank; i++) {
        if (out->sizes[i] != UNKNOWN) continue;
        out->sizes[i] = bound;
        out->bound_dims |= (uint16_t)(1u << i);
    }
    return FID_OK;
}

/* Finds the kept dimensions and the place of the indexed ones. */
static void find_place(size_t rank, fid_indexing *out) {
    bool covered[FID_MAX_RANK] = {false};
    size_t first = rank, last = 0, total = 0;
    for (size_t i = 0; i < out->count; i++) {
        for (size_t k = 0; k < out->entries[i].covers; k++, total++) {
            size_t dim = out->entries[i].dim + k;
            covered[dim] = true;
            if (dim < first) first = dim;
            last = dim;
        }
    }
    out->place = total && last - first + 1 == total ? first : 0;
    for (size_t i = 0; i < rank; i++) {
        if (!covered[i]) out->kept[out->kept_count++] = (uint8_t)i;
    }
}

fid_status fid_indexing_of(const fid_call *call, uint32_t list, const int64_t *true_counts, fid_indexing *out) {
    *out = (fid_indexing){0};
    FID_TRY(read_entries(call, call->args[list], out));
    FID_TRY(broadcast(call, true_counts, out));
    find_place(fid_arg_tensor(call, 0)->rank, out);
    return FID_OK;
}

fid_status fid_indexing_result(const fid_call *call, const fid_indexing *indexing, fid_meta *out) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    size_t rank = indexing->rank + indexing->kept_count;
    if (rank > FID_MAX_RANK) {
        return fid_fail(call->sink, FID_NOT_SUPPORTED, "%s: the result has %zu dimensions, at most %d are possible", call->name,
                        rank, FID_MAX_RANK);
    }
    int64_t sizes[FID_MAX_RANK];
    size_t at = 0;
    for (size_t i = 0; i < indexing->place; i++) sizes[at++] = self->sizes[indexing->kept[i]];
    for (size_t i = 0; i < indexing->rank; i++) sizes[at++] = indexing->sizes[i];
    for (size_t i = indexing->place; i < indexing->kept_count; i++) sizes[at++] = self->sizes[indexing->kept[i]];
    size_t count;
    if (!fid_mul_sizes(sizes, rank, &count)) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the result has more elements than can be counted", call->name);
    }
    fid_meta_set(out, (fid_dtype)self->dtype, sizes, rank);
    out->bound_dims = (uint16_t)(indexing->bound_dims << indexing->place);
    return FID_OK;
}
