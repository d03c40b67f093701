/* fidibus ops: the operator table. */
#include <stdlib.h>

#include "compiler/passes/passes.h"
#include "tools/command.h"

static const option_row options[] = {
    {"--json", NULL, "one JSON array"},
    {"--markdown", NULL, "rows of a Markdown table, in order of name"},
    {NULL, NULL, NULL},
};

static const char *kind_name(uint8_t kind) {
    static const char *const names[] = {
        [FID_OP_POINTWISE] = "pointwise", [FID_OP_REDUCTION] = "reduction", [FID_OP_VIEW] = "view", [FID_OP_MOVE] = "move",
        [FID_OP_CREATE] = "create", [FID_OP_COMPUTE] = "compute", [FID_OP_DATA_DEPENDENT] = "data-dependent", [FID_OP_RANDOM] = "random",
        [FID_OP_SCALAR] = "scalar", [FID_OP_EFFECT] = "effect"};
    return names[kind];
}

/* Draws of random numbers have no kernel: a program gives the same numbers in every run. */
static bool is_refused(const fid_op *op) { return op->kind == FID_OP_RANDOM && !op->reference && !fidc_is_decomposed(op); }

static const char *kernels_of(const fid_op *op) {
    return op->cpu ? "reference, cpu" : op->reference ? "reference" : is_refused(op) ? "refused" : "decomposed";
}

static void print_row(const fid_op *op) {
    char name[120];
    snprintf(name, sizeof name, "%s%s%s", op->name, op->overload[0] ? "." : "", op->overload);
    printf("%-46s %-14s %-14s %s\n", name, kind_name(op->kind), kernels_of(op), op->doc ? op->doc : "");
}

static void print_json_row(const fid_op *op, bool last) {
    printf("  {\"name\": ");
    print_json_text(stdout, op->name);
    printf(", \"overload\": ");
    print_json_text(stdout, op->overload);
    printf(", \"out\": ");
    print_json_text(stdout, op->out);
    printf(", \"schema\": ");
    print_json_text(stdout, op->schema);
    printf(", \"kind\": \"%s\", \"reference\": %s, \"cpu\": %s, \"doc\": ", kind_name(op->kind), op->reference ? "true" : "false",
           op->cpu ? "true" : "false");
    print_json_text(stdout, op->doc ? op->doc : "");
    printf("}%s\n", last ? "" : ",");
}

static int by_name(const void *a, const void *b) {
    const fid_op *x = *(const fid_op *const *)a, *y = *(const fid_op *const *)b;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->overload, y->overload);
}

static int print_markdown(void) {
    size_t count = fid_builtin_ops.count;
    const fid_op **sorted = malloc(count * sizeof *sorted);
    if (!sorted) return failed("ops", "out of memory");
    for (size_t i = 0; i < count; i++) sorted[i] = &fid_builtin_ops.ops[i];
    qsort(sorted, count, sizeof *sorted, by_name);
    for (size_t i = 0; i < count; i++) {
        const fid_op *op = sorted[i];
        printf("| `%s%s%s` | %s | %s | %s |\n", op->name, op->overload[0] ? "." : "", op->overload, kind_name(op->kind), kernels_of(op),
               op->doc ? op->doc : "");
    }
    free(sorted);
    return EXIT_OK;
}

static int run(arguments *a) {
    bool json = option_flag(a, "--json");
    if (a->file_count) return usage_error(a, "it takes no file");
    if (option_flag(a, "--markdown")) return print_markdown();
    if (json) puts("[");
    size_t kernels = 0, fast = 0, refused = 0, count = fid_builtin_ops.count;
    for (size_t i = 0; i < count; i++) {
        const fid_op *op = &fid_builtin_ops.ops[i];
        kernels += op->reference != NULL;
        fast += op->cpu != NULL;
        refused += is_refused(op);
        if (json) print_json_row(op, i + 1 == count);
        else print_row(op);
    }
    if (json) puts("]");
    else printf("\n%zu operators: %zu with a reference kernel, %zu of them with a fast one; %zu are decomposed by the compiler, %zu random ones refused\n",
                count, kernels, fast, count - kernels - refused, refused);
    return EXIT_OK;
}

const command_row command_ops = {
    .name = "ops",
    .usage = "[--json]",
    .summary = "lists the operators and what supports them",
    .example = "  fidibus ops | grep conv\n",
    .options = options,
    .run = run,
};
