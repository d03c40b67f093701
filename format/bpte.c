/* Reading bundled programs: the tables of the schema for the verifier, then the checks that the verifier cannot make. */
#include "format/bpte.h"

#include "base/checked.h"

/* Slots, in the order of the schema; a union takes two. */
enum { BUNDLE_VERSION, BUNDLE_SUITES, BUNDLE_PROGRAM };
enum { SUITE_METHOD, SUITE_CASES };
enum { CASE_INPUTS, CASE_OUTPUTS };
enum { VALUE_TAG, VALUE_MEMBER };
enum { TENSOR_DTYPE, TENSOR_SIZES, TENSOR_DATA, TENSOR_DIM_ORDER };
enum { TAG_NONE, TAG_TENSOR, TAG_INT, TAG_BOOL, TAG_DOUBLE };

static const fid_fb_field tensor_fields[] = {{FID_FB_SCALAR, 1, NULL}, {FID_FB_VECTOR, 4, NULL}, {FID_FB_VECTOR, 1, NULL}, {FID_FB_VECTOR, 1, NULL}};
static const fid_fb_field wide_fields[] = {{FID_FB_SCALAR, 8, NULL}}, narrow_fields[] = {{FID_FB_SCALAR, 1, NULL}};
static const fid_fb_type tensor_type = {"Tensor", tensor_fields, 4}, int_type = {"Int", wide_fields, 1}, bool_type = {"Bool", narrow_fields, 1},
                         double_type = {"Double", wide_fields, 1};
static const fid_fb_type *const members[] = {&tensor_type, &int_type, &bool_type, &double_type};
static const fid_fb_union value_union = {members, 4};
static const fid_fb_field value_fields[] = {{FID_FB_SCALAR, 1, NULL}, {FID_FB_UNION, 0, &value_union}};
static const fid_fb_type value_type = {"Value", value_fields, 2};
static const fid_fb_field case_fields[] = {{FID_FB_TABLES, 0, &value_type}, {FID_FB_TABLES, 0, &value_type}};
static const fid_fb_type case_type = {"BundledMethodTestCase", case_fields, 2};
static const fid_fb_field suite_fields[] = {{FID_FB_STRING, 0, NULL}, {FID_FB_TABLES, 0, &case_type}};
static const fid_fb_type suite_type = {"BundledMethodTestSuite", suite_fields, 2};
static const fid_fb_field bundle_fields[] = {{FID_FB_SCALAR, 4, NULL}, {FID_FB_TABLES, 0, &suite_type}, {FID_FB_VECTOR, 1, NULL}};
static const fid_fb_type bundle_type = {"BundledProgram", bundle_fields, 3};

bool fid_bpte_recognize(fid_span file) { return file.size >= 8 && memcmp(file.data + 4, FID_BPTE_IDENTIFIER, 4) == 0; }

/* ---- Checks ---- */

static const char *tensor_fault(fid_fb_ref tensor) {
    fid_fb_vector sizes = fid_fb_get_vector(tensor, TENSOR_SIZES), order = fid_fb_get_vector(tensor, TENSOR_DIM_ORDER);
    uint8_t dtype = fid_fb_get_u8(tensor, TENSOR_DTYPE, 0);
    size_t bytes = fid_dtype_size((fid_dtype)dtype);
    if (!bytes) return "has an unknown dtype";
    if (sizes.count > FID_MAX_RANK) return "has too many dimensions";
    if (order.count != sizes.count || !fid_dim_order_valid(order.items, order.count)) return "has a dim order that fits no layout";
    for (uint32_t i = 0; i < sizes.count; i++) {
        int32_t size = fid_fb_i32_at(sizes, i);
        if (size < 0) return "has a negative size";
        if (!fid_mul_size(bytes, (size_t)size, &bytes)) return "is larger than memory";
    }
    return fid_fb_get_vector(tensor, TENSOR_DATA).count < bytes ? "has fewer bytes than its sizes say" : NULL;
}

static const char *value_fault(fid_fb_ref value) {
    uint8_t tag = fid_fb_get_u8(value, VALUE_TAG, TAG_NONE);
    if (tag > TAG_DOUBLE) return "is of an unknown kind";
    if (tag != TAG_NONE && !fid_fb_get_table(value, VALUE_MEMBER).at) return "is missing";
    return tag == TAG_TENSOR ? tensor_fault(fid_fb_get_table(value, VALUE_MEMBER)) : NULL;
}

static fid_status check_values(const fid_sink *sink, const char *method, uint32_t index, fid_fb_vector values, const char *what) {
    for (uint32_t i = 0; i < values.count; i++) {
        const char *fault = value_fault(fid_fb_table_at(values, i));
        if (fault) return fid_fail(sink, FID_INVALID_PROGRAM, "the bundle's %s %u in case %u of method \"%s\" %s", what, i, index, method, fault);
    }
    return FID_OK;
}

