/* Programs and methods for Python. A method keeps its program, and the program its bytes, alive. */
#include <stdlib.h>

#include "native.h"
#include "platform/posix/threads.h"

static native_state *state_of(PyObject *object) { return PyType_GetModuleState(Py_TYPE(object)); }

/* ---- Programs ---- */

typedef native_program program_object;
typedef native_method method_object;

static void program_dealloc(PyObject *object) {
    program_object *self = (program_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    fid_shared_state_release(self->shared);
    fid_trace_destroy(self->trace);
    if (self->program) fid_program_close(self->program);
    if (self->threads) fid_threads_destroy(self->threads);
    free(self->tables);
    Py_XDECREF(self->bytes);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static fid_status open_file_or_bytes(program_object *self, const fid_environment *environment, PyObject *data) {
    char *bytes;
    Py_ssize_t size;
    if (PyBytes_Check(data)) {
        if (PyBytes_AsStringAndSize(data, &bytes, &size) < 0) return FID_INTERNAL;
        self->bytes = Py_NewRef(data);
        return fid_program_open_memory(environment, bytes, (size_t)size, &self->program);
    }
    const char *path = PyUnicode_AsUTF8AndSize(data, &size);
    return path ? fid_program_open_file(environment, path, &self->program) : FID_INTERNAL;
}

static fid_status open_program(program_object *self, PyObject *data, long threads, bool trace) {
    fid_environment environment = fid_environment_default(&self->message);
    if (trace) FID_TRY(fid_trace_create(environment.allocator, &self->trace));
    if (threads > 1) FID_TRY(fid_threads_create(environment.allocator, (uint32_t)threads, &self->threads));
    environment.threads = self->threads;
    self->tables = native_tables(state_of((PyObject *)self), &environment.table_count);
    if (!self->tables) return FID_OUT_OF_MEMORY;
    environment.tables = self->tables;
    FID_TRY(open_file_or_bytes(self, &environment, data));
    return fid_program_shares_buffers(self->program) ? fid_shared_state_create(&environment, &self->shared) : FID_OK;
}

static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"data", "threads", "trace", NULL};
    PyObject *data;
    long threads = 1;
    int trace = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|lp", names, &data, &threads, &trace)) return NULL;
    if (!PyBytes_Check(data) && !PyUnicode_Check(data)) return PyErr_Format(PyExc_TypeError, "a program is a path (str) or bytes");
    if (threads < 1 || threads > 256) return PyErr_Format(PyExc_ValueError, "threads is from 1 to 256, not %ld", threads);
    program_object *self = (program_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    fid_status status = open_program(self, data, threads, trace != 0);
    if (status == FID_OK) return (PyObject *)self;
    if (!PyErr_Occurred()) native_raise(state_of((PyObject *)self), status, &self->message);
    Py_DECREF(self);
    return NULL;
}

static PyObject *program_method_names(PyObject *object, PyObject *unused) {
    (void)unused;
    program_object *self = (program_object *)object;
    size_t count = fid_program_method_count(self->program);
    PyObject *names = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; names && i < count; i++) {
        PyList_SetItem(names, (Py_ssize_t)i, PyUnicode_FromString(fid_program_method_name(self->program, i)));
    }
    return names;
}

static PyObject *program_etdump(PyObject *object, PyObject *unused) {
    (void)unused;
    program_object *self = (program_object *)object;
    fid_allocator allocator = fid_environment_default(NULL).allocator;
    fid_sink sink = fid_message_sink(&self->message);
    uint8_t *data;
    size_t size;
    if (!self->trace) return PyErr_Format(PyExc_RuntimeError, "the program is not traced; load it with enable_etdump=True");
    fid_status status = fid_trace_write(self->trace, &sink, &data, &size);
    if (status != FID_OK) return native_raise(state_of(object), status, &self->message);
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)data, (Py_ssize_t)size);
    fid_free(allocator, data, size);
    return bytes;
}

/* ---- Methods ---- */

