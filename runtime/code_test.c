/* Instructions: calls of every shape, moves, jumps, views, memory that comes and goes; and programs that would break what the
 * executor trusts in, which load must refuse. */
#include "runtime/program_maker.h"

static fid_message message;
static fid_environment environment;
static test_bytes bytes;
static fid_program *program;
static fid_method *method;

static int start(void **state) {
    (void)state;
    environment = fid_environment_default(&message);
    return 0;
}

static fid_status load(maker *m) {
    fid_environment fresh = environment;
    bytes = maker_write(m, &environment);
    method = NULL;
    if (fid_program_open_memory(&fresh, bytes.data, bytes.size, &program) != FID_OK) fail_msg("%s", message.text);
    message.text[0] = 0;
    return fid_method_load(program, "forward", NULL, &method);
}

static void load_well(maker *m) {
    if (load(m) != FID_OK) fail_msg("%s", message.text);
}

static int close_all(void **state) {
    (void)state;
    fid_method_unload(method);
    fid_program_close(program);
    free(bytes.data);
    method = NULL;
    program = NULL;
    bytes.data = NULL;
    return 0;
}

static void expect_refused(maker *m, fid_status status, const char *part) {
    assert_int_equal(load(m), status);
    assert_says(message, part);
    assert_null(method);
}

static void set_floats(size_t index, const float *data, int64_t count) {
    if (fid_method_set_input_tensor(method, index, FID_FLOAT32, &count, 1, data) != FID_OK) fail_msg("%s", message.text);
}

static void set_value(size_t index, fid_value value) {
    fid_input input = {.struct_size = sizeof input, .value = value};
    if (fid_method_set_input(method, index, &input) != FID_OK) fail_msg("%s", message.text);
}

static void run_well(void) {
    if (fid_method_run(method) != FID_OK) fail_msg("%s", message.text);
}

static const fid_tensor *output(size_t index) {
    const fid_value *value;
    assert_int_equal(fid_method_output(method, index, &value), FID_OK);
    assert_int_equal(value->tag, FID_TAG_TENSOR);
    return value->as.tensor;
}

static void expect_floats(size_t index, size_t count, const float *expected) {
    const fid_tensor *tensor = output(index);
    assert_int_equal(fid_tensor_numel(tensor), count);
    for (size_t i = 0; i < count; i++) assert_float_equal(((const float *)tensor->data)[i], expected[i], 0);
}
#define FLOATS(...) sizeof((float[]){__VA_ARGS__}) / sizeof(float), (float[]){__VA_ARGS__}

/* ---- Moves and jumps ---- */

/* out = flag ? x : constant. `planned`: the output has memory of its own. */
static void make_choice(maker *m, bool planned) {
    int32_t x = m->inputs[0] = maker_planned(m, FID_FLOAT32, 2, 0);
    int32_t flag = m->inputs[1] = maker_bool(m, true);
    int32_t constant = maker_constant(m, (float[]){7, 8}, 2);
    int32_t out = m->outputs[0] = planned ? maker_planned(m, FID_FLOAT32, 2, 0) : maker_tensor(m, FID_FLOAT32, 2, 0);
    m->input_count = 2;
    m->output_count = 1;
    maker_jump(m, flag, 3);
    maker_move(m, x, out);
    maker_jump(m, maker_bool(m, false), 4);
    maker_move(m, constant, out);
}

static void test_moves_choose(void **state) {
    for (int planned = 0; planned < 2; planned++) {
        maker m = {0};
        make_choice(&m, planned);
        load_well(&m);
        for (int round = 0; round < 4; round++) {
            set_floats(0, (float[]){1, 2}, 2);
            set_value(1, fid_bool_value(round & 1));
            run_well();
            if (round & 1) expect_floats(0, FLOATS(1, 2));
            else expect_floats(0, FLOATS(7, 8));
        }
        close_all(state);
    }
}

