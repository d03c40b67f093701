/* The tiles for AVX2. */
#if defined(__x86_64__)
#include "kernels/cpu/vec_avx2.h"

#include "kernels/cpu/tiles_body.h"
#else
typedef int fidk_no_avx2; /* an empty translation unit is not C */
#endif
