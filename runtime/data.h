/* The inside of what methods share beside their program: data files, and the memory of shared buffers. The core knows both only by
 * these functions, so that a device that uses neither links neither. */
#ifndef FID_RUNTIME_DATA_H
#define FID_RUNTIME_DATA_H

#include "format/ptd.h"
#include "include/fidibus.h"

struct fid_data {
    bool (*find)(const fid_data *data, const char *key, fid_named_data *out_entry);
    /* Of any data of a list: fid_data_find_tensor and fid_data_find_bytes on all of the list. */
    fid_status (*find_tensor)(fid_data *const *data, uint32_t count, const fid_sink *sink, const char *key, const fid_tensor *tensor,
                              const void **out_bytes);
    fid_status (*find_bytes)(fid_data *const *data, uint32_t count, const char *key, fid_span *out_bytes);
    void (*destroy)(fid_data *data); /* after the last reference */
    uint32_t references;             /* atomic */
    const char *name;                /* for messages: the path */
    fid_allocator allocator;
    fid_ptd ptd;
    uint32_t *by_key; /* entries in the order of their keys */
    size_t count, name_size;
    /* Called with the file at the end; NULL: the bytes are the caller's. */
    void (*release)(const void *file, size_t size);
};

static inline void fid_data_retain(fid_data *data) { __atomic_add_fetch(&data->references, 1, __ATOMIC_RELAXED); }
static inline void fid_data_release(fid_data *data) {
    if (__atomic_sub_fetch(&data->references, 1, __ATOMIC_ACQ_REL) == 0) data->destroy(data);
}

/* Like fid_data_open_memory, and the data calls release(bytes, size) at its end. If opening fails, the bytes stay the caller's. */
fid_status fid_data_open_mapped(const fid_environment *environment, const void *bytes, size_t size, const char *name,
                                void (*release)(const void *file, size_t size), fid_data **out_data);

/* The bytes of a tensor of that layout, in the last file that has the key. FID_INVALID_EXTERNAL_DATA names the key, what is wanted,
 * and what was found or which files were searched. */
fid_status fid_data_find_tensor(fid_data *const *data, uint32_t count, const fid_sink *sink, const char *key, const fid_tensor *tensor,
                                const void **out_bytes);
/* Whatever is there; FID_NOT_FOUND without a sentence. */
fid_status fid_data_find_bytes(fid_data *const *data, uint32_t count, const char *key, fid_span *out_bytes);

/* The key under which the file has the weight in another form: "fc.weight" or "fc.weight:columns" for "fc.weight:rows". NULL: none. */
const char *fid_data_other_form(const fid_data *data, const char *key);

/* Planned memory number `index` (from 1: number 0 is each method's own). */
struct fid_shared_state {
    /* The memory, zeroed when first asked for. Every method must be of one program and ask for the same size. */
    fid_status (*get)(fid_shared_state *state, const fid_program *program, uint32_t index, size_t size, uint8_t **out_memory);
    /* FID_OK for the first method that has a buffer at this place: it brings the initial content. FID_ALREADY_LOADED for others. */
    fid_status (*claim)(fid_shared_state *state, const fid_sink *sink, const void *place);
    void (*destroy)(fid_shared_state *state);
    uint32_t references; /* atomic */
    uint32_t taken;      /* atomic: a thread is in one of the methods */
    const fid_program *program; /* whose methods they are; NULL: none yet. Only compared */
    fid_allocator allocator;
    struct fid_shared_memory *memories;
    struct fid_claim *claims;
};

static inline void fid_shared_state_release_reference(fid_shared_state *state) {
    if (__atomic_sub_fetch(&state->references, 1, __ATOMIC_ACQ_REL) == 0) state->destroy(state);
}

#endif
