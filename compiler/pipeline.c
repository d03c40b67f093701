/* The whole compiler, from top to bottom: read this first.
 *
 *   archive -> functionalize -> decompose -> fold -> share -> [widen -> fuse -> layout -> pack -> guard] -> check -> plan -> emit
 *                                                          -> [fold-norms -> partition -> decompose -> fold]  (with a backend)
 *
 * The verifier runs after every stage, so a fault is found where it was made. */
#include "compiler/pipeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/archive/archive.h"
#include "compiler/emit/bundle.h"
#include "compiler/emit/emit.h"
#include "compiler/ir/custom.h"
#include "compiler/ir/problem.h"
#include "compiler/partition/partition.h"
#include "compiler/plan/plan.h"

typedef struct compilation {
    fidc_program *program;
    const fid_sink *sink;
    const fidc_options *options;
    fidc_plan *plans; /* one a method */
    int stage_number;
    unsigned steps_done;
} compilation;

/* ---- Stages ---- */

static fid_status run_functionalize(fidc_program *program, fidc_target target) {
    (void)target;
    FID_TRY(fidc_functionalize(program));
    return fidc_refuse_aliases(program);
}
static fid_status run_share_buffers(fidc_program *program, fidc_target target) { (void)target; return fidc_share_buffers(program); }
static fid_status run_round_once(fidc_program *program, fidc_target target) { (void)target; return fidc_round_once(program); }
static fid_status run_fold(fidc_program *program, fidc_target target) { (void)target; return fidc_fold(program); }
static fid_status run_share(fidc_program *program, fidc_target target) { (void)target; return fidc_share(program); }
static fid_status run_widen(fidc_program *program, fidc_target target) { (void)target; return fidc_widen(program); }
static fid_status run_fuse(fidc_program *program, fidc_target target) { (void)target; return fidc_fuse(program); }
static fid_status run_layout(fidc_program *program, fidc_target target) { (void)target; return fidc_layout(program); }
static fid_status run_guard(fidc_program *program, fidc_target target) { (void)target; return fidc_guard(program); }
static fid_status run_pack(fidc_program *program, fidc_target target) { (void)target; return fidc_pack(program); }
static fid_status run_fold_norms(fidc_program *program, fidc_target target) { (void)target; return fidc_fold_norms(program); }
static fid_status run_partition(fidc_program *program, fidc_target target) {
    (void)target;
    const fidc_backend *backend = program->backend;
    program->backend = NULL; /* what it leaves is decomposed like any other operator */
    return fidc_partition(program, backend, program->per_operator);
}

typedef struct stage {
    const char *name;
    fid_status (*run)(fidc_program *program, fidc_target target);
    enum { ALWAYS, FOR_CPU, FOR_UPSTREAM, FOR_BACKEND } when; /* the portable target keeps upstream's operators as they are */
} stage;

static const stage stages[] = {
    {"functionalize", run_functionalize, ALWAYS}, /* mutations become results, views become copies that the planner elides */
    {"share-buffers", run_share_buffers, ALWAYS}, /* if asked: buffers of a name are one in all methods; before anything takes them for constants */
    {"decompose", fidc_decompose, ALWAYS},        /* every operator that is left has a kernel for the target */
    {"round-once", run_round_once, FOR_UPSTREAM}, /* upstream's kernels: what a call in 16 bits became computes in float32; before constants are final */
    {"fold", run_fold, ALWAYS},                   /* what depends on constants only is a constant */
    {"share", run_share, ALWAYS},                 /* one node for equal work: masks of every layer, repeated views */
    {"fold-norms", run_fold_norms, FOR_BACKEND}, /* batch norms into convolutions of constant weight */
    {"partition", run_partition, FOR_BACKEND},   /* what the backend takes becomes delegates */
    {"decompose-rest", fidc_decompose, FOR_BACKEND},
    {"round-rest", run_round_once, FOR_BACKEND},
    {"fold-rest", run_fold, FOR_BACKEND},
    {"widen", run_widen, FOR_CPU},                  /* 16-bit floats compute in float32; needs what folding leaves */
    {"fuse", run_fuse, FOR_CPU},                    /* norms, biases and activations into fid:: operators */
    {"layout", run_layout, FOR_CPU},                /* channels-last where convolutions are; needs the fid:: operators */
    {"pack", run_pack, FOR_CPU},                    /* weights as kernels read them; needs final operators and layouts */
    {"guard", run_guard, FOR_CPU},                  /* what export promised of the sizes of inputs is checked when the program runs */
};

