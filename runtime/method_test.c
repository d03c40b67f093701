/* Methods as a user meets them: what is given, what is refused and in which words, and what stays true between runs. */
#include "runtime/testing.h"

#include <pthread.h>

static fid_message message;
static fid_environment environment;

static int start(void **state) {
    (void)state;
    environment = fid_environment_default(&message);
    return 0;
}

typedef struct loaded {
    test_bytes bytes;
    fid_program *program;
    fid_method *method;
} loaded;

static loaded load_golden(const char *name, const char *method) {
    loaded l = {.bytes = test_golden(name)};
    if (fid_program_open_memory(&environment, l.bytes.data, l.bytes.size, &l.program) != FID_OK) fail_msg("%s", message.text);
    if (fid_method_load(l.program, method, NULL, &l.method) != FID_OK) fail_msg("%s", message.text);
    return l;
}

static void unload(loaded *l) {
    fid_method_unload(l->method);
    fid_program_close(l->program);
    free(l->bytes.data);
}

static fid_status set_floats(fid_method *method, size_t index, const float *data, int64_t rows, int64_t columns) {
    int64_t sizes[] = {rows, columns};
    return fid_method_set_input_tensor(method, index, FID_FLOAT32, sizes, 2, data);
}

static const float *output_floats(fid_method *method, size_t index) {
    const fid_value *value;
    assert_int_equal(fid_method_output(method, index, &value), FID_OK);
    return value->as.tensor->data;
}

/* ---- Opening and loading ---- */

static void test_wrong_identifier_names_found_and_expected(void **state) {
    (void)state;
    test_bytes bytes = test_golden("sums");
    fid_program *program;
    memcpy(bytes.data + 4, "ET13", 4);
    assert_int_equal(fid_program_open_memory(&environment, bytes.data, bytes.size, &program), FID_INVALID_PROGRAM);
    assert_says(message, "\"ET12\"");
    assert_says(message, "\"ET13\"");
    assert_says(message, "another format version");
    memcpy(bytes.data, "PK\3\4", 4);
    memset(bytes.data + 4, 0, 4);
    assert_int_equal(fid_program_open_memory(&environment, bytes.data, bytes.size, &program), FID_INVALID_PROGRAM);
    assert_says(message, "compile it first");
    free(bytes.data);
}

static void test_unaligned_memory_is_refused(void **state) {
    (void)state;
    test_bytes bytes = test_golden("sums");
    uint8_t *shifted = malloc(bytes.size + 17);
    uint8_t *odd = shifted + (17 - ((uintptr_t)shifted & 15));
    fid_program *program;
    memcpy(odd, bytes.data, bytes.size);
    assert_int_equal(fid_program_open_memory(&environment, odd, bytes.size, &program), FID_INVALID_ARGUMENT);
    assert_says(message, "multiple of 16");
    free(shifted);
    free(bytes.data);
}

static void test_trees_of_inputs_and_outputs(void **state) {
    (void)state;
    loaded l = load_golden("pieces", "forward");
    assert_non_null(strstr(fid_method_input_tree(l.method), "builtins.tuple"));
    assert_true(strlen(fid_method_output_tree(l.method)) > strlen(fid_method_input_tree(l.method))); /* five against one */
    unload(&l);
}

static void test_missing_method_is_named(void **state) {
    (void)state;
    loaded l = load_golden("sums", "once");
    fid_method *method;
    assert_int_equal(fid_program_method_count(l.program), 2);
    assert_string_equal(fid_program_method_name(l.program, 1), "twice");
    assert_null(fid_program_method_name(l.program, 2));
    assert_int_equal(fid_method_load(l.program, "thrice", NULL, &method), FID_NOT_FOUND);
    assert_says(message, "\"thrice\"");
    unload(&l);
}

static void test_all_missing_operators_are_listed(void **state) {
    (void)state;
    test_bytes bytes = test_golden("two_methods");
    fid_environment bare = environment;
    fid_program *program;
    fid_method *method;
    bare.table_count = 0;
    assert_int_equal(fid_program_open_memory(&bare, bytes.data, bytes.size, &program), FID_OK);
    assert_int_equal(fid_method_load(program, "forward", NULL, &method), FID_OPERATOR_MISSING);
    assert_says(message, "aten::permute_copy.out");
    assert_says(message, "aten::addmm.out");
    assert_says(message, "aten::relu.out");
    fid_program_close(program);
    free(bytes.data);
}

