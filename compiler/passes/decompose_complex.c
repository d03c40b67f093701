/* Complex numbers for operators whose kernels know only real ones: written with real and imaginary parts. So products and convolutions
 * of complex tensors run on the fast real kernels. The rules leave real operands alone. */
#include "compiler/passes/rewrite.h"

#define MOST_ARGS 16

static bool is_complex(const fidc_value *x) { return x && fid_dtype_is_complex((fid_dtype)x->dtype); }

static bool node_is_complex(const fidc_node *node) {
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (is_complex(fidc_value_of(&node->args[i]))) return true;
    return false;
}

static fidc_value *real_part(fidc_rewriter *rw, fidc_value *x) { return is_complex(x) ? RW(rw, real, fidc_v(x)) : x; }
static fidc_value *imaginary_part(fidc_rewriter *rw, fidc_value *x) { return is_complex(x) ? RW(rw, imag, fidc_v(x)) : NULL; }

static fidc_value *join(fidc_rewriter *rw, fidc_value *re, fidc_value *im) { return fidc_rw_op2(rw, FID_OPID_complex, re, im); }

/* a + b or a - b; an absent one is zero. */
static fidc_value *sum(fidc_rewriter *rw, fidc_value *a, fidc_value *b, bool minus) {
    if (!b) return a;
    if (!a) return minus ? fidc_rw_op1(rw, FID_OPID_neg, b) : b;
    return fidc_rw_op2(rw, minus ? FID_OPID_sub_Tensor : FID_OPID_add_Tensor, a, b);
}

/* ---- Linear in one or two arguments ---- */

enum { NONE_OF_THEM = 99 };

/* The node's operator on other arguments; NULL for an absent operand. */
static fidc_value *again(fidc_rewriter *rw, uint32_t a, fidc_value *x, uint32_t b, fidc_value *y, uint32_t bias, fidc_value *added) {
    fidc_arg args[MOST_ARGS];
    uint32_t count = rw->node->arg_count;
    if (!x || (b != NONE_OF_THEM && !y) || count > MOST_ARGS) return NULL;
    memcpy(args, rw->node->args, count * sizeof *args);
    args[a] = fidc_v(x);
    if (b != NONE_OF_THEM) args[b] = fidc_v(y);
    if (bias < count) args[bias] = fidc_v(added);
    for (uint32_t i = 0; i < count; i++) /* a complex result's dtype */
        if (args[i].kind == FIDC_ARG_DTYPE) args[i] = fidc_none();
    return fidc_rw_emit(rw, fidc_op_id(rw->program, rw->node->op), args, count);
}

/* (a + ib)(c + id) for an operator that is linear in arguments `left` and `right`, with a bias that is added. `conjugate`: of the left one. */
static fid_status bilinear(fidc_rewriter *rw, uint32_t left, uint32_t right, uint32_t bias, bool conjugate) {
    if (!node_is_complex(rw->node)) return fidc_rw_keep(rw);
    fidc_value *a = fidc_rw_value(rw, left), *b = fidc_rw_value(rw, right), *c = bias == NONE_OF_THEM ? NULL : fidc_rw_value(rw, bias);
    fidc_value *ar = real_part(rw, a), *ai = imaginary_part(rw, a), *br = real_part(rw, b), *bi = imaginary_part(rw, b);
    fidc_value *re = sum(rw, again(rw, left, ar, right, br, bias, real_part(rw, c)), again(rw, left, ai, right, bi, bias, NULL), !conjugate);
    fidc_value *cross = again(rw, left, ar, right, bi, bias, imaginary_part(rw, c));
    return fidc_rw_become(rw, join(rw, re, sum(rw, cross, again(rw, left, ai, right, br, bias, NULL), conjugate)));
}

static fid_status product_01(fidc_rewriter *rw) { return bilinear(rw, 0, 1, NONE_OF_THEM, false); }
static fid_status product_conjugate(fidc_rewriter *rw) { return bilinear(rw, 0, 1, NONE_OF_THEM, true); }
static fid_status product_with_bias(fidc_rewriter *rw) { return bilinear(rw, 0, 1, 2, false); }

static fid_status linear_in_0(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    if (!is_complex(x)) return fidc_rw_keep(rw);
    fidc_value *re = again(rw, 0, real_part(rw, x), NONE_OF_THEM, NULL, NONE_OF_THEM, NULL);
    return fidc_rw_become(rw, join(rw, re, again(rw, 0, imaginary_part(rw, x), NONE_OF_THEM, NULL, NONE_OF_THEM, NULL)));
}

