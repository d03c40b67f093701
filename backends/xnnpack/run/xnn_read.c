/* Reading a delegate blob: header, FlatBuffer, values, nodes. All that the rest trusts is checked here. */
#include "backends/xnnpack/run/xnn_graph.h"

/* ---- Descriptions for the verifier ---- */

#define FIELD(T, field, kind, size, of) {FID_FB_##kind, size, of},
#define DESCRIBE(T)                                                                                                    \
    static const fid_fb_field fields_##T[] = {FID_XNN_##T##_FIELDS(FIELD, T){0, 0, NULL}};                             \
    static const fid_fb_type type_##T = {"XNN" #T, fields_##T, FID_XNN_##T##_SLOT_COUNT};
#define MEMBER(T) &type_##T,
#define NODE_MEMBER(Name, shape) &type_##shape,
#define UNION(Name) static const fid_fb_union union_##Name = {members_##Name, sizeof members_##Name / sizeof *members_##Name};

FID_XNN_NODE_TABLES(DESCRIBE)
FID_XNN_QUANT_PARAMS(DESCRIBE)
static const fid_fb_type *const members_QuantParams[] = {FID_XNN_QUANT_PARAMS(MEMBER)};
UNION(QuantParams)
DESCRIBE(TensorValue)
DESCRIBE(QuantizedTensorValue)
static const fid_fb_type *const members_Node[] = {FID_XNN_NODES(NODE_MEMBER)};
UNION(Node)
static const fid_fb_type *const members_Value[] = {&type_TensorValue, &type_QuantizedTensorValue};
UNION(Value)
FID_XNN_OTHER_TABLES(DESCRIBE)

const char *fid_xnn_type_text(uint8_t type) {
#define NAME(Name, shape) #Name,
    static const char *const names[] = {"none", FID_XNN_NODES(NAME)};
    return type < FID_XNN_TYPE_COUNT ? names[type] : "?";
}

const char *fid_xnn_datatype_text(uint8_t datatype) {
#define CASE(NAME, code, text, bytes) case code: return text;
    switch (datatype) { FID_XNN_DATATYPES(CASE) }
    return "?";
}

void *fid_xnn_persist(fid_xnn_graph *graph, size_t count, size_t size) {
    size_t bytes;
    void *memory = fid_mul_size(count, size, &bytes) ? graph->init.persist(graph->init.persist_self, bytes ? bytes : 1) : NULL;
    if (!memory) (void)fid_fail(graph->sink, FID_OUT_OF_MEMORY, "no memory for %zu times %zu bytes of an XNNPACK delegate", count, size);
    return memory;
}

fid_status fid_xnn_fail_node(const fid_xnn_graph *graph, uint32_t node, fid_status status, const char *what) {
    return fid_fail(graph->sink, status, "XNNPACK node %u (%s): %s", node, fid_xnn_type_text(graph->nodes[node].type), what);
}

/* ---- Header ---- */

typedef struct parts {
    fid_span graph, constants;
} parts;

static uint64_t number_at(const uint8_t *at, size_t bytes) {
    uint64_t number = 0;
    for (size_t i = bytes; i-- > 0;) number = number << 8 | at[i];
    return number;
}

static fid_status split(const fid_sink *sink, fid_span blob, parts *out) {
    if (blob.size < 8) return fid_fail(sink, FID_INVALID_PROGRAM, "an XNNPACK blob of %zu bytes is too short", blob.size);
    *out = (parts){.graph = blob};
    if (memcmp(blob.data + 4, FID_XNN_HEADER_MAGIC, 4) != 0) return FID_OK;
    if (blob.size < FID_XNN_HEADER_BYTES || number_at(blob.data + FID_XNN_HEADER_LENGTH, 2) < FID_XNN_HEADER_BYTES)
        return fid_fail(sink, FID_INVALID_PROGRAM, "the header of an XNNPACK blob is cut short");
    uint64_t graph_at = number_at(blob.data + FID_XNN_HEADER_GRAPH_OFFSET, 4), graph_size = number_at(blob.data + FID_XNN_HEADER_GRAPH_SIZE, 4);
    uint64_t data_at = number_at(blob.data + FID_XNN_HEADER_CONSTANT_OFFSET, 4);
    uint64_t data_size = number_at(blob.data + FID_XNN_HEADER_CONSTANT_SIZE, 8);
    if (!fid_range_fits(graph_at, graph_size, blob.size) || !fid_range_fits(data_at, data_size, blob.size))
        return fid_fail(sink, FID_INVALID_PROGRAM, "the header of an XNNPACK blob points outside its %zu bytes", blob.size);
    out->graph = fid_span_of(blob.data + graph_at, (size_t)graph_size);
    out->constants = fid_span_of(blob.data + data_at, (size_t)data_size);
    return FID_OK;
}

