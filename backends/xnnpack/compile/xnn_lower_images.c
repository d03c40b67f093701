/* Operators of images: pools, means over a plane, resizing, slopes by channel; and softmax. */
#include "backends/xnnpack/compile/xnn_lower.h"

static bool is_image(const fidc_value *x) { return fidc_xnn_fits(x) && !fidc_is_constant(x) && x->rank == 4; }

/* ---- Pools ---- */

typedef struct pool { int64_t kernel[2], stride[2], padding[2], dilation[2], more[2]; } pool; /* more: padding behind, for ceil mode */

static bool read_window(const fidc_rewriter *rw, pool *p) {
    size_t strides;
    *p = (pool){.dilation = {1, 1}};
    (void)fidc_rw_items(rw, 2, &strides);
    if (!fidc_rw_ints_spread(rw, 1, 2, 1, p->kernel) || !fidc_rw_ints_spread(rw, 3, 2, 0, p->padding)) return false;
    if (!strides) p->stride[0] = p->kernel[0], p->stride[1] = p->kernel[1];
    else if (!fidc_rw_ints_spread(rw, 2, 2, 1, p->stride)) return false;
    for (size_t i = 0; i < 2; i++)
        if (p->kernel[i] < 1 || p->stride[i] < 1 || p->padding[i] < 0) return false;
    return p->kernel[0] * p->kernel[1] > 1; /* XNNPACK has no pools of one element */
}

/* What the last window needs behind the image, so that the result has the size that ceil mode gave it. */
static bool read_ceiling(const fidc_rewriter *rw, pool *p) {
    const fidc_value *x = fidc_rw_value(rw, 0), *out = rw->node->outputs[0];
    if (!fidc_rw_bool(rw, 5, false)) return true;
    for (size_t i = 0; i < 2; i++) {
        int64_t in = fidc_size(x, 2 + i), count = fidc_size(out, 2 + i);
        if (in < 0 || count < 0) return false;
        int64_t reach = (count - 1) * p->stride[i] + p->dilation[i] * (p->kernel[i] - 1) + 1, has = in + 2 * p->padding[i];
        p->more[i] = reach > has ? reach - has : 0;
    }
    return true;
}

/* max_pool2d(self, kernel, stride, padding, dilation, ceil_mode) */
static bool read_max_pool(const fidc_rewriter *rw, pool *p) {
    if (!read_window(rw, p) || !fidc_rw_ints_spread(rw, 4, 2, 1, p->dilation) || p->dilation[0] < 1 || p->dilation[1] < 1) return false;
    return p->stride[0] <= p->kernel[0] && p->stride[1] <= p->kernel[1] && read_ceiling(rw, p);
}

static bool takes_max_pool(const fidc_rewriter *rw) {
    pool p;
    bool indices = rw->node->output_count > 1 && rw->node->outputs[1]->uses;
    return is_image(fidc_rw_value(rw, 0)) && !indices && read_max_pool(rw, &p);
}

/* avg_pool2d(self, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override) */
static bool takes_avg_pool(const fidc_rewriter *rw) {
    pool p;
    if (!is_image(fidc_rw_value(rw, 0)) || !read_window(rw, &p) || fidc_rw_bool(rw, 4, false)) return false;
    bool padded = p.padding[0] || p.padding[1];
    return !(padded && fidc_rw_bool(rw, 5, true)) && fidc_rw_int(rw, 6, p.kernel[0] * p.kernel[1]) == p.kernel[0] * p.kernel[1];
}

static void add_pool(fidc_xnn_lowering *l, const fidc_rewriter *rw, fid_xnn_type type, const pool *p) {
    uint32_t input = fidc_xnn_read(l, fidc_rw_value(rw, 0), FIDC_XNN_IMAGE), output = fidc_xnn_write(l, rw->node->outputs[0], FIDC_XNN_IMAGE);
    const struct { uint32_t slot; int64_t number; } fields[] = {
        {FID_XNN_Pooling_padding_top, p->padding[0]}, {FID_XNN_Pooling_padding_bottom, p->padding[0] + p->more[0]},
        {FID_XNN_Pooling_padding_left, p->padding[1]}, {FID_XNN_Pooling_padding_right, p->padding[1] + p->more[1]},
        {FID_XNN_Pooling_pooling_height, p->kernel[0]}, {FID_XNN_Pooling_pooling_width, p->kernel[1]},
        {FID_XNN_Pooling_stride_height, p->stride[0]}, {FID_XNN_Pooling_stride_width, p->stride[1]},
        {FID_XNN_Pooling_dilation_height, p->dilation[0]}, {FID_XNN_Pooling_dilation_width, p->dilation[1]}};
    fidc_xnn_node *node = fidc_xnn_begin(l, rw, type);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) fidc_xnn_set(node, fields[i].slot, (uint32_t)fields[i].number);
    fidc_xnn_set(node, FID_XNN_Pooling_input_id, input);
    fidc_xnn_set(node, FID_XNN_Pooling_output_id, output);
}

