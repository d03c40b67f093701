/* Finds the memory that must start as zeros: what a run may read before it has written it, that is, state without initial
 * content. Goes through the instructions in order and notes which memory has been written by then; by address, because views
 * without a copy read under another name what their base wrote. */
#include "runtime/method.h"

/* Disjoint ranges of addresses in rising order, none touching the next. */
typedef struct range {
    uintptr_t begin, end;
} range;

typedef struct written {
    range *ranges;
    size_t count;
} written;

/* The first range that ends at or behind `address`. */
static size_t find(const written *w, uintptr_t address) {
    size_t low = 0, high = w->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (w->ranges[middle].end < address) low = middle + 1;
        else high = middle;
    }
    return low;
}

static bool covers(const written *w, range r) {
    size_t at = find(w, r.end);
    return at < w->count && w->ranges[at].begin <= r.begin;
}

static void add(written *w, range r) {
    size_t first = find(w, r.begin), last = first;
    for (; last < w->count && w->ranges[last].begin <= r.end; last++) {
        if (w->ranges[last].begin < r.begin) r.begin = w->ranges[last].begin;
        if (w->ranges[last].end > r.end) r.end = w->ranges[last].end;
    }
    memmove(w->ranges + first + 1, w->ranges + last, (w->count - last) * sizeof *w->ranges);
    w->ranges[first] = r;
    w->count = w->count - (last - first) + 1;
}

static range home_of(const fid_method_tensor *tensor) { return (range){(uintptr_t)tensor->home,
        (uintptr_t)tensor->home + tensor->home_size}; }

static void note_reads(const written *w, fid_value *const *values, uint32_t count) {
    fid_tensor_walk walk = {0};
    for (fid_tensor *tensor; (tensor = fid_next_tensor(&walk, values, count));) {
        fid_method_tensor *whole = (fid_method_tensor *)(void *)tensor;
        if (whole->home && !whole->written && !covers(w, home_of(whole))) whole->starts_as_zero = true;
    }
}

/* A dynamic tensor fills its memory only in part: it counts for itself, not for what else lies there. */
static void note_writes(written *w, fid_value *const *values, uint32_t count) {
    fid_tensor_walk walk = {0};
    for (fid_tensor *tensor; (tensor = fid_next_tensor(&walk, values, count));) {
        fid_method_tensor *whole = (fid_method_tensor *)(void *)tensor;
        whole->written = true;
        if (whole->home && tensor->dynamism == FID_STATIC) add(w, home_of(whole));
    }
}

static void note_code(written *w, const fid_code *code) {
    const fid_call *call;
    switch ((fid_code_kind)code->kind) {
    case FID_CODE_KERNEL:
        call = &code->as.kernel->call;
        note_reads(w, call->args, call->output_index);
        note_writes(w, call->args + call->output_index, call->arg_count - call->output_index);
        return;
    case FID_CODE_DELEGATE: /* may read all of them */
        note_reads(w, code->as.delegate->args, code->as.delegate->arg_count);
        note_writes(w, code->as.delegate->args, code->as.delegate->arg_count);
        return;
    case FID_CODE_MOVE:
        note_reads(w, &code->as.move.from, 1);
        note_writes(w, &code->as.move.to, 1);
        return;
    case FID_CODE_JUMP_FALSE:
    case FID_CODE_FREE: return;
    }
}

static bool has_jumps(const fid_method *method) {
    for (uint32_t c = 0; c < method->chain_count; c++) {
        for (uint32_t i = 0; i < method->chains[c].count; i++) {
            if (method->chains[c].code[i].kind == FID_CODE_JUMP_FALSE) return true;
        }
    }
    return false;
}

static void zero_everything(fid_method *method) {
    for (uint32_t i = 0; i < method->value_count; i++) {
        if (method->values[i].tag == FID_TAG_TENSOR) fid_method_tensor_of(&method->values[i])->starts_as_zero = true;
    }
}

fid_status fid_method_find_zero_starts(fid_method *method) {
    written w = {.ranges = fid_arena_allocate_array(&method->arena, (size_t)method->value_count + 1, sizeof *w.ranges)};
    if (!w.ranges) return fid_fail(&method->sink, FID_OUT_OF_MEMORY, "no memory for the method's instructions");
    if (has_jumps(method)) { /* what comes before need not have run */
        zero_everything(method);
        return FID_OK;
    }
    for (uint32_t i = 0; i < method->input_count; i++) {
        fid_value *input = &method->values[method->inputs[i].value];
        note_writes(&w, &input, 1);
    }
    for (uint32_t c = 0; c < method->chain_count; c++) {
        for (uint32_t i = 0; i < method->chains[c].count; i++) note_code(&w, &method->chains[c].code[i]);
    }
    for (uint32_t i = 0; i < method->output_count; i++) {
        fid_value *output = &method->values[method->outputs[i].value];
        note_reads(&w, &output, 1);
    }
    return FID_OK;
}
