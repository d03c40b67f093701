/* Says where in the user's model a node comes from. */
#include <stdio.h>
#include <stdlib.h>

#include "compiler/ir/ir.h"

/* torch's stack trace lists frames from the outermost to the innermost, two lines each:
 *   File "/home/a/model.py", line 12, in forward
 *     return self.conv(x)
 * The user wants the innermost line of his own code, not one inside an installed package. */
typedef struct frame {
    const char *file, *code;
    size_t file_length, code_length;
    long line;
} frame;

static const char *end_of_line(const char *at) {
    while (*at && *at != '\n') at++;
    return at;
}

static bool is_installed(const frame *f) {
    for (size_t i = 0; i + 15 <= f->file_length; i++) {
        if (memcmp(f->file + i, "/site-packages/", 15) == 0 || memcmp(f->file + i, "/dist-packages/", 15) == 0) return true;
    }
    return false;
}

static const char *read_frame(const char *at, frame *out) {
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

const char *fidc_where(const fidc_node *node) {
    fidc_program *program = node->graph->program;
    const char *name = node->output_count ? node->outputs[0]->name : "";
    const char *dot = node->op->overload[0] ? "." : "";
    frame best = {0}, f;
    for (const char *at = node->source; at && (at = read_frame(at, &f));) {
        if (!best.file || !is_installed(&f) || is_installed(&best)) best = f;
    }
    char *text;
    if (best.file) {
        text = fidc_text_format(program, "%s%s%s '%s' at %.*s:%ld: %.*s", node->op->name, dot, node->op->overload, name,
                                (int)best.file_length, best.file, best.line, (int)best.code_length, best.code);
    } else {
        text = fidc_text_format(program, "%s%s%s '%s'", node->op->name, dot, node->op->overload, name);
    }
    return text ? text : node->op->name;
}
