/* Writing at places given by one index tensor: scatter and scatter_reduce element by element, index_add and its relatives a whole
 * index of a dimension at a time. */
#include "kernels/ref/accumulate.h"

static bool is_text(const fid_value *value, const char *text) {
    return value->tag == FID_TAG_STRING && value->as.string.length == strlen(text) &&
           memcmp(value->as.string.text, text, strlen(text)) == 0;
}

/* scatter knows add and multiply, the others the remaining names. */
static fid_status read_combine(const fid_call *call, uint32_t i, bool scatter, fidk_combine *out) {
    static const struct { const char *name; fidk_combine combine; bool scatter; } names[] = {
        {"add", FIDK_ADD, true},   {"multiply", FIDK_MULTIPLY, true}, {"sum", FIDK_ADD, false}, {"prod", FIDK_MULTIPLY, false},
        {"mean", FIDK_MEAN, false}, {"amax", FIDK_MAX, false},        {"amin", FIDK_MIN, false},
    };
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        if (names[k].scatter == scatter && is_text(call->args[i], names[k].name)) {
            *out = names[k].combine;
            return FID_OK;
        }
    }
    return fid_fail(call->sink, FID_INVALID_ARGUMENT, "%s: reduce is none of %s", call->name,
                    scatter ? "add, multiply" : "sum, prod, mean, amax, amin");
}

/* Combines src[index position], or `number` where src is NULL, into out. */
static fid_status scatter_into(fid_call *call, const fid_tensor *src, const fid_value *number, fidk_combine combine,
                               bool include_self) {
    const fid_tensor *index = fid_arg_tensor(call, 2), *out = fid_out_tensor(call, 0);
    fid_dtype dtype = (fid_dtype)out->dtype;
    fidk_accumulator acc;
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), out->rank, &dim));
    fidk_copy(out, fid_arg_tensor(call, 0));
    FID_TRY(fidk_accumulator_begin(call, combine, include_self, &acc));
    fidk_element element = number ? fidk_number(number, dtype) : fidk_int(0);
    fidk_walk walk;
    fidk_walk_begin(&walk, index->sizes, index->rank);
    fidk_walk_add(&walk, index);
    if (src && src->rank == index->rank) fidk_walk_add_strides(&walk, src->strides);
    else fidk_walk_add_strides(&walk, (int64_t[FID_MAX_RANK]){0}); /* [1] against a tensor without dimensions */
    FIDK_WALK(&walk) {
        int64_t at = 0, to;
        FID_TRY(fidk_index_in(call, fidk_get_int(index, walk.at[0]), out->rank ? out->sizes[dim] : 1, &to));
        for (size_t i = 0; i < out->rank; i++) at += (i == dim ? to : i < index->rank ? walk.index[i] : 0) * out->strides[i];
        if (src) element = fidk_convert(fidk_load((fid_dtype)src->dtype, src->data, walk.at[1]), (fid_dtype)src->dtype, dtype);
        fidk_accumulate(&acc, at, element);
    }
    fidk_accumulator_end(&acc);
    return FID_OK;
}

static fid_status run_scatter_src(fid_call *call) {
    return scatter_into(call, fid_arg_tensor(call, 3), NULL, FIDK_REPLACE, true);
}

static fid_status run_scatter_value(fid_call *call) { return scatter_into(call, NULL, call->args[3], FIDK_REPLACE, true); }

static fid_status run_scatter_add(fid_call *call) { return scatter_into(call, fid_arg_tensor(call, 3), NULL, FIDK_ADD, true); }

static fid_status run_scatter_reduce(fid_call *call) {
    fidk_combine combine;
    FID_TRY(read_combine(call, 4, true, &combine));
    return scatter_into(call, fid_arg_tensor(call, 3), NULL, combine, true);
}

static fid_status run_scatter_value_reduce(fid_call *call) {
    fidk_combine combine;
    FID_TRY(read_combine(call, 4, true, &combine));
    return scatter_into(call, NULL, call->args[3], combine, true);
}

static fid_status run_scatter_reduce_two(fid_call *call) {
    fidk_combine combine;
    FID_TRY(read_combine(call, 4, false, &combine));
    return scatter_into(call, fid_arg_tensor(call, 3), NULL, combine, fid_arg_bool(call, 5));
}

/* ---- Whole indices of a dimension ---- */

static fidk_element multiplied(fid_dtype dtype, fidk_element a, fidk_element b) {
    switch (fidk_form_of(dtype)) {
    case FIDK_REAL: return fidk_real(a.d * b.d);
    case FIDK_INTEGER: return fidk_int((int64_t)((uint64_t)a.i * (uint64_t)b.i));
    default: return (fidk_element){.c = {a.c.re * b.c.re - a.c.im * b.c.im, a.c.re * b.c.im + a.c.im * b.c.re}};
    }
}

