/* Max and average pools in one to three dimensions, with given windows (max_pool*_with_indices, avg_pool*) or with windows
 * that divide the input into a given number of bins (adaptive_*). */
#include "kernels/ref/dense.h"
#include "ops/window.h"

/* Where one output position looks in one dimension: input positions first, first + step, ... below end. */
typedef struct reach {
    int64_t first, end, step;
} reach;

static reach window_reach(const fid_window *window, size_t d, int64_t out) {
    int64_t step = window->dilation[d], first = out * window->stride[d] - window->padding[d];
    int64_t end = first + step * (window->kernel[d] - 1) + 1;
    if (first < 0) first += (-first + step - 1) / step * step;
    return (reach){first, end < window->in[d] ? end : window->in[d], step};
}

/* Bin `out` of out[d] bins: they cover the input evenly and may overlap by one. */
static reach adaptive_reach(const fid_window *window, size_t d, int64_t out) {
    int64_t in = window->in[d], bins = window->out[d];
    int64_t first = out / bins * in + out % bins * in / bins;
    return (reach){first, 1 + ((out + 1) * in - 1) / bins, 1};
}

typedef reach (*reach_function)(const fid_window *window, size_t d, int64_t out);

/* Calls `plane` for each plane of a pool with tensors whose data point to the plane's first element. */
typedef struct planes {
    fid_pool pool;
    reach_function reach;
    fid_tensor input, out, indices; /* moved from plane to plane */
    double *values;                 /* (in_points) of the plane */
    int64_t *keys;                  /* (in_points) of the plane; max pools only */
} planes;

static int64_t spatial_offset(const fid_tensor *tensor, const fid_window *window, const int64_t *at) {
    const int64_t *strides = tensor->strides + tensor->rank - window->spatial;
    return fidk_strided(at + 3 - window->spatial, strides, window->spatial);
}

static void move_to_plane(fid_tensor *tensor, const fid_tensor *whole, size_t lead, const int64_t *at) {
    tensor->data = (uint8_t *)whole->data + fidk_strided(at, whole->strides, lead) * (int64_t)fid_dtype_size((fid_dtype)whole->dtype);
}

/* ---- Max ---- */

#define NAN_KEY INT64_MAX

/* A number that orders as the element does, NaN above all: lets one loop serve all dtypes exactly. */
static int64_t float_key(double value) {
    int64_t bits;
    if (value != value) return NAN_KEY;
    value += 0.0; /* -0 orders as 0 */
    memcpy(&bits, &value, sizeof bits);
    return bits < 0 ? INT64_MIN - bits : bits;
}

static void load_keys(planes *p, size_t points) {
    const fid_tensor *input = &p->input;
    size_t spatial = p->pool.window.spatial, lead = input->rank - spatial;
    if (fid_dtype_is_float((fid_dtype)input->dtype)) {
        fidk_load_view(input, spatial, input->sizes + lead, input->strides + lead, p->values);
        for (size_t i = 0; i < points; i++) p->keys[i] = float_key(p->values[i]);
        return;
    }
    int64_t at[3] = {0, 0, 0};
    for (size_t i = 0; i < points; i++, fidk_next_index(at, p->pool.window.in, 3))
        fidk_load_row_int(input, spatial_offset(input, &p->pool.window, at), 1, 1, &p->keys[i]);
}

/* Index of the largest element that output position `at` sees: the first of equals, but the last NaN, as in PyTorch. A dilated
 * window can see none: then *out_seen is false, and the index is where the window would begin. */
static int64_t largest(const planes *p, const int64_t *at, bool *out_seen) {
    const fid_window *window = &p->pool.window;
    reach d = p->reach(window, 0, at[0]), h = p->reach(window, 1, at[1]), w = p->reach(window, 2, at[2]);
    bool real = fid_dtype_is_float((fid_dtype)p->input.dtype);
    int64_t best = -1;
    for (int64_t z = d.first; z < d.end; z += d.step)
        for (int64_t y = h.first; y < h.end; y += h.step)
            for (int64_t x = w.first; x < w.end; x += w.step) {
                int64_t point = (z * window->in[1] + y) * window->in[2] + x, key = p->keys[point];
                if (best < 0 || key > p->keys[best] || (real && key == NAN_KEY)) best = point;
            }
    *out_seen = best >= 0;
    return best >= 0 ? best : (d.first * window->in[1] + h.first) * window->in[2] + w.first;
}

