/* Nodes of a graph: arguments put into schema order, outputs with the archive's metas, sub-graphs of control flow. */
#include "compiler/archive/reader.h"
#include "compiler/ir/problem.h"

enum { MOST_ARGS = 64 };

/* The schema of the operator at work, laid out. */
typedef struct call_schema {
    fid_schema_arg args[MOST_ARGS];
    size_t count;
    uint64_t given; /* bit i: the archive has argument i */
    bool by_place;  /* Python's names of a scalar function's arguments are not those of the row */
} call_schema;

static void lay_out(const fid_op *op, call_schema *out) {
    fid_schema_cursor cursor = fid_schema_begin(op->schema);
    out->count = 0;
    out->given = 0;
    out->by_place = strncmp(op->name, "executorch_prim::", 17) == 0;
    while (out->count < MOST_ARGS && fid_schema_next_arg(&cursor, &out->args[out->count])) out->count++;
}

/* The argument of that name; a positional one of another name counts by its place. */
static bool find_arg(const call_schema *schema, const char *name, size_t place, bool positional, size_t *out_index) {
    size_t length = strlen(name);
    for (size_t i = 0; !schema->by_place && i < schema->count; i++) {
        const fid_span *candidate = &schema->args[i].name;
        if (candidate->size == length && memcmp(candidate->data, name, length) == 0) {
            *out_index = i;
            return true;
        }
    }
    *out_index = place;
    return positional && place < schema->count;
}

static bool is_none(const json_t *argument) { return json_object_get(argument, "as_none") != NULL; }

static fid_status read_graph_arg(fidc_reader *r, const json_t *graph_arg, fidc_node *node);

static fid_status read_input(fidc_reader *r, fidc_scope *scope, const json_t *input, size_t place, call_schema *schema, fidc_node *node) {
    const char *name = NULL;
    const json_t *argument = NULL;
    size_t index;
    FID_TRY(fidc_json_text(r, input, "name", &name));
    FID_TRY(fidc_json_object(r, input, "arg", &argument));
    const json_t *kind = json_object_get(input, "kind");
    bool positional = !json_is_integer(kind) || json_integer_value(kind) != 2;
    if (!find_arg(schema, name, place, positional, &index)) {
        if (is_none(argument)) return FID_OK;
        return fidc_reader_fail(r, FID_NOT_SUPPORTED, "argument '%s' of %s is not supported", name, node->op->name);
    }
    if (schema->given >> index & 1) return fidc_reader_fail(r, FID_INVALID_PROGRAM, "argument '%s' is given twice", name);
    schema->given |= (uint64_t)1 << index;
    return fidc_read_arg(r, scope, argument, &schema->args[index], &node->args[index]);
}

static fid_status check_complete(const fidc_reader *r, const fidc_node *node, const call_schema *schema) {
    for (size_t i = 0; i < schema->count; i++) {
        const fid_schema_arg *arg = &schema->args[i];
        if (schema->given >> i & 1 || arg->default_text.data || arg->optional) continue;
        return fidc_reader_fail(r, FID_INVALID_PROGRAM, "argument '%.*s' of %s is missing", (int)arg->name.size,
                                (const char *)arg->name.data, node->op->name);
    }
    return FID_OK;
}

static bool is_out(const json_t *input) {
    const char *name = json_string_value(json_object_get(input, "name"));
    return name && strcmp(name, "out") == 0;
}

/* Sub-graphs go to node->graphs, everything else to the arguments in order; without the argument out if but_out. */
static fid_status read_inputs(fidc_reader *r, fidc_scope *scope, const json_t *inputs, fidc_node *node, bool but_out) {
    call_schema schema;
    json_t *input;
    size_t i, place = 0;
    lay_out(node->op, &schema);
    json_array_foreach(inputs, i, input) {
        if (but_out && is_out(input)) continue;
        const json_t *graph = json_object_get(json_object_get(input, "arg"), "as_graph");
        bool known = fidc_op_id(r->program, node->op) != FID_OP_COUNT;
        if (graph && !known) FID_TRY(fidc_problem_add(node, FIDC_REFUSED, "an operator with a graph of its own that is not known"));
        else if (graph) FID_TRY(read_graph_arg(r, graph, node));
        else FID_TRY(read_input(r, scope, input, place++, &schema, node));
    }
    return check_complete(r, node, &schema);
}

