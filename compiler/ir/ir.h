/* The compiler's intermediate representation: one SSA graph a method.
 *
 * A graph is a list of nodes in execution order. A node calls one operator row with arguments in schema order and gives
 * zero or more values. A value is written once. Everything lives in the program's arena and is freed with it.
 *
 * Replacing a value is O(1): `fidc_value_replace(old, new)` leaves a forward, and every reader goes through
 * fidc_value_of(arg) or fidc_resolve(value). `fidc_graph_clean` makes arguments direct again and drops dead nodes. */
#ifndef FIDC_IR_H
#define FIDC_IR_H

#include "base/allocator.h"
#include "ops/operator.h"

typedef struct fidc_program fidc_program;
typedef struct fidc_graph fidc_graph;
typedef struct fidc_node fidc_node;
typedef struct fidc_value fidc_value;

/* ---- Symbolic sizes: ir/expr.c ------------------------------------------------------------------------------------ */

typedef enum fidc_expr_kind {
    FIDC_EXPR_CONST, FIDC_EXPR_SYMBOL, FIDC_EXPR_ADD, FIDC_EXPR_MUL, FIDC_EXPR_FLOORDIV, FIDC_EXPR_CEILDIV, FIDC_EXPR_MOD,
    FIDC_EXPR_MAX, FIDC_EXPR_MIN, FIDC_EXPR_POW,
    FIDC_EXPR_BOUNDED, /* an unknown integer in [low, high]: the size of a value that only running tells */
} fidc_expr_kind;

#define FIDC_UNBOUNDED INT64_MAX

/* Immutable and interned in the program: equal expressions are the same pointer. */
typedef struct fidc_expr {
    uint8_t kind;
    int64_t constant;      /* CONST */
    const char *symbol;    /* SYMBOL: "s77" */
    const struct fidc_expr *a, *b;
    int64_t low, high;     /* bounds; high FIDC_UNBOUNDED if none */
    int64_t hint;          /* value at the example inputs */
    uint32_t id;           /* order of making: a stable order where addresses are none */
} fidc_expr;

const fidc_expr *fidc_expr_const(fidc_program *program, int64_t value);
const fidc_expr *fidc_expr_symbol(fidc_program *program, const char *name, int64_t low, int64_t high, int64_t hint);
const fidc_expr *fidc_expr_bounded(fidc_program *program, int64_t low, int64_t high, int64_t hint); /* each call: a new unknown */
const fidc_expr *fidc_expr_binary(fidc_program *program, fidc_expr_kind kind, const fidc_expr *a, const fidc_expr *b); /* folds */
/* Parses sympy's text as torch.export writes it: "2*s0 + 1", "(s0//2)", "Max(1, s3)", "Mod(s0, 8)", "FloorDiv(s0, 2)",
 * "CleanDiv(..)", "TruncToInt(..)", "s0**2". Unknown symbols become fidc_expr_symbol with bounds 0.. unbounded. NULL: not understood. */
const fidc_expr *fidc_expr_parse(fidc_program *program, const char *text);
size_t fidc_expr_print(const fidc_expr *expr, char *text, size_t size);
static inline bool fidc_expr_is_const(const fidc_expr *e) { return e->kind == FIDC_EXPR_CONST; }
/* Value when every symbol takes `value_of(symbol)`; see FIDC_AT_HINT and friends in expr.c */
typedef enum fidc_point { FIDC_AT_HINT, FIDC_AT_HIGH, FIDC_AT_LOW, FIDC_AT_PROBE_1, FIDC_AT_PROBE_2, FIDC_POINT_COUNT } fidc_point;
int64_t fidc_expr_at(const fidc_expr *expr, fidc_point point); /* an unbounded symbol at HIGH counts as its hint * 2 */
/* Sets the upper bound of a symbol or bounded unknown, everywhere it is used; nothing else of an expression ever changes. What was
 * made of it before keeps its own bounds, its values at points follow. Other kinds are left alone. */
void fidc_expr_set_high(const fidc_expr *expr, int64_t high);

/* ---- Values ----------------------------------------------------------------------------------------------------------- */

typedef enum fidc_type { FIDC_NOTHING, FIDC_TENSOR, FIDC_INT, FIDC_FLOAT, FIDC_BOOL } fidc_type;
typedef enum fidc_origin { FIDC_FROM_NODE, FIDC_FROM_INPUT, FIDC_FROM_CONSTANT } fidc_origin;

