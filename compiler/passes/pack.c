/* Weights as kernels read them: a plain constant becomes a packed one, and a plain product with it becomes fid::linear.
 *
 * Fusion already packs the weights of what it fuses; this pass takes the products and recurrent layers that are left. */
#include "compiler/passes/pack.h"

#include "base/half.h"
#include "kernels/cpu/conv.h"
#include "kernels/cpu/pack_weights.h"

struct fidc_packed {
    fidc_packed *next;
    const void *source; /* data of the plain weight */
    fidc_packing packing;
    int64_t groups;
    const void *data;
    fid_dtype dtype;
    int64_t sizes[4];
    size_t rank;
    const fidc_graph *graph; /* where `value` is */
    fidc_value *value;
};

/* ---- Constants ---- */

static bool is_half(const fidc_value *value) { return value->dtype == FID_FLOAT16 || value->dtype == FID_BFLOAT16; }

static bool has_data(const fidc_value *value) { return fidc_is_constant(value) && value->constant->data; }

const fidc_value *fidc_constant_behind(const fidc_value *value) {
    if (!value || value->type != FIDC_TENSOR || value->dtype != FID_FLOAT32) return NULL;
    if (has_data(value)) return value;
    if (value->origin != FIDC_FROM_NODE || !fidc_is(value->producer, FID_OPID__to_copy)) return NULL;
    const fidc_value *from = fidc_value_of(&value->producer->args[0]);
    return from && has_data(from) && is_half(from) ? from : NULL;
}

bool fidc_is_packable(const fidc_value *value) { return fidc_constant_behind(value) && fidc_sizes_static(value); }

const float *fidc_floats(fidc_program *program, const fidc_value *value) {
    const fidc_value *behind = fidc_constant_behind(value);
    if (behind == value) return value->constant->data;
    size_t count = behind->constant->bytes / sizeof(uint16_t);
    const uint16_t *half = behind->constant->data;
    float *floats = fid_arena_allocate(&program->arena, count * sizeof *floats, FID_ALLOCATION_ALIGNMENT);
    for (size_t i = 0; floats && i < count; i++)
        floats[i] = behind->dtype == FID_FLOAT16 ? fid_float_from_f16(half[i]) : fid_float_from_bf16(half[i]);
    return floats;
}

/* ---- Packing ---- */

static void *allocate_packed(fidc_program *program, fidc_packed *p) {
    size_t count;
    if (!fid_mul_sizes(p->sizes, p->rank, &count) || count > SIZE_MAX / sizeof(float)) return NULL;
    return fid_arena_allocate(&program->arena, count * fid_dtype_size(p->dtype), FID_ALLOCATION_ALIGNMENT);
}

/* 16-bit weights of linear layers stay 16 bits wide. */
static bool pack_half_matrix(fidc_program *program, const fidc_value *weight, fidc_packed *p, size_t n, size_t k) {
    const fidc_value *behind = fidc_constant_behind(weight);
    p->dtype = (fid_dtype)behind->dtype;
    uint16_t *data = allocate_packed(program, p);
    if (!data) return false;
    if (p->packing == FIDC_PACK_ROWS) fidk_pack_half_rows(behind->constant->data, k, n, k, data);
    else fidk_pack_half_columns(behind->constant->data, n, n, k, data);
    p->data = data;
    return true;
}

static bool pack_wide_matrix(fidc_program *program, const fidc_value *weight, fidc_packed *p) {
    bool rows = p->packing == FIDC_PACK_ROWS;
    int64_t n = fidc_size(weight, rows ? 0 : 1), k = fidc_size(weight, rows ? 1 : 0);
    p->sizes[0] = fid_panels(n), p->sizes[1] = k, p->sizes[2] = FID_PANEL;
    float *data = allocate_packed(program, p);
    const float *floats = fidc_floats(program, weight);
    if (!data || !floats) return false;
    if (rows) fidk_pack_rows(floats, (size_t)k, (size_t)n, (size_t)k, data);
    else fidk_pack_columns(floats, (size_t)n, (size_t)n, (size_t)k, data);
    p->data = data;
    return true;
}

static bool pack_matrix(fidc_program *program, const fidc_value *weight, fidc_packed *p) {
    bool rows = p->packing == FIDC_PACK_ROWS;
    int64_t n = fidc_size(weight, rows ? 0 : 1), k = fidc_size(weight, rows ? 1 : 0);
    if (!is_half(fidc_constant_behind(weight))) return pack_wide_matrix(program, weight, p);
    p->sizes[0] = fid_panels(n), p->sizes[1] = k, p->sizes[2] = FID_PANEL;
    return pack_half_matrix(program, weight, p, (size_t)n, (size_t)k);
}

/* Sizes and strides of a plain weight. */
typedef struct plain_weight {
    int64_t sizes[5], strides[5];
    uint8_t order[5];
    fid_tensor tensor;
} plain_weight;

