/* A pool of threads for kernels. */
#ifndef FID_PLATFORM_POSIX_THREADS_H
#define FID_PLATFORM_POSIX_THREADS_H

#include "base/allocator.h"
#include "base/status.h"
#include "ops/kernel.h"

#define FID_THREADS_MAX 64

/* A pool of `count` threads, the calling one counted: 1 to FID_THREADS_MAX; 0: one for each processor. It may serve several
 * methods at the same time: one has it, the others run serially meanwhile. */
fid_status fid_threads_create(fid_allocator allocator, uint32_t count, fid_threads **out_threads);
/* When nothing runs on it any more; NULL allowed. */
void fid_threads_destroy(fid_threads *threads);

/* Processors that this process may use. */
uint32_t fid_processor_count(void);

#endif
