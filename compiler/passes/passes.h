/* The passes, in the order in which compiler/pipeline.c runs them. Each takes a verified program and leaves a verified one. */
#ifndef FIDC_PASSES_H
#define FIDC_PASSES_H

#include "compiler/ir/ir.h"

/* What the program is compiled for. */
typedef enum fidc_target {
    FIDC_TARGET_CPU,      /* our operators, fused, packed weights */
    FIDC_TARGET_PORTABLE, /* upstream's portable kernels only */
} fidc_target;

/* Ensures: no in-place operator, no alias: mutations of inputs and buffers stand in graph->mutations; every view operator is
 * its *_copy form (view_copy, permute_copy, slice_copy, select_copy, expand_copy, squeeze_copy.dims, unsqueeze_copy, ...).
 * Requires: what the archive gives. (passes/functionalize.c) */
fid_status fidc_functionalize(fidc_program *program);

/* FID_NOT_SUPPORTED if a buffer that is written shares memory with another constant that is read or written, by name. Requires:
 * mutations are known. (passes/buffer_aliases.c) */
fid_status fidc_refuse_aliases(fidc_program *program);

/* If program->share_buffers: buffers of one name that some method writes are one in all methods. Requires: mutations are known;
 * nothing is folded. FID_INVALID_ARGUMENT: they differ. (passes/share_buffers.c) */
fid_status fidc_share_buffers(fidc_program *program);

/* Ensures: no operator that does nothing in inference (dropout, detach, alias, contiguous, to of the same dtype, assertions), and
 * composite operators are rewritten into rows that have a kernel. For FIDC_TARGET_PORTABLE: only operators that upstream's runtime
 * registers, with the dtypes it takes. (passes/decompose*.c) */
fid_status fidc_decompose(fidc_program *program, fidc_target target);
/* Has a built-in row a rule there? (A rule may still leave or refuse a call.) */
bool fidc_is_decomposed(const fid_op *op);

/* Evaluates nodes whose arguments are all constant, by their reference kernels; shares equal constants. (passes/fold.c) */
fid_status fidc_fold(fidc_program *program);

/* Removes nodes that compute what another already did with the same arguments. (passes/cse.c) */
fid_status fidc_share(fidc_program *program);

/* portable target: what decompose made of one call in float16 or bfloat16 rounds once, at its end. (passes/round_once.c) */
fid_status fidc_round_once(fidc_program *program);

/* cpu target: float16 and bfloat16 compute in float32 where that has the fast kernels; rounds at the end of a chain. (passes/widen.c) */
fid_status fidc_widen(fidc_program *program);

/* Batch norms behind convolutions of constant weight go into weight and bias. (passes/fuse.c) */
fid_status fidc_fold_norms(fidc_program *program);

/* cpu target: batch norm into convolution, bias and activation into convolution and linear, chains into fid:: operators. (passes/fuse.c) */
fid_status fidc_fuse(fidc_program *program);

/* cpu target: gives 4-d activations around convolutions a channels-last dim order. (passes/layout.c) */
fid_status fidc_layout(fidc_program *program);

/* cpu target: weights of fid:: operators into the documented packed layout. (passes/pack.c) */
fid_status fidc_pack(fidc_program *program);

/* cpu target: checks of what export promised of the sizes of inputs. (passes/guard.c) */
fid_status fidc_guard(fidc_program *program);

/* Adds every node whose operator has no kernel for the target to the program's problems, and tells all of them (ir/problem.h):
 * FID_OPERATOR_MISSING, or FID_NOT_SUPPORTED if one is of another kind. (passes/legalize.c) */
fid_status fidc_check_supported(const fidc_program *program, fidc_target target);
/* Adds only what no row of the table names: what can be said before the passes are through. */
fid_status fidc_find_unknown(const fidc_program *program);

#endif