/* Its convolution, as far as packing asks; false when memory is short. */
static bool convolution_of(fidc_program *program, const fidc_value *weight, int64_t groups, plain_weight *plain, fid_convolution *out) {
    for (size_t i = 0; i < weight->rank; i++) plain->sizes[i] = fidc_size(weight, i), plain->order[i] = (uint8_t)i;
    fid_strides_of(plain->sizes, plain->order, weight->rank, plain->strides);
    plain->tensor = (fid_tensor){.data = (void *)(uintptr_t)fidc_floats(program, weight), .sizes = plain->sizes, .strides = plain->strides,
                                 .dim_order = plain->order, .rank = weight->rank, .dtype = FID_FLOAT32};
    *out = (fid_convolution){.weight = &plain->tensor, .groups = groups, .out_channels = plain->sizes[0], .in_channels = plain->sizes[1] * groups};
    for (size_t d = 0; d < 3; d++) out->window.kernel[d] = d + weight->rank < 5 ? 1 : plain->sizes[d + weight->rank - 3];
    return plain->tensor.data != NULL;
}

static bool pack_convolution(fidc_program *program, const fidc_value *weight, fidc_packed *p) {
    plain_weight plain;
    fid_convolution conv;
    if (!convolution_of(program, weight, p->groups, &plain, &conv)) return false;
    const int64_t *sizes = plain.sizes;
    int64_t taps = 1;
    for (size_t d = 0; d < 3; d++) taps *= conv.window.kernel[d];
    bool depthwise = fid_convolution_is_depthwise(&conv);
    p->sizes[0] = depthwise ? fid_panels(sizes[0]) : p->groups * fid_panels(sizes[0] / p->groups);
    p->sizes[1] = depthwise ? taps : taps * sizes[1];
    p->sizes[2] = FID_PANEL;
    float *data = allocate_packed(program, p);
    if (!data) return false;
    fidk_conv_pack(&conv, data);
    p->data = data;
    return true;
}

static bool is_winograd(fidc_packing packing) { return packing >= FIDC_PACK_WINOGRAD2; }

static bool pack_winograd(fidc_program *program, const fidc_value *weight, fidc_packed *p) {
    int64_t m = (int64_t)(p->packing - FIDC_PACK_WINOGRAD2) + FID_WINOGRAD_LEAST;
    plain_weight plain;
    fid_convolution conv;
    if (!convolution_of(program, weight, 1, &plain, &conv)) return false;
    p->rank = 4;
    p->sizes[0] = fid_panels(conv.out_channels), p->sizes[1] = fid_winograd_positions(m), p->sizes[2] = conv.in_channels, p->sizes[3] = FID_PANEL;
    float *data = allocate_packed(program, p);
    if (!data) return false;
    fidk_winograd_pack(&conv, m, data);
    program->winograd_bytes += (uint64_t)(p->sizes[0] * (p->sizes[1] - 9) * p->sizes[2] * p->sizes[3]) * sizeof *data;
    p->data = data;
    return true;
}

static const char *const packings[] = {[FIDC_PACK_ROWS] = "rows", [FIDC_PACK_COLUMNS] = "columns", [FIDC_PACK_CONVOLUTION] = "convolution",
                                       [FIDC_PACK_WINOGRAD2] = "winograd2", [FIDC_PACK_WINOGRAD3] = "winograd3",
                                       [FIDC_PACK_WINOGRAD4] = "winograd4"};

/* From panels of float32 to pairs in bfloat16. Depthwise weights, one channel a sum, stay as they are. */
static bool pack_pairs(fidc_program *program, const fidc_value *weight, fidc_packed *p) {
    bool done = p->packing == FIDC_PACK_CONVOLUTION ? pack_convolution(program, weight, p) : pack_wide_matrix(program, weight, p);
    if (!done || (p->packing == FIDC_PACK_CONVOLUTION && p->groups > 1 && p->groups == fidc_size(weight, 0) && fidc_size(weight, 1) == 1)) return done;
    const float *floats = p->data;
    int64_t panels = p->sizes[0], k = p->sizes[1];
    p->dtype = FID_BFLOAT16;
    p->sizes[1] = fid_pair_rows(k), p->sizes[2] = FID_PAIR_COLUMNS;
    uint16_t *data = allocate_packed(program, p);
    if (!data) return false;
    fidk_pack_pairs(floats, (size_t)panels, (size_t)k, data);
    p->data = data;
    return true;
}

static bool pack(fidc_program *program, const fidc_value *weight, fidc_packed *p) {
    p->rank = 3;
    if (is_winograd(p->packing)) return pack_winograd(program, weight, p);
    if (program->bf16_products) return pack_pairs(program, weight, p);
    return p->packing == FIDC_PACK_CONVOLUTION ? pack_convolution(program, weight, p) : pack_matrix(program, weight, p);
}

