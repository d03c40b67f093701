/* Loading and unloading delegates through their backends. */
#include "runtime/data.h"
#include "runtime/method.h"

static fid_status named_data(void *self, const char *key, fid_span *out_data) {
    const fid_method *method = self;
    uint32_t count = method->data_count;
    if (count && method->data[0]->find_bytes(method->data, count, key, out_data) == FID_OK) return FID_OK;
    return fid_program_named_data(method->program, key, out_data);
}

static void *persist(void *self, size_t size) {
    fid_method *method = self;
    return fid_arena_allocate(&method->arena, size, FID_ALLOCATION_ALIGNMENT);
}

static const fid_backend *find_backend(const fid_environment *environment, const char *id) {
    for (size_t i = 0; i < environment->backend_count; i++) {
        if (strcmp(environment->backends[i]->id, id) == 0) return environment->backends[i];
    }
    return NULL;
}

static fid_status find_blob(fid_method *method, fid_fb_ref delegate, fid_span *out_blob) {
    fid_fb_ref place = fid_fb_get_table(delegate, FID_PTE_BackendDelegate_processed);
    uint32_t index = fid_fb_get_u32(place, FID_PTE_BackendDelegateDataReference_index, 0);
    uint8_t location = fid_fb_get_u8(place, FID_PTE_BackendDelegateDataReference_location, 0);
    if (location == FID_PTE_LOCATION_SEGMENT) return fid_program_segment(method->program, index, out_blob);
    fid_fb_vector blobs = fid_fb_get_vector(method->program->pte.root, FID_PTE_Program_backend_delegate_data);
    if (!place.at || location != FID_PTE_LOCATION_INLINE || index >= blobs.count) {
        return fid_fail(&method->sink, FID_INVALID_PROGRAM, "its data is entry %u at place %d, the program has %u inline entries",
                        index, location, blobs.count);
    }
    *out_blob = fid_fb_bytes(fid_fb_get_vector(fid_fb_table_at(blobs, index), FID_PTE_BackendDelegateInlineData_data));
    return FID_OK;
}

static fid_status read_specs(fid_method *method, fid_fb_ref delegate, fid_compile_spec **out_specs, size_t *out_count) {
    fid_fb_vector items = fid_fb_get_vector(delegate, FID_PTE_BackendDelegate_compile_specs);
    fid_compile_spec *specs = fid_arena_allocate_array(&method->arena, items.count, sizeof *specs);
    if (!specs) return fid_fail(&method->sink, FID_OUT_OF_MEMORY, "no memory for its options");
    for (uint32_t i = 0; i < items.count; i++) {
        fid_fb_ref item = fid_fb_table_at(items, i);
        specs[i].key = fid_fb_get_string(item, FID_PTE_CompileSpec_key);
        if (!specs[i].key) specs[i].key = "";
        specs[i].value = fid_fb_bytes(fid_fb_get_vector(item, FID_PTE_CompileSpec_value));
    }
    *out_specs = specs;
    *out_count = items.count;
    return FID_OK;
}

static fid_status init_delegate(fid_method *method, fid_fb_ref source, const fid_backend *backend, fid_delegate *out) {
    fid_backend_init init = {.struct_size = sizeof init, .method_name = method->name, .allocator = method->allocator,
                             .sink = &method->sink, .threads = method->threads, .cpu = method->cpu, .named_data = named_data,
                             .named_data_self = method, .persist = persist, .persist_self = method};
    fid_compile_spec *specs = NULL;
    FID_TRY(find_blob(method, source, &init.blob));
    FID_TRY(read_specs(method, source, &specs, &init.spec_count));
    init.specs = specs;
    if (backend->is_available && !backend->is_available(&init, backend->self)) {
        return fid_fail(&method->sink, FID_NOT_FOUND, "its backend is not available on this device");
    }
    out->backend = backend;
    return backend->init(backend->self, &init, &out->handle);
}

static fid_status load_delegate(fid_method *method, fid_fb_ref source, fid_delegate *out) {
    const char *id = fid_fb_get_string(source, FID_PTE_BackendDelegate_id);
    if (!id) return fid_fail(&method->sink, FID_INVALID_PROGRAM, "a delegate has no backend name");
    const fid_backend *backend = find_backend(&method->program->environment, id);
    if (!backend) {
        return fid_fail(&method->sink, FID_NOT_FOUND, "the method needs backend %s, which is not among the %zu given", id,
                        method->program->environment.backend_count);
    }
    if (backend->version != FID_BACKEND_VERSION) {
        return fid_fail(&method->sink, FID_DELEGATE_INCOMPATIBLE, "backend %s has interface version %u, this runtime has %u", id,
                        backend->version, FID_BACKEND_VERSION);
    }
    fid_status status = init_delegate(method, source, backend, out);
    return status == FID_OK ? FID_OK : fid_fail(&method->sink, status, "a delegate of backend %s", id);
}

fid_status fid_method_load_delegates(fid_method *method) {
    fid_fb_vector delegates = fid_fb_get_vector(method->plan, FID_PTE_ExecutionPlan_delegates);
    for (uint32_t i = 0; i < delegates.count; i++) {
        FID_TRY(load_delegate(method, fid_fb_table_at(delegates, i), &method->delegates[i]));
        method->delegate_count++;
    }
    return FID_OK;
}

void fid_method_unload_delegates(fid_method *method) {
    while (method->delegate_count > 0) {
        fid_delegate *delegate = &method->delegates[--method->delegate_count];
        if (delegate->backend->destroy) delegate->backend->destroy(delegate->backend->self, delegate->handle);
    }
}
