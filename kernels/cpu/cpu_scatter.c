/* A tensor with a part replaced (slice_scatter, select_scatter), and copy_ into another: what caches of keys and values come down to. */
#include "kernels/cpu/copy_view.h"
#include "kernels/cpu/operand.h"
#include "ops/parts.h"

/* Of one dtype: nothing is converted. */
static fid_status prepare(fid_call *call) {
    return fid_arg_tensor(call, 0)->dtype == fid_arg_tensor(call, 1)->dtype ? FID_OK : FID_NOT_SUPPORTED;
}

/* The result starts as self, which may lie where the result does. */
static void copy_self(fid_call *call, fidk_seen *out_place) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    if (self->data != out->data) fidk_copy_view(call, out, self->data, self->strides);
    fidk_see(out, out_place);
}

static fid_status run_slice_scatter(fid_call *call) {
    const fid_tensor *source = fid_arg_tensor(call, 1);
    fidk_seen place;
    fid_slice slice;
    FID_TRY(fid_slice_bounds(call, 2, &slice));
    copy_self(call, &place);
    place.tensor.data = fidk_element_at(&place.tensor, slice.start * place.strides[slice.dim]);
    place.sizes[slice.dim] = slice.count;
    place.strides[slice.dim] *= slice.step;
    fidk_copy_view(call, &place.tensor, source->data, source->strides);
    return FID_OK;
}

static fid_status run_select_scatter(fid_call *call) {
    const fid_tensor *source = fid_arg_tensor(call, 1);
    fidk_seen place;
    size_t dim;
    int64_t index;
    FID_TRY(fid_select_index(call, 2, &dim, &index));
    copy_self(call, &place);
    place.tensor.data = fidk_element_at(&place.tensor, index * place.strides[dim]);
    fidk_drop_dimension(&place, dim);
    fidk_copy_view(call, &place.tensor, source->data, source->strides);
    return FID_OK;
}

/* Strides of `source` over the dimensions of `self`; false if it does not broadcast to them. */
static bool spread(const fid_tensor *source, const fid_tensor *self, int64_t *out_strides) {
    if (source->rank > self->rank) return false;
    for (size_t i = 0; i < self->rank; i++) {
        size_t back = self->rank - i;
        int64_t size = back <= source->rank ? source->sizes[source->rank - back] : 1;
        if (size != 1 && size != self->sizes[i]) return false;
        out_strides[i] = size == 1 ? 0 : source->strides[source->rank - back];
    }
    return true;
}

/* Shapes that do not fit are the reference kernel's to refuse. */
static fid_status prepare_copy_(fid_call *call) {
    int64_t strides[FID_MAX_RANK];
    return spread(fid_arg_tensor(call, 1), fid_arg_tensor(call, 0), strides) ? prepare(call) : FID_NOT_SUPPORTED;
}

/* Writes into argument 0; the result is that same tensor. */
static fid_status run_copy_(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *source = fid_arg_tensor(call, 1);
    int64_t strides[FID_MAX_RANK];
    if (!spread(source, self, strides)) return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the copied tensor no longer fits its target", call->name);
    if (self->data != source->data) fidk_copy_view(call, self, source->data, strides);
    if (call->output_index < call->arg_count) *call->args[call->output_index] = *call->args[0];
    return FID_OK;
}

const fid_kernel fid_cpu_slice_scatter = {.prepare = prepare, .run = run_slice_scatter, .any_numbers = true};
const fid_kernel fid_cpu_select_scatter = {.prepare = prepare, .run = run_select_scatter, .any_numbers = true};
const fid_kernel fid_cpu_copy_ = {.prepare = prepare_copy_, .run = run_copy_, .any_numbers = true};
