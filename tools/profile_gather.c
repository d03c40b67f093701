/* From a trace to rows: times of each instruction over the runs, and what the program tells of it. */
#include <jansson.h>
#include <stdlib.h>

#include "compiler/emit/emit.h"
#include "tools/cost.h"
#include "tools/profile.h"

/* ---- Rows from events ---- */

/* Sums of the run at work, by row. */
typedef struct gatherer {
    profile *p;
    double *sums;
    size_t capacity, hint; /* hint: rows come in the same order again and again */
} gatherer;

static bool same_row(const profile_row *row, const fid_trace_event *event, bool is_part) {
    if (row->chain != event->chain || row->instruction != event->instruction || row->is_part != is_part) return false;
    return !is_part || (row->part == event->delegate_id && strcmp(row->op, event->name) == 0);
}

static profile_row *add_row(gatherer *g, const fid_trace_event *event, bool is_part) {
    profile *p = g->p;
    if (p->count == p->capacity) {
        size_t capacity = p->capacity ? 2 * p->capacity : 256;
        profile_row *rows = realloc(p->rows, capacity * sizeof *rows);
        if (rows) p->rows = rows;
        double *sums = realloc(g->sums, capacity * sizeof *sums);
        if (sums) g->sums = sums;
        if (!rows || !sums) return NULL;
        p->capacity = g->capacity = capacity;
    }
    profile_row *row = &p->rows[p->count];
    *row = (profile_row){.chain = event->chain, .instruction = event->instruction, .is_part = is_part, .part = event->delegate_id, .ns = 1e300,
                         .module = "", .file = "", .function = "", .code = ""};
    if (is_part) fid_format(row->op, sizeof row->op, "%s", event->name);
    g->sums[p->count] = 0;
    return &p->rows[p->count++];
}

static profile_row *find_row(gatherer *g, const fid_trace_event *event, bool is_part) {
    profile *p = g->p;
    for (size_t i = 0; i < p->count; i++) {
        size_t at = (g->hint + i) % p->count;
        if (!same_row(&p->rows[at], event, is_part)) continue;
        g->hint = at;
        return &p->rows[at];
    }
    g->hint = p->count;
    return add_row(g, event, is_part);
}

/* "native_call_add.out" back to "aten::add.out". */
static void name_row(profile_row *row, const char *event_name) {
    const char *name = event_name + strlen("native_call_");
    if (!row->op[0]) fid_format(row->op, sizeof row->op, strstr(name, "::") ? "%s" : "aten::%s", name);
}

static bool gather_event(gatherer *g, const fid_trace_event *event) {
    if (event->chain < 0 || strncmp(event->name, "Method::", 8) == 0 || strncmp(event->name, "Program::", 9) == 0) return true; /* around instructions */
    bool call = strcmp(event->name, "OPERATOR_CALL") == 0, delegate = strcmp(event->name, "DELEGATE_CALL") == 0;
    bool is_part = !call && !delegate && !event->kernel;
    profile_row *row = find_row(g, event, is_part);
    if (!row) return false;
    if (event->kernel) name_row(row, event->name);
    else g->sums[row - g->p->rows] += (double)(event->end - event->start);
    if (delegate && !row->op[0]) fid_format(row->op, sizeof row->op, "delegate");
    return true;
}

/* What a run took for each row; parts of a delegate are taken out of the delegate's own row. */
static void end_run(gatherer *g) {
    profile *p = g->p;
    for (size_t i = 0; i < p->count; i++) {
        if (!p->rows[i].is_part) continue;
        for (size_t k = 0; k < p->count; k++) {
            if (!p->rows[k].is_part && p->rows[k].chain == p->rows[i].chain && p->rows[k].instruction == p->rows[i].instruction) g->sums[k] -= g->sums[i];
        }
    }
    for (size_t i = 0; i < p->count; i++) {
        if (g->sums[i] < p->rows[i].ns) p->rows[i].ns = g->sums[i] > 0 ? g->sums[i] : 0;
        g->sums[i] = 0;
    }
    p->runs++;
}

static bool gather_run(gatherer *g, const fid_etdump_run *run) {
    for (uint32_t i = 0; i < run->events.count; i++) {
        fid_etdump_event event = fid_etdump_event_at(run, i);
        if (event.kind != FID_ETDUMP_PROFILE) continue;
        double ns = (double)(event.profile.end - event.profile.start);
        if (strcmp(event.profile.name, "Method::execute") == 0 && (g->p->run_ns == 0 || ns < g->p->run_ns)) g->p->run_ns = ns;
        if (!gather_event(g, &event.profile)) return false;
    }
    end_run(g);
    return true;
}

static void gather_load(profile *p, const fid_etdump_run *run) {
    for (uint32_t i = 0; i < run->events.count; i++) {
        fid_etdump_event event = fid_etdump_event_at(run, i);
        if (event.kind == FID_ETDUMP_PROFILE && strcmp(event.profile.name, "Program::load_method") == 0) p->load_ns = (double)(event.profile.end - event.profile.start);
    }
}

