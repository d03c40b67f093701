/* Writes .pte programs: see the header. Field numbers are positions in upstream's program.fbs, unions counting twice. */
#include "format/pte_write.h"

#include "base/checked.h"
#include "format/flatbuffer_build.h"

#define EXTENDED_HEADER_SIZE 32
#define DEFAULT_SEGMENT_ALIGNMENT 128

typedef struct writer {
    const fid_sink *sink;
    fid_builder builder;
    fid_arena arena;           /* reference arrays */
    uint64_t *segment_offsets, *segment_sizes;
    uint64_t segment_bytes;    /* of the whole segment part */
    uint64_t alignment, base_alignment; /* of segments in general; the largest that any of them has */
} writer;

/* ---- Lists of tables -------------------------------------------------------------------------------------------------- */

/* Calls BUILD for every item of a list and makes the vector of the results. */
#define BUILD_LIST(w, out, items, count, build)                                                    \
    do {                                                                                           \
        fid_build_ref *refs_ = fid_build_ref_array(&(w)->builder, &(w)->arena, (count));                                            \
        for (size_t i_ = 0; refs_ && i_ < (count); i_++) refs_[i_] = build((w), &(items)[i_]);     \
        (out) = refs_ ? fid_build_ref_vector(&(w)->builder, refs_, (count)) : 0;                   \
    } while (0)

/* ---- Values ----------------------------------------------------------------------------------------------------------- */

static fid_build_ref build_allocation(writer *w, const fid_pte_out_tensor *tensor) {
    if (!tensor->memory_id) return 0;
    fid_build_table_begin(&w->builder);
    fid_build_u32(&w->builder, 0, tensor->memory_id, 0);
    fid_build_u32(&w->builder, 1, (uint32_t)tensor->memory_offset, 0);
    fid_build_u32(&w->builder, 2, (uint32_t)(tensor->memory_offset >> 32), 0);
    return fid_build_table_end(&w->builder);
}

static fid_build_ref build_extra_info(writer *w, const fid_pte_out_tensor *tensor) {
    if (!tensor->name) return 0;
    fid_build_ref name = fid_build_string(&w->builder, tensor->name);
    fid_build_table_begin(&w->builder);
    fid_build_field(&w->builder, 1, name);
    fid_build_u8(&w->builder, 2, tensor->external, 0);
    return fid_build_table_end(&w->builder);
}

static fid_build_ref build_tensor(writer *w, const fid_pte_out_tensor *tensor) {
    fid_builder *b = &w->builder;
    fid_build_ref extra = build_extra_info(w, tensor), allocation = build_allocation(w, tensor);
    fid_build_ref order = fid_build_vector(b, tensor->dim_order, tensor->rank, 1);
    fid_build_ref sizes = fid_build_vector(b, tensor->sizes, tensor->rank, 4);
    fid_build_table_begin(b);
    fid_build_u8(b, 0, tensor->dtype, 0);
    fid_build_field(b, 2, sizes);
    fid_build_field(b, 3, order);
    fid_build_u32(b, 5, tensor->data_index, 0);
    fid_build_field(b, 6, allocation);
    fid_build_u8(b, 8, tensor->dynamism, 0);
    fid_build_field(b, 9, extra);
    return fid_build_table_end(b);
}

/* A table whose only field is a vector or a string. */
static fid_build_ref build_holder(writer *w, fid_build_ref content) {
    fid_build_table_begin(&w->builder);
    fid_build_field(&w->builder, 0, content);
    return fid_build_table_end(&w->builder);
}

/* A table whose only field is a number, or which is empty. */
static fid_build_ref build_number(writer *w, const fid_pte_out_value *value) {
    fid_build_table_begin(&w->builder);
    if (value->kind == FID_PTE_OUT_INT) fid_build_i64(&w->builder, 0, value->as.integer, 0);
    if (value->kind == FID_PTE_OUT_BOOL) fid_build_u8(&w->builder, 0, value->as.boolean, 0);
    if (value->kind == FID_PTE_OUT_DOUBLE) fid_build_double(&w->builder, 0, value->as.number);
    return fid_build_table_end(&w->builder);
}

