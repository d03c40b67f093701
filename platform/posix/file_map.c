/* Programs from files: mapped, so that constants are used in place and pages come when they are touched. */
#include "runtime/program.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void unmap(const void *file, size_t size) { munmap((void *)(uintptr_t)file, size); }

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

fid_status fid_program_open_file(const fid_environment *environment, const char *path, fid_program **out_program) {
    const void *data = NULL;
    size_t size = 0;
    *out_program = NULL;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return failed(&environment->sink, "open", path);
    fid_status status = map_descriptor(&environment->sink, descriptor, path, &data, &size);
    close(descriptor); /* the mapping stays */
    if (status != FID_OK) return status;
    status = fid_program_open_mapped(environment, data, size, unmap, out_program);
    if (status == FID_OK) return FID_OK;
    unmap(data, size);
    return fid_fail(&environment->sink, status, "%s", path);
}
