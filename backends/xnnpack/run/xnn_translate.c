/* Nodes to steps: the builder, and the nodes that are one call of one operator. */
#include "backends/xnnpack/run/xnn_translate.h"

/* ---- The builder ---- */

fid_xnn_builder fid_xnn_begin(fid_xnn_graph *graph, uint32_t node, const fid_op *op) {
    return (fid_xnn_builder){.graph = graph, .node = node, .op = op};
}

void fid_xnn_add_number(fid_xnn_builder *b, fid_value value) {
    if (b->arg_count == FID_XNN_MAX_ARGS) b->status = FID_INTERNAL;
    else b->args[b->arg_count++] = value;
}

void fid_xnn_add_int(fid_xnn_builder *b, int64_t number) { fid_xnn_add_number(b, fid_int_value(number)); }
void fid_xnn_add_double(fid_xnn_builder *b, double number) { fid_xnn_add_number(b, fid_double_value(number)); }
void fid_xnn_add_bool(fid_xnn_builder *b, bool flag) { fid_xnn_add_number(b, fid_bool_value(flag)); }
void fid_xnn_add_none(fid_xnn_builder *b) { fid_xnn_add_number(b, fid_none_value()); }

void fid_xnn_add_ints(fid_xnn_builder *b, const int64_t *numbers, size_t count) {
    int64_t *kept = fid_xnn_persist(b->graph, count, sizeof *kept);
    if (!kept) b->status = FID_OUT_OF_MEMORY;
    else memcpy(kept, numbers, count * sizeof *kept);
    fid_xnn_add_number(b, (fid_value){.as.ints = {kept, count}, .tag = FID_TAG_INT_LIST});
}

void fid_xnn_add_activation(fid_xnn_builder *b, const fid_activation *activation) {
    const char *text = fid_activation_text(activation->kind);
    fid_xnn_add_number(b, (fid_value){.as.string = {text, strlen(text)}, .tag = FID_TAG_STRING});
    fid_xnn_add_double(b, activation->a);
    fid_xnn_add_double(b, activation->b);
}

static fid_xnn_operand *add_operand(fid_xnn_builder *b) {
    fid_xnn_operand *operand = b->operand_count < FID_XNN_MAX_OPERANDS ? fid_xnn_persist(b->graph, 1, sizeof *operand) : NULL;
    if (!operand) {
        b->status = FID_OUT_OF_MEMORY;
        return NULL;
    }
    operand->tensor = (fid_tensor){.sizes = operand->sizes, .strides = operand->strides, .dim_order = operand->dim_order, .dtype = FID_FLOAT32};
    operand->value = FID_XNN_NO_ID;
    return b->operands[b->operand_count++] = operand;
}

/* A constant's elements, kept from when they are first wanted. */
static bool load_constant(fid_xnn_graph *graph, fid_xnn_value *v) {
    if (v->home == FID_XNN_HOME_CONSTANT && !v->memory) v->memory = (void *)(uintptr_t)fid_xnn_floats_kept(graph, v);
    return v->home != FID_XNN_HOME_CONSTANT || v->memory;
}

static fid_tensor *add_view(fid_xnn_builder *b, uint32_t value, fid_xnn_view view) {
    fid_xnn_operand *operand = add_operand(b);
    if (!operand) return NULL;
    fid_xnn_value *v = &b->graph->values[value];
    if (view == FID_XNN_IMAGE && v->rank != 4) {
        b->status = fid_xnn_fail_node(b->graph, b->node, FID_INVALID_PROGRAM, "wants an image of rank 4");
        return NULL;
    }
    operand->value = value;
    operand->view = (uint8_t)view;
    operand->tensor.dtype = v->dtype;
    if (!load_constant(b->graph, v)) b->status = FID_OUT_OF_MEMORY;
    if (v->home == FID_XNN_HOME_CONSTANT) {
        operand->tensor.flags = FID_TENSOR_CONSTANT;
        operand->tensor.data = v->memory;
    }
    return &operand->tensor;
}

void fid_xnn_add_value(fid_xnn_builder *b, uint32_t value, fid_xnn_view view) {
    fid_tensor *tensor = value == FID_XNN_NO_ID || b->status != FID_OK ? NULL : add_view(b, value, view);
    fid_xnn_add_number(b, tensor ? fid_tensor_value(tensor) : fid_none_value());
}

