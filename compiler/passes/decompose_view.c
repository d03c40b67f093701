/* View operators into their *_copy rows. What leaves every element where it was becomes the input itself. */
#include "compiler/passes/rewrite.h"

/* ---- Other sizes ---- */

/* view, reshape, flatten, unflatten, view_as, ravel, atleast_nd: the archive knows the sizes of the result. An argument that is
 * a value stays one; only where the operator has no sizes argument are they made from expressions. */
static fid_status view_sizes(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    return fidc_rw_become(rw, fidc_rw_view(rw, x, out->sizes, out->rank));
}

static bool has_value(const fidc_arg *items, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (items[i].kind == FIDC_ARG_VALUE) return true;
    }
    return false;
}

static fid_status view(fidc_rewriter *rw) {
    size_t count;
    const fidc_arg *items = fidc_rw_items(rw, 1, &count);
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    if (!has_value(items, count) || fidc_rw_same_sizes(x, out->sizes, out->rank)) return view_sizes(rw);
    return fidc_rw_become(rw, RW(rw, view_copy, fidc_v(x), fidc_list(rw->program, items, count)));
}

static fid_status each_view(fidc_rewriter *rw) {
    size_t count;
    const fidc_arg *items = fidc_rw_items(rw, 0, &count);
    fidc_value *values[64] = {NULL};
    if (count > 64 || count != rw->node->output_count) return fidc_rw_refuse(rw, "more than 64 tensors, or not one result each");
    for (size_t i = 0; i < count; i++) {
        fidc_value *out = rw->node->outputs[i];
        values[i] = fidc_rw_view(rw, fidc_value_of(&items[i]), out->sizes, out->rank);
    }
    return fidc_rw_become_all(rw, values, count);
}

static fid_status view_dtype(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    return x->dtype == fidc_rw_out(rw)->dtype ? fidc_rw_become(rw, x) : fidc_rw_keep(rw);
}

static fid_status unsqueeze(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    return fidc_rw_become(rw, fidc_rw_unsqueeze(rw, x, fidc_rw_dim(rw, 1, 0, x->rank + 1)));
}

/* dims NULL: all. Dimensions whose size is not one stay. */
static fid_status squeeze_dims(fidc_rewriter *rw, const int64_t *dims, size_t count) {
    fidc_value *x = fidc_rw_value(rw, 0);
    int64_t gone[FID_MAX_RANK];
    size_t gone_count = 0;
    for (size_t d = 0; d < x->rank; d++) {
        bool named = !dims;
        for (size_t i = 0; i < count; i++) named = named || fidc_wrap(dims[i], x->rank) == (int64_t)d;
        if (named && fidc_size(x, d) == 1) gone[gone_count++] = (int64_t)d;
    }
    if (!gone_count) return fidc_rw_become(rw, x);
    return fidc_rw_become(rw, RW(rw, squeeze_copy_dims, fidc_v(x), fidc_ints(rw->program, gone, gone_count)));
}

static fid_status squeeze_all(fidc_rewriter *rw) { return squeeze_dims(rw, NULL, 0); }

static fid_status squeeze_some(fidc_rewriter *rw) {
    int64_t dims[FID_MAX_RANK];
    size_t count;
    if (!fidc_rw_ints(rw, 1, dims, &count)) return fidc_rw_refuse(rw, "dimensions that are not constant");
    return squeeze_dims(rw, dims, count);
}

/* ---- Another order ---- */

static fid_status permute(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    int64_t dims[FID_MAX_RANK];
    size_t count;
    if (!fidc_rw_ints(rw, 1, dims, &count)) return fidc_rw_refuse(rw, "dimensions that are not constant");
    for (size_t i = 0; i < count; i++) dims[i] = fidc_wrap(dims[i], x->rank);
    return fidc_rw_become(rw, fidc_rw_permute(rw, x, dims));
}

static fid_status transpose(fidc_rewriter *rw) {
    return fidc_rw_become(rw, fidc_rw_transpose(rw, fidc_rw_value(rw, 0), fidc_rw_int(rw, 1, 0), fidc_rw_int(rw, 2, 0)));
}

