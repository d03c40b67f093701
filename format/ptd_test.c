/* Data files: upstream's are read, ours are read back, damaged ones end in a sentence. */
#include "runtime/testing.h"

#include "format/ptd.h"
#include "format/ptd_write.h"

static fid_message message;

static test_bytes read_upstream_data(void) { return test_golden_file("outside.ptd"); }

static fid_status open_data(const test_bytes *file, fid_ptd *out) {
    fid_sink sink = fid_message_sink(&message);
    message.text[0] = 0;
    return fid_ptd_open(&sink, fid_span_of(file->data, file->size), out);
}

/* Entry of a key; fails without. */
static fid_named_data entry_of(const fid_ptd *ptd, const char *key) {
    for (size_t i = 0; i < fid_ptd_count(ptd); i++) {
        fid_named_data entry = fid_ptd_at(ptd, i);
        if (strcmp(entry.key, key) == 0) return entry;
    }
    fail_msg("no entry \"%s\"", key);
    return (fid_named_data){0};
}

/* scale = [1 2 3], shift = [10 20 30], table = [[1 0 -1] [2 2 2]] of int64: tests/golden/make_data.py. */
static void test_a_file_of_upstream(void **state) {
    (void)state;
    test_bytes file = read_upstream_data();
    fid_ptd ptd;
    assert_int_equal(open_data(&file, &ptd), FID_OK);
    assert_int_equal(fid_ptd_count(&ptd), 3);
    fid_named_data shift = entry_of(&ptd, "shift"), table = entry_of(&ptd, "table");
    assert_true(shift.is_tensor);
    assert_int_equal(shift.dtype, FID_FLOAT32);
    assert_int_equal(shift.rank, 1);
    assert_memory_equal(shift.bytes.data, ((float[]){10, 20, 30}), 12);
    assert_int_equal(table.dtype, FID_INT64);
    assert_int_equal(table.sizes[1], 3);
    assert_int_equal(table.dim_order[1], 1);
    assert_memory_equal(table.bytes.data, ((int64_t[]){1, 0, -1, 2, 2, 2}), 48);
    free(file.data);
}

/* ---- Writing ---- */

static const float numbers[6] = {1, 2, 3, 4, 5, 6}, other_numbers[1];
static const int32_t sizes[] = {3, 2}, turned_sizes[] = {2, 3}, no_elements[] = {0};
static const uint8_t row_major[] = {0, 1}, turned[] = {1, 0};

/* A weight, the same bytes seen turned, bytes without layout, and an empty tensor. */
static const fid_named_data entries[] = {
    {.key = "layer.weight", .bytes = {(const uint8_t *)numbers, 24}, .is_tensor = true, .dtype = FID_FLOAT32, .rank = 2, .sizes = sizes, .dim_order = row_major},
    {.key = "layer.turned", .bytes = {(const uint8_t *)numbers, 24}, .is_tensor = true, .dtype = FID_FLOAT32, .rank = 2, .sizes = turned_sizes, .dim_order = turned},
    {.key = "blob", .bytes = {(const uint8_t *)"folded", 6}},
    {.key = "none", .bytes = {(const uint8_t *)other_numbers, 0}, .is_tensor = true, .dtype = FID_INT8, .rank = 1, .sizes = no_elements, .dim_order = row_major},
};

static test_bytes write_data(const fid_named_data *list, size_t count) {
    static test_text text;
    text.size = 0;
    fid_environment environment = fid_environment_default(&message);
    const fid_pte_sink destination = {test_collect, &text};
    uint64_t size;
    assert_int_equal(fid_ptd_write(environment.allocator, &environment.sink, list, count, &destination, &size), FID_OK);
    assert_int_equal(size, text.size);
    return test_bytes_copy(text.bytes, text.size);
}

static void test_what_is_written_is_read(void **state) {
    (void)state;
    test_bytes file = write_data(entries, 4);
    fid_ptd ptd;
    assert_int_equal(open_data(&file, &ptd), FID_OK);
    assert_int_equal(fid_ptd_count(&ptd), 4);
    for (size_t i = 0; i < 4; i++) {
        fid_named_data read = entry_of(&ptd, entries[i].key);
        assert_int_equal(read.bytes.size, entries[i].bytes.size);
        assert_memory_equal(read.bytes.data, entries[i].bytes.data, read.bytes.size);
        assert_int_equal((read.bytes.data - file.data) % 128, 0);
        assert_int_equal(read.is_tensor, entries[i].is_tensor);
        assert_int_equal(read.rank, entries[i].rank);
        if (read.rank) assert_memory_equal(read.sizes, entries[i].sizes, read.rank * sizeof(int32_t));
        if (read.rank) assert_memory_equal(read.dim_order, entries[i].dim_order, read.rank);
    }
    assert_ptr_equal(entry_of(&ptd, "layer.weight").bytes.data, entry_of(&ptd, "layer.turned").bytes.data); /* stored once */
    free(file.data);
}

static void test_an_empty_file(void **state) {
    (void)state;
    test_bytes file = write_data(NULL, 0);
    fid_ptd ptd;
    assert_int_equal(open_data(&file, &ptd), FID_OK);
    assert_int_equal(fid_ptd_count(&ptd), 0);
    free(file.data);
}

static void test_equal_entries_give_equal_bytes(void **state) {
    (void)state;
    test_bytes one = write_data(entries, 4), other = write_data(entries, 4);
    assert_int_equal(one.size, other.size);
    assert_memory_equal(one.data, other.data, one.size);
    free(one.data);
    free(other.data);
}

