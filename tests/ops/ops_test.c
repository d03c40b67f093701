/* Every line of the files in tests/ops/cases through the reference kernel and, where the row has one, the cpu kernel: on the layouts that
 * the line gives and on permuted ones, with and without the instruction sets of this machine, with one thread and with many. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "include/fidibus.h"
#include "ops/operator.h"
#include "tests/ops/cases.h"

#define GUARD 64 /* bytes after each output that no kernel may touch */

/* How one case is run. */
typedef struct variant {
    const char *text;
    bool cpu_kernel;
    bool permuted;       /* inputs in another dim order than the line's */
    bool out_form;       /* without the tensor options */
    bool threads;
    uint32_t cpu;
} variant;

typedef struct runner {
    fid_arena arena;
    fid_message message;
    fid_sink sink;
    char what[1200];     /* what is wrong, when something is */
    size_t runs, declined;
} runner;

/* ---- Memory and threads ---- */

static void *test_resize(void *self, void *memory, size_t old_size, size_t new_size) {
    (void)self;
    void *fresh = new_size ? aligned_alloc(64, (new_size + 63) / 64 * 64) : NULL;
    if (fresh && memory) memcpy(fresh, memory, old_size < new_size ? old_size : new_size);
    free(memory);
    return fresh;
}

static const fid_allocator test_allocator = {test_resize, NULL};

typedef struct arena_scratch { fid_scratch base; fid_arena *arena; } arena_scratch;

static void *from_arena(fid_scratch *self, size_t bytes) {
    return fid_arena_allocate(((arena_scratch *)(void *)self)->arena, bytes ? bytes : 1, 64);
}

/* Tasks in falling order: what depends on their order or number shows. */
static void run_backwards(void *self, void (*task)(void *, size_t), void *context, size_t count) {
    (void)self;
    while (count-- > 0) task(context, count);
}

static const fid_threads many_threads = {run_backwards, NULL, 5};

/* ---- Comparing ---- */

typedef struct tolerance { double relative, absolute; } tolerance;

static tolerance tolerance_of(const op_case *c, fid_dtype dtype) {
    if (c->relative >= 0) return (tolerance){c->relative, c->absolute};
    switch (dtype) {
    case FID_FLOAT64: case FID_COMPLEX128: return (tolerance){1e-9, 1e-12};
    case FID_FLOAT16: return (tolerance){1.5e-3, 1e-5};
    case FID_BFLOAT16: return (tolerance){1.2e-2, 1e-5};
    case FID_FLOAT8_E4M3FN: case FID_FLOAT8_E5M2: return (tolerance){0, 0};
    default: return (tolerance){4e-6, 2e-6};
    }
}

static bool near(double a, double b, tolerance t) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b)) return a == b;
    return fabs(a - b) <= t.absolute + t.relative * fabs(b);
}

static bool elements_agree(fidk_form form, fidk_element a, fidk_element b, tolerance t) {
    if (form == FIDK_INTEGER) return a.i == b.i;
    if (form == FIDK_REAL) return near(a.d, b.d, t);
    return near(a.c.re, b.c.re, t) && near(a.c.im, b.c.im, t);
}

static bool same_shape(const fid_tensor *a, const fid_tensor *b) {
    return a->rank == b->rank && memcmp(a->sizes, b->sizes, a->rank * sizeof a->sizes[0]) == 0;
}

static bool compare_tensors(runner *r, const op_case *c, const fid_tensor *got, const fid_tensor *want) {
    fid_dtype dtype = (fid_dtype)want->dtype;
    tolerance t = tolerance_of(c, dtype);
    fidk_walk walk;
    fidk_walk_begin(&walk, want->sizes, want->rank);
    fidk_walk_add_strides(&walk, got->strides);
    fidk_walk_add_strides(&walk, want->strides);
    size_t position = 0;
    FIDK_WALK(&walk) {
        fidk_element a = fidk_load(dtype, got->data, walk.at[0]), b = fidk_load(dtype, want->data, walk.at[1]);
        if (!elements_agree(fidk_form_of(dtype), a, b, t)) {
            if (fidk_form_of(dtype) == FIDK_INTEGER) {
                snprintf(r->what, sizeof r->what, "element %zu is %lld, expected %lld", position, (long long)a.i, (long long)b.i);
            } else {
                snprintf(r->what, sizeof r->what, "element %zu is %.9g, expected %.9g", position, a.d, b.d);
            }
            return false;
        }
        position++;
    }
    return true;
}

