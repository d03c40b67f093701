/* A program as it lies in its file, for subcommands that look at instructions without running them. */
#ifndef FID_TOOLS_PROGRAM_VIEW_H
#define FID_TOOLS_PROGRAM_VIEW_H

#include "format/bpte.h"
#include "format/pte.h"
#include "tools/command.h"

typedef struct program_view {
    void *map;
    size_t size;
    fid_span bytes; /* the .pte, alone or in a bundle */
    fid_pte pte;
} program_view;

/* Maps and verifies a .pte or .bpte. Close also after a failure. */
fid_status program_view_open(const fid_sink *sink, const char *path, program_view *out_view);
void program_view_close(program_view *view);
/* The plan of a method. False: there is none of that name. */
bool program_view_plan(const program_view *view, const char *method, fid_fb_ref *out_plan);
/* Bytes of all constants in the program. */
uint64_t program_view_constants(const program_view *view);
/* Bytes of a method's planned memory. */
uint64_t program_view_planned(fid_fb_ref plan);
/* Named data in place; an empty span if the program has none of that name. */
fid_span program_view_named(const program_view *view, const char *key);

/* ---- Calls ---- */

/* A kernel call of a plan: names its operator and reaches its arguments by the names of the schema. */
typedef struct program_call {
    fid_fb_vector values, args;
    const fid_op *op; /* NULL: no operator that we know */
    char name[160];   /* "aten::add.out" */
    uint32_t inputs;  /* arguments of the schema: outputs come after them */
} program_call;

/* False: there is no such instruction, or it calls no kernel. */
bool program_call_at(fid_fb_ref plan, int32_t chain, int32_t instruction, program_call *out_call);

typedef struct program_tensor {
    fid_dtype dtype;
    uint32_t rank;
    int64_t sizes[FID_MAX_RANK]; /* upper bounds of dynamic ones */
    double numel;
    bool constant; /* its content lies in the program or in a data file */
} program_tensor;

/* Position of an argument by the schema's name, -1: no such name. */
int32_t program_call_find(const program_call *call, const char *name);
/* False: the argument is no tensor. */
bool program_call_tensor(const program_call *call, int32_t arg, program_tensor *out_tensor);
/* How many tensors a list argument holds; those of a plain tensor: 1. */
uint32_t program_call_listed(const program_call *call, int32_t arg);
bool program_call_item(const program_call *call, int32_t arg, uint32_t item, program_tensor *out_tensor);
int64_t program_call_int(const program_call *call, int32_t arg, int64_t otherwise);
/* The product of an int list; `otherwise` if it is none or empty. */
double program_call_product(const program_call *call, int32_t arg, double otherwise);
const char *program_call_text(const program_call *call, int32_t arg); /* "" */

#endif
