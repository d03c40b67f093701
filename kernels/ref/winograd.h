/* The sums of a convolution whose weights are packed for Winograd's algorithm (ops/fused.h, ops/winograd.h). */
#ifndef FIDK_REF_WINOGRAD_H
#define FIDK_REF_WINOGRAD_H

#include "ops/fused.h"

/* Doubles of scratch that the function below needs. */
size_t fidk_winograd_doubles(const fid_convolution *conv);
/* `input` (batch, in_channels, points) and out_sums (batch, out_channels, out points) in logical order, `weight` as it is packed. */
void fidk_winograd_sums(const fid_convolution *conv, const double *input, const double *weight, double *scratch, double *out_sums);

#endif
