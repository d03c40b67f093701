/* Inputs and outputs of a method: what they are, setting and reading them. */
#include "runtime/method.h"

#include "base/checked.h"

/* ---- Loading ---- */

static bool overlaps(const fid_method_tensor *a, const fid_method_tensor *b) {
    uintptr_t a_at = (uintptr_t)a->home, b_at = (uintptr_t)b->home;
    return a->home && b->home && a_at < b_at + b->home_size && b_at < a_at + a->home_size;
}

/* True if no other tensor stands, at any time, on the memory of this one: then its data may lie elsewhere. */
static bool stands_alone(const fid_method *method, uint32_t index) {
    const fid_method_tensor *tensor = fid_method_tensor_of(&method->values[index]);
    if (tensor->initial || tensor->initial_data || (method->uses[index] & (FID_USE_ALIASED | FID_USE_MAYBE_CONST))) return false;
    for (uint32_t i = 0; i < method->value_count && tensor->home_planned; i++) {
        if (i == index || method->values[i].tag != FID_TAG_TENSOR) continue;
        const fid_method_tensor *other = fid_method_tensor_of(&method->values[i]);
        if (other->home_planned && overlaps(tensor, other)) return false;
    }
    return true;
}

static fid_status check_index(fid_method *method, int32_t index, const char *what, uint32_t number) {
    if (index >= 0 && (uint32_t)index < method->value_count) return FID_OK;
    return fid_fail(&method->sink, FID_INVALID_PROGRAM, "%s %u is value %d, the method has %u values", what, number, index,
                    method->value_count);
}

fid_status fid_method_load_io(fid_method *method) {
    fid_fb_vector inputs = fid_fb_get_vector(method->plan, FID_PTE_ExecutionPlan_inputs);
    fid_fb_vector outputs = fid_fb_get_vector(method->plan, FID_PTE_ExecutionPlan_outputs);
    method->inputs = fid_arena_allocate_array(&method->arena, inputs.count, sizeof *method->inputs);
    method->outputs = fid_arena_allocate_array(&method->arena, outputs.count, sizeof *method->outputs);
    if (!method->inputs || !method->outputs) return fid_fail(&method->sink, FID_OUT_OF_MEMORY, "no memory for inputs and outputs");
    for (uint32_t i = 0; i < inputs.count; i++) {
        int32_t index = fid_fb_i32_at(inputs, i);
        FID_TRY(check_index(method, index, "input", i));
        const fid_value *value = &method->values[index];
        if (value->tag == FID_TAG_TENSOR && (value->as.tensor->flags & FID_TENSOR_CONSTANT)) {
            return fid_fail(&method->sink, FID_INVALID_PROGRAM, "input %u is a constant", i);
        }
        if (value->tag == FID_TAG_TENSOR || fid_value_is_number(value) || value->tag == FID_TAG_STRING) {
            method->uses[index] |= FID_USE_INPUT | (fid_value_is_number(value) ? FID_USE_CHANGES : 0);
        }
        method->inputs[i].value = (uint32_t)index;
    }
    method->input_count = inputs.count;
    for (uint32_t i = 0; i < outputs.count; i++) {
        FID_TRY(check_index(method, fid_fb_i32_at(outputs, i), "output", i));
        method->outputs[i].value = (uint32_t)fid_fb_i32_at(outputs, i);
    }
    method->output_count = outputs.count;
    return FID_OK;
}

/* ---- Asking ---- */

size_t fid_method_input_count(const fid_method *method) { return method->input_count; }
size_t fid_method_output_count(const fid_method *method) { return method->output_count; }

static fid_status check_number(const fid_method *method, const char *what, size_t index, size_t count) {
    if (index < count) return FID_OK;
    return fid_fail(&method->sink, FID_INVALID_ARGUMENT, "there is no %s %zu: method %s has %zu", what, index, method->name, count);
}

