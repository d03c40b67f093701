/* Norms of matrices, and what rests on singular values: ranks, condition numbers, pseudo-inverses. */
#include <float.h>

#include "compiler/passes/rewrite.h"

static const int64_t last_dim[] = {-1}, last_two[] = {-2, -1};

static fidc_arg text_arg(const char *text) { return (fidc_arg){.kind = FIDC_ARG_STRING, .as.text = text}; }

/* Results in the shape and dtype of the node's. */
static fid_status become_shaped(fidc_rewriter *rw, fidc_value *x) {
    x = fidc_rw_cast(rw, x, (fid_dtype)fidc_rw_out(rw)->dtype);
    return fidc_rw_become(rw, fidc_rw_view(rw, x, fidc_rw_out(rw)->sizes, fidc_rw_out(rw)->rank));
}

/* ---- Singular values ---- */

/* Dimensions a and b last. */
static fidc_value *matrices(fidc_rewriter *rw, fidc_value *x, int64_t a, int64_t b) {
    int64_t order[FID_MAX_RANK];
    size_t at = 0;
    if (!x || x->rank < 2) return NULL;
    a = fidc_wrap(a, x->rank), b = fidc_wrap(b, x->rank);
    if (a == b) return NULL;
    for (int64_t d = 0; d < x->rank; d++)
        if (d != a && d != b) order[at++] = d;
    order[at] = a, order[at + 1] = b;
    return fidc_rw_permute(rw, x, order);
}

static fidc_value *singular_values(fidc_rewriter *rw, fidc_value *x) {
    fidc_arg args[] = {fidc_v(x), fidc_b(false), fidc_b(false), fidc_none()};
    fidc_node *node = x ? fidc_rw_emit_node(rw, FID_OPID__linalg_svd, args, 4, 0) : NULL;
    return node ? node->outputs[1] : NULL;
}

static fidc_value *over_last(fidc_rewriter *rw, fid_op_id op, fidc_value *x, bool keepdim) {
    fidc_arg args[] = {fidc_v(x), fidc_ints(rw->program, last_dim, 1), fidc_b(keepdim)};
    return x ? fidc_rw_emit(rw, op, args, 3) : NULL;
}

/* ---- Norms ---- */

/* A norm's value from the dimensions (a, b): by singular values. */
static fid_status singular_norm(fidc_rewriter *rw, fid_op_id op, int64_t a, int64_t b) {
    fidc_value *x = fidc_rw_value(rw, 0);
    fid_dtype dtype = (fid_dtype)fidc_rw_out(rw)->dtype;
    if (!fid_dtype_is_complex((fid_dtype)x->dtype)) x = fidc_rw_cast(rw, x, dtype);
    return become_shaped(rw, over_last(rw, op, singular_values(rw, matrices(rw, x, a, b)), true));
}

/* The two dimensions of a matrix norm: argument `i`, by default the last two. */
static bool norm_dims(fidc_rewriter *rw, uint32_t i, int64_t *dims) {
    size_t count;
    memcpy(dims, last_two, sizeof last_two);
    if (fidc_rw_is_none(rw, i)) return fidc_rw_value(rw, 0)->rank >= 2;
    int64_t given[FID_MAX_RANK];
    if (!fidc_rw_ints(rw, i, given, &count) || (count != 2 && count != 0)) return false;
    if (count) memcpy(dims, given, sizeof last_two);
    return fidc_rw_value(rw, 0)->rank >= 2;
}

/* Sums of magnitudes along one of the two dimensions (1: columns, inf: rows), then the extreme along the other; 2: singular values. */
static fid_status matrix_norm_of(fidc_rewriter *rw, double order, const int64_t *dims) {
    fid_dtype dtype = (fid_dtype)fidc_rw_out(rw)->dtype;
    fidc_value *x = fidc_rw_value(rw, 0);
    bool columns = fabs(order) == 1, complex = fid_dtype_is_complex((fid_dtype)x->dtype);
    fid_op_id extreme = order > 0 ? FID_OPID_amax : FID_OPID_amin;
    if (fabs(order) == 2) return singular_norm(rw, extreme, dims[0], dims[1]);
    if (!columns && !isinf(order)) return fidc_rw_keep(rw);
    int64_t summed = fidc_wrap(dims[columns ? 0 : 1], x->rank), kept = fidc_wrap(dims[columns ? 1 : 0], x->rank);
    fidc_value *size = fidc_rw_op1(rw, FID_OPID_abs, complex ? x : fidc_rw_cast(rw, x, dtype));
    size = fidc_rw_cast(rw, size, dtype);
    if (!size) return fidc_rw_become(rw, NULL);
    fidc_value *sums = RW(rw, sum_dim_IntList, fidc_v(size), fidc_ints(rw->program, &summed, 1), fidc_b(true), fidc_t(dtype));
    fidc_value *norm = sums ? fidc_rw_emit(rw, extreme, (fidc_arg[]){fidc_v(sums), fidc_ints(rw->program, &kept, 1), fidc_b(true)}, 3) : NULL;
    return become_shaped(rw, norm);
}

