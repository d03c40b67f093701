/* Heapsort of indices. */
#include "format/sort.h"

typedef int (*order_function)(const void *self, uint32_t a, uint32_t b);

static void sink_down(uint32_t *heap, size_t at, size_t count, order_function order, const void *self) {
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && order(self, heap[child], heap[child + 1]) < 0) child++;
        if (order(self, heap[at], heap[child]) >= 0) return;
        uint32_t moved = heap[at];
        heap[at] = heap[child];
        heap[child] = moved;
    }
}

void fid_sort_indices(uint32_t *indices, size_t count, order_function order, const void *self) {
    for (size_t i = count / 2; i-- > 0;) sink_down(indices, i, count, order, self);
    for (size_t left = count; left > 1; left--) {
        uint32_t last = indices[left - 1];
        indices[left - 1] = indices[0];
        indices[0] = last;
        sink_down(indices, 0, left - 1, order, self);
    }
}
