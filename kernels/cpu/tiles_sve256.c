/* The tiles for Arm's scalable vectors of 256 bits. */
#if defined(__aarch64__)
#include "kernels/cpu/vec_sve.h"

#include "kernels/cpu/tiles_body.h"
#else
typedef int fidk_no_sve256; /* an empty translation unit is not C */
#endif
