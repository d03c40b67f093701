/* Packed forms of constant weights (kernels/cpu/README.md), each made once for a program. */
#ifndef FIDC_PACK_H
#define FIDC_PACK_H

#include "compiler/passes/passes.h"

typedef enum fidc_packing {
    FIDC_PACK_ROWS,        /* a linear layer's weight: (out, in) */
    FIDC_PACK_COLUMNS,     /* a plain second operand: (in, out) */
    FIDC_PACK_CONVOLUTION, /* (out, in / groups, kernel...) */
    FIDC_PACK_WINOGRAD2,   /* (out, in, 3, 3) for Winograd's algorithm with tiles of 2x2 outputs */
    FIDC_PACK_WINOGRAD3,   /* of 3x3 */
    FIDC_PACK_WINOGRAD4,   /* of 4x4 */
} fidc_packing;

typedef struct fidc_packed fidc_packed;

typedef struct fidc_packer {
    fidc_program *program;
    fidc_packed *first; /* what has been packed */
} fidc_packer;

/* The packed constant of a weight, in `graph`; groups matter for convolutions only. NULL when memory is short. */
fidc_value *fidc_packer_get(fidc_packer *packer, fidc_graph *graph, const fidc_value *weight, fidc_packing packing, int64_t groups);

/* Has this weight been packed so, in any graph? */
bool fidc_packer_has(const fidc_packer *packer, const fidc_value *weight, fidc_packing packing);
/* The packing for aten::convolution with a kernel of 3x3, stride 1, dilation 1 and one group: choose_winograd.c. */
fidc_packing fidc_choose_convolution(const fidc_packer *packer, const fidc_node *node);

/* The constant that a float32 value is, or is a cast of (16-bit weights are widened where they are read); NULL if it is neither, or
 * may change. */
const fidc_value *fidc_constant_behind(const fidc_value *value);
/* True for such a value with static sizes and known data: what can be packed. */
bool fidc_is_packable(const fidc_value *value);
/* Its elements in float32; NULL when memory is short. */
const float *fidc_floats(fidc_program *program, const fidc_value *value);

/* A linear layer with constant weight, in any of its spellings. */
typedef struct fidc_linear_parts {
    fidc_value *input, *weight, *bias; /* bias may be NULL */
    fidc_packing packing;
    int64_t features;
} fidc_linear_parts;
/* False if the node is none. */
bool fidc_linear_parts_of(const fidc_node *node, fidc_linear_parts *out);
/* fid::linear before `before`; `activation` is a name of ops/activation.h. NULL on failure. */
fidc_node *fidc_linear_create(fidc_packer *packer, fidc_node *before, fidc_node *like, const fidc_linear_parts *parts, fidc_value *add,
                              const fidc_arg *activation);

/* Steps of fidc_fuse, for one graph: passes/fuse_attention.c, passes/fuse_pointwise.c, passes/fuse_separable.c. */
fid_status fidc_fuse_attention(fidc_graph *graph);
fid_status fidc_fuse_pointwise(fidc_graph *graph);
fid_status fidc_fuse_separable(fidc_graph *graph);

#endif
