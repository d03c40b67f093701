/* Convolutions, pools, norms and softmax: the many spellings of export into the one that has a kernel. */
#include "compiler/passes/rewrite.h"

/* ---- Convolution ---- */

typedef struct conv_args {
    fidc_value *input, *weight, *bias;
    int64_t stride[3], padding[3], dilation[3], output_padding[3];
    fidc_arg groups;
    bool transposed;
    size_t dims;
} conv_args;

/* One input without batch dimension gets one for the call. */
static fid_status become_convolution(fidc_rewriter *rw, const conv_args *c) {
    bool single = c->input->rank == c->dims + 1;
    fidc_value *input = single ? fidc_rw_unsqueeze(rw, c->input, 0) : c->input;
    fidc_value *out = RW(rw, convolution, fidc_v(input), fidc_v(c->weight), fidc_v(c->bias), fidc_ints(rw->program, c->stride, c->dims),
                         fidc_ints(rw->program, c->padding, c->dims), fidc_ints(rw->program, c->dilation, c->dims),
                         fidc_b(c->transposed), fidc_ints(rw->program, c->output_padding, c->dims), c->groups);
    return fidc_rw_become(rw, single ? fidc_rw_squeeze(rw, out, 0) : out);
}

static conv_args conv_operands(const fidc_rewriter *rw) {
    conv_args c = {.input = fidc_rw_value(rw, 0), .weight = fidc_rw_value(rw, 1), .bias = fidc_rw_value(rw, 2)};
    c.dims = c.weight->rank > 2 && c.weight->rank <= 5 ? c.weight->rank - 2u : 1;
    return c;
}

static fid_status conv(fidc_rewriter *rw) {
    conv_args c = conv_operands(rw);
    c.groups = fidc_rw_arg(rw, 6);
    bool constant = fidc_rw_ints_spread(rw, 3, c.dims, 1, c.stride) && fidc_rw_ints_spread(rw, 4, c.dims, 0, c.padding) &&
                    fidc_rw_ints_spread(rw, 5, c.dims, 1, c.dilation);
    return constant ? become_convolution(rw, &c) : fidc_rw_refuse(rw, "stride, padding and dilation must be constant");
}

static fid_status conv_transpose(fidc_rewriter *rw) {
    conv_args c = conv_operands(rw);
    c.groups = fidc_rw_arg(rw, 6);
    c.transposed = true;
    bool constant = fidc_rw_ints_spread(rw, 3, c.dims, 1, c.stride) && fidc_rw_ints_spread(rw, 4, c.dims, 0, c.padding) &&
                    fidc_rw_ints_spread(rw, 5, c.dims, 0, c.output_padding) && fidc_rw_ints_spread(rw, 7, c.dims, 1, c.dilation);
    return constant ? become_convolution(rw, &c) : fidc_rw_refuse(rw, "stride, padding and dilation must be constant");
}

/* "same" pads dilation * (kernel - 1) in all; an odd total pads one more at the end, which takes a pad of its own. */
static fid_status conv_named_padding(fidc_rewriter *rw) {
    conv_args c = conv_operands(rw);
    c.groups = fidc_rw_arg(rw, 6);
    if (!fidc_rw_ints_spread(rw, 3, c.dims, 1, c.stride) || !fidc_rw_ints_spread(rw, 5, c.dims, 1, c.dilation)) {
        return fidc_rw_refuse(rw, "stride and dilation must be constant");
    }
    if (strcmp(fidc_rw_string(rw, 4, "valid"), "same") != 0) return become_convolution(rw, &c);
    int64_t pads[6] = {0};
    bool uneven = false;
    for (size_t d = 0; d < c.dims; d++) {
        int64_t kernel = fidc_size(c.weight, d + 2), total = c.dilation[d] * (kernel - 1);
        if (kernel < 1) return fidc_rw_refuse(rw, "the kernel's size must be constant");
        c.padding[d] = total / 2;
        pads[2 * (c.dims - 1 - d) + 1] = total % 2;
        uneven = uneven || total % 2;
    }
    if (uneven) c.input = RW(rw, constant_pad_nd, fidc_v(c.input), fidc_ints(rw->program, pads, 2 * c.dims), fidc_i(0));
    return c.input ? become_convolution(rw, &c) : fidc_rw_keep(rw);
}

