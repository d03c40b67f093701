/* The rewriter: new nodes, arguments, rule tables. Symbolic sizes are in rewrite_size.c. */
#include "compiler/passes/rewrite.h"

#include "compiler/ir/problem.h"
#include "compiler/partition/partition.h"

/* ---- Rules ---- */

void fidc_rules_add(fidc_rules *rules, const fidc_rule_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) rules->by_op[rows[i].op] = rows[i].rule;
}

fidc_rule fidc_rules_find(const fidc_rules *rules, const fidc_program *program, const fid_op *op) {
    fid_op_id id = fidc_op_id(program, op);
    return id < FID_OP_COUNT ? rules->by_op[id] : NULL; /* rows of a user's own have no rules */
}

/* ---- What rules may rely on ----
 *
 * A program from an archive is anybody's text. Before a rule looks at a node: the results are as many and of the kinds that the
 * schema says, every required tensor is one, and the row's shape function has accepted the arguments and agrees on ranks and dtypes.
 * Rules of rows without a shape function check ranks and counts themselves. */

static bool arg_is_unknown(const fidc_arg *arg) {
    const fidc_value *value = fidc_value_of(arg);
    for (uint32_t i = 0; arg->kind == FIDC_ARG_LIST && i < arg->as.list.count; i++) {
        if (arg_is_unknown(&arg->as.list.items[i])) return true;
    }
    for (size_t d = 0; value && value->type == FIDC_TENSOR && d < value->rank; d++) {
        if (!fidc_expr_is_const(value->sizes[d])) return true;
    }
    return value && value->type != FIDC_TENSOR;
}

static bool has_unknown_sizes(const fidc_node *node) {
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (arg_is_unknown(&node->args[i])) return true;
    }
    return false;
}

static fid_status infer_quietly(fidc_node *node, fid_meta *metas) {
    static const fid_sink deaf = {0};
    fidc_program *program = node->graph->program;
    const fid_sink *sink = program->sink;
    if (has_unknown_sizes(node)) program->sink = &deaf;
    fid_status status = fidc_infer_at(node, FIDC_AT_HINT, metas, node->output_count);
    program->sink = sink;
    return status;
}

/* x[i]: no hint of an index that data tell need lie within the dimension, and the sizes do not depend on it. */
static bool has_unknown_index(const fidc_node *node) { return fidc_is(node, FID_OPID_select_int) && fidc_value_of(&node->args[2]); }

/* *out_fits false: sizes that only running tells do not go together at their hints, so the rule leaves the node alone. */
static fid_status check_shapes(fidc_node *node, bool *out_fits) {
    fidc_program *program = node->graph->program;
    *out_fits = true;
    if (!node->op->shape || !node->output_count || has_unknown_index(node)) return FID_OK;
    size_t bytes = node->output_count * sizeof(fid_meta);
    fid_meta *metas = fid_allocate(program->allocator, bytes);
    if (!metas) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory for %u shapes", node->output_count);
    memset(metas, 0, bytes);
    fid_status status = infer_quietly(node, metas);
    for (uint32_t i = 0; status == FID_OK && i < node->output_count && *out_fits; i++) {
        *out_fits = node->outputs[i]->rank == metas[i].rank && node->outputs[i]->dtype == metas[i].dtype;
    }
    fid_free(program->allocator, metas, bytes);
    if (status != FID_OK) *out_fits = false;
    return status == FID_OK || has_unknown_sizes(node) ? FID_OK : status;
}

static bool is_wrapped(const fid_schema_arg *schema, const fidc_arg *arg) {
    const fidc_value *value = fidc_value_of(arg);
    if (schema->type != FID_SCHEMA_TENSOR || schema->list || arg->kind == FIDC_ARG_NONE) return false;
    return !value || value->type != FIDC_TENSOR;
}

static const fidc_value *any_tensor(const fidc_node *node) {
    for (uint32_t i = 0; i < node->arg_count; i++) {
        const fidc_value *value = fidc_value_of(&node->args[i]);
        if (value && value->type == FIDC_TENSOR) return value;
    }
    return NULL;
}

