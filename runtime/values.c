/* Loading a method's values: numbers, lists, tensors, and the memory that tensors stand on. */
#include "runtime/data.h"
#include "runtime/method.h"

#include "base/checked.h"

static fid_status invalid(fid_method *method, uint32_t index, const char *why) {
    return fid_fail(&method->sink, FID_INVALID_PROGRAM, "value %u %s", index, why);
}

static fid_status no_memory(fid_method *method) {
    return fid_fail(&method->sink, FID_OUT_OF_MEMORY, "no memory for the method's values");
}

/* ---- Tensors ---- */

/* Bytes of a tensor; also proves that no stride, nor any product of sizes with zeros left out, overflows. */
static bool tensor_bytes(const int64_t *sizes, size_t rank, size_t item, size_t *out_bytes) {
    size_t span = item, bytes;
    for (size_t i = 0; i < rank; i++) {
        if (sizes[i] < 0 || !fid_mul_size(span, sizes[i] > 1 ? (size_t)sizes[i] : 1, &span)) return false;
    }
    if (span > PTRDIFF_MAX || !fid_mul_sizes(sizes, rank, &bytes)) return false;
    *out_bytes = bytes * item;
    return true;
}

/* A missing dim order stands for row-major. */
static fid_status load_dim_order(fid_method *method, uint32_t index, fid_fb_vector order, fid_tensor *tensor) {
    if (order.count == 0) {
        for (uint8_t i = 0; i < tensor->rank; i++) tensor->dim_order[i] = i;
        return FID_OK;
    }
    if (order.count != tensor->rank) return invalid(method, index, "has a dim order of another length than its sizes");
    memcpy(tensor->dim_order, order.items, order.count);
    if (!fid_dim_order_valid(tensor->dim_order, tensor->rank)) {
        return invalid(method, index, "has a dim order that is no permutation of its dimensions");
    }
    return FID_OK;
}

static fid_status load_shape(fid_method *method, uint32_t index, fid_fb_ref source, fid_method_tensor *out, size_t *out_bytes) {
    fid_tensor *tensor = &out->tensor;
    fid_fb_vector sizes = fid_fb_get_vector(source, FID_PTE_Tensor_sizes);
    if (sizes.count > FID_MAX_RANK) {
        return fid_fail(&method->sink, FID_INVALID_PROGRAM, "value %u is a tensor of rank %u, the most is %d", index, sizes.count,
                        FID_MAX_RANK);
    }
    size_t rank = sizes.count;
    bool fixed = tensor->dynamism == FID_STATIC;
    tensor->rank = (uint8_t)rank;
    int64_t *numbers = fid_arena_allocate(&method->arena, (fixed ? 2 : 3) * rank * sizeof *numbers + rank, 8);
    if (!numbers) return no_memory(method);
    tensor->sizes = numbers;
    tensor->strides = numbers + rank;
    int64_t *bounds = fixed ? numbers : numbers + 2 * rank;
    tensor->dim_order = (uint8_t *)(numbers + (fixed ? 2 : 3) * rank);
    for (uint32_t i = 0; i < rank; i++) tensor->sizes[i] = bounds[i] = fid_fb_i32_at(sizes, i);
    out->bounds = bounds;
    if (!tensor_bytes(bounds, rank, fid_dtype_size((fid_dtype)tensor->dtype), out_bytes)) {
        char text[200];
        return fid_fail(&method->sink, FID_INVALID_PROGRAM, "value %u is a tensor of impossible sizes %s", index,
                        fid_shape_text(bounds, rank, text, sizeof text));
    }
    FID_TRY(load_dim_order(method, index, fid_fb_get_vector(source, FID_PTE_Tensor_dim_order), tensor));
    fid_tensor_update_strides(tensor);
    return FID_OK;
}

static fid_status settle_constant(fid_method *method, uint32_t index, const void *data, fid_method_tensor *out, size_t bytes) {
    size_t item = fid_dtype_size((fid_dtype)out->tensor.dtype);
    if ((uintptr_t)data % (item > 8 ? 8 : item) != 0) {
        return invalid(method, index, "is a constant whose data is misaligned in the file");
    }
    out->tensor.data = (void *)(uintptr_t)data;
    out->tensor.capacity = bytes;
    out->tensor.flags = FID_TENSOR_CONSTANT;
    out->tensor.dynamism = FID_STATIC; /* its elements are as many as they are */
    method->uses[index] |= FID_USE_MAYBE_CONST;
    return FID_OK;
}

