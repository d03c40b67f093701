/* 16-bit floats for the cpu target: what has a fast kernel computes in float32.
 *
 * A node with float16 or bfloat16 tensors is made anew on float32, and its results are narrowed again for whoever needs them as they
 * were. A value that was narrowed is never widened back: readers that are made anew take the float32 value behind it, so that whole
 * chains stay in float32 and round once, at their end. Operators that only move elements follow the chain they stand in. Weights keep
 * their dtype: they are widened where they are read, or by the packing that takes them. */
#include "compiler/passes/rewrite.h"

typedef struct widener {
    fidc_program *program;
    fidc_graph *graph;
    fidc_value **wide; /* by value id: the float32 value behind it, or NULL */
    uint32_t capacity;
} widener;

static bool is_half(const fidc_value *value) {
    return value && value->type == FIDC_TENSOR && (value->dtype == FID_FLOAT16 || value->dtype == FID_BFLOAT16);
}

/* ---- The float32 value behind one ---- */

static fid_status reserve(widener *w, uint32_t id) {
    if (id < w->capacity) return FID_OK;
    uint32_t capacity = id + 256 + w->capacity;
    fidc_value **wide = fidc_allocate(w->program, capacity * sizeof *wide);
    if (!wide) return fid_fail(w->program->sink, FID_OUT_OF_MEMORY, "no memory to widen a graph");
    memset(wide, 0, capacity * sizeof *wide);
    if (w->capacity) memcpy(wide, w->wide, w->capacity * sizeof *wide);
    w->wide = wide;
    w->capacity = capacity;
    return FID_OK;
}

static fidc_value *known_wide(const widener *w, const fidc_value *value) { return value->id < w->capacity ? w->wide[value->id] : NULL; }

static fid_status remember(widener *w, const fidc_value *narrow, fidc_value *wide) {
    FID_TRY(reserve(w, narrow->id));
    w->wide[narrow->id] = wide;
    return FID_OK;
}

static fid_status widen_value(widener *w, fidc_rewriter *rw, fidc_value *value, fidc_value **out) {
    *out = known_wide(w, value);
    if (*out) return FID_OK;
    *out = fidc_rw_cast(rw, value, FID_FLOAT32);
    return *out ? remember(w, value, *out) : fidc_rw_keep(rw);
}

/* ---- Which nodes ---- */

typedef struct survey {
    uint32_t half, wide; /* half arguments, and those of them with a float32 value behind */
    bool names_half;     /* a dtype argument asks for a half result */
} survey;

static void look(const widener *w, const fidc_arg *args, uint32_t count, survey *s) {
    for (uint32_t i = 0; i < count; i++) {
        if (args[i].kind == FIDC_ARG_LIST) look(w, args[i].as.list.items, args[i].as.list.count, s);
        if (args[i].kind == FIDC_ARG_DTYPE && (args[i].as.integer == FID_FLOAT16 || args[i].as.integer == FID_BFLOAT16)) s->names_half = true;
        const fidc_value *value = fidc_value_of(&args[i]);
        if (!is_half(value)) continue;
        s->half++;
        if (known_wide(w, value)) s->wide++;
    }
}

static bool only_moves(const fidc_node *node) {
    if (node->op->kind == FID_OP_VIEW || node->op->kind == FID_OP_MOVE) return true;
    return fidc_is(node, FID_OPID_clone) || fidc_is(node, FID_OPID_embedding);
}

/* A max pool has one once nobody reads its places, which among equals of 16 bits are not those among float32. */
static bool has_fast_kernel(const fidc_node *node) {
    return node->op->cpu || (fidc_is(node, FID_OPID_max_pool2d_with_indices) && node->output_count == 2 && node->outputs[1]->uses == 0);
}

static bool should_widen(const widener *w, const fidc_node *node) {
    survey s = {0};
    if (!has_fast_kernel(node) || node->graph_count || node->in_place || fidc_is(node, FID_OPID__to_copy)) return false;
    look(w, node->args, node->arg_count, &s);
    if (!s.half || s.names_half) return false;
    if (only_moves(node)) return s.wide == s.half;
    return node->op->kind == FID_OP_POINTWISE || node->op->kind == FID_OP_REDUCTION || node->op->kind == FID_OP_COMPUTE;
}

/* ---- Making a node anew ---- */

