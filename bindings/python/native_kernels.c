/* Kernels that Python brings: functions behind operators of the user's own, and plug-ins. Programs that are opened afterwards know
 * them; nothing is ever forgotten, because programs may hold on to it. */
#include <stdlib.h>

#include "compiler/ir/custom.h"
#include "native.h"

/* An operator behind which stands a Python function. */
typedef struct python_kernel {
    fid_kernel kernel; /* first: call->kernel leads here */
    fid_op op;
    fid_op_table table;
    PyObject *function;
    native_state *state;
} python_kernel;

/* ---- Arguments ---- */

static PyObject *tensor_object(native_state *state, const fid_tensor *tensor) {
    size_t bytes = fid_tensor_bytes(tensor);
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory) return PyErr_NoMemory();
    if (bytes) memcpy(memory, tensor->data, bytes);
    return native_tensor_create(state, (fid_dtype)tensor->dtype, tensor->sizes, tensor->strides, tensor->rank, memory);
}

static PyObject *item_object(native_state *state, const fid_value *value, size_t i) {
    switch (value->tag) {
    case FID_TAG_INT_LIST: return PyLong_FromLongLong(value->as.ints.items[i]);
    case FID_TAG_DOUBLE_LIST: return PyFloat_FromDouble(value->as.doubles.items[i]);
    case FID_TAG_BOOL_LIST: return PyBool_FromLong(value->as.bools.items[i]);
    default: return value->as.tensors.items[i] ? tensor_object(state, value->as.tensors.items[i]) : Py_NewRef(Py_None);
    }
}

static PyObject *list_object(native_state *state, const fid_value *value) {
    size_t count = value->tag == FID_TAG_INT_LIST ? value->as.ints.count : value->tag == FID_TAG_DOUBLE_LIST ? value->as.doubles.count
                 : value->tag == FID_TAG_BOOL_LIST ? value->as.bools.count : value->as.tensors.count;
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *item = item_object(state, value, i);
        if (!item) Py_CLEAR(list);
        else PyList_SetItem(list, (Py_ssize_t)i, item);
    }
    return list;
}

static PyObject *argument_object(native_state *state, const fid_value *value) {
    switch (value->tag) {
    case FID_TAG_NONE: Py_RETURN_NONE;
    case FID_TAG_TENSOR: return tensor_object(state, value->as.tensor);
    case FID_TAG_INT: return PyLong_FromLongLong(value->as.integer);
    case FID_TAG_DOUBLE: return PyFloat_FromDouble(value->as.number);
    case FID_TAG_BOOL: return PyBool_FromLong(value->as.boolean);
    case FID_TAG_STRING: return PyUnicode_FromStringAndSize(value->as.string.text, (Py_ssize_t)value->as.string.length);
    default: return list_object(state, value);
    }
}

/* ---- Results ---- */

static fid_status copy_result(const fid_call *call, const borrowed_tensor *from, fid_tensor *to) {
    if (from->tensor.dtype != to->dtype) {
        return fid_fail(call->sink, FID_INVALID_TYPE, "%s: the Python function gave %s, the program expects %s", call->name,
                        fid_dtype_name((fid_dtype)from->tensor.dtype), fid_dtype_name((fid_dtype)to->dtype));
    }
    FID_TRY(fid_tensor_resize(call->sink, to, from->sizes, from->tensor.rank));
    static const uint8_t row_major[FID_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    int64_t dense[FID_MAX_RANK], at[FID_MAX_RANK] = {0}, source = 0, target = 0;
    size_t rank = to->rank, item = fid_dtype_size((fid_dtype)to->dtype), count = fid_tensor_numel(to);
    fid_strides_of(from->sizes, row_major, rank, dense);
    const int64_t *strides = from->has_strides ? from->strides : dense;
    for (size_t n = 0; n < count; n++) {
        memcpy((uint8_t *)to->data + target * (int64_t)item, (const uint8_t *)from->tensor.data + source * (int64_t)item, item);
        for (size_t d = rank; d-- > 0;) {
            source += strides[d];
            target += to->strides[d];
            if (++at[d] < to->sizes[d]) break;
            source -= at[d] * strides[d];
            target -= at[d] * to->strides[d];
            at[d] = 0;
        }
    }
    return FID_OK;
}

static fid_status take_tensor(const fid_call *call, PyObject *object, fid_tensor *to) {
    borrowed_tensor borrowed;
    int kind = native_borrow(object, &borrowed);
    if (kind < 0) return FID_INVALID_TYPE;
    if (kind == 0) return fid_fail(call->sink, FID_INVALID_TYPE, "%s: the Python function gave no tensor", call->name);
    fid_status status = copy_result(call, &borrowed, to);
    native_release(&borrowed);
    return status;
}

static fid_status take_number(PyObject *object, fid_value *out) {
    if (PyBool_Check(object)) *out = fid_bool_value(object == Py_True);
    else if (PyFloat_Check(object)) *out = fid_double_value(PyFloat_AsDouble(object));
    else *out = fid_int_value(PyLong_AsLongLong(object));
    return PyErr_Occurred() ? FID_INVALID_TYPE : FID_OK;
}

static fid_status take_results(fid_call *call, PyObject *results) {
    uint32_t count = call->arg_count - call->output_index;
    fid_value *const *outputs = call->args + call->output_index;
    bool listed = count == 1 && outputs[0]->tag == FID_TAG_TENSOR_LIST;
    size_t expected = listed ? outputs[0]->as.tensors.count : count;
    if ((size_t)PyList_Size(results) != expected) {
        return fid_fail(call->sink, FID_INVALID_TYPE, "%s: the Python function gave %zu results, the schema has %zu", call->name,
                        (size_t)PyList_Size(results), expected);
    }
    for (size_t i = 0; i < expected; i++) {
        PyObject *object = PyList_GetItem(results, (Py_ssize_t)i); /* borrowed */
        if (listed) FID_TRY(take_tensor(call, object, outputs[0]->as.tensors.items[i]));
        else if (outputs[i]->tag == FID_TAG_TENSOR) FID_TRY(take_tensor(call, object, outputs[i]->as.tensor));
        else FID_TRY(take_number(object, outputs[i]));
    }
    return FID_OK;
}

/* ---- The call ---- */

/* "ValueError: no such mode" */
static fid_status tell_exception(const fid_call *call) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *text = value ? PyObject_Repr(value) : NULL;
    const char *words = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    fid_status status = fid_fail(call->sink, FID_INTERNAL, "%s: the Python function raised %s", call->name, words ? words : "an exception");
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    PyErr_Clear();
    return status;
}

