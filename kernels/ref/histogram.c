/* Reference kernels that count: bincount, and histograms over equal or given bins. */
#include "kernels/ref/dense.h"
#include "kernels/ref/elements.h"

/* ---- bincount(self, weights?, minlength) ---- */

/* The greatest number plus one, at least `least`. */
static fid_status count_bins(const fid_call *call, const int64_t *numbers, size_t count, int64_t least, int64_t *out_bins) {
    *out_bins = least < 0 ? 0 : least;
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] < 0 || numbers[i] > INT32_MAX) {
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: element %zu is %lld; counted numbers lie in [0, 2147483647]", call->name, i,
                            (long long)numbers[i]);
        }
        if (numbers[i] >= *out_bins) *out_bins = numbers[i] + 1;
    }
    return FID_OK;
}

static fid_status run_bincount(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *weights = fid_arg_tensor(call, 1);
    fid_tensor *out = fid_out_tensor(call, 0);
    size_t count = fid_tensor_numel(self);
    int64_t *numbers, bins;
    double *each, *sums;
    if (self->rank != 1 || fid_dtype_is_float((fid_dtype)self->dtype) || (weights && fid_tensor_numel(weights) != count)) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a vector of integers, and as many weights if any, are expected", call->name);
    }
    FIDK_NEED(numbers = fidk_ints(call, count));
    FIDK_NEED(each = fidk_dense_load_or(call, weights, count, 1));
    if (count) fidk_load_row_int(self, 0, self->strides[0], count, numbers);
    FID_TRY(count_bins(call, numbers, count, fid_arg_int(call, 2), &bins));
    FID_TRY(fid_call_resize(call, 0, &bins, 1));
    FIDK_NEED(sums = fidk_doubles(call, (size_t)bins));
    for (int64_t b = 0; b < bins; b++) sums[b] = 0;
    for (size_t i = 0; i < count; i++) sums[numbers[i]] += each[i];
    fidk_dense_store(out, sums);
    return FID_OK;
}
const fid_kernel fid_ref_bincount = {.run = run_bincount};

/* ---- histogram ---- */

typedef struct histogram {
    const fid_tensor *self;
    double *values, *weights; /* elements, and what each counts */
    double *edges, *counts;   /* bins + 1, bins */
    size_t count, bins;
} histogram;

static fid_status histogram_begin(fid_call *call, const fid_tensor *weight, histogram *h) {
    h->self = fid_arg_tensor(call, 0);
    h->count = fid_tensor_numel(h->self);
    h->bins = (size_t)fid_out_tensor(call, 0)->sizes[0];
    FIDK_NEED(h->values = fidk_dense_load(call, h->self));
    FIDK_NEED(h->weights = fidk_dense_load_or(call, weight, h->count, 1));
    FIDK_NEED(h->counts = fidk_doubles(call, h->bins));
    memset(h->counts, 0, h->bins * sizeof *h->counts);
    return FID_OK;
}

/* Bin b holds edges[b] <= x < edges[b + 1]; the last one its upper edge too. What lies outside, NaN as well, is not counted. */
static void count_values(histogram *h) {
    for (size_t i = 0; i < h->count; i++) {
        double x = h->values[i];
        size_t low = 0, high = h->bins; /* edges[low] <= x < edges[high], or high is the last */
        if (!(x >= h->edges[0] && x <= h->edges[h->bins])) continue;
        while (high - low > 1) {
            size_t middle = low + (high - low) / 2;
            if (h->edges[middle] <= x) low = middle;
            else high = middle;
        }
        h->counts[low] += h->weights[i];
    }
}

static fid_status histogram_end(fid_call *call, histogram *h, bool density) {
    double total = 0;
    count_values(h);
    for (size_t b = 0; b < h->bins; b++) total += h->counts[b];
    for (size_t b = 0; b < h->bins && density; b++) h->counts[b] /= total * (h->edges[b + 1] - h->edges[b]);
    fidk_dense_store(fid_out_tensor(call, 0), h->counts);
    fidk_dense_store(fid_out_tensor(call, 1), h->edges);
    return FID_OK;
}

/* The range that is asked for, else that of the data. */
static fid_status find_range(const fid_call *call, const histogram *h, double *low, double *high) {
    const fid_value *range = call->args[2];
    *low = h->count ? INFINITY : 0, *high = h->count ? -INFINITY : 1;
    if (range->tag == FID_TAG_DOUBLE_LIST && range->as.doubles.count == 2) {
        *low = range->as.doubles.items[0], *high = range->as.doubles.items[1];
    } else {
        for (size_t i = 0; i < h->count; i++) *low = fmin(*low, h->values[i]), *high = fmax(*high, h->values[i]);
    }
    if (*low == *high) *low -= 0.5, *high += 0.5;
    if (isfinite(*low) && isfinite(*high) && *low < *high) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the range [%g, %g] has no bins", call->name, *low, *high);
}

static fid_status run_histogram_bin_ct(fid_call *call) {
    histogram h;
    double low, high;
    FID_TRY(histogram_begin(call, fid_arg_tensor(call, 3), &h));
    FID_TRY(find_range(call, &h, &low, &high));
    FIDK_NEED(h.edges = fidk_doubles(call, h.bins + 1));
    double step = (high - low) / (double)h.bins;
    for (size_t b = 0; b <= h.bins; b++) { /* from both ends, so that both are exact */
        double edge = b < (h.bins + 1) / 2 ? low + step * (double)b : high - step * (double)(h.bins - b);
        h.edges[b] = fidk_round_to((fid_dtype)h.self->dtype, edge);
    }
    return histogram_end(call, &h, fid_arg_bool(call, 4));
}

static fid_status run_histogram_bins_tensor(fid_call *call) {
    histogram h;
    FID_TRY(histogram_begin(call, fid_arg_tensor(call, 2), &h));
    FIDK_NEED(h.edges = fidk_dense_load(call, fid_arg_tensor(call, 1)));
    return histogram_end(call, &h, fid_arg_bool(call, 3));
}

const fid_kernel fid_ref_histogram_bin_ct = {.run = run_histogram_bin_ct};
const fid_kernel fid_ref_histogram_bins_tensor = {.run = run_histogram_bins_tensor};
