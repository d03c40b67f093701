/* fidibus profile: where the time of a model goes, by operator, by module and by line of its source. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/data_files.h"
#include "tools/inputs.h"
#include "tools/profile.h"
#include "tools/trace_file.h"

static const option_row options[] = {
    {"--pte", "M.pte", "the program of the trace: operators, shapes, modules, source lines, and how near to the machine's roof each comes"},
    {"--method", "NAME", "which method; default forward, or the only one"},
    {"--threads", "N", "threads of the runs and of the roof, default 1"},
    {"--top", "N", "rows of each table, default 15"},
    {"--html", "FILE", "writes a page with a flame chart and every instruction's source line"},
    {"--json", NULL, "one JSON object"},
    {"--no-roof", NULL, "does not measure what the machine can do"},
    {"--seconds", "S", "a program: how long it runs, default 1"},
    {"--trace", "FILE.etdp", "a program: keeps the trace"},
    {"--input", "X", "a program: as for `fidibus run`; without any, those of the bundle, else made up"},
    DATA_OPTION_ROW,
    KERNELS_OPTION_ROW,
    {"--reference", NULL, "a program: the plain reference kernels"},
    IMAGE_OPTION_ROWS,
    {NULL, NULL, NULL},
};

typedef struct profiler {
    const arguments *arguments;
    runtime_session session;
    fid_image_options image;
    double seconds;
    long top;
    program_view view; /* of --pte, or of the program itself */
    bool has_view;
    void *dump_bytes; /* malloc'ed or from the allocator */
    size_t dump_size;
    bool dump_allocated;
    profile profile;
} profiler;

/* ---- The trace: from a file, or by running ---- */

typedef struct traced_run {
    bundle_file bundle;
    data_files data;
    fid_program *program;
    fid_method *method;
    fid_trace *trace;
    loaded_input *loaded;
} traced_run;

static fid_status run_traced(profiler *pr, traced_run *r) {
    const fid_environment *env = &pr->session.environment;
    const arguments *a = pr->arguments;
    FID_TRY(fid_trace_create(env->allocator, &r->trace));
    fid_method_options method_options = {.struct_size = sizeof method_options, .no_cpu_kernels = option_flag(a, "--reference"),
                                         .tracer = fid_trace_tracer(r->trace)};
    FID_TRY(fid_program_open_file(env, a->files[0], &r->program));
    FID_TRY(data_files_open(env, a, &r->data));
    method_options.data = r->data.items;
    method_options.data_count = r->data.count;
    const char *name = choose_method(r->program, a);
    FID_TRY(fid_method_load(r->program, name, &method_options, &r->method));
    FID_TRY(bundle_open(env, a->files[0], &r->bundle));
    r->loaded = calloc(fid_method_input_count(r->method) + 1, sizeof *r->loaded);
    if (!r->loaded) return FID_OUT_OF_MEMORY;
    input_source source = {env, &pr->image, &r->bundle, name, r->method};
    FID_TRY(inputs_read_or_make(&source, a, r->loaded));
    FID_TRY(inputs_set(r->method, r->loaded));
    double start = milliseconds_now();
    for (long count = 0; count < 4 || (count < 1000 && milliseconds_now() - start < 1e3 * pr->seconds); count++) FID_TRY(fid_method_run(r->method));
    pr->dump_allocated = true;
    uint8_t *bytes;
    FID_TRY(fid_trace_write(r->trace, &env->sink, &bytes, &pr->dump_size));
    pr->dump_bytes = bytes;
    return FID_OK;
}

static fid_status trace_program(profiler *pr) {
    traced_run r = {0};
    fid_status status = run_traced(pr, &r);
    for (size_t i = 0; r.loaded && i < fid_method_input_count(r.method); i++) loaded_input_free(&r.loaded[i]);
    free(r.loaded);
    if (r.method) fid_method_unload(r.method);
    fid_trace_destroy(r.trace);
    if (r.program) fid_program_close(r.program);
    data_files_close(&r.data);
    bundle_close(&r.bundle);
    return status;
}

static fid_status read_trace(profiler *pr) {
    pr->dump_bytes = read_file(pr->arguments->files[0], &pr->dump_size);
    if (pr->dump_bytes) return FID_OK;
    return fid_fail(&pr->session.environment.sink, FID_ACCESS_FAILED, "cannot read %s: %s", pr->arguments->files[0], strerror(errno));
}

static bool is_program(const char *path) {
    uint8_t head[12] = {0};
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(head, 1, sizeof head, file) : 0;
    if (file) fclose(file);
    return size >= 8 && (memcmp(head + 4, "ET", 2) == 0 || memcmp(head + 4, FID_BPTE_IDENTIFIER, 4) == 0);
}

/* ---- Putting it together ---- */

/* The second level, which belongs to one core on most machines; where nobody tells, what any has. */
static size_t core_cache_bytes(void) {
    long bytes = -1;
#ifdef _SC_LEVEL2_CACHE_SIZE
    bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    return bytes > 0 ? (size_t)bytes : 512 * 1024;
}