static void test_file_that_is_not_there(void **state) {
    (void)state;
    fid_program *program;
    assert_int_equal(fid_program_open_file(&environment, "/nowhere/model.pte", &program), FID_NOT_FOUND);
    assert_says(message, "/nowhere/model.pte");
    assert_int_equal(fid_program_open_file(&environment, "/", &program), FID_ACCESS_FAILED);
}

/* ---- Inputs ---- */

static void test_inputs_that_do_not_fit(void **state) {
    (void)state;
    loaded l = load_golden("two_methods", "forward");
    float data[28] = {0};
    int64_t sizes[] = {2, 4, 1};
    assert_int_equal(fid_method_set_input_tensor(l.method, 0, FID_FLOAT32, sizes, 3, data), FID_INVALID_ARGUMENT);
    assert_says(message, "input 0 has rank 3, the method takes rank 2");
    assert_int_equal(fid_method_set_input_tensor(l.method, 0, FID_INT64, sizes, 2, data), FID_INVALID_TYPE);
    assert_says(message, "input 0 is int64, the method takes float32");
    assert_int_equal(set_floats(l.method, 0, data, 7, 4), FID_INVALID_ARGUMENT);
    assert_says(message, "size 7 in dimension 0, the method takes 0 to 6");
    assert_int_equal(set_floats(l.method, 0, data, 2, 5), FID_INVALID_ARGUMENT);
    assert_says(message, "size 5 in dimension 1");
    assert_int_equal(set_floats(l.method, 1, data, 2, 4), FID_INVALID_ARGUMENT);
    assert_says(message, "there is no input 1: method forward has 1");
    fid_input number = {.struct_size = sizeof number, .value = fid_int_value(3)};
    assert_int_equal(fid_method_set_input(l.method, 0, &number), FID_INVALID_ARGUMENT);
    assert_says(message, "input 0 is an int, the method takes a tensor");
    assert_int_equal(fid_method_run(l.method), FID_INVALID_STATE);
    assert_says(message, "input 0 is not set");
    unload(&l);
}

static void test_numbers_that_were_fixed_at_export(void **state) {
    (void)state;
    loaded l = load_golden("through", "forward");
    fid_input number = {.struct_size = sizeof number, .value = fid_int_value(3)};
    assert_int_equal(fid_method_set_input(l.method, 1, &number), FID_OK);
    number.value = fid_int_value(4);
    assert_int_equal(fid_method_set_input(l.method, 1, &number), FID_INVALID_ARGUMENT);
    assert_says(message, "fixed to 3");
    number.value = fid_double_value(3);
    assert_int_equal(fid_method_set_input(l.method, 1, &number), FID_INVALID_ARGUMENT);
    assert_says(message, "a float, the method takes an int");
    unload(&l);
}

static void test_inputs_in_any_strides(void **state) {
    (void)state;
    loaded l = load_golden("pieces", "forward");
    /* [[1, 2, 3], [4, 5, 6]] column by column */
    float data[] = {1, 4, 2, 5, 3, 6};
    int64_t sizes[] = {2, 3}, strides[] = {1, 2};
    for (int by_reference = 0; by_reference < 2; by_reference++) {
        fid_tensor tensor = {.data = data, .sizes = sizes, .rank = 2, .dtype = FID_FLOAT32};
        fid_input input = {.struct_size = sizeof input, .value = fid_tensor_value(&tensor), .strides = strides,
                           .by_reference = by_reference};
        assert_int_equal(fid_method_set_input(l.method, 0, &input), FID_OK);
        assert_int_equal(fid_method_run(l.method), FID_OK);
        assert_memory_equal(output_floats(l.method, 4), ((float[]){2, 3, 1, 5, 6, 4}), 24);
    }
    unload(&l);
}