void fid_xnn_add_values(fid_xnn_builder *b, const uint32_t *values, uint32_t count) {
    fid_tensor **tensors = fid_xnn_persist(b->graph, count, sizeof *tensors);
    if (!tensors) b->status = FID_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < count && b->status == FID_OK; i++) tensors[i] = add_view(b, values[i], FID_XNN_PLAIN);
    fid_xnn_add_number(b, (fid_value){.as.tensors = {tensors, count}, .tag = FID_TAG_TENSOR_LIST});
}

void fid_xnn_add_constant(fid_xnn_builder *b, const float *data, const int64_t *sizes, size_t rank) {
    fid_xnn_operand *operand = data ? add_operand(b) : NULL;
    if (!operand) {
        fid_xnn_add_none(b);
        return;
    }
    operand->tensor.rank = (uint8_t)rank;
    operand->tensor.flags = FID_TENSOR_CONSTANT;
    operand->tensor.data = (void *)(uintptr_t)data;
    for (size_t i = 0; i < rank; i++) operand->sizes[i] = sizes[i], operand->dim_order[i] = (uint8_t)i;
    fid_tensor_update_strides(&operand->tensor);
    operand->tensor.capacity = fid_tensor_bytes(&operand->tensor);
    fid_xnn_add_number(b, fid_tensor_value(&operand->tensor));
}

void fid_xnn_add_output(fid_xnn_builder *b, uint32_t value, fid_xnn_view view) {
    fid_xnn_add_value(b, value, view);
    b->output_count++;
}

static fid_xnn_step *add_step(fid_xnn_graph *graph, uint32_t node) {
    if (graph->step_count == graph->step_room) {
        uint32_t room = 2 * graph->step_room + 8; /* a few for each node, which takes bytes of the blob: no overflow */
        fid_xnn_step *steps = fid_xnn_persist(graph, room, sizeof *steps);
        if (!steps) return NULL;
        if (graph->step_count) memcpy(steps, graph->steps, graph->step_count * sizeof *steps);
        graph->steps = steps;
        graph->step_room = room;
    }
    fid_xnn_step *step = &graph->steps[graph->step_count++];
    step->node = node;
    return step;
}

static fid_status choose_kernel(fid_xnn_step *step) {
    const fid_kernel *kernels[] = {step->op->cpu, step->op->reference};
    for (size_t i = 0; i < 2; i++) {
        fid_status status = FID_NOT_SUPPORTED;
        if (!kernels[i]) continue;
        step->kernel = kernels[i];
        step->call.state = NULL;
        status = kernels[i]->prepare ? kernels[i]->prepare(&step->call) : FID_OK;
        if (status != FID_NOT_SUPPORTED) return status;
    }
    return FID_NOT_SUPPORTED;
}

/* "XNNPACK node 12 (Conv2d): aten::convolution" */
static const char *name_of(fid_xnn_builder *b) {
    char text[160];
    size_t length = fid_format(text, sizeof text, "XNNPACK node %u (%s): %s", b->node, fid_xnn_type_text(b->graph->nodes[b->node].type), b->op->name);
    char *kept = fid_xnn_persist(b->graph, length + 1, 1);
    if (!kept || length >= sizeof text) return b->op->name;
    memcpy(kept, text, length + 1);
    return kept;
}

fid_status fid_xnn_end(fid_xnn_builder *b) {
    fid_xnn_graph *graph = b->graph;
    FID_TRY(b->status);
    fid_xnn_step *step = add_step(graph, b->node);
    fid_value *values = fid_xnn_persist(graph, b->arg_count, sizeof *values);
    fid_value **args = fid_xnn_persist(graph, b->arg_count, sizeof *args);
    fid_xnn_operand **operands = fid_xnn_persist(graph, b->operand_count, sizeof *operands);
    if (!step || !values || !args || !operands) return FID_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < b->arg_count; i++) values[i] = b->args[i], args[i] = &values[i];
    memcpy(operands, b->operands, b->operand_count * sizeof *operands);
    step->kind = FID_XNN_STEP_CALL;
    step->op = b->op;
    step->operands = operands;
    step->operand_count = b->operand_count;
    step->output_count = (uint8_t)b->output_count;
    step->call = (fid_call){.name = name_of(b), .args = args, .arg_count = b->arg_count, .output_index = b->arg_count - b->output_count, .sink = graph->sink,
                            .threads = graph->init.threads, .cpu = graph->init.cpu, .memory = &graph->scratch.interface};
    FID_TRY(fid_xnn_shape_step(graph, step));
    fid_status status = choose_kernel(step);
    if (status == FID_NOT_SUPPORTED) return fid_xnn_fail_node(graph, b->node, status, "no kernel takes its values");
    if (status != FID_OK || !step->kernel->scratch_bytes) return status;
    return fid_xnn_scratch_reserve(graph, step->kernel->scratch_bytes(&step->call));
}

