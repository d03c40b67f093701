/* Writes down what export promised of the sizes of inputs, as calls of fid::check_size before the first operator: lower bounds, the
 * fixed sizes of tensors with others that change, equal sizes of several inputs, sizes that follow from others (2*d, d + 1).
 * Upper bounds need no call: programs carry them, and the runtime checks them when an input is set. */
#include "compiler/passes/passes.h"

/* factor * symbol + offset; without symbol: not of that form. */
typedef struct linear { const fidc_expr *symbol; int64_t factor, offset; } linear;

/* Where a symbol is the whole size of a dimension. */
typedef struct home { const fidc_expr *symbol; uint32_t input, dim; } home;

typedef struct guarder {
    fidc_program *program;
    fidc_graph *graph;
    fidc_node *first; /* calls come before it */
    home *homes;
    uint32_t home_count;
} guarder;

static linear linear_of(const fidc_expr *e) {
    if (e->kind == FIDC_EXPR_SYMBOL) return (linear){e, 1, 0};
    if (e->kind != FIDC_EXPR_ADD && e->kind != FIDC_EXPR_MUL) return (linear){NULL, 0, 0};
    bool right = fidc_expr_is_const(e->b);
    const fidc_expr *constant = right ? e->b : e->a;
    if (!fidc_expr_is_const(constant)) return (linear){NULL, 0, 0};
    linear rest = linear_of(right ? e->a : e->b);
    int64_t c = constant->constant;
    bool over = e->kind == FIDC_EXPR_ADD ? __builtin_add_overflow(rest.offset, c, &rest.offset)
                                         : __builtin_mul_overflow(rest.offset, c, &rest.offset) || __builtin_mul_overflow(rest.factor, c, &rest.factor);
    return over || rest.factor < 1 ? (linear){NULL, 0, 0} : rest;
}

static const home *home_of(const guarder *g, const fidc_expr *symbol) {
    for (uint32_t i = 0; i < g->home_count; i++)
        if (g->homes[i].symbol == symbol) return &g->homes[i];
    return NULL;
}

static fid_status find_homes(guarder *g) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < g->graph->input_count; i++) most += g->graph->inputs[i]->rank;
    g->homes = fidc_allocate(g->program, (most + 1) * sizeof *g->homes);
    if (!g->homes) return fid_fail(g->program->sink, FID_OUT_OF_MEMORY, "no memory for the checks of sizes");
    for (uint32_t i = 0; i < g->graph->input_count; i++) {
        const fidc_value *input = g->graph->inputs[i];
        for (uint32_t d = 0; input->type == FIDC_TENSOR && d < input->rank; d++)
            if (input->sizes[d]->kind == FIDC_EXPR_SYMBOL && !home_of(g, input->sizes[d])) g->homes[g->home_count++] = (home){input->sizes[d], i, d};
    }
    return FID_OK;
}

static fid_status add_check(guarder *g, uint32_t input, uint32_t dim, int64_t low, int64_t high, linear form, const home *other) {
    fidc_value *self = g->graph->inputs[input], *from = other ? g->graph->inputs[other->input] : NULL;
    const fidc_arg args[] = {fidc_i(input), fidc_i(dim), fidc_i(low), fidc_i(high), fidc_i(form.factor), fidc_i(form.offset), fidc_v(self),
                             fidc_i(other ? other->input : 0), fidc_i(other ? other->dim : 0), fidc_v(from)};
    const fid_op *op = &g->program->ops->ops[FID_OPID_check_size];
    bool made = fidc_node_create_raw(g->graph, g->first, op, args, sizeof args / sizeof args[0]) != NULL;
    return made ? FID_OK : fid_fail(g->program->sink, FID_OUT_OF_MEMORY, "no memory for the checks of sizes");
}

/* As PyTorch does it, a lower bound of 2 promises nothing: export takes it for every size that is neither 0 nor 1 in the example. */
static int64_t promised_low(const fidc_expr *size, const fidc_expr *symbol) { return symbol && symbol->low > 2 && size->low > 0 ? size->low : 0; }

/* Of a tensor with a dimension without bound the runtime checks no sizes at all: its memory grows. */
static bool may_grow(const fidc_value *input) {
    for (size_t i = 0; i < input->rank; i++)
        if (input->sizes[i]->high == FIDC_UNBOUNDED) return true;
    return false;
}

static fid_status guard_size(guarder *g, uint32_t input, uint32_t dim) {
    const fidc_expr *size = g->graph->inputs[input]->sizes[dim];
    if (fidc_expr_is_const(size)) return add_check(g, input, dim, size->constant, size->constant, (linear){NULL, 1, 0}, NULL);
    linear form = linear_of(size);
    const home *other = form.symbol ? home_of(g, form.symbol) : NULL;
    bool own = other && other->input == input && other->dim == dim;
    if (own) other = NULL;
    int64_t low = promised_low(size, form.symbol);
    if (!form.symbol) form = (linear){NULL, 1, 0};
    bool high_is_checked = size->high == FIDC_UNBOUNDED || !may_grow(g->graph->inputs[input]);
    if (!low && !other && form.factor == 1 && high_is_checked) return FID_OK;
    return add_check(g, input, dim, low, size->high, form, other);
}

static bool is_dynamic(const fidc_value *input) { return input->type == FIDC_TENSOR && !fidc_sizes_static(input); }

static fid_status guard_graph(fidc_program *program, fidc_graph *graph) {
    guarder g = {.program = program, .graph = graph, .first = graph->first};
    FID_TRY(find_homes(&g));
    for (uint32_t i = 0; i < graph->input_count; i++)
        for (uint32_t d = 0; is_dynamic(graph->inputs[i]) && d < graph->inputs[i]->rank; d++) FID_TRY(guard_size(&g, i, d));
    return FID_OK;
}

fid_status fidc_guard(fidc_program *program) {
    for (uint32_t i = 0; i < program->method_count; i++) FID_TRY(guard_graph(program, program->methods[i]));
    return FID_OK;
}
