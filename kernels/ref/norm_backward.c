/* Gradients of layer norm and group norm, from the mean and 1 / sqrt(var + eps) that their forward passes kept, and of table look-ups.
 * Gradients that a mask leaves out are zeros. Sums run in double and are rounded once. */
#include "kernels/ref/dense.h"

/* Rows of `width` numbers that were normalized together. */
typedef struct rows {
    const double *grad, *input, *mean, *scale; /* scale: 1 / sqrt(var + eps) */
    double *grad_input;
    size_t count, width;
} rows;

/* The gradient of one row whose output gradients, times the weights, are `g`:
 * scale * (g - mean(g) - normalized * mean(g * normalized)). */
static void row_gradient(const rows *r, size_t row, const double *g) {
    const double *x = r->input + row * r->width;
    double *out = r->grad_input + row * r->width, sum = 0, product = 0, scale = r->scale[row], mean = r->mean[row];
    for (size_t j = 0; j < r->width; j++) {
        sum += g[j];
        product += g[j] * (x[j] - mean) * scale;
    }
    for (size_t j = 0; j < r->width; j++) {
        out[j] = scale * (g[j] - (sum + (x[j] - mean) * scale * product) / (double)r->width);
    }
}

static fid_status load_rows(fid_call *call, uint32_t mean, rows *r) {
    const fid_tensor *input = fid_arg_tensor(call, 1);
    FIDK_NEED(r->grad = fidk_dense_load(call, fid_arg_tensor(call, 0)));
    FIDK_NEED(r->input = fidk_dense_load(call, input));
    FIDK_NEED(r->mean = fidk_dense_load(call, fid_arg_tensor(call, mean)));
    FIDK_NEED(r->scale = fidk_dense_load(call, fid_arg_tensor(call, mean + 1)));
    FIDK_NEED(r->grad_input = fidk_doubles(call, fid_tensor_numel(input)));
    return FID_OK;
}

/* Stores gradient k, or zeros if the mask does not ask for it. */
static void store_asked(fid_call *call, uint32_t mask, uint32_t k, double *values) {
    const fid_tensor *out = fid_out_tensor(call, k);
    if (!call->args[mask]->as.bools.items[k]) memset(values, 0, fid_tensor_numel(out) * sizeof *values);
    fidk_dense_store(out, values);
}

/* Row i is of group i % groups, and each channel of a group is `points` numbers of it long. The mean stands at argument `mean_arg`, rstd
 * after it. */
static fid_status run_rows(fid_call *call, rows *r, size_t groups, size_t points, uint32_t mean_arg, uint32_t weight_arg, uint32_t mask_arg) {
    size_t own = r->width / points, channels = groups * own;
    double *weight, *grad_weight, *grad_bias, *g;
    FID_TRY(load_rows(call, mean_arg, r));
    FIDK_NEED(weight = fidk_dense_load_or(call, fid_arg_tensor(call, weight_arg), channels, 1));
    FIDK_NEED(grad_weight = fidk_doubles(call, channels));
    FIDK_NEED(grad_bias = fidk_doubles(call, channels));
    FIDK_NEED(g = fidk_doubles(call, r->width));
    for (size_t c = 0; c < channels; c++) grad_weight[c] = grad_bias[c] = 0;
    for (size_t i = 0; i < r->count; i++) {
        for (size_t j = 0; j < r->width; j++) {
            size_t c = i % groups * own + j / points;
            double grad = r->grad[i * r->width + j];
            g[j] = grad * weight[c];
            grad_weight[c] += grad * (r->input[i * r->width + j] - r->mean[i]) * r->scale[i];
            grad_bias[c] += grad;
        }
        row_gradient(r, i, g);
    }
    store_asked(call, mask_arg, 0, r->grad_input);
    store_asked(call, mask_arg, 1, grad_weight);
    store_asked(call, mask_arg, 2, grad_bias);
    return FID_OK;
}

/* grad_out, input, normalized_shape, mean, rstd, weight?, bias?, output_mask: each number of a row is a channel. */
static fid_status run_layer_norm(fid_call *call) {
    rows r = {.width = fid_tensor_numel(fid_out_tensor(call, 1))};
    r.count = r.width ? fid_tensor_numel(fid_arg_tensor(call, 1)) / r.width : 0;
    return run_rows(call, &r, 1, 1, 3, 5, 7);
}

/* grad_out, input, mean, rstd, weight?, N, C, HxW, group, output_mask; the shape function has checked that nothing divides by 0. */
static fid_status run_group_norm(fid_call *call) {
    size_t items = (size_t)fid_arg_int(call, 5), channels = (size_t)fid_arg_int(call, 6), points = (size_t)fid_arg_int(call, 7);
    size_t groups = (size_t)fid_arg_int(call, 8);
    rows r = {.count = items * groups, .width = channels / groups * points};
    return run_rows(call, &r, groups, points, 2, 4, 9);
}

/* grad_output, indices, num_weights, padding_idx, scale_grad_by_freq */
static fid_status run_embedding(fid_call *call) {
    const fid_tensor *indices = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    size_t count = fid_tensor_numel(indices), size = (size_t)out->sizes[1];
    int64_t rows_count = out->sizes[0], padding = fid_arg_int(call, 3), index[FID_MAX_RANK] = {0}, *at, *often;
    double *grad, *sums;
    FIDK_NEED(grad = fidk_dense_load(call, fid_arg_tensor(call, 0)));
    FIDK_NEED(sums = fidk_doubles(call, fid_tensor_numel(out)));
    FIDK_NEED(at = fidk_ints(call, count));
    FIDK_NEED(often = fidk_ints(call, (size_t)rows_count));
    memset(sums, 0, fid_tensor_numel(out) * sizeof *sums);
    memset(often, 0, (size_t)rows_count * sizeof *often);
    for (size_t i = 0; i < count; i++, fidk_next_index(index, indices->sizes, indices->rank)) {
        fidk_load_row_int(indices, fidk_strided(index, indices->strides, indices->rank), 1, 1, &at[i]);
        if (at[i] < 0 || at[i] >= rows_count) {
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: index %lld is outside of [0, %lld)", call->name, (long long)at[i],
                            (long long)rows_count);
        }
        often[at[i]]++;
    }
    for (size_t i = 0; i < count; i++) {
        double share = fid_arg_bool(call, 4) ? 1 / (double)often[at[i]] : 1;
        for (size_t j = 0; j < size && at[i] != padding; j++) sums[(size_t)at[i] * size + j] += grad[i * size + j] * share;
    }
    fidk_dense_store(out, sums);
    return FID_OK;
}

const fid_kernel fid_ref_native_layer_norm_backward = {.run = run_layer_norm};
const fid_kernel fid_ref_native_group_norm_backward = {.run = run_group_norm};
const fid_kernel fid_ref_embedding_dense_backward = {.run = run_embedding};
