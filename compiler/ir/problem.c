/* The list of what cannot be compiled, and its two forms. See problem.h. */
#include "compiler/ir/problem.h"

#include <stdlib.h>

/* ---- Describing a call ---- */

static const char *add_tensor(fidc_program *program, const char *text, const fidc_value *value) {
    text = fidc_text_format(program, "%s%s%s [", text, text[0] ? ", " : "", fid_dtype_name((fid_dtype)value->dtype));
    for (size_t i = 0; text && i < value->rank; i++) {
        char size[100];
        fidc_expr_print(value->sizes[i], size, sizeof size);
        text = fidc_text_format(program, "%s%s%s", text, i ? ", " : "", size);
    }
    return text ? fidc_text_format(program, "%s]", text) : NULL;
}

static const char *add_tensors(fidc_program *program, const char *text, const fidc_arg *args, uint32_t count) {
    for (uint32_t i = 0; text && i < count; i++) {
        const fidc_value *value = fidc_value_of(&args[i]);
        if (args[i].kind == FIDC_ARG_LIST) text = add_tensors(program, text, args[i].as.list.items, args[i].as.list.count);
        if (text && value && value->type == FIDC_TENSOR) text = add_tensor(program, text, value);
    }
    return text;
}

static bool add_place(fidc_program *program, const fidc_node *node, fidc_problem *problem) {
    fidc_place place;
    if (!fidc_place_of(node, &place)) return true;
    problem->file = fidc_text_format(program, "%.*s", (int)place.file_length, place.file);
    problem->code = fidc_text_format(program, "%.*s", (int)place.code_length, place.code);
    problem->line = place.line;
    return problem->file && problem->code;
}

/* ---- Adding ---- */

static bool is_listed(const fidc_program *program, const fidc_problem *problem) {
    for (uint32_t i = 0; i < program->problem_count; i++) {
        const fidc_problem *other = &program->problems[i];
        if (other->kind == problem->kind && strcmp(other->node, problem->node) == 0 && strcmp(other->method, problem->method) == 0 &&
            strcmp(other->op, problem->op) == 0 && strcmp(other->overload, problem->overload) == 0 && strcmp(other->why, problem->why) == 0) {
            return true;
        }
    }
    return false;
}

static bool make_room(fidc_program *program) {
    if (program->problem_count < program->problem_capacity) return true;
    uint32_t capacity = 2 * program->problem_capacity + 8;
    fidc_problem *all = fidc_allocate(program, capacity * sizeof *all);
    if (!all) return false;
    if (program->problem_count) memcpy(all, program->problems, program->problem_count * sizeof *all);
    program->problems = all;
    program->problem_capacity = capacity;
    return true;
}

fid_status fidc_problem_add(const fidc_node *node, fidc_problem_kind kind, const char *why) {
    fidc_program *program = node->graph->program;
    fidc_problem problem = {.kind = (uint8_t)kind, .op = node->op->name, .overload = node->op->overload, .why = fidc_text(program, why),
                            .method = node->graph->name ? node->graph->name : "", .node = node->output_count ? node->outputs[0]->name : "",
                            .inputs = add_tensors(program, "", node->args, node->arg_count)};
    bool ok = problem.why && problem.inputs && add_place(program, node, &problem) && make_room(program);
    if (!ok) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory for the list of what is not supported");
    if (!is_listed(program, &problem)) program->problems[program->problem_count++] = problem;
    return FID_OK;
}

fid_status fidc_problem_add_unknown(const fidc_node *node) {
    fidc_program *program = node->graph->program;
    const char *others = "";
    for (size_t i = 0; others && i < program->ops->count; i++) {
        const fid_op *op = &program->ops->ops[i];
        if (strcmp(op->name, node->op->name) != 0) continue;
        others = fidc_text_format(program, "%s%s%s", others, others[0] ? ", " : "", op->overload[0] ? op->overload : "default");
    }
    if (!others) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory for the list of what is not supported");
    return fidc_problem_add(node, others[0] ? FIDC_UNKNOWN_OVERLOAD : FIDC_UNKNOWN_OPERATOR, others);
}

bool fidc_problems_only_missing(const fidc_program *program) {
    for (uint32_t i = 0; i < program->problem_count; i++)
        if (program->problems[i].kind == FIDC_REFUSED) return false;
    return true;
}

/* ---- For people ---- */

