/* Reading traces: the tables of the schema for the verifier, then the checks that the verifier cannot make. */
#include "format/etdump.h"

/* Slots, in the order of the schema. */
enum { DUMP_VERSION, DUMP_RUNS };
enum { RUN_NAME, RUN_BUNDLED_INPUT, RUN_ALLOCATORS, RUN_EVENTS };
enum { EVENT_PROFILE, EVENT_ALLOCATION, EVENT_DEBUG };
enum { PROFILE_NAME, PROFILE_CHAIN, PROFILE_INSTRUCTION, PROFILE_DELEGATE_ID, PROFILE_DELEGATE_NAME, PROFILE_METADATA, PROFILE_START, PROFILE_END };
enum { ALLOCATION_ALLOCATOR, ALLOCATION_SIZE };

#define SCALAR(size) {FID_FB_SCALAR, size, NULL}
#define STRING {FID_FB_STRING, 0, NULL}
#define TYPE(name) static const fid_fb_type name##_type = {#name, name##_fields, sizeof name##_fields / sizeof name##_fields[0]};

static const fid_fb_field Profile_fields[] = {STRING,    SCALAR(4), SCALAR(4), SCALAR(4), STRING, {FID_FB_VECTOR, 1, NULL},
                                              SCALAR(8), SCALAR(8)};
TYPE(Profile)
static const fid_fb_field Allocation_fields[] = {SCALAR(4), SCALAR(8)};
TYPE(Allocation)
/* Logged values stay closed: their bytes lie in a file of their own, and the kind of a value says nothing about time. */
static const fid_fb_field Debug_fields[] = {SCALAR(8)};
TYPE(Debug)
static const fid_fb_field Event_fields[] = {{FID_FB_TABLE, 0, &Profile_type}, {FID_FB_TABLE, 0, &Allocation_type}, {FID_FB_TABLE, 0, &Debug_type}};
TYPE(Event)
static const fid_fb_field Allocator_fields[] = {STRING};
TYPE(Allocator)
static const fid_fb_field Run_fields[] = {STRING, SCALAR(4), {FID_FB_TABLES, 0, &Allocator_type}, {FID_FB_TABLES, 0, &Event_type}};
TYPE(Run)
static const fid_fb_field Dump_fields[] = {SCALAR(4), {FID_FB_TABLES, 0, &Run_type}};
TYPE(Dump)

static bool identifier_at(fid_span file, size_t at) { return file.size >= at + 4 && memcmp(file.data + at, FID_ETDUMP_IDENTIFIER, 4) == 0; }

bool fid_etdump_recognize(fid_span file) { return identifier_at(file, 4) || identifier_at(file, 8); }

/* ---- Checks ---- */

static fid_status check_event(const fid_sink *sink, uint32_t run, uint32_t index, fid_fb_ref event) {
    uint32_t kinds = 0;
    for (uint32_t slot = EVENT_PROFILE; slot <= EVENT_DEBUG; slot++) kinds += fid_fb_get_table(event, slot).at != NULL;
    if (kinds != 1) {
        return fid_fail(sink, FID_INVALID_PROGRAM, "event %u of run %u in the trace is of %u kinds at once; one is right", index, run, kinds);
    }
    fid_fb_ref profile = fid_fb_get_table(event, EVENT_PROFILE);
    if (profile.at && fid_fb_get_u64(profile, PROFILE_END, 0) < fid_fb_get_u64(profile, PROFILE_START, 0)) {
        return fid_fail(sink, FID_INVALID_PROGRAM, "event %u of run %u in the trace ends before it starts", index, run);
    }
    return FID_OK;
}

fid_status fid_etdump_open(const fid_sink *sink, fid_span file, fid_etdump *out) {
    bool prefixed = identifier_at(file, 8) && !identifier_at(file, 4);
    if (!prefixed && !identifier_at(file, 4)) {
        return fid_fail(sink, FID_INVALID_PROGRAM, "expected the identifier \"" FID_ETDUMP_IDENTIFIER "\" of a trace at byte 4 or 8");
    }
    uint32_t size = prefixed ? fid_fb_read_u32(file.data) : 0;
    if (prefixed && size > file.size - 4) {
        return fid_fail(sink, FID_INVALID_PROGRAM, "the trace says that %u bytes follow, but only %zu do: it is cut off", size, file.size - 4);
    }
    fid_fb_ref root;
    FID_TRY(fid_fb_verify_from(sink, file, prefixed ? 4 : 0, &Dump_type, &root));
    fid_etdump dump = {.version = fid_fb_get_u32(root, DUMP_VERSION, 0), .runs = fid_fb_get_vector(root, DUMP_RUNS)};
    if (dump.version != FID_ETDUMP_VERSION) {
        return fid_fail(sink, FID_NOT_SUPPORTED, "the trace has version %u, this reads version %d", dump.version, FID_ETDUMP_VERSION);
    }
    for (uint32_t i = 0; i < dump.runs.count; i++) {
        fid_fb_vector events = fid_fb_get_vector(fid_fb_table_at(dump.runs, i), RUN_EVENTS);
        for (uint32_t k = 0; k < events.count; k++) FID_TRY(check_event(sink, i, k, fid_fb_table_at(events, k)));
    }
    *out = dump;
    return FID_OK;
}

/* ---- Access ---- */

fid_etdump_run fid_etdump_run_at(const fid_etdump *dump, uint32_t index) {
    fid_fb_ref run = fid_fb_table_at(dump->runs, index);
    const char *name = fid_fb_get_string(run, RUN_NAME);
    return (fid_etdump_run){name ? name : "", fid_fb_get_i32(run, RUN_BUNDLED_INPUT, -1), fid_fb_get_vector(run, RUN_EVENTS)};
}

static fid_trace_event read_profile(fid_fb_ref table) {
    const char *name = fid_fb_get_string(table, PROFILE_NAME);
    return (fid_trace_event){.name = name ? name : "",
                             .kernel = name && strncmp(name, "native_call_", 12) == 0,
                             .chain = fid_fb_get_i32(table, PROFILE_CHAIN, 0),
                             .instruction = fid_fb_get_i32(table, PROFILE_INSTRUCTION, -1),
                             .delegate_id = fid_fb_get_i32(table, PROFILE_DELEGATE_ID, -1),
                             .delegate_name = fid_fb_get_string(table, PROFILE_DELEGATE_NAME),
                             .metadata = fid_fb_bytes(fid_fb_get_vector(table, PROFILE_METADATA)),
                             .start = fid_fb_get_u64(table, PROFILE_START, 0),
                             .end = fid_fb_get_u64(table, PROFILE_END, 0)};
}

fid_etdump_event fid_etdump_event_at(const fid_etdump_run *run, uint32_t index) {
    fid_fb_ref event = fid_fb_table_at(run->events, index);
    fid_fb_ref profile = fid_fb_get_table(event, EVENT_PROFILE), allocation = fid_fb_get_table(event, EVENT_ALLOCATION);
    fid_etdump_event out = {.kind = FID_ETDUMP_DEBUG};
    if (profile.at) out = (fid_etdump_event){.kind = FID_ETDUMP_PROFILE, .profile = read_profile(profile)};
    if (allocation.at) {
        out = (fid_etdump_event){.kind = FID_ETDUMP_ALLOCATION, .allocator = fid_fb_get_i32(allocation, ALLOCATION_ALLOCATOR, 0),
                                 .bytes = fid_fb_get_u64(allocation, ALLOCATION_SIZE, 0)};
    }
    return out;
}
