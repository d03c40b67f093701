/* Every fast pointwise operator of the table against its reference, with arguments made from its schema: dtypes, broadcasts, odd sizes,
 * both orders of images, every instruction set of this machine. Rows added later are swept without another line here. */
#include "kernels/cpu/kernel_testing.h"

#include "base/half.h"

typedef struct sweep_case {
    int64_t sizes[3][4]; /* of the first, second and third tensor */
    testing_order orders[3];
} sweep_case;

/* The last one is large enough to be shared by threads. */
static const sweep_case cases[] = {
    {{{1, 1, 3, 37}, {1, 1, 3, 37}, {1, 1, 3, 37}}, {ROW_MAJOR, ROW_MAJOR, ROW_MAJOR}},
    {{{2, 5, 7, 3}, {1, 5, 1, 1}, {2, 1, 7, 3}}, {CHANNELS_LAST, ROW_MAJOR, ROW_MAJOR}},
    {{{2, 5, 7, 3}, {2, 5, 7, 3}, {2, 5, 7, 3}}, {ROW_MAJOR, CHANNELS_LAST, ROW_MAJOR}},
    {{{1, 1, 9, 1}, {1, 1, 1, 17}, {1, 1, 9, 17}}, {ROW_MAJOR, ROW_MAJOR, ROW_MAJOR}},
    {{{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}}, {ROW_MAJOR, ROW_MAJOR, ROW_MAJOR}},
    {{{0, 1, 1, 5}, {1, 1, 1, 5}, {1, 1, 1, 1}}, {ROW_MAJOR, ROW_MAJOR, ROW_MAJOR}},
    {{{2, 33, 101, 91}, {1, 33, 1, 1}, {2, 33, 101, 91}}, {CHANNELS_LAST, ROW_MAJOR, CHANNELS_LAST}},
};
enum { CASES = sizeof cases / sizeof *cases };

static const fid_dtype dtypes[] = {FID_FLOAT32, FID_FLOAT16, FID_BFLOAT16, FID_UINT8, FID_INT8, FID_INT32, FID_INT64, FID_BOOL};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* ---- Arguments ---- */

/* Whole numbers are not zero: some operators divide by them. */
static void fill(fid_tensor *t) {
    size_t size = fid_dtype_size((fid_dtype)t->dtype), count = fid_tensor_numel(t);
    for (size_t i = 0; i < count; i++) {
        float x = 4 * testing_random();
        int64_t whole = (int64_t)x + (x < 0 && t->dtype != FID_UINT8 ? -1 : 1) + (t->dtype == FID_UINT8 ? 5 : 0);
        uint16_t half = t->dtype == FID_FLOAT16 ? fid_f16_from_float(x) : fid_bf16_from_float(x);
        uint8_t truth = x > 0;
        const void *from = t->dtype == FID_FLOAT32 ? (const void *)&x : size == 2 ? (const void *)&half : t->dtype == FID_BOOL ? (const void *)&truth : &whole;
        memcpy((uint8_t *)t->data + i * size, from, size); /* little-endian */
    }
}

static bool named(const fid_schema_arg *arg, const char *name) {
    return arg->name.size == strlen(name) && memcmp(arg->name.data, name, arg->name.size) == 0;
}

static fid_value *tensor_argument(const fid_schema_arg *arg, const sweep_case *c, size_t turn, fid_dtype dtype) {
    bool truth = named(arg, "condition") || named(arg, "mask");
    bool single = named(arg, "value") || named(arg, "weight"); /* masked_fill's 0-d number; prelu's one slope */
    size_t rank = named(arg, "value") ? 0 : single ? 1 : 4;
    fid_tensor *t = testing_tensor(truth ? FID_BOOL : dtype, rank, single ? (int64_t[]){1} : c->sizes[turn], single ? ROW_MAJOR : c->orders[turn]);
    fill(t);
    return testing_value(fid_tensor_value(t));
}

static fid_value *argument(const fid_schema_arg *arg, const sweep_case *c, size_t *inout_turn, fid_dtype dtype) {
    char text[32] = {0};
    bool floats = dtype == FID_FLOAT32 || fid_dtype_is_float(dtype);
    if (arg->type == FID_SCHEMA_TENSOR && !arg->list) return tensor_argument(arg, c, (*inout_turn)++ % 3, dtype);
    if (arg->type == FID_SCHEMA_STRING) return testing_text("none");
    if (arg->default_text.data && arg->default_text.size < sizeof text) memcpy(text, arg->default_text.data, arg->default_text.size);
    if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0) return BOOL(text[0] == 'T');
    if (*text && strcmp(text, "None") != 0) return strpbrk(text, ".e") ? DOUBLE(strtod(text, NULL)) : INT(strtoll(text, NULL, 10));
    if (arg->type == FID_SCHEMA_SCALAR || arg->type == FID_SCHEMA_FLOAT) return dtype == FID_BOOL ? BOOL(true) : floats ? DOUBLE(1.25) : INT(3);
    return NOTHING;
}

