/* The Python extension's parts: errors, tensors by DLPack, programs and methods. CPython's limited API only (3.10). */
#ifndef FID_PYTHON_NATIVE_H
#define FID_PYTHON_NATIVE_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030A0000 /* CMake says the same */
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "include/fidibus.h"

/* Per-module state: no globals. */
typedef struct native_state {
    PyObject *error;       /* fidibus.Error(RuntimeError): text is the whole sentence, .status the number */
    PyTypeObject *tensor, *program, *method, *data;
    const fid_op_table **tables; /* operators that the user brought */
    size_t table_count;
    struct fidc_program *schemas;
} native_state;

/* Raises fidibus.Error with the sentence; always NULL. `module_type` is any heap type of this module. */
PyObject *native_raise(native_state *state, fid_status status, const fid_message *message);
PyObject *native_raise_text(native_state *state, fid_status status, const char *text);

/* ---- The compiler (native_compile.c) ---- */

PyObject *native_compile(PyObject *module, PyObject *args, PyObject *keywords);

/* ---- Tensors (native_tensor.c): memory that Python owns, handed on by DLPack. ---- */

extern PyType_Spec native_tensor_spec;
/* A tensor over `memory` from malloc, which it takes over, also on failure. */
PyObject *native_tensor_create(native_state *state, fid_dtype dtype, const int64_t *sizes, const int64_t *strides, size_t rank, void *memory);

/* A tensor that somebody else lends through __dlpack__. Release when the call is over. */
typedef struct borrowed_tensor {
    PyObject *capsule;
    fid_tensor tensor;
    int64_t sizes[FID_MAX_RANK], strides[FID_MAX_RANK];
    bool has_strides;
} borrowed_tensor;
/* 1: borrowed; 0: the object has no __dlpack__; -1: an exception is set. */
int native_borrow(PyObject *object, borrowed_tensor *out);
void native_release(borrowed_tensor *borrowed);

/* ---- Kernels that the user brings (native_kernels.c) ---- */

PyObject *native_register_operator(PyObject *module, PyObject *args);
PyObject *native_load_kernels(PyObject *module, PyObject *path);
/* All tables for an environment, malloc'ed; NULL: no memory. */
const fid_op_table **native_tables(const native_state *state, size_t *out_count);

/* ---- Programs and methods (native_program.c), data files and state (native_data.c) ---- */

extern PyType_Spec native_program_spec, native_method_spec, native_data_spec;

typedef struct native_program {
    PyObject_HEAD
    PyObject *bytes; /* the program's memory when it came as bytes */
    fid_message message;
    fid_program *program;
    fid_threads *threads;
    const fid_op_table **tables;
    fid_shared_state *shared; /* NULL: its methods share no buffers */
    fid_trace *trace; /* of all its methods, whose runs then keep the interpreter's lock; NULL: not asked for */
} native_program;

typedef struct native_method {
    PyObject_HEAD
    native_program *program;
    PyObject *data; /* the list of data files; NULL: none */
    fid_method *method;
    bool running;
} native_method;

/* None, a bool, an int, a float or a str; -1: an exception is set. The text stays the object's. */
int native_plain_value(PyObject *object, fid_value *out);
/* The files of a list of Data, malloc'ed; NULL with an exception if one is something else. */
fid_data **native_data_files(native_state *state, PyObject *list, size_t *out_count);
/* Method.state(), .state_bytes(), .load_state(data). */
PyObject *native_method_state(PyObject *method, PyObject *unused);
PyObject *native_method_state_bytes(PyObject *method, PyObject *unused);
PyObject *native_method_load_state(PyObject *method, PyObject *data);

#endif
