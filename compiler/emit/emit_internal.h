/* Shared by the parts of the emitter: the pools of constants, and the tables of the method in work. */
#ifndef FIDC_EMIT_INTERNAL_H
#define FIDC_EMIT_INTERNAL_H

#include "compiler/emit/emit.h"
#include "compiler/plan/plan_control.h"
#include "format/pte_write.h"

/* A list that grows; items are zeroed. Freed with the emitter. */
typedef struct fidc_array { void *items; size_t count, capacity, item_size; } fidc_array;

/* Blobs of bytes stored once each: one segment of the file. */
typedef struct fidc_pool {
    fidc_array pieces;  /* fid_pte_out_piece */
    fidc_array offsets; /* uint64_t; entry 0 is reserved, entry i + 1 belongs to piece i */
    fidc_array hashes;  /* uint64_t, by piece */
    uint32_t *slots;    /* open addressing by hash: piece + 1, 0 empty */
    size_t slot_count;  /* a power of two */
    uint64_t end;       /* bytes so far */
} fidc_pool;

/* A data file in work: its entries, with bytes that are stored once each. */
typedef struct fidc_external_file {
    fidc_array entries; /* fid_named_data */
    fidc_pool pool;
} fidc_external_file;

typedef struct fidc_emitter {
    const fidc_program *program;
    const fidc_emit_options *options;
    const fid_sink *sink;
    fid_allocator allocator;
    fid_arena arena;    /* whatever the structs for the file point to */
    fidc_pool constants, states;
    fidc_array blobs;     /* fid_pte_out_piece: of delegates, segments 0 and on */
    fidc_external_file *externals; /* one a data file */
    void *debug;        /* json_t: tables of the methods so far, emit_debug.c; NULL: none */
    fid_status status;  /* the first failure; its sentence has been said. Later steps do nothing sensible and are not looked at */
} fidc_emitter;

/* One method in work. */
typedef struct fidc_method_emitter {
    fidc_emitter *emitter;
    const fidc_graph *graph;
    const fidc_plan *plan;
    fidc_array values;       /* fid_pte_out_value */
    fidc_array operators;    /* fid_pte_out_operator */
    fidc_array instructions; /* fid_pte_out_instruction */
    fidc_array delegates;    /* fid_pte_out_delegate */
    fidc_array origins;      /* const fidc_node *, by instruction; NULL: none */
    int32_t *index_of;       /* by index of the plan: its place in values, -1 not yet */
    uint32_t *literal_slots; /* open addressing: value index + 1 */
    size_t literal_slot_count, literal_count;
} fidc_method_emitter;

/* Remembers the first failure. Returns NULL, for callers that return pointers. */
void *fidc_emit_fail(fidc_emitter *emitter, fid_status status);
void *fidc_emit_allocate(fidc_emitter *emitter, size_t count, size_t size);
void *fidc_array_push(fidc_emitter *emitter, fidc_array *array);

/* ---- emit_pool.c ---- */

/* Entry of `data` in the pool (from 1), a new one or that of equal bytes. 0 after a failure. The data is not copied. */
uint32_t fidc_pool_add(fidc_emitter *emitter, fidc_pool *pool, const void *data, size_t size);

void fidc_pool_init(fidc_pool *pool);
/* The bytes of an entry. */
const void *fidc_pool_data(const fidc_pool *pool, uint32_t entry);

/* ---- emit_external.c ---- */

fid_status fidc_emit_externals_begin(fidc_emitter *emitter);
/* Puts a weight into a data file, if the options want it there, and fills in the tensor's key: true. `how` (may be NULL) tells apart
 * what is one weight seen in several shapes. */
bool fidc_emit_external(fidc_emitter *emitter, const fidc_graph *graph, const fidc_constant *constant, const char *how,
                        fid_pte_out_tensor *tensor);
/* The same for named data: true if a data file has it now. */
bool fidc_emit_external_named(fidc_emitter *emitter, const fidc_named *named);
/* The data files, once all methods are emitted. */
fid_status fidc_emit_externals_write(fidc_emitter *emitter);

/* ---- emit_value.c: every function gives an index in `values`, -1 after a failure ---- */

/* The value's own entry, made when first asked for. */
int32_t fidc_emit_value(fidc_method_emitter *m, const fidc_value *value);
/* An entry that nobody else shares: instructions write it. */
int32_t fidc_emit_own(fidc_method_emitter *m, const fid_pte_out_value *value);
/* Literals and lists; equal ones share an entry. What `literal` points to must live as long as the arena. */
int32_t fidc_emit_literal(fidc_method_emitter *m, const fid_pte_out_value *literal);
int32_t fidc_emit_none(fidc_method_emitter *m);
int32_t fidc_emit_int(fidc_method_emitter *m, int64_t integer);
int32_t fidc_emit_tensor_list(fidc_method_emitter *m, const int32_t *items, size_t count);
/* An argument as its schema wants it. */
int32_t fidc_emit_arg(fidc_method_emitter *m, const fid_schema_arg *schema, const fidc_arg *arg);

/* ---- emit_node.c ---- */

/* Arguments of a call in work. */
typedef struct fidc_call {
    fidc_method_emitter *m;
    int32_t *args;
    size_t count, capacity;
} fidc_call;

bool fidc_call_begin(fidc_call *call, fidc_method_emitter *m, size_t capacity);
void fidc_call_add(fidc_call *call, int32_t value);
/* `node` (may be NULL) is where the call comes from. */
void fidc_call_end(fidc_call *call, const char *name, const char *overload, const fidc_node *node);

/* aten::copy_: writes `from` into `to`. */
void fidc_emit_copy(fidc_method_emitter *m, int32_t from, int32_t to, const fidc_node *node);
/* The nodes of a graph in order. */
void fidc_emit_graph(fidc_method_emitter *m, const fidc_graph *graph);
/* The whole method: its nodes, and states written back. */
fid_status fidc_emit_nodes(fidc_method_emitter *m);

/* ---- emit_control.c ---- */

/* A node with sub-graphs, as jumps around their instructions. */
void fidc_emit_control(fidc_method_emitter *m, const fidc_node *node);

/* ---- emit_debug.c ---- */

/* The newest instruction comes from `node`, which may be NULL. */
void fidc_debug_note(fidc_method_emitter *m, const fidc_node *node);
/* Adds the method's table. */
void fidc_debug_method(fidc_method_emitter *m);
/* All tables as bytes in the arena; none if nothing is known. */
fid_status fidc_debug_finish(fidc_emitter *emitter, fid_span *out_table);

/* ---- emit_frames.c ---- */

/* Python's text of a stack trace as frames, innermost last. */
const fid_pte_out_frame *fidc_emit_frames(fidc_emitter *emitter, const char *trace, size_t *out_count);

#endif
