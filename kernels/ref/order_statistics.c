/* Reference kernels that sort what they reduce: median, mode, k-th value, quantiles. NaN sorts last; of equals the earlier one comes first. */
#include "kernels/ref/reduce.h"

typedef struct ranked {
    fidk_element value;
    int64_t index; /* position in the reduced dimensions */
} ranked;

static bool before(const fidk_reduction *r, const ranked *a, const ranked *b) {
    if (r->form == FIDK_REAL) {
        if (isnan(a->value.d) != isnan(b->value.d)) return isnan(b->value.d);
        if (a->value.d < b->value.d || a->value.d > b->value.d) return a->value.d < b->value.d;
    } else if (a->value.i != b->value.i) {
        return fidk_int_less(r->as, a->value.i, b->value.i);
    }
    return a->index < b->index;
}

static void sift_down(const fidk_reduction *r, ranked *items, size_t root, size_t count) {
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && before(r, &items[child], &items[child + 1])) child++;
        if (!before(r, &items[root], &items[child])) return;
        ranked swapped = items[root];
        items[root] = items[child];
        items[child] = swapped;
    }
}

static void heap_sort(const fidk_reduction *r, ranked *items, size_t count) {
    for (size_t i = count / 2; i-- > 0;) sift_down(r, items, i, count);
    for (size_t end = count; end-- > 1;) {
        ranked swapped = items[0];
        items[0] = items[end];
        items[end] = swapped;
        sift_down(r, items, 0, end);
    }
}

static void load(const fidk_reduction *r, ranked *items) {
    fidk_walk inner = r->inner;
    size_t count = 0;
    FIDK_WALK(&inner) {
        items[count] = (ranked){fidk_reduction_get(r, &inner), (int64_t)count};
        count++;
    }
}

static void load_sorted(const fidk_reduction *r, ranked *items) {
    load(r, items);
    heap_sort(r, items, (size_t)r->count);
}

/* Which of `count` sorted items is the answer. */
typedef size_t pick_function(const fidk_reduction *r, const ranked *items, size_t count);

static size_t without_nan(const fidk_reduction *r, const ranked *items, size_t count) {
    while (r->form == FIDK_REAL && count && isnan(items[count - 1].value.d)) count--;
    return count;
}

static size_t middle(const fidk_reduction *r, const ranked *items, size_t count) {
    size_t numbers = without_nan(r, items, count);
    return numbers < count ? numbers : (count - 1) / 2;
}

static size_t middle_number(const fidk_reduction *r, const ranked *items, size_t count) {
    size_t numbers = without_nan(r, items, count);
    return numbers ? (numbers - 1) / 2 : 0;
}

static bool equal(const fidk_reduction *r, const ranked *a, const ranked *b) {
    return r->form == FIDK_REAL ? a->value.d == b->value.d : a->value.i == b->value.i;
}

/* ---- Sorting by value alone as C++ standard libraries do it: by quicksort with the median of three until 16 items are left, then by
 * insertion. Which of equal items is last follows from that, and users compare with PyTorch, which sorts so ---- */

static bool below(const fidk_reduction *r, const ranked *a, const ranked *b) {
    if (r->form != FIDK_REAL) return fidk_int_less(r->as, a->value.i, b->value.i);
    return a->value.d < b->value.d || (!isnan(a->value.d) && isnan(b->value.d));
}

static void swap(ranked *a, ranked *b) {
    ranked kept = *a;
    *a = *b;
    *b = kept;
}

/* Moves the median of the second, the middle and the last item to the front. */
static void pivot_to_front(const fidk_reduction *r, ranked *first, ranked *end) {
    ranked *a = first + 1, *b = first + (end - first) / 2, *c = end - 1;
    bool ab = below(r, a, b), bc = below(r, b, c), ac = below(r, a, c);
    swap(first, ab ? (bc ? b : ac ? c : a) : (ac ? a : bc ? c : b));
}

/* Where the items that are not below the pivot start. */
static ranked *split(const fidk_reduction *r, ranked *first, ranked *end) {
    const ranked *pivot = first;
    ranked *low = first + 1, *high = end;
    for (;; low++) {
        while (below(r, low, pivot)) low++;
        do high--; while (below(r, pivot, high));
        if (!(low < high)) return low;
        swap(low, high);
    }
}

static void insert_all(const fidk_reduction *r, ranked *items, size_t count) {
    for (size_t i = 1; i < count; i++) {
        ranked item = items[i];
        size_t at = i;
        for (; at > 0 && below(r, &item, &items[at - 1]); at--) items[at] = items[at - 1];
        items[at] = item;
    }
}

