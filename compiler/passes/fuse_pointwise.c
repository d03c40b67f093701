/* Pointwise operators that feed each other become one fid::pointwise: one pass over memory, and no tensor between them.
 *
 * Backwards over the graph: a pointwise operator takes in whoever makes its operands, if nobody else reads them and they have its very
 * shape. Operands of other shapes broadcast where the chain reads them. Operators read as steps by ops/chain.def. */
#include <math.h>

#include "compiler/passes/pack.h"
#include "ops/chain.h"

#define STEPS_OF_ROW 2

typedef struct row {
    fid_op_id op;
    uint8_t count;
    fid_step steps[STEPS_OF_ROW];
} row;

#include "ops/chain_words.h"
#define CHAIN(id, ...) {FID_OPID_##id, sizeof((fid_step[]){__VA_ARGS__}) / sizeof(fid_step), {__VA_ARGS__}},
static const row rows[] = {
#include "ops/chain.def"
    CHAIN(bitwise_and_Tensor, B(AND, A(0), A(1)))
    CHAIN(bitwise_or_Tensor, B(OR, A(0), A(1)))
    CHAIN(bitwise_xor_Tensor, B(XOR, A(0), A(1)))
    CHAIN(bitwise_not, U(NOT, A(0)))
    CHAIN(_to_copy, U(NONE, A(0))) /* a truth value as a number */
};

static bool is_bitwise(const fidc_node *node) {
    return fidc_is(node, FID_OPID_bitwise_and_Tensor) || fidc_is(node, FID_OPID_bitwise_or_Tensor) || fidc_is(node, FID_OPID_bitwise_xor_Tensor) ||
           fidc_is(node, FID_OPID_bitwise_not);
}

static bool number_of(const fidc_arg *arg, double *out) {
    if (arg->kind == FIDC_ARG_DOUBLE) *out = arg->as.number;
    else if (arg->kind == FIDC_ARG_INT || arg->kind == FIDC_ARG_BOOL) *out = (double)arg->as.integer;
    else return false;
    return true;
}

/* Steps of an operator that chooses them by its arguments. */
static bool chosen_row(const fidc_node *node, row *out) {
    double number;
    if (fidc_is(node, FID_OPID_gelu) && node->args[1].kind == FIDC_ARG_STRING) {
        bool by_tanh = strcmp(node->args[1].as.text, "tanh") == 0;
        *out = (row){FID_OPID_gelu, 1, {{FID_STEP_UNARY, by_tanh ? FID_UNARY_GELU_TANH : FID_UNARY_GELU, {A(0)}}}};
        return true;
    }
    if (fidc_is(node, FID_OPID_pow_Tensor_Scalar) && number_of(&node->args[1], &number)) {
        uint8_t function = number == 2 ? FID_UNARY_SQUARE : number == 3 ? FID_UNARY_CUBE : number == -1 ? FID_UNARY_RECIPROCAL : FID_UNARY_COUNT;
        if (function != FID_UNARY_COUNT) *out = (row){FID_OPID_pow_Tensor_Scalar, 1, {{FID_STEP_UNARY, function, {A(0)}}}};
        else *out = (row){FID_OPID_pow_Tensor_Scalar, 1, {B(POW, A(0), A(1))}};
        return true;
    }
    return false;
}

/* The dtypes that steps compute with: float32, or truth values for logic and choices. */
static bool dtypes_fit(const fidc_node *node, const row *r) {
    const fidc_value *out = node->outputs[0];
    bool truth = fid_step_is_truth(&r->steps[r->count - 1]), all_bool = true;
    for (uint32_t i = 0; i < node->arg_count; i++) {
        const fidc_value *value = fidc_value_of(&node->args[i]);
        if (!value) continue;
        if (value->type != FIDC_TENSOR || (value->dtype != FID_FLOAT32 && value->dtype != FID_BOOL)) return false;
        all_bool = all_bool && value->dtype == FID_BOOL;
    }
    if (is_bitwise(node) && !all_bool) return false;
    if (fidc_is(node, FID_OPID__to_copy) && !all_bool) return false;
    return out->dtype == (truth ? FID_BOOL : FID_FLOAT32);
}

