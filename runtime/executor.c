/* Running a loaded method. Everything was checked at load (see method.h); here only what changes between runs is. */
#include "runtime/data.h"
#include "runtime/method.h"

void fid_live_list_gather(const fid_live_list *list) {
    for (size_t i = 0; i < list->count; i++) list->items[i] = fid_value_int(list->sources[i]);
}

/* ---- Homes ---- */

fid_status fid_method_grow_home(fid_method *method, fid_method_tensor *tensor, size_t size) {
    if (tensor->home && tensor->tensor.data == tensor->home && size <= tensor->home_size) return FID_OK;
    if (!tensor->home || size > tensor->home_size) {
        void *memory = fid_chunk_allocate(method, size);
        if (!memory) return fid_fail(&method->sink, FID_OUT_OF_MEMORY, "no memory for a tensor of %zu bytes", size);
        if (tensor->home_allocated) fid_chunk_retire(method, tensor->home);
        tensor->home = memory;
        tensor->home_size = size;
        tensor->home_allocated = true;
    }
    tensor->tensor.data = tensor->home;
    tensor->tensor.capacity = tensor->home_size;
    return FID_OK;
}

void fid_method_rebind(fid_method *method) {
    for (uint32_t i = 0; i < method->rebound_count; i++) {
        fid_method_tensor *tensor = method->rebound[i];
        tensor->tensor.data = tensor->home;
        tensor->tensor.capacity = tensor->home_size;
        tensor->tensor.flags &= (uint8_t)~FID_TENSOR_CONSTANT;
        if (tensor->tensor.dynamism == FID_STATIC) continue;
        /* Sizes may have outgrown home while it stood elsewhere; bounds fit a planned home. */
        bool known = tensor->tensor.dynamism == FID_DYNAMIC_BOUND;
        for (size_t k = 0; k < tensor->tensor.rank; k++) tensor->tensor.sizes[k] = known ? tensor->bounds[k] : 0;
        fid_tensor_update_strides(&tensor->tensor);
    }
    fid_method_free_retired(method);
}

/* ---- Kernel calls ---- */

/* Tensors that have no place of their own may be read before anything gave them one. */
static fid_status check_data(fid_method *method, const fid_method_call *mc) {
    bool makes = mc->is_view || (mc->op->kind == FID_OP_DATA_DEPENDENT && !mc->op->shape); /* the call gives its outputs memory */
    uint32_t count = makes ? mc->call.output_index : mc->call.arg_count;
    fid_tensor_walk walk = {0};
    for (const fid_tensor *tensor; (tensor = fid_next_tensor(&walk, mc->call.args, count));) {
        if (!tensor->data && fid_tensor_numel(tensor) > 0) {
            return fid_fail(&method->sink, FID_INVALID_PROGRAM, "%s reads or writes a tensor that has no memory yet",
                            mc->call.name);
        }
    }
    return FID_OK;
}

/* Kernels of numbers write the value whole; later instructions count on a number. */
static fid_status check_numbers(fid_method *method, const fid_method_call *mc) {
    for (uint32_t i = mc->call.output_index; i < mc->call.arg_count; i++) {
        if (method->uses[mc->call.args[i] - method->values] & FID_USE_CHANGES && !fid_value_is_number(mc->call.args[i])) {
            return fid_fail(&method->sink, FID_INTERNAL, "%s gave a result that is no number", mc->call.name);
        }
    }
    return FID_OK;
}

static fid_status run_kernel(fid_method *method, fid_method_call *mc) {
    for (uint32_t i = 0; i < mc->list_count; i++) fid_live_list_gather(mc->lists[i]);
    if (mc->dynamic) FID_TRY(fid_method_resize_outputs(method, mc));
    if (mc->check_data) FID_TRY(check_data(method, mc));
    if (mc->check_overlap) FID_TRY(fid_method_check_overlap(method, mc, true));
    fid_status status = method->tracer ? fid_trace_kernel(method, mc) : mc->kernel->run(&mc->call);
    if (method->scratch_used) fid_method_scratch_end_call(method);
    if (status != FID_OK) return fid_fail(&method->sink, status, "%s failed", mc->call.name);
    if (mc->is_view) mc->call.args[mc->call.output_index]->as.tensor->flags |= mc->call.args[0]->as.tensor->flags & FID_TENSOR_CONSTANT;
    return mc->numbers_out ? check_numbers(method, mc) : FID_OK;
}

/* ---- Other instructions ---- */

