/* Transposed convolutions as plain ones: see conv_transposed.c. */
#ifndef FID_KERNELS_CPU_CONV_TRANSPOSED_H
#define FID_KERNELS_CPU_CONV_TRANSPOSED_H

#include "kernels/cpu/conv.h"

/* Floats of the packed weights of all phases. */
size_t fidk_transposed_packed_floats(const fid_convolution *conv);
void fidk_transposed_pack(const fid_convolution *conv, float *out_packed);
/* Runs on channels-last images: `conv` as for fidk_conv_run, with the packed weights of fidk_transposed_pack. Allocates scratch. */
size_t fidk_transposed_scratch_bytes(const fid_convolution *from, const fidk_conv *conv);
fid_status fidk_transposed_run(fid_call *call, const fid_convolution *from, const fidk_conv *conv);

#endif
