/* Pools of constants: equal content is stored once over all methods. */
#include "compiler/emit/emit_internal.h"

/* Entries lie at multiples of this in their segment, so that kernels use them in place. */
#define ENTRY_ALIGNMENT 64

#define SAMPLE 256

static uint64_t mix(uint64_t hash, const uint8_t *data, size_t size) {
    for (size_t i = 0; i < size; i++) hash = (hash ^ data[i]) * 0x100000001b3u;
    return hash;
}

/* Of the size and a few stretches: weights are large, and equal hashes are compared in full anyway. */
static uint64_t hash_of(const uint8_t *data, size_t size) {
    uint64_t hash = 0xcbf29ce484222325u ^ size;
    if (size <= 4 * SAMPLE) return mix(hash, data, size);
    for (size_t i = 0; i < 4; i++) hash = mix(hash, data + (size - SAMPLE) / 3 * i, SAMPLE);
    return hash;
}

static const fid_pte_out_piece *piece_at(const fidc_pool *pool, size_t i) { return (const fid_pte_out_piece *)pool->pieces.items + i; }

static void insert_slot(fidc_pool *pool, uint64_t hash, uint32_t piece) {
    size_t at = hash & (pool->slot_count - 1);
    while (pool->slots[at]) at = (at + 1) & (pool->slot_count - 1);
    pool->slots[at] = piece + 1;
}

static bool grow_slots(fidc_emitter *emitter, fidc_pool *pool) {
    if (2 * pool->pieces.count < pool->slot_count) return true;
    size_t count = pool->slot_count ? 2 * pool->slot_count : 64;
    uint32_t *slots = fidc_emit_allocate(emitter, count, sizeof *slots);
    if (!slots) return false;
    pool->slots = slots;
    pool->slot_count = count;
    for (size_t i = 0; i < pool->pieces.count; i++) insert_slot(pool, ((const uint64_t *)pool->hashes.items)[i], (uint32_t)i);
    return true;
}

void fidc_pool_init(fidc_pool *pool) {
    pool->pieces.item_size = sizeof(fid_pte_out_piece);
    pool->offsets.item_size = pool->hashes.item_size = sizeof(uint64_t);
}

const void *fidc_pool_data(const fidc_pool *pool, uint32_t entry) { return piece_at(pool, entry - 1)->data; }

/* The entry with the same bytes, or 0. */
static uint32_t find_entry(const fidc_pool *pool, uint64_t hash, const void *data, size_t size) {
    for (size_t at = hash & (pool->slot_count - 1); pool->slots[at]; at = (at + 1) & (pool->slot_count - 1)) {
        uint32_t piece = pool->slots[at] - 1;
        const fid_pte_out_piece *other = piece_at(pool, piece);
        if (((const uint64_t *)pool->hashes.items)[piece] != hash || other->size != size) continue;
        if (other->data == data || !size || memcmp(other->data, data, size) == 0) return piece + 1;
    }
    return 0;
}

static uint32_t add_entry(fidc_emitter *emitter, fidc_pool *pool, uint64_t hash, const void *data, size_t size) {
    if (!pool->offsets.count && !fidc_array_push(emitter, &pool->offsets)) return 0;
    uint64_t *offset = fidc_array_push(emitter, &pool->offsets), *kept_hash = fidc_array_push(emitter, &pool->hashes);
    fid_pte_out_piece *piece = fidc_array_push(emitter, &pool->pieces);
    if (!offset || !kept_hash || !piece) return 0;
    *offset = (pool->end + ENTRY_ALIGNMENT - 1) & ~(uint64_t)(ENTRY_ALIGNMENT - 1);
    *piece = (fid_pte_out_piece){data, *offset, size};
    *kept_hash = hash;
    pool->end = *offset + size;
    insert_slot(pool, hash, (uint32_t)pool->pieces.count - 1);
    return (uint32_t)pool->pieces.count;
}

uint32_t fidc_pool_add(fidc_emitter *emitter, fidc_pool *pool, const void *data, size_t size) {
    uint64_t hash = hash_of(data, size);
    if (!grow_slots(emitter, pool)) return 0;
    uint32_t entry = find_entry(pool, hash, data, size);
    return entry ? entry : add_entry(emitter, pool, hash, data, size);
}