/* ---- Pointwise ---- */

/* True where one part is (or, for finite, where both are). */
static fid_status class_of(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    if (!is_complex(x)) return fidc_rw_keep(rw);
    fid_op_id op = fidc_op_id(rw->program, rw->node->op);
    fidc_value *re = fidc_rw_op1(rw, op, real_part(rw, x)), *im = fidc_rw_op1(rw, op, imaginary_part(rw, x));
    return fidc_rw_become(rw, fidc_rw_op2(rw, op == FID_OPID_isfinite ? FID_OPID_logical_and : FID_OPID_logical_or, re, im));
}

static fid_status add_scaled(fidc_rewriter *rw, fid_op_id op) {
    if (!node_is_complex(rw->node)) return fidc_rw_keep(rw);
    fidc_value *term = fidc_rw_op2(rw, op, fidc_rw_value(rw, 1), fidc_rw_value(rw, 2));
    return fidc_rw_become(rw, term ? RW(rw, add_Tensor, fidc_rw_arg(rw, 0), fidc_v(term), fidc_rw_arg(rw, 3)) : NULL);
}
static fid_status addcmul(fidc_rewriter *rw) { return add_scaled(rw, FID_OPID_mul_Tensor); }
static fid_status addcdiv(fidc_rewriter *rw) { return add_scaled(rw, FID_OPID_div_Tensor); }

static fid_status lerp(fidc_rewriter *rw) {
    if (!node_is_complex(rw->node)) return fidc_rw_keep(rw);
    fidc_value *way = fidc_rw_op2(rw, FID_OPID_sub_Tensor, fidc_rw_value(rw, 1), fidc_rw_value(rw, 0)), *weight = fidc_rw_value(rw, 2);
    way = weight ? fidc_rw_op2(rw, FID_OPID_mul_Tensor, way, weight) : fidc_rw_opn(rw, FID_OPID_mul_Scalar, way, fidc_rw_arg(rw, 2));
    return fidc_rw_become(rw, fidc_rw_op2(rw, FID_OPID_add_Tensor, fidc_rw_value(rw, 0), way));
}

static fid_status ldexp_of(fidc_rewriter *rw) {
    if (!node_is_complex(rw->node)) return fidc_rw_keep(rw);
    fidc_value *two = fidc_rw_op1(rw, FID_OPID_exp2, fidc_rw_value(rw, 1));
    return fidc_rw_become(rw, fidc_rw_cast(rw, fidc_rw_op2(rw, FID_OPID_mul_Tensor, fidc_rw_value(rw, 0), two), (fid_dtype)fidc_rw_out(rw)->dtype));
}

static fid_status float_power(fidc_rewriter *rw) {
    fidc_value *base = fidc_rw_value(rw, 0), *exponent = fidc_rw_value(rw, 1);
    if (!is_complex(base) && !is_complex(exponent)) return fidc_rw_keep(rw);
    base = base ? fidc_rw_cast(rw, base, FID_COMPLEX128) : NULL;
    exponent = exponent ? fidc_rw_cast(rw, exponent, FID_COMPLEX128) : NULL;
    if (base && exponent) return fidc_rw_become(rw, fidc_rw_op2(rw, FID_OPID_pow_Tensor_Tensor, base, exponent));
    if (base) return fidc_rw_become(rw, fidc_rw_opn(rw, FID_OPID_pow_Tensor_Scalar, base, fidc_rw_arg(rw, 1)));
    return fidc_rw_become(rw, exponent ? RW(rw, pow_Scalar, fidc_rw_arg(rw, 0), fidc_v(exponent)) : NULL);
}

/* ---- Logarithms of sums of exponentials: the largest real part is taken out, so that nothing overflows ---- */

static fidc_value *log_of_sum(fidc_rewriter *rw, fidc_value *total, fidc_value *top) {
    return fidc_rw_op2(rw, FID_OPID_add_Tensor, fidc_rw_op1(rw, FID_OPID_log, total), top);
}

static fidc_value *shifted_exp(fidc_rewriter *rw, fidc_value *x, fidc_value *top) {
    return fidc_rw_op1(rw, FID_OPID_exp, fidc_rw_op2(rw, FID_OPID_sub_Tensor, x, top));
}

