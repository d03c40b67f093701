/* Control flow as planner and emitter see it. */
#ifndef FIDC_PLAN_CONTROL_H
#define FIDC_PLAN_CONTROL_H

#include "compiler/ir/ir.h"

/* How a node's sub-graphs are run. */
typedef enum fidc_control { FIDC_NO_CONTROL, FIDC_COND, FIDC_WHILE, FIDC_MAP, FIDC_SCAN } fidc_control;
fidc_control fidc_control_of(const fidc_node *node);

/* What an input of a sub-graph is bound to. */
typedef struct fidc_binding {
    const fidc_arg *arg;        /* the node's operand: the input is that value */
    const fidc_value *carry;    /* or the node's result that carries it from one round to the next */
    const fidc_value *stack;    /* or a row of this tensor, copied in every round */
} fidc_binding;
/* Of input `i` of the node's graphs[k]; all NULL if the node has no operand for it. */
fidc_binding fidc_control_binding(const fidc_node *node, uint32_t i);
/* Results of the node that carry; the others are stacks of rows (none for cond and while_loop). */
uint32_t fidc_control_carries(const fidc_node *node);

#endif
