/* .npy files: see the header. A file is "\x93NUMPY", two version bytes, the header's length (2 bytes in version 1, 4 later), a
 * Python dictionary literal with 'descr', 'fortran_order' and 'shape', and the data. */
#include "format/npy.h"

#include "base/checked.h"

typedef struct cursor { const char *at, *end; } cursor;

static void skip_space(cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t')) c->at++;
}

/* Takes `text` if it comes next, after spaces. */
static bool take(cursor *c, const char *text) {
    skip_space(c);
    size_t length = strlen(text);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, text, length) != 0) return false;
    c->at += length;
    return true;
}

/* A quoted string without escapes. */
static bool take_string(cursor *c, fid_span *out_text) {
    skip_space(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) return false;
    char quote = *c->at++;
    const char *start = c->at;
    while (c->at < c->end && *c->at != quote) c->at++;
    if (c->at == c->end) return false;
    *out_text = fid_span_of(start, (size_t)(c->at++ - start));
    return true;
}

static bool take_size(cursor *c, int64_t *out_size) {
    skip_space(c);
    const char *start = c->at;
    int64_t value = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *c->at - '0', &value)) return false;
    }
    take(c, "L"); /* what Python 2 wrote after long numbers */
    *out_size = value;
    return c->at > start;
}

static bool span_is(fid_span span, const char *text) { return span.size == strlen(text) && memcmp(span.data, text, span.size) == 0; }

/* ---- Types ------------------------------------------------------------------------------------------------------------- */

#define NPY_TYPES(X)                                                                                                  \
    X(UINT8, "u1") X(INT8, "i1") X(INT16, "i2") X(INT32, "i4") X(INT64, "i8") X(FLOAT16, "f2") X(FLOAT32, "f4")       \
    X(FLOAT64, "f8") X(COMPLEX64, "c8") X(COMPLEX128, "c16") X(BOOL, "b1") X(UINT16, "u2") X(UINT32, "u4")            \
    X(UINT64, "u8") X(BFLOAT16, "V2")

static fid_dtype dtype_of(fid_span code) {
#define IF_TYPE(NAME, text) if (span_is(code, text)) return FID_##NAME;
    NPY_TYPES(IF_TYPE)
#undef IF_TYPE
    return FID_DTYPE_NONE;
}

static const char *code_of(fid_dtype dtype) {
    switch (dtype) {
    case FID_BFLOAT16: return "u2";
    case FID_FLOAT8_E5M2:
    case FID_FLOAT8_E4M3FN: return "u1";
#define IF_DTYPE(NAME, text) if (dtype == FID_##NAME) return text;
    default: NPY_TYPES(IF_DTYPE) return NULL;
#undef IF_DTYPE
    }
}

bool fid_npy_dtype_fits(fid_dtype file, fid_dtype wanted) {
    if (file == wanted) return true;
    if (wanted == FID_BFLOAT16) return file == FID_UINT16;
    if (wanted == FID_UINT16) return file == FID_BFLOAT16;
    return (wanted == FID_FLOAT8_E4M3FN || wanted == FID_FLOAT8_E5M2) && file == FID_UINT8;
}

static fid_status read_type(const fid_sink *sink, const char *name, fid_span text, fid_npy *npy) {
    int length = (int)(text.size < 40 ? text.size : 40);
    if (text.size && text.data[0] == '>')
        return fid_fail(sink, FID_NOT_SUPPORTED, "%s: big-endian array ('%.*s'); save it with .astype(a.dtype.newbyteorder('<'))", name,
                        length, (const char *)text.data);
    bool has_order = text.size && (text.data[0] == '<' || text.data[0] == '|' || text.data[0] == '=');
    npy->dtype = dtype_of(fid_span_of(text.data + has_order, text.size - has_order));
    if (npy->dtype == FID_DTYPE_NONE)
        return fid_fail(sink, FID_NOT_SUPPORTED, "%s: arrays of type '%.*s' are not supported; convert it with .astype()", name, length,
                        (const char *)text.data);
    return FID_OK;
}

/* ---- Reading -------------------------------------------------------------------------------------------------------------- */

static fid_status damaged(const fid_sink *sink, const char *name, const char *what) {
    return fid_fail(sink, FID_INVALID_EXTERNAL_DATA, "%s: damaged .npy file: %s", name, what);
}

static fid_status read_shape(const fid_sink *sink, const char *name, cursor *c, fid_npy *npy) {
    if (!take(c, "(")) return damaged(sink, name, "'shape' is no tuple");
    npy->rank = 0;
    while (!take(c, ")")) {
        if (npy->rank == FID_MAX_RANK)
            return fid_fail(sink, FID_NOT_SUPPORTED, "%s: array with more than %d dimensions", name, FID_MAX_RANK);
        if (!take_size(c, &npy->sizes[npy->rank++])) return damaged(sink, name, "'shape' holds something else than sizes");
        if (!take(c, ",") && !(c->at < c->end && *c->at == ')')) return damaged(sink, name, "'shape' lacks a comma");
    }
    return FID_OK;
}

static fid_status read_entry(const fid_sink *sink, const char *name, cursor *c, fid_npy *npy, unsigned *inout_seen) {
    fid_span key, type;
    if (!take_string(c, &key) || !take(c, ":")) return damaged(sink, name, "the header is no dictionary");
    if (span_is(key, "descr")) {
        *inout_seen |= 1;
        skip_space(c);
        if (c->at < c->end && *c->at == '[')
            return fid_fail(sink, FID_NOT_SUPPORTED, "%s: structured arrays are not supported; save each field by itself", name);
        if (!take_string(c, &type)) return damaged(sink, name, "'descr' is no string");
        return read_type(sink, name, type, npy);
    }
    if (span_is(key, "fortran_order")) {
        *inout_seen |= 2;
        npy->fortran_order = take(c, "True");
        return npy->fortran_order || take(c, "False") ? FID_OK : damaged(sink, name, "'fortran_order' is neither True nor False");
    }
    if (!span_is(key, "shape")) return damaged(sink, name, "the header has an unknown key");
    *inout_seen |= 4;
    return read_shape(sink, name, c, npy);
}

