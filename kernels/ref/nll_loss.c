/* Negative log likelihood of the target classes: nll_loss_forward, nll_loss2d_forward. */
#include "kernels/ref/dense.h"

enum { REDUCE_NONE = 0, REDUCE_MEAN = 1, REDUCE_SUM = 2 };

/* Scores are (batch, classes, points), targets (batch, points). */
static fid_status run(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *target = fid_arg_tensor(call, 1);
    size_t at = self->rank > 1, classes = (size_t)self->sizes[at], points = fidk_product(self->sizes + at + 1, self->rank - at - 1);
    size_t count = fid_tensor_numel(target);
    int64_t reduction = fid_arg_int(call, 3), ignored = fid_arg_int(call, 4), index[FID_MAX_RANK] = {0};
    double *scores, *weights, *losses, total = 0, sum = 0;
    FIDK_NEED(scores = fidk_dense_load(call, self));
    FIDK_NEED(weights = fidk_dense_load_or(call, fid_arg_tensor(call, 2), classes, 1));
    FIDK_NEED(losses = fidk_doubles(call, count));
    for (size_t i = 0; i < count; i++, fidk_next_index(index, target->sizes, target->rank)) {
        int64_t class;
        fidk_load_row_int(target, fidk_strided(index, target->strides, target->rank), 1, 1, &class);
        losses[i] = 0;
        if (class == ignored) continue;
        if (class < 0 || class >= (int64_t)classes)
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: target %lld is none of %zu classes", call->name, (long long)class, classes);
        losses[i] = -weights[class] * scores[(i / points * classes + (size_t)class) * points + i % points];
        total += weights[class];
        sum += losses[i];
    }
    if (reduction == REDUCE_MEAN) sum /= total;
    if (reduction == REDUCE_NONE && at == 1) total = 0;
    fidk_dense_store(fid_out_tensor(call, 0), reduction == REDUCE_NONE ? losses : &sum);
    fidk_dense_store(fid_out_tensor(call, 1), &total);
    return FID_OK;
}

const fid_kernel fid_ref_nll_loss_forward = {.run = run};
const fid_kernel fid_ref_nll_loss2d_forward = {.run = run};
