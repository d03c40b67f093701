/* When values live: one walk over the node list. */
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

static fid_status describe(fidc_planner *planner, const fidc_value *value, fidc_life *life) {
    bool bounded = false;
    *life = (fidc_life){.value = value, .root = value->id};
    if (value->type != FIDC_TENSOR) return FID_OK;
    if (!bytes_of(value, &life->bytes, &bounded)) {
        return fid_fail(planner->graph->program->sink, FID_NOT_SUPPORTED, "value '%s' of %s: its size at the upper bounds of its shape overflows; "
                        "give the dynamic dimensions smaller bounds when exporting", value->name, planner->graph->name);
    }
    life->is_state = value->origin == FIDC_FROM_CONSTANT && value->constant->is_mutable;
    life->has_address = bounded && (value->origin != FIDC_FROM_CONSTANT || life->is_state) &&
                        (value->origin != FIDC_FROM_INPUT || planner->options->plan_inputs);
    return FID_OK;
}

typedef struct reading { fidc_planner *planner; uint32_t moment; bool leaves; } reading;

static void note_read(void *self, const fidc_value *value) {
    const reading *r = self;
    fidc_life *life = &r->planner->lives[value->id];
    if (life->last < r->moment) life->last = r->moment;
    if (r->leaves) life->is_output = true;
}

static void walk_nodes(fidc_planner *planner) {
    reading r = {planner, 0, false};
    for (const fidc_node *node = planner->graph->first; node; node = node->next) {
        r.moment++;
        for (uint32_t i = 0; i < node->output_count; i++) {
            fidc_life *life = &planner->lives[node->outputs[i]->id];
            life->first = life->last = r.moment;
        }
        for (uint32_t i = 0; i < node->arg_count; i++) fidc_plan_each_value(&node->args[i], note_read, &r);
    }
    planner->end = r.moment + 1;
}

/* Outputs and new states live to the end; states always. */
static fid_status walk_ends(fidc_planner *planner) {
    const fidc_graph *graph = planner->graph;
    reading r = {planner, planner->end, true};
    for (uint32_t i = 0; i < graph->output_count; i++) {
        fidc_plan_each_value(&graph->outputs[i], note_read, &r);
        const fidc_value *value = fidc_value_of(&graph->outputs[i]);
        if (value && value->origin == FIDC_FROM_NODE && !planner->options->plan_outputs) planner->lives[value->id].has_address = false;
    }
    for (uint32_t i = 0; i < graph->mutation_count; i++) {
        const fidc_value *value = fidc_resolve(graph->mutations[i].value), *target = graph->mutations[i].target;
        if (target->origin == FIDC_FROM_CONSTANT && !target->constant->is_mutable)
            return fid_fail(graph->program->sink, FID_INTERNAL, "%s writes constant '%s', which is not mutable", graph->name, target->name);
        note_read(&r, value);
        planner->lives[target->id].is_state = true;
        planner->state_of[value->id] = target;
    }
    return FID_OK;
}

fid_status fidc_plan_lifetimes(fidc_planner *planner) {
    const fidc_graph *graph = planner->graph;
    for (uint32_t i = 0; i < graph->value_count; i++) FID_TRY(describe(planner, graph->values[i], &planner->lives[i]));
    walk_nodes(planner);
    FID_TRY(walk_ends(planner));
    for (uint32_t i = 0; i < graph->value_count; i++) {
        fidc_life *life = &planner->lives[i];
        life->last_read = life->last;
        if (life->is_state || planner->options->no_reuse) life->last = planner->end;
        if (planner->options->no_reuse) life->first = 0;
    }
    return FID_OK;
}
