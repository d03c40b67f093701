/* Rewrites operators that have no kernel into operators that have one. Each family of operators keeps its rules in a file of its own;
 * here they are put together for a target and applied until nothing changes. */
#include "compiler/passes/rewrite.h"

/* ---- What does nothing in inference ---- */

static fid_status same(fidc_rewriter *rw) { return fidc_rw_become(rw, fidc_rw_value(rw, 0)); }
static fid_status drop(fidc_rewriter *rw) { return fidc_rw_drop(rw); }

static bool is_same_layout(const fidc_value *a, const fidc_value *b) {
    return a->dtype == b->dtype && a->rank == b->rank && memcmp(a->dim_order, b->dim_order, a->rank) == 0;
}

/* A copy into another dtype or dim order does something. */
static fid_status to_copy(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    return is_same_layout(x, fidc_rw_out(rw)) ? fidc_rw_become(rw, x) : fidc_rw_keep(rw);
}

static fid_status native_dropout(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *mask = rw->node->outputs[1];
    if (fidc_rw_bool(rw, 2, false)) return fidc_rw_refuse(rw, "dropout in training mode; export the model after model.eval()");
    fidc_value *all = fidc_rw_full(rw, mask->sizes, mask->rank, FID_BOOL, fidc_b(true));
    return fidc_rw_become_all(rw, (fidc_value *[]){x, all}, 2);
}

/* leaky_relu with the mean of the slopes. */
static fid_status rrelu_from(fidc_rewriter *rw, uint32_t lower) {
    if (fidc_rw_bool(rw, lower + 2, false)) return fidc_rw_refuse(rw, "rrelu in training mode; export the model after model.eval()");
    double slope = (fidc_rw_double(rw, lower, 1.0 / 8) + fidc_rw_double(rw, lower + 1, 1.0 / 3)) / 2;
    return fidc_rw_become(rw, fidc_rw_opn(rw, FID_OPID_leaky_relu, fidc_rw_value(rw, 0), fidc_d(slope)));
}

static fid_status rrelu(fidc_rewriter *rw) { return rrelu_from(rw, 1); }
static fid_status rrelu_with_noise(fidc_rewriter *rw) { return rrelu_from(rw, 2); }

static const fidc_rule_row noops[] = {
    {FID_OPID_clone, same},
    {FID_OPID_alias_copy, same},
    {FID_OPID_detach_copy, same},
    {FID_OPID_lift_fresh_copy, same},
    {FID_OPID__clone_dim_order, to_copy},
    {FID_OPID__to_copy, to_copy},
    {FID_OPID__to_dim_order_copy, to_copy},
    {FID_OPID_native_dropout, native_dropout},
    {FID_OPID_rrelu, rrelu},
    {FID_OPID_rrelu_with_noise, rrelu_with_noise},
    {FID_OPID__assert_tensor_metadata, drop},
    {FID_OPID__assert_scalar, drop},
    {FID_OPID__assert_async, drop},
    {FID_OPID__assert_async_msg, drop},
    {FID_OPID_sym_constrain_range, drop},
    {FID_OPID_sym_constrain_range_for_size, drop},
};

void fidc_rules_add_noops(fidc_rules *rules) { fidc_rules_add(rules, noops, sizeof noops / sizeof noops[0]); }

/* ---- The pass ---- */

static void gather_rules(fidc_rules *rules, fidc_target target) {
    fidc_rules_add_views(rules);
    fidc_rules_add_noops(rules);
    fidc_rules_add_composite(rules);
    fidc_rules_add_create(rules);
    fidc_rules_add_pointwise(rules);
    fidc_rules_add_move(rules);
    fidc_rules_add_product(rules);
    fidc_rules_add_nn(rules);
    fidc_rules_add_linalg(rules);
    fidc_rules_add_norms(rules);
    fidc_rules_add_fft(rules);
    fidc_rules_add_stft(rules);
    fidc_rules_add_gradient(rules);
    fidc_rules_add_loss(rules);
    fidc_rules_add_quantized(rules);
    if (target == FIDC_TARGET_PORTABLE) fidc_rules_add_portable(rules); /* last: they take the place of general ones */
}

static fid_status apply(fidc_program *program, fidc_target target, void (*gather)(fidc_rules *rules, fidc_target target)) {
    fidc_rules *rules = fid_allocate(program->allocator, sizeof *rules);
    if (!rules) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory for a table of rules");
    memset(rules, 0, sizeof *rules);
    gather(rules, target);
    fid_status status = FID_OK;
    for (uint32_t i = 0; i < program->method_count && status == FID_OK; i++) {
        status = fidc_rules_apply(rules, program->methods[i], target);
        if (status == FID_OK) fidc_drop_expansions(program->methods[i]);
    }
    fid_free(program->allocator, rules, sizeof *rules);
    return status;
}

static void gather_complex(fidc_rules *rules, fidc_target target) {
    (void)target;
    fidc_rules_add_complex(rules);
    fidc_rules_add_complex_product(rules);
}

bool fidc_is_decomposed(const fid_op *op) {
    fidc_rules rules = {{0}};
    gather_rules(&rules, FIDC_TARGET_CPU);
    size_t id = (size_t)(op - fid_builtin_ops.ops);
    return id < FID_OP_COUNT && rules.by_op[id];
}

/* Complex operands are taken apart when only operators with kernels are left; what that makes is decomposed in turn. */
fid_status fidc_decompose(fidc_program *program, fidc_target target) {
    FID_TRY(apply(program, target, gather_rules));
    if (!fidc_has_complex(program)) return FID_OK;
    FID_TRY(apply(program, target, gather_complex));
    return apply(program, target, gather_rules);
}