static void test_inputs_by_reference_stay_set(void **state) {
    (void)state;
    loaded l = load_golden("sums", "twice");
    float x[] = {1, 2}, y[] = {10, 20};
    int64_t sizes[] = {2};
    for (size_t i = 0; i < 2; i++) {
        fid_tensor tensor = {.data = i ? y : x, .sizes = sizes, .rank = 1, .dtype = FID_FLOAT32};
        fid_input input = {.struct_size = sizeof input, .value = fid_tensor_value(&tensor), .by_reference = true};
        assert_int_equal(fid_method_set_input(l.method, i, &input), FID_OK);
    }
    for (int run = 0; run < 3; run++) {
        x[0] = (float)run;
        assert_int_equal(fid_method_run(l.method), FID_OK);
        assert_float_equal(output_floats(l.method, 0)[0], (float)run + 20, 0);
        assert_float_equal(x[0], (float)run, 0); /* the caller's data is not written */
    }
    unload(&l);
}

static void test_dynamic_sizes_rise_and_fall(void **state) {
    (void)state;
    loaded l = load_golden("grow", "forward");
    fid_tensor_info info;
    assert_int_equal(fid_method_input_info(l.method, 0, &info), FID_OK);
    assert_int_equal(info.dynamism, FID_DYNAMIC_BOUND);
    assert_int_equal(info.sizes[0], 16);
    float data[48];
    for (int i = 0; i < 48; i++) data[i] = (float)i;
    for (int round = 0; round < 4; round++) {
        int64_t rows = (int64_t[]){16, 6, 2, 16}[round];
        assert_int_equal(set_floats(l.method, 0, data, rows, 3), FID_OK);
        if (fid_method_run(l.method) != FID_OK) fail_msg("%s", message.text);
        const fid_value *value;
        assert_int_equal(fid_method_output(l.method, 1, &value), FID_OK);
        assert_int_equal(value->as.tensor->sizes[0], 2 * rows);
        const float *out = value->as.tensor->data;
        for (int64_t i = 0; i < 6 * rows; i++) assert_float_equal(out[i], (float)(i % (3 * rows)), 0);
    }
    unload(&l);
}

/* ---- Outputs ---- */

static void test_outputs_in_memory_of_the_caller(void **state) {
    (void)state;
    static const char *const names[] = {"sums", "pieces"};
    for (int i = 0; i < 2; i++) {
        loaded l = load_golden(names[i], i ? "forward" : "once");
        float x[] = {1, 2, 3, 4, 5, 6}, y[] = {10, 20};
        int64_t sizes[] = {2, 3};
        _Alignas(64) float mine[16] = {0};
        fid_tensor_info info;
        size_t out = i ? 4 : 0;
        assert_int_equal(fid_method_output_info(l.method, out, &info), FID_OK);
        assert_int_equal(fid_method_set_output_data(l.method, out, mine, info.bytes - 1), FID_INVALID_ARGUMENT);
        assert_int_equal(fid_method_set_output_data(l.method, out, mine, sizeof mine), FID_OK);
        assert_int_equal(fid_method_set_input_tensor(l.method, 0, FID_FLOAT32, sizes, i ? 2 : 1, x), FID_OK);
        if (!i) assert_int_equal(fid_method_set_input_tensor(l.method, 1, FID_FLOAT32, sizes, 1, y), FID_OK);
        assert_int_equal(fid_method_run(l.method), FID_OK);
        assert_ptr_equal(output_floats(l.method, out), mine);
        assert_float_equal(mine[0], i ? 2 : 11, 0);
        assert_int_equal(fid_method_set_output_data(l.method, out, NULL, 0), FID_OK);
        assert_ptr_not_equal(output_floats(l.method, out), mine);
        unload(&l);
    }
}

static void test_output_that_is_an_input_or_a_constant_in_memory_of_the_caller(void **state) {
    (void)state;
    loaded l = load_golden("through", "forward");
    float x[] = {1, 2}, copy[2] = {0};
    int64_t sizes[] = {2}, table[4] = {0};
    fid_input number = {.struct_size = sizeof number, .value = fid_int_value(3)};
    fid_input flag = {.struct_size = sizeof flag, .value = fid_bool_value(true)};
    fid_input text = {.struct_size = sizeof text, .value = {.tag = FID_TAG_STRING, .as.string = {"mode", 4}}};
    assert_int_equal(fid_method_set_output_data(l.method, 0, copy, sizeof copy), FID_OK);
    assert_int_equal(fid_method_set_output_data(l.method, 1, table, sizeof table), FID_OK);
    assert_int_equal(fid_method_set_input_tensor(l.method, 0, FID_FLOAT32, sizes, 1, x), FID_OK);
    assert_int_equal(fid_method_set_input(l.method, 1, &number), FID_OK);
    assert_int_equal(fid_method_set_input(l.method, 2, &flag), FID_OK);
    assert_int_equal(fid_method_set_input(l.method, 3, &text), FID_OK);
    if (fid_method_run(l.method) != FID_OK) fail_msg("%s", message.text);
    assert_memory_equal(copy, x, sizeof x);
    assert_memory_equal(table, ((int64_t[]){0, 1, 2, 3}), sizeof table);
    unload(&l);
}

