/* Dim orders for the cpu target: no element is moved that can be read where it lies.
 *
 * One walk in execution order.
 * - fid::convolution reads and writes channels-last. Operators that do not care follow their input's order, so the chain between
 *   convolutions stays channels-last; a conversion stands only where a chain begins, or where a value leaves the method.
 * - A permutation whose readers take any order gets the dim order in which its input lies: the planner then elides it. Heads of
 *   attention are taken apart and put together that way. */
#include "compiler/passes/passes.h"
#include "ops/fused.h"

/* What the readers of a value accept, by value id. */
typedef struct readers {
    bool any_last;    /* every reader takes any dim order that keeps the last dimension innermost */
    bool image;       /* every reader takes channels-last */
    bool permuted;    /* every reader is one and the same permutation of four dimensions, the last of which stays: */
    uint8_t order[4];
    bool read;
    bool leaves;      /* nothing in the graph reads it: it only leaves */
    fidc_value *last; /* this value in channels-last order, once made */
} readers;

typedef struct layouter {
    fidc_program *program;
    fidc_graph *graph;
    readers *of;
    uint32_t count;
} layouter;

static bool is_last(const fidc_value *value) { return fid_is_channels_last(value->dim_order, value->rank); }

static bool is_plain(const fidc_value *value) {
    for (size_t i = 0; i < value->rank; i++)
        if (value->dim_order[i] != i) return false;
    return true;
}

static void set_last(fidc_value *value) {
    value->dim_order[0] = 0;
    for (size_t i = 1; i + 1 < value->rank; i++) value->dim_order[i] = (uint8_t)(i + 1);
    value->dim_order[value->rank - 1] = 1;
}

static fid_status no_memory(const layouter *l) { return fid_fail(l->program->sink, FID_OUT_OF_MEMORY, "no memory for a layout conversion"); }

/* ---- What readers accept ---- */

/* Operators whose kernels follow the order of their first tensor, besides pointwise ones. */
static bool follows_input(const fidc_node *node) {
    static const fid_op_id followers[] = {
        FID_OPID_convolution, FID_OPID_max_pool2d_with_indices, FID_OPID_fused_max_pool2d, FID_OPID_avg_pool2d,
        FID_OPID__adaptive_avg_pool2d, FID_OPID_upsample_nearest2d, FID_OPID_upsample_nearest2d_vec, FID_OPID_upsample_bilinear2d,
        FID_OPID_upsample_bilinear2d_vec, FID_OPID_constant_pad_nd, FID_OPID_reflection_pad2d, FID_OPID_replication_pad2d,
        FID_OPID_slice_copy_Tensor, FID_OPID_cat, FID_OPID_glu,
        FID_OPID_mean_dim, FID_OPID__native_batch_norm_legit_no_training, FID_OPID_native_group_norm, FID_OPID_pixel_shuffle,
        FID_OPID_pixel_unshuffle,
    };
    if (node->op->kind == FID_OP_POINTWISE)
        return !fidc_is(node, FID_OPID__clone_dim_order) && !fidc_is(node, FID_OPID__to_dim_order_copy) && !node->in_place;
    for (size_t i = 0; i < sizeof followers / sizeof *followers; i++)
        if (fidc_is(node, followers[i])) return true;
    return false;
}

/* The dimensions of a permutation, in [0, rank); false for other nodes. */
static bool permutation_of(const fidc_node *node, uint8_t *out_order) {
    if (!fidc_is(node, FID_OPID_permute_copy) || node->args[1].kind != FIDC_ARG_LIST || node->args[1].as.list.count != node->outputs[0]->rank)
        return false;
    int64_t rank = node->outputs[0]->rank;
    for (int64_t i = 0; i < rank; i++) {
        const fidc_arg *item = &node->args[1].as.list.items[i];
        int64_t from = item->kind != FIDC_ARG_INT ? -1 - rank : item->as.integer < 0 ? item->as.integer + rank : item->as.integer;
        if (from < 0 || from >= rank) return false;
        out_order[i] = (uint8_t)from;
    }
    return true;
}

static void note_permutation(readers *r, const fidc_node *node, bool first) {
    uint8_t order[FID_MAX_RANK];
    bool heads = permutation_of(node, order) && node->outputs[0]->rank == 4 && order[3] == 3;
    r->permuted = r->permuted && heads && (first || memcmp(r->order, order, sizeof r->order) == 0);
    if (r->permuted) memcpy(r->order, order, sizeof r->order);
}

static readers *readers_of(layouter *l, const fidc_value *value) { return value->id < l->count ? &l->of[value->id] : NULL; }

