/* Builds FlatBuffers back to front: children first, then whoever points to them, the root last.
 *
 * A builder holds a buffer that grows towards lower addresses. References are distances from the end of the buffer, so that they
 * stay true while it grows. The first failure (memory short, more than 2 GiB) is kept: later calls do nothing and return 0,
 * and fid_build_finish tells. Not thread-safe. */
#ifndef FID_FORMAT_FLATBUFFER_BUILD_H
#define FID_FORMAT_FLATBUFFER_BUILD_H

#include "base/allocator.h"
#include "base/span.h"
#include "base/status.h"

/* A finished string, vector or table of one builder; 0 is none. */
typedef uint32_t fid_build_ref;

/* Fields a table may have; upstream's largest table has fewer than half. */
#define FID_BUILD_MAX_FIELDS 24

typedef struct fid_builder {
    fid_allocator allocator;
    uint8_t *buffer;
    size_t capacity;   /* bytes at `buffer` */
    size_t used;       /* bytes at its end that are in use */
    size_t alignment;  /* largest seen: the finished buffer must lie at such an address */
    fid_status status;
    uint32_t *vtables; /* references of the distinct vtables */
    size_t vtable_count, vtable_capacity;
    uint32_t fields[FID_BUILD_MAX_FIELDS]; /* of the table in work: where each field lies, 0 absent */
    uint32_t field_count;
    size_t table_start;                    /* `used` when the table was begun */
} fid_builder;

void fid_build_init(fid_builder *builder, fid_allocator allocator);
void fid_build_deinit(fid_builder *builder);

/* NULL text gives 0. */
fid_build_ref fid_build_string(fid_builder *builder, const char *text);
/* `count` elements of `element_size` bytes (1, 2, 4 or 8), little-endian as in memory; data may be NULL if count is 0. */
fid_build_ref fid_build_vector(fid_builder *builder, const void *data, size_t count, size_t element_size);
/* The first element at a multiple of `alignment` (a power of two) from the start of the finished buffer. */
fid_build_ref fid_build_vector_aligned(fid_builder *builder, const void *data, size_t count, size_t element_size, size_t alignment);
/* Room for `count` references, to be filled for a vector of them; NULL, and the builder fails, when memory is short. */
fid_build_ref *fid_build_ref_array(fid_builder *builder, fid_arena *arena, size_t count);
/* A vector of references to strings, vectors or tables, none of them 0. */
fid_build_ref fid_build_ref_vector(fid_builder *builder, const fid_build_ref *refs, size_t count);

/* One table at a time; strings and vectors that it points to are made before. `field` is the position in the schema; a union
 * counts as two, its type first. A value equal to `standard` is left out: readers take the schema's default. */
void fid_build_table_begin(fid_builder *builder);
void fid_build_u8(fid_builder *builder, uint32_t field, uint8_t value, uint8_t standard);
void fid_build_u16(fid_builder *builder, uint32_t field, uint16_t value, uint16_t standard);
void fid_build_u32(fid_builder *builder, uint32_t field, uint32_t value, uint32_t standard);
void fid_build_u64(fid_builder *builder, uint32_t field, uint64_t value, uint64_t standard);
static inline void fid_build_i8(fid_builder *builder, uint32_t field, int8_t value, int8_t standard) {
    fid_build_u8(builder, field, (uint8_t)value, (uint8_t)standard);
}
static inline void fid_build_i32(fid_builder *builder, uint32_t field, int32_t value, int32_t standard) {
    fid_build_u32(builder, field, (uint32_t)value, (uint32_t)standard);
}
static inline void fid_build_i64(fid_builder *builder, uint32_t field, int64_t value, int64_t standard) {
    fid_build_u64(builder, field, (uint64_t)value, (uint64_t)standard);
}
/* The default is 0. Minus zero and NaN are written. */
void fid_build_double(fid_builder *builder, uint32_t field, double value);
void fid_build_field(fid_builder *builder, uint32_t field, fid_build_ref ref); /* 0 leaves the field out */
/* Fields `field` (the type) and `field + 1` (the table). */
static inline void fid_build_union(fid_builder *builder, uint32_t field, uint8_t type, fid_build_ref ref) {
    fid_build_field(builder, field + 1, ref);
    fid_build_u8(builder, field, type, 0);
}
fid_build_ref fid_build_table_end(fid_builder *builder);

/* Writes root offset and file identifier (4 characters), and after them `header_size` zero bytes that the caller may fill:
 * they begin at byte 8. On success the span is valid until the builder is used again; its address has the allocator's alignment
 * if its size has: the size is a multiple of the largest alignment in the buffer. */
fid_status fid_build_finish(fid_builder *builder, fid_build_ref root, const char *identifier, size_t header_size,
                            const fid_sink *sink, uint8_t **out_data, size_t *out_size);
/* The same without header, and before everything the size of what follows, in 4 bytes: size-prefixed files. Alignment counts from
 * the prefix on. */
fid_status fid_build_finish_prefixed(fid_builder *builder, fid_build_ref root, const char *identifier, const fid_sink *sink, uint8_t **out_data,
                                     size_t *out_size);

#endif
