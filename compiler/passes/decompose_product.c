/* Products of tensors: matmul and its special cases, linear, einsum. */
#include "compiler/passes/rewrite.h"

/* ---- matmul by mm and bmm ---- */

/* Batch dimensions of both operands broadcast to `batch`; the result is viewed as (product of batch, rows, columns). */
static fidc_value *as_batched(fidc_rewriter *rw, fidc_value *x, const fidc_expr *const *batch, size_t batch_rank) {
    const fidc_expr *sizes[FID_MAX_RANK];
    if (!x) return NULL;
    memcpy(sizes, batch, batch_rank * sizeof *sizes);
    sizes[batch_rank] = x->sizes[x->rank - 2];
    sizes[batch_rank + 1] = x->sizes[x->rank - 1];
    fidc_value *expanded = fidc_rw_expand(rw, x, sizes, batch_rank + 2);
    const fidc_expr *flat[] = {fidc_expr_product(rw->program, batch, batch_rank), sizes[batch_rank], sizes[batch_rank + 1]};
    return fidc_rw_view(rw, expanded, flat, 3);
}

/* Dimension `i` from the right of the broadcast batch: the size that is not one. */
static const fidc_expr *batch_size(const fidc_rewriter *rw, const fidc_value *a, const fidc_value *b, size_t i) {
    const fidc_expr *one = fidc_expr_const(rw->program, 1);
    const fidc_expr *x = i + 3 <= a->rank ? a->sizes[a->rank - 3 - i] : one;
    const fidc_expr *y = i + 3 <= b->rank ? b->sizes[b->rank - 3 - i] : one;
    return x == one ? y : x;
}

static fidc_value *batched_product(fidc_rewriter *rw, fidc_value *a, fidc_value *b) {
    const fidc_expr *sizes[FID_MAX_RANK];
    size_t batch_rank = (a->rank > b->rank ? a->rank : b->rank) - 2u;
    for (size_t i = 0; i < batch_rank; i++) sizes[batch_rank - 1 - i] = batch_size(rw, a, b, i);
    sizes[batch_rank] = a->sizes[a->rank - 2];
    sizes[batch_rank + 1] = b->sizes[b->rank - 1];
    fidc_value *x = as_batched(rw, a, sizes, batch_rank), *y = as_batched(rw, b, sizes, batch_rank);
    if (!x || !y) return NULL;
    return fidc_rw_view(rw, RW(rw, bmm, fidc_v(x), fidc_v(y)), sizes, batch_rank + 2);
}

/* (..., n, k) by (k, m): all leading dimensions are rows. */
static fidc_value *rows_product(fidc_rewriter *rw, fidc_value *a, fidc_value *b) {
    const fidc_expr *sizes[FID_MAX_RANK];
    memcpy(sizes, a->sizes, (a->rank - 1u) * sizeof *sizes);
    sizes[a->rank - 1] = b->sizes[1];
    const fidc_expr *flat[] = {fidc_expr_product(rw->program, a->sizes, a->rank - 1u), a->sizes[a->rank - 1]};
    fidc_value *x = fidc_rw_view(rw, a, flat, 2);
    if (!x) return NULL;
    return fidc_rw_view(rw, RW(rw, mm, fidc_v(x), fidc_v(b)), sizes, a->rank);
}

static fidc_value *product(fidc_rewriter *rw, fidc_value *a, fidc_value *b) {
    if (!a || !b || !a->rank || !b->rank) return NULL;
    if (a->rank == 1) return fidc_rw_squeeze(rw, product(rw, fidc_rw_unsqueeze(rw, a, 0), b), b->rank == 1 ? 0 : -2);
    if (b->rank == 1) return fidc_rw_squeeze(rw, product(rw, a, fidc_rw_unsqueeze(rw, b, 1)), -1);
    return b->rank == 2 ? rows_product(rw, a, b) : batched_product(rw, a, b);
}

fidc_value *fidc_rw_matmul(fidc_rewriter *rw, fidc_value *a, fidc_value *b) { return product(rw, a, b); }

static fid_status matmul(fidc_rewriter *rw) { return fidc_rw_become(rw, product(rw, fidc_rw_value(rw, 0), fidc_rw_value(rw, 1))); }

