/* Says where in the user's model a node comes from. */
#include <stdio.h>
#include <stdlib.h>

#include "compiler/ir/problem.h"

/* torch's stack trace lists frames from the outermost to the innermost, two lines each:
 *   File "/home/a/model.py", line 12, in forward
 *     return self.conv(x)
 * The user wants the innermost line of his own code, not one inside an installed package, and least of all one of PyTorch. */
static const char *end_of_line(const char *at) {
    while (*at && *at != '\n') at++;
    return at;
}

static bool contains(const fidc_place *f, const char *part) {
    size_t length = strlen(part);
    for (size_t i = 0; i + length <= f->file_length; i++) {
        if (memcmp(f->file + i, part, length) == 0) return true;
    }
    return false;
}

/* How far a line is from what the user wrote: his own code, a package like torchvision, PyTorch itself. */
static int distance(const fidc_place *f) {
    if (contains(f, "-packages/torch/")) return 2;
    return contains(f, "/site-packages/") || contains(f, "/dist-packages/");
}

static const char *read_frame(const char *at, fidc_place *out) {
    at = strstr(at, "File \"");
    if (!at) return NULL;
    out->file = at + 6;
    const char *quote = strchr(out->file, '"');
    if (!quote) return NULL;
    out->file_length = (size_t)(quote - out->file);
    const char *line = strstr(quote, "line ");
    out->line = line ? strtol(line + 5, NULL, 10) : 0;
    const char *code = end_of_line(quote), *function = strstr(quote, ", in ");
    out->function = function && function < code ? function + 5 : code;
    out->function_length = (size_t)(code - out->function);
    if (*code) code++;
    while (*code == ' ') code++;
    const char *end = end_of_line(code);
    out->code = code;
    out->code_length = (size_t)(end - code);
    return end;
}

bool fidc_place_of(const fidc_node *node, fidc_place *out_place) {
    fidc_place best = {0}, f;
    for (const char *at = node->source; at && (at = read_frame(at, &f));) {
        if (!best.file || distance(&f) <= distance(&best)) best = f;
    }
    *out_place = best;
    return best.file != NULL;
}

const char *fidc_where(const fidc_node *node) {
    fidc_program *program = node->graph->program;
    const char *name = node->output_count ? node->outputs[0]->name : "";
    const char *dot = node->op->overload[0] ? "." : "";
    fidc_place place;
    char *text;
    if (fidc_place_of(node, &place)) {
        text = fidc_text_format(program, "%s%s%s '%s' at %.*s:%ld: %.*s", node->op->name, dot, node->op->overload, name,
                                (int)place.file_length, place.file, place.line, (int)place.code_length, place.code);
    } else {
        text = fidc_text_format(program, "%s%s%s '%s'", node->op->name, dot, node->op->overload, name);
    }
    return text ? text : node->op->name;
}
