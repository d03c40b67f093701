/* Memory planning: lifetimes, then groups that share memory, then places. See plan.h. */
#include "compiler/plan/plan_internal.h"

static uint64_t padded(uint64_t bytes, uint64_t alignment) { return (bytes + alignment - 1) & ~(alignment - 1); }

static bool is_placed_root(const fidc_life *life) { return life->has_address && life->root == fidc_plan_index(life->value) && life->bytes; }

/* In the memory that methods share: outside the block, at a place that is given. */
static bool is_shared(const fidc_life *life) { return fidc_is_shared_buffer(life->value); }

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

/* Largest demand of any moment. `shared_only`: of the roots that are not there all the time, with all padding. */
static fid_status find_bound(const fidc_planner *planner, bool shared_only, uint64_t *out_bound) {
    fidc_program *program = planner->graph->program;
    size_t size = ((size_t)planner->end + 1) * sizeof(demand);
    demand *moments = fid_allocate(program->allocator, size);
    if (!moments) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory to plan %s", planner->graph->name);
    memset(moments, 0, size);
    for (uint32_t i = 0; i < planner->count; i++) {
        const fidc_life *life = &planner->lives[i];
        if (is_placed_root(life) && !is_shared(life) && !(shared_only && is_permanent(planner, life))) add_demand(moments, life, planner->options->alignment);
    }
    *out_bound = 0;
    for (uint32_t t = 0; t <= planner->end; t++) {
        uint64_t bytes = moments[t].padded - (shared_only ? 0 : moments[t].largest_padding);
        if (bytes > *out_bound) *out_bound = bytes;
    }
    fid_free(program->allocator, moments, size);
    return FID_OK;
}

/* Memory that is never shared lies at the start, one after the other. */
static uint64_t place_permanent(const fidc_planner *planner, fidc_plan *plan) {
    uint64_t at = 0;
    for (uint32_t i = 0; i < plan->count; i++) {
        const fidc_life *life = &planner->lives[i];
        if (!is_placed_root(life) || !is_permanent(planner, life)) continue;
        if (is_shared(life)) {
            plan->of[i].offset = life->value->constant->shared_offset;
            continue;
        }
        plan->of[i].offset = at;
        plan->planned_bytes = at + life->bytes;
        at += padded(life->bytes, planner->options->alignment);
    }
    return at;
}

static fid_status place_others(const fidc_planner *planner, fidc_plan *plan, uint64_t start) {
    fidc_program *program = planner->graph->program;
    size_t size = ((size_t)plan->count + 1) * sizeof(fidc_block);
    fidc_block *blocks = fid_allocate(program->allocator, size);
    if (!blocks) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory to plan %s", planner->graph->name);
    uint32_t count = 0;
    uint64_t bound = 0, total = 0;
    for (uint32_t i = 0; i < plan->count; i++) {
        const fidc_life *life = &planner->lives[i];
        if (!is_placed_root(life) || is_permanent(planner, life)) continue;
        blocks[count++] = (fidc_block){i, life->first, life->last, padded(life->bytes, planner->options->alignment), 0};
    }
    fid_status status = find_bound(planner, true, &bound);
    if (status == FID_OK) status = fidc_plan_place(program, blocks, count, bound, &total);
    for (uint32_t i = 0; status == FID_OK && i < count; i++) {
        uint64_t end = start + blocks[i].offset + planner->lives[blocks[i].id].bytes;
        plan->of[blocks[i].id].offset = start + blocks[i].offset;
        if (end > plan->planned_bytes) plan->planned_bytes = end;
    }
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
    FID_TRY(find_bound(planner, false, &plan->bound_bytes));
    FID_TRY(place_others(planner, plan, place_permanent(planner, plan)));
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
