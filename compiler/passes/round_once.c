/* 16-bit floats for the portable target: what a rewriting made of one call rounds once.
 *
 * Upstream's library lacks many operators, which become several of those that it has. Each of them rounds its result to the dtype that
 * it is asked for, so that a loss in float16 would round a dozen times where PyTorch's own kernel rounds once. Values between the parts
 * of one call therefore are float32; what the call takes and gives keeps its dtype. A call of one operator stays as it is. */
#include "compiler/passes/rewrite.h"

typedef struct rounding {
    fidc_program *program;
    fidc_graph *graph;
    fidc_value **wide;   /* by value id: what stands for it in float32, or NULL */
    bool *outer;         /* by value id: something outside its call reads it */
    bool *inside;        /* by value id: another part of its call reads it */
    uint32_t *computing; /* by number of a call: parts that compute */
    uint32_t value_count;
} rounding;

static bool is_half_dtype(int64_t dtype) { return dtype == FID_FLOAT16 || dtype == FID_BFLOAT16; }
static bool is_half(const fidc_value *value) { return value && value->type == FIDC_TENSOR && is_half_dtype(value->dtype); }

static bool is_cast(const fidc_node *node) { return fidc_is(node, FID_OPID__to_copy) || fidc_is(node, FID_OPID__to_dim_order_copy); }

static bool computes(const fidc_node *node) {
    return node->op->kind == FID_OP_POINTWISE || node->op->kind == FID_OP_REDUCTION || node->op->kind == FID_OP_COMPUTE;
}

/* ---- What is inside a call ---- */

static bool may_be_wide(const fidc_node *node) {
    return node->part_of && !node->graph_count && !node->in_place && node->op->kind != FID_OP_RANDOM && node->op->kind != FID_OP_EFFECT;
}

/* Notes the readers of half values; true: there is one among the arguments. */
static bool read_by(rounding *r, const fidc_node *reader, const fidc_arg *args, uint32_t count) {
    bool half = false;
    for (uint32_t i = 0; i < count; i++) {
        const fidc_value *value = fidc_value_of(&args[i]);
        if (args[i].kind == FIDC_ARG_LIST) half |= read_by(r, reader, args[i].as.list.items, args[i].as.list.count);
        if (!is_half(value)) continue;
        half = true;
        if (value->origin != FIDC_FROM_NODE || !reader || !may_be_wide(reader) || value->producer->part_of != reader->part_of) r->outer[value->id] = true;
        else r->inside[value->id] = true;
    }
    return half;
}

static void survey(rounding *r) {
    const fidc_graph *graph = r->graph;
    for (const fidc_node *node = graph->first; node; node = node->next) {
        bool half = read_by(r, node, node->args, node->arg_count);
        for (uint32_t i = 0; i < node->output_count; i++) {
            if (!is_half(node->outputs[i])) continue;
            half = true;
            if (!may_be_wide(node)) r->outer[node->outputs[i]->id] = true;
        }
        if (half && computes(node)) r->computing[node->part_of]++;
    }
    read_by(r, NULL, graph->outputs, graph->output_count);
    for (uint32_t i = 0; i < graph->mutation_count; i++) {
        const fidc_value *value = fidc_resolve(graph->mutations[i].value);
        if (value->origin == FIDC_FROM_NODE) r->outer[value->id] = true;
    }
}

static bool is_inner(const rounding *r, const fidc_value *value) { return is_half(value) && !r->outer[value->id]; }

/* The float32 value behind one: remembered, or before the rounding of what leaves the same call, too. */
static fidc_value *wide_behind(const rounding *r, const fidc_value *value, uint32_t part_of) {
    if (value->id < r->value_count && r->wide[value->id]) return r->wide[value->id];
    if (value->origin != FIDC_FROM_NODE || value->producer->part_of != part_of || !is_cast(value->producer)) return NULL;
    fidc_value *from = fidc_value_of(&value->producer->args[0]);
    return from && from->dtype == FID_FLOAT32 ? from : NULL;
}

static bool reads_wide(const rounding *r, const fidc_arg *args, uint32_t count, uint32_t part_of) {
    for (uint32_t i = 0; i < count; i++) {
        const fidc_value *value = fidc_value_of(&args[i]);
        if (args[i].kind == FIDC_ARG_LIST && reads_wide(r, args[i].as.list.items, args[i].as.list.count, part_of)) return true;
        if (is_half(value) && wide_behind(r, value, part_of)) return true;
    }
    return false;
}

static bool should_be_wide(const rounding *r, const fidc_node *node) {
    if (!may_be_wide(node)) return false;
    if (reads_wide(r, node->args, node->arg_count, node->part_of)) return true;
    if (r->computing[node->part_of] < 2) return false;
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (is_half(node->outputs[i]) && r->inside[node->outputs[i]->id]) return true;
    }
    return false;
}

/* ---- Making a part anew ---- */

