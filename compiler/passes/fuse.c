/* Fusion for the cpu target, in walks over each graph.
 *
 * 0. Attention that is written out becomes the operator: fuse_attention.c.
 * 1. In networks with depthwise convolutions, a batch norm behind a convolution of constant weight goes into weight and bias: what
 *    fuse_separable.c makes has no scale. Elsewhere it waits for 2b.
 * 2. Convolutions become fid::convolution, with a zero padding before them inside; max pools lose a second result that nobody reads.
 * 2b. A batch norm behind fid::convolution becomes its scale and bias. Weights keep the numbers that training gave them, and the result
 *    stays nearer to eager's than with products rounded into weights.
 * 3. An addition or an activation behind fid::convolution or a linear layer that nobody else reads goes into its epilogue. The fused
 *    operator stands where the last of its parts stood, so that everything it reads is there.
 * 4. Large pointwise and depthwise convolutions in a row become one operator: fuse_separable.c.
 * 5. Pointwise operators in a row become one pass over memory: fuse_pointwise.c. */
#include <math.h>

#include "compiler/passes/pack.h"
#include "ops/activation.h"
#include "ops/fused.h"

typedef struct fuser {
    fidc_packer packer;
    fidc_program *program;
    fidc_graph *graph;
} fuser;

static fid_status no_memory(const fuser *f, const fidc_node *node) {
    return fid_fail(f->program->sink, FID_OUT_OF_MEMORY, "cannot fuse %s", fidc_where(node));
}

/* The node that makes a value nobody else reads; NULL otherwise. */
static fidc_node *sole_producer(const fidc_value *value) {
    return value && value->origin == FIDC_FROM_NODE && value->uses == 1 && value->output_index == 0 ? value->producer : NULL;
}

static bool is_small_int(const fidc_arg *arg, int64_t number) { return arg->kind == FIDC_ARG_INT && arg->as.integer == number; }

/* Puts `by` in the place of `consumer`, which read what `producer` makes; both go. */
static void take_over(fidc_node *producer, fidc_node *consumer, fidc_node *by) {
    uint32_t uses = consumer->outputs[0]->uses;
    fidc_value_replace(consumer->outputs[0], by->outputs[0]);
    by->outputs[0]->uses = uses;
    by->scratch = consumer->scratch;
    fidc_node_remove(consumer);
    fidc_node_remove(producer);
}

/* ---- 1. Batch norm ---- */

static const float *constant_floats(fuser *f, const fidc_arg *arg, int64_t count) {
    const fidc_value *value = fidc_value_of(arg);
    return fidc_is_packable(value) && value->rank == 1 && fidc_size(value, 0) == count ? fidc_floats(f->program, value) : NULL;
}

/* A convolution whose weight and bias may be changed: constant, and small enough in groups to know each output channel's part. */
static bool is_foldable(const fidc_node *node) {
    if (!fidc_is(node, FID_OPID_convolution)) return false;
    const fidc_value *bias = fidc_value_of(&node->args[2]);
    return fidc_is_packable(fidc_value_of(&node->args[1])) && (!bias || fidc_is_packable(bias)) && node->args[6].kind == FIDC_ARG_BOOL &&
           !node->args[6].as.integer;
}

typedef struct channel_scale {
    const float *weight, *bias, *mean, *variance; /* weight and bias may be NULL: 1 and 0 */
    double eps;
} channel_scale;

static double factor_of(const channel_scale *s, int64_t c) {
    return (s->weight ? (double)s->weight[c] : 1) / sqrt((double)s->variance[c] + s->eps);
}

