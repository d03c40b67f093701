/* Operators that move elements: joining, repeating, padding, sorting forms that others express. */
#include "compiler/passes/rewrite.h"

/* ---- Joining ---- */

#define MOST_JOINED 256

/* PyTorch lets an empty vector stand in any list; it adds nothing. */
static bool adds_nothing(const fidc_value *value) { return value->rank == 1 && fidc_size(value, 0) == 0; }

static fid_status cat(fidc_rewriter *rw) {
    size_t count, kept = 0;
    const fidc_arg *items = fidc_rw_items(rw, 0, &count);
    fidc_value *values[MOST_JOINED];
    fidc_value *out = fidc_rw_out(rw);
    if (count > MOST_JOINED) return fidc_rw_keep(rw);
    for (size_t i = 0; i < count; i++) {
        fidc_value *value = fidc_value_of(&items[i]);
        if (out->rank == 1 || !adds_nothing(value)) values[kept++] = value;
    }
    bool cast = false;
    for (size_t i = 0; i < kept; i++) cast = cast || values[i]->dtype != out->dtype;
    if (kept == count && !cast && kept > 1) return fidc_rw_keep(rw);
    if (!kept) return fidc_rw_keep(rw);
    for (size_t i = 0; i < kept; i++) values[i] = fidc_rw_cast(rw, values[i], (fid_dtype)out->dtype);
    return fidc_rw_become(rw, fidc_rw_cat(rw, values, kept, fidc_rw_dim(rw, 1, 0, out->rank)));
}

/* Each tensor with at least `rank` dimensions, joined along `dim`; leading or trailing ones as the stack functions do. */
static fid_status join(fidc_rewriter *rw, size_t rank, int64_t dim) {
    size_t count;
    const fidc_arg *items = fidc_rw_items(rw, 0, &count);
    fidc_value *values[MOST_JOINED];
    if (count > MOST_JOINED) return fidc_rw_refuse(rw, "more than 256 tensors");
    for (size_t i = 0; i < count; i++) {
        fidc_value *value = fidc_value_of(&items[i]);
        while (value && value->rank < rank) {
            bool behind = rank == 3 && value->rank == 2; /* dstack: (n) is (1, n, 1), (m, n) is (m, n, 1) */
            value = fidc_rw_unsqueeze(rw, value, behind ? 2 : 0);
        }
        values[i] = value;
    }
    return fidc_rw_become(rw, fidc_rw_cat(rw, values, count, dim));
}

static fid_status vstack(fidc_rewriter *rw) { return join(rw, 2, 0); }
static fid_status dstack(fidc_rewriter *rw) { return join(rw, 3, 2); }

static fid_status hstack(fidc_rewriter *rw) {
    size_t count;
    const fidc_arg *items = fidc_rw_items(rw, 0, &count);
    const fidc_value *first = count ? fidc_value_of(&items[0]) : NULL;
    return join(rw, 1, first && first->rank > 1 ? 1 : 0);
}

/* Vectors become columns. */
static fid_status column_stack(fidc_rewriter *rw) {
    size_t count;
    const fidc_arg *items = fidc_rw_items(rw, 0, &count);
    fidc_value *values[MOST_JOINED];
    if (count > MOST_JOINED) return fidc_rw_refuse(rw, "more than 256 tensors");
    for (size_t i = 0; i < count; i++) {
        values[i] = fidc_value_of(&items[i]);
        if (values[i]->rank == 0) values[i] = fidc_rw_unsqueeze(rw, values[i], 0);
        if (values[i] && values[i]->rank == 1) values[i] = fidc_rw_unsqueeze(rw, values[i], 1);
    }
    return fidc_rw_become(rw, fidc_rw_cat(rw, values, count, 1));
}

/* ---- Repeating ---- */

static fid_status repeat(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    return x->rank == out->rank && fidc_same_sizes(x, out) ? fidc_rw_become(rw, x) : fidc_rw_keep(rw);
}

