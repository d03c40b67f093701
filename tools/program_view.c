/* Looking at programs in their files. What fid_pte_open promises holds; indices of values and operators are checked here. */
#include "tools/program_view.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static fid_status map_file(const fid_sink *sink, const char *path, program_view *out) {
    struct stat info;
    int file = open(path, O_RDONLY);
    bool ok = file >= 0 && fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
    void *map = ok ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    int problem = errno;
    if (file >= 0) close(file);
    if (map == MAP_FAILED) return fid_fail(sink, FID_ACCESS_FAILED, "cannot read %s: %s", path, problem ? strerror(problem) : "it is empty or no file");
    out->map = map;
    out->size = (size_t)info.st_size;
    return FID_OK;
}

fid_status program_view_open(const fid_sink *sink, const char *path, program_view *out) {
    *out = (program_view){0};
    errno = 0;
    FID_TRY(map_file(sink, path, out));
    out->bytes = fid_span_of(out->map, out->size);
    if (fid_bpte_recognize(out->bytes)) {
        fid_bpte bundle;
        FID_TRY(fid_bpte_open(sink, out->bytes, &bundle));
        out->bytes = bundle.program;
    }
    fid_pte_header header;
    fid_span head = fid_span_of(out->bytes.data, out->bytes.size < FID_PTE_HEAD_BYTES ? out->bytes.size : FID_PTE_HEAD_BYTES);
    FID_TRY(fid_pte_read_header(sink, head, out->bytes.size, &header));
    return fid_pte_open(sink, fid_span_of(out->bytes.data, (size_t)header.program_size), &header, out->bytes.size, &out->pte);
}

void program_view_close(program_view *view) {
    if (view->map) munmap(view->map, view->size);
    view->map = NULL;
}

bool program_view_plan(const program_view *view, const char *method, fid_fb_ref *out_plan) {
    fid_fb_vector plans = fid_fb_get_vector(view->pte.root, FID_PTE_Program_execution_plan);
    for (uint32_t i = 0; i < plans.count; i++) {
        *out_plan = fid_fb_table_at(plans, i);
        const char *name = fid_fb_get_string(*out_plan, FID_PTE_ExecutionPlan_name);
        if (name && strcmp(name, method) == 0) return true;
    }
    return false;
}

uint64_t program_view_constants(const program_view *view) {
    fid_fb_ref constants = fid_fb_get_table(view->pte.root, FID_PTE_Program_constant_segment);
    if (fid_fb_get_vector(constants, FID_PTE_SubsegmentOffsets_offsets).count < 2) return 0;
    return fid_pte_segment(&view->pte, fid_fb_get_u32(constants, FID_PTE_SubsegmentOffsets_segment_index, 0)).size;
}

uint64_t program_view_planned(fid_fb_ref plan) {
    fid_fb_vector sizes = fid_fb_get_vector(plan, FID_PTE_ExecutionPlan_non_const_buffer_sizes);
    uint64_t total = 0;
    for (uint32_t i = 0; i < sizes.count; i++) total += fid_fb_u64_at(sizes, i);
    return total;
}

fid_span program_view_named(const program_view *view, const char *key) {
    fid_fb_vector named = fid_fb_get_vector(view->pte.root, FID_PTE_Program_named_data);
    for (uint32_t i = 0; i < named.count; i++) {
        fid_fb_ref item = fid_fb_table_at(named, i);
        const char *name = fid_fb_get_string(item, FID_PTE_NamedData_key);
        if (!name || strcmp(name, key) != 0) continue;
        fid_pte_range range = fid_pte_segment(&view->pte, fid_fb_get_u32(item, FID_PTE_NamedData_segment_index, 0));
        return fid_span_of(view->bytes.data + range.offset, (size_t)range.size);
    }
    return (fid_span){NULL, 0};
}

/* ---- Calls ---- */

static void name_call(fid_fb_ref op, program_call *out) {
    const char *name = fid_fb_get_string(op, FID_PTE_Operator_name), *overload = fid_fb_get_string(op, FID_PTE_Operator_overload);
    if (!name) name = "?";
    if (!overload) overload = "";
    fid_format(out->name, sizeof out->name, *overload ? "%s.%s" : "%s", name, overload);
    out->op = fid_op_find_out(&fid_builtin_ops, name, strlen(name), overload, strlen(overload));
    if (!out->op) return;
    fid_schema_cursor cursor = fid_schema_begin(out->op->schema);
    fid_schema_arg arg;
    while (fid_schema_next_arg(&cursor, &arg)) out->inputs++;
    if (out->inputs > out->args.count) out->inputs = out->args.count;
}

bool program_call_at(fid_fb_ref plan, int32_t chain, int32_t instruction, program_call *out) {
    fid_fb_vector chains = fid_fb_get_vector(plan, FID_PTE_ExecutionPlan_chains);
    if (chain < 0 || (uint32_t)chain >= chains.count) return false;
    fid_fb_vector instructions = fid_fb_get_vector(fid_fb_table_at(chains, (uint32_t)chain), FID_PTE_Chain_instructions);
    if (instruction < 0 || (uint32_t)instruction >= instructions.count) return false;
    fid_fb_ref table = fid_fb_table_at(instructions, (uint32_t)instruction);
    if (fid_fb_get_u8(table, FID_PTE_Instruction_instr_args_type, 0) != FID_PTE_TAG_KernelCall) return false;
    fid_fb_ref call = fid_fb_get_table(table, FID_PTE_Instruction_instr_args);
    fid_fb_vector operators = fid_fb_get_vector(plan, FID_PTE_ExecutionPlan_operators);
    uint32_t op = (uint32_t)fid_fb_get_i32(call, FID_PTE_KernelCall_op_index, 0);
    if (op >= operators.count) return false;
    *out = (program_call){.values = fid_fb_get_vector(plan, FID_PTE_ExecutionPlan_values), .args = fid_fb_get_vector(call, FID_PTE_KernelCall_args)};
    name_call(fid_fb_table_at(operators, op), out);
    return true;
}

