/* What the fast kernels ask about tensors before they take a call. */
#ifndef FID_KERNELS_CPU_OPERAND_H
#define FID_KERNELS_CPU_OPERAND_H

#include "kernels/cpu/gemm.h"
#include "ops/fused.h"

/* float32 with dimensions in logical order; NULL (an absent optional tensor) counts. Known at load: sizes do not matter. */
bool fidk_plain_f32(const fid_tensor *tensor);
/* float32, whatever the order. */
static inline bool fidk_is_f32(const fid_tensor *tensor) { return !tensor || tensor->dtype == FID_FLOAT32; }
/* Product of sizes[begin..end). */
size_t fidk_count(const fid_tensor *tensor, size_t begin, size_t end);
static inline bool fidk_is_constant(const fid_tensor *tensor) { return tensor && (tensor->flags & FID_TENSOR_CONSTANT) && tensor->data; }
/* What a piece of scratch takes up: for kernels' scratch_bytes, which add up the pieces of a run. */
static inline size_t fidk_scratch_piece(size_t bytes) { return (bytes + 63) / 64 * 64; }
static inline const float *fidk_floats(const fid_tensor *tensor) { return tensor ? tensor->data : NULL; }

#endif