static void lower_max_pool(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    pool p;
    if (read_max_pool(rw, &p)) add_pool(l, rw, row->type, &p);
}

static void lower_avg_pool(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    pool p;
    if (read_window(rw, &p)) add_pool(l, rw, row->type, &p);
}

/* ---- Means over the plane ---- */

static bool is_plane(const fidc_rewriter *rw) {
    int64_t dims[FID_MAX_RANK];
    size_t count;
    if (!fidc_rw_ints(rw, 1, dims, &count) || count != 2) return false;
    int64_t a = fidc_wrap(dims[0], 4), b = fidc_wrap(dims[1], 4);
    return (a == 2 && b == 3) || (a == 3 && b == 2);
}

/* Over the last dimension: rows can be seen as images of one channel. A reshape can work out one size. */
static bool is_row(const fidc_rewriter *rw) {
    const fidc_value *x = fidc_rw_value(rw, 0);
    int64_t dims[FID_MAX_RANK];
    size_t count, dynamic = 0;
    if (!x || x->rank < 2 || !fidc_rw_ints(rw, 1, dims, &count) || count != 1 || fidc_wrap(dims[0], x->rank) != x->rank - 1) return false;
    for (size_t i = 0; i < x->rank; i++) dynamic += !fidc_expr_is_const(x->sizes[i]);
    return dynamic < 2 && fidc_size(x, x->rank - 1u) > 0;
}

static bool takes_mean(const fidc_rewriter *rw) {
    const fidc_value *x = fidc_rw_value(rw, 0);
    bool plane = is_image(x) && is_plane(rw);
    return fidc_rw_is_none(rw, 3) && (plane || (fidc_xnn_fits(x) && !fidc_is_constant(x) && is_row(rw)));
}

static void add_mean(fidc_xnn_lowering *l, const fidc_rewriter *rw, uint32_t input, uint32_t output) {
    fidc_xnn_node *node = fidc_xnn_begin(l, rw, FID_XNN_GlobalAvgPooling2d);
    fidc_xnn_set(node, FID_XNN_Unary_input_id, input);
    fidc_xnn_set(node, FID_XNN_Unary_output_id, output);
    fidc_xnn_set(node, FID_XNN_Unary_flags, FID_XNN_FLAG_KEEP_DIMS);
}

static void mean_row(fidc_xnn_lowering *l, const fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = rw->node->outputs[0];
    const fidc_expr *rows = fidc_expr_product(l->program, x->sizes, x->rank - 1u), *one = fidc_expr_const(l->program, 1);
    const fidc_expr *image[] = {rows, x->sizes[x->rank - 1], one, one};
    uint32_t count = (uint32_t)fidc_expr_at(rows, FIDC_AT_HIGH), length = (uint32_t)fidc_size(x, x->rank - 1u);
    uint32_t input = fidc_xnn_temporary(l, (const uint32_t[]){count, length, 1, 1}, 4), means = fidc_xnn_temporary(l, (const uint32_t[]){count, 1, 1, 1}, 4);
    fidc_xnn_reshape(l, fidc_xnn_read(l, x, FIDC_XNN_PLAIN), input, image, 4);
    add_mean(l, rw, input, means);
    fidc_xnn_reshape(l, means, fidc_xnn_write(l, out, FIDC_XNN_PLAIN), out->sizes, out->rank);
}

