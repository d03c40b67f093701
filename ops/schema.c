/* Walking schema strings, looking rows up, checking calls against them. */
#include "ops/operator.h"

static bool same_text(const char *text, const char *other, size_t other_length) {
    return strlen(text) == other_length && memcmp(text, other, other_length) == 0;
}

const fid_op *fid_op_find_out(const fid_op_table *table, const char *name, size_t name_length, const char *out, size_t out_length) {
    for (size_t i = 0; i < table->count; i++) {
        const fid_op *op = &table->ops[i];
        if (op->reference && same_text(op->name, name, name_length) && same_text(op->out, out, out_length)) return op;
    }
    return NULL;
}

const fid_op *fid_op_find(const fid_op_table *table, const char *name, const char *overload) {
    if (strcmp(overload, "default") == 0) overload = "";
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->ops[i].name, name) == 0 && strcmp(table->ops[i].overload, overload) == 0) return &table->ops[i];
    }
    return NULL;
}

/* ---- Walking ---- */

typedef struct type_word {
    const char *word;
    uint8_t type;
} type_word;

static const type_word type_words[] = {
    {"Tensor", FID_SCHEMA_TENSOR}, {"int", FID_SCHEMA_INT}, {"SymInt", FID_SCHEMA_INT}, {"float", FID_SCHEMA_FLOAT},
    {"bool", FID_SCHEMA_BOOL}, {"Scalar", FID_SCHEMA_SCALAR}, {"str", FID_SCHEMA_STRING}, {"ScalarType", FID_SCHEMA_DTYPE},
    {"Layout", FID_SCHEMA_LAYOUT}, {"Device", FID_SCHEMA_DEVICE}, {"MemoryFormat", FID_SCHEMA_MEMORY_FORMAT},
    {"Generator", FID_SCHEMA_GENERATOR},
};