static void test_loop_counts_and_a_failed_run_starts_anew(void **state) {
    (void)state;
    maker m = {0};
    int32_t limit = m.inputs[0] = maker_int(&m, 0), i = maker_int(&m, 0), one = maker_int(&m, 1), done = maker_bool(&m, false);
    int32_t quotient = maker_int(&m, 0), ten = maker_int(&m, 10);
    m.input_count = m.output_count = 1;
    m.outputs[0] = quotient;
    maker_call(&m, "executorch_prim::add", "Scalar", i, one, i);
    maker_call(&m, "executorch_prim::floordiv", "int", ten, limit, quotient); /* fails for 0 */
    maker_call(&m, "executorch_prim::eq", "Scalar", i, limit, done);
    maker_jump(&m, done, 0);
    maker_call(&m, "executorch_prim::sub", "Scalar", i, limit, i);
    load_well(&m);
    for (int round = 0; round < 3; round++) {
        const fid_value *value;
        set_value(0, fid_int_value(5));
        run_well();
        assert_int_equal(fid_method_output(method, 0, &value), FID_OK);
        assert_int_equal(value->as.integer, 2);
        set_value(0, fid_int_value(0));
        assert_int_not_equal(fid_method_run(method), FID_OK); /* leaves i at 1 unless it is put back */
    }
}

static void test_jump_beyond_the_chain(void **state) {
    (void)state;
    maker m = {0};
    maker_jump(&m, maker_bool(&m, false), 2);
    expect_refused(&m, FID_INVALID_PROGRAM, "jumps to instruction 2, the chain has 1");
}

static void test_condition_that_is_no_bool(void **state) {
    (void)state;
    maker m = {0};
    maker_jump(&m, maker_int(&m, 0), 0);
    expect_refused(&m, FID_INVALID_PROGRAM, "neither a bool nor a bool tensor");
}

static void test_move_between_kinds(void **state) {
    (void)state;
    maker m = {0};
    maker_move(&m, maker_planned(&m, FID_FLOAT32, 2, 0), maker_planned(&m, FID_INT64, 2, 0));
    expect_refused(&m, FID_INVALID_PROGRAM, "differs in kind, dtype, rank or dim order");
}

static void test_move_into_a_constant(void **state) {
    (void)state;
    maker m = {0};
    int32_t constant = maker_constant(&m, (float[]){1, 2}, 2);
    maker_move(&m, maker_planned(&m, FID_FLOAT32, 2, 0), constant);
    expect_refused(&m, FID_INVALID_PROGRAM, "constant");
}

static void test_move_of_a_tensor_without_memory(void **state) {
    (void)state;
    maker m = {0};
    maker_move(&m, maker_tensor(&m, FID_FLOAT32, 2, 0), maker_tensor(&m, FID_FLOAT32, 2, 0));
    load_well(&m);
    assert_int_equal(fid_method_run(method), FID_INVALID_PROGRAM);
    assert_says(message, "no memory yet");
}

/* ---- Calls ---- */

static int32_t make_add(maker *m, int32_t a, int32_t b, int32_t out) {
    maker_call(m, "aten::add", "out", a, b, maker_int(m, 1), out, out);
    return out;
}

static void test_value_index_out_of_range(void **state) {
    (void)state;
    maker m = {0};
    int32_t x = maker_planned(&m, FID_FLOAT32, 2, 0);
    make_add(&m, x, 40, x);
    expect_refused(&m, FID_INVALID_PROGRAM, "argument 1 is value 40");
}

static void test_wrong_kind_of_argument(void **state) {
    (void)state;
    maker m = {0};
    make_add(&m, maker_int(&m, 3), maker_planned(&m, FID_FLOAT32, 2, 0), maker_planned(&m, FID_FLOAT32, 2, 0));
    expect_refused(&m, FID_INVALID_PROGRAM, "aten::add.out: argument 0 (self)");
}

