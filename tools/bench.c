/* fidibus bench: load, first and steady latency, memory. */
#include <stdlib.h>

#include "tools/data_files.h"
#include "tools/inputs.h"

static const option_row options[] = {
    {"--method", "NAME", "which method; default forward, or the only one"},
    DATA_OPTION_ROW,
    {"--input", "X", "as for `fidibus run`; without any, those of the bundle, else made up"},
    {"--threads", "N", "threads for one run, default 1"},
    {"--repeat", "N", "steady runs; default: as many as --seconds takes, at least 5"},
    {"--seconds", "S", "how long the steady runs go on, default 2"},
    KERNELS_OPTION_ROW,
    {"--reference", NULL, "the plain reference kernels"},
    {"--json", NULL, "one JSON object"},
    IMAGE_OPTION_ROWS,
    {NULL, NULL, NULL},
};

typedef struct figures {
    double load_ms, first_ms, min_ms, median_ms;
    long repeats;
    long base_rss; /* bytes of the process before it opens the program */
} figures;

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static fid_status steady(fid_method *method, long repeat, double seconds, figures *out) {
    long most = repeat ? repeat : 100000;
    double *times = malloc((size_t)most * sizeof *times), start = milliseconds_now();
    if (!times) return FID_OUT_OF_MEMORY;
    fid_status status = FID_OK;
    long count = 0;
    while (status == FID_OK && count < most && (repeat || count < 5 || milliseconds_now() - start < 1e3 * seconds)) {
        double before = milliseconds_now();
        status = fid_method_run(method);
        times[count++] = milliseconds_now() - before;
    }
    qsort(times, (size_t)count, sizeof *times, by_value);
    if (count) {
        out->min_ms = times[0];
        out->median_ms = times[count / 2];
        out->repeats = count;
    }
    free(times);
    return status;
}

static void print_figures(const arguments *a, const figures *f, long threads, size_t file_bytes, size_t planned_bytes) {
    if (option_flag(a, "--json")) {
        printf("{\"load_ms\": %.4f, \"first_ms\": %.4f, \"min_ms\": %.4f, \"median_ms\": %.4f, \"repeats\": %ld, \"peak_rss_bytes\": %ld, "
               "\"base_rss_bytes\": %ld, \"file_bytes\": %zu, \"planned_bytes\": %zu, \"threads\": %ld}\n",
               f->load_ms, f->first_ms, f->min_ms, f->median_ms, f->repeats, peak_resident_bytes(), f->base_rss, file_bytes, planned_bytes, threads);
        return;
    }
    printf("load    %10.3f ms\nfirst   %10.3f ms\nsteady  %10.3f ms minimum, %.3f ms median of %ld runs, %ld thread%s\n", f->load_ms, f->first_ms,
           f->min_ms, f->median_ms, f->repeats, threads, threads == 1 ? "" : "s");
    printf("memory  %s at most in the process; file %s, planned %s\n", BYTES_TEXT((uint64_t)peak_resident_bytes()), BYTES_TEXT(file_bytes),
           BYTES_TEXT(planned_bytes));
}

typedef struct bench_state {
    const arguments *arguments;
    runtime_session session;
    fid_image_options image;
    bundle_file bundle;
    data_files data;
    fid_program *program;
    fid_method *method;
    loaded_input *loaded;
    figures figures;
} bench_state;

static fid_status measure(bench_state *b, long repeat, double seconds) {
    const fid_environment *env = &b->session.environment;
    fid_method_options method_options = {.struct_size = sizeof method_options, .no_cpu_kernels = option_flag(b->arguments, "--reference")};
    b->figures.base_rss = resident_bytes();
    double start = milliseconds_now();
    FID_TRY(fid_program_open_file(env, b->arguments->files[0], &b->program));
    FID_TRY(data_files_open(env, b->arguments, &b->data));
    method_options.data = b->data.items;
    method_options.data_count = b->data.count;
    const char *name = choose_method(b->program, b->arguments);
    FID_TRY(fid_method_load(b->program, name, &method_options, &b->method));
    b->figures.load_ms = milliseconds_now() - start;
    FID_TRY(bundle_open(env, b->arguments->files[0], &b->bundle));
    b->loaded = calloc(fid_method_input_count(b->method) + 1, sizeof *b->loaded);
    if (!b->loaded) return FID_OUT_OF_MEMORY;
    input_source source = {env, &b->image, &b->bundle, name, b->method};
    FID_TRY(inputs_read_or_make(&source, b->arguments, b->loaded));
    FID_TRY(inputs_set(b->method, b->loaded));
    start = milliseconds_now();
    FID_TRY(fid_method_run(b->method));
    b->figures.first_ms = milliseconds_now() - start;
    return steady(b->method, repeat, seconds, &b->figures);
}

static void close_all(bench_state *b) {
    for (size_t i = 0; b->loaded && i < fid_method_input_count(b->method); i++) loaded_input_free(&b->loaded[i]);
    free(b->loaded);
    if (b->method) fid_method_unload(b->method);
    if (b->program) fid_program_close(b->program);
    data_files_close(&b->data);
    bundle_close(&b->bundle);
    runtime_session_close(&b->session);
}

static int run(arguments *a) {
    bench_state b = {.arguments = a};
    long threads = 1, repeat = 0;
    const char *seconds_text = option_text(a, "--seconds");
    double seconds = seconds_text ? strtod(seconds_text, NULL) : 2;
    if (a->file_count != 1) return usage_error(a, "which program? Give one .pte file");
    if (!option_number(a, "--threads", 1, 256, &threads) || !option_number(a, "--repeat", 1, 1000000, &repeat) || !image_options_read(a, &b.image)) {
        return EXIT_USAGE;
    }
    if (!(seconds > 0 && seconds < 1e6)) return usage_error(a, "--seconds takes a number above 0, not \"%s\"", seconds_text);
    if (!runtime_session_open(&b.session, threads)) return failed("bench", "out of memory");
    if (!runtime_session_load_kernels(&b.session, a)) {
        runtime_session_close(&b.session);
        return EXIT_FAILED;
    }
    fid_status status = measure(&b, repeat, seconds);
    int result = status == FID_OK ? EXIT_OK : failed_status("bench", status, &b.session);
    if (result == EXIT_OK) {
        FILE *file = fopen(a->files[0], "rb");
        long size = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
        if (file) fclose(file);
        print_figures(a, &b.figures, threads, (size_t)size, fid_method_planned_bytes(b.method));
    }
    close_all(&b);
    return result;
}

const command_row command_bench = {
    .name = "bench",
    .usage = "M.pte [--data FILE.ptd]... [--method NAME] [--threads N] [--repeat N] [--seconds S] [--json]",
    .summary = "times loading and running a .pte program",
    .example = "  fidibus bench model.pte --threads 2\n",
    .options = options,
    .run = run,
};
