/* Building nodes: arguments completed from the schema, outputs inferred from the shape function. */
#include <stdio.h>
#include <stdlib.h>

#include "base/half.h"
#include "compiler/ir/infer.h"

/* ---- The list of nodes ---- */

static void link_before(fidc_graph *graph, fidc_node *node, fidc_node *before) {
    node->next = before;
    node->previous = before ? before->previous : graph->last;
    *(node->previous ? &node->previous->next : &graph->first) = node;
    *(before ? &before->previous : &graph->last) = node;
}

void fidc_node_remove(fidc_node *node) {
    fidc_graph *graph = node->graph;
    *(node->previous ? &node->previous->next : &graph->first) = node->next;
    *(node->next ? &node->next->previous : &graph->last) = node->previous;
}

void fidc_node_move_before(fidc_node *node, fidc_node *before) {
    fidc_node_remove(node);
    link_before(node->graph, node, before);
}

void fidc_node_replace(fidc_node *node, fidc_node *by) {
    for (uint32_t i = 0; i < node->output_count && i < by->output_count; i++) fidc_value_replace(node->outputs[i], by->outputs[i]);
    fidc_node_remove(node);
}

/* ---- Arguments: defaults ---- */

static fidc_arg number_of(const char *text, size_t length) {
    char copy[40];
    if (length >= sizeof copy) return fidc_none();
    memcpy(copy, text, length);
    copy[length] = 0;
    if (strcmp(copy, "True") == 0 || strcmp(copy, "False") == 0) return fidc_b(copy[0] == 'T');
    bool real = strpbrk(copy, ".eE") != NULL || strstr(copy, "inf");
    return real ? fidc_d(strtod(copy, NULL)) : fidc_i(strtoll(copy, NULL, 10));
}

/* "[0, 1]": numbers. A single number for int[2] stands for that many. */
static fidc_arg list_default(fidc_program *program, const fid_schema_arg *arg, const char *text, size_t length) {
    fidc_arg items[16];
    size_t count = 0;
    if (text[0] != '[') {
        fidc_arg one = number_of(text, length);
        for (count = 0; count < arg->list_size && count < 16; count++) items[count] = one;
        return fidc_list(program, items, count);
    }
    for (size_t at = 1; at < length && text[at] != ']' && count < 16;) {
        size_t end = at;
        while (end < length && text[end] != ',' && text[end] != ']') end++;
        items[count++] = number_of(text + at, end - at);
        at = end + (text[end] == ',');
        while (at < length && text[at] == ' ') at++;
    }
    return fidc_list(program, items, count);
}

static fidc_arg default_of(fidc_program *program, const fid_schema_arg *arg) {
    const char *text = (const char *)arg->default_text.data;
    size_t length = arg->default_text.size;
    if (!text || (length == 4 && memcmp(text, "None", 4) == 0)) return fidc_none();
    if (arg->list) return list_default(program, arg, text, length);
    if (arg->type == FID_SCHEMA_STRING) {
        bool quoted = length >= 2 && (text[0] == '\'' || text[0] == '"');
        const char *copy = fid_arena_copy_text(&program->arena, text + quoted, length - 2 * (size_t)quoted);
        return (fidc_arg){.kind = FIDC_ARG_STRING, .as.text = copy};
    }
    fidc_arg number = number_of(text, length);
    if (arg->type == FID_SCHEMA_FLOAT && number.kind == FIDC_ARG_INT) return fidc_d((double)number.as.integer);
    if (arg->type == FID_SCHEMA_DTYPE && number.kind == FIDC_ARG_INT) return fidc_t((fid_dtype)number.as.integer);
    if (arg->type == FID_SCHEMA_MEMORY_FORMAT) {
        bool preserve = length == 15 && memcmp(text, "preserve_format", 15) == 0;
        return (fidc_arg){.kind = FIDC_ARG_MEMORY_FORMAT, .as.integer = preserve ? 1 : 0};
    }
    return number;
}

