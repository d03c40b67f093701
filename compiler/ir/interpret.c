/* The interpreter: boxes that hold values, calls built from nodes, and the walk over a graph. Control flow is in interpret_control.c. */
#include "compiler/ir/interpret_internal.h"

/* ---- Boxes ---- */

static void box_drop(fidc_interpreter *self, fidc_box *box) {
    fid_free(self->allocator, box->owned, box->owned_bytes);
    *box = (fidc_box){.readers = box->readers};
}

static void *box_own(fidc_interpreter *self, fidc_box *box, size_t bytes) {
    fid_free(self->allocator, box->owned, box->owned_bytes);
    box->owned = fid_allocate(self->allocator, bytes);
    box->owned_bytes = bytes;
    return box->owned;
}

/* Makes the box a tensor of that meta without data. */
static void box_describe(fidc_box *box, const fid_meta *meta) {
    memcpy(box->sizes, meta->sizes, sizeof box->sizes);
    memcpy(box->dim_order, meta->dim_order, sizeof box->dim_order);
    box->tensor = (fid_tensor){.sizes = box->sizes, .strides = box->strides, .dim_order = box->dim_order, .rank = meta->rank,
                               .dtype = meta->dtype, .dynamism = FID_DYNAMIC_UNBOUND};
    fid_tensor_update_strides(&box->tensor);
    box->value = fid_tensor_value(&box->tensor);
}

fid_status fidc_box_allocate(fidc_interpreter *self, fidc_box *box, const fid_meta *meta) {
    box_describe(box, meta);
    size_t count, bytes;
    if (!fid_mul_sizes(meta->sizes, meta->rank, &count) || !fid_mul_size(count, fid_dtype_size(meta->dtype), &bytes)) {
        return fid_fail(self->sink, FID_INVALID_ARGUMENT, "a tensor's sizes are negative or too large");
    }
    box->tensor.data = box_own(self, box, bytes);
    if (!box->tensor.data) return fid_fail(self->sink, FID_OUT_OF_MEMORY, "no memory for a tensor of %zu bytes", bytes);
    box->tensor.capacity = bytes;
    return FID_OK;
}

fid_status fidc_box_set(fidc_interpreter *self, fidc_box *box, const fid_value *value) {
    if (value->tag != FID_TAG_TENSOR) {
        box_drop(self, box);
        box->value = *value;
        return FID_OK;
    }
    const fid_tensor *source = value->as.tensor;
    fid_meta meta = fid_meta_of(source);
    void *old = box->owned;
    size_t old_bytes = box->owned_bytes;
    box->owned = NULL; /* `value` may live in this very box */
    fid_status status = fidc_box_allocate(self, box, &meta);
    if (status == FID_OK && fid_tensor_bytes(source)) memcpy(box->tensor.data, source->data, fid_tensor_bytes(source));
    fid_free(self->allocator, old, old_bytes);
    return status;
}

/* A constant is read in place; a mutable one is copied on first use. */
static fid_status box_constant(fidc_interpreter *self, fidc_box *box, const fidc_value *value) {
    fid_meta meta = {.rank = value->rank, .dtype = value->dtype};
    for (size_t i = 0; i < value->rank; i++) {
        meta.sizes[i] = fidc_expr_at(value->sizes[i], FIDC_AT_HINT);
        meta.dim_order[i] = (uint8_t)i; /* constants lie in logical order */
    }
    if (value->constant->is_mutable) {
        FID_TRY(fidc_box_allocate(self, box, &meta));
        size_t bytes = box->tensor.capacity < value->constant->bytes ? box->tensor.capacity : value->constant->bytes;
        memset(box->tensor.data, 0, box->tensor.capacity);
        if (value->constant->data) memcpy(box->tensor.data, value->constant->data, bytes);
        return FID_OK;
    }
    box_describe(box, &meta);
    box->tensor.data = (void *)(uintptr_t)value->constant->data;
    box->tensor.capacity = value->constant->bytes;
    box->tensor.flags = FID_TENSOR_CONSTANT;
    return FID_OK;
}

static bool owns(const fidc_interpreter *self, const fidc_value *value) {
    return value->id < self->box_count && self->graph->values[value->id] == value;
}

