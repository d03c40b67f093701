/* Parameters, buffers and constants: finds their bytes in the archive and brings them into row-major order.
 *
 * An archive has a table of names (data/weights/MODEL_weights_config.json and its twin for constants) with one raw storage a
 * member; several names may share a storage. Older archives hold one torch.save of a dict instead. */
#include "base/checked.h"
#include "compiler/archive/reader.h"

typedef struct table {
    const char *folder;  /* "data/weights/" */
    json_t *json;        /* owns what `config` points to */
    const json_t *config;
    fidc_pickle *dict;   /* an older archive's dict */
} table;

struct fidc_weights { table tables[2]; }; /* the state dict; constants */

/* ---- Opening ---- */

static fid_status open_config(fidc_reader *r, table *t, const char *suffix) {
    const char *file = fidc_text_format(r->program, "%s%s", r->model, suffix);
    const char *member = file ? fidc_member_name(r, t->folder, file) : NULL;
    fid_span bytes;
    if (!member) return FID_OUT_OF_MEMORY;
    FID_TRY(fidc_zip_read(r->zip, member, &bytes));
    FID_TRY(fidc_json_parse(r, member, bytes, &t->json));
    return fidc_json_object(r, t->json, "config", &t->config);
}

static fid_status open_dict(fidc_reader *r, table *t, const char *member) {
    size_t index;
    fid_span bytes;
    if (fidc_zip_find(r->zip, member, &index) == FID_OK) {
        FID_TRY(fidc_zip_read_at(r->zip, index, &bytes));
        if (!bytes.size) return FID_OK; /* how an empty dict is written */
    }
    FID_TRY(fidc_member_unpickle(r, r->sink, member, &t->dict));
    if (t->dict->kind != FIDC_PICKLE_DICT) return fidc_reader_fail(r, FID_INVALID_PROGRAM, "member '%s' holds no dict of tensors", member);
    return FID_OK;
}

static fid_status open_table(fidc_reader *r, table *t, const char *config_suffix, const char *legacy_member) {
    if (r->legacy) return open_dict(r, t, legacy_member);
    const char *file = fidc_text_format(r->program, "%s.pt", r->model);
    const char *pickled = file ? fidc_member_name(r, t->folder, file) : NULL;
    if (!pickled) return FID_OUT_OF_MEMORY;
    return fidc_member_exists(r, pickled) ? open_dict(r, t, pickled) : open_config(r, t, config_suffix);
}

fid_status fidc_weights_open(fidc_reader *r) {
    fidc_weights *weights = fidc_allocate(r->program, sizeof *weights);
    if (!weights) return FID_OUT_OF_MEMORY;
    r->weights = weights;
    weights->tables[0].folder = "data/weights/";
    weights->tables[1].folder = "data/constants/";
    FID_TRY(open_table(r, &weights->tables[0], "_weights_config.json", "serialized_state_dict.pt"));
    return open_table(r, &weights->tables[1], "_constants_config.json", "serialized_constants.pt");
}

void fidc_weights_close(fidc_weights *weights) {
    for (size_t i = 0; weights && i < 2; i++) json_decref(weights->tables[i].json);
}

/* ---- Layout ---- */

static bool is_row_major(const fidc_strided *t) {
    int64_t expected = 1;
    for (size_t i = t->rank; i-- > 0;) {
        if (t->sizes[i] != 1 && t->strides[i] != expected) return false;
        expected *= t->sizes[i];
    }
    return true;
}

/* Bytes of the storage that the tensor reaches; false on overflow. */
static bool reach_of(const fidc_strided *t, size_t *out_bytes) {
    size_t last = (size_t)t->offset, step;
    for (size_t i = 0; i < t->rank; i++) {
        if (t->sizes[i] == 0) {
            *out_bytes = 0;
            return true;
        }
        if (!fid_mul_size((size_t)(t->sizes[i] - 1), (size_t)t->strides[i], &step) || !fid_add_size(last, step, &last)) return false;
    }
    return fid_add_size(last, 1, &last) && fid_mul_size(last, fid_dtype_size((fid_dtype)t->dtype), out_bytes);
}

