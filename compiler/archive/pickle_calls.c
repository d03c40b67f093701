/* The functions and classes that a pickle of tensors and plain containers names, and what torch.save's archive looks like. */
#include "base/checked.h"
#include "compiler/archive/pickle_internal.h"

static bool is_global(const fidc_pickle *value, const char *name) {
    return value->kind == FIDC_PICKLE_GLOBAL && strcmp(value->as.text.bytes, name) == 0;
}

static const fidc_pickle *argument(const fidc_pickle *args, uint32_t index, fidc_pickle_kind kind) {
    if (args->kind != FIDC_PICKLE_TUPLE || index >= args->as.list.count) return NULL;
    const fidc_pickle *value = args->as.list.items[index];
    return value->kind == kind ? value : NULL;
}

/* ---- Storages ---- */

typedef struct storage_class { const char *name; uint8_t dtype; } storage_class;

static const storage_class storage_classes[] = {
    {"torch FloatStorage", FID_FLOAT32}, {"torch DoubleStorage", FID_FLOAT64}, {"torch HalfStorage", FID_FLOAT16},
    {"torch BFloat16Storage", FID_BFLOAT16}, {"torch LongStorage", FID_INT64}, {"torch IntStorage", FID_INT32},
    {"torch ShortStorage", FID_INT16}, {"torch CharStorage", FID_INT8}, {"torch ByteStorage", FID_UINT8},
    {"torch BoolStorage", FID_BOOL}, {"torch ComplexFloatStorage", FID_COMPLEX64}, {"torch ComplexDoubleStorage", FID_COMPLEX128},
    {"torch.storage UntypedStorage", FID_DTYPE_NONE}, {"torch UntypedStorage", FID_DTYPE_NONE},
};

fid_status fidc_pickle_storage(fidc_unpickler *p, const fidc_pickle *id, fidc_pickle **out_storage) {
    const fidc_pickle *kind = argument(id, 0, FIDC_PICKLE_TEXT), *class = argument(id, 1, FIDC_PICKLE_GLOBAL),
                      *key = argument(id, 2, FIDC_PICKLE_TEXT);
    if (!kind || !class || !key || strcmp(kind->as.text.bytes, "storage") != 0) return fidc_pickle_fail(p, "a persistent id is no storage");
    size_t i = 0, count = sizeof storage_classes / sizeof storage_classes[0];
    while (i < count && !is_global(class, storage_classes[i].name)) i++;
    if (i == count) return fid_fail(p->sink, FID_NOT_SUPPORTED, "%s: storages of class '%s' are not supported", p->label, class->as.text.bytes);
    fidc_pickle *storage = fidc_pickle_new(p, FIDC_PICKLE_STORAGE);
    fidc_strided *tensor = storage ? fidc_allocate(p->program, sizeof *tensor) : NULL;
    if (!tensor) return FID_OUT_OF_MEMORY;
    tensor->dtype = storage_classes[i].dtype;
    if (!p->storages) return fidc_pickle_fail(p, "a storage is named, but none belongs to this pickle");
    FID_TRY(p->storages->find(p->storages->self, key->as.text.bytes, &tensor->storage, &tensor->storage_name));
    storage->as.tensor = tensor;
    *out_storage = storage;
    return FID_OK;
}

/* ---- Tensors ---- */

static bool read_dims(const fidc_pickle *dims, int64_t *out, uint8_t *out_rank) {
    if (!dims || dims->as.list.count > FID_MAX_RANK) return false;
    for (uint32_t i = 0; i < dims->as.list.count; i++) {
        if (dims->as.list.items[i]->kind != FIDC_PICKLE_INT || dims->as.list.items[i]->as.integer < 0) return false;
        out[i] = dims->as.list.items[i]->as.integer;
    }
    *out_rank = (uint8_t)dims->as.list.count;
    return true;
}

/* (storage, offset, sizes, strides, requires_grad, hooks[, dtype][, metadata]) */
static fid_status make_tensor(fidc_unpickler *p, fidc_pickle *args, fidc_pickle **out_result) {
    const fidc_pickle *storage = argument(args, 0, FIDC_PICKLE_STORAGE), *offset = argument(args, 1, FIDC_PICKLE_INT);
    const fidc_pickle *dtype = argument(args, 6, FIDC_PICKLE_GLOBAL);
    fidc_strided found;
    uint8_t stride_rank;
    if (!storage || !offset || offset->as.integer < 0) return fidc_pickle_fail(p, "a tensor has no storage");
    found = *storage->as.tensor;
    found.offset = offset->as.integer;
    if (!read_dims(argument(args, 2, FIDC_PICKLE_TUPLE), found.sizes, &found.rank) ||
        !read_dims(argument(args, 3, FIDC_PICKLE_TUPLE), found.strides, &stride_rank) || stride_rank != found.rank)
        return fidc_pickle_fail(p, "a tensor's sizes or strides are not valid");
    if (dtype && strncmp(dtype->as.text.bytes, "torch ", 6) == 0) found.dtype = (uint8_t)fid_dtype_from_name(dtype->as.text.bytes + 6);
    if (!fid_dtype_size(found.dtype))
        return fid_fail(p->sink, FID_NOT_SUPPORTED, "%s: a tensor has the dtype '%s', which is not supported", p->label,
                        dtype ? dtype->as.text.bytes : "untyped");
    fidc_pickle *result = fidc_pickle_new(p, FIDC_PICKLE_TENSOR);
    fidc_strided *tensor = result ? fidc_allocate(p->program, sizeof *tensor) : NULL;
    if (!tensor) return FID_OUT_OF_MEMORY;
    *tensor = found;
    result->as.tensor = tensor;
    *out_result = result;
    return FID_OK;
}

