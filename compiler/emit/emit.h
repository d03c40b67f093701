/* From IR and plan to the bytes of a .pte file. */
#ifndef FIDC_EMIT_H
#define FIDC_EMIT_H

#include "compiler/passes/passes.h"
#include "compiler/plan/plan.h"

typedef struct fidc_emit_options {
    fidc_target target;
    bool stack_traces; /* keep source lines in the program */
} fidc_emit_options;

/* Where the bytes go, in order; returns FID_OK or why not (a full disk). */
typedef struct fidc_writer {
    fid_status (*write)(void *self, const void *data, size_t size);
    void *self;
} fidc_writer;

/* plans[i] belongs to program->methods[i]. Equal programs give equal bytes. Constants of several methods are stored once. */
fid_status fidc_emit(const fidc_program *program, const fidc_plan *plans, const fidc_emit_options *options, const fidc_writer *writer);

#endif
