/* The tiles for 64-bit Arm. */
#if defined(__aarch64__)
#include "kernels/cpu/vec_neon.h"

#include "kernels/cpu/tiles_body.h"
#else
typedef int fidk_no_neon; /* an empty translation unit is not C */
#endif
