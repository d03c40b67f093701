/* Constant methods as graphs whose outputs are literals and constants. */
#include "compiler/constant_methods.h"

#include "compiler/ir/interpret.h"

static const char one_value[] = "[1, {\"type\": null, \"context\": null, \"children_spec\": []}]";

static fidc_value *tensor_constant(fidc_graph *graph, const fid_tensor *tensor) {
    size_t bytes = fid_tensor_bytes(tensor);
    uint8_t *data = fid_arena_allocate(&graph->program->arena, bytes, FID_ALLOCATION_ALIGNMENT);
    if (!data) return NULL;
    fidc_tensor_to_logical(tensor, data);
    return fidc_value_constant(graph, NULL, (fid_dtype)tensor->dtype, tensor->sizes, tensor->rank, data, bytes);
}

static fid_status add_output(fidc_graph *graph, const fid_value *value, fidc_arg *out) {
    const fid_sink *sink = graph->program->sink;
    switch (value->tag) {
    case FID_TAG_INT: *out = fidc_i(value->as.integer); return FID_OK;
    case FID_TAG_DOUBLE: *out = fidc_d(value->as.number); return FID_OK;
    case FID_TAG_BOOL: *out = fidc_b(value->as.boolean); return FID_OK;
    case FID_TAG_STRING: *out = (fidc_arg){.kind = FIDC_ARG_STRING, .as.text = fidc_text(graph->program, value->as.string.text)}; break;
    case FID_TAG_TENSOR: *out = fidc_v(tensor_constant(graph, value->as.tensor)); break;
    default:
        return fid_fail(sink, FID_NOT_SUPPORTED, "the constant method %s: a value is neither a number, a text nor a tensor", graph->name);
    }
    bool ok = value->tag == FID_TAG_STRING ? out->as.text != NULL : out->kind == FIDC_ARG_VALUE;
    return ok ? FID_OK : fid_fail(sink, FID_OUT_OF_MEMORY, "no memory for the constant method %s", graph->name);
}

static fid_status check_name(const fidc_program *program, const char *name) {
    for (uint32_t i = 0; i < program->method_count; i++) {
        if (strcmp(program->methods[i]->name, name) == 0) return fid_fail(program->sink, FID_INVALID_ARGUMENT, "two methods are named \"%s\"", name);
    }
    return FID_OK;
}

fid_status fidc_constant_method_add(fidc_program *program, const fidc_constant_method *method) {
    FID_TRY(check_name(program, method->name));
    fidc_graph *graph = fidc_graph_create(program, method->name);
    fidc_arg *outputs = fidc_allocate(program, (method->value_count + 1) * sizeof *outputs);
    char *tree = fidc_text(program, method->output_tree ? method->output_tree : one_value);
    if (!graph || !outputs || !tree) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory for the constant method %s", method->name);
    graph->output_tree = tree;
    graph->outputs = outputs;
    graph->example_inputs = outputs + method->value_count; /* none are needed */
    for (size_t i = 0; i < method->value_count; i++) FID_TRY(add_output(graph, &method->values[i], &outputs[i]));
    graph->output_count = (uint32_t)method->value_count;
    return FID_OK;
}