static bool compare_values(runner *r, const op_case *c, const fid_value *got, const fid_value *want) {
    if (want->tag == FID_TAG_TENSOR) {
        if (got->as.tensor->dtype == want->as.tensor->dtype && same_shape(got->as.tensor, want->as.tensor)) {
            return compare_tensors(r, c, got->as.tensor, want->as.tensor);
        }
        snprintf(r->what, sizeof r->what, "another shape or dtype after the run");
        return false;
    }
    if (want->tag == FID_TAG_TENSOR_LIST) {
        for (size_t i = 0; i < want->as.tensors.count; i++) {
            if (!compare_tensors(r, c, got->as.tensors.items[i], want->as.tensors.items[i])) return false;
        }
        return true;
    }
    snprintf(r->what, sizeof r->what, "gives %g of kind %d, expected %g of kind %d", fid_value_double(got), got->tag,
             fid_value_double(want), want->tag);
    return got->tag == want->tag && near(fid_value_double(got), fid_value_double(want), (tolerance){1e-12, 0});
}

/* ---- Building the call ---- */

/* The order that differs most from row-major and that convolutions use: channels last where there are four dimensions. */
static void permute_order(fid_tensor *tensor) {
    for (uint8_t d = 0; d < tensor->rank; d++) tensor->dim_order[d] = (uint8_t)(tensor->rank - 1 - d);
    if (tensor->rank == 4) memcpy(tensor->dim_order, (uint8_t[]){0, 2, 3, 1}, 4);
    fid_tensor_update_strides(tensor);
}

static fid_tensor *copy_tensor(runner *r, const fid_tensor *from, bool permuted) {
    fid_tensor *to = fid_arena_allocate_array(&r->arena, 1, sizeof *to);
    *to = *from;
    to->strides = fid_arena_allocate_array(&r->arena, from->rank, sizeof to->strides[0]);
    to->dim_order = fid_arena_allocate_array(&r->arena, from->rank, 1);
    memcpy(to->dim_order, from->dim_order, from->rank);
    fid_tensor_update_strides(to);
    if (permuted) permute_order(to);
    to->data = fid_arena_allocate(&r->arena, from->capacity ? from->capacity : 1, 64);
    fidk_walk walk;
    fidk_walk_begin(&walk, from->sizes, from->rank);
    fidk_walk_add_strides(&walk, from->strides);
    fidk_walk_add_strides(&walk, to->strides);
    FIDK_WALK(&walk) {
        fid_dtype dtype = (fid_dtype)from->dtype;
        fidk_store(dtype, to->data, walk.at[1], fidk_load(dtype, from->data, walk.at[0]));
    }
    return to;
}

static fid_value *copy_value(runner *r, const fid_value *from, bool permuted) {
    fid_value *to = fid_arena_allocate_array(&r->arena, 1, sizeof *to);
    *to = *from;
    if (from->tag == FID_TAG_TENSOR) to->as.tensor = copy_tensor(r, from->as.tensor, permuted);
    if (from->tag == FID_TAG_TENSOR_LIST || from->tag == FID_TAG_OPTIONAL_TENSOR_LIST) {
        fid_tensor **items = fid_arena_allocate_array(&r->arena, from->as.tensors.count, sizeof *items);
        for (size_t i = 0; i < from->as.tensors.count; i++) {
            const fid_tensor *item = from->as.tensors.items[i];
            items[i] = item ? copy_tensor(r, item, permuted) : NULL;
        }
        to->as.tensors.items = items;
    }
    return to;
}

/* An output with the sizes of its meta, filled with a pattern, and a guard behind. */
static fid_tensor *output_tensor(runner *r, const fid_meta *meta) {
    fid_tensor *tensor = fid_arena_allocate_array(&r->arena, 1, sizeof *tensor);
    *tensor = (fid_tensor){.rank = meta->rank, .dtype = meta->dtype, .dynamism = FID_DYNAMIC_BOUND};
    tensor->sizes = fid_arena_allocate_array(&r->arena, meta->rank, sizeof tensor->sizes[0]);
    tensor->strides = fid_arena_allocate_array(&r->arena, meta->rank, sizeof tensor->strides[0]);
    tensor->dim_order = fid_arena_allocate_array(&r->arena, meta->rank, 1);
    memcpy(tensor->sizes, meta->sizes, meta->rank * sizeof meta->sizes[0]);
    memcpy(tensor->dim_order, meta->dim_order, meta->rank);
    fid_tensor_update_strides(tensor);
    tensor->capacity = fid_tensor_bytes(tensor);
    tensor->data = fid_arena_allocate(&r->arena, tensor->capacity + GUARD, 64);
    memset(tensor->data, 0xA5, tensor->capacity + GUARD);
    return tensor;
}

