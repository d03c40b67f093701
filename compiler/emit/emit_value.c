/* The value table of a method: tensors with their places, numbers, literals and lists. */
#include "compiler/emit/emit_internal.h"

#define MEMORY_ID 1        /* the method's own planned memory */
#define SHARED_MEMORY_ID 2 /* of buffers that methods share */

static int32_t push_value(fidc_method_emitter *m, const fid_pte_out_value *value) {
    fid_pte_out_value *made = fidc_array_push(m->emitter, &m->values);
    if (!made) return -1;
    *made = *value;
    return (int32_t)m->values.count - 1;
}

int32_t fidc_emit_own(fidc_method_emitter *m, const fid_pte_out_value *value) { return push_value(m, value); }

/* ---- Literals ------------------------------------------------------------------------------------------------------------- */

static fid_span payload_of(const fid_pte_out_value *v) {
    switch (v->kind) {
    case FID_PTE_OUT_INT: return fid_span_of(&v->as.integer, sizeof v->as.integer);
    case FID_PTE_OUT_BOOL: return fid_span_of(&v->as.boolean, sizeof v->as.boolean);
    case FID_PTE_OUT_DOUBLE: return fid_span_of(&v->as.number, sizeof v->as.number);
    case FID_PTE_OUT_STRING: return fid_span_of(v->as.text, strlen(v->as.text));
    case FID_PTE_OUT_INT_LIST: return fid_span_of(v->as.ints.items, v->as.ints.count * sizeof *v->as.ints.items);
    case FID_PTE_OUT_DOUBLE_LIST: return fid_span_of(v->as.doubles.items, v->as.doubles.count * sizeof *v->as.doubles.items);
    case FID_PTE_OUT_BOOL_LIST: return fid_span_of(v->as.bools.items, v->as.bools.count);
    case FID_PTE_OUT_TENSOR_LIST:
    case FID_PTE_OUT_OPTIONAL_TENSOR_LIST: return fid_span_of(v->as.tensors.items, v->as.tensors.count * sizeof *v->as.tensors.items);
    default: return fid_span_of(NULL, 0);
    }
}

