/* Steps of ops/chain.h over tensors: one pass over memory, a block of elements at a time. */
#ifndef FID_KERNELS_CPU_CHAIN_RUN_H
#define FID_KERNELS_CPU_CHAIN_RUN_H

#include "kernels/cpu/loops.h"

typedef struct fidk_chain {
    const fid_step *steps;
    size_t count;
    const fid_tensor *inputs[FID_CHAIN_INPUTS]; /* NULL: `numbers` has it */
    float numbers[FID_CHAIN_INPUTS];
    bool absent[FID_CHAIN_INPUTS]; /* neither: steps have a number for it */
    size_t input_count;
    const double *listed; /* of FID_FROM_LISTED */
} fidk_chain;

/* Argument i of a call as input i: tensors and numbers; an absent one is NULL and 0. */
void fidk_chain_from_call(const fid_call *call, size_t arguments, fidk_chain *out);
/* True if inputs and `out` have dtypes between which elements are converted: every real one of at most 32 bits, int64 too. */
bool fidk_chain_takes(const fidk_chain *chain, const fid_tensor *out);
size_t fidk_chain_scratch_bytes(const fidk_chain *chain, const fid_threads *threads);
/* Computes `out`, over which the inputs broadcast; it may lie on an input of its own layout. */
fid_status fidk_chain_run(fid_call *call, const fidk_chain *chain, const fid_tensor *out);

#endif
