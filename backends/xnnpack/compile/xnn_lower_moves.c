/* Operators that move elements: permutations, reshapes, concatenations, slices, padding. */
#include "backends/xnnpack/compile/xnn_lower.h"

static bool is_running(const fidc_value *x) { return fidc_xnn_fits(x) && !fidc_is_constant(x); }

/* ---- Permutations ---- */

static bool read_perm(const fidc_rewriter *rw, uint8_t *perm) {
    int64_t dims[FID_MAX_RANK];
    size_t count, rank = fidc_rw_value(rw, 0)->rank;
    uint32_t seen = 0;
    if (!fidc_rw_ints(rw, 1, dims, &count) || count != rank) return false;
    for (size_t i = 0; i < rank; i++) perm[i] = (uint8_t)fidc_wrap(dims[i], rank), seen |= 1u << perm[i];
    return seen == (1u << rank) - 1;
}

static bool takes_permute(const fidc_rewriter *rw) {
    uint8_t perm[FID_XNN_MAX_RANK];
    return is_running(fidc_rw_value(rw, 0)) && read_perm(rw, perm);
}

static bool is_identity(const uint8_t *perm, size_t rank) {
    for (size_t i = 0; i < rank; i++)
        if (perm[i] != i) return false;
    return true;
}

/* Where the input is an image only, its permutation goes into this one, which may then do nothing. */
static void lower_permute(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = rw->node->outputs[0];
    uint8_t perm[FID_XNN_MAX_RANK];
    (void)row;
    if (!read_perm(rw, perm)) return;
    fidc_xnn_layout from = fidc_xnn_choose(&x, 1, out);
    uint32_t input = fidc_xnn_read(l, x, from);
    bool to_image = out->rank == 4 && from == FIDC_XNN_PLAIN && perm[0] == 0 && perm[1] == 3 && perm[2] == 1;
    if (to_image && fidc_xnn_alias(l, out, FIDC_XNN_IMAGE, input)) return; /* (batch, height, width, channels) is what an image is */
    for (size_t i = 0; i < x->rank; i++) perm[i] = (uint8_t)fidc_xnn_dim(perm[i], from);
    if (is_identity(perm, x->rank) && fidc_xnn_alias(l, out, FIDC_XNN_PLAIN, input)) return;
    fidc_xnn_transpose(l, input, fidc_xnn_write(l, out, FIDC_XNN_PLAIN), perm, x->rank);
}

/* ---- Reshapes ---- */

static bool takes_reshape(const fidc_rewriter *rw) {
    const fidc_value *x = fidc_rw_value(rw, 0), *out = rw->node->outputs[0];
    size_t dynamic = 0;
    for (size_t i = 0; i < out->rank; i++) dynamic += !fidc_expr_is_const(out->sizes[i]);
    return is_running(x) && dynamic < 2;
}

static void lower_reshape(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = rw->node->outputs[0];
    (void)row;
    fidc_xnn_layout from = fidc_xnn_same_order(x) && fidc_xnn_place(x, FIDC_XNN_PLAIN) == FID_XNN_NO_ID ? FIDC_XNN_IMAGE : FIDC_XNN_PLAIN;
    uint32_t input = fidc_xnn_read(l, x, from);
    fidc_xnn_reshape(l, input, fidc_xnn_write(l, out, FIDC_XNN_PLAIN), out->sizes, out->rank);
}

/* ---- Concatenations: of five at most, the result of one joins the next ---- */

#define MOST_JOINED 5

static bool takes_cat(const fidc_rewriter *rw) {
    const fidc_value *out = rw->node->outputs[0];
    size_t count;
    bool runs = false;
    const fidc_arg *items = fidc_rw_items(rw, 0, &count);
    for (size_t i = 0; i < count; i++) {
        const fidc_value *item = fidc_value_of(&items[i]);
        if (!fidc_xnn_fits(item) || item->rank != out->rank) return false;
        runs |= !fidc_is_constant(item);
    }
    return runs && count >= 2 && out->rank > 0;
}

