/* The text form of the IR, parsed. The grammar is in ir.h. Errors name the line. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/half.h"
#include "compiler/ir/custom.h"

typedef struct parser {
    fidc_program *program;
    const char *at, *end;
    int line;
    fid_status status;
} parser;

typedef struct name_list { fidc_value **items; uint32_t count; } name_list;

static bool fail(parser *p, const char *what) {
    if (p->status == FID_OK) {
        p->status = fid_fail(p->program->sink, FID_INVALID_ARGUMENT, "IR text, line %d: %s, found \"%.*s\"", p->line, what,
                             (int)(p->end - p->at > 30 ? 30 : p->end - p->at), p->at);
    }
    return false;
}

static void skip(parser *p) {
    for (; p->at < p->end; p->at++) {
        if (*p->at == '\n') p->line++;
        else if (*p->at == '#') {
            while (p->at < p->end && *p->at != '\n') p->at++;
            p->at--;
        } else if (!isspace((unsigned char)*p->at)) return;
    }
}

static bool accept(parser *p, const char *text) {
    skip(p);
    size_t length = strlen(text);
    if ((size_t)(p->end - p->at) < length || memcmp(p->at, text, length) != 0) return false;
    /* A word must end there: "in" does not match "int". */
    bool word = isalnum((unsigned char)text[length - 1]);
    if (word && p->at + length < p->end && (isalnum((unsigned char)p->at[length]) || p->at[length] == '_')) return false;
    p->at += length;
    return true;
}

static bool expect(parser *p, const char *text) {
    if (accept(p, text)) return true;
    char what[60];
    snprintf(what, sizeof what, "expected \"%s\"", text);
    return fail(p, what);
}

static bool is_word_char(char c) { return isalnum((unsigned char)c) || c == '_'; }

static const char *read_word(parser *p, const char *extra) {
    skip(p);
    const char *start = p->at;
    while (p->at < p->end && (is_word_char(*p->at) || strchr(extra, *p->at))) p->at++;
    if (p->at == start) { fail(p, "expected a name"); return NULL; }
    return fid_arena_copy_text(&p->program->arena, start, (size_t)(p->at - start));
}

static const char *read_string(parser *p) {
    if (!expect(p, "\"")) return NULL;
    char *text = fidc_allocate(p->program, (size_t)(p->end - p->at) + 1);
    size_t length = 0;
    while (text && p->at < p->end && *p->at != '"') {
        if (*p->at == '\\' && p->at + 1 < p->end) {
            p->at++;
            text[length++] = *p->at == 'n' ? '\n' : *p->at;
        } else text[length++] = *p->at;
        p->at++;
    }
    return expect(p, "\"") ? text : NULL;
}

/* An expression up to a ',' or closing bracket at its own level. */
static const fidc_expr *read_expr(parser *p) {
    skip(p);
    const char *start = p->at;
    for (int depth = 0; p->at < p->end; p->at++) {
        if (*p->at == '(' || *p->at == '[') depth++;
        else if (depth == 0 && (*p->at == ',' || *p->at == ')' || *p->at == ']')) break;
        else if (*p->at == ')' || *p->at == ']') depth--;
    }
    char *text = fid_arena_copy_text(&p->program->arena, start, (size_t)(p->at - start));
    const fidc_expr *e = text ? fidc_expr_parse(p->program, text) : NULL;
    if (!e) fail(p, "expected a size");
    return e;
}

/* ---- Types and values ---- */

typedef struct type_text {
    fidc_type type;
    fid_dtype dtype;
    const fidc_expr *sizes[FID_MAX_RANK];
    const fidc_expr *number;
    size_t rank;
    uint8_t dim_order[FID_MAX_RANK];
} type_text;

static bool read_number_type(parser *p, type_text *t) {
    if (accept(p, "int")) t->type = FIDC_INT;
    else if (accept(p, "float")) t->type = FIDC_FLOAT;
    else if (accept(p, "bool")) t->type = FIDC_BOOL;
    else return false;
    if (accept(p, "(")) {
        t->number = read_expr(p);
        expect(p, ")");
    }
    return true;
}

