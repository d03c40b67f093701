/* fidibus compile: .pt2 in, .pte out. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "backends/compile_backends.h"
#include "compiler/pipeline.h"
#include "tools/constants.h"

static const option_row options[] = {
    {"-o", "FILE.pte", "where the program goes"},
    {"--target", "NAME", "cpu (default: fused operators, packed weights), portable (upstream's operators only) or xnnpack (parts for upstream's\n"
                          "                             XNNPACK backend, the rest portable)"},
    {"--precision", "P", "float32 (default) or bf16: products of linear layers and convolutions in bfloat16, sums in float32; for target cpu"},
    {"--no-winograd", NULL, "sums all convolutions directly: numbers a little nearer to exact ones, smaller file, slower 3x3 layers; for target cpu"},
    {"--method", "NAME=FILE.pt2", "adds a method; may be repeated, instead of M.pt2"},
    {"--external-weights", "[PATTERN=]FILE.ptd", "weights go to a data file beside the program; with a pattern (*lora*) only those; may be repeated"},
    {"--share-buffers", NULL, "methods share mutable buffers that have one name: a cache that one fills and another reads"},
    CONSTANT_OPTION_ROW,
    {"--bundle", NULL, "writes a bundled program (.bpte): with the archive's sample inputs, for running without --input"},
    {"--report", "FILE.json", "writes operators, bytes and what is unsupported"},
    {"--dump-ir", "DIR", "writes the IR after every stage, and a map of the planned memory"},
    {"--no-reuse", NULL, "gives every tensor memory of its own: bigger, and the same numbers"},
    {"--stack-traces", NULL, "keeps whole stack traces in the program, where upstream's tools look"},
    {"--no-debug", NULL, "leaves out the table of modules and source lines that `fidibus profile` reads"},
    {"--schemas", "FILE", "operators of your own, one schema a line: mylib::twist(Tensor x, int by) -> Tensor; your runtime brings\n"
                               "                             their kernels; may be repeated"},
    {"--allow-missing", NULL, "writes the program although operators have no kernel: your runtime must bring them"},
    {NULL, NULL, NULL},
};

#define MOST_METHODS 64
#define MOST_EXTERNALS 64

typedef struct methods_given {
    fidc_method_file files[MOST_METHODS];
    size_t count;
} methods_given;

static int collect_methods(arguments *a, methods_given *methods) {
    if (a->file_count > 1) return usage_error(a, "one model at a time; more methods of one program come by --method NAME=FILE.pt2");
    if (a->file_count == 1) methods->files[methods->count++] = (fidc_method_file){"forward", a->files[0]};
    for (int i = 0; i < a->option_count; i++) {
        if (strcmp(a->options[i].name, "--method") != 0) continue;
        char *equals = strchr(a->options[i].value, '=');
        if (!equals || equals == a->options[i].value || !equals[1]) {
            return usage_error(a, "--method takes NAME=FILE.pt2, not \"%s\"", a->options[i].value);
        }
        for (size_t k = 0; k < methods->count; k++) {
            if (strncmp(methods->files[k].name, a->options[i].value, (size_t)(equals - a->options[i].value)) == 0 &&
                methods->files[k].name[equals - a->options[i].value] == 0) {
                return usage_error(a, "two methods are named \"%s\"", methods->files[k].name);
            }
        }
        if (methods->count == MOST_METHODS) return usage_error(a, "more than %d methods", MOST_METHODS);
        *equals = 0; /* splits the word of argv in place */
        methods->files[methods->count++] = (fidc_method_file){a->options[i].value, equals + 1};
    }
    return methods->count ? EXIT_OK : usage_error(a, "which model? Give a .pt2 file that torch.export.save wrote");
}

#define MOST_SCHEMAS 64

static int collect_schemas(arguments *a, const char **files, fidc_options *out) {
    out->schemas = files;
    for (int i = 0; i < a->option_count; i++) {
        if (strcmp(a->options[i].name, "--schemas") != 0) continue;
        if (out->schema_count == MOST_SCHEMAS) return usage_error(a, "more than %d files of schemas", MOST_SCHEMAS);
        files[out->schema_count++] = a->options[i].value;
    }
    return EXIT_OK;
}

