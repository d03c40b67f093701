/* aten::gradient: for each dimension the difference quotient between the neighbours of an element, and at both ends a one-sided one
 * of first or second order. The distance is a number, or follows from coordinates. */
#include "compiler/passes/rewrite.h"

/* How the overloads order their arguments; 0: there is none. */
typedef struct form { fid_op_id op; uint32_t spacing, dim, edge_order; } form;

static const form forms[] = {
    {FID_OPID_gradient_scalarint, 1, 2, 3},      {FID_OPID_gradient_scalararray, 1, 2, 3},    {FID_OPID_gradient_array, 0, 1, 2},
    {FID_OPID_gradient_scalarrayint, 1, 2, 3},   {FID_OPID_gradient_scalarrayarray, 1, 2, 3}, {FID_OPID_gradient_tensorarrayint, 1, 2, 3},
    {FID_OPID_gradient_tensorarray, 1, 2, 3},
};

typedef struct gradient {
    fidc_rewriter *rw;
    fidc_value *x;
    int64_t dim, edge_order;
} gradient;

/* Elements [start, end) along the dimension; end 0: to the last one. */
static fidc_value *part(const gradient *g, int64_t start, int64_t end) {
    return fidc_rw_slice(g->rw, g->x, g->dim, fidc_i(start), end ? fidc_i(end) : fidc_none());
}

static fidc_value *add(const gradient *g, fidc_value *a, fidc_value *b) { return fidc_rw_op2(g->rw, FID_OPID_add_Tensor, a, b); }
static fidc_value *sub(const gradient *g, fidc_value *a, fidc_value *b) { return fidc_rw_op2(g->rw, FID_OPID_sub_Tensor, a, b); }
static fidc_value *mul(const gradient *g, fidc_value *a, fidc_value *b) { return fidc_rw_op2(g->rw, FID_OPID_mul_Tensor, a, b); }
static fidc_value *quotient(const gradient *g, fidc_value *a, fidc_value *b) { return fidc_rw_op2(g->rw, FID_OPID_div_Tensor, a, b); }
static fidc_value *times(const gradient *g, fidc_value *a, double number) { return fidc_rw_opd(g->rw, FID_OPID_mul_Scalar, a, number); }
static fidc_value *over(const gradient *g, fidc_value *a, double number) { return fidc_rw_opd(g->rw, FID_OPID_div_Scalar, a, number); }

static fidc_value *joined(const gradient *g, fidc_value *first, fidc_value *center, fidc_value *last) {
    return first && center && last ? fidc_rw_cat(g->rw, (fidc_value *[]){first, center, last}, 3, g->dim) : NULL;
}

/* ---- Equal distances ---- */

static fidc_value *three_terms(const gradient *g, int64_t start, double a, double b, double c) {
    int64_t end = start + 3;
    fidc_value *left = times(g, part(g, start, start + 1), a), *middle = times(g, part(g, start + 1, start + 2), b);
    return add(g, add(g, left, middle), times(g, part(g, start + 2, end), c));
}

static fidc_value *even(const gradient *g, double step) {
    fidc_value *center = over(g, over(g, sub(g, part(g, 2, 0), part(g, 0, -2)), step), 2), *first, *last;
    if (g->edge_order == 1) {
        first = sub(g, part(g, 1, 2), part(g, 0, 1));
        last = sub(g, part(g, -1, 0), part(g, -2, -1));
    } else {
        first = three_terms(g, 0, -1.5, 2, -0.5);
        last = three_terms(g, -3, 0.5, -2, 1.5);
    }
    return joined(g, over(g, first, step), center, over(g, last, step));
}

/* ---- Coordinates ---- */

/* Weights of three neighbours with distances p and q between them, for the derivative at one of them. */
typedef struct weights { fidc_value *a, *b, *c; } weights;

static weights at_middle(const gradient *g, fidc_value *p, fidc_value *q) {
    fidc_value *both = add(g, p, q);
    return (weights){times(g, quotient(g, quotient(g, q, p), both), -1), quotient(g, quotient(g, sub(g, q, p), p), q),
                     quotient(g, quotient(g, p, q), both)};
}

/* At the first of three: the distance next to it is p. `sign` -1: at the last, with p next to it, and a and c change places. */
static weights at_end(const gradient *g, fidc_value *p, fidc_value *q, double sign) {
    fidc_value *both = add(g, p, q), *twice = add(g, both, p);
    weights w = {times(g, quotient(g, quotient(g, twice, p), both), -sign), times(g, quotient(g, quotient(g, both, p), q), sign),
                 times(g, quotient(g, quotient(g, p, q), both), -sign)};
    return sign > 0 ? w : (weights){w.c, w.b, w.a};
}