/* Notes where planned memory is wanted; addresses come later. `home` holds the offset until then. */
static fid_status load_placement(fid_method *method, uint32_t index, fid_fb_ref place, fid_method_tensor *out, size_t bytes) {
    uint32_t id = fid_fb_get_u32(place, FID_PTE_AllocationDetails_memory_id, 0);
    uint64_t offset = fid_fb_get_u32(place, FID_PTE_AllocationDetails_memory_offset_low, 0) |
                      (uint64_t)fid_fb_get_u32(place, FID_PTE_AllocationDetails_memory_offset_high, 0) << 32;
    if (id == 0 || id > method->buffer_count) {
        return fid_fail(&method->sink, FID_INVALID_PROGRAM, "value %u lies in memory %u, the method has 1 to %u", index, id,
                        method->buffer_count);
    }
    fid_planned_buffer *buffer = &method->buffers[id - 1];
    if (!fid_range_fits(offset, bytes, buffer->declared)) {
        return fid_fail(&method->sink, FID_INVALID_PROGRAM, "value %u needs %zu bytes at byte %llu of memory %u, which has %zu",
                        index, bytes,
                        (unsigned long long)offset, id, buffer->declared);
    }
    size_t item = fid_dtype_size((fid_dtype)out->tensor.dtype);
    if (offset % (item > 8 ? 8 : item) != 0) return invalid(method, index, "has a planned place that is misaligned");
    if (buffer->used < offset + bytes) buffer->used = (size_t)offset + bytes;
    out->home_planned = true;
    out->home = (void *)(uintptr_t)offset;
    out->home_size = bytes;
    out->buffer = id - 1;
    return FID_OK;
}

static fid_status find_external(fid_method *method, uint32_t index, fid_method_tensor *out) {
    const fid_tensor *tensor = &out->tensor;
    if (method->data_count && out->name) {
        return method->data[0]->find_tensor(method->data, method->data_count, &method->sink, out->name, tensor, &out->initial_data);
    }
    char shape[160];
    return fid_fail(&method->sink, FID_INVALID_EXTERNAL_DATA, "value %u, weight \"%s\" (%s%s), lies outside the program, and no data file is given",
                    index, out->name ? out->name : "", fid_dtype_name((fid_dtype)tensor->dtype),
                    fid_shape_text(tensor->sizes, tensor->rank, shape, sizeof shape));
}

static fid_status load_extra(fid_method *method, uint32_t index, fid_fb_ref extra, fid_method_tensor *out) {
    out->name = fid_fb_get_string(extra, FID_PTE_ExtraTensorInfo_fully_qualified_name);
    if (fid_fb_get_u8(extra, FID_PTE_ExtraTensorInfo_location, 0) == FID_PTE_TENSOR_EXTERNAL) {
        FID_TRY(find_external(method, index, out));
    }
    if (fid_fb_get_u8(extra, FID_PTE_ExtraTensorInfo_device_type, 0) != 0) {
        return fid_fail(&method->sink, FID_NOT_SUPPORTED, "value %u lies on device %d; only the CPU's memory is supported", index,
                        fid_fb_get_u8(extra, FID_PTE_ExtraTensorInfo_device_type, 0));
    }
    out->initial_set = fid_fb_get_u64(extra, FID_PTE_ExtraTensorInfo_mutable_data_segments_idx, 0);
    return FID_OK;
}

static fid_status load_tensor(fid_method *method, uint32_t index, fid_fb_ref source) {
    fid_method_tensor *out = fid_arena_allocate(&method->arena, sizeof *out, 16);
    if (!out) return no_memory(method);
    method->values[index] = fid_tensor_value(&out->tensor);
    out->tensor.dtype = fid_fb_get_u8(source, FID_PTE_Tensor_scalar_type, 0);
    out->tensor.dynamism = fid_fb_get_u8(source, FID_PTE_Tensor_shape_dynamism, 0);
    if (fid_dtype_size((fid_dtype)out->tensor.dtype) == 0) {
        return fid_fail(&method->sink, FID_NOT_SUPPORTED, "value %u is a tensor of scalar type %d, which is not supported", index,
                        out->tensor.dtype);
    }
    if (out->tensor.dynamism > FID_DYNAMIC_UNBOUND) return invalid(method, index, "has an unknown kind of dynamic shape");
    if (fid_fb_get_i32(source, FID_PTE_Tensor_storage_offset, 0) != 0) {
        return invalid(method, index, "has a storage offset, which programs cannot have");
    }
    size_t bytes = 0;
    FID_TRY(load_shape(method, index, source, out, &bytes));
    fid_fb_ref extra = fid_fb_get_table(source, FID_PTE_Tensor_extra_tensor_info);
    if (extra.at) FID_TRY(load_extra(method, index, extra, out));
    uint32_t entry = fid_fb_get_u32(source, FID_PTE_Tensor_data_buffer_idx, 0);
    fid_fb_ref place = fid_fb_get_table(source, FID_PTE_Tensor_allocation_info);
    if (!place.at) {
        const void *data = out->initial_data;
        if (!data && entry) FID_TRY(fid_program_constant(method->program, entry, bytes, &data));
        return data ? settle_constant(method, index, data, out, bytes) : FID_OK;
    }
    if (!out->initial_data) out->initial = entry;
    return load_placement(method, index, place, out, bytes);
}