static void test_too_few_arguments(void **state) {
    (void)state;
    maker m = {0};
    int32_t x = maker_planned(&m, FID_FLOAT32, 2, 0);
    maker_call(&m, "aten::add", "out", x, x);
    expect_refused(&m, FID_INVALID_PROGRAM, "aten::add.out takes 4");
}

static void test_declared_output_contradicts_the_operator(void **state) {
    (void)state;
    maker m = {0};
    int32_t x = maker_planned(&m, FID_FLOAT32, 2, 0);
    make_add(&m, x, x, maker_planned(&m, FID_FLOAT32, 3, 0));
    expect_refused(&m, FID_INVALID_PROGRAM, "declared as float32 [3] but its arguments make it float32 [2]");
}

static void test_output_that_is_constant(void **state) {
    (void)state;
    maker m = {0};
    int32_t x = maker_planned(&m, FID_FLOAT32, 2, 0);
    make_add(&m, x, x, maker_constant(&m, (float[]){1, 2}, 2));
    expect_refused(&m, FID_INVALID_PROGRAM, "writes to argument 3, which is constant");
}

static void test_effect_on_a_constant(void **state) {
    (void)state;
    maker m = {0};
    int32_t constant = maker_constant(&m, (float[]){1, 2}, 2);
    maker_call(&m, "aten::copy_", "", constant, maker_planned(&m, FID_FLOAT32, 2, 0), maker_bool(&m, false), constant);
    expect_refused(&m, FID_INVALID_PROGRAM, "writes to argument 0, which is constant");
}

static void test_effect_whose_result_is_another_tensor(void **state) {
    (void)state;
    maker m = {0};
    maker_call(&m, "aten::copy_", "", maker_planned(&m, FID_FLOAT32, 2, 0), maker_planned(&m, FID_FLOAT32, 2, 0),
               maker_bool(&m, false), maker_planned(&m, FID_INT64, 9, 0));
    expect_refused(&m, FID_INVALID_PROGRAM, "aten::copy_: result 0");
}

static void test_overlapping_memory(void **state) {
    static const uint64_t offsets[] = {4, 0};
    for (int i = 0; i < 2; i++) {
        maker m = {0};
        int32_t x = m.inputs[0] = maker_planned(&m, FID_FLOAT32, 4, 0), out = maker_place(&m, maker_tensor(&m, FID_FLOAT32, 4, 0),
                offsets[i]);
        m.planned += 16;
        m.input_count = m.output_count = 1;
        m.outputs[0] = out;
        make_add(&m, x, x, out);
        if (i == 0) expect_refused(&m, FID_INVALID_PROGRAM, "shares memory with another argument");
        else { /* in place, from the same first byte on */
            load_well(&m);
            set_floats(0, (float[]){1, 2, 3, 4}, 4);
            run_well();
            expect_floats(0, FLOATS(2, 4, 6, 8));
            assert_int_equal(fid_method_run(method), FID_INVALID_STATE); /* the input is gone */
        }
        close_all(state);
    }
}

static void test_planned_memory_that_does_not_reach(void **state) {
    (void)state;
    maker m = {0};
    maker_place(&m, maker_tensor(&m, FID_FLOAT32, 4, 0), 8);
    m.planned = 16;
    expect_refused(&m, FID_INVALID_PROGRAM, "needs 16 bytes at byte 8 of memory 1, which has 16");
}

static void test_outputs_without_planned_memory(void **state) {
    (void)state;
    maker m = {0};
    int32_t x = m.inputs[0] = maker_tensor(&m, FID_FLOAT32, 2, 0), middle = maker_tensor(&m, FID_FLOAT32, 2, 0);
    int32_t out = m.outputs[0] = maker_tensor(&m, FID_FLOAT32, 2, 0);
    m.input_count = m.output_count = 1;
    make_add(&m, x, x, middle);
    make_add(&m, middle, x, out);
    load_well(&m);
    for (int round = 1; round < 4; round++) {
        set_floats(0, (float[]){1, (float)round}, 2);
        run_well();
        expect_floats(0, FLOATS(3, 3 * (float)round));
    }
}

