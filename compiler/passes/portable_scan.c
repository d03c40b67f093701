/* Running products and extremes, and uniques, of upstream's target. A scan takes as many steps as the length has bits: each joins every
 * element with the one that lies 1, 2, 4, ... before it. */
#include "compiler/passes/rewrite.h"

/* ---- Shifting ---- */

/* x moved by `by` along dim, `number` where nothing comes from. */
static fidc_value *shifted(fidc_rewriter *rw, fidc_value *x, int64_t dim, int64_t by, fidc_arg number) {
    if (!x) return NULL;
    int64_t pads[2 * FID_MAX_RANK] = {0};
    size_t from_end = x->rank - 1u - (size_t)dim;
    pads[2 * from_end] = by;
    fidc_value *kept = fidc_rw_slice(rw, x, dim, fidc_i(0), fidc_i(-by));
    return kept ? RW(rw, constant_pad_nd, fidc_v(kept), fidc_ints(rw->program, pads, 2 * (from_end + 1)), number) : NULL;
}

static int64_t length_along(const fidc_value *x, int64_t dim) { return x->rank ? fidc_size(x, (size_t)dim) : 1; }

/* ---- Products ---- */

static fidc_value *running_product(fidc_rewriter *rw, fidc_value *x, int64_t dim) {
    int64_t length = x ? length_along(x, dim) : 0;
    for (int64_t step = 1; step < length && x; step *= 2) x = fidc_rw_op2(rw, FID_OPID_mul_Tensor, x, shifted(rw, x, dim, step, fidc_i(1)));
    return x;
}

static fid_status cumprod(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_cast(rw, fidc_rw_value(rw, 0), (fid_dtype)fidc_rw_out(rw)->dtype);
    int64_t dim = fidc_rw_dim(rw, 1, 0, fidc_rw_out(rw)->rank);
    if (length_along(fidc_rw_value(rw, 0), dim) < 0) return fidc_rw_keep(rw);
    return fidc_rw_become(rw, running_product(rw, x, dim));
}

/* Powers 0, 1, ... of each element are running products of 1, x, x, ... */
static fid_status linalg_vander(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    int64_t powers = fidc_size(out, out->rank - 1u);
    if (powers < 0 || out->rank < x->rank) return fidc_rw_keep(rw);
    if (!x->rank && out->rank == 2) x = fidc_rw_unsqueeze(rw, x, 0); /* a number is a row of one */
    if (!x || x->rank + 1 != out->rank) return fidc_rw_keep(rw);
    const fidc_expr *sizes[FID_MAX_RANK];
    memcpy(sizes, out->sizes, out->rank * sizeof *sizes);
    sizes[x->rank] = fidc_expr_const(rw->program, 1);
    fidc_value *ones = fidc_rw_full(rw, sizes, out->rank, (fid_dtype)out->dtype, fidc_i(1));
    if (powers < 2) return fidc_rw_become(rw, powers ? ones : fidc_rw_full(rw, out->sizes, out->rank, (fid_dtype)out->dtype, fidc_i(0)));
    sizes[x->rank] = fidc_expr_const(rw->program, powers - 1);
    fidc_value *column = fidc_rw_unsqueeze(rw, fidc_rw_cast(rw, x, (fid_dtype)out->dtype), x->rank);
    fidc_value *rest = column ? fidc_rw_expand(rw, column, sizes, out->rank) : NULL;
    if (!ones || !rest) return fidc_rw_become(rw, NULL);
    return fidc_rw_become(rw, running_product(rw, fidc_rw_cat(rw, (fidc_value *[]){ones, rest}, 2, x->rank), x->rank));
}

static fid_status logcumsumexp(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    int64_t dim = fidc_rw_dim(rw, 1, 0, x->rank), length = length_along(x, dim);
    if (length < 0 || fid_dtype_is_complex((fid_dtype)x->dtype)) return fidc_rw_keep(rw);
    for (int64_t step = 1; step < length && x; step *= 2) x = fidc_rw_op2(rw, FID_OPID_logaddexp, x, shifted(rw, x, dim, step, fidc_d(-INFINITY)));
    return fidc_rw_become(rw, x);
}

/* ---- Extremes, with their places ---- */

static fidc_arg least(fid_dtype dtype, bool lowest) {
    if (fid_dtype_is_float(dtype)) return fidc_d(lowest ? -INFINITY : INFINITY);
    if (dtype == FID_UINT8) return fidc_i(lowest ? 0 : 255);
    size_t bits = 8 * fid_dtype_size(dtype);
    int64_t high = bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - 1)) - 1;
    return fidc_i(lowest ? -high - 1 : high);
}

