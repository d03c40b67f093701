/* Matrix products: mm, bmm, addmm, baddbmm, mv, dot, vdot, matmul, linear.
 *
 * All are C = beta * S + alpha * A B for matrices given by strides, repeated over batches. Float dtypes compute in double,
 * integers in int64_t with wrap-around. */
#include "kernels/ref/dense.h"

/* A matrix inside a tensor: element (i, j) at offset + i * row + j * column, in elements. */
typedef struct matrix {
    const fid_tensor *tensor; /* NULL: absent */
    int64_t offset, row, column;
} matrix;

typedef struct product {
    int64_t m, n, k; /* (m, k) times (k, n) */
    double alpha, beta;
    int64_t alpha_int, beta_int;
    bool integer;
    void *a, *b, *c; /* scratch rows of double or int64_t: (m, k), (k), (m) */
} product;

static fid_status product_begin(fid_call *call, product *p, fid_dtype dtype) {
    p->integer = !fid_dtype_is_float(dtype);
    if (fid_dtype_is_complex(dtype))
        return fid_fail(call->sink, FID_NOT_SUPPORTED, "%s: no product of %s", call->name, fid_dtype_name(dtype));
    FIDK_NEED(p->a = fidk_doubles(call, fidk_product((int64_t[]){p->m, p->k}, 2)));
    FIDK_NEED(p->b = fidk_doubles(call, (size_t)p->k));
    FIDK_NEED(p->c = fidk_doubles(call, (size_t)p->m));
    return FID_OK;
}

/* Column `j` of C. `s` may be absent; beta 0 ignores its values, even NaN. */
static void float_column(const product *p, const matrix *c, const matrix *s, const matrix *b, int64_t j) {
    double *column = p->c;
    size_t k = (size_t)p->k;
    fidk_load_row(b->tensor, b->offset + j * b->column, b->row, k, p->b);
    bool add = s->tensor && p->beta != 0;
    if (add) fidk_load_row(s->tensor, s->offset + j * s->column, s->row, (size_t)p->m, column);
    for (size_t i = 0; i < (size_t)p->m; i++) {
        double sum = p->alpha * fidk_dot((const double *)p->a + i * k, p->b, k);
        column[i] = add ? sum + p->beta * column[i] : sum;
    }
    fidk_store_row(c->tensor, c->offset + j * c->column, c->row, (size_t)p->m, column);
}

static void int_column(const product *p, const matrix *c, const matrix *s, const matrix *b, int64_t j) {
    int64_t *column = p->c, *other = p->b;
    size_t k = (size_t)p->k;
    fidk_load_row_int(b->tensor, b->offset + j * b->column, b->row, k, other);
    bool add = s->tensor && p->beta_int != 0;
    if (add) fidk_load_row_int(s->tensor, s->offset + j * s->column, s->row, (size_t)p->m, column);
    for (size_t i = 0; i < (size_t)p->m; i++) {
        const int64_t *row = (const int64_t *)p->a + i * k;
        uint64_t sum = 0;
        for (size_t l = 0; l < k; l++) sum += (uint64_t)row[l] * (uint64_t)other[l];
        sum *= (uint64_t)p->alpha_int;
        if (add) sum += (uint64_t)p->beta_int * (uint64_t)column[i];
        column[i] = (int64_t)sum;
    }
    fidk_store_row_int(c->tensor, c->offset + j * c->column, c->row, (size_t)p->m, column);
}

static void multiply(const product *p, const matrix *c, const matrix *s, const matrix *a, const matrix *b) {
    size_t k = (size_t)p->k;
    if (p->m == 0) return;
    for (int64_t i = 0; i < p->m; i++) {
        if (p->integer) fidk_load_row_int(a->tensor, a->offset + i * a->row, a->column, k, (int64_t *)p->a + (size_t)i * k);
        else fidk_load_row(a->tensor, a->offset + i * a->row, a->column, k, (double *)p->a + (size_t)i * k);
    }
    for (int64_t j = 0; j < p->n; j++) {
        if (p->integer) int_column(p, c, s, b, j);
        else float_column(p, c, s, b, j);
    }
}

/* Strides of the last two dimensions. */
static matrix last_two(const fid_tensor *t) {
    return (matrix){t, 0, t->strides[t->rank - 2], t->strides[t->rank - 1]};
}

