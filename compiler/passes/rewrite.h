/* What rewriting passes share: a rewriter stands before one node, makes new nodes there and puts their values in its place. */
#ifndef FIDC_REWRITE_H
#define FIDC_REWRITE_H

#include "compiler/passes/passes.h"

typedef struct fidc_rewriter {
    fidc_program *program;
    fidc_graph *graph;
    fidc_node *node;     /* new nodes come before it and inherit its source; NULL: at the end of the graph */
    fidc_target target;
    bool changed;        /* the node was replaced */
    bool failed;         /* a new node could not be made; fidc_rw_become reports it */
    bool refused;        /* fidc_rw_refuse was called: the node is on the program's list of problems */
} fidc_rewriter;

/* A rule either leaves its node (fidc_rw_keep) or replaces it (fidc_rw_become...). */
typedef fid_status (*fidc_rule)(fidc_rewriter *rw);
typedef struct fidc_rule_row { fid_op_id op; fidc_rule rule; } fidc_rule_row;

/* Rules by operator; NULL where there is none. */
typedef struct fidc_rules { fidc_rule by_op[FID_OP_COUNT]; } fidc_rules;
/* Applies one rule to rw->node. A refusal is no failure here: the compile goes on and fails at its end, with all of them. */
fid_status fidc_rw_apply(fidc_rewriter *rw, fidc_rule rule);
void fidc_rules_add(fidc_rules *rules, const fidc_rule_row *rows, size_t count);
fidc_rule fidc_rules_find(const fidc_rules *rules, const fidc_program *program, const fid_op *op);
/* Applies rules to every node of the graph and its sub-graphs, and to what they make, until none changes anything. */
fid_status fidc_rules_apply(const fidc_rules *rules, fidc_graph *graph, fidc_target target);

/* ---- Making nodes ---- */

