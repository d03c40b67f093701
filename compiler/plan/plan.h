/* Memory planning: where every tensor of a method lies in one block of planned memory. */
#ifndef FIDC_PLAN_H
#define FIDC_PLAN_H

#include "compiler/ir/ir.h"

#define FIDC_NOT_PLANNED UINT64_MAX

typedef struct fidc_placement {
    uint64_t offset;        /* bytes in the block; FIDC_NOT_PLANNED for constants and values that take no memory */
    uint64_t bytes;         /* at the upper bounds, without padding */
    const fidc_value *base; /* the value whose memory this one shares (a view without copy, an in-place result), or itself */
    bool elided;            /* the producing node is emitted as nothing: the value is its base seen otherwise */
} fidc_placement;

/* Values of control flow's sub-graphs are planned together with the method's: each has an index. For values of the method itself it is
 * the id; those of sub-graphs follow. fidc_plan_number gives the indices (into value->scratch) and returns how many there are. */
uint32_t fidc_plan_number(const fidc_graph *graph);
static inline uint32_t fidc_plan_index(const fidc_value *value) { return (uint32_t)(uintptr_t)value->scratch; }

typedef struct fidc_plan {
    fidc_placement *of;     /* by index */
    uint32_t count;
    uint64_t planned_bytes; /* size of the block */
    uint64_t bound_bytes;   /* largest need of any moment, each tensor at an aligned offset: no placement can be smaller */
    bool is_optimal;        /* no placement can be smaller than the block: it is at the bound, or all were looked at */
} fidc_plan;

typedef struct fidc_plan_options {
    uint32_t alignment;     /* of every placement: 64 for cpu, 16 for portable */
    bool no_reuse;          /* every tensor its own memory: for finding planner faults */
    bool alias_views;       /* views share memory with what they show, parts of concatenations with the whole */
    bool in_place;          /* pointwise results lie over arguments that die: our kernels allow it, upstream's do not promise it */
    bool plan_inputs, plan_outputs;
} fidc_plan_options;

/* True for a buffer in planned memory 2, which methods share. Of any other value: its base tells. */
static inline bool fidc_is_shared_buffer(const fidc_value *value) { return value->origin == FIDC_FROM_CONSTANT && value->constant->is_shared; }

/* Before planning: outputs and new states that are the old content of a state become copies of it. Leaves the graph clean. */
fid_status fidc_plan_protect(fidc_graph *graph);

/* Requires a clean graph (fidc_graph_clean) after fidc_plan_protect. */
fid_status fidc_plan_graph(const fidc_graph *graph, const fidc_plan_options *options, fidc_plan *out_plan);

/* A map of the memory over time for people: arena text. */
const char *fidc_plan_print(const fidc_graph *graph, const fidc_plan *plan);

#endif