static fid_status matrix_norm(fidc_rewriter *rw) {
    int64_t dims[2];
    return norm_dims(rw, 2, dims) ? matrix_norm_of(rw, fidc_rw_double(rw, 1, 2), dims) : fidc_rw_keep(rw);
}

/* Without an order the 2-norm of all elements; of one dimension the vector norm; of two a matrix norm. */
static fid_status linalg_norm(fidc_rewriter *rw) {
    size_t count;
    int64_t dims[2];
    fidc_rw_items(rw, 2, &count);
    if (fidc_rw_is_none(rw, 2)) count = 0;
    bool vector = fidc_rw_is_none(rw, 1) || count == 1 || (count == 0 && fidc_rw_value(rw, 0)->rank < 2);
    if (!vector) return norm_dims(rw, 2, dims) ? matrix_norm_of(rw, fidc_rw_double(rw, 1, 2), dims) : fidc_rw_keep(rw);
    fidc_arg order = fidc_rw_is_none(rw, 1) ? fidc_d(2) : fidc_rw_arg(rw, 1);
    return fidc_rw_become(rw, RW(rw, linalg_vector_norm, fidc_rw_arg(rw, 0), order, fidc_rw_arg(rw, 2), fidc_rw_arg(rw, 3), fidc_rw_arg(rw, 4)));
}

/* "fro": the 2-norm of all elements of those dimensions. */
static fid_status frobenius(fidc_rewriter *rw, fidc_arg dims, uint32_t keepdim) {
    bool complex = fid_dtype_is_complex((fid_dtype)fidc_rw_value(rw, 0)->dtype); /* a dtype would drop the imaginary part */
    fidc_arg dtype = complex ? fidc_none() : fidc_t((fid_dtype)fidc_rw_out(rw)->dtype);
    return fidc_rw_become(rw, RW(rw, linalg_vector_norm, fidc_rw_arg(rw, 0), fidc_d(2), dims, fidc_rw_arg(rw, keepdim), dtype));
}

static fid_status frobenius_norm(fidc_rewriter *rw) { return frobenius(rw, fidc_rw_arg(rw, 1), 2); }

static fid_status named_norm(fidc_rewriter *rw) {
    int64_t dims[2];
    if (!norm_dims(rw, 2, dims)) return fidc_rw_keep(rw);
    if (strcmp(fidc_rw_string(rw, 1, "fro"), "nuc") == 0) return singular_norm(rw, FID_OPID_sum_dim_IntList, dims[0], dims[1]);
    return frobenius(rw, fidc_ints(rw->program, dims, 2), 3);
}

static fid_status nuclear_norm(fidc_rewriter *rw) {
    int64_t dims[2];
    return norm_dims(rw, 9, dims) ? singular_norm(rw, FID_OPID_sum_dim_IntList, dims[0], dims[1]) : fidc_rw_keep(rw);
}
static fid_status nuclear_norm_dim(fidc_rewriter *rw) {
    int64_t dims[2];
    return norm_dims(rw, 1, dims) ? singular_norm(rw, FID_OPID_sum_dim_IntList, dims[0], dims[1]) : fidc_rw_keep(rw);
}

/* ---- Condition numbers ---- */

