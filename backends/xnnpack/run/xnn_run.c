/* Running a delegate: arguments to values, the steps, values to arguments; and the memory that kernels ask for. */
#include "backends/xnnpack/run/xnn_graph.h"

/* ---- Scratch ---- */

typedef struct fid_xnn_chunk {
    struct fid_xnn_chunk *older;
    size_t size;
} fid_xnn_chunk;

static void *persist(fid_scratch *self, size_t bytes) {
    fid_xnn_graph *graph = ((fid_xnn_scratch *)(void *)self)->graph;
    return graph->init.persist(graph->init.persist_self, bytes);
}

static void *scratch(fid_scratch *self, size_t bytes) {
    fid_xnn_scratch *s = (fid_xnn_scratch *)(void *)self;
    size_t rounded, used, with_header;
    if (!fid_align_size(bytes, FID_ALLOCATION_ALIGNMENT, &rounded) || !fid_add_size(s->used, rounded, &used)) return NULL;
    if (used <= s->size) {
        void *memory = s->block + s->used;
        s->used = used;
        return memory;
    }
    if (!fid_add_size(rounded, FID_ALLOCATION_ALIGNMENT, &with_header)) return NULL;
    fid_xnn_chunk *chunk = fid_allocate(s->graph->init.allocator, with_header);
    if (!chunk) return NULL;
    *chunk = (fid_xnn_chunk){s->overflow, with_header};
    s->overflow = chunk;
    s->used = used;
    return (uint8_t *)chunk + FID_ALLOCATION_ALIGNMENT;
}

void fid_xnn_scratch_init(fid_xnn_graph *graph) {
    graph->scratch = (fid_xnn_scratch){.interface = {persist, scratch, NULL}, .graph = graph};
}

fid_status fid_xnn_scratch_reserve(fid_xnn_graph *graph, size_t size) {
    fid_xnn_scratch *s = &graph->scratch;
    if (size <= s->size) return FID_OK;
    fid_free(graph->init.allocator, s->block, s->size);
    s->size = 0;
    s->block = fid_allocate(graph->init.allocator, size);
    if (!s->block) return fid_fail(graph->sink, FID_OUT_OF_MEMORY, "no memory for %zu bytes of kernel scratch", size);
    s->size = size;
    return FID_OK;
}

static void free_overflow(fid_xnn_graph *graph) {
    while (graph->scratch.overflow) {
        fid_xnn_chunk *chunk = graph->scratch.overflow;
        graph->scratch.overflow = chunk->older;
        fid_free(graph->init.allocator, chunk, chunk->size);
    }
}

/* A call that wanted more than the block holds makes the block larger for later ones. */
static void end_call(fid_xnn_graph *graph) {
    size_t used = graph->scratch.used;
    graph->scratch.used = 0;
    if (!graph->scratch.overflow) return;
    free_overflow(graph);
    uint8_t *block = fid_allocate(graph->init.allocator, used);
    if (!block) return;
    fid_free(graph->init.allocator, graph->scratch.block, graph->scratch.size);
    graph->scratch.block = block;
    graph->scratch.size = used;
}

void fid_xnn_deinit(fid_xnn_graph *graph) {
    free_overflow(graph);
    fid_free(graph->init.allocator, graph->scratch.block, graph->scratch.size);
    fid_free(graph->init.allocator, graph->arena, graph->arena_size);
}

/* ---- Arguments ---- */

static fid_dtype argument_dtype(const fid_xnn_value *v) {
    switch (v->datatype) {
    case FID_XNN_FP16: return FID_FLOAT16;
    case FID_XNN_BF16: return FID_BFLOAT16;
    case FID_XNN_QINT8: return FID_INT8;
    case FID_XNN_QUINT8: return FID_UINT8;
    case FID_XNN_FP32: return (fid_dtype)v->dtype;
    default: return FID_DTYPE_NONE;
    }
}

static fid_status bad_argument(const fid_xnn_graph *graph, const fid_xnn_value *v, const char *what) {
    return fid_fail(graph->sink, FID_INVALID_ARGUMENT, "argument %u of an XNNPACK delegate %s", v->external, what);
}

