/* Pooling of regions (torchvision): roi_align, roi_pool and their position-sensitive forms, where each cell reads channels of its own. */
#include "kernels/ref/dense.h"

typedef struct pooling {
    const double *input, *regions;
    int64_t images, channels, height, width; /* of the input */
    int64_t rows, columns;                   /* cells of a region */
    int64_t ratio;                           /* samples along each side of a cell; 0: as many as it is elements long */
    double scale, offset;
    bool at_least_one; /* a region is at least one element wide */
    bool wide;         /* positions in double; else in float32 */
} pooling;

/* One cell: its upper left corner and size in elements. */
typedef struct cell { double y, x, height, width; int64_t down, across; } cell;

static double narrow(const pooling *p, double x) { return p->wide ? x : (double)(float)x; }

static fid_status begin(fid_call *call, pooling *p) {
    const fid_tensor *input = fid_arg_tensor(call, 0);
    *p = (pooling){.images = input->sizes[0], .channels = input->sizes[1], .height = input->sizes[2], .width = input->sizes[3],
                   .rows = fid_arg_int(call, 3), .columns = fid_arg_int(call, 4), .wide = input->dtype == FID_FLOAT64};
    p->scale = narrow(p, fid_arg_double(call, 2));
    FIDK_NEED(p->input = fidk_dense_load(call, input));
    FIDK_NEED(p->regions = fidk_dense_load(call, fid_arg_tensor(call, 1)));
    return FID_OK;
}

/* The image that a region lies in; regions come from data, so the number is checked. */
static fid_status image_of(const fid_call *call, const pooling *p, int64_t region, int64_t *out_image) {
    double image = p->regions[5 * region];
    if (!(image >= 0 && image < (double)p->images))
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: region %lld lies in image %g of %lld", call->name, (long long)region, image,
                        (long long)p->images);
    *out_image = (int64_t)image;
    return FID_OK;
}

static const double *plane(const pooling *p, int64_t image, int64_t channel) {
    return p->input + (image * p->channels + channel) * p->height * p->width;
}

/* ---- Averages of samples ---- */

/* Samples along one side of a cell; a region of nonsense (NaN, huge) is not allowed to run forever. */
static int64_t samples(const pooling *p, double length, int64_t limit) {
    if (p->ratio > 0) return p->ratio;
    double count = ceil(length);
    return count > 0 ? (int64_t)fmin(count, (double)limit) : 0;
}

static cell cell_of(const pooling *p, const double *region, int64_t row, int64_t column) {
    double x = narrow(p, narrow(p, region[1] * p->scale) - p->offset), y = narrow(p, narrow(p, region[2] * p->scale) - p->offset);
    double width = narrow(p, narrow(p, narrow(p, region[3] * p->scale) - p->offset) - x);
    double height = narrow(p, narrow(p, narrow(p, region[4] * p->scale) - p->offset) - y);
    if (p->at_least_one) width = fmax(width, 1), height = fmax(height, 1);
    cell c = {.height = narrow(p, height / (double)p->rows), .width = narrow(p, width / (double)p->columns)};
    c.y = narrow(p, y + narrow(p, (double)row * c.height)), c.x = narrow(p, x + narrow(p, (double)column * c.width));
    c.down = samples(p, c.height, 4 * (p->height + 1)), c.across = samples(p, c.width, 4 * (p->width + 1));
    return c;
}

/* Clamps a position and gives the two elements around it. */
static double between(double at, int64_t size, int64_t *low, int64_t *high) {
    at = fmax(at, 0);
    *low = (int64_t)at;
    if (*low < size - 1) {
        *high = *low + 1;
        return at - (double)*low;
    }
    *low = *high = size - 1;
    return 0;
}

/* A plane at a position between elements; zero more than an element outside, and where the position is NaN. */
static double bilinear(const pooling *p, const double *image, double y, double x) {
    int64_t top, bottom, left, right;
    if (!(y >= -1 && y <= (double)p->height && x >= -1 && x <= (double)p->width)) return 0;
    double v = between(y, p->height, &top, &bottom), h = between(x, p->width, &left, &right);
    const double *upper = image + top * p->width, *lower = image + bottom * p->width;
    return (1 - v) * ((1 - h) * upper[left] + h * upper[right]) + v * ((1 - h) * lower[left] + h * lower[right]);
}

static double average(const pooling *p, const double *image, const cell *c, double count) {
    double sum = 0;
    for (int64_t i = 0; i < c->down; i++)
        for (int64_t j = 0; j < c->across; j++)
            sum += bilinear(p, image, narrow(p, c->y + narrow(p, ((double)i + 0.5) * c->height / (double)c->down)),
                            narrow(p, c->x + narrow(p, ((double)j + 0.5) * c->width / (double)c->across)));
    return sum / count;
}

/* ---- The four operators ---- */

/* What a cell of an output channel is: reads `source` of the region's image, writes value and place. */
typedef void pool_cell(const pooling *p, const double *region, const double *source, int64_t row, int64_t column, double *value, int64_t *place);

