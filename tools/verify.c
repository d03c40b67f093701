/* fidibus verify: where do the numbers of a program part from those of its archive?
 *
 * The archive's graph runs on reference kernels as it was exported; the program runs as it will on a device. If their outputs part,
 * the graph is lowered again, and every value that both graphs know by name is compared, in order, so that the first operator
 * that differs is found, with its line in the user's model. */
#include <math.h>
#include <stdlib.h>

#include "compiler/archive/archive.h"
#include "compiler/ir/infer.h"
#include "compiler/ir/interpret.h"
#include "compiler/pipeline.h"
#include "tools/data_files.h"
#include "tools/inputs.h"
#include "tools/labels.h"

static const option_row options[] = {
    {"--input", "X", "as for `fidibus run`; without any, the archive's own sample inputs"},
    DATA_OPTION_ROW,
    {"--method", "NAME", "the method to compare, default forward"},
    {"--tolerance", "X", "largest difference as a share of a value's scale, default 1e-4"},
    {"--all", NULL, "a line for each operator, not only for those that differ"},
    IMAGE_OPTION_ROWS,
    {NULL, NULL, NULL},
};

/* A value that a run produced, kept for comparing. */
typedef struct seen_value {
    const char *name, *where;
    fid_tensor tensor;
    int64_t sizes[FID_MAX_RANK];
    void *data;
} seen_value;

typedef struct recorder {
    seen_value *values;
    size_t count, capacity;
    bool out_of_memory;
} recorder;

static void record(void *self, const fidc_node *node, uint32_t output, const fid_value *value) {
    recorder *r = self;
    if (value->tag != FID_TAG_TENSOR || r->out_of_memory) return;
    if (r->count == r->capacity) {
        size_t capacity = r->capacity ? r->capacity * 2 : 256;
        seen_value *values = realloc(r->values, capacity * sizeof *values);
        if (!values) { r->out_of_memory = true; return; }
        r->values = values;
        r->capacity = capacity;
    }
    seen_value *seen = &r->values[r->count];
    const fid_tensor *t = value->as.tensor;
    *seen = (seen_value){.name = node->outputs[output]->name, .where = fidc_where(node), .tensor = *t, .data = malloc(fid_tensor_bytes(t) + 1)};
    if (!seen->data) { r->out_of_memory = true; return; }
    memcpy(seen->sizes, t->sizes, t->rank * sizeof *t->sizes);
    tensor_to_row_major(t, seen->data);
    r->count++;
}

static void forget(recorder *r) {
    for (size_t i = 0; i < r->count; i++) free(r->values[i].data);
    free(r->values);
}

/* ---- Comparing ---- */

/* Largest difference over the largest magnitude; infinity where one is finite and the other not. */
static double difference(const fid_tensor *t, const void *a, const void *b) {
    double worst = 0, scale = 0;
    for (size_t i = 0; i < fid_tensor_numel(t); i++) {
        double x = tensor_element(t, i, a), y = tensor_element(t, i, b);
        if (isnan(x) && isnan(y)) continue;
        if (x == y) { scale = isfinite(x) ? fmax(scale, fabs(x)) : scale; continue; }
        if (!isfinite(x) || !isfinite(y)) return INFINITY;
        worst = fmax(worst, fabs(x - y));
        scale = fmax(scale, fmax(fabs(x), fabs(y)));
    }
    return worst > 0 ? worst / scale : 0;
}

static bool same_shape(const seen_value *a, const seen_value *b) {
    return a->tensor.dtype == b->tensor.dtype && a->tensor.rank == b->tensor.rank &&
           memcmp(a->sizes, b->sizes, a->tensor.rank * sizeof a->sizes[0]) == 0;
}

static const seen_value *find(const recorder *r, const char *name) {
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->values[i].name, name) == 0) return &r->values[i];
    }
    return NULL;
}

static size_t compare_recorded(recorder *exported, recorder *lowered, double tolerance, bool all) {
    size_t compared = 0, differing = 0;
    for (size_t i = 0; i < lowered->count; i++) {
        seen_value *after = &lowered->values[i];
        const seen_value *before = find(exported, after->name);
        if (!before || !same_shape(before, after)) continue;
        fid_tensor shape = after->tensor;
        shape.sizes = after->sizes;
        double d = difference(&shape, before->data, after->data);
        compared++;
        differing += d > tolerance;
        if (d > tolerance || all) printf("%s %9.2e  %s\n", d > tolerance ? "DIFFERS" : "ok     ", d, before->where);
    }
    printf("%zu operator%s compared by name, %zu differ%s by more than %g of their scale\n", compared, plural(compared), differing,
           differing == 1 ? "s" : "", tolerance);
    return differing;
}

/* ---- The three runs ---- */

typedef struct verification {
    const arguments *arguments;
    runtime_session session;
    fid_image_options image;
    double tolerance;
    loaded_input *inputs;
    fid_value *values;
    size_t input_count;
    data_files data;
    fid_program *program;
    fid_method *method;
    fidc_program *exported, *lowered;
} verification;

