/* Functions of one element that fused operators apply to their results; the names are what programs carry. */
#ifndef FID_OPS_ACTIVATION_H
#define FID_OPS_ACTIVATION_H

#include "ops/value.h"

/* NAME, text in programs; a and b are the operator's two numbers */
#define FID_ACTIVATION_MAP(X)                                                                                          \
    X(NONE, "none")                                                                                                    \
    X(RELU, "relu")                                                                                                    \
    X(CLAMP, "clamp")           /* a and b: low and high */                                                            \
    X(SIGMOID, "sigmoid")                                                                                              \
    X(HARDSIGMOID, "hardsigmoid")                                                                                      \
    X(HARDSWISH, "hardswish")                                                                                          \
    X(SILU, "silu")                                                                                                    \
    X(GELU, "gelu")             /* by the error function */                                                            \
    X(GELU_TANH, "gelu_tanh")                                                                                          \
    X(TANH, "tanh")                                                                                                    \
    X(LEAKY_RELU, "leaky_relu") /* a: slope below zero */                                                              \
    X(ELU, "elu")               /* a: alpha */

typedef enum fid_activation_kind {
#define FID_ACTIVATION_ENUM(NAME, text) FID_ACTIVATION_##NAME,
    FID_ACTIVATION_MAP(FID_ACTIVATION_ENUM)
#undef FID_ACTIVATION_ENUM
    FID_ACTIVATION_COUNT /* also: no such name */
} fid_activation_kind;

typedef struct fid_activation {
    fid_activation_kind kind;
    double a, b;
} fid_activation;

/* From a STRING value; FID_ACTIVATION_COUNT if the name is unknown. */
fid_activation_kind fid_activation_from_value(const fid_value *name);
const char *fid_activation_text(fid_activation_kind kind);
/* The definition, for reference kernels. */
double fid_activation_apply(const fid_activation *activation, double x);

#endif
