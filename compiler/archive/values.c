/* Values of a graph: their dtypes, sizes and dim orders as the archive tells them, and the names that lead to them. */
#include <stdlib.h>

#include "compiler/archive/reader.h"

/* Codes of torch's export schema, which are not those of torch's ScalarType. */
static const uint8_t dtypes[] = {
    [1] = FID_UINT8, [2] = FID_INT8, [3] = FID_INT16, [4] = FID_INT32, [5] = FID_INT64, [6] = FID_FLOAT16, [7] = FID_FLOAT32,
    [8] = FID_FLOAT64, [10] = FID_COMPLEX64, [11] = FID_COMPLEX128, [12] = FID_BOOL, [13] = FID_BFLOAT16, [28] = FID_UINT16,
    [29] = FID_FLOAT8_E4M3FN, [30] = FID_FLOAT8_E5M2, [34] = FID_UINT32, [35] = FID_UINT64,
};

fid_status fidc_read_dtype(const fidc_reader *r, int64_t code, fid_dtype *out_dtype) {
    bool known = code == 1 || (code > 1 && code < (int64_t)sizeof dtypes && dtypes[code]);
    if (!known) return fidc_reader_fail(r, FID_NOT_SUPPORTED, "dtype %lld of the export schema is not supported", (long long)code);
    *out_dtype = (fid_dtype)dtypes[code];
    return FID_OK;
}

fid_status fidc_read_sym_int(fidc_reader *r, const json_t *sym_int, const fidc_expr **out_expr) {
    const char *kind = NULL, *text = NULL;
    const json_t *value = NULL;
    FID_TRY(fidc_json_union(r, sym_int, &kind, &value));
    if (strcmp(kind, "as_int") == 0 && json_is_integer(value)) {
        *out_expr = fidc_expr_const(r->program, json_integer_value(value));
        return *out_expr ? FID_OK : FID_OUT_OF_MEMORY;
    }
    if (strcmp(kind, "as_expr") != 0 || !json_is_object(value))
        return fidc_reader_fail(r, FID_INVALID_PROGRAM, "a size is '%s'; expected 'as_int' or 'as_expr'", kind);
    FID_TRY(fidc_json_text(r, value, "expr_str", &text));
    const json_t *hint_json = json_object_get(json_object_get(value, "hint"), "as_int");
    int64_t hint = json_integer_value(hint_json);
    *out_expr = fidc_symbols_parse(r, text, json_is_integer(hint_json) ? &hint : NULL);
    return *out_expr ? FID_OK : FID_OUT_OF_MEMORY;
}

/* ---- Dim order ---- */

static bool strides_follow(const fidc_value *value, const int64_t *strides, const uint8_t *order) {
    int64_t expected = 1;
    for (size_t i = value->rank; i-- > 0;) {
        int64_t size = fidc_expr_at(value->sizes[order[i]], FIDC_AT_HINT);
        if (size != 1 && strides[order[i]] != expected) return false;
        if (size > 1) expected *= size;
    }
    return true;
}

/* Channels-last where the strides say so and nothing else; every other layout counts as row-major, because the order of
 * elements in memory does not change what an operator computes. */
static void set_dim_order(fidc_value *value, const int64_t *strides) {
    uint8_t rows[FID_MAX_RANK], channels[FID_MAX_RANK];
    for (size_t i = 0; i < value->rank; i++) rows[i] = (uint8_t)i;
    memcpy(value->dim_order, rows, value->rank);
    if (value->rank != 4 && value->rank != 5) return;
    channels[0] = 0;
    for (size_t i = 1; i + 1 < value->rank; i++) channels[i] = (uint8_t)(i + 1);
    channels[value->rank - 1] = 1;
    if (!strides_follow(value, strides, rows) && strides_follow(value, strides, channels)) memcpy(value->dim_order, channels, value->rank);
}

static fid_status read_strides(fidc_reader *r, const json_t *meta, fidc_value *value) {
    const json_t *strides = json_object_get(meta, "strides");
    int64_t at_hint[FID_MAX_RANK];
    if (json_array_size(strides) != value->rank) return FID_OK;
    for (size_t i = 0; i < value->rank; i++) {
        const fidc_expr *stride = NULL;
        FID_TRY(fidc_read_sym_int(r, json_array_get(strides, i), &stride));
        at_hint[i] = fidc_expr_at(stride, FIDC_AT_HINT);
    }
    set_dim_order(value, at_hint);
    return FID_OK;
}

