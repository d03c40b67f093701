/* Data files for Python, and the state of methods. */
#include <stdlib.h>

#include "native.h"

static native_state *state_of(PyObject *object) { return PyType_GetModuleState(Py_TYPE(object)); }

typedef struct data_object {
    PyObject_HEAD
    PyObject *bytes; /* the file's memory when it came as bytes */
    fid_message message;
    fid_data *data;
} data_object;

/* ---- Data ---- */

static void data_dealloc(PyObject *object) {
    data_object *self = (data_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    fid_data_close(self->data);
    Py_XDECREF(self->bytes);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static fid_status open_data(data_object *self, PyObject *source) {
    fid_environment environment = fid_environment_default(&self->message);
    char *bytes;
    Py_ssize_t size;
    if (PyBytes_Check(source)) {
        if (PyBytes_AsStringAndSize(source, &bytes, &size) < 0) return FID_INTERNAL;
        self->bytes = Py_NewRef(source);
        return fid_data_open_memory(&environment, bytes, (size_t)size, NULL, &self->data);
    }
    const char *path = PyUnicode_AsUTF8AndSize(source, &size);
    return path ? fid_data_open_file(&environment, path, &self->data) : FID_INTERNAL;
}

static PyObject *data_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"source", NULL};
    PyObject *source;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O", names, &source)) return NULL;
    if (!PyBytes_Check(source) && !PyUnicode_Check(source)) return PyErr_Format(PyExc_TypeError, "a data file is a path (str) or bytes");
    data_object *self = (data_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return NULL;
    fid_status status = open_data(self, source);
    if (status == FID_OK) return (PyObject *)self;
    if (!PyErr_Occurred()) native_raise(state_of((PyObject *)self), status, &self->message);
    Py_DECREF(self);
    return NULL;
}

static PyObject *data_keys(PyObject *object, PyObject *unused) {
    (void)unused;
    const fid_data *data = ((data_object *)object)->data;
    PyObject *keys = PyList_New((Py_ssize_t)fid_data_count(data));
    for (size_t i = 0; keys && i < fid_data_count(data); i++) PyList_SetItem(keys, (Py_ssize_t)i, PyUnicode_FromString(fid_data_key(data, i)));
    return keys;
}

/* A copy: a tensor, or bytes where the file tells no layout. */
static PyObject *entry_object(native_state *state, const fid_named_data *entry) {
    int64_t sizes[FID_MAX_RANK], strides[FID_MAX_RANK];
    if (!entry->is_tensor) return PyBytes_FromStringAndSize((const char *)entry->bytes.data, (Py_ssize_t)entry->bytes.size);
    for (size_t i = 0; i < entry->rank; i++) sizes[i] = entry->sizes[i];
    fid_strides_of(sizes, entry->dim_order, entry->rank, strides);
    void *memory = malloc(entry->bytes.size ? entry->bytes.size : 1);
    if (!memory) return PyErr_NoMemory();
    if (entry->bytes.size) memcpy(memory, entry->bytes.data, entry->bytes.size);
    return native_tensor_create(state, (fid_dtype)entry->dtype, sizes, strides, entry->rank, memory);
}

static PyObject *data_get(PyObject *object, PyObject *key) {
    fid_named_data entry;
    const char *text = PyUnicode_AsUTF8AndSize(key, NULL);
    if (!text) return NULL;
    if (fid_data_find(((data_object *)object)->data, text, &entry) == FID_OK) return entry_object(state_of(object), &entry);
    PyErr_SetObject(PyExc_KeyError, key);
    return NULL;
}

fid_data **native_data_files(native_state *state, PyObject *list, size_t *out_count) {
    Py_ssize_t count = PyList_Size(list);
    fid_data **files = count < 0 ? NULL : malloc(((size_t)count + 1) * sizeof *files);
    if (!files) return count < 0 ? NULL : (fid_data **)PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyList_GetItem(list, i); /* borrowed */
        if (PyObject_TypeCheck(item, state->data)) {
            files[i] = ((data_object *)item)->data;
            continue;
        }
        PyErr_Format(PyExc_TypeError, "data is a list of data files, item %zd is %R", i, Py_TYPE(item));
        free(files);
        return NULL;
    }
    *out_count = (size_t)count;
    return files;
}

/* ---- State ---- */

static PyObject *state_failed(native_method *self, fid_status status) {
    return native_raise(state_of((PyObject *)self), status, &self->program->message);
}

PyObject *native_method_state(PyObject *object, PyObject *unused) {
    (void)unused;
    native_method *self = (native_method *)object;
    size_t count;
    fid_status status = fid_method_state_count(self->method, &count);
    if (status != FID_OK) return state_failed(self, status);
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < count; i++) {
        fid_named_data buffer;
        PyObject *copy = fid_method_state_at(self->method, i, &buffer) == FID_OK ? entry_object(state_of(object), &buffer) : NULL;
        if (!copy || PyDict_SetItemString(dict, buffer.key, copy) < 0) Py_CLEAR(dict);
        Py_XDECREF(copy);
    }
    return dict;
}

typedef struct growing_bytes {
    char *data;
    size_t size, capacity;
} growing_bytes;

static fid_status append(void *self, const void *data, size_t size) {
    growing_bytes *g = self;
    if (size > g->capacity - g->size) {
        size_t capacity = 2 * (g->size + size);
        char *larger = realloc(g->data, capacity);
        if (!larger) return FID_OUT_OF_MEMORY;
        g->data = larger;
        g->capacity = capacity;
    }
    if (size) memcpy(g->data + g->size, data, size);
    g->size += size;
    return FID_OK;
}

PyObject *native_method_state_bytes(PyObject *object, PyObject *unused) {
    (void)unused;
    native_method *self = (native_method *)object;
    growing_bytes g = {NULL, 0, 0};
    self->program->message.text[0] = 0;
    fid_status status = fid_method_state_save(self->method, append, &g);
    PyObject *bytes = status == FID_OK ? PyBytes_FromStringAndSize(g.data, (Py_ssize_t)g.size) : state_failed(self, status);
    free(g.data);
    return bytes;
}

PyObject *native_method_load_state(PyObject *object, PyObject *data) {
    native_method *self = (native_method *)object;
    if (!PyObject_TypeCheck(data, state_of(object)->data)) return PyErr_Format(PyExc_TypeError, "a state is a data file, not %R", Py_TYPE(data));
    self->program->message.text[0] = 0;
    fid_status status = fid_method_state_restore(self->method, ((data_object *)data)->data);
    if (status != FID_OK) return state_failed(self, status);
    Py_RETURN_NONE;
}

/* ---- The type ---- */

static PyMethodDef data_methods[] = {
    {"keys", data_keys, METH_NOARGS, "The names of what is in the file, in rising order."},
    {"get", data_get, METH_O, "A copy of what is there under a name."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot data_slots[] = {
    {Py_tp_new, data_new},
    {Py_tp_dealloc, data_dealloc},
    {Py_tp_methods, data_methods},
    {Py_tp_doc, "Data(source): a .ptd file from a path or from bytes."},
    {0, NULL},
};

PyType_Spec native_data_spec = {"fidibus._native.Data", sizeof(data_object), 0, Py_TPFLAGS_DEFAULT, data_slots};