static void describe(const fid_value *value, fid_tensor_info *out) {
    *out = (fid_tensor_info){.tag = value->tag};
    if (value->tag != FID_TAG_TENSOR) return;
    const fid_method_tensor *tensor = fid_method_tensor_of(value);
    size_t count = 1;
    for (size_t i = 0; i < tensor->tensor.rank; i++) count *= (size_t)tensor->bounds[i];
    out->dtype = tensor->tensor.dtype;
    out->rank = tensor->tensor.rank;
    out->dynamism = tensor->tensor.dynamism;
    out->sizes = tensor->bounds;
    out->dim_order = tensor->tensor.dim_order;
    out->bytes = count * fid_dtype_size((fid_dtype)tensor->tensor.dtype);
}

fid_status fid_method_input_info(const fid_method *method, size_t index, fid_tensor_info *out_info) {
    FID_TRY(check_number(method, "input", index, method->input_count));
    describe(&method->values[method->inputs[index].value], out_info);
    return FID_OK;
}

fid_status fid_method_output_info(const fid_method *method, size_t index, fid_tensor_info *out_info) {
    FID_TRY(check_number(method, "output", index, method->output_count));
    describe(&method->values[method->outputs[index].value], out_info);
    return FID_OK;
}

fid_status fid_method_input_first(const fid_method *method, size_t index, fid_value *out_value) {
    FID_TRY(check_number(method, "input", index, method->input_count));
    const fid_value *first = &method->first_values[method->inputs[index].value];
    if (first->tag == FID_TAG_TENSOR) return fid_fail(&method->sink, FID_INVALID_TYPE, "input %zu is a tensor", index);
    *out_value = *first;
    return FID_OK;
}

/* ---- Inputs ---- */

static bool is_alone(const fid_method *method, fid_input_slot *slot) {
    if (slot->alone == FID_ALONE_UNKNOWN) slot->alone = stands_alone(method, slot->value) ? FID_ALONE : FID_ALONE_NOT;
    return slot->alone == FID_ALONE;
}

static const char *tag_name(uint8_t tag) {
    static const char *const names[] = {"none", "a tensor", "a text", "a float", "an int", "a bool"};
    return tag < sizeof names / sizeof names[0] ? names[tag] : "a list";
}

/* A number that no instruction reads was fixed when the program was made: another one would change nothing, silently. */
static fid_status set_plain(fid_method *method, size_t index, uint32_t value_index, const fid_value *given) {
    fid_value *value = &method->values[value_index];
    const fid_value *first = &method->first_values[value_index];
    if (method->uses[value_index] & FID_USE_READ) {
        *value = *given;
        return FID_OK;
    }
    if (value->tag == FID_TAG_STRING) {
        size_t length = first->as.string.length;
        if (length == given->as.string.length && memcmp(first->as.string.text, given->as.string.text, length) == 0) return FID_OK;
        return fid_fail(&method->sink, FID_INVALID_ARGUMENT,
                        "input %zu was fixed to \"%s\" when the program was made; another text is given", index, first->as.string.text);
    }
    double fixed = fid_value_double(first), now = fid_value_double(given);
    if (fixed == now || (fixed != fixed && now != now)) {
        *value = *given;
        return FID_OK;
    }
    return fid_fail(&method->sink, FID_INVALID_ARGUMENT, "input %zu was fixed to %g when the program was made; %g is given", index,
                    fixed, now);
}

static fid_status check_shape(fid_method *method, size_t index, const fid_method_tensor *into, const fid_tensor *given) {
    const fid_tensor *want = &into->tensor;
    if (given->dtype != want->dtype) {
        return fid_fail(&method->sink, FID_INVALID_TYPE, "input %zu is %s, the method takes %s", index,
                        fid_dtype_name((fid_dtype)given->dtype), fid_dtype_name((fid_dtype)want->dtype));
    }
    if (given->rank != want->rank) {
        return fid_fail(&method->sink, FID_INVALID_ARGUMENT, "input %zu has rank %d, the method takes rank %d", index, given->rank,
                        want->rank);
    }
    for (size_t i = 0; i < want->rank; i++) {
        int64_t size = given->sizes[i], bound = into->bounds[i];
        if (size >= 0 &&
            (size == bound || (want->dynamism == FID_DYNAMIC_BOUND && size < bound) || want->dynamism == FID_DYNAMIC_UNBOUND)) {
            continue;
        }
        return fid_fail(&method->sink, FID_INVALID_ARGUMENT, "input %zu has size %lld in dimension %zu, the method takes %s%lld",
                        index, (long long)size, i, want->dynamism == FID_STATIC ? "" : "0 to ", (long long)bound);
    }
    return FID_OK;
}

