/* Makes a graph functional. Every tensor value belongs to a storage; a view knows the value it views and the node that did it.
 *
 * A write gives the written value new content: for a view that is carried up to the storage by scattering (slice_scatter,
 * select_scatter, the inverse permutation, ...). A reader of a value whose storage was written since gets the view made again
 * from the new content. At the end, storages of inputs and buffers that were written become mutations of the graph.
 *
 * View nodes are lowered to their copy forms by the rules of decompose_view.c on the way. */
#include "compiler/passes/rewrite.h"

typedef struct storage {
    struct alias *base;
    uint32_t version; /* writes so far */
} storage;

/* What a value of the archive's graph stands for; hangs on value->scratch. */
typedef struct alias {
    storage *storage;
    struct alias *parent;  /* the viewed value; NULL: the storage itself */
    const fidc_node *view; /* one of the copy rows that `parent` goes through */
    uint32_t output;       /* which result of `view` */
    fidc_value *original;  /* where the storage came from: an input, a constant or a node's output */
    fidc_value *value;     /* content at `version` */
    uint32_t version;
    bool contiguous;       /* as PyTorch's strides would be: decides whether reshape and contiguous alias */
} alias;

/* ---- Storages and views ---- */

static bool in_order(const fidc_value *value) {
    for (uint8_t i = 0; i < value->rank; i++) {
        if (value->dim_order[i] != i) return false;
    }
    return true;
}

/* Parts of the outermost dimension and other sizes keep a contiguous tensor contiguous. */
static bool stays_contiguous(const fidc_node *view) {
    if (fidc_is(view, FID_OPID_view_copy) || fidc_is(view, FID_OPID_unsqueeze_copy) || fidc_is(view, FID_OPID_squeeze_copy_dims)) return true;
    bool part = fidc_is(view, FID_OPID_slice_copy_Tensor) || fidc_is(view, FID_OPID_select_copy_int);
    return part && view->args[1].as.integer == 0 && (view->arg_count < 5 || view->args[4].as.integer == 1);
}

static alias *new_alias(fidc_program *program, fidc_value *value, alias *parent) {
    alias *made = fidc_allocate(program, sizeof *made);
    if (!made) return NULL;
    *made = (alias){.parent = parent, .original = value, .value = value};
    if (parent) {
        made->storage = parent->storage;
        made->version = parent->storage->version;
        made->view = value->producer;
        made->output = value->output_index;
        made->contiguous = parent->contiguous && stays_contiguous(value->producer);
    } else {
        made->contiguous = in_order(value);
        made->storage = fidc_allocate(program, sizeof *made->storage);
        if (!made->storage) return NULL;
        made->storage->base = made;
    }
    value->scratch = made;
    return made;
}

static alias *alias_of(fidc_program *program, fidc_value *value) {
    value = fidc_resolve(value);
    return value->scratch ? value->scratch : new_alias(program, value, NULL);
}

/* The value's content after all writes so far, made before rw->node if it is not at hand. NULL on failure. */
static fidc_value *current(fidc_rewriter *rw, alias *a) {
    if (!a->parent || a->version == a->storage->version) return a->value;
    fidc_value *viewed = current(rw, a->parent);
    fidc_arg args[16];
    if (!viewed || a->view->arg_count > 16) return NULL;
    memcpy(args, a->view->args, a->view->arg_count * sizeof *args);
    args[0] = fidc_v(viewed);
    fid_op_id op = (fid_op_id)(a->view->op - rw->program->ops->ops);
    fidc_node *again = fidc_rw_emit_node(rw, op, args, a->view->arg_count, a->view->output_count);
    if (!again) return NULL;
    a->value = again->outputs[a->output];
    a->version = a->storage->version;
    return a->value;
}

/* ---- Inverses: the viewed tensor with the view's elements replaced ---- */

static fidc_value *inverse_permute(fidc_rewriter *rw, const fidc_node *view, fidc_value *content) {
    int64_t dims[FID_MAX_RANK] = {0};
    for (uint32_t i = 0; i < content->rank; i++) {
        int64_t dim = fidc_wrap(view->args[1].as.list.items[i].as.integer, content->rank);
        dims[dim] = i;
    }
    return fidc_rw_permute(rw, content, dims);
}

static fidc_value *inverse_slice(fidc_rewriter *rw, const fidc_node *view, fidc_value *whole, fidc_value *content) {
    const fidc_arg *args = view->args;
    return RW(rw, slice_scatter, fidc_v(whole), fidc_v(content), args[1], args[2], args[3], args[4]);
}