bool profile_gather(profile *p, const fid_etdump *dump) {
    gatherer g = {.p = p};
    uint32_t executions = 0, seen = 0;
    bool ok = true;
    for (uint32_t i = 0; i < dump->runs.count; i++) executions += strcmp(fid_etdump_run_at(dump, i).name, "Execute") == 0;
    for (uint32_t i = 0; ok && i < dump->runs.count; i++) {
        fid_etdump_run run = fid_etdump_run_at(dump, i);
        if (strcmp(run.name, "Execute") != 0) gather_load(p, &run);
        else if (seen++ > 0 || executions == 1) ok = gather_run(&g, &run); /* the first run touches memory for the first time */
    }
    for (size_t i = 0; i < p->count; i++) p->rows_ns += p->rows[i].ns;
    free(g.sums);
    return ok;
}

/* ---- What the program tells ---- */

static const char *text_at(const json_t *texts, const json_t *entry, size_t at) {
    json_int_t number = json_integer_value(json_array_get(entry, at));
    const char *text = number >= 0 ? json_string_value(json_array_get(texts, (size_t)number)) : NULL;
    return text ? text : "";
}

static void explain_origins(profile *p, const json_t *method) {
    const json_t *texts = json_object_get(method, "texts"), *calls = json_object_get(method, "calls");
    for (size_t i = 0; i < p->count; i++) {
        profile_row *row = &p->rows[i];
        if (row->chain != 0) continue;
        for (size_t k = 0; k < json_array_size(calls); k++) {
            const json_t *entry = json_array_get(calls, k);
            if (json_integer_value(json_array_get(entry, 0)) != row->instruction) continue;
            row->module = text_at(texts, entry, 1);
            row->file = text_at(texts, entry, 2);
            row->line = (long)json_integer_value(json_array_get(entry, 3));
            row->function = text_at(texts, entry, 4);
            row->code = text_at(texts, entry, 5);
            break;
        }
    }
}

void profile_explain(profile *p, const program_view *view, fid_fb_ref plan) {
    const cost_setup setup = {.near_bytes = (double)p->near_bytes, .constants_far = program_view_constants(view) > p->near_bytes};
    for (size_t i = 0; i < p->count; i++) {
        profile_row *row = &p->rows[i];
        program_call call;
        if (row->is_part || !program_call_at(plan, row->chain, row->instruction, &call)) continue;
        call_cost cost = cost_of_call(&call, &setup);
        fid_format(row->op, sizeof row->op, "%s", call.name);
        shapes_of_call(&call, row->shapes, sizeof row->shapes);
        row->flops = cost.flops;
        row->bytes = cost.bytes;
        row->far = cost.far;
    }
    fid_span table = program_view_named(view, FIDC_DEBUG_KEY);
    p->debug = table.size ? json_loadb((const char *)table.data, table.size, 0, NULL) : NULL;
    if (p->debug) explain_origins(p, json_object_get(json_object_get(p->debug, "methods"), p->method));
}

void profile_free(profile *p) {
    free(p->rows);
    json_decref(p->debug);
}

/* ---- Sums ---- */

static double least_ns(const profile *p, const profile_row *row) {
    if (p->roof.flops <= 0) return 0;
    double arithmetic = row->flops / p->roof.flops, memory = row->far / p->roof.far + (row->bytes - row->far) / p->roof.near;
    return 1e9 * (arithmetic > memory ? arithmetic : memory);
}

double profile_reached(const profile *p, const profile_row *row) {
    double least = least_ns(p, row);
    return least > 0 && row->ns > 0 ? least / row->ns : -1;
}

static int by_time(const void *a, const void *b) {
    const profile_group *x = a, *y = b;
    return (x->ns < y->ns) - (x->ns > y->ns);
}

/* Parts of delegates are named one by one: "XNNPACK node 4 (Conv2d): fid::convolution". What follows is their kind. */
static const char *group_name(const profile_row *row) {
    const char *kind = row->is_part ? strstr(row->op, ": ") : NULL;
    return kind ? kind + 2 : row->op;
}

profile_group *profile_groups(const profile *p, bool by_module, size_t *out_count) {
    profile_group *groups = calloc(p->count + 1, sizeof *groups);
    size_t count = 0;
    for (size_t i = 0; groups && i < p->count; i++) {
        const profile_row *row = &p->rows[i];
        const char *name = by_module ? row->module : group_name(row);
        size_t at = 0;
        while (at < count && strcmp(groups[at].name, name) != 0) at++;
        if (at == count) groups[count++].name = name;
        groups[at].calls++;
        groups[at].ns += row->ns;
        groups[at].flops += row->flops;
        groups[at].bytes += row->bytes;
        groups[at].least_ns += least_ns(p, row);
    }
    if (groups) qsort(groups, count, sizeof *groups, by_time);
    *out_count = groups ? count : 0;
    return groups;
}

typedef struct timed { double ns; size_t index; } timed;

static int by_row_time(const void *a, const void *b) {
    const timed *x = a, *y = b;
    return (x->ns < y->ns) - (x->ns > y->ns);
}

size_t *profile_slowest(const profile *p) {
    size_t *order = calloc(p->count + 1, sizeof *order);
    timed *times = calloc(p->count + 1, sizeof *times);
    for (size_t i = 0; times && i < p->count; i++) times[i] = (timed){p->rows[i].ns, i};
    if (times) qsort(times, p->count, sizeof *times, by_row_time);
    for (size_t i = 0; order && times && i < p->count; i++) order[i] = times[i].index;
    if (!times) {
        free(order);
        order = NULL;
    }
    free(times);
    return order;
}
