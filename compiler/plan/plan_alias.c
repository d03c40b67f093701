/* Who shares memory with whom.
 *
 * Ways to spare a copy, tried for each node in order of execution:
 * - a view whose elements already lie in the right order somewhere in its input's memory;
 * - a new state computed straight into the state's memory, when nobody reads the old one any more;
 * - a pointwise result over an input that dies with the node;
 * - a concatenation whose parts are computed in place (plan_concat.c);
 * - a branch's result in the memory of the cond's.
 * Nothing that is written may lie over memory that is still read, and what leaves the method never shows the memory of an
 * input, a constant or a state. */
#include "compiler/plan/plan_internal.h"

/* An output as a window of the node's first argument. */
typedef struct window {
    bool flat;                     /* the elements in logical order, whatever the dimensions */
    int8_t source[FID_MAX_RANK];   /* else: the input dimension behind each output dimension of size over one, -1 for the others */
    int cut;                       /* input dimension of which only a part is seen, -1: none */
    int64_t start;                 /* first index of it */
} window;

static bool is_unit(const fidc_value *value, size_t dim) { return fidc_size(value, dim) == 1; }

static bool is_row_major(const fidc_value *value) {
    int before = -1;
    for (size_t i = 0; i < value->rank; i++) {
        int dim = value->dim_order[i];
        if (is_unit(value, (size_t)dim)) continue;
        if (dim < before) return false;
        before = dim;
    }
    return true;
}

static bool wrap(int64_t dim, size_t rank, int *out_dim) {
    if (dim < 0) dim += (int64_t)rank;
    *out_dim = (int)dim;
    return dim >= 0 && dim < (int64_t)rank;
}

/* ---- What a view operator shows ------------------------------------------------------------------------------------------ */

/* Dimensions of size one come or go; the others stay, in order. */
static bool match_in_order(const fidc_value *in, const fidc_value *out, window *w) {
    size_t from = 0;
    for (size_t i = 0; i < out->rank; i++) {
        w->source[i] = -1;
        if (is_unit(out, i)) continue;
        while (from < in->rank && is_unit(in, from)) from++;
        if (from == in->rank || in->sizes[from] != out->sizes[i]) return false;
        w->source[i] = (int8_t)from++;
    }
    while (from < in->rank && is_unit(in, from)) from++;
    return from == in->rank;
}

static bool permuted(const fidc_node *node, const fidc_value *in, const fidc_value *out, window *w) {
    const fidc_arg *dims = &node->args[1];
    if (dims->kind != FIDC_ARG_LIST || dims->as.list.count != out->rank) return false;
    for (size_t i = 0; i < out->rank; i++) {
        int dim;
        if (dims->as.list.items[i].kind != FIDC_ARG_INT || !wrap(dims->as.list.items[i].as.integer, in->rank, &dim)) return false;
        w->source[i] = (int8_t)(is_unit(out, i) ? -1 : dim);
    }
    return true;
}

static bool swapped(const fidc_value *in, const fidc_value *out, int64_t a, int64_t b, window *w) {
    int first, second;
    if (in->rank == 0) return true;
    if (!wrap(a, in->rank, &first) || !wrap(b, in->rank, &second)) return false;
    for (size_t i = 0; i < out->rank; i++) {
        int dim = (int)i == first ? second : (int)i == second ? first : (int)i;
        w->source[i] = (int8_t)(is_unit(out, i) ? -1 : dim);
    }
    return true;
}

/* Part of dimension `dim` from index `start` on; `drop`: the dimension itself disappears. */
static bool cut(const fidc_value *in, const fidc_value *out, int64_t dim, int64_t start, bool drop, window *w) {
    if (!wrap(dim, in->rank, &w->cut)) return false;
    int64_t size = fidc_size(in, (size_t)w->cut);
    if (size < 0) return false;
    if (start < 0) start += size;
    w->start = start < 0 ? 0 : start > size ? size : start;
    for (size_t i = 0; i < out->rank; i++) {
        int from = drop && (int)i >= w->cut ? (int)i + 1 : (int)i;
        w->source[i] = (int8_t)(is_unit(out, i) ? -1 : from);
    }
    return true;
}