static fid_status read_graph(verification *v, fidc_program **out) {
    const char *method = option_text(v->arguments, "--method");
    FID_TRY(fidc_program_create(v->session.environment.allocator, &v->session.environment.sink, &fid_builtin_ops, out));
    FID_TRY(fidc_archive_read(*out, v->arguments->files[0], method ? method : "forward"));
    fidc_graph_clean((*out)->methods[0]);
    return FID_OK;
}

static fid_status example_inputs(verification *v) {
    const fidc_graph *graph = v->exported->methods[0];
    if (!graph->example_inputs || graph->input_count != v->input_count) {
        return fid_fail(&v->session.environment.sink, FID_NOT_FOUND, "the archive carries no sample inputs: give --input for each");
    }
    for (size_t i = 0; i < v->input_count; i++) {
        FID_TRY(fidc_arg_to_value(v->exported, &graph->example_inputs[i], FIDC_AT_HINT, &v->exported->arena, &v->values[i]));
    }
    return FID_OK;
}

/* From --input, else from the archive. */
static fid_status read_inputs(verification *v) {
    const arguments *a = v->arguments;
    bundle_file none = {.map = NULL};
    input_source source = {&v->session.environment, &v->image, &none, "", v->method};
    v->input_count = fid_method_input_count(v->method);
    v->inputs = calloc(v->input_count + 1, sizeof *v->inputs);
    v->values = calloc(v->input_count + 1, sizeof *v->values);
    if (!v->inputs || !v->values) return FID_OUT_OF_MEMORY;
    if (v->input_count && !inputs_given(a->options, a->option_count)) return example_inputs(v);
    FID_TRY(inputs_check(&source, a->options, a->option_count));
    FID_TRY(inputs_read(&source, a->options, a->option_count, 0, v->inputs));
    for (size_t i = 0; i < v->input_count; i++) v->values[i] = v->inputs[i].value;
    return FID_OK;
}

/* The inputs with data of their own: the interpreter writes those that the method changes. */
typedef struct input_copies {
    fid_value *values;
    fid_tensor *tensors;
    size_t count;
} input_copies;

static bool copy_inputs(const verification *v, input_copies *out) {
    *out = (input_copies){calloc(v->input_count + 1, sizeof *out->values), calloc(v->input_count + 1, sizeof *out->tensors), v->input_count};
    for (size_t i = 0; out->values && out->tensors && i < v->input_count; i++) {
        out->values[i] = v->values[i];
        if (v->values[i].tag != FID_TAG_TENSOR) continue;
        out->tensors[i] = *v->values[i].as.tensor;
        size_t bytes = fid_tensor_bytes(&out->tensors[i]);
        out->tensors[i].data = malloc(bytes + 1);
        if (!out->tensors[i].data) return false;
        if (bytes) memcpy(out->tensors[i].data, v->values[i].as.tensor->data, bytes);
        out->values[i] = fid_tensor_value(&out->tensors[i]);
    }
    return out->values && out->tensors;
}

static void free_copies(input_copies *copies) {
    for (size_t i = 0; copies->tensors && i < copies->count; i++) free(copies->tensors[i].data);
    free(copies->tensors);
    free(copies->values);
}

static fid_status interpret(verification *v, fidc_program *program, bool fast, recorder *r, fidc_interpreter **out) {
    fidc_interpreter_options interpreter_options = {.observer = {record, r}, .fast_kernels = fast, .cpu = v->session.environment.cpu};
    input_copies copies;
    fid_status status = copy_inputs(v, &copies) ? FID_OK : FID_OUT_OF_MEMORY;
    if (status == FID_OK) status = fidc_interpreter_create(program->methods[0], &interpreter_options, out);
    if (status == FID_OK) status = fidc_interpreter_run(*out, copies.values, copies.count);
    free_copies(&copies);
    return status;
}

static fid_status run_program(verification *v) {
    for (size_t i = 0; i < v->input_count; i++) {
        fid_input input = {.struct_size = sizeof input, .value = v->values[i]};
        FID_TRY(fid_method_set_input(v->method, i, &input));
    }
    return fid_method_run(v->method);
}

/* The node that makes an output; NULL: none does. */
static const fidc_node *output_maker(const fidc_graph *graph, size_t output) {
    const fidc_value *value = output < graph->output_count ? fidc_value_of(&graph->outputs[output]) : NULL;
    return value ? value->producer : NULL;
}

