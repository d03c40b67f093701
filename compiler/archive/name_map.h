/* A hash map from names to pointers, in the program's arena. Names are not copied. */
#ifndef FIDC_ARCHIVE_NAME_MAP_H
#define FIDC_ARCHIVE_NAME_MAP_H

#include "compiler/ir/ir.h"

typedef struct fidc_name_slot { const char *name; void *item; } fidc_name_slot;

/* Zero-initialize. */
typedef struct fidc_name_map {
    fidc_name_slot *slots;
    size_t count, capacity; /* capacity: a power of two, at least twice the count */
} fidc_name_map;

/* Adds or replaces. False: out of memory. */
bool fidc_name_map_put(fidc_program *program, fidc_name_map *map, const char *name, void *item);
/* NULL if there is none. */
void *fidc_name_map_get(const fidc_name_map *map, const char *name);

#endif
