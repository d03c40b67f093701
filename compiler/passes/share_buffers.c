/* Mutable buffers of one name become one buffer of all methods: a cache that one method fills and another reads. Each gets its place
 * in planned memory 2, the same in every method, as upstream lays shared buffers out. A method that only reads such a buffer must
 * not take it for a constant. */
#include "compiler/passes/passes.h"

#define ALIGNMENT 64

/* A value of the method that is the buffer of that name; NULL: it has none. */
static fidc_value *buffer_of(const fidc_graph *graph, const char *key) {
    for (uint32_t i = 0; i < graph->value_count; i++) {
        fidc_value *value = graph->values[i];
        if (value->origin == FIDC_FROM_CONSTANT && !value->forward && value->constant->key && strcmp(value->constant->key, key) == 0) return value;
    }
    return NULL;
}

static bool same_content(const fidc_value *a, const fidc_value *b) {
    const fidc_constant *x = a->constant, *y = b->constant;
    return x->bytes == y->bytes && (x->data == y->data || memcmp(x->data, y->data, x->bytes) == 0);
}

static fid_status check_same(const fidc_program *program, const fidc_graph *first, const fidc_value *a, const fidc_graph *second, const fidc_value *b) {
    bool same = a->dtype == b->dtype && fidc_same_sizes(a, b) && memcmp(a->dim_order, b->dim_order, a->rank) == 0;
    if (same && same_content(a, b)) return FID_OK;
    return fid_fail(program->sink, FID_INVALID_ARGUMENT,
                    "methods %s and %s cannot share the buffer \"%s\": its %s differ; export both from one model, or leave --share-buffers out",
                    first->name, second->name, a->constant->name, same ? "initial values" : "dtypes, shapes or layouts");
}

static fid_status share(fidc_program *program, const fidc_graph *owner, const fidc_value *buffer) {
    uint64_t offset = program->shared_bytes;
    program->shared_bytes = (offset + buffer->constant->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    for (uint32_t i = 0; i < program->method_count; i++) {
        fidc_graph *graph = program->methods[i];
        fidc_value *value = buffer_of(graph, buffer->constant->key);
        if (!value) continue;
        FID_TRY(check_same(program, owner, buffer, graph, value));
        fidc_constant *constant = fidc_allocate(program, sizeof *constant); /* descriptions are shared by reference */
        if (!constant) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory to share buffers");
        *constant = *value->constant;
        constant->is_mutable = constant->is_shared = true;
        constant->shared_offset = offset;
        value->constant = constant;
    }
    return FID_OK;
}

fid_status fidc_share_buffers(fidc_program *program) {
    if (!program->share_buffers) return FID_OK;
    for (uint32_t i = 0; i < program->method_count; i++) {
        const fidc_graph *graph = program->methods[i];
        for (uint32_t k = 0; k < graph->mutation_count; k++) {
            const fidc_value *target = graph->mutations[k].target;
            if (target->origin != FIDC_FROM_CONSTANT || !target->constant->key || target->constant->is_shared) continue;
            FID_TRY(share(program, graph, target));
        }
    }
    return FID_OK;
}
