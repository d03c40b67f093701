/* Deformable convolution (torchvision::deform_conv2d; Dai et al. 2017, with the mask of Zhu et al. 2018): every tap of every window is
 * read at a place that is moved by two offsets (down, across), between elements if need be, and weighed by a mask. */
#include "kernels/ref/dense.h"

typedef struct deformable {
    const double *input, *weight, *offset, *mask, *bias;
    int64_t channels, height, width;    /* of the input */
    int64_t kernel[2], stride[2], pad[2], dilation[2];
    int64_t groups, offset_groups;
    int64_t rows, columns;              /* of the result */
} deformable;

static double element(const deformable *d, const double *image, double y, double x) {
    return y >= 0 && y < (double)d->height && x >= 0 && x < (double)d->width ? image[(int64_t)y * d->width + (int64_t)x] : 0;
}

/* Elements outside count as zero. */
static double bilinear(const deformable *d, const double *image, double y, double x) {
    if (!(y > -1 && y < (double)d->height && x > -1 && x < (double)d->width)) return 0;
    double top = floor(y), left = floor(x), v = y - top, h = x - left;
    return (1 - v) * ((1 - h) * element(d, image, top, left) + h * element(d, image, top, left + 1)) +
           v * ((1 - h) * element(d, image, top + 1, left) + h * element(d, image, top + 1, left + 1));
}

/* The moved and weighed tap (i, j) of channel c for the window at (row, column) of image n. */
static double tap(const deformable *d, int64_t n, int64_t c, int64_t i, int64_t j, int64_t row, int64_t column) {
    int64_t taps = d->kernel[0] * d->kernel[1], group = c / (d->channels / d->offset_groups), window = d->rows * d->columns;
    int64_t number = (n * d->offset_groups + group) * taps + i * d->kernel[1] + j, place = row * d->columns + column;
    const double *moved = d->offset + 2 * number * window + place;
    double y = (double)(row * d->stride[0] - d->pad[0] + i * d->dilation[0]) + moved[0];
    double x = (double)(column * d->stride[1] - d->pad[1] + j * d->dilation[1]) + moved[window];
    double value = bilinear(d, d->input + (n * d->channels + c) * d->height * d->width, y, x);
    return d->mask ? value * d->mask[number * window + place] : value;
}

static double window_sum(const deformable *d, int64_t n, int64_t out, int64_t out_channels, int64_t row, int64_t column) {
    int64_t inner = d->channels / d->groups, first = out / (out_channels / d->groups) * inner;
    const double *weight = d->weight + out * inner * d->kernel[0] * d->kernel[1];
    double sum = d->bias[out];
    for (int64_t c = 0; c < inner; c++)
        for (int64_t i = 0; i < d->kernel[0]; i++)
            for (int64_t j = 0; j < d->kernel[1]; j++) sum += *weight++ * tap(d, n, first + c, i, j, row, column);
    return sum;
}

static fid_status run_deform_conv2d(fid_call *call) {
    const fid_tensor *input = fid_arg_tensor(call, 0), *weight = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    deformable d = {.channels = input->sizes[1], .height = input->sizes[2], .width = input->sizes[3], .groups = fid_arg_int(call, 11),
                    .offset_groups = fid_arg_int(call, 12), .rows = out->sizes[2], .columns = out->sizes[3]};
    for (uint32_t k = 0; k < 2; k++) {
        d.kernel[k] = weight->sizes[2 + k], d.stride[k] = fid_arg_int(call, 5 + k);
        d.pad[k] = fid_arg_int(call, 7 + k), d.dilation[k] = fid_arg_int(call, 9 + k);
    }
    double *result, *to;
    FIDK_NEED(d.input = fidk_dense_load(call, input));
    FIDK_NEED(d.weight = fidk_dense_load(call, weight));
    FIDK_NEED(d.offset = fidk_dense_load(call, fid_arg_tensor(call, 2)));
    if (fid_arg_bool(call, 13)) FIDK_NEED(d.mask = fidk_dense_load(call, fid_arg_tensor(call, 3)));
    FIDK_NEED(d.bias = fidk_dense_load(call, fid_arg_tensor(call, 4)));
    FIDK_NEED(to = result = fidk_doubles(call, fid_tensor_numel(out)));
    for (int64_t n = 0; n < out->sizes[0]; n++)
        for (int64_t o = 0; o < out->sizes[1]; o++)
            for (int64_t i = 0; i < d.rows; i++)
                for (int64_t j = 0; j < d.columns; j++) *to++ = window_sum(&d, n, o, out->sizes[1], i, j);
    fidk_dense_store(out, result);
    return FID_OK;
}

const fid_kernel fid_ref_deform_conv2d = {.run = run_deform_conv2d};