/* Both vectors: rows of one and a column of the other. */
static fid_status outer(fidc_rewriter *rw) {
    fidc_value *a = fidc_rw_unsqueeze(rw, fidc_rw_value(rw, 0), 1), *b = fidc_rw_unsqueeze(rw, fidc_rw_value(rw, 1), 0);
    return fidc_rw_become(rw, RW(rw, mul_Tensor, fidc_v(a), fidc_v(b)));
}

/* bilinear(a, b, w)[..., o] = sum_ij a[..., i] w[o, i, j] b[..., j]. */
static fid_status bilinear(fidc_rewriter *rw) {
    fidc_value *a = fidc_rw_value(rw, 0), *b = fidc_rw_value(rw, 1), *w = fidc_rw_value(rw, 2), *bias = fidc_rw_value(rw, 3);
    if (!a->rank || !b->rank || w->rank != 3) return fidc_rw_keep(rw);
    fid_dtype dtype = fidc_compute_dtype((fid_dtype)w->dtype); /* narrow floats are rounded once, at the end */
    a = fidc_rw_cast(rw, a, dtype), b = fidc_rw_cast(rw, b, dtype), w = fidc_rw_cast(rw, w, dtype);
    if (!a || !b || !w) return fidc_rw_become(rw, NULL);
    const fidc_expr *rows = fidc_expr_product(rw->program, a->sizes, a->rank - 1u);
    fidc_value *flat_a = fidc_rw_view(rw, a, (const fidc_expr *[]){rows, a->sizes[a->rank - 1]}, 2);
    fidc_value *flat_b = fidc_rw_view(rw, b, (const fidc_expr *[]){rows, fidc_expr_const(rw->program, 1), b->sizes[b->rank - 1]}, 3);
    fidc_value *by_input = fidc_rw_permute(rw, w, (int64_t[]){1, 0, 2});
    const fidc_expr *pairs = fidc_expr_product(rw->program, w->sizes, 1);
    pairs = fidc_expr_binary(rw->program, FIDC_EXPR_MUL, pairs, w->sizes[2]);
    by_input = fidc_rw_view(rw, by_input, (const fidc_expr *[]){w->sizes[1], pairs}, 2);
    fidc_value *half = RW(rw, mm, fidc_v(flat_a), fidc_v(by_input));
    half = fidc_rw_view(rw, half, (const fidc_expr *[]){rows, w->sizes[0], w->sizes[2]}, 3);
    fidc_value *terms = RW(rw, mul_Tensor, fidc_v(half), fidc_v(flat_b));
    int64_t last = -1;
    fidc_value *sum = !terms ? NULL : RW(rw, sum_dim_IntList, fidc_v(terms), fidc_ints(rw->program, &last, 1), fidc_b(false), fidc_t((fid_dtype)terms->dtype));
    if (bias) sum = RW(rw, add_Tensor, fidc_v(sum), fidc_v(bias));
    sum = fidc_rw_cast(rw, sum, (fid_dtype)fidc_rw_out(rw)->dtype);
    return fidc_rw_become(rw, fidc_rw_view(rw, sum, fidc_rw_out(rw)->sizes, fidc_rw_out(rw)->rank));
}

/* ---- einsum ---- */

/* One operand while it is worked on: labels[i] names dimension i. */
typedef struct term { fidc_value *value; char labels[FID_MAX_RANK + 1]; } term;

/* Positions of an ellipsis get labels of their own, counted from the right so that operands align. */
static bool read_labels(const char *text, size_t length, size_t rank, char *out) {
    size_t named = 0, at = 0;
    bool dots = false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '.') dots = true;
        else if (text[i] != ' ') named++;
    }
    if (named > rank || (!dots && named != rank)) return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == ' ') continue;
        if (text[i] != '.') {
            if (at == FID_MAX_RANK) return false;
            out[at++] = text[i];
            continue;
        }
        if (at + rank - named > FID_MAX_RANK) return false; /* a second ellipsis */
        for (size_t hidden = rank - named; hidden > 0; hidden--) out[at++] = (char)(hidden); /* 1, 2, ...: no letters */
        i += 2;
    }
    out[at] = 0;
    return at == rank || !dots; /* of the result, whose rank is the archive's, too */
}

