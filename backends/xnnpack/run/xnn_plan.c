/* Sizes of all values from those of the inputs, and where values lie: one arena, first planned at load for the declared sizes, again
 * whenever the sizes of inputs change. */
#include "backends/xnnpack/run/xnn_graph.h"

/* ---- Sizes ---- */

static bool count_elements(const fid_xnn_value *v, size_t *out) { return fid_mul_sizes(v->dims, v->rank, out) && *out <= SIZE_MAX / 16; }

/* The view of a value as a tensor, at the value's dims. */
static void set_view(fid_xnn_operand *o, const fid_xnn_value *v) {
    fid_tensor *t = &o->tensor;
    size_t numel = 0;
    t->rank = v->rank;
    for (uint8_t i = 0; i < v->rank; i++) o->sizes[i] = v->dims[i], o->dim_order[i] = i;
    if (o->view == FID_XNN_VECTOR) {
        (void)count_elements(v, &numel);
        t->rank = 1;
        o->sizes[0] = (int64_t)numel;
        o->dim_order[0] = 0;
    } else if (o->view == FID_XNN_IMAGE) {
        memcpy(o->sizes, (int64_t[]){v->dims[0], v->dims[3], v->dims[1], v->dims[2]}, 4 * sizeof *o->sizes);
        memcpy(o->dim_order, (uint8_t[]){0, 2, 3, 1}, 4);
    }
    fid_tensor_update_strides(t);
    t->capacity = fid_tensor_bytes(t);
}

/* A value's dims from what the operator makes of its view. */
static fid_status take_meta(const fid_xnn_graph *graph, const fid_xnn_step *step, const fid_meta *meta, fid_xnn_operand *o) {
    fid_xnn_value *v = &graph->values[o->value];
    const int64_t *s = meta->sizes;
    size_t numel;
    if (meta->rank > FID_XNN_MAX_RANK || meta->dtype != v->dtype || (o->view == FID_XNN_IMAGE && meta->rank != 4) || meta->bound_dims)
        return fid_xnn_fail_node(graph, step->node, FID_INVALID_PROGRAM, "its output has another kind than its operator gives");
    v->rank = meta->rank;
    if (o->view == FID_XNN_IMAGE) memcpy(v->dims, (int64_t[]){s[0], s[2], s[3], s[1]}, 4 * sizeof *s);
    else memcpy(v->dims, s, meta->rank * sizeof *s);
    if (!count_elements(v, &numel)) return fid_xnn_fail_node(graph, step->node, FID_INVALID_PROGRAM, "its output is too large");
    set_view(o, v);
    return FID_OK;
}

static fid_status shape_call(const fid_xnn_graph *graph, fid_xnn_step *step) {
    fid_meta metas[2];
    uint32_t inputs = step->operand_count - step->output_count;
    for (uint32_t i = 0; i < inputs; i++) {
        fid_xnn_operand *o = step->operands[i];
        if (o->value == FID_XNN_NO_ID) continue;
        if (o->view == FID_XNN_IMAGE && graph->values[o->value].rank != 4)
            return fid_xnn_fail_node(graph, step->node, FID_INVALID_PROGRAM, "wants an image of rank 4");
        set_view(o, &graph->values[o->value]);
    }
    memset(metas, 0, sizeof metas);
    FID_TRY(step->op->shape(&step->call, metas, step->output_count));
    for (uint32_t i = 0; i < step->output_count; i++) FID_TRY(take_meta(graph, step, &metas[i], step->operands[inputs + i]));
    return FID_OK;
}

static fid_status shape_reshape(const fid_xnn_graph *graph, const fid_xnn_step *step) {
    const fid_xnn_value *from = &graph->values[step->input];
    fid_xnn_value *to = &graph->values[step->output];
    size_t numel = 1, known = 1, open = FID_XNN_MAX_RANK, count;
    (void)count_elements(from, &numel);
    to->rank = step->number_count;
    for (size_t i = 0; i < to->rank; i++) {
        to->dims[i] = step->numbers[i];
        if (to->dims[i] == 0 && open == FID_XNN_MAX_RANK && numel > 0) open = i;
        else if (!fid_mul_size(known, (size_t)to->dims[i], &known)) known = 0;
    }
    if (open < FID_XNN_MAX_RANK && known > 0 && numel % known == 0) to->dims[open] = (int64_t)(numel / known);
    bool fits = count_elements(to, &count) && count == numel;
    return fits ? FID_OK : fid_xnn_fail_node(graph, step->node, FID_INVALID_ARGUMENT, "its shape does not hold the elements of its input");
}

fid_status fid_xnn_shape_step(fid_xnn_graph *graph, fid_xnn_step *step) {
    if (step->kind == FID_XNN_STEP_CALL) return shape_call(graph, step);
    if (step->kind == FID_XNN_STEP_RESHAPE) return shape_reshape(graph, step);
    const fid_xnn_value *from = &graph->values[step->input];
    fid_xnn_value *to = &graph->values[step->output];
    if (from->rank != step->number_count) return fid_xnn_fail_node(graph, step->node, FID_INVALID_PROGRAM, "its input has another rank");
    to->rank = from->rank;
    for (size_t i = 0; i < to->rank; i++) to->dims[i] = from->dims[step->numbers[i]];
    return FID_OK;
}

/* ---- Lifetimes ---- */