/* ---- Numbers that change ---- */

static void test_sizes_from_numbers(void **state) {
    (void)state;
    maker m = {0};
    int32_t n = m.inputs[0] = maker_int(&m, 0), two = maker_int(&m, 2), twice = maker_int(&m, 0);
    int32_t size = maker_ints(&m, 1, (int64_t[]){twice});
    int32_t out = m.outputs[0] = maker_dynamic(&m, maker_planned(&m, FID_FLOAT32, 8, 0), FID_DYNAMIC_BOUND);
    m.input_count = m.output_count = 1;
    maker_call(&m, "executorch_prim::mul", "Scalar", n, two, twice);
    maker_call(&m, "aten::full", "out", size, maker_value(&m, (fid_pte_out_value){.kind = FID_PTE_OUT_DOUBLE, .as.number = 1.5}), out, out);
    load_well(&m);
    set_value(0, fid_int_value(1));
    run_well();
    expect_floats(0, FLOATS(1.5f, 1.5f));
    set_value(0, fid_int_value(4));
    run_well();
    assert_int_equal(output(0)->sizes[0], 8);
    set_value(0, fid_int_value(5));
    assert_int_not_equal(fid_method_run(method), FID_OK);
    assert_says(message, "aten::full.out");
    set_value(0, fid_int_value(-1));
    assert_int_not_equal(fid_method_run(method), FID_OK);
    set_value(0, fid_int_value(0));
    run_well();
    assert_int_equal(output(0)->sizes[0], 0);
}

static void test_list_of_what_is_no_number(void **state) {
    (void)state;
    maker m = {0};
    maker_ints(&m, 1, (int64_t[]){maker_none(&m)});
    expect_refused(&m, FID_INVALID_PROGRAM, "its item 0 is value 0, which is no number");
}

static void test_result_of_a_number_kernel_that_is_no_number(void **state) {
    (void)state;
    maker m = {0};
    int32_t one = maker_int(&m, 1);
    maker_call(&m, "executorch_prim::add", "Scalar", one, one, maker_none(&m));
    expect_refused(&m, FID_INVALID_PROGRAM, "result 0 has a value of kind 0");
}

/* ---- Lists of tensors ---- */

static void test_lists_with_absent_tensors(void **state) {
    (void)state;
    maker m = {0};
    int32_t x = m.inputs[0] = maker_planned(&m, FID_FLOAT32, 4, 0), where = m.inputs[1] = maker_planned(&m, FID_INT64, 2, 0);
    int32_t list = maker_tensors(&m, FID_PTE_OUT_OPTIONAL_TENSOR_LIST, 1, (int32_t[]){where});
    int32_t out = m.outputs[0] = maker_planned(&m, FID_FLOAT32, 2, 0);
    maker_tensors(&m, FID_PTE_OUT_OPTIONAL_TENSOR_LIST, 2, (int32_t[]){-1, maker_none(&m)});
    m.input_count = 2;
    m.output_count = 1;
    maker_call(&m, "aten::index", "Tensor_out", x, list, out, out);
    load_well(&m);
    int64_t two = 2;
    set_floats(0, (float[]){5, 6, 7, 8}, 4);
    assert_int_equal(fid_method_set_input_tensor(method, 1, FID_INT64, &two, 1, (int64_t[]){3, -4}), FID_OK);
    run_well();
    expect_floats(0, FLOATS(8, 5));
    set_floats(0, (float[]){5, 6, 7, 8}, 4);
    assert_int_equal(fid_method_set_input_tensor(method, 1, FID_INT64, &two, 1, (int64_t[]){4, 0}), FID_OK);
    assert_int_not_equal(fid_method_run(method), FID_OK); /* an index from the data, out of range */
}

