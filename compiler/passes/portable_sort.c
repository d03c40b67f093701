/* Sorting and what rests on it, by upstream's topk.
 *
 * topk promises no order of equal elements, and PyTorch's sort keeps them in theirs. So the places that a first topk gives are sorted
 * within each run of equals by a second one, over keys that differ: number of the run * length + place. */
#include "compiler/passes/rewrite.h"

typedef struct ordered { fidc_value *values, *indices; } ordered;

static fidc_value *take(fidc_rewriter *rw, fidc_value *x, int64_t dim, fidc_value *index) {
    return x && index ? RW(rw, gather, fidc_v(x), fidc_i(dim), fidc_v(index)) : NULL;
}

static ordered topk(fidc_rewriter *rw, fidc_value *x, int64_t count, int64_t dim, bool largest) {
    fidc_arg args[] = {fidc_v(x), fidc_i(count), fidc_i(dim), fidc_b(largest), fidc_b(true)};
    fidc_node *node = x ? fidc_rw_emit_node(rw, FID_OPID_topk, args, 5, 0) : NULL;
    return node ? (ordered){node->outputs[0], node->outputs[1]} : (ordered){NULL, NULL};
}

/* ---- Runs of equals in a sorted tensor ---- */

/* Whether each element along dim but the first differs from the one before; NaN is like NaN. */
static fidc_value *steps(fidc_rewriter *rw, fidc_value *sorted, int64_t dim) {
    fidc_value *later = fidc_rw_slice(rw, sorted, dim, fidc_i(1), fidc_none()), *earlier = fidc_rw_slice(rw, sorted, dim, fidc_i(0), fidc_i(-1));
    fidc_value *differ = fidc_rw_op2(rw, FID_OPID_ne_Tensor, later, earlier);
    if (!differ || !fid_dtype_is_float((fid_dtype)sorted->dtype)) return differ;
    fidc_value *both = fidc_rw_op2(rw, FID_OPID_logical_and, fidc_rw_op1(rw, FID_OPID_isnan, later), fidc_rw_op1(rw, FID_OPID_isnan, earlier));
    return fidc_rw_op2(rw, FID_OPID_logical_and, differ, fidc_rw_op1(rw, FID_OPID_logical_not, both));
}

/* One element of `number` before the first along dim. */
static fidc_value *with_first(fidc_rewriter *rw, fidc_value *x, int64_t dim, fidc_arg number) {
    if (!x) return NULL;
    int64_t pads[2 * FID_MAX_RANK] = {0};
    size_t from_end = x->rank - 1u - (size_t)dim;
    pads[2 * from_end] = 1;
    return RW(rw, constant_pad_nd, fidc_v(x), fidc_ints(rw->program, pads, 2 * (from_end + 1)), number);
}

/* 0, 0, 1, 2, 2, ...: the number of the run that each element belongs to. */
static fidc_value *run_numbers(fidc_rewriter *rw, fidc_value *sorted, int64_t dim) {
    fidc_value *changes = with_first(rw, fidc_rw_cast(rw, steps(rw, sorted, dim), FID_INT64), dim, fidc_i(0));
    return changes ? RW(rw, cumsum, fidc_v(changes), fidc_i(dim), fidc_t(FID_INT64)) : NULL;
}

/* ---- Sorting ---- */

/* All of x along dim, whose size is `count`; equals keep their order if indices are wanted. */
static ordered sorted(fidc_rewriter *rw, fidc_value *x, int64_t count, int64_t dim, bool descending, bool with_indices) {
    if (!x || !x->rank || count < 2) {
        return (ordered){x, x && with_indices ? fidc_rw_full(rw, x->sizes, x->rank, FID_INT64, fidc_i(0)) : NULL};
    }
    bool is_bool = x->dtype == FID_BOOL; /* topk takes none */
    ordered all = topk(rw, is_bool ? fidc_rw_cast(rw, x, FID_UINT8) : x, count, dim, descending);
    if (with_indices && all.values) {
        fidc_value *run = run_numbers(rw, all.values, dim);
        fidc_value *key = fidc_rw_op2(rw, FID_OPID_add_Tensor, fidc_rw_opn(rw, FID_OPID_mul_Scalar, run, fidc_i(count)), all.indices);
        all.indices = fidc_rw_opn(rw, FID_OPID_remainder_Scalar, topk(rw, key, count, dim, false).values, fidc_i(count));
    }
    if (is_bool) all.values = fidc_rw_cast(rw, all.values, FID_BOOL);
    return all;
}

