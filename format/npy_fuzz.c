/* libFuzzer's door to .npy files: what is accepted can be copied out whole, and written again reads the same. */
#include "format/npy.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) __builtin_trap();
}

static void write_and_read(const fid_npy *npy, const void *row_major) {
    uint8_t *file = malloc(FID_NPY_MAX_HEADER + npy->data.size);
    size_t header;
    fid_npy again;
    if (!file) return;
    require(fid_npy_write_header(NULL, npy->dtype, npy->sizes, npy->rank, file, &header) == FID_OK);
    if (npy->data.size) memcpy(file + header, row_major, npy->data.size);
    require(fid_npy_parse(NULL, "again", fid_span_of(file, header + npy->data.size), &again) == FID_OK);
    require(again.rank == npy->rank && !again.fortran_order && fid_npy_dtype_fits(again.dtype, npy->dtype));
    require(memcmp(again.sizes, npy->sizes, npy->rank * sizeof *npy->sizes) == 0 && again.data.size == npy->data.size);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fid_npy npy;
    if (fid_npy_parse(NULL, "fuzz", fid_span_of(data, size), &npy) != FID_OK) return 0;
    require(npy.data.size <= size);
    uint8_t *row_major = malloc(npy.data.size + 1);
    if (!row_major) return 0;
    fid_npy_copy_row_major(&npy, row_major);
    write_and_read(&npy, row_major);
    free(row_major);
    return 0;
}