/* ---- Comparing ---- */

static double number(const fid_tensor *t, size_t i) {
    if (t->dtype == FID_FLOAT32) return ((const float *)t->data)[i];
    uint16_t half = ((const uint16_t *)t->data)[i];
    return t->dtype == FID_FLOAT16 ? fid_float_from_f16(half) : fid_float_from_bf16(half);
}

/* Floats may differ by a step of their dtype, nothing else may. */
static bool agree(const fid_tensor *a, const fid_tensor *b) {
    double tolerance = a->dtype == FID_FLOAT32 ? 2e-6 : a->dtype == FID_FLOAT16 ? 1e-3 : 8e-3;
    assert_true(fid_tensor_same_layout(a, b) && a->dtype == b->dtype);
    if (a->dtype != FID_FLOAT32 && a->dtype != FID_FLOAT16 && a->dtype != FID_BFLOAT16) return memcmp(a->data, b->data, fid_tensor_bytes(a)) == 0;
    for (size_t i = 0; i < fid_tensor_numel(a); i++) {
        double x = number(a, i), y = number(b, i);
        if (!(x == y || (x != x && y != y) || fabs(x - y) <= tolerance * (1 + fabs(y)))) return false;
    }
    return true;
}

/* False: the row does not take this dtype, by its shape function or by its fast kernel. */
static bool sweep(const fid_op *op, size_t which, fid_dtype dtype) {
    fid_value *args[16];
    size_t count = 0, turn = 0;
    fid_schema_cursor cursor = fid_schema_begin(op->schema);
    for (fid_schema_arg arg; fid_schema_next_arg(&cursor, &arg);) args[count++] = argument(&arg, &cases[which], &turn, dtype);
    bool declined = !testing_fits(op, count, args, 1);
    fid_tensor *right = declined ? NULL : testing_run(op, op->reference, count, args, 1, 0, 1, NULL);
    const fidk_tiles *tiles;
    uint32_t needs;
    for (size_t s = 0; !declined && (tiles = fidk_tiles_at(s, &needs)); s++) {
        if (needs & ~fid_cpu_detect()) continue;
        size_t threads = 2 + (which + s + (size_t)dtype) % 7;
        fid_tensor *serial = testing_run(op, op->cpu, count, args, 1, needs, 1, &declined);
        if (declined) break;
        fid_tensor *shared = testing_run(op, op->cpu, count, args, 1, needs, threads, NULL);
        if (!agree(serial, right)) fail_msg("%s.%s %s, case %zu, %s: not as the reference", op->name, op->overload, fid_dtype_name(dtype), which, tiles->name);
        assert_memory_equal(serial->data, shared->data, fid_tensor_bytes(serial));
    }
    testing_free();
    return !declined;
}

/* No divisor among truth values is sure to be true. */
static bool divides(const fid_op *op) { return strstr(op->name, "remainder") || strstr(op->name, "fmod"); }

/* The large case takes the time of all others together: float32 alone, and a row in 16 under an emulator. */
static size_t sweep_row(const fid_op *op) {
    size_t swept = 0;
    bool large = (size_t)(op - fid_builtin_ops.ops) % TESTING_SPARSE == 0;
    for (size_t d = 0; d < DTYPES; d++) {
        if (dtypes[d] == FID_BOOL && divides(op)) continue;
        for (size_t i = 0; i < CASES; i++)
            if (i + 1 < CASES || (large && dtypes[d] == FID_FLOAT32)) swept += sweep(op, i, dtypes[d]);
    }
    return swept;
}

static void pointwise_rows_match(void **state) {
    (void)state;
    for (const fid_op *op = fid_builtin_ops.ops; op < fid_builtin_ops.ops + fid_builtin_ops.count; op++) {
        if (!op->cpu || op->kind != FID_OP_POINTWISE || op == &fid_builtin_ops.ops[FID_OPID_fused_pointwise]) continue;
        size_t swept = sweep_row(op);
        if (swept + 1 < CASES) fail_msg("%s.%s: swept %zu cases only", op->name, op->overload, swept); /* one dtype at least */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pointwise_rows_match)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