/* ---- Other calls ---- */

static fid_status first_argument(fidc_unpickler *p, fidc_pickle *args, fidc_pickle **out_result) {
    if (!args->as.list.count) return fidc_pickle_fail(p, "a call lacks its argument");
    *out_result = args->as.list.items[0];
    return FID_OK;
}

/* OrderedDict() or OrderedDict([(key, value), ...]) */
static fid_status make_dict(fidc_unpickler *p, fidc_pickle *args, fidc_pickle **out_result) {
    fidc_pickle *dict = fidc_pickle_new(p, FIDC_PICKLE_DICT);
    if (!dict) return FID_OUT_OF_MEMORY;
    const fidc_pickle *pairs = args->as.list.count ? args->as.list.items[0] : NULL;
    for (uint32_t i = 0; pairs && pairs->kind == FIDC_PICKLE_LIST && i < pairs->as.list.count; i++) {
        const fidc_pickle *pair = pairs->as.list.items[i];
        if ((pair->kind != FIDC_PICKLE_TUPLE && pair->kind != FIDC_PICKLE_LIST) || pair->as.list.count != 2)
            return fidc_pickle_fail(p, "an ordered dict's item is no pair");
        FID_TRY(fidc_pickle_append(p, dict, pair->as.list.items, 2));
    }
    *out_result = dict;
    return FID_OK;
}

static fid_status make_list(fidc_unpickler *p, fidc_pickle *args, fidc_pickle **out_result) {
    fidc_pickle *list = fidc_pickle_new(p, FIDC_PICKLE_LIST);
    const fidc_pickle *items = args->as.list.count ? args->as.list.items[0] : NULL;
    if (!list) return FID_OUT_OF_MEMORY;
    if (items && (items->kind == FIDC_PICKLE_LIST || items->kind == FIDC_PICKLE_TUPLE))
        FID_TRY(fidc_pickle_append(p, list, items->as.list.items, items->as.list.count));
    *out_result = list;
    return FID_OK;
}

/* _codecs.encode(text, "latin1"): how protocol 2 writes bytes. */
static fid_status make_bytes(fidc_unpickler *p, fidc_pickle *args, fidc_pickle **out_result) {
    const fidc_pickle *text = argument(args, 0, FIDC_PICKLE_TEXT);
    if (!text) return fidc_pickle_text(p, FIDC_PICKLE_BYTES, "", 0, out_result);
    FID_TRY(fidc_pickle_text(p, FIDC_PICKLE_BYTES, text->as.text.bytes, text->as.text.size, out_result));
    char *to = (char *)(*out_result)->as.text.bytes;
    size_t size = 0;
    for (size_t i = 0; i < text->as.text.size; i++) { /* U+0080 to U+00FF are two bytes of UTF-8 */
        uint8_t byte = (uint8_t)text->as.text.bytes[i];
        if ((byte == 0xc2 || byte == 0xc3) && i + 1 < text->as.text.size) byte = (uint8_t)(byte << 6 | ((uint8_t)text->as.text.bytes[++i] & 0x3f));
        to[size++] = (char)byte;
    }
    (*out_result)->as.text.size = size;
    return FID_OK;
}

/* (function, type, args, state): a tensor that carries attributes. */
static fid_status make_typed(fidc_unpickler *p, fidc_pickle *args, fidc_pickle **out_result) {
    const fidc_pickle *function = argument(args, 0, FIDC_PICKLE_GLOBAL), *type = argument(args, 1, FIDC_PICKLE_GLOBAL);
    if (!function || !type || !argument(args, 2, FIDC_PICKLE_TUPLE)) return fidc_pickle_fail(p, "a tensor with a type is not complete");
    if (is_global(function, "torch._tensor _rebuild_from_type_v2")) return fidc_pickle_fail(p, "a tensor's type is nested");
    if (!is_global(type, "torch Tensor") && !is_global(type, "torch.nn.parameter Parameter") && !is_global(type, "torch.nn.parameter Buffer"))
        return fid_fail(p->sink, FID_NOT_SUPPORTED, "%s: tensors of class '%s' are not supported", p->label, type->as.text.bytes);
    return fidc_pickle_call(p, function, args->as.list.items[2], out_result);
}

