/* Attention that is written out, softmax(scale * Q K^T + mask) V, becomes scaled_dot_product_attention: its kernel never holds all
 * scores.
 *
 * Found from the softmax on: backwards through one addition and any number of constant factors to the product with a transposed key,
 * forwards to the product with the values. Scores that anybody else reads stay as they are. A row whose mask is -infinity everywhere
 * gives zeros, as the operator defines it, where the written-out form gives NaN. */
#include <math.h>

#include "compiler/passes/pack.h"

typedef struct attention {
    fidc_node *softmax, *result; /* the first and last node that are replaced by now */
    fidc_node *product;          /* Q K^T */
    fidc_value *query, *keys, *value, *mask; /* keys: transposed */
    double scale;
} attention;

static bool is_product(const fidc_node *node) { return fidc_is(node, FID_OPID_matmul) || fidc_is(node, FID_OPID_bmm); }

static fidc_node *sole_producer(const fidc_value *value) {
    return value && value->origin == FIDC_FROM_NODE && value->uses == 1 && value->output_index == 0 ? value->producer : NULL;
}

/* A number, or a constant tensor of one float32. */
static bool constant_number(fidc_program *program, const fidc_arg *arg, double *out) {
    const fidc_value *value = fidc_value_of(arg);
    if (arg->kind == FIDC_ARG_DOUBLE) *out = arg->as.number;
    else if (arg->kind == FIDC_ARG_INT) *out = (double)arg->as.integer;
    else if (value && value->rank == 0 && fidc_is_packable(value)) {
        const float *number = fidc_floats(program, value);
        if (!number) return false;
        *out = (double)*number;
    } else return false;
    return true;
}

/* scores * number, scores / number */
static fidc_value *without_factor(fidc_program *program, const fidc_node *node, double *inout_scale) {
    double number;
    bool times = fidc_is(node, FID_OPID_mul_Scalar) || fidc_is(node, FID_OPID_mul_Tensor);
    bool over = fidc_is(node, FID_OPID_div_Scalar) || fidc_is(node, FID_OPID_div_Tensor);
    if ((!times && !over) || !constant_number(program, &node->args[1], &number) || number == 0) return NULL;
    *inout_scale = times ? *inout_scale * number : *inout_scale / number;
    return fidc_value_of(&node->args[0]);
}

/* Leads through factors to a product; gives it, or NULL. */
static fidc_node *product_behind(fidc_program *program, fidc_value *scores, double *inout_scale) {
    fidc_node *node = sole_producer(scores);
    while (node && !is_product(node)) {
        fidc_value *before = without_factor(program, node, inout_scale);
        if (!before || !fidc_same_sizes(before, scores)) return NULL;
        node = sole_producer(before);
    }
    return node;
}

/* scores + mask, on either side */
static bool find_product(fidc_program *program, attention *a, fidc_value *scores) {
    fidc_node *node = sole_producer(scores);
    double alpha;
    a->scale = 1;
    if (!fidc_is(node, FID_OPID_add_Tensor)) return (a->product = product_behind(program, scores, &a->scale)) != NULL;
    if (!constant_number(program, &node->args[2], &alpha) || alpha != 1) return false;
    for (uint32_t i = 0; i < 2 && !a->product; i++) {
        fidc_value *side = fidc_value_of(&node->args[i]), *other = fidc_value_of(&node->args[1 - i]);
        a->scale = 1;
        if (!side || !other || side->rank != scores->rank || !fidc_same_sizes(side, scores) || other->dtype != FID_FLOAT32) continue;
        a->product = product_behind(program, side, &a->scale);
        a->mask = other;
    }
    return a->product != NULL;
}

/* The one product that reads the softmax as its first operand. */
static fidc_node *reader_of(const fidc_node *softmax) {
    const fidc_value *out = softmax->outputs[0];
    for (fidc_node *node = out->uses == 1 ? softmax->next : NULL; node; node = node->next)
        for (uint32_t i = 0; i < node->arg_count; i++)
            if (fidc_value_of(&node->args[i]) == out) return is_product(node) && i == 0 ? node : NULL;
    return NULL;
}

