/* Runs the programs that upstream's exporter wrote (make_golden.py) and compares with what PyTorch computed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "include/fidibus.h"

#define MAX_NUMBERS 256

/* One line of a .txt: "input float32 2x3 1.0 2.0 ..." or "input int - 3". */
typedef struct line {
    char kind[16], type[16];
    int64_t sizes[FID_MAX_RANK];
    size_t rank, count;
    bool plain; /* a number or text, no tensor */
    double numbers[MAX_NUMBERS];
    char text[64];
} line;

static void parse_shape(const char *text, line *out) {
    out->rank = 0;
    if (strcmp(text, "scalar") == 0) return;
    for (const char *at = text; at; at = strchr(at, 'x')) {
        if (*at == 'x') at++;
        out->sizes[out->rank++] = strtoll(at, NULL, 10);
    }
}

static bool parse_line(char *text, line *out) {
    char shape[64];
    int used = 0;
    text[strcspn(text, "\n")] = 0;
    if (sscanf(text, "%15s %15s %63s%n", out->kind, out->type, shape, &used) < 2) return false;
    if (used == 0) return true; /* "call METHOD" */
    snprintf(out->text, sizeof out->text, "%s", text + used + 1);
    out->plain = strcmp(shape, "-") == 0;
    if (!out->plain) parse_shape(shape, out);
    out->count = 0;
    char *at = text + used, *end;
    for (double number; out->count < MAX_NUMBERS && (number = strtod(at, &end),
                                                     end != at); at = end) out->numbers[out->count++] = number;
    return true;
}

static void store(fid_dtype dtype, void *data, size_t index, double number) {
    if (dtype == FID_FLOAT32) ((float *)data)[index] = (float)number;
    else if (dtype == FID_INT64) ((int64_t *)data)[index] = (int64_t)number;
    else fail_msg("the test reads no %s", fid_dtype_name(dtype));
}

static double load(const fid_tensor *tensor, size_t index) {
    if (tensor->dtype == FID_FLOAT32) return ((const float *)tensor->data)[index];
    return (double)((const int64_t *)tensor->data)[index];
}

static fid_status set_input(fid_method *method, size_t index, const line *given) {
    fid_dtype dtype = fid_dtype_from_name(given->type);
    int64_t data[MAX_NUMBERS];
    fid_input input = {.struct_size = sizeof input};
    if (!given->plain) {
        for (size_t i = 0; i < given->count; i++) store(dtype, data, i, given->numbers[i]);
        return fid_method_set_input_tensor(method, index, dtype, given->sizes, given->rank, data);
    }
    if (strcmp(given->type, "int") == 0) input.value = fid_int_value(strtoll(given->text, NULL, 10));
    else if (strcmp(given->type, "bool") == 0) input.value = fid_bool_value(strcmp(given->text, "True") == 0);
    else input.value = (fid_value){.tag = FID_TAG_STRING, .as.string = {given->text, strlen(given->text)}};
    return fid_method_set_input(method, index, &input);
}

static void compare(fid_method *method, size_t index, const line *expected) {
    const fid_value *value;
    assert_int_equal(fid_method_output(method, index, &value), FID_OK);
    assert_int_equal(value->tag, FID_TAG_TENSOR);
    const fid_tensor *tensor = value->as.tensor;
    assert_string_equal(fid_dtype_name((fid_dtype)tensor->dtype), expected->type);
    assert_int_equal(tensor->rank, expected->rank);
    for (size_t i = 0; i < tensor->rank; i++) assert_int_equal(tensor->sizes[i], expected->sizes[i]);
    assert_true(fid_tensor_is_contiguous(tensor));
    assert_int_equal(fid_tensor_numel(tensor), expected->count);
    for (size_t i = 0; i < expected->count; i++) {
        if (fabs(load(tensor, i) - expected->numbers[i]) > 1e-5) fail_msg("output %zu, element %zu: %g, expected %g", index, i,
                load(tensor, i), expected->numbers[i]);
    }
}

/* The methods of one program, loaded when first called and kept: state carries over from call to call. */
typedef struct runner {
    fid_program *program;
    fid_method *methods[4];
    const char *names[4];
    size_t count;
} runner;

static fid_method *method_of(runner *r, const char *name, const fid_message *message) {
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->names[i], name) == 0) return r->methods[i];
    }
    if (fid_method_load(r->program, name, NULL, &r->methods[r->count]) != FID_OK) fail_msg("%s", message->text);
    for (size_t i = 0; i < fid_program_method_count(r->program); i++) {
        if (strcmp(fid_program_method_name(r->program, i), name) == 0) r->names[r->count] = fid_program_method_name(r->program, i);
    }
    return r->methods[r->count++];
}

static void run_lines(runner *r, FILE *lines, const fid_message *message) {
    char text[16384];
    fid_method *method = NULL;
    size_t inputs = 0, outputs = 0, compared = 0;
    line now;
    while (fgets(text, sizeof text, lines) && parse_line(text, &now)) {
        if (strcmp(now.kind, "call") == 0) {
            method = method_of(r, now.type, message);
            inputs = outputs = 0;
        } else if (strcmp(now.kind, "input") == 0) {
            if (set_input(method, inputs++, &now) != FID_OK) fail_msg("%s", message->text);
        } else {
            if (outputs == 0 && fid_method_run(method) != FID_OK) fail_msg("%s", message->text);
            compare(method, outputs++, &now);
            compared++;
        }
    }
    assert_true(compared > 0);
}

static void run_golden(const char *name) {
    fid_message message;
    fid_environment environment = fid_environment_default(&message);
    runner r = {0};
    char path[1000];
    snprintf(path, sizeof path, "%s/tests/golden/%s.pte", FID_SOURCE_DIR, name);
    if (fid_program_open_file(&environment, path, &r.program) != FID_OK) fail_msg("%s", message.text);
    snprintf(path, sizeof path, "%s/tests/golden/%s.txt", FID_SOURCE_DIR, name);
    FILE *lines = fopen(path, "r");
    assert_non_null(lines);
    run_lines(&r, lines, &message);
    fclose(lines);
    fid_program_close(r.program); /* methods keep it alive */
    for (size_t i = 0; i < r.count; i++) fid_method_unload(r.methods[i]);
}

#if FID_BACKEND_XNNPACK
#define GOLDEN_XNNPACK(X) X(xnnpack_image) X(xnnpack_vectors) X(xnnpack_int8) X(xnnpack_dynamic_int8)
#else
#define GOLDEN_XNNPACK(X)
#endif
#define GOLDEN(X) X(two_methods) X(branch) X(mapped) X(accumulate) X(pieces) X(grow) X(through) \
    GOLDEN_XNNPACK(X)
#define GOLDEN_TEST(name)                                                                                              \
    static void test_##name(void **state) {                                                                            \
        (void)state;                                                                                                   \
        run_golden(#name);                                                                                             \
    }
GOLDEN(GOLDEN_TEST)

int main(void) {
#define GOLDEN_ENTRY(name) cmocka_unit_test(test_##name),
    const struct CMUnitTest tests[] = {GOLDEN(GOLDEN_ENTRY)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
