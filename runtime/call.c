/* Loading one kernel call: the operator, its arguments against the schema, shapes against the operator, the kernel. */
#include "runtime/method.h"

#include "base/checked.h"

static fid_status no_memory(fid_method *method) {
    return fid_fail(&method->sink, FID_OUT_OF_MEMORY, "no memory for the method's calls");
}

/* ---- Tensors among values ---- */

fid_tensor *fid_next_tensor(fid_tensor_walk *walk, fid_value *const *values, uint32_t count) {
    while (walk->value < count) {
        const fid_value *value = values[walk->value];
        bool list = value->tag == FID_TAG_TENSOR_LIST || value->tag == FID_TAG_OPTIONAL_TENSOR_LIST;
        fid_tensor *tensor = NULL;
        if (list && walk->item < value->as.tensors.count) {
            tensor = value->as.tensors.items[walk->item++];
        } else {
            if (value->tag == FID_TAG_TENSOR) tensor = value->as.tensor;
            walk->value++;
            walk->item = 0;
        }
        if (tensor) return tensor;
    }
    return NULL;
}

/* Tensors in lists know no value index, so the bits of a tensor list's members go by its entry in the program. */
static void mark_listed(fid_method *method, uint32_t index, uint8_t uses) {
    fid_fb_ref entry = fid_fb_table_at(fid_fb_get_vector(method->plan, FID_PTE_ExecutionPlan_values), index);
    fid_fb_vector items = fid_fb_get_vector(fid_fb_get_table(entry, FID_PTE_EValue_val), FID_PTE_TensorList_items);
    for (uint32_t i = 0; i < items.count; i++) {
        int32_t item = fid_fb_i32_at(items, i);
        if (item >= 0) method->uses[item] |= uses;
    }
}

void fid_method_mark(fid_method *method, const fid_value *value, uint8_t uses) {
    uint32_t index = (uint32_t)(value - method->values);
    bool known = (method->uses[index] & uses) == uses;
    method->uses[index] |= uses;
    if (known) return; /* and so are its members */
    if (value->tag == FID_TAG_TENSOR_LIST || value->tag == FID_TAG_OPTIONAL_TENSOR_LIST) mark_listed(method, index, uses);
    const fid_live_list *list = &method->lists[index];
    for (size_t i = 0; i < list->count; i++) method->uses[list->sources[i] - method->values] |= uses & FID_USE_READ;
}

/* ---- Operators ---- */

static const fid_op *find_operator(const fid_environment *environment, const char *name, const char *overload) {
    for (size_t i = 0; i < environment->table_count; i++) {
        const fid_op *op = fid_op_find_out(environment->tables[i], name, strlen(name), overload, strlen(overload));
        if (op) return op;
    }
    return NULL;
}

static fid_status load_operator(fid_method *method, uint32_t index, fid_fb_ref source) {
    const char *name = fid_fb_get_string(source, FID_PTE_Operator_name);
    const char *overload = fid_fb_get_string(source, FID_PTE_Operator_overload);
    if (!name) return fid_fail(&method->sink, FID_INVALID_PROGRAM, "operator %u has no name", index);
    if (!overload) overload = "";
    size_t size = strlen(name) + strlen(overload) + 2;
    char *text = fid_arena_allocate(&method->arena, size, 1);
    if (!text) return no_memory(method);
    memcpy(text, name, strlen(name));
    if (*overload) {
        text[strlen(name)] = '.';
        memcpy(text + strlen(name) + 1, overload, strlen(overload));
    }
    method->op_names[index] = text;
    method->ops[index] = find_operator(&method->program->environment, name, overload);
    return FID_OK;
}

/* All at once, so that one look tells what to link or to ask for. */
static fid_status report_missing(fid_method *method, const bool *used, uint32_t missing) {
#if FID_MESSAGES
    char list[800];
    size_t at = 0;
    uint32_t shown = 0;
    for (uint32_t i = 0; i < method->op_count; i++) {
        if (!used[i] || method->ops[i]) continue;
        size_t wanted = fid_format(list + at, sizeof list - at, shown ? ", %s" : "%s", method->op_names[i]);
        if (wanted >= sizeof list - at) break;
        at += wanted;
        shown++;
    }
    list[at] = 0;
    if (shown < missing) {
        return fid_fail(&method->sink, FID_OPERATOR_MISSING, "no kernel for %u operators that the method needs: %s and %u more",
                        missing, list, missing - shown);
    }
    return fid_fail(&method->sink, FID_OPERATOR_MISSING, "no kernel for %u operator%s that the method needs: %s", missing,
                    missing == 1 ? "" : "s", list);
#else
    (void)method, (void)used, (void)missing;
    return FID_OPERATOR_MISSING;
#endif
}

