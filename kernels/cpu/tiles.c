/* The choice of an instruction set. */
#include "kernels/cpu/tiles.h"

static const struct {
    const fidk_tiles *tiles;
    uint32_t needs;
} sets[] = {
#define FIDK_TILES_ENTRY(name, needs) {&fidk_tiles_##name, needs},
    FIDK_TILES_MAP(FIDK_TILES_ENTRY)
#undef FIDK_TILES_ENTRY
};

const fidk_tiles *fidk_tiles_at(size_t i, uint32_t *out_needs) {
    if (i >= sizeof sets / sizeof *sets) return NULL;
    *out_needs = sets[i].needs;
    return sets[i].tiles;
}

/* The last set of the list needs nothing. */
const fidk_tiles *fidk_tiles_for(uint32_t cpu) {
    size_t i = 0;
    while (sets[i].needs & ~cpu) i++;
    return sets[i].tiles;
}