fid_status fidc_interpreter_box(fidc_interpreter *self, const fidc_value *value, fidc_box **out_box) {
    value = fidc_resolve((fidc_value *)(uintptr_t)value);
    while (self->outer && !owns(self, value)) self = self->outer;
    if (!owns(self, value)) return fid_fail(self->sink, FID_INVALID_PROGRAM, "value '%s' is not of this graph", value->name);
    fidc_box *box = &self->boxes[value->id];
    if (box->value.tag == FID_TAG_NONE && value->origin == FIDC_FROM_CONSTANT && value->type == FIDC_TENSOR) {
        FID_TRY(box_constant(self, box, value));
    }
    *out_box = box;
    return FID_OK;
}

const fid_value *fidc_interpreter_value(fidc_interpreter *self, const fidc_value *value) {
    static const fid_value none = {.tag = FID_TAG_NONE};
    fidc_box *box;
    return fidc_interpreter_box(self, value, &box) == FID_OK ? &box->value : &none;
}

void fidc_interpreter_forget(fidc_interpreter *self, const fidc_value *value) { box_drop(self, &self->boxes[value->id]); }

/* ---- Memory of one call ---- */

typedef struct call_memory {
    fid_scratch functions;
    fidc_interpreter *interpreter;
    struct call_block { struct call_block *next; size_t bytes; } *blocks;
} call_memory;

enum { BLOCK_HEADER = FID_ALLOCATION_ALIGNMENT }; /* keeps what follows aligned */

static void *call_allocate(fid_scratch *functions, size_t bytes) {
    call_memory *memory = (call_memory *)functions;
    if (!fid_add_size(bytes, BLOCK_HEADER, &bytes)) return NULL;
    struct call_block *block = fid_allocate(memory->interpreter->allocator, bytes);
    if (!block) return NULL;
    *block = (struct call_block){memory->blocks, bytes};
    memory->blocks = block;
    return (uint8_t *)block + BLOCK_HEADER;
}

static void call_memory_release(call_memory *memory) {
    while (memory->blocks) {
        struct call_block *block = memory->blocks;
        memory->blocks = block->next;
        fid_free(memory->interpreter->allocator, block, block->bytes);
    }
}

/* ---- Arguments ---- */

/* Storage of the values of one call, in an arena that is thrown away after it. */
typedef struct call_frame {
    fidc_interpreter *self;
    const fidc_node *node;
    fid_arena arena;
    fid_value **args;
    uint32_t count;
    fid_call call;
} call_frame;

static fid_status read_single(call_frame *frame, const fidc_arg *arg, fid_value *out) {
    switch (arg->kind) {
    case FIDC_ARG_VALUE: {
        fidc_box *box;
        FID_TRY(fidc_interpreter_box(frame->self, arg->as.value, &box));
        *out = box->value;
        return FID_OK;
    }
    case FIDC_ARG_INT:
    case FIDC_ARG_DTYPE:
    case FIDC_ARG_LAYOUT:
    case FIDC_ARG_MEMORY_FORMAT: *out = fid_int_value(arg->as.integer); return FID_OK;
    case FIDC_ARG_BOOL: *out = fid_bool_value(arg->as.integer != 0); return FID_OK;
    case FIDC_ARG_DOUBLE: *out = fid_double_value(arg->as.number); return FID_OK;
    case FIDC_ARG_STRING:
        *out = (fid_value){.tag = FID_TAG_STRING, .as.string = {arg->as.text, strlen(arg->as.text)}};
        return FID_OK;
    default: *out = fid_none_value(); return FID_OK; /* NONE, and a device, which nobody reads */
    }
}

static fid_status list_tensors(const fid_schema_arg *schema, const fid_value *items, size_t count, fid_arena *arena, fid_value *out) {
    fid_tensor **tensors = fid_arena_allocate_array(arena, count, sizeof *tensors);
    if (!tensors) return FID_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) tensors[i] = items[i].tag == FID_TAG_TENSOR ? items[i].as.tensor : NULL;
    out->tag = schema->optional_items ? FID_TAG_OPTIONAL_TENSOR_LIST : FID_TAG_TENSOR_LIST;
    out->as.tensors.items = tensors;
    out->as.tensors.count = count;
    return FID_OK;
}

