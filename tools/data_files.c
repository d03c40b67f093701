/* Weights and state in .ptd files. */
#include "tools/data_files.h"

#include <errno.h>
#include <stdlib.h>

#include "format/ptd_write.h"

fid_status data_files_open(const fid_environment *environment, const arguments *a, data_files *out) {
    out->items = calloc((size_t)a->option_count + 1, sizeof *out->items);
    if (!out->items) return FID_OUT_OF_MEMORY;
    for (int i = 0; i < a->option_count; i++) {
        if (strcmp(a->options[i].name, "--data") != 0) continue;
        FID_TRY(fid_data_open_file(environment, a->options[i].value, &out->items[out->count]));
        out->count++;
    }
    return FID_OK;
}

void data_files_close(data_files *files) {
    for (size_t i = 0; i < files->count; i++) fid_data_close(files->items[i]);
    free(files->items);
    *files = (data_files){0};
}

/* ---- State ---- */

typedef struct buffer_list {
    const fid_environment *environment;
    fid_named_data *items;
    size_t count;
} buffer_list;

static fid_status add_buffer(buffer_list *list, const fid_named_data *buffer) {
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].key, buffer->key) != 0) continue;
        if (list->items[i].bytes.data == buffer->bytes.data) return FID_OK;
        return fid_fail(&list->environment->sink, FID_INVALID_STATE,
                        "two methods have buffers of their own named \"%s\": one file cannot hold both; run one method, or compile with --share-buffers",
                        buffer->key);
    }
    fid_named_data *items = realloc(list->items, (list->count + 1) * sizeof *items);
    if (!items) return FID_OUT_OF_MEMORY;
    list->items = items;
    items[list->count++] = *buffer;
    return FID_OK;
}

static fid_status gather(buffer_list *list, fid_method *const *methods, size_t count) {
    for (size_t m = 0; m < count; m++) {
        size_t buffers = 0;
        FID_TRY(fid_method_state_count(methods[m], &buffers));
        for (size_t i = 0; i < buffers; i++) {
            fid_named_data buffer;
            FID_TRY(fid_method_state_at(methods[m], i, &buffer));
            FID_TRY(add_buffer(list, &buffer));
        }
    }
    return FID_OK;
}

static fid_status write_stream(void *self, const void *data, size_t size) {
    return size == 0 || fwrite(data, 1, size, self) == size ? FID_OK : FID_ACCESS_FAILED;
}

static fid_status write_state(const buffer_list *list, const char *path) {
    const fid_sink *sink = &list->environment->sink;
    char *bytes = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&bytes, &size);
    if (!stream) return FID_OUT_OF_MEMORY;
    const fid_pte_sink destination = {write_stream, stream};
    fid_status status = fid_ptd_write(list->environment->allocator, sink, list->items, list->count, &destination, NULL);
    if (fclose(stream) != 0 && status == FID_OK) status = FID_OUT_OF_MEMORY;
    if (status == FID_OK && !write_file(path, &(file_part){bytes, size}, 1)) {
        status = fid_fail(sink, FID_ACCESS_FAILED, "cannot write %s: %s", path, strerror(errno));
    }
    free(bytes);
    return status;
}

fid_status state_save(const fid_environment *environment, const char *path, fid_method *const *methods, size_t count) {
    buffer_list list = {.environment = environment};
    fid_status status = gather(&list, methods, count);
    if (status == FID_OK) status = write_state(&list, path);
    free(list.items);
    return status;
}

fid_status state_load(const fid_environment *environment, const char *path, fid_method *const *methods, size_t count) {
    fid_data *data;
    FID_TRY(fid_data_open_file(environment, path, &data));
    fid_status status = FID_OK;
    for (size_t i = 0; i < count && status == FID_OK; i++) status = fid_method_state_restore(methods[i], data);
    fid_data_close(data);
    return status;
}
