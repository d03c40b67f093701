/* Nodes with weights: fully connected layers and convolutions. Constant weights are packed once, here, into the layout that our fused
 * operators read (kernels/cpu/README.md). */
#include "backends/xnnpack/run/xnn_translate.h"
#include "kernels/cpu/pack_weights.h"

static const float *constant_floats(fid_xnn_graph *g, uint32_t value, size_t *out_bytes) { return fid_xnn_floats(g, &g->values[value], out_bytes); }

static void release(fid_xnn_graph *g, const float *floats, size_t bytes) {
    if (bytes) fid_free(g->init.allocator, (void *)(uintptr_t)floats, bytes);
}

static bool is_constant(const fid_xnn_graph *g, uint32_t value) { return g->values[value].home == FID_XNN_HOME_CONSTANT; }

/* Room for packed weights of `groups` groups; sizes for the tensor. */
static float *packed_room(fid_xnn_graph *g, size_t groups, size_t n, size_t k, int64_t *out_sizes) {
    size_t panels, floats;
    if (!fid_mul_size(groups, fidk_panels(n), &panels) || !fid_mul_size(panels * FIDK_PANEL, k, &floats) || panels > SIZE_MAX / FIDK_PANEL) return NULL;
    out_sizes[0] = (int64_t)panels, out_sizes[1] = (int64_t)k, out_sizes[2] = FIDK_PANEL;
    return fid_xnn_persist(g, floats, sizeof(float));
}

/* ---- Fully connected ---- */

/* A weight that other nodes make, or that a product without packing serves as well. */
static fid_status linear_by_value(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    if (n->add != FID_XNN_NO_ID) return fid_xnn_fail_node(g, node, FID_INTERNAL, "its weight is no constant");
    bool transpose = (n->flags & FID_XNN_FLAG_TRANSPOSE_B) != 0;
    fid_xnn_builder b = transpose ? FID_XNN_BEGIN(g, node, matmul) : FID_XNN_BEGIN(g, node, linear);
    fid_xnn_add_value(&b, n->inputs[0], FID_XNN_PLAIN);
    fid_xnn_add_value(&b, n->inputs[1], FID_XNN_PLAIN);
    if (!transpose) fid_xnn_add_value(&b, n->inputs[2], FID_XNN_VECTOR);
    fid_xnn_add_output(&b, n->outputs[0], FID_XNN_PLAIN);
    FID_TRY(fid_xnn_end(&b));
    if (transpose && n->inputs[2] != FID_XNN_NO_ID) {
        fid_xnn_builder add = FID_XNN_BEGIN(g, node, add_Tensor);
        fid_xnn_add_value(&add, n->outputs[0], FID_XNN_PLAIN);
        fid_xnn_add_value(&add, n->inputs[2], FID_XNN_VECTOR);
        fid_xnn_add_int(&add, 1);
        fid_xnn_add_output(&add, n->outputs[0], FID_XNN_PLAIN);
        FID_TRY(fid_xnn_end(&add));
    }
    return fid_xnn_finish_value(g, node, n->outputs[0], &n->activation);
}

fid_status fid_xnn_translate_linear(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    const fid_xnn_value *weight = &g->values[n->inputs[1]];
    if (weight->rank != 2) return fid_xnn_fail_node(g, node, FID_NOT_SUPPORTED, "its weight is no matrix");
    if (!is_constant(g, n->inputs[1])) return linear_by_value(g, node);
    bool columns = (n->flags & FID_XNN_FLAG_TRANSPOSE_B) != 0;
    size_t features = (size_t)weight->dims[columns], k = (size_t)weight->dims[!columns], bytes;
    int64_t sizes[3];
    const float *floats = constant_floats(g, n->inputs[1], &bytes);
    float *packed = floats ? packed_room(g, 1, features, k, sizes) : NULL;
    if (packed && columns) fidk_pack_columns(floats, features, features, k, packed);
    else if (packed) fidk_pack_rows(floats, k, features, k, packed);
    release(g, floats, bytes);
    if (!packed) return FID_OUT_OF_MEMORY;
    fid_xnn_builder b = FID_XNN_BEGIN(g, node, fused_linear);
    fid_xnn_add_value(&b, n->inputs[0], FID_XNN_PLAIN);
    fid_xnn_add_constant(&b, packed, sizes, 3);
    fid_xnn_add_value(&b, n->inputs[2], FID_XNN_VECTOR);
    fid_xnn_add_value(&b, n->add, FID_XNN_PLAIN);
    fid_xnn_add_int(&b, (int64_t)features);
    fid_xnn_add_activation(&b, &n->activation);
    fid_xnn_add_output(&b, n->outputs[0], FID_XNN_PLAIN);
    FID_TRY(fid_xnn_end(&b));
    return fid_xnn_finish_value(g, node, n->outputs[0], NULL);
}

