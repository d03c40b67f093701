/* Constant folding: what depends on constants only is computed here, by the reference kernels, and stored.
 *
 * A fold may make a program larger (arange of a million), so a result above FOLD_SMALL bytes is kept only if it is not much larger
 * than what it was made from, and a large constant that others read is not stored a second time in another order. */
#include "compiler/ir/interpret.h"
#include "compiler/passes/passes.h"

#define FOLD_SMALL ((size_t)1 << 20)
#define FOLD_GROWTH 4

/* Nodes that ran carry this mark in `scratch`. */
static char folded_mark;
/* Values that something outside the fold reads, and that are therefore stored; what only folded nodes read goes with them. */
static char needed_mark;

static bool is_folded(const fidc_value *value) {
    return value->origin == FIDC_FROM_NODE && value->producer->scratch == &folded_mark;
}

static size_t value_bytes(const fidc_value *value) {
    size_t bytes = fid_dtype_size((fid_dtype)value->dtype);
    for (size_t i = 0; i < value->rank; i++) {
        int64_t size = fidc_size(value, i);
        if (size < 0 || !fid_mul_size(bytes, (size_t)size, &bytes)) return SIZE_MAX;
    }
    return bytes;
}

/* ---- What may be folded ---- */

typedef struct fold_inputs {
    size_t bytes;        /* of all constant inputs */
    bool shares_large;   /* a large constant among them has other readers, so it stays in the program in any case */
} fold_inputs;

static bool arg_is_known(const fidc_arg *arg, fold_inputs *inputs) {
    if (arg->kind == FIDC_ARG_LIST) {
        for (uint32_t i = 0; i < arg->as.list.count; i++) {
            if (!arg_is_known(&arg->as.list.items[i], inputs)) return false;
        }
        return true;
    }
    const fidc_value *value = fidc_value_of(arg);
    if (!value || value->type == FIDC_NOTHING) return true;
    if (is_folded(value)) {
        if (value->type == FIDC_TENSOR) inputs->bytes += value_bytes(value);
        return true;
    }
    if (!fidc_is_constant(value) || value->type != FIDC_TENSOR || !value->constant->data) return false;
    inputs->bytes += value_bytes(value);
    inputs->shares_large = inputs->shares_large || (value->uses > 1 && value_bytes(value) > FOLD_SMALL);
    return true;
}

static bool outputs_fit(const fidc_node *node, const fold_inputs *inputs) {
    for (uint32_t i = 0; i < node->output_count; i++) {
        const fidc_value *out = node->outputs[i];
        if (out->type != FIDC_TENSOR) continue;
        size_t bytes = value_bytes(out);
        if (bytes == SIZE_MAX) return false;
        if (bytes > FOLD_SMALL && (bytes / FOLD_GROWTH > inputs->bytes || inputs->shares_large)) return false;
    }
    return true;
}

static bool can_fold(const fidc_node *node) {
    if (node->graph_count || node->in_place || !node->op->reference || !node->output_count) return false;
    if (node->op->kind == FID_OP_RANDOM || node->op->kind == FID_OP_EFFECT) return false;
    fold_inputs inputs = {0};
    for (uint32_t i = 0; i < node->arg_count; i++) {
        if (!arg_is_known(&node->args[i], &inputs)) return false;
    }
    return outputs_fit(node, &inputs);
}

/* ---- Results ---- */

/* The first weight among the arguments; NULL: none. */
static const fidc_constant *weight_in(const fidc_arg *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const fidc_value *value = fidc_value_of(&args[i]);
        const fidc_constant *found = value && value->origin == FIDC_FROM_CONSTANT && value->constant->key ? value->constant : NULL;
        if (!found && args[i].kind == FIDC_ARG_LIST) found = weight_in(args[i].as.list.items, args[i].as.list.count);
        if (!found && value && value->origin == FIDC_FROM_NODE) found = weight_in(value->producer->args, value->producer->arg_count);
        if (found) return found;
    }
    return NULL;
}

static fidc_value *name_after_weight(fidc_value *constant, const fidc_node *node) {
    const fidc_constant *weight = weight_in(node->args, node->arg_count);
    const char *colons = strstr(node->op->name, "::");
    return weight ? fidc_constant_derive(node->graph->program, constant, weight, colons ? colons + 2 : node->op->name) : constant;
}

