/* Copies into the shape and dtype of another tensor: copy and, in place, copy_. */
#include "kernels/ref/box.h"

static void copy_broadcast(const fid_tensor *to, const fid_tensor *src) {
    fidk_box out = fidk_box_of(to), in = fidk_box_of(src);
    fidk_box_expand(&in, to->sizes, to->rank);
    fidk_box_copy(&out, &in);
}

static fid_status run_copy(fid_call *call) {
    copy_broadcast(fid_out_tensor(call, 0), fid_arg_tensor(call, 1));
    return FID_OK;
}

static bool fits_into(const fid_tensor *src, const fid_tensor *self) {
    if (src->rank > self->rank) return false;
    for (size_t i = 0; i < src->rank; i++) {
        int64_t size = src->sizes[src->rank - 1 - i];
        if (size != 1 && size != self->sizes[self->rank - 1 - i]) return false;
    }
    return true;
}

/* Writes into argument 0; the result is that same tensor. Effects have no shape function, so the shapes are checked here. */
static fid_status run_copy_(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *src = fid_arg_tensor(call, 1);
    if (!fits_into(src, self)) {
        char from[160], to[160];
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a tensor of shape %s does not fit into %s", call->name,
                        fid_shape_text(src->sizes, src->rank, from, sizeof from),
                        fid_shape_text(self->sizes, self->rank, to, sizeof to));
    }
    if (self->data != src->data) copy_broadcast(self, src);
    if (call->output_index < call->arg_count) *call->args[call->output_index] = *call->args[0];
    return FID_OK;
}

/* et_copy: the CPU reads a device's memory as its own. */
static fid_status run_whole_copy(fid_call *call) {
    fidk_copy(fid_out_tensor(call, 0), fid_arg_tensor(call, 0));
    return FID_OK;
}

const fid_kernel fid_ref__h2d_copy = {.run = run_whole_copy};
const fid_kernel fid_ref__d2h_copy = {.run = run_whole_copy};
const fid_kernel fid_ref_copy = {.run = run_copy};
const fid_kernel fid_ref_copy_ = {.run = run_copy_};
