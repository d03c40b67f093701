/* Calls as no exporter would write them: every operator with arguments of its schema's kinds but any ranks, sizes, numbers and
 * results. Passes may refuse them; they may not crash, read foreign memory or loop (run it under sanitizers). */
#include "compiler/passes/pass_check.h"

typedef struct dice { uint32_t seed; } dice;

static uint32_t roll(dice *d, uint32_t below) {
    d->seed = d->seed * 1664525u + 1013904223u;
    return (d->seed >> 10) % below;
}

static const fid_dtype some_dtypes[] = {FID_FLOAT32, FID_INT64, FID_BOOL, FID_FLOAT16, FID_COMPLEX64};

static const fidc_expr *any_size(fidc_program *program, dice *d) {
    if (roll(d, 8) == 0) return fidc_expr_symbol(program, "s0", 0, 9, 3);
    if (roll(d, 12) == 0) return fidc_expr_bounded(program, 0, 5, 2);
    return fidc_expr_const(program, roll(d, 5));
}

static fidc_value *any_tensor(fidc_graph *graph, dice *d) {
    const fidc_expr *sizes[FID_MAX_RANK];
    size_t rank = roll(d, 20) == 0 ? FID_MAX_RANK : roll(d, 6);
    for (size_t i = 0; i < rank; i++) sizes[i] = any_size(graph->program, d);
    fid_dtype dtype = roll(d, 3) ? FID_FLOAT32 : some_dtypes[roll(d, 5)];
    return fidc_value_tensor(graph, NULL, dtype, sizes, rank);
}

static fidc_arg any_item(fidc_graph *graph, dice *d, const fid_schema_arg *schema, fidc_value *const *pool) {
    static const char *const texts[] = {"ij,jk->ik", "...i,...i", "reflect", "sum", "mean", "fro", "ortho", "", "xy"};
    static const int64_t numbers[] = {0, 1, -1, 2, 3, -3, 17, INT64_MAX, INT64_MIN, 1000000};
    switch (schema->type) {
    case FID_SCHEMA_TENSOR: return roll(d, 40) == 0 ? fidc_i(3) : fidc_v(pool[roll(d, 6)]);
    case FID_SCHEMA_INT: return roll(d, 4) ? fidc_i(numbers[roll(d, 6)]) : fidc_i(numbers[roll(d, 10)]);
    case FID_SCHEMA_FLOAT: return fidc_d(roll(d, 3) ? 0.5 : -2);
    case FID_SCHEMA_SCALAR: return roll(d, 2) ? fidc_d(1.5) : fidc_i(numbers[roll(d, 6)]);
    case FID_SCHEMA_BOOL: return fidc_b(roll(d, 2));
    case FID_SCHEMA_STRING: return (fidc_arg){.kind = FIDC_ARG_STRING, .as.text = texts[roll(d, 9)]};
    case FID_SCHEMA_DTYPE: return fidc_t(some_dtypes[roll(d, 5)]);
    case FID_SCHEMA_LAYOUT: return (fidc_arg){.kind = FIDC_ARG_LAYOUT};
    case FID_SCHEMA_MEMORY_FORMAT: return (fidc_arg){.kind = FIDC_ARG_MEMORY_FORMAT, .as.integer = roll(d, 4)};
    default: (void)graph; return fidc_none();
    }
}

static fidc_arg any_arg(fidc_graph *graph, dice *d, const fid_schema_arg *schema, fidc_value *const *pool) {
    fidc_arg items[24];
    if (schema->optional && roll(d, 2)) return fidc_none();
    if (!schema->list) return any_item(graph, d, schema, pool);
    size_t count = roll(d, 10) == 0 ? 20 : roll(d, 4);
    for (size_t i = 0; i < count; i++) items[i] = schema->optional_items && roll(d, 3) == 0 ? fidc_none() : any_item(graph, d, schema, pool);
    return fidc_list(graph->program, items, count);
}

