/* Weights outside the program, and state: found by name, replaced by later files, shared, saved and restored. */
#include "runtime/testing.h"

#include "format/ptd_write.h"
#include "runtime/data.h"

static fid_message message;

static fid_environment environment(void) { return fid_environment_default(&message); }

static fid_program *open_golden(const char *name) {
    char path[400];
    fid_environment env = environment();
    fid_program *program;
    snprintf(path, sizeof path, "%s/tests/golden/%s.pte", FID_SOURCE_DIR, name);
    assert_int_equal(fid_program_open_file(&env, path, &program), FID_OK);
    return program;
}

static fid_data *open_outside(void) {
    fid_environment env = environment();
    fid_data *data;
    assert_int_equal(fid_data_open_file(&env, FID_SOURCE_DIR "/tests/golden/outside.ptd", &data), FID_OK);
    return data;
}

/* A data file with one vector of floats, in memory that the caller frees. */
static fid_data *make_data(const char *key, const float *numbers, int32_t count, fid_dtype dtype, const char *name, test_bytes *out_bytes) {
    static test_text text;
    static const uint8_t order[] = {0};
    fid_environment env = environment();
    const fid_pte_sink destination = {test_collect, &text};
    const fid_named_data entry = {.key = key, .bytes = {(const uint8_t *)numbers, (size_t)count * fid_dtype_size(dtype)}, .is_tensor = true,
                                  .dtype = (uint8_t)dtype, .rank = 1, .sizes = &count, .dim_order = order};
    fid_data *data;
    text.size = 0;
    assert_int_equal(fid_ptd_write(env.allocator, &env.sink, &entry, 1, &destination, NULL), FID_OK);
    *out_bytes = test_bytes_copy(text.bytes, text.size);
    assert_int_equal(fid_data_open_memory(&env, out_bytes->data, out_bytes->size, name, &data), FID_OK);
    return data;
}

static fid_status load(fid_program *program, const char *name, fid_data *const *data, size_t count, fid_shared_state *shared, fid_method **out) {
    fid_method_options options = {.struct_size = sizeof options, .data = data, .data_count = count, .shared_state = shared};
    message.text[0] = 0;
    return fid_method_load(program, name, &options, out);
}

/* Runs with one tensor of floats and gives the first output's floats. */
static const float *run(fid_method *method, const int64_t *sizes, size_t rank, const float *x) {
    const fid_value *value;
    assert_int_equal(fid_method_set_input_tensor(method, 0, FID_FLOAT32, sizes, rank, x), FID_OK);
    assert_int_equal(fid_method_run(method), FID_OK);
    assert_int_equal(fid_method_output(method, 0, &value), FID_OK);
    return value->as.tensor->data;
}

/* (x * [1 2 3] + shift) * [[1 0 -1] [2 2 2]] for x of ones: tests/golden/make_data.py. */
static void expect_outside(fid_method *method, const float *shift) {
    static const int64_t sizes[] = {2, 3};
    static const float ones[] = {1, 1, 1, 1, 1, 1}, table[] = {1, 0, -1, 2, 2, 2};
    const float *y = run(method, sizes, 2, ones);
    for (int i = 0; i < 6; i++) assert_true(y[i] == ((float)(i % 3 + 1) + shift[i % 3]) * table[i]);
}

static const float plain_shift[] = {10, 20, 30}, other_shift[] = {-1, -2, -3};

/* ---- Weights ---- */

static void test_weights_outside(void **state) {
    (void)state;
    fid_program *program = open_golden("outside");
    fid_data *data = open_outside();
    fid_method *method;
    assert_int_equal(load(program, "forward", &data, 1, NULL, &method), FID_OK);
    fid_data_close(data); /* the method keeps it */
    fid_program_close(program);
    expect_outside(method, plain_shift);
    fid_method_unload(method);
}

static void test_keys_of_a_file(void **state) {
    (void)state;
    fid_data *data = open_outside();
    fid_named_data entry;
    assert_int_equal(fid_data_count(data), 3);
    assert_string_equal(fid_data_key(data, 0), "scale"); /* in rising order */
    assert_string_equal(fid_data_key(data, 2), "table");
    assert_null(fid_data_key(data, 3));
    assert_int_equal(fid_data_find(data, "shift", &entry), FID_OK);
    assert_memory_equal(entry.bytes.data, plain_shift, sizeof plain_shift);
    assert_int_equal(fid_data_find(data, "shif", &entry), FID_NOT_FOUND);
    assert_int_equal(fid_data_find(data, "zebra", &entry), FID_NOT_FOUND);
    fid_data_close(data);
}

