/* Shape functions of pointwise operators: broadcasting, promotion, and the dim order of the output. */
#include "ops/promote.h"
#include "ops/shape.h"

static bool same_sizes(const fid_tensor *tensor, const fid_meta *meta) {
    return tensor->rank == meta->rank && memcmp(tensor->sizes, meta->sizes, meta->rank * sizeof meta->sizes[0]) == 0;
}

/* PyTorch's rule: the output lies in memory as the first input of its very shape does; without one, as the first of full rank. */
static void choose_dim_order(const fid_call *call, uint32_t first, uint32_t count, fid_meta *meta) {
    const fid_tensor *model = NULL;
    for (uint32_t i = first + count; i-- > first;) {
        const fid_tensor *tensor = fid_arg_tensor(call, i);
        if (tensor && tensor->rank == meta->rank && (same_sizes(tensor, meta) || !model || !same_sizes(model, meta))) model = tensor;
    }
    for (uint8_t d = 0; d < meta->rank; d++) meta->dim_order[d] = model ? model->dim_order[d] : d;
}

/* Arguments [first, first + count), tensors among numbers and absent ones, broadcast together. */
static fid_status broadcast_args(const fid_call *call, uint32_t first, uint32_t count, fid_dtype dtype, fid_meta *out) {
    fid_meta meta = {0};
    for (uint32_t i = first; i < first + count; i++) {
        const fid_tensor *tensor = fid_arg_tensor(call, i);
        if (tensor) FID_TRY(fid_meta_broadcast(call, &meta, tensor));
    }
    if (dtype == FID_DTYPE_NONE) {
        return fid_fail(call->sink, FID_INVALID_TYPE, "%s: PyTorch has no common dtype for these inputs; convert one of them",
                        call->name);
    }
    choose_dim_order(call, first, count, &meta);
    meta.dtype = (uint8_t)dtype;
    *out = meta;
    return FID_OK;
}

static fid_status like_self(const fid_call *call, fid_dtype dtype, fid_meta *out) {
    *out = fid_meta_of(fid_arg_tensor(call, 0));
    out->dtype = (uint8_t)dtype;
    return FID_OK;
}

static fid_dtype self_dtype(const fid_call *call) { return (fid_dtype)fid_arg_tensor(call, 0)->dtype; }

/* The body of a shape function with one output. */
#define SHAPE(name, expression)                                                                                        \
    fid_status fid_shape_##name(const fid_call *call, fid_meta *outs, size_t out_count) {                              \
        (void)out_count; /* one */                                                                                     \
        return expression;                                                                                             \
    }

SHAPE(unary_same, like_self(call, self_dtype(call), outs))
SHAPE(squared, like_self(call, self_dtype(call) == FID_BOOL ? FID_INT64 : self_dtype(call), outs)) /* the power of a bool is a number */
SHAPE(unary_float, like_self(call, fid_dtype_to_float(self_dtype(call)), outs))
SHAPE(unary_bool, like_self(call, FID_BOOL, outs))

static fid_dtype magnitude_dtype(fid_dtype dtype) {
    return dtype == FID_COMPLEX64 ? FID_FLOAT32 : dtype == FID_COMPLEX128 ? FID_FLOAT64 : dtype;
}

SHAPE(abs, like_self(call, magnitude_dtype(self_dtype(call)), outs))

SHAPE(binary_arithmetic, broadcast_args(call, 0, 2, fid_result_type(call, 0, 2), outs))
SHAPE(binary_float, broadcast_args(call, 0, 2, fid_dtype_to_float(fid_result_type(call, 0, 2)), outs))
SHAPE(binary_bool, broadcast_args(call, 0, 2, FID_BOOL, outs))
/* clamp has optional operands, of which one must be there. */
fid_status fid_shape_ternary_arithmetic(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    if (fid_arg_is_none(call, 1) && fid_arg_is_none(call, 2)) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: give min, max or both", call->name);
    }
    return broadcast_args(call, 0, 3, fid_result_type(call, 0, 3), outs);
}

SHAPE(lerp, broadcast_args(call, 0, 3, self_dtype(call), outs))

/* Without a rounding mode (argument 2) a quotient is a float. */
SHAPE(div_mode, fid_arg_is_none(call, 2) ? fid_shape_binary_float(call, outs, 1) : fid_shape_binary_arithmetic(call, outs, 1))