/* New constants for weight (out, ...) and bias (out): out = factor * (sum + bias - mean) + shift. */
static bool scale_channels(fuser *f, const fidc_node *node, const channel_scale *s, fidc_value **out_weight, fidc_value **out_bias) {
    const fidc_value *weight = fidc_value_of(&node->args[1]), *bias = fidc_value_of(&node->args[2]);
    int64_t sizes[5], channels = fidc_size(weight, 0);
    const float *weights = fidc_floats(f->program, weight), *biases = bias ? fidc_floats(f->program, bias) : NULL;
    size_t row = 1;
    for (size_t i = 1; i < weight->rank; i++) row *= (size_t)fidc_size(weight, i);
    size_t bytes = (size_t)channels * row * sizeof(float);
    float *scaled = fid_arena_allocate(&f->program->arena, bytes, FID_ALLOCATION_ALIGNMENT);
    float *shifted = fid_arena_allocate(&f->program->arena, (size_t)channels * sizeof *shifted, FID_ALLOCATION_ALIGNMENT);
    if (!scaled || !shifted || !weights || (bias && !biases)) return false;
    for (size_t i = 0; i < weight->rank; i++) sizes[i] = fidc_size(weight, i);
    for (int64_t c = 0; c < channels; c++) {
        double factor = factor_of(s, c), before = biases ? (double)biases[c] : 0;
        const float *from = weights + (size_t)c * row;
        for (size_t i = 0; i < row; i++) scaled[(size_t)c * row + i] = (float)(from[i] * factor);
        shifted[c] = (float)((before - (double)s->mean[c]) * factor + (s->bias ? (double)s->bias[c] : 0));
    }
    const char *name = fidc_text_format(f->program, "%s.scaled%u", fidc_constant_behind(weight)->constant->name, f->graph->name_counter++);
    const fidc_constant *plain = fidc_constant_behind(weight)->constant;
    *out_weight = name ? fidc_value_constant(f->graph, name, FID_FLOAT32, sizes, weight->rank, scaled, bytes) : NULL;
    *out_weight = fidc_constant_derive(f->program, *out_weight, plain, "scaled");
    name = fidc_text_format(f->program, "%s.shift%u", plain->name, f->graph->name_counter++);
    *out_bias = name ? fidc_value_constant(f->graph, name, FID_FLOAT32, &channels, 1, shifted, (size_t)channels * sizeof *shifted) : NULL;
    *out_bias = fidc_constant_derive(f->program, *out_bias, plain, "shift");
    return *out_weight && *out_bias;
}

/* A batch norm with constants, and its scale of `channels`; false if it is another node or reads what only running tells. */
static bool scale_of(fuser *f, const fidc_node *norm, int64_t channels, channel_scale *out) {
    if (!fidc_is(norm, FID_OPID__native_batch_norm_legit_no_training) || norm->outputs[1]->uses || norm->outputs[2]->uses) return false;
    *out = (channel_scale){constant_floats(f, &norm->args[1], channels), constant_floats(f, &norm->args[2], channels),
                           constant_floats(f, &norm->args[3], channels), constant_floats(f, &norm->args[4], channels), 0};
    if (norm->args[6].kind != FIDC_ARG_DOUBLE) return false;
    out->eps = norm->args[6].as.number;
    return out->mean && out->variance && (out->weight || norm->args[1].kind == FIDC_ARG_NONE) && (out->bias || norm->args[2].kind == FIDC_ARG_NONE);
}

/* _native_batch_norm_legit_no_training(input, weight, bias, running_mean, running_var, momentum, eps) */
static fid_status fold_norm(fuser *f, fidc_node *norm) {
    fidc_node *conv = norm->arg_count ? sole_producer(fidc_value_of(&norm->args[0])) : NULL;
    channel_scale s;
    if (!conv || !is_foldable(conv) || !scale_of(f, norm, fidc_size(fidc_value_of(&conv->args[1]), 0), &s)) return FID_OK;
    fidc_arg args[9];
    fidc_value *weight, *bias;
    memcpy(args, conv->args, sizeof args);
    if (!scale_channels(f, conv, &s, &weight, &bias)) return no_memory(f, norm);
    args[1] = fidc_v(weight), args[2] = fidc_v(bias);
    fidc_node *folded = fidc_node_create(f->graph, norm, conv, FID_OPID_convolution, args, 9, 0);
    if (!folded) return no_memory(f, norm);
    take_over(conv, norm, folded);
    return FID_OK;
}

static fidc_value *channel_constant(fuser *f, const fidc_value *like, const char *what, const float *data, int64_t channels) {
    const char *name = fidc_text_format(f->program, "%s.%s%u", like->constant->name, what, f->graph->name_counter++);
    fidc_value *made = name ? fidc_value_constant(f->graph, name, FID_FLOAT32, &channels, 1, data, (size_t)channels * sizeof *data) : NULL;
    return fidc_constant_derive(f->program, made, like->constant, what);
}

