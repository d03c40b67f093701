/* Image operators that upstream's portable kernels lack: resampling, unfolding, pools of other dimensions.
 *
 * Resampling is a linear map of each dimension for itself, so it is a product with one constant matrix a dimension. The matrix is the
 * same operator applied to an identity matrix; constant folding computes it. */
#include "compiler/passes/rewrite.h"

/* ---- Resampling ---- */

/* The identity as an image of one channel, (1, 1, size, size). */
static fidc_value *identity_image(fidc_rewriter *rw, fid_dtype dtype, int64_t size) {
    size_t count;
    if (!fid_mul_size((size_t)size, (size_t)size, &count) || count > (size_t)1 << 24) return NULL;
    float *data = fid_arena_allocate(&rw->program->arena, count * sizeof *data, FID_ALLOCATION_ALIGNMENT);
    if (!data) return NULL;
    for (int64_t i = 0; i < size; i++) data[i * size + i] = 1;
    int64_t sizes[] = {1, 1, size, size};
    fidc_value *image = fidc_value_constant(rw->graph, NULL, FID_FLOAT32, sizes, 4, data, count * sizeof *data);
    return fidc_rw_cast(rw, image, dtype);
}

/* How the operator at hand resamples one dimension: a two-dimensional form of it, and where its arguments stand. */
typedef struct resampling { fid_op_id op; bool aligned; uint32_t scales_arg; size_t dims; } resampling;

static double scale_of(const fidc_rewriter *rw, const resampling *r, size_t dim) {
    size_t count;
    const fidc_arg *items = fidc_rw_items(rw, r->scales_arg, &count);
    if (count <= dim || items[dim].kind != FIDC_ARG_DOUBLE) return 0;
    return items[dim].as.number;
}

/* (out, in): rows of an identity resampled in the first image dimension only. */
static fidc_value *resampling_matrix(fidc_rewriter *rw, const resampling *r, size_t dim, int64_t in, int64_t out) {
    fid_dtype dtype = (fid_dtype)fidc_rw_out(rw)->dtype;
    fidc_value *image = identity_image(rw, r->aligned && !fid_dtype_is_float(dtype) ? FID_FLOAT32 : dtype, in);
    double scale = scale_of(rw, r, dim);
    fidc_arg scale_arg = scale > 0 ? fidc_d(scale) : fidc_none(), one = scale > 0 ? fidc_d(1) : fidc_none();
    int64_t sizes[] = {out, in};
    fidc_arg args[5] = {fidc_v(image), fidc_ints(rw->program, sizes, 2)};
    size_t count = 2;
    if (r->aligned) args[count++] = fidc_rw_arg(rw, 2);
    args[count++] = scale_arg;
    args[count++] = one;
    if (!image) return NULL;
    fidc_value *resampled = fidc_rw_emit(rw, r->op, args, count);
    const fidc_expr *flat[] = {fidc_expr_const(rw->program, out), fidc_expr_const(rw->program, in)};
    return fidc_rw_view(rw, resampled, flat, 2);
}

/* One dimension of x: moved to the end, multiplied, moved back. */
static fidc_value *resample_dim(fidc_rewriter *rw, const resampling *r, fidc_value *x, size_t dim, int64_t out) {
    int64_t axis = x->rank - (int64_t)r->dims + (int64_t)dim, in = fidc_size(x, (size_t)axis);
    bool same = in == out && scale_of(rw, r, dim) == 0;
    if (same) return x;
    fidc_value *matrix = resampling_matrix(rw, r, dim, in, out);
    fidc_value *moved = fidc_rw_transpose(rw, x, axis, -1);
    if (!matrix || !moved) return NULL;
    return fidc_rw_transpose(rw, fidc_rw_matmul(rw, moved, fidc_rw_transpose(rw, matrix, 0, 1)), axis, -1);
}