/* ---- Views ---- */

static void test_views_follow_their_base(void **state) {
    (void)state;
    maker m = {0};
    int32_t x = m.inputs[0] = maker_dynamic(&m, maker_tensor(&m, FID_FLOAT32, 8, 0), FID_DYNAMIC_BOUND);
    int32_t size = maker_ints(&m, 1, (int64_t[]){maker_int(&m, -1)});
    int32_t view = maker_dynamic(&m, maker_tensor(&m, FID_FLOAT32, 8, 0), FID_DYNAMIC_BOUND);
    int32_t out = m.outputs[0] = maker_dynamic(&m, maker_planned(&m, FID_FLOAT32, 8, 0), FID_DYNAMIC_BOUND);
    m.outputs[1] = view;
    m.input_count = 1;
    m.output_count = 2;
    maker_call(&m, "executorch_prim::et_view", "default", x, size, view);
    make_add(&m, view, view, out);
    load_well(&m);
    for (int64_t count = 8; count >= 0; count -= 4) {
        float data[] = {1, 2, 3, 4, 5, 6, 7, 8};
        fid_tensor tensor = {.data = data, .sizes = &count, .rank = 1, .dtype = FID_FLOAT32};
        fid_input input = {.struct_size = sizeof input, .value = fid_tensor_value(&tensor), .by_reference = true};
        assert_int_equal(fid_method_set_input(method, 0, &input), FID_OK);
        run_well();
        assert_int_equal(output(0)->sizes[0], count);
        if (count) assert_ptr_equal(output(1)->data, data);
    }
}

static void test_writing_through_a_view_of_a_constant(void **state) {
    (void)state;
    maker m = {0};
    int32_t constant = maker_constant(&m, (float[]){1, 2}, 2), size = maker_ints(&m, 1, (int64_t[]){maker_int(&m, 2)});
    int32_t first = maker_tensor(&m, FID_FLOAT32, 2, 0), second = maker_tensor(&m, FID_FLOAT32, 2, 0);
    maker_call(&m, "executorch_prim::et_view", "default", first, size, second);
    maker_call(&m, "executorch_prim::et_view", "default", constant, size, first);
    make_add(&m, constant, constant, second);
    expect_refused(&m, FID_INVALID_PROGRAM, "constant");
}

static void test_overlap_through_a_view(void **state) {
    (void)state;
    maker m = {0};
    int32_t x = m.inputs[0] = maker_planned(&m, FID_FLOAT32, 4, 0), size = maker_ints(&m, 1, (int64_t[]){maker_int(&m, 4)});
    int32_t view = maker_tensor(&m, FID_FLOAT32, 4, 0);
    int32_t dims = maker_ints(&m, 1, (int64_t[]){maker_int(&m, 0)});
    m.input_count = 1;
    maker_call(&m, "executorch_prim::et_view", "default", x, size, view);
    maker_call(&m, "aten::flip", "out", x, dims, view, view);
    load_well(&m);
    set_floats(0, (float[]){1, 2, 3, 4}, 4);
    assert_int_equal(fid_method_run(method), FID_INVALID_PROGRAM);
    assert_says(message, "shares memory");
}

/* ---- Memory that comes and goes ---- */

static void test_unbounded_tensors_grow(void **state) {
    (void)state;
    maker m = {0};
    int32_t x = m.inputs[0] = maker_dynamic(&m, maker_tensor(&m, FID_FLOAT32, 0, 0), FID_DYNAMIC_UNBOUND);
    int32_t middle = maker_dynamic(&m, maker_tensor(&m, FID_FLOAT32, 0, 0), FID_DYNAMIC_UNBOUND);
    int32_t out = m.outputs[0] = maker_dynamic(&m, maker_tensor(&m, FID_FLOAT32, 0, 0), FID_DYNAMIC_UNBOUND);
    m.input_count = m.output_count = 1;
    make_add(&m, x, x, middle);
    make_add(&m, middle, x, out);
    maker_free(&m, middle);
    load_well(&m);
    for (int64_t count = 1; count <= 1000; count *= 10) {
        float data[1000];
        for (int64_t i = 0; i < count; i++) data[i] = (float)i;
        set_floats(0, data, count);
        run_well();
        assert_int_equal(output(0)->sizes[0], count);
        assert_float_equal(((const float *)output(0)->data)[count - 1], 3 * (float)(count - 1), 0);
    }
}

