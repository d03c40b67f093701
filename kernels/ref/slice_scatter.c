/* A tensor with a part replaced: slice_scatter, select_scatter, diagonal_scatter. */
#include "kernels/ref/box.h"

/* Copies self to the output, so that `place` in it can take the source. Returns the whole output as a box. */
static fidk_box copy_self(fid_call *call) {
    fidk_copy(fid_out_tensor(call, 0), fid_arg_tensor(call, 0));
    return fidk_box_of(fid_out_tensor(call, 0));
}

static fid_status put_source(fid_call *call, const fidk_box *place) {
    fidk_box from = fidk_box_of(fid_arg_tensor(call, 1));
    fidk_box_copy(place, &from);
    return FID_OK;
}

static fid_status run_slice_scatter(fid_call *call) {
    fid_slice slice;
    FID_TRY(fid_slice_bounds(call, 2, &slice));
    fidk_box place = copy_self(call);
    fidk_box_narrow(&place, slice.dim, slice.start, slice.count, slice.step);
    return put_source(call, &place);
}

static fid_status run_select_scatter(fid_call *call) {
    size_t dim;
    int64_t index;
    FID_TRY(fid_select_index(call, 2, &dim, &index));
    fidk_box place = copy_self(call);
    fidk_box_select(&place, dim, index);
    return put_source(call, &place);
}

static fid_status run_diagonal_scatter(fid_call *call) {
    fid_diagonal diagonal;
    FID_TRY(fid_diagonal_of(call, 2, &diagonal));
    fidk_box place = copy_self(call);
    fidk_box_diagonal(&place, &diagonal);
    return put_source(call, &place);
}

const fid_kernel fid_ref_slice_scatter = {.run = run_slice_scatter};
const fid_kernel fid_ref_select_scatter = {.run = run_select_scatter};
const fid_kernel fid_ref_diagonal_scatter = {.run = run_diagonal_scatter};