static void method_dealloc(PyObject *object) {
    method_object *self = (method_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->method) fid_method_unload(self->method);
    Py_XDECREF(self->program);
    Py_XDECREF(self->data);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static fid_status load(method_object *self, const char *name, fid_data **files, size_t count) {
    fid_method_options options = {.struct_size = sizeof options, .data = files, .data_count = count, .shared_state = self->program->shared,
                                  .tracer = self->program->trace ? fid_trace_tracer(self->program->trace) : NULL};
    self->program->message.text[0] = 0;
    return fid_method_load(self->program->program, name, &options, &self->method);
}

static PyObject *program_load_method(PyObject *object, PyObject *args) {
    native_state *state = state_of(object);
    const char *name;
    PyObject *data;
    size_t count;
    if (!PyArg_ParseTuple(args, "sO", &name, &data)) return NULL;
    fid_data **files = native_data_files(state, data, &count);
    if (!files) return NULL;
    method_object *self = (method_object *)((allocfunc)PyType_GetSlot(state->method, Py_tp_alloc))(state->method, 0);
    fid_status status = FID_OUT_OF_MEMORY;
    if (self) {
        self->program = (program_object *)Py_NewRef(object);
        self->data = Py_NewRef(data);
        status = load(self, name, files, count);
    }
    free(files);
    if (!self || status == FID_OK) return (PyObject *)self;
    native_raise(state, status, &self->program->message);
    Py_DECREF(self);
    return NULL;
}

/* (kind, dtype, sizes, bytes, dynamic) */
static PyObject *info_object(const fid_tensor_info *info) {
    bool is_tensor = info->tag == FID_TAG_TENSOR;
    PyObject *sizes = PyTuple_New(is_tensor ? info->rank : 0);
    for (Py_ssize_t i = 0; sizes && is_tensor && i < info->rank; i++) PyTuple_SetItem(sizes, i, PyLong_FromLongLong(info->sizes[i]));
    if (!sizes) return NULL;
    return Py_BuildValue("(isNnN)", info->tag, is_tensor ? fid_dtype_name((fid_dtype)info->dtype) : "", sizes,
                         is_tensor ? (Py_ssize_t)info->bytes : 0, PyBool_FromLong(is_tensor && info->dynamism != FID_STATIC));
}

typedef fid_status (*info_function)(const fid_method *method, size_t index, fid_tensor_info *out_info);

static PyObject *info_list(method_object *self, size_t count, info_function get) {
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++) {
        fid_tensor_info info;
        PyObject *item = get(self->method, i, &info) == FID_OK ? info_object(&info) : NULL;
        if (!item) {
            Py_DECREF(list);
            return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_RuntimeError, "no description of value %zu", i);
        }
        PyList_SetItem(list, (Py_ssize_t)i, item);
    }
    return list;
}

static PyObject *method_inputs(PyObject *object, PyObject *unused) {
    (void)unused;
    method_object *self = (method_object *)object;
    return info_list(self, fid_method_input_count(self->method), fid_method_input_info);
}

static PyObject *method_outputs(PyObject *object, PyObject *unused) {
    (void)unused;
    method_object *self = (method_object *)object;
    return info_list(self, fid_method_output_count(self->method), fid_method_output_info);
}

static PyObject *method_planned_bytes(PyObject *object, PyObject *unused) {
    (void)unused;
    return PyLong_FromSize_t(fid_method_planned_bytes(((method_object *)object)->method));
}

static PyObject *method_trees(PyObject *object, PyObject *unused) {
    (void)unused;
    const fid_method *method = ((method_object *)object)->method;
    return Py_BuildValue("(ss)", fid_method_input_tree(method), fid_method_output_tree(method));
}

/* ---- Running ---- */

/* One run: what is borrowed from the caller, and the memory of outputs that Python will own. */
typedef struct run_memory {
    borrowed_tensor *inputs;
    size_t input_count;
    void **outputs;
    size_t output_count;
} run_memory;

static void free_run(run_memory *run) {
    for (size_t i = 0; run->inputs && i < run->input_count; i++) native_release(&run->inputs[i]);
    for (size_t i = 0; run->outputs && i < run->output_count; i++) free(run->outputs[i]);
    free(run->inputs);
    free(run->outputs);
}

int native_plain_value(PyObject *object, fid_value *out) {
    if (object == Py_None) *out = fid_none_value();
    else if (PyBool_Check(object)) *out = fid_bool_value(object == Py_True);
    else if (PyLong_Check(object)) *out = fid_int_value(PyLong_AsLongLong(object));
    else if (PyFloat_Check(object)) *out = fid_double_value(PyFloat_AsDouble(object));
    else if (PyUnicode_Check(object)) {
        Py_ssize_t length;
        out->as.string.text = PyUnicode_AsUTF8AndSize(object, &length);
        out->as.string.length = (size_t)length;
        out->tag = FID_TAG_STRING;
    } else {
        PyErr_Format(PyExc_TypeError, "an input is a tensor (anything with __dlpack__), a number, a bool, a str or None, not %R", Py_TYPE(object));
        return -1;
    }
    return PyErr_Occurred() ? -1 : 0;
}