static bool is_name_char(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

static const char *skip_blanks(const char *at) {
    while (*at == ' ' || *at == ',') at++;
    return at;
}

static const char *read_word(const char *at, fid_span *out_word) {
    const char *start = at;
    while (is_name_char(*at)) at++;
    *out_word = fid_span_of(start, (size_t)(at - start));
    return at;
}

static const char *read_list_mark(const char *at, fid_schema_arg *out) {
    out->list = true;
    for (at++; *at >= '0' && *at <= '9'; at++) out->list_size = (uint8_t)(out->list_size * 10 + (*at - '0'));
    return *at == ']' ? at + 1 : NULL;
}

static const char *read_type(const char *at, fid_schema_arg *out) {
    fid_span word;
    at = read_word(at, &word);
    size_t i = 0, count = sizeof type_words / sizeof type_words[0];
    while (i < count && !same_text(type_words[i].word, (const char *)word.data, word.size)) i++;
    if (i == count) return NULL;
    out->type = type_words[i].type;
    bool question = *at == '?';
    if (question) at++;
    if (*at != '[') {
        out->optional = question;
        return at;
    }
    out->optional_items = question;
    if (!(at = read_list_mark(at, out))) return NULL;
    if (*at == '?') {
        out->optional = true;
        at++;
    }
    return at;
}

static const char *read_default(const char *at, fid_span *out_text) {
    const char *start = at;
    int depth = 0;
    for (; *at && (depth > 0 || (*at != ',' && *at != ')')); at++) depth += (*at == '[') - (*at == ']');
    *out_text = fid_span_of(start, (size_t)(at - start));
    return at;
}

fid_schema_cursor fid_schema_begin(const char *schema) { return (fid_schema_cursor){schema + (*schema == '('), false, false}; }

bool fid_schema_next_arg(fid_schema_cursor *cursor, fid_schema_arg *out_arg) {
    if (cursor->in_results) return false;
    const char *at = skip_blanks(cursor->at);
    if (*at == '*') {
        cursor->keyword_only = true;
        at = skip_blanks(at + 1);
    }
    *out_arg = (fid_schema_arg){.keyword_only = cursor->keyword_only};
    if (*at == ')' || !(at = read_type(at, out_arg))) {
        while (*cursor->at && *cursor->at != ')') cursor->at++;
        if (*cursor->at) cursor->at++;
        cursor->in_results = true;
        return false;
    }
    at = read_word(skip_blanks(at), &out_arg->name);
    if (*at == '=') at = read_default(at + 1, &out_arg->default_text);
    cursor->at = at;
    return true;
}

bool fid_schema_next_result(fid_schema_cursor *cursor, fid_schema_arg *out_result) {
    fid_schema_arg skipped;
    while (fid_schema_next_arg(cursor, &skipped)) {}
    const char *at = cursor->at;
    while (*at == ' ' || *at == ',' || *at == '(' || *at == '-' || *at == '>') at++;
    *out_result = (fid_schema_arg){0};
    if (!*at || *at == ')' || !(at = read_type(at, out_result))) return false;
    if (*at == ' ' && is_name_char(at[1])) at = read_word(at + 1, &out_result->name); /* named results: "Tensor values" */
    cursor->at = at;
    return true;
}

/* ---- Checking ---- */

static bool scalar_matches(const fid_schema_arg *arg, uint8_t tag) {
    switch (arg->type) {
    case FID_SCHEMA_TENSOR: return tag == FID_TAG_TENSOR;
    case FID_SCHEMA_STRING: return tag == FID_TAG_STRING;
    case FID_SCHEMA_FLOAT:
    case FID_SCHEMA_SCALAR:
    case FID_SCHEMA_BOOL:
    case FID_SCHEMA_INT: return tag == FID_TAG_INT || tag == FID_TAG_DOUBLE || tag == FID_TAG_BOOL;
    case FID_SCHEMA_DEVICE:
    case FID_SCHEMA_GENERATOR: return true; /* carried by nobody, read by nobody */
    default: return tag == FID_TAG_INT;     /* dtype, layout, memory format: their codes */
    }
}

static bool list_matches(const fid_schema_arg *arg, uint8_t tag) {
    switch (arg->type) {
    case FID_SCHEMA_TENSOR: return tag == FID_TAG_TENSOR_LIST || (arg->optional_items && tag == FID_TAG_OPTIONAL_TENSOR_LIST);
    case FID_SCHEMA_INT: return tag == FID_TAG_INT_LIST || (arg->list_size && tag == FID_TAG_INT);
    case FID_SCHEMA_BOOL: return tag == FID_TAG_BOOL_LIST;
    default: return tag == FID_TAG_DOUBLE_LIST || tag == FID_TAG_INT_LIST;
    }
}

static bool arg_matches(const fid_schema_arg *arg, const fid_value *value) {
    if (value->tag == FID_TAG_NONE) {
        return arg->optional || arg->type == FID_SCHEMA_DEVICE || arg->type == FID_SCHEMA_GENERATOR;
    }
    return arg->list ? list_matches(arg, value->tag) : scalar_matches(arg, value->tag);
}

static fid_status mismatch(const fid_call *call, uint32_t i, const fid_schema_arg *arg) {
    return fid_fail(call->sink, FID_INVALID_PROGRAM, "%s: argument %u (%.*s) has a value of kind %d, which its schema does not allow",
                    call->name, i, (int)arg->name.size, (const char *)arg->name.data, call->args[i]->tag);
}

/* dtype, layout, device and pin_memory: PyTorch's out= forms have none of the four, since the output tells them. */
static bool is_tensor_option(const fid_schema_arg *arg) {
    return arg->type == FID_SCHEMA_LAYOUT || arg->type == FID_SCHEMA_DEVICE ||
           (arg->type == FID_SCHEMA_BOOL && same_text("pin_memory", (const char *)arg->name.data, arg->name.size)) ||
           (arg->type == FID_SCHEMA_DTYPE && same_text("dtype", (const char *)arg->name.data, arg->name.size));
}

static bool leaves_out_options(const char *schema, uint32_t arg_count) {
    fid_schema_cursor cursor = fid_schema_begin(schema);
    fid_schema_arg arg;
    uint32_t expected = 0, options = 0;
    for (; fid_schema_next_arg(&cursor, &arg); expected++) options += is_tensor_option(&arg);
    while (fid_schema_next_result(&cursor, &arg)) expected++;
    return options == 4 && arg_count + 4 == expected;
}

fid_status fid_schema_check(const fid_op *op, fid_call *call) {
    fid_schema_cursor cursor = fid_schema_begin(op->schema);
    fid_schema_arg arg;
    bool no_options = leaves_out_options(op->schema, call->arg_count);
    uint32_t i = 0;
    while (fid_schema_next_arg(&cursor, &arg)) {
        if (no_options && is_tensor_option(&arg)) continue;
        if (i < call->arg_count && !arg_matches(&arg, call->args[i])) return mismatch(call, i, &arg);
        i++;
    }
    call->output_index = i;
    /* A call form without out= arguments (prims, effects) gives its results as values of any kind that the kernel writes. */
    bool writes_values = op->kind == FID_OP_SCALAR || op->kind == FID_OP_EFFECT;
    for (; fid_schema_next_result(&cursor, &arg); i++) {
        if (i < call->arg_count && !writes_values && !arg_matches(&arg, call->args[i])) return mismatch(call, i, &arg);
    }
    if (i != call->arg_count) {
        return fid_fail(call->sink, FID_INVALID_PROGRAM, "%s takes %u arguments with its outputs, the call has %u", call->name, i,
                        call->arg_count);
    }
    return FID_OK;
}
