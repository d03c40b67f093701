/* The rules of the IR. Run between all stages; a broken rule is a fault of the stage before, or an archive that contradicts
 * itself, and the sentence says which node and what. */
#include <stdio.h>
#include <stdlib.h>

#include "compiler/ir/infer.h"
#include "compiler/ir/problem.h"

/* ---- Definitions before uses, unique names ---- */

typedef struct scope {
    const fidc_graph *graph;
    const struct scope *outer;
    uint8_t *defined; /* by value id */
} scope;

static bool is_defined(const scope *s, const fidc_value *value) {
    for (; s; s = s->outer) {
        if (value->id < s->graph->value_count && s->graph->values[value->id] == value) return s->defined[value->id];
    }
    return false;
}

/* `node` NULL: the graph's own outputs. */
static fid_status check_use(const scope *s, const fidc_arg *arg, const fidc_node *node) {
    fid_sink const *sink = s->graph->program->sink;
    if (arg->kind == FIDC_ARG_LIST) {
        for (uint32_t i = 0; i < arg->as.list.count; i++) FID_TRY(check_use(s, &arg->as.list.items[i], node));
    }
    const fidc_value *value = fidc_value_of(arg);
    if (!value || is_defined(s, value)) return FID_OK;
    return fid_fail(sink, FID_INVALID_PROGRAM, "%s uses '%s' before it is defined", node ? fidc_where(node) : "the result", value->name);
}

static int compare_names(const void *a, const void *b) {
    return strcmp((*(fidc_value *const *)a)->name, (*(fidc_value *const *)b)->name);
}

static fid_status check_names(const fidc_graph *graph) {
    if (!graph->value_count) return FID_OK;
    fidc_value **sorted = malloc(graph->value_count * sizeof *sorted);
    if (!sorted) return fid_fail(graph->program->sink, FID_OUT_OF_MEMORY, "no memory to verify");
    memcpy(sorted, graph->values, graph->value_count * sizeof *sorted);
    qsort(sorted, graph->value_count, sizeof *sorted, compare_names);
    fid_status status = FID_OK;
    for (uint32_t i = 1; i < graph->value_count && status == FID_OK; i++) {
        if (sorted[i]->forward || sorted[i - 1]->forward || strcmp(sorted[i]->name, sorted[i - 1]->name) != 0) continue;
        status = fid_fail(graph->program->sink, FID_INVALID_PROGRAM, "two values are named '%s'", sorted[i]->name);
    }
    free(sorted);
    return status;
}

/* ---- Arguments against the schema ---- */

/* The archive may give a number where the schema has a tensor: PyTorch wraps it. Decompose makes a tensor of it. */
static bool stands_for_tensor(const fid_schema_arg *arg, const fidc_arg *item) {
    const fidc_value *value = fidc_value_of(item);
    if (arg->type != FID_SCHEMA_TENSOR || arg->list) return false;
    if (value) return value->type == FIDC_INT || value->type == FIDC_FLOAT || value->type == FIDC_BOOL;
    return item->kind == FIDC_ARG_INT || item->kind == FIDC_ARG_DOUBLE || item->kind == FIDC_ARG_BOOL;
}

static bool item_fits(const fid_schema_arg *arg, const fidc_arg *item) {
    const fidc_value *value = fidc_value_of(item);
    bool number = item->kind == FIDC_ARG_INT || item->kind == FIDC_ARG_DOUBLE || item->kind == FIDC_ARG_BOOL;
    bool symbolic = value && value->type != FIDC_TENSOR && value->type != FIDC_NOTHING;
    switch (arg->type) {
    case FID_SCHEMA_TENSOR: return value ? value->type == FIDC_TENSOR : (item->kind == FIDC_ARG_NONE && arg->optional_items);
    case FID_SCHEMA_STRING: return item->kind == FIDC_ARG_STRING;
    case FID_SCHEMA_DTYPE: return item->kind == FIDC_ARG_DTYPE;
    case FID_SCHEMA_LAYOUT:
    case FID_SCHEMA_MEMORY_FORMAT: return item->kind == FIDC_ARG_LAYOUT || item->kind == FIDC_ARG_MEMORY_FORMAT || item->kind == FIDC_ARG_INT;
    case FID_SCHEMA_DEVICE:
    case FID_SCHEMA_GENERATOR: return true;
    default: return number || symbolic;
    }
}

