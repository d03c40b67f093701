/* Reference kernels that work through one dimension and keep the shape: softmax, cumulative sums, products and extremes. */
#include "kernels/ref/complex_math.h"
#include "kernels/ref/reduce.h"

/* One row along the dimension. */
typedef struct row {
    const fid_tensor *in, *out, *indices; /* indices: output 1, may be NULL */
    int64_t in_at, out_at, indices_at;    /* offsets of the first element */
    int64_t in_step, out_step, indices_step;
    int64_t size;
    fid_dtype as;                         /* elements are read as it */
} row;

typedef void row_function(const row *r);

static fidk_element get(const row *r, int64_t i) {
    fid_dtype dtype = (fid_dtype)r->in->dtype;
    return fidk_convert(fidk_load(dtype, r->in->data, r->in_at + i * r->in_step), dtype, r->as);
}

static void set(const row *r, int64_t i, fidk_element value, fid_dtype dtype) {
    fid_dtype to = (fid_dtype)r->out->dtype;
    fidk_store(to, r->out->data, r->out_at + i * r->out_step, fidk_convert(value, dtype, to));
}

static void cumulative_product(const row *r);
static void cumulative_log_sum_exp(const row *r);

/* Calls the function for each row along dimension argument 1. */
static fid_status each_row(fid_call *call, fid_dtype as, row_function *function) {
    row r = {.in = fid_arg_tensor(call, 0), .out = fid_out_tensor(call, 0), .as = as};
    int64_t sizes[FID_MAX_RANK] = {0}, in_strides[FID_MAX_RANK] = {0};
    size_t dim;
    if (fid_dtype_is_complex(as) && function != cumulative_product && function != cumulative_log_sum_exp) return fidk_refuse_complex(call);
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), r.in->rank, &dim));
    if (call->output_index + 1 < call->arg_count) r.indices = fid_out_tensor(call, 1);
    for (size_t d = 0; d < r.in->rank; d++) {
        sizes[d] = d == dim && r.in->sizes[d] ? 1 : r.in->sizes[d];
        in_strides[d] = r.in->strides[d];
    }
    r.size = r.in->rank ? r.in->sizes[dim] : 1;
    r.in_step = r.in->rank ? r.in->strides[dim] : 0;
    r.out_step = r.in->rank ? r.out->strides[dim] : 0;
    r.indices_step = r.indices && r.in->rank ? r.indices->strides[dim] : 0;
    fidk_walk walk;
    fidk_walk_begin(&walk, sizes, r.in->rank);
    fidk_walk_add_strides(&walk, in_strides);
    fidk_walk_add_strides(&walk, r.out->strides);
    if (r.indices) fidk_walk_add_strides(&walk, r.indices->strides);
    FIDK_WALK(&walk) {
        r.in_at = walk.at[0];
        r.out_at = walk.at[1];
        r.indices_at = walk.at[2 * (r.indices != NULL)];
        function(&r);
    }
    return FID_OK;
}

/* ---- Softmax ---- */

static double row_top(const row *r) {
    double top = -INFINITY;
    for (int64_t i = 0; i < r->size; i++) top = fidk_max(top, get(r, i).d);
    return top;
}

static double row_total(const row *r, double top) {
    double total = 0;
    for (int64_t i = 0; i < r->size; i++) total += exp(get(r, i).d - top);
    return total;
}

static void softmax(const row *r) {
    double top = row_top(r), total = row_total(r, top);
    for (int64_t i = 0; i < r->size; i++) set(r, i, fidk_real(exp(get(r, i).d - top) / total), FID_FLOAT64);
}

static void log_softmax(const row *r) {
    double top = row_top(r), log_total = log(row_total(r, top));
    for (int64_t i = 0; i < r->size; i++) set(r, i, fidk_real(get(r, i).d - top - log_total), FID_FLOAT64);
}

static fid_dtype self_dtype(const fid_call *call) { return (fid_dtype)fid_arg_tensor(call, 0)->dtype; }
static fid_dtype wanted_dtype(const fid_call *call, uint32_t i) {
    return fid_arg_is_none(call, i) ? self_dtype(call) : (fid_dtype)fid_arg_int(call, i);
}