/* The element at `point` of the plane, whatever its dtype, to output position `at`; without one the lowest value. */
static void store_largest(const planes *p, int64_t point, bool seen, const int64_t *at) {
    const fid_window *window = &p->pool.window;
    int64_t target = spatial_offset(&p->out, window, at), size = (int64_t)fid_dtype_size((fid_dtype)p->input.dtype);
    if (!seen) {
        double lowest = -(double)INFINITY;
        fidk_store_row(&p->out, target, 1, 1, &lowest);
        return;
    }
    int64_t from[3] = {point / window->in[2] / window->in[1], point / window->in[2] % window->in[1], point % window->in[2]};
    const uint8_t *source = (const uint8_t *)p->input.data + spatial_offset(&p->input, window, from) * size;
    memcpy((uint8_t *)p->out.data + target * size, source, (size_t)size);
}

static void max_plane(planes *p) {
    const fid_window *window = &p->pool.window;
    int64_t at[3] = {0, 0, 0};
    load_keys(p, fidk_product(window->in, 3));
    do {
        bool seen;
        int64_t point = largest(p, at, &seen);
        store_largest(p, point, seen, at);
        fidk_store_row_int(&p->indices, spatial_offset(&p->indices, window, at), 1, 1, &point);
    } while (fidk_next_index(at, window->out, 3));
}

static fid_status run_max(fid_call *call, planes *p, reach_function reach_of) {
    const fid_tensor *out = fid_out_tensor(call, 0), *indices = fid_out_tensor(call, 1);
    size_t lead = out->rank - p->pool.window.spatial, points = fidk_product(p->pool.window.in, 3);
    int64_t plane[2] = {0, 0};
    if (fid_tensor_numel(out) == 0) return FID_OK;
    p->reach = reach_of, p->input = *p->pool.input, p->out = *out, p->indices = *indices;
    FIDK_NEED(p->values = fidk_doubles(call, points));
    FIDK_NEED(p->keys = fidk_ints(call, points));
    do {
        move_to_plane(&p->input, p->pool.input, lead, plane);
        move_to_plane(&p->out, out, lead, plane);
        move_to_plane(&p->indices, indices, lead, plane);
        max_plane(p);
    } while (fidk_next_index(plane, out->sizes, lead));
    return FID_OK;
}

static fid_status run_max_pool(fid_call *call, size_t spatial) {
    planes p;
    FID_TRY(fid_max_pool_of(call, spatial, &p.pool));
    return run_max(call, &p, window_reach);
}

static fid_status run_adaptive_max_pool(fid_call *call, size_t spatial) {
    planes p;
    FID_TRY(fid_adaptive_pool_of(call, spatial, &p.pool));
    return run_max(call, &p, adaptive_reach);
}

static fid_status max_pool2d(fid_call *call) { return run_max_pool(call, 2); }
static fid_status max_pool3d(fid_call *call) { return run_max_pool(call, 3); }
static fid_status adaptive_max_pool1d(fid_call *call) { return run_adaptive_max_pool(call, 1); }
static fid_status adaptive_max_pool2d(fid_call *call) { return run_adaptive_max_pool(call, 2); }
static fid_status adaptive_max_pool3d(fid_call *call) { return run_adaptive_max_pool(call, 3); }

const fid_kernel fid_ref_max_pool2d_with_indices = {.run = max_pool2d};
const fid_kernel fid_ref_max_pool3d_with_indices = {.run = max_pool3d};
const fid_kernel fid_ref_adaptive_max_pool1d = {.run = adaptive_max_pool1d};
const fid_kernel fid_ref_adaptive_max_pool2d = {.run = adaptive_max_pool2d};
const fid_kernel fid_ref_adaptive_max_pool3d = {.run = adaptive_max_pool3d};

/* ---- Average ---- */

/* What the sum at output position `at` is divided by: `divisor`, or the elements seen, or with `include_padding` the part of
 * the window inside the input and its padding. */