/* XNNPACK keeps the dims; without them it is the same numbers in the same order. */
static void lower_mean(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = rw->node->outputs[0];
    (void)row;
    if (!is_plane(rw)) {
        mean_row(l, rw);
        return;
    }
    uint32_t dims[FID_XNN_MAX_RANK], input = fidc_xnn_read(l, x, FIDC_XNN_IMAGE);
    if (out->rank == 4) {
        add_mean(l, rw, input, fidc_xnn_write(l, out, FIDC_XNN_IMAGE));
        return;
    }
    fidc_xnn_dims(out, FIDC_XNN_PLAIN, dims);
    uint32_t kept = fidc_xnn_temporary(l, (const uint32_t[]){dims[0], 1, 1, dims[1]}, 4);
    add_mean(l, rw, input, kept);
    fidc_xnn_reshape(l, kept, fidc_xnn_write(l, out, FIDC_XNN_PLAIN), out->sizes, out->rank);
}

/* _adaptive_avg_pool2d(self, output_size): to one element it is a mean; to a size that divides the image's, a plain pool. */
static bool read_adaptive(const fidc_rewriter *rw, pool *p) {
    const fidc_value *x = fidc_rw_value(rw, 0);
    int64_t size[2];
    *p = (pool){.dilation = {1, 1}};
    if (!fidc_rw_ints_spread(rw, 1, 2, 1, size)) return false;
    for (size_t i = 0; i < 2; i++) {
        int64_t in = fidc_size(x, 2 + i);
        if (size[i] == 1 && size[1 - i] == 1) p->kernel[i] = 1;
        else if (in < 1 || size[i] < 1 || in % size[i]) return false;
        else p->kernel[i] = p->stride[i] = in / size[i];
    }
    return p->stride[0] == 0 || p->kernel[0] * p->kernel[1] > 1;
}

static bool takes_adaptive(const fidc_rewriter *rw) {
    pool p;
    return is_image(fidc_rw_value(rw, 0)) && read_adaptive(rw, &p);
}

static void lower_adaptive(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    pool p;
    if (!read_adaptive(rw, &p)) return;
    if (!p.stride[0]) add_mean(l, rw, fidc_xnn_read(l, fidc_rw_value(rw, 0), FIDC_XNN_IMAGE), fidc_xnn_write(l, rw->node->outputs[0], FIDC_XNN_IMAGE));
    else add_pool(l, rw, row->type, &p);
}

/* ---- Resizing ---- */

/* A given factor must be the one that the sizes give: XNNPACK knows no other. */
static bool factor_fits(double factor, int64_t in, int64_t out) { return factor * (double)in == (double)out; }

static bool takes_size(const fidc_rewriter *rw) {
    const fidc_value *x = fidc_rw_value(rw, 0), *out = rw->node->outputs[0];
    return is_image(x) && fidc_size(x, 2) > 0 && fidc_size(x, 3) > 0 && fidc_size(out, 2) > 0 && fidc_size(out, 3) > 0;
}

/* upsample_bilinear2d.vec(input, output_size?, align_corners, scale_factors?) */
static bool takes_resize_vec(const fidc_rewriter *rw) {
    const fidc_value *x = fidc_rw_value(rw, 0), *out = rw->node->outputs[0];
    size_t count;
    const fidc_arg *factors = fidc_rw_items(rw, 3, &count);
    if (!takes_size(rw)) return false;
    for (size_t i = 0; factors && i < count && i < 2; i++)
        if (factors[i].kind != FIDC_ARG_DOUBLE || !factor_fits(factors[i].as.number, fidc_size(x, 2 + i), fidc_size(out, 2 + i))) return false;
    return true;
}

/* upsample_bilinear2d(self, output_size, align_corners, scales_h?, scales_w?) */
static bool takes_resize(const fidc_rewriter *rw) {
    const fidc_value *x = fidc_rw_value(rw, 0), *out = rw->node->outputs[0];
    if (!takes_size(rw)) return false;
    for (uint32_t i = 0; i < 2; i++)
        if (!fidc_rw_is_none(rw, 3 + i) && !factor_fits(fidc_rw_double(rw, 3 + i, 0), fidc_size(x, 2 + i), fidc_size(out, 2 + i))) return false;
    return true;
}

