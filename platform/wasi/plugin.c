/* WebAssembly has no shared libraries of operators: tables are linked in. */
#include "include/fidibus.h"

fid_status fid_plugin_open(const fid_sink *sink, const char *path, void **out_handle, const fid_op_table **out_table) {
    (void)out_handle, (void)out_table;
    return fid_fail(sink, FID_NOT_SUPPORTED, "%s: WebAssembly cannot load plug-ins; link the operator table in", path);
}

void fid_plugin_close(void *handle) { (void)handle; }
