/* The tables of an XNNPACK delegate blob, as upstream's partitioner writes them (identifier "XN01").
 *
 * Blob: header "XH00" | FlatBuffer with root XNNGraph | constants. A blob without the header is the FlatBuffer alone. Field names are
 * those of the schema; FID_XNN_TensorValue_dims is the slot of XNNTensorValue.dims. */
#ifndef FID_BACKENDS_XNNPACK_SCHEMA_H
#define FID_BACKENDS_XNNPACK_SCHEMA_H

#include "format/flatbuffer.h"

#define FID_XNN_IDENTIFIER "XN01"
#define FID_XNN_HEADER_MAGIC "XH00"

/* Header: four zero bytes, magic, then little-endian numbers at these bytes. */
enum {
    FID_XNN_HEADER_BYTES = 30,
    FID_XNN_HEADER_LENGTH = 8,           /* 2 bytes: of the header */
    FID_XNN_HEADER_GRAPH_OFFSET = 10,    /* 4 bytes each: */
    FID_XNN_HEADER_GRAPH_SIZE = 14,
    FID_XNN_HEADER_CONSTANT_OFFSET = 18,
    FID_XNN_HEADER_CONSTANT_SIZE = 22,   /* 8 bytes */
    FID_XNN_CONSTANT_ALIGNMENT = 16,
};

#define FID_XNN_NO_ID UINT32_MAX            /* a value that is left out; a value without external number */
#define FID_XNN_NO_OFFSET UINT64_MAX        /* the constant lies in the program's named data */
#define FID_XNN_MAX_RANK 6
enum { FID_XNN_VALUE_INPUT = 1, FID_XNN_VALUE_OUTPUT = 2 }; /* flags of a value */
enum {                                                      /* flags of a node */
    FID_XNN_FLAG_TRANSPOSE_B = 1,    /* of a weight: (in, out) instead of (out, in) */
    FID_XNN_FLAG_TRANSPOSE_A = 2,
    FID_XNN_FLAG_LEGACY_RESIZE = 4,
    FID_XNN_FLAG_ALIGN_CORNERS = 8,
    FID_XNN_FLAG_KEEP_DIMS = 64,
};

/* NAME, code, text, bytes of an element (0: less than one, or no element by itself) */
#define FID_XNN_DATATYPES(X)                                                                                           \
    X(FP32, 1, "fp32", 4) X(FP16, 2, "fp16", 2) X(QINT8, 3, "qint8", 1) X(QUINT8, 4, "quint8", 1) X(QINT32, 5, "qint32", 4)   \
    X(QCINT8, 6, "qcint8", 1) X(QCINT32, 7, "qcint32", 4) X(QCINT4, 8, "qcint4", 0) X(QDINT8, 9, "qdint8", 1)          \
    X(QBINT4, 10, "qbint4", 0) X(QPINT8, 11, "qpint8", 1) X(INT32, 12, "int32", 4) X(PFP32, 13, "pfp32", 4) X(BF16, 14, "bf16", 2)

typedef enum fid_xnn_datatype {
#define FID_XNN_ENUM(NAME, code, text, bytes) FID_XNN_##NAME = code,
    FID_XNN_DATATYPES(FID_XNN_ENUM)
#undef FID_XNN_ENUM
} fid_xnn_datatype;

/* Every kind of node in tag order from 1: X(Name, shape of its table) */
#define FID_XNN_NODES(X)                                                                                               \
    X(Add, Binary) X(FullyConnected, FullyConnected) X(Softmax, Unary) X(Sigmoid, Unary) X(StaticTranspose, Transpose) \
    X(Clamp, Unary) X(Conv2d, Conv) X(Div, Binary) X(StaticResizeBilinear2D, Resize) X(StaticConstantPad, Pad)         \
    X(AvgPooling2d, Pooling) X(Minimum, Binary) X(DepthwiseConv2d, Conv) X(MaxPooling2d, Pooling) X(Multiply, Binary)  \
    X(Subtract, Binary) X(Floor, Unary) X(Convert, Unary) X(GlobalAvgPooling2d, Unary) X(StaticReshape, Reshape)       \
    X(ArgMaxPooling2d, ArgMaxPooling) X(SquareRoot, Unary) X(Ceiling, Unary) X(Hardswish, Unary)                       \
    X(LeakyReLU, LeakyReLU) X(Maximum, Binary) X(Negate, Unary) X(Square, Unary) X(ELU, ELU) X(Abs, Unary)             \
    X(PReLU, Binary) X(Concatenate2, Cat) X(Concatenate3, Cat) X(Concatenate4, Cat) X(StaticSlice, Slice)              \
    X(ScaledDotProductAttention, Attention) X(BatchMatrixMultiply, Binary) X(Concatenate5, Cat)                        \
    X(ConvTranspose2d, Conv) X(ReciprocalSquareRoot, Unary) X(Log, Unary) X(Gelu, Unary) X(Tanh, Unary) X(Exp, Unary)  \
    X(Sin, Unary) X(Copy, Unary) X(Cos, Unary)

