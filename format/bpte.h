/* Bundled programs, .bpte (upstream's schema "BP08"): a program with inputs to try it on and the outputs to expect.
 *
 * A FlatBuffer: the whole .pte as a vector of bytes, and for each method a list of cases. Values are tensors, ints, bools, doubles,
 * or absent (None). Tensors lie densely in their dim order. */
#ifndef FID_FORMAT_BPTE_H
#define FID_FORMAT_BPTE_H

#include "base/allocator.h"
#include "format/flatbuffer.h"
#include "ops/value.h"

#define FID_BPTE_IDENTIFIER "BP08"
#define FID_BPTE_VERSION 2          /* of what is written here; upstream's readers do not look at it */
#define FID_BPTE_PROGRAM_ALIGNMENT 128 /* of the program in files written here; upstream gives 32 */

/* ---- Reading ---- */

/* True if the bytes begin like a bundled program. */
bool fid_bpte_recognize(fid_span file);

typedef struct fid_bpte {
    fid_fb_ref root;
    fid_span program; /* the .pte, aligned to 16 */
} fid_bpte;

/* Verifies everything but the program: structure, names, and every value, so that what follows cannot fail. `file` is aligned to
 * 16 and stays the caller's. FID_INVALID_PROGRAM says what is wrong. */
fid_status fid_bpte_open(const fid_sink *sink, fid_span file, fid_bpte *out_bundle);

/* Cases of a method, 0 if the bundle has none. */
size_t fid_bpte_case_count(const fid_bpte *bundle, const char *method);

/* A case of a method; the index is below the count. */
typedef struct fid_bpte_case {
    fid_fb_vector inputs, outputs; /* outputs may be fewer than the method's */
} fid_bpte_case;
fid_bpte_case fid_bpte_case_at(const fid_bpte *bundle, const char *method, size_t index);

/* A value and the storage behind it: points into itself, so it must not be copied. Data points into the file, at any alignment. */
typedef struct fid_bpte_value {
    fid_value value;
    fid_tensor tensor;
    int64_t sizes[FID_MAX_RANK], strides[FID_MAX_RANK];
    uint8_t dim_order[FID_MAX_RANK];
} fid_bpte_value;
void fid_bpte_value_at(fid_fb_vector values, uint32_t index, fid_bpte_value *out_value);

/* ---- Writing ---- */

/* The values of one case of a method. Tensors are dense in their dim order. */
typedef struct fid_bpte_out_case {
    const char *method;
    const fid_value *inputs, *outputs;
    size_t input_count, output_count;
} fid_bpte_out_case;

/* One case a method, in the order of the names, as upstream's readers expect. The bytes come from the allocator:
 * fid_free(allocator, data, size). FID_NOT_SUPPORTED: a value that the format cannot hold (a text, a list), by name. */
fid_status fid_bpte_write(fid_allocator allocator, const fid_sink *sink, fid_span program, const fid_bpte_out_case *cases, size_t case_count,
                          uint8_t **out_data, size_t *out_size);

#endif