static bool arg_fits(const fid_schema_arg *arg, const fidc_arg *given) {
    const fidc_value *value = fidc_value_of(given);
    if (given->kind == FIDC_ARG_NONE || (value && value->type == FIDC_NOTHING)) {
        return arg->optional || arg->type >= FID_SCHEMA_LAYOUT;
    }
    if (!arg->list) return given->kind != FIDC_ARG_LIST && (item_fits(arg, given) || stands_for_tensor(arg, given));
    if (given->kind != FIDC_ARG_LIST) return arg->list_size && item_fits(arg, given);
    for (uint32_t i = 0; i < given->as.list.count; i++) {
        if (!item_fits(arg, &given->as.list.items[i])) return false;
    }
    return true;
}

static fid_status check_schema(const fidc_node *node) {
    fid_schema_cursor cursor = fid_schema_begin(node->op->schema);
    fid_schema_arg arg;
    for (uint32_t i = 0; fid_schema_next_arg(&cursor, &arg); i++) {
        if (i < node->arg_count && arg_fits(&arg, &node->args[i])) continue;
        return fid_fail(node->graph->program->sink, FID_INVALID_PROGRAM, "%s: argument %u (%.*s) does not fit the schema %s",
                        fidc_where(node), i, (int)arg.name.size, (const char *)arg.name.data, node->op->schema);
    }
    return FID_OK;
}

/* ---- Results against the schema ---- */

bool fidc_results_fit(const fidc_node *node) {
    fid_schema_cursor cursor = fid_schema_begin(node->op->schema);
    fid_schema_arg result;
    uint32_t at = 0;
    bool list = false;
    for (; fid_schema_next_result(&cursor, &result); at++) {
        list = list || result.list;
        if (list) continue;
        if (at >= node->output_count) return false;
        bool tensor = node->outputs[at]->type == FIDC_TENSOR;
        bool absent = at > 0 && node->outputs[at]->type == FIDC_NOTHING; /* a later result that export left out */
        if (!absent && tensor != (result.type == FID_SCHEMA_TENSOR)) return false;
    }
    for (uint32_t i = 0; list && i < node->output_count; i++) {
        if (node->outputs[i]->type != FIDC_TENSOR) return false;
    }
    return list ? node->output_count > 0 : node->output_count == at;
}

static fid_status check_results(const fidc_node *node) {
    if (fidc_results_fit(node)) return FID_OK;
    return fid_fail(node->graph->program->sink, FID_INVALID_PROGRAM, "%s has other results than its schema %s says", fidc_where(node),
                    node->op->schema);
}

/* ---- Shapes against the operator table ---- */

static void meta_text(char *text, size_t size, const fid_meta *meta) {
    char sizes[200];
    fid_format(text, size, "%s%s", fid_dtype_short_name((fid_dtype)meta->dtype), fid_shape_text(meta->sizes, meta->rank, sizes, sizeof sizes));
}

static fid_meta meta_at(const fidc_value *value, fidc_point point) {
    fid_meta meta = {.rank = value->rank, .dtype = value->dtype};
    for (size_t i = 0; i < value->rank; i++) meta.sizes[i] = fidc_expr_at(value->sizes[i], point);
    return meta;
}

/* Sizes that only running tells (bounded unknowns) are not compared. */
static bool agrees(const fidc_value *value, const fid_meta *graph, const fid_meta *table, fid_op_kind kind) {
    if (graph->dtype != table->dtype || graph->rank != table->rank) return false;
    if (kind == FID_OP_DATA_DEPENDENT || table->bound_dims) return true;
    for (size_t i = 0; i < graph->rank; i++) {
        if (value->sizes[i]->kind == FIDC_EXPR_BOUNDED) continue;
        if (graph->sizes[i] != table->sizes[i]) return false;
    }
    return true;
}