static void note_reader(layouter *l, const fidc_node *node, uint32_t i, const fidc_arg *arg) {
    if (arg->kind == FIDC_ARG_LIST)
        for (uint32_t k = 0; k < arg->as.list.count; k++) note_reader(l, node, UINT32_MAX, &arg->as.list.items[k]);
    const fidc_value *value = fidc_value_of(arg);
    readers *r = value ? readers_of(l, value) : NULL;
    if (!r) return;
    bool permutes = node && fidc_is(node, FID_OPID_permute_copy);
    if (!permutes && !(node && fidc_is(node, FID_OPID_scaled_dot_product_attention) && i < 3)) r->any_last = false;
    if (!permutes && !(node && (fidc_is(node, FID_OPID_fused_convolution) || fidc_is(node, FID_OPID_fused_separable)))) r->image = false;
    note_permutation(r, node, !r->read);
    r->read = true;
    if (node) r->leaves = false;
}

static fid_status find_readers(layouter *l) {
    l->count = l->graph->value_count;
    l->of = fidc_allocate(l->program, (l->count + 1) * sizeof *l->of);
    if (!l->of) return no_memory(l);
    for (uint32_t i = 0; i < l->count; i++) l->of[i] = (readers){.any_last = true, .image = true, .permuted = true, .leaves = true};
    for (const fidc_node *node = l->graph->first; node; node = node->next)
        for (uint32_t i = 0; i < node->arg_count; i++) note_reader(l, node, i, &node->args[i]);
    for (uint32_t i = 0; i < l->graph->output_count; i++) note_reader(l, NULL, 0, &l->graph->outputs[i]);
    for (uint32_t i = 0; i < l->graph->mutation_count; i++) {
        fidc_arg arg = fidc_v(l->graph->mutations[i].value);
        note_reader(l, NULL, 0, &arg);
    }
    return FID_OK;
}

/* ---- Conversions ---- */

static fidc_value *convert(layouter *l, fidc_node *before, fidc_value *value, bool last) {
    int64_t order[FID_MAX_RANK];
    readers *r = readers_of(l, value);
    if (last && r && r->last) return r->last;
    for (size_t i = 0; i < value->rank; i++) order[i] = !last || i == 0 ? (int64_t)i : i + 1 < value->rank ? (int64_t)i + 1 : 1;
    fidc_arg args[] = {fidc_v(value), fidc_b(false), fidc_ints(l->program, order, value->rank)};
    fidc_node *like = value->origin == FIDC_FROM_NODE ? value->producer : before;
    fidc_value *converted = fidc_result(fidc_node_create(l->graph, before, like, FID_OPID__clone_dim_order, args, 3, 0));
    if (last && r) r->last = converted;
    return converted;
}

static fid_status convert_arg(layouter *l, fidc_node *before, fidc_arg *arg, bool last) {
    fidc_value *value = fidc_value_of(arg);
    if (!value || value->type != FIDC_TENSOR || (last ? is_last(value) : is_plain(value))) return FID_OK;
    value = convert(l, before, value, last);
    if (!value) return no_memory(l);
    *arg = fidc_v(value);
    return FID_OK;
}

static fid_status convert_plain(layouter *l, fidc_node *before, fidc_arg *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (args[i].kind == FIDC_ARG_LIST) FID_TRY(convert_plain(l, before, args[i].as.list.items, args[i].as.list.count));
        else FID_TRY(convert_arg(l, before, &args[i], false));
    }
    return FID_OK;
}

/* ---- Images ---- */

/* Numbers of tensor arguments of the result's rank that are, and are not, channels-last; single channels and pixels are both. */
static void count_orders(const fidc_arg *args, uint32_t count, size_t rank, uint32_t *inout_last, uint32_t *inout_plain) {
    for (uint32_t i = 0; i < count; i++) {
        if (args[i].kind == FIDC_ARG_LIST) count_orders(args[i].as.list.items, args[i].as.list.count, rank, inout_last, inout_plain);
        const fidc_value *value = fidc_value_of(&args[i]);
        if (!value || value->type != FIDC_TENSOR || value->rank != rank) continue;
        if (is_last(value)) ++*inout_last;
        else ++*inout_plain;
    }
}

/* Full-size arguments that still lie in logical order are turned once, rather than read across at each element. */
static fid_status turn_args(layouter *l, fidc_node *node, fidc_arg *args, uint32_t count, const fidc_value *out) {
    for (uint32_t i = 0; i < count; i++) {
        if (args[i].kind == FIDC_ARG_LIST) FID_TRY(turn_args(l, node, args[i].as.list.items, args[i].as.list.count, out));
        const fidc_value *value = fidc_value_of(&args[i]);
        bool turn = value && value->type == FIDC_TENSOR && value->rank == out->rank && !fidc_is_constant(value) &&
                    (fidc_same_sizes(value, out) || fidc_is(node, FID_OPID_cat));
        if (turn) FID_TRY(convert_arg(l, node, &args[i], true));
    }
    return FID_OK;
}

