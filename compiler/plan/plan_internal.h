/* Shared by the parts of the planner: when values live, who shares memory with whom, and where blocks lie. */
#ifndef FIDC_PLAN_INTERNAL_H
#define FIDC_PLAN_INTERNAL_H

#include "compiler/plan/plan.h"
#include "compiler/plan/plan_control.h"

/* Moments of a run: 0 is before the first node, then each node has one, in order; those of a sub-graph stand after their node's, and
 * one more follows each sub-graph, when its results are taken. `end` comes last: outputs are read and states are written back. */

/* What the planner knows of one value. Values that share memory form a group; its root stands for the memory. */
typedef struct fidc_life {
    const fidc_value *value;
    uint64_t bytes;        /* at the upper bounds; 0 if it is no tensor */
    uint32_t first, last;  /* moments, both included: of the value itself; of a root: of the whole group */
    uint32_t last_read;    /* of a root: last moment at which a node or an output reads any of the group */
    uint32_t root;         /* index of the value whose memory this one uses: itself, or a root */
    uint64_t delta;        /* bytes from the root's start */
    bool has_address;      /* a tensor that gets a place in planned memory (as a root or through one) */
    bool elided;           /* its node does nothing */
    bool is_output;        /* leaves the method or replaces a state: must not show somebody else's memory */
    bool is_state;         /* keeps its content between runs: a mutable constant, a mutated input */
    bool is_foreign;       /* shows memory of an outer graph: an input of a sub-graph, a view of one */
    const fidc_value *outer; /* of an input of a sub-graph: the outer value that it is; NULL: it has its own memory */
} fidc_life;

typedef struct fidc_planner {
    const fidc_graph *graph;
    const fidc_plan_options *options;
    fidc_life *lives;      /* by index */
    uint32_t count;
    const fidc_value **state_of; /* by index: the state that the value replaces at the end, or NULL */
    uint32_t end;          /* last moment */
    uint64_t *live;        /* space for a number a moment */
} fidc_planner;

/* A stretch of memory that must lie somewhere. */
typedef struct fidc_block {
    uint32_t id;           /* index of the root */
    uint32_t first, last;
    uint64_t size;         /* multiple of the alignment */
    uint64_t bytes;        /* without the padding: what counts for the block that ends last */
    uint64_t offset;
} fidc_block;

/* Fills lives as if every value had its own memory. (plan_lifetime.c) */
fid_status fidc_plan_lifetimes(fidc_planner *planner);
/* Joins values into groups: views without a copy, results in place. (plan_alias.c) */
void fidc_plan_aliases(fidc_planner *planner);
/* Puts the parts of a concatenation where they belong in the whole, if that is possible and pays. (plan_concat.c) */
bool fidc_plan_concat(fidc_planner *planner, const fidc_node *node, uint32_t moment);
/* All that lies in the memory of `root` lies in that of `whole` from now on, `delta` bytes from its start. (plan_concat.c) */
void fidc_plan_move_group(fidc_planner *planner, fidc_life *root, fidc_life *whole, uint64_t delta);
/* Gives every block an offset; returns the bytes needed, without padding at the end, and whether no placement needs fewer for certain.
 * `bound`: looking ends near it. (plan_place.c) */
fid_status fidc_plan_place(fidc_program *program, fidc_block *blocks, uint32_t count, uint64_t bound, uint64_t *out_bytes, bool *out_is_optimal);
/* Betters a placement of few blocks that needs `inout_bytes`. True: no placement needs fewer; false: there are too many blocks or ways
 * to look at them all. Ends when `bound` is reached. (plan_exact.c) */
bool fidc_plan_exact(fidc_block *blocks, uint32_t count, uint64_t bound, uint64_t *inout_bytes);

static inline bool fidc_life_is_plain_constant(const fidc_life *life) {
    return life->value->origin == FIDC_FROM_CONSTANT && !life->is_state;
}

static inline fidc_life *fidc_life_of(const fidc_planner *planner, const fidc_value *value) {
    return &planner->lives[fidc_plan_index(value)];
}

/* Calls `visit` for every value that an argument names. */
void fidc_plan_each_value(const fidc_arg *arg, void (*visit)(void *self, const fidc_value *value), void *self);

#endif