fid_status fid_xnn_add_alias(fid_xnn_graph *graph, uint32_t node, fid_xnn_step_kind kind, uint32_t input, uint32_t output, const int64_t *numbers,
                             size_t count) {
    uint32_t target = output;
    if (graph->values[output].flags & FID_XNN_VALUE_OUTPUT) { /* stands in the caller's memory: the elements move there after all */
        target = fid_xnn_value_create(graph, output);
        if (target == FID_XNN_NO_ID) return FID_OUT_OF_MEMORY;
    }
    fid_xnn_step *step = add_step(graph, node);
    int64_t *kept = fid_xnn_persist(graph, count, sizeof *kept);
    if (!step || !kept || !load_constant(graph, &graph->values[input])) return FID_OUT_OF_MEMORY;
    memcpy(kept, numbers, count * sizeof *kept);
    step->kind = (uint8_t)kind;
    step->input = input;
    step->output = target;
    step->numbers = kept;
    step->number_count = (uint8_t)count;
    graph->values[target].home = FID_XNN_HOME_ALIAS;
    graph->values[target].root = input;
    graph->values[target].dtype = graph->values[input].dtype;
    FID_TRY(fid_xnn_shape_step(graph, step));
    if (target == output) return FID_OK;
    fid_xnn_builder b = FID_XNN_BEGIN(graph, node, clone);
    fid_xnn_add_value(&b, target, FID_XNN_PLAIN);
    fid_xnn_add_none(&b);
    fid_xnn_add_output(&b, output, FID_XNN_PLAIN);
    return fid_xnn_end(&b);
}

/* ---- Results ---- */

static fid_status clamp_value(fid_xnn_graph *graph, uint32_t node, uint32_t value, const fid_activation *activation) {
    if (activation->kind == FID_ACTIVATION_RELU) {
        fid_xnn_builder b = FID_XNN_BEGIN(graph, node, relu);
        fid_xnn_add_value(&b, value, FID_XNN_PLAIN);
        fid_xnn_add_output(&b, value, FID_XNN_PLAIN);
        return fid_xnn_end(&b);
    }
    fid_xnn_builder b = FID_XNN_BEGIN(graph, node, clamp);
    fid_xnn_add_value(&b, value, FID_XNN_PLAIN);
    fid_xnn_add_double(&b, activation->a);
    fid_xnn_add_double(&b, activation->b);
    fid_xnn_add_output(&b, value, FID_XNN_PLAIN);
    return fid_xnn_end(&b);
}

fid_status fid_xnn_finish_value(fid_xnn_graph *graph, uint32_t node, uint32_t value, const fid_activation *activation) {
    const fid_xnn_value *v = &graph->values[value];
    if (activation && activation->kind != FID_ACTIVATION_NONE) FID_TRY(clamp_value(graph, node, value, activation));
    if (v->datatype != FID_XNN_QINT8 && v->datatype != FID_XNN_QUINT8) return FID_OK;
    fid_xnn_builder b = fid_xnn_begin(graph, node, &fid_xnn_quantize);
    fid_xnn_add_value(&b, value, FID_XNN_PLAIN);
    fid_xnn_add_double(&b, (double)v->quant.scale);
    fid_xnn_add_int(&b, v->quant.zero_point);
    fid_xnn_add_bool(&b, v->datatype == FID_XNN_QUINT8);
    fid_xnn_add_output(&b, value, FID_XNN_PLAIN);
    return fid_xnn_end(&b);
}

/* ---- One call ---- */