static fid_backend_run backend_run(fid_method *method) {
    const fid_environment *environment = &method->program->environment;
    return (fid_backend_run){.struct_size = sizeof(fid_backend_run), .sink = &method->sink, .threads = method->threads,
                             .cancelled = &method->turn, .tracer = method->tracer, .now = environment->now, .now_self = environment->now_self,
                             .chain = method->traced_chain, .instruction = method->traced_instruction};
}

static fid_status wait_pending(fid_method *method) {
    const fid_backend *backend = method->pending;
    fid_status result = FID_OK;
    fid_backend_run run = backend_run(method);
    method->pending = NULL;
    for (uint32_t i = 0; backend && i < method->delegate_count; i++) {
        fid_delegate *delegate = &method->delegates[i];
        if (!delegate->submitted) continue;
        delegate->submitted = false;
        fid_status status = backend->wait(backend->self, delegate->handle, &run);
        if (result == FID_OK) result = status;
    }
    return result == FID_OK ? FID_OK : fid_fail(&method->sink, result, "a delegate of backend %s failed", backend->id);
}

static fid_status run_delegate(fid_method *method, const fid_delegate_call *call) {
    const fid_backend *backend = call->delegate->backend;
    if (method->pending && method->pending != backend) FID_TRY(wait_pending(method));
    fid_backend_run run = backend_run(method);
    fid_status status = backend->execute(backend->self, call->delegate->handle, &run, call->args, call->arg_count);
    if (status != FID_OK) return fid_fail(&method->sink, status, "a delegate of backend %s failed", backend->id);
    if (backend->wait) {
        method->pending = backend;
        call->delegate->submitted = true;
    }
    return FID_OK;
}

static fid_status move_tensor(fid_method *method, const fid_method_tensor *from, fid_method_tensor *to) {
    const fid_tensor *source = &from->tensor;
    size_t bytes = fid_tensor_bytes(source);
    if (!source->data && bytes > 0) {
        return fid_fail(&method->sink, FID_INVALID_PROGRAM, "a move reads a tensor that has no memory yet");
    }
    if (to->home) {
        if (to->tensor.dynamism == FID_DYNAMIC_UNBOUND) FID_TRY(fid_method_grow_home(method, to, bytes));
        FID_TRY(fid_tensor_resize(&method->sink, &to->tensor, source->sizes, source->rank));
        if (bytes > 0) memmove(to->tensor.data, source->data, bytes);
        return FID_OK;
    }
    to->tensor.data = source->data;
    to->tensor.capacity = source->capacity;
    to->tensor.flags = (uint8_t)((to->tensor.flags & ~FID_TENSOR_CONSTANT) | (source->flags & FID_TENSOR_CONSTANT));
    return fid_tensor_resize(&method->sink, &to->tensor, source->sizes, source->rank);
}

static fid_status run_move(fid_method *method, const fid_code *code) {
    if (code->as.move.from->tag == FID_TAG_TENSOR) {
        return move_tensor(method, fid_method_tensor_of(code->as.move.from), fid_method_tensor_of(code->as.move.to));
    }
    *code->as.move.to = *code->as.move.from;
    return FID_OK;
}

/* A tensor is true if all its elements are, as upstream has it. */
static fid_status read_condition(fid_method *method, const fid_value *value, bool *out_condition) {
    *out_condition = true;
    if (value->tag != FID_TAG_TENSOR) {
        *out_condition = fid_value_bool(value);
        return FID_OK;
    }
    const uint8_t *items = value->as.tensor->data;
    size_t count = fid_tensor_numel(value->as.tensor);
    if (!items && count > 0) return fid_fail(&method->sink, FID_INVALID_PROGRAM, "a condition has no memory yet");
    for (size_t i = 0; i < count; i++) *out_condition &= items[i] != 0;
    return FID_OK;
}

/* Planned memory stays; memory that was allocated for an unbounded tensor is given up. */
static void run_free(fid_method *method, fid_method_tensor *tensor) {
    if (tensor->tensor.dynamism != FID_DYNAMIC_UNBOUND || !tensor->home_allocated) return;
    fid_chunk_retire(method, tensor->home);
    tensor->home = tensor->tensor.data = NULL;
    tensor->home_size = tensor->tensor.capacity = 0;
    tensor->home_allocated = false;
}

/* ---- Runs ---- */