/* PyTorch wraps a number in the place of a tensor: here it becomes one, in the dtype that the operation computes in. */
static fid_status wrap_numbers(fidc_rewriter *rw) {
    fid_schema_cursor cursor = fid_schema_begin(rw->node->op->schema);
    fid_schema_arg schema;
    for (uint32_t i = 0; fid_schema_next_arg(&cursor, &schema) && i < rw->node->arg_count; i++) {
        if (!is_wrapped(&schema, &rw->node->args[i])) continue;
        fidc_value *tensor = fidc_rw_number(rw, rw->node->args[i], any_tensor(rw->node));
        if (!tensor) return fid_fail(rw->program->sink, FID_INVALID_PROGRAM, "%s: argument %u must be a tensor", fidc_where(rw->node), i);
        rw->node->args[i] = fidc_v(tensor);
    }
    return FID_OK;
}

fid_status fidc_rw_check(fidc_rewriter *rw, bool keep_numbers, bool *out_fits) {
    if (!fidc_results_fit(rw->node)) {
        return fid_fail(rw->program->sink, FID_INVALID_PROGRAM, "%s has other results than its schema %s says", fidc_where(rw->node),
                        rw->node->op->schema);
    }
    *out_fits = true;
    if (keep_numbers) return FID_OK;
    FID_TRY(wrap_numbers(rw));
    return check_shapes(rw->node, out_fits);
}

/* ---- Applying rules ---- */

fid_status fidc_rw_apply(fidc_rewriter *rw, fidc_rule rule) {
    fid_status status = rule(rw);
    return status == FID_NOT_SUPPORTED && rw->refused ? FID_OK : status;
}

/* Leaves in *inout_node where to go on: the first new node if there is one, so that rules apply to what rules make. */
static fid_status apply_rule(fidc_rule rule, fidc_graph *graph, fidc_target target, fidc_node **inout_node) {
    fidc_node *node = *inout_node, *previous = node->previous;
    fidc_rewriter rw = {.program = graph->program, .graph = graph, .node = node, .target = target};
    fidc_node *next = node->next;
    bool fits = false;
    if (rule) FID_TRY(fidc_rw_check(&rw, fidc_takes_numbers(graph->program, node->op), &fits));
    else FID_TRY(wrap_numbers(&rw));
    if (fits && !node->part_of) node->part_of = ++graph->program->part_count;
    if (fits) FID_TRY(fidc_rw_apply(&rw, rule));
    if (!rw.changed) *inout_node = next;
    else *inout_node = previous ? previous->next : graph->first;
    return FID_OK;
}

fid_status fidc_rules_apply(const fidc_rules *rules, fidc_graph *graph, fidc_target target) {
    for (fidc_node *node = graph->first; node;) {
        for (uint32_t i = 0; i < node->graph_count; i++) FID_TRY(fidc_rules_apply(rules, node->graphs[i], target));
        bool kept = graph->program->backend && !node->graph_count && fidc_results_fit(node) && graph->program->backend->takes(node);
        fidc_rule rule = kept ? NULL : fidc_rules_find(rules, graph->program, node->op);
        if (node->graph_count) node = node->next;
        else FID_TRY(apply_rule(rule, graph, target, &node));
    }
    fidc_graph_clean(graph);
    return FID_OK;
}

/* ---- Making nodes ---- */

fidc_node *fidc_rw_emit_node(fidc_rewriter *rw, fid_op_id op, const fidc_arg *args, size_t arg_count, size_t list_outputs) {
    if (rw->failed) return NULL;
    fidc_node *node = fidc_node_create(rw->graph, rw->node, rw->node, op, args, arg_count, list_outputs);
    if (!node) rw->failed = true;
    return node;
}

fidc_value *fidc_rw_emit(fidc_rewriter *rw, fid_op_id op, const fidc_arg *args, size_t arg_count) {
    return fidc_result(fidc_rw_emit_node(rw, op, args, arg_count, 0));
}

fid_status fidc_rw_keep(fidc_rewriter *rw) {
    if (!rw->failed) return FID_OK;
    return fid_fail(rw->program->sink, FID_INVALID_PROGRAM, "cannot rewrite %s", fidc_where(rw->node));
}

