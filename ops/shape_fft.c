/* Shapes of discrete Fourier transforms. */
#include "ops/shape.h"

static fid_status check_dims(const fid_call *call, const fid_tensor *self, size_t *out_last) {
    size_t count;
    const int64_t *dims = fid_arg_ints(call, 1, &count);
    bool seen[FID_MAX_RANK] = {false};
    *out_last = 0;
    for (size_t i = 0; i < count; i++) {
        FID_TRY(fid_wrap_dim(call, dims[i], self->rank, out_last));
        if (self->rank == 0 || seen[*out_last] || self->sizes[*out_last] < 1)
            return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: dimension %lld is empty or named twice", call->name, (long long)dims[i]);
        seen[*out_last] = true;
    }
    if (fid_arg_int(call, 2) < 0 || fid_arg_int(call, 2) > 2)
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: normalization %lld does not exist", call->name, (long long)fid_arg_int(call, 2));
    return FID_OK;
}

static fid_status wrong_dtype(const fid_call *call, const fid_tensor *self) {
    return fid_fail(call->sink, FID_INVALID_TYPE, "%s: no transform of %s", call->name, fid_dtype_name((fid_dtype)self->dtype));
}

/* (self, dim, normalization, onesided): real to complex; one-sided keeps n / 2 + 1 of the last dim. */
fid_status fid_shape_fft_r2c(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    size_t last;
    (void)out_count;
    if (self->dtype != FID_FLOAT32 && self->dtype != FID_FLOAT64) return wrong_dtype(call, self);
    FID_TRY(check_dims(call, self, &last));
    size_t count;
    fid_arg_ints(call, 1, &count);
    if (count == 0) return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: no dimension to transform", call->name);
    fid_meta_set(outs, self->dtype == FID_FLOAT64 ? FID_COMPLEX128 : FID_COMPLEX64, self->sizes, self->rank);
    if (fid_arg_bool(call, 3)) outs->sizes[last] = self->sizes[last] / 2 + 1;
    return FID_OK;
}

/* (self, dim, normalization, last_dim_size): complex, one-sided in the last dim, to real. */
fid_status fid_shape_fft_c2r(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    size_t last, count;
    int64_t size = fid_arg_int(call, 3);
    (void)out_count;
    if (!fid_dtype_is_complex((fid_dtype)self->dtype)) return wrong_dtype(call, self);
    FID_TRY(check_dims(call, self, &last));
    fid_arg_ints(call, 1, &count);
    if (count == 0 || size < 1 || self->sizes[last] < size / 2 + 1)
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a last dimension of %lld needs %lld coefficients", call->name,
                        (long long)size, (long long)(size / 2 + 1));
    fid_meta_set(outs, self->dtype == FID_COMPLEX128 ? FID_FLOAT64 : FID_FLOAT32, self->sizes, self->rank);
    outs->sizes[last] = size;
    return FID_OK;
}

fid_status fid_shape_fft_c2c(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    size_t last;
    (void)out_count;
    if (!fid_dtype_is_complex((fid_dtype)self->dtype)) return wrong_dtype(call, self);
    FID_TRY(check_dims(call, self, &last));
    fid_meta_set(outs, (fid_dtype)self->dtype, self->sizes, self->rank);
    return FID_OK;
}