static fid_status measure_roof(profiler *pr, size_t planned) {
    const fid_environment *env = &pr->session.environment;
    /* As much as the program touches, so that it comes from the same place: a cache of all cores, or memory. */
    size_t least = 4 * pr->profile.near_bytes * (size_t)pr->profile.threads, size = (size_t)program_view_constants(&pr->view);
    if (size < planned) size = planned;
    if (size > 256 * 1024 * 1024) size = 256 * 1024 * 1024;
    if (size < least) size = least;
    void *memory = fid_allocate(env->allocator, size);
    if (!memory) return fid_fail(&env->sink, FID_OUT_OF_MEMORY, "no memory to measure the machine; --no-roof does without");
    memset(memory, 0, size);
    const fidk_roof_setup setup = {.cpu = env->cpu, .threads = env->threads, .memory = memory, .size = size, .near_size = pr->profile.near_bytes / 2,
                                   .now = env->now, .now_self = env->now_self};
    pr->profile.roof = fidk_roof_measure(&setup);
    fid_free(env->allocator, memory, size);
    return FID_OK;
}

static const char *method_of(const profiler *pr) {
    const char *name = option_text(pr->arguments, "--method");
    fid_fb_vector plans = fid_fb_get_vector(pr->view.pte.root, FID_PTE_Program_execution_plan);
    if (name || plans.count != 1) return name ? name : "forward";
    return fid_fb_get_string(fid_fb_table_at(plans, 0), FID_PTE_ExecutionPlan_name);
}

static fid_status explain(profiler *pr, const char *program) {
    const fid_sink *sink = &pr->session.environment.sink;
    fid_fb_ref plan;
    pr->has_view = true;
    fid_status status = program_view_open(sink, program, &pr->view);
    if (status != FID_OK) return fid_fail(sink, status, "%s", program);
    pr->profile.method = method_of(pr);
    if (!program_view_plan(&pr->view, pr->profile.method, &plan)) return fid_fail(sink, FID_NOT_FOUND, "%s has no method \"%s\"", program, pr->profile.method);
    profile_explain(&pr->profile, &pr->view, plan);
    return option_flag(pr->arguments, "--no-roof") ? FID_OK : measure_roof(pr, (size_t)program_view_planned(plan));
}

static fid_status make_profile(profiler *pr) {
    const fid_sink *sink = &pr->session.environment.sink;
    const char *file = pr->arguments->files[0], *program = is_program(file) ? file : option_text(pr->arguments, "--pte");
    fid_etdump dump;
    pr->profile.title = file;
    FID_TRY(program == file ? trace_program(pr) : read_trace(pr));
    fid_status status = fid_etdump_open(sink, fid_span_of(pr->dump_bytes, pr->dump_size), &dump);
    if (status != FID_OK) return fid_fail(sink, status, "%s is neither a trace (.etdp) nor a program", file);
    if (!profile_gather(&pr->profile, &dump)) return fid_fail(sink, FID_OUT_OF_MEMORY, "no memory for the profile");
    if (!pr->profile.runs) return fid_fail(sink, FID_INVALID_STATE, "%s tells of no run: the method was loaded and not run", file);
    return program ? explain(pr, program) : FID_OK;
}

static int show(profiler *pr) {
    const arguments *a = pr->arguments;
    const char *html = option_text(a, "--html"), *trace = option_text(a, "--trace");
    if (trace && pr->dump_allocated && !write_file(trace, &(file_part){pr->dump_bytes, pr->dump_size}, 1)) {
        return failed("profile", "cannot write %s: %s", trace, strerror(errno));
    }
    if (html && !profile_write_html(&pr->profile, html)) return failed("profile", "cannot write %s: %s", html, strerror(errno));
    if (option_flag(a, "--json")) profile_print_json(&pr->profile, stdout);
    else profile_print(&pr->profile, (size_t)pr->top);
    return EXIT_OK;
}

static void close_all(profiler *pr) {
    if (pr->dump_allocated && pr->dump_bytes) fid_free(pr->session.environment.allocator, pr->dump_bytes, pr->dump_size);
    else free(pr->dump_bytes);
    profile_free(&pr->profile);
    if (pr->has_view) program_view_close(&pr->view);
    runtime_session_close(&pr->session);
}

static int run(arguments *a) {
    profiler pr = {.arguments = a, .top = 15, .profile = {.threads = 1, .near_bytes = core_cache_bytes()}};
    const char *seconds = option_text(a, "--seconds");
    pr.seconds = seconds ? strtod(seconds, NULL) : 1;
    if (a->file_count != 1) return usage_error(a, "which trace or program? Give one file");
    if (!option_number(a, "--threads", 1, 256, &pr.profile.threads) || !option_number(a, "--top", 1, 100000, &pr.top) || !image_options_read(a, &pr.image)) return EXIT_USAGE;
    if (!(pr.seconds > 0 && pr.seconds < 1e6)) return usage_error(a, "--seconds takes a number above 0, not \"%s\"", seconds);
    if (!runtime_session_open(&pr.session, pr.profile.threads)) return failed("profile", "out of memory");
    if (!runtime_session_load_kernels(&pr.session, a)) {
        runtime_session_close(&pr.session);
        return EXIT_FAILED;
    }
    fid_status status = make_profile(&pr);
    int result = status == FID_OK ? show(&pr) : failed_status("profile", status, &pr.session);
    close_all(&pr);
    return result;
}

const command_row command_profile = {
    .name = "profile",
    .usage = "FILE.etdp [--pte M.pte] | M.pte [--threads N] [--html FILE] [--json]",
    .summary = "shows where the time goes: by operator, module and source line",
    .example = "  fidibus profile model.pte --html profile.html\n"
               "  fidibus run model.pte --input x.npy --next --input x.npy --trace t.etdp && fidibus profile t.etdp --pte model.pte\n",
    .options = options,
    .run = run,
};
