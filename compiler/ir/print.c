/* The text form of the IR, printed. The grammar is in ir.h; print and parse are each other's inverse. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/half.h"
#include "compiler/ir/ir.h"

/* Constants up to this many elements carry their data in the text. */
#define INLINE_ELEMENTS 32

typedef struct printer {
    char *text;
    size_t length, capacity;
    bool failed;
} printer;

static void put(printer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(printer *p, const char *format, ...) {
    for (int attempt = 0; attempt < 2 && !p->failed; attempt++) {
        va_list list;
        va_start(list, format);
        int written = vsnprintf(p->text ? p->text + p->length : NULL, p->capacity - p->length, format, list);
        va_end(list);
        if (written >= 0 && (size_t)written < p->capacity - p->length) {
            p->length += (size_t)written;
            return;
        }
        size_t capacity = (p->capacity + (size_t)(written < 0 ? 0 : written)) * 2 + 1024;
        char *text = realloc(p->text, capacity);
        if (!text) p->failed = true;
        else p->text = text, p->capacity = capacity;
    }
}

static void put_indent(printer *p, int depth) { put(p, "%*s", depth * 2, ""); }

static void put_expr(printer *p, const fidc_expr *e) {
    char text[400];
    fidc_expr_print(e, text, sizeof text);
    put(p, "%s", text);
}

static bool is_row_major(const fidc_value *v) {
    for (size_t i = 0; i < v->rank; i++) {
        if (v->dim_order[i] != i) return false;
    }
    return true;
}

static void put_type(printer *p, const fidc_value *v) {
    static const char *const number_names[] = {[FIDC_INT] = "int", [FIDC_FLOAT] = "float", [FIDC_BOOL] = "bool"};
    if (v->type == FIDC_NOTHING) { put(p, "none"); return; }
    if (v->type != FIDC_TENSOR) {
        put(p, "%s", number_names[v->type]);
        if (v->number) { put(p, "("); put_expr(p, v->number); put(p, ")"); }
        return;
    }
    put(p, "%s[", fid_dtype_short_name((fid_dtype)v->dtype));
    for (size_t i = 0; i < v->rank; i++) {
        if (i) put(p, ", ");
        put_expr(p, v->sizes[i]);
    }
    put(p, "]");
    if (is_row_major(v)) return;
    put(p, "{");
    for (size_t i = 0; i < v->rank; i++) put(p, i ? ", %d" : "%d", v->dim_order[i]);
    put(p, "}");
}

static void put_value(printer *p, const fidc_value *v) {
    put(p, "%%%s: ", v->name);
    put_type(p, v);
}

static void put_double(printer *p, double d) {
    if (isnan(d)) put(p, "nan");
    else if (isinf(d)) put(p, d < 0 ? "-inf" : "inf");
    else {
        char text[40];
        snprintf(text, sizeof text, "%.17g", d);
        double back = 0;
        for (int digits = 6; digits < 17; digits++) { /* the shortest text that reads back as the same number */
            char shorter[40];
            snprintf(shorter, sizeof shorter, "%.*g", digits, d);
            back = strtod(shorter, NULL);
            if (back == d) { memcpy(text, shorter, sizeof text); break; }
        }
        put(p, strpbrk(text, ".en") ? "%s" : "%s.0", text);
    }
}

static void put_string(printer *p, const char *text) {
    put(p, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') put(p, "\\%c", *text);
        else if (*text == '\n') put(p, "\\n");
        else put(p, "%c", *text);
    }
    put(p, "\"");
}

static void put_arg(printer *p, const fidc_arg *arg) {
    long long integer = (long long)arg->as.integer;
    switch (arg->kind) {
    case FIDC_ARG_VALUE: put(p, "%%%s", fidc_value_of(arg)->name); break;
    case FIDC_ARG_INT: put(p, "%lld", integer); break;
    case FIDC_ARG_DOUBLE: put_double(p, arg->as.number); break;
    case FIDC_ARG_BOOL: put(p, integer ? "True" : "False"); break;
    case FIDC_ARG_STRING: put_string(p, arg->as.text); break;
    case FIDC_ARG_DTYPE: put(p, "dtype.%s", fid_dtype_short_name((fid_dtype)integer)); break;
    case FIDC_ARG_LAYOUT: put(p, "layout.%lld", integer); break;
    case FIDC_ARG_MEMORY_FORMAT: put(p, "format.%lld", integer); break;
    case FIDC_ARG_DEVICE: put(p, "device.%s", arg->as.text); break;
    case FIDC_ARG_LIST:
        put(p, "[");
        for (uint32_t i = 0; i < arg->as.list.count; i++) {
            if (i) put(p, ", ");
            put_arg(p, &arg->as.list.items[i]);
        }
        put(p, "]");
        break;
    default: put(p, "None"); break;
    }
}

/* Whole numbers print exactly: not every one is a double. */
static void put_element(printer *p, const fidc_value *v, size_t i) {
    const uint8_t *at = (const uint8_t *)v->constant->data + i * fid_dtype_size((fid_dtype)v->dtype);
    switch (v->dtype) {
#define CASE_OF(NAME, type, print)                                                                                     \
    case FID_##NAME: { type x; memcpy(&x, at, sizeof x); print; return; }
        CASE_OF(FLOAT32, float, put_double(p, (double)x)) CASE_OF(FLOAT64, double, put_double(p, x))
        CASE_OF(BFLOAT16, uint16_t, put_double(p, (double)fid_float_from_bf16(x)))
        CASE_OF(FLOAT16, uint16_t, put_double(p, (double)fid_float_from_f16(x)))
        CASE_OF(INT64, int64_t, put(p, "%lld", (long long)x)) CASE_OF(INT32, int32_t, put(p, "%d", x))
        CASE_OF(INT16, int16_t, put(p, "%d", x)) CASE_OF(INT8, int8_t, put(p, "%d", x))
        CASE_OF(UINT8, uint8_t, put(p, "%d", x)) CASE_OF(BOOL, uint8_t, put(p, "%d", x))
#undef CASE_OF
    default: put(p, "0"); return;
    }
}

static void put_constant(printer *p, const fidc_value *v, int depth) {
    put_indent(p, depth);
    put(p, "%s ", v->constant->is_mutable ? "buffer" : "const");
    put_value(p, v);
    put(p, " = ");
    put_string(p, v->constant->name);
    size_t size = fid_dtype_size((fid_dtype)v->dtype), count = size ? v->constant->bytes / size : 0;
    if (v->constant->data && count <= INLINE_ELEMENTS && !fid_dtype_is_complex((fid_dtype)v->dtype)) {
        put(p, " {");
        for (size_t i = 0; i < count; i++) {
            if (i) put(p, ", ");
            put_element(p, v, i);
        }
        put(p, "}");
    }
    put(p, "\n");
}

static void put_op_name(printer *p, const fid_op *op) {
    const char *colons = strstr(op->name, "::");
    put(p, "%.*s.%s", (int)(colons - op->name), op->name, colons + 2);
    if (op->overload[0]) put(p, ".%s", op->overload);
}

static void put_graph(printer *p, const fidc_graph *graph, int depth);

static void put_node(printer *p, const fidc_node *node, int depth) {
    put_indent(p, depth);
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (i) put(p, ", ");
        put_value(p, node->outputs[i]);
    }
    if (node->output_count) put(p, " = ");
    put_op_name(p, node->op);
    put(p, node->in_place ? "!(" : "(");
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (i) put(p, ", ");
        put_arg(p, &node->args[i]);
    }
    put(p, ")");
    for (uint32_t i = 0; i < node->graph_count; i++) {
        put(p, " graph");
        put_graph(p, node->graphs[i], depth);
    }
    put(p, "\n");
}

