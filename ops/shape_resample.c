/* Upsampling and sampling at given points: reading arguments (resample.h), and shapes. */
#include "ops/resample.h"
#include "ops/shape.h"
#include "ops/window.h"

static fid_status list_length(const fid_call *call, const char *name, size_t count, size_t expected) {
    if (count == expected) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %s has %zu numbers, expected %zu", call->name, name, count, expected);
}

static fid_status read_output_size(const fid_call *call, fid_resample *r) {
    size_t count;
    const int64_t *items = fid_arg_ints(call, 1, &count);
    FID_TRY(list_length(call, "output_size", count, r->spatial));
    for (size_t d = 0; d < count; d++) r->out[d] = items[d];
    return FID_OK;
}

static fid_status read_scale_factors(const fid_call *call, uint32_t i, fid_resample *r) {
    if (call->args[i]->tag != FID_TAG_DOUBLE_LIST)
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: neither output_size nor scale_factors is given", call->name);
    FID_TRY(list_length(call, "scale_factors", call->args[i]->as.doubles.count, r->spatial));
    for (size_t d = 0; d < r->spatial; d++) {
        double scale = call->args[i]->as.doubles.items[d], size = (double)r->in[d] * scale;
        if (!(scale > 0) || !(size < 0x1p52))
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: scale factor %g is not possible", call->name, scale);
        r->scale[d] = scale, r->out[d] = (int64_t)size;
    }
    return FID_OK;
}

fid_status fid_resample_of(const fid_call *call, fid_resample_form form, fid_resample *out) {
    const fid_tensor *input = fid_arg_tensor(call, 0);
    uint32_t scales = form.align ? 3 : 2;
    *out = (fid_resample){.input = input, .spatial = form.spatial, .align_corners = form.align && fid_arg_bool(call, 2)};
    if (input->rank != form.spatial + 2)
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: input of rank %d, expected %d", call->name, input->rank, form.spatial + 2);
    memcpy(out->in, input->sizes + 2, form.spatial * sizeof out->in[0]);
    if (form.vec && fid_arg_is_none(call, 1)) {
        FID_TRY(read_scale_factors(call, scales, out));
    } else {
        FID_TRY(read_output_size(call, out));
        for (uint32_t d = 0; !form.vec && d < form.spatial; d++)
            if (!fid_arg_is_none(call, scales + d)) out->scale[d] = fid_arg_double(call, scales + d);
    }
    for (size_t d = 0; d < out->spatial; d++) {
        if (out->in[d] < 1 || out->out[d] < 1)
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: cannot resample size %lld to %lld", call->name,
                            (long long)out->in[d], (long long)out->out[d]);
    }
    return FID_OK;
}

static fid_status resample_shape(const fid_call *call, fid_resample_form form, fid_meta *outs) {
    fid_resample r;
    int64_t sizes[5];
    FID_TRY(fid_resample_of(call, form, &r));
    memcpy(sizes, r.input->sizes, 2 * sizeof sizes[0]);
    memcpy(sizes + 2, r.out, r.spatial * sizeof sizes[0]);
    fid_meta_like_image(outs, r.input, sizes, r.spatial + 2);
    return FID_OK;
}

/* name, spatial dimensions, align_corners argument, vec signature */
#define RESAMPLE_SHAPES(X)                                                                                             \
    X(upsample1d, 1, false, false) X(upsample2d, 2, false, false) X(upsample3d, 3, false, false)                       \
    X(upsample1d_vec, 1, false, true) X(upsample2d_vec, 2, false, true) X(upsample3d_vec, 3, false, true)              \
    X(upsample1d_align, 1, true, false) X(upsample2d_align, 2, true, false) X(upsample3d_align, 3, true, false)        \
    X(upsample1d_align_vec, 1, true, true) X(upsample2d_align_vec, 2, true, true) X(upsample3d_align_vec, 3, true, true)
#define RESAMPLE_SHAPE(name, spatial, align, vec)                                                                      \
    fid_status fid_shape_##name(const fid_call *call, fid_meta *outs, size_t out_count) {                              \
        (void)out_count;                                                                                               \
        return resample_shape(call, (fid_resample_form){spatial, align, vec}, outs);                                   \
    }
RESAMPLE_SHAPES(RESAMPLE_SHAPE)

/* ---- Sampling at points ---- */

/* input (N, C, spatial...), grid (N, out spatial..., spatial) -> (N, C, out spatial...). */
static fid_status grid_shape(const fid_call *call, size_t spatial, fid_meta *outs) {
    const fid_tensor *input = fid_arg_tensor(call, 0), *grid = fid_arg_tensor(call, 1);
    int64_t mode = fid_arg_int(call, 2), padding = fid_arg_int(call, 3);
    bool fits = input->rank == spatial + 2 && grid->rank == spatial + 2 && input->sizes[0] == grid->sizes[0] &&
                grid->sizes[spatial + 1] == (int64_t)spatial;
    for (size_t d = 0; fits && d < spatial; d++) fits = input->sizes[2 + d] >= 1;
    if (!fits || input->dtype != grid->dtype) {
        char text[120], other[120];
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: an input of shape %s cannot be sampled with a grid of shape %s", call->name,
                        fid_shape_text(input->sizes, input->rank, text, sizeof text),
                        fid_shape_text(grid->sizes, grid->rank, other, sizeof other));
    }
    if (mode < 0 || mode > (spatial == 2 ? 2 : 1) || padding < 0 || padding > 2)
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: interpolation %lld with padding %lld does not exist", call->name,
                        (long long)mode, (long long)padding);
    int64_t sizes[5] = {input->sizes[0], input->sizes[1]};
    memcpy(sizes + 2, grid->sizes + 1, spatial * sizeof sizes[0]);
    fid_meta_set(outs, (fid_dtype)input->dtype, sizes, spatial + 2);
    return FID_OK;
}

fid_status fid_shape_grid_sampler_2d(const fid_call *call, fid_meta *outs, size_t out_count) { return (void)out_count, grid_shape(call, 2, outs); }
fid_status fid_shape_grid_sampler_3d(const fid_call *call, fid_meta *outs, size_t out_count) { return (void)out_count, grid_shape(call, 3, outs); }

fid_status fid_shape_grid_sampler(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    return grid_shape(call, fid_arg_tensor(call, 0)->rank == 5 ? 3 : 2, outs);
}

/* theta (N, 2, 3), size (N, C, H, W) -> (N, H, W, 2); one dimension more for volumes. */
fid_status fid_shape_affine_grid_generator(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *theta = fid_arg_tensor(call, 0);
    size_t count;
    const int64_t *size = fid_arg_ints(call, 1, &count);
    (void)out_count;
    int64_t spatial = (int64_t)count - 2;
    bool fits = (count == 4 || count == 5) && theta->rank == 3 && theta->sizes[0] == size[0] && theta->sizes[1] == spatial &&
                theta->sizes[2] == spatial + 1;
    for (size_t d = 0; fits && d < count; d++) fits = size[d] >= 0;
    if (!fits) {
        char text[120];
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: matrices of shape %s do not go with a size of %zu dimensions", call->name,
                        fid_shape_text(theta->sizes, theta->rank, text, sizeof text), count);
    }
    int64_t sizes[5] = {size[0]};
    memcpy(sizes + 1, size + 2, (size_t)spatial * sizeof sizes[0]);
    sizes[spatial + 1] = spatial;
    fid_meta_set(outs, (fid_dtype)theta->dtype, sizes, count);
    return FID_OK;
}
