/* Operators with weights: linear layers, products, convolutions, batch norms. */
#include <math.h>

#include "backends/xnnpack/compile/xnn_lower.h"

/* ---- Linear layers and products ---- */

static bool is_running(const fidc_value *x) { return fidc_xnn_fits(x) && !fidc_is_constant(x); }

static bool takes_bias(const fidc_rewriter *rw, uint32_t arg, int64_t channels) {
    const fidc_value *bias = fidc_rw_value(rw, arg);
    return !bias || (fidc_xnn_is_weight(bias) && bias->rank == 1 && fidc_size(bias, 0) == channels);
}

static void connect(fidc_xnn_lowering *l, const fidc_rewriter *rw, fidc_value *x, uint32_t filter, fidc_value *bias) {
    uint32_t input = fidc_xnn_read(l, x, FIDC_XNN_PLAIN), output = fidc_xnn_write(l, fidc_xnn_result(rw), FIDC_XNN_PLAIN);
    uint32_t bias_id = bias ? fidc_xnn_read(l, bias, FIDC_XNN_PLAIN) : FID_XNN_NO_ID;
    fidc_xnn_node *node = fidc_xnn_begin(l, rw, FID_XNN_FullyConnected);
    fidc_xnn_set(node, FID_XNN_FullyConnected_input1_id, input);
    fidc_xnn_set(node, FID_XNN_FullyConnected_filter_id, filter);
    fidc_xnn_set(node, FID_XNN_FullyConnected_bias_id, bias_id);
    fidc_xnn_set(node, FID_XNN_FullyConnected_output_id, output);
}

static bool takes_linear(const fidc_rewriter *rw) {
    const fidc_value *weight = fidc_rw_value(rw, 1);
    return is_running(fidc_rw_value(rw, 0)) && fidc_xnn_is_weight(weight) && weight->rank == 2 && takes_bias(rw, 2, fidc_size(weight, 0));
}

static void lower_linear(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    (void)row;
    connect(l, rw, fidc_rw_value(rw, 0), fidc_xnn_read(l, fidc_rw_value(rw, 1), FIDC_XNN_PLAIN), fidc_rw_value(rw, 2));
}

/* A weight (in, out) becomes a filter (out, in). */
static uint32_t turned(fidc_xnn_lowering *l, const fidc_value *weight) {
    static const uint8_t perm[] = {1, 0};
    int64_t sizes[] = {fidc_size(weight, 0), fidc_size(weight, 1)}, moved[] = {sizes[1], sizes[0]};
    return fidc_xnn_weight(l, weight, sizes, perm, 2, moved, 2, "turned");
}

static bool takes_mm(const fidc_rewriter *rw) {
    const fidc_value *weight = fidc_rw_value(rw, 1);
    return is_running(fidc_rw_value(rw, 0)) && fidc_xnn_is_weight(weight) && weight->rank == 2;
}

static void lower_mm(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    (void)row;
    connect(l, rw, fidc_rw_value(rw, 0), turned(l, fidc_rw_value(rw, 1)), NULL);
}

/* addmm(self, mat1, mat2, *, beta, alpha) */
static bool takes_addmm(const fidc_rewriter *rw) {
    const fidc_value *weight = fidc_rw_value(rw, 2);
    return is_running(fidc_rw_value(rw, 1)) && fidc_xnn_is_weight(weight) && weight->rank == 2 && fidc_rw_value(rw, 0) &&
           takes_bias(rw, 0, fidc_size(weight, 1)) && fidc_rw_double(rw, 3, 1) == 1 && fidc_rw_double(rw, 4, 1) == 1;
}

static void lower_addmm(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    (void)row;
    connect(l, rw, fidc_rw_value(rw, 1), turned(l, fidc_rw_value(rw, 2)), fidc_rw_value(rw, 0));
}

static bool takes_bmm(const fidc_rewriter *rw) {
    const fidc_value *a = fidc_rw_value(rw, 0), *b = fidc_rw_value(rw, 1);
    return fidc_xnn_fits(a) && fidc_xnn_fits(b) && !fidc_is_constant(a);
}

