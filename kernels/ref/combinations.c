/* Combining elements and tensors: combinations, cartesian_prod, block_diag, diagflat, diag_embed. */
#include "kernels/ref/box.h"

static void copy_element(const fid_tensor *to, int64_t to_at, const fid_tensor *from, int64_t from_at) {
    fid_dtype source = (fid_dtype)from->dtype, target = (fid_dtype)to->dtype;
    fidk_store(target, to->data, to_at, fidk_convert(fidk_load(source, from->data, from_at), source, target));
}

/* The next choice of rising (with `repeat`: not falling) indices below n; they are read from the row before. */
static void next_choice(const int64_t *before, int64_t *row, int64_t n, int64_t r, bool repeat) {
    int64_t at = r - 1;
    while (at > 0 && before[at] == (repeat ? n - 1 : n - r + at)) at--;
    for (int64_t i = 0; i < at; i++) row[i] = before[i];
    row[at] = before[at] + 1;
    for (int64_t i = at + 1; i < r; i++) row[i] = row[i - 1] + !repeat;
}

static fid_status run_combinations(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    if (fid_tensor_numel(out) == 0) return FID_OK;
    int64_t n = self->sizes[0], r = out->sizes[1];
    bool repeat = fid_arg_bool(call, 2);
    int64_t *rows = fid_call_scratch(call, 2 * (size_t)r * sizeof *rows), *row = rows;
    if (!rows) return FID_OUT_OF_MEMORY;
    for (int64_t i = 0; i < r; i++) row[i] = repeat ? 0 : i;
    for (int64_t k = 0; k < out->sizes[0]; k++) {
        for (int64_t i = 0; i < r; i++) {
            copy_element(out, k * out->strides[0] + i * out->strides[1], self, row[i] * self->strides[0]);
        }
        int64_t *next = row == rows ? rows + r : rows;
        next_choice(row, next, n, r, repeat);
        row = next;
    }
    return FID_OK;
}

static size_t combinations_bytes(const fid_call *call) { return 2 * (size_t)fid_arg_int(call, 1) * sizeof(int64_t); }

/* The last tensor's index runs fastest. */
static fid_status run_cartesian_prod(fid_call *call) {
    const fid_value *list = call->args[0];
    const fid_tensor *out = fid_out_tensor(call, 0);
    int64_t stride = out->rank == 2 ? out->strides[1] : 0;
    for (int64_t k = 0; k < out->sizes[0]; k++) {
        int64_t rest = k;
        for (size_t i = list->as.tensors.count; i-- > 0;) {
            const fid_tensor *tensor = list->as.tensors.items[i];
            copy_element(out, k * out->strides[0] + (int64_t)i * stride, tensor, rest % tensor->sizes[0] * tensor->strides[0]);
            rest /= tensor->sizes[0];
        }
    }
    return FID_OK;
}

static fid_status run_block_diag(fid_call *call) {
    const fid_value *list = call->args[0];
    const fid_tensor *out = fid_out_tensor(call, 0);
    int64_t row = 0, column = 0;
    fidk_fill(out, fidk_convert(fidk_int(0), FID_INT64, (fid_dtype)out->dtype));
    for (size_t i = 0; i < list->as.tensors.count; i++) {
        fidk_box from = fidk_box_of(list->as.tensors.items[i]), to = fidk_box_of(out);
        while (from.rank < 2) fidk_box_insert(&from, 0, 1, 0);
        fidk_box_narrow(&to, 0, row, from.sizes[0], 1);
        fidk_box_narrow(&to, 1, column, from.sizes[1], 1);
        fidk_box_copy(&to, &from);
        row += from.sizes[0];
        column += from.sizes[1];
    }
    return FID_OK;
}

static fid_status run_diagflat(fid_call *call) {
    const fid_tensor *self = fid_arg_tensor(call, 0), *out = fid_out_tensor(call, 0);
    int64_t offset = fid_arg_int(call, 1);
    fid_diagonal diagonal = {.row_dim = 0, .column_dim = 1, .row = offset < 0 ? -offset : 0, .column = offset > 0 ? offset : 0,
                             .count = (int64_t)fid_tensor_numel(self)};
    fidk_fill(out, fidk_convert(fidk_int(0), FID_INT64, (fid_dtype)out->dtype));
    fidk_box to = fidk_box_of(out), from = fidk_box_of(self);
    fidk_box_diagonal(&to, &diagonal);
    fidk_box_reshape(&to, &from);
    return FID_OK;
}

const fid_kernel fid_ref_combinations = {.run = run_combinations, .scratch_bytes = combinations_bytes};
const fid_kernel fid_ref_cartesian_prod = {.run = run_cartesian_prod};
const fid_kernel fid_ref_block_diag = {.run = run_block_diag};
const fid_kernel fid_ref_diagflat = {.run = run_diagflat};

/* self, offset, dim1, dim2: zeros with the last dimension on a diagonal. */
static fid_status run_diag_embed(fid_call *call) {
    const fid_tensor *out = fid_out_tensor(call, 0);
    int64_t offset = fid_arg_int(call, 1);
    fid_diagonal diagonal = {.row = offset < 0 ? -offset : 0, .column = offset > 0 ? offset : 0};
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 2), out->rank, &diagonal.row_dim));
    FID_TRY(fid_wrap_dim(call, fid_arg_int(call, 3), out->rank, &diagonal.column_dim));
    fidk_box to = fidk_box_of(out), from = fidk_box_of(fid_arg_tensor(call, 0));
    diagonal.count = from.sizes[from.rank - 1];
    fidk_fill(out, fidk_convert(fidk_int(0), FID_INT64, (fid_dtype)out->dtype));
    fidk_box_diagonal(&to, &diagonal);
    fidk_box_copy(&to, &from);
    return FID_OK;
}

const fid_kernel fid_ref_diag_embed = {.run = run_diag_embed};