/* The tensor of an external value. A scalar stands for one dim of size one. */
static fid_status argument_of(const fid_xnn_graph *graph, const fid_xnn_value *v, fid_value *const *args, fid_tensor **out) {
    const fid_value *value = args[v->external];
    if (value->tag != FID_TAG_TENSOR) return bad_argument(graph, v, "is no tensor");
    fid_tensor *t = value->as.tensor;
    if (t->dtype != (uint8_t)argument_dtype(v)) {
        return fid_fail(graph->sink, FID_INVALID_ARGUMENT, "argument %u of an XNNPACK delegate is %s, its blob says %s (%s)", v->external,
                        fid_dtype_name((fid_dtype)t->dtype), fid_dtype_name(argument_dtype(v)), fid_xnn_datatype_text(v->datatype));
    }
    if (t->rank != v->rank && !(t->rank == 0 && v->rank == 1)) return bad_argument(graph, v, "has another rank than its blob says");
    if (!fid_is_channels_last(t->dim_order, t->rank) && !fid_tensor_is_contiguous(t)) return bad_argument(graph, v, "is neither row-major nor channels-last");
    *out = t;
    return FID_OK;
}

/* Channels-last and not just row-major by another name: then its sizes in memory order are the dims. */
static bool is_image(const fid_tensor *t) { return t->rank == 4 && fid_is_channels_last(t->dim_order, t->rank); }

/* Sizes of an argument to the dims of its value. */
static void take_sizes(fid_xnn_graph *graph, fid_xnn_value *v, const fid_tensor *t) {
    for (size_t i = 0; i < v->rank; i++) {
        int64_t size = t->rank == 0 ? 1 : t->sizes[is_image(t) ? t->dim_order[i] : i];
        if (size != v->dims[i]) graph->shaped = false;
        v->dims[i] = size;
    }
}

static fid_status check_data(const fid_xnn_graph *graph, const fid_xnn_value *v, const fid_tensor *t) {
    return t->data || fid_tensor_numel(t) == 0 ? FID_OK : bad_argument(graph, v, "has no memory");
}

static fid_status bind_input(fid_xnn_graph *graph, fid_xnn_value *v, fid_value *const *args) {
    fid_tensor *t;
    FID_TRY(argument_of(graph, v, args, &t));
    FID_TRY(check_data(graph, v, t));
    take_sizes(graph, v, t);
    return FID_OK;
}

static fid_status bind_output(const fid_xnn_graph *graph, const fid_xnn_value *v, fid_value *const *args) {
    fid_tensor *t;
    int64_t sizes[FID_XNN_MAX_RANK];
    FID_TRY(argument_of(graph, v, args, &t));
    if (t->flags & FID_TENSOR_CONSTANT) return bad_argument(graph, v, "is constant, and an output");
    for (size_t i = 0; i < v->rank; i++) sizes[is_image(t) ? t->dim_order[i] : i] = v->dims[i];
    if (t->rank == 0 && v->dims[0] != 1) return bad_argument(graph, v, "is a scalar, its blob makes more");
    FID_TRY(fid_tensor_resize(graph->sink, t, sizes, t->rank));
    if (fid_tensor_bytes(t) > t->capacity) return bad_argument(graph, v, "has too little memory");
    return check_data(graph, v, t);
}

static bool overlap(const fid_tensor *a, const fid_tensor *b) {
    uintptr_t x = (uintptr_t)a->data, y = (uintptr_t)b->data;
    size_t m = fid_tensor_bytes(a), n = fid_tensor_bytes(b);
    return m && n && x < y + n && y < x + m;
}

/* Kernels take their tensors as disjoint. */
static fid_status check_overlap(const fid_xnn_graph *graph, fid_value *const *args) {
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const fid_xnn_value *out = &graph->values[graph->outputs[i]];
        for (uint32_t j = 0; j < graph->input_count + i; j++) {
            const fid_xnn_value *other = &graph->values[j < graph->input_count ? graph->inputs[j] : graph->outputs[j - graph->input_count]];
            if (overlap(args[out->external]->as.tensor, args[other->external]->as.tensor)) return bad_argument(graph, out, "shares memory with another");
        }
    }
    return FID_OK;
}

