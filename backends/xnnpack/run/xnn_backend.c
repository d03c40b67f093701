/* The interface to the runtime. */
#include "backends/xnnpack/run/xnn_backend.h"

#include "backends/xnnpack/run/xnn_graph.h"

static fid_status build(fid_xnn_graph *graph) {
    FID_TRY(fid_xnn_read(graph));
    fid_xnn_fuse(graph);
    FID_TRY(fid_xnn_translate(graph));
    FID_TRY(fid_xnn_plan(graph));
    graph->shaped = true;
    return FID_OK;
}

static fid_status init(void *self, const fid_backend_init *given, void **out_handle) {
    (void)self;
    fid_xnn_graph *graph = given->persist(given->persist_self, sizeof *graph);
    if (!graph) return fid_fail(given->sink, FID_OUT_OF_MEMORY, "no memory for an XNNPACK delegate");
    graph->init = *given;
    graph->init.specs = NULL;
    graph->sink = given->sink;
    fid_xnn_scratch_init(graph);
    fid_status status = build(graph);
    if (status != FID_OK) {
        fid_xnn_deinit(graph);
        return status;
    }
    *out_handle = graph;
    return FID_OK;
}

static fid_status execute(void *self, void *handle, const fid_backend_run *run, fid_value *const *args, size_t arg_count) {
    (void)self;
    return fid_xnn_run(handle, run, args, arg_count);
}

static void destroy(void *self, void *handle) {
    (void)self;
    fid_xnn_deinit(handle);
}

const fid_backend fid_backend_xnnpack = {.version = FID_BACKEND_VERSION, .struct_size = sizeof(fid_backend), .id = "XnnpackBackend", .init = init,
                                         .execute = execute, .destroy = destroy};
