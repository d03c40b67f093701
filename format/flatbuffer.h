/* Reading FlatBuffers: verify once against a description of the tables, then trust.
 *
 * fid_fb_verify promises, for everything that the description reaches from the root:
 *   - every table, vtable, vector and string lies inside the buffer, at the alignment of its elements;
 *   - a field that is present lies inside its table and has the size that the description says;
 *   - a string ends in a zero byte inside the buffer;
 *   - the member of a union that is present is a table of the type that the union's tag names;
 *   - the walk visits at most as many tables as the buffer has bytes, so shared tables cannot multiply the work.
 * It does not promise: that a field is present (accessors give defaults and empty vectors), that a number or an index means
 * anything, that a string has no zero byte inside, that a union's tag is known (then the member is not looked at), or that
 * two objects do not overlap. Fields beyond the description (newer writers) are ignored.
 *
 * Numbers are little-endian in the buffer and are read in place, so the host must be little-endian, and the buffer must start
 * at an address aligned to 16. */
#ifndef FID_FORMAT_FLATBUFFER_H
#define FID_FORMAT_FLATBUFFER_H

#include "base/span.h"
#include "base/status.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "FlatBuffers are read in place: the host must be little-endian");

/* ---- Descriptions ---- */

typedef enum fid_fb_kind {
    FID_FB_SCALAR, /* size: bytes of the number */
    FID_FB_STRING,
    FID_FB_VECTOR, /* of numbers; size: bytes of one */
    FID_FB_TABLE,  /* of: fid_fb_type */
    FID_FB_TABLES, /* vector of tables; of: fid_fb_type */
    FID_FB_UNION,  /* of: fid_fb_union; the field before it is the tag, a byte */
} fid_fb_kind;

typedef struct fid_fb_field {
    uint8_t kind, size;
    const void *of;
} fid_fb_field;

typedef struct fid_fb_type {
    const char *name; /* for messages */
    const fid_fb_field *fields;
    size_t field_count;
} fid_fb_type;

typedef struct fid_fb_union {
    const fid_fb_type *const *members; /* members[tag - 1] */
    size_t member_count;
} fid_fb_union;

/* ---- Access ---- */

/* A table; at NULL: absent, whose fields all read as absent. */
typedef struct fid_fb_ref {
    const uint8_t *at;
} fid_fb_ref;

typedef struct fid_fb_vector {
    const uint8_t *items; /* aligned to the size of an item */
    uint32_t count;
} fid_fb_vector;

/* Checks the whole buffer from its root table on. Fails with FID_INVALID_PROGRAM and a sentence that names table, field and byte. */
fid_status fid_fb_verify(const fid_sink *sink, fid_span buffer, const fid_fb_type *root, fid_fb_ref *out_root);

/* The same for a buffer whose root offset stands at byte `start`, a multiple of 4: size-prefixed files begin with their size. */
fid_status fid_fb_verify_from(const fid_sink *sink, fid_span buffer, size_t start, const fid_fb_type *root, fid_fb_ref *out_root);

/* The bytes of a field, NULL if absent. `slot` counts from 0 in the order of the schema. */
const uint8_t *fid_fb_find(fid_fb_ref table, uint32_t slot);

fid_fb_vector fid_fb_get_vector(fid_fb_ref table, uint32_t slot); /* absent: empty */
fid_fb_ref fid_fb_get_table(fid_fb_ref table, uint32_t slot);     /* also the member of a union */
/* NULL if absent. */
const char *fid_fb_get_string(fid_fb_ref table, uint32_t slot);

static inline uint32_t fid_fb_read_u32(const uint8_t *at) {
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

#define FID_FB_GETTER(name, type)                                                                                      \
    static inline type fid_fb_get_##name(fid_fb_ref table, uint32_t slot, type absent) {                               \
        const uint8_t *at = fid_fb_find(table, slot);                                                                  \
        if (at) memcpy(&absent, at, sizeof absent);                                                                    \
        return absent;                                                                                                 \
    }
FID_FB_GETTER(u8, uint8_t)
FID_FB_GETTER(i8, int8_t)
FID_FB_GETTER(u16, uint16_t)
FID_FB_GETTER(u32, uint32_t)
FID_FB_GETTER(i32, int32_t)
FID_FB_GETTER(u64, uint64_t)
FID_FB_GETTER(i64, int64_t)
FID_FB_GETTER(f32, float)
FID_FB_GETTER(f64, double)
#undef FID_FB_GETTER

/* Items of vectors; the index must be below the count. */
static inline fid_fb_ref fid_fb_table_at(fid_fb_vector vector, uint32_t index) {
    const uint8_t *at = vector.items + 4 * (size_t)index;
    return (fid_fb_ref){at + fid_fb_read_u32(at)};
}
static inline int32_t fid_fb_i32_at(fid_fb_vector vector, uint32_t index) {
    return (int32_t)fid_fb_read_u32(vector.items + 4 * (size_t)index);
}
static inline uint64_t fid_fb_u64_at(fid_fb_vector vector, uint32_t index) {
    uint64_t value;
    memcpy(&value, vector.items + 8 * (size_t)index, sizeof value);
    return value;
}
static inline fid_span fid_fb_bytes(fid_fb_vector vector) { return fid_span_of(vector.items, vector.count); }

#endif
