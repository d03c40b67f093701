/* Delegates whose blobs are damaged: each ends in a named error or in a run that stays inside its memory. What sound ones compute is
 * tested by tests/golden. */
#include "backends/xnnpack/run/xnn_testing.h"
#include "runtime/testing.h"

static fid_message message;
static _Alignas(64) uint8_t named[65536];

/* The blob of a golden program, in memory of exactly its size. */
static test_bytes blob_of(const char *name) {
    test_bytes file = test_golden(name);
    for (size_t i = 0; i + 8 < file.size; i += 16) {
        if (memcmp(file.data + i, "\0\0\0\0XH00", 8) != 0) continue;
        uint32_t at, size;
        memcpy(&at, file.data + i + FID_XNN_HEADER_GRAPH_OFFSET, 4);
        memcpy(&size, file.data + i + FID_XNN_HEADER_GRAPH_SIZE, 4);
        test_bytes blob = test_bytes_copy(file.data + i, (at + size + 15) / 16 * 16);
        free(file.data);
        return blob;
    }
    fail_msg("%s has no delegate", name);
    return file;
}

static fid_status open_and_run(test_bytes blob, size_t size) {
    test_allocator memory = {0};
    fid_sink sink = fid_message_sink(&message);
    xnn_test t;
    test_bytes cut = test_bytes_copy(blob.data, size);
    message.text[0] = 0;
    fid_status status = xnn_test_open(&t, (fid_allocator){test_resize, &memory}, &sink, fid_span_of(cut.data, size), fid_span_of(named, sizeof named));
    if (status == FID_OK) status = xnn_test_run(&t, &sink);
    else assert_true(message.text[0] != 0); /* every refusal says why */
    xnn_test_close(&t);
    assert_int_equal(memory.held, 0);
    free(cut.data);
    return status;
}

static const char *const names[] = {"xnnpack_image", "xnnpack_vectors", "xnnpack_int8", "xnnpack_dynamic_int8"};
#define NAME_COUNT (sizeof names / sizeof *names)

static void sound_blobs_run(void **state) {
    (void)state;
    for (size_t i = 0; i < NAME_COUNT; i++) {
        test_bytes blob = blob_of(names[i]);
        if (open_and_run(blob, blob.size) != FID_OK) fail_msg("%s: %s", names[i], message.text);
        free(blob.data);
    }
}

static void a_cut_blob_is_refused(void **state) {
    (void)state;
    test_bytes blob = blob_of("xnnpack_image");
    for (size_t size = 0; size < blob.size - 16; size++) {
        if (open_and_run(blob, size) == FID_OK) fail_msg("cut to %zu of %zu bytes it runs", size, blob.size);
    }
    free(blob.data);
}

/* Every byte of every blob, changed in one of three ways. */
static void a_changed_byte_does_no_harm(void **state) {
    (void)state;
    static const uint8_t changes[] = {0x01, 0x80, 0xff};
    size_t refused = 0;
    for (size_t n = 0; n < NAME_COUNT; n++) {
        test_bytes blob = blob_of(names[n]);
        for (size_t i = 0; i < blob.size; i++) {
            uint8_t change = changes[i % sizeof changes];
            blob.data[i] ^= change;
            refused += open_and_run(blob, blob.size) != FID_OK;
            blob.data[i] ^= change;
        }
        free(blob.data);
    }
    assert_true(refused > 1000);
}

static void refusals_say_what_is_wrong(void **state) {
    (void)state;
    test_bytes blob = blob_of("xnnpack_vectors");
    blob.data[32 + 4] = 'Z';
    assert_int_equal(open_and_run(blob, blob.size), FID_DELEGATE_INCOMPATIBLE);
    assert_says(message, "identifier \"XN01\"");
    blob.data[32 + 4] = 'X';
    blob.data[FID_XNN_HEADER_GRAPH_SIZE + 2] = 0xff;
    assert_int_equal(open_and_run(blob, blob.size), FID_INVALID_PROGRAM);
    assert_says(message, "points outside");
    free(blob.data);
}

/* Memory that runs short at any allocation gives an error, and everything is given back. */
static void short_memory_is_an_error(void **state) {
    (void)state;
    fid_sink sink = fid_message_sink(&message);
    test_bytes blob = blob_of("xnnpack_image");
    for (size_t fail_at = 1;; fail_at++) {
        test_allocator memory = {.fail_at = fail_at};
        xnn_test t;
        fid_status status = xnn_test_open(&t, (fid_allocator){test_resize, &memory}, &sink, fid_span_of(blob.data, blob.size), fid_span_of(named, sizeof named));
        if (status == FID_OK) status = xnn_test_run(&t, &sink);
        xnn_test_close(&t);
        assert_int_equal(memory.held, 0);
        if (memory.count < fail_at) {
            assert_int_equal(status, FID_OK);
            break;
        }
    }
    free(blob.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_blobs_run), cmocka_unit_test(a_cut_blob_is_refused), cmocka_unit_test(a_changed_byte_does_no_harm),
        cmocka_unit_test(refusals_say_what_is_wrong), cmocka_unit_test(short_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