static fid_status transpose_last(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    return fidc_rw_become(rw, x->rank < 2 ? x : fidc_rw_transpose(rw, x, -2, -1));
}

/* Transposed and conjugated. */
static fid_status adjoint(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    if (!fid_dtype_is_complex(x->dtype)) return transpose_last(rw);
    return fidc_rw_become(rw, fidc_rw_op1(rw, FID_OPID_conj_physical, x->rank < 2 ? x : fidc_rw_transpose(rw, x, -2, -1)));
}

static fid_status reverse_dims(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    int64_t dims[FID_MAX_RANK];
    for (size_t i = 0; i < x->rank; i++) dims[i] = (int64_t)(x->rank - 1 - i);
    return fidc_rw_become(rw, fidc_rw_permute(rw, x, dims));
}

/* Dimension source[i] goes to destination[i]; the others keep their order in the places that remain. */
static fid_status movedim(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    int64_t source[FID_MAX_RANK], destination[FID_MAX_RANK], dims[FID_MAX_RANK];
    size_t count, other;
    if (!fidc_rw_ints(rw, 1, source, &count) || !fidc_rw_ints(rw, 2, destination, &other)) {
        return fidc_rw_refuse(rw, "dimensions that are not constant");
    }
    bool moved[FID_MAX_RANK] = {false};
    if (!x->rank) return fidc_rw_become(rw, x);
    for (size_t i = 0; i < x->rank; i++) dims[i] = -1;
    for (size_t i = 0; i < count; i++) {
        int64_t from = fidc_wrap(source[i], x->rank), to = fidc_wrap(destination[i], x->rank);
        if (count != other || moved[from] || dims[to] >= 0) return fidc_rw_refuse(rw, "each dimension can be moved once, to one place");
        dims[to] = from;
        moved[from] = true;
    }
    int64_t next = 0;
    for (size_t i = 0; i < x->rank; i++) {
        if (dims[i] >= 0) continue;
        while (moved[next]) next++;
        dims[i] = next++;
    }
    return fidc_rw_become(rw, fidc_rw_permute(rw, x, dims));
}

/* ---- Repetition ---- */

static fid_status expand_sizes(fidc_rewriter *rw) {
    fidc_value *out = fidc_rw_out(rw);
    return fidc_rw_become(rw, fidc_rw_expand(rw, fidc_rw_value(rw, 0), out->sizes, out->rank));
}

static fid_status expand(fidc_rewriter *rw) {
    size_t count;
    const fidc_arg *items = fidc_rw_items(rw, 1, &count);
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    if (!has_value(items, count) || fidc_rw_same_sizes(x, out->sizes, out->rank)) return expand_sizes(rw);
    return fidc_rw_become(rw, RW(rw, expand_copy, fidc_v(x), fidc_list(rw->program, items, count)));
}

static fid_status broadcast_tensors(fidc_rewriter *rw) {
    size_t count;
    const fidc_arg *items = fidc_rw_items(rw, 0, &count);
    fidc_value *values[64] = {NULL};
    if (count > 64 || count != rw->node->output_count) return fidc_rw_refuse(rw, "more than 64 tensors, or not one result each");
    for (size_t i = 0; i < count; i++) {
        fidc_value *out = rw->node->outputs[i];
        values[i] = fidc_rw_expand(rw, fidc_value_of(&items[i]), out->sizes, out->rank);
    }
    return fidc_rw_become_all(rw, values, count);
}

