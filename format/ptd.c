/* Reading data files: header, the tables of the schema for the verifier, then the checks that the verifier cannot make. */
#include "format/ptd.h"

#include "base/checked.h"
#include "ops/value.h"

/* Slots, in the order of the schema. */
enum { FILE_VERSION, FILE_SEGMENTS, FILE_NAMED_DATA };
enum { SEGMENT_OFFSET, SEGMENT_SIZE };
enum { NAMED_KEY, NAMED_SEGMENT, NAMED_LAYOUT };
enum { LAYOUT_DTYPE, LAYOUT_SIZES, LAYOUT_DIM_ORDER };

static const fid_fb_field layout_fields[] = {{FID_FB_SCALAR, 1, NULL}, {FID_FB_VECTOR, 4, NULL}, {FID_FB_VECTOR, 1, NULL}};
static const fid_fb_type layout_type = {"TensorLayout", layout_fields, 3};
static const fid_fb_field segment_fields[] = {{FID_FB_SCALAR, 8, NULL}, {FID_FB_SCALAR, 8, NULL}};
static const fid_fb_type segment_type = {"DataSegment", segment_fields, 2};
static const fid_fb_field named_fields[] = {{FID_FB_STRING, 0, NULL}, {FID_FB_SCALAR, 4, NULL}, {FID_FB_TABLE, 0, &layout_type}};
static const fid_fb_type named_type = {"NamedData", named_fields, 3};
static const fid_fb_field file_fields[] = {{FID_FB_SCALAR, 4, NULL}, {FID_FB_TABLES, 0, &segment_type}, {FID_FB_TABLES, 0, &named_type}};
static const fid_fb_type file_type = {"FlatTensor", file_fields, 3};

bool fid_ptd_recognize(fid_span file) { return file.size >= 8 && memcmp(file.data + 4, FID_PTD_IDENTIFIER, 4) == 0; }

/* ---- Header ---- */

typedef struct header {
    uint64_t buffer_size, segment_base, segment_size; /* the FlatBuffer begins at byte 0: the header lies inside it */
} header;

static uint64_t read_u64(const uint8_t *at) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static fid_status check_head(const fid_sink *sink, fid_span file) {
    if (!fid_ptd_recognize(file)) {
        bool program = file.size >= 8 && memcmp(file.data + 4, "ET", 2) == 0;
        return fid_fail(sink, FID_INVALID_EXTERNAL_DATA, "expected the identifier \"" FID_PTD_IDENTIFIER "\" of a data file at byte 4%s",
                        program ? "; it is a program" : "");
    }
    const uint8_t *at = file.data + FID_PTD_HEADER_OFFSET;
    if (file.size < FID_PTD_HEADER_OFFSET + FID_PTD_HEADER_LENGTH || memcmp(at, FID_PTD_HEADER_MAGIC, 4) != 0) {
        return fid_fail(sink, FID_INVALID_EXTERNAL_DATA, "expected the header \"" FID_PTD_HEADER_MAGIC "\" at byte 8");
    }
    if (fid_fb_read_u32(at + 4) >= FID_PTD_HEADER_LENGTH) return FID_OK;
    return fid_fail(sink, FID_INVALID_EXTERNAL_DATA, "the header has length %u, at least %d is expected", fid_fb_read_u32(at + 4),
                    FID_PTD_HEADER_LENGTH);
}

static fid_status read_header(const fid_sink *sink, fid_span file, header *out) {
    FID_TRY(check_head(sink, file));
    const uint8_t *at = file.data + FID_PTD_HEADER_OFFSET;
    uint64_t offset = read_u64(at + 8), size = read_u64(at + 16), total = file.size;
    *out = (header){offset + size, read_u64(at + 24), read_u64(at + 32)};
    if (!fid_range_fits(offset, size, total) || !fid_range_fits(out->segment_base, out->segment_size, total)) {
        return fid_fail(sink, FID_INVALID_EXTERNAL_DATA,
                        "the file has %llu bytes; its header speaks of tables at %llu + %llu and segments at %llu + %llu: it may be cut short",
                        (unsigned long long)total, (unsigned long long)offset, (unsigned long long)size,
                        (unsigned long long)out->segment_base, (unsigned long long)out->segment_size);
    }
    if (out->segment_size > 0 && out->segment_base < out->buffer_size) {
        return fid_fail(sink, FID_INVALID_EXTERNAL_DATA, "the segments begin at byte %llu, inside the tables of %llu bytes",
                        (unsigned long long)out->segment_base, (unsigned long long)out->buffer_size);
    }
    return FID_OK;
}

/* ---- Checks ---- */

static fid_fb_ref segment_of(const fid_ptd *ptd, fid_fb_ref named) {
    return fid_fb_table_at(fid_fb_get_vector(ptd->root, FILE_SEGMENTS), fid_fb_get_u32(named, NAMED_SEGMENT, 0));
}

