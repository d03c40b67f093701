/* The best placement of few blocks: looks through all that matter, within a budget, and so also proves that a plan is optimal.
 *
 * Any placement can be pressed down until every block lies on the ground or on a block that lives at the same time. Placing blocks
 * from the lowest to the highest, each on top of those that are placed, therefore reaches an optimum in some order. An order is left
 * as soon as, at some moment, what is still to be placed cannot end below the best placement that is known. */
#include "compiler/plan/plan_internal.h"

#define MOST_BLOCKS 48

/* Looks at the height of one moment, all orders together: some hundredths of a second. */
#define BUDGET 20000000u

typedef struct moment {
    uint64_t height;       /* where the blocks that are placed end */
    uint64_t waiting;      /* bytes of the blocks that are not placed, with padding */
} moment;

typedef struct looker {
    const fidc_block *blocks;
    uint32_t count, moment_count;
    uint32_t first[MOST_BLOCKS], last[MOST_BLOCKS]; /* of a block: indices of moments */
    moment moments[MOST_BLOCKS];                    /* those when a block begins: nothing meets at others only */
    uint64_t offsets[MOST_BLOCKS], best_offsets[MOST_BLOCKS];
    bool placed[MOST_BLOCKS];
    uint64_t best, bound;  /* bytes */
    uint64_t steps;
} looker;

static void note_moment(uint32_t *moments, uint32_t *inout_count, uint32_t new) {
    uint32_t at = *inout_count;
    for (uint32_t i = 0; i < *inout_count; i++)
        if (moments[i] == new) return;
    for (; at > 0 && moments[at - 1] > new; at--) moments[at] = moments[at - 1];
    moments[at] = new;
    ++*inout_count;
}

static void find_moments(looker *l) {
    uint32_t moments[MOST_BLOCKS];
    for (uint32_t i = 0; i < l->count; i++) note_moment(moments, &l->moment_count, l->blocks[i].first);
    for (uint32_t i = 0; i < l->count; i++) {
        while (moments[l->first[i]] < l->blocks[i].first) l->first[i]++;
        l->last[i] = l->first[i];
        while (l->last[i] + 1 < l->moment_count && moments[l->last[i] + 1] <= l->blocks[i].last) l->last[i]++;
        for (uint32_t t = l->first[i]; t <= l->last[i]; t++) l->moments[t].waiting += l->blocks[i].size;
    }
}

static uint64_t padding_waiting(looker *l, uint32_t t) {
    uint64_t most = 0;
    l->steps += l->count;
    for (uint32_t i = 0; i < l->count; i++) {
        uint64_t padding = l->blocks[i].size - l->blocks[i].bytes;
        if (!l->placed[i] && l->first[i] <= t && t <= l->last[i] && padding > most) most = padding;
    }
    return most;
}

/* False: at some moment, what is waiting cannot end below the best, as all of it lies on `ground` or higher. */
static bool may_become_better(looker *l, uint64_t ground) {
    l->steps += l->moment_count;
    for (uint32_t t = 0; t < l->moment_count; t++) {
        const moment *m = &l->moments[t];
        uint64_t end = (m->height > ground ? m->height : ground) + m->waiting;
        if (m->waiting && end >= l->best && end - padding_waiting(l, t) >= l->best) return false;
    }
    return true;
}

static uint64_t highest(looker *l, uint32_t block) {
    uint64_t height = 0;
    l->steps += l->last[block] - l->first[block] + 1;
    for (uint32_t t = l->first[block]; t <= l->last[block]; t++)
        if (l->moments[t].height > height) height = l->moments[t].height;
    return height;
}

static void look(looker *l, uint32_t depth, uint64_t end, uint64_t ground, uint32_t newest);

/* Places a block and looks on from there; then takes it back. */
static void look_behind(looker *l, uint32_t depth, uint64_t end, uint64_t offset, uint32_t block) {
    uint64_t before[MOST_BLOCKS], own_end = offset + l->blocks[block].bytes;
    uint32_t from = l->first[block], count = l->last[block] - from + 1;
    for (uint32_t t = 0; t < count; t++) {
        before[t] = l->moments[from + t].height;
        l->moments[from + t].height = offset + l->blocks[block].size;
        l->moments[from + t].waiting -= l->blocks[block].size;
    }
    l->placed[block] = true;
    l->offsets[block] = offset;
    if (may_become_better(l, offset)) look(l, depth + 1, own_end > end ? own_end : end, offset, block);
    l->placed[block] = false;
    for (uint32_t t = 0; t < count; t++) {
        l->moments[from + t].height = before[t];
        l->moments[from + t].waiting += l->blocks[block].size;
    }
}

/* Blocks come with rising offsets, those of one offset with rising indices: no set of places is met twice. */
static void look(looker *l, uint32_t depth, uint64_t end, uint64_t ground, uint32_t newest) {
    if (depth == l->count) {
        l->best = end;
        memcpy(l->best_offsets, l->offsets, l->count * sizeof *l->offsets);
        return;
    }
    for (uint32_t i = 0; i < l->count && l->steps < BUDGET && l->best > l->bound; i++) {
        if (l->placed[i]) continue;
        uint64_t offset = highest(l, i);
        if (offset < ground || (offset == ground && depth && i < newest) || offset + l->blocks[i].bytes >= l->best) continue;
        look_behind(l, depth, end, offset, i);
    }
}

bool fidc_plan_exact(fidc_block *blocks, uint32_t count, uint64_t bound, uint64_t *inout_bytes) {
    looker l = {.blocks = blocks, .count = count, .best = *inout_bytes, .bound = bound};
    if (count > MOST_BLOCKS) return false;
    find_moments(&l);
    look(&l, 0, 0, 0, 0);
    for (uint32_t i = 0; l.best < *inout_bytes && i < count; i++) blocks[i].offset = l.best_offsets[i];
    *inout_bytes = l.best;
    return l.steps < BUDGET || l.best <= bound;
}