static bool read_type(parser *p, type_text *t) {
    memset(t, 0, sizeof *t);
    if (accept(p, "none")) return true;
    if (read_number_type(p, t)) return p->status == FID_OK;
    const char *name = read_word(p, "");
    t->type = FIDC_TENSOR;
    if (!name) return false;
    t->dtype = fid_dtype_from_name(name);
    if (t->dtype == FID_DTYPE_NONE) return fail(p, "expected a dtype before this");
    if (!expect(p, "[")) return false;
    while (!accept(p, "]")) {
        if (t->rank == FID_MAX_RANK || (t->rank && !expect(p, ","))) return fail(p, "expected a size or ]");
        t->sizes[t->rank++] = read_expr(p);
        if (p->status != FID_OK) return false;
    }
    for (size_t i = 0; i < t->rank; i++) t->dim_order[i] = (uint8_t)i;
    if (!accept(p, "{")) return true;
    for (size_t i = 0; i < t->rank; i++) {
        if (i && !expect(p, ",")) return false;
        skip(p);
        t->dim_order[i] = (uint8_t)strtol(p->at, (char **)(uintptr_t)&p->at, 10);
    }
    if (!fid_dim_order_valid(t->dim_order, t->rank)) return fail(p, "the dim order is no permutation");
    return expect(p, "}");
}

static void set_type(fidc_value *value, const type_text *t) {
    memcpy(value->dim_order, t->dim_order, t->rank);
}

static fidc_value *make_value(parser *p, fidc_graph *graph, const char *name, const type_text *t) {
    fidc_value *value = t->type == FIDC_TENSOR ? fidc_value_tensor(graph, name, t->dtype, t->sizes, t->rank)
                                               : fidc_value_number(graph, name, t->type, t->number);
    if (!value) fail(p, "out of memory");
    else set_type(value, t);
    return value;
}

static fidc_value *find_value(parser *p, const fidc_graph *graph, const char *name) {
    for (uint32_t i = graph->value_count; i-- > 0;) {
        if (strcmp(graph->values[i]->name, name) == 0) return graph->values[i];
    }
    fail(p, "no value has this name, before here");
    return NULL;
}

/* ---- Arguments ---- */

static bool read_arg(parser *p, fidc_graph *graph, fidc_arg *out);

static bool read_list(parser *p, fidc_graph *graph, fidc_arg *out) {
    fidc_arg items[1024];
    size_t count = 0;
    while (!accept(p, "]")) {
        if (count == 1024 || (count && !expect(p, ","))) return fail(p, "expected , or ]");
        if (!read_arg(p, graph, &items[count++])) return false;
    }
    *out = fidc_list(p->program, items, count);
    return true;
}

static bool read_number(parser *p, fidc_arg *out) {
    char *end_integer, *end_double;
    skip(p);
    long long integer = strtoll(p->at, &end_integer, 10);
    double number = strtod(p->at, &end_double);
    if (end_double == p->at) return fail(p, "expected an argument");
    *out = end_double > end_integer ? fidc_d(number) : fidc_i(integer);
    p->at = end_double > end_integer ? end_double : end_integer;
    return true;
}

static bool read_named(parser *p, uint8_t kind, fidc_arg *out) {
    const char *word = read_word(p, ":");
    if (!word) return false;
    *out = (fidc_arg){.kind = kind};
    if (kind == FIDC_ARG_DEVICE) out->as.text = word;
    else if (kind == FIDC_ARG_DTYPE) out->as.integer = fid_dtype_from_name(word);
    else out->as.integer = strtoll(word, NULL, 10);
    return true;
}

