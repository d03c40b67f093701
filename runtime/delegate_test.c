/* Delegates: what a backend is given, when it is called, and how its failures come out. */
#include "runtime/backend.h"
#include "runtime/program_maker.h"

static fid_message message;

/* A backend that adds the byte of its blob to floats: args are input, output. Submissions are carried out by `wait`. */
typedef struct adder {
    fid_backend backend;
    int inits, destroys, waits, executes;
    bool absent, fail_init, fail_execute;
    char method[32], spec[32];
    size_t named_size;
} adder;

typedef struct handle {
    adder *owner;
    uint8_t amount;
    const fid_tensor *in;
    fid_tensor *out;
} handle;

static bool is_available(const fid_backend_init *init, void *self) {
    (void)init;
    return !((adder *)self)->absent;
}

static fid_status init(void *self, const fid_backend_init *given, void **out_handle) {
    adder *a = self;
    fid_span named;
    if (a->fail_init) return fid_fail(given->sink, FID_DELEGATE_INCOMPATIBLE, "the blob is of version 9, this backend reads 3");
    handle *h = given->persist(given->persist_self, sizeof *h);
    if (!h) return FID_OUT_OF_MEMORY;
    assert_int_equal(given->named_data(given->named_data_self, "nothing", &named), FID_NOT_FOUND);
    assert_int_equal(given->named_data(given->named_data_self, "shared", &named), FID_OK);
    a->named_size = named.size;
    snprintf(a->method, sizeof a->method, "%s", given->method_name);
    snprintf(a->spec, sizeof a->spec, "%s=%.*s", given->spec_count ? given->specs[0].key : "", given->spec_count
             ? (int)given->specs[0].value.size : 0,
             given->spec_count ? (const char *)given->specs[0].value.data : "");
    *h = (handle){.owner = a, .amount = given->blob.data[0]};
    a->inits++;
    *out_handle = h;
    return FID_OK;
}

static void carry_out(handle *h) {
    for (size_t i = 0; i < fid_tensor_numel(h->in); i++) ((float *)h->out->data)[i] = ((const float *)h->in->data)[i] + h->amount;
}

static fid_status execute(void *self, void *of, const fid_backend_run *run, fid_value *const *args, size_t arg_count) {
    adder *a = self;
    handle *h = of;
    a->executes++;
    if (a->fail_execute) return fid_fail(run->sink, FID_DELEGATE_INVALID_HANDLE, "the device is gone");
    if (arg_count != 2 || args[0]->tag != FID_TAG_TENSOR || args[1]->tag != FID_TAG_TENSOR ||
        (args[1]->as.tensor->flags & FID_TENSOR_CONSTANT)) {
        return FID_INVALID_ARGUMENT;
    }
    h->in = args[0]->as.tensor;
    h->out = args[1]->as.tensor;
    FID_TRY(fid_tensor_resize(run->sink, h->out, h->in->sizes, h->in->rank));
    if (!a->backend.wait) carry_out(h);
    return FID_OK;
}

static fid_status wait_all(void *self, void *of, const fid_backend_run *run) {
    (void)run;
    ((adder *)self)->waits++;
    carry_out(of);
    return FID_OK;
}

static void destroy(void *self, void *of) {
    assert_ptr_equal(((handle *)of)->owner, self);
    ((adder *)self)->destroys++;
}

static void make_adder(adder *a, bool asynchronous) {
    *a = (adder){.backend = {.version = FID_BACKEND_VERSION, .struct_size = sizeof(fid_backend), .id = "Adder", .self = a, .is_available = is_available, .init = init,
                             .execute = execute, .wait = asynchronous ? wait_all : NULL, .destroy = destroy}};
}

/* out = adder(x) + adder(x), by two delegates of one blob, then a kernel. */
static test_bytes write_program(const fid_environment *environment) {
    static const uint8_t blob[] = {5, 0, 0};
    static const fid_pte_out_spec spec = {"speed", (const uint8_t *)"high", 4};
    maker m = {.blob = blob, .blob_size = sizeof blob};
    int32_t x = m.inputs[0] = maker_dynamic(&m, maker_tensor(&m, FID_FLOAT32, 4, 0), FID_DYNAMIC_BOUND);
    int32_t a = maker_dynamic(&m, maker_planned(&m, FID_FLOAT32, 4, 0), FID_DYNAMIC_BOUND), b = maker_dynamic(&m,
            maker_tensor(&m, FID_FLOAT32, 4, 0), FID_DYNAMIC_BOUND);
    int32_t out = m.outputs[0] = maker_dynamic(&m, maker_planned(&m, FID_FLOAT32, 4, 0), FID_DYNAMIC_BOUND);
    m.input_count = m.output_count = 1;
    for (int i = 0; i < 2; i++) m.delegates[m.delegate_count++] = (fid_pte_out_delegate){"Adder", 1, &spec, 1};
    maker_args(&m, FID_PTE_OUT_DELEGATE_CALL, 0, 2, (int32_t[]){x, a});
    maker_args(&m, FID_PTE_OUT_DELEGATE_CALL, 1, 2, (int32_t[]){x, b});
    maker_call(&m, "aten::add", "out", a, b, maker_int(&m, 1), out, out);
    return maker_write(&m, environment);
}

