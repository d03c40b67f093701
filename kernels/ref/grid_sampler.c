/* Sampling an image or volume at the points of a grid (grid_sampler_2d, grid_sampler_3d), and making the grid of an affine map
 * (affine_grid_generator). Grid coordinates run from -1 to 1, last dimension first (x, y, z). */
#include "kernels/ref/dense.h"

enum { MODE_LINEAR = 0, MODE_NEAREST = 1, MODE_CUBIC = 2 };
enum { PAD_ZEROS = 0, PAD_BORDER = 1, PAD_REFLECTION = 2 };

typedef struct sampler {
    size_t spatial;
    int64_t size[3];     /* of the image, outermost first */
    int64_t mode, padding;
    bool align_corners, wide; /* wide: positions in double, as PyTorch does for float64; else in float32 */
    const double *plane; /* (size...) */
} sampler;

static double narrow(const sampler *s, double x) { return s->wide ? x : (double)(float)x; }

/* Position in [-1, 1] to position in elements. */
static double to_elements(const sampler *s, size_t d, double x) {
    double size = (double)s->size[d];
    if (s->align_corners) return narrow(s, narrow(s, (x + 1) / 2) * (size - 1));
    return narrow(s, (narrow(s, narrow(s, x + 1) * size) - 1) / 2);
}

/* Folds x back and forth into [low, low + span]. */
static double reflect(double x, double low, double span) {
    if (span <= 0) return 0;
    x = fabs(x - low);
    double extra = fmod(x, span), flips = floor(x / span);
    return fmod(flips, 2) == 0 ? low + extra : low + span - extra;
}

/* The position after padding; NaN becomes 0 where positions are clamped. */
static double pad_position(const sampler *s, size_t d, double x) {
    double last = (double)(s->size[d] - 1);
    if (s->padding == PAD_ZEROS) return x;
    if (s->padding == PAD_REFLECTION) x = s->align_corners ? reflect(x, 0, last) : reflect(x, -0.5, last + 1);
    return fmin(fmax(x, 0), last);
}

/* Offset of integral position `at` in the plane, or -1 outside. NaN and infinities are outside. */
static int64_t offset_at(const sampler *s, const double *at) {
    int64_t offset = 0;
    for (size_t d = 0; d < s->spatial; d++) {
        if (!(at[d] >= 0 && at[d] <= (double)(s->size[d] - 1))) return -1;
        offset = offset * s->size[d] + (int64_t)at[d];
    }
    return offset;
}

static double value_at(const sampler *s, const double *at) {
    int64_t offset = offset_at(s, at);
    return offset < 0 ? 0 : s->plane[offset];
}

static double sample_nearest(const sampler *s, const double *at) {
    double near[3];
    for (size_t d = 0; d < s->spatial; d++) near[d] = nearbyint(pad_position(s, d, to_elements(s, d, at[d])));
    return value_at(s, near);
}

static double sample_linear(const sampler *s, const double *at) {
    double low[3], rest[3], sum = 0;
    for (size_t d = 0; d < s->spatial; d++) {
        double x = pad_position(s, d, to_elements(s, d, at[d]));
        low[d] = floor(x), rest[d] = x - low[d];
    }
    for (size_t corner = 0; corner < (size_t)1 << s->spatial; corner++) {
        double point[3], weight = 1;
        for (size_t d = 0; d < s->spatial; d++) {
            size_t high = corner >> d & 1;
            point[d] = low[d] + (double)high;
            weight *= high ? rest[d] : 1 - rest[d];
        }
        if (offset_at(s, point) >= 0) sum += weight * value_at(s, point);
    }
    return sum;
}

/* Keys' cubic kernel with a = -0.75. */
static double cubic_weight(double x) {
    x = fabs(x);
    if (x < 1) return (1.25 * x - 2.25) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.75 : 0;
}