static fid_build_ref build_content(writer *w, const fid_pte_out_value *value) {
    fid_builder *b = &w->builder;
    switch (value->kind) {
    case FID_PTE_OUT_TENSOR: return build_tensor(w, &value->as.tensor);
    case FID_PTE_OUT_STRING: return build_holder(w, fid_build_string(b, value->as.text));
    case FID_PTE_OUT_INT_LIST: return build_holder(w, fid_build_vector(b, value->as.ints.items, value->as.ints.count, 8));
    case FID_PTE_OUT_DOUBLE_LIST: return build_holder(w, fid_build_vector(b, value->as.doubles.items, value->as.doubles.count, 8));
    case FID_PTE_OUT_BOOL_LIST: return build_holder(w, fid_build_vector(b, value->as.bools.items, value->as.bools.count, 1));
    case FID_PTE_OUT_TENSOR_LIST:
    case FID_PTE_OUT_OPTIONAL_TENSOR_LIST:
        return build_holder(w, fid_build_vector(b, value->as.tensors.items, value->as.tensors.count, 4));
    default: return build_number(w, value);
    }
}

static fid_build_ref build_value(writer *w, const fid_pte_out_value *value) {
    fid_build_ref content = build_content(w, value);
    fid_build_table_begin(&w->builder);
    fid_build_union(&w->builder, 0, value->kind, content);
    return fid_build_table_end(&w->builder);
}

/* ---- Instructions ------------------------------------------------------------------------------------------------------ */

static fid_build_ref build_instruction(writer *w, const fid_pte_out_instruction *instruction) {
    fid_builder *b = &w->builder;
    bool is_call = instruction->step == FID_PTE_OUT_KERNEL_CALL || instruction->step == FID_PTE_OUT_DELEGATE_CALL;
    fid_build_ref args = is_call ? fid_build_vector(b, instruction->args, instruction->arg_count, 4) : 0;
    fid_build_table_begin(b);
    fid_build_i32(b, 0, instruction->index, 0);
    if (is_call) fid_build_field(b, 1, args);
    else fid_build_i32(b, 1, instruction->target, 0);
    fid_build_ref content = fid_build_table_end(b);
    fid_build_table_begin(b);
    fid_build_union(b, 0, instruction->step, content);
    return fid_build_table_end(b);
}

static fid_build_ref build_frame(writer *w, const fid_pte_out_frame *frame) {
    fid_build_ref context = fid_build_string(&w->builder, frame->context);
    fid_build_ref name = fid_build_string(&w->builder, frame->function), file = fid_build_string(&w->builder, frame->file);
    fid_build_table_begin(&w->builder);
    fid_build_field(&w->builder, 0, file);
    fid_build_i32(&w->builder, 1, frame->line, 0);
    fid_build_field(&w->builder, 2, name);
    fid_build_field(&w->builder, 3, context);
    return fid_build_table_end(&w->builder);
}

static fid_build_ref build_frames(writer *w, const fid_pte_out_instruction *instruction) {
    fid_build_ref frames;
    BUILD_LIST(w, frames, instruction->frames, instruction->frame_count, build_frame);
    return build_holder(w, frames);
}

static fid_build_ref build_chain(writer *w, const fid_pte_out_method *method) {
    fid_build_ref frames = 0, instructions;
    if (method->has_frames) BUILD_LIST(w, frames, method->instructions, method->instruction_count, build_frames);
    BUILD_LIST(w, instructions, method->instructions, method->instruction_count, build_instruction);
    fid_build_ref outputs = fid_build_vector(&w->builder, NULL, 0, 4), inputs = fid_build_vector(&w->builder, NULL, 0, 4);
    fid_build_table_begin(&w->builder);
    fid_build_field(&w->builder, 0, inputs);
    fid_build_field(&w->builder, 1, outputs);
    fid_build_field(&w->builder, 2, instructions);
    fid_build_field(&w->builder, 3, frames);
    return fid_build_table_end(&w->builder);
}

