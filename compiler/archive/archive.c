/* Reads the file that torch.export.save wrote: finds its parts, checks its version, and has them read in order. */
#include "compiler/archive/archive.h"

#include "compiler/archive/reader.h"

enum { SCHEMA_MAJOR = 8 }; /* torch 2.9 and later; minor versions only add fields */

/* What constants point into. A program of several methods has one for each, in a chain. */
struct fidc_archive_owner {
    fid_allocator allocator;
    fidc_zip **zips;
    size_t count, capacity;
    void *older;
    void (*destroy_older)(void *owner);
    void (*forget_older)(void *owner);
};

/* ---- Ownership ---- */

static void destroy_owner(void *self) {
    fidc_archive_owner *owner = self;
    for (size_t i = owner->count; i-- > 0;) fidc_zip_close(owner->zips[i]); /* inner archives before the file that holds them */
    if (owner->destroy_older) owner->destroy_older(owner->older);
    fid_allocator allocator = owner->allocator;
    fid_free(allocator, owner->zips, owner->capacity * sizeof(fidc_zip *));
    fid_free(allocator, owner, sizeof *owner);
}

static void forget_owner(void *self) {
    fidc_archive_owner *owner = self;
    for (size_t i = 0; i < owner->count; i++) fidc_zip_forget(owner->zips[i]);
    if (owner->forget_older) owner->forget_older(owner->older);
}

static fid_status create_owner(fidc_reader *r) {
    fidc_program *program = r->program;
    fidc_archive_owner *owner = fid_allocate(program->allocator, sizeof *owner);
    if (!owner) return FID_OUT_OF_MEMORY;
    *owner = (fidc_archive_owner){.allocator = program->allocator, .older = program->owner, .destroy_older = program->destroy_owner,
                                     .forget_older = program->forget_owner};
    program->owner = r->owner = owner;
    program->destroy_owner = destroy_owner;
    program->forget_owner = forget_owner;
    return FID_OK;
}

/* Takes the archive over; closes it if that fails. */
static fid_status keep(fidc_archive_owner *owner, fidc_zip *zip) {
    if (owner->count == owner->capacity) {
        size_t capacity = owner->capacity * 2 + 4;
        fidc_zip **zips = owner->allocator.resize(owner->allocator.self, owner->zips, owner->capacity * sizeof(fidc_zip *),
                                                  capacity * sizeof(fidc_zip *));
        if (!zips) {
            fidc_zip_close(zip);
            return FID_OUT_OF_MEMORY;
        }
        owner->zips = zips;
        owner->capacity = capacity;
    }
    owner->zips[owner->count++] = zip;
    return FID_OK;
}

/* ---- Members ---- */

const char *fidc_member_name(const fidc_reader *r, const char *folder, const char *name) {
    return fidc_text_format(r->program, "%s%s%s", r->root, folder, name);
}

bool fidc_member_exists(const fidc_reader *r, const char *member) {
    size_t index;
    return fidc_zip_find(r->zip, member, &index) == FID_OK;
}

fid_status fidc_member_unpickle(fidc_reader *r, const fid_sink *sink, const char *member, fidc_pickle **out_value) {
    fid_span bytes;
    fidc_zip *inner = NULL;
    const char *label = fidc_text_format(r->program, "%s: %s", r->path, member);
    if (!label) return FID_OUT_OF_MEMORY;
    FID_TRY(fidc_zip_read(r->zip, member, &bytes));
    FID_TRY(fidc_zip_open_memory(r->program->allocator, sink, label, bytes, &inner));
    FID_TRY(keep(r->owner, inner));
    return fidc_torch_save_read(r->program, sink, inner, out_value);
}

/* ---- Finding the model ---- */

static bool ends_with(const char *text, const char *tail) {
    size_t length = strlen(text), tail_length = strlen(tail);
    return length >= tail_length && strcmp(text + length - tail_length, tail) == 0;
}

/* Where in "model/models/forward.json" the folder "models/" starts; NULL: it is no model. */
static const char *models_folder(const char *member) {
    if (!ends_with(member, ".json")) return NULL;
    const char *folder = strncmp(member, "models/", 7) == 0 ? member : strstr(member, "/models/");
    if (folder && folder != member) folder++;
    return folder && !strchr(folder + 7, '/') ? folder : NULL;
}

static bool is_named(const char *folder, const char *name) {
    size_t length = strlen(folder) - 7 - 5; /* without "models/" and ".json" */
    return strlen(name) == length && memcmp(folder + 7, name, length) == 0;
}

static fid_status no_model(const fidc_reader *r) {
    static const struct { const char *member, *what; } others[] = {
        {"constants.pkl", "a TorchScript module (torch.jit.save)"}, {"data.pkl", "a checkpoint (torch.save)"},
        {".npy", "arrays (numpy.savez)"}, {"AndroidManifest.xml", "an Android package"},
    };
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) /* what tells most comes first: TorchScript has a data.pkl, too */
        for (size_t i = 0; i < fidc_zip_count(r->zip); i++)
            if (ends_with(fidc_zip_name(r->zip, i), others[k].member))
                return fidc_reader_fail(r, FID_INVALID_PROGRAM, "this is %s, no exported program: export the module with torch.export.export "
                                        "and write it with torch.export.save", others[k].what);
    return fidc_reader_fail(r, FID_INVALID_PROGRAM, "a zip archive without an exported program (no member models/NAME.json); expected the "
                            "file that torch.export.save writes");
}

