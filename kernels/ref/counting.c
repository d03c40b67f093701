/* Reference kernels that look elements up or count them: membership, histograms. */
#include "kernels/ref/elementwise.h"

/* ---- isin ---- */

static bool holds(const fid_tensor *tensor, fid_dtype as, fidk_element wanted) {
    fidk_walk walk;
    fidk_walk_begin(&walk, tensor->sizes, tensor->rank);
    fidk_walk_add(&walk, tensor);
    FIDK_WALK(&walk) {
        fidk_element x = fidk_convert(fidk_load((fid_dtype)tensor->dtype, tensor->data, walk.at[0]), (fid_dtype)tensor->dtype, as);
        if (fidk_form_of(as) == FIDK_REAL ? x.d == wanted.d : x.i == wanted.i) return true;
    }
    return false;
}

static fidk_element is_member(const fidk_element *in, fidk_elementwise *e) {
    const fid_tensor *set = fid_arg_tensor(e->call, 1);
    if (set) return fidk_int(holds(set, e->compute, in[0]) != e->flag);
    bool equal = e->form == FIDK_REAL ? in[0].d == e->extra[0].d : in[0].i == e->extra[0].i;
    return fidk_int(equal != e->flag);
}

static fid_status isin(fid_call *call) {
    fidk_elementwise e = fidk_elementwise_begin(call, fid_result_type(call, 0, 2));
    e.result = FID_BOOL;
    e.flag = fid_arg_bool(call, 3); /* invert; assume_unique changes no result */
    if (!fid_arg_tensor(call, 1)) e.extra[0] = fidk_number(call->args[1], e.compute);
    fidk_operand_add(&e, 0, e.compute);
    return fidk_elementwise_run(&e, is_member);
}

FIDK_KERNEL(isin_Tensor_Tensor, isin(call))
FIDK_KERNEL(isin_Tensor_Scalar, isin(call))
FIDK_KERNEL(isin_Scalar_Tensor, isin(call))

/* ---- histc: equal bins over [low, high]; equal bounds mean the range of the data ---- */

static void data_range(const fid_tensor *self, double *low, double *high) {
    fidk_walk walk;
    bool first = true;
    fidk_walk_begin(&walk, self->sizes, self->rank);
    fidk_walk_add(&walk, self);
    FIDK_WALK(&walk) {
        double x = fidk_get_real(self, walk.at[0]);
        *low = first ? x : fidk_min(*low, x);
        *high = first ? x : fidk_max(*high, x);
        first = false;
    }
}

static fid_status histogram_range(const fid_call *call, double *low, double *high) {
    *low = fid_arg_double(call, 2);
    *high = fid_arg_double(call, 3);
    if (*low == *high) data_range(fid_arg_tensor(call, 0), low, high);
    if (*low == *high) {
        *low -= 1;
        *high += 1;
    }
    if (isfinite(*low) && isfinite(*high) && *low < *high) return FID_OK;
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: the range [%g, %g] has no bins", call->name, *low, *high);
}

static fid_status run_histc(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    int64_t bins = out->sizes[0];
    double low, high;
    FID_TRY(histogram_range(call, &low, &high));
    int64_t *counts = fid_call_scratch(call, (size_t)bins * sizeof *counts);
    if (!counts) return FID_OUT_OF_MEMORY;
    memset(counts, 0, (size_t)bins * sizeof *counts);
    fidk_walk walk;
    fidk_walk_begin(&walk, self->sizes, self->rank);
    fidk_walk_add(&walk, self);
    FIDK_WALK(&walk) {
        double x = fidk_get_real(self, walk.at[0]);
        if (!(x >= low && x <= high)) continue;
        int64_t bin = (int64_t)((x - low) / (high - low) * (double)bins);
        counts[bin < bins ? bin : bins - 1]++; /* the last bin holds its upper edge */
    }
    for (int64_t i = 0; i < bins; i++) fidk_set_real(out, i * out->strides[0], (double)counts[i]);
    return FID_OK;
}

static size_t histc_scratch(const fid_call *call) {
    int64_t bins = fid_arg_int(call, 1);
    return bins > 0 ? (size_t)bins * sizeof(int64_t) : 0;
}
const fid_kernel fid_ref_histc = {.run = run_histc, .scratch_bytes = histc_scratch};
