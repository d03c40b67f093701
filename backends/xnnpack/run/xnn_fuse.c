/* Fusion, over the nodes in their order: what one of our operators does in one pass over memory becomes one node.
 *
 * 0. Zeros around an image in front of a convolution: they become its padding.
 * 1. An activation behind a convolution or a fully connected layer, and x * sigmoid(x) behind one.
 * 2. An addition of the same dims: the residual of a block.
 * 3. A large depthwise convolution between pointwise ones (fid::separable_convolution, compiler/passes/fuse_separable.c says why).
 *
 * The fused node stands where the last of its parts stood, so that everything it reads is there. Quantized values are left alone: they
 * are rounded between the parts. */
#include "backends/xnnpack/run/xnn_graph.h"

static bool is_quantized(const fid_xnn_graph *g, uint32_t value) { return g->values[value].quant.kind != FID_XNN_NO_QUANT; }

/* The node that makes a value, if exactly `uses` nodes read it and nobody outside does. */
static uint32_t producer_of(const fid_xnn_graph *g, uint32_t value, uint32_t uses) {
    const fid_xnn_value *v = &g->values[value];
    return v->uses == uses && !(v->flags & FID_XNN_VALUE_OUTPUT) && !is_quantized(g, value) ? v->producer : FID_XNN_NO_ID;
}

/* A node with an epilogue that nothing has been put into yet. */
static bool takes_epilogue(const fid_xnn_graph *g, uint32_t node, bool addition) {
    if (node == FID_XNN_NO_ID) return false;
    const fid_xnn_node *n = &g->nodes[node];
    if (n->dead || n->activation.kind != FID_ACTIVATION_NONE || (addition && n->add != FID_XNN_NO_ID)) return false;
    if (n->type == FID_XNN_FullyConnected) return g->values[n->inputs[1]].home == FID_XNN_HOME_CONSTANT;
    return n->type == FID_XNN_Conv2d || n->type == FID_XNN_DepthwiseConv2d;
}

/* `node` takes the place of `consumer`, and makes what that made. */
static fid_xnn_node *take_over(fid_xnn_graph *g, uint32_t node, uint32_t consumer) {
    uint32_t output = g->nodes[consumer].outputs[0];
    g->nodes[consumer] = g->nodes[node];
    g->nodes[consumer].outputs[0] = output;
    g->nodes[node].dead = true;
    return &g->nodes[consumer];
}

/* ---- Frames of zeros ---- */

/* Padding in the middle two dims only. */
static bool is_frame(const fid_xnn_node *pad, uint32_t *out_frame) {
    fid_fb_vector before = fid_fb_get_vector(pad->table, FID_XNN_Pad_pre_paddings), after = fid_fb_get_vector(pad->table, FID_XNN_Pad_post_paddings);
    if (before.count != 4 || after.count != 4 || fid_fb_get_f32(pad->table, FID_XNN_Pad_padding_value, 0) != 0) return false;
    for (uint32_t i = 0; i < 4; i++) {
        int64_t b = fid_fb_i32_at(before, i), a = fid_fb_i32_at(after, i);
        bool inside = i == 1 || i == 2;
        if (b < 0 || a < 0 || b > 65536 || a > 65536 || (!inside && (a || b))) return false;
        if (inside) out_frame[i - 1] = (uint32_t)b, out_frame[i + 1] = (uint32_t)a;
    }
    return true;
}

static void fuse_frame(fid_xnn_graph *g, uint32_t node) {
    fid_xnn_node *n = &g->nodes[node];
    uint32_t pad = producer_of(g, n->inputs[0], 1), frame[4];
    if (pad == FID_XNN_NO_ID || g->nodes[pad].type != FID_XNN_StaticConstantPad || is_quantized(g, n->inputs[0])) return;
    if (!is_frame(&g->nodes[pad], frame)) return;
    memcpy(n->frame, frame, sizeof frame);
    n->inputs[0] = g->nodes[pad].inputs[0];
    g->nodes[pad].dead = true;
}

/* ---- Activations ---- */

static fid_activation activation_of(const fid_xnn_node *n) {
    switch (n->activation.kind == FID_ACTIVATION_NONE ? (fid_xnn_type)n->type : FID_XNN_NO_NODE) {
    case FID_XNN_Sigmoid: return (fid_activation){FID_ACTIVATION_SIGMOID, 0, 0};
    case FID_XNN_Hardswish: return (fid_activation){FID_ACTIVATION_HARDSWISH, 0, 0};
    case FID_XNN_Gelu: return (fid_activation){FID_ACTIVATION_GELU, 0, 0};
    case FID_XNN_Tanh: return (fid_activation){FID_ACTIVATION_TANH, 0, 0};
    case FID_XNN_LeakyReLU: return (fid_activation){FID_ACTIVATION_LEAKY_RELU, (double)fid_fb_get_f32(n->table, FID_XNN_LeakyReLU_negative_slope, 0), 0};
    case FID_XNN_ELU: return (fid_activation){FID_ACTIVATION_ELU, (double)fid_fb_get_f32(n->table, FID_XNN_ELU_alpha, 0), 0};
    default: return n->type == FID_XNN_Clamp ? n->activation : (fid_activation){FID_ACTIVATION_NONE, 0, 0};
    }
}