static bool applies(const compilation *c, const stage *s) {
    if (s->when == FOR_BACKEND) return c->options->backend != NULL;
    return s->when == ALWAYS || (s->when == FOR_CPU) == (c->options->target == FIDC_TARGET_CPU);
}

/* Tells that a step begins: reading, each stage, planning, writing. */
static void begin_step(compilation *c, const char *name) {
    unsigned steps = 3;
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) steps += applies(c, &stages[i]);
    if (c->options->progress) c->options->progress(c->options->progress_self, name, c->steps_done++, steps);
}

static fid_status write_text(compilation *c, const char *name, const char *text) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%02d-%s", c->options->dump_ir, c->stage_number++, name);
    mkdir(c->options->dump_ir, 0777); /* may exist; a real failure shows in the next line */
    FILE *file = fopen(path, "w");
    bool ok = file && fputs(text, file) >= 0;
    if (file && fclose(file) != 0) ok = false;
    return ok ? FID_OK : fid_fail(c->sink, FID_ACCESS_FAILED, "cannot write %s: %s", path, strerror(errno));
}

static fid_status dump(compilation *c, const char *stage_name) {
    char name[64], *text;
    if (!c->options->dump_ir) return FID_OK;
    FID_TRY(fidc_print(c->program, &text));
    snprintf(name, sizeof name, "%s.ir", stage_name);
    return write_text(c, name, text);
}

/* The map of a method's memory. */
static fid_status dump_plan(compilation *c, uint32_t method) {
    if (!c->options->dump_ir) return FID_OK;
    const char *name = fidc_text_format(c->program, "plan-%s.txt", c->program->methods[method]->name);
    const char *text = fidc_plan_print(c->program->methods[method], &c->plans[method]);
    if (!name || !text) return fid_fail(c->sink, FID_OUT_OF_MEMORY, "no memory to print a plan");
    return write_text(c, name, text);
}

static fid_status check_stage(compilation *c, const char *stage_name) {
    for (uint32_t i = 0; i < c->program->method_count; i++) fidc_graph_clean(c->program->methods[i]);
    fid_status status = fidc_verify(c->program);
    if (status != FID_OK) return fid_fail(c->sink, status, "after stage %s", stage_name);
    return dump(c, stage_name);
}

static fid_status run_stages(compilation *c) {
    c->program->bf16_products = c->options->bf16;
    c->program->no_winograd = c->options->no_winograd;
    c->program->backend = c->options->backend;
    c->program->per_operator = c->options->per_operator;
    c->program->share_buffers = c->options->share_buffers;
    c->program->keep_keys = c->options->external_count > 0;
    FID_TRY(check_stage(c, "archive"));
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        if (!applies(c, &stages[i])) continue;
        begin_step(c, stages[i].name);
        FID_TRY(stages[i].run(c->program, c->options->target));
        FID_TRY(check_stage(c, stages[i].name));
    }
    return FID_OK;
}

fid_status fidc_lower(fidc_program *program, const fidc_options *options) {
    compilation c = {.program = program, .sink = program->sink, .options = options};
    return run_stages(&c);
}

/* ---- Planning and writing ---- */

