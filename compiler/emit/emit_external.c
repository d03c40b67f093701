/* Weights outside the program: which go to which data file, under which key. */
#include <fnmatch.h>

#include "compiler/emit/emit_internal.h"
#include "format/ptd_write.h"

fid_status fidc_emit_externals_begin(fidc_emitter *emitter) {
    size_t count = emitter->options->data_count;
    emitter->externals = fidc_emit_allocate(emitter, count, sizeof *emitter->externals);
    for (size_t i = 0; emitter->externals && i < count; i++) {
        emitter->externals[i].entries.item_size = sizeof(fid_named_data);
        fidc_pool_init(&emitter->externals[i].pool);
    }
    return emitter->status;
}

/* Patterns are for the weight's name in the model, whatever was made of it. */
static const fidc_external_rule *rule_for(fidc_emitter *emitter, const char *key) {
    const char *name = fid_arena_copy_text(&emitter->arena, key, strcspn(key, ":"));
    if (!name) return fidc_emit_fail(emitter, FID_OUT_OF_MEMORY);
    for (size_t i = 0; i < emitter->options->external_count; i++) {
        if (fnmatch(emitter->options->externals[i].pattern, name, 0) == 0) return &emitter->options->externals[i];
    }
    return NULL;
}

/* ---- Keys ---- */

static bool same_entry(const fid_named_data *a, const fid_named_data *b) {
    return a->bytes.data == b->bytes.data && a->bytes.size == b->bytes.size && a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->sizes, b->sizes, a->rank * sizeof *a->sizes) == 0 && memcmp(a->dim_order, b->dim_order, a->rank) == 0;
}

static const fid_named_data *find_key(const fidc_external_file *file, const char *key) {
    const fid_named_data *entries = file->entries.items;
    for (size_t i = 0; i < file->entries.count; i++) {
        if (strcmp(entries[i].key, key) == 0) return &entries[i];
    }
    return NULL;
}

/* The weight's own key. Where another weight has it already (methods exported from different models), the method's name goes before
 * it, and then a number behind. */
static const char *choose_key(fidc_emitter *emitter, const fidc_external_file *file, const fidc_graph *graph, const char *key,
                              const fid_named_data *entry) {
    fidc_program *program = graph->program;
    const char *tried = key;
    for (unsigned n = 0;; n++) {
        const fid_named_data *taken = find_key(file, tried);
        if (!taken || same_entry(taken, entry)) return tried;
        tried = n ? fidc_text_format(program, "%s/%s#%u", graph->name, key, n + 1) : fidc_text_format(program, "%s/%s", graph->name, key);
        if (!tried) return fidc_emit_fail(emitter, FID_OUT_OF_MEMORY);
    }
}

/* ---- Entries ---- */

static void add_entry(fidc_emitter *emitter, fidc_external_file *file, const fidc_graph *graph, const char *key, fid_named_data *entry,
                      const void *data) {
    uint32_t place = fidc_pool_add(emitter, &file->pool, data, entry->bytes.size);
    if (!place) return;
    entry->bytes.data = fidc_pool_data(&file->pool, place);
    entry->key = choose_key(emitter, file, graph, key, entry);
    if (!entry->key || find_key(file, entry->key)) return;
    fid_named_data *made = fidc_array_push(emitter, &file->entries);
    if (made) *made = *entry;
}

bool fidc_emit_external(fidc_emitter *emitter, const fidc_graph *graph, const fidc_constant *constant, const char *how,
                        fid_pte_out_tensor *tensor) {
    if (!constant->key || !emitter->options->external_count) return false;
    const char *key = how ? fidc_text_format(graph->program, "%s:%s", constant->key, how) : constant->key;
    if (!key) return fidc_emit_fail(emitter, FID_OUT_OF_MEMORY) == NULL;
    const fidc_external_rule *rule = rule_for(emitter, key);
    if (!rule) return false;
    fid_named_data entry = {.is_tensor = true, .dtype = tensor->dtype, .rank = tensor->rank, .sizes = tensor->sizes, .dim_order = tensor->dim_order,
                            .bytes.size = fid_dtype_size((fid_dtype)tensor->dtype)};
    for (size_t i = 0; i < tensor->rank; i++) entry.bytes.size *= (size_t)tensor->sizes[i];
    add_entry(emitter, &emitter->externals[rule->file], graph, key, &entry, constant->data);
    tensor->name = entry.key;
    tensor->external = 1;
    return true;
}

bool fidc_emit_external_named(fidc_emitter *emitter, const fidc_named *named) {
    const fidc_external_rule *rule = emitter->options->external_count ? rule_for(emitter, named->key) : NULL;
    if (!rule) return false;
    fidc_external_file *file = &emitter->externals[rule->file];
    const fid_named_data *taken = find_key(file, named->key);
    if (taken) return taken->bytes.size == named->bytes && memcmp(taken->bytes.data, named->data, named->bytes) == 0; /* a tensor's, too: its bytes serve both */
    uint32_t place = fidc_pool_add(emitter, &file->pool, named->data, named->bytes);
    fid_named_data *made = place ? fidc_array_push(emitter, &file->entries) : NULL;
    if (made) *made = (fid_named_data){.key = named->key, .bytes = fid_span_of(fidc_pool_data(&file->pool, place), named->bytes)};
    return true;
}

fid_status fidc_emit_externals_write(fidc_emitter *emitter) {
    for (size_t i = 0; i < emitter->options->data_count; i++) {
        const fidc_writer *writer = &emitter->options->data_writers[i];
        const fid_pte_sink destination = {writer->write, writer->self};
        const fidc_array *entries = &emitter->externals[i].entries;
        FID_TRY(fid_ptd_write(emitter->allocator, emitter->sink, entries->items, entries->count, &destination, NULL));
    }
    return FID_OK;
}
