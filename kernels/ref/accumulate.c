/* Combining values in any dtype: see accumulate.h. */
#include "kernels/ref/accumulate.h"

static bool is_half(fid_dtype dtype) { return fid_dtype_is_float(dtype) && fid_dtype_size(dtype) < 4; }

size_t fidk_accumulator_bytes(const fid_tensor *out) { return fid_tensor_numel(out) * (sizeof(double) + sizeof(int64_t)) + 128; }

fid_status fidk_accumulator_begin(fid_call *call, fidk_combine combine, bool include_start, fidk_accumulator *out_accumulator) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    size_t count = fid_tensor_numel(out);
    fidk_accumulator acc = {.out = out, .combine = combine, .include_start = include_start};
    if (is_half((fid_dtype)out->dtype) && combine != FIDK_REPLACE) {
        if (!(acc.wide = fid_call_scratch(call, count * sizeof *acc.wide + 1))) return FID_OUT_OF_MEMORY;
        for (size_t i = 0; i < count; i++) acc.wide[i] = fidk_get_real(out, (int64_t)i);
    }
    if (combine == FIDK_MEAN || !include_start) {
        if (!(acc.counts = fid_call_scratch(call, count * sizeof *acc.counts + 1))) return FID_OUT_OF_MEMORY;
        memset(acc.counts, 0, count * sizeof *acc.counts);
    }
    *out_accumulator = acc;
    return FID_OK;
}

static double combine_real(fidk_combine combine, double a, double b) {
    switch (combine) {
    case FIDK_ADD:
    case FIDK_MEAN: return a + b;
    case FIDK_MULTIPLY: return a * b;
    case FIDK_MAX: return isnan(b) || b > a ? b : a;
    case FIDK_MIN: return isnan(b) || b < a ? b : a;
    default: return b;
    }
}

static bool int_less(fid_dtype dtype, int64_t a, int64_t b) { return dtype == FID_UINT64 ? (uint64_t)a < (uint64_t)b : a < b; }

static int64_t combine_int(fid_dtype dtype, fidk_combine combine, int64_t a, int64_t b) {
    switch (combine) {
    case FIDK_ADD:
    case FIDK_MEAN: return (int64_t)((uint64_t)a + (uint64_t)b);
    case FIDK_MULTIPLY: return (int64_t)((uint64_t)a * (uint64_t)b);
    case FIDK_MAX: return int_less(dtype, a, b) ? b : a;
    case FIDK_MIN: return int_less(dtype, b, a) ? b : a;
    default: return b;
    }
}

static fid_complex128 combine_complex(fidk_combine combine, fid_complex128 a, fid_complex128 b) {
    if (combine == FIDK_MULTIPLY) return (fid_complex128){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    if (combine == FIDK_ADD || combine == FIDK_MEAN) return (fid_complex128){a.re + b.re, a.im + b.im};
    return b; /* order is not defined for complex numbers: callers refuse */
}

void fidk_accumulate(fidk_accumulator *acc, int64_t offset, fidk_element element) {
    fid_dtype dtype = (fid_dtype)acc->out->dtype;
    bool replace = acc->combine == FIDK_REPLACE || (acc->counts && !acc->include_start && acc->counts[offset] == 0);
    if (acc->counts) acc->counts[offset]++;
    if (acc->wide) {
        acc->wide[offset] = replace ? element.d : combine_real(acc->combine, acc->wide[offset], element.d);
        return;
    }
    if (!replace) {
        fidk_element old = fidk_load(dtype, acc->out->data, offset);
        switch (fidk_form_of(dtype)) {
        case FIDK_REAL: element.d = combine_real(acc->combine, old.d, element.d); break;
        case FIDK_INTEGER: element.i = combine_int(dtype, acc->combine, old.i, element.i); break;
        case FIDK_COMPLEX: element.c = combine_complex(acc->combine, old.c, element.c); break;
        }
    }
    fidk_store(dtype, acc->out->data, offset, element);
}

/* Integers are divided towards minus infinity. */
static int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

static void divide(fidk_accumulator *acc, int64_t i) {
    int64_t count = acc->counts[i] + acc->include_start;
    if (count < 2) return;
    fid_dtype dtype = (fid_dtype)acc->out->dtype;
    if (acc->wide) {
        acc->wide[i] /= (double)count;
        return;
    }
    fidk_element sum = fidk_load(dtype, acc->out->data, i);
    switch (fidk_form_of(dtype)) {
    case FIDK_REAL: sum.d /= (double)count; break;
    case FIDK_INTEGER: sum.i = floor_divide(sum.i, count); break;
    case FIDK_COMPLEX: sum.c = (fid_complex128){sum.c.re / (double)count, sum.c.im / (double)count}; break;
    }
    fidk_store(dtype, acc->out->data, i, sum);
}

void fidk_accumulator_end(fidk_accumulator *acc) {
    int64_t count = (int64_t)fid_tensor_numel(acc->out);
    for (int64_t i = 0; i < count && acc->combine == FIDK_MEAN; i++) divide(acc, i);
    for (int64_t i = 0; i < count && acc->wide; i++) fidk_set_real(acc->out, i, acc->wide[i]);
}

fid_status fidk_index_in(const fid_call *call, int64_t index, int64_t size, int64_t *out_index) {
    if (index < -size || index >= size) {
        if (size == 0) return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: index %lld into an empty dimension", call->name,
                                       (long long)index);
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: index %lld is outside [%lld, %lld]", call->name, (long long)index,
                        (long long)-size, (long long)size - 1);
    }
    *out_index = index < 0 ? index + size : index;
    return FID_OK;
}
