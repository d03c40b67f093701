/* The command from end to end: compile, run, bench, inspect, verify, ops, as a person or a script calls them. */
#define _GNU_SOURCE /* memmem */
#include "tests/cli.h"

#include <jansson.h>

static int enter(void **state) {
    (void)state;
    if (cli_enter("cli") != 0) return -1;
    cli_write_npy("x.npy", FID_FLOAT32, (const int64_t[]){1, 3}, 2, (const float[]){1, 2, 3});
    cli_write_npy("ticks.npy", FID_INT64, (const int64_t[]){2}, 1, (const int64_t[]){3, 4});
    cli_ok("compile %slinear.pt2 -o linear.pte", CLI_ARCHIVES);
    cli_ok("compile %scounter.pt2 -o counter.pte", CLI_ARCHIVES);
    return 0;
}

static json_t *parse_json(const char *text) {
    json_error_t error;
    json_t *json = json_loads(text, 0, &error);
    if (!json) fail_msg("no JSON: %s in:\n%s", error.text, text);
    return json;
}

static json_t *parse_json_file(const char *path) {
    size_t size;
    char *text = cli_read(path, &size);
    json_t *json = parse_json(text);
    free(text);
    return json;
}

static void expect_text(const json_t *object, const char *key, const char *text) {
    const char *found = json_string_value(json_object_get(object, key));
    if (!found) fail_msg("no text \"%s\"", key);
    assert_string_equal(found, text);
}

/* ---- compile and run ---- */

/* y = x W^T + b with W = [[0 1 2] [3 4 5]], b = [0.5 -0.5]. */
static const float linear_of_x[] = {8.5f, 25.5f};

static void test_compile_then_run(void **state) {
    (void)state;
    cli_ok("run linear.pte --input x.npy --output-dir out");
    cli_expect_phrase(cli_out, "output 0: float32[1, 2] 8.5 25.5");
    cli_expect_npy("out/output_0.npy", FID_FLOAT32, linear_of_x, sizeof linear_of_x);
}

static void test_every_way_to_run_gives_the_same(void **state) {
    (void)state;
    static const char *const ways[] = {"", "--threads 2", "--reference", "--method forward"};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        cli_ok("run linear.pte --input x.npy --output-dir way%zu %s", i, ways[i]);
        char path[40];
        snprintf(path, sizeof path, "way%zu/output_0.npy", i);
        cli_expect_npy(path, FID_FLOAT32, linear_of_x, sizeof linear_of_x);
    }
}

static void test_archives_of_other_layouts_give_the_same(void **state) {
    (void)state;
    static const char *const names[] = {"deflated", "legacy", "pickled_weight"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cli_ok("compile %s%s.pt2 -o same.pte", CLI_ARCHIVES, names[i]);
        cli_ok("run same.pte --input x.npy --output-dir same");
        cli_expect_npy("same/output_0.npy", FID_FLOAT32, linear_of_x, sizeof linear_of_x);
    }
}

static void test_state_carries_over_to_the_next_call(void **state) {
    (void)state;
    cli_ok("run counter.pte --input ticks.npy --next --input ticks.npy --next --input ticks.npy --output-dir calls");
    /* The buffer [0 0] grows by [1 2] with each call, and x = [3 4] is added. */
    static const int64_t expected[3][2] = {{4, 6}, {5, 8}, {6, 10}};
    for (int call = 0; call < 3; call++) {
        char path[40];
        snprintf(path, sizeof path, "calls/call_%d/output_0.npy", call);
        cli_expect_npy(path, FID_INT64, expected[call], sizeof expected[call]);
    }
    assert_false(cli_exists("calls/output_0.npy"));
}

/* Numbers that torch.export froze are still given, and held to. */
static void test_frozen_numbers_are_inputs(void **state) {
    (void)state;
    cli_ok("compile %sscalars.pt2 -o scalars.pte", CLI_ARCHIVES);
    cli_write_npy("pair.npy", FID_FLOAT32, (const int64_t[]){2}, 1, (const float[]){1, 2});
    cli_ok("run scalars.pte --input pair.npy --input 3 --input 0.5 --input True --input None --input text --output-dir frozen");
    cli_expect_npy("frozen/output_0.npy", FID_FLOAT32, (const float[]){3.5f, 6.5f}, 8);
    assert_int_equal(cli("run scalars.pte --input pair.npy --input 4 --input 0.5 --input True --input None --input text"), 1);
    cli_expect_phrase(cli_err, "input 1 was fixed to 3");
    assert_int_equal(cli("run scalars.pte --input pair.npy --input 3 --input 0.5 --input True --input None --input other"), 1);
    cli_expect_phrase(cli_err, "input 5 was fixed to \"text\"");
    cli_ok("verify %sscalars.pt2 scalars.pte", CLI_ARCHIVES);
}

