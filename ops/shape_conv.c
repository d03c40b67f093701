/* Shapes of convolutions. The result keeps a channels-last dim order of the input. */
#include "ops/shape.h"
#include "ops/window.h"

static void convolution_meta(const fid_convolution *conv, fid_meta *out) {
    int64_t sizes[5];
    size_t rank = 0;
    if (conv->batched) sizes[rank++] = conv->batch;
    sizes[rank++] = conv->out_channels;
    for (size_t d = 3 - conv->window.spatial; d < 3; d++) sizes[rank++] = conv->window.out[d];
    fid_meta_like_image(out, conv->input, sizes, rank);
}

fid_status fid_shape_convolution(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_convolution conv;
    FID_TRY(fid_convolution_of(call, &conv));
    convolution_meta(&conv, outs);
    return FID_OK;
}

fid_status fid_shape_conv_nd(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_convolution conv;
    FID_TRY(fid_conv_nd_of(call, &conv));
    convolution_meta(&conv, outs);
    return FID_OK;
}

fid_status fid_shape_conv_transpose_nd(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    fid_convolution conv;
    FID_TRY(fid_conv_transpose_nd_of(call, &conv));
    convolution_meta(&conv, outs);
    return FID_OK;
}
