/* FlatBuffers builder: see the header. Layout facts are those of the FlatBuffers format: a table begins with a signed
 * distance to its vtable; a vtable holds its own size, the table's size and one 16-bit offset a field; vectors and strings
 * begin with a 32-bit count; every offset is unsigned and points to higher addresses. */
#include "format/flatbuffer_build.h"

#include "base/checked.h"

#define LARGEST_BUFFER ((size_t)0x7fffffff)

void fid_build_init(fid_builder *builder, fid_allocator allocator) {
    memset(builder, 0, sizeof *builder);
    builder->allocator = allocator;
    builder->alignment = 4;
}

void fid_build_deinit(fid_builder *builder) {
    fid_free(builder->allocator, builder->buffer, builder->capacity);
    fid_free(builder->allocator, builder->vtables, builder->vtable_capacity * sizeof *builder->vtables);
    builder->buffer = NULL;
    builder->vtables = NULL;
}

static void *fail(fid_builder *builder, fid_status status) {
    if (builder->status == FID_OK) builder->status = status;
    return NULL;
}

/* Makes room for `size` more bytes; what is there moves to the new end. */
static bool grow(fid_builder *builder, size_t size) {
    size_t needed, capacity = builder->capacity ? builder->capacity : 1024;
    if (!fid_add_size(builder->used, size, &needed) || needed > LARGEST_BUFFER) return fail(builder, FID_NOT_SUPPORTED) != NULL;
    while (capacity < needed) capacity *= 2;
    uint8_t *buffer = fid_allocate(builder->allocator, capacity);
    if (!buffer) return fail(builder, FID_OUT_OF_MEMORY) != NULL;
    if (builder->used)
        memcpy(buffer + capacity - builder->used, builder->buffer + builder->capacity - builder->used, builder->used);
    fid_free(builder->allocator, builder->buffer, builder->capacity);
    builder->buffer = buffer;
    builder->capacity = capacity;
    return true;
}

/* Puts `size` bytes, at least one, in front; NULL after a failure. */
static uint8_t *push(fid_builder *builder, size_t size) {
    if (builder->status != FID_OK) return NULL;
    if (size > builder->capacity - builder->used && !grow(builder, size)) return NULL;
    builder->used += size;
    return builder->buffer + builder->capacity - builder->used;
}

/* Pads so that after `following` more bytes the front is a multiple of `alignment` away from the end. */
static bool align(fid_builder *builder, size_t alignment, size_t following) {
    if (alignment > builder->alignment) builder->alignment = alignment;
    size_t padding = (~(builder->used + following) + 1) & (alignment - 1);
    if (!padding) return builder->status == FID_OK;
    uint8_t *at = push(builder, padding);
    if (!at) return false;
    memset(at, 0, padding);
    return true;
}

