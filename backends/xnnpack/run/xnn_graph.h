/* An XNNPACK delegate as we run it: values and nodes as the blob has them, checked; then steps, each a call of one of our kernels.
 *
 * Every value is kept in float32 while the delegate runs, whatever its datatype: 16-bit floats compute in float32 as everywhere else,
 * and a quantized value holds the real numbers that its integers stand for (rounded to that grid by a step of its own). Integers and
 * 16-bit floats exist at the delegate's inputs, outputs and constants only. The second result of ArgMaxPooling2d is int64.
 *
 * XNNPACK's images are (batch, height, width, channels). A call that wants an image gets a view of the same memory: (batch, channels,
 * height, width) in channels-last order, which is what our kernels read best. */
#ifndef FID_BACKENDS_XNNPACK_GRAPH_H
#define FID_BACKENDS_XNNPACK_GRAPH_H

#include "backends/xnnpack/xnn_schema.h"
#include "ops/fused.h"
#include "ops/operator.h"
#include "runtime/backend.h"

/* How integers stand for real numbers. */
typedef struct fid_xnn_quant {
    uint8_t kind;                        /* FID_XNN_TAG_PerTensorQuant and so on; 0: the numbers themselves */
    float scale;
    int32_t zero_point;
    fid_span scales;                     /* floats (a channel), or bfloat16 (a group of a channel) */
    uint32_t channel_dim, group_size, nonbatch_dims;
} fid_xnn_quant;

typedef enum fid_xnn_home {
    FID_XNN_HOME_NONE,                   /* nobody makes it */
    FID_XNN_HOME_CONSTANT,
    FID_XNN_HOME_PLANNED,                /* in the arena */
    FID_XNN_HOME_EXTERNAL,               /* in the argument's own memory */
    FID_XNN_HOME_ALIAS,                  /* on value `root` */
} fid_xnn_home;

typedef struct fid_xnn_value {
    uint8_t datatype;                    /* fid_xnn_datatype, as the blob has it */
    uint8_t dtype;                       /* FID_FLOAT32 or FID_INT64: what it is here */
    uint8_t rank, flags;                 /* FID_XNN_VALUE_ bits */
    uint8_t home;
    int64_t dims[FID_XNN_MAX_RANK];      /* live; at load those that the blob declares */
    uint32_t external;                   /* argument of the delegate; FID_XNN_NO_ID: none */
    fid_span data;                       /* of a constant, as stored */
    fid_xnn_quant quant;
    uint32_t producer;                   /* node; FID_XNN_NO_ID: none */
    uint32_t uses;                       /* nodes that read it, and the delegate's output */
    /* planning */
    uint32_t root, first, last;          /* steps that write it first and read it last */
    size_t offset, bytes;
    void *memory;                        /* now */
} fid_xnn_value;

typedef struct fid_xnn_node {
    uint8_t type;                        /* fid_xnn_type */
    bool dead;                           /* taken into another node */
    uint8_t input_count, output_count;
    uint32_t inputs[5], outputs[2];      /* values; an absent optional one: FID_XNN_NO_ID */
    uint32_t flags;
    fid_fb_ref table;
    fid_activation activation;           /* of what it makes */
    uint32_t frame[4];                   /* zeros that stood around an image before it, in padding of its own: top, left, bottom, right */
    uint32_t add;                        /* value added before the activation; FID_XNN_NO_ID: none */
    uint32_t expand, project;            /* pointwise convolutions before and after a depthwise one; FID_XNN_NO_ID: none */
} fid_xnn_node;

/* One tensor of a call: a view of a value. */
typedef enum fid_xnn_view { FID_XNN_PLAIN, FID_XNN_IMAGE, FID_XNN_VECTOR } fid_xnn_view;
typedef struct fid_xnn_operand {
    fid_tensor tensor;
    int64_t sizes[FID_XNN_MAX_RANK], strides[FID_XNN_MAX_RANK];
    uint8_t dim_order[FID_XNN_MAX_RANK];
    uint8_t view;                        /* fid_xnn_view */
    uint32_t value;                      /* FID_XNN_NO_ID: a constant made for this call; sizes and data never change */
} fid_xnn_operand;