typedef enum fid_xnn_type {
    FID_XNN_NO_NODE,
#define FID_XNN_ENUM(Name, shape) FID_XNN_##Name,
    FID_XNN_NODES(FID_XNN_ENUM)
#undef FID_XNN_ENUM
    FID_XNN_TYPE_COUNT
} fid_xnn_type;

/* Tables of nodes: F(table, field, kind, size, of), in slot order. */
#define FID_XNN_U32(F, T, field) F(T, field, SCALAR, 4, NULL)
#define FID_XNN_Unary_FIELDS(F, T) FID_XNN_U32(F, T, input_id) FID_XNN_U32(F, T, output_id) FID_XNN_U32(F, T, flags)
#define FID_XNN_Binary_FIELDS(F, T)                                                                                    \
    FID_XNN_U32(F, T, input1_id) FID_XNN_U32(F, T, input2_id) FID_XNN_U32(F, T, output_id) FID_XNN_U32(F, T, flags)
#define FID_XNN_FullyConnected_FIELDS(F, T)                                                                            \
    FID_XNN_U32(F, T, input1_id) FID_XNN_U32(F, T, filter_id) FID_XNN_U32(F, T, bias_id) FID_XNN_U32(F, T, output_id) FID_XNN_U32(F, T, flags)
#define FID_XNN_Transpose_FIELDS(F, T)                                                                                 \
    FID_XNN_U32(F, T, num_dims) F(T, perm, VECTOR, 4, NULL) FID_XNN_U32(F, T, input_id) FID_XNN_U32(F, T, output_id) FID_XNN_U32(F, T, flags)
#define FID_XNN_Resize_FIELDS(F, T)                                                                                    \
    FID_XNN_U32(F, T, new_height) FID_XNN_U32(F, T, new_width) FID_XNN_U32(F, T, input_id) FID_XNN_U32(F, T, output_id) FID_XNN_U32(F, T, flags)
#define FID_XNN_Pad_FIELDS(F, T)                                                                                       \
    F(T, pre_paddings, VECTOR, 4, NULL) F(T, post_paddings, VECTOR, 4, NULL) F(T, padding_value, SCALAR, 4, NULL)      \
    FID_XNN_U32(F, T, input_id) FID_XNN_U32(F, T, output_id) FID_XNN_U32(F, T, flags)
#define FID_XNN_Cat_FIELDS(F, T)                                                                                       \
    FID_XNN_U32(F, T, axis) FID_XNN_U32(F, T, input1_id) FID_XNN_U32(F, T, input2_id) FID_XNN_U32(F, T, input3_id)     \
    FID_XNN_U32(F, T, input4_id) FID_XNN_U32(F, T, output_id) FID_XNN_U32(F, T, flags) FID_XNN_U32(F, T, input5_id)
#define FID_XNN_ELU_FIELDS(F, T) F(T, alpha, SCALAR, 4, NULL) FID_XNN_Unary_FIELDS(F, T)
#define FID_XNN_LeakyReLU_FIELDS(F, T) F(T, negative_slope, SCALAR, 4, NULL) FID_XNN_Unary_FIELDS(F, T)
#define FID_XNN_Conv_FIELDS(F, T)                                                                                      \
    FID_XNN_U32(F, T, padding_top) FID_XNN_U32(F, T, padding_right) FID_XNN_U32(F, T, padding_bottom) FID_XNN_U32(F, T, padding_left) \
    FID_XNN_U32(F, T, kernel_height) FID_XNN_U32(F, T, kernel_width) FID_XNN_U32(F, T, subsampling_height)             \
    FID_XNN_U32(F, T, subsampling_width) FID_XNN_U32(F, T, dilation_height) FID_XNN_U32(F, T, dilation_width)          \
    FID_XNN_U32(F, T, group_input_channels) FID_XNN_U32(F, T, group_output_channels) FID_XNN_U32(F, T, groups)         \
    FID_XNN_U32(F, T, adjustment_height) FID_XNN_U32(F, T, adjustment_width) FID_XNN_U32(F, T, input1_id)              \
    FID_XNN_U32(F, T, filter_id) FID_XNN_U32(F, T, bias_id) FID_XNN_U32(F, T, output_id) FID_XNN_U32(F, T, flags)
