/* The table that tells where instructions come from: for each the module of the model and the line of its source. It lies in a segment of its
 * own, as named data FIDC_DEBUG_KEY, which no runtime touches; `fidibus profile` reads it. docs/formats.md describes it. */
#include <jansson.h>
#include <stdlib.h>

#include "compiler/emit/emit_internal.h"
#include "compiler/ir/problem.h"

void fidc_debug_note(fidc_method_emitter *m, const fidc_node *node) {
    while (m->origins.count < m->instructions.count) {
        const fidc_node **origin = fidc_array_push(m->emitter, &m->origins);
        if (!origin) return;
        *origin = m->origins.count == m->instructions.count ? node : NULL;
    }
}

/* The number of a text, each stored once; -1: none. */
static json_t *text_number(json_t *texts, json_t *numbers, const char *text, size_t length) {
    char key[2048];
    if (!text || !length || length >= sizeof key) return json_integer(-1);
    memcpy(key, text, length);
    key[length] = 0;
    json_t *known = json_object_get(numbers, key);
    if (known) return json_incref(known);
    json_t *item = json_string(key), *number = json_integer((json_int_t)json_array_size(texts));
    if (!item) { /* no UTF-8 */
        json_decref(number);
        return json_integer(-1);
    }
    json_array_append_new(texts, item);
    json_object_set(numbers, key, number);
    return number;
}

/* [instruction, module, file, line, function, source line] */
static json_t *call_entry(size_t instruction, const fidc_node *node, json_t *texts, json_t *numbers) {
    fidc_place place;
    fidc_place_of(node, &place);
    json_t *entry = json_array();
    json_array_append_new(entry, json_integer((json_int_t)instruction));
    json_array_append_new(entry, text_number(texts, numbers, node->module, node->module ? strlen(node->module) : 0));
    json_array_append_new(entry, text_number(texts, numbers, place.file, place.file_length));
    json_array_append_new(entry, json_integer(place.line));
    json_array_append_new(entry, text_number(texts, numbers, place.function, place.function_length));
    json_array_append_new(entry, text_number(texts, numbers, place.code, place.code_length));
    return entry;
}

void fidc_debug_method(fidc_method_emitter *m) {
    const fidc_node *const *origins = m->origins.items;
    json_t *calls = json_array(), *texts = json_array(), *numbers = json_object();
    for (size_t i = 0; i < m->origins.count; i++) {
        if (origins[i] && (origins[i]->source || origins[i]->module)) json_array_append_new(calls, call_entry(i, origins[i], texts, numbers));
    }
    json_decref(numbers);
    if (!json_array_size(calls)) {
        json_decref(calls);
        json_decref(texts);
        return;
    }
    json_t **all = (json_t **)&m->emitter->debug;
    if (!*all) *all = json_object();
    json_object_set_new(*all, m->graph->name, json_pack("{so, so}", "texts", texts, "calls", calls));
}

fid_status fidc_debug_finish(fidc_emitter *emitter, fid_span *out_table) {
    *out_table = (fid_span){NULL, 0};
    if (!emitter->debug) return FID_OK;
    json_t *root = json_pack("{si, so}", "version", 1, "methods", (json_t *)emitter->debug);
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    size_t size = text ? strlen(text) : 0;
    char *kept = text ? fid_arena_copy_text(&emitter->arena, text, size) : NULL;
    free(text);
    json_decref(root);
    emitter->debug = NULL;
    if (!kept) return fid_fail(emitter->sink, FID_OUT_OF_MEMORY, "no memory for the table of source lines");
    *out_table = fid_span_of(kept, size);
    return FID_OK;
}
