/* Shapes of matrix products: results are row-major, operands must have one dtype. */
#include "ops/shape.h"

static fid_status same_dtype(const fid_call *call, const fid_tensor *a, const fid_tensor *b) {
    if (a->dtype == b->dtype) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_TYPE, "%s: operands are %s and %s; they must be the same", call->name,
                    fid_dtype_name((fid_dtype)a->dtype), fid_dtype_name((fid_dtype)b->dtype));
}

static fid_status no_product(const fid_call *call, const fid_tensor *a, const fid_tensor *b) {
    char left[120], right[120];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: shapes %s and %s cannot be multiplied", call->name,
                    fid_shape_text(a->sizes, a->rank, left, sizeof left),
                    fid_shape_text(b->sizes, b->rank, right, sizeof right));
}

static fid_status need_rank(const fid_call *call, const fid_tensor *t, size_t rank) {
    if (t->rank == rank) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: an operand has rank %d, expected %zu", call->name, t->rank, rank);
}

/* (m, k) x (k, n), with `rank` 3 for a batch in front of both. */
static fid_status product(const fid_call *call, uint32_t first, size_t rank, fid_meta *out) {
    const fid_tensor *a = fid_arg_tensor(call, first), *b = fid_arg_tensor(call, first + 1);
    FID_TRY(need_rank(call, a, rank));
    FID_TRY(need_rank(call, b, rank));
    FID_TRY(same_dtype(call, a, b));
    if (a->sizes[rank - 1] != b->sizes[rank - 2] || (rank == 3 && a->sizes[0] != b->sizes[0])) return no_product(call, a, b);
    int64_t sizes[3] = {a->sizes[0], a->sizes[1], b->sizes[rank - 1]};
    sizes[rank - 1] = b->sizes[rank - 1];
    fid_meta_set(out, (fid_dtype)a->dtype, sizes, rank);
    return FID_OK;
}

/* The added tensor, argument 0, must broadcast to the product. */
static fid_status add_product(const fid_call *call, size_t rank, fid_meta *out) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    FID_TRY(product(call, 1, rank, out));
    FID_TRY(same_dtype(call, self, fid_arg_tensor(call, 1)));
    bool fits = self->rank <= rank;
    for (size_t d = 0; fits && d < self->rank; d++)
        fits = self->sizes[d] == 1 || self->sizes[d] == out->sizes[rank - self->rank + d];
    if (fits) return FID_OK;
    char left[120], right[120];
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: shape %s does not broadcast to the product's %s", call->name,
                    fid_shape_text(self->sizes, self->rank, left, sizeof left), fid_shape_text(out->sizes, rank, right, sizeof right));
}

fid_status fid_shape_mm(const fid_call *call, fid_meta *outs, size_t out_count) { return (void)out_count, product(call, 0, 2, outs); }
fid_status fid_shape_bmm(const fid_call *call, fid_meta *outs, size_t out_count) { return (void)out_count, product(call, 0, 3, outs); }
fid_status fid_shape_addmm(const fid_call *call, fid_meta *outs, size_t out_count) { return (void)out_count, add_product(call, 2, outs); }
fid_status fid_shape_baddbmm(const fid_call *call, fid_meta *outs, size_t out_count) { return (void)out_count, add_product(call, 3, outs); }

fid_status fid_shape_mv(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *a = fid_arg_tensor(call, 0), *x = fid_arg_tensor(call, 1);
    (void)out_count;
    FID_TRY(need_rank(call, a, 2));
    FID_TRY(need_rank(call, x, 1));
    FID_TRY(same_dtype(call, a, x));
    if (a->sizes[1] != x->sizes[0]) return no_product(call, a, x);
    fid_meta_set(outs, (fid_dtype)a->dtype, a->sizes, 1);
    return FID_OK;
}

fid_status fid_shape_dot(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *a = fid_arg_tensor(call, 0), *b = fid_arg_tensor(call, 1);
    (void)out_count;
    FID_TRY(need_rank(call, a, 1));
    FID_TRY(need_rank(call, b, 1));
    FID_TRY(same_dtype(call, a, b));
    if (a->sizes[0] != b->sizes[0]) return no_product(call, a, b);
    fid_meta_set(outs, (fid_dtype)a->dtype, NULL, 0);
    return FID_OK;
}

fid_status fid_shape_outer(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *a = fid_arg_tensor(call, 0), *b = fid_arg_tensor(call, 1);
    (void)out_count;
    FID_TRY(need_rank(call, a, 1));
    FID_TRY(need_rank(call, b, 1));
    fid_dtype dtype = fid_dtype_promote((fid_dtype)a->dtype, (fid_dtype)b->dtype);
    if (dtype == FID_DTYPE_NONE) return same_dtype(call, a, b);
    fid_meta_set(outs, dtype, (int64_t[]){a->sizes[0], b->sizes[0]}, 2);
    return FID_OK;
}

/* Leading dimensions broadcast; a vector on either side loses its dimension. */
fid_status fid_shape_matmul(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *a = fid_arg_tensor(call, 0), *b = fid_arg_tensor(call, 1);
    (void)out_count;
    FID_TRY(same_dtype(call, a, b));
    if (a->rank == 0 || b->rank == 0 || a->sizes[a->rank - 1] != b->sizes[b->rank == 1 ? 0 : b->rank - 2]) return no_product(call, a, b);
    fid_meta lead = {.rank = 0};
    fid_tensor leading = *b;
    leading.rank = (uint8_t)(b->rank > 2 ? b->rank - 2 : 0);
    fid_meta_set(&lead, (fid_dtype)a->dtype, a->sizes, a->rank > 2 ? a->rank - 2u : 0);
    FID_TRY(fid_meta_broadcast(call, &lead, &leading));
    size_t rank = lead.rank;
    if (a->rank > 1) lead.sizes[rank++] = a->sizes[a->rank - 2];
    if (b->rank > 1) lead.sizes[rank++] = b->sizes[b->rank - 1];
    fid_meta_set(outs, (fid_dtype)a->dtype, lead.sizes, rank);
    return FID_OK;
}

fid_status fid_shape_linear(const fid_call *call, fid_meta *outs, size_t out_count) {
    const fid_tensor *input = fid_arg_tensor(call, 0), *weight = fid_arg_tensor(call, 1), *bias = fid_arg_tensor(call, 2);
    (void)out_count;
    FID_TRY(same_dtype(call, input, weight));
    if (bias) FID_TRY(same_dtype(call, input, bias));
    bool fits = input->rank >= 1 && (weight->rank == 1 || weight->rank == 2);
    if (!fits || input->sizes[input->rank - 1] != weight->sizes[weight->rank - 1]) return no_product(call, input, weight);
    int64_t filters = weight->rank == 2 ? weight->sizes[0] : 1;
    if (bias && (bias->rank > (weight->rank == 2) || (bias->rank == 1 && bias->sizes[0] != filters && bias->sizes[0] != 1))) {
        return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the bias does not have shape [%lld]", call->name, (long long)filters);
    }
    outs->rank = 0;
    fid_meta_set(outs, (fid_dtype)input->dtype, input->sizes, input->rank);
    if (weight->rank == 2) outs->sizes[input->rank - 1] = filters;
    else outs->rank--;
    return FID_OK;
}