/* Operators whose kernels write a channels-last image in logical order as well, at no cost: no conversion is needed where it leaves. */
static bool writes_plain(const fidc_node *node) {
    return fidc_is(node, FID_OPID_upsample_nearest2d) || fidc_is(node, FID_OPID_upsample_nearest2d_vec) ||
           fidc_is(node, FID_OPID_upsample_bilinear2d) || fidc_is(node, FID_OPID_upsample_bilinear2d_vec);
}

static fid_status follow(layouter *l, fidc_node *node) {
    fidc_value *out = node->output_count ? node->outputs[0] : NULL;
    uint32_t last = 0, plain = 0;
    if (!out || out->type != FIDC_TENSOR || out->rank < 3) return FID_OK;
    count_orders(node->args, node->arg_count, out->rank, &last, &plain);
    const readers *r = readers_of(l, out);
    if (!last || (r && r->leaves && writes_plain(node))) return FID_OK;
    if (plain) FID_TRY(turn_args(l, node, node->args, node->arg_count, out));
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i]->rank == out->rank) set_last(node->outputs[i]);
    return FID_OK;
}

/* view_copy(x [N, C, H, W] channels-last) to [N, C, H * W] as permutations that are elided. */
static fid_status flatten_pixels(layouter *l, fidc_node *node) {
    fidc_value *in = fidc_value_of(&node->args[0]), *out = node->outputs[0];
    if (!is_last(in) || in->rank != 4 || out->rank != 3 || !fidc_sizes_static(in) || !fidc_sizes_static(out)) return FID_OK;
    if (fidc_size(in, 0) != fidc_size(out, 0) || fidc_size(in, 1) != fidc_size(out, 1)) return FID_OK;
    fidc_arg first[] = {fidc_v(in), fidc_ints(l->program, (int64_t[]){0, 2, 3, 1}, 4)};
    fidc_value *pixels = fidc_result(fidc_node_create(l->graph, node, node, FID_OPID_permute_copy, first, 2, 0));
    fidc_arg second[] = {fidc_v(pixels), fidc_ints(l->program, (int64_t[]){fidc_size(out, 0), fidc_size(out, 2), fidc_size(out, 1)}, 3)};
    fidc_value *rows = pixels ? fidc_result(fidc_node_create(l->graph, node, node, FID_OPID_view_copy, second, 2, 0)) : NULL;
    fidc_arg third[] = {fidc_v(rows), fidc_ints(l->program, (int64_t[]){0, 2, 1}, 3)};
    fidc_value *turned = rows ? fidc_result(fidc_node_create(l->graph, node, node, FID_OPID_permute_copy, third, 2, 0)) : NULL;
    if (!turned) return no_memory(l);
    const readers *r = readers_of(l, out);
    if (r && (r->any_last || r->image)) set_last(turned);
    fidc_value_replace(out, turned);
    fidc_node_remove(node);
    return FID_OK;
}

/* ---- Permutations ---- */

/* The dim order in which the result of a permutation lies where its input lies. */
static bool order_in_place(const fidc_node *node, uint8_t *out_order) {
    const fidc_value *in = fidc_value_of(&node->args[0]), *out = node->outputs[0];
    uint8_t from[FID_MAX_RANK], result_of[FID_MAX_RANK];
    if (!permutation_of(node, from)) return false;
    for (size_t i = 0; i < out->rank; i++) result_of[from[i]] = (uint8_t)i;
    for (size_t i = 0; i < out->rank; i++) out_order[i] = result_of[in->dim_order[i]];
    return true;
}

static void permute_in_place(layouter *l, const fidc_node *node) {
    fidc_value *out = node->outputs[0];
    const readers *r = readers_of(l, out);
    uint8_t order[FID_MAX_RANK];
    if (!r || out->rank < 3 || !order_in_place(node, order)) return;
    bool fits = (r->any_last && order[out->rank - 1] == out->rank - 1) || (r->image && fid_is_channels_last(order, out->rank));
    if (fits) memcpy(out->dim_order, order, out->rank);
}

/* The result of attention lies as the permutation of its heads wants it. */
static void attend_in_place(layouter *l, const fidc_node *node) {
    fidc_value *out = node->outputs[0];
    const readers *r = readers_of(l, out);
    if (!r || !r->read || !r->permuted || out->rank != 4) return;
    memcpy(out->dim_order, r->order, sizeof r->order);
}

/* Heads as torch.nn.MultiheadAttention takes them apart: view(permute(x (length, batch * heads, width)), (batch, heads, length, width)) is
 * a permutation of a view, which need not move anything. */