/* RW(rw, mul_Tensor, fidc_v(a), fidc_v(b)): the value of a new node; NULL on failure. */
#define RW(rw, id, ...)                                                                                                \
    fidc_rw_emit((rw), FID_OPID_##id, (const fidc_arg[]){__VA_ARGS__}, sizeof((const fidc_arg[]){__VA_ARGS__}) / sizeof(fidc_arg))
fidc_value *fidc_rw_emit(fidc_rewriter *rw, fid_op_id op, const fidc_arg *args, size_t arg_count);
/* The node, for operators with several results; list results need their number. */
fidc_node *fidc_rw_emit_node(fidc_rewriter *rw, fid_op_id op, const fidc_arg *args, size_t arg_count, size_t list_outputs);

fid_status fidc_rw_keep(fidc_rewriter *rw);
/* Replaces output 0 and removes the node. Dtype and rank must be those of the old value, and sizes where both are known. */
fid_status fidc_rw_become(fidc_rewriter *rw, fidc_value *value);
/* Replaces all outputs; values[i] NULL: output i must be unused. */
fid_status fidc_rw_become_all(fidc_rewriter *rw, fidc_value *const *values, size_t count);
/* The same arguments, another operator. */
fid_status fidc_rw_rename(fidc_rewriter *rw, fid_op_id op);
/* Removes a node without results. */
fid_status fidc_rw_drop(fidc_rewriter *rw);
/* FID_NOT_SUPPORTED; adds the node to what the program needs and cannot have (ir/problem.h). */
fid_status fidc_rw_refuse(fidc_rewriter *rw, const char *why);

/* ---- Reading arguments of rw->node ---- */

bool fidc_rw_is_none(const fidc_rewriter *rw, uint32_t i);
fidc_value *fidc_rw_value(const fidc_rewriter *rw, uint32_t i);            /* NULL if none or a number */
fidc_arg fidc_rw_arg(const fidc_rewriter *rw, uint32_t i);                 /* NONE past the end */
int64_t fidc_rw_int(const fidc_rewriter *rw, uint32_t i, int64_t otherwise);   /* otherwise: none or not constant */
double fidc_rw_double(const fidc_rewriter *rw, uint32_t i, double otherwise);
bool fidc_rw_bool(const fidc_rewriter *rw, uint32_t i, bool otherwise);
const char *fidc_rw_string(const fidc_rewriter *rw, uint32_t i, const char *otherwise);
/* Items of a constant int list, at most FID_MAX_RANK; false if one is not constant. A single number is a list of one. */
bool fidc_rw_ints(const fidc_rewriter *rw, uint32_t i, int64_t *items, size_t *out_count);
/* The same spread to exactly `count` items: one item repeats, an empty list gives `otherwise`. */
bool fidc_rw_ints_spread(const fidc_rewriter *rw, uint32_t i, size_t count, int64_t otherwise, int64_t *items);
/* Items of a list; a single argument is a list of one. */
const fidc_arg *fidc_rw_items(const fidc_rewriter *rw, uint32_t i, size_t *out_count);
/* A dimension argument wrapped to [0, max(rank, 1)). */
int64_t fidc_rw_dim(const fidc_rewriter *rw, uint32_t i, int64_t otherwise, size_t rank);
int64_t fidc_wrap(int64_t dim, size_t rank); /* always within [0, max(rank, 1)) */
fidc_value *fidc_rw_out(const fidc_rewriter *rw);                          /* output 0 */
bool fidc_rw_is_used(const fidc_rewriter *rw, uint32_t output);            /* looks through the graph: true of what other rules just made, too */

/* ---- Sizes that may be symbolic ---- */

/* The number `expr` as an argument: a constant, or a value that stands before rw->node (made if need be). NONE on failure. */
fidc_arg fidc_rw_expr(fidc_rewriter *rw, const fidc_expr *expr);
fidc_arg fidc_rw_size(fidc_rewriter *rw, const fidc_value *value, size_t dim);
/* Sizes of a shape as a list; the last that is not constant becomes -1 when `infer` is set (for views). */
fidc_arg fidc_rw_shape(fidc_rewriter *rw, const fidc_expr *const *sizes, size_t rank, bool infer);
const fidc_expr *fidc_expr_product(fidc_program *program, const fidc_expr *const *sizes, size_t count);
fidc_value *fidc_rw_view(fidc_rewriter *rw, fidc_value *value, const fidc_expr *const *sizes, size_t rank);
fidc_value *fidc_rw_expand(fidc_rewriter *rw, fidc_value *value, const fidc_expr *const *sizes, size_t rank);
bool fidc_rw_same_sizes(const fidc_value *value, const fidc_expr *const *sizes, size_t rank);

/* ---- Small compositions ---- */

/* Operators of one tensor, two, and one with a number. NULL in, NULL out. */
fidc_value *fidc_rw_op1(fidc_rewriter *rw, fid_op_id op, fidc_value *x);
fidc_value *fidc_rw_op2(fidc_rewriter *rw, fid_op_id op, fidc_value *a, fidc_value *b);
fidc_value *fidc_rw_opn(fidc_rewriter *rw, fid_op_id op, fidc_value *x, fidc_arg number);
static inline fidc_value *fidc_rw_opd(fidc_rewriter *rw, fid_op_id op, fidc_value *x, double number) {
    return fidc_rw_opn(rw, op, x, fidc_d(number));
}
fidc_value *fidc_rw_where(fidc_rewriter *rw, fidc_value *condition, fidc_value *a, fidc_value *b);
/* A number as a tensor of no dimensions in that dtype. */
fidc_value *fidc_rw_scalar(fidc_rewriter *rw, fid_dtype dtype, fidc_arg number);
/* Over one dimension; over some (NONE or empty: all); to a mean (1), a sum (2) or not at all (0), as losses say it. */
fidc_value *fidc_rw_sum_dim(fidc_rewriter *rw, fidc_value *x, int64_t dim, bool keepdim);
fidc_value *fidc_rw_sum(fidc_rewriter *rw, fidc_value *x, fidc_arg dims, bool keepdim);
fidc_value *fidc_rw_reduce_loss(fidc_rewriter *rw, fidc_value *x, int64_t reduction);

fidc_value *fidc_rw_permute(fidc_rewriter *rw, fidc_value *value, const int64_t *dims);
fidc_value *fidc_rw_transpose(fidc_rewriter *rw, fidc_value *value, int64_t a, int64_t b);
fidc_value *fidc_rw_slice(fidc_rewriter *rw, fidc_value *value, int64_t dim, fidc_arg start, fidc_arg end);
fidc_value *fidc_rw_unsqueeze(fidc_rewriter *rw, fidc_value *value, int64_t dim);
fidc_value *fidc_rw_squeeze(fidc_rewriter *rw, fidc_value *value, int64_t dim);
/* The value in another dtype; itself if it has it. */
fidc_value *fidc_rw_cast(fidc_rewriter *rw, fidc_value *value, fid_dtype dtype);
/* A tensor filled with a number. */
fidc_value *fidc_rw_full(fidc_rewriter *rw, const fidc_expr *const *sizes, size_t rank, fid_dtype dtype, fidc_arg number);
fidc_value *fidc_rw_cat(fidc_rewriter *rw, fidc_value *const *values, size_t count, int64_t dim);

/* torch.matmul by mm and bmm; linear by addmm and mm. */
fidc_value *fidc_rw_matmul(fidc_rewriter *rw, fidc_value *a, fidc_value *b);
fidc_value *fidc_rw_linear(fidc_rewriter *rw, fidc_value *x, fidc_value *weight, fidc_value *bias);

/* A number as a tensor of no dimensions, in the dtype that an operation with `beside` (may be NULL) computes in. NULL if it is none. */
fidc_value *fidc_rw_number(fidc_rewriter *rw, fidc_arg number, const fidc_value *beside);
/* Makes sure of what rules rely on (see rewrite.c). `keep_numbers`: the rule takes numbers in the place of tensors itself. */
fid_status fidc_rw_check(fidc_rewriter *rw, bool keep_numbers, bool *out_fits);
/* Binary operators whose rule turns a number operand into the overload for numbers. */
bool fidc_takes_numbers(const fidc_program *program, const fid_op *op);

/* Dtype of a tensor's result with a Python number: integers do not change it, a float makes integers float32. */
fid_dtype fidc_promote_number(fid_dtype dtype, fidc_arg number);
/* float16 and bfloat16 compute in float32. */
fid_dtype fidc_compute_dtype(fid_dtype dtype);

/* Takes operands of pointwise operators before their expansion where the operator broadcasts to the same shape. (broadcast.c) */
void fidc_drop_expansions(fidc_graph *graph);

/* True if the target's runtime has the operator. */
bool fidc_is_supported(const fid_op *op, fidc_target target);

/* ---- Families of rules (decompose_*.c) ---- */

void fidc_rules_add_views(fidc_rules *rules);      /* view operators into their *_copy rows */
void fidc_rules_add_noops(fidc_rules *rules);      /* what does nothing in inference */
void fidc_rules_add_composite(fidc_rules *rules);  /* second names, small composites */
void fidc_rules_add_create(fidc_rules *rules);     /* zeros, arange, new_ones, ... */
void fidc_rules_add_pointwise(fidc_rules *rules);
void fidc_rules_add_move(fidc_rules *rules);       /* repeat, pad, roll, index forms */
void fidc_rules_add_product(fidc_rules *rules);    /* matmul family, einsum */
void fidc_rules_add_linalg(fidc_rules *rules);     /* inverses, determinants, decompositions */
void fidc_rules_add_norms(fidc_rules *rules);      /* norms of matrices, ranks, condition */
void fidc_rules_add_fft(fidc_rules *rules);
void fidc_rules_add_stft(fidc_rules *rules);
void fidc_rules_add_complex(fidc_rules *rules);    /* complex operands of real kernels: parts */
void fidc_rules_add_complex_product(fidc_rules *rules);
bool fidc_has_complex(const fidc_program *program);
void fidc_rules_add_gradient(fidc_rules *rules);
void fidc_rules_add_loss(fidc_rules *rules);
void fidc_rules_add_quantized(fidc_rules *rules);  /* to integers and back */
void fidc_rules_add_nn(fidc_rules *rules);         /* convolutions, pools, norms, softmax */
void fidc_rules_add_portable(fidc_rules *rules);   /* what upstream has no kernel for: all of the following */
void fidc_rules_add_portable_product(fidc_rules *rules);
void fidc_rules_add_portable_pointwise(fidc_rules *rules);
void fidc_rules_add_portable_reduction(fidc_rules *rules);
void fidc_rules_add_portable_loss(fidc_rules *rules);
void fidc_rules_add_portable_composite(fidc_rules *rules);
void fidc_rules_add_portable_nn(fidc_rules *rules);
void fidc_rules_add_portable_image(fidc_rules *rules);
void fidc_rules_add_portable_pool(fidc_rules *rules);
void fidc_rules_add_portable_move(fidc_rules *rules);
void fidc_rules_add_portable_sort(fidc_rules *rules);
void fidc_rules_add_portable_special(fidc_rules *rules);
void fidc_rules_add_portable_bessel(fidc_rules *rules);
void fidc_rules_add_portable_polynomial(fidc_rules *rules);
void fidc_rules_add_portable_scan(fidc_rules *rules);
void fidc_rules_add_portable_scatter(fidc_rules *rules);
void fidc_rules_add_portable_rest(fidc_rules *rules);
void fidc_rules_add_portable_limits(fidc_rules *rules);  /* where upstream's kernels take less than PyTorch's */
void fidc_rules_add_portable_fft(fidc_rules *rules);     /* complex numbers, too */
void fidc_rules_add_portable_rnn(fidc_rules *rules);

#endif