/* Runs over all cells. `sensitive`: the channel read depends on the cell, and the second result is its number. */
static fid_status run_cells(fid_call *call, const pooling *p, bool sensitive, pool_cell *pool) {
    const fid_tensor *out = fid_out_tensor(call, 0), *second = call->arg_count - call->output_index > 1 ? fid_out_tensor(call, 1) : NULL;
    size_t at = 0, count = fid_tensor_numel(out);
    int64_t *places, image = 0;
    double *values;
    FIDK_NEED(values = fidk_doubles(call, count));
    FIDK_NEED(places = fidk_ints(call, count));
    for (int64_t r = 0; r < out->sizes[0]; r++) {
        FID_TRY(image_of(call, p, r, &image));
        for (int64_t c = 0; c < out->sizes[1]; c++)
            for (int64_t i = 0; i < p->rows; i++)
                for (int64_t j = 0; j < p->columns; j++, at++) {
                    int64_t channel = sensitive ? (c * p->rows + i) * p->columns + j : c;
                    pool(p, p->regions + 5 * r, plane(p, image, channel), i, j, values + at, places + at);
                    if (sensitive) places[at] = channel;
                }
    }
    fidk_dense_store(out, values);
    if (second) fidk_dense_store_int(second, places);
    return FID_OK;
}

static void align_cell(const pooling *p, const double *region, const double *source, int64_t row, int64_t column, double *value, int64_t *place) {
    (void)place;
    cell c = cell_of(p, region, row, column);
    *value = average(p, source, &c, fmax((double)(c.down * c.across), 1));
}

/* No sample at all divides zero by zero, as in torchvision. */
static void align_cell_sensitive(const pooling *p, const double *region, const double *source, int64_t row, int64_t column, double *value, int64_t *place) {
    (void)place;
    cell c = cell_of(p, region, row, column);
    *value = average(p, source, &c, (double)(c.down * c.across));
}

static int64_t clamped(double x, int64_t low, int64_t high) {
    return !(x > (double)low) ? low : x >= (double)high ? high : (int64_t)x;
}

/* Elements [begin, end) that a cell covers along one side: region [start, start + length) in `cells` parts. */
static void covered(const pooling *p, double start, double length, int64_t cells, int64_t k, int64_t size, int64_t *out_begin, int64_t *out_end) {
    double part = narrow(p, length / (double)cells);
    *out_begin = clamped(floor(narrow(p, (double)k * part)) + start, 0, size);
    *out_end = clamped(ceil(narrow(p, (double)(k + 1) * part)) + start, 0, size);
}

typedef struct block { int64_t top, bottom, left, right; } block;

static double away(double x) { return x < 0 ? -floor(0.5 - x) : floor(x + 0.5); }

/* Whole elements: corners are rounded; `inclusive`: the last element belongs to the region. Without it the input's last row and
 * column are never read: that is what torchvision's position-sensitive pooling does, and trained detectors rest on it. */
static block block_of(const pooling *p, const double *region, int64_t row, int64_t column, bool inclusive) {
    double x = away(narrow(p, region[1] * p->scale)), y = away(narrow(p, region[2] * p->scale)), more = inclusive ? 1 : 0;
    double width = fmax(away(narrow(p, region[3] * p->scale)) - x + more, 1), height = fmax(away(narrow(p, region[4] * p->scale)) - y + more, 1);
    block b;
    covered(p, y, height, p->rows, row, p->height - (inclusive ? 0 : 1), &b.top, &b.bottom);
    covered(p, x, width, p->columns, column, p->width - (inclusive ? 0 : 1), &b.left, &b.right);
    return b;
}

static void largest(const pooling *p, const double *region, const double *source, int64_t row, int64_t column, double *value, int64_t *place) {
    block b = block_of(p, region, row, column, true);
    bool empty = b.bottom <= b.top || b.right <= b.left;
    *value = empty ? 0 : p->wide ? -0x1.fffffffffffffp1023 : -0x1.fffffep127;
    *place = -1;
    for (int64_t i = b.top; i < b.bottom; i++)
        for (int64_t j = b.left; j < b.right; j++)
            if (source[i * p->width + j] > *value) *value = source[*place = i * p->width + j];
}

static void mean_cell(const pooling *p, const double *region, const double *source, int64_t row, int64_t column, double *value, int64_t *place) {
    (void)place;
    block b = block_of(p, region, row, column, false);
    double sum = 0;
    for (int64_t i = b.top; i < b.bottom; i++)
        for (int64_t j = b.left; j < b.right; j++) sum += source[i * p->width + j];
    *value = b.bottom <= b.top || b.right <= b.left ? 0 : sum / (double)((b.bottom - b.top) * (b.right - b.left));
}

static fid_status run_roi_align(fid_call *call) {
    pooling p;
    FID_TRY(begin(call, &p));
    p.ratio = fid_arg_int(call, 5), p.offset = fid_arg_bool(call, 6) ? 0.5 : 0, p.at_least_one = !fid_arg_bool(call, 6);
    return run_cells(call, &p, false, align_cell);
}

static fid_status run_ps_roi_align(fid_call *call) {
    pooling p;
    FID_TRY(begin(call, &p));
    p.ratio = fid_arg_int(call, 5), p.offset = 0.5;
    return run_cells(call, &p, true, align_cell_sensitive);
}

static fid_status run_roi_pool(fid_call *call) {
    pooling p;
    FID_TRY(begin(call, &p));
    return run_cells(call, &p, false, largest);
}

static fid_status run_ps_roi_pool(fid_call *call) {
    pooling p;
    FID_TRY(begin(call, &p));
    return run_cells(call, &p, true, mean_cell);
}

const fid_kernel fid_ref_roi_align = {.run = run_roi_align};
const fid_kernel fid_ref_roi_pool = {.run = run_roi_pool};
const fid_kernel fid_ref_ps_roi_align = {.run = run_ps_roi_align};
const fid_kernel fid_ref_ps_roi_pool = {.run = run_ps_roi_pool};
