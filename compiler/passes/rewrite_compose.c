/* Small compositions that many rules are made of. */
#include "compiler/passes/rewrite.h"

/* ---- Any operator ---- */

fidc_value *fidc_rw_op1(fidc_rewriter *rw, fid_op_id op, fidc_value *x) {
    return x ? fidc_rw_emit(rw, op, (fidc_arg[]){fidc_v(x)}, 1) : NULL;
}

fidc_value *fidc_rw_op2(fidc_rewriter *rw, fid_op_id op, fidc_value *a, fidc_value *b) {
    return a && b ? fidc_rw_emit(rw, op, (fidc_arg[]){fidc_v(a), fidc_v(b)}, 2) : NULL;
}

fidc_value *fidc_rw_opn(fidc_rewriter *rw, fid_op_id op, fidc_value *x, fidc_arg number) {
    return x ? fidc_rw_emit(rw, op, (fidc_arg[]){fidc_v(x), number}, 2) : NULL;
}

fidc_value *fidc_rw_where(fidc_rewriter *rw, fidc_value *condition, fidc_value *a, fidc_value *b) {
    return condition && a && b ? RW(rw, where_self, fidc_v(condition), fidc_v(a), fidc_v(b)) : NULL;
}

/* ---- Sums ---- */

fidc_value *fidc_rw_sum(fidc_rewriter *rw, fidc_value *x, fidc_arg dims, bool keepdim) {
    if (dims.kind == FIDC_ARG_NONE) dims = fidc_list(rw->program, NULL, 0);
    return x ? RW(rw, sum_dim_IntList, fidc_v(x), dims, fidc_b(keepdim), fidc_t((fid_dtype)x->dtype)) : NULL;
}

fidc_value *fidc_rw_sum_dim(fidc_rewriter *rw, fidc_value *x, int64_t dim, bool keepdim) {
    return fidc_rw_sum(rw, x, fidc_ints(rw->program, &dim, 1), keepdim);
}

fidc_value *fidc_rw_reduce_loss(fidc_rewriter *rw, fidc_value *x, int64_t reduction) {
    if (reduction == 0) return x;
    return reduction == 1 ? fidc_rw_op1(rw, FID_OPID_mean, x) : fidc_rw_sum(rw, x, fidc_none(), false);
}

/* ---- Views and moves ---- */

/* Moving dimensions of size one keeps the order of elements: a view then. */
static bool keeps_order(const fidc_value *value, const int64_t *dims) {
    int64_t last = -1;
    for (size_t i = 0; i < value->rank; i++) {
        if (fidc_size(value, (size_t)dims[i]) == 1) continue;
        if (dims[i] < last) return false;
        last = dims[i];
    }
    return true;
}

fidc_value *fidc_rw_permute(fidc_rewriter *rw, fidc_value *value, const int64_t *dims) {
    if (!value) return NULL;
    bool identity = true;
    const fidc_expr *sizes[FID_MAX_RANK];
    for (size_t i = 0; i < value->rank; i++) {
        identity = identity && dims[i] == (int64_t)i;
        sizes[i] = value->sizes[dims[i]];
    }
    if (identity) return value;
    if (keeps_order(value, dims)) return fidc_rw_view(rw, value, sizes, value->rank);
    return RW(rw, permute_copy, fidc_v(value), fidc_ints(rw->program, dims, value->rank));
}

fidc_value *fidc_rw_transpose(fidc_rewriter *rw, fidc_value *value, int64_t a, int64_t b) {
    if (!value) return NULL;
    if (value->rank == 0) return value;
    int64_t dims[FID_MAX_RANK];
    for (size_t i = 0; i < value->rank; i++) dims[i] = (int64_t)i;
    a = fidc_wrap(a, value->rank);
    b = fidc_wrap(b, value->rank);
    dims[a] = b;
    dims[b] = a;
    return fidc_rw_permute(rw, value, dims);
}