static size_t schema_arg_count(const fid_op *op) {
    fid_schema_cursor cursor = fid_schema_begin(op->schema);
    fid_schema_arg arg;
    size_t count = 0;
    while (fid_schema_next_arg(&cursor, &arg)) count++;
    return count;
}

fidc_node *fidc_node_create_raw(fidc_graph *graph, fidc_node *before, const fid_op *op, const fidc_arg *args, size_t arg_count) {
    fidc_program *program = graph->program;
    fidc_node *node = fidc_allocate(program, sizeof *node);
    size_t total = schema_arg_count(op);
    fidc_arg *all = fidc_allocate(program, total * sizeof *all);
    if (!node || !all) return NULL;
    if (arg_count > total) {
        fid_fail(program->sink, FID_INVALID_ARGUMENT, "%s.%s takes %zu arguments, %zu were given", op->name, op->overload, total, arg_count);
        return NULL;
    }
    fid_schema_cursor cursor = fid_schema_begin(op->schema);
    fid_schema_arg arg;
    for (size_t i = 0; fid_schema_next_arg(&cursor, &arg); i++) all[i] = i < arg_count ? args[i] : default_of(program, &arg);
    *node = (fidc_node){.op = op, .args = all, .arg_count = (uint32_t)total, .graph = graph};
    link_before(graph, node, before);
    return node;
}

fidc_value *fidc_node_add_output(fidc_node *node, const char *name, fidc_type type) {
    fidc_program *program = node->graph->program;
    fidc_value *value = type == FIDC_TENSOR ? fidc_value_tensor(node->graph, name, FID_DTYPE_NONE, NULL, 0)
                                            : fidc_value_number(node->graph, name, type, NULL);
    fidc_value **outputs = fidc_allocate(program, (node->output_count + 1) * sizeof *outputs);
    if (!value || !outputs) return NULL;
    if (node->output_count) memcpy(outputs, node->outputs, node->output_count * sizeof *outputs);
    outputs[node->output_count] = value;
    node->outputs = outputs;
    value->origin = FIDC_FROM_NODE;
    value->producer = node;
    value->output_index = node->output_count++;
    return value;
}

/* ---- Inferring outputs ---- */

/* A known expression that agrees with an output size at every point. */
typedef struct fit {
    fidc_program *program;
    const int64_t *wanted; /* by point */
    const fidc_expr *found;
} fit;

static bool fits(fit *f, const fidc_expr *candidate) {
    if (!candidate || f->found) return f->found != NULL;
    for (int p = 0; p < FIDC_POINT_COUNT; p++) {
        if (fidc_expr_at(candidate, (fidc_point)p) != f->wanted[p]) return false;
    }
    f->found = candidate;
    return true;
}

#define MOST_CANDIDATES 64

static size_t collect(const fidc_arg *arg, const fidc_expr **out, size_t count) {
    const fidc_value *value = fidc_value_of(arg);
    if (value && value->type == FIDC_TENSOR) {
        for (size_t i = 0; i < value->rank && count < MOST_CANDIDATES; i++) {
            if (!fidc_expr_is_const(value->sizes[i])) out[count++] = value->sizes[i];
        }
    } else if (value && value->number && count < MOST_CANDIDATES) {
        out[count++] = value->number;
    }
    for (uint32_t i = 0; arg->kind == FIDC_ARG_LIST && i < arg->as.list.count; i++) count = collect(&arg->as.list.items[i], out, count);
    return count;
}