/* The value at an index of the plan's table, if it has the tag; else an absent table. */
static fid_fb_ref value_of(const program_call *call, int64_t index, uint8_t tag) {
    if (index < 0 || index >= call->values.count) return (fid_fb_ref){NULL};
    fid_fb_ref value = fid_fb_table_at(call->values, (uint32_t)index);
    return fid_fb_get_u8(value, FID_PTE_EValue_val_type, 0) == tag ? fid_fb_get_table(value, FID_PTE_EValue_val) : (fid_fb_ref){NULL};
}

static fid_fb_ref arg_of(const program_call *call, int32_t arg, uint8_t tag) {
    return arg >= 0 && (uint32_t)arg < call->args.count ? value_of(call, fid_fb_i32_at(call->args, (uint32_t)arg), tag) : (fid_fb_ref){NULL};
}

int32_t program_call_find(const program_call *call, const char *name) {
    fid_schema_arg arg;
    if (!call->op) return -1;
    fid_schema_cursor cursor = fid_schema_begin(call->op->schema);
    for (int32_t i = 0; fid_schema_next_arg(&cursor, &arg); i++) {
        if (arg.name.size == strlen(name) && memcmp(arg.name.data, name, arg.name.size) == 0) return i;
    }
    return -1;
}

static bool read_tensor(fid_fb_ref table, program_tensor *out) {
    if (!table.at) return false;
    fid_fb_vector sizes = fid_fb_get_vector(table, FID_PTE_Tensor_sizes);
    *out = (program_tensor){.dtype = (fid_dtype)fid_fb_get_i8(table, FID_PTE_Tensor_scalar_type, 0), .numel = 1,
                            .rank = sizes.count < FID_MAX_RANK ? sizes.count : FID_MAX_RANK};
    fid_fb_ref extra = fid_fb_get_table(table, FID_PTE_Tensor_extra_tensor_info);
    bool external = extra.at && fid_fb_get_i8(extra, FID_PTE_ExtraTensorInfo_location, 0) == FID_PTE_TENSOR_EXTERNAL;
    bool stored = fid_fb_get_u32(table, FID_PTE_Tensor_data_buffer_idx, 0) > 0;
    out->constant = external || (stored && !fid_fb_get_table(table, FID_PTE_Tensor_allocation_info).at);
    for (uint32_t i = 0; i < out->rank; i++) {
        out->sizes[i] = fid_fb_i32_at(sizes, i);
        out->numel *= (double)out->sizes[i];
    }
    return true;
}

bool program_call_tensor(const program_call *call, int32_t arg, program_tensor *out) {
    return read_tensor(arg_of(call, arg, FID_PTE_TAG_Tensor), out);
}

static fid_fb_vector list_of(const program_call *call, int32_t arg) {
    fid_fb_ref list = arg_of(call, arg, FID_PTE_TAG_TensorList);
    if (!list.at) list = arg_of(call, arg, FID_PTE_TAG_OptionalTensorList);
    return fid_fb_get_vector(list, FID_PTE_TensorList_items);
}

uint32_t program_call_listed(const program_call *call, int32_t arg) {
    program_tensor tensor;
    return program_call_tensor(call, arg, &tensor) ? 1 : list_of(call, arg).count;
}

bool program_call_item(const program_call *call, int32_t arg, uint32_t item, program_tensor *out) {
    if (program_call_tensor(call, arg, out)) return true;
    fid_fb_vector items = list_of(call, arg);
    return item < items.count && read_tensor(value_of(call, fid_fb_i32_at(items, item), FID_PTE_TAG_Tensor), out);
}

int64_t program_call_int(const program_call *call, int32_t arg, int64_t otherwise) {
    return fid_fb_get_i64(arg_of(call, arg, FID_PTE_TAG_Int), FID_PTE_Int_int_val, otherwise);
}

double program_call_product(const program_call *call, int32_t arg, double otherwise) {
    fid_fb_vector items = fid_fb_get_vector(arg_of(call, arg, FID_PTE_TAG_IntList), FID_PTE_IntList_items);
    double product = 1;
    for (uint32_t i = 0; i < items.count; i++) {
        fid_fb_ref number = value_of(call, (int64_t)fid_fb_u64_at(items, i), FID_PTE_TAG_Int);
        product *= (double)fid_fb_get_i64(number, FID_PTE_Int_int_val, 0);
    }
    return items.count ? product : otherwise;
}

const char *program_call_text(const program_call *call, int32_t arg) {
    const char *text = fid_fb_get_string(arg_of(call, arg, FID_PTE_TAG_String), FID_PTE_String_string_val);
    return text ? text : "";
}
