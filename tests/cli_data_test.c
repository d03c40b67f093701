/* Weights outside the program, buffers that methods share, and saved state, by the command from end to end. */
#define _GNU_SOURCE
#include "tests/cli.h"

static int enter(void **state) {
    (void)state;
    if (cli_enter("cli_data") != 0) return -1;
    cli_write_npy("x.npy", FID_FLOAT32, (const int64_t[]){1, 3}, 2, (const float[]){1, 2, 3});
    cli_write_npy("ones.npy", FID_FLOAT32, (const int64_t[]){2}, 1, (const float[]){1, 1});
    cli_write_npy("row.npy", FID_INT64, (const int64_t[]){1}, 1, (const int64_t[]){0});
    cli_write_npy("value.npy", FID_FLOAT32, (const int64_t[]){1, 2}, 2, (const float[]){5, 7});
    return 0;
}

static const char *const targets[] = {"cpu", "portable"};

/* y = x W^T + b with W = [[0 1 2] [3 4 5]], b = [0.5 -0.5]; tuned.pt2 has -W. */
static const float linear_of_x[] = {8.5f, 25.5f}, tuned_of_x[] = {-7.5f, -26.5f};

/* ---- Weights ---- */

static void test_weights_beside_the_program(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        cli_ok("compile %slinear.pt2 -o out.pte --target %s --external-weights out.ptd", CLI_ARCHIVES, targets[i]);
        cli_ok("run out.pte --data out.ptd --input x.npy --output-dir out");
        cli_expect_npy("out/output_0.npy", FID_FLOAT32, linear_of_x, sizeof linear_of_x);
        cli_ok("verify %slinear.pt2 out.pte --data out.ptd", CLI_ARCHIVES);
        cli_ok("bench out.pte --data out.ptd --repeat 2");
        assert_int_equal(cli("run out.pte --input x.npy"), 1);
        cli_expect_phrase(cli_err, "weight \"layer.");
        cli_expect_phrase(cli_err, "no data file is given");
    }
}

#ifdef FID_BACKEND_XNNPACK
/* What a delegate reads goes there, too. */
static void test_weights_of_delegates(void **state) {
    (void)state;
    cli_ok("compile %slinear.pt2 -o part.pte --target xnnpack --external-weights part.ptd --report part.json", CLI_ARCHIVES);
    cli_expect_phrase(cli_out, "1 delegate of 1 operator,");
    cli_ok("inspect part.ptd");
    cli_expect_phrase(cli_out, "2 entries");
    cli_ok("run part.pte --data part.ptd --input x.npy --output-dir part");
    cli_expect_npy("part/output_0.npy", FID_FLOAT32, linear_of_x, sizeof linear_of_x);
    cli_ok("verify %slinear.pt2 part.pte --data part.ptd", CLI_ARCHIVES);
    assert_int_equal(cli("run part.pte --input x.npy"), 1);
    cli_expect_phrase(cli_err, "named data \"layer.");
    cli_ok("compile %slinear.pt2 -o whole.pte --target xnnpack", CLI_ARCHIVES);
    cli_ok("compile %slinear.pt2 -o again.pte --target xnnpack", CLI_ARCHIVES);
    cli_expect_same_files("whole.pte", "again.pte");
}
#endif

static void test_a_data_file_is_shown(void **state) {
    (void)state;
    cli_ok("compile %slinear.pt2 -o shown.pte --external-weights shown.ptd", CLI_ARCHIVES);
    cli_ok("inspect shown.ptd");
    cli_expect_phrase(cli_out, "2 entries");
    cli_expect_phrase(cli_out, "float32[1, 3, 16]            192 bytes  layer.weight:rows");
    cli_expect_phrase(cli_out, "layer.bias");
    cli_ok("inspect shown.ptd --json");
    cli_expect_phrase(cli_out, "{\"key\": \"layer.bias\", \"layout\": \"float32[2]\", \"bytes\": 8}");
}

/* Only the weight goes out; the program for both keeps the bias. */
static void test_some_weights_go_to_a_file(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        cli_ok("compile %slinear.pt2 -o some.pte --target %s --external-weights '*.weight=some.ptd'", CLI_ARCHIVES, targets[i]);
        cli_ok("inspect some.ptd");
        cli_expect_phrase(cli_out, "1 entry");
        cli_ok("run some.pte --data some.ptd --input x.npy --output-dir some");
        cli_expect_npy("some/output_0.npy", FID_FLOAT32, linear_of_x, sizeof linear_of_x);
    }
    cli_ok("compile %slinear.pt2 -o two.pte --external-weights '*.bias=bias.ptd' --external-weights rest.ptd", CLI_ARCHIVES);
    cli_ok("run two.pte --data rest.ptd --data bias.ptd --input x.npy --output-dir two");
    cli_expect_npy("two/output_0.npy", FID_FLOAT32, linear_of_x, sizeof linear_of_x);
}