/* Copies elements in logical order between two layouts of the same sizes. */
static void copy_strided(const fid_tensor *to, const uint8_t *from, const int64_t *from_strides) {
    size_t item = fid_dtype_size((fid_dtype)to->dtype), count = fid_tensor_numel(to);
    int64_t at[FID_MAX_RANK] = {0};
    int64_t source = 0, target = 0;
    for (size_t n = 0; n < count; n++) {
        memcpy((uint8_t *)to->data + target * (int64_t)item, from + source * (int64_t)item, item);
        for (size_t d = to->rank; d-- > 0;) {
            source += from_strides[d];
            target += to->strides[d];
            if (++at[d] < to->sizes[d]) break;
            source -= at[d] * from_strides[d];
            target -= at[d] * to->strides[d];
            at[d] = 0;
        }
    }
}

static bool same_strides(const fid_tensor *tensor, const int64_t *strides) {
    for (size_t i = 0; i < tensor->rank; i++) {
        if (tensor->sizes[i] > 1 && tensor->strides[i] != strides[i]) return false;
    }
    return true;
}

static fid_status own_memory(fid_method *method, fid_method_tensor *into, size_t bytes) {
    if (into->home && bytes <= into->home_size) {
        into->tensor.data = into->home;
        into->tensor.capacity = into->home_size;
        return FID_OK;
    }
    /* At the bounds at once, so that later inputs of other sizes need nothing. */
    size_t whole = fid_dtype_size((fid_dtype)into->tensor.dtype);
    for (size_t i = 0; i < into->tensor.rank; i++) whole *= (size_t)into->bounds[i];
    bool bounded = into->tensor.dynamism != FID_DYNAMIC_UNBOUND;
    return fid_method_grow_home(method, into, bounded && whole > bytes ? whole : bytes);
}

/* Elements into the tensor's own memory, from memory of the caller in any layout. */
static fid_status copy_in(fid_method *method, fid_method_tensor *into, const void *data, const int64_t *strides) {
    fid_tensor *tensor = &into->tensor;
    size_t bytes = fid_tensor_bytes(tensor);
    FID_TRY(own_memory(method, into, bytes));
    if (bytes == 0) return FID_OK;
    if (same_strides(tensor, strides)) memcpy(tensor->data, data, bytes);
    else copy_strided(tensor, data, strides);
    return FID_OK;
}