static void add_cat(fidc_xnn_lowering *l, const uint32_t *ids, size_t count, uint32_t axis, uint32_t output) {
    static const uint8_t types[] = {0, 0, FID_XNN_Concatenate2, FID_XNN_Concatenate3, FID_XNN_Concatenate4, FID_XNN_Concatenate5};
    static const uint8_t slots[] = {FID_XNN_Cat_input1_id, FID_XNN_Cat_input2_id, FID_XNN_Cat_input3_id, FID_XNN_Cat_input4_id, FID_XNN_Cat_input5_id};
    fidc_xnn_node *node = fidc_xnn_blob_node(&l->blob, types[count]);
    fidc_xnn_set(node, FID_XNN_Cat_axis, axis);
    for (size_t i = 0; i < MOST_JOINED; i++) fidc_xnn_set(node, slots[i], i < count ? ids[i] : FID_XNN_NO_ID);
    fidc_xnn_set(node, FID_XNN_Cat_output_id, output);
}

static void lower_cat(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    fidc_value *out = rw->node->outputs[0];
    size_t count, joined = 0, next = 0;
    (void)row;
    const fidc_arg *items = fidc_rw_items(rw, 0, &count);
    fidc_value **values = fidc_allocate(l->program, count * sizeof *values);
    if (!values) {
        l->blob.failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) values[i] = fidc_value_of(&items[i]);
    fidc_xnn_layout layout = fidc_xnn_choose(values, count, out);
    uint32_t axis = fidc_xnn_dim((uint32_t)fidc_rw_dim(rw, 1, 0, out->rank), layout), ids[MOST_JOINED], dims[FID_XNN_MAX_RANK], length = 0;
    while (next < count) {
        for (; joined < MOST_JOINED && next < count; next++) {
            ids[joined++] = fidc_xnn_read(l, values[next], layout);
            fidc_xnn_dims(values[next], layout, dims);
            length += dims[axis];
        }
        dims[axis] = length;
        uint32_t output = next == count ? fidc_xnn_write(l, out, layout) : fidc_xnn_temporary(l, dims, out->rank);
        add_cat(l, ids, joined, axis, output);
        ids[0] = output;
        joined = 1;
    }
}

/* ---- Slices: slice_copy(self, dim, start?, end?, step) ---- */

static bool takes_slice(const fidc_rewriter *rw) {
    const fidc_value *x = fidc_rw_value(rw, 0), *out = rw->node->outputs[0];
    bool known = fidc_rw_is_none(rw, 2) || fidc_rw_arg(rw, 2).kind == FIDC_ARG_INT;
    return is_running(x) && known && fidc_rw_int(rw, 4, 1) == 1 && fidc_sizes_static(x) && fidc_sizes_static(out);
}

/* `count` elements of a plain dimension from `start` on. */
static void add_slice(fidc_xnn_lowering *l, const fidc_value *x, fidc_xnn_layout layout, uint32_t input, uint32_t dim, int64_t start, int64_t count, uint32_t output) {
    uint32_t offsets[FID_XNN_MAX_RANK] = {0}, sizes[FID_XNN_MAX_RANK];
    fidc_xnn_dims(x, layout, sizes);
    offsets[fidc_xnn_dim(dim, layout)] = (uint32_t)start;
    sizes[fidc_xnn_dim(dim, layout)] = (uint32_t)count;
    fidc_xnn_node *node = fidc_xnn_blob_node(&l->blob, FID_XNN_StaticSlice);
    fidc_xnn_set(node, FID_XNN_Slice_num_dims, x->rank);
    fidc_xnn_set_vector(&l->blob, node, FID_XNN_Slice_offsets, offsets, x->rank);
    fidc_xnn_set_vector(&l->blob, node, FID_XNN_Slice_sizes, sizes, x->rank);
    fidc_xnn_set(node, FID_XNN_Slice_input_id, input);
    fidc_xnn_set(node, FID_XNN_Slice_output_id, output);
}

