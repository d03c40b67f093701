/* From values and nodes to the bytes of a blob. What a node's table holds is said by its fields: the writer knows no kind of node. */
#include "backends/xnnpack/compile/xnn_blob.h"

#include "format/flatbuffer_build.h"

/* ---- Values and nodes ---- */

static void *grow(fidc_xnn_blob *blob, void *items, uint32_t count, uint32_t *inout_capacity, size_t size) {
    if (count < *inout_capacity) return items;
    uint32_t capacity = *inout_capacity ? 2 * *inout_capacity : 64;
    void *grown = fid_arena_allocate_array(blob->arena, capacity, size);
    if (!grown) {
        blob->failed = true;
        return NULL;
    }
    if (count) memcpy(grown, items, count * size);
    *inout_capacity = capacity;
    return grown;
}

uint32_t fidc_xnn_blob_value(fidc_xnn_blob *blob, const fidc_xnn_value *value) {
    fidc_xnn_value *values = grow(blob, blob->values, blob->value_count, &blob->value_capacity, sizeof *values);
    if (!values) return FID_XNN_NO_ID;
    blob->values = values;
    values[blob->value_count] = *value;
    return blob->value_count++;
}

fidc_xnn_node *fidc_xnn_blob_node(fidc_xnn_blob *blob, fid_xnn_type type) {
    fidc_xnn_node *nodes = grow(blob, blob->nodes, blob->node_count, &blob->node_capacity, sizeof *nodes);
    if (!nodes) return NULL;
    blob->nodes = nodes;
    nodes[blob->node_count].type = (uint8_t)type;
    return &nodes[blob->node_count++];
}

void fidc_xnn_set_vector(fidc_xnn_blob *blob, fidc_xnn_node *node, uint32_t slot, const uint32_t *items, size_t count) {
    uint32_t *kept = node ? fid_arena_allocate_array(blob->arena, count, sizeof *kept) : NULL;
    if (!kept) {
        blob->failed = true;
        return;
    }
    memcpy(kept, items, count * sizeof *kept);
    node->fields[slot] = (fidc_xnn_field){0, (uint32_t)count, kept};
}

/* ---- FlatBuffer ---- */

/* Fields of a node's table: which are vectors. */
typedef struct shape { const uint8_t *kinds; uint32_t count; } shape;

static shape shape_of(uint8_t type) {
#define KIND(T, field, kind, size, of) FID_FB_##kind,
#define KINDS(T) static const uint8_t kinds_##T[] = {FID_XNN_##T##_FIELDS(KIND, T)};
    FID_XNN_NODE_TABLES(KINDS)
#define SHAPE(Name, T) {kinds_##T, FID_XNN_##T##_SLOT_COUNT},
    static const shape shapes[] = {{NULL, 0}, FID_XNN_NODES(SHAPE)};
    return shapes[type];
}

static fid_build_ref build_fields(fid_builder *b, const fidc_xnn_node *node) {
    shape s = shape_of(node->type);
    fid_build_ref vectors[FIDC_XNN_MOST_FIELDS] = {0};
    for (uint32_t i = 0; i < s.count; i++)
        if (s.kinds[i] == FID_FB_VECTOR) vectors[i] = fid_build_vector(b, node->fields[i].items, node->fields[i].count, 4);
    fid_build_table_begin(b);
    for (uint32_t i = 0; i < s.count; i++) {
        if (s.kinds[i] == FID_FB_VECTOR) fid_build_field(b, i, vectors[i]);
        else fid_build_u32(b, i, node->fields[i].number, 0);
    }
    return fid_build_table_end(b);
}

