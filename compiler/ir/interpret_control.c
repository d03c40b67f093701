/* Control flow of the interpreter: cond, while_loop, map and scan run their sub-graphs by an interpreter each. */
#include "compiler/ir/interpret_internal.h"

struct fidc_child {
    struct fidc_child *next;
    const fidc_graph *graph;
    fidc_interpreter *interpreter;
};

void fidc_interpreter_destroy_control(fidc_interpreter *self) {
    while (self->children) {
        struct fidc_child *child = self->children;
        self->children = child->next;
        fidc_interpreter_destroy(child->interpreter);
        fid_free(self->allocator, child, sizeof *child);
    }
}

static fid_status child_of(fidc_interpreter *self, const fidc_graph *graph, fidc_interpreter **out) {
    for (struct fidc_child *child = self->children; child; child = child->next) {
        if (child->graph == graph) {
            *out = child->interpreter;
            return FID_OK;
        }
    }
    struct fidc_child *child = fid_allocate(self->allocator, sizeof *child);
    if (!child) return FID_OUT_OF_MEMORY;
    fidc_interpreter_options options = self->options;
    options.sink = self->sink;
    fid_status status = fidc_interpreter_create(graph, &options, &child->interpreter);
    if (status != FID_OK) {
        fid_free(self->allocator, child, sizeof *child);
        return status;
    }
    child->interpreter->outer = self;
    child->graph = graph;
    child->next = self->children;
    self->children = child;
    *out = child->interpreter;
    return FID_OK;
}

/* ---- Lists of values ---- */

/* Values that go into a sub-graph; tensors are borrowed from boxes that outlive the call. */
typedef struct values {
    fid_value items[64];
    size_t count;
} values;

static fid_status add_arg(fidc_interpreter *self, const fidc_arg *arg, values *out) {
    if (arg->kind == FIDC_ARG_LIST) {
        for (uint32_t i = 0; i < arg->as.list.count; i++) FID_TRY(add_arg(self, &arg->as.list.items[i], out));
        return FID_OK;
    }
    if (out->count == sizeof out->items / sizeof out->items[0]) return fid_fail(self->sink, FID_NOT_SUPPORTED, "more than 64 operands");
    fid_value *item = &out->items[out->count++];
    *item = fid_none_value();
    if (arg->kind == FIDC_ARG_INT) *item = fid_int_value(arg->as.integer);
    if (arg->kind == FIDC_ARG_BOOL) *item = fid_bool_value(arg->as.integer != 0);
    if (arg->kind == FIDC_ARG_DOUBLE) *item = fid_double_value(arg->as.number);
    if (arg->kind != FIDC_ARG_VALUE) return FID_OK;
    fidc_box *box;
    FID_TRY(fidc_interpreter_box(self, arg->as.value, &box));
    *item = box->value;
    return FID_OK;
}

static size_t list_count(const fidc_node *node, uint32_t i) {
    return i < node->arg_count && node->args[i].kind == FIDC_ARG_LIST ? node->args[i].as.list.count : 0;
}

static fid_status read_truth(fidc_interpreter *self, const fid_value *value, bool *out) {
    if (value->tag != FID_TAG_TENSOR) {
        *out = fid_value_bool(value);
        return FID_OK;
    }
    const fid_tensor *tensor = value->as.tensor;
    if (fid_tensor_numel(tensor) != 1) return fid_fail(self->sink, FID_INVALID_ARGUMENT, "a condition must be one element");
    const uint8_t *bytes = tensor->data;
    *out = false;
    for (size_t i = 0; i < fid_dtype_size(tensor->dtype); i++) *out = *out || bytes[i];
    return FID_OK;
}

static fid_status keep_results(fidc_interpreter *self, const fidc_node *node, const fidc_interpreter *child) {
    for (uint32_t i = 0; i < node->output_count; i++) {
        FID_TRY(fidc_box_set(self, &self->boxes[node->outputs[i]->id], fidc_interpreter_output(child, i)));
    }
    return FID_OK;
}

/* ---- cond, while_loop ---- */

static fid_status run_cond(fidc_interpreter *self, const fidc_node *node) {
    values condition = {.count = 0}, operands = {.count = 0};
    FID_TRY(add_arg(self, &node->args[0], &condition));
    for (uint32_t i = 1; i < node->arg_count; i++) FID_TRY(add_arg(self, &node->args[i], &operands));
    bool truth;
    FID_TRY(read_truth(self, &condition.items[0], &truth));
    fidc_interpreter *branch;
    FID_TRY(child_of(self, node->graphs[truth ? 0 : 1], &branch));
    FID_TRY(fidc_interpreter_run(branch, operands.items, operands.count));
    return keep_results(self, node, branch);
}

/* The carried values of one step are the body's outputs, which its next run would overwrite: they are taken as inputs first. */
static fid_status run_while(fidc_interpreter *self, const fidc_node *node) {
    fidc_interpreter *condition, *body;
    values operands = {.count = 0};
    FID_TRY(child_of(self, node->graphs[0], &condition));
    FID_TRY(child_of(self, node->graphs[1], &body));
    for (uint32_t i = 0; i < node->arg_count; i++) FID_TRY(add_arg(self, &node->args[i], &operands));
    for (;;) {
        bool truth;
        FID_TRY(fidc_interpreter_run(condition, operands.items, operands.count));
        FID_TRY(read_truth(self, fidc_interpreter_output(condition, 0), &truth));
        if (!truth) break;
        FID_TRY(fidc_interpreter_run(body, operands.items, operands.count));
        for (uint32_t i = 0; i < node->output_count; i++) operands.items[i] = *fidc_interpreter_output(body, i);
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        FID_TRY(fidc_box_set(self, &self->boxes[node->outputs[i]->id], &operands.items[i]));
    }
    return FID_OK;
}