static bool read_arg(parser *p, fidc_graph *graph, fidc_arg *out) {
    skip(p);
    if (accept(p, "%")) {
        const char *name = read_word(p, "");
        fidc_value *value = name ? find_value(p, graph, name) : NULL;
        *out = fidc_v(value);
        return value != NULL;
    }
    if (accept(p, "[")) return read_list(p, graph, out);
    if (accept(p, "None")) { *out = fidc_none(); return true; }
    if (accept(p, "True")) { *out = fidc_b(true); return true; }
    if (accept(p, "False")) { *out = fidc_b(false); return true; }
    if (accept(p, "dtype.")) return read_named(p, FIDC_ARG_DTYPE, out);
    if (accept(p, "layout.")) return read_named(p, FIDC_ARG_LAYOUT, out);
    if (accept(p, "format.")) return read_named(p, FIDC_ARG_MEMORY_FORMAT, out);
    if (accept(p, "device.")) return read_named(p, FIDC_ARG_DEVICE, out);
    if (p->at < p->end && *p->at == '"') {
        *out = (fidc_arg){.kind = FIDC_ARG_STRING, .as.text = read_string(p)};
        return out->as.text != NULL;
    }
    return read_number(p, out);
}

/* ---- Statements ---- */

static bool store_float(parser *p, uint8_t *at, fid_dtype dtype, double number) {
    float f = (float)number;
    uint16_t half = dtype == FID_BFLOAT16 ? fid_bf16_from_float(f) : fid_f16_from_float(f);
    switch (dtype) {
    case FID_FLOAT32: memcpy(at, &f, sizeof f); return true;
    case FID_FLOAT64: memcpy(at, &number, sizeof number); return true;
    case FID_BFLOAT16:
    case FID_FLOAT16: memcpy(at, &half, sizeof half); return true;
    default: return fail(p, "data of this dtype cannot stand in text");
    }
}

static bool store_integer(parser *p, uint8_t *at, fid_dtype dtype, int64_t number) {
    switch (dtype) {
#define CASE_OF(NAME, type)                                                                                            \
    case FID_##NAME: {                                                                                                 \
        type x = (type)number;                                                                                         \
        memcpy(at, &x, sizeof x);                                                                                      \
        return (int64_t)x == number || fail(p, "the number does not fit its dtype");                                   \
    }
        CASE_OF(INT64, int64_t) CASE_OF(INT32, int32_t) CASE_OF(INT16, int16_t) CASE_OF(INT8, int8_t) CASE_OF(UINT8, uint8_t)
        CASE_OF(BOOL, uint8_t)
#undef CASE_OF
    default: return fail(p, "data of this dtype cannot stand in text");
    }
}

static bool store(parser *p, uint8_t *at, fid_dtype dtype, const fidc_arg *number) {
    bool whole = number->kind == FIDC_ARG_INT;
    if (fid_dtype_is_float(dtype)) return store_float(p, at, dtype, whole ? (double)number->as.integer : number->as.number);
    return whole ? store_integer(p, at, dtype, number->as.integer) : fail(p, "expected a whole number before this");
}

static bool read_data(parser *p, uint8_t *data, fid_dtype dtype, size_t count) {
    for (size_t i = 0; i < count; i++) {
        fidc_arg number;
        if ((i && !expect(p, ",")) || !read_number(p, &number)) return false;
        if (!store(p, data + i * fid_dtype_size(dtype), dtype, &number)) return false;
    }
    return expect(p, "}");
}

static bool read_constant(parser *p, fidc_graph *graph, bool is_mutable) {
    type_text t;
    if (!expect(p, "%")) return false;
    const char *name = read_word(p, "");
    if (!name || !expect(p, ":") || !read_type(p, &t) || !expect(p, "=")) return false;
    const char *full_name = read_string(p);
    if (!full_name || t.type != FIDC_TENSOR) return fail(p, "a constant is a tensor with a quoted name");
    int64_t sizes[FID_MAX_RANK];
    size_t count, bytes;
    for (size_t i = 0; i < t.rank; i++) {
        if (!fidc_expr_is_const(t.sizes[i])) return fail(p, "a constant has sizes that are numbers");
        sizes[i] = t.sizes[i]->constant;
    }
    if (!fid_mul_sizes(sizes, t.rank, &count) || !fid_mul_size(count, fid_dtype_size(t.dtype), &bytes)) return fail(p, "the constant is too large");
    uint8_t *data = fidc_allocate(p->program, bytes);
    fidc_value *value = data ? fidc_value_constant(graph, name, t.dtype, sizes, t.rank, data, bytes) : NULL;
    if (!value) return fail(p, "out of memory");
    set_type(value, &t);
    fidc_constant *constant = (fidc_constant *)(uintptr_t)value->constant;
    constant->name = constant->key = full_name;
    constant->is_mutable = is_mutable;
    return !accept(p, "{") || read_data(p, data, t.dtype, count);
}

