/* When values live: one walk over the node lists, sub-graphs after the nodes that run them. */
#include "compiler/plan/plan_internal.h"

void fidc_plan_each_value(const fidc_arg *arg, void (*visit)(void *self, const fidc_value *value), void *self) {
    const fidc_value *value = fidc_value_of(arg);
    if (value) visit(self, value);
    if (arg->kind != FIDC_ARG_LIST) return;
    for (uint32_t i = 0; i < arg->as.list.count; i++) fidc_plan_each_value(&arg->as.list.items[i], visit, self);
}

/* Bytes at the upper bounds. False: too many to count, or a size without a bound. */
static bool bytes_of(const fidc_value *value, uint64_t *out_bytes, bool *out_bounded) {
    size_t bytes = 1;
    int64_t sizes[FID_MAX_RANK];
    *out_bounded = true;
    for (size_t i = 0; i < value->rank; i++) {
        sizes[i] = fidc_expr_at(value->sizes[i], FIDC_AT_HIGH);
        if (value->sizes[i]->high == FIDC_UNBOUNDED) *out_bounded = false;
    }
    if (!fid_mul_sizes(sizes, value->rank, &bytes) || !fid_mul_size(bytes, fid_dtype_size(value->dtype), &bytes)) return false;
    *out_bytes = bytes;
    return true;
}

static bool is_method_input(const fidc_planner *planner, const fidc_value *value) {
    return fidc_plan_index(value) < planner->graph->value_count && value->origin == FIDC_FROM_INPUT;
}

static fid_status describe(fidc_planner *planner, const fidc_value *value, fidc_life *life) {
    bool bounded = false;
    *life = (fidc_life){.value = value, .root = fidc_plan_index(value)};
    if (value->type != FIDC_TENSOR) return FID_OK;
    if (!bytes_of(value, &life->bytes, &bounded)) {
        return fid_fail(planner->graph->program->sink, FID_NOT_SUPPORTED, "value '%s' of %s: its size at the upper bounds of its shape overflows; "
                        "give the dynamic dimensions smaller bounds when exporting", value->name, planner->graph->name);
    }
    life->is_state = value->origin == FIDC_FROM_CONSTANT && value->constant->is_mutable;
    life->has_address = bounded && (value->origin != FIDC_FROM_CONSTANT || life->is_state) &&
                        (value->origin != FIDC_FROM_INPUT || planner->options->plan_inputs || !is_method_input(planner, value));
    return FID_OK;
}

typedef struct reading { fidc_planner *planner; uint32_t moment; bool leaves; } reading;

static void note_read(void *self, const fidc_value *value) {
    const reading *r = self;
    fidc_life *life = fidc_life_of(r->planner, value);
    if (life->last < r->moment) life->last = r->moment;
    if (r->leaves) life->is_output = true;
}

static void read_args(fidc_planner *planner, uint32_t moment, const fidc_arg *args, uint32_t count, bool leaves) {
    reading r = {planner, moment, leaves};
    for (uint32_t i = 0; i < count; i++) fidc_plan_each_value(&args[i], note_read, &r);
}

static void walk_graph(fidc_planner *planner, const fidc_graph *graph, uint32_t *inout_moment);

/* Inputs of a sub-graph are outer values, or rows with memory of their own. Outer values live as long: the two will be one group. */
static void bind_inputs(fidc_planner *planner, const fidc_node *node, const fidc_graph *graph, uint32_t start) {
    for (uint32_t i = 0; i < graph->input_count; i++) {
        fidc_binding binding = fidc_control_binding(node, i);
        fidc_life *life = fidc_life_of(planner, graph->inputs[i]);
        life->first = life->last = start;
        life->outer = binding.carry ? binding.carry : binding.arg ? fidc_value_of(binding.arg) : NULL;
        life->has_address = life->has_address && !life->outer;
    }
}

/* What a loop reads, it reads in every round; what it carries lives through all of them. */
static void extend_over_loop(fidc_planner *planner, const fidc_node *node, uint32_t start, uint32_t end) {
    for (uint32_t i = 0; i < planner->count; i++) {
        fidc_life *life = &planner->lives[i];
        if (life->value && life->first < start && life->last > start && life->last < end) life->last = end;
    }
    read_args(planner, end, node->args, node->arg_count, false);
    for (uint32_t i = 0; i < node->output_count; i++) fidc_life_of(planner, node->outputs[i])->last = end;
    for (uint32_t k = 0; k < node->graph_count; k++)
        for (uint32_t i = 0; i < node->graphs[k]->input_count; i++) fidc_life_of(planner, node->graphs[k]->inputs[i])->last = end;
}

