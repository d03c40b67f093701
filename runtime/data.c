/* Data files for programs: opened once, found by key, shared. */
#include "runtime/data.h"

#include "format/sort.h"

static int by_key(const void *self, uint32_t a, uint32_t b) {
    const fid_ptd *ptd = self;
    return strcmp(fid_ptd_at(ptd, a).key, fid_ptd_at(ptd, b).key);
}

/* ---- Opening ---- */

static void destroy(fid_data *data) {
    fid_allocator allocator = data->allocator;
    if (data->release) data->release(data->ptd.file.data, data->ptd.file.size);
    fid_free(allocator, data->by_key, data->count * sizeof *data->by_key);
    fid_free(allocator, (void *)(uintptr_t)data->name, data->name_size);
    fid_free(allocator, data, sizeof *data);
}

/* Where a key is, or would be. */
static size_t place_of(const fid_data *data, const char *key) {
    size_t low = 0, high = data->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(fid_ptd_at(&data->ptd, data->by_key[middle]).key, key) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

static bool find(const fid_data *data, const char *key, fid_named_data *out_entry) {
    size_t at = place_of(data, key);
    if (at == data->count) return false;
    fid_named_data entry = fid_ptd_at(&data->ptd, data->by_key[at]);
    if (strcmp(entry.key, key) != 0) return false;
    *out_entry = entry;
    return true;
}

const char *fid_data_other_form(const fid_data *data, const char *key) {
    char stem[256];
    size_t length = strcspn(key, ":");
    if (length + 2 > sizeof stem) return NULL;
    memcpy(stem, key, length);
    for (int form = 0; form < 2; form++) { /* plain, then with any suffix */
        stem[length] = form ? ':' : 0;
        stem[length + 1] = 0;
        size_t at = place_of(data, stem);
        const char *found = at < data->count ? fid_ptd_at(&data->ptd, data->by_key[at]).key : "";
        if (form ? strncmp(found, stem, length + 1) == 0 : strcmp(found, stem) == 0) return found;
    }
    return NULL;
}

static fid_status build_index(fid_data *data, const fid_sink *sink) {
    size_t count = fid_ptd_count(&data->ptd);
    data->by_key = fid_allocate(data->allocator, count * sizeof *data->by_key);
    if (!data->by_key) return fid_fail(sink, FID_OUT_OF_MEMORY, "no memory for the index of %zu keys", count);
    data->count = count;
    for (uint32_t i = 0; i < count; i++) data->by_key[i] = i;
    fid_sort_indices(data->by_key, count, by_key, &data->ptd);
    for (size_t i = 1; i < count; i++) {
        const char *key = fid_ptd_at(&data->ptd, data->by_key[i]).key;
        if (strcmp(fid_ptd_at(&data->ptd, data->by_key[i - 1]).key, key) == 0) {
            return fid_fail(sink, FID_INVALID_EXTERNAL_DATA, "the key \"%s\" is there twice", key);
        }
    }
    return FID_OK;
}

static fid_status open_bytes(fid_data *data, const fid_sink *sink, const void *bytes, size_t size, const char *name) {
    data->name_size = strlen(name) + 1;
    char *copy = fid_allocate(data->allocator, data->name_size);
    data->name = copy;
    if (!copy) return fid_fail(sink, FID_OUT_OF_MEMORY, "no memory for a data file");
    memcpy(copy, name, data->name_size);
    FID_TRY(fid_ptd_open(sink, fid_span_of(bytes, size), &data->ptd));
    return build_index(data, sink);
}

fid_status fid_data_open_mapped(const fid_environment *environment, const void *bytes, size_t size, const char *name,
                                void (*release)(const void *file, size_t size), fid_data **out_data) {
    const fid_sink *sink = &environment->sink;
    *out_data = NULL;
    fid_data *data = fid_allocate(environment->allocator, sizeof *data);
    if (!data) return fid_fail(sink, FID_OUT_OF_MEMORY, "no memory for a data file");
    *data = (fid_data){.find = find, .find_tensor = fid_data_find_tensor, .find_bytes = fid_data_find_bytes, .destroy = destroy, .references = 1, .allocator = environment->allocator};
    fid_status status = open_bytes(data, sink, bytes, size, name ? name : "data in memory");
    if (status != FID_OK) {
        fid_fail(sink, status, "%s", name ? name : "data in memory");
        destroy(data);
        return status;
    }
    data->release = release;
    *out_data = data;
    return FID_OK;
}

fid_status fid_data_open_memory(const fid_environment *environment, const void *bytes, size_t size, const char *name, fid_data **out_data) {
    return fid_data_open_mapped(environment, bytes, size, name, NULL, out_data);
}

void fid_data_close(fid_data *data) {
    if (data) fid_data_release(data);
}

/* ---- Asking ---- */

size_t fid_data_count(const fid_data *data) { return data->count; }

const char *fid_data_key(const fid_data *data, size_t index) {
    return index < data->count ? fid_ptd_at(&data->ptd, data->by_key[index]).key : NULL;
}

fid_status fid_data_find(const fid_data *data, const char *key, fid_named_data *out_entry) {
    return data->find(data, key, out_entry) ? FID_OK : FID_NOT_FOUND;
}
