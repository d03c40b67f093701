/* The default environment of hosted builds. */
#include <stdlib.h>
#include <time.h>

#include "base/config.h"
#if FID_BACKEND_XNNPACK
#include "backends/xnnpack/run/xnn_backend.h"
#endif
#include "include/fidibus.h"
#include "platform/posix/cpu_detect.h"

/* ---- malloc, aligned ---- */

static void *allocate(size_t size) {
    void *memory = NULL;
    return posix_memalign(&memory, FID_ALLOCATION_ALIGNMENT, size) == 0 ? memory : NULL;
}

static void *resize(void *self, void *memory, size_t old_size, size_t new_size) {
    (void)self;
    if (new_size == 0) {
        free(memory);
        return NULL;
    }
    void *grown = allocate(new_size);
    if (grown && memory) {
        memcpy(grown, memory, old_size < new_size ? old_size : new_size);
        free(memory);
    }
    return grown;
}

static uint64_t now(void *self) {
    struct timespec time;
    (void)self;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static const fid_op_table *const tables[] = {&fid_builtin_ops};

static const fid_backend *const backends[] = {
#if FID_BACKEND_XNNPACK
    &fid_backend_xnnpack,
#endif
    NULL, /* not counted */
};

fid_environment fid_environment_default(fid_message *message) {
    return (fid_environment){
        .struct_size = sizeof(fid_environment),
        .allocator = {resize, NULL},
        .sink = message ? fid_message_sink(message) : (fid_sink){NULL, NULL},
        .tables = tables,
        .table_count = 1,
        .backends = backends,
        .backend_count = sizeof backends / sizeof *backends - 1,
        .cpu = fid_cpu_detect() & ~(uint32_t)FID_CPU_UNPROVEN,
        .now = now,
    };
}