/* By kind. `advice` stands once at the end for all of a kind. */
static const struct { const char *slug, *what, *advice; } kinds[] = {
    [FIDC_UNKNOWN_OPERATOR] = {"unknown_operator", "the operator is not known",
                               "declare your own operator with --schemas FILE and register its kernel in the runtime, or write that part of "
                               "the model with other operators"},
    [FIDC_UNKNOWN_OVERLOAD] = {"unknown_overload", "this overload is not known; there is ", "call the operator in a form that is there"},
    [FIDC_NO_KERNEL] = {"no_kernel", "no kernel computes it",
                        "write that part of the model with other operators, or export the model so that it stays outside"},
    [FIDC_NOT_IN_TARGET] = {"not_in_target", "upstream's portable library has no kernel for it",
                            "the cpu target has it: compile without --target portable"},
    [FIDC_REFUSED] = {"refused", "", ""},
};

static bool is_same_kind(const fidc_problem *a, const fidc_problem *b) {
    return a->kind == b->kind && strcmp(a->op, b->op) == 0 && strcmp(a->overload, b->overload) == 0 && strcmp(a->why, b->why) == 0;
}

/* How many problems are like number `at`; 0 if an earlier one stands for it. */
static uint32_t count_alike(const fidc_program *program, uint32_t at) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < program->problem_count; i++) {
        if (!is_same_kind(&program->problems[i], &program->problems[at])) continue;
        if (i < at) return 0;
        count++;
    }
    return count;
}

static void print_line(FILE *out, const fidc_problem *p, uint32_t count) {
    fprintf(out, "\n  %s%s%s '%s': %s%s", p->op, p->overload[0] ? "." : "", p->overload, p->node, kinds[p->kind].what, p->why);
    if (count > 1) fprintf(out, ", %u calls, the first", count);
    if (p->inputs[0]) fprintf(out, "%son %s", count > 1 ? " " : ", ", p->inputs);
    if (p->file) fprintf(out, " at %s:%ld: %s", p->file, p->line, p->code);
}

void fidc_problems_print(const fidc_program *program, FILE *out) {
    bool told[sizeof kinds / sizeof kinds[0]] = {false};
    uint32_t groups = 0;
    for (uint32_t i = 0; i < program->problem_count; i++) groups += count_alike(program, i) > 0;
    fprintf(out, "%u thing%s that the model needs %s not supported:", groups, groups > 1 ? "s" : "", groups > 1 ? "are" : "is");
    for (uint32_t i = 0; i < program->problem_count; i++) {
        uint32_t count = count_alike(program, i);
        if (count) print_line(out, &program->problems[i], count);
        told[program->problems[i].kind] = true;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (told[i] && kinds[i].advice[0]) fprintf(out, "\n  -> %s", kinds[i].advice);
}

fid_status fidc_problems_tell(const fidc_program *program) {
    char *text = NULL;
    size_t size = 0;
    if (!program->problem_count) return FID_OK;
    fid_status status = fidc_problems_only_missing(program) ? FID_OPERATOR_MISSING : FID_NOT_SUPPORTED;
    FILE *out = open_memstream(&text, &size);
    if (out) {
        fidc_problems_print(program, out);
        fclose(out);
    }
    /* Not by fid_fail, which cuts long sentences: the list must be whole. */
    if (text && program->sink && program->sink->write) program->sink->write(program->sink->self, status, text);
    else if (!text) status = fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory for the list of what is not supported");
    free(text);
    return status;
}

/* ---- For machines ---- */

static void print_quoted(FILE *out, const char *text) {
    if (!text) {
        fputs("null", out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') fprintf(out, "\\%c", c);
        else if (c < 0x20) fprintf(out, "\\u%04x", c);
        else fputc(c, out);
    }
    fputc('"', out);
}

static void print_item(const fidc_program *program, FILE *out, const fidc_problem *p) {
    const struct { const char *key, *text; } fields[] = {
        {"kind", kinds[p->kind].slug}, {"method", p->method}, {"operator", p->op}, {"overload", p->overload}, {"node", p->node},
        {"inputs", p->inputs}, {"file", p->file}, {"code", p->code},
        {"why", fidc_text_format((fidc_program *)(uintptr_t)program, "%s%s", kinds[p->kind].what, p->why)},
        {"advice", kinds[p->kind].advice},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        fprintf(out, "%s\"%s\": ", i ? ", " : "{", fields[i].key);
        print_quoted(out, fields[i].text);
    }
    fprintf(out, ", \"line\": %ld}", p->line);
}

void fidc_problems_print_json(const fidc_program *program, FILE *out) {
    fputc('[', out);
    for (uint32_t i = 0; i < program->problem_count; i++) {
        fputs(i ? ",\n    " : "\n    ", out);
        print_item(program, out, &program->problems[i]);
    }
    fputs(program->problem_count ? "\n  ]" : "]", out);
}