static const fid_op *read_op(parser *p) {
    const char *text = read_word(p, ".");
    const char *dot = text ? strchr(text, '.') : NULL;
    if (!dot) { fail(p, "expected an operator such as aten.add.Tensor"); return NULL; }
    const char *second = strchr(dot + 1, '.');
    size_t length = second ? (size_t)(second - dot - 1) : strlen(dot + 1);
    char *name = fidc_text_format(p->program, "%.*s::%.*s", (int)(dot - text), text, (int)length, dot + 1);
    const fid_op *op = name ? fid_op_find(p->program->ops, name, second ? second + 1 : "") : NULL;
    if (name && !op) op = fidc_custom_find(p->program, name, second ? second + 1 : "");
    if (!op) fail(p, "this operator has no row, before here");
    return op;
}

static bool read_graph(parser *p, fidc_graph *graph);

static bool read_call(parser *p, fidc_graph *graph, const char *const *names, const type_text *types, uint32_t output_count) {
    const fid_op *op = read_op(p);
    bool in_place = op && accept(p, "!");
    fidc_arg args[64];
    size_t count = 0;
    if (!op || !expect(p, "(")) return false;
    while (!accept(p, ")")) {
        if (count == 64 || (count && !expect(p, ","))) return fail(p, "expected , or )");
        if (!read_arg(p, graph, &args[count++])) return false;
    }
    fidc_node *node = fidc_node_create_raw(graph, NULL, op, args, count);
    if (!node) return fail(p, "the call does not fit its schema, before here");
    node->in_place = in_place;
    for (uint32_t i = 0; i < output_count; i++) {
        fidc_value *value = fidc_node_add_output(node, names[i], types[i].type);
        if (!value) return fail(p, "out of memory");
        value->dtype = (uint8_t)types[i].dtype;
        value->rank = (uint8_t)types[i].rank;
        value->number = types[i].number;
        value->sizes = fidc_allocate(p->program, types[i].rank * sizeof *value->sizes);
        if (!value->sizes) return fail(p, "out of memory");
        memcpy(value->sizes, types[i].sizes, types[i].rank * sizeof *value->sizes);
        set_type(value, &types[i]);
    }
    while (accept(p, "graph")) {
        fidc_graph *inner = fidc_graph_create(p->program, NULL);
        fidc_graph **graphs = fidc_allocate(p->program, (node->graph_count + 1) * sizeof *graphs);
        if (!inner || !graphs || !read_graph(p, inner)) return fail(p, "expected a graph");
        if (node->graph_count) memcpy(graphs, node->graphs, node->graph_count * sizeof *graphs);
        graphs[node->graph_count++] = inner;
        node->graphs = graphs;
    }
    return true;
}

#define MOST_OUTPUTS 512

static bool read_node(parser *p, fidc_graph *graph) {
    const char **names = fidc_allocate(p->program, MOST_OUTPUTS * sizeof *names);
    type_text *types = calloc(MOST_OUTPUTS, sizeof *types);
    uint32_t count = 0;
    bool ok = names && types;
    while (ok && accept(p, "%")) {
        names[count] = read_word(p, "");
        ok = names[count] && expect(p, ":") && read_type(p, &types[count]) && ++count < MOST_OUTPUTS;
        if (ok && !accept(p, ",")) break;
    }
    ok = ok && (!count || expect(p, "=")) && read_call(p, graph, names, types, count);
    free(types);
    return ok;
}