/* ---- Pools ---- */

/* Kernel, stride, padding and dilation in full length. An empty stride is the kernel. */
typedef struct pool_args { int64_t kernel[3], stride[3], padding[3], dilation[3]; size_t dims; } pool_args;

static bool read_pool(const fidc_rewriter *rw, size_t dims, bool dilated, pool_args *out) {
    *out = (pool_args){.dims = dims};
    size_t count;
    if (!fidc_rw_ints_spread(rw, 1, dims, 1, out->kernel) || !fidc_rw_ints_spread(rw, 3, dims, 0, out->padding)) return false;
    fidc_rw_items(rw, 2, &count);
    if (count == 0) memcpy(out->stride, out->kernel, sizeof out->stride);
    else if (!fidc_rw_ints_spread(rw, 2, dims, 1, out->stride)) return false;
    for (size_t d = 0; d < dims; d++) out->dilation[d] = 1;
    return !dilated || fidc_rw_ints_spread(rw, 4, dims, 1, out->dilation);
}

static fidc_value *max_pool_with_indices(fidc_rewriter *rw, fid_op_id op, fidc_value *x, const pool_args *p) {
    fidc_arg args[] = {fidc_v(x), fidc_ints(rw->program, p->kernel, p->dims), fidc_ints(rw->program, p->stride, p->dims),
                       fidc_ints(rw->program, p->padding, p->dims), fidc_ints(rw->program, p->dilation, p->dims), fidc_rw_arg(rw, 5)};
    return fidc_rw_emit(rw, op, args, 6);
}

static fid_status max_pool(fidc_rewriter *rw, fid_op_id op, size_t dims) {
    pool_args p;
    if (!read_pool(rw, dims, true, &p)) return fidc_rw_refuse(rw, "kernel, stride and padding must be constant");
    return fidc_rw_become(rw, max_pool_with_indices(rw, op, fidc_rw_value(rw, 0), &p));
}

static fid_status max_pool2d(fidc_rewriter *rw) { return max_pool(rw, FID_OPID_max_pool2d_with_indices, 2); }
static fid_status max_pool3d(fidc_rewriter *rw) { return max_pool(rw, FID_OPID_max_pool3d_with_indices, 3); }

/* A one-dimensional pool is a two-dimensional one of height one. */
static pool_args lifted(const pool_args *p) {
    return (pool_args){.kernel = {1, p->kernel[0]}, .stride = {1, p->stride[0]}, .padding = {0, p->padding[0]},
                       .dilation = {1, p->dilation[0]}, .dims = 2};
}

static fid_status max_pool1d(fidc_rewriter *rw) {
    pool_args p;
    if (!read_pool(rw, 1, true, &p)) return fidc_rw_refuse(rw, "kernel, stride and padding must be constant");
    pool_args flat = lifted(&p);
    fidc_value *x = fidc_rw_unsqueeze(rw, fidc_rw_value(rw, 0), -2);
    return fidc_rw_become(rw, fidc_rw_squeeze(rw, max_pool_with_indices(rw, FID_OPID_max_pool2d_with_indices, x, &flat), -2));
}

static fid_status max_pool1d_with_indices(fidc_rewriter *rw) {
    pool_args p;
    if (!read_pool(rw, 1, true, &p)) return fidc_rw_refuse(rw, "kernel, stride and padding must be constant");
    pool_args flat = lifted(&p);
    fidc_value *x = fidc_rw_unsqueeze(rw, fidc_rw_value(rw, 0), -2);
    fidc_value *pooled = max_pool_with_indices(rw, FID_OPID_max_pool2d_with_indices, x, &flat);
    if (!pooled) return fidc_rw_become(rw, NULL);
    fidc_value *both[] = {fidc_rw_squeeze(rw, pooled, -2), fidc_rw_squeeze(rw, pooled->producer->outputs[1], -2)};
    return fidc_rw_become_all(rw, both, 2);
}

