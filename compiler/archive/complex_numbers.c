/* Complex numbers as arguments, `x * 1j`: programs hold none, so each becomes a constant without dimensions, which promotes as the number
 * does. Calls whose schema wants a number there become those of the overload that takes tensors. */
#include "compiler/archive/reader.h"
#include "compiler/ir/problem.h"

fid_status fidc_complex_number(fidc_reader *r, fidc_graph *graph, double real, double imaginary, fidc_arg *out) {
    fid_complex128 *data = fidc_allocate(r->program, sizeof *data);
    if (!data) return FID_OUT_OF_MEMORY;
    *data = (fid_complex128){real, imaginary};
    fidc_value *value = fidc_value_constant(graph, NULL, FID_COMPLEX128, NULL, 0, data, sizeof *data);
    if (!value) return FID_OUT_OF_MEMORY;
    r->has_complex_numbers = true;
    *out = fidc_v(value);
    return FID_OK;
}

/* One of the constants above: those of the archive have storages. */
static bool is_number(const fidc_value *value) {
    return value && value->origin == FIDC_FROM_CONSTANT && value->dtype == FID_COMPLEX128 && !value->rank && !value->constant->storage;
}

/* complex128 only where the result is. */
static void narrow(fidc_value *value) {
    fid_complex128 wide;
    memcpy(&wide, value->constant->data, sizeof wide);
    fid_complex64 single = {(float)wide.re, (float)wide.im};
    memcpy((void *)(uintptr_t)value->constant->data, &single, sizeof single);
    ((fidc_constant *)(uintptr_t)value->constant)->bytes = sizeof single;
    value->dtype = FID_COMPLEX64;
}

/* ---- Overloads -------------------------------------------------------------------------------------------------------------------- */

static bool find_tensor_overload(fidc_node *node) {
    static const struct { fid_op_id number, tensor; } overloads[] = {
        {FID_OPID_rsub_Scalar, FID_OPID_rsub_Tensor}, {FID_OPID_eq_Scalar, FID_OPID_eq_Tensor}, {FID_OPID_ne_Scalar, FID_OPID_ne_Tensor},
        {FID_OPID_add_Scalar, FID_OPID_add_Tensor}, {FID_OPID_sub_Scalar, FID_OPID_sub_Tensor}, {FID_OPID_mul_Scalar, FID_OPID_mul_Tensor},
        {FID_OPID_div_Scalar, FID_OPID_div_Tensor}, {FID_OPID_pow_Tensor_Scalar, FID_OPID_pow_Tensor_Tensor},
        {FID_OPID_pow_Scalar, FID_OPID_pow_Tensor_Tensor}, {FID_OPID_fill_Scalar, FID_OPID_fill_Tensor},
        {FID_OPID_where_ScalarOther, FID_OPID_where_self}, {FID_OPID_where_ScalarSelf, FID_OPID_where_self},
        {FID_OPID_where_Scalar, FID_OPID_where_self}, {FID_OPID_masked_fill_Scalar, FID_OPID_masked_fill_Tensor},
    };
    for (size_t i = 0; i < sizeof overloads / sizeof *overloads; i++) {
        if (!fidc_is(node, overloads[i].number)) continue;
        node->op = &node->graph->program->ops->ops[overloads[i].tensor];
        return true;
    }
    return false;
}

/* full(size, number): the constant seen at that size. */
static bool is_filled(fidc_node *node) {
    uint32_t size = fidc_is(node, FID_OPID_new_full) ? 1 : 0;
    if (!(fidc_is(node, FID_OPID_full) || size) || node->arg_count <= size + 1 || node->arg_count < 3) return false;
    fidc_arg number = node->args[size + 1], sizes = node->args[size];
    node->args[0] = number;
    node->args[1] = sizes;
    node->args[2] = fidc_b(false);
    node->arg_count = 3;
    node->op = &node->graph->program->ops->ops[FID_OPID_expand];
    return true;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------------------------- */

/* Is there a complex number where the schema wants a number? */
static bool is_misplaced(const fidc_node *node) {
    fid_schema_cursor cursor = fid_schema_begin(node->op->schema);
    fid_schema_arg schema;
    for (uint32_t i = 0; i < node->arg_count && fid_schema_next_arg(&cursor, &schema); i++)
        if (schema.type == FID_SCHEMA_SCALAR && is_number(fidc_value_of(&node->args[i]))) return true;
    return false;
}

/* where(mask, 1j, 0.5): the other number is a tensor then too. */
static fid_status lift_reals(fidc_reader *r, fidc_node *node) {
    fid_schema_cursor cursor = fid_schema_begin(node->op->schema);
    fid_schema_arg schema;
    for (uint32_t i = 0; i < node->arg_count && fid_schema_next_arg(&cursor, &schema); i++) {
        fidc_arg *arg = &node->args[i];
        bool real = arg->kind == FIDC_ARG_DOUBLE || arg->kind == FIDC_ARG_INT || arg->kind == FIDC_ARG_BOOL;
        if (schema.type != FID_SCHEMA_TENSOR || !real) continue;
        double number = arg->kind == FIDC_ARG_DOUBLE ? arg->as.number : (double)arg->as.integer;
        FID_TRY(fidc_complex_number(r, node->graph, number, 0, arg));
    }
    return FID_OK;
}

/* What no overload takes as a tensor is refused, and the number that stands there is real so that the stages can go on. */
static fid_status refuse(fidc_node *node) {
    for (uint32_t i = 0; i < node->arg_count; i++)
        if (is_number(fidc_value_of(&node->args[i]))) node->args[i] = fidc_d(0);
    return fidc_problem_add(node, FIDC_REFUSED, "a complex number as this argument; compute the product with it before");
}

fid_status fidc_complex_settle(fidc_reader *r, fidc_node *node) {
    bool wide = false;
    if (is_misplaced(node)) {
        if (find_tensor_overload(node)) FID_TRY(lift_reals(r, node));
        else if (!is_filled(node)) FID_TRY(refuse(node));
    }
    for (uint32_t i = 0; i < node->output_count; i++) wide = wide || node->outputs[i]->dtype == FID_COMPLEX128;
    for (uint32_t i = 0; i < node->arg_count && !wide; i++)
        if (is_number(fidc_value_of(&node->args[i]))) narrow(fidc_value_of(&node->args[i]));
    return FID_OK;
}
