/* Reference kernels of the trapezoidal rule along a dimension, with a constant step or with the places x of the values y. */
#include "kernels/ref/elementwise.h"

/* One row: values from y, and places from x unless that is NULL. */
typedef struct trapezoids {
    const fid_tensor *y, *x;
    int64_t y_at, x_at, y_step, x_step;
    double dx;
    fid_dtype dtype; /* of y and x together */
} trapezoids;

/* Differences, sums and products of whole numbers wrap in their dtype. */
static double wrapped(fid_dtype dtype, double value) {
    bool whole = !fid_dtype_is_float(dtype) && fabs(value) < 9.2e18;
    return whole ? (double)fidk_convert(fidk_int((int64_t)value), FID_INT64, dtype).i : value;
}

static double piece(const trapezoids *t, int64_t i) {
    double both = fidk_get_real(t->y, t->y_at + i * t->y_step) + fidk_get_real(t->y, t->y_at + (i + 1) * t->y_step);
    if (!t->x) return both * t->dx / 2;
    double width = fidk_get_real(t->x, t->x_at + (i + 1) * t->x_step) - fidk_get_real(t->x, t->x_at + i * t->x_step);
    return wrapped(t->dtype, wrapped((fid_dtype)t->y->dtype, both) * wrapped((fid_dtype)t->x->dtype, width)) / 2;
}

static void integrate(const trapezoids *t, int64_t pieces, const fid_tensor *out, int64_t at, int64_t step, bool cumulative) {
    double total = 0;
    for (int64_t i = 0; i < pieces; i++) {
        total += piece(t, i);
        if (cumulative) fidk_set_real(out, at + i * step, total);
    }
    if (!cumulative) fidk_set_real(out, at, total);
}

/* Strides of x over the dimensions of y: a vector lies along `dim`. */
static void places_strides(const fid_tensor *y, const fid_tensor *x, size_t dim, int64_t *strides) {
    size_t skipped = y->rank - x->rank;
    for (size_t d = 0; d < y->rank; d++) {
        if (x->rank == 1) strides[d] = d == dim ? x->strides[0] : 0;
        else strides[d] = d < skipped || x->sizes[d - skipped] == 1 ? 0 : x->strides[d - skipped];
    }
}

static fid_status trapezoid(fid_call *call, bool has_x, bool cumulative) {
    if (fid_dtype_is_complex((fid_dtype)fid_out_tensor(call, 0)->dtype)) return fidk_refuse_complex(call);
    const fid_tensor *y = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    trapezoids t = {.y = y, .x = has_x ? fid_arg_tensor(call, 1) : NULL, .dx = has_x ? 0 : fid_arg_double(call, 1)};
    if (has_x) t.dtype = fid_result_type(call, 0, 2);
    int64_t sizes[FID_MAX_RANK], x_strides[FID_MAX_RANK] = {0}, out_strides[FID_MAX_RANK];
    size_t dim, kept = 0;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), y->rank, &dim));
    for (size_t d = 0; d < y->rank; d++) {
        sizes[d] = d == dim ? 1 : y->sizes[d];
        out_strides[d] = cumulative ? out->strides[d] : d == dim ? 0 : out->strides[kept++];
    }
    if (t.x) places_strides(y, t.x, dim, x_strides);
    t.y_step = y->strides[dim];
    t.x_step = x_strides[dim];
    fidk_walk walk;
    fidk_walk_begin(&walk, sizes, y->rank);
    fidk_walk_add_strides(&walk, y->strides);
    fidk_walk_add_strides(&walk, x_strides);
    fidk_walk_add_strides(&walk, out_strides);
    FIDK_WALK(&walk) {
        t.y_at = walk.at[0];
        t.x_at = walk.at[1];
        integrate(&t, y->sizes[dim] - 1, out, walk.at[2], out_strides[dim], cumulative);
    }
    return FID_OK;
}

FIDK_KERNEL(trapezoid_x, trapezoid(call, true, false))
FIDK_KERNEL(trapezoid_dx, trapezoid(call, false, false))
FIDK_KERNEL(trapz_x, trapezoid(call, true, false))
FIDK_KERNEL(trapz_dx, trapezoid(call, false, false))
FIDK_KERNEL(cumulative_trapezoid_x, trapezoid(call, true, true))
FIDK_KERNEL(cumulative_trapezoid_dx, trapezoid(call, false, true))
