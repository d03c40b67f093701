/* Shapes of operators that trade channels for pixels: pixel_shuffle, pixel_unshuffle, channel_shuffle, im2col, col2im. */
#include "ops/blocks.h"
#include "ops/shape.h"
#include "ops/window.h"

#define TEXT_SIZE 160

static fid_status image_error(const fid_call *call, const char *what) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    char text[TEXT_SIZE];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %s, the shape is %s", call->name, what,
                    fid_shape_text(self->sizes, self->rank, text, sizeof text));
}

/* (..., channels * r * r, height, width) -> (..., channels, height * r, width * r) */
fid_status fid_shape_pixel_shuffle(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_meta meta = fid_meta_of(fid_arg_tensor(call, 0));
    int64_t r = fid_arg_int(call, 1);
    if (meta.rank < 3) return image_error(call, "it takes at least 3 dimensions");
    int64_t *sizes = &meta.sizes[meta.rank - 3];
    if (r < 1 || r > INT32_MAX || sizes[0] % (r * r) != 0) {
        return image_error(call, "the channels (third dimension from the end) are no multiple of upscale_factor squared");
    }
    sizes[0] /= r * r;
    if (__builtin_mul_overflow(sizes[1], r, &sizes[1]) || __builtin_mul_overflow(sizes[2], r, &sizes[2])) {
        return image_error(call, "the result is too large");
    }
    outs[0] = meta;
    return FID_OK;
}

fid_status fid_shape_pixel_unshuffle(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_meta meta = fid_meta_of(fid_arg_tensor(call, 0));
    int64_t r = fid_arg_int(call, 1);
    if (meta.rank < 3) return image_error(call, "it takes at least 3 dimensions");
    int64_t *sizes = &meta.sizes[meta.rank - 3];
    if (r < 1 || r > INT32_MAX || sizes[1] % r != 0 || sizes[2] % r != 0) {
        return image_error(call, "height and width (the last dimensions) are no multiples of downscale_factor");
    }
    sizes[1] /= r;
    sizes[2] /= r;
    if (__builtin_mul_overflow(sizes[0], r * r, &sizes[0])) return image_error(call, "the result is too large");
    outs[0] = meta;
    return FID_OK;
}

fid_status fid_shape_channel_shuffle(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_meta meta = fid_meta_of(fid_arg_tensor(call, 0));
    int64_t groups = fid_arg_int(call, 1);
    if (meta.rank < 3) return image_error(call, "it takes at least 3 dimensions");
    if (groups < 1 || meta.sizes[1] % groups != 0) return image_error(call, "dimension 1 (channels) is no multiple of groups");
    outs[0] = meta;
    return FID_OK;
}

/* ---- im2col and col2im ---- */

static fid_status count_blocks(const fid_call *call, fid_blocks *blocks) {
    for (size_t d = 0; d < 2; d++) {
        int64_t reach = blocks->dilation[d] * (blocks->kernel[d] - 1) + 1;
        int64_t room = blocks->image[d] + 2 * blocks->padding[d] - reach;
        if (room < 0) {
            return fid_fail(call->sink, FID_INVALID_ARGUMENT,
                            "%s: blocks that reach over %lld elements do not fit a size of %lld with padding %lld", call->name,
                            (long long)reach, (long long)blocks->image[d], (long long)blocks->padding[d]);
        }
        blocks->count[d] = room / blocks->stride[d] + 1;
    }
    return FID_OK;
}

static fid_status read_pair(const fid_call *call, uint32_t i, int64_t least, int64_t out_pair[2]) {
    int64_t three[3];
    FID_TRY(fid_spatial_list(call, i, 2, least, NULL, three));
    out_pair[0] = three[1];
    out_pair[1] = three[2];
    return FID_OK;
}

static fid_status read_blocks(const fid_call *call, uint32_t first, fid_blocks *out) {
    FID_TRY(read_pair(call, first, 1, out->kernel));
    FID_TRY(read_pair(call, first + 1, 1, out->dilation));
    FID_TRY(read_pair(call, first + 2, 0, out->padding));
    FID_TRY(read_pair(call, first + 3, 1, out->stride));
    return count_blocks(call, out);
}

fid_status fid_im2col_of(const fid_call *call, fid_blocks *out) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    if (self->rank != 3 && self->rank != 4) return image_error(call, "it takes 3 or 4 dimensions (batch, channels, height, width)");
    out->batched = self->rank == 4;
    out->batch = out->batched ? self->sizes[0] : 1;
    out->channels = self->sizes[out->batched];
    out->image[0] = self->sizes[self->rank - 2];
    out->image[1] = self->sizes[self->rank - 1];
    return read_blocks(call, 1, out);
}

fid_status fid_col2im_of(const fid_call *call, fid_blocks *out) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    if (self->rank != 2 && self->rank != 3) return image_error(call, "it takes 2 or 3 dimensions (batch, channels * kernel, blocks)");
    FID_TRY(read_pair(call, 1, 0, out->image));
    FID_TRY(read_blocks(call, 2, out));
    int64_t per_channel = out->kernel[0] * out->kernel[1], rows = self->sizes[self->rank - 2];
    out->batched = self->rank == 3;
    out->batch = out->batched ? self->sizes[0] : 1;
    out->channels = rows / per_channel;
    if (rows % per_channel != 0 || self->sizes[self->rank - 1] != out->count[0] * out->count[1]) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %lld x %lld elements are not %lld blocks of a multiple of %lld",
                        call->name, (long long)rows, (long long)self->sizes[self->rank - 1],
                        (long long)(out->count[0] * out->count[1]), (long long)per_channel);
    }
    return FID_OK;
}

fid_status fid_shape_im2col(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_blocks blocks;
    FID_TRY(fid_im2col_of(call, &blocks));
    int64_t sizes[3] = {blocks.batch, blocks.channels, 0};
    if (__builtin_mul_overflow(sizes[1], blocks.kernel[0] * blocks.kernel[1], &sizes[1]) ||
        __builtin_mul_overflow(blocks.count[0], blocks.count[1], &sizes[2])) {
        return image_error(call, "the result is too large");
    }
    size_t skip = !blocks.batched;
    fid_meta_set(outs, (fid_dtype)fid_arg_tensor(call, 0)->dtype, sizes + skip, 3 - skip);
    return FID_OK;
}

fid_status fid_shape_col2im(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_blocks blocks;
    FID_TRY(fid_col2im_of(call, &blocks));
    int64_t sizes[4] = {blocks.batch, blocks.channels, blocks.image[0], blocks.image[1]};
    size_t skip = !blocks.batched;
    fid_meta_set(outs, (fid_dtype)fid_arg_tensor(call, 0)->dtype, sizes + skip, 4 - skip);
    return FID_OK;
}