/* Tries the sizes of the inputs, then those plus or times a constant or another size. */
static const fidc_expr *fit_size(const fidc_node *node, const int64_t *wanted) {
    fit f = {node->graph->program, wanted, NULL};
    const fidc_expr *known[MOST_CANDIDATES];
    size_t count = 0;
    for (uint32_t i = 0; i < node->arg_count; i++) count = collect(&node->args[i], known, count);
    for (size_t i = 0; i < count && !f.found; i++) fits(&f, known[i]);
    for (size_t i = 0; i < count && !f.found; i++) {
        int64_t at = fidc_expr_at(known[i], FIDC_AT_HINT), want = wanted[FIDC_AT_HINT];
        fits(&f, fidc_expr_binary(f.program, FIDC_EXPR_ADD, known[i], fidc_expr_const(f.program, want - at)));
        if (at && want % at == 0) fits(&f, fidc_expr_binary(f.program, FIDC_EXPR_MUL, known[i], fidc_expr_const(f.program, want / at)));
        if (want && at % want == 0) fits(&f, fidc_expr_binary(f.program, FIDC_EXPR_FLOORDIV, known[i], fidc_expr_const(f.program, at / want)));
        for (size_t j = i; j < count && !f.found; j++) {
            fits(&f, fidc_expr_binary(f.program, FIDC_EXPR_ADD, known[i], known[j]));
            fits(&f, fidc_expr_binary(f.program, FIDC_EXPR_MUL, known[i], known[j]));
        }
    }
    if (f.found) return f.found;
    int64_t low = wanted[0], high = wanted[0];
    for (int p = 1; p < FIDC_POINT_COUNT; p++) {
        if (wanted[p] < low) low = wanted[p];
        if (wanted[p] > high) high = wanted[p];
    }
    return fidc_expr_bounded(f.program, low < 0 ? 0 : low, high, wanted[FIDC_AT_HINT]);
}

static bool args_are_static(const fidc_node *node) {
    const fidc_expr *known[MOST_CANDIDATES];
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (collect(&node->args[i], known, 0)) return false;
    }
    return true;
}

/* Metas of all outputs at all points: metas[point * count + output]. Static nodes need one point. */
static fid_status infer_points(const fidc_node *node, fid_meta *metas, size_t count, bool is_static) {
    for (int p = 0; p < FIDC_POINT_COUNT; p++) {
        if (p > 0 && is_static) memcpy(metas + (size_t)p * count, metas, count * sizeof *metas);
        else FID_TRY(fidc_infer_at(node, (fidc_point)p, metas + (size_t)p * count, count));
    }
    return FID_OK;
}

static bool fill_output(fidc_node *node, fidc_value *value, const fid_meta *metas, size_t count, size_t index) {
    fidc_program *program = node->graph->program;
    const fid_meta *first = &metas[index];
    value->dtype = first->dtype;
    value->rank = first->rank;
    memcpy(value->dim_order, first->dim_order, first->rank);
    value->sizes = fidc_allocate(program, first->rank * sizeof *value->sizes);
    if (!value->sizes) return false;
    for (size_t d = 0; d < first->rank; d++) {
        int64_t at[FIDC_POINT_COUNT];
        bool by_data = first->bound_dims >> d & 1, same = !by_data;
        for (int p = 0; p < FIDC_POINT_COUNT; p++) {
            at[p] = metas[(size_t)p * count + index].sizes[d];
            same = same && at[p] == at[0];
        }
        if (same) value->sizes[d] = fidc_expr_const(program, at[0]);
        else if (by_data) value->sizes[d] = fidc_expr_bounded(program, 0, at[FIDC_AT_HIGH], at[FIDC_AT_HINT]);
        else value->sizes[d] = fit_size(node, at);
        if (!value->sizes[d]) return false;
    }
    return true;
}

static bool infer_outputs(fidc_node *node, size_t count) {
    fid_meta *metas = fid_allocate(node->graph->program->allocator, FIDC_POINT_COUNT * count * sizeof *metas);
    if (!metas) return false;
    bool ok = infer_points(node, metas, count, args_are_static(node)) == FID_OK;
    for (size_t i = 0; ok && i < count; i++) {
        fidc_value *value = fidc_node_add_output(node, NULL, FIDC_TENSOR);
        ok = value && fill_output(node, value, metas, count, i);
    }
    fid_free(node->graph->program->allocator, metas, FIDC_POINT_COUNT * count * sizeof *metas);
    return ok;
}

/* Numbers out of numbers: the expression where one exists, else an unknown. */
typedef struct prim_row {
    const char *name;
    int kind;
} prim_row;

