/* Where blocks lie: greedy best fit in several orders; of few blocks then all placements that could be better; of many, small changes
 * of the best order until the lower bound is reached or the budget is spent. Deterministic: the budget counts steps, not time. */
#include <stdlib.h>

#include "compiler/plan/plan_internal.h"

/* Comparisons that all attempts together may take: below a tenth of a second. */
#define BUDGET 40000000ull
#define WALK_LENGTH 256
#define SMALL_GAP 64

/* A plan is done when it exceeds the bound by at most this part: hunting for single bytes wastes the user's time. */
#define NEAR_ENOUGH 1024

/* How good an attempt is: the bytes needed, then the bytes of all blocks beyond the goal. The second number tells a plan with
 * one bad place from a plan with many, so that a large graph is mended place by place. */
typedef struct cost { uint64_t total, excess; } cost;

typedef struct placer {
    fidc_block *blocks;    /* offsets of the attempt in work */
    uint32_t count;
    uint32_t *order;       /* indices of blocks: which is placed first */
    uint32_t *best_order;
    uint64_t *best_offsets;
    uint32_t *walk_order;  /* where the search stands: at times a little worse than the best */
    uint64_t walk_excess;
    uint32_t *placed;      /* indices sorted by offset */
    uint32_t *around;      /* positions in an order, or marks by index */
    double *scores;        /* by index: how much a block wants to be next */
    cost best;
    uint64_t goal, steps;
    uint32_t random;
} placer;

static bool overlap_in_time(const fidc_block *a, const fidc_block *b) { return a->first <= b->last && b->first <= a->last; }

/* The tightest gap between blocks that live at the same time, or behind them all. */
static uint64_t best_fit(const placer *p, uint32_t placed_count, const fidc_block *block) {
    uint64_t at = 0, found = UINT64_MAX, found_gap = UINT64_MAX;
    for (uint32_t i = 0; i < placed_count; i++) {
        const fidc_block *other = &p->blocks[p->placed[i]];
        if (!overlap_in_time(block, other)) continue;
        uint64_t gap = other->offset > at ? other->offset - at : 0;
        if (gap >= block->size && gap < found_gap) {
            found = at;
            found_gap = gap;
        }
        if (other->offset + other->size > at) at = other->offset + other->size;
    }
    return found != UINT64_MAX ? found : at;
}

static void insert_placed(placer *p, uint32_t placed_count, uint32_t index) {
    uint32_t at = placed_count;
    while (at > 0 && p->blocks[p->placed[at - 1]].offset > p->blocks[index].offset) {
        p->placed[at] = p->placed[at - 1];
        at--;
    }
    p->placed[at] = index;
}

static void add_cost(const placer *p, const fidc_block *block, cost *inout_cost) {
    uint64_t end = block->offset + block->bytes;
    if (end > inout_cost->total) inout_cost->total = end;
    if (end > p->goal) inout_cost->excess += end - p->goal;
}

static bool is_worse(cost a, cost b) { return a.total != b.total ? a.total > b.total : a.excess > b.excess; }

/* Places all in p->order. Gives up when the excess exceeds `limit`; else the search goes on from here, and what is best so far is kept. */
static void attempt(placer *p, uint64_t limit) {
    cost now = {0, 0};
    for (uint32_t i = 0; i < p->count; i++) {
        fidc_block *block = &p->blocks[p->order[i]];
        block->offset = best_fit(p, i, block);
        p->steps += i + 1;
        add_cost(p, block, &now);
        if (now.excess > limit) return;
        insert_placed(p, i, p->order[i]);
    }
    memcpy(p->walk_order, p->order, p->count * sizeof *p->order);
    p->walk_excess = now.excess;
    if (is_worse(now, p->best)) return;
    p->best = now;
    for (uint32_t i = 0; i < p->count; i++) p->best_offsets[i] = p->blocks[i].offset;
    memcpy(p->best_order, p->order, p->count * sizeof *p->order);
}

/* ---- Orders ---- */

static int by_id(const fidc_block *a, const fidc_block *b) { return a->id < b->id ? -1 : a->id > b->id; }
static int descending(uint64_t a, uint64_t b) { return a > b ? -1 : a < b; }
static uint64_t area(const fidc_block *b) { return b->size * (b->last - b->first + 1); }

