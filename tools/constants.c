/* Constants of the command line as methods: JSON's values and Python's words for true and false, flattened as torch's pytree does. */
#include "tools/constants.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "format/npy.h"

typedef struct constant_memory {
    struct constant_memory *next;
    char *name, *tree;
    json_t *json;
    void *file;
    fid_tensor tensor;
    int64_t sizes[FID_MAX_RANK], strides[FID_MAX_RANK];
    uint8_t dim_order[FID_MAX_RANK];
    fid_value *values;
    size_t count;
} constant_memory;

static const char leaf[] = "{\"type\": null, \"context\": null, \"children_spec\": []}";

/* ---- JSON to values and tree ---- */

static bool add_value(constant_memory *m, fid_value value) {
    fid_value *values = realloc(m->values, (m->count + 1) * sizeof *values);
    if (!values) return false;
    m->values = values;
    values[m->count++] = value;
    return true;
}

static bool flatten(constant_memory *m, const json_t *json, FILE *tree);

static bool flatten_list(constant_memory *m, const json_t *json, FILE *tree) {
    fputs("{\"type\": \"builtins.list\", \"context\": \"null\", \"children_spec\": [", tree);
    for (size_t i = 0; i < json_array_size(json); i++) {
        if (i) fputs(", ", tree);
        if (!flatten(m, json_array_get(json, i), tree)) return false;
    }
    fputs("]}", tree);
    return true;
}

/* The keys stand in the context, as JSON text in a JSON text. */
static bool put_keys(json_t *object, FILE *tree) {
    json_t *keys = json_array();
    const char *key;
    json_t *item;
    json_object_foreach(object, key, item) json_array_append_new(keys, json_string(key));
    char *text = json_dumps(keys, JSON_ENCODE_ANY);
    json_t *quoted = text ? json_string(text) : NULL;
    char *context = quoted ? json_dumps(quoted, JSON_ENCODE_ANY) : NULL;
    if (context) fprintf(tree, "{\"type\": \"builtins.dict\", \"context\": %s, \"children_spec\": [", context);
    free(text);
    free(context);
    json_decref(quoted);
    json_decref(keys);
    return context != NULL;
}

static bool flatten_dict(constant_memory *m, json_t *json, FILE *tree) {
    const char *key;
    json_t *item;
    bool first = true;
    if (!put_keys(json, tree)) return false;
    json_object_foreach(json, key, item) {
        if (!first) fputs(", ", tree);
        first = false;
        if (!flatten(m, item, tree)) return false;
    }
    fputs("]}", tree);
    return true;
}

/* False: no memory, or a null, which has no place in a program. */
static bool flatten(constant_memory *m, const json_t *json, FILE *tree) {
    if (json_is_array(json)) return flatten_list(m, json, tree);
    if (json_is_object(json)) return flatten_dict(m, (json_t *)(uintptr_t)json, tree);
    fputs(leaf, tree);
    if (json_is_integer(json)) return add_value(m, fid_int_value(json_integer_value(json)));
    if (json_is_real(json)) return add_value(m, fid_double_value(json_real_value(json)));
    if (json_is_boolean(json)) return add_value(m, fid_bool_value(json_is_true(json)));
    fid_value text = {.tag = FID_TAG_STRING, .as.string = {json_string_value(json), json_string_length(json)}};
    return json_is_string(json) && add_value(m, text);
}

static bool flatten_all(constant_memory *m) {
    size_t size;
    FILE *tree = open_memstream(&m->tree, &size);
    if (!tree) return false;
    fputs("[1, ", tree);
    bool ok = flatten(m, m->json, tree);
    fputs("]", tree);
    return fclose(tree) == 0 && ok;
}

/* ---- One constant ---- */

static bool ends(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

static int read_array(const arguments *a, constant_memory *m, const char *path) {
    size_t size;
    fid_npy npy;
    fid_message message = {.status = FID_OK};
    fid_sink sink = fid_message_sink(&message);
    m->file = read_file(path, &size);
    if (!m->file) return usage_error(a, "--constant %s: cannot read %s: %s", m->name, path, strerror(errno));
    if (fid_npy_parse(&sink, path, fid_span_of(m->file, size), &npy) != FID_OK) return usage_error(a, "--constant %s: %s", m->name, message.text);
    memcpy(m->sizes, npy.sizes, sizeof m->sizes);
    for (size_t i = 0; i < npy.rank; i++) m->dim_order[i] = (uint8_t)(npy.fortran_order ? npy.rank - 1 - i : i);
    m->tensor = (fid_tensor){.data = (void *)(uintptr_t)npy.data.data, .sizes = m->sizes, .strides = m->strides, .dim_order = m->dim_order,
                             .capacity = npy.data.size, .rank = (uint8_t)npy.rank, .dtype = (uint8_t)npy.dtype};
    fid_tensor_update_strides(&m->tensor);
    return add_value(m, fid_tensor_value(&m->tensor)) ? EXIT_OK : failed("compile", "out of memory");
}

/* What is no JSON is a text. */
static int read_value(const arguments *a, constant_memory *m, const char *text) {
    if (ends(text, ".npy")) return read_array(a, m, text);
    if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0) m->json = json_boolean(text[0] == 'T');
    else m->json = json_loads(text, JSON_DECODE_ANY, NULL);
    if (!m->json) m->json = json_string(text);
    if (!m->json) return usage_error(a, "--constant %s: the text is no UTF-8", m->name);
    return flatten_all(m) ? EXIT_OK : usage_error(a, "--constant %s: a program has no place for null", m->name);
}

static int read_constant(const arguments *a, const char *text, constant_memory *m) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1]) return usage_error(a, "--constant takes NAME=VALUE, not \"%s\"", text);
    m->name = strndup(text, (size_t)(equals - text));
    return m->name ? read_value(a, m, equals + 1) : failed("compile", "out of memory");
}

/* ---- All ---- */

int constants_read(const arguments *a, constant_list *out) {
    out->methods = calloc((size_t)a->option_count + 1, sizeof *out->methods);
    if (!out->methods) return failed("compile", "out of memory");
    for (int i = 0; i < a->option_count; i++) {
        if (strcmp(a->options[i].name, "--constant") != 0) continue;
        constant_memory *m = calloc(1, sizeof *m);
        if (!m) return failed("compile", "out of memory");
        m->next = out->memory;
        out->memory = m;
        int status = read_constant(a, a->options[i].value, m);
        if (status != EXIT_OK) return status;
        out->methods[out->count++] = (fidc_constant_method){m->name, m->values, m->count, m->tree};
    }
    return EXIT_OK;
}

void constants_close(constant_list *list) {
    for (constant_memory *m = list->memory, *next; m; m = next) {
        next = m->next;
        json_decref(m->json);
        free(m->name);
        free(m->tree);
        free(m->file);
        free(m->values);
        free(m);
    }
    free(list->methods);
    *list = (constant_list){0};
}
