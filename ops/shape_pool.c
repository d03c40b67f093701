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

/* (self, indices, output_size, ...): the shape of self with other spatial sizes. */
static fid_status max_unpool(const fid_call *call, size_t spatial, fid_meta *outs) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *indices = fid_arg_tensor(call, 1);
    int64_t out[3], sizes[5];
    bool fits = (self->rank == spatial + 1 || self->rank == spatial + 2) && indices->rank == self->rank && indices->dtype == FID_INT64;
    for (size_t d = 0; fits && d < self->rank; d++) fits = self->sizes[d] == indices->sizes[d];
    if (!fits) {
        char text[120], other[120];
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: values of shape %s with %s indices of shape %s", call->name,
                        fid_shape_text(self->sizes, self->rank, text, sizeof text), fid_dtype_name((fid_dtype)indices->dtype),
                        fid_shape_text(indices->sizes, indices->rank, other, sizeof other));
    }
    FID_TRY(fid_spatial_list(call, 2, spatial, 0, NULL, out));
    memcpy(sizes, self->sizes, self->rank * sizeof sizes[0]);
    memcpy(sizes + self->rank - spatial, out + 3 - spatial, spatial * sizeof sizes[0]);
    fid_meta_like_image(outs, self, sizes, self->rank);
    return FID_OK;
}

fid_status fid_shape_max_unpool2d(const fid_call *call, fid_meta *outs, size_t out_count) { return (void)out_count, max_unpool(call, 2, outs); }
fid_status fid_shape_max_unpool3d(const fid_call *call, fid_meta *outs, size_t out_count) { return (void)out_count, max_unpool(call, 3, outs); }