/* Numbers that steps read must be constant. */
static bool numbers_fit(const fidc_node *node, const row *r) {
    for (size_t s = 0; s < r->count; s++)
        for (size_t i = 0; i < 3; i++) {
            const fid_operand *o = &r->steps[s].operand[i];
            double number;
            if (o->from != FID_FROM_INPUT) continue;
            const fidc_arg *arg = &node->args[o->index];
            bool source = i < fid_step_sources(&r->steps[s]);
            if (!(source && fidc_value_of(arg)) && arg->kind != FIDC_ARG_NONE && !number_of(arg, &number)) return false;
            if (r->steps[s].class == FID_STEP_UNARY && i == 0 && !fidc_value_of(arg)) return false;
        }
    return true;
}

static bool row_of(const fidc_node *node, row *out) {
    if (node->output_count != 1 || node->graph_count || node->in_place || node->outputs[0]->type != FIDC_TENSOR) return false;
    fid_op_id op = (fid_op_id)(node->op - node->graph->program->ops->ops);
    bool found = chosen_row(node, out);
    for (size_t i = 0; !found && i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op) *out = rows[i], found = true;
    return found && dtypes_fit(node, out) && numbers_fit(node, out);
}

/* ---- Gathering ---- */

typedef struct gathering {
    fidc_node *nodes[FID_CHAIN_STEPS]; /* in the order of the graph */
    size_t count;
    fid_chain chain;
    uint8_t result_of[FID_CHAIN_STEPS]; /* the step that a node's result is */
    fidc_value *inputs[FID_CHAIN_INPUTS];
    size_t input_count;
    double numbers[FID_CHAIN_NUMBERS];
    size_t number_count;
} gathering;

static size_t find_node(const gathering *g, const fidc_node *node) {
    size_t i = 0;
    while (i < g->count && g->nodes[i] != node) i++;
    return i;
}

/* True if a value broadcasts to a shape for sure: size by size the same expression, or one. */
static bool broadcasts(const fidc_value *value, const fidc_value *to) {
    if (value->rank > to->rank) return false;
    for (size_t i = 1; i <= value->rank; i++) {
        const fidc_expr *size = value->sizes[value->rank - i];
        if (size != to->sizes[to->rank - i] && !(fidc_expr_is_const(size) && size->constant == 1)) return false;
    }
    return true;
}

static bool add_input(gathering *g, fidc_value *value, fid_operand *out) {
    size_t i = 0;
    if (!broadcasts(value, g->nodes[g->count - 1]->outputs[0])) return false;
    while (i < g->input_count && g->inputs[i] != value) i++;
    if (i == FID_CHAIN_INPUTS) return false;
    if (i == g->input_count) g->inputs[g->input_count++] = value;
    *out = (fid_operand){FID_FROM_INPUT, (uint8_t)i, 0};
    return true;
}

static bool add_number(gathering *g, double number, fid_operand *out) {
    size_t i = 0;
    while (i < g->number_count && memcmp(&g->numbers[i], &number, sizeof number) != 0) i++;
    if (i == FID_CHAIN_NUMBERS) return false;
    if (i == g->number_count) g->numbers[g->number_count++] = number;
    *out = (fid_operand){FID_FROM_LISTED, (uint8_t)i, 0};
    return true;
}

/* An operand of a row as one of the chain; `first`: the row's first step in it. */
static bool translate(gathering *g, const fidc_node *node, const fid_operand *o, size_t first, fid_operand *out) {
    if (o->from == FID_FROM_STEP) {
        *out = (fid_operand){FID_FROM_STEP, (uint8_t)(first + o->index), 0};
        return true;
    }
    if (o->from == FID_FROM_NUMBER) return add_number(g, (double)o->number, out);
    const fidc_arg *arg = &node->args[o->index];
    fidc_value *value = fidc_value_of(arg);
    double number;
    if (!value) return add_number(g, number_of(arg, &number) ? number : (double)o->number, out);
    size_t member = value->origin == FIDC_FROM_NODE ? find_node(g, value->producer) : g->count;
    if (member == g->count) return add_input(g, value, out);
    *out = (fid_operand){FID_FROM_STEP, g->result_of[member], 0};
    return true;
}

static bool is_one(const fidc_node *node, const fid_operand *o) {
    double number;
    return o->from == FID_FROM_INPUT && number_of(&node->args[o->index], &number) && number == 1;
}