/* The bias-like tensor, broadcast to (batch, m, n) from the right: strides of 0 where it has size 1 or no dimension. */
static matrix broadcast_matrix(const fid_tensor *t, int64_t *out_batch_stride) {
    int64_t strides[3] = {0, 0, 0};
    for (size_t d = 0; t && d < t->rank; d++) strides[3 - t->rank + d] = t->sizes[d] == 1 ? 0 : t->strides[d];
    *out_batch_stride = strides[0];
    return (matrix){t, 0, strides[1], strides[2]};
}

/* C = beta * S + alpha * A B with one leading batch dimension (rank 3) or none (rank 2). */
static fid_status add_multiply(fid_call *call, const fid_tensor *s, const fid_tensor *a, const fid_tensor *b, uint32_t beta_arg) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    bool batched = a->rank == 3;
    int64_t s_step, batch = batched ? a->sizes[0] : 1;
    product p = {.m = a->sizes[a->rank - 2u], .k = a->sizes[a->rank - 1u], .n = b->sizes[b->rank - 1u],
                 .alpha = 1, .beta = 1, .alpha_int = 1, .beta_int = 1};
    if (beta_arg) {
        p.beta = fid_arg_double(call, beta_arg), p.alpha = fid_arg_double(call, beta_arg + 1);
        p.beta_int = fid_arg_int(call, beta_arg), p.alpha_int = fid_arg_int(call, beta_arg + 1);
    }
    FID_TRY(product_begin(call, &p, (fid_dtype)out->dtype));
    matrix ma = last_two(a), mb = last_two(b), mc = last_two(out), ms = broadcast_matrix(s, &s_step);
    for (int64_t i = 0; i < batch; i++) {
        if (batched) ma.offset = i * a->strides[0], mb.offset = i * b->strides[0], mc.offset = i * out->strides[0];
        ms.offset = i * s_step;
        multiply(&p, &mc, &ms, &ma, &mb);
    }
    return FID_OK;
}

static fid_status run_mm(fid_call *call) {
    return add_multiply(call, NULL, fid_arg_tensor(call, 0), fid_arg_tensor(call, 1), 0);
}

static fid_status run_addmm(fid_call *call) {
    return add_multiply(call, fid_arg_tensor(call, 0), fid_arg_tensor(call, 1), fid_arg_tensor(call, 2), 3);
}

const fid_kernel fid_ref_mm = {.run = run_mm};
const fid_kernel fid_ref_bmm = {.run = run_mm};
const fid_kernel fid_ref_addmm = {.run = run_addmm};
const fid_kernel fid_ref_baddbmm = {.run = run_addmm};

/* ---- Vectors ---- */

static fid_status run_mv(fid_call *call) {
    const fid_tensor *a = fid_arg_tensor(call, 0), *x = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    product p = {.m = a->sizes[0], .k = a->sizes[1], .n = 1, .alpha = 1, .alpha_int = 1};
    FID_TRY(product_begin(call, &p, (fid_dtype)out->dtype));
    matrix ma = last_two(a), mx = {x, 0, x->strides[0], 0}, mc = {out, 0, out->strides[0], 0};
    multiply(&p, &mc, &(matrix){0}, &ma, &mx);
    return FID_OK;
}

static fid_status run_dot(fid_call *call) {
    const fid_tensor *a = fid_arg_tensor(call, 0), *b = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    product p = {.m = 1, .k = a->sizes[0], .n = 1, .alpha = 1, .alpha_int = 1};
    FID_TRY(product_begin(call, &p, (fid_dtype)out->dtype));
    matrix ma = {a, 0, 0, a->strides[0]}, mb = {b, 0, b->strides[0], 0}, mc = {out, 0, 0, 0};
    multiply(&p, &mc, &(matrix){0}, &ma, &mb);
    return FID_OK;
}

const fid_kernel fid_ref_mv = {.run = run_mv};
const fid_kernel fid_ref_dot = {.run = run_dot};
const fid_kernel fid_ref_vdot = {.run = run_dot};

/* ---- matmul ---- */

/* Offset of batch `index` (of the result's leading dimensions) in an operand whose leading dimensions are broadcast. */
static int64_t batch_offset(const fid_tensor *t, const int64_t *index, size_t batch_rank) {
    int64_t offset = 0;
    size_t lead = t->rank > 2 ? t->rank - 2u : 0;
    for (size_t d = 0; d < lead; d++)
        if (t->sizes[d] != 1) offset += index[batch_rank - lead + d] * t->strides[d];
    return offset;
}

