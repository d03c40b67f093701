/* Traces: what is written is read, upstream's are read, damaged ones end in a sentence. */
#include "runtime/testing.h"

#include "format/etdump.h"

static fid_message message;

static fid_status open_dump(const test_bytes *file, fid_etdump *out) {
    fid_sink sink = fid_message_sink(&message);
    return fid_etdump_open(&sink, fid_span_of(file->data, file->size), out);
}

static test_bytes write_dump(const fid_etdump_block *blocks, size_t count) {
    fid_environment environment = fid_environment_default(NULL);
    fid_sink sink = fid_message_sink(&message);
    uint8_t *data;
    size_t size;
    assert_int_equal(fid_etdump_write(environment.allocator, &sink, blocks, count, &data, &size), FID_OK);
    test_bytes bytes = test_bytes_copy(data, size);
    fid_free(environment.allocator, data, size);
    return bytes;
}

static const fid_trace_event load_events[] = {
    {.name = "Method::init", .chain = -1, .instruction = -1, .delegate_id = -1, .start = 5, .end = 9},
};
static const fid_trace_event run_events[] = {
    {.name = "aten::add.out", .kernel = true, .chain = 0, .instruction = 0, .delegate_id = -1, .start = 12, .end = 15},
    {.name = "OPERATOR_CALL", .chain = 0, .instruction = 0, .delegate_id = -1, .start = 11, .end = 16},
    {.name = "fid::linear.out", .kernel = true, .chain = 1, .instruction = 7, .delegate_id = -1, .start = 17, .end = UINT64_MAX},
    {.name = "Convolution", .chain = 0, .instruction = 2, .delegate_id = 3, .delegate_name = "part", .metadata = {(const uint8_t *)"abc", 3}},
};
static const fid_etdump_block blocks[] = {{"Default", load_events, 1}, {"Execute", run_events, 4}, {"Execute", NULL, 0}};

static void test_what_is_written_is_read(void **state) {
    (void)state;
    test_bytes file = write_dump(blocks, 3);
    fid_etdump dump;
    assert_true(fid_etdump_recognize(fid_span_of(file.data, file.size)));
    if (open_dump(&file, &dump) != FID_OK) fail_msg("%s", message.text);
    assert_int_equal(dump.runs.count, 3);
    fid_etdump_run load = fid_etdump_run_at(&dump, 0), run = fid_etdump_run_at(&dump, 1), empty = fid_etdump_run_at(&dump, 2);
    assert_string_equal(load.name, "Default");
    assert_int_equal(load.bundled_input, -1);
    assert_int_equal(load.events.count, 1);
    assert_int_equal(run.events.count, 4);
    assert_int_equal(empty.events.count, 0);
    fid_etdump_event add = fid_etdump_event_at(&run, 0), linear = fid_etdump_event_at(&run, 2), part = fid_etdump_event_at(&run, 3);
    assert_int_equal(add.kind, FID_ETDUMP_PROFILE);
    assert_string_equal(add.profile.name, "native_call_add.out"); /* upstream leaves aten out */
    assert_true(add.profile.kernel);
    assert_int_equal(add.profile.start, 12);
    assert_int_equal(add.profile.end, 15);
    assert_string_equal(linear.profile.name, "native_call_fid::linear.out");
    assert_int_equal(linear.profile.chain, 1);
    assert_int_equal(linear.profile.instruction, 7);
    assert_true(linear.profile.end == UINT64_MAX);
    assert_false(part.profile.kernel);
    assert_int_equal(part.profile.delegate_id, 3);
    assert_string_equal(part.profile.delegate_name, "part");
    assert_int_equal(part.profile.metadata.size, 3);
    free(file.data);
}

/* tests/golden/delegated.etdp: made by upstream's Inspector tools from upstream's own events; see make_etdump.py. */
static test_bytes read_upstream_trace(void) { return test_golden_file("delegated.etdp"); }

static void test_a_trace_of_upstream(void **state) {
    (void)state;
    test_bytes file = read_upstream_trace();
    fid_etdump dump;
    if (open_dump(&file, &dump) != FID_OK) fail_msg("%s", message.text);
    assert_int_equal(dump.runs.count, 2);
    fid_etdump_run run = fid_etdump_run_at(&dump, 1);
    assert_string_equal(run.name, "Execute");
    assert_int_equal(run.bundled_input, 4);
    assert_int_equal(run.events.count, 5);
    fid_etdump_event call = fid_etdump_event_at(&run, 0), allocation = fid_etdump_event_at(&run, 1), value = fid_etdump_event_at(&run, 2);
    assert_string_equal(call.profile.name, "native_call_add.out");
    assert_int_equal(call.profile.instruction, 3);
    assert_int_equal(allocation.kind, FID_ETDUMP_ALLOCATION);
    assert_int_equal(allocation.bytes, 4096);
    assert_int_equal(value.kind, FID_ETDUMP_DEBUG);
    assert_int_equal(fid_etdump_event_at(&run, 3).profile.delegate_id, 17);
    free(file.data);
}

/* ---- What is refused ---- */

static void test_a_trace_that_is_cut_off(void **state) {
    (void)state;
    test_bytes file = write_dump(blocks, 3), half = test_bytes_copy(file.data, file.size / 2);
    fid_etdump dump;
    assert_int_equal(open_dump(&half, &dump), FID_INVALID_PROGRAM);
    assert_says(message, "cut off");
    free(half.data);
    free(file.data);
}

static void test_another_file_is_named(void **state) {
    (void)state;
    test_bytes file = test_golden("sums");
    fid_etdump dump;
    assert_false(fid_etdump_recognize(fid_span_of(file.data, file.size)));
    assert_int_equal(open_dump(&file, &dump), FID_INVALID_PROGRAM);
    assert_says(message, "\"ED00\"");
    free(file.data);
}

static void test_an_event_ends_after_it_starts(void **state) {
    (void)state;
    fid_trace_event event = {.name = "late", .start = 10, .end = 9};
    test_bytes file = write_dump(&(fid_etdump_block){"Execute", &event, 1}, 1);
    fid_etdump dump;
    assert_int_equal(open_dump(&file, &dump), FID_INVALID_PROGRAM);
    assert_says(message, "ends before it starts");
    free(file.data);
}

/* Every byte changed in turn: a sentence or a trace that can be read, and sanitizers see any step beyond the file. */
static void test_damaged_traces(void **state) {
    (void)state;
    test_bytes file = read_upstream_trace();
    for (size_t i = 0; i < file.size; i++) {
        for (int bit = 0; bit < 8; bit += 7) {
            fid_etdump dump;
            file.data[i] ^= (uint8_t)(1 << bit);
            if (open_dump(&file, &dump) == FID_OK) {
                for (uint32_t r = 0; r < dump.runs.count; r++) {
                    fid_etdump_run run = fid_etdump_run_at(&dump, r);
                    for (uint32_t e = 0; e < run.events.count; e++) (void)fid_etdump_event_at(&run, e);
                }
            }
            file.data[i] ^= (uint8_t)(1 << bit);
        }
    }
    free(file.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),   cmocka_unit_test(test_a_trace_of_upstream),
        cmocka_unit_test(test_a_trace_that_is_cut_off),   cmocka_unit_test(test_another_file_is_named),
        cmocka_unit_test(test_an_event_ends_after_it_starts), cmocka_unit_test(test_damaged_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
