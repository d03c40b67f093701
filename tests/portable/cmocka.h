/* The words of cmocka that the tests use, for machines that have no cmocka: cross-compiled targets, WebAssembly.
 *
 * A failed assertion leaves its test by longjmp. Where there is no setjmp (FID_TESTS_WITHOUT_JUMPS), it ends the program after
 * telling what failed; the tests after it do not run then, and the exit status says so either way. */
#ifndef FID_TESTS_PORTABLE_CMOCKA_H
#define FID_TESTS_PORTABLE_CMOCKA_H

#ifndef FID_TESTS_WITHOUT_JUMPS
#include <setjmp.h>
#endif
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*test_func)(void **state);
    int (*setup_func)(void **state);
    int (*teardown_func)(void **state);
    void *initial_state;
};

#define cmocka_unit_test(f) {#f, f, NULL, NULL, NULL}
#define cmocka_unit_test_setup(f, before) {#f, f, before, NULL, NULL}
#define cmocka_unit_test_teardown(f, after) {#f, f, NULL, after, NULL}
#define cmocka_unit_test_setup_teardown(f, before, after) {#f, f, before, after, NULL}

enum { CMOCKA_PASSED, CMOCKA_FAILED, CMOCKA_SKIPPED };

#define CMOCKA_UNUSED static inline __attribute__((unused))

/* Outcome of one step: a fixture, or the test itself if there is none. */
CMOCKA_UNUSED int cmocka_step(const struct CMUnitTest *test, int (*fixture)(void **), void **state) {
    if (fixture) return fixture(state) ? CMOCKA_FAILED : CMOCKA_PASSED;
    test->test_func(state);
    return CMOCKA_PASSED;
}

#ifdef FID_TESTS_WITHOUT_JUMPS
CMOCKA_UNUSED void cmocka_leave(int outcome) { exit(outcome == CMOCKA_SKIPPED ? 0 : 1); }
CMOCKA_UNUSED int cmocka_guard(const struct CMUnitTest *test, int (*fixture)(void **), void **state) {
    return cmocka_step(test, fixture, state);
}
#else
CMOCKA_UNUSED jmp_buf *cmocka_exit(void) {
    static jmp_buf buffer;
    return &buffer;
}
CMOCKA_UNUSED void cmocka_leave(int outcome) { longjmp(*cmocka_exit(), outcome); }
CMOCKA_UNUSED int cmocka_guard(const struct CMUnitTest *test, int (*fixture)(void **), void **state) {
    switch (setjmp(*cmocka_exit())) {
    case CMOCKA_PASSED: return cmocka_step(test, fixture, state);
    case CMOCKA_SKIPPED: return CMOCKA_SKIPPED;
    default: return CMOCKA_FAILED;
    }
}
#endif

CMOCKA_UNUSED int cmocka_run_test(const struct CMUnitTest *test) {
    void *state = test->initial_state;
    printf("[ RUN      ] %s\n", test->name);
    int outcome = test->setup_func ? cmocka_guard(test, test->setup_func, &state) : CMOCKA_PASSED;
    if (outcome == CMOCKA_PASSED) outcome = cmocka_guard(test, NULL, &state);
    if (test->teardown_func && cmocka_guard(test, test->teardown_func, &state) != CMOCKA_PASSED) outcome = CMOCKA_FAILED;
    printf("[ %s ] %s\n", outcome == CMOCKA_PASSED ? "      OK" : outcome == CMOCKA_SKIPPED ? " SKIPPED" : "  FAILED", test->name);
    return outcome == CMOCKA_FAILED;
}