static fid_status call_function(fid_call *call, const python_kernel *self) {
    PyObject *arguments = PyList_New(call->output_index);
    for (uint32_t i = 0; arguments && i < call->output_index; i++) {
        PyObject *argument = argument_object(self->state, call->args[i]);
        if (!argument) Py_CLEAR(arguments);
        else PyList_SetItem(arguments, i, argument);
    }
    PyObject *results = arguments ? PyObject_CallFunctionObjArgs(self->function, arguments, NULL) : NULL;
    fid_status status = results ? take_results(call, results) : FID_INTERNAL;
    if (PyErr_Occurred()) status = tell_exception(call);
    Py_XDECREF(arguments);
    Py_XDECREF(results);
    return status;
}

static fid_status run_function(fid_call *call) {
    PyGILState_STATE gil = PyGILState_Ensure();
    fid_status status = call_function(call, (const python_kernel *)(const void *)call->kernel);
    PyGILState_Release(gil);
    return status;
}

/* ---- The registry ---- */

static int add_table(native_state *state, const fid_op_table *table) {
    const fid_op_table **all = realloc(state->tables, (state->table_count + 1) * sizeof *all);
    if (!all) {
        PyErr_NoMemory();
        return -1;
    }
    all[state->table_count++] = table;
    state->tables = all;
    return 0;
}

/* Rows of the schemas live in a program of the compiler, which knows how to read them. */
static const fid_op *declare(native_state *state, const char *schema) {
    fid_message message = {0};
    fid_sink sink = fid_message_sink(&message);
    if (!state->schemas && fidc_program_create(fid_environment_default(NULL).allocator, &sink, &fid_builtin_ops, &state->schemas) != FID_OK) {
        PyErr_NoMemory();
        return NULL;
    }
    state->schemas->declared_count = 0; /* a name that is known already is no error; its row stays */
    state->schemas->sink = &sink;
    fid_status status = fidc_custom_declare(state->schemas, schema, "the schema");
    state->schemas->sink = NULL;
    if (status == FID_OK) return state->schemas->declared[state->schemas->declared_count - 1];
    native_raise(state, status, &message);
    return NULL;
}

PyObject *native_register_operator(PyObject *module, PyObject *args) {
    native_state *state = PyModule_GetState(module);
    const char *schema;
    PyObject *function;
    if (!PyArg_ParseTuple(args, "sO", &schema, &function)) return NULL;
    const fid_op *op = declare(state, schema);
    python_kernel *made = op ? calloc(1, sizeof *made) : NULL;
    if (!made) return op ? PyErr_NoMemory() : NULL;
    *made = (python_kernel){.kernel = {.run = run_function}, .op = *op, .function = Py_NewRef(function), .state = state};
    made->op.reference = &made->kernel;
    made->table = (fid_op_table){&made->op, 1};
    if (add_table(state, &made->table) == 0) Py_RETURN_NONE;
    Py_DECREF(function);
    free(made);
    return NULL;
}

PyObject *native_load_kernels(PyObject *module, PyObject *path) {
    native_state *state = PyModule_GetState(module);
    const char *text = PyUnicode_AsUTF8AndSize(path, NULL);
    if (!text) return NULL;
    fid_message message = {0};
    fid_sink sink = fid_message_sink(&message);
    void *handle;
    const fid_op_table *table;
    fid_status status = fid_plugin_open(&sink, text, &handle, &table);
    if (status != FID_OK) return native_raise(state, status, &message);
    if (add_table(state, table) < 0) {
        fid_plugin_close(handle);
        return NULL;
    }
    Py_RETURN_NONE;
}

/* The newest comes first, so that a name that is registered again means the new function; what is built in comes last. */
const fid_op_table **native_tables(const native_state *state, size_t *out_count) {
    const fid_op_table **all = malloc((state->table_count + 1) * sizeof *all);
    *out_count = state->table_count + 1;
    for (size_t i = 0; all && i < state->table_count; i++) all[i] = state->tables[state->table_count - 1 - i];
    if (all) all[state->table_count] = &fid_builtin_ops;
    return all;
}
