/* Reducing and writing by index, of upstream's target: scatter and index reductions, flat places, strided places, unpooling. */
#include "compiler/passes/rewrite.h"

/* ---- Reducing by index ---- */

static fidc_value *scatter_add(fidc_rewriter *rw, fidc_value *into, int64_t dim, fidc_value *index, fidc_value *source) {
    return into && source ? RW(rw, scatter_add, fidc_v(into), fidc_i(dim), fidc_v(index), fidc_v(source)) : NULL;
}

typedef struct scattering { fidc_value *x, *index, *source; int64_t dim; bool own; } scattering; /* own: x itself takes part */

/* What of x takes part: all, or zeros where something is scattered to. */
static fidc_value *base_of(fidc_rewriter *rw, const scattering *s, fidc_value *x) {
    return s->own || !x ? x : RW(rw, scatter_value, fidc_v(x), fidc_i(s->dim), fidc_v(s->index), fidc_i(0));
}

static fidc_value *sum_by_index(fidc_rewriter *rw, const scattering *s) { return scatter_add(rw, base_of(rw, s, s->x), s->dim, s->index, s->source); }

static fidc_value *mean_by_index(fidc_rewriter *rw, const scattering *s) {
    fid_dtype dtype = (fid_dtype)s->x->dtype;
    fidc_value *ones = fidc_rw_full(rw, s->x->sizes, s->x->rank, dtype, fidc_i(1));
    fidc_value *each = fidc_rw_full(rw, s->source->sizes, s->source->rank, dtype, fidc_i(1));
    fidc_value *count = ones ? scatter_add(rw, base_of(rw, s, ones), s->dim, s->index, each) : NULL, *sum = sum_by_index(rw, s);
    if (fid_dtype_is_float(dtype)) return fidc_rw_op2(rw, FID_OPID_div_Tensor, sum, count);
    fidc_arg floor = {.kind = FIDC_ARG_STRING, .as.text = "floor"};
    return sum && count ? RW(rw, div_Tensor_mode, fidc_v(sum), fidc_v(count), floor) : NULL;
}

/* ---- Extremes and products: for each place along dim, the sources that go there, the others at the neutral number ---- */

typedef struct reducing { fid_op_id reduce, join; bool largest; } reducing;

static fidc_arg neutral_of(fid_dtype dtype, const reducing *r) {
    if (r->reduce == FID_OPID_prod_dim_int) return fidc_i(1);
    if (fid_dtype_is_float(dtype)) return fidc_d(r->largest ? -INFINITY : INFINITY);
    if (dtype == FID_UINT8) return fidc_i(r->largest ? 0 : 255);
    size_t bits = 8 * fid_dtype_size(dtype);
    int64_t high = bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - 1)) - 1;
    return fidc_i(r->largest ? -high - 1 : high);
}

static fidc_value *reduce_chosen(fidc_rewriter *rw, fidc_value *chosen, const reducing *r, int64_t dim) {
    if (!chosen) return NULL;
    if (r->reduce == FID_OPID_prod_dim_int) return RW(rw, prod_dim_int, fidc_v(chosen), fidc_i(dim), fidc_b(false), fidc_t((fid_dtype)chosen->dtype));
    return fidc_rw_emit(rw, r->reduce, (fidc_arg[]){fidc_v(chosen), fidc_ints(rw->program, &dim, 1), fidc_b(false)}, 3);
}

/* Index and x of one shape but for dim. */
static fidc_value *reduce_masked(fidc_rewriter *rw, const scattering *s, const reducing *r) {
    int64_t places = fidc_size(s->x, (size_t)s->dim), inner = s->dim + 1;
    fid_dtype dtype = (fid_dtype)s->x->dtype;
    const fidc_expr *sizes[FID_MAX_RANK];
    for (size_t d = 0; d <= s->x->rank; d++) sizes[d] = fidc_expr_const(rw->program, 1);
    sizes[s->dim] = fidc_expr_const(rw->program, places);
    fidc_value *place = RW(rw, arange_start_step, fidc_i(0), fidc_i(places), fidc_i(1), fidc_t(FID_INT64));
    place = fidc_rw_view(rw, place, sizes, s->x->rank + 1u);
    fidc_value *goes = fidc_rw_op2(rw, FID_OPID_eq_Tensor, fidc_rw_unsqueeze(rw, s->index, s->dim), place);
    fidc_value *none = fidc_rw_full(rw, NULL, 0, dtype, neutral_of(dtype, r)), *moved = fidc_rw_unsqueeze(rw, s->source, s->dim);
    fidc_value *result = reduce_chosen(rw, fidc_rw_where(rw, goes, moved, none), r, inner);
    if (s->own || !goes) return fidc_rw_op2(rw, r->join, s->x, result);
    fidc_value *some = RW(rw, any_dims, fidc_v(goes), fidc_ints(rw->program, &inner, 1), fidc_b(false));
    return fidc_rw_where(rw, some, result, s->x);
}