static double divisor_at(const fid_window *window, const int64_t *at, int64_t seen, bool include_padding, int64_t divisor) {
    if (divisor) return (double)divisor;
    if (!include_padding) return (double)seen;
    int64_t count = 1;
    for (size_t d = 0; d < 3; d++) {
        int64_t first = at[d] * window->stride[d] - window->padding[d], end = first + window->kernel[d];
        int64_t limit = window->in[d] + window->padding[d];
        count *= (end < limit ? end : limit) - first;
    }
    return (double)count;
}

static double sum_at(const planes *p, const int64_t *at, int64_t *out_seen) {
    const fid_window *window = &p->pool.window;
    reach d = p->reach(window, 0, at[0]), h = p->reach(window, 1, at[1]), w = p->reach(window, 2, at[2]);
    double sum = 0;
    *out_seen = 0;
    for (int64_t z = d.first; z < d.end; z++)
        for (int64_t y = h.first; y < h.end; y++)
            for (int64_t x = w.first; x < w.end; x++, ++*out_seen)
                sum += p->values[(z * window->in[1] + y) * window->in[2] + x];
    return sum;
}

static void average_plane(planes *p, bool include_padding, int64_t divisor) {
    const fid_window *window = &p->pool.window;
    size_t spatial = window->spatial, lead = p->input.rank - spatial;
    int64_t at[3] = {0, 0, 0};
    fidk_load_view(&p->input, spatial, p->input.sizes + lead, p->input.strides + lead, p->values);
    do {
        int64_t seen;
        double sum = sum_at(p, at, &seen);
        double average = seen ? sum / divisor_at(window, at, seen, include_padding, divisor) : 0;
        fidk_store_row(&p->out, spatial_offset(&p->out, window, at), 1, 1, &average);
    } while (fidk_next_index(at, window->out, 3));
}

static fid_status run_average(fid_call *call, planes *p, bool include_padding, int64_t divisor) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    size_t lead = out->rank - p->pool.window.spatial;
    int64_t plane[2] = {0, 0};
    if (fid_tensor_numel(out) == 0) return FID_OK;
    p->input = *p->pool.input, p->out = *out;
    FIDK_NEED(p->values = fidk_doubles(call, fidk_product(p->pool.window.in, 3)));
    do {
        move_to_plane(&p->input, p->pool.input, lead, plane);
        move_to_plane(&p->out, out, lead, plane);
        average_plane(p, include_padding, divisor);
    } while (fidk_next_index(plane, out->sizes, lead));
    return FID_OK;
}

static fid_status run_avg_pool(fid_call *call, size_t spatial) {
    planes p = {.reach = window_reach};
    FID_TRY(fid_avg_pool_of(call, spatial, &p.pool));
    bool has_divisor = spatial > 1 && !fid_arg_is_none(call, 6);
    return run_average(call, &p, fid_arg_bool(call, 5), has_divisor ? fid_arg_int(call, 6) : 0);
}

static fid_status run_adaptive_avg_pool(fid_call *call, size_t spatial) {
    planes p = {.reach = adaptive_reach};
    FID_TRY(fid_adaptive_pool_of(call, spatial, &p.pool));
    return run_average(call, &p, false, 0);
}

static fid_status avg_pool1d(fid_call *call) { return run_avg_pool(call, 1); }
static fid_status avg_pool2d(fid_call *call) { return run_avg_pool(call, 2); }
static fid_status avg_pool3d(fid_call *call) { return run_avg_pool(call, 3); }
static fid_status adaptive_avg_pool2d(fid_call *call) { return run_adaptive_avg_pool(call, 2); }
static fid_status adaptive_avg_pool3d(fid_call *call) { return run_adaptive_avg_pool(call, 3); }

const fid_kernel fid_ref_avg_pool1d = {.run = avg_pool1d};
const fid_kernel fid_ref_avg_pool2d = {.run = avg_pool2d};
const fid_kernel fid_ref_avg_pool3d = {.run = avg_pool3d};
const fid_kernel fid_ref__adaptive_avg_pool2d = {.run = adaptive_avg_pool2d};
const fid_kernel fid_ref__adaptive_avg_pool3d = {.run = adaptive_avg_pool3d};