static void store_u32(uint8_t *at, uint32_t value) {
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static void store_u16(uint8_t *at, uint32_t value) {
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

/* A 32-bit offset from the new front to an object that lies behind it. */
static void push_offset(fid_builder *builder, fid_build_ref ref) {
    uint8_t *at = push(builder, 4);
    if (at) store_u32(at, (uint32_t)(builder->used - ref));
}

static void push_count(fid_builder *builder, size_t count) {
    uint8_t *at = push(builder, 4);
    if (at) store_u32(at, (uint32_t)count);
}

static fid_build_ref front(const fid_builder *builder) { return builder->status == FID_OK ? (fid_build_ref)builder->used : 0; }

fid_build_ref fid_build_string(fid_builder *builder, const char *text) {
    if (!text) return 0;
    size_t length = strlen(text);
    if (!align(builder, 4, length + 1)) return 0;
    uint8_t *at = push(builder, length + 1);
    if (!at) return 0;
    memcpy(at, text, length + 1);
    push_count(builder, length);
    return front(builder);
}

fid_build_ref fid_build_vector_aligned(fid_builder *builder, const void *data, size_t count, size_t element_size, size_t alignment) {
    size_t size;
    if (!fid_mul_size(count, element_size, &size) || size > LARGEST_BUFFER) return fail(builder, FID_NOT_SUPPORTED), 0;
    if (!align(builder, 4, size) || !align(builder, alignment, size)) return 0;
    uint8_t *at = size ? push(builder, size) : NULL;
    if (at) memcpy(at, data, size);
    push_count(builder, count);
    return front(builder);
}

fid_build_ref fid_build_vector(fid_builder *builder, const void *data, size_t count, size_t element_size) {
    return fid_build_vector_aligned(builder, data, count, element_size, element_size);
}

fid_build_ref *fid_build_ref_array(fid_builder *builder, fid_arena *arena, size_t count) {
    fid_build_ref *refs = fid_arena_allocate_array(arena, count, sizeof *refs);
    if (!refs) builder->status = FID_OUT_OF_MEMORY;
    return refs;
}

fid_build_ref fid_build_ref_vector(fid_builder *builder, const fid_build_ref *refs, size_t count) {
    if (count > LARGEST_BUFFER / 4) return fail(builder, FID_NOT_SUPPORTED), 0;
    if (!align(builder, 4, 0)) return 0;
    for (size_t i = count; i-- > 0;) push_offset(builder, refs[i]);
    push_count(builder, count);
    return front(builder);
}

void fid_build_table_begin(fid_builder *builder) {
    memset(builder->fields, 0, sizeof builder->fields);
    builder->field_count = 0;
    builder->table_start = builder->used;
}

/* Space for a field's value, aligned to its size; NULL after a failure. */
static uint8_t *push_field(fid_builder *builder, uint32_t field, size_t size) {
    if (field >= FID_BUILD_MAX_FIELDS) return fail(builder, FID_INTERNAL);
    if (!align(builder, size, 0)) return NULL;
    uint8_t *at = push(builder, size);
    if (!at) return NULL;
    builder->fields[field] = (uint32_t)builder->used;
    if (field >= builder->field_count) builder->field_count = field + 1;
    return at;
}

void fid_build_u8(fid_builder *builder, uint32_t field, uint8_t value, uint8_t standard) {
    if (value == standard) return;
    uint8_t *at = push_field(builder, field, 1);
    if (at) *at = value;
}

void fid_build_u16(fid_builder *builder, uint32_t field, uint16_t value, uint16_t standard) {
    if (value == standard) return;
    uint8_t *at = push_field(builder, field, 2);
    if (at) store_u16(at, value);
}

void fid_build_u32(fid_builder *builder, uint32_t field, uint32_t value, uint32_t standard) {
    if (value == standard) return;
    uint8_t *at = push_field(builder, field, 4);
    if (at) store_u32(at, value);
}

void fid_build_u64(fid_builder *builder, uint32_t field, uint64_t value, uint64_t standard) {
    if (value == standard) return;
    uint8_t *at = push_field(builder, field, 8);
    if (!at) return;
    store_u32(at, (uint32_t)value);
    store_u32(at + 4, (uint32_t)(value >> 32));
}

void fid_build_double(fid_builder *builder, uint32_t field, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    fid_build_u64(builder, field, bits, 0);
}

void fid_build_field(fid_builder *builder, uint32_t field, fid_build_ref ref) {
    if (!ref) return;
    uint8_t *at = push_field(builder, field, 4);
    if (at) store_u32(at, (uint32_t)(builder->used - ref));
}

static bool remember_vtable(fid_builder *builder, fid_build_ref vtable) {
    if (builder->vtable_count == builder->vtable_capacity) {
        size_t capacity = builder->vtable_capacity ? 2 * builder->vtable_capacity : 32;
        void *grown = builder->allocator.resize(builder->allocator.self, builder->vtables,
                                                builder->vtable_capacity * sizeof *builder->vtables,
                                                capacity * sizeof *builder->vtables);
        if (!grown) return fail(builder, FID_OUT_OF_MEMORY) != NULL;
        builder->vtables = grown;
        builder->vtable_capacity = capacity;
    }
    builder->vtables[builder->vtable_count++] = vtable;
    return true;
}

/* An equal vtable that is already in the buffer, or `vtable` itself, then remembered. */
static fid_build_ref share_vtable(fid_builder *builder, fid_build_ref vtable, size_t size) {
    const uint8_t *end = builder->buffer + builder->capacity;
    for (size_t i = 0; i < builder->vtable_count; i++)
        if (builder->vtables[i] >= size && memcmp(end - builder->vtables[i], end - vtable, size) == 0) return builder->vtables[i];
    remember_vtable(builder, vtable);
    return vtable;
}

fid_build_ref fid_build_table_end(fid_builder *builder) {
    if (!align(builder, 4, 0) || !push(builder, 4)) return 0;
    fid_build_ref table = front(builder);
    size_t size = 4 + 2 * (size_t)builder->field_count;
    if (table - builder->table_start > UINT16_MAX) return fail(builder, FID_INTERNAL), 0;
    uint8_t *at = push(builder, 2 * builder->field_count + 4);
    if (!at) return 0;
    store_u16(at, (uint32_t)size);
    store_u16(at + 2, (uint32_t)(table - builder->table_start));
    for (uint32_t i = 0; i < builder->field_count; i++)
        store_u16(at + 4 + 2 * i, builder->fields[i] ? table - builder->fields[i] : 0);
    fid_build_ref own = front(builder), vtable = share_vtable(builder, own, size);
    if (vtable != own) builder->used -= size;
    if (builder->status != FID_OK) return 0;
    store_u32(builder->buffer + builder->capacity - table, vtable - table);
    return table;
}

static fid_status give(fid_builder *builder, const fid_sink *sink, uint8_t **out_data, size_t *out_size) {
    if (builder->status == FID_OUT_OF_MEMORY) return fid_fail(sink, FID_OUT_OF_MEMORY, "no memory for %zu bytes of program", builder->used);
    if (builder->status != FID_OK)
        return fid_fail(sink, builder->status, "a FlatBuffer of %zu bytes and more cannot be written: the format ends at 2 GiB", builder->used);
    *out_data = builder->buffer + builder->capacity - builder->used;
    *out_size = builder->used;
    return FID_OK;
}

static void push_root(fid_builder *builder, fid_build_ref root, const char *identifier) {
    uint8_t *at = push(builder, 4);
    if (at) memcpy(at, identifier, 4);
    push_offset(builder, root);
}

fid_status fid_build_finish(fid_builder *builder, fid_build_ref root, const char *identifier, size_t header_size,
                            const fid_sink *sink, uint8_t **out_data, size_t *out_size) {
    if (align(builder, builder->alignment, header_size + 8)) {
        uint8_t *at = header_size ? push(builder, header_size) : NULL;
        if (at) memset(at, 0, header_size);
        push_root(builder, root, identifier);
    }
    return give(builder, sink, out_data, out_size);
}

fid_status fid_build_finish_prefixed(fid_builder *builder, fid_build_ref root, const char *identifier, const fid_sink *sink, uint8_t **out_data,
                                     size_t *out_size) {
    if (align(builder, builder->alignment, 12)) {
        push_root(builder, root, identifier);
        push_count(builder, builder->used);
    }
    return give(builder, sink, out_data, out_size);
}