static fid_status split_heads(layouter *l, fidc_node *view) {
    const fidc_value *turned = fidc_value_of(&view->args[0]);
    fidc_value *out = view->outputs[0], *x;
    uint8_t order[FID_MAX_RANK];
    if (!turned || turned->origin != FIDC_FROM_NODE || turned->rank != 3 || out->rank != 4 || turned->dtype != FID_FLOAT32) return FID_OK;
    if (!permutation_of(turned->producer, order) || order[0] != 1 || order[1] != 0) return FID_OK;
    if (!fidc_sizes_static(turned) || !fidc_sizes_static(out) || fidc_size(out, 2) != fidc_size(turned, 1) || fidc_size(out, 3) != fidc_size(turned, 2))
        return FID_OK;
    x = fidc_value_of(&turned->producer->args[0]);
    fidc_arg apart[] = {fidc_v(x), fidc_ints(l->program, (int64_t[]){fidc_size(out, 2), fidc_size(out, 0), fidc_size(out, 1), fidc_size(out, 3)}, 4)};
    fidc_value *parts = fidc_result(fidc_node_create(l->graph, view, view, FID_OPID_view_copy, apart, 2, 0));
    fidc_arg turn[] = {fidc_v(parts), fidc_ints(l->program, (int64_t[]){1, 2, 0, 3}, 4)};
    fidc_value *heads = parts ? fidc_result(fidc_node_create(l->graph, view, view, FID_OPID_permute_copy, turn, 2, 0)) : NULL;
    if (!heads) return no_memory(l);
    fidc_value_replace(out, heads);
    fidc_node_remove(view);
    return FID_OK;
}

/* Only for attention: others may want the permuted heads in one piece. */
static fid_status split_all_heads(layouter *l) {
    for (fidc_node *node = l->graph->first; node; node = node->next) {
        if (!fidc_is(node, FID_OPID_scaled_dot_product_attention)) continue;
        for (uint32_t i = 0; i < 3; i++) {
            const fidc_value *value = fidc_value_of(&node->args[i]);
            fidc_node *view = value && value->origin == FIDC_FROM_NODE ? value->producer : NULL;
            if (fidc_is(view, FID_OPID_view_copy)) FID_TRY(split_heads(l, view));
        }
    }
    return FID_OK;
}

/* ---- The walk ---- */

static fid_status layout_graph(layouter *l, fidc_graph *graph);

static fid_status visit(layouter *l, fidc_node *node) {
    if (node->graph_count || node->in_place) return convert_plain(l, node, node->args, node->arg_count);
    if (fidc_is(node, FID_OPID_fused_convolution)) {
        FID_TRY(convert_arg(l, node, &node->args[0], true));
        return convert_arg(l, node, &node->args[3], true);
    }
    if (fidc_is(node, FID_OPID_fused_separable)) {
        FID_TRY(convert_arg(l, node, &node->args[0], true));
        return convert_arg(l, node, &node->args[FID_SEPARABLE_ADD], true);
    }
    if (fidc_is(node, FID_OPID_permute_copy)) permute_in_place(l, node);
    else if (fidc_is(node, FID_OPID_scaled_dot_product_attention)) attend_in_place(l, node);
    else if (fidc_is(node, FID_OPID_view_copy)) return flatten_pixels(l, node);
    else if (follows_input(node)) return follow(l, node);
    return FID_OK;
}

/* Values leave a graph in logical order. */
static fid_status convert_results(layouter *l) {
    fidc_graph *graph = l->graph;
    FID_TRY(convert_plain(l, NULL, graph->outputs, graph->output_count));
    for (uint32_t i = 0; i < graph->mutation_count; i++) {
        fidc_arg arg = fidc_v(graph->mutations[i].value);
        FID_TRY(convert_arg(l, NULL, &arg, false));
        graph->mutations[i].value = fidc_value_of(&arg);
    }
    return FID_OK;
}

static fid_status layout_graph(layouter *l, fidc_graph *graph) {
    for (fidc_node *node = graph->first; node; node = node->next)
        for (uint32_t i = 0; i < node->graph_count; i++) FID_TRY(layout_graph(l, node->graphs[i]));
    l->graph = graph;
    fidc_graph_clean(graph);
    FID_TRY(split_all_heads(l));
    fidc_graph_clean(graph);
    FID_TRY(find_readers(l));
    for (fidc_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        FID_TRY(visit(l, node));
    }
    return convert_results(l);
}

fid_status fidc_layout(fidc_program *program) {
    layouter l = {.program = program};
    for (uint32_t i = 0; i < program->method_count; i++) FID_TRY(layout_graph(&l, program->methods[i]));
    return FID_OK;
}
