/* topk: the k first elements of each line in falling or rising order.
 *
 * Which of several equal elements are chosen, and in which order, is not defined by PyTorch but falls out of how it selects on the CPU:
 * by a heap of k for small k, else by quickselect and a quicksort of what was selected. The steps here are the same (as the GNU C++
 * library takes them), so that indices agree even among equals. */
#include "kernels/ref/order.h"

enum { INSERTION = 16, SELECTION = 3 }; /* lengths that are sorted by insertion */

typedef struct selector {
    bool largest;
} selector;

static bool before(const selector *s, fidk_ranked a, fidk_ranked b) { return s->largest ? a.key > b.key : a.key < b.key; }

static void swap(fidk_ranked *a, fidk_ranked *b) {
    fidk_ranked kept = *a;
    *a = *b;
    *b = kept;
}

/* ---- Heap: the element that comes last on top ---- */

static void rise(const selector *s, fidk_ranked *heap, size_t hole, size_t top, fidk_ranked value) {
    while (hole > top && before(s, heap[(hole - 1) / 2], value)) {
        heap[hole] = heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap[hole] = value;
}

/* Fills the hole from below down to a leaf, then lets the value rise from there. */
static void sink(const selector *s, fidk_ranked *heap, size_t hole, size_t count, fidk_ranked value) {
    size_t top = hole, child = hole;
    while (child < (count - 1) / 2) {
        child = 2 * (child + 1);
        if (before(s, heap[child], heap[child - 1])) child--;
        heap[hole] = heap[child];
        hole = child;
    }
    if (count % 2 == 0 && child == (count - 2) / 2) {
        child = 2 * child + 1;
        heap[hole] = heap[child];
        hole = child;
    }
    rise(s, heap, hole, top, value);
}

/* The first `k` of all elements, as a heap in items[0..k). */
static void heap_select(const selector *s, fidk_ranked *items, size_t k, size_t count) {
    for (size_t parent = k / 2; k > 1 && parent-- > 0;) sink(s, items, parent, k, items[parent]);
    for (size_t i = k; i < count; i++) {
        if (!before(s, items[i], items[0])) continue;
        fidk_ranked value = items[i];
        items[i] = items[0];
        sink(s, items, 0, k, value);
    }
}

static void sort_heap(const selector *s, fidk_ranked *items, size_t k) {
    for (size_t last = k; last > 1;) {
        fidk_ranked value = items[--last];
        items[last] = items[0];
        sink(s, items, 0, last, value);
    }
}

/* ---- Quickselect and quicksort ---- */

/* The median of the second, the middle and the last element goes to the front. */
static void median_to_front(const selector *s, fidk_ranked *items, size_t count) {
    fidk_ranked *a = items + 1, *b = items + count / 2, *c = items + count - 1;
    if (before(s, *a, *b)) swap(items, before(s, *b, *c) ? b : before(s, *a, *c) ? c : a);
    else swap(items, before(s, *a, *c) ? a : before(s, *b, *c) ? c : b);
}

/* Parts items[1..count) around the front element; returns where the second part starts. */
static size_t partition(const selector *s, fidk_ranked *items, size_t count) {
    median_to_front(s, items, count);
    size_t first = 1, last = count;
    for (;;) {
        while (before(s, items[first], items[0])) first++;
        last--;
        while (before(s, items[0], items[last])) last--;
        if (first >= last) return first;
        swap(&items[first++], &items[last]);
    }
}

/* Moves items[at] down to its place among the sorted elements before it. */
static void insert(const selector *s, fidk_ranked *items, size_t at) {
    fidk_ranked value = items[at];
    while (at > 0 && before(s, value, items[at - 1])) {
        items[at] = items[at - 1];
        at--;
    }
    items[at] = value;
}

static void insertion_sort(const selector *s, fidk_ranked *items, size_t count) {
    for (size_t i = 1; i < count; i++) insert(s, items, i);
}

static int twice_log2(size_t count) {
    int log = 0;
    while (count >>= 1) log++;
    return 2 * log;
}

/* Afterwards items[nth] is what sorting would put there, and all before it come no later. */
static void quickselect(const selector *s, fidk_ranked *items, size_t nth, size_t count) {
    int depth = twice_log2(count);
    while (count > SELECTION) {
        if (depth-- == 0) {
            heap_select(s, items, nth + 1, count);
            swap(items, items + nth);
            return;
        }
        size_t cut = partition(s, items, count);
        if (cut <= nth) {
            items += cut;
            nth -= cut;
            count -= cut;
        } else {
            count = cut;
        }
    }
    insertion_sort(s, items, count);
}

/* Leaves runs of at most INSERTION elements unsorted. Recursion is at most `depth` deep. */
static void quicksort(const selector *s, fidk_ranked *items, size_t count, int depth) {
    while (count > INSERTION) {
        if (depth-- == 0) {
            heap_select(s, items, count, count);
            sort_heap(s, items, count);
            return;
        }
        size_t cut = partition(s, items, count);
        quicksort(s, items + cut, count - cut, depth);
        count = cut;
    }
}

static void select_first(const selector *s, fidk_ranked *items, size_t k, size_t count, bool sorted) {
    if (k == 0) return;
    if (k <= count / 64) {
        heap_select(s, items, k, count);
        sort_heap(s, items, k);
        return;
    }
    quickselect(s, items, k - 1, count);
    if (!sorted) return;
    quicksort(s, items, k - 1, twice_log2(k - 1));
    insertion_sort(s, items, k - 1);
}

/* ---- Lines ---- */

typedef struct line {
    const fid_tensor *self, *values, *indices;
    size_t dim;
    int64_t length, k;
} line;

static int64_t stride_of(const fid_tensor *tensor, size_t dim) { return tensor->rank ? tensor->strides[dim] : 0; }

/* Offsets of a line's first element in self, values and indices. */
static void select_line(const line *l, const int64_t *at, fidk_ranked *items, const selector *s, bool sorted) {
    fid_dtype dtype = (fid_dtype)l->self->dtype;
    size_t size = fid_dtype_size(dtype);
    int64_t stride = stride_of(l->self, l->dim);
    for (int64_t i = 0; i < l->length; i++) items[i] = (fidk_ranked){fidk_order_key(dtype, l->self->data, at[0] + i * stride), i};
    select_first(s, items, (size_t)l->k, (size_t)l->length, sorted);
    for (int64_t i = 0; i < l->k; i++) {
        memcpy((uint8_t *)l->values->data + (size_t)(at[1] + i * stride_of(l->values, l->dim)) * size,
               (const uint8_t *)l->self->data + (size_t)(at[0] + items[i].index * stride) * size, size);
        fidk_set_int(l->indices, at[2] + i * stride_of(l->indices, l->dim), items[i].index);
    }
}

/* self, k, dim, largest, sorted */
static fid_status run_topk(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    line l = {.self = self, .values = fid_out_tensor(call, 0), .indices = fid_out_tensor(call, 1), .length = 1, .k = fid_arg_int(call, 1)};
    selector s = {fid_arg_bool(call, 3)};
    int64_t sizes[FID_MAX_RANK];
    FID_TRY(fidk_need_order(call, self));
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), self->rank, &l.dim));
    if (fid_tensor_numel(l.values) == 0) return FID_OK;
    for (size_t i = 0; i < self->rank; i++) sizes[i] = i == l.dim ? 1 : self->sizes[i];
    if (self->rank) l.length = self->sizes[l.dim];
    fidk_ranked *items = fid_call_scratch(call, (size_t)l.length * sizeof *items);
    if (!items) return FID_OUT_OF_MEMORY;
    fidk_walk walk;
    fidk_walk_begin(&walk, sizes, self->rank);
    fidk_walk_add_strides(&walk, self->strides);
    fidk_walk_add_strides(&walk, l.values->strides);
    fidk_walk_add_strides(&walk, l.indices->strides);
    FIDK_WALK(&walk) select_line(&l, walk.at, items, &s, fid_arg_bool(call, 4));
    return FID_OK;
}

static size_t topk_bytes(const fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    size_t longest = 1;
    for (size_t i = 0; i < self->rank; i++) longest = (size_t)self->sizes[i] > longest ? (size_t)self->sizes[i] : longest;
    return longest * sizeof(fidk_ranked);
}

const fid_kernel fid_ref_topk = {.run = run_topk, .scratch_bytes = topk_bytes};