static fid_status logsumexp(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    if (!is_complex(x)) return fidc_rw_keep(rw);
    for (size_t d = 0; d < x->rank; d++) {
        if (fidc_size(x, d) != 0) continue; /* nothing to sum, or nothing at all */
        return fidc_rw_become(rw, fidc_rw_full(rw, fidc_rw_out(rw)->sizes, fidc_rw_out(rw)->rank, (fid_dtype)x->dtype, fidc_d(-INFINITY)));
    }
    fidc_value *top = RW(rw, amax, fidc_v(real_part(rw, x)), fidc_rw_arg(rw, 1), fidc_b(true));
    fidc_value *zero = top ? fidc_value_scalar(rw->graph, (fid_dtype)top->dtype, 0) : NULL;
    top = fidc_rw_where(rw, fidc_rw_op1(rw, FID_OPID_isinf, top), zero, top);
    fidc_value *terms = shifted_exp(rw, x, top);
    fidc_value *total = terms ? RW(rw, sum_dim_IntList, fidc_v(terms), fidc_rw_arg(rw, 1), fidc_b(true), fidc_none()) : NULL;
    return fidc_rw_become(rw, fidc_rw_view(rw, log_of_sum(rw, total, top), fidc_rw_out(rw)->sizes, fidc_rw_out(rw)->rank));
}

/* ---- Reductions ---- */

/* Variances of the parts add up; a mean has parts. */
static fid_status spread(fidc_rewriter *rw, fid_op_id variance, bool root) {
    fidc_value *x = fidc_rw_value(rw, 0), *results[2] = {NULL, NULL};
    if (!is_complex(x)) return fidc_rw_keep(rw);
    fidc_arg args[MOST_ARGS];
    uint32_t count = rw->node->arg_count, outputs = rw->node->output_count;
    if (count > MOST_ARGS || outputs > 2) return fidc_rw_keep(rw);
    memcpy(args, rw->node->args, count * sizeof *args);
    args[0] = fidc_v(real_part(rw, x));
    fidc_node *re = fidc_rw_emit_node(rw, variance, args, count, 0);
    args[0] = fidc_v(imaginary_part(rw, x));
    fidc_node *im = fidc_rw_emit_node(rw, variance, args, count, 0);
    if (!re || !im) return fidc_rw_become(rw, NULL);
    results[0] = fidc_rw_op2(rw, FID_OPID_add_Tensor, re->outputs[0], im->outputs[0]);
    if (root) results[0] = fidc_rw_op1(rw, FID_OPID_sqrt, results[0]);
    if (outputs == 2) results[1] = join(rw, re->outputs[1], im->outputs[1]);
    return results[0] && (outputs == 1 || results[1]) ? fidc_rw_become_all(rw, results, outputs) : fidc_rw_become(rw, NULL);
}

#define SPREAD(suffix)                                                                                                 \
    static fid_status var##suffix(fidc_rewriter *rw) { return spread(rw, FID_OPID_var##suffix, false); }               \
    static fid_status std##suffix(fidc_rewriter *rw) { return spread(rw, FID_OPID_var##suffix, true); }                \
    static fid_status var_mean##suffix(fidc_rewriter *rw) { return spread(rw, FID_OPID_var_mean##suffix, false); }     \
    static fid_status std_mean##suffix(fidc_rewriter *rw) { return spread(rw, FID_OPID_var_mean##suffix, true); }
SPREAD()
SPREAD(_dim)
SPREAD(_correction)

static fid_status dist(fidc_rewriter *rw) {
    if (!node_is_complex(rw->node)) return fidc_rw_keep(rw);
    fidc_value *x = fidc_rw_op2(rw, FID_OPID_sub_Tensor, fidc_rw_value(rw, 0), fidc_rw_value(rw, 1));
    return fidc_rw_become(rw, x ? RW(rw, linalg_vector_norm, fidc_v(x), fidc_rw_arg(rw, 2), fidc_none(), fidc_b(false), fidc_none()) : NULL);
}

static fid_status refuse(fidc_rewriter *rw) {
    return node_is_complex(rw->node) ? fidc_rw_refuse(rw, "there is no kernel for complex numbers here; compute with their parts (torch.view_as_real)") : fidc_rw_keep(rw);
}

static fid_status l1_loss(fidc_rewriter *rw) {
    if (!node_is_complex(rw->node)) return fidc_rw_keep(rw);
    fidc_value *x = fidc_rw_op2(rw, FID_OPID_sub_Tensor, fidc_rw_value(rw, 0), fidc_rw_value(rw, 1));
    return fidc_rw_become(rw, fidc_rw_reduce_loss(rw, fidc_rw_op1(rw, FID_OPID_abs, x), fidc_rw_int(rw, 2, 1)));
}

