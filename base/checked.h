/* Arithmetic on sizes that come from outside. Each returns false on overflow and then leaves *out alone. */
#ifndef FID_BASE_CHECKED_H
#define FID_BASE_CHECKED_H

#include "base/deps.h"

static inline bool fid_add_size(size_t a, size_t b, size_t *out) {
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum)) return false;
    *out = sum;
    return true;
}

static inline bool fid_mul_size(size_t a, size_t b, size_t *out) {
    size_t product;
    if (__builtin_mul_overflow(a, b, &product)) return false;
    *out = product;
    return true;
}

/* Next multiple of `alignment`, a power of two. */
static inline bool fid_align_size(size_t value, size_t alignment, size_t *out) {
    if (!fid_add_size(value, alignment - 1, &value)) return false;
    *out = value & ~(alignment - 1);
    return true;
}

/* True if [offset, offset + size) lies in [0, total). */
static inline bool fid_range_fits(uint64_t offset, uint64_t size, uint64_t total) {
    return offset <= total && size <= total - offset;
}

/* Product of sizes[0..rank); false on overflow or a negative size. An empty product is 1. True also promises that no stride
 * overflows: the product with zeros left out fits in ptrdiff_t. */
static inline bool fid_mul_sizes(const int64_t *sizes, size_t rank, size_t *out) {
    size_t product = 1;
    bool zero = false;
    for (size_t i = 0; i < rank; i++) {
        if (sizes[i] < 0) return false;
        if (sizes[i] == 0) zero = true;
        else if (!fid_mul_size(product, (size_t)sizes[i], &product)) return false;
    }
    if (product > PTRDIFF_MAX) return false;
    *out = zero ? 0 : product;
    return true;
}

#endif
