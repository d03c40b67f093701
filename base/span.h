/* A stretch of bytes that somebody else owns. */
#ifndef FID_BASE_SPAN_H
#define FID_BASE_SPAN_H

#include "base/deps.h"

typedef struct fid_span {
    const uint8_t *data;
    size_t size; /* bytes */
} fid_span;

static inline fid_span fid_span_of(const void *data, size_t size) { return (fid_span){(const uint8_t *)data, size}; }

#endif