static fid_status read_dictionary(const fid_sink *sink, const char *name, cursor c, fid_npy *npy) {
    unsigned seen = 0;
    if (!take(&c, "{")) return damaged(sink, name, "the header is no dictionary");
    while (!take(&c, "}")) {
        FID_TRY(read_entry(sink, name, &c, npy, &seen));
        if (!take(&c, ",") && !(c.at < c.end && *c.at == '}')) return damaged(sink, name, "the header lacks a comma");
    }
    return seen == 7 ? FID_OK : damaged(sink, name, "the header lacks 'descr', 'fortran_order' or 'shape'");
}

/* Finds the dictionary and the data behind it. */
static fid_status find_header(const fid_sink *sink, const char *name, fid_span file, cursor *out_header, fid_span *out_rest) {
    if (file.size < 10 || memcmp(file.data, "\x93NUMPY", 6) != 0)
        return fid_fail(sink, FID_INVALID_EXTERNAL_DATA, "%s is no .npy file: it does not begin with \\x93NUMPY; write it with numpy.save", name);
    unsigned version = file.data[6];
    if (version < 1 || version > 3)
        return fid_fail(sink, FID_NOT_SUPPORTED, "%s: .npy format version %u; versions 1 to 3 are supported", name, version);
    size_t at = version == 1 ? 10 : 12, length = (size_t)file.data[8] | (size_t)file.data[9] << 8;
    if (file.size < at) return damaged(sink, name, "it ends within the header");
    if (version > 1) length |= (size_t)file.data[10] << 16 | (size_t)file.data[11] << 24;
    if (!fid_range_fits(at, length, file.size)) return damaged(sink, name, "it ends within the header");
    *out_header = (cursor){(const char *)file.data + at, (const char *)file.data + at + length};
    *out_rest = fid_span_of(file.data + at + length, file.size - at - length);
    return FID_OK;
}

fid_status fid_npy_parse(const fid_sink *sink, const char *name, fid_span file, fid_npy *out_npy) {
    fid_npy npy = {.dtype = FID_DTYPE_NONE};
    cursor header;
    fid_span rest = {NULL, 0};
    size_t bytes;
    FID_TRY(find_header(sink, name, file, &header, &rest));
    FID_TRY(read_dictionary(sink, name, header, &npy));
    if (!fid_mul_sizes(npy.sizes, npy.rank, &bytes) || !fid_mul_size(bytes, fid_dtype_size(npy.dtype), &bytes))
        return damaged(sink, name, "its sizes overflow");
    if (bytes > rest.size)
        return fid_fail(sink, FID_INVALID_EXTERNAL_DATA, "%s: %zu bytes of data where its shape needs %zu; the file is cut off", name,
                        rest.size, bytes);
    npy.data = fid_span_of(rest.data, bytes);
    *out_npy = npy;
    return FID_OK;
}

void fid_npy_copy_row_major(const fid_npy *npy, void *out) {
    size_t item = fid_dtype_size(npy->dtype), strides[FID_MAX_RANK], index[FID_MAX_RANK] = {0}, from = 0, stride = item;
    if (!npy->fortran_order || npy->rank < 2) {
        if (npy->data.size) memcpy(out, npy->data.data, npy->data.size);
        return;
    }
    for (size_t d = 0; d < npy->rank; stride *= (size_t)npy->sizes[d++]) strides[d] = stride;
    for (size_t to = 0; to < npy->data.size; to += item) {
        memcpy((uint8_t *)out + to, npy->data.data + from, item);
        for (size_t d = npy->rank; d-- > 0;) {
            from += strides[d];
            if (++index[d] < (size_t)npy->sizes[d]) break;
            from -= strides[d] * index[d];
            index[d] = 0;
        }
    }
}

/* ---- Writing -------------------------------------------------------------------------------------------------------------- */

fid_status fid_npy_write_header(const fid_sink *sink, fid_dtype dtype, const int64_t *sizes, size_t rank,
                                uint8_t out_header[FID_NPY_MAX_HEADER], size_t *out_size) {
    const char *code = code_of(dtype);
    if (!code || rank > FID_MAX_RANK)
        return fid_fail(sink, FID_NOT_SUPPORTED, "no .npy file of type %s and rank %zu", fid_dtype_name(dtype), rank);
    char *text = (char *)out_header + 10;
    size_t space = FID_NPY_MAX_HEADER - 10 - 64;
    size_t at = fid_format(text, space, "{'descr': '%s%s', 'fortran_order': False, 'shape': (", fid_dtype_size(dtype) == 1 ? "|" : "<", code);
    for (size_t d = 0; d < rank; d++)
        at += fid_format(text + at, space - at, d + 1 < rank ? "%lld, " : rank == 1 ? "%lld," : "%lld", (long long)sizes[d]);
    at += fid_format(text + at, space - at, "), }");
    size_t size = (10 + at + 1 + 63) & ~(size_t)63;
    memset(text + at, ' ', size - 10 - at);
    out_header[size - 1] = '\n';
    memcpy(out_header, "\x93NUMPY\x01\x00", 8);
    out_header[8] = (uint8_t)(size - 10);
    out_header[9] = (uint8_t)((size - 10) >> 8);
    *out_size = size;
    return FID_OK;
}
