/* Sequences and simple matrices: arange, linspace, logspace, eye, tril_indices, triu_indices. */
#include "kernels/ref/box.h"
#include "ops/sequence.h"

/* Whole numbers in int64 (exact), others in double and rounded once. */
static fid_status fill_arange(fid_call *call, uint32_t numbers) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    fid_arange range;
    FID_TRY(fid_arange_of(call, numbers, &range));
    if (!fid_dtype_is_float((fid_dtype)out->dtype)) {
        uint64_t start = (uint64_t)fid_value_int(&range.start), step = (uint64_t)fid_value_int(&range.step);
        for (int64_t i = 0; i < out->sizes[0]; i++) fidk_set_int(out, i * out->strides[0], (int64_t)(start + (uint64_t)i * step));
        return FID_OK;
    }
    double start = fid_value_double(&range.start), step = fid_value_double(&range.step);
    for (int64_t i = 0; i < out->sizes[0]; i++) fidk_set_real(out, i * out->strides[0], start + (double)i * step);
    return FID_OK;
}

static fid_status run_arange(fid_call *call) { return fill_arange(call, 1); }
static fid_status run_arange_start(fid_call *call) { return fill_arange(call, 2); }
static fid_status run_arange_start_step(fid_call *call) { return fill_arange(call, 3); }

/* A number given as such or as a tensor of one element. */
static double number_of(const fid_call *call, uint32_t i) {
    return call->args[i]->tag == FID_TAG_TENSOR ? fidk_get_real(fid_arg_tensor(call, i), 0) : fid_arg_double(call, i);
}

/* From both ends towards the middle, so that both ends are exact. */
static double linspace_at(double start, double end, int64_t i, int64_t steps) {
    if (steps == 1) return start;
    double step = (end - start) / (double)(steps - 1);
    return i < steps / 2 ? start + step * (double)i : end - step * (double)(steps - 1 - i);
}

static void store_cut(const fid_tensor *out, int64_t i, double value) {
    if (fid_dtype_is_float((fid_dtype)out->dtype) || fid_dtype_is_complex((fid_dtype)out->dtype)) {
        fidk_set_real(out, i * out->strides[0], value);
    } else {
        const fid_value number = fid_double_value(value);
        fidk_set_int(out, i * out->strides[0], fid_value_int(&number));
    }
}

static fid_status run_linspace(fid_call *call) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    double start = number_of(call, 0), end = number_of(call, 1);
    for (int64_t i = 0; i < out->sizes[0]; i++) store_cut(out, i, linspace_at(start, end, i, out->sizes[0]));
    return FID_OK;
}

static fid_status run_logspace(fid_call *call) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    double start = number_of(call, 0), end = number_of(call, 1), base = fid_arg_double(call, 3);
    for (int64_t i = 0; i < out->sizes[0]; i++) store_cut(out, i, pow(base, linspace_at(start, end, i, out->sizes[0])));
    return FID_OK;
}

static fid_status run_eye(fid_call *call) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    for (int64_t row = 0; row < out->sizes[0]; row++) {
        for (int64_t column = 0; column < out->sizes[1]; column++) {
            fidk_set_int(out, row * out->strides[0] + column * out->strides[1], row == column);
        }
    }
    return FID_OK;
}

/* Row and column of each element of a triangle, in row-major order. */
static void list_triangle(const fid_call *call, bool lower) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    int64_t rows = fid_arg_int(call, 0), columns = fid_arg_int(call, 1), offset = fid_arg_int(call, 2), at = 0;
    int64_t first = lower && offset < 0 ? -offset : 0, end = lower ? rows : columns - offset; /* other rows are empty */
    for (int64_t row = first; row < rows && row < end; row++) {
        int64_t edge = fid_tril_row_length(row, columns, lower ? offset : offset - 1);
        for (int64_t column = lower ? 0 : edge; column < (lower ? edge : columns); column++, at++) {
            fidk_set_int(out, at * out->strides[1], row);
            fidk_set_int(out, at * out->strides[1] + out->strides[0], column);
        }
    }
}

static fid_status run_tril_indices(fid_call *call) {
    list_triangle(call, true);
    return FID_OK;
}

static fid_status run_triu_indices(fid_call *call) {
    list_triangle(call, false);
    return FID_OK;
}

const fid_kernel fid_ref_arange = {.run = run_arange};
const fid_kernel fid_ref_arange_start = {.run = run_arange_start};
const fid_kernel fid_ref_arange_start_step = {.run = run_arange_start_step};
const fid_kernel fid_ref_linspace = {.run = run_linspace};
const fid_kernel fid_ref_linspace_Tensor_Tensor = {.run = run_linspace};
const fid_kernel fid_ref_linspace_Tensor_Scalar = {.run = run_linspace};
const fid_kernel fid_ref_linspace_Scalar_Tensor = {.run = run_linspace};
const fid_kernel fid_ref_logspace = {.run = run_logspace};
const fid_kernel fid_ref_logspace_Tensor_Tensor = {.run = run_logspace};
const fid_kernel fid_ref_logspace_Tensor_Scalar = {.run = run_logspace};
const fid_kernel fid_ref_logspace_Scalar_Tensor = {.run = run_logspace};
const fid_kernel fid_ref_eye = {.run = run_eye};
const fid_kernel fid_ref_eye_m = {.run = run_eye};
const fid_kernel fid_ref_tril_indices = {.run = run_tril_indices};
const fid_kernel fid_ref_triu_indices = {.run = run_triu_indices};
