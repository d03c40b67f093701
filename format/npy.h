/* NumPy's .npy array files, from and to bytes: format versions 1, 2 and 3, C and Fortran order, little-endian.
 *
 * bfloat16 has no NumPy name: its two-byte words are written as "<u2", and read from "<u2" and "<V2"; float8 is written as "|u1".
 * So a reader that expects bfloat16 accepts FID_UINT16 as well: fid_npy_dtype_fits. */
#ifndef FID_FORMAT_NPY_H
#define FID_FORMAT_NPY_H

#include "base/dtype.h"
#include "base/span.h"
#include "base/status.h"

typedef struct fid_npy {
    fid_dtype dtype;              /* FID_BFLOAT16 for "<V2" */
    bool fortran_order;           /* the first dimension moves fastest in `data` */
    uint8_t rank;
    int64_t sizes[FID_MAX_RANK];
    fid_span data;                /* points into the file's bytes; unaligned; as long as sizes and dtype say */
} fid_npy;

/* FID_NOT_SUPPORTED: big-endian, structured or unknown types, rank over FID_MAX_RANK; FID_INVALID_EXTERNAL_DATA: damaged.
 * `name` stands in sentences: the file's path. Bytes after the data are ignored, as NumPy does. */
fid_status fid_npy_parse(const fid_sink *sink, const char *name, fid_span file, fid_npy *out_npy);

/* Copies the data in row-major order to `out`, which holds at least npy->data.size bytes. */
void fid_npy_copy_row_major(const fid_npy *npy, void *out);

/* True if an array of type `file` may be read as `wanted`: equal, or unsigned words of the size of a type that NumPy lacks. */
bool fid_npy_dtype_fits(fid_dtype file, fid_dtype wanted);

#define FID_NPY_MAX_HEADER 1024

/* Writes a version 1 header for row-major data; the file is these bytes, then the data. The size is a multiple of 64. */
fid_status fid_npy_write_header(const fid_sink *sink, fid_dtype dtype, const int64_t *sizes, size_t rank,
                                uint8_t out_header[FID_NPY_MAX_HEADER], size_t *out_size);

#endif