/* tile is repeat whose list may be shorter than the rank. */
static fid_status tile(fidc_rewriter *rw) {
    size_t count;
    const fidc_arg *items = fidc_rw_items(rw, 1, &count);
    fidc_value *x = fidc_rw_value(rw, 0);
    size_t lead = x->rank > count ? x->rank - count : 0;
    if (count > FID_MAX_RANK) return fidc_rw_refuse(rw, "more repeats than a tensor has dimensions");
    fidc_arg all[2 * FID_MAX_RANK];
    for (size_t i = 0; i < lead; i++) all[i] = fidc_i(1);
    for (size_t i = 0; i < count; i++) all[lead + i] = items[i];
    return fidc_rw_become(rw, RW(rw, repeat, fidc_v(x), fidc_list(rw->program, all, lead + count)));
}

/* Every element `n` times along dim: a dimension behind it that is expanded and merged. Without dim of the flat tensor. */
static fid_status repeat_interleave(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    int64_t n = fidc_rw_int(rw, 1, -1);
    if (n < 0 || (!x->rank && !fidc_rw_is_none(rw, 2))) return fidc_rw_keep(rw);
    if (fidc_rw_is_none(rw, 2)) x = fidc_rw_view(rw, x, (const fidc_expr *[]){fidc_expr_product(rw->program, x->sizes, x->rank)}, 1);
    if (!x || n == 1) return fidc_rw_become(rw, x);
    int64_t dim = fidc_rw_dim(rw, 2, 0, x->rank);
    const fidc_expr *sizes[FID_MAX_RANK + 1];
    memcpy(sizes, x->sizes, (size_t)(dim + 1) * sizeof *sizes);
    sizes[dim + 1] = fidc_expr_const(rw->program, n);
    memcpy(sizes + dim + 2, x->sizes + dim + 1, (x->rank - (size_t)dim - 1) * sizeof *sizes);
    fidc_value *wide = fidc_rw_expand(rw, fidc_rw_unsqueeze(rw, x, dim + 1), sizes, x->rank + 1u);
    return fidc_rw_become(rw, fidc_rw_view(rw, wide, out->sizes, out->rank));
}

/* ---- Turning ---- */

static fidc_value *flip_dims(fidc_rewriter *rw, fidc_value *x, const int64_t *dims, size_t count) {
    return x ? RW(rw, flip, fidc_v(x), fidc_ints(rw->program, dims, count)) : NULL;
}

static fid_status fliplr(fidc_rewriter *rw) { return fidc_rw_become(rw, flip_dims(rw, fidc_rw_value(rw, 0), (int64_t[]){1}, 1)); }
static fid_status flipud(fidc_rewriter *rw) { return fidc_rw_become(rw, flip_dims(rw, fidc_rw_value(rw, 0), (int64_t[]){0}, 1)); }

static fid_status rot90(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    int64_t dims[FID_MAX_RANK] = {0, 1}, k = ((fidc_rw_int(rw, 1, 1) % 4) + 4) % 4;
    size_t count;
    if (!fidc_rw_ints(rw, 2, dims, &count) || count != 2) return fidc_rw_refuse(rw, "two constant dimensions are needed");
    for (size_t i = 0; i < 2; i++) dims[i] = fidc_wrap(dims[i], x->rank);
    if (k == 0) return fidc_rw_become(rw, x);
    if (k == 2) return fidc_rw_become(rw, flip_dims(rw, x, dims, 2));
    if (k == 1) return fidc_rw_become(rw, fidc_rw_transpose(rw, flip_dims(rw, x, dims + 1, 1), dims[0], dims[1]));
    return fidc_rw_become(rw, flip_dims(rw, fidc_rw_transpose(rw, x, dims[0], dims[1]), dims + 1, 1));
}

/* fftshift rolls by half of each size, rounded down; ifftshift by the other half. */
static fid_status shift(fidc_rewriter *rw, bool inverse) {
    fidc_value *x = fidc_rw_value(rw, 0);
    int64_t dims[FID_MAX_RANK], shifts[FID_MAX_RANK];
    size_t count;
    if (!fidc_rw_ints(rw, 1, dims, &count)) return fidc_rw_refuse(rw, "the dimensions must be constant");
    if (fidc_rw_is_none(rw, 1)) {
        count = x->rank;
        for (size_t i = 0; i < count; i++) dims[i] = (int64_t)i;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t size = fidc_size(x, (size_t)fidc_wrap(dims[i], x->rank));
        if (size < 0) return fidc_rw_refuse(rw, "the shifted sizes must be constant");
        shifts[i] = inverse ? (size + 1) / 2 : size / 2;
    }
    return fidc_rw_become(rw, RW(rw, roll, fidc_v(x), fidc_ints(rw->program, shifts, count), fidc_ints(rw->program, dims, count)));
}

