/* The signature of an exported program: which graph inputs are the user's, which are weights; which outputs are the user's, which
 * are new contents of buffers or inputs. */
#include "compiler/archive/reader.h"

/* ---- Inputs ---- */

static fid_status add_input(fidc_reader *r, fidc_value *value) {
    if (!value) return FID_OUT_OF_MEMORY;
    if (value->type == FIDC_NOTHING) FID_TRY(fidc_claim_name(r, value)); /* others are claimed where they are defined */
    r->graph->inputs[r->graph->input_count++] = value;
    return FID_OK;
}

/* A number or text that export froze: callers still give it. */
static fid_status add_frozen(fidc_reader *r, const char *name, const char *kind, const json_t *value) {
    fidc_value *input = fidc_value_number(r->graph, name, FIDC_NOTHING, NULL);
    fidc_arg *frozen = fidc_allocate(r->program, sizeof *frozen);
    double number;
    if (!input || !frozen) return FID_OUT_OF_MEMORY;
    if (strcmp(kind, "as_int") == 0 && json_is_integer(value)) *frozen = fidc_i(json_integer_value(value));
    else if (strcmp(kind, "as_bool") == 0 && json_is_boolean(value)) *frozen = fidc_b(json_is_true(value));
    else if (strcmp(kind, "as_float") == 0 && fidc_json_float(value, &number)) *frozen = fidc_d(number);
    else if (strcmp(kind, "as_string") == 0 && json_is_string(value)) {
        *frozen = (fidc_arg){.kind = FIDC_ARG_STRING, .as.text = fidc_text(r->program, json_string_value(value))};
        if (!frozen->as.text) return FID_OUT_OF_MEMORY;
    } else frozen = NULL;
    input->frozen = frozen;
    return add_input(r, input);
}

static fid_status user_input(fidc_reader *r, fidc_scope *scope, const json_t *spec) {
    const json_t *argument = NULL, *value = NULL;
    const char *kind = NULL, *name = NULL;
    FID_TRY(fidc_json_object(r, spec, "arg", &argument));
    FID_TRY(fidc_json_union(r, argument, &kind, &value));
    bool is_tensor = strcmp(kind, "as_tensor") == 0, is_int = strcmp(kind, "as_sym_int") == 0;
    if (strcmp(kind, "as_custom_obj") == 0) return fidc_reader_fail(r, FID_NOT_SUPPORTED, "an input is a custom object, which is not supported");
    if (!is_tensor && !is_int) return add_frozen(r, NULL, kind, value);
    FID_TRY(fidc_json_text(r, value, is_int ? "as_name" : "name", &name));
    fidc_value *input = is_int ? fidc_value_number(r->graph, name, FIDC_INT, NULL)
                               : fidc_value_tensor(r->graph, name, FID_DTYPE_NONE, NULL, 0);
    FID_TRY(add_input(r, input));
    return fidc_scope_define(r, scope, name, input);
}

static fid_status frozen_input(fidc_reader *r, const json_t *spec) {
    const char *name = NULL, *kind = NULL;
    const json_t *holder = NULL, *value = NULL;
    FID_TRY(fidc_json_text(r, spec, "name", &name));
    FID_TRY(fidc_json_object(r, spec, "value", &holder));
    FID_TRY(fidc_json_union(r, holder, &kind, &value));
    return add_frozen(r, name, kind, value);
}

static fid_status check_same(const fidc_reader *r, const char *name, const fidc_value *bound, const fidc_value *expected) {
    bool same = bound->dtype == expected->dtype && bound->rank == expected->rank;
    for (size_t i = 0; same && i < bound->rank; i++) same = bound->sizes[i] == expected->sizes[i];
    if (same) return FID_OK;
    return fidc_reader_fail(r, FID_INVALID_PROGRAM, "weight '%s' in the archive (%s, rank %d) is not the one that the graph expects (%s, "
                            "rank %d, or other sizes)", name, fid_dtype_name((fid_dtype)bound->dtype), bound->rank,
                            fid_dtype_name((fid_dtype)expected->dtype), expected->rank);
}