static fid_status run_code(fid_method *method, const fid_code *code, uint32_t *inout_at) {
    bool condition;
    if (method->pending && code->kind != FID_CODE_DELEGATE) FID_TRY(wait_pending(method));
    switch ((fid_code_kind)code->kind) {
    case FID_CODE_KERNEL: return run_kernel(method, code->as.kernel);
    case FID_CODE_DELEGATE: return run_delegate(method, code->as.delegate);
    case FID_CODE_MOVE: return run_move(method, code);
    case FID_CODE_FREE: run_free(method, fid_method_tensor_of(code->as.value)); return FID_OK;
    case FID_CODE_JUMP_FALSE:
        FID_TRY(read_condition(method, code->as.value, &condition));
        if (!condition) *inout_at = code->target;
        return FID_OK;
    }
    return FID_INTERNAL;
}

/* Instructions that compute; what the others do is too short to tell. */
static fid_status run_traced(fid_method *method, const fid_chain *chain, const fid_code *code, uint32_t *inout_at) {
    method->traced_chain = (int32_t)(chain - method->chains);
    method->traced_instruction = (int32_t)(code - chain->code);
    uint64_t start = fid_trace_now(method);
    fid_status status = run_code(method, code, inout_at);
    if (code->kind == FID_CODE_KERNEL) fid_trace_span(method, "OPERATOR_CALL", true, start);
    if (code->kind == FID_CODE_DELEGATE) fid_trace_span(method, "DELEGATE_CALL", true, start);
    return status;
}

static fid_status run_chain(fid_method *method, const fid_chain *chain) {
    for (uint32_t at = 0; at < chain->count;) {
        if (__atomic_load_n(&method->turn, __ATOMIC_RELAXED) != FID_TURN_TAKEN) {
            return fid_fail(&method->sink, FID_CANCELLED, "the run was cancelled before instruction %u", at);
        }
        const fid_code *code = &chain->code[at];
        uint32_t here = at++;
        fid_status status = method->tracer ? run_traced(method, chain, code, &at) : run_code(method, code, &at);
        if (status != FID_OK) return fid_fail(&method->sink, status, "method %s, instruction %u", method->name, here);
    }
    return FID_OK;
}

/* A loop that ended midway has left its counters where they were. */
static void restore_numbers(fid_method *method) {
    for (uint32_t i = 0; i < method->value_count; i++) {
        if ((method->uses[i] & FID_USE_CHANGES) && fid_value_is_number(&method->values[i])) {
            method->values[i] = method->first_values[i];
        }
    }
}

static fid_status run_all(fid_method *method) {
    fid_status status = FID_OK;
    for (uint32_t i = 0; i < method->chain_count && status == FID_OK; i++) status = run_chain(method, &method->chains[i]);
    fid_status waited = wait_pending(method); /* also after a failure: nothing may run on behind our back */
    return status != FID_OK ? status : waited;
}

static fid_status run_once(fid_method *method) {
    FID_TRY(fid_method_begin_inputs(method));
    fid_method_rebind(method);
    fid_status status = run_all(method);
    if (status == FID_OK) status = fid_method_copy_outputs(method);
    else restore_numbers(method);
    fid_method_end_inputs(method);
    return status;
}

static fid_status run_once_traced(fid_method *method) {
    method->tracer->begin_block(method->tracer->self, "Execute");
    uint64_t start = fid_trace_now(method);
    fid_status status = run_once(method);
    fid_trace_span(method, "Method::execute", false, start);
    return status;
}

fid_status fid_method_run(fid_method *method) {
    FID_TRY(fid_method_enter(method));
    fid_status status = method->tracer ? run_once_traced(method) : run_once(method);
    fid_method_leave(method);
    return status;
}

void fid_method_cancel(fid_method *method) {
    uint32_t taken = FID_TURN_TAKEN;
    __atomic_compare_exchange_n(&method->turn, &taken, FID_TURN_CANCELLED, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

fid_status fid_method_enter(fid_method *method) {
    uint32_t free_turn = FID_TURN_FREE;
    if (!__atomic_compare_exchange_n(&method->turn, &free_turn, FID_TURN_TAKEN, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return fid_fail(&method->sink, FID_INVALID_STATE, "method %s is in use by another thread; give each thread its own",
                        method->name);
    }
    if (method->shared && __atomic_exchange_n(&method->shared->taken, 1, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&method->turn, FID_TURN_FREE, __ATOMIC_RELEASE);
        return fid_fail(&method->sink, FID_INVALID_STATE, "a method that shares buffers with %s is in use by another thread", method->name);
    }
    return FID_OK;
}

void fid_method_leave(fid_method *method) {
    if (method->shared) __atomic_store_n(&method->shared->taken, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&method->turn, FID_TURN_FREE, __ATOMIC_RELEASE);
}