static bool int_arg(const fidc_node *node, uint32_t i, int64_t standard, int64_t *out) {
    const fidc_arg *arg = i < node->arg_count ? &node->args[i] : NULL;
    *out = arg && arg->kind == FIDC_ARG_INT ? arg->as.integer : standard;
    return !arg || arg->kind == FIDC_ARG_INT || arg->kind == FIDC_ARG_NONE;
}

static bool sliced(const fidc_node *node, const fidc_value *in, const fidc_value *out, window *w) {
    int64_t dim, start, step;
    return int_arg(node, 1, 0, &dim) && int_arg(node, 2, 0, &start) && int_arg(node, 4, 1, &step) && step == 1 &&
           cut(in, out, dim, start, false, w);
}

/* Output number `output` of a split: behind all outputs before it. */
static bool split(const fidc_node *node, const fidc_value *in, uint32_t output, bool drop, uint32_t dim_arg, window *w) {
    int64_t dim, start = 0;
    int wrapped;
    if (!int_arg(node, dim_arg, 0, &dim) || !wrap(dim, in->rank, &wrapped)) return false;
    for (uint32_t i = 0; i < output; i++) {
        int64_t size = drop ? 1 : fidc_size(node->outputs[i], (size_t)wrapped);
        if (size < 0) return false;
        start += size;
    }
    return cut(in, node->outputs[output], dim, start, drop, w);
}

static bool find_window(const fidc_node *node, const fidc_value *in, uint32_t output, window *w) {
    const fidc_value *out = node->outputs[output];
    int64_t a, b;
    *w = (window){.cut = -1};
    switch (fidc_op_id(node->graph->program, node->op)) {
    case FID_OPID_view_copy:
    case FID_OPID_view_as_real_copy:
    case FID_OPID_view_as_complex_copy: return w->flat = true;
    case FID_OPID_unsqueeze_copy:
    case FID_OPID_squeeze_copy:
    case FID_OPID_squeeze_copy_dim:
    case FID_OPID_squeeze_copy_dims:
    case FID_OPID_expand_copy:
    case FID_OPID_alias_copy:
    case FID_OPID_detach_copy:
    case FID_OPID_lift_fresh_copy: return match_in_order(in, out, w);
    case FID_OPID_permute_copy: return permuted(node, in, out, w);
    case FID_OPID_transpose_copy_int: return int_arg(node, 1, 0, &a) && int_arg(node, 2, 0, &b) && swapped(in, out, a, b, w);
    case FID_OPID_t_copy: return swapped(in, out, 0, in->rank > 1 ? 1 : 0, w);
    case FID_OPID_slice_copy_Tensor: return sliced(node, in, out, w);
    case FID_OPID_narrow_copy: return int_arg(node, 1, 0, &a) && int_arg(node, 2, 0, &b) && cut(in, out, a, b, false, w);
    case FID_OPID_select_copy_int: return int_arg(node, 1, 0, &a) && int_arg(node, 2, 0, &b) && cut(in, out, a, b, true, w);
    case FID_OPID_split_copy_Tensor:
    case FID_OPID_split_with_sizes_copy: return split(node, in, output, false, 2, w);
    case FID_OPID_unbind_copy_int: return split(node, in, output, true, 1, w);
    default: return false;
    }
}

/* ---- Does a window need a copy? ------------------------------------------------------------------------------------------- */