/* x / sqrt(mean(x x) + eps) * weight, squares as complex numbers, as PyTorch has them. */
static fid_status rms_norm(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    int64_t dims[FID_MAX_RANK];
    size_t count;
    if (!is_complex(x)) return fidc_rw_keep(rw);
    fidc_rw_items(rw, 1, &count);
    if (count > x->rank) return fidc_rw_keep(rw);
    for (size_t i = 0; i < count; i++) dims[i] = (int64_t)(x->rank - count + i);
    double eps = fidc_rw_double(rw, 3, x->dtype == FID_COMPLEX128 ? 0x1p-52 : 0x1p-23);
    fidc_value *square = fidc_rw_op2(rw, FID_OPID_mul_Tensor, x, x);
    fidc_value *mean = square ? RW(rw, mean_dim, fidc_v(square), fidc_ints(rw->program, dims, count), fidc_b(true), fidc_none()) : NULL;
    fidc_value *scale = fidc_rw_op1(rw, FID_OPID_rsqrt, fidc_rw_opd(rw, FID_OPID_add_Scalar, mean, eps));
    fidc_value *out = fidc_rw_op2(rw, FID_OPID_mul_Tensor, x, scale);
    if (fidc_rw_value(rw, 2)) out = fidc_rw_op2(rw, FID_OPID_mul_Tensor, out, fidc_rw_value(rw, 2));
    return fidc_rw_become(rw, out);
}

static const fidc_rule_row rows[] = {
    {FID_OPID_mm, product_01},
    {FID_OPID_bmm, product_01},
    {FID_OPID_mv, product_01},
    {FID_OPID_dot, product_01},
    {FID_OPID_vdot, product_conjugate},
    {FID_OPID_matmul, product_01},
    {FID_OPID_kron, product_01},
    {FID_OPID_linalg_vecdot, product_conjugate},
    {FID_OPID_linear, product_with_bias},
    {FID_OPID_convolution, product_with_bias},
    {FID_OPID_trapezoid_x, product_01},
    {FID_OPID_trapz_x, product_01},
    {FID_OPID_cumulative_trapezoid_x, product_01},
    {FID_OPID_trapezoid_dx, linear_in_0},
    {FID_OPID_trapz_dx, linear_in_0},
    {FID_OPID_cumulative_trapezoid_dx, linear_in_0},
    {FID_OPID_trace, linear_in_0},
    {FID_OPID_cumsum, linear_in_0},
    {FID_OPID_isnan, class_of},
    {FID_OPID_isinf, class_of},
    {FID_OPID_isfinite, class_of},
    {FID_OPID_addcmul, addcmul},
    {FID_OPID_addcdiv, addcdiv},
    {FID_OPID_lerp_Scalar, lerp},
    {FID_OPID_lerp_Tensor, lerp},
    {FID_OPID_ldexp_Tensor, ldexp_of},
    {FID_OPID_float_power_Tensor_Tensor, float_power},
    {FID_OPID_float_power_Tensor_Scalar, float_power},
    {FID_OPID_float_power_Scalar, float_power},
    {FID_OPID_logsumexp, logsumexp},
    {FID_OPID_triplet_margin_loss, refuse},
    {FID_OPID_renorm, refuse},
    {FID_OPID_var, var},
    {FID_OPID_var_dim, var_dim},
    {FID_OPID_var_correction, var_correction},
    {FID_OPID_std, std},
    {FID_OPID_std_dim, std_dim},
    {FID_OPID_std_correction, std_correction},
    {FID_OPID_var_mean, var_mean},
    {FID_OPID_var_mean_dim, var_mean_dim},
    {FID_OPID_var_mean_correction, var_mean_correction},
    {FID_OPID_std_mean, std_mean},
    {FID_OPID_std_mean_dim, std_mean_dim},
    {FID_OPID_std_mean_correction, std_mean_correction},
    {FID_OPID_dist, dist},
    {FID_OPID_l1_loss, l1_loss},
    {FID_OPID_rms_norm, rms_norm},
};

void fidc_rules_add_complex(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }

static bool graph_has_complex(const fidc_graph *graph) {
    for (uint32_t i = 0; i < graph->value_count; i++)
        if (graph->values[i]->type == FIDC_TENSOR && is_complex(graph->values[i])) return true;
    for (const fidc_node *node = graph->first; node; node = node->next)
        for (uint32_t i = 0; i < node->graph_count; i++)
            if (graph_has_complex(node->graphs[i])) return true;
    return false;
}

bool fidc_has_complex(const fidc_program *program) {
    for (uint32_t i = 0; i < program->method_count; i++)
        if (graph_has_complex(program->methods[i])) return true;
    return false;
}