static fid_status set_input(method_object *self, size_t index, PyObject *object, borrowed_tensor *borrowed) {
    fid_input input = {.struct_size = sizeof input, .by_reference = true};
    int kind = native_borrow(object, borrowed);
    if (kind < 0) return FID_INVALID_ARGUMENT;
    if (kind == 0) {
        if (native_plain_value(object, &input.value) < 0) return FID_INVALID_TYPE;
    } else {
        input.value = fid_tensor_value(&borrowed->tensor);
        input.strides = borrowed->has_strides ? borrowed->strides : NULL;
    }
    return fid_method_set_input(self->method, index, &input);
}

static fid_status set_inputs(method_object *self, PyObject *inputs, run_memory *run) {
    for (size_t i = 0; i < run->input_count; i++) {
        PyObject *object = PyList_GetItem(inputs, (Py_ssize_t)i); /* borrowed */
        FID_TRY(set_input(self, i, object, &run->inputs[i]));
    }
    return FID_OK;
}

/* Outputs are written straight into memory that Python will own. Where a method cannot do so (an output that is an input or a
 * constant), it refuses, and the output is copied afterwards. */
static fid_status place_outputs(method_object *self, run_memory *run) {
    for (size_t i = 0; i < run->output_count; i++) {
        fid_tensor_info info;
        FID_TRY(fid_method_output_info(self->method, i, &info));
        if (info.tag != FID_TAG_TENSOR || info.dynamism != FID_STATIC) continue;
        run->outputs[i] = malloc(info.bytes ? info.bytes : 1);
        if (!run->outputs[i]) return FID_OUT_OF_MEMORY;
        if (fid_method_set_output_data(self->method, i, run->outputs[i], info.bytes) != FID_OK) {
            free(run->outputs[i]);
            run->outputs[i] = NULL;
        }
    }
    self->program->message.text[0] = 0;
    return FID_OK;
}

static PyObject *tensor_output(native_state *state, const fid_tensor *tensor, void **placed) {
    void *memory = *placed;
    if (!memory || memory != tensor->data) {
        size_t bytes = fid_tensor_bytes(tensor);
        memory = malloc(bytes ? bytes : 1);
        if (!memory) return PyErr_NoMemory();
        if (bytes) memcpy(memory, tensor->data, bytes);
    } else *placed = NULL;
    return native_tensor_create(state, (fid_dtype)tensor->dtype, tensor->sizes, tensor->strides, tensor->rank, memory);
}

static PyObject *output_object(native_state *state, const fid_value *value, void **placed) {
    switch (value->tag) {
    case FID_TAG_TENSOR: return tensor_output(state, value->as.tensor, placed);
    case FID_TAG_INT: return PyLong_FromLongLong(value->as.integer);
    case FID_TAG_DOUBLE: return PyFloat_FromDouble(value->as.number);
    case FID_TAG_BOOL: return PyBool_FromLong(value->as.boolean);
    case FID_TAG_STRING: return PyUnicode_FromStringAndSize(value->as.string.text, (Py_ssize_t)value->as.string.length);
    default: Py_RETURN_NONE;
    }
}

static PyObject *collect_outputs(method_object *self, run_memory *run) {
    native_state *state = state_of((PyObject *)self);
    PyObject *list = PyList_New((Py_ssize_t)run->output_count);
    for (size_t i = 0; list && i < run->output_count; i++) {
        const fid_value *value;
        fid_status status = fid_method_output(self->method, i, &value);
        PyObject *item = status == FID_OK ? output_object(state, value, &run->outputs[i])
                                          : native_raise(state, status, &self->program->message);
        if (!item) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SetItem(list, (Py_ssize_t)i, item);
    }
    return list;
}

static fid_status run_method(method_object *self) {
    fid_status status;
    if (self->program->trace) return fid_method_run(self->method); /* one trace: one run at a time */
    Py_BEGIN_ALLOW_THREADS
    status = fid_method_run(self->method);
    Py_END_ALLOW_THREADS
    return status;
}