static const prim_row prims[] = {
    {"executorch_prim::add", FIDC_EXPR_ADD}, {"executorch_prim::mul", FIDC_EXPR_MUL}, {"executorch_prim::floordiv", FIDC_EXPR_FLOORDIV},
    {"executorch_prim::mod", FIDC_EXPR_MOD}, {"executorch_prim::sym_max", FIDC_EXPR_MAX}, {"executorch_prim::sym_min", FIDC_EXPR_MIN},
};

static const fidc_expr *number_arg(fidc_program *program, const fidc_arg *arg) {
    if (arg->kind == FIDC_ARG_INT || arg->kind == FIDC_ARG_BOOL) return fidc_expr_const(program, arg->as.integer);
    const fidc_value *value = fidc_value_of(arg);
    return value && value->type == FIDC_INT ? value->number : NULL;
}

static const fidc_expr *prim_number(const fidc_node *node) {
    fidc_program *program = node->graph->program;
    const char *name = node->op->name;
    if (strcmp(name, "aten::sym_size") == 0 && node->args[1].kind == FIDC_ARG_INT) {
        const fidc_value *x = fidc_value_of(&node->args[0]);
        int64_t dim = node->args[1].as.integer;
        if (dim < 0) dim += x->rank;
        return dim >= 0 && dim < x->rank ? x->sizes[dim] : NULL;
    }
    if (node->arg_count != 2) return NULL;
    const fidc_expr *a = number_arg(program, &node->args[0]), *b = number_arg(program, &node->args[1]);
    if (!a || !b) return NULL;
    if (strcmp(name, "executorch_prim::sub") == 0) {
        return fidc_expr_binary(program, FIDC_EXPR_ADD, a, fidc_expr_binary(program, FIDC_EXPR_MUL, b, fidc_expr_const(program, -1)));
    }
    for (size_t i = 0; i < sizeof prims / sizeof prims[0]; i++) {
        if (strcmp(name, prims[i].name) == 0) return fidc_expr_binary(program, (fidc_expr_kind)prims[i].kind, a, b);
    }
    return NULL;
}

static bool any_float(const fidc_node *node) {
    for (uint32_t i = 0; i < node->arg_count; i++) {
        const fidc_value *value = fidc_value_of(&node->args[i]);
        if (node->args[i].kind == FIDC_ARG_DOUBLE || (value && value->type == FIDC_FLOAT)) return true;
    }
    return false;
}

static fidc_type number_type(const fidc_node *node, const fid_schema_arg *result) {
    if (result->type == FID_SCHEMA_BOOL) return FIDC_BOOL;
    if (result->type == FID_SCHEMA_FLOAT) return FIDC_FLOAT;
    if (result->type == FID_SCHEMA_SCALAR && any_float(node)) return FIDC_FLOAT;
    return FIDC_INT;
}

static bool infer_number(fidc_node *node) {
    fid_schema_cursor cursor = fid_schema_begin(node->op->schema);
    fid_schema_arg result;
    while (fid_schema_next_result(&cursor, &result)) {
        fidc_value *value = fidc_node_add_output(node, NULL, number_type(node, &result));
        if (!value) return false;
        value->number = value->type == FIDC_INT ? prim_number(node) : NULL;
        if (!value->number) value->number = fidc_expr_bounded(node->graph->program, 0, FIDC_UNBOUNDED, 1);
    }
    return true;
}

static bool gives_tensors(const fid_op *op) {
    fid_schema_cursor cursor = fid_schema_begin(op->schema);
    fid_schema_arg result;
    return fid_schema_next_result(&cursor, &result) && result.type == FID_SCHEMA_TENSOR;
}

fidc_node *fidc_node_create(fidc_graph *graph, fidc_node *before, fidc_node *like, fid_op_id op_id, const fidc_arg *args,
                            size_t arg_count, size_t list_outputs) {
    for (size_t i = 0; i < arg_count; i++) {
        if (args[i].kind == FIDC_ARG_VALUE && !args[i].as.value) return NULL; /* an earlier step failed and said why */
    }
    const fid_op *op = &graph->program->ops->ops[op_id];
    fidc_node *node = fidc_node_create_raw(graph, before, op, args, arg_count);
    if (!node) return NULL;
    if (like) {
        node->source = like->source;
        node->module = like->module;
        node->part_of = like->part_of;
    }
    bool ok = gives_tensors(op) ? infer_outputs(node, fidc_output_count(op, list_outputs)) : infer_number(node);
    if (ok) return node;
    fidc_node_remove(node);
    return NULL;
}