static fid_status list_numbers(const fid_schema_arg *schema, const fid_value *items, size_t count, fid_arena *arena, fid_value *out) {
    int64_t *integers = fid_arena_allocate_array(arena, count, sizeof *integers);
    double *doubles = fid_arena_allocate_array(arena, count, sizeof *doubles);
    bool *booleans = fid_arena_allocate_array(arena, count, sizeof *booleans);
    if (!integers || !doubles || !booleans) return FID_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) {
        integers[i] = fid_value_int(&items[i]);
        doubles[i] = fid_value_double(&items[i]);
        booleans[i] = fid_value_bool(&items[i]);
    }
    if (schema->type == FID_SCHEMA_INT) *out = (fid_value){.tag = FID_TAG_INT_LIST, .as.ints = {integers, count}};
    else if (schema->type == FID_SCHEMA_BOOL) *out = (fid_value){.tag = FID_TAG_BOOL_LIST, .as.bools = {booleans, count}};
    else *out = (fid_value){.tag = FID_TAG_DOUBLE_LIST, .as.doubles = {doubles, count}};
    return FID_OK;
}

static fid_status read_list(call_frame *frame, const fid_schema_arg *schema, const fidc_arg *items, size_t count, fid_value *out) {
    fid_value *values = fid_arena_allocate_array(&frame->arena, count, sizeof *values);
    if (!values) return FID_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) FID_TRY(read_single(frame, &items[i], &values[i]));
    if (schema->type == FID_SCHEMA_TENSOR) return list_tensors(schema, values, count, &frame->arena, out);
    return list_numbers(schema, values, count, &frame->arena, out);
}

static fid_status read_args(call_frame *frame) {
    fid_schema_cursor cursor = fid_schema_begin(frame->node->op->schema);
    fid_schema_arg schema;
    for (uint32_t i = 0; fid_schema_next_arg(&cursor, &schema); i++) {
        fid_value *value = fid_arena_allocate(&frame->arena, sizeof *value, 16);
        if (!value) return FID_OUT_OF_MEMORY;
        frame->args[frame->count++] = value;
        const fidc_arg *arg = i < frame->node->arg_count ? &frame->node->args[i] : NULL;
        if (!arg) continue;
        if (arg->kind == FIDC_ARG_LIST) FID_TRY(read_list(frame, &schema, arg->as.list.items, arg->as.list.count, value));
        else if (schema.list && arg->kind != FIDC_ARG_NONE) FID_TRY(read_list(frame, &schema, arg, 1, value));
        else FID_TRY(read_single(frame, arg, value));
    }
    frame->call.output_index = frame->count;
    return FID_OK;
}

/* ---- Outputs ---- */

static fid_status describe_outputs(call_frame *frame, fid_meta *metas, size_t count) {
    const fidc_node *node = frame->node;
    if (node->op->shape) FID_TRY(node->op->shape(&frame->call, metas, count));
    for (size_t i = 0; i < count; i++) {
        const fidc_value *value = node->outputs[i];
        if (value->type != FIDC_TENSOR) continue;
        if (!node->op->shape) {
            metas[i].rank = value->rank;
            metas[i].dtype = value->dtype;
            for (size_t d = 0; d < value->rank; d++) metas[i].sizes[d] = fidc_expr_at(value->sizes[d], FIDC_AT_HIGH);
        }
        if (metas[i].rank != value->rank || metas[i].dtype != value->dtype) {
            return fid_fail(frame->self->sink, FID_INTERNAL, "%s: output %zu is %s of rank %u, the graph says %s of rank %u",
                            fidc_where(node), i, fid_dtype_name(metas[i].dtype), metas[i].rank, fid_dtype_name(value->dtype), value->rank);
        }
        memcpy(metas[i].dim_order, value->dim_order, sizeof metas[i].dim_order);
    }
    return FID_OK;
}

