/* Shape and dtype inference: the row's shape function, run at several points of the symbols. */
#include "compiler/ir/infer.h"

fid_tensor *fidc_value_to_tensor(const fidc_value *value, fidc_point point, fid_arena *arena) {
    fid_tensor *tensor = fid_arena_allocate(arena, sizeof *tensor, 16);
    int64_t *sizes = fid_arena_allocate_array(arena, value->rank, sizeof *sizes);
    int64_t *strides = fid_arena_allocate_array(arena, value->rank, sizeof *strides);
    uint8_t *dim_order = fid_arena_allocate(arena, value->rank, 1);
    if (!tensor || !sizes || !strides || !dim_order) return NULL;
    for (size_t i = 0; i < value->rank; i++) sizes[i] = fidc_expr_at(value->sizes[i], point);
    memcpy(dim_order, value->dim_order, value->rank);
    *tensor = (fid_tensor){.sizes = sizes, .strides = strides, .dim_order = dim_order, .rank = value->rank, .dtype = value->dtype};
    fid_tensor_update_strides(tensor);
    if (value->origin == FIDC_FROM_CONSTANT) {
        tensor->data = (void *)(uintptr_t)value->constant->data;
        tensor->capacity = value->constant->bytes;
        if (!value->constant->is_mutable) tensor->flags = FID_TENSOR_CONSTANT;
    }
    return tensor;
}

static fid_status value_to_value(fidc_program *program, const fidc_value *value, fidc_point point, fid_arena *arena, fid_value *out) {
    int64_t number = value->number ? fidc_expr_at(value->number, point) : 0;
    switch (value->type) {
    case FIDC_TENSOR: {
        fid_tensor *tensor = fidc_value_to_tensor(value, point, arena);
        if (!tensor) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory to infer shapes");
        *out = fid_tensor_value(tensor);
        return FID_OK;
    }
    case FIDC_INT: *out = fid_int_value(number); return FID_OK;
    case FIDC_FLOAT: *out = fid_double_value((double)number); return FID_OK;
    case FIDC_BOOL: *out = fid_bool_value(number != 0); return FID_OK;
    default: *out = fid_none_value(); return FID_OK;
    }
}

/* Which list value a list argument becomes: by its first item that tells. */
static fid_tag list_tag(const fidc_arg *arg) {
    bool holes = false;
    fid_tag tag = FID_TAG_INT_LIST;
    for (uint32_t i = 0; i < arg->as.list.count; i++) {
        const fidc_arg *item = &arg->as.list.items[i];
        const fidc_value *value = fidc_value_of(item);
        if (item->kind == FIDC_ARG_NONE) holes = true;
        else if (value && value->type == FIDC_TENSOR) tag = FID_TAG_TENSOR_LIST;
        else if (item->kind == FIDC_ARG_DOUBLE || (value && value->type == FIDC_FLOAT)) tag = FID_TAG_DOUBLE_LIST;
        else if (item->kind == FIDC_ARG_BOOL) tag = FID_TAG_BOOL_LIST;
    }
    return holes ? FID_TAG_OPTIONAL_TENSOR_LIST : tag;
}

static bool fill_list(const fid_value *items, size_t count, fid_tag tag, fid_arena *arena, fid_value *out) {
    out->tag = (uint8_t)tag;
    if (tag == FID_TAG_INT_LIST) {
        int64_t *ints = fid_arena_allocate_array(arena, count, sizeof *ints);
        for (size_t i = 0; ints && i < count; i++) ints[i] = fid_value_int(&items[i]);
        out->as.ints.items = ints;
        out->as.ints.count = count;
        return ints != NULL;
    }
    if (tag == FID_TAG_DOUBLE_LIST) {
        double *doubles = fid_arena_allocate_array(arena, count, sizeof *doubles);
        for (size_t i = 0; doubles && i < count; i++) doubles[i] = fid_value_double(&items[i]);
        out->as.doubles.items = doubles;
        out->as.doubles.count = count;
        return doubles != NULL;
    }
    if (tag == FID_TAG_BOOL_LIST) {
        bool *bools = fid_arena_allocate_array(arena, count, sizeof *bools);
        for (size_t i = 0; bools && i < count; i++) bools[i] = fid_value_bool(&items[i]);
        out->as.bools.items = bools;
        out->as.bools.count = count;
        return bools != NULL;
    }
    fid_tensor **tensors = fid_arena_allocate_array(arena, count, sizeof *tensors);
    for (size_t i = 0; tensors && i < count; i++) tensors[i] = items[i].tag == FID_TAG_TENSOR ? items[i].as.tensor : NULL;
    out->as.tensors.items = tensors;
    out->as.tensors.count = count;
    return tensors != NULL;
}