/* The model of the method's name, or else the only one. */
static fid_status find_model(fidc_reader *r, const char **out_member) {
    const char *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < fidc_zip_count(r->zip); i++) {
        const char *member = fidc_zip_name(r->zip, i), *folder = models_folder(member);
        if (!folder) continue;
        bool named = is_named(folder, r->method);
        if (!found || named) found = member;
        count = named ? 1 : count + 1;
        if (named) break;
    }
    if (!found && fidc_member_exists(r, "serialized_exported_program.json")) {
        r->legacy = true;
        r->root = r->model = "";
        *out_member = "serialized_exported_program.json";
        return FID_OK;
    }
    if (!found) return no_model(r);
    if (count > 1)
        return fidc_reader_fail(r, FID_NOT_FOUND, "the archive holds %zu models, and none is named '%s' (one is '%s')", count, r->method, found);
    const char *folder = models_folder(found);
    r->root = fidc_text_format(r->program, "%.*s", (int)(folder - found), found);
    r->model = fidc_text_format(r->program, "%.*s", (int)(strlen(folder) - 12), folder + 7);
    *out_member = found;
    return r->root && r->model ? FID_OK : FID_OUT_OF_MEMORY;
}

/* ---- Versions ---- */

static fid_status check_small_member(fidc_reader *r, const char *name, const char *expected, const char *advice) {
    const char *member = fidc_member_name(r, "", name);
    fid_span bytes;
    if (!member) return FID_OUT_OF_MEMORY;
    if (!fidc_member_exists(r, member)) return FID_OK;
    FID_TRY(fidc_zip_read(r->zip, member, &bytes));
    size_t length = strlen(expected), size = bytes.size;
    while (size && (bytes.data[size - 1] == '\n' || bytes.data[size - 1] == ' ')) size--;
    if (size == length && memcmp(bytes.data, expected, length) == 0) return FID_OK;
    return fidc_reader_fail(r, FID_NOT_SUPPORTED, "%s is '%.*s'; only '%s' is supported: %s", name, (int)(size < 20 ? size : 20),
                            (const char *)bytes.data, expected, advice);
}

static fid_status check_schema(fidc_reader *r) {
    const json_t *version = NULL;
    int64_t major = 0, minor = 0;
    const char *torch = json_string_value(json_object_get(r->json, "torch_version"));
    FID_TRY(fidc_json_object(r, r->json, "schema_version", &version));
    FID_TRY(fidc_json_integer(r, version, "major", &major));
    FID_TRY(fidc_json_integer(r, version, "minor", &minor));
    if (major == SCHEMA_MAJOR) return FID_OK;
    return fidc_reader_fail(r, FID_NOT_SUPPORTED, "export schema version %lld.%lld (torch %s) is %s than this compiler reads; supported is "
                            "version %d.x, which torch 2.9 and later write", (long long)major, (long long)minor, torch ? torch : "unknown",
                            major > SCHEMA_MAJOR ? "newer" : "older", SCHEMA_MAJOR);
}

static fid_status load_model(fidc_reader *r) {
    const char *member = NULL;
    fid_span bytes;
    FID_TRY(find_model(r, &member));
    if (!r->legacy) {
        FID_TRY(check_small_member(r, "archive_version", "0", "write the archive with a torch release from 2.9 on"));
        FID_TRY(check_small_member(r, "byteorder", "little", "export on a little-endian machine"));
    }
    FID_TRY(fidc_zip_read(r->zip, member, &bytes));
    FID_TRY(fidc_json_parse(r, member, bytes, &r->json));
    return check_schema(r);
}

/* ---- Reading ---- */

static fid_status read_all(fidc_reader *r) {
    FID_TRY(create_owner(r));
    FID_TRY(fidc_zip_open_file(r->program->allocator, r->sink, r->path, &r->zip));
    FID_TRY(keep(r->owner, r->zip));
    FID_TRY(load_model(r));
    r->graph = fidc_graph_create(r->program, r->method);
    if (!r->graph) return FID_OUT_OF_MEMORY;
    FID_TRY(fidc_symbols_read(r));
    FID_TRY(fidc_weights_open(r));
    FID_TRY(fidc_read_method(r));
    return fidc_read_examples(r);
}

fid_status fidc_archive_read(fidc_program *program, const char *path, const char *name) {
    fidc_reader r = {.program = program, .sink = program->sink, .path = path, .method = name};
    fid_status status = read_all(&r);
    fidc_weights_close(r.weights);
    json_decref(r.json);
    if (status == FID_OUT_OF_MEMORY) return fid_fail(r.sink, status, "%s: memory is short", path);
    return status;
}