static fidc_value *inverse_split(fidc_rewriter *rw, const alias *a, fidc_value *whole, fidc_value *content) {
    int64_t start = 0;
    int64_t dim = fidc_wrap(a->view->args[2].as.integer, whole->rank);
    for (uint32_t i = 0; i < a->output; i++) {
        if (fidc_size(a->view->outputs[i], (size_t)dim) < 0) return NULL;
        start += fidc_size(a->view->outputs[i], (size_t)dim);
    }
    int64_t length = fidc_size(a->view->outputs[a->output], (size_t)dim);
    if (length < 0) return NULL;
    return RW(rw, slice_scatter, fidc_v(whole), fidc_v(content), fidc_i(dim), fidc_i(start), fidc_i(start + length), fidc_i(1));
}

static fidc_value *inverse(fidc_rewriter *rw, const alias *a, fidc_value *whole, fidc_value *content) {
    const fidc_node *view = a->view;
    if (fidc_is(view, FID_OPID_view_copy) || fidc_is(view, FID_OPID_squeeze_copy_dims) || fidc_is(view, FID_OPID_unsqueeze_copy)) {
        return fidc_rw_view(rw, content, whole->sizes, whole->rank);
    }
    if (fidc_is(view, FID_OPID_permute_copy)) return inverse_permute(rw, view, content);
    if (fidc_is(view, FID_OPID_slice_copy_Tensor)) return inverse_slice(rw, view, whole, content);
    if (fidc_is(view, FID_OPID_split_with_sizes_copy)) return inverse_split(rw, a, whole, content);
    if (fidc_is(view, FID_OPID_select_copy_int)) {
        return RW(rw, select_scatter, fidc_v(whole), fidc_v(content), view->args[1], view->args[2]);
    }
    if (fidc_is(view, FID_OPID_unbind_copy_int)) {
        return RW(rw, select_scatter, fidc_v(whole), fidc_v(content), view->args[1], fidc_i(a->output));
    }
    if (fidc_is(view, FID_OPID_diagonal_copy)) {
        return RW(rw, diagonal_scatter, fidc_v(whole), fidc_v(content), view->args[1], view->args[2], view->args[3]);
    }
    return NULL;
}

/* Gives the aliased value new content, and with it everything that shares its storage. */
static fid_status store(fidc_rewriter *rw, alias *a, fidc_value *content) {
    if (a->parent) {
        fidc_value *whole = current(rw, a->parent);
        fidc_value *written = whole ? inverse(rw, a, whole, content) : NULL;
        if (!written) {
            return fid_fail(rw->program->sink, FID_NOT_SUPPORTED, "%s writes through a view made by %s, which cannot be undone; copy it first",
                            fidc_where(rw->node), fidc_where(a->view));
        }
        FID_TRY(store(rw, a->parent, written));
    } else {
        a->storage->version++;
    }
    a->value = content;
    a->version = a->storage->version;
    return FID_OK;
}

/* ---- Nodes ---- */

/* Readers see what the writes so far left. */
static fid_status refresh_args(fidc_rewriter *rw, fidc_arg *args, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (args[i].kind == FIDC_ARG_LIST) FID_TRY(refresh_args(rw, args[i].as.list.items, args[i].as.list.count));
        fidc_value *value = fidc_value_of(&args[i]);
        if (!value) continue;
        args[i].as.value = value;
        if (value->type != FIDC_TENSOR || !value->scratch) continue;
        args[i].as.value = current(rw, value->scratch);
        if (!args[i].as.value) return fid_fail(rw->program->sink, FID_INVALID_PROGRAM, "cannot repeat a view for %s", fidc_where(rw->node));
    }
    return FID_OK;
}

/* What a write leaves: the functional result in the written tensor's dtype and sizes. */
static fidc_value *as_written(fidc_rewriter *rw, fidc_value *content, const fidc_value *target) {
    content = fidc_rw_cast(rw, content, (fid_dtype)target->dtype);
    return fidc_rw_expand(rw, content, target->sizes, target->rank);
}

