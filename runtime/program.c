/* Opening programs from memory or through a source, and reaching their data. */
#include "runtime/program.h"

#include "base/checked.h"

static const fid_sink *sink_of(const fid_program *program) { return &program->environment.sink; }

/* ---- Opening ---- */

/* A caller built against an older header gives a shorter struct. */
static fid_status copy_environment(const fid_environment *environment, fid_environment *out) {
    memset(out, 0, sizeof *out);
    if (!environment || environment->struct_size < offsetof(fid_environment, sink)) return FID_INVALID_ARGUMENT;
    size_t size = environment->struct_size < sizeof *out ? environment->struct_size : sizeof *out;
    memcpy(out, environment, size);
    if (!out->allocator.resize) return fid_fail(&out->sink, FID_INVALID_ARGUMENT, "the environment has no allocator");
    return FID_OK;
}

static fid_status create(const fid_environment *environment, fid_program **out_program) {
    fid_environment copy;
    *out_program = NULL;
    FID_TRY(copy_environment(environment, &copy));
    fid_program *program = fid_allocate(copy.allocator, sizeof *program);
    if (!program) return fid_fail(&copy.sink, FID_OUT_OF_MEMORY, "no memory for a program");
    memset(program, 0, sizeof *program);
    program->environment = copy;
    program->references = 1;
    *out_program = program;
    return FID_OK;
}

static void destroy(fid_program *program) {
    fid_allocator allocator = program->environment.allocator;
    for (uint32_t i = 0; i < program->segment_count; i++) {
        if (program->segments[i]) fid_free(allocator, program->segments[i], (size_t)fid_pte_segment(&program->pte, i).size);
    }
    fid_free(allocator, program->segments, program->segment_count * sizeof *program->segments);
    fid_free(allocator, program->buffer, program->pte.buffer.size);
    if (program->release) program->release(program->file, (size_t)program->pte.file_size);
    fid_free(allocator, program, sizeof *program);
}

static fid_status open_bytes(fid_program *program, const void *data, size_t size) {
    fid_pte_header header;
    fid_span head = fid_span_of(data, size < FID_PTE_HEAD_BYTES ? size : FID_PTE_HEAD_BYTES);
    FID_TRY(fid_pte_read_header(sink_of(program), head, size, &header));
    program->file = data;
    return fid_pte_open(sink_of(program), fid_span_of(data, (size_t)header.program_size), &header, size, &program->pte);
}

fid_status fid_program_open_mapped(const fid_environment *environment, const void *data, size_t size,
                                   void (*release)(const void *file, size_t size), fid_program **out_program) {
    fid_program *program;
    FID_TRY(create(environment, &program));
    fid_status status = open_bytes(program, data, size);
    if (status != FID_OK) {
        destroy(program);
        program = NULL;
    } else {
        program->release = release;
    }
    *out_program = program;
    return status;
}

fid_status fid_program_open_memory(const fid_environment *environment, const void *data, size_t size, fid_program **out_program) {
    return fid_program_open_mapped(environment, data, size, NULL, out_program);
}

static fid_status read_source(fid_program *program, uint64_t offset, void *buffer, size_t size) {
    fid_status status = program->source.read(program->source.self, offset, buffer, size);
    if (status == FID_OK) return FID_OK;
    return fid_fail(sink_of(program), status, "reading %zu bytes at byte %llu of the program failed", size,
                    (unsigned long long)offset);
}