static void fuse_activation(fid_xnn_graph *g, uint32_t node) {
    fid_activation activation = activation_of(&g->nodes[node]);
    if (activation.kind == FID_ACTIVATION_NONE || is_quantized(g, g->nodes[node].outputs[0])) return;
    uint32_t producer = producer_of(g, g->nodes[node].inputs[0], 1);
    if (takes_epilogue(g, producer, false)) take_over(g, producer, node)->activation = activation;
}

/* x * sigmoid(x), either way round. */
static void fuse_silu(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    if (n->activation.kind != FID_ACTIVATION_NONE || is_quantized(g, n->outputs[0])) return;
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t x = n->inputs[side], sigmoid = producer_of(g, n->inputs[1 - side], 1), producer = producer_of(g, x, 2);
        if (sigmoid == FID_XNN_NO_ID || g->nodes[sigmoid].dead || g->nodes[sigmoid].type != FID_XNN_Sigmoid || g->nodes[sigmoid].inputs[0] != x) continue;
        if (!takes_epilogue(g, producer, false)) continue;
        g->nodes[sigmoid].dead = true;
        take_over(g, producer, node)->activation = (fid_activation){FID_ACTIVATION_SILU, 0, 0};
        return;
    }
}

/* ---- Additions ---- */

static bool same_dims(const fid_xnn_graph *g, uint32_t a, uint32_t b) {
    const fid_xnn_value *x = &g->values[a], *y = &g->values[b];
    return x->rank == y->rank && memcmp(x->dims, y->dims, x->rank * sizeof *x->dims) == 0;
}

/* The side that is computed later takes the other in. */
static void fuse_addition(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    uint32_t x = n->inputs[0], y = n->inputs[1];
    if (x == y || is_quantized(g, n->outputs[0]) || !same_dims(g, x, n->outputs[0]) || !same_dims(g, y, n->outputs[0])) return;
    uint32_t from_x = producer_of(g, x, 1), from_y = producer_of(g, y, 1);
    bool x_takes = takes_epilogue(g, from_x, true), y_takes = takes_epilogue(g, from_y, true);
    if (x_takes && y_takes) x_takes = from_x > from_y;
    if (!x_takes && !y_takes) return;
    fid_activation activation = n->activation;
    fid_xnn_node *fused = take_over(g, x_takes ? from_x : from_y, node);
    fused->add = x_takes ? y : x;
    fused->activation = activation;
}

/* ---- Separable convolutions ---- */

#define LARGE (512 * 1024)

static bool is_large(const fid_xnn_graph *g, uint32_t value) {
    const fid_xnn_value *v = &g->values[value];
    size_t numel = 0;
    return fid_mul_sizes(v->dims, v->rank, &numel) && numel >= LARGE / sizeof(float);
}

static bool is_pointwise(const fid_xnn_node *n) {
#define FIELD(field) fid_fb_get_u32(n->table, FID_XNN_Conv_##field, 0)
    const uint32_t *f = n->frame;
    return n->type == FID_XNN_Conv2d && !n->dead && !(f[0] | f[1] | f[2] | f[3]) && FIELD(kernel_height) == 1 && FIELD(kernel_width) == 1 && FIELD(subsampling_height) == 1 &&
           FIELD(subsampling_width) == 1 && FIELD(groups) == 1 && !FIELD(padding_top) && !FIELD(padding_left) && !FIELD(padding_bottom) && !FIELD(padding_right);
}

static bool is_depthwise(const fid_xnn_node *n) {
    return (n->type == FID_XNN_DepthwiseConv2d || n->type == FID_XNN_Conv2d) && !n->dead && n->add == FID_XNN_NO_ID && n->project == FID_XNN_NO_ID &&
           FIELD(groups) > 1 && FIELD(group_input_channels) == 1 && FIELD(group_output_channels) == 1;
#undef FIELD
}

/* The depthwise node moves to the end of the three; the others are dead and read from where they are. */
static void fuse_separable(fid_xnn_graph *g, uint32_t node) {
    if (!is_pointwise(&g->nodes[node]) || is_quantized(g, g->nodes[node].outputs[0])) return;
    uint32_t depthwise = producer_of(g, g->nodes[node].inputs[0], 1);
    if (depthwise == FID_XNN_NO_ID || !is_depthwise(&g->nodes[depthwise])) return;
    fid_xnn_node project = g->nodes[node], middle = g->nodes[depthwise];
    if (g->values[middle.inputs[0]].rank != 4 || (!is_large(g, middle.inputs[0]) && !is_large(g, middle.outputs[0]))) return;
    uint32_t expand = producer_of(g, middle.inputs[0], 1);
    if (expand != FID_XNN_NO_ID && (!is_pointwise(&g->nodes[expand]) || g->nodes[expand].add != FID_XNN_NO_ID)) expand = FID_XNN_NO_ID;
    project.dead = true;
    middle.project = depthwise;
    middle.expand = expand;
    g->nodes[depthwise] = project;
    g->nodes[node] = middle;
    if (expand != FID_XNN_NO_ID) g->nodes[expand].dead = true;
}

void fid_xnn_fuse(fid_xnn_graph *graph) {
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].type == FID_XNN_Conv2d || graph->nodes[i].type == FID_XNN_DepthwiseConv2d) fuse_frame(graph, i);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        if (graph->nodes[i].type == FID_XNN_Add) fuse_addition(graph, i);
        else if (graph->nodes[i].type == FID_XNN_Multiply) fuse_silu(graph, i);
        else fuse_activation(graph, i);
    }
    for (uint32_t i = 0; i < graph->node_count; i++) fuse_separable(graph, i);
}
