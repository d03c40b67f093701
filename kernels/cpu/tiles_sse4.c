/* The tiles for SSE4.1. */
#if defined(__x86_64__)
#include "kernels/cpu/vec_sse4.h"

#include "kernels/cpu/tiles_body.h"
#else
typedef int fidk_no_sse4; /* an empty translation unit is not C */
#endif