static void walk_control(fidc_planner *planner, const fidc_node *node, uint32_t *inout_moment) {
    uint32_t start = *inout_moment;
    for (uint32_t k = 0; k < node->graph_count; k++) {
        const fidc_graph *graph = node->graphs[k];
        bind_inputs(planner, node, graph, start);
        walk_graph(planner, graph, inout_moment);
        read_args(planner, ++*inout_moment, graph->outputs, graph->output_count, true);
    }
    if (fidc_control_of(node) != FIDC_COND) extend_over_loop(planner, node, start, *inout_moment);
}

static void walk_graph(fidc_planner *planner, const fidc_graph *graph, uint32_t *inout_moment) {
    for (const fidc_node *node = graph->first; node; node = node->next) {
        uint32_t moment = ++*inout_moment;
        for (uint32_t i = 0; i < node->output_count; i++) {
            fidc_life *life = fidc_life_of(planner, node->outputs[i]);
            life->first = life->last = moment;
        }
        read_args(planner, moment, node->args, node->arg_count, false);
        if (node->graph_count) walk_control(planner, node, inout_moment);
        for (uint32_t i = 0; node->graph_count && i < node->output_count; i++) {
            fidc_life *life = fidc_life_of(planner, node->outputs[i]);
            if (life->last < *inout_moment) life->last = *inout_moment;
        }
    }
}

/* Outputs and new states live to the end; states always. */
static fid_status walk_ends(fidc_planner *planner) {
    const fidc_graph *graph = planner->graph;
    read_args(planner, planner->end, graph->outputs, graph->output_count, true);
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const fidc_value *value = fidc_value_of(&graph->outputs[i]);
        if (value && value->origin == FIDC_FROM_NODE && !planner->options->plan_outputs) fidc_life_of(planner, value)->has_address = false;
    }
    for (uint32_t i = 0; i < graph->mutation_count; i++) {
        const fidc_value *value = fidc_resolve(graph->mutations[i].value), *target = graph->mutations[i].target;
        if (target->origin == FIDC_FROM_CONSTANT && !target->constant->is_mutable)
            return fid_fail(graph->program->sink, FID_INTERNAL, "%s writes constant '%s', which is not mutable", graph->name, target->name);
        note_read(&(reading){planner, planner->end, true}, value);
        fidc_life_of(planner, target)->is_state = true;
        planner->state_of[fidc_plan_index(value)] = target;
    }
    return FID_OK;
}

/* A branch's result may be handed over without a copy: then it lives as long as the node's. */
static void extend_results(fidc_planner *planner, const fidc_graph *graph) {
    for (const fidc_node *node = graph->first; node; node = node->next) {
        for (uint32_t k = 0; k < node->graph_count; k++) {
            const fidc_graph *branch = node->graphs[k];
            bool hands_over = fidc_control_of(node) == FIDC_COND;
            for (uint32_t i = 0; hands_over && i < branch->output_count && i < node->output_count; i++)
                read_args(planner, fidc_life_of(planner, node->outputs[i])->last, &branch->outputs[i], 1, true);
            extend_results(planner, branch);
        }
    }
}

static fid_status describe_graph(fidc_planner *planner, const fidc_graph *graph) {
    for (uint32_t i = 0; i < graph->value_count; i++) FID_TRY(describe(planner, graph->values[i], fidc_life_of(planner, graph->values[i])));
    for (const fidc_node *node = graph->first; node; node = node->next) {
        if (node->graph_count && fidc_control_of(node) == FIDC_NO_CONTROL)
            return fid_fail(graph->program->sink, FID_NOT_SUPPORTED, "%s: this control flow is not known", fidc_where(node));
        for (uint32_t i = 0; i < node->graph_count; i++) FID_TRY(describe_graph(planner, node->graphs[i]));
    }
    return FID_OK;
}

fid_status fidc_plan_lifetimes(fidc_planner *planner) {
    uint32_t moment = 0;
    FID_TRY(describe_graph(planner, planner->graph));
    walk_graph(planner, planner->graph, &moment);
    planner->end = moment + 1;
    FID_TRY(walk_ends(planner));
    extend_results(planner, planner->graph);
    for (uint32_t i = 0; i < planner->count; i++) {
        fidc_life *life = &planner->lives[i];
        life->last_read = life->last;
        if (life->is_state || planner->options->no_reuse) life->last = planner->end;
        if (planner->options->no_reuse) life->first = 0;
    }
    return FID_OK;
}
