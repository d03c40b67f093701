/* Pointwise and creating operators: synonyms, numbers in the place of tensors, forms that others express. */
#include "compiler/passes/rewrite.h"

/* ---- A Python number in the place of a tensor ---- */

static bool is_number(const fidc_rewriter *rw, uint32_t i) { return !fidc_rw_is_none(rw, i) && !fidc_rw_value(rw, i); }

/* op(tensor, number) has an overload of its own; op(number, tensor) gets a constant. */
static fid_status with_number(fidc_rewriter *rw, fid_op_id scalar_op) {
    if (is_number(rw, 0)) {
        fidc_value *constant = fidc_rw_number(rw, rw->node->args[0], fidc_rw_value(rw, 1));
        if (!constant) return fidc_rw_refuse(rw, "the first operand is neither a tensor nor a number");
        rw->node->args[0] = fidc_v(constant);
    }
    return is_number(rw, 1) ? fidc_rw_rename(rw, scalar_op) : fidc_rw_keep(rw);
}

#define NUMBER_RULE(name)                                                                                              \
    static fid_status name##_number(fidc_rewriter *rw) { return with_number(rw, FID_OPID_##name##_Scalar); }
NUMBER_RULE(add)
NUMBER_RULE(sub)
NUMBER_RULE(rsub)
NUMBER_RULE(mul)
NUMBER_RULE(div)
NUMBER_RULE(eq)
NUMBER_RULE(ne)
NUMBER_RULE(lt)
NUMBER_RULE(le)
NUMBER_RULE(gt)
NUMBER_RULE(ge)
NUMBER_RULE(remainder)
NUMBER_RULE(fmod)
NUMBER_RULE(bitwise_and)
NUMBER_RULE(bitwise_or)
NUMBER_RULE(bitwise_xor)
static fid_status div_mode_number(fidc_rewriter *rw) { return with_number(rw, FID_OPID_div_Scalar_mode); }
static fid_status floor_divide_number(fidc_rewriter *rw) { return with_number(rw, FID_OPID_floor_divide_Scalar); }

/* ---- Synonyms ---- */

