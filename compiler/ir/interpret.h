/* Runs a graph node by node on the kernels of its rows, with a tensor of its own for every value: slow, without plan or reuse,
 * and therefore the yardstick. Constant folding runs single nodes with it, tests compare a graph before and after a pass, and
 * `fidibus verify` shows where numbers part. Sizes are the live ones: nothing is bound to the example inputs. */
#ifndef FIDC_INTERPRET_H
#define FIDC_INTERPRET_H

#include "compiler/ir/ir.h"

typedef struct fidc_interpreter fidc_interpreter;

/* Called after each node for each of its outputs, of sub-graphs too. `value` is valid during the call. */
typedef struct fidc_observer {
    void (*seen)(void *self, const fidc_node *node, uint32_t output, const fid_value *value);
    void *self;
} fidc_observer;

typedef struct fidc_interpreter_options {
    fidc_observer observer;     /* seen NULL: none */
    bool fast_kernels;          /* rows' cpu kernels where they take the call; else reference kernels only */
    bool fast_moves;            /* cpu kernels of operators that only move elements: the same bits, sooner */
    uint32_t cpu;               /* FID_CPU_ bits for them */
    const fid_threads *threads; /* NULL: one */
    const fid_sink *sink;       /* NULL: the program's */
} fidc_interpreter_options;

/* The graph must stay unchanged while it runs. Mutable constants start with their content in the program and keep what runs write.
 * `options` NULL: reference kernels, no observer. */
fid_status fidc_interpreter_create(const fidc_graph *graph, const fidc_interpreter_options *options, fidc_interpreter **out_interpreter);
void fidc_interpreter_destroy(fidc_interpreter *interpreter);

/* Runs the method once. inputs[i] belongs to graph->inputs[i]; tensors that the method mutates are written. */
fid_status fidc_interpreter_run(fidc_interpreter *interpreter, const fid_value *inputs, size_t input_count);
/* Output `i` of the last run; valid until the next run. */
const fid_value *fidc_interpreter_output(const fidc_interpreter *interpreter, size_t i);

/* For folding: runs one node whose arguments are constants or outputs of nodes that ran. */
fid_status fidc_interpreter_run_node(fidc_interpreter *interpreter, const fidc_node *node);
/* What a value holds now; tag NONE if nothing. */
const fid_value *fidc_interpreter_value(fidc_interpreter *interpreter, const fidc_value *value);
void fidc_interpreter_forget(fidc_interpreter *interpreter, const fidc_value *value);

/* Copies the elements of a tensor, whatever its dim order, in logical order to `out`, which has room for all of them. */
void fidc_tensor_to_logical(const fid_tensor *tensor, void *out);

#endif
