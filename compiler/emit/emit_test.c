/* Small methods through planner and emitter, read back from the bytes of the program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/emit/emit.h"
#include "format/pte.h"
#include "include/fidibus.h"

/* ---- A program from text to bytes ------------------------------------------------------------------------------------------------ */

typedef struct emitted {
    fidc_program *program;
    fid_message message;
    fid_sink sink;
    uint8_t *data; /* aligned to 64 */
    size_t size;
    fid_pte pte;
    fid_fb_ref plan; /* of the first method */
} emitted;

static fid_status append(void *self, const void *data, size_t size) {
    emitted *e = self;
    assert_true(e->size + size <= 1 << 20);
    memcpy(e->data + e->size, data, size);
    e->size += size;
    return FID_OK;
}

static void emit_program(emitted *e, bool alias_views, bool stack_traces) {
    const fidc_plan_options options = {.alignment = 64, .alias_views = alias_views, .in_place = alias_views, .plan_inputs = true, .plan_outputs = true};
    const fidc_emit_options how = {.target = FIDC_TARGET_CPU, .stack_traces = stack_traces};
    const fidc_writer writer = {append, e};
    fidc_plan plans[4];
    for (uint32_t i = 0; i < e->program->method_count; i++) {
        assert_int_equal(fidc_plan_protect(e->program->methods[i]), FID_OK);
        assert_int_equal(fidc_plan_graph(e->program->methods[i], &options, &plans[i]), FID_OK);
    }
    fid_status status = fidc_emit(e->program, plans, &how, &writer);
    assert_string_equal(e->message.text, "");
    assert_int_equal(status, FID_OK);
}

static void read_back(emitted *e) {
    fid_pte_header header;
    assert_int_equal(fid_pte_read_header(&e->sink, fid_span_of(e->data, e->size < 64 ? e->size : 64), e->size, &header), FID_OK);
    assert_int_equal(fid_pte_open(&e->sink, fid_span_of(e->data, header.program_size), &header, e->size, &e->pte), FID_OK);
    e->plan = fid_fb_table_at(fid_fb_get_vector(e->pte.root, FID_PTE_Program_execution_plan), 0);
}

static void emit_text(emitted *e, const char *text, bool alias_views) {
    memset(e, 0, sizeof *e);
    e->sink = fid_message_sink(&e->message);
    e->data = aligned_alloc(64, 1 << 20);
    assert_int_equal(fidc_program_create(fid_environment_default(NULL).allocator, &e->sink, &fid_builtin_ops, &e->program), FID_OK);
    fid_status status = fidc_parse(e->program, text, strlen(text));
    assert_string_equal(e->message.text, "");
    assert_int_equal(status, FID_OK);
    emit_program(e, alias_views, false);
    read_back(e);
}

static void drop(emitted *e) {
    fidc_program_destroy(e->program);
    free(e->data);
}

/* ---- Looking at it ----------------------------------------------------------------------------------------------------------------- */

static fid_fb_vector instructions(const emitted *e) {
    return fid_fb_get_vector(fid_fb_table_at(fid_fb_get_vector(e->plan, FID_PTE_ExecutionPlan_chains), 0), FID_PTE_Chain_instructions);
}

static fid_fb_ref call(const emitted *e, uint32_t i) { return fid_fb_get_table(fid_fb_table_at(instructions(e), i), FID_PTE_Instruction_instr_args); }

static void assert_calls(const emitted *e, uint32_t i, const char *name, const char *overload) {
    fid_fb_vector operators = fid_fb_get_vector(e->plan, FID_PTE_ExecutionPlan_operators);
    fid_fb_ref op = fid_fb_table_at(operators, (uint32_t)fid_fb_get_i32(call(e, i), FID_PTE_KernelCall_op_index, 0));
    assert_string_equal(fid_fb_get_string(op, FID_PTE_Operator_name), name);
    assert_string_equal(fid_fb_get_string(op, FID_PTE_Operator_overload), overload);
}

static fid_fb_vector args(const emitted *e, uint32_t i) { return fid_fb_get_vector(call(e, i), FID_PTE_KernelCall_args); }