/* 2b: scale = factor, bias = (bias - mean) * factor + shift. */
static fid_status scale_convolution(fuser *f, fidc_node *norm) {
    fidc_node *conv = norm->arg_count ? sole_producer(fidc_value_of(&norm->args[0])) : NULL;
    if (!fidc_is(conv, FID_OPID_fused_convolution) || conv->args[FID_FUSED_CONVOLUTION_SCALE].kind != FIDC_ARG_NONE) return FID_OK;
    int64_t channels = conv->args[4].as.integer;
    const fidc_value *bias = fidc_value_of(&conv->args[2]);
    channel_scale s;
    if (!scale_of(f, norm, channels, &s) || (bias && !fidc_is_packable(bias))) return FID_OK;
    float *factor = fid_arena_allocate(&f->program->arena, (size_t)channels * sizeof *factor, FID_ALLOCATION_ALIGNMENT);
    float *shift = fid_arena_allocate(&f->program->arena, (size_t)channels * sizeof *shift, FID_ALLOCATION_ALIGNMENT);
    const float *biases = bias ? fidc_floats(f->program, bias) : NULL;
    if (!factor || !shift || (bias && !biases)) return no_memory(f, norm);
    for (int64_t c = 0; c < channels; c++) {
        double by = factor_of(&s, c), before = biases ? (double)biases[c] : 0;
        factor[c] = (float)by;
        shift[c] = (float)((before - (double)s.mean[c]) * by + (s.bias ? (double)s.bias[c] : 0));
    }
    const fidc_value *weight = fidc_value_of(&conv->args[1]);
    fidc_arg args[FID_FUSED_CONVOLUTION_SCALE + 1];
    memcpy(args, conv->args, sizeof args);
    args[2] = fidc_v(channel_constant(f, weight, "shift", shift, channels));
    args[FID_FUSED_CONVOLUTION_SCALE] = fidc_v(channel_constant(f, weight, "scale", factor, channels));
    if (args[2].kind == FIDC_ARG_NONE || args[FID_FUSED_CONVOLUTION_SCALE].kind == FIDC_ARG_NONE) return no_memory(f, norm);
    fidc_node *by = fidc_node_create(f->graph, norm, conv, FID_OPID_fused_convolution, args, sizeof args / sizeof *args, 0);
    if (!by) return no_memory(f, norm);
    take_over(conv, norm, by);
    return FID_OK;
}

static bool has_depthwise(const fidc_graph *graph) {
    for (const fidc_node *node = graph->first; node; node = node->next)
        if (fidc_is(node, FID_OPID_convolution) && node->args[8].kind == FIDC_ARG_INT && node->args[8].as.integer > 1) return true;
    return false;
}

/* ---- 2. Convolutions ---- */

/* Constant numbers of an int list; false if there are more or fewer than `count`. */
static bool numbers(const fidc_arg *arg, size_t count, int64_t *out) {
    if (arg->kind != FIDC_ARG_LIST || (arg->as.list.count != count && arg->as.list.count != 1)) return false;
    for (size_t i = 0; i < count; i++) {
        const fidc_arg *item = &arg->as.list.items[arg->as.list.count == 1 ? 0 : i];
        if (item->kind != FIDC_ARG_INT) return false;
        out[i] = item->as.integer;
    }
    return true;
}

/* constant_pad_nd(self, pad, value) with zeros in spatial dimensions only: adds to padding (before..., after...). */
static bool absorb_padding(const fidc_node *pad, size_t spatial, int64_t *inout_padding) {
    if (!fidc_is(pad, FID_OPID_constant_pad_nd) || pad->args[1].kind != FIDC_ARG_LIST) return false;
    int64_t amounts[2 * FID_MAX_RANK];
    uint32_t count = pad->args[1].as.list.count;
    bool zero = is_small_int(&pad->args[2], 0) || (pad->args[2].kind == FIDC_ARG_DOUBLE && pad->args[2].as.number == 0);
    if (!zero || count > 2 * spatial + 4 || count % 2 || !numbers(&pad->args[1], count, amounts)) return false;
    for (uint32_t i = 0; i < count; i++)
        if (amounts[i] < 0 || (i / 2 >= spatial && amounts[i] != 0)) return false;
    for (uint32_t i = 0; i < count && i / 2 < spatial; i++) inout_padding[(i % 2) * spatial + spatial - 1 - i / 2] += amounts[i];
    return true;
}