static fid_status list_to_value(fidc_program *program, const fidc_arg *arg, fidc_point point, fid_arena *arena, fid_value *out) {
    size_t count = arg->as.list.count;
    fid_value *items = fid_arena_allocate_array(arena, count, sizeof *items);
    if (!items) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory to infer shapes");
    for (size_t i = 0; i < count; i++) FID_TRY(fidc_arg_to_value(program, &arg->as.list.items[i], point, arena, &items[i]));
    if (!fill_list(items, count, list_tag(arg), arena, out)) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory to infer shapes");
    return FID_OK;
}

fid_status fidc_arg_to_value(fidc_program *program, const fidc_arg *arg, fidc_point point, fid_arena *arena, fid_value *out_value) {
    *out_value = fid_none_value();
    switch (arg->kind) {
    case FIDC_ARG_VALUE: return value_to_value(program, fidc_value_of(arg), point, arena, out_value);
    case FIDC_ARG_LIST: return list_to_value(program, arg, point, arena, out_value);
    case FIDC_ARG_DOUBLE: *out_value = fid_double_value(arg->as.number); break;
    case FIDC_ARG_BOOL: *out_value = fid_bool_value(arg->as.integer != 0); break;
    case FIDC_ARG_INT:
    case FIDC_ARG_DTYPE:
    case FIDC_ARG_LAYOUT:
    case FIDC_ARG_MEMORY_FORMAT: *out_value = fid_int_value(arg->as.integer); break;
    case FIDC_ARG_STRING:
        out_value->tag = FID_TAG_STRING;
        out_value->as.string.text = arg->as.text;
        out_value->as.string.length = strlen(arg->as.text);
        break;
    default: break; /* NONE, DEVICE: there is one device */
    }
    return FID_OK;
}

fid_status fidc_node_to_call(const fidc_node *node, fidc_point point, fid_arena *arena, fid_call *out_call) {
    fidc_program *program = node->graph->program;
    fid_value *values = fid_arena_allocate_array(arena, node->arg_count, sizeof *values);
    fid_value **pointers = fid_arena_allocate_array(arena, node->arg_count, sizeof *pointers);
    if (!values || !pointers) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory to infer shapes");
    for (uint32_t i = 0; i < node->arg_count; i++) {
        FID_TRY(fidc_arg_to_value(program, &node->args[i], point, arena, &values[i]));
        pointers[i] = &values[i];
    }
    *out_call = (fid_call){.name = node->op->name, .args = pointers, .arg_count = node->arg_count, .output_index = node->arg_count,
                           .sink = program->sink};
    return FID_OK;
}

size_t fidc_output_count(const fid_op *op, size_t list_outputs) {
    fid_schema_cursor cursor = fid_schema_begin(op->schema);
    fid_schema_arg result;
    size_t count = 0;
    while (fid_schema_next_result(&cursor, &result)) count += result.list ? list_outputs : 1;
    return count;
}

fid_status fidc_infer_at(const fidc_node *node, fidc_point point, fid_meta *outs, size_t out_count) {
    if (!node->op->shape) {
        return fid_fail(node->graph->program->sink, FID_NOT_SUPPORTED, "%s has no shape function", fidc_where(node));
    }
    fid_arena arena;
    fid_arena_init(&arena, node->graph->program->allocator, 8192);
    fid_call call;
    fid_status status = fidc_node_to_call(node, point, &arena, &call);
    memset(outs, 0, out_count * sizeof *outs);
    if (status == FID_OK) status = node->op->shape(&call, outs, out_count);
    if (status != FID_OK) fid_fail(node->graph->program->sink, status, "%s", fidc_where(node));
    fid_arena_deinit(&arena);
    return status;
}
