/* What the reference kernels of our fused operators share. */
#ifndef FID_KERNELS_REF_FUSED_H
#define FID_KERNELS_REF_FUSED_H

#include "kernels/ref/dense.h"
#include "ops/activation.h"

/* The activation of arguments i (name), i + 1 and i + 2; FID_INVALID_ARGUMENT with a sentence for an unknown name. */
fid_status fidk_fused_activation(const fid_call *call, uint32_t i, fid_activation *out);

#endif
