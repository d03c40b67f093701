/* Tensors whose bytes lie outside the program: found by name in the data files that a method was loaded with. */
#include "runtime/data.h"

/* Newest file first: what comes later replaces what came before. NULL: no file has the key. */
static const fid_data *find(fid_data *const *data, uint32_t count, const char *key, fid_named_data *out_entry) {
    while (count-- > 0) {
        if (data[count]->find(data[count], key, out_entry)) return data[count];
    }
    return NULL;
}

fid_status fid_data_find_bytes(fid_data *const *data, uint32_t count, const char *key, fid_span *out_bytes) {
    fid_named_data entry;
    if (!find(data, count, key, &entry)) return FID_NOT_FOUND;
    *out_bytes = entry.bytes;
    return FID_OK;
}

/* "float32[2, 3]", "int8[4, 4] in dim order {1, 0}". */
static const char *describe(uint8_t dtype, const int64_t *sizes, const uint8_t *dim_order, size_t rank, char *text, size_t size) {
    char shape[160];
    size_t at = fid_format(text, size, "%s%s", fid_dtype_name((fid_dtype)dtype), fid_shape_text(sizes, rank, shape, sizeof shape));
    for (size_t i = 0; i < rank && at < size; i++) {
        if (dim_order[i] == i && i == 0) break; /* row-major in all that matters for a message */
        at += fid_format(text + at, size - at, "%s%d%s", i ? ", " : " in dim order {", dim_order[i], i + 1 < rank ? "" : "}");
    }
    return text;
}

static fid_status fail_missing(fid_data *const *data, uint32_t count, const fid_sink *sink, const char *key, const char *wanted) {
    char files[400] = "";
    size_t at = 0;
    for (uint32_t i = 0; i < count && at < sizeof files; i++) {
        at += fid_format(files + at, sizeof files - at, "%s%s", i ? ", " : "", data[i]->name);
    }
    return fid_fail(sink, FID_INVALID_EXTERNAL_DATA, "weight \"%s\" (%s) lies outside the program; it is not in %s", key, wanted, files);
}

/* A file that would have the last word on a weight, but has it as another target takes it. */
static fid_status check_form(const fid_data *data, const fid_sink *sink, const char *key) {
    const char *other = fid_data_other_form(data, key);
    if (!other) return FID_OK;
    return fid_fail(sink, FID_INVALID_EXTERNAL_DATA,
                    "the program takes the weight \"%s\", %s has it as \"%s\": compile the model of that file for the target of the program", key,
                    data->name, other);
}

fid_status fid_data_find_tensor(fid_data *const *data, uint32_t count, const fid_sink *sink, const char *key, const fid_tensor *tensor,
                                const void **out_bytes) {
    fid_named_data entry;
    char wanted[240], found[240];
    describe(tensor->dtype, tensor->sizes, tensor->dim_order, tensor->rank, wanted, sizeof wanted);
    const fid_data *from = find(data, count, key, &entry);
    for (uint32_t i = count; i-- > 0 && data[i] != from;) FID_TRY(check_form(data[i], sink, key));
    if (!from) return fail_missing(data, count, sink, key, wanted);
    int64_t sizes[FID_MAX_RANK];
    for (size_t i = 0; i < entry.rank; i++) sizes[i] = entry.sizes[i];
    bool same = entry.is_tensor && entry.dtype == tensor->dtype && entry.rank == tensor->rank &&
                memcmp(sizes, tensor->sizes, entry.rank * sizeof *sizes) == 0 && memcmp(entry.dim_order, tensor->dim_order, entry.rank) == 0;
    if (!same) {
        return fid_fail(sink, FID_INVALID_EXTERNAL_DATA, "weight \"%s\" in %s is %s, the program takes %s", key, from->name,
                        entry.is_tensor ? describe(entry.dtype, sizes, entry.dim_order, entry.rank, found, sizeof found) : "no tensor", wanted);
    }
    *out_bytes = entry.bytes.data;
    return FID_OK;
}