static fid_status resample(fidc_rewriter *rw, resampling r) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    if (fidc_is_constant(x)) return fidc_rw_keep(rw); /* folding computes it */
    bool whole = !fid_dtype_is_float((fid_dtype)x->dtype), picks = !r.aligned;
    if (whole && !picks && r.dims == 2) return fidc_rw_refuse(rw, "images of bytes are resampled with 16-bit weights, which upstream's kernels do not have; convert to a float dtype");
    if (whole && !picks) x = fidc_rw_cast(rw, x, FID_FLOAT32);
    for (size_t d = 0; d < r.dims && x; d++) {
        int64_t size = fidc_size(out, out->rank - r.dims + d), in = fidc_size(x, x->rank - r.dims + d);
        if (size < 0 || in < 0) return fidc_rw_keep(rw); /* reported as unsupported */
        x = resample_dim(rw, &r, x, d, size);
    }
    if (whole && !picks) x = fidc_rw_cast(rw, fidc_rw_op1(rw, FID_OPID_round, x), (fid_dtype)out->dtype);
    return fidc_rw_become(rw, x);
}

static fid_status linear1d(fidc_rewriter *rw) { return resample(rw, (resampling){FID_OPID_upsample_bilinear2d, true, 3, 1}); }
static fid_status linear3d(fidc_rewriter *rw) { return resample(rw, (resampling){FID_OPID_upsample_bilinear2d, true, 3, 3}); }
static fid_status bicubic(fidc_rewriter *rw) { return resample(rw, (resampling){FID_OPID_upsample_bicubic2d, true, 3, 2}); }
static fid_status bilinear_aa(fidc_rewriter *rw) { return resample(rw, (resampling){FID_OPID__upsample_bilinear2d_aa, true, 3, 2}); }
static fid_status bicubic_aa(fidc_rewriter *rw) { return resample(rw, (resampling){FID_OPID__upsample_bicubic2d_aa, true, 3, 2}); }
static fid_status nearest1d(fidc_rewriter *rw) { return resample(rw, (resampling){FID_OPID_upsample_nearest2d, false, 2, 1}); }
static fid_status nearest3d(fidc_rewriter *rw) { return resample(rw, (resampling){FID_OPID_upsample_nearest2d, false, 2, 3}); }
static fid_status exact1d(fidc_rewriter *rw) { return resample(rw, (resampling){FID_OPID__upsample_nearest_exact2d, false, 2, 1}); }
static fid_status exact2d(fidc_rewriter *rw) { return resample(rw, (resampling){FID_OPID__upsample_nearest_exact2d, false, 2, 2}); }
static fid_status exact3d(fidc_rewriter *rw) { return resample(rw, (resampling){FID_OPID__upsample_nearest_exact2d, false, 2, 3}); }

/* ---- Unfolding ---- */

/* Arguments of im2col and col2im from `first` on: kernel, dilation, padding, stride. */
typedef struct window { int64_t kernel[2], dilation[2], padding[2], stride[2], blocks[2]; int64_t height, width; } window;

/* `height`, `width` are those of the image before padding. */
static bool read_window(const fidc_rewriter *rw, uint32_t first, int64_t height, int64_t width, window *out) {
    bool known = fidc_rw_ints_spread(rw, first, 2, 1, out->kernel) && fidc_rw_ints_spread(rw, first + 1, 2, 1, out->dilation) &&
                 fidc_rw_ints_spread(rw, first + 2, 2, 0, out->padding) && fidc_rw_ints_spread(rw, first + 3, 2, 1, out->stride);
    if (!known || height < 0 || width < 0) return false;
    int64_t sizes[2] = {height, width};
    for (size_t d = 0; d < 2; d++) {
        if (out->dilation[d] > 1 << 20 || out->kernel[d] > 1 << 20 || out->kernel[d] < 1 || sizes[d] > 1 << 30) return false;
        int64_t reach = sizes[d] + 2 * out->padding[d] - out->dilation[d] * (out->kernel[d] - 1) - 1;
        if (reach < 0 || out->stride[d] < 1) return false;
        out->blocks[d] = reach / out->stride[d] + 1;
    }
    out->height = height + 2 * out->padding[0];
    out->width = width + 2 * out->padding[1];
    return true;
}