/* The name that cmocka's own macro expands to, for tests that make their list at run time. */
CMOCKA_UNUSED int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count, int (*before)(void **),
                                          int (*after)(void **)) {
    const struct CMUnitTest group = {name, NULL, NULL, NULL, NULL};
    void *state = NULL;
    int failed = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (before && cmocka_guard(&group, before, &state) != CMOCKA_PASSED) return 1;
    for (size_t i = 0; i < count; i++) failed += cmocka_run_test(&tests[i]);
    if (after && cmocka_guard(&group, after, &state) != CMOCKA_PASSED) failed++;
    printf("%zu tests, %d failed\n", count, failed);
    return failed;
}
#define cmocka_run_group_tests(tests, before, after)                                      \
    _cmocka_run_group_tests(#tests, tests, sizeof(tests) / sizeof(tests)[0], before, after)

#define print_message(...) printf(__VA_ARGS__)
#define print_error(...) printf(__VA_ARGS__)
#define skip() cmocka_leave(CMOCKA_SKIPPED)

__attribute__((format(printf, 3, 4))) CMOCKA_UNUSED void cmocka_fail(const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("%s:%d: ", file, line);
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    cmocka_leave(CMOCKA_FAILED);
}
#define fail_msg(...) cmocka_fail(__FILE__, __LINE__, __VA_ARGS__)
#define fail() fail_msg("failed")

#define cmocka_expect(holds, text) ((holds) ? (void)0 : cmocka_fail(__FILE__, __LINE__, "%s", text))
#define assert_true(c) cmocka_expect(!!(c), #c)
#define assert_false(c) cmocka_expect(!(c), "not " #c)
#define assert_null(p) cmocka_expect((p) == NULL, #p " is NULL")
#define assert_non_null(p) cmocka_expect((p) != NULL, #p " is not NULL")

CMOCKA_UNUSED void cmocka_ints(const char *file, int line, const char *text, uint64_t a, uint64_t b, int equal) {
    if ((a == b) != equal) cmocka_fail(file, line, "%s: 0x%llx, 0x%llx", text, (unsigned long long)a, (unsigned long long)b);
}
#define assert_int_equal(a, b) cmocka_ints(__FILE__, __LINE__, #a " == " #b, (uint64_t)(a), (uint64_t)(b), 1)
#define assert_int_not_equal(a, b) cmocka_ints(__FILE__, __LINE__, #a " != " #b, (uint64_t)(a), (uint64_t)(b), 0)
#define assert_ptr_equal(a, b) cmocka_expect((const void *)(a) == (const void *)(b), #a " == " #b)
#define assert_ptr_not_equal(a, b) cmocka_expect((const void *)(a) != (const void *)(b), #a " != " #b)
#define assert_in_range(x, low, high) cmocka_expect((uint64_t)(x) >= (uint64_t)(low) && (uint64_t)(x) <= (uint64_t)(high), #x " in range")

CMOCKA_UNUSED void cmocka_floats(const char *file, int line, const char *text, double a, double b, double tolerance) {
    double off = a < b ? b - a : a - b;
    if (!(off <= tolerance)) cmocka_fail(file, line, "%s: %.9g, %.9g", text, a, b);
}
#define assert_float_equal(a, b, tolerance) cmocka_floats(__FILE__, __LINE__, #a " == " #b, a, b, tolerance)

CMOCKA_UNUSED void cmocka_strings(const char *file, int line, const char *a, const char *b, int equal) {
    if ((strcmp(a, b) == 0) != equal) cmocka_fail(file, line, "\"%s\" %s \"%s\"", a, equal ? "is not" : "is", b);
}
#define assert_string_equal(a, b) cmocka_strings(__FILE__, __LINE__, a, b, 1)
#define assert_string_not_equal(a, b) cmocka_strings(__FILE__, __LINE__, a, b, 0)

CMOCKA_UNUSED void cmocka_bytes(const char *file, int line, const void *a, const void *b, size_t size, int equal) {
    const unsigned char *x = a, *y = b;
    size_t i = 0;
    while (i < size && x[i] == y[i]) i++;
    if ((i == size) == equal) return;
    if (equal) cmocka_fail(file, line, "byte %zu of %zu differs: 0x%02x, 0x%02x", i, size, x[i], y[i]);
    else cmocka_fail(file, line, "%zu bytes are the same", size);
}
#define assert_memory_equal(a, b, size) cmocka_bytes(__FILE__, __LINE__, a, b, size, 1)
#define assert_memory_not_equal(a, b, size) cmocka_bytes(__FILE__, __LINE__, a, b, size, 0)

#endif
