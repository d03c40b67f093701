/* Reads the lines of the files in tests/ops/cases (make_cases.py describes the format) into values. For tests only: header with static
 * functions, memory from an arena of the caller. */
#ifndef FID_TESTS_OPS_CASES_H
#define FID_TESTS_OPS_CASES_H

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/allocator.h"
#include "kernels/ref/elements.h"

#define CASE_MAX_VALUES 64

typedef struct op_case {
    char name[100];      /* "aten::add" */
    char overload[60];   /* "Tensor", "" */
    fid_value *args[CASE_MAX_VALUES];
    uint32_t arg_count;
    fid_value *results[CASE_MAX_VALUES];
    bool layout[CASE_MAX_VALUES]; /* the result's dim order counts */
    uint32_t result_count;
    bool fails;          /* the call must fail */
    double relative, absolute; /* tolerance of the line; negative: by dtype */
} op_case;

typedef struct case_reader {
    const char *at;
    fid_arena *arena;
    bool saw_layout;     /* the last tensor had a dim order */
    bool bad;
} case_reader;

static void *case_memory(case_reader *r, size_t count, size_t size) { return fid_arena_allocate_array(r->arena, count ? count : 1, size); }

static bool case_take(case_reader *r, const char *text) {
    size_t length = strlen(text);
    if (strncmp(r->at, text, length) != 0) return false;
    r->at += length;
    return true;
}

static void case_expect(case_reader *r, const char *text) {
    if (!case_take(r, text)) r->bad = true;
}

static void case_blanks(case_reader *r) {
    while (*r->at == ' ') r->at++;
}

/* ---- Tensors ---- */

static double case_double(case_reader *r) {
    char *end;
    double value = strtod(r->at, &end);
    if (end == r->at) r->bad = true;
    r->at = end;
    return value;
}

static int64_t case_int(case_reader *r) {
    char *end;
    int64_t value = *r->at == '-' ? strtoll(r->at, &end, 10) : (int64_t)strtoull(r->at, &end, 10);
    if (end == r->at) r->bad = true;
    r->at = end;
    return value;
}

static fidk_element case_element(case_reader *r, fid_dtype dtype) {
    fidk_element element = {.c = {0, 0}};
    switch (fidk_form_of(dtype)) {
    case FIDK_INTEGER: element.i = case_int(r); break;
    case FIDK_REAL: element.d = case_double(r); break;
    case FIDK_COMPLEX:
        element.c.re = case_double(r);
        case_expect(r, ":");
        element.c.im = case_double(r);
        break;
    }
    return element;
}

static void case_sizes(case_reader *r, fid_tensor *tensor) {
    int64_t sizes[FID_MAX_RANK];
    case_expect(r, "[");
    while (!r->bad && *r->at != ']' && tensor->rank < FID_MAX_RANK) {
        sizes[tensor->rank++] = case_int(r);
        case_take(r, ",");
    }
    case_expect(r, "]");
    tensor->sizes = case_memory(r, tensor->rank, sizeof sizes[0]);
    tensor->strides = case_memory(r, tensor->rank, sizeof sizes[0]);
    tensor->dim_order = case_memory(r, tensor->rank, 1);
    memcpy(tensor->sizes, sizes, tensor->rank * sizeof sizes[0]);
}

static void case_dim_order(case_reader *r, fid_tensor *tensor) {
    r->saw_layout = case_take(r, "@");
    for (uint8_t d = 0; d < tensor->rank; d++) {
        char digit = r->saw_layout ? *r->at++ : 0;
        tensor->dim_order[d] = r->saw_layout ? (uint8_t)(isdigit(digit) ? digit - '0' : digit - 'a' + 10) : d;
    }
    if (!fid_dim_order_valid(tensor->dim_order, tensor->rank)) r->bad = true;
    else fid_tensor_update_strides(tensor);
}

static fid_tensor *case_tensor(case_reader *r) {
    char name[12] = {0};
    fid_tensor *tensor = case_memory(r, 1, sizeof *tensor);
    for (size_t i = 0; i + 1 < sizeof name && isalnum(*r->at); i++) name[i] = *r->at++;
    fid_dtype dtype = fid_dtype_from_name(name);
    if (dtype == FID_DTYPE_NONE) {
        r->bad = true;
        return tensor;
    }
    tensor->dtype = (uint8_t)dtype;
    case_sizes(r, tensor);
    case_dim_order(r, tensor);
    if (r->bad) return tensor;
    tensor->capacity = fid_tensor_bytes(tensor);
    tensor->data = fid_arena_allocate(r->arena, tensor->capacity ? tensor->capacity : 1, 64);
    fidk_walk walk;
    fidk_walk_begin(&walk, tensor->sizes, tensor->rank);
    fidk_walk_add_strides(&walk, tensor->strides);
    case_expect(r, "{");
    FIDK_WALK(&walk) {
        case_blanks(r);
        fidk_store(dtype, tensor->data, walk.at[0], case_element(r, dtype));
        if (r->bad) return tensor;
    }
    case_expect(r, "}");
    return tensor;
}

/* ---- Other values ---- */