#define RENAME_RULE(name, target)                                                                                      \
    static fid_status name(fidc_rewriter *rw) { return fidc_rw_rename(rw, FID_OPID_##target); }
RENAME_RULE(and_tensor, bitwise_and_Tensor)
RENAME_RULE(and_number, bitwise_and_Scalar)
RENAME_RULE(or_tensor, bitwise_or_Tensor)
RENAME_RULE(or_number, bitwise_or_Scalar)
RENAME_RULE(xor_tensor, bitwise_xor_Tensor)
RENAME_RULE(xor_number, bitwise_xor_Scalar)
RENAME_RULE(shift_left_tensor, bitwise_left_shift_Tensor)
RENAME_RULE(shift_left_number, bitwise_left_shift_Tensor_Scalar)
RENAME_RULE(shift_right_tensor, bitwise_right_shift_Tensor)
RENAME_RULE(shift_right_number, bitwise_right_shift_Tensor_Scalar)

/* ---- Creation ---- */

/* Filled tensors of sizes that the archive knows; the operators differ only in how they say sizes and dtype. */
static fid_status filled(fidc_rewriter *rw, fidc_arg number) {
    fidc_value *out = fidc_rw_out(rw);
    return fidc_rw_become(rw, fidc_rw_full(rw, out->sizes, out->rank, (fid_dtype)out->dtype, number));
}

static fid_status filled_zero(fidc_rewriter *rw) { return filled(rw, fidc_i(0)); }
static fid_status filled_one(fidc_rewriter *rw) { return filled(rw, fidc_i(1)); }
static fid_status filled_arg_1(fidc_rewriter *rw) { return filled(rw, fidc_rw_arg(rw, 1)); }
static fid_status filled_arg_2(fidc_rewriter *rw) { return filled(rw, fidc_rw_arg(rw, 2)); }

/* fill.Tensor: the number is in a tensor, which broadcasts. */
static fid_status fill_tensor(fidc_rewriter *rw) {
    fidc_value *out = fidc_rw_out(rw);
    fidc_value *number = fidc_rw_cast(rw, fidc_rw_value(rw, 1), (fid_dtype)out->dtype);
    return fidc_rw_become(rw, fidc_rw_expand(rw, number, out->sizes, out->rank));
}

static fid_status copy(fidc_rewriter *rw) { return fill_tensor(rw); }

/* The dtype is written out: what PyTorch infers from the kinds of the numbers is in the archive. */
static fid_status arange_from_to(fidc_rewriter *rw, fidc_arg start, fidc_arg end) {
    return fidc_rw_become(rw, RW(rw, arange_start_step, start, end, fidc_i(1), fidc_t((fid_dtype)fidc_rw_out(rw)->dtype)));
}

static fid_status arange(fidc_rewriter *rw) { return arange_from_to(rw, fidc_i(0), fidc_rw_arg(rw, 0)); }
static fid_status arange_start(fidc_rewriter *rw) { return arange_from_to(rw, fidc_rw_arg(rw, 0), fidc_rw_arg(rw, 1)); }

static const fidc_rule_row creation[] = {
    {FID_OPID_zeros, filled_zero},
    {FID_OPID_ones, filled_one},
    {FID_OPID_zeros_like, filled_zero},
    {FID_OPID_ones_like, filled_one},
    {FID_OPID_new_zeros, filled_zero},
    {FID_OPID_new_ones, filled_one},
    {FID_OPID_new_full, filled_arg_2},
    {FID_OPID_full_like, filled_arg_1},
    {FID_OPID_fill_Scalar, filled_arg_1},
    {FID_OPID_fill_Tensor, fill_tensor},
    {FID_OPID_copy, copy},
    /* Nothing may depend on what an empty tensor holds: zeros fold to constants, and runs are repeatable. */
    {FID_OPID_empty_memory_format, filled_zero},
    {FID_OPID_empty_like, filled_zero},
    {FID_OPID_new_empty, filled_zero},
    {FID_OPID_empty_strided, filled_zero},
    {FID_OPID_empty_permuted, filled_zero},
    {FID_OPID__empty_dim_order, filled_zero},
    {FID_OPID_arange, arange},
    {FID_OPID_arange_start, arange_start},
};

void fidc_rules_add_create(fidc_rules *rules) { fidc_rules_add(rules, creation, sizeof creation / sizeof creation[0]); }

static const fidc_rule_row with_numbers[] = {
    {FID_OPID_add_Tensor, add_number},
    {FID_OPID_sub_Tensor, sub_number},
    {FID_OPID_rsub_Tensor, rsub_number},
    {FID_OPID_mul_Tensor, mul_number},
    {FID_OPID_div_Tensor, div_number},
    {FID_OPID_div_Tensor_mode, div_mode_number},
    {FID_OPID_eq_Tensor, eq_number},
    {FID_OPID_ne_Tensor, ne_number},
    {FID_OPID_lt_Tensor, lt_number},
    {FID_OPID_le_Tensor, le_number},
    {FID_OPID_gt_Tensor, gt_number},
    {FID_OPID_ge_Tensor, ge_number},
    {FID_OPID_remainder_Tensor, remainder_number},
    {FID_OPID_fmod_Tensor, fmod_number},
    {FID_OPID_floor_divide, floor_divide_number},
    {FID_OPID_bitwise_and_Tensor, bitwise_and_number},
    {FID_OPID_bitwise_or_Tensor, bitwise_or_number},
    {FID_OPID_bitwise_xor_Tensor, bitwise_xor_number},
};

static const fidc_rule_row synonyms[] = {
    {FID_OPID___and___Tensor, and_tensor},
    {FID_OPID___and___Scalar, and_number},
    {FID_OPID___or___Tensor, or_tensor},
    {FID_OPID___or___Scalar, or_number},
    {FID_OPID___xor___Tensor, xor_tensor},
    {FID_OPID___xor___Scalar, xor_number},
    {FID_OPID___lshift___Tensor, shift_left_tensor},
    {FID_OPID___lshift___Scalar, shift_left_number},
    {FID_OPID___rshift___Tensor, shift_right_tensor},
    {FID_OPID___rshift___Scalar, shift_right_number},
};

bool fidc_takes_numbers(const fidc_program *program, const fid_op *op) {
    for (size_t i = 0; i < sizeof with_numbers / sizeof with_numbers[0]; i++) {
        if (op == &program->ops->ops[with_numbers[i].op]) return true;
    }
    return false;
}

void fidc_rules_add_pointwise(fidc_rules *rules) {
    fidc_rules_add(rules, with_numbers, sizeof with_numbers / sizeof with_numbers[0]);
    fidc_rules_add(rules, synonyms, sizeof synonyms / sizeof synonyms[0]);
}