static int kind_of(const emitted *e, int32_t value) {
    return fid_fb_get_u8(fid_fb_table_at(fid_fb_get_vector(e->plan, FID_PTE_ExecutionPlan_values), (uint32_t)value), FID_PTE_EValue_val_type, 0);
}

static fid_fb_ref content(const emitted *e, int32_t value) {
    return fid_fb_get_table(fid_fb_table_at(fid_fb_get_vector(e->plan, FID_PTE_ExecutionPlan_values), (uint32_t)value), FID_PTE_EValue_val);
}

static uint32_t offset_of(const emitted *e, int32_t value) {
    fid_fb_ref place = fid_fb_get_table(content(e, value), FID_PTE_Tensor_allocation_info);
    assert_non_null(place.at);
    return fid_fb_get_u32(place, FID_PTE_AllocationDetails_memory_offset_low, 0);
}

static int32_t output(const emitted *e, uint32_t i) { return fid_fb_i32_at(fid_fb_get_vector(e->plan, FID_PTE_ExecutionPlan_outputs), i); }

/* ---- Tests --------------------------------------------------------------------------------------------------------------------------- */

static void arguments_follow_the_schema_and_the_output_is_repeated(void **state) {
    (void)state;
    emitted e;
    emit_text(&e, "method forward(%x: f32[2, 3], %y: f32[2, 3]) {\n"
                  "  %z: f32[2, 3] = aten.add.Tensor(%x, %y, 2)\n"
                  "  return %z\n}\n", true);
    assert_int_equal(instructions(&e).count, 1);
    assert_calls(&e, 0, "aten::add", "out");
    fid_fb_vector list = args(&e, 0);
    assert_int_equal(list.count, 5);
    assert_int_equal(kind_of(&e, fid_fb_i32_at(list, 2)), FID_PTE_TAG_Int);
    assert_int_equal(fid_fb_i32_at(list, 3), output(&e, 0));
    assert_int_equal(fid_fb_i32_at(list, 4), output(&e, 0));
    fid_fb_vector inputs = fid_fb_get_vector(e.plan, FID_PTE_ExecutionPlan_inputs);
    assert_int_equal(inputs.count, 2);
    assert_int_equal(fid_fb_i32_at(inputs, 1), fid_fb_i32_at(list, 1));
    drop(&e);
}

static void a_list_result_is_one_argument(void **state) {
    (void)state;
    emitted e;
    emit_text(&e, "method forward(%x: f32[2, 4]) {\n"
                  "  %a: f32[2, 2], %b: f32[2, 2] = aten.split_copy.Tensor(%x, 2, 1)\n"
                  "  return %a, %b\n}\n", true);
    fid_fb_vector list = args(&e, 0);
    assert_int_equal(list.count, 5);
    assert_int_equal(kind_of(&e, fid_fb_i32_at(list, 3)), FID_PTE_TAG_TensorList);
    assert_int_equal(fid_fb_i32_at(list, 3), fid_fb_i32_at(list, 4));
    assert_int_equal(fid_fb_get_vector(content(&e, fid_fb_i32_at(list, 3)), FID_PTE_TensorList_items).count, 2);
    drop(&e);
}

static void tensor_options_are_left_out_of_calls(void **state) {
    (void)state;
    emitted e;
    emit_text(&e, "method forward(%x: f32[2]) {\n"
                  "  %f: f32[2] = aten.full([2], 1.5, dtype.f32, None, None, None)\n"
                  "  %z: f32[2] = aten.add.Tensor(%x, %f, 1)\n"
                  "  return %z\n}\n", true);
    assert_calls(&e, 0, "aten::full", "out");
    assert_int_equal(args(&e, 0).count, 4); /* size, value, output twice */
    drop(&e);
}