static fid_status store_tensor(fidc_graph *graph, fidc_value *out, const fid_tensor *tensor) {
    size_t bytes = fid_tensor_bytes(tensor);
    void *data = fid_arena_allocate(&graph->program->arena, bytes, FID_ALLOCATION_ALIGNMENT);
    if (!data) return fid_fail(graph->program->sink, FID_OUT_OF_MEMORY, "no memory for a constant of %zu bytes", bytes);
    fidc_tensor_to_logical(tensor, data);
    fidc_value *constant = fidc_value_constant(graph, NULL, (fid_dtype)tensor->dtype, tensor->sizes, tensor->rank, data, bytes);
    if (constant) constant = name_after_weight(constant, out->producer);
    if (!constant) return FID_OUT_OF_MEMORY;
    fidc_value_replace(out, constant);
    return FID_OK;
}

static fid_status store_number(fidc_graph *graph, fidc_value *out, const fid_value *number) {
    if (out->type == FIDC_INT) out->number = fidc_expr_const(graph->program, fid_value_int(number));
    return FID_OK;
}

/* A number that is known stands in the argument itself. */
static void inline_number(fidc_interpreter *interpreter, fidc_arg *arg) {
    if (arg->kind == FIDC_ARG_LIST) {
        for (uint32_t i = 0; i < arg->as.list.count; i++) inline_number(interpreter, &arg->as.list.items[i]);
    }
    const fidc_value *value = fidc_value_of(arg);
    if (!value || value->type == FIDC_TENSOR || value->type == FIDC_NOTHING || value->origin != FIDC_FROM_NODE) return;
    if (value->type == FIDC_INT && value->number && fidc_expr_is_const(value->number)) {
        *arg = fidc_i(value->number->constant);
    } else if (is_folded(value)) {
        const fid_value *number = fidc_interpreter_value(interpreter, value);
        if (number->tag == FID_TAG_DOUBLE) *arg = fidc_d(number->as.number);
        else if (number->tag == FID_TAG_BOOL) *arg = fidc_b(number->as.boolean);
        else if (number->tag == FID_TAG_INT) *arg = fidc_i(number->as.integer);
    }
}

static void mark_args(const fidc_arg *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (args[i].kind == FIDC_ARG_LIST) mark_args(args[i].as.list.items, args[i].as.list.count);
        fidc_value *value = fidc_value_of(&args[i]);
        if (value) value->scratch = &needed_mark;
    }
}

static void mark_readers(const fidc_graph *graph) {
    for (const fidc_node *node = graph->first; node; node = node->next) {
        if (node->scratch != &folded_mark) mark_args(node->args, node->arg_count);
        for (uint32_t i = 0; i < node->graph_count; i++) mark_readers(node->graphs[i]);
    }
    mark_args(graph->outputs, graph->output_count);
    for (uint32_t i = 0; i < graph->mutation_count; i++) fidc_resolve(graph->mutations[i].value)->scratch = &needed_mark;
}

static void mark_needed(const fidc_graph *graph) {
    for (uint32_t i = 0; i < graph->value_count; i++) graph->values[i]->scratch = NULL;
    mark_readers(graph);
}

static fid_status store_output(fidc_graph *graph, fidc_interpreter *interpreter, fidc_value *out) {
    const fid_value *result = fidc_interpreter_value(interpreter, out);
    fid_status status = out->scratch != &needed_mark ? FID_OK
                        : result->tag == FID_TAG_TENSOR ? store_tensor(graph, out, result->as.tensor) : store_number(graph, out, result);
    fidc_interpreter_forget(interpreter, out); /* at once: transposed weights of a large model would be there twice */
    return status;
}

static fid_status store_results(fidc_graph *graph, fidc_interpreter *interpreter) {
    for (fidc_node *node = graph->first; node; node = node->next) {
        for (uint32_t i = 0; i < node->arg_count; i++) inline_number(interpreter, &node->args[i]);
    }
    for (uint32_t i = 0; i < graph->output_count; i++) inline_number(interpreter, &graph->outputs[i]);
    for (fidc_node *node = graph->first; node; node = node->next) {
        if (node->scratch != &folded_mark) continue;
        for (uint32_t i = 0; i < node->output_count; i++) FID_TRY(store_output(graph, interpreter, node->outputs[i]));
    }
    return FID_OK;
}