/* Numbers are read in place: the FlatBuffer moves if the file has it at an odd address. */
static fid_status align(fid_xnn_graph *graph, fid_span *inout_graph) {
    if ((uintptr_t)inout_graph->data % 16 == 0) return FID_OK;
    uint8_t *copy = fid_xnn_persist(graph, inout_graph->size, 1);
    if (!copy) return FID_OUT_OF_MEMORY;
    memcpy(copy, inout_graph->data, inout_graph->size);
    inout_graph->data = copy;
    return FID_OK;
}

static fid_status open_graph(fid_xnn_graph *graph, parts *out_parts, fid_fb_ref *out_root) {
    FID_TRY(split(graph->sink, graph->init.blob, out_parts));
    const fid_span *bytes = &out_parts->graph;
    if (bytes->size < 8 || memcmp(bytes->data + 4, FID_XNN_IDENTIFIER, 4) != 0)
        return fid_fail(graph->sink, FID_DELEGATE_INCOMPATIBLE, "the graph of an XNNPACK blob does not carry the identifier \"" FID_XNN_IDENTIFIER "\"");
    FID_TRY(align(graph, &out_parts->graph));
    return fid_fb_verify(graph->sink, out_parts->graph, &type_Graph, out_root);
}

/* ---- Values ---- */

typedef struct reader {
    fid_xnn_graph *graph;
    parts parts;
    fid_fb_ref root;
    fid_fb_vector constants;
    uint32_t *ids; /* id in the blob to value */
} reader;

static fid_status bad_value(const reader *r, uint32_t value, const char *what) {
    return fid_fail(r->graph->sink, FID_INVALID_PROGRAM, "XNNPACK value %u %s", value, what);
}

/* The bytes of constant number `index`. */
static fid_status constant_bytes(const reader *r, uint32_t value, uint32_t index, fid_span *out) {
    if (index >= r->constants.count) return bad_value(r, value, "names a constant that the blob does not have");
    fid_fb_ref entry = fid_fb_table_at(r->constants, index);
    uint64_t offset = fid_fb_get_u64(entry, FID_XNN_ConstantDataOffset_offset, 0), size = fid_fb_get_u64(entry, FID_XNN_ConstantDataOffset_size, 0);
    const char *key = fid_fb_get_string(entry, FID_XNN_ConstantDataOffset_named_key);
    if (key && *key) {
        fid_status status = r->graph->init.named_data(r->graph->init.named_data_self, key, out);
        if (status != FID_OK) return fid_fail(r->graph->sink, status, "XNNPACK value %u lies in the program's named data \"%.*s\", which is not there", value, 100, key);
        if (size > out->size) return bad_value(r, value, "is larger than the named data that it lies in");
        out->size = (size_t)size;
        return FID_OK;
    }
    if (!fid_range_fits(offset, size, r->parts.constants.size)) return bad_value(r, value, "lies outside the blob's constants");
    *out = fid_span_of(r->parts.constants.data + offset, (size_t)size);
    return FID_OK;
}

