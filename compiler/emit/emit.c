/* From IR and plan to the bytes of a .pte file: builds the structs of format/pte_write.h method by method, and writes them. */
#include "compiler/emit/emit_internal.h"

/* ---- Memory --------------------------------------------------------------------------------------------------------------- */

void *fidc_emit_fail(fidc_emitter *emitter, fid_status status) {
    if (emitter->status == FID_OK) emitter->status = status;
    return NULL;
}

static void *fail_memory(fidc_emitter *emitter) {
    return fidc_emit_fail(emitter, fid_fail(emitter->sink, FID_OUT_OF_MEMORY, "no memory to write the program"));
}

void *fidc_emit_allocate(fidc_emitter *emitter, size_t count, size_t size) {
    void *memory = fid_arena_allocate_array(&emitter->arena, count, size);
    return memory ? memory : fail_memory(emitter);
}

void *fidc_array_push(fidc_emitter *emitter, fidc_array *array) {
    if (array->count == array->capacity) {
        size_t capacity = array->capacity ? 2 * array->capacity : 16;
        void *items = fidc_emit_allocate(emitter, capacity, array->item_size);
        if (!items) return NULL;
        if (array->count) memcpy(items, array->items, array->count * array->item_size);
        array->items = items;
        array->capacity = capacity;
    }
    return (uint8_t *)array->items + array->count++ * array->item_size;
}

/* ---- A method ------------------------------------------------------------------------------------------------------------- */

/* A value of its own, that no instruction reads: the runtime then holds callers to it. */
static int32_t emit_frozen(fidc_method_emitter *m, const fidc_arg *frozen) {
    switch (frozen->kind) {
    case FIDC_ARG_BOOL: return fidc_emit_own(m, &(fid_pte_out_value){.kind = FID_PTE_OUT_BOOL, .as.boolean = frozen->as.integer != 0});
    case FIDC_ARG_STRING: return fidc_emit_own(m, &(fid_pte_out_value){.kind = FID_PTE_OUT_STRING, .as.text = frozen->as.text});
    case FIDC_ARG_DOUBLE: return fidc_emit_own(m, &(fid_pte_out_value){.kind = FID_PTE_OUT_DOUBLE, .as.number = frozen->as.number});
    default: return fidc_emit_own(m, &(fid_pte_out_value){.kind = FID_PTE_OUT_INT, .as.integer = frozen->as.integer});
    }
}

static int32_t emit_input(fidc_method_emitter *m, const fidc_value *input) {
    /* Upstream's programs know no text as input, only None. */
    bool as_none = input->frozen && input->frozen->kind == FIDC_ARG_STRING && m->emitter->options->target == FIDC_TARGET_PORTABLE;
    return input->frozen && !as_none ? emit_frozen(m, input->frozen) : fidc_emit_value(m, input);
}

/* Inputs come first in the value table, as upstream has them. */
static fid_status emit_inputs(fidc_method_emitter *m, fid_pte_out_method *method) {
    int32_t *inputs = fidc_emit_allocate(m->emitter, m->graph->input_count, sizeof *inputs);
    for (uint32_t i = 0; inputs && i < m->graph->input_count; i++) inputs[i] = emit_input(m, m->graph->inputs[i]);
    method->inputs = inputs;
    method->input_count = m->graph->input_count;
    return m->emitter->status;
}

static fid_status emit_outputs(fidc_method_emitter *m, fid_pte_out_method *method) {
    const fid_schema_arg any = {.type = FID_SCHEMA_SCALAR};
    int32_t *outputs = fidc_emit_allocate(m->emitter, m->graph->output_count, sizeof *outputs);
    for (uint32_t i = 0; outputs && i < m->graph->output_count; i++) outputs[i] = fidc_emit_arg(m, &any, &m->graph->outputs[i]);
    method->outputs = outputs;
    method->output_count = m->graph->output_count;
    return m->emitter->status;
}

static fid_status emit_method(fidc_emitter *emitter, const fidc_graph *graph, const fidc_plan *plan, fid_pte_out_method *method) {
    fidc_method_emitter m = {.emitter = emitter, .graph = graph, .plan = plan, .values.item_size = sizeof(fid_pte_out_value),
                             .operators.item_size = sizeof(fid_pte_out_operator), .instructions.item_size = sizeof(fid_pte_out_instruction),
                             .origins.item_size = sizeof(fidc_node *), .delegates.item_size = sizeof(fid_pte_out_delegate)};
    uint64_t shared = graph->program->shared_bytes;
    int64_t *buffers = fidc_emit_allocate(emitter, 3, sizeof *buffers);
    uint32_t value_count = fidc_plan_number(graph);
    m.index_of = fidc_emit_allocate(emitter, value_count, sizeof *m.index_of);
    if (!buffers || !m.index_of) return emitter->status;
    for (uint32_t i = 0; i < value_count; i++) m.index_of[i] = -1;
    buffers[1] = (int64_t)plan->planned_bytes;
    buffers[2] = (int64_t)shared;
    *method = (fid_pte_out_method){.name = graph->name, .input_tree = graph->input_tree, .output_tree = graph->output_tree,
                                   .buffer_sizes = buffers, .buffer_count = shared ? 3 : 2, .has_frames = emitter->options->stack_traces};
    FID_TRY(emit_inputs(&m, method));
    FID_TRY(fidc_emit_nodes(&m));
    FID_TRY(emit_outputs(&m, method));
    method->values = m.values.items;
    method->value_count = m.values.count;
    method->operators = m.operators.items;
    method->operator_count = m.operators.count;
    method->instructions = m.instructions.items;
    method->instruction_count = m.instructions.count;
    method->delegates = m.delegates.items;
    method->delegate_count = m.delegates.count;
    if (!emitter->options->no_debug) fidc_debug_method(&m);
    return emitter->status;
}