/* One argument per result; a list result takes all outputs that the other results leave. */
static fid_status bind_outputs(call_frame *frame) {
    const fidc_node *node = frame->node;
    fid_schema_cursor cursor = fid_schema_begin(node->op->schema);
    fid_schema_arg result;
    uint32_t at = 0, results = 0;
    while (fid_schema_next_result(&cursor, &result)) results++;
    cursor = fid_schema_begin(node->op->schema);
    while (fid_schema_next_result(&cursor, &result) && at < node->output_count) {
        uint32_t take = result.list ? node->output_count - (results - 1) : 1;
        fid_tensor **tensors = fid_arena_allocate_array(&frame->arena, take, sizeof *tensors);
        fid_value *list = fid_arena_allocate(&frame->arena, sizeof *list, 16);
        if (!tensors || !list) return FID_OUT_OF_MEMORY;
        for (uint32_t i = 0; i < take; i++) tensors[i] = &frame->self->boxes[node->outputs[at + i]->id].tensor;
        *list = (fid_value){.tag = FID_TAG_TENSOR_LIST, .as.tensors = {tensors, take}};
        frame->args[frame->count++] = result.list ? list : &frame->self->boxes[node->outputs[at]->id].value;
        at += take;
    }
    return FID_OK;
}

static fid_status make_outputs(call_frame *frame) {
    const fidc_node *node = frame->node;
    fid_meta *metas = fid_arena_allocate_array(&frame->arena, node->output_count, sizeof *metas);
    if (!metas) return FID_OUT_OF_MEMORY;
    FID_TRY(describe_outputs(frame, metas, node->output_count));
    for (uint32_t i = 0; i < node->output_count; i++) {
        fidc_box *box = &frame->self->boxes[node->outputs[i]->id];
        box_drop(frame->self, box);
        if (node->outputs[i]->type == FIDC_TENSOR) FID_TRY(fidc_box_allocate(frame->self, box, &metas[i]));
        else box->value = fid_int_value(0);
    }
    return bind_outputs(frame);
}

/* ---- One node ---- */

static fid_status run_kernel(call_frame *frame, const fid_kernel *kernel) {
    call_memory memory = {.functions = {.persist = call_allocate, .scratch = call_allocate}, .interpreter = frame->self};
    fid_call call = frame->call;
    call.memory = &memory.functions;
    fid_status status = kernel->prepare ? kernel->prepare(&call) : FID_OK;
    if (status == FID_OK) status = kernel->run(&call);
    call_memory_release(&memory);
    return status;
}

static bool takes_fast_kernel(const fidc_interpreter_options *options, const fid_op *op) {
    bool moves = op->kind == FID_OP_VIEW || op->kind == FID_OP_MOVE;
    return op->cpu && (options->fast_kernels || (options->fast_moves && moves));
}

static fid_status run_call(call_frame *frame) {
    const fidc_node *node = frame->node;
    FID_TRY(read_args(frame));
    frame->call.args = frame->args;
    FID_TRY(make_outputs(frame));
    frame->call.arg_count = frame->count;
    FID_TRY(fid_schema_check(node->op, &frame->call));
    if (takes_fast_kernel(&frame->self->options, node->op)) {
        fid_status status = run_kernel(frame, node->op->cpu);
        if (status != FID_NOT_SUPPORTED) return status;
    }
    if (!node->op->reference) return fid_fail(frame->self->sink, FID_OPERATOR_MISSING, "%s has no kernel", node->op->name);
    return run_kernel(frame, node->op->reference);
}

static fid_status run_row(fidc_interpreter *self, const fidc_node *node) {
    call_frame frame = {.self = self, .node = node};
    fid_arena_init(&frame.arena, self->allocator, 4096);
    size_t room = node->arg_count + node->output_count + 64;
    frame.args = fid_arena_allocate_array(&frame.arena, room, sizeof *frame.args);
    frame.call = (fid_call){.name = node->op->name, .sink = self->sink, .threads = self->options.threads, .cpu = self->options.cpu};
    fid_status status = frame.args ? run_call(&frame) : FID_OUT_OF_MEMORY;
    fid_arena_deinit(&frame.arena);
    return status;
}

fid_status fidc_interpreter_run_node(fidc_interpreter *self, const fidc_node *node) {
    fid_status status = node->graph_count ? fidc_interpreter_run_control(self, node) : run_row(self, node);
    if (status != FID_OK) return fid_fail(self->sink, status, "while running %s", fidc_where(node));
    for (uint32_t i = 0; self->options.observer.seen && i < node->output_count; i++) {
        self->options.observer.seen(self->options.observer.self, node, i, &self->boxes[node->outputs[i]->id].value);
    }
    return FID_OK;
}

/* ---- A graph ---- */

typedef void (*visitor)(fidc_interpreter *self, const fidc_value *value);