static fidc_value *weighted(const gradient *g, weights w, int64_t start, int64_t end) {
    int64_t second = start + 1, third = start + 2; /* of the first of each three; end counts the last of the firsts */
    fidc_value *left = mul(g, part(g, start, end), w.a), *middle = mul(g, part(g, second, end + 1), w.b);
    return add(g, add(g, left, middle), mul(g, part(g, third, end + 2), w.c));
}

/* Distances along the dimension, of rank one, in the shape that broadcasts. */
static fidc_value *distances(const gradient *g, fidc_value *coordinates) {
    const fidc_expr *sizes[FID_MAX_RANK];
    fidc_rewriter *rw = g->rw;
    fidc_value *later = fidc_rw_slice(rw, coordinates, 0, fidc_i(1), fidc_none()), *earlier = fidc_rw_slice(rw, coordinates, 0, fidc_i(0), fidc_i(-1));
    fidc_value *gaps = fidc_rw_op2(rw, FID_OPID_sub_Tensor, later, earlier);
    for (size_t d = 0; d < g->x->rank; d++) sizes[d] = fidc_expr_const(rw->program, 1);
    if (gaps) sizes[g->dim] = gaps->sizes[0];
    return fidc_rw_view(rw, gaps, sizes, g->x->rank);
}

static fidc_value *uneven(const gradient *g, fidc_value *coordinates) {
    gradient gaps = {g->rw, distances(g, coordinates), g->dim, 0};
    if (!gaps.x) return NULL;
    fidc_value *head = part(&gaps, 0, 1), *tail = part(&gaps, -1, 0), *first, *last;
    fidc_value *center = weighted(g, at_middle(g, part(&gaps, 0, -1), part(&gaps, 1, 0)), 0, -2);
    if (g->edge_order == 1) {
        first = quotient(g, sub(g, part(g, 1, 2), part(g, 0, 1)), head);
        last = quotient(g, sub(g, part(g, -1, 0), part(g, -2, -1)), tail);
    } else {
        first = weighted(g, at_end(g, head, part(&gaps, 1, 2), 1), 0, 1);
        last = weighted(g, at_end(g, tail, part(&gaps, -2, -1), -1), -3, -2);
    }
    return joined(g, first, center, last);
}

/* ---- The rule ---- */

static const form *form_of(const fidc_rewriter *rw) {
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (fidc_is(rw->node, forms[i].op)) return &forms[i];
    }
    return NULL;
}

/* Distance number i: a list has one for each dimension, a number holds for all. */
static fidc_value *along(const gradient *g, const form *f, size_t i) {
    size_t count = 0;
    const fidc_arg *items = f->spacing ? fidc_rw_items(g->rw, f->spacing, &count) : NULL;
    const fidc_arg *step = !count ? NULL : count == 1 ? items : i < count ? &items[i] : NULL;
    if (!step || step->kind == FIDC_ARG_NONE) return count > 1 ? NULL : even(g, 1);
    fidc_value *value = fidc_value_of(step);
    if (value && value->type == FIDC_TENSOR) return value->rank == 1 ? uneven(g, value) : NULL;
    if (step->kind == FIDC_ARG_INT) return even(g, (double)step->as.integer);
    return step->kind == FIDC_ARG_DOUBLE ? even(g, step->as.number) : NULL;
}

static fid_status rewrite(fidc_rewriter *rw) {
    const form *f = form_of(rw);
    fidc_value *x = fidc_rw_value(rw, 0), *values[FID_MAX_RANK] = {NULL};
    int64_t dims[FID_MAX_RANK];
    size_t count;
    if (!fidc_rw_ints(rw, f->dim, dims, &count)) return fidc_rw_refuse(rw, "dimensions that are not constant");
    for (size_t d = 0; !count && d < x->rank; d++) dims[d] = (int64_t)d;
    if (!count) count = x->rank;
    if (count != rw->node->output_count) return fidc_rw_refuse(rw, "not one result for each dimension");
    for (size_t i = 0; i < count; i++) {
        gradient g = {rw, x, fidc_wrap(dims[i], x->rank), fidc_rw_int(rw, f->edge_order, 1)};
        values[i] = along(&g, f, i);
        if (!values[i]) return fidc_rw_refuse(rw, "distances must be constant numbers or vectors of coordinates");
    }
    return fidc_rw_become_all(rw, values, count);
}

void fidc_rules_add_gradient(fidc_rules *rules) {
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        fidc_rules_add(rules, (fidc_rule_row[]){{forms[i].op, rewrite}}, 1);
    }
}