static void views_without_a_copy_are_no_instruction(void **state) {
    (void)state;
    const char *text = "method forward(%x: f32[4, 6]) {\n"
                       "  %a: f32[4, 6] = aten.relu(%x)\n"
                       "  %row: f32[6] = aten.select_copy.int(%a, 0, 2)\n"
                       "  %m: f32[2, 3] = aten.view_copy(%row, [2, 3])\n"
                       "  %b: f32[2, 3] = aten.sigmoid(%m)\n"
                       "  return %b, %a\n}\n";
    emitted with, without;
    emit_text(&with, text, true);
    emit_text(&without, text, false);
    assert_int_equal(instructions(&with).count, 2);
    assert_int_equal(instructions(&without).count, 4);
    int32_t m = fid_fb_i32_at(args(&with, 1), 0);
    assert_int_equal(offset_of(&with, m), offset_of(&with, output(&with, 1)) + 2 * 6 * 4);
    assert_int_equal(fid_fb_get_vector(content(&with, m), FID_PTE_Tensor_sizes).count, 2);
    drop(&with);
    drop(&without);
}

static void a_view_of_a_constant_is_the_same_constant(void **state) {
    (void)state;
    emitted e;
    emit_text(&e, "method forward(%x: f32[3, 2]) {\n"
                  "  const %w: f32[6] = \"w\" {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}\n"
                  "  %v: f32[3, 2] = aten.view_copy(%w, [3, 2])\n"
                  "  %z: f32[3, 2] = aten.add.Tensor(%x, %v, 1)\n"
                  "  return %z\n}\n", true);
    assert_int_equal(instructions(&e).count, 1);
    fid_fb_ref v = content(&e, fid_fb_i32_at(args(&e, 0), 1));
    assert_int_equal(fid_fb_get_u32(v, FID_PTE_Tensor_data_buffer_idx, 0), 1);
    assert_null(fid_fb_get_table(v, FID_PTE_Tensor_allocation_info).at);
    drop(&e);
}

static void equal_constants_are_stored_once_over_all_methods(void **state) {
    (void)state;
    const char *one = "(%%x: f32[4]) {\n  const %%w: f32[4] = \"w\" {1.0, 2.0, 3.0, 4.0}\n"
                      "  const %%u: f32[4] = \"u\" {1.0, 2.0, 3.0, 4.5}\n"
                      "  %%y: f32[4] = aten.add.Tensor(%%x, %%w, 1)\n  %%z: f32[4] = aten.add.Tensor(%%y, %%u, 1)\n  return %%z\n}\n";
    char text[1200], body[600];
    fid_format(body, sizeof body, "%s", one);
    size_t at = 0;
    for (const char *name = "ab"; *name; name++) {
        at += fid_format(text + at, sizeof text - at, "method %c", *name);
        for (const char *c = body; *c; c++)
            if (!(c[0] == '%' && c[1] == '%')) text[at++] = *c;
        text[at] = 0;
    }
    emitted e;
    emit_text(&e, text, true);
    fid_fb_vector offsets = fid_fb_get_vector(fid_fb_get_table(e.pte.root, FID_PTE_Program_constant_segment), FID_PTE_SubsegmentOffsets_offsets);
    assert_int_equal(offsets.count, 3); /* the reserved one, w, u */
    assert_int_equal(fid_fb_u64_at(offsets, 1) % 64, 0);
    assert_int_equal(fid_fb_u64_at(offsets, 2), 64);
    drop(&e);
}

static void a_state_has_a_first_content_and_is_written_back(void **state) {
    (void)state;
    emitted e;
    emit_text(&e, "method forward(%x: f32[2]) {\n"
                  "  buffer %s: f32[2] = \"s\" {3.0, 4.0}\n"
                  "  %y: f32[2] = aten.add.Tensor(%s, %x, 1)\n"
                  "  %n: f32[2] = aten.flip(%y, [0])\n"
                  "  %z: f32[2] = aten.add.Tensor(%s, %n, 1)\n"
                  "  update %s <- %n\n"
                  "  return %z\n}\n", true);
    uint32_t last = instructions(&e).count - 1;
    assert_int_equal(last, 3);
    assert_calls(&e, last, "aten::copy_", "");
    fid_fb_ref s = content(&e, fid_fb_i32_at(args(&e, last), 0));
    assert_int_equal(fid_fb_i32_at(args(&e, last), 0), fid_fb_i32_at(args(&e, last), 3));
    assert_int_equal(fid_fb_get_u32(s, FID_PTE_Tensor_data_buffer_idx, 0), 1);
    assert_non_null(fid_fb_get_table(s, FID_PTE_Tensor_allocation_info).at);
    assert_int_equal(fid_fb_get_vector(e.pte.root, FID_PTE_Program_mutable_data_segments).count, 1);
    const float first[2] = {3, 4};
    assert_memory_equal(e.data + fid_pte_segment(&e.pte, 0).offset, first, sizeof first);
    drop(&e);
}

