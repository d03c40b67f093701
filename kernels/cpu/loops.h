/* Loop nests over one output and its operands, for kernels that move elements or compute them one by one.
 *
 * Dimensions stand in the output's memory order, outermost first; those that all operands walk alike are merged, so that two
 * tensors of one layout become one loop and a bias along channels becomes rows and columns. */
#ifndef FID_KERNELS_CPU_LOOPS_H
#define FID_KERNELS_CPU_LOOPS_H

#include "kernels/cpu/gemm.h"

#define FIDK_OPERANDS 9

typedef struct fidk_loops {
    size_t rank;                                       /* at least 2 after fidk_loops_merge */
    size_t operands;
    int64_t sizes[FID_MAX_RANK + 2];
    int64_t strides[FIDK_OPERANDS][FID_MAX_RANK + 2]; /* elements; operand 0 is the output */
    uint8_t *data[FIDK_OPERANDS];                      /* const for inputs: kernels do not write them */
    size_t element[FIDK_OPERANDS];                     /* bytes */
    size_t task;                                       /* which of the tasks a block is for: below the number of threads */
} fidk_loops;

/* The output and its index space. */
void fidk_loops_begin(fidk_loops *loops, const fid_tensor *out);
/* An operand that broadcasts over the output; its shape was checked. */
void fidk_loops_add(fidk_loops *loops, const fid_tensor *tensor, const fid_tensor *out);
/* An operand by its strides for each dimension of the output in logical order; likewise the output's own. */
void fidk_loops_add_strides(fidk_loops *loops, const fid_tensor *out, void *data, size_t element, const int64_t *strides);
void fidk_loops_merge(fidk_loops *loops);

/* Calls block(context, loops) with rank 2 pieces that cover the space; on several threads if `operations` pays for them. */
typedef void (*fidk_block)(const void *context, const fidk_loops *block);
void fidk_loops_run(const fidk_loops *loops, const fid_threads *threads, double operations, fidk_block block, const void *context);

#endif