/* Tensor i lies along dimension i; with "xy" the first two dimensions of the grid are swapped. */
static fid_status meshgrid(fidc_rewriter *rw) {
    size_t count;
    const fidc_arg *items = fidc_rw_items(rw, 0, &count);
    bool swapped = strcmp(fidc_rw_string(rw, 1, "ij"), "xy") == 0 && count >= 2;
    fidc_value *values[FID_MAX_RANK] = {NULL};
    if (count > FID_MAX_RANK || count != rw->node->output_count) return fidc_rw_refuse(rw, "more tensors than a tensor has dimensions");
    for (size_t i = 0; i < count; i++) {
        fidc_value *out = rw->node->outputs[i];
        if (out->rank != count) return fidc_rw_refuse(rw, "a grid has a dimension for each tensor");
        const fidc_expr *sizes[FID_MAX_RANK];
        size_t along = swapped && i < 2 ? 1 - i : i;
        for (size_t d = 0; d < count; d++) sizes[d] = d == along ? out->sizes[d] : fidc_expr_const(rw->program, 1);
        values[i] = fidc_rw_expand(rw, fidc_rw_view(rw, fidc_value_of(&items[i]), sizes, count), out->sizes, out->rank);
    }
    return fidc_rw_become_all(rw, values, count);
}

/* ---- Parts ---- */

/* An index that only data tell may be any number for all that is known here: the sizes are those of the archive. */
static fid_status select_index(fidc_rewriter *rw) {
    fidc_arg index = fidc_rw_arg(rw, 2);
    if (!fidc_value_of(&index)) return fidc_rw_rename(rw, FID_OPID_select_copy_int);
    rw->node->op = &rw->program->ops->ops[FID_OPID_select_copy_int];
    rw->changed = true;
    return FID_OK;
}

static bool covers_all(const fidc_rewriter *rw, const fidc_value *x) {
    const fidc_value *out = fidc_rw_out(rw);
    bool forward = fidc_rw_is_none(rw, 2) || fidc_rw_int(rw, 2, -1) == 0;
    return forward && fidc_rw_int(rw, 4, 1) == 1 && fidc_same_sizes(x, out);
}

static fid_status slice(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    return covers_all(rw, x) ? fidc_rw_become(rw, x) : fidc_rw_rename(rw, FID_OPID_slice_copy_Tensor);
}

static fid_status narrow(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    int64_t dim = fidc_rw_dim(rw, 1, 0, x->rank), start = fidc_rw_int(rw, 2, -1);
    if (fidc_same_sizes(x, out)) return fidc_rw_become(rw, x);
    if (fidc_size(out, (size_t)dim) < 0 || (start < 0 && fidc_rw_arg(rw, 2).kind == FIDC_ARG_VALUE)) {
        return fidc_rw_rename(rw, FID_OPID_narrow_copy);
    }
    if (start < 0) start += fidc_size(x, (size_t)dim);
    return fidc_rw_become(rw, fidc_rw_slice(rw, x, dim, fidc_i(start), fidc_i(start + fidc_size(out, (size_t)dim))));
}

/* All splits: the outputs say how long each part is. */
static fid_status split_along(fidc_rewriter *rw, int64_t dim) {
    fidc_value *x = fidc_rw_value(rw, 0);
    fidc_node *node = rw->node;
    if (node->output_count == 1) return fidc_rw_become(rw, x);
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (!x->rank || node->outputs[i]->rank != x->rank) return fidc_rw_refuse(rw, "a part has another rank than the whole");
    }
    fidc_arg *sizes = fidc_allocate(rw->program, node->output_count * sizeof *sizes);
    if (!sizes) return FID_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < node->output_count; i++) sizes[i] = fidc_rw_expr(rw, node->outputs[i]->sizes[dim]);
    fidc_arg args[] = {fidc_v(x), fidc_list(rw->program, sizes, node->output_count), fidc_i(dim)};
    fidc_node *split = fidc_rw_emit_node(rw, FID_OPID_split_with_sizes_copy, args, 3, node->output_count);
    if (!split) return fidc_rw_keep(rw);
    return fidc_rw_become_all(rw, split->outputs, split->output_count);
}