static fid_status plan_methods(compilation *c) {
    bool cpu = c->options->target == FIDC_TARGET_CPU;
    fidc_plan_options options = {
        .alignment = cpu ? 64 : 16, .no_reuse = c->options->no_reuse, .alias_views = true, .in_place = cpu, .plan_inputs = true, .plan_outputs = true};
    c->plans = fidc_allocate(c->program, c->program->method_count * sizeof *c->plans);
    if (!c->plans) return fid_fail(c->sink, FID_OUT_OF_MEMORY, "no memory to plan");
    for (uint32_t i = 0; i < c->program->method_count; i++) {
        FID_TRY(fidc_plan_protect(c->program->methods[i]));
        FID_TRY(fidc_plan_graph(c->program->methods[i], &options, &c->plans[i]));
        FID_TRY(dump_plan(c, i));
    }
    return FID_OK;
}

/* A file in work, under a temporary name beside the target, so that the rename cannot cross file systems and nothing half-written is
 * ever seen. A device or a pipe is written as it is: renaming would put a file in its place. */
typedef struct output_file {
    const fid_sink *sink;
    FILE *file;
    const char *path, *temporary;
    bool special;
    uint64_t bytes;
} output_file;

static fid_status write_bytes(void *self, const void *data, size_t size) {
    output_file *out = self;
    if (size && fwrite(data, 1, size, out->file) != size) {
        return fid_fail(out->sink, FID_ACCESS_FAILED, "cannot write %s: %s", out->path, strerror(errno));
    }
    out->bytes += size;
    return FID_OK;
}

static fid_status open_output(compilation *c, const char *path, output_file *out) {
    struct stat info;
    *out = (output_file){.sink = c->sink, .path = path, .special = stat(path, &info) == 0 && !S_ISREG(info.st_mode)};
    if (out->special && S_ISDIR(info.st_mode)) return fid_fail(c->sink, FID_ACCESS_FAILED, "cannot write %s: it is a directory", path);
    out->temporary = out->special ? path : fidc_text_format(c->program, "%s.%ld.tmp", path, (long)getpid());
    if (!out->temporary) return fid_fail(c->sink, FID_OUT_OF_MEMORY, "no memory to write %s", path);
    out->file = fopen(out->temporary, "wb");
    return out->file ? FID_OK : fid_fail(c->sink, FID_ACCESS_FAILED, "cannot create %s: %s", path, strerror(errno));
}

static fid_status close_output(output_file *out) {
    FILE *file = out->file;
    out->file = NULL;
    return fclose(file) == 0 ? FID_OK : fid_fail(out->sink, FID_ACCESS_FAILED, "cannot write %s: %s", out->path, strerror(errno));
}

/* Gives the file its name, or takes it away. */
static fid_status settle_output(output_file *out, fid_status status) {
    if (out->file) fclose(out->file);
    if (out->special || !out->temporary) return status;
    if (status == FID_OK && rename(out->temporary, out->path) != 0) {
        status = fid_fail(out->sink, FID_ACCESS_FAILED, "cannot write %s: %s", out->path, strerror(errno));
    }
    if (status != FID_OK) unlink(out->temporary);
    return status;
}

/* A program that is only a part of the file gathers in memory. */
typedef struct memory_file {
    const fid_sink *sink;
    uint8_t *data;
    size_t size, capacity;
} memory_file;

static fid_status gather_bytes(void *self, const void *data, size_t size) {
    memory_file *m = self;
    if (size > m->capacity - m->size) {
        size_t capacity = 2 * (m->size + size);
        uint8_t *larger = realloc(m->data, capacity);
        if (!larger) return fid_fail(m->sink, FID_OUT_OF_MEMORY, "no memory for a program of %zu bytes", capacity);
        m->data = larger;
        m->capacity = capacity;
    }
    if (size) memcpy(m->data + m->size, data, size);
    m->size += size;
    return FID_OK;
}

