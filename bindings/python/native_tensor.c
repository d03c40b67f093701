/* Tensors across the border by DLPack, in and out without copies. The layout is that of the DLPack specification, version 0.8
 * (unversioned capsules), which every producer and consumer still takes. */
#include <stdlib.h>

#include "native.h"

typedef struct dl_device { int32_t type, id; } dl_device;
typedef struct dl_dtype { uint8_t code, bits; uint16_t lanes; } dl_dtype;
typedef struct dl_tensor {
    void *data;
    dl_device device;
    int32_t ndim;
    dl_dtype dtype;
    int64_t *shape, *strides; /* elements; strides NULL: row-major */
    uint64_t byte_offset;
} dl_tensor;
typedef struct dl_managed_tensor {
    dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed_tensor *self);
} dl_managed_tensor;

enum { DL_CPU = 1, DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_COMPLEX = 5, DL_BOOL = 6 };

typedef struct dtype_pair {
    uint8_t dtype, code, bits;
} dtype_pair;

static const dtype_pair dtype_pairs[] = {
    {FID_UINT8, DL_UINT, 8}, {FID_UINT16, DL_UINT, 16}, {FID_UINT32, DL_UINT, 32}, {FID_UINT64, DL_UINT, 64}, {FID_INT8, DL_INT, 8},
    {FID_INT16, DL_INT, 16}, {FID_INT32, DL_INT, 32}, {FID_INT64, DL_INT, 64}, {FID_FLOAT16, DL_FLOAT, 16}, {FID_FLOAT32, DL_FLOAT, 32},
    {FID_FLOAT64, DL_FLOAT, 64}, {FID_BFLOAT16, DL_BFLOAT, 16}, {FID_COMPLEX64, DL_COMPLEX, 64}, {FID_COMPLEX128, DL_COMPLEX, 128},
    {FID_BOOL, DL_BOOL, 8},
};

#define PAIR_COUNT (sizeof dtype_pairs / sizeof dtype_pairs[0])

/* ---- Tensors that Python owns ---- */

typedef struct tensor_object {
    PyObject_HEAD
    void *memory;
    int64_t sizes[FID_MAX_RANK], strides[FID_MAX_RANK];
    uint8_t rank, dtype;
} tensor_object;

PyObject *native_tensor_create(native_state *state, fid_dtype dtype, const int64_t *sizes, const int64_t *strides, size_t rank, void *memory) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(state->tensor, Py_tp_alloc);
    tensor_object *self = (tensor_object *)allocate(state->tensor, 0);
    if (!self) {
        free(memory);
        return NULL;
    }
    self->memory = memory;
    self->rank = (uint8_t)rank;
    self->dtype = (uint8_t)dtype;
    memcpy(self->sizes, sizes, rank * sizeof *sizes);
    memcpy(self->strides, strides, rank * sizeof *strides);
    return (PyObject *)self;
}

static void tensor_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    free(((tensor_object *)object)->memory);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* A lent tensor keeps the Python object alive; its deleter may run on any thread. */
typedef struct lent_tensor {
    dl_managed_tensor managed;
    int64_t sizes[FID_MAX_RANK], strides[FID_MAX_RANK];
} lent_tensor;

static void delete_lent(dl_managed_tensor *managed) {
    PyGILState_STATE gil = PyGILState_Ensure();
    Py_DECREF((PyObject *)managed->context);
    PyGILState_Release(gil);
    free(managed);
}

static void capsule_destructor(PyObject *capsule) {
    if (!PyCapsule_IsValid(capsule, "dltensor")) return; /* consumed: the consumer deletes */
    dl_managed_tensor *managed = PyCapsule_GetPointer(capsule, "dltensor");
    managed->deleter(managed);
}

