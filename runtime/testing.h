/* What the runtime's tests share: golden programs in aligned memory, programs written on the spot, allocators that fail. */
#ifndef FID_RUNTIME_TESTING_H
#define FID_RUNTIME_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "format/pte_write.h"
#include "include/fidibus.h"

/* A file's bytes, in memory of exactly its size (so that sanitizers see every step beyond it), aligned to 16. */
typedef struct test_bytes {
    uint8_t *data;
    size_t size;
} test_bytes;

static inline test_bytes test_bytes_copy(const void *data, size_t size) {
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, 64, size ? size : 1), 0);
    if (size) memcpy(memory, data, size);
    return (test_bytes){memory, size};
}

/* tests/golden/NAME, of any format. */
static inline test_bytes test_golden_file(const char *name) {
    char path[1000];
    static uint8_t buffer[65536];
    snprintf(path, sizeof path, "%s/tests/golden/%s", FID_SOURCE_DIR, name);
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("cannot open %s", path);
    size_t size = fread(buffer, 1, sizeof buffer, file);
    fclose(file);
    return test_bytes_copy(buffer, size);
}

/* tests/golden/NAME.pte. */
static inline test_bytes test_golden(const char *name) {
    char file[200];
    snprintf(file, sizeof file, "%s.pte", name);
    return test_golden_file(file);
}

typedef struct test_text {
    uint8_t bytes[65536];
    size_t size;
} test_text;

static inline fid_status test_collect(void *self, const void *data, size_t size) {
    test_text *text = self;
    assert_true(text->size + size <= sizeof text->bytes);
    memcpy(text->bytes + text->size, data, size);
    text->size += size;
    return FID_OK;
}

/* Writes a program to memory. */
static inline test_bytes test_write(const fid_environment *environment, const fid_pte_out_program *program) {
    static test_text text;
    text.size = 0;
    fid_pte_sink sink = {test_collect, &text};
    assert_int_equal(fid_pte_write(environment->allocator, &environment->sink, program, &sink, NULL), FID_OK);
    return test_bytes_copy(text.bytes, text.size);
}

/* malloc that refuses allocation number `fail_at`, and any that is huge, and counts what is held. */
typedef struct test_allocator {
    size_t count, fail_at; /* fail_at 0: never */
    size_t held;
} test_allocator;

#define TEST_HUGE ((size_t)1 << 28)

static inline void *test_resize(void *self, void *memory, size_t old_size, size_t new_size) {
    test_allocator *allocator = self;
    void *grown = NULL;
    if (new_size == 0) {
        free(memory);
        allocator->held -= old_size;
        return NULL;
    }
    if (++allocator->count == allocator->fail_at || new_size > TEST_HUGE || posix_memalign(&grown, 64, new_size) != 0) return NULL;
    memset(grown, 0xa5, new_size < 4096 ? new_size : 4096);
    if (memory) {
        memcpy(grown, memory, old_size < new_size ? old_size : new_size);
        free(memory);
        allocator->held -= old_size;
    }
    allocator->held += new_size;
    return grown;
}

/* Asserts that a sentence names what it must. */
#define assert_says(message, part)                                                                                     \
    do {                                                                                                               \
        if (!strstr((message).text, part)) fail_msg("\"%s\" does not say \"%s\"", (message).text, part);               \
    } while (0)

#endif