/* ---- A run ---- */

static fid_status shape_all(fid_xnn_graph *graph) {
    if (graph->shaped) return FID_OK;
    for (uint32_t i = 0; i < graph->step_count; i++) FID_TRY(fid_xnn_shape_step(graph, &graph->steps[i]));
    FID_TRY(fid_xnn_plan(graph));
    graph->shaped = true;
    return FID_OK;
}

static void place_values(fid_xnn_graph *graph, fid_value *const *args) {
    for (uint32_t i = 0; i < graph->value_count; i++) {
        fid_xnn_value *v = &graph->values[i];
        if (v->home == FID_XNN_HOME_PLANNED) v->memory = graph->arena ? graph->arena + v->offset : NULL;
        if (v->home == FID_XNN_HOME_EXTERNAL) v->memory = args[v->external]->as.tensor->data;
    }
    for (uint32_t s = 0; s < graph->step_count; s++) {
        const fid_xnn_step *step = &graph->steps[s];
        if (step->kind != FID_XNN_STEP_CALL) graph->values[step->output].memory = graph->values[step->input].memory;
        for (uint32_t i = 0; i < step->operand_count; i++) {
            fid_xnn_operand *o = step->operands[i];
            if (o->value != FID_XNN_NO_ID) o->tensor.data = graph->values[o->value].memory;
        }
    }
}

static void convert_inputs(const fid_xnn_graph *graph, fid_value *const *args) {
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const fid_xnn_value *v = &graph->values[graph->inputs[i]];
        if (v->home != FID_XNN_HOME_PLANNED || v->last < v->first || !v->memory) continue;
        const fid_tensor *t = args[v->external]->as.tensor;
        fid_xnn_to_floats(v, t->data, fid_tensor_numel(t), v->memory);
    }
}

static void convert_outputs(const fid_xnn_graph *graph, fid_value *const *args) {
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const fid_xnn_value *v = &graph->values[graph->outputs[i]];
        const fid_tensor *t = args[v->external]->as.tensor;
        if (v->home == FID_XNN_HOME_PLANNED && v->memory) fid_xnn_from_floats(v, v->memory, fid_tensor_numel(t), t->data);
    }
}

static fid_status run_steps(fid_xnn_graph *graph, const fid_backend_run *run) {
    for (uint32_t i = 0; i < graph->step_count; i++) {
        fid_xnn_step *step = &graph->steps[i];
        if (step->kind != FID_XNN_STEP_CALL) continue;
        if (run->cancelled && __atomic_load_n(run->cancelled, __ATOMIC_RELAXED)) return FID_CANCELLED;
        step->call.sink = run->sink;
        step->call.threads = run->threads;
        uint64_t start = fid_backend_trace_begin(run);
        fid_status status = step->kernel->run(&step->call);
        fid_backend_trace_end(run, step->call.name, (int32_t)step->node, start);
        end_call(graph);
        if (status != FID_OK) return fid_fail(run->sink, status, "%s", step->call.name);
    }
    return FID_OK;
}

fid_status fid_xnn_run(fid_xnn_graph *graph, const fid_backend_run *run, fid_value *const *args, size_t arg_count) {
    graph->sink = run->sink;
    if (arg_count < graph->argument_count)
        return fid_fail(run->sink, FID_INVALID_ARGUMENT, "an XNNPACK delegate of %u arguments is given %zu", graph->argument_count, arg_count);
    for (uint32_t i = 0; i < graph->input_count; i++) FID_TRY(bind_input(graph, &graph->values[graph->inputs[i]], args));
    FID_TRY(shape_all(graph));
    for (uint32_t i = 0; i < graph->output_count; i++) FID_TRY(bind_output(graph, &graph->values[graph->outputs[i]], args));
    FID_TRY(check_overlap(graph, args));
    place_values(graph, args);
    convert_inputs(graph, args);
    FID_TRY(run_steps(graph, run));
    convert_outputs(graph, args);
    return FID_OK;
}
