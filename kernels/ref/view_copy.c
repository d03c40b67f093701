/* Views that keep the logical order of elements: view, squeeze, unsqueeze, alias, and reading elements as other ones: complex
 * numbers as pairs, their parts, bytes as another dtype. */
#include "kernels/ref/box.h"

static fid_status run_view_copy(fid_call *call) {
    fidk_reshape(fid_out_tensor(call, 0), fid_arg_tensor(call, 0));
    return FID_OK;
}

const fid_kernel fid_ref_view_copy = {.run = run_view_copy};
const fid_kernel fid_ref_unsqueeze_copy = {.run = run_view_copy};
const fid_kernel fid_ref_squeeze_copy = {.run = run_view_copy};
const fid_kernel fid_ref_squeeze_copy_dim = {.run = run_view_copy};
const fid_kernel fid_ref_squeeze_copy_dims = {.run = run_view_copy};
const fid_kernel fid_ref_alias_copy = {.run = run_view_copy};
const fid_kernel fid_ref_detach_copy = {.run = run_view_copy};
const fid_kernel fid_ref_lift_fresh_copy = {.run = run_view_copy};

/* A complex tensor as one of its parts' dtype, with a last dimension for real and imaginary part. */
static fidk_box as_pairs(const fid_tensor *tensor, fid_dtype part) {
    fidk_box box = fidk_box_of(tensor);
    for (size_t i = 0; i < box.rank; i++) box.strides[i] *= 2;
    fidk_box_insert(&box, box.rank, 2, 1);
    box.dtype = part;
    return box;
}

static fid_status run_view_as_real_copy(fid_call *call) {
    fidk_box to = fidk_box_of(fid_out_tensor(call, 0)), from = as_pairs(fid_arg_tensor(call, 0), to.dtype);
    fidk_box_copy(&to, &from);
    return FID_OK;
}

static fid_status run_view_as_complex_copy(fid_call *call) {
    fidk_box from = fidk_box_of(fid_arg_tensor(call, 0)), to = as_pairs(fid_out_tensor(call, 0), from.dtype);
    fidk_box_copy(&to, &from);
    return FID_OK;
}

const fid_kernel fid_ref_view_as_real_copy = {.run = run_view_as_real_copy};
const fid_kernel fid_ref_view_as_complex_copy = {.run = run_view_as_complex_copy};

/* One part of every complex number; the number itself if it is not complex. */
static fid_status copy_part(fid_call *call, int64_t part) {
    const fid_tensor *self = fid_arg_tensor(call, 0);
    fidk_box to = fidk_box_of(fid_out_tensor(call, 0)), from = fidk_box_of(self);
    if (fid_dtype_is_complex(from.dtype)) {
        from = as_pairs(self, to.dtype);
        fidk_box_select(&from, from.rank - 1, part);
    }
    fidk_box_copy(&to, &from);
    return FID_OK;
}

static fid_status run_real(fid_call *call) { return copy_part(call, 0); }
static fid_status run_imag(fid_call *call) { return copy_part(call, 1); }

const fid_kernel fid_ref_real = {.run = run_real};
const fid_kernel fid_ref_imag = {.run = run_imag};

/* A tensor as bytes, with a last dimension over the bytes of an element. */
static fidk_box as_bytes(const fid_tensor *tensor) {
    fidk_box box = fidk_box_of(tensor);
    int64_t size = (int64_t)fid_dtype_size(box.dtype);
    for (size_t i = 0; i < box.rank; i++) box.strides[i] *= size;
    fidk_box_insert(&box, box.rank, size, 1);
    box.dtype = FID_UINT8;
    return box;
}

static fid_status run_view_dtype(fid_call *call) {
    fidk_box to = as_bytes(fid_out_tensor(call, 0)), from = as_bytes(fid_arg_tensor(call, 0));
    fidk_box_reshape(&to, &from);
    return FID_OK;
}

const fid_kernel fid_ref_view_dtype = {.run = run_view_dtype};

/* ---- Signs that PyTorch keeps in the view ---- */

static fid_complex128 conjugate(fid_complex128 c) { return (fid_complex128){c.re, -c.im}; }

/* Conjugates or negates while copying. */
static fid_status copy_signed(fid_call *call, bool negate) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    fid_dtype dtype = (fid_dtype)self->dtype;
    fidk_form form = fidk_form_of(dtype);
    fidk_walk walk;
    fidk_walk_begin(&walk, out->sizes, out->rank);
    fidk_walk_add(&walk, out);
    fidk_walk_add(&walk, self);
    FIDK_WALK(&walk) {
        fidk_element e = fidk_load(dtype, self->data, walk.at[1]);
        if (form == FIDK_COMPLEX) e.c = negate ? (fid_complex128){-e.c.re, -e.c.im} : conjugate(e.c);
        else if (negate && form == FIDK_REAL) e.d = -e.d;
        else if (negate) e.i = (int64_t)(0 - (uint64_t)e.i);
        fidk_store(dtype, out->data, walk.at[0], e);
    }
    return FID_OK;
}

static fid_status run_conj(fid_call *call) { return copy_signed(call, false); }
static fid_status run_neg_view(fid_call *call) { return copy_signed(call, true); }

const fid_kernel fid_ref__conj = {.run = run_conj};
const fid_kernel fid_ref_conj = {.run = run_conj};
const fid_kernel fid_ref__conj_physical = {.run = run_conj};
const fid_kernel fid_ref__neg_view = {.run = run_neg_view};
