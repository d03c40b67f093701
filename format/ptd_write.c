/* Writing data files. Field numbers are positions in upstream's schema, as in ptd.c. */
#include "format/ptd_write.h"

#include "format/flatbuffer_build.h"
#include "format/ptd.h"
#include "format/sort.h"

#define ALIGNMENT 128
/* Upstream counts the tables from behind its padded header; ours have theirs in the same place. */
#define HEADER_SIZE 48

typedef struct writer {
    const fid_sink *sink;
    fid_builder builder;
    fid_arena arena;
    const fid_named_data *entries;
    size_t count;
    uint32_t *order;     /* entries in the order of their places */
    uint32_t *segment;   /* of each entry */
    uint32_t *first;     /* of each segment: the entry that it belongs to */
    uint64_t *offsets;   /* of each segment */
    size_t segment_count;
    uint64_t segment_bytes;
} writer;

/* ---- Segments ---- */

static int by_key(const void *self, uint32_t a, uint32_t b) {
    const fid_named_data *entries = self;
    return strcmp(entries[a].key, entries[b].key);
}

static int by_place(const void *self, uint32_t a, uint32_t b) {
    const fid_named_data *entries = self;
    uintptr_t x = (uintptr_t)entries[a].bytes.data, y = (uintptr_t)entries[b].bytes.data;
    if (x != y) return x < y ? -1 : 1;
    if (entries[a].bytes.size != entries[b].bytes.size) return entries[a].bytes.size < entries[b].bytes.size ? -1 : 1;
    return a < b ? -1 : a > b;
}

static fid_status check_keys(writer *w) {
    fid_sort_indices(w->order, w->count, by_key, w->entries);
    for (size_t i = 1; i < w->count; i++) {
        const char *key = w->entries[w->order[i]].key;
        if (strcmp(w->entries[w->order[i - 1]].key, key) == 0) {
            return fid_fail(w->sink, FID_INVALID_ARGUMENT, "two entries of a data file have the key \"%s\"", key);
        }
    }
    return FID_OK;
}