FIDK_KERNEL(_softmax, each_row(call, self_dtype(call), softmax))
FIDK_KERNEL(_log_softmax, each_row(call, self_dtype(call), log_softmax))
FIDK_KERNEL(softmax_int, each_row(call, wanted_dtype(call, 2), softmax))
FIDK_KERNEL(log_softmax_int, each_row(call, wanted_dtype(call, 2), log_softmax))

/* ---- Cumulative sums and products: every partial result is kept in double or int64, and rounded only where it is stored ---- */

static void cumulative_sum(const row *r) {
    double real = 0;
    int64_t integer = 0;
    for (int64_t i = 0; i < r->size; i++) {
        fidk_element x = get(r, i);
        if (fidk_form_of(r->as) == FIDK_REAL) set(r, i, fidk_real(real += x.d), FID_FLOAT64);
        else set(r, i, fidk_int(integer = fidk_wrap_add(integer, x.i)), FID_INT64);
    }
}

static void cumulative_product(const row *r) {
    double real = 1;
    int64_t integer = 1;
    fid_complex128 complex = {1, 0};
    for (int64_t i = 0; i < r->size; i++) {
        fidk_element x = get(r, i);
        if (fidk_form_of(r->as) == FIDK_COMPLEX) set(r, i, (fidk_element){.c = complex = fidk_complex_mul(complex, x.c)}, FID_COMPLEX128);
        else if (fidk_form_of(r->as) == FIDK_REAL) set(r, i, fidk_real(real *= x.d), FID_FLOAT64);
        else set(r, i, fidk_int(integer = fidk_wrap_mul(integer, x.i)), FID_INT64);
    }
}

static double log_add(double a, double b) {
    double top = fidk_max(a, b);
    if (isinf(top) || isnan(top)) return top;
    return top + log1p(exp(fidk_min(a, b) - top));
}

static void cumulative_log_sum_exp(const row *r) {
    double total = -INFINITY;
    fid_complex128 complex = {-INFINITY, 0};
    for (int64_t i = 0; i < r->size && fidk_form_of(r->as) == FIDK_COMPLEX; i++) {
        complex = fidk_complex_log_add(complex, get(r, i).c);
        set(r, i, (fidk_element){.c = complex}, FID_COMPLEX128);
    }
    if (fidk_form_of(r->as) == FIDK_COMPLEX) return;
    for (int64_t i = 0; i < r->size; i++) set(r, i, fidk_real(total = log_add(total, get(r, i).d)), FID_FLOAT64);
}

FIDK_KERNEL(cumsum, each_row(call, fid_sum_dtype(call, 2), cumulative_sum))
FIDK_KERNEL(cumprod, each_row(call, fid_sum_dtype(call, 2), cumulative_product))
FIDK_KERNEL(logcumsumexp, each_row(call, self_dtype(call), cumulative_log_sum_exp))

/* ---- Cumulative extremes: the last of equals counts, NaN stays ---- */

static bool replaces(const row *r, fidk_element x, fidk_element best, bool largest) {
    if (fidk_form_of(r->as) == FIDK_REAL) return isnan(x.d) || (!isnan(best.d) && (largest ? x.d >= best.d : x.d <= best.d));
    return largest ? !fidk_int_less(r->as, x.i, best.i) : !fidk_int_less(r->as, best.i, x.i);
}

static void cumulative_extreme(const row *r, bool largest) {
    fidk_element best = {.i = 0};
    int64_t index = 0;
    for (int64_t i = 0; i < r->size; i++) {
        fidk_element x = get(r, i);
        if (i == 0 || replaces(r, x, best, largest)) {
            best = x;
            index = i;
        }
        set(r, i, best, r->as);
        if (r->indices) fidk_set_int(r->indices, r->indices_at + i * r->indices_step, index);
    }
}

static void cumulative_max(const row *r) { cumulative_extreme(r, true); }
static void cumulative_min(const row *r) { cumulative_extreme(r, false); }

FIDK_KERNEL(cummax, each_row(call, self_dtype(call), cumulative_max))
FIDK_KERNEL(cummin, each_row(call, self_dtype(call), cumulative_min))
