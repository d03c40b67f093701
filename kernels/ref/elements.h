/* Elements and walks: what every reference kernel is made of.
 *
 * An element is loaded from memory of any dtype into one of three number forms and stored back with PyTorch's conversion rules.
 * A walk visits a logical index space in row-major order and keeps, for up to FIDK_WALK_MAX operands of any strides, the offset
 * of the present element; strides of 0 broadcast. With both, a kernel is written once for all dtypes and layouts. */
#ifndef FID_KERNELS_REF_ELEMENTS_H
#define FID_KERNELS_REF_ELEMENTS_H

#include "base/half.h"
#include "ops/promote.h"

/* The form in which an element of a dtype is computed with. */
typedef enum fidk_form {
    FIDK_INTEGER, /* bool and all integers; uint64 as the same bits */
    FIDK_REAL,    /* every float dtype: double holds them all */
    FIDK_COMPLEX,
} fidk_form;

typedef union fidk_element {
    int64_t i;        /* FIDK_INTEGER */
    double d;         /* FIDK_REAL */
    fid_complex128 c; /* FIDK_COMPLEX */
} fidk_element;

static inline fidk_element fidk_int(int64_t i) { return (fidk_element){.i = i}; }
static inline fidk_element fidk_real(double d) { return (fidk_element){.d = d}; }

fidk_form fidk_form_of(fid_dtype dtype);

/* Element `index` (in elements) of memory of a dtype. Storing rounds once to nearest even (float16 and bfloat16 by way of float32,
 * as computing in float32 does) and wraps integers. */
fidk_element fidk_load(fid_dtype dtype, const void *data, int64_t index);
void fidk_store(fid_dtype dtype, void *data, int64_t index, fidk_element element);

/* The element that a tensor of `to` holds after an element of `from` is cast to it: rounded, wrapped, or compared with zero (bool).
 * A float outside of an integer's range gives what x86 gives: the lowest number of int64 (uint8, uint32, int64, uint64) or of
 * int32 (the others), wrapped. The imaginary part is dropped. */
fidk_element fidk_convert(fidk_element element, fid_dtype from, fid_dtype to);

/* A plain number (int, double or bool argument) as an element of `to`. */
fidk_element fidk_number(const fid_value *value, fid_dtype to);

/* Shorthands in one form whatever the tensor's dtype. Reading int64 through double would lose bits: use fidk_get_int for them. */
double fidk_get_real(const fid_tensor *tensor, int64_t index);
int64_t fidk_get_int(const fid_tensor *tensor, int64_t index); /* of an integer or bool tensor; floats are cut */
bool fidk_get_bool(const fid_tensor *tensor, int64_t index);
void fidk_set_real(const fid_tensor *tensor, int64_t index, double value);
void fidk_set_int(const fid_tensor *tensor, int64_t index, int64_t value);

/* Rounds a double to the nearest value of a float dtype; other dtypes: returned as it is. */
double fidk_round_to(fid_dtype dtype, double value);

#define FIDK_WALK_MAX 6

typedef struct fidk_walk {
    int64_t sizes[FID_MAX_RANK];
    int64_t index[FID_MAX_RANK];                  /* of the present element */
    int64_t strides[FIDK_WALK_MAX][FID_MAX_RANK];
    int64_t at[FIDK_WALK_MAX];                    /* element offset of each operand at the present element */
    size_t rank, operands;
    size_t left;                                  /* elements still to visit, the present one included; 0: done */
} fidk_walk;

/* Starts a walk over an index space, without operands. */
void fidk_walk_begin(fidk_walk *walk, const int64_t *sizes, size_t rank);
/* Adds an operand by tensor: its dimensions are matched from the last one and broadcast over the space (its shape must fit).
 * Returns its number in `at`. */
size_t fidk_walk_add(fidk_walk *walk, const fid_tensor *tensor);
/* Adds an operand by strides in elements, one for each dimension of the space. */
size_t fidk_walk_add_strides(fidk_walk *walk, const int64_t *strides);
void fidk_walk_next(fidk_walk *walk);

/* `for` header over all elements of an index space: operands are added before. */
#define FIDK_WALK(walk) for (; (walk)->left; fidk_walk_next(walk))

/* Offset of a tensor's element at a multi-dimensional index (rank entries). */
int64_t fidk_offset(const fid_tensor *tensor, const int64_t *index);

#endif
