/* Distances between rows by the p-norm: _cdist_forward (every row of one matrix to every row of another) and _pdist_forward
 * (all pairs of rows of one matrix). */
#include "kernels/ref/dense.h"

/* The p-norm of a - b; p may be 0 (elements that differ) and infinite (largest difference). */
static double distance(const double *a, const double *b, size_t count, double p) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double d = fabs(a[i] - b[i]);
        if (p == 0) sum += d != 0;
        else if (p == 1) sum += d;
        else if (p == 2) sum += d * d;
        else if (p == (double)INFINITY) sum = d > sum || d != d ? d : sum;
        else sum += pow(d, p);
    }
    if (p == 0 || p == 1 || p == (double)INFINITY) return sum;
    return p == 2 ? sqrt(sum) : pow(sum, 1 / p);
}

/* Batch number of `index` (in leading dimensions of `rank`) in a tensor with broadcast leading dimensions. */
static size_t batch_of(const fid_tensor *t, const int64_t *index, size_t rank) {
    size_t batch = 0, lead = t->rank - 2u;
    for (size_t d = 0; d < lead; d++)
        batch = batch * (size_t)t->sizes[d] + (t->sizes[d] == 1 ? 0 : (size_t)index[rank - lead + d]);
    return batch;
}

static fid_status run_cdist(fid_call *call) {
    const fid_tensor *x = fid_arg_tensor(call, 0), *y = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    double p = fid_arg_double(call, 2), *a, *b, *result;
    size_t lead = out->rank - 2u, width = (size_t)x->sizes[x->rank - 1];
    size_t rows = (size_t)out->sizes[lead], columns = (size_t)out->sizes[lead + 1];
    int64_t index[FID_MAX_RANK] = {0};
    if (fid_tensor_numel(out) == 0) return FID_OK;
    FIDK_NEED(a = fidk_dense_load(call, x));
    FIDK_NEED(b = fidk_dense_load(call, y));
    FIDK_NEED(result = fidk_doubles(call, fid_tensor_numel(out)));
    double *at = result;
    do {
        const double *from = a + batch_of(x, index, lead) * rows * width, *to = b + batch_of(y, index, lead) * columns * width;
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < columns; j++) *at++ = distance(from + i * width, to + j * width, width, p);
    } while (fidk_next_index(index, out->sizes, lead));
    fidk_dense_store(out, result);
    return FID_OK;
}

static fid_status run_pdist(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    size_t rows = (size_t)self->sizes[0], width = (size_t)self->sizes[1];
    double *a, *result, *at;
    FIDK_NEED(a = fidk_dense_load(call, self));
    FIDK_NEED(at = result = fidk_doubles(call, fid_tensor_numel(out)));
    for (size_t i = 0; i < rows; i++)
        for (size_t j = i + 1; j < rows; j++) *at++ = distance(a + i * width, a + j * width, width, fid_arg_double(call, 1));
    fidk_dense_store(out, result);
    return FID_OK;
}

const fid_kernel fid_ref__cdist_forward = {.run = run_cdist};
const fid_kernel fid_ref__pdist_forward = {.run = run_pdist};
