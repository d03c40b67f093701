/* What `fidibus profile` knows of a traced method, and how it is shown. */
#ifndef FID_TOOLS_PROFILE_H
#define FID_TOOLS_PROFILE_H

#include "format/etdump.h"
#include "kernels/cpu/roof.h"
#include "tools/program_view.h"

/* One instruction, or one part of a delegate. */
typedef struct profile_row {
    char op[160];      /* "fid::convolution.out" */
    int32_t chain, instruction;
    bool is_part;      /* of a delegate */
    int32_t part;      /* the number that the delegate's compiler gave it, -1: none */
    double ns;         /* of the fastest run */
    double flops, bytes, far; /* far: bytes from beyond a core's cache */
    char shapes[320];
    const char *module, *file, *function, *code; /* "" where nothing is known */
    long line;
} profile_row;

typedef struct profile {
    const char *title;     /* of the file */
    const char *method;
    profile_row *rows;     /* in the order of execution */
    size_t count, capacity;
    uint32_t runs;         /* that count: the first is left out where there are several */
    double load_ns, run_ns; /* run_ns: the fastest run */
    double rows_ns;        /* sum of the rows */
    long threads;
    fidk_roof roof;        /* flops 0: not measured */
    size_t near_bytes;     /* what a core's cache holds */
    void *debug;           /* json_t that the texts lie in */
} profile;

/* Fills rows and times from a trace. False: no memory. */
bool profile_gather(profile *p, const fid_etdump *dump);
/* Adds operators, shapes, costs, modules and source lines from the program. */
void profile_explain(profile *p, const program_view *view, fid_fb_ref plan);
void profile_free(profile *p);

/* Share of the roof that a row reaches: the least time that arithmetic or memory allow, over the time it took. -1: not known. */
double profile_reached(const profile *p, const profile_row *row);

/* Rows summed by a text: operator or module. */
typedef struct profile_group {
    const char *name;
    uint32_t calls;
    double ns, flops, bytes;
    double least_ns; /* what the roof allows for the sum, row by row */
} profile_group;
/* Largest first; the array is malloc'ed, NULL without memory. `by_module`: else by operator. */
profile_group *profile_groups(const profile *p, bool by_module, size_t *out_count);
/* Rows from the slowest on, as indices; malloc'ed. */
size_t *profile_slowest(const profile *p);

void profile_print(const profile *p, size_t top);
void profile_print_json(const profile *p, FILE *out);
/* False: no memory or the file cannot be written; errno tells. */
bool profile_write_html(const profile *p, const char *path);

#endif
