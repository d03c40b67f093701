/* Bundled programs: sample inputs in the layout that each method takes, and expected outputs by the interpreter. */
#include "compiler/emit/bundle.h"

#include "compiler/ir/infer.h"
#include "compiler/ir/interpret.h"
#include "format/bpte.h"

typedef struct bundler {
    fidc_program *program;
    fid_arena arena; /* values of all cases */
} bundler;

static fid_status no_memory(const bundler *b) { return fid_fail(b->program->sink, FID_OUT_OF_MEMORY, "no memory for the bundle's values"); }

/* A dense copy in the dim order given. */
static fid_status copy_tensor(bundler *b, const fid_tensor *source, const uint8_t *dim_order, fid_value *out) {
    size_t rank = source->rank, element = fid_dtype_size((fid_dtype)source->dtype), count = fid_tensor_numel(source);
    fid_tensor *copy = fid_arena_allocate(&b->arena, sizeof *copy, 16);
    int64_t *sizes = fid_arena_allocate_array(&b->arena, 2 * rank + 1, sizeof *sizes);
    uint8_t *order = fid_arena_allocate(&b->arena, rank + 1, 1), *data = fid_arena_allocate(&b->arena, count * element + 1, 64);
    if (!copy || !sizes || !order || !data) return no_memory(b);
    memcpy(sizes, source->sizes, rank * sizeof *sizes);
    memcpy(order, dim_order, rank);
    *copy = (fid_tensor){.data = data, .sizes = sizes, .strides = sizes + rank, .dim_order = order, .capacity = count * element,
                         .rank = source->rank, .dtype = source->dtype};
    fid_tensor_update_strides(copy);
    int64_t index[FID_MAX_RANK] = {0};
    for (size_t i = 0; i < count; i++) {
        size_t from = 0, to = 0;
        for (size_t d = 0; d < rank; d++) {
            from += (size_t)(index[d] * source->strides[d]);
            to += (size_t)(index[d] * copy->strides[d]);
        }
        memcpy(data + to * element, (const uint8_t *)source->data + from * element, element);
        for (size_t d = rank; d-- > 0 && ++index[d] == sizes[d];) index[d] = 0;
    }
    *out = fid_tensor_value(copy);
    return FID_OK;
}

static fid_status copy_value(bundler *b, const fid_value *source, const uint8_t *dim_order, fid_value *out) {
    *out = *source; /* numbers and None; texts are the program's */
    return source->tag == FID_TAG_TENSOR ? copy_tensor(b, source->as.tensor, dim_order, out) : FID_OK;
}

static fid_status sample_inputs(bundler *b, const fidc_graph *graph, fid_value *out_inputs) {
    if (!graph->example_inputs) {
        return fid_fail(b->program->sink, FID_NOT_FOUND, "method \"%s\": the archive carries no sample inputs to bundle", graph->name);
    }
    for (uint32_t i = 0; i < graph->input_count; i++) {
        fid_value sample;
        FID_TRY(fidc_arg_to_value(b->program, &graph->example_inputs[i], FIDC_AT_HINT, &b->arena, &sample));
        FID_TRY(copy_value(b, &sample, graph->inputs[i]->dim_order, &out_inputs[i]));
    }
    return FID_OK;
}

/* The interpreter writes inputs that the method changes: it gets copies of its own. */
static fid_status expected_outputs(bundler *b, const fidc_graph *graph, fid_value *out_outputs) {
    fidc_interpreter *interpreter;
    fid_value *inputs = fid_arena_allocate_array(&b->arena, graph->input_count + 1, sizeof *inputs);
    if (!inputs) return no_memory(b);
    FID_TRY(sample_inputs(b, graph, inputs));
    FID_TRY(fidc_interpreter_create(graph, &(fidc_interpreter_options){.fast_kernels = true}, &interpreter));
    fid_status status = fidc_interpreter_run(interpreter, inputs, graph->input_count);
    for (uint32_t i = 0; i < graph->output_count && status == FID_OK; i++) {
        const fid_value *output = fidc_interpreter_output(interpreter, i);
        status = copy_value(b, output, output->tag == FID_TAG_TENSOR ? output->as.tensor->dim_order : NULL, &out_outputs[i]);
    }
    fidc_interpreter_destroy(interpreter);
    return status;
}

/* Only a runtime with kernels of its own can tell the outputs of some programs. */
static bool can_compute(const fidc_graph *graph) {
    for (const fidc_node *node = graph->first; node; node = node->next) {
        for (uint32_t i = 0; i < node->graph_count; i++)
            if (!can_compute(node->graphs[i])) return false;
        if (!node->graph_count && !node->op->reference) return false;
    }
    return true;
}

static fid_status make_case(bundler *b, const fidc_graph *graph, fid_bpte_out_case *out) {
    fid_value *inputs = fid_arena_allocate_array(&b->arena, graph->input_count + 1, sizeof *inputs);
    fid_value *outputs = fid_arena_allocate_array(&b->arena, graph->output_count + 1, sizeof *outputs);
    if (!inputs || !outputs) return no_memory(b);
    FID_TRY(sample_inputs(b, graph, inputs));
    bool computed = can_compute(graph);
    if (computed) FID_TRY(expected_outputs(b, graph, outputs));
    *out = (fid_bpte_out_case){graph->name, inputs, outputs, graph->input_count, computed ? graph->output_count : 0};
    return FID_OK;
}

static fid_status write_bundle(bundler *b, fid_span program_bytes, const fidc_writer *writer) {
    const fidc_program *program = b->program;
    fid_bpte_out_case *cases = fid_arena_allocate_array(&b->arena, program->method_count, sizeof *cases);
    if (!cases) return no_memory(b);
    for (uint32_t i = 0; i < program->method_count; i++) FID_TRY(make_case(b, program->methods[i], &cases[i]));
    uint8_t *data;
    size_t size;
    FID_TRY(fid_bpte_write(program->allocator, program->sink, program_bytes, cases, program->method_count, &data, &size));
    fid_status status = writer->write(writer->self, data, size);
    fid_free(program->allocator, data, size);
    return status;
}

fid_status fidc_bundle(const fidc_program *program, fid_span program_bytes, const fidc_writer *writer) {
    bundler b = {.program = (fidc_program *)(uintptr_t)program};
    fid_arena_init(&b.arena, program->allocator, 16384);
    fid_status status = write_bundle(&b, program_bytes, writer);
    fid_arena_deinit(&b.arena);
    return status;
}
