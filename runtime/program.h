/* The inside of a program: verified file, where its segments are, how long it lives. */
#ifndef FID_RUNTIME_PROGRAM_H
#define FID_RUNTIME_PROGRAM_H

#include "format/pte.h"
#include "include/fidibus.h"

struct fid_program {
    fid_environment environment;
    uint32_t references; /* atomic: the caller's, and one for each method */
    fid_pte pte;
    const uint8_t *file;      /* the whole file in place; NULL: it comes through `source` */
    fid_source source;
    void *buffer;             /* source only: the FlatBuffer, from the allocator */
    void **segments;          /* source only: segments read so far; each is published atomically, freed with the program */
    uint32_t segment_count;
    /* Called with the file when the program ends; NULL: the bytes are the caller's. */
    void (*release)(const void *file, size_t size);
};

/* For platforms that map files: like fid_program_open_memory, and the program calls release(data, size) at its end. If opening
 * fails, the mapping stays the caller's. */
fid_status fid_program_open_mapped(const fid_environment *environment, const void *data, size_t size,
                                   void (*release)(const void *file, size_t size), fid_program **out_program);

void fid_program_retain(fid_program *program);

/* The bytes of a segment, in place or read once; valid as long as the program. The index is checked. */
fid_status fid_program_segment(fid_program *program, uint32_t index, fid_span *out_data);

/* The constant `index` (Tensor.data_buffer_idx) from its first byte on, at least `size` bytes. */
fid_status fid_program_constant(fid_program *program, uint32_t index, size_t size, const void **out_data);

/* Copies the initial content of a mutable buffer: entry `index` of mutable_data_segments[set]. */
fid_status fid_program_read_initial(fid_program *program, uint64_t set, uint32_t index, void *buffer, size_t size);

#endif
