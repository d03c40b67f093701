/* Loading a method's instructions, in passes over all chains: read and check each; work out what happens to every value; then
 * complete the kernel calls, which needs to know that. */
#include "runtime/method.h"

static fid_status no_memory(fid_method *method) {
    return fid_fail(&method->sink, FID_OUT_OF_MEMORY, "no memory for the method's instructions");
}

/* ---- Reading ---- */

static fid_status get_value(fid_method *method, int32_t index, fid_value **out_value) {
    if (index < 0 || (uint32_t)index >= method->value_count) {
        return fid_fail(&method->sink, FID_INVALID_PROGRAM, "it names value %d, the method has %u values", index,
                        method->value_count);
    }
    *out_value = &method->values[index];
    return FID_OK;
}

static fid_status read_kernel(fid_method *method, fid_fb_ref args, fid_code *out) {
    uint32_t op = (uint32_t)fid_fb_get_i32(args, FID_PTE_KernelCall_op_index, 0); /* checked by find_operators */
    out->kind = FID_CODE_KERNEL;
    return fid_method_begin_call(method, op, fid_fb_get_vector(args, FID_PTE_KernelCall_args), &out->as.kernel);
}

static fid_status read_delegate(fid_method *method, fid_fb_ref args, fid_code *out) {
    uint32_t count = fid_fb_get_vector(method->plan, FID_PTE_ExecutionPlan_delegates).count;
    int32_t index = fid_fb_get_i32(args, FID_PTE_DelegateCall_delegate_index, 0);
    if (index < 0 || (uint32_t)index >= count) {
        return fid_fail(&method->sink, FID_INVALID_PROGRAM, "it calls delegate %d, the method has %u", index, count);
    }
    fid_fb_vector indices = fid_fb_get_vector(args, FID_PTE_DelegateCall_args);
    fid_delegate_call *call = fid_arena_allocate(&method->arena, sizeof *call, 16);
    if (!call) return no_memory(method);
    FID_TRY(fid_method_get_args(method, indices, &call->args));
    call->delegate = &method->delegates[index];
    call->arg_count = indices.count;
    for (uint32_t i = 0; i < indices.count; i++) {
        fid_method_mark(method, call->args[i], FID_USE_READ | (fid_value_is_number(call->args[i]) ? FID_USE_CHANGES
                                                               : FID_USE_DELEGATE));
    }
    out->kind = FID_CODE_DELEGATE;
    out->as.delegate = call;
    return FID_OK;
}

static bool same_dim_order(const fid_tensor *a, const fid_tensor *b) {
    return memcmp(a->dim_order, b->dim_order, a->rank) == 0 ||
           (a->dynamism == FID_STATIC && b->dynamism == FID_STATIC && fid_tensor_same_layout(a, b));
}

/* A move must leave the target what all other instructions were checked with. */
static bool can_move(const fid_value *from, const fid_value *to) {
    if (fid_value_is_number(from)) return fid_value_is_number(to);
    if (from->tag != to->tag) return false;
    if (from->tag == FID_TAG_NONE || from->tag == FID_TAG_STRING) return true;
    if (from->tag != FID_TAG_TENSOR) return false;
    const fid_tensor *a = from->as.tensor, *b = to->as.tensor;
    return a->dtype == b->dtype && a->rank == b->rank && same_dim_order(a, b);
}

static fid_status read_move(fid_method *method, fid_fb_ref args, fid_code *out) {
    out->kind = FID_CODE_MOVE;
    FID_TRY(get_value(method, fid_fb_get_i32(args, FID_PTE_MoveCall_move_from, 0), &out->as.move.from));
    FID_TRY(get_value(method, fid_fb_get_i32(args, FID_PTE_MoveCall_move_to, 0), &out->as.move.to));
    const fid_value *from = out->as.move.from, *to = out->as.move.to;
    if (!can_move(from, to)) {
        return fid_fail(&method->sink, FID_INVALID_PROGRAM,
                        "it moves value %zu to value %zu, which differs in kind, dtype, rank or dim order",
                        (size_t)(from - method->values), (size_t)(to - method->values));
    }
    fid_method_mark(method, from, FID_USE_READ);
    if (to->tag == FID_TAG_TENSOR) return FID_OK; /* decided when homes are known */
    fid_method_mark(method, to, FID_USE_CHANGES);
    return FID_OK;
}