static fid_status check_suite(const fid_sink *sink, fid_fb_ref suite) {
    const char *method = fid_fb_get_string(suite, SUITE_METHOD);
    if (!method) return fid_fail(sink, FID_INVALID_PROGRAM, "a list of cases in the bundle names no method");
    fid_fb_vector cases = fid_fb_get_vector(suite, SUITE_CASES);
    for (uint32_t i = 0; i < cases.count; i++) {
        fid_fb_ref one = fid_fb_table_at(cases, i);
        FID_TRY(check_values(sink, method, i, fid_fb_get_vector(one, CASE_INPUTS), "input"));
        FID_TRY(check_values(sink, method, i, fid_fb_get_vector(one, CASE_OUTPUTS), "output"));
    }
    return FID_OK;
}

fid_status fid_bpte_open(const fid_sink *sink, fid_span file, fid_bpte *out) {
    if (!fid_bpte_recognize(file)) {
        return fid_fail(sink, FID_INVALID_PROGRAM, "expected the identifier \"" FID_BPTE_IDENTIFIER "\" of a bundled program at byte 4");
    }
    fid_bpte bundle;
    FID_TRY(fid_fb_verify(sink, file, &bundle_type, &bundle.root));
    fid_fb_vector suites = fid_fb_get_vector(bundle.root, BUNDLE_SUITES);
    for (uint32_t i = 0; i < suites.count; i++) FID_TRY(check_suite(sink, fid_fb_table_at(suites, i)));
    bundle.program = fid_fb_bytes(fid_fb_get_vector(bundle.root, BUNDLE_PROGRAM));
    if (!bundle.program.size) return fid_fail(sink, FID_INVALID_PROGRAM, "the bundle holds no program");
    size_t at = (size_t)(bundle.program.data - file.data);
    if (at % 16) return fid_fail(sink, FID_INVALID_PROGRAM, "the bundle's program lies at byte %zu, which is no multiple of 16", at);
    *out = bundle;
    return FID_OK;
}

/* ---- Access ---- */

static fid_fb_vector cases_of(const fid_bpte *bundle, const char *method) {
    fid_fb_vector suites = fid_fb_get_vector(bundle->root, BUNDLE_SUITES);
    for (uint32_t i = 0; i < suites.count; i++) {
        fid_fb_ref suite = fid_fb_table_at(suites, i);
        if (strcmp(fid_fb_get_string(suite, SUITE_METHOD), method) == 0) return fid_fb_get_vector(suite, SUITE_CASES);
    }
    return (fid_fb_vector){NULL, 0};
}

size_t fid_bpte_case_count(const fid_bpte *bundle, const char *method) { return cases_of(bundle, method).count; }

fid_bpte_case fid_bpte_case_at(const fid_bpte *bundle, const char *method, size_t index) {
    fid_fb_ref one = fid_fb_table_at(cases_of(bundle, method), (uint32_t)index);
    return (fid_bpte_case){fid_fb_get_vector(one, CASE_INPUTS), fid_fb_get_vector(one, CASE_OUTPUTS)};
}

static void read_tensor(fid_fb_ref table, fid_bpte_value *out) {
    fid_fb_vector sizes = fid_fb_get_vector(table, TENSOR_SIZES), data = fid_fb_get_vector(table, TENSOR_DATA);
    const uint8_t *order = fid_fb_get_vector(table, TENSOR_DIM_ORDER).items;
    for (uint32_t i = 0; i < sizes.count; i++) {
        out->sizes[i] = fid_fb_i32_at(sizes, i);
        out->dim_order[i] = order[i];
    }
    out->tensor = (fid_tensor){.data = (void *)(uintptr_t)data.items, .sizes = out->sizes, .strides = out->strides, .dim_order = out->dim_order,
                               .capacity = data.count, .rank = (uint8_t)sizes.count, .dtype = fid_fb_get_u8(table, TENSOR_DTYPE, 0),
                               .flags = FID_TENSOR_CONSTANT};
    fid_tensor_update_strides(&out->tensor);
    out->value = fid_tensor_value(&out->tensor);
}

void fid_bpte_value_at(fid_fb_vector values, uint32_t index, fid_bpte_value *out) {
    fid_fb_ref value = fid_fb_table_at(values, index), member = fid_fb_get_table(value, VALUE_MEMBER);
    switch (fid_fb_get_u8(value, VALUE_TAG, TAG_NONE)) {
    case TAG_TENSOR: read_tensor(member, out); break;
    case TAG_INT: out->value = fid_int_value(fid_fb_get_i64(member, 0, 0)); break;
    case TAG_BOOL: out->value = fid_bool_value(fid_fb_get_u8(member, 0, 0) != 0); break;
    case TAG_DOUBLE: out->value = fid_double_value(fid_fb_get_f64(member, 0, 0)); break;
    default: out->value = fid_none_value(); break;
    }
}
