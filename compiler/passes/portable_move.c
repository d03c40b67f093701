/* Indexing that upstream's portable kernels lack, by those that they have. */
#include "compiler/passes/rewrite.h"

/* ---- Writing by index ---- */

/* [:, ..., index] as index_put wants it: None for each dimension before. */
static fidc_arg index_in_dim(fidc_rewriter *rw, int64_t dim, fidc_value *index) {
    fidc_arg items[FID_MAX_RANK];
    for (int64_t d = 0; d < dim; d++) items[d] = fidc_none();
    items[dim] = fidc_v(index);
    return fidc_list(rw->program, items, (size_t)dim + 1);
}

static fid_status put_in_dim(fidc_rewriter *rw, fidc_value *source, bool accumulate) {
    fidc_value *x = fidc_rw_value(rw, 0), *index = fidc_rw_value(rw, 2);
    int64_t dim = fidc_rw_dim(rw, 1, 0, x->rank);
    if (!x->rank) return fidc_rw_become(rw, accumulate ? fidc_rw_op2(rw, FID_OPID_add_Tensor, x, fidc_rw_view(rw, source, NULL, 0)) : fidc_rw_view(rw, source, NULL, 0));
    if (!index->rank) index = fidc_rw_unsqueeze(rw, index, 0);
    if (source && source->rank < x->rank) source = fidc_rw_unsqueeze(rw, source, 0);
    if (!index || !source) return fidc_rw_become(rw, NULL);
    return fidc_rw_become(rw, RW(rw, index_put, fidc_v(x), index_in_dim(rw, dim, index), fidc_v(source), fidc_b(accumulate)));
}

static fid_status index_copy(fidc_rewriter *rw) { return put_in_dim(rw, fidc_rw_value(rw, 3), false); }

static fid_status index_add(fidc_rewriter *rw) {
    fidc_value *source = fidc_rw_value(rw, 3);
    if (fidc_rw_double(rw, 4, 1) != 1) source = RW(rw, mul_Scalar, fidc_v(source), fidc_rw_arg(rw, 4));
    return put_in_dim(rw, source, true);
}

/* Rows of the dimension that the index names, filled with a number. */
static fid_status index_fill(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *number = fidc_rw_value(rw, 3);
    fid_dtype dtype = (fid_dtype)x->dtype;
    number = number ? fidc_rw_cast(rw, number, dtype) : RW(rw, scalar_tensor, fidc_rw_arg(rw, 3), fidc_t(dtype));
    fidc_value *index = fidc_rw_value(rw, 2);
    int64_t dim = fidc_rw_dim(rw, 1, 0, x->rank);
    if (!number) return fidc_rw_become(rw, NULL);
    if (!x->rank) return fidc_rw_become(rw, fidc_rw_view(rw, number, NULL, 0));
    if (!index->rank) index = fidc_rw_unsqueeze(rw, index, 0);
    return fidc_rw_become(rw, RW(rw, index_put, fidc_v(x), index_in_dim(rw, dim, index), fidc_v(number), fidc_b(false)));
}

/* Upstream pads no complex numbers: each part for itself. */
static fid_status pad_parts(fidc_rewriter *rw, fidc_value *x) {
    fidc_value *parts[] = {RW(rw, real, fidc_v(x)), RW(rw, imag, fidc_v(x))};
    for (size_t i = 0; i < 2 && parts[i]; i++) parts[i] = RW(rw, constant_pad_nd, fidc_v(parts[i]), fidc_rw_arg(rw, 1), i ? fidc_i(0) : fidc_rw_arg(rw, 2));
    return fidc_rw_become(rw, fidc_rw_op2(rw, FID_OPID_complex, parts[0], parts[1]));
}

