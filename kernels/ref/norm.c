/* Normalizations over the last dimensions: layer_norm, native_layer_norm, rms_norm, _fused_rms_norm; and over groups of
 * channels: native_group_norm. All work on a dense (rows, width) copy in double. */
#include "kernels/ref/dense.h"

typedef struct rows {
    double *values;       /* (count, width), normalized in place */
    size_t count, width;
    double *mean, *scale; /* (count): mean and 1 / sqrt(variance + eps), or only the latter */
} rows;

static fid_status rows_begin(fid_call *call, rows *r, size_t count, size_t width) {
    r->count = count, r->width = width;
    FIDK_NEED(r->values = fidk_dense_load(call, fid_arg_tensor(call, 0)));
    FIDK_NEED(r->mean = fidk_doubles(call, count));
    FIDK_NEED(r->scale = fidk_doubles(call, count));
    return FID_OK;
}

/* Subtracts the mean and divides by the standard deviation, row by row. A row without elements has mean 0 and no scale. */
static void standardize(rows *r, double eps) {
    for (size_t i = 0; i < r->count; i++) {
        double *row = r->values + i * r->width, sum = 0, squares = 0;
        for (size_t j = 0; j < r->width; j++) sum += row[j];
        double mean = r->width ? sum / (double)r->width : 0;
        for (size_t j = 0; j < r->width; j++) squares += (row[j] - mean) * (row[j] - mean);
        double scale = r->width ? 1 / sqrt(squares / (double)r->width + eps) : (double)NAN;
        for (size_t j = 0; j < r->width; j++) row[j] = (row[j] - mean) * scale;
        r->mean[i] = mean, r->scale[i] = scale;
    }
}

static void root_mean_square(rows *r, double eps) {
    for (size_t i = 0; i < r->count; i++) {
        double *row = r->values + i * r->width, squares = 0;
        for (size_t j = 0; j < r->width; j++) squares += row[j] * row[j];
        r->scale[i] = 1 / sqrt(squares / (double)r->width + eps);
        for (size_t j = 0; j < r->width; j++) row[j] *= r->scale[i];
    }
}

/* row * weight + bias, both (width). */
static void scale_and_shift(rows *r, const double *weight, const double *bias) {
    for (size_t i = 0; i < r->count; i++)
        for (size_t j = 0; j < r->width; j++) r->values[i * r->width + j] = r->values[i * r->width + j] * weight[j] + bias[j];
}

/* Rows of the dimensions that normalized_shape (argument 1) names; normalized by `normalize`, then weight and bias. */
static fid_status normalize_tail(fid_call *call, rows *r, void (*normalize)(rows *r, double eps), double eps, const fid_tensor *bias) {
    const fid_tensor *input = fid_arg_tensor(call, 0);
    size_t tail;
    fid_arg_ints(call, 1, &tail);
    size_t count = fidk_product(input->sizes, input->rank - tail), width = fidk_product(input->sizes + input->rank - tail, tail);
    double *w, *b;
    FID_TRY(rows_begin(call, r, count, width));
    FIDK_NEED(w = fidk_dense_load_or(call, fid_arg_tensor(call, 2), width, 1));
    FIDK_NEED(b = fidk_dense_load_or(call, bias, width, 0));
    normalize(r, eps);
    scale_and_shift(r, w, b);
    fidk_dense_store(fid_out_tensor(call, 0), r->values);
    return FID_OK;
}

static fid_status run_layer_norm(fid_call *call) {
    rows r;
    return normalize_tail(call, &r, standardize, fid_arg_double(call, 4), fid_arg_tensor(call, 3));
}

static fid_status run_native_layer_norm(fid_call *call) {
    rows r;
    FID_TRY(normalize_tail(call, &r, standardize, fid_arg_double(call, 4), fid_arg_tensor(call, 3)));
    fidk_dense_store(fid_out_tensor(call, 1), r.mean);
    fidk_dense_store(fid_out_tensor(call, 2), r.scale);
    return FID_OK;
}

/* Without an eps: the distance from 1 to the next number of the dtype that PyTorch computes in. */
static double rms_eps(const fid_call *call) {
    if (!fid_arg_is_none(call, 3)) return fid_arg_double(call, 3);
    return fid_arg_tensor(call, 0)->dtype == FID_FLOAT64 ? 0x1p-52 : 0x1p-23;
}

static fid_status run_rms_norm(fid_call *call) {
    rows r;
    return normalize_tail(call, &r, root_mean_square, rms_eps(call), NULL);
}

static fid_status run_fused_rms_norm(fid_call *call) {
    rows r;
    FID_TRY(normalize_tail(call, &r, root_mean_square, rms_eps(call), NULL));
    fidk_dense_store(fid_out_tensor(call, 1), r.scale);
    return FID_OK;
}

/* (input, weight?, bias?, N, C, HxW, group, eps): one row holds the channels of one group of one batch item. */
static fid_status run_native_group_norm(fid_call *call) {
    size_t batch = (size_t)fid_arg_int(call, 3), channels = (size_t)fid_arg_int(call, 4), points = (size_t)fid_arg_int(call, 5);
    size_t groups = (size_t)fid_arg_int(call, 6);
    double *weight, *bias;
    rows r;
    FID_TRY(rows_begin(call, &r, batch * groups, channels / groups * points));
    FIDK_NEED(weight = fidk_dense_load_or(call, fid_arg_tensor(call, 1), channels, 1));
    FIDK_NEED(bias = fidk_dense_load_or(call, fid_arg_tensor(call, 2), channels, 0));
    standardize(&r, fid_arg_double(call, 7));
    for (size_t plane = 0; plane < batch * channels; plane++)
        for (size_t i = 0; i < points; i++)
            r.values[plane * points + i] = r.values[plane * points + i] * weight[plane % channels] + bias[plane % channels];
    fidk_dense_store(fid_out_tensor(call, 0), r.values);
    fidk_dense_store(fid_out_tensor(call, 1), r.mean);
    fidk_dense_store(fid_out_tensor(call, 2), r.scale);
    return FID_OK;
}

const fid_kernel fid_ref_layer_norm = {.run = run_layer_norm};
const fid_kernel fid_ref_native_layer_norm = {.run = run_native_layer_norm};
const fid_kernel fid_ref_rms_norm = {.run = run_rms_norm};
const fid_kernel fid_ref__fused_rms_norm = {.run = run_fused_rms_norm};
const fid_kernel fid_ref_native_group_norm = {.run = run_native_group_norm};
