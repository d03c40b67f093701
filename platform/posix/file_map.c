/* Programs from files: mapped, so that constants are used in place and pages come when they are touched. A program inside a bundle
 * (.bpte) is used where it lies. */
#include "runtime/program.h"

#include "format/bpte.h"
#include "runtime/data.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The pages that hold the bytes. */
static void unmap(const void *bytes, size_t size) {
    uintptr_t before = (uintptr_t)bytes % (uintptr_t)sysconf(_SC_PAGESIZE);
    munmap((void *)((uintptr_t)bytes - before), size + before);
}

static fid_status failed(const fid_sink *sink, const char *what, const char *path) {
    int reason = errno;
    return fid_fail(sink, reason == ENOENT ? FID_NOT_FOUND : FID_ACCESS_FAILED, "cannot %s %s: %s", what, path, strerror(reason));
}

static fid_status map_descriptor(const fid_sink *sink, int descriptor, const char *path, const void **out_data, size_t *out_size) {
    struct stat about;
    if (fstat(descriptor, &about) != 0) return failed(sink, "read", path);
    if (!S_ISREG(about.st_mode)) return fid_fail(sink, FID_ACCESS_FAILED, "%s is not a regular file", path);
    if (about.st_size == 0) return fid_fail(sink, FID_INVALID_PROGRAM, "%s is empty", path);
    void *data = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) return failed(sink, "map", path);
    *out_data = data;
    *out_size = (size_t)about.st_size;
    return FID_OK;
}

/* The program of a bundle: a mapping of its own, from the page where it begins, so that `unmap` gives all of it back. */
static fid_status map_program_in(const fid_sink *sink, int descriptor, const char *path, fid_span file, const void **out_data, size_t *out_size) {
    fid_bpte bundle;
    FID_TRY(fid_bpte_open(sink, file, &bundle));
    size_t at = (size_t)(bundle.program.data - file.data), before = at % (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *pages = mmap(NULL, bundle.program.size + before, PROT_READ, MAP_PRIVATE, descriptor, (off_t)(at - before));
    if (pages == MAP_FAILED) return failed(sink, "map", path);
    *out_data = pages + before;
    *out_size = bundle.program.size;
    return FID_OK;
}

static fid_status map_program(const fid_sink *sink, int descriptor, const char *path, const void **out_data, size_t *out_size) {
    const void *file = NULL;
    size_t size = 0;
    FID_TRY(map_descriptor(sink, descriptor, path, &file, &size));
    fid_span bytes = fid_span_of(file, size);
    if (!fid_bpte_recognize(bytes)) {
        *out_data = file;
        *out_size = size;
        return FID_OK;
    }
    fid_status status = map_program_in(sink, descriptor, path, bytes, out_data, out_size);
    unmap(file, size);
    return status == FID_INVALID_PROGRAM ? fid_fail(sink, status, "%s", path) : status;
}

fid_status fid_program_open_file(const fid_environment *environment, const char *path, fid_program **out_program) {
    const void *data = NULL;
    size_t size = 0;
    *out_program = NULL;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return failed(&environment->sink, "open", path);
    fid_status status = map_program(&environment->sink, descriptor, path, &data, &size);
    close(descriptor); /* the mapping stays */
    if (status != FID_OK) return status;
    status = fid_program_open_mapped(environment, data, size, unmap, out_program);
    if (status == FID_OK) return FID_OK;
    unmap(data, size);
    return fid_fail(&environment->sink, status, "%s", path);
}

fid_status fid_data_open_file(const fid_environment *environment, const char *path, fid_data **out_data) {
    const void *bytes = NULL;
    size_t size = 0;
    *out_data = NULL;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return failed(&environment->sink, "open", path);
    fid_status status = map_descriptor(&environment->sink, descriptor, path, &bytes, &size);
    close(descriptor); /* the mapping stays */
    if (status != FID_OK) return status;
    status = fid_data_open_mapped(environment, bytes, size, path, unmap, out_data);
    if (status != FID_OK) unmap(bytes, size);
    return status;
}
