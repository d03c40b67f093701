/* Reading and writing at places given by a list of index tensors and masks: index and index_put. */
#include "kernels/ref/accumulate.h"
#include "ops/indexing.h"

/* The indices into one dimension of self. */
typedef struct column {
    size_t dim;
    const fid_tensor *tensor;       /* NULL: `positions` of a mask */
    const int64_t *positions;
    int64_t strides[FID_MAX_RANK];  /* one for each broadcast index dimension */
} column;

typedef struct lookup {
    fid_indexing indexing;
    column columns[FID_MAX_RANK];
    size_t column_count;
} lookup;

static int64_t count_true(const fid_tensor *mask) {
    int64_t count = 0;
    for (int64_t i = 0, n = (int64_t)fid_tensor_numel(mask); i < n; i++) count += fidk_get_bool(mask, i);
    return count;
}

/* Lists the true positions of a mask: `count` indices for its first dimension, then for the next, ... */
static void list_true(const fid_tensor *mask, int64_t count, int64_t *positions) {
    fidk_walk walk;
    int64_t at = 0;
    fidk_walk_begin(&walk, mask->sizes, mask->rank);
    fidk_walk_add(&walk, mask);
    FIDK_WALK(&walk) {
        if (!fidk_get_bool(mask, walk.at[0])) continue;
        for (size_t i = 0; i < mask->rank; i++) positions[(int64_t)i * count + at] = walk.index[i];
        at++;
    }
}

static void add_index(lookup *look, const fid_index_entry *entry) {
    column *c = &look->columns[look->column_count++];
    *c = (column){.dim = entry->dim, .tensor = entry->tensor};
    size_t skipped = look->indexing.rank - entry->tensor->rank;
    for (size_t i = 0; i < entry->tensor->rank; i++) {
        if (entry->tensor->sizes[i] != 1) c->strides[skipped + i] = entry->tensor->strides[i];
    }
}

static fid_status add_mask(fid_call *call, lookup *look, const fid_index_entry *entry, int64_t count) {
    int64_t *positions = fid_call_scratch(call, (size_t)count * entry->covers * sizeof *positions + 1);
    if (!positions) return FID_OUT_OF_MEMORY;
    list_true(entry->tensor, count, positions);
    for (size_t k = 0; k < entry->covers; k++) {
        column *c = &look->columns[look->column_count++];
        *c = (column){.dim = entry->dim + k, .positions = positions + (int64_t)k * count};
        c->strides[look->indexing.rank - 1] = count != 1;
    }
    return FID_OK;
}

/* `list`: which argument holds the indices. */
static fid_status read_lookup(fid_call *call, uint32_t list, lookup *look) {
    int64_t counts[FID_MAX_RANK] = {0};
    FID_TRY(fid_indexing_of(call, list, NULL, &look->indexing));
    for (size_t i = 0; i < look->indexing.count; i++) {
        if (look->indexing.entries[i].mask) counts[i] = count_true(look->indexing.entries[i].tensor);
    }
    FID_TRY(fid_indexing_of(call, list, counts, &look->indexing));
    look->column_count = 0;
    for (size_t i = 0; i < look->indexing.count; i++) {
        const fid_index_entry *entry = &look->indexing.entries[i];
        if (entry->mask) FID_TRY(add_mask(call, look, entry, counts[i]));
        else add_index(look, entry);
    }
    return FID_OK;
}

/* Offset in a tensor shaped like self of the element that the result's element at `index` names. */
static fid_status offset_at(const fid_call *call, const lookup *look, const fid_tensor *self, const int64_t *index,
                            int64_t *out_offset) {
    const fid_indexing *indexing = &look->indexing;
    int64_t offset = 0, position;
    for (size_t i = 0; i < indexing->kept_count; i++) {
        offset += index[i < indexing->place ? i : i + indexing->rank] * self->strides[indexing->kept[i]];
    }
    for (size_t k = 0; k < look->column_count; k++) {
        const column *c = &look->columns[k];
        int64_t at = 0;
        for (size_t i = 0; i < indexing->rank; i++) at += index[indexing->place + i] * c->strides[i];
        FID_TRY(fidk_index_in(call, c->tensor ? fidk_get_int(c->tensor, at) : c->positions[at], self->sizes[c->dim], &position));
        offset += position * self->strides[c->dim];
    }
    *out_offset = offset;
    return FID_OK;
}

static fid_status run_index_Tensor(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    fid_tensor *out = fid_out_tensor(call, 0);
    lookup look;
    fid_meta meta;
    FID_TRY(read_lookup(call, 1, &look));
    FID_TRY(fid_indexing_result(call, &look.indexing, &meta));
    FID_TRY(fid_tensor_resize(call->sink, out, meta.sizes, meta.rank));
    size_t size = fid_dtype_size((fid_dtype)out->dtype);
    fidk_walk walk;
    fidk_walk_begin(&walk, out->sizes, out->rank);
    fidk_walk_add(&walk, out);
    FIDK_WALK(&walk) {
        int64_t from;
        FID_TRY(offset_at(call, &look, self, walk.index, &from));
        memcpy((uint8_t *)out->data + (size_t)walk.at[0] * size, (const uint8_t *)self->data + (size_t)from * size, size);
    }
    return FID_OK;
}

