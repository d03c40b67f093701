/* Dot products of bfloat16 pairs with sums in float32: the inner loops of --precision bf16, chosen by instruction set. */
#ifndef FID_KERNELS_CPU_PAIRS_H
#define FID_KERNELS_CPU_PAIRS_H

#include "ops/fused.h"
#include "ops/kernel.h"

enum { FIDK_PAIR_TILE = 32 }; /* rows and columns of a block */

/* c = a b for a block of 32 rows and `panels` panels of 16 columns. */
typedef struct fidk_pair_block {
    const uint16_t *a; /* (32, 2 * depth) */
    size_t a_stride;   /* elements */
    const uint16_t *b; /* (depth, 32) each panel */
    size_t b_panel;    /* elements from panel to panel */
    size_t depth;      /* pairs, a multiple of 16 */
    size_t rows;       /* that count: 1 to 32. The others of a are readable, what becomes of theirs does not matter */
    size_t panels;     /* 1 or 2 */
    float *c;          /* (32, 32), dense */
} fidk_pair_block;

typedef struct fidk_pair_tiles {
    const char *name;
    void (*begin)(void); /* on a thread, before its blocks and after; NULL: nothing to do */
    void (*end)(void);
    void (*block)(const fidk_pair_block *block);
} fidk_pair_tiles;

extern const fidk_pair_tiles fidk_pair_tiles_plain;
#if defined(__x86_64__)
extern const fidk_pair_tiles fidk_pair_tiles_bf16, fidk_pair_tiles_amx;
#endif

const fidk_pair_tiles *fidk_pair_tiles_for(uint32_t cpu);

#endif