fid_status fid_method_find_operators(fid_method *method, const bool *used) {
    fid_fb_vector operators = fid_fb_get_vector(method->plan, FID_PTE_ExecutionPlan_operators);
    method->ops = fid_arena_allocate_array(&method->arena, operators.count, sizeof *method->ops);
    method->op_names = fid_arena_allocate_array(&method->arena, operators.count, sizeof *method->op_names);
    if (!method->ops || !method->op_names) return no_memory(method);
    method->op_count = operators.count;
    uint32_t missing = 0;
    for (uint32_t i = 0; i < operators.count; i++) {
        if (!used[i]) continue;
        FID_TRY(load_operator(method, i, fid_fb_table_at(operators, i)));
        missing += !method->ops[i];
    }
    return missing ? report_missing(method, used, missing) : FID_OK;
}

/* ---- Arguments ---- */

fid_status fid_method_get_args(fid_method *method, fid_fb_vector indices, fid_value ***out_args) {
    fid_value **args = fid_arena_allocate_array(&method->arena, indices.count, sizeof *args);
    if (!args) return no_memory(method);
    for (uint32_t i = 0; i < indices.count; i++) {
        int32_t index = fid_fb_i32_at(indices, i);
        if (index < 0 || (uint32_t)index >= method->value_count) {
            return fid_fail(&method->sink, FID_INVALID_PROGRAM, "argument %u is value %d, the method has %u values", i, index,
                            method->value_count);
        }
        args[i] = &method->values[index];
    }
    *out_args = args;
    return FID_OK;
}

static uint32_t schema_length(const fid_op *op) {
    fid_schema_cursor cursor = fid_schema_begin(op->schema);
    fid_schema_arg arg;
    uint32_t count = 0;
    while (fid_schema_next_arg(&cursor, &arg)) count++;
    while (fid_schema_next_result(&cursor, &arg)) count++;
    return count;
}

static bool lists_same(const fid_value *list, fid_value *const *values, size_t count) {
    fid_tensor_walk walk = {0};
    if (list->tag != FID_TAG_TENSOR_LIST) return false;
    for (size_t i = 0; i < list->as.tensors.count; i++) {
        if (fid_next_tensor(&walk, values, (uint32_t)count) != list->as.tensors.items[i]) return false;
    }
    return fid_next_tensor(&walk, values, (uint32_t)count) == NULL;
}

/* Upstream's out= calls end with the result once more: the same value, or one list of the several outputs. */
static bool repeats_result(const fid_call *call) {
    uint32_t count = call->arg_count;
    if (count < 2) return false;
    const fid_value *last = call->args[count - 1];
    if (last == call->args[count - 2]) return true;
    if (last->tag != FID_TAG_TENSOR_LIST) return false;
    size_t outputs = call->args[count - 2]->tag == FID_TAG_TENSOR_LIST ? 1 : last->as.tensors.count;
    return outputs < count && lists_same(last, call->args + count - 1 - outputs, outputs);
}

/* Results of operators that are called without out= are not covered by the schema check; kernels rely on their kind. */
static fid_status check_results(fid_method *method, const fid_op *op, const fid_call *call) {
    fid_schema_cursor cursor = fid_schema_begin(op->schema);
    fid_schema_arg result;
    for (uint32_t i = call->output_index; i < call->arg_count && fid_schema_next_result(&cursor, &result); i++) {
        bool fits = result.type != FID_SCHEMA_TENSOR ? fid_value_is_number(call->args[i])
                                                     : call->args[i]->tag == (result.list ? FID_TAG_TENSOR_LIST : FID_TAG_TENSOR);
        /* What works in place gives back its first argument, and upstream's programs name it twice. */
        if (op->kind == FID_OP_EFFECT && result.type == FID_SCHEMA_TENSOR) {
            fits = call->output_index > 0 && call->args[i] == call->args[0];
        }
        if (!fits) {
            return fid_fail(&method->sink, FID_INVALID_PROGRAM, "%s: result %u has a value of kind %d", call->name,
                            i - call->output_index, call->args[i]->tag);
        }
    }
    return FID_OK;
}