/* Notes for each entry the first entry of the same place, then numbers those in the order of the entries. */
static void find_segments(writer *w) {
    uint32_t owner = 0;
    fid_sort_indices(w->order, w->count, by_place, w->entries);
    for (size_t i = 0; i < w->count; i++) {
        const fid_named_data *one = &w->entries[w->order[i]], *before = &w->entries[owner];
        bool same = i > 0 && one->bytes.data == before->bytes.data && one->bytes.size == before->bytes.size;
        if (!same) owner = w->order[i];
        w->segment[w->order[i]] = owner;
    }
    for (uint32_t i = 0; i < w->count; i++) {
        if (w->segment[i] != i) { /* an earlier entry's, which has its number by now */
            w->segment[i] = w->segment[w->segment[i]];
            continue;
        }
        uint32_t number = (uint32_t)w->segment_count++;
        w->first[number] = i;
        w->offsets[number] = (w->segment_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        w->segment_bytes = w->offsets[number] + w->entries[i].bytes.size;
        w->segment[i] = number;
    }
}

/* ---- Tables ---- */

static fid_build_ref build_layout(fid_builder *b, const fid_named_data *entry) {
    if (!entry->is_tensor) return 0;
    fid_build_ref order = fid_build_vector(b, entry->dim_order, entry->rank, 1), sizes = fid_build_vector(b, entry->sizes, entry->rank, 4);
    fid_build_table_begin(b);
    fid_build_u8(b, 0, entry->dtype, 0);
    fid_build_field(b, 1, sizes);
    fid_build_field(b, 2, order);
    return fid_build_table_end(b);
}

static fid_build_ref build_entry(writer *w, size_t index) {
    fid_builder *b = &w->builder;
    fid_build_ref layout = build_layout(b, &w->entries[index]), key = fid_build_string(b, w->entries[index].key);
    fid_build_table_begin(b);
    fid_build_field(b, 0, key);
    fid_build_u32(b, 1, w->segment[index], 0);
    fid_build_field(b, 2, layout);
    return fid_build_table_end(b);
}

static fid_build_ref build_segment(writer *w, size_t number) {
    fid_build_table_begin(&w->builder);
    fid_build_u64(&w->builder, 0, w->offsets[number], 0);
    fid_build_u64(&w->builder, 1, w->entries[w->first[number]].bytes.size, 0);
    return fid_build_table_end(&w->builder);
}

static fid_build_ref build_file(writer *w, fid_build_ref *refs) {
    for (size_t i = 0; i < w->count; i++) refs[i] = build_entry(w, i);
    fid_build_ref named = fid_build_ref_vector(&w->builder, refs, w->count);
    for (size_t i = 0; i < w->segment_count; i++) refs[i] = build_segment(w, i);
    fid_build_ref segments = fid_build_ref_vector(&w->builder, refs, w->segment_count);
    fid_build_table_begin(&w->builder);
    fid_build_field(&w->builder, 1, segments);
    fid_build_field(&w->builder, 2, named);
    return fid_build_table_end(&w->builder);
}

/* ---- Bytes ---- */

static void store(uint8_t *at, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static void fill_header(uint8_t *data, uint64_t size, uint64_t base, uint64_t segment_bytes) {
    memcpy(data + FID_PTD_HEADER_OFFSET, FID_PTD_HEADER_MAGIC, 4);
    store(data + FID_PTD_HEADER_OFFSET + 4, FID_PTD_HEADER_LENGTH, 4);
    store(data + FID_PTD_HEADER_OFFSET + 8, HEADER_SIZE, 8);
    store(data + FID_PTD_HEADER_OFFSET + 16, size - HEADER_SIZE, 8);
    store(data + FID_PTD_HEADER_OFFSET + 24, base, 8);
    store(data + FID_PTD_HEADER_OFFSET + 32, segment_bytes, 8);
}

static fid_status write_zeros(const fid_pte_sink *destination, uint64_t count) {
    static const uint8_t zeros[ALIGNMENT];
    return count ? destination->write(destination->self, zeros, (size_t)count) : FID_OK;
}

static fid_status write_segments(const writer *w, const fid_pte_sink *destination) {
    uint64_t at = 0;
    for (size_t i = 0; i < w->segment_count; i++) {
        fid_span bytes = w->entries[w->first[i]].bytes;
        FID_TRY(write_zeros(destination, w->offsets[i] - at));
        if (bytes.size) FID_TRY(destination->write(destination->self, bytes.data, bytes.size));
        at = w->offsets[i] + bytes.size;
    }
    return FID_OK;
}

static fid_status write_all(writer *w, const fid_pte_sink *destination, uint64_t *out_size) {
    size_t room = w->count + 1;
    fid_build_ref *refs = fid_arena_allocate_array(&w->arena, room, sizeof *refs);
    uint8_t *data;
    size_t size;
    w->order = fid_arena_allocate_array(&w->arena, room, sizeof *w->order);
    w->segment = fid_arena_allocate_array(&w->arena, room, sizeof *w->segment);
    w->first = fid_arena_allocate_array(&w->arena, room, sizeof *w->first);
    w->offsets = fid_arena_allocate_array(&w->arena, room, sizeof *w->offsets);
    if (!refs || !w->order || !w->segment || !w->first || !w->offsets) {
        return fid_fail(w->sink, FID_OUT_OF_MEMORY, "no memory for the tables of a data file");
    }
    for (uint32_t i = 0; i < w->count; i++) w->order[i] = i;
    FID_TRY(check_keys(w));
    find_segments(w);
    FID_TRY(fid_build_finish(&w->builder, build_file(w, refs), FID_PTD_IDENTIFIER, FID_PTD_HEADER_LENGTH, w->sink, &data, &size));
    uint64_t base = ((uint64_t)size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    fill_header(data, size, base, w->segment_bytes);
    if (out_size) *out_size = base + w->segment_bytes;
    FID_TRY(destination->write(destination->self, data, size));
    FID_TRY(write_zeros(destination, base - size));
    return write_segments(w, destination);
}

fid_status fid_ptd_write(fid_allocator allocator, const fid_sink *sink, const fid_named_data *entries, size_t count,
                         const fid_pte_sink *destination, uint64_t *out_size) {
    writer w = {.sink = sink, .entries = entries, .count = count};
    if (count >= UINT32_MAX) return fid_fail(sink, FID_INVALID_ARGUMENT, "a data file cannot hold %zu entries", count);
    fid_build_init(&w.builder, allocator);
    fid_arena_init(&w.arena, allocator, 4096);
    fid_status status = write_all(&w, destination, out_size);
    fid_arena_deinit(&w.arena);
    fid_build_deinit(&w.builder);
    return status;
}