/* ---- Outputs ---- */

static fid_status add_output(fidc_reader *r, fidc_scope *scope, fidc_node *node, const char *name, fidc_type type) {
    const char *unique = scope->prefix[0] ? fidc_text_format(r->program, "%s%s", scope->prefix, name) : name;
    fidc_value *value = unique ? fidc_node_add_output(node, unique, type) : NULL;
    return value ? fidc_scope_define(r, scope, name, value) : FID_OUT_OF_MEMORY;
}

typedef struct output_kind { const char *kind, *key; fidc_type type; } output_kind;

static const output_kind output_kinds[] = {
    {"as_tensor", "name", FIDC_TENSOR}, {"as_sym_int", "as_name", FIDC_INT}, {"as_sym_float", "as_name", FIDC_FLOAT},
    {"as_sym_bool", "as_name", FIDC_BOOL},
};

static fid_status read_output(fidc_reader *r, fidc_scope *scope, fidc_node *node, const json_t *output) {
    const char *kind = NULL, *name = NULL;
    const json_t *value = NULL;
    json_t *item;
    size_t i;
    FID_TRY(fidc_json_union(r, output, &kind, &value));
    if (strcmp(kind, "as_none") == 0) {
        fidc_value *nothing = fidc_node_add_output(node, NULL, FIDC_NOTHING);
        if (!nothing) return FID_OUT_OF_MEMORY;
        return scope->graph == r->graph ? fidc_claim_name(r, nothing) : FID_OK;
    }
    if (strcmp(kind, "as_tensors") == 0) {
        json_array_foreach(value, i, item) {
            FID_TRY(fidc_json_text(r, item, "name", &name));
            FID_TRY(add_output(r, scope, node, name, FIDC_TENSOR));
        }
        return FID_OK;
    }
    for (i = 0; i < sizeof output_kinds / sizeof output_kinds[0]; i++) {
        if (strcmp(output_kinds[i].kind, kind) != 0) continue;
        FID_TRY(fidc_json_text(r, value, output_kinds[i].key, &name));
        return add_output(r, scope, node, name, output_kinds[i].type);
    }
    return fidc_reader_fail(r, FID_NOT_SUPPORTED, "a result of kind '%s' is not supported", kind);
}

/* ---- Where a node comes from ---- */

static const char *shared_text(fidc_reader *r, const char *text) {
    const char *known = fidc_name_map_get(&r->texts, text);
    if (known) return known;
    char *copy = fidc_text(r->program, text);
    return copy && fidc_name_map_put(r->program, &r->texts, copy, copy) ? copy : NULL;
}

/* The innermost module's path: of "key,path,type;key,path,type" the last path. */
static const char *module_path(fidc_reader *r, const char *stack) {
    const char *entry = strrchr(stack, ';');
    entry = entry ? entry + 1 : stack;
    const char *first = strchr(entry, ','), *last = strrchr(entry, ',');
    if (!first || last <= first) return NULL;
    const char *path = fidc_text_format(r->program, "%.*s", (int)(last - first - 1), first + 1);
    return path ? shared_text(r, path) : NULL;
}

static void read_origin(fidc_reader *r, const json_t *json, fidc_node *node) {
    const json_t *metadata = json_object_get(json, "metadata");
    const char *trace = json_string_value(json_object_get(metadata, "stack_trace"));
    const char *modules = json_string_value(json_object_get(metadata, "nn_module_stack"));
    if (trace) node->source = shared_text(r, trace);
    if (modules) node->module = module_path(r, modules);
}

/* ---- Sub-graphs ---- */