/* Geometry of a convolution: `spatial` entries each, padding before and then after. */
typedef struct geometry {
    size_t spatial;
    int64_t kernel[3], stride[3], padding[6], dilation[3];
    int64_t first[3]; /* kernel positions that are left out in front */
} geometry;

/* Leaves out the ends of the kernel that only ever see padding, in one dimension of static sizes: of kernels dilated as wide as their
 * image only the middle is left. */
static void shrink_kernel(geometry *g, size_t d, int64_t in, int64_t out) {
    int64_t first = 0, last = g->kernel[d] - 1, reach = (out - 1) * g->stride[d];
    while (first < last && reach - g->padding[d] + first * g->dilation[d] < 0) first++;
    while (last > first && last * g->dilation[d] - g->padding[d] >= in) last--;
    int64_t before = g->padding[d] - first * g->dilation[d], needed = reach + (last - first) * g->dilation[d] + 1 - in - before;
    if ((first == 0 && last == g->kernel[d] - 1) || before < 0 || needed <= -g->stride[d]) return;
    g->first[d] = first;
    g->kernel[d] = last - first + 1;
    g->padding[d] = before;
    g->padding[g->spatial + d] = needed > 0 ? needed : 0;
}

/* The weight without what shrink_kernel left out; the weight itself if that is nothing. NULL when memory is short. */
static const fidc_value *shrunk_weight(fuser *f, const fidc_value *weight, const geometry *g) {
    int64_t sizes[5] = {1, 1, 1, 1, 1}, from[5] = {0}, to[5] = {1, 1, 1, 1, 1}; /* right-aligned */
    size_t lead = 5u - weight->rank, count = 1;
    bool same = true;
    for (size_t i = 0; i < weight->rank; i++) {
        sizes[lead + i] = to[lead + i] = fidc_size(weight, i);
        if (i < 2) continue;
        from[lead + i] = g->first[i - 2];
        to[lead + i] = g->first[i - 2] + g->kernel[i - 2];
        same = same && g->kernel[i - 2] == sizes[lead + i];
    }
    if (same) return weight;
    for (size_t i = 0; i < 5; i++) count *= (size_t)(to[i] - from[i]);
    float *data = fid_arena_allocate(&f->program->arena, count * sizeof *data, FID_ALLOCATION_ALIGNMENT), *out = data;
    const float *all = fidc_floats(f->program, weight);
    if (!data || !all) return NULL;
    for (int64_t i = from[0]; i < to[0]; i++)
        for (int64_t j = from[1]; j < to[1]; j++)
            for (int64_t k = from[2]; k < to[2]; k++)
                for (int64_t l = from[3]; l < to[3]; l++)
                    for (int64_t m = from[4]; m < to[4]; m++)
                        *out++ = all[(((i * sizes[1] + j) * sizes[2] + k) * sizes[3] + l) * sizes[4] + m];
    for (size_t i = 0; i < 5; i++) sizes[i] = to[i] - from[i];
    const char *name = fidc_text_format(f->program, "%s.middle%u", fidc_constant_behind(weight)->constant->name, f->graph->name_counter++);
    fidc_value *made = name ? fidc_value_constant(f->graph, name, FID_FLOAT32, sizes + lead, weight->rank, data, count * sizeof *data) : NULL;
    return fidc_constant_derive(f->program, made, fidc_constant_behind(weight)->constant, "middle");
}

static bool geometry_of(const fidc_node *node, const fidc_value *weight, geometry *g) {
    *g = (geometry){.spatial = weight->rank - 2u};
    if (!numbers(&node->args[3], g->spatial, g->stride) || !numbers(&node->args[4], g->spatial, g->padding) ||
        !numbers(&node->args[5], g->spatial, g->dilation))
        return false;
    for (size_t d = 0; d < g->spatial; d++) g->padding[g->spatial + d] = g->padding[d], g->kernel[d] = fidc_size(weight, 2 + d);
    return true;
}