static bool wants_indices(const fidc_rewriter *rw) { return fidc_rw_is_used(rw, 1); }

static fid_status become_both(fidc_rewriter *rw, ordered found) {
    if (!found.values || (!found.indices && wants_indices(rw))) return fidc_rw_become(rw, NULL);
    return fidc_rw_become_all(rw, (fidc_value *[]){found.values, found.indices}, 2);
}

static int64_t length_along(const fidc_value *x, int64_t dim) { return x->rank ? fidc_size(x, (size_t)dim) : 1; }

static fid_status sort_by(fidc_rewriter *rw, uint32_t dim_arg) {
    fidc_value *x = fidc_rw_value(rw, 0);
    int64_t dim = fidc_rw_dim(rw, dim_arg, -1, x->rank), count = length_along(x, dim);
    if (count < 0) return fidc_rw_keep(rw);
    return become_both(rw, sorted(rw, x, count, dim, fidc_rw_bool(rw, dim_arg + 1, false), wants_indices(rw)));
}

static fid_status sort(fidc_rewriter *rw) { return sort_by(rw, 1); }
static fid_status sort_stable(fidc_rewriter *rw) { return sort_by(rw, 2); }

/* ---- One of the sorted ---- */

/* Element number `at` along dim of both; the dimension stays if asked. */
static ordered picked(fidc_rewriter *rw, ordered all, int64_t dim, int64_t at, bool keepdim) {
    fidc_value **parts[] = {&all.values, &all.indices};
    for (size_t i = 0; i < 2; i++) {
        if (!*parts[i] || !(*parts[i])->rank) continue;
        if (keepdim) *parts[i] = fidc_rw_slice(rw, *parts[i], dim, fidc_i(at), fidc_i(at + 1));
        else *parts[i] = RW(rw, select_copy_int, fidc_v(*parts[i]), fidc_i(dim), fidc_i(at));
    }
    return all;
}

static fid_status kthvalue(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    int64_t k = fidc_rw_int(rw, 1, -1), dim = fidc_rw_dim(rw, 2, -1, x->rank), count = length_along(x, dim);
    if (k < 1 || count < k) return fidc_rw_keep(rw);
    bool coarse = !fid_dtype_is_float((fid_dtype)x->dtype) || fidc_compute_dtype((fid_dtype)x->dtype) != x->dtype; /* equals are common */
    if (coarse && count > 1 && wants_indices(rw)) {
        return fidc_rw_refuse(rw, "which of equal elements counts as the k-th follows PyTorch's own quickselect; take the values only, or sort");
    }
    return become_both(rw, picked(rw, sorted(rw, x, count, dim, false, wants_indices(rw)), dim, k - 1, fidc_rw_bool(rw, 3, false)));
}

/* Where the lower middle lies among the numbers, (.., 1, ..): `skip_nan` looks past NaN, otherwise the first NaN is the median. */
static fidc_value *middle(fidc_rewriter *rw, fidc_value *x, int64_t dim, int64_t count, bool skip_nan) {
    fidc_value *numbers = fidc_rw_cast(rw, fidc_rw_op1(rw, FID_OPID_logical_not, fidc_rw_op1(rw, FID_OPID_isnan, x)), FID_INT64);
    numbers = fidc_rw_sum_dim(rw, numbers, dim, true);
    if (skip_nan) {
        fidc_value *last = fidc_rw_opn(rw, FID_OPID_sub_Scalar, numbers, fidc_i(1));
        fidc_value *from_zero = last ? RW(rw, clamp, fidc_v(last), fidc_i(0), fidc_none()) : NULL;
        return from_zero ? RW(rw, bitwise_right_shift_Tensor_Scalar, fidc_v(from_zero), fidc_i(1)) : NULL;
    }
    fidc_value *some = fidc_rw_opn(rw, FID_OPID_lt_Scalar, numbers, fidc_i(count));
    return fidc_rw_where(rw, some, numbers, fidc_value_scalar(rw->graph, FID_INT64, (double)((count - 1) / 2)));
}

