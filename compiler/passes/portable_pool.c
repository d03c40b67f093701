/* Pools that upstream's portable kernels lack, by two-dimensional pools, means and maxima of slices. */
#include "compiler/passes/rewrite.h"

/* ---- Places of the largest: every window's places in the flat image are a constant row, its elements one selection ---- */

typedef struct windows {
    size_t dims;
    int64_t in[3], out[3];
    int64_t starts[3], steps[3], counts[3]; /* of one window: filled in for each */
} windows;

/* Which elements along dimension d window i takes. */
typedef void span_function(windows *w, const void *self, size_t d, int64_t i);

static void adaptive_span(windows *w, const void *self, size_t d, int64_t i) {
    (void)self;
    w->starts[d] = i * w->in[d] / w->out[d];
    w->counts[d] = ((i + 1) * w->in[d] + w->out[d] - 1) / w->out[d] - w->starts[d];
    w->steps[d] = 1;
}

/* Row-major places of the window; the row's rest repeats the first. */
static void fill_row(const windows *w, int64_t *row, int64_t width) {
    int64_t at[3] = {0}, filled = 0;
    for (bool more = true; more;) {
        int64_t place = 0;
        for (size_t d = 0; d < w->dims; d++) place = place * w->in[d] + w->starts[d] + at[d] * w->steps[d];
        row[filled++] = place;
        more = false;
        for (size_t d = w->dims; d-- > 0 && !more;) {
            more = ++at[d] < w->counts[d];
            if (!more) at[d] = 0;
        }
    }
    while (filled < width) row[filled++] = row[0];
}

#define MOST_PLACES ((int64_t)1 << 22)

/* (windows, width) of places; NULL: too many. */
static fidc_value *window_rows(fidc_rewriter *rw, windows *w, span_function *span, const void *self, int64_t width) {
    int64_t total = 1;
    for (size_t d = 0; d < w->dims; d++) total *= w->out[d];
    if (total < 1 || width < 1 || total > MOST_PLACES / width) return NULL;
    int64_t *rows = fid_arena_allocate_array(&rw->program->arena, (size_t)(total * width), sizeof *rows), sizes[] = {total, width};
    for (int64_t i = 0; rows && i < total; i++) {
        int64_t rest = i;
        for (size_t d = w->dims; d-- > 0; rest /= w->out[d]) span(w, self, d, rest % w->out[d]);
        fill_row(w, rows + i * width, width);
    }
    return rows ? fidc_value_constant(rw->graph, NULL, FID_INT64, sizes, 2, rows, (size_t)(total * width) * sizeof *rows) : NULL;
}

static bool read_windows(const fidc_rewriter *rw, size_t dims, windows *w) {
    const fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    *w = (windows){.dims = dims};
    if (x->rank < dims || out->rank != x->rank) return false;
    for (size_t d = 0; d < dims; d++) {
        w->in[d] = fidc_size(x, x->rank - dims + d);
        w->out[d] = fidc_size(out, out->rank - dims + d);
        if (w->in[d] < 1 || w->out[d] < 1 || w->in[d] > MOST_PLACES || w->out[d] > MOST_PLACES) return false;
    }
    return true;
}

static fid_status become_largest(fidc_rewriter *rw, windows *w, span_function *span, const void *self, int64_t width) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw), *places = window_rows(rw, w, span, self, width);
    if (!places) return fidc_rw_keep(rw);
    size_t lead = x->rank - w->dims;
    const fidc_expr *sizes[3] = {fidc_expr_product(rw->program, x->sizes, lead), fidc_expr_product(rw->program, x->sizes + lead, w->dims)};
    fidc_value *flat = fidc_rw_view(rw, x, sizes, 2), *order = fidc_rw_view(rw, places, (const fidc_expr *[]){fidc_expr_product(rw->program, places->sizes, 2)}, 1);
    if (!flat || !order) return fidc_rw_become(rw, NULL);
    memcpy(sizes + 1, places->sizes, 2 * sizeof *sizes);
    fidc_value *elements = fidc_rw_view(rw, RW(rw, index_select, fidc_v(flat), fidc_i(1), fidc_v(order)), sizes, 3);
    fidc_node *largest = elements ? fidc_rw_emit_node(rw, FID_OPID_max_dim, (fidc_arg[]){fidc_v(elements), fidc_i(2), fidc_b(true)}, 3, 0) : NULL;
    fidc_value *table = fidc_rw_expand(rw, places, sizes, 3);
    if (!largest || !table) return fidc_rw_become(rw, NULL);
    fidc_value *index = RW(rw, gather, fidc_v(table), fidc_i(2), fidc_v(largest->outputs[1]));
    fidc_value *results[] = {fidc_rw_view(rw, largest->outputs[0], out->sizes, out->rank), index ? fidc_rw_view(rw, index, out->sizes, out->rank) : NULL};
    return results[0] && results[1] ? fidc_rw_become_all(rw, results, 2) : fidc_rw_become(rw, NULL);
}