static void test_two_methods_in_one_program(void **state) {
    (void)state;
    cli_ok("compile --method scale=%slinear.pt2 --method count=%scounter.pt2 -o two.pte", CLI_ARCHIVES, CLI_ARCHIVES);
    cli_ok("run two.pte --method scale --input x.npy --output-dir scale");
    cli_expect_npy("scale/output_0.npy", FID_FLOAT32, linear_of_x, sizeof linear_of_x);
    cli_ok("run two.pte --method count --input ticks.npy --output-dir count");
    cli_expect_npy("count/output_0.npy", FID_INT64, (const int64_t[]){4, 6}, 16);
}

static void test_equal_archives_give_equal_bytes(void **state) {
    (void)state;
    static const char *const names[] = {"linear", "counter", "dynamic", "shared", "in_place"};
    static const char *const targets[] = {"cpu", "portable"};
    for (size_t i = 0; i < 10; i++) {
        cli_ok("compile %s%s.pt2 --target %s -o one.pte", CLI_ARCHIVES, names[i / 2], targets[i % 2]);
        cli_ok("compile %s%s.pt2 --target %s -o other.pte", CLI_ARCHIVES, names[i / 2], targets[i % 2]);
        cli_expect_same_files("one.pte", "other.pte");
    }
}

#ifdef FID_BACKEND_XNNPACK
static void test_the_report_counts_delegates(void **state) {
    (void)state;
    cli_ok("compile %slinear.pt2 --target xnnpack -o parts.pte --report parts.json", CLI_ARCHIVES);
    json_t *report = parse_json_file("parts.json");
    assert_int_equal(json_integer_value(json_object_get(report, "delegates")), 1);
    assert_int_equal(json_integer_value(json_object_get(report, "delegated")), 1);
    assert_true(json_is_array(json_object_get(report, "outside")));
    assert_int_equal(json_array_size(json_object_get(report, "outside")), 0);
    json_decref(report);
}
#endif

static void test_memory_is_reused_without_a_trace(void **state) {
    (void)state;
    cli_ok("compile %s/examples/c/model.pt2 -o tight.pte --report tight.json", FID_SOURCE_DIR);
    cli_ok("compile %s/examples/c/model.pt2 -o loose.pte --report loose.json --no-reuse", FID_SOURCE_DIR);
    cli_write_npy("four.npy", FID_FLOAT32, (const int64_t[]){1, 4}, 2, (const float[]){1, 2, 3, 4});
    cli_ok("run tight.pte --input four.npy --output-dir tight");
    cli_ok("run loose.pte --input four.npy --output-dir loose");
    cli_expect_same_files("tight/output_0.npy", "loose/output_0.npy");
    json_t *tight = parse_json_file("tight.json"), *loose = parse_json_file("loose.json");
    json_int_t planned = json_integer_value(json_object_get(tight, "planned_bytes"));
    assert_true(planned > 0 && planned <= json_integer_value(json_object_get(loose, "planned_bytes")));
    json_decref(tight);
    json_decref(loose);
}

static void test_the_report_and_the_ir(void **state) {
    (void)state;
    cli_ok("compile %slinear.pt2 -o reported.pte --report report.json --dump-ir ir", CLI_ARCHIVES);
    json_t *report = parse_json_file("report.json");
    assert_int_equal(json_integer_value(json_object_get(report, "operators")), 1);
    assert_int_equal(json_array_size(json_object_get(report, "unsupported")), 0);
    assert_true(json_is_array(json_object_get(report, "unsupported")));
    assert_true(json_integer_value(json_object_get(report, "planned_bytes")) >= json_integer_value(json_object_get(report, "liveness_bound_bytes")));
    assert_true(json_is_true(json_object_get(report, "plan_is_optimal")));
    struct stat info;
    assert_int_equal(stat("reported.pte", &info), 0);
    assert_int_equal(json_integer_value(json_object_get(report, "program_bytes")), info.st_size);
    json_decref(report);
    size_t size;
    char *first = cli_read("ir/00-archive.ir", &size);
    cli_expect_phrase(first, "aten.linear(%x");
    free(first);
    assert_true(cli_exists("ir/01-functionalize.ir"));
    assert_true(cli_exists("ir/09-pack.ir"));
    char *map = cli_read("ir/11-plan-forward.txt", &size);
    cli_expect_phrase(map, "= fid::linear"); /* a line a node, beside a picture of the memory */
    free(map);
}