static ordered median_along(fidc_rewriter *rw, fidc_value *x, int64_t dim, bool skip_nan, bool keepdim, bool with_indices) {
    int64_t count = length_along(x, dim);
    ordered all = sorted(rw, x, count, dim, false, with_indices);
    if (!fid_dtype_is_float((fid_dtype)x->dtype) || count < 2) return picked(rw, all, dim, (count - 1) / 2, keepdim);
    fidc_value *at = middle(rw, x, dim, count, skip_nan);
    all.values = take(rw, all.values, dim, at);
    if (with_indices) all.indices = take(rw, all.indices, dim, at);
    return picked(rw, all, dim, 0, keepdim);
}

static fid_status median_by(fidc_rewriter *rw, bool skip_nan) {
    fidc_value *x = fidc_rw_value(rw, 0);
    int64_t dim = fidc_rw_dim(rw, 1, -1, x->rank);
    if (length_along(x, dim) < 1) return fidc_rw_keep(rw);
    return become_both(rw, median_along(rw, x, dim, skip_nan, fidc_rw_bool(rw, 2, false), wants_indices(rw)));
}

static fid_status median_dim(fidc_rewriter *rw) { return median_by(rw, false); }
static fid_status nanmedian_dim(fidc_rewriter *rw) { return median_by(rw, true); }

static fidc_value *flat(fidc_rewriter *rw, fidc_value *x) {
    return fidc_rw_view(rw, x, (const fidc_expr *[]){fidc_expr_product(rw->program, x->sizes, x->rank)}, 1);
}

static fid_status median_of_all(fidc_rewriter *rw, bool skip_nan) {
    fidc_value *x = flat(rw, fidc_rw_value(rw, 0));
    if (!x || length_along(x, 0) < 1) return fidc_rw_keep(rw);
    return fidc_rw_become(rw, median_along(rw, x, 0, skip_nan, false, false).values);
}

static fid_status median(fidc_rewriter *rw) { return median_of_all(rw, false); }
static fid_status nanmedian(fidc_rewriter *rw) { return median_of_all(rw, true); }

/* ---- The most frequent ---- */

/* How many of its run stand up to each element: its place less that of the run's first. */
static fidc_value *places_in_runs(fidc_rewriter *rw, fidc_value *values, int64_t dim, int64_t count) {
    fidc_value *place = RW(rw, arange_start_step, fidc_i(0), fidc_i(count), fidc_i(1), fidc_t(FID_INT64));
    const fidc_expr *sizes[FID_MAX_RANK];
    for (int64_t d = 0; d < values->rank; d++) sizes[d] = fidc_expr_const(rw->program, d == dim ? count : 1);
    place = fidc_rw_view(rw, place, sizes, values->rank);
    fidc_value *run = run_numbers(rw, values, dim), *column = run ? fidc_rw_unsqueeze(rw, run, dim + 1) : NULL;
    fidc_value *row = run ? fidc_rw_unsqueeze(rw, run, dim) : NULL, *before = fidc_rw_op2(rw, FID_OPID_lt_Tensor, row, column);
    fidc_value *first = before ? fidc_rw_sum_dim(rw, fidc_rw_cast(rw, before, FID_INT64), dim + 1, false) : NULL;
    return fidc_rw_op2(rw, FID_OPID_sub_Tensor, place, first);
}

/* PyTorch sorts up to 16 elements by insertion, so that equals keep their order; in longer rows the place that it gives is that of its
 * own quicksort, which no kernel of upstream's follows. */
static fid_status mode(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    int64_t dim = fidc_rw_dim(rw, 1, -1, x->rank), count = length_along(x, dim);
    if (count < 1 || count > 4096 || x->rank == FID_MAX_RANK) return fidc_rw_keep(rw); /* the square of it is compared */
    if (count > 16 && wants_indices(rw)) return fidc_rw_refuse(rw, "the place of the mode among more than 16 elements is PyTorch's own choice");
    ordered all = sorted(rw, x, count, dim, false, wants_indices(rw));
    bool keepdim = fidc_rw_bool(rw, 2, false);
    if (count < 2) return become_both(rw, picked(rw, all, dim, 0, keepdim));
    fidc_value *place = all.values ? places_in_runs(rw, all.values, dim, count) : NULL;
    fidc_value *best = place ? RW(rw, argmax, fidc_v(place), fidc_i(dim), fidc_b(true)) : NULL;
    all.values = take(rw, all.values, dim, best);
    if (wants_indices(rw)) all.indices = take(rw, all.indices, dim, best);
    return become_both(rw, picked(rw, all, dim, 0, keepdim));
}

