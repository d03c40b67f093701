/* Writing bundled programs. Field numbers are positions in upstream's schema, as in bpte.c. */
#include "format/bpte.h"

#include "format/flatbuffer_build.h"

typedef struct writer {
    const fid_sink *sink;
    fid_builder builder;
    fid_arena arena; /* reference arrays */
} writer;

static fid_build_ref build_tensor(writer *w, const fid_tensor *tensor) {
    fid_builder *b = &w->builder;
    int32_t sizes[FID_MAX_RANK];
    for (size_t i = 0; i < tensor->rank; i++) {
        if (tensor->sizes[i] > INT32_MAX) b->status = FID_NOT_SUPPORTED;
        sizes[i] = (int32_t)tensor->sizes[i];
    }
    fid_build_ref data = fid_build_vector_aligned(b, tensor->data, fid_tensor_bytes(tensor), 1, 16);
    fid_build_ref order = fid_build_vector(b, tensor->dim_order, tensor->rank, 1), shape = fid_build_vector(b, sizes, tensor->rank, 4);
    fid_build_table_begin(b);
    fid_build_u8(b, 0, tensor->dtype, 0);
    fid_build_field(b, 1, shape);
    fid_build_field(b, 2, data);
    fid_build_field(b, 3, order);
    return fid_build_table_end(b);
}

static fid_build_ref build_number(writer *w, const fid_value *value) {
    fid_build_table_begin(&w->builder);
    if (value->tag == FID_TAG_INT) fid_build_i64(&w->builder, 0, value->as.integer, 0);
    else if (value->tag == FID_TAG_BOOL) fid_build_u8(&w->builder, 0, value->as.boolean, 0);
    else fid_build_double(&w->builder, 0, value->as.number);
    return fid_build_table_end(&w->builder);
}

/* The union's tag; 0 stands for None. -1: the format has none for this kind of value. */
static int tag_of(const fid_value *value) {
    switch (value->tag) {
    case FID_TAG_NONE: return 0;
    case FID_TAG_TENSOR: return 1;
    case FID_TAG_INT: return 2;
    case FID_TAG_BOOL: return 3;
    case FID_TAG_DOUBLE: return 4;
    default: return -1;
    }
}

static fid_build_ref build_value(writer *w, const fid_value *value) {
    int tag = tag_of(value);
    fid_build_ref member = tag == 0 ? 0 : tag == 1 ? build_tensor(w, value->as.tensor) : build_number(w, value);
    fid_build_table_begin(&w->builder);
    fid_build_union(&w->builder, 0, (uint8_t)tag, member);
    return fid_build_table_end(&w->builder);
}

static fid_build_ref build_values(writer *w, const fid_value *values, size_t count) {
    fid_build_ref *refs = fid_build_ref_array(&w->builder, &w->arena, count);
    for (size_t i = 0; refs && i < count; i++) refs[i] = build_value(w, &values[i]);
    return refs ? fid_build_ref_vector(&w->builder, refs, count) : 0;
}

static fid_build_ref build_suite(writer *w, const fid_bpte_out_case *one) {
    fid_builder *b = &w->builder;
    fid_build_ref outputs = build_values(w, one->outputs, one->output_count), inputs = build_values(w, one->inputs, one->input_count);
    fid_build_table_begin(b);
    fid_build_field(b, 0, inputs);
    fid_build_field(b, 1, outputs);
    fid_build_ref table = fid_build_table_end(b), cases = fid_build_ref_vector(b, &table, 1), method = fid_build_string(b, one->method);
    fid_build_table_begin(b);
    fid_build_field(b, 0, method);
    fid_build_field(b, 1, cases);
    return fid_build_table_end(b);
}

/* Cases in the order of the names: the `rank`-th of them. */
static const fid_bpte_out_case *case_of_rank(const fid_bpte_out_case *cases, size_t count, size_t rank) {
    for (size_t i = 0; i < count; i++) {
        size_t before = 0;
        for (size_t k = 0; k < count; k++) {
            int order = strcmp(cases[k].method, cases[i].method);
            before += order < 0 || (order == 0 && k < i);
        }
        if (before == rank) return &cases[i];
    }
    return NULL;
}

static fid_build_ref build_bundle(writer *w, fid_span program, const fid_bpte_out_case *cases, size_t count) {
    fid_builder *b = &w->builder;
    fid_build_ref bytes = fid_build_vector_aligned(b, program.data, program.size, 1, FID_BPTE_PROGRAM_ALIGNMENT), *refs = fid_build_ref_array(&w->builder, &w->arena, count);
    for (size_t i = 0; refs && i < count; i++) refs[i] = build_suite(w, case_of_rank(cases, count, i));
    fid_build_ref suites = refs ? fid_build_ref_vector(b, refs, count) : 0;
    fid_build_table_begin(b);
    fid_build_u32(b, 0, FID_BPTE_VERSION, 0);
    fid_build_field(b, 1, suites);
    fid_build_field(b, 2, bytes);
    return fid_build_table_end(b);
}

static fid_status check_kinds(const fid_sink *sink, const fid_bpte_out_case *one) {
    for (size_t i = 0; i < one->input_count + one->output_count; i++) {
        bool input = i < one->input_count;
        size_t index = input ? i : i - one->input_count;
        if (tag_of(input ? &one->inputs[index] : &one->outputs[index]) >= 0) continue;
        return fid_fail(sink, FID_NOT_SUPPORTED, "%s %zu of method \"%s\" is a text or a list: a bundled program holds tensors and numbers only",
                        input ? "input" : "output", index, one->method);
    }
    return FID_OK;
}

/* The builder's bytes, in memory of exactly their size. */
static fid_status finish(writer *w, fid_build_ref root, fid_allocator allocator, uint8_t **out_data, size_t *out_size) {
    uint8_t *data;
    size_t size;
    FID_TRY(fid_build_finish(&w->builder, root, FID_BPTE_IDENTIFIER, 0, w->sink, &data, &size));
    uint8_t *copy = fid_allocate(allocator, size);
    if (!copy) return fid_fail(w->sink, FID_OUT_OF_MEMORY, "no memory for a bundle of %zu bytes", size);
    memcpy(copy, data, size);
    *out_data = copy;
    *out_size = size;
    return FID_OK;
}

fid_status fid_bpte_write(fid_allocator allocator, const fid_sink *sink, fid_span program, const fid_bpte_out_case *cases, size_t case_count,
                          uint8_t **out_data, size_t *out_size) {
    writer w = {.sink = sink};
    for (size_t i = 0; i < case_count; i++) FID_TRY(check_kinds(sink, &cases[i]));
    fid_build_init(&w.builder, allocator);
    fid_arena_init(&w.arena, allocator, 4096);
    fid_status status = finish(&w, build_bundle(&w, program, cases, case_count), allocator, out_data, out_size);
    fid_arena_deinit(&w.arena);
    fid_build_deinit(&w.builder);
    return status;
}