static void copy_strided(const fidc_strided *t, const uint8_t *from, uint8_t *to, size_t count) {
    size_t size = fid_dtype_size((fid_dtype)t->dtype);
    int64_t index[FID_MAX_RANK] = {0};
    for (size_t k = 0; k < count; k++, to += size) {
        memcpy(to, from, size);
        for (size_t i = t->rank; i-- > 0;) {
            from += t->strides[i] * (int64_t)size;
            if (++index[i] < t->sizes[i]) break;
            from -= t->strides[i] * (int64_t)size * t->sizes[i];
            index[i] = 0;
        }
    }
}

fid_status fidc_strided_dense(const fidc_reader *r, const char *name, const fidc_strided *t, const void **out_data, size_t *out_bytes) {
    size_t count, bytes, reach, size = fid_dtype_size((fid_dtype)t->dtype);
    if (!fid_mul_sizes(t->sizes, t->rank, &count) || !fid_mul_size(count, size, &bytes) || !reach_of(t, &reach))
        return fidc_reader_fail(r, FID_INVALID_PROGRAM, "tensor '%s' is too large", name);
    if (reach > t->storage.size)
        return fidc_reader_fail(r, FID_INVALID_PROGRAM, "tensor '%s' needs %zu bytes of member '%s', which has %zu", name, reach,
                                t->storage_name, t->storage.size);
    const uint8_t *from = count ? t->storage.data + (size_t)t->offset * size : t->storage.data;
    *out_bytes = bytes;
    *out_data = from;
    bool dense = is_row_major(t);
    if (!count || (dense && (uintptr_t)from % 16 == 0)) return FID_OK;
    uint8_t *copy = fid_arena_allocate(&r->program->arena, bytes, 64);
    if (!copy) return FID_OUT_OF_MEMORY;
    if (dense) memcpy(copy, from, bytes);
    else copy_strided(t, from, copy, count);
    *out_data = copy;
    return FID_OK;
}

/* ---- Finding ---- */

static fid_status read_fixed(const fidc_reader *r, const json_t *list, const char *name, int64_t *out, size_t rank) {
    for (size_t i = 0; i < rank; i++) {
        const json_t *number = json_object_get(json_array_get(list, i), "as_int");
        if (!json_is_integer(number) || json_integer_value(number) < 0)
            return fidc_reader_fail(r, FID_INVALID_PROGRAM, "weight '%s' has a size or stride that is no number", name);
        out[i] = json_integer_value(number);
    }
    return FID_OK;
}

static fid_status read_layout(const fidc_reader *r, const json_t *meta, const char *name, fidc_strided *out) {
    const json_t *sizes = NULL, *strides = NULL, *offset = NULL;
    int64_t code = 0;
    fid_dtype dtype = FID_DTYPE_NONE;
    FID_TRY(fidc_json_integer(r, meta, "dtype", &code));
    FID_TRY(fidc_read_dtype(r, code, &dtype));
    FID_TRY(fidc_json_array(r, meta, "sizes", &sizes));
    FID_TRY(fidc_json_array(r, meta, "strides", &strides));
    FID_TRY(fidc_json_object(r, meta, "storage_offset", &offset));
    size_t rank = json_array_size(sizes);
    if (rank > FID_MAX_RANK || rank != json_array_size(strides))
        return fidc_reader_fail(r, FID_INVALID_PROGRAM, "weight '%s' has %zu sizes and %zu strides; at most %d are supported", name, rank,
                                json_array_size(strides), FID_MAX_RANK);
    out->dtype = (uint8_t)dtype;
    out->rank = (uint8_t)rank;
    FID_TRY(read_fixed(r, sizes, name, out->sizes, rank));
    FID_TRY(read_fixed(r, strides, name, out->strides, rank));
    const json_t *number = json_object_get(offset, "as_int");
    out->offset = json_integer_value(number);
    if (!json_is_integer(number) || out->offset < 0)
        return fidc_reader_fail(r, FID_INVALID_PROGRAM, "weight '%s' has a storage offset that is no number", name);
    return FID_OK;
}