/* Where the index is smaller than x in another dimension, only that part of x changes. */
static fidc_value *reduce_part(fidc_rewriter *rw, scattering *s, const reducing *r, int64_t from) {
    for (int64_t d = from; d < s->x->rank; d++) {
        int64_t size = fidc_size(s->index, (size_t)d);
        if (d == s->dim || size == fidc_size(s->x, (size_t)d)) continue;
        scattering part = *s;
        part.x = fidc_rw_slice(rw, s->x, d, fidc_i(0), fidc_i(size));
        fidc_value *reduced = part.x ? reduce_part(rw, &part, r, d + 1) : NULL;
        return reduced ? RW(rw, slice_scatter, fidc_v(s->x), fidc_v(reduced), fidc_i(d), fidc_i(0), fidc_i(size)) : NULL;
    }
    return reduce_masked(rw, s, r);
}

static fidc_value *reduce_by_index(fidc_rewriter *rw, scattering *s, const char *how) {
    static const reducing largest = {FID_OPID_amax, FID_OPID_maximum, true}, smallest = {FID_OPID_amin, FID_OPID_minimum, false};
    static const reducing product = {FID_OPID_prod_dim_int, FID_OPID_mul_Tensor, false};
    if (!strcmp(how, "amax")) return reduce_part(rw, s, &largest, 0);
    if (!strcmp(how, "amin")) return reduce_part(rw, s, &smallest, 0);
    return reduce_part(rw, s, &product, 0);
}

static bool all_static(const scattering *s) {
    return fidc_sizes_static(s->x) && fidc_sizes_static(s->index) && fidc_sizes_static(s->source) && s->x->rank < FID_MAX_RANK &&
           s->index->rank == s->x->rank && s->source->rank == s->x->rank;
}

/* As much of the source as the index has. */
static void fit_source(fidc_rewriter *rw, scattering *s) {
    for (size_t d = 0; s->source && d < s->source->rank; d++) {
        if (fidc_size(s->source, d) != fidc_size(s->index, d)) s->source = fidc_rw_slice(rw, s->source, (int64_t)d, fidc_i(0), fidc_i(fidc_size(s->index, d)));
    }
}

static fidc_value *with_a_dim(fidc_rewriter *rw, fidc_value *x) { return x && !x->rank ? fidc_rw_unsqueeze(rw, x, 0) : x; }

static fid_status become_scattered(fidc_rewriter *rw, scattering s, const char *how) {
    fidc_value *out = fidc_rw_out(rw);
    s.x = with_a_dim(rw, s.x);
    s.index = with_a_dim(rw, s.index);
    s.source = with_a_dim(rw, s.source);
    if (!s.x || !s.index || !s.source) return fidc_rw_become(rw, NULL);
    bool sum = !strcmp(how, "sum"), mean = !strcmp(how, "mean"), is_bool = s.x->dtype == FID_BOOL, empty = true;
    if (!sum && !mean && strcmp(how, "amax") && strcmp(how, "amin") && strcmp(how, "prod")) return fidc_rw_keep(rw);
    if (is_bool && sum) { /* whether any is true */
        how = "amax";
        sum = false;
    }
    if ((is_bool && mean) || (!(sum || mean) && !all_static(&s))) return fidc_rw_keep(rw);
    for (size_t d = 0; d < s.index->rank; d++) empty = empty && fidc_size(s.index, d) != 0;
    if (!empty) return fidc_rw_become(rw, fidc_rw_value(rw, 0)); /* nothing goes anywhere */
    if (all_static(&s)) fit_source(rw, &s);
    if (is_bool) {
        s.x = fidc_rw_cast(rw, s.x, FID_UINT8);
        s.source = fidc_rw_cast(rw, s.source, FID_UINT8);
    }
    if (!s.x || !s.source) return fidc_rw_become(rw, NULL);
    fidc_value *result = sum ? sum_by_index(rw, &s) : mean ? mean_by_index(rw, &s) : reduce_by_index(rw, &s, how);
    result = fidc_rw_cast(rw, result, (fid_dtype)out->dtype);
    return fidc_rw_become(rw, out->rank ? result : fidc_rw_view(rw, result, NULL, 0));
}

