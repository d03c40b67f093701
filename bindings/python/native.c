/* The module fidibus._native: types, the compiler's one call, the operator table. */
#include "native.h"

#include <stdio.h>
#include <stdlib.h>

#include "compiler/pipeline.h"

PyObject *native_raise_text(native_state *state, fid_status status, const char *text) {
    PyObject *error = PyObject_CallFunction((PyObject *)state->error, "s", text);
    PyObject *number = error ? PyLong_FromLong(status) : NULL;
    if (number && PyObject_SetAttrString(error, "status", number) == 0) PyErr_SetObject(state->error, error);
    Py_XDECREF(number);
    Py_XDECREF(error);
    return NULL;
}

PyObject *native_raise(native_state *state, fid_status status, const fid_message *message) {
    return native_raise_text(state, status, message->text[0] ? message->text : fid_status_text(status));
}

/* ---- Operators ---- */

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
    state->data = add_type(module, &native_data_spec, "Data");
    return state->tensor && state->program && state->method && state->data && PyModule_AddStringConstant(module, "version", FID_VERSION) == 0 ? 0 : -1;
}

static int native_traverse(PyObject *module, visitproc visit, void *arg) {
    native_state *state = PyModule_GetState(module);
    Py_VISIT(state->error);
    Py_VISIT(state->tensor);
    Py_VISIT(state->program);
    Py_VISIT(state->method);
    Py_VISIT(state->data);
    return 0;
}

static int native_clear(PyObject *module) {
    native_state *state = PyModule_GetState(module);
    Py_CLEAR(state->error);
    Py_CLEAR(state->tensor);
    Py_CLEAR(state->program);
    Py_CLEAR(state->method);
    Py_CLEAR(state->data);
    return 0;
}

static PyMethodDef native_methods[] = {
    {"compile", (PyCFunction)(void (*)(void))native_compile, METH_VARARGS | METH_KEYWORDS,
     "compile(methods, output, target='cpu', no_reuse=False, stack_traces=False, schemas=None, allow_missing=False, "
     "external_weights=[(pattern, path)], share_buffers=False, constants=[(name, values, tree)], precision='float32', winograd=True): [(name, path.pt2)] to a .pte file; "
     "returns the report."},
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
