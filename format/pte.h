/* Reading .pte programs (upstream's schema "ET12"): the file's header, its verified FlatBuffer, its segments.
 *
 * File: [FlatBuffer program, with the extended header "eh00" at byte 8] [segments]. Programs without extended header consist of
 * the FlatBuffer alone. Field names are those of upstream's schema; FID_PTE_Tensor_sizes is the slot of Tensor.sizes. */
#ifndef FID_FORMAT_PTE_H
#define FID_FORMAT_PTE_H

#include "format/flatbuffer.h"

#define FID_PTE_IDENTIFIER "ET12"
#define FID_PTE_HEADER_MAGIC "eh00"

enum {
    FID_PTE_HEADER_OFFSET = 8,
    FID_PTE_HEADER_LENGTH_SHORT = 0x18, /* magic, length, program_size, segment_base_offset */
    FID_PTE_HEADER_LENGTH = 0x20,       /* and segment_data_size */
    FID_PTE_HEAD_BYTES = 64,            /* the header lies within these first bytes */
};

/* Every table of the schema: F(table, field, kind, size, of), in slot order. */
#define FID_PTE_ContainerMetadata_FIELDS(F, T) F(T, encoded_inp_str, STRING, 0, NULL) F(T, encoded_out_str, STRING, 0, NULL)
#define FID_PTE_Null_FIELDS(F, T)
#define FID_PTE_AllocationDetails_FIELDS(F, T)                                                                         \
    F(T, memory_id, SCALAR, 4, NULL) F(T, memory_offset_low, SCALAR, 4, NULL) F(T, memory_offset_high, SCALAR, 4, NULL)
#define FID_PTE_ExtraTensorInfo_FIELDS(F, T)                                                                           \
    F(T, mutable_data_segments_idx, SCALAR, 8, NULL) F(T, fully_qualified_name, STRING, 0, NULL)                       \
    F(T, location, SCALAR, 1, NULL) F(T, device_type, SCALAR, 1, NULL) F(T, device_index, SCALAR, 1, NULL)
#define FID_PTE_Tensor_FIELDS(F, T)                                                                                    \
    F(T, scalar_type, SCALAR, 1, NULL) F(T, storage_offset, SCALAR, 4, NULL) F(T, sizes, VECTOR, 4, NULL)              \
    F(T, dim_order, VECTOR, 1, NULL) F(T, requires_grad, SCALAR, 1, NULL) F(T, data_buffer_idx, SCALAR, 4, NULL)       \
    F(T, allocation_info, TABLE, 0, &type_AllocationDetails) F(T, layout, SCALAR, 1, NULL)                             \
    F(T, shape_dynamism, SCALAR, 1, NULL) F(T, extra_tensor_info, TABLE, 0, &type_ExtraTensorInfo)
#define FID_PTE_Int_FIELDS(F, T) F(T, int_val, SCALAR, 8, NULL)
#define FID_PTE_Bool_FIELDS(F, T) F(T, bool_val, SCALAR, 1, NULL)
#define FID_PTE_Double_FIELDS(F, T) F(T, double_val, SCALAR, 8, NULL)
#define FID_PTE_String_FIELDS(F, T) F(T, string_val, STRING, 0, NULL)
#define FID_PTE_IntList_FIELDS(F, T) F(T, items, VECTOR, 8, NULL) /* value indices */
#define FID_PTE_DoubleList_FIELDS(F, T) F(T, items, VECTOR, 8, NULL)
#define FID_PTE_BoolList_FIELDS(F, T) F(T, items, VECTOR, 1, NULL)
#define FID_PTE_TensorList_FIELDS(F, T) F(T, items, VECTOR, 4, NULL)         /* value indices */
#define FID_PTE_OptionalTensorList_FIELDS(F, T) F(T, items, VECTOR, 4, NULL) /* value indices, -1: none */
#define FID_PTE_EValue_FIELDS(F, T) F(T, val_type, SCALAR, 1, NULL) F(T, val, UNION, 0, &union_KernelTypes)
#define FID_PTE_Operator_FIELDS(F, T) F(T, name, STRING, 0, NULL) F(T, overload, STRING, 0, NULL)
#define FID_PTE_KernelCall_FIELDS(F, T) F(T, op_index, SCALAR, 4, NULL) F(T, args, VECTOR, 4, NULL)
#define FID_PTE_DelegateCall_FIELDS(F, T) F(T, delegate_index, SCALAR, 4, NULL) F(T, args, VECTOR, 4, NULL)
#define FID_PTE_MoveCall_FIELDS(F, T) F(T, move_from, SCALAR, 4, NULL) F(T, move_to, SCALAR, 4, NULL)
#define FID_PTE_JumpFalseCall_FIELDS(F, T)                                                                             \
    F(T, cond_value_index, SCALAR, 4, NULL) F(T, destination_instruction, SCALAR, 4, NULL)