/* Bytes of a parameter, buffer or lifted constant. Row-major in `dim_order`-free logical order unless packed. */
typedef struct fidc_constant {
    const char *name;      /* fully qualified: "features.0.0.weight"; unique */
    const char *key;       /* its name in a data file: `name`, or "name:how" if it was made of a weight; NULL: part of the code */
    const void *data;      /* dense, logical row-major order, or packed bytes; lives as long as the program */
    size_t bytes;
    bool is_mutable;       /* a buffer that the method writes */
    bool persistent;       /* in the state dict */
    bool is_parameter;
    bool is_shared;        /* a mutable buffer that several methods use: planned memory 2, at `shared_offset` */
    uint64_t shared_offset;
    const void *storage;   /* of an archive's tensor: names what it is a part of, from which byte to which; NULL: its own */
    size_t storage_begin, storage_end;
} fidc_constant;

struct fidc_value {
    const char *name;      /* unique in the graph */
    uint8_t type;          /* fidc_type */
    uint8_t origin;        /* fidc_origin */
    uint8_t dtype;         /* TENSOR: fid_dtype */
    uint8_t rank;
    uint8_t dim_order[FID_MAX_RANK];
    const fidc_expr **sizes; /* TENSOR: rank entries */
    const fidc_expr *number; /* INT: its expression (bounded unknown if data-dependent) */
    fidc_node *producer;   /* FROM_NODE */
    uint32_t output_index; /* FROM_NODE */
    const fidc_constant *constant; /* FROM_CONSTANT */
    const struct fidc_arg *frozen; /* NOTHING input: the number or text that export froze; NULL: None */
    uint32_t id;           /* index in graph->values */
    uint32_t uses;         /* after fidc_graph_count_uses: arguments, outputs and mutations that name it */
    fidc_value *forward;   /* replaced by */
    void *scratch;         /* a pass may use it; starts as anything */
};

/* ---- Arguments ---------------------------------------------------------------------------------------------------------- */

typedef enum fidc_arg_kind {
    FIDC_ARG_NONE, FIDC_ARG_VALUE, FIDC_ARG_INT, FIDC_ARG_DOUBLE, FIDC_ARG_BOOL, FIDC_ARG_STRING, FIDC_ARG_DTYPE,
    FIDC_ARG_LAYOUT, FIDC_ARG_DEVICE, FIDC_ARG_MEMORY_FORMAT,
    FIDC_ARG_LIST, /* items of any of the above: int lists whose items are INT or VALUE, tensor lists (NONE items allowed), doubles, bools */
} fidc_arg_kind;

typedef struct fidc_arg {
    uint8_t kind;
    union {
        fidc_value *value;
        int64_t integer;   /* INT; BOOL 0/1; DTYPE fid_dtype; LAYOUT (0 strided), MEMORY_FORMAT torch numbers:
                              0 contiguous, 1 preserve, 2 channels_last, 3 channels_last_3d */
        double number;
        const char *text;  /* STRING, DEVICE */
        struct { struct fidc_arg *items; uint32_t count; } list;
    } as;
} fidc_arg;

static inline fidc_arg fidc_none(void) { return (fidc_arg){.kind = FIDC_ARG_NONE}; }
static inline fidc_arg fidc_v(fidc_value *v) { return (fidc_arg){.kind = v ? FIDC_ARG_VALUE : FIDC_ARG_NONE, .as.value = v}; }
static inline fidc_arg fidc_i(int64_t i) { return (fidc_arg){.kind = FIDC_ARG_INT, .as.integer = i}; }
static inline fidc_arg fidc_d(double d) { return (fidc_arg){.kind = FIDC_ARG_DOUBLE, .as.number = d}; }
static inline fidc_arg fidc_b(bool b) { return (fidc_arg){.kind = FIDC_ARG_BOOL, .as.integer = b}; }
static inline fidc_arg fidc_t(fid_dtype d) { return (fidc_arg){.kind = FIDC_ARG_DTYPE, .as.integer = d}; }
fidc_arg fidc_list(fidc_program *program, const fidc_arg *items, size_t count); /* copies the items */
fidc_arg fidc_ints(fidc_program *program, const int64_t *items, size_t count);
fidc_arg fidc_values(fidc_program *program, fidc_value *const *items, size_t count);

fidc_value *fidc_resolve(fidc_value *value);          /* follows forwards */
fidc_value *fidc_value_of(const fidc_arg *arg);       /* resolved value of a VALUE argument, else NULL */

/* ---- Nodes --------------------------------------------------------------------------------------------------------------- */

struct fidc_node {
    const fid_op *op;
    fidc_arg *args;        /* arg_count entries: all arguments of the schema in order, defaults filled in */
    uint32_t arg_count;
    fidc_value **outputs;  /* one per result; a list result (split) spreads over several */
    uint32_t output_count;
    fidc_graph **graphs;   /* control flow: branches and bodies */
    uint32_t graph_count;
    const char *source;    /* the user's stack trace as torch.export keeps it, or NULL */
    const char *module;    /* "L['self'].features.0.0" style path of nn.Module, or NULL */
    const struct fidc_delegate *delegate; /* the part that a backend runs in this node's place, or NULL: partition/partition.h */
    uint32_t part_of;      /* nodes that a rewriting made of one call carry one number; 0: as the archive has it */
    bool in_place;         /* only before functionalize: the call writes its first argument, and output 0 is that argument after it */
    fidc_node *previous, *next;
    fidc_graph *graph;
    void *scratch;
};