static void test_a_key_twice_is_refused(void **state) {
    (void)state;
    const fid_named_data twice[] = {entries[0], entries[2], entries[0]};
    fid_environment environment = fid_environment_default(&message);
    test_text text = {.size = 0};
    const fid_pte_sink destination = {test_collect, &text};
    assert_int_equal(fid_ptd_write(environment.allocator, &environment.sink, twice, 3, &destination, NULL), FID_INVALID_ARGUMENT);
    assert_says(message, "layer.weight");
    assert_int_equal(text.size, 0);
}

/* ---- Damage ---- */

typedef struct damage {
    size_t at; /* byte */
    uint32_t value;
    const char *says;
} damage;

static void test_damaged_headers(void **state) {
    (void)state;
    static const damage all[] = {
        {4, 0x32315445, "it is a program"},            /* "ET12" */
        {4, 0x32305446, "expected the identifier"},    /* "FT02" */
        {8, 0x32304846, "expected the header"},        /* "FH02" */
        {12, 0x27, "the header has length 39"},
        {16, 0x7fffffff, "cut short"},                 /* where the tables begin */
        {24, 0x7fffffff, "cut short"},                 /* how long they are */
        {32, 64, "inside the tables"},                 /* where the segments begin */
        {40, 0x7fffffff, "cut short"},
        {0, 0xfffffff0, "tables are damaged"},         /* the root: upstream reads out of bounds here */
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        test_bytes file = write_data(entries, 4);
        fid_ptd ptd;
        memcpy(file.data + all[i].at, &all[i].value, 4);
        assert_int_equal(open_data(&file, &ptd), FID_INVALID_EXTERNAL_DATA);
        assert_says(message, all[i].says);
        free(file.data);
    }
}

static void test_entries_that_cannot_be(void **state) {
    (void)state;
    const struct { fid_named_data entry; const char *says; } all[] = {
        {{.key = "a", .bytes = {(const uint8_t *)numbers, 24}, .is_tensor = true, .dtype = FID_FLOAT32, .rank = 1, .sizes = (const int32_t[]){7}, .dim_order = row_major},
         "tensor \"a\" has another number of bytes"},
        {{.key = "b", .bytes = {(const uint8_t *)numbers, 24}, .is_tensor = true, .dtype = 99, .rank = 1, .sizes = sizes, .dim_order = row_major},
         "tensor \"b\" has an unknown dtype"},
        {{.key = "c", .bytes = {(const uint8_t *)numbers, 24}, .is_tensor = true, .dtype = FID_FLOAT32, .rank = 2, .sizes = sizes, .dim_order = (const uint8_t[]){1, 1}},
         "tensor \"c\" has a dim order"},
        {{.key = "d", .bytes = {(const uint8_t *)numbers, 24}, .is_tensor = true, .dtype = FID_FLOAT32, .rank = 2, .sizes = (const int32_t[]){-3, -2}, .dim_order = row_major},
         "tensor \"d\" has impossible sizes"},
        {{.key = "e", .bytes = {(const uint8_t *)numbers, 0}, .is_tensor = true, .dtype = FID_FLOAT32, .rank = 3, .sizes = (const int32_t[]){INT32_MAX, INT32_MAX, INT32_MAX}, .dim_order = (const uint8_t[]){0, 1, 2}},
         "tensor \"e\" has impossible sizes"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        test_bytes file = write_data(&all[i].entry, 1);
        fid_ptd ptd;
        assert_int_equal(open_data(&file, &ptd), FID_INVALID_EXTERNAL_DATA);
        assert_says(message, all[i].says);
        free(file.data);
    }
}

/* Every file that is cut short is refused; bytes behind the last segment are nobody's business. */
static void test_cut_short(void **state) {
    (void)state;
    test_bytes file = write_data(entries, 4);
    fid_ptd ptd;
    for (size_t size = 0; size < file.size; size++) {
        test_bytes part = test_bytes_copy(file.data, size);
        assert_int_equal(open_data(&part, &ptd), FID_INVALID_EXTERNAL_DATA);
        free(part.data);
    }
    free(file.data);
}

/* Any single byte may be wrong: the file is refused, or what is read of it lies inside. Sanitizers watch. */
static void test_any_byte_wrong(void **state) {
    (void)state;
    test_bytes file = write_data(entries, 4);
    size_t accepted = 0;
    volatile uint8_t seen = 0;
    for (size_t at = 0; at < file.size; at++) {
        test_bytes wrong = test_bytes_copy(file.data, file.size);
        fid_ptd ptd;
        wrong.data[at] ^= 0x81;
        if (open_data(&wrong, &ptd) == FID_OK) {
            accepted++;
            for (size_t i = 0; i < fid_ptd_count(&ptd); i++) {
                fid_named_data entry = fid_ptd_at(&ptd, i);
                for (size_t b = 0; b < entry.bytes.size; b++) seen ^= entry.bytes.data[b];
            }
        }
        free(wrong.data);
    }
    assert_true(accepted > 0 && accepted < file.size); /* numbers may change, structure may not */
    free(file.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_of_upstream),
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_an_empty_file),
        cmocka_unit_test(test_equal_entries_give_equal_bytes),
        cmocka_unit_test(test_a_key_twice_is_refused),
        cmocka_unit_test(test_damaged_headers),
        cmocka_unit_test(test_entries_that_cannot_be),
        cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_any_byte_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
