/* Writes .pte programs: plain structs that mirror upstream's program schema (file identifier ET12), turned into bytes.
 *
 * A file is the program part (a FlatBuffer with the extended header `eh00` at byte 8) and after it the segments, each at a
 * multiple of its alignment from the start of the segment part. Segments are streamed piece by piece: no copy is held.
 * Everything that the structs point to stays the caller's and is only read. Lists may be NULL when their count is 0. */
#ifndef FID_FORMAT_PTE_WRITE_H
#define FID_FORMAT_PTE_WRITE_H

#include "base/allocator.h"
#include "base/dtype.h"
#include "base/status.h"

/* Kinds of values; numbers of upstream's KernelTypes union. */
typedef enum fid_pte_out_kind {
    FID_PTE_OUT_NULL = 1, FID_PTE_OUT_INT, FID_PTE_OUT_BOOL, FID_PTE_OUT_DOUBLE, FID_PTE_OUT_TENSOR, FID_PTE_OUT_STRING,
    FID_PTE_OUT_INT_LIST, FID_PTE_OUT_DOUBLE_LIST, FID_PTE_OUT_BOOL_LIST, FID_PTE_OUT_TENSOR_LIST, FID_PTE_OUT_OPTIONAL_TENSOR_LIST,
} fid_pte_out_kind;

typedef struct fid_pte_out_tensor {
    uint8_t dtype, rank;
    uint8_t dynamism;          /* 0 static, 1 bound, 2 unbound; sizes are upper bounds then */
    uint8_t external;          /* 1: the data lies in a .ptd file under `name` */
    const int32_t *sizes;
    const uint8_t *dim_order;
    uint32_t data_index;       /* entry of constant_offsets, or of mutable_offsets if planned; 0: no data */
    uint32_t memory_id;        /* 1 is the first planned buffer; 0: not planned */
    uint64_t memory_offset;
    const char *name;          /* fully qualified, or NULL */
} fid_pte_out_tensor;

typedef struct fid_pte_out_value {
    uint8_t kind; /* fid_pte_out_kind */
    union {
        int64_t integer;
        bool boolean;
        double number;
        const char *text;
        fid_pte_out_tensor tensor;
        struct { const int64_t *items; size_t count; } ints; /* indices of values */
        struct { const double *items; size_t count; } doubles;
        struct { const uint8_t *items; size_t count; } bools;
        struct { const int32_t *items; size_t count; } tensors; /* indices of values; -1 absent, in optional lists */
    } as;
} fid_pte_out_value;

typedef struct fid_pte_out_operator { const char *name, *overload; } fid_pte_out_operator;

/* Kinds of instructions; numbers of upstream's InstructionArguments union. */
typedef enum fid_pte_out_step {
    FID_PTE_OUT_KERNEL_CALL = 1, FID_PTE_OUT_DELEGATE_CALL, FID_PTE_OUT_MOVE_CALL, FID_PTE_OUT_JUMP_FALSE_CALL, FID_PTE_OUT_FREE_CALL,
} fid_pte_out_step;

typedef struct fid_pte_out_frame { const char *file, *function, *context; int32_t line; } fid_pte_out_frame;

typedef struct fid_pte_out_instruction {
    uint8_t step;          /* fid_pte_out_step */
    int32_t index;         /* operator, delegate, move source, condition or freed value */
    int32_t target;        /* move target or jump destination (instruction) */
    const int32_t *args;   /* calls */
    size_t arg_count;
    const fid_pte_out_frame *frames; /* where it came from; written if the method has_frames */
    size_t frame_count;
} fid_pte_out_instruction;

typedef struct fid_pte_out_spec { const char *key; const uint8_t *value; size_t size; } fid_pte_out_spec;

typedef struct fid_pte_out_delegate {
    const char *backend;
    uint32_t segment_index;
    const fid_pte_out_spec *specs;
    size_t spec_count;
} fid_pte_out_delegate;

typedef struct fid_pte_out_method {
    const char *name;
    const char *input_tree, *output_tree; /* upstream's encoded strings; NULL counts as "" */
    const fid_pte_out_value *values;
    size_t value_count;
    const int32_t *inputs, *outputs;
    size_t input_count, output_count;
    const fid_pte_out_operator *operators;
    size_t operator_count;
    const fid_pte_out_instruction *instructions;
    size_t instruction_count;
    const fid_pte_out_delegate *delegates;
    size_t delegate_count;
    const int64_t *buffer_sizes; /* entry 0 is reserved and 0; entry i is the planned buffer of memory_id i */
    size_t buffer_count;
    bool has_frames;
} fid_pte_out_method;

/* A stretch of a segment; between pieces lie zeros. Offsets rise and pieces do not overlap. */
typedef struct fid_pte_out_piece { const void *data; uint64_t offset, size; } fid_pte_out_piece;

typedef struct fid_pte_out_segment {
    const fid_pte_out_piece *pieces;
    size_t piece_count;
    uint64_t alignment; /* power of two; 0: the file's */
} fid_pte_out_segment;

typedef struct fid_pte_out_named { const char *key; uint32_t segment_index; } fid_pte_out_named;

typedef struct fid_pte_out_program {
    const fid_pte_out_method *methods;
    size_t method_count;
    const fid_pte_out_segment *segments;
    size_t segment_count;
    uint32_t constant_segment;        /* index in segments; counts only if there is more than the reserved offset */
    const uint64_t *constant_offsets; /* entry 0 is reserved and 0 */
    size_t constant_count;            /* at least 1 */
    uint32_t mutable_segment;
    const uint64_t *mutable_offsets;  /* entry 0 is reserved and 0 */
    size_t mutable_count;             /* 0: no tensor has an initial state */
    const fid_pte_out_named *named;
    size_t named_count;
    uint64_t segment_alignment;       /* power of two; 0: 128 */
} fid_pte_out_program;

/* Where the bytes go, in order. */
typedef struct fid_pte_sink {
    fid_status (*write)(void *self, const void *data, size_t size);
    void *self;
} fid_pte_sink;

/* FID_INVALID_ARGUMENT: the structs contradict each other (the sentence says how); otherwise what the builder or the sink gave.
 * *out_size (may be NULL) is the size of the whole file. Equal structs give equal bytes. */
fid_status fid_pte_write(fid_allocator allocator, const fid_sink *sink, const fid_pte_out_program *program,
                         const fid_pte_sink *destination, uint64_t *out_size);

#endif
