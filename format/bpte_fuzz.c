/* libFuzzer's door to bundled programs: everything that an accepted bundle promises is read. */
#include "format/bpte.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink_of_bytes;

static void read_values(fid_fb_vector values) {
    for (uint32_t i = 0; i < values.count; i++) {
        fid_bpte_value value;
        fid_bpte_value_at(values, i, &value);
        if (value.value.tag != FID_TAG_TENSOR) continue;
        const uint8_t *bytes = value.tensor.data;
        for (size_t b = 0; b < fid_tensor_bytes(&value.tensor); b++) sink_of_bytes ^= bytes[b];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    void *copy = NULL;
    if (posix_memalign(&copy, 16, size ? size : 1) != 0) return 0;
    if (size) memcpy(copy, data, size);
    fid_bpte bundle;
    if (fid_bpte_open(NULL, fid_span_of(copy, size), &bundle) == FID_OK) {
        for (size_t i = 0; i < bundle.program.size; i++) sink_of_bytes ^= bundle.program.data[i];
        for (size_t i = 0; i < fid_bpte_case_count(&bundle, "forward") && i < 100; i++) {
            fid_bpte_case one = fid_bpte_case_at(&bundle, "forward", i);
            read_values(one.inputs);
            read_values(one.outputs);
        }
    }
    free(copy);
    return 0;
}