static void test_the_source_line_travels_with_the_program(void **state) {
    (void)state;
    cli_ok("compile %slinear.pt2 -o traced.pte --stack-traces", CLI_ARCHIVES);
    size_t size;
    char *program = cli_read("traced.pte", &size);
    assert_non_null(memmem(program, size, "model.py", 8));
    free(program);
    cli_ok("run traced.pte --input x.npy");
}

/* A photo of a cat and a real classifier. */
static void test_a_picture_gets_its_label(void **state) {
    (void)state;
    cli_ok("compile %s/examples/classify/efficientnet_lite0.pt2 -o classifier.pte", FID_SOURCE_DIR);
    cli_ok("run classifier.pte --threads 2 --input %s/examples/classify/chelsea.png --labels %s/examples/classify/labels.txt --top 3 "
           "--image-mean 0.498039 --image-std 0.501961", FID_SOURCE_DIR, FID_SOURCE_DIR);
    cli_expect_phrase(cli_out, "cat");
    int lines = 0;
    for (const char *at = cli_out; *at; at++) lines += *at == '\n';
    assert_int_equal(lines, 3);
}

/* ---- Bundled programs ---- */

static void test_a_bundle_brings_its_inputs(void **state) {
    (void)state;
    cli_ok("compile %slinear.pt2 -o linear.bpte --bundle", CLI_ARCHIVES);
    cli_ok("run linear.bpte --output-dir bundled");
    cli_expect_npy("bundled/output_0.npy", FID_FLOAT32, linear_of_x, sizeof linear_of_x);
    cli_write_npy("zeros.npy", FID_FLOAT32, (const int64_t[]){1, 3}, 2, (const float[]){0, 0, 0});
    cli_ok("run linear.bpte --input zeros.npy --output-dir given");
    cli_expect_npy("given/output_0.npy", FID_FLOAT32, (const float[]){0.5f, -0.5f}, 8);
    cli_ok("bench linear.bpte --json --repeat 2");
    cli_ok("verify %slinear.pt2 linear.bpte", CLI_ARCHIVES);
    cli_ok("compile %slinear.pt2 -o again.bpte --bundle", CLI_ARCHIVES);
    cli_expect_same_files("linear.bpte", "again.bpte");
}

static void test_bundles_of_many_kinds_of_inputs(void **state) {
    (void)state;
    static const char *const names[] = {"counter", "dynamic", "live_int", "nested", "channels_last", "in_place"};
    for (size_t i = 0; i < 6; i++) {
        cli_ok("compile %s%s.pt2 -o kinds.bpte --bundle", CLI_ARCHIVES, names[i]);
        cli_ok("run kinds.bpte");
        cli_ok("verify %s%s.pt2 kinds.bpte", CLI_ARCHIVES, names[i]);
    }
    /* The second input of in_place is written by the method; the bundle has it as it was: 2. */
    cli_ok("inspect kinds.bpte");
    cli_ok("run kinds.bpte --next --output-dir twice");
    cli_expect_same_files("twice/call_0/output_0.npy", "twice/call_1/output_0.npy");
    assert_int_equal(cli("compile %sscalars.pt2 -o text.bpte --bundle", CLI_ARCHIVES), 1);
    cli_expect_phrase(cli_err, "input 5 of method \"forward\" is a text");
    assert_false(cli_exists("text.bpte"));
}

/* Two cases, taken in turn: the program and its values come from upstream's tools. */
static void test_a_bundle_of_upstream(void **state) {
    (void)state;
    cli_ok("run %s/tests/golden/bundled.bpte --next --next --output-dir upstream", FID_SOURCE_DIR);
    static const float first[] = {3, 3.5f, 4, 4.5f, 5, 5.5f}, second[] = {-1.5f, -1.5f, -1.5f, -1.5f, -1.5f, -1.5f};
    cli_expect_npy("upstream/call_0/output_0.npy", FID_FLOAT32, first, sizeof first);
    cli_expect_npy("upstream/call_1/output_1.npy", FID_FLOAT32, second, sizeof second);
    cli_expect_npy("upstream/call_2/output_0.npy", FID_FLOAT32, first, sizeof first);
}

