/* Programs that are written read back as they were: through the verifying reader of format/pte.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/flatbuffer_build.h"
#include "format/pte.h"
#include "format/pte_write.h"
#include "include/fidibus.h"

/* ---- A file in memory ---------------------------------------------------------------------------------------------------------- */

typedef struct file {
    uint8_t *data; /* aligned to 64 */
    size_t size;
    size_t limit;  /* bytes that the "disk" takes */
} file;

static fid_status append(void *self, const void *data, size_t size) {
    file *f = self;
    if (size > f->limit - f->size) return FID_ACCESS_FAILED;
    memcpy(f->data + f->size, data, size);
    f->size += size;
    return FID_OK;
}

static file new_file(size_t limit) { return (file){aligned_alloc(64, 1 << 20), 0, limit}; }

static fid_allocator allocator(void) { return fid_environment_default(NULL).allocator; }

/* ---- A program with one of everything ------------------------------------------------------------------------------------------- */

static const float weights[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static const uint8_t state[5] = {9, 8, 7, 6, 5}, blob[3] = {1, 2, 3};

typedef struct sample {
    fid_pte_out_value values[12];
    fid_pte_out_instruction instructions[3];
    fid_pte_out_method method;
    fid_pte_out_segment segments[3];
    fid_pte_out_program program;
} sample;

static void fill_values(fid_pte_out_value *values) {
    static const int32_t sizes[2] = {2, 4}, tensors[2] = {4, -1};
    static const uint8_t order[2] = {1, 0}, bools[3] = {1, 0, 1};
    static const int64_t ints[2] = {1, 1};
    static const double doubles[1] = {-0.5};
    fid_pte_out_tensor tensor = {.dtype = FID_FLOAT32, .rank = 2, .sizes = sizes, .dim_order = order, .data_index = 1};
    values[0].kind = FID_PTE_OUT_NULL;
    values[1] = (fid_pte_out_value){.kind = FID_PTE_OUT_INT, .as.integer = INT64_MIN};
    values[2] = (fid_pte_out_value){.kind = FID_PTE_OUT_BOOL, .as.boolean = true};
    values[3] = (fid_pte_out_value){.kind = FID_PTE_OUT_DOUBLE, .as.number = 0.1};
    values[4] = (fid_pte_out_value){.kind = FID_PTE_OUT_TENSOR, .as.tensor = tensor};
    tensor = (fid_pte_out_tensor){.dtype = FID_BOOL, .dynamism = FID_DYNAMIC_BOUND, .rank = 1, .sizes = sizes, .dim_order = order + 1,
                                  .memory_id = 1, .memory_offset = 0x123456789abcu, .data_index = 1, .name = "layer.state"};
    values[5] = (fid_pte_out_value){.kind = FID_PTE_OUT_TENSOR, .as.tensor = tensor};
    values[6] = (fid_pte_out_value){.kind = FID_PTE_OUT_STRING, .as.text = "tanh"};
    values[7] = (fid_pte_out_value){.kind = FID_PTE_OUT_INT_LIST, .as.ints = {ints, 2}};
    values[8] = (fid_pte_out_value){.kind = FID_PTE_OUT_DOUBLE_LIST, .as.doubles = {doubles, 1}};
    values[9] = (fid_pte_out_value){.kind = FID_PTE_OUT_BOOL_LIST, .as.bools = {bools, 3}};
    values[10] = (fid_pte_out_value){.kind = FID_PTE_OUT_TENSOR_LIST, .as.tensors = {tensors, 1}};
    values[11] = (fid_pte_out_value){.kind = FID_PTE_OUT_OPTIONAL_TENSOR_LIST, .as.tensors = {tensors, 2}};
}

static void fill_sample(sample *s) {
    static const int32_t args[3] = {4, 5, 5}, inputs[1] = {5}, outputs[2] = {4, 1};
    static const fid_pte_out_operator operators[1] = {{"aten::relu", "out"}};
    static const int64_t buffers[2] = {0, 1 << 20};
    static const fid_pte_out_frame frames[1] = {{"model.py", "forward", "x = relu(x)", 12}};
    static const fid_pte_out_piece constants[2] = {{weights, 0, sizeof weights}, {weights, 64, 16}}, states[1] = {{state, 0, sizeof state}};
    static const fid_pte_out_piece blobs[1] = {{blob, 0, sizeof blob}};
    static const uint64_t constant_offsets[3] = {0, 0, 64}, mutable_offsets[2] = {0, 0};
    static const fid_pte_out_named named[1] = {{"tokenizer", 2}};
    memset(s, 0, sizeof *s);
    fill_values(s->values);
    s->instructions[0] = (fid_pte_out_instruction){.step = FID_PTE_OUT_KERNEL_CALL, .args = args, .arg_count = 3, .frames = frames, .frame_count = 1};
    s->instructions[1] = (fid_pte_out_instruction){.step = FID_PTE_OUT_JUMP_FALSE_CALL, .index = 2, .target = 0};
    s->instructions[2] = (fid_pte_out_instruction){.step = FID_PTE_OUT_MOVE_CALL, .index = 4, .target = 5};
    s->method = (fid_pte_out_method){.name = "forward", .input_tree = "[1, {}]", .values = s->values, .value_count = 12, .inputs = inputs,
                                     .input_count = 1, .outputs = outputs, .output_count = 2, .operators = operators, .operator_count = 1,
                                     .instructions = s->instructions, .instruction_count = 3, .buffer_sizes = buffers, .buffer_count = 2,
                                     .has_frames = true};
    s->segments[0] = (fid_pte_out_segment){constants, 2, 0};
    s->segments[1] = (fid_pte_out_segment){states, 1, 0};
    s->segments[2] = (fid_pte_out_segment){blobs, 1, 4096};
    s->program = (fid_pte_out_program){.methods = &s->method, .method_count = 1, .segments = s->segments, .segment_count = 3,
                                       .constant_offsets = constant_offsets, .constant_count = 3, .mutable_segment = 1,
                                       .mutable_offsets = mutable_offsets, .mutable_count = 2, .named = named, .named_count = 1};
}

static fid_status write_sample(const fid_sink *sink, const sample *s, file *f) {
    const fid_pte_sink destination = {append, f};
    uint64_t size;
    FID_TRY(fid_pte_write(allocator(), sink, &s->program, &destination, &size));
    assert_int_equal(size, f->size);
    return FID_OK;
}

/* ---- Tests ---------------------------------------------------------------------------------------------------------------------- */

static fid_pte open_file(const file *f) {
    fid_message message = {0};
    fid_sink sink = fid_message_sink(&message);
    fid_pte_header header;
    fid_pte pte;
    assert_int_equal(fid_pte_read_header(&sink, fid_span_of(f->data, f->size < 64 ? f->size : 64), f->size, &header), FID_OK);
    fid_status status = fid_pte_open(&sink, fid_span_of(f->data, header.program_size), &header, f->size, &pte);
    assert_string_equal(message.text, "");
    assert_int_equal(status, FID_OK);
    return pte;
}

static fid_fb_ref value_at(fid_fb_ref plan, uint32_t i) {
    return fid_fb_get_table(fid_fb_table_at(fid_fb_get_vector(plan, FID_PTE_ExecutionPlan_values), i), FID_PTE_EValue_val);
}

static void check_values(fid_fb_ref plan) {
    fid_fb_vector values = fid_fb_get_vector(plan, FID_PTE_ExecutionPlan_values);
    assert_int_equal(values.count, 12);
    for (uint32_t i = 0; i < 4; i++) assert_int_equal(fid_fb_get_u8(fid_fb_table_at(values, i), FID_PTE_EValue_val_type, 0), i + 1);
    assert_true(fid_fb_get_i64(value_at(plan, 1), FID_PTE_Int_int_val, 0) == INT64_MIN);
    assert_true(fid_fb_get_f64(value_at(plan, 3), FID_PTE_Double_double_val, 0) == 0.1);
    fid_fb_ref tensor = value_at(plan, 5), place = fid_fb_get_table(tensor, FID_PTE_Tensor_allocation_info);
    assert_int_equal(fid_fb_get_u8(tensor, FID_PTE_Tensor_scalar_type, 0), FID_BOOL);
    assert_int_equal(fid_fb_get_i8(tensor, FID_PTE_Tensor_shape_dynamism, 0), FID_DYNAMIC_BOUND);
    assert_int_equal(fid_fb_get_u32(place, FID_PTE_AllocationDetails_memory_id, 0), 1);
    assert_int_equal(fid_fb_get_u32(place, FID_PTE_AllocationDetails_memory_offset_low, 0), 0x56789abcu);
    assert_int_equal(fid_fb_get_u32(place, FID_PTE_AllocationDetails_memory_offset_high, 0), 0x1234u);
    fid_fb_vector sizes = fid_fb_get_vector(value_at(plan, 4), FID_PTE_Tensor_sizes);
    assert_int_equal(sizes.count, 2);
    assert_int_equal(fid_fb_i32_at(sizes, 1), 4);
    assert_string_equal(fid_fb_get_string(value_at(plan, 6), FID_PTE_String_string_val), "tanh");
    assert_int_equal(fid_fb_get_vector(value_at(plan, 9), FID_PTE_BoolList_items).count, 3);
    assert_int_equal(fid_fb_i32_at(fid_fb_get_vector(value_at(plan, 11), FID_PTE_OptionalTensorList_items), 1), -1);
}

static void check_chain(fid_fb_ref plan) {
    fid_fb_ref chain = fid_fb_table_at(fid_fb_get_vector(plan, FID_PTE_ExecutionPlan_chains), 0);
    fid_fb_vector instructions = fid_fb_get_vector(chain, FID_PTE_Chain_instructions);
    assert_int_equal(instructions.count, 3);
    fid_fb_ref call = fid_fb_get_table(fid_fb_table_at(instructions, 0), FID_PTE_Instruction_instr_args);
    assert_int_equal(fid_fb_get_vector(call, FID_PTE_KernelCall_args).count, 3);
    fid_fb_ref move = fid_fb_get_table(fid_fb_table_at(instructions, 2), FID_PTE_Instruction_instr_args);
    assert_int_equal(fid_fb_get_i32(move, FID_PTE_MoveCall_move_to, 0), 5);
    fid_fb_ref frames = fid_fb_table_at(fid_fb_get_vector(chain, FID_PTE_Chain_stacktrace), 0);
    fid_fb_ref frame = fid_fb_table_at(fid_fb_get_vector(frames, FID_PTE_FrameList_items), 0);
    assert_string_equal(fid_fb_get_string(frame, FID_PTE_Frame_filename), "model.py");
    assert_int_equal(fid_fb_get_i32(frame, FID_PTE_Frame_lineno, 0), 12);
}

static void what_is_written_reads_back(void **unused) {
    (void)unused;
    sample s;
    file f = new_file(1 << 20);
    fill_sample(&s);
    assert_int_equal(write_sample(NULL, &s, &f), FID_OK);
    fid_pte pte = open_file(&f);
    fid_fb_ref plan = fid_fb_table_at(fid_fb_get_vector(pte.root, FID_PTE_Program_execution_plan), 0);
    assert_string_equal(fid_fb_get_string(plan, FID_PTE_ExecutionPlan_name), "forward");
    check_values(plan);
    check_chain(plan);
    free(f.data);
}

static void segments_lie_aligned_in_the_file(void **unused) {
    (void)unused;
    sample s;
    file f = new_file(1 << 20);
    fill_sample(&s);
    assert_int_equal(write_sample(NULL, &s, &f), FID_OK);
    fid_pte pte = open_file(&f);
    fid_pte_range constants = fid_pte_segment(&pte, 0), states = fid_pte_segment(&pte, 1), named = fid_pte_segment(&pte, 2);
    assert_int_equal(constants.offset % 128, 0);
    assert_int_equal(states.offset % 128, 0);
    assert_int_equal(named.offset % 4096, 0);
    assert_memory_equal(f.data + constants.offset, weights, sizeof weights);
    assert_memory_equal(f.data + constants.offset + 64, weights, 16);
    assert_memory_equal(f.data + states.offset, state, sizeof state);
    assert_memory_equal(f.data + named.offset, blob, sizeof blob);
    assert_int_equal(f.size, named.offset + sizeof blob);
    free(f.data);
}

static void equal_programs_give_equal_bytes(void **unused) {
    (void)unused;
    sample s;
    file a = new_file(1 << 20), b = new_file(1 << 20);
    fill_sample(&s);
    assert_int_equal(write_sample(NULL, &s, &a), FID_OK);
    fill_sample(&s);
    assert_int_equal(write_sample(NULL, &s, &b), FID_OK);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    free(a.data);
    free(b.data);
}

static void a_full_disk_is_reported_wherever_it_fills(void **unused) {
    (void)unused;
    sample s;
    file whole = new_file(1 << 20);
    fill_sample(&s);
    assert_int_equal(write_sample(NULL, &s, &whole), FID_OK);
    for (size_t limit = 0; limit < whole.size; limit += 37) {
        file f = new_file(limit);
        assert_int_equal(write_sample(NULL, &s, &f), FID_ACCESS_FAILED);
        free(f.data);
    }
    free(whole.data);
}

/* An allocator that refuses its Nth request. */
typedef struct scarce { fid_allocator real; size_t left; } scarce;

static void *scarce_resize(void *self, void *memory, size_t old_size, size_t new_size) {
    scarce *s = self;
    if (new_size && s->left-- == 0) {
        s->left = 0;
        return NULL;
    }
    return s->real.resize(s->real.self, memory, old_size, new_size);
}

static void every_failing_allocation_is_reported(void **unused) {
    (void)unused;
    sample s;
    fill_sample(&s);
    for (size_t n = 0;; n++) {
        scarce memory = {allocator(), n};
        file f = new_file(1 << 20);
        const fid_pte_sink destination = {append, &f};
        fid_status status = fid_pte_write((fid_allocator){scarce_resize, &memory}, NULL, &s.program, &destination, NULL);
        free(f.data);
        if (status == FID_OK) {
            assert_true(n > 2);
            break;
        }
        assert_int_equal(status, FID_OUT_OF_MEMORY);
    }
}

static void contradictions_are_refused(void **unused) {
    (void)unused;
    sample s;
    fid_message message = {0};
    fid_sink sink = fid_message_sink(&message);
    file f = new_file(1 << 20);
    fill_sample(&s);
    s.program.constant_segment = 9;
    assert_int_equal(write_sample(&sink, &s, &f), FID_INVALID_ARGUMENT);
    assert_non_null(strstr(message.text, "constant segment 9 of 3"));
    fill_sample(&s);
    const fid_pte_out_piece crossed[2] = {{weights, 0, 32}, {weights, 16, 16}};
    s.segments[0].pieces = crossed;
    assert_int_equal(write_sample(&sink, &s, &f), FID_INVALID_ARGUMENT);
    free(f.data);
}

static void a_program_without_constants_has_no_segments(void **unused) {
    (void)unused;
    static const uint64_t reserved[1];
    sample s;
    file f = new_file(1 << 20);
    fill_sample(&s);
    s.method.value_count = 4;
    s.method.instruction_count = s.method.input_count = s.method.output_count = 0;
    s.program = (fid_pte_out_program){.methods = &s.method, .method_count = 1, .constant_offsets = reserved, .constant_count = 1};
    assert_int_equal(write_sample(NULL, &s, &f), FID_OK);
    fid_pte pte = open_file(&f);
    assert_int_equal(pte.header.program_size, f.size);
    assert_int_equal(fid_pte_segment_count(&pte), 0);
    free(f.data);
}

/* ---- The builder itself ----------------------------------------------------------------------------------------------------------- */

static void tables_of_one_shape_share_vtables(void **unused) {
    (void)unused;
    fid_builder b;
    fid_build_init(&b, allocator());
    for (uint64_t i = 1; i <= 20; i++) {
        fid_build_table_begin(&b);
        fid_build_u64(&b, 0, 7, 0);
        fid_build_u64(&b, 3, i, 0);
        assert_int_not_equal(fid_build_table_end(&b), 0);
    }
    assert_in_range(b.vtable_count, 1, 2); /* padding before the first field makes two shapes */
    fid_build_deinit(&b);
}

static void aligned_vectors_are_aligned_in_the_finished_buffer(void **unused) {
    (void)unused;
    fid_builder b;
    uint8_t *data, bytes[3] = {1, 2, 3};
    size_t size;
    fid_build_init(&b, allocator());
    fid_build_ref text = fid_build_string(&b, "odd"), vector = fid_build_vector_aligned(&b, bytes, 3, 1, 64);
    fid_build_table_begin(&b);
    fid_build_field(&b, 0, text);
    fid_build_field(&b, 1, vector);
    fid_build_ref root = fid_build_table_end(&b);
    assert_int_equal(fid_build_finish(&b, root, "TEST", 0, NULL, &data, &size), FID_OK);
    assert_int_equal(size % 64, 0);
    assert_int_equal((size - vector + 4) % 64, 0);
    assert_memory_equal(data + size - vector + 4, bytes, 3);
    assert_memory_equal(data + 4, "TEST", 4);
    fid_build_deinit(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(segments_lie_aligned_in_the_file),
        cmocka_unit_test(equal_programs_give_equal_bytes),
        cmocka_unit_test(a_full_disk_is_reported_wherever_it_fills),
        cmocka_unit_test(every_failing_allocation_is_reported),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(a_program_without_constants_has_no_segments),
        cmocka_unit_test(tables_of_one_shape_share_vtables),
        cmocka_unit_test(aligned_vectors_are_aligned_in_the_finished_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