static fid_status split_dim_2(fidc_rewriter *rw) { return split_along(rw, fidc_rw_dim(rw, 2, 0, fidc_rw_value(rw, 0)->rank)); }
/* Element i of a vector as a number; NONE outside: there the whole begins or ends. */
static fidc_arg element(fidc_rewriter *rw, fidc_value *vector, uint32_t i, uint32_t count) {
    if (i >= count) return fidc_none();
    fidc_value *one = RW(rw, select_copy_int, fidc_v(vector), fidc_i(0), fidc_i(i));
    fidc_arg args[] = {fidc_v(one)};
    fidc_node *made = one ? fidc_node_create_raw(rw->graph, rw->node, &rw->program->ops->ops[FID_OPID__local_scalar_dense], args, 1) : NULL;
    fidc_value *out = made ? fidc_node_add_output(made, NULL, FIDC_INT) : NULL;
    if (!out) return fidc_none();
    out->number = fidc_expr_bounded(rw->program, 0, FIDC_UNBOUNDED, 1);
    made->source = rw->node->source;
    made->module = rw->node->module;
    return fidc_v(out);
}

/* Part `like` from start to end, both data; its sizes are the archive's. */
static fidc_value *part(fidc_rewriter *rw, fidc_value *x, int64_t dim, fidc_arg start, fidc_arg end, const fidc_value *like) {
    fidc_arg args[] = {fidc_v(x), fidc_i(dim), start, end, fidc_i(1)};
    fidc_node *made = fidc_node_create_raw(rw->graph, rw->node, &rw->program->ops->ops[FID_OPID_slice_copy_Tensor], args, 5);
    fidc_value *out = made ? fidc_node_add_output(made, NULL, FIDC_TENSOR) : NULL;
    if (!out) return NULL;
    out->dtype = like->dtype;
    out->rank = like->rank;
    out->sizes = like->sizes;
    for (uint8_t d = 0; d < out->rank; d++) out->dim_order[d] = d;
    made->source = rw->node->source;
    made->module = rw->node->module;
    return out;
}

/* A vector of indices where parts begin; a tensor of one number, the count of equal parts, shows in the results' sizes. */
static fid_status split_by_tensor(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *indices = fidc_rw_value(rw, 1), *values[64] = {NULL};
    uint32_t count = rw->node->output_count;
    int64_t dim = fidc_rw_dim(rw, 2, 0, x->rank);
    if (indices->rank != 1) return split_along(rw, dim);
    if (!x->rank || count < 1 || count > 64 || fidc_size(indices, 0) != (int64_t)count - 1) {
        return fidc_rw_refuse(rw, "not one part more than there are indices, or more than 64");
    }
    for (uint32_t i = 0; i < count; i++) {
        if (rw->node->outputs[i]->rank != x->rank) return fidc_rw_refuse(rw, "a part has another rank than the whole");
        fidc_arg start = i ? element(rw, indices, i - 1, count - 1) : fidc_none();
        values[i] = part(rw, x, dim, start, element(rw, indices, i, count - 1), rw->node->outputs[i]);
    }
    return fidc_rw_become_all(rw, values, count);
}

static fid_status vsplit(fidc_rewriter *rw) { return split_along(rw, 0); }
static fid_status dsplit(fidc_rewriter *rw) { return split_along(rw, fidc_wrap(2, fidc_rw_value(rw, 0)->rank)); }
static fid_status hsplit(fidc_rewriter *rw) { return split_along(rw, fidc_rw_value(rw, 0)->rank == 1 ? 0 : 1); }

static fid_status unbind(fidc_rewriter *rw) {
    fidc_node *made = fidc_rw_emit_node(rw, FID_OPID_unbind_copy_int, rw->node->args, rw->node->arg_count, rw->node->output_count);
    if (!made) return fidc_rw_keep(rw);
    return fidc_rw_become_all(rw, made->outputs, made->output_count);
}

static fid_status linalg_diagonal(fidc_rewriter *rw) {
    return fidc_rw_become(rw, RW(rw, diagonal_copy, fidc_rw_arg(rw, 0), fidc_rw_arg(rw, 1), fidc_rw_arg(rw, 2), fidc_rw_arg(rw, 3)));
}

