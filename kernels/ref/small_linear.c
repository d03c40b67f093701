/* Reference kernels between pointwise and matrix work: outer and Kronecker products, traces, dot products, distances, slices renormed. */
#include "kernels/ref/complex_math.h"
#include "kernels/ref/elementwise.h"

/* ---- addr: beta * self + alpha * outer(vec1, vec2); with beta 0 self is not read, so that its NaN does not count ---- */

static fidk_element plus_outer(const fidk_element *in, fidk_elementwise *e) {
    fidk_element beta = e->extra[0], alpha = e->extra[1];
    if (e->form == FIDK_REAL) return fidk_real((beta.d == 0 ? 0 : beta.d * in[0].d) + alpha.d * in[1].d * in[2].d);
    return fidk_int(fidk_wrap_add(fidk_wrap_mul(beta.i, in[0].i), fidk_wrap_mul(alpha.i, fidk_wrap_mul(in[1].i, in[2].i))));
}

static fid_status run_addr(fid_call *call) {
    fidk_elementwise e = fidk_elementwise_begin(call, fid_result_type(call, 0, 3));
    const fid_tensor *vec1 = fid_arg_tensor(call, 1);
    int64_t sizes[2] = {vec1->sizes[0], 1}, strides[2] = {vec1->strides[0], 1};
    fid_tensor column = *vec1; /* (n) as (n, 1) */
    column.sizes = sizes;
    column.strides = strides;
    column.rank = 2;
    e.extra[0] = fidk_number(call->args[3], fidk_wide(e.compute));
    e.extra[1] = fidk_number(call->args[4], fidk_wide(e.compute));
    fidk_operand_add(&e, 0, e.compute);
    fidk_operand_add(&e, 1, e.compute);
    fidk_operand_add(&e, 2, e.compute);
    e.operands[1].tensor = &column;
    return fidk_elementwise_run(&e, plus_outer);
}
const fid_kernel fid_ref_addr = {.run = run_addr};

/* ---- trace ---- */

static fid_status run_trace(fid_call *call) {
    if (fid_dtype_is_complex((fid_dtype)fid_out_tensor(call, 0)->dtype)) return fidk_refuse_complex(call);
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    int64_t n = self->sizes[0] < self->sizes[1] ? self->sizes[0] : self->sizes[1], step = self->strides[0] + self->strides[1];
    double real = 0;
    int64_t integer = 0;
    bool is_real = fidk_form_of((fid_dtype)self->dtype) == FIDK_REAL;
    for (int64_t i = 0; i < n; i++) {
        if (is_real) real += fidk_get_real(self, i * step);
        else integer = fidk_wrap_add(integer, fidk_get_int(self, i * step));
    }
    if (is_real) fidk_set_real(out, 0, real);
    else fidk_set_int(out, 0, integer);
    return FID_OK;
}
const fid_kernel fid_ref_trace = {.run = run_trace};

/* ---- Norms: adding up sizes, and what becomes of the sum ---- */

static double norm_add(double total, double size, double p) {
    if (isinf(p)) return p > 0 ? fidk_max(total, size) : fidk_min(total, size);
    return total + (p == 0 ? size != 0 : p == 1 ? size : p == 2 ? size * size : pow(size, p));
}

static double norm_start(double p) { return p == -INFINITY ? INFINITY : 0; }

static double norm_end(double total, double p) {
    if (isinf(p) || p == 0 || p == 1) return total;
    return p == 2 ? sqrt(total) : pow(total, 1 / p);
}

static fid_status run_dist(fid_call *call) {
    if (fid_dtype_is_complex((fid_dtype)fid_arg_tensor(call, 0)->dtype)) return fidk_refuse_complex(call);
    const fid_tensor *self = fid_arg_tensor(call, 0), *other = fid_arg_tensor(call, 1);
    double p = fid_arg_double(call, 2), total = norm_start(p);
    fid_meta both = fid_meta_of(self);
    FID_TRY(fid_meta_broadcast(call, &both, other));
    fidk_walk walk;
    fidk_walk_begin(&walk, both.sizes, both.rank);
    fidk_walk_add(&walk, self);
    fidk_walk_add(&walk, other);
    if (!walk.left) total = 0;
    FIDK_WALK(&walk) total = norm_add(total, fabs(fidk_get_real(self, walk.at[0]) - fidk_get_real(other, walk.at[1])), p);
    fidk_set_real(fid_out_tensor(call, 0), 0, norm_end(total, p));
    return FID_OK;
}
const fid_kernel fid_ref_dist = {.run = run_dist};

/* Each slice along `dim` whose norm exceeds the limit is scaled down to it. */
static void renorm_slice(const fid_tensor *self, const fid_tensor *out, size_t dim, int64_t index, double p, double limit) {
    int64_t sizes[FID_MAX_RANK], shift = index * self->strides[dim], out_shift = index * out->strides[dim];
    double total = norm_start(p);
    fidk_walk walk;
    memcpy(sizes, self->sizes, self->rank * sizeof sizes[0]);
    sizes[dim] = 1;
    fidk_walk_begin(&walk, sizes, self->rank);
    fidk_walk_add_strides(&walk, self->strides);
    fidk_walk_add_strides(&walk, out->strides);
    fidk_walk again = walk;
    FIDK_WALK(&walk) total = norm_add(total, fabs(fidk_get_real(self, shift + walk.at[0])), p);
    double norm = norm_end(total, p), scale = norm > limit ? limit / (norm + 1e-7) : 1;
    FIDK_WALK(&again) fidk_set_real(out, out_shift + again.at[1], fidk_get_real(self, shift + again.at[0]) * scale);
}