static void lower_bmm(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    uint32_t a = fidc_xnn_read(l, fidc_rw_value(rw, 0), FIDC_XNN_PLAIN), b = fidc_xnn_read(l, fidc_rw_value(rw, 1), FIDC_XNN_PLAIN);
    uint32_t output = fidc_xnn_write(l, rw->node->outputs[0], FIDC_XNN_PLAIN);
    fidc_xnn_node *node = fidc_xnn_begin(l, rw, row->type);
    fidc_xnn_set(node, FID_XNN_Binary_input1_id, a);
    fidc_xnn_set(node, FID_XNN_Binary_input2_id, b);
    fidc_xnn_set(node, FID_XNN_Binary_output_id, output);
}

/* ---- Convolutions: convolution(input, weight, bias?, stride, padding, dilation, transposed, output_padding, groups) ---- */

/* A convolution over one dimension is one over two, with a height of one. */
typedef struct convolution {
    bool flat, transposed, depthwise;
    int64_t groups, in, out;             /* channels of a group */
    int64_t kernel[2], stride[2], padding[2], after[2], dilation[2], adjustment[2]; /* padding: before; after: behind */
} convolution;

static bool numbers(const fidc_rewriter *rw, uint32_t arg, size_t spatial, int64_t otherwise, int64_t least, int64_t *out) {
    int64_t given[2];
    if (!fidc_rw_ints_spread(rw, arg, spatial, otherwise, given)) return false;
    out[0] = otherwise;
    for (size_t i = 0; i < spatial; i++) out[2 - spatial + i] = given[i];
    return out[0] >= least && out[1] >= least;
}

static bool read_convolution(const fidc_rewriter *rw, convolution *c) {
    const fidc_value *weight = fidc_rw_value(rw, 1);
    size_t spatial = weight->rank - 2u;
    *c = (convolution){.flat = spatial == 1, .transposed = fidc_rw_bool(rw, 6, false), .groups = fidc_rw_int(rw, 8, 0), .kernel = {1, 1}};
    if (c->groups < 1 || !numbers(rw, 3, spatial, 1, 1, c->stride) || !numbers(rw, 4, spatial, 0, 0, c->padding) ||
        !numbers(rw, 5, spatial, 1, 1, c->dilation) || !numbers(rw, 7, spatial, 0, 0, c->adjustment))
        return false;
    for (size_t i = 0; i < spatial; i++) c->kernel[2 - spatial + i] = fidc_size(weight, 2 + i);
    memcpy(c->after, c->padding, sizeof c->after);
    c->in = c->transposed ? fidc_size(weight, 0) / c->groups : fidc_size(weight, 1);
    c->out = c->transposed ? fidc_size(weight, 1) : fidc_size(weight, 0) / c->groups;
    c->depthwise = !c->transposed && c->in == 1 && c->groups > 1;
    return true;
}

static bool takes_convolution(const fidc_rewriter *rw) {
    const fidc_value *x = fidc_rw_value(rw, 0), *weight = fidc_rw_value(rw, 1);
    convolution c;
    if (!is_running(x) || !fidc_xnn_is_weight(weight) || x->rank != weight->rank || x->rank < 3 || x->rank > 4 || !read_convolution(rw, &c)) return false;
    size_t dynamic = 0; /* a reshape can work out one */
    for (size_t i = 0; c.flat && i < x->rank; i++) dynamic += !fidc_expr_is_const(x->sizes[i]);
    return dynamic < 2 && takes_bias(rw, 2, c.out * c.groups);
}

/* Filters are (out, height, width, in of a group), of depthwise convolutions (1, height, width, out). */
static uint32_t filter_of(fidc_xnn_lowering *l, const fidc_value *weight, const convolution *c) {
    static const uint8_t plain[] = {0, 2, 3, 1}, depthwise[] = {1, 2, 3, 0}, transposed[] = {0, 2, 3, 4, 1};
    int64_t height = c->kernel[0], width = c->kernel[1];
    if (c->transposed) {
        int64_t sizes[] = {c->groups, c->in, c->out, height, width}, moved[] = {c->groups * c->out, height, width, c->in};
        return fidc_xnn_weight(l, weight, sizes, transposed, 5, moved, 4, "filter_transposed");
    }
    int64_t sizes[] = {c->groups * c->out, c->in, height, width};
    if (c->depthwise) return fidc_xnn_weight(l, weight, sizes, depthwise, 4, (const int64_t[]){1, height, width, sizes[0]}, 4, "filter_depthwise");
    return fidc_xnn_weight(l, weight, sizes, plain, 4, (const int64_t[]){sizes[0], height, width, c->in}, 4, "filter");
}