static bool guard_holds(const fid_tensor *tensor) {
    const uint8_t *guard = (const uint8_t *)tensor->data + tensor->capacity;
    for (size_t i = 0; i < GUARD; i++) {
        if (guard[i] != 0xA5) return false;
    }
    return true;
}

static bool is_option(const fid_schema_arg *arg) {
    const char *name = (const char *)arg->name.data;
    return arg->type == FID_SCHEMA_LAYOUT || arg->type == FID_SCHEMA_DEVICE || (arg->name.size == 10 && memcmp(name, "pin_memory", 10) == 0) ||
           (arg->type == FID_SCHEMA_DTYPE && arg->name.size == 5);
}

static bool has_options(const fid_op *op) { return strstr(op->schema, "Layout") != NULL; }

/* Input arguments: copies of the line's. */
static uint32_t fill_inputs(runner *r, const fid_op *op, const op_case *c, const variant *v, fid_value **args) {
    fid_schema_cursor cursor = fid_schema_begin(op->schema);
    fid_schema_arg arg;
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->arg_count && fid_schema_next_arg(&cursor, &arg); i++) {
        if (v->out_form && has_options(op) && is_option(&arg)) continue;
        args[count++] = copy_value(r, c->args[i], v->permuted);
    }
    return count;
}

/* ---- Shapes ---- */

static size_t count_tensors(const op_case *c) {
    size_t count = 0;
    for (uint32_t i = 0; i < c->result_count; i++) {
        const fid_value *result = c->results[i];
        count += result->tag == FID_TAG_TENSOR_LIST ? result->as.tensors.count : result->tag == FID_TAG_TENSOR;
    }
    return count;
}

static bool check_layout(runner *r, const fid_meta *meta, const fid_tensor *want) {
    int64_t strides[FID_MAX_RANK];
    fid_strides_of(meta->sizes, meta->dim_order, meta->rank, strides);
    for (size_t d = 0; d < meta->rank; d++) {
        if (meta->sizes[d] > 1 && strides[d] != want->strides[d]) {
            snprintf(r->what, sizeof r->what, "dimension %zu has stride %lld, expected %lld", d, (long long)strides[d],
                     (long long)want->strides[d]);
            return false;
        }
    }
    return true;
}

static bool check_meta(runner *r, const fid_meta *meta, const fid_tensor *want, bool layout) {
    char got_text[150], want_text[150];
    bool fits = meta->rank == want->rank && meta->dtype == want->dtype && fid_dim_order_valid(meta->dim_order, meta->rank);
    for (size_t d = 0; d < meta->rank && fits; d++) {
        fits = meta->bound_dims >> d & 1 ? meta->sizes[d] >= want->sizes[d] : meta->sizes[d] == want->sizes[d];
    }
    if (fits) return !layout || check_layout(r, meta, want);
    snprintf(r->what, sizeof r->what, "the shape function gives %s%s, expected %s%s", fid_dtype_short_name((fid_dtype)meta->dtype),
             fid_shape_text(meta->sizes, meta->rank, got_text, sizeof got_text), fid_dtype_short_name((fid_dtype)want->dtype),
             fid_shape_text(want->sizes, want->rank, want_text, sizeof want_text));
    return false;
}

/* Metas of all outputs from the functional form, checked against the results that the line expects. */
static fid_status infer(runner *r, const fid_op *op, const op_case *c, const variant *v, fid_meta *metas, bool *out_right) {
    fid_value *args[2 * CASE_MAX_VALUES];
    variant functional = *v;
    functional.out_form = false;
    fid_call call = {.name = op->name, .args = args, .sink = &r->sink};
    call.arg_count = call.output_index = fill_inputs(r, op, c, &functional, args);
    *out_right = true;
    if (op->shape) FID_TRY(op->shape(&call, metas, c->fails ? 2 : count_tensors(c)));
    size_t at = 0;
    for (uint32_t i = 0; i < c->result_count && !c->fails; i++) {
        const fid_value *result = c->results[i];
        size_t count = result->tag == FID_TAG_TENSOR_LIST ? result->as.tensors.count : result->tag == FID_TAG_TENSOR;
        for (size_t k = 0; k < count; k++, at++) {
            const fid_tensor *want = result->tag == FID_TAG_TENSOR ? result->as.tensor : result->as.tensors.items[k];
            if (!op->shape) metas[at] = fid_meta_of(want);
            else if (!check_meta(r, &metas[at], want, c->layout[i] && !v->permuted)) *out_right = false;
        }
    }
    return FID_OK;
}

