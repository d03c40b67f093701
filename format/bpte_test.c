/* Bundled programs: upstream's are read, ours are read back, damaged ones end in a sentence. */
#include "runtime/testing.h"

#include "format/bpte.h"

static fid_message message;

static test_bytes read_upstream_bundle(void) { return test_golden_file("bundled.bpte"); }

static fid_status open_bundle(const test_bytes *file, fid_bpte *out) {
    fid_sink sink = fid_message_sink(&message);
    return fid_bpte_open(&sink, fid_span_of(file->data, file->size), out);
}

static void expect_floats(const fid_value *value, const float *expected, size_t count) {
    assert_int_equal(value->tag, FID_TAG_TENSOR);
    assert_int_equal(value->as.tensor->dtype, FID_FLOAT32);
    assert_int_equal(fid_tensor_numel(value->as.tensor), count);
    assert_memory_equal(value->as.tensor->data, expected, count * sizeof *expected);
}

/* Shift()(x, 3, 0.5) = (x * 0.5 + 3, x - 1) for x = [[0 1 2] [3 4 5]] and for x = -0.5 everywhere: tests/golden/make_bundle.py. */
static void test_a_bundle_of_upstream(void **state) {
    (void)state;
    test_bytes file = read_upstream_bundle();
    fid_bpte bundle;
    assert_int_equal(open_bundle(&file, &bundle), FID_OK);
    assert_memory_equal(bundle.program.data + 4, "ET12", 4);
    assert_int_equal(fid_bpte_case_count(&bundle, "forward"), 2);
    assert_int_equal(fid_bpte_case_count(&bundle, "backward"), 0);
    fid_bpte_case first = fid_bpte_case_at(&bundle, "forward", 0), second = fid_bpte_case_at(&bundle, "forward", 1);
    assert_int_equal(first.inputs.count, 3);
    assert_int_equal(first.outputs.count, 2);
    fid_bpte_value value;
    fid_bpte_value_at(first.inputs, 0, &value);
    expect_floats(&value.value, (float[]){0, 1, 2, 3, 4, 5}, 6);
    assert_int_equal(value.tensor.rank, 2);
    assert_int_equal(value.tensor.sizes[0], 2);
    assert_int_equal(value.tensor.strides[0], 3);
    fid_bpte_value_at(first.inputs, 1, &value);
    assert_int_equal(value.value.tag, FID_TAG_INT);
    assert_int_equal(value.value.as.integer, 3);
    fid_bpte_value_at(first.inputs, 2, &value);
    assert_int_equal(value.value.tag, FID_TAG_DOUBLE);
    assert_true(value.value.as.number == 0.5);
    fid_bpte_value_at(first.outputs, 0, &value);
    expect_floats(&value.value, (float[]){3, 3.5f, 4, 4.5f, 5, 5.5f}, 6);
    fid_bpte_value_at(second.outputs, 1, &value);
    expect_floats(&value.value, (float[]){-1.5f, -1.5f, -1.5f, -1.5f, -1.5f, -1.5f}, 6);
    free(file.data);
}

/* ---- Writing ---- */

static float numbers[] = {1, 2, 3, 4, 5, 6};
static int64_t sizes[] = {1, 3, 1, 2}, strides[] = {6, 1, 6, 3};
static uint8_t channels_last[] = {0, 2, 3, 1};
static fid_tensor tensor = {.data = numbers, .sizes = sizes, .strides = strides, .dim_order = channels_last, .rank = 4, .dtype = FID_FLOAT32};

static test_bytes write_bundle(const fid_bpte_out_case *cases, size_t count) {
    fid_environment environment = fid_environment_default(NULL);
    fid_sink sink = fid_message_sink(&message);
    uint8_t *data;
    size_t size;
    assert_int_equal(fid_bpte_write(environment.allocator, &sink, fid_span_of("not a program", 13), cases, count, &data, &size), FID_OK);
    test_bytes bytes = test_bytes_copy(data, size);
    fid_free(environment.allocator, data, size);
    return bytes;
}

static void test_what_is_written_is_read(void **state) {
    (void)state;
    const fid_value inputs[] = {fid_tensor_value(&tensor), fid_int_value(-7), fid_bool_value(true), fid_double_value(0.25), fid_none_value()};
    const fid_value outputs[] = {fid_bool_value(false)};
    const fid_bpte_out_case cases[] = {{"two", inputs, outputs, 5, 1}, {"one", NULL, NULL, 0, 0}};
    test_bytes file = write_bundle(cases, 2), again = write_bundle(cases, 2);
    assert_int_equal(file.size, again.size);
    assert_memory_equal(file.data, again.data, file.size);
    fid_bpte bundle;
    assert_int_equal(open_bundle(&file, &bundle), FID_OK);
    assert_int_equal(bundle.program.size, 13);
    assert_memory_equal(bundle.program.data, "not a program", 13);
    assert_int_equal((bundle.program.data - file.data) % FID_BPTE_PROGRAM_ALIGNMENT, 0);
    assert_int_equal(fid_bpte_case_at(&bundle, "one", 0).inputs.count, 0);
    fid_bpte_case two = fid_bpte_case_at(&bundle, "two", 0);
    fid_bpte_value value;
    fid_bpte_value_at(two.inputs, 0, &value);
    expect_floats(&value.value, numbers, 6);
    assert_memory_equal(value.dim_order, channels_last, 4);
    assert_memory_equal(value.strides + 1, strides + 1, 3 * sizeof *strides);
    assert_int_equal((uintptr_t)value.tensor.data % 16, 0);
    fid_bpte_value_at(two.inputs, 1, &value);
    assert_int_equal(value.value.as.integer, -7);
    fid_bpte_value_at(two.inputs, 2, &value);
    assert_true(value.value.tag == FID_TAG_BOOL && value.value.as.boolean);
    fid_bpte_value_at(two.inputs, 3, &value);
    assert_true(value.value.as.number == 0.25);
    fid_bpte_value_at(two.inputs, 4, &value);
    assert_int_equal(value.value.tag, FID_TAG_NONE);
    fid_bpte_value_at(two.outputs, 0, &value);
    assert_true(value.value.tag == FID_TAG_BOOL && !value.value.as.boolean);
    free(file.data);
    free(again.data);
}