/* The quotient of the extreme singular values; 0 for matrices without elements. */
static fid_status cond_by_values(fidc_rewriter *rw, bool largest_first) {
    fidc_value *values = singular_values(rw, fidc_rw_value(rw, 0));
    if (!values) return fidc_rw_become(rw, NULL);
    if (fidc_size(values, values->rank - 1u) == 0) {
        return fidc_rw_become(rw, fidc_rw_full(rw, fidc_rw_out(rw)->sizes, fidc_rw_out(rw)->rank, (fid_dtype)fidc_rw_out(rw)->dtype, fidc_i(0)));
    }
    fidc_value *top = over_last(rw, FID_OPID_amax, values, false), *low = over_last(rw, FID_OPID_amin, values, false);
    return fidc_rw_become(rw, largest_first ? fidc_rw_op2(rw, FID_OPID_div_Tensor, top, low) : fidc_rw_op2(rw, FID_OPID_div_Tensor, low, top));
}

/* Norm of the matrix times norm of its inverse; a singular matrix has infinity. */
static fid_status cond_by_inverse(fidc_rewriter *rw, fid_op_id norm, fidc_arg order) {
    fidc_value *x = fidc_rw_value(rw, 0);
    fidc_node *node = fidc_rw_emit_node(rw, FID_OPID_linalg_inv_ex, (fidc_arg[]){fidc_v(x), fidc_b(false)}, 2, 0);
    if (!node) return fidc_rw_become(rw, NULL);
    fidc_value *fails = RW(rw, gt_Scalar, fidc_v(node->outputs[1]), fidc_i(0));
    fails = fidc_rw_unsqueeze(rw, fidc_rw_unsqueeze(rw, fails, -1), -1);
    fidc_value *infinite = fidc_value_scalar(rw->graph, (fid_dtype)x->dtype, INFINITY);
    fidc_value *inverse = fidc_rw_where(rw, fails, infinite, node->outputs[0]), *norms[2], *operands[2] = {x, inverse};
    if (!inverse) return fidc_rw_become(rw, NULL);
    for (int i = 0; i < 2; i++) { /* norms have no shape function: their metas are the result's */
        const fid_op *op = &rw->program->ops->ops[norm];
        fidc_arg args[] = {fidc_v(operands[i]), order, fidc_ints(rw->program, last_two, 2), fidc_b(false), fidc_none()};
        fidc_node *made = fidc_node_create_raw(rw->graph, rw->node, op, args, 5);
        norms[i] = made ? fidc_node_add_output(made, NULL, FIDC_TENSOR) : NULL;
        if (!norms[i]) return FID_OUT_OF_MEMORY;
        norms[i]->dtype = fidc_rw_out(rw)->dtype;
        norms[i]->rank = fidc_rw_out(rw)->rank;
        norms[i]->sizes = fidc_rw_out(rw)->sizes;
        for (uint8_t d = 0; d < norms[i]->rank; d++) norms[i]->dim_order[d] = d;
        made->source = rw->node->source;
        made->module = rw->node->module;
    }
    return fidc_rw_become(rw, fidc_rw_op2(rw, FID_OPID_mul_Tensor, norms[0], norms[1]));
}

static fid_status cond(fidc_rewriter *rw) {
    double order = fidc_rw_double(rw, 1, 2);
    if (fabs(order) == 2) return cond_by_values(rw, order > 0);
    return cond_by_inverse(rw, FID_OPID_linalg_matrix_norm, fidc_rw_arg(rw, 1));
}
static fid_status cond_named(fidc_rewriter *rw) { return cond_by_inverse(rw, FID_OPID_linalg_matrix_norm_str_ord, fidc_rw_arg(rw, 1)); }

/* ---- Tolerances: values count that are above max(atol, rtol * the largest) ---- */

typedef struct tolerance {
    fidc_arg atol, rtol; /* numbers, or tensors of one number a matrix */
} tolerance;

static fidc_arg default_rtol(const fidc_value *x) {
    if (x->rank < 2) return fidc_none();
    int64_t m = fidc_size(x, x->rank - 2u), n = fidc_size(x, x->rank - 1u);
    bool wide = x->dtype == FID_FLOAT64 || x->dtype == FID_COMPLEX128;
    if (m < 0 || n < 0) return fidc_none();
    return fidc_d((wide ? DBL_EPSILON : (double)FLT_EPSILON) * (double)(m > n ? m : n));
}