static fid_status widen_args(widener *w, fidc_rewriter *rw, const fidc_arg *args, uint32_t count, fidc_arg *out) {
    for (uint32_t i = 0; i < count; i++) {
        out[i] = args[i];
        fidc_value *value = fidc_value_of(&args[i]), *wide;
        if (args[i].kind == FIDC_ARG_LIST) {
            fidc_arg *items = fidc_allocate(w->program, (args[i].as.list.count + 1) * sizeof *items);
            if (!items) return fid_fail(w->program->sink, FID_OUT_OF_MEMORY, "no memory to widen %s", fidc_where(rw->node));
            FID_TRY(widen_args(w, rw, args[i].as.list.items, args[i].as.list.count, items));
            out[i].as.list.items = items;
        } else if (is_half(value)) {
            FID_TRY(widen_value(w, rw, value, &wide));
            out[i] = fidc_v(wide);
        }
    }
    return FID_OK;
}

/* Results as the old node gave them; narrowed ones remember what they come from. */
static fid_status replace_results(widener *w, fidc_rewriter *rw, fidc_node *by) {
    fidc_node *node = rw->node;
    fidc_value **values = fidc_allocate(w->program, (node->output_count + 1) * sizeof *values);
    if (!values) return fid_fail(w->program->sink, FID_OUT_OF_MEMORY, "no memory to widen %s", fidc_where(node));
    for (uint32_t i = 0; i < node->output_count; i++) {
        values[i] = by->outputs[i];
        for (size_t d = 0; d < values[i]->rank && d < node->outputs[i]->rank; d++)
            if (!fidc_expr_is_const(values[i]->sizes[d])) values[i]->sizes[d] = node->outputs[i]->sizes[d]; /* export knew more */
        if (!is_half(node->outputs[i]) || values[i]->dtype != FID_FLOAT32) continue;
        values[i] = fidc_rw_cast(rw, by->outputs[i], (fid_dtype)node->outputs[i]->dtype);
        if (!values[i]) return fidc_rw_keep(rw);
        FID_TRY(remember(w, values[i], by->outputs[i]));
    }
    return fidc_rw_become_all(rw, values, node->output_count);
}

static fid_status widen_node(widener *w, fidc_node *node) {
    fidc_rewriter rw = {.program = w->program, .graph = w->graph, .node = node, .target = FIDC_TARGET_CPU};
    fidc_arg *args = fidc_allocate(w->program, (node->arg_count + 1) * sizeof *args);
    if (!args) return fid_fail(w->program->sink, FID_OUT_OF_MEMORY, "no memory to widen %s", fidc_where(node));
    FID_TRY(widen_args(w, &rw, node->args, node->arg_count, args));
    fidc_node *by = fidc_rw_emit_node(&rw, (fid_op_id)(node->op - w->program->ops->ops), args, node->arg_count, node->output_count);
    return by ? replace_results(w, &rw, by) : fidc_rw_keep(&rw);
}

/* A cast of the program's own: to float32 it is the float32 value behind, from float32 to half it is remembered. */
static fid_status visit_cast(widener *w, fidc_node *node) {
    fidc_value *from = fidc_value_of(&node->args[0]), *to = node->outputs[0];
    if (is_half(to) && from->dtype == FID_FLOAT32) return remember(w, to, from);
    if (!is_half(from) || to->dtype != FID_FLOAT32) return FID_OK;
    fidc_value *wide = known_wide(w, from);
    if (!wide) return remember(w, from, to);
    if (wide != to && fidc_same_sizes(wide, to)) fidc_value_replace(to, wide);
    return FID_OK;
}

static fid_status widen_graph(widener *outer, fidc_graph *graph) {
    widener w = {.program = outer->program, .graph = graph};
    fidc_graph_clean(graph);
    for (fidc_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        for (uint32_t i = 0; i < node->graph_count; i++) FID_TRY(widen_graph(&w, node->graphs[i]));
        if (fidc_is(node, FID_OPID__to_copy)) FID_TRY(visit_cast(&w, node));
        else if (should_widen(&w, node)) FID_TRY(widen_node(&w, node));
    }
    return FID_OK;
}

fid_status fidc_widen(fidc_program *program) {
    widener w = {.program = program};
    for (uint32_t i = 0; i < program->method_count; i++) FID_TRY(widen_graph(&w, program->methods[i]));
    return FID_OK;
}
