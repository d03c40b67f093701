/* Reads Python pickles that hold tensors and plain containers. Nothing is executed: a pickle can only name functions and classes,
 * and the few that make tensors and containers are understood here; any other is FID_NOT_SUPPORTED with its name. */
#ifndef FIDC_ARCHIVE_UNPICKLE_H
#define FIDC_ARCHIVE_UNPICKLE_H

#include "base/span.h"
#include "compiler/archive/zip_file.h"
#include "compiler/ir/ir.h"

typedef enum fidc_pickle_kind {
    FIDC_PICKLE_NONE, FIDC_PICKLE_BOOL, FIDC_PICKLE_INT, FIDC_PICKLE_FLOAT, FIDC_PICKLE_TEXT, FIDC_PICKLE_BYTES,
    FIDC_PICKLE_LIST, FIDC_PICKLE_TUPLE,
    FIDC_PICKLE_DICT,    /* items: key, value, key, value, ... */
    FIDC_PICKLE_TENSOR,
    FIDC_PICKLE_STORAGE, /* a tensor with the storage's bytes and dtype (NONE: untyped), rank 0 */
    FIDC_PICKLE_GLOBAL,  /* text "module name": a class or function that was named */
} fidc_pickle_kind;

/* A tensor as torch sees it: strides and offset, in elements, into a storage. */
typedef struct fidc_strided {
    fid_span storage;
    const char *storage_name; /* the archive member, for messages */
    int64_t sizes[FID_MAX_RANK], strides[FID_MAX_RANK];
    int64_t offset;
    uint8_t rank, dtype;
} fidc_strided;

typedef struct fidc_pickle {
    uint8_t kind; /* fidc_pickle_kind */
    union {
        int64_t integer; /* BOOL, INT */
        double number;
        struct { const char *bytes; size_t size; } text; /* TEXT, BYTES, GLOBAL: with a closing zero */
        struct { struct fidc_pickle **items; uint32_t count, capacity; } list;
        fidc_strided *tensor;
    } as;
} fidc_pickle;

/* Finds a storage by the key in the pickle. */
typedef struct fidc_storages {
    fid_status (*find)(void *self, const char *key, fid_span *out_bytes, const char **out_name);
    void *self;
} fidc_storages;

/* Values lie in the program's arena. `label` names the pickle in messages. `sink` may be NULL. */
fid_status fidc_unpickle(fidc_program *program, const fid_sink *sink, const char *label, fid_span pickle,
                         const fidc_storages *storages, fidc_pickle **out_value);

/* The object that torch.save wrote into the archive `zip` (data.pkl and data/KEY). Storages stay in the archive. */
fid_status fidc_torch_save_read(fidc_program *program, const fid_sink *sink, fidc_zip *zip, fidc_pickle **out_value);

/* Value of a text key in a DICT; NULL if there is none. */
fidc_pickle *fidc_pickle_get(const fidc_pickle *dict, const char *key);

#endif
