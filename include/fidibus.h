/* fidibus: runs .pte programs. The lean C API; every binding sits on it.
 *
 * Threads: a program may be shared by threads once opened. A method belongs to one thread at a time (fid_method_cancel may come
 * from any). Errors: every call that can fail returns a fid_status; the sentence goes to the environment's sink.
 * Nothing here prints, exits or aborts. Text is UTF-8. Sizes are bytes unless said otherwise. */
#ifndef FIDIBUS_H
#define FIDIBUS_H

#include "base/allocator.h"
#include "base/span.h"
#include "base/status.h"
#include "base/trace.h"
#include "ops/named_data.h"
#include "ops/operator.h"
#include "ops/value.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FID_VERSION "0.1.0"

typedef struct fid_program fid_program;
typedef struct fid_method fid_method;
typedef struct fid_backend fid_backend; /* runtime/backend.h */

/* What a program runs with. Copied on open; what it points to must outlive the program. Zero-initialize, set struct_size. */
typedef struct fid_environment {
    size_t struct_size;
    fid_allocator allocator;             /* required */
    fid_sink sink;                       /* optional */
    const fid_op_table *const *tables;   /* operator tables, searched in order */
    size_t table_count;
    const fid_backend *const *backends;
    size_t backend_count;
    const fid_threads *threads;          /* NULL: one thread */
    uint32_t cpu;                        /* FID_CPU_ bits that kernels may use */
    uint64_t (*now)(void *self);         /* nanoseconds, for tracing; optional */
    void *now_self;
} fid_environment;

/* malloc, all built-in operators and backends, the CPU's instruction sets, one thread. Sentences go to `message` (NULL: nowhere). */
fid_environment fid_environment_default(fid_message *message);

/* ---- Programs ---- */

/* The bytes stay the caller's, aligned to 16 (flash, a mapped file), and must outlive the program. Nothing is copied. */
fid_status fid_program_open_memory(const fid_environment *environment, const void *data, size_t size, fid_program **out_program);

/* Maps the file (hosted platforms): a program, or a bundled program (.bpte). Constants are used in place. */
fid_status fid_program_open_file(const fid_environment *environment, const char *path, fid_program **out_program);

/* Reads through a callback: file bytes [offset, offset + size) into `buffer`. Used at open (program) and load (segments). */
typedef struct fid_source {
    fid_status (*read)(void *self, uint64_t offset, void *buffer, size_t size);
    void *self;
    uint64_t size; /* bytes of the whole file */
} fid_source;
fid_status fid_program_open_source(const fid_environment *environment, const fid_source *source, fid_program **out_program);

/* Closes when the last method is gone: a method keeps its program alive. */
void fid_program_close(fid_program *program);

size_t fid_program_method_count(const fid_program *program);
const char *fid_program_method_name(const fid_program *program, size_t index); /* NULL: no such index */
/* Bytes stored in the program under a name (named_data); FID_NOT_FOUND. */
fid_status fid_program_named_data(const fid_program *program, const char *key, fid_span *out_data);

/* ---- Data beside programs ---- */

/* Weights by name that lie outside of programs: a .ptd file. Shared by any number of programs and threads. */
typedef struct fid_data fid_data;

/* Verifies the whole file. The bytes stay the caller's, aligned to 16, and must outlive the data and all methods loaded with it.
 * `name` stands in messages; NULL: none. FID_INVALID_EXTERNAL_DATA says what is wrong. */
fid_status fid_data_open_memory(const fid_environment *environment, const void *bytes, size_t size, const char *name, fid_data **out_data);
/* Maps the file (hosted platforms): weights are used in place. */
fid_status fid_data_open_file(const fid_environment *environment, const char *path, fid_data **out_data);
/* Closes when the last method is gone: a method keeps its data alive. */
void fid_data_close(fid_data *data);

size_t fid_data_count(const fid_data *data);
const char *fid_data_key(const fid_data *data, size_t index); /* in rising order; NULL: no such index */
fid_status fid_data_find(const fid_data *data, const char *key, fid_named_data *out_entry); /* FID_NOT_FOUND, without a sentence */

/* The memory of mutable buffers that several methods of one program use, one of which fills a cache that another reads: planned
 * memory 2 and up, as `fidibus compile --share-buffers` and upstream lay it out. Methods loaded with it belong to one thread at a
 * time together: FID_INVALID_STATE otherwise. Released when the last of them is gone. */
typedef struct fid_shared_state fid_shared_state;
fid_status fid_shared_state_create(const fid_environment *environment, fid_shared_state **out_state);
void fid_shared_state_release(fid_shared_state *state);
/* True if methods of the program have named buffers in such memory: it was made for methods that share them. */
bool fid_program_shares_buffers(const fid_program *program);

/* ---- Methods ---- */

typedef struct fid_method_options {
    size_t struct_size;
    void *memory;              /* planned memory of the caller, aligned to 64; NULL: from the allocator */
    size_t memory_size;
    const fid_threads *threads; /* overrides the environment's */
    bool no_cpu_kernels;       /* reference kernels only */
    const fid_tracer *tracer;  /* told what load and runs do, by the environment's clock; outlives the method. NULL: nothing is measured */
    fid_data *const *data;     /* where weights outside the program are; of two that have a name, the later one counts */
    size_t data_count;
    fid_shared_state *shared_state; /* NULL: all buffers are the method's own */
} fid_method_options;

/* Verifies and prepares one method; options may be NULL. After it, running allocates nothing unless a dynamic shape needs scratch. */
fid_status fid_method_load(fid_program *program, const char *name, const fid_method_options *options, fid_method **out_method);
void fid_method_unload(fid_method *method);