/* For every kernel position and block the place in the padded image, row-major. */
static fidc_value *window_places(fidc_rewriter *rw, const window *w) {
    const int64_t factors[] = {w->kernel[0], w->kernel[1], w->blocks[0], w->blocks[1]};
    size_t total;
    if (!fid_mul_sizes(factors, 4, &total) || total > (size_t)1 << 32) return NULL;
    int64_t count = (int64_t)total;
    int64_t *places = fid_arena_allocate_array(&rw->program->arena, (size_t)count, sizeof *places);
    if (!places) return NULL;
    int64_t at = 0;
    for (int64_t y = 0; y < w->kernel[0]; y++)
        for (int64_t x = 0; x < w->kernel[1]; x++)
            for (int64_t i = 0; i < w->blocks[0]; i++)
                for (int64_t j = 0; j < w->blocks[1]; j++) {
                    int64_t row = i * w->stride[0] + y * w->dilation[0], column = j * w->stride[1] + x * w->dilation[1];
                    places[at++] = row * w->width + column;
                }
    return fidc_value_constant(rw->graph, NULL, FID_INT64, &count, 1, places, (size_t)count * sizeof *places);
}

/* The image's rows and columns in one dimension; then the windows are one selection. */
static fid_status im2col(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    window w;
    if (!read_window(rw, 1, fidc_size(x, x->rank - 2u), fidc_size(x, x->rank - 1u), &w)) return fidc_rw_keep(rw);
    int64_t pads[] = {w.padding[1], w.padding[1], w.padding[0], w.padding[0]};
    fidc_value *padded = RW(rw, constant_pad_nd, fidc_v(x), fidc_ints(rw->program, pads, 4), fidc_i(0)), *places = window_places(rw, &w);
    const fidc_expr *flat[FID_MAX_RANK];
    memcpy(flat, x->sizes, (x->rank - 2u) * sizeof *flat);
    flat[x->rank - 2] = fidc_expr_const(rw->program, w.height * w.width);
    padded = fidc_rw_view(rw, padded, flat, x->rank - 1u);
    if (!padded || !places) return fidc_rw_become(rw, NULL);
    fidc_value *windows = RW(rw, index_select, fidc_v(padded), fidc_i(x->rank - 2), fidc_v(places));
    return fidc_rw_become(rw, fidc_rw_view(rw, windows, out->sizes, out->rank));
}

/* The other way: windows are added up in a zeroed padded image, whose middle is the result. */
static fid_status col2im(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    window w;
    int64_t size[2];
    if (!fidc_rw_ints_spread(rw, 1, 2, 1, size) || !read_window(rw, 2, size[0], size[1], &w)) return fidc_rw_keep(rw);
    size_t lead = out->rank - 2u;
    const fidc_expr *sizes[FID_MAX_RANK], *flat[FID_MAX_RANK];
    memcpy(sizes, out->sizes, lead * sizeof *sizes);
    memcpy(flat, out->sizes, lead * sizeof *flat);
    fidc_value *places = window_places(rw, &w);
    if (!places) return FID_OUT_OF_MEMORY;
    flat[lead] = places->sizes[0];
    fidc_value *windows = fidc_rw_view(rw, x, flat, lead + 1);
    flat[lead] = fidc_expr_const(rw->program, w.height * w.width);
    fidc_value *zeros = fidc_rw_full(rw, flat, lead + 1, (fid_dtype)x->dtype, fidc_i(0));
    if (!windows || !zeros) return fidc_rw_become(rw, NULL);
    fidc_value *index = fidc_rw_expand(rw, places, windows->sizes, windows->rank);
    if (!index) return fidc_rw_become(rw, NULL);
    fidc_value *sum = RW(rw, scatter_add, fidc_v(zeros), fidc_i((int64_t)lead), fidc_v(index), fidc_v(windows));
    sizes[lead] = fidc_expr_const(rw->program, w.height);
    sizes[lead + 1] = fidc_expr_const(rw->program, w.width);
    sum = fidc_rw_view(rw, sum, sizes, lead + 2);
    for (size_t d = 0; d < 2; d++) {
        if (w.padding[d]) sum = fidc_rw_slice(rw, sum, (int64_t)(lead + d), fidc_i(w.padding[d]), fidc_i(w.padding[d] + size[d]));
    }
    return fidc_rw_become(rw, sum);
}

