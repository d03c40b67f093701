/* What unpickle.c (the machine) and pickle_calls.c (the functions it knows) share. */
#ifndef FIDC_ARCHIVE_PICKLE_INTERNAL_H
#define FIDC_ARCHIVE_PICKLE_INTERNAL_H

#include "compiler/archive/unpickle.h"

typedef struct fidc_unpickler {
    fidc_program *program;
    const fid_sink *sink;
    const char *label;
    fid_span bytes;
    size_t at;
    const fidc_storages *storages;
    fidc_pickle **stack, **memo;
    size_t depth, stack_capacity, memo_count, memo_capacity;
    size_t marks[256];
    size_t mark_count;
} fidc_unpickler;

fid_status fidc_pickle_fail(const fidc_unpickler *p, const char *what);
fidc_pickle *fidc_pickle_new(fidc_unpickler *p, fidc_pickle_kind kind);
fid_status fidc_pickle_append(fidc_unpickler *p, fidc_pickle *list, fidc_pickle *const *items, size_t count);
fid_status fidc_pickle_text(fidc_unpickler *p, fidc_pickle_kind kind, const void *bytes, size_t size, fidc_pickle **out_value);

/* What the call of a named function or class gives. */
fid_status fidc_pickle_call(fidc_unpickler *p, const fidc_pickle *function, fidc_pickle *args, fidc_pickle **out_result);
/* The storage of torch's persistent id: ("storage", class, key, device, element count). */
fid_status fidc_pickle_storage(fidc_unpickler *p, const fidc_pickle *id, fidc_pickle **out_storage);

#endif
