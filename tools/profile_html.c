/* A profile as one page: a flame chart by module, and a table with the source line of each instruction. The page needs nothing else: no other
 * file, no network. Every box of the chart can be reached by keyboard and says in words what its size shows. */
#include <errno.h>
#include <stdlib.h>

#include "tools/profile.h"

/* ---- Modules as a tree ---- */

/* A part of a path ("block" of "features.1.block") or, as a leaf, a row. */
typedef struct flame_node {
    const char *name;
    size_t name_length;
    double ns;
    size_t row;              /* leaves; SIZE_MAX: a module */
    struct flame_node *first, *last, *next;
} flame_node;

/* All nodes: at most one a row, and one a part of its path. */
typedef struct flame {
    flame_node *nodes;
    size_t count;
} flame;

static size_t parts_of(const char *path) {
    size_t parts = 1;
    for (; *path; path++) parts += *path == '.';
    return parts;
}

static flame_node *add_child(flame *f, flame_node *parent, const char *name, size_t length, size_t row) {
    flame_node *node = &f->nodes[f->count++];
    *node = (flame_node){.name = name, .name_length = length, .row = row};
    if (parent->last) parent->last->next = node;
    else parent->first = node;
    return parent->last = node;
}

/* The newest child if it is the module; a module that comes again later is a new box, so that boxes keep the order of execution. */
static flame_node *enter_module(flame *f, flame_node *parent, const char *name, size_t length) {
    flame_node *last = parent->last;
    bool same = last && last->row == SIZE_MAX && last->name_length == length && memcmp(last->name, name, length) == 0;
    return same ? last : add_child(f, parent, name, length, SIZE_MAX);
}

static flame_node *build_flame(const profile *p, flame *f) {
    size_t most = 1;
    for (size_t i = 0; i < p->count; i++) most += 1 + parts_of(p->rows[i].module);
    f->nodes = calloc(most, sizeof *f->nodes);
    if (!f->nodes) return NULL;
    flame_node *root = &f->nodes[f->count++];
    *root = (flame_node){.name = "whole model", .name_length = 11, .row = SIZE_MAX};
    for (size_t i = 0; i < p->count; i++) {
        flame_node *at = root;
        root->ns += p->rows[i].ns;
        for (const char *name = p->rows[i].module; *name;) {
            size_t length = strcspn(name, ".");
            at = enter_module(f, at, name, length);
            at->ns += p->rows[i].ns;
            name += length + (name[length] == '.');
        }
        add_child(f, at, p->rows[i].op, strlen(p->rows[i].op), i)->ns = p->rows[i].ns;
    }
    return root;
}

/* ---- Writing ---- */

static void write_text(FILE *out, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        switch (text[i]) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '"': fputs("&quot;", out); break;
        default: fputc(text[i], out);
        }
    }
}

static void write_all(FILE *out, const char *text) { write_text(out, text, strlen(text)); }

/* What kind of work a row is: colours of the chart, and words for those who do not see them. */
static const char *family(const char *op) {
    static const struct { const char *part, *family; } families[] = {
        {"convolution", "product"}, {"conv", "product"}, {"linear", "product"}, {"mm", "product"}, {"attention", "product"}, {"lstm", "product"},
        {"gru", "product"}, {"norm", "norm"}, {"softmax", "norm"}, {"mean", "norm"}, {"sum", "norm"}, {"pool", "norm"}, {"copy", "move"},
        {"clone", "move"}, {"cat", "move"}, {"view", "move"}, {"permute", "move"}, {"transpose", "move"}, {"embedding", "move"}, {"index", "move"},
        {"delegate", "product"},
    };
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        if (strstr(op, families[i].part)) return families[i].family;
    }
    return "element";
}

static void write_box(FILE *out, const profile *p, const flame_node *node, unsigned depth) {
    double part = p->rows_ns > 0 ? 100 * node->ns / p->rows_ns : 0;
    if (part < 0.02 || depth > 40) return; /* thinner than a line of a wide screen */
    bool leaf = node->row != SIZE_MAX;
    fprintf(out, "<div class=n style=\"flex:%.4f 1 0\">", part);
    if (leaf) fprintf(out, "<a class=\"b %s\" href=\"#r%zu\"", family(node->name), node->row);
    else fputs("<button class=\"b m\" type=button", out);
    fputs(" title=\"", out);
    write_text(out, node->name, node->name_length);
    fprintf(out, ": %.3f ms, %.1f %%\">", node->ns / 1e6, part);
    write_text(out, node->name, node->name_length);
    fprintf(out, " <small>%.1f %%</small>%s", part, leaf ? "</a>" : "</button>");
    if (node->first) {
        fputs("<div class=c>", out);
        for (const flame_node *child = node->first; child; child = child->next) write_box(out, p, child, depth + 1);
        fputs("</div>", out);
    }
    fputs("</div>\n", out);
}