/* ---- Methods ------------------------------------------------------------------------------------------------------------ */

static fid_build_ref build_operator(writer *w, const fid_pte_out_operator *op) {
    fid_build_ref overload = fid_build_string(&w->builder, op->overload ? op->overload : "");
    fid_build_ref name = fid_build_string(&w->builder, op->name);
    fid_build_table_begin(&w->builder);
    fid_build_field(&w->builder, 0, name);
    fid_build_field(&w->builder, 1, overload);
    return fid_build_table_end(&w->builder);
}

static fid_build_ref build_spec(writer *w, const fid_pte_out_spec *spec) {
    fid_build_ref value = fid_build_vector(&w->builder, spec->value, spec->size, 1);
    fid_build_ref key = fid_build_string(&w->builder, spec->key);
    fid_build_table_begin(&w->builder);
    fid_build_field(&w->builder, 0, key);
    fid_build_field(&w->builder, 1, value);
    return fid_build_table_end(&w->builder);
}

static fid_build_ref build_delegate(writer *w, const fid_pte_out_delegate *delegate) {
    fid_build_ref specs;
    BUILD_LIST(w, specs, delegate->specs, delegate->spec_count, build_spec);
    fid_build_table_begin(&w->builder);
    fid_build_u8(&w->builder, 0, 1, 0); /* the data lies in a segment */
    fid_build_u32(&w->builder, 1, delegate->segment_index, 0);
    fid_build_ref processed = fid_build_table_end(&w->builder);
    fid_build_ref id = fid_build_string(&w->builder, delegate->backend);
    fid_build_table_begin(&w->builder);
    fid_build_field(&w->builder, 0, id);
    fid_build_field(&w->builder, 1, processed);
    fid_build_field(&w->builder, 2, specs);
    return fid_build_table_end(&w->builder);
}

static fid_build_ref build_container(writer *w, const fid_pte_out_method *method) {
    fid_build_ref output = fid_build_string(&w->builder, method->output_tree ? method->output_tree : "");
    fid_build_ref input = fid_build_string(&w->builder, method->input_tree ? method->input_tree : "");
    fid_build_table_begin(&w->builder);
    fid_build_field(&w->builder, 0, input);
    fid_build_field(&w->builder, 1, output);
    return fid_build_table_end(&w->builder);
}

static fid_build_ref build_method(writer *w, const fid_pte_out_method *method) {
    fid_builder *b = &w->builder;
    fid_build_ref fields[9];
    fields[8] = fid_build_vector(b, method->buffer_sizes, method->buffer_count, 8);
    BUILD_LIST(w, fields[7], method->delegates, method->delegate_count, build_delegate);
    BUILD_LIST(w, fields[6], method->operators, method->operator_count, build_operator);
    fid_build_ref chain = build_chain(w, method);
    fields[5] = fid_build_ref_vector(b, &chain, 1);
    fields[4] = fid_build_vector(b, method->outputs, method->output_count, 4);
    fields[3] = fid_build_vector(b, method->inputs, method->input_count, 4);
    BUILD_LIST(w, fields[2], method->values, method->value_count, build_value);
    fields[1] = build_container(w, method);
    fields[0] = fid_build_string(b, method->name);
    fid_build_table_begin(b);
    for (uint32_t i = 0; i < 9; i++) fid_build_field(b, i, fields[i]);
    return fid_build_table_end(b);
}

/* ---- The program --------------------------------------------------------------------------------------------------------- */

static fid_build_ref build_named(writer *w, const fid_pte_out_named *named) {
    fid_build_ref key = fid_build_string(&w->builder, named->key);
    fid_build_table_begin(&w->builder);
    fid_build_field(&w->builder, 0, key);
    fid_build_u32(&w->builder, 1, named->segment_index, 0);
    return fid_build_table_end(&w->builder);
}