static bool read_mutation(parser *p, fidc_graph *graph) {
    fidc_arg target, value;
    if (!read_arg(p, graph, &target) || !expect(p, "<-") || !read_arg(p, graph, &value)) return false;
    fidc_mutation *all = fidc_allocate(p->program, (graph->mutation_count + 1) * sizeof *all);
    if (!all) return fail(p, "out of memory");
    if (graph->mutation_count) memcpy(all, graph->mutations, graph->mutation_count * sizeof *all);
    all[graph->mutation_count++] = (fidc_mutation){target.as.value, value.as.value};
    graph->mutations = all;
    return true;
}

static bool read_inputs(parser *p, fidc_graph *graph) {
    fidc_value *inputs[256];
    uint32_t count = 0;
    if (!expect(p, "(")) return false;
    while (!accept(p, ")")) {
        type_text t;
        if (count == 256 || (count && !expect(p, ",")) || !expect(p, "%")) return false;
        const char *name = read_word(p, "");
        if (!name || !expect(p, ":") || !read_type(p, &t)) return false;
        if (!(inputs[count++] = make_value(p, graph, name, &t))) return false;
    }
    graph->inputs = fidc_allocate(p->program, count * sizeof *graph->inputs);
    if (!graph->inputs) return fail(p, "out of memory");
    memcpy(graph->inputs, inputs, count * sizeof *inputs);
    graph->input_count = count;
    return true;
}

static bool read_return(parser *p, fidc_graph *graph) {
    fidc_arg outputs[256];
    size_t count = 0;
    while (!accept(p, "}")) {
        if (count == 256 || (count && !expect(p, ","))) return false;
        if (!read_arg(p, graph, &outputs[count++])) return false;
    }
    fidc_arg list = fidc_list(p->program, outputs, count);
    graph->outputs = list.as.list.items;
    graph->output_count = (uint32_t)count;
    return true;
}

static bool read_graph(parser *p, fidc_graph *graph) {
    if (!read_inputs(p, graph) || !expect(p, "{")) return false;
    for (;;) {
        if (accept(p, "return")) return read_return(p, graph);
        bool ok;
        if (accept(p, "const")) ok = read_constant(p, graph, false);
        else if (accept(p, "buffer")) ok = read_constant(p, graph, true);
        else if (accept(p, "update")) ok = read_mutation(p, graph);
        else ok = read_node(p, graph);
        if (!ok || p->status != FID_OK) return fail(p, "expected a statement");
    }
}

static bool read_bound(parser *p, int64_t *out) {
    fidc_arg number;
    if (!read_number(p, &number)) return false;
    *out = number.kind == FIDC_ARG_INT ? number.as.integer : FIDC_UNBOUNDED;
    return true;
}

static bool read_symbol(parser *p) {
    const char *name = read_word(p, "");
    int64_t low, high, hint;
    if (!name || !expect(p, "in") || !expect(p, "[") || !read_bound(p, &low) || !expect(p, ",") || !read_bound(p, &high) ||
        !expect(p, "]") || !expect(p, "hint") || !read_bound(p, &hint)) return false;
    return fidc_expr_symbol(p->program, name, low, high, hint) != NULL;
}

fid_status fidc_parse(fidc_program *program, const char *text, size_t length) {
    /* strtod and friends need the closing zero that a slice of a larger text may lack. */
    char *copy = fid_arena_copy_text(&program->arena, text, length);
    if (!copy) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory for %zu bytes of IR text", length);
    if (memchr(copy, 0, length)) return fid_fail(program->sink, FID_INVALID_ARGUMENT, "IR text holds a zero byte: it is no text");
    parser p = {program, copy, copy + length, 1, FID_OK};
    for (skip(&p); p.at < p.end && p.status == FID_OK; skip(&p)) {
        if (accept(&p, "symbol")) {
            if (!read_symbol(&p)) fail(&p, "expected: symbol NAME in [LOW, HIGH] hint N");
            continue;
        }
        const char *name = expect(&p, "method") ? read_word(&p, "") : NULL;
        fidc_graph *graph = name ? fidc_graph_create(program, name) : NULL;
        if (!graph || !read_graph(&p, graph)) fail(&p, "expected a method");
    }
    return p.status;
}
