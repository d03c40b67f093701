/* Sizes, strides and layout of tensors; numbers out of values. */
#include "ops/value.h"

#include "ops/kernel.h"

int64_t fid_value_int(const fid_value *v) {
    if (v->tag == FID_TAG_INT) return v->as.integer;
    if (v->tag == FID_TAG_BOOL) return v->as.boolean;
    if (v->tag != FID_TAG_DOUBLE) return 0;
    double d = v->as.number;
    return d > -9223372036854775808.0 && d < 9223372036854775808.0 ? (int64_t)d : 0;
}

size_t fid_tensor_numel(const fid_tensor *tensor) {
    size_t count = 1;
    for (size_t i = 0; i < tensor->rank; i++) count *= (size_t)tensor->sizes[i];
    return count;
}

size_t fid_tensor_bytes(const fid_tensor *tensor) {
    return fid_tensor_numel(tensor) * fid_dtype_size((fid_dtype)tensor->dtype);
}

void fid_strides_of(const int64_t *sizes, const uint8_t *dim_order, size_t rank, int64_t *out_strides) {
    int64_t stride = 1;
    for (size_t i = rank; i-- > 0;) {
        out_strides[dim_order[i]] = stride;
        int64_t size = sizes[dim_order[i]];
        stride = (int64_t)((uint64_t)stride * (uint64_t)(size > 1 ? size : 1)); /* wraps for shapes that no memory holds */
    }
}

void fid_tensor_update_strides(fid_tensor *tensor) {
    fid_strides_of(tensor->sizes, tensor->dim_order, tensor->rank, tensor->strides);
}

bool fid_tensor_is_contiguous(const fid_tensor *tensor) {
    int64_t stride = 1;
    for (size_t i = tensor->rank; i-- > 0;) {
        if (tensor->sizes[i] <= 1) continue;
        if (tensor->strides[i] != stride) return false;
        stride = (int64_t)((uint64_t)stride * (uint64_t)tensor->sizes[i]);
    }
    return true;
}

bool fid_tensor_same_layout(const fid_tensor *a, const fid_tensor *b) {
    if (a->rank != b->rank) return false;
    for (size_t i = 0; i < a->rank; i++) {
        if (a->sizes[i] != b->sizes[i]) return false;
        if (a->sizes[i] > 1 && a->strides[i] != b->strides[i]) return false;
    }
    return true;
}

bool fid_dim_order_valid(const uint8_t *dim_order, size_t rank) {
    uint32_t seen = 0;
    for (size_t i = 0; i < rank; i++) {
        if (dim_order[i] >= rank || (seen >> dim_order[i] & 1)) return false;
        seen |= 1u << dim_order[i];
    }
    return true;
}

static bool same_sizes(const fid_tensor *tensor, const int64_t *sizes) {
    for (size_t i = 0; i < tensor->rank; i++) {
        if (tensor->sizes[i] != sizes[i]) return false;
    }
    return true;
}

/* Apart, so that a resize that goes well formats nothing. */
static fid_status cannot_resize(const fid_sink *sink, const fid_tensor *tensor, const int64_t *sizes, size_t rank) {
    char given[120], now[120];
    fid_shape_text(sizes, rank, given, sizeof given);
    fid_shape_text(tensor->sizes, tensor->rank, now, sizeof now);
    if (rank != tensor->rank) {
        return fid_fail(sink, FID_INVALID_ARGUMENT, "a tensor of rank %d %s cannot take the sizes %s", tensor->rank, now, given);
    }
    if (tensor->dynamism == FID_STATIC) {
        return fid_fail(sink, FID_INVALID_ARGUMENT, "a tensor of fixed sizes %s cannot take the sizes %s", now, given);
    }
    return fid_fail(sink, FID_NOT_SUPPORTED, "the sizes %s need more than the %zu bytes that were planned for this tensor", given,
                    tensor->capacity);
}

fid_status fid_tensor_resize(const fid_sink *sink, fid_tensor *tensor, const int64_t *sizes, size_t rank) {
    if (rank == tensor->rank && same_sizes(tensor, sizes)) return FID_OK;
    size_t bytes;
    bool fits = rank == tensor->rank && tensor->dynamism != FID_STATIC && fid_mul_sizes(sizes, rank, &bytes) &&
                fid_mul_size(bytes, fid_dtype_size((fid_dtype)tensor->dtype), &bytes) && bytes <= tensor->capacity;
    if (!fits) return cannot_resize(sink, tensor, sizes, rank);
    memcpy(tensor->sizes, sizes, rank * sizeof *sizes);
    fid_tensor_update_strides(tensor);
    return FID_OK;
}
