/* Named data of a program: what delegates read by key. */
#include "compiler/ir/ir.h"

static fidc_named *find(const fidc_program *program, const char *key) {
    for (uint32_t i = 0; i < program->named_count; i++)
        if (strcmp(program->named[i].key, key) == 0) return &program->named[i];
    return NULL;
}

static fidc_named *push(fidc_program *program) {
    if (program->named_count == program->named_capacity) {
        uint32_t capacity = program->named_capacity ? 2 * program->named_capacity : 64;
        fidc_named *named = fidc_allocate(program, capacity * sizeof *named);
        if (!named) return NULL;
        if (program->named_count) memcpy(named, program->named, program->named_count * sizeof *named);
        program->named = named;
        program->named_capacity = capacity;
    }
    return &program->named[program->named_count++];
}

static bool same(const fidc_named *named, const void *data, size_t bytes) {
    return named->bytes == bytes && (named->data == data || memcmp(named->data, data, bytes) == 0);
}

const char *fidc_named_add(fidc_program *program, const char *key, const void *data, size_t bytes) {
    const char *tried = key;
    for (unsigned n = 2; tried; n++) {
        const fidc_named *taken = find(program, tried);
        if (taken && same(taken, data, bytes)) return taken->key;
        if (!taken) break;
        tried = fidc_text_format(program, "%s#%u", key, n);
    }
    const char *kept = tried ? fidc_text(program, tried) : NULL;
    fidc_named *made = kept ? push(program) : NULL;
    if (!made) return NULL;
    *made = (fidc_named){kept, data, bytes};
    return kept;
}
