/* Writing traces. Field numbers are positions in upstream's schema, as in etdump.c. Equal names are stored once. */
#include "format/etdump.h"

#include "format/flatbuffer_build.h"

/* Names written so far: open addressing by address, since a runtime gives the same pointer for the same operator. */
typedef struct name_slot { const char *name; bool kernel; fid_build_ref ref; } name_slot;

typedef struct writer {
    fid_builder builder;
    fid_arena arena;
    name_slot *slots;
    size_t slot_count; /* a power of two, more than there are names */
} writer;

static fid_build_ref build_kernel_name(fid_builder *b, const char *name) {
    char text[256];
    bool aten = strncmp(name, "aten::", 6) == 0;
    fid_format(text, sizeof text, "native_call_%s", aten ? name + 6 : name);
    return fid_build_string(b, text);
}

static fid_build_ref build_name(writer *w, const char *name, bool kernel) {
    size_t at = ((uintptr_t)name * (uintptr_t)0x9E3779B97F4A7C15u >> 20) & (w->slot_count - 1);
    while (w->slots[at].ref && (w->slots[at].name != name || w->slots[at].kernel != kernel)) at = (at + 1) & (w->slot_count - 1);
    if (!w->slots[at].ref) {
        fid_build_ref ref = kernel ? build_kernel_name(&w->builder, name) : fid_build_string(&w->builder, name);
        w->slots[at] = (name_slot){name, kernel, ref};
    }
    return w->slots[at].ref;
}

static fid_build_ref build_event(writer *w, const fid_trace_event *event) {
    fid_builder *b = &w->builder;
    fid_build_ref name = build_name(w, event->name, event->kernel), part = fid_build_string(b, event->delegate_name);
    fid_build_ref metadata = event->metadata.size ? fid_build_vector(b, event->metadata.data, event->metadata.size, 1) : 0;
    fid_build_table_begin(b);
    fid_build_field(b, 0, name);
    fid_build_i32(b, 1, event->chain, 0);
    fid_build_i32(b, 2, event->instruction, -1);
    fid_build_i32(b, 3, event->delegate_id, -1);
    fid_build_field(b, 4, part);
    fid_build_field(b, 5, metadata);
    fid_build_u64(b, 6, event->start, 0);
    fid_build_u64(b, 7, event->end, 0);
    fid_build_ref profile = fid_build_table_end(b);
    fid_build_table_begin(b);
    fid_build_field(b, 0, profile);
    return fid_build_table_end(b);
}

static fid_build_ref build_block(writer *w, const fid_etdump_block *block) {
    fid_builder *b = &w->builder;
    fid_build_ref *refs = fid_build_ref_array(&w->builder, &w->arena, block->event_count);
    for (size_t i = 0; refs && i < block->event_count; i++) refs[i] = build_event(w, &block->events[i]);
    fid_build_ref events = refs ? fid_build_ref_vector(b, refs, block->event_count) : 0, name = fid_build_string(b, block->name);
    fid_build_table_begin(b);
    fid_build_field(b, 0, name);
    fid_build_field(b, 3, events);
    return fid_build_table_end(b);
}

static fid_build_ref build_dump(writer *w, const fid_etdump_block *blocks, size_t count) {
    fid_build_ref *refs = fid_build_ref_array(&w->builder, &w->arena, count);
    for (size_t i = 0; refs && i < count; i++) refs[i] = build_block(w, &blocks[i]);
    fid_build_ref runs = refs ? fid_build_ref_vector(&w->builder, refs, count) : 0;
    fid_build_table_begin(&w->builder);
    fid_build_u32(&w->builder, 0, FID_ETDUMP_VERSION, 0xffffffff); /* written although it is the default: upstream's reader wants it */
    fid_build_field(&w->builder, 1, runs);
    return fid_build_table_end(&w->builder);
}

static fid_status make_slots(writer *w, const fid_etdump_block *blocks, size_t count) {
    size_t events = 0;
    for (size_t i = 0; i < count; i++) events += blocks[i].event_count;
    for (w->slot_count = 64; w->slot_count < 2 * events;) w->slot_count *= 2;
    w->slots = fid_arena_allocate_array(&w->arena, w->slot_count, sizeof *w->slots);
    return w->slots ? FID_OK : FID_OUT_OF_MEMORY;
}

/* The builder's bytes, in memory of exactly their size. */
static fid_status write_all(writer *w, const fid_sink *sink, const fid_etdump_block *blocks, size_t count, uint8_t **out_data, size_t *out_size) {
    uint8_t *data;
    size_t size;
    if (make_slots(w, blocks, count) != FID_OK) return fid_fail(sink, FID_OUT_OF_MEMORY, "no memory to write the trace");
    FID_TRY(fid_build_finish_prefixed(&w->builder, build_dump(w, blocks, count), FID_ETDUMP_IDENTIFIER, sink, &data, &size));
    uint8_t *copy = fid_allocate(w->builder.allocator, size);
    if (!copy) return fid_fail(sink, FID_OUT_OF_MEMORY, "no memory for a trace of %zu bytes", size);
    memcpy(copy, data, size);
    *out_data = copy;
    *out_size = size;
    return FID_OK;
}

fid_status fid_etdump_write(fid_allocator allocator, const fid_sink *sink, const fid_etdump_block *blocks, size_t block_count, uint8_t **out_data,
                            size_t *out_size) {
    writer w = {0};
    fid_build_init(&w.builder, allocator);
    fid_arena_init(&w.arena, allocator, 16384);
    fid_status status = write_all(&w, sink, blocks, block_count, out_data, out_size);
    fid_arena_deinit(&w.arena);
    fid_build_deinit(&w.builder);
    return status;
}