static fid_status read_sub_inputs(fidc_reader *r, fidc_scope *scope, const json_t *inputs) {
    size_t count = json_array_size(inputs);
    fidc_graph *graph = scope->graph;
    graph->inputs = fidc_allocate(r->program, count * sizeof *graph->inputs);
    if (!graph->inputs) return FID_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const char *kind = NULL, *name = NULL;
        const json_t *value = NULL;
        FID_TRY(fidc_json_union(r, json_array_get(inputs, i), &kind, &value));
        bool is_int = strcmp(kind, "as_sym_int") == 0;
        if (!is_int && strcmp(kind, "as_tensor") != 0)
            return fidc_reader_fail(r, FID_NOT_SUPPORTED, "a sub-graph has an input of kind '%s'", kind);
        FID_TRY(fidc_json_text(r, value, is_int ? "as_name" : "name", &name));
        fidc_value *input = is_int ? fidc_value_number(graph, name, FIDC_INT, NULL)
                                   : fidc_value_tensor(graph, name, FID_DTYPE_NONE, NULL, 0);
        if (!input) return FID_OUT_OF_MEMORY;
        FID_TRY(fidc_scope_define(r, scope, name, input));
        graph->inputs[graph->input_count++] = input;
    }
    return FID_OK;
}

static fid_status read_graph_arg(fidc_reader *r, const json_t *graph_arg, fidc_node *node) {
    const json_t *json = NULL, *inputs = NULL, *outputs = NULL;
    fidc_scope scope;
    FID_TRY(fidc_json_object(r, graph_arg, "graph", &json));
    FID_TRY(fidc_json_array(r, json, "inputs", &inputs));
    FID_TRY(fidc_json_array(r, json, "outputs", &outputs));
    fidc_graph *graph = fidc_graph_create(r->program, NULL);
    fidc_graph **graphs = fidc_allocate(r->program, (node->graph_count + 1) * sizeof *graphs);
    if (!graph || !graphs) return FID_OUT_OF_MEMORY;
    FID_TRY(fidc_scope_open(r, json, graph, "", &scope));
    FID_TRY(read_sub_inputs(r, &scope, inputs));
    FID_TRY(fidc_read_nodes(r, &scope, json));
    FID_TRY(fidc_read_outputs(r, &scope, outputs, &graph->outputs));
    graph->output_count = (uint32_t)json_array_size(outputs);
    if (node->graph_count) memcpy(graphs, node->graphs, node->graph_count * sizeof *graphs);
    graphs[node->graph_count++] = graph;
    node->graphs = graphs;
    return FID_OK;
}

fid_status fidc_read_outputs(fidc_reader *r, fidc_scope *scope, const json_t *outputs, fidc_arg **out_args) {
    size_t count = json_array_size(outputs);
    fidc_arg *args = fidc_allocate(r->program, count * sizeof *args);
    if (!args) return FID_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) FID_TRY(fidc_read_arg(r, scope, json_array_get(outputs, i), NULL, &args[i]));
    *out_args = args;
    return FID_OK;
}

/* ---- Inlined sub-graphs ---- */

/* The names that a node gives to its results, in order. */
static fid_status bind_results(fidc_reader *r, fidc_scope *scope, const json_t *outputs, const fidc_arg *results, size_t count) {
    size_t at = 0, i, j;
    json_t *output;
    json_array_foreach(outputs, i, output) {
        const json_t *list = json_object_get(output, "as_tensors");
        size_t names = list ? json_array_size(list) : 1;
        for (j = 0; j < names; j++, at++) {
            const char *name = NULL, *kind = NULL;
            const json_t *value = list ? json_array_get(list, j) : NULL;
            if (!list) FID_TRY(fidc_json_union(r, output, &kind, &value));
            FID_TRY(fidc_json_text(r, value, kind && strncmp(kind, "as_sym", 6) == 0 ? "as_name" : "name", &name));
            fidc_value *result = at < count ? fidc_value_of(&results[at]) : NULL;
            if (!result) return fidc_reader_fail(r, FID_INVALID_PROGRAM, "the sub-graph gives no value for result '%s'", name);
            if (!fidc_name_map_put(r->program, &scope->values, name, result)) return FID_OUT_OF_MEMORY;
        }
    }
    return FID_OK;
}

