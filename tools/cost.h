/* What a call costs at least: arithmetic and memory traffic, by the sizes in the program. */
#ifndef FID_TOOLS_COST_H
#define FID_TOOLS_COST_H

#include "tools/program_view.h"

typedef struct call_cost {
    double flops; /* multiplications and additions; other functions of an element count as one */
    double bytes; /* of all inputs and outputs, each once */
    double far;   /* those of them that do not lie in a core's cache when the call begins */
} call_cost;

/* What a core's cache holds, and whether constants can still be there from the run before. */
typedef struct cost_setup {
    double near_bytes;
    bool constants_far;
} cost_setup;

call_cost cost_of_call(const program_call *call, const cost_setup *setup);
/* "float32[1, 3, 224, 224], int64[2] -> float32[1, 16]" into text; constants and numbers are left out. */
void shapes_of_call(const program_call *call, char *text, size_t size);

#endif
