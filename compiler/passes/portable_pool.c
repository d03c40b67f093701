/* Pools that upstream's portable kernels lack, by two-dimensional pools, means and maxima of slices. */
#include "compiler/passes/rewrite.h"

/* ---- Three dimensions: a pool of height and width, then one of depth ---- */

typedef struct pool3d { int64_t kernel[3], stride[3], padding[3], dilation[3]; } pool3d;

static bool read_pool3d(const fidc_rewriter *rw, bool dilated, pool3d *out) {
    size_t count;
    *out = (pool3d){.dilation = {1, 1, 1}};
    if (!fidc_rw_ints_spread(rw, 1, 3, 1, out->kernel) || !fidc_rw_ints_spread(rw, 3, 3, 0, out->padding)) return false;
    fidc_rw_items(rw, 2, &count);
    if (count == 0) memcpy(out->stride, out->kernel, sizeof out->stride);
    else if (!fidc_rw_ints_spread(rw, 2, 3, 1, out->stride)) return false;
    return !dilated || fidc_rw_ints_spread(rw, 4, 3, 1, out->dilation);
}

/* Pools two of the three dimensions of an image (rows, a, b): `d` names those of a and b. */
static fidc_value *pool_two(fidc_rewriter *rw, fidc_value *x, const pool3d *p, bool average, const int64_t d[2]) {
    int64_t lists[4][2];
    const int64_t *sources[4] = {p->kernel, p->stride, p->padding, p->dilation};
    const int64_t neutral[4] = {1, 1, 0, 1};
    for (size_t k = 0; k < 4; k++)
        for (size_t i = 0; i < 2; i++) lists[k][i] = d[i] < 0 ? neutral[k] : sources[k][d[i]];
    fidc_arg kernel = fidc_ints(rw->program, lists[0], 2), stride = fidc_ints(rw->program, lists[1], 2);
    fidc_arg padding = fidc_ints(rw->program, lists[2], 2), dilation = fidc_ints(rw->program, lists[3], 2);
    if (!x) return NULL;
    if (average) return RW(rw, avg_pool2d, fidc_v(x), kernel, stride, padding, fidc_rw_arg(rw, 4), fidc_rw_arg(rw, 5), fidc_none());
    return RW(rw, max_pool2d_with_indices, fidc_v(x), kernel, stride, padding, dilation, fidc_rw_arg(rw, 5));
}

/* A divisor of the user's own, against the window's volume, where every window counts in full; 0 where it does not. */
static double divisor_factor(const fidc_rewriter *rw, const pool3d *p) {
    if (fidc_rw_is_none(rw, 6)) return 1;
    bool whole = !fidc_rw_bool(rw, 4, false) && fidc_rw_bool(rw, 5, true);
    return whole ? (double)p->kernel[0] * (double)p->kernel[1] * (double)p->kernel[2] / fidc_rw_double(rw, 6, 1) : 0;
}

/* Both kinds are separable: the maximum of maxima; and a mean's divisor is the product of what each dimension counts. */
static fid_status pool_3d(fidc_rewriter *rw, bool average) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    pool3d p;
    if (!read_pool3d(rw, !average, &p)) return fidc_rw_keep(rw);
    double factor = average ? divisor_factor(rw, &p) : 1;
    if (factor == 0) return fidc_rw_keep(rw);
    if (!average && fidc_rw_is_used(rw, 1)) return fidc_rw_keep(rw);
    size_t lead = x->rank - 3u;
    const fidc_expr *rows = fidc_expr_product(rw->program, x->sizes, lead), *one = fidc_expr_const(rw->program, 1);
    const fidc_expr *flat[] = {fidc_expr_binary(rw->program, FIDC_EXPR_MUL, rows, x->sizes[lead]), one, x->sizes[lead + 1], x->sizes[lead + 2]};
    fidc_value *planes = pool_two(rw, fidc_rw_view(rw, x, flat, 4), &p, average, (const int64_t[2]){1, 2});
    const fidc_expr *area = fidc_expr_binary(rw->program, FIDC_EXPR_MUL, out->sizes[lead + 1], out->sizes[lead + 2]);
    const fidc_expr *deep[] = {rows, one, x->sizes[lead], area};
    fidc_value *pooled = pool_two(rw, fidc_rw_view(rw, planes, deep, 4), &p, average, (const int64_t[2]){0, -1});
    if (factor != 1 && pooled) pooled = RW(rw, mul_Scalar, fidc_v(pooled), fidc_d(factor));
    return fidc_rw_become(rw, fidc_rw_view(rw, pooled, out->sizes, out->rank));
}

static fid_status avg_pool3d(fidc_rewriter *rw) { return pool_3d(rw, true); }
static fid_status max_pool3d(fidc_rewriter *rw) { return pool_3d(rw, false); }

/* ---- Adaptive pools: output i covers [floor(i in / out), ceil((i + 1) in / out)) ---- */

/* One dimension: a reduced slice for each output, joined. */
static fidc_value *adapt_dim(fidc_rewriter *rw, fidc_value *x, int64_t dim, int64_t out, fid_op_id reduce) {
    int64_t in = x ? fidc_size(x, (size_t)dim) : -1;
    if (in < 0 || out > 1024) return NULL;
    if (in == out) return x;
    fidc_value *parts[1024];
    for (int64_t i = 0; i < out; i++) {
        int64_t start = i * in / out, end = ((i + 1) * in + out - 1) / out;
        fidc_value *part = fidc_rw_slice(rw, x, dim, fidc_i(start), fidc_i(end));
        if (!part) return NULL;
        parts[i] = fidc_rw_emit(rw, reduce, (fidc_arg[]){fidc_v(part), fidc_ints(rw->program, &dim, 1), fidc_b(true)}, 3);
        if (!parts[i]) return NULL;
    }
    return fidc_rw_cat(rw, parts, (size_t)out, dim);
}

static fid_status adapt(fidc_rewriter *rw, size_t dims, fid_op_id reduce) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    for (size_t d = x->rank - dims; d < x->rank; d++) {
        if (fidc_size(x, d) < 0 || fidc_size(out, d) < 0) return fidc_rw_keep(rw);
    }
    if (rw->node->output_count > 1 && fidc_rw_is_used(rw, 1)) return fidc_rw_keep(rw);
    for (size_t d = out->rank - dims; d < out->rank && x; d++) x = adapt_dim(rw, x, (int64_t)d, fidc_size(out, d), reduce);
    return fidc_rw_become(rw, x);
}

static fid_status adaptive_max_pool1d(fidc_rewriter *rw) { return adapt(rw, 1, FID_OPID_amax); }
static fid_status adaptive_max_pool2d(fidc_rewriter *rw) { return adapt(rw, 2, FID_OPID_amax); }
static fid_status adaptive_max_pool3d(fidc_rewriter *rw) { return adapt(rw, 3, FID_OPID_amax); }
static fid_status adaptive_avg_pool3d(fidc_rewriter *rw) { return adapt(rw, 3, FID_OPID_mean_dim); }

static const fidc_rule_row rows[] = {
    {FID_OPID_avg_pool3d, avg_pool3d},
    {FID_OPID_max_pool3d_with_indices, max_pool3d},
    {FID_OPID_adaptive_max_pool1d, adaptive_max_pool1d},
    {FID_OPID_adaptive_max_pool2d, adaptive_max_pool2d},
    {FID_OPID_adaptive_max_pool3d, adaptive_max_pool3d},
    {FID_OPID__adaptive_avg_pool3d, adaptive_avg_pool3d},
};

void fidc_rules_add_portable_pool(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