static bool has_unknown(const fidc_expr *e) {
    if (!e) return false;
    /* u0 and friends of torch.export are symbols of data: a graph may relate them in ways that a shape function cannot see. */
    if (e->kind == FIDC_EXPR_BOUNDED || (e->kind == FIDC_EXPR_SYMBOL && e->symbol[0] == 'u')) return true;
    return has_unknown(e->a) || has_unknown(e->b);
}

static bool arg_has_unknown(const fidc_arg *arg) {
    const fidc_value *value = fidc_value_of(arg);
    if (value && value->number && has_unknown(value->number)) return true;
    for (size_t i = 0; value && value->type == FIDC_TENSOR && i < value->rank; i++) {
        if (has_unknown(value->sizes[i])) return true;
    }
    for (uint32_t i = 0; arg->kind == FIDC_ARG_LIST && i < arg->as.list.count; i++) {
        if (arg_has_unknown(&arg->as.list.items[i])) return true;
    }
    return false;
}

static bool node_is_static(const fidc_node *node) {
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i]->type != FIDC_TENSOR || !fidc_sizes_static(node->outputs[i])) return false;
    }
    return true;
}

static fid_status check_shapes_at(const fidc_node *node, fidc_point point, fid_meta *metas) {
    FID_TRY(fidc_infer_at(node, point, metas, node->output_count));
    for (uint32_t i = 0; i < node->output_count; i++) {
        const fidc_value *value = node->outputs[i];
        fid_meta graph = meta_at(value, point);
        if (agrees(value, &graph, &metas[i], (fid_op_kind)node->op->kind)) continue;
        char left[260], right[260];
        meta_text(left, sizeof left, &graph);
        meta_text(right, sizeof right, &metas[i]);
        return fid_fail(node->graph->program->sink, FID_INVALID_PROGRAM,
                        "%s: output %u is %s in the graph and %s by the operator table; the archive and this version of fidibus disagree",
                        fidc_where(node), i, left, right);
    }
    return FID_OK;
}

static bool has_wrapped_number(const fidc_node *node) {
    fid_schema_cursor cursor = fid_schema_begin(node->op->schema);
    fid_schema_arg arg;
    for (uint32_t i = 0; fid_schema_next_arg(&cursor, &arg); i++) {
        if (stands_for_tensor(&arg, &node->args[i])) return true;
    }
    return false;
}

static fid_status check_shapes(const fidc_node *node) {
    if (!node->op->shape || !node->output_count || has_wrapped_number(node)) return FID_OK;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (arg_has_unknown(&node->args[i])) return FID_OK;
    }
    fid_meta *metas = calloc(node->output_count, sizeof *metas);
    if (!metas) return fid_fail(node->graph->program->sink, FID_OUT_OF_MEMORY, "no memory to verify");
    fidc_program *program = node->graph->program;
    const fid_sink *sink = program->sink;
    fid_message message = {0};
    fid_sink listener = fid_message_sink(&message);
    program->sink = &listener;
    fid_status status = check_shapes_at(node, FIDC_AT_HINT, metas);
    if (status == FID_OK && !node_is_static(node)) status = check_shapes_at(node, FIDC_AT_HIGH, metas);
    program->sink = sink;
    free(metas);
    /* What the operator cannot do is no broken rule: it joins the list, so that one report tells all of it. */
    if (status == FID_NOT_SUPPORTED) return fidc_problem_add(node, FIDC_REFUSED, message.text);
    return status == FID_OK ? FID_OK : fid_fail(sink, status, "%s", message.text);
}

/* ---- Control flow ---- */

/* Items of the list arguments from `first` on: what sub-graphs are called with. */
static uint32_t count_operands(const fidc_node *node, uint32_t first) {
    uint32_t count = 0;
    for (uint32_t i = first; i < node->arg_count; i++) {
        if (node->args[i].kind == FIDC_ARG_LIST) count += node->args[i].as.list.count;
    }
    return count;
}