static void mark_arguments(fid_method *method, fid_method_call *mc) {
    const fid_call *call = &mc->call;
    for (uint32_t i = 0; i < call->output_index; i++) fid_method_mark(method, call->args[i], FID_USE_READ);
    if (mc->op->kind == FID_OP_EFFECT && call->output_index > 0) fid_method_mark(method, call->args[0], FID_USE_WRITTEN);
    for (uint32_t i = call->output_index; i < call->arg_count; i++) {
        if (fid_value_is_number(call->args[i])) {
            fid_method_mark(method, call->args[i], FID_USE_CHANGES);
            mc->numbers_out = true;
        } else {
            fid_method_mark(method, call->args[i], mc->is_view ? FID_USE_ALIASED : FID_USE_WRITTEN);
        }
    }
    if (mc->is_view) fid_method_mark(method, call->args[0], FID_USE_LENDS);
}

fid_status fid_method_begin_call(fid_method *method, uint32_t op_index, fid_fb_vector args, fid_method_call **out_call) {
    fid_method_call *mc = fid_arena_allocate(&method->arena, sizeof *mc, 16);
    if (!mc) return no_memory(method);
    mc->op = method->ops[op_index];
    mc->is_view = strcmp(mc->op->name, "executorch_prim::et_view") == 0;
    fid_value **values;
    FID_TRY(fid_method_get_args(method, args, &values));
    mc->call = (fid_call){.name = method->op_names[op_index], .args = values, .arg_count = args.count, .sink = &method->sink,
                          .threads = method->threads, .cpu = method->cpu, .memory = &method->memory};
    if (mc->call.arg_count != schema_length(mc->op) && repeats_result(&mc->call)) mc->call.arg_count--;
    FID_TRY(fid_schema_check(mc->op, &mc->call));
    FID_TRY(check_results(method, mc->op, &mc->call));
    fid_tensor_walk walk = {0};
    while (fid_next_tensor(&walk, values + mc->call.output_index, mc->call.arg_count - mc->call.output_index)) mc->out_count++;
    if (method->meta_count < mc->out_count) method->meta_count = mc->out_count;
    mark_arguments(method, mc);
    *out_call = mc;
    return FID_OK;
}

/* ---- Shapes ---- */

static fid_status wrong_output(fid_method *method, const fid_call *call, uint32_t index, const fid_tensor *declared,
                               const fid_meta *computed) {
    char is[160], should[160];
    return fid_fail(&method->sink, FID_INVALID_PROGRAM, "%s: output %u is declared as %s %s but its arguments make it %s %s",
                    call->name, index,
                    fid_dtype_name((fid_dtype)declared->dtype), fid_shape_text(declared->sizes, declared->rank, is, sizeof is),
                    fid_dtype_name((fid_dtype)computed->dtype), fid_shape_text(computed->sizes, computed->rank, should,
                            sizeof should));
}

static bool output_fits(const fid_tensor *declared, const fid_meta *computed, bool any_sizes) {
    if (declared->dtype != computed->dtype || declared->rank != computed->rank) return false;
    for (size_t i = 0; i < declared->rank && !any_sizes; i++) {
        if (declared->sizes[i] != computed->sizes[i]) return false;
    }
    return true;
}

static fid_status compute_metas(fid_method *method, const fid_method_call *mc, const fid_call *call) {
    memset(method->metas, 0, mc->out_count * sizeof *method->metas);
    return mc->op->shape(call, method->metas, mc->out_count);
}

/* Arguments that never change: what the file declares must be what the operator gives. */
static fid_status check_static_shapes(fid_method *method, const fid_method_call *mc) {
    const fid_call *call = &mc->call;
    FID_TRY(compute_metas(method, mc, call));
    fid_tensor_walk walk = {0};
    for (uint32_t i = 0; i < mc->out_count; i++) {
        const fid_tensor *out = fid_next_tensor(&walk, call->args + call->output_index, call->arg_count - call->output_index);
        if (!output_fits(out, &method->metas[i], mc->op->kind == FID_OP_DATA_DEPENDENT || method->metas[i].bound_dims)) {
            return wrong_output(method, call, i, out, &method->metas[i]);
        }
    }
    return FID_OK;
}