/* ---- Lists ---- */

static fid_status load_int_list(fid_method *method, uint32_t index, fid_fb_vector items) {
    fid_live_list *list = &method->lists[index];
    list->items = fid_arena_allocate_array(&method->arena, items.count, sizeof *list->items);
    list->sources = fid_arena_allocate_array(&method->arena, items.count, sizeof *list->sources);
    if (!list->items || !list->sources) return no_memory(method);
    list->count = items.count;
    for (uint32_t i = 0; i < items.count; i++) {
        uint64_t item = fid_fb_u64_at(items, i);
        if (item >= method->value_count || !fid_value_is_number(&method->values[item])) {
            return fid_fail(&method->sink, FID_INVALID_PROGRAM,
                            "value %u is a list of numbers; its item %u is value %lld, which is no number", index, i, (long long)item);
        }
        list->sources[i] = &method->values[item];
    }
    fid_live_list_gather(list);
    method->values[index].tag = FID_TAG_INT_LIST;
    method->values[index].as.ints.items = list->items;
    method->values[index].as.ints.count = items.count;
    return FID_OK;
}

static fid_status load_tensor_list(fid_method *method, uint32_t index, fid_fb_vector items, bool optional) {
    fid_tensor **tensors = fid_arena_allocate_array(&method->arena, items.count, sizeof *tensors);
    if (!tensors) return no_memory(method);
    for (uint32_t i = 0; i < items.count; i++) {
        int32_t item = fid_fb_i32_at(items, i);
        if (optional &&
            (item == -1 || (item >= 0 && (uint32_t)item < method->value_count && method->values[item].tag == FID_TAG_NONE))) {
            continue;
        }
        if (item < 0 || (uint32_t)item >= method->value_count || method->values[item].tag != FID_TAG_TENSOR) {
            return fid_fail(&method->sink, FID_INVALID_PROGRAM,
                            "value %u is a list of tensors; its item %u is value %d, which is no tensor", index, i, item);
        }
        tensors[i] = method->values[item].as.tensor;
    }
    method->values[index].tag = optional ? FID_TAG_OPTIONAL_TENSOR_LIST : FID_TAG_TENSOR_LIST;
    method->values[index].as.tensors.items = tensors;
    method->values[index].as.tensors.count = items.count;
    return FID_OK;
}

static fid_status load_bool_list(fid_method *method, uint32_t index, fid_fb_vector items) {
    bool *bools = fid_arena_allocate_array(&method->arena, items.count, sizeof *bools);
    if (!bools) return no_memory(method);
    for (uint32_t i = 0; i < items.count; i++) bools[i] = items.items[i] != 0;
    method->values[index].tag = FID_TAG_BOOL_LIST;
    method->values[index].as.bools.items = bools;
    method->values[index].as.bools.count = items.count;
    return FID_OK;
}

/* ---- Values ---- */

static fid_fb_ref value_table(fid_method *method, uint32_t index, uint8_t *out_type) {
    fid_fb_ref entry = fid_fb_table_at(fid_fb_get_vector(method->plan, FID_PTE_ExecutionPlan_values), index);
    *out_type = fid_fb_get_u8(entry, FID_PTE_EValue_val_type, 0);
    return fid_fb_get_table(entry, FID_PTE_EValue_val);
}

