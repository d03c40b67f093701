/* Which operator row a target of torch.export means: "torch.ops.aten.add.Tensor", "_operator.mul", "math.ceil", "torch.sym_max",
 * "torch.ops.higher_order.cond". */
#include "compiler/archive/reader.h"
#include "compiler/ir/custom.h"

/* Python's scalar functions and the rows that do the same. */
typedef struct scalar_target { const char *target, *name; } scalar_target;

static const scalar_target scalar_targets[] = {
    {"_operator.add", "add"}, {"_operator.sub", "sub"}, {"_operator.mul", "mul"}, {"_operator.floordiv", "floordiv"},
    {"_operator.mod", "mod"}, {"_operator.truediv", "truediv"}, {"_operator.eq", "eq"}, {"_operator.ne", "ne"}, {"_operator.lt", "lt"},
    {"_operator.le", "le"}, {"_operator.gt", "gt"}, {"_operator.ge", "ge"}, {"_operator.neg", "neg"}, {"_operator.pow", "pow"},
    {"_operator.and_", "and"}, {"_operator.or_", "or"}, {"_operator.lshift", "lshift"}, {"_operator.rshift", "rshift"},
    {"math.trunc", "trunc"}, {"math.ceil", "ceil"}, {"math.floor", "floor"}, {"builtins.round", "round"}, {"torch.sym_not", "sym_not"},
    {"torch.sym_int", "sym_int"}, {"torch.sym_float", "sym_float"}, {"torch.sym_ite", "sym_ite"}, {"torch.sym_max", "sym_max"},
    {"torch.sym_min", "sym_min"}, {"torch._sym_sqrt", "sym_sqrt"}, {"torch.sym_sqrt", "sym_sqrt"},
};

/* In place, but of the shape and not of the content: afterwards the argument's name means the new view. */
static const char *const rebinding[] = {"aten::unsqueeze", "aten::squeeze", "aten::transpose", "aten::t", "aten::swapaxes",
                                        "aten::swapdims", "aten::detach", "aten::resize"};

/* What changes nothing in inference: the sub-graph takes its place. */
static const char *const inlined[] = {"torch.ops.higher_order.wrap_with_set_grad_enabled", "torch.ops.higher_order.wrap_with_autocast"};

static bool is_one_of(const char *text, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, list[i]) == 0) return true;
    return false;
}

static const fid_op *find_scalar(const fidc_reader *r, const char *name) {
    static const char *const overloads[] = {"Scalar", "int", ""};
    const fid_op *op = NULL;
    for (size_t i = 0; !op && i < 3; i++) op = fid_op_find(r->program->ops, name, overloads[i]);
    return op;
}

/* "torch.ops.aten.add_.Tensor": the functional row if there is one. */
static void resolve_in_place(fidc_reader *r, fidc_target_row *row) {
    size_t length = strlen(row->name);
    if (length < 3 || row->name[length - 1] != '_' || row->name[length - 2] == '_') return;
    char *functional = fidc_text(r->program, row->name);
    if (!functional) return;
    functional[length - 1] = 0;
    const fid_op *op = fid_op_find(r->program->ops, functional, row->overload);
    if (!op) return;
    row->op = op;
    row->rebinds = is_one_of(functional, rebinding, sizeof rebinding / sizeof rebinding[0]);
    row->in_place = !row->rebinds;
}

/* "torch.ops.aten.add.out": the row that programs call so; one that gives one tensor. */
static void resolve_out(const fidc_reader *r, fidc_target_row *row) {
    const fid_op *op = fid_op_find_out(r->program->ops, row->name, strlen(row->name), row->overload, strlen(row->overload));
    fid_schema_cursor cursor = fid_schema_begin(op ? op->schema : "() -> ()");
    fid_schema_arg result;
    size_t tensors = 0, others = 0;
    if (!op || !row->overload[0]) return;
    while (fid_schema_next_result(&cursor, &result)) *(result.type == FID_SCHEMA_TENSOR && !result.list ? &tensors : &others) += 1;
    if (tensors != 1 || others) return;
    row->op = op;
    row->writes_out = true;
}

/* Splits "aten.add.Tensor" after "torch.ops." */
static bool resolve_torch_op(fidc_reader *r, const char *text, fidc_target_row *row) {
    const char *first = strchr(text, '.'), *second = first ? strchr(first + 1, '.') : NULL;
    if (!first) return false;
    const char *end = second ? second : first + strlen(first);
    row->name = fidc_text_format(r->program, "%.*s::%.*s", (int)(first - text), text, (int)(end - first - 1), first + 1);
    row->overload = second && strcmp(second + 1, "default") != 0 ? second + 1 : "";
    if (!row->name) return false;
    row->overload = fidc_text(r->program, row->overload);
    if (!row->overload) return false;
    resolve_in_place(r, row);
    if (!row->op) row->op = fid_op_find(r->program->ops, row->name, row->overload);
    if (!row->op) resolve_out(r, row);
    if (!row->op) row->op = fidc_custom_find(r->program, row->name, row->overload);
    return true;
}

static bool resolve(fidc_reader *r, const char *target, fidc_target_row *row) {
    row->name = target;
    row->overload = "";
    if (is_one_of(target, inlined, sizeof inlined / sizeof inlined[0])) {
        row->kind = FIDC_TARGET_INLINE;
        return true;
    }
    if (strncmp(target, "torch.ops.", 10) == 0) return resolve_torch_op(r, target + 10, row);
    for (size_t i = 0; i < sizeof scalar_targets / sizeof scalar_targets[0]; i++) {
        if (strcmp(scalar_targets[i].target, target) != 0) continue;
        const char *name = fidc_text_format(r->program, "executorch_prim::%s", scalar_targets[i].name);
        row->op = name ? find_scalar(r, name) : NULL;
        return name != NULL;
    }
    return true;
}

fid_status fidc_target_find(fidc_reader *r, const char *target, fidc_target_row **out_row) {
    *out_row = fidc_name_map_get(&r->targets, target);
    if (*out_row) return FID_OK;
    fidc_target_row *row = fidc_allocate(r->program, sizeof *row);
    char *key = fidc_text(r->program, target);
    if (!row || !key || !resolve(r, key, row) || !fidc_name_map_put(r->program, &r->targets, key, row)) return FID_OUT_OF_MEMORY;
    *out_row = row;
    return FID_OK;
}