/* ---- State ---- */

static void run_accumulate(fid_method *method, float expected) {
    float ones[] = {1, 1, 1};
    int64_t sizes[] = {3};
    assert_int_equal(fid_method_set_input_tensor(method, 0, FID_FLOAT32, sizes, 1, ones), FID_OK);
    if (fid_method_run(method) != FID_OK) fail_msg("%s", message.text);
    assert_float_equal(output_floats(method, 0)[0], expected, 0);
}

static void test_buffers_keep_their_content_until_reset(void **state) {
    (void)state;
    loaded l = load_golden("accumulate", "forward");
    run_accumulate(l.method, 2);
    run_accumulate(l.method, 3);
    assert_int_equal(fid_method_reset(l.method), FID_OK);
    run_accumulate(l.method, 2);
    unload(&l);
}

static void test_memory_of_the_caller(void **state) {
    (void)state;
    loaded l = load_golden("accumulate", "forward");
    _Alignas(64) static uint8_t memory[4096];
    fid_method_options options = {.struct_size = sizeof options, .memory = memory,
                                  .memory_size = fid_method_planned_bytes(l.method) - 1};
    fid_method *method;
    assert_int_equal(fid_method_load(l.program, "forward", &options, &method), FID_OUT_OF_MEMORY);
    assert_says(message, "bytes of planned memory");
    options.memory_size++;
    memset(memory, 0xff, sizeof memory);
    assert_int_equal(fid_method_load(l.program, "forward", &options, &method), FID_OK);
    run_accumulate(method, 2);
    fid_method_unload(method);
    options.memory = memory + 8;
    assert_int_equal(fid_method_load(l.program, "forward", &options, &method), FID_INVALID_ARGUMENT);
    unload(&l);
}

static void test_program_closed_before_its_methods(void **state) {
    (void)state;
    loaded l = load_golden("accumulate", "forward");
    fid_method *second;
    assert_int_equal(fid_method_load(l.program, "forward", NULL, &second), FID_OK);
    fid_program_close(l.program);
    run_accumulate(l.method, 2);
    fid_method_unload(l.method);
    run_accumulate(second, 2); /* has a state of its own */
    fid_method_unload(second);
    free(l.bytes.data);
}

/* ---- Sources ---- */

static fid_status read_bytes(void *self, uint64_t offset, void *buffer, size_t size) {
    const test_bytes *bytes = self;
    if (offset > bytes->size || size > bytes->size - offset) return FID_ACCESS_FAILED;
    memcpy(buffer, bytes->data + offset, size);
    return FID_OK;
}

static void test_programs_through_a_source(void **state) {
    (void)state;
    static const char *const names[] = {"accumulate", "two_methods"};
    for (int i = 0; i < 2; i++) {
        test_bytes bytes = test_golden(names[i]);
        test_allocator allocator = {0};
        fid_environment counting = environment;
        counting.allocator = (fid_allocator){test_resize, &allocator};
        fid_source source = {read_bytes, &bytes, bytes.size};
        fid_program *program;
        fid_method *method;
        if (fid_program_open_source(&counting, &source, &program) != FID_OK) fail_msg("%s", message.text);
        if (fid_method_load(program, "forward", NULL, &method) != FID_OK) fail_msg("%s", message.text);
        float data[8] = {1, 1, 1, 1, 1, 1, 1, 1};
        if (i) {
            assert_int_equal(set_floats(method, 0, data, 2, 4), FID_OK);
            assert_int_equal(fid_method_run(method), FID_OK);
        } else {
            run_accumulate(method, 2);
        }
        fid_method_unload(method);
        fid_program_close(program);
        assert_int_equal(allocator.held, 0);
        free(bytes.data);
    }
}

