/* Shapes of pools. Results keep a channels-last dim order of the input. */
#include "ops/shape.h"
#include "ops/window.h"

static void pool_meta(const fid_pool *pool, fid_meta *out) {
    size_t lead = pool->input->rank - pool->window.spatial;
    int64_t sizes[5];
    memcpy(sizes, pool->input->sizes, lead * sizeof sizes[0]);
    memcpy(sizes + lead, pool->window.out + 3 - pool->window.spatial, pool->window.spatial * sizeof sizes[0]);
    fid_meta_like_image(out, pool->input, sizes, pool->input->rank);
}

/* Values, and as a second output (if there is one) the indices of the same shape. */
static void max_pool_metas(const fid_pool *pool, fid_meta *outs, size_t out_count) {
    pool_meta(pool, outs);
    if (out_count < 2) return;
    outs[1] = outs[0];
    outs[1].dtype = FID_INT64;
}

static fid_status max_pool(const fid_call *call, size_t spatial, fid_meta *outs, size_t out_count) {
    fid_pool pool;
    FID_TRY(fid_max_pool_of(call, spatial, &pool));
    max_pool_metas(&pool, outs, out_count);
    return FID_OK;
}

fid_status fid_shape_max_pool1d(const fid_call *call, fid_meta *outs, size_t out_count) { return max_pool(call, 1, outs, out_count); }
fid_status fid_shape_max_pool2d(const fid_call *call, fid_meta *outs, size_t out_count) { return max_pool(call, 2, outs, out_count); }
fid_status fid_shape_max_pool3d(const fid_call *call, fid_meta *outs, size_t out_count) { return max_pool(call, 3, outs, out_count); }

static fid_status avg_pool(const fid_call *call, size_t spatial, fid_meta *outs) {
    fid_pool pool;
    FID_TRY(fid_avg_pool_of(call, spatial, &pool));
    if (spatial > 1 && !fid_arg_is_none(call, 6) && fid_arg_int(call, 6) == 0)
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: divisor_override is 0", call->name);
    pool_meta(&pool, outs);
    return FID_OK;
}

fid_status fid_shape_avg_pool1d(const fid_call *call, fid_meta *outs, size_t out_count) { return (void)out_count, avg_pool(call, 1, outs); }
fid_status fid_shape_avg_pool2d(const fid_call *call, fid_meta *outs, size_t out_count) { return (void)out_count, avg_pool(call, 2, outs); }
fid_status fid_shape_avg_pool3d(const fid_call *call, fid_meta *outs, size_t out_count) { return (void)out_count, avg_pool(call, 3, outs); }

static fid_status adaptive_pool(const fid_call *call, size_t spatial, fid_meta *outs, size_t out_count) {
    fid_pool pool;
    FID_TRY(fid_adaptive_pool_of(call, spatial, &pool));
    max_pool_metas(&pool, outs, out_count);
    return FID_OK;
}

fid_status fid_shape_adaptive_pool1d(const fid_call *call, fid_meta *outs, size_t out_count) { return adaptive_pool(call, 1, outs, out_count); }
fid_status fid_shape_adaptive_pool2d(const fid_call *call, fid_meta *outs, size_t out_count) { return adaptive_pool(call, 2, outs, out_count); }
fid_status fid_shape_adaptive_pool3d(const fid_call *call, fid_meta *outs, size_t out_count) { return adaptive_pool(call, 3, outs, out_count); }