/* PyTorch's defaults: atol 0; rtol by size and precision, unless atol is given and positive. NONE: the sizes are not constant. */
static tolerance tolerance_of(fidc_rewriter *rw, uint32_t atol, uint32_t rtol) {
    const fidc_value *x = fidc_rw_value(rw, 0);
    tolerance t = {fidc_rw_is_none(rw, atol) ? fidc_d(0) : fidc_rw_arg(rw, atol), fidc_rw_is_none(rw, rtol) ? default_rtol(x) : fidc_rw_arg(rw, rtol)};
    fidc_value *given = fidc_rw_value(rw, atol);
    if (!fidc_rw_is_none(rw, rtol) || fidc_rw_is_none(rw, atol) || t.rtol.kind == FIDC_ARG_NONE) return t;
    if (!given) {
        if (fidc_rw_double(rw, atol, 0) > 0) t.rtol = fidc_d(0);
        return t;
    }
    fidc_value *positive = RW(rw, gt_Scalar, fidc_v(given), fidc_i(0));
    fidc_value *zero = fidc_value_scalar(rw->graph, (fid_dtype)given->dtype, 0), *standard = fidc_value_scalar(rw->graph, (fid_dtype)given->dtype, t.rtol.as.number);
    fidc_value *chosen = fidc_rw_where(rw, positive, zero, standard);
    t.rtol = chosen ? fidc_v(chosen) : fidc_none();
    return t;
}

/* Sizes of values (..., k) that are above the tolerance, as bool. */
static fidc_value *above(fidc_rewriter *rw, fidc_value *sizes, const tolerance *t) {
    fidc_value *top = over_last(rw, FID_OPID_amax, sizes, true), *rtol = fidc_value_of(&t->rtol), *atol = fidc_value_of(&t->atol), *limit;
    if (!top || t->rtol.kind == FIDC_ARG_NONE) return NULL;
    if (rtol) limit = fidc_rw_op2(rw, FID_OPID_mul_Tensor, fidc_rw_unsqueeze(rw, rtol, -1), top);
    else limit = RW(rw, mul_Scalar, fidc_v(top), t->rtol);
    if (!limit) return NULL;
    fidc_value *least = atol ? fidc_rw_unsqueeze(rw, atol, -1) : fidc_value_scalar(rw->graph, (fid_dtype)limit->dtype, t->atol.kind == FIDC_ARG_DOUBLE ? t->atol.as.number : (double)t->atol.as.integer);
    limit = fidc_rw_op2(rw, FID_OPID_maximum, limit, least);
    return fidc_rw_op2(rw, FID_OPID_gt_Tensor, sizes, limit);
}

static fidc_value *eigenvalues(fidc_rewriter *rw, fidc_value *x, fidc_value **out_vectors) {
    fidc_arg args[] = {fidc_v(x), text_arg("L"), fidc_b(out_vectors != NULL)};
    fidc_node *node = fidc_rw_emit_node(rw, FID_OPID__linalg_eigh, args, 3, 0);
    if (out_vectors) *out_vectors = node ? node->outputs[1] : NULL;
    return node ? node->outputs[0] : NULL;
}

/* No elements, no singular values: zeros. */
static bool is_empty(const fidc_value *x) {
    return x->rank >= 2 && (fidc_size(x, x->rank - 1u) == 0 || fidc_size(x, x->rank - 2u) == 0);
}

static fid_status become_zeros(fidc_rewriter *rw) {
    const fidc_value *out = fidc_rw_out(rw);
    return fidc_rw_become(rw, fidc_rw_full(rw, out->sizes, out->rank, (fid_dtype)out->dtype, fidc_i(0)));
}

static const char needs_sizes[] = "the default tolerance needs constant sizes of the matrices";

static fid_status rank_with(fidc_rewriter *rw, const tolerance *t, bool hermitian) {
    fidc_value *x = fidc_rw_value(rw, 0);
    if (is_empty(x)) return become_zeros(rw);
    if (t->rtol.kind == FIDC_ARG_NONE) return fidc_rw_refuse(rw, needs_sizes);
    fidc_value *values = hermitian ? fidc_rw_op1(rw, FID_OPID_abs, eigenvalues(rw, x, NULL)) : singular_values(rw, x);
    fidc_value *counted = above(rw, values, t);
    if (!counted) return fidc_rw_become(rw, NULL);
    return fidc_rw_become(rw, RW(rw, sum_dim_IntList, fidc_v(counted), fidc_ints(rw->program, last_dim, 1), fidc_b(false), fidc_t(FID_INT64)));
}

