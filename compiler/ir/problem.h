/* What of a program cannot be compiled. Stages add what they find and go on, so that one report tells everything: operators that
 * nobody knows, calls without a kernel, what the target lacks, arguments that are refused. */
#ifndef FIDC_PROBLEM_H
#define FIDC_PROBLEM_H

#include <stdio.h>

#include "compiler/ir/ir.h"

typedef enum fidc_problem_kind {
    FIDC_UNKNOWN_OPERATOR, /* no row of that name */
    FIDC_UNKNOWN_OVERLOAD, /* a row of that name, but not of that overload */
    FIDC_NO_KERNEL,        /* a row that nothing computes */
    FIDC_NOT_IN_TARGET,    /* the cpu target has it, the chosen one does not */
    FIDC_REFUSED,          /* the operator is there, but not for these arguments: `why` tells */
} fidc_problem_kind;

typedef struct fidc_problem {
    uint8_t kind;          /* fidc_problem_kind */
    const char *op, *overload, *method, *node;
    const char *why;       /* REFUSED: a sentence; UNKNOWN_OVERLOAD: those that there are; else "" */
    const char *inputs;    /* "float32 [2, s0], int64 []": the tensors of the call */
    const char *file, *code; /* the user's line; NULL: not known */
    long line;
} fidc_problem;

/* Adds one, at most once for a node and kind. Only memory can run out. */
fid_status fidc_problem_add(const fidc_node *node, fidc_problem_kind kind, const char *why);
/* The kind of what is wrong with a node whose operator is no row of the table: unknown name or unknown overload. */
fid_status fidc_problem_add_unknown(const fidc_node *node);

/* True if a runtime that brings kernels of its own can run the program all the same. */
bool fidc_problems_only_missing(const fidc_program *program);
/* The whole report as one sentence to the program's sink; FID_OK if there is none, FID_OPERATOR_MISSING if only kernels are missing,
 * else FID_NOT_SUPPORTED. */
fid_status fidc_problems_tell(const fidc_program *program);
/* The report for people, without a newline at its end, and as a JSON array. */
void fidc_problems_print(const fidc_program *program, FILE *out);
void fidc_problems_print_json(const fidc_program *program, FILE *out);

/* Where in the user's model a node comes from: his own innermost line; failing that, one of an installed package, of PyTorch last. */
typedef struct fidc_place {
    const char *file, *function, *code; /* not terminated */
    size_t file_length, function_length, code_length;
    long line;
} fidc_place;
bool fidc_place_of(const fidc_node *node, fidc_place *out_place);

#endif