static void write_row(FILE *out, const profile *p, size_t index) {
    const profile_row *r = &p->rows[index];
    double reached = profile_reached(p, r);
    fprintf(out, "<tr id=r%zu><td>%.1f %%<td>%.3f<td>", index, p->rows_ns > 0 ? 100 * r->ns / p->rows_ns : 0, r->ns / 1e6);
    if (r->flops > 0 && r->ns > 0) fprintf(out, "%.1f", r->flops / r->ns);
    fputs("<td>", out);
    if (r->bytes > 0 && r->ns > 0) fprintf(out, "%.1f", r->bytes / r->ns);
    fputs("<td>", out);
    if (reached >= 0) fprintf(out, "%.0f %%", 100 * reached);
    fputs("<td><b>", out);
    write_all(out, r->op);
    fputs("</b><br><small>", out);
    write_all(out, r->shapes);
    fputs("</small><td>", out);
    write_all(out, r->module);
    fputs("<td>", out);
    if (*r->file) {
        write_all(out, r->file);
        fprintf(out, ":%ld<br><code>", r->line);
        write_all(out, r->code);
        fputs("</code>", out);
    }
    fputs("</tr>\n", out);
}

static const char *const style =
    "<style>:root{color-scheme:light dark;--p:#9ecae9;--n:#f2cf8b;--m:#d3d3d3;--e:#b5d8a8;--g:#ececf3;--t:#1b1d22;--bg:#fff;--l:#8885}"
    "@media(prefers-color-scheme:dark){:root{--p:#1f4e70;--n:#6b4d10;--m:#45474d;--e:#2f5a2a;--g:#2b2d36;--t:#e8e8ea;--bg:#15161a}}"
    "body{font:15px/1.45 system-ui,sans-serif;margin:1.5rem auto;max-width:75rem;padding:0 1rem;color:var(--t);background:var(--bg)}"
    ".n{min-width:0;display:flex;flex-direction:column}.c{display:flex}.n[hidden]{display:none}"
    ".b{all:unset;box-sizing:border-box;cursor:pointer;font-size:12px;line-height:20px;padding:0 3px;border:1px solid var(--bg);white-space:nowrap;"
    "overflow:hidden;text-overflow:ellipsis;color:var(--t);text-decoration:none;min-height:22px}.b:focus-visible{outline:3px solid #d6006e;outline-offset:-3px}"
    ".m{background:var(--g)}.product{background:var(--p)}.norm{background:var(--n)}.move{background:var(--m)}.element{background:var(--e)}"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.25rem .5rem;border-bottom:1px solid var(--l)}"
    "td:nth-child(-n+5){text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}td{overflow-wrap:anywhere}tr:target{outline:2px solid #d6006e}"
    ".key span{padding:.1rem .5rem;margin-right:.5rem}.scroll{overflow-x:auto}</style>\n";

/* A click on a module shows it alone; a click on the module on top shows its surroundings again. */
static const char *const script =
    "<script>const chart=document.getElementById('chart');chart.addEventListener('click',e=>{const b=e.target.closest('button');if(!b)return;"
    "const node=b.parentElement,alone=node.dataset.alone;chart.querySelectorAll('.n').forEach(n=>{n.hidden=false;delete n.dataset.alone});"
    "if(alone)return;node.dataset.alone=1;for(let n=node;n!==chart;n=n.parentElement){if(!n.classList.contains('n'))continue;"
    "for(const s of n.parentElement.children)if(s!==n&&s.classList.contains('n'))s.hidden=true}})</script>\n";

static void write_head(FILE *out, const profile *p) {
    fputs("<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\"><title>", out);
    write_all(out, p->title);
    fprintf(out, "</title>\n%s<h1>", style);
    write_all(out, p->title);
    fprintf(out, "</h1>\n<p>The fastest of %u run%s took %.3f ms; below are the fastest times of each instruction, %.3f ms together.", p->runs, plural(p->runs),
            p->run_ns / 1e6, p->rows_ns / 1e6);
    if (p->roof.flops > 0) {
        fprintf(out, " This machine reaches %.1f GFLOP/s (%s) on %ld thread%s and reads %.1f GB/s from a core's cache, %.1f GB/s from beyond: \"of roof\" is the least "
                     "time that these allow over the time taken.",
                p->roof.flops / 1e9, p->roof.instructions, p->threads, plural((uint64_t)p->threads), p->roof.near / 1e9, p->roof.far / 1e9);
    }
    fputs("</p>\n", out);
}

static bool write_page(FILE *out, const profile *p) {
    flame f = {0};
    flame_node *root = build_flame(p, &f);
    size_t *order = profile_slowest(p);
    if (root && order) {
        write_head(out, p);
        fputs("<h2>By module</h2>\n<p class=key><span class=product>products, attention</span><span class=norm>norms, sums, pools</span>"
              "<span class=element>elements</span><span class=move>moves</span> A module's button shows it alone, and again: all; an instruction leads to its row.</p>\n"
              "<div id=chart role=group aria-label=\"Flame chart: width is time\">\n",
              out);
        write_box(out, p, root, 0);
        fprintf(out, "</div>\n%s<h2>Instructions, slowest first</h2>\n<div class=scroll><table><thead><tr><th scope=col>share<th scope=col>ms<th scope=col>GFLOP/s<th scope=col>GB/s"
                     "<th scope=col>of roof<th scope=col>operator<th scope=col>module<th scope=col>source</tr></thead><tbody>\n",
                script);
        for (size_t i = 0; i < p->count; i++) write_row(out, p, order[i]);
        fputs("</tbody></table></div></html>\n", out);
    }
    bool ok = root && order;
    free(order);
    free(f.nodes);
    return ok;
}

bool profile_write_html(const profile *p, const char *path) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool ok = out && write_page(out, p);
    if (out && fclose(out) != 0) ok = false;
    if (!ok) errno = ENOMEM;
    ok = ok && write_file(path, &(file_part){text, size}, 1);
    free(text);
    return ok;
}
