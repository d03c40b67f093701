/* Cross products of vectors of three elements along one dimension: cross, linalg_cross. */
#include "kernels/ref/elements.h"

/* One element of a or b, converted to the result's dtype. */
static fidk_element component(const fid_tensor *t, fid_dtype dtype, int64_t at) {
    return fidk_convert(fidk_load((fid_dtype)t->dtype, t->data, at), (fid_dtype)t->dtype, dtype);
}

static fidk_element difference_of_products(fidk_form form, fidk_element a, fidk_element b, fidk_element c, fidk_element d) {
    if (form == FIDK_REAL) return fidk_real(a.d * b.d - c.d * d.d);
    if (form == FIDK_INTEGER) return fidk_int((int64_t)((uint64_t)a.i * (uint64_t)b.i - (uint64_t)c.i * (uint64_t)d.i));
    fid_complex128 x = a.c, y = b.c, z = c.c, w = d.c;
    return (fidk_element){.c = {x.re * y.re - x.im * y.im - (z.re * w.re - z.im * w.im),
                                x.re * y.im + x.im * y.re - (z.re * w.im + z.im * w.re)}};
}

/* out[k] = a[k + 1] b[k + 2] - a[k + 2] b[k + 1], indices modulo 3, for all positions of the other dimensions. */
static fid_status run_along(fid_call *call, size_t dim) {
    const fid_tensor *a = fid_arg_tensor(call, 0), *b = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    fid_dtype dtype = (fid_dtype)out->dtype;
    int64_t sizes[FID_MAX_RANK], sa = a->strides[dim], sb = b->strides[dim], so = out->strides[dim];
    memcpy(sizes, out->sizes, out->rank * sizeof sizes[0]);
    sizes[dim] = 1;
    fidk_walk walk;
    fidk_walk_begin(&walk, sizes, out->rank);
    fid_tensor first_a = *a, first_b = *b;
    int64_t a_sizes[FID_MAX_RANK], b_sizes[FID_MAX_RANK];
    memcpy(a_sizes, a->sizes, a->rank * sizeof a_sizes[0]);
    memcpy(b_sizes, b->sizes, b->rank * sizeof b_sizes[0]);
    a_sizes[dim] = b_sizes[dim] = 1;
    first_a.sizes = a_sizes, first_b.sizes = b_sizes;
    size_t wa = fidk_walk_add(&walk, &first_a), wb = fidk_walk_add(&walk, &first_b), wo = fidk_walk_add_strides(&walk, out->strides);
    FIDK_WALK(&walk) {
        fidk_element x[3], y[3];
        for (int64_t k = 0; k < 3; k++) {
            x[k] = component(a, dtype, walk.at[wa] + k * sa);
            y[k] = component(b, dtype, walk.at[wb] + k * sb);
        }
        for (int64_t k = 0; k < 3; k++) {
            int64_t next = (k + 1) % 3, last = (k + 2) % 3;
            fidk_store(dtype, out->data, walk.at[wo] + k * so,
                       difference_of_products(fidk_form_of(dtype), x[next], y[last], x[last], y[next]));
        }
    }
    return FID_OK;
}

static fid_status run_linalg_cross(fid_call *call) {
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), fid_arg_tensor(call, 0)->rank, &dim));
    return run_along(call, dim);
}

static fid_status run_cross(fid_call *call) {
    const fid_tensor *a = fid_arg_tensor(call, 0);
    if (!fid_arg_is_none(call, 2)) return run_linalg_cross(call);
    size_t dim = 0;
    while (dim + 1 < a->rank && a->sizes[dim] != 3) dim++;
    return run_along(call, dim);
}

const fid_kernel fid_ref_cross = {.run = run_cross};
const fid_kernel fid_ref_linalg_cross = {.run = run_linalg_cross};