static bool is_float_matrix(const fidc_value *value, size_t rank) {
    return value && value->type == FIDC_TENSOR && value->dtype == FID_FLOAT32 && value->rank == rank && rank >= 3;
}

static bool match(fidc_program *program, fidc_node *softmax, attention *out) {
    *out = (attention){.softmax = softmax};
    if (!fidc_is(softmax, FID_OPID__softmax) || softmax->args[1].kind != FIDC_ARG_INT) return false;
    fidc_value *scores = fidc_value_of(&softmax->args[0]);
    int64_t dim = softmax->args[1].as.integer;
    if (scores->dtype != FID_FLOAT32 || softmax->outputs[0]->dtype != FID_FLOAT32 || (dim != -1 && dim + 1 != scores->rank)) return false;
    out->result = reader_of(softmax);
    if (!out->result || !find_product(program, out, scores)) return false;
    out->query = fidc_value_of(&out->product->args[0]), out->keys = fidc_value_of(&out->product->args[1]);
    out->value = fidc_value_of(&out->result->args[1]);
    size_t rank = scores->rank;
    return is_float_matrix(out->query, rank) && is_float_matrix(out->keys, rank) && is_float_matrix(out->value, rank) &&
           fidc_is(out->keys->origin == FIDC_FROM_NODE ? out->keys->producer : NULL, FID_OPID_permute_copy);
}

/* The keys as rows: the permutation behind them with its last two dimensions the other way round. */
static fidc_value *keys_as_rows(const attention *a) {
    const fidc_node *permute = a->keys->producer;
    fidc_program *program = permute->graph->program;
    const fidc_arg *dims = &permute->args[1];
    fidc_value *from = fidc_value_of(&permute->args[0]);
    int64_t order[FID_MAX_RANK];
    bool stays = true;
    for (uint32_t i = 0; i < dims->as.list.count; i++) {
        uint32_t last = dims->as.list.count - 1, source = i == last ? last - 1 : i == last - 1 ? last : i;
        order[i] = dims->as.list.items[source].as.integer;
        if (order[i] < 0) order[i] += from->rank;
        stays = stays && order[i] == (int64_t)i;
    }
    if (stays) return from;
    fidc_arg args[] = {fidc_v(from), fidc_ints(program, order, dims->as.list.count)};
    return fidc_result(fidc_node_create(a->result->graph, a->result, a->product, FID_OPID_permute_copy, args, 2, 0));
}

static bool has_constant_dims(const fidc_node *permute) {
    const fidc_arg *dims = &permute->args[1];
    if (dims->kind != FIDC_ARG_LIST || dims->as.list.count < 2) return false;
    for (uint32_t i = 0; i < dims->as.list.count; i++)
        if (dims->as.list.items[i].kind != FIDC_ARG_INT) return false;
    return true;
}

fid_status fidc_fuse_attention(fidc_graph *graph) {
    fidc_graph_clean(graph);
    for (fidc_node *node = graph->first; node; node = node->next) {
        attention a;
        if (!match(graph->program, node, &a) || !has_constant_dims(a.keys->producer)) continue;
        fidc_value *keys = keys_as_rows(&a);
        fidc_arg args[] = {fidc_v(a.query), fidc_v(keys), fidc_v(a.value), fidc_v(a.mask), fidc_d(0), fidc_b(false), fidc_d(a.scale), fidc_b(false)};
        fidc_node *fused = keys ? fidc_node_create(graph, a.result, a.result, FID_OPID_scaled_dot_product_attention, args, 8, 0) : NULL;
        if (!fused) return fid_fail(graph->program->sink, FID_OUT_OF_MEMORY, "no memory to fuse attention: %s", fidc_where(node));
        fused->outputs[0]->uses = a.result->outputs[0]->uses;
        fidc_node_replace(a.result, fused);
    }
    fidc_graph_clean(graph); /* what made the scores is dead now */
    return FID_OK;
}