static fid_status pointwise(fid_xnn_graph *g, uint32_t node, fid_op_id id) {
    const fid_xnn_node *n = &g->nodes[node];
    fid_xnn_builder b = fid_xnn_begin(g, node, &fid_builtin_ops.ops[id]);
    for (uint32_t i = 0; i < n->input_count; i++) fid_xnn_add_value(&b, n->inputs[i], FID_XNN_PLAIN);
    if (id == FID_OPID_add_Tensor || id == FID_OPID_sub_Tensor) fid_xnn_add_int(&b, 1);
    if (id == FID_OPID_gelu) fid_xnn_add_number(&b, (fid_value){.as.string = {"none", 4}, .tag = FID_TAG_STRING});
    if (id == FID_OPID_leaky_relu) fid_xnn_add_double(&b, (double)fid_fb_get_f32(n->table, FID_XNN_LeakyReLU_negative_slope, 0));
    if (id == FID_OPID_elu) {
        fid_xnn_add_double(&b, (double)fid_fb_get_f32(n->table, FID_XNN_ELU_alpha, 0));
        fid_xnn_add_int(&b, 1);
        fid_xnn_add_int(&b, 1);
    }
    fid_xnn_add_output(&b, n->outputs[0], FID_XNN_PLAIN);
    FID_TRY(fid_xnn_end(&b));
    return fid_xnn_finish_value(g, node, n->outputs[0], &n->activation);
}

static fid_status clamp(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    const fid_activation *a = &n->activation;
    if (a->kind == FID_ACTIVATION_NONE) return fid_xnn_translate_copy(g, node);
    fid_xnn_builder b = a->kind == FID_ACTIVATION_RELU ? FID_XNN_BEGIN(g, node, relu) : FID_XNN_BEGIN(g, node, clamp);
    fid_xnn_add_value(&b, n->inputs[0], FID_XNN_PLAIN);
    if (a->kind != FID_ACTIVATION_RELU) fid_xnn_add_double(&b, a->a), fid_xnn_add_double(&b, a->b);
    fid_xnn_add_output(&b, n->outputs[0], FID_XNN_PLAIN);
    FID_TRY(fid_xnn_end(&b));
    return fid_xnn_finish_value(g, node, n->outputs[0], NULL);
}

static fid_status softmax(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    fid_xnn_builder b = FID_XNN_BEGIN(g, node, _softmax);
    fid_xnn_add_value(&b, n->inputs[0], FID_XNN_PLAIN);
    fid_xnn_add_int(&b, -1);
    fid_xnn_add_bool(&b, false);
    fid_xnn_add_output(&b, n->outputs[0], FID_XNN_PLAIN);
    FID_TRY(fid_xnn_end(&b));
    return fid_xnn_finish_value(g, node, n->outputs[0], NULL);
}

/* prelu(self, weight): a slope for each of the last dim, which is the channels of an image. */
static fid_status prelu(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    fid_xnn_builder b = FID_XNN_BEGIN(g, node, prelu);
    fid_xnn_view view = g->values[n->inputs[0]].rank == 4 ? FID_XNN_IMAGE : FID_XNN_PLAIN;
    if (view == FID_XNN_PLAIN && g->values[n->inputs[0]].rank > 2) return fid_xnn_fail_node(g, node, FID_NOT_SUPPORTED, "its rank is neither 2 nor 4");
    fid_xnn_add_value(&b, n->inputs[0], view);
    fid_xnn_add_value(&b, n->inputs[1], FID_XNN_VECTOR);
    fid_xnn_add_output(&b, n->outputs[0], view);
    FID_TRY(fid_xnn_end(&b));
    return fid_xnn_finish_value(g, node, n->outputs[0], NULL);
}

static fid_status resize_image(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    if (n->flags & FID_XNN_FLAG_LEGACY_RESIZE) return fid_xnn_fail_node(g, node, FID_NOT_SUPPORTED, "resizes in the way of old TensorFlow");
    int64_t size[] = {fid_fb_get_u32(n->table, FID_XNN_Resize_new_height, 0), fid_fb_get_u32(n->table, FID_XNN_Resize_new_width, 0)};
    fid_xnn_builder b = FID_XNN_BEGIN(g, node, upsample_bilinear2d);
    fid_xnn_add_value(&b, n->inputs[0], FID_XNN_IMAGE);
    fid_xnn_add_ints(&b, size, 2);
    fid_xnn_add_bool(&b, (n->flags & FID_XNN_FLAG_ALIGN_CORNERS) != 0);
    fid_xnn_add_none(&b);
    fid_xnn_add_none(&b);
    fid_xnn_add_output(&b, n->outputs[0], FID_XNN_IMAGE);
    FID_TRY(fid_xnn_end(&b));
    return fid_xnn_finish_value(g, node, n->outputs[0], NULL);
}

