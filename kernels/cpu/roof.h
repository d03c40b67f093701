/* The machine's roof: the most float32 arithmetic and the most memory traffic that its cores reach, measured. */
#ifndef FID_KERNELS_CPU_ROOF_H
#define FID_KERNELS_CPU_ROOF_H

#include "ops/kernel.h"

typedef struct fidk_roof {
    double flops; /* multiplications and additions a second; all figures are those of all threads together */
    double near;  /* bytes read a second from the cache of a core */
    double far;   /* bytes read a second from beyond it */
    const char *instructions; /* "avx512" */
} fidk_roof;

/* Where and how to measure. */
typedef struct fidk_roof_setup {
    uint32_t cpu;
    const fid_threads *threads; /* NULL: one */
    const void *memory;         /* initialized floats, aligned to 64 */
    size_t size;                /* bytes that `far` is measured over, shared by the threads; several times near_size for each */
    size_t near_size;           /* bytes that the cache of a core holds with ease */
    uint64_t (*now)(void *self);/* nanoseconds */
    void *now_self;
} fidk_roof_setup;

/* The best of some rounds: about a fifth of a second. */
fidk_roof fidk_roof_measure(const fidk_roof_setup *setup);

#endif
