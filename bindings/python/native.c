/* The module fidibus._native: types, the compiler's one call, the operator table. */
#include "native.h"

#include <stdio.h>
#include <stdlib.h>

#include "compiler/pipeline.h"

static PyObject *raise_text(native_state *state, fid_status status, const char *text) {
    PyObject *error = PyObject_CallFunction((PyObject *)state->error, "s", text);
    PyObject *number = error ? PyLong_FromLong(status) : NULL;
    if (number && PyObject_SetAttrString(error, "status", number) == 0) PyErr_SetObject(state->error, error);
    Py_XDECREF(number);
    Py_XDECREF(error);
    return NULL;
}

PyObject *native_raise(native_state *state, fid_status status, const fid_message *message) {
    return raise_text(state, status, message->text[0] ? message->text : fid_status_text(status));
}

/* ---- Compiling ---- */

/* The sentences of one failure, from the inside out, however long: a list of operators may be. */
typedef struct whole_message {
    fid_status status;
    char *text; /* malloc'ed; NULL: nothing said */
} whole_message;

static void keep_sentence(void *self, fid_status status, const char *sentence) {
    whole_message *message = self;
    const char *inner = message->text && message->status == status ? message->text : NULL;
    size_t size = strlen(sentence) + (inner ? strlen(inner) + 2 : 0) + 1;
    char *text = malloc(size);
    if (text) snprintf(text, size, "%s%s%s", sentence, inner ? ": " : "", inner ? inner : "");
    free(message->text);
    message->text = text;
    message->status = status;
}

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
    return Py_BuildValue("{s:I,s:K,s:K,s:K,s:K,s:z}", "operators", report->operators, "planned_bytes", report->planned_bytes,
                         "liveness_bound_bytes", report->liveness_bound_bytes, "program_bytes", report->program_bytes, "constant_bytes",
                         report->constant_bytes, "unsupported", report->unsupported_json ? report->unsupported_json : "[]");
}

static PyObject *native_compile(PyObject *module, PyObject *args, PyObject *keywords) {
    static char *names[] = {"methods", "output", "target", "no_reuse", "stack_traces", "schemas", "allow_missing", NULL};
    PyObject *list;
    const char *schemas = NULL;
    const char *output, *target = "cpu";
    int no_reuse = 0, stack_traces = 0, allow_missing = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "Os|sppzp", names, &list, &output, &target, &no_reuse, &stack_traces,
                                     &schemas, &allow_missing)) return NULL;
    fidc_method_file methods[MOST_METHODS];
    size_t count;
    if (read_methods(list, methods, &count) < 0) return NULL;
    bool portable = strcmp(target, "portable") == 0;
    if (!portable && strcmp(target, "cpu") != 0) return PyErr_Format(PyExc_ValueError, "there is no target \"%s\"; there are cpu and portable", target);
    fidc_options options = {.struct_size = sizeof options, .target = portable ? FIDC_TARGET_PORTABLE : FIDC_TARGET_CPU,
                            .no_reuse = no_reuse != 0, .stack_traces = stack_traces != 0, .allow_missing = allow_missing != 0,
                            .schemas = &schemas, .schema_count = schemas != NULL};
    whole_message message = {FID_OK, NULL};
    fid_environment environment = fid_environment_default(NULL);
    environment.sink = (fid_sink){keep_sentence, &message};
    fidc_report report;
    fid_status status;
    Py_BEGIN_ALLOW_THREADS
    status = fidc_compile(environment.allocator, &environment.sink, methods, count, &options, output, &report);
    Py_END_ALLOW_THREADS
    const char *text = message.text && message.status == status ? message.text : fid_status_text(status);
    PyObject *result = status == FID_OK ? report_object(&report) : raise_text(PyModule_GetState(module), status, text);
    free(message.text);
    fidc_report_deinit(environment.allocator, &report);
    return result;
}

static PyObject *add_names(PyObject *list, const fid_op_table *table) {
    for (size_t i = 0; list && i < table->count; i++) {
        const fid_op *op = &table->ops[i];
        if (!op->reference) continue;
        PyObject *name = PyUnicode_FromFormat("%s%s%s", op->name, op->out[0] ? "." : "", op->out);
        if (!name || PyList_Append(list, name) < 0) Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

static PyObject *native_operator_names(PyObject *module, PyObject *unused) {
    (void)unused;
    const native_state *state = PyModule_GetState(module);
    PyObject *list = PyList_New(0);
    list = add_names(list, &fid_builtin_ops);
    for (size_t i = 0; i < state->table_count; i++) list = add_names(list, state->tables[i]);
    return list;
}

/* ---- The module ---- */

static PyTypeObject *add_type(PyObject *module, PyType_Spec *spec, const char *name) {
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (type && PyModule_AddObjectRef(module, name, type) < 0) Py_CLEAR(type);
    return (PyTypeObject *)type;
}

static int native_exec(PyObject *module) {
    native_state *state = PyModule_GetState(module);
    state->error = PyErr_NewExceptionWithDoc("fidibus.Error", "What went wrong, where, and what to do; .status is the number that the C API returns.",
                                             PyExc_RuntimeError, NULL);
    if (!state->error || PyModule_AddObjectRef(module, "Error", state->error) < 0) return -1;
    state->tensor = add_type(module, &native_tensor_spec, "Tensor");
    state->program = add_type(module, &native_program_spec, "Program");
    state->method = add_type(module, &native_method_spec, "Method");
    return state->tensor && state->program && state->method && PyModule_AddStringConstant(module, "version", FID_VERSION) == 0 ? 0 : -1;
}

static int native_traverse(PyObject *module, visitproc visit, void *arg) {
    native_state *state = PyModule_GetState(module);
    Py_VISIT(state->error);
    Py_VISIT(state->tensor);
    Py_VISIT(state->program);
    Py_VISIT(state->method);
    return 0;
}

static int native_clear(PyObject *module) {
    native_state *state = PyModule_GetState(module);
    Py_CLEAR(state->error);
    Py_CLEAR(state->tensor);
    Py_CLEAR(state->program);
    Py_CLEAR(state->method);
    return 0;
}

static PyMethodDef native_methods[] = {
    {"compile", (PyCFunction)(void (*)(void))native_compile, METH_VARARGS | METH_KEYWORDS,
     "compile(methods, output, target='cpu', no_reuse=False, stack_traces=False, schemas=None, allow_missing=False): [(name, path.pt2)] to a "
     ".pte file; returns the report."},
    {"register_operator", native_register_operator, METH_VARARGS,
     "register_operator(schema, function): the function takes a list of arguments and gives a list of results."},
    {"load_kernels", native_load_kernels, METH_O, "Loads a plug-in: a shared library with operators."},
    {"operator_names", native_operator_names, METH_NOARGS, "Names of all operators with a kernel."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot native_module_slots[] = {{Py_mod_exec, native_exec}, {0, NULL}};

static struct PyModuleDef native_module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "fidibus._native",
    .m_doc = "The C side of the package fidibus.",
    .m_size = sizeof(native_state),
    .m_methods = native_methods,
    .m_slots = native_module_slots,
    .m_traverse = native_traverse,
    .m_clear = native_clear,
};

PyMODINIT_FUNC PyInit__native(void);
PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&native_module); }