/* A label twice in one operand is its diagonal. */
static void take_diagonals(fidc_rewriter *rw, term *t) {
    for (size_t i = 0; t->value && t->labels[i]; i++) {
        char *again = strchr(t->labels + i + 1, t->labels[i]);
        if (!again) continue;
        size_t j = (size_t)(again - t->labels);
        t->value = RW(rw, diagonal_copy, fidc_v(t->value), fidc_i(0), fidc_i((int64_t)i), fidc_i((int64_t)j));
        char label = t->labels[i]; /* the diagonal becomes the last dimension */
        memmove(t->labels + j, t->labels + j + 1, strlen(t->labels + j));
        memmove(t->labels + i, t->labels + i + 1, strlen(t->labels + i));
        size_t end = strlen(t->labels);
        t->labels[end] = label;
        t->labels[end + 1] = 0;
        i = (size_t)-1;
    }
}

static void sum_label(fidc_rewriter *rw, term *t, size_t at) {
    int64_t dim = (int64_t)at;
    t->value = RW(rw, sum_dim_IntList, fidc_v(t->value), fidc_ints(rw->program, &dim, 1), fidc_b(false), fidc_t((fid_dtype)t->value->dtype));
    memmove(t->labels + at, t->labels + at + 1, strlen(t->labels + at));
}

/* Sums over labels that neither the other operands nor the result has. */
static void sum_private(fidc_rewriter *rw, term *t, const char *others) {
    for (size_t i = 0; t->value && t->labels[i];) {
        if (strchr(others, t->labels[i])) i++;
        else sum_label(rw, t, i);
    }
}

/* Labels of a term in the order that `wanted` lists them, of those that it has. */
static void reorder(fidc_rewriter *rw, term *t, const char *wanted) {
    int64_t dims[FID_MAX_RANK];
    char labels[FID_MAX_RANK + 1];
    size_t count = 0;
    for (const char *w = wanted; *w; w++) {
        const char *at = strchr(t->labels, *w);
        if (!at) continue;
        labels[count] = *w;
        dims[count++] = at - t->labels;
    }
    labels[count] = 0;
    if (t->value) t->value = fidc_rw_permute(rw, t->value, dims);
    memcpy(t->labels, labels, sizeof labels);
}

/* Labels of two terms sorted by role. */
typedef struct roles { char batch[FID_MAX_RANK + 1], left[FID_MAX_RANK + 1], right[FID_MAX_RANK + 1], summed[FID_MAX_RANK + 1]; } roles;

static void add_label(char *list, char label) {
    size_t end = strlen(list);
    list[end] = label;
    list[end + 1] = 0;
}

static roles sort_labels(const term *a, const term *b, const char *kept) {
    roles r = {{0}, {0}, {0}, {0}};
    for (const char *c = a->labels; *c; c++) {
        if (!strchr(b->labels, *c)) add_label(r.left, *c);
        else add_label(strchr(kept, *c) ? r.batch : r.summed, *c);
    }
    for (const char *c = b->labels; *c; c++) {
        if (!strchr(a->labels, *c)) add_label(r.right, *c);
    }
    return r;
}

static const fidc_expr *size_of_label(const fidc_rewriter *rw, const term *a, const term *b, char label) {
    const fidc_expr *one = fidc_expr_const(rw->program, 1);
    const char *at = strchr(a->labels, label);
    const fidc_expr *size = at ? a->value->sizes[at - a->labels] : one;
    const char *other = strchr(b->labels, label);
    return size == one && other ? b->value->sizes[other - b->labels] : size;
}

static size_t sizes_of(const fidc_rewriter *rw, const term *a, const term *b, const char *labels, const fidc_expr **out) {
    size_t count = strlen(labels);
    for (size_t i = 0; i < count; i++) out[i] = size_of_label(rw, a, b, labels[i]);
    return count;
}