static PyObject *execute(method_object *self, PyObject *inputs, run_memory *run) {
    fid_message *message = &self->program->message;
    message->text[0] = 0;
    fid_status status = place_outputs(self, run);
    if (status == FID_OK) status = set_inputs(self, inputs, run);
    if (PyErr_Occurred()) return NULL;
    if (status == FID_OK) {
        self->running = true;
        status = run_method(self);
        self->running = false;
    }
    return status == FID_OK ? collect_outputs(self, run) : native_raise(state_of((PyObject *)self), status, message);
}

static PyObject *method_execute(PyObject *object, PyObject *inputs) {
    method_object *self = (method_object *)object;
    if (!PyList_Check(inputs)) return PyErr_Format(PyExc_TypeError, "inputs is a list");
    if (self->running) return PyErr_Format(PyExc_RuntimeError, "this method is running on another thread; load it once for each thread");
    run_memory run = {.input_count = fid_method_input_count(self->method), .output_count = fid_method_output_count(self->method)};
    if ((size_t)PyList_Size(inputs) != run.input_count) {
        fid_message *message = &self->program->message;
        fid_sink sink = fid_message_sink(message);
        fid_fail(&sink, FID_INVALID_ARGUMENT, "the method takes %zu input%s, %zu given", run.input_count, run.input_count == 1 ? "" : "s",
                 (size_t)PyList_Size(inputs));
        return native_raise(state_of(object), FID_INVALID_ARGUMENT, message);
    }
    run.inputs = calloc(run.input_count + 1, sizeof *run.inputs);
    run.outputs = calloc(run.output_count + 1, sizeof *run.outputs);
    PyObject *result = run.inputs && run.outputs ? execute(self, inputs, &run) : PyErr_NoMemory();
    free_run(&run);
    return result;
}

static PyObject *method_reset(PyObject *object, PyObject *unused) {
    (void)unused;
    method_object *self = (method_object *)object;
    fid_status status = fid_method_reset(self->method);
    if (status != FID_OK) return native_raise(state_of(object), status, &self->program->message);
    Py_RETURN_NONE;
}

/* ---- Types ---- */

static PyMethodDef program_methods[] = {
    {"method_names", program_method_names, METH_NOARGS, "Names of the methods, in order."},
    {"load_method", program_load_method, METH_VARARGS, "load_method(name, data): verifies and prepares a method; data is a list of Data."},
    {"etdump", program_etdump, METH_NOARGS, "What was traced so far, as the bytes of an .etdp file."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot program_slots[] = {
    {Py_tp_new, program_new},
    {Py_tp_dealloc, program_dealloc},
    {Py_tp_methods, program_methods},
    {Py_tp_doc, "Program(data, threads=1, trace=False): a .pte from a path or from bytes."},
    {0, NULL},
};

PyType_Spec native_program_spec = {"fidibus._native.Program", sizeof(program_object), 0, Py_TPFLAGS_DEFAULT, program_slots};

static PyMethodDef method_methods[] = {
    {"execute", method_execute, METH_O, "Runs with a list of inputs; returns a list of outputs."},
    {"inputs", method_inputs, METH_NOARGS, "(tag, dtype, sizes, bytes, dynamic) of each input."},
    {"outputs", method_outputs, METH_NOARGS, "(tag, dtype, sizes, bytes, dynamic) of each output."},
    {"planned_bytes", method_planned_bytes, METH_NOARGS, "Bytes of planned memory."},
    {"state", native_method_state, METH_NOARGS, "Copies of the mutable buffers by name."},
    {"state_bytes", native_method_state_bytes, METH_NOARGS, "The mutable buffers as a data file."},
    {"load_state", native_method_load_state, METH_O, "Sets the mutable buffers from a Data."},
    {"trees", method_trees, METH_NOARGS, "How inputs and outputs are nested: torch's tree specs, or empty texts."},
    {"reset", method_reset, METH_NOARGS, "Puts mutable buffers back to their initial content."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot method_slots[] = {
    {Py_tp_dealloc, method_dealloc},
    {Py_tp_methods, method_methods},
    {Py_tp_doc, "A loaded method."},
    {0, NULL},
};

PyType_Spec native_method_spec = {"fidibus._native.Method", sizeof(method_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, method_slots};