static fid_build_ref build_segment(writer *w, size_t index) {
    fid_build_table_begin(&w->builder);
    fid_build_u64(&w->builder, 0, w->segment_offsets[index], 0);
    fid_build_u64(&w->builder, 1, w->segment_sizes[index], 0);
    return fid_build_table_end(&w->builder);
}

static fid_build_ref build_segments(writer *w, size_t count) {
    fid_build_ref *refs = fid_build_ref_array(&w->builder, &w->arena, count);
    for (size_t i = 0; refs && i < count; i++) refs[i] = build_segment(w, i);
    return refs ? fid_build_ref_vector(&w->builder, refs, count) : 0;
}

static fid_build_ref build_offsets(writer *w, uint32_t segment, const uint64_t *offsets, size_t count) {
    fid_build_ref list = fid_build_vector(&w->builder, offsets, count, 8);
    fid_build_table_begin(&w->builder);
    fid_build_u32(&w->builder, 0, segment, 0);
    fid_build_field(&w->builder, 1, list);
    return fid_build_table_end(&w->builder);
}

static fid_build_ref build_program(writer *w, const fid_pte_out_program *program) {
    fid_builder *b = &w->builder;
    fid_build_ref named = 0, changing = 0, methods;
    if (program->named_count) BUILD_LIST(w, named, program->named, program->named_count, build_named);
    if (program->mutable_count) {
        fid_build_ref table = build_offsets(w, program->mutable_segment, program->mutable_offsets, program->mutable_count);
        changing = fid_build_ref_vector(b, &table, 1);
    }
    fid_build_ref constants = build_offsets(w, program->constant_segment, program->constant_offsets, program->constant_count);
    fid_build_ref segments = build_segments(w, program->segment_count);
    BUILD_LIST(w, methods, program->methods, program->method_count, build_method);
    fid_build_table_begin(b);
    fid_build_field(b, 1, methods);
    fid_build_field(b, 4, segments);
    fid_build_field(b, 5, constants);
    fid_build_field(b, 6, changing);
    fid_build_field(b, 7, named);
    return fid_build_table_end(b);
}

/* ---- Segments ------------------------------------------------------------------------------------------------------------ */

/* Offset and size of every segment within the segment part. */
static fid_status lay_out_segments(writer *w, const fid_pte_out_program *program) {
    w->segment_offsets = fid_arena_allocate_array(&w->arena, program->segment_count, sizeof(uint64_t));
    w->segment_sizes = fid_arena_allocate_array(&w->arena, program->segment_count, sizeof(uint64_t));
    if (!w->segment_offsets || !w->segment_sizes) return fid_fail(w->sink, FID_OUT_OF_MEMORY, "no memory for the list of segments");
    for (size_t i = 0; i < program->segment_count; i++) {
        const fid_pte_out_segment *segment = &program->segments[i];
        uint64_t alignment = segment->alignment > w->alignment ? segment->alignment : w->alignment, end = 0;
        for (size_t k = 0; k < segment->piece_count; k++) {
            if (segment->pieces[k].offset < end || segment->pieces[k].size > UINT64_MAX / 4)
                return fid_fail(w->sink, FID_INVALID_ARGUMENT, "piece %zu of segment %zu lies at %llu, before the end of the one before it (%llu)",
                                k, i, (unsigned long long)segment->pieces[k].offset, (unsigned long long)end);
            end = segment->pieces[k].offset + segment->pieces[k].size;
        }
        if (alignment > w->base_alignment) w->base_alignment = alignment;
        w->segment_offsets[i] = (w->segment_bytes + alignment - 1) & ~(alignment - 1);
        w->segment_sizes[i] = end;
        w->segment_bytes = w->segment_offsets[i] + end;
    }
    return FID_OK;
}

static fid_status write_zeros(const fid_pte_sink *destination, uint64_t count) {
    static const uint8_t zeros[512];
    while (count) {
        size_t part = count < sizeof zeros ? (size_t)count : sizeof zeros;
        FID_TRY(destination->write(destination->self, zeros, part));
        count -= part;
    }
    return FID_OK;
}

