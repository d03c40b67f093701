/* Nodes that move elements, or only say how memory is seen: those take no step where they can. */
#include "backends/xnnpack/run/xnn_translate.h"

static fid_status read_numbers(fid_xnn_graph *g, uint32_t node, uint32_t slot, size_t least, size_t most, int64_t *out, size_t *out_count) {
    fid_fb_vector numbers = fid_fb_get_vector(g->nodes[node].table, slot);
    if (numbers.count < least || numbers.count > most) return fid_xnn_fail_node(g, node, FID_INVALID_PROGRAM, "its numbers are not one for each dimension");
    for (uint32_t i = 0; i < numbers.count; i++) out[i] = (uint32_t)fid_fb_i32_at(numbers, i);
    *out_count = numbers.count;
    return FID_OK;
}

/* True if dims of more than one element stay in order. */
static bool keeps_order(const fid_xnn_value *v, const int64_t *perm) {
    int64_t last = -1;
    for (size_t i = 0; i < v->rank; i++) {
        if (v->dims[perm[i]] == 1) continue;
        if (perm[i] < last) return false;
        last = perm[i];
    }
    return true;
}

fid_status fid_xnn_translate_permute(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    int64_t perm[FID_XNN_MAX_RANK];
    uint8_t order[FID_XNN_MAX_RANK];
    size_t rank = g->values[n->inputs[0]].rank, count;
    FID_TRY(read_numbers(g, node, FID_XNN_Transpose_perm, rank, rank, perm, &count));
    for (size_t i = 0; i < rank; i++) {
        if (perm[i] >= (int64_t)rank) return fid_xnn_fail_node(g, node, FID_INVALID_PROGRAM, "its order is none of its dimensions");
        order[i] = (uint8_t)perm[i];
    }
    if (!fid_dim_order_valid(order, rank)) return fid_xnn_fail_node(g, node, FID_INVALID_PROGRAM, "its order is none of its dimensions");
    if (keeps_order(&g->values[n->inputs[0]], perm)) return fid_xnn_add_alias(g, node, FID_XNN_STEP_PERMUTE, n->inputs[0], n->outputs[0], perm, rank);
    fid_xnn_builder b = FID_XNN_BEGIN(g, node, permute_copy);
    fid_xnn_add_value(&b, n->inputs[0], FID_XNN_PLAIN);
    fid_xnn_add_ints(&b, perm, rank);
    fid_xnn_add_output(&b, n->outputs[0], FID_XNN_PLAIN);
    return fid_xnn_end(&b);
}

fid_status fid_xnn_translate_reshape(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    int64_t shape[FID_XNN_MAX_RANK];
    size_t count;
    FID_TRY(read_numbers(g, node, FID_XNN_Reshape_new_shape, 0, FID_XNN_MAX_RANK, shape, &count));
    return fid_xnn_add_alias(g, node, FID_XNN_STEP_RESHAPE, n->inputs[0], n->outputs[0], shape, count);
}

static fid_status same(fid_xnn_graph *g, uint32_t node) {
    static const int64_t perm[FID_XNN_MAX_RANK] = {0, 1, 2, 3, 4, 5};
    const fid_xnn_node *n = &g->nodes[node];
    return fid_xnn_add_alias(g, node, FID_XNN_STEP_PERMUTE, n->inputs[0], n->outputs[0], perm, g->values[n->inputs[0]].rank);
}

fid_status fid_xnn_translate_copy(fid_xnn_graph *g, uint32_t node) { return same(g, node); }

/* Between datatypes: here all are float32, so that only a grid makes a difference. */
fid_status fid_xnn_translate_convert(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    const fid_xnn_value *to = &g->values[n->outputs[0]];
    if (!to->quant.kind) return same(g, node);
    bool rows = to->datatype == FID_XNN_QDINT8;
    if (rows && to->quant.nonbatch_dims > g->values[n->inputs[0]].rank) return fid_xnn_fail_node(g, node, FID_INVALID_PROGRAM, "its rows have more dimensions than it");
    fid_xnn_builder b = fid_xnn_begin(g, node, rows ? &fid_xnn_quantize_rows : &fid_xnn_quantize);
    fid_xnn_add_value(&b, n->inputs[0], FID_XNN_PLAIN);
    if (rows) fid_xnn_add_int(&b, to->quant.nonbatch_dims);
    else {
        fid_xnn_add_double(&b, (double)to->quant.scale);
        fid_xnn_add_int(&b, to->quant.zero_point);
        fid_xnn_add_bool(&b, to->datatype == FID_XNN_QUINT8);
    }
    fid_xnn_add_output(&b, n->outputs[0], FID_XNN_PLAIN);
    return fid_xnn_end(&b);
}

