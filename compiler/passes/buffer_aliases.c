/* Buffers that are parts of one tensor: exported graphs know each by itself, so that what is written to the one would not show in the
 * other, as it does in the user's model. Such a model is refused. */
#include "compiler/passes/passes.h"

static bool overlap(const fidc_constant *a, const fidc_constant *b) {
    return a->storage && a->storage == b->storage && a->storage_begin < b->storage_end && b->storage_begin < a->storage_end;
}

static const fidc_constant *alias_of(const fidc_graph *graph, const fidc_value *buffer) {
    for (uint32_t i = 0; i < graph->value_count; i++) {
        const fidc_value *other = graph->values[i];
        if (other == buffer || other->forward || other->origin != FIDC_FROM_CONSTANT || !other->uses) continue;
        if (overlap(buffer->constant, other->constant)) return other->constant;
    }
    return NULL;
}

fid_status fidc_refuse_aliases(fidc_program *program) {
    for (uint32_t m = 0; m < program->method_count; m++) {
        fidc_graph *graph = program->methods[m];
        fidc_graph_clean(graph);
        for (uint32_t i = 0; i < graph->mutation_count; i++) {
            const fidc_value *buffer = graph->mutations[i].target;
            const fidc_constant *other = buffer->origin == FIDC_FROM_CONSTANT ? alias_of(graph, buffer) : NULL;
            if (!other) continue;
            return fid_fail(program->sink, FID_NOT_SUPPORTED,
                            "method %s writes the buffer \"%s\", which shares its memory with \"%s\" in the model; the export does not say how they "
                            "follow each other: give each its own tensor (.clone()), or make the one of the other in forward()",
                            graph->name, buffer->constant->name, other->name);
        }
    }
    return FID_OK;
}