typedef struct known_call {
    const char *name;
    fid_status (*call)(fidc_unpickler *p, fidc_pickle *args, fidc_pickle **out_result);
} known_call;

static const known_call known_calls[] = {
    {"torch._utils _rebuild_tensor_v2", make_tensor},
    {"torch._utils _rebuild_tensor_v3", make_tensor},
    {"torch._utils _rebuild_parameter", first_argument},
    {"torch._utils _rebuild_parameter_with_state", first_argument},
    {"torch._tensor _rebuild_from_type_v2", make_typed},
    {"collections OrderedDict", make_dict},
    {"builtins dict", make_dict},
    {"builtins set", make_list},
    {"builtins list", make_list},
    {"torch Size", first_argument},
    {"torch device", first_argument},
    {"torch.serialization _get_layout", first_argument},
    {"_codecs encode", make_bytes},
};

fid_status fidc_pickle_call(fidc_unpickler *p, const fidc_pickle *function, fidc_pickle *args, fidc_pickle **out_result) {
    if (function->kind != FIDC_PICKLE_GLOBAL || args->kind != FIDC_PICKLE_TUPLE) return fidc_pickle_fail(p, "a call is not well formed");
    for (size_t i = 0; i < sizeof known_calls / sizeof known_calls[0]; i++)
        if (is_global(function, known_calls[i].name)) return known_calls[i].call(p, args, out_result);
    return fid_fail(p->sink, FID_NOT_SUPPORTED, "%s: the pickle holds an object of '%s'; only tensors, numbers, text, lists, tuples and "
                    "dicts are read, and nothing is executed", p->label, function->as.text.bytes);
}

/* ---- torch.save ---- */

typedef struct save_archive {
    fidc_program *program;
    fidc_zip *zip;
    const char *root; /* "archive/" */
} save_archive;

static fid_status find_storage(void *self, const char *key, fid_span *out_bytes, const char **out_name) {
    save_archive *archive = self;
    char *name = fidc_text_format(archive->program, "%sdata/%s", archive->root, key);
    if (!name) return FID_OUT_OF_MEMORY;
    *out_name = name;
    return fidc_zip_read(archive->zip, name, out_bytes);
}

static const char *root_of(fidc_program *program, const fidc_zip *zip) {
    static const char tail[] = "data.pkl";
    for (size_t i = 0; i < fidc_zip_count(zip); i++) {
        const char *name = fidc_zip_name(zip, i);
        size_t length = strlen(name), tail_length = sizeof tail - 1;
        if (length < tail_length || strcmp(name + length - tail_length, tail) != 0) continue;
        if (length > tail_length && name[length - tail_length - 1] != '/') continue;
        return fidc_text_format(program, "%.*s", (int)(length - tail_length), name);
    }
    return NULL;
}

static fid_status check_byte_order(fidc_program *program, const fid_sink *sink, fidc_zip *zip, const char *root) {
    const char *name = fidc_text_format(program, "%sbyteorder", root);
    size_t index;
    fid_span order;
    if (!name || fidc_zip_find(zip, name, &index) != FID_OK) return FID_OK; /* older archives have none: little */
    FID_TRY(fidc_zip_read_at(zip, index, &order));
    if (order.size >= 6 && memcmp(order.data, "little", 6) == 0) return FID_OK;
    return fid_fail(sink, FID_NOT_SUPPORTED, "%s: byte order is '%.*s'; only 'little' is supported: save it on a little-endian machine",
                    fidc_zip_label(zip), (int)(order.size < 20 ? order.size : 20), (const char *)order.data);
}

fid_status fidc_torch_save_read(fidc_program *program, const fid_sink *sink, fidc_zip *zip, fidc_pickle **out_value) {
    save_archive archive = {program, zip, root_of(program, zip)};
    if (!archive.root)
        return fid_fail(sink, FID_INVALID_PROGRAM, "%s: has no data.pkl; expected what torch.save writes", fidc_zip_label(zip));
    FID_TRY(check_byte_order(program, sink, zip, archive.root));
    const char *name = fidc_text_format(program, "%sdata.pkl", archive.root);
    const char *label = fidc_text_format(program, "%s: %s", fidc_zip_label(zip), name);
    fid_span pickle;
    if (!name || !label) return FID_OUT_OF_MEMORY;
    FID_TRY(fidc_zip_read(zip, name, &pickle));
    return fidc_unpickle(program, sink, label, pickle, &(fidc_storages){find_storage, &archive}, out_value);
}