static fidc_value *avg_pool2d_of(fidc_rewriter *rw, fidc_value *x, const pool_args *p, fidc_arg ceil_mode, fidc_arg include_pad) {
    return RW(rw, avg_pool2d, fidc_v(x), fidc_ints(rw->program, p->kernel, 2), fidc_ints(rw->program, p->stride, 2),
              fidc_ints(rw->program, p->padding, 2), ceil_mode, include_pad, fidc_none());
}

static fid_status avg_pool1d(fidc_rewriter *rw) {
    pool_args p;
    if (!read_pool(rw, 1, false, &p)) return fidc_rw_refuse(rw, "kernel, stride and padding must be constant");
    pool_args flat = lifted(&p);
    fidc_value *x = fidc_rw_unsqueeze(rw, fidc_rw_value(rw, 0), -2);
    return fidc_rw_become(rw, fidc_rw_squeeze(rw, avg_pool2d_of(rw, x, &flat, fidc_rw_arg(rw, 4), fidc_rw_arg(rw, 5)), -2));
}

/* Full-length lists, so that kernels need not know the shorthands. */
static fid_status avg_pool2d(fidc_rewriter *rw) {
    pool_args p;
    size_t kernel_count, stride_count, padding_count;
    if (!read_pool(rw, 2, false, &p)) return fidc_rw_refuse(rw, "kernel, stride and padding must be constant");
    fidc_rw_items(rw, 1, &kernel_count);
    fidc_rw_items(rw, 2, &stride_count);
    fidc_rw_items(rw, 3, &padding_count);
    if (kernel_count == 2 && stride_count == 2 && padding_count == 2) return fidc_rw_keep(rw);
    return fidc_rw_become(rw, RW(rw, avg_pool2d, fidc_rw_arg(rw, 0), fidc_ints(rw->program, p.kernel, 2), fidc_ints(rw->program, p.stride, 2),
                                 fidc_ints(rw->program, p.padding, 2), fidc_rw_arg(rw, 4), fidc_rw_arg(rw, 5), fidc_rw_arg(rw, 6)));
}

static fidc_value *mean_of_last(fidc_rewriter *rw, fidc_value *x, size_t dims) {
    int64_t last[3] = {-3, -2, -1};
    return RW(rw, mean_dim, fidc_v(x), fidc_ints(rw->program, last + 3 - dims, dims), fidc_b(true));
}

/* Windows of equal size where the input divides by the output; false if not, or if sizes are not known. */
static bool even_windows(const fidc_value *x, const int64_t *out_sizes, pool_args *out) {
    *out = (pool_args){.dims = 2};
    for (size_t d = 0; d < 2; d++) {
        int64_t in = fidc_size(x, x->rank - 2u + d);
        if (in <= 0 || out_sizes[d] <= 0 || in % out_sizes[d] != 0) return false;
        out->kernel[d] = out->stride[d] = in / out_sizes[d];
    }
    return true;
}

static fidc_value *adaptive_avg_2d(fidc_rewriter *rw, fidc_value *x, const int64_t *sizes) {
    pool_args p;
    if (sizes[0] == 1 && sizes[1] == 1) return mean_of_last(rw, x, 2);
    if (!even_windows(x, sizes, &p)) return RW(rw, _adaptive_avg_pool2d, fidc_v(x), fidc_ints(rw->program, sizes, 2));
    if (p.kernel[0] == 1 && p.kernel[1] == 1) return x;
    return avg_pool2d_of(rw, x, &p, fidc_b(false), fidc_b(true));
}

/* A size of None keeps the input's, which the result's meta shows. */
static fid_status adaptive_avg_pool2d(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    int64_t sizes[2] = {fidc_size(out, out->rank - 2u), fidc_size(out, out->rank - 1u)};
    if (sizes[0] >= 0 && sizes[1] >= 0) return fidc_rw_become(rw, adaptive_avg_2d(rw, x, sizes));
    if (fidc_same_sizes(x, out)) return fidc_rw_become(rw, x);
    return fidc_rw_rename(rw, FID_OPID__adaptive_avg_pool2d);
}