/* (.., groups, channels / groups, ..) with both swapped. */
static fid_status channel_shuffle(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    int64_t groups = fidc_rw_int(rw, 1, 1), channels = fidc_size(x, 1), dims[FID_MAX_RANK];
    if (channels < 0 || groups < 1 || x->rank == FID_MAX_RANK) return fidc_rw_keep(rw);
    const fidc_expr *sizes[FID_MAX_RANK + 1];
    sizes[0] = x->sizes[0];
    sizes[1] = fidc_expr_const(rw->program, groups);
    sizes[2] = fidc_expr_const(rw->program, channels / groups);
    memcpy(sizes + 3, x->sizes + 2, (x->rank - 2u) * sizeof *sizes);
    for (size_t d = 0; d <= x->rank; d++) dims[d] = d == 1 ? 2 : d == 2 ? 1 : (int64_t)d;
    fidc_value *split = fidc_rw_view(rw, x, sizes, x->rank + 1u);
    return fidc_rw_become(rw, fidc_rw_view(rw, fidc_rw_permute(rw, split, dims), x->sizes, x->rank));
}

/* Coordinates of the grid are constant; the transform is a product with (x, y, 1). */
static fid_status affine_grid(fidc_rewriter *rw) {
    fidc_value *theta = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    int64_t size[FID_MAX_RANK];
    size_t rank;
    if (!fidc_rw_ints(rw, 1, size, &rank) || rank != 4) return fidc_rw_keep(rw);
    bool corners = fidc_rw_bool(rw, 2, false);
    if (size[2] < 1 || size[3] < 1 || size[2] > 1 << 20 || size[3] > 1 << 20) return fidc_rw_keep(rw);
    size_t count = (size_t)(size[2] * size[3]);
    float *points = fid_arena_allocate_array(&rw->program->arena, count * 3, sizeof *points);
    if (!points) return FID_OUT_OF_MEMORY;
    for (int64_t i = 0; i < size[2] * size[3]; i++) {
        int64_t place[2] = {i % size[3], i / size[3]};
        for (size_t d = 0; d < 2; d++) {
            double n = (double)size[3 - d], k = (double)place[d];
            points[i * 3 + (int64_t)d] = (float)(corners ? (n > 1 ? 2 * k / (n - 1) - 1 : 0) : (2 * k + 1) / n - 1);
        }
        points[i * 3 + 2] = 1;
    }
    int64_t sizes[] = {(int64_t)count, 3};
    fidc_value *grid = fidc_value_constant(rw->graph, NULL, FID_FLOAT32, sizes, 2, points, count * 3 * sizeof *points);
    grid = fidc_rw_cast(rw, grid, (fid_dtype)theta->dtype);
    fidc_value *moved = fidc_rw_matmul(rw, grid, fidc_rw_transpose(rw, theta, 1, 2));
    return fidc_rw_become(rw, fidc_rw_view(rw, moved, out->sizes, out->rank));
}

static const fidc_rule_row rows[] = {
    {FID_OPID_upsample_linear1d_vec, linear1d},
    {FID_OPID_upsample_trilinear3d_vec, linear3d},
    {FID_OPID_upsample_bicubic2d_vec, bicubic},
    {FID_OPID__upsample_bilinear2d_aa_vec, bilinear_aa},
    {FID_OPID__upsample_bicubic2d_aa_vec, bicubic_aa},
    {FID_OPID_upsample_nearest1d_vec, nearest1d},
    {FID_OPID_upsample_nearest3d_vec, nearest3d},
    {FID_OPID__upsample_nearest_exact1d_vec, exact1d},
    {FID_OPID__upsample_nearest_exact2d_vec, exact2d},
    {FID_OPID__upsample_nearest_exact3d_vec, exact3d},
    {FID_OPID_im2col, im2col},
    {FID_OPID_col2im, col2im},
    {FID_OPID_channel_shuffle, channel_shuffle},
    {FID_OPID_affine_grid_generator, affine_grid},
};

void fidc_rules_add_portable_image(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
