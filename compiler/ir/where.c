/* Says where in the user's model a node comes from. */
#include <stdio.h>
#include <stdlib.h>

#include "compiler/ir/problem.h"

/* torch's stack trace lists frames from the outermost to the innermost, two lines each:
 *   File "/home/a/model.py", line 12, in forward
 *     return self.conv(x)
 * The user wants the innermost line of his own code, not one inside an installed package. */
static const char *end_of_line(const char *at) {
    while (*at && *at != '\n') at++;
    return at;
}

static bool is_installed(const fidc_place *f) {
    for (size_t i = 0; i + 15 <= f->file_length; i++) {
        if (memcmp(f->file + i, "/site-packages/", 15) == 0 || memcmp(f->file + i, "/dist-packages/", 15) == 0) return true;
    }
    return false;
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
    const char *code = end_of_line(quote);
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
        if (!best.file || !is_installed(&f) || is_installed(&best)) best = f;
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