/* 0, 1, 2, ... along dim, in x's shape. */
static fidc_value *places(fidc_rewriter *rw, const fidc_value *x, int64_t dim, int64_t length) {
    const fidc_expr *sizes[FID_MAX_RANK];
    for (int64_t d = 0; d < x->rank; d++) sizes[d] = fidc_expr_const(rw->program, d == dim ? length : 1);
    fidc_value *row = RW(rw, arange_start_step, fidc_i(0), fidc_i(length), fidc_i(1), fidc_t(FID_INT64));
    row = fidc_rw_view(rw, row, sizes, x->rank);
    return row ? fidc_rw_expand(rw, row, x->sizes, x->rank) : NULL;
}

/* The later of equals counts, and NaN counts from where it first is. */
static fid_status running_extreme(fidc_rewriter *rw, bool largest) {
    fidc_value *x = fidc_rw_value(rw, 0);
    fid_dtype dtype = (fid_dtype)x->dtype, as = dtype == FID_BOOL ? FID_UINT8 : dtype;
    int64_t dim = fidc_rw_dim(rw, 1, 0, x->rank), length = length_along(x, dim);
    if (length < 0) return fidc_rw_keep(rw);
    if (length < 2) return fidc_rw_become_all(rw, (fidc_value *[]){x, fidc_rw_full(rw, x->sizes, x->rank, FID_INT64, fidc_i(0))}, 2);
    fidc_value *place = places(rw, x, dim, length);
    x = fidc_rw_cast(rw, x, as);
    for (int64_t step = 1; step < length && x && place; step *= 2) {
        fidc_value *before = shifted(rw, x, dim, step, least(as, largest)), *place_before = shifted(rw, place, dim, step, fidc_i(0));
        fidc_value *stays = fidc_rw_op2(rw, largest ? FID_OPID_ge_Tensor : FID_OPID_le_Tensor, x, before);
        if (fid_dtype_is_float(as)) stays = fidc_rw_op2(rw, FID_OPID_logical_or, stays, fidc_rw_op1(rw, FID_OPID_isnan, x));
        x = fidc_rw_where(rw, stays, x, before);
        place = fidc_rw_where(rw, stays, place, place_before);
    }
    fidc_value *values = fidc_rw_cast(rw, x, dtype);
    return values && place ? fidc_rw_become_all(rw, (fidc_value *[]){values, place}, 2) : fidc_rw_become(rw, NULL);
}

static fid_status cummax(fidc_rewriter *rw) { return running_extreme(rw, true); }
static fid_status cummin(fidc_rewriter *rw) { return running_extreme(rw, false); }

/* ---- Uniques: where an element is another than the one before ---- */

/* (length) bools for the slices of x along dim; the first is always new. */
static fidc_value *news(fidc_rewriter *rw, fidc_value *x, int64_t dim) {
    fidc_value *differ = fidc_rw_op2(rw, FID_OPID_ne_Tensor, fidc_rw_slice(rw, x, dim, fidc_i(1), fidc_none()), fidc_rw_slice(rw, x, dim, fidc_i(0), fidc_i(-1)));
    int64_t others[FID_MAX_RANK];
    size_t count = 0;
    for (int64_t d = 0; d < x->rank; d++) {
        if (d != dim) others[count++] = d;
    }
    if (count && differ) differ = RW(rw, any_dims, fidc_v(differ), fidc_ints(rw->program, others, count), fidc_b(false));
    return differ ? RW(rw, constant_pad_nd, fidc_v(differ), fidc_ints(rw->program, (int64_t[]){1, 0}, 2), fidc_b(true)) : NULL;
}

typedef struct unique { fidc_value *first, *number, *count; } unique; /* places of the new ones, which run each belongs to, lengths of runs */

static unique runs_of(fidc_rewriter *rw, fidc_value *is_new, int64_t length) {
    unique u = {0};
    fidc_value *numbers = fidc_rw_cast(rw, is_new, FID_INT64);
    if (!numbers) return u;
    numbers = RW(rw, cumsum, fidc_v(numbers), fidc_i(0), fidc_t(FID_INT64));
    u.number = fidc_rw_opn(rw, FID_OPID_sub_Scalar, numbers, fidc_i(1));
    u.first = fidc_rw_squeeze(rw, fidc_rw_op1(rw, FID_OPID_nonzero, is_new), 1);
    fidc_value *end = fidc_rw_full(rw, (const fidc_expr *[]){fidc_expr_const(rw->program, 1)}, 1, FID_INT64, fidc_i(length));
    fidc_value *next = fidc_rw_slice(rw, u.first, 0, fidc_i(1), fidc_none());
    if (!end || !next) return u;
    u.count = fidc_rw_op2(rw, FID_OPID_sub_Tensor, fidc_rw_cat(rw, (fidc_value *[]){next, end}, 2, 0), u.first);
    return u;
}

