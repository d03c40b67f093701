/* Reading program files: headers of both lengths and none, sizes that lie, identifiers that do not fit. */
#include "runtime/testing.h"

#include "format/pte.h"

static fid_message message;

static fid_status read_header(const test_bytes *file, uint64_t size, fid_pte_header *out) {
    fid_sink sink = fid_message_sink(&message);
    size_t head = file->size < FID_PTE_HEAD_BYTES ? file->size : FID_PTE_HEAD_BYTES;
    return fid_pte_read_header(&sink, fid_span_of(file->data, head), size, out);
}

static void put_u64(test_bytes *file, size_t at, uint64_t value) { memcpy(file->data + at, &value, sizeof value); }

static void test_header_of_upstream(void **state) {
    (void)state;
    test_bytes file = test_golden("two_methods");
    fid_pte_header header;
    assert_int_equal(read_header(&file, file.size, &header), FID_OK);
    assert_true(header.program_size > 0 && header.program_size <= file.size);
    assert_int_equal(header.segment_base % 16, 0);
    assert_int_equal(header.segment_base + header.segment_size, file.size);
    free(file.data);
}

static void test_short_header_has_no_segment_size(void **state) {
    (void)state;
    test_bytes file = test_golden("two_methods");
    fid_pte_header header;
    uint32_t length = FID_PTE_HEADER_LENGTH_SHORT;
    memcpy(file.data + 12, &length, 4);
    assert_int_equal(read_header(&file, file.size, &header), FID_OK);
    assert_int_equal(header.segment_size, 0);
    fid_pte pte;
    fid_sink sink = fid_message_sink(&message);
    assert_int_equal(fid_pte_open(&sink, fid_span_of(file.data, (size_t)header.program_size), &header, file.size, &pte), FID_OK);
    assert_true(fid_pte_segment_count(&pte) > 0);
    length--;
    memcpy(file.data + 12, &length, 4);
    assert_int_equal(read_header(&file, file.size, &header), FID_INVALID_PROGRAM);
    assert_says(message, "has length 23");
    free(file.data);
}

static void test_without_extended_header_all_is_program(void **state) {
    (void)state;
    test_bytes file = test_golden("sums");
    fid_pte_header header;
    memcpy(file.data + 8, "\0\0\0\0", 4);
    assert_int_equal(read_header(&file, file.size, &header), FID_OK);
    assert_int_equal(header.program_size, file.size);
    assert_int_equal(header.segment_base, 0);
    free(file.data);
}

static void test_sizes_beyond_the_file(void **state) {
    (void)state;
    static const struct { size_t at; uint64_t value; } lies[] = {
        {16, UINT64_MAX}, {16, 1 << 20}, {24, UINT64_MAX}, {24, 1 << 20}, {32, UINT64_MAX}, {32, UINT64_MAX - 2000}, {16, 4}, {24, 8},
    };
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        test_bytes file = test_golden("two_methods");
        fid_pte_header header;
        put_u64(&file, lies[i].at, lies[i].value);
        assert_int_equal(read_header(&file, file.size, &header), FID_INVALID_PROGRAM);
        assert_true(message.text[0] != 0);
        free(file.data);
    }
}

static void test_cut_file_says_how_much_is_missing(void **state) {
    (void)state;
    test_bytes file = test_golden("two_methods");
    fid_pte_header header;
    char expected[100];
    assert_int_equal(read_header(&file, file.size - 100, &header), FID_INVALID_PROGRAM);
    snprintf(expected, sizeof expected, "speaks of %zu bytes, it has %zu", file.size, file.size - 100);
    assert_says(message, expected);
    free(file.data);
}

static void test_other_files_are_recognized(void **state) {
    (void)state;
    static const struct { const char *head, *guess; } files[] = {
        {"PK\3\4....", "archive"}, {"....FT01", ".ptd"}, {"....BP08", ".bpte"}, {"....ET99",
                "another format version"}, {"........", "no program"},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        test_bytes file = test_bytes_copy(files[i].head, 8);
        fid_pte_header header;
        assert_int_equal(read_header(&file, 8, &header), FID_INVALID_PROGRAM);
        assert_says(message, files[i].guess);
        assert_says(message, "\"ET12\"");
        free(file.data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header_of_upstream),
        cmocka_unit_test(test_short_header_has_no_segment_size),
        cmocka_unit_test(test_without_extended_header_all_is_program),
        cmocka_unit_test(test_sizes_beyond_the_file),
        cmocka_unit_test(test_cut_file_says_how_much_is_missing),
        cmocka_unit_test(test_other_files_are_recognized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
