/* Shared by the parts of the lowering: where values of a part stand in the blob, and how nodes are written.
 *
 * Every value of rank 4 has two layouts: PLAIN as PyTorch has it, and IMAGE, (batch, height, width, channels), which is what XNNPACK's
 * image nodes read and make. A value is made in one and moved to the other when first wanted there; element-wise nodes work in whichever
 * their operands have, so that images stay images from convolution to convolution. Arguments of the delegate are PLAIN. */
#ifndef FIDC_XNN_LOWER_H
#define FIDC_XNN_LOWER_H

#include "backends/xnnpack/compile/xnn_blob.h"
#include "compiler/partition/partition.h"
#include "compiler/passes/rewrite.h"

typedef enum fidc_xnn_layout { FIDC_XNN_PLAIN, FIDC_XNN_IMAGE } fidc_xnn_layout;

typedef struct fidc_xnn_lowering {
    const fidc_part *part;
    fidc_program *program;
    fidc_xnn_blob blob;
    fid_status status;   /* the first failure */
} fidc_xnn_lowering;

/* How an operator becomes nodes. */
typedef struct fidc_xnn_row fidc_xnn_row;
struct fidc_xnn_row {
    fid_op_id op;
    uint8_t type;        /* fid_xnn_type of the node, where there is one */
    uint8_t traits;      /* FIDC_XNN_ bits */
    bool (*takes)(const fidc_rewriter *rw);
    void (*lower)(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row);
};
enum {
    FIDC_XNN_MOVE = 1,      /* moves elements only */
    FIDC_XNN_CLAMPS = 2,    /* takes a clamp of its result */
    FIDC_XNN_IS_CLAMP = 4,  /* can go into the node before */
};

/* The row of a node's operator; NULL: none. (xnn_rows.c) */
const fidc_xnn_row *fidc_xnn_row_of(const fidc_node *node);
bool fidc_xnn_takes(const fidc_node *node);
/* What a clamping operator clamps to; false: to nothing that XNNPACK has a form for. */
bool fidc_xnn_clamp_of(const fidc_rewriter *rw, float *out_low, float *out_high);

/* The padding of zeros before a convolution that can go into it, in whatever part; NULL: none. */
fidc_node *fidc_xnn_frame_of(const fidc_rewriter *rw);

/* ---- Values: xnn_values.c; ids, FID_XNN_NO_ID after a failure ---- */

uint32_t fidc_xnn_read(fidc_xnn_lowering *l, fidc_value *value, fidc_xnn_layout layout);
/* The value that a node is about to make. */
uint32_t fidc_xnn_write(fidc_xnn_lowering *l, fidc_value *value, fidc_xnn_layout layout);
/* Says that `value` is what has this id already, if nobody outside reads it: true. */
bool fidc_xnn_alias(fidc_xnn_lowering *l, fidc_value *value, fidc_xnn_layout layout, uint32_t id);
/* A value of nobody else's. */
uint32_t fidc_xnn_temporary(fidc_xnn_lowering *l, const uint32_t *dims, size_t rank);
/* Where the value is now; FID_XNN_NO_ID: not in that layout. */
uint32_t fidc_xnn_place(const fidc_value *value, fidc_xnn_layout layout);
/* The layout for an element-wise node of rank 4 values. */
fidc_xnn_layout fidc_xnn_choose(fidc_value *const *operands, size_t count, const fidc_value *out);
/* An operand that is broadcast to rank `rank` in that layout. */
uint32_t fidc_xnn_operand(fidc_xnn_lowering *l, fidc_value *value, fidc_xnn_layout layout);
uint32_t fidc_xnn_number(fidc_xnn_lowering *l, float number);
/* A weight seen as `sizes`, its dims in the order `perm`; `how` tells in its key what was done. */
uint32_t fidc_xnn_weight(fidc_xnn_lowering *l, const fidc_value *value, const int64_t *sizes, const uint8_t *perm, size_t rank, const int64_t *final_sizes,
                         size_t final_rank, const char *how);
/* A row of numbers made of `from`: as dims 1 by `rank` but for `axis`. */
uint32_t fidc_xnn_vector(fidc_xnn_lowering *l, const fidc_value *from, const char *how, const float *data, uint32_t count, size_t rank, size_t axis);
/* True if both layouts have their elements in the same order. */
bool fidc_xnn_same_order(const fidc_value *value);
/* Sizes at their upper bounds, in a layout. */
void fidc_xnn_dims(const fidc_value *value, fidc_xnn_layout layout, uint32_t *out_dims);
/* The place of a plain dimension in a layout. */
uint32_t fidc_xnn_dim(uint32_t dim, fidc_xnn_layout layout);

/* ---- Nodes ---- */

/* What a node makes in the end: its own result, or that of the clamp which it took. */
fidc_value *fidc_xnn_result(const fidc_rewriter *rw);
/* A node with its clamp, if it took one. NULL when memory is short. */
fidc_xnn_node *fidc_xnn_begin(fidc_xnn_lowering *l, const fidc_rewriter *rw, fid_xnn_type type);
void fidc_xnn_transpose(fidc_xnn_lowering *l, uint32_t input, uint32_t output, const uint8_t *perm, size_t rank);
/* `sizes` with at most one that is not constant. */
void fidc_xnn_reshape(fidc_xnn_lowering *l, uint32_t input, uint32_t output, const fidc_expr *const *sizes, size_t rank);

/* ---- Rows by family ---- */

typedef struct fidc_xnn_rows { const fidc_xnn_row *rows; size_t count; } fidc_xnn_rows;
extern const fidc_xnn_rows fidc_xnn_pointwise, fidc_xnn_weights, fidc_xnn_images, fidc_xnn_moves; /* xnn_lower_*.c */

/* A float32 tensor that XNNPACK can hold: of rank 1 to 6, constants of rank 0 as well, no size 0. */
bool fidc_xnn_fits(const fidc_value *value);
/* A constant float32 tensor. */
bool fidc_xnn_is_weight(const fidc_value *value);

#endif