static fid_status bind_operands(fidc_reader *r, fidc_scope *outer, const json_t *inputs, size_t first, const json_t *names, fidc_scope *inner) {
    if (json_array_size(inputs) - first != json_array_size(names))
        return fidc_reader_fail(r, FID_INVALID_PROGRAM, "%zu operands are given to a sub-graph with %zu inputs",
                                json_array_size(inputs) - first, json_array_size(names));
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *kind = NULL, *name = NULL;
        const json_t *argument = NULL, *input = NULL;
        fidc_arg operand;
        FID_TRY(fidc_json_union(r, json_array_get(names, i), &kind, &input));
        if (strcmp(kind, "as_tensor") != 0 && strcmp(kind, "as_sym_int") != 0) continue; /* a frozen number: the sub-graph holds it */
        FID_TRY(fidc_json_text(r, input, strcmp(kind, "as_tensor") == 0 ? "name" : "as_name", &name));
        FID_TRY(fidc_json_object(r, json_array_get(inputs, first + i), "arg", &argument));
        FID_TRY(fidc_read_arg(r, outer, argument, NULL, &operand));
        if (!fidc_value_of(&operand)) return fidc_reader_fail(r, FID_NOT_SUPPORTED, "operand %zu of a sub-graph is no value", i);
        if (!fidc_name_map_put(r->program, &inner->values, name, operand.as.value)) return FID_OUT_OF_MEMORY;
    }
    return FID_OK;
}

/* wrap_with_autocast(device, dtype, enabled, cache, graph, operands...): where it is enabled, the graph lacks the casts. */
static fid_status check_autocast(const fidc_reader *r, const char *target, const json_t *inputs) {
    if (!strstr(target, "autocast")) return FID_OK;
    const json_t *device = json_object_get(json_object_get(json_array_get(inputs, 0), "arg"), "as_string");
    const json_t *enabled = json_object_get(json_object_get(json_array_get(inputs, 2), "arg"), "as_bool");
    bool on_cpu = !device || strcmp(json_string_value(device) ? json_string_value(device) : "cpu", "cpu") == 0;
    if (!on_cpu || json_is_false(enabled)) return FID_OK;
    return fidc_reader_fail(r, FID_NOT_SUPPORTED, "autocast is enabled inside of the model; export it with autocast off, or in the "
                            "dtype that it shall compute in");
}

static fid_status inline_graph(fidc_reader *r, fidc_scope *scope, const json_t *node) {
    const json_t *inputs = NULL, *outputs = NULL, *sub_inputs = NULL, *sub_outputs = NULL, *json = NULL;
    const char *target = NULL;
    fidc_arg *results = NULL;
    fidc_scope inner;
    FID_TRY(fidc_json_text(r, node, "target", &target));
    FID_TRY(fidc_json_array(r, node, "inputs", &inputs));
    FID_TRY(fidc_json_array(r, node, "outputs", &outputs));
    FID_TRY(check_autocast(r, target, inputs));
    size_t at = 0, count = json_array_size(inputs);
    while (at < count && !json) json = json_object_get(json_object_get(json_object_get(json_array_get(inputs, at++), "arg"), "as_graph"), "graph");
    if (!json) return fidc_reader_fail(r, FID_INVALID_PROGRAM, "%s has no sub-graph", target);
    FID_TRY(fidc_json_array(r, json, "inputs", &sub_inputs));
    FID_TRY(fidc_json_array(r, json, "outputs", &sub_outputs));
    const char *prefix = fidc_text_format(r->program, "%s%s_", scope->prefix, r->node ? r->node : "inlined");
    if (!prefix) return FID_OUT_OF_MEMORY;
    FID_TRY(fidc_scope_open(r, json, scope->graph, prefix, &inner));
    FID_TRY(bind_operands(r, scope, inputs, at, sub_inputs, &inner));
    FID_TRY(fidc_read_nodes(r, &inner, json));
    FID_TRY(fidc_read_outputs(r, &inner, sub_outputs, &results));
    return bind_results(r, scope, outputs, results, json_array_size(sub_outputs));
}

/* ---- Nodes ---- */

/* "unsqueeze_(x)": from here on the name x means the new view. */
static fid_status rebind(fidc_reader *r, fidc_scope *scope, const json_t *inputs, fidc_node *node) {
    const char *name = json_string_value(json_object_get(json_object_get(json_object_get(json_array_get(inputs, 0), "arg"), "as_tensor"), "name"));
    if (!name || !node->output_count) return FID_OK;
    return fidc_name_map_put(r->program, &scope->values, name, node->outputs[0]) ? FID_OK : FID_OUT_OF_MEMORY;
}

