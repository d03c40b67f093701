/* libFuzzer's door to data files: everything that an accepted file promises is read. */
#include "format/ptd.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink_of_bytes;

static void read_entry(const fid_named_data *entry) {
    for (const char *c = entry->key; *c; c++) sink_of_bytes ^= (uint8_t)*c;
    for (size_t i = 0; i < entry->bytes.size; i++) sink_of_bytes ^= entry->bytes.data[i];
    size_t bytes = entry->is_tensor ? fid_dtype_size((fid_dtype)entry->dtype) : 0;
    for (size_t i = 0; i < entry->rank; i++) {
        if (entry->dim_order[i] >= entry->rank) abort();
        bytes *= (size_t)entry->sizes[i];
    }
    if (entry->is_tensor && bytes != entry->bytes.size) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    void *copy = NULL;
    if (posix_memalign(&copy, 16, size ? size : 1) != 0) return 0;
    if (size) memcpy(copy, data, size);
    fid_ptd ptd;
    if (fid_ptd_open(NULL, fid_span_of(copy, size), &ptd) == FID_OK) {
        for (size_t i = 0; i < fid_ptd_count(&ptd) && i < 1000; i++) {
            fid_named_data entry = fid_ptd_at(&ptd, i);
            read_entry(&entry);
        }
    }
    free(copy);
    return 0;
}