#define FID_XNN_Pooling_FIELDS(F, T)                                                                                   \
    FID_XNN_U32(F, T, padding_top) FID_XNN_U32(F, T, padding_right) FID_XNN_U32(F, T, padding_bottom) FID_XNN_U32(F, T, padding_left) \
    FID_XNN_U32(F, T, pooling_height) FID_XNN_U32(F, T, pooling_width) FID_XNN_U32(F, T, stride_height)                \
    FID_XNN_U32(F, T, stride_width) FID_XNN_U32(F, T, dilation_height) FID_XNN_U32(F, T, dilation_width)               \
    FID_XNN_U32(F, T, input_id) FID_XNN_U32(F, T, output_id) FID_XNN_U32(F, T, flags)
#define FID_XNN_ArgMaxPooling_FIELDS(F, T)                                                                             \
    FID_XNN_U32(F, T, padding_top) FID_XNN_U32(F, T, padding_right) FID_XNN_U32(F, T, padding_bottom) FID_XNN_U32(F, T, padding_left) \
    FID_XNN_U32(F, T, pooling_height) FID_XNN_U32(F, T, pooling_width) FID_XNN_U32(F, T, input_id)                     \
    FID_XNN_U32(F, T, output_value_id) FID_XNN_U32(F, T, output_index_id) FID_XNN_U32(F, T, flags)
#define FID_XNN_Reshape_FIELDS(F, T)                                                                                   \
    FID_XNN_U32(F, T, num_dims) F(T, new_shape, VECTOR, 4, NULL) FID_XNN_U32(F, T, input_id) FID_XNN_U32(F, T, output_id) FID_XNN_U32(F, T, flags)
#define FID_XNN_Slice_FIELDS(F, T)                                                                                     \
    FID_XNN_U32(F, T, num_dims) F(T, offsets, VECTOR, 4, NULL) F(T, sizes, VECTOR, 4, NULL) FID_XNN_U32(F, T, input_id) \
    FID_XNN_U32(F, T, output_id) FID_XNN_U32(F, T, flags)
#define FID_XNN_Attention_FIELDS(F, T)                                                                                 \
    FID_XNN_U32(F, T, query_id) FID_XNN_U32(F, T, key_id) FID_XNN_U32(F, T, value_id) FID_XNN_U32(F, T, scale_id)      \
    FID_XNN_U32(F, T, mask_id) FID_XNN_U32(F, T, output_id) FID_XNN_U32(F, T, flags)

/* The other tables. */
#define FID_XNN_PerChannelGroupQuant_FIELDS(F, T)                                                                      \
    F(T, scale, VECTOR, 4, NULL) F(T, channel_dim, SCALAR, 4, NULL) F(T, group_size, SCALAR, 4, NULL)                  \
    F(T, scale_bf16, VECTOR, 2, NULL) F(T, scale_buffer_idx, SCALAR, 4, NULL) F(T, num_scales, SCALAR, 4, NULL)
#define FID_XNN_PerChannelQuant_FIELDS(F, T)                                                                           \
    F(T, scale, VECTOR, 4, NULL) F(T, channel_dim, SCALAR, 4, NULL) F(T, scale_buffer_idx, SCALAR, 4, NULL) F(T, num_scales, SCALAR, 4, NULL)
