/* The pickle machine on bytes as Python writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "compiler/archive/unpickle.h"
#include "fidibus.h"

static fid_message message;
static fid_sink sink;
static fidc_program *program;

static int set_up(void **state) {
    (void)state;
    message = (fid_message){0};
    sink = fid_message_sink(&message);
    return fidc_program_create(fid_environment_default(NULL).allocator, &sink, &fid_builtin_ops, &program);
}

static int tear_down(void **state) {
    (void)state;
    fidc_program_destroy(program);
    return 0;
}

/* Twelve bytes stand for every storage. */
static const uint8_t storage_bytes[12] = {0};
static fid_status find_storage(void *self, const char *key, fid_span *out_bytes, const char **out_name) {
    (void)self;
    *out_bytes = fid_span_of(storage_bytes, sizeof storage_bytes);
    *out_name = key;
    return FID_OK;
}

static fid_status load(const char *bytes, size_t size, fidc_pickle **out) {
    fidc_storages storages = {find_storage, NULL};
    return fidc_unpickle(program, &sink, "data.pkl", fid_span_of(bytes, size), &storages, out);
}
#define LOAD(bytes, out) load(bytes, sizeof bytes - 1, out)

static void plain_values(void **state) {
    (void)state;
    fidc_pickle *v = NULL;
    /* (None, True, -2, 300, 2**40, 0.5, "ab", b"\x00\xff") */
    assert_int_equal(LOAD("\x80\x02(N\x88J\xfe\xff\xff\xffM\x2c\x01\x8a\x06\x00\x00\x00\x00\x00\x01"
                          "G\x3f\xe0\x00\x00\x00\x00\x00\x00X\x02\x00\x00\x00" "abC\x02\x00\xfft.", &v), FID_OK);
    assert_int_equal(v->kind, FIDC_PICKLE_TUPLE);
    assert_int_equal(v->as.list.count, 8);
    fidc_pickle **items = v->as.list.items;
    assert_int_equal(items[0]->kind, FIDC_PICKLE_NONE);
    assert_int_equal(items[1]->as.integer, 1);
    assert_int_equal(items[2]->as.integer, -2);
    assert_int_equal(items[3]->as.integer, 300);
    assert_int_equal(items[4]->as.integer, (int64_t)1 << 40);
    assert_true(items[5]->as.number == 0.5);
    assert_string_equal(items[6]->as.text.bytes, "ab");
    assert_int_equal(items[7]->as.text.size, 2);
}

static void containers_and_memo(void **state) {
    (void)state;
    fidc_pickle *v = NULL;
    /* {"a": x, "b": [x, x]} with one x = "t" */
    assert_int_equal(LOAD("\x80\x02}q\x00(X\x01\x00\x00\x00" "aX\x01\x00\x00\x00tq\x01X\x01\x00\x00\x00" "b](h\x01h\x01" "eu.", &v), FID_OK);
    const fidc_pickle *a = fidc_pickle_get(v, "a"), *b = fidc_pickle_get(v, "b");
    assert_string_equal(a->as.text.bytes, "t");
    assert_int_equal(b->as.list.count, 2);
    assert_ptr_equal(b->as.list.items[1], a);
    assert_null(fidc_pickle_get(v, "c"));
}

#define REBUILD "\x80\x02" "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x00" "7X\x03\x00\x00\x00" "cpuK\x03tQ"

static void a_tensor_has_a_storage_and_strides(void **state) {
    (void)state;
    fidc_pickle *v = NULL;
    /* offset 1, sizes (2,), strides (1,) */
    assert_int_equal(LOAD(REBUILD "K\x01K\x02\x85K\x01\x85\x89)tR.", &v), FID_OK);
    assert_int_equal(v->kind, FIDC_PICKLE_TENSOR);
    const fidc_strided *t = v->as.tensor;
    assert_int_equal(t->dtype, FID_FLOAT32);
    assert_int_equal(t->offset, 1);
    assert_int_equal(t->rank, 1);
    assert_int_equal(t->sizes[0], 2);
    assert_string_equal(t->storage_name, "7");
    assert_int_equal(t->storage.size, 12);
}

static void nothing_is_executed(void **state) {
    (void)state;
    fidc_pickle *v = NULL;
    assert_int_equal(LOAD("\x80\x02" "cposix\nsystem\nX\x05\x00\x00\x00" "touch\x85R.", &v), FID_NOT_SUPPORTED);
    assert_non_null(strstr(message.text, "'posix system'"));
}

static void broken_pickles_are_refused(void **state) {
    (void)state;
    fidc_pickle *v = NULL;
    assert_int_equal(LOAD("", &v), FID_INVALID_PROGRAM);
    assert_int_equal(LOAD("\x80\x02.", &v), FID_INVALID_PROGRAM);       /* nothing on the stack */
    assert_int_equal(LOAD("\x80\x02(K\x01" "e.", &v), FID_INVALID_PROGRAM); /* items without a list */
    assert_int_equal(LOAD("\x80\x02h\x05.", &v), FID_INVALID_PROGRAM);  /* never remembered */
    assert_int_equal(LOAD("\x80\x02Nr\xff\xff\xff\x7f.", &v), FID_INVALID_PROGRAM); /* a huge memo number */
    assert_int_equal(LOAD("\x80\x02X\xff\xff\xff\xff" "ab.", &v), FID_INVALID_PROGRAM); /* a text longer than the file */
    assert_int_equal(LOAD("\x80\x02\x8a\x09" "123456789.", &v), FID_INVALID_PROGRAM);   /* an integer of nine bytes */
    assert_int_equal(LOAD(REBUILD "J\xff\xff\xff\xffK\x02\x85K\x01\x85\x89)tR.", &v), FID_INVALID_PROGRAM); /* offset -1 */
    assert_int_equal(LOAD(REBUILD "K\x00K\x02\x85)\x89)tR.", &v), FID_INVALID_PROGRAM); /* sizes without strides */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plain_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(containers_and_memo, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_tensor_has_a_storage_and_strides, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_executed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(broken_pickles_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
