/* Programs and graphs: their memory, values, and cleaning up. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "compiler/ir/ir.h"

#define ARENA_BLOCK (256 * 1024)

fid_status fidc_program_create(fid_allocator allocator, const fid_sink *sink, const fid_op_table *ops, fidc_program **out_program) {
    fid_arena arena;
    fid_arena_init(&arena, allocator, ARENA_BLOCK);
    fidc_program *program = fid_arena_allocate(&arena, sizeof *program, 16);
    if (!program) return fid_fail(sink, FID_OUT_OF_MEMORY, "no memory for a program");
    *program = (fidc_program){.arena = arena, .allocator = allocator, .sink = sink, .ops = ops};
    *out_program = program;
    return FID_OK;
}

void fidc_program_destroy(fidc_program *program) {
    if (!program) return;
    if (program->destroy_owner) program->destroy_owner(program->owner);
    fid_arena arena = program->arena; /* the program itself lies in it */
    fid_arena_deinit(&arena);
}

void *fidc_allocate(fidc_program *program, size_t size) { return fid_arena_allocate(&program->arena, size, 16); }

char *fidc_text(fidc_program *program, const char *text) { return fid_arena_copy_text(&program->arena, text, strlen(text)); }

char *fidc_text_format(fidc_program *program, const char *format, ...) {
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    int length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    char *text = length < 0 ? NULL : fid_arena_allocate(&program->arena, (size_t)length + 1, 1);
    if (text) vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

void fidc_program_forget(const fidc_program *program) {
    if (program->forget_owner) program->forget_owner(program->owner);
}

fidc_graph *fidc_graph_create(fidc_program *program, const char *name) {
    fidc_graph *graph = fidc_allocate(program, sizeof *graph);
    if (!graph) return NULL;
    graph->program = program;
    if (!name) return graph;
    graph->name = fidc_text(program, name);
    fidc_graph **methods = fidc_allocate(program, (program->method_count + 1) * sizeof *methods);
    if (!methods || !graph->name) return NULL;
    if (program->method_count) memcpy(methods, program->methods, program->method_count * sizeof *methods);
    methods[program->method_count++] = graph;
    program->methods = methods;
    return graph;
}

/* ---- Values ---- */

static fidc_value *add_value(fidc_graph *graph, const char *name, fidc_type type) {
    fidc_program *program = graph->program;
    if (graph->value_count == graph->value_capacity) {
        uint32_t capacity = graph->value_capacity ? graph->value_capacity * 2 : 64;
        fidc_value **values = fidc_allocate(program, capacity * sizeof *values);
        if (!values) return NULL;
        if (graph->value_count) memcpy(values, graph->values, graph->value_count * sizeof *values);
        graph->values = values;
        graph->value_capacity = capacity;
    }
    fidc_value *value = fidc_allocate(program, sizeof *value);
    if (!value) return NULL;
    value->name = name ? fidc_text(program, name) : fidc_text_format(program, "_%u", graph->name_counter++);
    value->type = (uint8_t)type;
    value->dtype = (uint8_t)FID_DTYPE_NONE;
    value->id = graph->value_count;
    graph->values[graph->value_count++] = value;
    return value->name ? value : NULL;
}

fidc_value *fidc_value_tensor(fidc_graph *graph, const char *name, fid_dtype dtype, const fidc_expr *const *sizes, size_t rank) {
    fidc_value *value = add_value(graph, name, FIDC_TENSOR);
    if (!value || rank > FID_MAX_RANK) return NULL;
    value->origin = FIDC_FROM_INPUT;
    value->dtype = (uint8_t)dtype;
    value->rank = (uint8_t)rank;
    value->sizes = fidc_allocate(graph->program, rank * sizeof *value->sizes);
    if (!value->sizes) return NULL;
    for (size_t i = 0; i < rank; i++) {
        value->sizes[i] = sizes[i];
        value->dim_order[i] = (uint8_t)i;
    }
    return value;
}

fidc_value *fidc_value_number(fidc_graph *graph, const char *name, fidc_type type, const fidc_expr *number) {
    fidc_value *value = add_value(graph, name, type);
    if (!value) return NULL;
    value->origin = FIDC_FROM_INPUT;
    value->number = number;
    return value;
}

fidc_value *fidc_value_constant(fidc_graph *graph, const char *name, fid_dtype dtype, const int64_t *sizes, size_t rank,
                                const void *data, size_t bytes) {
    fidc_program *program = graph->program;
    const fidc_expr *exprs[FID_MAX_RANK];
    for (size_t i = 0; i < rank && i < FID_MAX_RANK; i++) exprs[i] = fidc_expr_const(program, sizes[i]);
    fidc_value *value = fidc_value_tensor(graph, name, dtype, exprs, rank);
    fidc_constant *constant = fidc_allocate(program, sizeof *constant);
    if (!value || !constant) return NULL;
    *constant = (fidc_constant){.name = value->name, .data = data, .bytes = bytes, .persistent = true};
    value->origin = FIDC_FROM_CONSTANT;
    value->constant = constant;
    return value;
}

fidc_value *fidc_constant_derive(fidc_program *program, fidc_value *made, const fidc_constant *from, const char *how) {
    if (!made || !from->key) return made;
    const char *key = fidc_text_format(program, "%s:%s", from->key, how);
    if (!key) return NULL;
    ((fidc_constant *)(uintptr_t)made->constant)->key = key;
    return made;
}

fidc_value *fidc_resolve(fidc_value *value) {
    while (value && value->forward) value = value->forward;
    return value;
}

fidc_value *fidc_value_of(const fidc_arg *arg) { return arg->kind == FIDC_ARG_VALUE ? fidc_resolve(arg->as.value) : NULL; }

void fidc_value_replace(fidc_value *old_value, fidc_value *new_value) {
    new_value = fidc_resolve(new_value);
    if (old_value == new_value) return;
    old_value->forward = new_value;
    /* A made-up name gives way to the one that the user's graph knows: dumps and `fidibus verify` line up by it. */
    if (new_value->name[0] == '_' && new_value->origin == FIDC_FROM_NODE && new_value->type == old_value->type) {
        const char *made_up = new_value->name;
        new_value->name = old_value->name;
        old_value->name = made_up;
    }
}

/* ---- Arguments ---- */

fidc_arg fidc_list(fidc_program *program, const fidc_arg *items, size_t count) {
    fidc_arg *copy = fidc_allocate(program, count * sizeof *copy);
    if (copy && count) memcpy(copy, items, count * sizeof *copy);
    return (fidc_arg){.kind = FIDC_ARG_LIST, .as.list = {copy, copy ? (uint32_t)count : 0}};
}

fidc_arg fidc_ints(fidc_program *program, const int64_t *items, size_t count) {
    fidc_arg *copy = fidc_allocate(program, count * sizeof *copy);
    for (size_t i = 0; copy && i < count; i++) copy[i] = fidc_i(items[i]);
    return (fidc_arg){.kind = FIDC_ARG_LIST, .as.list = {copy, copy ? (uint32_t)count : 0}};
}

fidc_arg fidc_values(fidc_program *program, fidc_value *const *items, size_t count) {
    fidc_arg *copy = fidc_allocate(program, count * sizeof *copy);
    for (size_t i = 0; copy && i < count; i++) copy[i] = fidc_v(items[i]);
    return (fidc_arg){.kind = FIDC_ARG_LIST, .as.list = {copy, copy ? (uint32_t)count : 0}};
}

/* ---- Cleaning ---- */

static void direct_arg(fidc_arg *arg) {
    if (arg->kind == FIDC_ARG_VALUE) arg->as.value = fidc_resolve(arg->as.value);
    if (arg->kind != FIDC_ARG_LIST) return;
    for (uint32_t i = 0; i < arg->as.list.count; i++) direct_arg(&arg->as.list.items[i]);
}

static void direct_all(fidc_graph *graph) {
    for (fidc_node *node = graph->first; node; node = node->next) {
        for (uint32_t i = 0; i < node->arg_count; i++) direct_arg(&node->args[i]);
        for (uint32_t i = 0; i < node->graph_count; i++) fidc_graph_clean(node->graphs[i]);
    }
    for (uint32_t i = 0; i < graph->output_count; i++) direct_arg(&graph->outputs[i]);
    for (uint32_t i = 0; i < graph->mutation_count; i++) graph->mutations[i].value = fidc_resolve(graph->mutations[i].value);
}

static void count_arg(const fidc_arg *arg) {
    if (arg->kind == FIDC_ARG_VALUE) fidc_resolve(arg->as.value)->uses++;
    if (arg->kind != FIDC_ARG_LIST) return;
    for (uint32_t i = 0; i < arg->as.list.count; i++) count_arg(&arg->as.list.items[i]);
}

void fidc_graph_count_uses(fidc_graph *graph) {
    for (uint32_t i = 0; i < graph->value_count; i++) graph->values[i]->uses = 0;
    for (fidc_node *node = graph->first; node; node = node->next) {
        for (uint32_t i = 0; i < node->arg_count; i++) count_arg(&node->args[i]);
    }
    for (uint32_t i = 0; i < graph->output_count; i++) count_arg(&graph->outputs[i]);
    for (uint32_t i = 0; i < graph->mutation_count; i++) {
        graph->mutations[i].value->uses++;
        graph->mutations[i].target->uses++;
    }
}

static void discount_arg(const fidc_arg *arg) {
    if (arg->kind == FIDC_ARG_VALUE) arg->as.value->uses--;
    if (arg->kind != FIDC_ARG_LIST) return;
    for (uint32_t i = 0; i < arg->as.list.count; i++) discount_arg(&arg->as.list.items[i]);
}

static bool is_dead(const fidc_node *node) {
    if (node->op->kind == FID_OP_EFFECT || node->graph_count || node->in_place) return false;
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i]->uses) return false;
    }
    return true;
}

