/* Traces of loads and runs: what is recorded, in which order, and that it becomes a file. */
#include "runtime/testing.h"

#include "format/etdump.h"
#include "runtime/backend.h"

static fid_message message;
static fid_environment environment;
static uint64_t clock_now;

/* A clock that moves by one each time somebody looks. */
static uint64_t tick(void *self) {
    (void)self;
    return ++clock_now;
}

static int start(void **state) {
    (void)state;
    environment = fid_environment_default(&message);
    environment.now = tick;
    clock_now = 0;
    return 0;
}

typedef struct traced {
    test_bytes program_bytes, file;
    fid_program *program;
    fid_method *method;
    fid_trace *trace;
    fid_etdump dump;
} traced;

static void load(traced *t, const char *golden, const char *method) {
    t->program_bytes = test_golden(golden);
    assert_int_equal(fid_trace_create(environment.allocator, &t->trace), FID_OK);
    fid_method_options options = {.struct_size = sizeof options, .tracer = fid_trace_tracer(t->trace)};
    if (fid_program_open_memory(&environment, t->program_bytes.data, t->program_bytes.size, &t->program) != FID_OK) fail_msg("%s", message.text);
    if (fid_method_load(t->program, method, &options, &t->method) != FID_OK) fail_msg("%s", message.text);
}

static void run(traced *t) {
    const float numbers[] = {1, 2};
    int64_t sizes[] = {2};
    for (size_t i = 0; i < 2; i++) assert_int_equal(fid_method_set_input_tensor(t->method, i, FID_FLOAT32, sizes, 1, numbers), FID_OK);
    assert_int_equal(fid_method_run(t->method), FID_OK);
}

static void save(traced *t) {
    uint8_t *data;
    size_t size;
    assert_int_equal(fid_trace_write(t->trace, &environment.sink, &data, &size), FID_OK);
    t->file = test_bytes_copy(data, size);
    fid_free(environment.allocator, data, size);
    if (fid_etdump_open(&environment.sink, fid_span_of(t->file.data, t->file.size), &t->dump) != FID_OK) fail_msg("%s", message.text);
}

static void unload(traced *t) {
    fid_method_unload(t->method);
    fid_trace_destroy(t->trace);
    fid_program_close(t->program);
    free(t->program_bytes.data);
    free(t->file.data);
}

static void expect_event(const fid_etdump_run *run, uint32_t index, const char *name, int32_t chain, int32_t instruction) {
    fid_etdump_event event = fid_etdump_event_at(run, index);
    assert_int_equal(event.kind, FID_ETDUMP_PROFILE);
    assert_string_equal(event.profile.name, name);
    assert_int_equal(event.profile.chain, chain);
    assert_int_equal(event.profile.instruction, instruction);
    assert_true(event.profile.end > event.profile.start);
}

static test_bytes measured_by_upstream(void) { return test_golden_file("measured.etdp"); }

/* tests/golden/measured.etdp is upstream's trace of the same program: same events, names, order and indices. (For events outside of
 * instructions upstream writes instruction 0 and chain -1; here both are -1.) */
static void test_loads_and_runs_are_recorded_as_upstream_does(void **state) {
    (void)state;
    traced t = {0};
    test_bytes upstream = measured_by_upstream();
    fid_etdump expected;
    assert_int_equal(fid_etdump_open(&environment.sink, fid_span_of(upstream.data, upstream.size), &expected), FID_OK);
    load(&t, "sums", "twice");
    run(&t);
    run(&t);
    save(&t);
    assert_int_equal(expected.runs.count, 2);
    assert_int_equal(t.dump.runs.count, 3);
    for (uint32_t r = 0; r < 3; r++) {
        fid_etdump_run ours = fid_etdump_run_at(&t.dump, r), theirs = fid_etdump_run_at(&expected, r ? 1 : 0);
        assert_string_equal(ours.name, theirs.name);
        assert_int_equal(ours.events.count, theirs.events.count);
        for (uint32_t e = 0; e < ours.events.count; e++) {
            fid_trace_event event = fid_etdump_event_at(&theirs, e).profile;
            expect_event(&ours, e, event.name, event.chain, event.chain < 0 ? -1 : event.instruction);
        }
    }
    unload(&t);
    free(upstream.data);
}

