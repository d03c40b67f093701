/* For tests: puts a program of one method together, value by value, instruction by instruction. */
#ifndef FID_RUNTIME_PROGRAM_MAKER_H
#define FID_RUNTIME_PROGRAM_MAKER_H

#include "runtime/testing.h"

#define MAKER_MOST 48

typedef struct maker {
    fid_pte_out_value values[MAKER_MOST];
    int32_t sizes[MAKER_MOST][4], lists[MAKER_MOST][8];
    uint8_t orders[MAKER_MOST][4];
    int64_t int_lists[MAKER_MOST][8];
    int32_t value_count;
    fid_pte_out_operator operators[MAKER_MOST];
    size_t operator_count;
    fid_pte_out_instruction instructions[MAKER_MOST];
    int32_t args[MAKER_MOST][8];
    size_t instruction_count;
    int32_t inputs[8], outputs[8];
    size_t input_count, output_count;
    int64_t planned;
    float constants[64]; /* all constants: floats, each at a multiple of 16 bytes */
    uint64_t constant_offsets[16];
    size_t constant_count, constant_floats;
    fid_pte_out_delegate delegates[4];
    size_t delegate_count;
    const uint8_t *blob;
    size_t blob_size;
} maker;

static inline int32_t maker_value(maker *m, fid_pte_out_value value) {
    assert_true(m->value_count < MAKER_MOST);
    m->values[m->value_count] = value;
    return m->value_count++;
}
static inline int32_t maker_int(maker *m, int64_t i) { return maker_value(m, (fid_pte_out_value){.kind = FID_PTE_OUT_INT,
        .as.integer = i}); }
static inline int32_t maker_bool(maker *m, bool b) { return maker_value(m, (fid_pte_out_value){.kind = FID_PTE_OUT_BOOL,
        .as.boolean = b}); }
static inline int32_t maker_none(maker *m) { return maker_value(m, (fid_pte_out_value){.kind = FID_PTE_OUT_NULL}); }

/* A tensor of rank one or, with columns, two; without memory of its own. */
static inline int32_t maker_tensor(maker *m, fid_dtype dtype, int32_t rows, int32_t columns) {
    int32_t at = m->value_count;
    m->sizes[at][0] = rows;
    m->sizes[at][1] = columns;
    for (uint8_t i = 0; i < 4; i++) m->orders[at][i] = i;
    fid_pte_out_tensor tensor = {.dtype = (uint8_t)dtype, .rank = columns ? 2 : 1, .sizes = m->sizes[at],
                                 .dim_order = m->orders[at]};
    return maker_value(m, (fid_pte_out_value){.kind = FID_PTE_OUT_TENSOR, .as.tensor = tensor});
}

static inline int32_t maker_place(maker *m, int32_t value, uint64_t offset) {
    m->values[value].as.tensor.memory_id = 1;
    m->values[value].as.tensor.memory_offset = offset;
    return value;
}

/* In planned memory, behind all others. */
static inline int32_t maker_planned(maker *m, fid_dtype dtype, int32_t rows, int32_t columns) {
    int32_t value = maker_place(m, maker_tensor(m, dtype, rows, columns), (uint64_t)m->planned);
    m->planned += (rows * (columns ? columns : 1) * (int64_t)fid_dtype_size(dtype) + 15) / 16 * 16;
    return value;
}

static inline int32_t maker_dynamic(maker *m, int32_t value, fid_dynamism dynamism) {
    m->values[value].as.tensor.dynamism = (uint8_t)dynamism;
    return value;
}

static inline int32_t maker_constant(maker *m, const float *data, int32_t count) {
    int32_t value = maker_tensor(m, FID_FLOAT32, count, 0);
    if (!m->constant_count) m->constant_count = 1;
    m->constant_offsets[m->constant_count] = m->constant_floats * sizeof(float);
    memcpy(m->constants + m->constant_floats, data, (size_t)count * sizeof *data);
    m->constant_floats += (size_t)(count + 3) / 4 * 4;
    m->values[value].as.tensor.data_index = (uint32_t)m->constant_count++;
    return value;
}