/* The weights of a model that was tuned, in a file given later, take the place of the base's; the order decides. */
static void test_later_data_replaces_earlier(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        cli_ok("compile %slinear.pt2 -o base.pte --target %s --external-weights base.ptd", CLI_ARCHIVES, targets[i]);
        cli_ok("compile %stuned.pt2 -o tuned.pte --target %s --external-weights '*.weight=tuned.ptd'", CLI_ARCHIVES, targets[i]);
        cli_ok("run base.pte --data base.ptd --data tuned.ptd --input x.npy --output-dir tuned");
        cli_expect_npy("tuned/output_0.npy", FID_FLOAT32, tuned_of_x, sizeof tuned_of_x);
        cli_ok("run base.pte --data tuned.ptd --data base.ptd --input x.npy --output-dir base");
        cli_expect_npy("base/output_0.npy", FID_FLOAT32, linear_of_x, sizeof linear_of_x);
    }
}

/* The forms of two targets do not go together, and nobody takes the one for the other or leaves it out. */
static void test_a_weight_in_the_form_of_another_target(void **state) {
    (void)state;
    cli_ok("compile %slinear.pt2 -o base.pte --external-weights base.ptd", CLI_ARCHIVES);
    cli_ok("compile %stuned.pt2 -o tuned.pte --target portable --external-weights '*.weight=tuned.ptd'", CLI_ARCHIVES);
    assert_int_equal(cli("run base.pte --data base.ptd --data tuned.ptd --input x.npy"), 1);
    cli_expect_phrase(cli_err, "the program takes the weight \"layer.weight:rows\", tuned.ptd has it as \"layer.weight:permute_copy\"");
    assert_int_equal(cli("run base.pte --data tuned.ptd --input x.npy"), 1);
}

static void test_two_methods_store_weights_once(void **state) {
    (void)state;
    cli_ok("compile --method a=%slinear.pt2 --method b=%slinear.pt2 -o both.pte --external-weights both.ptd", CLI_ARCHIVES, CLI_ARCHIVES);
    cli_ok("inspect both.ptd");
    cli_expect_phrase(cli_out, "2 entries");
    for (int i = 0; i < 2; i++) {
        cli_ok("run both.pte --method %c --data both.ptd --input x.npy --output-dir both", "ab"[i]);
        cli_expect_npy("both/output_0.npy", FID_FLOAT32, linear_of_x, sizeof linear_of_x);
    }
}

/* Two methods of different models that use one name for different weights. */
static void test_one_name_for_different_weights(void **state) {
    (void)state;
    cli_ok("compile --method a=%slinear.pt2 --method b=%stuned.pt2 -o apart.pte --external-weights apart.ptd", CLI_ARCHIVES, CLI_ARCHIVES);
    cli_ok("inspect apart.ptd");
    cli_expect_phrase(cli_out, "  layer.weight:rows\n");
    cli_expect_phrase(cli_out, "  b/layer.weight:rows\n");
    cli_ok("run apart.pte --method a --data apart.ptd --input x.npy --output-dir apart");
    cli_expect_npy("apart/output_0.npy", FID_FLOAT32, linear_of_x, sizeof linear_of_x);
    cli_ok("run apart.pte --method b --data apart.ptd --input x.npy --output-dir apart");
    cli_expect_npy("apart/output_0.npy", FID_FLOAT32, tuned_of_x, sizeof tuned_of_x);
}

static void test_equal_archives_give_equal_data(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) cli_ok("compile %slinear.pt2 -o same%d.pte --external-weights same%d.ptd", CLI_ARCHIVES, i, i);
    cli_expect_same_files("same0.ptd", "same1.ptd");
    cli_expect_same_files("same0.pte", "same1.pte");
}

