/* Delegates: parts of a program that a backend of the runtime runs as a whole.
 *
 *   takes: which nodes the backend can have -> partition: the largest connected parts of them -> lower: each part to a blob -> emit
 *
 * A backend is a const table of functions. It sees a part as nodes in order, with the values that come in and go out; the part's
 * constants are the backend's business. After fidc_partition a part is one node that carries its blob, and nothing later knows more. */
#ifndef FIDC_PARTITION_H
#define FIDC_PARTITION_H

#include "compiler/ir/ir.h"

typedef struct fidc_part {
    fidc_program *program;
    fidc_graph *graph;
    fidc_node **nodes;     /* in order; still linked in the graph */
    uint32_t node_count;
    fidc_value **inputs;   /* argument i of the delegate: made outside, or a state */
    uint32_t input_count;
    fidc_value **outputs;  /* argument input_count + i: somebody outside reads it */
    uint32_t output_count;
} fidc_part;

/* What a delegate's node carries. */
typedef struct fidc_delegate {
    const char *backend;   /* the runtime's name of it */
    const void *blob;      /* lives as long as the program */
    size_t bytes;
    uint32_t operators;    /* nodes that it stands for */
} fidc_delegate;

typedef struct fidc_backend {
    const char *target;    /* of `fidibus compile --target` */
    const char *name;      /* in programs: what the runtime looks for */
    /* True if the node can be in a delegate. Asked before operators are decomposed for the target (what is taken stays as it is), and
     * again when parts are made. */
    bool (*takes)(const fidc_node *node);
    /* True if it only moves elements: a part of nothing else is not worth a delegate. */
    bool (*is_move)(const fidc_node *node);
    /* Fills blob and bytes. It may use the scratch fields of the part's nodes and of the values that they read and make. Constants that several delegates may share go to fidc_named_add. */
    fid_status (*lower)(const fidc_part *part, fidc_delegate *out_delegate);
} fidc_backend;

/* Makes delegates in all methods and the sub-graphs of control flow. `per_operator`: each node is a delegate of its own. Requires:
 * no view but in *_copy form, no mutation but at the end. */
fid_status fidc_partition(fidc_program *program, const fidc_backend *backend, bool per_operator);

/* ---- What stayed outside ---- */

typedef struct fidc_partition_summary {
    uint32_t delegates, delegated;  /* delegates, and operators in them */
    char *outside_json;             /* [{"operator": "aten::topk", "count": 2}, ...]: the most frequent first; of the C library's allocator */
} fidc_partition_summary;
fid_status fidc_partition_summarize(const fidc_program *program, fidc_partition_summary *out_summary);

#endif
