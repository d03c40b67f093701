/* The tables of a .pte program as descriptions for the verifier; its header and segments. */
#include "format/pte.h"

#include "base/checked.h"

#define FIELD(T, field, kind, size, of) {FID_FB_##kind, size, of},
#define DESCRIBE(T)                                                                                                    \
    static const fid_fb_field fields_##T[] = {FID_PTE_##T##_FIELDS(FIELD, T){0, 0, NULL}};                             \
    static const fid_fb_type type_##T = {#T, fields_##T, FID_PTE_##T##_SLOT_COUNT};
#define MEMBER(T) &type_##T,

FID_PTE_TABLES_BEFORE_UNIONS(DESCRIBE)

static const fid_fb_type *const members_KernelTypes[] = {FID_PTE_KERNEL_TYPES(MEMBER)};
static const fid_fb_union union_KernelTypes = {members_KernelTypes, sizeof members_KernelTypes / sizeof members_KernelTypes[0]};
static const fid_fb_type *const members_InstructionArguments[] = {FID_PTE_INSTRUCTION_ARGUMENTS(MEMBER)};
static const fid_fb_union union_InstructionArguments = {members_InstructionArguments,
                                                        sizeof members_InstructionArguments / sizeof members_InstructionArguments[0]};

FID_PTE_TABLES_AFTER_UNIONS(DESCRIBE)

/* ---- Header ---- */

/* What a file with another identifier probably is. */
static const char *guess(const uint8_t *id, const uint8_t *head) {
    if (memcmp(head, "PK\3\4", 4) == 0) return "; it is an archive (.pt2?): compile it first";
    if (memcmp(id, "FT01", 4) == 0) return "; it is a data file (.ptd), which goes beside a program";
    if (memcmp(id, "BP08", 4) == 0) return "; it is a bundled program (.bpte)";
    if (memcmp(id, "ET", 2) == 0) return "; it is a program of another format version";
    return "; it is no program or is damaged";
}

static char printable(uint8_t c) { return c >= 32 && c < 127 ? (char)c : '?'; }

static fid_status check_identifier(const fid_sink *sink, fid_span head) {
    const uint8_t *id = head.data + 4;
    if (memcmp(id, FID_PTE_IDENTIFIER, 4) == 0) return FID_OK;
    return fid_fail(sink, FID_INVALID_PROGRAM,
                    "expected the program identifier \"" FID_PTE_IDENTIFIER "\" at byte 4, found \"%c%c%c%c\" (%02x %02x %02x %02x)%s",
                    printable(id[0]), printable(id[1]), printable(id[2]), printable(id[3]), id[0], id[1], id[2], id[3],
                    guess(id, head.data));
}

static uint64_t read_u64(const uint8_t *at) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static fid_status check_sizes(const fid_sink *sink, const fid_pte_header *header, uint64_t file_size) {
    if (header->program_size > file_size || header->segment_base > file_size ||
        header->segment_size > file_size - header->segment_base) {
        uint64_t wanted = header->segment_base + header->segment_size;
        if (wanted < header->program_size) wanted = header->program_size;
        return fid_fail(sink, FID_INVALID_PROGRAM, "the file is cut short: its header speaks of %llu bytes, it has %llu",
                        (unsigned long long)wanted, (unsigned long long)file_size);
    }
    if (header->program_size < FID_PTE_HEADER_OFFSET + FID_PTE_HEADER_LENGTH_SHORT) {
        return fid_fail(sink, FID_INVALID_PROGRAM, "the header gives the program %llu bytes, which cannot hold one",
                        (unsigned long long)header->program_size);
    }
    if (header->segment_base != 0 && header->segment_base < header->program_size) {
        return fid_fail(sink, FID_INVALID_PROGRAM, "the segments begin at byte %llu, inside the program of %llu bytes",
                        (unsigned long long)header->segment_base, (unsigned long long)header->program_size);
    }
    return FID_OK;
}

fid_status fid_pte_read_header(const fid_sink *sink, fid_span head, uint64_t file_size, fid_pte_header *out_header) {
    if (head.size < FID_PTE_HEADER_OFFSET) {
        return fid_fail(sink, FID_INVALID_PROGRAM, "the file has %zu bytes, too few for a program", head.size);
    }
    FID_TRY(check_identifier(sink, head));
    *out_header = (fid_pte_header){.program_size = file_size};
    const uint8_t *at = head.data + FID_PTE_HEADER_OFFSET;
    if (head.size < FID_PTE_HEADER_OFFSET + FID_PTE_HEADER_LENGTH || memcmp(at, FID_PTE_HEADER_MAGIC, 4) != 0) return FID_OK;
    uint32_t length = fid_fb_read_u32(at + 4);
    if (length < FID_PTE_HEADER_LENGTH_SHORT) {
        return fid_fail(sink, FID_INVALID_PROGRAM, "the extended header has length %u, at least %d is expected", length,
                        FID_PTE_HEADER_LENGTH_SHORT);
    }
    out_header->program_size = read_u64(at + 8);
    out_header->segment_base = read_u64(at + 16);
    if (length >= FID_PTE_HEADER_LENGTH) out_header->segment_size = read_u64(at + 24);
    return check_sizes(sink, out_header, file_size);
}

