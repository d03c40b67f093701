/* The compiler as one call: its steps are told in order, and a failure leaves nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "compiler/pipeline.h"
#include "include/fidibus.h"

#define ARCHIVES FID_SOURCE_DIR "/tests/archives/"

typedef struct told { unsigned count, steps; char last[32]; } told;

static void listen(void *self, const char *step, unsigned done, unsigned steps) {
    told *t = self;
    assert_int_equal(done, t->count);
    assert_true(done < steps && (!t->steps || steps == t->steps));
    t->count++;
    t->steps = steps;
    snprintf(t->last, sizeof t->last, "%s", step);
}

static fid_status compile(const char *archive, fidc_target target, const char *output, told *out) {
    fid_environment environment = fid_environment_default(NULL);
    fidc_method_file method = {"forward", archive};
    fidc_options options = {.struct_size = sizeof options, .target = target, .progress = listen, .progress_self = out};
    fidc_report report;
    *out = (told){0};
    fid_status status = fidc_compile(environment.allocator, &environment.sink, &method, 1, &options, output, &report);
    fidc_report_deinit(environment.allocator, &report);
    return status;
}

static void every_step_is_told(void **state) {
    (void)state;
    static const fidc_target targets[] = {FIDC_TARGET_CPU, FIDC_TARGET_PORTABLE};
    for (size_t i = 0; i < 2; i++) {
        told t;
        assert_int_equal(compile(ARCHIVES "linear.pt2", targets[i], "pipeline_test.pte", &t), FID_OK);
        assert_int_equal(t.count, t.steps);
        assert_string_equal(t.last, "write");
        assert_int_equal(unlink("pipeline_test.pte"), 0);
    }
}

static void a_failure_ends_in_its_step_and_leaves_no_file(void **state) {
    (void)state;
    told t;
    assert_int_equal(compile(ARCHIVES "short_weight.pt2", FIDC_TARGET_CPU, "pipeline_test.pte", &t), FID_INVALID_PROGRAM);
    assert_int_equal(t.count, 1);
    assert_string_equal(t.last, "read");
    assert_int_not_equal(access("pipeline_test.pte", F_OK), 0);
    assert_int_equal(compile(ARCHIVES "unknown_operators.pt2", FIDC_TARGET_CPU, "pipeline_test.pte", &t), FID_OPERATOR_MISSING);
    assert_true(t.count > 1 && t.count < t.steps);
    assert_int_not_equal(access("pipeline_test.pte", F_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_is_told),
        cmocka_unit_test(a_failure_ends_in_its_step_and_leaves_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
