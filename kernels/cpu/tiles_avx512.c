/* The tiles for AVX-512. */
#if defined(__x86_64__)
#include "kernels/cpu/vec_avx512.h"

#include "kernels/cpu/tiles_body.h"
#else
typedef int fidk_no_avx512; /* an empty translation unit is not C */
#endif