/* "(%x: f32[2]) {" body "}" */
static void put_graph(printer *p, const fidc_graph *graph, int depth) {
    put(p, "(");
    for (uint32_t i = 0; i < graph->input_count; i++) {
        if (i) put(p, ", ");
        put_value(p, graph->inputs[i]);
    }
    put(p, ") {\n");
    for (uint32_t i = 0; i < graph->value_count; i++) {
        if (graph->values[i]->origin == FIDC_FROM_CONSTANT && !graph->values[i]->forward) put_constant(p, graph->values[i], depth + 1);
    }
    for (const fidc_node *node = graph->first; node; node = node->next) put_node(p, node, depth + 1);
    for (uint32_t i = 0; i < graph->mutation_count; i++) {
        put_indent(p, depth + 1);
        put(p, "update %%%s <- %%%s\n", graph->mutations[i].target->name, fidc_resolve(graph->mutations[i].value)->name);
    }
    put_indent(p, depth + 1);
    put(p, "return");
    for (uint32_t i = 0; i < graph->output_count; i++) {
        put(p, i ? ", " : " ");
        put_arg(p, &graph->outputs[i]);
    }
    put(p, "\n");
    put_indent(p, depth);
    put(p, "}");
}

static int by_name(const void *a, const void *b) {
    return strcmp((*(const fidc_expr *const *)a)->symbol, (*(const fidc_expr *const *)b)->symbol);
}

static void put_symbols(printer *p, const fidc_program *program) {
    const fidc_expr *symbols[256];
    size_t count = 0;
    for (uint32_t i = 0; i < program->expr_capacity && count < 256; i++) {
        const fidc_expr *e = program->exprs[i];
        if (e && e->kind == FIDC_EXPR_SYMBOL) symbols[count++] = e;
    }
    qsort(symbols, count, sizeof *symbols, by_name);
    for (size_t i = 0; i < count; i++) {
        put(p, "symbol %s in [%lld, ", symbols[i]->symbol, (long long)symbols[i]->low);
        if (symbols[i]->high == FIDC_UNBOUNDED) put(p, "inf]");
        else put(p, "%lld]", (long long)symbols[i]->high);
        put(p, " hint %lld\n", (long long)symbols[i]->hint);
    }
}

fid_status fidc_print(const fidc_program *program, char **out_text) {
    printer p = {0};
    put_symbols(&p, program);
    for (uint32_t i = 0; i < program->method_count; i++) {
        put(&p, "method %s", program->methods[i]->name);
        put_graph(&p, program->methods[i], 0);
        put(&p, "\n");
    }
    *out_text = p.failed ? NULL : fid_arena_copy_text((fid_arena *)(uintptr_t)&program->arena, p.text ? p.text : "", p.length);
    free(p.text);
    return *out_text ? FID_OK : fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory to print the program");
}
