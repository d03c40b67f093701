/* The last look before a program is planned: every node must call an operator that the target's runtime has. What is missing is
 * told at once, each with shape and dtype, the line of the user's model, and what can be done. */
#include <stdio.h>

#include "compiler/passes/rewrite.h"

/* ---- What the targets have ---- */

static bool upstream_registers(const fid_op *op) {
    static const struct { const char *name, *out; } registered[] = {
#define X(name, out) {name, out},
#include "compiler/passes/portable_ops.def"
#undef X
    };
    for (size_t i = 0; i < sizeof registered / sizeof registered[0]; i++) {
        if (strcmp(registered[i].name, op->name) == 0 && strcmp(registered[i].out, op->out) == 0) return true;
    }
    return false;
}

bool fidc_is_supported(const fid_op *op, fidc_target target) {
    if (target == FIDC_TARGET_PORTABLE) return upstream_registers(op);
    return op->reference || op->cpu;
}

/* ---- The report ---- */

static const char *describe_value(fidc_program *program, const fidc_value *value) {
    char text[400];
    size_t at = (size_t)snprintf(text, sizeof text, "%s [", fid_dtype_name((fid_dtype)value->dtype));
    for (size_t i = 0; i < value->rank && at < sizeof text - 40; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, i ? ", " : "");
        char size[100];
        fidc_expr_print(value->sizes[i], size, sizeof size);
        at += (size_t)snprintf(text + at, sizeof text - at, "%.30s", size);
    }
    return fidc_text_format(program, "%s]", text);
}

static const fidc_value *first_tensor(const fidc_arg *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const fidc_value *value = fidc_value_of(&args[i]);
        if (args[i].kind == FIDC_ARG_LIST) value = first_tensor(args[i].as.list.items, args[i].as.list.count);
        if (value && value->type == FIDC_TENSOR) return value;
    }
    return NULL;
}

static const char *describe_node(fidc_program *program, const fidc_node *node) {
    const fidc_value *tensor = first_tensor(node->args, node->arg_count);
    const char *of = tensor ? describe_value(program, tensor) : NULL;
    return fidc_text_format(program, "%s%s%s", fidc_where(node), of ? ", on " : "", of ? of : "");
}

typedef struct missing_report {
    fidc_program *program;
    fidc_target target;
    const char *text; /* NULL after memory ran out */
    uint32_t count;
    bool cpu_has_all; /* the cpu target would take every one of them */
} missing_report;

static void add_missing(missing_report *report, const fidc_node *node) {
    if (!report->text) return;
    const char *line = describe_node(report->program, node);
    report->text = fidc_text_format(report->program, "%s%s%s", report->text, report->count ? "; " : "", line ? line : node->op->name);
    report->count++;
    report->cpu_has_all = report->cpu_has_all && fidc_is_supported(node->op, FIDC_TARGET_CPU);
}

static void check_graph(missing_report *report, const fidc_graph *graph) {
    for (const fidc_node *node = graph->first; node; node = node->next) {
        for (uint32_t i = 0; i < node->graph_count; i++) check_graph(report, node->graphs[i]);
        if (!node->graph_count && !fidc_is_supported(node->op, report->target)) add_missing(report, node);
    }
}

static fid_status tell(const missing_report *report) {
    const char *hint = report->target == FIDC_TARGET_PORTABLE && report->cpu_has_all
                           ? "; the cpu target has all of them: compile without --target portable"
                           : "; write these parts of the model with other operators, or export the model so that they stay outside";
    const char *what = report->target == FIDC_TARGET_PORTABLE ? "no kernel in upstream's portable library" : "no kernel";
    const char *sentence = report->text ? fidc_text_format(report->program, "%u call%s of the program ha%s %s: %s%s", report->count,
                                                           report->count == 1 ? "" : "s", report->count == 1 ? "s" : "ve", what,
                                                           report->text, hint)
                                        : NULL;
    if (!sentence) return fid_fail(report->program->sink, FID_OUT_OF_MEMORY, "no memory for the list of missing kernels");
    /* Not by fid_fail, which cuts long sentences: the list must be whole. */
    const fid_sink *sink = report->program->sink;
    if (sink && sink->write) sink->write(sink->self, FID_OPERATOR_MISSING, sentence);
    return FID_OPERATOR_MISSING;
}

fid_status fidc_check_supported(const fidc_program *program, fidc_target target) {
    missing_report report = {.program = (fidc_program *)(uintptr_t)program, .target = target, .text = "", .cpu_has_all = true};
    for (uint32_t i = 0; i < program->method_count; i++) check_graph(&report, program->methods[i]);
    return report.count ? tell(&report) : FID_OK;
}
