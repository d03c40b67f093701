/* The loops of reductions. */
#include "kernels/ref/reduce.h"

/* Strides of an output over the kept dimensions. */
static void output_strides(const fid_tensor *out, const fid_tensor *in, const fid_reduction_dims *dims, int64_t *strides) {
    size_t kept = 0;
    for (size_t d = 0; d < in->rank; d++) {
        if (!dims->reduced[d]) {
            strides[kept] = out->strides[dims->keep ? d : kept];
            kept++;
        }
    }
}

/* Sizes and input strides of the dimensions that are (not) reduced. */
static size_t dims_of(const fid_tensor *in, const fid_reduction_dims *dims, bool reduced, int64_t *sizes, int64_t *strides) {
    size_t rank = 0;
    for (size_t d = 0; d < in->rank; d++) {
        if (dims->reduced[d] != reduced) continue;
        sizes[rank] = in->sizes[d];
        strides[rank++] = in->strides[d];
    }
    return rank;
}

void fidk_reduction_start(fidk_reduction *r, const fid_tensor *in, const fid_reduction_dims *dims, fid_dtype as,
                          const fid_tensor *const *outs, size_t out_count) {
    int64_t sizes[FID_MAX_RANK], strides[FID_MAX_RANK];
    *r = (fidk_reduction){.in = in, .as = as, .form = fidk_form_of(as)};
    size_t rank = dims_of(in, dims, false, sizes, strides);
    fidk_walk_begin(&r->outer, sizes, rank);
    fidk_walk_add_strides(&r->outer, strides);
    for (size_t k = 0; k < out_count; k++) {
        output_strides(outs[k], in, dims, strides);
        fidk_walk_add_strides(&r->outer, strides);
    }
    rank = dims_of(in, dims, true, sizes, strides);
    fidk_walk_begin(&r->inner, sizes, rank);
    fidk_walk_add_strides(&r->inner, strides);
    r->count = (int64_t)r->inner.left;
}

fid_status fidk_reduction_begin(fidk_reduction *r, fid_call *call, uint32_t dims, uint32_t keepdim, fid_dtype as) {
    const fid_tensor *outs[2] = {NULL, NULL};
    size_t out_count = call->arg_count - call->output_index;
    fid_reduction_dims which;
    FID_TRY(fid_reduction_dims_of(call, dims, keepdim, &which));
    for (uint32_t k = 0; k < out_count && k < 2; k++) outs[k] = fid_out_tensor(call, k);
    fidk_reduction_start(r, fid_arg_tensor(call, 0), &which, as, outs, out_count < 2 ? out_count : 2);
    r->call = call;
    return FID_OK;
}

fidk_element fidk_reduction_get(const fidk_reduction *r, const fidk_walk *inner) {
    fid_dtype dtype = (fid_dtype)r->in->dtype;
    fidk_element element = fidk_load(dtype, r->in->data, r->outer.at[0] + inner->at[0]);
    return dtype == r->as ? element : fidk_convert(element, dtype, r->as);
}

void fidk_reduction_run(fidk_reduction *r, uint32_t k, fid_dtype result, fidk_reduce_function *function) {
    const fid_tensor *out = fid_out_tensor(r->call, k);
    fidk_walk start = r->outer;
    FIDK_WALK(&r->outer) {
        fidk_element value = function(r);
        fidk_store((fid_dtype)out->dtype, out->data, r->outer.at[1 + k], fidk_convert(value, result, (fid_dtype)out->dtype));
    }
    r->outer = start;
}
