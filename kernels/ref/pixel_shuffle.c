/* Channels into pixels and back: pixel_shuffle, pixel_unshuffle, channel_shuffle. */
#include "kernels/ref/box.h"

/* Both sides as (..., channels, row in block, column in block, height, width); r: size of a block. `dense` holds the channels of
 * all block positions, `wide` the wide image. */
static void as_blocks(fidk_box *dense, fidk_box *wide, int64_t r) {
    size_t channel = dense->rank - 3;
    fidk_box_split(dense, channel, r * r);
    fidk_box_split(dense, channel + 1, r);
    fidk_box_split(wide, channel + 2, r); /* width, column in block */
    fidk_box_split(wide, channel + 1, r); /* height, row in block */
    fidk_box_move(wide, channel + 2, channel + 1);
    fidk_box_move(wide, channel + 4, channel + 2);
}

static fid_status run_pixel_shuffle(fid_call *call) {
    fidk_box from = fidk_box_of(fid_arg_tensor(call, 0)), to = fidk_box_of(fid_out_tensor(call, 0));
    as_blocks(&from, &to, fid_arg_int(call, 1));
    fidk_box_copy(&to, &from);
    return FID_OK;
}

static fid_status run_pixel_unshuffle(fid_call *call) {
    fidk_box from = fidk_box_of(fid_arg_tensor(call, 0)), to = fidk_box_of(fid_out_tensor(call, 0));
    as_blocks(&to, &from, fid_arg_int(call, 1));
    fidk_box_copy(&to, &from);
    return FID_OK;
}

/* (batch, groups, channels of a group, ...) -> (batch, channels of a group, groups, ...) */
static fid_status run_channel_shuffle(fid_call *call) {
    fidk_box from = fidk_box_of(fid_arg_tensor(call, 0)), to = fidk_box_of(fid_out_tensor(call, 0));
    int64_t groups = fid_arg_int(call, 1);
    fidk_box_split(&from, 1, from.sizes[1] / groups);
    fidk_box_split(&to, 1, groups);
    fidk_box_swap(&from, 1, 2);
    fidk_box_copy(&to, &from);
    return FID_OK;
}

const fid_kernel fid_ref_pixel_shuffle = {.run = run_pixel_shuffle};
const fid_kernel fid_ref_pixel_unshuffle = {.run = run_pixel_unshuffle};
const fid_kernel fid_ref_channel_shuffle = {.run = run_channel_shuffle};