static void lower_slice(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = rw->node->outputs[0];
    (void)row;
    fidc_xnn_layout layout = fidc_xnn_choose(&x, 1, out);
    uint32_t dim = (uint32_t)fidc_rw_dim(rw, 1, 0, x->rank), input = fidc_xnn_read(l, x, layout), output = fidc_xnn_write(l, out, layout);
    int64_t start = fidc_rw_int(rw, 2, 0), last = fidc_size(x, dim) - fidc_size(out, dim);
    if (start < 0) start += fidc_size(x, dim);
    add_slice(l, x, layout, input, dim, start < 0 ? 0 : start > last ? last : start, fidc_size(out, dim), output);
}

/* One of a dimension, which goes: a slice and a reshape. */
static void add_select(fidc_xnn_lowering *l, fidc_value *x, uint32_t dim, int64_t index, fidc_value *out) {
    uint32_t dims[FID_XNN_MAX_RANK], input = fidc_xnn_read(l, x, FIDC_XNN_PLAIN);
    fidc_xnn_dims(x, FIDC_XNN_PLAIN, dims);
    dims[dim] = 1;
    uint32_t one = fidc_xnn_temporary(l, dims, x->rank);
    add_slice(l, x, FIDC_XNN_PLAIN, input, dim, index, 1, one);
    fidc_xnn_reshape(l, one, fidc_xnn_write(l, out, FIDC_XNN_PLAIN), out->sizes, out->rank);
}

/* select_copy(self, dim, index) */
static bool takes_select(const fidc_rewriter *rw) {
    const fidc_value *x = fidc_rw_value(rw, 0);
    return is_running(x) && x->rank > 1 && fidc_sizes_static(x) && fidc_rw_arg(rw, 2).kind == FIDC_ARG_INT;
}

static void lower_select(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    fidc_value *x = fidc_rw_value(rw, 0);
    uint32_t dim = (uint32_t)fidc_rw_dim(rw, 1, 0, x->rank);
    (void)row;
    add_select(l, x, dim, fidc_wrap(fidc_rw_int(rw, 2, 0), (size_t)fidc_size(x, dim)), rw->node->outputs[0]);
}

/* ---- Splits: a slice for each result that somebody reads ---- */

static bool takes_split(const fidc_rewriter *rw) {
    const fidc_value *x = fidc_rw_value(rw, 0);
    for (uint32_t i = 0; i < rw->node->output_count; i++)
        if (!fidc_xnn_fits(rw->node->outputs[i]) || !fidc_sizes_static(rw->node->outputs[i])) return false;
    return is_running(x) && fidc_sizes_static(x);
}

/* unbind_copy(self, dim): each loses the dimension. */
static void lower_unbind(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    fidc_value *x = fidc_rw_value(rw, 0);
    (void)row;
    for (uint32_t i = 0; i < rw->node->output_count; i++)
        if (rw->node->outputs[i]->uses) add_select(l, x, (uint32_t)fidc_rw_dim(rw, 1, 0, x->rank), i, rw->node->outputs[i]);
}

/* split_copy(self, size, dim), split_with_sizes_copy(self, sizes, dim) */
static void lower_split(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    fidc_value *x = fidc_rw_value(rw, 0);
    uint32_t dim = (uint32_t)fidc_rw_dim(rw, 2, 0, x->rank);
    int64_t start = 0;
    (void)row;
    for (uint32_t i = 0; i < rw->node->output_count; i++) {
        fidc_value *out = rw->node->outputs[i];
        int64_t count = fidc_size(out, dim);
        if (out->uses) {
            fidc_xnn_layout layout = fidc_xnn_choose(&x, 1, out);
            uint32_t input = fidc_xnn_read(l, x, layout);
            add_slice(l, x, layout, input, dim, start, count, fidc_xnn_write(l, out, layout));
        }
        start += count;
    }
}

/* ---- Padding: constant_pad_nd(self, pad, value): pairs of before and after, the last dim first ---- */

