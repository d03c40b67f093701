/* The exhaustive placement against one that tries every offset. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/plan/plan_internal.h"

#define UNIT 16

static bool meet(const fidc_block *a, const fidc_block *b) {
    return a->first <= b->last && b->first <= a->last && a->offset < b->offset + b->size && b->offset < a->offset + a->size;
}

static uint64_t end_of(const fidc_block *blocks, uint32_t count) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++)
        if (blocks[i].offset + blocks[i].bytes > end) end = blocks[i].offset + blocks[i].bytes;
    return end;
}

static void check_placement(const fidc_block *blocks, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < i; k++) assert_false(meet(&blocks[i], &blocks[k]));
}

/* Every block at every offset up to the best known. */
static void try_all(fidc_block *blocks, uint32_t count, uint32_t depth, uint64_t *best) {
    if (depth == count) {
        if (end_of(blocks, count) < *best) *best = end_of(blocks, count);
        return;
    }
    for (uint64_t offset = 0; offset + blocks[depth].bytes < *best; offset += UNIT) {
        bool free = true;
        blocks[depth].offset = offset;
        for (uint32_t i = 0; i < depth && free; i++) free = !meet(&blocks[i], &blocks[depth]);
        if (free) try_all(blocks, count, depth + 1, best);
    }
}

/* One above the other: a placement to begin with. */
static uint64_t stack(fidc_block *blocks, uint32_t count) {
    uint64_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        blocks[i].offset = at;
        at += blocks[i].size;
    }
    return end_of(blocks, count);
}

static uint32_t random_below(uint32_t *state, uint32_t limit) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % limit;
}

static void random_blocks_lie_as_well_as_can_be(void **state) {
    (void)state;
    uint32_t random = 7;
    for (int round = 0; round < 400; round++) {
        uint32_t count = 1 + random_below(&random, 6);
        fidc_block blocks[6], copy[6];
        for (uint32_t i = 0; i < count; i++) {
            uint32_t first = random_below(&random, 6), padding = random_below(&random, UNIT);
            uint64_t size = UNIT * (1 + random_below(&random, 3));
            blocks[i] = (fidc_block){i, first, first + random_below(&random, 4), size, size - padding, 0};
        }
        memcpy(copy, blocks, sizeof blocks);
        uint64_t best = stack(copy, count), found = stack(blocks, count);
        try_all(copy, count, 0, &best);
        assert_true(fidc_plan_exact(blocks, count, 0, &found));
        assert_int_equal(found, best);
        assert_int_equal(end_of(blocks, count), found);
        check_placement(blocks, count);
    }
}

/* Three blocks in a ring of lifetimes: at any moment two live, but all need three places. */
static void a_bound_that_no_placement_reaches_is_found_out(void **state) {
    (void)state;
    fidc_block blocks[] = {{0, 0, 1, 32, 32, 0}, {1, 1, 2, 16, 16, 0}, {2, 2, 3, 32, 32, 0}, {3, 0, 0, 16, 16, 0}, {4, 3, 3, 16, 16, 0}};
    uint64_t found = stack(blocks, 5);
    assert_true(fidc_plan_exact(blocks, 5, 48, &found));
    assert_int_equal(found, 48);
    check_placement(blocks, 5);
    fidc_block tails[] = {{0, 0, 1, 32, 20, 0}, {1, 1, 2, 32, 20, 0}, {2, 0, 0, 32, 32, 0}, {3, 2, 2, 32, 32, 0}};
    found = stack(tails, 4);
    assert_true(fidc_plan_exact(tails, 4, 52, &found)); /* of two blocks that want to end last, one cannot */
    assert_int_equal(found, 64);
}

static void many_blocks_are_left_to_others(void **state) {
    (void)state;
    fidc_block blocks[49];
    for (uint32_t i = 0; i < 49; i++) blocks[i] = (fidc_block){i, i, i, 16, 16, 0};
    uint64_t found = stack(blocks, 49), before = found;
    assert_false(fidc_plan_exact(blocks, 49, 16, &found));
    assert_int_equal(found, before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_blocks_lie_as_well_as_can_be),
        cmocka_unit_test(a_bound_that_no_placement_reaches_is_found_out),
        cmocka_unit_test(many_blocks_are_left_to_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
