/* An allocator is passed by value to whatever creates something; nothing here calls malloc by itself. */
#ifndef FID_BASE_ALLOCATOR_H
#define FID_BASE_ALLOCATOR_H

#include "base/deps.h"

/* `resize` is the one function: memory NULL allocates, new_size 0 frees (returns NULL), otherwise grows or shrinks
 * and keeps the content. Alignment of every result: 64 bytes. Returns NULL when memory is short; then the old block
 * stays. Must be callable from every thread that uses objects created with it. */
typedef struct fid_allocator {
    void *(*resize)(void *self, void *memory, size_t old_size, size_t new_size);
    void *self;
} fid_allocator;

#define FID_ALLOCATION_ALIGNMENT 64

static inline void *fid_allocate(fid_allocator allocator, size_t size) {
    return allocator.resize(allocator.self, NULL, 0, size ? size : 1);
}
static inline void fid_free(fid_allocator allocator, void *memory, size_t size) {
    if (memory) allocator.resize(allocator.self, memory, size ? size : 1, 0);
}

/* A bump arena: blocks from an allocator, or one fixed block of the caller; freed all at once. Not thread-safe. */
typedef struct fid_arena_block fid_arena_block;
typedef struct fid_arena {
    fid_allocator allocator;  /* resize NULL: the fixed block is all there is */
    fid_arena_block *newest;
    uint8_t *at, *end;
    size_t used; /* bytes handed out since init, with padding */
    size_t block_size;
} fid_arena;

/* Grows by blocks of at least `block_size` bytes. */
void fid_arena_init(fid_arena *arena, fid_allocator allocator, size_t block_size);
/* Never grows. The block is the caller's and must outlive the arena. */
void fid_arena_init_fixed(fid_arena *arena, void *block, size_t size);
void fid_arena_deinit(fid_arena *arena);
/* Zeroed memory aligned to `alignment` (a power of two, at most 64); NULL when memory is short. Size 0 gives a valid pointer. */
void *fid_arena_allocate(fid_arena *arena, size_t size, size_t alignment);
/* count * size with overflow check, aligned to 16. */
void *fid_arena_allocate_array(fid_arena *arena, size_t count, size_t size);
/* Copy of a string with closing zero. */
char *fid_arena_copy_text(fid_arena *arena, const char *text, size_t length);

#endif