static fid_status scatter_reduce_two(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    scattering s = {x, fidc_rw_value(rw, 2), fidc_rw_value(rw, 3), fidc_rw_dim(rw, 1, 0, x->rank), fidc_rw_bool(rw, 5, true)};
    return become_scattered(rw, s, fidc_rw_string(rw, 4, ""));
}

/* scatter with a way of joining: "add" or "multiply". */
static fid_status scatter_join(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *index = fidc_rw_value(rw, 2), *source = fidc_rw_value(rw, 3);
    if (!source) source = fidc_rw_full(rw, index->sizes, index->rank, (fid_dtype)x->dtype, fidc_rw_arg(rw, 3));
    scattering s = {x, index, source, fidc_rw_dim(rw, 1, 0, x->rank), true};
    return become_scattered(rw, s, !strcmp(fidc_rw_string(rw, 4, ""), "add") ? "sum" : "prod");
}

/* One index for a whole slice. */
static fid_status index_reduce(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *index = fidc_rw_value(rw, 2), *source = with_a_dim(rw, fidc_rw_value(rw, 3));
    int64_t dim = fidc_rw_dim(rw, 1, 0, x->rank);
    if (!source || (x->rank && source->rank != x->rank) || source->rank == FID_MAX_RANK) return fidc_rw_keep(rw);
    const fidc_expr *sizes[FID_MAX_RANK];
    for (int64_t d = 0; d < source->rank; d++) sizes[d] = d == dim ? source->sizes[dim] : fidc_expr_const(rw->program, 1);
    index = fidc_rw_view(rw, index, sizes, source->rank);
    index = index ? fidc_rw_expand(rw, index, source->sizes, source->rank) : NULL;
    if (!index) return fidc_rw_become(rw, NULL);
    scattering s = {x, fidc_rw_cast(rw, index, FID_INT64), source, dim, fidc_rw_bool(rw, 5, true)};
    return become_scattered(rw, s, fidc_rw_string(rw, 4, ""));
}

/* ---- Writing to places in the flat tensor ---- */

static fidc_value *flat(fidc_rewriter *rw, fidc_value *x) {
    return x ? fidc_rw_view(rw, x, (const fidc_expr *[]){fidc_expr_product(rw->program, x->sizes, x->rank)}, 1) : NULL;
}

static fid_status put_flat(fidc_rewriter *rw, fidc_value *index, fidc_value *source, bool accumulate) {
    fidc_value *x = flat(rw, fidc_rw_value(rw, 0)), *values = flat(rw, source);
    index = flat(rw, index);
    if (!x || !index || !values) return fidc_rw_become(rw, NULL);
    fidc_value *written = RW(rw, index_put, fidc_v(x), fidc_values(rw->program, &index, 1), fidc_v(values), fidc_b(accumulate));
    return fidc_rw_become(rw, fidc_rw_view(rw, written, fidc_rw_out(rw)->sizes, fidc_rw_out(rw)->rank));
}

static fid_status put(fidc_rewriter *rw) { return put_flat(rw, fidc_rw_value(rw, 1), fidc_rw_value(rw, 2), fidc_rw_bool(rw, 3, false)); }

/* Places of a strided window, row-major; false: out of range, or one place twice. */
static bool window_places(const int64_t *sizes, const int64_t *strides, size_t rank, int64_t offset, int64_t limit, int64_t *places, int64_t count) {
    int64_t index[FID_MAX_RANK] = {0};
    bool good = true;
    for (int64_t i = 0; i < count && good; i++) {
        int64_t at = offset;
        for (size_t d = 0; d < rank; d++) at += index[d] * strides[d];
        places[i] = at;
        good = at >= 0 && at < limit;
        for (size_t d = rank; d-- > 0 && ++index[d] == sizes[d];) index[d] = 0;
    }
    return good;
}