/* A result in the archive's words: any meta. */
static void add_result(fidc_node *node, dice *d, const fid_schema_arg *result) {
    fidc_value *out = fidc_node_add_output(node, NULL, result->type == FID_SCHEMA_TENSOR ? FIDC_TENSOR : FIDC_INT);
    assert_non_null(out);
    const fidc_value *like = any_tensor(node->graph, d);
    if (out->type == FIDC_TENSOR) {
        out->dtype = like->dtype;
        out->rank = like->rank;
        out->sizes = like->sizes;
        for (uint8_t i = 0; i < out->rank; i++) out->dim_order[i] = i;
    } else {
        out->number = fidc_expr_bounded(node->graph->program, 0, 9, 1);
    }
}

static void add_results(fidc_node *node, dice *d) {
    fid_schema_cursor cursor = fid_schema_begin(node->op->schema);
    fid_schema_arg result;
    while (fid_schema_next_result(&cursor, &result)) {
        uint32_t count = result.list ? roll(d, 4) : 1;
        if (roll(d, 50) == 0) count = 0;
        for (uint32_t i = 0; i < count; i++) add_result(node, d, &result);
    }
}

/* With inferred metas where the arguments happen to fit, so that rules get further than the first check. */
static void add_call(fidc_graph *graph, dice *d, fid_op_id id, fidc_value *const *pool) {
    const fid_op *op = &fid_builtin_ops.ops[id];
    fid_schema_cursor cursor = fid_schema_begin(op->schema);
    fid_schema_arg schema;
    fidc_arg args[64];
    size_t count = 0;
    while (fid_schema_next_arg(&cursor, &schema)) args[count++] = any_arg(graph, d, &schema, pool);
    bool wraps = false;
    cursor = fid_schema_begin(op->schema);
    for (size_t i = 0; fid_schema_next_arg(&cursor, &schema); i++) {
        wraps = wraps || (schema.type == FID_SCHEMA_TENSOR && args[i].kind == FIDC_ARG_INT);
        for (uint32_t k = 0; schema.type == FID_SCHEMA_TENSOR && args[i].kind == FIDC_ARG_LIST && k < args[i].as.list.count; k++) {
            wraps = wraps || args[i].as.list.items[k].kind == FIDC_ARG_INT;
        }
    }
    fidc_node *node = op->shape && !wraps && roll(d, 2) ? fidc_node_create(graph, NULL, NULL, id, args, count, 2) : NULL;
    if (node) return;
    node = fidc_node_create_raw(graph, NULL, op, args, count);
    assert_non_null(node);
    node->in_place = roll(d, 6) == 0;
    add_results(node, d);
}

static void lower_any(uint32_t seed, fid_op_id id, fidc_target target) {
    static const fid_sink deaf = {0};
    dice d = {seed};
    fidc_program *program;
    fidc_value *pool[6];
    assert_int_equal(fidc_program_create(fid_environment_default(NULL).allocator, &deaf, &fid_builtin_ops, &program), FID_OK);
    fidc_graph *graph = fidc_graph_create(program, "forward");
    for (size_t i = 0; i < 6; i++) pool[i] = any_tensor(graph, &d);
    graph->inputs = pool;
    graph->input_count = 6;
    add_call(graph, &d, id, pool);
    graph->output_count = graph->last ? graph->last->output_count : 0;
    graph->outputs = fidc_allocate(program, (graph->output_count + 1) * sizeof *graph->outputs);
    for (uint32_t i = 0; i < graph->output_count; i++) graph->outputs[i] = fidc_v(graph->last->outputs[i]);
    /* What the verifier refuses no pass ever sees. */
    if (fidc_verify(program) == FID_OK && fidc_functionalize(program) == FID_OK && fidc_decompose(program, target) == FID_OK) {
        fidc_share(program);
        fidc_check_supported(program, target);
    }
    fidc_program_destroy(program);
}

static void any_call_is_lowered_or_refused(void **state) {
    (void)state;
    const char *wanted = getenv("FID_ANY_SEEDS");
    uint32_t seeds = wanted ? (uint32_t)strtoul(wanted, NULL, 10) : 12;
    for (uint32_t id = 0; id < FID_OP_COUNT; id++) {
        if (strncmp(fid_builtin_ops.ops[id].name, "higher_order::", 14) == 0) continue;
        for (uint32_t seed = 1; seed <= seeds; seed++) lower_any(seed * 7919u + id, (fid_op_id)id, seed % 2 ? FIDC_TARGET_CPU : FIDC_TARGET_PORTABLE);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_call_is_lowered_or_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