#define FID_PTE_FreeCall_FIELDS(F, T) F(T, value_index, SCALAR, 4, NULL)
#define FID_PTE_Instruction_FIELDS(F, T)                                                                               \
    F(T, instr_args_type, SCALAR, 1, NULL) F(T, instr_args, UNION, 0, &union_InstructionArguments)
#define FID_PTE_Frame_FIELDS(F, T)                                                                                     \
    F(T, filename, STRING, 0, NULL) F(T, lineno, SCALAR, 4, NULL) F(T, name, STRING, 0, NULL) F(T, context, STRING, 0, NULL)
#define FID_PTE_FrameList_FIELDS(F, T) F(T, items, TABLES, 0, &type_Frame)
#define FID_PTE_BackendDelegateDataReference_FIELDS(F, T) F(T, location, SCALAR, 1, NULL) F(T, index, SCALAR, 4, NULL)
#define FID_PTE_CompileSpec_FIELDS(F, T) F(T, key, STRING, 0, NULL) F(T, value, VECTOR, 1, NULL)
#define FID_PTE_BackendDelegate_FIELDS(F, T)                                                                           \
    F(T, id, STRING, 0, NULL) F(T, processed, TABLE, 0, &type_BackendDelegateDataReference)                            \
    F(T, compile_specs, TABLES, 0, &type_CompileSpec)
#define FID_PTE_Chain_FIELDS(F, T)                                                                                     \
    F(T, inputs, VECTOR, 4, NULL) F(T, outputs, VECTOR, 4, NULL) F(T, instructions, TABLES, 0, &type_Instruction)      \
    F(T, stacktrace, TABLES, 0, &type_FrameList)
#define FID_PTE_NonConstBufferDevice_FIELDS(F, T)                                                                      \
    F(T, buffer_idx, SCALAR, 4, NULL) F(T, device_type, SCALAR, 1, NULL) F(T, device_index, SCALAR, 1, NULL)
#define FID_PTE_ExecutionPlan_FIELDS(F, T)                                                                             \
    F(T, name, STRING, 0, NULL) F(T, container_meta_type, TABLE, 0, &type_ContainerMetadata)                           \
    F(T, values, TABLES, 0, &type_EValue) F(T, inputs, VECTOR, 4, NULL) F(T, outputs, VECTOR, 4, NULL)                 \
    F(T, chains, TABLES, 0, &type_Chain) F(T, operators, TABLES, 0, &type_Operator)                                    \
    F(T, delegates, TABLES, 0, &type_BackendDelegate) F(T, non_const_buffer_sizes, VECTOR, 8, NULL)                    \
    F(T, non_const_buffer_device, TABLES, 0, &type_NonConstBufferDevice)
#define FID_PTE_Buffer_FIELDS(F, T) F(T, storage, VECTOR, 1, NULL)
#define FID_PTE_BackendDelegateInlineData_FIELDS(F, T) F(T, data, VECTOR, 1, NULL)
#define FID_PTE_DataSegment_FIELDS(F, T) F(T, offset, SCALAR, 8, NULL) F(T, size, SCALAR, 8, NULL)
#define FID_PTE_SubsegmentOffsets_FIELDS(F, T) F(T, segment_index, SCALAR, 4, NULL) F(T, offsets, VECTOR, 8, NULL)
#define FID_PTE_NamedData_FIELDS(F, T) F(T, key, STRING, 0, NULL) F(T, segment_index, SCALAR, 4, NULL)
#define FID_PTE_Program_FIELDS(F, T)                                                                                   \
    F(T, version, SCALAR, 4, NULL) F(T, execution_plan, TABLES, 0, &type_ExecutionPlan)                                \
    F(T, constant_buffer, TABLES, 0, &type_Buffer)                                                                     \
    F(T, backend_delegate_data, TABLES, 0, &type_BackendDelegateInlineData)                                            \
    F(T, segments, TABLES, 0, &type_DataSegment) F(T, constant_segment, TABLE, 0, &type_SubsegmentOffsets)             \
    F(T, mutable_data_segments, TABLES, 0, &type_SubsegmentOffsets) F(T, named_data, TABLES, 0, &type_NamedData)