static fid_status diagonal(fidc_rewriter *rw) { return fidc_rw_rename(rw, FID_OPID_diagonal_copy); }
static fid_status unfold(fidc_rewriter *rw) { return fidc_rw_rename(rw, FID_OPID_unfold_copy); }
static fid_status as_strided(fidc_rewriter *rw) { return fidc_rw_rename(rw, FID_OPID_as_strided_copy); }
static fid_status as_real(fidc_rewriter *rw) { return fidc_rw_rename(rw, FID_OPID_view_as_real_copy); }
static fid_status as_complex(fidc_rewriter *rw) { return fidc_rw_rename(rw, FID_OPID_view_as_complex_copy); }

/* ---- The same tensor ---- */

static fid_status same(fidc_rewriter *rw) { return fidc_rw_become(rw, fidc_rw_value(rw, 0)); }

static fid_status real_or_conj(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0);
    return fid_dtype_is_complex(x->dtype) ? fidc_rw_keep(rw) : fidc_rw_become(rw, x);
}

/* Outside training a dropout hands its input through, as the same tensor. */
static fid_status dropout(fidc_rewriter *rw) {
    if (fidc_rw_bool(rw, 2, false) && fidc_rw_double(rw, 1, 0) != 0) return fidc_rw_refuse(rw, "dropout in training mode; export the model after model.eval()");
    return same(rw);
}

/* Every tensor inside is dense in logical order, so only the dtype can change. `copy_arg`: where the operator has its copy flag. */
static fid_status to_copy_at(fidc_rewriter *rw, uint32_t copy_arg) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    if (x->dtype == out->dtype && fidc_rw_bool(rw, copy_arg, false)) return fidc_rw_become(rw, RW(rw, clone, fidc_v(x)));
    return fidc_rw_become(rw, fidc_rw_cast(rw, x, (fid_dtype)out->dtype));
}

static fid_status to(fidc_rewriter *rw) { return to_copy_at(rw, 3); }
static fid_status to_device(fidc_rewriter *rw) { return to_copy_at(rw, 4); }
static fid_status to_layout(fidc_rewriter *rw) { return to_copy_at(rw, 6); }
static fid_status type_as(fidc_rewriter *rw) { return to_copy_at(rw, UINT32_MAX); }

/* What a larger shape adds is not said. */
static fid_status resize(fidc_rewriter *rw) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = fidc_rw_out(rw);
    const fidc_expr *count = fidc_expr_product(rw->program, out->sizes, out->rank), *whole = fidc_expr_product(rw->program, x->sizes, x->rank);
    bool fits = count == whole || (fidc_expr_is_const(count) && fidc_expr_is_const(whole) && count->constant <= whole->constant);
    if (!fits) return fidc_rw_refuse(rw, "a tensor resized to more elements than it has: what the others are is not said");
    x = fidc_rw_view(rw, x, &whole, 1);
    if (count != whole) x = fidc_rw_slice(rw, x, 0, fidc_i(0), fidc_i(count->constant));
    return fidc_rw_become(rw, fidc_rw_view(rw, x, out->sizes, out->rank));
}