/* ---- Segments ---- */

static fid_fb_vector segments_of(const fid_pte *pte) { return fid_fb_get_vector(pte->root, FID_PTE_Program_segments); }

uint32_t fid_pte_segment_count(const fid_pte *pte) { return segments_of(pte).count; }

fid_pte_range fid_pte_segment(const fid_pte *pte, uint32_t index) {
    fid_fb_ref segment = fid_fb_table_at(segments_of(pte), index);
    return (fid_pte_range){pte->header.segment_base + fid_fb_get_u64(segment, FID_PTE_DataSegment_offset, 0),
                           fid_fb_get_u64(segment, FID_PTE_DataSegment_size, 0)};
}

static fid_status check_segments(const fid_sink *sink, const fid_pte *pte) {
    fid_fb_vector segments = segments_of(pte);
    uint64_t room = pte->header.segment_base ? pte->file_size - pte->header.segment_base : 0;
    for (uint32_t i = 0; i < segments.count; i++) {
        fid_fb_ref segment = fid_fb_table_at(segments, i);
        uint64_t offset = fid_fb_get_u64(segment, FID_PTE_DataSegment_offset, 0);
        uint64_t size = fid_fb_get_u64(segment, FID_PTE_DataSegment_size, 0);
        if (!fid_range_fits(offset, size, room)) {
            return fid_fail(sink, FID_INVALID_PROGRAM,
                            "segment %u covers bytes %llu to %llu + %llu of the segment data, the file has %llu; it may be cut short", i,
                            (unsigned long long)offset, (unsigned long long)offset, (unsigned long long)size, (unsigned long long)room);
        }
    }
    return FID_OK;
}

static fid_status check_segment_index(const fid_sink *sink, const fid_pte *pte, fid_fb_ref table, uint32_t slot, const char *what) {
    uint32_t index = fid_fb_get_u32(table, slot, 0), count = fid_pte_segment_count(pte);
    if (index < count) return FID_OK;
    return fid_fail(sink, FID_INVALID_PROGRAM, "%s names segment %u, the program has %u", what, index, count);
}

/* An offset list of one entry holds only the place of "no data", and then needs no segment. */
static fid_status check_offsets(const fid_sink *sink, const fid_pte *pte, fid_fb_ref offsets, const char *what) {
    if (fid_fb_get_vector(offsets, FID_PTE_SubsegmentOffsets_offsets).count < 2) return FID_OK;
    return check_segment_index(sink, pte, offsets, FID_PTE_SubsegmentOffsets_segment_index, what);
}

static fid_status check_references(const fid_sink *sink, const fid_pte *pte) {
    FID_TRY(check_offsets(sink, pte, fid_fb_get_table(pte->root, FID_PTE_Program_constant_segment), "constant_segment"));
    fid_fb_vector mutable_data = fid_fb_get_vector(pte->root, FID_PTE_Program_mutable_data_segments);
    for (uint32_t i = 0; i < mutable_data.count; i++) {
        FID_TRY(check_offsets(sink, pte, fid_fb_table_at(mutable_data, i), "mutable_data_segments"));
    }
    fid_fb_vector named = fid_fb_get_vector(pte->root, FID_PTE_Program_named_data);
    for (uint32_t i = 0; i < named.count; i++) {
        fid_fb_ref item = fid_fb_table_at(named, i);
        if (!fid_fb_get_string(item, FID_PTE_NamedData_key)) return fid_fail(sink, FID_INVALID_PROGRAM, "named data %u has no key", i);
        FID_TRY(check_segment_index(sink, pte, item, FID_PTE_NamedData_segment_index, "named_data"));
    }
    return FID_OK;
}

static fid_status check_plans(const fid_sink *sink, const fid_pte *pte) {
    fid_fb_vector plans = fid_fb_get_vector(pte->root, FID_PTE_Program_execution_plan);
    for (uint32_t i = 0; i < plans.count; i++) {
        if (!fid_fb_get_string(fid_fb_table_at(plans, i), FID_PTE_ExecutionPlan_name)) {
            return fid_fail(sink, FID_INVALID_PROGRAM, "method %u of the program has no name", i);
        }
    }
    return FID_OK;
}

fid_status fid_pte_open(const fid_sink *sink, fid_span buffer, const fid_pte_header *header, uint64_t file_size, fid_pte *out_pte) {
    fid_pte pte = {.buffer = buffer, .header = *header, .file_size = file_size};
    FID_TRY(fid_fb_verify(sink, buffer, &type_Program, &pte.root));
    uint32_t version = fid_fb_get_u32(pte.root, FID_PTE_Program_version, 0);
    if (version != 0) {
        return fid_fail(sink, FID_INVALID_PROGRAM, "the program has schema version %u, this runtime reads version 0", version);
    }
    FID_TRY(check_segments(sink, &pte));
    FID_TRY(check_references(sink, &pte));
    FID_TRY(check_plans(sink, &pte));
    *out_pte = pte;
    return FID_OK;
}