static int largest_first(const fidc_block *a, const fidc_block *b) { return descending(a->size, b->size); }
static int longest_first(const fidc_block *a, const fidc_block *b) { return descending(a->last - a->first, b->last - b->first); }
static int widest_first(const fidc_block *a, const fidc_block *b) { return descending(area(a), area(b)); }
static int earliest_first(const fidc_block *a, const fidc_block *b) { return descending(b->first, a->first); }

typedef int (*comparison)(const fidc_block *a, const fidc_block *b);

/* Sorts by two keys; merge sort, so that it is stable and the same on every C library. */
static void sort_blocks(fidc_block *blocks, fidc_block *space, uint32_t count, comparison first, comparison second) {
    for (uint32_t width = 1; width < count; width *= 2) {
        for (uint32_t start = 0; start < count; start += 2 * width) {
            uint32_t a = start, middle = start + width < count ? start + width : count, b = middle, at = start;
            uint32_t stop = start + 2 * width < count ? start + 2 * width : count;
            while (a < middle || b < stop) {
                int order = a >= middle ? 1 : b >= stop ? -1 : first(&blocks[a], &blocks[b]);
                if (!order) order = second(&blocks[a], &blocks[b]);
                space[at++] = order <= 0 ? blocks[a++] : blocks[b++];
            }
        }
        memcpy(blocks, space, count * sizeof *blocks);
    }
}

/* Sorted copies tell the order by their `offset`, which holds the index in p->blocks. */
static void try_orders(placer *p, fidc_block *sorted, fidc_block *space) {
    static const struct { comparison first, second; } orders[] = {
        {largest_first, longest_first}, {largest_first, earliest_first}, {widest_first, largest_first}, {longest_first, largest_first},
        {earliest_first, largest_first}, {earliest_first, longest_first},
    };
    for (size_t k = 0; k < sizeof orders / sizeof *orders && p->best.excess && (k == 0 || p->steps < BUDGET); k++) {
        for (uint32_t i = 0; i < p->count; i++) {
            sorted[i] = p->blocks[i];
            sorted[i].offset = i;
        }
        sort_blocks(sorted, space, p->count, by_id, by_id);
        sort_blocks(sorted, space, p->count, orders[k].first, orders[k].second);
        for (uint32_t i = 0; i < p->count; i++) p->order[i] = (uint32_t)sorted[i].offset;
        attempt(p, p->best.excess);
    }
}

/* ---- Orders that grow from what is placed ---- */

static uint32_t next_random(placer *p) {
    p->random = p->random * 1664525u + 1013904223u;
    return p->random >> 8;
}

/* Between 1 - amount and 1 + amount. */
static double near_one(placer *p, double amount) { return 1 + amount * ((double)next_random(p) / (1u << 23) - 1); }

static uint32_t find_highest_score(const placer *p) {
    uint32_t found = 0;
    for (uint32_t i = 1; i < p->count; i++)
        if (p->scores[i] > p->scores[found]) found = i;
    return found;
}

/* Large blocks first, but of blocks of about one size those that live beside a placed one: so chains of large blocks
 * alternate between the two ends of memory. `noise` makes every call another order. */
static void try_growing(placer *p, double noise) {
    double favour = 1.5 * near_one(p, noise);
    memset(p->around, 0, p->count * sizeof *p->around);
    for (uint32_t i = 0; i < p->count; i++) p->scores[i] = (double)p->blocks[i].size * near_one(p, noise);
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t next = find_highest_score(p);
        p->order[i] = next;
        p->scores[next] = -1;
        for (uint32_t k = 0; k < p->count; k++) {
            if (p->scores[k] < 0 || p->around[k] || !overlap_in_time(&p->blocks[next], &p->blocks[k])) continue;
            p->around[k] = 1;
            p->scores[k] *= favour;
        }
    }
    p->steps += 2 * (uint64_t)p->count * p->count;
    attempt(p, p->best.excess);
}

/* ---- Small changes ---- */

static bool is_high(const placer *p, uint32_t position) {
    const fidc_block *block = &p->blocks[p->walk_order[position]];
    return block->offset + block->bytes > p->goal;
}

/* Position of one of the blocks beyond the goal in the newest attempt. */
static uint32_t find_high(placer *p) {
    uint32_t at = next_random(p) % p->count;
    for (uint32_t i = 0; i < p->count && !is_high(p, at); i++) at = at + 1 < p->count ? at + 1 : 0;
    return at;
}