/* Numbers, texts, tensors: whatever stands for itself. */
static fid_status load_simple(fid_method *method, uint32_t index) {
    uint8_t type;
    fid_fb_ref table = value_table(method, index, &type);
    fid_value *value = &method->values[index];
    const char *text;
    switch (type) {
    case FID_PTE_TAG_Null: *value = fid_none_value(); return FID_OK;
    case FID_PTE_TAG_Int: *value = fid_int_value(fid_fb_get_i64(table, FID_PTE_Int_int_val, 0)); return FID_OK;
    case FID_PTE_TAG_Bool: *value = fid_bool_value(fid_fb_get_u8(table, FID_PTE_Bool_bool_val, 0) != 0); return FID_OK;
    case FID_PTE_TAG_Double: *value = fid_double_value(fid_fb_get_f64(table, FID_PTE_Double_double_val, 0)); return FID_OK;
    case FID_PTE_TAG_Tensor:
        return table.at ? load_tensor(method, index, table) : invalid(method, index, "is a tensor without content");
    case FID_PTE_TAG_String:
        text = fid_fb_get_string(table, FID_PTE_String_string_val);
        value->tag = FID_TAG_STRING;
        value->as.string.text = text ? text : "";
        value->as.string.length = strlen(value->as.string.text);
        return FID_OK;
    case FID_PTE_TAG_IntList:
    case FID_PTE_TAG_DoubleList:
    case FID_PTE_TAG_BoolList:
    case FID_PTE_TAG_TensorList:
    case FID_PTE_TAG_OptionalTensorList: return FID_OK; /* after the values that they list */
    default: return fid_fail(&method->sink, FID_INVALID_PROGRAM, "value %u is of kind %d, which this runtime does not know", index, type);
    }
}

static fid_status load_list(fid_method *method, uint32_t index) {
    uint8_t type;
    fid_fb_ref table = value_table(method, index, &type);
    if (type < FID_PTE_TAG_IntList || type > FID_PTE_TAG_OptionalTensorList) return FID_OK;
    fid_fb_vector items = fid_fb_get_vector(table, 0); /* every list table has `items` as its only field */
    switch (type) {
    case FID_PTE_TAG_IntList: return load_int_list(method, index, items);
    case FID_PTE_TAG_BoolList: return load_bool_list(method, index, items);
    case FID_PTE_TAG_TensorList: return load_tensor_list(method, index, items, false);
    case FID_PTE_TAG_OptionalTensorList: return load_tensor_list(method, index, items, true);
    default: break;
    }
    method->values[index].tag = FID_TAG_DOUBLE_LIST;
    method->values[index].as.doubles.items = (const double *)(const void *)items.items;
    method->values[index].as.doubles.count = items.count;
    return FID_OK;
}

static fid_status load_buffers(fid_method *method) {
    fid_fb_vector sizes = fid_fb_get_vector(method->plan, FID_PTE_ExecutionPlan_non_const_buffer_sizes);
    method->buffer_count = sizes.count ? sizes.count - 1 : 0; /* entry 0 is reserved */
    method->buffers = fid_arena_allocate_array(&method->arena, method->buffer_count, sizeof *method->buffers);
    if (!method->buffers) return no_memory(method);
    for (uint32_t i = 0; i < method->buffer_count; i++) {
        uint64_t size = fid_fb_u64_at(sizes, i + 1);
        if (size > PTRDIFF_MAX) return fid_fail(&method->sink, FID_INVALID_PROGRAM, "planned memory %u has an impossible size", i + 1);
        method->buffers[i].declared = (size_t)size;
    }
    fid_fb_vector devices = fid_fb_get_vector(method->plan, FID_PTE_ExecutionPlan_non_const_buffer_device);
    for (uint32_t i = 0; i < devices.count; i++) {
        uint8_t device = fid_fb_get_u8(fid_fb_table_at(devices, i), FID_PTE_NonConstBufferDevice_device_type, 0);
        if (device != 0) {
            return fid_fail(&method->sink, FID_NOT_SUPPORTED,
                            "planned memory lies on device %d; only the CPU's memory is supported", device);
        }
    }
    return FID_OK;
}

fid_status fid_method_load_values(fid_method *method) {
    method->value_count = fid_fb_get_vector(method->plan, FID_PTE_ExecutionPlan_values).count;
    method->values = fid_arena_allocate_array(&method->arena, method->value_count, sizeof *method->values);
    method->uses = fid_arena_allocate_array(&method->arena, method->value_count, sizeof *method->uses);
    method->lists = fid_arena_allocate_array(&method->arena, method->value_count, sizeof *method->lists);
    if (!method->values || !method->uses || !method->lists) return no_memory(method);
    FID_TRY(load_buffers(method));
    for (uint32_t i = 0; i < method->value_count; i++) FID_TRY(load_simple(method, i));
    for (uint32_t i = 0; i < method->value_count; i++) FID_TRY(load_list(method, i));
    return FID_OK;
}

/* ---- Planned memory ---- */