/* ---- Convolutions ---- */

typedef struct geometry {
    int64_t kernel[2], stride[2], dilation[2], padding[4], adjustment[2]; /* padding: top, left, bottom, right */
    size_t groups, in, out; /* channels of a group */
    int64_t first[2], taps[2]; /* the part of the filter that is used: see shrink */
} geometry;

static geometry read_geometry(const fid_xnn_node *n) {
#define FIELD(field) fid_fb_get_u32(n->table, FID_XNN_Conv_##field, 0)
    geometry c = {.kernel = {FIELD(kernel_height), FIELD(kernel_width)}, .stride = {FIELD(subsampling_height), FIELD(subsampling_width)},
                  .dilation = {FIELD(dilation_height), FIELD(dilation_width)}, .adjustment = {FIELD(adjustment_height), FIELD(adjustment_width)},
                  .padding = {FIELD(padding_top), FIELD(padding_left), FIELD(padding_bottom), FIELD(padding_right)}, .groups = FIELD(groups),
                  .in = FIELD(group_input_channels), .out = FIELD(group_output_channels)};
#undef FIELD
    for (size_t i = 0; i < 4; i++) c.padding[i] += n->frame[i];
    memcpy(c.taps, c.kernel, sizeof c.taps);
    return c;
}

/* The filter's dims must be what the numbers say: (out, height, width, in of a group), or for depthwise (1, height, width, out). */
static fid_status check_filter(fid_xnn_graph *g, uint32_t node, const geometry *c, bool depthwise) {
    const fid_xnn_node *n = &g->nodes[node];
    const fid_xnn_value *filter = &g->values[n->inputs[1]], *bias = n->inputs[2] == FID_XNN_NO_ID ? NULL : &g->values[n->inputs[2]];
    size_t out;
    if (!is_constant(g, n->inputs[1]) || (bias && !is_constant(g, n->inputs[2])))
        return fid_xnn_fail_node(g, node, FID_NOT_SUPPORTED, "its filter or bias is no constant");
    bool fits = filter->rank == 4 && c->groups > 0 && c->in > 0 && c->out > 0 && c->groups <= INT32_MAX && c->in <= INT32_MAX && c->out <= INT32_MAX &&
                fid_mul_size(c->groups, c->out, &out) && filter->dims[1] == c->kernel[0] && filter->dims[2] == c->kernel[1];
    if (fits && depthwise) fits = c->in == 1 && filter->dims[0] == 1 && (size_t)filter->dims[3] == out;
    else if (fits) fits = (size_t)filter->dims[0] == out && (size_t)filter->dims[3] == c->in;
    for (size_t i = 0; i < 4 && fits; i++) fits = filter->dims[i] > 0;
    return fits ? FID_OK : fid_xnn_fail_node(g, node, FID_INVALID_PROGRAM, "its filter does not have the dims that its numbers say");
}

/* Leaves out the ends of a filter that only ever see padding: of filters dilated as wide as their image only the middle is left. Holds
 * for smaller images too, since what is left out of the padding is what the filter loses. `in`: the image at its declared size. */
static void shrink(geometry *c, const fid_xnn_value *in) {
    for (size_t d = 0; d < 2 && in->rank == 4; d++) {
        int64_t *before = &c->padding[d], *after = &c->padding[2 + d], dilation = c->dilation[d], size = in->dims[1 + d], most = INT32_MAX / 4;
        if (dilation < 1 || c->stride[d] < 1 || dilation > most || size > most || *before > most || *after > most || c->kernel[d] > 64) continue;
        int64_t room = size + *before + *after - (c->kernel[d] - 1) * dilation - 1;
        if (room < 0) continue;
        int64_t reach = room / c->stride[d] * c->stride[d]; /* of the last output's first tap */
        while (c->taps[d] > 1 && *before >= dilation && reach - *before < 0) c->first[d]++, c->taps[d]--, *before -= dilation;
        while (c->taps[d] > 1 && *after >= dilation && (c->taps[d] - 1) * dilation - *before >= size) c->taps[d]--, *after -= dilation;
    }
}

