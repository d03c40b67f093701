/* The loop of pointwise reference kernels. */
#include "kernels/ref/elementwise.h"

fid_dtype fidk_wide(fid_dtype dtype) {
    return fid_dtype_is_float(dtype) && dtype != FID_FLOAT64 ? FID_FLOAT32 : dtype;
}

fidk_elementwise fidk_elementwise_begin(fid_call *call, fid_dtype compute) {
    return (fidk_elementwise){.call = call, .compute = compute, .result = compute, .form = fidk_form_of(compute)};
}

void fidk_operand_add(fidk_elementwise *e, uint32_t i, fid_dtype as) {
    fidk_operand *operand = &e->operands[e->count++];
    operand->tensor = fid_arg_tensor(e->call, i);
    operand->as = as;
    if (!operand->tensor) operand->number = fidk_number(e->call->args[i], as);
}

static void load_operands(const fidk_elementwise *e, const fidk_walk *walk, fidk_element *in) {
    size_t tensors = 0;
    for (size_t k = 0; k < e->count; k++) {
        const fidk_operand *operand = &e->operands[k];
        if (!operand->tensor) {
            in[k] = operand->number;
            continue;
        }
        fid_dtype dtype = (fid_dtype)operand->tensor->dtype;
        in[k] = fidk_load(dtype, operand->tensor->data, walk->at[1 + tensors++]);
        if (dtype != operand->as) in[k] = fidk_convert(in[k], dtype, operand->as);
    }
}

/* The widest dtype of the result's form: what a function returns before rounding and wrapping. */
static fid_dtype unrounded(fid_dtype result) {
    switch (fidk_form_of(result)) {
    case FIDK_COMPLEX: return FID_COMPLEX128;
    case FIDK_REAL: return FID_FLOAT64;
    default: return result == FID_UINT64 ? FID_UINT64 : FID_INT64;
    }
}

fid_status fidk_refuse_complex(const fid_call *call) {
    return fid_fail(call->sink, FID_INVALID_TYPE, "%s: complex numbers are not supported here; compute with their parts (view_as_real)",
                    call->name);
}

fid_status fidk_elementwise_run(fidk_elementwise *e, fidk_function *function) {
    if (e->form == FIDK_COMPLEX && !e->takes_complex) return fidk_refuse_complex(e->call);
    const fid_tensor *out = fid_out_tensor(e->call, 0);
    fid_dtype out_dtype = (fid_dtype)out->dtype;
    fidk_walk walk;
    fidk_walk_begin(&walk, out->sizes, out->rank);
    fidk_walk_add(&walk, out);
    for (size_t k = 0; k < e->count; k++) {
        if (e->operands[k].tensor) fidk_walk_add(&walk, e->operands[k].tensor);
    }
    FIDK_WALK(&walk) {
        fidk_element in[FIDK_OPERANDS];
        load_operands(e, &walk, in);
        fidk_element value = fidk_convert(function(in, e), unrounded(e->result), e->result);
        if (e->failure) return fid_fail(e->call->sink, FID_INVALID_ARGUMENT, "%s: %s", e->call->name, e->failure);
        if (out_dtype != e->result) value = fidk_convert(value, e->result, out_dtype);
        fidk_store(out_dtype, out->data, walk.at[0], value);
    }
    return FID_OK;
}

static fid_status unary_as(fid_call *call, fid_dtype compute, bool takes_complex, fidk_function *function) {
    fidk_elementwise e = fidk_elementwise_begin(call, compute);
    e.takes_complex = takes_complex;
    fidk_operand_add(&e, 0, compute);
    return fidk_elementwise_run(&e, function);
}

fid_status fidk_unary(fid_call *call, fidk_function *function) {
    return unary_as(call, (fid_dtype)fid_arg_tensor(call, 0)->dtype, false, function);
}

fid_status fidk_unary_complex(fid_call *call, fidk_function *function) {
    return unary_as(call, (fid_dtype)fid_arg_tensor(call, 0)->dtype, true, function);
}

fid_status fidk_unary_float(fid_call *call, fidk_function *function) {
    return unary_as(call, fid_dtype_to_float((fid_dtype)fid_arg_tensor(call, 0)->dtype), false, function);
}

static fid_status binary_as(fid_call *call, fid_dtype compute, fidk_function *function) {
    fidk_elementwise e = fidk_elementwise_begin(call, compute);
    fidk_operand_add(&e, 0, compute);
    fidk_operand_add(&e, 1, compute);
    return fidk_elementwise_run(&e, function);
}

fid_status fidk_binary(fid_call *call, fidk_function *function) {
    return binary_as(call, fid_result_type(call, 0, 2), function);
}

fid_status fidk_binary_float(fid_call *call, fidk_function *function) {
    return binary_as(call, fid_dtype_to_float(fid_result_type(call, 0, 2)), function);
}
