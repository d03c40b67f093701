/* Building steps: a call of one of our operators, argument by argument. */
#ifndef FID_BACKENDS_XNNPACK_TRANSLATE_H
#define FID_BACKENDS_XNNPACK_TRANSLATE_H

#include "backends/xnnpack/run/xnn_graph.h"

enum { FID_XNN_MAX_ARGS = 26, FID_XNN_MAX_OPERANDS = 10 };

/* Under way: arguments in the order of the operator's schema, then outputs. A failed addition is remembered and told by `end`. */
typedef struct fid_xnn_builder {
    fid_xnn_graph *graph;
    uint32_t node;
    const fid_op *op;
    fid_value args[FID_XNN_MAX_ARGS];
    fid_xnn_operand *operands[FID_XNN_MAX_OPERANDS];
    uint32_t arg_count, operand_count, output_count;
    fid_status status;
} fid_xnn_builder;

fid_xnn_builder fid_xnn_begin(fid_xnn_graph *graph, uint32_t node, const fid_op *op);
#define FID_XNN_BEGIN(graph, node, id) fid_xnn_begin((graph), (node), &fid_builtin_ops.ops[FID_OPID_##id])
/* A value, absent for FID_XNN_NO_ID. */
void fid_xnn_add_value(fid_xnn_builder *b, uint32_t value, fid_xnn_view view);
/* Several, as one list. */
void fid_xnn_add_values(fid_xnn_builder *b, const uint32_t *values, uint32_t count);
/* A constant float32 tensor; data NULL: absent. */
void fid_xnn_add_constant(fid_xnn_builder *b, const float *data, const int64_t *sizes, size_t rank);
void fid_xnn_add_number(fid_xnn_builder *b, fid_value value);
void fid_xnn_add_int(fid_xnn_builder *b, int64_t number);
void fid_xnn_add_double(fid_xnn_builder *b, double number);
void fid_xnn_add_bool(fid_xnn_builder *b, bool flag);
void fid_xnn_add_none(fid_xnn_builder *b);
void fid_xnn_add_ints(fid_xnn_builder *b, const int64_t *numbers, size_t count);
void fid_xnn_add_activation(fid_xnn_builder *b, const fid_activation *activation);
/* An output. */
void fid_xnn_add_output(fid_xnn_builder *b, uint32_t value, fid_xnn_view view);
/* Works out the outputs' dims, chooses and prepares the kernel. */
fid_status fid_xnn_end(fid_xnn_builder *b);

/* A step that is no call. */
fid_status fid_xnn_add_alias(fid_xnn_graph *graph, uint32_t node, fid_xnn_step_kind kind, uint32_t input, uint32_t output, const int64_t *numbers,
                             size_t count);
/* What stands behind a value's own step: its activation if the call could not take it, and its grid. */
fid_status fid_xnn_finish_value(fid_xnn_graph *graph, uint32_t node, uint32_t value, const fid_activation *activation);

/* ---- xnn_translate_weights.c: nodes with weights ---- */
fid_status fid_xnn_translate_linear(fid_xnn_graph *graph, uint32_t node);
fid_status fid_xnn_translate_convolution(fid_xnn_graph *graph, uint32_t node);
fid_status fid_xnn_translate_transposed(fid_xnn_graph *graph, uint32_t node);

/* ---- xnn_translate_moves.c: nodes that move elements ---- */
fid_status fid_xnn_translate_permute(fid_xnn_graph *graph, uint32_t node);
fid_status fid_xnn_translate_reshape(fid_xnn_graph *graph, uint32_t node);
fid_status fid_xnn_translate_copy(fid_xnn_graph *graph, uint32_t node);
fid_status fid_xnn_translate_convert(fid_xnn_graph *graph, uint32_t node);
fid_status fid_xnn_translate_slice(fid_xnn_graph *graph, uint32_t node);
fid_status fid_xnn_translate_pad(fid_xnn_graph *graph, uint32_t node);
fid_status fid_xnn_translate_cat(fid_xnn_graph *graph, uint32_t node);

#endif
