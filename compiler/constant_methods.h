/* Methods that only return constants: what a program tells about itself (a context length, a vocabulary's size, a version). */
#ifndef FIDC_CONSTANT_METHODS_H
#define FIDC_CONSTANT_METHODS_H

#include "compiler/ir/ir.h"
#include "ops/value.h"

typedef struct fidc_constant_method {
    const char *name;
    const fid_value *values; /* ints, floats, bools, texts, tensors in any layout; lists and dicts flattened */
    size_t value_count;
    const char *output_tree; /* torch's pytree JSON of how they nest; NULL: one value */
} fidc_constant_method;

/* Adds a method without inputs and nodes. Copies what it is given. FID_INVALID_ARGUMENT: the name is taken; FID_NOT_SUPPORTED: a value
 * that programs cannot hold. */
fid_status fidc_constant_method_add(fidc_program *program, const fidc_constant_method *method);

#endif