/* The functional form of an in-place call. copy_(x, y) is y itself. */
static fidc_value *functional_result(fidc_rewriter *rw, const fidc_node *node) {
    if (fidc_is(node, FID_OPID_copy)) return fidc_value_of(&node->args[1]);
    fid_op_id op = (fid_op_id)(node->op - rw->program->ops->ops);
    if (!node->op->shape) { /* decomposed later; its result has the archive's meta */
        fidc_node *made = fidc_node_create_raw(rw->graph, rw->node, node->op, node->args, node->arg_count);
        fidc_value *out = made ? fidc_node_add_output(made, NULL, FIDC_TENSOR) : NULL;
        if (!out) return NULL;
        made->source = node->source;
        made->module = node->module;
        const fidc_value *like = node->outputs[0];
        out->dtype = like->dtype;
        out->rank = like->rank;
        out->sizes = like->sizes;
        memcpy(out->dim_order, like->dim_order, sizeof out->dim_order);
        return out;
    }
    return fidc_rw_emit(rw, op, node->args, node->arg_count);
}

/* The result of an operation on the target has the target's sizes. Inference may have found other symbols with the same values. */
static void adopt_sizes(fidc_value *result, const fidc_value *target) {
    if (result->origin != FIDC_FROM_NODE || !fidc_same_sizes(result, target)) return;
    for (size_t i = 0; i < result->rank; i++) result->sizes[i] = target->sizes[i];
}

/* The call's own result is the written value from then on: readers of either get its current content. */
static fid_status functionalize_write(fidc_rewriter *rw, alias *target) {
    fidc_node *node = rw->node;
    bool fits;
    FID_TRY(fidc_rw_check(rw, fidc_takes_numbers(rw->program, node->op), &fits));
    fidc_value *result = functional_result(rw, node);
    if (result && !fidc_is(node, FID_OPID_copy)) adopt_sizes(result, target->value);
    fidc_value *content = as_written(rw, result, target->value);
    if (!content) return fid_fail(rw->program->sink, FID_INVALID_PROGRAM, "cannot make %s functional", fidc_where(node));
    FID_TRY(store(rw, target, content));
    for (uint32_t i = 0; i < node->output_count; i++) node->outputs[i]->scratch = target;
    fidc_node_remove(node);
    return FID_OK;
}

/* ---- Batch norm in training, which writes its running statistics though no name says so ---- */

static bool moves_statistics(const fidc_node *node) {
    bool always = fidc_is(node, FID_OPID__batch_norm_with_update);
    bool asked = fidc_is(node, FID_OPID_batch_norm) || fidc_is(node, FID_OPID_native_batch_norm) || fidc_is(node, FID_OPID__native_batch_norm_legit);
    if ((!always && !asked) || !fidc_value_of(&node->args[3]) || !fidc_value_of(&node->args[4])) return false;
    return always || (node->args[5].kind == FIDC_ARG_BOOL && node->args[5].as.integer);
}

static fid_status functionalize_statistics(fidc_rewriter *rw) {
    fidc_node *node = rw->node;
    uint32_t next = fidc_is(node, FID_OPID__batch_norm_with_update) ? 5 : 6; /* momentum, eps */
    bool fits;
    FID_TRY(fidc_rw_check(rw, false, &fits));
    if (!fits) return fidc_rw_refuse(rw, "batch norm with these arguments");
    alias *running[2] = {alias_of(rw->program, node->args[3].as.value), alias_of(rw->program, node->args[4].as.value)};
    if (!running[0] || !running[1]) return FID_OUT_OF_MEMORY;
    FID_TRY(refresh_args(rw, node->args, node->arg_count));
    fidc_arg args[] = {node->args[0], node->args[1], node->args[2], node->args[3], node->args[4], fidc_b(true), node->args[next], node->args[next + 1]};
    fidc_node *made = fidc_rw_emit_node(rw, FID_OPID__native_batch_norm_legit_functional, args, 8, 0);
    for (uint32_t i = 0; made && i < 2; i++) {
        fidc_value *content = as_written(rw, made->outputs[3 + i], running[i]->value);
        if (!content) return fid_fail(rw->program->sink, FID_INVALID_PROGRAM, "cannot make %s functional", fidc_where(node));
        FID_TRY(store(rw, running[i], content));
    }
    fidc_value *values[4] = {made ? made->outputs[0] : NULL, made ? made->outputs[1] : NULL, made ? made->outputs[2] : NULL};
    if (node->output_count > 4) return fidc_rw_refuse(rw, "batch norm has at most four results");
    if (node->output_count > 3) values[3] = fidc_rw_full(rw, node->outputs[3]->sizes, node->outputs[3]->rank, FID_UINT8, fidc_i(0));
    return fidc_rw_become_all(rw, values, node->output_count);
}