static const fidc_rule_row rows[] = {
    {FID_OPID_view, view},
    {FID_OPID_resize, resize},
    {FID_OPID_reshape, view},
    {FID_OPID__unsafe_view, view},
    {FID_OPID__reshape_alias, view_sizes},
    {FID_OPID_view_as, view_sizes},
    {FID_OPID_reshape_as, view_sizes},
    {FID_OPID_flatten_using_ints, view_sizes},
    {FID_OPID_unflatten_int, view_sizes},
    {FID_OPID_ravel, view_sizes},
    {FID_OPID_atleast_1d, view_sizes},
    {FID_OPID_atleast_2d, view_sizes},
    {FID_OPID_atleast_3d, view_sizes},
    {FID_OPID_atleast_1d_Sequence, each_view},
    {FID_OPID_atleast_2d_Sequence, each_view},
    {FID_OPID_atleast_3d_Sequence, each_view},
    {FID_OPID_view_dtype, view_dtype},
    {FID_OPID_unsqueeze, unsqueeze},
    {FID_OPID_squeeze, squeeze_all},
    {FID_OPID_squeeze_dim, squeeze_some},
    {FID_OPID_squeeze_dims, squeeze_some},
    {FID_OPID_squeeze_copy, squeeze_all},
    {FID_OPID_squeeze_copy_dim, squeeze_some},
    {FID_OPID_permute, permute},
    {FID_OPID_transpose_int, transpose},
    {FID_OPID_transpose_copy_int, transpose},
    {FID_OPID_swapaxes, transpose},
    {FID_OPID_swapdims, transpose},
    {FID_OPID_t, transpose_last},
    {FID_OPID_t_copy, transpose_last},
    {FID_OPID_mT, transpose_last},
    {FID_OPID_mH, adjoint},
    {FID_OPID_matrix_H, adjoint},
    {FID_OPID_adjoint, adjoint},
    {FID_OPID_numpy_T, reverse_dims},
    {FID_OPID_movedim_int, movedim},
    {FID_OPID_movedim_intlist, movedim},
    {FID_OPID_moveaxis_int, movedim},
    {FID_OPID_moveaxis_intlist, movedim},
    {FID_OPID_expand, expand},
    {FID_OPID_broadcast_to, expand},
    {FID_OPID_expand_as, expand_sizes},
    {FID_OPID_broadcast_tensors, broadcast_tensors},
    {FID_OPID_meshgrid, meshgrid},
    {FID_OPID_meshgrid_indexing, meshgrid},
    {FID_OPID_select_int, select_index},
    {FID_OPID_slice_Tensor, slice},
    {FID_OPID_narrow, narrow},
    {FID_OPID_split_Tensor, split_dim_2},
    {FID_OPID_split_copy_Tensor, split_dim_2},
    {FID_OPID_split_sizes, split_dim_2},
    {FID_OPID_split_with_sizes, split_dim_2},
    {FID_OPID_unsafe_split_Tensor, split_dim_2},
    {FID_OPID_unsafe_split_with_sizes, split_dim_2},
    {FID_OPID_chunk, split_dim_2},
    {FID_OPID_unsafe_chunk, split_dim_2},
    {FID_OPID_tensor_split_sections, split_dim_2},
    {FID_OPID_tensor_split_indices, split_dim_2},
    {FID_OPID_tensor_split_tensor_indices_or_sections, split_by_tensor},
    {FID_OPID_hsplit_int, hsplit},
    {FID_OPID_hsplit_array, hsplit},
    {FID_OPID_vsplit_int, vsplit},
    {FID_OPID_vsplit_array, vsplit},
    {FID_OPID_dsplit_int, dsplit},
    {FID_OPID_dsplit_array, dsplit},
    {FID_OPID_unbind_int, unbind},
    {FID_OPID_diagonal, diagonal},
    {FID_OPID_linalg_diagonal, linalg_diagonal},
    {FID_OPID_unfold, unfold},
    {FID_OPID_as_strided, as_strided},
    {FID_OPID_view_as_real, as_real},
    {FID_OPID_view_as_complex, as_complex},
    {FID_OPID_real, real_or_conj},
    {FID_OPID__conj, real_or_conj},
    {FID_OPID_conj, real_or_conj},
    {FID_OPID_resolve_conj, same},
    {FID_OPID_resolve_neg, same},
    {FID_OPID_alias, same},
    {FID_OPID_detach, same},
    {FID_OPID_lift_fresh, same},
    {FID_OPID_positive, same},
    {FID_OPID_contiguous, same},
    {FID_OPID_to_dtype, to},
    {FID_OPID_to_device, to_device},
    {FID_OPID_to_dtype_layout, to_layout},
    {FID_OPID_to_other, to},
    {FID_OPID_type_as, type_as},
    {FID_OPID_dropout, dropout},
    {FID_OPID_feature_dropout, dropout},
    {FID_OPID_alpha_dropout, dropout},
    {FID_OPID_feature_alpha_dropout, dropout},
};

void fidc_rules_add_views(fidc_rules *rules) { fidc_rules_add(rules, rows, sizeof rows / sizeof rows[0]); }
