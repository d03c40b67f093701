/* The backend: which nodes XNNPACK can have, and a part's nodes to a blob. */
#include <math.h>

#include "backends/xnnpack/compile/xnn_backend.h"
#include "backends/xnnpack/compile/xnn_lower.h"
#include "base/checked.h"

/* ---- Rows ---- */

const fidc_xnn_row *fidc_xnn_row_of(const fidc_node *node) {
    const fidc_xnn_rows *const families[] = {&fidc_xnn_pointwise, &fidc_xnn_weights, &fidc_xnn_images, &fidc_xnn_moves};
    fid_op_id id = fidc_op_id(node->graph->program, node->op);
    for (size_t f = 0; id < FID_OP_COUNT && f < sizeof families / sizeof *families; f++)
        for (size_t i = 0; i < families[f]->count; i++)
            if (families[f]->rows[i].op == id) return &families[f]->rows[i];
    return NULL;
}

/* XNNPACK has no empty tensors: a size that only running tells must be one at least. */
static bool may_be_empty(const fidc_expr *e) {
    if (!e) return false;
    bool by_data = e->kind == FIDC_EXPR_BOUNDED || (e->kind == FIDC_EXPR_SYMBOL && e->symbol[0] == 'u');
    return (by_data && e->low < 1) || may_be_empty(e->a) || may_be_empty(e->b);
}

static bool has_data(const fidc_value *value) {
    int64_t sizes[FID_XNN_MAX_RANK];
    size_t bytes;
    for (size_t i = 0; i < value->rank; i++) sizes[i] = fidc_size(value, i);
    return value->constant->data && fid_mul_sizes(sizes, value->rank, &bytes) && fid_mul_size(bytes, sizeof(float), &bytes) && bytes <= value->constant->bytes;
}

bool fidc_xnn_fits(const fidc_value *value) {
    if (!value || value->type != FIDC_TENSOR || value->dtype != FID_FLOAT32 || value->rank > FID_XNN_MAX_RANK) return false;
    if (!value->rank && !fidc_is_constant(value)) return false;
    for (size_t i = 0; i < value->rank; i++) {
        int64_t high = fidc_expr_at(value->sizes[i], FIDC_AT_HIGH);
        if (high < 1 || high > INT32_MAX || may_be_empty(value->sizes[i]) || value->dim_order[i] != i) return false;
    }
    return !fidc_is_constant(value) || has_data(value);
}

bool fidc_xnn_is_weight(const fidc_value *value) { return fidc_xnn_fits(value) && fidc_is_constant(value) && fidc_sizes_static(value); }

static fidc_rewriter reader_of(const fidc_node *node) {
    return (fidc_rewriter){.program = node->graph->program, .graph = node->graph, .node = (fidc_node *)(uintptr_t)node};
}

bool fidc_xnn_takes(const fidc_node *node) {
    const fidc_xnn_row *row = fidc_xnn_row_of(node);
    fidc_rewriter rw = reader_of(node);
    return row && node->output_count && fidc_xnn_fits(node->outputs[0]) && row->takes(&rw);
}

static bool is_move(const fidc_node *node) {
    const fidc_xnn_row *row = fidc_xnn_row_of(node);
    return row && row->traits & FIDC_XNN_MOVE;
}

/* ---- Nodes that go into others: their scratch is themselves while a part is lowered ---- */

/* The node of the part that makes a value for one reader only, inside; NULL: there is none. */
static fidc_node *sole_maker(const fidc_part *part, const fidc_value *value) {
    if (!value || value->uses != 1 || value->origin != FIDC_FROM_NODE) return NULL;
    for (uint32_t i = 0; i < part->output_count; i++)
        if (part->outputs[i] == value) return NULL;
    for (uint32_t i = 0; i < part->node_count; i++)
        if (part->nodes[i] == value->producer) return value->producer;
    return NULL;
}

/* The scratch of a node that took a clamp is the clamp. */
static void take_clamp(const fidc_part *part, fidc_node *clamp) {
    fidc_node *node = fidc_xnn_row_of(clamp)->traits & FIDC_XNN_IS_CLAMP ? sole_maker(part, fidc_value_of(&clamp->args[0])) : NULL;
    if (!node || node->scratch || !(fidc_xnn_row_of(node)->traits & FIDC_XNN_CLAMPS)) return;
    node->scratch = clamp;
    clamp->scratch = clamp;
}

static void take_frame(const fidc_part *part, fidc_node *node) {
    fidc_rewriter rw = reader_of(node);
    fidc_node *frame = fidc_xnn_frame_of(&rw);
    if (frame && sole_maker(part, frame->outputs[0])) frame->scratch = frame;
}

fidc_value *fidc_xnn_result(const fidc_rewriter *rw) {
    const fidc_node *clamp = rw->node->scratch;
    return clamp ? clamp->outputs[0] : rw->node->outputs[0];
}