/* One operand as (batch, x, y), each the product of its labels; labels of size one that the other has larger are expanded. */
static fidc_value *grouped(fidc_rewriter *rw, term *t, const term *other, const char *batch, const char *first, const char *second) {
    char order[3 * FID_MAX_RANK + 1];
    const fidc_expr *sizes[3 * FID_MAX_RANK], *flat[3];
    size_t lengths[3] = {strlen(batch), strlen(first), strlen(second)};
    memcpy(order, batch, lengths[0]);
    memcpy(order + lengths[0], first, lengths[1]);
    memcpy(order + lengths[0] + lengths[1], second, lengths[2] + 1);
    reorder(rw, t, order);
    if (!t->value) return NULL;
    size_t count = sizes_of(rw, t, other, t->labels, sizes), at = 0;
    fidc_value *expanded = fidc_rw_expand(rw, t->value, sizes, count);
    for (size_t i = 0; i < 3; at += lengths[i++]) flat[i] = fidc_expr_product(rw->program, sizes + at, lengths[i]);
    return fidc_rw_view(rw, expanded, flat, 3);
}

/* Both terms into one: a batched matrix product over the labels that are summed. */
static term contract(fidc_rewriter *rw, term *a, term *b, const char *kept) {
    term out = {NULL, {0}};
    roles r = sort_labels(a, b, kept);
    if (strlen(r.batch) + strlen(r.left) + strlen(r.right) > FID_MAX_RANK) return out;
    const fidc_expr *sizes[FID_MAX_RANK];
    size_t count = sizes_of(rw, a, b, r.batch, sizes);
    count += sizes_of(rw, a, b, r.left, sizes + count);
    count += sizes_of(rw, a, b, r.right, sizes + count);
    term a_before = *a;
    fidc_value *x = grouped(rw, a, b, r.batch, r.left, r.summed), *y = grouped(rw, b, &a_before, r.batch, r.summed, r.right);
    if (!x || !y) return out;
    out.value = fidc_rw_view(rw, RW(rw, bmm, fidc_v(x), fidc_v(y)), sizes, count);
    strcpy(out.labels, r.batch);
    strcat(out.labels, r.left);
    strcat(out.labels, r.right);
    return out;
}

/* Without "->": every label that occurs once, in alphabetical order, after the ellipsis. */
static void implicit_result(const term *terms, size_t count, char *out) {
    size_t at = 0;
    for (int label = 1; label < 128 && at < FID_MAX_RANK; label++) {
        size_t seen = 0;
        for (size_t i = 0; i < count; i++) {
            for (const char *c = terms[i].labels; *c; c++) seen += *c == label;
        }
        bool hidden = label <= FID_MAX_RANK;
        if (seen == 1 || (hidden && seen)) out[at++] = (char)label;
    }
    out[at] = 0;
    size_t dots = 0; /* hidden labels count from the right: the largest comes first */
    while (out[dots] && out[dots] <= FID_MAX_RANK) dots++;
    for (size_t i = 0; i < dots / 2; i++) {
        char swap = out[i];
        out[i] = out[dots - 1 - i];
        out[dots - 1 - i] = swap;
    }
}

/* Labels that anything after term `from` still needs. */
static void needed_labels(const term *terms, size_t from, size_t count, const char *result, char *out, size_t size) {
    size_t at = 0;
    for (const char *c = result; *c && at + 1 < size; c++) out[at++] = *c;
    for (size_t i = from; i < count; i++) {
        for (const char *c = terms[i].labels; *c && at + 1 < size; c++) out[at++] = *c;
    }
    out[at] = 0;
}

static fidc_value *contract_all(fidc_rewriter *rw, term *terms, size_t count, const char *result) {
    char needed[512];
    for (size_t i = 0; i < count; i++) take_diagonals(rw, &terms[i]);
    term sum = terms[0];
    for (size_t i = 1; i < count && sum.value; i++) {
        needed_labels(terms, i, count, result, needed, sizeof needed);
        sum_private(rw, &sum, needed);
        needed_labels(terms, i + 1, count, result, needed, sizeof needed);
        char with_sum[sizeof needed + FID_MAX_RANK];
        strcpy(with_sum, needed);
        strcat(with_sum, sum.labels);
        sum_private(rw, &terms[i], with_sum);
        if (!sum.value || !terms[i].value) return NULL;
        sum = contract(rw, &sum, &terms[i], needed);
    }
    sum_private(rw, &sum, result);
    reorder(rw, &sum, result);
    return sum.value;
}