static void test_source_that_fails_or_is_cut(void **state) {
    (void)state;
    test_bytes bytes = test_golden("two_methods");
    for (size_t size = 0; size < bytes.size; size += 7) {
        test_bytes part = {bytes.data, size};
        fid_source source = {read_bytes, &part, bytes.size}; /* promises more than it has */
        fid_program *program;
        fid_method *method = NULL;
        if (fid_program_open_source(&environment, &source, &program) != FID_OK) continue;
        if (fid_method_load(program, "forward", NULL, &method) == FID_OK) fid_method_unload(method);
        fid_program_close(program);
    }
    free(bytes.data);
}

/* ---- Control ---- */

#ifndef FID_TESTS_WITHOUT_THREADS
/* A method that jumps to its only instruction for ever, and counts. */
static test_bytes write_endless_loop(void) {
    static const fid_pte_out_value values[] = {{.kind = FID_PTE_OUT_BOOL, .as.boolean = false}};
    static const fid_pte_out_instruction instructions[] = {{.step = FID_PTE_OUT_JUMP_FALSE_CALL, .index = 0, .target = 0}};
    static const int64_t buffers[] = {0, 0};
    static const uint64_t none[] = {0};
    fid_pte_out_method method = {.name = "forward", .values = values, .value_count = 1, .instructions = instructions,
                                 .instruction_count = 1, .buffer_sizes = buffers, .buffer_count = 2};
    fid_pte_out_program program = {.methods = &method, .method_count = 1, .constant_offsets = none, .constant_count = 1};
    return test_write(&environment, &program);
}

static void *cancel_soon(void *method) {
    const fid_value *value;
    while (fid_method_output(method, 0, &value) != FID_INVALID_STATE) {} /* until it runs */
    bool refused = fid_method_run(method) == FID_INVALID_STATE && fid_method_reset(method) == FID_INVALID_STATE;
    fid_method_cancel(method);
    return refused ? method : NULL;
}

static void test_cancel_from_another_thread(void **state) {
    (void)state;
    test_bytes bytes = write_endless_loop();
    fid_environment quiet = environment;
    quiet.sink = (fid_sink){NULL, NULL}; /* two threads fail at once, a message holds one */
    fid_program *program;
    fid_method *method;
    pthread_t thread;
    assert_int_equal(fid_program_open_memory(&quiet, bytes.data, bytes.size, &program), FID_OK);
    assert_int_equal(fid_method_load(program, "forward", NULL, &method), FID_OK);
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, method), 0);
    assert_int_equal(fid_method_run(method), FID_CANCELLED);
    void *refused;
    pthread_join(thread, &refused);
    assert_non_null(refused); /* while it runs, everything but cancel is refused */
    fid_method_unload(method);
    fid_program_close(program);
    free(bytes.data);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_identifier_names_found_and_expected),
        cmocka_unit_test(test_unaligned_memory_is_refused),
        cmocka_unit_test(test_trees_of_inputs_and_outputs),
        cmocka_unit_test(test_missing_method_is_named),
        cmocka_unit_test(test_all_missing_operators_are_listed),
        cmocka_unit_test(test_file_that_is_not_there),
        cmocka_unit_test(test_inputs_that_do_not_fit),
        cmocka_unit_test(test_numbers_that_were_fixed_at_export),
        cmocka_unit_test(test_inputs_in_any_strides),
        cmocka_unit_test(test_inputs_by_reference_stay_set),
        cmocka_unit_test(test_dynamic_sizes_rise_and_fall),
        cmocka_unit_test(test_outputs_in_memory_of_the_caller),
        cmocka_unit_test(test_output_that_is_an_input_or_a_constant_in_memory_of_the_caller),
        cmocka_unit_test(test_buffers_keep_their_content_until_reset),
        cmocka_unit_test(test_memory_of_the_caller),
        cmocka_unit_test(test_program_closed_before_its_methods),
        cmocka_unit_test(test_programs_through_a_source),
        cmocka_unit_test(test_source_that_fails_or_is_cut),
#ifndef FID_TESTS_WITHOUT_THREADS
        cmocka_unit_test(test_cancel_from_another_thread),
#endif
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
