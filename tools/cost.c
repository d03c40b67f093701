/* Counting arithmetic and memory traffic. A row of `rules` tells how operators of a name count; all others go by their kind. */
#include "tools/cost.h"

typedef double (*flop_rule)(const program_call *call, const program_tensor *out);

/* Size of a tensor's dimension from the end, 1 if it has none. */
static double from_end(const program_tensor *t, uint32_t back) { return t->rank >= back ? (double)t->sizes[t->rank - back] : 1; }

static bool tensor_named(const program_call *call, const char *name, program_tensor *out) {
    return program_call_tensor(call, program_call_find(call, name), out);
}

static double depth_product(const program_call *call, const program_tensor *out, const char *left) {
    program_tensor a;
    return tensor_named(call, left, &a) ? 2 * out->numel * from_end(&a, 1) : out->numel;
}

static double product_flops(const program_call *call, const program_tensor *out) { return depth_product(call, out, "self"); }
static double linear_flops(const program_call *call, const program_tensor *out) { return depth_product(call, out, "input"); }
static double addmm_flops(const program_call *call, const program_tensor *out) { return depth_product(call, out, "mat1"); }
static double baddbmm_flops(const program_call *call, const program_tensor *out) { return depth_product(call, out, "batch1"); }

/* Plain weights are [out, in / groups, kernel...]; transposed ones [in, out / groups, kernel...], each input pixel meeting all of them. */
static double convolution_flops(const program_call *call, const program_tensor *out) {
    program_tensor in, weight;
    int32_t transposed = program_call_find(call, "transposed");
    const char *input = program_call_find(call, "input") >= 0 ? "input" : "self";
    if (!tensor_named(call, "weight", &weight) || weight.rank < 2 || !tensor_named(call, input, &in)) return out->numel;
    double taps = weight.numel / (double)(weight.sizes[0] > 0 ? weight.sizes[0] : 1);
    bool turned = strstr(call->name, "transpose") != NULL || (transposed >= 0 && out->numel > in.numel && from_end(out, 1) > from_end(&in, 1));
    return 2 * (turned ? in.numel : out->numel) * taps;
}

static double packed_convolution_flops(const program_call *call, const program_tensor *out) {
    program_tensor in;
    if (!tensor_named(call, "self", &in) || in.rank < 2) return out->numel;
    double groups = (double)program_call_int(call, program_call_find(call, "groups"), 1);
    return 2 * out->numel * (double)in.sizes[1] / (groups > 0 ? groups : 1) * program_call_product(call, program_call_find(call, "kernel"), 1);
}

static double separable_flops(const program_call *call, const program_tensor *out) {
    program_tensor in, expand;
    if (!tensor_named(call, "self", &in) || in.rank < 2 || out->rank < 2 || out->sizes[1] <= 0 || in.sizes[1] <= 0) return out->numel;
    double hidden = (double)program_call_int(call, program_call_find(call, "hidden"), 0), pixels = out->numel / (double)out->sizes[1];
    double taps = program_call_product(call, program_call_find(call, "kernel"), 1);
    double first = tensor_named(call, "expand_weight", &expand) ? 2 * in.numel * hidden : 0;
    if (hidden <= 0) hidden = (double)in.sizes[1];
    return first + 2 * pixels * hidden * taps + 2 * out->numel * hidden;
}

static double attention_flops(const program_call *call, const program_tensor *out) {
    program_tensor q, k;
    if (!tensor_named(call, "query", &q) || !tensor_named(call, "key", &k)) return out->numel;
    return 2 * from_end(&k, 2) * (q.numel + out->numel); /* scores, and their product with the values */
}

/* Every step multiplies with all weights. */
static double recurrent_flops(const program_call *call, const program_tensor *out) {
    program_tensor in, weight;
    double weights = 0;
    int32_t params = program_call_find(call, "params");
    for (uint32_t i = 0; i < program_call_listed(call, params); i++) {
        if (program_call_item(call, params, i, &weight) && weight.rank >= 2) weights += weight.numel; /* in panels: 3 */
    }
    if (!tensor_named(call, "input", &in) || from_end(&in, 1) <= 0) return out->numel;
    return 2 * weights * in.numel / from_end(&in, 1);
}

static double pool_flops(const program_call *call, const program_tensor *out) {
    return out->numel * program_call_product(call, program_call_find(call, "kernel_size"), 1);
}

static double norm_flops(const program_call *call, const program_tensor *out) {
    (void)call;
    return 7 * out->numel; /* mean, variance, scale and shift */
}

static double softmax_flops(const program_call *call, const program_tensor *out) {
    (void)call;
    return 4 * out->numel; /* largest, exponent, sum, quotient */
}

static double chain_flops(const program_call *call, const program_tensor *out) {
    double steps = 1;
    for (const char *at = program_call_text(call, program_call_find(call, "steps")); *at; at++) steps += *at == ';';
    return steps * out->numel;
}