static fid_status matrix_rank(fidc_rewriter *rw) {
    tolerance t = tolerance_of(rw, 1, 2);
    return rank_with(rw, &t, fidc_rw_bool(rw, 3, false));
}
static fid_status matrix_rank_tol(fidc_rewriter *rw) {
    tolerance t = {fidc_rw_arg(rw, 1), fidc_d(0)};
    return rank_with(rw, &t, fidc_rw_bool(rw, 2, false));
}

/* ---- Pseudo-inverses: V diag(1 / s) U^H, with 0 for values that do not count ---- */

static fidc_value *adjoint(fidc_rewriter *rw, fidc_value *x) {
    x = fidc_rw_transpose(rw, x, -2, -1);
    return x && fid_dtype_is_complex((fid_dtype)x->dtype) ? RW(rw, conj_physical, fidc_v(x)) : x;
}

static fid_status pinv_with(fidc_rewriter *rw, const tolerance *t, bool hermitian) {
    fidc_value *x = fidc_rw_value(rw, 0), *left, *right, *values, *sizes;
    if (is_empty(x)) return become_zeros(rw);
    if (t->rtol.kind == FIDC_ARG_NONE) return fidc_rw_refuse(rw, needs_sizes);
    if (hermitian) {
        values = eigenvalues(rw, x, &left);
        sizes = fidc_rw_op1(rw, FID_OPID_abs, values);
        right = adjoint(rw, left);
    } else {
        fidc_arg args[] = {fidc_v(x), fidc_b(false), fidc_b(true), fidc_none()};
        fidc_node *node = fidc_rw_emit_node(rw, FID_OPID__linalg_svd, args, 4, 0);
        if (!node) return fidc_rw_become(rw, NULL);
        values = sizes = node->outputs[1];
        left = adjoint(rw, node->outputs[2]);
        right = adjoint(rw, node->outputs[0]);
    }
    fidc_value *counted = above(rw, sizes, t), *zero = counted ? fidc_value_scalar(rw->graph, (fid_dtype)values->dtype, 0) : NULL;
    fidc_value *inverse = fidc_rw_where(rw, counted, fidc_rw_op1(rw, FID_OPID_reciprocal, values), zero);
    left = fidc_rw_op2(rw, FID_OPID_mul_Tensor, left, fidc_rw_unsqueeze(rw, inverse, -2));
    return fidc_rw_become(rw, fidc_rw_op2(rw, FID_OPID_matmul, left, right));
}

static fid_status pinv(fidc_rewriter *rw) {
    tolerance t = tolerance_of(rw, 1, 2);
    return pinv_with(rw, &t, fidc_rw_bool(rw, 3, false));
}
static fid_status pinv_rcond(fidc_rewriter *rw) {
    tolerance t = {fidc_d(0), fidc_rw_arg(rw, 1).kind == FIDC_ARG_NONE ? fidc_d(1e-15) : fidc_rw_arg(rw, 1)};
    return pinv_with(rw, &t, fidc_rw_bool(rw, 2, false));
}

static const fidc_rule_row rows[] = {
    {FID_OPID_linalg_norm, linalg_norm},
    {FID_OPID_linalg_norm_ord_str, named_norm},
    {FID_OPID_linalg_matrix_norm, matrix_norm},
    {FID_OPID_linalg_matrix_norm_str_ord, named_norm},
    {FID_OPID_frobenius_norm_dim, frobenius_norm},
    {FID_OPID_nuclear_norm, nuclear_norm},
    {FID_OPID_nuclear_norm_dim, nuclear_norm_dim},
    {FID_OPID_linalg_cond, cond},
    {FID_OPID_linalg_cond_p_str, cond_named},
    {FID_OPID_linalg_matrix_rank, matrix_rank_tol},
    {FID_OPID_linalg_matrix_rank_tol_tensor, matrix_rank_tol},
    {FID_OPID_linalg_matrix_rank_atol_rtol_tensor, matrix_rank},
    {FID_OPID_linalg_matrix_rank_atol_rtol_float, matrix_rank},
    {FID_OPID_pinverse, pinv_rcond},
    {FID_OPID_linalg_pinv, pinv_rcond},
    {FID_OPID_linalg_pinv_rcond_tensor, pinv_rcond},
    {FID_OPID_linalg_pinv_atol_rtol_float, pinv},
    {FID_OPID_linalg_pinv_atol_rtol_tensor, pinv},
};

void fidc_rules_add_norms(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