static fid_status adaptive_avg_pool1d(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    int64_t sizes[2] = {1, fidc_size(out, out->rank - 1u)};
    if (sizes[1] == 1) return fidc_rw_become(rw, mean_of_last(rw, x, 1));
    if (fidc_same_sizes(x, out)) return fidc_rw_become(rw, x);
    if (sizes[1] < 0) return fidc_rw_refuse(rw, "the output size must be constant");
    return fidc_rw_become(rw, fidc_rw_squeeze(rw, adaptive_avg_2d(rw, fidc_rw_unsqueeze(rw, x, -2), sizes), -2));
}

static fid_status adaptive_avg_pool3d(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    bool one = true;
    for (size_t d = out->rank - 3u; d < out->rank; d++) one = one && fidc_size(out, d) == 1;
    if (one) return fidc_rw_become(rw, mean_of_last(rw, x, 3));
    if (fidc_same_sizes(x, out)) return fidc_rw_become(rw, x);
    return fidc_rw_rename(rw, FID_OPID__adaptive_avg_pool3d);
}

/* ---- Norms ---- */

static fid_status batch_norm(fidc_rewriter *rw) {
    bool training = fidc_rw_bool(rw, 5, false), stats = fidc_rw_value(rw, 3) && fidc_rw_value(rw, 4);
    if (fidc_rw_value(rw, 0)->rank < 2) return fidc_rw_become(rw, fidc_rw_value(rw, 0)); /* no elements */
    fidc_arg x = fidc_rw_arg(rw, 0), weight = fidc_rw_arg(rw, 1), bias = fidc_rw_arg(rw, 2);
    if (training && stats) {
        return fidc_rw_refuse(rw, "batch norm in training mode changes its running statistics; export the model after model.eval()");
    }
    if (!stats) {
        return fidc_rw_become(rw, RW(rw, _native_batch_norm_legit_no_stats, x, weight, bias, fidc_b(true), fidc_rw_arg(rw, 6), fidc_rw_arg(rw, 7)));
    }
    return fidc_rw_become(rw, RW(rw, _native_batch_norm_legit_no_training, x, weight, bias, fidc_rw_arg(rw, 3), fidc_rw_arg(rw, 4),
                                 fidc_rw_arg(rw, 6), fidc_rw_arg(rw, 7)));
}

/* With the statistics it used, which are none in inference. */
static fid_status native_batch_norm(fidc_rewriter *rw) {
    bool stats = fidc_rw_value(rw, 3) && fidc_rw_value(rw, 4);
    if (fidc_rw_bool(rw, 5, false) && stats) return batch_norm(rw);
    fidc_arg args[] = {fidc_rw_arg(rw, 0), fidc_rw_arg(rw, 1), fidc_rw_arg(rw, 2), fidc_rw_arg(rw, 3), fidc_rw_arg(rw, 4), fidc_rw_arg(rw, 6),
                       fidc_rw_arg(rw, 7)};
    fidc_arg own[] = {args[0], args[1], args[2], fidc_b(true), args[5], args[6]};
    fidc_node *norm = stats ? fidc_rw_emit_node(rw, FID_OPID__native_batch_norm_legit_no_training, args, 7, 0)
                            : fidc_rw_emit_node(rw, FID_OPID__native_batch_norm_legit_no_stats, own, 6, 0);
    return norm ? fidc_rw_become_all(rw, norm->outputs, norm->output_count) : fidc_rw_become(rw, NULL);
}

static fidc_value *group_norm_of(fidc_rewriter *rw, fidc_arg weight, fidc_arg bias, fidc_arg groups, fidc_arg eps) {
    fidc_value *x = fidc_rw_value(rw, 0);
    fidc_arg inner = fidc_rw_expr(rw, fidc_expr_product(rw->program, x->sizes + 2, x->rank > 2 ? x->rank - 2u : 0));
    return RW(rw, native_group_norm, fidc_v(x), weight, bias, fidc_rw_size(rw, x, 0), fidc_rw_size(rw, x, 1), inner, groups, eps);
}

