/* The choice of an instruction set. */
#include "kernels/cpu/tiles.h"

const fidk_tiles *fidk_tiles_for(uint32_t cpu) {
#if defined(__x86_64__)
    if (cpu & FID_CPU_AVX512) return &fidk_tiles_avx512;
    if (cpu & FID_CPU_AVX2_FMA) return &fidk_tiles_avx2;
#endif
    (void)cpu;
    return &fidk_tiles_scalar;
}