/* From the end to the start, so that one walk removes whole dead chains. */
static void drop_dead(fidc_graph *graph) {
    for (fidc_node *node = graph->last, *previous; node; node = previous) {
        previous = node->previous;
        if (!is_dead(node)) continue;
        for (uint32_t i = 0; i < node->arg_count; i++) discount_arg(&node->args[i]);
        fidc_node_remove(node);
    }
}

/* Keeps inputs, used constants and the outputs of living nodes, in order of appearance. */
static void renumber(fidc_graph *graph) {
    for (uint32_t i = 0; i < graph->value_count; i++) {
        fidc_value *value = graph->values[i];
        if (value->origin == FIDC_FROM_NODE || (value->origin == FIDC_FROM_CONSTANT && !value->uses)) value->id = UINT32_MAX;
    }
    for (fidc_node *node = graph->first; node; node = node->next) {
        for (uint32_t i = 0; i < node->output_count; i++) node->outputs[i]->id = 0;
    }
    for (uint32_t i = 0; graph->example_inputs && i < graph->input_count; i++) {
        fidc_value *example = fidc_value_of(&graph->example_inputs[i]);
        if (example) example->id = 0;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->value_count; i++) {
        if (graph->values[i]->id == UINT32_MAX || graph->values[i]->forward) continue;
        graph->values[count] = graph->values[i];
        graph->values[count]->id = count;
        count++;
    }
    graph->value_count = count;
}

void fidc_graph_clean(fidc_graph *graph) {
    direct_all(graph);
    fidc_graph_count_uses(graph);
    drop_dead(graph);
    renumber(graph);
}