static bool has_twice(fidc_rewriter *rw, const int64_t *places, int64_t count, int64_t limit) {
    uint8_t *seen = fid_arena_allocate(&rw->program->arena, (size_t)limit + 1, 1);
    if (!seen) return true;
    memset(seen, 0, (size_t)limit + 1);
    for (int64_t i = 0; i < count; i++) {
        if (seen[places[i]]++) return true;
    }
    return false;
}

static fid_status as_strided_scatter(fidc_rewriter *rw) {
    const fidc_value *x = fidc_rw_value(rw, 0);
    int64_t sizes[FID_MAX_RANK], strides[FID_MAX_RANK], count = 1, limit = 1;
    size_t rank, stride_count;
    if (!fidc_rw_ints(rw, 2, sizes, &rank) || !fidc_rw_ints(rw, 3, strides, &stride_count) || rank != stride_count || !fidc_sizes_static(x)) return fidc_rw_keep(rw);
    for (size_t d = 0; d < x->rank; d++) {
        if (x->dim_order[d] != d) return fidc_rw_keep(rw);
        limit *= fidc_size(x, d);
    }
    for (size_t d = 0; d < rank; d++) count *= sizes[d];
    if (count < 0 || limit > 1 << 24 || count > limit) return fidc_rw_keep(rw);
    int64_t *places = fid_arena_allocate_array(&rw->program->arena, (size_t)count + 1, sizeof *places);
    if (!places) return FID_OUT_OF_MEMORY;
    if (!window_places(sizes, strides, rank, fidc_rw_int(rw, 4, 0), limit, places, count)) return fidc_rw_keep(rw);
    if (has_twice(rw, places, count, limit)) return fidc_rw_refuse(rw, "the strides name an element twice, and which of the two values stays is not said");
    return put_flat(rw, fidc_value_constant(rw->graph, NULL, FID_INT64, &count, 1, places, (size_t)count * sizeof *places), fidc_rw_value(rw, 1), false);
}

/* ---- Unpooling: values at the places that a pool gave, zeros elsewhere ---- */

static fid_status max_unpool(fidc_rewriter *rw, size_t dims) {
    fidc_value *x = fidc_rw_value(rw, 0), *index = fidc_rw_value(rw, 1), *out = fidc_rw_out(rw);
    size_t lead = x->rank - dims;
    const fidc_expr *sizes[FID_MAX_RANK];
    memcpy(sizes, x->sizes, lead * sizeof *sizes);
    sizes[lead] = fidc_expr_product(rw->program, x->sizes + lead, dims);
    x = fidc_rw_view(rw, x, sizes, lead + 1);
    index = fidc_rw_view(rw, index, sizes, lead + 1);
    sizes[lead] = fidc_expr_product(rw->program, out->sizes + lead, dims);
    fidc_value *zeros = fidc_rw_full(rw, sizes, lead + 1, (fid_dtype)out->dtype, fidc_i(0));
    if (!x || !index || !zeros) return fidc_rw_become(rw, NULL);
    fidc_value *filled = RW(rw, scatter_src, fidc_v(zeros), fidc_i((int64_t)lead), fidc_v(index), fidc_v(x));
    return fidc_rw_become(rw, fidc_rw_view(rw, filled, out->sizes, out->rank));
}

static fid_status max_unpool2d(fidc_rewriter *rw) { return max_unpool(rw, 2); }
static fid_status max_unpool3d(fidc_rewriter *rw) { return max_unpool(rw, 3); }

/* ---- Selecting by computed rows ---- */