static void test_nothing_is_left_when_a_file_cannot_be_written(void **state) {
    (void)state;
    assert_int_equal(cli("compile %slinear.pt2 -o lost.pte --external-weights nowhere/lost.ptd", CLI_ARCHIVES), 1);
    cli_expect_phrase(cli_err, "cannot create nowhere/lost.ptd");
    assert_false(cli_exists("lost.pte"));
    assert_int_equal(cli("compile %slinear.pt2 -o nowhere/lost.pte --external-weights lost.ptd", CLI_ARCHIVES), 1);
    assert_false(cli_exists("lost.ptd"));
    assert_int_equal(cli("compile %slinear.pt2 -o one.pte --external-weights one.pte", CLI_ARCHIVES), 2);
    cli_expect_phrase(cli_err, "one.pte");
}

/* ---- Buffers ---- */

/* fill writes [5 7] into row 0 of [[0 0] [1 1] [2 2]]; read sums the rows and multiplies with [1 10]. */
static void expect_read(const char *path, float first, float second) {
    const float expected[] = {first, second};
    cli_expect_npy(path, FID_FLOAT32, expected, sizeof expected);
}

#define FILL "--method fill --input row.npy --input value.npy"
#define READ "--method read --input ones.npy"

static void test_methods_share_a_buffer_when_asked(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        cli_ok("compile --method fill=%scache_fill.pt2 --method read=%scache_read.pt2 --target %s --share-buffers -o shared.pte", CLI_ARCHIVES,
               CLI_ARCHIVES, targets[i]);
        cli_ok("run shared.pte " READ " --next " FILL " --next " READ " --output-dir shared");
        expect_read("shared/call_0/output_0.npy", 3, 30);
        expect_read("shared/call_2/output_0.npy", 8, 100);
    }
}

static void test_buffers_are_private_otherwise(void **state) {
    (void)state;
    cli_ok("compile --method fill=%scache_fill.pt2 --method read=%scache_read.pt2 -o private.pte", CLI_ARCHIVES, CLI_ARCHIVES);
    cli_ok("run private.pte " FILL " --next " READ " --output-dir private");
    expect_read("private/call_1/output_0.npy", 3, 30);
}

static void test_shared_buffers_must_agree(void **state) {
    (void)state;
    assert_int_equal(cli("compile --method a=%saliased.pt2 -o aliased.pte", CLI_ARCHIVES), 1);
    cli_expect_phrase(cli_err, "writes the buffer \"all\", which shares its memory with \"last\"");
    cli_ok("compile --method a=%shalves.pt2 -o halves.pte", CLI_ARCHIVES);
    cli_ok("run halves.pte --input ones.npy --next --input ones.npy --output-dir halves"); /* [0 1] grows, [2 3] stays */
    expect_read("halves/call_1/output_0.npy", 4, 6);
}

/* ---- State ---- */

static void test_state_goes_from_run_to_run(void **state) {
    (void)state;
    cli_ok("compile --method fill=%scache_fill.pt2 --method read=%scache_read.pt2 --share-buffers -o kept.pte", CLI_ARCHIVES, CLI_ARCHIVES);
    cli_ok("run kept.pte " FILL " --save-state kept.ptd");
    cli_ok("inspect kept.ptd");
    cli_expect_phrase(cli_out, "float32[3, 2]                 24 bytes  rows");
    cli_ok("run kept.pte " READ " --load-state kept.ptd --output-dir kept");
    expect_read("kept/output_0.npy", 8, 100);
    cli_ok("run kept.pte " READ " --output-dir fresh");
    expect_read("fresh/output_0.npy", 3, 30);
    cli_ok("compile %scounter.pt2 -o counter.pte", CLI_ARCHIVES);
    cli_write_npy("ticks.npy", FID_INT64, (const int64_t[]){2}, 1, (const int64_t[]){3, 4});
    assert_int_equal(cli("run counter.pte --input ticks.npy --load-state kept.ptd"), 1);
    cli_expect_phrase(cli_err, "is not in kept.ptd");
}

static void test_buffers_of_two_methods_do_not_fit_one_file(void **state) {
    (void)state;
    cli_ok("compile --method a=%scounter.pt2 --method b=%scounter.pt2 -o twice.pte", CLI_ARCHIVES, CLI_ARCHIVES);
    cli_write_npy("ticks.npy", FID_INT64, (const int64_t[]){2}, 1, (const int64_t[]){3, 4});
    assert_int_equal(cli("run twice.pte --method a --input ticks.npy --next --method b --input ticks.npy --save-state twice.ptd"), 1);
    cli_expect_phrase(cli_err, "two methods have buffers of their own");
    assert_false(cli_exists("twice.ptd"));
}

/* ---- Constant methods ---- */

static void expect_constant(const char *method, const char *output) {
    cli_ok("run constants.pte --method %s", method);
    cli_expect_phrase(cli_out, output);
}