typedef struct loaded {
    test_bytes bytes;
    fid_program *program;
    fid_method *method;
    fid_status status;
} loaded;

static loaded load(adder *a, bool given) {
    const fid_backend *backends[] = {&a->backend};
    fid_environment environment = fid_environment_default(&message);
    environment.backends = backends;
    environment.backend_count = given;
    loaded l = {.bytes = write_program(&environment)};
    assert_int_equal(fid_program_open_memory(&environment, l.bytes.data, l.bytes.size, &l.program), FID_OK);
    l.status = fid_method_load(l.program, "forward", NULL, &l.method);
    return l;
}

static void unload(loaded *l) {
    fid_method_unload(l->method);
    fid_program_close(l->program);
    free(l->bytes.data);
}

static fid_status run(const loaded *l, int64_t count) {
    FID_TRY(fid_method_set_input_tensor(l->method, 0, FID_FLOAT32, &count, 1, (float[]){1, 2, 3, 4}));
    return fid_method_run(l->method);
}

static void run_both_ways(bool asynchronous) {
    adder a;
    make_adder(&a, asynchronous);
    loaded l = load(&a, true);
    if (l.status != FID_OK) fail_msg("%s", message.text);
    assert_int_equal(a.inits, 2);
    assert_string_equal(a.method, "forward");
    assert_string_equal(a.spec, "speed=high");
    assert_int_equal(a.named_size, 3);
    for (int64_t count = 4; count > 0; count--) {
        const fid_value *value;
        if (run(&l, count) != FID_OK) fail_msg("%s", message.text);
        assert_int_equal(fid_method_output(l.method, 0, &value), FID_OK);
        assert_int_equal(value->as.tensor->sizes[0], count);
        for (int64_t i = 0; i < count; i++) assert_float_equal(((const float *)value->as.tensor->data)[i], 2 * (float)(i + 1 + 5), 0);
    }
    assert_int_equal(a.executes, 8);
    assert_int_equal(a.waits, asynchronous ? 8 : 0);
    unload(&l);
    assert_int_equal(a.destroys, 2);
}

static void test_delegates_run_in_place_of_operators(void **state) {
    (void)state;
    run_both_ways(false);
}

static void test_submissions_are_waited_for(void **state) {
    (void)state;
    run_both_ways(true);
}

static void expect_load(adder *a, bool given, fid_status status, const char *part) {
    loaded l = load(a, given);
    assert_int_equal(l.status, status);
    assert_says(message, part);
    assert_int_equal(a->inits, a->destroys);
    unload(&l);
}

static void test_backends_that_are_not_there(void **state) {
    (void)state;
    adder a;
    make_adder(&a, false);
    expect_load(&a, false, FID_NOT_FOUND, "needs backend Adder");
    a.absent = true;
    expect_load(&a, true, FID_NOT_FOUND, "not available on this device");
    make_adder(&a, false);
    a.backend.version = 99;
    expect_load(&a, true, FID_DELEGATE_INCOMPATIBLE, "interface version 99");
    make_adder(&a, false);
    a.fail_init = true;
    expect_load(&a, true, FID_DELEGATE_INCOMPATIBLE, "version 9");
}

static void test_a_delegate_that_fails(void **state) {
    (void)state;
    adder a;
    make_adder(&a, true);
    loaded l = load(&a, true);
    a.fail_execute = true;
    assert_int_equal(run(&l, 4), FID_DELEGATE_INVALID_HANDLE);
    assert_says(message, "the device is gone");
    assert_says(message, "Adder");
    a.fail_execute = false;
    assert_int_equal(run(&l, 4), FID_OK);
    unload(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delegates_run_in_place_of_operators),
        cmocka_unit_test(test_submissions_are_waited_for),
        cmocka_unit_test(test_backends_that_are_not_there),
        cmocka_unit_test(test_a_delegate_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
