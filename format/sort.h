/* Sorting indices by what they stand for, in place and in n log n steps whatever the order they come in. */
#ifndef FID_FORMAT_SORT_H
#define FID_FORMAT_SORT_H

#include "base/deps.h"

/* `order` gives less than 0, 0, more than 0 as a stands before, beside or behind b. Not stable: ties are the caller's to break. */
void fid_sort_indices(uint32_t *indices, size_t count, int (*order)(const void *self, uint32_t a, uint32_t b), const void *self);

#endif