static void dynamic_sizes_stand_at_their_upper_bounds(void **state) {
    (void)state;
    emitted e;
    emit_text(&e, "symbol s0 in [2, 64] hint 8\n"
                  "method forward(%x: f32[s0, 3]) {\n"
                  "  %y: f32[s0, 3] = aten.relu(%x)\n"
                  "  return %y\n}\n", true);
    fid_fb_ref x = content(&e, fid_fb_i32_at(args(&e, 0), 0));
    assert_int_equal(fid_fb_i32_at(fid_fb_get_vector(x, FID_PTE_Tensor_sizes), 0), 64);
    assert_int_equal(fid_fb_get_i8(x, FID_PTE_Tensor_shape_dynamism, 0), FID_DYNAMIC_BOUND);
    fid_fb_vector buffers = fid_fb_get_vector(e.plan, FID_PTE_ExecutionPlan_non_const_buffer_sizes);
    assert_int_equal(fid_fb_u64_at(buffers, 0), 0);
    assert_int_equal(fid_fb_u64_at(buffers, 1), 2 * 64 * 3 * 4);
    drop(&e);
}

static void numbers_and_none_can_be_outputs(void **state) {
    (void)state;
    emitted e;
    emit_text(&e, "method forward(%x: f32[2]) {\n  %y: f32[2] = aten.relu(%x)\n  return %y, None, 7, 0.5\n}\n", true);
    assert_int_equal(kind_of(&e, output(&e, 1)), FID_PTE_TAG_Null);
    assert_int_equal(kind_of(&e, output(&e, 2)), FID_PTE_TAG_Int);
    assert_int_equal(fid_fb_get_i64(content(&e, output(&e, 2)), FID_PTE_Int_int_val, 0), 7);
    assert_int_equal(kind_of(&e, output(&e, 3)), FID_PTE_TAG_Double);
    drop(&e);
}

static void equal_programs_give_equal_bytes(void **state) {
    (void)state;
    const char *text = "method forward(%x: f32[8, 8]) {\n"
                       "  const %w: f32[8] = \"w\" {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}\n"
                       "  %a: f32[8, 8] = aten.add.Tensor(%x, %w, 1)\n"
                       "  %b: f32[8, 8] = aten.permute_copy(%a, [1, 0])\n"
                       "  %c: f32[8, 8] = aten.mul.Tensor(%b, %x)\n"
                       "  return %c\n}\n";
    emitted a, b;
    emit_text(&a, text, true);
    emit_text(&b, text, true);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    drop(&a);
    drop(&b);
}

static void stack_traces_become_frames(void **state) {
    (void)state;
    emitted e;
    emit_text(&e, "method forward(%x: f32[2]) {\n  %y: f32[2] = aten.relu(%x)\n  return %y\n}\n", true);
    e.program->methods[0]->first->source = "  File \"/home/me/model.py\", line 12, in forward\n    y = self.body(x)\n"
                                           "  File \"/home/me/body.py\", line 3, in body\n    return x.relu()\n";
    e.size = 0;
    emit_program(&e, true, true);
    read_back(&e);
    fid_fb_ref chain = fid_fb_table_at(fid_fb_get_vector(e.plan, FID_PTE_ExecutionPlan_chains), 0);
    fid_fb_vector frames = fid_fb_get_vector(fid_fb_table_at(fid_fb_get_vector(chain, FID_PTE_Chain_stacktrace), 0), FID_PTE_FrameList_items);
    assert_int_equal(frames.count, 2);
    assert_string_equal(fid_fb_get_string(fid_fb_table_at(frames, 1), FID_PTE_Frame_filename), "/home/me/body.py");
    assert_string_equal(fid_fb_get_string(fid_fb_table_at(frames, 1), FID_PTE_Frame_name), "body");
    assert_string_equal(fid_fb_get_string(fid_fb_table_at(frames, 0), FID_PTE_Frame_context), "y = self.body(x)");
    assert_int_equal(fid_fb_get_i32(fid_fb_table_at(frames, 0), FID_PTE_Frame_lineno, 0), 12);
    drop(&e);
}