static bool read_padding(const fidc_rewriter *rw, fidc_xnn_layout layout, uint32_t *before, uint32_t *after) {
    size_t count, rank = fidc_rw_value(rw, 0)->rank;
    const fidc_arg *pads = fidc_rw_items(rw, 1, &count);
    if (count % 2 || count / 2 > rank) return false;
    for (size_t i = 0; i < count; i++) {
        if (pads[i].kind != FIDC_ARG_INT || pads[i].as.integer < 0 || pads[i].as.integer > INT32_MAX) return false;
        uint32_t dim = fidc_xnn_dim((uint32_t)(rank - 1 - i / 2), layout);
        (i % 2 ? after : before)[dim] = (uint32_t)pads[i].as.integer;
    }
    return true;
}

static bool takes_padding(const fidc_rewriter *rw) {
    uint32_t before[FID_XNN_MAX_RANK], after[FID_XNN_MAX_RANK];
    return is_running(fidc_rw_value(rw, 0)) && read_padding(rw, FIDC_XNN_PLAIN, before, after);
}

static void lower_padding(fidc_xnn_lowering *l, const fidc_rewriter *rw, const fidc_xnn_row *row) {
    fidc_value *x = fidc_rw_value(rw, 0), *out = rw->node->outputs[0];
    fidc_xnn_layout layout = fidc_xnn_choose(&x, 1, out);
    uint32_t before[FID_XNN_MAX_RANK] = {0}, after[FID_XNN_MAX_RANK] = {0};
    if (!read_padding(rw, layout, before, after)) return;
    uint32_t input = fidc_xnn_read(l, x, layout), output = fidc_xnn_write(l, out, layout);
    fidc_xnn_node *node = fidc_xnn_begin(l, rw, row->type);
    fidc_xnn_set_vector(&l->blob, node, FID_XNN_Pad_pre_paddings, before, x->rank);
    fidc_xnn_set_vector(&l->blob, node, FID_XNN_Pad_post_paddings, after, x->rank);
    fidc_xnn_set_float(node, FID_XNN_Pad_padding_value, (float)fidc_rw_double(rw, 2, 0));
    fidc_xnn_set(node, FID_XNN_Pad_input_id, input);
    fidc_xnn_set(node, FID_XNN_Pad_output_id, output);
}

static const fidc_xnn_row rows[] = {
    {FID_OPID_permute_copy, FID_XNN_StaticTranspose, FIDC_XNN_MOVE, takes_permute, lower_permute},
    {FID_OPID_view_copy, FID_XNN_StaticReshape, FIDC_XNN_MOVE, takes_reshape, lower_reshape},
    {FID_OPID_unsqueeze_copy, FID_XNN_StaticReshape, FIDC_XNN_MOVE, takes_reshape, lower_reshape},
    {FID_OPID_squeeze_copy_dims, FID_XNN_StaticReshape, FIDC_XNN_MOVE, takes_reshape, lower_reshape},
    {FID_OPID_cat, FID_XNN_Concatenate2, FIDC_XNN_MOVE, takes_cat, lower_cat},
    {FID_OPID_slice_copy_Tensor, FID_XNN_StaticSlice, FIDC_XNN_MOVE, takes_slice, lower_slice},
    {FID_OPID_select_copy_int, FID_XNN_StaticSlice, FIDC_XNN_MOVE, takes_select, lower_select},
    {FID_OPID_unbind_copy_int, FID_XNN_StaticSlice, FIDC_XNN_MOVE, takes_split, lower_unbind},
    {FID_OPID_split_copy_Tensor, FID_XNN_StaticSlice, FIDC_XNN_MOVE, takes_split, lower_split},
    {FID_OPID_split_with_sizes_copy, FID_XNN_StaticSlice, FIDC_XNN_MOVE, takes_split, lower_split},
    {FID_OPID_constant_pad_nd, FID_XNN_StaticConstantPad, FIDC_XNN_MOVE, takes_padding, lower_padding},
};
const fidc_xnn_rows fidc_xnn_moves = {rows, sizeof rows / sizeof *rows};
