/* libFuzzer's door to XNNPACK delegates: an input is a blob; every name of named data stands for the same 64 KiB. What loads is run
 * twice on zeros. */
#include "backends/xnnpack/run/xnn_testing.h"
#include "tests/fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static _Alignas(64) uint8_t named[65536];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    xnn_test t;
    void *copy = NULL; /* aligned, and of exactly the size */
    if (size < 1 || size > 1 << 20 || posix_memalign(&copy, 64, size) != 0) return 0;
    memcpy(copy, data, size);
    for (size_t i = 0; i < sizeof named / 4; i++) memcpy(named + 4 * i, &(float){(float)(i % 17) * 0.125f - 1}, 4);
    if (xnn_test_open(&t, fuzz_allocator(), NULL, fid_span_of(copy, size), fid_span_of(named, sizeof named)) == FID_OK) {
        (void)xnn_test_run(&t, NULL);
        (void)xnn_test_run(&t, NULL);
    }
    xnn_test_close(&t);
    free(copy);
    if (fuzz_bytes_in_use) __builtin_trap(); /* something was not given back */
    return 0;
}