static fid_status open_through_source(fid_program *program) {
    _Alignas(16) uint8_t head[FID_PTE_HEAD_BYTES];
    size_t head_size = program->source.size < sizeof head ? (size_t)program->source.size : sizeof head;
    fid_pte_header header;
    FID_TRY(read_source(program, 0, head, head_size));
    FID_TRY(fid_pte_read_header(sink_of(program), fid_span_of(head, head_size), program->source.size, &header));
    if (header.program_size > SIZE_MAX) return fid_fail(sink_of(program), FID_OUT_OF_MEMORY, "the program is larger than memory");
    size_t size = (size_t)header.program_size;
    program->buffer = fid_allocate(program->environment.allocator, size);
    if (!program->buffer) return fid_fail(sink_of(program), FID_OUT_OF_MEMORY, "no memory for the program's %zu bytes", size);
    program->pte.buffer.size = size;
    FID_TRY(read_source(program, 0, program->buffer, size));
    FID_TRY(fid_pte_open(sink_of(program), fid_span_of(program->buffer, size), &header, program->source.size, &program->pte));
    uint32_t count = fid_pte_segment_count(&program->pte);
    program->segments = fid_allocate(program->environment.allocator, count * sizeof *program->segments);
    if (!program->segments) return fid_fail(sink_of(program), FID_OUT_OF_MEMORY, "no memory for the list of segments");
    memset(program->segments, 0, count * sizeof *program->segments);
    program->segment_count = count;
    return FID_OK;
}

fid_status fid_program_open_source(const fid_environment *environment, const fid_source *source, fid_program **out_program) {
    fid_program *program;
    FID_TRY(create(environment, &program));
    program->source = *source;
    fid_status status = open_through_source(program);
    if (status != FID_OK) {
        destroy(program);
        program = NULL;
    }
    *out_program = program;
    return status;
}

void fid_program_retain(fid_program *program) { __atomic_add_fetch(&program->references, 1, __ATOMIC_RELAXED); }

void fid_program_close(fid_program *program) {
    if (program && __atomic_sub_fetch(&program->references, 1, __ATOMIC_ACQ_REL) == 0) destroy(program);
}

/* ---- Methods and named data ---- */

size_t fid_program_method_count(const fid_program *program) {
    return fid_fb_get_vector(program->pte.root, FID_PTE_Program_execution_plan).count;
}

const char *fid_program_method_name(const fid_program *program, size_t index) {
    fid_fb_vector plans = fid_fb_get_vector(program->pte.root, FID_PTE_Program_execution_plan);
    return index < plans.count ? fid_fb_get_string(fid_fb_table_at(plans, (uint32_t)index), FID_PTE_ExecutionPlan_name) : NULL;
}

fid_status fid_program_named_data(const fid_program *program, const char *key, fid_span *out_data) {
    fid_fb_vector named = fid_fb_get_vector(program->pte.root, FID_PTE_Program_named_data);
    for (uint32_t i = 0; i < named.count; i++) {
        fid_fb_ref item = fid_fb_table_at(named, i);
        if (strcmp(fid_fb_get_string(item, FID_PTE_NamedData_key), key) != 0) continue;
        /* Reading through a source fills the program's cache of segments, which is safe from any thread. */
        return fid_program_segment((fid_program *)(uintptr_t)program, fid_fb_get_u32(item, FID_PTE_NamedData_segment_index, 0), out_data);
    }
    return FID_NOT_FOUND;
}

/* ---- Data ---- */