/* Output values for the metas; returns how many. */
static uint32_t fill_outputs(runner *r, const fid_op *op, const op_case *c, const fid_meta *metas, fid_value **args) {
    fid_schema_cursor cursor = fid_schema_begin(op->schema);
    fid_schema_arg result;
    uint32_t count = 0;
    for (; fid_schema_next_result(&cursor, &result); count++) {
        args[count] = fid_arena_allocate_array(&r->arena, 1, sizeof *args[count]);
        if (result.type != FID_SCHEMA_TENSOR) continue;
        if (!result.list) {
            *args[count] = fid_tensor_value(output_tensor(r, metas++));
            continue;
        }
        size_t items = c->result_count ? c->results[count]->as.tensors.count : 0;
        fid_tensor **list = fid_arena_allocate_array(&r->arena, items, sizeof *list);
        for (size_t k = 0; k < items; k++) list[k] = output_tensor(r, metas++);
        *args[count] = (fid_value){.as.tensors = {list, items}, .tag = FID_TAG_TENSOR_LIST};
    }
    return count;
}

/* ---- Running ---- */

static bool outputs_intact(const fid_call *call) {
    for (uint32_t i = call->output_index; i < call->arg_count; i++) {
        const fid_value *value = call->args[i];
        if (value->tag == FID_TAG_TENSOR && !guard_holds(value->as.tensor)) return false;
        for (size_t k = 0; value->tag == FID_TAG_TENSOR_LIST && k < value->as.tensors.count; k++) {
            if (!guard_holds(value->as.tensors.items[k])) return false;
        }
    }
    return true;
}

static fid_status run_kernel(runner *r, const fid_op *op, const variant *v, fid_call *call) {
    const fid_kernel *kernel = v->cpu_kernel ? op->cpu : op->reference;
    arena_scratch scratch = {{from_arena, from_arena, NULL}, &r->arena};
    call->memory = &scratch.base;
    fid_status status = fid_schema_check(op, call);
    if (status == FID_OK && kernel->prepare) status = kernel->prepare(call);
    if (status == FID_OK) status = kernel->run(call);
    return status;
}

/* True if all is right. */
static bool run_variant(runner *r, const fid_op *op, const op_case *c, const variant *v) {
    fid_meta metas[CASE_MAX_VALUES] = {0};
    fid_value *args[2 * CASE_MAX_VALUES];
    bool right;
    r->message.text[0] = 0;
    fid_status status = infer(r, op, c, v, metas, &right);
    if (status == FID_OK && !right) return false;
    fid_call call = {.name = op->name, .args = args, .sink = &r->sink, .cpu = v->cpu, .threads = v->threads ? &many_threads : NULL};
    if (status == FID_OK) {
        call.output_index = fill_inputs(r, op, c, v, args);
        call.arg_count = call.output_index + fill_outputs(r, op, c, metas, args + call.output_index);
        status = run_kernel(r, op, v, &call);
    }
    if (v->cpu_kernel && status == FID_NOT_SUPPORTED) {
        r->declined++;
        return true;
    }
    r->runs++;
    if (c->fails) {
        snprintf(r->what, sizeof r->what, status == FID_OK ? "succeeds, but must fail" : "fails without a sentence");
        return status != FID_OK && r->message.text[0];
    }
    if (status != FID_OK) {
        snprintf(r->what, sizeof r->what, "fails with %s: %s", fid_status_text(status), r->message.text);
        return false;
    }
    if (!outputs_intact(&call)) {
        snprintf(r->what, sizeof r->what, "writes behind an output");
        return false;
    }
    for (uint32_t i = 0; i < c->result_count; i++) {
        if (!compare_values(r, c, args[call.output_index + i], c->results[i])) return false;
    }
    return true;
}

/* Packed weights have one layout only. */
static bool may_permute(const fid_op *op) { return strncmp(op->name, "fid::", 5) != 0; }

