/* fidibus run: loads a program, runs a method, shows or writes the outputs. */
#include <errno.h>
#include <stdlib.h>

#include "format/npy.h"
#include "tools/data_files.h"
#include "tools/inputs.h"
#include "tools/labels.h"
#include "tools/trace_file.h"

static const option_row options[] = {
    {"--method", "NAME", "which method; default forward, or the only one; after --next: the method of that call and those after it"},
    DATA_OPTION_ROW,
    {"--input", "X", "an .npy file, a number, True, False, None, a text or a picture; once for each input, in order; without any,\n"
                             "                             a bundled program (.bpte) takes its own"},
    {"--next", NULL, "starts another call: methods stay loaded, state carries over"},
    {"--load-state", "FILE.ptd", "mutable buffers start as --save-state left them"},
    {"--save-state", "FILE.ptd", "writes the mutable buffers after the last call"},
    {"--output-dir", "DIR", "writes output_0.npy, ...; with --next under call_0/, call_1/, ..."},
    {"--threads", "N", "threads for one run, default 1"},
    KERNELS_OPTION_ROW,
    {"--reference", NULL, "runs on the plain reference kernels"},
    {"--trace", "FILE.etdp", "writes when what ran, and for how long; `fidibus profile` and upstream's Inspector read it"},
    {"--labels", "FILE", "names of classes, one a line: prints the likeliest of the first output"},
    {"--top", "N", "how many of them, default 5"},
    IMAGE_OPTION_ROWS,
    {NULL, NULL, NULL},
};

#define MOST_METHODS 64

/* A method that is called, loaded once. */
typedef struct called_method {
    const char *name;
    fid_method *method;
    input_source inputs;
} called_method;

typedef struct runner {
    const arguments *arguments;
    runtime_session session;
    fid_image_options image;
    long top;
    bundle_file bundle;
    data_files data;
    fid_program *program;
    fid_trace *trace; /* NULL: not asked for */
    fid_shared_state *shared;
    called_method called[MOST_METHODS];
    size_t called_count;
} runner;

/* ---- Outputs ---- */

static bool write_output(const runner *r, const char *directory, size_t index, const fid_tensor *tensor) {
    uint8_t header[FID_NPY_MAX_HEADER];
    size_t header_size, bytes = fid_tensor_bytes(tensor);
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/output_%zu.npy", directory, index);
    void *data = malloc(bytes + 1);
    bool ok = data && length > 0 && (size_t)length < sizeof path && fid_npy_write_header(&r->session.environment.sink, (fid_dtype)tensor->dtype, tensor->sizes, tensor->rank, header,
                                           &header_size) == FID_OK;
    if (ok) {
        tensor_to_row_major(tensor, data);
        ok = write_file(path, (file_part[]){{header, header_size}, {data, bytes}}, 2);
        if (!ok) failed("run", "cannot write %s: %s", path, strerror(errno));
    }
    free(data);
    return ok;
}

static void print_output(size_t index, const fid_value *value) {
    char text[400];
    if (value->tag == FID_TAG_TENSOR) printf("output %zu: %s\n", index, tensor_summary(value->as.tensor, text, sizeof text));
    else if (value->tag == FID_TAG_INT) printf("output %zu: %lld\n", index, (long long)value->as.integer);
    else if (value->tag == FID_TAG_DOUBLE) printf("output %zu: %.9g\n", index, value->as.number);
    else if (value->tag == FID_TAG_BOOL) printf("output %zu: %s\n", index, value->as.boolean ? "True" : "False");
    else if (value->tag == FID_TAG_STRING) printf("output %zu: %.*s\n", index, (int)value->as.string.length, value->as.string.text);
    else printf("output %zu: None\n", index);
}

