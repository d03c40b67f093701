/* Loading, storing and converting single elements of any dtype; walks over index spaces. */
#include "kernels/ref/elements.h"

fidk_form fidk_form_of(fid_dtype dtype) {
    if (fid_dtype_is_complex(dtype)) return FIDK_COMPLEX;
    return fid_dtype_is_float(dtype) ? FIDK_REAL : FIDK_INTEGER;
}

fidk_element fidk_load(fid_dtype dtype, const void *data, int64_t index) {
    switch (dtype) {
    case FID_UINT8: return fidk_int(((const uint8_t *)data)[index]);
    case FID_INT8: return fidk_int(((const int8_t *)data)[index]);
    case FID_INT16: return fidk_int(((const int16_t *)data)[index]);
    case FID_INT32: return fidk_int(((const int32_t *)data)[index]);
    case FID_INT64: return fidk_int(((const int64_t *)data)[index]);
    case FID_UINT16: return fidk_int(((const uint16_t *)data)[index]);
    case FID_UINT32: return fidk_int(((const uint32_t *)data)[index]);
    case FID_UINT64: return fidk_int((int64_t)((const uint64_t *)data)[index]);
    case FID_BOOL: return fidk_int(((const uint8_t *)data)[index] != 0);
    case FID_FLOAT16: return fidk_real(fid_float_from_f16(((const uint16_t *)data)[index]));
    case FID_BFLOAT16: return fidk_real(fid_float_from_bf16(((const uint16_t *)data)[index]));
    case FID_FLOAT32: return fidk_real(((const float *)data)[index]);
    case FID_FLOAT64: return fidk_real(((const double *)data)[index]);
    case FID_FLOAT8_E4M3FN: return fidk_real(fid_float_from_f8e4m3fn(((const uint8_t *)data)[index]));
    case FID_FLOAT8_E5M2: return fidk_real(fid_float_from_f8e5m2(((const uint8_t *)data)[index]));
    case FID_COMPLEX64: {
        fid_complex64 c = ((const fid_complex64 *)data)[index];
        return (fidk_element){.c = {c.re, c.im}};
    }
    case FID_COMPLEX128: return (fidk_element){.c = ((const fid_complex128 *)data)[index]};
    case FID_DTYPE_NONE: break;
    }
    return fidk_int(0);
}

void fidk_store(fid_dtype dtype, void *data, int64_t index, fidk_element e) {
    switch (dtype) {
    case FID_UINT8: ((uint8_t *)data)[index] = (uint8_t)e.i; break;
    case FID_INT8: ((int8_t *)data)[index] = (int8_t)e.i; break;
    case FID_INT16: ((int16_t *)data)[index] = (int16_t)e.i; break;
    case FID_INT32: ((int32_t *)data)[index] = (int32_t)e.i; break;
    case FID_INT64: ((int64_t *)data)[index] = e.i; break;
    case FID_UINT16: ((uint16_t *)data)[index] = (uint16_t)e.i; break;
    case FID_UINT32: ((uint32_t *)data)[index] = (uint32_t)e.i; break;
    case FID_UINT64: ((uint64_t *)data)[index] = (uint64_t)e.i; break;
    case FID_BOOL: ((uint8_t *)data)[index] = e.i != 0; break;
    case FID_FLOAT16: ((uint16_t *)data)[index] = fid_f16_from_float((float)e.d); break;
    case FID_BFLOAT16: ((uint16_t *)data)[index] = fid_bf16_from_float((float)e.d); break;
    case FID_FLOAT32: ((float *)data)[index] = (float)e.d; break;
    case FID_FLOAT64: ((double *)data)[index] = e.d; break;
    case FID_FLOAT8_E4M3FN: ((uint8_t *)data)[index] = fid_f8e4m3fn_from_float((float)e.d); break;
    case FID_FLOAT8_E5M2: ((uint8_t *)data)[index] = fid_f8e5m2_from_float((float)e.d); break;
    case FID_COMPLEX64: ((fid_complex64 *)data)[index] = (fid_complex64){(float)e.c.re, (float)e.c.im}; break;
    case FID_COMPLEX128: ((fid_complex128 *)data)[index] = e.c; break;
    case FID_DTYPE_NONE: break;
    }
}

double fidk_round_to(fid_dtype dtype, double value) {
    switch (dtype) {
    case FID_FLOAT16: return fid_float_from_f16(fid_f16_from_float((float)value));
    case FID_BFLOAT16: return fid_float_from_bf16(fid_bf16_from_float((float)value));
    case FID_FLOAT32: return (float)value;
    case FID_FLOAT8_E4M3FN: return fid_float_from_f8e4m3fn(fid_f8e4m3fn_from_float((float)value));
    case FID_FLOAT8_E5M2: return fid_float_from_f8e5m2(fid_f8e5m2_from_float((float)value));
    default: return value;
    }
}

static int64_t wrap(fid_dtype dtype, int64_t value) {
    switch (dtype) {
    case FID_UINT8: return (uint8_t)value;
    case FID_INT8: return (int8_t)value;
    case FID_INT16: return (int16_t)value;
    case FID_INT32: return (int32_t)value;
    case FID_UINT16: return (uint16_t)value;
    case FID_UINT32: return (uint32_t)value;
    case FID_BOOL: return value != 0;
    default: return value;
    }
}