/* Weights lie where the file is mapped: two methods see the same bytes. */
static void test_programs_share_a_file_without_copies(void **state) {
    (void)state;
    fid_program *one = open_golden("outside"), *other = open_golden("outside");
    fid_data *data = open_outside();
    fid_method *a, *b;
    assert_int_equal(load(one, "forward", &data, 1, NULL, &a), FID_OK);
    assert_int_equal(load(other, "forward", &data, 1, NULL, &b), FID_OK);
    assert_true(fid_method_planned_bytes(a) < 256);
    expect_outside(a, plain_shift);
    expect_outside(b, plain_shift);
    fid_method_unload(a);
    fid_method_unload(b);
    fid_program_close(one);
    fid_program_close(other);
    fid_data_close(data);
}

static void test_a_later_file_replaces_a_weight(void **state) {
    (void)state;
    fid_program *program = open_golden("outside");
    test_bytes bytes;
    fid_data *base = open_outside(), *adapter = make_data("shift", other_shift, 3, FID_FLOAT32, "adapter.ptd", &bytes);
    fid_method *plain, *adapted, *back;
    assert_int_equal(load(program, "forward", &base, 1, NULL, &plain), FID_OK);
    assert_int_equal(load(program, "forward", (fid_data *[]){base, adapter}, 2, NULL, &adapted), FID_OK);
    assert_int_equal(load(program, "forward", (fid_data *[]){adapter, base}, 2, NULL, &back), FID_OK);
    expect_outside(plain, plain_shift); /* one program, several sets of weights */
    expect_outside(adapted, other_shift);
    expect_outside(back, plain_shift);
    fid_method_unload(plain);
    fid_method_unload(adapted);
    fid_method_unload(back);
    fid_data_close(base);
    fid_data_close(adapter);
    fid_program_close(program);
    free(bytes.data);
}

static void test_what_is_missing_or_differs_is_named(void **state) {
    (void)state;
    fid_program *program = open_golden("outside");
    test_bytes short_bytes, half_bytes;
    fid_data *base = open_outside(), *short_one = make_data("shift", other_shift, 2, FID_FLOAT32, "short.ptd", &short_bytes),
             *half = make_data("scale", other_shift, 3, FID_FLOAT16, "half.ptd", &half_bytes);
    fid_method *method;
    assert_int_equal(load(program, "forward", NULL, 0, NULL, &method), FID_INVALID_EXTERNAL_DATA);
    assert_says(message, "weight \"scale\" (float32[3])");
    assert_says(message, "no data file is given");
    assert_int_equal(load(program, "forward", (fid_data *[]){short_one, half}, 2, NULL, &method), FID_INVALID_EXTERNAL_DATA);
    assert_says(message, "weight \"scale\" in half.ptd is float16[3], the program takes float32[3]");
    assert_int_equal(load(program, "forward", &short_one, 1, NULL, &method), FID_INVALID_EXTERNAL_DATA);
    assert_says(message, "weight \"scale\" (float32[3]) lies outside the program; it is not in short.ptd");
    assert_int_equal(load(program, "forward", (fid_data *[]){base, short_one}, 2, NULL, &method), FID_INVALID_EXTERNAL_DATA);
    assert_says(message, "weight \"shift\" in short.ptd is float32[2], the program takes float32[3]");
    fid_data_close(base);
    fid_data_close(short_one);
    fid_data_close(half);
    fid_program_close(program);
    free(short_bytes.data);
    free(half_bytes.data);
}