static void test_methods_that_return_a_constant(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        cli_ok("compile %slinear.pt2 --target %s -o constants.pte --constant n=2048 --constant eps=1e-5 --constant yes=True --constant off=false "
               "--constant name=llama --constant quoted='\"7\"' --constant 'ids=[1, 2, [3]]' --constant 'map={\"b\": 1, \"a\": 0.5}' "
               "--constant table=value.npy", CLI_ARCHIVES, targets[i]);
        expect_constant("n", "output 0: 2048\n");
        expect_constant("eps", "output 0: 1e-05\n");
        expect_constant("yes", "output 0: True\n");
        expect_constant("off", "output 0: False\n");
        expect_constant("name", "output 0: llama\n");
        expect_constant("quoted", "output 0: 7\n");
        expect_constant("ids", "output 0: 1\noutput 1: 2\noutput 2: 3\n");
        expect_constant("map", "output 0: 1\noutput 1: 0.5\n");
        expect_constant("table", "output 0: float32[1, 2] 5 7\n");
        cli_ok("run constants.pte --input x.npy --output-dir constants");
        cli_expect_npy("constants/output_0.npy", FID_FLOAT32, linear_of_x, sizeof linear_of_x);
    }
    cli_ok("compile %slinear.pt2 --bundle -o constants.bpte --constant n=2048", CLI_ARCHIVES);
    cli_ok("run constants.bpte --method n");
    cli_expect_phrase(cli_out, "output 0: 2048\n");
}

static void test_constants_that_cannot_be(void **state) {
    (void)state;
    assert_int_equal(cli("compile %slinear.pt2 -o no.pte --constant n", CLI_ARCHIVES), 2);
    cli_expect_phrase(cli_err, "--constant takes NAME=VALUE");
    assert_int_equal(cli("compile %slinear.pt2 -o no.pte --constant n=null", CLI_ARCHIVES), 2);
    cli_expect_phrase(cli_err, "no place for null");
    assert_int_equal(cli("compile %slinear.pt2 -o no.pte --constant n=nowhere.npy", CLI_ARCHIVES), 2);
    cli_expect_phrase(cli_err, "cannot read nowhere.npy");
    assert_int_equal(cli("compile %slinear.pt2 -o no.pte --constant forward=1", CLI_ARCHIVES), 1);
    cli_expect_phrase(cli_err, "two methods are named \"forward\"");
    assert_false(cli_exists("no.pte"));
}

/* ---- Odd constants ---- */

static void test_a_constant_without_elements(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        cli_ok("compile %sempty_constant.pt2 --target %s -o empty.pte --external-weights empty.ptd", CLI_ARCHIVES, targets[i]);
        cli_ok("run empty.pte --data empty.ptd --input value.npy --output-dir empty");
        expect_read("empty/output_0.npy", 5, 7);
        cli_ok("compile %sempty_constant.pt2 --target %s -o empty.pte", CLI_ARCHIVES, targets[i]);
        cli_ok("run empty.pte --input value.npy --output-dir empty");
        expect_read("empty/output_0.npy", 5, 7);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights_beside_the_program),
#ifdef FID_BACKEND_XNNPACK
        cmocka_unit_test(test_weights_of_delegates),
#endif
       
        cmocka_unit_test(test_a_data_file_is_shown),
        cmocka_unit_test(test_some_weights_go_to_a_file),
        cmocka_unit_test(test_later_data_replaces_earlier),
        cmocka_unit_test(test_a_weight_in_the_form_of_another_target),
        cmocka_unit_test(test_two_methods_store_weights_once),
        cmocka_unit_test(test_one_name_for_different_weights),
        cmocka_unit_test(test_equal_archives_give_equal_data),
        cmocka_unit_test(test_nothing_is_left_when_a_file_cannot_be_written),
        cmocka_unit_test(test_methods_share_a_buffer_when_asked),
        cmocka_unit_test(test_buffers_are_private_otherwise),
        cmocka_unit_test(test_shared_buffers_must_agree),
        cmocka_unit_test(test_state_goes_from_run_to_run),
        cmocka_unit_test(test_buffers_of_two_methods_do_not_fit_one_file),
        cmocka_unit_test(test_methods_that_return_a_constant),
        cmocka_unit_test(test_constants_that_cannot_be),
        cmocka_unit_test(test_a_constant_without_elements),
    };
    return cmocka_run_group_tests(tests, enter, NULL);
}
