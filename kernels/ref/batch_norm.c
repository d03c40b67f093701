/* Batch normalization: with given statistics, or with those of the batch (training), and then optionally updating the running
 * ones. */
#include "kernels/ref/dense.h"

typedef struct batch {
    const fid_tensor *input, *running_mean, *running_var; /* running ones may be NULL */
    size_t items, channels, points;
    double *values;           /* (items, channels, points), normalized in place */
    double *mean, *var;       /* (channels) */
    double *weight, *bias;    /* (channels) */
    double eps, momentum;
} batch;

/* Loads everything but the statistics. Arguments 0 to 2 are input, weight, bias. */
static fid_status batch_begin(fid_call *call, batch *b) {
    b->input = fid_arg_tensor(call, 0);
    b->items = (size_t)b->input->sizes[0], b->channels = (size_t)b->input->sizes[1];
    b->points = fidk_product(b->input->sizes + 2, b->input->rank - 2u);
    FIDK_NEED(b->values = fidk_dense_load(call, b->input));
    FIDK_NEED(b->weight = fidk_dense_load_or(call, fid_arg_tensor(call, 1), b->channels, 1));
    FIDK_NEED(b->bias = fidk_dense_load_or(call, fid_arg_tensor(call, 2), b->channels, 0));
    return FID_OK;
}

static fid_status use_running(fid_call *call, batch *b) {
    FIDK_NEED(b->mean = fidk_dense_load_or(call, b->running_mean, b->channels, 0));
    FIDK_NEED(b->var = fidk_dense_load_or(call, b->running_var, b->channels, 1));
    return FID_OK;
}

/* Mean and biased variance of each channel over the batch. */
static fid_status measure(fid_call *call, batch *b) {
    double count = (double)(b->items * b->points);
    FIDK_NEED(b->mean = fidk_doubles(call, b->channels));
    FIDK_NEED(b->var = fidk_doubles(call, b->channels));
    for (size_t c = 0; c < b->channels; c++) {
        double sum = 0, squares = 0;
        for (size_t n = 0; n < b->items; n++)
            for (size_t i = 0; i < b->points; i++) sum += b->values[(n * b->channels + c) * b->points + i];
        b->mean[c] = sum / count;
        for (size_t n = 0; n < b->items; n++)
            for (size_t i = 0; i < b->points; i++) {
                double distance = b->values[(n * b->channels + c) * b->points + i] - b->mean[c];
                squares += distance * distance;
            }
        b->var[c] = squares / count;
    }
    return FID_OK;
}

static void normalize(const batch *b, const fid_tensor *out) {
    for (size_t plane = 0; plane < b->items * b->channels; plane++) {
        size_t c = plane % b->channels;
        double scale = b->weight[c] / sqrt(b->var[c] + b->eps), *values = b->values + plane * b->points;
        for (size_t i = 0; i < b->points; i++) values[i] = (values[i] - b->mean[c]) * scale + b->bias[c];
    }
    fidk_dense_store(out, b->values);
}

/* running = (1 - momentum) * running + momentum * batch, with the unbiased variance; written to other tensors or in place. */
static fid_status update_running(fid_call *call, const batch *b, const fid_tensor *out_mean, const fid_tensor *out_var) {
    double count = (double)(b->items * b->points), *mean, *var;
    FIDK_NEED(mean = fidk_dense_load_or(call, b->running_mean, b->channels, 0));
    FIDK_NEED(var = fidk_dense_load_or(call, b->running_var, b->channels, 1));
    for (size_t c = 0; c < b->channels && b->momentum != 0; c++) {
        mean[c] = (1 - b->momentum) * mean[c] + b->momentum * b->mean[c];
        var[c] = (1 - b->momentum) * var[c] + b->momentum * b->var[c] * count / (count - 1);
    }
    fidk_dense_store(out_mean, mean);
    fidk_dense_store(out_var, var);
    return FID_OK;
}

/* Outputs 1 and 2, which are empty unless the batch was measured. */
static void save_statistics(fid_call *call, batch *b) {
    if (fid_tensor_numel(fid_out_tensor(call, 1)) == 0) return;
    fidk_dense_store(fid_out_tensor(call, 1), b->mean);
    for (size_t c = 0; c < b->channels; c++) b->var[c] = 1 / sqrt(b->var[c] + b->eps);
    fidk_dense_store(fid_out_tensor(call, 2), b->var);
}

static fid_status run_no_training(fid_call *call) {
    batch b = {.running_mean = fid_arg_tensor(call, 3), .running_var = fid_arg_tensor(call, 4), .eps = fid_arg_double(call, 6)};
    FID_TRY(batch_begin(call, &b));
    FID_TRY(use_running(call, &b));
    normalize(&b, fid_out_tensor(call, 0));
    return FID_OK;
}

/* (input, weight?, bias?, running_mean, running_var, training, momentum, eps); the statistics do not change. */
static fid_status run_legit_with(fid_call *call, batch *b) {
    b->running_mean = fid_arg_tensor(call, 3), b->running_var = fid_arg_tensor(call, 4);
    b->momentum = fid_arg_double(call, 6), b->eps = fid_arg_double(call, 7);
    FID_TRY(batch_begin(call, b));
    FID_TRY(fid_arg_bool(call, 5) ? measure(call, b) : use_running(call, b));
    normalize(b, fid_out_tensor(call, 0));
    return FID_OK;
}

static bool writable(const fid_tensor *tensor) { return tensor && !(tensor->flags & FID_TENSOR_CONSTANT); }

static fid_status run_legit(fid_call *call) {
    batch b;
    FID_TRY(run_legit_with(call, &b));
    if (fid_arg_bool(call, 5) && writable(b.running_mean) && writable(b.running_var))
        FID_TRY(update_running(call, &b, b.running_mean, b.running_var));
    save_statistics(call, &b);
    return FID_OK;
}

static fid_status run_legit_functional(fid_call *call) {
    batch b;
    FID_TRY(run_legit_with(call, &b));
    if (!fid_arg_bool(call, 5)) b.momentum = 0;
    FID_TRY(update_running(call, &b, fid_out_tensor(call, 3), fid_out_tensor(call, 4)));
    save_statistics(call, &b);
    return FID_OK;
}

/* (input, weight?, bias?, training, momentum, eps) */
static fid_status run_no_stats(fid_call *call) {
    batch b = {.eps = fid_arg_double(call, 5)};
    FID_TRY(batch_begin(call, &b));
    FID_TRY(measure(call, &b));
    normalize(&b, fid_out_tensor(call, 0));
    save_statistics(call, &b);
    return FID_OK;
}

const fid_kernel fid_ref__native_batch_norm_legit_no_training = {.run = run_no_training};
const fid_kernel fid_ref__native_batch_norm_legit = {.run = run_legit};
const fid_kernel fid_ref__native_batch_norm_legit_functional = {.run = run_legit_functional};
const fid_kernel fid_ref__native_batch_norm_legit_no_stats = {.run = run_no_stats};