/* ---- The program ------------------------------------------------------------------------------------------------------------ */

/* Upstream refuses a segment without bytes: where all constants are empty, a few zeros follow them. */
static void add_segment(fid_pte_out_segment *segments, fid_pte_out_program *program, fidc_pool *pool) {
    static const uint8_t zeros[16];
    if (pool->end == 0) ((fid_pte_out_piece *)pool->pieces.items)[0] = (fid_pte_out_piece){zeros, 0, sizeof zeros};
    segments[program->segment_count++] = (fid_pte_out_segment){.pieces = pool->pieces.items, .piece_count = pool->pieces.count};
}

/* A segment of one piece. */
static void add_piece(fid_pte_out_segment *segments, fid_pte_out_program *program, const fid_pte_out_piece *piece) {
    segments[program->segment_count++] = (fid_pte_out_segment){.pieces = piece, .piece_count = 1};
}

/* Blobs of delegates come first, so that their segments have numbers before the others are known; then the data that they name. */
static fid_status add_delegates(fidc_emitter *emitter, fid_pte_out_segment *segments, fid_pte_out_named *named, fid_pte_out_program *program) {
    const fidc_program *from = emitter->program;
    for (size_t i = 0; i < emitter->blobs.count; i++) add_piece(segments, program, (const fid_pte_out_piece *)emitter->blobs.items + i);
    fid_pte_out_piece *pieces = fidc_emit_allocate(emitter, from->named_count, sizeof *pieces);
    for (uint32_t i = 0; pieces && i < from->named_count; i++) {
        if (fidc_emit_external_named(emitter, &from->named[i])) continue;
        pieces[i] = (fid_pte_out_piece){from->named[i].data, 0, from->named[i].bytes};
        named[program->named_count++] = (fid_pte_out_named){from->named[i].key, (uint32_t)program->segment_count};
        add_piece(segments, program, &pieces[i]);
    }
    return emitter->status;
}

static void add_pools(fidc_emitter *emitter, fid_pte_out_segment *segments, fid_pte_out_program *program) {
    if (emitter->constants.pieces.count) {
        program->constant_offsets = emitter->constants.offsets.items;
        program->constant_count = emitter->constants.offsets.count;
        program->constant_segment = (uint32_t)program->segment_count;
        add_segment(segments, program, &emitter->constants);
    }
    if (emitter->states.pieces.count) {
        program->mutable_offsets = emitter->states.offsets.items;
        program->mutable_count = emitter->states.offsets.count;
        program->mutable_segment = (uint32_t)program->segment_count;
        add_segment(segments, program, &emitter->states);
    }
}

static fid_status write_program(fidc_emitter *emitter, const fid_pte_out_method *methods, const fidc_writer *writer) {
    static const uint64_t reserved[1];
    size_t most = emitter->blobs.count + emitter->program->named_count + 3;
    fid_pte_out_segment *segments = fidc_emit_allocate(emitter, most, sizeof *segments);
    fid_pte_out_named *named = fidc_emit_allocate(emitter, (size_t)emitter->program->named_count + 1, sizeof *named);
    fid_pte_out_piece table = {0};
    fid_span debug;
    if (!segments || !named) return emitter->status;
    FID_TRY(fidc_debug_finish(emitter, &debug));
    const fid_pte_sink destination = {writer->write, writer->self};
    fid_pte_out_program program = {.methods = methods, .method_count = emitter->program->method_count, .segments = segments,
                                   .constant_offsets = reserved, .constant_count = 1, .named = named};
    FID_TRY(add_delegates(emitter, segments, named, &program));
    FID_TRY(fidc_emit_externals_write(emitter));
    add_pools(emitter, segments, &program);
    if (debug.size) { /* last: nothing that runs lies behind it */
        table = (fid_pte_out_piece){debug.data, 0, debug.size};
        named[program.named_count++] = (fid_pte_out_named){FIDC_DEBUG_KEY, (uint32_t)program.segment_count};
        add_piece(segments, &program, &table);
    }
    return fid_pte_write(emitter->allocator, emitter->sink, &program, &destination, NULL);
}

static fid_status emit_all(fidc_emitter *emitter, const fidc_plan *plans, const fidc_writer *writer) {
    const fidc_program *program = emitter->program;
    fid_pte_out_method *methods = fidc_emit_allocate(emitter, program->method_count, sizeof *methods);
    if (!methods) return emitter->status;
    FID_TRY(fidc_emit_externals_begin(emitter));
    for (uint32_t i = 0; i < program->method_count; i++) FID_TRY(emit_method(emitter, program->methods[i], &plans[i], &methods[i]));
    return write_program(emitter, methods, writer);
}

fid_status fidc_emit(const fidc_program *program, const fidc_plan *plans, const fidc_emit_options *options, const fidc_writer *writer) {
    fidc_emitter emitter = {.program = program, .options = options, .sink = program->sink, .allocator = program->allocator,
                            .blobs.item_size = sizeof(fid_pte_out_piece)};
    fid_arena_init(&emitter.arena, program->allocator, 256 * 1024);
    fidc_pool_init(&emitter.constants);
    fidc_pool_init(&emitter.states);
    fid_status status = emit_all(&emitter, plans, writer);
    fid_arena_deinit(&emitter.arena);
    return status;
}
