/* The operator table. One row of ops/NAME.def describes one operator overload; everything else is expanded from it. */
#ifndef FID_OPS_OPERATOR_H
#define FID_OPS_OPERATOR_H

#include "base/span.h"
#include "ops/kernel.h"

typedef enum fid_op_kind {
    FID_OP_POINTWISE,      /* out[i] depends on in[i] only, with broadcasting */
    FID_OP_REDUCTION,
    FID_OP_VIEW,           /* functional form of a view: output holds the input's elements, maybe rearranged */
    FID_OP_MOVE,           /* gathers, concatenations, pads: elements move, none is computed */
    FID_OP_CREATE,         /* output depends on arguments only */
    FID_OP_COMPUTE,        /* everything else: convolutions, products, norms, ... */
    FID_OP_DATA_DEPENDENT, /* output size depends on data */
    FID_OP_RANDOM,
    FID_OP_SCALAR,         /* takes and gives numbers: symbolic sizes, prims */
    FID_OP_EFFECT,         /* changes an argument or asserts; has no functional output */
} fid_op_kind;

/* A row as device and compiler see it. */
typedef struct fid_op {
    const char *name;      /* "aten::add" */
    const char *overload;  /* functional overload: "Tensor"; "" is PyTorch's "default" */
    const char *out;       /* overload that kernels implement and programs call: "out"; "" as upstream writes default */
    const char *schema;    /* "(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor": of the functional form */
    fid_shape_function shape;   /* NULL: no tensor outputs, or not known before running */
    const fid_kernel *reference;/* NULL: no kernel; the compiler decomposes it */
    const fid_kernel *cpu;      /* NULL: none */
    const char *doc;       /* one line for docs/ops.md; NULL in builds without FID_MESSAGES */
    uint8_t kind;          /* fid_op_kind */
} fid_op;

/* A set of operators offered to a runtime: the built-in one, or a user's own. Const data. */
typedef struct fid_op_table {
    const fid_op *ops;
    size_t count;
} fid_op_table;

/* Finds the row whose kernels implement "NAMESPACE::NAME" with overload `out`; NULL if none. */
const fid_op *fid_op_find_out(const fid_op_table *table, const char *name, size_t name_length, const char *out, size_t out_length);
/* Finds the row by functional overload ("" or "default" for default). */
const fid_op *fid_op_find(const fid_op_table *table, const char *name, const char *overload);

/* One argument or result of a schema. Text fields point into the schema string. */
typedef enum fid_schema_type {
    FID_SCHEMA_TENSOR, FID_SCHEMA_INT, FID_SCHEMA_FLOAT, FID_SCHEMA_BOOL, FID_SCHEMA_SCALAR, FID_SCHEMA_STRING,
    FID_SCHEMA_DTYPE, FID_SCHEMA_LAYOUT, FID_SCHEMA_DEVICE, FID_SCHEMA_MEMORY_FORMAT, FID_SCHEMA_GENERATOR
} fid_schema_type;

typedef struct fid_schema_arg {
    fid_span name;          /* empty for results */
    fid_span default_text;  /* "1", "None", "[1, 1]"; data NULL: required */
    uint8_t type;           /* fid_schema_type */
    bool list;              /* Tensor[], int[], ... */
    bool optional;          /* a trailing '?' on the whole type */
    bool optional_items;    /* Tensor?[] */
    bool keyword_only;
    uint8_t list_size;      /* int[2]: 2, a single number stands for that many; else 0 */
} fid_schema_arg;

/* Walks a schema: start with cursor = schema; each call gives the next argument; returns false after the last argument.
 * Then `fid_schema_next_result` walks the results the same way. A malformed schema ends the walk (unit test proves rows well formed). */
typedef struct fid_schema_cursor { const char *at; bool keyword_only; bool in_results; } fid_schema_cursor;
fid_schema_cursor fid_schema_begin(const char *schema);
bool fid_schema_next_arg(fid_schema_cursor *cursor, fid_schema_arg *out_arg);
bool fid_schema_next_result(fid_schema_cursor *cursor, fid_schema_arg *out_result);

/* Checks the tags of a call's arguments against the schema: inputs, then one value per result (for out= forms).
 * A call may leave out the four tensor options (dtype, layout, device, pin_memory) together, as PyTorch's out= forms do.
 * Sets call->output_index. `call->arg_count` beyond inputs + results is an error here; strip upstream's repeated return first. */
fid_status fid_schema_check(const fid_op *op, fid_call *call);

/* All built-in rows, reference and cpu kernels with them. Linking it links every kernel. */
extern const fid_op_table fid_builtin_ops;

/* Index of every built-in row, for code that builds calls: fid_builtin_ops.ops[FID_OPID_add_Tensor]. */
typedef enum fid_op_id {
#define FID_OP(id, ...) FID_OPID_##id,
#include "ops/all.def"
#undef FID_OP
    FID_OP_COUNT
} fid_op_id;

#endif