static fid_status run_matmul(fid_call *call) {
    const fid_tensor *a = fid_arg_tensor(call, 0), *b = fid_arg_tensor(call, 1), *out = fid_out_tensor(call, 0);
    bool a_vector = a->rank == 1, b_vector = b->rank == 1;
    matrix ma = a_vector ? (matrix){a, 0, 0, a->strides[0]} : last_two(a);
    matrix mb = b_vector ? (matrix){b, 0, b->strides[0], 0} : last_two(b);
    size_t batch_rank = out->rank - !a_vector - !b_vector;
    matrix mc = {out, 0, a_vector ? 0 : out->strides[batch_rank], b_vector ? 0 : out->strides[out->rank - 1]};
    product p = {.m = a_vector ? 1 : a->sizes[a->rank - 2], .k = a->sizes[a->rank - 1],
                 .n = b_vector ? 1 : b->sizes[b->rank - 1], .alpha = 1, .alpha_int = 1};
    int64_t index[FID_MAX_RANK] = {0};
    if (fid_tensor_numel(out) == 0) return FID_OK;
    FID_TRY(product_begin(call, &p, (fid_dtype)out->dtype));
    do {
        ma.offset = batch_offset(a, index, batch_rank);
        mb.offset = batch_offset(b, index, batch_rank);
        mc.offset = fidk_strided(index, out->strides, batch_rank);
        multiply(&p, &mc, &(matrix){0}, &ma, &mb);
    } while (fidk_next_index(index, out->sizes, batch_rank));
    return FID_OK;
}

const fid_kernel fid_ref_matmul = {.run = run_matmul};

/* ---- linear ---- */

/* Row `i` of (rows, k) numbers, either kind. */
static void load_product_row(const product *p, const fid_tensor *t, int64_t offset, int64_t stride, void *rows, size_t i) {
    size_t k = (size_t)p->k;
    if (p->integer) fidk_load_row_int(t, offset, stride, k, (int64_t *)rows + i * k);
    else fidk_load_row(t, offset, stride, k, (double *)rows + i * k);
}

static void store_linear(const product *p, size_t i, const fid_tensor *bias, int64_t bias_at, const fid_tensor *out, int64_t out_at) {
    size_t k = (size_t)p->k;
    if (p->integer) {
        int64_t add = 0;
        if (bias) fidk_load_row_int(bias, bias_at, 1, 1, &add);
        uint64_t sum = (uint64_t)add;
        for (size_t l = 0; l < k; l++) sum += (uint64_t)((const int64_t *)p->a)[i * k + l] * (uint64_t)((const int64_t *)p->b)[l];
        add = (int64_t)sum;
        fidk_store_row_int(out, out_at, 1, 1, &add);
    } else {
        double sum = 0;
        if (bias) fidk_load_row(bias, bias_at, 1, 1, &sum);
        sum += fidk_dot((const double *)p->a + i * k, p->b, k);
        fidk_store_row(out, out_at, 1, 1, &sum);
    }
}

/* out[..., n] = sum over k of input[..., k] * weight[n, k] + bias[n]; a weight of rank 1 has no n. The input is held in
 * scratch, the weight (often much larger) passes by row by row. */
static fid_status run_linear(fid_call *call) {
    const fid_tensor *input = fid_arg_tensor(call, 0), *weight = fid_arg_tensor(call, 1), *bias = fid_arg_tensor(call, 2);
    const fid_tensor *out = fid_out_tensor(call, 0);
    bool vector = weight->rank == 1;
    size_t lead = input->rank - 1u, rows = fidk_product(input->sizes, lead);
    int64_t index[FID_MAX_RANK] = {0}, n = vector ? 1 : weight->sizes[0];
    int64_t out_stride = vector ? 0 : out->strides[lead], bias_stride = bias && bias->rank && bias->sizes[0] != 1;
    product p = {.m = (int64_t)rows, .n = n, .k = input->sizes[lead]};
    if (fid_tensor_numel(out) == 0) return FID_OK;
    FID_TRY(product_begin(call, &p, (fid_dtype)out->dtype));
    for (size_t i = 0; i < rows; i++, fidk_next_index(index, input->sizes, lead))
        load_product_row(&p, input, fidk_strided(index, input->strides, lead), input->strides[lead], p.a, i);
    for (int64_t j = 0; j < n; j++) {
        load_product_row(&p, weight, vector ? 0 : j * weight->strides[0], weight->strides[weight->rank - 1], p.b, 0);
        for (size_t i = 0; i < rows; i++, fidk_next_index(index, input->sizes, lead))
            store_linear(&p, i, bias, j * bias_stride, out, fidk_strided(index, out->strides, lead) + j * out_stride);
    }
    return FID_OK;
}

const fid_kernel fid_ref_linear = {.run = run_linear};