/* ---- Pools ---- */

typedef struct pool {
    int64_t padding[4]; /* top, left, bottom, right */
    int64_t kernel[2], stride[2], dilation[2];
} pool;

static pool read_pool(const fid_xnn_node *n) {
#define FIELD(field) fid_fb_get_u32(n->table, FID_XNN_Pooling_##field, 0)
    return (pool){{FIELD(padding_top), FIELD(padding_left), FIELD(padding_bottom), FIELD(padding_right)},
                  {FIELD(pooling_height), FIELD(pooling_width)}, {FIELD(stride_height), FIELD(stride_width)}, {FIELD(dilation_height), FIELD(dilation_width)}};
#undef FIELD
}

/* The input with a frame of -infinity, for max pools whose padding is not the same on both sides. */
static fid_status add_frame(fid_xnn_graph *g, uint32_t node, pool *inout_pool, uint32_t *inout_input) {
    int64_t *p = inout_pool->padding, pads[] = {0, 0, p[1], p[3], p[0], p[2]};
    uint32_t framed = fid_xnn_value_create(g, *inout_input);
    if (framed == FID_XNN_NO_ID) return FID_OUT_OF_MEMORY;
    fid_xnn_builder b = FID_XNN_BEGIN(g, node, constant_pad_nd);
    fid_xnn_add_value(&b, *inout_input, FID_XNN_PLAIN);
    fid_xnn_add_ints(&b, pads, 6);
    fid_xnn_add_double(&b, -(double)INFINITY);
    fid_xnn_add_output(&b, framed, FID_XNN_PLAIN);
    memset(p, 0, 4 * sizeof *p);
    *inout_input = framed;
    return fid_xnn_end(&b);
}

static fid_status max_pool(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    pool p = read_pool(n);
    uint32_t input = n->inputs[0];
    bool odd = p.padding[0] != p.padding[2] || p.padding[1] != p.padding[3] || 2 * p.padding[0] > p.kernel[0] || 2 * p.padding[1] > p.kernel[1];
    if (odd) FID_TRY(add_frame(g, node, &p, &input));
    fid_xnn_builder b = FID_XNN_BEGIN(g, node, fused_max_pool2d);
    fid_xnn_add_value(&b, input, FID_XNN_IMAGE);
    fid_xnn_add_ints(&b, p.kernel, 2);
    fid_xnn_add_ints(&b, p.stride, 2);
    fid_xnn_add_ints(&b, p.padding, 2);
    fid_xnn_add_ints(&b, p.dilation, 2);
    fid_xnn_add_bool(&b, false);
    fid_xnn_add_output(&b, n->outputs[0], FID_XNN_IMAGE);
    FID_TRY(fid_xnn_end(&b));
    return fid_xnn_finish_value(g, node, n->outputs[0], &n->activation);
}

/* Padding does not count in the mean. */
static fid_status average_pool(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    pool p = read_pool(n);
    if (p.padding[0] != p.padding[2] || p.padding[1] != p.padding[3])
        return fid_xnn_fail_node(g, node, FID_NOT_SUPPORTED, "its padding differs before and after");
    fid_xnn_builder b = FID_XNN_BEGIN(g, node, avg_pool2d);
    fid_xnn_add_value(&b, n->inputs[0], FID_XNN_IMAGE);
    fid_xnn_add_ints(&b, p.kernel, 2);
    fid_xnn_add_ints(&b, p.stride, 2);
    fid_xnn_add_ints(&b, p.padding, 2);
    fid_xnn_add_bool(&b, false);
    fid_xnn_add_bool(&b, false);
    fid_xnn_add_none(&b);
    fid_xnn_add_output(&b, n->outputs[0], FID_XNN_IMAGE);
    FID_TRY(fid_xnn_end(&b));
    return fid_xnn_finish_value(g, node, n->outputs[0], &n->activation);
}

