/* The tiles for RISC-V's vector extension with registers of at least 256 bits. */
#if defined(__riscv_v_intrinsic)
#include "kernels/cpu/vec_rvv.h"

#include "kernels/cpu/tiles_body.h"
#else
typedef int fidk_no_rvv256; /* an empty translation unit is not C */
#endif
