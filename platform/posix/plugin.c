/* Operators from shared libraries. */
#include <dlfcn.h>

#include "include/fidibus.h"

static fid_status check_table(const fid_sink *sink, const char *path, const fid_plugin *plugin) {
    if (!plugin) return fid_fail(sink, FID_NOT_FOUND, "%s has no fid_plugin_export: it is no plug-in of fidibus", path);
    if (plugin->version != FID_PLUGIN_VERSION) {
        return fid_fail(sink, FID_NOT_SUPPORTED, "%s is a plug-in of version %u, this is version %d: build it again", path, plugin->version,
                        FID_PLUGIN_VERSION);
    }
    for (size_t i = 0; i < plugin->table->count; i++) {
        const fid_op *op = &plugin->table->ops[i];
        bool whole = op->name && op->overload && op->out && op->schema && op->reference && op->reference->run;
        if (!whole) return fid_fail(sink, FID_INVALID_ARGUMENT, "%s: operator %zu (%s) lacks a field", path, i, op->name ? op->name : "no name");
    }
    return FID_OK;
}

fid_status fid_plugin_open(const fid_sink *sink, const char *path, void **out_handle, const fid_op_table **out_table) {
    char text[4096]; /* a name without a slash would be looked for among the system's libraries */
    if (fid_format(text, sizeof text, strchr(path, '/') ? "%s" : "./%s", path) >= sizeof text) return fid_fail(sink, FID_INVALID_ARGUMENT, "the path is too long");
    void *handle = dlopen(text, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return fid_fail(sink, FID_ACCESS_FAILED, "cannot load %s: %s", path, dlerror());
    const fid_plugin *plugin = dlsym(handle, "fid_plugin_export");
    fid_status status = check_table(sink, path, plugin);
    if (status != FID_OK) {
        dlclose(handle);
        return status;
    }
    *out_handle = handle;
    *out_table = plugin->table;
    return FID_OK;
}

void fid_plugin_close(void *handle) {
    if (handle) dlclose(handle);
}