/* The used part of a filter of (out, height, width, in); memory of the allocator. */
static const float *used_part(fid_xnn_graph *g, const float *floats, const geometry *c, size_t *inout_bytes) {
    size_t out = c->groups * c->out, row = c->in * sizeof(float), bytes = out * (size_t)(c->taps[0] * c->taps[1]) * row;
    float *part = fid_allocate(g->init.allocator, bytes), *to = part;
    for (size_t o = 0; part && o < out; o++)
        for (int64_t y = 0; y < c->taps[0]; y++)
            for (int64_t x = 0; x < c->taps[1]; x++, to += c->in)
                memcpy(to, floats + (((int64_t)o * c->kernel[0] + c->first[0] + y) * c->kernel[1] + c->first[1] + x) * (int64_t)c->in, row);
    release(g, floats, *inout_bytes);
    *inout_bytes = bytes;
    return part;
}

/* Packed weights; NULL when memory is short. */
static const float *pack_filter(fid_xnn_graph *g, const fid_xnn_node *n, const geometry *c, bool by_channel, int64_t *out_sizes) {
    size_t k = (size_t)(c->taps[0] * c->taps[1]) * c->in, bytes, out = c->groups * c->out;
    bool depthwise_filter = n->type == FID_XNN_DepthwiseConv2d;
    const float *floats = constant_floats(g, n->inputs[1], &bytes);
    if (floats && (c->taps[0] != c->kernel[0] || c->taps[1] != c->kernel[1])) floats = used_part(g, floats, c, &bytes);
    float *packed = floats ? packed_room(g, by_channel ? 1 : c->groups, by_channel ? out : c->out, k, out_sizes) : NULL;
    size_t step = fidk_packed_floats(c->out, k);
    for (size_t group = 0; packed && group < (by_channel ? 1 : c->groups); group++) {
        float *to = packed + group * step;
        size_t columns = by_channel ? out : c->out;
        if (depthwise_filter) fidk_pack_columns(floats + group * c->out, out, columns, k, to);
        else fidk_pack_rows(floats + group * c->out * k, k, columns, k, to);
    }
    release(g, floats, bytes);
    return packed;
}

/* The arguments that both kinds of fused convolution have: kernel, stride, padding, dilation. */
static void add_geometry(fid_xnn_builder *b, const geometry *c) {
    fid_xnn_add_ints(b, c->taps, 2);
    fid_xnn_add_ints(b, c->stride, 2);
    fid_xnn_add_ints(b, c->padding, 4);
    fid_xnn_add_ints(b, c->dilation, 2);
}

static bool is_depthwise(const geometry *c) { return c->groups > 1 && c->in == 1 && c->out == 1; }

/* Weight and bias of a pointwise convolution inside a separable one. */
static fid_status add_pointwise(fid_xnn_builder *b, uint32_t node) {
    fid_xnn_graph *g = b->graph;
    const fid_xnn_node *n = &g->nodes[node];
    geometry c = read_geometry(n);
    int64_t sizes[3];
    FID_TRY(check_filter(g, node, &c, false));
    const float *packed = pack_filter(g, n, &c, false, sizes);
    if (!packed) return FID_OUT_OF_MEMORY;
    fid_xnn_add_constant(b, packed, sizes, 3);
    fid_xnn_add_value(b, n->inputs[2], FID_XNN_VECTOR);
    return FID_OK;
}

/* A depthwise convolution that took its pointwise neighbours in. */
static fid_status separable(fid_xnn_graph *g, uint32_t node, const geometry *c, const float *packed, const int64_t *sizes) {
    static const fid_activation none = {FID_ACTIVATION_NONE, 0, 0};
    const fid_xnn_node *n = &g->nodes[node], *expand = n->expand == FID_XNN_NO_ID ? NULL : &g->nodes[n->expand], *project = &g->nodes[n->project];
    fid_xnn_builder b = FID_XNN_BEGIN(g, node, fused_separable);
    fid_xnn_add_value(&b, expand ? expand->inputs[0] : n->inputs[0], FID_XNN_IMAGE);
    if (expand) FID_TRY(add_pointwise(&b, n->expand));
    else fid_xnn_add_none(&b), fid_xnn_add_none(&b);
    fid_xnn_add_int(&b, (int64_t)c->groups);
    fid_xnn_add_activation(&b, expand ? &expand->activation : &none);
    fid_xnn_add_constant(&b, packed, sizes, 3);
    fid_xnn_add_value(&b, n->inputs[2], FID_XNN_VECTOR);
    add_geometry(&b, c);
    fid_xnn_add_activation(&b, &n->activation);
    FID_TRY(add_pointwise(&b, n->project));
    fid_xnn_add_value(&b, project->add, FID_XNN_IMAGE);
    geometry last = read_geometry(project);
    fid_xnn_add_int(&b, (int64_t)last.out);
    fid_xnn_add_activation(&b, &project->activation);
    fid_xnn_add_output(&b, project->outputs[0], FID_XNN_IMAGE);
    return fid_xnn_end(&b);
}

