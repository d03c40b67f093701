/* Data files, .ptd (upstream's schema "FT01"): tensors and other blobs by name, which programs share.
 *
 * File: [FlatBuffer, with the header "FH01" at byte 8] [segments]. The FlatBuffer lists segments and, for each key, the segment that
 * holds its bytes; several keys may name one segment. */
#ifndef FID_FORMAT_PTD_H
#define FID_FORMAT_PTD_H

#include "format/flatbuffer.h"
#include "ops/named_data.h"

#define FID_PTD_IDENTIFIER "FT01"
#define FID_PTD_HEADER_MAGIC "FH01"

enum {
    FID_PTD_HEADER_OFFSET = 8,
    FID_PTD_HEADER_LENGTH = 0x28, /* magic, length, FlatBuffer's offset and size, segments' offset and size */
};

/* True if the bytes begin like a data file. */
bool fid_ptd_recognize(fid_span file);

typedef struct fid_ptd {
    fid_span file;
    fid_fb_ref root;
    uint64_t segment_base; /* file offset of the first segment */
} fid_ptd;

/* Verifies everything: structure, segments, names, and that each tensor's layout is possible and its bytes are there. `file` is
 * aligned to 16 and stays the caller's. FID_INVALID_EXTERNAL_DATA says what is wrong. That keys are distinct is not looked at here. */
fid_status fid_ptd_open(const fid_sink *sink, fid_span file, fid_ptd *out_ptd);

size_t fid_ptd_count(const fid_ptd *ptd);
/* The index is below the count. The bytes lie in the file, at any alignment. */
fid_named_data fid_ptd_at(const fid_ptd *ptd, size_t index);

#endif