static fid_status widen_args(rounding *r, fidc_rewriter *rw, const fidc_arg *args, uint32_t count, fidc_arg *out) {
    for (uint32_t i = 0; i < count; i++) {
        out[i] = args[i];
        fidc_value *value = fidc_value_of(&args[i]);
        if (args[i].kind == FIDC_ARG_DTYPE && is_half_dtype(args[i].as.integer)) out[i] = fidc_t(FID_FLOAT32);
        if (args[i].kind == FIDC_ARG_LIST) {
            fidc_arg *items = fidc_allocate(r->program, (args[i].as.list.count + 1) * sizeof *items);
            if (!items) return fid_fail(r->program->sink, FID_OUT_OF_MEMORY, "no memory to widen %s", fidc_where(rw->node));
            FID_TRY(widen_args(r, rw, args[i].as.list.items, args[i].as.list.count, items));
            out[i].as.list.items = items;
        } else if (is_half(value)) {
            fidc_value *known = wide_behind(r, value, rw->node->part_of);
            fidc_value *wide = known ? known : fidc_rw_cast(rw, value, FID_FLOAT32);
            if (!wide) return fidc_rw_keep(rw);
            out[i] = fidc_v(wide);
        }
    }
    return FID_OK;
}

/* What stays inside is remembered in float32, what leaves is rounded. */
static fid_status settle_outputs(rounding *r, fidc_rewriter *rw, fidc_value *const *made) {
    fidc_node *node = rw->node;
    fidc_value **values = fidc_allocate(r->program, (node->output_count + 1) * sizeof *values);
    if (!values) return fid_fail(r->program->sink, FID_OUT_OF_MEMORY, "no memory to widen %s", fidc_where(node));
    for (uint32_t i = 0; i < node->output_count; i++) {
        fidc_value *was = node->outputs[i];
        for (size_t d = 0; made[i]->origin == FIDC_FROM_NODE && d < made[i]->rank && d < was->rank; d++)
            if (!fidc_expr_is_const(made[i]->sizes[d])) made[i]->sizes[d] = was->sizes[d]; /* the old one may know more */
        values[i] = NULL;
        if (is_inner(r, was)) r->wide[was->id] = made[i];
        else if (!(values[i] = fidc_rw_cast(rw, made[i], (fid_dtype)was->dtype))) return fidc_rw_keep(rw);
    }
    return fidc_rw_become_all(rw, values, node->output_count);
}

static fid_status widen_node(rounding *r, fidc_node *node) {
    fidc_rewriter rw = {.program = r->program, .graph = r->graph, .node = node, .target = FIDC_TARGET_PORTABLE};
    fidc_arg *args = fidc_allocate(r->program, (node->arg_count + 1) * sizeof *args);
    if (!args) return fid_fail(r->program->sink, FID_OUT_OF_MEMORY, "no memory to widen %s", fidc_where(node));
    FID_TRY(widen_args(r, &rw, node->args, node->arg_count, args));
    fidc_value *from = fidc_value_of(&args[0]);
    if (is_cast(node) && from->dtype == FID_FLOAT32 && is_half(node->outputs[0])) return settle_outputs(r, &rw, &from);
    fidc_node *by = fidc_rw_emit_node(&rw, (fid_op_id)(node->op - r->program->ops->ops), args, node->arg_count, node->output_count);
    return by ? settle_outputs(r, &rw, by->outputs) : fidc_rw_keep(&rw);
}

/* ---- The pass ---- */

static fid_status round_graph(fidc_graph *graph) {
    fidc_program *program = graph->program;
    fidc_graph_clean(graph);
    rounding r = {.program = program, .graph = graph, .value_count = graph->value_count};
    r.wide = fidc_allocate(program, (r.value_count + 1) * sizeof *r.wide);
    r.outer = fidc_allocate(program, (r.value_count + 1) * sizeof *r.outer);
    r.inside = fidc_allocate(program, (r.value_count + 1) * sizeof *r.inside);
    r.computing = fidc_allocate(program, (program->part_count + 1) * sizeof *r.computing);
    if (!r.wide || !r.outer || !r.inside || !r.computing) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory to widen a graph");
    memset(r.wide, 0, (r.value_count + 1) * sizeof *r.wide);
    memset(r.outer, 0, (r.value_count + 1) * sizeof *r.outer);
    memset(r.inside, 0, (r.value_count + 1) * sizeof *r.inside);
    memset(r.computing, 0, (program->part_count + 1) * sizeof *r.computing);
    survey(&r);
    for (fidc_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        for (uint32_t i = 0; i < node->graph_count; i++) FID_TRY(round_graph(node->graphs[i]));
        if (should_be_wide(&r, node)) FID_TRY(widen_node(&r, node));
    }
    return FID_OK;
}

fid_status fidc_round_once(fidc_program *program) {
    for (uint32_t i = 0; i < program->method_count; i++) FID_TRY(round_graph(program->methods[i]));
    return FID_OK;
}