static bool append(gathering *g, size_t member) {
    row r;
    size_t first = g->chain.count;
    row_of(g->nodes[member], &r);
    for (size_t s = 0; s < r.count; s++) {
        if (g->chain.count == FID_CHAIN_STEPS) return false;
        fid_step *step = &g->chain.steps[g->chain.count++];
        *step = (fid_step){.class = r.steps[s].class, .function = r.steps[s].function};
        for (size_t i = 0; i < 3 && r.steps[s].operand[i].from != FID_FROM_NOTHING; i++) {
            bool scale = r.steps[s].class == FID_STEP_BINARY && i == 2;
            if (scale && is_one(g->nodes[member], &r.steps[s].operand[i])) break;
            if (!translate(g, g->nodes[member], &r.steps[s].operand[i], first, &step->operand[i])) return false;
        }
    }
    g->result_of[member] = (uint8_t)(g->chain.count - 1);
    return true;
}

/* The chain of the gathered nodes; false if it goes beyond a limit. */
static bool build(gathering *g) {
    g->chain.count = g->input_count = g->number_count = 0;
    for (size_t i = 0; i < g->count; i++)
        if (!append(g, i)) return false;
    return true;
}

static uint32_t uses_inside(const gathering *g, const fidc_value *value) {
    uint32_t uses = 0;
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; k < g->nodes[i]->arg_count; k++) uses += fidc_value_of(&g->nodes[i]->args[k]) == value;
    return uses;
}

static bool try_add(gathering *g, fidc_node *node) {
    gathering before = *g;
    row r;
    if (g->count == FID_CHAIN_STEPS || !row_of(node, &r)) return false;
    size_t at = g->count++;
    while (at > 0 && (uintptr_t)g->nodes[at - 1]->scratch > (uintptr_t)node->scratch) g->nodes[at] = g->nodes[at - 1], at--;
    g->nodes[at] = node;
    if (build(g)) return true;
    *g = before;
    return false;
}

/* A node that makes an operand of the chain, is read by it alone, and has its shape. */
static bool takes(const gathering *g, const fidc_value *value, const fidc_value *out) {
    return value->type == FIDC_TENSOR && value->origin == FIDC_FROM_NODE && value->rank == out->rank && fidc_same_sizes(value, out) &&
           find_node(g, value->producer) == g->count && value->uses == uses_inside(g, value);
}

static bool grow(gathering *g) {
    const fidc_value *out = g->nodes[g->count - 1]->outputs[0];
    for (size_t i = 0; i < g->input_count; i++) {
        fidc_value *value = g->inputs[i];
        if (takes(g, value, out) && try_add(g, value->producer)) return true;
    }
    return false;
}

static fidc_node *replace(gathering *g, fidc_node *last) {
    fidc_program *program = last->graph->program;
    char text[640];
    fidc_arg numbers[FID_CHAIN_NUMBERS];
    if (!fid_chain_print(&g->chain, text, sizeof text)) return NULL;
    for (size_t i = 0; i < g->number_count; i++) numbers[i] = fidc_d(g->numbers[i]);
    const char *steps = fidc_text(program, text);
    fidc_arg args[] = {fidc_values(program, g->inputs, g->input_count), {.kind = FIDC_ARG_STRING, .as.text = steps},
                       fidc_list(program, numbers, g->number_count)};
    fidc_node *node = steps ? fidc_node_create(last->graph, last, last, FID_OPID_fused_pointwise, args, 3, 0) : NULL;
    if (!node) return NULL;
    node->scratch = last->scratch;
    node->outputs[0]->uses = last->outputs[0]->uses;
    fidc_node_replace(last, node);
    for (size_t i = g->count - 1; i-- > 0;) fidc_node_remove(g->nodes[i]);
    return node;
}

fid_status fidc_fuse_pointwise(fidc_graph *graph) {
    uintptr_t position = 0;
    fidc_graph_clean(graph);
    for (fidc_node *node = graph->first; node; node = node->next) node->scratch = (void *)++position;
    for (fidc_node *node = graph->last; node; node = node->previous) {
        gathering g = {.count = 0};
        if (!try_add(&g, node)) continue;
        while (grow(&g)) continue;
        if (g.count < 2) continue;
        node = replace(&g, node);
        if (!node) return fid_fail(graph->program->sink, FID_OUT_OF_MEMORY, "no memory to fuse pointwise operators");
    }
    return FID_OK;
}
