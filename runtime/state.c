/* The state of a method: its mutable buffers by name, written to and read from data files.
 *
 * Programs that name their buffers tell which they are. In others, state is the planned memory with initial content or that may be
 * read before it is written, and goes by the number of its value. */
#include "format/ptd_write.h"
#include "runtime/data.h"
#include "runtime/method.h"

/* ---- Which buffers ---- */

static const fid_method_tensor *planned_tensor(const fid_method *method, uint32_t value) {
    if (method->values[value].tag != FID_TAG_TENSOR || (method->uses[value] & FID_USE_INPUT)) return NULL;
    const fid_method_tensor *tensor = fid_method_tensor_of(&method->values[value]);
    return tensor->home_planned ? tensor : NULL;
}

static bool has_names(const fid_method *method) {
    for (uint32_t i = 0; i < method->value_count; i++) {
        const fid_method_tensor *tensor = planned_tensor(method, i);
        if (tensor && tensor->name) return true;
    }
    return false;
}

static bool is_state(const fid_method *method, uint32_t value, bool named) {
    const fid_method_tensor *tensor = planned_tensor(method, value);
    if (!tensor) return false;
    return named ? tensor->name != NULL : tensor->initial || tensor->initial_data || tensor->starts_as_zero;
}

static fid_status describe(fid_method *method, uint32_t value, fid_method_state *out) {
    const fid_method_tensor *tensor = planned_tensor(method, value);
    const fid_tensor *t = &tensor->tensor;
    char text[32];
    int32_t *sizes = fid_arena_allocate_array(&method->arena, t->rank, sizeof *sizes);
    size_t length = fid_format(text, sizeof text, "value.%u", value);
    const char *key = tensor->name ? tensor->name : fid_arena_copy_text(&method->arena, text, length);
    if (!sizes || !key) return fid_fail(&method->sink, FID_OUT_OF_MEMORY, "no memory for the list of buffers");
    for (size_t i = 0; i < t->rank; i++) sizes[i] = (int32_t)tensor->bounds[i];
    out->tensor = tensor;
    out->entry = (fid_named_data){.key = key, .is_tensor = true, .dtype = t->dtype, .rank = t->rank, .sizes = sizes, .dim_order = t->dim_order};
    return FID_OK;
}

/* Listed when first asked for: most methods are never asked. */
static fid_status list_states(fid_method *method) {
    bool named = has_names(method);
    uint32_t count = 0;
    if (method->states) return FID_OK;
    for (uint32_t i = 0; i < method->value_count; i++) count += is_state(method, i, named);
    fid_method_state *states = fid_arena_allocate_array(&method->arena, count, sizeof *states);
    if (!states) return fid_fail(&method->sink, FID_OUT_OF_MEMORY, "no memory for the list of buffers");
    count = 0;
    for (uint32_t i = 0; i < method->value_count; i++) {
        if (is_state(method, i, named)) FID_TRY(describe(method, i, &states[count++]));
    }
    method->states = states;
    method->state_count = count;
    return FID_OK;
}

/* ---- Asking ---- */

static fid_named_data entry_of(const fid_method_state *state) {
    fid_named_data entry = state->entry;
    entry.bytes = fid_span_of(state->tensor->home, state->tensor->home_size);
    return entry;
}

fid_status fid_method_state_count(fid_method *method, size_t *out_count) {
    FID_TRY(list_states(method));
    *out_count = method->state_count;
    return FID_OK;
}

fid_status fid_method_state_at(fid_method *method, size_t index, fid_named_data *out_buffer) {
    FID_TRY(list_states(method));
    if (index >= method->state_count) {
        return fid_fail(&method->sink, FID_INVALID_ARGUMENT, "there is no buffer %zu: method %s has %u", index, method->name, method->state_count);
    }
    *out_buffer = entry_of(&method->states[index]);
    return FID_OK;
}

/* ---- Saving ---- */

static fid_status save(fid_method *method, const fid_pte_sink *destination) {
    FID_TRY(list_states(method));
    size_t size = method->state_count * sizeof(fid_named_data);
    fid_named_data *entries = fid_allocate(method->allocator, size);
    if (!entries) return fid_fail(&method->sink, FID_OUT_OF_MEMORY, "no memory for the list of buffers");
    for (uint32_t i = 0; i < method->state_count; i++) entries[i] = entry_of(&method->states[i]);
    fid_status status = fid_ptd_write(method->allocator, &method->sink, entries, method->state_count, destination, NULL);
    fid_free(method->allocator, entries, size);
    return status;
}

fid_status fid_method_state_save(fid_method *method, fid_status (*write)(void *self, const void *data, size_t size), void *self) {
    const fid_pte_sink destination = {write, self};
    FID_TRY(fid_method_enter(method));
    fid_status status = save(method, &destination);
    fid_method_leave(method);
    return status;
}

/* ---- Restoring ---- */

static bool same_layout(const fid_named_data *a, const fid_named_data *b) {
    return a->is_tensor && b->is_tensor && a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->sizes, b->sizes, a->rank * sizeof *a->sizes) == 0 && memcmp(a->dim_order, b->dim_order, a->rank) == 0;
}

static const char *layout_text(const fid_named_data *entry, char *text, size_t size) {
    char shape[160];
    int64_t sizes[FID_MAX_RANK];
    for (size_t i = 0; i < entry->rank; i++) sizes[i] = entry->sizes[i];
    fid_format(text, size, "%s%s", fid_dtype_name((fid_dtype)entry->dtype), fid_shape_text(sizes, entry->rank, shape, sizeof shape));
    return text;
}

static fid_status find_saved(fid_method *method, const fid_data *data, const fid_method_state *state, fid_named_data *out_entry) {
    char wanted[200], found[200];
    layout_text(&state->entry, wanted, sizeof wanted);
    if (!data->find(data, state->entry.key, out_entry)) {
        return fid_fail(&method->sink, FID_INVALID_EXTERNAL_DATA, "buffer \"%s\" (%s) of method %s is not in %s", state->entry.key, wanted,
                        method->name, data->name);
    }
    if (same_layout(out_entry, &state->entry)) return FID_OK;
    return fid_fail(&method->sink, FID_INVALID_EXTERNAL_DATA, "buffer \"%s\" in %s is %s, method %s has %s there, or in another dim order",
                    state->entry.key, data->name, out_entry->is_tensor ? layout_text(out_entry, found, sizeof found) : "no tensor",
                    method->name, wanted);
}

/* All are looked up before any is written: a file that does not fit changes nothing. */
static fid_status restore(fid_method *method, const fid_data *data) {
    fid_named_data entry;
    FID_TRY(list_states(method));
    for (uint32_t i = 0; i < method->state_count; i++) FID_TRY(find_saved(method, data, &method->states[i], &entry));
    for (uint32_t i = 0; i < method->state_count; i++) {
        const fid_method_state *state = &method->states[i];
        FID_TRY(find_saved(method, data, state, &entry));
        if (entry.bytes.size) memcpy(state->tensor->home, entry.bytes.data, entry.bytes.size);
    }
    return FID_OK;
}

fid_status fid_method_state_restore(fid_method *method, const fid_data *data) {
    FID_TRY(fid_method_enter(method));
    fid_status status = restore(method, data);
    fid_method_leave(method);
    return status;
}