/* Reads a segment once for all threads: who comes second frees its copy and takes the first. */
static fid_status read_segment(fid_program *program, uint32_t index, fid_pte_range range, fid_span *out_data) {
    fid_allocator allocator = program->environment.allocator;
    void *data = __atomic_load_n(&program->segments[index], __ATOMIC_ACQUIRE);
    if (!data) {
        if (range.size > SIZE_MAX || !(data = fid_allocate(allocator, (size_t)range.size))) {
            return fid_fail(sink_of(program), FID_OUT_OF_MEMORY, "no memory for segment %u of %llu bytes", index,
                            (unsigned long long)range.size);
        }
        fid_status status = read_source(program, range.offset, data, (size_t)range.size);
        void *first = NULL;
        if (status != FID_OK ||
            !__atomic_compare_exchange_n(&program->segments[index], &first, data, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            fid_free(allocator, data, (size_t)range.size);
            data = first;
        }
        FID_TRY(status);
    }
    *out_data = fid_span_of(data, (size_t)range.size);
    return FID_OK;
}

fid_status fid_program_segment(fid_program *program, uint32_t index, fid_span *out_data) {
    uint32_t count = fid_pte_segment_count(&program->pte);
    if (index >= count) return fid_fail(sink_of(program), FID_INVALID_PROGRAM, "segment %u is named, the program has %u", index, count);
    fid_pte_range range = fid_pte_segment(&program->pte, index);
    if (!program->file) return read_segment(program, index, range, out_data);
    *out_data = fid_span_of(program->file + range.offset, (size_t)range.size);
    return FID_OK;
}

/* The range of one entry of a SubsegmentOffsets inside its segment. */
static fid_status find_entry(fid_program *program, fid_fb_ref offsets, uint32_t index, size_t size, uint64_t *out_offset) {
    fid_fb_vector entries = fid_fb_get_vector(offsets, FID_PTE_SubsegmentOffsets_offsets);
    if (index >= entries.count) {
        return fid_fail(sink_of(program), FID_INVALID_PROGRAM, "data entry %u is named, the program has %u", index, entries.count);
    }
    uint32_t segment = fid_fb_get_u32(offsets, FID_PTE_SubsegmentOffsets_segment_index, 0);
    uint64_t offset = fid_fb_u64_at(entries, index), room = 0;
    if (segment < fid_pte_segment_count(&program->pte)) room = fid_pte_segment(&program->pte, segment).size;
    if (!fid_range_fits(offset, size, room)) {
        return fid_fail(sink_of(program), FID_INVALID_PROGRAM,
                        "data entry %u needs %zu bytes at byte %llu of segment %u, which has %llu",
                        index, size, (unsigned long long)offset, segment, (unsigned long long)room);
    }
    *out_offset = offset;
    return FID_OK;
}

/* Constants of programs from before segments lie in the FlatBuffer. */
static fid_status inline_constant(fid_program *program, uint32_t index, size_t size, const void **out_data) {
    fid_fb_vector buffers = fid_fb_get_vector(program->pte.root, FID_PTE_Program_constant_buffer);
    fid_fb_vector storage = {NULL, 0};
    if (index < buffers.count) storage = fid_fb_get_vector(fid_fb_table_at(buffers, index), FID_PTE_Buffer_storage);
    if (index >= buffers.count || storage.count < size) {
        return fid_fail(sink_of(program), FID_INVALID_PROGRAM,
                        "constant %u needs %zu bytes, the program has %u constants and %u bytes for it",
                        index, size, buffers.count, storage.count);
    }
    *out_data = storage.items;
    return FID_OK;
}

fid_status fid_program_constant(fid_program *program, uint32_t index, size_t size, const void **out_data) {
    fid_fb_ref offsets = fid_fb_get_table(program->pte.root, FID_PTE_Program_constant_segment);
    if (fid_fb_get_vector(offsets, FID_PTE_SubsegmentOffsets_offsets).count == 0) return inline_constant(program, index, size, out_data);
    uint64_t offset;
    fid_span segment;
    FID_TRY(find_entry(program, offsets, index, size, &offset));
    FID_TRY(fid_program_segment(program, fid_fb_get_u32(offsets, FID_PTE_SubsegmentOffsets_segment_index, 0), &segment));
    *out_data = segment.data + offset;
    return FID_OK;
}

fid_status fid_program_read_initial(fid_program *program, uint64_t set, uint32_t index, void *buffer, size_t size) {
    fid_fb_vector sets = fid_fb_get_vector(program->pte.root, FID_PTE_Program_mutable_data_segments);
    if (set >= sets.count) {
        return fid_fail(sink_of(program), FID_INVALID_PROGRAM, "initial values are in set %llu, the program has %u sets",
                        (unsigned long long)set, sets.count);
    }
    fid_fb_ref offsets = fid_fb_table_at(sets, (uint32_t)set);
    uint64_t offset;
    FID_TRY(find_entry(program, offsets, index, size, &offset));
    if (size == 0) return FID_OK;
    uint32_t segment = fid_fb_get_u32(offsets, FID_PTE_SubsegmentOffsets_segment_index, 0);
    fid_pte_range range = fid_pte_segment(&program->pte, segment);
    if (!program->file) return read_source(program, range.offset + offset, buffer, size);
    memcpy(buffer, program->file + range.offset + offset, size);
    return FID_OK;
}