typedef enum fid_xnn_step_kind {
    FID_XNN_STEP_CALL,
    FID_XNN_STEP_RESHAPE, /* the output stands on the input's memory with other dims: `numbers`, where 0 is worked out */
    FID_XNN_STEP_PERMUTE, /* the same, dims reordered by `numbers`: only dims of size one move */
} fid_xnn_step_kind;

typedef struct fid_xnn_step {
    uint8_t kind, output_count, number_count;
    uint32_t node;
    uint32_t input, output;              /* of those that are no call: values */
    const int64_t *numbers;
    const fid_op *op;
    const fid_kernel *kernel;
    fid_call call;
    fid_xnn_operand **operands;          /* outputs last */
    uint32_t operand_count;
} fid_xnn_step;

typedef struct fid_xnn_scratch {
    fid_scratch interface;               /* first */
    struct fid_xnn_graph *graph;
    uint8_t *block;
    size_t size, used;
    struct fid_xnn_chunk *overflow;
} fid_xnn_scratch;

typedef struct fid_xnn_graph {
    fid_backend_init init;               /* `specs` are gone after init */
    const fid_sink *sink;
    fid_xnn_value *values;
    fid_xnn_node *nodes;
    fid_xnn_step *steps;
    uint32_t value_count, value_room, node_count, step_count, step_room, argument_count;
    uint32_t *inputs, *outputs;          /* values */
    uint32_t input_count, output_count;
    fid_xnn_scratch scratch;
    uint8_t *arena;
    size_t arena_size;
    uint32_t *order;                     /* values in planning order */
    bool shaped;                         /* dims and plan hold for the inputs that `dims` of the values tell */
} fid_xnn_graph;

/* ---- xnn_read.c: the blob ---- */
/* Verifies the blob and fills values and nodes: ids are in range, each value is made once, before it is read. */
fid_status fid_xnn_read(fid_xnn_graph *graph);
const char *fid_xnn_type_text(uint8_t type);
const char *fid_xnn_datatype_text(uint8_t datatype);
/* Memory of the method, zeroed; NULL when memory is short, and that has been said. */
void *fid_xnn_persist(fid_xnn_graph *graph, size_t count, size_t size);
/* A new value of the dims of `like` that no blob mentions; pointers to values end here. FID_XNN_NO_ID when memory is short. */
uint32_t fid_xnn_value_create(fid_xnn_graph *graph, uint32_t like);
fid_status fid_xnn_fail_node(const fid_xnn_graph *graph, uint32_t node, fid_status status, const char *what);

/* ---- xnn_fuse.c ---- */
void fid_xnn_fuse(fid_xnn_graph *graph);

/* ---- xnn_constant.c ---- */
/* Elements of a constant as float32, in the blob's order: in place, or converted into memory of the allocator, which `out_bytes` tells
 * (0: in place). NULL when memory is short. */
const float *fid_xnn_floats(fid_xnn_graph *graph, const fid_xnn_value *value, size_t *out_bytes);
/* The same in memory that lives as long as the method. */
const float *fid_xnn_floats_kept(fid_xnn_graph *graph, const fid_xnn_value *value);
/* Bytes of a constant's data for its datatype and dims; 0: no such constant. */
size_t fid_xnn_constant_bytes(const fid_xnn_value *value);
/* Rounds `count` rows of `length` numbers to the grid of static or, a row at a time, dynamic quantization. */
extern const fid_op fid_xnn_quantize, fid_xnn_quantize_rows;
/* Integers and 16-bit floats at the delegate's border. */
void fid_xnn_to_floats(const fid_xnn_value *value, const void *from, size_t count, float *to);
void fid_xnn_from_floats(const fid_xnn_value *value, const float *from, size_t count, void *to);

/* ---- xnn_translate*.c: nodes to steps ---- */
fid_status fid_xnn_translate(fid_xnn_graph *graph);

/* ---- xnn_run.c ---- */
fid_status fid_xnn_plan(fid_xnn_graph *graph);
/* Sizes of everything from those of the inputs. */
fid_status fid_xnn_shape_step(fid_xnn_graph *graph, fid_xnn_step *step);
void fid_xnn_scratch_init(fid_xnn_graph *graph);
fid_status fid_xnn_scratch_reserve(fid_xnn_graph *graph, size_t size);
fid_status fid_xnn_run(fid_xnn_graph *graph, const fid_backend_run *run, fid_value *const *args, size_t arg_count);
void fid_xnn_deinit(fid_xnn_graph *graph);

#endif
