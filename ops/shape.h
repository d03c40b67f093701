/* Shape functions, one family a file (ops/shape_*.c). The table refers to them by name; see fid_shape_function in ops/kernel.h. */
#ifndef FID_OPS_SHAPE_H
#define FID_OPS_SHAPE_H

#include "ops/operator.h"

/* Every name that a row mentions, declared from the rows themselves. */
#define FID_OP(id, name, overload, out, schema, kind, shape, kernels, doc)                                             \
    fid_status fid_shape_##shape(const fid_call *call, fid_meta *outs, size_t out_count);
#include "ops/all.def"
#undef FID_OP

#endif