static void test_use_after_free_call(void **state) {
    (void)state;
    maker m = {0};
    int32_t x = m.inputs[0] = maker_tensor(&m, FID_FLOAT32, 2, 0), middle = maker_dynamic(&m, maker_tensor(&m, FID_FLOAT32, 2, 0),
            FID_DYNAMIC_UNBOUND);
    m.input_count = 1;
    make_add(&m, x, x, middle);
    maker_free(&m, middle);
    make_add(&m, middle, middle, maker_dynamic(&m, maker_planned(&m, FID_FLOAT32, 2, 0), FID_DYNAMIC_BOUND));
    load_well(&m);
    set_floats(0, (float[]){1, 2}, 2);
    assert_int_equal(fid_method_run(method), FID_INVALID_PROGRAM);
    assert_says(message, "no memory yet");
}

/* ---- Choice of kernels ---- */

typedef struct trace {
    int prepared, cpu, reference;
} trace;
static trace seen;

static fid_status same_shape(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    outs[0] = fid_meta_of(fid_arg_tensor(call, 0));
    return FID_OK;
}
static fid_status prepare_fixed(fid_call *call) {
    seen.prepared++;
    if (fid_arg_tensor(call, 0)->dynamism != FID_STATIC) return FID_NOT_SUPPORTED;
    call->state = fid_call_persist(call, 100);
    if (call->state) memset(call->state, 7, 100);
    return call->state ? FID_OK : FID_OUT_OF_MEMORY;
}
static fid_status run_cpu(fid_call *call) {
    uint8_t *first = fid_call_scratch(call, 1000), *second = fid_call_scratch(call, 1000); /* more than it announced */
    if (!first || !second) return FID_OUT_OF_MEMORY;
    memset(first, 1, 1000);
    memset(second, 2, 1000);
    seen.cpu += first[999] == 1 && ((uint8_t *)call->state)[99] == 7;
    return FID_OK;
}
static fid_status run_reference(fid_call *call) {
    assert_null(call->state);
    seen.reference++;
    return FID_OK;
}
static size_t announce(const fid_call *call) {
    (void)call;
    return 64;
}
static const fid_kernel cpu = {.prepare = prepare_fixed, .run = run_cpu,
                               .scratch_bytes = announce}, reference = {.run = run_reference};
static const fid_kernel any = {.prepare = prepare_fixed, .run = run_cpu, .any_numbers = true};
static const fid_op rows[] = {{"test::same", "", "out", "(Tensor self) -> Tensor", same_shape, &reference, &cpu, NULL,
                               FID_OP_COMPUTE},
                              {"test::fixed", "", "out", "(Tensor self, int n) -> Tensor", same_shape, &reference, &cpu, NULL,
                                  FID_OP_COMPUTE},
                              {"test::any", "", "out", "(Tensor self, int n) -> Tensor", same_shape, &reference, &any, NULL,
                                  FID_OP_COMPUTE}};
static const fid_op_table table = {rows, 3};