#define EINSUM_MOST 16

/* Splits "ij,jk->ik"; false if it is malformed. The result's rank is the archive's. */
static bool read_equation(fidc_rewriter *rw, const char *equation, term *terms, size_t count, char *result) {
    const char *arrow = strstr(equation, "->"), *at = equation;
    const char *end = arrow ? arrow : equation + strlen(equation);
    for (size_t i = 0; i < count; i++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end;
        if (!terms[i].value || !read_labels(at, (size_t)(stop - at), terms[i].value->rank, terms[i].labels)) return false;
        at = comma ? comma + 1 : end;
    }
    if (arrow) return read_labels(arrow + 2, strlen(arrow + 2), fidc_rw_out(rw)->rank, result);
    implicit_result(terms, count, result);
    return true;
}

static fid_status einsum(fidc_rewriter *rw) {
    size_t count;
    const fidc_arg *items = fidc_rw_items(rw, 1, &count);
    term terms[EINSUM_MOST];
    char result[FID_MAX_RANK + 1];
    if (count == 0 || count > EINSUM_MOST) return fidc_rw_refuse(rw, "einsum of none or of more than 16 tensors");
    for (size_t i = 0; i < count; i++) terms[i] = (term){.value = fidc_value_of(&items[i])};
    if (!read_equation(rw, fidc_rw_string(rw, 0, ""), terms, count, result)) return fidc_rw_refuse(rw, "the equation does not fit the tensors");
    return fidc_rw_become(rw, contract_all(rw, terms, count, result));
}

/* ---- linear, and products that mm expresses ---- */

fidc_value *fidc_rw_linear(fidc_rewriter *rw, fidc_value *x, fidc_value *weight, fidc_value *bias) {
    if (!x || !weight) return NULL;
    if (x->rank == 1) return fidc_rw_squeeze(rw, fidc_rw_linear(rw, fidc_rw_unsqueeze(rw, x, 0), weight, bias), 0);
    if (!x->rank || weight->rank != 2) return NULL;
    const fidc_expr *sizes[FID_MAX_RANK];
    memcpy(sizes, x->sizes, (x->rank - 1u) * sizeof *sizes);
    sizes[x->rank - 1] = weight->sizes[0];
    const fidc_expr *flat[] = {fidc_expr_product(rw->program, x->sizes, x->rank - 1u), x->sizes[x->rank - 1]};
    fidc_value *rows = fidc_rw_view(rw, x, flat, 2), *columns = fidc_rw_transpose(rw, weight, 0, 1);
    fidc_value *out = bias ? RW(rw, addmm, fidc_v(bias), fidc_v(rows), fidc_v(columns)) : RW(rw, mm, fidc_v(rows), fidc_v(columns));
    return fidc_rw_view(rw, out, sizes, x->rank);
}

static fid_status linear(fidc_rewriter *rw) {
    return fidc_rw_become(rw, fidc_rw_linear(rw, fidc_rw_value(rw, 0), fidc_rw_value(rw, 1), fidc_rw_value(rw, 2)));
}

static fidc_value *scaled(fidc_rewriter *rw, fidc_value *x, uint32_t factor_arg) {
    fidc_arg factor = fidc_rw_arg(rw, factor_arg);
    if (!x || fidc_rw_double(rw, factor_arg, 1) == 1) return x;
    if (factor.kind == FIDC_ARG_DOUBLE && !fid_dtype_is_float((fid_dtype)x->dtype) && !fid_dtype_is_complex((fid_dtype)x->dtype)) factor = fidc_i((int64_t)factor.as.number); /* as PyTorch cuts it */
    return RW(rw, mul_Scalar, fidc_v(x), factor);
}