/* Every variant of one line; the name of the first that is wrong, or NULL. */
static const char *run_case(runner *r, const fid_op *op, const op_case *c) {
    uint32_t cpu = fid_environment_default(NULL).cpu;
    const variant variants[] = {
        {.text = "reference"},
        {.text = "reference, permuted layouts", .permuted = true},
        {.text = "reference, out= form", .out_form = true},
        {.text = "cpu, baseline", .cpu_kernel = true},
        {.text = "cpu", .cpu_kernel = true, .cpu = cpu},
        {.text = "cpu, permuted layouts", .cpu_kernel = true, .permuted = true, .cpu = cpu},
        {.text = "cpu, threads", .cpu_kernel = true, .cpu = cpu, .threads = true},
    };
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        const variant *v = &variants[i];
        if ((v->cpu_kernel && !op->cpu) || (v->permuted && !may_permute(op)) || (v->out_form && !has_options(op))) continue;
        if (!run_variant(r, op, c, v)) return v->text;
    }
    return NULL;
}

/* ---- Files ---- */

static bool run_line(runner *r, const char *file, int number, const char *line) {
    op_case c;
    bool readable = case_read(line, &r->arena, &c);
    const fid_op *op = readable ? fid_op_find(&fid_builtin_ops, c.name, c.overload) : NULL;
    const char *wrong = NULL;
    if (!readable) snprintf(r->what, sizeof r->what, "the line is malformed");
    else if (!op || !op->reference) snprintf(r->what, sizeof r->what, "no row with a reference kernel");
    else if (!(wrong = run_case(r, op, &c))) return true;
    print_error("%s:%d: %s: %s\n    %.300s\n", file, number, wrong ? wrong : "case", r->what, line);
    return false;
}

static char *read_whole_line(FILE *file, char **buffer, size_t *size) {
    ssize_t length = getline(buffer, size, file);
    if (length <= 0) return NULL;
    if ((*buffer)[length - 1] == '\n') (*buffer)[length - 1] = 0;
    return *buffer;
}

static void run_file(void **state) {
    const char *path = *state;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    runner r = {0};
    char *line = NULL;
    size_t size = 0, wrong = 0;
    r.sink = fid_message_sink(&r.message);
    for (int number = 1; read_whole_line(file, &line, &size); number++) {
        if (line[0] == '#' || line[0] == 0) continue;
        fid_arena_init(&r.arena, test_allocator, 1 << 20);
        wrong += !run_line(&r, path, number, line);
        fid_arena_deinit(&r.arena);
    }
    free(line);
    fclose(file);
    print_message("%s: %zu runs, %zu declined by cpu kernels, %zu wrong\n", path, r.runs, r.declined, wrong);
    assert_true(r.runs > 0);
    assert_int_equal(wrong, 0);
}

static bool is_wanted(int argc, char **argv, const char *name) {
    const char *dot = strrchr(name, '.');
    if (!dot || strcmp(dot, ".txt") != 0) return false;
    for (int i = 1; i < argc; i++) {
        if (strlen(argv[i]) == (size_t)(dot - name) && strncmp(argv[i], name, (size_t)(dot - name)) == 0) return true;
    }
    return argc == 1;
}

static struct CMUnitTest test_of_file(const char *folder, const char *name) {
    char *path = malloc(strlen(folder) + strlen(name) + 2);
    sprintf(path, "%s%s%s", folder, *folder ? "/" : "", name);
    return (struct CMUnitTest){.name = path, .test_func = run_file, .initial_state = path};
}

/* Optional arguments: families ("pointwise") or case files elsewhere ("/tmp/mine.txt"); default: every family. */
int main(int argc, char **argv) {
    static const char folder[] = FID_SOURCE_DIR "/tests/ops/cases";
    struct CMUnitTest tests[64] = {0};
    size_t count = 0;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory)) && count < 64;) {
        if (is_wanted(argc, argv, entry->d_name)) tests[count++] = test_of_file(folder, entry->d_name);
    }
    if (directory) closedir(directory);
    for (int i = 1; i < argc && count < 64; i++) {
        if (strchr(argv[i], '/')) tests[count++] = test_of_file("", argv[i]);
    }
    int failed = _cmocka_run_group_tests("operators", tests, count, NULL, NULL);
    for (size_t i = 0; i < count; i++) free((void *)tests[i].initial_state);
    return count ? failed : 1;
}