static fid_status fftshift(fidc_rewriter *rw) { return shift(rw, false); }
static fid_status ifftshift(fidc_rewriter *rw) { return shift(rw, true); }

/* ---- Padding ---- */

/* The mode has an operator for each number of padded dimensions. */
static fid_status pad_by_mode(fidc_rewriter *rw, const fid_op_id *ops) {
    size_t count;
    fidc_rw_items(rw, 1, &count);
    if (count < 2 || count > 6 || count % 2) return fidc_rw_refuse(rw, "pads of one to three dimensions are known for this mode");
    return fidc_rw_become(rw, fidc_rw_emit(rw, ops[count / 2 - 1], (fidc_arg[]){fidc_rw_arg(rw, 0), fidc_rw_arg(rw, 1)}, 2));
}

/* Circular: the end of each dimension before it, the start behind it. */
static fid_status pad_circular(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    int64_t pads[FID_MAX_RANK];
    size_t count;
    if (!fidc_rw_ints(rw, 1, pads, &count)) return fidc_rw_refuse(rw, "pads must be constant");
    for (size_t i = 0; i + 1 < count && x; i += 2) {
        int64_t dim = x->rank - 1 - (int64_t)(i / 2), size = fidc_size(x, (size_t)dim);
        fidc_value *parts[3];
        size_t used = 0;
        if (size < 0 || pads[i] < 0 || pads[i + 1] < 0) return fidc_rw_refuse(rw, "circular pads need a constant size, and none may be negative");
        if (pads[i]) parts[used++] = fidc_rw_slice(rw, x, dim, fidc_i(size - pads[i]), fidc_none());
        parts[used++] = x;
        if (pads[i + 1]) parts[used++] = fidc_rw_slice(rw, x, dim, fidc_i(0), fidc_i(pads[i + 1]));
        x = fidc_rw_cat(rw, parts, used, dim);
    }
    return fidc_rw_become(rw, x);
}

static fid_status pad(fidc_rewriter *rw) {
    static const fid_op_id reflect[] = {FID_OPID_reflection_pad1d, FID_OPID_reflection_pad2d, FID_OPID_reflection_pad3d};
    static const fid_op_id replicate[] = {FID_OPID_replication_pad1d, FID_OPID_replication_pad2d, FID_OPID_replication_pad3d};
    const char *mode = fidc_rw_string(rw, 2, "constant");
    if (strcmp(mode, "reflect") == 0) return pad_by_mode(rw, reflect);
    if (strcmp(mode, "replicate") == 0) return pad_by_mode(rw, replicate);
    if (strcmp(mode, "circular") == 0) return pad_circular(rw);
    fidc_arg number = fidc_rw_is_none(rw, 3) ? fidc_i(0) : fidc_rw_arg(rw, 3);
    return fidc_rw_become(rw, RW(rw, constant_pad_nd, fidc_rw_arg(rw, 0), fidc_rw_arg(rw, 1), number));
}

/* Pads of zero everywhere do nothing. */
static fid_status constant_pad(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    int64_t pads[FID_MAX_RANK];
    size_t count;
    bool none = fidc_rw_ints(rw, 1, pads, &count);
    for (size_t i = 0; none && i < count; i++) none = pads[i] == 0;
    return none ? fidc_rw_become(rw, x) : fidc_rw_keep(rw);
}

/* ---- Diagonals ---- */

/* diag of a matrix is its diagonal. Of a vector: the matrix that has it there, which is where an eye picks from it. */
static fid_status diag(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    if (x->rank == 2) return fidc_rw_become(rw, RW(rw, diagonal_copy, fidc_v(x), fidc_rw_arg(rw, 1)));
    return fidc_rw_become(rw, RW(rw, diag_embed, fidc_v(x), fidc_rw_arg(rw, 1), fidc_i(-2), fidc_i(-1)));
}

