/* Zip archives made by hand: where members lie, Zip64, and claims that are not true. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "compiler/archive/zip_file.h"
#include "fidibus.h"

/* One member "a" in a stored zip. Fields are what the directory claims. */
typedef struct claim {
    uint16_t method, flags;
    uint32_t crc, stored, size;
    bool zip64; /* sizes, place and end record as Zip64 writes them */
} claim;

static const char content[] = "fidibus!";
#define CONTENT_CRC 0xe1a1884bu

typedef struct bytes { uint8_t at[400]; size_t size; } bytes;

static void put(bytes *b, uint64_t number, size_t size) {
    for (size_t i = 0; i < size; i++, number = i < 8 ? number >> 8 : 0) b->at[b->size++] = (uint8_t)number;
}

static void put_text(bytes *b, const char *text, size_t size) {
    memcpy(b->at + b->size, text, size);
    b->size += size;
}

static void put_shared(bytes *b, const claim *c) {
    put(b, 45, 2);
    put(b, c->flags, 2);
    put(b, c->method, 2);
    put(b, 0, 4);
    put(b, c->crc, 4);
    put(b, c->zip64 ? UINT32_MAX : c->stored, 4);
    put(b, c->zip64 ? UINT32_MAX : c->size, 4);
    put(b, 1, 2);
}

static void put_zip64_end(bytes *b, size_t directory) {
    size_t end64 = b->size;
    put(b, 0x06064b50, 4);
    put(b, 44, 8);
    put(b, 45, 2);
    put(b, 45, 2);
    put(b, 0, 8);
    put(b, 1, 8);
    put(b, 1, 8);
    put(b, end64 - directory, 8);
    put(b, directory, 8);
    put(b, 0x07064b50, 4);
    put(b, 0, 4);
    put(b, end64, 8);
    put(b, 1, 4);
}

static bytes make_zip(const claim *c) {
    bytes b = {.size = 0};
    put(&b, 0x04034b50, 4);
    put_shared(&b, c);
    put(&b, c->zip64 ? 20 : 0, 2);
    put_text(&b, "a", 1);
    if (c->zip64) {
        put(&b, 1, 2);
        put(&b, 16, 2);
        put(&b, c->size, 8);
        put(&b, c->stored, 8);
    }
    put_text(&b, content, 8);
    size_t directory = b.size;
    put(&b, 0x02014b50, 4);
    put(&b, 45, 2);
    put_shared(&b, c);
    put(&b, c->zip64 ? 28 : 0, 2);
    put(&b, 0, 2 + 2 + 2 + 4);
    put(&b, c->zip64 ? UINT32_MAX : 0, 4);
    put_text(&b, "a", 1);
    if (c->zip64) {
        put(&b, 1, 2);
        put(&b, 24, 2);
        put(&b, c->size, 8);
        put(&b, c->stored, 8);
        put(&b, 0, 8);
        put_zip64_end(&b, directory);
    }
    size_t end = b.size;
    put(&b, 0x06054b50, 4);
    put(&b, 0, 4);
    put(&b, c->zip64 ? UINT16_MAX : 1, 2);
    put(&b, c->zip64 ? UINT16_MAX : 1, 2);
    put(&b, end - directory, 4);
    put(&b, c->zip64 ? UINT32_MAX : directory, 4);
    put(&b, 0, 2);
    return b;
}

static fid_message message;
static fid_sink sink;

static fid_status read_member(const bytes *b, fidc_zip **out_zip, fid_span *out_span) {
    message = (fid_message){0};
    sink = fid_message_sink(&message);
    *out_zip = NULL;
    fid_status status = fidc_zip_open_memory(fid_environment_default(NULL).allocator, &sink, "t.pt2", fid_span_of(b->at, b->size), out_zip);
    return status == FID_OK ? fidc_zip_read(*out_zip, "a", out_span) : status;
}

static void check_read(const claim *c) {
    bytes b = make_zip(c);
    fidc_zip *zip;
    fid_span span = {0};
    if (read_member(&b, &zip, &span) != FID_OK) fail_msg("%s", message.text);
    assert_int_equal(span.size, 8);
    assert_memory_equal(span.data, content, 8);
    assert_true(span.data > b.at && span.data < b.at + b.size); /* not a copy */
    fidc_zip_close(zip);
}

static void a_stored_member_is_used_where_it_lies(void **state) {
    (void)state;
    check_read(&(claim){.crc = CONTENT_CRC, .stored = 8, .size = 8});
    check_read(&(claim){.crc = CONTENT_CRC, .stored = 8, .size = 8, .zip64 = true});
}

static void check_refused(const claim *c, fid_status status, const char *sentence) {
    bytes b = make_zip(c);
    fidc_zip *zip;
    fid_span span;
    assert_int_equal(read_member(&b, &zip, &span), status);
    if (!strstr(message.text, sentence)) fail_msg("'%s' is not in '%s'", sentence, message.text);
    assert_non_null(strstr(message.text, "t.pt2"));
    fidc_zip_close(zip);
}

static void untrue_claims_are_refused(void **state) {
    (void)state;
    check_refused(&(claim){.crc = 1, .stored = 8, .size = 8}, FID_INVALID_PROGRAM, "member 'a' is damaged");
    check_refused(&(claim){.crc = CONTENT_CRC, .stored = 8, .size = 80}, FID_INVALID_PROGRAM, "declares 80 bytes but holds 8");
    check_refused(&(claim){.crc = CONTENT_CRC, .stored = 8000, .size = 8000}, FID_INVALID_PROGRAM, "directory is broken at member 1 of 1");
    check_refused(&(claim){.method = 8, .stored = 8, .size = 1u << 30}, FID_INVALID_PROGRAM, "cannot hold");
    check_refused(&(claim){.method = 8, .stored = 8, .size = 100}, FID_INVALID_PROGRAM, "cannot be inflated"); /* no deflate data */
    check_refused(&(claim){.method = 12, .stored = 8, .size = 8}, FID_NOT_SUPPORTED, "compressed by method 12");
    check_refused(&(claim){.flags = 1, .stored = 8, .size = 8}, FID_NOT_SUPPORTED, "encrypted");
}

static void a_missing_member_is_named(void **state) {
    (void)state;
    bytes b = make_zip(&(claim){.crc = CONTENT_CRC, .stored = 8, .size = 8});
    fidc_zip *zip;
    fid_span span;
    assert_int_equal(read_member(&b, &zip, &span), FID_OK);
    assert_int_equal(fidc_zip_read(zip, "b", &span), FID_NOT_FOUND);
    assert_string_equal(message.text, "t.pt2: has no member 'b'");
    fidc_zip_close(zip);
}

static void a_cut_archive_is_refused(void **state) {
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        bytes b = make_zip(&(claim){.crc = CONTENT_CRC, .stored = 8, .size = 8, .zip64 = wide});
        while (b.size-- > 0) {
            fidc_zip *zip;
            fid_span span;
            assert_int_not_equal(read_member(&b, &zip, &span), FID_OK);
            fidc_zip_close(zip);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stored_member_is_used_where_it_lies),
        cmocka_unit_test(untrue_claims_are_refused),
        cmocka_unit_test(a_missing_member_is_named),
        cmocka_unit_test(a_cut_archive_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
