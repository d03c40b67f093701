/* .npy files: what NumPy writes is read, what is written is what NumPy reads, and damage is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/npy.h"

/* A file with the given dictionary, padded as NumPy pads. */
static fid_span make_file(uint8_t *buffer, int version, const char *dictionary, const void *data, size_t size) {
    size_t head = version == 1 ? 10 : 12, length = strlen(dictionary), padded = (head + length + 1 + 63) / 64 * 64 - head;
    memcpy(buffer, "\x93NUMPY", 6);
    buffer[6] = (uint8_t)version;
    buffer[7] = 0;
    for (size_t i = 0; i < head - 8; i++) buffer[8 + i] = (uint8_t)(padded >> (8 * i));
    memset(buffer + head, ' ', padded);
    memcpy(buffer + head, dictionary, length);
    buffer[head + padded - 1] = '\n';
    memcpy(buffer + head + padded, data, size);
    return fid_span_of(buffer, head + padded + size);
}

static void versions_1_to_3_are_read(void **state) {
    (void)state;
    const float data[6] = {0, 1, 2, 3, 4, 5};
    uint8_t buffer[512];
    fid_npy npy;
    for (int version = 1; version <= 3; version++) {
        fid_span file = make_file(buffer, version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", data, sizeof data);
        assert_int_equal(fid_npy_parse(NULL, "a.npy", file, &npy), FID_OK);
        assert_int_equal(npy.dtype, FID_FLOAT32);
        assert_int_equal(npy.rank, 2);
        assert_int_equal(npy.sizes[0], 2);
        assert_int_equal(npy.sizes[1], 3);
        assert_memory_equal(npy.data.data, data, sizeof data);
    }
}

static void fortran_order_becomes_row_major(void **state) {
    (void)state;
    const int16_t columns[6] = {1, 4, 2, 5, 3, 6}, expected[6] = {1, 2, 3, 4, 5, 6};
    uint8_t buffer[512];
    int16_t rows[6];
    fid_npy npy;
    fid_span file = make_file(buffer, 1, "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }", columns, sizeof columns);
    assert_int_equal(fid_npy_parse(NULL, "a.npy", file, &npy), FID_OK);
    fid_npy_copy_row_major(&npy, rows);
    assert_memory_equal(rows, expected, sizeof expected);
}

static void scalars_vectors_and_empty_arrays(void **state) {
    (void)state;
    uint8_t buffer[512];
    const int64_t number = 7;
    fid_npy npy;
    fid_span file = make_file(buffer, 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (), }", &number, 8);
    assert_int_equal(fid_npy_parse(NULL, "a.npy", file, &npy), FID_OK);
    assert_int_equal(npy.rank, 0);
    file = make_file(buffer, 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (8,), }", &number, 8);
    assert_int_equal(fid_npy_parse(NULL, "a.npy", file, &npy), FID_OK);
    assert_int_equal(npy.dtype, FID_BOOL);
    file = make_file(buffer, 1, "{'shape': (0, 5), 'fortran_order': True, 'descr': '<c8'}", &number, 0);
    assert_int_equal(fid_npy_parse(NULL, "a.npy", file, &npy), FID_OK);
    assert_int_equal(npy.data.size, 0);
}

static void bfloat16_is_read_from_two_byte_words(void **state) {
    (void)state;
    uint8_t buffer[512];
    const uint16_t word = 0x3f80;
    fid_npy npy;
    assert_int_equal(fid_npy_parse(NULL, "a.npy", make_file(buffer, 1, "{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }", &word, 2), &npy), FID_OK);
    assert_true(fid_npy_dtype_fits(npy.dtype, FID_BFLOAT16));
    assert_int_equal(fid_npy_parse(NULL, "a.npy", make_file(buffer, 1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }", &word, 2), &npy), FID_OK);
    assert_true(fid_npy_dtype_fits(npy.dtype, FID_BFLOAT16));
    assert_false(fid_npy_dtype_fits(FID_FLOAT16, FID_BFLOAT16));
}

static void what_cannot_be_read_is_refused_with_its_reason(void **state) {
    (void)state;
    static const struct { const char *dictionary, *reason; fid_status status; } cases[] = {
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "big-endian", FID_NOT_SUPPORTED},
        {"{'descr': '<U5', 'fortran_order': False, 'shape': (1,), }", "'<U5'", FID_NOT_SUPPORTED},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "structured", FID_NOT_SUPPORTED},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "needs 12", FID_INVALID_EXTERNAL_DATA},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9), }", "overflow", FID_INVALID_EXTERNAL_DATA},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "sizes", FID_INVALID_EXTERNAL_DATA},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), }", "dimensions", FID_NOT_SUPPORTED},
        {"{'descr': '<f4', 'fortran_order': False, }", "lacks", FID_INVALID_EXTERNAL_DATA},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }", "neither", FID_INVALID_EXTERNAL_DATA},
        {"{'descr': '<f4", "string", FID_INVALID_EXTERNAL_DATA},
    };
    uint8_t buffer[512];
    const float one = 1;
    fid_npy npy;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fid_message message = {0};
        fid_sink sink = fid_message_sink(&message);
        assert_int_equal(fid_npy_parse(&sink, "a.npy", make_file(buffer, 1, cases[i].dictionary, &one, 4), &npy), cases[i].status);
        assert_non_null(strstr(message.text, cases[i].reason));
        assert_non_null(strstr(message.text, "a.npy"));
    }
}

static void every_cut_of_a_file_is_refused(void **state) {
    (void)state;
    uint8_t buffer[512];
    const double data[2] = {1, 2};
    fid_npy npy;
    fid_span file = make_file(buffer, 2, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", data, sizeof data);
    for (size_t size = 0; size < file.size; size++) {
        uint8_t *exact = malloc(size + 1);
        memcpy(exact, buffer, size);
        assert_int_equal(fid_npy_parse(NULL, "a.npy", fid_span_of(exact, size), &npy), FID_INVALID_EXTERNAL_DATA);
        free(exact);
    }
}

static void what_is_written_reads_back(void **state) {
    (void)state;
    static const fid_dtype dtypes[] = {
#define LIST(NAME, ...) FID_##NAME,
        FID_DTYPE_MAP(LIST)
#undef LIST
    };
    const int64_t sizes[FID_MAX_RANK] = {1, 1, 2, 1};
    uint8_t file[FID_NPY_MAX_HEADER + 64] = {0};
    size_t size;
    fid_npy npy;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        for (size_t rank = 0; rank <= 4; rank++) {
            assert_int_equal(fid_npy_write_header(NULL, dtypes[i], sizes, rank, file, &size), FID_OK);
            assert_int_equal(size % 64, 0);
            assert_int_equal(fid_npy_parse(NULL, "a.npy", fid_span_of(file, size + 32), &npy), FID_OK);
            assert_true(fid_npy_dtype_fits(npy.dtype, dtypes[i]));
            assert_int_equal(npy.rank, rank);
            assert_memory_equal(npy.sizes, sizes, rank * sizeof *sizes);
        }
    }
    assert_int_equal(fid_npy_write_header(NULL, FID_FLOAT32, sizes, 1, file, &size), FID_OK);
    assert_memory_equal(file + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", 57);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_1_to_3_are_read),
        cmocka_unit_test(fortran_order_becomes_row_major),
        cmocka_unit_test(scalars_vectors_and_empty_arrays),
        cmocka_unit_test(bfloat16_is_read_from_two_byte_words),
        cmocka_unit_test(what_cannot_be_read_is_refused_with_its_reason),
        cmocka_unit_test(every_cut_of_a_file_is_refused),
        cmocka_unit_test(what_is_written_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