static void test_bad_files(void **state) {
    (void)state;
    static const struct { const char *name, *says; } all[] = {
        {"bad_root_far", "tables are damaged"},
        {"bad_root_inside_header", "tables are damaged"},
        {"bad_tables_overflow", "cut short"},
        {"bad_segments_overflow", "cut short"},
        {"bad_cut_in_tables", "cut short"},
        {"bad_cut_in_segments", "cut short"},
        {"bad_keys_twice", "the key \"scale\" is there twice"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char path[400];
        fid_environment env = environment();
        fid_data *data;
        snprintf(path, sizeof path, "%s/tests/corpus/ptd_fuzz/%s.ptd", FID_SOURCE_DIR, all[i].name);
        message.text[0] = 0;
        assert_int_equal(fid_data_open_file(&env, path, &data), FID_INVALID_EXTERNAL_DATA);
        assert_says(message, all[i].says);
        assert_says(message, all[i].name);
        assert_null(data);
    }
}

/* Each allocation fails in turn, of the data file and of the method: a sentence, and nothing is left. */
static void test_short_memory(void **state) {
    (void)state;
    test_allocator counter = {0};
    fid_environment env = environment();
    env.allocator = (fid_allocator){test_resize, &counter};
    bool succeeded = false;
    for (size_t fail_at = 1; !succeeded; fail_at++) {
        fid_program *program = NULL;
        fid_data *data = NULL;
        fid_method *method = NULL;
        counter.count = 0;
        counter.fail_at = fail_at;
        fid_status status = fid_program_open_file(&env, FID_SOURCE_DIR "/tests/golden/outside.pte", &program);
        if (status == FID_OK) status = fid_data_open_file(&env, FID_SOURCE_DIR "/tests/golden/outside.ptd", &data);
        if (status == FID_OK) status = load(program, "forward", &data, 1, NULL, &method);
        succeeded = status == FID_OK;
        if (!succeeded) assert_int_equal(status, FID_OUT_OF_MEMORY);
        fid_method_unload(method);
        fid_data_close(data);
        fid_program_close(program);
        assert_int_equal(counter.held, 0);
    }
}

/* ---- State ---- */

static const int64_t two[] = {2};
static const float ones[] = {1, 1}, step[] = {10, 20};

static void expect_total(fid_method *show, float first, float second) {
    const float *total = run(show, two, 1, ones);
    assert_true(total[0] == first && total[1] == second);
}

/* Upstream's share_mutable_buffers: `add` adds to a buffer [1 2] that `show` multiplies with. */
static void test_methods_share_buffers(void **state) {
    (void)state;
    fid_program *program = open_golden("shared");
    fid_environment env = environment();
    fid_shared_state *shared;
    fid_method *add, *show, *alone;
    assert_true(fid_program_shares_buffers(program));
    assert_int_equal(fid_shared_state_create(&env, &shared), FID_OK);
    assert_int_equal(load(program, "add", NULL, 0, shared, &add), FID_OK);
    run(add, two, 1, step);
    assert_int_equal(load(program, "show", NULL, 0, shared, &show), FID_OK); /* finds what add left */
    assert_int_equal(load(program, "show", NULL, 0, NULL, &alone), FID_OK);
    fid_shared_state_release(shared);
    fid_program_close(program);
    expect_total(show, 11, 22);
    run(add, two, 1, step);
    expect_total(show, 21, 42);
    expect_total(alone, 1, 2);
    assert_int_equal(fid_method_reset(show), FID_OK); /* for both */
    run(add, two, 1, step);
    expect_total(show, 11, 22);
    fid_method_unload(add);
    expect_total(show, 11, 22);
    fid_method_unload(show);
    fid_method_unload(alone);
}

/* Another thread is in a method that shares: an error, not a race. */
static void test_sharing_methods_belong_to_one_thread_at_a_time(void **state) {
    (void)state;
    fid_program *program = open_golden("shared"), *other = open_golden("shared");
    fid_environment env = environment();
    fid_shared_state *shared;
    fid_method *add, *show;
    assert_int_equal(fid_shared_state_create(&env, &shared), FID_OK);
    assert_int_equal(load(program, "add", NULL, 0, shared, &add), FID_OK);
    assert_int_equal(fid_method_set_input_tensor(add, 0, FID_FLOAT32, two, 1, step), FID_OK);
    __atomic_store_n(&shared->taken, 1, __ATOMIC_RELEASE); /* as the other thread's run would */
    assert_int_equal(fid_method_run(add), FID_INVALID_STATE);
    assert_says(message, "a method that shares buffers with add is in use by another thread");
    __atomic_store_n(&shared->taken, 0, __ATOMIC_RELEASE);
    assert_int_equal(fid_method_run(add), FID_OK);
    assert_int_equal(load(other, "show", NULL, 0, shared, &show), FID_INVALID_ARGUMENT);
    assert_says(message, "another program's methods");
    fid_method_unload(add);
    fid_shared_state_release(shared);
    fid_program_close(program);
    fid_program_close(other);
}

static void test_programs_without_shared_buffers(void **state) {
    (void)state;
    fid_program *program = open_golden("accumulate");
    assert_false(fid_program_shares_buffers(program));
    fid_program_close(program);
}

static fid_data *save(fid_method *method, test_bytes *out_bytes) {
    static test_text text;
    fid_environment env = environment();
    fid_data *data;
    text.size = 0;
    assert_int_equal(fid_method_state_save(method, test_collect, &text), FID_OK);
    *out_bytes = test_bytes_copy(text.bytes, text.size);
    assert_int_equal(fid_data_open_memory(&env, out_bytes->data, out_bytes->size, "saved.ptd", &data), FID_OK);
    return data;
}

static void test_state_is_saved_and_restored(void **state) {
    (void)state;
    fid_program *program = open_golden("shared");
    fid_method *add, *show;
    fid_named_data buffer;
    size_t count;
    test_bytes bytes;
    assert_int_equal(load(program, "add", NULL, 0, NULL, &add), FID_OK);
    assert_int_equal(load(program, "show", NULL, 0, NULL, &show), FID_OK);
    assert_int_equal(fid_method_state_count(add, &count), FID_OK);
    assert_int_equal(count, 1);
    run(add, two, 1, step);
    assert_int_equal(fid_method_state_at(add, 0, &buffer), FID_OK);
    assert_string_equal(buffer.key, "total");
    assert_memory_equal(buffer.bytes.data, ((float[]){11, 22}), 8);
    assert_int_equal(fid_method_state_at(add, 1, &buffer), FID_INVALID_ARGUMENT);
    fid_data *saved = save(add, &bytes);
    run(add, two, 1, step);
    assert_int_equal(fid_method_state_restore(show, saved), FID_OK); /* another method's buffer of that name */
    expect_total(show, 11, 22);
    assert_int_equal(fid_method_state_restore(add, saved), FID_OK);
    assert_int_equal(fid_method_state_at(add, 0, &buffer), FID_OK);
    assert_memory_equal(buffer.bytes.data, ((float[]){11, 22}), 8);
    fid_data_close(saved);
    free(bytes.data);
    fid_method_unload(add);
    fid_method_unload(show);
    fid_program_close(program);
}

/* Upstream's programs name no buffers unless asked: state goes by its value's number. */
static void test_state_without_names(void **state) {
    (void)state;
    static const int64_t three[] = {3};
    static const float x[] = {1, 1, 1};
    fid_program *program = open_golden("accumulate");
    fid_method *method;
    fid_named_data buffer;
    size_t count;
    test_bytes bytes;
    assert_int_equal(load(program, "forward", NULL, 0, NULL, &method), FID_OK);
    assert_int_equal(fid_method_state_count(method, &count), FID_OK);
    assert_int_equal(count, 1);
    assert_int_equal(fid_method_state_at(method, 0, &buffer), FID_OK);
    assert_memory_equal(buffer.key, "value.", 6);
    assert_true(run(method, three, 1, x)[2] == 4);
    fid_data *saved = save(method, &bytes);
    assert_true(run(method, three, 1, x)[2] == 5);
    assert_int_equal(fid_method_state_restore(method, saved), FID_OK);
    assert_true(run(method, three, 1, x)[2] == 5);
    fid_data_close(saved);
    free(bytes.data);
    fid_method_unload(method);
    fid_program_close(program);
}

static void test_state_that_does_not_fit_changes_nothing(void **state) {
    (void)state;
    fid_program *program = open_golden("shared");
    fid_method *show;
    test_bytes bytes;
    assert_int_equal(load(program, "show", NULL, 0, NULL, &show), FID_OK);
    fid_data *longer = make_data("total", other_shift, 3, FID_FLOAT32, "longer.ptd", &bytes);
    assert_int_equal(fid_method_state_restore(show, longer), FID_INVALID_EXTERNAL_DATA);
    assert_says(message, "buffer \"total\" in longer.ptd is float32[3], method show has float32[2]");
    fid_data_close(longer);
    free(bytes.data);
    fid_data *others = make_data("sum", ones, 2, FID_FLOAT32, "others.ptd", &bytes);
    assert_int_equal(fid_method_state_restore(show, others), FID_INVALID_EXTERNAL_DATA);
    assert_says(message, "buffer \"total\" (float32[2]) of method show is not in others.ptd");
    fid_data_close(others);
    free(bytes.data);
    expect_total(show, 1, 2);
    fid_method_unload(show);
    fid_program_close(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights_outside),
        cmocka_unit_test(test_keys_of_a_file),
        cmocka_unit_test(test_programs_share_a_file_without_copies),
        cmocka_unit_test(test_a_later_file_replaces_a_weight),
        cmocka_unit_test(test_what_is_missing_or_differs_is_named),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_short_memory),
        cmocka_unit_test(test_methods_share_buffers),
        cmocka_unit_test(test_sharing_methods_belong_to_one_thread_at_a_time),
        cmocka_unit_test(test_programs_without_shared_buffers),
        cmocka_unit_test(test_state_is_saved_and_restored),
        cmocka_unit_test(test_state_without_names),
        cmocka_unit_test(test_state_that_does_not_fit_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