static void test_what_is_inside_ends_first(void **state) {
    (void)state;
    traced t = {0};
    load(&t, "sums", "once");
    run(&t);
    save(&t);
    fid_etdump_run all = fid_etdump_run_at(&t.dump, 1);
    fid_trace_event kernel = fid_etdump_event_at(&all, 0).profile, call = fid_etdump_event_at(&all, 1).profile, whole = fid_etdump_event_at(&all, 2).profile;
    assert_true(whole.start < call.start && call.start < kernel.start);
    assert_true(kernel.end < call.end && call.end < whole.end);
    unload(&t);
}

static void test_a_cleared_trace_starts_anew(void **state) {
    (void)state;
    traced t = {0};
    load(&t, "sums", "once");
    fid_trace_clear(t.trace);
    run(&t);
    save(&t);
    assert_int_equal(t.dump.runs.count, 1);
    assert_string_equal(fid_etdump_run_at(&t.dump, 0).name, "Execute");
    unload(&t);
}

/* What a backend reports of a part carries the instruction of its delegate and the part's number. */
static void test_parts_of_a_delegate(void **state) {
    (void)state;
    fid_trace *trace;
    assert_int_equal(fid_trace_create(environment.allocator, &trace), FID_OK);
    const fid_tracer *tracer = fid_trace_tracer(trace);
    fid_backend_run given = {.struct_size = sizeof given, .tracer = tracer, .now = tick, .chain = 0, .instruction = 5}, untraced = {.struct_size = sizeof untraced};
    tracer->begin_block(tracer->self, "Execute");
    fid_backend_trace_end(&given, "Convolution", 17, fid_backend_trace_begin(&given));
    fid_backend_trace_end(&untraced, "nothing", 18, fid_backend_trace_begin(&untraced));
    traced t = {.trace = trace};
    save(&t);
    fid_etdump_run all = fid_etdump_run_at(&t.dump, 0);
    assert_int_equal(all.events.count, 1);
    expect_event(&all, 0, "Convolution", 0, 5);
    assert_int_equal(fid_etdump_event_at(&all, 0).profile.delegate_id, 17);
    fid_trace_destroy(trace);
    free(t.file.data);
}

/* ---- Memory ---- */

static size_t allocations_left;

static void *resize_until(void *self, void *memory, size_t old_size, size_t new_size) {
    if (new_size && allocations_left-- == 0) return allocations_left = 0, NULL;
    return environment.allocator.resize(self, memory, old_size, new_size);
}

static void test_memory_that_runs_out_is_said(void **state) {
    (void)state;
    fid_allocator poor = {resize_until, environment.allocator.self};
    fid_trace_event event = {.name = "one", .start = 1, .end = 2};
    bool whole = false;
    for (size_t limit = 1; !whole; limit++) {
        fid_trace *trace;
        uint8_t *data;
        size_t size;
        allocations_left = limit;
        assert_int_equal(fid_trace_create(poor, &trace), FID_OK);
        const fid_tracer *tracer = fid_trace_tracer(trace);
        tracer->begin_block(tracer->self, "Execute");
        tracer->record(tracer->self, &event);
        fid_status status = fid_trace_write(trace, &environment.sink, &data, &size);
        whole = status == FID_OK;
        if (whole) fid_free(poor, data, size);
        else assert_int_equal(status, FID_OUT_OF_MEMORY);
        fid_trace_destroy(trace);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_loads_and_runs_are_recorded_as_upstream_does, start), cmocka_unit_test_setup(test_what_is_inside_ends_first, start),
        cmocka_unit_test_setup(test_a_cleared_trace_starts_anew, start), cmocka_unit_test_setup(test_parts_of_a_delegate, start),
        cmocka_unit_test_setup(test_memory_that_runs_out_is_said, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
