/* The pool where there are no threads: the caller alone. */
#include "platform/posix/threads.h"

typedef struct pool {
    fid_threads threads; /* first: callers hold this */
    fid_allocator allocator;
} pool;

static void run(void *self, void (*task)(void *context, size_t index), void *context, size_t count) {
    (void)self;
    for (size_t i = 0; i < count; i++) task(context, i);
}

uint32_t fid_processor_count(void) { return 1; }

/* What is computed never depends on the number of threads, so any number asked for is served by one. */
fid_status fid_threads_create(fid_allocator allocator, uint32_t count, fid_threads **out_threads) {
    (void)count;
    *out_threads = NULL;
    pool *p = fid_allocate(allocator, sizeof *p);
    if (!p) return FID_OUT_OF_MEMORY;
    *p = (pool){{run, p, 1}, allocator};
    *out_threads = &p->threads;
    return FID_OK;
}

void fid_threads_destroy(fid_threads *threads) {
    if (!threads) return;
    pool *p = threads->self;
    fid_free(p->allocator, p, sizeof *p);
}
