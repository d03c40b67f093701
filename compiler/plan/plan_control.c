/* Control flow as planner and emitter see it: what each input of a sub-graph is, and which results are carried. */
#include "compiler/plan/plan_control.h"

#include "compiler/plan/plan.h"

fidc_control fidc_control_of(const fidc_node *node) {
    static const struct { const char *name; fidc_control control; } known[] = {
        {"higher_order::cond", FIDC_COND}, {"higher_order::while_loop", FIDC_WHILE},
        {"higher_order::map_impl", FIDC_MAP}, {"higher_order::scan", FIDC_SCAN},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(node->op->name, known[i].name) == 0) return known[i].control;
    return FIDC_NO_CONTROL;
}

static uint32_t list_count(const fidc_node *node, uint32_t arg) {
    return arg < node->arg_count && node->args[arg].kind == FIDC_ARG_LIST ? node->args[arg].as.list.count : 0;
}

uint32_t fidc_control_carries(const fidc_node *node) {
    fidc_control control = fidc_control_of(node);
    return control == FIDC_SCAN ? list_count(node, 0) : control == FIDC_WHILE ? list_count(node, 0) : 0;
}

/* Lists of the node's arguments from `first` on, laid end to end. */
static const fidc_arg *operand(const fidc_node *node, uint32_t first, uint32_t i) {
    for (uint32_t arg = first; arg < node->arg_count; arg++) {
        uint32_t count = list_count(node, arg);
        if (i < count) return &node->args[arg].as.list.items[i];
        i -= count;
    }
    return NULL;
}

fidc_binding fidc_control_binding(const fidc_node *node, uint32_t i) {
    fidc_control control = fidc_control_of(node);
    uint32_t carries = fidc_control_carries(node), first = control == FIDC_COND ? 1 : 0;
    uint32_t stacks = control == FIDC_MAP ? list_count(node, 0) : control == FIDC_SCAN ? list_count(node, 1) : 0;
    const fidc_arg *arg = operand(node, first, i);
    if (i < carries && i < node->output_count) return (fidc_binding){.carry = node->outputs[i]};
    if (arg && i < carries + stacks) return (fidc_binding){.stack = fidc_value_of(arg)};
    return (fidc_binding){.arg = arg};
}

static uint32_t number_values(const fidc_graph *graph, uint32_t next) {
    for (uint32_t i = 0; i < graph->value_count; i++) graph->values[i]->scratch = (void *)(uintptr_t)next++;
    for (const fidc_node *node = graph->first; node; node = node->next)
        for (uint32_t i = 0; i < node->graph_count; i++) next = number_values(node->graphs[i], next);
    return next;
}

uint32_t fidc_plan_number(const fidc_graph *graph) { return number_values(graph, 0); }
