/* Loading and unloading methods: read this first to see the order in which a method comes to be. */
#include "runtime/data.h"
#include "runtime/method.h"

/* Blocks of the arena that holds what load builds. */
#define ARENA_BLOCK 16384

static fid_status find_plan(fid_program *program, const char *name, fid_fb_ref *out_plan) {
    fid_fb_vector plans = fid_fb_get_vector(program->pte.root, FID_PTE_Program_execution_plan);
    for (uint32_t i = 0; i < plans.count; i++) {
        *out_plan = fid_fb_table_at(plans, i);
        if (strcmp(fid_fb_get_string(*out_plan, FID_PTE_ExecutionPlan_name), name) == 0) return FID_OK;
    }
    char names[300] = "none";
    size_t at = 0;
    for (uint32_t i = 0; i < plans.count && at < sizeof names; i++) {
        at += fid_format(names + at, sizeof names - at, "%s\"%s\"", i ? ", " : "", fid_program_method_name(program, i));
    }
    return fid_fail(&program->environment.sink, FID_NOT_FOUND, "the program has no method \"%s\"; it has %s", name, names);
}

static void destroy(fid_method *method) {
    fid_method_unload_delegates(method);
    for (uint32_t i = 0; i < method->value_count && method->values; i++) {
        if (method->values[i].tag != FID_TAG_TENSOR) continue;
        fid_method_tensor *tensor = fid_method_tensor_of(&method->values[i]);
        if (tensor->home_allocated) fid_chunk_free(method, tensor->home);
    }
    fid_method_scratch_deinit(method);
    fid_free(method->allocator, method->planned, method->planned_size);
    for (uint32_t i = 0; i < method->data_count; i++) fid_data_release(method->data[i]);
    if (method->shared) fid_shared_state_release_reference(method->shared);
    fid_arena_deinit(&method->arena);
    fid_free(method->allocator, method, sizeof *method);
}

static fid_status keep_numbers(fid_method *method) {
    method->first_values = fid_arena_allocate_array(&method->arena, method->value_count, sizeof *method->values);
    if (!method->first_values) return fid_fail(&method->sink, FID_OUT_OF_MEMORY, "no memory for the method's values");
    memcpy(method->first_values, method->values, method->value_count * sizeof *method->values);
    return FID_OK;
}

static fid_status retain(fid_method *method, const fid_method_options *options) {
    method->data = fid_arena_allocate_array(&method->arena, options->data_count, sizeof *method->data);
    if (!method->data) return fid_fail(&method->sink, FID_OUT_OF_MEMORY, "no memory for the list of data files");
    for (; method->data_count < options->data_count; method->data_count++) {
        method->data[method->data_count] = options->data[method->data_count];
        fid_data_retain(method->data[method->data_count]);
    }
    method->shared = options->shared_state;
    if (method->shared) __atomic_add_fetch(&method->shared->references, 1, __ATOMIC_RELAXED);
    return FID_OK;
}

static fid_status load_parts(fid_method *method, const fid_method_options *options) {
    FID_TRY(retain(method, options));
    FID_TRY(fid_method_load_values(method));
    FID_TRY(fid_method_load_io(method));
    FID_TRY(fid_method_place_memory(method, options->memory, options->memory_size));
    FID_TRY(fid_method_load_code(method));
    FID_TRY(fid_method_fill_memory(method, true));
    FID_TRY(keep_numbers(method));
    return fid_method_load_delegates(method);
}

static fid_status load(fid_method *method, const fid_method_options *options) {
    if (!method->tracer) return load_parts(method, options);
    uint64_t start = fid_trace_now(method);
    method->tracer->begin_block(method->tracer->self, "Default");
    FID_TRY(load_parts(method, options));
    fid_trace_span(method, "Method::init", false, start);
    fid_trace_span(method, "Program::load_method", false, start);
    return FID_OK;
}

static fid_method *create(fid_program *program, fid_fb_ref plan, const fid_method_options *options) {
    fid_allocator allocator = program->environment.allocator;
    fid_method *method = fid_allocate(allocator, sizeof *method);
    if (!method) return NULL;
    memset(method, 0, sizeof *method);
    method->program = program;
    method->plan = plan;
    method->name = fid_fb_get_string(plan, FID_PTE_ExecutionPlan_name);
    method->sink = program->environment.sink;
    method->allocator = allocator;
    method->threads = options->threads ? options->threads : program->environment.threads;
    method->cpu = program->environment.cpu;
    method->no_cpu_kernels = options->no_cpu_kernels;
    method->tracer = options->tracer;
    method->turn = FID_TURN_FREE;
    fid_arena_init(&method->arena, allocator, ARENA_BLOCK);
    fid_method_scratch_init(method);
    return method;
}

fid_status fid_method_load(fid_program *program, const char *name, const fid_method_options *options, fid_method **out_method) {
    const fid_sink *sink = &program->environment.sink;
    fid_method_options chosen = {.struct_size = sizeof chosen};
    fid_fb_ref plan = {NULL};
    *out_method = NULL;
    if (options) memcpy(&chosen, options, options->struct_size < sizeof chosen ? options->struct_size : sizeof chosen);
    FID_TRY(find_plan(program, name, &plan));
    fid_method *method = create(program, plan, &chosen);
    if (!method) return fid_fail(sink, FID_OUT_OF_MEMORY, "no memory for method %s", name);
    fid_status status = load(method, &chosen);
    if (status != FID_OK) {
        destroy(method);
        return fid_fail(sink, status, "method %s cannot be loaded", name);
    }
    fid_program_retain(program);
    *out_method = method;
    return FID_OK;
}

void fid_method_unload(fid_method *method) {
    if (!method) return;
    fid_program *program = method->program;
    destroy(method);
    fid_program_close(program);
}

size_t fid_method_planned_bytes(const fid_method *method) { return method->planned_size; }

fid_status fid_method_kernel(const fid_method *method, size_t index, fid_kernel_info *out_info) {
    for (uint32_t c = 0; c < method->chain_count; c++)
        for (uint32_t i = 0; i < method->chains[c].count; i++) {
            const fid_code *code = &method->chains[c].code[i];
            if (code->kind != FID_CODE_KERNEL || index--) continue;
            const fid_method_call *mc = code->as.kernel;
            bool computes = mc->out_count && !mc->is_view && mc->op->kind != FID_OP_SCALAR;
            *out_info = (fid_kernel_info){mc->call.name, mc->op->cpu && mc->kernel == mc->op->cpu, computes};
            return FID_OK;
        }
    return FID_NOT_FOUND;
}

static const char *tree(const fid_method *method, uint32_t slot) {
    const char *text = fid_fb_get_string(fid_fb_get_table(method->plan, FID_PTE_ExecutionPlan_container_meta_type), slot);
    return text ? text : "";
}

const char *fid_method_input_tree(const fid_method *method) { return tree(method, FID_PTE_ContainerMetadata_encoded_inp_str); }
const char *fid_method_output_tree(const fid_method *method) { return tree(method, FID_PTE_ContainerMetadata_encoded_out_str); }