static fid_status read_jump(fid_method *method, fid_fb_ref args, uint32_t count, fid_code *out) {
    out->kind = FID_CODE_JUMP_FALSE;
    FID_TRY(get_value(method, fid_fb_get_i32(args, FID_PTE_JumpFalseCall_cond_value_index, 0), &out->as.value));
    fid_method_mark(method, out->as.value, FID_USE_READ);
    const fid_value *value = out->as.value;
    bool decides = value->tag == FID_TAG_BOOL || (value->tag == FID_TAG_TENSOR && value->as.tensor->dtype == FID_BOOL);
    if (!decides) return fid_fail(&method->sink, FID_INVALID_PROGRAM, "its condition is neither a bool nor a bool tensor");
    int32_t target = fid_fb_get_i32(args, FID_PTE_JumpFalseCall_destination_instruction, 0);
    if (target < 0 || (uint32_t)target > count) {
        return fid_fail(&method->sink, FID_INVALID_PROGRAM, "it jumps to instruction %d, the chain has %u", target, count);
    }
    out->target = (uint32_t)target;
    return FID_OK;
}

static fid_status read_free(fid_method *method, fid_fb_ref args, fid_code *out) {
    out->kind = FID_CODE_FREE;
    FID_TRY(get_value(method, fid_fb_get_i32(args, FID_PTE_FreeCall_value_index, 0), &out->as.value));
    if (out->as.value->tag != FID_TAG_TENSOR) {
        return fid_fail(&method->sink, FID_INVALID_PROGRAM, "it frees a value that is no tensor");
    }
    return FID_OK;
}

static fid_fb_ref instruction_args(fid_fb_ref instruction, uint8_t *out_type) {
    *out_type = fid_fb_get_u8(instruction, FID_PTE_Instruction_instr_args_type, 0);
    return fid_fb_get_table(instruction, FID_PTE_Instruction_instr_args);
}

static fid_status read_instruction(fid_method *method, fid_fb_ref instruction, uint32_t count, fid_code *out) {
    uint8_t type;
    fid_fb_ref args = instruction_args(instruction, &type);
    if (!args.at) return fid_fail(&method->sink, FID_INVALID_PROGRAM, "it has no content");
    switch (type) {
    case FID_PTE_TAG_KernelCall: return read_kernel(method, args, out);
    case FID_PTE_TAG_DelegateCall: return read_delegate(method, args, out);
    case FID_PTE_TAG_MoveCall: return read_move(method, args, out);
    case FID_PTE_TAG_JumpFalseCall: return read_jump(method, args, count, out);
    case FID_PTE_TAG_FreeCall: return read_free(method, args, out);
    default: return fid_fail(&method->sink, FID_INVALID_PROGRAM, "it is of kind %d, which this runtime does not know", type);
    }
}

/* ---- Operators that are called ---- */

static fid_status mark_operators(fid_method *method, fid_fb_vector instructions, bool *used, uint32_t op_count) {
    for (uint32_t i = 0; i < instructions.count; i++) {
        uint8_t type;
        fid_fb_ref args = instruction_args(fid_fb_table_at(instructions, i), &type);
        if (type != FID_PTE_TAG_KernelCall || !args.at) continue;
        int32_t op = fid_fb_get_i32(args, FID_PTE_KernelCall_op_index, 0);
        if (op < 0 || (uint32_t)op >= op_count) {
            return fid_fail(&method->sink, FID_INVALID_PROGRAM, "instruction %u calls operator %d, the method has %u", i, op, op_count);
        }
        used[op] = true;
    }
    return FID_OK;
}

static fid_fb_vector chain_instructions(const fid_method *method, uint32_t chain) {
    return fid_fb_get_vector(fid_fb_table_at(fid_fb_get_vector(method->plan, FID_PTE_ExecutionPlan_chains), chain),
                             FID_PTE_Chain_instructions);
}

static fid_status find_operators(fid_method *method) {
    uint32_t op_count = fid_fb_get_vector(method->plan, FID_PTE_ExecutionPlan_operators).count;
    bool *used = fid_arena_allocate_array(&method->arena, op_count, sizeof *used);
    if (!used) return no_memory(method);
    for (uint32_t i = 0; i < method->chain_count; i++) FID_TRY(mark_operators(method, chain_instructions(method, i), used, op_count));
    return fid_method_find_operators(method, used);
}

/* ---- What happens to values ---- */

/* Calls `visit` for every pair of tensors of which the second comes to stand on the memory of the first. */
typedef bool (*alias_visit)(fid_method *method, const fid_value *from, const fid_value *to);

