/* Walks the central directory of a zip archive in memory. */
#ifndef FIDC_ARCHIVE_ZIP_DIRECTORY_H
#define FIDC_ARCHIVE_ZIP_DIRECTORY_H

#include "base/span.h"

typedef struct fidc_zip_directory {
    fid_span file;
    uint64_t at, left; /* offset of the next entry; entries to come */
} fidc_zip_directory;

typedef struct fidc_zip_entry {
    fid_span name;        /* not terminated */
    const uint8_t *data;  /* `stored_size` bytes that lie in the file */
    uint64_t stored_size; /* as they lie in the archive */
    uint64_t size;        /* after decompression, as declared */
    uint32_t method;      /* 0 stored, 8 deflated */
    uint32_t crc;         /* of the decompressed bytes */
    bool encrypted;
} fidc_zip_entry;

/* False: no zip archive, or a broken end record. */
bool fidc_zip_directory_open(fid_span file, fidc_zip_directory *out_directory);
/* False at the end, with `left` 0, or at a broken entry, with `left` not 0. */
bool fidc_zip_directory_next(fidc_zip_directory *directory, fidc_zip_entry *out_entry);

#endif
