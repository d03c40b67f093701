/* The compiler as one call: archives in, program out. */
#ifndef FIDC_PIPELINE_H
#define FIDC_PIPELINE_H

#include "compiler/constant_methods.h"
#include "compiler/passes/passes.h"

typedef struct fidc_method_file { const char *name, *path; } fidc_method_file; /* "forward", "m.pt2" */

/* Weights whose name fits a shell's pattern ("*" for all), and the .ptd file where they go. Rules may name one file. */
typedef struct fidc_external_weights { const char *pattern, *path; } fidc_external_weights;

typedef struct fidc_options {
    size_t struct_size;
    fidc_target target;
    const struct fidc_backend *backend; /* gets what it takes of a portable program, as delegates; NULL: none */
    bool per_operator;     /* each operator that the backend takes is a delegate of its own */
    bool bf16;             /* cpu target: products of linear layers and convolutions in bfloat16, sums in float32 */
    bool no_winograd;      /* cpu target: convolutions of 3x3 are summed directly, where Winograd's algorithm would be faster */
    bool no_reuse;
    bool stack_traces;
    bool no_debug;         /* without the table of modules and source lines */
    bool allow_missing;    /* write programs whose operators the runtime must bring */
    const char *dump_ir;   /* directory for the IR after each stage; NULL: none */
    const fidc_external_weights *externals; /* weights that go to data files; of two rules that fit, the first counts */
    size_t external_count;
    bool share_buffers;    /* methods share mutable buffers of a name */
    const fidc_constant_method *constants; /* further methods, which only return a constant */
    size_t constant_count;
    bool bundle;           /* write a bundled program (.bpte) with the archives' sample inputs */
    /* Called before each step: what begins, and how many of how many steps are done. NULL: nobody listens. */
    void (*progress)(void *self, const char *step, unsigned done, unsigned steps);
    void *progress_self;
    const char *const *schemas; /* files of operator schemas: operators that the runtime brings */
    size_t schema_count;
} fidc_options;

/* All stages but planning and emitting, on a program that fidc_archive_read filled: what `fidibus verify` looks into. */
fid_status fidc_lower(fidc_program *program, const fidc_options *options);

typedef struct fidc_report {
    uint32_t operators;        /* nodes emitted, all methods */
    uint64_t planned_bytes, liveness_bound_bytes, program_bytes, data_bytes, constant_bytes;
    bool plan_is_optimal;       /* for certain: at the bound, or all placements were looked at */
    uint64_t winograd_bytes;   /* by how much weights are larger for Winograd's algorithm */
    uint32_t delegates, delegated; /* delegates, and how many operators they stand for */
    char *outside_json;        /* operators outside of delegates, as a JSON array, the most frequent first; NULL: there is no backend */
    uint32_t unsupported_count; /* calls that cannot be compiled, or with allow_missing need kernels of the runtime's own */
    char *unsupported, *unsupported_json; /* the list for people and as a JSON array, also after a failure; NULL: there are none */
} fidc_report;

/* Compiles to `output_path`, written under a temporary name and renamed; nothing is left behind on failure. */
fid_status fidc_compile(fid_allocator allocator, const fid_sink *sink, const fidc_method_file *methods, size_t method_count,
                        const fidc_options *options, const char *output_path, fidc_report *out_report);
void fidc_report_deinit(fid_allocator allocator, fidc_report *report);

#endif