static bool show_outputs(runner *r, const fid_method *method, const char *directory) {
    const char *labels = option_text(r->arguments, "--labels");
    for (size_t i = 0; i < fid_method_output_count(method); i++) {
        const fid_value *value;
        fid_status status = fid_method_output(method, i, &value);
        if (status != FID_OK) { failed_status("run", status, &r->session); return false; }
        if (directory && value->tag == FID_TAG_TENSOR && !write_output(r, directory, i, value->as.tensor)) return false;
        if (labels && i == 0) {
            if (!print_labels(labels, value, (size_t)r->top)) return false;
        } else print_output(i, value);
    }
    return true;
}

/* ---- One call ---- */

static int one_call(runner *r, const called_method *called, const given_option *given, int count, size_t call, const char *directory) {
    fid_method *method = called->method;
    size_t inputs = fid_method_input_count(method);
    loaded_input *loaded = calloc(inputs + 1, sizeof *loaded);
    if (!loaded) return failed("run", "out of memory");
    fid_status status = inputs_read(&called->inputs, given, count, call, loaded);
    if (status == FID_OK) status = inputs_set(method, loaded);
    if (status == FID_OK) status = fid_method_run(method);
    int result = status == FID_OK ? EXIT_OK : failed_status("run", status, &r->session);
    if (result == EXIT_OK && directory && !make_directory(directory)) {
        result = failed("run", "cannot make the directory %s: %s", directory, strerror(errno));
    }
    if (result == EXIT_OK && !show_outputs(r, method, directory)) result = EXIT_FAILED;
    for (size_t i = 0; i < inputs; i++) loaded_input_free(&loaded[i]);
    free(loaded);
    return result;
}

/* The options of the call that starts at `start`: up to the next --next or the end. */
static int call_length(const arguments *a, int start) {
    int end = start;
    while (end < a->option_count && strcmp(a->options[end].name, "--next") != 0) end++;
    return end - start;
}

/* The method of the call whose options begin at `start`: its own --method, else that of the call before. */
static const char *method_of_call(const runner *r, int start) {
    const arguments *a = r->arguments;
    for (int i = start + call_length(a, start); i-- > 0;) {
        if (strcmp(a->options[i].name, "--method") == 0) return a->options[i].value;
    }
    return fid_program_method_count(r->program) == 1 ? fid_program_method_name(r->program, 0) : "forward";
}

static called_method *find_called(runner *r, const char *name) {
    for (size_t i = 0; i < r->called_count; i++) {
        if (strcmp(r->called[i].name, name) == 0) return &r->called[i];
    }
    return NULL;
}

static fid_status load_method(runner *r, const char *name) {
    const fid_environment *env = &r->session.environment;
    if (find_called(r, name)) return FID_OK;
    if (r->called_count == MOST_METHODS) return fid_fail(&env->sink, FID_NOT_SUPPORTED, "more than %d methods", MOST_METHODS);
    fid_method_options method_options = {.struct_size = sizeof method_options, .no_cpu_kernels = option_flag(r->arguments, "--reference"),
                                         .data = r->data.items, .data_count = r->data.count, .shared_state = r->shared, .tracer = r->trace ? fid_trace_tracer(r->trace) : NULL};
    called_method *called = &r->called[r->called_count];
    called->name = name;
    FID_TRY(fid_method_load(r->program, name, &method_options, &called->method));
    called->inputs = (input_source){env, &r->image, &r->bundle, name, called->method};
    r->called_count++;
    return FID_OK;
}

/* All methods are loaded and all inputs checked before the first call runs, so that a slip in the last leaves no half of the outputs. */
static fid_status load_methods(runner *r) {
    const arguments *a = r->arguments;
    for (int start = 0; start <= a->option_count; start += call_length(a, start) + 1) {
        const char *name = method_of_call(r, start);
        FID_TRY(load_method(r, name));
        FID_TRY(inputs_check(&find_called(r, name)->inputs, a->options + start, call_length(a, start)));
    }
    return FID_OK;
}