static fid_status emit_bundle(compilation *c, const fidc_emit_options *options, const fidc_writer *writer) {
    memory_file program = {.sink = c->sink};
    fidc_writer gatherer = {gather_bytes, &program};
    fid_status status = fidc_emit(c->program, c->plans, options, &gatherer);
    if (status == FID_OK) status = fidc_bundle(c->program, fid_span_of(program.data, program.size), writer);
    free(program.data);
    return status;
}

/* The program and its data files. */
typedef struct output_set {
    output_file *files; /* data files, then the program */
    fidc_writer *writers;
    fidc_external_rule *rules;
    size_t data_count;
} output_set;

/* The data files that the rules name, each once. */
static fid_status open_data_files(compilation *c, output_set *set) {
    const fidc_options *options = c->options;
    for (size_t i = 0; i < options->external_count; i++) {
        const char *path = options->externals[i].path;
        size_t file = 0;
        while (file < set->data_count && strcmp(set->files[file].path, path) != 0) file++;
        if (file == set->data_count) {
            set->writers[file] = (fidc_writer){write_bytes, &set->files[file]};
            set->data_count++;
            FID_TRY(open_output(c, path, &set->files[file]));
        }
        set->rules[i] = (fidc_external_rule){options->externals[i].pattern, (uint32_t)file};
    }
    return FID_OK;
}

static fid_status write_program(compilation *c, output_set *set, const char *path) {
    FID_TRY(open_data_files(c, set));
    output_file *out = &set->files[set->data_count];
    FID_TRY(open_output(c, path, out));
    fidc_emit_options options = {.target = c->options->target, .stack_traces = c->options->stack_traces, .no_debug = c->options->no_debug, .externals = set->rules,
                                 .external_count = c->options->external_count, .data_writers = set->writers, .data_count = set->data_count};
    fidc_writer writer = {write_bytes, out};
    FID_TRY(c->options->bundle ? emit_bundle(c, &options, &writer) : fidc_emit(c->program, c->plans, &options, &writer));
    for (size_t i = 0; i <= set->data_count; i++) FID_TRY(close_output(&set->files[i]));
    return FID_OK;
}

/* All files or none; the program comes last, when what it needs is there. */
static fid_status write_files(compilation *c, const char *path, fidc_report *report) {
    size_t most = c->options->external_count + 1;
    output_set set = {.files = fidc_allocate(c->program, most * sizeof *set.files), .writers = fidc_allocate(c->program, most * sizeof *set.writers),
                      .rules = fidc_allocate(c->program, most * sizeof *set.rules)};
    if (!set.files || !set.writers || !set.rules) return fid_fail(c->sink, FID_OUT_OF_MEMORY, "no memory to write %s", path);
    fid_status status = write_program(c, &set, path);
    for (size_t i = 0; i <= set.data_count; i++) {
        status = settle_output(&set.files[i], status);
        if (i < set.data_count) report->data_bytes += set.files[i].bytes;
        else report->program_bytes = set.files[i].bytes;
    }
    return status;
}

/* ---- Report ---- */

static void count_graph(const fidc_graph *graph, fidc_report *report) {
    for (const fidc_node *node = graph->first; node; node = node->next) report->operators++;
    for (uint32_t i = 0; i < graph->value_count; i++) {
        if (graph->values[i]->origin == FIDC_FROM_CONSTANT) report->constant_bytes += graph->values[i]->constant->bytes;
    }
}

static void fill_report(const compilation *c, fidc_report *report) {
    report->plan_is_optimal = true;
    report->winograd_bytes = c->program->winograd_bytes;
    for (uint32_t i = 0; i < c->program->method_count; i++) {
        count_graph(c->program->methods[i], report);
        report->planned_bytes += c->plans[i].planned_bytes;
        report->liveness_bound_bytes += c->plans[i].bound_bytes;
        report->plan_is_optimal &= c->plans[i].is_optimal;
    }
}

static fid_status report_delegates(const compilation *c, fidc_report *report) {
    fidc_partition_summary summary;
    FID_TRY(fidc_partition_summarize(c->program, &summary));
    report->delegates = summary.delegates;
    report->delegated = summary.delegated;
    report->outside_json = summary.outside_json;
    return FID_OK;
}