/* Sorts but for runs of up to 16 items that are in place among the others. What quicksort does not halve often enough is sorted by heap. */
static void sort_parts(const fidk_reduction *r, ranked *first, ranked *end, int depth) {
    while (end - first > 16) {
        if (depth-- == 0) {
            heap_sort(r, first, (size_t)(end - first));
            return;
        }
        pivot_to_front(r, first, end);
        ranked *middle = split(r, first, end);
        sort_parts(r, middle, end, depth);
        end = middle;
    }
}

static void sort_by_value(const fidk_reduction *r, ranked *items, size_t count) {
    int depth = 0;
    for (size_t rest = count; rest > 1; rest /= 2) depth += 2;
    sort_parts(r, items, items + count, depth);
    insert_all(r, items, count);
}

static size_t most_frequent(const fidk_reduction *r, const ranked *items, size_t count) {
    size_t best = 0, best_length = 0, start = 0;
    for (size_t i = 0; i < count; i++) {
        if (!equal(r, &items[start], &items[i])) start = i;
        if (i - start + 1 > best_length) {
            best_length = i - start + 1;
            best = i;
        }
    }
    return best;
}

typedef void sort_function(const fidk_reduction *r, ranked *items, size_t count);

static fid_status pick(fid_call *call, uint32_t dims, uint32_t keepdim, pick_function *function, sort_function *sort) {
    fidk_reduction r;
    if (fid_dtype_is_complex((fid_dtype)fid_arg_tensor(call, 0)->dtype)) return fidk_refuse_complex(call);
    FID_TRY(fidk_reduction_begin(&r, call, dims, keepdim, (fid_dtype)fid_arg_tensor(call, 0)->dtype));
    ranked *items = fid_call_scratch(call, (size_t)r.count * sizeof *items);
    if (!items) return FID_OUT_OF_MEMORY;
    const fid_tensor *values = fid_out_tensor(call, 0);
    bool indices = call->output_index + 1 < call->arg_count;
    FIDK_WALK(&r.outer) {
        load(&r, items);
        sort(&r, items, (size_t)r.count);
        ranked none = {r.form == FIDK_REAL ? fidk_real(NAN) : fidk_int(0), 0}; /* the median of nothing */
        const ranked *found = r.count ? &items[function(&r, items, (size_t)r.count)] : &none;
        fidk_store((fid_dtype)values->dtype, values->data, r.outer.at[1], fidk_convert(found->value, r.as, (fid_dtype)values->dtype));
        if (indices) fidk_set_int(fid_out_tensor(call, 1), r.outer.at[2], found->index);
    }
    return FID_OK;
}

/* The most that one output's elements may need. */
static size_t scratch_of_all(const fid_call *call) { return fid_tensor_numel(fid_arg_tensor(call, 0)) * sizeof(ranked); }

#define ORDER_KERNEL(id, dims, keepdim, function, sort)                                                        \
    static fid_status run_##id(fid_call *call) { return pick(call, dims, keepdim, function, sort); }           \
    const fid_kernel fid_ref_##id = {.run = run_##id, .scratch_bytes = scratch_of_all};

ORDER_KERNEL(median, FID_NO_ARG, FID_NO_ARG, middle, heap_sort)
ORDER_KERNEL(median_dim, 1, 2, middle, heap_sort)
ORDER_KERNEL(nanmedian, FID_NO_ARG, FID_NO_ARG, middle_number, heap_sort)
ORDER_KERNEL(nanmedian_dim, 1, 2, middle_number, heap_sort)
ORDER_KERNEL(mode, 1, 2, most_frequent, sort_by_value)


/* ---- The k-th value, by partitions around the median of three: which of equals is named follows from that scheme, and users compare
 * with PyTorch, which has the same ---- */

static bool above(const fidk_reduction *r, const ranked *a, const ranked *b) {
    if (r->form != FIDK_REAL) return fidk_int_less(r->as, b->value.i, a->value.i);
    return a->value.d > b->value.d || (isnan(a->value.d) && !isnan(b->value.d));
}

static void order_pair(const fidk_reduction *r, ranked *low, ranked *high) {
    if (above(r, low, high)) swap(low, high);
}

/* Splits [left, right] around its pivot; out_low and out_high are where the two scans have met. */
static void partition(const fidk_reduction *r, ranked *items, size_t left, size_t right, size_t *out_low, size_t *out_high) {
    swap(&items[(left + right) / 2], &items[left + 1]);
    order_pair(r, &items[left + 1], &items[right]);
    order_pair(r, &items[left], &items[right]);
    order_pair(r, &items[left + 1], &items[left]);
    size_t low = left + 1, high = right;
    for (;;) {
        do low++; while (above(r, &items[left], &items[low]));
        do high--; while (above(r, &items[high], &items[left]));
        if (high < low) break;
        swap(&items[low], &items[high]);
    }
    swap(&items[left], &items[high]);
    *out_low = low;
    *out_high = high;
}