/* ---- Equal constants ---- */

static bool same_constant(const fidc_value *a, const fidc_value *b) {
    if (a->dtype != b->dtype || a->rank != b->rank || a->constant->bytes != b->constant->bytes) return false;
    if (!fidc_same_sizes(a, b) || memcmp(a->dim_order, b->dim_order, a->rank) != 0) return false;
    return a->constant->data == b->constant->data || memcmp(a->constant->data, b->constant->data, a->constant->bytes) == 0;
}

/* Named weights stay as they are: other programs and tools know them by name. */
static bool may_merge(const fidc_program *program, const fidc_value *value) {
    if (program->keep_keys && value->origin == FIDC_FROM_CONSTANT && value->constant->key) return false;
    return fidc_is_constant(value) && !value->forward && value->type == FIDC_TENSOR && !value->constant->is_parameter &&
           value->constant->data && value->constant->bytes <= FOLD_SMALL;
}

static uint64_t hash_constant(const fidc_value *value) {
    const uint8_t *bytes = value->constant->data;
    uint64_t hash = UINT64_C(14695981039346656037) ^ value->dtype;
    for (size_t i = 0; i < value->constant->bytes; i++) hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    return hash ^ (hash >> 32);
}

static fid_status merge_constants(fidc_graph *graph) {
    size_t capacity = 16;
    while (capacity < 2 * (size_t)graph->value_count) capacity *= 2;
    fid_allocator allocator = graph->program->allocator;
    fidc_value **slots = fid_allocate(allocator, capacity * sizeof *slots);
    if (!slots) return fid_fail(graph->program->sink, FID_OUT_OF_MEMORY, "no memory to compare constants");
    memset(slots, 0, capacity * sizeof *slots);
    for (uint32_t i = 0; i < graph->value_count; i++) {
        fidc_value *value = graph->values[i];
        if (!may_merge(graph->program, value)) continue;
        size_t at = (size_t)hash_constant(value) & (capacity - 1);
        while (slots[at] && !same_constant(slots[at], value)) at = (at + 1) & (capacity - 1);
        if (slots[at]) fidc_value_replace(value, slots[at]);
        else slots[at] = value;
    }
    fid_free(allocator, slots, capacity * sizeof *slots);
    return FID_OK;
}

/* ---- The pass ---- */

static fid_status fold_graph(fidc_graph *graph);

/* A node that its kernel refuses stays: the fault, if it is one, is told where it would run. */
static fid_status run_known(fidc_graph *graph, fidc_interpreter *interpreter) {
    for (fidc_node *node = graph->first; node; node = node->next) {
        node->scratch = NULL;
        for (uint32_t i = 0; i < node->graph_count; i++) FID_TRY(fold_graph(node->graphs[i]));
        if (can_fold(node) && fidc_interpreter_run_node(interpreter, node) == FID_OK) node->scratch = &folded_mark;
    }
    return FID_OK;
}

static fid_status fold_graph(fidc_graph *graph) {
    static const fid_sink deaf = {0};
    fidc_interpreter_options options = {.sink = &deaf, .fast_moves = true};
    fidc_interpreter *interpreter;
    fidc_graph_clean(graph);
    FID_TRY(fidc_interpreter_create(graph, &options, &interpreter));
    fid_status status = run_known(graph, interpreter);
    if (status == FID_OK) mark_needed(graph);
    if (status == FID_OK) status = store_results(graph, interpreter);
    fidc_interpreter_destroy(interpreter);
    if (status == FID_OK) status = merge_constants(graph);
    fidc_graph_clean(graph);
    return status;
}

fid_status fidc_fold(fidc_program *program) {
    FID_TRY(fidc_share(program)); /* equal calls are computed once: an unrolled layer transposes its weight at every step */
    for (uint32_t i = 0; i < program->method_count; i++) FID_TRY(fold_graph(program->methods[i]));
    return FID_OK;
}