static fid_status global_pool(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    bool keep = (n->flags & FID_XNN_FLAG_KEEP_DIMS) != 0;
    fid_xnn_builder b = FID_XNN_BEGIN(g, node, mean_dim);
    fid_xnn_add_value(&b, n->inputs[0], FID_XNN_IMAGE);
    fid_xnn_add_ints(&b, (int64_t[]){2, 3}, 2);
    fid_xnn_add_bool(&b, keep);
    fid_xnn_add_none(&b);
    fid_xnn_add_output(&b, n->outputs[0], keep ? FID_XNN_IMAGE : FID_XNN_PLAIN);
    FID_TRY(fid_xnn_end(&b));
    return fid_xnn_finish_value(g, node, n->outputs[0], &n->activation);
}

/* A window over one whole dim: the largest along it, and where it is. */
static fid_status arg_max_pool(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    const fid_xnn_value *in = &g->values[n->inputs[0]];
#define FIELD(field) (int64_t)fid_fb_get_u32(n->table, FID_XNN_ArgMaxPooling_##field, 0)
    int64_t height = FIELD(pooling_height), width = FIELD(pooling_width), padded = FIELD(padding_top) + FIELD(padding_right) + FIELD(padding_bottom) + FIELD(padding_left);
#undef FIELD
    size_t dim = height == 1 ? 2 : 1;
    if (in->rank != 4 || padded || (dim == 1 && width != 1) || (dim == 1 ? height : width) != in->dims[dim])
        return fid_xnn_fail_node(g, node, FID_NOT_SUPPORTED, "its window is not one whole dimension");
    fid_xnn_builder b = FID_XNN_BEGIN(g, node, max_dim);
    fid_xnn_add_value(&b, n->inputs[0], FID_XNN_PLAIN);
    fid_xnn_add_int(&b, (int64_t)dim);
    fid_xnn_add_bool(&b, true);
    fid_xnn_add_output(&b, n->outputs[0], FID_XNN_PLAIN);
    fid_xnn_add_output(&b, n->outputs[1], FID_XNN_PLAIN);
    return fid_xnn_end(&b);
}

/* ---- Products of values ---- */

static fid_status batch_product(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    if (n->flags & (FID_XNN_FLAG_TRANSPOSE_A | FID_XNN_FLAG_TRANSPOSE_B))
        return fid_xnn_fail_node(g, node, FID_NOT_SUPPORTED, "it transposes its operands");
    return pointwise(g, node, g->values[n->inputs[0]].rank == 3 && g->values[n->inputs[1]].rank == 3 &&
                     g->values[n->inputs[0]].dims[0] == g->values[n->inputs[1]].dims[0] ? FID_OPID_bmm : FID_OPID_matmul);
}

/* The one number that a constant consists of. */
static bool uniform(fid_xnn_graph *g, uint32_t value, double *out) {
    const fid_xnn_value *v = &g->values[value];
    size_t bytes, count = 1;
    if (v->home != FID_XNN_HOME_CONSTANT) return false;
    for (size_t i = 0; i < v->rank; i++) count *= (size_t)v->dims[i];
    const float *floats = fid_xnn_floats(g, v, &bytes);
    bool same = floats && count > 0;
    for (size_t i = 1; same && i < count; i++) same = floats[i] == floats[0];
    if (same) *out = (double)floats[0];
    if (bytes) fid_free(g->init.allocator, (void *)(uintptr_t)floats, bytes);
    return same;
}

static fid_status attention(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    double scale;
    if (!uniform(g, n->inputs[3], &scale)) return fid_xnn_fail_node(g, node, FID_NOT_SUPPORTED, "its scale is not one constant number");
    fid_xnn_builder b = FID_XNN_BEGIN(g, node, scaled_dot_product_attention);
    for (uint32_t i = 0; i < 3; i++) fid_xnn_add_value(&b, n->inputs[i], FID_XNN_PLAIN);
    fid_xnn_add_value(&b, n->inputs[4], FID_XNN_PLAIN);
    fid_xnn_add_double(&b, 0);
    fid_xnn_add_bool(&b, false);
    fid_xnn_add_double(&b, scale);
    fid_xnn_add_bool(&b, false);
    fid_xnn_add_output(&b, n->outputs[0], FID_XNN_PLAIN);
    return fid_xnn_end(&b);
}

/* ---- The walk ---- */