/* True if the output's dim order meets the window's elements in the order in which they lie in the input's memory. */
static bool same_sequence(const fidc_value *in, const fidc_value *out, const window *w) {
    size_t at = 0;
    for (size_t i = 0; i < out->rank; i++) {
        int from = w->source[out->dim_order[i]];
        if (from < 0) continue;
        while (at < in->rank && in->dim_order[at] != from) {
            int skipped = in->dim_order[at++];
            if (skipped != w->cut && !is_unit(in, (size_t)skipped)) return false;
        }
        if (at++ == in->rank) return false;
    }
    for (; at < in->rank; at++)
        if (in->dim_order[at] != w->cut && !is_unit(in, in->dim_order[at])) return false;
    return true;
}

/* Bytes from the input's start to the window's; false if the window has holes: something varies outside of the cut dimension. */
static bool offset_of(const fidc_value *in, const window *w, uint64_t *out_delta) {
    uint64_t stride = fid_dtype_size(in->dtype);
    size_t at = 0;
    *out_delta = 0;
    if (w->cut < 0) return true;
    for (; in->dim_order[at] != w->cut; at++)
        if (!is_unit(in, in->dim_order[at])) return false;
    for (at++; at < in->rank; at++) stride *= (uint64_t)fidc_size(in, in->dim_order[at]);
    *out_delta = stride * (uint64_t)w->start;
    return true;
}

static bool needs_no_copy(const fidc_value *in, const fidc_value *out, const window *w, uint64_t *out_delta) {
    *out_delta = 0;
    if (w->flat) return is_row_major(in) && is_row_major(out);
    if (in->dtype != out->dtype || (w->cut >= 0 && !(fidc_sizes_static(in) && fidc_sizes_static(out)))) return false;
    return same_sequence(in, out, w) && offset_of(in, w, out_delta);
}

/* ---- Joining groups --------------------------------------------------------------------------------------------------------- */

static void join(fidc_planner *planner, fidc_life *life, fidc_life *root, uint64_t delta) {
    life->root = fidc_plan_index(root->value);
    life->delta = delta;
    life->has_address = root->has_address;
    if (root->last < life->last) root->last = life->last;
    if (root->last_read < life->last_read) root->last_read = life->last_read;
    if (planner->options->no_reuse) root->last = planner->end;
}

/* May this output show the memory of the group at all? */
static bool may_show(const fidc_life *out, const fidc_life *source, const fidc_life *root) {
    return !out->is_output || (root->value->origin == FIDC_FROM_NODE && out->has_address && !source->is_foreign);
}

/* A view as nothing: addresses are known now. Plain constants only whole: their parts would be constants of their own. */
static bool may_elide(const fidc_life *source, const fidc_life *out, const fidc_life *root, uint64_t delta) {
    if (!fidc_sizes_static(source->value) || !fidc_sizes_static(out->value) || !may_show(out, source, root)) return false;
    return fidc_life_is_plain_constant(root) ? delta == 0 : root->has_address && out->has_address && delta + out->bytes <= root->bytes;
}

static bool elide_views(fidc_planner *planner, const fidc_node *node, const fidc_value *in) {
    fidc_life *source = fidc_life_of(planner, in), *root = &planner->lives[source->root];
    uint64_t delta;
    window w;
    for (uint32_t i = 0; i < node->output_count; i++) {
        const fidc_life *out = fidc_life_of(planner, node->outputs[i]);
        if (!find_window(node, in, i, &w) || !needs_no_copy(in, out->value, &w, &delta)) return false;
        if (!may_elide(source, out, root, source->delta + delta)) return false;
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        fidc_life *out = fidc_life_of(planner, node->outputs[i]);
        find_window(node, in, i, &w);
        needs_no_copy(in, out->value, &w, &delta);
        join(planner, out, root, source->delta + delta);
        out->is_foreign = source->is_foreign;
        out->elided = true;
    }
    return true;
}

/* A view that the runtime binds when it knows sizes or addresses: executorch_prim::et_view. Its sizes come from view_copy's own
 * list, or from a list with -1 for the one dynamic dimension. */