/* beta * self + alpha * product */
static fid_status added_product(fidc_rewriter *rw, fidc_value *sum) {
    sum = scaled(rw, sum, 4);
    if (fidc_rw_double(rw, 3, 1) == 0) { /* NaN in self does not count then */
        return fidc_rw_become(rw, fidc_rw_expand(rw, sum, fidc_rw_out(rw)->sizes, fidc_rw_out(rw)->rank));
    }
    fidc_value *self = scaled(rw, fidc_rw_value(rw, 0), 3);
    if (!self || !sum) return fidc_rw_become(rw, NULL);
    return fidc_rw_become(rw, fidc_rw_cast(rw, RW(rw, add_Tensor, fidc_v(self), fidc_v(sum)), (fid_dtype)fidc_rw_out(rw)->dtype)); /* bools were counted */
}

/* The sum over the batch is one product whose inner dimension is batch times inner: (n, b m) (b m, p). */
static fid_status addbmm(fidc_rewriter *rw) {
    fidc_value *a = fidc_rw_value(rw, 1), *b = fidc_rw_value(rw, 2);
    if (a->rank != 3 || b->rank != 3) return fidc_rw_keep(rw);
    const fidc_expr *inner = fidc_expr_binary(rw->program, FIDC_EXPR_MUL, a->sizes[0], a->sizes[2]);
    fidc_value *left = fidc_rw_view(rw, fidc_rw_permute(rw, a, (int64_t[]){1, 0, 2}), (const fidc_expr *[]){a->sizes[1], inner}, 2);
    fidc_value *right = fidc_rw_view(rw, b, (const fidc_expr *[]){inner, b->sizes[2]}, 2);
    return added_product(rw, left && right ? RW(rw, mm, fidc_v(left), fidc_v(right)) : NULL);
}

static fid_status baddbmm(fidc_rewriter *rw) { return added_product(rw, RW(rw, bmm, fidc_rw_arg(rw, 1), fidc_rw_arg(rw, 2))); }
static fid_status addmv(fidc_rewriter *rw) { return added_product(rw, RW(rw, mv, fidc_rw_arg(rw, 1), fidc_rw_arg(rw, 2))); }

static fid_status addr(fidc_rewriter *rw) {
    fidc_value *column = fidc_rw_unsqueeze(rw, fidc_rw_value(rw, 1), 1), *row = fidc_rw_unsqueeze(rw, fidc_rw_value(rw, 2), 0);
    return added_product(rw, column && row ? RW(rw, mul_Tensor, fidc_v(column), fidc_v(row)) : NULL);
}

static fid_status product_of_list(fidc_rewriter *rw) {
    size_t count;
    const fidc_arg *items = fidc_rw_items(rw, 0, &count);
    fidc_value *all = count ? fidc_value_of(&items[0]) : NULL;
    for (size_t i = 1; i < count && all; i++) all = product(rw, all, fidc_value_of(&items[i]));
    return fidc_rw_become(rw, all);
}

/* A dimension of one element goes with any: what is opposite is summed first. */
static fidc_value *sum_opposite(fidc_rewriter *rw, fidc_value *x, int64_t dim, const fidc_value *other, int64_t other_dim) {
    if (!x || !other || dim >= x->rank || other_dim >= other->rank) return x;
    if (fidc_size(other, (size_t)other_dim) != 1 || fidc_size(x, (size_t)dim) == 1) return x;
    return fidc_rw_cast(rw, fidc_rw_sum_dim(rw, x, dim, true), (fid_dtype)x->dtype);
}