static int collect_externals(arguments *a, fidc_external_weights *externals, size_t *out_count) {
    for (int i = 0; i < a->option_count; i++) {
        if (strcmp(a->options[i].name, "--external-weights") != 0) continue;
        if (*out_count == MOST_EXTERNALS) return usage_error(a, "more than %d rules for external weights", MOST_EXTERNALS);
        char *equals = strchr(a->options[i].value, '=');
        const char *path = equals ? equals + 1 : a->options[i].value;
        if (equals) *equals = 0; /* splits the word of argv in place */
        if (!*path || equals == a->options[i].value) return usage_error(a, "--external-weights takes FILE.ptd or PATTERN=FILE.ptd");
        externals[(*out_count)++] = (fidc_external_weights){equals ? a->options[i].value : "*", path};
    }
    return EXIT_OK;
}

static int read_target(arguments *a, fidc_options *out) {
    const char *target = option_text(a, "--target");
    if (!target || strcmp(target, "cpu") == 0) out->target = FIDC_TARGET_CPU;
    else if (strcmp(target, "portable") == 0) out->target = FIDC_TARGET_PORTABLE;
    else if ((out->backend = fidc_backend_find(target))) out->target = FIDC_TARGET_PORTABLE; /* what the backend does not take */
    else return usage_error(a, "there is no target \"%s\"; there are cpu, portable and " FIDC_BACKEND_TARGETS, target);
    return EXIT_OK;
}

static int read_precision(arguments *a, fidc_options *out) {
    const char *precision = option_text(a, "--precision");
    if (!precision || strcmp(precision, "float32") == 0) return EXIT_OK;
    if (strcmp(precision, "bf16") != 0) return usage_error(a, "there is no precision \"%s\"; there are float32 and bf16", precision);
    if (out->target != FIDC_TARGET_CPU) return usage_error(a, "--precision bf16 is for target cpu: leave --target out");
    out->bf16 = true;
    return EXIT_OK;
}

static bool write_report(const char *path, const fidc_report *report, double milliseconds) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return false;
    fprintf(out, "{\n  \"operators\": %u,\n  \"planned_bytes\": %llu,\n  \"liveness_bound_bytes\": %llu,\n", report->operators,
            (unsigned long long)report->planned_bytes, (unsigned long long)report->liveness_bound_bytes);
    fprintf(out, "  \"plan_is_optimal\": %s,\n", report->plan_is_optimal ? "true" : "false");
    fprintf(out, "  \"program_bytes\": %llu,\n  \"data_bytes\": %llu,\n  \"constant_bytes\": %llu,\n  \"winograd_bytes\": %llu,\n  \"milliseconds\": %.3f,\n  \"unsupported\": ",
            (unsigned long long)report->program_bytes, (unsigned long long)report->data_bytes, (unsigned long long)report->constant_bytes,
            (unsigned long long)report->winograd_bytes, milliseconds);
    fprintf(out, "%s", report->unsupported_json ? report->unsupported_json : "[]");
    if (report->outside_json) {
        fprintf(out, ",\n  \"delegates\": %u,\n  \"delegated\": %u,\n  \"outside\": %s", report->delegates, report->delegated, report->outside_json);
    }
    fprintf(out, "\n}\n");
    fclose(out);
    bool ok = write_file(path, &(file_part){text, size}, 1);
    free(text);
    return ok;
}

/* Everything that the command line asks for, with the lists that the options point to. */
typedef struct request {
    methods_given methods;
    fidc_external_weights externals[MOST_EXTERNALS];
    const char *schemas[MOST_SCHEMAS];
    constant_list constants;
    const char *output;
    fidc_options options;
} request;

static int read_output(arguments *a, request *r) {
    r->output = option_text(a, "-o");
    if (!r->output) return usage_error(a, "where does the program go? Add -o FILE.pte");
    for (size_t i = 0; i < r->options.external_count; i++) {
        if (strcmp(r->externals[i].path, r->output) == 0) return usage_error(a, "%s cannot be the program and its data file", r->output);
    }
    return EXIT_OK;
}

/* A bar on the terminal, gone when the work is done; on a terminal only. */
static void show_progress(void *self, const char *step, unsigned done, unsigned steps) {
    static const char full[] = "##############################";
    int cells = (int)(sizeof full - 1) * (int)done / (int)steps;
    (void)self;
    fprintf(stderr, "\r\033[K[%-*.*s] %s", (int)sizeof full - 1, cells, full, step);
    fflush(stderr);
}