/* zeros with the diagonal scattered in. */
static fid_status diag_embed(fidc_rewriter *rw) {
    fidc_value *out = fidc_rw_out(rw);
    fidc_value *zeros = fidc_rw_full(rw, out->sizes, out->rank, (fid_dtype)out->dtype, fidc_i(0));
    if (!zeros) return fidc_rw_become(rw, NULL);
    return fidc_rw_become(rw, RW(rw, diagonal_scatter, fidc_v(zeros), fidc_rw_arg(rw, 0), fidc_rw_arg(rw, 1), fidc_rw_arg(rw, 2), fidc_rw_arg(rw, 3)));
}

/* ---- Sorting and selecting ---- */

static fid_status argsort(fidc_rewriter *rw) {
    bool stable = strcmp(rw->node->op->overload, "stable") == 0;
    fidc_arg dim = fidc_rw_arg(rw, stable ? 2 : 1), descending = fidc_rw_arg(rw, stable ? 3 : 2);
    fidc_node *sort = fidc_rw_emit_node(rw, FID_OPID_sort, (fidc_arg[]){fidc_rw_arg(rw, 0), dim, descending}, 3, 0);
    return fidc_rw_become(rw, sort ? sort->outputs[1] : NULL);
}

static fid_status msort(fidc_rewriter *rw) { return fidc_rw_become(rw, RW(rw, sort, fidc_rw_arg(rw, 0), fidc_i(0), fidc_b(false))); }

/* gather with both sides broadcast in the other dimensions; without dim of the flat tensors. */
static fid_status take_along_dim(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *index = fidc_rw_value(rw, 1), *out = fidc_rw_out(rw);
    if (fidc_rw_is_none(rw, 2)) {
        x = fidc_rw_view(rw, x, (const fidc_expr *[]){fidc_expr_product(rw->program, x->sizes, x->rank)}, 1);
        index = fidc_rw_view(rw, index, out->sizes, out->rank);
        return fidc_rw_become(rw, x && index ? RW(rw, gather, fidc_v(x), fidc_i(0), fidc_v(index)) : NULL);
    }
    int64_t dim = fidc_rw_dim(rw, 2, 0, x->rank);
    const fidc_expr *sizes[FID_MAX_RANK];
    if (!x->rank || out->rank != x->rank || index->rank != x->rank) return fidc_rw_keep(rw);
    memcpy(sizes, out->sizes, out->rank * sizeof *sizes);
    sizes[dim] = x->sizes[dim];
    x = fidc_rw_expand(rw, x, sizes, x->rank);
    index = fidc_rw_expand(rw, index, out->sizes, out->rank);
    return fidc_rw_become(rw, x && index ? RW(rw, gather, fidc_v(x), fidc_i(dim), fidc_v(index)) : NULL);
}

/* Indices outside are wrapped into range where the mask hides them: nothing is added there. */
static fid_status masked_index_put(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *mask = fidc_rw_value(rw, 1), *values = fidc_rw_value(rw, 3);
    size_t count;
    const fidc_arg *items = fidc_rw_items(rw, 2, &count);
    fidc_arg safe[FID_MAX_RANK];
    if (count > x->rank) return fidc_rw_keep(rw);
    for (size_t i = 0; i < count; i++) {
        fidc_value *index = fidc_value_of(&items[i]);
        safe[i] = fidc_none();
        if (!index) continue;
        if (fidc_size(x, i) < 1) return fidc_rw_keep(rw);
        safe[i] = fidc_v(RW(rw, clamp, fidc_v(index), fidc_i(-fidc_size(x, i)), fidc_i(fidc_size(x, i) - 1)));
    }
    fidc_value *zero = fidc_value_scalar(rw->graph, (fid_dtype)values->dtype, 0);
    fidc_value *shown = zero ? RW(rw, where_self, fidc_v(mask), fidc_v(values), fidc_v(zero)) : NULL;
    if (!shown) return fidc_rw_become(rw, NULL);
    return fidc_rw_become(rw, RW(rw, index_put, fidc_v(x), fidc_list(rw->program, safe, count), fidc_v(shown), fidc_b(true)));
}