/* self, mask, indices, fill: places whose mask is false may have any index. */
static fid_status run__unsafe_masked_index(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *mask = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    fid_dtype dtype = (fid_dtype)out->dtype;
    fidk_element fill = fidk_number(call->args[3], dtype);
    lookup look;
    FID_TRY(read_lookup(call, 2, &look));
    fidk_walk walk;
    fidk_walk_begin(&walk, out->sizes, out->rank);
    fidk_walk_add(&walk, out);
    fidk_walk_add(&walk, mask);
    FIDK_WALK(&walk) {
        int64_t from = 0;
        bool reads = fidk_get_bool(mask, walk.at[1]);
        if (reads) FID_TRY(offset_at(call, &look, self, walk.index, &from));
        fidk_store(dtype, out->data, walk.at[0], reads ? fidk_load(dtype, self->data, from) : fill);
    }
    return FID_OK;
}

static fid_status check_values(const fid_call *call, const fid_meta *place, const fid_tensor *values) {
    fid_meta both = *place;
    fid_status status = fid_meta_broadcast(call, &both, values);
    if (status != FID_OK) return status;
    if (both.rank == place->rank && memcmp(both.sizes, place->sizes, both.rank * sizeof both.sizes[0]) == 0) return FID_OK;
    char a[160], b[160];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: values of shape %s do not fit the indexed shape %s", call->name,
                    fid_shape_text(values->sizes, values->rank, a, sizeof a),
                    fid_shape_text(place->sizes, place->rank, b, sizeof b));
}

/* Writes into `out`, which holds the starting values already. */
static fid_status put_values(fid_call *call, const fid_tensor *out) {
    const fid_tensor *values = fid_arg_tensor(call, 2);
    fid_dtype from = (fid_dtype)values->dtype, to = (fid_dtype)out->dtype;
    lookup look;
    fid_meta place;
    fidk_accumulator acc;
    FID_TRY(read_lookup(call, 1, &look));
    FID_TRY(fid_indexing_result(call, &look.indexing, &place));
    FID_TRY(check_values(call, &place, values));
    FID_TRY(fidk_accumulator_begin(call, fid_arg_bool(call, 3) ? FIDK_ADD : FIDK_REPLACE, true, &acc));
    fidk_walk walk;
    fidk_walk_begin(&walk, place.sizes, place.rank);
    fidk_walk_add(&walk, values);
    FIDK_WALK(&walk) {
        int64_t at;
        FID_TRY(offset_at(call, &look, out, walk.index, &at));
        fidk_accumulate(&acc, at, fidk_convert(fidk_load(from, values->data, walk.at[0]), from, to));
    }
    fidk_accumulator_end(&acc);
    return FID_OK;
}

static fid_status run_index_put(fid_call *call) {
    fidk_copy(fid_out_tensor(call, 0), fid_arg_tensor(call, 0));
    return put_values(call, fid_out_tensor(call, 0));
}

/* Lists of the masks' true positions. */
static size_t mask_bytes(const fid_call *call, uint32_t argument) {
    const fid_value *list = call->args[argument];
    size_t bytes = 0;
    for (size_t i = 0; i < list->as.tensors.count; i++) {
        const fid_tensor *tensor = list->as.tensors.items[i];
        if (tensor && (tensor->dtype == FID_BOOL || tensor->dtype == FID_UINT8)) {
            bytes += fid_tensor_numel(tensor) * tensor->rank * sizeof(int64_t) + 64;
        }
    }
    return bytes;
}

static size_t index_bytes(const fid_call *call) { return mask_bytes(call, 1); }
static size_t masked_index_bytes(const fid_call *call) { return mask_bytes(call, 2); }

static size_t index_put_bytes(const fid_call *call) {
    return mask_bytes(call, 1) + fidk_accumulator_bytes(fid_arg_tensor(call, 0));
}

const fid_kernel fid_ref_index_Tensor = {.run = run_index_Tensor, .scratch_bytes = index_bytes};
const fid_kernel fid_ref__unsafe_masked_index = {.run = run__unsafe_masked_index, .scratch_bytes = masked_index_bytes};
const fid_kernel fid_ref_index_put = {.run = run_index_put, .scratch_bytes = index_put_bytes};

/* In place: self is argument and result. */
static fid_status run_index_put_(fid_call *call) {
    fid_tensor *self = fid_arg_tensor(call, 0);
    if (call->output_index >= call->arg_count) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the call has no result", call->name);
    }
    *call->args[call->output_index] = fid_tensor_value(self);
    return put_values(call, self);
}

const fid_kernel fid_ref_index_put_ = {.run = run_index_put_, .scratch_bytes = index_put_bytes};