static void visit_args(fidc_interpreter *self, const fidc_arg *args, uint32_t count, visitor visit) {
    for (uint32_t i = 0; i < count; i++) {
        if (args[i].kind == FIDC_ARG_VALUE) visit(self, fidc_value_of(&args[i]));
        else if (args[i].kind == FIDC_ARG_LIST) visit_args(self, args[i].as.list.items, args[i].as.list.count, visit);
    }
}

/* Every value that a node reads, by what its sub-graphs capture too. */
static void visit_node(fidc_interpreter *self, const fidc_node *node, visitor visit) {
    visit_args(self, node->args, node->arg_count, visit);
    for (uint32_t i = 0; i < node->graph_count; i++) {
        for (const fidc_node *inner = node->graphs[i]->first; inner; inner = inner->next) visit_node(self, inner, visit);
        visit_args(self, node->graphs[i]->outputs, node->graphs[i]->output_count, visit);
    }
}
static void count_reader(fidc_interpreter *self, const fidc_value *value) {
    if (owns(self, value)) self->boxes[value->id].readers++;
}

/* The last reader frees a node's output: otherwise a large model would hold every activation at once. */
static void drop_reader(fidc_interpreter *self, const fidc_value *value) {
    if (!owns(self, value)) return;
    fidc_box *box = &self->boxes[value->id];
    if (box->readers && --box->readers == 0 && value->origin == FIDC_FROM_NODE) box_drop(self, box);
}

static void count_readers(fidc_interpreter *self) {
    const fidc_graph *graph = self->graph;
    for (uint32_t i = 0; i < graph->value_count; i++) self->boxes[i].readers = 0;
    for (const fidc_node *node = graph->first; node; node = node->next) visit_node(self, node, count_reader);
    visit_args(self, graph->outputs, graph->output_count, count_reader);
    for (uint32_t i = 0; i < graph->mutation_count; i++) count_reader(self, fidc_resolve(graph->mutations[i].value));
}

static fid_status take_inputs(fidc_interpreter *self, const fid_value *inputs, size_t count) {
    if (count != self->graph->input_count) {
        return fid_fail(self->sink, FID_INVALID_ARGUMENT, "%s takes %u inputs, got %zu", self->graph->name, self->graph->input_count, count);
    }
    for (size_t i = 0; i < count; i++) {
        const fidc_value *input = self->graph->inputs[i];
        if (input->type == FIDC_TENSOR && (inputs[i].tag != FID_TAG_TENSOR || inputs[i].as.tensor->rank != input->rank ||
                                           inputs[i].as.tensor->dtype != input->dtype)) {
            return fid_fail(self->sink, FID_INVALID_ARGUMENT, "input %zu of %s must be a %s tensor of rank %u", i, self->graph->name,
                            fid_dtype_name(input->dtype), input->rank);
        }
        FID_TRY(fidc_box_set(self, &self->boxes[input->id], &inputs[i]));
    }
    return FID_OK;
}

/* All new contents are read before any target is written: one mutation's value may be another's target. */
static fid_status apply_mutations(fidc_interpreter *self) {
    const fidc_graph *graph = self->graph;
    for (uint32_t i = 0; i < graph->mutation_count; i++) {
        fidc_box *box;
        FID_TRY(fidc_interpreter_box(self, graph->mutations[i].value, &box));
        FID_TRY(fidc_box_set(self, &self->mutated[i], &box->value));
    }
    for (uint32_t i = 0; i < graph->mutation_count; i++) {
        fidc_box *box;
        FID_TRY(fidc_interpreter_box(self, graph->mutations[i].target, &box));
        FID_TRY(fidc_box_set(self, box, &self->mutated[i].value));
    }
    return FID_OK;
}

static fid_status keep_outputs(fidc_interpreter *self) {
    call_frame reader = {.self = self};
    for (uint32_t i = 0; i < self->graph->output_count; i++) {
        fid_value value;
        FID_TRY(read_single(&reader, &self->graph->outputs[i], &value));
        FID_TRY(fidc_box_set(self, &self->outputs[i], &value));
    }
    return FID_OK;
}