/* Scales of channels or groups: floats in the table, or bytes of a constant. */
static fid_status read_scales(const reader *r, uint32_t value, fid_fb_vector in_table, uint32_t index, uint32_t count, size_t size, fid_xnn_quant *out) {
    if (in_table.count) {
        out->scales = fid_span_of(in_table.items, 4 * (size_t)in_table.count);
        return size == 4 ? FID_OK : bad_value(r, value, "has scales of groups in its table, where older writers put them");
    }
    FID_TRY(constant_bytes(r, value, index, &out->scales));
    if (out->scales.size / size < count) return bad_value(r, value, "has fewer scales than it says");
    out->scales.size = size * count;
    return FID_OK;
}

static fid_status read_quant(const reader *r, uint32_t value, fid_fb_ref quantized, fid_xnn_quant *out) {
    fid_fb_ref table = fid_fb_get_table(quantized, FID_XNN_QuantizedTensorValue_quant_params);
    out->kind = fid_fb_get_u8(quantized, FID_XNN_QuantizedTensorValue_quant_params_type, 0);
    switch (out->kind) {
    case FID_XNN_TAG_PerTensorQuant:
        out->scale = fid_fb_get_f32(table, FID_XNN_PerTensorQuant_scale, 0);
        out->zero_point = fid_fb_get_i32(table, FID_XNN_PerTensorQuant_zero_point, 0);
        if (out->zero_point < -65536 || out->zero_point > 65536) return bad_value(r, value, "has a zero point that is no 8-bit number");
        /* Also false for NaN. */
        return out->scale > 0 && out->scale < (float)INFINITY ? FID_OK : bad_value(r, value, "has a scale that is not positive");
    case FID_XNN_TAG_PerChannelQuant:
        out->channel_dim = fid_fb_get_u32(table, FID_XNN_PerChannelQuant_channel_dim, 0);
        return read_scales(r, value, fid_fb_get_vector(table, FID_XNN_PerChannelQuant_scale), fid_fb_get_u32(table, FID_XNN_PerChannelQuant_scale_buffer_idx, 0),
                           fid_fb_get_u32(table, FID_XNN_PerChannelQuant_num_scales, 0), 4, out);
    case FID_XNN_TAG_PerTokenDynamicQuant:
        out->nonbatch_dims = fid_fb_get_u32(table, FID_XNN_PerTokenDynamicQuant_num_nonbatch_dims, 0);
        return FID_OK;
    case FID_XNN_TAG_PerChannelGroupQuant:
        out->channel_dim = fid_fb_get_u32(table, FID_XNN_PerChannelGroupQuant_channel_dim, 0);
        out->group_size = fid_fb_get_u32(table, FID_XNN_PerChannelGroupQuant_group_size, 0);
        return read_scales(r, value, (fid_fb_vector){NULL, 0}, fid_fb_get_u32(table, FID_XNN_PerChannelGroupQuant_scale_buffer_idx, 0),
                           fid_fb_get_u32(table, FID_XNN_PerChannelGroupQuant_num_scales, 0), 2, out);
    default: return bad_value(r, value, "is quantized in a way that this version does not know");
    }
}

/* What a datatype and the way it is quantized promise to each other. */
static bool quant_fits(const fid_xnn_value *v) {
    int64_t channels = v->quant.channel_dim < v->rank ? v->dims[v->quant.channel_dim] : -1;
    size_t scales = v->quant.scales.size / 4;
    switch (v->datatype) {
    case FID_XNN_FP32: case FID_XNN_FP16: case FID_XNN_BF16: return v->quant.kind == FID_XNN_NO_QUANT;
    case FID_XNN_QINT8: case FID_XNN_QUINT8: case FID_XNN_QINT32: return v->quant.kind == FID_XNN_TAG_PerTensorQuant;
    case FID_XNN_QCINT8: case FID_XNN_QCINT32: return v->quant.kind == FID_XNN_TAG_PerChannelQuant && channels >= 0 && (size_t)channels == scales;
    case FID_XNN_QCINT4: return v->quant.kind == FID_XNN_TAG_PerChannelQuant && v->rank == 2 && v->quant.channel_dim == 0 && (size_t)channels == scales;
    case FID_XNN_QBINT4: {
        bool fits = v->quant.kind == FID_XNN_TAG_PerChannelGroupQuant && v->rank == 2 && v->quant.channel_dim == 0 && v->quant.group_size > 0;
        int64_t groups = fits ? v->dims[1] / v->quant.group_size : 0;
        return fits && v->dims[1] % v->quant.group_size == 0 && (uint64_t)channels * (uint64_t)groups == v->quant.scales.size / 2;
    }
    case FID_XNN_QDINT8: return v->quant.kind == FID_XNN_TAG_PerTokenDynamicQuant && v->quant.nonbatch_dims <= v->rank;
    default: return false;
    }
}

