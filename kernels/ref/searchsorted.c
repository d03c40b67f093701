/* Places of values in sorted sequences: searchsorted and bucketize. */
#include "kernels/ref/order.h"

/* A sorted line of a tensor, maybe sorted only through `sorter`. */
typedef struct sequence {
    const fid_tensor *tensor, *sorter; /* sorter may be NULL */
    int64_t at, stride, sorter_at, sorter_stride, length;
    bool right;                        /* the place after equal elements, not before them */
} sequence;

static fidk_element load_as(const fid_tensor *tensor, int64_t at, fid_dtype dtype) {
    return fidk_convert(fidk_load((fid_dtype)tensor->dtype, tensor->data, at), (fid_dtype)tensor->dtype, dtype);
}

/* a >= b or, with `strict`, a > b; false if either is NaN. */
static bool reaches(fid_dtype dtype, fidk_element a, fidk_element b, bool strict) {
    if (fid_dtype_is_float(dtype)) return strict ? a.d > b.d : a.d >= b.d;
    if (dtype == FID_UINT64) return strict ? (uint64_t)a.i > (uint64_t)b.i : (uint64_t)a.i >= (uint64_t)b.i;
    return strict ? a.i > b.i : a.i >= b.i;
}

/* True if the element belongs before the value: so a value of NaN comes last, and elements of NaN are passed over. */
static bool is_before(const sequence *s, fid_dtype dtype, fidk_element element, fidk_element value) {
    return !reaches(dtype, element, value, s->right);
}

static fid_status find(const fid_call *call, const sequence *s, fid_dtype dtype, fidk_element value, int64_t *out_place) {
    int64_t low = 0, high = s->length;
    while (low < high) {
        int64_t middle = low + (high - low) / 2, at = middle;
        if (s->sorter) {
            at = fidk_get_int(s->sorter, s->sorter_at + middle * s->sorter_stride);
            if (at < 0 || at >= s->length) {
                return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: sorter holds %lld, expected 0 to %lld", call->name,
                                (long long)at, (long long)s->length - 1);
            }
        }
        if (is_before(s, dtype, load_as(s->tensor, s->at + at * s->stride, dtype), value)) low = middle + 1;
        else high = middle;
    }
    *out_place = low;
    return FID_OK;
}

/* Where the values are: a tensor or one number. */
static fid_status find_all(fid_call *call, sequence *s, const fid_value *values) {
    const fid_tensor *out = fid_out_tensor(call, 0), *tensor = values->tag == FID_TAG_TENSOR ? values->as.tensor : NULL;
    fid_dtype own = (fid_dtype)s->tensor->dtype;
    fid_dtype dtype = tensor ? fid_dtype_promote(own, (fid_dtype)tensor->dtype) : values->tag == FID_TAG_DOUBLE ? FID_FLOAT64 : own;
    if (dtype == FID_DTYPE_NONE || fid_dtype_is_complex(dtype)) {
        return fid_fail(call->sink, FID_INVALID_TYPE, "%s: the values and the sequence have no common order", call->name);
    }
    size_t last = s->tensor->rank - 1;
    bool many = s->tensor->rank > 1;
    fidk_walk walk;
    fidk_walk_begin(&walk, out->sizes, out->rank);
    fidk_walk_add(&walk, out);
    if (tensor) fidk_walk_add(&walk, tensor);
    FIDK_WALK(&walk) {
        s->at = s->sorter_at = 0;
        for (size_t i = 0; i < last && many; i++) {
            s->at += walk.index[i] * s->tensor->strides[i];
            if (s->sorter) s->sorter_at += walk.index[i] * s->sorter->strides[i];
        }
        fidk_element value = tensor ? load_as(tensor, walk.at[1], dtype) : fidk_number(values, dtype);
        int64_t place = 0;
        FID_TRY(find(call, s, dtype, value, &place));
        fidk_set_int(out, walk.at[0], place);
    }
    return FID_OK;
}

static sequence sequence_of(const fid_tensor *tensor, const fid_tensor *sorter, bool right) {
    size_t last = tensor->rank - 1;
    return (sequence){.tensor = tensor, .sorter = sorter, .stride = tensor->strides[last], .length = tensor->sizes[last],
                      .sorter_stride = sorter ? sorter->strides[last] : 0, .right = right};
}

/* sorted_sequence, self, out_int32, right, side, sorter */
static fid_status run_searchsorted(fid_call *call) {
    const fid_value *side = call->args[4];
    bool right = fid_arg_bool(call, 3);
    if (side->tag == FID_TAG_STRING) right = side->as.string.length == 5 && memcmp(side->as.string.text, "right", 5) == 0;
    sequence s = sequence_of(fid_arg_tensor(call, 0), fid_arg_tensor(call, 5), right);
    return find_all(call, &s, call->args[1]);
}

/* self, boundaries, out_int32, right */
static fid_status run_bucketize(fid_call *call) {
    sequence s = sequence_of(fid_arg_tensor(call, 1), NULL, fid_arg_bool(call, 3));
    return find_all(call, &s, call->args[0]);
}

const fid_kernel fid_ref_searchsorted_Tensor = {.run = run_searchsorted};
const fid_kernel fid_ref_searchsorted_Scalar = {.run = run_searchsorted};
const fid_kernel fid_ref_bucketize_Tensor = {.run = run_bucketize};
const fid_kernel fid_ref_bucketize_Scalar = {.run = run_bucketize};