static bool is_view_copy(const fidc_node *node) {
    return node->op->kind == FID_OP_VIEW && node->op->reference && node->args[0].kind == FIDC_ARG_VALUE;
}

/* Marks what the nodes in [first, end) made as views; those that read `content` view `viewed`, whose content it is. */
static fid_status mark_views(fidc_program *program, fidc_node *first, const fidc_node *end, alias *viewed, const fidc_value *content) {
    for (fidc_node *node = first; node && node != end; node = node->next) {
        if (!is_view_copy(node)) continue;
        alias *parent = node->args[0].as.value == content ? viewed : alias_of(program, node->args[0].as.value);
        for (uint32_t i = 0; i < node->output_count; i++) {
            if (!parent || !new_alias(program, node->outputs[i], parent)) return FID_OUT_OF_MEMORY;
        }
    }
    return FID_OK;
}

/* What PyTorch copies unless the strides allow a view. */
static bool copies_when_strided(const fidc_node *node) {
    return fidc_is(node, FID_OPID_reshape) || fidc_is(node, FID_OPID_flatten_using_ints) || fidc_is(node, FID_OPID_reshape_as) ||
           fidc_is(node, FID_OPID_ravel) || fidc_is(node, FID_OPID_contiguous);
}

/* Lowers a view node whose first argument is `viewed`, and remembers what its copies view. */
static fid_status functionalize_view(fidc_rewriter *rw, fidc_rule rule, alias *viewed) {
    fidc_node *node = rw->node, *previous = node->previous, *next = node->next;
    bool fresh = viewed && !viewed->contiguous && copies_when_strided(node);
    if (fresh && fidc_is(node, FID_OPID_contiguous)) return fidc_rw_become(rw, RW(rw, clone, node->args[0]));
    fidc_value *content = fidc_value_of(&node->args[0]);
    bool fits;
    FID_TRY(fidc_rw_check(rw, false, &fits));
    if (fits) FID_TRY(fidc_rw_apply(rw, rule));
    if (!rw->changed || !viewed) return FID_OK; /* left alone, or refused */
    fidc_value *out = node->outputs[0];
    if (fidc_resolve(out) == content) { /* nothing to do: another name of the same value */
        out->forward = NULL;
        out->scratch = viewed;
        return FID_OK;
    }
    return fresh ? FID_OK : mark_views(rw->program, previous ? previous->next : rw->graph->first, next, viewed, content);
}

static fid_status functionalize_node(fidc_rewriter *rw, const fidc_rules *views, bool track) {
    fidc_node *node = rw->node;
    fidc_value *first = track && node->arg_count ? fidc_value_of(&node->args[0]) : NULL;
    fidc_rule rule = fidc_rules_find(views, rw->program, node->op);
    alias *named = NULL; /* what the first argument stands for, where that matters */
    if (first && first->type == FIDC_TENSOR && (node->in_place || rule)) {
        named = alias_of(rw->program, first);
        if (!named) return FID_OUT_OF_MEMORY;
    }
    if (moves_statistics(node)) return functionalize_statistics(rw);
    if (track) FID_TRY(refresh_args(rw, node->args, node->arg_count));
    if (node->in_place && (!named || !node->output_count)) {
        return fid_fail(rw->program->sink, FID_INVALID_PROGRAM, "%s is in place without a tensor", fidc_where(node));
    }
    if (node->in_place) return functionalize_write(rw, named);
    return rule ? functionalize_view(rw, rule, named) : FID_OK;
}

/* ---- Graphs ---- */

/* A constant that is written is no constant. Descriptions are shared by reference, so a new one takes its place. */
static fid_status make_mutable(fidc_program *program, fidc_value *value) {
    if (value->origin != FIDC_FROM_CONSTANT || value->constant->is_mutable) return FID_OK;
    fidc_constant *constant = fidc_allocate(program, sizeof *constant);
    if (!constant) return FID_OUT_OF_MEMORY;
    *constant = *value->constant;
    constant->is_mutable = true;
    value->constant = constant;
    return FID_OK;
}

static fid_status add_mutation(fidc_graph *graph, fidc_value *target, fidc_value *content) {
    fidc_mutation *all = fidc_allocate(graph->program, (graph->mutation_count + 1) * sizeof *all);
    if (!all) return FID_OUT_OF_MEMORY;
    if (graph->mutation_count) memcpy(all, graph->mutations, graph->mutation_count * sizeof *all);
    all[graph->mutation_count++] = (fidc_mutation){target, content};
    graph->mutations = all;
    return make_mutable(graph->program, target);
}

