/* What a partition came to: delegates, and the operators that stayed outside. */
#include <stdio.h>
#include <stdlib.h>

#include "compiler/partition/partition.h"

typedef struct tally { const char *op; uint32_t count; } tally;
typedef struct tallies { tally *items; size_t count, capacity; bool failed; fidc_partition_summary *summary; } tallies;

static void count_outside(tallies *t, const char *op) {
    for (size_t i = 0; i < t->count; i++) {
        if (strcmp(t->items[i].op, op) != 0) continue;
        t->items[i].count++;
        return;
    }
    if (t->count == t->capacity) {
        size_t capacity = t->capacity ? 2 * t->capacity : 32;
        tally *items = realloc(t->items, capacity * sizeof *items);
        if (!items) {
            t->failed = true;
            return;
        }
        t->items = items;
        t->capacity = capacity;
    }
    t->items[t->count++] = (tally){op, 1};
}

static void count_graph(tallies *t, const fidc_graph *graph) {
    for (const fidc_node *node = graph->first; node; node = node->next) {
        for (uint32_t i = 0; i < node->graph_count; i++) count_graph(t, node->graphs[i]);
        if (!node->delegate) {
            if (node->op->kind != FID_OP_SCALAR) count_outside(t, node->op->name);
            continue;
        }
        t->summary->delegates++;
        t->summary->delegated += node->delegate->operators;
    }
}

static int compare(const void *a, const void *b) {
    const tally *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return strcmp(x->op, y->op);
}

static char *print(const tallies *t) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fputc('[', out);
    for (size_t i = 0; i < t->count; i++)
        fprintf(out, "%s{\"operator\": \"%s\", \"count\": %u}", i ? ", " : "", t->items[i].op, t->items[i].count);
    fputc(']', out);
    fclose(out);
    return text;
}

fid_status fidc_partition_summarize(const fidc_program *program, fidc_partition_summary *out_summary) {
    *out_summary = (fidc_partition_summary){0};
    tallies t = {.summary = out_summary};
    for (uint32_t i = 0; i < program->method_count; i++) count_graph(&t, program->methods[i]);
    if (t.count) qsort(t.items, t.count, sizeof *t.items, compare);
    out_summary->outside_json = t.failed ? NULL : print(&t);
    free(t.items);
    return out_summary->outside_json ? FID_OK : fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory for a report");
}