/* Members of the unions, in tag order from 1. */
#define FID_PTE_KERNEL_TYPES(X)                                                                                        \
    X(Null) X(Int) X(Bool) X(Double) X(Tensor) X(String) X(IntList) X(DoubleList) X(BoolList) X(TensorList) X(OptionalTensorList)
#define FID_PTE_INSTRUCTION_ARGUMENTS(X) X(KernelCall) X(DelegateCall) X(MoveCall) X(JumpFalseCall) X(FreeCall)

/* Tables, each after those that it mentions; the unions stand between. */
#define FID_PTE_TABLES_BEFORE_UNIONS(X)                                                                                \
    X(ContainerMetadata) X(AllocationDetails) X(ExtraTensorInfo) FID_PTE_KERNEL_TYPES(X) X(Operator)                   \
    FID_PTE_INSTRUCTION_ARGUMENTS(X)
#define FID_PTE_TABLES_AFTER_UNIONS(X)                                                                                 \
    X(EValue) X(Instruction) X(Frame) X(FrameList) X(BackendDelegateDataReference) X(CompileSpec) X(BackendDelegate)   \
    X(Chain) X(NonConstBufferDevice) X(ExecutionPlan) X(Buffer) X(BackendDelegateInlineData) X(DataSegment)            \
    X(SubsegmentOffsets) X(NamedData) X(Program)

#define FID_PTE_SLOT(T, field, kind, size, of) FID_PTE_##T##_##field,
#define FID_PTE_SLOTS(T) enum { FID_PTE_##T##_FIELDS(FID_PTE_SLOT, T) FID_PTE_##T##_SLOT_COUNT };
FID_PTE_TABLES_BEFORE_UNIONS(FID_PTE_SLOTS)
FID_PTE_TABLES_AFTER_UNIONS(FID_PTE_SLOTS)
#undef FID_PTE_SLOTS
#undef FID_PTE_SLOT

#define FID_PTE_TAG(T) FID_PTE_TAG_##T,
enum { FID_PTE_KERNEL_TYPES_NONE, FID_PTE_KERNEL_TYPES(FID_PTE_TAG) };
enum { FID_PTE_INSTRUCTION_ARGUMENTS_NONE, FID_PTE_INSTRUCTION_ARGUMENTS(FID_PTE_TAG) };
#undef FID_PTE_TAG

enum { FID_PTE_LOCATION_INLINE = 0, FID_PTE_LOCATION_SEGMENT = 1 };        /* DataLocation */
enum { FID_PTE_TENSOR_IN_SEGMENT = 0, FID_PTE_TENSOR_EXTERNAL = 1 };       /* TensorDataLocation */

/* What stands at the head of the file. */
typedef struct fid_pte_header {
    uint64_t program_size; /* bytes of the FlatBuffer, from the start of the file */
    uint64_t segment_base; /* file offset of the first segment; 0: none */
    uint64_t segment_size; /* bytes of all segments; 0: none, or an old writer that did not say */
} fid_pte_header;

/* Reads identifier and extended header from the first bytes of a file (FID_PTE_HEAD_BYTES, or all if it is shorter) and
 * checks them against the file's size. */
fid_status fid_pte_read_header(const fid_sink *sink, fid_span head, uint64_t file_size, fid_pte_header *out_header);

typedef struct fid_pte {
    fid_span buffer;  /* the FlatBuffer */
    fid_fb_ref root;  /* Program */
    fid_pte_header header;
    uint64_t file_size;
} fid_pte;

/* Verifies the FlatBuffer, and that all segments, and every index of one, lie in the file. `buffer` is aligned to 16 and
 * has header->program_size bytes. */
fid_status fid_pte_open(const fid_sink *sink, fid_span buffer, const fid_pte_header *header, uint64_t file_size, fid_pte *out_pte);

/* A segment as a range of the file. The index must be below the number of segments, as all indices are that
 * fid_pte_open has checked (constant_segment, mutable_data_segments, named_data). */
typedef struct fid_pte_range {
    uint64_t offset, size;
} fid_pte_range;
fid_pte_range fid_pte_segment(const fid_pte *pte, uint32_t index);
uint32_t fid_pte_segment_count(const fid_pte *pte);

#endif
