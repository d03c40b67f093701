/* A delegate outside of any program, for the test and the fuzzer: memory, named data and arguments. */
#ifndef FID_BACKENDS_XNNPACK_TESTING_H
#define FID_BACKENDS_XNNPACK_TESTING_H

#include <stdlib.h>

#include "backends/xnnpack/run/xnn_backend.h"
#include "backends/xnnpack/run/xnn_graph.h"

#define XNN_TEST_ARGUMENT_BYTES ((size_t)1 << 20)

typedef struct xnn_test {
    fid_arena arena;
    fid_span named; /* what every name stands for */
    fid_backend_init init;
    void *handle;
} xnn_test;

static inline void *xnn_test_persist(void *self, size_t size) { return fid_arena_allocate(&((xnn_test *)self)->arena, size, FID_ALLOCATION_ALIGNMENT); }

static inline fid_status xnn_test_named(void *self, const char *key, fid_span *out_data) {
    (void)key;
    *out_data = ((xnn_test *)self)->named;
    return out_data->data ? FID_OK : FID_NOT_FOUND;
}

static inline fid_status xnn_test_open(xnn_test *t, fid_allocator allocator, const fid_sink *sink, fid_span blob, fid_span named) {
    *t = (xnn_test){.named = named};
    fid_arena_init(&t->arena, allocator, 4096);
    t->init = (fid_backend_init){.struct_size = sizeof t->init, .method_name = "forward", .blob = blob, .allocator = allocator, .sink = sink,
                                 .named_data = xnn_test_named, .named_data_self = t, .persist = xnn_test_persist, .persist_self = t};
    return fid_backend_xnnpack.init(NULL, &t->init, &t->handle);
}

static inline void xnn_test_close(xnn_test *t) {
    if (t->handle) fid_backend_xnnpack.destroy(NULL, t->handle);
    fid_arena_deinit(&t->arena);
}

/* An argument as its value wants it, full of zeros; false if it would be large. */
static inline bool xnn_test_argument(const fid_xnn_value *v, fid_xnn_operand *room, fid_value *out) {
    fid_tensor *t = &room->tensor;
    *t = (fid_tensor){.sizes = room->sizes, .strides = room->strides, .dim_order = room->dim_order, .rank = v->rank, .dynamism = FID_DYNAMIC_BOUND};
    t->dtype = v->datatype == FID_XNN_FP16 ? FID_FLOAT16 : v->datatype == FID_XNN_BF16 ? FID_BFLOAT16 : v->datatype == FID_XNN_QINT8 ? FID_INT8
             : v->datatype == FID_XNN_QUINT8 ? FID_UINT8 : v->dtype;
    for (uint8_t i = 0; i < v->rank; i++) room->sizes[i] = v->dims[i], room->dim_order[i] = i;
    fid_tensor_update_strides(t);
    t->capacity = fid_tensor_bytes(t);
    t->data = t->capacity <= XNN_TEST_ARGUMENT_BYTES ? calloc(1, t->capacity + 1) : NULL;
    *out = fid_tensor_value(t);
    return t->data != NULL;
}

/* Runs an open delegate once on zeros; FID_OUT_OF_MEMORY if its arguments are too many or too large for a test. */
static inline fid_status xnn_test_run(xnn_test *t, const fid_sink *sink) {
    const fid_xnn_graph *graph = t->handle;
    enum { MOST = 16 };
    fid_xnn_operand rooms[MOST];
    fid_value values[MOST], *args[MOST];
    if (graph->argument_count > MOST) return FID_OUT_OF_MEMORY;
    bool fits = true;
    for (uint32_t i = 0; i < MOST; i++) values[i] = fid_none_value(), args[i] = &values[i];
    for (uint32_t i = 0; i < graph->value_count && fits; i++) {
        const fid_xnn_value *v = &graph->values[i];
        if (v->flags) fits = xnn_test_argument(v, &rooms[v->external], &values[v->external]);
    }
    fid_backend_run run = {.struct_size = sizeof run, .sink = sink};
    fid_status status = fits ? fid_backend_xnnpack.execute(NULL, t->handle, &run, args, graph->argument_count) : FID_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < MOST; i++)
        if (values[i].tag == FID_TAG_TENSOR) free(values[i].as.tensor->data);
    return status;
}

#endif