/* "add(x, y, out=z)": z.copy_(add(x, y)), and the call's name means z after it. */
static fid_status write_out(fidc_reader *r, fidc_scope *scope, const json_t *inputs, const json_t *outputs, fidc_node *node) {
    const char *name = json_string_value(json_object_get(json_object_get(json_array_get(outputs, 0), "as_tensor"), "name"));
    json_t *input;
    size_t i;
    fidc_arg args[2] = {fidc_none(), fidc_none()};
    json_array_foreach(inputs, i, input) {
        const char *out = is_out(input) ? json_string_value(json_object_get(json_object_get(json_object_get(input, "arg"), "as_tensor"), "name")) : NULL;
        fidc_value *value = NULL;
        if (out) FID_TRY(fidc_scope_find(r, scope, out, &value));
        if (value && value->type == FIDC_TENSOR) args[0] = fidc_v(value);
    }
    if (args[0].kind != FIDC_ARG_VALUE || !name || node->output_count != 1) return fidc_problem_add(node, FIDC_REFUSED, "an out= call without a tensor to write");
    args[1] = fidc_v(node->outputs[0]);
    const fidc_value *into = args[0].as.value;
    fidc_node *copy = fidc_node_create_raw(scope->graph, NULL, &r->program->ops->ops[FID_OPID_copy], args, 2);
    fidc_value *after = copy ? fidc_node_add_output(copy, NULL, FIDC_TENSOR) : NULL;
    if (!after) return FID_OUT_OF_MEMORY;
    after->dtype = into->dtype;
    after->rank = into->rank;
    after->sizes = into->sizes;
    memcpy(after->dim_order, into->dim_order, sizeof after->dim_order);
    copy->in_place = true;
    copy->source = node->source;
    copy->module = node->module;
    return fidc_name_map_put(r->program, &scope->values, name, after) ? FID_OK : FID_OUT_OF_MEMORY;
}

/* u0, u1, ...: sizes that only data tell. */
static bool is_unbacked(const fidc_expr *e) { return e->kind == FIDC_EXPR_BOUNDED; }

static bool has_unbacked(const fidc_value *value) {
    for (size_t d = 0; value->type == FIDC_TENSOR && d < value->rank; d++)
        if (is_unbacked(value->sizes[d])) return true;
    return false;
}

static bool is_bounded(const fidc_arg *arg) {
    const fidc_value *value = fidc_value_of(arg);
    for (size_t d = 0; value && value->type == FIDC_TENSOR && d < value->rank; d++)
        if (value->sizes[d]->high > INT32_MAX) return false;
    for (uint32_t i = 0; arg->kind == FIDC_ARG_LIST && i < arg->as.list.count; i++)
        if (!is_bounded(&arg->as.list.items[i])) return false;
    return true;
}

/* Elements of the first argument at most: how PyTorch bounds masked_select, even where the mask has more. */
static int64_t first_elements(const fidc_node *node) {
    const fidc_value *first = node->arg_count ? fidc_value_of(&node->args[0]) : NULL;
    int64_t count = 1;
    for (size_t d = 0; first && d < first->rank; d++)
        if (__builtin_mul_overflow(count, fidc_expr_at(first->sizes[d], FIDC_AT_HIGH), &count)) return -1;
    return count;
}

/* Does the shape depend on a number that only data tell? */
static bool has_unknown_number(const fidc_node *node) {
    for (uint32_t i = 0; i < node->arg_count; i++) {
        const fidc_value *value = fidc_value_of(&node->args[i]);
        if (value && value->type == FIDC_INT && value->number && value->number->low != value->number->high) return true;
    }
    return false;
}