static void test_a_text_has_no_place(void **state) {
    (void)state;
    fid_value text = {.tag = FID_TAG_STRING, .as.string = {"mode", 4}};
    const fid_bpte_out_case one = {"forward", &text, NULL, 1, 0};
    fid_environment environment = fid_environment_default(NULL);
    fid_sink sink = fid_message_sink(&message);
    uint8_t *data;
    size_t size;
    assert_int_equal(fid_bpte_write(environment.allocator, &sink, fid_span_of("x", 1), &one, 1, &data, &size), FID_NOT_SUPPORTED);
    assert_says(message, "input 0 of method \"forward\" is a text or a list");
}

/* ---- Damage ---- */

/* Everything that a sound bundle promises is read, so that sanitizers see every step. */
static uint64_t touch(const fid_bpte *bundle) {
    uint64_t sum = 0;
    for (size_t i = 0; i < fid_bpte_case_count(bundle, "forward"); i++) {
        fid_bpte_case one = fid_bpte_case_at(bundle, "forward", i);
        for (uint32_t k = 0; k < one.inputs.count; k++) {
            fid_bpte_value value;
            fid_bpte_value_at(one.inputs, k, &value);
            if (value.value.tag != FID_TAG_TENSOR) continue;
            const uint8_t *bytes = value.tensor.data;
            for (size_t b = 0; b < fid_tensor_bytes(&value.tensor); b++) sum += bytes[b];
        }
    }
    return sum;
}

static void test_cut_or_changed_anywhere(void **state) {
    (void)state;
    test_bytes whole = read_upstream_bundle();
    fid_bpte bundle;
    for (size_t size = 0; size < whole.size; size++) {
        test_bytes part = test_bytes_copy(whole.data, size);
        message.text[0] = 0;
        if (open_bundle(&part, &bundle) == FID_OK) touch(&bundle);
        else assert_true(message.text[0] != 0);
        free(part.data);
    }
    for (size_t at = 0; at < whole.size; at++) {
        for (int bit = 0; bit < 8; bit++) {
            whole.data[at] ^= (uint8_t)(1 << bit);
            if (open_bundle(&whole, &bundle) == FID_OK) touch(&bundle);
            whole.data[at] ^= (uint8_t)(1 << bit);
        }
    }
    free(whole.data);
}

/* The bytes of a bundle of `tensor` with one of its vectors changed. */
static test_bytes write_changed(const void *from, const void *to, size_t size) {
    fid_value input = fid_tensor_value(&tensor);
    test_bytes file = write_bundle(&(fid_bpte_out_case){"forward", &input, NULL, 1, 0}, 1);
    size_t at = 0;
    while (at + size <= file.size && memcmp(file.data + at, from, size) != 0) at++;
    assert_true(at + size <= file.size);
    memcpy(file.data + at, to, size);
    return file;
}

static void test_tensors_that_lie(void **state) {
    (void)state;
    static const int32_t shape[] = {1, 3, 1, 2}, negative[] = {1, -3, 1, 2}, large[] = {1, 3, 2, 2}, huge[] = {INT32_MAX, INT32_MAX, INT32_MAX, 2};
    static const uint8_t twisted[] = {0, 2, 2, 1};
    const struct { const void *from, *to; size_t size; const char *reason; } lies[] = {
        {shape, negative, sizeof shape, "input 0 in case 0 of method \"forward\" has a negative size"},
        {shape, large, sizeof shape, "has fewer bytes than its sizes say"},
        {shape, huge, sizeof shape, "is larger than memory"},
        {channels_last, twisted, sizeof twisted, "has a dim order that fits no layout"},
    };
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        test_bytes file = write_changed(lies[i].from, lies[i].to, lies[i].size);
        fid_bpte bundle;
        assert_int_equal(open_bundle(&file, &bundle), FID_INVALID_PROGRAM);
        assert_says(message, lies[i].reason);
        free(file.data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_bundle_of_upstream),
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_a_text_has_no_place),
        cmocka_unit_test(test_cut_or_changed_anywhere),
        cmocka_unit_test(test_tensors_that_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