static fid_xnn_value *root_of(const fid_xnn_graph *graph, uint32_t value) {
    fid_xnn_value *v = &graph->values[value];
    while (v->home == FID_XNN_HOME_ALIAS) v = &graph->values[v->root];
    return v;
}

static void touch(const fid_xnn_graph *graph, uint32_t value, uint32_t step) {
    fid_xnn_value *v = root_of(graph, value);
    if (v->home != FID_XNN_HOME_PLANNED) return;
    if (step < v->first) v->first = step;
    if (step > v->last) v->last = step;
}

/* Where values live that nobody has placed; what the border converts lives until it is converted. */
static void find_lifetimes(fid_xnn_graph *graph) {
    for (uint32_t i = 0; i < graph->value_count; i++) {
        fid_xnn_value *v = &graph->values[i];
        bool in_place = v->flags && (v->datatype == FID_XNN_FP32 || v->dtype == FID_INT64);
        if (v->home == FID_XNN_HOME_NONE) v->home = in_place ? FID_XNN_HOME_EXTERNAL : FID_XNN_HOME_PLANNED;
        v->first = v->flags & FID_XNN_VALUE_INPUT ? 0 : UINT32_MAX;
        v->last = v->flags & FID_XNN_VALUE_OUTPUT ? graph->step_count : 0;
    }
    for (uint32_t s = 0; s < graph->step_count; s++) {
        const fid_xnn_step *step = &graph->steps[s];
        for (uint32_t i = 0; i < step->operand_count; i++)
            if (step->operands[i]->value != FID_XNN_NO_ID) touch(graph, step->operands[i]->value, s);
        if (step->kind != FID_XNN_STEP_CALL) touch(graph, step->input, s);
    }
}

/* ---- Places ---- */

static bool is_placed(const fid_xnn_value *v) { return v->home == FID_XNN_HOME_PLANNED && v->first != UINT32_MAX; }

/* Values in falling order of bytes: shell sort, since there is no libc here and no worst case to fear. */
static uint32_t sort_by_bytes(fid_xnn_graph *graph) {
    uint32_t count = 0, *order = graph->order;
    for (uint32_t i = 0; i < graph->value_count; i++)
        if (is_placed(&graph->values[i])) order[count++] = i;
    for (uint32_t gap = count / 2; gap > 0; gap /= 2) {
        for (uint32_t i = gap; i < count; i++) {
            uint32_t moved = order[i], at = i;
            for (; at >= gap && graph->values[order[at - gap]].bytes < graph->values[moved].bytes; at -= gap) order[at] = order[at - gap];
            order[at] = moved;
        }
    }
    return count;
}

static bool live_together(const fid_xnn_value *a, const fid_xnn_value *b) { return a->first <= b->last && b->first <= a->last; }

/* The lowest place where `v` fits between those at by_offset[0..count), and where it goes among them. */
static size_t find_place(const fid_xnn_graph *graph, const fid_xnn_value *v, const uint32_t *by_offset, uint32_t count) {
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        const fid_xnn_value *other = &graph->values[by_offset[i]];
        if (!live_together(v, other)) continue;
        if (at + v->bytes <= other->offset) break;
        if (other->offset + other->bytes > at) at = other->offset + other->bytes;
    }
    return at;
}

static void insert(const fid_xnn_graph *graph, uint32_t value, uint32_t *by_offset, uint32_t count) {
    uint32_t i = count;
    for (; i > 0 && graph->values[by_offset[i - 1]].offset > graph->values[value].offset; i--) by_offset[i] = by_offset[i - 1];
    by_offset[i] = value;
}

fid_status fid_xnn_plan(fid_xnn_graph *graph) {
    size_t numel = 0, total = 0, all = 0;
    if (!graph->order) {
        graph->order = fid_xnn_persist(graph, 2 * (size_t)graph->value_count, sizeof *graph->order);
        if (!graph->order) return FID_OUT_OF_MEMORY;
        find_lifetimes(graph);
    }
    for (uint32_t i = 0; i < graph->value_count; i++) {
        fid_xnn_value *v = &graph->values[i];
        if (!is_placed(v)) continue;
        (void)count_elements(v, &numel);
        v->bytes = (numel * fid_dtype_size((fid_dtype)v->dtype) + 63) & ~(size_t)63;
        if (!fid_add_size(all, v->bytes, &all)) return fid_fail(graph->sink, FID_OUT_OF_MEMORY, "the values of an XNNPACK delegate fill more than all memory");
    }
    uint32_t count = sort_by_bytes(graph), *by_offset = graph->order + graph->value_count;
    for (uint32_t i = 0; i < count; i++) {
        fid_xnn_value *v = &graph->values[graph->order[i]];
        v->offset = find_place(graph, v, by_offset, i);
        if (v->offset + v->bytes > total) total = v->offset + v->bytes;
        insert(graph, graph->order[i], by_offset, i);
    }
    if (total <= graph->arena_size) return FID_OK;
    fid_free(graph->init.allocator, graph->arena, graph->arena_size);
    graph->arena_size = 0;
    graph->arena = fid_allocate(graph->init.allocator, total);
    if (!graph->arena) return fid_fail(graph->sink, FID_OUT_OF_MEMORY, "no memory for %zu bytes of an XNNPACK delegate's values", total);
    graph->arena_size = total;
    return FID_OK;
}
