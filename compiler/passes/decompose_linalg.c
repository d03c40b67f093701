/* Linear algebra: second names and composites become the few operators that have a kernel. */
#include "compiler/passes/rewrite.h"

static fidc_value *output(const fidc_node *node, uint32_t i) { return node ? node->outputs[i] : NULL; }

#define NODE(rw, id, ...)                                                                                              \
    fidc_rw_emit_node((rw), FID_OPID_##id, (const fidc_arg[]){__VA_ARGS__}, sizeof((const fidc_arg[]){__VA_ARGS__}) / sizeof(fidc_arg), 0)

static fid_status become_first(fidc_rewriter *rw, const fidc_node *node, size_t count) {
    return node ? fidc_rw_become_all(rw, node->outputs, count) : fidc_rw_become(rw, NULL);
}

/* The conjugate transpose of the last two dimensions. */
static fidc_value *adjoint(fidc_rewriter *rw, fidc_value *x) {
    x = fidc_rw_transpose(rw, x, -2, -1);
    return x && fid_dtype_is_complex((fid_dtype)x->dtype) ? RW(rw, conj_physical, fidc_v(x)) : x;
}

/* ---- Systems ---- */

static fidc_value *inverse_of(fidc_rewriter *rw, fidc_value *x) { return x ? output(NODE(rw, linalg_inv_ex, fidc_v(x), fidc_b(true)), 0) : NULL; }

static fid_status inverse(fidc_rewriter *rw) { return fidc_rw_become(rw, inverse_of(rw, fidc_rw_value(rw, 0))); }

static fid_status solve(fidc_rewriter *rw) {
    return become_first(rw, NODE(rw, _linalg_solve_ex, fidc_rw_arg(rw, 0), fidc_rw_arg(rw, 1), fidc_b(fidc_rw_bool(rw, 2, true)), fidc_b(true)), 1);
}

static fid_status solve_ex(fidc_rewriter *rw) {
    fidc_node *node = NODE(rw, _linalg_solve_ex, fidc_rw_arg(rw, 0), fidc_rw_arg(rw, 1), fidc_b(fidc_rw_bool(rw, 2, true)), fidc_b(fidc_rw_bool(rw, 3, false)));
    return node ? fidc_rw_become_all(rw, (fidc_value *[]){node->outputs[0], node->outputs[3]}, 2) : fidc_rw_become(rw, NULL);
}

static fid_status lu_factor(fidc_rewriter *rw) {
    return become_first(rw, NODE(rw, linalg_lu_factor_ex, fidc_rw_arg(rw, 0), fidc_b(fidc_rw_bool(rw, 1, true)), fidc_b(true)), 2);
}

static fid_status lu_with_info(fidc_rewriter *rw) {
    fidc_arg check = fidc_b(fidc_rw_bool(rw, 2, true));
    return become_first(rw, NODE(rw, linalg_lu_factor_ex, fidc_rw_arg(rw, 0), fidc_b(fidc_rw_bool(rw, 1, true)), check), 3);
}

static fid_status lu_solve(fidc_rewriter *rw) {
    return fidc_rw_become(rw, RW(rw, linalg_lu_solve, fidc_rw_arg(rw, 1), fidc_rw_arg(rw, 2), fidc_rw_arg(rw, 0), fidc_b(true), fidc_b(false)));
}

static fid_status determinant(fidc_rewriter *rw) { return become_first(rw, NODE(rw, _linalg_det, fidc_rw_arg(rw, 0)), 1); }
static fid_status log_determinant(fidc_rewriter *rw) { return become_first(rw, NODE(rw, _linalg_slogdet, fidc_rw_arg(rw, 0)), 2); }

/* NaN below zero; a complex determinant has the logarithm of its sign, too. */
static fid_status logdet(fidc_rewriter *rw) {
    fidc_node *node = NODE(rw, _linalg_slogdet, fidc_rw_arg(rw, 0));
    fidc_value *sign = output(node, 0), *size = output(node, 1);
    if (!node) return fidc_rw_become(rw, NULL);
    if (fid_dtype_is_complex((fid_dtype)sign->dtype)) return fidc_rw_become(rw, fidc_rw_op2(rw, FID_OPID_add_Tensor, size, fidc_rw_op1(rw, FID_OPID_log, sign)));
    fidc_value *negative = RW(rw, lt_Scalar, fidc_v(sign), fidc_d(0)), *nan = fidc_value_scalar(rw->graph, (fid_dtype)size->dtype, NAN);
    return fidc_rw_become(rw, fidc_rw_where(rw, negative, nan, size));
}

static fid_status cholesky(fidc_rewriter *rw) {
    return become_first(rw, NODE(rw, linalg_cholesky_ex, fidc_rw_arg(rw, 0), fidc_b(fidc_rw_bool(rw, 1, false)), fidc_b(true)), 1);
}

/* The check moves into the operator that made `info`. */
static fid_status check_errors(fidc_rewriter *rw) {
    static const struct { fid_op_id op; uint32_t flag; } checked[] = {
        {FID_OPID_linalg_inv_ex, 1}, {FID_OPID_linalg_cholesky_ex, 2}, {FID_OPID_linalg_lu_factor_ex, 2}, {FID_OPID__linalg_solve_ex, 3}};
    const fidc_value *info = fidc_rw_value(rw, 0);
    for (size_t i = 0; i < sizeof checked / sizeof checked[0] && info && info->origin == FIDC_FROM_NODE; i++) {
        if (fidc_is(info->producer, checked[i].op) && info->producer->arg_count > checked[i].flag) info->producer->args[checked[i].flag] = fidc_b(true);
    }
    return fidc_rw_drop(rw);
}

/* ---- Decompositions ---- */

static fid_status qr(fidc_rewriter *rw) {
    fidc_arg mode = {.kind = FIDC_ARG_STRING, .as.text = fidc_rw_bool(rw, 1, true) ? "reduced" : "complete"};
    return become_first(rw, NODE(rw, linalg_qr, fidc_rw_arg(rw, 0), mode), 2);
}

static fidc_node *singular(fidc_rewriter *rw, fidc_value *x, bool full, bool vectors) {
    return x ? NODE(rw, _linalg_svd, fidc_v(x), fidc_b(full), fidc_b(vectors), fidc_none()) : NULL;
}

static fid_status linalg_svd(fidc_rewriter *rw) { return become_first(rw, singular(rw, fidc_rw_value(rw, 0), fidc_rw_bool(rw, 1, true), true), 3); }

static fid_status svdvals(fidc_rewriter *rw) { return fidc_rw_become(rw, output(singular(rw, fidc_rw_value(rw, 0), false, false), 1)); }

/* V as it is; without vectors, U and V are zeros. */
static fid_status svd(fidc_rewriter *rw) {
    bool vectors = fidc_rw_bool(rw, 2, true);
    fidc_node *node = singular(rw, fidc_rw_value(rw, 0), !fidc_rw_bool(rw, 1, true), vectors);
    fidc_value *results[3] = {output(node, 0), output(node, 1), output(node, 2)};
    if (vectors) results[2] = adjoint(rw, results[2]);
    for (uint32_t i = 0; i < 3 && !vectors; i += 2) {
        const fidc_value *old = rw->node->outputs[i];
        results[i] = fidc_rw_full(rw, old->sizes, old->rank, (fid_dtype)old->dtype, fidc_i(0));
    }
    return results[0] && results[1] && results[2] ? fidc_rw_become_all(rw, results, 3) : fidc_rw_become(rw, NULL);
}

static fidc_node *eigen(fidc_rewriter *rw, fidc_value *x, const char *triangle, bool vectors) {
    fidc_arg text = {.kind = FIDC_ARG_STRING, .as.text = triangle};
    return x ? NODE(rw, _linalg_eigh, fidc_v(x), text, fidc_b(vectors)) : NULL;
}

static fid_status eigh(fidc_rewriter *rw) { return become_first(rw, eigen(rw, fidc_rw_value(rw, 0), fidc_rw_string(rw, 1, "L"), true), 2); }
static fid_status eigvalsh(fidc_rewriter *rw) { return become_first(rw, eigen(rw, fidc_rw_value(rw, 0), fidc_rw_string(rw, 1, "L"), false), 1); }

/* ---- Powers ---- */

static fidc_value *identity_like(fidc_rewriter *rw, const fidc_value *x) {
    if (x->rank < 2) return NULL;
    fidc_arg n = fidc_rw_size(rw, x, x->rank - 1u);
    fidc_value *one = RW(rw, eye, n, fidc_t((fid_dtype)x->dtype));
    return one ? fidc_rw_expand(rw, one, x->sizes, x->rank) : NULL;
}

/* Squares, and those of them that the power's bits name. */
static fid_status matrix_power(fidc_rewriter *rw) {
    fidc_value *square = fidc_rw_value(rw, 0), *power = NULL;
    int64_t n = fidc_rw_int(rw, 1, 1);
    if (n == 0) return fidc_rw_become(rw, identity_like(rw, square));
    if (n < 0) square = inverse_of(rw, square);
    for (uint64_t bits = n < 0 ? 0 - (uint64_t)n : (uint64_t)n; bits && square; bits >>= 1) {
        if (bits & 1) power = power ? fidc_rw_op2(rw, FID_OPID_matmul, power, square) : square;
        if (bits > 1) square = fidc_rw_op2(rw, FID_OPID_matmul, square, square);
    }
    return fidc_rw_become(rw, power);
}

/* ---- Tensors as matrices ---- */

static fid_status tensorinv(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    size_t first = (size_t)fidc_rw_int(rw, 1, 2);
    if (first > x->rank) return fidc_rw_keep(rw);
    const fidc_expr *sizes[] = {fidc_expr_product(rw->program, x->sizes, first), fidc_expr_product(rw->program, x->sizes + first, x->rank - first)};
    return fidc_rw_become(rw, fidc_rw_view(rw, inverse_of(rw, fidc_rw_view(rw, x, sizes, 2)), fidc_rw_out(rw)->sizes, fidc_rw_out(rw)->rank));
}

/* The dimensions of `self` that are named go to its end. */
static fid_status tensorsolve(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *b = fidc_rw_value(rw, 1);
    int64_t named[FID_MAX_RANK], order[FID_MAX_RANK];
    size_t count, at = 0;
    bool moved[FID_MAX_RANK] = {false};
    if (!fidc_rw_ints(rw, 2, named, &count)) return fidc_rw_keep(rw);
    for (size_t i = 0; i < count; i++) {
        named[i] = fidc_wrap(named[i], x->rank);
        if (moved[named[i]] || count > x->rank) return fidc_rw_refuse(rw, "a dimension is named twice");
        moved[named[i]] = true;
    }
    for (int64_t d = 0; d < x->rank; d++)
        if (!moved[d]) order[at++] = d;
    for (size_t i = 0; i < count; i++) order[at++] = named[i];
    if (count) x = fidc_rw_permute(rw, x, order);
    const fidc_expr *n = fidc_expr_product(rw->program, b->sizes, b->rank), *sizes[] = {n, n};
    fidc_value *matrix = fidc_rw_view(rw, x, sizes, 2), *vector = fidc_rw_view(rw, b, sizes, 1);
    if (!matrix || !vector) return fidc_rw_become(rw, NULL);
    fidc_value *result = output(NODE(rw, _linalg_solve_ex, fidc_v(matrix), fidc_v(vector), fidc_b(true), fidc_b(true)), 0);
    return fidc_rw_become(rw, fidc_rw_view(rw, result, fidc_rw_out(rw)->sizes, fidc_rw_out(rw)->rank));
}

static fid_status orgqr(fidc_rewriter *rw) { return fidc_rw_rename(rw, FID_OPID_linalg_householder_product); }
static fid_status matrix_exp(fidc_rewriter *rw) { return fidc_rw_rename(rw, FID_OPID_linalg_matrix_exp); }

/* ---- What has no kernel ---- */

static fid_status refuse_eig(fidc_rewriter *rw) {
    return fidc_rw_refuse(rw, "there is no kernel for eigenvalues of matrices that are not Hermitian; if yours are, use torch.linalg.eigh or eigvalsh");
}
static fid_status refuse_ldl(fidc_rewriter *rw) {
    return fidc_rw_refuse(rw, "there is no kernel for the pivoted LDL decomposition; use torch.linalg.solve, lu_factor or cholesky");
}
static fid_status refuse_lstsq(fidc_rewriter *rw) {
    return fidc_rw_refuse(rw, "there is no kernel for least squares; use torch.linalg.pinv(A) @ B, or QR with solve_triangular");
}

static const fidc_rule_row rows[] = {
    {FID_OPID_linalg_inv, inverse},
    {FID_OPID_inverse, inverse},
    {FID_OPID_linalg_solve, solve},
    {FID_OPID_linalg_solve_ex, solve_ex},
    {FID_OPID_linalg_lu_factor, lu_factor},
    {FID_OPID__lu_with_info, lu_with_info},
    {FID_OPID_lu_solve, lu_solve},
    {FID_OPID_det, determinant},
    {FID_OPID_linalg_det, determinant},
    {FID_OPID_slogdet, log_determinant},
    {FID_OPID_linalg_slogdet, log_determinant},
    {FID_OPID_logdet, logdet},
    {FID_OPID_linalg_cholesky, cholesky},
    {FID_OPID__linalg_check_errors, check_errors},
    {FID_OPID_qr, qr},
    {FID_OPID_orgqr, orgqr},
    {FID_OPID_linalg_svd, linalg_svd},
    {FID_OPID_linalg_svdvals, svdvals},
    {FID_OPID_svd, svd},
    {FID_OPID_linalg_eigh, eigh},
    {FID_OPID_linalg_eigvalsh, eigvalsh},
    {FID_OPID_matrix_exp, matrix_exp},
    {FID_OPID_linalg_matrix_power, matrix_power},
    {FID_OPID_matrix_power, matrix_power},
    {FID_OPID_linalg_tensorinv, tensorinv},
    {FID_OPID_linalg_tensorsolve, tensorsolve},
    {FID_OPID_linalg_eig, refuse_eig},
    {FID_OPID_linalg_eigvals, refuse_eig},
    {FID_OPID__linalg_eigvals, refuse_eig},
    {FID_OPID_linalg_ldl_factor, refuse_ldl},
    {FID_OPID_linalg_ldl_factor_ex, refuse_ldl},
    {FID_OPID_linalg_ldl_solve, refuse_ldl},
    {FID_OPID_linalg_lstsq, refuse_lstsq},
};

void fidc_rules_add_linalg(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
