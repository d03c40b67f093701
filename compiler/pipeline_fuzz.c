/* libFuzzer's door to the compiler's stages: a program in the IR's text form that the verifier takes is lowered, planned and emitted.
 * The first byte of an input chooses the target, and whether a backend takes its part. What a stage makes is verified by the pipeline itself. Memory and the time of folding
 * are limited by the size of what is taken in. Seeds: tests/corpus/text_fuzz, each behind a byte. */
#include <stdlib.h>

#include "backends/compile_backends.h"
#include "compiler/emit/emit.h"
#include "compiler/pipeline.h"
#include "include/fidibus.h"
#include "tests/fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static fid_status forget(void *self, const void *data, size_t size) {
    (void)data;
    *(uint64_t *)self += size;
    return FID_OK;
}

static void plan_and_emit(fidc_program *program, fidc_target target) {
    fidc_plan_options options = {.alignment = 64, .alias_views = target == FIDC_TARGET_CPU, .plan_inputs = true, .plan_outputs = true};
    fidc_plan *plans = fidc_allocate(program, program->method_count * sizeof *plans);
    fid_status status = plans ? FID_OK : FID_OUT_OF_MEMORY;
    for (uint32_t i = 0; status == FID_OK && i < program->method_count; i++) {
        status = fidc_plan_protect(program->methods[i]);
        if (status == FID_OK) status = fidc_plan_graph(program->methods[i], &options, &plans[i]);
    }
    uint64_t bytes = 0;
    fidc_emit_options emit_options = {.target = target};
    if (status == FID_OK) fidc_emit(program, plans, &emit_options, &(fidc_writer){forget, &bytes});
}

/* Elements of all values at their hints and bounds, so that no input asks for hours of folding. */
static bool is_small(const fidc_program *program) {
    for (uint32_t m = 0; m < program->method_count; m++) {
        const fidc_graph *graph = program->methods[m];
        for (uint32_t i = 0; i < graph->value_count; i++) {
            double elements = 1;
            const fidc_value *value = graph->values[i];
            for (size_t d = 0; value->type == FIDC_TENSOR && d < value->rank; d++) elements *= 1.0 + (double)fidc_expr_at(value->sizes[d], FIDC_AT_HINT);
            if (!(elements < 10000)) return false;
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fidc_program *program;
    if (!size || size > 20000) return 0;
    const fidc_backend *backend = data[0] & 2 ? fidc_backend_find("xnnpack") : NULL;
    fidc_target target = data[0] & 1 || backend ? FIDC_TARGET_PORTABLE : FIDC_TARGET_CPU;
    if (fidc_program_create(fuzz_allocator(), NULL, &fid_builtin_ops, &program) != FID_OK) return 0;
    if (fidc_parse(program, (const char *)data + 1, size - 1) == FID_OK && fidc_verify(program) == FID_OK && is_small(program)) {
        fidc_options options = {.struct_size = sizeof options, .target = target, .backend = backend, .per_operator = (data[0] & 4) != 0};
        if (fidc_lower(program, &options) == FID_OK && fidc_check_supported(program, target) == FID_OK) plan_and_emit(program, target);
    }
    fidc_program_destroy(program);
    if (fuzz_bytes_in_use) __builtin_trap(); /* something was not given back */
    return 0;
}