static bool bind_view(fidc_planner *planner, const fidc_node *node, const fidc_value *in) {
    fidc_life *source = fidc_life_of(planner, in), *root = &planner->lives[source->root], *out;
    uint64_t delta;
    window w;
    size_t dynamic = 0;
    if (node->output_count != 1 || in->dtype != node->outputs[0]->dtype || fidc_life_is_plain_constant(root)) return false;
    if (!fid_op_find_out(planner->graph->program->ops, "executorch_prim::et_view", 24, "default", 7)) return false;
    out = fidc_life_of(planner, node->outputs[0]);
    if (!find_window(node, in, 0, &w) || w.cut >= 0 || !needs_no_copy(in, out->value, &w, &delta) || !may_show(out, source, root)) return false;
    for (size_t i = 0; i < out->value->rank; i++) dynamic += fidc_size(out->value, i) < 0;
    if (!fidc_is(node, FID_OPID_view_copy) && dynamic > 1) return false;
    join(planner, out, root, source->delta);
    out->is_foreign = source->is_foreign;
    return true;
}

/* ---- Writing over what dies --------------------------------------------------------------------------------------------------- */

static bool same_layout(const fidc_value *a, const fidc_value *b) {
    return a->rank == b->rank && fid_dtype_size(a->dtype) == fid_dtype_size(b->dtype) && fidc_same_sizes(a, b) &&
           memcmp(a->dim_order, b->dim_order, a->rank) == 0;
}

typedef struct overlap { const fidc_planner *planner; const fidc_life *place; uint32_t root; bool bad; } overlap;

/* Every argument in the memory that is about to be written must be read element by element with the output. */
static void check_overlap(void *self, const fidc_value *value) {
    overlap *o = self;
    const fidc_life *life = fidc_life_of(o->planner, value);
    if (life->root == o->root && (life->delta != o->place->delta || !same_layout(value, o->place->value))) o->bad = true;
}

static bool reads_in_step(const fidc_planner *planner, const fidc_node *node, const fidc_life *place, uint32_t root) {
    overlap o = {planner, place, root, false};
    for (uint32_t i = 0; i < node->arg_count; i++) fidc_plan_each_value(&node->args[i], check_overlap, &o);
    return !o.bad;
}

/* The result is the new content of a state whose old content nobody reads later. */
static bool write_state(fidc_planner *planner, const fidc_node *node, uint32_t moment) {
    if (node->output_count != 1 || node->graph_count) return false;
    fidc_life *out = fidc_life_of(planner, node->outputs[0]);
    const fidc_value *target = planner->state_of[fidc_plan_index(out->value)];
    if (!target || !out->has_address) return false;
    fidc_life *state = fidc_life_of(planner, target);
    if (!state->has_address || out->value->dtype != target->dtype || !same_layout(out->value, target)) return false;
    if (!fidc_sizes_static(target) || state->last_read > moment) return false;
    fidc_life place = *state;
    place.value = out->value;
    bool in_step = planner->options->in_place && node->op->kind == FID_OP_POINTWISE && reads_in_step(planner, node, &place, fidc_plan_index(target));
    if (state->last_read == moment && !in_step) return false;
    join(planner, out, state, 0);
    return true;
}

/* What a pointwise result may take the place of. */
typedef struct takeover {
    fidc_planner *planner;
    const fidc_node *node;
    fidc_life *out;
    uint32_t moment;
    bool done;
} takeover;

static void try_takeover(void *self, const fidc_value *value) {
    takeover *t = self;
    if (t->done || value->type != FIDC_TENSOR || !same_layout(value, t->out->value)) return;
    const fidc_life *life = fidc_life_of(t->planner, value);
    fidc_life *root = &t->planner->lives[life->root];
    if (!root->has_address || root->is_state || root->last != t->moment || root->bytes != t->out->bytes) return;
    if ((root->value->origin != FIDC_FROM_NODE && t->out->is_output) || !reads_in_step(t->planner, t->node, life, life->root)) return;
    join(t->planner, t->out, root, life->delta);
    t->done = true;
}

