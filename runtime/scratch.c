/* Memory of kernel calls: a block that is sized at load and grows when a call wanted more, so that later calls find room.
 * And chunks: blocks from the allocator that hang on lists until nobody can look at them any more. */
#include "runtime/method.h"

#include "base/checked.h"

struct fid_scratch_chunk {
    fid_scratch_chunk *older;
    size_t size; /* header included */
};

#define CHUNK_HEADER FID_ALLOCATION_ALIGNMENT

void *fid_chunk_allocate(fid_method *method, size_t size) {
    if (!fid_add_size(size, CHUNK_HEADER, &size)) return NULL;
    fid_scratch_chunk *chunk = fid_allocate(method->allocator, size);
    if (!chunk) return NULL;
    *chunk = (fid_scratch_chunk){NULL, size};
    return (uint8_t *)chunk + CHUNK_HEADER;
}

static fid_scratch_chunk *chunk_of(void *memory) { return (fid_scratch_chunk *)(void *)((uint8_t *)memory - CHUNK_HEADER); }

void fid_chunk_free(fid_method *method, void *memory) {
    if (memory) fid_free(method->allocator, chunk_of(memory), chunk_of(memory)->size);
}

static void push(fid_scratch_chunk **list, void *memory) {
    chunk_of(memory)->older = *list;
    *list = chunk_of(memory);
}

static void free_list(fid_method *method, fid_scratch_chunk **list) {
    while (*list) {
        fid_scratch_chunk *chunk = *list;
        *list = chunk->older;
        fid_free(method->allocator, chunk, chunk->size);
    }
}

void fid_chunk_retire(fid_method *method, void *memory) { push(&method->retired, memory); }
void fid_method_free_retired(fid_method *method) { free_list(method, &method->retired); }

/* ---- What kernels call ---- */

static void *persist(fid_scratch *self, size_t bytes) {
    fid_method *method = (fid_method *)(void *)self;
    return fid_arena_allocate(&method->arena, bytes, FID_ALLOCATION_ALIGNMENT);
}

static void *scratch(fid_scratch *self, size_t bytes) {
    fid_method *method = (fid_method *)(void *)self;
    size_t rounded, used;
    if (!fid_align_size(bytes, FID_ALLOCATION_ALIGNMENT, &rounded) || !fid_add_size(method->scratch_used, rounded, &used)) {
        return NULL;
    }
    void *memory;
    if (used <= method->scratch_size) {
        memory = method->scratch + method->scratch_used;
    } else {
        memory = fid_chunk_allocate(method, rounded);
        if (!memory) return NULL;
        push(&method->overflow, memory);
    }
    method->scratch_used = used;
    return memory;
}

/* Tensors of a method's calls are the method's. */
static fid_status grow(fid_scratch *self, fid_tensor *tensor, size_t bytes) {
    return fid_method_grow_home((fid_method *)(void *)self, (fid_method_tensor *)(void *)tensor, bytes);
}

void fid_method_scratch_init(fid_method *method) { method->memory = (fid_scratch){persist, scratch, grow}; }

fid_status fid_method_scratch_reserve(fid_method *method, size_t size) {
    if (size <= method->scratch_size) return FID_OK;
    fid_free(method->allocator, method->scratch, method->scratch_size);
    method->scratch_size = 0;
    method->scratch = fid_allocate(method->allocator, size);
    if (!method->scratch) return fid_fail(&method->sink, FID_OUT_OF_MEMORY, "no memory for %zu bytes of kernel scratch", size);
    method->scratch_size = size;
    return FID_OK;
}

void fid_method_scratch_end_call(fid_method *method) {
    size_t used = method->scratch_used;
    method->scratch_used = 0;
    if (!method->overflow) return;
    free_list(method, &method->overflow);
    /* If the larger block cannot be had, the next call goes by chunks again. */
    uint8_t *block = fid_allocate(method->allocator, used);
    if (!block) return;
    fid_free(method->allocator, method->scratch, method->scratch_size);
    method->scratch = block;
    method->scratch_size = used;
}

void fid_method_scratch_deinit(fid_method *method) {
    free_list(method, &method->overflow);
    free_list(method, &method->retired);
    fid_free(method->allocator, method->scratch, method->scratch_size);
    method->scratch = NULL;
    method->scratch_size = 0;
}