static void run_three_times(maker *m, bool no_cpu) {
    const fid_op_table *const tables[] = {&table};
    fid_environment own = environment;
    own.tables = tables;
    own.table_count = 1;
    fid_method_options options = {.struct_size = sizeof options, .no_cpu_kernels = no_cpu};
    seen = (trace){0};
    bytes = maker_write(m, &environment);
    assert_int_equal(fid_program_open_memory(&own, bytes.data, bytes.size, &program), FID_OK);
    if (fid_method_load(program, "forward", &options, &method) != FID_OK) fail_msg("%s", message.text);
    for (int round = 0; round < 3; round++) {
        set_floats(0, (float[]){1, 2}, 2);
        if (m->input_count > 1) set_value(1, fid_int_value(round));
        run_well();
    }
    close_all(NULL);
}

static void run_with_number(const char *name, bool changes) {
    maker m = {0};
    int32_t x = m.inputs[0] = maker_planned(&m, FID_FLOAT32, 2, 0), out = maker_planned(&m, FID_FLOAT32, 2, 0);
    int32_t n = m.inputs[1] = maker_int(&m, 0);
    m.input_count = changes ? 2 : 1;
    maker_call(&m, name, "out", x, n, out, out);
    run_three_times(&m, false);
}

static void run_same(bool dynamic, bool no_cpu) {
    maker m = {0};
    int32_t x = m.inputs[0] = maker_planned(&m, FID_FLOAT32, 2, 0), out = maker_planned(&m, FID_FLOAT32, 2, 0);
    if (dynamic) maker_dynamic(&m, x, FID_DYNAMIC_BOUND), maker_dynamic(&m, out, FID_DYNAMIC_BOUND);
    m.input_count = 1;
    maker_call(&m, "test::same", "out", x, out, out);
    run_three_times(&m, no_cpu);
}

static void test_numbers_that_change_need_a_kernel_for_any(void **state) {
    (void)state;
    run_with_number("test::fixed", false);
    assert_true(seen.cpu == 3 && seen.reference == 0);
    run_with_number("test::fixed", true);
    assert_true(seen.prepared == 0 && seen.cpu == 0 && seen.reference == 3);
    run_with_number("test::any", true);
    assert_true(seen.prepared == 1 && seen.cpu == 3 && seen.reference == 0);
}

static void test_kernels_are_prepared_once_or_decline(void **state) {
    (void)state;
    run_same(false, false);
    assert_true(seen.prepared == 1 && seen.cpu == 3 && seen.reference == 0);
    run_same(true, false);
    assert_true(seen.prepared == 1 && seen.cpu == 0 && seen.reference == 3);
    run_same(false, true);
    assert_true(seen.prepared == 0 && seen.cpu == 0 && seen.reference == 3);
}

#define CASE(name) cmocka_unit_test_teardown(name, close_all)
int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_moves_choose),
        CASE(test_loop_counts_and_a_failed_run_starts_anew),
        CASE(test_jump_beyond_the_chain),
        CASE(test_condition_that_is_no_bool),
        CASE(test_move_between_kinds),
        CASE(test_move_into_a_constant),
        CASE(test_move_of_a_tensor_without_memory),
        CASE(test_value_index_out_of_range),
        CASE(test_wrong_kind_of_argument),
        CASE(test_too_few_arguments),
        CASE(test_declared_output_contradicts_the_operator),
        CASE(test_output_that_is_constant),
        CASE(test_effect_on_a_constant),
        CASE(test_effect_whose_result_is_another_tensor),
        CASE(test_overlapping_memory),
        CASE(test_planned_memory_that_does_not_reach),
        CASE(test_outputs_without_planned_memory),
        CASE(test_sizes_from_numbers),
        CASE(test_list_of_what_is_no_number),
        CASE(test_result_of_a_number_kernel_that_is_no_number),
        CASE(test_lists_with_absent_tensors),
        CASE(test_views_follow_their_base),
        CASE(test_writing_through_a_view_of_a_constant),
        CASE(test_overlap_through_a_view),
        CASE(test_unbounded_tensors_grow),
        CASE(test_use_after_free_call),
        CASE(test_kernels_are_prepared_once_or_decline),
        CASE(test_numbers_that_change_need_a_kernel_for_any),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
