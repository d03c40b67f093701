/* libFuzzer's door to traces: everything that an accepted trace promises is read. */
#include "format/etdump.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sink_of_numbers;

static void read_event(const fid_etdump_event *event) {
    sink_of_numbers += event->bytes + (size_t)event->allocator;
    if (event->kind != FID_ETDUMP_PROFILE) return;
    sink_of_numbers += strlen(event->profile.name) + (event->profile.delegate_name ? strlen(event->profile.delegate_name) : 0);
    for (size_t i = 0; i < event->profile.metadata.size; i++) sink_of_numbers += event->profile.metadata.data[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    void *copy = NULL;
    if (posix_memalign(&copy, 16, size ? size : 1) != 0) return 0;
    if (size) memcpy(copy, data, size);
    fid_etdump dump;
    if (fid_etdump_open(NULL, fid_span_of(copy, size), &dump) == FID_OK) {
        for (uint32_t r = 0; r < dump.runs.count; r++) {
            fid_etdump_run run = fid_etdump_run_at(&dump, r);
            sink_of_numbers += strlen(run.name);
            for (uint32_t e = 0; e < run.events.count; e++) {
                fid_etdump_event event = fid_etdump_event_at(&run, e);
                read_event(&event);
            }
        }
    }
    free(copy);
    return 0;
}
