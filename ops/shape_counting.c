/* Shape functions of ops/counting.def. */
#include "ops/promote.h"
#include "ops/shape.h"

static fid_dtype self_dtype(const fid_call *call) { return (fid_dtype)fid_arg_tensor(call, 0)->dtype; }

/* ---- Histograms ---- */

static fid_status histogram(const fid_call *call, int64_t bins, fid_meta *outs) {
    fid_dtype dtype = self_dtype(call);
    const fid_tensor *weight = fid_arg_tensor(call, call->output_index - 2);
    if ((dtype != FID_FLOAT32 && dtype != FID_FLOAT64) || bins < 1 || bins > INT32_MAX) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a float32 or float64 tensor and at least one bin are expected", call->name);
    }
    if (weight && (weight->dtype != dtype || fid_tensor_numel(weight) != fid_tensor_numel(fid_arg_tensor(call, 0)))) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a weight of the same dtype for each element is expected", call->name);
    }
    fid_meta_set(&outs[0], dtype, &bins, 1);
    fid_meta_set(&outs[1], dtype, (int64_t[]){bins + 1}, 1);
    return FID_OK;
}

/* self, bins, range?, weight?, density */
fid_status fid_shape_histogram_bin_ct(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count; /* two */
    return histogram(call, fid_arg_int(call, 1), outs);
}

/* self, edges, weight?, density */
fid_status fid_shape_histogram_bins_tensor(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *edges = fid_arg_tensor(call, 1);
    (void)out_count; /* two */
    if (edges->rank != 1 || edges->dtype != self_dtype(call)) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the edges must be a vector of the input's dtype", call->name);
    }
    return histogram(call, edges->sizes[0] - 1, outs);
}

/* ---- Segments ---- */

/* data, reduce, lengths?, indices?, offsets?, axis, unsafe, initial?: leading dimensions of the lengths are data's. */
fid_status fid_shape_segment_reduce(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *data = fid_arg_tensor(call, 0), *lengths = fid_arg_tensor(call, 2), *offsets = fid_arg_tensor(call, 4);
    const fid_tensor *given = lengths ? lengths : offsets;
    size_t axis;
    (void)out_count;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 5), data->rank, &axis));
    bool fits = given && !fid_arg_tensor(call, 3) && data->rank && given->rank == axis + 1 && fid_dtype_is_float(self_dtype(call)) &&
                fid_dtype_is_integer((fid_dtype)given->dtype);
    for (size_t d = 0; fits && d < axis; d++) fits = given->sizes[d] == data->sizes[d];
    if (!fits || (!lengths && given->sizes[axis] < 1)) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: float data, and lengths or offsets along its axis whose leading sizes are the "
                        "data's are expected", call->name);
    }
    *outs = fid_meta_of(data);
    outs->sizes[axis] = given->sizes[axis] - !lengths;
    return FID_OK;
}

fid_status fid_shape_embedding_renorm(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *indices = fid_arg_tensor(call, 1);
    (void)out_count;
    if (self->rank != 2 || !fid_dtype_is_float(self_dtype(call)) || !fid_dtype_is_integer((fid_dtype)indices->dtype)) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a float matrix and integer indices are expected", call->name);
    }
    *outs = fid_meta_of(self);
    return FID_OK;
}

/* ---- Losses over classes: scores (N, C), (C) or a single one ---- */

static fid_status check_scores(const fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *target = fid_arg_tensor(call, 1);
    if (self->rank > 2 || !fid_dtype_is_float(self_dtype(call)) || !fid_dtype_is_integer((fid_dtype)target->dtype)) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: float scores (N, C) or (C) and integer targets are expected", call->name);
    }
    return FID_OK;
}

fid_status fid_shape_multi_margin_loss(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *target = fid_arg_tensor(call, 1), *weight = fid_arg_tensor(call, 4);
    int64_t items = self->rank == 2 ? self->sizes[0] : 1, classes = self->rank ? self->sizes[self->rank - 1] : 1;
    (void)out_count;
    FID_TRY(check_scores(call));
    if (target->rank > 1 || (int64_t)fid_tensor_numel(target) != items || (weight && (int64_t)fid_tensor_numel(weight) != classes)) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: one target for each of %lld rows and a weight for each of %lld classes are expected",
                        call->name, (long long)items, (long long)classes);
    }
    fid_meta_set(outs, self_dtype(call), &items, fid_arg_int(call, 5) == 0 && target->rank ? 1 : 0);
    return FID_OK;
}

fid_status fid_shape_multilabel_margin_loss(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *target = fid_arg_tensor(call, 1);
    (void)out_count;
    FID_TRY(check_scores(call));
    bool fits = target->rank <= 2 && fid_tensor_numel(self) == fid_tensor_numel(target);
    if (!fits || (target->rank == 2 && (self->rank != 2 || self->sizes[0] != target->sizes[0]))) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: as many targets as scores are expected; -1 ends a row's targets", call->name);
    }
    fid_meta_set(outs, self_dtype(call), target->sizes, fid_arg_int(call, 2) == 0 && target->rank == 2 ? 1 : 0);
    return FID_OK;
}