static void set_geometry(fidc_xnn_node *node, const convolution *c) {
    const struct { uint32_t slot; int64_t number; } fields[] = {
        {FID_XNN_Conv_padding_top, c->padding[0]}, {FID_XNN_Conv_padding_bottom, c->after[0]}, {FID_XNN_Conv_padding_left, c->padding[1]},
        {FID_XNN_Conv_padding_right, c->after[1]}, {FID_XNN_Conv_kernel_height, c->kernel[0]}, {FID_XNN_Conv_kernel_width, c->kernel[1]},
        {FID_XNN_Conv_subsampling_height, c->stride[0]}, {FID_XNN_Conv_subsampling_width, c->stride[1]},
        {FID_XNN_Conv_dilation_height, c->dilation[0]}, {FID_XNN_Conv_dilation_width, c->dilation[1]},
        {FID_XNN_Conv_group_input_channels, c->in}, {FID_XNN_Conv_group_output_channels, c->out}, {FID_XNN_Conv_groups, c->groups},
        {FID_XNN_Conv_adjustment_height, c->adjustment[0]}, {FID_XNN_Conv_adjustment_width, c->adjustment[1]}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) fidc_xnn_set(node, fields[i].slot, (uint32_t)fields[i].number);
}

/* ---- Zeros around the image before a convolution become its own padding ---- */

/* constant_pad_nd(self, pad, value): zeros around the plane. */
static bool is_frame(const fidc_rewriter *pad) {
    size_t count;
    const fidc_arg *pads = fidc_rw_items(pad, 1, &count);
    if (fidc_rw_double(pad, 2, 0) != 0 || count > 4 || count % 2) return false;
    for (size_t i = 0; i < count; i++)
        if (pads[i].kind != FIDC_ARG_INT || pads[i].as.integer < 0) return false;
    return true;
}

fidc_node *fidc_xnn_frame_of(const fidc_rewriter *rw) {
    const fidc_value *x = fidc_is(rw->node, FID_OPID_convolution) ? fidc_rw_value(rw, 0) : NULL;
    if (!x || x->rank != 4 || x->uses != 1 || x->origin != FIDC_FROM_NODE || fidc_rw_bool(rw, 6, false)) return NULL;
    fidc_rewriter pad = {.program = rw->program, .graph = rw->graph, .node = x->producer};
    return fidc_is(pad.node, FID_OPID_constant_pad_nd) && is_frame(&pad) ? pad.node : NULL;
}

/* The image inside a frame that was taken in, whose sides join the padding; the image itself if there is none. */
static fidc_value *inside_frame(const fidc_rewriter *rw, convolution *c) {
    fidc_node *frame = fidc_xnn_frame_of(rw);
    if (!frame || frame->scratch != frame) return fidc_rw_value(rw, 0);
    fidc_rewriter pad = {.program = rw->program, .graph = rw->graph, .node = frame};
    size_t count;
    const fidc_arg *pads = fidc_rw_items(&pad, 1, &count);
    for (size_t i = 0; i < count; i++) (i % 2 ? c->after : c->padding)[1 - i / 2] += pads[i].as.integer;
    return fidc_rw_value(&pad, 0);
}

static const uint8_t swap_last[] = {0, 2, 1};

/* (batch, channels, length) as an image of height one. */
static uint32_t read_flat(fidc_xnn_lowering *l, fidc_value *x) {
    uint32_t dims[3];
    fidc_xnn_dims(x, FIDC_XNN_PLAIN, dims);
    uint32_t turned_id = fidc_xnn_temporary(l, (const uint32_t[]){dims[0], dims[2], dims[1]}, 3);
    uint32_t image = fidc_xnn_temporary(l, (const uint32_t[]){dims[0], 1, dims[2], dims[1]}, 4);
    const fidc_expr *sizes[] = {x->sizes[0], fidc_expr_const(l->program, 1), x->sizes[2], x->sizes[1]};
    fidc_xnn_transpose(l, fidc_xnn_read(l, x, FIDC_XNN_PLAIN), turned_id, swap_last, 3);
    fidc_xnn_reshape(l, turned_id, image, sizes, 4);
    return image;
}