/* nonzero, filled up with as many rows of the fill value as are asked for, then cut. */
static fid_status nonzero_static(fidc_rewriter *rw) {
    fidc_value *out = fidc_rw_out(rw), *found = RW(rw, nonzero, fidc_rw_arg(rw, 0));
    fidc_value *fill = fidc_rw_full(rw, out->sizes, 2, FID_INT64, fidc_rw_is_none(rw, 2) ? fidc_i(-1) : fidc_rw_arg(rw, 2));
    if (!found || !fill) return fidc_rw_become(rw, NULL);
    return fidc_rw_become(rw, fidc_rw_slice(rw, fidc_rw_cat(rw, (fidc_value *[]){found, fill}, 2, 0), 0, fidc_i(0), fidc_rw_arg(rw, 1)));
}

static fid_status repeat_by_tensor(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *repeats = fidc_rw_value(rw, 1);
    if (fidc_rw_is_none(rw, 2)) x = flat(rw, x);
    if (!x || !x->rank) return fidc_rw_keep(rw);
    int64_t dim = fidc_rw_dim(rw, 2, 0, x->rank);
    if (!repeats->rank || (fidc_size(repeats, 0) == 1 && fidc_size(x, (size_t)dim) != 1)) repeats = fidc_rw_expand(rw, repeats, &x->sizes[dim], 1);
    fidc_value *index = repeats ? RW(rw, repeat_interleave_Tensor, fidc_v(repeats)) : NULL;
    return fidc_rw_become(rw, index ? RW(rw, index_select, fidc_v(x), fidc_i(dim), fidc_v(index)) : NULL);
}

/* Every choice of r places, in order. */
static int64_t next_choice(int64_t *choice, int64_t r, int64_t n, bool again) {
    int64_t i = r - 1;
    while (i >= 0 && choice[i] == (again ? n - 1 : n - r + i)) i--;
    if (i < 0) return 0;
    choice[i]++;
    for (int64_t k = i + 1; k < r; k++) choice[k] = again ? choice[i] : choice[k - 1] + 1;
    return 1;
}

static fid_status combinations(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    int64_t r = fidc_rw_int(rw, 1, 2), n = fidc_size(x, 0), choice[FID_MAX_RANK], rows = 1, filled = 0;
    bool again = fidc_rw_bool(rw, 2, false);
    if (r < 1 || r > FID_MAX_RANK || n < (again ? 1 : r)) return fidc_rw_keep(rw);
    for (int64_t k = 1; k <= r && rows <= 1 << 20; k++) rows = rows * (n + (again ? k - 1 : k - r)) / k; /* a binomial coefficient at each step */
    int64_t total = r * rows;
    if (rows > 1 << 20) return fidc_rw_keep(rw);
    int64_t *places = fid_arena_allocate_array(&rw->program->arena, (size_t)total, sizeof *places);
    if (!places) return FID_OUT_OF_MEMORY;
    for (int64_t k = 0; k < r; k++) choice[k] = again ? 0 : k;
    do {
        if (filled + r > total) return fidc_rw_keep(rw);
        for (int64_t k = 0; k < r; k++) places[filled++] = choice[k];
    } while (next_choice(choice, r, n, again));
    if (filled != total) return fidc_rw_keep(rw);
    fidc_value *index = fidc_value_constant(rw->graph, NULL, FID_INT64, &total, 1, places, (size_t)total * sizeof *places);
    fidc_value *picked = index ? RW(rw, index_select, fidc_v(x), fidc_i(0), fidc_v(index)) : NULL;
    const fidc_expr *sizes[] = {fidc_expr_const(rw->program, rows), fidc_expr_const(rw->program, r)};
    return fidc_rw_become(rw, picked ? fidc_rw_view(rw, picked, sizes, out->rank) : NULL);
}

static const fidc_rule_row rows[] = {
    {FID_OPID_scatter_reduce_two, scatter_reduce_two},
    {FID_OPID_scatter_reduce, scatter_join},
    {FID_OPID_scatter_value_reduce, scatter_join},
    {FID_OPID_index_reduce, index_reduce},
    {FID_OPID_put, put},
    {FID_OPID_as_strided_scatter, as_strided_scatter},
    {FID_OPID_max_unpool2d, max_unpool2d},
    {FID_OPID_max_unpool3d, max_unpool3d},
    {FID_OPID_nonzero_static, nonzero_static},
    {FID_OPID_repeat_interleave_self_Tensor, repeat_by_tensor},
    {FID_OPID_combinations, combinations},
};

void fidc_rules_add_portable_scatter(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