/* 4 x 4 taps, each padded by itself; two dimensions only. */
static double sample_cubic(const sampler *s, const double *at) {
    double y = to_elements(s, 0, at[0]), x = to_elements(s, 1, at[1]), sum = 0;
    for (int i = -1; i <= 2; i++)
        for (int j = -1; j <= 2; j++) {
            double row = floor(y) + i, column = floor(x) + j;
            double point[2] = {pad_position(s, 0, row), pad_position(s, 1, column)};
            sum += cubic_weight(y - row) * cubic_weight(x - column) * value_at(s, point);
        }
    return sum;
}

static double sample(const sampler *s, const double *at) {
    return s->mode == MODE_LINEAR ? sample_linear(s, at) : s->mode == MODE_NEAREST ? sample_nearest(s, at) : sample_cubic(s, at);
}

static fid_status run_grid_sampler(fid_call *call, size_t spatial) {
    const fid_tensor *input = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    sampler s = {.spatial = spatial, .mode = fid_arg_int(call, 2), .padding = fid_arg_int(call, 3),
                 .align_corners = fid_arg_bool(call, 4), .wide = input->dtype == FID_FLOAT64};
    memcpy(s.size, input->sizes + 2, spatial * sizeof s.size[0]);
    size_t batch = (size_t)out->sizes[0], channels = (size_t)out->sizes[1];
    size_t plane = fidk_product(s.size, spatial), points = fidk_product(out->sizes + 2, spatial);
    double *image, *grid, *result;
    FIDK_NEED(image = fidk_dense_load(call, input));
    FIDK_NEED(grid = fidk_dense_load(call, fid_arg_tensor(call, 1)));
    FIDK_NEED(result = fidk_doubles(call, fid_tensor_numel(out)));
    for (size_t p = 0; p < batch * points; p++) {
        double at[3];
        for (size_t d = 0; d < spatial; d++) at[d] = grid[p * spatial + spatial - 1 - d];
        for (size_t c = 0; c < channels; c++) {
            size_t target = p / points * channels + c;
            s.plane = image + target * plane;
            result[target * points + p % points] = sample(&s, at);
        }
    }
    fidk_dense_store(out, result);
    return FID_OK;
}

static fid_status grid_sampler_2d(fid_call *call) { return run_grid_sampler(call, 2); }
static fid_status grid_sampler_3d(fid_call *call) { return run_grid_sampler(call, 3); }

const fid_kernel fid_ref_grid_sampler_2d = {.run = grid_sampler_2d};
const fid_kernel fid_ref_grid_sampler_3d = {.run = grid_sampler_3d};

/* ---- Affine grids ---- */

/* Coordinate of element i of n: -1 and 1 are the centers of the outer elements, or (not aligned) their outer edges. */
static double coordinate(int64_t i, int64_t n, bool align_corners) {
    if (n < 2) return 0;
    double at = 2 * (double)i / (double)(n - 1) - 1;
    return align_corners ? at : at * (double)(n - 1) / (double)n;
}

/* grid[n, position..., k] = sum over j of theta[n, k, j] * (x, y, [z,] 1)[j]. */
static fid_status run_affine_grid_generator(fid_call *call) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    size_t spatial = out->rank - 2u;
    bool align_corners = fid_arg_bool(call, 2);
    int64_t index[FID_MAX_RANK] = {0};
    double *theta, *grid;
    FIDK_NEED(theta = fidk_dense_load(call, fid_arg_tensor(call, 0)));
    FIDK_NEED(grid = fidk_doubles(call, fid_tensor_numel(out)));
    if (fid_tensor_numel(out) == 0) return FID_OK;
    double *at = grid;
    do {
        for (size_t k = 0; k < spatial; k++) {
            const double *row = theta + ((size_t)index[0] * spatial + k) * (spatial + 1);
            double sum = row[spatial];
            for (size_t j = 0; j < spatial; j++) {
                size_t d = spatial - j; /* x is the last spatial dimension */
                sum += row[j] * coordinate(index[d], out->sizes[d], align_corners);
            }
            *at++ = sum;
        }
    } while (fidk_next_index(index, out->sizes, spatial + 1));
    fidk_dense_store(out, grid);
    return FID_OK;
}

const fid_kernel fid_ref_affine_grid_generator = {.run = run_affine_grid_generator};