/* A pointwise result takes the place of an argument that dies here and is as large. */
static bool write_in_place(fidc_planner *planner, const fidc_node *node, uint32_t moment) {
    if (!planner->options->in_place || node->op->kind != FID_OP_POINTWISE || node->output_count != 1) return false;
    takeover t = {planner, node, fidc_life_of(planner, node->outputs[0]), moment, false};
    for (uint32_t i = 0; t.out->has_address && i < node->arg_count; i++) fidc_plan_each_value(&node->args[i], try_takeover, &t);
    return t.done;
}

static void join_node(fidc_planner *planner, const fidc_node *node, uint32_t moment) {
    const fidc_value *in = node->op->kind == FID_OP_VIEW && node->arg_count ? fidc_value_of(&node->args[0]) : NULL;
    if (in && (elide_views(planner, node, in) || bind_view(planner, node, in))) return;
    if (write_state(planner, node, moment) || write_in_place(planner, node, moment)) return;
    fidc_plan_concat(planner, node, moment);
}

/* ---- Sub-graphs --------------------------------------------------------------------------------------------------------------------- */

static void join_inputs(fidc_planner *planner, const fidc_graph *graph) {
    for (uint32_t i = 0; i < graph->input_count; i++) {
        fidc_life *life = fidc_life_of(planner, graph->inputs[i]);
        if (!life->outer) continue;
        const fidc_life *outer = fidc_life_of(planner, life->outer);
        join(planner, life, &planner->lives[outer->root], outer->delta);
        life->is_foreign = true;
    }
}

/* May a branch's result lie where the cond's does? Nothing else may be in its memory but views of it. */
static bool may_hand_over(const fidc_planner *planner, const fidc_graph *branch, const fidc_life *from, const fidc_life *to) {
    if (from->value->origin != FIDC_FROM_NODE || from->value->producer->graph != branch || from->is_foreign) return false;
    if (!from->has_address || !to->has_address || from->root != fidc_plan_index(from->value) || to->root != fidc_plan_index(to->value)) return false;
    return !planner->state_of[to->root] && from->bytes == to->bytes && from->value->dtype == to->value->dtype && same_layout(from->value, to->value) &&
           fidc_sizes_static(to->value);
}

/* The results of a branch are computed straight into the node's: of several branches only one runs. */
static void join_results(fidc_planner *planner, const fidc_node *node, const fidc_graph *branch) {
    for (uint32_t i = 0; i < branch->output_count && i < node->output_count; i++) {
        const fidc_value *result = fidc_value_of(&branch->outputs[i]);
        if (!result || result->type != FIDC_TENSOR) continue;
        fidc_life *from = fidc_life_of(planner, result), *to = fidc_life_of(planner, node->outputs[i]);
        if (may_hand_over(planner, branch, from, to)) fidc_plan_move_group(planner, from, to, 0);
    }
}

static void join_graph(fidc_planner *planner, const fidc_graph *graph, uint32_t *inout_moment) {
    bool joins = planner->options->alias_views && !planner->options->no_reuse;
    for (const fidc_node *node = graph->first; node; node = node->next) {
        uint32_t moment = ++*inout_moment;
        if (joins) join_node(planner, node, moment);
        else if (fidc_is(node, FID_OPID_view_as_complex_copy)) elide_views(planner, node, fidc_value_of(&node->args[0])); /* one tensor, two names */
        for (uint32_t i = 0; i < node->graph_count; i++) {
            join_inputs(planner, node->graphs[i]);
            join_graph(planner, node->graphs[i], inout_moment);
            if (joins && fidc_control_of(node) == FIDC_COND) join_results(planner, node, node->graphs[i]);
            ++*inout_moment;
        }
    }
}

void fidc_plan_aliases(fidc_planner *planner) {
    uint32_t moment = 0;
    join_graph(planner, planner->graph, &moment);
}
