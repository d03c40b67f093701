/* Stack traces: Python's text turned into frames. A frame is a line `File "NAME", line N, in FUNCTION`, and after it maybe a
 * line of source. */
#include <stdlib.h>

#include "compiler/emit/emit_internal.h"

static const char *skip_blanks(const char *at) {
    while (*at == ' ' || *at == '\t') at++;
    return at;
}

static size_t line_length(const char *at) {
    size_t length = 0;
    while (at[length] && at[length] != '\n') length++;
    return length;
}

static bool begins(const char *at, const char *text) { return strncmp(at, text, strlen(text)) == 0; }

/* Reads one `File` line; false if it is none. */
static bool read_frame(fidc_emitter *emitter, const char *line, fid_pte_out_frame *frame) {
    const char *end = line + line_length(line), *file = line + 6;
    if (!begins(line, "File \"")) return false;
    const char *quote = file;
    while (quote < end && *quote != '"') quote++;
    if (!begins(quote, "\", line ")) return false;
    const char *function = strstr(quote, ", in ");
    frame->file = fid_arena_copy_text(&emitter->arena, file, (size_t)(quote - file));
    frame->line = (int32_t)strtol(quote + 8, NULL, 10);
    frame->function = function && function < end ? fid_arena_copy_text(&emitter->arena, function + 5, (size_t)(end - function - 5)) : "";
    frame->context = "";
    return true;
}

const fid_pte_out_frame *fidc_emit_frames(fidc_emitter *emitter, const char *trace, size_t *out_count) {
    fidc_array frames = {.item_size = sizeof(fid_pte_out_frame)};
    fid_pte_out_frame frame = {0}, *last = NULL;
    for (const char *at = trace ? trace : ""; *at;) {
        const char *line = skip_blanks(at);
        size_t length = line_length(line);
        if (read_frame(emitter, line, &frame)) {
            last = fidc_array_push(emitter, &frames);
            if (last) *last = frame;
        } else if (last && length && !*last->context) {
            last->context = fid_arena_copy_text(&emitter->arena, line, length);
            if (!last->context) last->context = "";
        }
        at = line + length + (line[length] == '\n');
    }
    *out_count = frames.count;
    return frames.items;
}
