/* States change at the end of a run. Whoever leaves the method, or becomes another state, with a state's old content gets a copy of
 * it before that. */
#include "compiler/plan/plan.h"

static bool is_state(const fidc_graph *graph, const fidc_value *value) {
    for (uint32_t i = 0; i < graph->mutation_count; i++)
        if (graph->mutations[i].target == value) return true;
    return false;
}

static fid_status copy_before_end(fidc_graph *graph, fidc_value *value, fidc_value **out_copy) {
    fidc_arg arg = fidc_v(value);
    *out_copy = fidc_result(fidc_node_create(graph, NULL, NULL, FID_OPID_clone, &arg, 1, 0));
    return *out_copy ? FID_OK : fid_fail(graph->program->sink, FID_OUT_OF_MEMORY, "no copy of state '%s' of %s", value->name, graph->name);
}

/* What a sub-graph gives back is its own: never one of its inputs, which the next round may overwrite before it is taken. */
static fid_status protect_sub_graph(fidc_graph *graph) {
    fidc_value *copy;
    for (uint32_t i = 0; i < graph->output_count; i++) {
        fidc_value *value = fidc_value_of(&graph->outputs[i]);
        if (!value || value->type != FIDC_TENSOR || (value->origin == FIDC_FROM_NODE && value->producer->graph == graph)) continue;
        FID_TRY(copy_before_end(graph, value, &copy));
        graph->outputs[i] = fidc_v(copy);
    }
    return FID_OK;
}

static fid_status protect_sub_graphs(fidc_graph *graph) {
    for (fidc_node *node = graph->first; node; node = node->next) {
        for (uint32_t i = 0; i < node->graph_count; i++) {
            FID_TRY(protect_sub_graph(node->graphs[i]));
            FID_TRY(protect_sub_graphs(node->graphs[i]));
        }
    }
    return FID_OK;
}

fid_status fidc_plan_protect(fidc_graph *graph) {
    fidc_value *copy;
    FID_TRY(protect_sub_graphs(graph));
    for (uint32_t i = 0; i < graph->output_count; i++) {
        fidc_value *value = fidc_value_of(&graph->outputs[i]);
        if (!value || !is_state(graph, value)) continue;
        FID_TRY(copy_before_end(graph, value, &copy));
        graph->outputs[i] = fidc_v(copy);
    }
    for (uint32_t i = 0; i < graph->mutation_count; i++) {
        fidc_value *value = fidc_resolve(graph->mutations[i].value);
        if (value == graph->mutations[i].target || !is_state(graph, value)) continue;
        FID_TRY(copy_before_end(graph, value, &copy));
        graph->mutations[i].value = copy;
    }
    fidc_graph_clean(graph);
    return FID_OK;
}