static const ranked *select_kth(const fidk_reduction *r, ranked *items, size_t k) {
    size_t left = 0, right = (size_t)r->count - 1, low, high;
    while (right > left + 1) {
        partition(r, items, left, right, &low, &high);
        if (high <= k) left = low;
        if (high >= k) right = high ? high - 1 : 0;
    }
    if (right == left + 1) order_pair(r, &items[left], &items[right]);
    return &items[k];
}

static fid_status run_kthvalue(fid_call *call) {
    const fid_tensor *values = fid_out_tensor(call, 0), *indices = fid_out_tensor(call, 1);
    fid_dtype dtype = (fid_dtype)values->dtype;
    fidk_reduction r;
    if (fid_dtype_is_complex(dtype)) return fidk_refuse_complex(call);
    FID_TRY(fidk_reduction_begin(&r, call, 2, 3, dtype));
    ranked *items = fid_call_scratch(call, (size_t)r.count * sizeof *items);
    if (!items) return FID_OUT_OF_MEMORY;
    FIDK_WALK(&r.outer) {
        load(&r, items);
        const ranked *found = select_kth(&r, items, (size_t)fid_arg_int(call, 1) - 1);
        fidk_store(dtype, values->data, r.outer.at[1], found->value);
        fidk_set_int(indices, r.outer.at[2], found->index);
    }
    return FID_OK;
}
const fid_kernel fid_ref_kthvalue = {.run = run_kthvalue, .scratch_bytes = scratch_of_all};

/* ---- Quantiles: between the two sorted elements around q * (n - 1) ---- */

typedef enum interpolation { LINEAR, LOWER, HIGHER, MIDPOINT, NEAREST } interpolation;

static fid_status read_interpolation(const fid_call *call, uint32_t i, interpolation *out_way) {
    static const char *const names[] = {"linear", "lower", "higher", "midpoint", "nearest"};
    const fid_value *text = call->args[i];
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        if (text->as.string.length == strlen(names[k]) && memcmp(text->as.string.text, names[k], strlen(names[k])) == 0) {
            *out_way = (interpolation)k;
            return FID_OK;
        }
    }
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: interpolation must be linear, lower, higher, midpoint or nearest", call->name);
}

static double quantile(const fidk_reduction *r, const ranked *items, double q, bool skip_nan, interpolation way) {
    size_t count = (size_t)r->count, numbers = without_nan(r, items, count);
    if (numbers == 0 || (!skip_nan && numbers < count)) return NAN;
    double rank = q * (double)(numbers - 1);
    if (way == NEAREST) rank = rint(rank);
    double below = items[(size_t)floor(rank)].value.d, above = items[(size_t)ceil(rank)].value.d, part = rank - floor(rank);
    if (way == LOWER) return below;
    if (way == HIGHER) return above;
    if (way == MIDPOINT) part = 0.5;
    return below == above ? below : below + part * (above - below);
}

/* q is a number, a 0-d tensor, or a list of which each has its slice of the output. */
static fid_status quantiles(fid_call *call, bool skip_nan) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *q = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    size_t lead = q ? q->rank : 0, slices = q ? fid_tensor_numel(q) : 1;
    fid_tensor slice = *out; /* the output without the dimension of q */
    fid_reduction_dims dims;
    fidk_reduction r;
    interpolation way = LINEAR;
    FID_TRY(read_interpolation(call, 4, &way));
    FID_TRY(fid_reduction_dims_of(call, 2, 3, &dims));
    slice.sizes += lead;
    slice.strides += lead;
    fidk_reduction_start(&r, self, &dims, (fid_dtype)self->dtype, (const fid_tensor *const[]){&slice}, 1);
    ranked *items = fid_call_scratch(call, (size_t)r.count * sizeof *items);
    if (!items) return FID_OUT_OF_MEMORY;
    FIDK_WALK(&r.outer) {
        load_sorted(&r, items);
        for (size_t k = 0; k < slices; k++) {
            double at = q ? fidk_get_real(q, lead ? (int64_t)k * q->strides[0] : 0) : fid_arg_double(call, 1);
            if (!(at >= 0 && at <= 1)) return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: q is %g, outside [0, 1]", call->name, at);
            fidk_set_real(out, r.outer.at[1] + (lead ? (int64_t)k * out->strides[0] : 0), quantile(&r, items, at, skip_nan, way));
        }
    }
    return FID_OK;
}

#define QUANTILE_KERNEL(id, skip_nan)                                               \
    static fid_status run_##id(fid_call *call) { return quantiles(call, skip_nan); } \
    const fid_kernel fid_ref_##id = {.run = run_##id, .scratch_bytes = scratch_of_all};

QUANTILE_KERNEL(quantile, false)
QUANTILE_KERNEL(quantile_scalar, false)
QUANTILE_KERNEL(nanquantile, true)
QUANTILE_KERNEL(nanquantile_scalar, true)
