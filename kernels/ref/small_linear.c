/* Reference kernels between pointwise and matrix work: outer products added, traces, distances of two tensors, slices renormed. */
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
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), self->rank, &dim));
    for (int64_t i = 0; i < self->sizes[dim]; i++) {
        renorm_slice(self, out, dim, i, fid_arg_double(call, 1), fid_arg_double(call, 3));
    }
    return FID_OK;
}
const fid_kernel fid_ref_renorm = {.run = run_renorm};