/* ---- Graphs and programs --------------------------------------------------------------------------------------------- */

/* At the end of a run, `target` (mutable constant or input) takes the content of `value`. */
typedef struct fidc_mutation { fidc_value *target; fidc_value *value; } fidc_mutation;

struct fidc_graph {
    fidc_program *program;
    const char *name;      /* method: "forward" */
    fidc_node *first, *last;
    fidc_value **inputs;   /* user inputs in order (a non-tensor input that export froze is a NOTHING value) */
    uint32_t input_count;
    fidc_arg *outputs;     /* user outputs in order: values, numbers, None */
    uint32_t output_count;
    fidc_mutation *mutations;
    uint32_t mutation_count;
    fidc_value **values;   /* all, by id */
    uint32_t value_count, value_capacity;
    const char *input_tree, *output_tree; /* torch pytree JSON of the calling convention, or NULL */
    const fidc_arg *example_inputs;  /* input_count entries; tensors are VALUE of FROM_CONSTANT values; NULL if the archive has none */
    uint32_t name_counter;
};

/* Bytes that a program carries under a key, beside its tensors. */
typedef struct fidc_named { const char *key; const void *data; size_t bytes; } fidc_named;

struct fidc_program {
    fid_arena arena;
    fid_allocator allocator;
    const fid_sink *sink;
    const fid_op_table *ops;      /* built-in rows */
    fidc_graph **methods;
    uint32_t method_count;
    bool keep_keys;               /* constants of different keys stay apart, however equal: data files will hold them */
    bool share_buffers;           /* methods share mutable buffers of a name; passes/share_buffers.c */
    uint64_t shared_bytes;        /* of all of these */
    const fidc_expr **exprs; uint32_t expr_count, expr_capacity; /* interned */
    bool bf16_products;           /* the cpu target keeps weights of products in bfloat16 and multiplies in it */
    uint32_t part_count;          /* numbers that fidc_node.part_of took */
    bool no_winograd;             /* the cpu target sums convolutions directly */
    uint64_t winograd_bytes;      /* that weights are larger for Winograd's algorithm */
    void *owner;                  /* archive bytes and the like that constants point into; closed by destroy_owner */
    void (*destroy_owner)(void *owner);
    void (*forget_owner)(void *owner); /* gives back memory that is read again from the file when needed; NULL: there is none */
    const fid_op **declared; uint32_t declared_count;  /* rows of the user's own operators: ir/custom.h */
    const struct fidc_backend *backend; /* until partition: decomposition leaves what it takes; NULL: none */
    bool per_operator;            /* each operator that the backend takes is a delegate of its own */
    fidc_named *named; uint32_t named_count, named_capacity;
    struct fidc_problem *problems; uint32_t problem_count, problem_capacity; /* what cannot be compiled: ir/problem.h */
};

fid_status fidc_program_create(fid_allocator allocator, const fid_sink *sink, const fid_op_table *ops, fidc_program **out_program);
void fidc_program_destroy(fidc_program *program);
/* After weights were rewritten as a whole: what is left of the originals in memory goes. Costs reading it again where it is needed. */
void fidc_program_forget(const fidc_program *program);
fidc_graph *fidc_graph_create(fidc_program *program, const char *name); /* appended to methods if name is not NULL */

/* Memory from the program's arena. A compile that runs out of memory ends by longjmp-free failure: these return NULL and
 * callers return FID_OUT_OF_MEMORY. */