static fid_status read_dims(const reader *r, uint32_t index, fid_fb_ref table, fid_xnn_value *out) {
    fid_fb_vector dims = fid_fb_get_vector(table, FID_XNN_TensorValue_dims);
    size_t numel;
    if (dims.count > FID_XNN_MAX_RANK || dims.count != fid_fb_get_u32(table, FID_XNN_TensorValue_num_dims, 0))
        return bad_value(r, index, "has more dims than six, or not those that it says");
    out->rank = (uint8_t)dims.count;
    for (uint32_t i = 0; i < dims.count; i++) out->dims[i] = (uint32_t)fid_fb_i32_at(dims, i);
    if (!fid_mul_sizes(out->dims, out->rank, &numel) || numel > SIZE_MAX / 16) return bad_value(r, index, "is too large");
    return FID_OK;
}

static fid_status read_value(const reader *r, uint32_t index, fid_fb_ref source, fid_xnn_value *out) {
    uint8_t tag = fid_fb_get_u8(source, FID_XNN_Value_xvalue_union_type, 0);
    fid_fb_ref table = fid_fb_get_table(source, FID_XNN_Value_xvalue_union), quantized = table;
    if (tag == FID_XNN_TAG_QuantizedTensorValue) table = fid_fb_get_table(quantized, FID_XNN_QuantizedTensorValue_tensor_value);
    if (!table.at || (tag != FID_XNN_TAG_TensorValue && tag != FID_XNN_TAG_QuantizedTensorValue)) return bad_value(r, index, "is of a kind that this version does not know");
    uint16_t datatype = fid_fb_get_u16(table, FID_XNN_TensorValue_datatype, 0);
    *out = (fid_xnn_value){.datatype = datatype > 255 ? 255 : (uint8_t)datatype, .dtype = FID_FLOAT32, .producer = FID_XNN_NO_ID,
                           .external = fid_fb_get_u32(table, FID_XNN_TensorValue_external_id, 0),
                           .flags = (uint8_t)(fid_fb_get_u32(table, FID_XNN_TensorValue_flags, 0) & (FID_XNN_VALUE_INPUT | FID_XNN_VALUE_OUTPUT))};
    FID_TRY(read_dims(r, index, table, out));
    if (tag == FID_XNN_TAG_QuantizedTensorValue) FID_TRY(read_quant(r, index, quantized, &out->quant));
    if (!quant_fits(out)) {
        return fid_fail(r->graph->sink, FID_NOT_SUPPORTED, "XNNPACK value %u has datatype %s (%u), which this version does not know with its quantization", index,
                        fid_xnn_datatype_text(out->datatype), datatype);
    }
    uint32_t constant = fid_fb_get_u32(table, FID_XNN_TensorValue_constant_buffer_idx, 0);
    if (constant == 0) return FID_OK;
    out->home = FID_XNN_HOME_CONSTANT;
    FID_TRY(constant_bytes(r, index, constant, &out->data));
    size_t bytes = fid_xnn_constant_bytes(out);
    bool empty = false;
    for (size_t i = 0; i < out->rank; i++) empty |= out->dims[i] == 0;
    if (out->flags || (bytes == 0 && !empty) || out->data.size < bytes) return bad_value(r, index, "has fewer bytes than its dims need, or is no constant");
    return FID_OK;
}

