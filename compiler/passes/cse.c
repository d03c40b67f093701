/* Removes nodes that compute what an earlier node of the same graph computed with the same arguments. */
#include "compiler/passes/passes.h"

/* ---- Hash and equality of calls ---- */

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static uint64_t hash_arg(uint64_t hash, const fidc_arg *arg) {
    hash = mix(hash, arg->kind);
    switch (arg->kind) {
    case FIDC_ARG_NONE: return hash;
    case FIDC_ARG_VALUE: return mix(hash, (uintptr_t)fidc_value_of(arg));
    case FIDC_ARG_DOUBLE: {
        uint64_t bits;
        memcpy(&bits, &arg->as.number, sizeof bits);
        return mix(hash, bits);
    }
    case FIDC_ARG_STRING:
    case FIDC_ARG_DEVICE: return mix(hash, strlen(arg->as.text));
    case FIDC_ARG_LIST:
        for (uint32_t i = 0; i < arg->as.list.count; i++) hash = hash_arg(hash, &arg->as.list.items[i]);
        return mix(hash, arg->as.list.count);
    default: return mix(hash, (uint64_t)arg->as.integer);
    }
}

static uint64_t hash_node(const fidc_node *node) {
    uint64_t hash = mix(0, (uintptr_t)node->op);
    for (uint32_t i = 0; i < node->arg_count; i++) hash = hash_arg(hash, &node->args[i]);
    return hash;
}

static bool same_args(const fidc_arg *a, const fidc_arg *b, uint32_t count);

static bool same_arg(const fidc_arg *a, const fidc_arg *b) {
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case FIDC_ARG_NONE: return true;
    case FIDC_ARG_VALUE: return fidc_value_of(a) == fidc_value_of(b);
    case FIDC_ARG_DOUBLE: return memcmp(&a->as.number, &b->as.number, sizeof a->as.number) == 0; /* 0.0 is not -0.0 here */
    case FIDC_ARG_STRING:
    case FIDC_ARG_DEVICE: return strcmp(a->as.text, b->as.text) == 0;
    case FIDC_ARG_LIST: return a->as.list.count == b->as.list.count && same_args(a->as.list.items, b->as.list.items, a->as.list.count);
    default: return a->as.integer == b->as.integer;
    }
}

static bool same_args(const fidc_arg *a, const fidc_arg *b, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (!same_arg(&a[i], &b[i])) return false;
    }
    return true;
}

/* Layout passes give outputs dim orders that the arguments do not show. */
static bool same_outputs(const fidc_node *a, const fidc_node *b) {
    if (a->output_count != b->output_count) return false;
    for (uint32_t i = 0; i < a->output_count; i++) {
        const fidc_value *x = a->outputs[i], *y = b->outputs[i];
        if (x->type != y->type || x->dtype != y->dtype || x->rank != y->rank) return false;
        if (memcmp(x->dim_order, y->dim_order, x->rank) != 0) return false;
    }
    return true;
}

static bool same_call(const fidc_node *a, const fidc_node *b) {
    return a->op == b->op && a->delegate == b->delegate && a->arg_count == b->arg_count && same_args(a->args, b->args, a->arg_count) && same_outputs(a, b);
}

/* Each draw of a random operator is its own; effects happen as often as they are written; control flow is not compared. */
static bool can_share(const fidc_node *node) {
    return node->op->kind != FID_OP_RANDOM && node->op->kind != FID_OP_EFFECT && !node->graph_count && !node->in_place;
}

/* Nodes between two equal calls from which on keeping the result is not worth its memory, if it is larger than what it is made of:
 * a mask as numbers, which every layer makes of the same bits. */
#define FAR 32

/* A pointwise result of a wider dtype than everything that it is computed of, and of as many elements. */
static bool widens(const fidc_node *node) {
    const fidc_value *out = node->op->kind == FID_OP_POINTWISE && node->output_count == 1 ? node->outputs[0] : NULL;
    bool same_count = false;
    for (uint32_t i = 0; out && i < node->arg_count; i++) {
        const fidc_value *in = fidc_value_of(&node->args[i]);
        if (!in || in->type != FIDC_TENSOR || in->origin == FIDC_FROM_CONSTANT) continue;
        if (fid_dtype_size(in->dtype) >= fid_dtype_size(out->dtype)) return false;
        same_count = same_count || fidc_same_sizes(in, out);
    }
    return same_count;
}

/* ---- The table of calls seen ---- */

typedef struct seen_call { fidc_node *node; size_t position; } seen_call;

typedef struct seen_calls {
    seen_call *slots; /* open addressing; a power of two of them, at least half empty */
    size_t capacity;
} seen_calls;

/* The earlier equal node that is worth keeping, or NULL after remembering this one. */
static fidc_node *find_or_add(seen_calls *seen, fidc_node *node, size_t position) {
    size_t at = (size_t)hash_node(node) & (seen->capacity - 1);
    for (; seen->slots[at].node; at = (at + 1) & (seen->capacity - 1)) {
        if (!same_call(seen->slots[at].node, node)) continue;
        if (position - seen->slots[at].position < FAR || !widens(node)) return seen->slots[at].node;
        break;
    }
    seen->slots[at] = (seen_call){node, position};
    return NULL;
}

static fid_status share_graph(fidc_graph *graph) {
    size_t count = 0;
    for (const fidc_node *node = graph->first; node; node = node->next) count++;
    seen_calls seen = {.capacity = 16};
    while (seen.capacity < 2 * count) seen.capacity *= 2;
    fid_allocator allocator = graph->program->allocator;
    seen.slots = fid_allocate(allocator, seen.capacity * sizeof *seen.slots);
    if (!seen.slots) return fid_fail(graph->program->sink, FID_OUT_OF_MEMORY, "no memory to compare %zu nodes", count);
    memset(seen.slots, 0, seen.capacity * sizeof *seen.slots);
    fid_status status = FID_OK;
    size_t position = 0;
    for (fidc_node *node = graph->first, *next; node; node = next, position++) {
        next = node->next;
        for (uint32_t i = 0; i < node->graph_count && status == FID_OK; i++) status = share_graph(node->graphs[i]);
        fidc_node *earlier = can_share(node) ? find_or_add(&seen, node, position) : NULL;
        if (earlier) fidc_node_replace(node, earlier);
    }
    fid_free(allocator, seen.slots, seen.capacity * sizeof *seen.slots);
    fidc_graph_clean(graph);
    return status;
}

fid_status fidc_share(fidc_program *program) {
    for (uint32_t i = 0; i < program->method_count; i++) FID_TRY(share_graph(program->methods[i]));
    return FID_OK;
}