fidc_value *fidc_rw_slice(fidc_rewriter *rw, fidc_value *value, int64_t dim, fidc_arg start, fidc_arg end) {
    if (!value) return NULL;
    return RW(rw, slice_copy_Tensor, fidc_v(value), fidc_i(dim), start, end, fidc_i(1));
}

fidc_value *fidc_rw_unsqueeze(fidc_rewriter *rw, fidc_value *value, int64_t dim) {
    return value ? RW(rw, unsqueeze_copy, fidc_v(value), fidc_i(dim)) : NULL;
}

fidc_value *fidc_rw_squeeze(fidc_rewriter *rw, fidc_value *value, int64_t dim) {
    return value ? RW(rw, squeeze_copy_dims, fidc_v(value), fidc_ints(rw->program, &dim, 1)) : NULL;
}

fidc_value *fidc_rw_cast(fidc_rewriter *rw, fidc_value *value, fid_dtype dtype) {
    if (!value || value->dtype == dtype) return value;
    return RW(rw, _to_copy, fidc_v(value), fidc_t(dtype));
}

fidc_value *fidc_rw_full(fidc_rewriter *rw, const fidc_expr *const *sizes, size_t rank, fid_dtype dtype, fidc_arg number) {
    return RW(rw, full, fidc_rw_shape(rw, sizes, rank, false), number, fidc_t(dtype));
}

fidc_value *fidc_rw_cat(fidc_rewriter *rw, fidc_value *const *values, size_t count, int64_t dim) {
    if (count == 1) return values[0];
    return RW(rw, cat, fidc_values(rw->program, values, count), fidc_i(dim));
}

fidc_value *fidc_rw_number(fidc_rewriter *rw, fidc_arg number, const fidc_value *beside) {
    const fidc_value *value = fidc_value_of(&number);
    bool known = number.kind == FIDC_ARG_INT || number.kind == FIDC_ARG_DOUBLE || number.kind == FIDC_ARG_BOOL;
    if (!known && !(value && value->type != FIDC_TENSOR && value->type != FIDC_NOTHING)) return NULL;
    fid_dtype alone = number.kind == FIDC_ARG_INT ? FID_INT64 : number.kind == FIDC_ARG_BOOL ? FID_BOOL : FID_FLOAT32;
    fid_dtype dtype = fidc_promote_number(beside ? (fid_dtype)beside->dtype : alone, number);
    if (value) return RW(rw, scalar_tensor, number, fidc_t(dtype));
    return fidc_value_scalar(rw->graph, dtype, number.kind == FIDC_ARG_DOUBLE ? number.as.number : (double)number.as.integer);
}

fidc_value *fidc_rw_scalar(fidc_rewriter *rw, fid_dtype dtype, fidc_arg number) {
    if (number.kind == FIDC_ARG_VALUE) return RW(rw, scalar_tensor, number, fidc_t(dtype));
    return fidc_value_scalar(rw->graph, dtype, number.kind == FIDC_ARG_DOUBLE ? number.as.number : (double)number.as.integer);
}

static bool is_fractional(fidc_arg number) {
    fidc_value *value = fidc_value_of(&number);
    return number.kind == FIDC_ARG_DOUBLE || (value && value->type == FIDC_FLOAT);
}

static bool is_boolean(fidc_arg number) {
    fidc_value *value = fidc_value_of(&number);
    return number.kind == FIDC_ARG_BOOL || (value && value->type == FIDC_BOOL);
}

fid_dtype fidc_promote_number(fid_dtype dtype, fidc_arg number) {
    if (fid_dtype_is_float(dtype) || fid_dtype_is_complex(dtype)) return dtype;
    if (is_fractional(number)) return FID_FLOAT32;
    return dtype == FID_BOOL && !is_boolean(number) ? FID_INT64 : dtype;
}

fid_dtype fidc_compute_dtype(fid_dtype dtype) { return dtype == FID_FLOAT16 || dtype == FID_BFLOAT16 ? FID_FLOAT32 : dtype; }