static fid_status map_id(reader *r, uint32_t index, fid_fb_ref source) {
    fid_fb_ref table = fid_fb_get_table(source, FID_XNN_Value_xvalue_union);
    if (fid_fb_get_u8(source, FID_XNN_Value_xvalue_union_type, 0) == FID_XNN_TAG_QuantizedTensorValue)
        table = fid_fb_get_table(table, FID_XNN_QuantizedTensorValue_tensor_value);
    uint32_t id = fid_fb_get_u32(table, FID_XNN_TensorValue_id_out, 0);
    if (id >= r->graph->value_count || r->ids[id] != FID_XNN_NO_ID) return bad_value(r, index, "has an id that is out of range or taken");
    r->ids[id] = index;
    return FID_OK;
}

/* More arguments than this nobody passes. */
#define ARGUMENT_LIMIT 65536u

/* Inputs and outputs: each has its own argument; some arguments may have none. */
static fid_status read_externals(reader *r) {
    fid_xnn_graph *g = r->graph;
    for (uint32_t i = 0; i < g->value_count; i++) {
        fid_xnn_value *v = &g->values[i];
        if (!v->flags) v->external = FID_XNN_NO_ID;
        else if (v->flags == (FID_XNN_VALUE_INPUT | FID_XNN_VALUE_OUTPUT)) return bad_value(r, i, "is input and output at once");
        else if (v->flags == FID_XNN_VALUE_INPUT) g->inputs[g->input_count++] = i;
        else g->outputs[g->output_count++] = i;
    }
    g->argument_count = fid_fb_get_u32(r->root, FID_XNN_Graph_num_externs, 0);
    if (g->argument_count > ARGUMENT_LIMIT) return fid_fail(g->sink, FID_INVALID_PROGRAM, "an XNNPACK blob of %u arguments", g->argument_count);
    uint8_t *taken = fid_xnn_persist(g, g->argument_count, 1);
    if (!taken) return FID_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < g->value_count; i++) {
        fid_xnn_value *v = &g->values[i];
        if (!v->flags) continue;
        if (v->external >= g->argument_count || taken[v->external]) return bad_value(r, i, "has an argument number that is out of range or taken");
        taken[v->external] = 1;
    }
    return FID_OK;
}

static fid_status read_values(reader *r) {
    fid_xnn_graph *g = r->graph;
    fid_fb_vector values = fid_fb_get_vector(r->root, FID_XNN_Graph_xvalues);
    g->value_count = g->value_room = values.count;
    g->values = fid_xnn_persist(g, values.count, sizeof *g->values);
    r->ids = fid_xnn_persist(g, values.count, sizeof *r->ids);
    g->inputs = fid_xnn_persist(g, values.count, sizeof *g->inputs);
    g->outputs = fid_xnn_persist(g, values.count, sizeof *g->outputs);
    if (!g->values || !r->ids || !g->inputs || !g->outputs) return FID_OUT_OF_MEMORY;
    memset(r->ids, 0xff, values.count * sizeof *r->ids);
    for (uint32_t i = 0; i < values.count; i++) {
        FID_TRY(read_value(r, i, fid_fb_table_at(values, i), &g->values[i]));
        FID_TRY(map_id(r, i, fid_fb_table_at(values, i)));
    }
    return read_externals(r);
}

uint32_t fid_xnn_value_create(fid_xnn_graph *graph, uint32_t like) {
    if (graph->value_count == graph->value_room) {
        uint32_t room = 2 * graph->value_room + 8; /* each value and node takes bytes of the blob: no overflow */
        fid_xnn_value *values = fid_xnn_persist(graph, room, sizeof *values);
        if (!values) return FID_XNN_NO_ID;
        memcpy(values, graph->values, graph->value_count * sizeof *values);
        graph->values = values;
        graph->value_room = room;
    }
    fid_xnn_value *v = &graph->values[graph->value_count];
    *v = (fid_xnn_value){.datatype = FID_XNN_FP32, .dtype = graph->values[like].dtype, .rank = graph->values[like].rank,
                         .external = FID_XNN_NO_ID, .producer = FID_XNN_NO_ID};
    memcpy(v->dims, graph->values[like].dims, sizeof v->dims);
    return graph->value_count++;
}

/* ---- Nodes ---- */

