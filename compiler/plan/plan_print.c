/* The planner's map for people: memory from left to right, time from top to bottom, one line a node. Sub-graphs are not shown. */
#include <stdio.h>
#include <stdlib.h>

#include "compiler/plan/plan_internal.h"

#define COLUMNS 64

typedef struct map {
    const fidc_graph *graph;
    const fidc_plan *plan;
    uint32_t *first, *last; /* moments, by value id; of groups at their roots */
    uint32_t moment;
} map;

static void note(void *self, const fidc_value *value) {
    map *m = self;
    if (value->id >= m->graph->value_count || m->graph->values[value->id] != value) return; /* of a sub-graph */
    uint32_t root = m->plan->of[value->id].base->id;
    if (m->last[root] < m->moment) m->last[root] = m->moment;
}

static void find_lifetimes(map *m) {
    for (const fidc_node *node = m->graph->first; node; node = node->next) {
        m->moment++;
        for (uint32_t i = 0; i < node->output_count; i++) {
            uint32_t id = node->outputs[i]->id;
            if (m->plan->of[id].base->id == id) m->first[id] = m->moment;
            note(m, node->outputs[i]);
        }
        for (uint32_t i = 0; i < node->arg_count; i++) fidc_plan_each_value(&node->args[i], note, m);
    }
    m->moment++;
    for (uint32_t i = 0; i < m->graph->output_count; i++) fidc_plan_each_value(&m->graph->outputs[i], note, m);
    for (uint32_t i = 0; i < m->graph->mutation_count; i++) {
        note(m, m->graph->mutations[i].target);
        note(m, fidc_resolve(m->graph->mutations[i].value));
    }
}

static size_t column_of(const map *m, uint64_t offset) {
    return (size_t)((double)offset * COLUMNS / (double)(m->plan->planned_bytes ? m->plan->planned_bytes : 1));
}

/* One letter a block; small blocks still take a column, so neighbours may hide each other. */
static uint64_t draw_line(const map *m, uint32_t moment, char *line) {
    uint64_t live = 0;
    memset(line, '.', COLUMNS);
    for (uint32_t id = 0; id < m->graph->value_count; id++) {
        const fidc_placement *p = &m->plan->of[id];
        if (!p->base || p->base->id != id || p->offset == FIDC_NOT_PLANNED || moment < m->first[id] || moment > m->last[id]) continue;
        live += p->bytes;
        size_t stop = column_of(m, p->offset + p->bytes);
        for (size_t i = column_of(m, p->offset), start = i; i < COLUMNS && (i < stop || i == start); i++) line[i] = (char)('A' + id % 26);
    }
    return live;
}

static size_t draw(const map *m, char *text, size_t size) {
    size_t at = (size_t)snprintf(text, size, "%s: %llu bytes planned, bound %llu\n", m->graph->name ? m->graph->name : "", (unsigned long long)m->plan->planned_bytes,
                                 (unsigned long long)m->plan->bound_bytes);
    const fidc_node *node = m->graph->first;
    for (uint32_t t = 1; t < m->moment; t++, node = node->next) {
        char line[COLUMNS + 1] = {0};
        uint64_t live = draw_line(m, t, line);
        const char *name = node->output_count ? node->outputs[0]->name : "";
        bool elided = node->output_count && m->plan->of[node->outputs[0]->id].elided;
        at += (size_t)snprintf(text + at, size - at, "%5u |%s| %12llu %s%.24s = %.32s\n", t, line, (unsigned long long)live, elided ? "(nothing) " : "", name,
                               node->op->name);
    }
    return at;
}

const char *fidc_plan_print(const fidc_graph *graph, const fidc_plan *plan) {
    fidc_program *program = graph->program;
    uint32_t nodes = 0;
    for (const fidc_node *node = graph->first; node; node = node->next) nodes++;
    size_t size = ((size_t)nodes + 1) * 200 + 200;
    map m = {.graph = graph, .plan = plan, .first = calloc((size_t)plan->count + 1, sizeof(uint32_t)), .last = calloc((size_t)plan->count + 1, sizeof(uint32_t))};
    char *text = fidc_allocate(program, size);
    if (m.first && m.last && text) {
        find_lifetimes(&m);
        draw(&m, text, size);
    }
    free(m.first);
    free(m.last);
    return text;
}
