/* What kernels and shape functions share: reading arguments, wrapping dimensions, broadcasting, memory of a call. */
#include "ops/kernel.h"

void *fid_call_persist(fid_call *call, size_t bytes) { return call->memory->persist(call->memory, bytes); }
void *fid_call_scratch(fid_call *call, size_t bytes) { return call->memory->scratch(call->memory, bytes); }

fid_status fid_call_resize(fid_call *call, uint32_t k, const int64_t *sizes, size_t rank) {
    fid_tensor *out = fid_out_tensor(call, k);
    size_t bytes;
    if (out->dynamism == FID_DYNAMIC_UNBOUND && call->memory->grow) {
        if (!fid_mul_sizes(sizes, rank, &bytes) || !fid_mul_size(bytes, fid_dtype_size((fid_dtype)out->dtype), &bytes)) {
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: output %u is too large", call->name, k);
        }
        FID_TRY(call->memory->grow(call->memory, out, bytes));
    }
    return fid_tensor_resize(call->sink, out, sizes, rank);
}

const int64_t *fid_arg_ints(const fid_call *call, uint32_t i, size_t *out_count) {
    const fid_value *value = call->args[i];
    if (value->tag == FID_TAG_INT_LIST) {
        *out_count = value->as.ints.count;
        return value->as.ints.items;
    }
    *out_count = value->tag == FID_TAG_INT;
    return value->tag == FID_TAG_INT ? &value->as.integer : NULL;
}

fid_meta fid_meta_of(const fid_tensor *tensor) {
    fid_meta meta = {.rank = tensor->rank, .dtype = tensor->dtype};
    memcpy(meta.sizes, tensor->sizes, tensor->rank * sizeof meta.sizes[0]);
    memcpy(meta.dim_order, tensor->dim_order, tensor->rank);
    return meta;
}

void fid_meta_set(fid_meta *meta, fid_dtype dtype, const int64_t *sizes, size_t rank) {
    meta->dtype = (uint8_t)dtype;
    meta->rank = (uint8_t)rank;
    for (size_t i = 0; i < rank; i++) {
        meta->sizes[i] = sizes[i];
        meta->dim_order[i] = (uint8_t)i;
    }
}

const char *fid_shape_text(const int64_t *sizes, size_t rank, char *text, size_t size) {
    size_t at = fid_format(text, size, "[");
    for (size_t i = 0; i < rank && at < size; i++) {
        at += fid_format(text + at, size - at, i ? ", %lld" : "%lld", (long long)sizes[i]);
    }
    if (at < size) fid_format(text + at, size - at, "]");
    return text;
}

fid_status fid_meta_broadcast(const fid_call *call, fid_meta *inout_meta, const fid_tensor *other) {
    size_t rank = inout_meta->rank > other->rank ? inout_meta->rank : other->rank;
    int64_t sizes[FID_MAX_RANK];
    for (size_t i = 0; i < rank; i++) {
        size_t back = rank - i; /* from the last dimension */
        int64_t a = back <= inout_meta->rank ? inout_meta->sizes[inout_meta->rank - back] : 1;
        int64_t b = back <= other->rank ? other->sizes[other->rank - back] : 1;
        if (a != b && a != 1 && b != 1) {
            char left[120], right[120];
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the shapes %s and %s do not broadcast", call->name,
                            fid_shape_text(inout_meta->sizes, inout_meta->rank, left, sizeof left),
                            fid_shape_text(other->sizes, other->rank, right, sizeof right));
        }
        sizes[i] = a == 1 ? b : a;
    }
    /* The dim order of the side that already has the full rank; a later input wins only by rank. */
    if (other->rank > inout_meta->rank) memcpy(inout_meta->dim_order, other->dim_order, other->rank);
    inout_meta->rank = (uint8_t)rank;
    memcpy(inout_meta->sizes, sizes, rank * sizeof sizes[0]);
    return FID_OK;
}

fid_status fid_wrap_dim(const fid_call *call, int64_t dim, size_t rank, size_t *out_dim) {
    int64_t limit = rank ? (int64_t)rank : 1;
    if (dim < -limit || dim >= limit) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: dimension %lld is outside [%lld, %lld]", call->name, (long long)dim,
                        (long long)-limit, (long long)limit - 1);
    }
    *out_dim = (size_t)(dim < 0 ? dim + limit : dim);
    return FID_OK;
}
