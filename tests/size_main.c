/* The smallest honest user of the core: loads a program with two methods and runs both, with an allocator that is one static
 * block and a table of one operator. tests/size.sh links it and counts bytes. */
#include <stdio.h>

#include "include/fidibus.h"

static _Alignas(64) uint8_t block[1 << 16];
static size_t block_used;

static void *take(void *self, void *memory, size_t old_size, size_t new_size) {
    (void)self;
    if (new_size == 0 || memory || new_size > sizeof block - block_used) return NULL;
    (void)old_size;
    uint8_t *taken = block + block_used;
    block_used = (block_used + new_size + 63) & ~(size_t)63;
    if (block_used > sizeof block) block_used = sizeof block;
    return taken;
}

static fid_status add_shape(const fid_call *call, fid_meta *outs, size_t out_count) {
    (void)out_count;
    outs[0] = fid_meta_of(fid_arg_tensor(call, 0));
    return FID_OK;
}

static fid_status add_run(fid_call *call) {
    const float *a = fid_arg_tensor(call, 0)->data, *b = fid_arg_tensor(call, 1)->data;
    float *out = fid_out_tensor(call, 0)->data;
    for (size_t i = 0; i < fid_tensor_numel(fid_out_tensor(call, 0)); i++) out[i] = a[i] + b[i];
    return FID_OK;
}

static const fid_kernel add_kernel = {.run = add_run};
static const fid_op ops[] = {{"aten::add", "Tensor", "out", "(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", add_shape,
                              &add_kernel, NULL, NULL, FID_OP_POINTWISE}};
static const fid_op_table table = {ops, 1};
static const fid_op_table *const tables[] = {&table};

static fid_status run(fid_program *program, const char *name, float expected) {
    static const float x[] = {1, 2}, y[] = {10, 20};
    static const int64_t sizes[] = {2};
    fid_method *method;
    const fid_value *value;
    FID_TRY(fid_method_load(program, name, NULL, &method));
    FID_TRY(fid_method_set_input_tensor(method, 0, FID_FLOAT32, sizes, 1, x));
    FID_TRY(fid_method_set_input_tensor(method, 1, FID_FLOAT32, sizes, 1, y));
    FID_TRY(fid_method_run(method));
    FID_TRY(fid_method_output(method, 0, &value));
    fid_status status = ((const float *)value->as.tensor->data)[1] == expected ? FID_OK : FID_INTERNAL;
    fid_method_unload(method);
    return status;
}

static void print(void *self, fid_status status, const char *sentence) {
    (void)self, (void)status;
    puts(sentence);
}

int main(int count, char **arguments) {
    static _Alignas(64) uint8_t bytes[8192];
    fid_environment environment = {.struct_size = sizeof environment, .allocator = {take, NULL}, .sink = {print, NULL},
                                   .tables = tables, .table_count = 1};
    fid_program *program;
    FILE *file = count > 1 ? fopen(arguments[1], "rb") : NULL;
    if (!file) return 2;
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    if (fid_program_open_memory(&environment, bytes, size, &program) != FID_OK) return 1;
    bool right = run(program, "once", 22) == FID_OK && run(program, "twice", 42) == FID_OK;
    fid_program_close(program);
    return right ? 0 : 1;
}