static fid_status check_segments(const fid_sink *sink, const fid_ptd *ptd, uint64_t room) {
    fid_fb_vector segments = fid_fb_get_vector(ptd->root, FILE_SEGMENTS);
    for (uint32_t i = 0; i < segments.count; i++) {
        fid_fb_ref segment = fid_fb_table_at(segments, i);
        uint64_t offset = fid_fb_get_u64(segment, SEGMENT_OFFSET, 0), size = fid_fb_get_u64(segment, SEGMENT_SIZE, 0);
        if (fid_range_fits(offset, size, room)) continue;
        return fid_fail(sink, FID_INVALID_EXTERNAL_DATA, "segment %u covers bytes %llu + %llu of the segments, which have %llu", i,
                        (unsigned long long)offset, (unsigned long long)size, (unsigned long long)room);
    }
    return FID_OK;
}

/* A layout that is possible, and as many bytes as it says. */
static const char *layout_fault(fid_fb_ref layout, uint64_t stored) {
    fid_fb_vector sizes = fid_fb_get_vector(layout, LAYOUT_SIZES), order = fid_fb_get_vector(layout, LAYOUT_DIM_ORDER);
    int64_t wide[FID_MAX_RANK];
    size_t item = fid_dtype_size((fid_dtype)fid_fb_get_u8(layout, LAYOUT_DTYPE, 0)), count;
    if (item == 0) return "has an unknown dtype";
    if (sizes.count > FID_MAX_RANK) return "has too many dimensions";
    if (order.count != sizes.count || !fid_dim_order_valid(order.items, order.count)) return "has a dim order that fits no layout";
    for (uint32_t i = 0; i < sizes.count; i++) wide[i] = fid_fb_i32_at(sizes, i);
    if (!fid_mul_sizes(wide, sizes.count, &count) || !fid_mul_size(count, item, &count)) return "has impossible sizes";
    return count == stored ? NULL : "has another number of bytes than its sizes say";
}

static fid_status check_named(const fid_sink *sink, const fid_ptd *ptd) {
    fid_fb_vector named = fid_fb_get_vector(ptd->root, FILE_NAMED_DATA);
    uint32_t segments = fid_fb_get_vector(ptd->root, FILE_SEGMENTS).count;
    for (uint32_t i = 0; i < named.count; i++) {
        fid_fb_ref item = fid_fb_table_at(named, i), layout = fid_fb_get_table(item, NAMED_LAYOUT);
        const char *key = fid_fb_get_string(item, NAMED_KEY);
        uint32_t index = fid_fb_get_u32(item, NAMED_SEGMENT, 0);
        if (!key) return fid_fail(sink, FID_INVALID_EXTERNAL_DATA, "entry %u has no key", i);
        if (index >= segments) {
            return fid_fail(sink, FID_INVALID_EXTERNAL_DATA, "\"%s\" names segment %u, the file has %u", key, index, segments);
        }
        const char *fault = layout.at ? layout_fault(layout, fid_fb_get_u64(segment_of(ptd, item), SEGMENT_SIZE, 0)) : NULL;
        if (fault) return fid_fail(sink, FID_INVALID_EXTERNAL_DATA, "tensor \"%s\" %s", key, fault);
    }
    return FID_OK;
}

fid_status fid_ptd_open(const fid_sink *sink, fid_span file, fid_ptd *out_ptd) {
    header head;
    fid_ptd ptd = {.file = file};
    FID_TRY(read_header(sink, file, &head));
    ptd.segment_base = head.segment_base;
    if (fid_fb_verify(sink, fid_span_of(file.data, (size_t)head.buffer_size), &file_type, &ptd.root) != FID_OK) {
        return fid_fail(sink, FID_INVALID_EXTERNAL_DATA, "the data file's tables are damaged");
    }
    uint32_t version = fid_fb_get_u32(ptd.root, FILE_VERSION, 0);
    if (version != 0) return fid_fail(sink, FID_INVALID_EXTERNAL_DATA, "the data file has schema version %u, version 0 is read here", version);
    FID_TRY(check_segments(sink, &ptd, head.segment_size));
    FID_TRY(check_named(sink, &ptd));
    *out_ptd = ptd;
    return FID_OK;
}

/* ---- Entries ---- */

size_t fid_ptd_count(const fid_ptd *ptd) { return fid_fb_get_vector(ptd->root, FILE_NAMED_DATA).count; }

fid_named_data fid_ptd_at(const fid_ptd *ptd, size_t index) {
    fid_fb_ref item = fid_fb_table_at(fid_fb_get_vector(ptd->root, FILE_NAMED_DATA), (uint32_t)index);
    fid_fb_ref layout = fid_fb_get_table(item, NAMED_LAYOUT), segment = segment_of(ptd, item);
    const uint8_t *bytes = ptd->file.data + ptd->segment_base + fid_fb_get_u64(segment, SEGMENT_OFFSET, 0);
    fid_fb_vector sizes = fid_fb_get_vector(layout, LAYOUT_SIZES);
    return (fid_named_data){.key = fid_fb_get_string(item, NAMED_KEY),
                            .bytes = fid_span_of(bytes, (size_t)fid_fb_get_u64(segment, SEGMENT_SIZE, 0)),
                            .is_tensor = layout.at != NULL,
                            .dtype = fid_fb_get_u8(layout, LAYOUT_DTYPE, 0),
                            .rank = (uint8_t)sizes.count,
                            .sizes = (const int32_t *)(const void *)sizes.items,
                            .dim_order = fid_fb_get_vector(layout, LAYOUT_DIM_ORDER).items};
}