static bool visit_aliases(fid_method *method, alias_visit visit) {
    bool any = false;
    for (uint32_t c = 0; c < method->chain_count; c++) {
        for (uint32_t i = 0; i < method->chains[c].count; i++) {
            const fid_code *code = &method->chains[c].code[i];
            if (code->kind == FID_CODE_MOVE && code->as.move.to->tag == FID_TAG_TENSOR) {
                any |= visit(method, code->as.move.from, code->as.move.to);
            } else if (code->kind == FID_CODE_KERNEL && code->as.kernel->is_view) {
                const fid_call *call = &code->as.kernel->call;
                any |= visit(method, call->args[0], call->args[call->output_index]);
            }
        }
    }
    return any;
}

/* Tensors that instructions write and the plan gives no place get memory of their own; constants and inputs do not. */
static bool wants_home(const fid_method *method, uint32_t index) {
    if (method->values[index].tag != FID_TAG_TENSOR) return false;
    const fid_method_tensor *tensor = fid_method_tensor_of(&method->values[index]);
    uint8_t uses = method->uses[index];
    return !tensor->home && !(tensor->tensor.flags & FID_TENSOR_CONSTANT) && tensor->tensor.dynamism != FID_DYNAMIC_UNBOUND &&
           !(uses & FID_USE_INPUT) && (uses & (FID_USE_WRITTEN | FID_USE_DELEGATE));
}

/* A move copies when its target has a home, and else makes the target stand where its source stands. */
static bool note_move(fid_method *method, const fid_value *from, const fid_value *to) {
    uint32_t index = (uint32_t)(to - method->values);
    const fid_method_tensor *tensor = fid_method_tensor_of(to);
    if (method->uses[index] & FID_USE_ALIASED) return false; /* a view, noted when it was read */
    if (tensor->home || (tensor->tensor.flags & FID_TENSOR_CONSTANT) || wants_home(method, index)) {
        method->uses[index] |= FID_USE_WRITTEN;
        return false;
    }
    method->uses[index] |= FID_USE_ALIASED;
    method->uses[from - method->values] |= FID_USE_LENDS;
    return false;
}

static bool spread_constness(fid_method *method, const fid_value *from, const fid_value *to) {
    uint8_t *target = &method->uses[to - method->values];
    bool news = (*target & FID_USE_ALIASED) && (method->uses[from - method->values] & FID_USE_MAYBE_CONST) && !(*target & FID_USE_MAYBE_CONST);
    if (news) *target |= FID_USE_MAYBE_CONST;
    return news;
}

static bool assume_constness(fid_method *method, const fid_value *from, const fid_value *to) {
    (void)from;
    if (method->uses[to - method->values] & FID_USE_ALIASED) method->uses[to - method->values] |= FID_USE_MAYBE_CONST;
    return false;
}

static void spread_to_lists(fid_method *method) {
    for (uint32_t i = 0; i < method->value_count; i++) {
        const fid_live_list *list = &method->lists[i];
        for (size_t k = 0; k < list->count; k++) method->uses[i] |= method->uses[list->sources[k] - method->values] & FID_USE_CHANGES;
        if (method->values[i].tag != FID_TAG_TENSOR_LIST) continue;
        fid_fb_ref entry = fid_fb_table_at(fid_fb_get_vector(method->plan, FID_PTE_ExecutionPlan_values), i);
        fid_fb_vector items = fid_fb_get_vector(fid_fb_get_table(entry, FID_PTE_EValue_val), FID_PTE_TensorList_items);
        for (uint32_t k = 0; k < items.count; k++) method->uses[i] |= method->uses[fid_fb_i32_at(items, k)] & FID_USE_MAYBE_CONST;
    }
}

static void work_out_uses(fid_method *method) {
    visit_aliases(method, note_move);
    /* Chains of views are short in real programs; beyond some rounds every view counts as one of a constant. */
    int rounds = 0;
    for (uint32_t i = 0; i < method->value_count; i++) method->has_views |= (method->uses[i] & FID_USE_ALIASED) != 0;
    while (rounds < 16 && visit_aliases(method, spread_constness)) rounds++;
    if (rounds == 16) visit_aliases(method, assume_constness);
    spread_to_lists(method);
}