#define FID_XNN_PerTokenDynamicQuant_FIELDS(F, T) F(T, num_nonbatch_dims, SCALAR, 4, NULL)
#define FID_XNN_PerTensorQuant_FIELDS(F, T) F(T, scale, SCALAR, 4, NULL) F(T, zero_point, SCALAR, 4, NULL)
#define FID_XNN_TensorValue_FIELDS(F, T)                                                                               \
    F(T, datatype, SCALAR, 2, NULL) F(T, num_dims, SCALAR, 4, NULL) F(T, dims, VECTOR, 4, NULL)                        \
    F(T, constant_buffer_idx, SCALAR, 4, NULL) F(T, external_id, SCALAR, 4, NULL) F(T, flags, SCALAR, 4, NULL) F(T, id_out, SCALAR, 4, NULL)
#define FID_XNN_QuantizedTensorValue_FIELDS(F, T)                                                                      \
    F(T, tensor_value, TABLE, 0, &type_TensorValue) F(T, quant_params_type, SCALAR, 1, NULL) F(T, quant_params, UNION, 0, &union_QuantParams)
#define FID_XNN_OutputMinMax_FIELDS(F, T) F(T, output_min, SCALAR, 4, NULL) F(T, output_max, SCALAR, 4, NULL)
#define FID_XNN_Node_FIELDS(F, T)                                                                                      \
    F(T, xnode_union_type, SCALAR, 1, NULL) F(T, xnode_union, UNION, 0, &union_Node) F(T, debug_handle, SCALAR, 4, NULL) \
    F(T, output_min_max, TABLE, 0, &type_OutputMinMax)
#define FID_XNN_Value_FIELDS(F, T) F(T, xvalue_union_type, SCALAR, 1, NULL) F(T, xvalue_union, UNION, 0, &union_Value)
#define FID_XNN_ConstantDataOffset_FIELDS(F, T) F(T, offset, SCALAR, 8, NULL) F(T, size, SCALAR, 8, NULL) F(T, named_key, STRING, 0, NULL)
#define FID_XNN_Buffer_FIELDS(F, T) F(T, storage, VECTOR, 1, NULL)
#define FID_XNN_Graph_FIELDS(F, T)                                                                                     \
    F(T, version, STRING, 0, NULL) F(T, xnodes, TABLES, 0, &type_Node) F(T, xvalues, TABLES, 0, &type_Value)           \
    F(T, num_externs, SCALAR, 4, NULL) F(T, input_ids, VECTOR, 4, NULL) F(T, output_ids, VECTOR, 4, NULL)              \
    F(T, constant_buffer, TABLES, 0, &type_Buffer) F(T, mem_buffer_sizes, VECTOR, 4, NULL)                             \
    F(T, constant_data, TABLES, 0, &type_ConstantDataOffset)

#define FID_XNN_NODE_TABLES(X)                                                                                         \
    X(Unary) X(Binary) X(FullyConnected) X(Transpose) X(Conv) X(Resize) X(Pad) X(Pooling) X(Reshape) X(ArgMaxPooling) X(LeakyReLU) \
    X(ELU) X(Cat) X(Slice) X(Attention)
#define FID_XNN_QUANT_PARAMS(X) X(PerChannelQuant) X(PerTensorQuant) X(PerTokenDynamicQuant) X(PerChannelGroupQuant)
#define FID_XNN_OTHER_TABLES(X) X(OutputMinMax) X(Node) X(Value) X(ConstantDataOffset) X(Buffer) X(Graph)

#define FID_XNN_SLOT(T, field, kind, size, of) FID_XNN_##T##_##field,
#define FID_XNN_SLOTS(T) enum { FID_XNN_##T##_FIELDS(FID_XNN_SLOT, T) FID_XNN_##T##_SLOT_COUNT };
FID_XNN_NODE_TABLES(FID_XNN_SLOTS)
FID_XNN_QUANT_PARAMS(FID_XNN_SLOTS)
FID_XNN_SLOTS(TensorValue)
FID_XNN_SLOTS(QuantizedTensorValue)
FID_XNN_OTHER_TABLES(FID_XNN_SLOTS)
#undef FID_XNN_SLOTS
#undef FID_XNN_SLOT

#define FID_XNN_TAG(T) FID_XNN_TAG_##T,
enum { FID_XNN_NO_QUANT, FID_XNN_QUANT_PARAMS(FID_XNN_TAG) };
#undef FID_XNN_TAG
enum { FID_XNN_TAG_TensorValue = 1, FID_XNN_TAG_QuantizedTensorValue = 2 };

#endif