static uint32_t bits_of(float number) {
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static fid_build_ref build_node(fid_builder *b, const fidc_xnn_node *node) {
    fid_build_ref fields = build_fields(b, node), clamp = 0;
    if (node->clamped) {
        fid_build_table_begin(b);
        fid_build_u32(b, FID_XNN_OutputMinMax_output_min, bits_of(node->low), 0);
        fid_build_u32(b, FID_XNN_OutputMinMax_output_max, bits_of(node->high), 0);
        clamp = fid_build_table_end(b);
    }
    fid_build_table_begin(b);
    fid_build_union(b, FID_XNN_Node_xnode_union_type, node->type, fields);
    fid_build_field(b, FID_XNN_Node_output_min_max, clamp);
    return fid_build_table_end(b);
}

/* Constants are numbered in the order of their values, from 1. */
static fid_build_ref build_value(fid_builder *b, const fidc_xnn_value *value, uint32_t id, uint32_t *inout_constants) {
    fid_build_ref dims = fid_build_vector(b, value->dims, value->rank, 4);
    fid_build_table_begin(b);
    fid_build_u16(b, FID_XNN_TensorValue_datatype, value->datatype, 0);
    fid_build_u32(b, FID_XNN_TensorValue_num_dims, value->rank, 0);
    fid_build_field(b, FID_XNN_TensorValue_dims, dims);
    fid_build_u32(b, FID_XNN_TensorValue_constant_buffer_idx, value->key ? ++*inout_constants : 0, 0);
    fid_build_u32(b, FID_XNN_TensorValue_external_id, value->external, 0);
    fid_build_u32(b, FID_XNN_TensorValue_flags, value->flags, 0);
    fid_build_u32(b, FID_XNN_TensorValue_id_out, id, 0);
    fid_build_ref tensor = fid_build_table_end(b);
    fid_build_table_begin(b);
    fid_build_union(b, FID_XNN_Value_xvalue_union_type, FID_XNN_TAG_TensorValue, tensor);
    return fid_build_table_end(b);
}

static fid_build_ref build_constant(fid_builder *b, const char *key, uint64_t bytes) {
    fid_build_ref name = fid_build_string(b, key);
    fid_build_table_begin(b);
    fid_build_u64(b, FID_XNN_ConstantDataOffset_offset, key ? FID_XNN_NO_OFFSET : 0, 0);
    fid_build_u64(b, FID_XNN_ConstantDataOffset_size, bytes, 0);
    fid_build_field(b, FID_XNN_ConstantDataOffset_named_key, name);
    return fid_build_table_end(b);
}

static fid_build_ref build_values(const fidc_xnn_blob *blob, fid_builder *b) {
    uint32_t constants = 0;
    fid_build_ref *refs = fid_build_ref_array(b, blob->arena, blob->value_count);
    for (uint32_t i = 0; refs && i < blob->value_count; i++) refs[i] = build_value(b, &blob->values[i], i, &constants);
    return refs ? fid_build_ref_vector(b, refs, blob->value_count) : 0;
}

static fid_build_ref build_constants(const fidc_xnn_blob *blob, fid_builder *b) {
    uint32_t count = 0;
    fid_build_ref *refs = fid_build_ref_array(b, blob->arena, (size_t)blob->value_count + 1);
    if (refs) refs[count++] = build_constant(b, NULL, 0); /* number 0 is reserved: no constant */
    for (uint32_t i = 0; refs && i < blob->value_count; i++)
        if (blob->values[i].key) refs[count++] = build_constant(b, blob->values[i].key, blob->values[i].bytes);
    return refs ? fid_build_ref_vector(b, refs, count) : 0;
}

/* Ids of the values that have a flag. */
static fid_build_ref build_ids(const fidc_xnn_blob *blob, fid_builder *b, uint32_t flag) {
    uint32_t *ids = fid_arena_allocate_array(blob->arena, blob->value_count, sizeof *ids), count = 0;
    if (!ids) b->status = FID_OUT_OF_MEMORY;
    for (uint32_t i = 0; ids && i < blob->value_count; i++)
        if (blob->values[i].flags & flag) ids[count++] = i;
    return ids ? fid_build_vector(b, ids, count, 4) : 0;
}

static fid_build_ref build_graph(const fidc_xnn_blob *blob, fid_builder *b) {
    fid_build_ref *refs = fid_build_ref_array(b, blob->arena, blob->node_count), version = fid_build_string(b, "0");
    for (uint32_t i = 0; refs && i < blob->node_count; i++) refs[i] = build_node(b, &blob->nodes[i]);
    fid_build_ref nodes = refs ? fid_build_ref_vector(b, refs, blob->node_count) : 0, values = build_values(blob, b);
    fid_build_ref inputs = build_ids(blob, b, FID_XNN_VALUE_INPUT), outputs = build_ids(blob, b, FID_XNN_VALUE_OUTPUT);
    fid_build_ref constants = build_constants(blob, b);
    fid_build_table_begin(b);
    fid_build_field(b, FID_XNN_Graph_version, version);
    fid_build_field(b, FID_XNN_Graph_xnodes, nodes);
    fid_build_field(b, FID_XNN_Graph_xvalues, values);
    fid_build_u32(b, FID_XNN_Graph_num_externs, blob->external_count, 0);
    fid_build_field(b, FID_XNN_Graph_input_ids, inputs);
    fid_build_field(b, FID_XNN_Graph_output_ids, outputs);
    fid_build_field(b, FID_XNN_Graph_constant_data, constants);
    return fid_build_table_end(b);
}

/* ---- The whole ---- */

static void put_number(uint8_t *at, uint64_t number, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) at[i] = (uint8_t)(number >> 8 * i);
}

static size_t aligned(size_t size) { return (size + FID_XNN_CONSTANT_ALIGNMENT - 1) & ~(size_t)(FID_XNN_CONSTANT_ALIGNMENT - 1); }

static fid_status finish(fidc_xnn_blob *blob, fid_builder *b, const fid_sink *sink, const void **out_data, size_t *out_size) {
    uint8_t *graph;
    size_t size, at = aligned(FID_XNN_HEADER_BYTES);
    FID_TRY(fid_build_finish(b, build_graph(blob, b), FID_XNN_IDENTIFIER, 0, sink, &graph, &size));
    uint8_t *data = fid_arena_allocate(blob->arena, at + aligned(size), FID_XNN_CONSTANT_ALIGNMENT);
    if (!data || blob->failed) return fid_fail(sink, FID_OUT_OF_MEMORY, "no memory for an XNNPACK delegate");
    memcpy(data + 4, FID_XNN_HEADER_MAGIC, 4);
    put_number(data + FID_XNN_HEADER_LENGTH, FID_XNN_HEADER_BYTES, 2);
    put_number(data + FID_XNN_HEADER_GRAPH_OFFSET, at, 4);
    put_number(data + FID_XNN_HEADER_GRAPH_SIZE, size, 4);
    put_number(data + FID_XNN_HEADER_CONSTANT_OFFSET, at + aligned(size), 4);
    memcpy(data + at, graph, size);
    *out_data = data;
    *out_size = at + aligned(size);
    return FID_OK;
}

fid_status fidc_xnn_blob_finish(fidc_xnn_blob *blob, fid_allocator allocator, const fid_sink *sink, const void **out_data, size_t *out_size) {
    fid_builder b;
    fid_build_init(&b, allocator);
    fid_status status = finish(blob, &b, sink, out_data, out_size);
    fid_build_deinit(&b);
    return status;
}