/* One dim at a time. A dim that is taken whole (at its declared size) is taken whole at every size. */
fid_status fid_xnn_translate_slice(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    int64_t offsets[FID_XNN_MAX_RANK], sizes[FID_XNN_MAX_RANK];
    size_t rank = g->values[n->inputs[0]].rank, count, last = rank;
    uint32_t from = n->inputs[0];
    FID_TRY(read_numbers(g, node, FID_XNN_Slice_offsets, rank, rank, offsets, &count));
    FID_TRY(read_numbers(g, node, FID_XNN_Slice_sizes, rank, rank, sizes, &count));
    const int64_t *dims = g->values[from].dims;
    for (size_t i = 0; i < rank; i++) {
        if (sizes[i] == 0) sizes[i] = dims[i] - offsets[i]; /* all that is left */
        if (offsets[i] > dims[i] || sizes[i] < 0 || sizes[i] > dims[i] - offsets[i]) return fid_xnn_fail_node(g, node, FID_INVALID_PROGRAM, "it reaches beyond its input");
        if (offsets[i] || sizes[i] != dims[i]) last = i;
    }
    if (last == rank) return same(g, node);
    for (size_t i = 0; i <= last; i++) {
        if (offsets[i] == 0 && sizes[i] == g->values[from].dims[i]) continue;
        uint32_t to = i == last ? n->outputs[0] : fid_xnn_value_create(g, from);
        if (to == FID_XNN_NO_ID) return FID_OUT_OF_MEMORY;
        fid_xnn_builder b = FID_XNN_BEGIN(g, node, slice_copy_Tensor);
        fid_xnn_add_value(&b, from, FID_XNN_PLAIN);
        fid_xnn_add_int(&b, (int64_t)i);
        fid_xnn_add_int(&b, offsets[i]);
        fid_xnn_add_int(&b, offsets[i] + sizes[i]);
        fid_xnn_add_int(&b, 1);
        fid_xnn_add_output(&b, to, FID_XNN_PLAIN);
        FID_TRY(fid_xnn_end(&b));
        from = to;
    }
    return fid_xnn_finish_value(g, node, n->outputs[0], NULL);
}

fid_status fid_xnn_translate_pad(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    int64_t before[FID_XNN_MAX_RANK], after[FID_XNN_MAX_RANK], pads[2 * FID_XNN_MAX_RANK];
    size_t rank = g->values[n->inputs[0]].rank, count;
    FID_TRY(read_numbers(g, node, FID_XNN_Pad_pre_paddings, rank, rank, before, &count));
    FID_TRY(read_numbers(g, node, FID_XNN_Pad_post_paddings, rank, rank, after, &count));
    for (size_t i = 0; i < rank; i++) pads[2 * i] = before[rank - 1 - i], pads[2 * i + 1] = after[rank - 1 - i];
    fid_xnn_builder b = FID_XNN_BEGIN(g, node, constant_pad_nd);
    fid_xnn_add_value(&b, n->inputs[0], FID_XNN_PLAIN);
    fid_xnn_add_ints(&b, pads, 2 * rank);
    fid_xnn_add_double(&b, (double)fid_fb_get_f32(n->table, FID_XNN_Pad_padding_value, 0));
    fid_xnn_add_output(&b, n->outputs[0], FID_XNN_PLAIN);
    FID_TRY(fid_xnn_end(&b));
    return fid_xnn_finish_value(g, node, n->outputs[0], NULL);
}

fid_status fid_xnn_translate_cat(fid_xnn_graph *g, uint32_t node) {
    const fid_xnn_node *n = &g->nodes[node];
    fid_xnn_builder b = FID_XNN_BEGIN(g, node, cat);
    fid_xnn_add_values(&b, n->inputs, n->input_count);
    fid_xnn_add_int(&b, fid_fb_get_i32(n->table, FID_XNN_Cat_axis, 0)); /* an older writer has negative ones */
    fid_xnn_add_output(&b, n->outputs[0], FID_XNN_PLAIN);
    FID_TRY(fid_xnn_end(&b));
    return fid_xnn_finish_value(g, node, n->outputs[0], NULL);
}