static fidc_value *value_of(const fidc_packed *p, fidc_graph *graph, const fidc_value *weight) {
    const char *name = fidc_text_format(graph->program, "%s.packed%u", fidc_constant_behind(weight)->constant->name, graph->name_counter++);
    size_t count = 1;
    for (size_t i = 0; i < p->rank; i++) count *= (size_t)p->sizes[i];
    fidc_value *made = name ? fidc_value_constant(graph, name, p->dtype, p->sizes, p->rank, p->data, count * fid_dtype_size(p->dtype)) : NULL;
    return fidc_constant_derive(graph->program, made, fidc_constant_behind(weight)->constant, packings[p->packing]);
}

bool fidc_packer_has(const fidc_packer *packer, const fidc_value *weight, fidc_packing packing) {
    const void *source = fidc_constant_behind(weight)->constant->data;
    for (const fidc_packed *p = packer->first; p; p = p->next)
        if (p->source == source && p->packing == packing) return true;
    return false;
}

fidc_value *fidc_packer_get(fidc_packer *packer, fidc_graph *graph, const fidc_value *weight, fidc_packing packing, int64_t groups) {
    const fidc_packed *same = NULL;
    const void *source = fidc_constant_behind(weight)->constant->data;
    for (fidc_packed *p = packer->first; p; p = p->next) {
        if (p->source != source || p->packing != packing || p->groups != groups) continue;
        if (p->graph == graph) return p->value;
        same = p;
    }
    fidc_packed *p = fidc_allocate(packer->program, sizeof *p);
    if (!p) return NULL;
    *p = (fidc_packed){.source = source, .packing = packing, .groups = groups, .graph = graph, .dtype = FID_FLOAT32};
    if (same) memcpy(p->sizes, same->sizes, sizeof p->sizes), p->rank = same->rank, p->data = same->data, p->dtype = same->dtype;
    else if (!pack(packer->program, weight, p)) return NULL;
    p->value = value_of(p, graph, weight);
    if (!p->value) return NULL;
    p->next = packer->first;
    packer->first = p;
    return p->value;
}

/* ---- Linear layers ---- */

static bool is_one(const fidc_arg *arg) {
    return (arg->kind == FIDC_ARG_INT && arg->as.integer == 1) || (arg->kind == FIDC_ARG_DOUBLE && arg->as.number == 1);
}

bool fidc_linear_parts_of(const fidc_node *node, fidc_linear_parts *out) {
    *out = (fidc_linear_parts){.packing = FIDC_PACK_COLUMNS};
    if (fidc_is(node, FID_OPID_linear)) {
        *out = (fidc_linear_parts){fidc_value_of(&node->args[0]), fidc_value_of(&node->args[1]), fidc_value_of(&node->args[2]), FIDC_PACK_ROWS, 0};
    } else if (fidc_is(node, FID_OPID_mm)) {
        out->input = fidc_value_of(&node->args[0]), out->weight = fidc_value_of(&node->args[1]);
    } else if (fidc_is(node, FID_OPID_addmm) && is_one(&node->args[3]) && is_one(&node->args[4])) {
        out->bias = fidc_value_of(&node->args[0]), out->input = fidc_value_of(&node->args[1]), out->weight = fidc_value_of(&node->args[2]);
    } else return false;
    if (!fidc_is_packable(out->weight) || out->weight->rank != 2 || out->input->dtype != FID_FLOAT32) return false;
    out->features = fidc_size(out->weight, out->packing == FIDC_PACK_ROWS ? 0 : 1);
    return !out->bias || (out->bias->dtype == FID_FLOAT32 && out->bias->rank == 1 && fidc_size(out->bias, 0) == out->features);
}

fidc_node *fidc_linear_create(fidc_packer *packer, fidc_node *before, fidc_node *like, const fidc_linear_parts *parts, fidc_value *add,
                              const fidc_arg *activation) {
    fidc_value *weight = fidc_packer_get(packer, before->graph, parts->weight, parts->packing, 1);
    if (!weight) return NULL;
    fidc_arg args[] = {fidc_v(parts->input), fidc_v(weight), fidc_v(parts->bias), fidc_v(add), fidc_i(parts->features),
                       activation[0], activation[1], activation[2]};
    return fidc_node_create(before->graph, before, like, FID_OPID_fused_linear, args, 8, 0);
}

/* ---- Recurrent layers ---- */

static const struct {
    fid_op_id plain, packed;
} recurrent_layers[] = {
    {FID_OPID_lstm_input, FID_OPID_fused_lstm}, {FID_OPID_gru_input, FID_OPID_fused_gru},
    {FID_OPID_rnn_tanh_input, FID_OPID_fused_rnn_tanh}, {FID_OPID_rnn_relu_input, FID_OPID_fused_rnn_relu},
};