/* A kernel that Winograd's algorithm takes; not one that was shrunk to 3x3, whose weight others may read whole. */
static bool takes_winograd(const fidc_node *node, const fidc_value *weight, const geometry *g) {
    bool takes = g->spatial == 2 && node->args[8].as.integer == 1 && weight == fidc_value_of(&node->args[1]);
    for (size_t d = 0; d < 2; d++) takes = takes && g->kernel[d] == 3 && g->stride[d] == 1 && g->dilation[d] == 1;
    return takes;
}

static fidc_node *create_convolution(fuser *f, fidc_node *node, fidc_value *input, const fidc_value *weight, const geometry *g) {
    fidc_packing packing = takes_winograd(node, weight, g) ? fidc_choose_convolution(&f->packer, node) : FIDC_PACK_CONVOLUTION;
    fidc_value *packed = fidc_packer_get(&f->packer, f->graph, weight, packing, node->args[8].as.integer);
    if (!packed) return NULL;
    fidc_arg args[] = {fidc_v(input), fidc_v(packed), node->args[2], fidc_none(), fidc_i(fidc_size(weight, 0)),
                       fidc_ints(f->program, g->kernel, g->spatial), fidc_ints(f->program, g->stride, g->spatial),
                       fidc_ints(f->program, g->padding, 2 * g->spatial), fidc_ints(f->program, g->dilation, g->spatial), node->args[8],
                       {.kind = FIDC_ARG_STRING, .as.text = "none"}, fidc_d(0), fidc_d(0)};
    return fidc_node_create(f->graph, node, node, FID_OPID_fused_convolution, args, sizeof args / sizeof *args, 0);
}

static fid_status fuse_convolution(fuser *f, fidc_node *node) {
    const fidc_value *weight = fidc_value_of(&node->args[1]), *bias = fidc_value_of(&node->args[2]), *out = node->outputs[0];
    fidc_value *input = fidc_value_of(&node->args[0]);
    geometry g;
    bool takes = fidc_is_packable(weight) && (!bias || bias->dtype == FID_FLOAT32) && input->dtype == FID_FLOAT32 &&
                 input->rank == weight->rank && node->args[6].kind == FIDC_ARG_BOOL && !node->args[6].as.integer &&
                 node->args[8].kind == FIDC_ARG_INT && geometry_of(node, weight, &g);
    if (!takes) return FID_OK;
    fidc_node *pad = sole_producer(input);
    if (pad && absorb_padding(pad, g.spatial, g.padding)) input = fidc_value_of(&pad->args[0]);
    else pad = NULL;
    for (size_t d = 0; d < g.spatial; d++)
        if (fidc_size(input, 2 + d) > 0 && fidc_size(out, 2 + d) > 0) shrink_kernel(&g, d, fidc_size(input, 2 + d), fidc_size(out, 2 + d));
    weight = shrunk_weight(f, weight, &g);
    fidc_node *fused = weight ? create_convolution(f, node, input, weight, &g) : NULL;
    if (!fused) return no_memory(f, node);
    fused->outputs[0]->uses = node->outputs[0]->uses;
    fidc_node_replace(node, fused);
    if (pad) fidc_node_remove(pad);
    return FID_OK;
}

static fid_status fuse_max_pool(fuser *f, fidc_node *node) {
    if (node->outputs[1]->uses) return FID_OK;
    fidc_node *by = fidc_node_create(f->graph, node, node, FID_OPID_fused_max_pool2d, node->args, node->arg_count, 0);
    if (!by) return no_memory(f, node);
    fidc_value_replace(node->outputs[0], by->outputs[0]);
    fidc_node_remove(node);
    return FID_OK;
}

/* ---- 3. Epilogues ---- */

static fidc_arg text_arg(const char *text) { return (fidc_arg){.kind = FIDC_ARG_STRING, .as.text = text}; }

static bool number_of(const fidc_arg *arg, double absent, double *out) {
    if (arg->kind == FIDC_ARG_NONE) *out = absent;
    else if (arg->kind == FIDC_ARG_DOUBLE) *out = arg->as.number;
    else if (arg->kind == FIDC_ARG_INT) *out = (double)arg->as.integer;
    else return false;
    return true;
}

