/* The compiler for Python: one call, with what its options point to. */
#include "native.h"

#include <stdio.h>
#include <stdlib.h>

#include "backends/compile_backends.h"
#include "compiler/pipeline.h"
#include "platform/posix/whole_message.h"

#define MOST_METHODS 64

static int read_methods(PyObject *list, fidc_method_file *out, size_t *out_count) {
    Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : -1;
    if (count < 1 || count > MOST_METHODS) {
        PyErr_Format(PyExc_ValueError, "methods is a list of 1 to %d (name, path) pairs", MOST_METHODS);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "ss", &out[i].name, &out[i].path)) return -1;
    }
    *out_count = (size_t)count;
    return 0;
}

static PyObject *report_object(const fidc_report *report) {
    return Py_BuildValue("{s:I,s:K,s:K,s:O,s:K,s:K,s:K,s:K,s:z,s:I,s:I,s:z}", "operators", report->operators, "planned_bytes", report->planned_bytes,
                         "liveness_bound_bytes", report->liveness_bound_bytes, "plan_is_optimal", report->plan_is_optimal ? Py_True : Py_False,
                         "program_bytes", report->program_bytes, "data_bytes", report->data_bytes, "constant_bytes", report->constant_bytes,
                         "winograd_bytes", report->winograd_bytes, "unsupported", report->unsupported_json ? report->unsupported_json : "[]",
                         "delegates", report->delegates, "delegated", report->delegated, "outside", report->outside_json ? report->outside_json : "null");
}

/* ---- Lists that options point to ---- */

typedef struct request {
    fidc_method_file methods[MOST_METHODS];
    size_t method_count;
    fidc_external_weights *externals;
    size_t external_count;
    fidc_constant_method *constants;
    size_t constant_count;
    struct constant_values *values; /* of each constant */
} request;

/* Values of one constant method, and what is borrowed for them. */
typedef struct constant_values {
    borrowed_tensor *borrowed;
    fid_value *items;
    size_t count;
} constant_values;

static void free_request(request *r) {
    for (size_t i = 0; r->values && i < r->constant_count; i++) {
        for (size_t k = 0; r->values[i].borrowed && k < r->values[i].count; k++) native_release(&r->values[i].borrowed[k]);
        free(r->values[i].borrowed);
        free(r->values[i].items);
    }
    free(r->values);
    free(r->constants);
    free(r->externals);
}

/* Pairs of pattern and path. */
static int read_externals(PyObject *list, request *r) {
    Py_ssize_t count = PyList_Size(list);
    if (count < 0 || !(r->externals = calloc((size_t)count + 1, sizeof *r->externals))) return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "ss", &r->externals[i].pattern, &r->externals[i].path)) return -1;
    }
    r->external_count = (size_t)count;
    return 0;
}

static const uint8_t row_major[FID_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* A tensor or a plain value. */
static int read_constant(PyObject *object, borrowed_tensor *borrowed, fid_value *out) {
    int kind = native_borrow(object, borrowed);
    if (kind <= 0) return kind < 0 ? -1 : native_plain_value(object, out);
    borrowed->tensor.dim_order = (uint8_t *)(uintptr_t)row_major;
    borrowed->tensor.strides = borrowed->strides;
    if (!borrowed->has_strides) fid_strides_of(borrowed->sizes, row_major, borrowed->tensor.rank, borrowed->strides);
    *out = fid_tensor_value(&borrowed->tensor);
    return 0;
}

static int read_values(PyObject *list, constant_values *out) {
    Py_ssize_t count = PyList_Size(list);
    if (count < 0) return -1;
    out->borrowed = calloc((size_t)count + 1, sizeof *out->borrowed);
    out->items = calloc((size_t)count + 1, sizeof *out->items);
    if (!out->borrowed || !out->items) return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        out->count = (size_t)i + 1;
        if (read_constant(PyList_GetItem(list, i), &out->borrowed[i], &out->items[i]) < 0) return -1;
    }
    return 0;
}