static void end_progress(const request *r) {
    if (r->options.progress) fputs("\r\033[K", stderr);
}

static int read_request(arguments *a, request *r) {
    r->options = (fidc_options){.struct_size = sizeof r->options,
                                .no_winograd = option_flag(a, "--no-winograd"),
                                .no_reuse = option_flag(a, "--no-reuse"),
                                .stack_traces = option_flag(a, "--stack-traces"),
                                .no_debug = option_flag(a, "--no-debug"),
                                .allow_missing = option_flag(a, "--allow-missing"),
                                .externals = r->externals,
                                .share_buffers = option_flag(a, "--share-buffers"),
                                .bundle = option_flag(a, "--bundle"),
                                .progress = isatty(STDERR_FILENO) ? show_progress : NULL,
                                .dump_ir = option_text(a, "--dump-ir")};
    int status = collect_methods(a, &r->methods);
    if (status == EXIT_OK) status = collect_schemas(a, r->schemas, &r->options);
    if (status == EXIT_OK) status = read_target(a, &r->options);
    if (status == EXIT_OK) status = read_precision(a, &r->options);
    if (status == EXIT_OK) status = collect_externals(a, r->externals, &r->options.external_count);
    if (status == EXIT_OK) status = read_output(a, r);
    if (status == EXIT_OK) status = constants_read(a, &r->constants);
    r->options.constants = r->constants.methods;
    r->options.constant_count = r->constants.count;
    return status;
}

static void tell(const request *r, const fidc_report *report, double milliseconds) {
    printf("%s: %u operator%s, %s, ", r->output, report->operators, plural(report->operators), BYTES_TEXT(report->program_bytes));
    if (report->data_bytes) printf("%s of data beside it, ", BYTES_TEXT(report->data_bytes));
    if (report->outside_json) printf("%u delegate%s of %u operator%s, ", report->delegates, plural(report->delegates), report->delegated, plural(report->delegated));
    printf("plans %s of memory (bound %s), %.0f ms\n", BYTES_TEXT(report->planned_bytes), BYTES_TEXT(report->liveness_bound_bytes), milliseconds);
    if (report->unsupported) fprintf(stderr, "fidibus compile: warning: %s\n", report->unsupported);
}

static int compile(arguments *a, const request *r) {
    runtime_session session;
    fidc_report report;
    int status = EXIT_OK;
    const char *report_path = option_text(a, "--report");
    if (!runtime_session_open(&session, 1)) return failed("compile", "out of memory");
    double start = milliseconds_now();
    fid_status result = fidc_compile(session.environment.allocator, &session.environment.sink, r->methods.files, r->methods.count, &r->options,
                                     r->output, &report);
    double took = milliseconds_now() - start;
    end_progress(r);
    if (report_path && !write_report(report_path, &report, took)) status = failed("compile", "cannot write %s: %s", report_path, strerror(errno));
    if (result != FID_OK) status = failed_status("compile", result, &session);
    else tell(r, &report, took);
    fidc_report_deinit(session.environment.allocator, &report);
    runtime_session_close(&session);
    return status;
}

static int run(arguments *a) {
    request r = {.methods.count = 0};
    int status = read_request(a, &r);
    if (status == EXIT_OK) status = compile(a, &r);
    constants_close(&r.constants);
    return status;
}

const command_row command_compile = {
    .name = "compile",
    .usage = "M.pt2 -o M.pte [--target T] [--precision P] [--method NAME=FILE.pt2]... [--external-weights FILE.ptd] [--bundle] [--report FILE.json] [--dump-ir DIR]",
    .summary = "turns a .pt2 that torch.export.save wrote into a .pte program",
    .example = "  fidibus compile model.pt2 -o model.pte\n"
               "  fidibus compile --method encode=enc.pt2 --method decode=dec.pt2 -o both.pte\n"
               "  fidibus compile model.pt2 -o model.pte --external-weights model.ptd --constant vocabulary=32000\n"
               "  fidibus compile model.pt2 -o model.pte --target portable   # for upstream's runtime\n"
               "  fidibus compile model.pt2 -o model.bpte --bundle           # then: fidibus run model.bpte\n",
    .options = options,
    .run = run,
};