typedef struct fid_tensor_info {
    uint8_t tag;               /* fid_tag; the rest only for tensors */
    uint8_t dtype, rank, dynamism;
    const int64_t *sizes;      /* upper bounds of dynamic dimensions */
    const uint8_t *dim_order;
    size_t bytes;              /* at these sizes */
} fid_tensor_info;

size_t fid_method_input_count(const fid_method *method);
size_t fid_method_output_count(const fid_method *method);
fid_status fid_method_input_info(const fid_method *method, size_t index, fid_tensor_info *out_info);
fid_status fid_method_output_info(const fid_method *method, size_t index, fid_tensor_info *out_info);
/* What an input that is no tensor was when the program was made: the value that it must have if nothing in the program reads it. A text
 * lives as long as the program. FID_INVALID_TYPE for tensors. */
fid_status fid_method_input_first(const fid_method *method, size_t index, fid_value *out_value);
size_t fid_method_planned_bytes(const fid_method *method);

/* The operator calls of a method in program order, branches included: which kernel runs each on this machine. */
typedef struct fid_kernel_info {
    const char *name;      /* "aten::add.out" */
    bool tuned;            /* a fast kernel took the call; else the reference kernel runs it */
    bool computes;         /* works on elements: false for numbers, views and what makes no tensor */
} fid_kernel_info;
/* FID_NOT_FOUND past the last call. */
fid_status fid_method_kernel(const fid_method *method, size_t index, fid_kernel_info *out_info);

/* How the model's nested inputs and outputs flatten to lists: upstream's encoded text, "" if the program has none. */
const char *fid_method_input_tree(const fid_method *method);
const char *fid_method_output_tree(const fid_method *method);

/* Gives an input. Tensors: dtype and rank must match, sizes lie within the bounds; any strides: `strides` in elements, NULL for
 * row-major. `by_reference`: the data stays the caller's and valid for every run until the input is set again; it is used in
 * place where the layout allows, else fetched when a run begins. Otherwise it is copied now, and holds until a run reuses its
 * memory (the next run then says FID_INVALID_STATE). Numbers must match the program's kind; one that nothing in the program
 * reads must have the value that it was made with. */
typedef struct fid_input {
    size_t struct_size;
    fid_value value;           /* tensor: as.tensor->{data,sizes,rank,dtype} are read */
    const int64_t *strides;
    bool by_reference;
} fid_input;
fid_status fid_method_set_input(fid_method *method, size_t index, const fid_input *input);
/* Shorthand: a row-major tensor, copied. */
fid_status fid_method_set_input_tensor(fid_method *method, size_t index, fid_dtype dtype, const int64_t *sizes, size_t rank,
                                       const void *data);

/* Runs with the inputs that are set; FID_INVALID_STATE names one that is missing. */
fid_status fid_method_run(fid_method *method);
/* From any thread: the run in progress ends with FID_CANCELLED after its present operator. */
void fid_method_cancel(fid_method *method);

/* The value of an output after a run; valid until the next run or unload. */
fid_status fid_method_output(const fid_method *method, size_t index, const fid_value **out_value);
/* Writes an output to the caller's memory from now on (size in bytes, at least the info's). */
fid_status fid_method_set_output_data(fid_method *method, size_t index, void *data, size_t size);
/* Puts mutable buffers back to their initial content. */
fid_status fid_method_reset(fid_method *method);

/* ---- State: the mutable buffers of a method ---- */

/* How many there are; FID_OUT_OF_MEMORY. */
fid_status fid_method_state_count(fid_method *method, size_t *out_count);
/* A buffer by its name in the model ("value.N" where the program gives no names), with its present content. */
fid_status fid_method_state_at(fid_method *method, size_t index, fid_named_data *out_buffer);
/* Writes all buffers in the form of a .ptd file, piece by piece. */
fid_status fid_method_state_save(fid_method *method, fid_status (*write)(void *self, const void *data, size_t size), void *self);
/* Sets all buffers to what was saved. FID_INVALID_EXTERNAL_DATA names a buffer that is missing or differs; then none has changed. */
fid_status fid_method_state_restore(fid_method *method, const fid_data *data);

/* ---- Traces ---- */

/* A tracer that remembers, to write upstream's ETDump format (.etdp). Belongs to one thread at a time: give each method that runs
 * at the same time as another a trace of its own. */
typedef struct fid_trace fid_trace;
fid_status fid_trace_create(fid_allocator allocator, fid_trace **out_trace);
void fid_trace_destroy(fid_trace *trace); /* after the methods that it traces */
const fid_tracer *fid_trace_tracer(fid_trace *trace);
/* What was recorded so far, as the bytes of an .etdp file: fid_free(allocator, data, size). FID_OUT_OF_MEMORY also if recording
 * ran short. The methods whose names it tells must still be loaded. */
fid_status fid_trace_write(const fid_trace *trace, const fid_sink *sink, uint8_t **out_data, size_t *out_size);
void fid_trace_clear(fid_trace *trace);

/* ---- Plug-ins (hosted platforms): operators of your own from a shared library ---- */

/* What a plug-in exports under the name fid_plugin_export: `const fid_plugin fid_plugin_export = {FID_PLUGIN_VERSION, &table};` */
#define FID_PLUGIN_VERSION 1
typedef struct fid_plugin {
    uint32_t version;
    const fid_op_table *table;
} fid_plugin;

/* Loads it; the table goes into an environment's `tables`. Close the handle after the last program that was opened with it. The
 * library's code runs: load only what you trust. */
fid_status fid_plugin_open(const fid_sink *sink, const char *path, void **out_handle, const fid_op_table **out_table);
void fid_plugin_close(void *handle);

#ifdef __cplusplus
}
#endif
#endif
