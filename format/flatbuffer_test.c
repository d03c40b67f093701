/* The verifier against buffers made by hand: each is sound but for one thing. */
#include "format/flatbuffer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* table Item { number: ulong; text: string; bytes: [ubyte]; next: Leaf; items: [Leaf]; kind: byte; any: union { Leaf } } */
static const fid_fb_field leaf_fields[] = {{FID_FB_SCALAR, 4, NULL}};
static const fid_fb_type leaf = {"Leaf", leaf_fields, 1};
static const fid_fb_type *const members[] = {&leaf};
static const fid_fb_union any = {members, 1};
static const fid_fb_field item_fields[] = {
    {FID_FB_SCALAR, 8, NULL}, {FID_FB_STRING, 0, NULL}, {FID_FB_VECTOR, 1, NULL}, {FID_FB_TABLE, 0, &leaf},
    {FID_FB_TABLES, 0, &leaf}, {FID_FB_SCALAR, 1, NULL}, {FID_FB_UNION, 0, &any},
};
static const fid_fb_type item = {"Item", item_fields, 7};

/* Places in the buffer, by hand. */
enum { VTABLE = 8, ROOT = 28, NUMBER = 32, TEXT = 40, BYTES = 44, NEXT = 48, ITEMS = 52, ANY = 56, KIND = 60,
       TEXT_AT = 64, BYTES_AT = 72, ITEMS_AT = 80, LEAF_VTABLE = 92, LEAF = 100, SIZE = 112 };

typedef struct buffer {
    _Alignas(16) uint8_t bytes[SIZE];
} buffer;

static void put_u16(buffer *b, size_t at, uint16_t value) { memcpy(b->bytes + at, &value, 2); }
static void put_u32(buffer *b, size_t at, uint32_t value) { memcpy(b->bytes + at, &value, 4); }

static buffer sound(void) {
    buffer b = {{0}};
    put_u32(&b, 0, ROOT);
    static const uint16_t slots[] = {18, 36, NUMBER - ROOT, TEXT - ROOT, BYTES - ROOT, NEXT - ROOT, ITEMS - ROOT, KIND - ROOT,
                                     ANY - ROOT};
    for (size_t i = 0; i < 9; i++) put_u16(&b, VTABLE + 2 * i, slots[i]);
    put_u32(&b, ROOT, ROOT - VTABLE);
    put_u32(&b, NUMBER, 77);
    put_u32(&b, TEXT, TEXT_AT - TEXT);
    put_u32(&b, BYTES, BYTES_AT - BYTES);
    put_u32(&b, NEXT, LEAF - NEXT);
    put_u32(&b, ITEMS, ITEMS_AT - ITEMS);
    put_u32(&b, ANY, LEAF - ANY);
    b.bytes[KIND] = 1;
    put_u32(&b, TEXT_AT, 2);
    memcpy(b.bytes + TEXT_AT + 4, "hi", 3);
    put_u32(&b, BYTES_AT, 4);
    put_u32(&b, ITEMS_AT, 2);
    put_u32(&b, ITEMS_AT + 4, LEAF - (ITEMS_AT + 4));
    put_u32(&b, ITEMS_AT + 8, LEAF - (ITEMS_AT + 8));
    put_u16(&b, LEAF_VTABLE, 6);
    put_u16(&b, LEAF_VTABLE + 2, 8);
    put_u16(&b, LEAF_VTABLE + 4, 4);
    put_u32(&b, LEAF, LEAF - LEAF_VTABLE);
    put_u32(&b, LEAF + 4, 5);
    return b;
}

static fid_message message;

static fid_status verify(const buffer *b, size_t size, fid_fb_ref *out_root) {
    fid_sink sink = fid_message_sink(&message);
    return fid_fb_verify(&sink, fid_span_of(b->bytes, size), &item, out_root);
}

static void test_sound_buffer_reads_back(void **state) {
    (void)state;
    buffer b = sound();
    fid_fb_ref root;
    if (verify(&b, SIZE, &root) != FID_OK) fail_msg("%s", message.text);
    assert_int_equal(fid_fb_get_u64(root, 0, 0), 77);
    assert_string_equal(fid_fb_get_string(root, 1), "hi");
    assert_int_equal(fid_fb_get_vector(root, 2).count, 4);
    assert_int_equal(fid_fb_get_u32(fid_fb_get_table(root, 3), 0, 0), 5);
    fid_fb_vector items = fid_fb_get_vector(root, 4);
    assert_int_equal(items.count, 2);
    assert_int_equal(fid_fb_get_u32(fid_fb_table_at(items, 1), 0, 0), 5);
    assert_int_equal(fid_fb_get_u32(fid_fb_get_table(root, 6), 0, 0), 5);
}