static fid_status collect_mutations(fidc_graph *graph) {
    uint32_t count = graph->value_count;
    for (uint32_t i = 0; i < count; i++) {
        fidc_value *value = graph->values[i];
        alias *a = value->origin == FIDC_FROM_NODE ? NULL : value->scratch;
        if (!a || a->parent || a->original != value || a->value == value) continue;
        FID_TRY(add_mutation(graph, value, a->value));
    }
    return FID_OK;
}

static bool has_writes(const fidc_graph *graph) {
    for (const fidc_node *node = graph->first; node; node = node->next) {
        if (node->in_place || moves_statistics(node)) return true;
    }
    return false;
}

static void replace_in(fidc_arg *args, uint32_t count, const fidc_value *old_value, fidc_value *new_value) {
    for (uint32_t i = 0; i < count; i++) {
        if (args[i].kind == FIDC_ARG_LIST) replace_in(args[i].as.list.items, args[i].as.list.count, old_value, new_value);
        if (fidc_value_of(&args[i]) == old_value) args[i].as.value = new_value;
    }
}

static void replace_reads(fidc_graph *graph, const fidc_value *old_value, fidc_value *new_value) {
    for (fidc_node *node = graph->first; node; node = node->next) {
        if (node != new_value->producer) replace_in(node->args, node->arg_count, old_value, new_value);
        for (uint32_t i = 0; i < node->graph_count; i++) replace_reads(node->graphs[i], old_value, new_value);
    }
    replace_in(graph->outputs, graph->output_count, old_value, new_value);
}

/* Inside, every tensor lies in logical order: what a user's memory format asks for is the layout pass's business. An input keeps the
 * order that callers give, and is brought into logical order once. */
static fid_status normalize_layouts(fidc_graph *graph) {
    for (fidc_node *node = graph->first; node; node = node->next) {
        for (uint32_t i = 0; i < node->output_count; i++) {
            for (uint8_t d = 0; d < node->outputs[i]->rank; d++) node->outputs[i]->dim_order[d] = d;
        }
    }
    fidc_rewriter rw = {.program = graph->program, .graph = graph, .node = graph->first};
    for (uint32_t i = 0; i < graph->input_count; i++) {
        fidc_value *input = graph->inputs[i];
        if (input->type != FIDC_TENSOR || in_order(input)) continue;
        int64_t order[FID_MAX_RANK];
        for (uint8_t d = 0; d < input->rank; d++) order[d] = d;
        fidc_value *ordered = RW(&rw, _clone_dim_order, fidc_v(input), fidc_b(false), fidc_ints(graph->program, order, input->rank));
        if (!ordered) return fid_fail(graph->program->sink, FID_INVALID_PROGRAM, "cannot reorder input '%s'", input->name);
        replace_reads(graph, input, ordered);
    }
    return FID_OK;
}

static fid_status functionalize_graph(fidc_graph *graph, const fidc_rules *views) {
    for (uint32_t i = 0; i < graph->value_count; i++) graph->values[i]->scratch = NULL;
    bool track = has_writes(graph);
    for (fidc_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        for (uint32_t i = 0; i < node->graph_count; i++) FID_TRY(functionalize_graph(node->graphs[i], views));
        fidc_rewriter rw = {.program = graph->program, .graph = graph, .node = node};
        FID_TRY(functionalize_node(&rw, views, track));
    }
    if (track) {
        fidc_rewriter rw = {.program = graph->program, .graph = graph};
        FID_TRY(refresh_args(&rw, graph->outputs, graph->output_count));
        FID_TRY(collect_mutations(graph));
    }
    for (uint32_t i = 0; i < graph->mutation_count; i++) FID_TRY(make_mutable(graph->program, graph->mutations[i].target));
    fidc_graph_clean(graph);
    return normalize_layouts(graph);
}

fid_status fidc_functionalize(fidc_program *program) {
    fidc_rules *views = fid_allocate(program->allocator, sizeof *views);
    if (!views) return fid_fail(program->sink, FID_OUT_OF_MEMORY, "no memory for a table of rules");
    memset(views, 0, sizeof *views);
    fidc_rules_add_views(views);
    fid_status status = FID_OK;
    for (uint32_t i = 0; i < program->method_count && status == FID_OK; i++) status = functionalize_graph(program->methods[i], views);
    fid_free(program->allocator, views, sizeof *views);
    return status;
}