fid_status fid_xnn_translate_convolution(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    geometry c = read_geometry(n);
    int64_t sizes[3];
    FID_TRY(check_filter(g, node, &c, n->type == FID_XNN_DepthwiseConv2d));
    if (n->type == FID_XNN_Conv2d) shrink(&c, &g->values[n->inputs[0]]);
    const float *packed = pack_filter(g, n, &c, is_depthwise(&c), sizes);
    if (!packed) return FID_OUT_OF_MEMORY;
    if (n->project != FID_XNN_NO_ID) return separable(g, node, &c, packed, sizes);
    fid_xnn_builder b = FID_XNN_BEGIN(g, node, fused_convolution);
    fid_xnn_add_value(&b, n->inputs[0], FID_XNN_IMAGE);
    fid_xnn_add_constant(&b, packed, sizes, 3);
    fid_xnn_add_value(&b, n->inputs[2], FID_XNN_VECTOR);
    fid_xnn_add_value(&b, n->add, FID_XNN_IMAGE);
    fid_xnn_add_int(&b, (int64_t)(c.groups * c.out));
    add_geometry(&b, &c);
    fid_xnn_add_int(&b, (int64_t)c.groups);
    fid_xnn_add_activation(&b, &n->activation);
    fid_xnn_add_none(&b);
    fid_xnn_add_output(&b, n->outputs[0], FID_XNN_IMAGE);
    FID_TRY(fid_xnn_end(&b));
    return fid_xnn_finish_value(g, node, n->outputs[0], NULL);
}

/* ---- Transposed ---- */

/* From (group, out, height, width, in) to PyTorch's (group, in, out, height, width). */
static float *transposed_filter(fid_xnn_graph *g, const fid_xnn_node *n, const geometry *c) {
    size_t taps = (size_t)(c->kernel[0] * c->kernel[1]), bytes;
    float *to = fid_xnn_persist(g, c->groups * c->in * c->out * taps, sizeof *to);
    const float *from = to ? constant_floats(g, n->inputs[1], &bytes) : NULL;
    if (!from) return NULL;
    for (size_t group = 0; group < c->groups; group++)
        for (size_t o = 0; o < c->out; o++)
            for (size_t tap = 0; tap < taps; tap++)
                for (size_t i = 0; i < c->in; i++)
                    to[((group * c->in + i) * c->out + o) * taps + tap] = from[((group * c->out + o) * taps + tap) * c->in + i];
    release(g, from, bytes);
    return to;
}

fid_status fid_xnn_translate_transposed(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    geometry c = read_geometry(n);
    FID_TRY(check_filter(g, node, &c, false));
    if (c.padding[0] != c.padding[2] || c.padding[1] != c.padding[3])
        return fid_xnn_fail_node(g, node, FID_NOT_SUPPORTED, "its padding differs before and after");
    float *filter = transposed_filter(g, n, &c);
    if (!filter) return FID_OUT_OF_MEMORY;
    fid_xnn_builder b = FID_XNN_BEGIN(g, node, convolution);
    fid_xnn_add_value(&b, n->inputs[0], FID_XNN_IMAGE);
    fid_xnn_add_constant(&b, filter, (int64_t[]){(int64_t)(c.groups * c.in), (int64_t)c.out, c.kernel[0], c.kernel[1]}, 4);
    fid_xnn_add_value(&b, n->inputs[2], FID_XNN_VECTOR);
    fid_xnn_add_ints(&b, c.stride, 2);
    fid_xnn_add_ints(&b, c.padding, 2);
    fid_xnn_add_ints(&b, c.dilation, 2);
    fid_xnn_add_bool(&b, true);
    fid_xnn_add_ints(&b, c.adjustment, 2);
    fid_xnn_add_int(&b, (int64_t)c.groups);
    fid_xnn_add_output(&b, n->outputs[0], FID_XNN_IMAGE);
    FID_TRY(fid_xnn_end(&b));
    return fid_xnn_finish_value(g, node, n->outputs[0], &n->activation);
}
