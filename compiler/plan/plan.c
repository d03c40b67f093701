/* Memory planning: lifetimes, then groups that share memory, then places. See plan.h. */
#include "compiler/plan/plan_internal.h"

static uint64_t padded(uint64_t bytes, uint64_t alignment) { return (bytes + alignment - 1) & ~(alignment - 1); }

/* In the memory that methods share: outside the block, at a place that is given. */
static bool is_shared(const fidc_life *life) { return fidc_is_shared_buffer(life->value); }

static bool is_placed_root(const fidc_life *life) {
    return life->has_address && life->root == fidc_plan_index(life->value) && life->bytes && !is_shared(life);
}

static bool is_permanent(const fidc_planner *planner, const fidc_life *life) { return life->first == 0 && life->last == planner->end; }

/* What one moment needs at least: every block from an aligned offset on; only the last one needs no padding behind it. */
typedef struct demand { uint64_t padded, largest_padding; } demand;

static void add_demand(demand *moments, const fidc_life *life, uint64_t alignment) {
    uint64_t size = padded(life->bytes, alignment), padding = size - life->bytes;
    for (uint32_t t = life->first; t <= life->last; t++) {
        moments[t].padded += size;
        if (padding > moments[t].largest_padding) moments[t].largest_padding = padding;
    }
}

/* Largest demand of any moment: no placement can be smaller. */
static fid_status find_bound(const fidc_planner *planner, uint64_t *out_bound) {
    fidc_program *program = planner->graph->program;
    size_t size = ((size_t)planner->end + 1) * sizeof(demand);
    demand *moments = fid_allocate(program->allocator, size);
    if (!moments) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory to plan %s", planner->graph->name);
    memset(moments, 0, size);
    for (uint32_t i = 0; i < planner->count; i++) {
        const fidc_life *life = &planner->lives[i];
        if (is_placed_root(life)) add_demand(moments, life, planner->options->alignment);
    }
    *out_bound = 0;
    for (uint32_t t = 0; t <= planner->end; t++) {
        uint64_t bytes = moments[t].padded - moments[t].largest_padding;
        if (bytes > *out_bound) *out_bound = bytes;
    }
    fid_free(program->allocator, moments, size);
    return FID_OK;
}

/* Of the blocks that are never shared, the one that gains most by lying last, where its padding costs nothing. */
static uint32_t find_last_permanent(const fidc_planner *planner) {
    uint64_t most = 0;
    uint32_t found = planner->count;
    for (uint32_t i = 0; i < planner->count; i++) {
        const fidc_life *life = &planner->lives[i];
        if (!is_placed_root(life) || !is_permanent(planner, life)) continue;
        uint64_t padding = padded(life->bytes, planner->options->alignment) - life->bytes;
        if (found < planner->count && padding <= most) continue;
        most = padding;
        found = i;
    }
    return found;
}

/* Memory that is never shared lies at the start, one after the other, but for `last`, which is placed with the others. */
static uint64_t place_permanent(const fidc_planner *planner, uint32_t last, fidc_plan *plan) {
    uint64_t at = 0;
    for (uint32_t i = 0; i < plan->count; i++) {
        const fidc_life *life = &planner->lives[i];
        if (life->has_address && is_shared(life)) plan->of[i].offset = life->value->constant->shared_offset;
        if (!is_placed_root(life) || !is_permanent(planner, life) || i == last) continue;
        plan->of[i].offset = at;
        at += padded(life->bytes, planner->options->alignment);
    }
    return at;
}

static uint32_t collect_blocks(const fidc_planner *planner, uint32_t last_permanent, fidc_block *blocks) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < planner->count; i++) {
        const fidc_life *life = &planner->lives[i];
        if (!is_placed_root(life) || (is_permanent(planner, life) && i != last_permanent)) continue;
        blocks[count++] = (fidc_block){i, life->first, life->last, padded(life->bytes, planner->options->alignment), life->bytes, 0};
    }
    return count;
}

static fid_status place_all(const fidc_planner *planner, fidc_plan *plan) {
    fidc_program *program = planner->graph->program;
    size_t size = ((size_t)plan->count + 1) * sizeof(fidc_block);
    fidc_block *blocks = fid_allocate(program->allocator, size);
    if (!blocks) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory to plan %s", planner->graph->name);
    uint32_t last = find_last_permanent(planner), count = collect_blocks(planner, last, blocks);
    uint64_t start = place_permanent(planner, last, plan), total = 0;
    fid_status status = fidc_plan_place(program, blocks, count, plan->bound_bytes - start, &total, &plan->is_optimal);
    for (uint32_t i = 0; status == FID_OK && i < count; i++) plan->of[blocks[i].id].offset = start + blocks[i].offset;
    plan->planned_bytes = count ? start + total : 0;
    fid_free(program->allocator, blocks, size);
    return status;
}

/* Members of groups lie where their roots do. */
static void fill_plan(const fidc_planner *planner, fidc_plan *plan) {
    for (uint32_t i = 0; i < plan->count; i++) {
        const fidc_life *life = &planner->lives[i];
        plan->of[i].bytes = life->bytes;
        plan->of[i].elided = life->elided;
        plan->of[i].base = planner->lives[life->root].value;
        if (life->has_address && life->root != i) plan->of[i].offset = plan->of[life->root].offset + life->delta;
        if (life->has_address && !life->bytes) plan->of[i].offset = 0;
    }
}

static fid_status plan_all(fidc_planner *planner, fidc_plan *plan) {
    fidc_program *program = planner->graph->program;
    FID_TRY(fidc_plan_lifetimes(planner));
    planner->live = fidc_allocate(program, ((size_t)planner->end + 1) * sizeof *planner->live);
    if (!planner->live) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory to plan %s", planner->graph->name);
    fidc_plan_aliases(planner);
    FID_TRY(find_bound(planner, &plan->bound_bytes));
    FID_TRY(place_all(planner, plan));
    fill_plan(planner, plan);
    return FID_OK;
}

fid_status fidc_plan_graph(const fidc_graph *graph, const fidc_plan_options *options, fidc_plan *out_plan) {
    fidc_program *program = graph->program;
    uint32_t count = fidc_plan_number(graph);
    fidc_plan plan = {.of = fidc_allocate(program, ((size_t)count + 1) * sizeof *plan.of), .count = count};
    size_t size = ((size_t)count + 1) * (sizeof(fidc_life) + sizeof(fidc_value *));
    void *memory = fid_allocate(program->allocator, size);
    fidc_planner planner = {.graph = graph, .options = options, .lives = memory, .count = count};
    if (!plan.of || !memory) {
        fid_free(program->allocator, memory, size);
        return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory to plan %s", graph->name);
    }
    memset(memory, 0, size);
    planner.state_of = (const fidc_value **)(void *)(planner.lives + count + 1);
    for (uint32_t i = 0; i < count; i++) plan.of[i].offset = FIDC_NOT_PLANNED;
    fid_status status = plan_all(&planner, &plan);
    fid_free(program->allocator, memory, size);
    if (status == FID_OK) *out_plan = plan;
    return status;
}