static bool is_bool_or_byte(const fid_tensor *mask) { return mask->dtype == FID_BOOL || mask->dtype == FID_UINT8; }

static fid_status check_mask(const fid_call *call, uint32_t i) {
    const fid_tensor *mask = fid_arg_tensor(call, i);
    if (is_bool_or_byte(mask)) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_TYPE, "%s: the mask must be bool, it is %s", call->name,
                    fid_dtype_name((fid_dtype)mask->dtype));
}

fid_status fid_shape_where(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    FID_TRY(check_mask(call, 0));
    return broadcast_args(call, 0, 3, fid_result_type(call, 1, 2), outs);
}

fid_status fid_shape_masked_fill(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    FID_TRY(check_mask(call, 1));
    return broadcast_args(call, 0, 2, self_dtype(call), outs);
}

fid_status fid_shape_prelu(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *x = fid_arg_tensor(call, 0), *weight = fid_arg_tensor(call, 1);
    size_t count = fid_tensor_numel(weight);
    (void)out_count;
    if (count != 1 && (x->rank < 2 || (int64_t)count != x->sizes[1])) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: %zu weights fit neither one for all nor one for each channel", call->name,
                        count);
    }
    return like_self(call, self_dtype(call), outs);
}

fid_status fid_shape_glu(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *x = fid_arg_tensor(call, 0);
    size_t dim;
    (void)out_count;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), x->rank, &dim));
    if (!x->rank || x->sizes[dim] % 2) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: dimension %zu must have an even size to be halved", call->name, dim);
    }
    *outs = fid_meta_of(x);
    outs->sizes[dim] /= 2;
    return FID_OK;
}

/* ---- Copies with a wanted dtype and layout ---- */

enum { CONTIGUOUS = 0, PRESERVE = 1, CHANNELS_LAST = 2, CHANNELS_LAST_3D = 3 }; /* PyTorch's MemoryFormat */

static fid_status apply_memory_format(const fid_call *call, uint32_t i, fid_meta *meta) {
    int64_t format = fid_arg_is_none(call, i) ? PRESERVE : fid_arg_int(call, i);
    uint8_t rank = meta->rank;
    if (format == PRESERVE) return FID_OK;
    bool channels_last = format == CHANNELS_LAST || format == CHANNELS_LAST_3D;
    if (channels_last && rank != (format == CHANNELS_LAST ? 4 : 5)) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: a tensor of rank %u has no channels-last format", call->name, rank);
    }
    for (uint8_t d = 0; d < rank; d++) meta->dim_order[d] = channels_last && d ? (uint8_t)(d + 1 == rank ? 1 : d + 1) : d;
    return FID_OK;
}

/* The memory format is the last argument of both the functional and the out= form. */
fid_status fid_shape_to_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    FID_TRY(like_self(call, fid_option_dtype(call, 1, 7, self_dtype(call)), outs));
    return apply_memory_format(call, call->output_index - 1, outs);
}

fid_status fid_shape_clone(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    FID_TRY(like_self(call, self_dtype(call), outs));
    return apply_memory_format(call, call->output_index - 1, outs);
}

static fid_status apply_dim_order(const fid_call *call, uint32_t i, fid_meta *meta) {
    size_t count;
    uint8_t order[FID_MAX_RANK];
    const int64_t *wanted = fid_arg_ints(call, i, &count);
    if (fid_arg_is_none(call, i)) return FID_OK;
    bool valid = count == meta->rank;
    for (size_t d = 0; d < count && valid; d++) {
        valid = wanted[d] >= 0 && wanted[d] < (int64_t)count;
        order[d] = (uint8_t)wanted[d];
    }
    if (!valid || !fid_dim_order_valid(order, count)) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: dim_order is no order of the input's %u dimensions", call->name, meta->rank);
    }
    memcpy(meta->dim_order, order, count);
    return FID_OK;
}

fid_status fid_shape_to_dim_order_copy(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    FID_TRY(like_self(call, fid_option_dtype(call, 1, 7, self_dtype(call)), outs));
    return apply_dim_order(call, call->output_index - 1, outs);
}

fid_status fid_shape_clone_dim_order(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    FID_TRY(like_self(call, self_dtype(call), outs));
    return apply_dim_order(call, call->output_index - 1, outs);
}