/* Positions of the blocks that live beside `block`, or beside some of those; returns how many. */
static uint32_t find_around(placer *p, const fidc_block *block) {
    fidc_block span = *block;
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->count && next_random(p) % 16; i++) {
        const fidc_block *other = &p->blocks[p->walk_order[next_random(p) % p->count]];
        if (!overlap_in_time(&span, other)) continue;
        if (other->first < span.first) span.first = other->first;
        if (other->last > span.last) span.last = other->last;
    }
    for (uint32_t i = 0; i < p->count; i++)
        if (overlap_in_time(&span, &p->blocks[p->walk_order[i]])) p->around[count++] = i;
    return count;
}

/* Of the blocks around a bad place, one chooses its place before another. */
static void change_order(placer *p) {
    uint32_t count = find_around(p, &p->blocks[p->walk_order[find_high(p)]]);
    uint32_t a = p->around[next_random(p) % count], b = p->around[next_random(p) % count];
    uint32_t from = a > b ? a : b, to = a > b ? b : a;
    p->steps += 4 * p->count;
    memcpy(p->order, p->walk_order, p->count * sizeof *p->order);
    memmove(&p->order[to + 1], &p->order[to], (from - to) * sizeof *p->order);
    p->order[to] = p->walk_order[from];
}

static void return_to_best(placer *p) {
    memcpy(p->walk_order, p->best_order, p->count * sizeof *p->order);
    p->walk_excess = p->best.excess;
}

/* What is left may be no more than padding that no order avoids: that is worth less time. */
static bool is_done(const placer *p) {
    uint64_t gap = p->best.total - p->goal;
    bool near = gap < SMALL_GAP && gap < p->goal / 128;
    return p->count < 2 || !p->best.excess || p->steps > (near ? BUDGET / 16 : BUDGET);
}

/* A walk from the best order: changes are kept while they are not worse by more than a random part of `slack`. */
static void walk(placer *p, double slack) {
    return_to_best(p);
    for (int i = 0; i < WALK_LENGTH && !is_done(p); i++) {
        change_order(p);
        attempt(p, p->walk_excess + (uint64_t)((double)p->walk_excess * slack * ((double)next_random(p) / (1u << 24))));
        if (p->walk_excess > 2 * p->best.excess) return_to_best(p);
    }
}

static void improve(placer *p) {
    static const double slacks[] = {0.05, 0.5, 0.2, 1.0};
    if (!is_done(p)) try_growing(p, 0);
    for (int i = 0; !is_done(p); i++) {
        walk(p, slacks[i % 4]);
        if (!is_done(p)) try_growing(p, 0.4);
    }
}

/* Looks at all placements if they are few; true: the best is known now. A walk that follows starts from the best order as before. */
static bool settle(placer *p, uint64_t bound) {
    for (uint32_t i = 0; i < p->count; i++) p->blocks[i].offset = p->best_offsets[i];
    bool is_optimal = fidc_plan_exact(p->blocks, p->count, bound, &p->best.total);
    for (uint32_t i = 0; i < p->count; i++) p->best_offsets[i] = p->blocks[i].offset;
    return is_optimal;
}

fid_status fidc_plan_place(fidc_program *program, fidc_block *blocks, uint32_t count, uint64_t bound, uint64_t *out_bytes, bool *out_is_optimal) {
    size_t each = 5 * sizeof(uint32_t) + sizeof(uint64_t) + sizeof(double) + 2 * sizeof(fidc_block), size = (count + 1) * each;
    uint8_t *memory = fid_allocate(program->allocator, size);
    if (!memory) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory to place %u tensors", count);
    fidc_block *sorted = (fidc_block *)(void *)memory, *space = sorted + count;
    placer p = {.blocks = blocks, .count = count, .best = {UINT64_MAX, UINT64_MAX}, .goal = bound + bound / NEAR_ENOUGH, .random = 1};
    p.best_offsets = (uint64_t *)(void *)(space + count);
    p.scores = (double *)(void *)(p.best_offsets + count);
    p.order = (uint32_t *)(void *)(p.scores + count);
    p.best_order = p.order + count;
    p.placed = p.best_order + count;
    p.around = p.placed + count;
    p.walk_order = p.around + count;
    try_orders(&p, sorted, space);
    *out_is_optimal = p.best.total > bound && settle(&p, bound);
    if (!*out_is_optimal) improve(&p);
    for (uint32_t i = 0; i < count; i++) blocks[i].offset = p.best_offsets[i];
    *out_bytes = count ? p.best.total : 0;
    *out_is_optimal |= *out_bytes <= bound;
    fid_free(program->allocator, memory, size);
    return FID_OK;
}