static const struct { const char *name; flop_rule rule; } rules[] = {
    {"aten::linear", linear_flops}, {"fid::linear", product_flops}, {"aten::mm", product_flops}, {"aten::bmm", product_flops},
    {"aten::matmul", product_flops}, {"aten::mv", product_flops}, {"aten::addmm", addmm_flops}, {"aten::baddbmm", baddbmm_flops},
    {"aten::convolution", convolution_flops}, {"aten::_convolution", convolution_flops}, {"aten::conv1d", convolution_flops},
    {"aten::conv2d", convolution_flops}, {"aten::conv3d", convolution_flops}, {"aten::conv_transpose1d", convolution_flops},
    {"aten::conv_transpose2d", convolution_flops}, {"aten::conv_transpose3d", convolution_flops}, {"fid::convolution", packed_convolution_flops},
    {"fid::separable_convolution", separable_flops}, {"aten::scaled_dot_product_attention", attention_flops}, {"aten::lstm", recurrent_flops},
    {"aten::gru", recurrent_flops}, {"aten::rnn_tanh", recurrent_flops}, {"aten::rnn_relu", recurrent_flops}, {"fid::lstm", recurrent_flops},
    {"fid::gru", recurrent_flops}, {"fid::rnn_tanh", recurrent_flops}, {"fid::rnn_relu", recurrent_flops}, {"aten::max_pool2d", pool_flops},
    {"aten::max_pool2d_with_indices", pool_flops}, {"fid::max_pool2d", pool_flops}, {"aten::avg_pool2d", pool_flops},
    {"aten::layer_norm", norm_flops}, {"aten::native_layer_norm", norm_flops}, {"aten::group_norm", norm_flops},
    {"aten::native_group_norm", norm_flops}, {"aten::rms_norm", norm_flops}, {"aten::_native_batch_norm_legit_no_training", norm_flops},
    {"aten::softmax", softmax_flops}, {"aten::_softmax", softmax_flops}, {"aten::log_softmax", softmax_flops}, {"aten::_log_softmax", softmax_flops},
    {"fid::pointwise", chain_flops},
};

static double kind_flops(const program_call *call, const program_tensor *out) {
    program_tensor in = {.numel = 0};
    switch ((fid_op_kind)call->op->kind) {
    case FID_OP_POINTWISE: return out->numel;
    case FID_OP_REDUCTION: return program_call_item(call, 0, 0, &in) ? in.numel : out->numel;
    case FID_OP_COMPUTE: return program_call_item(call, 0, 0, &in) && in.numel > out->numel ? in.numel : out->numel;
    case FID_OP_VIEW: case FID_OP_MOVE: case FID_OP_CREATE: case FID_OP_DATA_DEPENDENT: case FID_OP_RANDOM: case FID_OP_SCALAR: case FID_OP_EFFECT: break;
    }
    return 0;
}

/* Look-ups touch as much of their table as they give. */
static bool looks_up(const program_call *call) {
    static const char *const names[] = {"aten::embedding", "aten::index", "aten::index_select", "aten::gather", "aten::select_copy", "aten::slice_copy"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(call->op->name, names[i]) == 0) return true;
    }
    return false;
}

static void add_bytes(const program_tensor *tensor, double most, const cost_setup *setup, call_cost *cost) {
    double bytes = (tensor->numel < most ? tensor->numel : most) * (double)fid_dtype_size(tensor->dtype);
    cost->bytes += bytes;
    if (bytes > setup->near_bytes || (tensor->constant && setup->constants_far)) cost->far += bytes;
}

/* Arguments that hold tensors, each value once: out= forms list their outputs twice. */
static void count_bytes(const program_call *call, const cost_setup *setup, call_cost *cost) {
    program_tensor out;
    double most = looks_up(call) && program_call_item(call, (int32_t)call->inputs, 0, &out) ? out.numel : 1e300;
    for (uint32_t i = 0; i < call->args.count; i++) {
        bool again = false;
        for (uint32_t k = 0; k < i; k++) again |= fid_fb_i32_at(call->args, k) == fid_fb_i32_at(call->args, i);
        if (again || (i > call->inputs && program_call_listed(call, (int32_t)i) > 1)) continue; /* the returned list repeats the outputs */
        program_tensor tensor;
        for (uint32_t k = 0; k < program_call_listed(call, (int32_t)i); k++) {
            if (program_call_item(call, (int32_t)i, k, &tensor)) add_bytes(&tensor, most, setup, cost);
        }
    }
}

call_cost cost_of_call(const program_call *call, const cost_setup *setup) {
    call_cost cost = {0, 0, 0};
    program_tensor out;
    if (strncmp(call->name, "executorch_prim::", 17) == 0 || !call->op) return cost; /* views and numbers */
    count_bytes(call, setup, &cost);
    if (!program_call_item(call, (int32_t)call->inputs, 0, &out)) return cost;
    cost.flops = kind_flops(call, &out);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strcmp(rules[i].name, call->op->name) == 0) cost.flops = rules[i].rule(call, &out);
    }
    return cost;
}

void shapes_of_call(const program_call *call, char *text, size_t size) {
    size_t at = 0;
    bool first = true, arrow = false;
    text[0] = 0;
    for (uint32_t i = 0; i <= call->inputs && i < call->args.count && at < size; i++) {
        program_tensor t;
        char sizes[200];
        if (!program_call_item(call, (int32_t)i, 0, &t)) continue;
        bool out = i == call->inputs && !arrow;
        at += fid_format(text + at, size - at, "%s%s%s", out ? (first ? "-> " : " -> ") : first ? "" : ", ", fid_dtype_name(t.dtype),
                         fid_shape_text(t.sizes, t.rank, sizes, sizeof sizes));
        arrow |= out;
        first = false;
    }
}