static fid_status check_sub_graph(const fidc_node *node, uint32_t index, uint32_t inputs, uint32_t outputs) {
    const fid_sink *sink = node->graph->program->sink;
    if (index >= node->graph_count) return fid_fail(sink, FID_INVALID_PROGRAM, "%s has %u graphs, it needs more", fidc_where(node), node->graph_count);
    const fidc_graph *graph = node->graphs[index];
    if (graph->input_count == inputs && graph->output_count == outputs) return FID_OK;
    return fid_fail(sink, FID_INVALID_PROGRAM, "%s: graph %u takes %u values and gives %u, it is called with %u and for %u", fidc_where(node), index,
                    graph->input_count, graph->output_count, inputs, outputs);
}

/* Sub-graphs are as many as the operator runs, take what they are called with and give what is taken from them. */
static fid_status check_control(const fidc_node *node) {
    bool cond = fidc_is(node, FID_OPID_cond), loop = fidc_is(node, FID_OPID_while_loop), scan = fidc_is(node, FID_OPID_scan);
    const fid_sink *sink = node->graph->program->sink;
    if (!cond && !loop && !scan && !fidc_is(node, FID_OPID_map_impl)) {
        return fid_fail(sink, FID_INVALID_PROGRAM, "%s has graphs, its operator runs none", fidc_where(node));
    }
    bool carries = loop || scan;
    if (!node->arg_count || cond == (node->args[0].kind == FIDC_ARG_LIST) ||
        (carries && node->output_count < node->args[0].as.list.count)) {
        return fid_fail(sink, FID_INVALID_PROGRAM, "%s has a wrong first argument", fidc_where(node));
    }
    uint32_t inputs = count_operands(node, cond ? 1 : 0);
    FID_TRY(check_sub_graph(node, 0, inputs, loop ? 1 : node->output_count));
    return cond || loop ? check_sub_graph(node, 1, inputs, node->output_count) : FID_OK;
}

/* ---- Whole graphs ---- */

static fid_status check_graph(const fidc_graph *graph, const scope *outer);

static fid_status check_node(const scope *s, const fidc_node *node) {
    if (node->arg_count || node->graph_count) {
        for (uint32_t i = 0; i < node->arg_count; i++) FID_TRY(check_use(s, &node->args[i], node));
        for (uint32_t i = 0; i < node->graph_count; i++) FID_TRY(check_graph(node->graphs[i], s));
    }
    if (node->graph_count) FID_TRY(check_control(node));
    else {
        FID_TRY(check_schema(node));
        FID_TRY(check_results(node)); /* shape functions write as many metas as the schema has results */
        FID_TRY(check_shapes(node));
    }
    for (uint32_t i = 0; i < node->output_count; i++) s->defined[node->outputs[i]->id] = 1;
    return FID_OK;
}

static fid_status check_body(const scope *s) {
    const fidc_graph *graph = s->graph;
    for (uint32_t i = 0; i < graph->value_count; i++) {
        if (graph->values[i]->origin != FIDC_FROM_NODE) s->defined[i] = 1;
    }
    for (const fidc_node *node = graph->first; node; node = node->next) FID_TRY(check_node(s, node));
    for (uint32_t i = 0; i < graph->output_count; i++) FID_TRY(check_use(s, &graph->outputs[i], NULL));
    for (uint32_t i = 0; i < graph->mutation_count; i++) {
        fidc_arg value = fidc_v(graph->mutations[i].value);
        FID_TRY(check_use(s, &value, NULL));
    }
    return FID_OK;
}

static fid_status check_graph(const fidc_graph *graph, const scope *outer) {
    FID_TRY(check_names(graph));
    scope s = {graph, outer, calloc(graph->value_count + 1, 1)};
    if (!s.defined) return fid_fail(graph->program->sink, FID_OUT_OF_MEMORY, "no memory to verify");
    fid_status status = check_body(&s);
    free(s.defined);
    return status;
}

fid_status fidc_verify(const fidc_program *program) {
    for (uint32_t i = 0; i < program->method_count; i++) FID_TRY(check_graph(program->methods[i], NULL));
    return FID_OK;
}
