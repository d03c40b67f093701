/* For tests of passes: programs from text, passes over them, text or numbers out. Included by one test program each. */
#ifndef FIDC_PASS_CHECK_H
#define FIDC_PASS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/ir/interpret.h"
#include "compiler/passes/rewrite.h"
#include "include/fidibus.h"

typedef struct pass_check {
    fid_message message;
    fid_sink sink;
    fidc_program *program;
} pass_check;

static inline void pass_open(pass_check *c, const char *text) {
    c->sink = fid_message_sink(&c->message);
    assert_int_equal(fidc_program_create(fid_environment_default(NULL).allocator, &c->sink, &fid_builtin_ops, &c->program), FID_OK);
    if (fidc_parse(c->program, text, strlen(text)) != FID_OK) fail_msg("%s\n%s", c->message.text, text);
    if (fidc_verify(c->program) != FID_OK) fail_msg("%s\n%s", c->message.text, text);
}

static inline void pass_close(pass_check *c) { fidc_program_destroy(c->program); }

/* The program must verify and print as `wanted`. */
static inline void pass_expect(pass_check *c, const char *wanted) {
    char *printed;
    if (fidc_verify(c->program) != FID_OK) fail_msg("%s", c->message.text);
    assert_int_equal(fidc_print(c->program, &printed), FID_OK);
    assert_string_equal(printed, wanted);
}

static inline void pass_ok(pass_check *c, fid_status status) {
    if (status != FID_OK) fail_msg("%s: %s", fid_status_text(status), c->message.text);
}

/* A tensor with storage, for inputs. */
typedef struct pass_tensor {
    fid_tensor tensor;
    int64_t sizes[FID_MAX_RANK], strides[FID_MAX_RANK];
    uint8_t dim_order[FID_MAX_RANK];
    _Alignas(64) uint8_t data[1 << 16];
} pass_tensor;

static inline void pass_store(fid_dtype dtype, void *at, double number) {
    if (dtype == FID_FLOAT32) *(float *)at = (float)number;
    else if (dtype == FID_FLOAT64) *(double *)at = number;
    else if (dtype == FID_INT64) *(int64_t *)at = (int64_t)number;
    else if (dtype == FID_INT32) *(int32_t *)at = (int32_t)number;
    else *(uint8_t *)at = (uint8_t)number;
}

static inline double pass_load(const fid_tensor *t, const void *data, size_t i) {
    if (t->dtype == FID_FLOAT32) return ((const float *)data)[i];
    if (t->dtype == FID_FLOAT64) return ((const double *)data)[i];
    if (t->dtype == FID_INT64) return (double)((const int64_t *)data)[i];
    if (t->dtype == FID_INT32) return ((const int32_t *)data)[i];
    return ((const uint8_t *)data)[i];
}

/* Shape of a graph's input at its hints; floats in [-2, 2], integers in [0, 4), bools; a fixed sequence. */
static inline fid_value pass_input(const fidc_value *value, pass_tensor *storage, uint32_t *seed) {
    fid_tensor *t = &storage->tensor;
    *t = (fid_tensor){.data = storage->data, .sizes = storage->sizes, .strides = storage->strides, .dim_order = storage->dim_order,
                      .rank = value->rank, .dtype = value->dtype, .capacity = sizeof storage->data, .dynamism = FID_DYNAMIC_UNBOUND};
    for (uint8_t d = 0; d < t->rank; d++) {
        t->sizes[d] = fidc_expr_at(value->sizes[d], FIDC_AT_HINT);
        t->dim_order[d] = d;
    }
    fid_tensor_update_strides(t);
    assert_true(fid_tensor_bytes(t) <= sizeof storage->data);
    for (size_t i = 0; i < fid_tensor_numel(t); i++) {
        *seed = *seed * 1664525u + 1013904223u;
        double unit = (double)(*seed >> 8) / (double)(1u << 24);
        double number = fid_dtype_is_float((fid_dtype)t->dtype) ? unit * 4 - 2 : t->dtype == FID_BOOL ? unit > 0.4 : (double)(int)(unit * 4);
        pass_store((fid_dtype)t->dtype, storage->data + i * fid_dtype_size((fid_dtype)t->dtype), number);
    }
    return fid_tensor_value(t);
}

#define PASS_MOST_INPUTS 16
#define PASS_MOST_NUMBERS (1 << 14)

/* Runs the first method on such inputs; all outputs' elements, one after another. Returns how many. */
static inline size_t pass_run(pass_check *c, double *out) {
    static pass_tensor storage[PASS_MOST_INPUTS];
    fid_value inputs[PASS_MOST_INPUTS];
    const fidc_graph *graph = c->program->methods[0];
    fidc_interpreter *interpreter;
    uint32_t seed = 7;
    size_t count = 0;
    for (uint32_t i = 0; i < graph->input_count; i++) inputs[i] = pass_input(graph->inputs[i], &storage[i], &seed);
    pass_ok(c, fidc_interpreter_create(graph, NULL, &interpreter));
    pass_ok(c, fidc_interpreter_run(interpreter, inputs, graph->input_count));
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const fid_value *value = fidc_interpreter_output(interpreter, i);
        if (value->tag != FID_TAG_TENSOR) continue;
        static uint8_t logical[PASS_MOST_NUMBERS * 8];
        assert_true(fid_tensor_bytes(value->as.tensor) <= sizeof logical);
        fidc_tensor_to_logical(value->as.tensor, logical);
        for (size_t k = 0; k < fid_tensor_numel(value->as.tensor); k++) {
            assert_true(count < PASS_MOST_NUMBERS);
            out[count++] = pass_load(value->as.tensor, logical, k);
        }
    }
    fidc_interpreter_destroy(interpreter);
    return count;
}

/* The numbers of a program as it is, or of its form for upstream's target after all passes that make it. */
static inline size_t pass_numbers(const char *text, bool portable, double *out) {
    pass_check c;
    pass_open(&c, text);
    if (portable) {
        pass_ok(&c, fidc_decompose(c.program, FIDC_TARGET_PORTABLE));
        pass_ok(&c, fidc_round_once(c.program));
        pass_ok(&c, fidc_fold(c.program));
        pass_ok(&c, fidc_verify(c.program));
        pass_ok(&c, fidc_check_supported(c.program, FIDC_TARGET_PORTABLE));
    }
    size_t count = pass_run(&c, out);
    pass_close(&c);
    return count;
}

#endif
