/* A profile as tables for people and as JSON for programs. */
#include <stdlib.h>

#include "tools/profile.h"

static double share(const profile *p, double ns) { return p->rows_ns > 0 ? 100 * ns / p->rows_ns : 0; }

/* "98.1" or a dash where there is nothing to count. */
static const char *rate_text(double amount, double ns, char *text, size_t size) {
    if (amount > 0 && ns > 0) snprintf(text, size, "%.1f", amount / ns);
    else snprintf(text, size, "-");
    return text;
}
#define RATE(amount, ns) rate_text(amount, ns, (char[32]){0}, 32)

static const char *percent_text(double part, char *text, size_t size) {
    if (part >= 0) snprintf(text, size, "%.0f %%", 100 * part);
    else snprintf(text, size, "-");
    return text;
}
#define PERCENT(part) percent_text(part, (char[32]){0}, 32)

static void print_groups(const profile *p, bool by_module, size_t top) {
    size_t count;
    profile_group *groups = profile_groups(p, by_module, &count);
    if (by_module && (!groups || (count == 1 && !*groups[0].name))) { /* nothing is known of modules */
        free(groups);
        return;
    }
    printf("\n  share         ms  calls  GFLOP/s    GB/s  of roof  %s\n", by_module ? "module" : "operator");
    for (size_t i = 0; i < count && i < top; i++) {
        const profile_group *g = &groups[i];
        printf("%5.1f %% %10.3f %6u %8s %7s  %7s  %s\n", share(p, g->ns), g->ns / 1e6, g->calls, RATE(g->flops, g->ns), RATE(g->bytes, g->ns),
               PERCENT(g->least_ns > 0 && g->ns > 0 ? g->least_ns / g->ns : -1), *g->name ? g->name : "(no module)");
    }
    if (count > top) printf("  ... and %zu more; --top N shows more\n", count - top);
    free(groups);
}

static void print_slowest(const profile *p, size_t top) {
    size_t *order = profile_slowest(p);
    if (top > p->count) top = p->count;
    printf("\n  share         ms  GFLOP/s    GB/s  of roof  slowest instructions\n");
    for (size_t i = 0; order && i < top; i++) {
        const profile_row *r = &p->rows[order[i]];
        printf("%5.1f %% %10.3f %8s %7s  %7s  %d: %s(%s)\n", share(p, r->ns), r->ns / 1e6, RATE(r->flops, r->ns), RATE(r->bytes, r->ns),
               PERCENT(profile_reached(p, r)), r->instruction, r->op, r->shapes);
        if (*r->module || *r->file) printf("%46s%s%s%s", "", r->module, *r->module && *r->file ? ", " : "", r->file);
        if (*r->file) printf(":%ld: %s", r->line, r->code);
        if (*r->module || *r->file) printf("\n");
    }
    free(order);
}

void profile_print(const profile *p, size_t top) {
    double flops = 0, bytes = 0;
    for (size_t i = 0; i < p->count; i++) {
        flops += p->rows[i].flops;
        bytes += p->rows[i].bytes;
    }
    printf("%s%s%s: the fastest of %u run%s took %.3f ms, the fastest of each instruction add up to %.3f ms", p->title, p->method ? ", method " : "",
           p->method ? p->method : "", p->runs, plural(p->runs), p->run_ns / 1e6, p->rows_ns / 1e6);
    if (p->load_ns > 0) printf("; loading the method %.3f ms", p->load_ns / 1e6);
    printf("\n");
    if (flops > 0) printf("%.3f GFLOP, %.1f GFLOP/s; %s of tensors pass\n", flops / 1e9, flops / p->rows_ns, BYTES_TEXT((uint64_t)bytes));
    if (p->roof.flops > 0) {
        printf("the roof of this machine, measured: %.1f GFLOP/s (%s), %.1f GB/s from a core's cache, %.1f GB/s from beyond, %ld thread%s\n", p->roof.flops / 1e9,
               p->roof.instructions, p->roof.near / 1e9, p->roof.far / 1e9, p->threads, plural((uint64_t)p->threads));
    }
    print_groups(p, false, top);
    print_groups(p, true, top);
    print_slowest(p, top);
}

/* ---- JSON ---- */

static void json_text(FILE *out, const char *key, const char *text) {
    fprintf(out, ", \"%s\": ", key);
    print_json_text(out, text);
}

static void json_groups(const profile *p, bool by_module, FILE *out) {
    size_t count;
    profile_group *groups = profile_groups(p, by_module, &count);
    for (size_t i = 0; i < count; i++) {
        const profile_group *g = &groups[i];
        fprintf(out, "%s\n  {\"ms\": %.6f, \"share\": %.6f, \"calls\": %u, \"flops\": %.0f, \"bytes\": %.0f, \"least_ms\": %.6f", i ? "," : "", g->ns / 1e6,
                share(p, g->ns) / 100, g->calls, g->flops, g->bytes, g->least_ns / 1e6);
        json_text(out, by_module ? "module" : "operator", g->name);
        fputc('}', out);
    }
    free(groups);
}

void profile_print_json(const profile *p, FILE *out) {
    fprintf(out, "{\"runs\": %u, \"run_ms\": %.6f, \"instructions_ms\": %.6f, \"load_ms\": %.6f, \"threads\": %ld", p->runs, p->run_ns / 1e6, p->rows_ns / 1e6,
            p->load_ns / 1e6, p->threads);
    json_text(out, "file", p->title);
    json_text(out, "method", p->method ? p->method : "");
    if (p->roof.flops > 0) {
        fprintf(out, ", \"roof\": {\"flops_per_s\": %.0f, \"near_bytes_per_s\": %.0f, \"far_bytes_per_s\": %.0f", p->roof.flops, p->roof.near, p->roof.far);
        json_text(out, "instructions", p->roof.instructions);
        fputc('}', out);
    }
    fprintf(out, ", \"operators\": [");
    json_groups(p, false, out);
    fprintf(out, "], \"modules\": [");
    json_groups(p, true, out);
    fprintf(out, "], \"calls\": [");
    for (size_t i = 0; i < p->count; i++) {
        const profile_row *r = &p->rows[i];
        fprintf(out, "%s\n  {\"chain\": %d, \"instruction\": %d, \"part\": %d, \"ms\": %.6f, \"flops\": %.0f, \"bytes\": %.0f, \"far_bytes\": %.0f, \"line\": %ld", i ? "," : "", r->chain,
                r->instruction, r->part, r->ns / 1e6, r->flops, r->bytes, r->far, r->line);
        json_text(out, "operator", r->op);
        json_text(out, "shapes", r->shapes);
        json_text(out, "module", r->module);
        json_text(out, "source_file", r->file);
        json_text(out, "function", r->function);
        json_text(out, "code", r->code);
        fputc('}', out);
    }
    fprintf(out, "]}\n");
}