/* The archive's sizes are what export proved; inference may know less. Constants of both must agree. */
static fid_status adopt_sizes(fidc_rewriter *rw, const fidc_value *old_value, fidc_value *value) {
    for (size_t i = 0; i < value->rank; i++) {
        const fidc_expr *had = old_value->sizes[i], *has = value->sizes[i];
        if (had == has) continue;
        if (fidc_expr_is_const(had) && fidc_expr_is_const(has)) {
            return fid_fail(rw->program->sink, FID_INTERNAL, "rewriting %s: size %zu was %lld and became %lld", fidc_where(rw->node), i,
                            (long long)had->constant, (long long)has->constant);
        }
        if (value->origin == FIDC_FROM_NODE && !fidc_expr_is_const(has)) value->sizes[i] = had;
    }
    return FID_OK;
}

static fid_status replace_output(fidc_rewriter *rw, fidc_value *old_value, fidc_value *value) {
    value = fidc_resolve(value);
    if (old_value->type == FIDC_TENSOR && value->type == FIDC_TENSOR) {
        if (old_value->dtype != value->dtype || old_value->rank != value->rank) {
            return fid_fail(rw->program->sink, FID_INTERNAL, "rewriting %s: a %s of rank %u became a %s of rank %u", fidc_where(rw->node),
                            fid_dtype_name(old_value->dtype), old_value->rank, fid_dtype_name(value->dtype), value->rank);
        }
        FID_TRY(adopt_sizes(rw, old_value, value));
    }
    fidc_value_replace(old_value, value);
    return FID_OK;
}

fid_status fidc_rw_become_all(fidc_rewriter *rw, fidc_value *const *values, size_t count) {
    FID_TRY(fidc_rw_keep(rw));
    for (size_t i = 0; i < count && i < rw->node->output_count; i++) {
        if (values[i]) FID_TRY(replace_output(rw, rw->node->outputs[i], values[i]));
    }
    return fidc_rw_drop(rw);
}

fid_status fidc_rw_become(fidc_rewriter *rw, fidc_value *value) {
    if (!value) rw->failed = true;
    return fidc_rw_become_all(rw, &value, 1);
}

fid_status fidc_rw_rename(fidc_rewriter *rw, fid_op_id op) {
    return fidc_rw_become(rw, fidc_rw_emit(rw, op, rw->node->args, rw->node->arg_count));
}

fid_status fidc_rw_drop(fidc_rewriter *rw) {
    fidc_node_remove(rw->node);
    rw->changed = true;
    return FID_OK;
}

fid_status fidc_rw_refuse(fidc_rewriter *rw, const char *why) {
    FID_TRY(fidc_problem_add(rw->node, FIDC_REFUSED, why));
    rw->refused = true;
    return FID_NOT_SUPPORTED;
}

/* ---- Reading arguments ---- */

fidc_arg fidc_rw_arg(const fidc_rewriter *rw, uint32_t i) { return i < rw->node->arg_count ? rw->node->args[i] : fidc_none(); }

bool fidc_rw_is_none(const fidc_rewriter *rw, uint32_t i) { return fidc_rw_arg(rw, i).kind == FIDC_ARG_NONE; }

fidc_value *fidc_rw_value(const fidc_rewriter *rw, uint32_t i) {
    fidc_arg arg = fidc_rw_arg(rw, i);
    fidc_value *value = fidc_value_of(&arg);
    return value && value->type == FIDC_TENSOR ? value : NULL;
}

static bool names(const fidc_arg *args, uint32_t count, const fidc_value *value) {
    for (uint32_t i = 0; i < count; i++) {
        if (args[i].kind == FIDC_ARG_LIST ? names(args[i].as.list.items, args[i].as.list.count, value) : fidc_value_of(&args[i]) == value) return true;
    }
    return false;
}

bool fidc_rw_is_used(const fidc_rewriter *rw, uint32_t output) {
    const fidc_graph *graph = rw->graph;
    if (output >= rw->node->output_count) return false;
    const fidc_value *value = rw->node->outputs[output];
    for (const fidc_node *node = rw->node->next; node; node = node->next) {
        if (names(node->args, node->arg_count, value)) return true;
    }
    for (uint32_t i = 0; i < graph->mutation_count; i++) {
        if (fidc_resolve(graph->mutations[i].value) == value) return true;
    }
    return names(graph->outputs, graph->output_count, value);
}

fidc_value *fidc_rw_out(const fidc_rewriter *rw) { return rw->node->outputs[0]; }