/* Weights are the matrices of float32 among the parameters; a projection, which no fast kernel takes, shows as a third one. */
static bool packs_layers(const fidc_node *node) {
    const fidc_arg *params = &node->args[2], *biases = &node->args[3];
    if (params->kind != FIDC_ARG_LIST || biases->kind != FIDC_ARG_BOOL) return false;
    uint32_t each = biases->as.integer ? 4 : 2;
    if (params->as.list.count % each) return false;
    for (uint32_t i = 0; i < params->as.list.count; i++) {
        const fidc_value *value = fidc_value_of(&params->as.list.items[i]);
        if (!value || !has_data(value) || value->dtype != FID_FLOAT32 || value->rank != (i % each < 2 ? 2 : 1)) return false;
    }
    return true;
}

static fid_status pack_layers(fidc_packer *packer, fidc_node *node) {
    enum { COUNT = sizeof recurrent_layers / sizeof *recurrent_layers, PARAMS = 2 };
    size_t row = 0;
    while (row < COUNT && !fidc_is(node, recurrent_layers[row].plain)) row++;
    if (row == COUNT || packer->program->bf16_products || !packs_layers(node)) return FID_OK;
    uint32_t count = node->args[PARAMS].as.list.count;
    fidc_arg args[9], *params = fidc_allocate(packer->program, count * sizeof *params);
    fidc_node *packed = NULL;
    for (uint32_t i = 0; params && i < count; i++) {
        fidc_value *value = fidc_value_of(&node->args[PARAMS].as.list.items[i]);
        if (value->rank == 2) value = fidc_packer_get(packer, node->graph, value, FIDC_PACK_ROWS, 1);
        if (!value) params = NULL;
        else params[i] = fidc_v(value);
    }
    memcpy(args, node->args, sizeof args);
    args[PARAMS].as.list.items = params;
    if (params) packed = fidc_node_create(node->graph, node, node, recurrent_layers[row].packed, args, 9, 0);
    if (!packed) return fid_fail(packer->program->sink, FID_OUT_OF_MEMORY, "cannot pack the weights of %s", fidc_where(node));
    fidc_node_replace(node, packed);
    return FID_OK;
}

/* What is still a cast of a constant becomes a constant: biases, parameters of norms. */
static fid_status settle_cast(fidc_program *program, fidc_node *node) {
    if (!fidc_is(node, FID_OPID__to_copy)) return FID_OK;
    fidc_value *out = node->outputs[0];
    int64_t sizes[FID_MAX_RANK];
    if (!out->uses || !fidc_is_packable(out)) return FID_OK;
    const float *floats = fidc_floats(program, out);
    size_t bytes = fidc_constant_behind(out)->constant->bytes / sizeof(uint16_t) * sizeof(float);
    const char *name = fidc_text_format(program, "%s.wide%u", fidc_constant_behind(out)->constant->name, node->graph->name_counter++);
    for (size_t i = 0; i < out->rank; i++) sizes[i] = fidc_size(out, i);
    fidc_value *constant = floats && name ? fidc_value_constant(node->graph, name, FID_FLOAT32, sizes, out->rank, floats, bytes) : NULL;
    constant = fidc_constant_derive(program, constant, fidc_constant_behind(out)->constant, "float32");
    if (!constant) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory for a constant in float32");
    fidc_value_replace(out, constant);
    fidc_node_remove(node);
    return FID_OK;
}

static fid_status pack_graph(fidc_packer *packer, fidc_graph *graph) {
    static const fidc_arg none[] = {{.kind = FIDC_ARG_STRING, .as.text = "none"}, {.kind = FIDC_ARG_DOUBLE}, {.kind = FIDC_ARG_DOUBLE}};
    for (fidc_node *node = graph->first, *next; node; node = next) {
        fidc_linear_parts parts;
        next = node->next;
        for (uint32_t i = 0; i < node->graph_count; i++) FID_TRY(pack_graph(packer, node->graphs[i]));
        if (!fidc_linear_parts_of(node, &parts)) {
            FID_TRY(pack_layers(packer, node));
            continue;
        }
        fidc_node *packed = fidc_linear_create(packer, node, node, &parts, NULL, none);
        if (!packed) return fid_fail(packer->program->sink, FID_OUT_OF_MEMORY, "cannot pack the weight of %s", fidc_where(node));
        fidc_node_replace(node, packed);
    }
    fidc_graph_clean(graph);
    for (fidc_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        FID_TRY(settle_cast(packer->program, node));
    }
    return FID_OK;
}

fid_status fidc_pack(fidc_program *program) {
    fidc_packer packer = {program, NULL};
    for (uint32_t i = 0; i < program->method_count; i++) FID_TRY(pack_graph(&packer, program->methods[i]));
    return FID_OK;
}
