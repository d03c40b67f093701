/* What the files that read one archive share. The order of work: archive.c finds and checks the members, symbols.c gathers the
 * symbolic sizes, signature.c makes the inputs (weights.c brings their bytes), graph_nodes.c the nodes, examples.c the sample
 * inputs. Everything lives in the program's arena. */
#ifndef FIDC_ARCHIVE_READER_H
#define FIDC_ARCHIVE_READER_H

#include <jansson.h>

#include "compiler/archive/name_map.h"
#include "compiler/archive/unpickle.h"
#include "compiler/archive/zip_file.h"
#include "compiler/ir/ir.h"

typedef struct fidc_weights fidc_weights;
typedef struct fidc_archive_owner fidc_archive_owner; /* the open archives; the program closes them */

typedef struct fidc_reader {
    fidc_program *program;
    const fid_sink *sink;
    const char *path;         /* of the .pt2, for messages */
    fidc_zip *zip;
    const char *root;         /* folder of all members: "model/"; "" in archives before torch 2.8 */
    const char *model;        /* name of the model in the archive: "model" */
    const char *method;       /* name that the method gets */
    bool legacy;              /* serialized_exported_program.json and its kin */
    json_t *json;             /* the exported program */
    const char *node;         /* node at work, for messages; NULL outside of nodes */
    bool has_complex_numbers; /* among the arguments that were read */
    fidc_name_map symbols;    /* name -> fidc_symbol */
    fidc_name_map targets;    /* "torch.ops.aten.add.Tensor" -> fidc_target_row */
    fidc_name_map constants;  /* "layer.weight" -> fidc_value */
    fidc_name_map names;      /* of values in `graph` -> fidc_value */
    fidc_name_map texts;      /* stack traces, which many nodes share -> themselves in the arena */
    fidc_weights *weights;
    fidc_archive_owner *owner;
    fidc_graph *graph;
} fidc_reader;

/* Names of one graph. Sub-graphs have scopes of their own. */
typedef struct fidc_scope {
    fidc_graph *graph;
    const json_t *tensors, *ints, *bools, *floats; /* name -> meta */
    fidc_name_map values;                          /* name -> fidc_value */
    const char *prefix;                            /* of value names: "" or "submod_1_" for an inlined sub-graph */
} fidc_scope;

/* ---- Members: archive.c ---- */

/* Text of "ROOT" + folder + name, in the arena; NULL: out of memory. */
const char *fidc_member_name(const fidc_reader *r, const char *folder, const char *name);
bool fidc_member_exists(const fidc_reader *r, const char *member);
/* Opens a member that torch.save wrote and reads its object. Storages stay valid as long as the program. */
fid_status fidc_member_unpickle(fidc_reader *r, const fid_sink *sink, const char *member, fidc_pickle **out_value);

/* ---- JSON: json_read.c ---- */

