/* Reference kernels of losses between vectors: cosine embedding and triplet margin. Vectors lie along the last dimension. */
#include "kernels/ref/elementwise.h"

typedef struct vectors {
    const fid_tensor *tensors[3];
    size_t count;
    fidk_walk walk; /* over all vectors; at[k]: offset of tensor k's vector */
    int64_t steps[3], size;
    fid_dtype dtype; /* of all together */
} vectors;

static fid_status vectors_begin(const fid_call *call, vectors *v, size_t count) {
    fid_meta both = {0};
    *v = (vectors){.count = count, .dtype = fid_result_type(call, 0, (uint32_t)count)};
    for (uint32_t k = 0; k < count; k++) {
        v->tensors[k] = fid_arg_tensor(call, k);
        FID_TRY(fid_meta_broadcast(call, &both, v->tensors[k]));
    }
    v->size = both.rank ? both.sizes[both.rank - 1] : 1;
    if (both.rank) both.sizes[both.rank - 1] = 1;
    fidk_walk_begin(&v->walk, both.sizes, both.rank);
    for (size_t k = 0; k < count; k++) {
        const fid_tensor *tensor = v->tensors[k];
        fidk_walk_add(&v->walk, tensor);
        v->steps[k] = tensor->rank && tensor->sizes[tensor->rank - 1] != 1 ? tensor->strides[tensor->rank - 1] : 0;
    }
    return FID_OK;
}

static double get(const vectors *v, size_t k, int64_t i) { return fidk_get_real(v->tensors[k], v->walk.at[k] + i * v->steps[k]); }

/* Stores value number `at`, or adds it up: reduction 0 none, 1 mean, 2 sum. */
typedef struct collected { const fid_tensor *out; int64_t reduction; double total, count; } collected;

static void collect(collected *c, double value) {
    if (c->reduction == 0) {
        int64_t index[FID_MAX_RANK], rest = (int64_t)c->count;
        for (size_t d = c->out->rank; d-- > 0;) {
            index[d] = rest % c->out->sizes[d];
            rest /= c->out->sizes[d];
        }
        fidk_set_real(c->out, fidk_offset(c->out, index), value);
    }
    c->total += value;
    c->count++;
}

static fid_status finish(const collected *c) {
    if (c->reduction) fidk_set_real(c->out, 0, c->reduction == 1 ? c->total / c->count : c->total);
    return FID_OK;
}

/* ---- cosine_embedding_loss(input1, input2, target, margin, reduction) ---- */

/* Products of whole numbers wrap in their dtype, before they are summed in int64. */
static double product_of(const vectors *v, double x, double y) {
    if (fid_dtype_is_float(v->dtype)) return x * y;
    return (double)fidk_convert(fidk_int(fidk_wrap_mul((int64_t)x, (int64_t)y)), FID_INT64, v->dtype).i;
}

static double cosine(const vectors *v) {
    double product = 0, a = 1e-12, b = 1e-12;
    for (int64_t i = 0; i < v->size; i++) {
        double x = get(v, 0, i), y = get(v, 1, i);
        product += product_of(v, x, y);
        a += product_of(v, x, x);
        b += product_of(v, y, y);
    }
    return product / sqrt(a * b);
}

static fid_status run_cosine_embedding_loss(fid_call *call) {
    const fid_tensor *target = fid_arg_tensor(call, 2);
    double margin = fid_arg_double(call, 3), minus_one = fidk_minus_one((fid_dtype)target->dtype);
    collected c = {fid_out_tensor(call, 0), fid_arg_int(call, 4), 0, 0};
    vectors v;
    FID_TRY(vectors_begin(call, &v, 2));
    int64_t step = target->rank ? target->strides[0] : 0;
    FIDK_WALK(&v.walk) {
        double sign = fidk_get_real(target, (int64_t)c.count * step), similarity = cosine(&v);
        collect(&c, sign == 1 ? 1 - similarity : sign == minus_one ? fidk_max(similarity - margin, 0) : 0);
    }
    return finish(&c);
}
const fid_kernel fid_ref_cosine_embedding_loss = {.run = run_cosine_embedding_loss};

/* The difference of two elements; those of whole numbers wrap. */
static double gap(const vectors *v, size_t a, size_t b, int64_t i) {
    double x = get(v, a, i), y = get(v, b, i);
    if (fid_dtype_is_float(v->dtype) || !(fabs(x - y) < 9.2e18)) return x - y;
    return (double)fidk_convert(fidk_int((int64_t)(x - y)), FID_INT64, v->dtype).i;
}

/* ---- triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction) ---- */

static double distance(const vectors *v, size_t a, size_t b, double p, double eps) {
    double total = p == -INFINITY ? INFINITY : 0;
    for (int64_t i = 0; i < v->size; i++) {
        double size = fabs(gap(v, a, b, i) + eps);
        if (isinf(p)) total = p > 0 ? fidk_max(total, size) : fidk_min(total, size);
        else total += p == 0 ? size != 0 : pow(size, p);
    }
    return isinf(p) || p == 0 ? total : pow(total, 1 / p);
}

static fid_status run_triplet_margin_loss(fid_call *call) {
    double margin = fid_arg_double(call, 3), p = fid_arg_double(call, 4), eps = fid_arg_double(call, 5);
    collected c = {fid_out_tensor(call, 0), fid_arg_int(call, 7), 0, 0};
    vectors v;
    FID_TRY(vectors_begin(call, &v, 3));
    FIDK_WALK(&v.walk) {
        double near = distance(&v, 0, 1, p, eps), far = distance(&v, 0, 2, p, eps);
        if (fid_arg_bool(call, 6)) far = fidk_min(far, distance(&v, 1, 2, p, eps));
        collect(&c, fidk_max(margin + near - far, 0));
    }
    return finish(&c);
}
const fid_kernel fid_ref_triplet_margin_loss = {.run = run_triplet_margin_loss};