static fid_status run_renorm(fid_call *call) {
    if (fid_dtype_is_complex((fid_dtype)fid_out_tensor(call, 0)->dtype)) return fidk_refuse_complex(call);
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), self->rank, &dim));
    for (int64_t i = 0; i < self->sizes[dim]; i++) {
        renorm_slice(self, out, dim, i, fid_arg_double(call, 1), fid_arg_double(call, 3));
    }
    return FID_OK;
}
const fid_kernel fid_ref_renorm = {.run = run_renorm};

/* ---- kron: out[i] = self[i / n] * other[i % n] in each dimension, n the size of other ---- */

static fid_status run_kron(fid_call *call) {
    if (fid_dtype_is_complex((fid_dtype)fid_out_tensor(call, 0)->dtype)) return fidk_refuse_complex(call);
    const fid_tensor *self = fid_arg_tensor(call, 0), *other = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    fid_dtype dtype = (fid_dtype)out->dtype;
    fidk_walk walk;
    fidk_walk_begin(&walk, out->sizes, out->rank);
    fidk_walk_add(&walk, out);
    FIDK_WALK(&walk) {
        int64_t a = 0, b = 0;
        for (size_t d = 0; d < out->rank; d++) {
            size_t back = out->rank - d; /* from the last dimension */
            int64_t n = back <= other->rank ? other->sizes[other->rank - back] : 1;
            if (back <= self->rank) a += walk.index[d] / n * self->strides[self->rank - back];
            if (back <= other->rank) b += walk.index[d] % n * other->strides[other->rank - back];
        }
        fidk_element x = fidk_convert(fidk_load((fid_dtype)self->dtype, self->data, a), (fid_dtype)self->dtype, dtype);
        fidk_element y = fidk_convert(fidk_load((fid_dtype)other->dtype, other->data, b), (fid_dtype)other->dtype, dtype);
        bool real = fidk_form_of(dtype) == FIDK_REAL;
        fidk_store(dtype, out->data, walk.at[0], real ? fidk_real(x.d * y.d) : fidk_int(fidk_wrap_mul(x.i, y.i)));
    }
    return FID_OK;
}
const fid_kernel fid_ref_kron = {.run = run_kron};

/* ---- linalg_vecdot: sums of products along a dimension, the rest broadcast ---- */

static fid_status run_linalg_vecdot(fid_call *call) {
    if (fid_dtype_is_complex((fid_dtype)fid_out_tensor(call, 0)->dtype)) return fidk_refuse_complex(call);
    const fid_tensor *x = fid_arg_tensor(call, 0), *y = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    fid_meta both = fid_meta_of(x);
    size_t dim, kept = 0;
    FID_TRY(fid_meta_broadcast(call, &both, y));
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), both.rank, &dim));
    int64_t size = both.sizes[dim], out_strides[FID_MAX_RANK] = {0};
    for (size_t d = 0; d < both.rank; d++) out_strides[d] = d == dim ? 0 : out->strides[kept++];
    fidk_walk walk;
    fidk_walk_begin(&walk, both.sizes, both.rank);
    fidk_walk_add(&walk, x);
    fidk_walk_add(&walk, y);
    int64_t x_step = walk.strides[0][dim], y_step = walk.strides[1][dim];
    both.sizes[dim] = 1;
    fidk_walk_begin(&walk, both.sizes, both.rank);
    fidk_walk_add(&walk, x);
    fidk_walk_add(&walk, y);
    fidk_walk_add_strides(&walk, out_strides);
    FIDK_WALK(&walk) {
        double total = 0;
        for (int64_t i = 0; i < size; i++) total += fidk_get_real(x, walk.at[0] + i * x_step) * fidk_get_real(y, walk.at[1] + i * y_step);
        fidk_set_real(out, walk.at[2], total);
    }
    return FID_OK;
}
const fid_kernel fid_ref_linalg_vecdot = {.run = run_linalg_vecdot};

/* ---- linalg_vander: x to the powers 0, 1, ..., along a new last dimension ---- */

static fidk_element next_power(fid_dtype dtype, fidk_element power, fidk_element x) {
    switch (fidk_form_of(dtype)) {
    case FIDK_REAL: return fidk_real(power.d * x.d);
    case FIDK_COMPLEX: return (fidk_element){.c = fidk_complex_mul(power.c, x.c)};
    default: return fidk_int(fidk_wrap_mul(power.i, x.i));
    }
}

static fid_status run_linalg_vander(fid_call *call) {
    const fid_tensor *x = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    fid_dtype dtype = (fid_dtype)out->dtype, from = (fid_dtype)x->dtype;
    int64_t count = out->sizes[out->rank - 1], step = out->strides[out->rank - 1];
    fidk_walk walk;
    fidk_walk_begin(&walk, x->sizes, x->rank);
    fidk_walk_add(&walk, x);
    fidk_walk_add_strides(&walk, out->strides);
    FIDK_WALK(&walk) {
        fidk_element power = fidk_convert(fidk_int(1), FID_INT64, dtype), base = fidk_convert(fidk_load(from, x->data, walk.at[0]), from, dtype);
        for (int64_t i = 0; i < count; i++, power = next_power(dtype, power, base)) fidk_store(dtype, out->data, walk.at[1] + i * step, power);
    }
    return FID_OK;
}
const fid_kernel fid_ref_linalg_vander = {.run = run_linalg_vander};
