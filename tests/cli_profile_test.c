/* Traces and profiles through the command: a run leaves a trace, a profile tells what it says. */
#define _GNU_SOURCE
#include "tests/cli.h"

#include <jansson.h>

static int enter(void **state) {
    (void)state;
    if (cli_enter("cli_profile") != 0) return -1;
    cli_write_npy("x.npy", FID_FLOAT32, (const int64_t[]){1, 3}, 2, (const float[]){1, 2, 3});
    cli_ok("compile %slinear.pt2 -o linear.pte", CLI_ARCHIVES);
    cli_ok("run linear.pte --input x.npy --next --input x.npy --next --input x.npy --trace t.etdp");
    return 0;
}

static json_t *profile_of(const char *words) {
    cli_ok("profile %s --json", words);
    json_error_t error;
    json_t *json = json_loads(cli_out, 0, &error);
    if (!json) fail_msg("no JSON: %s in:\n%s", error.text, cli_out);
    return json;
}

static void expect_text(const json_t *object, const char *key, const char *text) {
    const char *found = json_string_value(json_object_get(object, key));
    if (!found) fail_msg("no text \"%s\"", key);
    assert_string_equal(found, text);
}

/* y = x W^T + b with W of [2, 3]: 2 * 2 * 3 operations; the line is the model's own. */
static void expect_linear(const json_t *profile) {
    const json_t *call = json_array_get(json_object_get(profile, "calls"), 0);
    assert_int_equal(json_array_size(json_object_get(profile, "calls")), 1);
    expect_text(call, "operator", "fid::linear.out");
    expect_text(call, "module", "layer");
    expect_text(call, "source_file", "model.py");
    expect_text(call, "code", "return self.layer(x)");
    assert_int_equal(json_number_value(json_object_get(call, "flops")), 12);
    assert_true(json_number_value(json_object_get(call, "ms")) > 0);
    assert_true(strstr(json_string_value(json_object_get(call, "shapes")), "-> float32[1, 2]") != NULL);
}

static void test_a_trace_and_its_program(void **state) {
    (void)state;
    json_t *profile = profile_of("t.etdp --pte linear.pte --no-roof");
    assert_int_equal(json_integer_value(json_object_get(profile, "runs")), 2); /* the first of three is left out */
    assert_true(json_number_value(json_object_get(profile, "load_ms")) > 0);
    assert_true(json_number_value(json_object_get(profile, "run_ms")) >= json_number_value(json_object_get(profile, "instructions_ms")));
    expect_linear(profile);
    json_decref(profile);
}

static void test_a_program_alone_is_run_and_traced(void **state) {
    (void)state;
    json_t *profile = profile_of("linear.pte --seconds 0.01 --threads 2 --trace kept.etdp --html page.html");
    expect_linear(profile);
    assert_true(json_number_value(json_object_get(json_object_get(profile, "roof"), "flops_per_s")) > 1e6);
    json_decref(profile);
    cli_ok("inspect kept.etdp");
    cli_expect_phrase(cli_out, "Execute: 3 events");
    size_t size;
    char *page = cli_read("page.html", &size);
    assert_non_null(strstr(page, "<code>return self.layer(x)</code>"));
    assert_non_null(strstr(page, "fid::linear.out"));
    assert_null(strstr(page, "http")); /* nothing comes from elsewhere */
    free(page);
}

static void test_a_trace_alone_tells_operators(void **state) {
    (void)state;
    cli_ok("profile t.etdp");
    cli_expect_phrase(cli_out, "fid::linear.out");
    cli_expect_phrase(cli_out, "2 runs");
}

static void test_a_program_without_the_table_runs_the_same(void **state) {
    (void)state;
    cli_ok("compile %slinear.pt2 -o bare.pte --no-debug", CLI_ARCHIVES);
    json_t *profile = profile_of("bare.pte --seconds 0.01 --no-roof");
    expect_text(json_array_get(json_object_get(profile, "calls"), 0), "module", "");
    json_decref(profile);
}

static void test_a_trace_of_upstream(void **state) {
    (void)state;
    json_t *profile = profile_of(FID_SOURCE_DIR "/tests/golden/measured.etdp --pte " FID_SOURCE_DIR "/tests/golden/sums.pte --method twice --no-roof");
    const json_t *calls = json_object_get(profile, "calls");
    assert_int_equal(json_array_size(calls), 2);
    expect_text(json_array_get(calls, 1), "operator", "aten::add.out");
    assert_int_equal(json_number_value(json_object_get(json_array_get(calls, 1), "bytes")), 24); /* three vectors of two floats */
    json_decref(profile);
}

static void test_what_is_no_trace_is_said(void **state) {
    (void)state;
    assert_int_equal(cli("profile x.npy"), 1);
    cli_expect_phrase(cli_err, "neither a trace (.etdp) nor a program");
    assert_int_equal(cli("profile t.etdp --pte linear.pte --method backward"), 1);
    cli_expect_phrase(cli_err, "no method \"backward\"");
    assert_int_equal(cli("profile absent.etdp"), 1);
    cli_expect_phrase(cli_err, "absent.etdp");
    assert_int_equal(cli("profile"), 2);
    assert_int_equal(cli("run linear.pte --input x.npy --trace /absent/t.etdp"), 1);
    cli_expect_phrase(cli_err, "/absent/t.etdp");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_trace_and_its_program), cmocka_unit_test(test_a_program_alone_is_run_and_traced),
        cmocka_unit_test(test_a_trace_alone_tells_operators), cmocka_unit_test(test_a_program_without_the_table_runs_the_same),
        cmocka_unit_test(test_a_trace_of_upstream), cmocka_unit_test(test_what_is_no_trace_is_said),
    };
    return cmocka_run_group_tests(tests, enter, NULL);
}