static fidc_value *nothing(fidc_rewriter *rw) {
    return fidc_rw_full(rw, (const fidc_expr *[]){fidc_expr_const(rw->program, 0)}, 1, FID_INT64, fidc_i(0));
}

static fid_status become_unique(fidc_rewriter *rw, fidc_value *values, fidc_value *number, fidc_value *count, uint32_t inverse_arg) {
    fidc_value *results[] = {values, number, count};
    for (uint32_t i = 0; i < 3; i++) {
        if (i && !fidc_rw_bool(rw, inverse_arg + i - 1, false)) results[i] = fidc_rw_is_used(rw, i) ? nothing(rw) : NULL;
        if (!results[i] && (!i || fidc_rw_is_used(rw, i))) return fidc_rw_become(rw, NULL);
    }
    return fidc_rw_become_all(rw, results, 3);
}

static fidc_value *flat(fidc_rewriter *rw, fidc_value *x) {
    return x->rank == 1 ? x : fidc_rw_view(rw, x, (const fidc_expr *[]){fidc_expr_product(rw->program, x->sizes, x->rank)}, 1);
}

static fid_status unique_consecutive(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    bool all = fidc_rw_is_none(rw, 3);
    int64_t dim = all ? 0 : fidc_rw_dim(rw, 3, 0, x->rank);
    const fidc_value *shape = x;
    if (all) x = flat(rw, x);
    if (!x || !x->rank || length_along(x, dim) < 1) return fidc_rw_keep(rw);
    fidc_value *is_new = news(rw, x, dim);
    unique u = runs_of(rw, is_new, length_along(x, dim));
    if (!u.first) return fidc_rw_become(rw, NULL);
    fidc_value *values = RW(rw, index_select, fidc_v(x), fidc_i(dim), fidc_v(u.first));
    fidc_value *number = all ? fidc_rw_view(rw, u.number, shape->sizes, shape->rank) : u.number;
    return become_unique(rw, values, number, u.count, 1);
}

/* Sorted, then as neighbours; what was sorted says where each number belongs. */
static fid_status unique_sorted(fidc_rewriter *rw) {
    fidc_value *shape = fidc_rw_value(rw, 0), *x = flat(rw, shape);
    int64_t length = x ? length_along(x, 0) : -1;
    if (length < 1) return fidc_rw_keep(rw);
    bool is_bool = x->dtype == FID_BOOL;
    x = is_bool ? fidc_rw_cast(rw, x, FID_UINT8) : x;
    fidc_node *sort = x ? fidc_rw_emit_node(rw, FID_OPID_sort, (fidc_arg[]){fidc_v(x), fidc_i(0), fidc_b(false)}, 3, 0) : NULL;
    if (!sort) return fidc_rw_become(rw, NULL);
    unique u = runs_of(rw, news(rw, sort->outputs[0], 0), length);
    fidc_value *zeros = fidc_rw_full(rw, x->sizes, 1, FID_INT64, fidc_i(0));
    if (!u.first || !zeros) return fidc_rw_become(rw, NULL);
    fidc_value *values = RW(rw, index_select, fidc_v(sort->outputs[0]), fidc_i(0), fidc_v(u.first));
    if (is_bool) values = fidc_rw_cast(rw, values, FID_BOOL);
    fidc_value *number = NULL;
    if (fidc_rw_bool(rw, 2, false)) number = RW(rw, scatter_src, fidc_v(zeros), fidc_i(0), fidc_v(sort->outputs[1]), fidc_v(u.number));
    return become_unique(rw, values, number ? fidc_rw_view(rw, number, shape->sizes, shape->rank) : NULL, u.count, 2);
}

static const fidc_rule_row rows[] = {
    {FID_OPID_cumprod, cumprod},
    {FID_OPID_linalg_vander, linalg_vander},
    {FID_OPID_logcumsumexp, logcumsumexp},
    {FID_OPID_cummax, cummax},
    {FID_OPID_cummin, cummin},
    {FID_OPID_unique_consecutive, unique_consecutive},
    {FID_OPID__unique2, unique_sorted},
};

void fidc_rules_add_portable_scan(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