/* Slots of a node's values: `optional` bit i: input i may be left out. */
typedef struct node_slots {
    uint8_t input_count, inputs[5], optional, output_count, outputs[2], flags;
} node_slots;

#define UNARY_SLOTS(T) {1, {FID_XNN_##T##_input_id}, 0, 1, {FID_XNN_##T##_output_id}, FID_XNN_##T##_flags}
#define WEIGHT_SLOTS(T) {3, {FID_XNN_##T##_input1_id, FID_XNN_##T##_filter_id, FID_XNN_##T##_bias_id}, 4, 1, {FID_XNN_##T##_output_id}, FID_XNN_##T##_flags}
static const node_slots slots_Unary = UNARY_SLOTS(Unary), slots_Transpose = UNARY_SLOTS(Transpose), slots_Resize = UNARY_SLOTS(Resize),
                        slots_Pad = UNARY_SLOTS(Pad), slots_Pooling = UNARY_SLOTS(Pooling), slots_Reshape = UNARY_SLOTS(Reshape),
                        slots_LeakyReLU = UNARY_SLOTS(LeakyReLU), slots_ELU = UNARY_SLOTS(ELU), slots_Slice = UNARY_SLOTS(Slice),
                        slots_Conv = WEIGHT_SLOTS(Conv), slots_FullyConnected = WEIGHT_SLOTS(FullyConnected);
static const node_slots slots_Binary = {2, {FID_XNN_Binary_input1_id, FID_XNN_Binary_input2_id}, 0, 1, {FID_XNN_Binary_output_id}, FID_XNN_Binary_flags};
static const node_slots slots_ArgMaxPooling = {1, {FID_XNN_ArgMaxPooling_input_id}, 0, 2,
                                               {FID_XNN_ArgMaxPooling_output_value_id, FID_XNN_ArgMaxPooling_output_index_id}, FID_XNN_ArgMaxPooling_flags};
static const node_slots slots_Cat = {5, {FID_XNN_Cat_input1_id, FID_XNN_Cat_input2_id, FID_XNN_Cat_input3_id, FID_XNN_Cat_input4_id, FID_XNN_Cat_input5_id},
                                     0, 1, {FID_XNN_Cat_output_id}, FID_XNN_Cat_flags};
static const node_slots slots_Attention = {5, {FID_XNN_Attention_query_id, FID_XNN_Attention_key_id, FID_XNN_Attention_value_id,
                                               FID_XNN_Attention_scale_id, FID_XNN_Attention_mask_id}, 0, 1, {FID_XNN_Attention_output_id}, FID_XNN_Attention_flags};

static const node_slots *slots_of(uint8_t type) {
#define SLOTS(Name, shape) &slots_##shape,
    static const node_slots *const all[] = {NULL, FID_XNN_NODES(SLOTS)};
    return all[type];
}

static uint8_t input_count_of(uint8_t type, uint8_t slots) {
    return type == FID_XNN_Concatenate2 ? 2 : type == FID_XNN_Concatenate3 ? 3 : type == FID_XNN_Concatenate4 ? 4 : slots;
}

/* [low, high] as an activation. */
static fid_activation clamp_of(fid_fb_ref min_max) {
    float low = fid_fb_get_f32(min_max, FID_XNN_OutputMinMax_output_min, min_max.at ? 0 : -(float)INFINITY);
    float high = fid_fb_get_f32(min_max, FID_XNN_OutputMinMax_output_max, min_max.at ? 0 : (float)INFINITY);
    if (low == -(float)INFINITY && high == (float)INFINITY) return (fid_activation){FID_ACTIVATION_NONE, 0, 0};
    if (low == 0 && high == (float)INFINITY) return (fid_activation){FID_ACTIVATION_RELU, 0, 0};
    return (fid_activation){FID_ACTIVATION_CLAMP, (double)low, (double)high};
}