static void note_strides(const fid_tensor *given, const int64_t *strides, int64_t *out_strides) {
    static const uint8_t row_major[FID_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    if (strides) memcpy(out_strides, strides, given->rank * sizeof *strides);
    else fid_strides_of(given->sizes, row_major, given->rank, out_strides);
}

static bool can_use_in_place(fid_method *method, fid_input_slot *slot, const fid_tensor *tensor) {
    size_t item = fid_dtype_size((fid_dtype)tensor->dtype);
    return is_alone(method, slot) && same_strides(tensor, slot->strides) && (uintptr_t)slot->data % (item > 8 ? 8 : item) == 0;
}

static fid_status set_tensor(fid_method *method, size_t index, fid_input_slot *slot, const fid_input *input) {
    fid_method_tensor *into = fid_method_tensor_of(&method->values[slot->value]);
    const fid_tensor *given = input->value.as.tensor;
    size_t bytes;
    FID_TRY(check_shape(method, index, into, given));
    size_t item = fid_dtype_size((fid_dtype)given->dtype);
    if (!fid_mul_sizes(given->sizes, given->rank, &bytes) || !fid_mul_size(bytes, item, &bytes) || bytes > PTRDIFF_MAX) {
        return fid_fail(&method->sink, FID_INVALID_ARGUMENT, "input %zu is larger than memory", index);
    }
    if (bytes > 0 && !given->data) return fid_fail(&method->sink, FID_INVALID_ARGUMENT, "input %zu has no data", index);
    note_strides(given, input->strides, slot->strides);
    memcpy(into->tensor.sizes, given->sizes, given->rank * sizeof *given->sizes);
    fid_tensor_update_strides(&into->tensor);
    slot->data = input->by_reference ? given->data : NULL;
    slot->copy_each_run = false;
    if (!input->by_reference) return copy_in(method, into, given->data, slot->strides);
    if (!can_use_in_place(method, slot, &into->tensor)) {
        slot->copy_each_run = true;
        return FID_OK;
    }
    into->tensor.data = given->data;
    into->tensor.capacity = bytes;
    return FID_OK;
}

/* Inputs by reference that cannot be used in place are fetched when the run begins. */
fid_status fid_method_begin_inputs(fid_method *method) {
    for (uint32_t i = 0; i < method->input_count; i++) {
        const fid_input_slot *slot = &method->inputs[i];
        if (!slot->set) {
            return fid_fail(&method->sink, FID_INVALID_STATE, "input %u is not set, or the last run has reused its memory: set it", i);
        }
        fid_value *value = &method->values[slot->value];
        if (slot->copy_each_run) FID_TRY(copy_in(method, fid_method_tensor_of(value), slot->data, slot->strides));
    }
    return FID_OK;
}

/* A copied input is gone when other tensors took its memory or the method wrote to it. */
void fid_method_end_inputs(fid_method *method) {
    for (uint32_t i = 0; i < method->input_count; i++) {
        fid_input_slot *slot = &method->inputs[i];
        if (method->values[slot->value].tag != FID_TAG_TENSOR || slot->data) continue;
        if (!is_alone(method, slot) || (method->uses[slot->value] & FID_USE_WRITTEN)) slot->set = false;
    }
}

static fid_status set_input(fid_method *method, size_t index, const fid_input *input) {
    FID_TRY(check_number(method, "input", index, method->input_count));
    fid_input_slot *slot = &method->inputs[index];
    const fid_value *value = &method->values[slot->value];
    slot->set = false;
    if (value->tag > FID_TAG_BOOL) return fid_fail(&method->sink, FID_NOT_SUPPORTED, "input %zu is a list, which cannot be set", index);
    /* The kind as loaded: a run may have put another kind of number there. */
    uint8_t kind = method->first_values[slot->value].tag;
    /* Texts that a model takes leave no trace in upstream's programs but a none. */
    bool ignored = kind == FID_TAG_NONE && input->value.tag == FID_TAG_STRING;
    if (input->value.tag != kind && !ignored) {
        return fid_fail(&method->sink, FID_INVALID_ARGUMENT, "input %zu is %s, the method takes %s", index,
                        tag_name(input->value.tag), tag_name(kind));
    }
    if (value->tag == FID_TAG_TENSOR) FID_TRY(set_tensor(method, index, slot, input));
    else if (value->tag != FID_TAG_NONE) FID_TRY(set_plain(method, index, slot->value, &input->value));
    slot->set = true;
    return FID_OK;
}

fid_status fid_method_set_input(fid_method *method, size_t index, const fid_input *input) {
    FID_TRY(fid_method_enter(method));
    fid_status status = set_input(method, index, input);
    fid_method_leave(method);
    return status;
}

fid_status fid_method_set_input_tensor(fid_method *method, size_t index, fid_dtype dtype, const int64_t *sizes, size_t rank,
                                       const void *data) {
    if (rank > FID_MAX_RANK) {
        return fid_fail(&method->sink, FID_INVALID_ARGUMENT, "input %zu has rank %zu, the most is %d", index, rank, FID_MAX_RANK);
    }
    fid_tensor tensor = {.data = (void *)(uintptr_t)data, .sizes = (int64_t *)(uintptr_t)sizes, .rank = (uint8_t)rank,
                         .dtype = (uint8_t)dtype};
    fid_input input = {.struct_size = sizeof input, .value = fid_tensor_value(&tensor)};
    return fid_method_set_input(method, index, &input);
}

/* ---- Outputs ---- */

fid_status fid_method_copy_outputs(fid_method *method) {
    for (uint32_t i = 0; i < method->output_count; i++) {
        fid_output_slot *output = &method->outputs[i];
        if (!output->user || output->can_redirect) continue;
        output->copy = *method->values[output->value].as.tensor;
        size_t bytes = fid_tensor_bytes(&output->copy);
        if (bytes > output->user_size) {
            return fid_fail(&method->sink, FID_OUT_OF_RESOURCES, "output %u has %zu bytes, its memory %zu", i, bytes,
                            output->user_size);
        }
        if (bytes > 0 && output->copy.data) memcpy(output->user, output->copy.data, bytes);
        output->copy.data = output->user;
        output->copy.capacity = output->user_size;
        output->copy_value = fid_tensor_value(&output->copy);
    }
    return FID_OK;
}

fid_status fid_method_output(const fid_method *method, size_t index, const fid_value **out_value) {
    if (__atomic_load_n(&method->turn, __ATOMIC_ACQUIRE) != FID_TURN_FREE) {
        return fid_fail(&method->sink, FID_INVALID_STATE, "method %s is running", method->name);
    }
    FID_TRY(check_number(method, "output", index, method->output_count));
    const fid_output_slot *output = &method->outputs[index];
    bool copied = output->user && !output->can_redirect && output->copy_value.tag == FID_TAG_TENSOR;
    *out_value = copied ? &output->copy_value : &method->values[output->value];
    return FID_OK;
}

static void redirect(fid_method_tensor *tensor, fid_output_slot *output, void *data, size_t size) {
    if (!output->user) {
        output->home = tensor->home;
        output->home_size = tensor->home_size;
    }
    tensor->home = data ? data : output->home;
    tensor->home_size = data ? size : output->home_size;
    tensor->tensor.data = tensor->home;
    tensor->tensor.capacity = tensor->home_size;
}

static fid_status set_output_data(fid_method *method, size_t index, void *data, size_t size) {
    FID_TRY(check_number(method, "output", index, method->output_count));
    fid_output_slot *output = &method->outputs[index];
    fid_value *value = &method->values[output->value];
    fid_tensor_info info;
    describe(value, &info);
    if (value->tag != FID_TAG_TENSOR) {
        return fid_fail(&method->sink, FID_INVALID_ARGUMENT, "output %zu is %s, which needs no memory", index,
                        tag_name(value->tag));
    }
    if (data && size < info.bytes && info.dynamism != FID_DYNAMIC_UNBOUND) {
        return fid_fail(&method->sink, FID_INVALID_ARGUMENT, "output %zu needs %zu bytes, %zu are given", index, info.bytes, size);
    }
    fid_method_tensor *tensor = fid_method_tensor_of(value);
    size_t item = fid_dtype_size((fid_dtype)tensor->tensor.dtype);
    if ((uintptr_t)data % (item > 8 ? 8 : item) != 0) {
        return fid_fail(&method->sink, FID_INVALID_ARGUMENT, "the memory for output %zu is misaligned for its dtype", index);
    }
    if (!output->user) {
        bool fixed_home = tensor->home_planned && info.dynamism != FID_DYNAMIC_UNBOUND;
        output->can_redirect = fixed_home && !(method->uses[output->value] & FID_USE_INPUT) && stands_alone(method, output->value);
    }
    if (output->can_redirect && (data || output->user)) redirect(tensor, output, data, size);
    output->user = data;
    output->user_size = size;
    return FID_OK;
}

fid_status fid_method_set_output_data(fid_method *method, size_t index, void *data, size_t size) {
    FID_TRY(fid_method_enter(method));
    fid_status status = set_output_data(method, index, data, size);
    fid_method_leave(method);
    return status;
}

fid_status fid_method_reset(fid_method *method) {
    FID_TRY(fid_method_enter(method));
    fid_status status = fid_method_fill_memory(method, false);
    for (uint32_t i = 0; i < method->input_count; i++) method->inputs[i].set = false;
    for (uint32_t i = 0; i < method->value_count; i++) {
        if ((method->uses[i] & FID_USE_CHANGES) && fid_value_is_number(&method->values[i])) {
            method->values[i] = method->first_values[i];
        }
    }
    fid_method_leave(method);
    return status;
}