static int64_t int_from_real(double value, fid_dtype to) {
    bool narrow = to == FID_INT8 || to == FID_INT16 || to == FID_INT32 || to == FID_UINT16;
    if (to == FID_BOOL) return value != 0;
    if (to == FID_UINT64 && value >= 0x1p63 && value < 0x1p64) return (int64_t)(uint64_t)value;
    if (narrow) return value > -0x1p31 - 1 && value < 0x1p31 ? (int64_t)value : INT32_MIN;
    return value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : INT64_MIN;
}

static double real_from_int(int64_t value, fid_dtype from) {
    return from == FID_UINT64 ? (double)(uint64_t)value : (double)value;
}

/* Integers go to float32 and narrower in one rounding, not by way of double. */
static double real_from_int_to(int64_t value, fid_dtype from, fid_dtype to) {
    if (to == FID_FLOAT64) return real_from_int(value, from);
    float single = from == FID_UINT64 ? (float)(uint64_t)value : (float)value;
    return fidk_round_to(to, single);
}

static fidk_element complex_to(fid_dtype to, double re, double im) {
    if (to == FID_COMPLEX64) return (fidk_element){.c = {(float)re, (float)im}};
    return (fidk_element){.c = {re, im}};
}

fidk_element fidk_convert(fidk_element e, fid_dtype from, fid_dtype to) {
    fidk_form source = fidk_form_of(from), target = fidk_form_of(to);
    if (target == FIDK_COMPLEX) {
        if (source == FIDK_COMPLEX) return complex_to(to, e.c.re, e.c.im);
        return complex_to(to, source == FIDK_REAL ? e.d : real_from_int(e.i, from), 0);
    }
    if (source == FIDK_COMPLEX) {
        if (to == FID_BOOL) return fidk_int(e.c.re != 0 || e.c.im != 0);
        e = fidk_real(e.c.re);
        source = FIDK_REAL;
    }
    if (target == FIDK_REAL) return fidk_real(source == FIDK_REAL ? fidk_round_to(to, e.d) : real_from_int_to(e.i, from, to));
    return fidk_int(wrap(to, source == FIDK_REAL ? int_from_real(e.d, to) : e.i));
}

fidk_element fidk_number(const fid_value *value, fid_dtype to) {
    if (value->tag == FID_TAG_DOUBLE) return fidk_convert(fidk_real(value->as.number), FID_FLOAT64, to);
    return fidk_convert(fidk_int(value->tag == FID_TAG_BOOL ? value->as.boolean : value->as.integer), FID_INT64, to);
}

double fidk_get_real(const fid_tensor *tensor, int64_t index) {
    fid_dtype dtype = (fid_dtype)tensor->dtype;
    return fidk_convert(fidk_load(dtype, tensor->data, index), dtype, FID_FLOAT64).d;
}

int64_t fidk_get_int(const fid_tensor *tensor, int64_t index) {
    fid_dtype dtype = (fid_dtype)tensor->dtype;
    return fidk_convert(fidk_load(dtype, tensor->data, index), dtype, FID_INT64).i;
}

bool fidk_get_bool(const fid_tensor *tensor, int64_t index) {
    fid_dtype dtype = (fid_dtype)tensor->dtype;
    return fidk_convert(fidk_load(dtype, tensor->data, index), dtype, FID_BOOL).i != 0;
}

void fidk_set_real(const fid_tensor *tensor, int64_t index, double value) {
    fid_dtype dtype = (fid_dtype)tensor->dtype;
    fidk_store(dtype, tensor->data, index, fidk_convert(fidk_real(value), FID_FLOAT64, dtype));
}

void fidk_set_int(const fid_tensor *tensor, int64_t index, int64_t value) {
    fid_dtype dtype = (fid_dtype)tensor->dtype;
    fidk_store(dtype, tensor->data, index, fidk_convert(fidk_int(value), FID_INT64, dtype));
}

void fidk_walk_begin(fidk_walk *walk, const int64_t *sizes, size_t rank) {
    walk->rank = rank;
    walk->operands = 0;
    walk->left = 1;
    for (size_t d = 0; d < rank; d++) {
        walk->sizes[d] = sizes[d];
        walk->index[d] = 0;
        walk->left *= (size_t)sizes[d];
    }
}

size_t fidk_walk_add(fidk_walk *walk, const fid_tensor *tensor) {
    int64_t strides[FID_MAX_RANK] = {0};
    size_t skipped = walk->rank - tensor->rank;
    for (size_t d = 0; d < tensor->rank && tensor->rank <= walk->rank; d++) {
        if (tensor->sizes[d] != 1) strides[skipped + d] = tensor->strides[d];
    }
    return fidk_walk_add_strides(walk, strides);
}

size_t fidk_walk_add_strides(fidk_walk *walk, const int64_t *strides) {
    size_t operand = walk->operands++;
    for (size_t d = 0; d < walk->rank; d++) walk->strides[operand][d] = strides[d];
    walk->at[operand] = 0;
    return operand;
}

void fidk_walk_next(fidk_walk *walk) {
    if (--walk->left == 0) return;
    for (size_t d = walk->rank; d-- > 0;) {
        bool carry = ++walk->index[d] == walk->sizes[d];
        int64_t steps = carry ? 1 - walk->sizes[d] : 1;
        if (carry) walk->index[d] = 0;
        for (size_t k = 0; k < walk->operands; k++) walk->at[k] += steps * walk->strides[k][d];
        if (!carry) return;
    }
}

int64_t fidk_offset(const fid_tensor *tensor, const int64_t *index) {
    int64_t offset = 0;
    for (size_t d = 0; d < tensor->rank; d++) offset += index[d] * tensor->strides[d];
    return offset;
}
