/* libFuzzer's door to the text form of the IR: what is parsed and verified prints, and what is printed parses to the same. */
#include <stdlib.h>

#include "compiler/ir/ir.h"
#include "include/fidibus.h"
#include "tests/fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static fidc_program *parse(const char *text, size_t size) {
    fidc_program *program;
    if (fidc_program_create(fuzz_allocator(), NULL, &fid_builtin_ops, &program) != FID_OK) return NULL;
    if (fidc_parse(program, text, size) == FID_OK && fidc_verify(program) == FID_OK) return program;
    fidc_program_destroy(program);
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 20000) return 0;
    char *exact = malloc(size + 1), *printed, *again;
    if (!exact) return 0;
    memcpy(exact, data, size);
    exact[size] = 0;
    fidc_program *program = parse(exact, size), *second = NULL;
    /* A small program: its text surely finds memory beside it. */
    if (program && fuzz_bytes_in_use < FUZZ_MOST_BYTES / 4 && fidc_print(program, &printed) == FID_OK) {
        second = parse(printed, strlen(printed));
        if (!second || fidc_print(second, &again) != FID_OK || strcmp(printed, again) != 0) __builtin_trap();
    }
    fidc_program_destroy(second);
    fidc_program_destroy(program);
    free(exact);
    if (fuzz_bytes_in_use) __builtin_trap(); /* something was not given back */
    return 0;
}
