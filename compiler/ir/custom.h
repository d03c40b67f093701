/* Operators of the user's own: rows made from a schema's text, without kernels. The runtime brings the kernels. */
#ifndef FIDC_CUSTOM_H
#define FIDC_CUSTOM_H

#include "compiler/ir/ir.h"

/* A row that lives as long as the program. `schema` is PyTorch's text from the parenthesis on; annotations of aliases are left out.
 * Programs call the overload "out", or NAME_out for an overload NAME; without tensor results the overload itself. NULL: no memory. */
const fid_op *fidc_custom_row(fidc_program *program, const char *name, const char *overload, const char *schema);

/* Reads lines "namespace::name.overload(Tensor x, int by=1) -> Tensor", with comments from '#' on. `where` stands in messages. */
fid_status fidc_custom_declare(fidc_program *program, const char *text, const char *where);
fid_status fidc_custom_read(fidc_program *program, const char *path);

/* Declared rows only. */
const fid_op *fidc_custom_find(const fidc_program *program, const char *name, const char *overload);
bool fidc_custom_is_declared(const fidc_program *program, const fid_op *op);

#endif