/* A negative pad cuts; what is left pads. */
static fid_status constant_pad(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    int64_t pads[FID_MAX_RANK];
    size_t count;
    bool all_zero = true, cuts = false;
    if (!fidc_rw_ints(rw, 1, pads, &count)) return fidc_rw_keep(rw);
    if (fid_dtype_is_complex((fid_dtype)x->dtype)) return pad_parts(rw, x);
    for (size_t i = 0; i < count; i++) {
        all_zero = all_zero && pads[i] == 0;
        cuts = cuts || pads[i] < 0;
    }
    if (all_zero) return fidc_rw_become(rw, x);
    if (!cuts) return fidc_rw_keep(rw);
    for (size_t i = 0; i < count; i += 2) {
        int64_t dim = x->rank - 1 - (int64_t)(i / 2);
        if (dim < 0) return fidc_rw_keep(rw);
        fidc_arg start = fidc_i(pads[i] < 0 ? -pads[i] : 0), end = pads[i + 1] < 0 ? fidc_i(pads[i + 1]) : fidc_none();
        if (pads[i] < 0 || pads[i + 1] < 0) x = fidc_rw_slice(rw, x, dim, start, end);
        if (!x) return fidc_rw_become(rw, NULL);
        pads[i] = pads[i] < 0 ? 0 : pads[i];
        pads[i + 1] = pads[i + 1] < 0 ? 0 : pads[i + 1];
    }
    return fidc_rw_become(rw, RW(rw, constant_pad_nd, fidc_v(x), fidc_ints(rw->program, pads, count), fidc_rw_arg(rw, 2)));
}

/* zeros with ones where the diagonal is: a constant mask picks between the two. */
static fid_status diagonal_scatter(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *source = fidc_rw_value(rw, 1);
    int64_t offset = fidc_rw_int(rw, 2, 0), a = fidc_rw_dim(rw, 3, 0, x->rank), b = fidc_rw_dim(rw, 4, 1, x->rank);
    int64_t rows = fidc_size(x, (size_t)a), columns = fidc_size(x, (size_t)b), length = fidc_size(source, source->rank - 1u);
    if (rows < 0 || columns < 0 || length < 0 || a == b) return fidc_rw_keep(rw);
    fidc_value *i = RW(rw, arange_start_step, fidc_i(0), fidc_i(length), fidc_i(1), fidc_t(FID_INT64)), *j = i;
    if (i && offset < 0) i = RW(rw, add_Scalar, fidc_v(i), fidc_i(-offset));
    if (j && offset > 0) j = RW(rw, add_Scalar, fidc_v(j), fidc_i(offset));
    int64_t dims[FID_MAX_RANK], back[FID_MAX_RANK], source_dims[FID_MAX_RANK];
    size_t count = 2;
    dims[0] = a;
    dims[1] = b;
    for (int64_t d = 0; d < x->rank; d++) {
        if (d != a && d != b) dims[count++] = d;
    }
    for (size_t d = 0; d < count; d++) back[dims[d]] = (int64_t)d;
    source_dims[0] = source->rank - 1;
    for (size_t d = 1; d < source->rank; d++) source_dims[d] = (int64_t)d - 1;
    fidc_value *moved = fidc_rw_permute(rw, x, dims), *values = fidc_rw_permute(rw, source, source_dims);
    if (!moved || !values || !i || !j) return fidc_rw_become(rw, NULL);
    fidc_arg indices = fidc_values(rw->program, (fidc_value *[]){i, j}, 2);
    return fidc_rw_become(rw, fidc_rw_permute(rw, RW(rw, index_put, fidc_v(moved), indices, fidc_v(values), fidc_b(false)), back));
}

static const fidc_rule_row rows[] = {
    {FID_OPID_index_copy, index_copy},
    {FID_OPID_index_add, index_add},
    {FID_OPID_index_fill_int_Scalar, index_fill},
    {FID_OPID_index_fill_int_Tensor, index_fill},
    {FID_OPID_constant_pad_nd, constant_pad},
    {FID_OPID_diagonal_scatter, diagonal_scatter},
};

void fidc_rules_add_portable_move(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
