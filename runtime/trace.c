/* Tracing a method: measuring where the executor asks for it, and the tracer that remembers what it is told. */
#include "format/etdump.h"
#include "runtime/method.h"

/* ---- Measuring ---- */

uint64_t fid_trace_now(const fid_method *method) {
    const fid_environment *environment = &method->program->environment;
    return environment->now ? environment->now(environment->now_self) : 0;
}

static void record(const fid_method *method, const char *name, bool kernel, bool instruction, uint64_t start) {
    fid_trace_event event = {.name = name, .kernel = kernel, .chain = -1, .instruction = -1, .delegate_id = -1, .start = start,
                             .end = fid_trace_now(method)};
    if (instruction) {
        event.chain = method->traced_chain;
        event.instruction = method->traced_instruction;
    }
    method->tracer->record(method->tracer->self, &event);
}

void fid_trace_span(const fid_method *method, const char *name, bool instruction, uint64_t start) {
    record(method, name, false, instruction, start);
}

fid_status fid_trace_kernel(const fid_method *method, fid_method_call *call) {
    uint64_t start = fid_trace_now(method);
    fid_status status = call->kernel->run(&call->call);
    record(method, call->call.name, true, true, start);
    return status;
}

/* ---- Remembering ---- */

/* A block begins at an event and ends where the next begins. */
typedef struct trace_block { const char *name; size_t first; } trace_block;

struct fid_trace {
    fid_tracer tracer;
    fid_allocator allocator;
    fid_trace_event *events;
    size_t event_count, event_capacity;
    trace_block *blocks;
    size_t block_count, block_capacity;
    bool is_short; /* memory ran out: what is remembered is not all */
};

/* Room for one more item; the array doubles. */
static void *grow(fid_trace *trace, void *items, size_t count, size_t *inout_capacity, size_t item_size) {
    if (count < *inout_capacity) return items;
    size_t capacity = *inout_capacity ? 2 * *inout_capacity : 256;
    void *larger = trace->allocator.resize(trace->allocator.self, items, *inout_capacity * item_size, capacity * item_size);
    if (!larger) {
        trace->is_short = true;
        return NULL;
    }
    *inout_capacity = capacity;
    return larger;
}

static void begin_block(void *self, const char *name) {
    fid_trace *trace = self;
    trace_block *blocks = grow(trace, trace->blocks, trace->block_count, &trace->block_capacity, sizeof *blocks);
    if (!blocks) return;
    trace->blocks = blocks;
    blocks[trace->block_count++] = (trace_block){name, trace->event_count};
}

static void remember(void *self, const fid_trace_event *event) {
    fid_trace *trace = self;
    fid_trace_event *events = grow(trace, trace->events, trace->event_count, &trace->event_capacity, sizeof *events);
    if (!events) return;
    trace->events = events;
    events[trace->event_count++] = *event;
}

fid_status fid_trace_create(fid_allocator allocator, fid_trace **out_trace) {
    fid_trace *trace = fid_allocate(allocator, sizeof *trace);
    if (!trace) return FID_OUT_OF_MEMORY;
    *trace = (fid_trace){.tracer = {trace, begin_block, remember}, .allocator = allocator};
    *out_trace = trace;
    return FID_OK;
}

void fid_trace_destroy(fid_trace *trace) {
    if (!trace) return;
    fid_free(trace->allocator, trace->events, trace->event_capacity * sizeof *trace->events);
    fid_free(trace->allocator, trace->blocks, trace->block_capacity * sizeof *trace->blocks);
    fid_free(trace->allocator, trace, sizeof *trace);
}

const fid_tracer *fid_trace_tracer(fid_trace *trace) { return &trace->tracer; }

void fid_trace_clear(fid_trace *trace) {
    trace->event_count = trace->block_count = 0;
    trace->is_short = false;
}

fid_status fid_trace_write(const fid_trace *trace, const fid_sink *sink, uint8_t **out_data, size_t *out_size) {
    if (trace->is_short) return fid_fail(sink, FID_OUT_OF_MEMORY, "memory ran out while the trace was recorded: parts are missing");
    size_t bytes = trace->block_count * sizeof(fid_etdump_block);
    fid_etdump_block *blocks = fid_allocate(trace->allocator, bytes);
    if (!blocks) return fid_fail(sink, FID_OUT_OF_MEMORY, "no memory to write the trace");
    for (size_t i = 0; i < trace->block_count; i++) {
        size_t first = trace->blocks[i].first, end = i + 1 < trace->block_count ? trace->blocks[i + 1].first : trace->event_count;
        blocks[i] = (fid_etdump_block){trace->blocks[i].name, trace->events ? trace->events + first : NULL, end - first};
    }
    fid_status status = fid_etdump_write(trace->allocator, sink, blocks, trace->block_count, out_data, out_size);
    fid_free(trace->allocator, blocks, bytes);
    return status;
}