/* Says "PATH: model JSON, node 'add': SENTENCE". */
fid_status fidc_reader_fail(const fidc_reader *r, fid_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
fid_status fidc_json_parse(const fidc_reader *r, const char *member, fid_span bytes, json_t **out_json);
/* Members of an object, each with the type that the schema promises. */
fid_status fidc_json_object(const fidc_reader *r, const json_t *object, const char *key, const json_t **out_object);
fid_status fidc_json_array(const fidc_reader *r, const json_t *object, const char *key, const json_t **out_array);
fid_status fidc_json_text(const fidc_reader *r, const json_t *object, const char *key, const char **out_text);
fid_status fidc_json_integer(const fidc_reader *r, const json_t *object, const char *key, int64_t *out_integer);
/* A union: an object with one member, whose name tells its kind. */
fid_status fidc_json_union(const fidc_reader *r, const json_t *object, const char **out_kind, const json_t **out_value);
/* A float: a number, or "Infinity", "-Infinity", "NaN". */
bool fidc_json_float(const json_t *value, double *out_number);
/* True: null or not there. */
bool fidc_json_absent(const json_t *object, const char *key);

/* ---- Sizes and values: symbols.c, values.c ---- */

/* Learns ranges and example values of all symbols. */
fid_status fidc_symbols_read(fidc_reader *r);
/* sympy's srepr text. What our expressions cannot say becomes an unknown in [0, ...) with that hint. NULL: out of memory. */
const fidc_expr *fidc_symbols_parse(fidc_reader *r, const char *text, const int64_t *hint);
/* {"as_int": 3} or {"as_expr": {...}} */
fid_status fidc_read_sym_int(fidc_reader *r, const json_t *sym_int, const fidc_expr **out_expr);
fid_status fidc_read_dtype(const fidc_reader *r, int64_t code, fid_dtype *out_dtype);
/* Fills dtype, sizes and dim order of a TENSOR value from its TensorMeta. */
fid_status fidc_read_tensor_meta(fidc_reader *r, const json_t *meta, fidc_value *value);
/* Gives a value of r->graph another name if its own is taken: inlined sub-graphs and sample inputs bring names of ours. */
fid_status fidc_claim_name(fidc_reader *r, fidc_value *value);
/* Fills a fresh value of a name from the scope's metas and enters it into the scope. */
fid_status fidc_scope_define(fidc_reader *r, fidc_scope *scope, const char *name, fidc_value *value);
fid_status fidc_scope_find(const fidc_reader *r, const fidc_scope *scope, const char *name, fidc_value **out_value);
fid_status fidc_scope_open(const fidc_reader *r, const json_t *graph_json, fidc_graph *graph, const char *prefix, fidc_scope *out_scope);

/* ---- Nodes: targets.c, arguments.c, complex_numbers.c, graph_nodes.c ---- */

/* A number with an imaginary part as an argument: a constant. When the node's results are known, fidc_complex_settle gives the constants
 * their dtype and the node the overload that takes tensors. */
fid_status fidc_complex_number(fidc_reader *r, fidc_graph *graph, double real, double imaginary, fidc_arg *out);
fid_status fidc_complex_settle(fidc_reader *r, fidc_node *node);

typedef enum fidc_target_kind {
    FIDC_TARGET_OPERATOR,
    FIDC_TARGET_INLINE, /* a wrapper around a sub-graph that changes nothing in inference: wrap_with_set_grad_enabled */
} fidc_target_kind;

typedef struct fidc_target_row {
    const fid_op *op;              /* NULL: no row */
    const char *name, *overload;   /* "aten::add", "Tensor" */
    fidc_target_kind kind;
    bool in_place;                 /* "aten::add_": the row is that of the functional name */
    bool writes_out;               /* "aten::add.out": the row computes, its result is written into the argument out */
    bool rebinds;                  /* "aten::unsqueeze_": the argument's name means the output from here on */
} fidc_target_row;

fid_status fidc_target_find(fidc_reader *r, const char *target, fidc_target_row **out_row);
/* A row for one call of an operator that nobody knows, by what the call looks like. NULL: no memory. (unknown.c) */
const fid_op *fidc_invent_row(fidc_reader *r, const fidc_target_row *target, const json_t *inputs, const json_t *outputs);

/* `schema` NULL: as it stands. A graph argument is FID_NOT_SUPPORTED here. */
fid_status fidc_read_arg(fidc_reader *r, fidc_scope *scope, const json_t *argument, const fid_schema_arg *schema, fidc_arg *out_arg);
/* All nodes of a graph, into scope->graph. */
fid_status fidc_read_nodes(fidc_reader *r, fidc_scope *scope, const json_t *graph_json);
fid_status fidc_read_outputs(fidc_reader *r, fidc_scope *scope, const json_t *outputs, fidc_arg **out_args);

/* ---- Inputs: weights.c, signature.c, examples.c ---- */

fid_status fidc_weights_open(fidc_reader *r);
void fidc_weights_close(fidc_weights *weights); /* NULL allowed; the bytes stay */
/* The weight, buffer or constant of that name; its value joins the graph as `value_name`. */
fid_status fidc_weights_bind(fidc_reader *r, const char *name, const char *value_name, fidc_value **out_value);
/* Bytes in row-major order: in place where they lie so, else a copy. */
fid_status fidc_strided_dense(const fidc_reader *r, const char *name, const fidc_strided *tensor, const void **out_data, size_t *out_bytes);

/* Reads the whole method into r->graph. */
fid_status fidc_read_method(fidc_reader *r);
/* graph->example_inputs, if the archive has sample inputs of plain Python types. */
fid_status fidc_read_examples(fidc_reader *r);

#endif
