/* Building an XNNPACK blob: values and nodes by the description in xnn_schema.h, then bytes. */
#ifndef FIDC_XNN_BLOB_H
#define FIDC_XNN_BLOB_H

#include "backends/xnnpack/xnn_schema.h"
#include "base/allocator.h"

typedef struct fidc_xnn_value {
    uint8_t datatype, rank;             /* fid_xnn_datatype */
    uint32_t dims[FID_XNN_MAX_RANK];
    uint32_t external, flags;           /* external: argument of the delegate, or FID_XNN_NO_ID */
    const char *key;                    /* of a constant: its named data; NULL: none */
    uint64_t bytes;                     /* of a constant */
} fidc_xnn_value;

/* A field of a node's table: a number (a float by its bits) or a vector of numbers. */
typedef struct fidc_xnn_field { uint32_t number, count; const uint32_t *items; } fidc_xnn_field;

#define FIDC_XNN_MOST_FIELDS 20
typedef struct fidc_xnn_node {
    uint8_t type;                       /* fid_xnn_type */
    bool clamped;
    float low, high;                    /* of results, if clamped */
    fidc_xnn_field fields[FIDC_XNN_MOST_FIELDS]; /* by slot: FID_XNN_Conv_padding_top */
} fidc_xnn_node;

typedef struct fidc_xnn_blob {
    fid_arena *arena;
    fidc_xnn_value *values;
    fidc_xnn_node *nodes;
    uint32_t value_count, value_capacity, node_count, node_capacity, external_count;
    bool failed;                        /* memory was short */
} fidc_xnn_blob;

/* The id of a new value. */
uint32_t fidc_xnn_blob_value(fidc_xnn_blob *blob, const fidc_xnn_value *value);
/* A new node, all fields zero. NULL when memory is short. The pointer ends with the next call. */
fidc_xnn_node *fidc_xnn_blob_node(fidc_xnn_blob *blob, fid_xnn_type type);
/* Copies a vector into a field. */
void fidc_xnn_set_vector(fidc_xnn_blob *blob, fidc_xnn_node *node, uint32_t slot, const uint32_t *items, size_t count);
static inline void fidc_xnn_set(fidc_xnn_node *node, uint32_t slot, uint32_t number) {
    if (node) node->fields[slot].number = number;
}
static inline void fidc_xnn_set_float(fidc_xnn_node *node, uint32_t slot, float number) {
    if (node) memcpy(&node->fields[slot].number, &number, sizeof number);
}

/* The bytes, in the arena. */
fid_status fidc_xnn_blob_finish(fidc_xnn_blob *blob, fid_allocator allocator, const fid_sink *sink, const void **out_data, size_t *out_size);

#endif
