/* The built-in table: the rows of ops/all.def as const data, with the kernels they name. */
#include "ops/shape.h"

#define FID_DECLARE_REF(id) extern const fid_kernel fid_ref_##id;
#define FID_DECLARE_REF_CPU(id) extern const fid_kernel fid_ref_##id, fid_cpu_##id;
#define FID_DECLARE_NO_KERNEL(id)
#define FID_OP(id, name, overload, out, schema, kind, shape, kernels, doc) FID_DECLARE_##kernels(id)
#include "ops/all.def"
#undef FID_OP

#define fid_shape_NONE NULL /* what a row without a shape function names */

#if FID_MESSAGES
#define FID_DOC(doc) doc
#else
#define FID_DOC(doc) NULL
#endif
#define FID_KERNELS_REF(id) &fid_ref_##id, NULL
#define FID_KERNELS_REF_CPU(id) &fid_ref_##id, &fid_cpu_##id
#define FID_KERNELS_NO_KERNEL(id) NULL, NULL
#define FID_OP(id, name, overload, out, schema, kind, shape, kernels, doc)                                             \
    {name, overload, out, schema, fid_shape_##shape, FID_KERNELS_##kernels(id), FID_DOC(doc), FID_OP_##kind},

static const fid_op rows[] = {
#include "ops/all.def"
};

const fid_op_table fid_builtin_ops = {rows, sizeof rows / sizeof rows[0]};