/* Outputs of the program beside those of the exported graph; counts those that differ. */
static fid_status compare_outputs(verification *v, fidc_interpreter *exported, size_t *out_differing) {
    size_t count = fid_method_output_count(v->method), expected = v->exported->methods[0]->output_count;
    if (count != expected) {
        return fid_fail(&v->session.environment.sink, FID_INVALID_ARGUMENT, "the program has %zu output%s, the archive %zu: it comes from another archive",
                        count, plural(count), expected);
    }
    for (size_t i = 0; i < count; i++) {
        const fid_value *mine, *reference = fidc_interpreter_output(exported, i);
        FID_TRY(fid_method_output(v->method, i, &mine));
        if (mine->tag != FID_TAG_TENSOR || reference->tag != FID_TAG_TENSOR) continue; /* numbers that export froze */
        const fid_tensor *a = mine->as.tensor, *b = reference->as.tensor;
        double d = INFINITY;
        if (a->rank == b->rank && a->dtype == b->dtype && memcmp(a->sizes, b->sizes, a->rank * sizeof a->sizes[0]) == 0) {
            void *x = malloc(fid_tensor_bytes(a) + 1), *y = malloc(fid_tensor_bytes(b) + 1);
            if (!x || !y) { free(x); free(y); return FID_OUT_OF_MEMORY; }
            tensor_to_row_major(a, x);
            tensor_to_row_major(b, y);
            d = difference(a, x, y);
            free(x);
            free(y);
        }
        const fidc_node *maker = output_maker(v->exported->methods[0], i);
        printf("output %zu: differs by %.2e of its scale%s%s\n", i, d, d > v->tolerance ? "  TOO MUCH, from " : "",
               d <= v->tolerance ? "" : maker ? fidc_where(maker) : "the model's inputs");
        *out_differing += d > v->tolerance;
    }
    return FID_OK;
}

static fid_status verify(verification *v, size_t *out_differing) {
    const arguments *a = v->arguments;
    recorder before = {0}, after = {0};
    fidc_interpreter *exported = NULL, *lowered = NULL;
    FID_TRY(fid_program_open_file(&v->session.environment, a->files[1], &v->program));
    FID_TRY(data_files_open(&v->session.environment, a, &v->data));
    fid_method_options method_options = {.struct_size = sizeof method_options, .data = v->data.items, .data_count = v->data.count};
    FID_TRY(fid_method_load(v->program, choose_method(v->program, a), &method_options, &v->method));
    FID_TRY(read_graph(v, &v->exported));
    fid_status status = read_inputs(v);
    fidc_options lower_options = {.struct_size = sizeof lower_options, .target = FIDC_TARGET_CPU};
    if (status == FID_OK) status = fidc_functionalize(v->exported);
    if (status == FID_OK) fidc_graph_clean(v->exported->methods[0]);
    if (status == FID_OK) status = fidc_decompose(v->exported, FIDC_TARGET_CPU);
    if (status == FID_OK) fidc_graph_clean(v->exported->methods[0]);
    if (status == FID_OK) status = interpret(v, v->exported, false, &before, &exported);
    if (status == FID_OK) status = run_program(v);
    if (status == FID_OK) status = compare_outputs(v, exported, out_differing);
    if (status == FID_OK && (*out_differing || option_flag(a, "--all"))) {
        status = read_graph(v, &v->lowered);
        if (status == FID_OK) status = fidc_lower(v->lowered, &lower_options);
        if (status == FID_OK) status = interpret(v, v->lowered, true, &after, &lowered);
        if (status == FID_OK && !compare_recorded(&before, &after, v->tolerance, option_flag(a, "--all")) && *out_differing) {
            puts("Lowered anew, no operator differs: the program comes from another archive or another version, or it is damaged.");
        }
    }
    if (before.out_of_memory || after.out_of_memory) status = FID_OUT_OF_MEMORY;
    forget(&before);
    forget(&after);
    if (exported) fidc_interpreter_destroy(exported);
    if (lowered) fidc_interpreter_destroy(lowered);
    return status;
}

static void close_all(verification *v) {
    for (size_t i = 0; v->inputs && i < v->input_count; i++) loaded_input_free(&v->inputs[i]);
    free(v->inputs);
    free(v->values);
    if (v->method) fid_method_unload(v->method);
    if (v->program) fid_program_close(v->program);
    data_files_close(&v->data);
    fidc_program_destroy(v->exported);
    fidc_program_destroy(v->lowered);
    runtime_session_close(&v->session);
}

static int run(arguments *a) {
    verification v = {.arguments = a, .tolerance = 1e-4};
    size_t differing = 0;
    const char *tolerance = option_text(a, "--tolerance");
    if (a->file_count != 2) return usage_error(a, "give the archive and the program that was compiled from it");
    if (tolerance && !((v.tolerance = strtod(tolerance, NULL)) > 0)) return usage_error(a, "--tolerance is above 0");
    if (!image_options_read(a, &v.image)) return EXIT_USAGE;
    if (!runtime_session_open(&v.session, 1)) return failed("verify", "out of memory");
    fid_status status = verify(&v, &differing);
    int result = status == FID_OK ? EXIT_OK : failed_status("verify", status, &v.session);
    if (differing) result = failed("verify", "%zu output%s of %s differ%s too much", differing, plural(differing), a->files[1], differing == 1 ? "s" : "");
    close_all(&v);
    return result;
}

const command_row command_verify = {
    .name = "verify",
    .usage = "M.pt2 M.pte [--data FILE.ptd]... [--input X]... [--tolerance X] [--all]",
    .summary = "finds where a program's numbers part from its archive's",
    .example = "  fidibus verify model.pt2 model.pte\n",
    .options = options,
    .run = run,
};
