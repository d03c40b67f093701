/* max_unpool2d, max_unpool3d: each value goes to its index in the plane of the output, zeros elsewhere. */
#include "kernels/ref/dense.h"

/* Offset of element `index` of a plane of the output, whose sizes and strides are the last `spatial` ones. */
static int64_t plane_offset(const fid_tensor *out, size_t spatial, int64_t index) {
    int64_t offset = 0;
    for (size_t d = out->rank; d-- > out->rank - spatial;) {
        offset += index % out->sizes[d] * out->strides[d];
        index /= out->sizes[d];
    }
    return offset;
}

static fid_status run_max_unpool(fid_call *call, size_t spatial) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *indices = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    size_t lead = self->rank - spatial, points = fidk_product(out->sizes + lead, spatial), size = fid_dtype_size((fid_dtype)out->dtype);
    int64_t at[FID_MAX_RANK] = {0};
    if (fid_tensor_numel(out)) memset(out->data, 0, fid_tensor_bytes(out));
    if (fid_tensor_numel(self) == 0) return FID_OK;
    do {
        int64_t index;
        fidk_load_row_int(indices, fidk_strided(at, indices->strides, indices->rank), 1, 1, &index);
        if (index < 0 || index >= (int64_t)points)
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: index %lld is outside of a plane of %zu elements", call->name,
                            (long long)index, points);
        int64_t to = fidk_strided(at, out->strides, lead) + plane_offset(out, spatial, index);
        const uint8_t *from = (const uint8_t *)self->data + fidk_strided(at, self->strides, self->rank) * (int64_t)size;
        memcpy((uint8_t *)out->data + to * (int64_t)size, from, size);
    } while (fidk_next_index(at, self->sizes, self->rank));
    return FID_OK;
}

static fid_status max_unpool2d(fid_call *call) { return run_max_unpool(call, 2); }
static fid_status max_unpool3d(fid_call *call) { return run_max_unpool(call, 3); }

const fid_kernel fid_ref_max_unpool2d = {.run = max_unpool2d};
const fid_kernel fid_ref_max_unpool3d = {.run = max_unpool3d};