/* Numbers of rules stay where sums and small products of them cannot overflow; no tensor has so many elements. */
#define LARGEST_NUMBER ((int64_t)1 << 40)

static int64_t within_reach(int64_t number) {
    return number > LARGEST_NUMBER ? LARGEST_NUMBER : number < -LARGEST_NUMBER ? -LARGEST_NUMBER : number;
}

/* A value whose number is known counts as that number. */
static bool constant_int(fidc_arg arg, int64_t *out) {
    fidc_value *value = fidc_value_of(&arg);
    if (value && value->type == FIDC_INT && value->number && fidc_expr_is_const(value->number)) {
        *out = value->number->constant;
        return true;
    }
    if (arg.kind == FIDC_ARG_DOUBLE) *out = fid_value_int(&(fid_value){.as.number = arg.as.number, .tag = FID_TAG_DOUBLE}); /* cut, never undefined */
    else if (arg.kind == FIDC_ARG_NONE || arg.kind == FIDC_ARG_VALUE || arg.kind == FIDC_ARG_LIST || arg.kind == FIDC_ARG_STRING) return false;
    else *out = arg.as.integer;
    return true;
}

int64_t fidc_rw_int(const fidc_rewriter *rw, uint32_t i, int64_t otherwise) {
    int64_t number;
    return constant_int(fidc_rw_arg(rw, i), &number) ? within_reach(number) : otherwise;
}

double fidc_rw_double(const fidc_rewriter *rw, uint32_t i, double otherwise) {
    fidc_arg arg = fidc_rw_arg(rw, i);
    int64_t number;
    if (arg.kind == FIDC_ARG_DOUBLE) return arg.as.number;
    return constant_int(arg, &number) ? (double)number : otherwise;
}

bool fidc_rw_bool(const fidc_rewriter *rw, uint32_t i, bool otherwise) { return fidc_rw_int(rw, i, otherwise) != 0; }

const char *fidc_rw_string(const fidc_rewriter *rw, uint32_t i, const char *otherwise) {
    fidc_arg arg = fidc_rw_arg(rw, i);
    return arg.kind == FIDC_ARG_STRING ? arg.as.text : otherwise;
}

const fidc_arg *fidc_rw_items(const fidc_rewriter *rw, uint32_t i, size_t *out_count) {
    *out_count = 0;
    if (i >= rw->node->arg_count) return NULL;
    const fidc_arg *arg = &rw->node->args[i];
    if (arg->kind == FIDC_ARG_NONE) return NULL;
    *out_count = arg->kind == FIDC_ARG_LIST ? arg->as.list.count : 1;
    return arg->kind == FIDC_ARG_LIST ? arg->as.list.items : arg;
}

bool fidc_rw_ints(const fidc_rewriter *rw, uint32_t i, int64_t *items, size_t *out_count) {
    size_t count;
    const fidc_arg *args = fidc_rw_items(rw, i, &count);
    if (count > FID_MAX_RANK) return false;
    *out_count = count;
    for (size_t k = 0; k < count; k++) {
        if (!constant_int(args[k], &items[k])) return false;
        items[k] = within_reach(items[k]);
    }
    return true;
}

bool fidc_rw_ints_spread(const fidc_rewriter *rw, uint32_t i, size_t count, int64_t otherwise, int64_t *items) {
    int64_t given[FID_MAX_RANK];
    size_t given_count;
    if (!fidc_rw_ints(rw, i, given, &given_count) || (given_count > 1 && given_count != count)) return false;
    for (size_t k = 0; k < count; k++) items[k] = given_count == 0 ? otherwise : given_count == 1 ? given[0] : given[k];
    return true;
}

/* Out of range it gives the nearest dimension: a rule then reads no foreign memory, and its result does not fit the old one. */
int64_t fidc_wrap(int64_t dim, size_t rank) {
    int64_t count = (int64_t)(rank ? rank : 1);
    if (dim < 0) dim = dim < -count ? 0 : dim + count;
    return dim < count ? dim : count - 1;
}

int64_t fidc_rw_dim(const fidc_rewriter *rw, uint32_t i, int64_t otherwise, size_t rank) {
    return fidc_wrap(fidc_rw_int(rw, i, otherwise), rank);
}