static inline int32_t maker_ints(maker *m, size_t count, const int64_t *values) {
    int32_t at = m->value_count;
    memcpy(m->int_lists[at], values, count * sizeof *values);
    fid_pte_out_value value = {.kind = FID_PTE_OUT_INT_LIST};
    value.as.ints.items = m->int_lists[at];
    value.as.ints.count = count;
    return maker_value(m, value);
}

static inline int32_t maker_tensors(maker *m, fid_pte_out_kind kind, size_t count, const int32_t *values) {
    int32_t at = m->value_count;
    memcpy(m->lists[at], values, count * sizeof *values);
    fid_pte_out_value value = {.kind = (uint8_t)kind};
    value.as.tensors.items = m->lists[at];
    value.as.tensors.count = count;
    return maker_value(m, value);
}

static inline void maker_step(maker *m,
                              fid_pte_out_instruction instruction) { m->instructions[m->instruction_count++] = instruction; }
static inline void maker_move(maker *m, int32_t from, int32_t to) { maker_step(m,
        (fid_pte_out_instruction){.step = FID_PTE_OUT_MOVE_CALL, .index = from, .target = to}); }
static inline void maker_jump(maker *m, int32_t condition, int32_t to) { maker_step(m,
        (fid_pte_out_instruction){.step = FID_PTE_OUT_JUMP_FALSE_CALL, .index = condition, .target = to}); }
static inline void maker_free(maker *m, int32_t value) { maker_step(m, (fid_pte_out_instruction){.step = FID_PTE_OUT_FREE_CALL,
        .index = value}); }

static inline void maker_args(maker *m, fid_pte_out_step step, int32_t index, size_t count, const int32_t *args) {
    int32_t *kept = m->args[m->instruction_count];
    memcpy(kept, args, count * sizeof *args);
    maker_step(m, (fid_pte_out_instruction){.step = (uint8_t)step, .index = index, .args = kept, .arg_count = count});
}

static inline void maker_call_list(maker *m, const char *name, const char *overload, size_t count, const int32_t *args) {
    m->operators[m->operator_count] = (fid_pte_out_operator){name, overload};
    maker_args(m, FID_PTE_OUT_KERNEL_CALL, (int32_t)m->operator_count++, count, args);
}
#define maker_call(m, name, overload, ...)                                                                             \
    maker_call_list((m), (name), (overload), sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t), (int32_t[]){__VA_ARGS__})

static inline test_bytes maker_write(maker *m, const fid_environment *environment) {
    int64_t buffers[] = {0, m->planned};
    fid_pte_out_method method = {.name = "forward", .values = m->values, .value_count = (size_t)m->value_count, .inputs = m->inputs,
        .outputs = m->outputs, .input_count = m->input_count, .output_count = m->output_count, .operators = m->operators,
        .operator_count = m->operator_count, .instructions = m->instructions, .instruction_count = m->instruction_count,
        .delegates = m->delegates, .delegate_count = m->delegate_count, .buffer_sizes = buffers, .buffer_count = 2};
    fid_pte_out_piece pieces[] = {{m->constants, 0, m->constant_floats * sizeof(float)}, {m->blob, 0, m->blob_size}};
    fid_pte_out_segment segments[] = {{&pieces[0], 1, 0}, {&pieces[1], 1, 0}};
    fid_pte_out_named named[] = {{"shared", 1}};
    fid_pte_out_program program = {.methods = &method, .method_count = 1, .segments = segments, .segment_count = 2,
        .constant_offsets = m->constant_offsets, .constant_count = m->constant_count ? m->constant_count : 1, .named = named, .named_count = m->blob != NULL};
    return test_write(environment, &program);
}

#endif