/* x[i:j]: a part is no larger than the whole; at which i it is largest, the largest i does not show. */
static void bound_part(const fidc_node *node) {
    const fidc_value *whole = fidc_value_of(&node->args[0]), *part = node->outputs[0];
    if (!fidc_is(node, FID_OPID_slice_Tensor) && !fidc_is(node, FID_OPID_slice_copy_Tensor)) return;
    for (size_t d = 0; whole && d < part->rank && d < whole->rank; d++) {
        int64_t high = fidc_expr_at(whole->sizes[d], FIDC_AT_HIGH);
        if (is_unbacked(part->sizes[d]) && part->sizes[d]->high > high) fidc_expr_set_high(part->sizes[d], high);
    }
}

enum { MOST_BOUNDED = 8 };

/* The archive often knows no bound of a size that only data tell (index with a mask: u0); the operator's shape function does. */
static fid_status bound_unbacked(const fidc_node *node) {
    fid_meta metas[MOST_BOUNDED];
    bool found = false;
    for (uint32_t i = 0; i < node->output_count; i++) found |= has_unbacked(node->outputs[i]);
    if (!found || !node->op->shape || node->output_count > MOST_BOUNDED) return FID_OK;
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (!is_bounded(&node->args[i])) return FID_OK;
    if (has_unknown_number(node)) {
        bound_part(node);
        return FID_OK;
    }
    FID_TRY(fidc_infer_at(node, FIDC_AT_HIGH, metas, node->output_count));
    for (uint32_t i = 0; i < node->output_count; i++) {
        const fidc_value *value = node->outputs[i];
        for (size_t d = 0; value->type == FIDC_TENSOR && d < value->rank && d < metas[i].rank; d++) {
            const fidc_expr *size = value->sizes[d];
            bool forgets_mask = node->op->kind == FID_OP_DATA_DEPENDENT && size->high == first_elements(node);
            if (is_unbacked(size) && (size->high > metas[i].sizes[d] || forgets_mask)) fidc_expr_set_high(size, metas[i].sizes[d]);
        }
    }
    return FID_OK;
}

static fid_status read_node(fidc_reader *r, fidc_scope *scope, const json_t *json) {
    const char *target = NULL;
    const json_t *inputs = NULL, *outputs = NULL;
    fidc_target_row *row = NULL;
    json_t *output;
    size_t i;
    FID_TRY(fidc_json_text(r, json, "target", &target));
    FID_TRY(fidc_json_array(r, json, "inputs", &inputs));
    FID_TRY(fidc_json_array(r, json, "outputs", &outputs));
    FID_TRY(fidc_target_find(r, target, &row));
    if (row->kind == FIDC_TARGET_INLINE) return inline_graph(r, scope, json);
    const fid_op *op = row->op ? row->op : fidc_invent_row(r, row, inputs, outputs);
    fidc_node *node = op ? fidc_node_create_raw(scope->graph, NULL, op, NULL, 0) : NULL;
    if (!node) return FID_OUT_OF_MEMORY;
    node->in_place = row->in_place;
    read_origin(r, json, node);
    FID_TRY(read_inputs(r, scope, inputs, node, row->writes_out));
    json_array_foreach(outputs, i, output) FID_TRY(read_output(r, scope, node, output));
    if (r->has_complex_numbers) FID_TRY(fidc_complex_settle(r, node));
    FID_TRY(bound_unbacked(node));
    if (row->writes_out) return write_out(r, scope, inputs, outputs, node);
    return row->rebinds ? rebind(r, scope, inputs, node) : FID_OK;
}

/* The node's own name, or before schema 8.13 that of its first result. */
static const char *name_of(const json_t *node) {
    const char *name = json_string_value(json_object_get(node, "name"));
    if (name) return name;
    name = json_string_value(json_object_get(json_object_get(json_array_get(json_object_get(node, "outputs"), 0), "as_tensor"), "name"));
    return name ? name : json_string_value(json_object_get(node, "target"));
}

fid_status fidc_read_nodes(fidc_reader *r, fidc_scope *scope, const json_t *graph_json) {
    const json_t *nodes = NULL;
    json_t *node;
    size_t i;
    const char *outer = r->node;
    FID_TRY(fidc_json_array(r, graph_json, "nodes", &nodes));
    json_array_foreach(nodes, i, node) {
        r->node = name_of(node);
        FID_TRY(read_node(r, scope, node));
    }
    r->node = outer;
    return FID_OK;
}
