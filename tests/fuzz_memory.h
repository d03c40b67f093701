/* An allocator with a limit, so that no input can make a fuzzer swap; it counts what is in use. For one fuzzer. */
#ifndef FID_TESTS_FUZZ_MEMORY_H
#define FID_TESTS_FUZZ_MEMORY_H

#include <stdlib.h>

#include "base/allocator.h"

#define FUZZ_MOST_BYTES ((size_t)64 << 20)

static size_t fuzz_bytes_in_use;

static inline void *fuzz_resize(void *self, void *memory, size_t old_size, size_t new_size) {
    (void)self;
    if (new_size > FUZZ_MOST_BYTES - fuzz_bytes_in_use) return NULL;
    void *grown = NULL;
    if (new_size && posix_memalign(&grown, FID_ALLOCATION_ALIGNMENT, new_size) != 0) return NULL;
    if (memory && grown) memcpy(grown, memory, old_size < new_size ? old_size : new_size);
    if (memory) {
        fuzz_bytes_in_use -= old_size;
        free(memory);
    }
    fuzz_bytes_in_use += new_size;
    return grown;
}

static inline fid_allocator fuzz_allocator(void) { return (fid_allocator){fuzz_resize, NULL}; }

#endif