/* Both operands as matrices: what is summed at the right of the one and at the left of the other. */
static fid_status tensordot(fidc_rewriter *rw) {
    fidc_value *a = fidc_rw_value(rw, 0), *b = fidc_rw_value(rw, 1);
    int64_t summed[2][FID_MAX_RANK], order[2][FID_MAX_RANK];
    size_t count, other;
    if (!fidc_rw_ints(rw, 2, summed[0], &count) || !fidc_rw_ints(rw, 3, summed[1], &other) || count != other) return fidc_rw_keep(rw);
    for (size_t i = 0; i < count; i++) {
        int64_t at_a = fidc_wrap(summed[0][i], a ? a->rank : 0), at_b = fidc_wrap(summed[1][i], b ? b->rank : 0);
        a = sum_opposite(rw, a, at_a, b, at_b);
        b = sum_opposite(rw, b, at_b, a, at_a);
    }
    if (!a || !b) return fidc_rw_become(rw, NULL);
    bool used[2][FID_MAX_RANK] = {{false}};
    const fidc_value *operands[2] = {a, b};
    for (size_t side = 0; side < 2; side++) {
        size_t free_count = operands[side]->rank - count, at = side ? count : 0;
        for (size_t i = 0; i < count; i++) {
            summed[side][i] = fidc_wrap(summed[side][i], operands[side]->rank);
            if (count > operands[side]->rank || used[side][summed[side][i]]) return fidc_rw_refuse(rw, "a dimension is summed twice");
            used[side][summed[side][i]] = true;
            order[side][side ? i : free_count + i] = summed[side][i];
        }
        for (size_t d = 0; d < operands[side]->rank; d++) {
            if (!used[side][d]) order[side][at++] = (int64_t)d;
        }
    }
    fidc_value *x = fidc_rw_permute(rw, a, order[0]), *y = fidc_rw_permute(rw, b, order[1]);
    if (!x || !y) return fidc_rw_become(rw, NULL);
    const fidc_expr *inner = fidc_expr_product(rw->program, y->sizes, count);
    const fidc_expr *rows_columns[2][2] = {{fidc_expr_product(rw->program, x->sizes, x->rank - count), inner},
                                           {inner, fidc_expr_product(rw->program, y->sizes + count, y->rank - count)}};
    x = fidc_rw_view(rw, x, rows_columns[0], 2);
    y = fidc_rw_view(rw, y, rows_columns[1], 2);
    if (!x || !y) return fidc_rw_become(rw, NULL);
    return fidc_rw_become(rw, fidc_rw_view(rw, RW(rw, mm, fidc_v(x), fidc_v(y)), fidc_rw_out(rw)->sizes, fidc_rw_out(rw)->rank));
}

static const fidc_rule_row rows[] = {
    {FID_OPID_addbmm, addbmm},
    {FID_OPID_addmv, addmv},
    {FID_OPID_linalg_multi_dot, product_of_list},
    {FID_OPID_chain_matmul, product_of_list},
    {FID_OPID_tensordot, tensordot},
    {FID_OPID_outer, outer},
    {FID_OPID_bilinear, bilinear},
    {FID_OPID_einsum, einsum},
};

static const fidc_rule_row portable[] = {
    {FID_OPID_matmul, matmul},
    {FID_OPID_mv, matmul},
    {FID_OPID_dot, matmul},
    {FID_OPID_vdot, matmul},
    {FID_OPID_linear, linear},
    {FID_OPID_baddbmm, baddbmm},
    {FID_OPID_addr, addr},
};

/* Complex: the product alone is taken apart (decompose_complex.c). */
static bool is_complex(const fidc_rewriter *rw) { return fid_dtype_is_complex((fid_dtype)fidc_rw_out(rw)->dtype); }
static fid_status complex_addmm(fidc_rewriter *rw) {
    return is_complex(rw) ? added_product(rw, RW(rw, mm, fidc_rw_arg(rw, 1), fidc_rw_arg(rw, 2))) : fidc_rw_keep(rw);
}
static fid_status complex_baddbmm(fidc_rewriter *rw) { return is_complex(rw) ? baddbmm(rw) : fidc_rw_keep(rw); }
static fid_status complex_addr(fidc_rewriter *rw) { return is_complex(rw) ? addr(rw) : fidc_rw_keep(rw); }

static const fidc_rule_row complex_rows[] = {
    {FID_OPID_addmm, complex_addmm},
    {FID_OPID_baddbmm, complex_baddbmm},
    {FID_OPID_addr, complex_addr},
};

void fidc_rules_add_complex_product(fidc_rules *rules) { fidc_rules_add(rules, complex_rows, sizeof complex_rows / sizeof complex_rows[0]); }
void fidc_rules_add_product(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
void fidc_rules_add_portable_product(fidc_rules *rules) { fidc_rules_add(rules, portable, sizeof portable / sizeof portable[0]); }
