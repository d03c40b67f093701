/* Memory of mutable buffers that several methods of one program use: a cache that one fills and the other reads. */
#include "runtime/data.h"
#include "runtime/program.h"

struct fid_shared_memory {
    struct fid_shared_memory *next;
    uint32_t index;
    uint8_t *data;
    size_t size;
};

/* A buffer that has its initial content. */
struct fid_claim {
    struct fid_claim *next;
    const void *place;
};

static void destroy(fid_shared_state *state) {
    fid_allocator allocator = state->allocator;
    for (struct fid_shared_memory *memory = state->memories, *next; memory; memory = next) {
        next = memory->next;
        fid_free(allocator, memory->data, memory->size);
        fid_free(allocator, memory, sizeof *memory);
    }
    for (struct fid_claim *claim = state->claims, *next; claim; claim = next) {
        next = claim->next;
        fid_free(allocator, claim, sizeof *claim);
    }
    fid_free(allocator, state, sizeof *state);
}

static fid_status add_memory(fid_shared_state *state, const fid_sink *sink, uint32_t index, size_t size, uint8_t **out_memory) {
    struct fid_shared_memory *memory = fid_allocate(state->allocator, sizeof *memory);
    uint8_t *data = memory ? fid_allocate(state->allocator, size) : NULL;
    if (!data) {
        fid_free(state->allocator, memory, sizeof *memory);
        return fid_fail(sink, FID_OUT_OF_MEMORY, "no memory for %zu bytes of shared buffers", size);
    }
    memset(data, 0, size);
    *memory = (struct fid_shared_memory){state->memories, index, data, size};
    state->memories = memory;
    *out_memory = data;
    return FID_OK;
}

static fid_status get(fid_shared_state *state, const fid_program *program, uint32_t index, size_t size, uint8_t **out_memory) {
    const fid_sink *sink = &program->environment.sink;
    if (state->program && state->program != program) {
        return fid_fail(sink, FID_INVALID_ARGUMENT, "the shared buffers are those of another program's methods");
    }
    state->program = program;
    for (struct fid_shared_memory *memory = state->memories; memory; memory = memory->next) {
        if (memory->index != index) continue;
        if (memory->size != size) {
            return fid_fail(sink, FID_INVALID_ARGUMENT, "the methods do not share their buffers: memory %u has %zu bytes in this one, %zu in another",
                            index + 1, size, memory->size);
        }
        *out_memory = memory->data;
        return FID_OK;
    }
    return add_memory(state, sink, index, size, out_memory);
}

static fid_status claim(fid_shared_state *state, const fid_sink *sink, const void *place) {
    for (const struct fid_claim *one = state->claims; one; one = one->next) {
        if (one->place == place) return FID_ALREADY_LOADED;
    }
    struct fid_claim *made = fid_allocate(state->allocator, sizeof *made);
    if (!made) return fid_fail(sink, FID_OUT_OF_MEMORY, "no memory for shared buffers");
    *made = (struct fid_claim){state->claims, place};
    state->claims = made;
    return FID_OK;
}

fid_status fid_shared_state_create(const fid_environment *environment, fid_shared_state **out_state) {
    fid_shared_state *state = fid_allocate(environment->allocator, sizeof *state);
    *out_state = state;
    if (!state) return fid_fail(&environment->sink, FID_OUT_OF_MEMORY, "no memory for shared buffers");
    *state = (fid_shared_state){.get = get, .claim = claim, .destroy = destroy, .references = 1, .allocator = environment->allocator};
    return FID_OK;
}

void fid_shared_state_release(fid_shared_state *state) {
    if (state) fid_shared_state_release_reference(state);
}

/* ---- Programs made for it ---- */

static bool is_shared_buffer(fid_fb_ref value) {
    if (fid_fb_get_u8(value, FID_PTE_EValue_val_type, 0) != FID_PTE_TAG_Tensor) return false;
    fid_fb_ref tensor = fid_fb_get_table(value, FID_PTE_EValue_val);
    fid_fb_ref place = fid_fb_get_table(tensor, FID_PTE_Tensor_allocation_info), extra = fid_fb_get_table(tensor, FID_PTE_Tensor_extra_tensor_info);
    return fid_fb_get_u32(place, FID_PTE_AllocationDetails_memory_id, 0) > 1 && fid_fb_get_string(extra, FID_PTE_ExtraTensorInfo_fully_qualified_name);
}

bool fid_program_shares_buffers(const fid_program *program) {
    fid_fb_vector plans = fid_fb_get_vector(program->pte.root, FID_PTE_Program_execution_plan);
    for (uint32_t i = 0; i < plans.count; i++) {
        fid_fb_vector values = fid_fb_get_vector(fid_fb_table_at(plans, i), FID_PTE_ExecutionPlan_values);
        for (uint32_t k = 0; k < values.count; k++) {
            if (is_shared_buffer(fid_fb_table_at(values, k))) return true;
        }
    }
    return false;
}
