/* Arguments of nodes: every kind that torch's export schema has, fitted to the type that the operator's schema wants. */
#include "compiler/archive/reader.h"

/* ---- Fitting to the schema ---- */

static void fit_number(fidc_arg *arg, uint8_t type) {
    if (type == FID_SCHEMA_FLOAT && (arg->kind == FIDC_ARG_INT || arg->kind == FIDC_ARG_BOOL)) *arg = fidc_d((double)arg->as.integer);
    else if (type == FID_SCHEMA_INT && arg->kind == FIDC_ARG_BOOL) arg->kind = FIDC_ARG_INT;
    else if (type == FID_SCHEMA_BOOL && arg->kind == FIDC_ARG_INT) *arg = fidc_b(arg->as.integer != 0);
}

static bool fit(fidc_program *program, const fid_schema_arg *schema, fidc_arg *arg) {
    if (!schema || arg->kind == FIDC_ARG_NONE) return true;
    if (schema->list && arg->kind != FIDC_ARG_LIST) { /* a single number stands for a whole int[2] */
        fidc_arg items[256];
        size_t count = schema->list_size ? schema->list_size : 1;
        for (size_t i = 0; i < count; i++) items[i] = *arg;
        *arg = fidc_list(program, items, count);
        if (!arg->as.list.count) return false;
    }
    if (arg->kind != FIDC_ARG_LIST) fit_number(arg, schema->type);
    for (uint32_t i = 0; arg->kind == FIDC_ARG_LIST && i < arg->as.list.count; i++) fit_number(&arg->as.list.items[i], schema->type);
    return true;
}

/* ---- Kinds ---- */

static fid_status wrong_value(const fidc_reader *r, const char *kind) {
    return fidc_reader_fail(r, FID_INVALID_PROGRAM, "an argument of kind '%s' has no value of that kind", kind);
}

static fid_status read_value(fidc_reader *r, fidc_scope *scope, const json_t *name, const char *kind, fidc_arg *out) {
    fidc_value *value = NULL;
    if (!json_is_string(name)) return wrong_value(r, kind);
    FID_TRY(fidc_scope_find(r, scope, json_string_value(name), &value));
    *out = fidc_v(value);
    return FID_OK;
}

static fid_status read_tensor(fidc_reader *r, fidc_scope *scope, const json_t *tensor, fidc_arg *out) {
    return read_value(r, scope, json_object_get(tensor, "name"), "as_tensor", out);
}

static fid_status read_int(fidc_reader *r, fidc_scope *scope, const json_t *value, fidc_arg *out) {
    (void)scope;
    *out = fidc_i(json_integer_value(value));
    return json_is_integer(value) ? FID_OK : wrong_value(r, "as_int");
}

static fid_status read_float(fidc_reader *r, fidc_scope *scope, const json_t *value, fidc_arg *out) {
    (void)scope;
    double number = 0;
    bool ok = fidc_json_float(value, &number);
    *out = fidc_d(number);
    return ok ? FID_OK : wrong_value(r, "as_float");
}

/* Real numbers serve where the imaginary part is zero. */
static fid_status read_complex(fidc_reader *r, fidc_scope *scope, const json_t *value, fidc_arg *out) {
    double real = 0, imaginary = 0;
    if (!fidc_json_float(json_object_get(value, "real"), &real) || !fidc_json_float(json_object_get(value, "imag"), &imaginary)) {
        return wrong_value(r, "as_complex");
    }
    *out = fidc_d(real);
    return imaginary == 0 ? FID_OK : fidc_complex_number(r, scope->graph, real, imaginary, out);
}

static fid_status read_bool(fidc_reader *r, fidc_scope *scope, const json_t *value, fidc_arg *out) {
    (void)scope;
    *out = fidc_b(json_is_true(value));
    return json_is_boolean(value) ? FID_OK : wrong_value(r, "as_bool");
}

static fid_status read_text(fidc_reader *r, fidc_scope *scope, const json_t *value, fidc_arg *out) {
    (void)scope;
    if (!json_is_string(value)) return wrong_value(r, "as_string");
    *out = (fidc_arg){.kind = FIDC_ARG_STRING, .as.text = fidc_text(r->program, json_string_value(value))};
    return out->as.text ? FID_OK : FID_OUT_OF_MEMORY;
}

static fid_status read_none(fidc_reader *r, fidc_scope *scope, const json_t *value, fidc_arg *out) {
    (void)r, (void)scope, (void)value;
    *out = fidc_none();
    return FID_OK;
}

/* {"as_name": "s0"} or a plain number under another key. */
static fid_status read_symbolic(fidc_reader *r, fidc_scope *scope, const json_t *value, fidc_arg *out) {
    const char *kind = NULL;
    const json_t *inner = NULL;
    FID_TRY(fidc_json_union(r, value, &kind, &inner));
    if (strcmp(kind, "as_name") == 0) return read_value(r, scope, inner, kind, out);
    if (strcmp(kind, "as_int") == 0) return read_int(r, scope, inner, out);
    if (strcmp(kind, "as_float") == 0) return read_float(r, scope, inner, out);
    if (strcmp(kind, "as_bool") == 0) return read_bool(r, scope, inner, out);
    return wrong_value(r, kind);
}

static fid_status read_optional_tensor(fidc_reader *r, fidc_scope *scope, const json_t *value, fidc_arg *out) {
    const char *kind = NULL;
    const json_t *inner = NULL;
    FID_TRY(fidc_json_union(r, value, &kind, &inner));
    if (strcmp(kind, "as_none") == 0) return read_none(r, scope, inner, out);
    return strcmp(kind, "as_tensor") == 0 ? read_tensor(r, scope, inner, out) : wrong_value(r, kind);
}