static void test_inspect_shows_a_bundle(void **state) {
    (void)state;
    cli_ok("inspect %s/tests/golden/bundled.bpte", FID_SOURCE_DIR);
    cli_expect_phrase(cli_out, "case 1 of method forward:");
    cli_ok("inspect %s/tests/golden/bundled.bpte --json", FID_SOURCE_DIR);
    json_t *json = parse_json(cli_out), *cases = json_object_get(json, "cases");
    expect_text(json, "kind", "bpte");
    expect_text(json_object_get(json, "program"), "kind", "pte");
    assert_int_equal(json_array_size(cases), 2);
    json_t *inputs = json_object_get(json_array_get(cases, 0), "inputs");
    assert_string_equal(json_string_value(json_array_get(inputs, 0)), "float32[2, 3]");
    assert_string_equal(json_string_value(json_array_get(inputs, 1)), "3");
    json_decref(json);
}

/* ---- bench ---- */

static void test_bench_keeps_its_promise_to_scripts(void **state) {
    (void)state;
    cli_ok("bench linear.pte --json --repeat 20 --threads 2");
    json_t *figures = parse_json(cli_out);
    static const char *const times[] = {"load_ms", "first_ms", "min_ms", "median_ms"};
    for (size_t i = 0; i < 4; i++) assert_true(json_number_value(json_object_get(figures, times[i])) > 0);
    assert_true(json_number_value(json_object_get(figures, "min_ms")) <= json_number_value(json_object_get(figures, "median_ms")));
    assert_true(json_integer_value(json_object_get(figures, "peak_rss_bytes")) > 100000);
    assert_int_equal(json_integer_value(json_object_get(figures, "threads")), 2);
    struct stat info;
    assert_int_equal(stat("linear.pte", &info), 0);
    assert_int_equal(json_integer_value(json_object_get(figures, "file_bytes")), info.st_size);
    json_decref(figures);
    cli_ok("bench linear.pte --input x.npy --repeat 2");
    cli_expect_phrase(cli_out, "steady");
    cli_ok("compile %sscalars.pt2 -o scalars.pte", CLI_ARCHIVES); /* numbers, None and a text that export froze */
    cli_ok("bench scalars.pte --repeat 2");
    cli_expect_phrase(cli_out, "steady");
    cli_ok("profile scalars.pte");
}

/* ---- inspect ---- */

static void test_inspect_shows_a_program(void **state) {
    (void)state;
    cli_ok("inspect linear.pte");
    cli_expect_phrase(cli_out, "method forward");
    cli_expect_phrase(cli_out, "float32[1, 3]");
    cli_ok("inspect linear.pte --json");
    json_t *json = parse_json(cli_out), *method = json_array_get(json_object_get(json, "methods"), 0);
    expect_text(json, "kind", "pte");
    expect_text(method, "name", "forward");
    assert_string_equal(json_string_value(json_array_get(json_object_get(method, "inputs"), 0)), "float32[1, 3]");
    assert_string_equal(json_string_value(json_array_get(json_object_get(method, "outputs"), 0)), "float32[1, 2]");
    assert_int_equal(json_object_size(json_object_get(method, "operators")), 1);
    json_decref(json);
}

static void test_inspect_shows_an_archive(void **state) {
    (void)state;
    cli_ok("inspect %slinear.pt2", CLI_ARCHIVES);
    cli_expect_phrase(cli_out, "aten.linear(%x, %p_layer_weight, %p_layer_bias)");
    cli_ok("inspect %slinear.pt2 --json", CLI_ARCHIVES);
    json_t *json = parse_json(cli_out);
    expect_text(json, "kind", "pt2");
    cli_expect_phrase(json_string_value(json_object_get(json, "ir")), "aten.linear(");
    json_decref(json);
}

static void test_inspect_shows_an_array(void **state) {
    (void)state;
    cli_ok("inspect x.npy");
    cli_expect_phrase(cli_out, "float32[1, 3]");
    cli_ok("inspect x.npy --json");
    json_t *json = parse_json(cli_out);
    expect_text(json, "kind", "npy");
    expect_text(json, "dtype", "float32");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(json, "shape"), 1)), 3);
    json_decref(json);
}

/* ---- verify and ops ---- */

static void test_verify_a_good_program(void **state) {
    (void)state;
    cli_ok("verify %slinear.pt2 linear.pte --all", CLI_ARCHIVES);
    cli_expect_phrase(cli_out, "output 0: differs by 0.00e+00");
    cli_expect_phrase(cli_out, "aten::linear 'linear' at model.py:");
    cli_ok("verify %slinear.pt2 linear.pte --input x.npy", CLI_ARCHIVES);
}