static void lower_resize(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    fidc_value *out = rw->node->outputs[0];
    uint32_t input = fidc_xnn_read(l, fidc_rw_value(rw, 0), FIDC_XNN_IMAGE), output = fidc_xnn_write(l, out, FIDC_XNN_IMAGE);
    fidc_xnn_node *node = fidc_xnn_begin(l, rw, row->type);
    fidc_xnn_set(node, FID_XNN_Resize_new_height, (uint32_t)fidc_size(out, 2));
    fidc_xnn_set(node, FID_XNN_Resize_new_width, (uint32_t)fidc_size(out, 3));
    fidc_xnn_set(node, FID_XNN_Resize_flags, fidc_rw_bool(rw, 2, false) ? FID_XNN_FLAG_ALIGN_CORNERS : 0);
    fidc_xnn_set(node, FID_XNN_Resize_input_id, input);
    fidc_xnn_set(node, FID_XNN_Resize_output_id, output);
}

/* ---- Slopes by channel, softmax ---- */

static bool takes_prelu(const fidc_rewriter *rw) {
    const fidc_value *x = fidc_rw_value(rw, 0), *slope = fidc_rw_value(rw, 1);
    if (!fidc_xnn_fits(x) || fidc_is_constant(x) || (x->rank != 2 && x->rank != 4) || !fidc_xnn_is_weight(slope) || slope->rank != 1) return false;
    return fidc_size(slope, 0) == 1 || fidc_size(slope, 0) == fidc_size(x, 1);
}

static void lower_prelu(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = rw->node->outputs[0];
    fidc_xnn_layout layout = x->rank == 4 ? FIDC_XNN_IMAGE : FIDC_XNN_PLAIN; /* channels last */
    uint32_t input = fidc_xnn_read(l, x, layout), slope = fidc_xnn_read(l, fidc_rw_value(rw, 1), FIDC_XNN_PLAIN), output = fidc_xnn_write(l, out, layout);
    fidc_xnn_node *node = fidc_xnn_begin(l, rw, row->type);
    fidc_xnn_set(node, FID_XNN_Binary_input1_id, input);
    fidc_xnn_set(node, FID_XNN_Binary_input2_id, slope);
    fidc_xnn_set(node, FID_XNN_Binary_output_id, output);
}

static bool takes_softmax(const fidc_rewriter *rw) {
    const fidc_value *x = fidc_rw_value(rw, 0);
    return fidc_xnn_fits(x) && !fidc_is_constant(x) && x->rank && fidc_rw_dim(rw, 1, -1, x->rank) == x->rank - 1 && !fidc_rw_bool(rw, 2, false);
}

static void lower_softmax(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    uint32_t input = fidc_xnn_read(l, fidc_rw_value(rw, 0), FIDC_XNN_PLAIN), output = fidc_xnn_write(l, rw->node->outputs[0], FIDC_XNN_PLAIN);
    fidc_xnn_node *node = fidc_xnn_begin(l, rw, row->type);
    fidc_xnn_set(node, FID_XNN_Unary_input_id, input);
    fidc_xnn_set(node, FID_XNN_Unary_output_id, output);
}

static const fidc_xnn_row rows[] = {
    {FID_OPID_max_pool2d, FID_XNN_MaxPooling2d, 0, takes_max_pool, lower_max_pool},
    {FID_OPID_max_pool2d_with_indices, FID_XNN_MaxPooling2d, 0, takes_max_pool, lower_max_pool},
    {FID_OPID_avg_pool2d, FID_XNN_AvgPooling2d, 0, takes_avg_pool, lower_avg_pool},
    {FID_OPID_mean_dim, FID_XNN_GlobalAvgPooling2d, 0, takes_mean, lower_mean},
    {FID_OPID__adaptive_avg_pool2d, FID_XNN_AvgPooling2d, 0, takes_adaptive, lower_adaptive},
    {FID_OPID_upsample_bilinear2d_vec, FID_XNN_StaticResizeBilinear2D, 0, takes_resize_vec, lower_resize},
    {FID_OPID_upsample_bilinear2d, FID_XNN_StaticResizeBilinear2D, 0, takes_resize, lower_resize},
    {FID_OPID_prelu, FID_XNN_PReLU, 0, takes_prelu, lower_prelu},
    {FID_OPID__softmax, FID_XNN_Softmax, 0, takes_softmax, lower_softmax},
};
const fidc_xnn_rows fidc_xnn_images = {rows, sizeof rows / sizeof *rows};