static fid_status from_pickle(const fidc_reader *r, const fidc_pickle *value, const char *name, fidc_strided *out) {
    if (value->kind != FIDC_PICKLE_TENSOR)
        return fidc_reader_fail(r, FID_NOT_SUPPORTED, "'%s' is no tensor; custom objects are not supported", name);
    *out = *value->as.tensor;
    return FID_OK;
}

static fid_status from_config(fidc_reader *r, const table *t, const json_t *entry, const char *name, fidc_strided *out) {
    const char *path = NULL;
    const json_t *meta = NULL;
    fidc_pickle *value = NULL;
    FID_TRY(fidc_json_text(r, entry, "path_name", &path));
    const char *member = fidc_member_name(r, t->folder, path);
    if (!member) return FID_OUT_OF_MEMORY;
    if (!fidc_member_exists(r, member))
        return fidc_reader_fail(r, FID_INVALID_PROGRAM, "weight '%s' is missing: the archive has no member '%s'", name, member);
    if (fidc_json_absent(entry, "tensor_meta"))
        return fidc_reader_fail(r, FID_NOT_SUPPORTED, "'%s' is a custom object; only tensors are supported", name);
    if (json_is_true(json_object_get(entry, "use_pickle"))) {
        FID_TRY(fidc_member_unpickle(r, r->sink, member, &value));
        return from_pickle(r, value, name, out);
    }
    FID_TRY(fidc_json_object(r, entry, "tensor_meta", &meta));
    FID_TRY(read_layout(r, meta, name, out));
    out->storage_name = member;
    return fidc_zip_read(r->zip, member, &out->storage);
}

static fid_status find(fidc_reader *r, const char *name, fidc_strided *out) {
    for (size_t i = 0; i < 2; i++) {
        const table *t = &r->weights->tables[i];
        const json_t *entry = json_object_get(t->config, name);
        if (entry) return from_config(r, t, entry, name, out);
        const fidc_pickle *value = t->dict ? fidc_pickle_get(t->dict, name) : NULL;
        if (value) return from_pickle(r, value, name, out);
    }
    return fidc_reader_fail(r, FID_INVALID_PROGRAM, "weight '%s' is missing: neither the archive's weights nor its constants have it", name);
}

/* Several names may be parts of one storage: buffers that are written must not be. */
static void note_storage(const fidc_strided *tensor, const char *name, fidc_constant *out) {
    size_t reach = 0;
    out->name = name;
    out->storage = tensor->storage.data;
    if (reach_of(tensor, &reach) && reach > 0) {
        out->storage_begin = (size_t)tensor->offset * fid_dtype_size((fid_dtype)tensor->dtype);
        out->storage_end = reach;
    }
}

fid_status fidc_weights_bind(fidc_reader *r, const char *name, const char *value_name, fidc_value **out_value) {
    fidc_strided tensor = {0};
    const void *data = NULL;
    size_t bytes = 0;
    FID_TRY(find(r, name, &tensor));
    FID_TRY(fidc_strided_dense(r, name, &tensor, &data, &bytes));
    fidc_value *value = fidc_value_constant(r->graph, value_name, (fid_dtype)tensor.dtype, tensor.sizes, tensor.rank, data, bytes);
    char *copy = fidc_text(r->program, name);
    if (!value || !copy) return FID_OUT_OF_MEMORY;
    note_storage(&tensor, copy, (fidc_constant *)value->constant);
    *out_value = value;
    return fidc_name_map_put(r->program, &r->constants, copy, value) ? FID_OK : FID_OUT_OF_MEMORY;
}
