/* What a person sees when something is wrong: a sentence on stderr that says what and where, exit status 1 (2 for a wrong command
 * line), and no file that was not there before. */
#include "tests/cli.h"

#include "include/fidibus.h"

/* ---- Nothing is written ---- */

typedef struct listing { char names[4096]; } listing;

/* Names and sizes in the working directory. */
static listing list_here(void) {
    listing all = {{0}};
    struct dirent **entries;
    int count = scandir(".", &entries, NULL, alphasort);
    assert_true(count >= 0);
    for (int i = 0; i < count; i++) {
        struct stat info = {0};
        size_t at = strlen(all.names);
        if (stat(entries[i]->d_name, &info) == 0 && S_ISREG(info.st_mode)) {
            snprintf(all.names + at, sizeof all.names - at, "%s %lld\n", entries[i]->d_name, (long long)info.st_size);
        } else snprintf(all.names + at, sizeof all.names - at, "%s\n", entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return all;
}

/* One wrong call and what its message must say. */
typedef struct wrong_call {
    const char *words;
    const char *phrases[6]; /* up to the first NULL */
} wrong_call;

static void expect_failure(const wrong_call *call, int status) {
    listing before = list_here();
    int got = cli("%s", call->words);
    if (got != status) fail_msg("fidibus %s: exit status %d instead of %d\n%s%s", call->words, got, status, cli_out, cli_err);
    assert_string_equal(cli_out, "");
    for (size_t i = 0; i < 6 && call->phrases[i]; i++) cli_expect_phrase(cli_err, call->phrases[i]);
    listing after = list_here();
    if (strcmp(before.names, after.names) != 0) fail_msg("fidibus %s wrote something:\n%s", call->words, after.names);
}

#define EXPECT_FAILURES(calls)                                                                                         \
    for (size_t call_ = 0; call_ < sizeof(calls) / sizeof((calls)[0]); call_++) expect_failure(&(calls)[call_], 1)

/* The files that all tests start from. */
static int make_files(void **state) {
    (void)state;
    if (cli_enter("cli_errors") != 0) return -1;
    cli_ok("compile %slinear.pt2 -o linear.pte", CLI_ARCHIVES);
    cli_ok("compile --method first=%slinear.pt2 --method second=%scounter.pt2 -o two.pte", CLI_ARCHIVES, CLI_ARCHIVES);
    cli_ok("compile %slive_int.pt2 -o live_int.pte", CLI_ARCHIVES);
    const float x[4] = {1, 2, 3, 4};
    const double wide[3] = {1, 2, 3};
    cli_write_npy("x.npy", FID_FLOAT32, (const int64_t[]){1, 3}, 2, x);
    cli_write_npy("flat.npy", FID_FLOAT32, (const int64_t[]){3}, 1, x);
    cli_write_npy("long.npy", FID_FLOAT32, (const int64_t[]){1, 4}, 2, x);
    cli_write_npy("double.npy", FID_FLOAT64, (const int64_t[]){1, 3}, 2, wide);
    cli_write_npy("two.npy", FID_FLOAT32, (const int64_t[]){2}, 1, x);
    cli_write("text.npy", "1 2 3\n", 6);
    size_t size;
    uint8_t *program = cli_read("linear.pte", &size);
    const size_t lengths[] = {0, 3, 40, 1000};
    for (size_t i = 0; i < 4; i++) {
        char path[40];
        snprintf(path, sizeof path, "cut%zu.pte", lengths[i]);
        cli_write(path, program, lengths[i]);
    }
    cli_write("last.pte", program, size - 1);
    size_t bundle_size;
    void *bundle = cli_read(FID_SOURCE_DIR "/tests/golden/bundled.bpte", &bundle_size);
    cli_write("last.bpte", bundle, bundle_size - 1);
    free(bundle);
    memcpy(program + 4, "ET99", 4);
    cli_write("other.pte", program, size);
    free(program);
    return 0;
}

/* ---- Archives ---- */

#define BAD(name) "compile " CLI_ARCHIVES name ".pt2 -o out.pte"

static void test_archives_that_cannot_be_compiled(void **state) {
    (void)state;
    static const wrong_call calls[] = {
        {BAD("not_zip"), {"fidibus compile: error: ", "not_zip.pt2", "not a zip archive", "torch.export.save"}},
        {BAD("no_export"), {"no_export.pt2", "without an exported program", "torch.export.save"}},
        {BAD("checkpoint"), {"checkpoint.pt2", "checkpoint (torch.save)", "torch.export.export"}},
        {BAD("newer_schema"), {"newer_schema.pt2", "version 9.1", "newer than this compiler reads", "8.x"}},
        {BAD("missing_weight"), {"missing_weight.pt2", "'layer.weight' is missing", "model/data/weights/weight_0"}},
        {BAD("unlisted_weight"), {"unlisted_weight.pt2", "'layer.weight' is missing"}},
        {BAD("short_weight"), {"short_weight.pt2", "'layer.weight' needs 24 bytes", "has 20"}},
        {BAD("big_endian"), {"big_endian.pt2", "byteorder is 'big'"}},
        {BAD("nowhere"), {"nowhere.pt2", "No such file"}},
        {"compile linear.pte -o out.pte", {"linear.pte", "not a zip archive"}},
        {"compile . -o out.pte", {"not a regular file"}},
    };
    EXPECT_FAILURES(calls);
}

static void test_unknown_operators_are_listed_with_their_lines(void **state) {
    (void)state;
    static const wrong_call call = {BAD("unknown_operators"),
                                    {"2 things that the model needs are not supported", "mylib::twist 'twist': the operator is not known, 2 calls",
                                     "the first on float32 [3] at model.py:", "x = torch.ops.mylib.twist(x, 1)", "mylib::fold 'fold'", "--schemas"}};
    expect_failure(&call, 1);
    assert_int_equal(cli(BAD("unknown_operators") " --report report.json"), 1);
    size_t size;
    char *report = cli_read("report.json", &size);
    cli_expect_phrase(report, "\"operator\": \"mylib::fold\"");
    cli_expect_phrase(report, "\"inputs\": \"float32 [3]\"");
    cli_expect_phrase(report, "\"code\": \"x = torch.ops.mylib.fold(x)\"");
    free(report);
    assert_int_equal(remove("report.json"), 0);
}

/* ---- Programs ---- */

static void test_programs_that_cannot_be_run(void **state) {
    (void)state;
    static const wrong_call calls[] = {
        {"run other.pte --input x.npy", {"other.pte", "expected the program identifier \"ET12\"", "found \"ET99\"", "another format version"}},
        {"inspect other.pte", {"other.pte", "\"ET12\"", "\"ET99\""}},
        {"run " CLI_ARCHIVES "linear.pt2", {"linear.pt2", "compile it first"}},
        {"run nowhere.pte", {"nowhere.pte", "No such file"}},
        {"run .", {"not a regular file"}},
        {"inspect .", {"Is a directory"}},
        {"inspect nowhere.pte", {"nowhere.pte", "No such file"}},
        {"inspect text.npy", {"text.npy", "no .pte or .bpte program", "other bytes"}},
        {"run cut0.pte", {"cut0.pte", "empty"}},
        {"run cut3.pte", {"cut3.pte", "3 bytes"}},
        {"run cut40.pte", {"cut40.pte", "cut short", "has 40"}},
        {"run cut1000.pte", {"cut1000.pte", "cut short", "has 1000"}},
        {"run last.pte", {"last.pte", "cut short"}},
        {"inspect last.pte", {"last.pte", "cut short"}},
        {"bench last.pte", {"last.pte", "cut short"}},
        {"run last.bpte", {"last.bpte", "damaged"}},
        {"inspect last.bpte", {"last.bpte", "damaged"}},
        {"verify " CLI_ARCHIVES "linear.pt2 last.pte", {"last.pte", "cut short"}},
        {"run two.pte --input x.npy", {"no method \"forward\"", "\"first\", \"second\""}},
        {"run linear.pte --method backward", {"no method \"backward\"", "\"forward\""}},
    };
    EXPECT_FAILURES(calls);
}

/* Cut anywhere, a program is refused with a sentence; only bytes that pad the end may be missing. */
static void test_a_program_cut_at_every_length(void **state) {
    (void)state;
    size_t whole;
    uint8_t *file = cli_read("linear.pte", &whole);
    for (size_t size = 0; size < whole; size++) {
        fid_message message;
        fid_environment environment = fid_environment_default(&message);
        uint8_t *part = aligned_alloc(64, (size + 64) & ~(size_t)63);
        memcpy(part, file, size);
        fid_program *program;
        fid_method *method = NULL;
        fid_status status = fid_program_open_memory(&environment, part, size, &program);
        if (status == FID_OK) {
            status = fid_method_load(program, "forward", NULL, &method);
            fid_program_close(program);
        }
        if (status == FID_OK) fail_msg("cut to %zu of %zu bytes it still loads", size, whole);
        if (!message.text[0]) fail_msg("cut to %zu bytes: refused without a word", size);
        free(part);
    }
    free(file);
}

/* ---- Inputs ---- */

static void test_inputs_that_do_not_fit(void **state) {
    (void)state;
    static const wrong_call calls[] = {
        {"run linear.pte --input flat.npy --output-dir out", {"input 0 has rank 1", "takes rank 2"}},
        {"run linear.pte --input double.npy --output-dir out", {"input 0 is float64", "takes float32"}},
        {"run linear.pte --input long.npy --output-dir out", {"input 0 has size 4 in dimension 1", "takes 3"}},
        {"run linear.pte --output-dir out", {"takes 1 input, 0 given", "inspect"}},
        {"run linear.pte --input x.npy --input x.npy --output-dir out", {"takes 1 input, 2 given"}},
        {"run linear.pte --input x.npy --next --output-dir out", {"takes 1 input, 0 given"}},
        {"bench linear.pte --input x.npy --input x.npy", {"takes 1 input, 2 given"}},
        {"verify " CLI_ARCHIVES "linear.pt2 linear.pte --input x.npy --input x.npy", {"takes 1 input, 2 given"}},
        {"run linear.pte --input 3", {"\"3\" is one number", "float32[1, 3]", ".npy"}},
        {"run linear.pte --input None", {"None", "float32[1, 3]"}},
        {"run linear.pte --input text.npy", {"text.npy", "neither an .npy file nor a picture"}},
        {"run linear.pte --input nowhere.npy", {"nowhere.npy", "No such file"}},
        {"run linear.pte --input .", {"Is a directory"}},
        {"run linear.pte --input " FID_SOURCE_DIR "/examples/classify/coffee.png", {"coffee.png is a picture", "float32[1, 3]"}},
        {"run live_int.pte --input two.npy --input two.npy", {"two.npy is an array", "plain value"}},
        {"run live_int.pte --input two.npy --input True", {"input 1 is a bool", "takes an int"}},
    };
    EXPECT_FAILURES(calls);
}

/* ---- Outputs ---- */

static void test_outputs_that_cannot_be_written(void **state) {
    (void)state;
    static const wrong_call calls[] = {
        {"compile " CLI_ARCHIVES "linear.pt2 -o nowhere/out.pte", {"nowhere/out.pte", "No such file"}},
        {"compile " CLI_ARCHIVES "linear.pt2 -o .", {"cannot write .", "it is a directory"}},
        {"compile " CLI_ARCHIVES "linear.pt2 -o out.pte --dump-ir x.npy/ir", {"x.npy/ir", "Not a directory"}},
        {"run linear.pte --input x.npy --output-dir x.npy/out", {"x.npy/out", "Not a directory"}},
        {"run linear.pte --input x.npy --kernels nowhere.so --output-dir out", {"cannot load nowhere.so"}},
        {"run linear.pte --input x.npy --kernels text.npy --output-dir out", {"cannot load text.npy"}},
        {"compile " CLI_ARCHIVES "unknown_operators.pt2 -o out.pte --schemas nowhere.txt", {"cannot open nowhere.txt", "No such file"}},
        {"compile " CLI_ARCHIVES "unknown_operators.pt2 -o out.pte --schemas text.npy", {"text.npy, line 1: expected \"namespace::name("}},
        {"run linear.pte --input x.npy --labels nowhere.txt", {"nowhere.txt", "No such file"}},
    };
    EXPECT_FAILURES(calls);
}

/* A device stays a device, and what does not fit on it is an error. */
static void test_a_device_as_output(void **state) {
    (void)state;
    struct stat info;
    if (stat("/dev/full", &info) != 0 || !S_ISCHR(info.st_mode)) skip();
    static const wrong_call calls[] = {{"compile " CLI_ARCHIVES "linear.pt2 -o /dev/full", {"/dev/full", "No space left"}}};
    EXPECT_FAILURES(calls);
    assert_int_equal(stat("/dev/full", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    assert_int_equal(system("'" CLI_COMMAND "' ops >/dev/full 2>../stderr.txt") >> 8, 1);
    keep("../stderr.txt", cli_err, sizeof cli_err);
    cli_expect_phrase(cli_err, "cannot write to standard output");
    cli_ok("compile %slinear.pt2 -o /dev/null", CLI_ARCHIVES);
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

/* `fidibus WORDS` where no file may grow; what it says comes through a pipe, which has no such limit. */
static void expect_full(const char *words, const char *phrase) {
    char line[8192];
    listing before = list_here();
    snprintf(line, sizeof line, "{ (ulimit -f 0; '%s' %s) 2>&1; echo \"status $?\"; } | cat >../full.txt", CLI_COMMAND, words);
    assert_int_equal(system(line), 0);
    keep("../full.txt", cli_out, sizeof cli_out);
    cli_expect_phrase(cli_out, "status 1");
    cli_expect_phrase(cli_out, phrase);
    listing after = list_here();
    assert_string_equal(before.names, after.names);
}

static void test_a_full_disk(void **state) {
    (void)state;
    assert_true(mkdir("full", 0777) == 0);
    expect_full("compile " CLI_ARCHIVES "linear.pt2 -o out.pte", "cannot write out.pte: File too large");
    expect_full("run linear.pte --input x.npy --output-dir full", "cannot write full/output_0.npy: File too large");
    assert_int_equal(rmdir("full"), 0); /* empty */
}

static void test_an_old_output_survives_a_failure(void **state) {
    (void)state;
    cli_write("out.pte", "precious", 8);
    static const wrong_call calls[] = {{BAD("short_weight"), {"short_weight.pt2"}}, {BAD("unknown_operators"), {"mylib::fold"}}};
    EXPECT_FAILURES(calls);
    size_t size;
    char *kept = cli_read("out.pte", &size);
    assert_string_equal(kept, "precious");
    free(kept);
    assert_int_equal(remove("out.pte"), 0);
}

static void test_a_file_without_permission(void **state) {
    (void)state;
    if (geteuid() == 0) skip(); /* root may read everything */
    cli_write("secret.pte", "x", 1);
    assert_int_equal(chmod("secret.pte", 0), 0);
    static const wrong_call calls[] = {
        {"run secret.pte", {"secret.pte", "Permission denied"}},
        {"inspect secret.pte", {"secret.pte", "Permission denied"}},
        {"compile secret.pte -o out.pte", {"secret.pte", "Permission denied"}},
    };
    EXPECT_FAILURES(calls);
}

/* ---- The command line ---- */

static void test_wrong_command_lines_show_the_usage(void **state) {
    (void)state;
    static const wrong_call calls[] = {
        {"", {"usage: fidibus COMMAND"}},
        {"frobnicate", {"no command \"frobnicate\"", "compile", "inspect"}},
        {"compile", {"which model?", "usage: fidibus compile"}},
        {"compile a.pt2", {"-o FILE.pte", "usage: fidibus compile"}},
        {"compile a.pt2 -o a.pte --precision half", {"no precision \"half\"", "float32 and bf16"}},
        {"compile a.pt2 -o a.pte --precision bf16 --target portable", {"for target cpu"}},
        {"compile a.pt2 b.pt2 -o c.pte", {"one model at a time", "--method NAME=FILE.pt2"}},
        {"compile a.pt2 -o c.pte --target gpu", {"no target \"gpu\"", "cpu, portable and"}},
        {"compile --method a.pt2 -o c.pte", {"NAME=FILE.pt2", "\"a.pt2\""}},
        {"compile --method x=a.pt2 --method x=b.pt2 -o c.pte", {"two methods are named \"x\""}},
        {"compile a.pt2 -o", {"-o needs a value"}},
        {"run", {"which program?", "usage: fidibus run"}},
        {"run a.pte --inptu x", {"no option --inptu", "--help"}},
        {"run a.pte --threads none", {"--threads takes a whole number from 1 to 256", "\"none\""}},
        {"run a.pte --threads 0", {"--threads"}},
        {"run a.pte --image-std 1,2", {"--image-std takes one number or three"}},
        {"run a.pte --image-std 0", {"--image-std"}},
        {"run a.pte --top 0 --labels x", {"--top takes a whole number"}},
        {"bench", {"which program?", "usage: fidibus bench"}},
        {"bench a.pte --repeat 0", {"--repeat"}},
        {"inspect", {"which file?", "usage: fidibus inspect"}},
        {"verify a.pt2", {"the archive and the program", "usage: fidibus verify"}},
        {"verify a.pt2 a.pte --tolerance -1", {"--tolerance"}},
        {"ops a", {"no file", "usage: fidibus ops"}},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) expect_failure(&calls[i], 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_archives_that_cannot_be_compiled),
        cmocka_unit_test(test_unknown_operators_are_listed_with_their_lines),
        cmocka_unit_test(test_programs_that_cannot_be_run),
        cmocka_unit_test(test_a_program_cut_at_every_length),
        cmocka_unit_test(test_inputs_that_do_not_fit),
        cmocka_unit_test(test_outputs_that_cannot_be_written),
        cmocka_unit_test(test_a_device_as_output),
        cmocka_unit_test(test_a_full_disk),
        cmocka_unit_test(test_an_old_output_survives_a_failure),
        cmocka_unit_test(test_a_file_without_permission),
        cmocka_unit_test(test_wrong_command_lines_show_the_usage),
    };
    return cmocka_run_group_tests(tests, make_files, NULL);
}