static void test_absent_fields_have_defaults(void **state) {
    (void)state;
    buffer b = sound();
    fid_fb_ref root, none = {NULL};
    for (size_t i = 0; i < 7; i++) put_u16(&b, VTABLE + 4 + 2 * i, 0);
    assert_int_equal(verify(&b, SIZE, &root), FID_OK);
    assert_int_equal(fid_fb_get_u64(root, 0, 9), 9);
    assert_null(fid_fb_get_string(root, 1));
    assert_int_equal(fid_fb_get_vector(root, 4).count, 0);
    assert_null(fid_fb_get_table(root, 3).at);
    assert_int_equal(fid_fb_get_u32(fid_fb_get_table(root, 3), 0, 4), 4); /* absent all the way down */
    assert_int_equal(fid_fb_get_u8(root, 100, 3), 3);
    assert_null(fid_fb_find(none, 0));
}

static void test_each_fault_is_found_and_named(void **state) {
    (void)state;
    static const struct { size_t at; uint32_t value; const char *table; } faults[] = {
        {0, SIZE, "Item"}, {0, 0xfffffff0, "Item"}, {0, ROOT + 2, "Item"},                      /* root */
        {ROOT, 0x7fffffff, "Item"}, {ROOT, 0x80000000, "Item"}, {ROOT, 21, "Item"},             /* vtable */
        {VTABLE, 18 | 2000u << 16, "Item"}, {VTABLE, 3 | 36u << 16, "Item"}, {VTABLE, 2000 | 36u << 16, "Item"},
        {VTABLE + 4, 40 | (uint32_t)(TEXT - ROOT) << 16, "Item"},                               /* number beyond its table */
        {VTABLE + 4, 6 | (uint32_t)(TEXT - ROOT) << 16, "Item"},                                /* number misaligned */
        {TEXT, 0x10000, "Item"}, {TEXT_AT, 0xffffffff, "Item"}, {TEXT_AT, 4,
                                                                 "Item"},           /* text; the last: no closing zero */
        {BYTES_AT, SIZE, "Item"}, {ITEMS_AT, 0x40000000, "Item"}, {ITEMS_AT + 4, SIZE, "Item"},
        {NEXT, 2, "Item"}, {ANY, SIZE, "Item"}, {LEAF, 0x10000, "Leaf"}, {LEAF_VTABLE, 6 | 100u << 16, "Leaf"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        buffer b = sound();
        fid_fb_ref root;
        put_u32(&b, faults[i].at, faults[i].value);
        if (faults[i].at == TEXT_AT && faults[i].value == 4) memcpy(b.bytes + TEXT_AT + 4, "hello", 5);
        if (verify(&b, SIZE, &root) != FID_INVALID_PROGRAM) fail_msg("fault %zu was not found", i);
        if (!strstr(message.text, faults[i].table)) fail_msg("fault %zu: %s", i, message.text);
    }
}

static void test_every_shorter_buffer_is_refused(void **state) {
    (void)state;
    buffer b = sound();
    fid_fb_ref root;
    for (size_t size = 0; size < LEAF + 8; size++) assert_int_equal(verify(&b, size, &root), FID_INVALID_PROGRAM);
    assert_int_equal(verify(&b, LEAF + 8, &root), FID_OK);
}

static void test_unknown_union_member_is_left_alone(void **state) {
    (void)state;
    buffer b = sound();
    fid_fb_ref root;
    b.bytes[KIND] = 2;
    put_u32(&b, ANY, 0xffffff);
    assert_int_equal(verify(&b, SIZE, &root), FID_OK);
}

/* One vector of many references to one table of many ...: the walk must end soon. */
static void test_shared_tables_do_not_multiply_the_work(void **state) {
    (void)state;
    enum { COUNT = 60 };
    static _Alignas(16) uint8_t bytes[4096];
    fid_fb_field fields[5];
    fid_fb_type chain[5];
    for (int i = 0; i < 5; i++) {
        fields[i] = (fid_fb_field){FID_FB_TABLES, 0, i < 4 ? &chain[i + 1] : NULL};
        chain[i] = (fid_fb_type){"Level", &fields[i], i < 4};
    }
    /* Every level: vtable at 16, table at level * 300 + 32, its vector behind it, all items the next level's table. */
    uint32_t first = 32;
    memcpy(bytes, &first, 4);
    memcpy(bytes + 16, (uint16_t[]){6, 8, 4}, 6);
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t at = 32 + i * 300, to_vtable = at - 16, to_vector = 4, count = COUNT;
        memcpy(bytes + at, &to_vtable, 4);
        memcpy(bytes + at + 4, &to_vector, 4);
        memcpy(bytes + at + 8, &count, 4);
        for (uint32_t k = 0; k < COUNT; k++) {
            uint32_t place = at + 12 + 4 * k, offset = at + 300 - place;
            memcpy(bytes + place, &offset, 4);
        }
    }
    fid_sink sink = fid_message_sink(&message);
    fid_fb_ref root;
    assert_int_equal(fid_fb_verify(&sink, fid_span_of(bytes, sizeof bytes), &chain[0], &root), FID_INVALID_PROGRAM);
    assert_non_null(strstr(message.text, "shared so often"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound_buffer_reads_back),
        cmocka_unit_test(test_absent_fields_have_defaults),
        cmocka_unit_test(test_each_fault_is_found_and_named),
        cmocka_unit_test(test_every_shorter_buffer_is_refused),
        cmocka_unit_test(test_unknown_union_member_is_left_alone),
        cmocka_unit_test(test_shared_tables_do_not_multiply_the_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
