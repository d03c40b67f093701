/* The tiles for WebAssembly. A module is compiled with vectors or without; there is nothing to detect at run time. */
#if defined(__wasm_simd128__)
#include "kernels/cpu/vec_wasm.h"

#include "kernels/cpu/tiles_body.h"
#else
typedef int fidk_no_wasm; /* an empty translation unit is not C */
#endif