static bool one_number(const fidc_node *node, uint32_t i, double number) {
    double given;
    return number_of(&node->args[i], number, &given) && given == number;
}

/* The activation that a node is, as three arguments of a fused operator. */
static bool activation_of(const fidc_node *node, fidc_arg *out) {
    static const struct { fid_op_id op; fid_activation_kind kind; } plain[] = {
        {FID_OPID_relu, FID_ACTIVATION_RELU},       {FID_OPID_sigmoid, FID_ACTIVATION_SIGMOID}, {FID_OPID_hardsigmoid, FID_ACTIVATION_HARDSIGMOID},
        {FID_OPID_hardswish, FID_ACTIVATION_HARDSWISH}, {FID_OPID_silu, FID_ACTIVATION_SILU},   {FID_OPID_tanh, FID_ACTIVATION_TANH},
    };
    double a = 0, b = 0;
    fid_activation_kind kind = FID_ACTIVATION_COUNT;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (fidc_is(node, plain[i].op)) kind = plain[i].kind;
    if (fidc_is(node, FID_OPID_hardtanh) || fidc_is(node, FID_OPID_clamp)) {
        if (number_of(&node->args[1], -INFINITY, &a) && number_of(&node->args[2], INFINITY, &b)) kind = FID_ACTIVATION_CLAMP;
    } else if (fidc_is(node, FID_OPID_leaky_relu)) {
        if (number_of(&node->args[1], 0, &a)) kind = FID_ACTIVATION_LEAKY_RELU;
    } else if (fidc_is(node, FID_OPID_elu)) {
        if (number_of(&node->args[1], 1, &a) && one_number(node, 2, 1) && one_number(node, 3, 1)) kind = FID_ACTIVATION_ELU;
    } else if (fidc_is(node, FID_OPID_gelu) && node->args[1].kind == FIDC_ARG_STRING) {
        kind = strcmp(node->args[1].as.text, "tanh") == 0 ? FID_ACTIVATION_GELU_TANH : FID_ACTIVATION_GELU;
    }
    if (kind == FID_ACTIVATION_COUNT) return false;
    out[0] = text_arg(fid_activation_text(kind)), out[1] = fidc_d(a), out[2] = fidc_d(b);
    return true;
}

/* Where a fused operator keeps what is added and its activation. */
static bool epilogue_of(const fidc_node *node, uint32_t *out_add, uint32_t *out_activation) {
    bool conv = fidc_is(node, FID_OPID_fused_convolution);
    *out_add = 3, *out_activation = conv ? 10 : 5;
    return (conv || fidc_is(node, FID_OPID_fused_linear)) && strcmp(node->args[*out_activation].as.text, "none") == 0;
}

/* Can this node take an addition or an activation into its epilogue? */
static bool takes_epilogue(const fidc_node *node, bool addition) {
    uint32_t add, activation;
    fidc_linear_parts parts;
    if (!node) return false;
    if (epilogue_of(node, &add, &activation)) return !addition || node->args[add].kind == FIDC_ARG_NONE;
    return fidc_linear_parts_of(node, &parts);
}

/* The node with `add` or `activation` (NULL: as it is) in the place of `consumer`. */
static fid_status extend(fuser *f, fidc_node *node, fidc_node *consumer, fidc_value *add, const fidc_arg *activation) {
    const fidc_arg none[] = {text_arg("none"), fidc_d(0), fidc_d(0)};
    uint32_t add_at, activation_at;
    fidc_linear_parts parts;
    fidc_node *by;
    if (epilogue_of(node, &add_at, &activation_at)) {
        fidc_arg args[16];
        memcpy(args, node->args, node->arg_count * sizeof *args);
        if (add) args[add_at] = fidc_v(add);
        if (activation) memcpy(args + activation_at, activation, 3 * sizeof *args);
        by = fidc_node_create(f->graph, consumer, node, (fid_op_id)(node->op - f->program->ops->ops), args, node->arg_count, 0);
    } else {
        fidc_linear_parts_of(node, &parts);
        by = fidc_linear_create(&f->packer, consumer, node, &parts, add, activation ? activation : none);
    }
    if (!by) return no_memory(f, consumer);
    take_over(node, consumer, by);
    return FID_OK;
}

