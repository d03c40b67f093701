/* Sample inputs: the archive's torch.save of (args, kwargs), flattened along the program's input tree as torch's pytree does. */
#include "compiler/archive/reader.h"

typedef struct flattening {
    fidc_reader *r;
    fidc_arg *args;
    uint32_t count;
} flattening;

static fid_status flatten(flattening *f, const json_t *spec, const fidc_pickle *value, int depth);

/* The sample does not fit the tree: classes that the pickle does not show. The program is as good without it. */
static fid_status give_up(void) { return FID_NOT_SUPPORTED; }

static fid_status tensor_example(flattening *f, const fidc_strided *tensor, fidc_arg *out) {
    fidc_reader *r = f->r;
    const char *name = fidc_text_format(r->program, "example_%u", f->count);
    const void *data = NULL;
    size_t bytes = 0;
    if (!name) return FID_OUT_OF_MEMORY;
    FID_TRY(fidc_strided_dense(r, name, tensor, &data, &bytes));
    fidc_value *value = fidc_value_constant(r->graph, name, (fid_dtype)tensor->dtype, tensor->sizes, tensor->rank, data, bytes);
    if (!value) return FID_OUT_OF_MEMORY;
    *out = fidc_v(value);
    return fidc_claim_name(r, value);
}

static fid_status leaf(flattening *f, const fidc_pickle *value) {
    if (f->count == f->r->graph->input_count) return give_up();
    fidc_arg *out = &f->args[f->count];
    switch (value->kind) {
    case FIDC_PICKLE_NONE: *out = fidc_none(); break;
    case FIDC_PICKLE_BOOL: *out = fidc_b(value->as.integer); break;
    case FIDC_PICKLE_INT: *out = fidc_i(value->as.integer); break;
    case FIDC_PICKLE_FLOAT: *out = fidc_d(value->as.number); break;
    case FIDC_PICKLE_TEXT: *out = (fidc_arg){.kind = FIDC_ARG_STRING, .as.text = value->as.text.bytes}; break;
    case FIDC_PICKLE_TENSOR: FID_TRY(tensor_example(f, value->as.tensor, out)); break;
    default: return give_up();
    }
    f->count++;
    return FID_OK;
}

static fid_status flatten_items(flattening *f, const json_t *children, const fidc_pickle *value, int depth) {
    if ((value->kind != FIDC_PICKLE_TUPLE && value->kind != FIDC_PICKLE_LIST) || value->as.list.count != json_array_size(children))
        return give_up();
    for (uint32_t i = 0; i < value->as.list.count; i++) FID_TRY(flatten(f, json_array_get(children, i), value->as.list.items[i], depth + 1));
    return FID_OK;
}

/* A dict's keys stand in the context, as JSON text: "[\"a\", \"b\"]". Their order is the order of the inputs. */
static fid_status flatten_dict(flattening *f, const json_t *spec, const json_t *children, const fidc_pickle *value, int depth) {
    const json_t *context = json_object_get(spec, "context");
    json_t *keys = json_is_string(context) ? json_loads(json_string_value(context), 0, NULL) : NULL;
    fid_status status = json_is_array(keys) && json_array_size(keys) == json_array_size(children) ? FID_OK : give_up();
    for (size_t i = 0; status == FID_OK && i < json_array_size(children); i++) {
        const char *key = json_string_value(json_array_get(keys, i));
        const fidc_pickle *item = key && value->kind == FIDC_PICKLE_DICT ? fidc_pickle_get(value, key) : NULL;
        status = item ? flatten(f, json_array_get(children, i), item, depth + 1) : give_up();
    }
    json_decref(keys);
    return status;
}

static fid_status flatten(flattening *f, const json_t *spec, const fidc_pickle *value, int depth) {
    const json_t *type = json_object_get(spec, "type"), *children = json_object_get(spec, "children_spec");
    if (depth > 100) return give_up();
    if (json_is_null(type)) return leaf(f, value);
    const char *name = json_string_value(type);
    if (!name || !json_is_array(children)) return give_up();
    if (strcmp(name, "builtins.tuple") == 0 || strcmp(name, "builtins.list") == 0) return flatten_items(f, children, value, depth);
    if (strcmp(name, "builtins.dict") == 0 || strcmp(name, "collections.OrderedDict") == 0) return flatten_dict(f, spec, children, value, depth);
    return give_up();
}

static fid_status flatten_all(fidc_reader *r, const fidc_pickle *sample) {
    json_t *tree = r->graph->input_tree ? json_loads(r->graph->input_tree, 0, NULL) : NULL;
    flattening f = {.r = r, .args = fidc_allocate(r->program, r->graph->input_count * sizeof *f.args)};
    fid_status status = f.args ? flatten(&f, json_array_get(tree, 1), sample, 0) : FID_OUT_OF_MEMORY;
    if (status == FID_OK && f.count == r->graph->input_count) r->graph->example_inputs = f.args;
    json_decref(tree);
    return status == FID_NOT_SUPPORTED ? FID_OK : status;
}

fid_status fidc_read_examples(fidc_reader *r) {
    const char *file = fidc_text_format(r->program, "%s.pt", r->model);
    const char *member = r->legacy ? "serialized_example_inputs.pt" : file ? fidc_member_name(r, "data/sample_inputs/", file) : NULL;
    fidc_pickle *sample = NULL;
    size_t index;
    fid_span bytes;
    if (!member) return FID_OUT_OF_MEMORY;
    if (fidc_zip_find(r->zip, member, &index) != FID_OK) return FID_OK;
    FID_TRY(fidc_zip_read_at(r->zip, index, &bytes));
    if (!bytes.size) return FID_OK;
    /* A sample of a class that we do not know is no reason to refuse the program, so that failure stays silent. */
    fid_status status = fidc_member_unpickle(r, NULL, member, &sample);
    if (status == FID_NOT_SUPPORTED) return FID_OK;
    if (status != FID_OK) return fidc_reader_fail(r, status, "member '%s' cannot be read: expected what torch.save writes", member);
    return flatten_all(r, sample);
}