/* Each tensor padded to whole chunks, chunks as rows, all rows side by side. */
static fid_status chunk_cat(fidc_rewriter *rw) {
    size_t count;
    const fidc_arg *items = fidc_rw_items(rw, 0, &count);
    fidc_value *parts[MOST_JOINED];
    int64_t chunks = fidc_rw_int(rw, 2, 1);
    if (count > MOST_JOINED || chunks < 1) return fidc_rw_keep(rw);
    for (size_t i = 0; i < count; i++) {
        fidc_value *x = fidc_value_of(&items[i]);
        int64_t dim = fidc_rw_dim(rw, 1, 0, x->rank), size = fidc_size(x, (size_t)dim), pads[2 * FID_MAX_RANK] = {0};
        if (!fidc_sizes_static(x) || !x->rank) return fidc_rw_keep(rw);
        int64_t each = (size + chunks - 1) / chunks;
        size_t from_end = x->rank - 1u - (size_t)dim;
        pads[2 * from_end + 1] = each * chunks - size;
        if (each * chunks > size) x = RW(rw, constant_pad_nd, fidc_v(x), fidc_ints(rw->program, pads, 2 * (from_end + 1)), fidc_i(0));
        if (!x) return fidc_rw_become(rw, NULL);
        const fidc_expr *sizes[FID_MAX_RANK + 1];
        memcpy(sizes, x->sizes, (size_t)dim * sizeof *sizes);
        sizes[dim] = fidc_expr_const(rw->program, chunks);
        int64_t rest = each;
        for (size_t d = (size_t)dim + 1; d < x->rank; d++) rest *= fidc_size(x, d);
        sizes[dim + 1] = fidc_expr_const(rw->program, rest);
        parts[i] = fidc_rw_view(rw, x, sizes, (size_t)dim + 2);
    }
    return fidc_rw_become(rw, fidc_rw_cat(rw, parts, count, -1));
}

/* One vector for each dimension: the columns of nonzero. */
static fid_status nonzero_numpy(fidc_rewriter *rw) {
    fidc_value *places = RW(rw, nonzero, fidc_rw_arg(rw, 0)), *columns[FID_MAX_RANK];
    for (uint32_t i = 0; i < rw->node->output_count && i < FID_MAX_RANK; i++) {
        columns[i] = places ? RW(rw, select_copy_int, fidc_v(places), fidc_i(1), fidc_i(i)) : NULL;
        if (!columns[i]) return fidc_rw_become(rw, NULL);
    }
    return fidc_rw_become_all(rw, columns, rw->node->output_count);
}

/* index == [0, classes) along a new last dimension. */
static fid_status one_hot(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    if (!out->rank) return fidc_rw_keep(rw);
    fidc_value *classes = RW(rw, arange_start_step, fidc_i(0), fidc_rw_expr(rw, out->sizes[out->rank - 1]), fidc_i(1), fidc_t(FID_INT64));
    fidc_value *column = fidc_rw_unsqueeze(rw, x, x->rank);
    fidc_value *equal = classes && column ? RW(rw, eq_Tensor, fidc_v(column), fidc_v(classes)) : NULL;
    return fidc_rw_become(rw, fidc_rw_cast(rw, equal, FID_INT64));
}

static const fidc_rule_row rows[] = {
    {FID_OPID_cat, cat},
    {FID_OPID_vstack, vstack},
    {FID_OPID_row_stack, vstack},
    {FID_OPID_dstack, dstack},
    {FID_OPID_hstack, hstack},
    {FID_OPID_column_stack, column_stack},
    {FID_OPID_repeat, repeat},
    {FID_OPID_tile, tile},
    {FID_OPID_repeat_interleave_self_int, repeat_interleave},
    {FID_OPID_fliplr, fliplr},
    {FID_OPID_flipud, flipud},
    {FID_OPID_rot90, rot90},
    {FID_OPID_fft_fftshift, fftshift},
    {FID_OPID_fft_ifftshift, ifftshift},
    {FID_OPID_pad, pad},
    {FID_OPID__pad_circular, pad_circular},
    {FID_OPID_constant_pad_nd, constant_pad},
    {FID_OPID_diag, diag},
    {FID_OPID_diag_embed, diag_embed},
    {FID_OPID_argsort, argsort},
    {FID_OPID_argsort_stable, argsort},
    {FID_OPID_msort, msort},
    {FID_OPID_take_along_dim, take_along_dim},
    {FID_OPID_one_hot, one_hot},
    {FID_OPID__unsafe_masked_index_put_accumulate, masked_index_put},
    {FID_OPID__chunk_cat, chunk_cat},
    {FID_OPID_nonzero_numpy, nonzero_numpy},
};

void fidc_rules_add_move(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