static bool case_starts_tensor(const char *at) {
    const char *start = at;
    while (isalnum(*at)) at++;
    return at > start && isalpha(*start) && *at == '[';
}

static fid_value case_number(case_reader *r) {
    if (case_take(r, "True")) return fid_bool_value(true);
    if (case_take(r, "False")) return fid_bool_value(false);
    const char *end = r->at;
    while (*end && !strchr(" ,])", *end)) end++;
    for (const char *c = r->at; c < end; c++) {
        if (strchr(".eni", *c)) return fid_double_value(case_double(r));
    }
    return fid_int_value(case_int(r));
}

static fid_value case_list(case_reader *r) {
    fid_value items[CASE_MAX_VALUES], list = {.tag = FID_TAG_INT_LIST};
    size_t count = 0;
    while (!r->bad && *r->at != ']' && count < CASE_MAX_VALUES) {
        items[count++] = case_number(r);
        case_take(r, ",");
    }
    case_expect(r, "]");
    uint8_t tag = count ? items[0].tag : FID_TAG_INT;
    int64_t *ints = case_memory(r, count, sizeof *ints);
    double *doubles = case_memory(r, count, sizeof *doubles);
    bool *bools = case_memory(r, count, sizeof *bools);
    for (size_t i = 0; i < count; i++) {
        ints[i] = items[i].as.integer;
        doubles[i] = fid_value_double(&items[i]);
        bools[i] = fid_value_bool(&items[i]);
    }
    list.as.ints.count = count; /* at the same place for all three */
    if (tag == FID_TAG_INT) list.as.ints.items = ints;
    else if (tag == FID_TAG_DOUBLE) list.tag = FID_TAG_DOUBLE_LIST, list.as.doubles.items = doubles;
    else list.tag = FID_TAG_BOOL_LIST, list.as.bools.items = bools;
    return list;
}

static fid_value case_tensors(case_reader *r) {
    fid_tensor **items = case_memory(r, CASE_MAX_VALUES, sizeof *items);
    size_t count = 0;
    bool absent = false;
    while (!r->bad && *r->at != ')' && count < CASE_MAX_VALUES) {
        bool none = case_take(r, "None");
        absent |= none;
        items[count++] = none ? NULL : case_tensor(r);
        case_blanks(r);
    }
    case_expect(r, ")");
    return (fid_value){.as.tensors = {items, count}, .tag = absent ? FID_TAG_OPTIONAL_TENSOR_LIST : FID_TAG_TENSOR_LIST};
}

static fid_value case_text(case_reader *r) {
    const char *end = strchr(r->at, '\'');
    fid_value value = {.tag = FID_TAG_STRING};
    if (!end) {
        r->bad = true;
        return value;
    }
    value.as.string.length = (size_t)(end - r->at);
    value.as.string.text = fid_arena_copy_text(r->arena, r->at, value.as.string.length);
    r->at = end + 1;
    return value;
}

static fid_value *case_value(case_reader *r) {
    fid_value *value = case_memory(r, 1, sizeof *value);
    r->saw_layout = false;
    if (case_take(r, "None")) *value = fid_none_value();
    else if (case_take(r, "'")) *value = case_text(r);
    else if (case_take(r, "[")) *value = case_list(r);
    else if (case_take(r, "(")) *value = case_tensors(r);
    else if (case_starts_tensor(r->at)) *value = fid_tensor_value(case_tensor(r));
    else *value = case_number(r);
    return value;
}

/* ---- Lines ---- */

static void case_name(case_reader *r, op_case *c) {
    const char *end = strchr(r->at, ' '), *dot = end ? memchr(r->at, '.', (size_t)(end - r->at)) : NULL;
    if (!end || (size_t)(end - r->at) >= sizeof c->name) {
        r->bad = true;
        return;
    }
    snprintf(c->name, sizeof c->name, "%.*s", (int)((dot ? dot : end) - r->at), r->at);
    if (dot) snprintf(c->overload, sizeof c->overload, "%.*s", (int)(end - dot - 1), dot + 1);
    r->at = end;
}

static void case_results(case_reader *r, op_case *c) {
    for (case_blanks(r); *r->at && *r->at != '\n' && !r->bad; case_blanks(r)) {
        if (case_take(r, "error")) {
            c->fails = true;
        } else if (case_take(r, "tol=")) {
            c->relative = case_double(r);
            case_expect(r, ",");
            c->absolute = case_double(r);
        } else if (c->result_count < CASE_MAX_VALUES) {
            c->results[c->result_count] = case_value(r);
            c->layout[c->result_count++] = r->saw_layout;
        } else {
            r->bad = true;
        }
    }
}

/* False: the line is malformed. */
static bool case_read(const char *line, fid_arena *arena, op_case *c) {
    case_reader r = {.at = line, .arena = arena};
    *c = (op_case){.relative = -1, .absolute = -1};
    case_name(&r, c);
    for (case_blanks(&r); !r.bad && !case_take(&r, "->"); case_blanks(&r)) {
        if (c->arg_count == CASE_MAX_VALUES || !*r.at) return false;
        c->args[c->arg_count++] = case_value(&r);
    }
    if (!r.bad) case_results(&r, c);
    return !r.bad;
}

#endif
