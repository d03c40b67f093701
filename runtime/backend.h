/* What a backend is to the runtime: a const struct of functions with a version, given to a program in its environment.
 *
 * A delegate is one compiled part of a method. For each, load calls `init` once with the part's blob; a run calls `execute` each
 * time the method reaches it; unload calls `destroy`. Backends keep no global state: what lives between calls hangs on the handle
 * or on backend->self. Struct sizes lead, so that fields can be added at the end.
 *
 * Threads: init, execute, wait and destroy of one handle never overlap; handles of different methods may run at the same time. */
#ifndef FID_RUNTIME_BACKEND_H
#define FID_RUNTIME_BACKEND_H

#include "base/allocator.h"
#include "base/span.h"
#include "base/status.h"
#include "base/trace.h"
#include "ops/kernel.h"
#include "ops/value.h"

#define FID_BACKEND_VERSION 1u

/* An option that the compiler stored with the delegate. */
typedef struct fid_compile_spec {
    const char *key;
    fid_span value;
} fid_compile_spec;

/* Everything a backend may use while it makes a delegate. All pointers live as long as the method, except `specs`. */
typedef struct fid_backend_init {
    size_t struct_size;
    const char *method_name;
    fid_span blob;                   /* the delegate's bytes; stay in place as long as the method */
    const fid_compile_spec *specs;   /* during init only */
    size_t spec_count;
    fid_allocator allocator;
    const fid_sink *sink;            /* failures explain themselves here */
    const fid_threads *threads;      /* may be NULL */
    uint32_t cpu;                    /* FID_CPU_ bits */
    /* Data of the program under a name, shared by all delegates and methods; FID_NOT_FOUND without a sentence. In place, and
     * valid as long as the method. */
    fid_status (*named_data)(void *self, const char *key, fid_span *out_data);
    void *named_data_self;
    /* Memory zeroed and aligned to 64 that lives as long as the method; NULL when memory is short. */
    void *(*persist)(void *self, size_t size);
    void *persist_self;
    const void *reserved[8];         /* NULL */
} fid_backend_init;

/* Everything a backend may use while it runs a delegate. */
typedef struct fid_backend_run {
    size_t struct_size;
    const fid_sink *sink;
    const fid_threads *threads;
    const uint32_t *cancelled;       /* nonzero once the run shall end; read with __atomic_load_n; return FID_CANCELLED then */
    const fid_tracer *tracer;        /* NULL: nothing is measured */
    uint64_t (*now)(void *self);     /* with a tracer: its clock, in nanoseconds */
    void *now_self;
    int32_t chain, instruction;      /* with a tracer: of the call, for its events */
    const void *reserved[4];         /* NULL */
} fid_backend_run;

/* For backends: time before a part, and the report after it. Nothing happens without a tracer. */
static inline uint64_t fid_backend_trace_begin(const fid_backend_run *run) { return run->tracer ? run->now(run->now_self) : 0; }
static inline void fid_backend_trace_end(const fid_backend_run *run, const char *name, int32_t delegate_id, uint64_t start) {
    if (!run->tracer) return;
    fid_trace_event event = {.name = name, .chain = run->chain, .instruction = run->instruction, .delegate_id = delegate_id, .start = start,
                             .end = run->now(run->now_self)};
    run->tracer->record(run->tracer->self, &event);
}

typedef struct fid_backend {
    uint32_t version;                /* FID_BACKEND_VERSION */
    size_t struct_size;
    const char *id;                  /* the name that programs use: "XnnpackBackend" */
    void *self;
    /* False: known here, but not on this device (no driver); load then says so. NULL: always. */
    bool (*is_available)(const fid_backend_init *init, void *self);
    /* Checks the blob completely: it is as untrusted as the program. */
    fid_status (*init)(void *self, const fid_backend_init *init, void **out_handle);
    /* `args` are the values that the program lists, inputs and outputs together, as in upstream's programs. The backend checks
     * their tags, dtypes and sizes on every call, never writes to a tensor with FID_TENSOR_CONSTANT, and sets the sizes of
     * dynamic outputs with fid_tensor_resize. */
    fid_status (*execute)(void *self, void *handle, const fid_backend_run *run, fid_value *const *args, size_t arg_count);
    /* Optional. Makes `execute` a submission: it may return before the outputs are there. The runtime calls `wait` before anything
     * but a further delegate of the same backend runs, and before the run ends. Sizes of outputs are final when execute returns. */
    fid_status (*wait)(void *self, void *handle, const fid_backend_run *run);
    void (*destroy)(void *self, void *handle);
    const void *reserved[8];         /* NULL; device memory and options come here */
} fid_backend;

#endif