static void write_flat(fidc_xnn_lowering *l, uint32_t image, fidc_value *out) {
    uint32_t dims[3];
    fidc_xnn_dims(out, FIDC_XNN_PLAIN, dims);
    uint32_t turned_id = fidc_xnn_temporary(l, (const uint32_t[]){dims[0], dims[2], dims[1]}, 3);
    const fidc_expr *sizes[] = {out->sizes[0], out->sizes[2], out->sizes[1]};
    fidc_xnn_reshape(l, image, turned_id, sizes, 3);
    fidc_xnn_transpose(l, turned_id, fidc_xnn_write(l, out, FIDC_XNN_PLAIN), swap_last, 3);
}

static void lower_convolution(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    (void)row;
    fidc_value *bias = fidc_rw_value(rw, 2), *out = fidc_xnn_result(rw);
    convolution c;
    if (!read_convolution(rw, &c)) return;
    fidc_value *x = inside_frame(rw, &c);
    uint32_t input = c.flat ? read_flat(l, x) : fidc_xnn_read(l, x, FIDC_XNN_IMAGE), filter = filter_of(l, fidc_rw_value(rw, 1), &c);
    uint32_t bias_id = bias ? fidc_xnn_read(l, bias, FIDC_XNN_PLAIN) : FID_XNN_NO_ID;
    uint32_t dims[4];
    fidc_xnn_dims(out, FIDC_XNN_PLAIN, dims);
    uint32_t output = c.flat ? fidc_xnn_temporary(l, (const uint32_t[]){dims[0], 1, dims[2], dims[1]}, 4) : fidc_xnn_write(l, out, FIDC_XNN_IMAGE);
    fidc_xnn_node *node = fidc_xnn_begin(l, rw, c.transposed ? FID_XNN_ConvTranspose2d : c.depthwise ? FID_XNN_DepthwiseConv2d : FID_XNN_Conv2d);
    set_geometry(node, &c);
    fidc_xnn_set(node, FID_XNN_Conv_input1_id, input);
    fidc_xnn_set(node, FID_XNN_Conv_filter_id, filter);
    fidc_xnn_set(node, FID_XNN_Conv_bias_id, bias_id);
    fidc_xnn_set(node, FID_XNN_Conv_output_id, output);
    if (c.flat) write_flat(l, output, out);
}

/* ---- Batch norms that no convolution took: (input, weight?, bias?, mean, variance, momentum, eps) ---- */

static bool is_channels(const fidc_rewriter *rw, uint32_t arg, bool optional) {
    const fidc_value *value = fidc_rw_value(rw, arg);
    if (!value) return optional && fidc_rw_is_none(rw, arg);
    return fidc_xnn_is_weight(value) && value->rank == 1 && fidc_size(value, 0) == fidc_size(fidc_rw_value(rw, 0), 1);
}

static bool takes_norm(const fidc_rewriter *rw) {
    const fidc_value *x = fidc_rw_value(rw, 0);
    const fidc_node *node = rw->node;
    if (!is_running(x) || x->rank < 2 || node->output_count != 3 || node->outputs[1]->uses || node->outputs[2]->uses) return false;
    return is_channels(rw, 1, true) && is_channels(rw, 2, true) && is_channels(rw, 3, false) && is_channels(rw, 4, false);
}

/* y = x * factor + shift. */
static bool factors(fidc_xnn_lowering *l, const fidc_rewriter *rw, uint32_t count, float **out_factor, float **out_shift) {
    const fidc_value *weight = fidc_rw_value(rw, 1), *bias = fidc_rw_value(rw, 2);
    const float *scale = weight ? weight->constant->data : NULL, *offset = bias ? bias->constant->data : NULL;
    const float *mean = fidc_rw_value(rw, 3)->constant->data, *variance = fidc_rw_value(rw, 4)->constant->data;
    float *factor = fidc_allocate(l->program, count * sizeof *factor), *shift = fidc_allocate(l->program, count * sizeof *shift);
    if (!factor || !shift) return false;
    for (uint32_t c = 0; c < count; c++) {
        double by = (scale ? (double)scale[c] : 1) / sqrt((double)variance[c] + fidc_rw_double(rw, 6, 0));
        factor[c] = (float)by;
        shift[c] = (float)((offset ? (double)offset[c] : 0) - (double)mean[c] * by);
    }
    *out_factor = factor;
    *out_shift = shift;
    return true;
}