static fid_status group_norm(fidc_rewriter *rw) {
    return fidc_rw_become(rw, group_norm_of(rw, fidc_rw_arg(rw, 2), fidc_rw_arg(rw, 3), fidc_rw_arg(rw, 1), fidc_rw_arg(rw, 4)));
}

/* Statistics of each channel of each sample: a group norm with as many groups as channels. */
static fid_status instance_norm(fidc_rewriter *rw) {
    if (fidc_rw_bool(rw, 5, true)) {
        fidc_arg channels = fidc_rw_size(rw, fidc_rw_value(rw, 0), 1);
        return fidc_rw_become(rw, group_norm_of(rw, fidc_rw_arg(rw, 1), fidc_rw_arg(rw, 2), channels, fidc_rw_arg(rw, 7)));
    }
    return fidc_rw_become(rw, RW(rw, _native_batch_norm_legit_no_training, fidc_rw_arg(rw, 0), fidc_rw_arg(rw, 1), fidc_rw_arg(rw, 2),
                                 fidc_rw_arg(rw, 3), fidc_rw_arg(rw, 4), fidc_rw_arg(rw, 6), fidc_rw_arg(rw, 7)));
}

/* ---- Softmax ---- */

static fid_status softmax_by(fidc_rewriter *rw, fid_op_id op) {
    fidc_value *x = fidc_rw_cast(rw, fidc_rw_value(rw, 0), (fid_dtype)fidc_rw_out(rw)->dtype);
    return fidc_rw_become(rw, fidc_rw_emit(rw, op, (fidc_arg[]){fidc_v(x), fidc_rw_arg(rw, 1), fidc_b(false)}, 3));
}

static fid_status softmax(fidc_rewriter *rw) { return softmax_by(rw, FID_OPID__softmax); }
static fid_status log_softmax(fidc_rewriter *rw) { return softmax_by(rw, FID_OPID__log_softmax); }

/* ---- Sampling ---- */

static fid_status grid_sampler(fidc_rewriter *rw) {
    return fidc_rw_rename(rw, fidc_rw_value(rw, 0)->rank == 5 ? FID_OPID_grid_sampler_3d : FID_OPID_grid_sampler_2d);
}

static const fidc_rule_row rows[] = {
    {FID_OPID_grid_sampler, grid_sampler},
    {FID_OPID_conv1d, conv},
    {FID_OPID_conv2d, conv},
    {FID_OPID_conv3d, conv},
    {FID_OPID_conv1d_padding, conv_named_padding},
    {FID_OPID_conv2d_padding, conv_named_padding},
    {FID_OPID_conv3d_padding, conv_named_padding},
    {FID_OPID_conv_transpose1d, conv_transpose},
    {FID_OPID_conv_transpose2d_input, conv_transpose},
    {FID_OPID_conv_transpose3d_input, conv_transpose},
    {FID_OPID_max_pool1d, max_pool1d},
    {FID_OPID_max_pool1d_with_indices, max_pool1d_with_indices},
    {FID_OPID_native_batch_norm, native_batch_norm},
    {FID_OPID_max_pool2d, max_pool2d},
    {FID_OPID_max_pool3d, max_pool3d},
    {FID_OPID_avg_pool1d, avg_pool1d},
    {FID_OPID_avg_pool2d, avg_pool2d},
    {FID_OPID_adaptive_avg_pool1d, adaptive_avg_pool1d},
    {FID_OPID_adaptive_avg_pool2d, adaptive_avg_pool2d},
    {FID_OPID_adaptive_avg_pool3d, adaptive_avg_pool3d},
    {FID_OPID_batch_norm, batch_norm},
    {FID_OPID_group_norm, group_norm},
    {FID_OPID_instance_norm, instance_norm},
    {FID_OPID_softmax_int, softmax},
    {FID_OPID_log_softmax_int, log_softmax},
};

void fidc_rules_add_nn(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