fid_status fidc_read_tensor_meta(fidc_reader *r, const json_t *meta, fidc_value *value) {
    int64_t code = 0, layout = 7;
    fid_dtype dtype = FID_DTYPE_NONE;
    const json_t *sizes = NULL;
    FID_TRY(fidc_json_integer(r, meta, "dtype", &code));
    FID_TRY(fidc_read_dtype(r, code, &dtype));
    FID_TRY(fidc_json_array(r, meta, "sizes", &sizes));
    if (!fidc_json_absent(meta, "layout")) FID_TRY(fidc_json_integer(r, meta, "layout", &layout));
    if (layout != 7) return fidc_reader_fail(r, FID_NOT_SUPPORTED, "tensor '%s' is not strided but sparse, which is not supported", value->name);
    size_t rank = json_array_size(sizes);
    if (rank > FID_MAX_RANK)
        return fidc_reader_fail(r, FID_NOT_SUPPORTED, "tensor '%s' has %zu dimensions; at most %d are supported", value->name, rank, FID_MAX_RANK);
    const fidc_expr **exprs = fidc_allocate(r->program, rank * sizeof *exprs);
    if (!exprs) return FID_OUT_OF_MEMORY;
    for (size_t i = 0; i < rank; i++) FID_TRY(fidc_read_sym_int(r, json_array_get(sizes, i), &exprs[i]));
    for (size_t i = 0; i < rank; i++)
        if (fidc_expr_is_const(exprs[i]) && exprs[i]->constant < 0)
            return fidc_reader_fail(r, FID_INVALID_PROGRAM, "tensor '%s' has the size %lld", value->name, (long long)exprs[i]->constant);
    value->dtype = (uint8_t)dtype;
    value->rank = (uint8_t)rank;
    value->sizes = exprs;
    for (size_t i = 0; i < rank; i++) value->dim_order[i] = (uint8_t)i;
    return read_strides(r, meta, value);
}

/* ---- Names ---- */

fid_status fidc_claim_name(fidc_reader *r, fidc_value *value) {
    while (value->name && fidc_name_map_get(&r->names, value->name)) value->name = fidc_text_format(r->program, "%s_", value->name);
    return value->name && fidc_name_map_put(r->program, &r->names, value->name, value) ? FID_OK : FID_OUT_OF_MEMORY;
}

/* Later stages call new values t0, t1, ...: they start behind those that the archive has. */
static void reserve_counter(fidc_graph *graph, const json_t *names) {
    const char *name;
    json_t *item;
    json_object_foreach((json_t *)names, name, item) {
        size_t digits = name[0] == 't' ? strspn(name + 1, "0123456789") : 0;
        if (!digits || digits > 8 || name[digits + 1]) continue;
        uint32_t number = (uint32_t)strtoul(name + 1, NULL, 10);
        if (number >= graph->name_counter) graph->name_counter = number + 1;
    }
}

/* ---- Scopes ---- */

fid_status fidc_scope_open(const fidc_reader *r, const json_t *graph_json, fidc_graph *graph, const char *prefix, fidc_scope *out_scope) {
    fidc_scope scope = {.graph = graph, .prefix = prefix};
    FID_TRY(fidc_json_object(r, graph_json, "tensor_values", &scope.tensors));
    FID_TRY(fidc_json_object(r, graph_json, "sym_int_values", &scope.ints));
    FID_TRY(fidc_json_object(r, graph_json, "sym_bool_values", &scope.bools));
    scope.floats = json_object_get(graph_json, "sym_float_values");
    reserve_counter(graph, scope.tensors);
    reserve_counter(graph, scope.ints);
    *out_scope = scope;
    return FID_OK;
}

static fid_status read_number_meta(fidc_reader *r, const fidc_scope *scope, const char *name, fidc_value *value) {
    const json_t *meta = json_object_get(value->type == FIDC_INT ? scope->ints : value->type == FIDC_BOOL ? scope->bools : scope->floats, name);
    if (value->type == FIDC_INT && meta) return fidc_read_sym_int(r, meta, &value->number);
    bool is_bool = value->type == FIDC_BOOL;
    value->number = fidc_expr_bounded(r->program, 0, is_bool ? 1 : FIDC_UNBOUNDED, 1);
    return value->number ? FID_OK : FID_OUT_OF_MEMORY;
}

fid_status fidc_scope_define(fidc_reader *r, fidc_scope *scope, const char *name, fidc_value *value) {
    if (value->type == FIDC_TENSOR) {
        const json_t *meta = json_object_get(scope->tensors, name);
        if (!meta) return fidc_reader_fail(r, FID_INVALID_PROGRAM, "value '%s' has no entry in tensor_values", name);
        FID_TRY(fidc_read_tensor_meta(r, meta, value));
    } else if (value->type != FIDC_NOTHING) {
        FID_TRY(read_number_meta(r, scope, name, value));
    }
    if (fidc_name_map_get(&scope->values, name))
        return fidc_reader_fail(r, FID_INVALID_PROGRAM, "the name '%s' is given twice", name);
    if (scope->graph == r->graph) FID_TRY(fidc_claim_name(r, value));
    return fidc_name_map_put(r->program, &scope->values, name, value) ? FID_OK : FID_OUT_OF_MEMORY;
}

fid_status fidc_scope_find(const fidc_reader *r, const fidc_scope *scope, const char *name, fidc_value **out_value) {
    *out_value = fidc_name_map_get(&scope->values, name);
    if (!*out_value) return fidc_reader_fail(r, FID_INVALID_PROGRAM, "value '%s' is used but never given", name);
    return FID_OK;
}
