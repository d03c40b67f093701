/* From IR and plan to the bytes of a .pte file. */
#ifndef FIDC_EMIT_H
#define FIDC_EMIT_H

#include "compiler/passes/passes.h"
#include "compiler/plan/plan.h"

/* Where the bytes go, in order; returns FID_OK or why not (a full disk). */
typedef struct fidc_writer {
    fid_status (*write)(void *self, const void *data, size_t size);
    void *self;
} fidc_writer;

/* Weights whose key fits the pattern (of a shell: "*", "lora_*") go to a data file, not into the program. The first that fits counts. */
typedef struct fidc_external_rule {
    const char *pattern;
    uint32_t file;     /* index in data_writers */
} fidc_external_rule;

typedef struct fidc_emit_options {
    fidc_target target;
    bool stack_traces; /* keep whole stack traces in the program, where upstream's tools look */
    bool no_debug;     /* leave out the table of modules and source lines */
    const fidc_external_rule *externals;
    size_t external_count;
    const fidc_writer *data_writers; /* one a data file */
    size_t data_count;
} fidc_emit_options;

/* Named data: where instructions come from, for `fidibus profile`. */
#define FIDC_DEBUG_KEY "fidibus.debug"

/* plans[i] belongs to program->methods[i]. Equal programs give equal bytes. Constants of several methods are stored once. */
fid_status fidc_emit(const fidc_program *program, const fidc_plan *plans, const fidc_emit_options *options, const fidc_writer *writer);

#endif