static bool comes_later(const fidc_node *a, const fidc_node *b) { return !b || (a && (uintptr_t)a->scratch > (uintptr_t)b->scratch); }

/* add(x, y): the side that is computed later takes the other in. */
static fid_status fuse_addition(fuser *f, fidc_node *add) {
    fidc_value *x = fidc_value_of(&add->args[0]), *y = fidc_value_of(&add->args[1]), *out = add->outputs[0];
    double alpha;
    if (!x || !y || x == y || !number_of(&add->args[2], 1, &alpha) || alpha != 1) return FID_OK;
    if (x->dtype != FID_FLOAT32 || y->dtype != FID_FLOAT32 || !fidc_same_sizes(x, out) || !fidc_same_sizes(y, out)) return FID_OK;
    fidc_node *from_x = sole_producer(x), *from_y = sole_producer(y);
    if (!takes_epilogue(from_x, true)) from_x = NULL;
    if (!takes_epilogue(from_y, true)) from_y = NULL;
    if (!from_x && !from_y) return FID_OK;
    return comes_later(from_x, from_y) ? extend(f, from_x, add, y, NULL) : extend(f, from_y, add, x, NULL);
}

static fid_status fuse_epilogue(fuser *f, fidc_node *node) {
    fidc_arg activation[3];
    if (fidc_is(node, FID_OPID_add_Tensor)) return fuse_addition(f, node);
    if (!activation_of(node, activation)) return FID_OK;
    fidc_node *producer = sole_producer(fidc_value_of(&node->args[0]));
    return takes_epilogue(producer, false) ? extend(f, producer, node, NULL, activation) : FID_OK;
}

/* ---- The walks ---- */

static fid_status walk(fuser *f, fid_status (*visit)(fuser *f, fidc_node *node)) {
    uintptr_t position = 0;
    fidc_graph_clean(f->graph);
    for (fidc_node *node = f->graph->first; node; node = node->next) node->scratch = (void *)++position;
    for (fidc_node *node = f->graph->first, *next; node; node = next) {
        next = node->next;
        FID_TRY(visit(f, node));
    }
    return FID_OK;
}

static fid_status visit_image(fuser *f, fidc_node *node) {
    if (fidc_is(node, FID_OPID_max_pool2d_with_indices)) return fuse_max_pool(f, node);
    return fidc_is(node, FID_OPID_convolution) ? fuse_convolution(f, node) : FID_OK;
}

static fid_status fuse_graph(fuser *f, fidc_graph *graph) {
    for (fidc_node *node = graph->first; node; node = node->next)
        for (uint32_t i = 0; i < node->graph_count; i++) FID_TRY(fuse_graph(f, node->graphs[i]));
    f->graph = graph;
    FID_TRY(fidc_fuse_attention(graph));
    if (has_depthwise(graph)) {
        FID_TRY(walk(f, fold_norm));
        fidc_program_forget(f->program); /* scaled copies stand for the archive's weights: both would be in memory while packing */
    }
    FID_TRY(walk(f, visit_image));
    FID_TRY(walk(f, scale_convolution));
    FID_TRY(walk(f, fuse_epilogue));
    if (!f->program->bf16_products) FID_TRY(fidc_fuse_separable(graph)); /* its products are in float32 */
    return fidc_fuse_pointwise(graph);
}

fid_status fidc_fuse(fidc_program *program) {
    fuser f = {.packer = {program, NULL}, .program = program};
    for (uint32_t i = 0; i < program->method_count; i++) FID_TRY(fuse_graph(&f, program->methods[i]));
    return FID_OK;
}

static fid_status fold_graph(fuser *f, fidc_graph *graph) {
    for (fidc_node *node = graph->first; node; node = node->next)
        for (uint32_t i = 0; i < node->graph_count; i++) FID_TRY(fold_graph(f, node->graphs[i]));
    f->graph = graph;
    FID_TRY(walk(f, fold_norm));
    fidc_graph_clean(graph);
    return FID_OK;
}

fid_status fidc_fold_norms(fidc_program *program) {
    fuser f = {.packer = {program, NULL}, .program = program};
    for (uint32_t i = 0; i < program->method_count; i++) FID_TRY(fold_graph(&f, program->methods[i]));
    fidc_program_forget(program);
    return FID_OK;
}
