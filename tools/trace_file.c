/* Writing traces to files. */
#include "tools/trace_file.h"

#include <errno.h>

bool trace_save(const char *command, const fid_trace *trace, const char *path, const runtime_session *session) {
    uint8_t *data;
    size_t size;
    fid_status status = fid_trace_write(trace, &session->environment.sink, &data, &size);
    if (status != FID_OK) return failed_status(command, status, session) == EXIT_OK;
    bool ok = write_file(path, &(file_part){data, size}, 1);
    if (!ok) failed(command, "cannot write %s: %s", path, strerror(errno));
    fid_free(session->environment.allocator, data, size);
    return ok;
}