fid_status fid_method_resize_outputs(fid_method *method, const fid_method_call *mc) {
    const fid_call *call = &mc->call;
    FID_TRY(compute_metas(method, mc, call));
    fid_tensor_walk walk = {0};
    for (uint32_t i = 0; i < mc->out_count; i++) {
        fid_tensor *out = fid_next_tensor(&walk, call->args + call->output_index, call->arg_count - call->output_index);
        const fid_meta *meta = &method->metas[i];
        if (!output_fits(out, meta, true)) return wrong_output(method, call, i, out, meta);
        if (out->dynamism == FID_DYNAMIC_UNBOUND && !mc->is_view) {
            size_t bytes;
            if (!fid_mul_sizes(meta->sizes, meta->rank, &bytes) || !fid_mul_size(bytes, fid_dtype_size((fid_dtype)out->dtype), &bytes)) {
                return fid_fail(&method->sink, FID_INVALID_ARGUMENT, "%s: output %u is too large", call->name, i);
            }
            FID_TRY(fid_method_grow_home(method, (fid_method_tensor *)(void *)out, bytes));
        }
        /* A view takes its input's memory before its sizes; what depends on data sizes itself. */
        if (mc->is_view || mc->op->kind == FID_OP_DATA_DEPENDENT || meta->bound_dims) continue;
        fid_status status = fid_tensor_resize(&method->sink, out, meta->sizes, meta->rank);
        if (status != FID_OK) return fid_fail(&method->sink, status, "%s: output %u", call->name, i);
    }
    return FID_OK;
}

/* ---- Kernels ---- */

static bool argument_changes(const fid_method *method, const fid_value *value) {
    return value->tag != FID_TAG_TENSOR && (method->uses[value - method->values] & FID_USE_CHANGES) != 0;
}

static bool has_memory(const fid_method *method, const fid_tensor *tensor, const fid_value *value) {
    if (tensor->dynamism == FID_DYNAMIC_UNBOUND) return false;
    if (((const fid_method_tensor *)(const void *)tensor)->home || (tensor->flags & FID_TENSOR_CONSTANT)) return true;
    return value->tag == FID_TAG_TENSOR && (method->uses[value - method->values] & FID_USE_INPUT);
}

/* Views and targets of moves stand here or there; listed tensors, which know no index, count as such where views exist. */
static bool moves_about(const fid_method *method, const fid_value *value) {
    if (value->tag == FID_TAG_TENSOR) return (method->uses[value - method->values] & FID_USE_ALIASED) != 0;
    return method->has_views && value->tag == FID_TAG_TENSOR_LIST;
}

/* What of the call changes at run time; true in *out_changes if a number does. */
static fid_status classify(fid_method *method, fid_method_call *mc, bool *out_changes) {
    const fid_call *call = &mc->call;
    *out_changes = false;
    mc->lists = fid_arena_allocate_array(&method->arena, call->output_index, sizeof(fid_live_list *));
    if (!mc->lists) return no_memory(method);
    for (uint32_t i = 0; i < call->arg_count; i++) {
        const fid_value *value = call->args[i];
        bool changes = i < call->output_index && argument_changes(method, value);
        *out_changes |= changes;
        mc->check_overlap |= moves_about(method, value);
        if (changes && value->tag == FID_TAG_INT_LIST) mc->lists[mc->list_count++] = &method->lists[value - method->values];
        fid_tensor_walk walk = {0};
        for (const fid_tensor *tensor; (tensor = fid_next_tensor(&walk, &call->args[i], 1));) {
            mc->dynamic |= tensor->dynamism != FID_STATIC;
            mc->check_data |= !has_memory(method, tensor, value);
        }
    }
    mc->dynamic |= *out_changes;
    if (!mc->op->shape || mc->out_count == 0) mc->dynamic = false;
    return FID_OK;
}

/* `known`: shapes are checked and no number changes, so that all that `prepare` sees holds for every run. */
static fid_status try_kernel(fid_method_call *mc, const fid_kernel *kernel, bool known) {
    if (!kernel) return FID_NOT_SUPPORTED;
    if (kernel->prepare && !known && !kernel->any_numbers) return FID_NOT_SUPPORTED;
    mc->kernel = mc->call.kernel = kernel;
    mc->call.state = NULL;
    return kernel->prepare ? kernel->prepare(&mc->call) : FID_OK;
}

static fid_status choose_kernel(fid_method *method, fid_method_call *mc, bool known) {
    fid_status status = try_kernel(mc, method->no_cpu_kernels ? NULL : mc->op->cpu, known);
    if (status == FID_NOT_SUPPORTED) status = try_kernel(mc, mc->op->reference, known);
    if (status == FID_NOT_SUPPORTED) return fid_fail(&method->sink, status, "%s: no kernel takes these arguments", mc->call.name);
    return status;
}

/* Arguments that change can be wrong for now (a number is still zero, a bound is no real size): then it is decided when it runs. */
static bool shapes_known(fid_method *method, const fid_method_call *mc) {
    static const fid_sink nobody = {NULL, NULL};
    fid_call quiet = mc->call;
    quiet.sink = &nobody;
    return compute_metas(method, mc, &quiet) == FID_OK;
}

