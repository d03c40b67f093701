/* A hash map from names to pointers: open addressing, FNV-1a. See name_map.h. */
#include "compiler/archive/name_map.h"

static size_t hash_of(const char *name) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name; name++) hash = (hash ^ (uint8_t)*name) * 0x100000001b3u;
    return (size_t)(hash ^ hash >> 32);
}

/* The slot that holds the name, or the free one where it belongs. */
static fidc_name_slot *find_slot(const fidc_name_map *map, const char *name) {
    size_t mask = map->capacity - 1, at = hash_of(name) & mask;
    while (map->slots[at].name && strcmp(map->slots[at].name, name) != 0) at = (at + 1) & mask;
    return &map->slots[at];
}

static bool grow(fidc_program *program, fidc_name_map *map) {
    fidc_name_map bigger = {.count = map->count, .capacity = map->capacity ? map->capacity * 2 : 64};
    bigger.slots = fidc_allocate(program, bigger.capacity * sizeof *bigger.slots);
    if (!bigger.slots) return false;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].name) *find_slot(&bigger, map->slots[i].name) = map->slots[i];
    *map = bigger;
    return true;
}

bool fidc_name_map_put(fidc_program *program, fidc_name_map *map, const char *name, void *item) {
    if (map->count * 2 >= map->capacity && !grow(program, map)) return false;
    fidc_name_slot *slot = find_slot(map, name);
    if (!slot->name) map->count++;
    *slot = (fidc_name_slot){name, item};
    return true;
}

void *fidc_name_map_get(const fidc_name_map *map, const char *name) {
    return map->capacity ? find_slot(map, name)->item : NULL;
}