fidc_xnn_node *fidc_xnn_begin(fidc_xnn_lowering *l, const fidc_rewriter *rw, fid_xnn_type type) {
    fidc_xnn_node *made = fidc_xnn_blob_node(&l->blob, type);
    if (!made || !rw->node->scratch) return made;
    fidc_rewriter clamp = reader_of(rw->node->scratch);
    made->clamped = fidc_xnn_clamp_of(&clamp, &made->low, &made->high);
    return made;
}

/* ---- Nodes that only move ---- */

void fidc_xnn_transpose(fidc_xnn_lowering *l, uint32_t input, uint32_t output, const uint8_t *perm, size_t rank) {
    uint32_t wide[FID_XNN_MAX_RANK];
    for (size_t i = 0; i < rank; i++) wide[i] = perm[i];
    fidc_xnn_node *node = fidc_xnn_blob_node(&l->blob, FID_XNN_StaticTranspose);
    fidc_xnn_set(node, FID_XNN_Transpose_num_dims, (uint32_t)rank);
    fidc_xnn_set_vector(&l->blob, node, FID_XNN_Transpose_perm, wide, rank);
    fidc_xnn_set(node, FID_XNN_Transpose_input_id, input);
    fidc_xnn_set(node, FID_XNN_Transpose_output_id, output);
}

void fidc_xnn_reshape(fidc_xnn_lowering *l, uint32_t input, uint32_t output, const fidc_expr *const *sizes, size_t rank) {
    uint32_t shape[FID_XNN_MAX_RANK];
    for (size_t i = 0; i < rank; i++) shape[i] = fidc_expr_is_const(sizes[i]) ? (uint32_t)sizes[i]->constant : 0; /* 0: worked out */
    fidc_xnn_node *node = fidc_xnn_blob_node(&l->blob, FID_XNN_StaticReshape);
    fidc_xnn_set(node, FID_XNN_Reshape_num_dims, (uint32_t)rank);
    fidc_xnn_set_vector(&l->blob, node, FID_XNN_Reshape_new_shape, shape, rank);
    fidc_xnn_set(node, FID_XNN_Reshape_input_id, input);
    fidc_xnn_set(node, FID_XNN_Reshape_output_id, output);
}

/* ---- A part ---- */

static void clear_arg(const fidc_arg *arg) {
    fidc_value *value = fidc_value_of(arg);
    if (value) value->scratch = NULL;
    for (uint32_t i = 0; arg->kind == FIDC_ARG_LIST && i < arg->as.list.count; i++) clear_arg(&arg->as.list.items[i]);
}

static void clear_scratch(const fidc_part *part) {
    for (uint32_t i = 0; i < part->node_count; i++) {
        fidc_node *node = part->nodes[i];
        node->scratch = NULL;
        for (uint32_t k = 0; k < node->arg_count; k++) clear_arg(&node->args[k]);
        for (uint32_t k = 0; k < node->output_count; k++) node->outputs[k]->scratch = NULL;
    }
}

static void define_inputs(fidc_xnn_lowering *l) {
    for (uint32_t i = 0; i < l->part->input_count; i++) {
        fidc_value *value = l->part->inputs[i];
        uint32_t id = fidc_xnn_write(l, value, FIDC_XNN_PLAIN);
        if (id == FID_XNN_NO_ID) return;
        l->blob.values[id].external = i;
        l->blob.values[id].flags = FID_XNN_VALUE_INPUT;
    }
}

static fid_status lower(const fidc_part *part, fidc_delegate *out_delegate) {
    fidc_xnn_lowering l = {.part = part, .program = part->program, .blob = {.arena = &part->program->arena, .external_count = part->input_count + part->output_count}};
    clear_scratch(part);
    for (uint32_t i = 0; i < part->node_count; i++) {
        take_clamp(part, part->nodes[i]);
        take_frame(part, part->nodes[i]);
    }
    define_inputs(&l);
    for (uint32_t i = 0; i < part->node_count && !l.blob.failed && l.status == FID_OK; i++) {
        fidc_rewriter rw = reader_of(part->nodes[i]);
        const fidc_xnn_row *row = fidc_xnn_row_of(part->nodes[i]);
        if (part->nodes[i]->scratch != part->nodes[i]) row->lower(&l, &rw, row);
    }
    for (uint32_t i = 0; i < part->output_count && !l.blob.failed && l.status == FID_OK; i++) fidc_xnn_read(&l, part->outputs[i], FIDC_XNN_PLAIN);
    FID_TRY(l.status);
    return fidc_xnn_blob_finish(&l.blob, part->program->allocator, part->program->sink, &out_delegate->blob, &out_delegate->bytes);
}

const fidc_backend fidc_backend_xnnpack = {.target = "xnnpack", .name = "XnnpackBackend", .takes = fidc_xnn_takes, .is_move = is_move, .lower = lower};
