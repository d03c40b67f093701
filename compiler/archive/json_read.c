/* Access to the JSON of an archive: every member is checked for presence and type, so that an altered file ends in a sentence. */
#include <math.h>
#include <stdio.h>

#include "compiler/archive/reader.h"

fid_status fidc_reader_fail(const fidc_reader *r, fid_status status, const char *format, ...) {
    char sentence[600];
    va_list list;
    va_start(list, format);
    vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    if (r->node) return fid_fail(r->sink, status, "%s: node '%s': %s", r->path, r->node, sentence);
    return fid_fail(r->sink, status, "%s: %s", r->path, sentence);
}

fid_status fidc_json_parse(const fidc_reader *r, const char *member, fid_span bytes, json_t **out_json) {
    json_error_t error;
    json_t *json = json_loadb((const char *)bytes.data, bytes.size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!json) return fidc_reader_fail(r, FID_INVALID_PROGRAM, "member '%s' is no JSON: line %d, column %d: %s", member, error.line,
                                       error.column, error.text);
    *out_json = json;
    return FID_OK;
}

static const char *type_name(json_type type) {
    static const char *const names[] = {"object", "array", "text", "integer", "number", "true", "false", "null"};
    return names[type];
}

static fid_status get(const fidc_reader *r, const json_t *object, const char *key, json_type type, const json_t **out) {
    const json_t *value = json_object_get(object, key);
    if (!value) return fidc_reader_fail(r, FID_INVALID_PROGRAM, "the exported program lacks the field '%s'", key);
    if (json_typeof(value) != type)
        return fidc_reader_fail(r, FID_INVALID_PROGRAM, "field '%s' of the exported program is %s; expected %s", key,
                                type_name(json_typeof(value)), type_name(type));
    *out = value;
    return FID_OK;
}

fid_status fidc_json_object(const fidc_reader *r, const json_t *object, const char *key, const json_t **out_object) {
    return get(r, object, key, JSON_OBJECT, out_object);
}

fid_status fidc_json_array(const fidc_reader *r, const json_t *object, const char *key, const json_t **out_array) {
    return get(r, object, key, JSON_ARRAY, out_array);
}

fid_status fidc_json_text(const fidc_reader *r, const json_t *object, const char *key, const char **out_text) {
    const json_t *value = NULL;
    FID_TRY(get(r, object, key, JSON_STRING, &value));
    *out_text = json_string_value(value);
    return FID_OK;
}

fid_status fidc_json_integer(const fidc_reader *r, const json_t *object, const char *key, int64_t *out_integer) {
    const json_t *value = NULL;
    FID_TRY(get(r, object, key, JSON_INTEGER, &value));
    *out_integer = json_integer_value(value);
    return FID_OK;
}

fid_status fidc_json_union(const fidc_reader *r, const json_t *object, const char **out_kind, const json_t **out_value) {
    void *member = json_object_iter((json_t *)object);
    if (!member || json_object_size(object) != 1)
        return fidc_reader_fail(r, FID_INVALID_PROGRAM, "the exported program has an argument of no known kind");
    *out_kind = json_object_iter_key(member);
    *out_value = json_object_iter_value(member);
    return FID_OK;
}

bool fidc_json_float(const json_t *value, double *out_number) {
    const char *text = json_string_value(value);
    if (json_is_number(value)) *out_number = json_number_value(value);
    else if (text && strcmp(text, "Infinity") == 0) *out_number = INFINITY;
    else if (text && strcmp(text, "-Infinity") == 0) *out_number = -INFINITY;
    else if (text && strcmp(text, "NaN") == 0) *out_number = NAN;
    else return false;
    return true;
}

bool fidc_json_absent(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return !value || json_is_null(value);
}