static fid_status adaptive_places(fidc_rewriter *rw, size_t dims) {
    windows w;
    int64_t width = 1;
    if (!read_windows(rw, dims, &w)) return fidc_rw_keep(rw);
    for (size_t d = 0; d < dims; d++) width *= w.in[d] % w.out[d] ? (w.in[d] + w.out[d] - 1) / w.out[d] + 1 : w.in[d] / w.out[d];
    return become_largest(rw, &w, adaptive_span, NULL, width);
}

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
    fidc_arg divisor = fidc_rw_is_none(rw, 6) ? fidc_none() : fidc_i(1); /* the user's own comes last */
    if (average) return RW(rw, avg_pool2d, fidc_v(x), kernel, stride, padding, fidc_rw_arg(rw, 4), fidc_rw_arg(rw, 5), divisor);
    return RW(rw, max_pool2d_with_indices, fidc_v(x), kernel, stride, padding, dilation, fidc_rw_arg(rw, 5));
}

static void pool_span(windows *w, const void *self, size_t d, int64_t i) {
    const pool3d *p = self;
    int64_t start = i * p->stride[d] - p->padding[d], skipped = start < 0 ? (-start + p->dilation[d] - 1) / p->dilation[d] : 0;
    w->starts[d] = start + skipped * p->dilation[d];
    w->steps[d] = p->dilation[d];
    w->counts[d] = 0;
    for (int64_t k = skipped; k < p->kernel[d] && start + k * p->dilation[d] < w->in[d]; k++) w->counts[d]++;
}

static fid_status max_places(fidc_rewriter *rw, const pool3d *p) {
    windows w;
    int64_t width = p->kernel[0] * p->kernel[1] * p->kernel[2];
    if (!read_windows(rw, 3, &w) || width < 1 || width > MOST_PLACES) return fidc_rw_keep(rw);
    for (size_t d = 0; d < 3; d++) { /* a window without elements has no largest */
        for (int64_t i = 0; i < w.out[d]; i++) {
            pool_span(&w, p, d, i);
            if (w.counts[d] < 1 || w.starts[d] < 0) return fidc_rw_keep(rw);
        }
    }
    return become_largest(rw, &w, pool_span, p, width);
}

/* Both kinds are separable: the maximum of maxima; and a mean's divisor is the product of what each dimension counts. */
static fid_status pool_3d(fidc_rewriter *rw, bool average) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    pool3d p;
    if (!read_pool3d(rw, !average, &p)) return fidc_rw_keep(rw);
    double divisor = average ? fidc_rw_double(rw, 6, 1) : 1;
    if (divisor == 0) return fidc_rw_keep(rw);
    if (!average && fidc_rw_is_used(rw, 1)) return max_places(rw, &p);
    size_t lead = x->rank - 3u;
    const fidc_expr *rows = fidc_expr_product(rw->program, x->sizes, lead), *one = fidc_expr_const(rw->program, 1);
    const fidc_expr *flat[] = {fidc_expr_binary(rw->program, FIDC_EXPR_MUL, rows, x->sizes[lead]), one, x->sizes[lead + 1], x->sizes[lead + 2]};
    fidc_value *planes = pool_two(rw, fidc_rw_view(rw, x, flat, 4), &p, average, (const int64_t[2]){1, 2});
    const fidc_expr *area = fidc_expr_binary(rw->program, FIDC_EXPR_MUL, out->sizes[lead + 1], out->sizes[lead + 2]);
    const fidc_expr *deep[] = {rows, one, x->sizes[lead], area};
    fidc_value *pooled = pool_two(rw, fidc_rw_view(rw, planes, deep, 4), &p, average, (const int64_t[2]){0, -1});
    if (divisor != 1 && pooled) pooled = RW(rw, div_Scalar, fidc_v(pooled), fidc_d(divisor));
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
    if (rw->node->output_count > 1 && fidc_rw_is_used(rw, 1)) return adaptive_places(rw, dims);
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
