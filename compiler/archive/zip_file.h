/* A read-only zip archive whose stored members are used in place.
 *
 * The file is mapped. A stored member is a span of the mapping; a deflated one is inflated once into memory that lives as long
 * as the archive. Every member is checked against its CRC-32 when it is read first. Messages name the archive and the member. */
#ifndef FIDC_ARCHIVE_ZIP_FILE_H
#define FIDC_ARCHIVE_ZIP_FILE_H

#include "base/allocator.h"
#include "base/span.h"
#include "base/status.h"

typedef struct fidc_zip fidc_zip;

/* `path` is copied for messages. */
fid_status fidc_zip_open_file(fid_allocator allocator, const fid_sink *sink, const char *path, fidc_zip **out_zip);
/* An archive that lies in memory, such as a member of another archive; the bytes must outlive it. `label` stands for its path. */
fid_status fidc_zip_open_memory(fid_allocator allocator, const fid_sink *sink, const char *label, fid_span bytes,
                                fidc_zip **out_zip);
/* NULL allowed. Ends every span that came from the archive. */
void fidc_zip_close(fidc_zip *zip);
/* Lets the system take back the pages of the mapping; they are read again when needed. */
void fidc_zip_forget(const fidc_zip *zip);

const char *fidc_zip_label(const fidc_zip *zip);
size_t fidc_zip_count(const fidc_zip *zip);
const char *fidc_zip_name(const fidc_zip *zip, size_t index);
/* FID_NOT_FOUND without a sentence if there is no such member. */
fid_status fidc_zip_find(const fidc_zip *zip, const char *name, size_t *out_index);

/* The whole member. */
fid_status fidc_zip_read_at(fidc_zip *zip, size_t index, fid_span *out_bytes);
/* By name; a missing member is FID_NOT_FOUND with a sentence. */
fid_status fidc_zip_read(fidc_zip *zip, const char *name, fid_span *out_bytes);

#endif