static PyObject *tensor_dlpack(PyObject *object, PyObject *args, PyObject *keywords) {
    (void)args;
    (void)keywords; /* stream, max_version, dl_device, copy: one device, and an unversioned capsule is always allowed */
    tensor_object *self = (tensor_object *)object;
    lent_tensor *lent = calloc(1, sizeof *lent);
    if (!lent) return PyErr_NoMemory();
    memcpy(lent->sizes, self->sizes, sizeof lent->sizes);
    memcpy(lent->strides, self->strides, sizeof lent->strides);
    lent->managed = (dl_managed_tensor){
        .tensor = {.data = self->memory, .device = {DL_CPU, 0}, .ndim = self->rank, .shape = lent->sizes, .strides = lent->strides},
        .context = object,
        .deleter = delete_lent};
    for (size_t i = 0; i < PAIR_COUNT; i++) {
        if (dtype_pairs[i].dtype == self->dtype) lent->managed.tensor.dtype = (dl_dtype){dtype_pairs[i].code, dtype_pairs[i].bits, 1};
    }
    if (!lent->managed.tensor.dtype.lanes) {
        free(lent);
        return PyErr_Format(PyExc_BufferError, "DLPack has no dtype for %s", fid_dtype_name((fid_dtype)self->dtype));
    }
    PyObject *capsule = PyCapsule_New(&lent->managed, "dltensor", capsule_destructor);
    if (!capsule) free(lent);
    else Py_INCREF(object);
    return capsule;
}

static PyObject *tensor_dlpack_device(PyObject *object, PyObject *unused) {
    (void)object;
    (void)unused;
    return Py_BuildValue("(ii)", DL_CPU, 0);
}

static PyObject *tensor_shape(PyObject *object, void *unused) {
    (void)unused;
    tensor_object *self = (tensor_object *)object;
    PyObject *shape = PyTuple_New(self->rank);
    for (Py_ssize_t i = 0; shape && i < self->rank; i++) PyTuple_SetItem(shape, i, PyLong_FromLongLong(self->sizes[i]));
    return shape;
}

static PyObject *tensor_dtype(PyObject *object, void *unused) {
    (void)unused;
    return PyUnicode_FromString(fid_dtype_name((fid_dtype)((tensor_object *)object)->dtype));
}

static PyObject *tensor_repr(PyObject *object) {
    PyObject *shape = tensor_shape(object, NULL);
    PyObject *text = shape ? PyUnicode_FromFormat("fidibus.Tensor(%R, %s)", shape, fid_dtype_name((fid_dtype)((tensor_object *)object)->dtype)) : NULL;
    Py_XDECREF(shape);
    return text;
}

static PyObject *element_object(const tensor_object *self, const uint8_t *at) {
    switch (self->dtype) {
#define CASE_OF(NAME, type, make)                                                                                      \
    case FID_##NAME: { type x; memcpy(&x, at, sizeof x); return make; }
        CASE_OF(FLOAT32, float, PyFloat_FromDouble(x))
        CASE_OF(FLOAT64, double, PyFloat_FromDouble(x))
        CASE_OF(INT64, int64_t, PyLong_FromLongLong(x))
        CASE_OF(INT32, int32_t, PyLong_FromLong(x))
        CASE_OF(INT16, int16_t, PyLong_FromLong(x))
        CASE_OF(INT8, int8_t, PyLong_FromLong(x))
        CASE_OF(UINT8, uint8_t, PyLong_FromLong(x))
        CASE_OF(BOOL, uint8_t, PyBool_FromLong(x))
#undef CASE_OF
    default: return PyErr_Format(PyExc_TypeError, "tolist() does not know %s; hand the tensor on by DLPack", fid_dtype_name((fid_dtype)self->dtype));
    }
}

static PyObject *nested_list(const tensor_object *self, size_t dim, const uint8_t *at) {
    if (dim == self->rank) return element_object(self, at);
    PyObject *list = PyList_New((Py_ssize_t)self->sizes[dim]);
    size_t size = fid_dtype_size((fid_dtype)self->dtype);
    for (int64_t i = 0; list && i < self->sizes[dim]; i++) {
        PyObject *item = nested_list(self, dim + 1, at + (size_t)(i * self->strides[dim]) * size);
        if (!item) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SetItem(list, (Py_ssize_t)i, item);
    }
    return list;
}