static void add_binary(fidc_xnn_node *node, uint32_t a, uint32_t b, uint32_t output) {
    fidc_xnn_set(node, FID_XNN_Binary_input1_id, a);
    fidc_xnn_set(node, FID_XNN_Binary_input2_id, b);
    fidc_xnn_set(node, FID_XNN_Binary_output_id, output);
}

/* Of an image: a depthwise convolution of one element. */
static void norm_image(fidc_xnn_lowering *l, const fidc_rewriter *rw, const float *factor, const float *shift, uint32_t channels) {
    const convolution c = {.groups = channels, .in = 1, .out = 1, .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};
    const fidc_value *mean = fidc_rw_value(rw, 3);
    uint32_t input = fidc_xnn_read(l, fidc_rw_value(rw, 0), FIDC_XNN_IMAGE), output = fidc_xnn_write(l, fidc_xnn_result(rw), FIDC_XNN_IMAGE);
    uint32_t filter = fidc_xnn_vector(l, mean, "factor", factor, channels, 4, 3), bias = fidc_xnn_vector(l, mean, "shift", shift, channels, 1, 0);
    fidc_xnn_node *node = fidc_xnn_begin(l, rw, FID_XNN_DepthwiseConv2d);
    set_geometry(node, &c);
    fidc_xnn_set(node, FID_XNN_Conv_input1_id, input);
    fidc_xnn_set(node, FID_XNN_Conv_filter_id, filter);
    fidc_xnn_set(node, FID_XNN_Conv_bias_id, bias);
    fidc_xnn_set(node, FID_XNN_Conv_output_id, output);
}

static void lower_norm(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    fidc_value *x = fidc_rw_value(rw, 0), *mean = fidc_rw_value(rw, 3);
    uint32_t channels = (uint32_t)fidc_size(mean, 0), dims[FID_XNN_MAX_RANK];
    float *factor, *shift;
    (void)row;
    if (!factors(l, rw, channels, &factor, &shift)) {
        l->blob.failed = true;
        return;
    }
    if (x->rank == 4) {
        norm_image(l, rw, factor, shift, channels);
        return;
    }
    fidc_xnn_dims(x, FIDC_XNN_PLAIN, dims);
    uint32_t input = fidc_xnn_read(l, x, FIDC_XNN_PLAIN), scaled = fidc_xnn_temporary(l, dims, x->rank), output = fidc_xnn_write(l, fidc_xnn_result(rw), FIDC_XNN_PLAIN);
    uint32_t by = fidc_xnn_vector(l, mean, "factor", factor, channels, x->rank - 1u, 0), plus = fidc_xnn_vector(l, mean, "shift", shift, channels, x->rank - 1u, 0);
    add_binary(fidc_xnn_blob_node(&l->blob, FID_XNN_Multiply), input, by, scaled);
    add_binary(fidc_xnn_begin(l, rw, FID_XNN_Add), scaled, plus, output);
}

static const fidc_xnn_row rows[] = {
    {FID_OPID_linear, FID_XNN_FullyConnected, FIDC_XNN_CLAMPS, takes_linear, lower_linear},
    {FID_OPID_mm, FID_XNN_FullyConnected, FIDC_XNN_CLAMPS, takes_mm, lower_mm},
    {FID_OPID_addmm, FID_XNN_FullyConnected, FIDC_XNN_CLAMPS, takes_addmm, lower_addmm},
    {FID_OPID_bmm, FID_XNN_BatchMatrixMultiply, 0, takes_bmm, lower_bmm},
    {FID_OPID_convolution, FID_XNN_Conv2d, FIDC_XNN_CLAMPS, takes_convolution, lower_convolution},
    {FID_OPID__native_batch_norm_legit_no_training, FID_XNN_DepthwiseConv2d, FIDC_XNN_CLAMPS, takes_norm, lower_norm},
};
const fidc_xnn_rows fidc_xnn_weights = {rows, sizeof rows / sizeof *rows};
