/* Shapes of torchvision's operators: boxes, regions, deformable convolution. */
#include "ops/shape.h"

static fid_status misfit(const fid_call *call, uint32_t i, const char *expected) {
    char text[120];
    const fid_tensor *tensor = fid_arg_tensor(call, i);
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: argument %u has shape %s, expected %s", call->name, i,
                    fid_shape_text(tensor->sizes, tensor->rank, text, sizeof text), expected);
}

/* Upper bound: every box. */
fid_status fid_shape_nms(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *boxes = fid_arg_tensor(call, 0), *scores = fid_arg_tensor(call, 1);
    if (boxes->rank != 2 || boxes->sizes[1] != 4) return misfit(call, 0, "[boxes, 4]");
    if (scores->rank != 1 || scores->sizes[0] != boxes->sizes[0]) return misfit(call, 1, "one score for each box");
    if (boxes->dtype != scores->dtype || !fid_dtype_is_float((fid_dtype)boxes->dtype))
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: boxes and scores must have one float dtype", call->name);
    fid_meta_set(outs, FID_INT64, boxes->sizes, 1);
    outs->bound_dims = 1;
    return FID_OK;
}

static fid_status check_regions(const fid_call *call) {
    const fid_tensor *input = fid_arg_tensor(call, 0), *regions = fid_arg_tensor(call, 1);
    if (input->rank != 4) return misfit(call, 0, "[images, channels, height, width]");
    if (regions->rank != 2 || regions->sizes[1] != 5) return misfit(call, 1, "[regions, 5]");
    if (input->dtype != regions->dtype || !fid_dtype_is_float((fid_dtype)input->dtype))
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: input and regions must have one float dtype", call->name);
    if (fid_arg_int(call, 3) < 1 || fid_arg_int(call, 4) < 1)
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: cannot pool to %lld x %lld cells", call->name, (long long)fid_arg_int(call, 3),
                        (long long)fid_arg_int(call, 4));
    return FID_OK;
}

/* outs[1], where there is one, holds places in planes or numbers of channels. */
static void set_regions(const fid_call *call, int64_t channels, fid_meta *outs, size_t out_count) {
    const fid_tensor *input = fid_arg_tensor(call, 0);
    int64_t sizes[4] = {fid_arg_tensor(call, 1)->sizes[0], channels, fid_arg_int(call, 3), fid_arg_int(call, 4)};
    fid_meta_set(outs, (fid_dtype)input->dtype, sizes, 4);
    if (out_count > 1) fid_meta_set(outs + 1, FID_INT32, sizes, 4);
}

fid_status fid_shape_roi_pooled(const fid_call *call, fid_meta *outs, size_t out_count) {
    FID_TRY(check_regions(call));
    set_regions(call, fid_arg_tensor(call, 0)->sizes[1], outs, out_count);
    return FID_OK;
}

fid_status fid_shape_position_sensitive(const fid_call *call, fid_meta *outs, size_t out_count) {
    FID_TRY(check_regions(call));
    int64_t height = fid_arg_int(call, 3), width = fid_arg_int(call, 4), channels = fid_arg_tensor(call, 0)->sizes[1];
    if (height > channels || width > channels / height || channels % (height * width))
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %lld channels cannot be dealt to %lld x %lld cells", call->name,
                        (long long)channels, (long long)height, (long long)width);
    set_regions(call, channels / (height * width), outs, out_count);
    return FID_OK;
}

/* Places of a window along one dimension; what does not fit gives less than 1. */
static int64_t windows(int64_t size, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
    int64_t span = size + 2 * pad - dilation * (kernel - 1) - 1;
    return span < 0 ? 0 : span / stride + 1;
}

static bool hyperparameters_fit(const fid_call *call) {
    for (uint32_t i = 5; i <= 12; i++) {
        int64_t lowest = i == 7 || i == 8 ? 0 : 1;
        if (fid_arg_int(call, i) < lowest || fid_arg_int(call, i) > INT32_MAX) return false;
    }
    const fid_tensor *input = fid_arg_tensor(call, 0), *weight = fid_arg_tensor(call, 1);
    int64_t groups = fid_arg_int(call, 11), offset_groups = fid_arg_int(call, 12);
    return weight->sizes[2] <= INT32_MAX && weight->sizes[3] <= INT32_MAX && weight->sizes[1] <= INT32_MAX &&
           input->sizes[1] == weight->sizes[1] * groups && weight->sizes[0] % groups == 0 && input->sizes[1] % offset_groups == 0;
}

fid_status fid_shape_deform_conv2d(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    const fid_tensor *input = fid_arg_tensor(call, 0), *weight = fid_arg_tensor(call, 1), *offset = fid_arg_tensor(call, 2);
    if (input->rank != 4) return misfit(call, 0, "[images, channels, height, width]");
    if (weight->rank != 4 || !hyperparameters_fit(call)) return misfit(call, 1, "what strides, groups and channels of the input allow");
    int64_t height = windows(input->sizes[2], weight->sizes[2], fid_arg_int(call, 5), fid_arg_int(call, 7), fid_arg_int(call, 9));
    int64_t width = windows(input->sizes[3], weight->sizes[3], fid_arg_int(call, 6), fid_arg_int(call, 8), fid_arg_int(call, 10));
    int64_t taps = fid_arg_int(call, 12) * weight->sizes[2] * weight->sizes[3];
    int64_t sizes[4] = {input->sizes[0], weight->sizes[0], height, width};
    if (height < 1 || width < 1) return misfit(call, 0, "at least one window");
    if (offset->rank != 4 || offset->sizes[0] != sizes[0] || offset->sizes[1] != 2 * taps || offset->sizes[2] != height || offset->sizes[3] != width)
        return misfit(call, 2, "two numbers for each tap of each window");
    const fid_tensor *mask = fid_arg_tensor(call, 3), *bias = fid_arg_tensor(call, 4);
    if (fid_arg_bool(call, 13) && (mask->rank != 4 || mask->sizes[0] != sizes[0] || mask->sizes[1] != taps || mask->sizes[2] != height || mask->sizes[3] != width))
        return misfit(call, 3, "a number for each tap of each window");
    if (bias->rank != 1 || bias->sizes[0] != sizes[1]) return misfit(call, 4, "one number for each channel of the result");
    fid_meta_set(outs, (fid_dtype)input->dtype, sizes, 4);
    return FID_OK;
}