static fid_status translate(fid_xnn_graph *g, uint32_t node) {
    switch ((fid_xnn_type)g->nodes[node].type) {
    case FID_XNN_Add: return pointwise(g, node, FID_OPID_add_Tensor);
    case FID_XNN_Subtract: return pointwise(g, node, FID_OPID_sub_Tensor);
    case FID_XNN_Multiply: return pointwise(g, node, FID_OPID_mul_Tensor);
    case FID_XNN_Div: return pointwise(g, node, FID_OPID_div_Tensor);
    case FID_XNN_Minimum: return pointwise(g, node, FID_OPID_minimum);
    case FID_XNN_Maximum: return pointwise(g, node, FID_OPID_maximum);
    case FID_XNN_Sigmoid: return pointwise(g, node, FID_OPID_sigmoid);
    case FID_XNN_Floor: return pointwise(g, node, FID_OPID_floor);
    case FID_XNN_Ceiling: return pointwise(g, node, FID_OPID_ceil);
    case FID_XNN_SquareRoot: return pointwise(g, node, FID_OPID_sqrt);
    case FID_XNN_ReciprocalSquareRoot: return pointwise(g, node, FID_OPID_rsqrt);
    case FID_XNN_Hardswish: return pointwise(g, node, FID_OPID_hardswish);
    case FID_XNN_Negate: return pointwise(g, node, FID_OPID_neg);
    case FID_XNN_Square: return pointwise(g, node, FID_OPID_square);
    case FID_XNN_Abs: return pointwise(g, node, FID_OPID_abs);
    case FID_XNN_Log: return pointwise(g, node, FID_OPID_log);
    case FID_XNN_Gelu: return pointwise(g, node, FID_OPID_gelu);
    case FID_XNN_Tanh: return pointwise(g, node, FID_OPID_tanh);
    case FID_XNN_Exp: return pointwise(g, node, FID_OPID_exp);
    case FID_XNN_Sin: return pointwise(g, node, FID_OPID_sin);
    case FID_XNN_Cos: return pointwise(g, node, FID_OPID_cos);
    case FID_XNN_LeakyReLU: return pointwise(g, node, FID_OPID_leaky_relu);
    case FID_XNN_ELU: return pointwise(g, node, FID_OPID_elu);
    case FID_XNN_BatchMatrixMultiply: return batch_product(g, node);
    case FID_XNN_Clamp: return clamp(g, node);
    case FID_XNN_Softmax: return softmax(g, node);
    case FID_XNN_PReLU: return prelu(g, node);
    case FID_XNN_StaticResizeBilinear2D: return resize_image(g, node);
    case FID_XNN_MaxPooling2d: return max_pool(g, node);
    case FID_XNN_AvgPooling2d: return average_pool(g, node);
    case FID_XNN_GlobalAvgPooling2d: return global_pool(g, node);
    case FID_XNN_ArgMaxPooling2d: return arg_max_pool(g, node);
    case FID_XNN_ScaledDotProductAttention: return attention(g, node);
    case FID_XNN_FullyConnected: return fid_xnn_translate_linear(g, node);
    case FID_XNN_Conv2d: case FID_XNN_DepthwiseConv2d: return fid_xnn_translate_convolution(g, node);
    case FID_XNN_ConvTranspose2d: return fid_xnn_translate_transposed(g, node);
    case FID_XNN_StaticTranspose: return fid_xnn_translate_permute(g, node);
    case FID_XNN_StaticReshape: return fid_xnn_translate_reshape(g, node);
    case FID_XNN_Copy: return fid_xnn_translate_copy(g, node);
    case FID_XNN_Convert: return fid_xnn_translate_convert(g, node);
    case FID_XNN_StaticSlice: return fid_xnn_translate_slice(g, node);
    case FID_XNN_StaticConstantPad: return fid_xnn_translate_pad(g, node);
    case FID_XNN_Concatenate2: case FID_XNN_Concatenate3: case FID_XNN_Concatenate4: case FID_XNN_Concatenate5: return fid_xnn_translate_cat(g, node);
    case FID_XNN_NO_NODE: case FID_XNN_TYPE_COUNT: break;
    }
    return fid_xnn_fail_node(g, node, FID_INTERNAL, "there is no translation");
}

fid_status fid_xnn_translate(fid_xnn_graph *graph) {
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (!graph->nodes[i].dead) FID_TRY(translate(graph, i));
    return FID_OK;
}
