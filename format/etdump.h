/* Traces, .etdp (upstream's schema "ED00"): what ran, in which order, from when to when.
 *
 * A size-prefixed FlatBuffer: runs, each a list of events in the order of their ends. Upstream's Inspector reads what is written
 * here; upstream's files are read here. */
#ifndef FID_FORMAT_ETDUMP_H
#define FID_FORMAT_ETDUMP_H

#include "base/allocator.h"
#include "base/trace.h"
#include "format/flatbuffer.h"

#define FID_ETDUMP_IDENTIFIER "ED00"
#define FID_ETDUMP_VERSION 0

/* ---- Reading ---- */

/* True if the bytes begin like a trace, with or without the prefix. */
bool fid_etdump_recognize(fid_span file);

typedef struct fid_etdump {
    uint32_t version;
    fid_fb_vector runs;
} fid_etdump;

/* Verifies the whole file, so that what follows cannot fail. `file` is aligned to 16 and stays the caller's.
 * FID_INVALID_PROGRAM says what is wrong. */
fid_status fid_etdump_open(const fid_sink *sink, fid_span file, fid_etdump *out_dump);

typedef struct fid_etdump_run {
    const char *name;       /* "Execute"; "" if it has none */
    int32_t bundled_input;  /* case of a bundled program; -1 */
    fid_fb_vector events;
} fid_etdump_run;
fid_etdump_run fid_etdump_run_at(const fid_etdump *dump, uint32_t index);

typedef enum fid_etdump_kind { FID_ETDUMP_PROFILE, FID_ETDUMP_ALLOCATION, FID_ETDUMP_DEBUG } fid_etdump_kind;

typedef struct fid_etdump_event {
    uint8_t kind;           /* fid_etdump_kind; PROFILE fills `profile`, whose `kernel` is told by its name */
    fid_trace_event profile;
    int32_t allocator;      /* ALLOCATION: which, and how many bytes */
    uint64_t bytes;
} fid_etdump_event;
fid_etdump_event fid_etdump_event_at(const fid_etdump_run *run, uint32_t index);

/* ---- Writing ---- */

typedef struct fid_etdump_block {
    const char *name;
    const fid_trace_event *events;
    size_t event_count;
} fid_etdump_block;

/* One run a block. Kernels are named as upstream names them: "native_call_add.out", with the namespace if it is not aten. The
 * bytes come from the allocator: fid_free(allocator, data, size). */
fid_status fid_etdump_write(fid_allocator allocator, const fid_sink *sink, const fid_etdump_block *blocks, size_t block_count, uint8_t **out_data,
                            size_t *out_size);

#endif