void *fidc_allocate(fidc_program *program, size_t size);
char *fidc_text(fidc_program *program, const char *text);
char *fidc_text_format(fidc_program *program, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- Building: ir/build.c ----------------------------------------------------------------------------------------------- */

/* A value without producer (input or constant). Name NULL: made up. Sizes are copied. */
fidc_value *fidc_value_tensor(fidc_graph *graph, const char *name, fid_dtype dtype, const fidc_expr *const *sizes, size_t rank);
fidc_value *fidc_value_number(fidc_graph *graph, const char *name, fidc_type type, const fidc_expr *number);
/* A constant tensor; data is not copied. */
fidc_value *fidc_value_constant(fidc_graph *graph, const char *name, fid_dtype dtype, const int64_t *sizes, size_t rank,
                                const void *data, size_t bytes);
/* Names a constant after the weight that it was made of: "conv.weight" and "rows" give the key "conv.weight:rows". NULL passes. */
fidc_value *fidc_constant_derive(fidc_program *program, fidc_value *made, const fidc_constant *from, const char *how);
/* Gives bytes a key in the program; equal bytes that wanted the same key share it, others get a number behind it. The data is not
 * copied. The key in use, or NULL when memory is short. (ir/named.c) */
const char *fidc_named_add(fidc_program *program, const char *key, const void *data, size_t bytes);
/* A 0-d constant of a number converted to dtype; data in the arena. */
fidc_value *fidc_value_scalar(fidc_graph *graph, fid_dtype dtype, double number);

/* Makes a node before `before` (NULL: at the end). Missing trailing arguments take the schema's defaults. Source and module are
 * copied from `like` if not NULL. Outputs get inferred metas from the row's shape function (evaluated at several points of the
 * symbols; sizes that fit no known expression become bounded unknowns). NULL on failure, with a sentence in the sink.
 * List results need `list_outputs`: how many. */
fidc_node *fidc_node_create(fidc_graph *graph, fidc_node *before, fidc_node *like, fid_op_id op, const fidc_arg *args,
                            size_t arg_count, size_t list_outputs);
/* The same without inference: outputs are made by the caller with fidc_node_add_output. For importers. */
fidc_node *fidc_node_create_raw(fidc_graph *graph, fidc_node *before, const fid_op *op, const fidc_arg *args, size_t arg_count);
fidc_value *fidc_node_add_output(fidc_node *node, const char *name, fidc_type type);
/* Result 0 of fidc_node_create; NULL passes through, so that calls chain and are checked once at the end. */
static inline fidc_value *fidc_result(fidc_node *node) { return node && node->output_count ? node->outputs[0] : NULL; }

/* Infers metas of a node's outputs into `outs` at one point of the symbols (runs the shape function). */
fid_status fidc_infer_at(const fidc_node *node, fidc_point point, fid_meta *outs, size_t out_count);

void fidc_value_replace(fidc_value *old_value, fidc_value *new_value);
void fidc_node_remove(fidc_node *node);      /* unlinks; its outputs must have been replaced or be unused */
void fidc_node_move_before(fidc_node *node, fidc_node *before);
void fidc_node_replace(fidc_node *node, fidc_node *by); /* outputs pairwise, then removes node */

/* Resolves forwards in all arguments, drops nodes without uses (EFFECT nodes stay), renumbers, counts uses. */
void fidc_graph_clean(fidc_graph *graph);
void fidc_graph_count_uses(fidc_graph *graph);

bool fidc_is(const fidc_node *node, fid_op_id op);   /* node may be NULL */
fid_op_id fidc_op_id(const fidc_program *program, const fid_op *op); /* FID_OP_COUNT: no row of the table */
bool fidc_sizes_static(const fidc_value *value);
bool fidc_same_sizes(const fidc_value *a, const fidc_value *b); /* same expressions */
bool fidc_is_constant(const fidc_value *value);      /* FROM_CONSTANT and not mutable */
int64_t fidc_size(const fidc_value *value, size_t dim); /* constant size, or -1 */

/* "op aten::add.Tensor 'add_3' at model.py:12 in forward: x + y": for messages about a node. Arena text. */
const char *fidc_where(const fidc_node *node);

/* ---- Verifier and text form ------------------------------------------------------------------------------------------- */

/* Every rule of the IR; what `stage` (pipeline.h) promises as well. The sentence names node, rule and both sides. */
fid_status fidc_verify(const fidc_program *program);
/* True if a node's outputs are as many and of the kinds that its schema says; a list result takes any number but none. */
bool fidc_results_fit(const fidc_node *node);

/* Text form, printed and parsed (ir/text.c); docs/ir.md has the grammar.
 *
 *   method forward(%x: f32[1, 3, 224, 224]) {
 *     const %w: f32[16, 3, 3, 3] = "features.0.weight"
 *     %y: f32[1, 16, 112, 112] = aten.conv2d(%x, %w, None, [2, 2], [1, 1], [1, 1], 1)
 *     return %y
 *   }
 *
 * More of it: "symbol s0 in [2, 64] hint 8" before a method; channels-last "f32[1, 3, 8, 8]{0, 2, 3, 1}"; numbers "%n: int(s0)";
 * buffers that are written "buffer %b: f32[4] = "cache""; small data inline "= "w" {1, 2}"; "update %b <- %v" before return;
 * in-place calls "aten.relu!(%x)"; dtypes "dtype.f32", memory formats "format.2", layouts "layout.0", devices "device.cpu";
 * control flow: "... = NAME(%p) graph(%a: f32[2]) { ... } graph(...) { ... }".
 */
fid_status fidc_print(const fidc_program *program, char **out_text); /* arena */
fid_status fidc_parse(fidc_program *program, const char *text, size_t length); /* const data: zeros unless given inline */

#endif
