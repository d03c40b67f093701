/* Bump arenas. */
#include "base/allocator.h"
#include "base/checked.h"

struct fid_arena_block {
    fid_arena_block *older;
    size_t size; /* bytes of the whole block, header included */
};

#define HEADER_BYTES FID_ALLOCATION_ALIGNMENT

void fid_arena_init(fid_arena *arena, fid_allocator allocator, size_t block_size) {
    *arena = (fid_arena){.allocator = allocator, .block_size = block_size};
}

void fid_arena_init_fixed(fid_arena *arena, void *block, size_t size) {
    *arena = (fid_arena){.at = block, .end = (uint8_t *)block + size};
}

void fid_arena_deinit(fid_arena *arena) {
    for (fid_arena_block *block = arena->newest; block;) {
        fid_arena_block *older = block->older;
        fid_free(arena->allocator, block, block->size);
        block = older;
    }
    arena->newest = NULL;
    arena->at = arena->end = NULL;
    arena->used = 0;
}

static bool grow(fid_arena *arena, size_t size) {
    if (!arena->allocator.resize) return false;
    size_t wanted;
    if (!fid_add_size(size, HEADER_BYTES + FID_ALLOCATION_ALIGNMENT, &wanted)) return false;
    if (wanted < arena->block_size) wanted = arena->block_size;
    fid_arena_block *block = fid_allocate(arena->allocator, wanted);
    if (!block) return false;
    block->older = arena->newest;
    block->size = wanted;
    arena->newest = block;
    arena->at = (uint8_t *)block + HEADER_BYTES;
    arena->end = (uint8_t *)block + wanted;
    return true;
}

static void *take(fid_arena *arena, size_t size, size_t alignment) {
    if (!arena->at) return NULL;
    size_t padding = (size_t)(-(uintptr_t)arena->at) & (alignment - 1);
    size_t room = (size_t)(arena->end - arena->at);
    if (padding > room || size > room - padding) return NULL;
    uint8_t *memory = arena->at + padding;
    arena->at = memory + size;
    arena->used += padding + size;
    return memory;
}

void *fid_arena_allocate(fid_arena *arena, size_t size, size_t alignment) {
    void *memory = take(arena, size, alignment);
    if (!memory && grow(arena, size)) memory = take(arena, size, alignment);
    if (memory) memset(memory, 0, size);
    return memory;
}

void *fid_arena_allocate_array(fid_arena *arena, size_t count, size_t size) {
    size_t bytes;
    return fid_mul_size(count, size, &bytes) ? fid_arena_allocate(arena, bytes, 16) : NULL;
}

char *fid_arena_copy_text(fid_arena *arena, const char *text, size_t length) {
    char *copy = length < SIZE_MAX ? fid_arena_allocate(arena, length + 1, 1) : NULL;
    if (copy) memcpy(copy, text, length);
    return copy;
}
