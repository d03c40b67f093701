/* Sums and means over neighbouring dimensions: mean.dim, sum.dim_IntList, adaptive average pools to one element. */
#include "kernels/cpu/operand.h"

/* A tensor in memory order as (outer, reduced, inner). */
typedef struct reduction {
    const fidk_tiles *tiles;
    const float *x;
    float *y;
    size_t outer, reduced, inner;
    float scale;
    size_t parts;
} reduction;

/* Sorts the dimensions in memory order into kept, reduced, kept; false if they alternate more often. Size one counts as well, so
 * that the answer does not depend on sizes. */
static bool sort_dimensions(const fid_tensor *t, const bool *reduced, reduction *out) {
    size_t stage = 0; /* 0: outer, 1: reduced, 2: inner */
    out->outer = out->reduced = out->inner = 1;
    for (size_t i = 0; i < t->rank; i++) {
        size_t dim = t->dim_order[i], size = (size_t)t->sizes[dim];
        if (reduced[dim]) {
            if (stage == 2) return false;
            stage = 1;
            out->reduced *= size;
        } else if (stage == 0) out->outer *= size;
        else stage = 2, out->inner *= size;
    }
    return true;
}

/* The dimensions that are left must lie in the same order in the output. */
static bool same_order(const fid_tensor *in, const fid_tensor *out, const bool *reduced) {
    int64_t last = -1;
    uint8_t place[FID_MAX_RANK] = {0}, moved[FID_MAX_RANK] = {0};
    for (uint8_t i = 0; i < out->rank; i++) place[out->dim_order[i]] = i;
    for (uint8_t i = 0, kept = 0; i < in->rank; i++)
        if (!reduced[i]) moved[i] = out->rank == in->rank ? i : kept++;
    for (size_t i = 0; i < in->rank; i++) {
        size_t dim = in->dim_order[i];
        if (reduced[dim]) continue;
        if (place[moved[dim]] < last) return false;
        last = place[moved[dim]];
    }
    return true;
}

static void reduce_part(void *context, size_t index) {
    const reduction *r = context;
    if (r->inner == 1) {
        size_t begin = fidk_part_begin(r->outer, r->parts, index), end = fidk_part_begin(r->outer, r->parts, index + 1);
        fidk_rows rows = {.x = r->x + begin * r->reduced, .y = r->y + begin, .x_stride = r->reduced, .y_stride = 1, .rows = end - begin,
                          .columns = r->reduced, .scale = r->scale};
        r->tiles->sum_rows(&rows);
        return;
    }
    size_t begin = fidk_part_begin(r->inner, r->parts, index), end = fidk_part_begin(r->inner, r->parts, index + 1);
    for (size_t o = 0; o < r->outer && begin < end; o++) {
        fidk_rows rows = {.x = r->x + o * r->reduced * r->inner + begin, .y = r->y + o * r->inner + begin, .x_stride = r->inner,
                          .rows = r->reduced, .columns = end - begin, .scale = r->scale};
        r->tiles->sum_columns(&rows);
    }
}

static void run_reduction(const fid_call *call, const fid_tensor *in, reduction *r, bool mean) {
    r->tiles = fidk_tiles_for(call->cpu);
    r->x = in->data;
    r->y = fid_out_tensor(call, 0)->data;
    r->scale = mean ? 1 / (float)r->reduced : 1;
    r->parts = fidk_worthwhile_threads(call->threads, (double)fid_tensor_numel(in) * 3);
    fidk_parallel(call->threads, reduce_part, r, r->parts);
}

/* mean.dim and sum.dim_IntList(self, dim, keepdim, dtype): no dimensions mean all. */
static fid_status read_dims(const fid_call *call, bool *reduced) {
    size_t count, dim, rank = fid_arg_tensor(call, 0)->rank;
    const int64_t *dims = fid_arg_ints(call, 1, &count);
    memset(reduced, count == 0, FID_MAX_RANK * sizeof *reduced);
    for (size_t i = 0; i < count; i++) {
        FID_TRY(fid_wrap_dim(call, dims[i], rank, &dim));
        reduced[dim] = true;
    }
    return FID_OK;
}

static fid_status dims_prepare(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    bool reduced[FID_MAX_RANK];
    reduction r;
    FID_TRY(read_dims(call, reduced));
    bool takes = fidk_is_f32(self) && fidk_is_f32(out) && self->rank > 0 && sort_dimensions(self, reduced, &r) && same_order(self, out, reduced);
    return takes ? FID_OK : FID_NOT_SUPPORTED;
}

static fid_status run_dims(fid_call *call, bool mean) {
    bool reduced[FID_MAX_RANK];
    reduction r;
    FID_TRY(read_dims(call, reduced));
    sort_dimensions(fid_arg_tensor(call, 0), reduced, &r);
    run_reduction(call, fid_arg_tensor(call, 0), &r, mean);
    return FID_OK;
}

static fid_status mean_run(fid_call *call) { return run_dims(call, true); }
static fid_status sum_run(fid_call *call) { return run_dims(call, false); }
const fid_kernel fid_cpu_mean_dim = {.prepare = dims_prepare, .run = mean_run};
const fid_kernel fid_cpu_sum_dim_IntList = {.prepare = dims_prepare, .run = sum_run};

/* ---- sum(self) and mean(self) of everything: elements in any order ---- */

