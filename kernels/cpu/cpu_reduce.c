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