static fid_status write_segment(const fid_pte_sink *destination, const fid_pte_out_segment *segment) {
    uint64_t at = 0;
    for (size_t k = 0; k < segment->piece_count; k++) {
        const fid_pte_out_piece *piece = &segment->pieces[k];
        FID_TRY(write_zeros(destination, piece->offset - at));
        if (piece->size) FID_TRY(destination->write(destination->self, piece->data, (size_t)piece->size));
        at = piece->offset + piece->size;
    }
    return FID_OK;
}

static fid_status write_segments(const writer *w, const fid_pte_out_program *program, const fid_pte_sink *destination) {
    uint64_t at = 0;
    for (size_t i = 0; i < program->segment_count; i++) {
        FID_TRY(write_zeros(destination, w->segment_offsets[i] - at));
        FID_TRY(write_segment(destination, &program->segments[i]));
        at = w->segment_offsets[i] + w->segment_sizes[i];
    }
    return FID_OK;
}

/* ---- The whole ------------------------------------------------------------------------------------------------------------ */

static void store_u64(uint8_t *at, uint64_t value) {
    for (int i = 0; i < 8; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static void fill_header(uint8_t *data, uint64_t program_size, uint64_t base, uint64_t segment_bytes) {
    memcpy(data + 8, "eh00", 4);
    data[12] = EXTENDED_HEADER_SIZE;
    store_u64(data + 16, program_size);
    store_u64(data + 24, base);
    store_u64(data + 32, segment_bytes);
}

static fid_status check_program(const writer *w, const fid_pte_out_program *program) {
    if (program->constant_count < 1) return fid_fail(w->sink, FID_INVALID_ARGUMENT, "constant_offsets lacks its reserved entry 0");
    if (program->constant_count > 1 && program->constant_segment >= program->segment_count)
        return fid_fail(w->sink, FID_INVALID_ARGUMENT, "constant segment %u of %zu segments", program->constant_segment, program->segment_count);
    if (program->mutable_count && program->mutable_segment >= program->segment_count)
        return fid_fail(w->sink, FID_INVALID_ARGUMENT, "mutable segment %u of %zu segments", program->mutable_segment, program->segment_count);
    if (w->alignment & (w->alignment - 1))
        return fid_fail(w->sink, FID_INVALID_ARGUMENT, "segment alignment %llu is no power of two", (unsigned long long)w->alignment);
    return FID_OK;
}

static fid_status write_all(writer *w, const fid_pte_out_program *program, const fid_pte_sink *destination, uint64_t *out_size) {
    FID_TRY(check_program(w, program));
    FID_TRY(lay_out_segments(w, program));
    uint8_t *data;
    size_t size;
    fid_build_ref root = build_program(w, program);
    FID_TRY(fid_build_finish(&w->builder, root, "ET12", EXTENDED_HEADER_SIZE, w->sink, &data, &size));
    uint64_t base = w->segment_bytes ? ((uint64_t)size + w->base_alignment - 1) & ~(w->base_alignment - 1) : 0;
    fill_header(data, size, base, w->segment_bytes);
    if (out_size) *out_size = base ? base + w->segment_bytes : size;
    FID_TRY(destination->write(destination->self, data, size));
    if (!base) return FID_OK;
    FID_TRY(write_zeros(destination, base - size));
    return write_segments(w, program, destination);
}

fid_status fid_pte_write(fid_allocator allocator, const fid_sink *sink, const fid_pte_out_program *program,
                         const fid_pte_sink *destination, uint64_t *out_size) {
    writer w = {.sink = sink, .alignment = program->segment_alignment ? program->segment_alignment : DEFAULT_SEGMENT_ALIGNMENT};
    fid_build_init(&w.builder, allocator);
    fid_arena_init(&w.arena, allocator, 64 * 1024);
    fid_status status = write_all(&w, program, destination, out_size);
    fid_arena_deinit(&w.arena);
    fid_build_deinit(&w.builder);
    return status;
}
