/* Programs and data from files where nothing can be mapped: read into memory whole. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/bpte.h"
#include "runtime/data.h"
#include "runtime/program.h"

static void release(const void *bytes, size_t size) {
    (void)size;
    free((void *)(uintptr_t)bytes);
}

static fid_status read_whole(const fid_sink *sink, FILE *file, const char *path, fid_span *out_bytes) {
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    void *memory = NULL;
    if (size < 0) return fid_fail(sink, FID_ACCESS_FAILED, "cannot read %s: it is not a regular file", path);
    if (size == 0) return fid_fail(sink, FID_INVALID_PROGRAM, "%s is empty", path);
    if (posix_memalign(&memory, FID_ALLOCATION_ALIGNMENT, (size_t)size) != 0) return FID_OUT_OF_MEMORY;
    rewind(file);
    if (fread(memory, 1, (size_t)size, file) != (size_t)size) {
        free(memory);
        return fid_fail(sink, FID_ACCESS_FAILED, "cannot read %s: %s", path, strerror(errno));
    }
    *out_bytes = fid_span_of(memory, (size_t)size);
    return FID_OK;
}

static fid_status read_file(const fid_sink *sink, const char *path, fid_span *out_bytes) {
    FILE *file = fopen(path, "rb");
    if (!file) return fid_fail(sink, errno == ENOENT ? FID_NOT_FOUND : FID_ACCESS_FAILED, "cannot open %s: %s", path, strerror(errno));
    fid_status status = read_whole(sink, file, path, out_bytes);
    fclose(file);
    return status;
}

/* Leaves only the program of a bundle, moved to the front, where it is aligned. */
static fid_status unwrap(const fid_sink *sink, const char *path, fid_span *inout_bytes) {
    fid_bpte bundle;
    if (!fid_bpte_recognize(*inout_bytes)) return FID_OK;
    if (fid_bpte_open(sink, *inout_bytes, &bundle) != FID_OK) return fid_fail(sink, FID_INVALID_PROGRAM, "%s", path);
    memmove((void *)(uintptr_t)inout_bytes->data, bundle.program.data, bundle.program.size);
    inout_bytes->size = bundle.program.size;
    return FID_OK;
}

fid_status fid_program_open_file(const fid_environment *environment, const char *path, fid_program **out_program) {
    fid_span bytes;
    *out_program = NULL;
    FID_TRY(read_file(&environment->sink, path, &bytes));
    fid_status status = unwrap(&environment->sink, path, &bytes);
    if (status == FID_OK) {
        status = fid_program_open_mapped(environment, bytes.data, bytes.size, release, out_program);
        if (status != FID_OK) fid_fail(&environment->sink, status, "%s", path);
    }
    if (status != FID_OK) release(bytes.data, bytes.size);
    return status;
}

fid_status fid_data_open_file(const fid_environment *environment, const char *path, fid_data **out_data) {
    fid_span bytes;
    *out_data = NULL;
    FID_TRY(read_file(&environment->sink, path, &bytes));
    fid_status status = fid_data_open_mapped(environment, bytes.data, bytes.size, path, release, out_data);
    if (status != FID_OK) release(bytes.data, bytes.size);
    return status;
}