/* Parameters, buffers and tensor constants differ in the key of their name. */
static fid_status bound_input(fidc_reader *r, fidc_scope *scope, const char *kind, const char *key, const json_t *spec) {
    const json_t *argument = NULL, *meta = NULL;
    const char *value_name = NULL, *name = NULL;
    fidc_value *value = NULL, expected = {0};
    FID_TRY(fidc_json_object(r, spec, "arg", &argument));
    FID_TRY(fidc_json_text(r, argument, "name", &value_name));
    FID_TRY(fidc_json_text(r, spec, key, &name));
    FID_TRY(fidc_weights_bind(r, name, value_name, &value));
    FID_TRY(fidc_json_object(r, scope->tensors, value_name, &meta));
    FID_TRY(fidc_read_tensor_meta(r, meta, &expected));
    FID_TRY(check_same(r, name, value, &expected));
    fidc_constant *constant = (fidc_constant *)value->constant;
    constant->is_parameter = strcmp(kind, "parameter") == 0;
    constant->key = strcmp(kind, "tensor_constant") == 0 ? NULL : constant->name; /* upstream, too, keeps lifted constants inside */
    constant->persistent = constant->is_parameter || (strcmp(kind, "buffer") == 0 && json_is_true(json_object_get(spec, "persistent")));
    if (fidc_name_map_get(&scope->values, value_name))
        return fidc_reader_fail(r, FID_INVALID_PROGRAM, "the name '%s' is given twice", value_name);
    FID_TRY(fidc_claim_name(r, value));
    return fidc_name_map_put(r->program, &scope->values, value_name, value) ? FID_OK : FID_OUT_OF_MEMORY;
}

static fid_status read_input_spec(fidc_reader *r, fidc_scope *scope, const json_t *spec_union) {
    const char *kind = NULL;
    const json_t *spec = NULL;
    FID_TRY(fidc_json_union(r, spec_union, &kind, &spec));
    if (strcmp(kind, "user_input") == 0) return user_input(r, scope, spec);
    if (strcmp(kind, "constant_input") == 0) return frozen_input(r, spec);
    if (strcmp(kind, "parameter") == 0) return bound_input(r, scope, kind, "parameter_name", spec);
    if (strcmp(kind, "buffer") == 0) return bound_input(r, scope, kind, "buffer_name", spec);
    if (strcmp(kind, "tensor_constant") == 0) return bound_input(r, scope, kind, "tensor_constant_name", spec);
    if (strcmp(kind, "token") == 0) return FID_OK; /* orders effects; our nodes are in order anyway */
    const char *name = json_string_value(json_object_get(spec, "custom_obj_name"));
    return fidc_reader_fail(r, FID_NOT_SUPPORTED, "input '%s' is of kind '%s', which is not supported", name ? name : "?", kind);
}

static fid_status read_input_specs(fidc_reader *r, fidc_scope *scope, const json_t *specs) {
    json_t *spec;
    size_t i;
    r->graph->inputs = fidc_allocate(r->program, json_array_size(specs) * sizeof *r->graph->inputs);
    if (!r->graph->inputs) return FID_OUT_OF_MEMORY;
    json_array_foreach(specs, i, spec) FID_TRY(read_input_spec(r, scope, spec));
    return FID_OK;
}

/* ---- Outputs ---- */

static fid_status mutation(fidc_reader *r, fidc_scope *scope, const json_t *spec, const char *target_name, fidc_value *target) {
    const json_t *argument = NULL;
    const char *name = NULL;
    fidc_value *value = NULL;
    if (!target) return fidc_reader_fail(r, FID_INVALID_PROGRAM, "the program writes '%s', which it does not have", target_name);
    FID_TRY(fidc_json_object(r, spec, "arg", &argument));
    FID_TRY(fidc_json_text(r, argument, "name", &name));
    FID_TRY(fidc_scope_find(r, scope, name, &value));
    if (target->constant) ((fidc_constant *)target->constant)->is_mutable = true;
    r->graph->mutations[r->graph->mutation_count++] = (fidc_mutation){target, value};
    return FID_OK;
}

static fid_status buffer_mutation(fidc_reader *r, fidc_scope *scope, const json_t *spec, const char *key) {
    const char *name = NULL;
    FID_TRY(fidc_json_text(r, spec, key, &name));
    return mutation(r, scope, spec, name, fidc_name_map_get(&r->constants, name));
}

static fid_status input_mutation(fidc_reader *r, fidc_scope *scope, const json_t *spec) {
    const char *name = NULL;
    FID_TRY(fidc_json_text(r, spec, "user_input_name", &name));
    return mutation(r, scope, spec, name, fidc_name_map_get(&scope->values, name));
}