static fid_status all_prepare(fid_call *call) {
    return fidk_is_f32(fid_arg_tensor(call, 0)) && fidk_is_f32(fid_out_tensor(call, 0)) ? FID_OK : FID_NOT_SUPPORTED;
}

static fid_status run_all(fid_call *call, bool mean) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    reduction r = {.outer = 1, .reduced = fid_tensor_numel(self), .inner = 1};
    run_reduction(call, self, &r, mean);
    return FID_OK;
}
static fid_status sum_all_run(fid_call *call) { return run_all(call, false); }
static fid_status mean_all_run(fid_call *call) { return run_all(call, true); }
const fid_kernel fid_cpu_sum = {.prepare = all_prepare, .run = sum_all_run};
const fid_kernel fid_cpu_mean = {.prepare = all_prepare, .run = mean_all_run};

/* ---- linalg_vector_norm(self, ord, dim, keepdim, dtype) of order 2 along rows ---- */

static fid_status read_norm_dims(const fid_call *call, bool *reduced) {
    size_t count = 0, dim, rank = fid_arg_tensor(call, 0)->rank;
    const int64_t *dims = fid_arg_is_none(call, 2) ? NULL : fid_arg_ints(call, 2, &count);
    memset(reduced, count == 0, FID_MAX_RANK * sizeof *reduced);
    for (size_t i = 0; i < count; i++) {
        FID_TRY(fid_wrap_dim(call, dims[i], rank, &dim));
        reduced[dim] = true;
    }
    return FID_OK;
}

static fid_status norm_prepare(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    bool reduced[FID_MAX_RANK];
    reduction r;
    FID_TRY(read_norm_dims(call, reduced));
    bool takes = fidk_is_f32(self) && fidk_is_f32(out) && self->rank > 0 && (fid_arg_is_none(call, 1) || fid_arg_double(call, 1) == 2) &&
                 sort_dimensions(self, reduced, &r) && same_order(self, out, reduced) && reduced[self->dim_order[self->rank - 1]];
    return takes ? FID_OK : FID_NOT_SUPPORTED;
}

/* Squares that float32 does not hold are left to the reference, which computes in double. */
static fid_status norm_run(fid_call *call) {
    extern const fid_kernel fid_ref_linalg_vector_norm;
    const fid_tensor *self = fid_arg_tensor(call, 0);
    float *y = fid_out_tensor(call, 0)->data;
    bool reduced[FID_MAX_RANK], held = true;
    reduction r;
    FID_TRY(read_norm_dims(call, reduced));
    sort_dimensions(self, reduced, &r);
    fidk_rows rows = {.x = self->data, .y = y, .x_stride = r.reduced, .y_stride = 1, .rows = r.outer, .columns = r.reduced, .scale = 1, .squares = true};
    fidk_tiles_for(call->cpu)->sum_rows(&rows);
    for (size_t i = 0; i < r.outer; i++) {
        held = held && y[i] > 1e-30f && y[i] < 1e30f;
        y[i] = sqrtf(y[i]);
    }
    return held ? FID_OK : fid_ref_linalg_vector_norm.run(call);
}
const fid_kernel fid_cpu_linalg_vector_norm = {.prepare = norm_prepare, .run = norm_run};

/* ---- cumsum(self, dim, dtype): each line in order; floats add up in double, as the reference does ---- */

static fid_status cumsum_prepare(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    bool same = self->rank == out->rank && memcmp(self->dim_order, out->dim_order, self->rank) == 0 && self->rank > 0;
    bool floats = self->dtype == FID_FLOAT32 && out->dtype == FID_FLOAT32;
    bool wholes = out->dtype == FID_INT64 && (self->dtype == FID_INT64 || self->dtype == FID_INT32 || self->dtype == FID_BOOL);
    return same && (floats || wholes) ? FID_OK : FID_NOT_SUPPORTED;
}

static void add_up_floats(const float *x, float *y, int64_t count, int64_t stride) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) y[i * stride] = (float)(sum += (double)x[i * stride]);
}

static void add_up_wholes(fid_dtype dtype, const void *x, int64_t at, int64_t *y, int64_t count, int64_t stride) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < count; i++, at += stride) {
        sum += dtype == FID_INT64 ? (uint64_t)((const int64_t *)x)[at] : dtype == FID_INT32 ? (uint64_t)((const int32_t *)x)[at] : ((const uint8_t *)x)[at] != 0;
        y[i * stride] = (int64_t)sum;
    }
}

static fid_status cumsum_run(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), self->rank, &dim));
    if (fid_tensor_numel(self) == 0) return FID_OK;
    int64_t stride = self->strides[dim], size = self->sizes[dim], lines = (int64_t)fid_tensor_numel(self) / size;
    for (int64_t line = 0; line < lines; line++) {
        int64_t at = line / stride * stride * size + line % stride; /* dense memory: blocks of stride * size */
        if (out->dtype == FID_FLOAT32) add_up_floats((const float *)self->data + at, (float *)out->data + at, size, stride);
        else add_up_wholes((fid_dtype)self->dtype, self->data, at, (int64_t *)out->data + at, size, stride);
    }
    return FID_OK;
}
const fid_kernel fid_cpu_cumsum = {.prepare = cumsum_prepare, .run = cumsum_run};