static PyObject *tensor_tolist(PyObject *object, PyObject *unused) {
    (void)unused;
    tensor_object *self = (tensor_object *)object;
    return nested_list(self, 0, self->memory);
}

static PyMethodDef tensor_methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))tensor_dlpack, METH_VARARGS | METH_KEYWORDS, "The tensor for any array library, without a copy."},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS, "The CPU."},
    {"tolist", tensor_tolist, METH_NOARGS, "Nested lists of numbers."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef tensor_getters[] = {
    {"shape", tensor_shape, NULL, "Sizes, a tuple.", NULL},
    {"dtype", tensor_dtype, NULL, "\"float32\" and so on.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot tensor_slots[] = {
    {Py_tp_dealloc, tensor_dealloc},
    {Py_tp_methods, tensor_methods},
    {Py_tp_getset, tensor_getters},
    {Py_tp_repr, tensor_repr},
    {Py_tp_doc, "A dense tensor on the CPU. Any library that speaks DLPack takes it: numpy.from_dlpack(t), torch.from_dlpack(t)."},
    {0, NULL},
};

PyType_Spec native_tensor_spec = {"fidibus.Tensor", sizeof(tensor_object), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, tensor_slots};

/* ---- Tensors that others lend ---- */

static int fill_borrowed(const dl_tensor *dl, borrowed_tensor *out) {
    if (dl->device.type != DL_CPU) {
        PyErr_SetString(PyExc_ValueError, "the tensor lies on another device; move it to the CPU first");
        return -1;
    }
    if (dl->ndim < 0 || dl->ndim > FID_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "a tensor of %d dimensions; at most %d are supported", dl->ndim, FID_MAX_RANK);
        return -1;
    }
    uint8_t dtype = (uint8_t)FID_DTYPE_NONE;
    for (size_t i = 0; i < PAIR_COUNT; i++) {
        if (dtype_pairs[i].code == dl->dtype.code && dtype_pairs[i].bits == dl->dtype.bits && dl->dtype.lanes == 1) dtype = dtype_pairs[i].dtype;
    }
    if (dtype == FID_DTYPE_NONE) {
        PyErr_Format(PyExc_TypeError, "no dtype of ours has DLPack's code %d with %d bits", dl->dtype.code, dl->dtype.bits);
        return -1;
    }
    out->has_strides = dl->strides != NULL;
    for (int i = 0; i < dl->ndim; i++) {
        out->sizes[i] = dl->shape[i];
        out->strides[i] = dl->strides ? dl->strides[i] : 0;
    }
    out->tensor = (fid_tensor){.data = dl->data ? (uint8_t *)dl->data + dl->byte_offset : NULL, .sizes = out->sizes, .strides = out->strides,
                               .rank = (uint8_t)dl->ndim, .dtype = dtype};
    return 1;
}

int native_borrow(PyObject *object, borrowed_tensor *out) {
    *out = (borrowed_tensor){.capsule = NULL};
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
    if (!method) {
        PyErr_Clear();
        return 0;
    }
    out->capsule = PyObject_CallNoArgs(method);
    Py_DECREF(method);
    if (!out->capsule) return -1;
    dl_managed_tensor *managed = PyCapsule_GetPointer(out->capsule, "dltensor");
    if (!managed || fill_borrowed(&managed->tensor, out) < 0) {
        native_release(out);
        return -1;
    }
    return 1;
}

/* The capsule was never renamed to "used_dltensor", so its own destructor gives the memory back. */
void native_release(borrowed_tensor *borrowed) {
    Py_XDECREF(borrowed->capsule);
    borrowed->capsule = NULL;
}