static fid_status size_planned(fid_method *method) {
    size_t total = 0;
    for (uint32_t i = 0; i < method->buffer_count; i++) {
        size_t size;
        if (fid_method_is_shared(method, i)) continue;
        if (!fid_align_size(method->buffers[i].used, FID_ALLOCATION_ALIGNMENT, &size) || !fid_add_size(total, size, &total)) {
            return fid_fail(&method->sink, FID_INVALID_PROGRAM, "the planned memory is larger than can be addressed");
        }
    }
    method->planned_size = total;
    return FID_OK;
}

static fid_status get_planned(fid_method *method, void *memory, size_t memory_size, uint8_t **out_block) {
    if (memory) {
        if ((uintptr_t)memory % FID_ALLOCATION_ALIGNMENT != 0) {
            return fid_fail(&method->sink, FID_INVALID_ARGUMENT, "the memory for the method is not aligned to %d bytes",
                            FID_ALLOCATION_ALIGNMENT);
        }
        if (memory_size < method->planned_size) {
            return fid_fail(&method->sink, FID_OUT_OF_MEMORY, "the method needs %zu bytes of planned memory, %zu are given",
                            method->planned_size, memory_size);
        }
        *out_block = memory;
        return FID_OK;
    }
    *out_block = method->planned = fid_allocate(method->allocator, method->planned_size);
    if (!method->planned) {
        return fid_fail(&method->sink, FID_OUT_OF_MEMORY, "no memory for %zu bytes of planned memory", method->planned_size);
    }
    return FID_OK;
}

fid_status fid_method_place_memory(fid_method *method, void *memory, size_t memory_size) {
    uint8_t *block;
    FID_TRY(size_planned(method));
    FID_TRY(get_planned(method, memory, memory_size, &block));
    for (uint32_t i = 0; i < method->buffer_count; i++) {
        fid_planned_buffer *buffer = &method->buffers[i];
        if (fid_method_is_shared(method, i)) {
            FID_TRY(method->shared->get(method->shared, method->program, i, buffer->declared, &buffer->data));
            continue;
        }
        buffer->data = block;
        block += (buffer->used + FID_ALLOCATION_ALIGNMENT - 1) / FID_ALLOCATION_ALIGNMENT * FID_ALLOCATION_ALIGNMENT;
    }
    for (uint32_t i = 0; i < method->value_count; i++) {
        if (method->values[i].tag != FID_TAG_TENSOR) continue;
        fid_method_tensor *tensor = fid_method_tensor_of(&method->values[i]);
        if (!tensor->home_planned) continue;
        tensor->home = method->buffers[tensor->buffer].data + (uintptr_t)tensor->home;
        tensor->tensor.data = tensor->home;
        tensor->tensor.capacity = tensor->home_size;
    }
    return FID_OK;
}

/* Shared memory starts as zeros, and belongs to other methods as well from then on. */
static bool wants_zeros(const fid_method *method, const fid_method_tensor *tensor, bool at_load) {
    return tensor->starts_as_zero && tensor->home && !(at_load && fid_method_is_shared(method, tensor->buffer));
}

static fid_status fill_initial(fid_method *method, const fid_method_tensor *tensor, bool at_load) {
    if (at_load && fid_method_is_shared(method, tensor->buffer)) {
        fid_status status = method->shared->claim(method->shared, &method->sink, tensor->home);
        if (status != FID_OK) return status == FID_ALREADY_LOADED ? FID_OK : status;
    }
    if (!tensor->initial_data) {
        return fid_program_read_initial(method->program, tensor->initial_set, tensor->initial, tensor->home, tensor->home_size);
    }
    if (tensor->home_size) memcpy(tensor->home, tensor->initial_data, tensor->home_size);
    return FID_OK;
}

fid_status fid_method_fill_memory(fid_method *method, bool at_load) {
    for (uint32_t i = 0; i < method->value_count; i++) {
        if (method->values[i].tag != FID_TAG_TENSOR) continue;
        const fid_method_tensor *tensor = fid_method_tensor_of(&method->values[i]);
        if (wants_zeros(method, tensor, at_load)) memset(tensor->home, 0, tensor->home_size);
    }
    for (uint32_t i = 0; i < method->value_count; i++) {
        if (method->values[i].tag != FID_TAG_TENSOR) continue;
        const fid_method_tensor *tensor = fid_method_tensor_of(&method->values[i]);
        if (tensor->home_planned && (tensor->initial || tensor->initial_data)) FID_TRY(fill_initial(method, tensor, at_load));
    }
    return FID_OK;
}