void fidc_report_deinit(fid_allocator allocator, fidc_report *report) {
    free(report->outside_json);
    report->outside_json = NULL;
    char **texts[] = {&report->unsupported, &report->unsupported_json};
    for (size_t i = 0; i < 2; i++) {
        if (*texts[i]) fid_free(allocator, *texts[i], strlen(*texts[i]) + 1);
        *texts[i] = NULL;
    }
}

static fid_status check_supported(compilation *c) {
    if (!c->options->allow_missing) return fidc_check_supported(c->program, c->options->target);
    c->program->sink = NULL; /* the report goes on as a warning */
    fid_status status = fidc_check_supported(c->program, c->options->target);
    c->program->sink = c->sink;
    return status == FID_OPERATOR_MISSING ? FID_OK : status == FID_OK ? FID_OK : fidc_problems_tell(c->program);
}

/* A stage that fails may do so for a problem that is known already, and the whole list is the better answer. Until the passes are
 * through, calls that they would decompose have no kernel, so that only unknown operators join. */
static fid_status tell_failure(const compilation *c, fid_status status) {
    if (status == FID_OUT_OF_MEMORY || fidc_find_unknown(c->program) != FID_OK || !c->program->problem_count) return status;
    return fidc_problems_tell(c->program);
}

/* Text that outlives the program. */
static char *keep_text(fid_allocator allocator, const fidc_program *program, void (*print)(const fidc_program *program, FILE *out)) {
    char *text = NULL, *kept = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out) {
        print(program, out);
        fclose(out);
    }
    if (text && (kept = fid_allocate(allocator, size + 1))) memcpy(kept, text, size + 1);
    free(text);
    return kept;
}

static void keep_problems(const compilation *c, fid_allocator allocator, fidc_report *report) {
    report->unsupported_count = c->program->problem_count;
    if (!report->unsupported_count) return;
    report->unsupported = keep_text(allocator, c->program, fidc_problems_print);
    report->unsupported_json = keep_text(allocator, c->program, fidc_problems_print_json);
}

/* ---- The call ---- */

static fid_status read_methods(compilation *c, const fidc_method_file *methods, size_t method_count) {
    for (size_t i = 0; i < c->options->schema_count; i++) FID_TRY(fidc_custom_read(c->program, c->options->schemas[i]));
    for (size_t i = 0; i < method_count; i++) FID_TRY(fidc_archive_read(c->program, methods[i].path, methods[i].name));
    for (size_t i = 0; i < c->options->constant_count; i++) FID_TRY(fidc_constant_method_add(c->program, &c->options->constants[i]));
    return FID_OK;
}

static fid_status compile(compilation *c, const fidc_method_file *methods, size_t method_count, const char *output_path, fidc_report *report) {
    begin_step(c, "read");
    FID_TRY(read_methods(c, methods, method_count));
    fid_status status = run_stages(c);
    if (status != FID_OK) return tell_failure(c, status);
    FID_TRY(check_supported(c));
    begin_step(c, "plan");
    FID_TRY(plan_methods(c));
    begin_step(c, "write");
    FID_TRY(write_files(c, output_path, report));
    fill_report(c, report);
    return c->options->backend ? report_delegates(c, report) : FID_OK;
}

fid_status fidc_compile(fid_allocator allocator, const fid_sink *sink, const fidc_method_file *methods, size_t method_count,
                        const fidc_options *options, const char *output_path, fidc_report *out_report) {
    compilation c = {.sink = sink, .options = options};
    *out_report = (fidc_report){0};
    FID_TRY(fidc_program_create(allocator, sink, &fid_builtin_ops, &c.program));
    fid_status status = compile(&c, methods, method_count, output_path, out_report);
    keep_problems(&c, allocator, out_report);
    fidc_program_destroy(c.program);
    return status;
}