/* An allocator that refuses its Nth request. */
typedef struct scarce { fid_allocator real; size_t left; } scarce;

static void *scarce_resize(void *self, void *memory, size_t old_size, size_t new_size) {
    scarce *s = self;
    if (new_size && !memory && s->left-- == 0) {
        s->left = 0;
        return NULL;
    }
    return s->real.resize(s->real.self, memory, old_size, new_size);
}

static void every_failing_allocation_is_reported(void **state) {
    (void)state;
    const fidc_plan_options options = {.alignment = 64, .alias_views = true, .in_place = true, .plan_inputs = true, .plan_outputs = true};
    const fidc_emit_options how = {.target = FIDC_TARGET_CPU};
    for (size_t n = 0;; n++) {
        emitted e;
        emit_text(&e, "method forward(%x: f32[2, 3]) {\n"
                      "  const %w: f32[3] = \"w\" {1.0, 2.0, 3.0}\n"
                      "  %y: f32[2, 3] = aten.add.Tensor(%x, %w, 1)\n"
                      "  %z: f32[3, 2] = aten.permute_copy(%y, [1, 0])\n"
                      "  return %z\n}\n", true);
        scarce memory = {e.program->allocator, n};
        const fid_allocator real = e.program->allocator;
        const fidc_writer writer = {append, &e};
        e.size = 0;
        e.program->allocator = (fid_allocator){scarce_resize, &memory};
        fidc_plan plan;
        fid_status status = fidc_plan_graph(e.program->methods[0], &options, &plan);
        if (status == FID_OK) status = fidc_emit(e.program, &plan, &how, &writer);
        e.program->allocator = real;
        drop(&e);
        if (status == FID_OK) {
            assert_true(n > 5);
            break;
        }
        assert_int_equal(status, FID_OUT_OF_MEMORY);
    }
}

static fid_status refuse(void *self, const void *data, size_t size) {
    (void)self;
    (void)data;
    (void)size;
    return FID_ACCESS_FAILED;
}

static void a_failing_write_is_passed_on(void **state) {
    (void)state;
    const fidc_plan_options options = {.alignment = 64, .plan_inputs = true, .plan_outputs = true};
    const fidc_emit_options how = {.target = FIDC_TARGET_CPU};
    const fidc_writer writer = {refuse, NULL};
    emitted e;
    fidc_plan plan;
    emit_text(&e, "method forward(%x: f32[2]) {\n  %y: f32[2] = aten.relu(%x)\n  return %y\n}\n", true);
    assert_int_equal(fidc_plan_graph(e.program->methods[0], &options, &plan), FID_OK);
    assert_int_equal(fidc_emit(e.program, &plan, &how, &writer), FID_ACCESS_FAILED);
    drop(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_follow_the_schema_and_the_output_is_repeated),
        cmocka_unit_test(a_list_result_is_one_argument),
        cmocka_unit_test(tensor_options_are_left_out_of_calls),
        cmocka_unit_test(views_without_a_copy_are_no_instruction),
        cmocka_unit_test(a_view_of_a_constant_is_the_same_constant),
        cmocka_unit_test(equal_constants_are_stored_once_over_all_methods),
        cmocka_unit_test(a_state_has_a_first_content_and_is_written_back),
        cmocka_unit_test(dynamic_sizes_stand_at_their_upper_bounds),
        cmocka_unit_test(numbers_and_none_can_be_outputs),
        cmocka_unit_test(equal_programs_give_equal_bytes),
        cmocka_unit_test(stack_traces_become_frames),
        cmocka_unit_test(every_failing_allocation_is_reported),
        cmocka_unit_test(a_failing_write_is_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