/* A changed weight: the outputs part, and the operator that makes them is named with its line. */
static void test_verify_a_program_with_another_weight(void **state) {
    (void)state;
    const float weight[] = {4, 5}, wrong = 7;
    size_t size;
    uint8_t *program = cli_read("linear.pte", &size);
    uint8_t *at = memmem(program, size, &weight[1], sizeof weight[1]);
    assert_non_null(at);
    memcpy(at, &wrong, sizeof wrong);
    cli_write("wrong.pte", program, size);
    free(program);
    assert_int_equal(cli("verify %slinear.pt2 wrong.pte", CLI_ARCHIVES), 1);
    cli_expect_phrase(cli_out, "TOO MUCH, from aten::linear 'linear' at model.py:");
    cli_expect_phrase(cli_out, "no operator differs: the program comes from another archive");
    cli_expect_phrase(cli_err, "1 output of wrong.pte differs too much");
}

static void test_verify_says_when_programs_do_not_belong_together(void **state) {
    (void)state;
    assert_int_equal(cli("verify %schannels_last.pt2 linear.pte", CLI_ARCHIVES), 1);
    cli_expect_phrase(cli_err, "takes rank 2");
}

static void test_ops_lists_the_table(void **state) {
    (void)state;
    cli_ok("ops");
    cli_expect_phrase(cli_out, "aten::add.Tensor");
    cli_ok("ops --json");
    json_t *rows = parse_json(cli_out);
    assert_true(json_array_size(rows) > 200);
    bool found = false;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (strcmp(json_string_value(json_object_get(row, "name")), "aten::add") != 0) continue;
        if (strcmp(json_string_value(json_object_get(row, "overload")), "Tensor") != 0) continue;
        expect_text(row, "out", "out");
        expect_text(row, "kind", "pointwise");
        assert_true(json_is_true(json_object_get(row, "reference")));
        found = true;
    }
    assert_true(found);
    json_decref(rows);
}

/* ---- Help ---- */

static void test_help_shows_usage_and_an_example(void **state) {
    (void)state;
    static const char *const commands[] = {"compile", "run", "bench", "profile", "inspect", "verify", "ops"};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        cli_ok("%s --help", commands[i]);
        char usage[60], example[60];
        snprintf(usage, sizeof usage, "usage: fidibus %s ", commands[i]);
        snprintf(example, sizeof example, "example:\n  fidibus %s ", commands[i]);
        cli_expect_phrase(cli_out, usage);
        cli_expect_phrase(cli_out, example);
        cli_ok("--help");
        cli_expect_phrase(cli_out, commands[i]);
    }
    cli_ok("--version");
    cli_expect_phrase(cli_out, "fidibus 0.");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compile_then_run),
        cmocka_unit_test(test_every_way_to_run_gives_the_same),
        cmocka_unit_test(test_archives_of_other_layouts_give_the_same),
        cmocka_unit_test(test_state_carries_over_to_the_next_call),
        cmocka_unit_test(test_frozen_numbers_are_inputs),
        cmocka_unit_test(test_two_methods_in_one_program),
        cmocka_unit_test(test_equal_archives_give_equal_bytes),
        cmocka_unit_test(test_memory_is_reused_without_a_trace),
#ifdef FID_BACKEND_XNNPACK
        cmocka_unit_test(test_the_report_counts_delegates),
#endif
       
        cmocka_unit_test(test_the_report_and_the_ir),
        cmocka_unit_test(test_the_source_line_travels_with_the_program),
        cmocka_unit_test(test_a_picture_gets_its_label),
        cmocka_unit_test(test_a_bundle_brings_its_inputs),
        cmocka_unit_test(test_bundles_of_many_kinds_of_inputs),
        cmocka_unit_test(test_a_bundle_of_upstream),
        cmocka_unit_test(test_inspect_shows_a_bundle),
        cmocka_unit_test(test_bench_keeps_its_promise_to_scripts),
        cmocka_unit_test(test_inspect_shows_a_program),
        cmocka_unit_test(test_inspect_shows_an_archive),
        cmocka_unit_test(test_inspect_shows_an_array),
        cmocka_unit_test(test_verify_a_good_program),
        cmocka_unit_test(test_verify_a_program_with_another_weight),
        cmocka_unit_test(test_verify_says_when_programs_do_not_belong_together),
        cmocka_unit_test(test_ops_lists_the_table),
        cmocka_unit_test(test_help_shows_usage_and_an_example),
    };
    return cmocka_run_group_tests(tests, enter, NULL);
}
