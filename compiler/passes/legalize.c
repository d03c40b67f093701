/* The last look before a program is planned: every node must call an operator that the target's runtime has. What is missing joins
 * the program's list of problems. */
#include "compiler/ir/custom.h"
#include "compiler/ir/problem.h"
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

/* ---- Complex numbers ---- */

static bool takes_complex(const fid_op *op, fid_op_id id) {
    static const uint8_t listed[FID_OP_COUNT] = {
#define X(name) [FID_OPID_##name] = 1,
#include "compiler/passes/complex_ops.def"
#undef X
    };
    bool computes = op->kind == FID_OP_POINTWISE || op->kind == FID_OP_REDUCTION || op->kind == FID_OP_COMPUTE || op->kind == FID_OP_RANDOM;
    return !computes || listed[id];
}

static bool has_complex(const fidc_arg *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const fidc_value *value = fidc_value_of(&args[i]);
        if (value && value->type == FIDC_TENSOR && fid_dtype_is_complex((fid_dtype)value->dtype)) return true;
        if (args[i].kind == FIDC_ARG_LIST && has_complex(args[i].as.list.items, args[i].as.list.count)) return true;
    }
    return false;
}

/* ---- The check ---- */

/* Pairs that are computed here, of known sizes, are complex numbers in the same memory: the planner shows them so, without a call. */
static bool needs_no_call(const fidc_node *node) {
    if (!fidc_is(node, FID_OPID_view_as_complex_copy) || !fidc_sizes_static(node->outputs[0])) return false;
    const fidc_value *pairs = fidc_value_of(&node->args[0]);
    return pairs->origin == FIDC_FROM_NODE && fidc_is(pairs->producer, FID_OPID_cat);
}

static fid_status check_node(const fidc_node *node, fidc_target target) {
    const fidc_program *program = node->graph->program;
    if (node->delegate || fidc_custom_is_declared(program, node->op)) return FID_OK; /* the runtime brings it */
    if (fidc_op_id(program, node->op) == FID_OP_COUNT) return fidc_problem_add_unknown(node);
    if (fidc_is_supported(node->op, target) || needs_no_call(node)) {
        if (takes_complex(node->op, fidc_op_id(program, node->op)) || !has_complex(node->args, node->arg_count)) return FID_OK;
        return fidc_problem_add(node, FIDC_REFUSED, "there is no kernel for complex numbers here; compute with their parts (torch.view_as_real)");
    }
    bool cpu_has_it = target != FIDC_TARGET_CPU && fidc_is_supported(node->op, FIDC_TARGET_CPU);
    return fidc_problem_add(node, cpu_has_it ? FIDC_NOT_IN_TARGET : FIDC_NO_KERNEL, "");
}

/* A node that was refused stands there undecomposed: it is on the list for its reason. */
static bool is_refused(const fidc_node *node) {
    const fidc_program *program = node->graph->program;
    for (uint32_t i = 0; i < program->problem_count; i++) {
        const fidc_problem *problem = &program->problems[i];
        if (problem->kind == FIDC_REFUSED && node->output_count && strcmp(problem->node, node->outputs[0]->name) == 0 &&
            strcmp(problem->op, node->op->name) == 0) return true;
    }
    return false;
}

static fid_status check_graph(const fidc_graph *graph, fidc_target target, bool unknown_only) {
    for (const fidc_node *node = graph->first; node; node = node->next) {
        for (uint32_t i = 0; i < node->graph_count; i++) FID_TRY(check_graph(node->graphs[i], target, unknown_only));
        bool unknown = fidc_op_id(graph->program, node->op) == FID_OP_COUNT;
        if (!node->graph_count && (unknown || !unknown_only) && !is_refused(node)) FID_TRY(check_node(node, target));
    }
    return FID_OK;
}

fid_status fidc_find_unknown(const fidc_program *program) {
    for (uint32_t i = 0; i < program->method_count; i++) FID_TRY(check_graph(program->methods[i], FIDC_TARGET_CPU, true));
    return FID_OK;
}

/* Upstream's runtime has the planned memory and no more. */
static fid_status check_bounds(const fidc_graph *graph) {
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const fidc_value *input = graph->inputs[i];
        for (uint32_t d = 0; input->type == FIDC_TENSOR && d < input->rank; d++) {
            if (input->sizes[d]->high != FIDC_UNBOUNDED) continue;
            return fid_fail(graph->program->sink, FID_NOT_SUPPORTED, "dimension %u of input %u of %s has no upper bound, and memory cannot grow in upstream's "
                            "runtime: export with Dim(NAME, max=N), or compile for the cpu target", d, i, graph->name);
        }
    }
    return FID_OK;
}

fid_status fidc_check_supported(const fidc_program *program, fidc_target target) {
    for (uint32_t i = 0; i < program->method_count; i++) FID_TRY(check_graph(program->methods[i], target, false));
    FID_TRY(fidc_problems_tell(program));
    for (uint32_t i = 0; i < program->method_count && target == FIDC_TARGET_PORTABLE; i++) FID_TRY(check_bounds(program->methods[i]));
    return FID_OK;
}
