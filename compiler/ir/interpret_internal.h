/* Shared by the two halves of the interpreter. */
#ifndef FIDC_INTERPRET_INTERNAL_H
#define FIDC_INTERPRET_INTERNAL_H

#include "compiler/ir/interpret.h"

/* A value with the storage of its tensor. */
typedef struct fidc_box {
    fid_value value;
    fid_tensor tensor;
    int64_t sizes[FID_MAX_RANK], strides[FID_MAX_RANK];
    uint8_t dim_order[FID_MAX_RANK];
    void *owned;
    size_t owned_bytes;
    uint32_t readers; /* nodes and outputs that will still read it in this run */
} fidc_box;

struct fidc_interpreter {
    const fidc_graph *graph;
    fid_allocator allocator;
    const fid_sink *sink;
    fidc_interpreter_options options;
    fidc_box *boxes; /* by value id */
    size_t box_count;
    fidc_box *outputs, *mutated;
    fidc_interpreter *outer;     /* of the graph whose node this one's graph belongs to; NULL for a method */
    struct fidc_child *children; /* interpreters of sub-graphs, made when first entered */
};

/* Makes the box a tensor with uninitialized data. */
fid_status fidc_box_allocate(fidc_interpreter *self, fidc_box *box, const fid_meta *meta);
/* Fills a box from a value; a tensor's bytes are copied. */
fid_status fidc_box_set(fidc_interpreter *self, fidc_box *box, const fid_value *value);
/* The box of a value; a constant is bound first. */
fid_status fidc_interpreter_box(fidc_interpreter *self, const fidc_value *value, fidc_box **out_box);

fid_status fidc_interpreter_run_control(fidc_interpreter *self, const fidc_node *node);
void fidc_interpreter_destroy_control(fidc_interpreter *self);

#endif