/* The loaded methods as the state functions take them. */
static fid_status each_state(runner *r, const char *option,
                             fid_status (*act)(const fid_environment *environment, const char *path, fid_method *const *methods, size_t count)) {
    fid_method *methods[MOST_METHODS];
    const char *path = option_text(r->arguments, option);
    for (size_t i = 0; i < r->called_count; i++) methods[i] = r->called[i].method;
    return path ? act(&r->session.environment, path, methods, r->called_count) : FID_OK;
}

static int all_calls(runner *r) {
    const arguments *a = r->arguments;
    const char *directory = option_text(a, "--output-dir");
    bool several = option_flag(a, "--next");
    int result = EXIT_OK;
    size_t call = 0;
    for (int start = 0; start <= a->option_count && result == EXIT_OK; start += call_length(a, start) + 1, call++) {
        char path[4096];
        if (directory && several && snprintf(path, sizeof path, "%s/call_%zu", directory, call) >= (int)sizeof path) {
            return failed("run", "the path %s is too long", directory);
        }
        if (several) printf("call %zu\n", call);
        result = one_call(r, find_called(r, method_of_call(r, start)), a->options + start, call_length(a, start), call, directory && several ? path : directory);
    }
    return result;
}

static fid_status open_all(runner *r) {
    const fid_environment *env = &r->session.environment;
    if (option_text(r->arguments, "--trace")) FID_TRY(fid_trace_create(env->allocator, &r->trace));
    FID_TRY(fid_program_open_file(env, r->arguments->files[0], &r->program));
    FID_TRY(data_files_open(env, r->arguments, &r->data));
    FID_TRY(bundle_open(env, r->arguments->files[0], &r->bundle));
    if (fid_program_shares_buffers(r->program)) FID_TRY(fid_shared_state_create(env, &r->shared));
    FID_TRY(load_methods(r));
    return each_state(r, "--load-state", state_load);
}

static void close_all(runner *r) {
    for (size_t i = 0; i < r->called_count; i++) fid_method_unload(r->called[i].method);
    fid_trace_destroy(r->trace);
    fid_shared_state_release(r->shared);
    if (r->program) fid_program_close(r->program);
    data_files_close(&r->data);
    bundle_close(&r->bundle);
    runtime_session_close(&r->session);
}

static int run(arguments *a) {
    runner r = {.arguments = a, .top = 5};
    long threads = 1;
    if (a->file_count != 1) return usage_error(a, "which program? Give one .pte file");
    if (!option_number(a, "--threads", 1, 256, &threads) || !option_number(a, "--top", 1, 1000, &r.top) || !image_options_read(a, &r.image)) {
        return EXIT_USAGE;
    }
    if (!runtime_session_open(&r.session, threads)) return failed("run", "out of memory");
    if (!runtime_session_load_kernels(&r.session, a)) {
        runtime_session_close(&r.session);
        return EXIT_FAILED;
    }
    fid_status status = open_all(&r);
    int result = status == FID_OK ? all_calls(&r) : failed_status("run", status, &r.session);
    if (result == EXIT_OK && r.trace && !trace_save("run", r.trace, option_text(a, "--trace"), &r.session)) result = EXIT_FAILED;
    if (result == EXIT_OK && (status = each_state(&r, "--save-state", state_save)) != FID_OK) result = failed_status("run", status, &r.session);
    close_all(&r);
    return result;
}

const command_row command_run = {
    .name = "run",
    .usage = "M.pte [--data FILE.ptd]... [--method NAME] [--input X]... [--next --input X ...]... [--output-dir DIR] [--threads N] [--trace FILE.etdp]",
    .summary = "runs a .pte program",
    .example = "  fidibus run model.pte --input x.npy --output-dir out\n"
               "  fidibus run model.bpte                                  # a bundled program brings its inputs\n"
               "  fidibus run classifier.pte --input photo.jpg --labels labels.txt\n"
               "  fidibus run counter.pte --input 1 --next --input 2      # two calls, one state\n"
               "  fidibus run base.pte --data base.ptd --data adapter.ptd --input x.npy\n",
    .options = options,
    .run = run,
};