/* ---- Questions ---- */

bool fidc_is(const fidc_node *node, fid_op_id op) { return node && node->op == &node->graph->program->ops->ops[op]; }

fid_op_id fidc_op_id(const fidc_program *program, const fid_op *op) {
    uintptr_t at = (uintptr_t)op, first = (uintptr_t)program->ops->ops;
    bool inside = at >= first && at < first + program->ops->count * sizeof *op;
    return inside ? (fid_op_id)((at - first) / sizeof *op) : FID_OP_COUNT;
}

bool fidc_sizes_static(const fidc_value *value) {
    for (size_t i = 0; i < value->rank; i++) {
        if (!fidc_expr_is_const(value->sizes[i])) return false;
    }
    return true;
}

static bool same_everywhere(const fidc_expr *a, const fidc_expr *b) {
    if (a == b) return true;
    if (a->kind == FIDC_EXPR_BOUNDED || b->kind == FIDC_EXPR_BOUNDED) return false;
    for (int p = 0; p < FIDC_POINT_COUNT; p++) {
        if (fidc_expr_at(a, (fidc_point)p) != fidc_expr_at(b, (fidc_point)p)) return false;
    }
    return true;
}

bool fidc_same_sizes(const fidc_value *a, const fidc_value *b) {
    if (a->rank != b->rank) return false;
    for (size_t i = 0; i < a->rank; i++) {
        if (!same_everywhere(a->sizes[i], b->sizes[i])) return false;
    }
    return true;
}

bool fidc_is_constant(const fidc_value *value) { return value->origin == FIDC_FROM_CONSTANT && !value->constant->is_mutable; }

int64_t fidc_size(const fidc_value *value, size_t dim) {
    return dim < value->rank && fidc_expr_is_const(value->sizes[dim]) ? value->sizes[dim]->constant : -1;
}

fidc_value *fidc_value_scalar(fidc_graph *graph, fid_dtype dtype, double number) {
    uint8_t *data = fidc_allocate(graph->program, 16);
    if (!data) return NULL;
    switch (dtype) {
    case FID_FLOAT32: { float v = (float)number; memcpy(data, &v, sizeof v); break; }
    case FID_FLOAT64: memcpy(data, &number, sizeof number); break;
    case FID_INT64: { int64_t v = (int64_t)number; memcpy(data, &v, sizeof v); break; }
    case FID_INT32: { int32_t v = (int32_t)number; memcpy(data, &v, sizeof v); break; }
    case FID_INT16: { int16_t v = (int16_t)number; memcpy(data, &v, sizeof v); break; }
    case FID_INT8: { int8_t v = (int8_t)number; memcpy(data, &v, sizeof v); break; }
    case FID_UINT8: data[0] = (uint8_t)(int64_t)number; break;
    case FID_BOOL: data[0] = number != 0; break;
    case FID_FLOAT16: { uint16_t v = fid_f16_from_double(number); memcpy(data, &v, sizeof v); break; }
    case FID_BFLOAT16: { uint16_t v = fid_bf16_from_float((float)number); memcpy(data, &v, sizeof v); break; }
    case FID_COMPLEX64: { fid_complex64 v = {(float)number, 0}; memcpy(data, &v, sizeof v); break; }
    case FID_COMPLEX128: { fid_complex128 v = {number, 0}; memcpy(data, &v, sizeof v); break; }
    default:
        fid_fail(graph->program->sink, FID_INVALID_TYPE, "no scalar constant of dtype %s", fid_dtype_name(dtype));
        return NULL;
    }
    return fidc_value_constant(graph, NULL, dtype, NULL, 0, data, fid_dtype_size(dtype));
}