/* Triples of name, flat values, and the tree in torch's JSON. */
static int read_constants(PyObject *list, request *r) {
    Py_ssize_t count = PyList_Size(list);
    if (count < 0) return -1;
    r->constants = calloc((size_t)count + 1, sizeof *r->constants);
    r->values = calloc((size_t)count + 1, sizeof *r->values);
    if (!r->constants || !r->values) return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *values;
        r->constant_count = (size_t)i + 1;
        fidc_constant_method *method = &r->constants[i];
        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "sOs", &method->name, &values, &method->output_tree)) return -1;
        if (read_values(values, &r->values[i]) < 0) return -1;
        method->values = r->values[i].items;
        method->value_count = r->values[i].count;
    }
    return 0;
}

/* ---- The call ---- */

static PyObject *compile(PyObject *module, const request *r, const fidc_options *options, const char *output) {
    fid_whole_message message = {FID_OK, NULL};
    fid_environment environment = fid_environment_default(NULL);
    environment.sink = fid_whole_message_sink(&message);
    fidc_report report;
    fid_status status;
    Py_BEGIN_ALLOW_THREADS
    status = fidc_compile(environment.allocator, &environment.sink, r->methods, r->method_count, options, output, &report);
    Py_END_ALLOW_THREADS
    PyObject *result = status == FID_OK ? report_object(&report) : native_raise_text(PyModule_GetState(module), status, fid_whole_message_text(&message, status));
    fid_whole_message_deinit(&message);
    fidc_report_deinit(environment.allocator, &report);
    return result;
}

PyObject *native_compile(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"methods", "output", "target", "no_reuse", "stack_traces", "schemas", "allow_missing", "external_weights",
                            "share_buffers", "constants", "precision", "winograd", "per_operator", NULL};
    PyObject *methods, *externals = NULL, *constants = NULL;
    const char *schemas = NULL, *output, *target = "cpu", *precision = "float32";
    int no_reuse = 0, stack_traces = 0, allow_missing = 0, share_buffers = 0, winograd = 1, per_operator = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "Os|sppzpOpOspp", names, &methods, &output, &target, &no_reuse, &stack_traces,
                                     &schemas, &allow_missing, &externals, &share_buffers, &constants, &precision, &winograd, &per_operator)) return NULL;
    const fidc_backend *backend = fidc_backend_find(target);
    bool portable = backend || strcmp(target, "portable") == 0;
    if (!portable && strcmp(target, "cpu") != 0)
        return PyErr_Format(PyExc_ValueError, "there is no target \"%s\"; there are cpu, portable and " FIDC_BACKEND_TARGETS, target);
    bool bf16 = strcmp(precision, "bf16") == 0;
    if (!bf16 && strcmp(precision, "float32") != 0) return PyErr_Format(PyExc_ValueError, "there is no precision \"%s\"; there are float32 and bf16", precision);
    if (bf16 && portable) return PyErr_Format(PyExc_ValueError, "precision bf16 is for target cpu");
    request r = {.method_count = 0};
    PyObject *result = NULL;
    if (read_methods(methods, r.methods, &r.method_count) == 0 && (!externals || read_externals(externals, &r) == 0) &&
        (!constants || read_constants(constants, &r) == 0)) {
        fidc_options options = {.struct_size = sizeof options, .target = portable ? FIDC_TARGET_PORTABLE : FIDC_TARGET_CPU,
                                .backend = backend, .per_operator = per_operator != 0, .bf16 = bf16, .no_winograd = !winograd, .no_reuse = no_reuse != 0, .stack_traces = stack_traces != 0, .allow_missing = allow_missing != 0,
                                .schemas = &schemas, .schema_count = schemas != NULL, .externals = r.externals,
                                .external_count = r.external_count, .share_buffers = share_buffers != 0, .constants = r.constants,
                                .constant_count = r.constant_count};
        result = compile(module, &r, &options, output);
    }
    free_request(&r);
    return result;
}
