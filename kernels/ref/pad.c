/* Padding: with a number (constant_pad_nd), with the mirrored content (reflection) and with the edge (replication). */
#include "kernels/ref/box.h"
#include "ops/padding.h"

/* Cuts both boxes down to what they share: negative pads take from the input, positive ones leave room in the output. */
static void crop(fidk_box *to, fidk_box *from, const fid_padding *padding) {
    for (size_t i = 0; i < to->rank; i++) {
        int64_t before = padding->before[i], after = padding->after[i];
        int64_t skip = before < 0 ? -before : 0, kept = from->sizes[i] - skip - (after < 0 ? -after : 0);
        if (kept < 0) kept = 0;
        fidk_box_narrow(from, i, skip, kept, 1);
        fidk_box_narrow(to, i, before > 0 ? before : 0, kept, 1);
    }
}

static fid_status run_constant_pad_nd(fid_call *call) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    fid_padding padding;
    FID_TRY(fid_padding_of(call, &padding));
    fidk_fill(out, fidk_number(call->args[2], (fid_dtype)out->dtype));
    fidk_box to = fidk_box_of(out), from = fidk_box_of(fid_arg_tensor(call, 0));
    crop(&to, &from, &padding);
    fidk_box_copy(&to, &from);
    return FID_OK;
}

static fid_status pad_edges(fid_call *call, bool reflect) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    fid_padding padding;
    FID_TRY(fid_padding_of(call, &padding));
    size_t size = fid_dtype_size((fid_dtype)out->dtype);
    fidk_walk walk;
    fidk_walk_begin(&walk, out->sizes, out->rank);
    fidk_walk_add(&walk, out);
    FIDK_WALK(&walk) {
        int64_t at = 0;
        for (size_t i = 0; i < walk.rank; i++) {
            at += fid_padding_source(walk.index[i] - padding.before[i], self->sizes[i], reflect) * self->strides[i];
        }
        memcpy((uint8_t *)out->data + (size_t)walk.at[0] * size, (const uint8_t *)self->data + (size_t)at * size, size);
    }
    return FID_OK;
}

static fid_status run_reflection_pad(fid_call *call) { return pad_edges(call, true); }
static fid_status run_replication_pad(fid_call *call) { return pad_edges(call, false); }

const fid_kernel fid_ref_constant_pad_nd = {.run = run_constant_pad_nd};
const fid_kernel fid_ref_reflection_pad1d = {.run = run_reflection_pad};
const fid_kernel fid_ref_reflection_pad2d = {.run = run_reflection_pad};
const fid_kernel fid_ref_reflection_pad3d = {.run = run_reflection_pad};
const fid_kernel fid_ref_replication_pad1d = {.run = run_replication_pad};
const fid_kernel fid_ref_replication_pad2d = {.run = run_replication_pad};
const fid_kernel fid_ref_replication_pad3d = {.run = run_replication_pad};