/* The caller sees what the method wrote into its inputs. */
static void return_inputs(fidc_interpreter *self, const fid_value *inputs) {
    for (uint32_t i = 0; i < self->graph->mutation_count; i++) {
        const fidc_value *target = self->graph->mutations[i].target;
        for (uint32_t k = 0; k < self->graph->input_count; k++) {
            if (self->graph->inputs[k] != target || inputs[k].tag != FID_TAG_TENSOR) continue;
            const fid_tensor *content = &self->boxes[target->id].tensor;
            if (fid_tensor_bytes(content) <= inputs[k].as.tensor->capacity) {
                memcpy(inputs[k].as.tensor->data, content->data, fid_tensor_bytes(content));
            }
        }
    }
}

fid_status fidc_interpreter_run(fidc_interpreter *self, const fid_value *inputs, size_t input_count) {
    FID_TRY(take_inputs(self, inputs, input_count));
    count_readers(self);
    for (const fidc_node *node = self->graph->first; node; node = node->next) {
        FID_TRY(fidc_interpreter_run_node(self, node));
        visit_node(self, node, drop_reader);
        for (uint32_t i = 0; i < node->output_count; i++) {
            if (!self->boxes[node->outputs[i]->id].readers) box_drop(self, &self->boxes[node->outputs[i]->id]);
        }
    }
    FID_TRY(keep_outputs(self));
    FID_TRY(apply_mutations(self));
    return_inputs(self, inputs);
    for (uint32_t i = 0; i < self->graph->value_count; i++) {
        if (self->graph->values[i]->origin == FIDC_FROM_NODE) box_drop(self, &self->boxes[i]);
    }
    return FID_OK;
}

const fid_value *fidc_interpreter_output(const fidc_interpreter *self, size_t i) { return &self->outputs[i].value; }

static void drop_all(fidc_interpreter *self, fidc_box *boxes, size_t count) {
    for (size_t i = 0; boxes && i < count; i++) box_drop(self, &boxes[i]);
    fid_free(self->allocator, boxes, count * sizeof *boxes);
}

void fidc_interpreter_destroy(fidc_interpreter *self) {
    if (!self) return;
    fidc_interpreter_destroy_control(self);
    drop_all(self, self->boxes, self->box_count);
    drop_all(self, self->outputs, self->graph->output_count);
    drop_all(self, self->mutated, self->graph->mutation_count);
    fid_free(self->allocator, self, sizeof *self);
}

static fidc_box *new_boxes(fidc_interpreter *self, size_t count) {
    fidc_box *boxes = fid_allocate(self->allocator, count * sizeof *boxes);
    if (boxes) memset(boxes, 0, count * sizeof *boxes);
    return boxes;
}

fid_status fidc_interpreter_create(const fidc_graph *graph, const fidc_interpreter_options *options, fidc_interpreter **out) {
    fidc_interpreter *self = fid_allocate(graph->program->allocator, sizeof *self);
    if (!self) return FID_OUT_OF_MEMORY;
    *self = (fidc_interpreter){.graph = graph, .allocator = graph->program->allocator};
    if (options) self->options = *options;
    self->sink = self->options.sink ? self->options.sink : graph->program->sink;
    self->box_count = graph->value_count;
    self->boxes = new_boxes(self, self->box_count);
    self->outputs = new_boxes(self, graph->output_count);
    self->mutated = new_boxes(self, graph->mutation_count);
    if (!self->boxes || !self->outputs || !self->mutated) {
        fidc_interpreter_destroy(self);
        return fid_fail(graph->program->sink, FID_OUT_OF_MEMORY, "no memory to interpret %s", graph->name);
    }
    *out = self;
    return FID_OK;
}

void fidc_tensor_to_logical(const fid_tensor *tensor, void *out) {
    size_t size = fid_dtype_size(tensor->dtype), count = fid_tensor_numel(tensor);
    if (fid_tensor_is_contiguous(tensor)) {
        if (count) memcpy(out, tensor->data, count * size);
        return;
    }
    int64_t index[FID_MAX_RANK] = {0};
    for (size_t k = 0; k < count; k++) {
        int64_t at = 0;
        for (size_t d = 0; d < tensor->rank; d++) at += index[d] * tensor->strides[d];
        memcpy((uint8_t *)out + k * size, (const uint8_t *)tensor->data + (size_t)at * size, size);
        for (size_t d = tensor->rank; d-- > 0 && ++index[d] == tensor->sizes[d];) index[d] = 0;
    }
}