static fid_status user_output(fidc_reader *r, fidc_scope *scope, const json_t *spec) {
    const json_t *argument = NULL;
    FID_TRY(fidc_json_object(r, spec, "arg", &argument));
    return fidc_read_arg(r, scope, argument, NULL, &r->graph->outputs[r->graph->output_count++]);
}

static fid_status loss_output(fidc_reader *r, fidc_scope *scope, const json_t *spec) {
    const json_t *argument = NULL;
    const char *name = NULL;
    fidc_value *value = NULL;
    FID_TRY(fidc_json_object(r, spec, "arg", &argument));
    FID_TRY(fidc_json_text(r, argument, "name", &name));
    FID_TRY(fidc_scope_find(r, scope, name, &value));
    r->graph->outputs[r->graph->output_count++] = fidc_v(value);
    return FID_OK;
}

static fid_status read_output_spec(fidc_reader *r, fidc_scope *scope, const json_t *spec_union) {
    const char *kind = NULL;
    const json_t *spec = NULL;
    FID_TRY(fidc_json_union(r, spec_union, &kind, &spec));
    if (strcmp(kind, "user_output") == 0) return user_output(r, scope, spec);
    if (strcmp(kind, "loss_output") == 0) return loss_output(r, scope, spec);
    if (strcmp(kind, "buffer_mutation") == 0) return buffer_mutation(r, scope, spec, "buffer_name");
    if (strcmp(kind, "parameter_mutation") == 0) return buffer_mutation(r, scope, spec, "parameter_name");
    if (strcmp(kind, "user_input_mutation") == 0) return input_mutation(r, scope, spec);
    if (strcmp(kind, "token") == 0) return FID_OK;
    return fidc_reader_fail(r, FID_NOT_SUPPORTED, "an output is of kind '%s': programs for training are not supported", kind);
}

static fid_status read_output_specs(fidc_reader *r, fidc_scope *scope, const json_t *specs) {
    json_t *spec;
    size_t i, count = json_array_size(specs);
    r->graph->outputs = fidc_allocate(r->program, count * sizeof *r->graph->outputs);
    r->graph->mutations = fidc_allocate(r->program, count * sizeof *r->graph->mutations);
    if (!r->graph->outputs || !r->graph->mutations) return FID_OUT_OF_MEMORY;
    json_array_foreach(specs, i, spec) FID_TRY(read_output_spec(r, scope, spec));
    return FID_OK;
}

/* ---- The calling convention ---- */

static fid_status read_trees(fidc_reader *r, const json_t *module) {
    json_t *entry;
    size_t i;
    json_array_foreach(json_object_get(module, "module_call_graph"), i, entry) {
        const char *path = json_string_value(json_object_get(entry, "fqn"));
        const json_t *signature = json_object_get(entry, "signature");
        if (!path || path[0] || !json_is_object(signature)) continue; /* the root's only */
        const char *in = NULL, *out = NULL;
        FID_TRY(fidc_json_text(r, signature, "in_spec", &in));
        FID_TRY(fidc_json_text(r, signature, "out_spec", &out));
        r->graph->input_tree = fidc_text(r->program, in);
        r->graph->output_tree = fidc_text(r->program, out);
        return r->graph->input_tree && r->graph->output_tree ? FID_OK : FID_OUT_OF_MEMORY;
    }
    return FID_OK;
}

fid_status fidc_read_method(fidc_reader *r) {
    const json_t *module = NULL, *graph = NULL, *signature = NULL, *inputs = NULL, *outputs = NULL;
    fidc_scope scope;
    FID_TRY(fidc_json_object(r, r->json, "graph_module", &module));
    FID_TRY(fidc_json_object(r, module, "graph", &graph));
    FID_TRY(fidc_json_object(r, module, "signature", &signature));
    FID_TRY(fidc_json_array(r, signature, "input_specs", &inputs));
    FID_TRY(fidc_json_array(r, signature, "output_specs", &outputs));
    FID_TRY(fidc_scope_open(r, graph, r->graph, "", &scope));
    FID_TRY(read_input_specs(r, &scope, inputs));
    FID_TRY(fidc_read_nodes(r, &scope, graph));
    FID_TRY(read_output_specs(r, &scope, outputs));
    return read_trees(r, module);
}