static fid_status check_constants(fid_method *method, const fid_method_call *mc) {
    const fid_call *call = &mc->call;
    for (uint32_t i = 0; i < call->arg_count; i++) {
        uint8_t uses = method->uses[call->args[i] - method->values];
        bool writes = i >= call->output_index ? !mc->is_view : i == 0 && mc->op->kind == FID_OP_EFFECT;
        if (!writes || fid_value_is_number(call->args[i])) continue;
        fid_tensor_walk walk = {0};
        for (const fid_tensor *tensor; (tensor = fid_next_tensor(&walk, &call->args[i], 1));) {
            if ((tensor->flags & FID_TENSOR_CONSTANT) || (uses & FID_USE_MAYBE_CONST)) {
                return fid_fail(&method->sink, FID_INVALID_PROGRAM, "%s writes to argument %u, which is constant", call->name, i);
            }
        }
    }
    return FID_OK;
}

/* ---- Overlap ---- */

/* Comparisons of one call: beyond it a program is refused rather than checked for minutes. */
#define OVERLAP_LIMIT ((uint64_t)1 << 24)

typedef struct range {
    uintptr_t begin, end;
} range;

/* At load what a tensor may take up at most, later where it stands now. */
static range range_of(const fid_tensor *tensor, bool live) {
    const fid_method_tensor *whole = (const fid_method_tensor *)(const void *)tensor;
    uintptr_t begin = (uintptr_t)(live ? tensor->data : whole->home);
    size_t size = live ? fid_tensor_bytes(tensor) : whole->home_size;
    return (range){begin, begin ? begin + size : 0};
}

static bool ranges_overlap(range a, range b) { return a.begin < b.end && b.begin < a.end && a.begin < a.end && b.begin < b.end; }

/* One output against tensors of the call: inputs, or the other outputs. */
static fid_status check_target(fid_method *method, const fid_method_call *mc, const fid_tensor *out, bool against_inputs,
                               bool live, uint64_t *left) {
    const fid_call *call = &mc->call;
    bool in_place = against_inputs && (mc->op->kind == FID_OP_POINTWISE || mc->op->kind == FID_OP_EFFECT);
    uint32_t first = against_inputs ? 0 : call->output_index;
    uint32_t count = against_inputs ? call->output_index : call->arg_count - call->output_index;
    range target = range_of(out, live);
    fid_tensor_walk walk = {0};
    for (const fid_tensor *other; (other = fid_next_tensor(&walk, call->args + first, count));) {
        if ((*left)-- == 0) return fid_fail(&method->sink, FID_NOT_SUPPORTED, "%s has too many tensors", call->name);
        range source = range_of(other, live);
        if ((other == out && !against_inputs) || !ranges_overlap(target, source) || (in_place && source.begin == target.begin)) {
            continue;
        }
        return fid_fail(&method->sink, FID_INVALID_PROGRAM, "%s: an output shares memory with another argument", call->name);
    }
    return FID_OK;
}

/* Kernels may take outputs and inputs as disjoint; pointwise ones also work in place, from the same first byte on. */
fid_status fid_method_check_overlap(fid_method *method, const fid_method_call *mc, bool live) {
    const fid_call *call = &mc->call;
    if (mc->is_view) return FID_OK;
    bool effect = mc->op->kind == FID_OP_EFFECT; /* writes to its first argument, which is its result too */
    uint32_t first = effect ? 0 : call->output_index, end = effect ? call->output_index > 0 : call->arg_count;
    uint64_t left = OVERLAP_LIMIT;
    fid_tensor_walk walk = {0};
    for (const fid_tensor *out; (out = fid_next_tensor(&walk, call->args + first, end - first));) {
        FID_TRY(check_target(method, mc, out, true, live, &left));
        FID_TRY(check_target(method, mc, out, false, live, &left));
    }
    return FID_OK;
}

fid_status fid_method_finish_call(fid_method *method, fid_method_call *mc) {
    bool changes, known = true;
    FID_TRY(check_constants(method, mc));
    FID_TRY(fid_method_check_overlap(method, mc, false));
    FID_TRY(classify(method, mc, &changes));
    if (mc->dynamic) known = shapes_known(method, mc);
    else if (mc->op->shape && mc->out_count) FID_TRY(check_static_shapes(method, mc));
    FID_TRY(choose_kernel(method, mc, known && !changes));
    if (!mc->kernel->scratch_bytes) return FID_OK;
    return known ? fid_method_scratch_reserve(method, mc->kernel->scratch_bytes(&mc->call)) : FID_OK;
}