static fid_status read_ids(const reader *r, uint32_t index, const node_slots *slots, fid_xnn_node *node) {
    fid_xnn_graph *g = r->graph;
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t id = fid_fb_get_u32(node->table, slots->inputs[i], 0);
        if (id == FID_XNN_NO_ID && (slots->optional >> i & 1)) node->inputs[i] = FID_XNN_NO_ID;
        else if (id >= g->value_count || r->ids[id] == FID_XNN_NO_ID)
            return fid_xnn_fail_node(g, index, FID_INVALID_PROGRAM, "reads a value that does not exist");
        else {
            fid_xnn_value *v = &g->values[node->inputs[i] = r->ids[id]];
            if (v->producer == FID_XNN_NO_ID && v->home != FID_XNN_HOME_CONSTANT && !(v->flags & FID_XNN_VALUE_INPUT))
                return fid_xnn_fail_node(g, index, FID_INVALID_PROGRAM, "reads a value before it is made");
            v->uses++;
        }
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        uint32_t id = fid_fb_get_u32(node->table, slots->outputs[i], 0);
        if (id >= g->value_count || r->ids[id] == FID_XNN_NO_ID)
            return fid_xnn_fail_node(g, index, FID_INVALID_PROGRAM, "makes a value that does not exist");
        fid_xnn_value *v = &g->values[node->outputs[i] = r->ids[id]];
        if (v->producer != FID_XNN_NO_ID || v->home == FID_XNN_HOME_CONSTANT || (v->flags & FID_XNN_VALUE_INPUT))
            return fid_xnn_fail_node(g, index, FID_INVALID_PROGRAM, "makes a value that is there already");
        v->producer = index;
        if (v->flags & FID_XNN_VALUE_OUTPUT) v->uses++;
    }
    return FID_OK;
}

static fid_status read_node(const reader *r, uint32_t index, fid_fb_ref source) {
    fid_xnn_node *node = &r->graph->nodes[index];
    uint8_t type = fid_fb_get_u8(source, FID_XNN_Node_xnode_union_type, 0);
    node->table = fid_fb_get_table(source, FID_XNN_Node_xnode_union);
    if (type == FID_XNN_NO_NODE || type >= FID_XNN_TYPE_COUNT || !node->table.at)
        return fid_fail(r->graph->sink, FID_NOT_SUPPORTED, "XNNPACK node %u is of kind %u, which this version does not know", index, type);
    const node_slots *slots = slots_of(type);
    node->type = type;
    node->input_count = input_count_of(type, slots->input_count);
    node->output_count = slots->output_count;
    node->flags = fid_fb_get_u32(node->table, slots->flags, 0);
    node->activation = clamp_of(fid_fb_get_table(source, FID_XNN_Node_output_min_max));
    node->add = node->expand = node->project = FID_XNN_NO_ID;
    if (type == FID_XNN_ArgMaxPooling2d) {
        uint32_t id = fid_fb_get_u32(node->table, FID_XNN_ArgMaxPooling_output_index_id, 0);
        if (id < r->graph->value_count && r->ids[id] != FID_XNN_NO_ID) r->graph->values[r->ids[id]].dtype = FID_INT64;
    }
    return read_ids(r, index, slots, node);
}

static fid_status read_nodes(reader *r) {
    fid_xnn_graph *g = r->graph;
    fid_fb_vector nodes = fid_fb_get_vector(r->root, FID_XNN_Graph_xnodes);
    g->nodes = fid_xnn_persist(g, nodes.count, sizeof *g->nodes);
    if (!g->nodes) return FID_OUT_OF_MEMORY;
    g->node_count = nodes.count;
    for (uint32_t i = 0; i < nodes.count; i++) FID_TRY(read_node(r, i, fid_fb_table_at(nodes, i)));
    for (uint32_t i = 0; i < g->output_count; i++)
        if (g->values[g->outputs[i]].producer == FID_XNN_NO_ID) return bad_value(r, g->outputs[i], "is an output that no node makes");
    return FID_OK;
}

fid_status fid_xnn_read(fid_xnn_graph *graph) {
    reader r = {.graph = graph};
    FID_TRY(open_graph(graph, &r.parts, &r.root));
    r.constants = fid_fb_get_vector(r.root, FID_XNN_Graph_constant_data);
    FID_TRY(read_values(&r));
    return read_nodes(&r);
}