static uint64_t hash_literal(const fid_pte_out_value *v) {
    fid_span payload = payload_of(v);
    uint64_t hash = 0xcbf29ce484222325u ^ v->kind;
    for (size_t i = 0; i < payload.size; i++) hash = (hash ^ payload.data[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static bool same_literal(const fid_pte_out_value *a, const fid_pte_out_value *b) {
    fid_span x = payload_of(a), y = payload_of(b);
    return a->kind == b->kind && x.size == y.size && (!x.size || memcmp(x.data, y.data, x.size) == 0);
}

static const fid_pte_out_value *value_at(const fidc_method_emitter *m, size_t i) { return (const fid_pte_out_value *)m->values.items + i; }

/* The slot that holds an equal literal, or the empty one where it belongs. */
static uint32_t *find_slot(fidc_method_emitter *m, const fid_pte_out_value *literal) {
    size_t mask = m->literal_slot_count - 1, at = hash_literal(literal) & mask;
    while (m->literal_slots[at] && !same_literal(value_at(m, m->literal_slots[at] - 1), literal)) at = (at + 1) & mask;
    return &m->literal_slots[at];
}

static bool grow_slots(fidc_method_emitter *m) {
    if (2 * m->literal_count < m->literal_slot_count) return true;
    uint32_t *old = m->literal_slots;
    size_t old_count = m->literal_slot_count, count = old_count ? 2 * old_count : 128;
    m->literal_slots = fidc_emit_allocate(m->emitter, count, sizeof *m->literal_slots);
    if (!m->literal_slots) return false;
    m->literal_slot_count = count;
    for (size_t i = 0; i < old_count; i++)
        if (old[i]) *find_slot(m, value_at(m, old[i] - 1)) = old[i];
    return true;
}

int32_t fidc_emit_literal(fidc_method_emitter *m, const fid_pte_out_value *literal) {
    if (!grow_slots(m)) return -1;
    uint32_t *slot = find_slot(m, literal);
    if (*slot) return (int32_t)*slot - 1;
    int32_t index = push_value(m, literal);
    if (index < 0) return -1;
    *slot = (uint32_t)index + 1;
    m->literal_count++;
    return index;
}

int32_t fidc_emit_none(fidc_method_emitter *m) { return fidc_emit_literal(m, &(fid_pte_out_value){.kind = FID_PTE_OUT_NULL}); }

int32_t fidc_emit_int(fidc_method_emitter *m, int64_t integer) {
    return fidc_emit_literal(m, &(fid_pte_out_value){.kind = FID_PTE_OUT_INT, .as.integer = integer});
}

static int32_t emit_bool(fidc_method_emitter *m, bool boolean) {
    return fidc_emit_literal(m, &(fid_pte_out_value){.kind = FID_PTE_OUT_BOOL, .as.boolean = boolean});
}

static int32_t emit_double(fidc_method_emitter *m, double number) {
    return fidc_emit_literal(m, &(fid_pte_out_value){.kind = FID_PTE_OUT_DOUBLE, .as.number = number});
}

int32_t fidc_emit_tensor_list(fidc_method_emitter *m, const int32_t *items, size_t count) {
    return fidc_emit_literal(m, &(fid_pte_out_value){.kind = FID_PTE_OUT_TENSOR_LIST, .as.tensors = {items, count}});
}

/* ---- Tensors --------------------------------------------------------------------------------------------------------------- */

static void *fail_tensor(fidc_method_emitter *m, const fidc_value *value, const char *what) {
    fidc_emitter *emitter = m->emitter;
    return fidc_emit_fail(emitter, fid_fail(emitter->sink, FID_NOT_SUPPORTED, "value '%s' of method %s %s", value->name, m->graph->name, what));
}

static bool fill_shape(fidc_method_emitter *m, const fidc_value *value, fid_pte_out_tensor *tensor) {
    int32_t *sizes = fidc_emit_allocate(m->emitter, value->rank, sizeof *sizes);
    if (!sizes) return false;
    tensor->dynamism = FID_STATIC;
    for (size_t i = 0; i < value->rank; i++) {
        int64_t size = fidc_expr_at(value->sizes[i], FIDC_AT_HIGH);
        if (size < 0 || size > INT32_MAX) return fail_tensor(m, value, "has a dimension that may exceed 2^31 - 1: a .pte file cannot hold it") != NULL;
        sizes[i] = (int32_t)size;
        if (value->sizes[i]->high == FIDC_UNBOUNDED) tensor->dynamism = FID_DYNAMIC_UNBOUND;
        else if (!fidc_expr_is_const(value->sizes[i]) && tensor->dynamism == FID_STATIC) tensor->dynamism = FID_DYNAMIC_BOUND;
    }
    tensor->dtype = value->dtype;
    tensor->rank = value->rank;
    tensor->sizes = sizes;
    tensor->dim_order = value->dim_order;
    return true;
}

/* Content of a constant, or first content of a state. */
static bool fill_data(fidc_method_emitter *m, const fidc_value *source, const fidc_value *value, fid_pte_out_tensor *tensor) {
    const fidc_constant *constant = source->constant;
    size_t bytes = fid_dtype_size(value->dtype);
    for (size_t i = 0; i < value->rank; i++) bytes *= (size_t)tensor->sizes[i];
    if (constant->bytes < bytes || (bytes && !constant->data)) return fail_tensor(m, value, "is a constant with fewer bytes than its shape needs") != NULL;
    if (!constant->is_mutable && fidc_emit_external(m->emitter, m->graph, constant, source == value ? NULL : value->name, tensor)) {
        return m->emitter->status == FID_OK;
    }
    tensor->data_index = fidc_pool_add(m->emitter, constant->is_mutable ? &m->emitter->states : &m->emitter->constants, constant->data, constant->bytes);
    if (constant->is_mutable) tensor->name = constant->name;
    return tensor->data_index != 0;
}

static int32_t emit_tensor(fidc_method_emitter *m, const fidc_value *value) {
    const fidc_placement *placement = &m->plan->of[fidc_plan_index(value)];
    const fidc_value *base = placement->base ? placement->base : value;
    fid_pte_out_value made = {.kind = FID_PTE_OUT_TENSOR};
    fid_pte_out_tensor *tensor = &made.as.tensor;
    if (!fill_shape(m, value, tensor)) return -1;
    bool own = value->origin == FIDC_FROM_CONSTANT, borrowed = placement->elided && fidc_is_constant(base);
    if ((own || borrowed) && !fill_data(m, own ? value : base, value, tensor)) return -1;
    if (placement->offset != FIDC_NOT_PLANNED) {
        tensor->memory_id = fidc_is_shared_buffer(base) ? SHARED_MEMORY_ID : MEMORY_ID;
        tensor->memory_offset = placement->offset;
    }
    return push_value(m, &made);
}

/* ---- Values of the graph ---------------------------------------------------------------------------------------------------- */

/* Numbers get an entry of their own: nodes write them. */
static int32_t emit_number(fidc_method_emitter *m, const fidc_value *value) {
    fid_pte_out_value made = {.kind = FID_PTE_OUT_NULL};
    if (value->type == FIDC_INT) {
        made.kind = FID_PTE_OUT_INT;
        made.as.integer = value->number ? fidc_expr_at(value->number, FIDC_AT_HINT) : 0;
    } else if (value->type == FIDC_FLOAT) {
        made.kind = FID_PTE_OUT_DOUBLE;
        made.as.number = 0;
    } else if (value->type == FIDC_BOOL) {
        made.kind = FID_PTE_OUT_BOOL;
        made.as.boolean = false;
    }
    return push_value(m, &made);
}

int32_t fidc_emit_value(fidc_method_emitter *m, const fidc_value *value) {
    int32_t *index = &m->index_of[fidc_plan_index(value)];
    if (*index < 0) *index = value->type == FIDC_TENSOR ? emit_tensor(m, value) : emit_number(m, value);
    return *index;
}

/* ---- Arguments -------------------------------------------------------------------------------------------------------------- */

static bool is_tensor_item(const fidc_arg *item) {
    const fidc_value *value = fidc_value_of(item);
    return item->kind == FIDC_ARG_NONE || (value && value->type == FIDC_TENSOR);
}

static double number_of(const fidc_arg *arg) { return arg->kind == FIDC_ARG_DOUBLE ? arg->as.number : (double)arg->as.integer; }

static int32_t emit_tensors(fidc_method_emitter *m, const fid_schema_arg *schema, const fidc_arg *arg) {
    uint32_t count = arg->as.list.count;
    int32_t *items = fidc_emit_allocate(m->emitter, count, sizeof *items);
    for (uint32_t i = 0; items && i < count; i++) {
        const fidc_value *value = fidc_value_of(&arg->as.list.items[i]);
        items[i] = value ? fidc_emit_value(m, value) : -1;
    }
    fid_pte_out_kind kind = schema->optional_items ? FID_PTE_OUT_OPTIONAL_TENSOR_LIST : FID_PTE_OUT_TENSOR_LIST;
    return items ? fidc_emit_literal(m, &(fid_pte_out_value){.kind = (uint8_t)kind, .as.tensors = {items, count}}) : -1;
}

/* Integers are boxed: indices of values, so that symbolic sizes can stand among them. */
static int32_t emit_ints(fidc_method_emitter *m, const fid_schema_arg *schema, const fidc_arg *arg) {
    const fidc_arg *from = arg->kind == FIDC_ARG_LIST ? arg->as.list.items : arg;
    uint32_t count = arg->kind == FIDC_ARG_LIST ? arg->as.list.count : schema->list_size ? schema->list_size : 1;
    int64_t *items = fidc_emit_allocate(m->emitter, count, sizeof *items);
    for (uint32_t i = 0; items && i < count; i++) {
        const fidc_arg *item = arg->kind == FIDC_ARG_LIST ? &from[i] : from;
        const fidc_value *value = fidc_value_of(item);
        items[i] = value ? fidc_emit_value(m, value) : fidc_emit_int(m, item->as.integer);
    }
    return items ? fidc_emit_literal(m, &(fid_pte_out_value){.kind = FID_PTE_OUT_INT_LIST, .as.ints = {items, count}}) : -1;
}

static int32_t emit_doubles(fidc_method_emitter *m, const fidc_arg *arg) {
    uint32_t count = arg->as.list.count;
    double *items = fidc_emit_allocate(m->emitter, count, sizeof *items);
    for (uint32_t i = 0; items && i < count; i++) items[i] = number_of(&arg->as.list.items[i]);
    return items ? fidc_emit_literal(m, &(fid_pte_out_value){.kind = FID_PTE_OUT_DOUBLE_LIST, .as.doubles = {items, count}}) : -1;
}

static int32_t emit_bools(fidc_method_emitter *m, const fidc_arg *arg) {
    uint32_t count = arg->as.list.count;
    uint8_t *items = fidc_emit_allocate(m->emitter, count, 1);
    for (uint32_t i = 0; items && i < count; i++) items[i] = arg->as.list.items[i].as.integer != 0;
    return items ? fidc_emit_literal(m, &(fid_pte_out_value){.kind = FID_PTE_OUT_BOOL_LIST, .as.bools = {items, count}}) : -1;
}

static int32_t emit_list(fidc_method_emitter *m, const fid_schema_arg *schema, const fidc_arg *arg) {
    if (schema->type == FID_SCHEMA_INT) return emit_ints(m, schema, arg);
    if (arg->kind == FIDC_ARG_LIST) {
        bool tensors = true;
        for (uint32_t i = 0; i < arg->as.list.count; i++) tensors = tensors && is_tensor_item(&arg->as.list.items[i]);
        if (schema->type == FID_SCHEMA_TENSOR && tensors) return emit_tensors(m, schema, arg);
        if (schema->type == FID_SCHEMA_FLOAT || schema->type == FID_SCHEMA_SCALAR) return emit_doubles(m, arg);
        if (schema->type == FID_SCHEMA_BOOL) return emit_bools(m, arg);
    }
    fidc_emit_fail(m->emitter, fid_fail(m->emitter->sink, FID_NOT_SUPPORTED, "argument '%.*s' is a list that a .pte file has no form for",
                                        (int)schema->name.size, (const char *)schema->name.data));
    return -1;
}

int32_t fidc_emit_arg(fidc_method_emitter *m, const fid_schema_arg *schema, const fidc_arg *arg) {
    const fidc_value *value = fidc_value_of(arg);
    if (arg->kind == FIDC_ARG_NONE || arg->kind == FIDC_ARG_DEVICE || (value && value->type == FIDC_NOTHING)) return fidc_emit_none(m);
    if (schema->list) return emit_list(m, schema, arg);
    if (value) return fidc_emit_value(m, value);
    switch (arg->kind) {
    case FIDC_ARG_BOOL: return emit_bool(m, arg->as.integer != 0);
    case FIDC_ARG_DOUBLE: return emit_double(m, arg->as.number);
    case FIDC_ARG_STRING: return fidc_emit_literal(m, &(fid_pte_out_value){.kind = FID_PTE_OUT_STRING, .as.text = arg->as.text});
    case FIDC_ARG_INT:
        if (schema->type == FID_SCHEMA_FLOAT) return emit_double(m, (double)arg->as.integer);
        if (schema->type == FID_SCHEMA_BOOL) return emit_bool(m, arg->as.integer != 0);
        return fidc_emit_int(m, arg->as.integer);
    default: return fidc_emit_int(m, arg->as.integer); /* dtype, layout, memory format: their codes */
    }
}