static fid_status read_dtype(fidc_reader *r, fidc_scope *scope, const json_t *value, fidc_arg *out) {
    (void)scope;
    fid_dtype dtype = FID_DTYPE_NONE;
    if (!json_is_integer(value)) return wrong_value(r, "as_scalar_type");
    FID_TRY(fidc_read_dtype(r, json_integer_value(value), &dtype));
    *out = fidc_t(dtype);
    return FID_OK;
}

static fid_status read_memory_format(fidc_reader *r, fidc_scope *scope, const json_t *value, fidc_arg *out) {
    (void)scope;
    static const int8_t formats[] = {-1, 0, 2, 3, 1}; /* the schema's codes: contiguous, channels-last, -3d, preserve */
    int64_t code = json_integer_value(value);
    if (!json_is_integer(value) || code < 1 || code > 4) return wrong_value(r, "as_memory_format");
    *out = (fidc_arg){.kind = FIDC_ARG_MEMORY_FORMAT, .as.integer = formats[code]};
    return FID_OK;
}

static fid_status read_layout(fidc_reader *r, fidc_scope *scope, const json_t *value, fidc_arg *out) {
    (void)scope;
    if (!json_is_integer(value)) return wrong_value(r, "as_layout");
    if (json_integer_value(value) != 7) return fidc_reader_fail(r, FID_NOT_SUPPORTED, "a layout other than strided is not supported");
    *out = (fidc_arg){.kind = FIDC_ARG_LAYOUT};
    return FID_OK;
}

static fid_status read_device(fidc_reader *r, fidc_scope *scope, const json_t *value, fidc_arg *out) {
    (void)scope;
    const char *type = NULL;
    FID_TRY(fidc_json_text(r, value, "type", &type));
    const json_t *index = json_object_get(value, "index");
    *out = (fidc_arg){.kind = FIDC_ARG_DEVICE};
    out->as.text = json_is_integer(index) ? fidc_text_format(r->program, "%s:%lld", type, (long long)json_integer_value(index))
                                          : fidc_text(r->program, type);
    return out->as.text ? FID_OK : FID_OUT_OF_MEMORY;
}

typedef fid_status (*item_reader)(fidc_reader *r, fidc_scope *scope, const json_t *value, fidc_arg *out);

static fid_status read_list(fidc_reader *r, fidc_scope *scope, const json_t *value, item_reader read_item, int depth, fidc_arg *out) {
    if (!json_is_array(value)) return wrong_value(r, "list");
    size_t count = json_array_size(value);
    fidc_arg *items = fidc_allocate(r->program, count * sizeof *items);
    if (!items) return FID_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(value, i);
        if (depth > 1) FID_TRY(read_list(r, scope, item, read_item, depth - 1, &items[i]));
        else FID_TRY(read_item(r, scope, item, &items[i]));
    }
    *out = (fidc_arg){.kind = FIDC_ARG_LIST, .as.list = {items, (uint32_t)count}};
    return FID_OK;
}

/* Each kind of the schema's union: how an item is read, and how many lists lie around it. */
typedef struct kind_row {
    const char *kind;
    item_reader read;
    int lists;
} kind_row;

static const kind_row kinds[] = {
    {"as_tensor", read_tensor, 0}, {"as_int", read_int, 0}, {"as_ints", read_int, 1}, {"as_float", read_float, 0},
    {"as_floats", read_float, 1}, {"as_bool", read_bool, 0}, {"as_complex", read_complex, 0}, {"as_bools", read_bool, 1}, {"as_none", read_none, 0},
    {"as_tensors", read_tensor, 1}, {"as_string", read_text, 0}, {"as_strings", read_text, 1}, {"as_sym_int", read_symbolic, 0},
    {"as_sym_ints", read_symbolic, 1}, {"as_sym_float", read_symbolic, 0}, {"as_sym_floats", read_symbolic, 1},
    {"as_sym_bool", read_symbolic, 0}, {"as_sym_bools", read_symbolic, 1}, {"as_scalar_type", read_dtype, 0},
    {"as_memory_format", read_memory_format, 0}, {"as_layout", read_layout, 0}, {"as_device", read_device, 0},
    {"as_optional_tensor", read_optional_tensor, 0}, {"as_optional_tensors", read_optional_tensor, 1}, {"as_operator", read_text, 0},
    {"as_nested_tensors", read_tensor, 2}, {"as_int_lists", read_int, 2}, {"as_float_lists", read_float, 2},
};

fid_status fidc_read_arg(fidc_reader *r, fidc_scope *scope, const json_t *argument, const fid_schema_arg *schema, fidc_arg *out_arg) {
    const char *kind = NULL;
    const json_t *value = NULL;
    FID_TRY(fidc_json_union(r, argument, &kind, &value));
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const kind_row *row = &kinds[i];
        if (strcmp(row->kind, kind) != 0) continue;
        if (row->lists) FID_TRY(read_list(r, scope, value, row->read, row->lists, out_arg));
        else FID_TRY(row->read(r, scope, value, out_arg));
        return fit(r->program, schema, out_arg) ? FID_OK : FID_OUT_OF_MEMORY;
    }
    return fidc_reader_fail(r, FID_NOT_SUPPORTED, "an argument of kind '%s' is not supported here", kind);
}
