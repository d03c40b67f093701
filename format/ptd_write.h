/* Writes data files, .ptd: see format/ptd.h. Segments are streamed: no copy of the data is held. */
#ifndef FID_FORMAT_PTD_WRITE_H
#define FID_FORMAT_PTD_WRITE_H

#include "base/allocator.h"
#include "format/pte_write.h"
#include "ops/named_data.h"

/* One segment a distinct place: entries whose bytes begin at the same address and are as many share one. Each segment lies at a
 * multiple of 128 bytes from the start of the file. Keys must be distinct: FID_INVALID_ARGUMENT names one that is not. Equal
 * entries give equal bytes. *out_size may be NULL. */
fid_status fid_ptd_write(fid_allocator allocator, const fid_sink *sink, const fid_named_data *entries, size_t count,
                         const fid_pte_sink *destination, uint64_t *out_size);

#endif