/* ---- map, scan: over the first dimension ---- */

/* Tensor k of a row-major stack without its first dimension: no copy. */
static fid_value row_of(const fid_tensor *stack, int64_t k, fid_tensor *row, uint8_t *dim_order) {
    *row = *stack;
    row->rank = (uint8_t)(stack->rank - 1);
    row->sizes = stack->sizes + 1;
    row->strides = stack->strides + 1;
    for (uint8_t d = 0; d < row->rank; d++) dim_order[d] = d;
    row->dim_order = dim_order;
    size_t bytes = (size_t)stack->strides[0] * fid_dtype_size(stack->dtype);
    row->data = (uint8_t *)stack->data + (size_t)k * bytes;
    row->capacity = fid_tensor_bytes(row);
    return fid_tensor_value(row);
}

static fid_status check_stack(fidc_interpreter *self, const fid_value *value, int64_t *inout_length) {
    if (value->tag != FID_TAG_TENSOR || !value->as.tensor->rank || !fid_tensor_is_contiguous(value->as.tensor)) {
        return fid_fail(self->sink, FID_NOT_SUPPORTED, "map and scan need row-major tensors of at least one dimension");
    }
    if (*inout_length >= 0 && *inout_length != value->as.tensor->sizes[0]) {
        return fid_fail(self->sink, FID_INVALID_ARGUMENT, "map and scan need tensors of one length");
    }
    *inout_length = value->as.tensor->sizes[0];
    return FID_OK;
}

/* Writes row k of an output stack, which is made when its first row tells the size. */
static fid_status put_row(fidc_interpreter *self, fidc_box *stack, int64_t k, int64_t length, const fid_value *row) {
    if (row->tag != FID_TAG_TENSOR) return fid_fail(self->sink, FID_INVALID_ARGUMENT, "a mapped function gives a number");
    const fid_tensor *source = row->as.tensor;
    if (k == 0) {
        fid_meta meta = {.rank = (uint8_t)(source->rank + 1), .dtype = source->dtype};
        meta.sizes[0] = length;
        for (uint8_t d = 0; d < meta.rank; d++) {
            if (d) meta.sizes[d] = source->sizes[d - 1];
            meta.dim_order[d] = d;
        }
        FID_TRY(fidc_box_allocate(self, stack, &meta));
    }
    size_t bytes = fid_tensor_bytes(source);
    if ((size_t)(k + 1) * bytes > stack->tensor.capacity) return fid_fail(self->sink, FID_INVALID_ARGUMENT, "rows of unequal size");
    fidc_tensor_to_logical(source, (uint8_t *)stack->tensor.data + (size_t)k * bytes);
    return FID_OK;
}

/* scan(f, init, xs, additional): f(carry..., x..., additional...) gives carry..., y...; map is scan without a carry. */
static fid_status run_scan(fidc_interpreter *self, const fidc_node *node, uint32_t init_arg, uint32_t xs_arg) {
    fidc_interpreter *body;
    FID_TRY(child_of(self, node->graphs[0], &body));
    values operands = {.count = 0}, stacks = {.count = 0};
    size_t carry = init_arg == UINT32_MAX ? 0 : list_count(node, init_arg);
    if (carry) FID_TRY(add_arg(self, &node->args[init_arg], &operands));
    FID_TRY(add_arg(self, &node->args[xs_arg], &stacks));
    FID_TRY(add_arg(self, &node->args[xs_arg], &operands)); /* places for the rows */
    for (uint32_t i = xs_arg + 1; i < node->arg_count; i++) FID_TRY(add_arg(self, &node->args[i], &operands));
    int64_t length = -1;
    for (size_t i = 0; i < stacks.count; i++) FID_TRY(check_stack(self, &stacks.items[i], &length));
    for (int64_t k = 0; k < length; k++) {
        fid_tensor rows[64];
        uint8_t orders[64][FID_MAX_RANK];
        for (size_t i = 0; i < stacks.count; i++) operands.items[carry + i] = row_of(stacks.items[i].as.tensor, k, &rows[i], orders[i]);
        FID_TRY(fidc_interpreter_run(body, operands.items, operands.count));
        for (uint32_t i = 0; i < node->output_count; i++) {
            const fid_value *result = fidc_interpreter_output(body, i);
            if (i < carry) operands.items[i] = *result;
            else FID_TRY(put_row(self, &self->boxes[node->outputs[i]->id], k, length, result));
        }
    }
    for (size_t i = 0; i < carry; i++) FID_TRY(fidc_box_set(self, &self->boxes[node->outputs[i]->id], &operands.items[i]));
    return FID_OK;
}

fid_status fidc_interpreter_run_control(fidc_interpreter *self, const fidc_node *node) {
    const char *name = strrchr(node->op->name, ':');
    name = name ? name + 1 : node->op->name;
    if (strcmp(name, "cond") == 0) return run_cond(self, node);
    if (strcmp(name, "while_loop") == 0) return run_while(self, node);
    if (strcmp(name, "map_impl") == 0) return run_scan(self, node, UINT32_MAX, 0);
    if (strcmp(name, "scan") == 0) return run_scan(self, node, 0, 1);
    return fid_fail(self->sink, FID_NOT_SUPPORTED, "%s is no control flow that is known", node->op->name);
}