/* Copies by moves write; so they obey the rule for constants as kernels do. */
static fid_status check_move(fid_method *method, const fid_code *code) {
    if (code->as.move.to->tag != FID_TAG_TENSOR) return FID_OK;
    uint32_t to = (uint32_t)(code->as.move.to - method->values);
    const fid_method_tensor *tensor = fid_method_tensor_of(code->as.move.to);
    bool constant = (tensor->tensor.flags & FID_TENSOR_CONSTANT) || ((method->uses[to] & FID_USE_WRITTEN) &&
                                                                     (method->uses[to] & FID_USE_MAYBE_CONST));
    if (constant) return fid_fail(&method->sink, FID_INVALID_PROGRAM, "it moves to value %u, which is constant", to);
    if ((method->uses[to] & FID_USE_INPUT) && !tensor->home) {
        return fid_fail(&method->sink, FID_NOT_SUPPORTED, "it moves to value %u, an input that has no planned memory", to);
    }
    return FID_OK;
}

/* ---- Passes ---- */

static fid_status located(fid_method *method, fid_status status, uint32_t index) {
    return status == FID_OK ? FID_OK : fid_fail(&method->sink, status, "instruction %u", index);
}

static fid_status read_chain(fid_method *method, uint32_t index) {
    fid_fb_vector instructions = chain_instructions(method, index);
    fid_chain *chain = &method->chains[index];
    chain->code = fid_arena_allocate_array(&method->arena, instructions.count, sizeof *chain->code);
    if (!chain->code) return no_memory(method);
    chain->count = instructions.count;
    for (uint32_t i = 0; i < instructions.count; i++) {
        FID_TRY(located(method, read_instruction(method, fid_fb_table_at(instructions, i), instructions.count, &chain->code[i]), i));
    }
    return FID_OK;
}

static fid_status finish_chain(fid_method *method, const fid_chain *chain) {
    for (uint32_t i = 0; i < chain->count; i++) {
        const fid_code *code = &chain->code[i];
        if (code->kind == FID_CODE_KERNEL) FID_TRY(located(method, fid_method_finish_call(method, code->as.kernel), i));
        if (code->kind == FID_CODE_MOVE) FID_TRY(located(method, check_move(method, code), i));
    }
    return FID_OK;
}

static fid_status give_homes(fid_method *method) {
    for (uint32_t i = 0; i < method->value_count; i++) {
        if (!wants_home(method, i)) continue;
        fid_method_tensor *tensor = fid_method_tensor_of(&method->values[i]);
        FID_TRY(fid_method_grow_home(method, tensor, fid_tensor_bytes(&tensor->tensor)));
    }
    return FID_OK;
}

/* Views, targets of moves, and what grows or shrinks by itself begin every run at home. */
static fid_status list_rebound(fid_method *method) {
    method->rebound = fid_arena_allocate_array(&method->arena, method->value_count, sizeof *method->rebound);
    if (!method->rebound) return no_memory(method);
    for (uint32_t i = 0; i < method->value_count; i++) {
        if (method->values[i].tag == FID_TAG_TENSOR && (method->uses[i] & FID_USE_ALIASED)) {
            if (method->uses[i] & FID_USE_INPUT) {
                return fid_fail(&method->sink, FID_INVALID_PROGRAM, "value %u is an input and the output of a view", i);
            }
            method->rebound[method->rebound_count++] = fid_method_tensor_of(&method->values[i]);
        }
    }
    return FID_OK;
}

fid_status fid_method_load_code(fid_method *method) {
    fid_fb_vector delegates = fid_fb_get_vector(method->plan, FID_PTE_ExecutionPlan_delegates);
    method->chain_count = fid_fb_get_vector(method->plan, FID_PTE_ExecutionPlan_chains).count;
    method->chains = fid_arena_allocate_array(&method->arena, method->chain_count, sizeof *method->chains);
    method->delegates = fid_arena_allocate_array(&method->arena, delegates.count, sizeof *method->delegates);
    if (!method->chains || !method->delegates) return no_memory(method);
    FID_TRY(find_operators(method));
    for (uint32_t i = 0; i < method->chain_count; i++) FID_TRY(read_chain(method, i));
    method->metas = fid_arena_allocate_array(&method->arena, method->meta_count, sizeof *method->metas);
    if (!method->metas) return no_memory(method);
    work_out_uses(method);
    for (uint32_t i = 0; i < method->chain_count; i++) FID_TRY(finish_chain(method, &method->chains[i]));
    FID_TRY(give_homes(method));
    FID_TRY(fid_method_find_zero_starts(method));
    return list_rebound(method);
}