/* ---- Places in a sorted sequence ---- */

/* Binary search, all values at once: [start, end) halves as often as the length has bits. The order of comparisons is PyTorch's, which
 * decides where NaN leads. */
static fidc_value *search(fidc_rewriter *rw, fidc_value *sequence, fidc_value *values, bool right) {
    int64_t count = fidc_size(sequence, sequence->rank - 1u);
    fidc_value *start = fidc_rw_full(rw, values->sizes, values->rank, FID_INT64, fidc_i(0));
    fidc_value *end = count ? fidc_rw_full(rw, values->sizes, values->rank, FID_INT64, fidc_i(count)) : NULL;
    for (int64_t rest = count; rest > 0; rest /= 2) {
        fidc_value *middle = fidc_rw_op2(rw, FID_OPID_add_Tensor, start, end);
        middle = middle ? RW(rw, bitwise_right_shift_Tensor_Scalar, fidc_v(middle), fidc_i(1)) : NULL;
        fidc_value *inside = middle ? RW(rw, clamp, fidc_v(middle), fidc_none(), fidc_i(count - 1)) : NULL;
        if (!inside) return NULL;
        fidc_value *found = sequence->rank == 1 ? RW(rw, index_Tensor, fidc_v(sequence), fidc_values(rw->program, &inside, 1))
                                                : take(rw, sequence, sequence->rank - 1, inside);
        fidc_value *stays = fidc_rw_op2(rw, right ? FID_OPID_gt_Tensor : FID_OPID_ge_Tensor, found, values);
        fidc_value *goes = fidc_rw_op2(rw, FID_OPID_logical_and, fidc_rw_op1(rw, FID_OPID_logical_not, stays), fidc_rw_op2(rw, FID_OPID_lt_Tensor, start, end));
        start = fidc_rw_where(rw, goes, fidc_rw_opn(rw, FID_OPID_add_Scalar, middle, fidc_i(1)), start);
        end = fidc_rw_where(rw, goes, end, middle);
    }
    return fidc_rw_cast(rw, start, (fid_dtype)fidc_rw_out(rw)->dtype);
}

static fid_status bucketize(fidc_rewriter *rw) {
    fidc_value *values = fidc_rw_value(rw, 0), *boundaries = fidc_rw_value(rw, 1);
    if (boundaries->rank != 1 || fidc_size(boundaries, 0) < 0) return fidc_rw_keep(rw);
    return fidc_rw_become(rw, search(rw, boundaries, values, fidc_rw_bool(rw, 3, false)));
}

static fid_status searchsorted(fidc_rewriter *rw) {
    fidc_value *sequence = fidc_rw_value(rw, 0), *values = fidc_rw_value(rw, 1), *sorter = fidc_rw_value(rw, 5);
    if (!sequence->rank || fidc_size(sequence, sequence->rank - 1u) < 0 || (sequence->rank > 1 && sequence->rank != values->rank)) return fidc_rw_keep(rw);
    if (sorter) sequence = take(rw, sequence, sequence->rank - 1, sorter);
    bool right = fidc_rw_bool(rw, 3, false) || !strcmp(fidc_rw_string(rw, 4, ""), "right");
    return fidc_rw_become(rw, sequence ? search(rw, sequence, values, right) : NULL);
}

static const fidc_rule_row rows[] = {
    {FID_OPID_sort, sort},
    {FID_OPID_sort_stable, sort_stable},
    {FID_OPID_kthvalue, kthvalue},
    {FID_OPID_median, median},
    {FID_OPID_nanmedian, nanmedian},
    {FID_OPID_median_dim, median_dim},
    {FID_OPID_nanmedian_dim, nanmedian_dim},
    {FID_OPID_mode, mode},
    {FID_OPID_bucketize_Tensor, bucketize},
    {FID_OPID_searchsorted_Tensor, searchsorted},
};

void fidc_rules_add_portable_sort(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
