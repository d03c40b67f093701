/* Gradients of average pooling in two dimensions: each goes in equal parts to the elements of its window. */
#include "kernels/ref/dense.h"
#include "ops/window.h"

typedef struct image {
    const double *grad;
    double *grad_input;
    size_t planes;
    int64_t in[2], out[2];
} image;

static fid_status image_begin(fid_call *call, image *m) {
    const fid_tensor *grad = fid_arg_tensor(call, 0), *self = fid_arg_tensor(call, 1);
    for (size_t d = 0; d < 2; d++) {
        m->in[d] = self->sizes[self->rank - 2u + d];
        m->out[d] = grad->sizes[grad->rank - 2u + d];
    }
    m->planes = fidk_product(self->sizes, self->rank - 2u);
    FIDK_NEED(m->grad = fidk_dense_load(call, grad));
    FIDK_NEED(m->grad_input = fidk_doubles(call, fid_tensor_numel(self)));
    memset(m->grad_input, 0, fid_tensor_numel(self) * sizeof(double));
    return FID_OK;
}

/* Adds share to the elements [start, end) of every plane, whose gradient is that of output (row, column). */
static void spread(const image *m, int64_t row, int64_t column, const int64_t *start, const int64_t *end, double divisor) {
    for (size_t p = 0; p < m->planes; p++) {
        double share = m->grad[((int64_t)p * m->out[0] + row) * m->out[1] + column] / divisor;
        double *plane = m->grad_input + (int64_t)p * m->in[0] * m->in[1];
        for (int64_t y = start[0]; y < end[0]; y++)
            for (int64_t x = start[1]; x < end[1]; x++) plane[y * m->in[1] + x] += share;
    }
}

/* grad_output, self */
static fid_status run_adaptive(fid_call *call) {
    image m;
    FID_TRY(image_begin(call, &m));
    for (int64_t row = 0; row < m.out[0]; row++)
        for (int64_t column = 0; column < m.out[1]; column++) {
            const int64_t at[2] = {row, column};
            int64_t start[2], end[2];
            for (size_t d = 0; d < 2; d++) {
                start[d] = at[d] * m.in[d] / m.out[d];
                end[d] = ((at[d] + 1) * m.in[d] + m.out[d] - 1) / m.out[d];
            }
            spread(&m, row, column, start, end, (double)((end[0] - start[0]) * (end[1] - start[1])));
        }
    fidk_dense_store(fid_out_tensor(call, 0), m.grad_input);
    return FID_OK;
}

/* grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override? */
static fid_status run_avg(fid_call *call) {
    image m;
    int64_t kernel[3], stride[3], padding[3]; /* of the last three dimensions */
    FID_TRY(image_begin(call, &m));
    FID_TRY(fid_spatial_list(call, 2, 2, 1, NULL, kernel));
    FID_TRY(fid_spatial_list(call, 3, 2, 1, kernel, stride));
    FID_TRY(fid_spatial_list(call, 4, 2, 0, NULL, padding));
    for (int64_t row = 0; row < m.out[0]; row++)
        for (int64_t column = 0; column < m.out[1]; column++) {
            const int64_t at[2] = {row, column};
            int64_t start[2], end[2], padded = 1, inside = 1;
            for (size_t d = 0; d < 2; d++) {
                start[d] = at[d] * stride[d + 1] - padding[d + 1];
                end[d] = start[d] + kernel[d + 1] < m.in[d] + padding[d + 1] ? start[d] + kernel[d + 1] : m.in[d] + padding[d + 1];
                padded *= end[d] - start[d];
                start[d] = start[d] > 0 ? start[d] : 0;
                end[d] = end[d] < m.in[d] ? end[d] : m.in[d];
                inside *= end[d] > start[d] ? end[d] - start[d] : 0;
            }
            double divisor = (double)(fid_arg_bool(call, 6) ? padded : inside);
            if (!fid_arg_is_none(call, 7)) divisor = (double)fid_arg_int(call, 7);
            if (inside) spread(&m, row, column, start, end, divisor);
        }
    fidk_dense_store(fid_out_tensor(call, 0), m.grad_input);
    return FID_OK;
}

const fid_kernel fid_ref__adaptive_avg_pool2d_backward = {.run = run_adaptive};
const fid_kernel fid_ref_avg_pool2d_backward = {.run = run_avg};