/* Combines source (times `factor` if not NULL) into the indices of `dim` that the index names. */
static fid_status index_into(fid_call *call, const fid_value *factor, fidk_combine combine, bool include_self) {
    const fid_tensor *index = fid_arg_tensor(call, 2), *source = fid_arg_tensor(call, 3), *out = fid_out_tensor(call, 0);
    fid_dtype dtype = (fid_dtype)out->dtype, from = (fid_dtype)source->dtype;
    fidk_accumulator acc;
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), out->rank, &dim));
    fidk_copy(out, fid_arg_tensor(call, 0));
    FID_TRY(fidk_accumulator_begin(call, combine, include_self, &acc));
    int64_t stride = index->rank ? index->strides[0] : 0;
    fidk_walk walk;
    fidk_walk_begin(&walk, source->sizes, source->rank);
    fidk_walk_add(&walk, source);
    FIDK_WALK(&walk) {
        int64_t at = 0, to;
        int64_t place = source->rank ? walk.index[dim] : 0;
        FID_TRY(fidk_index_in(call, fidk_get_int(index, place * stride), out->rank ? out->sizes[dim] : 1, &to));
        for (size_t i = 0; i < out->rank; i++) at += (i == dim ? to : walk.index[i]) * out->strides[i];
        fidk_element element = fidk_convert(fidk_load(from, source->data, walk.at[0]), from, dtype);
        fidk_accumulate(&acc, at, factor ? multiplied(dtype, element, fidk_number(factor, dtype)) : element);
    }
    fidk_accumulator_end(&acc);
    return FID_OK;
}

static fid_status run_index_add(fid_call *call) { return index_into(call, call->args[4], FIDK_ADD, true); }
static fid_status run_index_copy(fid_call *call) { return index_into(call, NULL, FIDK_REPLACE, true); }

static fid_status run_index_reduce(fid_call *call) {
    fidk_combine combine;
    FID_TRY(read_combine(call, 4, false, &combine));
    return index_into(call, NULL, combine, fid_arg_bool(call, 5));
}

static fid_status fill_indices(fid_call *call, fidk_element value) {
    const fid_tensor *index = fid_arg_tensor(call, 2), *out = fid_out_tensor(call, 0);
    size_t dim;
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 1), out->rank, &dim));
    fidk_copy(out, fid_arg_tensor(call, 0));
    int64_t stride = index->rank ? index->strides[0] : 0, count = (int64_t)fid_tensor_numel(index), at;
    for (int64_t i = 0; i < count; i++) {
        FID_TRY(fidk_index_in(call, fidk_get_int(index, i * stride), out->rank ? out->sizes[dim] : 1, &at));
        fidk_box place = fidk_box_of(out);
        if (out->rank) fidk_box_select(&place, dim, at);
        fidk_box_fill(&place, value);
    }
    return FID_OK;
}

static fid_status run_index_fill_int_Scalar(fid_call *call) {
    return fill_indices(call, fidk_number(call->args[3], (fid_dtype)fid_out_tensor(call, 0)->dtype));
}

static fid_status run_index_fill_int_Tensor(fid_call *call) {
    const fid_tensor *value = fid_arg_tensor(call, 3);
    fid_dtype from = (fid_dtype)value->dtype;
    return fill_indices(call, fidk_convert(fidk_load(from, value->data, 0), from, (fid_dtype)fid_out_tensor(call, 0)->dtype));
}

static size_t scatter_bytes(const fid_call *call) { return fidk_accumulator_bytes(fid_arg_tensor(call, 0)); }

const fid_kernel fid_ref_scatter_src = {.run = run_scatter_src};
const fid_kernel fid_ref_scatter_value = {.run = run_scatter_value};
const fid_kernel fid_ref_scatter_add = {.run = run_scatter_add, .scratch_bytes = scatter_bytes};
const fid_kernel fid_ref_scatter_reduce = {.run = run_scatter_reduce, .scratch_bytes = scatter_bytes};
const fid_kernel fid_ref_scatter_value_reduce = {.run = run_scatter_value_reduce, .scratch_bytes = scatter_bytes};
const fid_kernel fid_ref_scatter_reduce_two = {.run = run_scatter_reduce_two, .scratch_bytes = scatter_bytes};
const fid_kernel fid_ref_index_add = {.run = run_index_add, .scratch_bytes = scatter_bytes};
const fid_kernel fid_ref_index_copy = {.run = run_index_copy};
const fid_kernel fid_ref_index_reduce = {.run = run_index_reduce, .scratch_bytes = scatter_bytes};
const fid_kernel fid_ref_index_fill_int_Scalar = {.run = run_index_fill_int_Scalar};
const fid_kernel fid_ref_index_fill_int_Tensor = {.run = run_index_fill_int_Tensor};
