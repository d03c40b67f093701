/* Arguments of nodes as values of calls: what shape functions and kernels read. */
#ifndef FIDC_INFER_H
#define FIDC_INFER_H

#include "compiler/ir/ir.h"

/* The value that an argument has at a point of the symbols: tensors with sizes, strides and dim order (data of constants, else
 * NULL), symbolic ints evaluated. Everything it points to lies in `arena`. */
fid_status fidc_arg_to_value(fidc_program *program, const fidc_arg *arg, fidc_point point, fid_arena *arena, fid_value *out_value);

/* A call of the node with its inputs at a point, without outputs (output_index = arg_count). */
fid_status fidc_node_to_call(const fidc_node *node, fidc_point point, fid_arena *arena, fid_call *out_call);

/* A tensor of `value` at a point; data of a constant, else NULL. */
fid_tensor *fidc_value_to_tensor(const fidc_value *value, fidc_point point, fid_arena *arena);

/* Number of output tensors that the node's operator gives at a call: results, or `list_outputs` for a list result. */
size_t fidc_output_count(const fid_op *op, size_t list_outputs);

#endif
